"""Sums and maxima over the labelings of a forest: marginals, max-marginals and samples.

Graph and scores are given as in `tree.py`: edges are (child, parent), leaves first. A *message*
(n_edges, n_states) is the logarithm of the sum over all labelings of the child and what is below
it, for each state of the parent, minus the largest of these, and a *belief* (n_nodes, n_states) a
score plus all messages to the node: so numbers stay small on long chains.

Marginals are found in ordinary numbers, which are made sums of 1 at every node: an edge costs no
logarithm and no exponential but those of its table. A labeling with a number that is lost, since
it is too small for float64, has at most the weight ``exp(-faint)``, where the best scores of all
nodes and tables have weight 1. Where that could matter (`is_sure`), all is repeated in logarithms;
there too sums of exponentials are taken relative to the largest belief and entry of the table, so
an edge costs n_states exponentials. What that loses is below 1e-308, a fraction of 1e-208 of a sum
above ``TINY``; smaller ones are repeated term by term.
"""

from typing import NamedTuple

import numpy as np

from .._jit import any_order, inlined, inner, njit
from ..common.vectors import FAINT, assign, exponentials, maximum, normalize

TINY = 1e-100
NOTHING = -100.0  # exponents below it change no digit of a sum that has a 1
DIGITS = 70.0  # e^-70 of a sum is nothing
LEAST = np.exp(1.5 * FAINT)  # of a belief that can be multiplied by two numbers that are not faint
PRODUCT = 1e-100  # products of sums above it need no logarithm yet


@inner
def exponents(numbers):
    """Replace numbers by the exponentials of their differences to the largest.

    Returns the largest, 0 if it is -inf, and what `exponentials` returns.
    """
    high = -np.inf
    for k in range(numbers.size):
        high = numbers[k] if numbers[k] > high else high
    if high == -np.inf:
        high = 0.0
    for k in range(numbers.size):
        numbers[k] -= high
    return high, exponentials(numbers)


@inner
def fill_beliefs(scores, belief):
    """Exponentials of the scores of each node; returns the sum of the largest and what is faint."""
    n_nodes, n_states = scores.shape
    value = 0.0
    for t in range(n_nodes):
        high = scores[t, 0]
        for k in range(1, n_states):
            high = scores[t, k] if scores[t, k] > high else high
        if high == -np.inf:
            return high, np.inf
        value += high
        for k in range(n_states):
            belief[t, k] = scores[t, k] - high
    return value, exponentials(belief[:n_nodes].ravel())


@inner
def scaled_upward(edges, row, table, high, belief, message, is_root):
    """Beliefs of nodes from the leaves to the roots, those of the scores before; see `is_sure`.

    Edge e has the exponentials ``table[row[e]]``, to which ``high[row[e]]`` is to be added in
    logarithms. Returns the logarithm of the sum of all labelings without these, the sum of these,
    and what is faint. Cost: a multiplication per entry of a table of each edge.
    """
    n_nodes, n_states = belief.shape
    value, highs, product, faint = 0.0, 0.0, 1.0, np.inf
    for t in range(n_nodes):
        is_root[t] = True
    for e in range(edges.shape[0]):
        child, parent, r = edges[e, 0], edges[e, 1], row[e]
        is_root[child] = False
        sums, own = message[e], belief[parent]
        for k in range(n_states):
            sums[k] = 0.0
        j = 0
        while j + 4 <= n_states:  # four rows at once keep the sums in registers for longer
            x, y = belief[child, j], belief[child, j + 1]
            z, u = belief[child, j + 2], belief[child, j + 3]
            for k in range(n_states):
                sums[k] += (x * table[r, j, k] + y * table[r, j + 1, k]) + (
                    z * table[r, j + 2, k] + u * table[r, j + 3, k]
                )
            j += 4
        while j < n_states:
            x = belief[child, j]
            for k in range(n_states):
                sums[k] += x * table[r, j, k]
            j += 1
        highs += high[r]
        norm = 0.0
        for k in range(n_states):
            own[k] *= sums[k]
            norm += own[k]
        value, product, faint = _normalize(own, norm, value, product, faint)
    for t in range(n_nodes):
        if is_root[t]:
            norm = belief[t].sum()
            value, product, faint = _normalize(belief[t], norm, value, product, faint)
    return value + np.log(product), highs, faint


@any_order
def _normalize(own, norm, value, product, faint):
    """Divide by the sum and count it, by its logarithm where products could become too small."""
    if not norm > 0.0:
        return -np.inf, 1.0, faint
    scale, least = 1.0 / norm, 1.0
    for k in range(own.size):
        own[k] *= scale
        least = min(least, own[k] if own[k] > 0.0 else 1.0)
    if least < LEAST:
        faint = min(faint, -1.5 * FAINT)
    if norm < PRODUCT:
        value += np.log(norm)
    else:
        product *= norm
    if product < PRODUCT or product > 1.0 / PRODUCT:
        value += np.log(product)
        product = 1.0
    return value, product, faint


@inner
def is_sure(rest, faint, n_nodes, n_states):
    """Whether all labelings with faint numbers are nothing beside a sum of ``exp(rest)``."""
    return faint == np.inf or faint + rest > n_nodes * np.log(n_states) + DIGITS


@any_order
def scaled_downward(edges, row, table, belief, message, is_root, gain, node, edge):
    """Marginals of nodes and edges from the roots to the leaves, after `scaled_upward`."""
    n_states = node.shape[1]
    for t in range(node.shape[0]):
        if is_root[t]:
            for k in range(n_states):
                node[t, k] = belief[t, k]
    for e in range(edges.shape[0] - 1, -1, -1):
        child, parent, r = edges[e, 0], edges[e, 1], row[e]
        for k in range(n_states):
            sums = message[e, k]
            gain[k] = node[parent, k] / sums if sums > 0.0 else 0.0
        for j in range(n_states):
            x, total = belief[child, j], 0.0
            for k in range(n_states):
                pair = x * (table[r, j, k] * gain[k])
                edge[e, j, k] = pair
                total += pair
            node[child, j] = total


class Weights(NamedTuple):
    """Tables in ordinary numbers: table[row[e]] holds exp(scores of edge e - high[row[e]])."""

    row: np.ndarray  # (n_edges,)
    table: np.ndarray  # (n_rows, n_states, n_states)
    high: np.ndarray  # (n_rows,)


class Beliefs(NamedTuple):
    belief: np.ndarray  # (n_nodes, n_states)
    message: np.ndarray  # (n_edges, n_states)
    shift: np.ndarray  # (n_edges,) what was subtracted from each message
    is_root: np.ndarray  # (n_nodes,)
    scratch: np.ndarray  # (2, n_states)


@inner
def scaled(numbers):
    """Replace logarithms by exponentials of their differences to the largest; -inf becomes zero.

    Returns the largest and how far below it the smallest finite one is.
    """
    high, low = -np.inf, np.inf
    for k in range(numbers.size):
        if numbers[k] > -np.inf:
            high, low = max(high, numbers[k]), min(low, numbers[k])
    if high == -np.inf:
        high = low = 0.0
    for k in range(numbers.size):
        numbers[k] = np.exp(numbers[k] - high)
    return high, high - low


@any_order
def total(numbers):
    result = 0.0
    for i in range(numbers.size):
        result += numbers[i]
    return result


@inner
def draw(weights, uniform):
    """The state at a fraction ``uniform`` of the sum of the weights; never one of weight zero."""
    rest = uniform * weights.sum()
    state = 0
    for k in range(weights.size):
        if weights[k] > 0.0:
            state = k
            if rest < weights[k]:
                break
            rest -= weights[k]
    return state


@inner
def _fill_weights(tables, which, weights):
    """Weights of some tables; returns what is faint, see `scaled_upward`."""
    faint = np.inf
    for r in range(which.size):
        for j in range(tables.shape[1]):
            assign(weights.table[r, j], tables[which[r], j])
        weights.high[r], faint_here = exponents(weights.table[r].ravel())
        faint = min(faint, faint_here)
    return faint


@inner
def _make_weights(edge_table, tables, n_edges, per_forest):
    """Weights of shared tables and what is faint, or room for those of a forest of n_edges."""
    n_rows, n_states = n_edges if per_forest else len(tables), tables.shape[1]
    weights = Weights(
        np.arange(n_rows) if per_forest else edge_table,
        np.empty((n_rows, n_states, n_states)),
        np.empty(n_rows),
    )
    faint = np.inf
    if not per_forest:
        faint = _fill_weights(tables, np.arange(n_rows), weights)
    return weights, faint


@inner
def _make_beliefs(n_nodes, n_edges, n_states):
    return Beliefs(
        np.empty((n_nodes, n_states)), np.empty((n_edges, n_states)), np.empty(n_edges),
        np.empty(n_nodes, np.bool_), np.empty((2, n_states)),
    )  # fmt: skip


@inner
def _log_sum(belief, table, state):
    high = -np.inf
    for j in range(belief.size):
        high = max(high, belief[j] + table[j, state])
    if high == -np.inf:
        return high
    result = 0.0
    for j in range(belief.size):
        below = belief[j] + table[j, state] - high
        if below > NOTHING:
            result += np.exp(below)
    return high + np.log(result)


@inner
def _upward(scores, edges, edge_table, tables, weights, beliefs):
    """Beliefs and messages of one forest; returns the logarithm of the sum over all labelings."""
    belief, message, shift, is_root, scratch = beliefs
    below, sums = scratch[0], scratch[1]
    n_nodes, n_states = scores.shape
    for t in range(n_nodes):
        assign(belief[t], scores[t])
    is_root[:n_nodes] = True
    value = 0.0
    for e in range(edges.shape[0]):
        child, parent, row = edges[e, 0], edges[e, 1], weights.row[e]
        is_root[child] = False
        assign(below, belief[child])
        high, _ = scaled(below)
        high += weights.high[row]
        sums[:] = 0.0
        for j in range(n_states):
            weight = below[j]
            if weight > 0.0:
                for k in range(n_states):
                    sums[k] += weight * weights.table[row, j, k]
        for k in range(n_states):
            if sums[k] > TINY:
                message[e, k] = high + np.log(sums[k])
            else:
                message[e, k] = _log_sum(belief[child], tables[edge_table[e]], k)
        shift[e] = -np.inf  # without states of the parent that are forbidden anyway
        for k in range(n_states):
            if belief[parent, k] > -np.inf:
                shift[e] = max(shift[e], message[e, k])
        value += shift[e]
        if shift[e] > -np.inf:
            for k in range(n_states):
                message[e, k] -= shift[e]
                belief[parent, k] += message[e, k]
    for t in range(n_nodes):
        if is_root[t]:
            assign(below, belief[t])
            high, _ = scaled(below)
            value += high + np.log(below.sum())
    return value


@inner
def _downward(edges, edge_table, tables, weights, beliefs, node, edge):
    """Marginals of nodes and edges of one forest, after `_upward`."""
    belief, message, shift, is_root, scratch = beliefs
    below, gain = scratch[0], scratch[1]
    n_states = node.shape[1]
    for t in range(node.shape[0]):
        if is_root[t]:
            assign(node[t], belief[t])
            scaled(node[t])
            normalize(node[t])
    for e in range(edges.shape[0] - 1, -1, -1):
        child, parent, row = edges[e, 0], edges[e, 1], weights.row[e]
        assign(below, belief[child])
        high, _ = scaled(below)
        high += weights.high[row] - shift[e]
        for k in range(n_states):
            gain[k] = 0.0
            if node[parent, k] > 0.0 and high - message[e, k] < -np.log(TINY):
                gain[k] = node[parent, k] * np.exp(high - message[e, k])
        for j in range(n_states):
            for k in range(n_states):
                edge[e, j, k] = below[j] * weights.table[row, j, k] * gain[k]
        for k in range(n_states):
            if node[parent, k] > 0.0 and gain[k] == 0.0:
                for j in range(n_states):
                    score = belief[child, j] + tables[edge_table[e], j, k] - shift[e]
                    edge[e, j, k] = node[parent, k] * np.exp(score - message[e, k])
        for j in range(n_states):
            node[child, j] = total(edge[e, j])


@inlined
def forest_sums(scores, graph, weights, faint, beliefs, node, edge):
    """Log-partition of one forest, and its marginals unless ``node`` is empty.

    ``graph`` holds edges, edge_table and tables; `_fill_weights` says ``weights`` and ``faint``.
    """
    edges, edge_table, tables = graph
    n_nodes, n_states = scores.shape
    belief, message = beliefs.belief[:n_nodes], beliefs.message
    row, table, is_root = weights.row, weights.table, beliefs.is_root
    value, faint_node = fill_beliefs(scores, belief)
    if value == -np.inf:
        return value
    rest, highs, faint_belief = scaled_upward(
        edges, row, table, weights.high, belief, message, is_root
    )
    faint = min(faint, min(faint_node, faint_belief))
    if is_sure(rest, faint, n_nodes, n_states):
        if rest > -np.inf and len(node) > 0:
            gain = beliefs.scratch[0]
            scaled_downward(edges, row, table, belief, message, is_root, gain, node, edge)
        return value + rest + highs
    value = _upward(scores, edges, edge_table, tables, weights, beliefs)
    if value > -np.inf and len(node) > 0:
        _downward(edges, edge_table, tables, weights, beliefs, node, edge)
    return value


@njit
def tree_marginals_batch(
    scores, node_start, edge_start, edge_stop, edges, edge_table, tables, node, edge
):
    """Marginals of many samples stacked along the nodes; returns the log-partitions (n_samples,).

    Samples are given as to `tree_argmax_batch`. ``node`` (n_nodes, n_states) and ``edge`` (edges
    of the samples one after the other, n_states, n_states) receive the marginals, nothing if the
    log-partition is -inf; with an empty ``node`` log-partitions are all that is computed. Cost:
    three multiplications per entry of a table of each edge, and its exponential if not shared.
    """
    n_samples, n_states = node_start.size - 1, scores.shape[1]
    n_nodes, n_edges, n_all = 0, 0, 0
    for i in range(n_samples):
        n_nodes = max(n_nodes, node_start[i + 1] - node_start[i])
        n_edges = max(n_edges, edge_stop[i] - edge_start[i])
        n_all += edge_stop[i] - edge_start[i]
    per_forest = len(tables) >= n_all
    weights, faint = _make_weights(edge_table, tables, n_edges, per_forest)
    beliefs = _make_beliefs(n_nodes, n_edges, n_states)
    values = np.empty(n_samples)
    first = 0
    for i in range(n_samples):
        a, b, c, d = node_start[i], node_start[i + 1], edge_start[i], edge_stop[i]
        if per_forest:
            faint = _fill_weights(tables, edge_table[c:d], weights)
            here = weights
        else:
            here = Weights(edge_table[c:d], weights.table, weights.high)
        last = first + d - c
        graph = edges[c:d], edge_table[c:d], tables
        values[i] = forest_sums(
            scores[a:b], graph, here, faint, beliefs, node[a:b], edge[first:last]
        )
        first = last
    return values


@njit
def tree_samples(scores, edges, edge_table, tables, uniforms, labels):
    """Random labelings of a forest; returns the log-partition.

    ``labels`` (n_samples, n_nodes) receives them, nothing if the log-partition is -inf;
    ``uniforms`` of the same shape are random numbers in [0, 1). Cost per sample: n_states
    exponentials for each node.
    """
    n_nodes, n_states = scores.shape
    n_edges = len(edges)
    weights, _ = _make_weights(edge_table, tables, n_edges, False)
    beliefs = _make_beliefs(n_nodes, n_edges, n_states)
    value = _upward(scores, edges, edge_table, tables, weights, beliefs)
    if value == -np.inf:
        return value
    given = np.empty(n_states)
    for m in range(len(labels)):
        for t in range(n_nodes):
            if beliefs.is_root[t]:
                assign(given, beliefs.belief[t])
                scaled(given)
                labels[m, t] = draw(given, uniforms[m, t])
        for e in range(n_edges - 1, -1, -1):
            child, state = edges[e, 0], labels[m, edges[e, 1]]
            for j in range(n_states):
                given[j] = beliefs.belief[child, j] + tables[edge_table[e], j, state]
            scaled(given)
            labels[m, child] = draw(given, uniforms[m, child])
    return value


@njit
def tree_max_marginals(scores, edges, edge_table, tables, node):
    """Best score for each state of each node of a forest, into ``node`` (n_nodes, n_states)."""
    n_nodes, n_states = scores.shape
    message = np.full((len(edges), n_states), -np.inf)
    outside = np.empty(n_states)
    is_root = np.ones(n_nodes, np.bool_)
    for t in range(n_nodes):
        assign(node[t], scores[t])
    for e in range(len(edges)):
        child, parent, table = edges[e, 0], edges[e, 1], tables[edge_table[e]]
        is_root[child] = False
        for j in range(n_states):
            for k in range(n_states):
                message[e, k] = max(message[e, k], node[child, j] + table[j, k])
        for k in range(n_states):
            node[parent, k] += message[e, k]
    value = 0.0
    for t in range(n_nodes):
        if is_root[t]:
            value += maximum(node[t])
    if value == -np.inf:
        node[:] = value
        return
    for t in range(n_nodes):
        if is_root[t]:
            rest = value - maximum(node[t])
            for j in range(n_states):
                node[t, j] += rest
    for e in range(len(edges) - 1, -1, -1):
        child, parent, table = edges[e, 0], edges[e, 1], tables[edge_table[e]]
        for k in range(n_states):
            inside = message[e, k]
            outside[k] = node[parent, k] - inside if inside > -np.inf else inside
        for j in range(n_states):
            best = -np.inf
            for k in range(n_states):
                best = max(best, table[j, k] + outside[k])
            node[child, j] += best
