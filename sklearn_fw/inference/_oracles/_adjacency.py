"""What an oracle works out about a graph, compiled forms of scores, and which answers are exact."""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..._core.budget import time_budget
from ..._core.oracle import Oracle
from ..._core.packed import starts_of
from ..._core.parameters import check_parameters
from ..._core.scores import PairwiseScores, arrays_of, count_labelings, expect_scores, states_of
from ..._kernels import lazy

message_passing = lazy("graphs.message_passing")
tree = lazy("graphs.tree")


class PlanCache:
    """Plan of the last graph: adjacency, an elimination order and the like.

    ``make(edges, *sizes)`` computes it from a contiguous int64 copy of the edges and the tuple
    ``sizes_of(scores)``, by default the numbers of nodes and states. Threads share plans: nobody
    may write into one. With ``_plan = PlanCache(make)`` in a class, each object has a cache of its
    own, ``self._plan(scores)``, which is not part of its copies, clones and pickles.
    """

    def __init__(self, make, sizes_of=lambda scores: scores.unary.shape):
        self._make, self._sizes_of = make, sizes_of
        self._last = None  # (edges, sizes, plan), always replaced as a whole
        self._of = WeakKeyDictionary()

    def __call__(self, scores):
        sizes, last = self._sizes_of(scores), self._last
        if last is None or last[1] != sizes or not np.array_equal(last[0], scores.edges):
            # A private copy: the caller's array may change between two calls.
            edges = np.array(scores.edges, dtype=np.int64, order="C").reshape(-1, 2)
            self._last = last = edges, sizes, self._make(edges, *sizes)
        return last[2]

    def __get__(self, oracle, owner=None):
        if oracle is None:
            return self
        return self._of.setdefault(oracle, PlanCache(self._make, self._sizes_of))


class GraphOracle(Oracle):
    """Base of oracles on graphs: scores, start and parameters are checked in one place."""

    def argmax(self, scores, start=None):
        self._expect(scores)
        if start is not None:
            start = states_of(scores, start, "start").astype(np.int32)
        return self._argmax(scores, start)

    def _expect(self, scores):
        expect_scores(scores)
        check_parameters(self)


class Settling(GraphOracle):
    """Base of oracles that err by rounding or by tolerances: `settled` takes their ``_attempt``."""

    time_limit = None

    def _argmax(self, scores, start):
        with time_budget(self.time_limit, ends_oracles=True):
            return settled(self._attempt, scores, start, exact=self.exact)


class Adjacency(NamedTuple):
    """Which edges meet at which node; see `sklearn_fw._kernels.graphs.message_passing`."""

    source: np.ndarray  # edge e of the loops is edge source[e] of the scores,
    flipped: np.ndarray  # turned round if flipped[e], so that it leads to a higher node
    start: np.ndarray
    edge: np.ndarray
    other: np.ndarray


def adjacency(edges, n_nodes, n_states):
    low, high = edges.min(axis=1), edges.max(axis=1)
    source = np.lexsort((high, low))
    low, high = low[source], high[source]
    # Of the edges at a node those that lead down come first, which a stable sort keeps so.
    order = np.argsort(np.concatenate([high, low]), kind="stable")
    degree = np.column_stack(
        [np.bincount(high, minlength=n_nodes), np.bincount(low, minlength=n_nodes)]
    )
    return Adjacency(
        source=source,
        flipped=edges[source, 0] > edges[source, 1],
        start=starts_of(degree),
        edge=order % max(len(edges), 1),
        other=np.concatenate([low, high])[order],
    )


class Problem(NamedTuple):
    unary: np.ndarray
    tables: np.ndarray
    edge_table: np.ndarray
    n_states: np.ndarray
    start: np.ndarray
    edge: np.ndarray
    other: np.ndarray
    potts: np.ndarray


def count_states(unary):
    """Numbers of states of nodes, without those after the last possible one, which are padding."""
    return ((unary > -np.inf) * np.arange(1, unary.shape[1] + 1)).max(axis=1)


def prepare(scores, plan):
    """The problem of some scores; all of its arrays may be overwritten but those of the plan."""
    unary, tables, edge_table = arrays_of(scores)
    unary, width, n_states = unary.copy(), unary.shape[1], count_states(unary)
    source, flipped = plan.source, plan.flipped
    if len(tables) < len(source):  # one for all edges: once as it is, and once turned round
        edge_table = flipped.astype(np.int64)
        source, flipped = np.zeros(2, np.int64), np.array([False, True])
    oriented, potts = np.empty((2, len(source), width, width)), np.empty((len(source), 2))
    message_passing.orient_tables(tables, source, flipped, oriented, potts)
    return Problem(unary, oriented, edge_table, n_states, plan.start, plan.edge, plan.other, potts)


def softened(scores):
    """Scores in which what is forbidden counts as more than all other scores together."""
    unary, tables, edge_table = arrays_of(scores)
    if unary.min() > -np.inf and tables.min(initial=0.0) > -np.inf:
        return scores
    sizes = [np.abs(np.where(part == -np.inf, 0.0, part)) for part in (unary, tables)]
    most = sizes[0].max(axis=1).sum() + sizes[1].max(axis=(1, 2))[edge_table].sum()
    tables = np.broadcast_to(np.maximum(tables, -2.0 * (1.0 + most)), scores.pairwise.shape)
    return PairwiseScores._view(np.maximum(unary, -2.0 * (1.0 + most)), tables, scores.edges)


def first_labels(scores, start):
    """A copy of a given labeling, by default the best state of every node by itself."""
    return scores.unary.argmax(axis=1).astype(np.int32) if start is None else start.copy()


# Sums of this many times the sizes of their terms are taken for the error of rounding.
ROUNDING = 32 * np.finfo(np.float64).eps

# An answer whose error is at most this share of its value counts as exact.
NEGLIGIBLE = 1e-9
MOST_ROUNDS = 10
# Graphs of so few labelings are tried out where an oracle promises to be exact.
FEW = 2**14


def is_negligible(error, parts, value):
    """Whether an error is small relative to the value of an answer, or to the smallest score."""
    if error <= NEGLIGIBLE * abs(value) < np.inf:
        return True
    sizes = np.concatenate([np.abs(part).ravel() for part in parts])
    return error <= NEGLIGIBLE * sizes.min(where=sizes > 0.0, initial=np.inf)


def nothing_allowed(scores):
    return np.zeros(scores.n_nodes, np.int32), -np.inf, -np.inf


def settled(solve, scores, start=None, exact=False):
    """Labels, value and upper bound from a solver that errs by a fraction of the largest score.

    ``solve(scores, start) -> labels, value, bound, error``: no labeling scores more than ``bound``,
    and an optimal one may score up to ``error`` less; None if none is allowed. Where the error
    matters, the labelings that may still be better are solved again. With ``exact``, small graphs
    that leave a gap are enumerated.
    """
    answer, upper = None, np.inf
    part = scores
    for _ in range(MOST_ROUNDS):
        found = solve(part, start)
        if found is None:
            break
        labels, value, bound, error = found
        if answer is None or value > answer[1]:
            answer = labels, value
        labels, value = answer
        negligible = is_negligible(error, (scores.unary, scores.pairwise), value)
        if negligible and value >= bound - error:
            return labels, value, value
        upper = min(upper, max(value, bound))
        if negligible:
            break
        part, start = without_hopeless(part, value), labels
        if part is None:
            break
    if answer is None:
        return nothing_allowed(scores)
    if answer[1] == upper:
        return *answer, upper
    if exact and count_labelings(scores) <= FEW:
        labels, _ = best_of_all(scores)
        value = scores.value(labels)
        return labels, value, value
    return *answer, float(upper)


def best_of_all(scores):
    """(labels, value) of the best of all labelings, of equal ones the first."""
    unary, tables, edge_table = arrays_of(scores)
    edges = np.array(scores.edges, dtype=np.int64, order="C")
    labels = np.empty(len(unary), np.int32)
    return labels, tree.enumerate_argmax(unary, edges, edge_table, tables, labels)


def without_hopeless(scores, value):
    """Scores that forbid states and pairs of no labeling above ``value``; None if that is none.

    What a state or pair loses for sure is its distance to the best one of its node or edge, and of
    all edges at the node.
    """
    if value == -np.inf:
        return None
    unary, pairwise = scores.unary.copy(), np.array(scores.pairwise)
    a, b = scores.edges.T

    def n_allowed():
        return np.count_nonzero(unary > -np.inf) + np.count_nonzero(pairwise > -np.inf)

    n_first, n_before = n_allowed(), np.inf
    while (n_left := n_allowed()) < n_before:
        n_before = n_left
        best_node, best_edge = unary.max(axis=1), pairwise.max(axis=(1, 2), initial=-np.inf)
        tops = np.concatenate([best_node, best_edge])
        room = tops.sum() - value + ROUNDING * (np.abs(tops).sum() + abs(value))
        # Less than the whole loss by rounding, so that nothing good is left out.
        room *= 1.0 + ROUNDING * len(tops)
        lost = best_node[:, None] - unary
        for end, axis in ((a, 2), (b, 1)):
            np.add.at(lost, end, best_edge[:, None] - pairwise.max(axis=axis, initial=-np.inf))
        unary[lost > room] = -np.inf
        gone = unary == -np.inf
        pairwise[gone[a][:, :, None] | gone[b][:, None, :]] = -np.inf
        pairwise[best_edge[:, None, None] - pairwise > room] = -np.inf
    return PairwiseScores._view(unary, pairwise, scores.edges) if n_left < n_first else None
