"""Normalization and sampling on a box."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import kstest

from sklearn_fw import KernelStudentTDensity


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial"])
@pytest.mark.parametrize("method", ["quadrature", "importance"])
def test_integral_is_one_in_one_dimension(method, kernel, rng):
    X = rng.normal(size=(20, 1))
    estimator = KernelStudentTDensity(
        kernel, length_scale=1.0, normalize=method, support=(-4, 4), random_state=0
    ).fit(X)
    density = lambda x: np.exp(estimator.score_samples([[x]])[0])  # noqa: E731
    total, _ = quad(density, -4, 4, limit=200, points=X[:, 0], epsabs=1e-5)
    assert total == pytest.approx(1.0, abs=1e-3 if method == "quadrature" else 4e-2)


def test_integral_is_one_in_two_dimensions(rng):
    X = rng.normal(size=(15, 2))
    estimator = KernelStudentTDensity(
        length_scale=1.5, sigma0=0.3, normalize="quadrature", support=([-3, -4], [3, 4])
    ).fit(X)
    grid = np.polynomial.legendre.leggauss(60)
    x, y = np.meshgrid(3 * grid[0], 4 * grid[0])
    mass = np.outer(grid[1], grid[1]) * 12
    points = np.column_stack([x.ravel(), y.ravel()])
    assert np.exp(estimator.score_samples(points)) @ mass.ravel() == pytest.approx(1, abs=1e-3)


def test_nothing_lies_outside_the_box(rng):
    X = rng.normal(size=(20, 1))
    estimator = KernelStudentTDensity(normalize="quadrature", support=(-1, 1)).fit(X)
    assert_allclose(estimator.score_samples([[1.1], [-2.0]]), -np.inf)
    assert estimator.predict([[1.1]]) == -1
    assert np.all(np.abs(estimator.sample(500, random_state=0)) <= 1)


def test_quadrature_says_what_to_do_instead(rng):
    with pytest.raises(ValueError, match="importance"):
        KernelStudentTDensity(normalize="quadrature").fit(rng.normal(size=(20, 4)))
    with pytest.raises(ValueError, match="did not converge"):
        KernelStudentTDensity(normalize="quadrature", length_scale=1e-4).fit(
            rng.normal(size=(20, 2))
        )


def test_poor_importance_sampling_is_reported(rng):
    with pytest.warns(RuntimeWarning, match="effective draws"):
        KernelStudentTDensity(
            normalize="importance", length_scale=6.0, sigma0=1e-3, dof=500.0, random_state=0
        ).fit(rng.normal(size=(40, 6)))


def distribution(estimator, low, high):
    grid = np.linspace(low, high, 4001)
    mass = np.exp(estimator.score_samples(grid[:, None]))
    total = np.concatenate([[0], np.cumsum(0.5 * (mass[1:] + mass[:-1]))])
    return lambda x: np.interp(x, grid, total / total[-1])


def test_grid_sampler_follows_the_density(rng):
    X = np.concatenate([rng.normal(-2, 0.4, size=(20, 1)), rng.normal(2, 0.4, size=(20, 1))])
    estimator = KernelStudentTDensity(length_scale=1.0, support=(-5, 5)).fit(X)
    draws = estimator.sample(2000, random_state=0)
    assert draws.shape == (2000, 1)
    assert kstest(draws[:, 0], distribution(estimator, -5, 5)).pvalue > 1e-3
    assert_allclose(draws, estimator.sample(2000, random_state=0))


@pytest.mark.slow
def test_hybrid_sampler_follows_the_density(rng):
    X = np.concatenate([rng.normal(-2, 0.4, size=(10, 1)), rng.normal(2, 0.4, size=(10, 1))])
    estimator = KernelStudentTDensity(length_scale=1.0, support=(-5, 5)).fit(X)
    draws = estimator._box().sample_hybrid(640, np.random.RandomState(0))
    assert kstest(draws[:, 0], distribution(estimator, -5, 5)).pvalue > 1e-3


@pytest.mark.slow
def test_sample_in_four_dimensions(rng):
    X = rng.normal(size=(40, 4))
    estimator = KernelStudentTDensity(length_scale=2.0).fit(X)
    draws = estimator.sample(100, random_state=0)
    assert draws.shape == (100, 4)
    # The law of the norm, from points of another law that are weighted by the density.
    points = 0.8 * rng.normal(size=(40_000, 4))
    norms = np.linalg.norm(points, axis=1)
    weights = np.exp(estimator.score_samples(points) + 0.5 * np.square(norms / 0.8))
    assert weights.sum() ** 2 / (weights @ weights) > 1000  # so many draws are they worth
    order = np.argsort(norms)
    total = weights[order].cumsum()
    distribution = lambda r: np.interp(r, norms[order], total / total[-1])  # noqa: E731
    assert kstest(np.linalg.norm(draws, axis=1), distribution).pvalue > 1e-3
    assert kstest(np.linalg.norm(1.3 * draws, axis=1), distribution).pvalue < 1e-3


def fantasy(n_samples, n_features=2, random_state=0, support=(-8, 8), **options):
    density = KernelStudentTDensity(length_scale=1.0, sigma0=1.0, support=support, **options)
    return density.sample_prior(n_samples, n_features, random_state=random_state)


def test_fantasy_is_drawn_row_by_row():
    assert_allclose(fantasy(5)[:3], fantasy(3))
    with pytest.raises(ValueError, match="contain zero"):
        fantasy(3, support=(1, 2))
