"""Thresholds and p-values from the scores of left-out rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from sklearn_fw import KernelStudentTDensity


@pytest.mark.parametrize("options", [{}, {"max_rank": 50}, {"kernel": "polynomial"}], ids=str)
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_contamination_is_the_share_of_training_rows_without_themselves(share, options, rng):
    X = rng.normal(size=(200, 3))
    density = KernelStudentTDensity(contamination=share, **options)
    assert (density.fit_predict(X) == -1).sum() == round(share * 200)


def wide_rows(kind, n, rng):
    """Rows of more features than there are rows, with some of them far from all others."""
    if kind == "lengths":
        return rng.standard_t(4, size=(n, 1)) * rng.normal(size=(n, 500))
    centers = np.random.RandomState(0).normal(size=(60, 500)) * 4
    return centers[rng.integers(60, size=n)] + rng.normal(size=(n, 500))


@pytest.mark.parametrize("kind", ["lengths", "clusters"])
def test_wide_rows_far_from_all_others_are_flagged(kind, rng):
    """Left-out rows come as near to the floor as new ones, which can still be below them."""
    flagged, found = [], []
    for _ in range(4):
        X, new = wide_rows(kind, 100, rng), wide_rows(kind, 400, rng)
        density = KernelStudentTDensity().fit(X)
        assert density.offset_ > density.log_floor_
        flagged.append(np.mean(density.predict(new) == -1))
        found.append(np.mean(density.novelty_p_values(rng.normal(size=(200, 500)) * 30) <= 0.05))
    assert 0.01 < np.mean(flagged) < 0.1
    assert np.mean(found) > 0.95


def test_a_threshold_at_the_floor_is_warned_of(rng):
    X = np.concatenate([rng.normal(size=(40, 2)), 100.0 * np.arange(1, 21)[:, None] * [1, 1]])
    with pytest.warns(RuntimeWarning, match="raise length_scale or contamination"):
        density = KernelStudentTDensity(length_scale=1.0).fit(X)
    assert np.all(density.predict(1e6 + X) == 1)


@pytest.mark.parametrize("options", [{}, {"max_rank": 40}, {"kernel": "polynomial"}], ids=str)
def test_copies_of_training_rows_raise_no_false_alarms(options, rng):
    X, new = rng.gamma(2.0, size=(200, 4)), rng.gamma(2.0, size=(2000, 4))
    density = KernelStudentTDensity(**options)
    plain = np.mean(density.fit(X).predict(new) == -1)
    for copied in (X[:1], X[:60], X, X[rng.integers(200, size=300)]):
        density.fit(np.concatenate([X, copied]))
        assert abs(np.mean(density.predict(new) == -1) - plain) < 0.04
        assert len(density.X_fit_) == 200
        assert density.leave_one_out_scores().shape == (200 + len(copied),)


def test_automatic_is_five_per_cent(rng):
    X = rng.normal(size=(300, 3))
    five = KernelStudentTDensity(contamination=0.05).fit(X)
    assert KernelStudentTDensity().fit(X).offset_ == five.offset_


def test_p_values_are_the_documented_formula(rng):
    X, new = rng.normal(size=(40, 2)), 2 * rng.normal(size=(15, 2))
    weight = rng.integers(0, 4, size=40)
    for sample_weight, rows in ((None, X), (weight, np.repeat(X, weight, axis=0))):
        density = KernelStudentTDensity(length_scale=1.0).fit(X, sample_weight=sample_weight)
        n, K = len(rows), np.exp(-0.5 * cdist(rows, rows, "sqeuclidean"))
        information = np.sum(np.linalg.inv(K + 0.01 * np.eye(n)))
        variance = np.empty(n)
        for i in range(n):  # B^-1 of the other rows, and the precision of the mean from all
            rest = np.flatnonzero(K[i] < 1.0)
            inverse = np.linalg.inv(K[np.ix_(rest, rest)] + 0.01 * np.eye(len(rest)))
            gap = 1.0 - np.sum(inverse @ K[rest, i])
            variance[i] = 1.01 - K[i, rest] @ inverse @ K[rest, i] + gap**2 / (1.0 + information)
        reference = -density.exponent_ * np.log(variance / 0.01)
        scores = density.score_samples(new)
        expected = [(1 + np.sum(reference <= score)) / (1 + n) for score in scores]
        assert_allclose(density.novelty_p_values(new), expected, rtol=1e-12)


def test_p_values_are_uniform_on_new_rows(rng):
    X, new = rng.normal(size=(500, 4)), rng.normal(size=(4000, 4))
    p = KernelStudentTDensity().fit(X).novelty_p_values(new)
    for share in (0.05, 0.1, 0.3, 0.7):
        assert abs(np.mean(p <= share) - share) < 0.04
    far = KernelStudentTDensity().fit(X).novelty_p_values(new + 50)
    assert_allclose(far, 1 / 501)


def test_rows_of_weight_zero_are_new_rows_in_fit_predict(rng):
    X = rng.normal(size=(60, 2))
    X[50:] += 30
    weight = np.repeat([1.0, 0.0], [50, 10])
    labels = KernelStudentTDensity(contamination=0.1).fit_predict(X, sample_weight=weight)
    assert (labels[:50] == -1).sum() == 5
    assert np.all(labels[50:] == -1)


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["exact", "published"])
def test_left_out_pivots_are_scored_as_in_refits(formula, rng):
    X = rng.normal(size=(150, 3))
    density = KernelStudentTDensity(length_scale=1.5, max_rank=30, formula=formula, beta=0.5).fit(X)
    refits = np.array([
        KernelStudentTDensity(length_scale=1.5, max_rank=30, formula=formula, beta=0.5)
        .fit(np.delete(X, i, axis=0)).score_samples(X[i : i + 1])[0]
        for i in range(150)
    ])  # fmt: skip
    scores = density.leave_one_out_scores()
    pivots = density._model.posterior.pivots
    others = np.setdiff1d(np.arange(150), pivots)
    assert_allclose(scores[others], refits[others], rtol=1e-9)
    assert_allclose(scores[pivots[-1]], refits[pivots[-1]], rtol=1e-9)
    # Without an early pivot a refit takes other columns later on: nearly the same scores.
    assert np.abs(scores - refits)[pivots].mean() < 0.1 * np.ptp(refits)
    assert np.corrcoef(scores[pivots], refits[pivots])[0, 1] > 0.9
    own = density.score_samples(X[pivots])
    assert np.all(scores[pivots] < own - 1.0)


def test_no_warning_from_rows_far_apart_that_are_added(rng):
    density = KernelStudentTDensity(length_scale=1.0)
    for row in 100 * np.eye(6):  # warnings are errors here
        density.partial_fit(row[None])
    assert len(density.X_fit_) == 6
