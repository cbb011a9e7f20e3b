"""Most probable labellings of random fields."""

from typing import NamedTuple

import numpy as np

from .._budget import time_budget
from .._loop import get_logger
from .._validation import check_time_limit
from ..inference import BestOf, IteratedLocalSearch
from ..inference._oracles._resolve import trusted_oracle
from ._choice import NOTHING_ALLOWED, Choice, choose

__all__ = ["MAPResult", "find_map"]

# Rounds of local search for each variable where nothing else is waited for, and their bounds.
ROUNDS_PER_VARIABLE, FEWEST_ROUNDS, MOST_ROUNDS = 200, 10_000, 1_000_000


class MAPResult(NamedTuple):
    """Answer of `PairwiseMRF.map`.

    Parameters
    ----------
    labels : ndarray of shape (n_variables,), int64
        The best labelling found.
    value : float
        Its score with the constant of the field: its log-probability up to log Z.
    bound : float
        No labelling has a larger score; inf if unknown.
    choice : str
        Which oracle was asked, and why.
    """

    labels: np.ndarray
    value: float
    bound: float
    choice: str

    @property
    def exact(self):
        """Whether the labelling is certainly a best one."""
        return self.value == self.bound


def find_map(mrf, oracle, start, time_limit):
    """The `MAPResult` of a random field, see `PairwiseMRF.map`."""
    seconds = check_time_limit(time_limit)
    if start is not None:
        start = mrf.check_labelling(start, "start")
    choice = _choice(mrf, oracle, seconds)
    scores = mrf.scores()
    with time_budget(time_limit, ends_oracles=True):
        try:
            labels, value, bound = choice.oracle.argmax(scores, start)
        except TimeoutError:
            if not isinstance(oracle, str) or oracle != "auto":
                raise
            reason = f"approximate: time_limit ended what was to be {choice.reason}"
            choice = Choice(BestOf(), False, reason)
            labels, value, bound = choice.oracle.argmax(scores, start)
    get_logger().info("map: %s", choice.reason)
    if bound == -np.inf:
        raise ValueError(NOTHING_ALLOWED)
    if value == -np.inf:
        raise ValueError(
            "no labelling was found that the potentials of -inf allow: pass an exact oracle, such "
            "as 'milp' or 'branch_and_bound', or one with more time"
        )
    labels = mrf.check_labels(np.asarray(labels)[None])[0]
    # The labels say what they are worth; oracles may sum up in another order.
    found = float(mrf.score(labels[None])[0])
    bound = found if value == bound else max(found, mrf.constant + bound)
    return MAPResult(labels, found, float(bound), choice.reason)


def _choice(mrf, oracle, seconds):
    if not (isinstance(oracle, str) and oracle == "auto"):
        return Choice(trusted_oracle(oracle), False, "the oracle that was given")
    # A labelling takes a third of the time of marginals, which `choose` reckons with.
    choice = choose(mrf, 3.0 * seconds)
    if choice.sums:
        return choice
    n_rounds = np.clip(ROUNDS_PER_VARIABLE * mrf.n_variables, FEWEST_ROUNDS, MOST_ROUNDS)
    search = IteratedLocalSearch(int(n_rounds))
    first = ["qpbo", "trws"] if mrf.n_states.max() <= 2 else ["trws"]
    return choice._replace(oracle=BestOf([*first, search]))
