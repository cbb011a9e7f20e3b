"""Exact inference on chains."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar

from ._scores import allowed, count_labelings, kernels, tables_of


class Viterbi(BaseEstimator):
    """Best labelling of a chain, by the Viterbi algorithm.

    Maximises the score of `PairwiseScores` exactly, where node t is joined to node t + 1 and to
    nothing else: sequences. It is the max-product recursion of a tree without the search for a
    root, so it costs less per call than `TreeMaxProduct`, which accepts chains as well.

    Attributes
    ----------
    exact : bool
        True: ``value`` and ``upper_bound`` are equal in every answer.

    See Also
    --------
    TreeMaxProduct : The same for trees, and for chains whose edges are in another order.
    Enumeration : The same for small graphs of any shape.

    Notes
    -----
    Time n_nodes * n_states^2, memory n_nodes * n_states. Of several best states the last node takes
    the lowest, and so does every other node given the state of the next one. The object keeps
    nothing between calls, which may come from several threads.

    References
    ----------
    .. [1] A. J. Viterbi, "Error bounds for convolutional codes and an asymptotically optimum
       decoding algorithm", IEEE Transactions on Information Theory 13(2), 260-269, 1967.
       doi:10.1109/TIT.1967.1054010
    .. [2] G. D. Forney, "The Viterbi algorithm", Proceedings of the IEEE 61(3), 268-278, 1973.
       doi:10.1109/PROC.1973.9030
    .. [3] N. Seshadri and C.-E. W. Sundberg, "List Viterbi decoding algorithms with applications",
       IEEE Transactions on Communications 42, 313-323, 1994: the parallel algorithm, for `top_k`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import PairwiseScores, Viterbi
    >>> unary = [[2.0, 0.0], [0.0, 0.5], [1.0, 0.0]]
    >>> scores = PairwiseScores.from_arrays(unary, np.eye(2), [(0, 1), (1, 2)])
    >>> labels, value, upper_bound = Viterbi().argmax(scores)
    >>> labels
    array([0, 0, 0], dtype=int32)
    >>> value, upper_bound
    (5.0, 5.0)
    """

    exact = True

    def argmax(self, scores, start=None):
        """Best labelling.

        Parameters
        ----------
        scores : PairwiseScores
            Scores whose edges are (0, 1), (1, 2), ..., (n_nodes - 2, n_nodes - 1), in this order.
        start : object, default=None
            Ignored: an exact answer needs no first guess.

        Returns
        -------
        labels : ndarray of shape (n_nodes,), int32
            A best labelling.
        value : float
            Its score, ``-inf`` when every labelling is forbidden.
        upper_bound : float
            The same number.

        Raises
        ------
        ValueError
            When the edges are not those of the chain.
        """
        unary, edges, edge_table, tables = _chain(scores)
        n_nodes, n_states = unary.shape
        labels = np.empty(n_nodes, np.int32)
        messages = np.empty((n_nodes + 1, n_states))
        value = kernels().tree_argmax(unary, edges, edge_table, tables, labels, messages)
        return labels, value, value

    def top_k(self, scores, k):
        """The k best labellings, best first.

        Parameters
        ----------
        scores : PairwiseScores
            Scores of a chain, as for `argmax`.
        k : int
            How many labellings are wanted, at least 1.

        Returns
        -------
        values : ndarray of shape (m,)
            Scores in descending order; m < k when fewer labellings are allowed.
        labels : ndarray of shape (m, n_nodes), int32
            The labellings, all different.

        Raises
        ------
        ValueError
            When the edges are not those of the chain, or k < 1.
        """
        check_scalar(k, "k", Integral, min_val=1)
        unary, edges, edge_table, tables = _chain(scores)
        k = min(int(k), count_labelings(scores))
        return allowed(*kernels().tree_top_k(unary, edges, edge_table, tables, k))


def _chain(scores):
    """Arguments of the compiled loops: a chain is a tree whose edges are already in order."""
    unary = np.ascontiguousarray(scores.unary, dtype=np.float64)
    # A copy, since edges may be read-only, and each kind of array costs one more compilation.
    edges = np.array(scores.edges, dtype=np.int64, order="C")
    if not kernels().is_chain(edges, len(unary)):
        raise ValueError(
            "Viterbi needs the edges of a chain, (0, 1), (1, 2), ... in this order, one fewer than "
            "nodes; TreeMaxProduct() takes the edges of any tree or forest in any order"
        )
    tables, edge_table = tables_of(scores)
    return unary, edges, edge_table, tables
