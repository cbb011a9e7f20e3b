"""Marginals of Gibbs distributions over the outputs of every block (entropic prox steps).

The dual variable of block i is a distribution over its outputs, kept as part marginals. That of
largest ``<scores, mu> + entropy`` gives output y a probability proportional to the exponential of
its score, and its marginals are sums of products along the edges, see `sum_product`.
"""

import numpy as np

from .._jit import njit
from ..common.vectors import dot
from ..graphs.sum_product import Weights, _downward, _make_beliefs, _make_weights, _upward
from .parts import block_scores


@njit
def node_scores(parts, w, loss_weight, first, last, scratch, out):
    """Scores of the nodes of blocks first..last plus ``loss_weight`` times their losses."""
    for i in range(first, last):
        block_scores(parts, w, i, loss_weight, scratch)
        start = parts.node_start[i]
        for t in range(parts.node_start[i + 1] - start):
            out[start + t] = scratch.scores[t]


@njit
def node_losses(parts, nodes, first, last, loss):
    """p_i times the expected loss of blocks first..last at marginals of their nodes."""
    for i in range(first, last):
        loss[i] = 0.0
        for t in range(parts.node_start[i], parts.node_start[i + 1]):
            cost = dot(nodes[t], parts.cost[parts.cost_row[t]])
            loss[i] += parts.weight[i] * parts.node_cost[t] * cost


@njit
def set_to_gibbs(parts, marginals, tables, first, last, values):
    """Replace node scores in ``marginals.nodes`` by marginals; ``tables`` get those of edges.

    The graph must be a forest. ``values`` receives the log-partitions of blocks first..last, less
    the score of the truth. Cost: that of `tree_marginals_batch`.
    """
    n_states = parts.cost.shape[1]
    n_nodes, n_edges = 0, 0
    for i in range(first, last):
        n_nodes = max(n_nodes, parts.node_start[i + 1] - parts.node_start[i])
        n_edges = max(n_edges, parts.edge_stop[i] - parts.edge_start[i])
    weights, _ = _make_weights(parts.edge_table, tables, n_edges, False)
    beliefs = _make_beliefs(n_nodes, n_edges, n_states)
    pairs = np.empty((n_edges, n_states, n_states))
    size = n_states * n_states
    flat = pairs.reshape(n_edges, size)
    for i in range(first, last):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        a, b = parts.edge_start[i], parts.edge_stop[i]
        edges, edge_table = parts.edges[a:b], parts.edge_table[a:b]
        nodes = marginals.nodes[start:stop]
        true_score = 0.0
        for t in range(stop - start):
            true_score += nodes[t, parts.truth[start + t]]
        for e in range(b - a):
            child, parent = parts.truth[start + edges[e, 0]], parts.truth[start + edges[e, 1]]
            true_score += tables[edge_table[e], child, parent]
        here = Weights(edge_table, weights.table, weights.high)
        values[i] = _upward(nodes, edges, edge_table, tables, here, beliefs) - true_score
        _downward(edges, edge_table, tables, here, beliefs, nodes, pairs)
        sums = marginals.tables[i]
        sums[:] = 0.0
        for e in range(b - a):
            row = flat[e]
            offset = edge_table[e] * size
            for c in range(size):
                sums[offset + c] += row[c]
