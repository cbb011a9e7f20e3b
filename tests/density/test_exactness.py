"""Scores and derivatives against brute force, differences, SciPy and scikit-learn."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_t
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from sklearn_fw import KernelStudentTDensity
from sklearn_fw.density import PolynomialKernel


def feature_space_variance(Phi, weight, phi, *, s, beta, formula):
    """``s (gamma + Q)`` from explicit features: Phi (n, D) of the data, phi (D,) of the point."""
    W = weight.sum()
    kappa, mean = beta + W, weight @ Phi / W
    centered = Phi - mean
    scatter = s * np.eye(Phi.shape[1]) + (centered.T * weight) @ centered
    if formula == "exact":
        scatter += beta * W / kappa * np.outer(mean, mean)
    difference = phi - W * mean / kappa
    return s * ((1 + kappa) / kappa + difference @ np.linalg.solve(scatter, difference))


def printed_variance(K, k_x, k_xx, *, s, beta):
    """Equations (4) and (5) of the paper, letter by letter."""
    n = len(K)
    centring = np.eye(n) - 1.0 / n
    norm = k_xx - 2 * k_x.sum() / (n + beta) + K.sum() / (n + beta) ** 2
    inner = k_x - k_x.sum() / n + (K.sum() - n * K.sum(axis=1)) / (n * (n + beta))
    matrix = s**2 * (np.eye(n) + 1.0 / beta) + s * centring @ K @ centring
    gamma = (1 + beta + n) / (beta + n)
    return s * (gamma + norm / s - inner @ np.linalg.solve(matrix, inner))


def finite_difference_volume(kernel, x, step=1e-3):
    """``1/2 log det`` of the mixed second differences of ``k(x, y)`` at ``y = x``."""
    d = len(x)
    G = np.empty((d, d))
    steps = step * np.eye(d)
    for i in range(d):
        for j in range(d):
            G[i, j] = sum(
                a * b * kernel((x + a * steps[i])[None], (x + b * steps[j])[None])[0, 0]
                for a in (-1, 1)
                for b in (-1, 1)
            ) / (4 * step**2)
    return 0.5 * np.linalg.slogdet(G)[1]


def differences(function, X, step=1e-5):
    """Gradient and Laplacian of a function of rows by central differences, (n, d) and (n,)."""
    d = X.shape[1]
    steps = np.eye(d)
    up = np.stack([function(X + step * e) for e in steps], axis=1)
    down = np.stack([function(X - step * e) for e in steps], axis=1)
    wide = 1e-3
    far = sum(function(X + wide * e) + function(X - wide * e) for e in steps)
    return (up - down) / (2 * step), (far - 2 * d * function(X)) / wide**2


def polynomial_features(X):
    """Features of ``(x.y / 2 + 1)^2``."""
    root = np.sqrt(0.5)
    pairs = [X[:, i] * X[:, j] * 0.5 for i, j in itertools.product(range(X.shape[1]), repeat=2)]
    return np.column_stack([np.ones(len(X)), *(np.sqrt(2) * root * X).T, *pairs])


def all_subsets(X):
    sets = itertools.product([False, True], repeat=X.shape[1])
    return np.column_stack([np.prod(X[:, np.array(s)], axis=1) for s in sets])


FINITE = {
    "linear": (lambda X: X, "linear"),
    "polynomial": (polynomial_features, PolynomialKernel(2, gamma=0.5)),
    "all_subsets": (all_subsets, "all_subsets"),
}


@pytest.mark.parametrize("formula", ["exact", "published"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", FINITE)
def test_variance_is_that_of_feature_space(kernel, weighted, formula, rng):
    features, kernel = FINITE[kernel]
    X, new = rng.normal(size=(9, 3)), rng.normal(size=(5, 3))
    weight = rng.uniform(0.5, 3, size=9) if weighted else np.ones(9)
    density = KernelStudentTDensity(kernel, sigma0=0.7, beta=0.8, formula=formula)
    density.fit(X, sample_weight=weight)
    expected = [
        feature_space_variance(features(X), weight, phi, s=0.49, beta=0.8, formula=formula)
        for phi in features(new)
    ]
    assert_allclose(density.predictive_variance(new), expected, rtol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "all_subsets"])
def test_log_density_is_the_multivariate_t(kernel, rng):
    features, kernel = FINITE[kernel]
    X, new = rng.normal(size=(12, 2)), rng.normal(size=(6, 2))
    s, alpha, beta = 0.3, 25.0, 0.6
    Phi = features(X)
    n, D = Phi.shape
    kappa, mean = beta + n, Phi.mean(axis=0)
    scatter = s * np.eye(D) + Phi.T @ Phi - n**2 / kappa * np.outer(mean, mean)
    dof = alpha + n - D + 1
    reference = multivariate_t(n * mean / kappa, scatter * (kappa + 1) / (kappa * dof), df=dof)
    density = KernelStudentTDensity(
        kernel, sigma0=np.sqrt(s), dof=alpha, beta=beta, jacobian=False
    ).fit(X)
    difference = density.score_samples(new) - reference.logpdf(features(new))
    assert_allclose(difference, difference[0], rtol=0, atol=1e-9)


def test_published_formula_is_the_printed_one(rng):
    X, new = rng.normal(size=(20, 3)), rng.normal(size=(6, 3))
    density = KernelStudentTDensity(
        length_scale=1.3, sigma0=0.4, beta=1.0, formula="published"
    ).fit(X)
    kernel = RBF(1.3)
    expected = [
        printed_variance(kernel(X), kernel(X, x[None])[:, 0], 1.0, s=0.16, beta=1.0) for x in new
    ]
    assert_allclose(density.predictive_variance(new), expected, rtol=1e-11)


@pytest.mark.parametrize("beta", [0.01, 1.0, np.inf])
def test_variance_is_that_of_gaussian_process_regression(beta, rng):
    X, new = rng.normal(size=(40, 3)), rng.normal(size=(10, 3))
    s = 0.04
    kernel = RBF(1.5) if beta == np.inf else ConstantKernel(s / beta) + RBF(1.5)
    process = GaussianProcessRegressor(kernel, alpha=s, optimizer=None).fit(X, np.zeros(40))
    _, deviation = process.predict(new, return_std=True)
    density = KernelStudentTDensity(length_scale=1.5, sigma0=0.2, beta=beta).fit(X)
    assert_allclose(density.predictive_variance(new), deviation**2 + s, rtol=0, atol=1e-10)


@pytest.mark.parametrize("formula", ["exact", "published"])
@pytest.mark.parametrize("beta", [0.0, 0.01, 2.0, np.inf])
@pytest.mark.parametrize("options", [{}, {"max_rank": 30}, {"kernel": "polynomial"}], ids=str)
def test_leave_one_out_is_that_of_refits(options, beta, formula, rng):
    X = rng.normal(size=(12, 2))
    X[3] = X[4]
    density = KernelStudentTDensity(
        length_scale=1.0, sigma0=0.3, beta=beta, formula=formula, **options
    )
    left_out = [  # without the row and its copy
        density.fit(X[np.any(row != X, axis=1)]).score_samples(row[None])[0] for row in X
    ]
    assert_allclose(density.fit(X).leave_one_out_scores(), left_out, rtol=1e-8)


@pytest.mark.parametrize("formula", ["exact", "published"])
@pytest.mark.parametrize("options", [{}, {"max_rank": 20}], ids=str)
def test_weights_are_copies(options, formula, rng):
    X, new = rng.normal(size=(15, 3)), rng.normal(size=(4, 3))
    copies = rng.integers(0, 4, size=15)
    make = {"formula": formula, "beta": 0.5, "contamination": "auto", **options}
    weighted = KernelStudentTDensity(**make).fit(X, sample_weight=copies)
    repeated = KernelStudentTDensity(**make).fit(np.repeat(X, copies, axis=0))
    assert weighted.length_scale_ == repeated.length_scale_
    assert weighted.exponent_ == repeated.exponent_
    assert_allclose(weighted.score_samples(new), repeated.score_samples(new), rtol=1e-8)
    assert_allclose(weighted.offset_, repeated.offset_, rtol=1e-8)
    kept = np.flatnonzero(copies)
    first = np.cumsum(copies)[kept] - 1
    assert_allclose(
        weighted.leave_one_out_scores(), repeated.leave_one_out_scores()[first], rtol=1e-7
    )


@pytest.mark.parametrize("formula", ["exact", "published"])
def test_partial_fit_is_fit(formula, rng):
    X, new = rng.normal(size=(60, 4)), rng.normal(size=(9, 4))
    weight = rng.uniform(0.2, 2, size=60)
    make = {"length_scale": 1.5, "formula": formula, "contamination": 0.1}
    whole = KernelStudentTDensity(**make).fit(X, sample_weight=weight)
    grown = KernelStudentTDensity(**make)
    for rows in (slice(0, 1), slice(1, 30), slice(30, 37), slice(37, 60)):
        grown.partial_fit(X[rows], sample_weight=weight[rows])
    for name in ("score_samples", "decision_function", "predictive_variance"):
        assert_allclose(getattr(grown, name)(new), getattr(whole, name)(new), rtol=1e-8, atol=1e-8)
    assert_allclose(grown.leave_one_out_scores(), whole.leave_one_out_scores(), rtol=1e-8)
    assert_allclose(grown.score_gradient(new), whole.score_gradient(new), rtol=1e-7, atol=1e-8)
    grown.partial_fit(np.concatenate([X[10:12], new[:1], new[:1]]))  # copies are added weight
    whole.fit(np.concatenate([X, X[10:12], new[:1], new[:1]]),
              sample_weight=np.append(weight, np.ones(4)))  # fmt: skip
    assert grown.X_fit_.shape == whole.X_fit_.shape == (61, 4)
    assert_allclose(grown.score_samples(new), whole.score_samples(new), rtol=1e-8, atol=1e-8)
    assert_allclose(grown.leave_one_out_scores(), whole.leave_one_out_scores(), rtol=1e-8)


def test_low_rank_tends_to_the_exact_model(rng):
    X, new = rng.normal(size=(80, 3)), rng.normal(size=(30, 3))
    exact = KernelStudentTDensity(length_scale=1.5).fit(X)
    errors = []
    for rank in (5, 20, 40, 80):
        density = KernelStudentTDensity(length_scale=1.5, max_rank=rank).fit(X)
        errors.append(np.abs(density.score_samples(new) - exact.score_samples(new)).max())
    assert errors[0] > errors[1] > errors[2] > errors[3]
    assert errors[3] < 1e-6
    assert_allclose(density.leave_one_out_scores(), exact.leave_one_out_scores(), rtol=1e-6)
    grown = KernelStudentTDensity(length_scale=1.5, max_rank=80).partial_fit(X)
    more = rng.normal(size=(10, 3))
    both = KernelStudentTDensity(length_scale=1.5).fit(np.concatenate([X, more]))
    grown.partial_fit(more)  # new rows are described by the old pivots
    assert np.corrcoef(grown.score_samples(new), both.score_samples(new))[0, 1] > 0.99


def test_order_rotation_and_translation_change_nothing(rng):
    X, new = rng.normal(size=(50, 4)), rng.normal(size=(7, 4))
    scores = KernelStudentTDensity().fit(X).score_samples(new)
    order = rng.permutation(50)
    assert_allclose(KernelStudentTDensity().fit(X[order]).score_samples(new), scores, rtol=1e-9)
    rotation = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    fixed = KernelStudentTDensity(length_scale=2.0).fit(X)
    moved = KernelStudentTDensity(length_scale=2.0).fit(X @ rotation + 1e4)
    assert_allclose(moved.score_samples(new @ rotation + 1e4), fixed.score_samples(new), rtol=1e-7)


def test_precomputed_kernel_sees_inner_products_only(rng):
    X, new = rng.normal(size=(20, 5)), rng.normal(size=(6, 5))
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    turned, new_turned = X @ rotation, new @ rotation
    expected = KernelStudentTDensity("linear").fit(X)
    density = KernelStudentTDensity("precomputed").fit(turned @ turned.T)
    diag = (new_turned**2).sum(axis=1)
    K = new_turned @ turned.T
    assert_allclose(density.score_samples(K, diag=diag), expected.score_samples(new), rtol=1e-9)
    assert_allclose(density.predict(K, diag=diag), expected.predict(new))
    with pytest.raises(ValueError, match="pass diag="):
        density.score_samples(K)
    with pytest.raises(ValueError, match="diag must have shape"):
        density.score_samples(K, diag=diag[:2])


@pytest.mark.parametrize(
    ("kernel", "named"),
    [
        (RBF(2.0), {"kernel": "rbf", "length_scale": 2.0}),
        (lambda X, Y: RBF(2.0)(X, Y), {"kernel": "rbf", "length_scale": 2.0}),
        (DotProduct(sigma_0=0.0), {"kernel": "linear"}),
    ],
    ids=["object", "function", "dot"],
)
def test_kernels_of_others(kernel, named, rng):
    X, new = rng.normal(size=(20, 3)), rng.normal(size=(40, 3))
    theirs = KernelStudentTDensity(kernel, jacobian=False).fit(X)
    ours = KernelStudentTDensity(jacobian=False, **named).fit(X)
    assert_allclose(theirs.score_samples(new), ours.score_samples(new), rtol=1e-9)
    assert_allclose(theirs.offset_, ours.offset_, rtol=1e-9)


SMOOTH = ["rbf", "matern32", "matern52", "rational_quadratic", "linear", "polynomial"]


@pytest.mark.parametrize(
    ("kernel", "tolerance"),
    [("rbf", 1e-4), ("matern32", 5e-3), ("matern52", 1e-4), ("rational_quadratic", 1e-4),
     ("linear", 1e-5), (PolynomialKernel(3, gamma=0.4, coef0=1.5), 1e-5),
     (PolynomialKernel(2, gamma=1.0, coef0=0.0), 1e-5), ("all_subsets", 1e-5)],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("d", [1, 2, 4])
def test_volume_elements(kernel, tolerance, d, rng):
    """The third derivative of matern32 jumps at zero, so its differences converge slowly."""
    X, scale = rng.normal(size=(3, d)), np.linspace(0.7, 2.0, d)
    kernel = KernelStudentTDensity(kernel, length_scale=scale, sigma0=0.5).fit(X).kernel_
    for x in X:
        expected = finite_difference_volume(kernel, x)
        assert_allclose(kernel.log_volume(x[None])[0], expected, atol=tolerance)


def test_volume_of_the_parabola():
    # Features (x, x^2), the toy of the paper: k = x y + x^2 y^2 and 1/2 log(1 + 4 x^2).
    X = np.linspace(-1, 1, 5)[:, None]
    kernel = lambda X, Y: X @ Y.T + (X @ Y.T) ** 2  # noqa: E731
    volume = lambda X: 0.5 * np.log1p(4 * X[:, 0] ** 2)  # noqa: E731
    assert_allclose([finite_difference_volume(kernel, x) for x in X], volume(X), atol=1e-6)
    with_volume = KernelStudentTDensity(kernel, jacobian=volume).fit(X)
    without = KernelStudentTDensity(kernel, jacobian=False).fit(X)
    assert_allclose(with_volume.score_samples(X) - without.score_samples(X), volume(X), atol=1e-12)
    assert np.isfinite(with_volume.offset_)


@pytest.mark.parametrize("formula", ["exact", "published"])
@pytest.mark.parametrize("kernel", SMOOTH)
def test_derivatives_are_those_of_the_score(kernel, formula, rng):
    X, new = rng.normal(size=(25, 3)), rng.normal(size=(6, 3))
    scale = np.array([1.0, 1.4, 2.0])
    density = KernelStudentTDensity(
        kernel, length_scale=scale, beta=0.5, sigma0=0.5, formula=formula
    ).fit(X)
    gradient, laplacian = differences(density.score_samples, new)
    assert_allclose(density.score_gradient(new), gradient, rtol=1e-5, atol=1e-6)
    hyvarinen = 0.5 * (gradient**2).sum(axis=1) + laplacian
    assert_allclose(density.hyvarinen_score(new), hyvarinen, rtol=1e-3, atol=1e-3)
