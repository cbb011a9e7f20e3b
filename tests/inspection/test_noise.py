"""Noise, difficulty and curves over noise."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from sklearn_fw import AsagaRegressor
from sklearn_fw.inspection import (
    corrupt_inputs,
    corrupt_labels,
    example_difficulty,
    memorization_curve,
    track_memorization,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def digits(n):
    X, y = load_digits(return_X_y=True)
    return X[:n] / 16, y[:n]


def test_corrupt_labels(rng):
    y = np.array(["a", "b", "c", "d"])[rng.integers(4, size=4000)]
    same = corrupt_labels(y, 0.0, random_state=0)
    np.testing.assert_array_equal(same.y, y)
    assert not same.mask.any()
    part = corrupt_labels(y, 0.3, random_state=0)
    assert part.mask.sum() == 1200
    np.testing.assert_array_equal(part.y[~part.mask], y[~part.mask])
    np.testing.assert_array_equal(part.changed, part.y != y)
    assert abs(part.changed.sum() - 0.3 * 0.75 * 4000) < 4 * np.sqrt(1200 * 0.75 * 0.25)
    other = corrupt_labels(y, 0.3, mode="different", random_state=0)
    np.testing.assert_array_equal(other.changed, other.mask)
    counts = np.unique(other.y[other.mask], return_counts=True)[1]
    assert counts.min() > 200
    with pytest.raises(ValueError, match="fraction must be a fraction from 0 to 1, got 20"):
        corrupt_labels(y, 20)
    with pytest.raises(ValueError, match="one class only"):
        corrupt_labels(["a", "a"], 0.5)


def test_corrupt_inputs(rng):
    X = rng.normal(size=(3000, 4)) * [1, 100, 0.01, 1] + [0, 50, 0, 3]
    part = corrupt_inputs(X, 0.5, per_feature=True, random_state=0)
    assert part.mask.sum() == 1500
    np.testing.assert_array_equal(part.X[~part.mask], X[~part.mask])
    noise = part.X[part.mask]
    error = X.std(axis=0) / np.sqrt(1500)
    assert np.all(np.abs(noise.mean(axis=0) - X.mean(axis=0)) < 4 * error)
    np.testing.assert_allclose(noise.std(axis=0), X.std(axis=0), rtol=0.1)
    whole = corrupt_inputs(X, 1.0, random_state=0).X
    np.testing.assert_allclose(whole.std(axis=0), X.std(), rtol=0.1)
    np.testing.assert_allclose(whole.mean(), X.mean(), atol=4 * X.std() / np.sqrt(X.size))


@pytest.mark.slow
def test_noise_is_equally_hard_and_digits_are_not():
    X, y = digits(1000)
    balanced = np.arange(1000) % 10
    noise = corrupt_inputs(X, 1.0, random_state=0).X
    model = MLPClassifier((64,), batch_size=20)
    given = {"n_runs": 50, "n_epochs": 1, "random_state": 0}
    flat = example_difficulty(model, noise, balanced, **given)
    steep = example_difficulty(model, X, y, **given)
    assert 0.5 < flat.dispersion < 3.0
    assert steep.dispersion > 3 * flat.dispersion
    assert steep.p_value < 1e-10
    np.testing.assert_allclose(
        steep.reference.var(), steep.error_rate.mean() * (1 - steep.error_rate.mean()) / 50,
        rtol=0.2,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("units", [1.0, 1e4])
@pytest.mark.parametrize(
    ("last", "method", "least"),
    [
        (MLPClassifier((50,)), "early", 0.96),
        (SGDClassifier(loss="log_loss"), "early", 0.96),
        (LogisticRegression(), "held_out", 0.97),
        (RandomForestClassifier(20), "held_out", 0.97),
        (GaussianNB(), "held_out", 0.9),
    ],
    ids=lambda v: type(v).__name__,
)
def test_wrong_labels_are_found(last, method, least, units):
    X, y = load_breast_cancer(return_X_y=True)
    noisy = corrupt_labels(y, 0.2, mode="different", random_state=0)
    model = make_pipeline(StandardScaler(), last)
    found = example_difficulty(model, units * X, noisy.y, n_runs=10, random_state=0)
    assert found.method == method
    assert roc_auc_score(noisy.mask, found.score) > least
    assert (found.n_epochs is None) == (method == "held_out")


@pytest.mark.parametrize("kind", [sp.csr_array, sp.coo_matrix])
def test_sparse_rows_are_as_hard_as_dense_ones(kind):
    X, y = digits(200)
    noisy = corrupt_labels(y, 0.2, random_state=0).y
    for model, given in (
        (MultinomialNB(), {"method": "held_out"}),
        (make_pipeline(MaxAbsScaler(), MLPClassifier((8,))), {"n_epochs": 2}),
    ):
        dense, sparse = (
            example_difficulty(model, Z, noisy, n_runs=4, random_state=0, **given)
            for Z in (X, kind(X))
        )
        np.testing.assert_allclose(sparse.score, dense.score, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(sparse.error_rate, dense.error_rate)
    with pytest.raises(ValueError, match="X has an entry of absolute value"):
        example_difficulty(MultinomialNB(), kind(X * 1e150), y)


def shifted_diabetes(seed):
    """Diabetes with 40 targets that are 150 off."""
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(seed)
    wrong = np.isin(np.arange(len(y)), rng.choice(len(y), 40, replace=False))
    return X, y + 150 * wrong * rng.choice([-1, 1], len(y)), wrong


@pytest.mark.parametrize(
    "model", [LinearRegression(), Ridge(2.0, fit_intercept=False), AsagaRegressor(alpha=1e-3)]
)
def test_closed_form_is_that_of_fits_without_a_row(model):
    X, y, _ = shifted_diabetes(0)
    found = example_difficulty(make_pipeline(PolynomialFeatures(2), model), X, y)
    X = PolynomialFeatures(2).fit_transform(X)
    less = clone(model).set_params(tol=1e-12)
    if "alpha" in model.get_params() and not isinstance(model, Ridge):  # a penalty of the mean
        less.set_params(alpha=1e-3 * len(y) / (len(y) - 1))
    for i in (0, 200):
        rest = np.arange(len(y)) != i
        value = less.fit(X[rest], y[rest]).predict(X[i : i + 1])[0]
        assert found.residual[i] == pytest.approx(y[i] - value, rel=1e-6)
        ends = [clone(model).fit(X, y + step * ~rest).predict(X)[i] for step in (10, 0)]
        assert found.leverage[i] == pytest.approx((ends[0] - ends[1]) / 10, rel=1e-2)
    alone = example_difficulty(make_pipeline(model), X, y)
    np.testing.assert_allclose(alone.residual, found.residual, rtol=1e-6)


CUBIC = make_pipeline(PolynomialFeatures(3), StandardScaler(), Ridge())
DESCENT = make_pipeline(StandardScaler(), linear_model.SGDRegressor(tol=None, max_iter=5))


@pytest.mark.parametrize(
    ("model", "method", "least", "gain"),
    [
        (CUBIC, "leave_one_out", 0.78, 0.02), (DESCENT, "early", 0.93, -0.01),
        (DecisionTreeRegressor(min_samples_leaf=2), "held_out", 0.85, 0.1),
    ],
)  # fmt: skip
def test_wrong_targets_are_found(model, method, least, gain):
    ours, plain = 0.0, 0.0
    for seed in range(3):
        X, y, wrong = shifted_diabetes(seed)
        found = example_difficulty(model, X, y, n_runs=10, random_state=0)
        plain += roc_auc_score(wrong, np.abs(y - clone(model).fit(X, y).predict(X))) / 3
        ours += roc_auc_score(wrong, found.score) / 3
        assert found.method == method
        is_closed = method == "leave_one_out"
        assert (found.residual is not None) == (found.leverage is not None) == is_closed
    assert ours > max(least, plain + gain)


def test_refusals_of_difficulty():
    X, y = digits(100)
    with pytest.raises(ValueError, match="needs partial_fit, which LogisticRegression"):
        example_difficulty(LogisticRegression(), X, y, method="early")
    with pytest.warns(UserWarning, match="runs misclassify the same rows"):
        example_difficulty(GaussianNB(), X, y % 2, method="early", n_epochs=1, n_runs=3)
    with pytest.raises(ValueError, match="n_epochs must be 'auto' or an integer"):
        example_difficulty(MLPClassifier(), X, y, n_epochs="many")
    for model, given, message in (
        (StandardScaler(), {}, "must be a classifier or a regressor"),
        (LogisticRegression(), {"y": y / 7}, "not integers: take a regressor"),
        (Ridge(), {"y": y * 0}, "y has one value only, 0"),
        (linear_model.Lasso(), {"method": "leave_one_out"}, "take 'held_out'"),
        (LogisticRegression(), {"method": "leave_one_out"}, "needs a linear regressor"),
        (LinearRegression(), {"X": np.eye(100), "method": "leave_one_out"}, "whatever its target"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            example_difficulty(model, **{"X": X, "y": y, **given})
    with pytest.raises(ValueError, match="need classes: take radius=None"):
        track_memorization(Ridge(), X, y, X, y, radius=0.1)


@pytest.mark.slow
def test_random_labels_are_fitted_later_and_with_more_critical_samples():
    X, y = digits(500)
    model = MLPClassifier((300,), learning_rate_init=0.005)
    curve = memorization_curve(
        model, X[:300], y[:300], X[300:], y[300:], fractions=[0.0, 1.0], max_epochs=300,
        radius=0.1, random_state=0,
    )  # fmt: skip
    np.testing.assert_array_equal(curve.train_accuracy, 1.0)
    assert curve.epochs_to_fit[1, 0] > curve.epochs_to_fit[0, 0]
    assert curve.critical_ratio[1, 0] > curve.critical_ratio[0, 0]
    assert curve.valid_accuracy[0, 0] > 0.85 > 0.3 > curve.valid_accuracy[1, 0]


def test_noise_in_inputs_and_capacity():
    X, y = digits(400)
    curve = memorization_curve(
        MLPClassifier(learning_rate_init=0.01), X[:200], y[:200], X[200:], y[200:],
        noise="inputs", fractions=[0.0, 0.5], param_name="hidden_layer_sizes",
        param_range=[(2,), (64,)], max_epochs=20, random_state=0,
    )  # fmt: skip
    assert np.all(curve.best_valid_accuracy[:, 1] > curve.best_valid_accuracy[:, 0])
    assert np.isinf(curve.epochs_to_fit[1, 0])
    assert np.isnan(curve.critical_ratio).all()
    sizes = memorization_curve(
        LogisticRegression(), X[:200], y[:200], X[200:], y[200:], fractions=[0.0],
        param_name="train_size", param_range=[40, 200], random_state=0,
    )  # fmt: skip
    assert sizes.valid_accuracy[0, 1] > sizes.valid_accuracy[0, 0]
    with pytest.raises(ValueError, match="param_range == 500, must be <= 200"):
        memorization_curve(
            LogisticRegression(), X[:200], y[:200], X[200:], y[200:], param_name="train_size",
            param_range=[500],
        )  # fmt: skip
    with pytest.raises(ValueError, match=r"param_name must be one of .*'train_size'"):
        memorization_curve(LogisticRegression(), X, y, X, y, param_name="depth", param_range=[1])


@pytest.mark.slow
def test_validation_accuracy_peaks_before_the_noise_is_fitted():
    X, y = digits(1000)
    noisy = corrupt_labels(y[:500], 0.4, random_state=0).y
    run = track_memorization(
        MLPClassifier((300,), learning_rate_init=0.005), X[:500], noisy, X[500:], y[500:],
        n_epochs=120, every=10, radius=0.05, random_state=0,
    )  # fmt: skip
    assert run.epochs.tolist() == list(range(10, 121, 10))
    peak = run.valid_accuracy.argmax()
    assert run.valid_accuracy[peak] > run.valid_accuracy[-1] + 0.02
    assert run.train_accuracy[peak] < 0.95 < run.train_accuracy[-1]
    assert run.critical_ratio[-1] > run.critical_ratio[0]


def test_models_without_epochs_are_measured_once():
    X, y = digits(300)
    run = track_memorization(
        RandomForestClassifier(20), X[:200], y[:200], X[200:], y[200:], radius=0.2, random_state=0
    )
    assert run.epochs.tolist() == [0]
    assert np.isinf(run.epochs_to_fit)
    assert 0 <= run.critical_ratio[0] <= 1
    with pytest.raises(ValueError, match="y_valid holds the label 10"):
        track_memorization(SGDClassifier(), X, y, X, y + 1)
