"""Exact inference on chains."""

import numpy as np

from ..._core.scores import arrays_of
from ..._kernels import lazy
from ._tree import ForestInference

tree = lazy("graphs.tree")


class Viterbi(ForestInference):
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
    the lowest, and so does every other node given the state of the next one. Marginals and the
    other questions about the Gibbs distribution ``p(y)`` ~ ``exp(score(y))`` are answered by the
    forward-backward algorithm, which is stable for scores of any size. The object keeps nothing
    between calls, which may come from several threads.

    References
    ----------
    .. [1] A. J. Viterbi, "Error bounds for convolutional codes and an asymptotically optimum
       decoding algorithm", IEEE Transactions on Information Theory 13(2), 260-269, 1967.
       doi:10.1109/TIT.1967.1054010
    .. [2] G. D. Forney, "The Viterbi algorithm", Proceedings of the IEEE 61(3), 268-278, 1973.
       doi:10.1109/PROC.1973.9030
    .. [3] L. R. Rabiner, "A tutorial on hidden Markov models and selected applications in speech
       recognition", Proceedings of the IEEE 77(2), 257-286, 1989: the forward-backward algorithm.
       doi:10.1109/5.18626
    .. [4] N. Seshadri and C.-E. W. Sundberg, "List Viterbi decoding algorithms with applications",
       IEEE Transactions on Communications 42, 313-323, 1994: the problem of `top_k`.

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
    >>> node, edge, log_partition = Viterbi().marginals(scores)
    >>> node.round(3)
    array([[0.878, 0.122],
           [0.661, 0.339],
           [0.752, 0.248]])
    >>> round(log_partition, 3)
    5.589
    """

    def _forest(self, scores):
        return _chain(scores)


def _chain(scores):
    """Arguments of the compiled loops: a chain is a tree whose edges are already in order."""
    # A copy, since edges may be read-only, and each kind of array costs one more compilation.
    edges = np.array(scores.edges, dtype=np.int64, order="C")
    if not tree.is_chain(edges, scores.n_nodes):
        raise ValueError(
            "Viterbi needs the edges of a chain, (0, 1), (1, 2), ... in this order, one fewer than "
            "nodes; TreeMaxProduct() takes the edges of any tree or forest in any order"
        )
    unary, tables, edge_table = arrays_of(scores)
    return unary, edges, edge_table, tables
