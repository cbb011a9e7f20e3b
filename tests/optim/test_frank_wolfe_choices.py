"""What `minimize_frank_wolfe` does by itself: its choices, its corrections, and what it spares."""

import numpy as np
import pytest

from sklearn_fw.optim import domains, minimize_frank_wolfe, objectives


def test_points_of_matrices_that_callbacks_read(rng):
    seen = []
    objective = objectives.LeastSquares(np.eye(30), rng.normal(size=30))
    domain = domains.NuclearNormBall((6, 5), 2.0)
    minimize_frank_wolfe(objective, domain, callback=seen.append, tol=1e-3)
    assert len(seen) > 3
    for state in seen:
        assert state.fun == pytest.approx(objective(state.x)[0], rel=1e-9)


def test_functions_of_single_precision(rng):
    """Line searches go by slopes where values are rounded to more than a step brings."""
    A = rng.normal(size=(60, 20)).astype(np.float32)
    b = A[:, 0] - A[:, 3] + rng.normal(size=60).astype(np.float32)

    def function(x):
        residual = A @ x.astype(np.float32) - b
        return 0.5 * residual @ residual, A.T @ residual

    domain = domains.L1Ball(20, 1.5)
    result = minimize_frank_wolfe(function, domain, tol=1e-4, max_iter=500)
    exact = minimize_frank_wolfe(objectives.LeastSquares(A, b), domain, tol=1e-9)
    assert result.success
    assert result.step_size == "line_search"
    assert result.fun == pytest.approx(exact.fun, rel=1e-5)


def test_hulls_of_few_vertices_are_corrected_by_default(rng):
    for n_points, size, variant in (
        (3, 2, "min_norm_point"), (500, 4, "min_norm_point"), (300, 400, "pairwise")
    ):  # fmt: skip
        hull = domains.ConvexHull(rng.normal(size=(n_points, size)))
        result = minimize_frank_wolfe(objectives.Quadratic(np.eye(size)), hull, tol=50.0)
        assert result.success
        assert result.variant == variant


def correlated(rng, n=60, d=200):
    """Columns that are much alike, as most tables have them."""
    A = rng.normal(size=(n, 6)) @ rng.normal(size=(6, d)) + 0.3 * rng.normal(size=(n, d))
    return objectives.LeastSquares(A, A[:, :5].sum(axis=1) + 0.5 * rng.normal(size=n))


@pytest.mark.parametrize("make", [domains.L1Ball, domains.Simplex])
def test_slow_steps_end_in_corrections(make, rng):
    objective, domain, seen = correlated(rng), make(200, 5.0), []
    result = minimize_frank_wolfe(objective, domain, tol=1e-8)
    assert result.success
    assert (result.variant, result.step_size) == ("min_norm_point", None)
    assert 500 < result.nit < 1000
    history = result.history
    np.testing.assert_array_equal(history["n_iter"], np.arange(1, result.nit + 1))
    assert np.all(np.diff(history["n_oracle_calls"]) > 0)
    assert np.all(np.diff(history["time"]) >= 0)
    assert np.all(np.diff(history["objective"]) <= 1e-9 * history["objective"][0])
    asked = minimize_frank_wolfe(objective, domain, variant="min_norm_point", tol=1e-8)
    assert result.fun == pytest.approx(asked.fun, abs=2e-8)
    x = sum(w * atom.to_array() for w, atom in zip(result.weights, result.atoms))
    np.testing.assert_allclose(result.x, x, rtol=0, atol=1e-12)

    def callback(state):
        seen.append((state.nit, state.fun))
        return len(seen) == 520

    stopped = minimize_frank_wolfe(objective, domain, tol=1e-8, callback=callback)
    if result.nit > 520:
        assert (stopped.status, stopped.nit) == ("stopped", 520)
    assert [nit for nit, _ in seen] == list(range(1, len(seen) + 1))


def test_budgets_of_slow_steps(rng):
    objective, domain = correlated(rng), domains.L1Ball(200, 5.0)
    for max_iter in (100, 501, 502):
        with pytest.warns(UserWarning, match="increase max_iter"):
            result = minimize_frank_wolfe(objective, domain, tol=1e-12, max_iter=max_iter)
        assert (result.status, result.nit) == ("max_iter", max_iter)
        assert len(result.history["dual_gap"]) == max_iter
        assert result.dual_gap <= 1.001 * min(result.history["dual_gap"])
    steps = minimize_frank_wolfe(objective, domain, variant="pairwise", max_iter=2000, tol=1.0)
    assert steps.variant == "pairwise"  # what was asked for stays


def test_corrections_end_where_rounding_leaves_no_more(rng):
    A = rng.normal(size=(80, 12)) * 10.0 ** rng.uniform(-4, 4, 12)
    objective = objectives.LeastSquares(A, A.sum(axis=1) + rng.normal(size=80))
    with pytest.warns(UserWarning, match="increase max_iter or tol"):
        result = minimize_frank_wolfe(objective, domains.L1Ball(12, 100.0), tol=1e-16)
    assert (result.variant, result.status) == ("min_norm_point", "max_iter")
    assert result.nit < 2000


@pytest.mark.parametrize("variant", ["auto", "fw", "away", "fully_corrective"])
def test_line_searches_stay_where_the_objective_is_finite(variant, rng):
    """An optimal design: the log-determinant is infinite at all vertices of the simplex."""
    A = rng.standard_normal((30, 4))

    def objective(x):
        information = A.T @ (x[:, None] * A)
        log_det = np.linalg.slogdet(information)[1]
        if log_det < -50.0:
            return np.inf, np.full(30, np.nan)
        return -log_det, -np.sum(A * np.linalg.solve(information, A.T).T, axis=1)

    domain, start = domains.Simplex(30), np.full(30, 1 / 30)
    result = minimize_frank_wolfe(objective, domain, variant=variant, start=start, tol=0.02)
    assert result.success
    # Kiefer and Wolfowitz: the largest variance of a prediction is the number of parameters.
    np.testing.assert_allclose(-objective(result.x)[1].min(), 4, rtol=0, atol=0.02)
    with pytest.raises(ValueError, match="finite number as value, got inf: see start"):
        minimize_frank_wolfe(objective, domain)
