"""Random fields: log-potentials on variables, on pairs of them and on any number at once."""

import math
from itertools import chain
from itertools import pairwise as neighbors

import numpy as np
from scipy.sparse import csr_array

from .._core import check
from .._core.packed import starts_of
from .._core.scores import FlatParts, as_array, check_edges, floats, integers
from .._kernels import lazy
from ._choice import ROUNDING
from ._conditioning import Conditioning, collect
from ._forms import Networks, OtherForms, tables_of
from ._map import find_map
from ._uai import MOST_AXES

trw = lazy("graphs.trw")


class FactorGraph(Conditioning, Networks):
    """Factor graph: random field with factors on any number of variables.

    With states ``x_i`` in ``0, ..., n_states[i] - 1`` and factors f on variables ``s_f``::

        log p(x) = constant + sum_i unary_i[x_i] + sum_f table_f[x_(s_f)] - log Z

    Choose it where a factor joins three or more variables; `PairwiseMRF` is the factor graph of
    those that join at most two. All estimators of marginals take both.

    Parameters
    ----------
    n_states : array-like of shape (n_variables,), integer
        Number of states of each variable.
    factors : list of (scope, table), default=()
        ``scope`` lists the variables of a factor, by number or name; ``table``, with one axis for
        each, holds log-potentials, ``-inf`` for what is forbidden. Factors on the same variables
        are added up; those on one or none are added to ``unary`` or ``constant``.
    constant : float, default=0.0
        Added to the score of every labeling and to log Z.
    names : list of str, default=None
        Names of the variables.
    state_names : list of lists of str, default=None
        Names of the states of each variable.

    Attributes
    ----------
    n_variables, n_factors : int
        Sizes; ``n_factors`` counts the factors on two and more variables.
    n_states : ndarray of shape (n_variables,), int64
        Number of states of each variable.
    scopes : list of n_factors tuples of int
        Variables of each factor, ascending; in the order of first appearance.
    theta : ndarray of shape (size,), float64
        All log-potentials: one block for each variable, then one for each factor, the last
        variable of its scope changing fastest.
    node_start, factor_start : ndarray of shape (n_variables + 1,) and (n_factors + 1,), int64
        Where the blocks begin.
    constant : float
        As given, with what factors on no variable add.
    names, state_names : list or None
        As given.
    variables : ndarray of shape (n_variables,), int64
        Number that each variable had before `condition`; without it 0, 1, ...
    evidence : dict of int to int
        States of the variables that are not here any more, by such numbers.

    See Also
    --------
    PairwiseMRF : Random fields of pairs.
    ExactMarginals : Marginals and log Z, wherever the graph is narrow enough.

    Examples
    --------
    Wet grass: it rains with probability 0.2, and grass is wet from rain or from the sprinkler.

    >>> import numpy as np
    >>> from sklearn_fw.random_fields import ExactMarginals, FactorGraph
    >>> wet = np.log([[[0.99, 0.01], [0.1, 0.9]], [[0.2, 0.8], [0.01, 0.99]]])
    >>> graph = FactorGraph(
    ...     [2, 2, 2],
    ...     [(["rain"], np.log([0.8, 0.2])), (["rain", "sprinkler", "wet"], wet)],
    ...     names=["rain", "sprinkler", "wet"],
    ... )
    >>> named = ExactMarginals().fit(graph.condition({"wet": 1})).named_marginals()
    >>> round(named["rain"][1], 4)
    0.3297
    """

    def __init__(self, n_states, factors=(), *, constant=0.0, names=None, state_names=None):
        n_states = integers(n_states, "n_states", 1)
        if n_states.ndim != 1 or not n_states.size or n_states.min() < 1:
            raise ValueError(f"n_states must hold a number >= 1 per variable, got {n_states!r:.60}")
        self.n_states = n_states
        self._set_names(names, state_names)
        unary = [np.zeros(k) for k in n_states]
        constant = check.number(constant, "constant")
        factors = enumerate(check.items(factors, "factors", "pairs of a scope and a table"))
        factors = (self._factor(factor, f"factors[{f}]") for f, factor in factors)
        merged, total = collect(unary, factors, constant)
        if total == -np.inf:
            raise ValueError("factors on no variable forbid everything: one of them is -inf")
        self._fill(unary, list(merged), list(merged.values()), total)

    def _factor(self, factor, name):
        scope, table = check.items(factor, name, "parts, a scope and a table", 2)
        scope = check.items(scope, f"the scope of {name}", "variables, by number or name")
        scope = [self._variable(i, f"the scope of {name}") for i in scope]
        table = np.array(floats(table, f"the table of {name}"))
        for i in scope:
            if scope.count(i) > 1:
                raise ValueError(f"the scope of {name} names variable {i} twice")
        if len(scope) > MOST_AXES:
            raise ValueError(f"{name} is on {len(scope)} variables, at most {MOST_AXES} can be")
        if table.shape != (shape := tuple(int(self.n_states[i]) for i in scope)):
            raise ValueError(
                f"the table of {name} must have shape {shape}, the numbers of states of variables "
                f"{scope}; got {table.shape}"
            )
        axes = np.argsort(scope)
        return tuple(scope[a] for a in axes), table.transpose(axes)

    @classmethod
    def _of(cls, unary, factors, **options):
        """The field of checked blocks and factors, of the kind that the class is."""
        n_states = [len(block) for block in unary]
        return cls(n_states, [*(([i], b) for i, b in enumerate(unary)), *factors], **options)

    @staticmethod
    def _graph(unary, factors, **options):
        return FactorGraph._of(unary, factors, **options)

    def _fill(self, unary, scopes, tables, constant):
        for i, block in enumerate(unary):
            if block.max() == -np.inf:
                raise ValueError(
                    f"unary[{i}] allows no state of variable {i}: give the potentials on this "
                    f"variable at least one finite entry"
                )
        self.scopes, self.constant = scopes, constant
        self._shapes = [table.shape for table in tables]
        self.variables, self.evidence = np.arange(len(unary)), {}
        self.node_start = starts_of(self.n_states)
        sizes = np.array([table.size for table in tables], np.int64)
        self.factor_start = self.node_start[-1] + starts_of(sizes)
        self.theta = np.concatenate([*unary, *(table.ravel() for table in tables)])
        # Of all axes of factors, the variable there and what a state moves.
        moves = {s: [math.prod(s[a + 1 :]) for a in range(len(s))] for s in set(self._shapes)}
        strides = np.array([*chain(*map(moves.get, self._shapes))], np.int64)
        variables = np.array([*chain(*scopes)], np.int64)
        entries = strides, variables, starts_of([len(scope) for scope in scopes])
        self._strides = csr_array(entries, shape=(len(scopes), len(unary)))

    # ---- shape ---------------------------------------------------------------------------------

    @property
    def n_variables(self):
        return len(self.n_states)

    @property
    def _starts(self):
        """Where all blocks of ``theta`` begin, and its size."""
        return np.concatenate([self.node_start, self.factor_start[1:]])

    @property
    def n_factors(self):
        """Number of factors on two and more variables."""
        return len(self.factor_start) - 1

    @property
    def unary(self):
        """Log-potentials of the variables: a list of views of ``theta``."""
        return self.node_blocks(self.theta)

    @property
    def tables(self):
        """Log-potentials of the factors: a list of views of ``theta``."""
        return self.factor_blocks(self.theta)

    def node_blocks(self, flat):
        """Views of a vector like ``theta``, one of shape (n_states_i,) for each variable.

        Parameters
        ----------
        flat : ndarray of shape (size,)
            Numbers in the order of ``theta``; those of edges and factors may be left out.
        """
        flat = self._flat(flat, "flat", self.node_start[-1])
        return [flat[a:b] for a, b in neighbors(self.node_start)]

    def factor_blocks(self, flat):
        """Views of a vector like ``theta``, one for each factor, shaped as its table.

        Parameters
        ----------
        flat : ndarray of shape (size,)
            Numbers in the order of ``theta``.
        """
        flat = self._flat(flat, "flat")
        starts = neighbors(self.factor_start)
        return [flat[a:b].reshape(shape) for (a, b), shape in zip(starts, self._shapes)]

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
        largest = max(map(len, self.scopes), default=1)
        return f"FactorGraph({self._sizes('n_factors')}, largest_scope={largest})"

    def _sizes(self, parts):
        low, high = self.n_states.min(), self.n_states.max()
        states = low if low == high else f"{low}..{high}"
        return f"n_variables={self.n_variables}, {parts}={self.n_factors}, n_states={states}"

    _pairs = False  # whether factors are on two variables

    def _plain(self):
        """This field without the methods that a subclass overrides."""
        plain = object.__new__(PairwiseMRF if self._pairs else FactorGraph)
        vars(plain).update(vars(self))
        return plain

    # ---- labelings ----------------------------------------------------------------------------

    def parts(self, X):
        """Places in ``theta``, one per part: (n_samples, n_variables + n_factors).

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_variables), integer
            Labelings.
        """
        return self._places(self._check_labels(X))

    def _places(self, X):
        """`parts` of labelings that were checked, int64."""
        within = (self._strides @ X.T).T
        return np.hstack([self.node_start[:-1] + X, self.factor_start[:-1] + within])

    def vertex(self, labels):
        """Indicator vector of a labeling, (size,): a vertex of the marginal polytope.

        Parameters
        ----------
        labels : array-like of shape (n_variables,), integer
            State of each variable.
        """
        vertex = np.zeros(len(self.theta))
        vertex[self.parts(self._check_labeling(labels, "labels")[None])[0]] = 1.0
        return vertex

    def score(self, X):
        """Log-probability of labelings up to log Z: ``constant + <theta, vertex(x)>``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_variables), integer
            Labelings; the score is ``-inf`` where something is forbidden.
        """
        return self.constant + self.theta[self.parts(X)].sum(axis=1)

    def _check_labels(self, X):
        """Labelings (n_samples, n_variables) as int64, refused when a state does not exist."""
        X = check.array(X, "X", finite=None)
        if X.ndim != 2 or X.shape[1] != self.n_variables:
            raise ValueError(f"X must have shape (n_samples, {self.n_variables}), got {X.shape}")
        with np.errstate(invalid="ignore"):  # NaN is found below
            states = X.astype(np.int64)
        wrong = (states != X) | (states < 0) | (states >= self.n_states)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise ValueError(
                f"X[{row}, {column}] is {X[row, column]:g}, but variable {column} has the states "
                f"0 to {self.n_states[column] - 1}"
            )
        return states

    def _check_labeling(self, labels, name):
        try:
            return self._check_labels(as_array(labels, name)[None])[0]
        except ValueError as error:
            raise ValueError(f"{name} must be one state for each variable: {error}") from None

    # ---- other fields --------------------------------------------------------------------------

    def merge(self):
        """Return the same distribution with every factor added to one on more variables.

        No scope of the `FactorGraph` is then inside of another; factors on one variable stay.
        Messages and bounds get better by it, and no table larger.
        """
        holders = [set() for _ in self.n_states]
        order = sorted(range(self.n_factors), key=lambda f: -len(self.scopes[f]))
        kept, tables = {}, self.tables
        for f in order:
            scope, table = self.scopes[f], tables[f]
            found = set.intersection(*(holders[i] for i in scope))
            if found:
                target = min(found, key=lambda s: kept[s].size)
                shape = [self.n_states[i] if i in scope else 1 for i in target]
                kept[target] += table.reshape(shape)
            else:
                kept[scope] = table.copy()
                for i in scope:
                    holders[i].add(scope)
        graph = self._graph(
            self.unary, list(kept.items()), constant=self.constant, names=self.names,
            state_names=self.state_names,
        )  # fmt: skip
        graph.variables, graph.evidence = self.variables, self.evidence
        graph._before = self._before
        return graph

    def to_pairwise(self):
        """Return the `PairwiseMRF` that has a variable for each larger factor.

        A factor on three or more variables becomes a variable behind those of the graph, in the
        order of factors. Its states are the combinations that its table allows, in their order
        there, and edges forbid what does not agree. So log Z, marginals, MAP labelings and the
        fixed points of messages are the same.
        """
        unary, edges, tables = list(self.unary), [], []
        names = None if self.names is None else list(self.names)
        for scope, table in zip(self.scopes, self.tables):
            if len(scope) == 2:
                edges.append(scope)
                tables.append(table)
                continue
            allowed = np.argwhere(table > -np.inf)
            if not len(allowed):
                raise ValueError(f"the table on variables {scope} is -inf: nothing is allowed")
            for i, states in zip(scope, allowed.T):
                edges.append((i, len(unary)))
                tables.append(np.where(np.arange(self.n_states[i])[:, None] == states, 0, -np.inf))
            unary.append(table[tuple(allowed.T)])
            if names is not None:
                names.append(", ".join(self.names[i] for i in scope))
        return PairwiseMRF(unary, edges, tables or None, constant=self.constant, names=names)

    # ---- questions -----------------------------------------------------------------------------

    def map(self, oracle="auto", *, start=None, time_limit=None):
        """Most probable labeling, its value and a bound on what any labeling can have.

        Parameters
        ----------
        oracle : str, object or callable, default="auto"
            MAP solver, see `sklearn_fw.inference`. "auto" is message passing on graphs
            without cycles, elimination where its tables are small enough and there is time, and
            else messages and local search, then exact searches of regions and integer programs.
        start : array-like of shape (n_variables,), integer, default=None
            A labeling to begin with; the answer is not worse.
        time_limit : float, default=None
            Seconds; an exact oracle that needs more is left for the approximate search, which uses
            all of them unless its labeling is proved best.

        Returns
        -------
        result : named tuple
            ``labels``; ``value``, their score with ``constant``; ``bound``, which no labeling
            exceeds, inf if unknown; ``choice``, the oracle and why it was taken; and ``exact``,
            whether value and bound are equal.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_fw.random_fields import PairwiseMRF
        >>> mrf = PairwiseMRF([[0.0, 1.0], [0.5, 0.0]], [(0, 1)], 2 * np.eye(2))
        >>> result = mrf.map()
        >>> result.labels, result.value, result.bound
        (array([1, 1]), 3.0, 3.0)
        """
        return find_map(self, oracle, start, time_limit)


class PairwiseMRF(OtherForms, FactorGraph):
    """Pairwise Markov random field, by log-potentials of variables and edges.

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
        Added to the score of every labeling and to log Z.
    names : list of str, default=None
        Names of the variables.
    state_names : list of lists of str, default=None
        Names of the states of each variable.

    Attributes
    ----------
    n_edges : int
        Number of edges.
    edges : ndarray of shape (n_edges, 2), int64
        Edges with ``edges[e, 0] < edges[e, 1]``, each once, in the order of first appearance; also
        as ``scopes``. What else there is as of every `FactorGraph`.
    edge_start : ndarray of shape (n_edges + 1,), int64
        Where the blocks of the edges begin in ``theta``, row by row.

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
        unary = check.items(unary, "unary", "rows of log-potentials", least=1)
        blocks = [np.array(floats(block, f"unary[{i}]")) for i, block in enumerate(unary)]
        for i, block in enumerate(blocks):
            if block.ndim != 1 or not block.size:
                raise ValueError(f"unary[{i}] must be a vector of states, got shape {block.shape}")
        n_states = np.array([len(block) for block in blocks])
        edges = check_edges(edges, len(blocks))
        tables = tables_of(pairwise, edges, n_states)
        pairs = zip(map(tuple, edges.tolist()), tables)
        pairs = (((i, j), t) if i < j else ((j, i), t.T) for (i, j), t in pairs)
        merged, constant = collect(blocks, pairs, check.number(constant, "constant"))
        self.n_states, self.edges = n_states, np.array(list(merged), np.int64).reshape(-1, 2)
        self._set_names(names, state_names)
        self._fill(blocks, list(merged), list(merged.values()), constant)
        self._flat_parts = FlatParts(n_states, self.edges)

    # ---- shape ---------------------------------------------------------------------------------

    _pairs = True

    @classmethod
    def _of(cls, unary, factors, **options):
        if any(len(scope) != 2 for scope, _ in factors):
            graph = cls._graph(unary, factors, **options)
            most = max(map(len, graph.scopes), default=0)
            if most > 2:
                raise ValueError(f"a factor is on {most} variables: use FactorGraph")
            unary, factors = graph.unary, list(zip(graph.scopes, graph.tables))
            options["constant"] = graph.constant
        edges, tables = [scope for scope, _ in factors], [table for _, table in factors]
        return cls(unary, edges, tables or None, **options)

    @property
    def n_edges(self):
        return len(self.edges)

    @property
    def pairwise(self):
        """Log-potentials of the edges: a list of views of ``theta``."""
        return self.tables

    @property
    def edge_start(self):
        return self.factor_start

    def __repr__(self):
        return f"PairwiseMRF({self._sizes('n_edges')})"

    # ---- other fields ---------------------------------------------------------------------------

    def scores(self, theta=None):
        """Return `PairwiseScores`; variables with fewer states are padded.

        Views where all variables have the same number of states, else copies.

        Parameters
        ----------
        theta : ndarray of shape (size,), default=None
            Other numbers to maximize, in the order of ``theta``. None for ``theta`` itself.
        """
        if theta is not None:
            theta = self._flat(floats(theta, "theta"), "theta")
        return self._flat_parts.scores(self.theta if theta is None else theta)

    def mutual_information(self, mu):
        """Mutual information of the two variables of every edge, (n_edges,), in nats.

        Minus the derivative of the tree-reweighted bound in each edge probability.

        Parameters
        ----------
        mu : ndarray of shape (size,)
            Marginals in the order of ``theta``; see `flatten`.
        """
        mu, information = self._check_marginals(mu), np.empty(self.n_edges)
        starts = self.node_start, self.edge_start
        trw.mutual_information(mu, self.n_states, self.edges, *starts, information)
        return information

    def _check_marginals(self, mu):
        mu = np.array(check.vector(mu, "mu", len(self.theta)))
        if not np.all((mu >= 0.0) & (mu <= 1.0 + ROUNDING)):
            raise ValueError("mu must hold probabilities, from 0 to 1")
        return mu

    def flatten(self, node, edge):
        """Return padded arrays as a vector like ``theta``: the inverse of `scores`.

        Parameters
        ----------
        node : ndarray of shape (n_variables, k)
            Numbers of the variables, padded to the largest number of states.
        edge : ndarray of shape (n_edges, k, k)
            Numbers of the edges.
        """
        node = check.array(node, "node", finite=None)
        edge = check.array(edge, "edge", finite=None)
        n, m, k = self.n_variables, self.n_edges, node.shape[-1] if node.ndim else 0
        if k < self.n_states.max() or (node.shape, edge.shape) != ((n, k), (m, k, k)):
            raise ValueError(
                f"node and edge must have shapes ({n}, k) and ({m}, k, k) with k at least "
                f"{self.n_states.max()}, got {node.shape} and {edge.shape}"
            )
        return self._flat_parts.flatten(node, edge)
