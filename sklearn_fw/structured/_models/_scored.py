"""Models whose inputs and weights make scores, which an oracle maximises."""

from abc import abstractmethod

from ._base import StructuredModel

ASKED = ("inference", "loss_augmented_inference")


class ScoredModel(StructuredModel):
    """Outputs that an oracle finds on scores of any kind: base class of such models.

    Scores may be whatever the oracle understands: a matrix for matchings, a vector for a list of
    candidates, a map for each joint of a pose. A subclass says how inputs and weights make them
    (`scores`), how the loss adds to them (`augment`), who maximises them (`default_oracle`), and
    what features and loss an output has (`joint_feature`, `loss`). Then
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
        """Scores of an input.

        Parameters
        ----------
        x : object
            Input.
        w : ndarray of shape (size_joint_feature,)
            Weights.

        Returns
        -------
        scores : object
            What the oracle maximises, linear in w.
        """

    @abstractmethod
    def augment(self, scores, y_true):
        """Add the loss to scores, but for a constant.

        Parameters
        ----------
        scores : object
            Scores of an input.
        y_true : object
            Its true output.

        Returns
        -------
        augmented : object
            Scores whose maximiser is the loss-augmented prediction.
        """

    @abstractmethod
    def default_oracle(self):
        """What ``oracle="auto"`` stands for.

        Returns
        -------
        oracle : object
            Its ``argmax(scores)`` returns ``(output, value, upper_bound)``.
        """

    def inference(self, x, w):
        return self.default_oracle().argmax(self.scores(x, w))[0]

    def loss_augmented_inference(self, x, y_true, w):
        return self.default_oracle().argmax(self.augment(self.scores(x, w), y_true))[0]


def is_scored(model):
    """Whether an oracle can be given to a model.

    One that overrides its inference means something else than its scores say.
    """
    return isinstance(model, ScoredModel) and all(
        getattr(getattr(model, name), "__func__", None) is getattr(ScoredModel, name)
        for name in ASKED
    )
