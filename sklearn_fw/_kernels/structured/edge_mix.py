"""Edges whose tables are sums of weighted tables: edge features, symmetric tables, turned edges.

Edge e has a row of a sparse matrix, with entries (table t, value x):

    score of the states (a, b) of its ends = sum_t x_et T_t[a, b]

where T_t is made symmetric (``mirror[t]`` 1) or antisymmetric (-1) first, or left (0), or gets the
mean of its entries with a != b in place of these and zeros elsewhere (`POTTS`), and where
``turned[e]`` exchanges a and b. Marginals of edges are summed into tables by the adjoint of this.
"""

from typing import NamedTuple

import numpy as np

from .._jit import inner, njit

POTTS = 2.0


class EdgeMix(NamedTuple):
    indptr: np.ndarray  # (n_edges + 1,)
    table: np.ndarray  # (nnz,) int64
    value: np.ndarray  # (nnz,)
    turned: np.ndarray  # (n_edges,) bool
    mirror: np.ndarray  # (n_tables,)


@njit
def mix_tables(mix, first, last, tables, out):
    """Tables of edges first..last, (last - first, n_states, n_states), into ``out``."""
    n_states = tables.shape[1]
    potts = _differences(mix, tables)
    for e in range(first, last):
        differ, target = 0.0, out[e - first]
        for q in range(mix.indptr[e], mix.indptr[e + 1]):
            if mix.mirror[mix.table[q]] == POTTS:
                differ += mix.value[q] * potts[mix.table[q]]
        for a in range(n_states):
            for b in range(n_states):
                target[a, b] = 0.0 if a == b else differ
        for q in range(mix.indptr[e], mix.indptr[e + 1]):
            x, table, mirror = mix.value[q], tables[mix.table[q]], mix.mirror[mix.table[q]]
            if mirror == POTTS:
                continue
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
def _differences(mix, tables):
    """Mean entry with a != b of the tables that have no others."""
    n_states = tables.shape[1]
    means = np.zeros(len(tables))
    for t in range(len(tables)):
        if mix.mirror[t] == POTTS:
            for a in range(n_states):
                for b in range(n_states):
                    if a != b:
                        means[t] += tables[t, a, b]
            means[t] /= n_states * (n_states - 1)
    return means


@inner
def add_mixed_pair(mix, e, a, b, factor, n_states, out):
    """``out += factor`` times what the states (a, b) of edge e add to the flat tables."""
    if mix.turned[e]:
        a, b = b, a
    for q in range(mix.indptr[e], mix.indptr[e + 1]):
        _add_entry(mix.mirror[mix.table[q]], mix, q, a, b, factor, n_states, out)


@inner
def _add_entry(mirror, mix, q, a, b, factor, n_states, out):
    """The same of entry q."""
    x, t = factor * mix.value[q], mix.table[q]
    if mirror == 0.0:
        out[(t * n_states + a) * n_states + b] += x
    elif mirror == POTTS:
        if a != b:
            _add_difference(t, x, n_states, out)
    else:
        out[(t * n_states + a) * n_states + b] += 0.5 * x
        out[(t * n_states + b) * n_states + a] += 0.5 * mirror * x


@inner
def _add_difference(t, x, n_states, out):
    """``x`` shared by all entries of table t with a != b."""
    share = x / (n_states * (n_states - 1))
    for a in range(n_states):
        for b in range(n_states):
            if a != b:
                out[(t * n_states + a) * n_states + b] += share


@njit
def add_mixed_marginals(mix, first, marginals, out):
    """Marginals of the edges from ``first`` on, (m, n_states, n_states), into flat tables."""
    n_states = marginals.shape[1]
    for e in range(marginals.shape[0]):
        own, differ = marginals[e], 0.0
        for a in range(n_states):
            for b in range(n_states):
                differ += own[a, b] if a != b else 0.0
        for q in range(mix.indptr[first + e], mix.indptr[first + e + 1]):
            mirror = mix.mirror[mix.table[q]]
            if mirror == POTTS:
                _add_difference(mix.table[q], mix.value[q] * differ, n_states, out)
                continue
            for a in range(n_states):
                for b in range(n_states):
                    i, j = (b, a) if mix.turned[first + e] else (a, b)
                    _add_entry(mirror, mix, q, i, j, own[a, b], n_states, out)
