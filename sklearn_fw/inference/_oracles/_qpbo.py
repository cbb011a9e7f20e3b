"""Bound and partial labelling by roof duality, for two states and edges of any kind."""

import numpy as np

from ..._core.oracle import Oracle
from ..._core.scores import expect_scores
from ..._kernels import lazy
from ._adjacency import first_labels
from ._graph_cut import fill_arcs, nothing_allowed, switch_form
from ._settle import settled

max_flow = lazy("graphs.max_flow")


class QPBO(Oracle):
    """Good labelling and upper bound for two states and edges of any kind, by roof duality.

    Maximises the score of `PairwiseScores` over a relaxation in which each node is either labelled
    or half in each state: the linear program over the local polytope. Labels found there are those
    of a best labelling, so the answer is exact if no node is left half. Choose it when some edges
    are not attractive, so that `GraphCut` refuses the graph; the fewer and weaker they are, the
    more nodes are labelled.

    Attributes
    ----------
    exact : bool
        False: nothing is promised for all answers. A single answer is exact if its
        ``upper_bound`` equals its ``value``.

    See Also
    --------
    GraphCut : Always exact, for attractive edges.
    LPRelaxation : The same bound for any number of states, with much more work.
    MILP : Exact on small graphs.

    Notes
    -----
    One maximum flow on a graph with two nodes for each node and two arcs for each edge and
    direction [1]_ [2]_. Time at worst ``n_nodes^2 * n_edges``, memory linear. Labels come from the
    strong components of what the flow leaves, so as many nodes are labelled as any minimum cut can
    label [2]_.

    A node that is left half takes its label from ``start``; the answer is then never worse than
    ``start`` [3]_. Without ``start`` it takes the state with the better sum of its own score and
    the means of its rows in the tables of its edges. If these labels break a forbidden pair, the
    value is ``-inf``, although there may be an allowed labelling.

    The bound includes an allowance for rounding, some 1e-14 of the sum of all absolute scores. An
    answer that is so close to it counts as exact where that is at most 1e-9 of its value; else
    states and pairs that cannot be part of a better labelling are left out, and the rest is asked
    again. The object keeps nothing between calls, which
    may come from several threads.

    References
    ----------
    .. [1] P. L. Hammer, P. Hansen and B. Simeone, "Roof duality, complementation and persistency in
       quadratic 0-1 optimization", Mathematical Programming 28, 121-155, 1984.
       doi:10.1007/BF02612354
    .. [2] V. Kolmogorov and C. Rother, "Minimizing nonsubmodular functions with graph cuts - a
       review", IEEE Transactions on Pattern Analysis and Machine Intelligence 29, 1274-1279, 2007:
       sections 2 and 3. doi:10.1109/TPAMI.2007.1031
    .. [3] E. Boros and P. L. Hammer, "Pseudo-Boolean optimization", Discrete Applied Mathematics
       123, 155-225, 2002: persistency. doi:10.1016/S0166-218X(01)00341-9

    Examples
    --------
    Node 0 wants state 1; the triangle of the other nodes, which want to differ, cannot be settled.

    >>> import numpy as np
    >>> from sklearn_fw.inference import QPBO, PairwiseScores
    >>> unary = [[0.0, 3.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> edges = [(1, 2), (2, 3), (3, 1), (0, 1)]
    >>> scores = PairwiseScores.from_arrays(unary, 1 - np.eye(2), edges)
    >>> labels, value, upper_bound = QPBO().argmax(scores, start=[0, 0, 1, 1])
    >>> labels
    array([1, 0, 1, 1], dtype=int32)
    >>> value, round(upper_bound, 9)
    (6.0, 6.5)
    """

    def argmax(self, scores, start=None):
        expect_scores(scores)
        if start is not None:
            first_labels(scores, start)
        return settled(self._relax, scores, start) or nothing_allowed(scores)

    def _relax(self, scores, start):
        form = switch_form(scores, "QPBO")
        if form is None:
            return None
        known, flow = roof_dual(form, scores.edges)
        guess = form.gain > 0.0 if start is None else first_labels(scores, start)
        labels = form.merge(np.where(known < 0, guess, known))
        bound = float(form.constant + np.maximum(form.gain, 0.0).sum() - flow / 2)
        return labels, scores.value(labels), bound + form.rounding, 2 * form.rounding


def half_integral(scores):
    """Optimal point of the local polytope for two states, none of which is forbidden.

    Marginals of nodes, which are zero, one half or one, those of edges, and a bound on the score of
    all points.
    """
    form = switch_form(scores, "QPBO")
    known, flow = roof_dual(form, scores.edges)
    one = np.where(known < 0, 0.5, known)
    x, y = one[scores.edges.T]
    # Of all edges between two nodes the best has as much as possible on one of the diagonals.
    both = np.where(form.crossed, np.maximum(x + y - 1.0, 0.0), np.minimum(x, y))
    edge = np.stack([1.0 - x - y + both, y - both, x - both, both], axis=1).reshape(-1, 2, 2)
    bound = float(form.constant + np.maximum(form.gain, 0.0).sum() - flow / 2)
    return np.column_stack([1.0 - one, one]), edge, bound + form.rounding


def roof_dual(form, edges):
    """Labels that some best labelling has, -1 where none is known, and twice the cut's capacity.

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
    kernels = max_flow
    flow = kernels.max_flow(arcs)
    one = kernels.reaches_sink(arcs)
    # Any other node can be on another side than its opposite unless each has a way to the other.
    # If only one has, it belongs to the side of the sink, for nothing must flow to that side.
    component = kernels.strong_components(arcs, one | one[opposite])
    one |= component > component[opposite]
    one, zero = one[:n_nodes], one[n_nodes:]
    return np.where(one == zero, -1, one), flow
