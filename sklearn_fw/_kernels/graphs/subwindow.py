"""Best boxes of an image by best-first branch and bound over intervals of their sides.

A set of boxes is ``(t0, t1, b0, b1, l0, l1, r0, r1)``: top from t0 to t1, bottom from b0 to b1,
left from l0 to l1, right from r0 to r1, ends included; bottom and right are the first row and
column behind a box. The score of a box is the sum of the weights in it and, with ``cost`` > 0, that
many times one minus its intersection over union with the box ``truth``.

The bound of a set takes from each column all that is positive in the tallest box and what is
negative in the flattest one, and of all intervals of columns in the set the best, which is exact
where top and bottom are fixed [1, 2]. The loss is bounded by the smallest intersection and the
largest union.

[1] C. H. Lampert, M. B. Blaschko, T. Hofmann, CVPR 2008. [2] S. An, P. Peursum, W. Liu, S.
Venkatesh, CVPR 2009: the intervals of columns.
"""

import numpy as np

from .._jit import inner, njit
from ..common.vectors import assign


@inner
def _loss(truth, top, bottom, left, right):
    height = min(bottom, truth[2]) - max(top, truth[0])
    width = min(right, truth[3]) - max(left, truth[1])
    shared = max(height, 0) * max(width, 0)
    area = (truth[2] - truth[0]) * (truth[3] - truth[1])
    return 1.0 - shared / ((bottom - top) * (right - left) + area - shared)


@inner
def _loss_bound(truth, box):
    """The largest loss of a box of a set, or more."""
    t0, t1, b0, b1, l0, l1, r0, r1 = box[0], box[1], box[2], box[3], box[4], box[5], box[6], box[7]
    if truth[0] <= t0 and b1 <= truth[2] and truth[1] <= l0 and r1 <= truth[3]:
        shared = max(b0 - t1, 1) * max(r0 - l1, 1)
        return 1.0 - shared / ((truth[2] - truth[0]) * (truth[3] - truth[1]))
    shared = max(min(b0, truth[2]) - max(t1, truth[0]), 0)
    shared *= max(min(r0, truth[3]) - max(l1, truth[1]), 0)
    both = max(min(b1, truth[2]) - max(t0, truth[0]), 0)
    both *= max(min(r1, truth[3]) - max(l0, truth[1]), 0)
    area = (truth[2] - truth[0]) * (truth[3] - truth[1])
    return 1.0 - shared / ((b1 - t0) * (r1 - l0) + area - both)


@inner
def _is_empty(box):
    """Make sides agree; True if no box is left."""
    for side in (0, 4):  # rows, columns
        box[side + 1] = min(box[side + 1], box[side + 3] - 1)
        box[side + 2] = max(box[side + 2], box[side] + 1)
        if box[side] > box[side + 1] or box[side + 2] > box[side + 3]:
            return True
    return False


@inner
def _bound(up, down, truth, cost, box, best, value, sums):
    """(bound of a set, best value so far); writes into ``box[8]`` what to split it by.

    ``up`` and ``down`` (n_rows + 1, n_columns) are running sums of positive and negative weights.
    ``best`` (4,) receives the box of the best value so far, with the tallest box of this set and
    its best columns as a candidate.
    """
    t0, t1, b0, b1, l0, l1, r0, r1 = box[0], box[1], box[2], box[3], box[4], box[5], box[6], box[7]
    sums[l0] = 0.0
    for c in range(l0, r1):
        sums[c + 1] = sums[c] + up[b1, c] - up[t0, c]
        if t1 < b0:
            sums[c + 1] += down[b0, c] - down[t1, c]
    start, low = l0, l0
    left, right, bound = l0, r0, -np.inf
    for r in range(r0, r1 + 1):
        while start <= min(l1, r - 1):
            if sums[start] < sums[low]:
                low = start
            start += 1
        if sums[r] - sums[low] > bound:
            left, right, bound = low, r, sums[r] - sums[low]
    own = 0.0
    for c in range(left, right):
        own += up[b1, c] - up[t0, c] + down[b1, c] - down[t0, c]
    missed = bound - own
    lost = 0.0
    if cost > 0.0:
        loss, most = cost * _loss(truth, t0, b1, left, right), cost * _loss_bound(truth, box)
        own, bound, lost = own + loss, bound + most, most - loss
    if own > value:
        value = own
        best[0], best[1], best[2], best[3] = t0, left, b1, right
    rows = 0 if t1 - t0 >= b1 - b0 else 2
    columns = 4 if l1 - l0 >= r1 - r0 else 6
    fixed_rows, fixed_columns = t0 == t1 and b0 == b1, l0 == l1 and r0 == r1
    box[8] = rows if fixed_columns or (not fixed_rows and missed >= lost) else columns
    if fixed_rows and fixed_columns:
        box[8] = -1
    return bound, value


@inner
def _push(keys, boxes, size, key, box):
    i = size
    while i > 0 and keys[(i - 1) // 2] < key:
        keys[i] = keys[(i - 1) // 2]
        assign(boxes[i], boxes[(i - 1) // 2])
        i = (i - 1) // 2
    keys[i] = key
    assign(boxes[i], box)


@inner
def _pop(keys, boxes, size):
    """Take away the first of ``size`` entries."""
    last = size - 1
    key, box = keys[last], boxes[last].copy()
    i = 0
    while 2 * i + 1 < last:
        child = 2 * i + 1
        if child + 1 < last and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[i] = keys[child]
        assign(boxes[i], boxes[child])
        i = child
    keys[i] = key
    assign(boxes[i], box)


@njit
def search_boxes(up, down, truth, cost, keys, boxes, size, found, values, state, n_steps, rounding):
    """Take up to ``n_steps`` sets from a heap and put their halves back; returns (heap, size).

    ``keys`` and ``boxes`` (n, 9) are a heap of bounds and sets, empty to begin with. ``found``
    (k, 4) and ``values`` (k,) receive the boxes that are certainly the best, ``state[1]`` of them
    so far. With k = 1 sets that are not above the best box known are left out. ``state[0]`` counts
    sets, and ``state[2]`` becomes 1 at the end of the search.
    """
    n_rows, n_columns = up.shape[0] - 1, up.shape[1]
    k, sums = len(found), np.empty(n_columns + 1)
    box, half = np.zeros(9, np.int64), np.zeros(9, np.int64)
    best, value = np.zeros(4, np.int64), -np.inf
    if k == 1:
        best[:], value = found[0], values[0]
    if state[0] == 0:
        box[1], box[3], box[2], box[5], box[7], box[6] = (
            n_rows - 1, n_rows, 1, n_columns - 1, n_columns, 1,
        )  # fmt: skip
        key, value = _bound(up, down, truth, cost, box, best, value, sums)
        _push(keys, boxes, 0, key, box)
        size, state[0] = 1, 1
    for _ in range(n_steps):
        if size == 0 or (k == 1 and keys[0] <= value + rounding) or state[1] == k:
            state[2] = 1
            break
        if size + 1 >= len(keys):
            keys = np.concatenate((keys, np.empty_like(keys)))
            boxes = np.concatenate((boxes, np.empty_like(boxes)))
        key = keys[0]
        assign(box, boxes[0])
        _pop(keys, boxes, size)
        size -= 1
        axis = box[8]
        if axis < 0:
            if k > 1:
                m = state[1]
                found[m, 0], found[m, 1], found[m, 2], found[m, 3] = box[0], box[4], box[2], box[6]
                values[m] = key
                state[1] += 1
            continue
        middle = (box[axis] + box[axis + 1]) // 2
        for part in range(2):
            assign(half, box)
            if part == 0:
                half[axis + 1] = middle
            else:
                half[axis] = middle + 1
            if _is_empty(half):
                continue
            key, value = _bound(up, down, truth, cost, half, best, value, sums)
            state[0] += 1
            if k > 1 or key > value + rounding:
                _push(keys, boxes, size, key, half)
                size += 1
    if k == 1:
        found[0], values[0] = best, value
    return keys, boxes, size
