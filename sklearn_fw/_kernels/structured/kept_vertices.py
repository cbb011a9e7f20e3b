"""Outputs that blocks of parts keep: those of a sweep, and the best of each block."""

from .._jit import lean
from .block_rules import free_slot
from .blocks import find_vertex, put_vertex, values_of_block
from .parts import true_value


@lean
def keep_labels(parts, dual, vertices, labels, scratch, first):
    """Make the labelings of blocks from ``first`` on vertices, with probability zero.

    One takes the place of the worst without use where there is no other. Returns the number of the
    block that has none, or that of blocks.
    """
    for i in range(first, parts.weight.size):
        own = labels[parts.node_start[i] : parts.node_start[i + 1]]
        size, capacity = vertices.size[i], vertices.alpha.shape[1]
        if find_vertex(parts, vertices, i, own) >= 0:
            continue
        if size == capacity:
            values_of_block(parts, dual, vertices, i, scratch)
        slot = free_slot(vertices.alpha[i], scratch.values, size, capacity, False)
        if slot < 0:
            return i
        put_vertex(parts, vertices, i, slot, own)
    return parts.weight.size


@lean
def best_vertices(parts, dual, vertices, scratch, slots, values, current):
    """The vertex of largest H_i of every block, this H_i, and that of the point."""
    for i in range(parts.weight.size):
        current[i] = values_of_block(parts, dual, vertices, i, scratch)
        best = scratch.values[: vertices.size[i]].argmax()
        truth = true_value(parts, dual.w, i, scratch.oracle)
        slots[i], values[i] = best, scratch.values[best] - truth
        current[i] -= truth
