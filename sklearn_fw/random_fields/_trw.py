"""Tree-reweighted marginals by Frank-Wolfe."""

import functools
import math
from dataclasses import KW_ONLY

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from .._core import check
from .._core.budget import time_left
from .._core.loop import get_logger
from .._core.oracle import checked
from .._core.result import Outcome, Status
from .._core.scores import is_forest
from ..inference import BestOf, resolve_oracle
from ..optim.domains import LocalPolytope, MarginalPolytope
from ._choice import EXACT_SHARE, Choice, Inference, Request, choose, exact_inference, pairs_of
from ._estimator import MarginalsEstimator
from ._frank_wolfe import BarrierFrankWolfe, TRWRun, tighten
from ._map import eliminated
from ._reduced import soften
from ._spanning_trees import TreeChoice, starting_rho

RHO_ITERATIONS = 10  # problems solved for a given random field, as in the paper


class TRWMarginals(MarginalsEstimator):
    """Marginals and certified bounds on log Z, exact or by Frank-Wolfe.

    Minimizes over edge appearance probabilities rho the tree-reweighted bound::

        log Z <= max_mu  constant + <theta, mu> + sum_i H(mu_i) - sum_ij rho_ij I(mu_ij)

    over the marginal polytope, by fully corrective Frank-Wolfe with a MAP oracle. Choose it for
    strong or frustrated couplings, where message passing fails, and for certified bounds. By
    default, exact sums are returned where elimination fits into memory and ``time_limit``.

    Parameters
    ----------
    oracle : str, object or callable, default="auto"
        MAP solver, see `sklearn_fw.inference`. "auto" sums exactly where the graph allows it,
        without Frank-Wolfe, else takes "approx", which certifies less.
    polytope : {"marginal", "local"}, default="marginal"
        "local" takes the larger set of locally consistent marginals and a linear program as oracle,
        which is what message passing optimizes over: a looser bound.
    solver : BarrierFrankWolfe or None, default=None
        Settings of Frank-Wolfe, grid keys ``solver__variant``. None is ``BarrierFrankWolfe()``.
    rho_init : str or array-like of shape (n_edges,), default="matrix_tree_weighted"
        First edge appearance probabilities: of random spanning trees weighted by couplings;
        "matrix_tree" for uniform ones; "sampled" for the mean of 1000 random minimum spanning
        trees; or a point of the spanning tree polytope, which incomplete rows do not use.
    n_rho_iter : "auto" or int, default="auto"
        Choices of rho: 1 keeps the first. "auto" is 10 for a random field, as in the paper, 1 for a
        learned one, whose bound is known in closed form, and 1 for incomplete rows.
    tol : float, default=0.5
        Certified gap to reach for each rho, in nats of log Z.
    max_iter : int, default=500
        Frank-Wolfe steps for each rho.
    max_oracle_calls : int, default=None
        Oracle calls in all.
    time_limit : float, default=None
        Seconds for a fit, after which no new step starts and oracles end their calls. "auto" does
        not begin exact sums that would take longer. In `predict` incomplete rows have as much each.
    learner : MRFLearner or None, default=None
        For tables: how the field is learned. None is ``MRFLearner()``.
    warm_start : bool, default=False
        Start from the mixture of labelings of the previous fit, for ``polytope="marginal"``.
    random_state : int, RandomState instance or None, default=None
        For ``rho_init="sampled"`` and `sample`.
    verbose : int, default=0
        Log one line per oracle call to the logger "sklearn_fw".

    Attributes
    ----------
    log_partition_ : float
        The objective at these marginals.
    log_partition_upper_, log_partition_lower_ : float
        Certified bounds: log Z is between them. The upper one is inf when the oracle gives no
        bound. The lower one is the larger of the total potential of the labelings seen and of mean
        score plus entropy of independent variables near these marginals.
    dual_gap_ : float
        Certified gap for the last rho, at the marginals returned; inf if nothing is certified.
    estimated_gap_ : float
        The same with the oracle's labeling in place of its bound; equal for exact oracles.
    rho_ : ndarray of shape (n_edges,) or None
        Edge appearance probabilities of the last problem; None for exact sums with cycles.
    rho_gap_ : float
        How much lower the bound might be for other probabilities, to first order.
    method_ : {"exact", "frank_wolfe", "closed_form"}
        What was done: sums over all labelings, a search, or nothing, for a wide field that was
        learned and is the maximizer of its own bound.
    choice_ : str
        Why, in words and numbers.
    delta_ : float
        Contraction at the end.
    vertices_ : ndarray of shape (n_vertices, n_variables) or None
        Labelings in use; None for ``polytope="local"`` and exact sums.
    weights_ : ndarray of shape (n_vertices + 1,) or None
        Weights of the uniform point and of each labeling, shrunk by ``delta_``: a distribution
        with exactly these marginals. None for exact sums.
    mrf_, marginals_, edge_marginals_, factor_marginals_, categories_ : various
        As of every `MarginalsEstimator`.
    learning_history_, n_features_in_, feature_names_in_ : various
        As of every `MarginalsEstimator`.
    n_iter_ : int
        Frank-Wolfe steps in all; 1 for exact sums and the closed form.
    n_oracle_calls_ : int
        Oracle calls in all.
    oracle_ : object or None
        The oracle used; None for ``polytope="local"`` and the closed form.
    converged_ : bool
        Whether ``dual_gap_ <= tol``, ``log_partition_lower_`` is finite, and no forbidden labeling
        has weight but by contraction and by a last 1 % of the uniform point.
    status_ : str
        How the last problem ended.
    history_ : dict of str to ndarray
        One entry per oracle call: "n_iter", "time", "n_oracle_calls", "rho_iter", "objective"
        (log Z of the surrogate from below), "dual_objective" (from above), "dual_gap",
        "estimated_gap", "log_partition_upper" (best so far), "delta", "n_vertices"; NaN where
        nothing is certified. Empty where no oracle was asked.

    See Also
    --------
    TRBPMarginals : The same bound over locally consistent marginals, by message passing.

    Notes
    -----
    A step costs an oracle call, and a correction a few passes over the labelings found: time
    n_vertices * (n_variables + n_edges) each, memory 4 bytes for each variable and edge of each
    labeling. `sample` draws from the mixture of ``weights_``, after exact sums from the field.
    ``tol`` is the gap over the whole polytope: inexact oracles certify bounds that may be no better
    than those of ``polytope="local"``.

    Deviations from [1]_: the rho step is that of the authors' program, since the printed one is
    wrong (zero at first, then tending to one); delta is not halved after each choice of rho; the
    gap is never measured before a change of the point.

    References
    ----------
    .. [1] R. G. Krishnan, S. Lacoste-Julien, D. Sontag, "Barrier Frank-Wolfe for marginal
       inference", NIPS 2015: Algorithms 1 and 2.
    .. [2] M. J. Wainwright, T. S. Jaakkola, A. S. Willsky, "A new class of upper bounds on the log
       partition function", IEEE TIT 51, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw import TRWMarginals
    >>> from sklearn_fw.random_fields import PairwiseMRF
    >>> triangle = PairwiseMRF(np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], 2.0 - 2 * np.eye(2))
    >>> TRWMarginals().fit(triangle).choice_
    'exact by elimination: tables of up to 8 numbers, about 1.4e-07 s'
    >>> trw = TRWMarginals("elimination", tol=0.01).fit(triangle)
    >>> bool(trw.log_partition_lower_ <= np.log(2 + 6 * np.exp(4)) <= trw.log_partition_upper_)
    True
    """

    oracle: object = "auto"
    _: KW_ONLY
    polytope: check.options("marginal", "local") = "marginal"
    solver: object = None
    rho_init: object = "matrix_tree_weighted"
    n_rho_iter: check.auto_or(check.at_least(1)) = "auto"
    tol: check.positive = 0.5
    max_iter: int = 500
    max_oracle_calls: check.optional(check.at_least(1)) = None
    time_limit: float | None = None
    learner: object = None
    warm_start: bool = False
    random_state: object = None
    verbose: int = 0

    _defaults = MarginalsEstimator._defaults | {"solver": BarrierFrankWolfe}

    @property
    def sums_forests(self):
        return check.is_auto(self.oracle) and self.polytope != "local"

    def infer(self, field, request=Request()):  # noqa: B008 - it is immutable
        mrf, (learned, tasks, known) = field, request
        settings = self._settings()
        n_rho_iter = self.n_rho_iter
        if check.is_auto(n_rho_iter):
            n_rho_iter = RHO_ITERATIONS if learned is None and tasks is not None else 1
        choice = self._choose(mrf)
        rho, is_known = starting_rho(self.rho_init, mrf, request, self.random_state)
        is_answered = is_known and n_rho_iter == 1
        if is_answered and learned.rows is None:
            choice = choose(mrf)
        elif is_answered and not choice.sums:
            answer = _closed_form(mrf, learned)
            return self._told("closed_form", "a learned field maximizes its own bound", answer)
        if choice.sums:
            sums = functools.partial(exact_inference, mrf, choice.oracle)
            answer, reason = eliminated(sums, choice.reason)
            if answer is not None:
                own_rho = np.ones(mrf.n_edges) if is_forest(mrf.edges, mrf.n_variables) else None
                answer.attributes.update(_attributes_of(choice.oracle, own_rho))
                return self._told("exact", reason, answer)
            choice = Choice(BestOf(), False, reason)
        theta, notes = soften(mrf)
        polytope = LocalPolytope(mrf.n_states, mrf.edges)
        if choice.oracle is not None:
            is_default = check.is_auto(getattr(choice.oracle, "oracles", None))
            oracle = BestOf("quick") if is_default else choice.oracle
            polytope = MarginalPolytope(mrf.n_states, mrf.edges, oracle)
        run = TRWRun(mrf, theta, polytope, settings, tol=self.tol)
        if is_known:
            run.upper = 0.0  # this rho's bound is known: the potentials were made from it
        # Fields of incomplete rows, which come without tasks, have other variables.
        goes_on = self.warm_start and tasks is not None and self.polytope == "marginal"
        before = getattr(self, "vertices_", None) if goes_on else None
        if before is not None and np.array_equal(pairs_of(self.mrf_).n_states, mrf.n_states):
            run.resume(before, self.weights_, self.delta_)
        budget = request.loop_options(self, lambda: {"n_oracle_calls_": run.n_calls})
        budget["max_calls"] = self.max_oracle_calls or math.inf
        rho, rho_gap, status = tighten(run, rho, n_rho_iter=n_rho_iter, **budget)
        answer = self._answer_of(run, rho, rho_gap, status, notes, known is not None)
        return self._told("frank_wolfe", choice.reason, answer)

    def _choose(self, mrf):
        if self.polytope == "local":
            return Choice(None, False, "polytope='local': a linear program")
        if check.is_auto(self.oracle):
            return choose(mrf, EXACT_SHARE * time_left())
        return Choice(checked(resolve_oracle(self.oracle)), False, "the oracle that was given")

    def _answer_of(self, run, rho, rho_gap, status, notes, has_allowed):
        oracle = getattr(run.polytope, "oracle", None)
        history = run.history.columns()
        history.pop("stopping_gap", None)
        vertices = run.labelings if oracle is not None else None
        attributes = _attributes_of(oracle, rho, rho_gap, vertices, run.alpha.copy())
        attributes |= {
            "dual_gap_": run.gap,
            "estimated_gap_": run.estimated_gap,
            "delta_": run.delta,
            "n_oracle_calls_": run.n_calls,
            **Outcome(status, run.history.n_iter, history).attributes(),
        }
        failure = _failure(run, status, self.tol, run.lower > -math.inf or has_allowed)
        attributes["converged_"] = failure is None
        if failure is not None and status is not Status.STOPPED:
            notes.append(ConvergenceWarning(failure))
        return Inference(run.mu, run.log_partition, run.upper, run.lower, attributes, notes)

    def _told(self, method, reason, answer):
        get_logger(self.verbose).info("%s: %s, %s", type(self).__name__, method, reason)
        answer.attributes |= {"method_": method, "choice_": reason}
        return answer

    @available_if(lambda self: self.polytope == "marginal")
    def _draw(self, n_samples, rng):
        if self.method_ == "exact":
            draws = self.oracle_.sample(pairs_of(self.mrf_).scores(), n_samples, rng)
            return draws[:, : self.n_features_in_].astype(np.int64)
        X = (rng.random_sample((n_samples, self.mrf_.n_variables)) * self.mrf_.n_states).astype(int)
        atom = rng.choice(len(self.weights_), n_samples, p=self.weights_)
        kept = (atom > 0) & (rng.random_sample(n_samples) >= self.delta_)
        X[kept] = self.vertices_[atom[kept] - 1, : self.n_features_in_]
        return X

    # ---- parameters ----------------------------------------------------------------------------

    def _settings(self):
        solver = self._part("solver")
        solver._check()
        if solver.local_search == "icm" and self.polytope == "local":
            raise ValueError("local_search finds labelings: it needs polytope='marginal'")
        return solver


def _attributes_of(oracle, rho, rho_gap=0.0, vertices=None, weights=None):
    """Fitted attributes, with the numbers of an answer that took no search."""
    return {
        "dual_gap_": 0.0,
        "estimated_gap_": 0.0,
        "rho_": rho,
        "rho_gap_": rho_gap,
        "delta_": 0.0,
        "vertices_": vertices,
        "weights_": weights,
        "n_oracle_calls_": 0,
        "oracle_": oracle,
        **Outcome(Status.CONVERGED, 1, {}).attributes(),
    }


def _closed_form(mrf, learned):
    """Inference in a field that was made from its own marginals: objective and bound are zero."""
    choice = TreeChoice(mrf, learned.rho, lambda rho, i: (rho, learned.marginals))
    choice.step()
    attributes = _attributes_of(None, learned.rho, choice.rho_gap, learned.rows, learned.weight)
    lower = float(np.logaddexp.reduce(mrf.score(learned.rows)))
    return Inference(learned.marginals, 0.0, 0.0, lower, attributes)


def _failure(run, status, tol, has_allowed):
    """What the answer lacks, and the remedy; None for nothing."""
    gap = f"certified gap {run.gap:.3g}" if math.isfinite(run.gap) else "no certified gap"
    gap += f" (estimated {run.estimated_gap:.3g}), tol={tol:g}, after {run.n_calls} oracle calls"
    if not run.gap <= tol:
        remedy = "increase max_iter, max_oracle_calls or time_limit, or loosen tol"
        if status is Status.CONVERGED:
            remedy = "the oracle finds no better labeling but proves nothing; take an exact one"
        return f"{gap}: {remedy}"
    weight, fault = run.forbidden_weight(), None
    if not has_allowed:
        fault = "no labeling was found that the potentials of -inf allow"
    elif weight > 0.0:
        fault = f"a weight of {weight:.2g} is on labelings that the potentials of -inf forbid"
    remedy = "lower tol, or take polytope='marginal' with an exact oracle"
    return None if fault is None else f"{gap}, but {fault}: {remedy}"
