"""Outputs as targets of least squares, and predictions from what least squares gives.

With scores ``F g`` of all predictions, where ``F'F = k I``, the surrogate is
``|g - psi(y)|^2 / 2`` plus a constant, with ``psi(y) = -F'L[:, y] / k``.
"""

import numpy as np

from ..._core.costs import Truth, costs_of
from ..._core.packed import starts_of
from ._spaces import ScoreSpace, check_costs


class ListedOutputs:
    """Outputs that are listed, with a matrix of costs between them."""

    def __init__(self, costs, score_space):
        self.costs = check_costs(costs)
        self.space = ScoreSpace(self.costs, score_space)
        self.rank = self.space.rank
        self.largest_cost = float(self.costs.max())
        self.table = -self.costs @ self.space.basis / self.costs.shape[1]

    def embed(self, codes):
        """Targets (n, rank) of outputs by their numbers."""
        return self.table[codes]

    def scores(self, g):
        """Scores (n, k) of all outputs; equal ones for those that cannot be told apart."""
        space = self.space
        return (g @ space.basis[space.first].T)[:, space.group]

    def losses(self, targets, g):
        """Task losses (n,) of predictions by ``g``, averaged over the outputs in ``targets``."""
        predicted = self.scores(g).argmax(axis=1)[:, None]
        return -np.take_along_axis(self.scores(targets), predicted, axis=1)[:, 0]

    def largest(self, targets):
        """The largest costs (n,) of the outputs in ``targets``."""
        return -self.scores(targets).min(axis=1)

    def widest(self):
        """k times the largest squared length of ``P_F (e_i - e_j)``."""
        space = self.space
        return len(space.basis) * float(space.distances(space.predictable()).max())


class NodeOutputs:
    """Outputs of several labels, where the loss is a sum over labels; nothing is enumerated.

    F has a column of ones and, for each node, an orthogonal basis of the centred costs of the
    states that it was seen in.
    """

    def __init__(self, loss, states, classes, score_space):
        if not isinstance(score_space, str) or score_space != "loss":
            raise ValueError(
                "score_space must be 'loss' where y has several labels for each sample and the "
                "loss is a sum over them"
            )
        n, n_nodes = states.shape
        start = starts_of(np.full(n, n_nodes))
        truth = Truth(states.ravel(), start, (classes,))
        costs = costs_of(loss, truth)
        if costs.whole:
            raise ValueError(f"task_loss={loss!r} is no sum over the labels of an output")
        dense = costs.dense().reshape(n, n_nodes, len(classes))
        self.seen = [np.unique(column) for column in states.T]
        self.largest_cost = float(costs.largest(truth).max())
        if self.largest_cost == 0.0:
            raise ValueError(
                f"task_loss={loss!r} is zero for all outputs: nothing is to be learned"
            )
        self.spaces, parts, total = [], [], np.zeros(n)
        for t, own in enumerate(self.seen):
            here = dense[:, t, own]
            mean = here.mean(axis=1)
            total += mean
            here = here - mean[:, None]
            distinct = np.unique(here, axis=0)
            if not np.any(distinct):
                self.spaces.append(None)
                continue
            space = ScoreSpace(np.ones((1, len(own))), distinct.T)
            self.spaces.append(space)
            parts.append(-here @ space.basis / len(own))
        self.targets = np.column_stack([-total, *parts])
        self.rank = self.targets.shape[1]

    def embed(self):
        """Targets (n, rank)."""
        return self.targets

    def node_scores(self, g):
        """Scores of the seen states of each node, without a constant."""
        first, scores = 1, []
        for own, space in zip(self.seen, self.spaces):
            if space is None:
                scores.append(np.zeros((len(g), len(own))))
                continue
            part = g[:, first : first + space.rank]
            first += space.rank
            scores.append((part @ space.basis[space.first].T)[:, space.group])
        return scores

    def losses(self, targets, g):
        """Task losses (n,) of predictions by ``g``, averaged over the outputs in ``targets``."""
        found = -targets[:, 0]
        for ours, true in zip(self.node_scores(g), self.node_scores(targets)):
            found -= np.take_along_axis(true, ours.argmax(axis=1)[:, None], axis=1)[:, 0]
        return found

    def largest(self, targets):
        """The largest costs (n,) of the outputs in ``targets``."""
        return -targets[:, 0] - sum(s.min(axis=1) for s in self.node_scores(targets))

    def widest(self):
        """k times the largest squared length of ``P_F (e_i - e_j)``, of all outputs."""
        return float(
            sum(
                len(space.basis) * space.distances(space.first).max()
                for space in self.spaces
                if space is not None
            )
        )
