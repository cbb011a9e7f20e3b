"""Edges whose tables are sums of weighted tables: edge features, symmetric tables, turned edges.

Edge e has a row of a sparse matrix, with entries (table t, value x):

    score of the states (a, b) of its ends = sum_t x_et T_t[a, b]

where T_t is made symmetric (``mirror[t]`` 1) or antisymmetric (-1) first, or left (0), and where
``turned[e]`` exchanges a and b. Marginals of edges are summed into tables by the adjoint of this.
"""

from typing import NamedTuple

import numpy as np

from .._jit import inner, njit


class EdgeMix(NamedTuple):
    """The sparse matrix of all edges."""

    indptr: np.ndarray  # (n_edges + 1,)
    table: np.ndarray  # (nnz,) int64
    value: np.ndarray  # (nnz,)
    turned: np.ndarray  # (n_edges,) bool
    mirror: np.ndarray  # (n_tables,)


@njit
def mix_tables(mix, first, last, tables, out):
    """Tables of edges first..last, (last - first, n_states, n_states), into ``out``."""
    n_states = tables.shape[1]
    for e in range(first, last):
        target = out[e - first]
        for a in range(n_states):
            for b in range(n_states):
                target[a, b] = 0.0
        for q in range(mix.indptr[e], mix.indptr[e + 1]):
            x, table, mirror = mix.value[q], tables[mix.table[q]], mix.mirror[mix.table[q]]
            for a in range(n_states):
                for b in range(n_states):
                    value = table[a, b]
                    if mirror != 0.0:
                        value = 0.5 * (value + mirror * table[b, a])
                    if mix.turned[e]:
                        target[b, a] += x * value
                    else:
                        target[a, b] += x * value


@inner
def add_mixed_pair(mix, e, a, b, factor, n_states, out):
    """``out += factor`` times what the states (a, b) of edge e add to the flat tables."""
    if mix.turned[e]:
        a, b = b, a
    for q in range(mix.indptr[e], mix.indptr[e + 1]):
        x, t = factor * mix.value[q], mix.table[q]
        mirror = mix.mirror[t]
        if mirror == 0.0:
            out[(t * n_states + a) * n_states + b] += x
        else:
            out[(t * n_states + a) * n_states + b] += 0.5 * x
            out[(t * n_states + b) * n_states + a] += 0.5 * mirror * x


@njit
def add_mixed_marginals(mix, first, marginals, out):
    """Marginals of the edges from ``first`` on, (m, n_states, n_states), into flat tables."""
    n_states = marginals.shape[1]
    for e in range(marginals.shape[0]):
        for a in range(n_states):
            for b in range(n_states):
                add_mixed_pair(mix, first + e, a, b, marginals[e, a, b], n_states, out)


@njit
def add_mixed_labels(mix, first, ends, n_states, out):
    """Pairs of states (m, 2) of the edges from ``first`` on, summed into flat tables."""
    for e in range(ends.shape[0]):
        add_mixed_pair(mix, first + e, ends[e, 0], ends[e, 1], 1.0, n_states, out)
