"""Edges whose tables are sums of weighted tables: edge features, symmetric tables, turned edges.

Edge e has a row of a sparse matrix, with entries (table t, value x):

    score of the states (a, b) of its ends = sum_t x_et T_t[a, b]

where T_t is made symmetric (``mirror[t]`` 1) or antisymmetric (-1) first, or left (0), or gets the
mean of its entries with a != b in place of these and zeros elsewhere (`POTTS`), and where
``turned[e]`` exchanges a and b. Marginals of edges are summed into tables by the adjoint of this.
Symmetries are orthogonal projections: of tables before they are mixed, of sums at the end.
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


@inner
def mirror(mix, n_states, tables):
    """Give flat tables their symmetry, by a projection, which is its own adjoint."""
    if mix is None:
        return
    size = n_states * n_states
    for t in range(mix.mirror.size):
        sign, table = mix.mirror[t], tables[t * size : (t + 1) * size].reshape(n_states, n_states)
        if sign == POTTS:
            mean = 0.0
            for a in range(n_states):
                for b in range(n_states):
                    mean += table[a, b] if a != b else 0.0
            mean /= size - n_states
            for a in range(n_states):
                for b in range(n_states):
                    table[a, b] = mean if a != b else 0.0
        elif sign != 0.0:
            for a in range(n_states):
                for b in range(a + 1):
                    x, y = table[a, b], table[b, a]
                    table[a, b], table[b, a] = 0.5 * (x + sign * y), 0.5 * (y + sign * x)


@njit
def mix_tables(mix, first, last, tables, out):
    """Tables of edges first..last, (last - first, n_states, n_states), into ``out``."""
    n_states = tables.shape[1]
    own = tables.copy().reshape(-1)
    mirror(mix, n_states, own)
    out[: last - first] = 0.0
    for e in range(first, last):
        target = out[e - first]
        for q in range(mix.indptr[e], mix.indptr[e + 1]):
            x, k = mix.value[q], mix.table[q] * n_states * n_states
            for a in range(n_states):
                for b in range(n_states):
                    if mix.turned[e]:
                        target[b, a] += x * own[k]
                    else:
                        target[a, b] += x * own[k]
                    k += 1


@inner
def add_mixed_pair(mix, e, a, b, factor, n_states, out):
    """``out += factor`` times what the states (a, b) of edge e add to tables; then `mirror`."""
    if mix.turned[e]:
        a, b = b, a
    for q in range(mix.indptr[e], mix.indptr[e + 1]):
        out[(mix.table[q] * n_states + a) * n_states + b] += factor * mix.value[q]


@njit
def add_mixed_marginals(mix, first, marginals, out):
    """Marginals of the edges from ``first`` on, (m, n_states, n_states), into flat tables."""
    n_states = marginals.shape[1]
    size = n_states * n_states
    for e in range(marginals.shape[0]):
        for q in range(mix.indptr[first + e], mix.indptr[first + e + 1]):
            x, start = mix.value[q], mix.table[q] * size
            for a in range(n_states):
                for b in range(n_states):
                    k = b * n_states + a if mix.turned[first + e] else a * n_states + b
                    out[start + k] += x * marginals[e, a, b]
    mirror(mix, n_states, out)
