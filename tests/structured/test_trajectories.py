"""Block-coordinate Frank-Wolfe visit by visit, against a slow reference that lists all outputs."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import _problems
from _problems import PROBLEMS, ROUNDING, fit, optimum, part_blocks, problem
from sklearn_fw._kernels.structured import block_rules
from sklearn_fw._kernels.structured.block_rules import BY_GAP, BY_MAX_GAP, Rules
from sklearn_fw.structured import BlockFrankWolfe, EnumeratedModel, FrankWolfe
from sklearn_fw.structured._problems._listed import BlackBoxProblem
from sklearn_fw.structured._solvers import resolve_solver
from sklearn_fw.structured._solvers._visits import batch_step, visit_blocks

STEPS = ["fw", "pairwise", "away", "hybrid"]


def make_rules(p, step="fw", cache=None, **changes):
    settings = dict(zip(("cache_f", "cache_nu"), cache or ()), use_cache=cache is not None)
    return Rules(p.lam, STEPS.index(step), **settings, **changes)


def capacity_of(rules, size):
    return size if rules.use_cache or rules.variant else 0


def visit(blocks, rules, i):
    assert visit_blocks(blocks, np.array([i]), np.zeros(1), rules) == 1


def box_for(p, rng):
    """Bounds on most coordinates, some of which exclude the origin."""
    lower, upper = _problems.box_for(p, rng)
    lower[rng.random(p.size) < 0.2] = 0.01
    return lower, upper


def with_reference(p, rng, bounded, **reset):
    """Blocks and the reference of the same problem, maybe in a box."""
    bounds = box_for(p, rng) if bounded else None
    blocks = part_blocks(p)
    blocks.reset(p.lam, bounds=bounds, **reset)
    return blocks, p.dual(**dict(zip(["lower", "upper"], bounds or ())))


with_and_without_bounds = pytest.mark.parametrize("bounded", [False, True], ids=["free", "box"])


# ---- all of a visit ------------------------------------------------------------------------------


def assert_same_state(p, blocks, slow):
    np.testing.assert_allclose(blocks.v, slow.v, **ROUNDING)
    np.testing.assert_allclose(blocks.w, slow.w, **ROUNDING)
    np.testing.assert_allclose(blocks.loss, slow.loss, **ROUNDING)
    np.testing.assert_allclose(blocks.gaps.value, slow.last_gap, **ROUNDING)
    nodes = [
        np.bincount(states, weights=alpha, minlength=p.model.n_states_)
        for alpha, outputs in zip(slow.alpha, p.outputs)
        for states in outputs.T
    ]
    np.testing.assert_allclose(blocks.marginals.nodes, nodes, **ROUNDING)
    dual = blocks.dual_coef()
    if dual is not None:
        alphas = [[d.get(tuple(row), 0.0) for row in o] for d, o in zip(dual, p.outputs)]
        np.testing.assert_allclose(np.concatenate(alphas), np.concatenate(slow.alpha), **ROUNDING)


def start_anywhere(p, blocks, slow, rng):
    """Leave w = 0, where equal losses tie."""
    vertices = [rng.integers(len(outputs)) for outputs in p.outputs]
    labels = [outputs[c] for outputs, c in zip(p.outputs, vertices)]
    blocks.step_towards(np.concatenate(labels).astype(np.int32), 0.4)
    blocks.refresh()
    slow.step_towards(vertices, 0.4)


@pytest.mark.slow
@with_and_without_bounds
@pytest.mark.parametrize("cache", [None, (0.25, 0.01)], ids=["oracle", "cache"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_trajectory(name, step, cache, bounded, rng):
    """Every visit does what the papers say, and what must hold of any state holds."""
    p = problem(name)
    rules = make_rules(p, step, cache)
    blocks, slow = with_reference(p, rng, bounded, capacity=capacity_of(rules, 100))
    start_anywhere(p, blocks, slow, rng)
    n, dual, total, n_visits = blocks.n_blocks, -np.inf, blocks.max_loss, 0
    for k, i in enumerate(rng.permutation(n).tolist() + rng.integers(n, size=5 * n).tolist()):
        if not slow.visit(i, step, cache, total):
            continue
        visit(blocks, rules, i)
        n_visits += 1
        before, dual = dual, blocks.dual_value(blocks.v, blocks.loss.sum())
        np.testing.assert_allclose(dual, slow.dual(), **ROUNDING)
        assert dual >= before - 1e-12
        if k % 7:
            continue
        assert_same_state(p, blocks, slow)
        point = blocks.certify()
        np.testing.assert_allclose(point.primal, slow.primal(), **ROUNDING)
        np.testing.assert_allclose(point.dual, slow.dual(), **ROUNDING)
        np.testing.assert_allclose(point.gap, slow.gaps().sum(), **ROUNDING)
        assert point.gap >= 0
        gaps = p.weight * (point.sweep.hinge - point.sweep.current)
        np.testing.assert_allclose(gaps, slow.gaps(), **ROUNDING)
        if k % 14:  # an exact gap pass, as the solver makes it
            blocks.refresh()
            assert_same_state(p, blocks, slow)
            blocks.set_gaps(point.sweep)
            slow.last_gap, total = slow.gaps(), slow.gaps().sum()
    assert n_visits > 2 * n
    assert_same_state(p, blocks, slow)
    assert blocks.counts[block_rules.HITS] == slow.counts["hits"]
    steps = blocks.counts[block_rules.STEPS : block_rules.STEPS + 3].tolist()
    expected = [slow.counts[kind] for kind in ("fw", "pairwise", "away")]
    # Between two vertices the directions of the hybrid rule coincide.
    assert sum(steps) == sum(expected) if step == "hybrid" else steps == expected
    if blocks.explicit:
        assert blocks.counts[block_rules.DROPS] == slow.counts["drop"]
    assert cache is None or slow.counts["hits"] > 0


@pytest.mark.slow
@with_and_without_bounds
@pytest.mark.parametrize("name", ["multiclass", "labels, all pairs", "chain"])
def test_visits_without_line_search(name, bounded, rng):
    p = problem(name)
    blocks, slow = with_reference(p, rng, bounded)
    start_anywhere(p, blocks, slow, rng)
    n, k = blocks.n_blocks, 0
    for i in rng.integers(n, size=6 * n):
        if slow.visit(i, gamma=2 * n / (k + 2 * n)):
            visit(blocks, make_rules(p, line_search=False), i)
            k += 1
    assert k > 2 * n
    assert_same_state(p, blocks, slow)


@with_and_without_bounds
@pytest.mark.parametrize("step_size", ["line_search", "universal"])
@pytest.mark.parametrize("name", ["multiclass", "labels, all pairs", "chain, CSR"])
def test_batch_frank_wolfe(name, step_size, bounded, rng):
    p = problem(name)
    bounds = dict(zip(["lower", "upper"], box_for(p, rng))) if bounded else {}
    settings = {f"{side}_bounds": bound for side, bound in bounds.items()}
    solver = FrankWolfe(step_size=step_size, **settings)
    method = solver.start(part_blocks(p), lam=p.lam, tol=0.0, rng=None)
    slow = p.dual(**bounds)
    for k in range(12):
        row = method.step()
        np.testing.assert_allclose(method.weights(), slow.w, **ROUNDING)
        np.testing.assert_allclose(row["objective"], slow.primal(), **ROUNDING)
        np.testing.assert_allclose(row["dual_objective"], slow.dual(), **ROUNDING)
        np.testing.assert_allclose(row["dual_gap"], slow.gaps().sum(), **ROUNDING)
        vertices = [int(h.argmax()) for h in slow.values(slow.w)]
        target = sum(w * psi[c] for w, psi, c in zip(p.weight, p.psi, vertices)) / p.lam
        gamma = min(1.0, row["dual_gap"] / (p.lam * np.sum((slow.v - target) ** 2)))
        slow.step_towards(vertices, gamma if step_size == "line_search" else 2 / (k + 2))


@pytest.mark.slow
@with_and_without_bounds
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ["multiclass, costs", "labels, tree", "chain"])
def test_weighted_average(name, step, bounded, rng):
    """Iterate k has the weight k, before clipping; the average has its own certificate."""
    p = problem(name)
    capacity = 20 if step != "fw" else 0
    blocks, slow = with_reference(p, rng, bounded, capacity=capacity, averaging=True)
    iterates = []
    for k, i in enumerate(rng.integers(blocks.n_blocks, size=60)):
        if k == 40:  # a common step counts as one iterate
            assert batch_step(blocks, blocks.certify()) > 0
        else:
            visit(blocks, make_rules(p, step), i)
        iterates.append((blocks.v.copy(), blocks.loss.sum()))
    k = np.arange(1, len(iterates) + 1)
    v = np.average([v for v, _ in iterates], axis=0, weights=k)
    loss = np.average([l for _, l in iterates], weights=k)
    point = blocks.certify(averaged=True)
    np.testing.assert_allclose(blocks.averaged()[0], v, **ROUNDING)
    np.testing.assert_allclose(blocks.averaged()[1], loss, **ROUNDING)
    w = np.clip(v, slow.lower, slow.upper)
    np.testing.assert_allclose(point.w, w, **ROUNDING)
    np.testing.assert_allclose(point.primal, p.objective(w), **ROUNDING)
    dual = loss + p.lam * (w @ w / 2 - v @ w)
    np.testing.assert_allclose(point.dual, dual, **ROUNDING)
    np.testing.assert_allclose(point.gap, point.primal - point.dual, atol=1e-14)
    assert point.gap >= 0


@pytest.mark.parametrize("batch_step", [False, True], ids=["", "batch steps"])
@pytest.mark.parametrize("name", ["bcfw", "bcpfw", "bchybrid"])
def test_averaging(name, batch_step):
    p = problem("chain")
    solver = resolve_solver(name).set_params(averaging=True, batch_step=batch_step, gap_check=3)
    svm = fit(p, solver, tol=2e-3)
    assert svm.converged_
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
    np.testing.assert_allclose(svm.objective_ - svm.dual_objective_, svm.dual_gap_, atol=1e-14)
    assert svm.dual_objective_ <= optimum("chain")[1] <= svm.objective_
    plain = fit(p, solver.set_params(averaging=False), tol=2e-3)
    assert np.any(plain.coef_ != svm.coef_)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ["multiclass", "labels, all pairs", "chain, CSR"])
def test_batch_step(name, step, rng):
    """The answers of a gap pass pay for one line search of batch Frank-Wolfe."""
    p = problem(name)
    blocks, rules = part_blocks(p), make_rules(p, step)
    blocks.reset(p.lam, capacity=2 if step != "fw" else 0)
    for _ in range(3):
        visit_blocks(blocks, rng.permutation(blocks.n_blocks), np.zeros(blocks.n_blocks), rules)
        point, before = blocks.certify(), blocks.v.copy()
        vertex, loss = blocks.vertex_of(point.sweep.answers)
        np.testing.assert_allclose(
            point.gap, p.lam * (before - vertex) @ before - blocks.loss.sum() + loss, **ROUNDING
        )
        curvature = p.lam * np.sum((before - vertex) ** 2)
        gamma = batch_step(blocks, point)
        np.testing.assert_allclose(gamma, min(1.0, point.gap / curvature), **ROUNDING)
        np.testing.assert_allclose(blocks.v, before + gamma * (vertex - before), **ROUNDING)
        increase = gamma * point.gap - gamma**2 / 2 * curvature
        after = blocks.dual_value(blocks.v, blocks.loss.sum())
        np.testing.assert_allclose(after - point.dual, increase, **ROUNDING)
    if step != "fw":
        sums = [sum(alphas.values()) for alphas in blocks.dual_coef()]
        np.testing.assert_allclose(sums, 1.0, rtol=1e-12)


@pytest.mark.parametrize("step_size", ["line_search", "universal"])
def test_rate(step_size):
    """E f(alpha_k) - f* <= 2n / (k + 2n) (C + h_0), C = sum_i 4 R_i^2 / (lam n^2) (Theorem 1)."""
    p = problem("labels, tree")
    n, value = len(p.psi), optimum("labels, tree")[1]
    curvature = sum(4 * np.sum(psi**2, axis=1).max() for psi in p.psi) / (p.lam * n**2)
    errors = []
    for seed in range(5):
        solver = BlockFrankWolfe(sampling="uniform", step_size=step_size, gap_check=1)
        random = np.random.RandomState(seed)
        method = solver.start(part_blocks(p), lam=p.lam, tol=0.0, rng=random)
        errors.append([value - method.step()["dual_objective"] for _ in range(30)])
    k = n * np.arange(1, 31)
    assert np.all(np.mean(errors, axis=0) <= 2 * n / (k + 2 * n) * (curvature + value))
    assert np.all(np.array(errors) >= -1e-12)


# ---- choice of the block -------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5, 8, 13])
@pytest.mark.parametrize("degree", [1.0, 2.0])
def test_gap_sampling_is_proportional(n, degree, rng):
    gaps = rng.random(n)
    gaps[n // 2] = 0.0 if n > 1 else 0.3
    size = 1 << max(n - 1, 0).bit_length()
    state = block_rules.Gaps(np.zeros(n), np.zeros(2 * size), np.zeros(1))
    for i in rng.permutation(n):
        block_rules.set_gap(state, i, gaps[i], degree)
    draws = 20_000
    picked = [block_rules.pick_block(state, BY_GAP, (k + 0.5) / draws) for k in range(draws)]
    expected = gaps**degree / np.sum(gaps**degree)
    # Evenly spread uniforms: each count is off by less than two.
    counts = np.bincount(picked, minlength=n)
    np.testing.assert_allclose(counts, expected * draws, atol=2)
    assert counts[n // 2] == 0 or n == 1
    assert block_rules.pick_block(state, BY_MAX_GAP, 0.0) == gaps.argmax()
    assert block_rules.pick_block(state, 0, 0.5) == 0


def test_stops_when_no_gap_is_left():
    """One sample: the first visit reaches the optimum, after which there is nothing to draw."""
    blocks = toy(1, 1)
    method = BlockFrankWolfe().start(blocks, lam=1.0, tol=0.0, rng=np.random.RandomState(0))
    assert not method.run_pass()
    assert method.certify()["dual_gap"] == pytest.approx(0.0, abs=1e-15)
    assert method.run_pass()  # the exact gap pass found no gap
    assert method.step()["dual_gap"] == pytest.approx(0.0, abs=1e-15)


def toy(n, n_outputs):
    """One hard block among easy ones (Osokin et al., appendix C); w = 0 at the truth."""
    hard = np.vstack([np.zeros(n_outputs + 1), -np.eye(n_outputs + 1)[:-1] / np.sqrt(2)])
    easy = np.zeros_like(hard)
    easy[1:, -1] = -1.0
    X, y = [hard] + [easy] * (n - 1), [0] * n
    return BlackBoxProblem(EnumeratedModel().initialize(X, y), X, y, np.full(n, 1 / n))


@pytest.mark.parametrize("seed", range(3))
def test_toy_example_of_gap_sampling(seed):
    """Gap sampling needs about n + t visits where uniform sampling needs n t."""
    n, rng = 50, np.random.default_rng(seed)
    rules = Rules(1 / n)
    visits = {}
    for sampling in ("gap", "uniform"):
        blocks = toy(n, n)
        blocks.reset(1 / n)
        visit_blocks(blocks, rng.permutation(n), np.zeros(n), rules)
        t, k, gap = 1, n, np.inf
        while gap > 1 / n**2:
            before = blocks.gaps.value[0]
            i = BY_GAP if sampling == "gap" else rng.integers(n)
            visit_blocks(blocks, np.array([i]), rng.random(1), rules)
            k += 1
            if blocks.gaps.value[0] != before:  # the hard block
                t += 1
                point = blocks.certify()
                gap = point.gap
                np.testing.assert_allclose(gap, 1 / (2 * t * n), rtol=1e-9)
                np.testing.assert_allclose(point.dual, (1.5 - 1 / (4 * t)) / n, rtol=1e-9)
        visits[sampling] = k
    assert visits["gap"] <= 2 * n
    assert visits["uniform"] >= 10 * n


# ---- the cache -----------------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS)
def test_undemanding_cache_never_converges(step):
    """F = nu = 0: one oracle call per block, and only gap passes tell that this is not enough."""
    p = problem("chain")
    solver = BlockFrankWolfe(step, cache=True, cache_f=0.0, cache_nu=0.0, gap_check=5)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        svm = fit(p, solver, tol=1e-3, max_iter=50)
    n = len(p.X)
    assert svm.n_oracle_calls_ == n + n * len(svm.history_["dual_gap"])
    assert svm.cache_stats_["misses"] == n
    assert svm.cache_stats_["hits"] + svm.cache_stats_["misses"] <= 50 * n
    assert not svm.converged_
    assert svm.dual_gap_ > 1e-3


def test_cache_saves_oracle_calls():
    p = problem("chain")
    plain, cached = (fit(p, solver, tol=1e-5) for solver in ("bcpfw", "cached"))
    assert cached.n_oracle_calls_ < 0.7 * plain.n_oracle_calls_
    assert plain.cache_stats_["hits"] == 0
    stats = cached.cache_stats_
    assert stats["hits"] > 0
    n = len(p.X)
    assert stats["hits"] + stats["misses"] <= n * cached.n_iter_
    assert cached.n_oracle_calls_ == stats["misses"] + n * len(cached.history_["dual_gap"])
    assert stats["misses"] - n <= stats["local"] + stats["global"] <= 2 * stats["misses"]


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("cache", [None, (0.25, 0.01)], ids=["oracle", "cache"])
@pytest.mark.parametrize("step", ["pairwise", "away", "hybrid"])
def test_tables_grow_only_for_vertices_in_use(step, cache, size, rng):
    p = problem("chain")
    blocks, rules = part_blocks(p), make_rules(p, step, cache)
    blocks.reset(p.lam, capacity=size)
    for i in rng.integers(blocks.n_blocks, size=300):
        capacity, in_use = blocks._vertices.alpha.shape[1], len(blocks.dual_coef()[i])
        visit(blocks, rules, i)
        # One capacity for all blocks: it grows when some block has no vertex to spare.
        assert blocks._vertices.alpha.shape[1] == capacity or in_use == capacity
        if cache is None:
            assert blocks._vertices.size[i] == len(blocks.dual_coef()[i])
    assert size <= blocks._vertices.alpha.shape[1] < 12


# ---- rounding ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cache", [None, (0.25, 0.01)], ids=["oracle", "cache"])
@pytest.mark.parametrize("step", STEPS)
def test_drift(step, cache, rng):
    """After thousands of steps the state is still what the alphas say; `refresh` moves nothing."""
    p = problem("labels, all pairs")
    blocks, rules = part_blocks(p), make_rules(p, step, cache)
    blocks.reset(p.lam, capacity=capacity_of(rules, 20))
    visit_blocks(blocks, rng.integers(blocks.n_blocks, size=5000), np.zeros(5000), rules)
    if blocks.explicit:
        for alphas in blocks.dual_coef():
            assert min(alphas.values()) > 0
            np.testing.assert_allclose(sum(alphas.values()), 1.0, rtol=1e-10)
    sums = blocks.marginals.nodes.sum(axis=1)
    np.testing.assert_allclose(sums, 1.0, rtol=1e-10)
    assert blocks.marginals.nodes.min() >= -1e-10
    v, loss = blocks.v.copy(), blocks.loss.copy()
    blocks.refresh()
    np.testing.assert_allclose(blocks.v, v, rtol=0, atol=1e-9)
    np.testing.assert_allclose(blocks.loss, loss, rtol=0, atol=1e-9)
