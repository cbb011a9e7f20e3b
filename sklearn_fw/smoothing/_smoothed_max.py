"""The maximum of many scores, smoothed."""

import numpy as np

from .._core.validation import check_array_of_numbers, check_choice, check_integer, check_moderate
from .._kernels import lazy

smoothing = lazy("common.smoothing")


def smoothed_max(scores, mu, smoother="l2", k=None):
    """Smooth approximation of the largest of some scores, and its gradient.

    ``max_u <u, scores> - mu omega(u)`` over all distributions u, where ``omega(u)`` is
    ``(||u||^2 - 1) / 2`` ("l2") or ``sum u log u`` ("entropy"). With "l2" few scores have weight;
    with "entropy" the value is ``mu log sum exp(scores / mu)`` and the weights are the softmax.

    Parameters
    ----------
    scores : array-like of shape (..., n)
        Scores of n outcomes along the last axis; ``-inf`` for those that are impossible.
    mu : float or None
        How smooth, in the unit of the scores, not negative. 0 or None is the maximum itself: the
        first of the best outcomes has all weight.
    smoother : {"l2", "entropy"}, default="l2"
        The function omega.
    k : int, default=None
        Only the k best outcomes count, at least 1. Where the last of them has no weight under
        "l2", others change nothing. None for all.

    Returns
    -------
    value : float or ndarray of shape (...)
        The smoothed maximum.
    weights : ndarray of shape (..., n)
        The maximiser u, which is the gradient of the value in the scores where k is None, and a
        subgradient with "l2" for every k.

    See Also
    --------
    sklearn_fw.projections.project_simplex : The weights of "l2" are that of ``scores / mu``.

    Notes
    -----
    The value is not below the maximum, and above it by at most ``mu / 2 * (1 - 1 / n)`` with "l2",
    ``mu log n`` with "entropy" [1]_; it grows with mu and is convex in the scores, with "l2" also
    for every k. The slope of the weights is at most ``1 / mu``. Sorts the scores: O(n log n) each.

    References
    ----------
    .. [1] K. Pillutla, V. Roulet, S. M. Kakade, Z. Harchaoui, "A smoother way to train structured
       prediction models", NeurIPS 2018: Propositions 2 and 3.

    Examples
    --------
    >>> from sklearn_fw.smoothing import smoothed_max
    >>> value, weights = smoothed_max([1.0, 0.5, -1.0], mu=1.0)
    >>> value
    1.0625
    >>> weights
    array([0.75, 0.25, 0.  ])
    """
    codes = {"l2": smoothing.L2, "entropy": smoothing.ENTROPY}
    code = codes[check_choice(smoother, "smoother", tuple(codes))]
    scores = _possible(check_array_of_numbers(scores, "scores", finite=False))
    mu = 0.0 if mu is None else check_moderate(mu, "mu")
    n = scores.shape[-1]
    k = n if k is None else min(check_integer(k, "k", 1), n)
    rows = scores.reshape(-1, n)
    best = np.argsort(-rows, axis=1, kind="stable")[:, :k]
    values, few = np.empty(len(rows)), np.empty((len(rows), k))
    smoothing.smoothed_max_rows(np.take_along_axis(rows, best, axis=1), mu, code, values, few)
    weights = np.zeros(rows.shape)
    np.put_along_axis(weights, best, few, axis=1)
    value = values.reshape(scores.shape[:-1])
    return (float(value) if scores.ndim == 1 else value), weights.reshape(scores.shape)


def _possible(scores):
    """The scores, if each vector has a largest one that is finite."""
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"scores must hold vectors along the last axis, got shape {scores.shape}")
    if np.any(scores == np.inf):
        raise ValueError("scores must not be inf; impossible outcomes have the score -inf")
    if np.any(scores.max(axis=-1) == -np.inf):
        raise ValueError("scores has a vector of -inf alone: some outcome must be possible")
    return scores
