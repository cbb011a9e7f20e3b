"""Exact inference on any graph whose tree-width is small."""

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..._core import check
from ..._core.budget import time_left
from ..._core.packed import starts_of
from ..._core.scores import arrays_of, check_sums
from ..._kernels import lazy
from ._adjacency import PlanCache, count_states
from ._exact import GibbsInference, normalized

elimination_plan = lazy("graphs.elimination_plan")
elimination = lazy("graphs.elimination")

# Base-2 logarithm of the largest table beyond which other orders of elimination are tried.
WIDE = 12.0
VERY_WIDE = 18.0  # beyond which many orders are
HOPELESS = 40.0  # beyond which no order would do
# Most numbers in all messages of a call, in tables of `max_table_size` numbers and altogether.
MOST_TABLES, MOST_NUMBERS = 2**3, 2**29
PART = 2**23  # numbers in tables between two looks at the clock, some hundredths of a second
# Upper estimate for sums and marginals, in ordinary numbers; logarithms take twice as long.
SECONDS_PER_NUMBER = 1e-8


def _narrow_order(edges, n_nodes):
    ones = np.ones(len(edges))
    graph = csr_array((ones, (edges[:, 0], edges[:, 1])), shape=(n_nodes, n_nodes))
    return reverse_cuthill_mckee(graph + graph.T, symmetric_mode=True).astype(np.int64)


class Found(NamedTuple):
    """What `make_plan` found: a plan, None if it is far too large, and how large it is."""

    plan: object
    width: int  # induced width
    largest: int  # numbers in the largest table

    def excess(self, limit):
        """What is too large for a ``max_table_size``, in words, or None."""
        if self.plan is None or self.largest > limit:
            at_least = "at least " if self.plan is None else ""
            return (
                f"a table of {at_least}{self.largest:,} numbers (induced width {self.width}), but "
                f"max_table_size={limit:,}"
            )
        n_numbers = int(self.plan.message_start[-1])
        if n_numbers > max(MOST_TABLES * limit, MOST_NUMBERS):
            return (
                f"messages of {n_numbers:,} numbers together, beyond 2^29 and "
                f"{MOST_TABLES} times max_table_size={limit:,}"
            )
        return None

    def cost(self, max_table_size):
        if self.excess(max_table_size) is not None:
            return math.inf
        n_numbers = (np.diff(self.plan.message_start) * self.plan.size[self.plan.order]).sum()
        return float(n_numbers) * SECONDS_PER_NUMBER

    def fitting(self, max_table_size):
        what = self.excess(max_table_size)
        if what is not None:
            raise ValueError(
                f"elimination needs {what}: raise it, at 8 bytes a number, or take an oracle for "
                f"wide graphs such as oracle='trws' or 'approx', and TRWMarginals for marginals"
            )
        return self.plan


def make_plan(edges, size, scopes=(), n_orders=0):
    """The order of elimination that is `Found` for a graph with these numbers of states.

    With ``scopes`` of given tables, which ``edges`` join all nodes of, the plan begins with a
    bucket for each of them, whose message is the table: it eliminates a node ``len(size) + t`` of
    one state, and ``cuts`` begin behind it. The table has its axes in the order of the plan.
    Where tables are large, ``n_orders`` more orders are tried, of which ties are at random.
    """
    order, scope_start, scope, log_largest = elimination_plan.min_fill(edges, size)
    if log_largest > WIDE:
        # Long and narrow graphs, such as grids, want to be swept from end to end.
        for sweep in (np.arange(len(size)), _narrow_order(edges, len(size))):
            found = elimination_plan.scopes_of(edges, size, sweep, log_largest)
            if len(found[0]) == len(size) and found[3] < log_largest:
                order, scope_start, scope, log_largest = found
    if VERY_WIDE < log_largest < HOPELESS:
        rng = np.random.default_rng(0)
        for _ in range(n_orders):
            if time_left() <= 0.0:
                break
            number = rng.permutation(len(size))
            node = np.argsort(number)
            found = elimination_plan.min_fill(number[edges], size[node])
            complete = len(found[0]) == len(size)
            if complete and (len(order) < len(size) or found[3] < log_largest):
                order, scope_start, scope, log_largest = found
                order, scope = node[order], node[scope]
    width = int(np.diff(scope_start).max(initial=0))
    if len(order) < len(size):
        return Found(None, width, int(2.0 ** min(log_largest, 62.0)))
    n_given = len(scopes)
    if n_given:
        lengths = [len(nodes) for nodes in scopes]
        order = np.concatenate([len(size) + np.arange(n_given), order])
        size = np.concatenate([size, np.ones(n_given, np.int64)])
        scope = np.concatenate([*scopes, scope]).astype(np.int64)
        starts = starts_of(lengths)
        scope_start = np.concatenate([starts, starts[-1] + scope_start[1:]])
        edges = np.empty((0, 2), np.int64)  # pairs are among the tables
    arrays = elimination_plan.arrange(edges, size, order, scope_start, scope)
    n_numbers = np.diff(arrays[elimination_plan.Plan._fields.index("message_start")]) * size[order]
    last = np.append(np.diff(np.cumsum(n_numbers[n_given:]) // PART) > 0, True)  # of each part
    cuts = n_given + np.append(0, np.flatnonzero(last) + 1)
    return Found(elimination_plan.Plan(*arrays, cuts=cuts), width, int(n_numbers.max()))


def _sizes_of(scores):
    return tuple(np.maximum(count_states(scores.unary), 1).tolist())


class Elimination(GibbsInference):
    """MAP inference on graphs of small tree-width, by bucket elimination.

    Maximizes the score of `PairwiseScores` exactly, and sums over the Gibbs distribution ``p(y)`` ~
    ``exp(score(y))`` as the junction-tree algorithm does. Choose it for graphs with cycles that are
    too large for `Enumeration`: cliques of twenty nodes, grids with twenty rows.

    Parameters
    ----------
    max_table_size : int, default=2**26
        Most numbers in the table of a node and the neighbors that it has when it is eliminated:
        2^26, 512 MB, at induced width 25 with two states. All messages together may have 2^29
        numbers, 4 GB, or 8 times ``max_table_size``.

    See Also
    --------
    TreeMaxProduct : For graphs without cycles, with less work per call.
    Enumeration : For graphs of a handful of nodes.

    Notes
    -----
    Nodes leave in a greedy order, the one whose neighbors lack the fewest edges first [1]_, or in
    that of their numbers or of Cuthill and McKee where this makes large tables smaller. Time is a
    few times the size of all tables, memory 8 bytes for each entry of all messages, which lack the
    axis of the node that left. Sums run in logarithms, two to five times slower, where a table
    spans more than a factor of e^600.

    `top_k` divides the labelings into parts by max-marginals [2]_: up to two calls of
    `max_marginals` and one of `argmax` for each of the k. Among equal labelings the node that
    leaves last takes its lowest state, then the one before it, and so on. A call raises a
    TimeoutError when `time_left` ends.

    References
    ----------
    .. [1] R. Dechter, "Bucket elimination: a unifying framework for reasoning", Artificial
       Intelligence 113, 41-85, 1999.
    .. [2] C. Yanover, Y. Weiss, "Finding the M most probable configurations using loopy belief
       propagation", NIPS 2003: the division into parts.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import Elimination, PairwiseScores
    >>> triangle = [(0, 1), (1, 2), (2, 0)]
    >>> scores = PairwiseScores.from_arrays(np.zeros((3, 2)), 1 - np.eye(2), triangle)
    >>> Elimination().argmax(scores)
    (array([1, 0, 0], dtype=int32), 2.0, 2.0)
    >>> Elimination().marginals(scores)[1][0].round(3).tolist()
    [[0.181, 0.319], [0.319, 0.181]]
    """

    max_table_size: check.at_least(1) = 2**26

    _plan = PlanCache(lambda edges, *sizes: (edges, make_plan(edges, np.array(sizes))), _sizes_of)

    def _argmax(self, scores, start):
        walk = self._walk(scores)
        value = walk.up(elimination.MAX)
        return walk.labels(np.empty((1, 0)))[0], value, value

    def largest_table(self, scores):
        """Size of the largest table of a call, found without it; see ``max_table_size``.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on any graph; only edges and forbidden states matter. Above 2^40 the number is a
            lower bound.
        """
        return self._found(scores).largest

    def cost(self, scores):
        """Seconds that marginals take at most, roughly, found without making the call.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on any graph; only edges and forbidden states matter.

        Returns
        -------
        seconds : float
            From the number of entries of all tables and the speed of a usual core; `argmax` takes
            about a third. inf if the limits of ``max_table_size`` forbid the call.
        """
        return self._found(scores).cost(self.max_table_size)

    def _sums(self, scores, marginals):
        walk = self._walk(scores)
        value = walk.sum()
        if not marginals or value == -math.inf:
            return None, None, value
        n_states = scores.n_states
        node = np.zeros((scores.n_nodes, n_states))
        edge = np.zeros((scores.n_edges, n_states, n_states))
        walk.down(node, edge)
        return node, edge, value

    def _maxima(self, scores):
        walk = self._walk(scores)
        node = np.full((scores.n_nodes, scores.n_states), -np.inf)
        if walk.up(elimination.MAX) > -math.inf:
            walk.down(node, np.empty((0, 0, 0)))
        return node

    def _draws(self, scores, uniforms):
        walk = self._walk(scores)
        value = walk.sum()
        return walk.labels(uniforms) if value > -math.inf else None, value

    def _found(self, scores):
        self._expect(scores)
        return self._plan(scores)[1]

    def _walk(self, scores):
        unary, tables, edge_table = arrays_of(scores)
        edges, found = self._plan(scores)
        return Walk(found.fitting(self.max_table_size), unary, edges, edge_table, tables)


class Walk:
    """A walk through all buckets of a plan, and back.

    ``given(mode, messages, scales)`` writes messages that are given, and returns their value.
    """

    def __init__(self, plan, *arrays, given=None):
        self.plan, self._problem, self._given = plan, (plan, *arrays), given

    def up(self, mode):
        """The value of an elimination; NaN where this mode fails."""
        plan, self.mode = self.plan, mode
        self.messages, scales = np.empty(plan.message_start[-1]), np.empty((2, len(plan.order)))
        self._scales = scales
        self.value = 0.0 if self._given is None else self._given(mode, self.messages, scales)
        for part in self._parts():
            self.value += elimination.upward(*self._problem, mode, self.messages, scales, *part)
            if math.isnan(self.value):
                break
        return self.value

    def sum(self):
        """The log-partition: in ordinary numbers if possible, else in logarithms."""
        value = self.up(elimination.PRODUCT)
        return self.up(elimination.LOG_SUM) if math.isnan(value) else value

    def down(self, node, edge):
        for part in self._parts(backwards=True):
            elimination.downward(
                *self._problem, self.mode, self.messages, self._scales, *part, self.value, node,
                edge,
            )  # fmt: skip

    def labels(self, uniforms):
        """Best labels, or those that random numbers choose, a row for each row of them."""
        labels = np.zeros((len(uniforms), len(self._problem[1])), np.int32)
        elimination.choose(*self._problem, self.mode, self.messages, uniforms, labels)
        return labels

    def _parts(self, backwards=False):
        """Yield the parts of the walk, looking at the clock before each."""
        parts = list(itertools.pairwise(self.plan.cuts.tolist()))
        for part in reversed(parts) if backwards else parts:
            if time_left() <= 0.0:
                raise TimeoutError(
                    "elimination was interrupted by a time limit: it has no answer before its end; "
                    "oracle='approx' has one at any time"
                )
            yield part


class FactorElimination:
    """Sums and maxima over all labelings of nodes, by log-potentials on any number of them.

    ``unary`` has an array for each node, ``tables`` one for each of ``scopes``, tuples of nodes.
    """

    def __init__(self, unary, scopes, tables, max_table_size=2**26, n_orders=0):
        self.scopes, self.max_table_size = scopes, max_table_size
        size = np.array([len(block) for block in unary])
        pairs = {pair for scope in scopes for pair in itertools.combinations(sorted(scope), 2)}
        edges = np.array(sorted(pairs), np.int64).reshape(-1, 2)
        self.found = make_plan(edges, size, scopes, n_orders)
        # The nodes of one state that stand for tables come last.
        self.unary = np.full((len(size) + len(scopes), size.max(initial=1)), -np.inf)
        self.unary[: len(size)][np.arange(self.unary.shape[1]) < size[:, None]] = np.concatenate(
            unary
        )
        self.unary[len(size) :, 0] = 0.0
        parts = [*unary, *tables]
        largest = max(np.abs(t).max(where=np.isfinite(t), initial=0.0) for t in parts)
        check_sums(largest, len(parts))
        self.n_nodes, self._tables, self._axes = len(size), tables, None

    def cost(self):
        return self.found.cost(self.max_table_size)

    def sums(self):
        """(marginals of nodes, padded; marginals of tables; log-partition, -inf if nothing is)."""
        walk = self._walk()
        value = walk.sum()
        if value == -math.inf:
            return None, None, value
        start = walk.plan.message_start[len(self.scopes)]
        forth = walk.messages[:start].copy()
        node = np.zeros(self.unary.shape)
        walk.down(node, np.empty((0, 0, 0)))
        with np.errstate(invalid="ignore"):
            back = walk.messages[:start]
            is_product = walk.mode == elimination.PRODUCT
            belief = forth * back if is_product else np.exp(forth + back)
        return normalized(node[: self.n_nodes], "states"), self._unload(belief), value

    def argmax(self):
        """(labels, value), one of the best; -inf if nothing is allowed."""
        walk = self._walk()
        value = walk.up(elimination.MAX)
        return walk.labels(np.empty((1, 0)))[:, : self.n_nodes].astype(np.int64), value

    def draws(self, n_samples, rng):
        """(labels of independent draws, log-partition)."""
        walk = self._walk()
        value = walk.sum()
        if value == -math.inf:
            return None, value
        uniforms = np.zeros((n_samples, len(self.unary)))
        uniforms[:, : self.n_nodes] = rng.random_sample((n_samples, self.n_nodes))
        return walk.labels(uniforms)[:, : self.n_nodes].astype(np.int64), value

    def _walk(self):
        plan = self.found.fitting(self.max_table_size)
        if self._axes is None:  # of each table, in the order in which its nodes leave
            leaves = np.argsort(plan.order)
            self._axes = [np.argsort(leaves[list(scope)]) for scope in self.scopes]
        k = self.unary.shape[1]
        none = np.empty((0, 2), np.int64), np.empty(0, np.int64), np.empty((0, k, k))
        return Walk(plan, self.unary, *none, given=self._load)

    def _load(self, mode, messages, scales):
        """Write the tables as messages; what they are divided by is returned."""
        start, value = self.found.plan.message_start, 0.0
        for t, table in enumerate(self._tables):
            message = messages[start[t] : start[t + 1]]
            message[:] = table.transpose(self._axes[t]).ravel()
            scales[:, t] = 0.0
            top = message.max()
            if mode == elimination.MAX or top == -np.inf:
                continue
            value += top
            message -= top
            if mode == elimination.PRODUCT:
                scales[1, t] = -message.min(where=message > -np.inf, initial=0.0)
                np.exp(message, out=message)
        return value

    def _unload(self, flat):
        start, found = self.found.plan.message_start, []
        for t, table in enumerate(self._tables):
            axes = self._axes[t]
            belief = flat[start[t] : start[t + 1]].reshape([table.shape[a] for a in axes])
            belief = belief.transpose(np.argsort(axes))
            found.append(np.ascontiguousarray(belief) / belief.sum())
        return found
