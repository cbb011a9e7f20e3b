"""Classifiers and the truncated normal: against integrals, differences and known parameters."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from sklearn_fw.gaussian_probability import (
    BayesPointMachine,
    EPProbitClassifier,
    TruncatedGaussian,
    log_gaussian_probability,
)


def groups(rng, n=40):
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


def test_evidence_is_the_probability_of_the_signs(rng):
    X, y = groups(rng, 6)
    y[:2] = 0, 1
    kernel = ConstantKernel(2.0) * RBF(1.5)
    classifier = EPProbitClassifier(kernel, optimizer=None, tol=1e-9).fit(X, y)
    signs = 2.0 * y - 1.0
    cov = (kernel(X) + np.eye(6)) * signs * signs[:, None]
    truth = log_gaussian_probability(0.0, np.inf, cov=cov, method="sampled")
    assert classifier.log_marginal_likelihood_value_ == pytest.approx(truth.log_prob_ep, rel=1e-8)
    assert abs(classifier.log_marginal_likelihood_value_ - truth.log_prob) < 0.02


def test_gradient_of_the_evidence(rng):
    X, y = groups(rng)
    kernel = ConstantKernel(2.0) * RBF(1.5)
    classifier = EPProbitClassifier(kernel, optimizer=None, tol=1e-10).fit(X, y)
    theta, step = classifier.kernel_.theta, 1e-5
    _, gradient = classifier.log_marginal_likelihood(theta, eval_gradient=True)
    for i, d in enumerate(step * np.eye(2)):
        ends = [classifier.log_marginal_likelihood(theta + s * d) for s in (1.0, -1.0)]
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-7)


def test_labels_agree_with_the_laplace_approximation():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = ConstantKernel(5.0, "fixed") * RBF(5.0, "fixed")
    ours = EPProbitClassifier(kernel).fit(X[:150], y[:150])
    theirs = GaussianProcessClassifier(kernel).fit(X[:150], y[:150])
    assert np.mean(ours.predict(X[150:]) == theirs.predict(X[150:])) > 0.95
    assert ours.score(X[150:], y[150:]) > 0.9


def test_three_classes():
    X, y = load_iris(return_X_y=True)
    classifier = EPProbitClassifier().fit(X[::2], y[::2])
    probability = classifier.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    assert classifier.score(X[1::2], y[1::2]) > 0.9


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
    logistic = LogisticRegression().fit(X[:150], y[:150]).predict_proba(X[150:])[:, 1]
    losses = [log_loss(y[150:], p) for p in (probability[1], logistic)]
    assert losses[0] < 1.1 * losses[1]
    signs = np.sign(X @ fits[1].coef_[0] + 40.0 * fits[1].coef_.sum() + fits[1].intercept_)
    np.testing.assert_array_equal(signs > 0, fits[1].predict(X + 40.0))
