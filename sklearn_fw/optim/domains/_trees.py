"""Spanning trees of a graph."""

import functools

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.csgraph import connected_components

from ..._core.layout import check_edges
from ..._core.validation import check_integer, check_not_negative
from ..._kernels import lazy
from ._atoms import SparseAtom
from ._base import Described

max_flow = lazy("graphs.max_flow")
spanning_trees = lazy("graphs.spanning_trees")

EXACT_CHECK_MAX_NODES = 500  # one minimum cut for each node


class SpanningTrees(Described):
    """Spanning trees of a graph, and what lies between them: edge probabilities of random trees.

    Points have one entry for each edge; a vertex has ones for the edges of a tree. A graph that is
    not connected has spanning forests, one tree in each component. The set is::

        { x >= 0 : sum_e x_e = n_nodes - n_components,
                   sum_{e inside S} x_e <= |S| - 1 for every set S of nodes }

    Parameters
    ----------
    edges : array-like of shape (n_edges, 2), integer
        Nodes joined by each edge, numbers from 0 to ``n_nodes - 1``.
    n_nodes : int
        Number of nodes, at least 1.

    Attributes
    ----------
    n_tree_edges : int
        Edges of each tree or forest.

    See Also
    --------
    sklearn_fw.random_fields.spanning_tree_probabilities : A point inside.

    Notes
    -----
    The oracle is Kruskal's algorithm, n_edges log n_edges for sorting; of equal edges it prefers
    the first. `contains` is exact for at most 500 nodes: one minimum cut for each node finds the
    worst set that holds it. With more, only the sets are tested that grow together when edges are
    added by falling probability, and passing is then necessary, but not sufficient.

    References
    ----------
    .. [1] J. Edmonds, "Matroids and the greedy algorithm", Mathematical Programming 1, 1971.
    .. [2] M. W. Padberg, L. A. Wolsey, "Trees and cuts", Annals of Discrete Mathematics 17, 1983.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> triangle = domains.SpanningTrees([(0, 1), (1, 2), (0, 2)], 3)
    >>> triangle.lmo([0.0, 0.0, -0.5]).to_array()
    array([1., 0., 1.])
    >>> triangle.contains([0.75, 0.75, 0.5])
    True
    """

    def __init__(self, edges, n_nodes):
        self.n_nodes = check_integer(n_nodes, "n_nodes", 1)
        self.edges = np.ascontiguousarray(check_edges(edges, self.n_nodes, "nodes"))
        self.size = len(self.edges)

    @functools.cached_property
    def n_tree_edges(self):
        return int(self.n_nodes - components(self.edges, self.n_nodes).max() - 1)

    def lmo(self, gradient):
        order = np.argsort(self._vector(gradient, "gradient"), kind="stable")
        counts = spanning_trees.count_greedy_forests(self.edges, order[None], self.n_nodes)
        return SparseAtom(self.size, np.flatnonzero(counts))

    def contains(self, x, tol=1e-9):
        x, tol = self._vector(x, "x"), check_not_negative(tol, "tol")
        if np.any(x < -tol) or abs(x.sum() - self.n_tree_edges) > tol:
            return False
        return self._overfull(np.maximum(x, 0.0), tol) is None

    def _overfull(self, x, tol):
        """A mask of nodes with more expected edges inside than trees have; None if none is found.

        ``x`` is not negative, and sums may be too large by ``tol``; see the Notes of the class.
        """
        order = np.argsort(-x, kind="stable")
        n_added = spanning_trees.overfull_cluster(self.edges, order, x, self.n_nodes, tol)
        if n_added > 0:
            added = self.edges[order[:n_added]]
            component = components(added, self.n_nodes)
            return component == component[added[-1, 0]]
        return None if self.n_nodes > EXACT_CHECK_MAX_NODES else self._minimum_cut_set(x, tol)

    def _minimum_cut_set(self, x, tol):
        """`_overfull` without misses: for each root the set S with the root that has the least::

            |S| - x(inside S) = sum_{i in S} (1 - x(at i) / 2) + x(between S and the rest) / 2

        which is a cut: nodes with positive terms are joined to the sink, negative ones to the
        source, and the root inseparably to the source.
        """
        first, head, sister, arc = max_flow.sort_arcs(self.edges, self.n_nodes)
        capacity = np.empty(len(head))
        capacity[arc] = capacity[sister[arc]] = x / 2
        tail = np.repeat(np.arange(self.n_nodes), np.diff(first))
        own = 1.0 - np.bincount(tail, weights=capacity, minlength=self.n_nodes)
        for root in range(self.n_nodes):
            residual, excess = capacity.copy(), -own
            excess[root] = 2.0 * self.n_nodes
            flow = max_flow.max_flow(max_flow.Arcs(first, head, sister, residual, excess))
            smallest = flow + np.minimum(np.delete(own, root), 0.0).sum() + own[root]
            if smallest < 1.0 - tol:
                inside = excess > 0.0
                while True:
                    reached = head[inside[tail] & (residual > 0.0)]
                    if inside[reached].all():
                        return inside
                    inside[reached] = True
        return None


def adjacency(edges, n_nodes):
    """Ones at the edges, each in one direction."""
    return csc_array((np.ones(len(edges)), edges.T), shape=(n_nodes, n_nodes))


def components(edges, n_nodes):
    """The number of the component of each node."""
    return connected_components(adjacency(edges, n_nodes), directed=False)[1]
