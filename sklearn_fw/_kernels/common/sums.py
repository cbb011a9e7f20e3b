"""Sums over all rows: losses and slopes, outer products; coordinate descent on quadratics."""

import math

import numpy as np

from .._jit import njit
from .losses import bend, derivative, loss_parts, softmax_loss
from .prox import prox_separable

# Curvature up to which a column is straight: no step along it can be computed.
STRAIGHT = 1e-100
# Product of the factors of losses, which are at most 2, from which on it is not multiplied further.
LARGE = 1e100


@njit
def losses_and_slopes(loss, y, z, shift, weight, slopes):
    """Sum of the weighted losses at the scores ``z + shift``, and the slopes into ``slopes`` (n,).

    ``weight`` (n,) and ``slopes`` may be None, and ``slopes`` may be ``z`` itself.
    """
    total, product = 0.0, 1.0
    for i in range(z.size):
        factor = 1.0 if weight is None else weight[i]
        slope, plain, inner = loss_parts(loss, y[i], z[i] + shift)
        total += factor * plain
        if weight is not None:
            total += factor * math.log(inner)
        elif product < LARGE:
            product *= inner
        else:
            total += math.log(product)
            product = inner
        if slopes is not None:
            slopes[i] = factor * slope
    return total + math.log(product)


@njit
def sum_slopes(loss, y, z, shift, weight):
    """Sums of slopes at the scores ``z + shift``, their absolute values and their derivatives.

    All are weighted.
    """
    total, size, curvature = 0.0, 0.0, 0.0
    for i in range(z.size):
        slope = derivative(loss, y[i], z[i] + shift)
        factor = 1.0 if weight is None else weight[i]
        total += factor * slope
        size += factor * abs(slope)
        curvature += factor * bend(loss, slope)
    return total, size, curvature


@njit
def softmax_losses_and_slopes(y, z, weight, slopes):
    """As `losses_and_slopes`, for a score per class: ``z`` and ``slopes`` are (n, n_classes)."""
    total = 0.0
    for i in range(z.shape[0]):
        factor = 1.0 if weight is None else weight[i]
        total += softmax_loss(y[i], z[i], factor, slopes[i])
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


# Numbers without a sign need no test whether they count from the end.


@njit
def add_outer_products(data, indices, indptr, curvature, places, total, mass):
    """``sum_i h_i x_i x_i^T`` of CSR rows into ``total`` and ``sum_i h_i x_i`` into ``mass``.

    Both hold zeros, for the columns whose ``places`` (n_columns,) in them are not -1;
    ``curvature`` (n_rows,) holds the h_i, and rows where it is zero are left out.
    """
    at, values = np.empty(mass.size, np.uint64), np.empty(mass.size)
    for i in range(curvature.size):
        if curvature[i] == 0.0:
            continue
        size = 0
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            place = places[np.uint64(indices[k])]
            if place >= 0:
                at[size], values[size] = place, data[k]
                size += 1
        for k in range(size):
            scaled = curvature[i] * values[k]
            mass[at[k]] += scaled
            for m in range(k + 1):  # every pair once
                total[at[k], at[m]] += scaled * values[m]
    for j in range(mass.size):
        for k in range(j):
            total[j, k] = total[k, j] = total[j, k] + total[k, j]


@njit
def add_squares(data, indices, indptr, curvature, total):
    """Add the sums ``sum_i h_i x_ij^2`` of CSR rows to ``total``, for several h_i of a row."""
    for i in range(len(curvature)):
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            square, own = np.float64(data[k]) * data[k], total[np.uint64(indices[k])]
            for c in range(own.size):
                own[c] += curvature[i, c] * square


@njit
def add_products(data, indices, indptr, curvature, v, total):
    """Add ``sum_i h_i <x_i, v> x_i`` to ``total``; x_i are CSR rows and a 1 for the intercept."""
    for i in range(curvature.size):
        start, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        score = v[-1]
        for k in range(start, stop):
            score += data[k] * v[np.uint64(indices[k])]
        score *= curvature[i]
        total[-1] += score
        for k in range(start, stop):
            total[np.uint64(indices[k])] += score * data[k]


@njit
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
            if curvature <= STRAIGHT:
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


@njit
def descend_columns(
    data, indices, indptr, places, h, slopes, w, l1, l2, centers, drift, n_sweeps, share
):  # fmt: skip
    """Coordinate descent on ``<slopes, v> + |X v|_h^2 / 2 + l1 |w + v|_1 + l2 |w + v|^2 / 2``.

    v moves from zero in the CSC columns of ``places``, and with it ``w``; with ``centers`` an
    intercept follows, along which the slope at v = 0 is ``drift``; the sum of h is not zero. Sweeps
    over all of these columns alternate with some over those that are not zero, until one over all
    decreases less than ``share`` of what the first one did. Returns the slope along the intercept
    and whether one did.
    """
    ahead = np.zeros(h.size)  # h times scores
    squares, means = np.zeros(places.size), np.zeros(places.size)
    mass, first = h.sum(), 0.0
    for k in range(places.size):
        for p in range(np.uint64(indptr[places[k]]), np.uint64(indptr[places[k] + 1])):
            scaled = h[np.uint64(indices[p])] * data[p]
            means[k] += scaled if centers else 0.0
            squares[k] += scaled * data[p]
        squares[k] -= means[k] * (means[k] / mass)
    for sweep in range(n_sweeps):
        decrease, every = 0.0, sweep % 4 == 0
        for k in range(places.size):
            j = places[k]
            before = w[j]
            if squares[k] <= STRAIGHT or (before == 0.0 and not every):
                continue
            start, stop = np.uint64(indptr[j]), np.uint64(indptr[j + 1])
            slope = slopes[j] - means[k] * (drift / mass)
            for p in range(start, stop):
                slope += data[p] * ahead[np.uint64(indices[p])]
            after = prox_separable(
                before - slope / squares[k], 1.0 / squares[k], l1, l2, -np.inf, np.inf
            )
            change = after - before
            if change == 0.0:
                continue
            w[j] = after
            drift += change * means[k]
            decrease += squares[k] * change * change
            for p in range(start, stop):
                i = np.uint64(indices[p])
                ahead[i] += change * h[i] * data[p]
        first = decrease if sweep == 0 else first
        if every and sweep > 0 and decrease <= share * first:
            return drift, True
    return drift, False
