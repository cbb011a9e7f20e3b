"""Step rules of the methods with neighbours: formulas, scales, and the rates that they promise."""

import numpy as np
import pytest

from _clustered import clustered
from sklearn_fw.losses import resolve_loss
from sklearn_fw.optim import SparseSaga
from sklearn_fw.optim._incremental._finite_sum import FiniteSum
from sklearn_fw.optim._incremental._minimize_saga import solve
from sklearn_fw.optim._incremental._run import Start
from sklearn_fw.optim.experimental import NeighborSaga, memorization_rate, memorization_step
from sklearn_fw.penalties import L2, ElasticNet

# As in the theory: independent draws and no scaling.
PLAIN = {"sampling": "uniform", "conditioning": None}
VARIANTS = ["q_saga", "n_saga", "shared_n_saga", "epsilon_n_saga"]


def make_problem(loss="log_loss", *, alpha=0.1, **options):
    X, y = clustered(loss, **options)
    penalty = L2().bind(X.shape[1]).scaled(alpha * y.size)
    return FiniteSum(X, y, resolve_loss(loss, None), penalty)


def begin(problem, *, start=None, seed=0, **params):
    solver = NeighborSaga(**params)
    return solver.start(problem, tol=0.0, rng=np.random.RandomState(seed), start=start)


def begin_with(solver, problem):
    return solver.start(problem, tol=0.0, rng=np.random.RandomState(0))


def objectives(problem, solver, n_epochs):
    _, outcome = solve(problem, solver, tol=0.0, max_iter=n_epochs, rng=np.random.RandomState(0))
    return outcome.history["objective"]


def optimum(problem):
    run, *_ = solve(
        problem, SparseSaga(conditioning=None), tol=1e-14, max_iter=500,
        rng=np.random.RandomState(0),
    )  # fmt: skip
    return run.best


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("alpha", [0.1, 1e-3])
def test_step_rules_are_the_formulas(variant, alpha):
    """By hand: rows have norm one and the log loss a smoothness of 1 / 4."""
    problem = make_problem(n=500, d=8, n_clusters=40, alpha=alpha)
    L = 0.25 + alpha
    K = 4 * 20 * L / (500 * alpha)
    if variant in ("shared_n_saga", "epsilon_n_saga"):
        a = 2 * K / (1 + 1.5 * K + np.sqrt(1 + K + 2.25 * K**2))
    else:
        a = 2 * K / (1 + K + np.sqrt(1 + K**2))
    expected = {
        "auto": 1 / 0.75,
        "theory": 1 / 1.25,
        "paper": 20 / (500 * alpha),
        "optimal": a / (4 * L),
        "universal": (2 - np.sqrt(2)) / (4 * L),
        "capped": min(20 / (500 * alpha), (2 - np.sqrt(2)) / (4 * L)),
    }
    for rule, step in expected.items():
        run = begin(problem, variant=variant, step_size=rule, **PLAIN)
        assert run.engine.gamma[0] == pytest.approx(step, rel=1e-9), rule


def test_step_rules_follow_weights_and_scales():
    """Weights are factors of losses, and columns in other units have other steps."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.choice([-1.0, 1.0], 60)
    loss = resolve_loss("log_loss", None)
    steps = {}
    for name, factor, weight in [("one", 1.0, None), ("two", 1.0, np.full(60, 2.0))]:
        problem = FiniteSum(X, y, loss, L2().bind(3).scaled(6.0 * factor), weight=weight)
        solver = NeighborSaga(step_size="paper", n_neighbors=5, **PLAIN)
        steps[name] = begin_with(solver, problem).engine.gamma[0]
    assert steps["one"] == steps["two"] == pytest.approx(5 / 6)
    problem = FiniteSum(X * [1.0, 10.0, 0.1], y, loss, L2().bind(3).scaled(6.0))
    solver = NeighborSaga(
        step_size="optimal", variant="n_saga", n_neighbors=5, conditioning="diagonal"
    )
    run = begin_with(solver, problem)
    largest = np.abs(X * [1.0, 10.0, 0.1]).max(axis=0)
    mu = 0.1 * np.min(1 / largest**2)
    L = 0.25 * np.square(X * [1.0, 10.0, 0.1] / largest).sum(axis=1).max() + mu
    K = 20 * L / (60 * mu)
    expected = 2 * K / (1 + K + np.sqrt(1 + K**2)) / (4 * L)
    assert run.engine.gamma[0] == pytest.approx(expected, rel=1e-9)


def test_rules_without_a_ridge():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.choice([-1.0, 1.0], 60)
    problem = FiniteSum(X, y, resolve_loss("log_loss", None), ElasticNet(1.0).bind(3).scaled(6.0))
    for rule in ("paper", "capped"):
        with pytest.raises(ValueError, match=f"step_size='{rule}' needs a ridge penalty"):
            begin(problem, step_size=rule)
    L = problem.smoothness
    run = begin(problem, variant="n_saga", step_size="optimal", **PLAIN)
    assert run.engine.gamma[0] == pytest.approx(1 / (4 * L))  # the limit of large K
    run = begin(problem, step_size="optimal", **PLAIN)
    assert run.engine.gamma[0] == pytest.approx(1 / (6 * L))


@pytest.mark.parametrize("rule", ["optimal", "universal"])
@pytest.mark.parametrize("variant", ["q_saga", "n_saga"])
def test_rates_of_the_rules(variant, rule):
    """Theorem 1 for the steps as the solver takes them, along epochs."""
    n, q, alpha = 400, 20, 0.1
    problem = make_problem("squared_error", n=n, d=5, n_clusters=40, alpha=alpha)
    best = optimum(problem).coef
    K = 4 * q * 1.1 / (n * alpha)
    a = float(memorization_step(K, rule))
    rate = float(memorization_rate(K, q, n, a))
    terms = (problem.X @ best - problem.y)[:, None] * problem.X + alpha * best
    scale = 4 * (a / 4.4) / (K * alpha) * (1 - 2 * 1.1 * a / 4.4)
    begun = best @ best + scale * np.mean(np.square(terms).sum(axis=1))
    apart = np.zeros((8, 2))
    for seed in range(8):
        run = begin(
            problem, start=Start(np.zeros(5), np.zeros(()), np.zeros(n)), seed=seed,
            step_size=rule, variant=variant, n_neighbors=q, **PLAIN,
        )  # fmt: skip
        for epoch in range(2):
            run.step()
            apart[seed, epoch] = np.sum((run.engine.point()[0] - best) ** 2)
    bound = begun * (1 - rate) ** (n * np.arange(1, 3))
    assert np.all(apart.mean(axis=0) <= bound)
    assert bound[1] < 1e-4 * begun  # it says something


def test_the_step_of_the_paper_is_too_long_for_a_weak_ridge():
    problem = make_problem(n=500, d=8, n_clusters=40, alpha=1e-4)
    short = objectives(problem, NeighborSaga(step_size="capped", **PLAIN), 3)
    long = objectives(problem, NeighborSaga(step_size="paper", **PLAIN), 3)
    assert short[-1] < problem.null.objective < long[-1]
