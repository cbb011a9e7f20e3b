"""The smoothed maximum against the projection, its own formula, and its bounds."""

import itertools

import numpy as np
import pytest

from sklearn_fw.projections import project_simplex
from sklearn_fw.structured._solvers._variance_reduced import smoothed_max

MUS = (1e-3, 0.1, 0.7, 2.0, 30.0)


def vectors(rng, n_draws=50):
    """Vectors of 1 to 9 scores of any size, every third of few different numbers."""
    for draw in range(n_draws):
        z = rng.normal(size=rng.integers(1, 10)) * 10.0 ** rng.integers(-1, 2)
        yield np.round(z) if draw % 3 == 0 else z


def test_weights_are_the_projection_and_give_the_value(rng):
    for z, mu in itertools.product(vectors(rng), MUS):
        value, u = smoothed_max(z, mu)
        np.testing.assert_allclose(u, project_simplex(z / mu), rtol=0, atol=1e-10)
        expected = z @ u - mu * (u @ u - 1) / 2
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-12 * max(mu, 1))
        assert -1e-12 <= value - z.max() <= mu / 2 * (1 - 1 / z.size) + 1e-12 * np.abs(z).max()


def test_it_grows_with_every_further_score(rng):
    for z, mu in itertools.product(vectors(rng), MUS):
        values = [smoothed_max(-np.sort(-z)[:k], mu)[0] for k in range(1, z.size + 1)]
        assert np.all(np.diff(values) >= -1e-12 * max(mu, np.abs(z).max()))


def test_ties_and_large_numbers():
    """Without smoothing the first of the best has all weight; large scores swallow no small mu."""
    assert smoothed_max([1.0, 3.0, 3.0], 0.0)[0] == 3.0
    np.testing.assert_array_equal(smoothed_max([1.0, 3.0, 3.0], 0.0)[1], [0, 1, 0])
    np.testing.assert_array_equal(smoothed_max([1e9, 1e9, 1e9 - 1], 1e-3)[1], [0.5, 0.5, 0.0])
