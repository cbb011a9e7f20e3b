"""Minimum cuts: exact for two states and attractive edges, roof duality, and moves by cuts."""

import heapq
from dataclasses import KW_ONLY
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ..._core import check
from ..._core.budget import time_left
from ..._core.scores import PairwiseScores, allowed, arrays_of
from ..._kernels import lazy
from ._adjacency import ROUNDING, GraphOracle, PlanCache, Settling, first_labels, settled, softened
from ._exact import RankingOracle

max_flow = lazy("graphs.max_flow")

DIAGONAL = [0, 1], [0, 1]
OFF_DIAGONAL = [0, 1], [1, 0]


class QPBO(Settling):
    """Approximate MAP inference with a bound for two states, by roof duality (QPBO).

    Maximizes the score of `PairwiseScores` over the linear program on the local polytope, where
    each node is labeled or half in each state. Labels found there are those of a MAP labeling, so
    the answer is exact if no node is left half. Choose it when some edges are not attractive, which
    `GraphCut` requires.

    See Also
    --------
    GraphCut : Always exact, for attractive edges.
    LPRelaxation : The same bound for any number of states, with much more work.
    MILP : Exact on small graphs.

    Notes
    -----
    One maximum flow on a graph with two nodes for each node and two arcs for each edge and
    direction [1]_ [2]_: time at worst ``n_nodes^2 * n_edges``, memory linear. As many nodes are
    labeled as any minimum cut can label [2]_. Others take their label from ``start``, and the
    answer is never worse than ``start`` [3]_; without it, the state with the better sum of its
    score and the means of its rows in the tables of its edges. If these labels break a forbidden
    pair, the value is ``-inf``. The bound includes an allowance for rounding, some 1e-14 of the sum
    of all absolute scores.

    References
    ----------
    .. [1] P. L. Hammer, P. Hansen and B. Simeone, "Roof duality, complementation and persistency in
       quadratic 0-1 optimization", Mathematical Programming 28, 121-155, 1984.
    .. [2] V. Kolmogorov and C. Rother, "Minimizing nonsubmodular functions with graph cuts - a
       review", IEEE TPAMI 29, 1274-1279, 2007: sections 2 and 3.
    .. [3] E. Boros and P. L. Hammer, "Pseudo-Boolean optimization", Discrete Applied Mathematics
       123, 155-225, 2002: persistency.

    Examples
    --------
    Node 0 wants state 1; the triangle of the other nodes, which want to differ, cannot be settled.

    >>> import numpy as np
    >>> from sklearn_fw.inference import QPBO, PairwiseScores
    >>> unary = [[0.0, 3.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> edges = [(1, 2), (2, 3), (3, 1), (0, 1)]
    >>> scores = PairwiseScores.from_arrays(unary, 1 - np.eye(2), edges)
    >>> labels, value, upper_bound = QPBO().argmax(scores, start=[0, 0, 1, 1])
    >>> labels, value, round(upper_bound, 9)
    (array([1, 0, 1, 1], dtype=int32), 6.0, 6.5)
    """

    def _attempt(self, scores, start):
        form = switch_form(scores, "QPBO")
        if form is None:
            return None
        known, flow = roof_dual(form, scores.edges)
        guess = form.gain > 0.0 if start is None else start
        labels = form.merge(np.where(known < 0, guess, known))
        return labels, scores.value(labels), form.bound(flow / 2), 2 * form.rounding


def half_integral(scores):
    """Optimal point of the local polytope for two states, none of which is forbidden.

    Marginals of nodes (0, 1/2 or 1), those of edges, and a bound on the score of all points.
    """
    form = switch_form(scores, "QPBO")
    known, flow = roof_dual(form, scores.edges)
    one = np.where(known < 0, 0.5, known)
    x, y = one[scores.edges.T]
    # Of all edges between two nodes the best has as much as possible on one of the diagonals.
    both = np.where(form.crossed, np.maximum(x + y - 1.0, 0.0), np.minimum(x, y))
    edge = np.stack([1.0 - x - y + both, y - both, x - both, both], axis=1).reshape(-1, 2, 2)
    return np.column_stack([1.0 - one, one]), edge, form.bound(flow / 2)


def roof_dual(form, edges):
    """Labels of some MAP labeling, -1 where none is known, and twice the cut's capacity.

    Node ``n_nodes + t`` stands for the opposite of node ``t``, and each edge is there twice: from
    ``a`` to the node that stands for ``y``, and from the opposite of this node to that of ``a``.
    """
    n_nodes = len(form.gain)
    a, b = edges.T
    b = np.where(form.crossed, b + n_nodes, b)
    opposite = np.roll(np.arange(2 * n_nodes), n_nodes)
    both = np.column_stack([np.concatenate([a, opposite[b]]), np.concatenate([b, opposite[a]])])
    arcs = fill_arcs(
        both,
        np.tile(form.forward, 2),
        np.tile(form.backward, 2),
        np.concatenate([-form.gain, form.gain]),
    )
    flow = max_flow.max_flow(arcs)
    one = max_flow.reaches_sink(arcs)
    # Any other node can be on another side than its opposite unless each has a way to the other.
    # If only one has, it belongs to the side of the sink, for nothing must flow to that side.
    component = strong_components(arcs, ~(one | one[opposite]))
    one |= component > component[opposite]
    one, zero = one[:n_nodes], one[n_nodes:]
    return np.where(one == zero, -1, one), flow


def strong_components(arcs, free):
    """Numbers of the strong components of what a flow leaves: (n_nodes,), zero but for free nodes.

    No arc with room leads to a component of a higher number.
    """
    n_nodes = len(free)
    tail = np.repeat(np.arange(n_nodes), np.diff(arcs.first))
    kept = (arcs.residual > 0.0) & free[tail] & free[arcs.head]
    tail, head = tail[kept], arcs.head[kept]
    graph = csr_array((np.ones(len(tail)), (tail, head)), shape=(n_nodes, n_nodes))
    component = 1 + connected_components(graph, connection="strong")[1]
    if np.any(component[tail] < component[head]):  # the search of SciPy may number either way
        component = -component
    return np.where(free, component, 0)


class SwitchForm(NamedTuple):
    """Scores of two states as gains of states 1 and losses of edges.

    The score of labels ``x`` that are allowed is::

        constant + sum_t gain[t] x[t] - sum_e loss[e]

    where ``loss[e]`` is ``forward[e]`` if ``x[a] = 0, y = 1``, ``backward[e]`` if
    ``x[a] = 1, y = 0``, and 0 otherwise; ``y`` is ``x[b]``, or ``1 - x[b]`` on edges that are
    crossed, which are those that are not attractive.
    """

    constant: float
    gain: np.ndarray  # (n_nodes,)
    forward: np.ndarray  # (n_edges,), not negative, inf if the pair is forbidden
    backward: np.ndarray  # (n_edges,)
    crossed: np.ndarray  # (n_edges,) bool
    fixed: np.ndarray  # (n_nodes,) int, the only state allowed or -1; such nodes have gain 0
    rounding: float  # how far sums of these numbers may be off

    def bound(self, flow):
        """No labeling scores more, if so much must flow from source to sink."""
        return float(self.constant + np.maximum(self.gain, 0.0).sum() - flow + self.rounding)

    def merge(self, labels):
        return np.where(self.fixed < 0, labels, self.fixed).astype(np.int32)


def switch_form(scores, name):
    """The `SwitchForm` of scores of at most two states; None if every labeling is forbidden."""
    if scores.n_states > 2:
        raise ValueError(
            f"{name} needs two states per node, got {scores.n_states}; TreeMaxProduct() takes more "
            f"on graphs without cycles, MILP() and Enumeration() on small graphs of any kind"
        )
    unary, tables, edge_table = arrays_of(scores)
    edges = np.array(scores.edges, dtype=np.int64, order="C")
    fixed = np.full(len(unary), -1)
    if scores.n_states == 2:
        form = _finite_form(unary, tables, edge_table, edges, fixed)
        if not np.isnan(form.rounding):
            return form
    tables = tables[edge_table]
    if scores.n_states == 1:
        unary = np.pad(unary, ((0, 0), (0, 1)), constant_values=-np.inf)
        tables = np.pad(tables, ((0, 0), (0, 1), (0, 1)))
    possible = possible_states(unary, tables, edges)
    if not possible.any(axis=1).all():
        return None
    fixed[~possible[:, 1]] = 0
    fixed[~possible[:, 0]] = 1
    unary, tables = _without_fixed(unary, tables, edges, fixed)
    equal, differ = tables[:, *DIAGONAL], tables[:, *OFF_DIAGONAL]
    no_equal, no_differ = equal == -np.inf, differ == -np.inf
    tables[:, *DIAGONAL], tables[:, *OFF_DIAGONAL] = _filled(equal, differ), _filled(differ, equal)
    form = _finite_form(unary, tables, np.arange(len(edges)), edges, fixed)
    crossed = form.crossed | no_equal.any(axis=1)
    forbidden = np.where(crossed[:, None], no_equal, no_differ)
    forward, backward = np.where(forbidden, np.inf, form.forward[:, None]).T
    return form._replace(forward=forward, backward=backward, crossed=crossed)


def _finite_form(unary, tables, edge_table, edges, fixed):
    """The `SwitchForm` where nothing is forbidden, else ``rounding`` is NaN."""
    gain, loss, crossed = np.empty(len(unary)), np.empty(len(edges)), np.empty(len(edges), bool)
    constant, rounding = max_flow.switch_form(
        unary, tables, edge_table, edges, ROUNDING, gain, loss, crossed
    )
    return SwitchForm(constant, gain, loss, loss, crossed, fixed, rounding)


def possible_states(unary, tables, edges):
    """States that arc consistency leaves, (n_nodes, n_states) bool: others are in no labeling."""
    possible = unary > -np.inf
    pairs = tables > -np.inf
    a, b = edges.T
    while True:
        before = possible.sum()
        for ends, supported in (
            (a, (pairs & possible[b][:, None, :]).any(axis=2)),
            (b, (pairs & possible[a][:, :, None]).any(axis=1)),
        ):
            edge, state = np.nonzero(~supported)
            possible[ends[edge], state] = False
        if possible.sum() == before:
            return possible


def fill_arcs(edges, forward, backward, excess):
    """The flow problem of the kernels, with room ``forward`` along edges and ``backward`` back."""
    edges = np.array(edges, dtype=np.int64, order="C")
    first, head, sister, arc = max_flow.sort_arcs(edges, len(excess))
    residual = np.empty(len(head))
    residual[arc] = forward
    residual[sister[arc]] = backward
    return max_flow.Arcs(first, head, sister, residual, excess)


def _without_fixed(unary, tables, edges, fixed):
    """Scores in which it does not matter what a fixed node does: both states have those of one."""
    nodes = np.flatnonzero(fixed >= 0)
    unary, tables = unary.copy(), tables.copy()
    unary[nodes, 1 - fixed[nodes]] = unary[nodes, fixed[nodes]]
    for view, ends in ((tables, edges[:, 0]), (tables.transpose(0, 2, 1), edges[:, 1])):
        at = np.flatnonzero(fixed[ends] >= 0)
        state = fixed[ends[at]]
        view[at, 1 - state] = view[at, state]
    return unary, tables


def _filled(own, other):
    """One diagonal of each table, with numbers for forbidden pairs that make both sums equal.

    No table has forbidden pairs on both diagonals once states without an allowed pair are fixed.
    """
    gone = own == -np.inf
    total = other.sum(axis=1, keepdims=True)
    rest = np.where(gone.all(axis=1, keepdims=True), total / 2, total - own[:, ::-1])
    return np.where(gone, rest, own)


class GraphCut(RankingOracle):
    """MAP inference on graphs with two states and attractive edges, by a minimum cut.

    Maximizes the score of `PairwiseScores` exactly, cycles or not, if for the table ``t`` of every
    edge::

        t[0, 0] + t[1, 1] >= t[0, 1] + t[1, 0]

    Choose it for segmentation and denoising with two labels, large grids included.

    Attributes
    ----------
    exact : bool
        True: ``value`` and ``upper_bound`` are equal in every answer, unless scores that matter
        cancel others some 1e7 times their size: what rounding leaves open is then between them.

    See Also
    --------
    QPBO : The same for edges of any kind; then some nodes may be left to a guess.
    TreeMaxProduct : For any number of states and any tables on a graph without cycles.

    Notes
    -----
    The score is the capacity of all arcs less that of a cut between source and sink [1]_; the flow
    has real capacities in double precision [2]_. Time at worst ``n_nodes^2 * n_edges``, in practice
    a little more than linear; memory linear. Among equal labelings the one with most nodes in
    state 0 is returned. In `max_marginals`, the flip of a node costs as much as its neighborhood is
    large [3]_. `top_k` divides all others by the first node where they differ [4]_: k cuts and k
    times as many flips as nodes.

    References
    ----------
    .. [1] D. M. Greig, B. T. Porteous and A. H. Seheult, "Exact maximum a posteriori estimation
       for binary images", Journal of the Royal Statistical Society B 51, 271-279, 1989.
    .. [2] A. V. Goldberg, S. Hed, H. Kaplan, R. E. Tarjan and R. F. Werneck, "Maximum flows by
       incremental breadth-first search", European Symposium on Algorithms, 457-468, 2011.
    .. [3] P. Kohli and P. H. S. Torr, "Measuring uncertainty in graph cut solutions", Computer
       Vision and Image Understanding 112, 30-38, 2008.
    .. [4] E. L. Lawler, "A procedure for computing the k best solutions to discrete optimization
       problems", Management Science 18, 401-405, 1972.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import GraphCut, PairwiseScores
    >>> unary = [[1.0, 0.0], [0.0, 0.0], [0.5, 0.0], [0.0, 0.7]]
    >>> cycle = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> scores = PairwiseScores.from_arrays(unary, np.eye(2), cycle)
    >>> GraphCut().argmax(scores)
    (array([0, 0, 0, 0], dtype=int32), 5.5, 5.5)
    """

    releases_gil = True
    exact = True

    def _argmax(self, scores, start):
        return settled(self._cut, scores, exact=True)

    def _best(self, scores, k):
        found, queue, unary = [], [], scores.unary
        while True:
            part = PairwiseScores._view(unary, scores.pairwise, scores.edges)
            form = switch_form(part, "GraphCut")
            if form is not None:
                cut = Cut.of(form, part)
                labels, nodes = cut.labels, np.flatnonzero(form.fixed < 0)
                found.append((scores.value(labels), labels))
                # All others agree with these labels before some node, and differ there.
                losses = cut.flip_losses(nodes, fix=True)
                for i in np.argsort(losses, kind="stable")[: k - len(found)]:
                    if losses[i] < np.inf:
                        turn = len(found) * scores.n_nodes + int(i)
                        entry = losses[i] - found[-1][0], turn, unary, labels, nodes[: i + 1]
                        heapq.heappush(queue, entry)
            if not queue or len(found) == k:
                break
            _, _, unary, labels, nodes = heapq.heappop(queue)
            unary, last = unary.copy(), nodes[-1]
            unary[nodes[:-1], 1 - labels[nodes[:-1]]] = -np.inf
            unary[last, labels[last]] = -np.inf
        found.sort(key=lambda entry: -entry[0])  # what rounding may have exchanged
        values = np.array([value for value, _ in found])
        labels = np.array([row for _, row in found], np.int32).reshape(-1, scores.n_nodes)
        return allowed(values, labels)

    def _maxima(self, scores):
        best = np.full((scores.n_nodes, 2), -np.inf)
        form = switch_form(scores, "GraphCut")
        if form is not None:
            cut = Cut.of(form, scores)
            labels, value = cut.labels, scores.value(cut.labels)
            nodes = np.flatnonzero(form.fixed < 0)
            best[np.arange(scores.n_nodes), labels] = value
            best[nodes, 1 - labels[nodes]] = value - cut.flip_losses(nodes, fix=False)
        return best[:, : scores.n_states]

    def _cut(self, scores, start):
        form = switch_form(scores, "GraphCut")
        if form is None:
            return None
        if form.crossed.any() and start is not None:
            # What is left out of attractive tables leaves others, which roof duality takes.
            return QPBO()._attempt(scores, start)
        cut = Cut.of(form, scores)
        return cut.labels, scores.value(cut.labels), form.bound(cut.flow), 2 * form.rounding


class Cut(NamedTuple):
    """A minimum cut: what it leaves of the capacities, its flow, the nodes beyond it, labels."""

    arcs: object
    flow: float
    sink: np.ndarray  # (n_nodes,) bool, the smallest sink side
    labels: np.ndarray

    @classmethod
    def of(cls, form, scores):
        if form.crossed.any():
            edge = int(form.crossed.argmax())
            (a, b), table = scores.edges[edge], scores.pairwise[edge]
            raise ValueError(
                f"GraphCut needs attractive edges, t[0, 0] + t[1, 1] >= t[0, 1] + t[1, 0], but "
                f"edge {edge} between nodes {a} and {b} has t = {table.tolist()}; QPBO() takes "
                f"edges of any kind, TreeMaxProduct() graphs without cycles"
            )
        arcs = fill_arcs(scores.edges, form.forward, form.backward, -form.gain)
        flow = max_flow.max_flow(arcs)
        sink = max_flow.reaches_sink(arcs)
        return cls(arcs, flow, sink, form.merge(sink))

    def flip_losses(self, nodes, fix):
        """What the score loses when one of the nodes changes its side: (len(nodes),).

        With ``fix`` nodes before it have to stay; the capacities are no longer valid then.
        """
        losses = np.empty(len(nodes))
        max_flow.flip_losses(self.arcs, self.sink, nodes, fix, losses)
        return losses


class CutMoves(GraphOracle):
    """Approximate MAP inference by minimum cuts: alpha-expansion and alpha-beta swap.

    Increases the score of `PairwiseScores`: an expansion lets any set of nodes change to the state
    alpha at once, a swap gives each node that has one of two states the better of both. Choose it
    for large grids with more than two states whose edges want equal or similar states, as in stereo
    and denoising. It has no bound of its own; `BestOf` adds that of `TRWS`.

    Parameters
    ----------
    move : {"expansion", "swap"}, default="expansion"
        Expansions are larger, and a round has fewer. Swaps are for tables that prefer equal states
        but are not a metric, as truncated squares.
    max_iter : int, default=100
        Largest number of rounds through all states, or pairs of them; three to six are usual.

    See Also
    --------
    GraphCut : Exact, for two states.
    TRWS : Labels and a bound, by messages.

    Notes
    -----
    The best move is a minimum cut for expansions if ``-t`` is a metric for the table ``t`` of every
    edge, as of Potts and truncated linear scores; in Potts scores a local optimum then loses at
    most twice what the optimum loses on its edges [1]_. For swaps it is one if ``t[a, a] +
    t[b, b] >= t[a, b] + t[b, a]``. Elsewhere the move is made by roof duality [2]_, and undecided
    nodes keep their state.

    Begins with ``start``, by default the best state of each node, and is never worse. A round takes
    n_states cuts for expansions, n_states * (n_states - 1) / 2 for swaps. Forbidden states and
    pairs count as more than all scores together.

    References
    ----------
    .. [1] Y. Boykov, O. Veksler and R. Zabih, "Fast approximate energy minimization via graph
       cuts", IEEE TPAMI 23, 1222-1239, 2001: sections 4 to 6.
    .. [2] V. Lempitsky, C. Rother, S. Roth and A. Blake, "Fusion moves for Markov random field
       optimization", IEEE TPAMI 32, 1392-1405, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import CutMoves, PairwiseScores
    >>> observed = np.array([0, 0, 0, 0, 2, 1, 1, 1, 1])
    >>> row = [(t, t + 1) for t in range(8)]
    >>> scores = PairwiseScores.from_arrays(np.eye(3)[observed], 1.5 * np.eye(3), row)
    >>> CutMoves().argmax(scores)
    (array([0, 0, 0, 0, 0, 1, 1, 1, 1], dtype=int32), 18.5, inf)
    """

    move: check.options("expansion", "swap") = "expansion"
    _: KW_ONLY
    max_iter: int = 100

    _plan = PlanCache(lambda edges, n_nodes, _: (edges, *max_flow.sort_arcs(edges, n_nodes)))

    def _argmax(self, scores, start):
        swaps = self.move == "swap"
        labels = first_labels(scores, start)
        soft, best = softened(scores), labels  # what is forbidden is left first
        value, possible = soft.value(best), scores.unary > -np.inf
        nodes = np.arange(len(labels))
        problem = *arrays_of(soft), *self._plan(scores)
        moves = range(scores.n_states)
        if swaps:
            moves = [(a, b) for a in moves for b in range(a)]
        # A move that has been tried helps again only after another one.
        left = len(moves)
        for turn in range(self.max_iter * len(moves)):
            if left == 0 or time_left() <= 0.0:
                break
            move = moves[turn % len(moves)]
            if swaps:
                ends = (np.where(np.isin(best, move), np.int32(state), best) for state in move)
            else:
                ends = best, np.full_like(best, move)
            zero, one = (np.where(possible[nodes, end], end, best) for end in ends)
            left -= 1
            if np.array_equal(zero, one):
                continue
            mixed = _fused(problem, best, zero, one)
            mixed_value = soft.value(mixed)
            if mixed_value > value:
                best, value, left = mixed, mixed_value, len(moves) - 1
        # Penalties and sums are rounded in the search: a worse answer is none.
        best = max(best, labels, key=scores.value)
        return best, scores.value(best), np.inf


def _fused(problem, labels, zero, one):
    """The best mixture of two labelings, ``labels`` where it leaves a choice."""
    *arrays, edges, first, head, sister, arc = problem
    residual, excess = np.empty(len(head)), np.empty(len(labels))
    crossed = np.empty(len(arc), bool)
    n_crossed = max_flow.fusion(
        *arrays, edges, zero, one, ROUNDING, arc, sister, residual, excess, crossed
    )
    if n_crossed:
        fixed, loss = np.full(len(labels), -1), residual[arc]
        form = SwitchForm(0.0, -excess, loss, loss, crossed, fixed, 0.0)
        side, _ = roof_dual(form, edges)
        side = np.where(side < 0, labels == one, side)
    else:
        arcs = max_flow.Arcs(first, head, sister, residual, excess)
        max_flow.max_flow(arcs)
        side = max_flow.reaches_sink(arcs)
    return np.where(side, one, zero)
