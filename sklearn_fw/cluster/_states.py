"""States of an object and the action that changes them, found together in clips without labels."""

from dataclasses import KW_ONLY

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.budget import budget_now
from .._core.estimator import Estimator
from .._core.parameters import check_parameters
from .._core.result import History
from ..optim.domains import Product
from ._diffrac import Diffrac, relax, relaxed, start_of
from ._state_problem import Clips, Problem

N_CORNERS, N_WARM = 5, 30  # of the first points, and iterations on each problem alone
ROUND_EVERY = 25


class JointStateActionClustering(Estimator):
    """Joint discriminative clustering of object states and the action between them.

    A clip has rows of features in time, of which one is the action, and candidates, short
    observations that overlap, of which some show the object in one of its states. Minimizes
    ``f(Z) + g(Y) + d(Z, Y)``: losses of linear classifiers of actions and of states, and
    ``coupling / T`` times the sum of the times by which candidates in the first state come after
    the action, or those in the second before it. Choose it where neither can be found alone.

    Parameters
    ----------
    action_reg, state_reg : float, default=1e-2 and 1e-4
        Strength of the penalty on the classifier of actions, and on those of states.
    coupling : float, default=1.0
        Weight of times in the wrong order, per unit of time; 0 solves two problems apart.
    state_constraint : {"at_least_one", "exactly_one"}, default="at_least_one"
        How many candidates of each state a clip has.
    candidate_scores_weight : float, default=0.0
        Cost of choosing a candidate with detector score 0 instead of 1, over their number.
    restrict_action_to_candidates : bool, default=False
        Whether the action lies between the first and the last candidate of its clip.
    fit_intercept : bool, default=True
        Whether classifiers have intercepts, without a penalty.
    algorithm : {"fw", "bcfw", "alternating"}, default="fw"
        Steps of actions and states together; of one clip's action or states at a time; or actions
        and states in turn.
    rounding : {"joint", "independent"}, default="joint"
        Whether action and states of a clip are rounded together.
    n_init : int, default=1
        Number of random starts; the best objective counts.
    max_iter : int, default=600
        Largest number of Frank-Wolfe iterations; of passes with "bcfw". With "alternating" that of
        each run in actions or in states, and no turn begins after as many in all.
    tol : float, default=1e-4
        Stop when the gap is at most this fraction of the relaxed objective.
    random_state : int, RandomState instance or None, default=None
        Source of starts.

    Attributes
    ----------
    action_locations_, action_times_ : ndarray of shape (n_clips,)
        Row of the action in each clip, and its time.
    state_labels_, labels_ : list of ndarray, and ndarray of shape (n_candidates,)
        State of each candidate, 0 or 1, and -1 for none, by clip and of all clips.
    action_coef_, action_intercept_ : ndarray of shape (1, n_action_features) and (1,)
        Classifier of actions.
    state_coef_, state_intercept_ : ndarray of shape (2, n_state_features) and (2,)
        Classifiers of states.
    objective_, objective_parts_ : float, and ndarray of shape (3,)
        f + g + d of the assignment, with the cost of scores in g; and these parts.
    relaxed_objective_ : float
        That of the relaxed point, which is far below.
    gap_ : float
        Frank-Wolfe gap there; zero at stationary points.
    history_ : dict of str to ndarray
        One entry per iteration of the best start, with "alternating" per turn: "objective" and
        "dual_gap", among others.
    n_iter_, best_iter_ : int
        Iterations of the best start, and the one whose rounding is returned.

    Notes
    -----
    An iteration costs O((T + M) d) for T rows and M candidates in all, a joint rounding O(T m) for
    m candidates in a clip, and memory is O(T m). The problem is not convex; it starts where both
    parts alone end after 30 iterations. The best assignment met is returned, so no warning is given
    at ``max_iter``. The coupling is that of [1]_; its released code has half of it.

    References
    ----------
    .. [1] J.-B. Alayrac, J. Sivic, I. Laptev, S. Lacoste-Julien, "Joint discovery of object states
       and manipulation actions", ICCV 2017: equations 1 to 5, appendix, algorithm 1.

    Examples
    --------
    >>> from sklearn_fw.cluster import JointStateActionClustering
    >>> from sklearn_fw.datasets import make_state_action_clips
    >>> data = make_state_action_clips(5, random_state=0)
    >>> model = JointStateActionClustering(max_iter=50, random_state=0).fit(data.clips)
    >>> model.action_locations_.shape, len(model.state_labels_)
    ((5,), 5)
    """

    _: KW_ONLY
    action_reg: check.strength = 1e-2
    state_reg: check.strength = 1e-4
    coupling: check.moderate = 1.0
    state_constraint: check.options("at_least_one", "exactly_one") = "at_least_one"
    candidate_scores_weight: check.moderate = 0.0
    restrict_action_to_candidates: check.flag = False
    fit_intercept: bool = True
    algorithm: check.options("fw", "bcfw", "alternating") = "fw"
    rounding: check.options("joint", "independent") = "joint"
    n_init: int = 1
    max_iter: int = 600
    tol: float = 1e-4
    random_state: object = None

    def fit(self, clips, y=None):
        """Find actions and states.

        Parameters
        ----------
        clips : list of dict
            For each clip ``X_action`` (n_rows, n_action_features), ``t_action`` (n_rows,), the
            times of rows, ``X_state`` (n_candidates, n_state_features), and ``start`` and ``end``
            (n_candidates,), when each candidate begins and ends; besides, if wanted, ``t_state``
            (n_candidates,), its time, in place of the middle, and ``score`` (n_candidates,), how
            sure its detector is, from 0 to 1.
        y : None
            Unused.
        """
        rng = check.random_state(self.random_state)
        data = Clips(clips)
        problem = self._problem(data)
        settings = float(self.action_reg), float(self.state_reg), self.fit_intercept
        problem.learn(data, *settings)
        found = [self._search(problem, rng) for _ in range(int(self.n_init))]
        kept, result = min(found, key=lambda one: one[0].value)
        self._store(data, problem, kept, result)
        return self

    def _problem(self, data):
        return Problem(
            data, float(self.coupling), self.state_constraint,
            self.restrict_action_to_candidates, float(self.candidate_scores_weight),
        )  # fmt: skip

    def _search(self, problem, rng):
        settings = {"max_iter": N_WARM, "tol": 0.0, "rng": rng}
        x = np.concatenate([
            relax(Diffrac([term.alone()]), d, start=start_of(d, rng, N_CORNERS), **settings).x
            for term, d in zip(problem.objective.terms, (problem.actions, problem.states))
        ])  # fmt: skip
        kept = Kept(problem, self.rounding == "joint")
        settings = {"max_iter": int(self.max_iter), "tol": float(self.tol), "rng": rng}
        if self.algorithm == "alternating":
            result = self._alternate(problem, x, kept, settings)
        else:
            domain = Product(problem.actions, problem.states)
            if self.algorithm == "bcfw":
                domain = Product(*problem.actions.split().domains, *problem.states.split().domains)
            settings |= {"algorithm": self.algorithm, "watch": kept, "convex": False}
            result = relax(problem.objective, domain, start=x, **settings)
        kept(result.x, result.nit, always=True)
        return kept, result

    def _alternate(self, problem, x, kept, settings):
        """Minimize in actions and in states in turn, each to the end, while this helps."""
        whole, domains = problem.objective, (problem.actions, problem.states)
        value, done, history = whole.value(x), 0, History()
        while True:
            for term, domain, coupling, other in zip(
                whole.terms, domains, (whole.coupling, whole.coupling.T), reversed(whole.terms)
            ):
                linear = whole.linear[term.block] + coupling @ x[other.block]
                objective = Diffrac([term.alone()], linear=linear)
                result = relax(objective, domain, start=x[term.block], **settings)
                x = x.copy()
                x[term.block] = result.x
                done += result.nit
            before, (value, gradient) = value, whole(x)
            gap = float(gradient @ (x - Product(*domains).lmo(gradient).to_array()))
            row = {"n_iter": done, "time": budget_now().elapsed}
            history.add(row | {"objective": value, "dual_gap": gap})
            if before - value <= settings["tol"] * abs(value) or done >= settings["max_iter"]:
                return Bunch(x=x, fun=value, dual_gap=gap, nit=done, history=history.columns())
            kept(x, done, always=True)

    def _store(self, data, problem, kept, result):
        objective = problem.objective
        rows, states = kept.rows, kept.states
        self.action_locations_ = rows - data.row_starts[:-1]
        self.action_times_, self.labels_ = data.t_action[rows], states
        self.state_labels_ = np.split(states, data.starts[1:-1])
        x = problem.point(rows, states)
        (_, action), (_, state) = objective.fitted(x)
        self.action_coef_, self.action_intercept_ = action
        self.state_coef_, self.state_intercept_ = state
        self.objective_, self.best_iter_ = kept.value, kept.n_iter
        self.objective_parts_ = problem.parts(x)
        vars(self).update(relaxed(result))

    def decision_function(self, clips):
        """Scores of rows for the action, and of candidates for the states.

        Parameters
        ----------
        clips : list of dict
            As for `fit`.

        Returns
        -------
        scores : Bunch
            ``actions`` (n_rows,) and ``states`` (n_candidates, 2), one clip after the other.
        """
        return self._scores(clips)[1]

    def _scores(self, clips):
        check_is_fitted(self)
        check_parameters(self)  # of which some are read again
        data = Clips(clips, self.action_coef_.shape[1], self.state_coef_.shape[1])
        actions = data.X_action @ self.action_coef_[0] + self.action_intercept_[0]
        states = data.X_state @ self.state_coef_.T + self.state_intercept_
        return data, Bunch(actions=actions, states=states)

    def _rounded(self, clips):
        data, scores = self._scores(clips)
        rounded = self._problem(data).rounded(scores.actions, scores.states)
        return data, scores, rounded

    def predict(self, clips):
        """Predict the action and the states of clips jointly, by the learned classifiers.

        Parameters
        ----------
        clips : list of dict
            As for `fit`.

        Returns
        -------
        found : Bunch
            ``action_locations`` (n_clips,), rows within clips, and ``state_labels``, a list of
            arrays with 0, 1 or -1 for each candidate.
        """
        data, _, (rows, states, _) = self._rounded(clips)
        labels = np.split(states, data.starts[1:-1])
        return Bunch(action_locations=rows - data.row_starts[:-1], state_labels=labels)

    def score(self, clips, y=None):
        """Minus the cost of what `predict` finds, for the classifiers that were learned.

        Parameters
        ----------
        clips, y : list of dict, and None
            As for `fit`; y is not used.
        """
        _, scores, (_, _, value) = self._rounded(clips)
        # The mean of squares of states is over candidates alone.
        squares = np.mean(scores.actions**2) + np.mean(np.sum(scores.states**2, axis=1))
        return -float(value + squares / 2)


class Kept:
    """The best assignment that relaxed points were rounded to."""

    def __init__(self, problem, joint):
        self.problem, self.joint = problem, joint
        self.value, self.rows, self.states, self.n_iter = np.inf, None, None, 0
        self.best_apart = np.inf

    def __call__(self, x, n_iter, always=False):
        answers = self._answers(x)
        apart = self.problem.rounded_apart(*answers)
        value = self._offer(*apart, n_iter)
        if not self.joint:
            return
        if always or n_iter % ROUND_EVERY == 1:
            self._descend(*self.problem.rounded(*answers)[:2], n_iter)
        if value < self.best_apart:
            self.best_apart = value
            self._descend(*apart, n_iter)

    def _answers(self, x):
        (actions, _), (states, _) = self.problem.objective.fitted(x)
        return actions[:, 0], states

    def _descend(self, rows, states, n_iter):
        """Classifiers of an assignment, and the best assignment for these, in turn."""
        before, value = np.inf, self._offer(rows, states, n_iter)
        while value < before:
            answers = self._answers(self.problem.point(rows, states))
            rows, states, _ = self.problem.rounded(*answers)
            before, value = value, self._offer(rows, states, n_iter)

    def _offer(self, rows, states, n_iter):
        value = self.problem.objective.value(self.problem.point(rows, states))
        if value < self.value:
            self.value, self.rows, self.states, self.n_iter = value, rows, states, n_iter
        return value
