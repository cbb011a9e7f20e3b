"""Markov random fields: variables with states, and log-potentials on them and on pairs of them."""

from itertools import pairwise as neighbours

import numpy as np

from .._validation import check_array_of_numbers, check_list, check_number
from ..inference._layout import FlatParts, check_edges
from ..inference._scores import as_array, floats
from ._conditioning import Conditioning
from ._forms import OtherForms

__all__ = ["SOFT", "PairwiseMRF"]

# Nats below the best entry of its table, for what -inf forbids, where a method needs numbers.
SOFT = 30.0


class PairwiseMRF(Conditioning, OtherForms):
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
    names : list of str or None
        As given.
    variables : ndarray of shape (n_variables,), int64
        Number that each variable had before `condition`; without it 0, 1, ...
    evidence : dict of int to int
        States of the variables that are not here any more, by such numbers.

    Raises
    ------
    ValueError
        When shapes do not fit, a potential is NaN or +inf, an edge names a missing variable or
        joins a variable to itself, or a variable has no allowed state.

    See Also
    --------
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

    def __init__(self, unary, edges=None, pairwise=None, *, constant=0.0, names=None):
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
        self.names = None if names is None else check_list(names, "names", "text")
        wrong = [name for name in self.names or () if not isinstance(name, str)]
        if wrong:
            raise TypeError(f"names must be a list of text, got {wrong[0]!r:.60} in it")
        if names is not None and len(self.names) != len(blocks):
            raise ValueError(f"names must name {len(blocks)} variables, got {len(self.names)}")
        self.variables, self.evidence = np.arange(len(blocks)), {}
        self._flat_parts = FlatParts(n_states, edges)
        self.node_start, self.edge_start = self._flat_parts.node_start, self._flat_parts.edge_start
        self.theta = np.concatenate([*blocks, *(table.ravel() for table in tables)])

    # ---- shape ---------------------------------------------------------------------------------

    @property
    def n_variables(self):
        """Number of variables."""
        return len(self.n_states)

    @property
    def n_edges(self):
        """Number of edges."""
        return len(self.edges)

    @property
    def unary(self):
        """Log-potentials of the variables: a list of views of ``theta``."""
        return self.node_blocks(self.theta)

    @property
    def pairwise(self):
        """Log-potentials of the edges: a list of views of ``theta``."""
        return self.edge_blocks(self.theta)

    def node_blocks(self, flat):
        """Parts of a vector like ``theta`` that belong to the variables.

        Parameters
        ----------
        flat : ndarray of shape (size,)
            Potentials, marginals or any other numbers in the order of ``theta``; those of edges
            may be left out.

        Returns
        -------
        blocks : list of n_variables views of shape (n_states_i,)
            One for each variable.
        """
        flat = self._flat(flat, "flat", self.node_start[-1])
        return [flat[a:b] for a, b in neighbours(self.node_start)]

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

    def _flat(self, flat, name, size=None):
        """A vector like ``theta``, of any kind of numbers; what it holds is not looked at."""
        flat = as_array(flat, name)
        fits = flat.shape in (self.theta.shape, (size,))
        if not fits or flat.dtype.kind not in "fiub":
            raise ValueError(
                f"{name} must hold {len(self.theta)} numbers in the order of theta, got dtype "
                f"{flat.dtype} and shape {flat.shape}"
            )
        return flat

    def __repr__(self):
        low, high = self.n_states.min(), self.n_states.max()
        states = str(low) if low == high else f"{low}..{high}"
        return (
            f"PairwiseMRF(n_variables={self.n_variables}, n_edges={self.n_edges}, "
            f"n_states={states})"
        )

    def _plain(self):
        """This field without the methods that a subclass overrides."""
        if type(self) is PairwiseMRF:
            return self
        plain = object.__new__(PairwiseMRF)
        vars(plain).update(vars(self))
        return plain

    # ---- labellings ----------------------------------------------------------------------------

    def parts(self, X):
        """Places in ``theta`` of the parts that labellings switch on.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_variables), integer
            Labellings.

        Returns
        -------
        places : ndarray of shape (n_samples, n_variables + n_edges), int64
            One place for each variable and each edge.
        """
        return self._places(self.check_labels(X))

    def _places(self, X):
        """`parts` of labellings that were checked, int64."""
        return self._flat_parts.places(X)

    def vertex(self, labels):
        """Indicator vector of a labelling: a vertex of the marginal polytope.

        Parameters
        ----------
        labels : array-like of shape (n_variables,), integer
            State of each variable.

        Returns
        -------
        vertex : ndarray of shape (size,)
            One at the parts of the labelling, else zero, in the order of ``theta``.
        """
        vertex = np.zeros(len(self.theta))
        vertex[self.parts(self.check_labelling(labels, "labels")[None])[0]] = 1.0
        return vertex

    def score(self, X):
        """Log-probability of labellings up to log Z.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_variables), integer
            Labellings.

        Returns
        -------
        score : ndarray of shape (n_samples,)
            ``constant + <theta, vertex(x)>``, ``-inf`` where something is forbidden.
        """
        return self.constant + self.theta[self.parts(X)].sum(axis=1)

    def check_labels(self, X):
        """Labellings as integers, refused when a state does not exist.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_variables)
            States as whole numbers.

        Returns
        -------
        X : ndarray of shape (n_samples, n_variables), int64
            The same.

        Raises
        ------
        ValueError
            When the shape is wrong or a state is missing, fractional or out of range.
        """
        X = as_array(X, "X")
        if X.dtype.kind not in "fiub" or np.ma.is_masked(X):
            X = check_array_of_numbers(X, "X", finite=None)
        if X.ndim != 2 or X.shape[1] != self.n_variables:
            raise ValueError(
                f"labellings X must have shape (n_samples, {self.n_variables}), got {X.shape}"
            )
        with np.errstate(invalid="ignore"):  # NaN is found below
            states = X.astype(np.int64)
        wrong = (states != X) | (states < 0) | (states >= self.n_states)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise ValueError(
                f"X[{row}, {column}] is {X[row, column]}, but variable {column} has the states "
                f"0 to {self.n_states[column] - 1}"
            )
        return states

    def check_labelling(self, labels, name):
        """One labelling as integers, called by a name in errors; see `check_labels`.

        Parameters
        ----------
        labels : array-like of shape (n_variables,)
            States as whole numbers.
        name : str
            Name of the parameter.

        Returns
        -------
        labels : ndarray of shape (n_variables,), int64
            The same.

        Raises
        ------
        ValueError
            When the shape is wrong or a state is missing, fractional or out of range.
        """
        try:
            return self.check_labels(as_array(labels, name)[None])[0]
        except ValueError as error:
            raise ValueError(f"{name} must be one state for each variable: {error}") from None

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

    # ---- questions -----------------------------------------------------------------------------

    def map(self, oracle="auto", *, start=None, time_limit=None):
        """Most probable labelling, its value and a bound on what any labelling can have.

        Parameters
        ----------
        oracle : str, object or callable, default="auto"
            Finds best labellings, see `sklearn_fw.inference`. "auto" is message passing on graphs
            without cycles, elimination where its tables are small enough and there is time, and
            else "approx" with some hundred rounds of local search for each variable.
        start : array-like of shape (n_variables,), integer, default=None
            A labelling to begin with; the answer is not worse.
        time_limit : float, default=None
            Seconds; an exact oracle that needs more is left for the approximate one.

        Returns
        -------
        result : MAPResult
            ``labels``, ``value`` (the score with ``constant``), ``bound``, ``exact`` and
            ``choice``, which says what was asked and why.

        Raises
        ------
        ValueError
            When potentials of -inf forbid every labelling, or no allowed one was found.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_fw.random_fields import PairwiseMRF
        >>> mrf = PairwiseMRF([[0.0, 1.0], [0.5, 0.0]], [(0, 1)], 2 * np.eye(2))
        >>> result = mrf.map()
        >>> result.labels, result.value, result.bound
        (array([1, 1]), 3.0, 3.0)
        """
        from ._map import find_map

        return find_map(self, oracle, start, time_limit)


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
