"""The automatic length scale: definition, invariances, and structure that it must see."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.neighbors import KernelDensity

from sklearn_fw import KernelStudentTDensity


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


def test_structure_chooses_the_length_scale(rng):
    # Clusters far apart at the corners of a cube: the median distance jumps over all of them.
    corners = rng.integers(0, 2, size=(300, 8)) * 2.0
    kept = corners[corners.sum(axis=1) % 4 == 0]
    X = kept + 0.05 * rng.normal(size=kept.shape)
    median = KernelStudentTDensity(length_scale="median").fit(X).length_scale_
    assert chosen(X) < median


@pytest.mark.filterwarnings("ignore:all rows get the same score:RuntimeWarning")
def test_few_rows_take_the_median(rng):
    X = rng.normal(size=(9, 2))
    assert chosen(X) == KernelStudentTDensity(length_scale="median").fit(X).length_scale_
    assert chosen(np.ones((20, 2))) == 1.0
