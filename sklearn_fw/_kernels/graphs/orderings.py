"""Exact dynamic programs: items in ascending slots, states of candidates, lightest paths."""

import numpy as np

from .._jit import inner, njit
from ..common.vectors import assign


@njit
def place_in_order(cost, n_items, n_slots, chosen):
    """Write the cheapest slots of all items; -1, or the first sequence that has no way.

    ``cost`` holds a matrix (n_items[n], n_slots[n]) for each sequence, row by row, with infinity
    where an item may not go. In each, slots must ascend strictly from item to item. ``chosen``
    (sum of n_items,) receives the slots; of equal ones the earliest.
    """
    start, done = 0, 0
    for n in range(len(n_items)):
        K, T = n_items[n], n_slots[n]
        if K > 0 and not _place(cost[start : start + K * T], K, T, chosen[done : done + K]):
            return n
        start, done = start + K * T, done + K
    return -1


@inner
def _place(cost, K, T, chosen):
    came = np.empty((K, T), np.int64)
    before, after = np.zeros(T + 1), np.empty(T + 1)  # of the items so far in the first t slots
    best = np.inf
    for k in range(K):
        best, place = np.inf, -1
        after[0] = np.inf
        for t in range(T):
            value = before[t] + cost[k * T + t]
            if value < best:
                best, place = value, t
            came[k, t] = place
            after[t + 1] = best
        before, after = after, before
    if not best < np.inf:
        return False
    t = T - 1
    for k in range(K - 1, -1, -1):
        chosen[k] = came[k, t]
        t = came[k, t] - 1
    return True


@njit
def realign(order, present, tokens, starts, costs, counts, sums, slots):
    """Take one sequence out at a time and put it back where it is cheapest; number that moved.

    ``order`` lists the sequences; those not ``present`` (n,) are put in. ``starts`` (n + 1,) is
    where each begins in ``tokens``, ``slots`` their places, ``counts`` (n_tokens, n_slots) how
    often tokens are in slots, ``sums`` the symmetric ``costs`` (n_tokens, n_tokens) times these.
    """
    T, n_moved = counts.shape[1], 0
    new = np.empty(len(tokens), np.int64)
    for n in order:
        begin, end = starts[n], starts[n + 1]
        own, K, here = np.empty((end - begin) * T), end - begin, np.inf
        if present[n]:
            _shift(tokens[begin:end], slots[begin:end], costs, counts, sums, -1.0)
            here = 0.0
            for k in range(K):
                here += sums[tokens[begin + k], slots[begin + k]]
        for k in range(K):
            assign(own[k * T : (k + 1) * T], sums[tokens[begin + k]])
        _place(own, K, T, new[:K])
        best = 0.0
        for k in range(K):
            best += own[k * T + new[k]]
        if not present[n] or best < here - 1e-9 * (1.0 + abs(here)):
            assign(slots[begin:end], new[:K])
            present[n] = True
            n_moved += 1
        _shift(tokens[begin:end], slots[begin:end], costs, counts, sums, 1.0)
    return n_moved


@inner
def _shift(tokens, slots, costs, counts, sums, sign):
    for k in range(len(tokens)):
        counts[tokens[k], slots[k]] += sign
        for d in range(len(costs)):
            sums[d, slots[k]] += sign * costs[d, tokens[k]]


@njit
def choose_states(cost, offsets, order, n_before, one, chosen):
    """Write the cheapest states of all candidates; -1, or the first clip that has no way.

    ``cost`` (n, 2) is that of each candidate in the first and in the second state; clip n has the
    candidates ``offsets[n]`` to ``offsets[n + 1]``. ``order`` lists those of a clip by their ends,
    and ``n_before`` counts for each of this list those that end before it starts. Chosen ones are
    disjoint, those in the first state come before those in the second, and there is one of each, or
    at least one. ``chosen`` receives -1 for none, 0 or 1.
    """
    for n in range(len(offsets) - 1):
        begin, end = offsets[n], offsets[n + 1]
        chosen[begin:end] = -1
        m = end - begin
        first, second = np.full(m + 1, np.inf), np.full(m + 1, np.inf)
        for r in range(1, m + 1):
            i, p = order[begin + r - 1], n_before[begin + r - 1]
            before = 0.0 if one else min(0.0, first[p])
            first[r] = min(first[r - 1], cost[i, 0] + before)
            before = first[p] if one else min(first[p], second[p])
            second[r] = min(second[r - 1], cost[i, 1] + before)
        if not second[m] < np.inf:
            return n
        r, state = m, 1
        while state >= 0:
            values = second if state == 1 else first
            while values[r] == values[r - 1]:
                r -= 1
            i, p = order[begin + r - 1], n_before[begin + r - 1]
            chosen[i] = state
            if state == 1:
                state = 1 if not one and second[p] < first[p] else 0
            else:
                state = 0 if not one and first[p] < 0.0 else -1
            r = p
    return -1


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
