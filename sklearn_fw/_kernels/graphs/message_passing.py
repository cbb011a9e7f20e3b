"""Maximisation over labellings of any graph: reweighted messages and coordinate moves.

Shared conventions: edges are sorted by their lower node, and edge ``e`` scores
``tables[0, edge_table[e], state of lower node, state of higher node]``; ``tables[1]`` holds the
same tables transposed, so that either end reads rows. The edges of node ``i`` are
``edge[start[2 * i]:start[2 * i + 2]]`` and lead to the nodes ``other``, first those to lower nodes,
from ``start[2 * i + 1]`` on those to higher ones. Node ``i`` has the states below ``n_states[i]``,
none if that is 0. ``-inf`` forbids, in ``unary`` a state and in ``tables`` a pair.
"""

import numpy as np

from .._jit import njit


@njit
def orient_tables(tables, edge_table, flipped, oriented):
    """Write ``tables[edge_table[e]]`` into ``oriented[0, e]`` and transposed into ``[1, e]``.

    Where ``flipped[e]`` the two change places.
    """
    width = tables.shape[1]
    for e in range(edge_table.size):
        table = tables[edge_table[e]]
        side = 1 if flipped[e] else 0
        for j in range(width):
            for k in range(width):
                oriented[side, e, j, k] = table[j, k]
                oriented[1 - side, e, k, j] = table[j, k]


@njit
def total_size(unary, tables, edge_table, n_states, start, edge, other):
    """Sum over nodes and edges of the largest absolute score of states that are not forbidden."""
    total = 0.0
    for i in range(unary.shape[0]):
        n = n_states[i]
        largest = 0.0
        for j in range(n):
            if unary[i, j] > -np.inf:
                largest = max(largest, abs(unary[i, j]))
        total += largest
        for h in range(start[2 * i + 1], start[2 * i + 2]):
            table = tables[0, edge_table[edge[h]]]
            largest = 0.0
            for j in range(n):
                for k in range(n_states[other[h]]):
                    if unary[i, j] + unary[other[h], k] + table[j, k] > -np.inf:
                        largest = max(largest, abs(table[j, k]))
            total += largest
    return total


@njit
def trws_sweep(
    unary, tables, edge_table, n_states, start, edge, other,
    messages, tops, bounds, labels, bound, cutoff, upwards,
):  # fmt: skip
    """One pass of sequential reweighted messages through all nodes: returns (bound, value).

    ``messages`` (n_edges, width) holds for every edge the message to the end that this pass meets
    first and receives the message to the other end; the next pass has to go the other way.
    ``bound`` is what the pass before returned, and ``tops`` (n_nodes,) the parts of that sum.
    ``bounds[i, k]`` receives a bound on all labellings with state k at node i, and a state whose
    bound is not above ``cutoff`` becomes forbidden in ``unary``; all this means nothing in a first
    pass. ``labels`` receives a labelling, fixed node by node on the way, and ``value`` is its
    score. If no labelling can be left the pass ends at once and both numbers are ``-inf``.

    Why it is a bound: let S_i be the belief of node i less its top, so S_i <= 0, let 1 / share_i be
    the number of its edges that lead up or of those that lead down, whichever is larger, and M_ij
    the new and N_ij the old message on an edge. By definition of M, share_i S_i(x) + table(x, y)
    - N_ij(x) - M_ij(y) <= 0. The score is the sum of all tops, of these terms over all edges and
    of what is left of the S_i, which is not positive since a node sends at most 1 / share_i
    messages. In the midst of a pass the old tops of the nodes ahead still serve: with the old S_j
    and M'_ij, the definition of N gives M_ij <= M'_ij - share_j S_j, so what was said of the S_j
    stays true.
    """
    n_nodes, width = unary.shape
    own, guess, belief = np.empty(width), np.empty(width), np.empty(width)
    rows = tables[0] if upwards else tables[1]
    value, total = 0.0, 0.0
    for step in range(n_nodes):
        i = step if upwards else n_nodes - 1 - step
        n = n_states[i]
        a, b, c = start[2 * i], start[2 * i + 1], start[2 * i + 2]
        in_a, in_b, out_a, out_b = (a, b, b, c) if upwards else (b, c, a, b)

        for k in range(n):
            own[k] = belief[k] = unary[i, k]
        for h in range(in_a, in_b):
            e = edge[h]
            row = rows[edge_table[e], labels[other[h]]]
            for k in range(n):
                own[k] += row[k]
                belief[k] += messages[e, k]
        for k in range(n):
            guess[k] = own[k]
        for h in range(out_a, out_b):
            e = edge[h]
            for k in range(n):
                guess[k] += messages[e, k]
                belief[k] += messages[e, k]
        state, top = 0, -np.inf
        for k in range(n):
            if guess[k] > guess[state]:
                state = k
            top = max(top, belief[k])
        if top == -np.inf:
            return -np.inf, -np.inf
        labels[i] = state
        value += own[state]

        total += top
        bound += top - tops[i]
        tops[i] = top
        share = 1.0 / max(b - a, c - b, 1)
        for k in range(n):
            belief[k] -= top
            bounds[i, k] = bound + belief[k]
            if bounds[i, k] <= cutoff:
                unary[i, k] = belief[k] = -np.inf
            belief[k] *= share

        for h in range(out_a, out_b):
            e = edge[h]
            m = n_states[other[h]]
            table = rows[edge_table[e]]
            message = messages[e]
            for j in range(n):
                # The message into a forbidden state is -inf, too: the difference would be NaN.
                guess[j] = belief[j] - message[j] if belief[j] > -np.inf else -np.inf
            for k in range(m):
                message[k] = guess[0] + table[0, k]
            for j in range(1, n):
                for k in range(m):
                    candidate = guess[j] + table[j, k]
                    message[k] = candidate if candidate > message[k] else message[k]
    return total, value


@njit
def icm_sweep(unary, tables, edge_table, n_states, start, edge, other, labels):
    """Give every node in turn its best state given the others; returns the number of changes.

    Better means fewer forbidden parts, then a larger sum of the others. A node without states
    keeps its label.
    """
    n_nodes, width = unary.shape
    n_forbidden, total = np.empty(width, np.int64), np.empty(width)
    n_changes = 0
    for i in range(n_nodes):
        a, b, c = start[2 * i], start[2 * i + 1], start[2 * i + 2]
        n = n_states[i]
        for k in range(n):
            n_forbidden[k], total[k] = 0, unary[i, k]
            if total[k] == -np.inf:
                # Counts more than all edges: else a state that does not exist could be a way out.
                n_forbidden[k], total[k] = 1 + c - a, 0.0
        for h in range(a, c):
            side = 0 if h < b else 1
            row = tables[side, edge_table[edge[h]], labels[other[h]]]
            for k in range(n):
                if row[k] == -np.inf:
                    n_forbidden[k] += 1
                else:
                    total[k] += row[k]
        best = labels[i] if labels[i] < n else 0
        for k in range(n):
            if n_forbidden[k] < n_forbidden[best] or (
                n_forbidden[k] == n_forbidden[best] and total[k] > total[best]
            ):
                best = k
        if n > 0 and best != labels[i]:
            labels[i] = best
            n_changes += 1
    return n_changes
