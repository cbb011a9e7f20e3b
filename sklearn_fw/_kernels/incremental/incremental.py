"""Epochs of incremental methods with one scalar of memory per row and separable penalties.

The problem is ``min_x sum_i s_i loss(y_i, <a_i, x>) + l1 ||x||_1 + l2/2 ||x||^2`` on a box, a sum
and not a mean: then no step depends on the number of rows. With the memory ``alpha_i`` of row i,
``A = sum_i alpha_i a_i`` and ``n_v`` the number of rows that touch column v, the step on row i is

    x_v <- prox_{gamma / n_v}(x_v - gamma (g_i - alpha_i) a_iv - (gamma / n_v) A_v)

for the columns v of the row (Sparse Proximal SAGA; the papers' D_v and mean are n / n_v and A / n).
Every method of the family is this step: SAGA replaces ``alpha_i`` by ``g_i`` after it, SVRG keeps
the memory of a snapshot, SGD keeps zeros.

``state`` has a row ``[x, gamma / n_v, A_0, A_1, ...]`` per column, and one for the intercept, which
is a column of ones without penalty. Columns go by the numbers of their rows of the state, which the
``indices`` of the data hold. A is the sum of one part per worker: a worker writes its own
part only, so nothing is lost although no addition is atomic.
"""

import math
from typing import NamedTuple

import numpy as np

from .._jit import inner, njit
from ..common.atomics import exchange
from ..common.losses import Formula, loss_parts
from ..common.prox import prox_elastic_net, prox_separable
from ..common.rows import column, entry, extent, fetch_ahead

X, STEP, SUM = 0, 1, 2  # columns of the state


class Target(NamedTuple):
    """Losses of the rows: their formula, targets, and weights or None."""

    loss: Formula
    y: np.ndarray
    weight: np.ndarray | None


class Separable(NamedTuple):
    """Weights of |x| and x^2 / 2, and bounds (n_columns, 2) or None."""

    l1: float
    l2: float
    bounds: np.ndarray | None


class Team(NamedTuple):
    """What workers share besides the state, and how they keep out of each other's cache.

    Columns that most rows touch ("hot") would travel between the caches of the workers at every
    step. Each worker has private copies of them, rows of the state behind the others, and every
    ``period`` steps it publishes what it added and reads what the others have published.
    """

    first: int  # row of the state where the private copies of worker 0 begin
    base: np.ndarray  # (n_hot,) x of the hot columns when the epoch began
    seen: np.ndarray  # (n_workers, n_hot) x of the private copies after the last exchange
    published: np.ndarray  # (n_workers, 2, n_hot) x added and part of A, by each worker
    period: int


@inner
def weight_of(weight, i):
    if weight is None:
        return 1.0
    return weight[i]


@inner
def row_of(j, me, team):
    """Place where worker ``me`` keeps the column with number j; unsigned: not from behind."""
    if team is None:
        return np.uint64(j)
    # Numbers from ``first`` on are those of hot columns: worker 0 has its copies there.
    return np.uint64(j) + np.uint64((j >= team.first) * me * team.base.size)


@inner
def gamma_of(gamma, metric, j):
    if metric is None:
        return gamma[0]
    return gamma[0] * metric[j]


@inner
def total(state, r, team):
    """A of the column that is kept in row r."""
    if team is None:
        return state[r, SUM]
    # The first two apart: a loop that is empty for two workers costs nothing.
    result = state[r, SUM] + state[r, SUM + 1]
    for worker in range(2, team.published.shape[0]):
        result += state[r, SUM + worker]
    return result


@inner
def proximal(u, step, penalty, bounds, j):
    if bounds is None:
        return prox_elastic_net(u, step, penalty.l1, penalty.l2)
    return prox_separable(u, step, penalty.l1, penalty.l2, bounds[j, 0], bounds[j, 1])


@njit
def epoch(rows, target, penalty, order, state, memory, gamma, metric, refresh, last, me, team):
    """Make a step on each row of ``order``, as worker ``me`` of a team or alone (team None).

    ``state`` (n_columns + 1 + n_workers * n_hot, 2 + n_workers) changes in place, and ``memory``
    (n_rows,) if ``refresh`` (SAGA; it stays for SVRG and SGD). ``gamma`` are the step sizes of the
    columns, times ``metric`` (n_columns,) unless it is None, and of the intercept, which has the
    number ``last``; ``state[last, STEP] == 0`` leaves it out. Returns the sum over the steps of
    ``s_i loss_i - g_i z_i``, minus the conjugate of the loss at g_i.
    """
    at = row_of(last, me, team)
    fit_intercept = state[at, STEP] > 0.0
    mine = SUM + me
    concave = 0.0
    for t in range(order.size):
        fetch_ahead(rows, order, t, target.y, memory)
        if team is not None and t % team.period == 0:
            meet(state[:, X], me, team, team.published[:, 0])
            share_sums(state, me, team)
        i = order[t]
        start, stop, shift = extent(rows, i)

        z = state[at, X] if fit_intercept else 0.0
        for k in range(start, stop):
            j = column(rows.indices, k - shift)
            r = row_of(j, me, team)
            z += entry(rows.data, k, rows.center, j) * state[r, X]
        g, plain, factor = loss_parts(target.loss, target.y[i], z)
        s = weight_of(target.weight, i)
        g *= s
        concave += s * (plain + math.log(factor)) - g * z
        change = g - memory[i]
        if refresh:
            if team is None:
                memory[i] = g
            else:
                # Two workers on one row: what one wrote is what the other takes away.
                change = g - exchange(memory, (i,), g)
        for k in range(start, stop):
            j = column(rows.indices, k - shift)
            r = row_of(j, me, team)
            a = entry(rows.data, k, rows.center, j)
            step = state[r, STEP]
            u = state[r, X] - gamma_of(gamma, metric, j) * change * a - step * total(state, r, team)
            state[r, X] = proximal(u, step, penalty, penalty.bounds, j)
            if refresh:
                state[r, mine] += change * a
        if fit_intercept:
            state[at, X] -= gamma[1] * change + state[at, STEP] * total(state, at, team)
            if refresh:
                state[at, mine] += change
    if team is not None:
        meet(state[:, X], me, team, team.published[:, 0])
        share_sums(state, me, team)
    return concave


@inner
def meet(x, me, team, published):
    """Publish what this worker added to its copies in x and add what the others did."""
    n_workers, n_hot = published.shape
    first = team.first + me * n_hot
    for h in range(n_hot):
        published[me, h] += x[first + h] - team.seen[me, h]
    for h in range(n_hot):
        together = team.base[h]
        for worker in range(n_workers):
            together += published[worker, h]
        x[first + h] = team.seen[me, h] = together


@inner
def share_sums(state, me, team):
    """The same for the parts of A, which each worker has for itself."""
    n_workers, _, n_hot = team.published.shape
    first = team.first + me * n_hot
    for h in range(n_hot):
        team.published[me, 1, h] = state[first + h, SUM + me]
    for h in range(n_hot):
        for worker in range(n_workers):
            state[first + h, SUM + worker] = team.published[worker, 1, h]


SHORT = 6  # this many repetitions cost less than the logarithms of the closed form


@njit
def fenchel(state, n_columns, n_workers, penalty):
    """An elastic net at x and at -A, in one sweep.

    Returns ``penalty(x)``, ``<A, x>`` (with the intercept), the sum of ``max(|A_v| - l1, 0)^2`` and
    the largest |A_v|.
    """
    value, product, squares, steepest = 0.0, 0.0, 0.0, 0.0
    for j in range(n_columns + 1):
        slope = state[j, SUM]
        for worker in range(1, n_workers):
            slope += state[j, SUM + worker]
        x = state[j, X]
        product += slope * x
        if j == n_columns:
            break
        value += penalty.l1 * abs(x) + 0.5 * penalty.l2 * x * x
        squares += max(abs(slope) - penalty.l1, 0.0) ** 2
        steepest = max(steepest, abs(slope))
    return value, product, squares, steepest


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
            steps = math.log((c - fixed) / (x - fixed)) / rate
            k = min(m, max(1, np.int64(math.floor(steps)) + 1))
            end = x + math.expm1(k * rate) * (x - fixed)
        return end, m - k
    if c > 0.0:
        k = min(m, max(1, math.ceil((x - c) / c)))
    return x - k * c, m - k


@njit
def lagged_epoch(rows, target, penalty, order, x, total, memory, n, gamma, pull, metric, last):
    """Make a dense step on each row of ``order``, at sparse cost; returns what `epoch` does.

    The penalty has no bounds. ``x`` and ``total``, the iterate and A, of shape (n_columns + 1,)
    with the intercept last, and ``memory`` (n_rows,) change in place. A step takes 1 / n of A, for
    n rows with weight, and ``pull``, 1 for SAGA and 1 / n for SAG, times the difference of
    gradients. ``gamma`` and ``metric`` are as for `epoch`, a second step of 0 leaves the intercept
    out. ``last`` (n_columns,) is scratch.
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
            j = column(rows.indices, k - shift)
            x[j] = catch_up(x[j], t - last[j], gamma_of(gamma, metric, j) / n, total[j], penalty)
            z += entry(rows.data, k, rows.center, j) * x[j]
        g, plain, factor = loss_parts(target.loss, target.y[i], z)
        s = weight_of(target.weight, i)
        g *= s
        concave += s * (plain + math.log(factor)) - g * z
        change = g - memory[i]
        memory[i] = g
        for k in range(start, stop):
            j = column(rows.indices, k - shift)
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
