"""Epochs of coordinate ascent on the dual of ``sum_i s_i loss(y_i, <a_i, w> + c) + penalty(w)``.

With l1 and l2 of the penalty and the memory ``alpha_i`` of row i, the slope of its weighted loss,
one array holds ``v = -sum_i alpha_i a_i / l2``, and ``w = soft(v, l1 / l2)``, put into its bounds.
The step on row i moves alpha_i to where the dual is largest, for l1 = 0 and no bounds, or at least
as much larger as the smoothness of the conjugate of the penalty promises:

    x = prox_{t loss}(z + q alpha_i),  q = |a_i|^2 / l2 + r,  t = q s_i,  z = <a_i, w> + c

    alpha_i <- s_i loss'(y_i, x),  v <- v - (change of alpha_i) a_i / l2,  c <- c - r change

The intercept is a column of ones whose penalty ``(c - c_0)^2 / (2 r)`` has a centre that moves.
"""

import math
from typing import NamedTuple

import numpy as np

from ._jit import inner, njit
from .incremental import FACTORS, weight_of
from .losses import loss_parts, prox
from .prox import prox_separable
from .rows import entry, extent, fetch_ahead


class Curved(NamedTuple):
    """Strongly convex penalty: 1 / l2, l1 / l2, and bounds (n_columns, 2) or None."""

    scale: float
    threshold: float
    bounds: np.ndarray | None


@inner
def coefficient(v, penalty, shape, j):
    """w of column j; ``shape`` None says that it is v itself."""
    if shape is None:
        return v[j]
    if penalty.bounds is None:
        return max(v[j] - penalty.threshold, 0.0) - max(-v[j] - penalty.threshold, 0.0)
    return prox_separable(
        v[j], 1.0, penalty.threshold, 0.0, penalty.bounds[j, 0], penalty.bounds[j, 1]
    )


@inner
def term(rows, penalty, shape, v, p, shift):
    j = rows.indices[p - shift]
    return entry(rows.data, p, rows.center, j) * coefficient(v, penalty, shape, j)


@inner
def score(rows, penalty, shape, v, start, stop, shift):
    """``<a_i, w>`` in four sums: one alone would wait for each addition."""
    z0, z1, z2, z3 = 0.0, 0.0, 0.0, 0.0
    whole = stop - (stop - start) % 4
    for p in range(start, whole, 4):
        z0 += term(rows, penalty, shape, v, p, shift)
        z1 += term(rows, penalty, shape, v, p + 1, shift)
        z2 += term(rows, penalty, shape, v, p + 2, shift)
        z3 += term(rows, penalty, shape, v, p + 3, shift)
    for p in range(whole, stop):
        z0 += term(rows, penalty, shape, v, p, shift)
    return (z0 + z1) + (z2 + z3)


@njit
def epoch(rows, target, penalty, shape, order, v, memory, norms, free):
    concave, product = 0.0, 1.0
    reach = free[1]
    for k in range(order.size):
        fetch_ahead(rows, order, k, target.y, memory)
        i = order[k]
        start, stop, shift = extent(rows, i)
        z = free[0] + score(rows, penalty, shape, v, start, stop, shift)
        s = weight_of(target.weight, i)
        old = memory[i]
        q = norms[i] * penalty.scale + reach
        x = prox(target.code, target.param, target.y[i], z + q * old, q * s, z)
        g, plain, factor = loss_parts(target.code, target.param, target.y[i], x)
        g *= s
        concave += s * plain - g * x
        if target.weight is None:
            product *= factor
            if k % FACTORS == 0:
                concave += math.log(product)
                product = 1.0
        else:
            concave += s * math.log(factor)
        change = g - old
        if change == 0.0:
            continue
        memory[i] = g
        free[0] -= reach * change
        change *= penalty.scale
        for p in range(start, stop):
            j = rows.indices[p - shift]
            v[j] -= change * entry(rows.data, p, rows.center, j)
    return concave + math.log(product)


@njit
def squared_norms(rows, active, norms):
    """Squared norms of the rows ``active`` into ``norms`` (n_rows,)."""
    for i in active:
        start, stop, shift = extent(rows, i)
        norm = 0.0
        for p in range(start, stop):
            a = entry(rows.data, p, rows.center, rows.indices[p - shift])
            norm += a * a
        norms[i] = norm
