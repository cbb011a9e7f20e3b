"""Concave quadratics on the simplex, exactly: the small problems of cutting planes."""

import numpy as np

from ._min_norm_point import nearest_mean

# Added to the diagonal, as a share of its largest entry. Where the quadratic is flat, steps then
# are long instead of infinite, and end where a weight becomes zero.
RIDGE = 1e-13


def maximise_on_simplex(gram, linear, weights, accuracy):
    """Weights a of sum one that maximise ``<linear, a> - a' gram a / 2``.

    One weight of largest slope joins those in use at a time, and all of these are corrected, as in
    Wolfe's method for nearest points.

    Parameters
    ----------
    gram : ndarray of shape (k, k)
        Symmetric, positive semidefinite.
    linear : ndarray of shape (k,)
        Slopes at zero.
    weights : ndarray of shape (k,)
        Where to start, not negative and of sum one.
    accuracy : float
        The maximum may be larger by as much.

    Returns
    -------
    weights : ndarray of shape (k,)
        Exact zeros where they are not needed.
    """
    scale = max(np.diagonal(gram).max(), np.abs(linear).max(), 1e-300)
    gram, linear = gram / scale + np.diag(np.full(len(linear), RIDGE)), linear / scale
    value = -np.inf
    while True:
        slopes = linear - gram @ weights
        best = int(slopes.argmax())
        if slopes[best] - weights @ slopes <= accuracy / scale:
            return weights
        reached = 0.5 * (weights @ (linear + slopes))
        if not reached > value:  # rounding decides from here on
            return weights
        value = reached
        used = weights > 0.0
        used[best] = True
        used = np.flatnonzero(used)
        found = nearest_mean(weights[used], gram[np.ix_(used, used)], linear[used])
        weights = np.zeros_like(weights)
        weights[used] = found
