"""Moves between two labellings of any graph: which nodes take the state of which, as a cut.

Scores are `unary` (n_nodes, n_states) and, of edge ``e``, ``tables[edge_table[e]]`` with rows for
node ``edges[e, 0]``; all are finite here. Arcs are those of `max_flow.py`.
"""

from .._jit import njit


@njit
def score_of(unary, tables, edge_table, edges, labels):
    """Score of a labelling."""
    total = 0.0
    for i in range(unary.shape[0]):
        total += unary[i, labels[i]]
    for e in range(edges.shape[0]):
        total += tables[edge_table[e], labels[edges[e, 0]], labels[edges[e, 1]]]
    return total


@njit
def fusion(
    unary, tables, edge_table, edges, zero, one, rounding, arc, sister, residual, excess, crossed
):  # fmt: skip
    """The best mixture of the labellings ``zero`` and ``one`` as a minimum cut.

    ``excess`` (n_nodes,) receives what each node loses by ``one``, ``residual`` (n_arcs,) the room
    of both arcs of each edge, and ``crossed[e]`` whether the edge wants its ends on different
    sides. Returns how many edges do, more than by ``rounding`` of their scores.
    """
    for i in range(unary.shape[0]):
        excess[i] = unary[i, zero[i]] - unary[i, one[i]]
    n_crossed = 0
    for e in range(edges.shape[0]):
        a, b = edges[e, 0], edges[e, 1]
        forward = arc[e]
        attraction = 0.0
        crossed[e] = False
        if zero[a] != one[a] or zero[b] != one[b]:
            table = edge_table[e]
            both_zero = tables[table, zero[a], zero[b]]
            second = tables[table, zero[a], one[b]]
            first = tables[table, one[a], zero[b]]
            both_one = tables[table, one[a], one[b]]
            bias, tilt = (both_one - both_zero) / 2, (first - second) / 2
            excess[a] -= bias + tilt
            excess[b] -= bias - tilt
            attraction = (both_zero + both_one - first - second) / 2
            size = abs(both_zero) + abs(both_one) + abs(first) + abs(second)
            if abs(attraction) <= rounding * size:
                attraction = 0.0
            if attraction < 0.0:
                crossed[e] = True
                n_crossed += 1
                attraction = -attraction
        residual[forward] = residual[sister[forward]] = attraction
    return n_crossed
