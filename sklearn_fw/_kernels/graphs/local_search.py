"""Iterated local search for MAP labelings of any graph, with trees as neighborhoods.

The arrays of a graph are those of `message_passing.py`. Where potentials are ``-inf`` they must
have been replaced by large finite penalties: sums are kept up to date by differences here.
"""

import numpy as np

from .._jit import inner, njit
from ..common.random import next_below

DOUBLINGS = 6
KICK = 2**DOUBLINGS  # most nodes that get random states at once
REACH = 8  # times as many nodes, and some more, are optimized after that,
REPAIRS = 2  # this many times
PASS_OVER = 8  # one of this many neighbors stays outside of a tree that it could belong to


@njit
def gather_sums(unary, tables, edge_table, n_states, start, edge, other, labels, sums):
    """``sums[i, k]`` receives the score of state k of node i given the labels of its neighbors."""
    for i in range(unary.shape[0]):
        for k in range(n_states[i]):
            sums[i, k] = unary[i, k]
        for h in range(start[2 * i], start[2 * i + 2]):
            side = 0 if h < start[2 * i + 1] else 1
            row = tables[side, edge_table[edge[h]], labels[other[h]]]
            for k in range(n_states[i]):
                sums[i, k] += row[k]


@inner
def _give(i, state, graph, labels, sums):
    tables, edge_table, n_states, start, edge, other = graph
    old = labels[i]
    labels[i] = state
    for h in range(start[2 * i], start[2 * i + 2]):
        # Rows belong to this node, columns to the neighbor.
        side = 1 if h < start[2 * i + 1] else 0
        table = tables[side, edge_table[edge[h]]]
        j = other[h]
        for k in range(n_states[j]):
            sums[j, k] += table[state, k] - table[old, k]


@inner
def _grow(root, limit, graph, state, place, n_near, tree, link):
    """A random tree of at most ``limit`` nodes that the graph has no further edges between.

    ``tree`` receives its nodes, each behind its parent, and ``link`` the edge to the parent in the
    list of the node's edges. ``place[i]`` (-1 before) is the place of a node and ``n_near[i]`` (0
    before) counts its neighbors in the tree; `_forget` restores both. Returns the number of nodes.
    """
    _, _, n_states, start, _, other = graph
    tree[0], link[0] = root, -1
    place[root] = 0
    n, at = 1, 0
    for h in range(start[2 * root], start[2 * root + 2]):
        n_near[other[h]] += 1
    while at < n and n < limit:
        parent = tree[at]
        first = start[2 * parent]
        degree = start[2 * parent + 2] - first
        offset = next_below(state, degree) if degree > 0 else 0
        for t in range(degree):
            h = first + (offset + t) % degree
            i = other[h]
            if place[i] >= 0 or n_near[i] != 1 or n_states[i] < 2 or n >= limit:
                continue
            # Some are passed over, or every tree would be the breadth-first one.
            if next_below(state, PASS_OVER) == 0:
                continue
            tree[n], place[i] = i, n
            for g in range(start[2 * i], start[2 * i + 2]):
                n_near[other[g]] += 1
                if other[g] == parent:
                    link[n] = g
            n += 1
        at += 1
    return n


@inner
def _forget(n, graph, place, n_near, tree):
    _, _, _, start, _, other = graph
    for t in range(n):
        i = tree[t]
        place[i] = -1
        for h in range(start[2 * i], start[2 * i + 2]):
            n_near[other[h]] = 0


@inner
def _solve(n, graph, place, tree, link, sums, labels, up, best, choice):
    """Best states of the nodes of a tree, given all other labels; ``best`` receives them.

    ``up[t, k]`` is scratch for sums of node t without the edges of the tree, then with messages;
    ``choice[t, k]`` for the best state of node t given that its parent has state k.
    """
    tables, edge_table, n_states, start, edge, other = graph
    for t in range(n):
        i = tree[t]
        for k in range(n_states[i]):
            up[t, k] = sums[i, k]
    for t in range(1, n):
        i, h = tree[t], link[t]
        p = other[h]
        e = edge_table[edge[h]]
        # The first index of a table is the parent's for ``side``, else this node's.
        side = 0 if h < start[2 * i + 1] else 1
        s = place[p]
        for k in range(n_states[i]):
            up[t, k] -= tables[side, e, labels[p], k]
        for k in range(n_states[p]):
            up[s, k] -= tables[1 - side, e, labels[i], k]
    for t in range(n - 1, 0, -1):
        i, h = tree[t], link[t]
        p = other[h]
        table = tables[0 if h < start[2 * i + 1] else 1, edge_table[edge[h]]]
        s = place[p]
        for k in range(n_states[p]):
            top, state = up[t, 0] + table[k, 0], 0
            for j in range(1, n_states[i]):
                value = up[t, j] + table[k, j]
                if value > top:
                    top, state = value, j
            choice[t, k] = state
            up[s, k] += top
    best[0] = np.argmax(up[0, : n_states[tree[0]]])
    for t in range(1, n):
        best[t] = choice[t, best[place[other[link[t]]]]]


@njit
def search(unary, tables, edge_table, n_states, start, edge, other, labels, sums, n_rounds, state):
    """Improve ``labels`` by ``n_rounds`` kicks and repairs.

    A round gives the nodes of a short random walk random states, then lets random trees that begin
    there take their best states given all else, and goes back if the value fell. Walks have all
    lengths up to `KICK`, shorter ones more often; trees have some multiple of that many nodes, all
    together and each at most: one or two on sparse graphs, many pairs on dense ones. ``sums``
    belong to ``labels``, see `gather_sums`.
    """
    graph = (tables, edge_table, n_states, start, edge, other)
    n_nodes, width = unary.shape
    limit = min(REACH * (KICK + 1), n_nodes)
    place, n_near = np.full(n_nodes, -1), np.zeros(n_nodes, np.int64)
    tree, link = np.empty(limit, np.int64), np.empty(limit, np.int64)
    best, walk = np.empty(limit, np.int64), np.empty(KICK, np.int64)
    up, choice = np.empty((limit, width)), np.empty((limit, width), np.int64)
    most = KICK + (REPAIRS + 1) * REACH * (KICK + 1)
    changed, before = np.empty(most, np.int64), np.empty(most, np.int64)
    value = 0.0  # of labels, beside that of the first ones
    for _ in range(n_rounds):
        n_changes, new = 0, value
        kick = 1 + next_below(state, 1 << next_below(state, DOUBLINGS + 1))
        i = next_below(state, n_nodes)
        for t in range(kick):
            walk[t] = i
            to = next_below(state, n_states[i])
            if to != labels[i]:
                changed[n_changes], before[n_changes] = i, labels[i]
                n_changes += 1
                new += sums[i, to] - sums[i, labels[i]]
                _give(i, to, graph, labels, sums)
            degree = start[2 * i + 2] - start[2 * i]
            if degree > 0:
                i = other[start[2 * i] + next_below(state, degree)]
        reach = REACH * (kick + 1)
        done, turn = 0, 0
        while done < REPAIRS * reach:
            # First where the walk was, then anywhere.
            root = walk[turn] if turn < kick else next_below(state, n_nodes)
            turn += 1
            n = _grow(root, min(reach, limit), graph, state, place, n_near, tree, link)
            _solve(n, graph, place, tree, link, sums, labels, up, best, choice)
            _forget(n, graph, place, n_near, tree)
            done += n
            for t in range(n):
                i = tree[t]
                if best[t] != labels[i]:
                    changed[n_changes], before[n_changes] = i, labels[i]
                    n_changes += 1
                    new += sums[i, best[t]] - sums[i, labels[i]]
                    _give(i, best[t], graph, labels, sums)
        if new >= value:
            value = new
            continue
        for c in range(n_changes - 1, -1, -1):
            _give(changed[c], before[c], graph, labels, sums)
