"""Exact inference by trying everything."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar

from ._scores import allowed, count_labelings, kernels, tables_of


class Enumeration(BaseEstimator):
    """Best labelling of any small graph, by trying all labellings.

    Maximises the score of `PairwiseScores` exactly, cycles or not. Meant for graphs of a handful
    of nodes and as the referee of other oracles.

    Parameters
    ----------
    max_labelings : int, default=1_000_000
        Largest number ``n_states ** n_nodes`` of labellings that will be tried; the guard against
        a call that never returns.

    Attributes
    ----------
    exact : bool
        True: ``value`` and ``upper_bound`` are equal in every answer.

    See Also
    --------
    Viterbi : For chains of any length.
    TreeMaxProduct : For graphs without cycles, of any size.

    Notes
    -----
    Time ``n_states ** n_nodes * (n_nodes + n_edges)``; `top_k` also needs 16 bytes for each
    labelling. Of several best labellings the lexicographically first is returned. The object
    keeps nothing between calls, which may come from several threads.

    Examples
    --------
    Three nodes that want to differ from each other, with two states: one pair must agree.

    >>> import numpy as np
    >>> from sklearn_fw.inference import Enumeration, PairwiseScores
    >>> triangle = [(0, 1), (1, 2), (2, 0)]
    >>> scores = PairwiseScores.from_arrays(np.zeros((3, 2)), 1 - np.eye(2), triangle)
    >>> labels, value, upper_bound = Enumeration().argmax(scores)
    >>> labels
    array([0, 0, 1], dtype=int32)
    >>> value
    2.0
    """

    exact = True

    def __init__(self, max_labelings=1_000_000):
        self.max_labelings = max_labelings

    def argmax(self, scores, start=None):
        """Best labelling.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on any graph.
        start : object, default=None
            Ignored: an exact answer needs no first guess.

        Returns
        -------
        labels : ndarray of shape (n_nodes,), int32
            The first of the best labellings.
        value : float
            Its score, ``-inf`` when every labelling is forbidden.
        upper_bound : float
            The same number.

        Raises
        ------
        ValueError
            When there are more than ``max_labelings`` labellings.
        """
        self._count(scores)
        unary = np.ascontiguousarray(scores.unary, dtype=np.float64)
        edges = np.array(scores.edges, dtype=np.int64, order="C")
        tables, edge_table = tables_of(scores)
        labels = np.empty(len(unary), np.int32)
        value = kernels().enumerate_argmax(unary, edges, edge_table, tables, labels)
        return labels, value, value

    def top_k(self, scores, k):
        """The k best labellings, best first.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on any graph.
        k : int
            How many labellings are wanted, at least 1.

        Returns
        -------
        values : ndarray of shape (m,)
            Scores in descending order; m < k when fewer labellings are allowed.
        labels : ndarray of shape (m, n_nodes), int32
            The labellings, all different; of equal ones the lexicographically first comes first.

        Raises
        ------
        ValueError
            When there are more than ``max_labelings`` labellings, or k < 1.
        """
        check_scalar(k, "k", Integral, min_val=1)
        n_labelings = self._count(scores)
        n_nodes, n_states = scores.unary.shape
        values = np.zeros(n_labelings)

        def digit_view(*nodes):
            """Values with one axis per node of interest (ascending), their digits base n_states."""
            shape, before = [], 0
            for node in nodes:
                shape += [n_states ** (node - before), n_states]
                before = node + 1
            return values.reshape(*shape, -1)

        for t in range(n_nodes):
            digit_view(t)[...] += scores.unary[t][:, None]
        for (a, b), table in zip(scores.edges.tolist(), scores.pairwise):
            low, high, table = (a, b, table) if a < b else (b, a, table.T)
            digit_view(low, high)[...] += table[:, None, :, None]

        if k < n_labelings:  # sort only what can be among the best
            bar = np.partition(values, n_labelings - k)[n_labelings - k]
            candidates = np.flatnonzero(values >= bar)
        else:
            candidates = np.arange(n_labelings)
        best = candidates[np.argsort(-values[candidates], kind="stable")[:k]]
        labels = np.empty((len(best), n_nodes), np.int32)
        rest = best
        for t in range(n_nodes - 1, -1, -1):
            rest, labels[:, t] = np.divmod(rest, n_states)
        return allowed(values[best], labels)

    def _count(self, scores):
        check_scalar(self.max_labelings, "max_labelings", Integral, min_val=1)
        n_nodes, n_states = scores.unary.shape
        n_labelings = count_labelings(scores)
        if n_labelings > self.max_labelings:
            raise ValueError(
                f"{n_states} states on {n_nodes} nodes have more than "
                f"max_labelings={self.max_labelings} labellings; raise max_labelings, or use "
                f"TreeMaxProduct() or Viterbi() if the graph has no cycle"
            )
        return n_labelings
