"""The default length scale: the one whose left-out rows stand out best from unstructured data."""

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.metrics import roc_auc_score

from ._kernel_functions import RadialKernel
from ._model import StudentTModel
from ._posterior import ExactPosterior

__all__ = ["best_length_scale", "choose_length_scale", "distinct_rows", "median_distance"]

MULTIPLES = (0.25, 0.5, 1.0, 2.0)  # of the median distance
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


def best_length_scale(median, area):
    """The multiple of the median distance with the largest ``area(length_scale)``."""
    return max((multiple * median for multiple in MULTIPLES), key=area)


def choose_length_scale(X, name, *, sigma0, beta):
    """Choose among four multiples of the median distance, in closed form.

    The scores of an unnormalised density cannot be compared between length scales, but rankings
    can. Each candidate ranks the rows, every one scored without itself, against reference rows
    whose features were drawn independently: from their own columns, or uniformly from the range if
    there is one column only. The largest area under the ROC curve wins. This is novelty detection
    with artificial novelties, so it needs neither labels nor the exponent.

    Distinct rows enter once, whatever their order, number of copies or weight, and the reference
    is drawn with a fixed seed: the same rows always give the same answer.
    """
    rows = distinct_rows(X, MAX_ROWS)
    median = median_distance(X)
    if len(rows) < MIN_ROWS:
        return median
    reference = independent_features(rows, np.random.RandomState(0))
    labels = np.repeat([1, 0], [len(rows), len(reference)])
    weight = np.ones(len(rows))

    def area(length_scale):
        kernel = RadialKernel(name, length_scale, rows.mean(axis=0))
        posterior = ExactPosterior(kernel(rows, rows), sigma0**2 * weight)
        model = StudentTModel(
            posterior, weight, sigma0=sigma0, alpha=1.0, beta=beta, formula="exact"
        )
        seen = model.held_out_variance(0.0 * weight)
        new = model.variance(*posterior.project(kernel(reference, rows), np.ones(len(reference))))
        return roc_auc_score(labels, -np.concatenate([seen, new]))

    return best_length_scale(median, area)


def independent_features(rows, rng):
    """At least as many rows as given, and no fewer than MAX_ROWS, with independent features."""
    n_copies = -(-MAX_ROWS // len(rows))
    if rows.shape[1] == 1:
        return rng.uniform(rows.min(), rows.max(), size=(n_copies * len(rows), 1))
    copies = [
        np.column_stack([rng.permutation(column) for column in rows.T]) for _ in range(n_copies)
    ]
    return np.concatenate(copies)
