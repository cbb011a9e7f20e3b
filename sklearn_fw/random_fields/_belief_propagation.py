"""Marginals by messages between neighbors: tree-reweighted and loopy belief propagation."""

import dataclasses
import math
from dataclasses import KW_ONLY

import numpy as np

from .._core import check
from .._core.budget import part_of_time, time_left
from .._core.loop import IterativeMethod, drive
from .._core.result import History, Status
from .._core.scores import is_forest
from .._kernels import lazy
from ._choice import NOTHING_ALLOWED, Inference, Request, unfinished
from ._estimator import MarginalsEstimator
from ._objective import make_layout, parts_in_time, uniform_marginals
from ._spanning_trees import TreeChoice, spanning_tree_probabilities, starting_rho

belief_propagation = lazy("graphs.belief_propagation")

DIVERGED = 1e3  # times the least distance from rest: messages go back there, with more damping
SECONDS_PER_TERM = 4e-8  # of the last pass, for each pair of states and direction
MIN_RHO = 1e-3  # messages are scaled by 1 / rho: below this they take too long to settle


class TRBPMarginals(MarginalsEstimator):
    """Marginals and a bound on log Z by tree-reweighted or loopy belief propagation.

    Solves, for edge appearance probabilities rho, the tree-reweighted problem over locally
    consistent marginals::

        log Z <= max_mu  constant + <theta, mu> + sum_i H(mu_i) - sum_ij rho_ij I(mu_ij)

    Choose it for wide graphs with weak or mostly attractive couplings: a pass is linear in the size
    of the potentials. With strong frustrated couplings the marginals tend to 1/2 and the bound is
    loose; `TRWMarginals` excludes such points. With ``rho_init="ones"`` it is loopy belief
    propagation, whose fixed points are the stationary points of the Bethe approximation: exact on
    trees, often accurate on sparse graphs, and with a certified lower bound only.

    Parameters
    ----------
    rho_init : str or array-like of shape (n_edges,), default="matrix_tree_weighted"
        First edge appearance probabilities: of random spanning trees weighted by couplings;
        "matrix_tree" for uniform ones; "sampled" for the mean of 1000 random minimum spanning
        trees; "ones" for loopy belief propagation; or a point of the spanning tree polytope, in
        place of which `predict` takes the default for incomplete rows.
    n_rho_iter : int, default=1
        Choices of rho: 1 keeps the first, more move towards the tree of largest mutual information
        in steps of 2 / (i + 2).
    update : {"sequential", "random", "parallel"}, default="sequential"
        Order of messages in a pass: up and down, random, or all at once.
    damping : float, default=0.5
        Fraction of the old log-message in a new one, in [0, 1). Nothing is damped without cycles.
    tol : float, default=0.01
        Distance of the messages from rest at which to stop, in nats of log Z: about how far
        ``log_partition_upper_`` is above ``log_partition_``.
    max_iter : int, default=1000
        Passes for each rho. A pass sends every message once.
    time_limit : float, default=None
        Seconds after which no new pass starts, learning included.
    learner : MRFLearner or None, default=None
        For tables: how the field is learned. None is ``MRFLearner()``.
    random_state : int, RandomState instance or None, default=None
        For ``update="random"`` and ``rho_init="sampled"``.
    verbose : int, default=0
        Log one line per pass to the logger "sklearn_fw".

    Attributes
    ----------
    marginals_ : ndarray of shape (n_variables, n_states)
        Beliefs; zero for states that a variable does not have.
    edge_marginals_ : ndarray of shape (n_edges, n_states, n_states)
        Beliefs of pairs, in the order of ``mrf_.edges``; consistent up to ``tol``.
    log_partition_ : float
        Objective at the beliefs, no bound unless ``converged_``; for "ones" the Bethe
        approximation.
    log_partition_upper_ : float
        Certified upper bound on log Z, converged or not: best over all rho. For "ones" it is inf on
        graphs with cycles.
    log_partition_lower_ : float
        Certified lower bound: mean score and entropy of independent variables near these marginals.
        On graphs without cycles it meets the upper bound.
    rho_ : ndarray of shape (n_edges,)
        Edge appearance probabilities that the marginals belong to.
    rho_gap_ : float
        How much lower the bound might be for other probabilities, to first order; NaN for "ones".
    mrf_, factor_marginals_, categories_ : various
        As of every `MarginalsEstimator`.
    learning_history_, n_features_in_, feature_names_in_ : various
        As of every `MarginalsEstimator`.
    n_iter_, converged_, status_ : int, bool, str
        Passes in all; whether the last problem reached ``tol``, and how it ended.
    history_ : dict of str to ndarray
        One entry per pass: "n_iter", "time", "rho_iter", "slack" (distance from rest); at the end
        of each rho, else NaN, "objective", "dual_objective" (the bound) and "dual_gap".

    See Also
    --------
    TRWMarginals : The same bound over the marginal polytope: tighter, at the cost of an oracle.

    Notes
    -----
    A pass takes an exponential for each entry of each edge table and direction. On a chain whose
    variables are numbered along it two passes are exact, on other forests at most as many as the
    longest path has edges. The upper bound needs no convergence: any messages split the potentials
    among spanning trees, and each edge, summed from the leaves, contributes its largest factor.

    Deviations from [1]_: this bound, which is also the stopping rule; probabilities below 1e-3 are
    raised by mixing in those of uniform spanning trees, because messages are scaled by 1 / rho.
    Arrays are tested for the spanning tree polytope, in part only beyond 500 variables.

    References
    ----------
    .. [1] M. J. Wainwright, T. S. Jaakkola, A. S. Willsky, "A new class of upper bounds on the log
       partition function", IEEE TIT 51, 2005.
    .. [2] J. S. Yedidia, W. T. Freeman, Y. Weiss, "Constructing free-energy approximations and
       generalized belief propagation algorithms", IEEE TIT 51, 2005: loopy belief propagation.

    Examples
    --------
    Three variables that all want to differ: log Z is 3.79, and the bound is far above.

    >>> import numpy as np
    >>> from sklearn_fw.random_fields import PairwiseMRF, TRBPMarginals
    >>> triangle = PairwiseMRF(np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], 2.0 - 4 * np.eye(2))
    >>> trbp = TRBPMarginals().fit(triangle)
    >>> round(trbp.log_partition_upper_, 4)
    6.6981
    >>> trbp.marginals_.round(3).tolist()
    [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]
    """

    rho_init: object = "matrix_tree_weighted"
    _: KW_ONLY
    n_rho_iter: check.at_least(1) = 1
    update: check.options("sequential", "random", "parallel") = "sequential"
    damping: check.within(0.0, 1.0, "left") = 0.5
    tol: check.positive = 1e-2
    max_iter: int = 1000
    time_limit: float | None = None
    learner: object = None
    random_state: object = None
    verbose: int = 0

    def infer(self, field, request=Request()):  # noqa: B008 - it is immutable
        rng, is_loopy = check.random_state(self.random_state), check.is_named(self.rho_init, "ones")
        run = Propagation(field, self.damping, self.update, rng, bounds=not is_loopy)
        run.options = request.loop_options(self, lambda: {"n_iter_": run.history.n_iter})
        if is_loopy:
            if self.n_rho_iter > 1:
                raise ValueError('n_rho_iter must be 1 for rho_init="ones", whose weights stay')
            answer = run.solve(np.ones(field.n_edges))
            answer.attributes["rho_gap_"] = np.nan
            return answer
        rho, is_known = starting_rho(self.rho_init, field, request, rng, "ones")
        answers = []

        def solve(rho, i):
            run.history.common["rho_iter"] = i
            if i or not is_known:  # for a known one, messages of zero are the answer
                rho = away_from_zero(field, rho)
            answers.append(run.solve(rho))
            return rho, answers[-1].marginals

        choice = TreeChoice(field, rho, solve)
        drive(choice, tol=0.0, max_iter=self.n_rho_iter, end=lambda: run.status is Status.STOPPED)
        answers[-1].attributes["rho_gap_"] = choice.rho_gap
        upper, lower = min(a.upper for a in answers), max(a.lower for a in answers)
        return dataclasses.replace(answers[-1], upper=upper, lower=lower)


class Propagation(IterativeMethod):
    """Messages of one random field; ``rho`` may change between two loops."""

    certificate = "slack"

    def __init__(self, mrf, damping, update, rng, bounds):
        self.mrf, self.update, self.rng = mrf, update, rng
        self.history = History()
        self.is_forest = is_forest(mrf.edges, mrf.n_variables)
        self.bounds = bounds or self.is_forest
        self.damping = 0.0 if self.is_forest else float(damping)
        self.layout = make_layout(mrf)
        self.messages = np.zeros(self.layout.message_start[-1])
        self.slack = np.empty(len(self.layout.scope))
        self.beliefs = uniform_marginals(mrf)[: mrf.node_start[-1]]
        self.order = np.arange(mrf.n_variables)
        pairs = np.repeat(np.diff(mrf.edge_start), 2)
        self.work = np.bincount(mrf.edges.ravel(), pairs, mrf.n_variables)
        self.rho = None

    def solve(self, rho):
        self.set_rho(rho)
        # The end is a pass, too, and a dearer one.
        reserve = SECONDS_PER_TERM * self.work.sum()
        with part_of_time(1.0, max(time_left() - reserve, time_left() / 2)):
            outcome = drive(self, history=self.history, **self.options)
        self.status = outcome.status
        answer = self.solution()
        self.history.amend(objective=answer.log_partition)
        if self.bounds:
            gap = answer.upper - answer.log_partition
            self.history.amend(dual_objective=answer.upper, dual_gap=gap)
        outcome = outcome._replace(n_iter=self.history.n_iter, history=self.history.columns())
        answer.attributes |= {"rho_": rho, **outcome.attributes()}
        state = f"messages are {self.least[0]:.2g} nats from rest, tol={self.options['tol']:g}"
        remedy = "increase max_iter, time_limit or damping, or loosen tol"
        answer.notes += unfinished(outcome, state, remedy)
        return answer

    def solution(self):
        if self.least[0] < math.inf:  # a whole pass was made
            self.messages[:] = self.least[1]
        mu, rho = np.empty_like(self.theta), self.rho
        estimate, upper, lower = belief_propagation.conclude(
            self.layout, self.theta, rho, self.messages, mu
        )
        if upper == -math.inf:
            raise ValueError(NOTHING_ALLOWED)
        if not self.is_forest:
            lower = -math.inf  # what messages prove holds on forests only
        if not self.bounds:
            upper = math.inf
        constant = self.mrf.constant
        return Inference(mu, constant + estimate, constant + upper, constant + lower)

    def set_rho(self, rho):
        """Take other edge weights; the share of each edge in the potentials of nodes stays."""
        if self.rho is not None:
            factor = np.repeat(self.rho / rho, 2)
            self.messages *= np.repeat(factor, np.diff(self.layout.message_start))
        self.rho, self.least = rho, (math.inf, self.messages.copy())
        self.theta = self.mrf.theta.copy()
        self.theta[self.mrf.node_start[-1] :] /= np.repeat(rho, np.diff(self.mrf.edge_start))

    def step(self):
        if self.update == "random":
            self.order = self.rng.permutation(len(self.order))
        old = self.messages.copy() if self.update == "parallel" else self.messages
        n_done = 0
        for part in parts_in_time(self.order, self.work):
            possible = belief_propagation.propagate(
                self.layout, self.theta, self.rho, part, self.damping, old, self.messages,
                self.beliefs, self.slack,
            )  # fmt: skip
            n_done += len(part)
            if not possible:
                raise ValueError(NOTHING_ALLOWED)
        is_whole = n_done == len(self.order)
        if self.update == "sequential":
            # Up and down: on a chain two passes are exact.
            self.order = np.ascontiguousarray(self.order[::-1])
        if not is_whole:
            return {"slack": None}
        slack = float(self.rho @ self.slack.reshape(-1, 2).max(axis=1))
        if slack < self.least[0]:
            self.least = slack, self.messages.copy()
        elif not slack <= DIVERGED * self.least[0]:
            self.messages[:] = self.least[1]
            self.damping = (1.0 + self.damping) / 2.0
            return {"slack": None}
        return {"slack": slack}


def away_from_zero(mrf, rho):
    """The nearest edge probabilities towards those of uniform spanning trees that are not tiny."""
    if not np.any(rho < MIN_RHO):
        return rho
    uniform = spanning_tree_probabilities(mrf.edges, mrf.n_variables)
    floor = np.minimum(MIN_RHO, uniform / 2)
    low = rho < floor
    share = np.max((floor - rho)[low] / (uniform - rho)[low], initial=0.0)
    return rho + share * (uniform - rho)
