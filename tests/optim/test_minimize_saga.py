"""minimize_saga: the objective of its docstring, its result, its errors."""

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from sklearn_fw import AsagaRegressor
from sklearn_fw.losses import Huber
from sklearn_fw.optim import Svrg, minimize_saga

N, D = 80, 5
MARGINS = ["log_loss", "squared_hinge", "smooth_hinge", "modified_huber"]


def data(loss="squared_error"):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    z = X @ [1.0, -1.0, 0.5, 0.0, 0.0] + rng.standard_normal(N)
    if loss in MARGINS:
        return X, np.where(z > 0, 1.0, -1.0)
    return X, np.digitize(z, [-0.7, 0.7]) if loss == "multinomial" else z


def accurate(X, y, **options):
    return minimize_saga(X, y, **{"tol": 1e-13, "max_iter": 3000, "random_state": 0, **options})


# ---- the optimum ---------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["asaga", "saga", "lagged_saga", "svrg", Svrg(loopless=True)])
def test_the_estimator_does_the_same(solver):
    X, y = data()
    result = minimize_saga(
        X, y, loss=Huber(0.7), alpha=0.1, fit_intercept=True, solver=solver, random_state=3
    )
    model = AsagaRegressor(Huber(0.7), alpha=0.1, solver=solver, random_state=3).fit(X, y)
    np.testing.assert_array_equal(result.x, model.coef_)
    assert result.intercept == model.intercept_
    assert (result.fun, result.dual_gap) == (model.objective_, model.dual_gap_)
    assert (result.nit, result.n_updates) == (model.n_iter_, model.n_updates_)
    again = minimize_saga(
        X, y, loss=Huber(0.7), alpha=0.1, fit_intercept=True, solver=solver, random_state=3
    )
    np.testing.assert_array_equal(result.x, again.x)


# ---- the result ----------------------------------------------------------------------------------


def test_result():
    X, y = data("log_loss")
    result = minimize_saga(X, y, alpha=0.1, tol=1e-6, random_state=0)
    assert isinstance(result, OptimizeResult)
    assert result.success
    assert (result.status, result.message) == ("converged", "the certificate is at most tol")
    assert result.x.shape == (D,)
    assert result.intercept == 0
    value = np.logaddexp(0, -y * (X @ result.x)).mean() + 0.1 * result.x @ result.x / 2
    assert result.fun == pytest.approx(value, rel=1e-13)
    assert 0 <= result.dual_gap <= 1e-6 * np.log(2)
    # The memory holds the derivatives of the losses at x, of which the gradient consists.
    slopes = -y / (1 + np.exp(y * (X @ result.x)))
    np.testing.assert_allclose(result.memory, slopes, rtol=1e-12)
    gradient = X.T @ slopes / N + 0.1 * result.x
    assert result.gradient_mapping >= 0
    assert np.abs(gradient).max() < 1e-3
    assert result.n_updates == N * result.nit
    assert {column.size for column in result.history.values()} == {result.history["n_iter"].size}
    assert result.history["objective"][-1] == result.fun
    assert result.history["dual_gap"][-1] == result.dual_gap
    assert result.history["certified"][-1]


@pytest.mark.slow
def test_start():
    X, y = data()
    options = {"loss": "squared_error", "alpha": 0.1, "solver": "svrg", "tol": 1e-10}
    cold = accurate(X, y, **options)
    given = cold.x.copy()
    warm = minimize_saga(X, y, x0=given, **options)
    assert warm.nit == 1 < cold.nit
    np.testing.assert_array_equal(given, cold.x)  # not changed
    far = accurate(X, y, **{**options, "solver": "asaga", "x0": [1e3] * D})
    np.testing.assert_allclose(far.x, cold.x, rtol=0, atol=1e-4)
    X, y = data("multinomial")
    start = np.ones((D, 3))
    result = accurate(X, y, loss="multinomial", x0=start)
    np.testing.assert_allclose(result.x, accurate(X, y, loss="multinomial").x, rtol=0, atol=1e-5)


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"loss": "hinge"}, ValueError, "loss='hinge' is not smooth; choose"),
        ({"sample_weight": -np.ones(N)}, ValueError, "sample_weight must not be negative"),
        ({"x0": np.zeros(3)}, ValueError, r"x0 must have shape \(5,\), got \(3,\)"),
        ({"x0": np.zeros((D, 1))}, ValueError, r"x0 must have shape \(5,\), got \(5, 1\)"),
        ({"y": np.zeros(N)}, ValueError, r"y must hold -1 and \+1 for LogLoss\(\)"),
        ({"y": np.linspace(-1, 1, N)}, ValueError, r"y must hold -1 and \+1"),
        ({"y": np.ones((N, 2))}, ValueError, r"y must have shape \(80,\), got \(80, 2\)"),
        ({"y": -np.ones(N), "loss": "multinomial"}, ValueError, "y must hold class indices 0, 1"),
        ({"y": np.full(N, 0.5), "loss": "multinomial"}, ValueError, "y must hold class indices"),
        ({"y": np.full(N, 1e200), "loss": "huber"}, ValueError, "y has an entry of absolute value"),
    ],
)
def test_errors(options, error, message):
    X, y = data("log_loss")
    options = {"X": X, "y": y, **options}
    with pytest.raises(error, match=message):
        minimize_saga(options.pop("X"), options.pop("y"), **options)
