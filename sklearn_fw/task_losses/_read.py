"""Raw outputs as a `Truth` and predicted states."""

import numpy as np
import scipy.sparse as sp

from .._core.costs import Truth
from .._core.labels import check_pairs, locate
from .._core.packed import starts_of
from .._core.validation import check_list

RIGHT_OR_WRONG = np.array(["right", "wrong"])


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
    truth = Truth(
        np.zeros_like(wrong), starts_of(lengths), (RIGHT_OR_WRONG,), shapes=_matrices(shapes)
    )
    return truth, wrong


def as_list(y, name):
    """The outputs one by one."""
    return list(y.toarray()) if sp.issparse(y) else check_list(y, name, "outputs")


def as_samples(y):
    """Outputs with one array of labels each, also where an output is a single label."""
    if sp.issparse(y):
        return list(y.toarray())
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype != object:
        return list(y.reshape(-1, 1))
    if isinstance(y, list | tuple | np.ndarray) and len(y) and _is_label(y[0]):
        return [[label] for label in y]
    return y


def _is_label(value):
    return isinstance(value, str | bytes | bool | int | float | np.generic)


def _listed(flat):
    return flat.tolist() if isinstance(flat, np.ndarray) else flat


def _matrices(shapes):
    """Shapes of samples that are matrices, else None."""
    return np.array(shapes) if all(len(shape) == 2 for shape in shapes) else None


def _number(flat):
    """The distinct labels, and the number of every label of truth and prediction."""
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
    """Labels as an array, of objects where they are of several kinds."""
    if len({type(label) for label in labels}) == 1 and not isinstance(labels[0], tuple):
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    for k, label in enumerate(labels):
        array[k] = label
    return array


def _look_up(labels, number, lengths, name):
    states = np.fromiter((number.get(label, -1) for label in _listed(labels)), np.int32)
    unknown = np.flatnonzero(states < 0)
    if len(unknown):
        token, labels = int(unknown[0]), _listed(labels)
        raise ValueError(f"{locate(token, lengths)} has the label {labels[token]!r} in {name}")
    return states
