"""Linear programs of HiGHS, exact and relaxed, and the cost function networks of toulbar2."""

import math
import threading
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from ..._core import check
from ..._core.budget import time_left
from ..._core.scores import PairwiseScores, check_range
from ._adjacency import (
    ROUNDING,
    GraphOracle,
    PlanCache,
    Settling,
    first_labels,
    is_negligible,
    nothing_allowed,
)
from ._cuts import half_integral, possible_states

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
        shape = n_nodes + equation.size, node.size + edge.size
        return cls(*equations(entries, shape, n_nodes), n_nodes, n_states)

    def nodes(self, mu):
        return mu[: self.n_nodes * self.n_states].reshape(self.n_nodes, self.n_states)

    def edges(self, mu):
        return mu[self.n_nodes * self.n_states :].reshape(-1, self.n_states, self.n_states)

    def messages(self, dual):
        """Dual variables of the equations between edges and nodes: (2, n_edges, n_states)."""
        return dual[self.n_nodes :].reshape(2, -1, self.n_states)


def equations(entries, shape, n_nodes):
    """Matrix and right-hand sides: one for the first ``n_nodes`` equations, zero for the others.

    ``entries`` are (rows, columns, value) with arrays of one size.
    """
    # HiGHS counts in 32 bits, and SciPy 1.13 does not convert.
    rows, columns = (
        np.concatenate([entry[k].ravel() for entry in entries]).astype(np.int32) for k in (0, 1)
    )
    values = np.concatenate([np.full(where.size, value) for where, _, value in entries])
    matrix = sparse.csc_array((values, (rows, columns)), shape=shape)
    return matrix, (np.arange(shape[0]) < n_nodes).astype(float)


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


def costs(scores):
    """Cost, limit, scale, constant: the score of ``mu`` is ``constant - cost @ mu / scale``; error.

    ``cost`` is the loss against the best entry of the part, ``limit`` of ``mu`` 0 for forbidden
    entries, and the error that of a bound of the solver.
    """
    check_range(scores)
    best = _best_of_parts(scores.unary, scores.pairwise)
    best[best == -np.inf] = 0.0
    unary, pairwise = np.split(best, [scores.n_nodes])
    lost = [unary[:, None] - scores.unary, pairwise[:, None, None] - scores.pairwise]
    lost = np.concatenate([part.ravel() for part in lost])
    allowed = lost < np.inf
    lost[~allowed] = 0.0
    cost, scale, error = scaled_costs(lost, best)
    return cost, allowed.astype(float), scale, float(best.sum()), error


def scaled_costs(lost, best):
    """Costs of a size that tolerances of HiGHS are small against, their scale, and the error.

    ``lost`` is the loss of each entry against the best one of its part, in ``best``.
    """
    # A power of two adds no rounding error.
    scale = 2.0 ** np.floor(np.log2(LARGEST_COST / max(lost.max(), 1e-300)))
    error = (GAP_TOLERANCE + DUAL_TOLERANCE * len(best)) / scale + ROUNDING * np.abs(best).sum()
    return scale * lost, scale, float(error)


def dual_bound(scores, messages=None):
    """Sum of the best states and pairs of all parts: no labeling scores more.

    ``messages`` (2, n_edges, n_states) are added to rows and columns of edges and taken from their
    nodes, which changes the score of no labeling.
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


# What results of scipy.optimize.milp and linprog call their status.
OPTIMAL, LIMIT, INFEASIBLE = 0, 1, 2
# The relative gap within which a mixed-integer program counts as solved.
EXACT_GAP = 1e-9


def solve_integers(cost, n_integers, largest, matrix, sums, gap=0.0):
    """The result of HiGHS for costs from 0 to ``largest``, of which the first are integers."""
    options = {"mip_rel_gap": gap}
    if (seconds := time_left()) < np.inf:
        # HiGHS takes no time at all for no limit.
        options["time_limit"] = max(seconds, 1e-3)
    return milp(
        cost,
        integrality=np.arange(len(cost)) < n_integers,
        bounds=Bounds(0.0, largest),
        constraints=LinearConstraint(matrix, sums, sums),
        options=options,
    )


class MILP(Settling):
    """MAP inference on small graphs, by mixed-integer linear programming.

    Maximizes the score of `PairwiseScores` over the integral points of the local polytope::

        max_mu  sum_t <unary[t], mu_t> + sum_e <pairwise[e], mu_e>
        subject to  sum mu_t = 1, mu_e 1 = mu_a, mu_e^T 1 = mu_b, mu >= 0, mu_t integral

    Choose it for graphs with cycles and up to some hundred nodes where the answer must be
    certified. With a time limit it returns the incumbent with a bound.

    Parameters
    ----------
    time_limit : float, default=None
        Seconds for one answer, above 0. None: until it is optimal.
    mip_rel_gap : float, default=1e-9
        Gap at which the search ends, relative to the distance of the value from the sum of the best
        states and pairs of all nodes and edges.

    Attributes
    ----------
    exact : bool
        True without a time limit and with ``mip_rel_gap <= 1e-9``: ``value`` and ``upper_bound``
        are equal, unless scores that matter cancel others some 1e4 times their size on graphs of
        more than 16384 labelings: then tolerances are between the two.

    See Also
    --------
    LPRelaxation : The same without integers: a bound and a guess in less time.
    Toulbar2 : Another branch and bound, mostly faster.
    GraphCut : For attractive edges between two states.

    Notes
    -----
    The solver is HiGHS [1]_, by ``scipy.optimize.milp``; only node variables are integers. The time
    can grow exponentially, memory is linear in the size of the scores. Tolerances of HiGHS are
    added to the bound. They count as zero up to 1e-9 of the value; else states and pairs that are
    in no better labeling are left out, and the rest is solved again. After ``time_limit`` the best
    of HiGHS, ``start`` and the best states of nodes is returned.

    References
    ----------
    .. [1] Q. Huangfu and J. A. J. Hall, "Parallelizing the dual revised simplex method",
       Mathematical Programming Computation 10, 119-142, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import MILP, PairwiseScores
    >>> triangle = [(0, 1), (1, 2), (2, 0)]
    >>> unary = [[0.0, 0.2], [0.0, 0.0], [0.1, 0.0]]
    >>> scores = PairwiseScores.from_arrays(unary, 1 - np.eye(2), triangle)
    >>> labels, value, upper_bound = MILP().argmax(scores)
    >>> int(labels[0]), int(labels[2]), round(value, 9), value == upper_bound
    (1, 0, 2.3, True)
    """

    time_limit: float | None = None
    mip_rel_gap: check.not_negative = 1e-9

    _polytope = PlanCache(Polytope.of_graph)

    @property
    def exact(self):
        return self.time_limit is None and self.mip_rel_gap <= EXACT_GAP

    def _attempt(self, scores, start):
        polytope = self._polytope(scores)
        scores = without_impossible_pairs(scores)
        cost, largest, scale, constant, error = costs(scores)
        gap = 0.0 if self.mip_rel_gap <= EXACT_GAP else self.mip_rel_gap
        result = solve_integers(
            cost, scores.unary.size, largest, polytope.matrix, polytope.sums, gap
        )
        if result.status == INFEASIBLE:
            return None
        if result.status not in (OPTIMAL, LIMIT):
            raise _failure(result)

        found = None
        if result.x is not None:
            found = polytope.nodes(result.x).argmax(axis=1).astype(np.int32)
        labels, value = best_guess(scores, found, start)
        bound = dual_bound(scores)
        if result.mip_dual_bound is not None:
            bound = min(bound, float(constant - result.mip_dual_bound / scale + error))
        return labels, value, bound, 2 * error


class LPRelaxation(Settling):
    """LP relaxation of MAP inference: bound, fractional optimum, rounded labeling.

    Maximizes the score of `PairwiseScores` over the local polytope: marginals of nodes and edges
    that agree with each other, whether or not there is a distribution that has them::

        max_mu  sum_t <unary[t], mu_t> + sum_e <pairwise[e], mu_e>
        subject to  sum mu_t = 1, mu_e 1 = mu_a, mu_e^T 1 = mu_b, mu >= 0

    The answer is exact if the optimum is integral, as on every graph without cycles. Choose it for
    a bound in predictable time, or for `vertex`, a linear minimization oracle.

    Parameters
    ----------
    relaxed : bool, default=False
        Whether a `StructuredSVM` learns from `vertex`, fractions included, instead of the labels of
        `argmax`. Its objective is then not below the usual one, and equal where vertices are
        integral; ``dual_gap_`` is exact for it, up to the solver's tolerance.

    See Also
    --------
    MILP : The same with integers: always exact, with more work.
    QPBO : The same bound for two states in a fraction of the time.

    Notes
    -----
    The solver is the dual simplex method of HiGHS, by ``scipy.optimize.linprog``; time grows
    somewhat faster than the size of the scores. A `vertex` for two states, none forbidden, comes
    from one maximum flow by roof duality (see `QPBO`). The bound does not rely on tolerances of the
    solver: its dual variables move scores from edges to nodes, and the best states and pairs after
    that bound every labeling. Among equal marginals the labels of ``start`` are preferred.

    References
    ----------
    .. [1] M. J. Wainwright and M. I. Jordan, "Graphical models, exponential families, and
       variational inference", FTML 1, 1-305, 2008: section 8.
    .. [2] D. Sontag, A. Globerson and T. Jaakkola, "Introduction to dual decomposition for
       inference", in "Optimization for Machine Learning", MIT Press, 2011: equation (1.9).
    .. [3] T. Finley and T. Joachims, "Training structural SVMs when exact inference is
       intractable", ICML 2008: section 3.2, learning with relaxed answers.

    Examples
    --------
    Three nodes that want to differ from each other: half of each state lets all pairs differ.

    >>> import numpy as np
    >>> from sklearn_fw.inference import LPRelaxation, PairwiseScores
    >>> triangle = [(0, 1), (1, 2), (2, 0)]
    >>> scores = PairwiseScores.from_arrays(np.zeros((3, 2)), 1 - np.eye(2), triangle)
    >>> labels, value, upper_bound = LPRelaxation().argmax(scores, start=[0, 1, 1])
    >>> labels, value, round(upper_bound, 9)
    (array([0, 1, 1], dtype=int32), 2.0, 3.0)
    >>> LPRelaxation().vertex(scores)[0].tolist()
    [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]
    """

    relaxed: check.flag = False

    _polytope = PlanCache(Polytope.of_graph)

    def _attempt(self, scores, start):
        solution = self._solve(scores)
        if solution is None:
            return None
        node, _, bound, error = solution
        labels = most_likely(node, first_labels(scores, start))
        return labels, scores.value(labels), bound, error

    def vertex(self, scores, start=None):
        """Optimal vertex of the local polytope.

        Parameters
        ----------
        scores, start : PairwiseScores, object, default=None
            Scores on any graph; the start is ignored.

        Returns
        -------
        node, edge : ndarray of shape (n_nodes, n_states) and (n_edges, n_states, n_states)
            Marginals; sums of edges are those of nodes to within 1e-9.
        value, upper_bound : float
            Their score, and a bound on that of all points of the local polytope.

        Raises
        ------
        RuntimeError
            When HiGHS fails.
        """
        self._expect(scores)
        finite = scores.unary.min() > -np.inf and scores.pairwise.min(initial=0.0) > -np.inf
        if scores.n_states == 2 and finite:
            node, edge, bound = half_integral(scores)
            value = float((scores.unary * node).sum() + (scores.pairwise * edge).sum())
            return node, edge, value, max(value, bound)
        solution = self._solve(scores)
        if solution is None:
            raise ValueError(
                "every labeling is forbidden: the local polytope has no vertex without a state "
                "or pair of score -inf"
            )
        node, edge, bound, _ = solution
        edge = agreeing(edge, node, scores.edges)
        edge[scores.pairwise == -np.inf] = 0.0
        # What is forbidden has no mass, and a product of both is NaN.
        parts = (scores.unary, node), (scores.pairwise, edge)
        value = sum(float(score[mass > 0.0] @ mass[mass > 0.0]) for score, mass in parts)
        return node, edge, value, max(value, bound)

    def _solve(self, scores):
        """Marginals of nodes, of edges (as the solver left them), bound and its error; or None."""
        polytope = self._polytope(scores)
        scores = without_impossible_pairs(scores)
        cost, largest, scale, _, error = costs(scores)
        result = linprog(
            cost,
            A_eq=polytope.matrix,
            b_eq=polytope.sums,
            bounds=np.column_stack([np.zeros_like(largest), largest]),
            method="highs-ds",
        )
        if result.status == INFEASIBLE:
            return None
        if result.status != OPTIMAL:
            raise _failure(result)
        node = np.maximum(polytope.nodes(result.x), 0.0)
        node /= node.sum(axis=1, keepdims=True)
        bound = dual_bound(scores, polytope.messages(result.eqlin.marginals) / scale)
        return node, polytope.edges(result.x), bound, error


def _failure(result):
    return RuntimeError(
        f"HiGHS ended with status {result.status} and no answer: {result.message}; scale the "
        f"scores, or use another oracle"
    )


# toulbar2 keeps its state in variables of a thread or of the process, by the way it was built.
_alone = threading.Lock()
_of_thread = threading.local()

# Integers up to here are floats, too.
LARGEST_INTEGER = 2.0**53


class Toulbar2(GraphOracle):
    """MAP inference on any graph, by the branch and bound of toulbar2.

    Maximizes the score of `PairwiseScores`, rounded to a number of decimals. Choose it for graphs
    with cycles and up to some hundred nodes where the answer must be certified: it is mostly much
    faster than `MILP`. It needs ``pip install pytoulbar2``.

    Parameters
    ----------
    time_limit : float, default=None
        Seconds of processor time for one answer, above 0, rounded up to whole seconds. None:
        until it is optimal.
    resolution : int, default=6
        Decimals to which scores are rounded, at least 0.

    Attributes
    ----------
    exact : bool
        False: answers are optimal for rounded scores. Without a time limit, a single answer is
        exact for scores that have no more than ``resolution`` decimals.

    See Also
    --------
    MILP : The same without another package and without rounding.
    Enumeration : For graphs of a handful of nodes.

    Notes
    -----
    The bound is that of toulbar2 for the rounded scores, plus the largest gain by rounding of a
    state of each node and a pair of each edge: without a time limit at most ``(n_nodes + n_edges) *
    10 ** -resolution`` above the value. The time can grow exponentially [1]_. Calls from several
    threads run one after the other. After ``time_limit`` the best of toulbar2, ``start`` and the
    best states of nodes is returned.

    References
    ----------
    .. [1] B. Hurley, B. O'Sullivan, D. Allouche, G. Katsirelos, T. Schiex, M. Zytnicki and S. de
       Givry, "Multi-language evaluation of exact solvers in graphical model discrete optimization",
       Constraints 21, 413-434, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import PairwiseScores, Toulbar2
    >>> triangle = [(0, 1), (1, 2), (2, 0)]
    >>> scores = PairwiseScores.from_arrays(np.zeros((3, 2)), 1 - np.eye(2), triangle)
    >>> Toulbar2(time_limit=60).argmax(scores)[1:]  # doctest: +SKIP
    (2.0, 2.0)
    """

    time_limit: float | None = None
    resolution: check.at_least(0) = 6

    def _argmax(self, scores, start):
        time_limit = max(min(check.time_limit(self.time_limit), time_left()), 1e-3)
        library, factor = _pytoulbar2(), 10.0**self.resolution
        possible = possible_states(scores.unary, scores.pairwise, scores.edges)
        if not possible.any(axis=1).all():
            return nothing_allowed(scores)
        states = [np.flatnonzero(row) for row in possible]
        scopes = [*([t] for t in range(scores.n_nodes)), *scores.edges.tolist()]
        parts = [
            part[np.ix_(*(states[t] for t in scope))]
            for scope, part in zip(scopes, [*scores.unary, *scores.pairwise])
        ]
        finite = [part[part > -np.inf] for part in parts]
        size = sum(np.abs(part).max() for part in finite)
        if size * factor >= LARGEST_INTEGER:
            raise ValueError(
                f"resolution={self.resolution} is too large for scores whose largest absolute "
                f"values sum up to {size:.3g}: times 10^resolution this must stay below 2^53; "
                f"lower resolution or scale the scores"
            )
        costs = [np.rint(-factor * part).ravel().tolist() for part in parts]
        with _alone:
            found, cost = _solve_network(library, states, scopes, costs, time_limit)
        if cost == np.inf:
            return nothing_allowed(scores)
        labels, value = best_guess(scores, found, start)
        # What rounding to decimals can add to a score at most, and errors of these numbers.
        gain = sum((part + np.rint(-factor * part) / factor).max() for part in finite)
        bound, rounding = min(dual_bound(scores), float(gain - cost / factor)), ROUNDING * size
        exact = value >= bound - rounding
        if exact and is_negligible(rounding, (scores.unary, scores.pairwise), value):
            return labels, value, value
        return labels, value, max(value, float(bound + rounding))


def _solve_network(library, states, scopes, costs, time_limit):
    """Labels or None, and a lower bound on all costs, inf if nothing is allowed."""
    if not getattr(_of_thread, "ready", False):
        library.pytb2.init()
        _of_thread.ready = True
    try:
        network = library.CFN(resolution=0)
        for t, row in enumerate(states):
            network.AddVariable(f"node {t}", list(range(len(row))))
        for scope, cost in zip(scopes, costs):
            network.AddFunction(scope, cost)
        answer = network.Solve(timeLimit=0 if time_limit == np.inf else math.ceil(time_limit))
    except library.pytb2.Contradiction:
        return None, np.inf
    # The bound of the library may lag behind when the search is through.
    finished = not library.pytb2.option.limited
    if answer is None:
        return None, (np.inf if finished else network.GetDDualBound())
    labels = [row[k] for row, k in zip(states, answer[0])]
    return np.array(labels, np.int32), answer[1] if finished else network.GetDDualBound()


def _pytoulbar2():
    try:
        import pytoulbar2
    except ImportError as error:
        raise ImportError(
            "Toulbar2 needs the package pytoulbar2: run pip install pytoulbar2"
        ) from error
    return pytoulbar2
