"""Incremental methods: every layout makes the step of the paper, whose properties hold."""

import numpy as np
import pytest
import scipy.sparse as sp

from _incremental_problems import PROBLEMS, D, Problem, run_on
from _linear_references import SlowSaga, minimize_linear
from sklearn_fw._kernels._jit import njit
from sklearn_fw._kernels.incremental.incremental import repeat
from sklearn_fw.losses import resolve_loss
from sklearn_fw.optim import Svrg
from sklearn_fw.optim._incremental._engines import GroupEngine, LaggedEngine, SeparableEngine
from sklearn_fw.optim._incremental._finite_sum import FiniteSum
from sklearn_fw.optim._incremental._minimize_saga import resolve_incremental_solver
from sklearn_fw.penalties import Box, ElasticNet, GroupLasso


def dense_rows(problem):
    return (problem.X.toarray() if sp.issparse(problem.X) else problem.X).astype(float)


def blocks_of(penalty):
    """Block of every column; columns without penalty are blocks of their own."""
    if penalty.separable:
        return np.arange(D)
    alone = np.arange(D) + 100
    return np.where(penalty.labels >= 0, penalty.labels, alone)


def step_of(problem, fraction=3.0):
    """A step size that is safe, with a tenth of the rows' norm as the share of the intercept."""
    largest = np.square(dense_rows(problem)).sum(axis=1).max()
    heaviest = 1.0 if problem.weight is None else problem.weight.max()
    gamma = 1.0 / (fraction * 1.1 * largest * heaviest * problem.loss.smoothness)
    return gamma, gamma * 0.1 * largest if problem.fit_intercept else 0.0


# ---- the step ------------------------------------------------------------------------------------

STEPS = [
    "log, ridge", "log, elastic net", "hinge, elastic net", "huber, lasso", "hinge, box",
    "nothing", "lasso, dense float32", "log, groups", "huber, groups", "simplex", "user",
    "multinomial, ridge", "multinomial, elastic net", "multinomial, groups",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("conditioned", [False, True])
def test_every_layout_makes_the_step_of_the_paper(name, conditioned):
    problem, loss = PROBLEMS[name].build(), PROBLEMS[name].loss
    X, rng = dense_rows(problem), np.random.default_rng(1)
    dense = not sp.issparse(problem.X)
    center = X.mean(axis=0) if conditioned and dense and problem.fit_intercept else None
    seen = X if center is None else X - center
    metric, gamma = None, step_of(problem)
    engines = {"block": GroupEngine(problem, 1)}
    if problem.penalty.separable and problem.n_outputs is None:
        engines["separable"] = SeparableEngine(problem, 1)
    if problem.penalty.separable:
        engines["dense"] = GroupEngine(problem, 1, dense=True)
    if "separable" in engines and not problem.penalty.has_bounds:
        engines["lagged"] = LaggedEngine(problem, 1.0)
    if conditioned:
        gamma = gamma[0] / 2, gamma[1] / 2
        metric = rng.uniform(0.2, 2.0, D)
        metric = engines["block"].common(metric)
    sparse = None if dense else blocks_of(problem.penalty)  # a dense row touches all columns
    whole = None if dense else np.zeros(D)
    labels = {"block": sparse, "separable": sparse, "dense": whole, "lagged": None}
    slow = {
        kind: SlowSaga(
            seen, problem.y, loss, problem.penalty, labels[kind], *gamma, metric=metric,
            weight=problem.weight, n_outputs=problem.n_outputs,
        )
        for kind in engines
    }  # fmt: skip
    for engine in engines.values():
        engine.set_step(gamma, metric, center)
    for length in (1, 1, 7, 60):
        order = rng.choice(problem.active, length)
        for method in slow.values():
            for i in order:
                method.visit(i)
        for kind, engine in engines.items():
            engine.run(order)
            expected = slow[kind]
            coef, intercept = engine.point()
            shift = 0.0 if center is None else center @ expected.x
            total = X.T @ expected.memory
            close = {"rtol": 0, "atol": 1e-12, "err_msg": kind}
            np.testing.assert_allclose(coef, expected.x, **close)
            np.testing.assert_allclose(intercept, expected.c - shift, **close)
            np.testing.assert_allclose(engine.total(), total, **{**close, "atol": 1e-11})
            memory = engine.memory.reshape(expected.memory.shape)
            np.testing.assert_allclose(memory, expected.memory, **close)


# ---- workers -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_workers_in_turn_make_the_steps_of_one():
    # Two workers, the second of which begins when the first has ended, see the same numbers.
    problem = Problem("log_loss", Box(-0.4, 0.4, l1=0.05), intercept=True, weighted=True).build()
    alone, team = SeparableEngine(problem, 1), SeparableEngine(problem, 2)
    assert 1 < team.hot.size < D + 1  # columns of both kinds
    team.pool.run = lambda work, order: sum(
        work(part, worker) for worker, part in enumerate(np.array_split(order, 2))
    )
    gamma = step_of(problem)
    for engine in (alone, team):
        engine.set_step(gamma, None, None)
    rng = np.random.default_rng(6)
    for _ in range(3):
        order = rng.choice(problem.active, 70)
        concave = [engine.run(order) for engine in (alone, team)]
        assert concave[0] == pytest.approx(concave[1], rel=1e-12)
        np.testing.assert_allclose(alone.memory, team.memory, rtol=0, atol=1e-13)
        np.testing.assert_allclose(alone.total(), team.total(), rtol=0, atol=1e-12)
        # Where copies are merged the team makes one more proximal step.
        coef, intercept = alone.point()
        share, total = alone.shares(), alone.total()
        merged = problem.penalty.prox(coef - share[:D] * total, np.maximum(share[:D], 1e-300))
        expected = np.where(np.isin(np.arange(D), team.hot), merged, coef)
        np.testing.assert_allclose(team.point()[0], expected, rtol=0, atol=1e-13)
        mass = alone.memory.sum()
        assert team.point()[1] == pytest.approx(intercept - share[D] * mass, abs=1e-13)
        for engine in (alone, team):
            engine.move_to(expected, intercept)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["log, ridge", "hinge, elastic net", "log, box", "log, groups", "multinomial, groups", "user"],
)
@pytest.mark.parametrize("solver", ["asaga", Svrg(parallel=True)])
def test_threads_reach_the_optimum(name, solver):
    problem = PROBLEMS[name].build()
    coef, _, objective = PROBLEMS[name].optimum()
    best = run_on(problem, solver, tol=1e-12, n_workers=2)[0].best
    assert best.objective == pytest.approx(objective, rel=1e-9, abs=1e-11)
    np.testing.assert_allclose(best.coef, coef, rtol=0, atol=2e-5)
    assert best.coef.shape == problem.shape
    assert np.shape(best.intercept) == problem.shape[1:]


def test_drift_is_measured():
    problem = Problem("log_loss", ElasticNet()).build()
    solver = resolve_incremental_solver("asaga")
    run = solver.start(problem, tol=0.0, rng=np.random.RandomState(0), n_workers=2)
    for _ in range(20):
        run.step()
    run.certify()
    assert 0.0 <= run.memory_drift < 1e-12
    run.engine.state[0, 2] += 1.0  # an addition that got lost
    run.certify()
    assert run.memory_drift == pytest.approx(1.0)
    run.certify()  # which has been repaired
    assert run.memory_drift < 1e-12
    run.close()


# ---- theory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_rate_of_the_theorem(l1):
    rng = np.random.default_rng(8)
    n, d = 60, 5
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    y = X @ [1.0, -1.0, 0.5, 0.0, 0.0] + 0.1 * rng.standard_normal(n)
    penalty = Box(-np.inf, np.inf, l1=l1).bind(d)
    problem = FiniteSum(sp.csr_matrix(X), y, resolve_loss("squared_error", None), penalty)
    best, _, _ = minimize_linear(X, y, "squared_error", penalty.value, penalty.prox)
    largest = np.square(X).sum(axis=1).max()
    kappa = largest / np.linalg.eigvalsh(X.T @ X / n)[0]
    slopes = (X @ best - y)[:, None] * X
    # Starting memory zero, as the methods do.
    constant = best @ best + np.square(slopes).sum() / (5 * largest**2)
    rate = min(1 / n, 1 / kappa) / 5
    solver = resolve_incremental_solver("sparse_saga").set_params(
        step_size="theory", sampling="uniform"
    )
    distance = np.zeros((20, 15))
    for seed in range(20):
        run = solver.start(problem, tol=0.0, rng=np.random.RandomState(seed))
        assert run.engine.gamma[0] == pytest.approx(1 / (5 * largest))
        for epoch in range(15):
            run.step()
            distance[seed, epoch] = np.sum((run.engine.point()[0] - best) ** 2)
    bound = constant * (1 - rate) ** (n * np.arange(1, 16))
    assert np.all(distance.mean(axis=0) <= bound)
    assert np.all(np.diff(distance.mean(axis=0)) < 0)


# ---- conditioning --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("penalty", [ElasticNet(), GroupLasso([[0, 3], [1], [2]]), Box(-0.1, 2)])
@pytest.mark.parametrize("solver", ["asaga", "saga", "svrg", "lagged_saga"])
def test_conditioning_keeps_the_objective(penalty, solver):
    if solver in ("saga", "lagged_saga") and not isinstance(penalty, ElasticNet):
        return
    rng = np.random.default_rng(9)
    X = rng.standard_normal((50, 4)) * [1.0, 30.0, 0.02, 1.0] + [0.0, 100.0, 0.0, -5.0]
    y = np.sign(X[:, 0] + (X[:, 1] - 100) / 30 + 50 * X[:, 2] + 0.2)
    weight = rng.uniform(0.1, 2, 50)
    bound = penalty.bind(4).scaled(0.5)
    centered = X - np.average(X, axis=0, weights=weight)  # the same optimum, found sooner
    _, _, objective = minimize_linear(
        centered, y, "log_loss", bound.value, bound.prox, weight=weight, fit_intercept=True
    )
    problem = FiniteSum(
        X, y, resolve_loss("log_loss", None), bound, weight=weight, fit_intercept=True
    )
    best = run_on(problem, solver, tol=1e-10)[0].best
    assert best.objective == pytest.approx(objective, rel=1e-8)
    if not isinstance(penalty, ElasticNet):  # which Newton's method solves on the support
        slow = resolve_incremental_solver(solver).set_params(conditioning=None)
        slow = run_on(problem, slow, tol=1e-10, max_iter=20)[0].best
        assert slow.objective > best.objective


@njit(cache=False)
def repeated(x, m, shift, threshold, shrink):
    return repeat(x, m, shift, threshold, shrink)


@pytest.mark.parametrize("m", [0, 1, 6, 7, 60, 1000])
def test_lagged_columns_catch_up_like_the_plain_loop(m):
    """Short gaps by repetition, long ones in closed form, for all signs and strengths."""
    rng = np.random.default_rng(m)
    for _ in range(200):
        shift, threshold = rng.normal() * 10 ** rng.uniform(-3, 0, 2)
        threshold = abs(threshold) * rng.integers(2)
        shrink = 1.0 / (1.0 + 10 ** rng.uniform(-6, 0) * rng.integers(2))
        start = x = rng.normal() * 10 ** rng.uniform(-2, 1)
        for _ in range(m):
            y = x - shift
            x = shrink * np.sign(y) * max(abs(y) - threshold, 0.0)
        found = repeated(start, m, shift, threshold, shrink)
        assert found == pytest.approx(x, rel=0, abs=1e-11 * (1 + m * abs(shift)))
