"""Maximization over labelings of any graph: messages and coordinate moves.

Shared conventions: edges are sorted by their lower node, and edge ``e`` scores
``tables[0, edge_table[e], state of lower node, state of higher node]``; ``tables[1]`` holds the
same tables transposed, so that either end reads rows. The edges of node ``i`` are
``edge[start[2 * i]:start[2 * i + 2]]`` and lead to the nodes ``other``, first those to lower nodes,
from ``start[2 * i + 1]`` on those to higher ones. Node ``i`` has the states below ``n_states[i]``,
none if that is 0. ``-inf`` forbids, in ``unary`` a state and in ``tables`` a pair. ``potts`` holds
the score of equal states and that of all others of each table, NaN where there are more scores.
"""

import numpy as np

from .._jit import inner, njit


@njit
def orient_tables(tables, edge_table, flipped, oriented, potts):
    """Write ``tables[edge_table[e]]`` into ``oriented[0, e]`` and transposed into ``[1, e]``.

    Where ``flipped[e]`` the two change places. ``potts`` is filled in as above.
    """
    width = tables.shape[1]
    for e in range(edge_table.size):
        table = tables[edge_table[e]]
        side = 1 if flipped[e] else 0
        equal, different = table[0, 0], table[0, width - 1]
        is_potts = True
        for j in range(width):
            for k in range(width):
                oriented[side, e, j, k] = table[j, k]
                oriented[1 - side, e, k, j] = table[j, k]
                is_potts &= table[j, k] == (equal if j == k else different)
        potts[e, 0] = equal if is_potts else np.nan
        potts[e, 1] = different if is_potts else np.nan


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


@inner
def _send(guess, n, m, rows, which, equal, different, messages, e):
    """``messages[e, k]``, k < m, receives the best ``guess[j] + rows[which, j, k]``, j < n.

    In linear time where ``equal`` and ``different`` are all that the table holds, else they are
    NaN.
    """
    if equal == equal:
        best, second, state = -np.inf, -np.inf, -1
        for j in range(n):
            if guess[j] > best:
                best, second, state = guess[j], best, j
            elif guess[j] > second:
                second = guess[j]
        for k in range(m):
            candidate = (second if k == state else best) + different
            messages[e, k] = max(candidate, guess[k] + equal) if k < n else candidate
    else:
        for k in range(m):
            messages[e, k] = guess[0] + rows[which, 0, k]
        for j in range(1, n):
            for k in range(m):
                candidate = guess[j] + rows[which, j, k]
                messages[e, k] = candidate if candidate > messages[e, k] else messages[e, k]


@njit
def trws_sweep(
    unary, tables, edge_table, n_states, start, edge, other, potts,
    messages, tops, bounds, labels, bound, cutoff, upwards,
):  # fmt: skip
    """One pass of sequential reweighted messages through all nodes: returns (bound, value).

    ``messages`` (n_edges, width) holds for every edge the message to the end that this pass meets
    first and receives the message to the other end; the next pass has to go the other way.
    ``bound`` is what the pass before returned, and ``tops`` (n_nodes,) the parts of that sum.
    ``bounds[i, k]`` receives a bound on all labelings with state k at node i, and a state whose
    bound is not above ``cutoff`` becomes forbidden in ``unary``; all this means nothing in a first
    pass. ``labels`` receives a labeling, fixed node by node on the way, and ``value`` is its
    score. If no labeling can be left the pass ends at once and both numbers are ``-inf``.

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
            t, state = edge_table[e], labels[other[h]]
            for k in range(n):
                belief[k] += messages[e, k]
            if potts[t, 0] == potts[t, 0]:  # tables are larger than what the cache holds
                different = potts[t, 1]
                equal = own[state] + potts[t, 0] if state < n else 0.0
                for k in range(n):
                    own[k] += different
                if state < n:
                    own[state] = equal
            else:
                for k in range(n):
                    own[k] += rows[t, state, k]
        for k in range(n):
            guess[k] = own[k]
        for h in range(out_a, out_b):
            e = edge[h]
            for k in range(n):
                guess[k] += messages[e, k]
                belief[k] += messages[e, k]
        best, top = -np.inf, -np.inf
        for k in range(n):
            best = guess[k] if guess[k] > best else best
            top = belief[k] if belief[k] > top else top
        state = 0
        while state < n - 1 and guess[state] < best:
            state += 1
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
            belief[k] *= share
        if cutoff > -np.inf:
            for k in range(n):
                if bounds[i, k] <= cutoff:
                    unary[i, k] = belief[k] = -np.inf

        for h in range(out_a, out_b):
            e = edge[h]
            which, m = edge_table[e], n_states[other[h]]
            equal, different = potts[which, 0], potts[which, 1]
            best = -np.inf
            for j in range(n):
                # The message into a forbidden state is -inf, too: the difference would be NaN.
                difference = belief[j] - messages[e, j]
                guess[j] = difference if belief[j] > -np.inf else -np.inf
                best = guess[j] if guess[j] > best else best
            if equal >= different and n == m:
                # A state that is its own best neighbor does no harm to the maximum.
                best += different
                for k in range(n):
                    candidate = guess[k] + equal
                    messages[e, k] = candidate if candidate > best else best
            else:
                _send(guess, n, m, rows, which, equal, different, messages, e)
    return total, value


@njit
def icm_sweep(
    unary, tables, edge_table, n_states, start, edge, other, potts, labels, waiting
):  # fmt: skip
    """Give every node that waits its best state given the others; returns the number of changes.

    Better means fewer forbidden parts, then a larger sum of the others. A node without states
    keeps its label. After a change the neighbors in ``waiting`` (n_nodes,) wait for their turn, in
    this pass or in the next one.
    """
    n_nodes, width = unary.shape
    n_forbidden, total = np.empty(width, np.int64), np.empty(width)
    n_changes = 0
    for i in range(n_nodes):
        if not waiting[i]:
            continue
        waiting[i] = False
        a, b, c = start[2 * i], start[2 * i + 1], start[2 * i + 2]
        n = n_states[i]
        for k in range(n):
            n_forbidden[k], total[k] = 0, unary[i, k]
            if total[k] == -np.inf:
                # Counts more than all edges: else a state that does not exist could be a way out.
                n_forbidden[k], total[k] = 1 + c - a, 0.0
        for h in range(a, c):
            side, t, state = 0 if h < b else 1, edge_table[edge[h]], labels[other[h]]
            if potts[t, 0] > -np.inf and potts[t, 1] > -np.inf:
                for k in range(n):
                    total[k] += potts[t, 0] if k == state else potts[t, 1]
                continue
            for k in range(n):
                if tables[side, t, state, k] == -np.inf:
                    n_forbidden[k] += 1
                else:
                    total[k] += tables[side, t, state, k]
        best = labels[i] if labels[i] < n else 0
        for k in range(n):
            if n_forbidden[k] < n_forbidden[best] or (
                n_forbidden[k] == n_forbidden[best] and total[k] > total[best]
            ):
                best = k
        if n > 0 and best != labels[i]:
            labels[i] = best
            n_changes += 1
            for h in range(a, c):
                waiting[other[h]] = True
    return n_changes


@njit
def max_product_sweep(
    unary, tables, edge_table, n_states, start, edge, other, potts,
    messages, labels, damping, upwards,
):  # fmt: skip
    """One pass of messages through all nodes; returns (value, largest change of a message).

    ``messages[0, e]`` (2, n_edges, width) goes to the lower node of edge e and ``messages[1, e]``
    to the higher one; their maximum is 0. Each node sends along edges that lead ahead, from what it
    has received by then, mixed with ``damping`` of what it sent before. ``labels`` receives the
    best state of each node given those of the nodes before it and messages from those ahead;
    ``value`` is their score.
    """
    n_nodes, width = unary.shape
    belief, guess, sent = np.empty(width), np.empty(width), np.empty((1, width))
    back, ahead = (1, 0) if upwards else (0, 1)  # sides of messages into this node, by their origin
    rows = tables[0] if upwards else tables[1]
    value, largest = 0.0, 0.0
    for step in range(n_nodes):
        i = step if upwards else n_nodes - 1 - step
        n = n_states[i]
        a, b, c = start[2 * i], start[2 * i + 1], start[2 * i + 2]
        in_a, in_b, out_a, out_b = (a, b, b, c) if upwards else (b, c, a, b)
        for k in range(n):
            belief[k] = guess[k] = unary[i, k]
        for h in range(in_a, in_b):
            row = rows[edge_table[edge[h]], labels[other[h]]]
            for k in range(n):
                belief[k] += messages[back, edge[h], k]
                guess[k] += row[k]
        own = guess[:n].copy()
        for h in range(out_a, out_b):
            for k in range(n):
                belief[k] += messages[ahead, edge[h], k]
                guess[k] += messages[ahead, edge[h], k]
        state = 0
        for k in range(n):
            if guess[k] > guess[state]:
                state = k
        labels[i] = state
        value += own[state] if n > 0 else -np.inf

        for h in range(out_a, out_b):
            e, m = edge[h], n_states[other[h]]
            received, out, which = messages[ahead, e], messages[back, e], edge_table[e]
            for j in range(n):
                # What is forbidden stays so; the difference would not be a number.
                guess[j] = belief[j] - received[j] if belief[j] > -np.inf else -np.inf
            top = -np.inf
            if n > 0:
                _send(guess, n, m, rows, which, potts[which, 0], potts[which, 1], sent, 0)
                for k in range(m):
                    top = max(top, sent[0, k])
            if top == -np.inf:  # forbidden as a whole: whatever it says helps nobody
                continue
            for k in range(m):
                message = sent[0, k] - top
                if message > -np.inf and out[k] > -np.inf:
                    message += damping * (out[k] - message)
                    largest = max(largest, abs(message - out[k]))
                elif message != out[k]:
                    largest = np.inf
                out[k] = message
    return value, largest
