"""The local polytope as a linear program, and bounds that its dual variables prove."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ._adjacency import first_labels
from ._graph_cut import ROUNDING

# Tolerances of HiGHS are absolute: 1e-6 for the gap of a mixed-integer program and for what counts
# as integer, 1e-7 for each dual constraint. Against scores of this size they are small.
LARGEST_COST = 1e4
GAP_TOLERANCE, DUAL_TOLERANCE = 1e-6, 1e-7
# Marginals that differ by less are as good as equal.
TIE = 1e-9


class Polytope(NamedTuple):
    """Equations ``matrix @ mu = sums``, where ``mu`` holds all nodes, then all edges, by rows."""

    matrix: sparse.csc_array
    sums: np.ndarray
    n_nodes: int
    n_states: int

    @classmethod
    def of_graph(cls, edges, n_nodes, n_states):
        """Nodes sum to one, rows and columns of edges to nodes."""
        n_edges = len(edges)
        node = np.arange(n_nodes * n_states).reshape(n_nodes, n_states)
        edge = node.size + np.arange(n_edges * n_states**2).reshape(n_edges, n_states, n_states)
        equation = n_nodes + np.arange(2 * n_edges * n_states).reshape(2, n_edges, n_states)
        entries = [  # rows, columns, value
            (np.repeat(np.arange(n_nodes), n_states), node, 1.0),
            (np.repeat(equation[0], n_states, axis=1), edge, 1.0),
            (np.tile(equation[1], n_states), edge, 1.0),
            (equation[0], node[edges[:, 0]], -1.0),
            (equation[1], node[edges[:, 1]], -1.0),
        ]
        rows, columns = (np.concatenate([entry[k].ravel() for entry in entries]) for k in (0, 1))
        values = np.concatenate([np.full(where.size, value) for where, _, value in entries])
        shape = n_nodes + equation.size, node.size + edge.size
        matrix = sparse.csc_array((values, (rows, columns)), shape=shape)
        return cls(matrix, (np.arange(shape[0]) < n_nodes).astype(float), n_nodes, n_states)

    def nodes(self, mu):
        """Marginals of nodes: (n_nodes, n_states)."""
        return mu[: self.n_nodes * self.n_states].reshape(self.n_nodes, self.n_states)

    def edges(self, mu):
        """Marginals of edges: (n_edges, n_states, n_states)."""
        return mu[self.n_nodes * self.n_states :].reshape(-1, self.n_states, self.n_states)

    def messages(self, dual):
        """Dual variables of the equations between edges and nodes: (2, n_edges, n_states)."""
        return dual[self.n_nodes :].reshape(2, -1, self.n_states)


def costs(scores):
    """Costs to minimise and upper limits of ``mu``, and what the scores were multiplied by.

    Forbidden entries have the limit 0 instead of an infinite cost.
    """
    flat = np.concatenate([scores.unary.ravel(), scores.pairwise.ravel()])
    allowed = flat > -np.inf
    flat[~allowed] = 0.0
    largest = max(np.abs(flat).max(), 1e-290)
    scale = 2.0 ** np.floor(np.log2(LARGEST_COST / largest))  # adds no rounding error
    return -scale * flat, allowed.astype(float), scale


def solver_error(scores, scale):
    """How far a bound of the solver may be off, in units of the scores."""
    return float((GAP_TOLERANCE + DUAL_TOLERANCE * (scores.n_nodes + scores.n_edges)) / scale)


def dual_bound(scores, messages=None):
    """Sum of the best states and pairs of all parts: no labelling scores more.

    ``messages`` (2, n_edges, n_states) are added to rows and columns of edges and taken from their
    nodes, which changes the score of no labelling.
    """
    unary, pairwise = scores.unary, scores.pairwise
    if messages is not None:
        ends = scores.edges.T[:, :, None] * scores.n_states + np.arange(scores.n_states)
        taken = np.bincount(ends.ravel(), messages.ravel(), minlength=unary.size)
        unary = unary - taken.reshape(unary.shape)
        pairwise = pairwise + messages[0][:, :, None] + messages[1][:, None, :]
    best = np.concatenate([unary.max(axis=1), pairwise.max(axis=(1, 2))])
    if best.min() == -np.inf:
        return -np.inf
    return float(best.sum() + ROUNDING * np.abs(best).sum())


def most_likely(node, preferred):
    """The state of each node with the largest marginal; ``preferred`` if this is as large."""
    labels = node.argmax(axis=1).astype(np.int32)
    nodes = np.arange(len(node))
    as_good = node[nodes, preferred] >= node[nodes, labels] - TIE
    return np.where(as_good, preferred, labels)


def best_guess(scores, found, start):
    """The best of what a solver found, ``start`` (both may be None) and nodes by themselves."""
    guesses = [] if found is None else [found]
    guesses += [first_labels(scores, start), first_labels(scores, None)]
    labels = max(guesses, key=scores.value)
    return labels, scores.value(labels)


def agreeing(edge, node, edges):
    """Marginals of edges whose sums are those of nodes, close to ones where this nearly holds.

    Rows and columns that are too large shrink, and what is then missing is added as a product.
    """
    edge = np.maximum(edge, 0.0)
    rows, columns = node[edges[:, 0]], node[edges[:, 1]]
    for axis, sums in ((2, rows), (1, columns)):
        found = edge.sum(axis=axis)
        shrink = np.divide(sums, found, out=np.ones_like(sums), where=found > sums)
        edge *= np.expand_dims(shrink, axis)
    rows = np.maximum(rows - edge.sum(axis=2), 0.0)
    columns = np.maximum(columns - edge.sum(axis=1), 0.0)
    missing = rows.sum(axis=1)
    at = missing > TIE / 10  # below, zeros are worth more than the last digit of the sums
    edge[at] += rows[at, :, None] * columns[at, None, :] / missing[at, None, None]
    return edge
