"""Sums over all rows: losses and slopes, outer products; coordinate descent on quadratics."""

import math

from .._jit import lean
from .losses import derivative, softmax_loss, value
from .prox import prox_separable


@lean
def losses_and_slopes(loss, y, z, shift, weight, slopes):
    """Sum of the weighted losses at the scores ``z + shift``, and the slopes into ``slopes`` (n,).

    ``weight`` (n,) and ``slopes`` may be None, and ``slopes`` may be ``z`` itself.
    """
    total = 0.0
    for i in range(z.size):
        truth, score = y[i], z[i] + shift
        factor = 1.0 if weight is None else weight[i]
        total += factor * value(loss, truth, score)
        if slopes is not None:
            slopes[i] = factor * derivative(loss, truth, score)
    return total


@lean
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


@lean
def softmax_losses_and_slopes(y, z, weight, slopes):
    """As `losses_and_slopes`, for a score per class: ``z`` and ``slopes`` are (n, n_classes)."""
    total = 0.0
    for i in range(z.shape[0]):
        factor = 1.0 if weight is None else weight[i]
        total += softmax_loss(y[i], z[i], factor, slopes[i])
    return total


@lean
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


@lean
def add_outer_products(data, indices, indptr, curvature, total, mass):
    """Add ``sum_i h_i x_i x_i^T`` of CSR rows to ``total`` and ``sum_i h_i x_i`` to ``mass``.

    ``curvature`` (n_rows,) holds the h_i; rows where it is zero are left out.
    """
    for i in range(curvature.size):
        if curvature[i] == 0.0:
            continue
        for k in range(indptr[i], indptr[i + 1]):
            scaled = curvature[i] * data[k]
            column = total[indices[k]]
            mass[indices[k]] += scaled
            for m in range(indptr[i], indptr[i + 1]):
                column[indices[m]] += scaled * data[m]


@lean
def descend(hessian, slopes, w, l1, l2, bounds, n_sweeps, rounding):
    """Coordinate descent on ``<slopes, w> + w H w / 2 + l1 |w|_1 + l2 |w|^2 / 2`` on a box.

    ``slopes`` is the gradient of the quadratic part at ``w``, and both change in place; ``bounds``
    (n, 2) are infinite for none. A sweep is the last one if no move, in the unit of the curvature,
    is above ``rounding`` times the longest coefficient; returns whether one of ``n_sweeps`` was.
    """
    for _ in range(n_sweeps):
        longest, furthest = 0.0, 0.0
        for j in range(w.size):
            curvature = hessian[j, j]
            if curvature <= 0.0:
                continue
            before = w[j]
            after = prox_separable(
                before - slopes[j] / curvature, 1.0 / curvature, l1, l2, bounds[j, 0], bounds[j, 1]
            )
            change = after - before
            longest = max(longest, math.sqrt(curvature) * abs(after))
            if change == 0.0:
                continue
            furthest = max(furthest, math.sqrt(curvature) * abs(change))
            w[j] = after
            row = hessian[j]
            for k in range(w.size):
                slopes[k] += change * row[k]
        if furthest <= rounding * longest:
            return True
    return False
