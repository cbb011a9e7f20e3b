"""Maximum flow and minimum cut with real capacities, by two trees that grow towards each other.

A tree of nodes that the source reaches and one of nodes that reach the sink grow in turns, one
level of breadth-first distance at a time. Where they meet, flow is pushed along the path until an
arc is full; nodes cut off from their root look for a parent on the level above, and move down to
the lowest level they can have, or leave the tree, if there is none (incremental breadth-first
search, Goldberg, Hed, Kaplan, Tarjan and Werneck, ESA 2011). The number of pushes is bounded by
n_nodes * n_arcs whatever the capacities are: a full arc has residual capacity exactly zero in
floating point, too.

Shared conventions: arc ``p`` leads from its tail to ``head[p]``, arcs of one tail are
``first[tail]`` to ``first[tail + 1] - 1``, ``sister[p]`` is the same arc the other way round, and
``residual[p]`` the flow that still fits, possibly infinite. ``excess[v]`` is what still fits from
the source to ``v`` if positive, and from ``v`` to the sink if negative; it is always finite.
"""

from typing import NamedTuple

import numpy as np

from .._jit import njit

# Sides of a node; also the rows of a `Front`.
FREE, SOURCE, SINK = -1, 0, 1
# Parents that are no arcs.
ROOT, ORPHAN = -1, -2


class Arcs(NamedTuple):
    """Graph and residual capacities."""

    first: np.ndarray  # (n_nodes + 1,)
    head: np.ndarray  # (n_arcs,)
    sister: np.ndarray  # (n_arcs,)
    residual: np.ndarray  # (n_arcs,) float
    excess: np.ndarray  # (n_nodes,) float


class Trees(NamedTuple):
    """The tree, level and parent of each node. Roots hang on their excess and have level 1."""

    side: np.ndarray  # FREE, SOURCE or SINK
    level: np.ndarray  # number of arcs to the terminal
    parent: np.ndarray  # arc from the node to its parent, ROOT or ORPHAN
    current: np.ndarray  # arcs before this one lead to no parent on the level above


class Front(NamedTuple):
    """Nodes whose arcs wait for a look, and nodes without a parent. Rows belong to sides."""

    nodes: np.ndarray  # (2, 2, n_nodes), by side and parity of the level
    count: np.ndarray  # (2, 2)
    queued: np.ndarray  # (2, n_nodes), the last level that a node was queued for
    unseen: np.ndarray  # (2,), nodes on this level and below wait for a look
    deepest: np.ndarray  # (2,), no node may move below this level
    orphan: np.ndarray  # (2, n_nodes + 2), first orphan on each level
    next_orphan: np.ndarray  # (n_nodes,)


@njit
def sort_arcs(edges, n_nodes):
    """The two arcs of each edge, sorted by tail: (first, head, sister, arc).

    The arc from ``edges[e, 0]`` to ``edges[e, 1]`` is ``arc[e]``.
    """
    n_edges = edges.shape[0]
    first = np.zeros(n_nodes + 1, np.int64)
    for e in range(n_edges):
        first[edges[e, 0] + 1] += 1
        first[edges[e, 1] + 1] += 1
    for v in range(n_nodes):
        first[v + 1] += first[v]
    free = first[:-1].copy()
    head = np.empty(2 * n_edges, np.int64)
    sister = np.empty(2 * n_edges, np.int64)
    arc = np.empty(n_edges, np.int64)
    for e in range(n_edges):
        a, b = edges[e, 0], edges[e, 1]
        p, q = free[a], free[b]
        free[a] += 1
        free[b] += 1
        head[p], head[q] = b, a
        sister[p], sister[q] = q, p
        arc[e] = p
    return first, head, sister, arc


@njit
def _enqueue(front, side, level, v):
    if front.queued[side, v] != level:
        front.queued[side, v] = level
        row = level & 1
        front.nodes[side, row, front.count[side, row]] = v
        front.count[side, row] += 1


@njit
def _cut_off(trees, front, v):
    trees.parent[v] = ORPHAN
    side, level = trees.side[v], trees.level[v]
    front.next_orphan[v] = front.orphan[side, level]
    front.orphan[side, level] = v


@njit
def _augment(arcs, trees, front, source_end, sink_end, bridge):
    """Push as much as fits through the arc ``bridge`` between the trees; returns the amount."""
    residual, sister = arcs.residual, arcs.sister
    amount = residual[bridge]
    for side in range(2):
        v = source_end if side == SOURCE else sink_end
        while trees.parent[v] != ROOT:
            p = trees.parent[v]
            amount = min(amount, residual[sister[p] if side == SOURCE else p])
            v = arcs.head[p]
        amount = min(amount, abs(arcs.excess[v]))
    residual[bridge] -= amount
    residual[sister[bridge]] += amount
    for side in range(2):
        v = source_end if side == SOURCE else sink_end
        while trees.parent[v] != ROOT:
            p = trees.parent[v]
            used = sister[p] if side == SOURCE else p
            residual[used] -= amount
            residual[sister[used]] += amount
            if residual[used] == 0.0:
                _cut_off(trees, front, v)
            v = arcs.head[p]
        arcs.excess[v] -= amount if side == SOURCE else -amount
        if arcs.excess[v] == 0.0:
            _cut_off(trees, front, v)
    return amount


@njit
def _adopt(arcs, trees, front, side):
    """Find a parent for every orphan of one side, or take it out of the tree; top levels first."""
    first, head, sister, residual = arcs.first, arcs.head, arcs.sister, arcs.residual
    deepest = front.deepest[side]
    level = 1
    while level <= deepest:
        v = front.orphan[side, level]
        if v < 0:
            level += 1
            continue
        front.orphan[side, level] = front.next_orphan[v]
        best, best_level = -1, deepest
        for p in range(trees.current[v], first[v + 1]):
            u = head[p]
            if trees.side[u] == side and trees.level[u] == level - 1:
                if residual[sister[p] if side == SOURCE else p] > 0.0:
                    best = p
                    break
        if best >= 0:
            trees.parent[v] = trees.current[v] = best
            continue
        for p in range(first[v], first[v + 1]):
            u = head[p]
            if trees.side[u] == side and trees.level[u] < best_level:
                if residual[sister[p] if side == SOURCE else p] > 0.0:
                    best, best_level = p, trees.level[u]
            if trees.parent[u] == sister[p]:
                _cut_off(trees, front, u)
        if best >= 0:
            trees.level[v] = best_level + 1
            trees.parent[v] = trees.current[v] = best
            if best_level + 1 >= front.unseen[side]:
                _enqueue(front, side, best_level + 1, v)
        else:
            trees.side[v] = FREE


@njit
def _grow(arcs, trees, front, side):
    """Look at all arcs that leave the last level of one tree; returns the flow pushed."""
    level = front.unseen[side]
    front.deepest[side] = level + 1
    row = level & 1
    front.count[side, 1 - row] = 0
    flow = 0.0
    i = 0
    while i < front.count[side, row]:
        v = front.nodes[side, row, i]
        i += 1
        p = arcs.first[v]
        while trees.side[v] == side and trees.level[v] == level and p < arcs.first[v + 1]:
            q = arcs.sister[p]
            out = p if side == SOURCE else q
            if arcs.residual[out] > 0.0:
                u = arcs.head[p]
                if trees.side[u] == FREE:
                    trees.side[u] = side
                    trees.level[u] = level + 1
                    trees.parent[u] = q
                    trees.current[u] = arcs.first[u]
                    _enqueue(front, side, level + 1, u)
                elif trees.side[u] != side:
                    ends = (v, u) if side == SOURCE else (u, v)
                    flow += _augment(arcs, trees, front, ends[0], ends[1], out)
                    for tree in range(2):
                        _adopt(arcs, trees, front, tree)
                    continue  # the same arc may have room left, or its head may be free now
            p += 1
    front.unseen[side] = level + 1
    return flow


@njit
def max_flow(arcs):
    """Push the largest possible flow from source to sink; returns its amount.

    ``arcs.residual`` and ``arcs.excess`` are overwritten by what is left of the capacities.
    """
    n_nodes = arcs.excess.size
    trees = Trees(
        np.full(n_nodes, FREE),
        np.ones(n_nodes, np.int64),
        np.full(n_nodes, ROOT),
        arcs.first[:-1].copy(),
    )
    front = Front(
        np.empty((2, 2, n_nodes), np.int64),
        np.zeros((2, 2), np.int64),
        np.zeros((2, n_nodes), np.int64),
        np.ones(2, np.int64),
        np.ones(2, np.int64),
        np.full((2, n_nodes + 2), -1),
        np.empty(n_nodes, np.int64),
    )
    for v in range(n_nodes):
        if arcs.excess[v] != 0.0:
            trees.side[v] = SOURCE if arcs.excess[v] > 0.0 else SINK
            _enqueue(front, trees.side[v], 1, v)
    flow = 0.0
    side = SOURCE
    while front.count[side, front.unseen[side] & 1] > 0:
        flow += _grow(arcs, trees, front, side)
        side = SINK if side == SOURCE else SOURCE
    return flow


@njit
def reaches_sink(arcs):
    """Which nodes still have a way to the sink after `max_flow`: (n_nodes,) bool.

    They are the smallest sink side of all minimum cuts.
    """
    n_nodes = arcs.excess.size
    reached = arcs.excess < 0.0
    stack = np.empty(n_nodes, np.int64)
    size = 0
    for v in range(n_nodes):
        if reached[v]:
            stack[size] = v
            size += 1
    while size:
        size -= 1
        v = stack[size]
        for p in range(arcs.first[v], arcs.first[v + 1]):
            u = arcs.head[p]
            if not reached[u] and arcs.residual[arcs.sister[p]] > 0.0:
                reached[u] = True
                stack[size] = u
                size += 1
    return reached


@njit
def strong_components(arcs, done):
    """Number the strong components of the residual graph: (n_nodes,), -1 where ``done``.

    No arc with room leads to a component of a higher number. Nodes that are ``done`` are left out.
    One depth-first search (Tarjan, SIAM Journal on Computing 1, 1972).
    """
    n_nodes = arcs.excess.size
    component = np.full(n_nodes, -1)
    found = np.full(n_nodes, -1)  # order of discovery
    low = np.empty(n_nodes, np.int64)  # earliest open node that the node's subtree leads to
    current = arcs.first[:-1].copy()
    path = np.empty(n_nodes, np.int64)
    open_nodes = np.empty(n_nodes, np.int64)  # found, but not in a component yet
    n_found = n_components = n_open = 0
    for root in range(n_nodes):
        if done[root] or found[root] >= 0:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            v = path[depth]
            if found[v] < 0:
                found[v] = low[v] = n_found
                n_found += 1
                open_nodes[n_open] = v
                n_open += 1
            deeper = False
            while current[v] < arcs.first[v + 1]:
                p = current[v]
                u = arcs.head[p]
                if not done[u] and arcs.residual[p] > 0.0:
                    if found[u] < 0:
                        depth += 1
                        path[depth] = u
                        deeper = True
                        break
                    if component[u] < 0:
                        low[v] = min(low[v], low[u])
                current[v] += 1
            if deeper:
                continue
            if low[v] == found[v]:
                while True:
                    n_open -= 1
                    component[open_nodes[n_open]] = n_components
                    if open_nodes[n_open] == v:
                        break
                n_components += 1
            depth -= 1
    return component
