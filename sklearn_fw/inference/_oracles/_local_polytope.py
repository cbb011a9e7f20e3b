"""The local polytope as a linear program, and bounds that its dual variables prove."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..._core.scores import PairwiseScores, check_range
from ._adjacency import first_labels
from ._settle import ROUNDING

# Tolerances of HiGHS are absolute: 1e-6 for the gap of a mixed-integer program and for what counts
# as integer, 1e-7 for each dual constraint. Against scores of this size they are small.
LARGEST_COST = 1e6
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
        # HiGHS counts in 32 bits, and SciPy 1.13 does not convert.
        rows, columns = (
            np.concatenate([entry[k].ravel() for entry in entries]).astype(np.int32) for k in (0, 1)
        )
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


def without_impossible_pairs(scores):
    """Scores that forbid the pairs of forbidden states, too: their numbers may be anything."""
    possible = scores.unary > -np.inf
    if possible.all():
        return scores
    a, b = scores.edges.T
    pairs = possible[a][:, :, None] & possible[b][:, None, :]
    return PairwiseScores._view(
        scores.unary, np.where(pairs, scores.pairwise, -np.inf), scores.edges
    )


class Costs(NamedTuple):
    """What to minimise: the score of ``mu`` is ``constant - cost @ mu / scale``."""

    cost: np.ndarray  # not below 0: what an entry loses against the best one of its part
    largest: np.ndarray  # upper limits of mu: 0 for forbidden entries, whose cost is finite, too
    scale: float
    constant: float
    error: float  # how far a bound of the solver may be off, in units of the scores


def costs(scores):
    """The `Costs` of some scores. Constants of parts do not count, lest they drown differences."""
    check_range(scores)
    best = _best_of_parts(scores.unary, scores.pairwise)
    best[best == -np.inf] = 0.0
    unary, pairwise = np.split(best, [scores.n_nodes])
    lost = [unary[:, None] - scores.unary, pairwise[:, None, None] - scores.pairwise]
    lost = np.concatenate([part.ravel() for part in lost])
    allowed = lost < np.inf
    lost[~allowed] = 0.0
    cost, scale, error = scaled_costs(lost, best)
    return Costs(cost, allowed.astype(float), scale, float(best.sum()), error)


def scaled_costs(lost, best):
    """Costs of a size that tolerances of HiGHS are small against, their scale, and the error.

    ``lost`` holds what each entry lacks of the best one of its part, of which ``best`` has one for
    each part.
    """
    # A power of two adds no rounding error.
    scale = 2.0 ** np.floor(np.log2(LARGEST_COST / max(lost.max(), 1e-300)))
    error = (GAP_TOLERANCE + DUAL_TOLERANCE * len(best)) / scale + ROUNDING * np.abs(best).sum()
    return scale * lost, scale, float(error)


def dual_bound(scores, messages=None):
    """Sum of the best states and pairs of all parts: no labelling scores more.

    ``messages`` (2, n_edges, n_states) are added to rows and columns of edges and taken from their
    nodes, which changes the score of no labelling.
    """
    unary, pairwise = scores.unary, scores.pairwise
    size = 0.0
    if messages is not None:
        size = np.abs(messages).sum()
        ends = scores.edges.T[:, :, None] * scores.n_states + np.arange(scores.n_states)
        taken = np.bincount(ends.ravel(), messages.ravel(), minlength=unary.size)
        unary = unary - taken.reshape(unary.shape)
        pairwise = pairwise + messages[0][:, :, None] + messages[1][:, None, :]
    best = _best_of_parts(unary, pairwise)
    if best.min() == -np.inf:
        return -np.inf
    # What the messages are added to is no larger than they and the result.
    return float(best.sum() + ROUNDING * (np.abs(best).sum() + size))


def _best_of_parts(unary, pairwise):
    return np.concatenate([unary.max(axis=1), pairwise.max(axis=(1, 2))])


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
