"""One function for all paths, cross-validation along them, and their picture."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold

from _package import public_objects
from sklearn_fw import AsagaClassifier, AsagaRegressor, StructuredSVM, regularization_path
from sklearn_fw.model_selection import (
    RegularizationPath,
    RegularizationPathCV,
    RegularizationPathDisplay,
    cross_validate_path,
)
from sklearn_fw.structured import LatentStructuredSVM, StructuredSVMCV


class ShrunkenMean(RegressorMixin, BaseEstimator):
    """An estimator of a third party: the mean, divided by 1 + alpha."""

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y, sample_weight=None):
        self.mean_ = np.average(y, weights=sample_weight) / (1.0 + self.alpha)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)

    def _regularization_path(self, X, y, *, sample_weight=None, alphas=(1.0, 0.0)):
        mean = np.average(y, weights=sample_weight)
        return Means(self, alphas, mean / (1.0 + np.array(alphas)), np.zeros(len(alphas)))


class Means(RegularizationPath):
    """Its path."""

    param_name, grid_option = "alpha", "alphas"

    def estimator_at(self, value):
        fitted = ShrunkenMean(value)
        fitted.mean_ = self.coefs_[self.values_ == value][0]
        return fitted


def test_third_parties_take_part():
    X, y = load_diabetes(return_X_y=True)
    path = regularization_path(ShrunkenMean(), X, y, alphas=[3.0, 1.0, 0.0])
    np.testing.assert_allclose(path.predict(X[:2], at=1.0), y.mean() / 2)
    assert np.argmax(path.score_path(X, y)) == 2
    assert list(RegularizationPathDisplay.from_path(path).lines_) == ["coef"]
    assert cross_validate_path(ShrunkenMean(), X, y).best_value == 0.0


@pytest.mark.parametrize("estimator", ["ridge", object(), AsagaRegressor, GridSearchCV])
def test_estimators_without_a_path(estimator):
    with pytest.raises(TypeError, match=r"must be a StructuredSVM, .* method _regularization_path"):
        regularization_path(estimator, np.eye(2), [0, 1])


def test_error_names_every_estimator_with_a_path():
    with pytest.raises(TypeError) as caught:
        regularization_path(None, np.eye(2), [0, 1])
    for name, obj in public_objects():
        # The latent one refuses, for its objective is not convex.
        if hasattr(obj, "_regularization_path") and obj is not LatentStructuredSVM:
            assert name.rpartition(".")[2] in str(caught.value)


@pytest.mark.slow
def test_all_paths_have_one_interface():
    X, y = load_iris(return_X_y=True)
    for estimator, options in (
        (StructuredSVM(random_state=0), {"eps": 0.5, "C_max": 0.1}),
        (AsagaClassifier(l1_ratio=0.5, random_state=0), {"n_values": 3, "ratio": 0.1}),
    ):
        path = regularization_path(estimator, X, y, sample_weight=np.ones(150), **options)
        assert isinstance(path, RegularizationPath)
        assert path.param_name == "C"
        assert len(path.values_) == len(path.coefs_) == len(path.gaps_)
        assert np.all(np.diff(path.values_) > 0)
        assert path.values_[0] == path.estimator_at(path.values_[0]).C
        assert path.predict(X, at=path.values_[-1]).shape == y.shape
        assert path.score_path(X, y, scoring="accuracy").shape == path.values_.shape


# ---- cross-validation ----------------------------------------------------------------------------


@pytest.mark.slow
def test_cross_validation_in_parallel_and_with_weights():
    X, y = load_diabetes(return_X_y=True)
    weight = np.arange(442.0)
    options = {"cv": KFold(3), "sample_weight": weight, "alphas": [1.0, 0.1]}
    estimator = AsagaRegressor(l1_ratio=1.0, random_state=0)
    one, two = (cross_validate_path(estimator, X, y, n_jobs=n, **options) for n in (1, 2))
    np.testing.assert_array_equal(one.scores, two.scores)
    train, test = next(KFold(3).split(X))
    path = regularization_path(
        estimator, X[train], y[train], sample_weight=weight[train], alphas=[1.0, 0.1]
    )
    scores = path.score_path(X[test], y[test], sample_weight=weight[test])
    np.testing.assert_array_equal(scores, one.scores[0])


def test_of_many_equal_scores_the_middle_wins():
    X, y = load_diabetes(return_X_y=True)
    alphas = [1.0, 0.8, 0.6, 0.4, 0.2]
    result = cross_validate_path(
        AsagaRegressor(l1_ratio=1.0), X, y, alphas=alphas, cv=2,
        scoring=lambda est, A, b: float(0.3 < est.alpha < 0.9),
    )  # fmt: skip
    assert result.best_value == 0.6


@pytest.mark.slow
def test_function_and_estimators_are_one():
    X, y = load_iris(return_X_y=True)
    svm = StructuredSVM(random_state=0, max_iter=1000)
    options = {"eps": 0.5, "C_max": 1.0}
    found = cross_validate_path(svm, X, y, n_values=4, cv=3, **options)
    thin = StructuredSVMCV(svm, n_values=4, cv=3, **options).fit(X, y)
    search = RegularizationPathCV(svm, path_options=options, n_values=4, cv=3).fit(X, y)
    for values, scores, best in (
        (thin.values_, thin.scores_, thin.C_),
        (search.values_, search.scores_, search.best_value_),
    ):
        np.testing.assert_array_equal(values, found.param_values)
        np.testing.assert_array_equal(scores, found.scores)
        assert best == found.best_value == found.best_estimator.C
    assert found.scores.shape == (3, 4)
    assert len(found.paths) == 3
    assert found.path is None
    assert thin.lam_ == pytest.approx(1.0 / (thin.C_ * len(y)))
    assert search.score(X, y) == found.best_estimator.score(X, y)


@pytest.mark.slow
def test_search_has_what_its_estimator_has():
    X, y = load_iris(return_X_y=True)
    linear = AsagaClassifier(tol=1e-2, max_iter=1000, random_state=0)
    search = RegularizationPathCV(linear, path_options={"Cs": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.n_features_in_ == 4
    np.testing.assert_array_equal(search.classes_, [0, 1, 2])
    np.testing.assert_array_equal(search.values_, [0.1, 1.0])
    for name in ("predict", "predict_proba", "decision_function"):
        expected = getattr(search.best_estimator_, name)(X)
        np.testing.assert_array_equal(getattr(search, name)(X), expected)
    assert not hasattr(search, "predict_marginals")
    assert not hasattr(RegularizationPathCV(AsagaRegressor()), "predict_proba")
    assert is_classifier(search)
    assert is_regressor(RegularizationPathCV(AsagaRegressor()))
    twice = GridSearchCV(search, {"estimator__l1_ratio": [0.0, 1.0]}, cv=2).fit(X, y)
    assert twice.best_score_ > 0.9


def test_weights_are_those_of_fits_and_scores():
    X, y = load_diabetes(return_X_y=True)
    weight = np.linspace(0.0, 2.0, 442)
    options = {"sample_weight": weight, "alphas": [1.0, 0.1], "cv": KFold(3)}
    model = AsagaRegressor(l1_ratio=1.0, random_state=0)
    for scoring, score in (
        (None, r2_score),
        ("neg_mean_absolute_error", lambda *a, **k: -mean_absolute_error(*a, **k)),
        (
            lambda model, X, y, sample_weight=None: sample_weight.sum(),
            lambda t, p, sample_weight: sample_weight.sum(),
        ),
        (lambda est, A, b: len(b), lambda t, p, sample_weight: len(t)),
    ):
        found = cross_validate_path(model, X, y, scoring=scoring, **options)
        train, test = next(KFold(3).split(X))
        path = regularization_path(
            model, X[train], y[train], sample_weight=weight[train], alphas=[1.0, 0.1]
        )
        expected = score(y[test], path.predict(X[test], at=0.1), sample_weight=weight[test])
        assert found.scores[0, 1] == pytest.approx(expected, rel=1e-12)


def test_groups_keep_together():
    X, y = load_diabetes(return_X_y=True)
    groups = np.arange(442) % 7
    options = {"alphas": [1.0, 0.1]}
    one = cross_validate_path(AsagaRegressor(), X, y, groups=groups, cv=GroupKFold(3), **options)
    splits = list(GroupKFold(3).split(X, y, groups))
    two = cross_validate_path(AsagaRegressor(), X, y, cv=splits, **options)
    np.testing.assert_array_equal(one.scores, two.scores)
    with pytest.raises(ValueError, match=r"groups must have shape \(442,\), got \(3,\)"):
        cross_validate_path(AsagaRegressor(), X, y, groups=[0, 1, 2], cv=GroupKFold(3))


def test_options_of_a_search_must_be_a_dict():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(TypeError, match="path_options must be a dict or None, got 'Cs'"):
        RegularizationPathCV(AsagaRegressor(), path_options="Cs").fit(X, y)
    with pytest.raises(
        TypeError, match="path of AsagaRegressor has no option 'eps', only sample_w"
    ):
        RegularizationPathCV(AsagaRegressor(), path_options={"eps": 0.1}).fit(X, y)
    search = RegularizationPathCV(AsagaRegressor(), path_options={"n_values": 3}, cv=2).fit(X, y)
    assert len(search.values_) == 3


def test_paths_that_choose_their_values_say_what_they_are():
    X, y = load_diabetes(return_X_y=True)

    class Free(Means):
        grid_option = None

    class Strange(ShrunkenMean):
        def _regularization_path(self, X, y, **options):
            return Free(self, [1.0], [0.5], [0.0])

    with pytest.raises(TypeError, match=r"path of Strange has no grid_option, .* _path_class"):
        cross_validate_path(Strange(), X, y)


def test_search_ends_in_time():
    X, y = load_iris(return_X_y=True)
    svm = StructuredSVM(random_state=0, tol=1e-9, max_iter=10**6)
    with pytest.warns(ConvergenceWarning):
        search = StructuredSVMCV(svm, eps=0.5, n_values=2, cv=2, time_limit=1e-6).fit(X, y)
    assert [path.terminated_by_ for path in search.paths_] == ["time_limit"] * 2
    assert search.best_estimator_.n_iter_ == 1


# ---- display -------------------------------------------------------------------------------------

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def path():
    X, y = load_diabetes(return_X_y=True)
    return regularization_path(
        AsagaRegressor(l1_ratio=1.0, tol=1e-3, random_state=0), X, y, n_values=6, ratio=0.05
    )


@pytest.mark.slow
def test_curves_are_those_of_the_path(path):
    X, y = load_diabetes(return_X_y=True)
    curves = ("coef", "nonzero", "norm", "gap", "score")
    display = RegularizationPathDisplay.from_path(path, X=X, y=y, curves=curves, name="lasso")
    assert tuple(display.lines_) == curves
    used = np.flatnonzero(path.coefs_.any(axis=0))
    assert len(display.lines_["coef"]) == used.size
    for feature, line in zip(used, display.lines_["coef"]):
        np.testing.assert_array_equal(line.get_xdata(), path.values_)
        np.testing.assert_array_equal(line.get_ydata(), path.coefs_[:, feature])
        assert line.get_drawstyle() == "default"
    expected = {
        "nonzero": (path.coefs_ != 0).sum(axis=1),
        "norm": np.linalg.norm(path.coefs_, axis=1),
        "gap": path.gaps_,
        "score": path.score_path(X, y),
    }
    for curve, values in expected.items():
        np.testing.assert_allclose(display.lines_[curve].get_ydata(), values, rtol=1e-14)
    for panel in display.axes_:
        assert panel.get_xscale() == "log"
        assert panel.xaxis_inverted()  # strong regularization at the left, as for C
        assert len(panel.get_legend().get_texts()) == 1
    assert display.axes_[-1].get_xlabel() == "alpha"
    display.figure_.canvas.draw()


def test_default_curves(path):
    assert list(RegularizationPathDisplay.from_path(path).lines_) == ["coef"]
    X, y = load_diabetes(return_X_y=True)
    assert list(RegularizationPathDisplay.from_path(path, X=X, y=y).lines_) == ["score"]


def test_two_paths_on_one_axis_stay_inverted(path):
    first = RegularizationPathDisplay.from_path(path, curves="nonzero", color="red")
    second = RegularizationPathDisplay.from_path(path, curves="nonzero", ax=first.ax_)
    assert second.ax_.xaxis_inverted()
    assert first.lines_["nonzero"].get_color() == "red"


def test_only_the_largest_coefficients_are_drawn():
    coefs = np.zeros((2, 150))
    coefs[1] = np.arange(150)
    display = RegularizationPathDisplay([1.0, 2.0], coefs=coefs).plot()
    assert [line.get_ydata()[1] for line in display.lines_["coef"]] == list(range(50, 150))
    display = RegularizationPathDisplay([1.0, 2.0], coefs=0 * coefs).plot()
    assert display.lines_["coef"] == []  # nothing to see, and no error
    display.figure_.canvas.draw()
