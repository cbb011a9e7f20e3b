"""Losses of a user, in plain Python, everywhere that a loss is taken."""

import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from _linear_references import Logistic
from sklearn_fw import AsagaClassifier, AsagaRegressor, regularization_path
from sklearn_fw.linear_model import AveragedSubgradientClassifier
from sklearn_fw.losses import Huber, LogLoss, Loss, SquaredError, resolve_loss
from sklearn_fw.optim import minimize_saga
from sklearn_fw.penalties import GroupLasso

# ---- losses of users -----------------------------------------------------------------------------


class Squares(Loss):
    """A copy of the compiled one, with all that a loss may say of itself."""

    task, smoothness = "regression", 1.0

    def value(self, y, z):
        return (z - y) ** 2 / 2

    def derivative(self, y, z):
        return z - y

    def conjugate(self, y, s):
        return s * (s / 2 + y)

    def curvature(self, y, z):
        return np.ones_like(z)


class SmoothQuantile(Loss):
    """The loss of quantiles, with a parabola of width one in the place of its corner."""

    task, smoothness = "regression", 1.0

    def __init__(self, tau=0.5):
        self.tau = tau

    def check(self):
        if not 0.0 < self.tau < 1.0:
            raise ValueError(f"tau must be between 0 and 1, got {self.tau}")

    def derivative(self, y, z):
        return np.clip(z - y, -self.tau, 1.0 - self.tau)

    def value(self, y, z):
        slope = self.derivative(y, z)
        return slope * (z - y) - slope**2 / 2


@pytest.fixture
def table(rng):
    X = rng.standard_normal((60, 4))
    return X, X @ [1.0, -2.0, 0.0, 3.0] + 1.0 + rng.standard_normal(60)


@pytest.fixture
def labels(table):
    X, y = table
    return X, np.where(y > y.mean(), "high", "low")


# ---- references ----------------------------------------------------------------------------------


@pytest.mark.parametrize("s", [-0.999, -0.6, -1e-9, -1e-200])
def test_conjugate_is_found(s):
    loss, known = Logistic(), LogLoss()
    for y in (-1.0, 1.0):
        found = loss.conjugate([y], [s * y])
        assert found == pytest.approx(known.conjugate([y], [s * y]), rel=1e-12, abs=1e-15)
        assert loss.conjugate([y], [-s * y])[0] == np.inf


def test_conjugate_of_residuals_is_found(rng):
    y, s = rng.standard_normal((2, 50)) * 30.0

    class Bare(Squares):
        conjugate, curvature = Loss.conjugate, Loss.curvature

    np.testing.assert_allclose(Bare().conjugate(y, s), s * (s / 2 + y), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(Bare().curvature(y, s), 1.0, rtol=1e-8)
    loss = SmoothQuantile(0.9)
    assert np.isfinite(loss.conjugate([3.0, 3.0], [-0.9, 0.1])).all()
    assert np.isfinite(loss.conjugate([3.0, 3.0], [-0.9 - 1e-13, 0.1 + 1e-14])).all()
    np.testing.assert_array_equal(loss.conjugate([3.0, 3.0], [-0.91, 0.11]), np.inf)


def test_zero_is_always_a_slope():
    """A loss that is not negative has a conjugate of at most zero there."""
    found = Logistic().conjugate([1.0, -1.0], [0.0, 0.0])
    np.testing.assert_allclose(found, 0.0, rtol=0, atol=1e-300)


# ---- the same optimum as with compiled losses ----------------------------------------------------

SETTINGS = [
    ("auto", {}),
    ("newton", {"l1_ratio": 1.0}),
    ("newton", {"penalty": None}),
    ("newton_cg", {}),
    ("asaga", {"l1_ratio": 1.0}),
    ("asaga", {"penalty": GroupLasso([[0, 1], [2, 3]])}),
    ("saga", {}),
    ("lagged_saga", {}),
    ("sdca", {}),
    ("sdca", {"l1_ratio": 0.5}),
    ("svrg", {}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "options"), SETTINGS, ids=str)
def test_classifier(labels, solver, options):
    X, y = labels
    settings = {"solver": solver, "tol": 1e-6, "max_iter": 3000, "random_state": 0, **options}
    own = AsagaClassifier(Logistic(), **settings).fit(X, y)
    known = AsagaClassifier("log_loss", **settings).fit(X, y)
    assert own.converged_
    np.testing.assert_allclose(own.coef_, known.coef_, rtol=0, atol=2e-6)
    np.testing.assert_allclose(own.objective_, known.objective_, rtol=2e-6)
    if known.dual_gap_ is None:
        assert own.history_["suboptimality"][-1] <= 1e-6 * own.objective_
    else:
        assert own.dual_gap_ <= 1e-6 * own.objective_
    np.testing.assert_array_equal(own.predict(X), known.predict(X))
    np.testing.assert_allclose(own.predict_proba(X), known.predict_proba(X), rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "asaga", "sdca"])
def test_regressor(table, rng, solver):
    X, y = table
    settings = {"alpha": 0.1, "solver": solver, "tol": 1e-8, "max_iter": 2000, "random_state": 0}
    weight = rng.uniform(0.5, 2.0, len(y))
    for data in (X, sp.csr_matrix(X)):
        own = AsagaRegressor(Squares(), **settings).fit(data, y, sample_weight=weight)
        known = AsagaRegressor("squared_error", **settings).fit(data, y, sample_weight=weight)
        assert own.converged_
        np.testing.assert_allclose(own.coef_, known.coef_, rtol=0, atol=1e-6)
        np.testing.assert_allclose(own.intercept_, known.intercept_, rtol=0, atol=1e-6)


# ---- losses that do not exist here ---------------------------------------------------------------


def optimum(loss, X, y, alpha):
    """By a solver that knows nothing of ours."""

    def objective(v):
        z = X @ v[:-1] + v[-1]
        slope = loss.derivative(y, z) / len(y)
        gradient = np.append(X.T @ slope + alpha * v[:-1], slope.sum())
        return loss.value(y, z).mean() + alpha / 2 * v[:-1] @ v[:-1], gradient

    found = minimize(objective, np.zeros(X.shape[1] + 1), jac=True, method="BFGS", tol=1e-10)
    return found.x, found.fun


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["newton", "newton_cg", "sdca"])
def test_new_losses_reach_their_optimum(table, solver):
    (X, y), loss = table, SmoothQuantile(0.8)
    expected, least = optimum(loss, X, y, 0.1)
    model = AsagaRegressor(
        loss, alpha=0.1, solver=solver, tol=1e-5, max_iter=2000, random_state=0
    ).fit(X, y)
    assert model.converged_
    assert model.objective_ - model.dual_gap_ <= least + 1e-10
    assert least <= model.objective_ + 1e-10
    assert model.objective_ <= least * (1 + 1e-5)
    np.testing.assert_allclose(model.coef_, expected[:-1], rtol=0, atol=0.02)


def test_lasso_is_certified_by_conjugates_that_are_found(table):
    X, y = table
    settings = {"alpha": 0.2, "l1_ratio": 1.0, "solver": "newton", "tol": 1e-6}
    own = AsagaRegressor(SmoothQuantile(0.5), **settings).fit(X, y)
    # Twice the loss of 1/2 is that of Huber with delta 1/2, of residuals twice as wide.
    assert own.converged_
    assert 0.0 <= own.dual_gap_ <= 1e-6 * own.objective_
    assert np.count_nonzero(own.coef_) < 4


# ---- all else that takes a loss ------------------------------------------------------------------


@pytest.mark.slow
def test_partial_fit_path_and_pickle(labels):
    X, y = labels
    model, known = (AsagaClassifier(loss, random_state=0) for loss in (Logistic(), "log_loss"))
    for part in (slice(0, 30), slice(30, 60)):
        for one in (model, known):
            one.partial_fit(X[part], y[part], classes=np.unique(y))
    np.testing.assert_allclose(model.coef_, known.coef_, rtol=0, atol=1e-9)
    paths = [
        regularization_path(AsagaClassifier(loss, tol=1e-6), X, y, Cs=[0.1, 1.0])
        for loss in (Logistic(), "log_loss")
    ]
    np.testing.assert_allclose(paths[0].coefs_, paths[1].coefs_, rtol=0, atol=1e-5)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict(X), model.predict(X))


def test_auto_takes_what_asks_for_arrays(labels, rng):
    X, y = labels
    assert "one output" in AsagaClassifier(Logistic()).fit(X, y).solver_reason_
    wide = sp.random(60, 600, density=0.05, format="csr", random_state=0)
    assert "of your own" in AsagaClassifier(Logistic()).fit(wide, y).solver_reason_


# ---- the border ----------------------------------------------------------------------------------


REFUSED = {
    "no number of samples": ({"value": lambda self, y, z: np.mean((z - y) ** 2)}, "got shape ()"),
    "a mean": (
        {"value": lambda self, y, z: (z - y) ** 2 / 2 / len(y)}, "when it is alone"
    ),
    "NaN": (
        {"derivative": lambda self, y, z: np.where(z > 1, np.nan, z - y)},
        "derivative of Spoilt must return finite numbers, got nan",
    ),
    "text": ({"value": lambda self, y, z: "x"}, "value of Spoilt returned must hold real numbers"),
    "sign": ({"derivative": lambda self, y, z: y - z}, "is not that of its value"),
    "factor": ({"derivative": lambda self, y, z: 2 * (z - y)}, "is not that of its value"),
    "small factor": (
        {"derivative": lambda self, y, z: (z - y) * (1.0 + 1e-3)}, "is not that of its value"
    ),
    "negative": ({"value": lambda self, y, z: (z - y) ** 2 / 2 - 1}, "its value is negative"),
    "not convex": (
        {
            "value": lambda self, y, z: 1 - np.cos(z - y),
            "derivative": lambda self, y, z: np.sin(z - y),
        },
        "not convex",
    ),
    "not smooth enough": ({"smoothness": 0.5}, "grows faster than smoothness = 0.5"),
    "no smoothness": ({"smoothness": np.inf}, "smoothness of Spoilt must be finite"),
    "no task": ({"task": "ranking"}, "task of Spoilt must be one of"),
    "conjugate": ({"conjugate": lambda self, y, s: s * y}, "leave it out"),
    "conjugate of some": (
        {"conjugate": lambda self, y, s: np.where(np.abs(s) < 0.5, -99.0, s * (s / 2 + y))},
        "leave it out",
    ),
    "minus infinity": ({"conjugate": lambda self, y, s: -np.inf * np.ones(s.shape)}, "got -inf"),
    "curvature": ({"curvature": lambda self, y, z: 1.0}, "curvature of Spoilt must return"),
}  # fmt: skip


@pytest.mark.parametrize("changes", REFUSED)
def test_what_contradicts_itself_is_refused(table, changes):
    attributes, message = REFUSED[changes]
    X, y = table
    loss = type("Spoilt", (Squares,), attributes)()  # the squared loss, changed
    with pytest.raises(ValueError, match=re.escape(message)):
        AsagaRegressor(loss, alpha=1.0).fit(X, y)
    with pytest.raises(ValueError, match=re.escape(message)):
        minimize_saga(X, y, loss=loss)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_good_losses_pass_in_all_units(rng, scale):
    y = scale * rng.standard_normal(50)
    for loss in (Squares(), SmoothQuantile(0.1)):
        loss._check_on(y)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["newton", "newton_cg", "asaga", "saga", "sdca"])
def test_errors_within_a_fit_arrive(labels, solver):
    class Sudden(Logistic):
        n_calls = 0

        def derivative(self, y, z):
            Sudden.n_calls += z.size in (1, 60)  # single rows, or all
            if Sudden.n_calls > 12:
                raise KeyError("sudden")
            return super().derivative(y, z)

    X, y = labels
    with pytest.raises(KeyError, match="sudden"):
        AsagaClassifier(Sudden(), solver=solver, max_iter=1000, tol=0).fit(X, y)


def test_errors_within_subgradient_steps_arrive(labels):
    class Sudden(Logistic):
        n_calls = 0

        def derivative(self, y, z):
            Sudden.n_calls += z.size == 1
            if Sudden.n_calls > 100:
                raise KeyError("sudden")
            return super().derivative(y, z)

    with pytest.raises(KeyError, match="sudden"):
        AveragedSubgradientClassifier(Sudden(), max_iter=10).fit(*labels)


def test_subgradient_steps_are_the_first_kernel_of_a_process():
    code = (
        "import numpy as np\n"
        "from _linear_references import Logistic\n"
        "from sklearn_fw.linear_model import AveragedSubgradientClassifier\n"
        "X = np.arange(6.0)[:, None]\n"
        "AveragedSubgradientClassifier(Logistic()).fit(X, X[:, 0] > 2)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[1]
    )
    assert run.returncode == 0, run.stderr


def test_scores_cannot_be_written_to(table):
    class Writes(Squares):
        def derivative(self, y, z):
            z -= y
            return z

    with pytest.raises(ValueError, match="read-only"):
        AsagaRegressor(Writes()).fit(*table)


def test_parameters_of_users_are_checked(table):
    with pytest.raises(ValueError, match="tau must be between 0 and 1, got 2"):
        AsagaRegressor(SmoothQuantile(2)).fit(*table)


def test_probabilities_are_checked(labels):
    class Wrong(Logistic):
        def probability(self, z):
            return z

    X, y = labels
    with pytest.raises(ValueError, match="probability of Wrong must return a number from 0 to 1"):
        AsagaClassifier(Wrong()).fit(X, y).predict_proba(X)


def test_compiled_losses_cannot_be_changed():
    class Changed(Huber):
        def value(self, y, z):
            return np.abs(z - y)

    with pytest.raises(ValueError, match=r"derived directly from sklearn_fw\.losses\.Loss"):
        resolve_loss(Changed(), "regression")
    with pytest.raises(ValueError, match=r"Squares\(\) is for regression"):
        AsagaClassifier(Squares()).fit([[0.0], [1.0]], [0, 1])
    assert isinstance(resolve_loss(SquaredError(), None), SquaredError)
