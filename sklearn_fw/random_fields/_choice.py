"""What "auto" stands for: the exact answer where it costs little, else an approximation."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._core import check
from .._core.result import Status
from ..inference import BestOf, TreeMaxProduct, exact_oracle

ROUNDING = 1e-6  # by which probabilities may exceed one
EXACT_SHARE = 0.6  # of the time that is left that elimination may take where more may follow
NOTHING_ALLOWED = "potentials of -inf forbid every labeling: no state of some variable is left"


@dataclass
class Inference:
    """Answer of `MarginalsEstimator.infer`: marginals, and what is known of log Z.

    Parameters
    ----------
    marginals : ndarray of shape (size,)
        Probabilities of states of variables and factors, in the order of ``theta`` of the field.
    log_partition : float
        Log Z, or an estimate of it, in nats.
    upper, lower : float, default=inf and -inf
        Certified bounds on log Z.
    attributes : dict, default={}
        Further fitted attributes, by names that end in an underscore.
    notes : list of Warning, default=[]
        Warnings for the user, such as a ConvergenceWarning.
    """

    marginals: np.ndarray
    log_partition: float
    upper: float = np.inf
    lower: float = -np.inf
    attributes: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)

    def _check(self, theta, name):
        self.marginals = check.vector(self.marginals, f"marginals of {name}", len(theta))
        if np.any(self.marginals < -ROUNDING) or np.any(self.marginals > 1.0 + ROUNDING):
            raise ValueError(f"marginals of {name} must be probabilities, from 0 to 1")
        numbers = np.array([self.lower, self.log_partition, self.upper], float)
        if np.isnan(numbers).any() or self.lower > self.upper + ROUNDING * abs(self.upper):
            raise ValueError(
                f"{name} must return numbers with lower <= upper, got log_partition "
                f"{self.log_partition}, lower {self.lower} and upper {self.upper}"
            )


class Request(NamedTuple):
    """Metadata of a field besides its potentials, for `MarginalsEstimator.infer`."""

    learned: object = None  # the `LearnedMRF` that the field comes from
    tasks: object = None  # the `FitTasks` that callbacks follow, None outside of `fit`
    known: np.ndarray | None = None  # an allowed labeling, where one is needed and was found

    def loop_options(self, estimator, progress):
        """Keywords of `drive`; ``progress()`` gives fitted attributes to callbacks."""
        options = {name: getattr(estimator, name) for name in ("tol", "max_iter", "verbose")}
        return options if self.tasks is None else options | self.tasks.hooks(progress)


def unfinished(outcome, state, remedy="increase max_iter or time_limit, or loosen tol"):
    """A list of the warning that passes ended before ``tol`` was reached, empty if they did not."""
    if outcome.status in (Status.CONVERGED, Status.STOPPED):
        return []
    return [ConvergenceWarning(f"{state}, after {outcome.n_iter} passes: {remedy}")]


class Choice(NamedTuple):
    """An oracle, whether it also sums over all labelings, and why it was taken."""

    oracle: object
    sums: bool
    reason: str


def choose(mrf, time_limit=math.inf):
    """The oracle of "auto" for one random field and the seconds that there are.

    Marginals by elimination cost 3 to 10 of its MAP calls, fewer than any MAP-based method needs.
    """
    scores = mrf.scores()
    oracle, seconds = exact_oracle(scores)
    if isinstance(oracle, TreeMaxProduct):
        return Choice(oracle, True, "exact by message passing: the graph has no cycles")
    size = f"tables of up to {oracle.largest_table(scores):,} numbers"
    if seconds == math.inf:
        why = f"elimination needs {size}, or too many of them"
    elif seconds > time_limit:
        why = f"elimination needs about {seconds:.2g} s, time_limit is {time_limit:.2g}"
    else:
        return Choice(oracle, True, f"exact by elimination: {size}, about {seconds:.2g} s")
    return Choice(BestOf(), False, f"approximate: {why}")


def pairs_of(field):
    """The field of pairs that methods see which take nothing else."""
    return field if field._pairs else field.merge().to_pairwise()


def exact_inference(mrf, oracle):
    node, edge, log_partition = oracle.marginals(mrf.scores())
    log_partition += mrf.constant
    return Inference(mrf.flatten(node, edge), log_partition, log_partition, log_partition)
