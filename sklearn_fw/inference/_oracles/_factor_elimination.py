"""Elimination for tables on any number of nodes: messages before the first node leaves."""

import itertools
import math

import numpy as np

from ..._core.scores import check_sums
from ..._kernels import lazy
from ._elimination import cost_of, downward, make_plan, require_fit, upward, upward_sum

elimination = lazy("graphs.elimination")


class FactorElimination:
    """Sums and maxima over all labellings of nodes, and of tables on two or more of them.

    Parameters
    ----------
    unary : list of arrays of shape (n_states_i,)
        Log-potentials of each node.
    scopes : list of tuples of int
        Nodes of each table, each tuple once.
    tables : list of arrays
        Log-potentials, with one axis for each node of the scope.
    max_table_size : int
        As for `Elimination`.
    n_orders : int
        As for `make_plan`.
    """

    def __init__(self, unary, scopes, tables, max_table_size=2**26, n_orders=0):
        self.scopes, self.max_table_size = scopes, max_table_size
        size = np.array([len(block) for block in unary])
        pairs = {pair for scope in scopes for pair in itertools.combinations(sorted(scope), 2)}
        edges = np.array(sorted(pairs), np.int64).reshape(-1, 2)
        self.found = make_plan(edges, size, scopes, n_orders)
        # The nodes of one state that stand for tables come last.
        self.unary = np.full((len(size) + len(scopes), size.max(initial=1)), -np.inf)
        self.unary[: len(size)][np.arange(self.unary.shape[1]) < size[:, None]] = np.concatenate(
            unary
        )
        self.unary[len(size) :, 0] = 0.0
        parts = [*unary, *tables]
        largest = max(np.abs(t).max(where=np.isfinite(t), initial=0.0) for t in parts)
        check_sums(largest, len(parts))
        self.n_nodes, self._tables, self._axes = len(size), tables, None

    def cost(self):
        """Seconds that marginals take at most, roughly; inf where they take too much memory."""
        return cost_of(*self.found, self.max_table_size)

    def largest_table(self):
        """Numbers in the largest table."""
        return self.found[2]

    def sums(self):
        """(marginals of nodes, padded; marginals of tables; log-partition, -inf if nothing is)."""
        problem = self._problem()
        mode, value, messages, scales = upward_sum(problem, self._load)
        if value == -math.inf:
            return None, None, value
        given = messages[: problem[0].message_start[len(self.scopes)]].copy()
        node = np.zeros(self.unary.shape)
        downward(problem, mode, messages, scales, value, node, np.empty((0, 0, 0)))
        with np.errstate(invalid="ignore"):
            back = messages[: len(given)]
            belief = given * back if mode == elimination.PRODUCT else np.exp(given + back)
        return _normalised(node[: self.n_nodes]), self._unload(belief), value

    def argmax(self):
        """(labels, value), one of the best; -inf if nothing is allowed."""
        problem = self._problem()
        value, messages, _ = upward(problem, elimination.MAX, self._load)
        return self._choose(problem, elimination.MAX, messages, np.empty((1, 0)), 1), value

    def draws(self, n_samples, rng):
        """(labels of independent draws, log-partition)."""
        problem = self._problem()
        mode, value, messages, _ = upward_sum(problem, self._load)
        if value == -math.inf:
            return None, value
        uniforms = np.zeros((n_samples, len(self.unary)))
        uniforms[:, : self.n_nodes] = rng.random_sample((n_samples, self.n_nodes))
        return self._choose(problem, mode, messages, uniforms, n_samples), value

    def _choose(self, problem, mode, messages, uniforms, n_samples):
        labels = np.zeros((n_samples, len(self.unary)), np.int32)
        elimination.choose(*problem, mode, messages, uniforms, labels)
        return labels[:, : self.n_nodes].astype(np.int64)

    def _problem(self):
        require_fit(*self.found, self.max_table_size)
        if self._axes is None:  # of each table, in the order in which its nodes leave
            leaves = np.argsort(self.found[0].order)
            self._axes = [np.argsort(leaves[list(scope)]) for scope in self.scopes]
        k = self.unary.shape[1]
        none = np.empty((0, 2), np.int64), np.empty(0, np.int64), np.empty((0, k, k))
        return self.found[0], self.unary, *none

    def _load(self, mode, messages, scales):
        """Write the tables as messages; what they are divided by is returned."""
        start, value = self.found[0].message_start, 0.0
        for t, table in enumerate(self._tables):
            message = messages[start[t] : start[t + 1]]
            message[:] = table.transpose(self._axes[t]).ravel()
            scales[:, t] = 0.0
            top = message.max()
            if mode == elimination.MAX or top == -np.inf:
                continue
            value += top
            message -= top
            if mode == elimination.PRODUCT:
                scales[1, t] = -message.min(where=message > -np.inf, initial=0.0)
                np.exp(message, out=message)
        return value

    def _unload(self, flat):
        """The inverse of `_load` for beliefs."""
        start, found = self.found[0].message_start, []
        for t, table in enumerate(self._tables):
            axes = self._axes[t]
            belief = flat[start[t] : start[t + 1]].reshape([table.shape[a] for a in axes])
            belief = belief.transpose(np.argsort(axes))
            found.append(np.ascontiguousarray(belief) / belief.sum())
        return found


def _normalised(node):
    sums = node.sum(axis=1, keepdims=True)
    if not np.all((sums > 0.0) & (sums < np.inf)):
        raise ValueError(
            "scores differ so much in size that probabilities of states are lost in rounding: "
            "scale them, or use -inf for what is forbidden"
        )
    return node / sums
