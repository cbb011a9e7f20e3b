"""Max-product belief propagation on any graph, node by node up and down.

Conventions of edges and tables are those of `message_passing`.
"""

import numpy as np

from .._jit import inner, njit


@inner
def _best(guess, n, m, table, equal, different, sent):
    """``sent[k]``, k < m, receives the best ``guess[j] + table[j, k]``, j < n; returns the largest.

    In linear time where ``equal`` and ``different`` are all that the table holds, else they are
    NaN.
    """
    top = -np.inf
    if equal == equal:
        best, second, state = -np.inf, -np.inf, -1
        for j in range(n):
            if guess[j] > best:
                best, second, state = guess[j], best, j
            elif guess[j] > second:
                second = guess[j]
        for k in range(m):
            sent[k] = (second if k == state else best) + different
            if k < n:
                sent[k] = max(sent[k], guess[k] + equal)
            top = max(top, sent[k])
        return top
    for k in range(m):
        sent[k] = -np.inf
    for j in range(n):
        for k in range(m):
            sent[k] = max(sent[k], guess[j] + table[j, k])
    for k in range(m):
        top = max(top, sent[k])
    return top


@njit
def max_product_sweep(
    unary, tables, edge_table, n_states, start, edge, other, potts,
    messages, labels, damping, upwards,
):  # fmt: skip
    """One pass of messages through all nodes; returns (value, largest change of a message).

    ``potts`` holds the `equal_and_other` of the tables.
    ``messages[0, e]`` (2, n_edges, width) goes to the lower node of edge e and ``messages[1, e]``
    to the higher one; their maximum is 0. Each node sends along edges that lead ahead, from what it
    has received by then, mixed with ``damping`` of what it sent before. ``labels`` receives the
    best state of each node given those of the nodes before it and messages from those ahead;
    ``value`` is their score.
    """
    n_nodes, width = unary.shape
    belief, guess, sent = np.empty(width), np.empty(width), np.empty(width)
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
            top = _best(guess, n, m, rows[which], potts[which, 0], potts[which, 1], sent)
            if top == -np.inf:  # forbidden as a whole: whatever it says helps nobody
                continue
            for k in range(m):
                message = sent[k] - top
                if message > -np.inf and out[k] > -np.inf:
                    message += damping * (out[k] - message)
                    largest = max(largest, abs(message - out[k]))
                elif message != out[k]:
                    largest = np.inf
                out[k] = message
    return value, largest
