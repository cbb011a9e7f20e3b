"""Epochs of SAGA whose steps refresh the memory of several rows: q-SAGA and SAGA with neighbours.

The step on row i is that of `incremental.py`. It is followed by a refresh of the slots of the rows
j in N_i, with slopes at the point before the step: with slope j itself, which costs a product with
row j, or with slope i, which costs none. Both leave ``A = sum_j alpha_j a_j`` what it says, so the
direction of the steps stays unbiased whatever the memory holds.

Slope i may stand for slope j when the gradients of the two rows differ by no more than ``epsilon``.
Rows at distance delta have scores that differ by at most ``delta ||w||``, and the slope of a convex
loss grows with the score, so it differs most at an end of that interval. For losses of a residual
the truths count as a part of the distance.
"""

import math
from typing import NamedTuple

import numpy as np

from .._jit import inner, njit
from ..common.losses import derivative
from ..common.rows import entry, extent, fetch_ahead, fetch_row
from .incremental import STEP, SUM, X, gamma_of, proximal, total, weight_of

# What `Slots.tally` counts.
ROWS, FILLED, COMPUTED, SHARED = 0, 1, 2, 3

# More than the rounding error of an addition, relative to its larger term.
ROUNDING = 2.0**-50


class Links(NamedTuple):
    """The rows whose slots a step refreshes: ``members[first[i] : last[i]]``, with i among them."""

    first: np.ndarray
    last: np.ndarray
    members: np.ndarray
    distance: np.ndarray | None  # between row i and each member; infinite: never share


class Sharing(NamedTuple):
    """When slope i may be written into slot j."""

    epsilon: float  # negative: never; infinite: always, unless the distance is infinite
    norm: np.ndarray | None  # (n_rows,) norms of the gradients of the scores, for finite epsilon
    smoothness: float  # of the loss


class Slots(NamedTuple):
    """What is known of the memory."""

    filled: np.ndarray  # (n_rows,) bool, slots that were ever written
    fresh: np.ndarray  # scratch, as long as the largest N_i
    tally: np.ndarray  # rows in use, filled slots, slopes computed, slopes shared


@inner
def score(rows, state, i):
    """Score of row i."""
    start, stop, shift = extent(rows, i)
    intercept = state.shape[0] - 1
    z = state[intercept, X] if state[intercept, STEP] > 0.0 else 0.0
    for k in range(start, stop):
        j = rows.indices[k - shift]
        z += entry(rows.data, k, rows.center, j) * state[j, X]
    return z


@inner
def slope_error(loss, smoothness, y, z, slope, radius, limit):
    """Bound on the change of the slope within ``radius`` of z; any upper bound if below limit."""
    crude = smoothness * radius
    if crude <= limit or radius == np.inf:
        return crude  # most edges of small neighbourhoods end here, without an exponential
    above = derivative(loss, y, z + radius) - slope
    below = slope - derivative(loss, y, z - radius)
    return min(crude, max(above, below))


@njit
def memory_epoch(rows, target, penalty, order, state, memory, gamma, metric, links, sharing, slots):
    """Make a step on each row of ``order`` and refresh the slots of its neighbours.

    While slots are empty the sum A stands for the mean over the others only.

    Parameters
    ----------
    rows, target, penalty : Rows, Target, Separable
        The problem.
    order : (n_steps,) int array
        Row numbers.
    state : (n_columns + 1, 3 or more) float64 array
        As for `incremental.epoch` with one worker; changed in place.
    memory : (n_rows,) float64 array
        Changed in place.
    gamma : tuple of two floats
        Step sizes of the columns and of the intercept.
    metric : (n_columns,) float64 array or None
        Factors of the step size of the columns.
    links : Links
        Which slots follow a step.
    sharing : Sharing
        When they take over the slope of the step.
    slots : Slots
        Changed in place.
    """
    intercept = state.shape[0] - 1
    fit_intercept = state[intercept, STEP] > 0.0
    loss, y = target.loss, target.y
    fresh, tally = slots.fresh, slots.tally
    bounded = 0.0 <= sharing.epsilon < np.inf
    # The squared norm of w follows the steps; the slack grows faster than its rounding errors.
    square, slack = 0.0, 0.0
    for j in range(intercept):
        square += state[j, X] * state[j, X]
        slack += ROUNDING * square
    for t in range(order.size):
        fetch_ahead(rows, order, t, y, memory)
        i = order[t]
        z = score(rows, state, i)
        slope = derivative(loss, y[i], z)
        radius = math.sqrt(max(square + slack, 0.0)) * (1.0 + ROUNDING)

        first, last = np.int64(links.first[i]), np.int64(links.last[i])
        for e in range(first, last):
            m = links.members[e]
            if e + 1 < last:
                fetch_row(rows, links.members[e + 1])
            exact = sharing.epsilon < 0.0 or links.distance[e] == np.inf
            if bounded and not exact and m != i:
                norm = weight_of(target.weight, m) * sharing.norm[m]
                limit = sharing.epsilon / norm if norm > 0.0 else np.inf
                reach = links.distance[e] * radius + abs(y[m] - y[i])
                error = slope_error(loss, sharing.smoothness, y[i], z, slope, reach, limit)
                exact = error > limit
            own = slope
            if exact and m != i:
                own = derivative(loss, y[m], score(rows, state, m))
            tally[COMPUTED if exact or m == i else SHARED] += 1
            fresh[e - first] = weight_of(target.weight, m) * own

        change = weight_of(target.weight, i) * slope - memory[i]
        whole = tally[ROWS] / max(tally[FILLED], 1)
        start, stop, shift = extent(rows, i)
        for k in range(start, stop):
            j = rows.indices[k - shift]
            a = entry(rows.data, k, rows.center, j)
            step, before = state[j, STEP], state[j, X]
            pull = gamma_of(gamma, metric, j) * change * a + step * whole * total(state, j, None)
            after = proximal(before - pull, step, penalty, penalty.bounds, j)
            state[j, X] = after
            square += (after - before) * (after + before)
            slack += ROUNDING * (abs(square) + after * after + before * before)
        if fit_intercept:
            step = state[intercept, STEP] * whole
            state[intercept, X] -= gamma[1] * change + step * total(state, intercept, None)

        for e in range(first, last):
            m = links.members[e]
            if not slots.filled[m]:
                slots.filled[m] = True
                tally[FILLED] += 1
            change = fresh[e - first] - memory[m]
            if change == 0.0:
                continue
            memory[m] = fresh[e - first]
            start, stop, shift = extent(rows, m)
            for k in range(start, stop):
                j = rows.indices[k - shift]
                state[j, SUM] += change * entry(rows.data, k, rows.center, j)
            if fit_intercept:
                state[intercept, SUM] += change
