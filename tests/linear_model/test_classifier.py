"""AsagaClassifier: the optimum of its objective, labels, weights, scikit-learn's tools."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from _linear_references import minimize_linear
from sklearn_fw import AsagaClassifier, AsagaRegressor
from sklearn_fw.linear_model import (
    AveragedSubgradientClassifier,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
)
from sklearn_fw.losses import LogLoss, SmoothHinge
from sklearn_fw.optim import Svrg
from sklearn_fw.penalties import Box, ElasticNet, GroupLasso, L2Ball, Simplex

N, D = 200, 6
WEIGHTS = {
    "none": {},
    "dict": {"class_weight": {"ant": 2.0, "bee": 0.5}},
    "balanced": {"class_weight": "balanced"},
}


def rows(n=N):
    return np.random.default_rng(0).standard_normal((n, D))


def two_classes(n=N):
    X, rng = rows(n), np.random.default_rng(1)
    z = X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.3] + 0.7
    return X, np.where(z + rng.logistic(size=n) > 0, "bee", "ant")


def three_classes(n=N):
    X, rng = rows(n), np.random.default_rng(2)
    names = np.array(["ant", "bee", "cat"])
    return X, names[np.argmax(X[:, :3] + [0.5, 0.0, 0.0] + rng.gumbel(size=(n, 3)), axis=1)]


def accurate(loss="log_loss", **params):
    params = {"tol": 1e-14, "max_iter": 5000, "random_state": 0, **params}
    return AsagaClassifier(loss, **params)


def logistic(**params):
    """The reference: second order for the ridge, SAGA where it must be."""
    smooth = params.get("l1_ratio", 0.0) == 0.0
    solver = "newton-cholesky" if smooth else "saga"
    if "l1_ratio" in params and tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8):
        # Newer versions read the kind of penalty off l1_ratio.
        ratio = params.pop("l1_ratio")
        params |= {} if smooth else {"penalty": "elasticnet", "l1_ratio": ratio}
    return LogisticRegression(solver=solver, tol=1e-11, max_iter=20_000, **params)


# ---- the optimum ---------------------------------------------------------------------------------


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_logistic_regression(l1_ratio, fit_intercept, weights, form):
    X, y = two_classes()
    params = {"C": 0.1, "l1_ratio": l1_ratio, "fit_intercept": fit_intercept, **WEIGHTS[weights]}
    sample_weight = np.random.default_rng(3).uniform(0.2, 2.0, N) if weights == "dict" else None
    ours = accurate(**params).fit(form(X), y, sample_weight=sample_weight)
    theirs = logistic(**params).fit(X, y, sample_weight=sample_weight)
    assert ours.coef_.shape == (1, D)
    assert ours.intercept_.shape == (1,)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=1e-6)
    assert np.array_equal(ours.coef_ == 0, theirs.coef_ == 0)
    assert (ours.intercept_ == 0).all() == (not fit_intercept)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_multinomial_logistic_regression(l1_ratio, fit_intercept):
    X, y = three_classes()
    weight = np.random.default_rng(3).uniform(0.2, 2.0, N)
    params = {"C": 0.1, "l1_ratio": l1_ratio, "fit_intercept": fit_intercept}
    ours = accurate(**params, class_weight="balanced", tol=1e-13).fit(X, y, sample_weight=weight)
    # Older versions of scikit-learn count rows, not weights.
    classes, place = np.unique(y, return_inverse=True)
    balanced = dict(zip(classes, weight.sum() / (len(classes) * np.bincount(place, weight))))
    theirs = logistic(**params, class_weight=balanced).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-6)
    # Equal shifts of all intercepts change nothing.
    ours_c, theirs_c = (m.intercept_ - m.intercept_.mean() for m in (ours, theirs))
    np.testing.assert_allclose(ours_c, theirs_c, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-6)


def test_multinomial_of_two_classes():
    X, y = two_classes()
    ours = accurate("multinomial", C=0.1).fit(X, y)
    assert ours.coef_.shape == (2, D)
    # Softmax scores v and -v are one score 2 v, with half the penalty.
    half = logistic(C=0.2).fit(X, y)
    np.testing.assert_allclose(ours.coef_[1] - ours.coef_[0], half.coef_[0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours.decision_function(X), half.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), half.predict_proba(X), atol=1e-6)
    # The name of the way to treat more classes changes nothing for two.
    named = accurate(C=0.2, multi_class="multinomial").fit(X, y)
    np.testing.assert_allclose(named.coef_, half.coef_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "smooth_hinge", "modified_huber"])
@pytest.mark.parametrize(
    "penalty", [ElasticNet(0.0), ElasticNet(), Box(-0.1, 0.2, l2=1.0)], ids=repr
)
def test_other_losses(loss, penalty):
    X, y = two_classes()
    weight = np.random.default_rng(3).uniform(0.2, 2.0, N)
    bound = penalty.bind(D).scaled(1 / 0.1)
    coef, intercept, objective = minimize_linear(
        X, np.where(y == "bee", 1.0, -1.0), loss, bound.value, bound.prox, weight=weight,
        fit_intercept=True,
    )  # fmt: skip
    ours = accurate(loss, C=0.1, penalty=penalty).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_[0], coef, rtol=0, atol=1e-6)
    assert ours.intercept_[0] == pytest.approx(intercept, abs=1e-6)
    assert ours.objective_ == pytest.approx(objective, rel=1e-12)


GROUPS = [[0, 3], [1, 4, 5]]


@pytest.mark.parametrize(
    "penalty", [GroupLasso([[0, 3], [1, 4], [2, 5]], l2=0.1), L2Ball(0.5, GROUPS), Simplex()],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_blocks(penalty, data):
    X, y = data()
    bound = penalty.bind(D).scaled(1 / 0.05)
    classes, codes = np.unique(y, return_inverse=True)
    loss, truth, n_outputs = "log_loss", 2.0 * codes - 1.0, None
    if classes.size > 2:
        loss, truth, n_outputs = "multinomial", codes.astype(float), classes.size
    coef, _, objective = minimize_linear(
        X, truth, loss, bound.value, bound.prox, fit_intercept=True, n_outputs=n_outputs
    )
    ours = accurate(penalty=penalty, C=0.05).fit(X, y)
    np.testing.assert_allclose(ours.coef_, np.atleast_2d(coef.T), rtol=0, atol=1e-6)
    assert ours.objective_ == pytest.approx(objective, rel=1e-12)


@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge", "modified_huber"])
def test_one_against_the_rest(loss):
    X, y = three_classes()
    together = accurate(loss, multi_class="ovr", l1_ratio=0.3, C=0.1).fit(X, y)
    for k, name in enumerate(together.classes_):
        alone = accurate(loss, l1_ratio=0.3, C=0.1).fit(X, y == name)
        np.testing.assert_allclose(together.coef_[k], alone.coef_[0], rtol=0, atol=1e-7)
        assert together.intercept_[k] == pytest.approx(alone.intercept_[0], abs=1e-7)
        assert together.objective_[k] == pytest.approx(alone.objective_, rel=1e-12)
    assert together.step_size_.shape == together.objective_.shape == (3,)


# ---- weights -------------------------------------------------------------------------------------


COPIES = {
    "one against the rest": (accurate(C=0.01, multi_class="ovr"), 1e-7),
    "multinomial": (accurate(C=0.01, class_weight="balanced"), 1e-7),
    "squares": (AsagaRegressor(alpha=0.2, l1_ratio=0.5, tol=1e-14, max_iter=5000), 1e-7),
    "huber": (AsagaRegressor("huber", alpha=0.2, tol=1e-14, max_iter=5000), 1e-7),
    "set": (FrankWolfeRegressor(radius=1.0, tol=1e-10, max_iter=10**5), 1e-4),
    "set, labels": (FrankWolfeClassifier(radius=1.0, tol=1e-6, max_iter=10**5), 1e-2),
    "averages": (AveragedSubgradientClassifier(alpha=0.05, max_iter=1500, random_state=0), 0.1),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_weights_are_copies(kind, form):
    model, atol = COPIES[kind]
    X, y = three_classes()
    if isinstance(model, AsagaRegressor | FrankWolfeRegressor):
        y = X[:, 0] - X[:, 1] + np.random.default_rng(6).normal(size=N)
    weight = np.random.default_rng(4).integers(0, 4, N)
    copies = np.random.default_rng(5).permutation(np.repeat(np.arange(N), weight))
    weighted = clone(model).fit(form(X), y, sample_weight=weight)
    repeated = clone(model).fit(form(X[copies]), y[copies])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=0, atol=atol)
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=max(1e-12, atol / 50))


def test_rows_without_weight_play_no_role():
    X, y = two_classes()
    weight = np.random.default_rng(4).integers(0, 3, N)
    model = accurate(C=0.1).fit(X, y, sample_weight=3 * weight)
    stronger = accurate(C=0.3).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, stronger.coef_, rtol=0, atol=1e-8)
    X[weight == 0] = 1e9
    wild = accurate(C=0.3).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(wild.coef_, stronger.coef_, rtol=0, atol=1e-8)


# ---- prediction ----------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["log_loss", "multinomial", "modified_huber"])
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_probabilities(loss, data):
    X, y = data()
    model = AsagaClassifier(loss, random_state=0).fit(X, y)
    far = np.vstack([X, 100 * X])
    p = model.predict_proba(far)
    assert p.shape == (2 * N, model.classes_.size)
    assert np.all((p >= 0) & (p <= 1))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    chosen = model.classes_[p.argmax(axis=1)]
    sure = np.sort(p, axis=1)[:, -1] - np.sort(p, axis=1)[:, -2] > 0
    np.testing.assert_array_equal(chosen[sure], model.predict(far)[sure])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(far), np.log(p))


def test_probabilities_of_modified_huber():
    model = AsagaClassifier("modified_huber", fit_intercept=False).fit([[1.0], [-1.0]], [1, 0])
    model.coef_ = np.array([[1.0]])
    X = np.array([[-3.0], [-1.0], [-0.5], [0.0], [0.5], [1.0], [3.0]])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], [0, 0, 0.25, 0.5, 0.75, 1, 1])
    # Nothing speaks for any of three classes.
    three = AsagaClassifier("modified_huber", fit_intercept=False)
    three.fit([[1.0], [0.0], [-1.0]], [0, 1, 2]).coef_ = -np.ones((3, 1))
    np.testing.assert_allclose(three.predict_proba([[5.0]]), np.full((1, 3), 1 / 3))


@pytest.mark.parametrize("loss", ["squared_hinge", "smooth_hinge", SmoothHinge(2.0)], ids=str)
def test_hinges_give_no_probabilities(loss):
    model = AsagaClassifier(loss).fit(*two_classes())
    for method in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, method)
        with pytest.raises(AttributeError, match=f"has no attribute '{method}'") as caught:
            getattr(model, method)
        assert "gives no probabilities; use 'log_loss'" in str(caught.value.__cause__)


def test_sparse_coefficients():
    X, y = three_classes()
    model = AsagaClassifier(C=0.05, l1_ratio=1.0, random_state=0).fit(X, y)
    dense, p = model.coef_.copy(), model.predict_proba(X)
    assert model.sparsify() is model
    assert sp.issparse(model.coef_)
    assert model.coef_.nnz == np.count_nonzero(dense) < dense.size
    np.testing.assert_allclose(model.predict_proba(X), p)
    np.testing.assert_allclose(model.predict_proba(sp.csr_array(X)), p)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert model.sparsify().densify().densify() is model
    np.testing.assert_array_equal(model.coef_, dense)
    assert model.sparsify().fit(X, y).coef_.shape == dense.shape


# ---- scikit-learn's tools ------------------------------------------------------------------------


@pytest.mark.slow
def test_skops():
    skops = pytest.importorskip("skops.io")
    X, y = two_classes()
    model = AsagaClassifier(LogLoss(), penalty=ElasticNet(1.0), solver=Svrg(), random_state=0).fit(
        X, y
    )
    dumped = skops.dumps(model)
    types = skops.get_untrusted_types(data=dumped)
    assert all(name.startswith("sklearn_fw.") for name in types)
    np.testing.assert_array_equal(skops.loads(dumped, trusted=types).coef_, model.coef_)


def test_clone_and_parameters():
    model = AsagaClassifier(SmoothHinge(0.5), penalty=GroupLasso([[0]]), solver=Svrg(n_inner=2.0))
    params = clone(model).get_params()
    assert params["loss__gamma"] == 0.5
    assert params["solver__n_inner"] == 2.0
    assert params["penalty__l1"] == 0.0
    model.set_params(solver__step_size="theory", penalty__l1=0.1, loss__gamma=1.0)
    fitted = model.fit(*two_classes())
    assert fitted.solver_ is not model.solver  # what was given stays as it was
    assert fitted.solver_.step_size == "theory"
