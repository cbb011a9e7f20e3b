"""Exact search on any graph, with bounds from tree-reweighted message passing."""

import functools
import logging
from time import perf_counter
from typing import NamedTuple

import numpy as np

from ..._core.budget import time_left
from ..._core.parameters import at_least, optional
from ..._core.validation import check_time_limit
from ._adjacency import GraphOracle, PlanCache, adjacency
from ._messages import Incumbent, Relaxation
from ._settle import settled

logger = logging.getLogger("sklearn_fw")


class BranchAndBound(GraphOracle):
    """Best labelling of any graph, by depth-first search with tree-reweighted bounds.

    Maximises the score of `PairwiseScores` exactly, cycles or not, if it is given the time; with
    a budget it returns the best labelling found and a bound on all others. Choose it for graphs
    with cycles whose tree-width is too large for elimination, and when a gap that `TRWS` leaves
    has to be closed or made smaller.

    Parameters
    ----------
    max_nodes : int, default=None
        Largest number of search nodes (subproblems) that are bounded, the whole problem included.
        None for no limit.
    time_limit : float, default=None
        Seconds after which the search ends, looked at before each subproblem; None for no limit.
        Answers under a time limit depend on the machine.
    max_iter : int, default=20
        Largest number of iterations of `TRWS` on the whole problem.
    node_iter : int, default=2
        Largest number of iterations on each subproblem, which starts where the problem it is part
        of ended. More of them mean fewer but dearer subproblems.

    Attributes
    ----------
    exact : bool
        True without a budget: ``value`` and ``upper_bound`` are equal in every answer. With
        ``max_nodes`` or ``time_limit`` they are where the search came to its end.

    See Also
    --------
    TRWS : The bound without the search.
    Elimination : Exact, at a cost that the graph alone decides.
    MILP : Exact search by a general solver.

    Notes
    -----
    A subproblem has some states forbidden. Its iterations give a bound on every state of every
    node, and a state is forbidden as well when its bound shows that it cannot improve on the best
    labelling so far, which begins as that of `ICM` from ``start``. The node with most score at
    stake on edges to others with several states (standard deviation of each table, summed up) is
    divided: its most promising state is fixed in one subproblem, looked at first, and forbidden in
    the other.

    Time is exponential in the worst case, and 4 * node_iter * n_edges * n_states^2 for each
    subproblem; memory n_edges * n_states for each level of the search. Errors of rounding are those
    of `TRWS`: value and bound differ where scores that matter cancel others some 1e5 times their
    size on graphs of more than 16384 labellings.

    References
    ----------
    .. [1] A. H. Land and A. G. Doig, "An automatic method of solving discrete programming
       problems", Econometrica 28(3), 497-520, 1960.
    .. [2] V. Kolmogorov, "Convergent tree-reweighted message passing for energy minimization", IEEE
       TPAMI 28(10), 1568-1583, 2006: the bounds.

    Examples
    --------
    Three nodes that want to differ from each other, with two states: one pair must agree. The
    relaxation alone does not see this.

    >>> import numpy as np
    >>> from sklearn_fw.inference import BranchAndBound, PairwiseScores
    >>> triangle = [(0, 1), (1, 2), (2, 0)]
    >>> unary = [[0.1, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> scores = PairwiseScores.from_arrays(unary, 1 - np.eye(2), triangle)
    >>> labels, value, upper_bound = BranchAndBound().argmax(scores)
    >>> value, upper_bound
    (2.1, 2.1)
    >>> labels, value, upper_bound = BranchAndBound(max_nodes=1).argmax(scores)
    >>> value, round(upper_bound, 6)
    (2.1, 3.05)
    """

    _plan = PlanCache(adjacency)
    parameters = {"max_nodes": optional(at_least(1)), "node_iter": at_least(1)}

    def __init__(self, max_nodes=None, time_limit=None, max_iter=20, node_iter=2):
        self.max_nodes = max_nodes
        self.time_limit = time_limit
        self.max_iter = max_iter
        self.node_iter = node_iter

    @property
    def exact(self):
        return self.max_nodes is None and self.time_limit is None

    def _argmax(self, scores, start):
        end = perf_counter() + min(check_time_limit(self.time_limit), time_left())
        return settled(functools.partial(self._search, end=end), scores, start, exact=self.exact)

    def _search(self, scores, start, end):
        max_nodes = np.inf if self.max_nodes is None else self.max_nodes
        search = _Search(scores, self._plan(scores), start)
        search.explore(Relaxation(search.incumbent.problem, search.incumbent.potts), self.max_iter)
        while search.open and search.n_nodes < max_nodes and perf_counter() < end:
            search.explore(search.open.pop().restricted(), self.node_iter)
        logger.debug("branch and bound: %d subproblems, %d left", search.n_nodes, len(search.open))
        return search.incumbent.answer(search.bound())


class _Part(NamedTuple):
    """One of two parts of a problem: ``node`` has ``state``, or any other one."""

    bound: float
    relaxation: Relaxation  # of both; the part that is solved last may overwrite it
    node: int
    state: int
    fixed: bool

    def restricted(self):
        relaxation = self.relaxation.copy() if self.fixed else self.relaxation
        unary = relaxation.unary[self.node]
        if self.fixed:
            unary[np.arange(len(unary)) != self.state] = -np.inf
        else:
            unary[self.state] = -np.inf
        return relaxation


class _Search:
    """The best labelling so far and the parts of the problem that may hold better ones."""

    def __init__(self, scores, plan, start):
        self.incumbent = Incumbent(scores, plan, start)
        self.open = []
        self.n_nodes = 0
        self._scores = scores
        # Forbidden pairs count like the worst pair of all: nothing but the order of nodes needs it.
        worst = scores.pairwise.min(where=scores.pairwise > -np.inf, initial=0.0)
        tables = np.maximum(scores.pairwise, worst)
        unit = np.abs(tables).max(initial=0.0)  # squares leave the range of float64
        self._spread = (tables / unit if unit else tables).std(axis=(1, 2))

    def bound(self):
        return float(max([self.incumbent.value, *(part.bound for part in self.open)]))

    def explore(self, relaxation, n_iter):
        """Bound one problem, and open its parts if they may hold something better."""
        self.n_nodes += 1
        self._iterate(relaxation, n_iter)
        if relaxation.bound > self._cutoff():
            self._branch(relaxation)
        while self.open and self.open[-1].bound <= self._cutoff():
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
        self.open.append(_Part(rest, relaxation, node, state, fixed=False))
        self.open.append(_Part(best, relaxation, node, state, fixed=True))
