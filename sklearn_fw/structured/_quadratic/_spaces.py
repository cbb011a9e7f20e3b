"""Subspaces that the scores of all predictions are taken from."""

import numpy as np
import scipy.linalg as sl
from scipy.optimize import linprog

from ..._core.validation import check_array_of_numbers, check_magnitude

RANK = 1e-10  # singular values below this share of the largest are rounding


def check_costs(costs):
    """A cost matrix (n_labels, n_predictions) as float64."""
    costs = check_array_of_numbers(costs, "costs")
    if costs.ndim != 2 or costs.shape[0] < 1 or costs.shape[1] < 2:
        raise ValueError(
            f"costs must have shape (n_labels, n_predictions), one label and two predictions at "
            f"least; got {costs.shape}"
        )
    check_magnitude(costs, "costs")
    if costs.min() < 0.0:
        raise ValueError(
            f"costs must not be negative, got {costs.min():g}: add a constant to the row of each "
            f"label, which changes no decision"
        )
    if costs.max() < 1e-100:  # of which squares vanish
        raise ValueError(
            "costs must not be zero for all predictions: then there is nothing to learn"
        )
    return costs


class ScoreSpace:
    """A space of scores with an orthogonal basis of columns of squared length k.

    Predictions with equal rows cannot be told apart; ``first`` are the first of each group, and
    ``group`` is the group of every prediction.

    Parameters
    ----------
    costs : ndarray of shape (n_labels, k)
        Costs of predictions.
    score_space : {"loss", "full"} or array-like of shape (k, r)
        The columns of the loss, all scores, or the columns of a matrix.
    """

    def __init__(self, costs, score_space="loss"):
        k = costs.shape[1]
        if isinstance(score_space, str):
            if score_space not in ("loss", "full"):
                raise ValueError(
                    f"score_space must be 'loss', 'full' or a matrix with one row for each "
                    f"prediction, got {score_space!r}"
                )
            rows = costs.T if score_space == "loss" else np.eye(k)
        else:
            rows = check_array_of_numbers(score_space, "score_space")
            check_magnitude(rows, "score_space")
            if rows.ndim != 2 or len(rows) != k or not np.any(rows):
                raise ValueError(
                    f"score_space must be a matrix with one row for each of {k} predictions, not "
                    f"all zero; got shape {rows.shape}"
                )
        _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        self.first, self.group = first[order], np.argsort(order)[np.ravel(group)]
        self.unit = _orthonormal(rows)[self.first][self.group]
        self.basis = np.sqrt(k) * self.unit
        self.rank = self.unit.shape[1]
        self.costs = costs
        self.projected = self.unit @ (self.unit.T @ costs.T)  # P_F L
        distance = np.abs(self.projected - costs.T).max()
        self.holds_loss = bool(distance <= 1e-9 * costs.max())

    def distances(self, among):
        """Squared lengths of ``P_F (e_i - e_j)`` for the predictions ``among``."""
        rows = self.unit[among]
        squares = np.sum(rows**2, axis=1)
        return np.maximum(squares[:, None] + squares - 2.0 * rows @ rows.T, 0.0)

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


def predictable_labels(score_space):
    """Predictions that the scores of a space can lead to.

    The prediction is the first of those with the largest score. In a small space of scores some
    never win: of classes whose scores are always equal, all but the first.

    Parameters
    ----------
    score_space : array-like of shape (n_predictions, r)
        The scores are its columns and their sums.

    Returns
    -------
    labels : ndarray of int
        Numbers of predictions, rising.

    Notes
    -----
    One linear program for each distinct row, unless rows are independent.

    Examples
    --------
    >>> from sklearn_fw.structured import predictable_labels
    >>> predictable_labels([[1, 0], [1, 0], [0, 1]])
    array([0, 2])
    """
    rows = check_array_of_numbers(score_space, "score_space")
    if rows.ndim != 2 or len(rows) < 2:
        raise ValueError(
            f"score_space must be a matrix with one row for each of two predictions or more, got "
            f"shape {rows.shape}"
        )
    return ScoreSpace(np.ones((1, len(rows))), rows).predictable()
