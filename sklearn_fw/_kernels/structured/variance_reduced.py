"""Smoothed maxima of samples by their best outputs, and steps of SVRG on them.

A sample's gradient at w is ``F_i' (mu_i(w) - e(y_i))`` with mu_i(w) the marginals of a few outputs.
The marginals at the snapshot are those of the dual variables, so that a step needs one call of the
oracle, and moves the few weights where the two differ; all others follow

    x <- rho x + c,        rho = 1 - step (lam + kappa),        c = step (lam v + kappa z)

which is made up for when a sample reads them.
"""

from typing import NamedTuple

import numpy as np

from .._jit import inner, njit
from ..common.vectors import assign, dot, smoothed_max
from ..graphs.tree import tree_departures
from . import parts as pt
from .smoothed import direction_to, fill_tables, gibbs

# Places in a report: sums over steps
CHANGE, CHANGE_SQUARE, SQUARE, SLOPE, CALLS = 0, 1, 2, 3, 4
N_REPORTED = 5


class Smoother(NamedTuple):
    mu: float
    n_best: int  # outputs that count at most; doubled up to the limit until the last counts nothing
    limit: int
    loss_weight: float  # of the task loss in H_i; 1 but for other losses than the hinge
    exact: bool  # whether to compute the maximum, too


class Point(NamedTuple):
    node: np.ndarray  # (longest, n_states)
    table: np.ndarray  # (n_tables * n_states^2,)


class Walk(NamedTuple):
    """Weights on their way, each row of attributes brought up to date at its own time."""

    x: pt.Weights
    drift: pt.Weights  # c
    total: pt.Weights  # sum of the iterates
    origin: pt.Weights  # where the walk began
    stamp: np.ndarray  # (n_attributes,) steps that a row has made
    power: np.ndarray  # (n_steps + 1,) rho^m
    reach: np.ndarray  # (n_steps + 1,) sum of rho^j for j < m
    area: np.ndarray  # (n_steps + 1,) sum of reach[j] for 1 <= j <= m


@inner
def _put_labels(parts, i, labels, weight, point):
    """Add an output to the marginals; returns its part in the expected loss."""
    for t in range(labels.size):
        point.node[t, labels[t]] += weight
    pt.add_pairs(parts.mix, parts, i, labels, weight, point.table)
    return weight * pt.labels_loss(parts, i, labels)


@inner
def _mix_best(parts, w, i, smoother, scratch, point):
    """Smoothed maximum of H_i over the best outputs, for forests without a cost of whole outputs.

    Returns the smoothed and the plain maximum, the expected loss, whether the last output counts,
    and the number of calls for best outputs.
    """
    mu, n_best, n_calls = smoother.mu, smoother.n_best, 1
    oracle = scratch.oracle
    pt.block_scores(parts, w, i, 1.0, oracle)
    start, stop = parts.node_start[i], parts.node_start[i + 1]
    true_value = pt.true_value(parts, w, i, oracle)
    labels = oracle.labels[: stop - start]
    top = pt.block_argmax(parts.exhaustive, parts, w, i, 0.0, oracle)
    point.node[: stop - start] = 0.0
    point.table[:] = 0.0
    if mu == 0.0 or n_best == 1:
        loss = _put_labels(parts, i, labels, 1.0, point)
        return top - true_value, top - true_value, loss, False, 1
    edges = parts.edges[parts.edge_start[i] : parts.edge_stop[i]]
    edge_table, tables = pt.tables_of(parts.mix, parts, w, i, oracle)
    while True:  # those that lack mu have no weight
        lacks, weights = np.empty(n_best), np.empty(n_best)
        found = np.empty((n_best, labels.size), np.int32)
        found[0] = labels
        n = tree_departures(edges, edge_table, tables, oracle.messages, mu, lacks, found)
        smoothed = top + smoothed_max(-lacks[:n], mu, weights[:n])
        cut = n == n_best and weights[n - 1] > 0.0
        if not cut or 2 * n_best > smoother.limit:
            break
        n_best *= 2
        n_calls += 1
    loss = 0.0
    for m in range(n):
        if weights[m] > 0.0:
            loss += _put_labels(parts, i, found[m], weights[m], point)
    return smoothed - true_value, top - true_value, loss, cut, n_calls


@inner
def _mixed(sums, parts, w, i, smoother, scratch, point):
    """The same with the entropy, by `Sums` that share their memory with the point, unless None.

    Sums want `fill_tables` at w before.
    """
    if sums is None:
        return _mix_best(parts, w, i, smoother, scratch, point)
    value, _, loss = gibbs(parts, w, i, smoother.mu, smoother.loss_weight, scratch.oracle, sums)
    value -= pt.true_value(parts, w, i, scratch.oracle)
    return value, value, loss, False, 1


@njit
def smooth_pass(parts, marginals, w, smoother, first, last, scratch, sums, point, out):
    """Make the mixtures at w the marginals of all samples in a range.

    ``out`` (5, n) receives smoothed and plain maxima, whether the last output counts, expected H_i
    and calls.
    """
    if sums is not None:
        fill_tables(w.tables, smoother.mu, sums)
    for i in range(first, last):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        smoothed, top, loss, cut, n_calls = _mixed(sums, parts, w, i, smoother, scratch, point)
        true_value = pt.true_value(parts, w, i, scratch.oracle)
        if sums is not None and smoother.exact:
            top = pt.block_argmax(parts.exhaustive, parts, w, i, 0.0, scratch.oracle) - true_value
        for t in range(stop - start):
            assign(marginals.nodes[start + t], point.node[t])
        assign(marginals.tables[i], point.table)
        marginals.loss[i] = parts.weight[i] * loss
        expected = pt.current_value(parts, marginals, w, i, scratch.oracle) - true_value
        out[0, i], out[1, i], out[2, i], out[3, i] = smoothed, top, cut, expected
        out[4, i] = n_calls


@inner
def _make_up(walk, x, drift, total, m):
    power, reach, area = walk.power[m], walk.reach[m], walk.area[m]
    sums = walk.power[1] * reach  # of rho^j for 1 <= j <= m
    for c in range(x.size):
        old, by = x[c], drift[c]
        total[c] += sums * old + area * by
        x[c] = power * old + reach * by


@njit
def make_up(walk, attributes, now):
    """Bring the rows of some attributes up to date, and the tables, which every sample reads."""
    for a in attributes:
        m = now - walk.stamp[a]
        if m > 0:
            _make_up(walk, walk.x.rows[a], walk.drift.rows[a], walk.total.rows[a], m)
            walk.stamp[a] = now
    if now > 0:
        _make_up(walk, walk.x.flat_tables, walk.drift.flat_tables, walk.total.flat_tables, 1)


@inner
def _slope(parts, walk, i, scratch):
    """``<x - origin, F_i' delta>``."""
    slope = dot(walk.x.flat_tables, scratch.delta_tables)
    slope -= dot(walk.origin.flat_tables, scratch.delta_tables)
    first = parts.attribute_start[i]
    for m in range(scratch.clock[1]):
        local = scratch.touched[m]
        a = parts.attributes[first + local]
        row, x, origin = scratch.buffer[local], walk.x.rows[a], walk.origin.rows[a]
        for c in range(parts.n_columns):
            slope += row[c] * (x[c] - origin[c])
    return slope


@njit
def svrg_steps(parts, marginals, values, order, walk, step, smoother, scratch, sums, point, report):
    """Steps on the samples of an order, from a walk of none; ``values`` are those at its origin.

    Samples are drawn by their weights, so that all steps have one length.
    """
    for k in range(order.size):
        i = order[k]
        make_up(walk, parts.attributes[parts.attribute_start[i] : parts.attribute_start[i + 1]], k)
        if sums is not None:
            fill_tables(walk.x.tables, smoother.mu, sums)
        smoothed, _, _, _, n_calls = _mixed(sums, parts, walk.x, i, smoother, scratch, point)
        report[CALLS] += n_calls
        change = smoothed - values[i]
        report[CHANGE] += change
        report[CHANGE_SQUARE] += change * change
        if direction_to(parts, marginals, i, point, scratch.step):
            report[SQUARE] += pt.apply_adjoint(parts, i, scratch.step)
            report[SLOPE] += _slope(parts, walk, i, scratch.step)
            # The walk multiplies it by rho before it counts.
            pt.add_to_weights(parts, i, -step / walk.power[1], walk.x, scratch.step)
