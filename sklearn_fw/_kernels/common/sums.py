"""Sums of weighted losses over all rows, with their slopes, in one pass over the scores."""

import math

from .._jit import njit
from .losses import derivative, value


@njit
def losses_and_slopes(loss, y, z, weight, slopes):
    """Sum of the weighted losses at the scores ``z`` (n,), and the slopes into ``slopes`` (n,).

    ``weight`` (n,) may be None, and ``slopes`` may be ``z`` itself.
    """
    total = 0.0
    for i in range(z.size):
        truth, score = y[i], z[i]
        factor = 1.0 if weight is None else weight[i]
        total += factor * value(loss, truth, score)
        slopes[i] = factor * derivative(loss, truth, score)
    return total


@njit
def sum_losses(loss, y, z, shift, weight):
    """Sum of the weighted losses at the scores ``z + shift``."""
    total = 0.0
    for i in range(z.size):
        factor = 1.0 if weight is None else weight[i]
        total += factor * value(loss, y[i], z[i] + shift)
    return total


@njit
def sum_slopes(loss, y, z, shift, weight):
    """Sum of the weighted slopes at the scores ``z + shift``, and of their absolute values."""
    total, size = 0.0, 0.0
    for i in range(z.size):
        slope = derivative(loss, y[i], z[i] + shift)
        if weight is not None:
            slope *= weight[i]
        total += slope
        size += abs(slope)
    return total, size


@njit
def softmax_losses_and_slopes(y, z, weight, slopes):
    """As `losses_and_slopes`, for a score per class: ``z`` and ``slopes`` are (n, n_classes)."""
    total = 0.0
    n_classes = z.shape[1]
    for i in range(z.shape[0]):
        label = int(y[i])
        top = 0
        for k in range(1, n_classes):
            if z[i, k] > z[i, top]:
                top = k
        highest, true = z[i, top], z[i, label]
        others, wrong = 0.0, 0.0
        for k in range(n_classes):
            slopes[i, k] = math.exp(z[i, k] - highest)
            if k != top:
                others += slopes[i, k]
            if k != label:
                wrong += slopes[i, k]
        factor = 1.0 if weight is None else weight[i]
        total += factor * ((highest - true) + math.log1p(others))
        share = factor / (1.0 + others)
        for k in range(n_classes):
            slopes[i, k] *= share
        slopes[i, label] = -share * wrong  # p - 1 would lose the digits of a small error
    return total


@njit
def softmax_curvature(p, weight, moves, out):
    """Changes of the weighted slopes when the scores move, to first order, into ``out``.

    ``p`` (n, n_classes) are probabilities; ``out`` may be ``moves`` itself.
    """
    for i in range(p.shape[0]):
        mean = 0.0
        for k in range(p.shape[1]):
            mean += p[i, k] * moves[i, k]
        factor = 1.0 if weight is None else weight[i]
        for k in range(p.shape[1]):
            out[i, k] = factor * p[i, k] * (moves[i, k] - mean)
