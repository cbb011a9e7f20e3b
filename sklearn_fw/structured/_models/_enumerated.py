"""Candidates with given features: reranking, and the reference of every solver."""

from numbers import Integral

import numpy as np

from ..._core import check
from ..._core.parameters import Parameterized
from ...task_losses import ZeroOneLoss, resolve_task_loss
from ._base import ScoredModel, checked_features, checked_samples

AXES = "n_candidates"


class Largest(Parameterized):
    """The oracle of lists: the largest of some scores."""

    exact = True

    def argmax(self, scores, start=None):
        """Its number, the first on ties, and its score twice."""
        best = int(scores.argmax())
        value = float(scores[best])
        return best, value, value

    def top_k(self, scores, k):
        order = np.argsort(-scores, kind="stable")[:k]
        return scores[order], order


class EnumeratedModel(ScoredModel):
    """Choice among listed candidates, each with its own feature vector.

    The score of candidate c of an input ``x`` is ``<w, x[c]>``. Choose it to rerank hypotheses,
    answers or parses.

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
    Numbers of candidates may differ. An ``oracle`` maximizes vectors of scores, one for each
    candidate. The ``output_key`` of an output is the number of the true candidate.

    Where the cost of a candidate depends on the sample, as the overlap of boxes does, the true
    output is the vector of the costs of all its candidates, not negative and zero for the true one
    (the first such). Then ``task_loss`` is not used.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.structured import EnumeratedModel
    >>> model = EnumeratedModel().initialize([np.eye(3)], [2])
    >>> model.inference(np.eye(3), np.array([0.1, 0.3, 0.2]))
    1

    Boxes proposed for an image, with costs by their overlap with the true one:

    >>> from sklearn_fw.task_losses import BoxLoss
    >>> boxes = [(0, 0, 4, 4), (0, 2, 4, 6), (2, 2, 6, 6)]
    >>> costs = [BoxLoss().value(boxes[1], box) for box in boxes]
    >>> EnumeratedModel().initialize([np.eye(3)], [costs]).loss(costs, 2)
    0.6666666666666667
    """

    task_loss: object = "zero_one"

    def initialize(self, X, y):
        self._set_loss()
        for i, x, truth in checked_samples(X, y, AXES):
            number_of(truth, len(x), f"y[{i}]")
        self.size_joint_feature = x.shape[1]
        return self

    def _set_loss(self):
        self._loss = resolve_task_loss(self.task_loss, ("zero_one",))
        self.task_loss_ = self.task_loss

    def joint_feature(self, x, y):
        x = checked_features(x, "x", self.size_joint_feature, AXES)
        return x[number_of(y, len(x), "y")]

    def loss(self, y_true, y):
        if _are_costs(y_true):
            costs = _costs(y_true, "y_true")
            return float(costs[number_of(y, len(costs), "y")])
        for name, value in (("y_true", y_true), ("y", y)):
            if not isinstance(value, Integral):
                raise ValueError(f"{name} must be the number of a candidate, got {value!r}")
        if type(self._loss) is ZeroOneLoss:
            return float(y_true != y)
        return float(self._loss.losses([y_true], [y])[0])

    def output_key(self, y):
        """Return the number of the candidate.

        Parameters
        ----------
        y : int or array of costs
            An output.
        """
        return int(_costs(y, "y").argmin()) if _are_costs(y) else number_of(y, np.inf, "y")

    def default_oracle(self):
        return Largest()

    def scores(self, x, w):
        x = checked_features(x, "x", self.size_joint_feature, AXES)
        return x @ check.shaped(w, "w", self.size_joint_feature)

    def augment(self, scores, y_true):
        scores = check.array(scores, "scores")
        if scores.ndim != 1:
            raise ValueError(f"scores must have shape (n_candidates,), got {scores.shape}")
        n, loss = len(scores), self._loss
        number_of(y_true, n, "y_true")  # refuses what is none
        if _are_costs(y_true):
            return scores + y_true
        if type(self).loss is not EnumeratedModel.loss:  # that of a subclass
            return scores + [self.loss(y_true, y) for y in range(n)]
        if type(loss) is not ZeroOneLoss:
            return scores + loss.losses([y_true] * n, list(range(n)))
        augmented = scores + 1.0
        augmented[y_true] = scores[y_true]
        return augmented


def number_of(y, n_candidates, name):
    """The number of the true candidate, given as such or by the costs of all."""
    if _are_costs(y):
        costs = _costs(y, name)
        if len(costs) != n_candidates:
            raise ValueError(f"{name} has {len(costs)} costs for {n_candidates} candidates")
        return int(costs.argmin())
    if not isinstance(y, Integral) or not 0 <= y < n_candidates:
        raise ValueError(f"{name} must name one of {n_candidates} candidates, got {y!r}")
    return int(y)


def _are_costs(y):
    return isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.ndim > 0)


def _costs(y, name):
    costs = check.numbers(y, name)
    if costs.ndim != 1 or np.any(costs < 0.0) or not np.any(costs == 0.0):
        raise ValueError(
            f"{name} must be a vector of costs, not negative and zero for the true one"
        )
    return costs
