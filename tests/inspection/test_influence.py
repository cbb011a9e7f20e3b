"""Sensitivities at a minimum are differences of losses of models that are fitted again."""

import re
import warnings

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_fw import AsagaRegressor
from sklearn_fw.inspection import loss_sensitivity
from sklearn_fw.inspection._descent import Influence

EPS = 1e-3


def rows(rng, k, n=40):
    X = rng.normal(size=(n, 4))
    return X, np.concatenate([np.arange(k), rng.integers(k, size=n - k)])


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(X, y)


def differences(model, X, y, i, j):
    """Of the losses of the classes, over all rows, between two models that are fitted again."""

    def losses(step):
        Z = X.copy()
        Z[i, j] += step
        if is_regressor(model):
            return ((fitted(model, Z, y).predict(Z) - y) ** 2 / 2).mean()
        p = fitted(model, Z, y).predict_proba(Z)[np.arange(len(y)), y]
        return np.bincount(y, weights=-np.log(p)) / len(y)

    return (losses(EPS) - losses(-EPS)) / (2 * EPS)


LINEAR = LogisticRegression(C=0.5, tol=1e-12, max_iter=5000)
NETWORK = MLPClassifier(
    (3,), activation="tanh", solver="sgd", batch_size=40, alpha=0.8, learning_rate_init=0.5,
    tol=0.0, n_iter_no_change=10**6, max_iter=1500, random_state=1,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "k"),
    [
        (LINEAR, 2),
        (LINEAR, 3),
        (clone(LINEAR).set_params(fit_intercept=False), 2),
        (clone(LINEAR).set_params(fit_intercept=False), 3),
        (clone(LINEAR).set_params(solver="liblinear", intercept_scaling=2.0), 2),
        (NETWORK, 2),
        (NETWORK, 3),
    ],
)
def test_influence_equals_differences_of_models_fitted_again(model, k, rng):
    X, y = rows(rng, k)
    n = len(X)
    influence = Influence(fitted(model, X, y), X, y, 0.0)
    (found,) = influence.derivatives((y == np.arange(k)[:, None]) / n, True)
    assert np.abs(found).max() > 1e-3
    for i, j in [(0, 0), (7, 2)]:
        expected = differences(model, X, y, i, j)
        np.testing.assert_allclose(found[:, i, j], expected, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("model", [linear_model.Ridge(3.0), AsagaRegressor(alpha=0.1, tol=1e-12)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_influence_of_regressors_equals_differences(model, fit_intercept, rng):
    X, y = rows(rng, 3)
    y = X @ [1.0, 2.0, -1.0, 0.0] + y
    model = fitted(model.set_params(fit_intercept=fit_intercept), X, y)
    (found,) = Influence(model, X, y, 0.0).derivatives(np.full((1, 40), 1 / 40), True)
    for i, j in [(0, 0), (7, 2)]:
        assert found[0, i, j] == pytest.approx(differences(model, X, y, i, j), rel=1e-3, abs=1e-7)


def test_public_functions_take_norms_of_them(rng):
    X, y = rows(rng, 3)
    model = LINEAR.fit(X, y)
    (parts,) = Influence(model, X, y, 0.0).derivatives((y == np.arange(3)[:, None]) / 40, True)
    whole = loss_sensitivity(model, X, y, method="influence", norm=2)
    expected = np.linalg.norm(parts.sum(axis=0), axis=1)
    np.testing.assert_allclose(whole.sensitivity, expected, rtol=1e-4)
    np.testing.assert_array_equal(whole.per_step, [whole.sensitivity])
    assert whole.steps.tolist() == [0]
    p = model.predict_proba(X)[np.arange(40), y]
    np.testing.assert_allclose(whole.loss, [-np.log(p).mean()], rtol=1e-12)
    by_class = loss_sensitivity(model, X, y, method="influence", by_class=True).matrix
    assert by_class[2, 1] == pytest.approx(np.abs(parts[2, y == 1]).sum(axis=1).mean(), rel=1e-4)


def test_long_runs_come_to_the_influence(rng):
    """Of a network of one layer without penalty: each class's loss, walked back and solved."""
    X, y = rows(rng, 3)
    model = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cg", max_iter=500).fit(X, y)
    solved = loss_sensitivity(model, X, y, method="influence", by_class=True).matrix
    walked = loss_sensitivity(
        model, X, y, by_class=True, n_steps=1500, eval_every=1500, batch_size=40, learning_rate=0.8,
        random_state=0,
    ).matrix  # fmt: skip
    np.testing.assert_allclose(walked, solved, rtol=1e-3)


def test_names_and_steps_in_front(rng):
    X, y = rows(rng, 2)
    named = np.array(["no", "yes"])[y]
    scaled = StandardScaler().fit_transform(X * 10)
    behind = loss_sensitivity(fitted(LINEAR, scaled, y), scaled, y, method="influence", norm=np.inf)
    piped = fitted(make_pipeline(StandardScaler(), LINEAR), X * 10, named)
    found = loss_sensitivity(piped, X * 10, named, method="influence", norm=np.inf)
    ratio = behind.sensitivity / found.sensitivity
    spread = 10 * X.std(axis=0)
    assert spread.min() * (1 - 1e-6) <= ratio.min() <= ratio.max() <= spread.max() * (1 + 1e-6)


def test_searches_give_the_model_that_they_found(rng):
    X, y = rows(rng, 3)
    search = GridSearchCV(LINEAR, {"C": [0.5, 1e-4]}, cv=2).fit(X, y)
    model = clone(LINEAR).set_params(**search.best_params_).fit(X, y)
    for given in ({"method": "influence"}, {"n_steps": 10, "random_state": 0}):
        found, expected = (loss_sensitivity(m, X, y, **given) for m in (search, model))
        np.testing.assert_array_equal(found.sensitivity, expected.sensitivity)


def test_modules_give_the_same_as_scikit_learn(rng, extra):
    torch = extra("torch", "torch")
    X, y = rows(rng, 3)
    model = clone(LINEAR).set_params(fit_intercept=False).fit(X, y)
    module = torch.nn.Linear(4, 3, bias=False).double()
    with torch.no_grad():
        module.weight[:] = torch.as_tensor(model.coef_)
    decay = 1.0 / (0.5 * 40)
    found = loss_sensitivity(module, X, y, method="influence", damping=decay)
    expected = loss_sensitivity(model, X, y, method="influence")
    np.testing.assert_allclose(found.sensitivity, expected.sensitivity, rtol=1e-5)


def test_batches_decide_on_the_penalty_of_networks(rng):
    X, y = rows(rng, 3)
    for given, batch in (
        ({"solver": "lbfgs"}, 40), ({"batch_size": 10}, 10), ({"batch_size": "auto"}, 40),
    ):  # fmt: skip
        model = fitted(MLPClassifier((2,), alpha=0.7, max_iter=2, **given), X, y)
        ridge = Influence(model, X, y, None).ridge
        assert sorted(set(ridge)) == pytest.approx([0.0, 0.7 / batch])


def test_warnings_have_numbers(rng, monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16, y[:300]
    network = fitted(MLPClassifier((8,), max_iter=30, random_state=0), X, y)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ConvergenceWarning)
        loss_sensitivity(network, X, y, method="influence", damping=0.0)
        loss_sensitivity(network, X, y, method="influence", damping=0.3)
    told = [str(w.message) for w in found]
    assert re.search(r"curvature -[\d.e-]+ in a .*damping=0,", told[0])
    assert len(told) == 2
    assert re.search(r"a Newton step would lower [\d.]+ by [\d.]+", told[1])
    assert {w.filename for w in found} == {__file__}
    model = LogisticRegression(tol=1e-8, max_iter=1000).fit(X, y)
    monkeypatch.setattr("sklearn_fw.inspection._descent.MOST_ITERATIONS", 3)
    with pytest.warns(ConvergenceWarning, match="have residual .* after 3 iterations"):
        loss_sensitivity(model, X, y, method="influence")


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (SGDClassifier(), {}, "must be an MLPClassifier"),
        (LogisticRegression(l1_ratio=0.5, solver="saga"), {}, "has an l1 penalty"),
        (LogisticRegression(class_weight="balanced"), {}, "class_weight, which is not supported"),
        (
            LogisticRegressionCV(
                Cs=[1.0], l1_ratios=(0.0,), scoring="accuracy", use_legacy_attributes=False, cv=2
            ), {}, "fit LogisticRegression with the C it found",
        ),
        (LINEAR, {"learning_rate": 0.1}, "learning_rate is for runs"),
        (linear_model.Lasso(), {}, "any linear regressor of least squares"),
        (linear_model.Ridge(), {"by_class": True}, "by_class=True needs classes"),
        (LINEAR, {"damping": -1.0}, "damping"),
        (LINEAR, {"damping": 0.1, "method": "unrolled"}, "damping is for method='influence'"),
        (LINEAR, {"y": np.arange(40) % 3 + 1}, r"y has the classes \[1, 2, 3\], but the estimator"),
        (LINEAR, {"X": np.ones((40, 3))}, "X has 3 features, but LogisticRegression was"),
    ],
)  # fmt: skip
def test_refusals(model, given, message, rng):
    X, y = rows(rng, 3)
    with pytest.raises(NotFittedError):
        loss_sensitivity(clone(model), X, y, method="influence")
    model = fitted(model, X, y)
    with pytest.raises((TypeError, ValueError), match=message):
        loss_sensitivity(model, **{"X": X, "y": y, "method": "influence", **given})
