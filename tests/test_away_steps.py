"""Randomized away steps of the benchmarks against optima known by other means."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from _domain_references import least_on_simplex

PROGRAMS = Path(__file__).parents[1] / "examples" / "benchmarks"


@pytest.fixture
def away_steps(monkeypatch):
    monkeypatch.syspath_prepend(str(PROGRAMS))
    return importlib.import_module("away_steps").away_steps


@pytest.mark.parametrize("n_sampled", [None, 5, 1])
@pytest.mark.parametrize("seed", range(3))
def test_it_finds_the_optimum(away_steps, n_sampled, seed):
    rng = np.random.default_rng(seed)
    V, c = rng.standard_normal((30, 8)), 0.3 * rng.standard_normal(30)
    run = away_steps(V, c, 2.0, n_sampled=n_sampled, tol=1e-9, max_iter=20_000, seed=seed)
    assert run.gap <= 1e-9
    assert run.alpha.min() >= 0.0
    assert run.alpha.sum() == pytest.approx(1.0)
    value = np.sum((V.T @ run.alpha) ** 2) - c @ run.alpha
    best = least_on_simplex(
        lambda a: np.sum((V.T @ a) ** 2) - c @ a, lambda a: 2.0 * V @ (V.T @ a) - c, len(c)
    )
    assert -1e-9 <= value - best <= run.gap + 1e-7
    if n_sampled is None:
        # Away steps converge linearly: as many iterations again square the accuracy.
        loose = away_steps(V, c, 2.0, tol=1e-5, max_iter=20_000, seed=seed)
        assert run.n_iter <= 3 * loose.n_iter + 20
    else:
        full = away_steps(V, c, 2.0, tol=1e-9, max_iter=20_000, seed=seed)
        assert run.n_looked_at / run.n_iter < full.n_looked_at / full.n_iter


def test_the_gap_is_exact_when_the_budget_ends(away_steps):
    rng = np.random.default_rng(0)
    V, c = rng.standard_normal((30, 8)), rng.standard_normal(30)
    run = away_steps(V, c, 1.0, n_sampled=3, tol=0.0, max_iter=7)
    gradient = V @ (V.T @ run.alpha) - c
    assert run.gap == pytest.approx(gradient @ run.alpha - gradient.min())
    assert run.n_iter == 7
