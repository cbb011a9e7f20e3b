"""What a structured model is: the four methods that black-box models provide."""

from abc import ABC, abstractmethod

from sklearn.base import BaseEstimator

from ...task_losses import TaskLoss, resolve_task_loss

# What outputs are, by the name of a model where it is known by its name alone.
KINDS = {"auto": "multiclass", "multiclass": "multiclass", "multilabel": "multilabel"}
TABULAR = ("multiclass", "multilabel")  # whose samples are one row each
REQUIRED = ("joint_feature", "loss", "loss_augmented_inference", "inference")


def missing_methods(model):
    """Names of the four compulsory methods that an object lacks."""
    return [name for name in REQUIRED if not callable(getattr(model, name, None))]


def kind_of(model):
    """What the outputs of a model, or of a name, are: "multiclass", "multilabel", "sequences"..."""
    return KINDS.get(model) if isinstance(model, str) else getattr(model, "_kind", None)


def loss_of_nodes(model, task_loss, names):
    """The loss of a model that trains with costs of nodes."""
    is_loss = isinstance(task_loss, TaskLoss)  # which is not changed, and so not copied
    loss = task_loss if is_loss else resolve_task_loss(task_loss, names)
    if not loss._has_costs:
        raise TypeError(
            f"{type(model).__name__} trains with costs of nodes, but task_loss={task_loss!r} is "
            f"known by its values alone: give it a method node_costs, see "
            f"sklearn_fw.task_losses.TaskLoss"
        )
    return loss


def kept_loss(model, make):
    """``make(task_loss)`` of a model, made anew where its parameter is another one."""
    known, loss = vars(model).get("_kept_loss", (None, None))
    if loss is None or known is not model.task_loss:
        loss = make(model.task_loss)
        model._kept_loss = model.task_loss, loss
    return loss


class StructuredModel(BaseEstimator, ABC):
    """Feature map, loss and inference of one kind of structured output.

    A subclass, or any object with the same methods, can be given as
    ``StructuredSVM(model=...)``. Outputs ``y`` may be anything; all scores are maximised.

    See Also
    --------
    sklearn_fw.structured.ChainModel : Sequences.
    sklearn_fw.structured.MulticlassModel : One label.
    sklearn_fw.structured.MultilabelModel : Sets of labels.

    Notes
    -----
    Optional methods: ``initialize(X, y)``, called once on the training set;
    ``output_key(y)``, a hashable that tells outputs apart (default: their bytes);
    ``bounds()``, a pair (lower, upper) of bounds on the weights.
    """

    def initialize(self, X, y):
        """Infer sizes from the training set.

        Parameters
        ----------
        X : sequence of length n_samples
            Inputs.
        y : sequence of length n_samples
            Outputs.

        Returns
        -------
        self : object
            The model.
        """
        return self

    @abstractmethod
    def joint_feature(self, x, y):
        """Features phi(x, y) of an input with an output.

        Parameters
        ----------
        x : object
            Input.
        y : object
            Output.

        Returns
        -------
        phi : ndarray of shape (size_joint_feature,) or CSR of shape (1, size_joint_feature)
            The feature vector.
        """

    @abstractmethod
    def loss(self, y_true, y):
        """Cost of predicting ``y``; zero for the truth, never negative.

        Parameters
        ----------
        y_true : object
            True output.
        y : object
            Predicted output.

        Returns
        -------
        loss : float
            The cost.
        """

    @abstractmethod
    def inference(self, x, w):
        """Output of highest score ``<w, phi(x, y)>``.

        Parameters
        ----------
        x : object
            Input.
        w : ndarray of shape (size_joint_feature,)
            Weights.

        Returns
        -------
        y : object
            The output.
        """

    @abstractmethod
    def loss_augmented_inference(self, x, y_true, w):
        """Output of highest ``loss(y_true, y) + <w, phi(x, y)>``.

        Parameters
        ----------
        x : object
            Input.
        y_true : object
            True output.
        w : ndarray of shape (size_joint_feature,)
            Weights.

        Returns
        -------
        y : object
            The output.
        """
