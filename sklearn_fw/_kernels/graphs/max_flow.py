"""Maximum flow and minimum cut with real capacities, by incremental breadth-first search.

A tree of nodes that the source reaches and one of nodes that reach the sink grow in turns, one
level at a time (Goldberg, Hed, Kaplan, Tarjan and Werneck, ESA 2011). Where they meet, flow is
pushed along the path until an arc is full; nodes cut off from their root look for a parent on the
level above, move to the lowest level they can have, or leave the tree. Pushes are at most n_nodes *
n_arcs whatever the capacities are: a full arc has residual capacity exactly zero in floating point,
too.

Shared conventions: arc ``p`` leads from its tail to ``head[p]``, arcs of one tail are
``first[tail]`` to ``first[tail + 1] - 1``, ``sister[p]`` is the same arc the other way round, and
``residual[p]`` the flow that still fits, possibly infinite. ``excess[v]`` is what still fits from
the source to ``v`` if positive, and from ``v`` to the sink if negative; it is finite.

Loops take arrays and no tuples of them: taking an array out of a tuple counts references, which
costs more than a look at an arc.
"""

from typing import NamedTuple

import numpy as np

from .._jit import inner, njit
from ..common.rows import grouped

# Sides of a node.
FREE, SOURCE, SINK = -1, 0, 1
# Parents that are not arcs.
ROOT, ORPHAN = -1, -2


class Arcs(NamedTuple):
    first: np.ndarray  # (n_nodes + 1,)
    head: np.ndarray  # (n_arcs,)
    sister: np.ndarray  # (n_arcs,)
    residual: np.ndarray  # (n_arcs,) float
    excess: np.ndarray  # (n_nodes,) float


@njit
def sort_arcs(edges, n_nodes):
    """The two arcs of each edge, sorted by tail: (first, head, sister, arc).

    The arc from ``edges[e, 0]`` to ``edges[e, 1]`` is ``arc[e]``.
    """
    ends = edges.ravel()
    first, end = grouped(ends, n_nodes)
    # Numbers without a sign need no test whether they count from the end.
    place, head, sister = np.empty_like(end), end.astype(np.uint32), end.astype(np.uint32)
    for p in range(end.size):
        place[end[p]] = p
    for p in range(end.size):
        head[p], sister[p] = ends[end[p] ^ 1], place[end[p] ^ 1]
    return first, head, sister, place[::2].copy()


@inner
def _split(neither, second, first, both, share):
    """(bias, tilt, attraction, size) of the scores of an edge, by which ends are in state 1.

    The ends gain ``bias + tilt`` and ``bias - tilt``. Attraction is half of what equal states have
    more than different ones, 0 where that is rounding: a ``share`` of the size of all scores.
    """
    bias, tilt = (both - neither) / 2, (first - second) / 2
    attraction = (neither + both - (second + first)) / 2
    size = abs(neither) + abs(both) + (abs(second) + abs(first))
    return bias, tilt, 0.0 if abs(attraction) <= share * size else attraction, size


@njit
def switch_form(unary, tables, edge_table, edges, share, gain, loss, crossed):
    """Gains of nodes and losses of edges, of finite scores of two states: (constant, rounding).

    Both numbers are NaN where something is -inf, and what the arrays hold then means nothing.
    ``share`` of a sum of numbers is its error of rounding.
    """
    constant, size, lost, largest = 0.0, 0.0, 0.0, 0.0
    for t in range(unary.shape[0]):
        if min(unary[t, 0], unary[t, 1]) == -np.inf:
            return np.nan, np.nan
        gain[t] = unary[t, 1] - unary[t, 0]
        constant += unary[t, 0]
        size += abs(unary[t, 0]) + abs(unary[t, 1])
        largest = max(largest, abs(unary[t, 0]), abs(unary[t, 1]))
    for e in range(edges.shape[0]):
        table = tables[edge_table[e]]
        if min(table[0, 0], table[0, 1], table[1, 0], table[1, 1]) == -np.inf:
            return np.nan, np.nan
        bias, tilt, attraction, sizes = _split(
            table[0, 0], table[0, 1], table[1, 0], table[1, 1], share
        )
        if -share * largest <= attraction < 0.0:
            lost -= attraction
            attraction = 0.0
        gain[edges[e, 0]] += bias + tilt
        gain[edges[e, 1]] += bias - tilt
        loss[e], crossed[e] = abs(attraction), attraction < 0.0
        constant += table[0, 0] - min(attraction, 0.0)
        size += sizes
    return constant, share * size + lost


@inner
def _push_directly(first, head, sister, residual, excess):
    """Push along all single arcs from the source's neighbors to the sink's; returns the flow."""
    flow = 0.0
    for v in range(excess.size):
        left = excess[v]
        if left <= 0.0:
            continue
        for p in range(first[v], first[v + 1]):
            u = head[p]
            if excess[u] < 0.0 and residual[p] > 0.0:
                amount = min(left, residual[p], -excess[u])
                residual[p] -= amount
                residual[sister[p]] += amount
                excess[u] += amount
                left -= amount
                flow += amount
                if left == 0.0:
                    break
        excess[v] = left
    return flow


@inner
def _plant(excess, sides, nodes, count):
    """Make a root of each node that is joined to a terminal."""
    for v in range(excess.size):
        if excess[v] != 0.0:
            sides[v] = SOURCE if excess[v] > 0.0 else SINK
            row = 2 * sides[v] + 1
            nodes[row, count[row]] = v
            count[row] += 1


@inner
def _room(v, side, head, sister, residual, excess, parent):
    """How much fits between the terminal of a tree and its node ``v``."""
    amount = np.inf
    while parent[v] != ROOT:
        p = parent[v]
        amount = min(amount, residual[sister[p] if side == SOURCE else p])
        v = head[p]
    return min(amount, abs(excess[v]))


@inner
def _push(v, amount, side, head, sister, residual, excess, parent, level, orphan, next_orphan):
    """Push an amount between the terminal of a tree and its node ``v``.

    Nodes that are cut off by it go into the lists ``orphan``, which hold the first of each level;
    returns the highest of these levels, a large number without orphans.
    """
    highest = level.size + 1
    at_root = False
    while not at_root:
        p = parent[v]
        at_root = p == ROOT
        if at_root:
            excess[v] -= amount if side == SOURCE else -amount
            left = excess[v]
        else:
            used, back = (sister[p], p) if side == SOURCE else (p, sister[p])
            residual[used] -= amount
            residual[back] += amount
            left = residual[used]
        if left == 0.0:
            highest = level[v]
            parent[v] = ORPHAN
            next_orphan[v] = orphan[side, highest]
            orphan[side, highest] = v
        if not at_root:
            v = head[p]
    return highest


@inner
def _adopt(
    top, deepest, unseen, side, first, head, sister, residual,
    sides, parent, level, current, orphan, next_orphan, nodes, count, queued,
):  # fmt: skip
    """Find a parent for every orphan of one side, or take it out of the tree; top levels first.

    No node moves below the level ``deepest``; those that move to ``unseen`` or below wait for a
    look once more.
    """
    while top <= deepest:
        v = orphan[side, top]
        if v < 0:
            top += 1
            continue
        orphan[side, top] = next_orphan[v]
        best, best_level = -1, deepest
        for p in range(current[v], first[v + 1]):
            u = head[p]
            if sides[u] == side and level[u] == top - 1:
                if residual[sister[p] if side == SOURCE else p] > 0.0:
                    best = p
                    break
        if best >= 0:
            parent[v] = current[v] = best
            continue
        for p in range(first[v], first[v + 1]):
            u = head[p]
            if sides[u] != side:
                continue
            if level[u] < best_level and residual[sister[p] if side == SOURCE else p] > 0.0:
                best, best_level = p, level[u]
            if parent[u] == sister[p]:
                parent[u] = ORPHAN
                next_orphan[u] = orphan[side, level[u]]
                orphan[side, level[u]] = u
        if best < 0:
            sides[v] = FREE
            continue
        parent[v] = current[v] = best
        level[v] = best_level + 1
        if best_level + 1 >= unseen and queued[side, v] != best_level + 1:
            queued[side, v] = best_level + 1
            row = 2 * side + ((best_level + 1) & 1)
            nodes[row, count[row]] = v
            count[row] += 1


@njit
def max_flow(arcs):
    """Push the largest possible flow from source to sink; returns its amount.

    ``arcs.residual`` and ``arcs.excess`` are overwritten by what is left of the capacities.

    Of each node the side says its tree, ``level`` the number of arcs to the terminal, ``parent``
    the arc to its parent, ROOT or ORPHAN, and arcs before ``current`` lead to no parent on the
    level above. Roots hang on their excess and have level 1. Nodes whose arcs wait for a look are
    in the rows ``2 * side + parity of the level`` of ``nodes``; ``queued`` is the last level that a
    node was put there for, and ``unseen`` the level that is looked at next.
    """
    first, head, sister, residual, excess = arcs
    n_nodes = excess.size
    flow = _push_directly(first, head, sister, residual, excess)
    sides, level = np.full(n_nodes, FREE, np.int8), np.ones(n_nodes, np.int32)
    parent, current = np.full(n_nodes, ROOT, np.int32), first[:-1].astype(np.int32)
    nodes, queued = np.empty((4, n_nodes), np.int32), np.zeros((2, n_nodes), np.int32)
    orphan, next_orphan = np.full((2, n_nodes + 2), -1, np.int32), np.empty(n_nodes, np.int32)
    count, unseen, deepest = np.zeros(4, np.int64), np.ones(2, np.int64), np.ones(2, np.int64)
    _plant(excess, sides, nodes, count)
    side = SOURCE
    while count[2 * side + (unseen[side] & 1)] > 0:
        # All arcs that leave the last level of one tree.
        here = unseen[side]
        row, below = 2 * side + (here & 1), 2 * side + 1 - (here & 1)
        deepest[side] = here + 1
        count[below] = 0
        i = 0
        while i < count[row]:
            v = nodes[row, i]
            i += 1
            p = first[v]
            while sides[v] == side and level[v] == here and p < first[v + 1]:
                u = head[p]
                out = p if side == SOURCE else sister[p]
                if residual[out] <= 0.0 or sides[u] == side:
                    p += 1
                elif sides[u] == FREE:
                    sides[u], level[u] = side, here + 1
                    parent[u], current[u] = sister[p], first[u]
                    if queued[side, u] != here + 1:
                        queued[side, u] = here + 1
                        nodes[below, count[below]] = u
                        count[below] += 1
                    p += 1
                else:  # and then the same arc again: it may have room left, or lead to a free node
                    amount = residual[out]
                    for tree in range(2):
                        end = v if tree == side else u
                        room = _room(end, tree, head, sister, residual, excess, parent)
                        amount = min(amount, room)
                    flow += amount
                    residual[out] -= amount
                    residual[sister[out]] += amount
                    for tree in range(2):
                        end = v if tree == side else u
                        top = _push(
                            end, amount, tree, head, sister, residual, excess,
                            parent, level, orphan, next_orphan,
                        )  # fmt: skip
                        _adopt(
                            top, deepest[tree], unseen[tree], tree, first, head, sister, residual,
                            sides, parent, level, current, orphan, next_orphan,
                            nodes, count, queued,
                        )  # fmt: skip
        unseen[side] = here + 1
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


@inner
def _save(array, at, number, journal):
    """Keep what stands in ``array[at]`` before the flip of this number changes it first."""
    changed, log, before, size = journal
    if changed[at] != number:
        changed[at], log[size[0]], before[size[0]] = number, at, array[at]
        size[0] += 1


@inner
def _restore(array, journal):
    _, log, before, size = journal
    for k in range(size[0]):
        array[log[k]] = before[k]
    size[0] = 0


@inner
def _drain(v, side, number, arcs, seen, stamp, via, queue, journals):
    """Push from one terminal to the node ``v``, all that fits along one tree of shortest paths.

    The tree ends on the level of the nearest node with room to the terminal. Returns the amount.
    """
    first, head, sister, residual, excess = arcs
    queue[0], seen[v] = v, stamp
    n, at, last = 1, 0, excess.size
    flow = 0.0
    while at < n and at < last:
        w = queue[at]
        at += 1
        for p in range(first[w], first[w + 1]):
            u = head[p]
            if seen[u] == stamp or residual[sister[p] if side == SOURCE else p] <= 0.0:
                continue
            seen[u], via[u] = stamp, sister[p]
            queue[n] = u
            n += 1
            if (excess[u] <= 0.0) if side == SOURCE else (excess[u] >= 0.0):
                continue
            last = min(last, n)  # nodes behind it are as far away, or farther
            amount, t = abs(excess[u]), u
            while t != v:
                q = via[t] if side == SOURCE else sister[via[t]]
                amount = min(amount, residual[q])
                t = head[via[t]]
            flow += amount
            if amount == 0.0 or amount == np.inf:
                continue
            _save(excess, u, number, journals[1])
            excess[u] -= amount if side == SOURCE else -amount
            t = u
            while t != v:
                q = via[t] if side == SOURCE else sister[via[t]]
                _save(residual, q, number, journals[0])
                _save(residual, sister[q], number, journals[0])
                residual[q] -= amount
                residual[sister[q]] += amount
                t = head[via[t]]
    return flow


@njit
def flip_losses(arcs, sink, nodes, fix, losses):
    """How much the minimum cut rises when one node has to change its side, after `max_flow`.

    ``losses[i]`` belongs to ``nodes[i]``, and ``sink`` holds the sides of `reaches_sink`. With
    ``fix`` each node must stay where it is for all nodes after it; inf where infinite arcs join a
    node to a fixed one. What a flip pushes is taken back: only the neighborhood is touched.
    """
    excess = arcs.excess
    n_nodes, n_arcs = excess.size, arcs.head.size
    seen, stamp = np.zeros(n_nodes, np.int64), 0
    via, queue = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    journals = (
        (np.full(n_arcs, -1), np.empty(n_arcs, np.int64), np.empty(n_arcs), np.zeros(1, np.int64)),
        (np.full(n_nodes, -1), queue.copy(), np.empty(n_nodes), np.zeros(1, np.int64)),
    )
    for i in range(nodes.size):
        v = nodes[i]
        side = SINK if sink[v] else SOURCE
        loss = abs(excess[v])
        pushed = 1.0
        while pushed > 0.0 and loss < np.inf:
            stamp += 1
            pushed = _drain(v, side, i, arcs, seen, stamp, via, queue, journals)
            loss += pushed
        losses[i] = loss
        _restore(arcs.residual, journals[0])
        _restore(excess, journals[1])
        if fix:
            excess[v] = -np.inf if sink[v] else np.inf


@njit
def fusion(
    unary, tables, edge_table, edges, zero, one, rounding, arc, sister, residual, excess, crossed
):  # fmt: skip
    """The best mixture of the labelings ``zero`` and ``one`` as a minimum cut.

    ``excess`` (n_nodes,) receives what each node loses by ``one``, ``residual`` (n_arcs,) the room
    of both arcs of each edge, and ``crossed[e]`` whether the edge wants its ends on different
    sides. Returns how many edges do, more than by ``rounding`` of their scores.
    """
    for i in range(unary.shape[0]):
        excess[i] = unary[i, zero[i]] - unary[i, one[i]]
    n_crossed = 0
    for e in range(edges.shape[0]):
        a, b = edges[e, 0], edges[e, 1]
        forward = arc[e]
        attraction = 0.0
        crossed[e] = False
        if zero[a] != one[a] or zero[b] != one[b]:
            table = edge_table[e]
            both_zero = tables[table, zero[a], zero[b]]
            second = tables[table, zero[a], one[b]]
            first = tables[table, one[a], zero[b]]
            both_one = tables[table, one[a], one[b]]
            bias, tilt, attraction, _ = _split(both_zero, second, first, both_one, rounding)
            excess[a] -= bias + tilt
            excess[b] -= bias - tilt
            if attraction < 0.0:
                crossed[e] = True
                n_crossed += 1
                attraction = -attraction
        residual[forward] = residual[sister[forward]] = attraction
    return n_crossed
