"""Incremental methods of the benchmarks: their optimum, and what their papers promise."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from sklearn_fw.optim import minimize_saga

PROGRAMS = Path(__file__).parents[1] / "examples" / "benchmarks"
# As in the theory: independent draws and no scaling.
PLAIN = {"sampling": "uniform", "conditioning": None}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(str(PROGRAMS))
    return importlib.import_module


def data(task="classification", n=400, d=5):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, d))[rng.integers(40, size=n)] + 0.05 * rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1)[:, None]
    z = X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)
    return X, z if task == "regression" else np.sign(z)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_hogwild_reaches_the_optimum(program, n_jobs):
    X, y = data()
    settings = {"l1_ratio": 0.5, "alpha": 0.01, "fit_intercept": True, "random_state": 0}
    best = minimize_saga(X, y, **settings, solver="newton", tol=1e-12).fun
    solver = program("_neighbor_saga").Hogwild()
    found = minimize_saga(X, y, **settings, solver=solver, tol=1e-7, max_iter=500, n_jobs=n_jobs)
    assert -1e-12 <= found.fun - best <= 1e-5


def best_share(K, shared=False):
    """The a of the step a / (4 L) with the best proven rate, Theorems 1 and 2 (shared slopes)."""
    if shared:
        return 2.0 * K / (1.0 + 1.5 * K + np.sqrt(1.0 + K + 2.25 * K * K))
    return 2.0 * K / (1.0 + K + np.sqrt(1.0 + K * K))


@pytest.mark.parametrize("variant", ["q_saga", "n_saga"])
def test_rates_of_memorization(program, variant):
    """Theorem 1 with the step of the best rate, along epochs."""
    n, q, alpha = 400, 20, 0.1
    X, y = data("regression")
    module = program("_neighbor_saga")
    best = minimize_saga(X, y, loss="squared_error", alpha=alpha, solver="newton", tol=1e-14).x
    K = 4 * q * 1.1 / (n * alpha)
    a = best_share(K)
    rate = q / n * min((1.0 - a) / (1.0 - a / 2.0), a / K)
    terms = (X @ best - y)[:, None] * X + alpha * best
    scale = 4 * (a / 4.4) / (K * alpha) * (1 - 2 * 1.1 * a / 4.4)
    begun = best @ best + scale * np.mean(np.square(terms).sum(axis=1))
    apart = []
    for seed in range(5):
        solver = module.NeighborSaga(variant=variant, step_size=a / 4.4, n_neighbors=q, **PLAIN)
        run = minimize_saga(
            X, y, loss="squared_error", alpha=alpha, solver=solver, tol=0.0, max_iter=2,
            random_state=seed,
        )  # fmt: skip
        apart.append(np.sum((run.x - best) ** 2))
    bound = begun * (1 - rate) ** (2 * n)
    assert np.mean(apart) <= bound
    assert bound < 1e-4 * begun


def test_shared_slopes_stay_within_epsilon(program):
    X, y = data()
    best = minimize_saga(X, y, alpha=0.1, solver="newton", tol=1e-12).fun
    q, smoothness = 20, 0.25 + 0.1  # of the loss and of the penalty
    step_size = best_share(4 * q * smoothness / (len(y) * 0.1), shared=True) / (4 * smoothness)
    far = {}
    for variant in ("shared_n_saga", "epsilon_n_saga"):
        solver = program("_neighbor_saga").NeighborSaga(
            variant=variant, step_size=step_size, n_neighbors=q, **PLAIN
        )
        run = minimize_saga(X, y, alpha=0.1, solver=solver, tol=0.0, max_iter=20, random_state=0)
        far[variant] = run.fun - best
        assert run.history["shared_fraction"][-1] > 0.0
    assert far["epsilon_n_saga"] < 0.1 * far["shared_n_saga"]
