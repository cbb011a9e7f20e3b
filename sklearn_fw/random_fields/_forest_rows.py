"""Exact inference on one forest for many incomplete rows at a time."""

import numpy as np

from .._kernels import lazy
from ..inference import TreeMaxProduct
from ._fields import PairwiseMRF

sum_product = lazy("graphs.sum_product")

ENTRIES_AT_ONCE = 2**22  # of the arrays for a batch of rows


class ForestRows:
    """Message passing on a random field without cycles, for batches of rows."""

    def __init__(self, mrf: PairwiseMRF):
        self._scores, self._oracle = mrf.scores(), TreeMaxProduct()
        self.unary, *self._forest = self._oracle._forest(self._scores)

    def batches(self, rows):
        (n, k), n_edges = self.unary.shape, self._scores.n_edges
        size = max(1, ENTRIES_AT_ONCE // (n * k + n_edges * k * k))
        return [slice(a, a + size) for a in range(0, len(rows), size)]

    def _given(self, rows):
        """Scores of the states of variables, of those alone that rows allow."""
        seen = (rows[:, :, None] == np.arange(self.unary.shape[1])) | (rows < 0)[:, :, None]
        return np.where(seen, self.unary, -np.inf)

    def _sums(self, rows, node, edge):
        (n, k), n_edges = self.unary.shape, self._scores.n_edges
        starts, none = n * np.arange(len(rows) + 1), np.zeros(len(rows), np.int64)
        samples = self._given(rows).reshape(-1, k), starts, none, none + n_edges
        return sum_product.tree_marginals_batch(*samples, *self._forest, node, edge)

    def log_sums(self, rows):
        k = self.unary.shape[1]
        return self._sums(rows, np.empty((0, k)), np.empty((0, k, k)))

    def marginals(self, rows, weight=None):
        """Node marginals given the entries that are not negative, for each of many rows.

        Returns probabilities (n_rows, n_variables, n_states); sums over rows, by ``weight``, of
        those of pairs, (n_edges, n_states, n_states) with axes as in ``mrf.edges``, None without
        weights; and the logarithm of the total potential of the completions of each row.
        """
        (n, k), n_edges = self.unary.shape, self._scores.n_edges
        node, edge = np.empty((len(rows) * n, k)), np.empty((len(rows) * n_edges, k, k))
        total = self._sums(rows, node, edge)
        if np.any(total == -np.inf):
            raise ValueError("observed is forbidden by a potential of -inf")
        if weight is None:
            return node.reshape(-1, n, k), None, total
        edge = np.tensordot(weight, edge.reshape(len(rows), n_edges, k, k), axes=1)
        return node.reshape(-1, n, k), self._oracle._undirected(edge, self._scores), total

    def sample(self, rows, n_samples, rng):
        """Random completions of each row, from its distribution given what is there."""
        drawn = np.zeros((n_samples, *rows.shape), np.int32)
        for i, unary in enumerate(self._given(rows)):
            uniforms, labels = rng.random_sample(drawn[:, i].shape), np.zeros_like(drawn[:, i])
            sum_product.tree_samples(unary, *self._forest, uniforms, labels)
            drawn[:, i] = labels
        return drawn.astype(np.int64)
