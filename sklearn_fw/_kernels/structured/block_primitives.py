"""Primitives of plain passes on one block of parts: values, directions, moves.

Directions are differences of marginals, nodes (n_nodes, n_states) and tables (n_tables *
n_states^2,), of any two points of a block.
"""

from .._jit import njit
from ..common.vectors import assign
from . import parts as pt
from .blocks import values_of_block


@njit
def values(parts, dual, vertices, i, scratch):
    """H_i of the point of block i, and the score of the truth; see `values_of_block`."""
    current = values_of_block(parts, dual, vertices, i, scratch)
    return current, pt.true_value(parts, dual.w, i, scratch.oracle)


@njit
def scores(parts, marginals, w, i, loss_weight, scratch):
    """Part scores of block i into ``scratch``; H_i of the truth and the point, as `values`."""
    pt.block_scores(parts, w, i, loss_weight, scratch)
    return pt.true_value(parts, w, i, scratch), pt.current_value(parts, marginals, w, i, scratch)


@njit
def vertex(parts, i, labels, nodes, tables):
    for t in range(labels.size):
        nodes[t, labels[t]] = 1.0
    pt.add_pairs(parts.mix, parts, i, labels, 1.0, tables)


@njit
def apply_direction(parts, i, nodes, tables, scratch):
    """``F_i' delta`` of a direction into the buffer; returns its squared norm."""
    n_states = parts.cost.shape[1]
    nodes_per_row = parts.n_columns // n_states
    for r in range(parts.row_start[i + 1] - parts.row_start[i]):
        scratch.active[r] = False
    for t in range(nodes.shape[0]):
        for k in range(n_states):
            scratch.delta[t, k] = nodes[t, k]
            if nodes[t, k] != 0.0:
                scratch.active[t // nodes_per_row] = True
    assign(scratch.delta_tables, tables)
    return pt.apply_adjoint(parts, i, scratch)


@njit
def add_to(parts, i, nodes, tables, factor, target, scratch):
    """``target += factor * F_i' delta``."""
    apply_direction(parts, i, nodes, tables, scratch)
    pt.add_to_weights(parts, i, factor, target, scratch)


@njit
def move(parts, dual, i, nodes, tables, lam, gamma, loss_change, visit, scratch):
    apply_direction(parts, i, nodes, tables, scratch)
    pt.take_step(parts, dual, i, lam, gamma, loss_change, visit, scratch)
