"""What the linear models say about bad parameters and bad data, and that no loop is endless."""

import re
import signal
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw import AsagaClassifier, AsagaRegressor, regularization_path
from sklearn_fw.linear_model import (
    AveragedSubgradientClassifier,
    AveragedSubgradientRegressor,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
)
from sklearn_fw.losses import EpsilonInsensitive, Huber
from sklearn_fw.optim import minimize_frank_wolfe
from sklearn_fw.optim._incremental._finite_sum import solve_positive
from sklearn_fw.penalties import GroupLasso
from sklearn_fw.surrogates import QuadraticSurrogateClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
N, D = 30, 4
GROUP = GroupLasso([[0, 1]])


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    z = X @ [1.0, -1.0, 0.5, 0.0]
    return X, np.where(z > 0, "b", "a"), z


# ---- bad parameters ------------------------------------------------------------------------------

SHARED = [
    ({"penalty": "l1"}, ValueError, r"penalty must be 'elasticnet', None or an object.*got 'l1'"),
    ({"loss": "hinge"}, ValueError, "loss='hinge' is (not smooth|for classification)"),
    ({"loss": 3}, ValueError, "loss must be one of .* or an object of sklearn_fw.losses"),
    ({"solver": "saag"}, ValueError, "solver must be one of 'asaga', .*; got 'saag'"),
    # penalties
    ({"penalty": GroupLasso([[0, 9]])}, ValueError, r"groups\[0\] holds feature 9: features are"),
]


@pytest.mark.parametrize("params, error, message", SHARED)
def test_parameters_of_both(params, error, message):
    X, labels, z = data()
    for model, y in ((AsagaClassifier(), labels), (AsagaRegressor(), z)):
        with pytest.raises(error, match=message):
            model.set_params(**params).fit(X, y)
        assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    "params, error, message",
    [
        ({"loss": Huber()}, ValueError, r"loss=Huber\(\) is for regression"),
        (
            {"multi_class": "multinomial", "loss": "squared_hinge"}, ValueError,
            "multi_class='multinomial' needs loss='log_loss', got 'squared_hinge'",
        ),
        (
            {"multi_class": "ovr", "loss": "multinomial"}, ValueError,
            "multi_class='ovr' needs a loss of one score: loss='log_loss'",
        ),
        ({"class_weight": "even"}, ValueError, "'class_weight' parameter .* Got 'even' instead"),
        ({"class_weight": {"a": -1.0}}, ValueError, r"class_weight\['a'\] == -1.0, must be >= 0"),
        ({"class_weight": {"a": 0.0}}, ValueError, "class 'a' has no sample of positive weight"),
        ({"class_weight": {"z": 1.0}}, ValueError, "are not in class_weight"),
    ],
)  # fmt: skip
def test_parameters_of_the_classifier(params, error, message):
    X, y, _ = data()
    with pytest.raises(error, match=message):
        AsagaClassifier(**params).fit(X, y)


@pytest.mark.parametrize(
    "params, error, message",
    [({"loss": "log_loss"}, ValueError, "loss='log_loss' is for classification; for regression")],
)
def test_parameters_of_the_regressor(params, error, message):
    X, _, z = data()
    with pytest.raises(error, match=message):
        AsagaRegressor(**params).fit(X, z)


@pytest.mark.parametrize(
    "params, message",
    [
        ({"domain": "ball"}, "domain must be one of"),
        ({"loss": "absolute_error"}, "loss must be one of 'squared_error'"),
        ({"loss": EpsilonInsensitive(0.0)}, "is not smooth"),
    ],
)
def test_parameters_of_sets(params, message):
    X, _, z = data()
    with pytest.raises(ValueError, match=message):
        FrankWolfeRegressor(**params).fit(X, z)


@pytest.mark.parametrize("solver", ["sag", "lagged_saga"])
def test_solvers_of_one_output(solver):
    X, _, z = data()
    y = np.digitize(z, [-0.5, 0.5])
    with pytest.raises(ValueError, match="one output"):
        AsagaClassifier(solver=solver).fit(X, y)
    AsagaClassifier(solver=solver, multi_class="ovr", tol=0.01, random_state=0).fit(X, y)


# ---- bad data ------------------------------------------------------------------------------------


def with_entry(value):
    X = data()[0]
    X[3, 2] = value
    return X


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("value", [1e200, -1e160, 1e101])
def test_features_that_are_too_large(form, value):
    X, (_, labels, z) = form(with_entry(value)), data()
    message = re.escape(f"X has an entry of absolute value {abs(value):.3g}, sums of squares would")
    for model, y in ((AsagaClassifier(), labels), (AsagaRegressor(), z)):
        for fit in (model.fit, model.partial_fit):
            with pytest.raises(ValueError, match=message + ".*scale it, .*MaxAbsScaler"):
                fit(X, y)


def test_large_features_are_named_in_the_advice():
    X, y, _ = data()
    with pytest.warns(match="duality gap .* scale the features"):
        AsagaClassifier(C=1.0, solver="asaga", random_state=0).fit(1e30 * X, y)


def test_targets_that_are_too_large():
    X, _, z = data()
    with pytest.raises(ValueError, match="y has an entry of absolute value 1e\\+200"):
        AsagaRegressor().fit(X, np.where(z > 0, z, -1e200))
    model = AsagaRegressor(alpha=0.1, tol=1e-10, max_iter=1000, random_state=0)
    small = model.fit(X, z).coef_
    np.testing.assert_allclose(model.fit(X, 1e60 * z).coef_, 1e60 * small, rtol=1e-3)


@pytest.mark.parametrize(
    "y, message",
    [
        (np.zeros(N), "y has one class, 0.0; a classifier needs at least two"),
        (["a"] * N, "y has one class, 'a'; a classifier needs at least two"),
        (np.linspace(0, 1, N), "Unknown label type: continuous"),
        (np.zeros((N, 2)), r"y should be a 1d array, got an array of shape \(30, 2\)"),
    ],
)
def test_labels(y, message):
    with pytest.raises(ValueError, match=message):
        AsagaClassifier().fit(data()[0], y)


@pytest.mark.parametrize("class_weight", [None, "balanced", {"a": 2.0}], ids=str)
def test_a_class_without_weight(class_weight):
    X, y, _ = data()
    with pytest.raises(ValueError, match="class 'b' has no sample of positive weight: leave it"):
        AsagaClassifier(class_weight=class_weight).fit(X, y, sample_weight=y == "a")
    # Zero weights of some samples of a class are fine.
    AsagaClassifier(class_weight=class_weight).fit(X, y, sample_weight=np.arange(N) % 3)


def test_a_failing_fit_can_be_repeated():
    X, y, _ = data()
    model = AsagaClassifier(penalty=GroupLasso([[0, 7]]), warm_start=True, random_state=0)
    model.set_params(max_iter=1000)
    with pytest.raises(ValueError, match="holds feature 7"):
        model.fit(X, y)
    model.set_params(penalty=GROUP).fit(X, y)
    coef = model.coef_.copy()
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(with_entry(np.nan), y)
    np.testing.assert_array_equal(model.coef_, coef)
    assert model.fit(X, y).converged_


@pytest.mark.parametrize("far", [1e105, 1.7e308])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("model", [AsagaClassifier(), AsagaRegressor()], ids=["labels", "numbers"])
def test_rows_that_give_scores_beyond_all_numbers(model, make, far):
    X, _, z = data()
    model.fit(make(X), z > 0)
    X[3] = far
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            with pytest.raises(ValueError, match="X is too large: scores reach"):
                getattr(model, method)(make(X))


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        AsagaClassifier(), AsagaRegressor(), AveragedSubgradientClassifier(),
        AveragedSubgradientRegressor(), FrankWolfeClassifier(), FrankWolfeRegressor(),
        QuadraticSurrogateClassifier(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)  # fmt: skip
def test_losses_that_an_error_lists_are_accepted(estimator, rng):
    name = "task_loss" if "task_loss" in estimator.get_params() else "loss"
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(ValueError, match=f"{name} must be one of") as error:
        clone(estimator).set_params(**{name: "cubic"}).fit(X, y)
    listed = re.findall(r"'(\w+)'", str(error.value).replace("'cubic'", ""))
    assert len(listed) >= 3
    for loss in listed:
        clone(estimator).set_params(**{name: loss}).fit(X, y)


def test_text_in_a_sparse_matrix_and_names_of_sets():
    X = sp.csr_array(np.eye(4))
    X.data = np.array(["a", 1, 2, 3], dtype=object)
    with pytest.raises(ValueError, match="X must hold numbers, got dtype object"):
        AsagaRegressor().fit(X, np.arange(4.0))
    with pytest.raises(ValueError, match=r"domain='simplex' is a name for estimators.*L1Ball"):
        minimize_frank_wolfe(lambda x: (x @ x, 2 * x), "simplex")


# ---- no loop without an end ---------------------------------------------------------------------


@contextmanager
def within(seconds):
    """Fail instead of waiting for ever."""

    def stop(*_):
        raise TimeoutError(f"no end within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("scale", [1e-200, 1e-300, 1e-320, 0.0, 1e99])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_paths_of_any_scale_end(scale, l1_ratio):
    X, _, y = data()
    with within(100), np.errstate(all="ignore"):
        for model, target in (
            (AsagaRegressor(l1_ratio=l1_ratio, max_iter=3), y),
            (AsagaClassifier(l1_ratio=l1_ratio, max_iter=3), y > 0),
        ):
            path = regularization_path(model, X * scale, target, n_values=3)
            assert np.all(np.isfinite(path.values_)), path.values_
            assert np.all(path.values_ > 0.0)


def test_strongest_value_of_a_path_of_tiny_features():
    """The strength scales with the features, as far as they have squares."""
    X, _, y = data()
    model = AsagaRegressor(l1_ratio=1.0, max_iter=2)
    values = regularization_path(model, X, y, n_values=2).values_
    tiny = regularization_path(model, X * 1e-100, y, n_values=2).values_
    np.testing.assert_allclose(tiny, values * 1e-100, rtol=1e-9)


@pytest.mark.parametrize("entry", [np.nan, np.inf, -1e308])
def test_systems_without_numbers(entry):
    """LAPACK may call the matrix indefinite however much is added to its diagonal."""
    matrix = np.eye(3)
    matrix[1, 1] = entry
    matrix[0, 1] = matrix[1, 0] = np.nan
    with within(20), np.errstate(all="ignore"):
        try:
            solution = solve_positive(matrix, np.ones(3))
        except FloatingPointError:
            return
    assert not np.all(np.isfinite(solution))


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-160, 1e-100, 1.0, 1e100, 1e150])
@pytest.mark.parametrize("l1", [0.0, 0.3, 1e-300])
def test_scales_of_dual_points_end(scale, l1):
    """The largest multiple with a finite conjugate, or one that is smaller by rounding."""
    bound = GroupLasso([[0, 1], [2]], group_weights=[0.0, 1.0], l1=l1).bind(3)
    v = np.array([3.0, -4.0, 2.0]) * scale
    with within(20), np.errstate(all="ignore"):
        t = bound.dual_scale(v)
        assert 0.0 <= t <= 1.0
        assert bound.conjugate(t * v) < np.inf


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["newton", "saga", "newton_cg"])
def test_gap_of_rounding_errors_ends_the_fit(solver):
    """A relative gap of 1e-16 is out of reach; iterations would go on without any gain."""
    X, z = load_diabetes(return_X_y=True)
    model = AsagaRegressor(alpha=0.1, solver=solver, tol=1e-18, max_iter=10**6, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"duality gap .* epochs: rounding errors leave"):
        model.fit(X, z)
    assert (model.status_, model.converged_) == ("rounding", False)
    assert model.n_iter_ < 1000
    assert model.dual_gap_ <= 1e-11 * model.objective_
    assert model.set_params(tol=0.0, max_iter=300).fit(X, z).n_iter_ == 300
