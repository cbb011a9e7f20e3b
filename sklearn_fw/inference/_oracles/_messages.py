"""Message passing with a bound, max-product, and exact search by these bounds."""

import copy

import numpy as np

from ..._core import check
from ..._core.budget import time_left
from ..._core.loop import get_logger
from ..._kernels import lazy
from ._adjacency import GraphOracle, PlanCache, Settling, adjacency, first_labels, prepare
from ._local_search import climb

message_passing = lazy("graphs.message_passing")


class TRWS(Settling):
    """Approximate MAP inference with a bound, by sequential tree-reweighted messages.

    Maximizes the score of `PairwiseScores` approximately, and minimizes a bound on the score of
    every labeling: the dual of the linear relaxation over the local polytope. Choose it for graphs
    with cycles that are too large for exact oracles. Where the relaxation is tight, as on trees,
    the answer is exact.

    Parameters
    ----------
    max_iter : int, default=100
        Largest number of iterations, each a pass up and a pass down through all nodes.
    tol : float, default=1e-7
        Stop when an iteration lowers the bound by less than this, in the unit of the scores.

    See Also
    --------
    BranchAndBound : Closes the gap that is left, at exponential cost in the worst case.
    LPRelaxation : The value of the relaxation itself, by a general solver.
    ICM : Cheaper, without a bound.

    Notes
    -----
    An iteration takes time 2 * n_edges * n_states^2, or 2 * n_edges * n_states for Potts tables
    (one score for equal states, one for others). The bound never rises, and converges to the value
    of the linear relaxation for two states; in general it may stop above it.

    Every pass fixes a labeling node by node. `ICM` improves ``start`` and each of these that is the
    best so far. Iterations end early when bound and value agree up to rounding; where that is above
    1e-9 of the value, states and pairs that are in no better labeling are left out, and they start
    again. ``value = -inf`` means that no labeling tried was allowed. Nodes are passed in the order
    of their numbers: number grids row by row.

    References
    ----------
    .. [1] V. Kolmogorov, "Convergent tree-reweighted message passing for energy minimization", IEEE
       TPAMI 28(10), 1568-1583, 2006: its implementation with monotonic chains. Messages are not
       normalized here, which changes nothing but makes the bound the sum of the nodes' maxima.
    .. [2] M. J. Wainwright, T. S. Jaakkola and A. S. Willsky, "MAP estimation via agreement on
       trees: message-passing and linear programming", IEEE TIT 51(11), 3697-3717, 2005.

    Examples
    --------
    Three nodes that want to differ, with two states: one pair must agree.

    >>> import numpy as np
    >>> from sklearn_fw.inference import TRWS, PairwiseScores
    >>> triangle = [(0, 1), (1, 2), (2, 0)]
    >>> scores = PairwiseScores.from_arrays(np.zeros((3, 2)), 1 - np.eye(2), triangle)
    >>> labels, value, upper_bound = TRWS().argmax(scores)
    >>> value, round(upper_bound, 6)
    (2.0, 3.0)
    """

    max_iter: int = 100
    tol: float = 1e-7

    releases_gil = True

    _plan = PlanCache(adjacency)

    def _attempt(self, scores, start):
        incumbent = Incumbent(scores, self._plan(scores), start)
        relaxation = Relaxation(incumbent.problem)
        for _ in range(self.max_iter):
            before = relaxation.bound
            for labels, value in relaxation.iterate():
                incumbent.offer(labels, value)
            if incumbent.reaches(relaxation.bound) or before - relaxation.bound < self.tol:
                break
            if time_left() <= 0.0:
                break
        return incumbent.answer(relaxation.bound)


class Incumbent:
    def __init__(self, scores, plan, start=None):
        self.problem = prepare(scores, plan)
        # A few errors for each number, and those of adding up all nodes.
        error = (32 + scores.n_nodes) * float(np.finfo(np.float64).eps)
        self.rounding = error * message_passing.total_size(*self.problem[:-1])
        self._scores = scores
        self._record = -np.inf
        self.labels = first_labels(scores, start)
        self.value = scores.value(self.labels)
        self._climb(self.labels)

    def offer(self, labels, value):
        """Improve a labeling and keep it if it is best; tried if it sets a record by itself."""
        if value > self._record:
            self._record = value
            self._climb(labels)

    def _climb(self, labels):
        labels = labels.copy()
        climb(self.problem, labels)
        value = self._scores.value(labels)
        if value > self.value:
            self.labels, self.value = labels, value

    def reaches(self, bound):
        """Whether value and bound are the same number but for errors of rounding."""
        return bound == self.value or bound - self.value <= self.rounding

    def answer(self, bound):
        """Labels, value, a bound and how far it may be above the value, for `settled`."""
        return self.labels, self.value, bound + self.rounding, 2 * self.rounding


class Relaxation:
    """Tree-reweighted message passing on one problem.

    ``bound`` is a bound on all labelings and ``bounds[i, k]`` one on those with state k at node
    i. States that cannot be part of a labeling of interest become forbidden in ``unary``.
    """

    def __init__(self, problem):
        n_nodes, width = problem.unary.shape
        self.unary = problem.unary.copy()
        self._fixed = problem[1:]
        self._messages = np.zeros((len(problem.edge_table), width))
        self._tops = np.zeros(n_nodes)
        self.bounds = np.empty((n_nodes, width))
        self.bound = np.inf

    def copy(self):
        other = copy.copy(self)
        other.unary, other.bounds = self.unary.copy(), self.bounds.copy()
        other._messages, other._tops = self._messages.copy(), self._tops.copy()
        return other

    def iterate(self, cutoff=-np.inf):
        """Yield a labeling and its value after a pass up, and after a pass down.

        With a ``cutoff`` only labelings above it are of interest: the bounds hold for these, and
        are ``-inf`` if there are none.
        """
        for upwards in (True, False):
            labels = np.zeros(len(self.unary), np.int32)
            # Only a second pass knows bounds of single states.
            first = self.bound == np.inf
            self.bound, value = message_passing.trws_sweep(
                self.unary, *self._fixed,
                self._messages, self._tops, self.bounds, labels,
                0.0 if first else self.bound, -np.inf if first else cutoff, upwards,
            )  # fmt: skip
            if self.bound <= cutoff:
                self.bound = -np.inf
                return
            yield labels, value


class MaxProduct(GraphOracle):
    """Approximate MAP inference by loopy max-product belief propagation with damping.

    Sends messages about the best score behind an edge as if the graph had no cycles: exact where it
    has none, else a heuristic. Choose it on graphs with few and long cycles, where it often finds
    better labels than `TRWS`, and to compare with other software.

    Parameters
    ----------
    damping : float, default=0.5
        Fraction of the old message in the new one, in [0, 1): more settles oscillating messages,
        and takes more iterations.
    max_iter : int, default=100
        Largest number of iterations, each one pass through all nodes and one back.
    tol : float, default=1e-5
        Stop when no message changes by more in an iteration.

    Attributes
    ----------
    exact : bool
        False: ``upper_bound`` is always inf, for no bound holds with cycles.

    See Also
    --------
    TRWS : Messages that are weighted so that they make a bound.
    TreeMaxProduct : Exact on graphs without cycles, in one pass.
    BestOf : Labels of one oracle, bound of another.

    Notes
    -----
    An iteration takes 4 * n_edges * n_states^2, or 4 * n_edges * n_states for Potts tables. Each
    pass fixes labels node by node; `ICM` improves those that are the best so far.

    References
    ----------
    .. [1] J. Pearl, "Probabilistic Reasoning in Intelligent Systems: Networks of Plausible
       Inference", Morgan Kaufmann, 1988, chapter 5.
    .. [2] Y. Weiss, W. T. Freeman, "On the optimality of solutions of the max-product
       belief-propagation algorithm in arbitrary graphs", IEEE TIT 47, 736-744, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import MaxProduct, PairwiseScores
    >>> unary = [[0.5, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> MaxProduct().argmax(PairwiseScores.from_arrays(unary, 1 - np.eye(2), square))
    (array([0, 1, 0, 1], dtype=int32), 4.5, inf)
    """

    damping: check.within(0.0, 1.0, "left") = 0.5
    max_iter: int = 100
    tol: float = 1e-5

    _plan = PlanCache(adjacency)

    def _argmax(self, scores, start):
        incumbent = Incumbent(scores, self._plan(scores), start)
        problem = incumbent.problem
        messages = np.zeros((2, scores.n_edges, scores.n_states))
        labels = np.zeros(scores.n_nodes, np.int32)
        for _ in range(self.max_iter):
            changes = []
            for upwards in (True, False):
                value, change = message_passing.max_product_sweep(
                    *problem, messages, labels, float(self.damping), upwards
                )
                incumbent.offer(labels, value)
                changes.append(change)
            if max(changes) <= self.tol or time_left() <= 0.0:
                break
        return incumbent.labels, incumbent.value, np.inf


class BranchAndBound(Settling):
    """MAP inference on any graph, by depth-first search with tree-reweighted bounds.

    Maximizes the score of `PairwiseScores` exactly; with a budget it returns the incumbent
    and a bound on all others. Choose it for graphs with cycles whose tree-width is too large
    for elimination, and to close or reduce a gap that `TRWS` leaves.

    Parameters
    ----------
    max_nodes : int, default=None
        Largest number of subproblems that are bounded, the whole problem included. None for no
        limit.
    time_limit : float, default=None
        Seconds after which no subproblem starts. None for no limit.
    max_iter : int, default=20
        Largest number of iterations of `TRWS` on the whole problem.
    node_iter : int, default=2
        Largest number of iterations on each subproblem, from the messages of its parent. More of
        them mean fewer but dearer subproblems.

    Attributes
    ----------
    exact : bool
        True without ``max_nodes`` and ``time_limit``: ``value`` and ``upper_bound`` are equal.

    See Also
    --------
    TRWS : The bound without the search.
    Elimination : Exact, at a cost that the graph alone decides.
    MILP : Exact search by a general solver.

    Notes
    -----
    A subproblem has some states forbidden. Its iterations bound every state of every node, and
    forbid states that cannot improve on the incumbent, which begins as that of `ICM`
    from ``start``. The node with most score at stake on edges to undecided nodes (sum of standard
    deviations of tables) is divided: its most promising state is fixed in the first subproblem and
    forbidden in the second.

    Time is exponential in the worst case, and 4 * node_iter * n_edges * n_states^2 for each
    subproblem; memory n_edges * n_states for each level. Value and bound differ by rounding where
    scores that matter cancel others some 1e5 times their size on graphs of more than 16384
    labelings.

    References
    ----------
    .. [1] A. H. Land and A. G. Doig, "An automatic method of solving discrete programming
       problems", Econometrica 28(3), 497-520, 1960.

    Examples
    --------
    Three nodes that want to differ, with two states: the relaxation alone leaves a gap.

    >>> import numpy as np
    >>> from sklearn_fw.inference import BranchAndBound, PairwiseScores
    >>> triangle = [(0, 1), (1, 2), (2, 0)]
    >>> unary = [[0.1, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> scores = PairwiseScores.from_arrays(unary, 1 - np.eye(2), triangle)
    >>> BranchAndBound().argmax(scores)[1:]
    (2.1, 2.1)
    >>> round(BranchAndBound(max_nodes=1).argmax(scores)[2], 6)
    3.05
    """

    max_nodes: check.optional(check.at_least(1)) = None
    time_limit: float | None = None
    max_iter: int = 20
    node_iter: check.at_least(1) = 2

    _plan = PlanCache(adjacency)

    @property
    def exact(self):
        return self.max_nodes is None and self.time_limit is None

    def _attempt(self, scores, start):
        max_nodes = np.inf if self.max_nodes is None else self.max_nodes
        search = _Search(scores, self._plan(scores), start)
        search.explore(Relaxation(search.incumbent.problem), self.max_iter)
        while search.open and search.n_nodes < max_nodes and time_left() > 0.0:
            search.explore(search.open.pop()[1], self.node_iter)
        sizes = search.n_nodes, len(search.open)
        get_logger().debug("branch and bound: %d subproblems, %d left", *sizes)
        return search.incumbent.answer(search.bound())


class _Search:
    """The incumbent and the parts of the problem that may hold better ones."""

    def __init__(self, scores, plan, start):
        self.incumbent = Incumbent(scores, plan, start)
        self.open = []  # (bound, relaxation) of each part
        self.n_nodes = 0
        self._scores = scores
        # Forbidden pairs count like the worst pair of all: nothing but the order of nodes needs it.
        worst = scores.pairwise.min(where=scores.pairwise > -np.inf, initial=0.0)
        tables = np.maximum(scores.pairwise, worst)
        unit = np.abs(tables).max(initial=0.0)  # squares leave the range of float64
        self._spread = (tables / unit if unit else tables).std(axis=(1, 2))

    def bound(self):
        return float(max([self.incumbent.value, *(bound for bound, _ in self.open)]))

    def explore(self, relaxation, n_iter):
        """Bound one problem, and open its parts if they may hold something better."""
        self.n_nodes += 1
        self._iterate(relaxation, n_iter)
        if relaxation.bound > self._cutoff():
            self._branch(relaxation)
        while self.open and self.open[-1][0] <= self._cutoff():
            self.open.pop()

    def _cutoff(self):
        return self.incumbent.value + self.incumbent.rounding

    def _iterate(self, relaxation, n_iter):
        for _ in range(n_iter):
            before = relaxation.bound
            for labels, value in relaxation.iterate(self._cutoff()):
                self.incumbent.offer(labels, value)
            gap = relaxation.bound - self.incumbent.value
            # Splitting gains more than such an iteration.
            if relaxation.bound == -np.inf or before - relaxation.bound < 1e-3 * gap < np.inf:
                break

    def _branch(self, relaxation):
        possible = relaxation.unary > -np.inf
        free = possible.sum(axis=1) > 1
        if not free.any():
            labels = possible.argmax(axis=1).astype(np.int32)
            self.incumbent.offer(labels, self._scores.value(labels))
            return
        edges = self._scores.edges
        at_stake = np.bincount(
            edges.ravel(), np.repeat(self._spread * free[edges].all(axis=1), 2), len(free)
        )
        node = int(np.where(free, at_stake, -1.0).argmax())
        bounds = np.where(possible[node], relaxation.bounds[node], -np.inf)
        state = int(bounds.argmax())
        best, rest = np.minimum(relaxation.bound, [bounds[state], np.delete(bounds, state).max()])
        fixed = relaxation.copy()
        fixed.unary[node, np.arange(len(bounds)) != state] = -np.inf
        relaxation.unary[node, state] = -np.inf
        self.open += [(rest, relaxation), (best, fixed)]
