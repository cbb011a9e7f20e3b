"""Markov random fields: variables with states, and log-potentials on them and on pairs of them."""

from itertools import pairwise as neighbours

import numpy as np

from .._core.layout import FlatParts, check_edges
from .._core.scores import floats
from .._core.validation import check_array_of_numbers, check_list, check_number
from ._factor_graph import FactorGraph
from ._forms import OtherForms

# Nats below the best entry of its table, for what -inf forbids, where a method needs numbers.
SOFT = 30.0


class PairwiseMRF(OtherForms, FactorGraph):
    """Markov random field with log-potentials on variables and on edges: what estimators infer.

    With states ``x_i`` in ``0, ..., n_states[i] - 1`` and edges ``(i, j)``::

        log p(x) = constant + sum_i unary_i[x_i] + sum_ij pairwise_ij[x_i, x_j] - log Z

    Parameters
    ----------
    unary : array-like of shape (n_variables, n_states) or list of arrays of shape (n_states_i,)
        Log-potentials of the states of each variable. ``-inf`` forbids a state.
    edges : array-like of shape (n_edges, 2), default=None
        Variables joined by each edge, in any order and direction. Several edges between the same
        two variables are added up. None for independent variables.
    pairwise : array-like of shape (n_edges, k, k) or (k, k), or list of arrays, default=None
        Log-potentials of pairs of states, rows for ``edges[e, 0]``: one table for each edge, or
        one for all. ``-inf`` forbids a pair.
    constant : float, default=0.0
        Added to the score of every labelling and to log Z.
    names : list of str, default=None
        Names of the variables.
    state_names : list of lists of str, default=None
        Names of the states of each variable.

    Attributes
    ----------
    n_variables, n_edges : int
        Sizes.
    n_states : ndarray of shape (n_variables,), int64
        Number of states of each variable.
    edges : ndarray of shape (n_edges, 2), int64
        Edges with ``edges[e, 0] < edges[e, 1]``, each once, in the order of first appearance.
    theta : ndarray of shape (size,), float64
        All log-potentials: one block for each variable, then one for each edge, row by row.
    node_start, edge_start : ndarray of shape (n_variables + 1,) and (n_edges + 1,), int64
        Where the blocks begin.
    constant : float
        As given.
    names, state_names : list or None
        As given.
    scopes : list of n_edges tuples of int
        ``edges``, in the words of `FactorGraph`.
    variables : ndarray of shape (n_variables,), int64
        Number that each variable had before `condition`; without it 0, 1, ...
    evidence : dict of int to int
        States of the variables that are not here any more, by such numbers.

    See Also
    --------
    FactorGraph : Fields with tables on three and more variables.
    sklearn_fw.inference.PairwiseScores : The same numbers as an oracle wants them.
    sklearn_fw.random_fields.TRWMarginals : Marginals and a bound on log Z.

    Examples
    --------
    >>> from sklearn_fw.random_fields import PairwiseMRF
    >>> mrf = PairwiseMRF([[0.0, 1.0], [0.0, 0.5, 0.2]], [(1, 0)], [[[1.0, 0], [0, 0], [0, 2]]])
    >>> mrf
    PairwiseMRF(n_variables=2, n_edges=1, n_states=2..3)
    >>> mrf.edges
    array([[0, 1]])
    >>> mrf.score([[1, 2], [0, 0]])
    array([3.2, 1. ])
    """

    def __init__(
        self, unary, edges=None, pairwise=None, *, constant=0.0, names=None, state_names=None
    ):
        unary = check_list(unary, "unary", "log-potentials, one row for each variable")
        blocks = [_potentials(block, f"unary[{i}]", 1) for i, block in enumerate(unary)]
        if not blocks:
            raise ValueError("unary is empty: a random field has at least one variable")
        for i, block in enumerate(blocks):
            if not np.any(block > -np.inf):
                raise ValueError(f"unary[{i}] allows no state: give it at least one finite entry")
        n_states = np.array([len(block) for block in blocks])
        edges = check_edges(edges, len(blocks))
        tables = _tables(pairwise, edges, n_states)
        edges, tables = _canonical(edges, tables)
        self.n_states, self.edges = n_states, edges
        self.constant = check_number(constant, "constant")
        self._set_names(names, state_names)
        self.variables, self.evidence = np.arange(len(blocks)), {}
        self._flat_parts = FlatParts(n_states, edges)
        self.node_start, self.edge_start = self._flat_parts.node_start, self._flat_parts.edge_start
        self.theta = np.concatenate([*blocks, *(table.ravel() for table in tables)])

    # ---- shape ---------------------------------------------------------------------------------

    @classmethod
    def _of(cls, unary, factors, **options):
        if any(len(scope) != 2 for scope, _ in factors):
            graph = FactorGraph._of(unary, factors, **options)
            most = max(map(len, graph.scopes), default=0)
            if most > 2:
                raise ValueError(
                    f"a factor is on {most} variables, and PairwiseMRF takes pairs: use FactorGraph"
                )
            unary, factors = graph.unary, list(zip(graph.scopes, graph.tables))
            options["constant"] = graph.constant
        edges, tables = [scope for scope, _ in factors], [table for _, table in factors]
        return cls(unary, edges, tables or None, **options)

    @property
    def n_edges(self):
        """Number of edges."""
        return len(self.edges)

    @property
    def pairwise(self):
        """Log-potentials of the edges: a list of views of ``theta``."""
        return self.edge_blocks(self.theta)

    def edge_blocks(self, flat):
        """Parts of a vector like ``theta`` that belong to the edges.

        Parameters
        ----------
        flat : ndarray of shape (size,)
            Potentials, marginals or any other numbers in the order of ``theta``.

        Returns
        -------
        blocks : list of n_edges views of shape (n_states_i, n_states_j)
            One for each edge.
        """
        flat = self._flat(flat, "flat")
        starts = neighbours(self.edge_start)
        shapes = self.n_states[self.edges]
        return [flat[a:b].reshape(shape) for (a, b), shape in zip(starts, shapes)]

    @property
    def scopes(self):
        """Variables of each edge, as tuples."""
        return list(map(tuple, self.edges.tolist()))

    @property
    def factor_start(self):
        """Where the blocks of the edges begin."""
        return self.edge_start

    def factor_blocks(self, flat):
        return self.edge_blocks(flat)

    def __repr__(self):
        low, high = self.n_states.min(), self.n_states.max()
        states = str(low) if low == high else f"{low}..{high}"
        return (
            f"PairwiseMRF(n_variables={self.n_variables}, n_edges={self.n_edges}, "
            f"n_states={states})"
        )

    # ---- labellings ----------------------------------------------------------------------------

    def _places(self, X):
        """`parts` of labellings that were checked, int64."""
        return self._flat_parts.places(X)

    # ---- other fields ---------------------------------------------------------------------------

    def scores(self, theta=None):
        """The potentials as an oracle wants them; variables with fewer states are padded.

        Parameters
        ----------
        theta : ndarray of shape (size,), default=None
            Other numbers to maximise, in the order of ``theta``. None for ``theta`` itself.

        Returns
        -------
        scores : PairwiseScores
            Views where all variables have the same number of states, else copies.
        """
        if theta is not None:
            theta = self._flat(floats(theta, "theta"), "theta")
        return self._scores_of(self.theta if theta is None else theta)

    def _scores_of(self, theta):
        """`scores` of numbers that were checked."""
        return self._flat_parts.scores(theta)

    def flatten(self, node, edge):
        """The inverse of `scores`: padded arrays as one vector in the order of ``theta``.

        Parameters
        ----------
        node : ndarray of shape (n_variables, k)
            Numbers of the variables, padded to the largest number of states.
        edge : ndarray of shape (n_edges, k, k)
            Numbers of the edges.

        Returns
        -------
        flat : ndarray of shape (size,)
            The numbers that are not padding.
        """
        node = check_array_of_numbers(node, "node", finite=None)
        edge = check_array_of_numbers(edge, "edge", finite=None)
        k = node.shape[1] if node.ndim == 2 else 0
        if node.shape != (self.n_variables, k) or k < self.n_states.max():
            raise ValueError(
                f"node must have shape ({self.n_variables}, {self.n_states.max()}), got "
                f"{node.shape}"
            )
        if edge.shape != (self.n_edges, k, k):
            raise ValueError(
                f"edge must have shape ({self.n_edges}, {k}, {k}), as node has {k} columns; got "
                f"{edge.shape}"
            )
        return self._flat_parts.flatten(node, edge)


PairwiseMRF._base = PairwiseMRF


def _potentials(block, name, n_dims):
    block = np.array(floats(block, name))
    if block.ndim != n_dims or block.size == 0:
        raise ValueError(f"{name} must have {n_dims} axes and no empty one, got {block.shape}")
    return block


def _tables(pairwise, edges, n_states):
    if pairwise is None:
        if len(edges):
            raise ValueError("pairwise is None, but there are edges: give each a table")
        return []
    pairwise = check_list(pairwise, "pairwise", "tables, one for each edge")
    if len(pairwise) and all(np.ndim(row) == 1 for row in pairwise):
        pairwise = [pairwise] * len(edges)
    if len(pairwise) != len(edges):
        raise ValueError(f"pairwise holds {len(pairwise)} tables for {len(edges)} edges")
    tables = []
    for e, (table, (i, j)) in enumerate(zip(pairwise, edges)):
        table = _potentials(table, f"pairwise[{e}]", 2)
        if table.shape != (n_states[i], n_states[j]):
            raise ValueError(
                f"pairwise[{e}] must have shape {(int(n_states[i]), int(n_states[j]))}, the "
                f"numbers of states of variables {i} and {j}; got {table.shape}"
            )
        tables.append(table)
    return tables


def _canonical(edges, tables):
    """Edges from the lower to the higher variable, parallel ones added up."""
    merged = {}
    for (i, j), table in zip(edges.tolist(), tables):
        key, table = ((i, j), table) if i < j else ((j, i), table.T)
        merged[key] = merged[key] + table if key in merged else table
    return np.array(list(merged), dtype=np.int64).reshape(-1, 2), list(merged.values())
