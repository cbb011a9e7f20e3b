"""The plan of a bucket elimination: in which order nodes leave, and how their tables fit.

What buckets, scopes and messages are is told in `elimination.py`. A scope lists the node that
leaves last first, and the first node of a scope turns fastest in its tables. So the parent's node
is the slowest one of a message, the part of a message that belongs to one of its states is
contiguous, and all parts agree about the order of what is left.
"""

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from .._jit import inner, njit
from ..common.rows import grouped
from ..common.vectors import assign

# Tables above 2^40 entries will never be stored: the search for an order ends there.
LOG_TABLE_LIMIT = 40.0


class Plan(NamedTuple):
    """Everything about an elimination that scores do not change; bucket b eliminates order[b]."""

    order: np.ndarray  # (n,) nodes
    size: np.ndarray  # (n,) number of states of each node
    scope_start: np.ndarray  # (n + 1,) the scope of bucket b is scope[scope_start[b]: ...]
    scope: np.ndarray  # nodes, the one that leaves last first
    message_start: np.ndarray  # (n + 1,) place of each message in one array of all messages
    link_start: np.ndarray  # (n_scope + 1,) edges between order[b] and one node of its scope ...
    link: np.ndarray  # ... are link[link_start[s]: link_start[s + 1]]
    # Children of bucket b by level: the last place in the scope of b that their messages have,
    # or -1 if none. Level j of bucket b stands at slot scope_start[b] + b + j + 1.
    child_start: np.ndarray  # (n_scope + n + 1,)
    child: np.ndarray  # buckets
    # How the table on the first places of the parent's scope runs through one part of a message:
    # blocks of neighboring places that the message has (stride > 0) or lacks (0).
    walk_start: np.ndarray  # (n + 1,)
    walk_extent: np.ndarray
    walk_stride: np.ndarray
    # Buckets at which a call may look at the clock: a part ends where many numbers have passed.
    cuts: np.ndarray  # (n_parts + 1,)


@inner
def _appended(pool, used, extra):
    """The pool, or a copy of double size if ``extra`` more entries do not fit."""
    if used + extra <= pool.size:
        return pool
    grown = np.empty(2 * (used + extra), np.int64)
    assign(grown, pool[:used])
    return grown


@inner
def _neighbor_rows(edges, n_nodes):
    """Neighbors of each node, each once: (start, degree, pool), a row per node in one pool."""
    ends, degree = edges.ravel(), np.empty(n_nodes, np.int64)
    start, pool = grouped(ends, n_nodes)
    for i in range(pool.size):
        pool[i] = ends[pool[i] ^ 1]
    seen = np.full(n_nodes, -1)
    for v in range(n_nodes):
        kept = start[v]
        for i in range(start[v], start[v + 1]):
            u = pool[i]
            if seen[u] != v:
                seen[u] = v
                pool[kept] = u
                kept += 1
        degree[v] = kept - start[v]
    return start, degree, pool


@njit
def min_fill(edges, size):
    """Greedy elimination order: (order, scope_start, scope, log2 of the largest table).

    Each step takes the node whose neighbors lack the fewest edges; ties go to the smaller table,
    then to the lower node. Ends before a table of more than 2^LOG_TABLE_LIMIT entries: the order is
    then too short, and scopes and size are lower bounds.
    """
    n_nodes = size.size
    start, degree, pool = _neighbor_rows(edges, n_nodes)
    used = start[n_nodes]
    length, room = degree.copy(), start[1:] - start[:-1]  # rows keep nodes that left: see `alive`
    mark = np.full(n_nodes, -1)
    log_size = np.log2(size.astype(np.float64))
    log_table = log_size.copy()
    fill = degree * (degree - 1)  # twice the number of pairs of neighbors, joined or not
    for v in range(n_nodes):
        for i in range(start[v], start[v] + length[v]):
            mark[pool[i]] = v
        for i in range(start[v], start[v] + length[v]):
            u = pool[i]
            log_table[v] += log_size[u]
            if degree[u] < degree[v] or (degree[u] == degree[v] and u < v):
                for r in range(start[u], start[u] + length[u]):
                    if mark[pool[r]] == v:  # a triangle: one pair is joined for u and v each
                        fill[u] -= 1
                        fill[v] -= 1
    fill //= 2
    mark[:] = -1

    heap = [(fill[v], log_table[v], v) for v in range(n_nodes)]
    heapify(heap)
    alive = np.ones(n_nodes, np.bool_)
    order = np.empty(n_nodes, np.int64)
    scope_start = np.zeros(n_nodes + 1, np.int64)
    scope = np.empty(2 * edges.shape[0] + 1, np.int64)
    changed, changed_at = np.empty(n_nodes, np.int64), np.full(n_nodes, -1)
    clock = 0
    largest = 0.0
    for step in range(n_nodes):
        missing, entries, v = heappop(heap)
        while not alive[v] or missing != fill[v] or entries != log_table[v]:  # out of date
            missing, entries, v = heappop(heap)
        largest = max(largest, log_table[v])
        first = scope_start[step]
        scope_start[step + 1] = first + degree[v]
        if log_table[v] > LOG_TABLE_LIMIT:
            return order[:step], scope_start[: step + 2], scope, largest
        order[step] = v
        scope = _appended(scope, first, degree[v])
        d = 0
        for i in range(start[v], start[v] + length[v]):
            if alive[pool[i]]:
                scope[first + d] = pool[i]
                changed[d] = pool[i]
                changed_at[pool[i]] = step
                d += 1
        n_changed = d
        for i in range(first, first + d):
            a = scope[i]
            clock += 1
            for r in range(start[a], start[a] + length[a]):
                mark[pool[r]] = clock
            for j in range(i + 1, first + d):
                b = scope[j]
                if mark[b] == clock:
                    continue
                # Join a and b: their common neighbors lack one pair less, and each of the two
                # lacks its new neighbor's edges to its old neighbors.
                common = 0
                for r in range(start[b], start[b] + length[b]):
                    w = pool[r]
                    if mark[w] == clock and alive[w]:
                        common += 1
                        fill[w] -= 1
                        if changed_at[w] != step:
                            changed_at[w] = step
                            changed[n_changed] = w
                            n_changed += 1
                fill[a] += degree[a] - common
                fill[b] += degree[b] - common
                for end in range(2):
                    one, other = (a, b) if end == 0 else (b, a)
                    if length[one] == room[one]:  # move the row to the end, without who left
                        pool = _appended(pool, used, 2 * (degree[one] + 1))
                        kept = used
                        for r in range(start[one], start[one] + length[one]):
                            if alive[pool[r]]:
                                pool[kept] = pool[r]
                                kept += 1
                        start[one], length[one] = used, kept - used
                        room[one] = 2 * (degree[one] + 1)
                        used += room[one]
                    pool[start[one] + length[one]] = other
                    length[one] += 1
                    degree[one] += 1
                    log_table[one] += log_size[other]
                mark[b] = clock
        alive[v] = False
        for i in range(first, first + d):
            u = scope[i]
            fill[u] -= degree[u] - d  # pairs of v with neighbors of u that v did not have
            degree[u] -= 1
            log_table[u] -= log_size[v]
        for i in range(n_changed):
            u = changed[i]
            heappush(heap, (fill[u], log_table[u], u))
    return order, scope_start, scope[: scope_start[n_nodes]].copy(), largest


@njit
def scopes_of(edges, size, order, limit):
    """What `min_fill` returns, for a given order; ends at a table of more than 2^limit entries."""
    n_nodes = size.size
    start, degree, pool = _neighbor_rows(edges, n_nodes)
    bucket = np.empty(n_nodes, np.int64)
    for b in range(n_nodes):
        bucket[order[b]] = b
    scope_start = np.zeros(n_nodes + 1, np.int64)
    scope = np.empty(2 * edges.shape[0] + 1, np.int64)
    mark = np.full(n_nodes, -1)
    # Buckets whose scope begins with a node, as linked lists: their scopes go on to that node's.
    newest, before = np.full(n_nodes, -1), np.full(n_nodes, -1)
    largest = 0.0
    for b in range(n_nodes):
        v, first = order[b], scope_start[b]
        n, log_table = 0, np.log2(np.float64(size[v]))
        mark[v] = b
        # Neighbors first, then the scopes of children.
        row, begin, end, child = pool, start[v], start[v] + degree[v], newest[v]
        while True:
            for i in range(begin, end):
                u = row[i]
                if bucket[u] > b and mark[u] != b:
                    mark[u] = b
                    scope = _appended(scope, first + n, 1)
                    scope[first + n] = u
                    n += 1
                    log_table += np.log2(np.float64(size[u]))
            if child < 0:
                break
            row, begin, end = scope, scope_start[child], scope_start[child + 1]
            child = before[child]
        scope_start[b + 1] = first + n
        largest = max(largest, log_table)
        if log_table > limit:
            return order[:b], scope_start[: b + 2], scope, largest
        if n > 0:
            parent = scope[first]
            for i in range(first, first + n):
                if bucket[scope[i]] < bucket[parent]:
                    parent = scope[i]
            before[b] = newest[parent]
            newest[parent] = b
    return order, scope_start, scope[: scope_start[n_nodes]].copy(), largest


@njit
def arrange(edges, size, order, scope_start, scope):
    """The `Plan` of a complete order; sorts the scopes in place."""
    n_nodes = size.size
    n_scope = scope.size
    bucket = np.empty(n_nodes, np.int64)
    for b in range(n_nodes):
        bucket[order[b]] = b
    message_start = np.zeros(n_nodes + 1, np.int64)
    for b in range(n_nodes):
        entries = 1
        for s in range(scope_start[b], scope_start[b + 1]):
            u = scope[s]
            entries *= size[u]
            r = s
            while r > scope_start[b] and bucket[scope[r - 1]] < bucket[u]:
                scope[r] = scope[r - 1]
                r -= 1
            scope[r] = u
        message_start[b + 1] = message_start[b] + entries

    place = np.empty(edges.shape[0], np.int64)
    for e in range(edges.shape[0]):
        a, c = bucket[edges[e, 0]], bucket[edges[e, 1]]
        s = scope_start[min(a, c)]
        while scope[s] != order[max(a, c)]:
            s += 1
        place[e] = s
    link_start, link = grouped(place, n_scope)

    slot = np.full(n_nodes, -1)
    walk_start = np.zeros(n_nodes + 1, np.int64)
    walk_extent, walk_stride = np.empty(n_scope, np.int64), np.empty(n_scope, np.int64)
    n_walk = 0
    for b in range(n_nodes):
        first, last = scope_start[b], scope_start[b + 1] - 1
        if first <= last:
            parent = bucket[scope[last]]
            s, here, stride, n_blocks = scope_start[parent], first, 1, 0
            while here < last:  # runs along both scopes, which are in the same order
                kept = scope[s] == scope[here]
                if n_blocks == 0 or kept != (walk_stride[n_walk + n_blocks - 1] > 0):
                    walk_extent = _appended(walk_extent, n_walk + n_blocks, 1)
                    walk_stride = _appended(walk_stride, n_walk + n_blocks, 1)
                    walk_extent[n_walk + n_blocks] = 1
                    walk_stride[n_walk + n_blocks] = stride if kept else 0
                    n_blocks += 1
                walk_extent[n_walk + n_blocks - 1] *= size[scope[s]]
                if kept:
                    stride *= size[scope[s]]
                    here += 1
                s += 1
            n_walk += n_blocks
            slot[b] = s + parent
        walk_start[b + 1] = n_walk
    child_start, child = grouped(slot, n_scope + n_nodes)
    return (
        order, size, scope_start, scope, message_start, link_start, link, child_start, child,
        walk_start, walk_extent[:n_walk].copy(), walk_stride[:n_walk].copy(),
    )  # fmt: skip
