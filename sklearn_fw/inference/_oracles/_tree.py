"""Exact inference on chains, trees and forests."""

import numpy as np

from ..._core.scores import arrays_of, count_labelings, oriented
from ..._kernels import lazy
from ._exact import GibbsInference

sum_product = lazy("graphs.sum_product")
tree = lazy("graphs.tree")


def _orient(scores):
    """Edges from child to parent, leaves first, and how they come from those of the scores."""
    edges, source, flipped = oriented(scores.edges, scores.n_nodes)
    if len(edges) < scores.n_edges:
        raise ValueError(
            "TreeMaxProduct needs edges without a cycle (a double edge is one, too); "
            "Elimination() takes any graph of small tree-width, Enumeration() any small one"
        )
    return edges, source, flipped


def _forest(scores):
    edges, source, flipped = _orient(scores)
    unary, tables, edge_table = arrays_of(scores)
    shared = len(tables) < len(edges)
    edge_table = edge_table[source]
    if flipped.any():
        if shared:
            tables = np.ascontiguousarray(np.concatenate([tables, tables.transpose(0, 2, 1)]))
            edge_table = flipped.astype(np.int64)
        else:
            turned = source[flipped]
            tables = tables.copy()
            tables[turned] = tables[turned].transpose(0, 2, 1)
    return unary, edges, edge_table, tables


class TreeMaxProduct(GibbsInference):
    """MAP inference on trees and forests, by max-product message passing.

    Maximizes the score of `PairwiseScores` exactly on any graph without cycles, connected or not.
    Edges may come in any order and direction.

    See Also
    --------
    Viterbi : The same for chains, with less work per call.
    Elimination : The same for graphs with cycles, of small tree-width.
    Enumeration : The same for small graphs of any shape.

    Notes
    -----
    Time n_edges * n_states^2, memory n_nodes * n_states. On large trees let ``edges`` point towards
    one node: other tables are transposed in each call. Of several best states a root takes the
    lowest, and so does every other node given its parent's state.

    Marginals take at most one more pass and are stable for scores of any size. `top_k` departs from
    the MAP labeling at one node after the other [2]_, in time n_nodes * (n_states + k) for each of
    the k.

    References
    ----------
    .. [1] J. Pearl, "Probabilistic Reasoning in Intelligent Systems: Networks of Plausible
       Inference", Morgan Kaufmann, 1988, chapter 5.
    .. [2] L. Huang and D. Chiang, "Better k-best parsing", IWPT 2005.

    Examples
    --------
    A star: the middle node 0 prefers state 0, its three neighbors state 1, and equal is better.

    >>> import numpy as np
    >>> from sklearn_fw.inference import PairwiseScores, TreeMaxProduct
    >>> unary = [[1.0, 0.0], [0.0, 0.9], [0.0, 0.9], [0.0, 0.9]]
    >>> scores = PairwiseScores.from_arrays(unary, 2 * np.eye(2), [(0, 1), (0, 2), (3, 0)])
    >>> values, labels = TreeMaxProduct().top_k(scores, 2)
    >>> values, labels[0]
    (array([8.7, 7. ]), array([1, 1, 1, 1], dtype=int32))
    """

    _forest = staticmethod(_forest)

    def _argmax(self, scores, start):
        forest = self._forest(scores)
        n_nodes, n_states = forest[0].shape
        labels = np.empty(n_nodes, np.int32)
        messages = np.empty((n_nodes + 1, n_states))
        value = tree.tree_argmax(*forest, labels, messages)
        return labels, value, value

    def _best(self, scores, k):
        k = min(k, count_labelings(scores))
        return tree.tree_top_k(*self._forest(scores), k)

    def _sums(self, scores, marginals):
        unary, *graph = self._forest(scores)
        n_nodes, n_edges, n_states = scores.n_nodes, scores.n_edges, scores.n_states
        node = np.empty((n_nodes if marginals else 0, n_states))
        edge = np.empty((n_edges if marginals else 0, n_states, n_states))
        one = np.array([0, n_nodes]), np.array([0]), np.array([n_edges])  # where its parts are
        value = sum_product.tree_marginals_batch(unary, *one, *graph, node, edge).item()
        if marginals:
            edge = self._undirected(edge, scores)
        return node, edge, value

    def _maxima(self, scores):
        forest = self._forest(scores)
        node = np.empty(forest[0].shape)
        sum_product.tree_max_marginals(*forest, node)
        return node

    def _draws(self, scores, uniforms):
        forest = self._forest(scores)
        labels = np.zeros(uniforms.shape, np.int32)
        return labels, sum_product.tree_samples(*forest, uniforms, labels)

    @staticmethod
    def _undirected(edge, scores):
        """Marginals of the edges of a forest in the order and direction of the scores."""
        _, source, flipped = _orient(scores)
        edge[flipped] = edge[flipped].transpose(0, 2, 1)
        original = np.empty_like(edge)
        original[source] = edge
        return original


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


class Viterbi(TreeMaxProduct):
    """MAP inference on chains, by the Viterbi algorithm.

    Maximizes the score of `PairwiseScores` exactly where node t is joined to node t + 1 only.
    Choose it for sequences: it costs less per call than `TreeMaxProduct`.

    See Also
    --------
    TreeMaxProduct : The same for trees, and for chains whose edges are in another order.
    Enumeration : The same for small graphs of any shape.

    Notes
    -----
    Time n_nodes * n_states^2, memory n_nodes * n_states. Of several best states the last node takes
    the lowest, and so does every other node given the state of the next one. Marginals come from
    the forward-backward algorithm [2]_, stable for scores of any size.

    References
    ----------
    .. [1] A. J. Viterbi, "Error bounds for convolutional codes and an asymptotically optimum
       decoding algorithm", IEEE TIT 13(2), 260-269, 1967.
    .. [2] L. R. Rabiner, "A tutorial on hidden Markov models and selected applications in speech
       recognition", Proceedings of the IEEE 77(2), 257-286, 1989: the forward-backward algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import PairwiseScores, Viterbi
    >>> unary = [[2.0, 0.0], [0.0, 0.5], [1.0, 0.0]]
    >>> scores = PairwiseScores.from_arrays(unary, np.eye(2), [(0, 1), (1, 2)])
    >>> Viterbi().argmax(scores)
    (array([0, 0, 0], dtype=int32), 5.0, 5.0)
    >>> node, edge, log_partition = Viterbi().marginals(scores)
    >>> node[0].round(3), round(log_partition, 3)
    (array([0.878, 0.122]), 5.589)
    """

    _forest = staticmethod(_chain)

    @staticmethod
    def _undirected(edge, scores):
        return edge
