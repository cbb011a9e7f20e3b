"""Exact maximisation over labellings of a forest (chains and single nodes included).

Shared conventions: node ``t`` has a row of ``scores`` (n_nodes, n_states); edge ``e`` joins
``edges[e] = (child, parent)`` and scores ``tables[edge_table[e], state_child, state_parent]``.
Edges stand in an order that never uses a node as a child before all edges that have it as parent:
messages then flow from leaves to roots by walking the list once, and labels by walking it back.
"""

import numpy as np

from .._jit import njit


@njit
def largest_score(scores):
    """Largest absolute number of a vector but -inf; cost: one look at each."""
    largest = 0.0
    for i in range(scores.size):
        size = abs(scores[i])
        largest = size if largest < size < np.inf else largest
    return largest


@njit
def _walk_back(edges, edge_table, tables, messages, kept, labels):
    """States of all nodes but the roots and ``kept``, given those of their parents."""
    n_states = messages.shape[1]
    for e in range(edges.shape[0] - 1, -1, -1):
        child, parent = edges[e, 0], edges[e, 1]
        if child == kept:
            continue
        table = tables[edge_table[e]]
        state = labels[parent]
        top, top_value = 0, messages[child, 0] + table[0, state]
        for j in range(1, n_states):
            candidate = messages[child, j] + table[j, state]
            if candidate > top_value:
                top, top_value = j, candidate
        labels[child] = top


@njit
def tree_argmax(scores, edges, edge_table, tables, labels, messages):
    """Best labelling by max-product; ties go to the lower state.

    ``labels`` (n_nodes,) receives it; ``messages`` (>= n_nodes + 1, n_states) is overwritten.
    Returns its score. Cost: n_edges * n_states^2.
    """
    n_nodes, n_states = scores.shape
    best = messages[n_nodes]
    for t in range(n_nodes):
        labels[t] = 0
        for k in range(n_states):
            messages[t, k] = scores[t, k]
    for e in range(edges.shape[0]):
        child, parent = edges[e, 0], edges[e, 1]
        table = tables[edge_table[e]]
        labels[child] = -1  # not a root
        base = messages[child, 0]
        for k in range(n_states):
            best[k] = base + table[0, k]
        for j in range(1, n_states):
            base = messages[child, j]
            for k in range(n_states):
                candidate = base + table[j, k]
                # No index is tracked here, so that the loop is a vector max; see the walk back.
                best[k] = candidate if candidate > best[k] else best[k]
        for k in range(n_states):
            messages[parent, k] += best[k]

    value = 0.0
    for t in range(n_nodes):
        if labels[t] == 0:
            top = 0
            for k in range(1, n_states):
                if messages[t, k] > messages[t, top]:
                    top = k
            labels[t] = top
            value += messages[t, top]
    _walk_back(edges, edge_table, tables, messages, -1, labels)
    return value


@njit
def tree_runner_up(scores, edges, edge_table, tables, labels, messages):
    """The best of all other labellings, after `tree_argmax` with the last two arguments.

    Somewhere it departs from the best one first, at a node whose parent keeps its state, and the
    subtree below that node follows. ``labels`` receives it; returns how much lower its score is,
    inf where there is no other labelling. Cost: n_edges * n_states, and the walk back.
    """
    n_nodes, n_states = scores.shape
    is_root = np.ones(n_nodes, np.bool_)
    node, state, least = -1, -1, np.inf
    for e in range(edges.shape[0]):
        child, table, parent_state = edges[e, 0], tables[edge_table[e]], labels[edges[e, 1]]
        is_root[child] = False
        best = messages[child, labels[child]] + table[labels[child], parent_state]
        for j in range(n_states):
            loss = best - messages[child, j] - table[j, parent_state]
            if j != labels[child] and loss < least:
                node, state, least = child, j, loss
    for t in range(n_nodes):
        if is_root[t]:
            for j in range(n_states):
                loss = messages[t, labels[t]] - messages[t, j]
                if j != labels[t] and loss < least:
                    node, state, least = t, j, loss
    if node >= 0:
        labels[node] = state
        _walk_back(edges, edge_table, tables, messages, node, labels)
    return least


@njit
def tree_argmax_batch(scores, node_start, edge_start, edge_stop, edges, edge_table, tables, labels):
    """`tree_argmax` on many samples stacked along the nodes; returns the values (n_samples,)."""
    n_samples = node_start.size - 1
    longest = 0
    for i in range(n_samples):
        longest = max(longest, node_start[i + 1] - node_start[i])
    messages = np.empty((longest + 1, scores.shape[1]))
    values = np.empty(n_samples)
    for i in range(n_samples):
        a, b = node_start[i], node_start[i + 1]
        c, d = edge_start[i], edge_stop[i]
        values[i] = tree_argmax(
            scores[a:b], edges[c:d], edge_table[c:d], tables, labels[a:b], messages
        )
    return values


@njit
def _merge_top(a, n_a, b, n_b, values, first, second):
    """The largest sums a[i] + b[j] of two descending lists, in descending order."""
    limit = min(values.size, n_a * n_b)
    frontier = np.zeros(n_a, np.int64)  # frontier[i]: next j to pair with a[i]
    for r in range(limit):
        top = -1
        top_value = 0.0
        for i in range(n_a):
            j = frontier[i]
            if j < n_b and (top < 0 or a[i] + b[j] > top_value):
                top, top_value = i, a[i] + b[j]
            if j == 0:
                break  # later rows start no better than this one
        values[r] = top_value
        first[r] = top
        second[r] = frontier[top]
        frontier[top] += 1
    return limit


@njit
def _top_entries(lists, count, offsets, values, sources):
    """The best of all ``lists[j, r] + offsets[j]``, descending, with sources ``j * k + r``."""
    n_states, k = lists.shape
    frontier = np.zeros(n_states, np.int64)  # each list is descending: only its next entry competes
    for n in range(k):
        top = -1
        top_value = 0.0
        for j in range(n_states):
            r = frontier[j]
            if r < count[j] and (top < 0 or lists[j, r] + offsets[j] > top_value):
                top, top_value = j, lists[j, r] + offsets[j]
        if top < 0:
            return n
        values[n] = top_value
        sources[n] = top * k + frontier[top]
        frontier[top] += 1
    return k


@njit
def tree_top_k(scores, edges, edge_table, tables, k):
    """The k best labellings in descending order: (values (m,), labels (m, n_nodes)), m <= k.

    Every state of every node keeps the k best ways to label the subtree below it; a child's lists
    are merged into its parent's one child at a time. Cost: n_edges * n_states * k * (n_states + k).
    """
    n_nodes, n_states = scores.shape
    n_edges = edges.shape[0]
    lists = np.empty((n_nodes, n_states, k))
    count = np.ones((n_nodes, n_states), np.int64)
    is_root = np.ones(n_nodes, np.bool_)
    # How entry r of a parent's list after merging edge e splits: its rank before, and the child's
    # state and rank packed as state * k + rank.
    own_rank = np.zeros((n_edges, n_states, k), np.int64)
    child_source = np.zeros((n_edges, n_states, k), np.int64)
    lists[:, :, 0] = scores

    message, merged = np.empty(k), np.empty(k)
    sources, first, second = np.empty(k, np.int64), np.empty(k, np.int64), np.empty(k, np.int64)
    for e in range(n_edges):
        child, parent = edges[e, 0], edges[e, 1]
        is_root[child] = False
        for state in range(n_states):
            offsets = tables[edge_table[e], :, state]
            n = _top_entries(lists[child], count[child], offsets, message, sources)
            n = _merge_top(
                lists[parent, state], count[parent, state], message, n, merged, first, second
            )
            count[parent, state] = n
            for r in range(n):
                lists[parent, state, r] = merged[r]
                own_rank[e, state, r] = first[r]
                child_source[e, state, r] = sources[second[r]]

    # The trees of a forest are merged as if their roots were children of one more node.
    roots = np.flatnonzero(is_root)
    total = np.zeros(k)
    n_total = 1
    root_rank = np.zeros((roots.size, k), np.int64)
    root_source = np.zeros((roots.size, k), np.int64)
    nothing = np.zeros(n_states)
    for a in range(roots.size):
        n = _top_entries(lists[roots[a]], count[roots[a]], nothing, message, sources)
        n_total = _merge_top(total, n_total, message, n, merged, first, second)
        for r in range(n_total):
            total[r] = merged[r]
            root_rank[a, r] = first[r]
            root_source[a, r] = sources[second[r]]

    labels = np.empty((n_total, n_nodes), np.int32)
    rank = np.empty(n_nodes, np.int64)
    for m in range(n_total):
        r = m
        for a in range(roots.size - 1, -1, -1):
            labels[m, roots[a]] = root_source[a, r] // k
            rank[roots[a]] = root_source[a, r] % k
            r = root_rank[a, r]
        for e in range(n_edges - 1, -1, -1):
            child, parent = edges[e, 0], edges[e, 1]
            state, r = labels[m, parent], rank[parent]
            labels[m, child] = child_source[e, state, r] // k
            rank[child] = child_source[e, state, r] % k
            rank[parent] = own_rank[e, state, r]
    return total[:n_total].copy(), labels


@njit
def enumerate_argmax(scores, edges, edge_table, tables, labels, but=-1):
    """Best labelling of any graph by trying all n_states^n_nodes of them; first one on ties.

    ``but`` is the number, in lexicographic order, of one that is not tried.
    """
    n_nodes, n_states = scores.shape
    current = np.zeros(n_nodes, np.int64)
    best = -np.inf
    labels[:] = 0
    number = 0
    while True:
        value = 0.0
        for t in range(n_nodes):
            value += scores[t, current[t]]
        for e in range(edges.shape[0]):
            value += tables[edge_table[e], current[edges[e, 0]], current[edges[e, 1]]]
        if value > best and number != but:
            best = value
            for t in range(n_nodes):
                labels[t] = current[t]
        number += 1
        t = n_nodes - 1  # last node turns fastest: ties give the lexicographically first labelling
        while t >= 0 and current[t] == n_states - 1:
            current[t] = 0
            t -= 1
        if t < 0:
            return best
        current[t] += 1


@njit
def is_chain(edges, n_nodes):
    """Whether the edges are exactly (0, 1), (1, 2), ..., (n_nodes - 2, n_nodes - 1)."""
    if edges.shape[0] != n_nodes - 1:
        return False
    for e in range(n_nodes - 1):
        if edges[e, 0] != e or edges[e, 1] != e + 1:
            return False
    return True


@njit
def orient_forest(edges, n_nodes):
    """Turn and sort the edges of a forest as this file wants them, by removing leaf after leaf.

    Returns (directed, source, flipped): row r of ``directed`` (m, 2) is edge ``source[r]`` as
    (child, parent), the other way round where ``flipped[r]``. An edge on or between cycles is
    never reached, so m < n_edges says that there is a cycle (loops and double edges are cycles).
    Edges that point to a root already are not flipped. Cost: n_nodes + n_edges.
    """
    n_edges = edges.shape[0]
    degree = np.zeros(n_nodes, np.int64)
    # The exclusive or of the numbers of all edges at a node: the very edge once one is left.
    last_edge = np.zeros(n_nodes, np.int64)
    for e in range(n_edges):
        for end in range(2):
            degree[edges[e, end]] += 1
            last_edge[edges[e, end]] ^= e
    directed = np.empty((n_edges, 2), np.int64)
    source = np.empty(n_edges, np.int64)
    flipped = np.empty(n_edges, np.bool_)
    m = 0
    for may_flip in (False, True):
        for start in range(n_nodes):
            child = start
            # The parent may have become a leaf: go on with it, an earlier scan may have passed it.
            while degree[child] == 1:
                e = last_edge[child]
                flip = edges[e, 0] != child
                if flip and not may_flip:
                    break
                parent = edges[e, 0] if flip else edges[e, 1]
                directed[m, 0], directed[m, 1] = child, parent
                source[m], flipped[m] = e, flip
                m += 1
                degree[child] = 0
                degree[parent] -= 1
                last_edge[parent] ^= e
                child = parent
    return directed[:m], source[:m], flipped[:m]
