"""Lightest paths of directed graphs without cycles."""

import numpy as np

from .._jit import njit


@njit
def lightest_path(first, tail, edge, edge_cost, node_cost, is_source, is_target):
    """Edges and nodes, from the end, of the path of least cost from a source to a target.

    Nodes are numbered such that edges lead to larger numbers; those that lead to node v are
    ``edge[first[v]:first[v + 1]]``, from the nodes ``tail`` at the same places. Of equal ones the
    first counts. The length of the list of nodes is zero where no path exists.
    """
    n_nodes = first.size - 1
    best = np.empty(n_nodes)
    last = np.empty(n_nodes, np.int64)
    end, lowest = -1, np.inf
    for v in range(n_nodes):
        best[v], last[v] = np.inf, -1
        if is_source[v]:
            best[v] = 0.0
        for k in range(first[v], first[v + 1]):
            candidate = best[tail[k]] + edge_cost[edge[k]]
            if candidate < best[v]:
                best[v], last[v] = candidate, k
        best[v] += node_cost[v]
        if is_target[v] and best[v] < lowest:
            end, lowest = v, best[v]
    nodes, edges, n = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64), 0
    v = end
    while v >= 0:
        nodes[n] = v
        if last[v] < 0:
            return edges[:n], nodes[: n + 1]
        edges[n] = edge[last[v]]
        v = tail[last[v]]
        n += 1
    return edges[:0], nodes[:0]
