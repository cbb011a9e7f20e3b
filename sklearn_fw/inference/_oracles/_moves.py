"""Local search whose moves are minimum cuts: alpha-expansion and alpha-beta swap."""

from typing import NamedTuple

import numpy as np

from ..._core.budget import time_left
from ..._core.parameters import options
from ..._core.scores import arrays_of
from ..._kernels import lazy
from ._adjacency import GraphOracle, PlanCache, first_labels
from ._cuts import SwitchForm, roof_dual
from ._settle import ROUNDING

max_flow = lazy("graphs.max_flow")


class Arcs(NamedTuple):
    """The arcs of a graph, see `sklearn_fw._kernels.graphs.max_flow`."""

    edges: np.ndarray
    first: np.ndarray
    head: np.ndarray
    sister: np.ndarray
    arc: np.ndarray

    @classmethod
    def of_graph(cls, edges, n_nodes, n_states):
        return cls(edges, *max_flow.sort_arcs(edges, n_nodes))


class CutMoves(GraphOracle):
    """Good labelling of any graph by minimum cuts: alpha-expansion and alpha-beta swap.

    Increases the score of `PairwiseScores`: an expansion lets any set of nodes change to the state
    alpha at once, a swap gives each node that has one of two states the better of both, and the
    best such move is a minimum cut. Choose it for large grids and graphs with more than two states
    whose edges want equal or similar states, as in stereo, denoising and segmentation. It has no
    bound of its own: `BestOf` asks `TRWS`, too.

    Parameters
    ----------
    move : {"expansion", "swap"}, default="expansion"
        Expansions are larger, and a round has fewer. Swaps are for tables that prefer equal states
        but are no metric, as truncated squares.
    max_iter : int, default=100
        Largest number of rounds through all states, or pairs of them. Mostly three to six are
        enough.

    See Also
    --------
    GraphCut : Exact, for two states.
    TRWS : Labels and a bound, by messages.

    Notes
    -----
    An expansion is a minimum cut if, for the table ``t`` of every edge, the labels ``y`` and ``z``
    of its ends and the state alpha, ``t[y, z] + t[alpha, alpha] >= t[y, alpha] + t[alpha, z]``: for
    all states at once this says that ``-t`` is a metric, as of Potts and truncated linear scores. A
    local optimum then loses at most twice what the best labelling loses on its edges, in Potts
    scores [1]_. A swap is one if ``t[a, a] + t[b, b] >= t[a, b] + t[b, a]``. Where this does not
    hold, the move is made by roof duality [2]_, and undecided nodes keep their state.

    Begins with ``start``, by default the best state of each node by itself; the answer is never
    worse. A round takes n_states cuts for expansions, n_states * (n_states - 1) / 2 for swaps.
    Forbidden states and pairs count as more than all scores together, so that a forbidden ``start``
    is left where a move can.

    References
    ----------
    .. [1] Y. Boykov, O. Veksler and R. Zabih, "Fast approximate energy minimization via graph
       cuts", IEEE TPAMI 23, 1222-1239, 2001: sections 4 to 6.
    .. [2] V. Lempitsky, C. Rother, S. Roth and A. Blake, "Fusion moves for Markov random field
       optimization", IEEE TPAMI 32, 1392-1405, 2010.

    Examples
    --------
    Nine nodes in a row; the one in the middle is an outlier.

    >>> import numpy as np
    >>> from sklearn_fw.inference import CutMoves, PairwiseScores
    >>> observed = np.array([0, 0, 0, 0, 2, 1, 1, 1, 1])
    >>> row = [(t, t + 1) for t in range(8)]
    >>> scores = PairwiseScores.from_arrays(np.eye(3)[observed], 1.5 * np.eye(3), row)
    >>> CutMoves().argmax(scores)
    (array([0, 0, 0, 0, 0, 1, 1, 1, 1], dtype=int32), 18.5, inf)
    """

    _plan = PlanCache(Arcs.of_graph)
    parameters = {"move": options("expansion", "swap")}

    def __init__(self, move="expansion", *, max_iter=100):
        self.move = move
        self.max_iter = max_iter

    def _argmax(self, scores, start):
        swaps = self.move == "swap"
        labels = first_labels(scores, start)
        search = Fusions(scores, self._plan(scores), labels)
        moves = range(scores.n_states)
        if swaps:
            moves = [(a, b) for a in moves for b in range(a)]
        pair = _swap if swaps else _expansion
        # A move that has been tried helps again only after another one.
        left = len(moves)
        for turn in range(self.max_iter * len(moves)):
            if left == 0 or time_left() <= 0.0:
                break
            changed = search.fuse(*pair(moves[turn % len(moves)], search.labels))
            left = len(moves) - 1 if changed else left - 1
        # Penalties and sums are rounded in the search: a worse answer is none.
        value, first = scores.value(search.labels), scores.value(labels)
        if value < first:
            return labels, first, np.inf
        return search.labels, value, np.inf


def _expansion(state, labels):
    """Two labellings, of which an expansion of a state takes the best mixture."""
    return labels, np.full_like(labels, state)


def _swap(states, labels):
    taken = (labels == states[0]) | (labels == states[1])
    return tuple(np.where(taken, np.int32(state), labels) for state in states)


class Fusions:
    """Labels that become better by mixtures with others."""

    def __init__(self, scores, plan, labels):
        unary, tables, edge_table = arrays_of(scores)
        # More than all other scores together, so that what is forbidden is left first.
        worst = -2.0 * (
            1.0 + _size(unary) + _size(tables, np.bincount(edge_table, minlength=len(tables)))
        )
        self._allowed = unary > -np.inf
        self._scores = np.maximum(unary, worst), np.maximum(tables, worst), edge_table, plan.edges
        self._plan = plan
        self.labels = labels
        self.value = max_flow.score_of(*self._scores, labels)

    def fuse(self, zero, one):
        """Take the best mixture of two labellings if it is better; returns whether it is.

        Each node has one of its two states already.
        """
        nodes = np.arange(len(zero))
        one = np.where(self._allowed[nodes, one], one, self.labels)
        zero = np.where(self._allowed[nodes, zero], zero, self.labels)
        if np.array_equal(zero, one):
            return False
        _, first, head, sister, arc = self._plan
        residual, excess = np.empty(len(head)), np.empty(len(zero))
        crossed = np.empty(len(arc), bool)
        n_crossed = max_flow.fusion(
            *self._scores, zero, one, ROUNDING, arc, sister, residual, excess, crossed
        )
        if n_crossed:
            side = self._relaxed(-excess, residual[arc], crossed)
            side = np.where(side < 0, self.labels == one, side)
        else:
            arcs = max_flow.Arcs(first, head, sister, residual, excess)
            max_flow.max_flow(arcs)
            side = max_flow.reaches_sink(arcs)
        labels = np.where(side, one, zero)
        value = max_flow.score_of(*self._scores, labels)
        better = value > self.value and not np.array_equal(labels, self.labels)
        if better:
            self.labels, self.value = labels, value
        return better

    def _relaxed(self, gain, loss, crossed):
        fixed = np.full(len(gain), -1)
        form = SwitchForm(0.0, gain, loss, loss, crossed, fixed, 0.0)
        return roof_dual(form, self._plan.edges)[0]


def _size(parts, times=1):
    """Sum of the largest absolute scores of parts, those that forbid left out."""
    sizes = np.abs(np.where(parts == -np.inf, 0.0, parts))
    return float((times * sizes.max(axis=tuple(range(1, parts.ndim)), initial=0.0)).sum())
