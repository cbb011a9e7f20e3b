"""Epochs of dense SAGA and SAG at sparse cost: columns catch up when a row needs them.

Between two rows that touch a column v its A_v is constant, and dense SAGA does nothing but repeat
``x_v <- prox_{gamma / n}(x_v - (gamma / n) A_v)``. For elastic net m repetitions have a closed
form, so the iterates are those of the dense method (in the sum form of `incremental.py`).
"""

import math

import numpy as np

from .._jit import inner, njit
from ..common.losses import loss_parts
from ..common.rows import entry, extent, fetch_ahead
from .incremental import gamma_of, weight_of

SHORT = 6  # so many repetitions cost less than the logarithms of the closed form


@inner
def repeat(x, m, shift, threshold, shrink):
    """Apply ``x <- shrink * soft(x - shift, threshold)`` m times.

    On each side of zero the map is affine; once the point crosses zero or lands on it, the rest
    happens on the other side or there.
    """
    if m <= SHORT:
        for _ in range(m):
            y = x - shift
            x = shrink * (max(y - threshold, 0.0) - max(-y - threshold, 0.0))
        return x
    for _ in range(3):
        if m <= 0:
            break
        if x > shift + threshold:
            x, m = _descend(x, m, shift + threshold, shrink)
        elif x < shift - threshold:
            y, m = _descend(-x, m, threshold - shift, shrink)
            x = -y
        else:
            x = 0.0
            m -= 1
            if shift - threshold <= 0.0 <= shift + threshold:
                break
    return x


@inner
def _descend(x, m, c, shrink):
    """Apply ``x <- shrink * (x - c)`` while x > c, at most m times; also how many are left."""
    k = m
    if shrink < 1.0:
        rate = math.log(shrink)
        fixed = -shrink * c / (1.0 - shrink)
        end = x + math.expm1(m * rate) * (x - fixed)
        if c > 0.0 and end <= 0.0:  # the last step does not begin above c
            k = min(m, max(1, _whole(math.log((c - fixed) / (x - fixed)) / rate) + 1))
            end = x + math.expm1(k * rate) * (x - fixed)
        return end, m - k
    if c > 0.0:
        k = min(m, max(1, math.ceil((x - c) / c)))
    return x - k * c, m - k


@inner
def _whole(x):
    return np.int64(math.floor(x))


@njit
def lagged_epoch(rows, target, penalty, order, x, total, memory, n, gamma, pull, metric, last):
    """Make a dense step on each row of ``order``.

    Parameters
    ----------
    rows, target, penalty : Rows, Target, Separable
        The problem, without bounds.
    order : (n_steps,) int array
        Row numbers.
    x, total : (n_columns + 1,) float64 arrays
        Iterate and A, changed in place; the last entry is the intercept.
    memory : (n_rows,) float64 array
        Changed in place.
    n : int
        Number of rows with weight: a step takes a share 1 / n of A.
    gamma : tuple of two floats
        Step sizes of the columns and of the intercept; 0 leaves the intercept out.
    pull : float
        1 for SAGA, 1 / n for SAG: the factor of the difference of gradients.
    metric : (n_columns,) float64 array or None
        Factors of the step size of the columns.
    last : (n_columns,) int64 array
        Scratch.

    Returns
    -------
    concave : float
        As `incremental.epoch`.
    """
    d = x.size - 1
    concave = 0.0
    last[:] = 0
    for t in range(order.size):
        fetch_ahead(rows, order, t, target.y, memory)
        i = order[t]
        start, stop, shift = extent(rows, i)
        z = x[d] if gamma[1] > 0.0 else 0.0
        for k in range(start, stop):
            j = rows.indices[k - shift]
            x[j] = catch_up(x[j], t - last[j], gamma_of(gamma, metric, j) / n, total[j], penalty)
            z += entry(rows.data, k, rows.center, j) * x[j]
        g, plain, factor = loss_parts(target.loss, target.y[i], z)
        s = weight_of(target.weight, i)
        g *= s
        concave += s * (plain + math.log(factor)) - g * z
        change = g - memory[i]
        memory[i] = g
        for k in range(start, stop):
            j = rows.indices[k - shift]
            a = entry(rows.data, k, rows.center, j)
            step = gamma_of(gamma, metric, j)
            x[j] = catch_up(x[j] - step * pull * change * a, 1, step / n, total[j], penalty)
            total[j] += change * a
            last[j] = t + 1
        x[d] -= gamma[1] * (pull * change + total[d] / n)
        total[d] += change
    for j in range(d):
        step = gamma_of(gamma, metric, j) / n
        x[j] = catch_up(x[j], order.size - last[j], step, total[j], penalty)
    return concave


@inner
def catch_up(x, m, step, total, penalty):
    return repeat(x, m, step * total, step * penalty.l1, 1.0 / (1.0 + step * penalty.l2))
