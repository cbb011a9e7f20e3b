"""Marginals of the best product of independent distributions."""

import math
from dataclasses import KW_ONLY

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._core import check
from .._core.budget import budget_now
from .._core.loop import IterativeMethod, drive
from .._core.result import History, Status
from ._choice import Inference, Request, unfinished
from ._estimator import MarginalsEstimator
from ._objective import Products, distributions


class MeanFieldMarginals(MarginalsEstimator):
    """Marginals and a certified lower bound on log Z, by naive mean field.

    Maximizes over distributions q of independent variables, by coordinate ascent::

        log Z >= constant + sum_i <theta_i, q_i> + sum_ij q_i' theta_ij q_j + sum_i H(q_i)

    Choose it for a lower bound, or for a distribution that is easy to sample and score, on large
    dense graphs with weak couplings. With strong ones its marginals are those of one mode.

    Parameters
    ----------
    n_init : int, default=10
        Starts: one from the potentials of the variables alone, the others at random. The largest
        bound is kept.
    tol : float, default=1e-5
        Largest change of a probability in a pass at which to stop.
    max_iter : int, default=1000
        Passes for each start. A pass updates every variable once.
    time_limit : float, default=None
        Seconds after which no new pass starts, learning included.
    learner : MRFLearner or None, default=None
        For tables: how the field is learned. None is ``MRFLearner()``.
    random_state : int, RandomState instance or None, default=None
        For random starts and `sample`.
    verbose : int, default=0
        Log one line per pass to the logger "sklearn_fw".

    Attributes
    ----------
    marginals_ : ndarray of shape (n_variables, n_states)
        The distributions q; zero for states that a variable does not have.
    edge_marginals_ : ndarray of shape (n_edges, n_states, n_states)
        Products of these, in the order of ``mrf_.edges``.
    log_partition_, log_partition_lower_ : float
        The bound: log Z is at least this, converged or not. ``-inf`` if every start ended at a
        distribution that allows what is forbidden.
    log_partition_upper_ : float
        inf: nothing is known.
    mrf_, factor_marginals_, categories_ : various
        As of every `MarginalsEstimator`.
    learning_history_, n_features_in_, feature_names_in_ : various
        As of every `MarginalsEstimator`.
    n_iter_, converged_, status_ : int, bool, str
        Passes in all; whether the start that was kept reached ``tol``, and how it ended.
    history_ : dict of str to ndarray
        One entry per pass: "n_iter", "time", "start", "change"; and "objective", the bound, at the
        end of each start, else NaN.

    See Also
    --------
    TRBPMarginals : A bound from the other side, or loopy belief propagation.

    Notes
    -----
    A pass is linear in the size of the potentials. The bound never falls within a run; the problem
    is not concave, so starts matter. Potentials of ``-inf`` are exact. `sample` draws every
    variable by itself. `score_samples` is too large, since it uses the lower bound, and warns.

    References
    ----------
    .. [1] M. J. Wainwright, M. I. Jordan, "Graphical models, exponential families, and variational
       inference", FTML 1, 2008, section 5.3.

    Examples
    --------
    Three variables that all want to differ: log Z is 3.79.

    >>> import numpy as np
    >>> from sklearn_fw.random_fields import MeanFieldMarginals, PairwiseMRF
    >>> triangle = PairwiseMRF(np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], 2.0 - 4 * np.eye(2))
    >>> mean_field = MeanFieldMarginals(random_state=0).fit(triangle)
    >>> round(mean_field.log_partition_lower_, 2)
    2.73
    """

    _: KW_ONLY
    n_init: int = 10
    tol: check.positive = 1e-5
    max_iter: int = 1000
    time_limit: float | None = None
    learner: object = None
    random_state: object = None
    verbose: int = 0

    takes_factors = True

    def infer(self, field, request=Request()):  # noqa: B008 - it is immutable
        rng = check.random_state(self.random_state)
        run, history = Ascent(field), History()
        options = request.loop_options(self, lambda: {"n_iter_": history.n_iter})
        found, size = [], field.node_start[-1]
        for start in range(self.n_init):
            # By the potentials of the variables alone, then uniform ones of the simplex.
            logs = np.log(rng.standard_exponential(size)) if start else field.theta[:size]
            run.q = distributions(field, logs)
            history.common["start"] = start
            outcome = drive(run, history=history, **options)
            found.append((run.products.bound(run.q), run.q, outcome))
            history.amend(objective=found[-1][0])
            if outcome.status is Status.STOPPED or budget_now().is_spent:
                break
        # Starts that meet at one optimum differ by rounding only: the first of them counts.
        least = max(bound - 1e-12 * abs(bound) for bound, _, _ in found)
        best_bound, best, outcome = next(end for end in found if end[0] >= least)
        if best_bound == -math.inf and request.known is not None:
            best, best_bound = run.products.above(field.vertex(request.known))
            history.amend(objective=best_bound)
        outcome = outcome._replace(n_iter=history.n_iter, history=history.columns())
        state = f"probabilities still change by more than tol={self.tol:g} in a pass"
        notes = unfinished(outcome, state)
        if best_bound == -math.inf:
            text = (
                f"all of {len(found)} starts end with positive probability for what potentials of "
                f"-inf forbid, so the bound is -inf: increase n_init"
            )
            notes = [ConvergenceWarning(text)]
        return Inference(
            run.products.marginals(best), best_bound, lower=best_bound,
            attributes=outcome.attributes(), notes=notes,
        )  # fmt: skip

    def _draw(self, n_samples, rng):
        below = np.cumsum(self.marginals_, axis=1)
        # The last sum may be short of one by rounding: states of probability zero are not drawn.
        below /= below[:, -1:]
        u = rng.random_sample((n_samples, len(below), 1))
        return (u >= below).sum(axis=2)


class Ascent(IterativeMethod):
    certificate = "change"

    def __init__(self, mrf):
        self.products = Products(mrf)
        self.order = np.arange(mrf.n_variables)

    def step(self):
        change = self.products.ascend(self.order, self.q)
        return {"change": change if change < math.inf else None}
