"""Most probable labelings of random fields."""

import copy
import itertools
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components, dijkstra

from .. import inference
from .._core import check
from .._core.budget import part_of_time, time_budget, time_left
from .._core.loop import get_logger
from .._core.oracle import checked
from .._core.scores import is_forest
from ._choice import EXACT_SHARE, NOTHING_ALLOWED, choose, pairs_of
from ._conditioning import collect, given
from ._reduced import Reduced, soften


def solve_factor_program(graph):
    """Labels or None, and a bound on all labelings, without the constant, within some seconds.

    Maximizes ``<theta, mu>`` over consistent marginals of variables, which are integral, and of
    factors: the equivalent field of pairs would have ten times as many variables. The bound is the
    score of the labels where they are proved best, and -inf if nothing is allowed.
    """
    allowed = graph.theta > -np.inf
    starts = graph._starts
    best = np.maximum.reduceat(graph.theta, starts[:-1])
    if best.min() == -np.inf:
        return None, -np.inf
    block = np.repeat(np.arange(len(best)), np.diff(starts))
    cost, scale, error = inference.scaled_costs((best[block] - graph.theta)[allowed], best)
    n_nodes = graph.node_start[-1]
    matrix, sums = _equations(graph, allowed)
    result = inference.solve_integers(cost, n_nodes, 1.0, matrix, sums)
    if result.status == inference.INFEASIBLE:
        return None, -np.inf
    bound = np.inf
    if result.mip_dual_bound is not None:
        bound = float(best.sum() - result.mip_dual_bound / scale + error)
    if result.x is None:
        return None, bound
    blocks = np.split(result.x[:n_nodes], graph.node_start[1:-1])
    labels = np.array([block.argmax() for block in blocks])
    value = float(graph.score(labels[None])[0]) - graph.constant
    if value >= bound - 2.0 * error and error <= inference.NEGLIGIBLE * abs(value):
        bound = value
    return labels, max(bound, value)


def _equations(graph, allowed):
    """Sums of variables are one, those of factors the marginals of their variables."""
    column = np.cumsum(allowed) - 1  # of each entry of theta
    node = np.repeat(np.arange(graph.n_variables), graph.n_states)
    entries, n_rows = [(node, np.arange(len(node)), 1.0)], graph.n_variables
    for f, (scope, table) in enumerate(zip(graph.scopes, graph.tables)):
        places = np.flatnonzero(table.ravel() > -np.inf)
        columns = column[graph.factor_start[f] + places]
        for i, states in zip(scope, np.unravel_index(places, table.shape)):
            of_node = np.arange(graph.n_states[i])
            entries.append((n_rows + states, columns, 1.0))
            entries.append((n_rows + of_node, graph.node_start[i] + of_node, -1.0))
            n_rows += len(of_node)
    return inference.equations(entries, (n_rows, int(allowed.sum())), graph.n_variables)


LARGEST_TABLE = 2**14  # of the elimination of one region
MOST_LAYERS = 12  # of a region, between layers that stay
FIRST_SIZE = 16  # variables of a region where layers are too wide
KICK_AFTER = 30  # regions in vain, before variables are made to change


class RegionSearch:
    """Search with neighborhoods that are as large as elimination can solve.

    Layers of equal distance from a random variable are cut into bands, between which one layer
    keeps its labels: on planar graphs what is left is narrow (B. S. Baker, Journal of the ACM 41,
    1994), and most of the field. Where it is too wide, bands get thinner, and at last the region is
    what random growth from one variable reaches first.
    """

    def __init__(self, field, forbidden, rng):
        self._field, self._forbidden, self._rng = field, forbidden, rng
        self._unary, self._factors = field.unary, list(zip(field.scopes, field.tables))
        is_in = field._strides.astype(bool)
        self._graph = (is_in.T @ is_in).sorted_indices()
        self._near, self._of = _lists(self._graph), _lists(is_in.T.tocsr())
        self._component = connected_components(self._graph)[1]
        self._thickness, self._size = MOST_LAYERS, FIRST_SIZE

    def improve(self, labels, patience, first):
        """Better labels, or the same.

        Ends with the time, after some regions in vain, or, with ``first``, with allowed labels.
        """
        value, broken = self._look(labels)
        vain = 0
        while vain < patience and time_left() > 0.0 and (len(broken) or not first):
            n = len(self._near)
            root = int(self._rng.integers(n))
            if len(broken):  # nothing else matters before these
                part = int(self._rng.choice(broken))
                root = part if part < n else int(self._rng.choice(self._factors[part - n][0]))
            try:
                step = self._region if vain < KICK_AFTER else self._kicked
                found = step(labels, root)
            except TimeoutError:
                break
            new, parts = self._look(found)
            # An improvement within rounding does not count.
            vain = 0 if new > value + 1e-9 * max(abs(value), 1.0) else vain + 1
            if new >= value:
                labels, value, broken = found, new, parts
        return labels

    def _look(self, labels):
        """The score of labels, and the variables and factors that forbid them."""
        places = self._field._places(labels[None])[0]
        return self._field.theta[places].sum(), np.flatnonzero(self._forbidden[places])

    def _region(self, labels, root):
        """The labels with those of a region around a variable replaced by the best ones."""
        while self._thickness > 0:
            if time_left() <= 0.0:
                raise TimeoutError
            layer = self._layers(root)
            period = 1 + int(self._rng.integers(1, self._thickness + 1))
            free = layer % period != int(self._rng.integers(period))
            found = self._solved(free, labels)
            if found is not None:
                return found
            self._thickness -= max(self._thickness // 3, 1)
        while True:
            found = self._solved(self._growth(root), labels)
            if found is not None:
                self._size += 1
                return found
            self._size = int(0.8 * self._size)  # one variable always fits

    def _kicked(self, labels, root):
        """The labels after another state of one variable, what follows from it, and a region."""
        states = np.flatnonzero(self._unary[root] > -np.inf)
        found = labels.copy()
        found[root] = states[int(self._rng.integers(len(states)))]
        free = self._growth(root)
        free[root] = False
        found = self._solved(free, found)
        if found is None:
            self._size = int(0.8 * self._size)
            return labels
        again = self._solved(self._growth(root), found)
        return found if again is None else again

    def _layers(self, root):
        """Distance of each variable from the root; of other parts from some variable there."""
        starts = np.unique(self._component, return_index=True)[1]
        starts[self._component[root]] = root
        distance = dijkstra(self._graph, indices=starts, unweighted=True, min_only=True)
        return distance.astype(np.int64)

    def _growth(self, root):
        free, reached, edge = np.zeros(len(self._near), bool), {root}, [root]
        for _ in range(max(self._size, 1)):
            if not edge:
                break
            i = edge.pop(int(self._rng.integers(len(edge))))
            free[i] = True
            new = [j for j in self._near[i] if j not in reached]
            reached.update(new)
            edge += new
        return free

    def _solved(self, free, labels):
        """The labels with the best ones of the free variables; None if there are too many."""
        inside = np.flatnonzero(free).tolist()
        unary = [self._unary[i] for i in inside]
        if not unary:
            return labels
        factors = (self._factors[f] for f in sorted({f for i in inside for f in self._of[i]}))
        merged, _ = collect(unary, given(factors, np.where(free, -1, labels)))
        elimination = inference.FactorElimination(unary, list(merged), list(merged.values()))
        if elimination.found.largest > LARGEST_TABLE:
            return None
        best = labels.copy()
        best[free] = elimination.argmax()[0][0]
        return best


def _lists(matrix):
    """Columns of the entries of each row."""
    return [row.tolist() for row in np.split(matrix.indices, matrix.indptr[1:-1])]


# Rounds of local search for each variable where nothing else is waited for, and their bounds.
ROUNDS_PER_VARIABLE, FEWEST_ROUNDS, MOST_ROUNDS = 200, 10_000, 1_000_000


NOTHING_FOUND = (
    "no labeling was found that the potentials of -inf allow: pass an exact oracle, such as "
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
ALLOWED_SECONDS = 10.0  # of a search for any allowed labeling
ROUNDING = 1e-9  # share of a bound by which a value may miss it


class MAPResult(NamedTuple):
    labels: np.ndarray
    value: float
    bound: float
    choice: str

    @property
    def exact(self):
        return self.value == self.bound


def find_map(field, oracle, start, time_limit):
    if start is not None:
        start = field._check_labeling(start, "start")
    auto = check.is_auto(oracle)
    oracle = None if auto else checked(inference.resolve_oracle(oracle))
    with time_budget(time_limit, ends_oracles=True):
        if field._pairs and (not auto or _as_pairs(field)):
            labels, bound, reason = _find_in_pairs(field, oracle, start)
        else:
            labels, bound, reason = _find_in_factors(field, oracle)
    get_logger().info("map: %s", reason)
    if bound == -np.inf:
        raise ValueError(NOTHING_ALLOWED)
    labels = field._check_labels(np.asarray(labels)[None])[0]
    # The score of the labels counts; oracles may sum up in another order.
    found = _score(field, labels)
    if start is not None and _score(field, start) > found:
        labels, found = start, _score(field, start)
    if found == -np.inf:
        raise ValueError(NOTHING_FOUND)
    return MAPResult(labels, found, found if bound is None else max(found, bound), reason)


def allowed_labeling(field, share=1.0):
    """An allowed labeling of a field with potentials of -inf; None for others, or if time ends.

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


def eliminated(eliminate, reason):
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
        # A labeling takes a third of the time of marginals, which `choose` reckons with.
        choice = choose(mrf, 3.0 * EXACT_SHARE * time_left())
        found, reason = None, choice.reason
        if choice.sums:
            found, reason = eliminated(lambda: choice.oracle.argmax(scores, start), reason)
        if found is None:
            found = _approximate(mrf, scores, start)
        labels, value, bound = found
    return labels, None if value == bound > -np.inf else mrf.constant + bound, reason


def _approximate(mrf, scores, start):
    """(labels, value, bound) by messages, local search and what comes after them."""
    n_rounds = np.clip(ROUNDS_PER_VARIABLE * mrf.n_variables, FEWEST_ROUNDS, MOST_ROUNDS)
    first = ["qpbo", "trws"] if mrf.n_states.max() <= 2 else ["trws"]
    search = inference.BestOf([*first, inference.IteratedLocalSearch(int(n_rounds))])
    with part_of_time(2 * MESSAGES_SHARE):
        labels, value, bound = search.argmax(scores, start)
    if not value < bound:
        return labels, value, bound
    labels, bound = _refined(mrf, np.asarray(labels, np.int64), bound)
    value = _score(mrf, labels) - mrf.constant
    return labels, value, max(value, bound)


def _find_in_factors(graph, oracle, first=False):
    """(labels, bound, reason) of a factor graph: by elimination, messages, regions and programs.

    With ``first`` any allowed labeling will do.
    """
    reduced = Reduced(graph)
    size = f"tables of up to {reduced.elimination.found.largest:,} numbers"
    cost, reason = reduced.elimination.cost(), f"exact by elimination: {size}"
    if oracle is None and cost <= 3.0 * EXACT_SHARE * time_left() and np.isfinite(cost):
        labels, reason = eliminated(reduced.best, reason)
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
        found, _, bound = oracle.argmax(pairs_of(rest).scores())
        labels = np.asarray(found[: rest.n_variables], np.int64)
    elif time_left() > 0.0:
        if not first and _as_pairs(rest):
            scores = pairs_of(rest).scores()
            with part_of_time(MESSAGES_SHARE):
                found, _, bound = inference.TRWS().argmax(scores)
            labels = np.asarray(found[: rest.n_variables], np.int64)
        labels, bound = _refined(rest, labels, bound, first)
    return reduced.labels(labels[None])[0], float(bound + rest.constant), reason


def _refined(graph, labels, bound, first=False):
    """Better labels and a bound, without the constant, by rounds of regions and of programs.

    The rounds are the same with any limit, which only ends them: more time gives no less.
    """
    soft = copy.copy(graph)
    soft.theta, _ = soften(graph)
    search, pays = RegionSearch(soft, graph.theta == -np.inf, np.random.default_rng(0)), True
    is_endless = time_left() == np.inf
    n_equations = float(np.diff(graph._strides.indptr) @ np.diff(graph.factor_start))

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
        if n_equations > EQUATIONS_PER_SECOND * seconds or not pays:
            pays = True
            continue
        gap, before = bound - value(), labels
        with part_of_time(1.0, seconds):
            found, closer = solve_factor_program(graph)
        bound = min(bound, closer)
        if bound == -np.inf:  # nothing is allowed
            break
        if found is not None and _score(soft, found) > _score(soft, labels):
            labels = found
        # The first is short: where it found nothing, a longer one may.
        pays = number == 0 or labels is not before or not bound - value() > PAYS * gap
    return labels, bound
