"""Sums over all labelings of the samples of a training set, and dual ascent on their entropies.

For forests, `block_sums` finds the Gibbs distribution p(y) ~ exp(H_i(y) / temperature) of a sample:
its log-partition and marginals. On chains whose edges share few tables this is done in ordinary
numbers that are normalized at every node: an edge costs no logarithm, a node n_states exponentials
and the tables theirs once. Where numbers are smaller than `LEAST`, something can be lost: less than
1e-308 of the sum at a node, which later nodes lift by what their normalizers lack of 1 and by the
number of labelings. Where that could be more than `LIFT` in all, and for other forests, the sums
are repeated as in `sum_product`.
"""

from typing import NamedTuple

import numpy as np

from .._jit import inlined, inner, njit
from ..common.vectors import assign, dot, maximum
from ..graphs.sum_product import Beliefs, Weights, _downward, _fill_weights, _upward
from ..graphs.tree import is_chain
from . import parts as pt
from .block_rules import CALLS, VISITS, pick_block, set_gap
from .edge_mix import add_mixed_marginals

LEAST = 1e-150  # products of two numbers above it are normal ones
LIFT = 630.0  # logarithm of what makes e^-70 of 1e-308


class Sums(NamedTuple):
    """Working memory for the Gibbs distribution of one sample, and what was found."""

    node: np.ndarray  # (longest, n_states) marginals
    table: np.ndarray  # (n_tables * n_states^2,) summed marginals of edges
    scores: np.ndarray  # (longest, n_states) scores over the temperature
    beliefs: Beliefs
    message: np.ndarray  # (longest, n_states) sums that come from the child
    factor: np.ndarray  # (longest, n_states) exponentials of scores
    weights: Weights  # of the tables, in ordinary numbers
    turned: np.ndarray  # (n_tables, n_states, n_states) weights.table with parents first
    pairs: np.ndarray  # (n_tables, n_states, n_states) products of beliefs and gains, parents first
    line: np.ndarray  # (2, n_states)
    least: np.ndarray  # (1,) smallest of weights.table


@inner
def fill_tables(tables, temperature, sums):
    """Exponentials of shared tables, both ways round."""
    n_states, least = tables.shape[1], 1.0
    weights, turned = sums.weights, sums.turned
    for r in range(turned.shape[0]):
        high = maximum(tables[r].ravel())
        weights.high[r] = high / temperature
        for j in range(n_states):
            for k in range(n_states):
                weights.table[r, j, k] = np.exp((tables[r, j, k] - high) / temperature)
        for j in range(n_states):
            for k in range(n_states):
                turned[r, k, j] = weights.table[r, j, k]
                least = min(least, turned[r, k, j])
    sums.least[0] = least


@inner
def _node_factors(scores, n_nodes, factor):
    """Exponentials of scores less the largest of their node; returns the sum of these."""
    n_states = scores.shape[1]
    total = 0.0
    for t in range(n_nodes):
        row, out = scores[t], factor[t]
        high = row[0]
        for k in range(1, n_states):
            high = row[k] if row[k] > high else high
        total += high
        for k in range(n_states):
            out[k] = np.exp(row[k] - high)
    return total


@inner
def _forward(n_nodes, edge_table, sums):
    """Beliefs of a chain, normalized; logarithms of what was divided by and could be lifted."""
    belief, message, factor = sums.beliefs.belief, sums.message, sums.factor
    n_states = factor.shape[1]
    value, lift, least = 0.0, n_nodes * np.log(n_states), sums.least[0]
    for t in range(n_nodes):
        own = belief[t]
        if t == 0:
            for k in range(n_states):
                own[k] = factor[0, k]
        else:
            come, below, table = message[t], belief[t - 1], sums.weights.table[edge_table[t - 1]]
            for k in range(n_states):
                come[k] = 0.0
            for j in range(n_states):
                x, row = below[j], table[j]
                for k in range(n_states):
                    come[k] += x * row[k]
            for k in range(n_states):
                own[k] = come[k] * factor[t, k]
            value += sums.weights.high[edge_table[t - 1]]
        norm = 0.0
        for k in range(n_states):
            norm += own[k]
        if not norm > 0.0:
            return value, np.inf
        log_norm = np.log(norm)
        value += log_norm
        lift -= min(log_norm, 0.0)
        scale = 1.0 / norm
        for k in range(n_states):
            own[k] *= scale
            least = min(least, own[k])
    return value, lift if least < LEAST else 0.0


@inner
def _backward(n_nodes, edge_table, sums):
    """Marginals of nodes, and of edges summed by their tables."""
    belief, message, node = sums.beliefs.belief, sums.message, sums.node
    gain, reach = sums.line[0], sums.line[1]
    n_states = node.shape[1]
    assign(node[n_nodes - 1], belief[n_nodes - 1])
    sums.pairs[:] = 0.0
    for t in range(n_nodes - 2, -1, -1):
        table, pairs = sums.turned[edge_table[t]], sums.pairs[edge_table[t]]
        below, come, above = belief[t], message[t + 1], node[t + 1]
        for k in range(n_states):
            gain[k] = above[k] / come[k] if come[k] > 0.0 else 0.0
            reach[k] = 0.0
        for k in range(n_states):
            x, row, pair = gain[k], table[k], pairs[k]
            for j in range(n_states):
                reach[j] += x * row[j]
                pair[j] += x * below[j]
        for j in range(n_states):
            node[t, j] = below[j] * reach[j]
    a = 0
    for r in range(sums.turned.shape[0]):
        for j in range(n_states):
            for k in range(n_states):
                sums.table[a] = sums.pairs[r, k, j] * sums.turned[r, k, j]
                a += 1


@inlined
def block_sums(parts, w, i, temperature, oracle, sums):
    """Log-partition and marginals of sample i, after `block_scores`, into ``sums``.

    Exponentials of shared tables have to be there, see `fill_tables`.
    """
    n_nodes = parts.node_start[i + 1] - parts.node_start[i]
    edges = parts.edges[parts.edge_start[i] : parts.edge_stop[i]]
    edge_table, tables = pt.tables_of(parts.mix, parts, w, i, oracle)
    scores, inverse = sums.scores[:n_nodes], 1.0 / temperature
    for t in range(n_nodes):
        for k in range(scores.shape[1]):
            scores[t, k] = oracle.scores[t, k] * inverse
    if sums.turned.shape[0] > 0 and is_chain(edges, n_nodes):
        value = _node_factors(scores, n_nodes, sums.factor)
        more, lift = _forward(n_nodes, edge_table, sums)
        if lift < LIFT:
            _backward(n_nodes, edge_table, sums)
            return value + more
    return _forest_sums(
        parts.mix, parts.edge_start[i], scores, edges, edge_table, tables, inverse, sums
    )


@inner
def _forest_sums(mix, first, scores, edges, edge_table, tables, inverse, sums):
    n_nodes, n_states = scores.shape
    n_edges = len(edges)
    own = np.empty((n_edges, n_states, n_states))
    for e in range(n_edges):
        for j in range(n_states):
            for k in range(n_states):
                own[e, j, k] = tables[edge_table[e], j, k] * inverse
    numbers = np.arange(n_edges)
    weights = Weights(numbers, np.empty_like(own), np.empty(n_edges))
    _fill_weights(own, numbers, weights)
    value = _upward(scores, edges, numbers, own, weights, sums.beliefs)
    pairs = np.empty_like(own)
    _downward(edges, numbers, own, weights, sums.beliefs, sums.node[:n_nodes], pairs)
    sums.table[:] = 0.0
    if mix is None:
        for e in range(n_edges):
            flat, start = pairs[e].ravel(), edge_table[e] * n_states**2
            for a in range(flat.size):
                sums.table[start + a] += flat[a]
    else:
        add_mixed_marginals(mix, first, pairs, sums.table)
    return value


@inlined
def gibbs(parts, w, i, temperature, loss_weight, oracle, sums):
    """Smoothed maximum and expected value of H_i plus the score of the truth, and expected L_i."""
    pt.block_scores(parts, w, i, loss_weight, oracle)
    value = temperature * block_sums(parts, w, i, temperature, oracle, sums)
    expected = dot(sums.table, w.flat_tables)
    start, loss = parts.node_start[i], 0.0
    for t in range(parts.node_start[i + 1] - start):
        expected += dot(sums.node[t], oracle.scores[t])
        loss += parts.node_cost[start + t] * dot(
            sums.node[t], parts.cost[parts.cost_row[start + t]]
        )
    return value, expected, loss


@inner
def _direction_of_truth(parts, i, sums, scratch):
    """``delta = e(y_i) - mu_i``."""
    start, n_states = parts.node_start[i], parts.cost.shape[1]
    for t in range(parts.node_start[i + 1] - start):
        for k in range(n_states):
            scratch.delta[t, k] = -sums.node[t, k]
        scratch.delta[t, parts.truth[start + t]] += 1.0


@inner
def _add_rows(parts, i, factor, target, scratch):
    """``target += factor F_i' delta`` of nodes."""
    first = parts.row_start[i]
    attributes = parts.attributes[parts.attribute_start[i] : parts.attribute_start[i + 1]]
    for r in range(parts.row_start[i + 1] - first):
        delta = scratch.delta_rows[r]
        for c in range(delta.size):
            delta[c] *= factor
        for q in range(parts.indptr[first + r], parts.indptr[first + r + 1]):
            x, row = parts.data[q], target.rows[attributes[parts.local[q]]]
            for c in range(delta.size):
                row[c] += x * delta[c]


@njit
def smoothed_sweep(parts, w, temperature, loss_weight, first, last, scratch, sums, target, out):
    """Smoothed maxima of samples first..last at w.

    ``out`` (3, n) receives the smoothed maximum of H_i, expected H_i and expected L_i, and
    ``target``, if it is not empty, is added ``sum_i p_i F_i' (e(y_i) - mu_i)``.
    """
    fill_tables(w.tables, temperature, sums)
    for i in range(first, last):
        value, expected, loss = gibbs(parts, w, i, temperature, loss_weight, scratch.oracle, sums)
        truth = parts.truth[parts.node_start[i] : parts.node_start[i + 1]]
        true_value = pt.labels_value(parts, w, i, truth, scratch.oracle)
        out[0, i], out[1, i], out[2, i] = value - true_value, expected - true_value, loss
        if target.flat_tables.size + target.rows.size > 0:
            p = parts.weight[i]
            _direction_of_truth(parts, i, sums, scratch.step)
            _add_rows(parts, i, p, target, scratch.step)
            for a in range(sums.table.size):
                target.flat_tables[a] -= p * sums.table[a]
            pt.add_pairs(parts.mix, parts, i, truth, p, target.flat_tables)


# ---- dual ascent -------------------------------------------------------------------------------


@inner
def direction_to(parts, marginals, i, point, scratch):
    """``delta`` from the marginals of block i to a point with others; whether they differ."""
    n_states = parts.cost.shape[1]
    nodes_per_row = parts.n_columns // n_states
    start, stop = parts.node_start[i], parts.node_start[i + 1]
    for r in range(parts.row_start[i + 1] - parts.row_start[i]):
        scratch.active[r] = False
    differs = False
    for t in range(stop - start):
        delta, old, new = scratch.delta[t], marginals.nodes[start + t], point.node[t]
        for k in range(n_states):
            delta[k] = new[k] - old[k]
            if delta[k] != 0.0:
                scratch.active[t // nodes_per_row] = True
                differs = True
    delta, old, new = scratch.delta_tables, marginals.tables[i], point.table
    for a in range(delta.size):
        delta[a] = new[a] - old[a]
        differs = differs or delta[a] != 0.0
    return differs


@njit
def ascend(
    parts, dual, gaps, rules, order, uniforms, entropy, temperature, loss_weight, scratch, sums,
    counts,
):  # fmt: skip
    """Visit blocks; see `_solvers._dual_ascent`."""
    w = dual.w
    for m in range(order.size):
        i = pick_block(gaps, order[m], uniforms[m])
        if i < 0:
            return m
        counts[VISITS] += 1
        counts[CALLS] += 1
        fill_tables(w.tables, temperature, sums)
        value, expected, loss = gibbs(parts, w, i, temperature, loss_weight, scratch.oracle, sums)
        current = pt.current_value(parts, dual.marginals, w, i, scratch.oracle)
        p = parts.weight[i]
        gap = max(p * (value - current - temperature * entropy[i]), 0.0)
        set_gap(gaps, i, gap, rules.gap_degree)
        if gap <= 0.0:
            continue
        direction_to(parts, dual.marginals, i, sums, scratch.step)
        curvature = p * p / rules.lam * pt.apply_adjoint(parts, i, scratch.step)
        gamma = 2.0 * gap / (2.0 * gap + curvature)
        entropy[i] += gamma * ((value - expected) / temperature - entropy[i])
        change = p * loss - dual.marginals.loss[i]
        pt.take_step(parts, dual, i, rules.lam, gamma, change, counts[VISITS], scratch.step)
    return order.size
