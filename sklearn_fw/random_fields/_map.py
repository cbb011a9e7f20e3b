"""Most probable labellings of random fields."""

from typing import NamedTuple

import numpy as np

from .._budget import time_budget, time_left
from .._loop import get_logger
from .._validation import check_time_limit
from ..inference import TRWS, BestOf, IteratedLocalSearch
from ..inference._oracles._resolve import trusted_oracle
from ._choice import NOTHING_ALLOWED, Choice, choose
from ._factor_program import solve_factor_program
from ._mrf import PairwiseMRF
from ._reduced import Reduced
from ._regions import RegionSearch

__all__ = ["MAPResult", "find_map"]

# Rounds of local search for each variable where nothing else is waited for, and their bounds.
ROUNDS_PER_VARIABLE, FEWEST_ROUNDS, MOST_ROUNDS = 200, 10_000, 1_000_000


NOTHING_FOUND = (
    "no labelling was found that the potentials of -inf allow: pass an exact oracle, such as "
    "'milp' or 'branch_and_bound', or one with more time"
)
# On factor graphs: seconds of the integer program, its share of those that there are, and regions
# in vain that end the search behind it, without a limit and with one.
PROGRAM_SECONDS, PROGRAM_SHARE, PATIENCE, ENDLESS = 10.0, 0.25, 300, 10**9


class MAPResult(NamedTuple):
    """Answer of `FactorGraph.map` and `PairwiseMRF.map`.

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
    """The `MAPResult` of a random field, see `FactorGraph.map`."""
    seconds = check_time_limit(time_limit)
    if start is not None:
        start = mrf.check_labelling(start, "start")
    if not isinstance(mrf, PairwiseMRF):
        return _find_in_factors(mrf, oracle, start, time_limit, seconds)
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
        raise ValueError(NOTHING_FOUND)
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


def _find_in_factors(graph, oracle, start, time_limit, seconds):
    """The `MAPResult` of a factor graph: by elimination, or by way of a field of pairs."""
    reduced, auto = Reduced(graph), isinstance(oracle, str) and oracle == "auto"
    cost, size = reduced.cost(), f"tables of up to {reduced.largest_table():,} numbers"
    labels, bound = None, np.inf
    reason = (
        "the oracle that was given" if auto is False else f"approximate: elimination needs {size}"
    )
    with time_budget(time_limit, ends_oracles=True):
        if not len(reduced.free) or (auto and cost <= 3.0 * seconds and np.isfinite(cost)):
            try:
                labels, reason = reduced.best(), f"exact by elimination: {size}"
                bound = -np.inf  # its value
            except TimeoutError:
                reason = (
                    f"approximate: time_limit ended what was to be exact by elimination: {size}"
                )
        if labels is None:
            oracle = None if auto else trusted_oracle(oracle)
            labels, bound = _by_pairs(reduced, oracle, seconds)
    if start is not None and graph.score(start[None])[0] >= graph.score(labels[None])[0]:
        labels = start
    found = float(graph.score(labels[None])[0])
    if found == -np.inf:
        raise ValueError(NOTHING_FOUND)
    get_logger().info("map: %s", reason)
    return MAPResult(labels, found, max(found, bound), reason)


def _by_pairs(reduced, oracle, seconds):
    """Labels and a bound, from an oracle on fields of pairs or from all that "auto" stands for."""
    graph = reduced.graph()
    pairs = graph.merge().to_pairwise()
    scores, n = pairs.scores(), graph.n_variables
    if oracle is not None:
        found, _, bound = oracle.argmax(scores)
        if bound == -np.inf:
            raise ValueError(NOTHING_ALLOWED)
        return reduced.labels(found[:n]), float(bound + pairs.constant)
    found, value, bound = TRWS().argmax(scores)
    labels = np.asarray(found[:n], dtype=np.int64)
    if bound > value:
        found, better = solve_factor_program(
            graph, min(PROGRAM_SECONDS, PROGRAM_SHARE * min(seconds, time_left()))
        )
        bound = min(bound, better)
        if found is not None and graph.score(found[None])[0] - pairs.constant > value:
            labels = found
            value = float(graph.score(labels[None])[0]) - pairs.constant
    if bound > value > -np.inf:
        patience = PATIENCE if time_left() == np.inf else ENDLESS
        labels = RegionSearch(graph, np.random.default_rng(0)).improve(labels, patience)
    if bound == -np.inf:
        raise ValueError(NOTHING_ALLOWED)
    return reduced.labels(labels), float(bound + pairs.constant)
