"""What a structured model is: four methods, or scores that an oracle maximizes."""

from abc import ABC, abstractmethod

import numpy as np

from ..._core import check
from ..._core.parameters import Parameterized
from ...task_losses import TaskLoss, resolve_task_loss
from ._ragged import check_counts, listed, weighted_samples

ASKED = ("inference", "loss_augmented_inference")
REQUIRED = ("joint_feature", "loss", "loss_augmented_inference", "inference")


def loss_of_nodes(model, task_loss, names):
    """The loss of a model that trains with costs of nodes."""
    is_loss = isinstance(task_loss, TaskLoss)  # which is not changed, and so not copied
    loss = task_loss if is_loss else resolve_task_loss(task_loss, names)
    if not loss._has_costs:
        raise TypeError(
            f"{type(model).__name__} trains with costs of nodes, but task_loss={task_loss!r} has "
            f"none: give it a method node_costs, see sklearn_fw.task_losses.TaskLoss"
        )
    return loss


def checked_features(x, name, n_features, axes="n_rows, n_columns", least=1):
    """Moderate numbers, float32 or else float64, with ``least`` entries along each of some axes."""
    is_kept = type(x) is np.ndarray and x.dtype in (np.float32, np.float64)
    x = x if is_kept and check.is_moderate(x) else check.numbers(x, name)
    n_axes = len(axes.split(", ")) + 1
    fits = x.ndim == n_axes and n_features in ("n_features", x.shape[-1]) and x.shape[-1] > 0
    if not fits or min(x.shape) < least:
        at_least = f" with {least} of each at least" if 0 in x.shape else ""
        raise ValueError(f"{name} must have shape ({axes}, {n_features}){at_least}, got {x.shape}")
    return x


def checked_samples(X, y, axes="n_rows, n_columns", least=1):
    """Yield number, checked features and output of each sample; all have as many features."""
    X, y = listed(X, "arrays of features"), check.items(y, "y", "outputs")
    check_counts(len(X), len(y))
    n_features = "n_features"
    for i, (x, truth) in enumerate(zip(X, y)):
        x = checked_features(x, f"X[{i}]", n_features, axes, least)
        n_features = x.shape[-1]
        yield i, x, truth


class StructuredModel(Parameterized, ABC):
    """Feature map, loss and inference of one kind of structured output.

    A subclass, or any object with the same methods, can be given as
    ``StructuredSVM(model=...)``. Outputs ``y`` may be anything; all scores are maximized.

    See Also
    --------
    sklearn_fw.structured.ChainModel : Sequences.
    sklearn_fw.structured.MulticlassModel : One label.
    sklearn_fw.structured.MultilabelModel : Sets of labels.

    Notes
    -----
    Optional methods: ``initialize(X, y)``, called once on the training set;
    ``output_key(y)``, a hashable that identifies an output (default: their bytes);
    ``bounds()``, a pair (lower, upper) of bounds on the weights.
    """

    _multi_label = None  # whether a sample is a row with several labels; None where it is not a row
    _usual_tol = 0.1  # what ``tol="auto"`` stands for

    def _inputs(self, svm, X):
        """Checked inputs of a fitted estimator."""
        return X

    def _samples(self, svm, X, y, sample_weight, reset=True):
        """Checked samples of positive weight, and their weights."""
        return weighted_samples(X, y, sample_weight)

    def initialize(self, X, y):
        """Infer sizes from the training set, and return the model.

        Parameters
        ----------
        X, y : sequences of length n_samples
            Inputs and outputs.
        """
        return self

    @abstractmethod
    def joint_feature(self, x, y):
        """Return phi(x, y), ``size_joint_feature`` numbers in an array or a CSR row.

        Parameters
        ----------
        x, y : object
            Input and output.
        """

    @abstractmethod
    def loss(self, y_true, y):
        """Return the cost of predicting ``y``: zero for the truth, never negative.

        Parameters
        ----------
        y_true, y : object
            True and predicted output.
        """

    @abstractmethod
    def inference(self, x, w):
        """Return the output of highest score ``<w, phi(x, y)>``.

        Parameters
        ----------
        x : object
            Input.
        w : ndarray of shape (size_joint_feature,)
            Weights.
        """

    @abstractmethod
    def loss_augmented_inference(self, x, y_true, w):
        """Return the output of highest ``loss(y_true, y) + <w, phi(x, y)>``.

        Parameters
        ----------
        x, y_true : object
            Input and true output.
        w : ndarray of shape (size_joint_feature,)
            Weights.
        """


class ScoredModel(StructuredModel):
    """Base class of models whose oracle takes scores of any kind.

    Scores may be anything that the oracle accepts: a matrix for matchings, a vector for candidates,
    a map for each joint of a pose. A subclass computes scores (`scores`), adds the loss to them
    (`augment`), names the oracle (`default_oracle`), and has `joint_feature` and `loss`. Then
    ``StructuredSVM(model, oracle=...)`` takes any other oracle for such scores.

    See Also
    --------
    PartModel : States of nodes joined by edges, with compiled passes.
    StructuredModel : Models that bring their own inference.
    sklearn_fw.inference : What an oracle is.

    Examples
    --------
    The k largest of some numbers, each with its own features:

    >>> import numpy as np
    >>> from sklearn_fw import StructuredSVM
    >>> from sklearn_fw.structured import ScoredModel
    >>> class Largest:
    ...     exact = True
    ...     def argmax(self, scores, start=None):
    ...         y = np.zeros(len(scores), int)
    ...         y[np.argsort(scores)[-2:]] = 1
    ...         return y, scores @ y, scores @ y
    >>> class Subset(ScoredModel):
    ...     def default_oracle(self):
    ...         return Largest()
    ...     def scores(self, x, w):
    ...         return x @ w
    ...     def augment(self, scores, y_true):
    ...         return scores + 1 - 2 * y_true
    ...     def joint_feature(self, x, y):
    ...         return y @ x
    ...     def loss(self, y_true, y):
    ...         return np.sum(y_true != y)
    >>> X = [np.array([[1.0], [3.0], [2.0]]), np.array([[0.0], [5.0], [4.0], [1.0]])]
    >>> y = [np.array([0, 1, 1]), np.array([0, 1, 1, 0])]
    >>> svm = StructuredSVM(Subset(), C=1.0, tol=0.01).fit(X, y)
    >>> svm.predict([np.array([[2.0], [1.0], [9.0]])])[0]
    array([1, 0, 1])
    """

    @abstractmethod
    def scores(self, x, w):
        """Return the scores of an input, which the oracle maximizes; linear in w.

        Parameters
        ----------
        x : object
            Input.
        w : ndarray of shape (size_joint_feature,)
            Weights.
        """

    @abstractmethod
    def augment(self, scores, y_true):
        """Return scores whose maximizer is the loss-augmented prediction.

        Parameters
        ----------
        scores, y_true : object
            Scores of an input, and its true output, whose loss is added but for a constant.
        """

    @abstractmethod
    def default_oracle(self):
        """Return the oracle of ``oracle="auto"``.

        Its ``argmax(scores)`` returns ``(output, value, upper_bound)``.
        """

    def inference(self, x, w):
        return self.default_oracle().argmax(self.scores(x, w))[0]

    def loss_augmented_inference(self, x, y_true, w):
        return self.default_oracle().argmax(self.augment(self.scores(x, w), y_true))[0]


def is_scored(model):
    """Whether an oracle can be given to a model: its inference is that of its scores."""
    return isinstance(model, ScoredModel) and all(
        getattr(getattr(model, name), "__func__", None) is getattr(ScoredModel, name)
        for name in ASKED
    )
