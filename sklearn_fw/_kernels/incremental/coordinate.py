"""Epochs of asynchronous proximal coordinate descent on the columns of a matrix.

The problem is that of `incremental.py`. Workers share x and the scores ``z = X x``; a step on
column j reads the slopes of the rows that the column touches, moves x_j, and adds the change to
their scores.
"""

from typing import NamedTuple

import numpy as np

from .._jit import inner, njit
from ..common.atomics import add, load
from ..common.losses import derivative
from .incremental import proximal, weight_of


class Columns(NamedTuple):
    """A CSC matrix; its last column is that of the intercept."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


@njit
def curvatures(columns, weight, out):
    """``sum_i s_i a_ij^2`` of every column into ``out``."""
    for j in range(out.size):
        out[j] = 0.0
        for k in range(columns.indptr[j], columns.indptr[j + 1]):
            out[j] += weight_of(weight, columns.indices[k]) * np.float64(columns.data[k]) ** 2


@njit
def coordinate_epoch(columns, target, penalty, order, x, z, step, team):
    """Make a step on each column of ``order``.

    Parameters
    ----------
    columns, target, penalty : Columns, Target, Separable
        The problem; the last column has no penalty.
    order : (n_steps,) int array
        Column numbers.
    x, z : (n_columns + 1,) and (n_rows,) float64 arrays
        Iterate and scores, changed in place.
    step : (n_columns + 1,) float64 array
        Step size of every column.
    team : bool or None
        None for a worker alone, anything else makes the operations on shared numbers atomic.
    """
    for t in range(order.size):
        j = order[t]
        start, stop = columns.indptr[j], columns.indptr[j + 1]
        gradient = 0.0
        for k in range(start, stop):
            i = columns.indices[k]
            slope = derivative(target.loss, target.y[i], read(z, i, team))
            gradient += weight_of(target.weight, i) * slope * columns.data[k]
        before = read(x, j, team)
        after = before - step[j] * gradient
        if j < x.size - 1:
            after = proximal(after, step[j], penalty, penalty.bounds, j)
        if after == before:
            continue
        write(x, j, after - before, after, team)
        for k in range(start, stop):
            i = columns.indices[k]
            change = columns.data[k] * (after - before)
            write(z, i, change, z[i] + change, team)


@inner
def read(array, i, team):
    if team is None:
        return array[i]
    return load(array, (i,))


@inner
def write(array, i, change, after, team):
    """Add ``change``, which gives ``after`` when nobody else writes."""
    if team is None:
        array[i] = after
    else:
        add(array, (i,), change)
