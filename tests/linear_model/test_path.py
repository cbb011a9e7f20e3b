"""The path of the linear models: equal to fits from scratch, and where it begins."""

import pickle
import warnings
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path, lasso_path

from sklearn_fw import AsagaClassifier, AsagaRegressor, regularization_path
from sklearn_fw.linear_model import LinearPath
from sklearn_fw.model_selection import cross_validate_path
from sklearn_fw.penalties import Box, GroupLasso, GroupSeparable, L2Ball, Simplex

TIGHT = {"tol": 1e-13, "max_iter": 5000, "random_state": 0}
GROUPS = [[0, 1], [2, 3, 4], [5]]


class Lasso(GroupSeparable):
    """The l1 norm as a user writes it, with a conjugate."""

    def group_value(self, u, group):
        return float(np.abs(u).sum())

    def group_prox(self, u, step_size, group):
        return np.sign(u) * np.maximum(np.abs(u) - step_size, 0.0)

    def group_conjugate(self, v, group):
        return 0.0 if np.abs(v).max() <= 1.0 + 1e-12 else np.inf


def inputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6)) * [1.0, 2.0, 1.0, 1.0, 1.5, 2.0] + 0.5
    return X, X @ [1.0, -0.5, 0.0, 0.3, 0.0, 0.2] + 0.5 * rng.normal(size=60)


def numbers():
    X, scores = inputs()
    return X, scores + 3.0


def targets():
    X, scores = inputs()
    return X, np.column_stack([scores, np.sin(scores), X[:, 2]])


def two_classes():
    X, scores = inputs()
    return X, np.where(scores > np.median(scores), "yes", "no")


def three_classes():
    X, scores = inputs()
    return X, np.digitize(scores, np.quantile(scores, [0.3, 0.6]))


def weights():
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=60)
    weight[:3] = 0.0
    return weight


def fitted_names(estimator):
    return {name for name in vars(estimator) if name.endswith("_")}


CASES = {
    "ridge": (AsagaRegressor(), numbers),
    "lasso": (AsagaRegressor(l1_ratio=1.0), numbers),
    "elastic net, several targets": (AsagaRegressor(l1_ratio=0.5), targets),
    "huber": (AsagaRegressor("huber", l1_ratio=0.5, fit_intercept=False), numbers),
    "groups": (AsagaRegressor(penalty=GroupLasso(GROUPS)), numbers),
    "bounds": (AsagaRegressor(penalty=Box(l1=1.0, l2=0.1)), numbers),
    "own penalty": (AsagaRegressor(penalty=Lasso()), numbers),
    "logistic": (AsagaClassifier(), two_classes),
    "sparse logistic": (AsagaClassifier(l1_ratio=0.7), two_classes),
    "multinomial": (AsagaClassifier(l1_ratio=0.5), three_classes),
    "one against the rest": (
        AsagaClassifier("squared_hinge", l1_ratio=0.5, class_weight="balanced"),
        three_classes,
    ),
    "svrg": (AsagaClassifier(l1_ratio=0.5, solver="svrg"), two_classes),
}


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("case", CASES)
def test_every_value_equals_a_fit_from_scratch(case, weighted):
    estimator, data = CASES[case]
    estimator = clone(estimator).set_params(**TIGHT)
    X, y = data()
    weight = weights() if weighted else None
    options = {"n_values": 4, "ratio": 0.02}
    if case in ("ridge", "logistic"):  # the default grid is too wide for accurate fits
        options = {"alphas" if case == "ridge" else "Cs": [0.01, 0.1, 1.0, 10.0]}
    path = regularization_path(estimator, sp.csr_array(X), y, sample_weight=weight, **options)
    assert isinstance(path, LinearPath)
    assert path.param_name == ("C" if isinstance(estimator, AsagaClassifier) else "alpha")
    assert np.all(np.diff(path.values_) * (1 if path.param_name == "C" else -1) > 0)
    assert path.gaps_.shape == path.n_iters_.shape == path.values_.shape == (4,)
    for k, value in enumerate(path.values_):
        alone = clone(estimator).set_params(**{path.param_name: float(value)})
        alone.fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(path.coefs_[k], alone.coef_, rtol=0, atol=1e-6)
        found, expected = path.intercepts_[k], alone.intercept_
        if case == "multinomial":  # the same number may be added to all
            found, expected = found - found.mean(), expected - expected.mean()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
        fitted = path.estimator_at(value)
        assert repr(fitted) == repr(alone)
        assert fitted.dual_gap_ == path.gaps_[k]
        assert fitted_names(fitted) == fitted_names(alone)
        np.testing.assert_array_equal(fitted.coef_, path.coefs_[k])
        np.testing.assert_array_equal(path.predict(X, at=value), fitted.predict(X))


PENALTIES = {
    "l1": {"l1_ratio": 1.0},
    "elastic net": {"l1_ratio": 0.3},
    "groups": {"penalty": GroupLasso(GROUPS)},
    "sparse groups": {"penalty": GroupLasso(GROUPS, l1=0.5, l2=0.1)},
    "own": {"penalty": Lasso()},
}


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", ""])
@pytest.mark.parametrize(
    ("data", "penalty"),
    [
        *product([numbers, targets, two_classes, three_classes], list(PENALTIES)[:-1]),
        (numbers, "own"),
    ],
)
def test_first_value_is_the_edge_of_zero(data, penalty, fit_intercept, weighted):
    X, y = data()
    weight = weights() if weighted else None
    kind = AsagaRegressor if data in (numbers, targets) else AsagaClassifier
    estimator = kind(**PENALTIES[penalty], fit_intercept=fit_intercept)
    estimator.set_params(tol=1e-9, max_iter=5000, random_state=0)
    path = regularization_path(estimator, X, y, sample_weight=weight, n_values=1)
    edge = path.values_[0]
    assert not path.coefs_.any()
    name = path.param_name
    stronger, weaker = (0.999, 1.001) if name == "C" else (1.001, 0.999)
    strong = clone(estimator).set_params(**{name: edge * stronger}).fit(X, y, weight)
    assert not strong.coef_.any()
    weak = clone(estimator).set_params(**{name: edge * weaker}).fit(X, y, weight)
    assert weak.coef_.any()
    if kind is AsagaRegressor and "l1_ratio" in PENALTIES[penalty]:
        weight = np.ones(60) if weight is None else weight
        y = y.reshape(60, -1)
        residual = y - np.average(y, axis=0, weights=weight) * fit_intercept
        gradient = X.T @ (residual * weight[:, None]) / weight.sum()
        expected = np.abs(gradient).max() / PENALTIES[penalty]["l1_ratio"]
        assert edge == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
def test_grid_and_coefficients_of_scikit_learn(l1_ratio):
    X, y = numbers()
    path = regularization_path(AsagaRegressor(l1_ratio=l1_ratio, **TIGHT), X, y, n_values=10)
    X, y = X - X.mean(axis=0), y - y.mean()
    assert path.values_[0] == pytest.approx(np.abs(X.T @ y).max() / 60 / l1_ratio, rel=1e-9)
    assert path.values_[-1] == pytest.approx(1e-3 * path.values_[0], rel=1e-12)
    if l1_ratio == 1.0:
        _, coefs, _ = lasso_path(X, y, alphas=path.values_, tol=1e-12)
    else:
        _, coefs, _ = enet_path(X, y, l1_ratio=l1_ratio, alphas=path.values_, tol=1e-12)
    np.testing.assert_allclose(path.coefs_, coefs.T, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "estimator",
    [AsagaRegressor(), AsagaRegressor(penalty=GroupLasso([[0, 1]])), AsagaClassifier()],
    ids=["ridge", "columns without penalty", "logistic"],
)
def test_grid_where_nothing_makes_all_zero(estimator):
    X, y = two_classes() if isinstance(estimator, AsagaClassifier) else numbers()
    estimator.set_params(tol=1e-2, max_iter=2000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # C = 1e4
        path = regularization_path(estimator, X, y, n_values=9)
    wide = np.geomspace(1e-4, 1e4, 9)
    np.testing.assert_allclose(np.sort(path.values_), wide, rtol=1e-12)
    assert path.coefs_[0].any()


def test_given_grid_is_sorted():
    X, y = numbers()
    path = regularization_path(AsagaRegressor(l1_ratio=0.5), X, y, alphas=[0.1, 1, 0.5, 0.1])
    np.testing.assert_array_equal(path.values_, [1.0, 0.5, 0.1])
    X, y = two_classes()
    path = regularization_path(AsagaClassifier(), X, y, Cs=(1.0, 0.01))
    np.testing.assert_array_equal(path.values_, [0.01, 1.0])
    assert path.grid_option == "Cs"


def test_no_penalty_at_the_end():
    X, y = numbers()
    path = regularization_path(AsagaRegressor(l1_ratio=1.0, **TIGHT), X, y, alphas=[0.1, 0.0])
    least_squares = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose(path.coefs_[-1], least_squares, rtol=0, atol=1e-6)
    assert np.isnan(path.gaps_).tolist() == [False, True]  # least squares has no dual
    assert path.estimator_at(0.0).dual_gap_ is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "share"),
    [("ridge", 0.8), ("multinomial", 1.0), ("sparse logistic", 1.0), ("lasso", 1.0),
     ("groups", 1.0), ("elastic net, several targets", 1.0)],
)  # fmt: skip
def test_less_work_than_fits_from_scratch(case, share):
    estimator, data = CASES[case]
    X, y = data()
    estimator = clone(estimator).set_params(tol=1e-6, max_iter=2000, solver="asaga", random_state=0)
    path = regularization_path(estimator, X, y, n_values=10, ratio=0.01)
    warm = cold = 0
    for value in path.values_:
        warm += path.estimator_at(value).n_updates_
        cold += clone(estimator).set_params(**{path.param_name: value}).fit(X, y).n_updates_
    assert warm == path.n_iters_.sum() * len(X)
    assert warm < share * cold


def test_estimator_is_not_changed():
    X, y = two_classes()
    estimator = AsagaClassifier(C=7.0, warm_start=True)
    path = regularization_path(estimator, X, y, Cs=[0.1, 1.0])
    assert vars(estimator) == vars(AsagaClassifier(C=7.0, warm_start=True))
    assert path.estimator.C == 7.0
    fitted = path.estimator_at(1.0)
    fitted.coef_[:] = 0.0
    assert path.estimator_at(1.0).coef_.any()
    fitted.fit(X, y)  # from the beginning, for the memory of the path is gone
    assert path.estimator_at(1.0).score(X, y) == fitted.score(X, y)


@pytest.mark.parametrize(
    ("value", "near"), [(0.3, "has 0.1 and 1 next"), (0.01, "has 0.1 next"), (20.0, "has 10 next")]
)
def test_values_between_are_refused(value, near):
    X, y = two_classes()
    path = regularization_path(AsagaClassifier(tol=1e-2), X, y, Cs=[0.1, 1.0, 10.0])
    with pytest.raises(
        ValueError, match=f"C = {value} is not on the path, .* C = 0.1 to 10 .*{near}.* in Cs"
    ):
        path.predict(X, at=value)
    assert path.estimator_at(0.1 * (1 + 1e-12)).C == 0.1


def test_one_warning_with_numbers():
    X, y = three_classes()
    estimator = AsagaClassifier(multi_class="ovr", max_iter=3, tol=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        path = regularization_path(estimator, X, y, Cs=[1e-6, 1.0, 10.0])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    text = str(caught[0].message)
    assert text.startswith("2 of 3 values of C, from 1 to 10, missed tol; the worst is C = ")
    assert "after 3 epochs: increase max_iter" in text
    assert [path.estimator_at(C).converged_ for C in path.values_] == [True, False, False]


def test_path_can_be_pickled():
    X, y = three_classes()
    path = regularization_path(AsagaClassifier(l1_ratio=0.5), X, y, n_values=3, ratio=0.1)
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.coefs_, path.coefs_)
    value = path.values_[1]
    np.testing.assert_array_equal(
        again.estimator_at(value).predict_proba(X), path.estimator_at(value).predict_proba(X)
    )
    # No memory of rows and no data stay in it: its size is that of the coefficients.
    assert len(pickle.dumps(path)) < 30_000


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"Cs": []}, ValueError, "Cs must be a vector, got shape"),
        ({"Cs": [1.0, 0.0]}, ValueError, "every one of Cs"),
        ({"alphas": [1.0]}, TypeError, "path of AsagaClassifier is one over C: give Cs"),
        ({"ratio": 1.0}, ValueError, "ratio must be below 1"),
        ({"eps": 0.1}, TypeError, "AsagaClassifier has no option 'eps', only sample_weight, Cs, "),
    ],
)
def test_bad_options(options, error, message):
    X, y = two_classes()
    with pytest.raises(error, match=message):
        regularization_path(AsagaClassifier(), X, y, **options)


@pytest.mark.parametrize(
    "penalty", [None, L2Ball(), Simplex(), Box(-1.0, 1.0)], ids=lambda p: type(p).__name__
)
def test_penalties_without_strength(penalty):
    X, y = numbers()
    with pytest.raises(ValueError, match="no path over alpha, which changes nothing for penalty="):
        regularization_path(AsagaRegressor(penalty=penalty), X, y)


def test_paths_end_with_their_time(rng):
    X = rng.standard_normal((80, 4))
    y = (X[:, 0] + rng.logistic(size=80) > 0).astype(int)
    model, Cs = AsagaClassifier(random_state=0), [0.01, 0.1, 1.0]
    with pytest.warns(ConvergenceWarning, match="the path ends at C = 0.01.*raise time_limit"):
        path = regularization_path(model, X, y, Cs=Cs, time_limit=1e-6)
    assert path.values_.tolist() == [0.01]
    with pytest.warns(ConvergenceWarning, match="the path ends at"):
        search = cross_validate_path(model, X, y, Cs=Cs, cv=3, time_limit=1e-6)
    assert search.scores.shape == (3, 1)
    assert search.best_estimator.C == 0.01
    assert search.best_estimator.score(X, y) > 0.5
