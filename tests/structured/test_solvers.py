"""Solvers against a QP solver, slow referees, closed forms and other software."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from _problems import PROBLEMS, C, optimum, problem
from _referees import slow_perceptron, slow_subgradient, solve_structured_svm
from sklearn_fw._kernels import block_rules
from sklearn_fw._kernels.block_rules import BY_GAP, Rules
from sklearn_fw.inference import Enumeration, Viterbi
from sklearn_fw.structured import (
    BlockFrankWolfe,
    EnumeratedModel,
    FrankWolfe,
    MulticlassModel,
    MultilabelModel,
    Perceptron,
    StructuredSVM,
    Subgradient,
)
from sklearn_fw.structured._black_box_blocks import BlackBoxBlocks
from sklearn_fw.structured._part_blocks import PartBlocks
from sklearn_fw.structured.solvers import resolve_solver
from sklearn_fw.structured.solvers._block_frank_wolfe import batch_step

STEPS = ["fw", "pairwise", "away", "hybrid"]
SAMPLINGS = ["uniform", "perm", "gap"]
NAMES = {"bcfw": "fw", "bcpfw": "pairwise", "bcafw": "away", "bchybrid": "hybrid"}
ROUNDING = {"rtol": 1e-9, "atol": 1e-11}  # the same numbers, added up in another order

budget_may_end = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}"
)


def fit(p, solver="bcfw", **params):
    params = {"C": C, "random_state": 0, "tol": 1e-6, "max_iter": 2000} | params
    return StructuredSVM(clone(p.model), solver=solver, **params).fit(p.X, p.y, p.sample_weight)


def part_blocks(p, oracle=None):
    parts = p.model._build_parts(p.X, p.y, p.weight)
    return PartBlocks(parts, oracle or p.model.default_oracle())


def make_rules(p, step="fw", cache=None, **changes):
    f, nu = cache or (0.0, 0.0)
    explicit = cache is not None or step != "fw"
    rules = Rules(p.lam, STEPS.index(step), True, explicit, cache is not None, f, nu, 1.0)
    return rules._replace(**changes)


def visit(blocks, rules, i):
    assert blocks.visit(np.array([i]), np.zeros(1), rules) == 1


# ---- the optimum ---------------------------------------------------------------------------------

SETTINGS = [
    (name, sampling, cache)
    for name, sampling, cache in itertools.product(NAMES, SAMPLINGS, [False, True])
] + [("cached", "gap", True), ("bcpfw", "max_gap", False), ("fw", None, None)]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: " ".join(map(str, s)))
@pytest.mark.parametrize("name", PROBLEMS)
def test_optimum(name, setting):
    """Every solver, sampling and cache against a QP solver on all outputs."""
    p, (solver_name, sampling, cache) = problem(name), setting
    w, value = optimum(name)
    solver = resolve_solver(solver_name)
    if sampling is not None:
        solver.set_params(sampling=sampling, cache=cache)
    slow = solver_name in ("bcfw", "fw") or name == "chain, zero-one"
    tol = 1e-2 if slow else 1e-7
    svm = fit(p, solver, tol=tol)
    assert svm.converged_
    assert 0 <= svm.dual_gap_ <= tol
    np.testing.assert_allclose(svm.objective_ - svm.dual_objective_, svm.dual_gap_, atol=1e-14)
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
    # The certificate bounds the true error, in value and, by strong convexity, in weights.
    assert svm.dual_objective_ <= value + 1e-12
    assert value <= svm.objective_ + 1e-12
    assert np.sum((svm.coef_ - w) ** 2) <= 2 * (svm.objective_ - value) / p.lam + 1e-12
    np.testing.assert_allclose(svm.coef_, w, atol=0.3 if slow else 1e-3)


@pytest.mark.parametrize("box", [(0.0, None), (None, 0.1), (-0.2, 0.3), (0.05, 0.2)], ids=str)
@pytest.mark.parametrize("name", ["multiclass", "labels, tree", "chain, CSR"])
@pytest.mark.parametrize("solver", ["bcfw", "bcpfw", "bcafw", "bchybrid", "cached", "fw"])
def test_optimum_in_a_box(name, box, solver):
    p = problem(name)
    w, value = optimum(name, *box)
    tol = 3e-2 if solver in ("bcfw", "fw") else 1e-6
    bounded = resolve_solver(solver).set_params(lower_bounds=box[0], upper_bounds=box[1])
    svm = fit(p, bounded, tol=tol)
    assert svm.converged_
    lower, upper = -np.inf if box[0] is None else box[0], np.inf if box[1] is None else box[1]
    assert lower <= svm.coef_.min() <= svm.coef_.max() <= upper
    assert np.any((svm.coef_ == lower) | (svm.coef_ == upper))
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
    assert svm.dual_objective_ - 1e-10 <= value <= svm.objective_ + 1e-10
    assert np.sum((svm.coef_ - w) ** 2) <= 2 * tol / p.lam


# ---- other software and closed forms -------------------------------------------------------------


@pytest.mark.parametrize("svm_C", [0.02, 0.5])
def test_crammer_singer(svm_C):
    X, y = load_iris(return_X_y=True)
    svm = StructuredSVM(
        MulticlassModel(fit_intercept=False), C=svm_C, solver="bcpfw", tol=1e-7, max_iter=5000,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    other = LinearSVC(
        multi_class="crammer_singer", C=svm_C, fit_intercept=False, tol=1e-8, max_iter=10**6,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(svm.feature_weights()["features"].T, other.coef_, atol=1e-3)
    np.testing.assert_array_equal(svm.predict(X), other.predict(X))
    np.testing.assert_allclose(svm.decision_function(X), other.decision_function(X), atol=1e-2)


@pytest.mark.parametrize("svm_C", [0.02, 1.0])
def test_binary_hinge(svm_C):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    svm = StructuredSVM(
        MulticlassModel(fit_intercept=False), C=svm_C, solver="bcpfw", tol=1e-8, max_iter=5000,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    other = LinearSVC(
        loss="hinge", C=2 * svm_C, fit_intercept=False, tol=1e-8, max_iter=10**6, random_state=0
    ).fit(X, y)
    weights = svm.feature_weights()["features"]
    np.testing.assert_allclose(weights[:, 1] - weights[:, 0], other.coef_[0], atol=1e-3)
    np.testing.assert_allclose(weights.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(svm.decision_function(X), other.decision_function(X), atol=1e-2)


@pytest.mark.parametrize("lam", [0.5, 5.0, 20.0])
@pytest.mark.parametrize("solver", ["bcfw", "bcpfw", "bcafw", "bchybrid", "cached", "fw"])
@pytest.mark.parametrize("compiled", [True, False], ids=["parts", "black box"])
def test_one_sample(solver, lam, compiled):
    """psi = x and L = 1: w* = min(1 / lam, 1 / |x|^2) x."""
    x = np.array([1.0, -2.0, 0.5])
    if compiled:
        model, X, y = MultilabelModel("none", fit_intercept=False), [x], [[1]]
        psi = np.stack([-x, x], axis=1).ravel()
    else:
        model, X, y, psi = EnumeratedModel(), [np.stack([x, 0 * x])], [0], x
    svm = StructuredSVM(model, solver=solver, C=1 / lam, tol=1e-9, random_state=0).fit(X, y)
    norm = psi @ psi
    np.testing.assert_allclose(svm.coef_, min(1 / lam, 1 / norm) * psi, rtol=1e-9)
    value = 1 - norm / (2 * lam) if lam >= norm else lam / (2 * norm)
    np.testing.assert_allclose([svm.objective_, svm.dual_objective_], value, rtol=1e-9)
    assert svm.n_iter_ <= 3


def toy(n, n_outputs):
    """One hard block among easy ones (Osokin et al., appendix C); w = 0 at the truth."""
    hard = np.vstack([np.zeros(n_outputs + 1), -np.eye(n_outputs + 1)[:-1] / np.sqrt(2)])
    easy = np.zeros_like(hard)
    easy[1:, -1] = -1.0
    X, y = [hard] + [easy] * (n - 1), [0] * n
    return BlackBoxBlocks(EnumeratedModel().initialize(X, y), X, y, np.full(n, 1 / n))


@pytest.mark.parametrize("seed", range(3))
def test_toy_example_of_gap_sampling(seed):
    """Gap sampling needs about n + t visits where uniform sampling needs n t."""
    n, rng = 50, np.random.default_rng(seed)
    rules = Rules(1 / n, 0, True, False, False, 0.0, 0.0, 1.0)
    visits = {}
    for sampling in ("gap", "uniform"):
        blocks = toy(n, n)
        blocks.reset(1 / n)
        blocks.visit(rng.permutation(n), np.zeros(n), rules)
        t, k, gap = 1, n, np.inf
        while gap > 1 / n**2:
            before = blocks.gaps.value[0]
            i = BY_GAP if sampling == "gap" else rng.integers(n)
            blocks.visit(np.array([i]), rng.random(1), rules)
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


# ---- trajectories against the slow referee -------------------------------------------------------


def box_for(p, rng):
    """Bounds on most coordinates, some of which exclude the origin."""
    lower, upper = -rng.uniform(0.05, 0.3, p.size), rng.uniform(0.05, 0.3, p.size)
    free = rng.random(p.size) < 0.3
    lower[free], upper[free] = -np.inf, np.inf
    lower[rng.random(p.size) < 0.2] = 0.01
    return lower, upper


def node_marginals(p, alphas):
    """Marginals of all nodes from the alphas of all outputs, (n_nodes, n_states)."""
    rows = []
    for alpha, outputs in zip(alphas, p.outputs):
        for t in range(outputs.shape[1]):
            rows.append(np.bincount(outputs[:, t], weights=alpha, minlength=p.model.n_states_))
    return np.array(rows)


def assert_same_state(p, blocks, slow):
    np.testing.assert_allclose(blocks.v, slow.v, **ROUNDING)
    np.testing.assert_allclose(blocks.w, slow.w, **ROUNDING)
    np.testing.assert_allclose(blocks.loss, slow.loss, **ROUNDING)
    np.testing.assert_allclose(blocks.gaps.value, slow.last_gap, **ROUNDING)
    np.testing.assert_allclose(blocks._nodes, node_marginals(p, slow.alpha), **ROUNDING)
    dual = blocks.dual_coef()
    if dual is not None:
        alphas = [[d.get(tuple(row), 0.0) for row in o] for d, o in zip(dual, p.outputs)]
        np.testing.assert_allclose(np.concatenate(alphas), np.concatenate(slow.alpha), **ROUNDING)


def start_anywhere(p, blocks, slow, rng):
    """Leave w = 0, where equal losses tie."""
    corners = [rng.integers(len(outputs)) for outputs in p.outputs]
    labels = [outputs[c] for outputs, c in zip(p.outputs, corners)]
    blocks.step_towards(np.concatenate(labels).astype(np.int32), 0.4)
    blocks.refresh()
    slow.step_towards(corners, 0.4)


@pytest.mark.parametrize("bounded", [False, True], ids=["free", "box"])
@pytest.mark.parametrize("cache", [None, (0.25, 0.01)], ids=["oracle", "cache"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_trajectory(name, step, cache, bounded, rng):
    """Every visit does what the papers say, and what must hold of any state holds."""
    p = problem(name)
    bounds = box_for(p, rng) if bounded else None
    blocks, rules = part_blocks(p), make_rules(p, step, cache)
    blocks.reset(p.lam, capacity=100 if rules.explicit else 0, bounds=bounds)
    slow = p.dual(**dict(zip(["lower", "upper"], bounds or ())))
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
    # Between two corners the directions of the hybrid rule coincide.
    assert sum(steps) == sum(expected) if step == "hybrid" else steps == expected
    if rules.explicit:
        assert blocks.counts[block_rules.DROPS] == slow.counts["drop"]
    assert cache is None or slow.counts["hits"] > 0


@pytest.mark.parametrize("bounded", [False, True], ids=["free", "box"])
@pytest.mark.parametrize("solver", [BlockFrankWolfe("fw"), FrankWolfe()], ids=["bcfw", "fw"])
@pytest.mark.parametrize("name", ["multiclass", "labels, all pairs", "chain"])
def test_steps_without_line_search(name, solver, bounded, rng):
    p = problem(name)
    bounds = box_for(p, rng) if bounded else None
    blocks, slow = part_blocks(p), p.dual(**dict(zip(["lower", "upper"], bounds or ())))
    blocks.reset(p.lam, bounds=bounds)
    start_anywhere(p, blocks, slow, rng)
    n = blocks.n_blocks
    for k in range(4 * n):
        if isinstance(solver, FrankWolfe):
            gamma = 2 / (k + 3)
            corners = [int(h.argmax()) for h in slow.values(slow.w)]
            answers = blocks.certify().sweep.answers
            slow.step_towards(corners, gamma)
            blocks.step_towards(answers, gamma)
            blocks.refresh()
        else:
            i = int(rng.integers(n))
            if slow.visit(i, gamma=2 * n / (blocks.counts[block_rules.VISITS] + 2 * n)):
                visit(blocks, make_rules(p, line_search=False), i)
    np.testing.assert_allclose(blocks.v, slow.v, **ROUNDING)
    np.testing.assert_allclose(blocks.certify().gap, slow.gaps().sum(), **ROUNDING)


@budget_may_end
@pytest.mark.parametrize(
    "solver", [BlockFrankWolfe(line_search=False), FrankWolfe(line_search=False)]
)
def test_fit_without_line_search(solver):
    p = problem("labels, tree")
    svm = fit(p, solver, max_iter=300)
    assert 0 < svm.dual_gap_ < 0.05
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
    assert np.any(np.diff(svm.history_["dual_objective"]) < 0) or isinstance(
        solver, BlockFrankWolfe
    )


@pytest.mark.parametrize("bounded", [False, True], ids=["free", "box"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ["multiclass, costs", "labels, tree", "chain"])
def test_weighted_average(name, step, bounded, rng):
    """Iterate k has the weight k, before clipping; the average has its own certificate."""
    p = problem(name)
    bounds = box_for(p, rng) if bounded else None
    blocks, slow = part_blocks(p), p.dual(**dict(zip(["lower", "upper"], bounds or ())))
    blocks.reset(p.lam, capacity=20 if step != "fw" else 0, averaging=True, bounds=bounds)
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
    _, value = optimum("chain")
    solver = resolve_solver(name).set_params(averaging=True, batch_step=batch_step, gap_check=3)
    svm = fit(p, solver, tol=2e-3)
    assert svm.converged_
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
    np.testing.assert_allclose(svm.objective_ - svm.dual_objective_, svm.dual_gap_, atol=1e-14)
    assert svm.dual_objective_ <= value <= svm.objective_
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
        blocks.visit(rng.permutation(blocks.n_blocks), np.zeros(blocks.n_blocks), rules)
        point, before = blocks.certify(), blocks.v.copy()
        corner, loss = blocks.corner_of(point.sweep.answers)
        np.testing.assert_allclose(
            point.gap, p.lam * (before - corner) @ before - blocks.loss.sum() + loss, **ROUNDING
        )
        curvature = p.lam * np.sum((before - corner) ** 2)
        gamma = batch_step(blocks, point)
        np.testing.assert_allclose(gamma, min(1.0, point.gap / curvature), **ROUNDING)
        np.testing.assert_allclose(blocks.v, before + gamma * (corner - before), **ROUNDING)
        increase = gamma * point.gap - gamma**2 / 2 * curvature
        after = blocks.dual_value(blocks.v, blocks.loss.sum())
        np.testing.assert_allclose(after - point.dual, increase, **ROUNDING)
    if step != "fw":
        sums = [sum(alphas.values()) for alphas in blocks.dual_coef()]
        np.testing.assert_allclose(sums, 1.0, rtol=1e-12)


@budget_may_end
@pytest.mark.parametrize("max_iter", [1, 7, 500])
def test_batch_step_reports_the_certified_point(max_iter):
    p = problem("labels, tree")
    solver = BlockFrankWolfe("pairwise", batch_step=True, gap_check=2)
    svm = fit(p, solver, tol=1e-6, max_iter=max_iter)
    assert svm.dual_gap_ == svm.history_["dual_gap"][-1]
    assert svm.converged_ == (svm.dual_gap_ <= 1e-6)
    assert svm.n_oracle_calls_ == svm.history_["n_oracle_calls"][-1]
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
    np.testing.assert_allclose(svm.block_gaps_.sum(), svm.dual_gap_, atol=1e-14)


@pytest.mark.parametrize("sampling", ["gap", "uniform"])
@pytest.mark.parametrize("line_search", [True, False])
def test_rate(sampling, line_search):
    """E f(alpha_k) - f* <= 2n / (k + 2n) (C + h_0), C = sum_i 4 R_i^2 / (lam n^2) (Theorem 1)."""
    p = problem("labels, tree")
    n, value = len(p.psi), optimum("labels, tree")[1]
    curvature = sum(4 * np.sum(psi**2, axis=1).max() for psi in p.psi) / (p.lam * n**2)
    errors = []
    for seed in range(5):
        solver = BlockFrankWolfe(sampling=sampling, line_search=line_search, gap_check=1)
        method = solver.start(
            part_blocks(p), lam=p.lam, tol=0.0, rng=np.random.RandomState(seed)
        )  # fmt: skip
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
    assert block_rules.pick_block(state, block_rules.BY_MAX_GAP, 0.0) == gaps.argmax()
    assert block_rules.pick_block(state, 0, 0.5) == 0


def test_first_pass_visits_every_block_once():
    p = problem("chain")
    for sampling in ("gap", "max_gap", "perm"):
        solver = BlockFrankWolfe(sampling=sampling)
        method = solver.start(part_blocks(p), lam=p.lam, tol=0.0, rng=np.random.RandomState(0))
        order, _ = method._order()
        assert sorted(order) == list(range(len(p.X)))


def test_stops_when_no_gap_is_left():
    """One sample: the first visit reaches the optimum, after which there is nothing to draw."""
    blocks = toy(1, 1)
    method = BlockFrankWolfe().start(blocks, lam=1.0, tol=0.0, rng=np.random.RandomState(0))
    assert not method.run_pass()
    assert method.certify()["dual_gap"] == pytest.approx(0.0, abs=1e-15)
    assert method.run_pass()  # the exact gap pass found no gap
    assert method.step()["dual_gap"] == pytest.approx(0.0, abs=1e-15)


# ---- the cache -----------------------------------------------------------------------------------


@budget_may_end
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("sampling", ["gap", "uniform"])
def test_demanding_cache_changes_nothing(step, sampling):
    p = problem("chain")
    solver = BlockFrankWolfe(step, sampling=sampling)
    # Later equal corners may come in another order from a table that keeps unused ones.
    budget = {"tol": 0.0, "max_iter": 500 if step == "fw" else 4}
    plain = fit(p, solver, **budget)
    cached = fit(p, solver.set_params(cache=True, cache_nu=1e30), **budget)
    assert cached.cache_stats_["hits"] == 0
    assert cached.n_oracle_calls_ == plain.n_oracle_calls_
    assert cached.step_counts_["away"] == plain.step_counts_["away"]
    np.testing.assert_allclose(cached.coef_, plain.coef_, **ROUNDING)
    np.testing.assert_allclose(
        cached.history_["dual_gap"], plain.history_["dual_gap"], rtol=1e-6, atol=1e-11
    )


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


def test_small_tables():
    """FW evicts what is in use and then has no duals; the other rules make room."""
    p = problem("chain")
    _, value = optimum("chain")
    for step in STEPS:
        solver = BlockFrankWolfe(step, cache=True, cache_size=2, gap_check=3)
        svm = fit(p, solver, tol=5e-3)
        assert svm.dual_objective_ <= value <= svm.objective_
        np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
        assert (svm.dual_coef_ is None) == (step == "fw")
    assert max(map(len, svm.dual_coef_)) > 2


# ---- warm starts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bcfw", "bcpfw", "cached", "fw"])
@pytest.mark.parametrize("problem_name", ["multiclass", "labels, all pairs", "chain"])
def test_warm_start_of_the_same_fit(name, problem_name):
    p = problem(problem_name)
    tol = 0.02 if name in ("bcfw", "fw") else 1e-5
    svm = fit(p, name, tol=tol, warm_start=True)
    coef, calls = svm.coef_.copy(), svm.n_oracle_calls_
    svm.fit(p.X, p.y, p.sample_weight)
    assert svm.n_oracle_calls_ < 0.8 * calls
    assert svm.dual_gap_ <= tol
    np.testing.assert_allclose(svm.coef_, coef, atol=np.sqrt(8 * tol / p.lam))
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)


@pytest.mark.parametrize("name", ["bcfw", "bcpfw", "cached"])
@pytest.mark.parametrize("problem_name", ["multiclass", "labels, tree", "chain", "chain, zero-one"])
def test_warm_start_with_another_C(name, problem_name):
    """keep_primal keeps w, keep_dual keeps alpha, none starts anew; all end at the optimum."""
    p = problem(problem_name)
    tol = 0.05
    svm = fit(p, name, tol=tol, warm_start=True)
    w, old = svm.coef_.copy(), svm._warm
    lam = p.lam / 3
    starts = {"keep_primal": w, "keep_dual": 3 * w, "none": 0 * w}
    for kind, expected in starts.items():
        solver = resolve_solver(name).set_params(warm_start_type=kind)
        method = solver.start(
            part_blocks(p), lam=lam, tol=tol, rng=np.random.RandomState(0), warm=old
        )
        np.testing.assert_allclose(method.weights(), expected, rtol=1e-9, atol=1e-12)
        row = method.certify()
        np.testing.assert_allclose(p.objective(expected, lam), row["objective"], rtol=1e-9)
        assert row["dual_objective"] <= row["objective"]
    again = fit(p, solver.set_params(warm_start_type="keep_primal"), tol=tol, warm_start=True)
    again.set_params(C=3 * C).fit(p.X, p.y, p.sample_weight)
    cold = fit(p, name, C=3 * C, tol=tol)
    assert again.converged_
    np.testing.assert_allclose(p.objective(again.coef_, lam), again.objective_, rtol=1e-12)
    # Both values are within tol of the optimum.
    np.testing.assert_allclose(again.objective_, cold.objective_, atol=tol)
    assert again.objective_ >= cold.dual_objective_
    assert cold.objective_ >= again.dual_objective_


@pytest.mark.parametrize("name", ["bcfw", "bcpfw"])
@pytest.mark.parametrize("problem_name", ["labels, tree", "chain", "chain, zero-one"])
def test_warm_start_with_other_weights(name, problem_name, rng):
    """The certificate of a second fit with other weights of samples holds."""
    p = problem(problem_name)
    svm = fit(p, name, tol=0.05, warm_start=True)
    solver = resolve_solver(name).set_params(warm_start_type="keep_dual")
    weight = rng.uniform(0.5, 2.0, size=len(p.X))
    svm.set_params(solver=solver).fit(p.X, p.y, weight)
    lam = 1 / (C * weight.sum())
    value = solve_structured_svm(p.psi, p.losses, weight / weight.sum(), lam)[1]
    assert svm.dual_objective_ <= value <= svm.objective_


def test_warm_start_needs_the_same_dual(rng):
    p = problem("chain")
    svm = fit(p, "bcpfw", tol=0.05, warm_start=True)
    for y in (p.y[::-1], p.y[1:]):
        X = p.X[::-1] if len(y) == len(p.X) else p.X[1:]
        with pytest.raises(ValueError, match="warm_start=True needs the outputs and the losses"):
            svm.fit(X, y)
    svm = fit(p, "bcpfw", tol=0.05, warm_start=True)
    with pytest.raises(ValueError, match="warm_start=True needs"):
        svm.set_params(model__task_loss="hamming_sum").fit(p.X, p.y, p.sample_weight)
    svm = fit(p, "bcfw", tol=0.05, warm_start=True)
    with pytest.raises(ValueError, match="use the same solver, or set warm_start=False"):
        svm.set_params(solver="bcpfw").fit(p.X, p.y, p.sample_weight)
    with pytest.raises(ValueError, match="needs C to grow from fit to fit: use 'keep_dual'"):
        svm.set_params(solver="bcfw", C=C / 2).fit(p.X, p.y, p.sample_weight)
    svm.set_params(warm_start=False).fit(p.X, p.y, p.sample_weight)
    labels = problem("labels, all pairs")
    svm = fit(labels, "bcfw", tol=0.05, warm_start=True)
    with pytest.raises(ValueError, match="warm_start=True needs"):
        svm.set_params(model__edges=[[1, 0], [2, 1], [0, 2]]).fit(labels.X, labels.y)


def test_warm_start_from_a_primal_baseline():
    """It has no dual variables: the next fit starts anew."""
    p = problem("chain")
    svm = fit(p, "subgradient", max_iter=3, warm_start=True)
    svm.set_params(solver="bcfw", max_iter=2000, tol=0.05).fit(p.X, p.y, p.sample_weight)
    np.testing.assert_array_equal(svm.coef_, fit(p, "bcfw", tol=0.05).coef_)


# ---- the same run in other ways ------------------------------------------------------------------


@budget_may_end
@pytest.mark.parametrize("averaging", [False, True], ids=["", "average"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ["multiclass", "labels, tree", "chain", "chain, CSR"])
def test_oracles_called_from_python(name, step, averaging):
    """A function, and an oracle without a compiled pass, give the trajectory of the compiled pass.

    Only of a few passes: later on, equal corners are told apart by rounding.
    """
    p = problem(name)
    default = p.model.default_oracle()
    if name == "multiclass":
        default = Enumeration()

    def function(scores):
        return default.argmax(scores)

    solver = BlockFrankWolfe(step, averaging=averaging, gap_check=1)
    runs = [
        fit(p, solver, oracle=oracle, tol=0.0, max_iter=2)
        for oracle in ("auto", function, Enumeration())
    ]
    for run in runs[1:]:
        np.testing.assert_allclose(run.coef_, runs[0].coef_, rtol=1e-7, atol=1e-9)
        assert set(run.history_) == set(runs[0].history_)
        for key in run.history_.keys() - {"time"}:
            np.testing.assert_allclose(
                run.history_[key], runs[0].history_[key], rtol=1e-7, atol=1e-9
            )
        np.testing.assert_allclose(run.block_gaps_, runs[0].block_gaps_, atol=1e-9)
        assert run.n_oracle_calls_ == runs[0].n_oracle_calls_
        assert (run.dual_coef_ is None) == (step == "fw")
        for one, other in zip(run.dual_coef_ or [], runs[0].dual_coef_ or []):
            assert one == pytest.approx(other, rel=1e-7, abs=1e-9)
        a, b = run.predict(p.X), runs[0].predict(p.X)
        assert all(np.array_equal(one, other) for one, other in zip(a, b))


@budget_may_end
@pytest.mark.parametrize(
    "name, oracle",
    [
        ("chain", "auto"),
        ("chain", Viterbi().argmax),
        ("chain, zero-one", "auto"),
        ("labels, all pairs", "auto"),
    ],
    ids=["compiled", "function", "top_k", "enumeration"],
)
def test_workers(name, oracle):
    p = problem(name)
    one, two = (fit(p, "bcpfw", oracle=oracle, n_jobs=n, tol=0.0, max_iter=2) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.history_["dual_gap"], two.history_["dual_gap"])


@pytest.mark.parametrize("name", [*NAMES, "cached", "subgradient", "perceptron"])
def test_reproducible(name):
    p = problem("chain")
    settings = {} if name in ("subgradient", "perceptron") else {"tol": 0.05}
    budget = {"max_iter": 3 if not settings else 2000} | settings
    one, two, other = (fit(p, name, random_state=seed, **budget) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert np.any(one.coef_ != other.coef_)
    again = fit(p, name, random_state=np.random.RandomState(3), **budget)
    np.testing.assert_array_equal(one.coef_, again.coef_)


@pytest.mark.parametrize("name", [*NAMES, "cached", "fw"])
def test_infinite_bounds(name):
    p = problem("chain")
    solver = resolve_solver(name)
    free = fit(p, solver, tol=0.05)
    boxed = fit(p, solver.set_params(lower_bounds=-np.inf, upper_bounds=np.inf), tol=0.05)
    np.testing.assert_array_equal(free.coef_, boxed.coef_)
    np.testing.assert_allclose(
        boxed.history_["dual_gap"], free.history_["dual_gap"], rtol=1e-9, atol=1e-12
    )


def test_bounds_of_the_model():
    """``model.bounds()`` holds unless the solver has bounds of its own."""

    class Positive(MulticlassModel):
        def bounds(self):
            return 0.0, None

    p = problem("multiclass")
    w, _ = optimum("multiclass", 0.0, None)
    svm = StructuredSVM(Positive(), C=C, solver="bcpfw", tol=1e-6, random_state=0).fit(p.X, p.y)
    np.testing.assert_allclose(svm.coef_, w, atol=1e-3)
    assert svm.solver_.lower_bounds == 0.0
    svm.set_params(solver=BlockFrankWolfe("pairwise", upper_bounds=0.1)).fit(p.X, p.y)
    assert svm.coef_.min() < 0
    assert svm.coef_.max() <= 0.1


def test_time_limit():
    p = problem("chain")
    with pytest.warns(ConvergenceWarning, match="increase time_limit"):
        svm = fit(p, "bcfw", tol=1e-9, time_limit=1e-9)
    assert svm.status_ == "time_limit"
    assert svm.n_iter_ == 1
    assert not svm.converged_
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
    assert svm.dual_gap_ == svm.history_["dual_gap"][-1]


# ---- primal baselines ----------------------------------------------------------------------------


@pytest.mark.parametrize("averaging", [False, True], ids=["last", "average"])
@pytest.mark.parametrize("name", ["multiclass, costs", "labels, tree", "chain", "chain, CSR"])
def test_subgradient(name, averaging):
    p = problem(name)
    n_passes, random = 5, check_random_state(0)
    order = np.concatenate([random.permutation(len(p.X)) for _ in range(n_passes)])
    iterates = slow_subgradient(p.psi, p.losses, p.weight, p.lam, order)
    k = np.arange(1, len(order) + 1)
    w = np.average(iterates, axis=0, weights=k) if averaging else iterates[-1]
    svm = fit(p, Subgradient(averaging=averaging), max_iter=n_passes)
    np.testing.assert_allclose(svm.coef_, w, **ROUNDING)
    np.testing.assert_allclose(svm.objective_, p.objective(w), rtol=1e-12)
    assert svm.status_ == "finished"
    assert svm.dual_gap_ is None
    assert svm.n_oracle_calls_ == len(order)


def test_subgradient_converges():
    p = problem("chain")
    svm = fit(p, Subgradient(), max_iter=2000)
    assert 0 <= svm.objective_ - optimum("chain")[1] < 5e-3


@pytest.mark.parametrize("averaging", [False, True], ids=["last", "average"])
@pytest.mark.parametrize("name", ["multiclass", "labels, tree", "chain", "chain, CSR"])
def test_perceptron(name, averaging):
    p = problem(name)
    n_passes, random = 5, check_random_state(0)
    order = np.concatenate([random.permutation(len(p.X)) for _ in range(n_passes)])
    iterates = slow_perceptron(p.psi, p.weight, order)
    svm = fit(p, Perceptron(averaging=averaging), max_iter=n_passes)
    w = iterates.mean(axis=0) if averaging else iterates[-1]
    np.testing.assert_allclose(svm.coef_, w, **ROUNDING)
    np.testing.assert_allclose(svm.objective_, p.objective(w), rtol=1e-12)
    assert set(svm.history_) == {"n_iter", "time", "n_oracle_calls", "objective"}


def test_perceptron_separates(rng):
    y = rng.integers(3, size=30)
    X = np.eye(3)[y] + 0.1 * rng.normal(size=(30, 3))
    svm = StructuredSVM(solver=Perceptron(averaging=False), max_iter=20, random_state=0).fit(X, y)
    assert svm.score(X, y) == 1.0


@pytest.mark.parametrize("name", ["subgradient", "perceptron"])
def test_baselines_need_a_compiled_oracle(name):
    p = problem("chain")
    with pytest.raises(NotImplementedError, match="use oracle='auto'"):
        fit(p, name, oracle="enumeration", max_iter=1)
