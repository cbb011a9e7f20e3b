"""The default length scale, from the leave-one-out likelihood of a kernel density estimate."""

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.special import logsumexp

MULTIPLE = 3.5  # length scale over bandwidth, by mean and worst regret over nineteen novelty sets
NEIGHBOUR = 0.5  # least length scale over the median distance to the nearest neighbour
# Largest distance to the nearest neighbor, in length scales, of 95 % of the rows. Beyond 5 a
# neighbor changes no digit of a score; on nineteen novelty sets it is at most 3.2.
REACH, REACHED = 4.0, 0.95
OCTAVES = (-6, 1)  # range of the bandwidth around the median distance
GAIN = 1.0  # nats per row that units of single features must win beyond one for each unit
MAX_ROWS = 500
MIN_ROWS = 10  # with fewer rows nothing can be compared, and the median is taken


def distinct_rows(X, limit):
    """At most `limit` distinct rows in an order that depends on their values alone."""
    rows = np.unique(X, axis=0)
    if len(rows) > limit:
        rows = rows[np.linspace(0, len(rows) - 1, limit).round().astype(int)]
    return rows


def median_distance(X, max_rows=1000):
    """Median Euclidean distance of distinct rows; 1 if there is but one row."""
    rows = distinct_rows(X, max_rows)
    return float(np.median(pdist(rows))) if len(rows) > 1 else 1.0


def choose_length_scale(X):
    """3.5 times the bandwidth of a Gaussian kernel density estimate that leaves rows out best.

    Scores of an unnormalised density cannot be compared between length scales; the estimate of
    Gaussians around the other rows is normalised and needs distances only. Its bandwidth tells
    how finely the rows are clustered, tails included. Where it gains much from measuring every
    feature in a unit of its own, the answer is an array, else a number. With many independent
    features, or small clusters far apart, the bandwidth falls far below most distances. The least
    length scale is half the median distance to the nearest neighbor and a quarter of that which
    95 % of the rows do not exceed: so many rows are then told from empty space.

    Distinct rows enter once, whatever their order, number of copies or weight.
    """
    unit = likely_unit(X)
    rows = distinct_rows(X, MAX_ROWS)
    if len(rows) < MIN_ROWS:
        return median_distance(X)
    return max(MULTIPLE * likely_bandwidth(rows / unit)[0], _least(rows / unit)) * unit


def _least(rows):
    """Smallest length scale under which rows differ from empty space."""
    distances = squareform(pdist(rows))
    np.fill_diagonal(distances, np.inf)
    nearest = distances.min(axis=1)
    return float(max(NEIGHBOUR * np.median(nearest), np.quantile(nearest, REACHED) / REACH))


def likely_unit(X):
    """1, or the units of the features where these gain a nat of likelihood for every row.

    Fitting d units gains up to about d nats in all when there is nothing to gain; these do not
    count.
    """
    rows = distinct_rows(X, MAX_ROWS)
    units = feature_units(np.unique(X, axis=0))
    if len(rows) < MIN_ROWS or np.ptp(units) <= 1e-9 * units.max():
        return 1.0
    varying = np.ptp(rows, axis=0) > 0
    rows, volume = rows[:, varying], np.log(units[varying]).sum()
    common = likely_bandwidth(rows)[1]
    single = likely_bandwidth(rows / units[varying])[1] - volume
    return units if single > common + GAIN + rows.shape[1] / len(rows) else 1.0


def feature_units(rows):
    """Root mean square distance from the median, of the rows that are not at the median.

    A pixel that is mostly empty, or the column of a rare category, thus has a unit like those of
    the others, where its standard deviation would blow up its few entries.
    """
    squares = (rows - np.median(rows, axis=0)) ** 2
    away = np.maximum((squares > 0).sum(axis=0), 1)
    units = np.sqrt(squares.sum(axis=0) / away)
    return np.where(units > 0, units, 1.0)


def likely_bandwidth(rows):
    """Return (bandwidth, mean log density) of the best leave-one-out likelihood.

    The density at a row is the mean of Gaussians around the others. The bandwidth is found to a
    quarter of an octave, between 1/64 and 2 times the median distance.
    """
    squares = pdist(rows, "sqeuclidean")
    median = float(np.sqrt(np.median(squares)))
    squares = squareform(squares)
    np.fill_diagonal(squares, np.inf)
    n, d = rows.shape
    found = {}

    def likelihood(octave):
        if octave not in found:
            width = median * 2.0**octave
            logs = logsumexp(squares / (-2.0 * width**2), axis=1)
            found[octave] = logs.mean() - np.log(n - 1.0) - d * np.log(width * np.sqrt(2.0 * np.pi))
        return found[octave]

    best = max(np.arange(OCTAVES[0], OCTAVES[1] + 1.0), key=likelihood)
    for step in (0.5, 0.25):
        best = max((best, best - step, best + step), key=likelihood)
    best = float(np.clip(best, *OCTAVES))
    return median * 2.0**best, likelihood(best)
