"""Most probable labellings of random fields."""

import copy
import itertools
from typing import NamedTuple

import numpy as np

from .._core.budget import part_of_time, time_budget, time_left
from .._core.checked_oracle import checked
from .._core.loop import get_logger
from .._core.scores import is_forest
from .._core.validation import check_time_limit, is_auto
from ..inference import TRWS, BestOf, IteratedLocalSearch, resolve_oracle
from ._choice import EXACT_SHARE, NOTHING_ALLOWED, choose
from ._factor_program import n_equations, solve_factor_program
from ._reduced import Reduced, soften
from ._regions import RegionSearch

# Rounds of local search for each variable where nothing else is waited for, and their bounds.
ROUNDS_PER_VARIABLE, FEWEST_ROUNDS, MOST_ROUNDS = 200, 10_000, 1_000_000


NOTHING_FOUND = (
    "no labelling was found that the potentials of -inf allow: pass an exact oracle, such as "
    "'milp' or 'branch_and_bound', or one with more time"
)
# Search in rounds of regions and of the integer program: seconds of the first of each, how much
# longer the next ones are, rounds without a limit, and regions in vain that end one round, the last
# round, and none.
REGION_SECONDS, PROGRAM_SECONDS, LONGER, ROUNDS = 0.5, 2.0, 4.0, 2
PATIENCE, MORE_PATIENCE, ENDLESS = 30, 300, 10**9
PAYS = 0.7  # share of the gap that a program may leave and be asked again at once
# Numbers of arrays for which fields of pairs are worth their memory, and seconds for each of their
# edges; equations of the program that are made and solved in a second.
MOST_PAIRS, SECONDS_PER_EDGE, EQUATIONS_PER_SECOND = 2**24, 2e-5, 2e5
# Shares of the time that is left that messages and a program may take.
MESSAGES_SHARE, PROGRAM_SHARE = 0.3, 0.75
ALLOWED_SECONDS = 10.0  # of a search for any allowed labelling
ROUNDING = 1e-9  # share of a bound by which a value may miss it


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


def find_map(field, oracle, start, time_limit):
    """The `MAPResult` of a random field, see `FactorGraph.map`."""
    check_time_limit(time_limit)
    if start is not None:
        start = field.check_labelling(start, "start")
    auto = is_auto(oracle)
    oracle = None if auto else checked(resolve_oracle(oracle))
    with time_budget(time_limit, ends_oracles=True):
        if field._pairs and (not auto or _as_pairs(field)):
            labels, bound, reason = _find_in_pairs(field, oracle, start)
        else:
            labels, bound, reason = _find_in_factors(field, oracle)
    get_logger().info("map: %s", reason)
    if bound == -np.inf:
        raise ValueError(NOTHING_ALLOWED)
    labels = field.check_labels(np.asarray(labels)[None])[0]
    # The labels say what they are worth; oracles may sum up in another order.
    found = _score(field, labels)
    if start is not None and _score(field, start) > found:
        labels, found = start, _score(field, start)
    if found == -np.inf:
        raise ValueError(NOTHING_FOUND)
    return MAPResult(labels, found, found if bound is None else max(found, bound), reason)


def allowed_labelling(field, share=1.0):
    """An allowed labelling of a field with potentials of -inf; None for others, or if time ends.

    A ValueError where it is proved that there is none. ``share`` is that of the time that is left.
    """
    if field.theta.min() > -np.inf or time_left() <= 0.0:
        return None
    with part_of_time(share, ALLOWED_SECONDS):
        if field._pairs and is_forest(field.edges, field.n_variables):
            labels, bound, _ = _find_in_pairs(field, None, None)
        else:
            labels, bound, _ = _find_in_factors(field, None, first=True)
    if bound == -np.inf:
        raise ValueError(NOTHING_ALLOWED)
    labels = np.asarray(labels, np.int64)
    return labels if _score(field, labels) > -np.inf else None


def _score(field, labels):
    return float(field.score(labels[None])[0])


def _as_pairs(field):
    """Whether the field of pairs that a field is or becomes is worth its memory and the time."""
    n_edges, k = sum(map(len, field.scopes)), int(field.n_states.max())
    if not field._pairs:
        n_allowed = (np.count_nonzero(t > -np.inf) for t in field.tables if t.ndim > 2)
        k = max([k, *n_allowed])
    seconds = n_edges * SECONDS_PER_EDGE
    return n_edges * float(k) ** 2 <= MOST_PAIRS and seconds <= MESSAGES_SHARE * time_left()


def _eliminated(eliminate, reason):
    """What ``eliminate()`` returns, and why; None and why not where time ends."""
    try:
        with part_of_time(EXACT_SHARE):
            return eliminate(), reason
    except TimeoutError:
        return None, f"approximate: time_limit ended what was to be {reason}"


def _find_in_pairs(mrf, oracle, start):
    """(labels, bound or None for their score, reason) of a field of pairs, by oracles on it."""
    scores = mrf.scores()
    if oracle is not None:
        reason = "the oracle that was given"
        labels, value, bound = oracle.argmax(scores, start)
    else:
        # A labelling takes a third of the time of marginals, which `choose` reckons with.
        choice = choose(mrf, 3.0 * EXACT_SHARE * time_left())
        found, reason = None, choice.reason
        if choice.sums:
            found, reason = _eliminated(lambda: choice.oracle.argmax(scores, start), reason)
        if found is None:
            found = _approximate(mrf, scores, start)
        labels, value, bound = found
    return labels, None if value == bound > -np.inf else mrf.constant + bound, reason


def _approximate(mrf, scores, start):
    """(labels, value, bound) by messages, local search and what comes after them."""
    n_rounds = np.clip(ROUNDS_PER_VARIABLE * mrf.n_variables, FEWEST_ROUNDS, MOST_ROUNDS)
    first = ["qpbo", "trws"] if mrf.n_states.max() <= 2 else ["trws"]
    with part_of_time(2 * MESSAGES_SHARE):
        labels, value, bound = BestOf([*first, IteratedLocalSearch(int(n_rounds))]).argmax(
            scores, start
        )
    if not value < bound:
        return labels, value, bound
    labels, bound = _refined(mrf, np.asarray(labels, np.int64), bound)
    value = _score(mrf, labels) - mrf.constant
    return labels, value, max(value, bound)


def _find_in_factors(graph, oracle, first=False):
    """(labels, bound, reason) of a factor graph: by elimination, messages, regions and programs.

    With ``first`` any allowed labelling will do.
    """
    reduced = Reduced(graph)
    size = f"tables of up to {reduced.largest_table():,} numbers"
    cost, reason = reduced.cost(), f"exact by elimination: {size}"
    if not len(reduced.free) or (
        oracle is None and cost <= 3.0 * EXACT_SHARE * time_left() and np.isfinite(cost)
    ):
        labels, reason = _eliminated(reduced.best, reason)
        if labels is not None:
            return labels, None, reason
    elif oracle is None:
        reason = f"approximate: elimination needs {size}"
    else:
        reason = "the oracle that was given"
    rest = reduced.graph()
    labels = np.array([block.argmax() for block in rest.unary])
    bound = sum(block.max() for block in (*rest.unary, *rest.tables))
    if oracle is not None:
        found, _, bound = oracle.argmax(rest.merge().to_pairwise().scores())
        labels = np.asarray(found[: rest.n_variables], np.int64)
    elif time_left() > 0.0:
        if not first and _as_pairs(rest):
            pairs = rest.merge().to_pairwise()
            with part_of_time(MESSAGES_SHARE):
                found, _, bound = TRWS().argmax(pairs.scores())
            labels = np.asarray(found[: rest.n_variables], np.int64)
        labels, bound = _refined(rest, labels, bound, first)
    return reduced.labels(labels), float(bound + rest.constant), reason


def _refined(graph, labels, bound, first=False):
    """Better labels and a bound, without the constant, by rounds of regions and of programs.

    The rounds are the same with any limit, which only ends them: more time gives no less.
    """
    soft = copy.copy(graph)
    soft.theta = soften(graph, [])
    search, pays = RegionSearch(soft, graph.theta == -np.inf, np.random.default_rng(0)), True
    is_endless = time_left() == np.inf

    def value():
        return _score(graph, labels) - graph.constant

    def is_over():
        reached = bound == -np.inf or bound - value() <= ROUNDING * max(1.0, abs(bound))
        return reached or time_left() <= 0.0 or (first and value() > -np.inf)

    for number in itertools.count():
        seconds, longer = np.inf, LONGER**number
        patience = MORE_PATIENCE if number == ROUNDS else PATIENCE
        if not is_endless:
            # Regions have the time of a program that would be in vain.
            seconds = longer * (REGION_SECONDS + (0.0 if pays else PROGRAM_SECONDS))
            patience = ENDLESS
        if is_over():
            break
        with part_of_time(1.0, seconds):
            labels = search.improve(labels, patience, first)
        if is_over() or (is_endless and number == ROUNDS):
            break
        seconds = min(longer * PROGRAM_SECONDS, PROGRAM_SHARE * time_left())
        if n_equations(graph) > EQUATIONS_PER_SECOND * seconds or not pays:
            pays = True
            continue
        gap, before = bound - value(), labels
        found, closer = solve_factor_program(graph, seconds)
        bound = min(bound, closer)
        if bound == -np.inf:  # nothing is allowed
            break
        if found is not None and _score(soft, found) > _score(soft, labels):
            labels = found
        # The first is short: where it found nothing, a longer one may.
        pays = number == 0 or labels is not before or not bound - value() > PAYS * gap
    return labels, bound
