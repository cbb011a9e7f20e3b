"""Bayesian regression and the choice of models, against scikit-learn and the definitions."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from sklearn_fw.pac_bayes import (
    EvidenceDisplay,
    PACBayesLinearRegression,
    PACBayesModelSelector,
    RiskBoundDisplay,
    gaussian_kl,
)
from sklearn_fw.pac_bayes._regression import clipped_losses

TARGETS = {"x_variance": 1.0, "w_norm2": 0.5, "noise_true": 0.1}


def data(n=40, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    return X, X[:, 0] + 0.5 * rng.normal(size=n)


@pytest.mark.parametrize(("n", "d"), [(30, 5), (5, 30), (12, 12)])
@pytest.mark.parametrize("temperature", ["n", "sqrt", 3.0])
def test_identities(n, d, temperature):
    X, y = data(n, d)
    model = PACBayesLinearRegression(
        0.7, prior_variance=0.3, fit_intercept=False, temperature=temperature
    ).fit(X, y)
    evidence = multivariate_normal(np.zeros(n), 0.7 * np.eye(n) + 0.3 * X @ X.T).logpdf(y)
    assert model.log_evidence_ == pytest.approx(evidence, rel=1e-10)
    divergence = gaussian_kl(model.coef_, model.covariance_, np.zeros(d), 0.3 * np.eye(d))
    assert model.kl_divergence_ == pytest.approx(divergence, rel=1e-8)
    of_mean = -norm.logpdf(y, model.predict(X), np.sqrt(0.7)).mean()
    assert model.nll_loss(X, y) == pytest.approx(of_mean, rel=1e-12)
    assert model.gibbs_nll_loss(X, y) == pytest.approx(model.empirical_risk_, rel=1e-12)
    total = model.lambda_ * model.empirical_risk_ + model.kl_divergence_
    assert total == pytest.approx(-model.log_gibbs_normalizer_, rel=1e-12)
    if temperature == "n":
        assert total == pytest.approx(-model.log_evidence_, rel=1e-9)
    share = model.lambda_ / n
    precision = share * X.T @ X / 0.7 + np.eye(d) / 0.3
    np.testing.assert_allclose(model.covariance_, np.linalg.inv(precision), rtol=0, atol=1e-10)


def test_equals_scikit_learn():
    X, y = data()
    model = PACBayesLinearRegression(0.4, prior_variance=2.0, fit_intercept=False).fit(X, y)
    ridge = Ridge(0.4 / 2.0, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-10)
    kernel = ConstantKernel(2.0) * DotProduct(0.0)
    with np.errstate(divide="ignore"):  # the log of the 0 of the kernel
        process = GaussianProcessRegressor(kernel, alpha=0.4, optimizer=None).fit(X, y)
        expected = process.log_marginal_likelihood()
    assert model.log_evidence_ == pytest.approx(expected, rel=1e-9)
    flat = dict.fromkeys(("alpha_1", "alpha_2", "lambda_1", "lambda_2"), 0)
    bayes = BayesianRidge(**flat, fit_intercept=False, compute_score=True, tol=1e-13, max_iter=3000)
    bayes.fit(X, y)
    model = PACBayesLinearRegression(
        1 / bayes.alpha_, prior_variance=1 / bayes.lambda_, fit_intercept=False
    ).fit(X, y)
    assert model.log_evidence_ == pytest.approx(bayes.scores_[-1], rel=1e-9)
    np.testing.assert_allclose(model.covariance_, bayes.sigma_, rtol=0, atol=1e-10)
    mean, std = model.predict(X, return_std=True)
    expected, expected_std = bayes.predict(X, return_std=True)
    np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(std, expected_std, rtol=1e-5)
    cov = model.predict(X, return_cov=True)[1]
    np.testing.assert_allclose(np.sqrt(np.diag(cov)), std, rtol=1e-10)


def test_intercept_prior_and_weights(rng):
    X, y = data()
    plain = PACBayesLinearRegression(
        0.4, prior_variance=[1.0, 2.0, 3.0, 4.0], prior_mean=[1, 0, 0, 0]
    ).fit(X, y)
    stacked = np.column_stack([X - X.mean(axis=0), np.ones(len(X))])
    same = PACBayesLinearRegression(
        0.4, prior_variance=[1.0, 2.0, 3.0, 4.0, 1.0], prior_mean=[1, 0, 0, 0, y.mean()],
        fit_intercept=False,
    ).fit(stacked, y)  # fmt: skip
    np.testing.assert_allclose(plain.coef_, same.coef_[:-1], rtol=0, atol=1e-12)
    for found, expected in zip(
        plain.predict(X, return_cov=True), same.predict(stacked, return_cov=True)
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    design = np.column_stack([X, np.ones(len(X))])
    spread = plain.predict(X, return_cov=True)[1] - 0.4 * np.eye(len(X))
    np.testing.assert_allclose(design @ plain.covariance_ @ design.T, spread, rtol=0, atol=1e-12)
    assert plain.log_evidence_ == pytest.approx(same.log_evidence_, rel=1e-12)
    counts = rng.integers(0, 3, size=len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    weighted, copied = plain.fit(X, y, counts), PACBayesLinearRegression(**plain.get_params())
    copied.fit(X[rows], y[rows])
    for name in ("log_evidence_", "kl_divergence_", "empirical_risk_"):
        assert getattr(weighted, name) == pytest.approx(getattr(copied, name), rel=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_origins_of_features_and_targets_do_not_matter(rng, weighted):
    """Few rows with large offsets: the slopes are those of Ridge, wherever the origin is."""
    X = rng.normal(size=(25, 3)) * [1.0, 7.0, 0.2]
    y = X @ [2.0, -0.3, 4.0] + rng.normal(size=25)
    weight = rng.integers(1, 4, size=25) if weighted else None
    far = X + [1013.0, -450.0, 2e4]
    near = PACBayesLinearRegression(2.0, prior_variance=0.5).fit(X, y, weight)
    model = PACBayesLinearRegression(2.0, prior_variance=0.5).fit(far, y + 5e3, weight)
    ridge = Ridge(2.0 / 0.5).fit(far, y + 5e3, weight)
    np.testing.assert_allclose(model.predict(far), ridge.predict(far), rtol=0, atol=1e-8)
    for name in ("log_evidence_", "kl_divergence_", "empirical_risk_"):
        assert getattr(model, name) == pytest.approx(getattr(near, name), rel=1e-9)
    mean, std = model.predict(far, return_std=True)
    np.testing.assert_allclose(std, near.predict(X, return_std=True)[1], rtol=1e-9)
    draws = model.sample_y(far, 4000, 0)
    np.testing.assert_allclose(draws.mean(axis=1), mean, rtol=0, atol=0.2)
    assert not model.risk_bound("catoni", loss_range=(1, 4)).rigorous  # the prior saw the data


def test_draws_have_the_moments(rng):
    X, y = data()
    model = PACBayesLinearRegression(0.4).fit(X, y)
    w = model.sample_posterior(40000, 0)
    np.testing.assert_allclose(np.cov(w.T), model.covariance_, rtol=0, atol=2e-3)
    targets = model.sample_y(X[:3], 40000, 0)
    mean, std = model.predict(X[:3], return_std=True)
    np.testing.assert_allclose(targets.mean(axis=1), mean, rtol=0, atol=0.02)
    np.testing.assert_allclose(targets.std(axis=1), std, rtol=0.02)


def test_clipped_losses_by_simulation(rng):
    residual, spread = np.array([0.0, 1.3, -2.5]), np.array([0.5, 0.64, 1e-20])
    draws = residual + np.sqrt(spread) * rng.normal(size=(400000, 3))
    for low, high in ((0.7, 2.0), (-5.0, 1.5), (1.0, 40.0)):
        losses = np.clip(draws**2 / (2 * 0.5) + 0.5 * np.log(np.pi), low, high)
        found = clipped_losses(residual, spread, 0.5, low, high)
        np.testing.assert_allclose(found, losses.mean(axis=0), rtol=0, atol=0.03)


# ---- guarantees told truthfully ------------------------------------------------------------------


def test_rigorous_is_told_truthfully():
    X, y = data()
    X = X - 0.5
    model = PACBayesLinearRegression(1.0, prior_variance=0.01, fit_intercept=False).fit(X, y)
    exact = model.risk_bound(**TARGETS)
    assert exact.rigorous
    assert exact.value == pytest.approx(exact.empirical_risk + exact.complexity + exact.gap)
    assert not model.risk_bound("subgamma", **TARGETS).rigorous
    assert model.risk_bound("catoni", loss_range=(0.9, 4)).rigorous
    assert not model.risk_bound(lam=200.0, **TARGETS).rigorous  # infinite
    weighted = PACBayesLinearRegression(1.0, prior_variance=0.01, fit_intercept=False)
    weighted.fit(X, y, np.arange(1, len(y) + 1))
    assert not weighted.risk_bound(**TARGETS).rigorous
    squared = model.risk_bound(loss="squared", **TARGETS)
    expected = 2.0 * (model.empirical_risk_ - 0.5 * np.log(2 * np.pi))
    assert squared.empirical_risk == pytest.approx(expected)
    assert squared.rigorous
    with_constant = PACBayesLinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="fit_intercept must be False"):
        with_constant.risk_bound(**TARGETS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "noise_true must be given for kind='gaussian_linear'"),
        ({"kind": "hoeffding"}, "loss_range must be given"),
        ({"kind": "hoeffding", "loss_range": (1, 4), "loss": "squared"}, "loss must be 'nll'"),
        ({"kind": "hoeffding", "loss_range": (4, 1)}, "loss_range must rise"),
    ],
)
def test_refusals_of_bounds(options, message):
    model = PACBayesLinearRegression(fit_intercept=False).fit(*data())
    with pytest.raises(ValueError, match=message):
        model.risk_bound(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior_variance": -1.0}, "prior_variance must be at least 1e-100"),
        ({"prior_variance": [1.0, 2.0]}, "prior_variance must be a number or have shape"),
        ({"prior_mean": [1.0]}, "prior_mean must have shape"),
        ({"delta": 0.0}, "delta must be between 0 and 1"),
    ],
)
def test_refusals_of_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        PACBayesLinearRegression(**options).fit(*data())


# ---- choice of models ----------------------------------------------------------------------------


def degrees(mode="average", **options):
    last = PACBayesLinearRegression(1 / 16, prior_variance=200.0, fit_intercept=False)
    grid = {"polynomialfeatures__degree": list(range(1, 8))}
    return PACBayesModelSelector(
        make_pipeline(PolynomialFeatures(), last), grid, mode=mode, **options
    )


def sine():
    """The fifteen points of the paper's program, by numpy's old generator."""
    rng = np.random.RandomState(42)
    x = rng.rand(15, 1) * 2 * np.pi
    return x, np.sin(x[:, 0]) + rng.normal(0, 0.25, 15)


def test_degrees_of_the_paper():
    selector = degrees(gap=0.1).fit(*sine())
    expected = [50.01, 54.81, 30.16, 37.49, 43.73, 51.21, 59.80]
    np.testing.assert_allclose(-selector.log_evidences_, expected, rtol=0, atol=0.01)
    divergences = [model[-1].kl_divergence_ for model in selector.estimators_]
    expected = [10.51, 16.47, 22.97, 29.84, 37.04, 44.60, 52.85]
    np.testing.assert_allclose(divergences, expected, rtol=0, atol=0.01)
    losses = [15 * model[-1].empirical_risk_ for model in selector.estimators_]
    expected = [39.49, 38.34, 7.19, 7.65, 6.69, 6.62, 6.95]
    np.testing.assert_allclose(losses, expected, rtol=0, atol=0.01)
    assert selector.best_params_ == {"polynomialfeatures__degree": 3}
    np.testing.assert_allclose(
        selector.posterior_weights_, softmax(selector.log_evidences_), rtol=1e-12
    )
    assert 0.0 <= selector.selection_penalty_ <= np.log(7) / 15
    penalty = selector.bounds_.min() - selector.averaging_bound_
    assert penalty == pytest.approx(np.log(7) / 15 - (np.log(7) / 15 - selector.selection_penalty_))


def test_average_is_a_mixture():
    X, y = sine()
    selector = degrees().fit(X, y)
    mean, std = selector.predict(X, return_std=True)
    found = [model.predict(X, return_std=True) for model in selector.estimators_]
    weights = selector.posterior_weights_
    expected = sum(w * m for w, (m, _) in zip(weights, found))
    second = sum(w * (s**2 + m**2) for w, (m, s) in zip(weights, found))
    np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(std, np.sqrt(second - expected**2), rtol=1e-6)
    chosen = degrees("select").fit(X, y)
    np.testing.assert_array_equal(chosen.predict(X), chosen.best_estimator_.predict(X))


def test_one_model_is_itself():
    X, y = data()
    selector = PACBayesModelSelector().fit(X, y)
    alone = PACBayesLinearRegression().fit(X, y)
    np.testing.assert_allclose(selector.predict(X), alone.predict(X), rtol=1e-12)
    assert selector.selection_penalty_ == 0.0
    prior = PACBayesModelSelector(
        param_grid={"noise_variance": [1.0, 2.0]}, log_prior=np.log([1e-300, 1.0])
    ).fit(X, y)
    assert prior.best_params_ == {"noise_variance": 2.0}


def test_refusals_of_selectors():
    X, y = data()
    with pytest.raises(TypeError, match="estimator must have log_evidence_"):
        PACBayesModelSelector(Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="gap must be a number or have shape"):
        PACBayesModelSelector(gap=[0.1, 0.2]).fit(X, y)
    with pytest.raises(ValueError, match="log_prior must hold 1 logs"):
        PACBayesModelSelector(log_prior=[0.0, 0.0]).fit(X, y)


# ---- pictures ------------------------------------------------------------------------------------


def test_displays():
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = data(60)
    X = X - 0.5
    model = PACBayesLinearRegression(prior_variance=0.01, fit_intercept=False)
    display = RiskBoundDisplay.from_estimator(
        model, X, y, n_samples=[10, 60], name="Bounds",
        kinds={"gaussian_linear": TARGETS, "catoni": {"loss_range": (0.9, 4)}},
    )  # fmt: skip
    values = display.lines_[1].get_ydata()
    assert values[1] == model.fit(X, y).risk_bound(**TARGETS).value
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()][1:] == [
        "gaussian_linear", "catoni",
    ]  # fmt: skip
    selector = degrees().fit(*sine())
    display = EvidenceDisplay.from_estimator(selector, "polynomialfeatures__degree")
    assert display.ax_.get_xlabel() == "degree"
    np.testing.assert_array_equal(display.best_.get_offsets()[0], [3, selector.log_evidences_[2]])
    with pytest.raises(ValueError, match="param must be a parameter"):
        EvidenceDisplay.from_estimator(selector, "degree")
    with pytest.raises(ValueError, match="n_samples must hold numbers up to 60"):
        RiskBoundDisplay.from_estimator(model, X, y, n_samples=[100], kinds={})
    plt.close("all")
