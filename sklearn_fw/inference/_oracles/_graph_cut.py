"""Exact inference by a minimum cut, for two states and edges that want equal states."""

import heapq
from typing import NamedTuple

import numpy as np

from ..._core.oracle import Oracle
from ..._core.scores import PairwiseScores, allowed, expect_scores
from ..._core.validation import check_integer
from ..._kernels import lazy
from ._qpbo import QPBO, fill_arcs, nothing_allowed, switch_form
from ._settle import settled

max_flow = lazy("graphs.max_flow")


class GraphCut(Oracle):
    """Best labelling of a graph with two states whose edges are attractive, by a minimum cut.

    Maximises the score of `PairwiseScores` exactly, cycles or not, if for the table ``t`` of every
    edge::

        t[0, 0] + t[1, 1] >= t[0, 1] + t[1, 0]

    Choose it for segmentation and denoising of images with two labels, large grids
    included. With edges of both kinds choose `QPBO`. It also knows the k best labellings (`top_k`)
    and how much each state of each node costs (`max_marginals`).

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
    The score is the capacity of all arcs less that of a cut between source and sink [1]_. The
    maximum flow is found with real capacities in double precision, nothing is scaled to integers
    [2]_. Time at worst ``n_nodes^2 * n_edges``, in practice a little more than linear; memory
    linear. Of several best labellings the one with most nodes in state 0 is returned.

    `max_marginals` and `top_k` begin with the minimum cut and push what more is needed when one
    node changes its side, by shortest paths from this node on, so that a flip costs as much as its
    neighbourhood is large [3]_. The k best labellings come from partitions of all others by the
    first node where they differ [4]_: k cuts and k times as many flips as there are nodes.

    Forbidden states and pairs are taken into account first, as far as one forbids the next: they
    fix nodes, and tables between fixed nodes need not be attractive. The object keeps nothing
    between calls, which may come from several threads.

    References
    ----------
    .. [1] D. M. Greig, B. T. Porteous and A. H. Seheult, "Exact maximum a posteriori estimation
       for binary images", Journal of the Royal Statistical Society B 51, 271-279, 1989.
    .. [2] A. V. Goldberg, S. Hed, H. Kaplan, R. E. Tarjan and R. F. Werneck, "Maximum flows by
       incremental breadth-first search", European Symposium on Algorithms, 457-468, 2011.
       doi:10.1007/978-3-642-23719-5_39
    .. [3] P. Kohli and P. H. S. Torr, "Measuring uncertainty in graph cut solutions", Computer
       Vision and Image Understanding 112, 30-38, 2008. doi:10.1016/j.cviu.2008.07.002
    .. [4] E. L. Lawler, "A procedure for computing the k best solutions to discrete optimization
       problems", Management Science 18, 401-405, 1972. doi:10.1287/mnsc.18.7.401

    Examples
    --------
    A cycle of four nodes that want to be equal. Node 3 prefers state 1, but not enough.

    >>> import numpy as np
    >>> from sklearn_fw.inference import GraphCut, PairwiseScores
    >>> unary = [[1.0, 0.0], [0.0, 0.0], [0.5, 0.0], [0.0, 0.7]]
    >>> cycle = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> scores = PairwiseScores.from_arrays(unary, np.eye(2), cycle)
    >>> labels, value, upper_bound = GraphCut().argmax(scores)
    >>> labels
    array([0, 0, 0, 0], dtype=int32)
    >>> value
    5.5
    """

    releases_gil = True
    exact = True

    def argmax(self, scores, start=None):
        expect_scores(scores)
        return settled(self._cut, scores, exact=True) or nothing_allowed(scores)

    def top_k(self, scores, k):
        """The k best labellings, best first.

        Parameters
        ----------
        scores : PairwiseScores
            Scores of two states with attractive edges.
        k : int
            How many labellings are wanted, at least 1.

        Returns
        -------
        values : ndarray of shape (m,)
            Scores in descending order; m < k when fewer labellings are allowed.
        labels : ndarray of shape (m, n_nodes), int32
            The labellings, all different.
        """
        expect_scores(scores)
        k = check_integer(k, "k", 1)
        found = []
        queue = [(-np.inf, 0, None, scores.unary)]  # what cannot be beaten there, turn, a set
        while queue and len(found) < k:
            _, _, node, unary = heapq.heappop(queue)
            if node is not None:
                unary = unary(node)
            part = PairwiseScores._view(unary, scores.pairwise, scores.edges)
            form = attractive_form(part)
            if form is None:
                continue
            cut = Cut.of(form, scores.edges)
            labels = form.merge(cut.sink)
            found.append((scores.value(labels), labels))
            # All others agree with these labels before some node, and differ there.
            nodes = np.flatnonzero(form.fixed < 0)
            losses = cut.flip_losses(nodes, fix=True)
            rest = _others(unary, labels, nodes)
            for i in np.argsort(losses, kind="stable")[: k - len(found)]:
                if losses[i] < np.inf:
                    bound = found[-1][0] - losses[i]
                    heapq.heappush(queue, (-bound, len(found) * scores.n_nodes + int(i), i, rest))
        found.sort(key=lambda entry: -entry[0])  # what rounding may have exchanged
        values = np.array([value for value, _ in found])
        labels = np.array([row for _, row in found], np.int32).reshape(-1, scores.n_nodes)
        return allowed(values, labels)

    def max_marginals(self, scores):
        """Best score that a labelling can have for each state of each node.

        Parameters
        ----------
        scores : PairwiseScores
            Scores of two states with attractive edges.

        Returns
        -------
        best : ndarray of shape (n_nodes, n_states)
            The scores, ``-inf`` where a state is in no allowed labelling. The largest of each row
            is the value of `argmax`, but for rounding.
        """
        expect_scores(scores)
        best = np.full((scores.n_nodes, 2), -np.inf)
        form = attractive_form(scores)
        if form is not None:
            cut = Cut.of(form, scores.edges)
            labels = form.merge(cut.sink)
            value = scores.value(labels)
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
            return QPBO()._relax(scores, start)
        refuse_crossed(form, scores)
        cut = Cut.of(form, scores.edges)
        labels = form.merge(cut.sink)
        bound = float(form.constant + np.maximum(form.gain, 0.0).sum() - cut.flow)
        return labels, scores.value(labels), bound + form.rounding, 2 * form.rounding


def refuse_crossed(form, scores):
    """Raise a ValueError that names the first edge that is not attractive."""
    if form.crossed.any():
        edge = int(form.crossed.argmax())
        (a, b), table = scores.edges[edge], scores.pairwise[edge]
        raise ValueError(
            f"GraphCut needs attractive edges, t[0, 0] + t[1, 1] >= t[0, 1] + t[1, 0], but "
            f"edge {edge} between nodes {a} and {b} has t = {table.tolist()}; QPBO() takes "
            f"edges of any kind, TreeMaxProduct() graphs without cycles"
        )


def attractive_form(scores):
    """The `SwitchForm` of scores that a cut can solve; None if every labelling is forbidden."""
    form = switch_form(scores, "GraphCut")
    if form is not None:
        refuse_crossed(form, scores)
    return form


class Cut(NamedTuple):
    """A minimum cut: what it leaves of the capacities, its flow and the nodes beyond it."""

    arcs: object
    flow: float
    sink: np.ndarray  # (n_nodes,) bool, the smallest sink side

    @classmethod
    def of(cls, form, edges):
        """The cut of scores that are attractive."""
        arcs = fill_arcs(edges, form.forward, form.backward, -form.gain)
        flow = max_flow.max_flow(arcs)
        return cls(arcs, flow, max_flow.reaches_sink(arcs))

    def flip_losses(self, nodes, fix):
        """What the score loses when one of the nodes changes its side: (len(nodes),).

        With ``fix`` nodes before it have to stay; the capacities are no longer valid then.
        """
        losses = np.empty(len(nodes))
        max_flow.flip_losses(self.arcs, self.sink, nodes, fix, losses)
        return losses


def _others(unary, labels, nodes):
    """The function that gives the scores of those labellings that differ first at ``nodes[i]``."""

    def differ_first(i):
        part = unary.copy()
        part[nodes[:i], 1 - labels[nodes[:i]]] = -np.inf
        part[nodes[i], labels[nodes[i]]] = -np.inf
        return part

    return differ_first
