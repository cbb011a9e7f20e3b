"""Best poses of trees of joints: max-product on maps by generalized distance transforms.

An edge from a child at q to its parent at p costs, with ``d = q - p - anchor`` in rows and columns,

    cost(d) = w0 d_r^2 + w1 d_r + w2 d_c^2 + w3 d_c        (w0, w2 >= 0)

so the message to the parent, ``max_q belief(q) - cost(q - p - anchor)``, is one maximum over rows
of maxima over columns. Each is the upper envelope of as many parabolas as there are pixels on a
line, which takes time linear in that number. ``-inf`` in a map forbids a position.
"""

import numpy as np

from .._jit import inner, njit


@inner
def _transform_line(f, square, linear, anchor, out, apex, height, start):
    """``out[p] = max_q f[q] - square d^2 - linear d`` for ``d = q - p - anchor``.

    With u = p + anchor that is ``linear u + max_q (f[q] - linear q) - square (q - u)^2``; parabola
    ``apex[k]`` is the highest from u = ``start[k]`` on. No ``square`` is too small for this: where
    it vanishes next to the heights, intersections are at infinity and never reached.
    """
    n, last = f.size, -1
    for q in range(n):
        if f[q] == -np.inf:
            continue
        top, begin = f[q] - linear * q, -np.inf
        if square == 0.0:  # the highest is so everywhere, the first of equal ones
            if last < 0 or top > height[0]:
                last, apex[0], height[0], start[0] = 0, q, top, -np.inf
            continue
        while last >= 0:
            v = apex[last]
            begin = (height[last] - top) / (2.0 * square * (q - v)) + 0.5 * (q + v)
            if begin > start[last]:
                break
            last, begin = last - 1, -np.inf
        last += 1
        apex[last], height[last], start[last] = q, top, begin
    if last < 0:
        out[:] = -np.inf
        return
    k = 0
    for p in range(n):
        u = p + anchor
        while k < last and start[k + 1] <= u:
            k += 1
        away = apex[k] - u
        out[p] = height[k] - square * away * away + linear * u


@inner
def _transform(belief, weights, anchor, out, scratch, apex):
    """Message of a child with one type of edge: ``out[p] = max_q belief[q] - cost``."""
    n_rows, n_columns = belief.shape
    f, g, height, start = scratch[0], scratch[1], scratch[2], scratch[3]
    for i in range(n_rows):
        _transform_line(
            belief[i], weights[2], weights[3], anchor[1], out[i], apex, height, start
        )  # fmt: skip
    for j in range(n_columns):
        for i in range(n_rows):
            f[i] = out[i, j]
        _transform_line(
            f[:n_rows], weights[0], weights[1], anchor[0], g[:n_rows], apex, height, start
        )  # fmt: skip
        for i in range(n_rows):
            out[i, j] = g[i]


@njit
def pose_upward(beliefs, edges, weights, anchors, bias):
    """Add the messages of children to the maps of their parents.

    ``beliefs`` (n_joints, n_rows, n_columns) holds the maps. Edges (child, parent), leaves first,
    have for each type four ``weights``, an anchor and a bias: shapes (n_edges, n_types, 4),
    (n_edges, n_types, 2) and (n_edges, n_types). Of all types the best counts.
    """
    _, n_rows, n_columns = beliefs.shape
    n = max(n_rows, n_columns)
    scratch, apex = np.empty((4, n)), np.empty(n, np.int64)
    message = np.empty((n_rows, n_columns))
    best = np.empty((n_rows, n_columns))
    for e in range(len(edges)):
        child, parent = edges[e]
        best[:] = -np.inf
        for t in range(bias.shape[1]):
            _transform(beliefs[child], weights[e, t], anchors[e, t], message, scratch, apex)
            np.maximum(best, message + bias[e, t], best)
        beliefs[parent] += best


@njit
def pose_downward(beliefs, edges, weights, anchors, bias, positions, types):
    """Place the joints one by one, each as its parent wants it, which takes no stored pointers.

    ``positions`` (n_joints, 2) and ``types`` (n_joints,) are overwritten; the latter holds that of
    the edge to the parent, 0 where there is none.
    """
    _, n_rows, n_columns = beliefs.shape
    cost = np.empty(n_columns)
    is_child = np.zeros(len(beliefs), np.bool_)
    is_child[edges[:, 0]] = True
    for joint in range(len(beliefs)):
        types[joint] = 0
        if not is_child[joint]:
            place = np.argmax(beliefs[joint])
            positions[joint, 0], positions[joint, 1] = place // n_columns, place % n_columns
    for e in range(len(edges) - 1, -1, -1):
        child, parent = edges[e]
        belief = beliefs[child]
        best = -np.inf
        positions[child, 0] = positions[child, 1] = 0
        for t in range(bias.shape[1]):
            w = weights[e, t]
            row = positions[parent, 0] + anchors[e, t, 0]
            column = positions[parent, 1] + anchors[e, t, 1]
            for j in range(n_columns):
                d = j - column
                cost[j] = (w[2] * d + w[3]) * d - bias[e, t]
            for i in range(n_rows):
                d = i - row
                base = (w[0] * d + w[1]) * d
                for j in range(n_columns):
                    found = belief[i, j] - (base + cost[j])
                    if found > best:
                        best, types[child] = found, t
                        positions[child, 0], positions[child, 1] = i, j
