"""Polytopes of marginals of a graph: where an oracle, which maximizes, becomes a domain.

This is the one place where the sign turns: scores are the negative gradient.
"""

import numpy as np

from ..._core import check
from ..._core.oracle import can_be_asked, checked
from ..._core.scores import FlatParts, check_edges, is_forest
from ...inference import BestOf, Elimination, LPRelaxation, TreeMaxProduct, resolve_oracle
from ._base import Domain, SparseAtom

ROUNDING = 1e-12  # of a sum of scores, relative
MOST = 2.0**28  # numbers of a point


class LabelingAtom(SparseAtom):
    """A vertex of a polytope of marginals, with the labeling that it is or that is nearest to it.

    ``values`` are 1 for labelings and shares for vertices of the local polytope.
    """

    def __init__(self, size, places, values, labels):
        super().__init__(size, places, values)
        self.labels = labels


class _Marginals(Domain):
    def __init__(self, n_states, edges):
        given = check.array(n_states, "n_states")
        if given.ndim != 1 or not given.size or np.any(given < 1) or np.any(given != given // 1):
            raise ValueError(
                f"n_states must hold a positive integer for each node, got {n_states!r:.80}"
            )
        self.edges = check_edges(edges, len(given), "nodes")
        if given.sum() > MOST or given[self.edges].prod(axis=1).sum() > MOST:
            raise ValueError(f"n_states and edges make points of more than {MOST:g} numbers")
        self.n_states = given.astype(np.int64)
        self.parts = FlatParts(self.n_states, self.edges)
        self.size = self.parts.size

    @property
    def diameter(self):
        choices = self.n_states > 1
        return float(np.sqrt(2.0 * (choices.sum() + choices[self.edges].any(axis=1).sum())))

    def _scores(self, gradient):
        return self.parts.scores(0.0 - check.shaped(gradient, "gradient", self.size))


class MarginalPolytope(_Marginals):
    """Marginal polytope of a graph, by a MAP oracle.

    Points hold the probabilities of the states of all nodes and then, table by table, those of the
    pairs of states of all edges; a vertex is a labeling and has ones at its states and pairs.
    Chains, trees, grids and any other graph are such sets: the oracle makes the difference. An atom
    has the attribute ``labels``. Its ``bound`` is that of the oracle: where this is not exact,
    certificates use the bound, and there is none without. An oracle that a time limit interrupts
    with nothing in hand gives its place to local search for that call.

    Parameters
    ----------
    n_states : array-like of shape (n_nodes,), integer
        States of each node.
    edges : array-like of shape (n_edges, 2), integer, or None
        Nodes joined by each edge, whose table has a row for each state of the first. None for none.
    oracle : str, object or callable, default="auto"
        MAP solver, see `sklearn_fw.inference`. "auto" is message passing on graphs
        without cycles and elimination on others.

    Attributes
    ----------
    parts : object
        Where the numbers of each part lie in a point.
    diameter : float
        Root of twice the number of nodes and edges that have a choice.

    See Also
    --------
    LocalPolytope : The larger set of locally consistent marginals, by linear programs.
    sklearn_fw.random_fields.TRWMarginals : Maximizes an entropy over this set.

    Examples
    --------
    A chain of three nodes of two states that prefers equal neighbors:

    >>> import numpy as np
    >>> from sklearn_fw.optim import domains
    >>> chain = domains.MarginalPolytope([2, 2, 2], [(0, 1), (1, 2)])
    >>> gradient = np.concatenate([[0.0, -1.0, 0.0, 0.0, -0.5, 0.0], *2 * [-np.eye(2).ravel()]])
    >>> atom = chain.lmo(gradient)
    >>> atom.labels, atom.value
    (array([1, 1, 1], dtype=int32), -3.0)
    """

    def __init__(self, n_states, edges, oracle="auto"):
        super().__init__(n_states, edges)
        if check.is_auto(oracle):
            forest = is_forest(self.edges, len(self.n_states))
            oracle = TreeMaxProduct() if forest else Elimination()
        # An object that is in use stays the same one: it may keep plans for graphs it has seen.
        self.oracle = checked(oracle if can_be_asked(oracle) else resolve_oracle(oracle))

    def lmo(self, gradient, start=None):
        """Return the labeling of the oracle, with ``labels``, ``value`` and ``bound``.

        Parameters
        ----------
        gradient : array-like of shape (size,)
            Direction.
        start : array-like of shape (n_nodes,), integer, default=None
            A first guess, for oracles that take one.
        """
        scores = self._scores(gradient)
        try:
            labels, _, upper = self.oracle.argmax(scores, start)
        except TimeoutError:
            # An exact oracle has nothing before its end; one round of these takes little time.
            labels, _, upper = BestOf().argmax(scores, start)
        atom = self._atom(labels)
        terms = np.asarray(gradient)[atom.places]
        atom.value, atom.bound = float(terms.sum()), -float(upper)
        # Exact oracles may sum up in another order; their other bounds on the value are not used.
        if atom.bound >= atom.value - ROUNDING * np.abs(terms).sum():
            atom.bound = atom.value
        return atom

    def _atom(self, labels):
        labels = np.asarray(labels)
        return LabelingAtom(self.size, self.parts.places(labels[None])[0], 1.0, labels)


class LocalPolytope(_Marginals):
    """Local polytope: locally consistent marginals, outside of `MarginalPolytope` too.

    Points are those of `MarginalPolytope` and fractional ones besides, where each table of an edge
    agrees with the states of its two nodes, but no distribution over labelings need have them. The
    oracle is the linear program of `sklearn_fw.inference.LPRelaxation`.

    Parameters
    ----------
    n_states : array-like of shape (n_nodes,), integer
        States of each node.
    edges : array-like of shape (n_edges, 2), integer, or None
        Nodes joined by each edge, whose table has a row for each state of the first. None for none.

    Attributes
    ----------
    parts : object
        Where the numbers of each part lie in a point.

    Examples
    --------
    Three nodes that all want to differ from each other get halves:

    >>> import numpy as np
    >>> from sklearn_fw.optim import domains
    >>> triangle = domains.LocalPolytope([2, 2, 2], [(0, 1), (1, 2), (0, 2)])
    >>> atom = triangle.lmo(np.concatenate([np.zeros(6), np.tile(np.eye(2).ravel(), 3)]))
    >>> atom.to_array()[:6]
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """

    def __init__(self, n_states, edges):
        super().__init__(n_states, edges)
        self._program = LPRelaxation()

    def lmo(self, gradient, start=None):
        """Return the vertex of the linear program, an atom with ``labels`` and ``bound``.

        Parameters
        ----------
        gradient : array-like of shape (size,)
            Direction.
        start : object, default=None
            Ignored.
        """
        node, edge, _, upper = self._program.vertex(self._scores(gradient), start)
        flat = self.parts.flatten(node, edge)
        places = np.flatnonzero(flat)
        atom = LabelingAtom(self.size, places, flat[places], node.argmax(axis=1))
        atom.value = atom.dot(np.asarray(gradient, dtype=np.float64))
        atom.bound = min(-float(upper), atom.value)
        return atom
