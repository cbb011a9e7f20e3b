"""Rates and floors of SAGA with neighbours: measured ones and those of the theorems."""

import numpy as np
import pytest

from _linear_referees import LOSSES
from _neighbor_problems import PLAIN, begin, make_problem, objectives, optimum
from sklearn_fw.optim._incremental._minimize_saga import solve
from sklearn_fw.optim._incremental._run import Start
from sklearn_fw.optim.experimental import Hogwild
from sklearn_fw.optim.experimental._memorization import memorization_rate, memorization_step
from sklearn_fw.optim.experimental._neighbor_saga import NeighborSaga

# Sub-optimality after 1, 2, 5 and 20 epochs of one run with steps 1 / (5 L), as it was measured
# when the method was specified (not in the paper), and slopes per row in 20 epochs. By how much the
# geometric mean of a few runs may differ: single runs vary by a factor of 2, in the middle of
# SAGA's way of 6. The one run with shared slopes of a squared error was far below the mean of
# ours.
RUNS, LEAST = 4, 1e-12
FACTOR = {("squared_error", "epsilon_n_saga"): 25.0, "saga": 8.0}
MEASURED = {
    ("squared_error", "sgd"): ([2.4e-2, 1.7e-2, 2.3e-2, 1.6e-2], None),
    ("squared_error", "saga"): ([1.2e-2, 3.5e-3, 1.4e-5, 3e-13], 20),
    ("squared_error", "q_saga"): ([2e-12, 1e-15, 1e-15, 1e-15], None),
    ("squared_error", "n_saga"): ([4e-13, 1e-15, 1e-15, 1e-15], None),
    ("squared_error", "shared_n_saga"): ([1.6e-3, 1.8e-3, 1.8e-3, 5.7e-3], 20),
    ("squared_error", "epsilon_n_saga"): ([6e-8, 3e-7, 2e-8, 7e-8], 391),
    ("log_loss", "saga"): ([1.8e-2, 3.9e-3, 8.1e-6, 3e-13], 20),
    ("log_loss", "shared_n_saga"): ([4.4e-5, 2.2e-5, 2.5e-5, 4.7e-5], 20),
    ("log_loss", "epsilon_n_saga"): ([6.6e-7, 6.0e-7, 1.2e-6, 1e-6], 107),
}


def solver_of(name, step_size="theory"):
    if name == "sgd":
        return Hogwild(decay=0.0, step_size=step_size, **PLAIN)
    if name == "saga":  # with exact objectives, and the same first epoch
        return NeighborSaga(variant="n_saga", n_neighbors=1, step_size=step_size, **PLAIN)
    return NeighborSaga(variant=name, step_size=step_size, **PLAIN)


@pytest.fixture(scope="module")
def optima():
    """Optima of the problems of clustered rows."""
    return {loss: optimum(make_problem(loss)) for loss in ("squared_error", "log_loss")}


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "name"), MEASURED)
def test_measured_suboptimality(loss, name, optima):
    problem, best = make_problem(loss), optima[loss]
    expected, n_slopes = MEASURED[loss, name]
    found = []
    for seed in range(RUNS):
        values, run = objectives(problem, solver_of(name), 20, seed)
        found.append(np.maximum(values[[0, 1, 4, 19]] - best.objective, LEAST))
    found, expected = np.exp(np.mean(np.log(found), axis=0)), np.maximum(expected, LEAST)
    factor = FACTOR.get((loss, name), FACTOR.get(name, 6.0))
    assert np.all(found <= factor * expected)
    assert np.all(expected <= factor * found)
    if n_slopes is not None:
        assert run.n_gradient_evaluations / problem.n_rows == pytest.approx(n_slopes, rel=0.1)


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_floor_falls_with_step_and_epsilon(loss, optima):
    problem, best = make_problem(loss), optima[loss]

    def floor(**params):
        found, _ = objectives(problem, NeighborSaga(**params, **PLAIN), 6)
        return np.mean(found[2:]) - best.objective

    large = floor(variant="shared_n_saga", step_size=0.2)
    assert floor(variant="shared_n_saga", step_size=0.04) < large / 2
    assert floor(epsilon=0.1, step_size=0.2) < large / 3
    assert floor(epsilon=0.01, step_size=0.2) < floor(epsilon=0.1, step_size=0.2) / 3


def test_floor_is_below_the_theorem(optima):
    problem, best = make_problem(), optima["log_loss"]
    alpha, gamma = 0.1, 0.5  # 4 L = 4 (1 / 4 + alpha): the largest step of the theorem is 0.56
    run = begin(problem, variant="shared_n_saga", step_size=gamma, **PLAIN)
    apart, errors = [], []
    for _ in range(8):
        run.step()
        exact = LOSSES["log_loss"][1](problem.y, problem.X @ run.engine.point()[0])
        errors.append(np.mean((run.engine.memory - exact) ** 2))  # rows have norm one
        apart.append(np.sum((run.engine.point()[0] - best.coef) ** 2))
    assert np.mean(apart[2:]) <= 4 * gamma * np.mean(errors[2:]) / alpha


@pytest.mark.parametrize("when", [2, "auto"])
def test_switch_to_saga_converges(when, optima):
    problem, best = make_problem(), optima["log_loss"]
    solver = NeighborSaga(variant="shared_n_saga", switch_to_saga=when)
    run, outcome = solve(
        problem, solver, tol=1e-12, max_iter=60, rng=np.random.RandomState(0)
    )  # fmt: skip
    assert run.best.objective - best.objective <= 1e-11
    assert run.best.dual_gap <= 1e-12
    assert run.engine.plain
    history = outcome.history
    assert history["certified"][-1]
    assert outcome.n_iter < (25 if when == 2 else 50)
    assert {len(values) for values in history.values()} == {len(history["n_iter"])}
    np.testing.assert_array_equal(history["n_gradient_evaluations"], 5000 * history["n_iter"])
    fraction = history["shared_fraction"]
    assert np.all(np.diff(fraction) <= 1e-12)
    assert fraction[0] == pytest.approx(0.95)


def test_sharing_beats_saga_in_the_first_epochs():
    found = {name: [] for name in ("shared_n_saga", "saga", "sgd")}
    for seed in range(5):
        problem = make_problem(seed=seed)
        best = optimum(problem).objective
        for name, gaps in found.items():
            gaps.append(objectives(problem, solver_of(name), 2, seed)[0][1] - best)
    mean = {name: np.mean(gaps) for name, gaps in found.items()}
    assert 5 * mean["shared_n_saga"] < mean["saga"]
    assert 5 * mean["saga"] < mean["sgd"]


@pytest.mark.parametrize("variant", ["saga", "q_saga", "n_saga"])
def test_convergence_is_as_fast_as_the_theorem(variant):
    problem = make_problem("squared_error", n=400, d=5, n_clusters=40, alpha=0.1)
    best, n, q = optimum(problem).coef, 400, 1 if variant == "saga" else 4
    smooth, alpha = 1.1, 0.1  # of a term with its share of the penalty
    K = 4 * q * smooth / (n * alpha)
    a = memorization_step(K)
    gamma, rate = a / (4 * smooth), memorization_rate(K, q, n, a)
    terms = (problem.X @ best - problem.y)[:, None] * problem.X + alpha * best
    scale = 4 * gamma / (K * alpha) * (1 - 2 * smooth * gamma)
    begun = best @ best + scale * np.mean(np.square(terms).sum(axis=1))
    settings = {
        "variant": "n_saga" if variant == "saga" else variant, "n_neighbors": q, **PLAIN
    }  # fmt: skip
    apart = []
    for seed in range(10):
        run = begin(
            problem, start=Start(np.zeros(5), np.zeros(()), np.zeros(n)), seed=seed,
            step_size=gamma, **settings,
        )  # fmt: skip
        run.step()
        apart.append(np.sum((run.engine.point()[0] - best) ** 2))
    assert np.mean(apart) <= (1 - rate) ** n * begun
