"""Compiled passes against the plain ones that they stand for, visit by visit."""

from operator import attrgetter

import numpy as np
import pytest

from _problems import PROBLEMS, box_for, part_blocks, problem
from sklearn_fw._kernels.structured import block_rules
from sklearn_fw._kernels.structured.block_rules import BY_GAP, BY_MAX_GAP, Rules
from sklearn_fw.inference import resolve_oracle
from sklearn_fw.structured._solvers._saddle_point import saddle_visits
from sklearn_fw.structured._solvers._subgradient import subgradient_visits
from sklearn_fw.structured._solvers._visits import visit_blocks

CLOSE = {"rtol": 1e-8, "atol": 1e-10}  # equal up to the order of sums
STEPS = ("fw", "pairwise", "away", "hybrid")


def pair_of(name, oracle):
    """Twice the same blocks, with the oracle of the model or with it as a function."""
    p = problem(name)
    own = p.model.default_oracle()
    oracle = own if oracle == "compiled" else resolve_oracle(own.argmax)
    return p, [part_blocks(p, oracle), part_blocks(p, oracle)]


def assert_same_state(compiled, plain):
    """What rounding alone calls for, of a gap of zero, is counted in one pass and not in the other.

    Steps, drops and misses of the cache are such; all that they change is compared.
    """
    compared = np.ones(block_rules.N_COUNTS, dtype=bool)
    compared[block_rules.MISSED_LOCAL : block_rules.DROPS + 1] = False
    np.testing.assert_array_equal(plain.counts[compared], compiled.counts[compared])
    for name in ("v", "w", "loss", "moments", "loss_moment", "marginals.nodes", "marginals.tables"):
        of = attrgetter(name)
        np.testing.assert_allclose(of(plain), of(compiled), **CLOSE)
    np.testing.assert_allclose(plain.gaps.value, compiled.gaps.value, **CLOSE)
    for one, other in zip(compiled.dual_coef() or [], plain.dual_coef() or [], strict=True):
        assert list(one) == list(other)  # slot by slot
        np.testing.assert_allclose(list(one.values()), list(other.values()), **CLOSE)


def order_for(rng, n):
    """Passes in random order, no block twice in a row: rounding would choose the vertex."""
    order = rng.permutation(n)
    for _ in range(3):
        more = rng.permutation(n)
        order = np.concatenate([order, more[::-1] if more[0] == order[-1] else more])
    return order


@pytest.mark.slow
@pytest.mark.parametrize("bounded", [False, True], ids=["free", "box"])
@pytest.mark.parametrize("cache", [False, True], ids=["oracle", "cache"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("oracle", ["compiled", "function"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_visits(name, oracle, step, cache, bounded, rng):
    if name == "chain, zero-one" and oracle == "function":
        pytest.skip("a function has no second best output")
    p, (compiled, plain) = pair_of(name, oracle)
    explicit = cache or step != "fw"
    rules = Rules(p.lam, STEPS.index(step), True, cache, 0.25, 0.01)
    bounds, seed = box_for(p, rng) if bounded else None, rng.integers(2**31)
    for blocks in (compiled, plain):
        # Little room, so that tables have to grow.
        blocks.reset(p.lam, capacity=3 if explicit else 0, averaging=True, bounds=bounds)
        n_states = blocks.marginals.nodes.shape[1]  # at w = 0 equal losses tie: leave it
        labels = np.random.default_rng(seed).integers(n_states, size=blocks.n_nodes)
        blocks.step_towards(labels.astype(np.int32), 0.4)
        blocks.refresh()
    order = order_for(rng, compiled.n_blocks)
    uniforms = rng.random(len(order))
    assert visit_blocks(compiled, order, uniforms, rules) == len(order)
    assert visit_blocks.plain(plain, order, uniforms, rules) == len(order)
    assert_same_state(compiled, plain)
    assert not cache or compiled.counts[block_rules.HITS] > 0
    for blocks in (compiled, plain):
        blocks.refresh()
    assert_same_state(compiled, plain)
    certificates = [blocks.certify(averaged=True) for blocks in (compiled, plain)]
    np.testing.assert_allclose(certificates[1].gap, certificates[0].gap, **CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("code", [BY_GAP, BY_MAX_GAP], ids=["gap", "max_gap"])
def test_choice_by_gaps_and_steps_without_line_search(code, rng):
    p, pair = pair_of("labels, tree", "compiled")
    rules = Rules(p.lam, line_search=False, gap_degree=2.0)
    order = np.concatenate([np.arange(pair[0].n_blocks), np.full(10, code)])
    uniforms = rng.random(len(order))
    for blocks, run in zip(pair, (visit_blocks, visit_blocks.plain)):
        blocks.reset(p.lam)
        assert run(blocks, order, uniforms, rules) == len(order)
    assert_same_state(*pair)
    for blocks, run in zip(pair, (visit_blocks, visit_blocks.plain)):
        blocks.fill_gaps(np.zeros(blocks.n_blocks))
        assert run(blocks, np.full(3, code), np.zeros(3), rules) == 0
        assert blocks.counts[block_rules.REASON] == block_rules.NO_GAP


@pytest.mark.slow
@pytest.mark.parametrize("lam", [0.05, 0.0], ids=["subgradient", "perceptron"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_primal_baselines(name, lam, rng):
    _, pair = pair_of(name, "compiled")
    orders, results = [rng.permutation(pair[0].n_blocks) for _ in range(4)], []
    for blocks, run in zip(pair, (subgradient_visits, subgradient_visits.plain)):
        blocks.reset(lam)
        target, moments = np.zeros((2, blocks.n_weights))
        for k, order in enumerate(orders):
            run(blocks, order, k * len(order), lam, target, moments)
        results.append((target, moments, blocks.counts))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(other, one, **CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("euclidean", [False, True], ids=["l1", "l2"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_saddle_points(name, euclidean, rng):
    _, pair = pair_of(name, "compiled")
    order, results = rng.integers(pair[0].n_blocks, size=40), []
    for blocks, run in zip(pair, (saddle_visits, saddle_visits.plain)):
        blocks.reset(1.0)
        w, mean = np.zeros((2, blocks.n_weights))
        run(blocks, order, 0, 0.7, euclidean, w, mean)
        results.append((w, mean))
    assert_same_state(*pair)
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(other, one, **CLOSE)
