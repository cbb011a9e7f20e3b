"""Matchings of two groups and of one."""

import math

import numpy as np

from ..._validation import check_flag, check_integer, check_not_negative
from ...inference._oracles._assignment import best_pairs
from ...projections._vectors import BEYOND
from ._atoms import SparseAtom
from ._base import Described


class BipartiteMatchings(Described):
    """Assignments of rows to columns, and what lies between them: doubly stochastic matrices.

    Points are the rows of a matrix one after the other, ``x.reshape(shape)``; a vertex has a one
    for each pair that is matched and zeros elsewhere.

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

    See Also
    --------
    PerfectMatchings : Pairs within one group.

    Notes
    -----
    The oracle is that of `sklearn_fw.inference.Assignment`, O(n^3), where SciPy decides among
    equals. With ``perfect=False`` no pair is matched that does not lower the value. An atom is the
    list of its pairs, and has a ``bound`` where rounding leaves open which matching is the best.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> both = domains.BipartiteMatchings((2, 3))
    >>> both.lmo([5.0, 1.0, 2.0, 4.0, 0.0, 9.0]).to_array().reshape(2, 3)
    array([[0., 0., 1.],
           [0., 1., 0.]])
    """

    def __init__(self, shape, perfect=True):
        try:
            n_rows, n_columns = shape
        except (TypeError, ValueError):
            raise ValueError(f"shape must be (n_rows, n_columns), got {shape}") from None
        self.shape = check_integer(n_rows, "shape", 1), check_integer(n_columns, "shape", 1)
        self.perfect = check_flag(perfect, "perfect")
        self.size = self.shape[0] * self.shape[1]

    @property
    def diameter(self):
        if self.size == 1:
            return 0.0 if self.perfect else 1.0
        return math.sqrt(2.0 * min(self.shape))

    @np.errstate(**BEYOND)
    def lmo(self, gradient):
        scores = -self._vector(gradient, "gradient").reshape(self.shape)
        (rows, columns), error = best_pairs(scores, self.perfect)
        atom = SparseAtom(self.size, rows * self.shape[1] + columns)
        if error:
            atom.value = -float(scores[rows, columns].sum())
            atom.bound = atom.value - error
        return atom

    def contains(self, x, tol=1e-9):
        x, tol = self._vector(x, "x").reshape(self.shape), check_not_negative(tol, "tol")
        sums = [x.sum(axis=1), x.sum(axis=0)]
        within = x.min() >= -tol and all(side.max() <= 1.0 + tol for side in sums)
        if self.perfect:
            full = [side for side in sums if side.size == min(self.shape)]
            within = within and all(side.min() >= 1.0 - tol for side in full)
        return bool(within)


class PerfectMatchings(Described):
    """Ways to split a group into pairs, and what lies between them.

    Points have one entry for each pair (i, j) with i < j, in the order (0, 1), (0, 2), ...,
    (n - 2, n - 1); a vertex has ones for the pairs that are made.

    Parameters
    ----------
    n_nodes : int
        Size of the group, even.

    Attributes
    ----------
    pairs : ndarray of shape (size, 2)
        The two members of each pair.
    diameter : float
        ``sqrt(n_nodes)``, or zero for two nodes.

    See Also
    --------
    BipartiteMatchings : Pairs between two groups.

    Notes
    -----
    The oracle is `networkx.max_weight_matching`, O(n_nodes^3) in Python, which also decides among
    equals. It adds floating-point numbers, so a matching may fall short of the best by rounding.
    `contains` takes n_nodes - 1 maximum flows in Python for a point with fractions.

    References
    ----------
    .. [1] J. Edmonds, "Maximum matching and a polyhedron with 0,1-vertices", Journal of Research of
       the National Bureau of Standards 69B, 125-130, 1965: the inequalities of the set.
    .. [2] M. W. Padberg, M. R. Rao, "Odd minimum cut-sets and b-matchings", Mathematics of
       Operations Research 7, 67-80, 1982: how `contains` checks them.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> group = domains.PerfectMatchings(4)
    >>> group.pairs[group.lmo([5.0, 1.0, 4.0, 2.0, 1.0, 3.0]).places]
    array([[0, 2],
           [1, 3]])
    """

    def __init__(self, n_nodes):
        self.n_nodes = check_integer(n_nodes, "n_nodes", 2)
        if self.n_nodes % 2:
            raise ValueError(f"n_nodes must be even, got {n_nodes}: one node would have no partner")
        self.pairs = np.column_stack(np.triu_indices(self.n_nodes, 1))
        self.size = len(self.pairs)

    @property
    def diameter(self):
        return math.sqrt(self.n_nodes) if self.n_nodes > 2 else 0.0

    def lmo(self, gradient):
        import networkx as nx

        graph = self._graph(-self._vector(gradient, "gradient"))
        matching = np.sort(list(nx.max_weight_matching(graph, maxcardinality=True)), axis=1)
        i, j = matching[:, 0], matching[:, 1]
        return SparseAtom(self.size, i * self.n_nodes - i * (i + 1) // 2 + j - i - 1)

    def _graph(self, weights):
        import networkx as nx

        graph = nx.Graph()
        ends = self.pairs.tolist()
        graph.add_weighted_edges_from((i, j, w) for (i, j), w in zip(ends, weights.tolist()))
        return graph

    def contains(self, x, tol=1e-9):
        import networkx as nx

        x, tol = self._vector(x, "x"), check_not_negative(tol, "tol")
        sums = np.bincount(self.pairs.ravel(), weights=np.repeat(x, 2))
        if x.min() < -tol or np.abs(sums - 1.0).max() > tol:
            return False
        if np.all((x == 0.0) | (x == 1.0)):
            return True
        tree = nx.gomory_hu_tree(self._graph(np.maximum(x, 0.0)), capacity="weight")
        # The smallest odd cut is among the cuts of this tree.
        for i, j, cut in list(tree.edges(data="weight")):
            if cut < 1.0 - tol:
                tree.remove_edge(i, j)
                if len(nx.node_connected_component(tree, i)) % 2:
                    return False
                tree.add_edge(i, j)
        return True
