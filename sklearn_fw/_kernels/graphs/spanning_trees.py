"""Spanning trees of weighted graphs: effective resistances, and forests grown edge by edge.

Shared conventions: ``edges`` (n_edges, 2) joins nodes 0 to n_nodes - 1; an order lists edges by
number, the first to be looked at first. A graph that is not connected has spanning forests.
"""

import numpy as np

from .._jit import inner, njit


@njit
def effective_resistances(start, later, conductance):
    """Resistance between the ends of each entry of ``later`` in a network of resistors.

    Node v has the later neighbors ``later[start[v]:start[v + 1]]``, ascending; entries that only
    the elimination of earlier nodes joins (fill-in) have conductance zero.

    Selected inversion of the Laplacian in resistances: nodes are eliminated in the order of their
    numbers. Node v with later neighbors N(v) is replaced by conductances ``g_vj g_vk / G_v``
    between these, where ``G_v = sum_j g_vj`` (star-mesh transformation). With ``p_j = g_vj / G_v``,
    resistances follow in reverse order from those among N(v), which the fill-in contains::

        R_vj = 1 / G_v + sum_k p_k R_kj - 1/2 sum_kl p_k p_l R_kl

    No node is grounded and no large numbers cancel, so components need no care. Cost: sum over
    nodes of the squared number of later neighbors.
    """
    n_nodes, n_fill, share = start.size - 1, later.size, conductance.copy()
    total = np.zeros(n_nodes)
    for v in range(n_nodes):
        first, stop = start[v], start[v + 1]
        for p in range(first, stop):
            total[v] += share[p]
        for p in range(first, stop):
            share[p] /= total[v]
        for p in range(first, stop):
            scale = share[p] * total[v]
            between = start[later[p]]
            for q in range(p + 1, stop):
                while later[between] != later[q]:
                    between += 1
                share[between] += scale * share[q]

    resistance = np.empty(n_fill)
    mean = np.empty(n_nodes)
    for v in range(n_nodes - 1, -1, -1):
        first, stop = start[v], start[v + 1]
        for p in range(first, stop):
            mean[p - first] = 0.0
        for p in range(first, stop):
            between = start[later[p]]
            for q in range(p + 1, stop):
                while later[between] != later[q]:
                    between += 1
                mean[p - first] += share[q] * resistance[between]
                mean[q - first] += share[p] * resistance[between]
        half = 0.0
        for p in range(first, stop):
            half += 0.5 * share[p] * mean[p - first]
        for p in range(first, stop):
            resistance[p] = 1.0 / total[v] + (mean[p - first] - half)
    return resistance


@inner
def _root(parent, v):
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@njit
def count_greedy_forests(edges, orders, n_nodes):
    """How often each edge is in the forest that takes edges in order unless they close a cycle.

    ``orders`` (n_orders, n_edges) has one permutation of the edges in each row.
    """
    counts = np.zeros(edges.shape[0], np.int64)
    parent = np.empty(n_nodes, np.int64)
    for t in range(orders.shape[0]):
        for v in range(n_nodes):
            parent[v] = v
        for r in range(orders.shape[1]):
            e = orders[t, r]
            a, b = _root(parent, edges[e, 0]), _root(parent, edges[e, 1])
            if a != b:
                parent[a] = b
                counts[e] += 1
    return counts


@njit
def overfull_cluster(edges, order, probability, n_nodes, tolerance):
    """Look for nodes whose edges are more probable than trees allow, while edges are added.

    After each edge of ``order``, the probabilities of the added edges of the component that it
    belongs to must sum to at most its number of nodes minus one. Returns how many edges were added
    when this first failed, or -1.
    """
    parent = np.arange(n_nodes)
    size = np.ones(n_nodes, np.int64)
    total = np.zeros(n_nodes)
    for r in range(order.size):
        e = order[r]
        a, b = _root(parent, edges[e, 0]), _root(parent, edges[e, 1])
        if a != b:
            parent[a] = b
            size[b] += size[a]
            total[b] += total[a]
        total[b] += probability[e]
        if total[b] > size[b] - 1 + tolerance:
            return r + 1
    return -1
