"""The base class of task losses, losses that are functions, and outputs as they read them."""

from numbers import Real

import numpy as np
import scipy.sparse as sp

from .._core import check
from .._core.costs import Truth, costs_of, truth_of_pairs
from .._core.labels import check_pairs, locate
from .._core.packed import objects, starts_of
from .._core.parameters import Parameterized

RIGHT_OR_WRONG = np.array(["right", "wrong"])
LABELS = str | bytes | bool | int | float | np.generic


def read_labels(y_true, y_pred, classes=None, loss=""):
    """The `Truth` of raw outputs and the predicted states, both encoded by ``classes``.

    None takes the labels that occur, sorted if they can be. ``loss`` is named where a label is not
    among the classes.
    """
    flat, lengths, shapes = check_pairs(y_true, y_pred)
    if classes is None:
        classes, (states, predicted) = _number(flat)
    else:
        number, classes = {label: k for k, label in enumerate(classes)}, _array(classes)
        states, predicted = (
            _look_up(labels, number, lengths, f"{name}, which {loss} does not know")
            for name, labels in zip(("y_true", "y_pred"), flat)
        )
    return Truth(states, starts_of(lengths), (classes,), shapes=_matrices(shapes)), predicted


def read_mistakes(y_true, y_pred):
    """Like `read_labels`, where only matters which labels differ: the truth has state 0."""
    (true, predicted), lengths, shapes = check_pairs(y_true, y_pred)
    if all(isinstance(f, np.ndarray) and f.dtype.kind in "biuf" for f in (true, predicted)):
        wrong = (true != predicted).astype(np.int32)
    else:  # plain Python comparison: "1" and 1 differ, np.str_ and str do not
        pairs = zip(_listed(true), _listed(predicted))
        wrong = np.fromiter((a != b for a, b in pairs), np.int32, int(lengths.sum()))
    starts, shapes = starts_of(lengths), _matrices(shapes)
    return Truth(np.zeros_like(wrong), starts, (RIGHT_OR_WRONG,), shapes=shapes), wrong


def as_list(y, name):
    return list(y.toarray()) if sp.issparse(y) else check.items(y, name, "outputs")


def as_lists(y_true, y_pred):
    """As many true outputs as predicted ones."""
    y_true, y_pred = as_list(y_true, "y_true"), as_list(y_pred, "y_pred")
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} samples, y_pred has {len(y_pred)}")
    return y_true, y_pred


def as_samples(y):
    """Outputs with one array of labels each, also where an output is a single label."""
    if sp.issparse(y):
        return list(y.toarray())
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype != object:
        return list(y.reshape(-1, 1))
    if isinstance(y, list | tuple | np.ndarray) and len(y) and isinstance(y[0], LABELS):
        return [[label] for label in y]
    return y


def _listed(flat):
    return flat.tolist() if isinstance(flat, np.ndarray) else flat


def _matrices(shapes):
    """Shapes of samples that are matrices, else None."""
    return np.array(shapes) if all(len(shape) == 2 for shape in shapes) else None


def _number(flat):
    if all(isinstance(f, np.ndarray) and f.dtype.kind in "biuf" for f in flat):
        classes, states = np.unique(np.concatenate(flat), return_inverse=True)
        return classes, np.split(states.astype(np.int32), [len(flat[0])])
    flat = [_listed(f) for f in flat]
    distinct = dict.fromkeys(flat[0] + flat[1])
    try:
        distinct = sorted(distinct)
    except TypeError:  # text beside numbers
        distinct = list(distinct)
    number = {label: k for k, label in enumerate(distinct)}
    states = [np.fromiter(map(number.__getitem__, f), np.int32, len(f)) for f in flat]
    return _array(distinct), states


def _array(labels):
    if len({type(label) for label in labels}) == 1 and not isinstance(labels[0], tuple):
        return np.array(labels)
    return objects(labels)


def _look_up(labels, number, lengths, name):
    states = np.fromiter((number.get(label, -1) for label in _listed(labels)), np.int32)
    unknown = np.flatnonzero(states < 0)
    if len(unknown):
        token, labels = int(unknown[0]), _listed(labels)
        raise ValueError(f"{locate(token, lengths)} has the label {labels[token]!r} in {name}")
    return states


class TaskLoss(Parameterized):
    """Cost of a predicted output given the true one (base class).

    A subclass implements one method or both:

    - ``value(y_true, y_pred)``, the cost of one output. It suffices for metrics, and for models
      that list their outputs or bring their own search, such as `EnumeratedModel`.
    - ``node_costs(truth)``, the costs of all states of all nodes, whose sum is the loss. Models of
      sequences, classes, sets of labels and matchings train with it, in compiled passes; the value
      follows from it.

    With both, models train by the costs of nodes and are evaluated by the value: the former may be
    a bound on the latter. Parameters are keyword arguments of the constructor, and keys of a grid.

    Notes
    -----
    Costs are finite and not negative, and the truth costs nothing. Outputs are what models predict:
    arrays of labels of any shape, or single labels. `matrix` gives the costs between classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw import StructuredSVM
    >>> from sklearn_fw.task_losses import TaskLoss
    >>> class Distance(TaskLoss):
    ...     def node_costs(self, truth):
    ...         labels = truth.classes[0]
    ...         return np.abs(np.subtract.outer(labels[truth.states], labels))
    >>> Distance().value([1, 5], [2, 2])
    4.0
    >>> X, y = [np.eye(3), np.eye(3)[:2]], [[1, 2, 5], [1, 2]]
    >>> svm = StructuredSVM("chain", task_loss=Distance(), C=1.0).fit(X, y)
    >>> svm.loss(X, [[1, 2, 2], [1, 1]]).tolist()
    [3.0, 1.0]
    """

    @property
    def decomposes(self):
        """Whether the loss, or its bound, is a sum over nodes."""
        return self._has_costs

    @property
    def _has_costs(self):
        return type(self).node_costs is not TaskLoss.node_costs

    @property
    def _has_value(self):
        return type(self).value is not TaskLoss.value

    def value(self, y_true, y_pred):
        """Cost of one output: 0 for the truth, never negative.

        Parameters
        ----------
        y_true, y_pred : object
            True and predicted output: a label, or an array of labels.
        """
        return float(self.losses([y_true], [y_pred])[0])

    def losses(self, y_true, y_pred):
        """Cost of each of many outputs, of shape (n_samples,).

        Parameters
        ----------
        y_true, y_pred : array-like, list, object array or Packed of n_samples outputs
            True and predicted outputs.
        """
        if self._has_value:
            pairs = zip(*as_lists(y_true, y_pred))
            return np.array([self._checked_value(*pair) for pair in pairs])
        if not self._has_costs:
            raise TypeError(f"{type(self).__name__} needs a method value or node_costs")
        truth, states = self._read(as_samples(y_true), as_samples(y_pred))
        return costs_of(self, truth).losses(truth, states)

    def _checked_value(self, y_true, y_pred):
        return _cost(self.value(y_true, y_pred), f"value of {type(self).__name__}")

    def _read(self, y_true, y_pred):
        return read_labels(y_true, y_pred)

    def node_costs(self, truth):
        """Costs of all states of all nodes.

        Parameters
        ----------
        truth : Truth
            True states of the nodes of all samples, and their labels.

        Returns
        -------
        costs : ndarray of shape (n_nodes, n_states) or NodeCosts
            Not negative; zero for true states. Rows of nodes without a known truth (-1) are not
            used, nor are the columns that a kind of node has no states for.
        """
        raise TypeError(f"{type(self).__name__} has values alone and no method node_costs")

    def matrix(self, outputs):
        """Costs between outputs.

        Parameters
        ----------
        outputs : array-like of shape (n_outputs,), or list of arrays
            Labels, each once, or outputs of many labels.

        Returns
        -------
        costs : ndarray of shape (n_outputs, n_outputs)
            Cost of each as the prediction (column) for each as the truth (row).
        """
        outputs = as_list(outputs, "outputs")
        n = len(outputs)
        if self._has_costs and not self._has_value and all(np.ndim(y) == 0 for y in outputs):
            classes = check.find_labels(outputs, "outputs") if n else np.zeros(0)
            if len(classes) != n:
                raise ValueError("outputs must name each label once")
            truth = Truth(np.arange(n), np.arange(n + 1), (np.asarray(outputs),))
            return costs_of(self, truth).dense()
        pairs = [[y for y in outputs for _ in range(n)], outputs * n]
        return np.reshape(self.losses(*pairs), (n, n)) if n else np.zeros((0, 0))

    def _pair_costs(self, links, shape):
        """Cost of making each pair of a matrix less that of not making it, and that of making none.

        ``links`` are rows and columns of the true pairs.
        """
        costs = costs_of(self, truth_of_pairs(links, shape)).dense()
        return (costs[:, 1] - costs[:, 0]).reshape(shape), float(costs[:, 0].sum())

    def largest(self, truth):
        """Largest cost that an output can have for each target.

        Parameters
        ----------
        truth : Truth
            True outputs.

        Returns
        -------
        largest : ndarray of shape (n_samples,)
            The costs, or bounds on them; inf where nothing is known.
        """
        if not self._has_costs:
            return np.full(len(truth.node_start) - 1, np.inf)
        return costs_of(self, truth).largest(truth)


class FunctionLoss(TaskLoss):
    """A loss that is a function of the true and the predicted output.

    Parameters
    ----------
    function : callable
        ``function(y_true, y_pred)`` returns a number that is not negative, 0 for the truth.

    Examples
    --------
    >>> from sklearn_fw.task_losses import FunctionLoss
    >>> FunctionLoss(lambda true, predicted: abs(len(true) - len(predicted))).value("ab", "abcd")
    2.0
    """

    function: object

    def value(self, y_true, y_pred):
        if not callable(self.function):
            raise TypeError(f"function must be callable, got {self.function!r}")
        return _cost(self.function(y_true, y_pred), "task_loss")

    _checked_value = value  # which is checked


def _cost(value, name):
    """What code of a user returned, as a float."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if not isinstance(value, Real):
        raise TypeError(f"{name} must return a number, got {value!r}")
    if not 0.0 <= value < np.inf:
        raise ValueError(f"{name} must return a number >= 0 that is finite, got {value!r}")
    return float(value)
