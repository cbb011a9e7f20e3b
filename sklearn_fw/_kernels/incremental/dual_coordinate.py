"""Epochs of coordinate ascent on the dual of ``sum_i s_i loss(y_i, <a_i, w> + c) + penalty(w)``.

With the weights l1 and l2 > 0 of the penalty and the memory ``alpha_i`` of row i, which is a slope
of its weighted loss, one array holds ``v = -sum_i alpha_i a_i / l2``, and ``w`` is v, soft-
thresholded at l1 / l2 and put into its bounds. The step on row i is

    x = prox_{t loss}(z + q alpha_i),  z = <a_i, w> + c,  q = |a_i|^2 / l2 + r,  t = q s_i
    alpha_i <- s_i loss'(y_i, x),  v <- v - change a_i / l2,  c <- c - r change

where ``change`` is that of alpha_i. It puts alpha_i where the dual is largest, if w is v; else
where the bound on the dual is largest that the smoothness of the conjugate of the penalty gives
(Prox-SDCA). The intercept is a column of ones with the penalty ``(c - c_0)^2 / (2 r)``.

``v`` holds the columns by their numbers, which the indices of the data say, and c under the number
``last``.
"""

import math
from typing import NamedTuple

import numpy as np

from .._jit import any_order, inner, njit
from ..common.losses import loss_parts, prox
from ..common.prox import prox_separable
from ..common.rows import column, entry, extent, fetch_ahead
from .incremental import meet, row_of, weight_of


class Curved(NamedTuple):
    """What makes w out of v: l1 / l2 and bounds (n_places, 2) or None."""

    threshold: float
    bounds: np.ndarray | None


@inner
def coefficient(u, curved, bounds, j):
    """w of the column with number j where v is u."""
    if bounds is None:
        return max(u - curved.threshold, 0.0) - max(-u - curved.threshold, 0.0)
    return prox_separable(u, 1.0, curved.threshold, 0.0, bounds[j, 0], bounds[j, 1])


@any_order
def score(rows, curved, v, me, team, start, stop, shift):
    """``<a_i, w>``."""
    z = 0.0
    for p in range(start, stop):
        j = column(rows.indices, p - shift)
        u = v[row_of(j, me, team)]
        if curved is not None:
            u = coefficient(u, curved, curved.bounds, j)
        z += entry(rows.data, p, rows.center, j) * u
    return z


@njit
def epoch(rows, target, curved, scale, order, v, memory, norms, last, me, team):
    """Make a step on each row of ``order``, as worker ``me`` of a team or alone (team None).

    ``curved`` makes w out of v, None if they are the same; ``scale`` holds 1 / l2 and the r of the
    intercept, 0 without one, which has the number ``last``. ``v`` (n_columns + 1 + n_workers *
    n_hot,) and ``memory`` (n_rows,) change in place; ``norms`` are the squared norms of the rows.
    Of a team, ``seen`` and ``published`` are (n_workers, n_hot), of v. Returns the sum over the
    steps of minus the conjugate of the loss at the new slope, and of the weighted losses before the
    step.
    """
    at = row_of(last, me, team)
    concave, losses = 0.0, 0.0
    for t in range(order.size):
        fetch_ahead(rows, order, t, target.y, memory)
        if team is not None and t % team.period == 0:
            meet(v, me, team, team.published)
        i = order[t]
        start, stop, shift = extent(rows, i)
        z = v[at] + score(rows, curved, v, me, team, start, stop, shift)
        s, y = weight_of(target.weight, i), target.y[i]
        _, plain, factor = loss_parts(target.loss, y, z)
        losses += s * (plain + math.log(factor))
        q = norms[i] * scale[0] + scale[1]
        x = prox(target.loss, y, z + q * memory[i], q * s, z)
        g, new_plain, new_factor = loss_parts(target.loss, y, x)
        g *= s
        concave += s * (new_plain + math.log(new_factor)) - g * x
        change = g - memory[i]
        if change == 0.0:
            continue
        memory[i] = g
        v[at] -= scale[1] * change
        step = scale[0] * change
        for p in range(start, stop):
            j = column(rows.indices, p - shift)
            v[row_of(j, me, team)] -= step * entry(rows.data, p, rows.center, j)
    if team is not None:
        meet(v, me, team, team.published)
    return concave, losses
