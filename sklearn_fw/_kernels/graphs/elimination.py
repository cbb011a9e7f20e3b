"""Bucket elimination on any pairwise graph: maxima, sums, marginals and samples, all exact.

Node v leaves through its bucket: the table of everything that joins v to its *scope*, the neighbors
that v has left then, fill edges included. Its *message* is the maximum or the sum of this table
over the states of v, and enters the bucket of the scope's node that leaves next, its parent.
Walking the buckets back turns messages into max-marginals, marginals, a MAP labeling or samples.

Tables are built for one state of v at a time, from the fast end of the scope to the slow one: a
table on the first j nodes is repeated for every state of node j. All of it costs about twice its
last step, and nothing larger than a message is stored.

Numbers are logarithms or, in mode PRODUCT, exponentials of logarithms minus their maximum, which
need no further exponential but cannot be more than e^700 apart: `upward` notices.
"""

import numpy as np

from .._jit import inner, njit
from ..common.vectors import assign
from .sum_product import draw, scaled, total

MAX, LOG_SUM, PRODUCT = 0, 1, 2
ADD, MULTIPLY, SUM_OUT, MAX_OUT = 0, 1, 2, 3  # what `_walk` does with two numbers

# Logarithm of the largest ratio of numbers in one table of mode PRODUCT; doubles reach e^-708.
SPREAD = 600.0


# ---- tables ------------------------------------------------------------------------------------


@inner
def _gather(plan, b, unary, edges, edge_table, tables, mode, own, gains):
    """Scores of the node of bucket b, alone and with each node of its scope.

    ``own`` (states of b) and ``gains`` (states of b times all states of the scope's nodes, one
    block for each node of the scope) receive them in the numbers of ``mode``. Returns by what they
    were shifted and how far they are spread, both zero for logarithms.
    """
    v = plan.order[b]
    n_states = plan.size[v]
    for k in range(n_states):
        own[k] = unary[v, k]
    shift, spread = 0.0, 0.0
    if mode == PRODUCT:
        shift, spread = scaled(own[:n_states])
    here = 0
    for s in range(plan.scope_start[b], plan.scope_start[b + 1]):
        u = plan.scope[s]
        n_others = plan.size[u]
        block = gains[here : here + n_states * n_others]
        here += block.size
        for k in range(n_states):  # entries of forbidden states must not set the scale
            for a in range(n_others):
                gone = unary[v, k] == -np.inf or unary[u, a] == -np.inf
                block[k * n_others + a] = -np.inf if gone else 0.0
        for r in range(plan.link_start[s], plan.link_start[s + 1]):
            e = plan.link[r]
            table = tables[edge_table[e]]
            forward = edges[e, 0] == v
            for k in range(n_states):
                for a in range(n_others):
                    block[k * n_others + a] += table[k, a] if forward else table[a, k]
        if mode == PRODUCT:
            high, width = scaled(block)
            shift += high
            spread += width
    return shift, spread


@inner
def _walk(plan, child, table, part, turn, action):
    """Combine each entry of a table with the entry that it belongs to of a part of a message.

    That is the message of bucket ``child``; ``turn`` is scratch.
    """
    blocks = slice(plan.walk_start[child], plan.walk_start[child + 1])
    extent, stride = plan.walk_extent[blocks], plan.walk_stride[blocks]
    # The two fastest blocks are walked together: where the part lacks the first places, its numbers
    # are repeated in runs of two or three, which are too short for loops of their own.
    n, step = (extent[0], stride[0]) if extent.size else (1, 1)
    m, hop = (extent[1], stride[1]) if extent.size > 1 else (1, 0)
    turn[: extent.size] = 0
    at = 0
    for start in range(0, table.size, n * m):
        for j in range(m):
            here, there = start + j * n, at + j * hop
            if action == ADD:
                for i in range(n):
                    table[here + i] += part[there + i * step]
            elif action == MULTIPLY:
                for i in range(n):
                    table[here + i] *= part[there + i * step]
            elif action == SUM_OUT:
                for i in range(n):
                    part[there + i * step] += table[here + i]
            else:
                for i in range(n):
                    part[there + i * step] = max(part[there + i * step], table[here + i])
        for block in range(2, extent.size):
            at += stride[block]
            turn[block] += 1
            if turn[block] < extent[block]:
                break
            at -= stride[block] * extent[block]
            turn[block] = 0


@inner
def _part(plan, messages, child, state):
    """The part of a message that belongs to one state of the parent's node."""
    start, stop = plan.message_start[child], plan.message_start[child + 1]
    last = plan.scope[plan.scope_start[child + 1] - 1]
    n = (stop - start) // plan.size[last]
    return messages[start + state * n : start + (state + 1) * n]


@inner
def _build(plan, b, state, own, gains, messages, mode, turn, table):
    """The table of bucket b for one state of its node, over the states of its scope."""
    product = mode == PRODUCT
    n_states = plan.size[plan.order[b]]
    table[0] = own[state]
    n, here = 1, 0
    for level in range(-1, plan.scope_start[b + 1] - plan.scope_start[b]):
        slot = plan.scope_start[b] + b + level + 1
        if level >= 0:
            n_others = plan.size[plan.scope[plan.scope_start[b] + level]]
            first = table[:n]
            for a in range(n_others - 1, -1, -1):  # the first block is read to the end
                gain = gains[here + state * n_others + a]
                block = table[a * n : (a + 1) * n]
                if product:
                    for i in range(n):
                        block[i] = first[i] * gain
                else:
                    for i in range(n):
                        block[i] = first[i] + gain
            n *= n_others
            here += n_states * n_others
        for r in range(plan.child_start[slot], plan.child_start[slot + 1]):
            child = plan.child[r]
            part = _part(plan, messages, child, state)
            _walk(plan, child, table[:n], part, turn, MULTIPLY if product else ADD)


@inner
def _scratch(plan, begin, end):
    """Scratch for one bucket after the other: (own, gains, turn, table, second table)."""
    n_states, n_gains, n_scope, n_table = 0, 0, 0, 1
    for b in range(begin, end):
        own, others = plan.size[plan.order[b]], 0
        for s in range(plan.scope_start[b], plan.scope_start[b + 1]):
            others += plan.size[plan.scope[s]]
        n_states, n_gains = max(n_states, own), max(n_gains, own * others)
        n_scope = max(n_scope, plan.scope_start[b + 1] - plan.scope_start[b])
        n_table = max(n_table, plan.message_start[b + 1] - plan.message_start[b])
    return (
        np.empty(n_states), np.empty(n_gains), np.empty(n_scope, np.int64), np.empty(n_table),
        np.empty(n_table),
    )  # fmt: skip


@inner
def _add_state(message, sums, table, mode):
    """Take one more state of the eliminated node into its message.

    In mode LOG_SUM the message holds the largest number so far and ``sums`` the sum of the
    exponentials of differences to it: one exponential for each number but the first.
    """
    if mode == MAX:
        for i in range(message.size):
            message[i] = max(message[i], table[i])
    elif mode == PRODUCT:
        for i in range(message.size):
            message[i] += table[i]
    else:
        for i in range(message.size):
            if table[i] > message[i]:
                sums[i] = 1.0 + sums[i] * np.exp(message[i] - table[i])
                message[i] = table[i]
            elif table[i] > -np.inf:
                sums[i] += np.exp(table[i] - message[i])


@inner
def _normalized(message, sums, mode):
    """Finish a message and divide it by its largest number (subtract, for logarithms).

    Returns this number, and for mode PRODUCT how far below it the smallest one is. Messages of mode
    MAX that nodes wait for stay as they are: what is subtracted, if it is far larger than what is
    best in the end, takes its digits.
    """
    if mode == MAX and message.size > 1:
        return 0.0, 0.0
    if mode == LOG_SUM:
        for i in range(message.size):
            if message[i] > -np.inf:
                message[i] += np.log(sums[i])
    high, low = message[0], np.inf
    for i in range(message.size):
        high = max(high, message[i])
    if mode != PRODUCT:
        if high > -np.inf:
            for i in range(message.size):
                message[i] -= high
        return high, 0.0
    if high == 0.0:
        return high, 0.0
    for i in range(message.size):
        message[i] /= high
        low = min(low, message[i] if message[i] > 0.0 else np.inf)
    return high, -np.log(low)


@njit
def upward(plan, unary, edges, edge_table, tables, mode, messages, scales, begin, end):
    """Eliminate the nodes of the buckets from ``begin`` to ``end``; 0 to n_nodes is all of it.

    The values of all parts add up to the best score, or the logarithm of the sum of exponentiated
    scores. ``messages`` (message_start[-1],) receives one message per bucket, divided by its
    largest number, which goes to ``scales[0]`` (n_nodes,); ``scales[1]`` receives how far its
    numbers are apart. NaN means that they are too far apart for mode PRODUCT. Cost: about twice the
    size of all tables.
    """
    own, gains, turn, table, sums = _scratch(plan, begin, end)
    value = 0.0
    for b in range(begin, end):
        message = messages[plan.message_start[b] : plan.message_start[b + 1]]
        shift, spread = _gather(plan, b, unary, edges, edge_table, tables, mode, own, gains)
        for s in range(plan.scope_start[b] + b, plan.scope_start[b + 1] + b + 1):
            for r in range(plan.child_start[s], plan.child_start[s + 1]):
                spread += scales[1, plan.child[r]]
        if spread > SPREAD:
            return np.nan
        _build(plan, b, 0, own, gains, messages, mode, turn, message)
        if mode == LOG_SUM:
            sums[: message.size] = 1.0
        for state in range(1, plan.size[plan.order[b]]):
            _build(plan, b, state, own, gains, messages, mode, turn, table)
            _add_state(message, sums, table, mode)
        scales[0, b], scales[1, b] = _normalized(message, sums, mode)
        value += shift + (np.log(scales[0, b]) if mode == PRODUCT else scales[0, b])
    return value


# ---- the way back ------------------------------------------------------------------------------


@inner
def _reweigh(table, message, mode):
    """Beliefs in the entries of a table, from what its message became on the way back."""
    if mode == PRODUCT:
        for i in range(message.size):
            table[i] *= message[i]
    elif mode == MAX:
        for i in range(message.size):
            table[i] += message[i]
    else:
        for i in range(message.size):
            table[i] = np.exp(table[i] + message[i])


@inner
def _turn_around(part, belief, mode):
    """Divide the belief of each entry by the message that it contains."""
    if mode == PRODUCT:
        for i in range(part.size):
            part[i] = belief[i] / part[i] if part[i] > 0.0 else 0.0
    elif mode == MAX:
        for i in range(part.size):
            part[i] = belief[i] - part[i] if part[i] > -np.inf else -np.inf
    else:
        for i in range(part.size):
            part[i] = np.log(belief[i]) - part[i] if belief[i] > 0.0 else -np.inf


@inner
def _inform_children(plan, slot, state, table, messages, mode, turn, belief):
    """Turn the part of one state around in the messages of all children at a level."""
    for r in range(plan.child_start[slot], plan.child_start[slot + 1]):
        child = plan.child[r]
        part = _part(plan, messages, child, state)
        if part.size == table.size:
            _turn_around(part, table, mode)
            continue
        below = belief[: part.size]
        below[:] = -np.inf if mode == MAX else 0.0
        _walk(plan, child, table, below, turn, MAX_OUT if mode == MAX else SUM_OUT)
        _turn_around(part, below, mode)


@njit
def downward(
    plan, unary, edges, edge_table, tables, mode, messages, scales, begin, end, value, node, edge
):
    """Max-marginals (mode MAX) or marginals of all nodes and edges, after `upward`.

    Walks the buckets from ``end`` back to ``begin``; all those behind come first. ``node``
    (n_nodes, n_states), filled with -inf (MAX) or zero, and ``edge`` (n_edges, n_states, n_states),
    filled with zero and not used for MAX, receive them; ``value``, finite, is that of `upward`.
    Each of ``messages`` becomes the belief in its scope divided by itself. Cost: about four times
    the size of all tables.
    """
    own, gains, turn, table, belief = _scratch(plan, begin, end)
    for b in range(end - 1, begin - 1, -1):
        v = plan.order[b]
        n_states = plan.size[v]
        first, stop = plan.scope_start[b], plan.scope_start[b + 1]
        message = messages[plan.message_start[b] : plan.message_start[b + 1]]
        if first == stop:  # nothing is left outside of a root
            message[0] = value if mode == MAX else 1.0 if mode == PRODUCT else 0.0
        _gather(plan, b, unary, edges, edge_table, tables, mode, own, gains)
        for k in range(n_states):
            own[k] = own[k] / scales[0, b] if mode == PRODUCT else own[k] - scales[0, b]
        for state in range(n_states):
            _build(plan, b, state, own, gains, messages, mode, turn, table)
            _reweigh(table, message, mode)
            n = message.size
            # From the slow end of the scope to the fast one: what is below a level is summed out.
            for s in range(stop - 1, first - 1, -1):
                _inform_children(plan, s + b + 1, state, table[:n], messages, mode, turn, belief)
                n_others = plan.size[plan.scope[s]]
                n //= n_others
                if mode != MAX:
                    for r in range(plan.link_start[s], plan.link_start[s + 1]):
                        e = plan.link[r]
                        for a in range(n_others):
                            probability = total(table[a * n : (a + 1) * n])
                            if edges[e, 0] == v:
                                edge[e, state, a] = probability
                            else:
                                edge[e, a, state] = probability
                for a in range(1, n_others):
                    block = table[a * n : (a + 1) * n]
                    if mode == MAX:
                        for i in range(n):
                            table[i] = max(table[i], block[i])
                    else:
                        for i in range(n):
                            table[i] += block[i]
            _inform_children(plan, first + b, state, table[:1], messages, mode, turn, belief)
            node[v, state] = table[0]


@njit
def choose(plan, unary, edges, edge_table, tables, mode, messages, uniforms, labels):
    """MAP labeling (mode MAX, lowest states on ties) or random labelings, after `upward`.

    ``labels`` (n_samples, n_nodes) receives them, ``uniforms`` (n_samples, n_nodes) are random
    numbers in [0, 1), not used for maxima. Given the states of its scope, a node has one number
    per state, so nothing but messages is needed. Cost: one number per edge, and the scopes of all
    messages, for each state.
    """
    own, gains, _, _, _ = _scratch(plan, 0, plan.order.size)
    given = np.empty(own.size)
    product = mode == PRODUCT
    for b in range(plan.order.size - 1, -1, -1):
        v = plan.order[b]
        n_states = plan.size[v]
        first, stop = plan.scope_start[b], plan.scope_start[b + 1]
        _gather(plan, b, unary, edges, edge_table, tables, mode, own, gains)
        for m in range(labels.shape[0]):
            assign(given, own[:n_states])
            here = 0
            for s in range(first, stop):
                n_others = plan.size[plan.scope[s]]
                for k in range(n_states):
                    gain = gains[here + k * n_others + labels[m, plan.scope[s]]]
                    given[k] = given[k] * gain if product else given[k] + gain
                here += n_states * n_others
            for r in range(plan.child_start[first + b], plan.child_start[stop + b + 1]):
                child = plan.child[r]
                at, stride = plan.message_start[child], 1
                for s in range(plan.scope_start[child], plan.scope_start[child + 1] - 1):
                    at += stride * labels[m, plan.scope[s]]
                    stride *= plan.size[plan.scope[s]]
                for k in range(n_states):
                    number = messages[at + k * stride]
                    given[k] = given[k] * number if product else given[k] + number
            if mode == LOG_SUM:
                scaled(given[:n_states])
            if mode == MAX:
                labels[m, v] = np.argmax(given[:n_states])
            else:
                labels[m, v] = draw(given[:n_states], uniforms[m, v])
