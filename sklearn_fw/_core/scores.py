"""What an oracle is asked about: scores of the states of nodes and of pairs of states of edges."""

from dataclasses import dataclass

import numpy as np

from .._kernels import lazy
from . import check
from .packed import starts_of, writable

tree = lazy("graphs.tree")

# Sums of scores, and a few of them in a difference, have to stay within the range of float64.
LARGEST_SUM = 2.0**1018
MOST_PADDED = 2**28  # numbers in the tables of all edges, padded to one shape


def check_arrays(scores):
    """Refuse fields that are not plain arrays, then what does not fit."""
    for name in scores.__slots__:
        value = getattr(scores, name)
        is_other = isinstance(value, np.ma.MaskedArray | np.matrix)
        if is_other or not isinstance(value, np.ndarray):
            raise TypeError(
                f"{name} must be a numpy array, got {type(value).__name__}: use "
                f"{type(scores).__name__}.from_arrays for lists and other kinds"
            )
    scores.check()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairwiseScores:
    """Part scores of a labeling of a graph: the input of every oracle of this package.

    A labeling ``y`` gives each node one of ``n_states`` states. Its score, always maximized, is::

        sum_t unary[t, y[t]] + sum_e pairwise[e, y[a], y[b]]    with (a, b) = edges[e]

    The constructor accepts arrays of these types only, checks them in linear time, and keeps them
    as they are; `from_arrays` converts lists and other kinds of numbers first.

    Parameters
    ----------
    unary : ndarray of shape (n_nodes, n_states), float64
        Score of each state of each node. ``-inf`` forbids a state, and is also how nodes with
        fewer states than others are padded.
    pairwise : ndarray of shape (n_edges, n_states, n_states), float64
        Score of each pair of states of each edge; ``-inf`` forbids a pair. One table for all
        edges is best given as ``np.broadcast_to(table, (n_edges, n_states, n_states))``: such a
        view is recognized by its zero stride and never expanded.
    edges : ndarray of shape (n_edges, 2), integer
        Nodes joined by each edge, in any order. The direction only defines which axis of
        ``pairwise`` belongs to which node: rows to ``edges[e, 0]``, columns to ``edges[e, 1]``.

    See Also
    --------
    Viterbi, TreeMaxProduct, Enumeration : Oracles that maximize the score exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import PairwiseScores
    >>> unary = np.array([[0.0, 1.0], [0.5, 0.0], [0.0, 0.2]])
    >>> prefer_equal = np.eye(2)
    >>> scores = PairwiseScores.from_arrays(unary, prefer_equal, [(0, 1), (1, 2)])
    >>> scores
    PairwiseScores(n_nodes=3, n_states=2, n_edges=2)
    >>> scores.value([1, 1, 1])
    3.2
    """

    unary: np.ndarray
    pairwise: np.ndarray
    edges: np.ndarray

    __post_init__ = check_arrays

    @classmethod
    def _view(cls, unary, pairwise, edges):
        """The scores of arrays that are known to fit: no check, for solvers make one per sample."""
        new = object.__new__(cls)
        object.__setattr__(new, "unary", unary)
        object.__setattr__(new, "pairwise", pairwise)
        object.__setattr__(new, "edges", edges)
        return new

    @classmethod
    def from_arrays(cls, unary, pairwise=None, edges=None):
        """Convert and check arrays or nested lists; returns the `PairwiseScores`.

        Parameters
        ----------
        unary : array-like of shape (n_nodes, n_states)
            Score of each state of each node.
        pairwise : array-like of shape (n_edges, n_states, n_states) or (n_states, n_states), \
                default=None
            One table per edge, or one table that all edges share. None without edges.
        edges : array-like of shape (n_edges, 2), default=None
            Nodes joined by each edge. None when nodes are independent.
        """
        unary = floats(unary, "unary")
        if unary.ndim != 2:
            raise ValueError(f"unary must have shape (n_nodes, n_states), got {unary.shape}")
        if (pairwise is None) != (edges is None):
            missing = "pairwise" if pairwise is None else "edges"
            raise ValueError(f"pairwise and edges come together, but {missing} is None")
        n_states = unary.shape[1]
        if edges is None:
            pairwise = np.empty((0, n_states, n_states))
            edges = np.empty((0, 2), np.int64)
        edges = integers(edges, "edges", 2)
        shared = isinstance(pairwise, np.ndarray) and pairwise.ndim == 3 and is_shared(pairwise)
        pairwise = floats(pairwise[0] if shared else pairwise, "pairwise")
        if pairwise.ndim == 2:
            pairwise = np.broadcast_to(pairwise, (len(edges), *pairwise.shape))
        return cls(unary, pairwise, edges)

    def check(self):
        """Return this object, or raise a ValueError that names the wrong array."""
        unary, pairwise, edges = self.unary, self.pairwise, self.edges
        if unary.ndim != 2 or unary.shape[0] < 1 or unary.shape[1] < 1:
            raise ValueError(
                f"unary must have shape (n_nodes, n_states), at least (1, 1), got {unary.shape}"
            )
        check_ends(edges, self.n_nodes, "nodes")
        expected = (self.n_edges, self.n_states, self.n_states)
        if pairwise.shape != expected:
            raise ValueError(
                f"pairwise must have shape (n_edges, n_states, n_states) = {expected}, "
                f"got {pairwise.shape}"
            )
        tables = pairwise[:1] if is_shared(pairwise) else pairwise
        for name, array in (("unary", unary), ("pairwise", tables)):
            if array.dtype != np.float64:
                raise ValueError(f"{name} must be float64, got dtype {array.dtype}")
            floats(array, name)
        check_range(self)
        return self

    @property
    def n_nodes(self):
        """Number of nodes."""
        return self.unary.shape[0]

    @property
    def n_states(self):
        """Number of states of a node, padding included."""
        return self.unary.shape[1]

    @property
    def n_edges(self):
        """Number of edges."""
        return len(self.edges)

    def value(self, labels):
        """Score of one labeling, ``-inf`` if it is forbidden.

        Parameters
        ----------
        labels : array-like of shape (n_nodes,), integer
            State of each node, from 0 to ``n_states - 1``.
        """
        labels = states_of(self, labels, "labels")
        value = self.unary[np.arange(self.n_nodes), labels].sum()
        if len(self.edges):
            ends = labels[self.edges]
            value += self.pairwise[np.arange(len(ends)), ends[:, 0], ends[:, 1]].sum()
        return float(value)

    def __repr__(self):
        sizes = f"n_nodes={self.n_nodes}, n_states={self.n_states}, n_edges={self.n_edges}"
        return f"PairwiseScores({sizes})"

    def __reduce__(self):
        # Pickling a broadcast view would write the table once per edge.
        if self.n_edges and is_shared(self.pairwise):
            return _restore_shared, (self.unary, np.array(self.pairwise[0]), self.edges)
        return PairwiseScores._view, (self.unary, self.pairwise, self.edges)


def _restore_shared(unary, table, edges):
    return PairwiseScores._view(unary, np.broadcast_to(table, (len(edges), *table.shape)), edges)


def expect_scores(scores):
    if not isinstance(scores, PairwiseScores):
        raise TypeError(
            f"scores must be PairwiseScores, got {type(scores).__name__}: make them with "
            f"PairwiseScores.from_arrays, or with the method scores() of a PairwiseMRF"
        )


def is_shared(pairwise):
    return pairwise.strides[0] == 0 and pairwise.shape[0] > 0


def floats(array, name):
    """A float64 array of what a user gave, possibly the very same one; -inf is allowed."""
    if type(array) is not np.ndarray or array.dtype != np.float64:
        array = check.array(array, name, finite=None)
    # max() is NaN if any entry is, and NaN < inf is false
    if array.size and not array.max() < np.inf:
        raise ValueError(f"{name} must hold finite numbers or -inf, got NaN or +inf")
    return array


def as_array(array, name):
    """`numpy.asarray`, with a name in the error about rows of different lengths."""
    try:
        return np.asarray(array)
    except ValueError as error:
        raise ValueError(f"{name} must be an array: {error}") from None


def states_of(scores, labels, name):
    """A state of each node as an array of integers."""
    labels = integers(labels, name, None)
    if labels.shape != (scores.n_nodes,):
        raise ValueError(
            f"{name} must hold one state for each of {scores.n_nodes} nodes, got {labels.shape}"
        )
    if labels.min() < 0 or labels.max() >= scores.n_states:
        raise ValueError(
            f"{name} must be states from 0 to {scores.n_states - 1}, got {labels.min()} to "
            f"{labels.max()}"
        )
    return labels


def integers(array, name, width):
    """An int64 array of what a user gave; with a width, of shape (n, width) where it is empty."""
    if np.ma.is_masked(array):
        raise ValueError(f"{name} has masked entries")
    array = as_array(array, name)
    if array.size == 0 and width is not None:  # an empty list has neither dtype nor shape
        return np.empty((0, width), np.int64)
    if array.dtype.kind not in "iu" or (array.dtype == np.uint64 and array.max(initial=0) >> 63):
        raise ValueError(
            f"{name} must hold integers, got dtype {array.dtype} and shape {array.shape}"
        )
    return np.ascontiguousarray(array, dtype=np.int64)


def arrays_of(scores):
    """(unary, tables, edge_table): the distinct tables, and which of them each edge uses.

    Read-only arrays are copied, since loops are compiled once per kind of array.
    """
    unary, pairwise = writable(scores.unary), scores.pairwise
    if is_shared(pairwise):
        tables = np.array(pairwise[:1], dtype=np.float64, order="C")
        edge_table = np.zeros(len(pairwise), np.int64)
    else:
        tables, edge_table = writable(pairwise), np.arange(len(pairwise))
    largest = max(tree.largest_score(part.ravel()) for part in (unary, tables))
    check_sums(largest, scores.n_nodes + scores.n_edges)
    return unary, tables, edge_table


def check_range(scores):
    """Raise a ValueError where a sum of scores could leave the range of float64."""
    parts = scores.unary, scores.pairwise[: 1 if is_shared(scores.pairwise) else None]
    largest = max(np.abs(part).max(where=np.isfinite(part), initial=0.0) for part in parts)
    check_sums(largest, scores.n_nodes + scores.n_edges)


def check_sums(largest, n_parts):
    """Raise a ValueError where a sum of ``n_parts`` scores could leave the range of float64."""
    if largest > LARGEST_SUM / max(n_parts, 1):
        raise ValueError(
            f"sums of {n_parts} scores as large as {largest:.3g} may leave the range of float64, "
            f"keep them below {LARGEST_SUM:.3g}: scale all scores, or use -inf for what is "
            f"forbidden"
        )


def oriented(edges, n_nodes):
    """Edges as (child, parent), leaves first, their places before, and which of them were turned.

    Those on or between cycles are missing; loops and double edges are cycles.
    """
    return tree.orient_forest(np.array(edges, dtype=np.int64, order="C"), n_nodes)


def is_forest(edges, n_nodes):
    return len(oriented(edges, n_nodes)[0]) == len(edges)


def allowed(values, labels):
    """The part of a descending list that holds labelings that are not forbidden."""
    m = int(np.count_nonzero(values > -np.inf))
    return values[:m], labels[:m]


def count_labelings(scores):
    """``n_states ** n_nodes``, or some number above 2^63 when there are more than that."""
    n_nodes, n_states = scores.unary.shape
    return n_states ** min(n_nodes, 64)  # the power of a million nodes takes long to write down


def check_edges(edges, n_nodes, what="variables", name="edges"):
    """Edges as int64 of shape (n_edges, 2), refused when they make no sense."""
    edges = integers([] if edges is None else edges, name, 2)
    check_ends(edges, n_nodes, what, name)
    return edges


def check_ends(edges, n_nodes, what, name="edges"):
    """Refuse an array of edges as `check_edges` does."""
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be integers of shape (n_edges, 2), got {edges.shape} of {edges.dtype}"
        )
    if edges.size and (edges.min() < 0 or edges.max() >= n_nodes):
        raise ValueError(
            f"{name} must name {what} 0 to {n_nodes - 1}, got {edges.min()} to {edges.max()}"
        )
    loops = edges[edges[:, 0] == edges[:, 1]]
    if len(loops):
        node = loops[0, 0]
        raise ValueError(f"{name} must join two different {what}, got ({node}, {node})")


class FlatParts:
    """Where each part of a graph lies, for nodes with any numbers of states.

    Parameters
    ----------
    n_states : ndarray of shape (n_nodes,), int64
        States of each node.
    edges : ndarray of shape (n_edges, 2), int64
        Nodes joined by each edge; its table has one row for each state of the first.
    """

    def __init__(self, n_states, edges):
        self.n_states, self.edges = n_states, edges
        sizes = n_states[edges].prod(axis=1)
        self.node_start = starts_of(n_states)
        self.edge_start = self.node_start[-1] + starts_of(sizes)
        self.size = int(self.edge_start[-1])

    @property
    def n_padded(self):
        """Numbers in the tables of all edges as oracles take them."""
        return len(self.edges) * float(self.n_states.max()) ** 2

    def places(self, X):
        """Places of the parts that labelings switch on: (n_samples, n_nodes + n_edges), int64."""
        i, j = self.edges.T
        nodes = self.node_start[:-1] + X
        return np.hstack([nodes, self.edge_start[:-1] + X[:, i] * self.n_states[j] + X[:, j]])

    def scores(self, flat):
        """The numbers as an oracle wants them: views where all nodes have as many states."""
        n, m, k = len(self.n_states), len(self.edges), int(self.n_states.max())
        cut = self.node_start[-1]
        if cut == n * k:
            nodes, tables = flat[:cut].reshape(n, k), flat[cut:].reshape(m, k, k)
            return PairwiseScores._view(nodes, tables, self.edges)
        if self.n_padded > MOST_PADDED:
            raise ValueError(
                f"oracles take tables of one shape: {m} edges with up to {k} states for each end "
                f"would be {self.n_padded:.2g} numbers, at most {MOST_PADDED:.2g} can be; "
                f"map(), MiniBucketMarginals, MeanFieldMarginals and TRBPMarginals do without"
            )
        # Forbidding the missing states of the nodes is enough; finite tables stay finite.
        unary, pairwise = np.full((n, k), -np.inf), np.zeros((m, k, k))
        nodes, pairs = self._exist(k)
        unary[nodes], pairwise[pairs] = flat[:cut], flat[cut:]
        return PairwiseScores._view(unary, pairwise, self.edges)

    def flatten(self, node, edge):
        """The inverse of `scores`."""
        nodes, pairs = self._exist(node.shape[1])
        return np.concatenate([node[nodes], edge[pairs]])

    def _exist(self, k):
        """Which entries of padded arrays are states and pairs of states."""
        nodes = np.arange(k) < self.n_states[:, None]
        i, j = self.edges.T
        return nodes, nodes[i][:, :, None] & nodes[j][:, None, :]
