"""The smoothed maximum against closed forms, differences, a constrained maximum and its bounds."""

import itertools
import re

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import entr, logsumexp, softmax

from sklearn_fw.projections import project_simplex
from sklearn_fw.smoothing import smoothed_max

SMOOTHERS = ("l2", "entropy")
each_smoother = pytest.mark.parametrize("smoother", SMOOTHERS)
MUS = (1e-3, 0.1, 0.7, 2.0, 30.0)


def vectors(rng, n_draws=200):
    """Vectors of 1 to 9 scores of any size, every third of few different numbers."""
    for draw in range(n_draws):
        z = rng.normal(size=rng.integers(1, 10)) * 10.0 ** rng.integers(-1, 2)
        yield np.round(z) if draw % 3 == 0 else z


def omega(u, smoother):
    return (np.sum(u**2) - 1) / 2 if smoother == "l2" else -entr(u).sum()


@each_smoother
def test_weights_are_a_distribution_and_give_the_value(smoother, rng):
    for z, mu in itertools.product(vectors(rng), MUS):
        value, u = smoothed_max(z, mu, smoother)
        assert u.min() >= 0
        assert u.sum() == pytest.approx(1, rel=0, abs=1e-12)
        expected = z @ u - mu * omega(u, smoother)
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-12 * max(mu, 1))


def test_entropy_is_the_sum_of_exponentials(rng):
    for z, mu in itertools.product(vectors(rng), MUS):
        value, u = smoothed_max(z, mu, "entropy")
        assert value == pytest.approx(mu * logsumexp(z / mu), rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(u, softmax(z / mu), rtol=1e-10, atol=1e-14)


def test_l2_is_the_projection(rng):
    for z, mu in itertools.product(vectors(rng), MUS):
        u = smoothed_max(z, mu)[1]
        np.testing.assert_allclose(u, project_simplex(z / mu), rtol=0, atol=1e-10)


@each_smoother
def test_no_distribution_is_better(smoother, rng):
    for z in vectors(rng, 10):
        value, _ = smoothed_max(z, 0.7, smoother)
        uniform = np.full(z.size, 1 / z.size)
        found = minimize(
            lambda u, z=z: 0.7 * omega(np.clip(u, 0, 1), smoother) - z @ u, uniform,
            bounds=[(0, 1)] * z.size, method="SLSQP", options={"ftol": 1e-12, "maxiter": 500},
            constraints={"type": "eq", "fun": lambda u: u.sum() - 1},
        )  # fmt: skip
        assert value == pytest.approx(-found.fun, rel=1e-6, abs=1e-6)


def test_two_outcomes():
    mu = 0.8
    for a in (-3.0, -0.8, -0.3, 0.0, 0.5, 0.8, 2.0):
        l2 = 0.0 if a <= -mu else a if a >= mu else (a + mu) ** 2 / (4 * mu)
        assert smoothed_max([0.0, a], mu)[0] == pytest.approx(l2, rel=1e-14, abs=1e-14)
        entropy = mu * np.log1p(np.exp(a / mu))
        assert smoothed_max([0.0, a], mu, "entropy")[0] == pytest.approx(entropy, rel=1e-14)


@each_smoother
@pytest.mark.parametrize("k", [None, 1, 2, 4])
def test_between_the_maximum_and_its_bound(smoother, k, rng):
    """The smoothed maximum grows with mu, by at most the range of omega times the difference."""
    for z in vectors(rng):
        n = z.size if k is None else min(k, z.size)
        width = (1 - 1 / n) / 2 if smoother == "l2" else np.log(n)
        values = [smoothed_max(z, mu, smoother, k)[0] for mu in (0.0, *MUS)]
        assert values[0] == z.max()
        rounding = 1e-12 * (1 + np.abs(z).max())
        for difference, step in zip(np.diff(values), np.diff((0.0, *MUS))):
            assert -rounding <= difference <= step * width + rounding


@each_smoother
def test_weights_are_the_gradient(smoother, rng):
    for z, mu in itertools.product(vectors(rng, 30), (0.3, 2.0)):
        u = smoothed_max(z, mu, smoother)[1]
        for step, unit in itertools.product([1e-6], np.eye(z.size)):
            ends = [smoothed_max(z + s * step * unit, mu, smoother)[0] for s in (1, -1)]
            slope = (ends[0] - ends[1]) / (2 * step)
            assert slope == pytest.approx(unit @ u, rel=0, abs=1e-5)


def test_the_number_of_weights_is_that_of_proposition_3(rng):
    seen = set()
    for z, mu in itertools.product(vectors(rng), MUS):
        descending = np.append(-np.sort(-z), -np.inf)
        m = np.count_nonzero(smoothed_max(z, mu)[1])
        seen.add(m)
        low = np.sum(descending[:m] - descending[m - 1])
        high = np.sum(descending[:m] - descending[m])
        assert low < mu * (1 + 1e-12)
        assert mu * (1 - 1e-12) <= high
    assert len(seen) >= 7


def test_chain_of_surrogates(rng):
    """More of the best outcomes give a larger value, up to that of all, and within its bound."""
    for z, mu in itertools.product(vectors(rng), MUS):
        whole = smoothed_max(z, mu)[0]
        few = [smoothed_max(z, mu, k=k)[0] for k in range(1, z.size + 3)]
        rounding = 1e-12 * max(mu, np.abs(z).max())
        assert few[0] == z.max()
        assert np.all(np.diff(few) >= -rounding)
        assert few[-1] == whole
        bounds = z.max() + mu / 2 * (1 - 1 / np.arange(1, z.size + 3))
        assert np.all(few <= bounds + rounding)


def test_a_last_weight_of_zero_says_that_the_surrogate_is_exact(rng):
    n_exact = 0
    for z, mu in itertools.product(vectors(rng), MUS):
        value, u = smoothed_max(z, mu, k=3)
        if np.count_nonzero(u) < 3:
            n_exact += 1
            np.testing.assert_array_equal(u, smoothed_max(z, mu)[1])
            assert value == smoothed_max(z, mu)[0]
    assert n_exact > 100


@pytest.mark.parametrize("k", [None, 1, 2, 4])
def test_convex_with_the_weights_as_a_subgradient(k, rng):
    for z, mu in itertools.product(vectors(rng), (0.1, 2.0)):
        other = z + rng.normal(size=z.size)
        value, u = smoothed_max(z, mu, k=k)
        linear = value + u @ (other - z)
        assert smoothed_max(other, mu, k=k)[0] >= linear - 1e-12 * (1 + np.abs(z).max())


@each_smoother
def test_rows_of_a_table_are_vectors(smoother, rng):
    table = rng.normal(size=(2, 3, 5))
    values, weights = smoothed_max(table, 0.5, smoother, k=3)
    assert values.shape == (2, 3)
    assert weights.shape == table.shape
    for place in np.ndindex(2, 3):
        value, u = smoothed_max(table[place], 0.5, smoother, k=3)
        assert isinstance(value, float)
        assert values[place] == value
        np.testing.assert_array_equal(weights[place], u)


@pytest.mark.parametrize("mu", [None, 0, 0.0])
def test_without_smoothing_the_first_of_the_best(mu):
    value, weights = smoothed_max([1.0, 3.0, 3.0], mu, "entropy", k=2)
    assert value == 3.0
    np.testing.assert_array_equal(weights, [0, 1, 0])


@each_smoother
def test_impossible_outcomes_have_no_weight(smoother):
    value, weights = smoothed_max([-np.inf, 1.0, -np.inf, 0.5], 1.0, smoother)
    expected, few = smoothed_max([1.0, 0.5], 1.0, smoother)
    assert value == expected
    np.testing.assert_array_equal(weights[[1, 3]], few)
    np.testing.assert_array_equal(weights[[0, 2]], 0.0)


@each_smoother
def test_numbers_of_every_size(smoother):
    """Large scores swallow no small mu, and nothing overflows."""
    value, weights = smoothed_max([1e9, 1e9, 1e9 - 1], 1e-3, smoother)
    np.testing.assert_array_equal(weights, [0.5, 0.5, 0.0])
    assert value == pytest.approx(1e9, rel=1e-12)
    for scores in ([1.5e308, -1.5e308, 0.0], [-1.7e308, -1.7e308, -np.inf]):
        for mu in (1e-300, 1.0, 1e99):
            value, weights = smoothed_max(scores, mu, smoother)
            assert np.isfinite(value)
            assert weights.sum() == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mu": -1.0}, "mu == -1.0, must be >= 0"),
        ({"mu": np.nan}, "mu"),
        ({"mu": 1e200}, "mu must be at most 1e+100"),
        ({"k": 0}, "k == 0, must be >= 1"),
        ({"k": 1.5}, "k must be an instance of"),
        ({"smoother": "l1"}, "smoother must be"),
        ({"scores": []}, "scores must hold vectors along the last axis, got shape (0,)"),
        ({"scores": 1.0}, "scores must hold vectors along the last axis, got shape ()"),
        ({"scores": [1.0, np.nan]}, "scores contains NaN"),
        ({"scores": [1.0, np.inf]}, "scores must not be inf"),
        ({"scores": [[1.0, 2.0], [-np.inf, -np.inf]]}, "some outcome must be possible"),
    ],
)
def test_refusals(arguments, message):
    call = {"scores": [1.0, 2.0], "mu": 1.0, **arguments}
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        smoothed_max(**call)
