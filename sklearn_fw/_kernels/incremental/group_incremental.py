"""Epochs of incremental methods with group-separable penalties, several outputs, or dense steps.

The step of `incremental.py` for groups of columns: where a row touches a group, all columns of the
group move, by the prox of ``gamma / n_B`` times the penalty of the group, n_B being the number of
rows that touch it. One group of all columns makes it dense proximal SAGA. With K outputs x, A and
the memory of a row have K columns, and a group holds the entries of its columns for all outputs.

Here workers add to one shared A by atomic operations.
"""

import ctypes
from typing import NamedTuple

import numpy as np
from numba import types

from .._jit import inner, njit
from ..common import losses
from ..common.atomics import add, exchange
from ..common.prox import PYTHON, prox_group
from ..common.rows import column, entry, extent, fetch_ahead
from .incremental import gamma_of, proximal, weight_of

ELEMENTWISE = -1  # code of groups whose entries are penalized one by one


class Groups(NamedTuple):
    """A partition of the columns, and the penalty of its groups as `prox_group` takes it."""

    label: np.ndarray  # group of each column
    start: np.ndarray  # (n_groups + 1,) where each group begins in members
    members: np.ndarray  # columns, group after group
    code: int
    params: np.ndarray
    weight: np.ndarray  # (n_groups,)


class PythonProx(losses.PythonCall):
    """A user's prox of a group, in place."""

    kinds = None, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p, ctypes.c_int64

    def __init__(self, group_prox):
        def call(group, step, address, size):
            first = ctypes.cast(address, ctypes.POINTER(ctypes.c_double))
            u = np.ctypeslib.as_array(first, (size,))
            u[:] = group_prox(u.copy(), step, group)

        super().__init__(call)

    def __call__(self, group, step, address, size):
        """What compiled code does with the function, where nothing is compiled."""
        self._function(group, step, address.data, size)

    def signature(self):
        """What the function takes: group, step, address and number of the values."""
        return types.void(types.int64, types.float64, types.voidptr, types.int64)


class Iterate(NamedTuple):
    """What the workers share; the last row is that of the intercepts."""

    x: np.ndarray  # (n_columns + 1, K)
    step: np.ndarray  # (n_columns + 1,) gamma / n_B
    total: np.ndarray  # (n_columns + 1, K) A


class Scratch(NamedTuple):
    """What each worker has for itself."""

    z: np.ndarray  # (K,) scores
    change: np.ndarray  # (K,) new minus old memory
    spread: np.ndarray  # (n_columns,) values of the current row, zero elsewhere
    stamp: np.ndarray  # (n_groups,) last step that visited a group
    u: np.ndarray  # values of a group
    work: np.ndarray


@inner
def differentiate(target, i, z, g):
    """Write the derivative of the loss of row i into g and return the loss."""
    if target.loss.code == losses.SOFTMAX:
        return losses.softmax_loss(target.y[i], z, 1.0, g)
    g[0] = losses.derivative(target.loss, target.y[i], z[0])
    return losses.value(target.loss, target.y[i], z[0])


@inner
def prox(groups, separable, group, steps, u, work, call):
    """Prox of one group in place; ``call`` is the compiled face of a user's Python method.

    The columns of a group have the same step unless they are penalized one by one.
    """
    first, last = groups.start[group], groups.start[group + 1]
    n_outputs = u.size // (last - first)
    step = steps[groups.members[first]]
    if groups.code == ELEMENTWISE:
        for q in range(u.size):
            j = groups.members[first + q // n_outputs]
            u[q] = proximal(u[q], steps[j], separable, separable.bounds, j)
    elif groups.code == PYTHON:
        if call is not None and groups.weight[group] >= 0.0:
            call(group, step, u.ctypes, u.size)
    else:
        prox_group(groups.code, step, groups.weight[group], groups.params, u, work)


@njit
def group_epoch(
    rows, target, separable, groups, order, now, memory, gamma, metric, refresh, scratch, team, call
):
    """Make a step on each row of ``order``; see `incremental.epoch`.

    ``separable`` serves groups with the code ELEMENTWISE. ``memory`` is (n_rows, K). ``team`` is
    None for a worker alone, anything else makes the operations on shared numbers atomic.
    """
    d = now.x.shape[0] - 1
    n_outputs = now.x.shape[1]
    fit_intercept = now.step[d] > 0.0
    z, change, spread = scratch.z, scratch.change, scratch.spread
    scratch.stamp[:] = -1
    concave = 0.0
    for t in range(order.size):
        fetch_ahead(rows, order, t, target.y, target.y)
        i = order[t]
        start, stop, shift = extent(rows, i)

        for c in range(n_outputs):
            z[c] = now.x[d, c] if fit_intercept else 0.0
        for k in range(start, stop):
            j = column(rows.indices, k - shift)
            a = entry(rows.data, k, rows.center, j)
            spread[j] = a
            for c in range(n_outputs):
                z[c] += a * now.x[j, c]
        s = weight_of(target.weight, i)
        concave += s * differentiate(target, i, z, change)
        for c in range(n_outputs):
            g = s * change[c]
            concave -= g * z[c]
            if not refresh:
                change[c] = g - memory[i, c]
            elif team is None:
                change[c] = g - memory[i, c]
                memory[i, c] = g
            else:
                change[c] = g - exchange(memory, (i, c), g)

        for k in range(start, stop):
            b = groups.label[column(rows.indices, k - shift)]
            if scratch.stamp[b] != t:
                scratch.stamp[b] = t
                move(b, groups, separable, now, gamma, metric, scratch, call)
        for k in range(start, stop):
            j = column(rows.indices, k - shift)
            if refresh:
                for c in range(n_outputs):
                    accumulate(now.total, j, c, change[c] * spread[j], team)
            spread[j] = 0.0
        if fit_intercept:
            for c in range(n_outputs):
                now.x[d, c] -= gamma[1] * change[c] + now.step[d] * now.total[d, c]
                if refresh:
                    accumulate(now.total, d, c, change[c], team)
    return concave


@inner
def accumulate(total, j, c, value, team):
    if team is None:
        total[j, c] += value
    else:
        add(total, (j, c), value)


@inner
def move(b, groups, separable, now, gamma, metric, scratch, call):
    """The proximal step on group b."""
    n_outputs = now.x.shape[1]
    first, last = groups.start[b], groups.start[b + 1]
    u = scratch.u[: (last - first) * n_outputs]
    for q in range(first, last):
        j = groups.members[q]
        pull = gamma_of(gamma, metric, j) * scratch.spread[j]
        for c in range(n_outputs):
            u[(q - first) * n_outputs + c] = (
                now.x[j, c] - pull * scratch.change[c] - now.step[j] * now.total[j, c]
            )
    prox(groups, separable, b, now.step, u, scratch.work, call)
    for q in range(first, last):
        for c in range(n_outputs):
            now.x[groups.members[q], c] = u[(q - first) * n_outputs + c]
