"""Sums over the labellings of a forest in ordinary numbers, which are made sums of 1 at every node.

Graph and scores are given as in `tree.py`. ``belief`` (n_nodes, n_states) has a score's exponential
times all messages to the node, and ``message`` (n_edges, n_states) the sums over the states of the
child: an edge costs no logarithm and no exponential but those of its table.

Numbers that are too small for float64 are lost on the way. A labelling with one of them has at most
the weight ``exp(-faint)``, where the best scores of all nodes and tables have weight 1, so all of
them together are nothing beside the sum of all labellings where `is_sure` says so. Else the sums
have to be repeated in logarithms.
"""

import numpy as np

from .._jit import any_order, inner
from ..common.exponential import FAINT, exponentials

DIGITS = 70.0  # e^-70 of a sum is nothing
LEAST = np.exp(1.5 * FAINT)  # of a belief that can be multiplied by two numbers that are not faint
PRODUCT = 1e-100  # products of sums above it need no logarithm yet


@inner
def exponents(numbers):
    """Replace numbers by the exponentials of their differences to the largest.

    Returns the largest, 0 if it is -inf, and what `exponentials` returns.
    """
    high = -np.inf
    for k in range(numbers.size):
        high = numbers[k] if numbers[k] > high else high
    if high == -np.inf:
        high = 0.0
    for k in range(numbers.size):
        numbers[k] -= high
    return high, exponentials(numbers)


@inner
def fill_beliefs(scores, belief):
    """Exponentials of the scores of each node; returns the sum of the largest and what is faint."""
    n_nodes, n_states = scores.shape
    value = 0.0
    for t in range(n_nodes):
        high = scores[t, 0]
        for k in range(1, n_states):
            high = scores[t, k] if scores[t, k] > high else high
        if high == -np.inf:
            return high, np.inf
        value += high
        for k in range(n_states):
            belief[t, k] = scores[t, k] - high
    return value, exponentials(belief[:n_nodes].ravel())


@inner
def upward(edges, row, table, high, belief, message, is_root):
    """Beliefs of nodes from the leaves to the roots, those of the scores before; see `is_sure`.

    Edge e has the exponentials ``table[row[e]]``, to which ``high[row[e]]`` is to be added in
    logarithms. Returns the logarithm of the sum of all labellings without these, the sum of these,
    and what is faint. Cost: a multiplication per entry of a table of each edge.
    """
    n_nodes, n_states = belief.shape
    value, highs, product, faint = 0.0, 0.0, 1.0, np.inf
    for t in range(n_nodes):
        is_root[t] = True
    for e in range(edges.shape[0]):
        child, parent, r = edges[e, 0], edges[e, 1], row[e]
        is_root[child] = False
        sums, own = message[e], belief[parent]
        for k in range(n_states):
            sums[k] = 0.0
        j = 0
        while j + 4 <= n_states:  # four rows at once keep the sums in registers for longer
            x, y = belief[child, j], belief[child, j + 1]
            z, u = belief[child, j + 2], belief[child, j + 3]
            for k in range(n_states):
                sums[k] += (x * table[r, j, k] + y * table[r, j + 1, k]) + (
                    z * table[r, j + 2, k] + u * table[r, j + 3, k]
                )
            j += 4
        while j < n_states:
            x = belief[child, j]
            for k in range(n_states):
                sums[k] += x * table[r, j, k]
            j += 1
        highs += high[r]
        norm = 0.0
        for k in range(n_states):
            own[k] *= sums[k]
            norm += own[k]
        value, product, faint = _normalise(own, norm, value, product, faint)
    for t in range(n_nodes):
        if is_root[t]:
            norm = belief[t].sum()
            value, product, faint = _normalise(belief[t], norm, value, product, faint)
    return value + np.log(product), highs, faint


@any_order
def _normalise(own, norm, value, product, faint):
    """Divide by the sum and count it, by its logarithm where products could become too small."""
    if not norm > 0.0:
        return -np.inf, 1.0, faint
    scale, least = 1.0 / norm, 1.0
    for k in range(own.size):
        own[k] *= scale
        least = min(least, own[k] if own[k] > 0.0 else 1.0)
    if least < LEAST:
        faint = min(faint, -1.5 * FAINT)
    if norm < PRODUCT:
        value += np.log(norm)
    else:
        product *= norm
    if product < PRODUCT or product > 1.0 / PRODUCT:
        value += np.log(product)
        product = 1.0
    return value, product, faint


@inner
def is_sure(rest, faint, n_nodes, n_states):
    """Whether all labellings with faint numbers are nothing beside a sum of ``exp(rest)``."""
    return faint == np.inf or faint + rest > n_nodes * np.log(n_states) + DIGITS


@any_order
def downward(edges, row, table, belief, message, is_root, gain, node, edge):
    """Marginals of nodes and edges from the roots to the leaves, after `upward`."""
    n_states = node.shape[1]
    for t in range(node.shape[0]):
        if is_root[t]:
            for k in range(n_states):
                node[t, k] = belief[t, k]
    for e in range(edges.shape[0] - 1, -1, -1):
        child, parent, r = edges[e, 0], edges[e, 1], row[e]
        for k in range(n_states):
            sums = message[e, k]
            gain[k] = node[parent, k] / sums if sums > 0.0 else 0.0
        for j in range(n_states):
            x, total = belief[child, j], 0.0
            for k in range(n_states):
                pair = x * (table[r, j, k] * gain[k])
                edge[e, j, k] = pair
                total += pair
            node[child, j] = total
