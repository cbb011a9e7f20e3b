"""Matchings of two groups and of one, and spanning trees."""

import functools
import math

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.csgraph import connected_components

from ..._core import check
from ..._core.scores import check_edges
from ..._kernels import lazy
from ...inference import best_pairs
from ._base import Described, SparseAtom, check_shape


class BipartiteMatchings(Described):
    """Birkhoff polytope: convex hull of the assignments of rows to columns.

    Points are the rows of a matrix one after the other, ``x.reshape(shape)``; a vertex has a one
    for each pair that is matched and zeros elsewhere. The oracle is that of
    `sklearn_fw.inference.Assignment`, O(n^3), where SciPy decides among equals. With
    ``perfect=False`` no pair is matched that does not lower the value. An atom is the list of its
    pairs, and has a ``bound`` where rounding leaves open which matching is the best.

    Parameters
    ----------
    shape : (int, int)
        Numbers of rows and columns.
    perfect : bool, default=True
        Whether all of the smaller side are matched, which gives the Birkhoff polytope when both
        sides are equally large. False allows any matching, none included.

    Attributes
    ----------
    diameter : float
        ``sqrt(2 min(shape))``, less for one row and one column.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> both = domains.BipartiteMatchings((2, 3))
    >>> both.lmo([5.0, 1.0, 2.0, 4.0, 0.0, 9.0]).to_array().reshape(2, 3)
    array([[0., 0., 1.],
           [0., 1., 0.]])
    """

    def __init__(self, shape, perfect=True):
        self.shape = check_shape(shape)
        self.perfect = check.flag(perfect, "perfect")
        self.size = self.shape[0] * self.shape[1]

    @property
    def diameter(self):
        if self.size == 1:
            return 0.0 if self.perfect else 1.0
        return math.sqrt(2.0 * min(self.shape))

    @np.errstate(**check.BEYOND)
    def lmo(self, gradient):
        scores = -self._vector(gradient, "gradient").reshape(self.shape)
        (rows, columns), error = best_pairs(scores, self.perfect)
        atom = SparseAtom(self.size, rows * self.shape[1] + columns)
        if error:
            atom.value = -float(scores[rows, columns].sum())
            atom.bound = atom.value - error
        return atom

    def _contains(self, x, tol):
        x = x.reshape(self.shape)
        sums = [x.sum(axis=1), x.sum(axis=0)]
        within = x.min() >= -tol and all(side.max() <= 1.0 + tol for side in sums)
        if self.perfect:
            full = [side for side in sums if side.size == min(self.shape)]
            within = within and all(side.min() >= 1.0 - tol for side in full)
        return within


class Matchings(Described):
    """Matching polytope of a graph: convex hull of its matchings.

    Points have one entry for each edge; a vertex has ones for the pairs that are made.

    Parameters
    ----------
    graph : networkx.Graph or int
        The graph; an integer is a number of nodes that are all joined, with edges in the order
        (0, 1), (0, 2), ..., (n - 2, n - 1).
    perfect : bool, default=False
        Whether no node is left alone; the graph must have such a matching.

    Attributes
    ----------
    pairs : list or ndarray of shape (size, 2)
        The two members of each pair, in the order of the entries.
    diameter : float
        A bound, reached where all nodes are joined: the root of twice the number of pairs in a
        largest matching, or of the number of edges.

    Notes
    -----
    The oracle is `networkx.max_weight_matching`, O(n_nodes^3) in Python, which also decides among
    equals. No pair is matched that does not lower the value. It adds floating-point numbers, so a
    matching may fall short of the best by rounding. `contains` takes n_nodes maximum flows in
    Python for a point with fractions.

    References
    ----------
    .. [1] J. Edmonds, "Maximum matching and a polyhedron with 0,1-vertices", Journal of Research of
       the National Bureau of Standards 69B, 125-130, 1965: the inequalities of the set.
    .. [2] M. W. Padberg, M. R. Rao, "Odd minimum cut-sets and b-matchings", Mathematics of
       Operations Research 7, 67-80, 1982: how `contains` checks them.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklearn_fw.optim import domains
    >>> domains.Matchings(nx.path_graph(4)).lmo([-2.0, -3.0, -2.0]).to_array()
    array([1., 0., 1.])
    >>> group = domains.Matchings(4, perfect=True)
    >>> group.pairs[group.lmo([5.0, 1.0, 4.0, 2.0, 1.0, 3.0]).places]
    array([[0, 2],
           [1, 3]])
    """

    def __init__(self, graph, perfect=False):
        self.perfect = check.flag(perfect, "perfect")
        if hasattr(graph, "edges"):
            _check_graph(graph)
            place = {node: k for k, node in enumerate(graph.nodes)}
            self.n_nodes, self.pairs = len(place), list(graph.edges)
            self._ends = np.array([(place[a], place[b]) for a, b in self.pairs], np.int64)
        else:
            self.n_nodes = check.integer(graph, "graph", 2)
            self.pairs = self._ends = np.column_stack(np.triu_indices(self.n_nodes, 1))
        self._entry = {pair: k for k, pair in enumerate(map(tuple, np.sort(self._ends).tolist()))}
        self.size = len(self.pairs)
        self._n_most = self.n_nodes // 2
        if hasattr(graph, "edges"):
            self._n_most = len(self._best(np.ones(self.size), True))
        if self.perfect and 2 * self._n_most < self.n_nodes:
            raise ValueError(
                f"graph has no perfect matching: at most {self._n_most} pairs of its "
                f"{self.n_nodes} nodes; perfect=False allows nodes without a partner"
            )

    @property
    def diameter(self):
        if self.perfect and self.size == 1:
            return 0.0
        return math.sqrt(min(2 * self._n_most, self.size))

    def lmo(self, gradient):
        gradient = self._vector(gradient, "gradient")
        return SparseAtom(self.size, self._best(-gradient, self.perfect))

    def _best(self, weights, largest):
        """Entries of the heaviest matching, or of the heaviest of those with the most pairs."""
        import networkx as nx

        used = np.arange(self.size) if largest else np.flatnonzero(weights > 0.0)
        graph = nx.Graph()
        ends = self._ends[used].tolist()
        graph.add_weighted_edges_from((i, j, w) for (i, j), w in zip(ends, weights[used].tolist()))
        found = nx.max_weight_matching(graph, maxcardinality=largest)
        return np.array([self._entry[min(a, b), max(a, b)] for a, b in found], np.int64)

    def _contains(self, x, tol):
        from .._frank_wolfe._corrective import is_in_hull

        return is_in_hull(self, x, tol)


def _check_graph(graph):
    is_other = isinstance(graph, type) or not hasattr(graph, "is_directed")
    if is_other or graph.is_directed() or graph.is_multigraph():
        raise ValueError(
            f"graph must be a networkx.Graph without direction and parallel edges, or an integer; "
            f"got {type(graph).__name__}"
        )
    for a, b in graph.edges:
        if a == b:
            raise ValueError(f"graph must not join nodes to themselves, got ({a!r}, {b!r})")
    if not graph.edges:
        raise ValueError("graph has no edges")


max_flow = lazy("graphs.max_flow")
spanning_trees = lazy("graphs.spanning_trees")

EXACT_CHECK_MAX_NODES = 500  # one minimum cut for each node


class SpanningTrees(Described):
    """Spanning tree polytope of a graph: edge probabilities of random trees.

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
        self.n_nodes = check.integer(n_nodes, "n_nodes", 1)
        self.edges = np.ascontiguousarray(check_edges(edges, self.n_nodes, "nodes"))
        self.size = len(self.edges)

    @functools.cached_property
    def n_tree_edges(self):
        return int(self.n_nodes - components(self.edges, self.n_nodes).max() - 1)

    def lmo(self, gradient):
        order = np.argsort(self._vector(gradient, "gradient"), kind="stable")
        counts = spanning_trees.count_greedy_forests(self.edges, order[None], self.n_nodes)
        return SparseAtom(self.size, np.flatnonzero(counts))

    def _contains(self, x, tol):
        if np.any(x < -tol) or abs(x.sum() - self.n_tree_edges) > tol:
            return False
        return self._overfull(np.maximum(x, 0.0), tol) is None

    def _overfull(self, x, tol):
        """A mask of nodes with too many expected edges inside, by more than ``tol``; else None."""
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
    return csc_array((np.ones(len(edges)), edges.T), shape=(n_nodes, n_nodes))


def components(edges, n_nodes):
    return connected_components(adjacency(edges, n_nodes), directed=False)[1]
