"""Candidates with given features: reranking, and the referee of every solver."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from ..._validation import check_array_of_numbers, check_magnitude, is_moderate
from ...task_losses import ZeroOneLoss, resolve_task_loss
from .._items import length_of
from ._base import kept_loss
from ._scored import ScoredModel

__all__ = ["EnumeratedModel"]


class Largest(BaseEstimator):
    """The oracle of lists: the largest of some scores."""

    exact = True

    def argmax(self, scores, start=None):
        """Its number, the first on ties, and its score twice."""
        best = int(scores.argmax())
        value = float(scores[best])
        return best, value, value


class EnumeratedModel(ScoredModel):
    """Choice among listed candidates, each with its own feature vector.

    The score of candidate c of an input ``x`` is ``<w, x[c]>``: reranking of hypotheses, answers or
    parses, and the one model whose optimum can be checked by a generic QP solver.

    Parameters
    ----------
    task_loss : "zero_one", array-like of shape (n_candidates, n_candidates), callable or \
            TaskLoss, default="zero_one"
        One for every candidate but the truth, the cost of each candidate (column) for each true one
        (row), a function ``task_loss(y_true, y)`` of numbers of candidates, or any other loss of
        these, see `sklearn_fw.task_losses`.

    Attributes
    ----------
    task_loss_ : str, array-like, callable or TaskLoss
        The loss of the training, as given.
    size_joint_feature : int
        Number of features.

    See Also
    --------
    MulticlassModel : The same candidates for every input.

    Notes
    -----
    An input is an array of shape (n_candidates, n_features), an output the number of a candidate.
    Numbers of candidates may differ. An ``oracle`` is asked about vectors of scores, one for each
    candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.structured import EnumeratedModel
    >>> model = EnumeratedModel().initialize([np.eye(3)], [2])
    >>> model.inference(np.eye(3), np.array([0.1, 0.3, 0.2]))
    1
    """

    def __init__(self, task_loss="zero_one"):
        self.task_loss = task_loss

    def initialize(self, X, y):
        """Check candidates and outputs.

        Parameters
        ----------
        X : list of n_samples arrays of shape (n_candidates, n_features)
            Candidates.
        y : array-like of shape (n_samples,)
            Number of the true candidate of each.

        Returns
        -------
        self : EnumeratedModel
            The model.
        """
        _resolve(self.task_loss)  # refuses what is no loss
        self.task_loss_ = self.task_loss
        width = None
        if length_of(X, "X") != length_of(y, "y"):
            raise ValueError(
                f"X and y must have the same length, got {length_of(X, 'X')} and "
                f"{length_of(y, 'y')}"
            )
        for i, (x, truth) in enumerate(zip(X, y, strict=True)):
            x = check_array_of_numbers(x, f"X[{i}]", finite=None)
            if x.ndim != 2 or (width or x.shape[1]) != x.shape[1]:
                raise ValueError(f"X[{i}] must have shape (n_candidates, {width}), got {x.shape}")
            width = x.shape[1]
            if not np.all(np.isfinite(x)):
                raise ValueError(f"X[{i}] contains NaN or infinity")
            check_magnitude(x, f"X[{i}]")
            if not isinstance(truth, Integral) or not 0 <= truth < len(x):
                raise ValueError(f"y[{i}] must name one of {len(x)} candidates, got {truth}")
        self.size_joint_feature = width
        return self

    def joint_feature(self, x, y):
        """Features of a candidate.

        Parameters
        ----------
        x : ndarray of shape (n_candidates, n_features)
            Candidates.
        y : int
            Number of one.

        Returns
        -------
        phi : ndarray of shape (n_features,)
            Its features.
        """
        x = self._candidates(x)
        if not isinstance(y, Integral) or not 0 <= y < len(x):
            raise ValueError(f"y must name one of {len(x)} candidates, got {y!r}")
        return x[y]

    def loss(self, y_true, y):
        """Cost of a candidate.

        Parameters
        ----------
        y_true : int
            True candidate.
        y : int
            Chosen candidate.

        Returns
        -------
        loss : float
            The cost.
        """
        for name, value in (("y_true", y_true), ("y", y)):
            if not isinstance(value, Integral):
                raise ValueError(f"{name} must be the number of a candidate, got {value!r}")
        if type(self._loss) is ZeroOneLoss:
            return float(y_true != y)
        return float(self._loss.losses([y_true], [y])[0])

    @property
    def _loss(self):
        return kept_loss(self, _resolve)

    def default_oracle(self):
        """What finds the largest of some scores.

        Returns
        -------
        oracle : object
            The oracle.
        """
        return Largest()

    def scores(self, x, w):
        """Score of every candidate.

        Parameters
        ----------
        x : ndarray of shape (n_candidates, n_features)
            Candidates.
        w : ndarray of shape (n_features,)
            Weights.

        Returns
        -------
        scores : ndarray of shape (n_candidates,)
            What the oracle maximises.
        """
        w = check_array_of_numbers(w, "w")
        if w.shape != (self.size_joint_feature,):
            raise ValueError(f"w must have shape ({self.size_joint_feature},), got {w.shape}")
        return self._candidates(x) @ w

    def augment(self, scores, y_true):
        """Add the loss to scores.

        Parameters
        ----------
        scores : ndarray of shape (n_candidates,)
            Scores of candidates.
        y_true : int
            True candidate.

        Returns
        -------
        augmented : ndarray of shape (n_candidates,)
            Scores whose maximiser is the loss-augmented prediction.
        """
        scores = check_array_of_numbers(scores, "scores")
        if scores.ndim != 1:
            raise ValueError(f"scores must have shape (n_candidates,), got {scores.shape}")
        n, loss = len(scores), self._loss
        if not isinstance(y_true, Integral) or not 0 <= y_true < n:
            raise ValueError(f"y_true must name one of {n} candidates, got {y_true!r}")
        if type(self).loss is not EnumeratedModel.loss:  # that of a subclass
            return scores + [self.loss(y_true, y) for y in range(n)]
        if type(loss) is not ZeroOneLoss:
            return scores + loss.losses([y_true] * n, list(range(n)))
        augmented = scores + 1.0
        augmented[y_true] = scores[y_true]
        return augmented

    def _candidates(self, x):
        x = _matrix(x, "x")
        if x.ndim != 2 or len(x) == 0 or x.shape[1] != self.size_joint_feature:
            raise ValueError(
                f"x must have shape (n_candidates, {self.size_joint_feature}) with one candidate "
                f"at least, got {x.shape}"
            )
        return x


def _matrix(x, name):
    """An array of numbers, float32 or else float64."""
    is_kept = type(x) is np.ndarray and x.dtype == np.float32 and is_moderate(x)
    return x if is_kept else check_array_of_numbers(x, name)


def _resolve(task_loss):
    return resolve_task_loss(task_loss, ("zero_one",))
