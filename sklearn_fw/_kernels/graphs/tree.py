"""Exact maximization over labelings of a forest (chains and single nodes included).

Shared conventions: node ``t`` has a row of ``scores`` (n_nodes, n_states); edge ``e`` joins
``edges[e] = (child, parent)`` and scores ``tables[edge_table[e], state_child, state_parent]``.
Edges stand in an order that never uses a node as a child before all edges that have it as parent:
messages then flow from leaves to roots by walking the list once, and labels by walking it back.
"""

from typing import NamedTuple

import numpy as np

from .._jit import inner, njit
from ..common.vectors import assign


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
    """MAP labeling by max-product; ties go to the lower state.

    ``labels`` (n_nodes,) receives it; ``messages`` (>= n_nodes + 1, n_states) is overwritten.
    Returns its score. Cost: n_edges * n_states^2.
    """
    n_nodes, n_states = scores.shape
    best, last = messages[n_nodes], n_states - 1
    for t in range(n_nodes):
        labels[t] = 0
        for k in range(n_states):
            messages[t, k] = scores[t, k]
    for e in range(edges.shape[0]):
        child, parent = edges[e, 0], edges[e, 1]
        table = tables[edge_table[e]]
        labels[child] = -1  # not a root
        below = messages[child]
        for k in range(n_states):
            best[k] = -np.inf
        # Four states at a time, some of them twice at the end. No index is tracked here, so that
        # the loop is a vector max; see the walk back.
        for first in range(0, n_states, 4):
            a = max(min(first, n_states - 4), 0)
            b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
            base_a, base_b, base_c, base_d = below[a], below[b], below[c], below[d]
            for k in range(n_states):
                one, other = base_a + table[a, k], base_b + table[b, k]
                one = one if one > other else other
                third, other = base_c + table[c, k], base_d + table[d, k]
                other = third if third > other else other
                one = one if one > other else other
                best[k] = one if one > best[k] else best[k]
        for k in range(n_states):
            messages[parent, k] += best[k]

    value = 0.0
    for t in range(n_nodes):
        if labels[t] == 0:
            labels[t] = messages[t].argmax()
            value += messages[t, labels[t]]
    _walk_back(edges, edge_table, tables, messages, -1, labels)
    return value


@njit
def tree_runner_up(scores, edges, edge_table, tables, labels, messages):
    """The best of all other labelings, after `tree_argmax` with the last two arguments.

    Somewhere it departs from the best one first, at a node whose parent keeps its state, and the
    subtree below that node follows. ``labels`` receives it; returns how much lower its score is,
    inf where there is no other labeling. Cost: n_edges * n_states, and the walk back.
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
        a, b, c, d = node_start[i], node_start[i + 1], edge_start[i], edge_stop[i]
        values[i] = tree_argmax(
            scores[a:b], edges[c:d], edge_table[c:d], tables, labels[a:b], messages
        )
    return values


class Choices(NamedTuple):
    """What is best below a node for a state of its parent, as far as anybody asked.

    Roots have a single row of interest, that of state 0.
    """

    best: np.ndarray  # (n_nodes, n_states) int32 its state; -1 where nobody asked
    second: np.ndarray  # (n_nodes, n_states) int32 the best other one
    loss: np.ndarray  # (n_nodes, n_states) by how much that is worse; inf where it is forbidden


@inner
def _choose(choices, messages, tables, table, node, given):
    """Fill in one entry; ``table`` is -1 for roots."""
    first, first_value, second, second_value = -1, -np.inf, -1, -np.inf
    for j in range(messages.shape[1]):
        value = messages[node, j] + (tables[table, j, given] if table >= 0 else 0.0)
        if value > first_value:
            second, second_value = first, first_value
            first, first_value = j, value
        elif value > second_value:
            second, second_value = j, value
    choices.best[node, given] = first
    choices.second[node, given] = second
    choices.loss[node, given] = first_value - second_value


@inner
def _next_choice(messages, tables, table, node, given, state):
    """The state of a node that is next best after ``state``, and by how much it is worse."""
    own = messages[node, state] + (tables[table, state, given] if table >= 0 else 0.0)
    found, found_value = -1, -np.inf
    for j in range(messages.shape[1]):
        value = messages[node, j] + (tables[table, j, given] if table >= 0 else 0.0)
        # Among equal ones the lower state is first, as in `_choose`.
        if (value < own or (value == own and j > state)) and value > found_value:
            found, found_value = j, value
    return found, own - found_value


@inner
def _offer(pool, first, last, loss, origin, place, state):
    """Put a departure into the pool (ascending between first and last); returns the new last.

    The worst one drops out of a full pool.
    """
    losses, origins, places, states = pool
    i = min(last, losses.size - 1)
    while i > first and losses[i - 1] > loss:
        losses[i], origins[i] = losses[i - 1], origins[i - 1]
        places[i], states[i] = places[i - 1], states[i - 1]
        i -= 1
    losses[i], origins[i], places[i], states[i] = loss, origin, place, state
    return min(last + 1, losses.size)


@njit
def tree_departures(edges, edge_table, tables, messages, limit, losses, labels):
    """The top labelings, after `tree_argmax` has left the first one in ``labels[0]``.

    ``labels`` (k, n_nodes) receives the others and ``losses`` (k,) what they lack of the first one,
    ascending; only those that lack less than ``limit`` are looked for. Returns how many there are.

    States are chosen from the roots on, and given that of its parent each node can have its best
    one, so a labeling is told by the nodes where it departs from that. Each one that is found
    departs once more at some later node, with the second best state there, or takes the next best
    one where it departed last: the best of these is found next. Cost: n_nodes * n_states for the
    first, and for each other k * n_nodes at most, besides n_states where states differ.
    """
    k, n_nodes = labels.shape
    n_states = messages.shape[1]
    choices = Choices(
        np.full((n_nodes, n_states), -1, np.int32), np.empty((n_nodes, n_states), np.int32),
        np.empty((n_nodes, n_states)),
    )  # fmt: skip
    order, parents, table_of = _from_the_roots(edges, edge_table, n_nodes)
    pool = losses, np.zeros(k, np.int64), np.full(k, -1), np.zeros(k, np.int32)
    losses[0] = 0.0
    n = 1
    for m in range(k):
        if m == n:
            break
        here, start = labels[m], pool[2][m]
        if m > 0:
            before = labels[pool[1][m]]
            assign(here, before)
            here[order[start]] = pool[3][m]
            for p in range(start + 1, n_nodes):
                node, parent = order[p], parents[p]
                if parent >= 0 and here[parent] != before[parent]:
                    if choices.best[node, here[parent]] < 0:
                        _choose(choices, messages, tables, table_of[p], node, here[parent])
                    here[node] = choices.best[node, here[parent]]
        if m == k - 1:
            break
        if m > 0:
            node, parent = order[start], parents[start]
            given = here[parent] if parent >= 0 else 0
            state, loss = _next_choice(messages, tables, table_of[start], node, given, here[node])
            loss += losses[m]
            if loss < (losses[k - 1] if n == k else limit):
                n = _offer(pool, m + 1, n, loss, m, start, state)
        worst = losses[k - 1] if n == k else limit
        for p in range(start + 1, n_nodes):
            node, parent = order[p], parents[p]
            given = here[parent] if parent >= 0 else 0
            if choices.best[node, given] < 0:
                _choose(choices, messages, tables, table_of[p], node, given)
            loss = losses[m] + choices.loss[node, given]
            if loss < worst:
                n = _offer(pool, m + 1, n, loss, m, p, choices.second[node, given])
                worst = losses[k - 1] if n == k else limit
    return n


@inner
def _from_the_roots(edges, edge_table, n_nodes):
    """Nodes behind their parents, these, and the tables between them; -1 for roots."""
    order, parents = np.empty(n_nodes, np.int64), np.full(n_nodes, -1)
    table_of, is_root = np.full(n_nodes, -1), np.ones(n_nodes, np.bool_)
    for e in range(edges.shape[0]):
        is_root[edges[e, 0]] = False
    p = 0
    for t in range(n_nodes):
        if is_root[t]:
            order[p] = t
            p += 1
    for e in range(edges.shape[0] - 1, -1, -1):
        order[p], parents[p], table_of[p] = edges[e, 0], edges[e, 1], edge_table[e]
        p += 1
    return order, parents, table_of


@njit
def tree_top_k(scores, edges, edge_table, tables, k):
    """The top k labelings in descending order: (values (m,), labels (m, n_nodes)), m <= k.

    Costs what `tree_argmax` and `tree_departures` cost.
    """
    n_nodes, n_states = scores.shape
    labels, values = np.empty((k, n_nodes), np.int32), np.empty(k)
    messages = np.empty((n_nodes + 1, n_states))
    best = tree_argmax(scores, edges, edge_table, tables, labels[0], messages)
    m = 0
    if best > -np.inf:
        m = tree_departures(edges, edge_table, tables, messages, np.inf, values, labels)
    for r in range(m):
        values[r] = best - values[r]
    return values[:m], labels[:m]


@njit
def enumerate_argmax(scores, edges, edge_table, tables, labels, but=-1):
    """MAP labeling of any graph by trying all n_states^n_nodes of them; first one on ties.

    ``but`` is the number, in lexicographic order, of one that is not tried.
    """
    n_nodes, n_states = scores.shape
    current = np.zeros(n_nodes, np.int64)
    best, number = -np.inf, 0
    labels[:] = 0
    while True:
        value = 0.0
        for t in range(n_nodes):
            value += scores[t, current[t]]
        for e in range(edges.shape[0]):
            value += tables[edge_table[e], current[edges[e, 0]], current[edges[e, 1]]]
        if value > best and number != but:
            best = value
            assign(labels, current)
        number += 1
        t = n_nodes - 1  # last node turns fastest: ties give the lexicographically first labeling
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
    (child, parent), turned where ``flipped[r]``. Edges on or between cycles (loops and double edges
    are cycles) are never reached: then m < n_edges. Edges that point to a root are not flipped.
    Cost: n_nodes + n_edges.
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
