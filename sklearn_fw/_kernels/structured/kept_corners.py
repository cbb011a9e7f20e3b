"""Outputs that blocks of parts keep: those of a sweep, and the best of each block."""

from .._jit import njit
from .block_rules import free_slot
from .blocks import _find_corner, values_of_block
from .parts import labels_loss, labels_value


@njit
def keep_labels(parts, dual, corners, labels, scratch, first):
    """Make the labellings of blocks from ``first`` on corners, with probability zero.

    One takes the place of the worst without use where there is no other. Returns the number of the
    block that has none, or that of blocks.
    """
    for i in range(first, parts.weight.size):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        size, capacity = corners.size[i], corners.alpha.shape[1]
        if _find_corner(corners.labels, size, labels[start:stop], start, stop - start) >= 0:
            continue
        if size == capacity:
            values_of_block(parts, dual, corners, i, scratch)
        slot = free_slot(corners.alpha[i], scratch.values, size, capacity, False)
        if slot < 0:
            return i
        corners.size[i] = max(size, slot + 1)
        corners.labels[start:stop, slot] = labels[start:stop]
        corners.alpha[i, slot] = 0.0
        corners.loss[i, slot] = labels_loss(parts, i, labels[start:stop])
    return parts.weight.size


@njit
def best_corners(parts, dual, corners, scratch, slots, values, current):
    """The corner of largest H_i of every block, this H_i, and that of the point."""
    for i in range(parts.weight.size):
        current[i] = values_of_block(parts, dual, corners, i, scratch)
        best = 0
        for c in range(1, corners.size[i]):
            if scratch.values[c] > scratch.values[best]:
                best = c
        truth = parts.truth[parts.node_start[i] : parts.node_start[i + 1]]
        true_value = labels_value(parts, dual.w, i, truth, scratch.oracle)
        slots[i], values[i] = best, scratch.values[best] - true_value
        current[i] -= true_value
