"""Signs, ordered labels, censored targets and the truncated normal: against integrals and peers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import dblquad
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.preprocessing import StandardScaler

from sklearn_fw.gaussian_probability import (
    BayesPointMachine,
    EPIntervalRegressor,
    EPOrdinalClassifier,
    EPProbitClassifier,
    TruncatedGaussian,
    log_gaussian_probability,
)


@pytest.mark.slow
def test_evidence_is_the_probability_of_the_signs(rng):
    X = rng.normal(size=(6, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=6) > 0).astype(int)
    y[:2] = 0, 1
    kernel = ConstantKernel(2.0) * RBF(1.5)
    classifier = EPProbitClassifier(kernel, optimizer=None, tol=1e-9).fit(X, y)
    signs = 2.0 * y - 1.0
    cov = (kernel(X) + np.eye(6)) * signs * signs[:, None]
    truth = log_gaussian_probability(0.0, np.inf, cov=cov, method="sampled")
    assert classifier.log_marginal_likelihood_value_ == pytest.approx(truth.log_prob_ep, rel=1e-8)
    assert abs(classifier.log_marginal_likelihood_value_ - truth.log_prob) < 0.02


def test_bayes_points_of_separable_labels(rng):
    X = rng.normal(size=(30, 2))
    y = np.where(X @ [1.0, -2.0] > 0.0, "yes", "no")
    machine = BayesPointMachine(noise=0.0, fit_intercept=False).fit(X, y)
    # The mean of all half-spaces that agree, by rejection.
    w = rng.normal(size=(200_000, 2))
    inside = np.all((w @ X.T > 0) == (y == "yes"), axis=1)
    mean = w[inside].mean(axis=0)
    cosine = machine.coef_[0] @ mean / np.linalg.norm(machine.coef_) / np.linalg.norm(mean)
    assert cosine > 0.999
    assert machine.score(X, y) == 1.0
    signs = np.sign(X @ machine.coef_[0])
    np.testing.assert_array_equal(np.sign(machine.decision_function(X)), signs)


def test_bayes_points_refuse_labels_that_nothing_separates():
    X, y = np.array([[1.0], [1.0], [2.0], [2.0]]), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="set noise above 0"):
        BayesPointMachine(noise=0.0).fit(X, y)
    assert BayesPointMachine().fit(X, y).noise_ > 0.0


def test_truncated_normal_recovers_its_parameters(rng):
    mean, cov = np.array([0.5, -0.2]), np.array([[1.0, 0.4], [0.4, 0.8]])
    X = rng.multivariate_normal(mean, cov, size=12_000)
    X = X[np.all(X > 0.0, axis=1)]
    model = TruncatedGaussian(lower=0.0).fit(X)
    np.testing.assert_allclose(model.mean_, mean, rtol=0, atol=0.2)
    np.testing.assert_allclose(model.covariance_, cov, rtol=0, atol=0.2)
    np.testing.assert_allclose(model.truncated_mean_, X.mean(axis=0), rtol=0, atol=0.01)
    drawn = model.sample(4000, start=X[0], random_state=0)
    assert drawn.min() >= 0.0
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), rtol=0, atol=0.06)
    assert model.score_samples([[-1.0, 1.0]])[0] == -np.inf


def test_probability_of_the_region_is_not_that_of_few_draws(rng):
    cov = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, -0.3], [0.2, -0.3, 1.0]])
    X = rng.multivariate_normal(np.zeros(3), cov, size=2000)
    model = TruncatedGaussian(lower=-0.5).fit(X[np.all(X > -0.5, axis=1)])
    region = log_gaussian_probability(-0.5, np.inf, model.mean_, model.covariance_)
    assert region.method == "sampled"
    assert model.log_prob_region_ == pytest.approx(region.log_prob, abs=1e-4)


def test_without_bounds_it_is_the_normal_distribution(rng):
    X = rng.normal(size=(50, 3))
    model = TruncatedGaussian(reg_covar=1e-12).fit(X)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.covariance_, np.cov(X.T, bias=True), rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match="X has rows outside of lower and upper"):
        TruncatedGaussian(lower=0.0).fit(X)


def test_bayes_points_do_not_depend_on_the_origin(rng):
    X = rng.normal(size=(400, 4))
    y = X @ [1.0, 1.0, 0.0, 0.5] + 0.5 * rng.logistic(size=400) > 0.0
    fits = [BayesPointMachine().fit(X[:150] + shift, y[:150]) for shift in (0.0, 40.0)]
    probability = [
        fit.predict_proba(X[150:] + shift)[:, 1]
        for fit, shift in zip(fits, (0.0, 40.0), strict=True)
    ]
    np.testing.assert_allclose(*probability, rtol=0, atol=1e-6)
    signs = np.sign(X @ fits[1].coef_[0] + 40.0 * fits[1].coef_.sum() + fits[1].intercept_)
    np.testing.assert_array_equal(signs > 0, fits[1].predict(X + 40.0))


KERNEL = ConstantKernel(2.0) * RBF(1.5)
FIXED = {"optimizer": None, "tol": 1e-9, "max_iter": 500}


def grades(rng, n=40):
    X = rng.normal(size=(n, 2))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.6, 0.4, 1.0])


def censored(rng, n=40):
    """Targets of which a third each is known, known to be above something, and in an interval."""
    X = rng.normal(size=(n, 2))
    known = X[:, 0] + 0.4 * rng.normal(size=n)
    y = np.column_stack([known, known])
    y[1::3] += rng.uniform(0.1, 1.0, (len(y[1::3]), 1)) * [-1.0, 1.0]
    y[2::3] = np.column_stack([known[2::3] - 0.3, np.full(len(y[2::3]), np.inf)])
    return X, y


def assert_gradient(model, theta, rtol=1e-5):
    _, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    step = 1e-5
    for i, d in enumerate(step * np.eye(len(theta))):
        ends = [model.log_marginal_likelihood(theta + s * d) for s in (1.0, -1.0)]
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=rtol, abs=1e-6)


def test_gradients_of_evidence(rng):
    X, y = grades(rng)
    ordinal = EPOrdinalClassifier(KERNEL, noise=0.7, **FIXED).fit(X, y)
    assert_gradient(ordinal, np.array([0.5, 0.2, -1.0, -0.3, 0.1]))
    probit = EPProbitClassifier(KERNEL, **FIXED).fit(X, y > 1)
    assert_gradient(probit, probit.kernel_.theta)
    X, y = censored(rng)
    assert_gradient(EPIntervalRegressor(KERNEL, **FIXED).fit(X, y), np.array([0.5, 0.2, -0.7]))


def test_known_targets_and_intervals_are_an_integral(rng):
    X, y = rng.normal(size=(3, 2)), np.array([[0.3, 0.3], [-0.2, 0.8], [0.1, np.inf]])
    model = EPIntervalRegressor(KERNEL, noise=0.6, normalize_y=False, **FIXED).fit(X, y)
    cov = KERNEL(X) + 0.36 * np.eye(3)
    joint = multivariate_normal(np.zeros(3), cov)

    def moment(of):
        return dblquad(
            lambda b, a: of(a, b) * joint.pdf([0.3, a, b]), -0.2, 0.8, 0.1, 12.0, epsrel=1e-8
        )[0]  # fmt: skip

    mass = moment(lambda a, b: 1.0)
    assert model.log_marginal_likelihood_value_ == pytest.approx(np.log(mass), rel=0, abs=0.01)
    inner = [0.3, *(moment(of) / mass for of in (lambda a, b: a, lambda a, b: b))]
    mean = KERNEL(X) @ np.linalg.solve(cov, inner)
    np.testing.assert_allclose(model.predict(X), mean, rtol=0, atol=0.01)
    weights = np.linalg.solve(cov, KERNEL(X))[1:, 1]
    pairs = (lambda a, b: a * a, lambda a, b: a * b, lambda a, b: b * b)
    second = np.array([moment(of) / mass for of in pairs])[[[0, 1], [1, 2]]]
    expected = KERNEL(X)[1, 1] - KERNEL(X)[1] @ np.linalg.solve(cov, KERNEL(X)[1])
    expected += weights @ (second - np.outer(inner[1:], inner[1:])) @ weights
    assert model.latent_mean_and_variance(X)[1][1] == pytest.approx(expected, rel=0.03)


def test_labels_are_intervals_between_thresholds(rng):
    X = rng.normal(size=(2, 2))
    # Thresholds of a table with three labels, and the evidence of two rows by two integrals.
    model = EPOrdinalClassifier(KERNEL, **FIXED).fit(np.vstack([X, [[50.0, 0.0]]]), [0, 2, 1])
    low, high = model.thresholds_
    np.testing.assert_allclose([low, high], np.sqrt(3.0) * norm.ppf([1 / 3, 2 / 3]), rtol=1e-9)
    cov = KERNEL(X) + np.eye(2)
    mass = multivariate_normal.cdf([low, -high], cov=cov * [[1, -1], [-1, 1]])
    alone = np.log(1.0 / 3.0)  # of the row that is far from both
    assert model.log_marginal_likelihood_value_ == pytest.approx(np.log(mass) + alone, abs=0.01)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)


def test_one_threshold_at_zero_is_the_classifier_of_signs(rng):
    X = rng.normal(size=(30, 2))
    y = np.tile([0, 1], 15)  # as often, so the threshold starts at zero
    ordinal = EPOrdinalClassifier(KERNEL, **FIXED).fit(X, y)
    signs = EPProbitClassifier(KERNEL, **FIXED).fit(X, y)
    assert ordinal.thresholds_ == pytest.approx(0.0, abs=1e-12)
    assert ordinal.log_marginal_likelihood_value_ == pytest.approx(
        signs.log_marginal_likelihood_value_, rel=1e-12
    )
    np.testing.assert_allclose(ordinal.predict_proba(X), signs.predict_proba(X), rtol=1e-9)


def test_known_targets_alone_are_gaussian_process_regression(rng):
    X = rng.normal(size=(30, 2))
    y = 50.0 + 8.0 * X[:, 0] + 3.0 * rng.normal(size=30)
    model = EPIntervalRegressor(KERNEL, noise=3.0, optimizer=None).fit(X, y)
    kernel = KERNEL + WhiteKernel(9.0 / y.var())
    reference = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(X, y)
    at = rng.normal(size=(5, 2))
    for ours, theirs in zip(
        model.predict(at, return_std=True), reference.predict(at, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    unit = reference.log_marginal_likelihood_value_ - 30 * np.log(y.std())
    assert model.log_marginal_likelihood_value_ == pytest.approx(unit, rel=1e-8)
    assert model.score(X, y) == pytest.approx(reference.score(X, y), rel=1e-8)


def test_narrow_intervals_are_known_targets(rng):
    X, y = censored(rng, 30)
    models = []
    for width in (0.0, 1e-9):
        ends = y.copy()
        known = ends[:, 0] == ends[:, 1]
        ends[known, 1] += width
        models.append(EPIntervalRegressor(KERNEL, noise=0.5, **FIXED).fit(X, ends))
    np.testing.assert_allclose(models[0].predict(X), models[1].predict(X), rtol=1e-5, atol=1e-6)
    masses = models[1].log_marginal_likelihood_value_ - known.sum() * np.log(1e-9)
    assert masses == pytest.approx(models[0].log_marginal_likelihood_value_, rel=0, abs=1e-4)


def test_units_of_targets_change_nothing(rng):
    X, y = censored(rng)
    plain, scaled = (EPIntervalRegressor().fit(X, a) for a in (y, 1e6 * y - 3e6))
    np.testing.assert_allclose(1e6 * plain.predict(X) - 3e6, scaled.predict(X), rtol=1e-4)
    assert scaled.noise_ == pytest.approx(1e6 * plain.noise_, rel=1e-4)
    free = np.vstack([y, [[-np.inf, np.inf]]])
    unbounded = EPIntervalRegressor(KERNEL, **FIXED).fit(np.vstack([X, [[9.0, 9.0]]]), free)
    same = EPIntervalRegressor(KERNEL, **FIXED).fit(X, y)
    np.testing.assert_allclose(unbounded.predict(X), same.predict(X), rtol=1e-7, atol=1e-9)


def test_score_measures_distances_to_intervals():
    X = np.zeros((3, 1))
    model = EPIntervalRegressor(RBF(), optimizer=None).fit(X, [0.0, 0.0, 6.0])
    at = model.predict(X)[0]
    y = np.array([[0.0, 0.0], [-1.0, 1.0], [6.0, np.inf]])
    errors = at**2 + max(at - 1.0, 0.0) ** 2 + (6.0 - at) ** 2
    best = 7.0 / 3.0  # outside of all intervals: the mean of their nearest ends
    least = best**2 + (best - 1.0) ** 2 + (6.0 - best) ** 2
    assert model.score(X, y) == pytest.approx(1.0 - errors / least, rel=1e-9)
    assert model.score(X, [[-1.0, 9.0]] * 3) == 1.0


def test_order_is_stated_somewhere(rng):
    X, ranks = grades(rng)
    names = np.array(["none", "little", "some", "much"])
    by_number = EPOrdinalClassifier(KERNEL, optimizer=None).fit(X, ranks)
    stated = EPOrdinalClassifier(KERNEL, order=[*names, "all"], optimizer=None)
    stated.fit(X, names[ranks])
    column = pd.Series(pd.Categorical(names[ranks], categories=names, ordered=True))
    declared = clone(stated).set_params(order=None).fit(X, column)
    for model in (stated, declared):
        assert model.order_.tolist() == names.tolist()
        assert model.classes_.tolist() == sorted(names)
        np.testing.assert_array_equal(model.predict(X), names[by_number.predict(X)])
        best = model.classes_[np.argmax(model.predict_proba(X), axis=1)]
        np.testing.assert_array_equal(model.predict(X), best)
    with pytest.warns(UserWarning, match="order of the alphabet, 'little' < 'much' < 'none'"):
        clone(stated).set_params(order=None).fit(X, names[ranks])
    with pytest.raises(ValueError, match="order must hold all labels of y, it lacks 'much'"):
        clone(stated).set_params(order=names[:3]).fit(X, names[ranks])


def test_half_grades_are_labels_when_they_are_listed(rng):
    X, y = grades(rng)
    halves = EPOrdinalClassifier(KERNEL, order=[0.5, 1.0, 1.5, 2.0], optimizer=None)
    whole = EPOrdinalClassifier(KERNEL, optimizer=None).fit(X, y)
    predicted = halves.fit(X, 0.5 + 0.5 * y).predict(X)
    np.testing.assert_array_equal(predicted, 0.5 + 0.5 * whole.predict(X))
    with pytest.raises(ValueError, match="if fractions are grades, list them in order"):
        clone(halves).set_params(order=None).fit(X, 0.5 + 0.5 * y)


def test_ends_on_one_side_only_leave_the_scale_open():
    X, y = np.arange(8.0)[:, None], np.column_stack([np.arange(8.0), np.full(8, np.inf)])
    with pytest.warns(UserWarning, match="no target of y is bounded on both sides"):
        EPIntervalRegressor().fit(X, y)
    EPIntervalRegressor(RBF(), noise=1.0, optimizer=None).fit(X, y)


def test_sites_that_still_move_are_said_to(rng):
    X, y = grades(rng)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 sweeps: raise max_iter"):
        EPOrdinalClassifier(KERNEL, optimizer=None, max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 sweeps: raise max_iter"):
        BayesPointMachine(max_iter=1).fit(X, y == y[0])


@pytest.mark.parametrize(
    ("y", "text"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], "y must hold lower ends before upper ends"),
        ([[np.inf, np.inf], [0.0, 1.0]], "y must not have inf as a lower"),
        ([[-np.inf, np.inf]] * 2, "y must have a finite end"),
    ],
)
def test_refusals(y, text):
    with pytest.raises(ValueError, match=text):
        EPIntervalRegressor().fit([[0.0], [1.0]], y)


def test_columns_have_length_scales_of_their_own(rng):
    X = rng.uniform(-2.0, 2.0, size=(160, 8)) * 10.0 ** np.arange(-4, 4)
    target = np.sin(1e4 * X[:, 0]) + 1e3 * X[:, 1] + 0.1 * rng.normal(size=160)
    y, fit = np.digitize(target, [-1.2, 0.0, 1.2]), np.arange(160) < 100
    ordinal = EPOrdinalClassifier().fit(X[fit], y[fit])
    assert ordinal.score(X[~fit], y[~fit]) > 0.7
    regressor = EPIntervalRegressor().fit(X[fit], target[fit])
    assert regressor.score(X[~fit], target[~fit]) > 0.8
    lengths = regressor.kernel_.k2.length_scale / X.std(axis=0)
    assert lengths[0] < lengths[1] < 0.5 * lengths[2:].min()
    wide = X[:7] / X.std(axis=0)  # more columns than rows, in like units
    assert np.ndim(EPIntervalRegressor().fit(wide, target[:7]).kernel_.k2.length_scale) == 0


def test_units_of_columns_decide_nothing():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:240], y[:240]
    fit = np.arange(240) < 160
    for model in EPProbitClassifier(), BayesPointMachine(), BayesPointMachine("rbf"):
        assert model.fit(X[fit], y[fit]).score(X[~fit], y[~fit]) > 0.92
    in_units = StandardScaler().fit(X[fit]).transform(X)
    for kernel in "linear", "rbf":
        one = BayesPointMachine(kernel).fit(X[fit], y[fit]).decision_function(X)
        other = BayesPointMachine(kernel).fit(in_units[fit], y[fit]).decision_function(in_units)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    rare = (np.arange(240) % 80 == 0)[:, None]  # no unit of its own, as it is or standardized
    for column in rare, StandardScaler().fit_transform(rare):
        model = EPProbitClassifier(optimizer=None).fit(np.hstack([in_units, column]), y)
        assert np.ndim(model.kernel_.k2.length_scale) == 0
    linear = BayesPointMachine().fit(X[fit], y[fit])
    signs = np.sign(X @ linear.coef_[0] + linear.intercept_[0])
    np.testing.assert_array_equal(signs, np.sign(linear.decision_function(X)))


def test_intervals_of_regression_are_calibrated(rng):
    held = []
    for n, noise in [(30, 0.2), (40, 0.5), (60, 0.1), (60, 0.4)]:
        X = rng.normal(size=(n + 200, 12))
        y = np.sin(X[:, 0]) + X[:, 1] + noise * rng.normal(size=n + 200)
        ends = np.column_stack([y, y])[:n]
        ends[::4] += [-0.2, 0.2]
        model = EPIntervalRegressor().fit(X[:n], ends)
        mean, std = model.predict(X[n:], return_std=True)
        held.append(np.mean(np.abs(y[n:] - mean) < 1.96 * std))
        assert model.std_factor_ > 1.0
    assert min(held) > 0.8
    assert 0.9 < np.mean(held) < 0.995


def test_copied_rows_leave_hyper_parameters_as_they_are(rng):
    X, y = censored(rng, 40)
    copied = np.r_[np.arange(40), rng.integers(0, 40, 20)]
    plain, double = (EPIntervalRegressor().fit(X[r], y[r]) for r in (np.arange(40), copied))
    assert double.noise_ == pytest.approx(plain.noise_, rel=1e-2)
    X, y = grades(rng)
    plain, double = (EPOrdinalClassifier().fit(X[r], y[r]) for r in (np.arange(40), copied))
    np.testing.assert_allclose(plain.thresholds_, double.thresholds_, rtol=0, atol=0.4)
    repeated = EPOrdinalClassifier().fit(np.sign(X), y)  # measurements at four points
    rates = [np.mean(y[np.all(np.sign(X) == x, axis=1)] == 0) for x in np.sign(X[:4])]
    np.testing.assert_allclose(repeated.predict_proba(np.sign(X[:4]))[:, 0], rates, atol=0.2)


def test_copied_rows_and_units_leave_bayes_points_as_they_are(rng):
    X = rng.normal(size=(60, 30))
    y = X[:, 0] + 0.7 * rng.normal(size=60) > 0.5
    alone = BayesPointMachine().fit(X, y)
    copied = BayesPointMachine().fit(np.tile(X, (3, 1)), np.tile(y, 3))
    assert copied.noise_ == alone.noise_ > 0.1
    large = BayesPointMachine().fit(1e3 * X, y)
    np.testing.assert_allclose(large.predict_proba(1e3 * X), alone.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(
        np.sign(X @ alone.coef_[0] + alone.intercept_), np.sign(alone.decision_function(X))
    )


TRUNCATED = {
    "exponential": (lambda rng: rng.exponential(size=(500, 1)), np.inf, True),
    "two columns": (lambda rng: 1e6 * rng.exponential(size=(500, 2)), np.inf, True),
    "heavy tail": (lambda rng: rng.lognormal(size=(500, 1)), np.inf, True),
    "half normal": (lambda rng: np.abs(rng.normal(size=(500, 2))), np.inf, False),
    "uniform": (lambda rng: rng.uniform(size=(500, 1)), 1.0, False),
    "far inside": (lambda rng: rng.normal(1e3, 1.0, size=(100, 1)), np.inf, False),
}


@pytest.mark.parametrize("name", TRUNCATED)
def test_likelihoods_without_a_maximum_are_warned_of(name):
    rows, upper, warns = TRUNCATED[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        TruncatedGaussian(0.0, upper).fit(rows(np.random.default_rng(1)))
    texts = [str(warning.message) for warning in caught]
    assert any("standard deviations from the rows" in text for text in texts) == warns
    assert warns or not texts


@pytest.mark.parametrize(("flips", "kernel"), [(0.0, "linear"), (0.2, "linear"), (0.2, "rbf")])
def test_the_noise_of_bayes_points_is_the_most_probable_one(flips, kernel):
    X, y = make_classification(200, 6, flip_y=flips, class_sep=2.0, random_state=0)
    model = BayesPointMachine(kernel=kernel).fit(X, y)
    noises = 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0
    fits = [clone(model).set_params(noise=noise).fit(X, y) for noise in noises]
    best = max(fits, key=lambda fit: fit.log_evidence_)
    assert model.noise_ == best.noise_
    assert model.log_evidence_ == pytest.approx(best.log_evidence_, abs=1e-5)
