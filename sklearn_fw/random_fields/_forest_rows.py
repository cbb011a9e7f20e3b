"""Exact inference on one forest for many incomplete rows at a time."""

import numpy as np

from .._kernels import lazy
from ._fields import PairwiseMRF

tree = lazy("graphs.tree")

ENTRIES_AT_ONCE = 2**22  # of the arrays for a batch of rows


class ForestRows:
    """Message passing in logarithms on a random field without cycles, vectorised over rows."""

    def __init__(self, mrf: PairwiseMRF):
        scores = mrf.scores()
        self.unary = scores.unary
        self.n_edges = mrf.n_edges
        # From child to parent, leaves first.
        ends, self.source, flipped = tree.orient_forest(mrf.edges.copy(), mrf.n_variables)
        self.ends = ends.tolist()
        tables = scores.pairwise[self.source]
        self.flipped = flipped.astype(bool)
        tables[self.flipped] = tables[self.flipped].transpose(0, 2, 1)
        self.tables = tables
        self.roots = np.setdiff1d(np.arange(mrf.n_variables), ends[:, 0])

    def batches(self, rows):
        n, k = self.unary.shape
        size = max(1, ENTRIES_AT_ONCE // (n * k + k * k))
        return [slice(a, a + size) for a in range(0, len(rows), size)]

    def _collect(self, rows):
        """Beliefs below each variable, messages to the parents, and log-probabilities of rows."""
        _n, k = self.unary.shape
        seen = (rows[:, :, None] == np.arange(k)) | (rows < 0)[:, :, None]
        below = np.where(seen, self.unary, -np.inf)
        messages = []
        for (child, parent), table in zip(self.ends, self.tables):
            messages.append(_log_sum(below[:, child, :, None] + table, axis=1))
            below[:, parent] += messages[-1]
        total = _log_sum(below[:, self.roots], axis=2).sum(axis=1)
        return below, messages, total

    def log_sums(self, rows):
        return self._collect(rows)[2]

    def marginals(self, rows, weight=None):
        """Node marginals given the entries that are not negative, for each of many rows.

        Returns probabilities (n_rows, n_variables, n_states); sums over rows, by ``weight``, of
        those of pairs, (n_edges, n_states, n_states) with axes as in ``mrf.edges``, None without
        weights; and the logarithm of the total potential of the completions of each row.
        """
        below, messages, total = self._collect(rows)
        if np.any(total == -np.inf):
            raise ValueError("observed is forbidden by a potential of -inf")
        belief = below.copy()
        belief[:, self.roots] -= _log_sum(below[:, self.roots], axis=2)[:, :, None]
        k = self.unary.shape[1]
        edge = None if weight is None else np.zeros((self.n_edges, k, k))
        for e in range(self.n_edges - 1, -1, -1):
            child, parent = self.ends[e]
            with np.errstate(invalid="ignore"):  # -inf without itself
                above = np.where(messages[e] > -np.inf, belief[:, parent] - messages[e], -np.inf)
            joint = below[:, child, :, None] + self.tables[e] + above[:, None, :]
            if edge is not None:
                table = np.tensordot(weight, np.exp(joint), axes=1)
                edge[self.source[e]] = table.T if self.flipped[e] else table
            belief[:, child] = _log_sum(joint, axis=2)
        return np.exp(belief), edge, total

    def sample(self, rows, rng):
        """One random completion of each row, from its distribution given what is there."""
        below, _, _ = self._collect(rows)
        drawn = np.empty(rows.shape, np.int64)
        for root in self.roots:
            drawn[:, root] = _draw(below[:, root], rng)
        for e in range(self.n_edges - 1, -1, -1):
            child, parent = self.ends[e]
            given = self.tables[e][:, drawn[:, parent]].T
            drawn[:, child] = _draw(below[:, child] + given, rng)
        return drawn


def _log_sum(logs, axis):
    top = logs.max(axis=axis, keepdims=True)
    top = np.where(top > -np.inf, top, 0.0)
    with np.errstate(divide="ignore"):  # nothing is left of some
        return np.log(np.exp(logs - top).sum(axis=axis)) + top.squeeze(axis)


def _draw(logs, rng):
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    below = np.cumsum(weights, axis=1)
    u = rng.random_sample((len(logs), 1)) * below[:, -1:]
    return (u >= below).sum(axis=1)
