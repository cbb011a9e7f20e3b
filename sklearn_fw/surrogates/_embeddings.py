"""Outputs as targets of least squares, and predictions from what least squares gives.

With scores ``F g`` of all predictions, where ``F'F = k I``, the surrogate is
``|g - psi(y)|^2 / 2`` plus a constant, with ``psi(y) = -F'L[:, y] / k``.
"""

import numpy as np
import scipy.linalg as sl
from scipy.optimize import linprog

from .._core import check
from .._core.costs import Truth, costs_of

RANK = 1e-10  # singular values below this share of the largest are rounding


def check_costs(costs):
    """A cost matrix (n_labels, n_predictions) as float64."""
    costs = check.shaped(costs, "costs", "n_labels", "n_predictions")
    if costs.shape[1] < 2:
        raise ValueError("costs must have at least two predictions, got one column")
    if costs.min() < 0.0:
        raise ValueError(
            f"costs must not be negative, got {costs.min():g}: add a constant to the row of each "
            f"label, which changes no decision"
        )
    if costs.max() < 1e-100:  # of which squares vanish
        raise ValueError("costs must not be zero for all predictions: nothing is to be learned")
    return costs


class ScoreSpace:
    """A space of scores, with an orthogonal basis of columns of squared length k.

    Predictions with equal rows cannot be told apart; ``first`` are the first of each group, and
    ``group`` is the group of every prediction. Costs have shape (n_labels, k).
    """

    def __init__(self, costs, score_space="loss"):
        k = costs.shape[1]
        if isinstance(score_space, str):
            other = "a matrix with one row for each prediction"
            check.choice(score_space, "score_space", ("loss", "full"), other)
            rows = costs.T if score_space == "loss" else np.eye(k)
        else:
            rows = check.shaped(score_space, "score_space", k, "r")
            if not np.any(rows):
                raise ValueError("score_space must not be zero")
        _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        self.first, self.group = first[order], np.argsort(order)[np.ravel(group)]
        self.unit = _orthonormal(rows)[self.first][self.group]
        self.basis, self.rank = np.sqrt(k) * self.unit, self.unit.shape[1]
        self.costs = costs
        self.projected = self.unit @ (self.unit.T @ costs.T)  # P_F L
        distance = np.abs(self.projected - costs.T).max()
        self.holds_loss = bool(distance <= 1e-9 * costs.max())

    def distances(self, among):
        """Squared lengths of ``P_F (e_i - e_j)`` for the predictions ``among``."""
        rows = self.unit[among]
        squares = np.sum(rows**2, axis=1)
        return np.maximum(squares[:, None] + squares - 2.0 * rows @ rows.T, 0.0)

    def widest(self, among):
        return float(self.distances(among).max())

    def scores(self, g):
        """Scores of all predictions; equal ones for those that cannot be told apart."""
        return (g @ self.basis[self.first].T)[:, self.group]

    def predictable(self):
        """Predictions that some scores lead to, ties going to the first."""
        rows = self.basis[self.first]
        if np.linalg.matrix_rank(rows) == len(rows):
            return self.first
        found = [i for i in range(len(rows)) if _is_attained(rows, i)]
        return self.first[found]


def _orthonormal(rows):
    if rows.shape[0] == rows.shape[1] and np.array_equal(rows, np.eye(len(rows))):
        return rows
    left, sizes, _ = sl.svd(rows, full_matrices=False)
    return left[:, sizes > RANK * sizes[0]]


def _is_attained(rows, i):
    """Whether the first of the largest scores can be that of row i."""
    gaps = np.delete(rows[i] - rows, i, axis=0)
    strict = (np.arange(len(rows) - 1) < i).astype(np.float64)
    found = linprog(np.zeros(rows.shape[1]), -gaps, -strict, bounds=(None, None))
    return found.status == 0


class ListedOutputs:
    """Outputs that are listed, with a matrix of costs between them."""

    def __init__(self, costs, score_space):
        self.costs = check_costs(costs)
        self.space = ScoreSpace(self.costs, score_space)
        self.rank, self.holds_loss = self.space.rank, self.space.holds_loss
        self.largest_cost = float(self.costs.max())
        self.table = -self.costs @ self.space.basis / self.costs.shape[1]

    def scores(self, g):
        return self.space.scores(g)

    def states(self, g):
        return self.scores(g).argmax(axis=1)

    def risks(self, g):
        return -self.scores(g)

    def losses(self, targets, g):
        """Task losses (n,) of predictions by ``g``, averaged over the outputs in ``targets``."""
        return -self.scores(targets)[np.arange(len(g)), self.states(g)]

    def largest(self, targets):
        return -self.scores(targets).min(axis=1)

    def widest(self):
        """k times the largest squared length of ``P_F (e_i - e_j)``."""
        space = self.space
        return len(space.basis) * space.widest(space.predictable())


class NodeOutputs:
    """Outputs of several labels, where the loss is a sum over labels; nothing is enumerated.

    F has a column of ones and, for each node, an orthogonal basis of the centered costs of its
    states.
    """

    holds_loss = True

    def __init__(self, loss, states, classes, score_space):
        if not isinstance(score_space, str) or score_space != "loss":
            raise ValueError("score_space must be 'loss' for a loss that is a sum over labels")
        n, n_nodes = states.shape
        truth = Truth(states.ravel(), n_nodes * np.arange(n + 1), (classes,))
        costs = costs_of(loss, truth)
        if costs.whole:
            raise ValueError(f"task_loss={loss!r} is not a sum over the labels of an output")
        dense = costs.dense().reshape(n, n_nodes, len(classes))
        self.seen = [np.unique(column) for column in states.T]
        self.largest_cost = float(costs.largest(truth).max())
        if self.largest_cost == 0.0:
            raise ValueError(f"task_loss={loss!r} is zero for all outputs: nothing to be learned")
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
            space = ScoreSpace(distinct)
            self.spaces.append(space)
            parts.append(-here @ space.basis / len(own))
        self.targets = np.column_stack([-total, *parts])
        self.rank = self.targets.shape[1]

    def scores(self, g):
        """Scores of the seen states of each node, without a constant."""
        first, scores = 1, []
        for own, space in zip(self.seen, self.spaces):
            if space is None:
                scores.append(np.zeros((len(g), len(own))))
                continue
            scores.append(space.scores(g[:, first : first + space.rank]))
            first += space.rank
        return scores

    def states(self, g):
        """Numbers (n, n_nodes) of the labels of the outputs with the largest scores."""
        found = zip(self.seen, self.scores(g))
        return np.column_stack([own[np.argmax(s, axis=1)] for own, s in found])

    def risks(self, g):
        """Expected losses (n,) of the outputs with the largest scores."""
        return -g[:, 0] - sum(s.max(axis=1) for s in self.scores(g))

    def losses(self, targets, g):
        """Task losses (n,) of predictions by ``g``, averaged over the outputs in ``targets``."""
        found = -targets[:, 0]
        for ours, true in zip(self.scores(g), self.scores(targets)):
            found -= true[np.arange(len(g)), ours.argmax(axis=1)]
        return found

    def largest(self, targets):
        return -targets[:, 0] - sum(s.min(axis=1) for s in self.scores(targets))

    def widest(self):
        """k times the largest squared length of ``P_F (e_i - e_j)``, of all outputs."""
        spaces = [space for space in self.spaces if space is not None]
        return sum(len(space.basis) * space.widest(space.first) for space in spaces)
