"""Outputs that blocks of parts keep: those of a sweep, and the best of each block."""

from .._jit import njit
from .block_rules import free_slot
from .blocks import _find_vertex, values_of_block
from .parts import labels_loss, labels_value


@njit
def keep_labels(parts, dual, vertices, labels, scratch, first):
    """Make the labellings of blocks from ``first`` on vertices, with probability zero.

    One takes the place of the worst without use where there is no other. Returns the number of the
    block that has none, or that of blocks.
    """
    for i in range(first, parts.weight.size):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        size, capacity = vertices.size[i], vertices.alpha.shape[1]
        if _find_vertex(vertices.labels, size, labels[start:stop], start, stop - start) >= 0:
            continue
        if size == capacity:
            values_of_block(parts, dual, vertices, i, scratch)
        slot = free_slot(vertices.alpha[i], scratch.values, size, capacity, False)
        if slot < 0:
            return i
        vertices.size[i] = max(size, slot + 1)
        vertices.labels[start:stop, slot] = labels[start:stop]
        vertices.alpha[i, slot] = 0.0
        vertices.loss[i, slot] = labels_loss(parts, i, labels[start:stop])
    return parts.weight.size


@njit
def best_vertices(parts, dual, vertices, scratch, slots, values, current):
    """The vertex of largest H_i of every block, this H_i, and that of the point."""
    for i in range(parts.weight.size):
        current[i] = values_of_block(parts, dual, vertices, i, scratch)
        best = 0
        for c in range(1, vertices.size[i]):
            if scratch.values[c] > scratch.values[best]:
                best = c
        truth = parts.truth[parts.node_start[i] : parts.node_start[i + 1]]
        true_value = labels_value(parts, dual.w, i, truth, scratch.oracle)
        slots[i], values[i] = best, scratch.values[best] - true_value
        current[i] -= true_value
