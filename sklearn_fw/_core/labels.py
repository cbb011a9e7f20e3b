"""Outputs made of labels: flattened, compared in shape, refused where a label is missing."""

import numpy as np

from .packed import Packed
from .validation import check_list


def check_pairs(y_true, y_pred):
    """Flat labels of truth and prediction, and number of labels and shape of each sample."""
    flat, shapes = zip(_flatten(y_true, "y_true"), _flatten(y_pred, "y_pred"))
    if len(shapes[0]) != len(shapes[1]):
        raise ValueError(f"y_true has {len(shapes[0])} samples, y_pred has {len(shapes[1])}")
    if not shapes[0]:
        raise ValueError("y_true and y_pred are empty: metrics need at least one sample")
    if shapes[0] != shapes[1]:
        i = next(i for i, (a, b) in enumerate(zip(*shapes)) if a != b)
        raise ValueError(
            f"sample {i} has {_describe(shapes[0][i])} in y_true but {_describe(shapes[1][i])} in "
            "y_pred"
        )
    lengths = np.array([_size(shape) for shape in shapes[0]], dtype=np.int64)
    _refuse_missing(flat, lengths)
    return flat, lengths, shapes[0]


def _flatten(y, name):
    """All labels in one array or list, and the shape of each sample."""
    if isinstance(y, Packed):
        y = y.compact()
        rows = y.values.shape[1:]
        return y.values.reshape(-1), [(n, *rows) for n in y.lengths.tolist()]
    parts = check_list(y, name, "label arrays, one for each sample")
    if all(isinstance(part, list) and not _nested(part) for part in parts):
        return [label for part in parts for label in part], [(len(part),) for part in parts]
    parts = [_as_labels(part, f"{name}[{i}]") for i, part in enumerate(parts)]
    scalar = next((i for i, part in enumerate(parts) if part.ndim == 0), None)
    if scalar is not None:
        raise ValueError(
            f"{name}[{scalar}] is the single label {parts[scalar].item()!r}: every sample must be "
            "an array of labels; for one label per sample use the metrics of scikit-learn"
        )
    shapes = [part.shape for part in parts]
    kinds = {_family(part.dtype.kind) for part in parts if part.size}
    parts = [part.ravel() for part in parts if part.size]
    dates = kinds & set("mM")
    if dates and len(kinds) > 1:
        raise ValueError(f"{name} holds dates beside other labels: use one kind")
    if len(kinds) > 1:  # numpy would turn numbers beside text into text
        parts = [part.astype(object) for part in parts]
    return (np.concatenate(parts) if parts else []), shapes


def _family(kind):
    """Kinds of one family can be joined by numpy."""
    return "numbers" if kind in "biufc" else "others" if kind in "OUS" else kind


def _as_labels(part, name):
    if np.ma.is_masked(part):
        raise ValueError(f"{name} has masked labels: fill them, or leave the sample out")
    try:
        return np.asarray(part)
    except ValueError as error:  # lists of different lengths in one sample
        raise ValueError(f"{name} must be an array of labels: {error}") from None


def _refuse_missing(pairs, lengths):
    """Refuse None and NaN, which equal nothing and would count as wrong without a word."""
    for name, flat in zip(("y_true", "y_pred"), pairs):
        labels = flat
        if isinstance(flat, np.ndarray):
            if flat.dtype.kind not in "OfcmM":
                continue
            labels = flat.tolist()
        try:
            # None is found as it is, and NaN is the label that differs from itself.
            distinct = set(labels)
            missing = [label for label in distinct if label is None or label != label]
        except TypeError as error:
            raise TypeError(f"{name} holds labels that cannot be compared: {error}") from None
        nested = next((x for x in distinct if isinstance(x, tuple | frozenset)), None)
        if nested is not None:
            raise ValueError(
                f"{locate(labels.index(nested), lengths)} of {name} has the label {nested!r:.60}: "
                "labels must be text or numbers"
            )
        if missing:
            token = next(k for k, label in enumerate(labels) if label is None or label != label)
            raise ValueError(
                f"{locate(token, lengths)} of {name} has the label {labels[token]}, which is no "
                "label: leave out what is not labelled"
            )


def _nested(part):
    return bool(part) and isinstance(part[0], (list, tuple, np.ndarray))


def _size(shape):
    return int(np.prod(shape))


def _describe(shape):
    return f"{shape[0]} labels" if len(shape) == 1 else f"labels of shape {shape}"


def locate(token, lengths):
    sample = int(np.searchsorted(np.cumsum(lengths), token, side="right"))
    return f"token {token - int(np.sum(lengths[:sample]))} of sample {sample}"
