"""Second-order models: the weighted sum of outer products of rows, and its coordinate descent."""

import math

from .._jit import njit
from .prox import prox_separable


@njit
def add_outer_products(data, indices, indptr, curvature, total, mass):
    """Add ``sum_i h_i x_i x_i^T`` of CSR rows to ``total`` and ``sum_i h_i x_i`` to ``mass``.

    Parameters
    ----------
    data, indices, indptr : arrays
        The rows.
    curvature : (n_rows,) float64 array
        The h_i; rows where it is zero are left out.
    total : (n_columns, n_columns) float64 array
        Changed in place.
    mass : (n_columns,) float64 array
        Changed in place.
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


@njit
def descend(hessian, slopes, w, l1, l2, bounds, n_sweeps, rounding):
    """Coordinate descent on ``<slopes, w> + w H w / 2 + l1 |w|_1 + l2 |w|^2 / 2``.

    Parameters
    ----------
    hessian : (n, n) float64 array
        Symmetric, not negative definite.
    slopes : (n,) float64 array
        Gradient of the quadratic part at ``w``; changed in place with it.
    w : (n,) float64 array
        Changed in place.
    l1, l2 : float
        Weights of the penalty.
    bounds : (n, 2) float64 array
        Lower and upper bounds, infinite for none.
    n_sweeps : int
        Most sweeps over the coordinates.
    rounding : float
        A sweep is the last one if no move, in the unit of the curvature, is above this share of
        the longest coefficient.

    Returns
    -------
    bool
        Whether there was such a sweep.
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
