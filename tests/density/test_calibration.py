"""Thresholds, p-values and the automatic length scale, also on real novelty sets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.neighbors import KernelDensity

from sklearn_fw import KernelStudentTDensity


def draw_cubes(rng, n):
    return rng.normal(size=(n, 5)) ** 3


def draw_counts(rng, n):
    """Rows of which many are copies: these share a side, so that fewer may be flagged."""
    return rng.poisson(1.0, size=(n, 3)).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "options", "share", "below", "above"),
    [
        (draw_cubes, {}, 0.05, 0.02, 0.02),
        (draw_cubes, {"max_rank": 60}, 0.2, 0.03, 0.03),
        (draw_counts, {}, 0.1, 0.04, 0.02),
    ],
    ids=["rows", "low rank", "copies"],
)
def test_contamination_is_the_share_of_new_rows(draw, options, share, below, above, rng):
    flagged = []
    for _ in range(3):
        density = KernelStudentTDensity(contamination=share, **options)
        labels = density.fit_predict(draw(rng, 400))
        if draw is draw_cubes:
            assert (labels == -1).sum() == round(share * 400)
        flagged.append(np.mean(density.predict(draw(rng, 2000)) == -1))
    assert share - below < np.mean(flagged) < share + above


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


def chosen(X):
    return KernelStudentTDensity().fit(X).length_scale_


def left_out_likelihood(X, bandwidth):
    rest = [KernelDensity(bandwidth=bandwidth).fit(np.delete(X, i, axis=0)) for i in range(len(X))]
    return np.mean([kde.score_samples(X[i : i + 1])[0] for i, kde in enumerate(rest)])


@pytest.mark.parametrize("n_features", [1, 3])
def test_multiple_of_the_bandwidth_of_the_left_out_likelihood(n_features, rng):
    X = np.concatenate([rng.normal(size=(50, n_features)), rng.normal(6, 0.3, (30, n_features))])
    bandwidth = chosen(X) / 3.5
    likelihood = left_out_likelihood(X, bandwidth)
    for factor in (2.0**-0.25, 2.0**0.25):
        assert left_out_likelihood(X, factor * bandwidth) < likelihood


def test_many_independent_features_still_see_their_neighbours(rng):
    X = rng.normal(size=(150, 1000))
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    assert chosen(X) == pytest.approx(0.5 * np.median(distances.min(axis=1)))
    assert chosen(X[:, :5]) > 0.5 * np.median(np.sort(cdist(X[:, :5], X[:, :5]))[:, 1])


def test_scale_copies_and_order_change_nothing(rng):
    X = rng.normal(size=(60, 3))
    X[:, 0] *= X[:, 1]
    expected = chosen(X)
    assert_allclose(chosen(1e5 * X + 7e5), 1e5 * expected, rtol=1e-9)
    assert_allclose(chosen(np.repeat(X[rng.permutation(60)], 3, axis=0)), expected, rtol=1e-12)


def test_units_of_features_do_not_matter(rng):
    X, new = rng.normal(size=(200, 4)), 2 * rng.normal(size=(50, 4))
    units = np.array([1e-3, 1.0, 20.0, 1e4])
    plain, scaled = KernelStudentTDensity().fit(X), KernelStudentTDensity().fit(units * X)
    assert np.ndim(plain.length_scale_) == 0  # a single unit serves
    assert scaled.length_scale_.shape == (4,)
    assert_allclose(scaled.length_scale_ / units, plain.length_scale_, rtol=0.2)
    ranks = [np.argsort(np.argsort(density.score_samples(rows)))
             for density, rows in ((plain, new), (scaled, units * new))]  # fmt: skip
    assert np.corrcoef(ranks)[0, 1] > 0.98


def test_rare_entries_are_not_blown_up(rng):
    # Two rows of 300 are not empty in the last feature: by its standard deviation they would lie
    # 12 units away; in the unit of its entries they lie one away.
    X = np.column_stack([rng.normal(size=300), 1e3 * rng.normal(size=300), np.zeros(300)])
    X[:2, 2] = 1.0
    scale = chosen(X)
    assert scale[2] / scale[0] == pytest.approx(1.0, rel=0.2)


@pytest.mark.filterwarnings("ignore:all rows get the same score:RuntimeWarning")
def test_few_rows_take_the_median(rng):
    X = rng.normal(size=(9, 2))
    assert chosen(X) == KernelStudentTDensity(length_scale="median").fit(X).length_scale_
    assert chosen(np.ones((20, 2))) == 1.0
