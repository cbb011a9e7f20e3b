"""Asynchronous SAGA on one thread: writes become visible late, in an order that can be repeated."""

from typing import NamedTuple

import numpy as np

from .._jit import inner, njit
from ..common.losses import loss_parts
from ..common.random import next_below
from ..common.rows import entry, extent
from .incremental import STEP, SUM, X, gamma_of, proximal, weight_of


class Pending(NamedTuple):
    """Writes on their way: a list for each of the next steps, and one of free places."""

    first: np.ndarray  # (delay + 1,) first place of each list, -1 for none; the last one is free
    following: np.ndarray  # (n_places,) next place in the same list
    column: np.ndarray  # (n_places,)
    change: np.ndarray  # (n_places, 2) what to add to x and to A


@njit
def delayed_epoch(rows, target, penalty, order, state, memory, gamma, metric, pending, seed):
    """Make the steps of `incremental.epoch`, whose writes come up to ``delay`` steps late.

    The changes of each column are seen 1 to ``delay`` steps later, independently and with equal
    probability; a memory is written at once. At the end all have arrived.

    Parameters
    ----------
    rows, target, penalty, order, state, memory, gamma, metric
        As there, of one worker.
    pending : Pending or None
        Empty lists, with places for all writes of ``delay`` steps; None for no delay.
    seed : (1,) uint64 array
        State of the random delays, changed in place.
    """
    intercept = state.shape[0] - 1
    fit_intercept = state[intercept, STEP] > 0.0
    for t in range(order.size):
        arrive(state, pending, t)
        i = order[t]
        start, stop, shift = extent(rows, i)

        z = state[intercept, X] if fit_intercept else 0.0
        for k in range(start, stop):
            j = rows.indices[k - shift]
            z += entry(rows.data, k, rows.center, j) * state[j, X]
        g, _, _ = loss_parts(target.loss, target.y[i], z)
        g *= weight_of(target.weight, i)
        change = g - memory[i]
        memory[i] = g

        for k in range(start, stop):
            j = rows.indices[k - shift]
            a = entry(rows.data, k, rows.center, j)
            step = state[j, STEP]
            u = state[j, X] - gamma_of(gamma, metric, j) * change * a - step * state[j, SUM]
            moved = proximal(u, step, penalty, penalty.bounds, j)
            send(state, j, moved, change * a, t, pending, seed)
        if fit_intercept:
            step = state[intercept, STEP]
            moved = state[intercept, X] - (gamma[1] * change + step * state[intercept, SUM])
            send(state, intercept, moved, change, t, pending, seed)
    if pending is not None:
        for t in range(order.size, order.size + pending.first.size - 1):
            arrive(state, pending, t)


@inner
def send(state, j, moved, change, t, pending, seed):
    """Put the new x and the change of A of a column on their way."""
    if pending is None:
        state[j, X] = moved
        state[j, SUM] += change
    else:
        delay = pending.first.size - 1
        late = (t + 1 + next_below(seed, delay)) % delay
        place = pending.first[delay]
        pending.first[delay] = pending.following[place]
        pending.following[place] = pending.first[late]
        pending.first[late] = place
        pending.column[place] = j
        pending.change[place, 0] = moved - state[j, X]
        pending.change[place, 1] = change


@inner
def arrive(state, pending, t):
    """Make the writes for step t visible."""
    if pending is not None:
        delay = pending.first.size - 1
        place = pending.first[t % delay]
        while place >= 0:
            j = pending.column[place]
            state[j, X] += pending.change[place, 0]
            state[j, SUM] += pending.change[place, 1]
            after = pending.following[place]
            pending.following[place] = pending.first[delay]
            pending.first[delay] = place
            place = after
        pending.first[t % delay] = -1
