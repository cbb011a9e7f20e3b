"""Outputs made of labels, and links between two sets of things: flattened and checked."""

import math
from collections.abc import Hashable

import numpy as np

from . import check
from .packed import Packed

KINDS = "biufc", "OUS", "m", "M", "V"  # of labels, by what numpy can join


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
    lengths = np.array([math.prod(shape) for shape in shapes[0]], dtype=np.int64)
    _refuse_missing(flat, lengths)
    return flat, lengths, shapes[0]


def _flatten(y, name):
    """All labels in one array or list, and the shape of each sample."""
    if isinstance(y, Packed):
        y = y.compact()
        return y.values.reshape(-1), [(n, *y.values.shape[1:]) for n in y.lengths.tolist()]
    parts = check.items(y, name, "label arrays, one for each sample")
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
    parts = [part.ravel() for part in parts if part.size]
    kinds = {kind for kind in KINDS for part in parts if part.dtype.kind in kind}
    if kinds & set("mM") and len(kinds) > 1:
        raise ValueError(f"{name} mixes dates with other labels: use one kind")
    if len(kinds) > 1:  # numpy would turn numbers beside text into text
        parts = [part.astype(object) for part in parts]
    return (np.concatenate(parts) if parts else []), shapes


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
        if isinstance(flat, np.ndarray) and flat.dtype.kind not in "OfcmM":
            continue
        labels = flat.tolist() if isinstance(flat, np.ndarray) else flat
        try:
            is_strange = any(map(_is_no_label, set(labels)))
        except TypeError as error:
            raise TypeError(f"{name} holds labels that cannot be compared: {error}") from None
        if is_strange:
            token = next(k for k, label in enumerate(labels) if _is_no_label(label))
            raise ValueError(
                f"{locate(token, lengths)} of {name} has the label {labels[token]!r:.60}, which is "
                "not a label: labels must be text or numbers; leave out what is not labeled"
            )


def _is_no_label(label):
    # NaN differs from itself.
    return label is None or isinstance(label, tuple | frozenset) or label != label


def _nested(part):
    return bool(part) and isinstance(part[0], (list, tuple, np.ndarray))


def _describe(shape):
    return f"{shape[0]} labels" if len(shape) == 1 else f"labels of shape {shape}"


def locate(token, lengths):
    sample = int(np.searchsorted(np.cumsum(lengths), token, side="right"))
    return f"token {token - int(np.sum(lengths[:sample]))} of sample {sample}"


def links_of(y, name, shape=None):
    """Rows and columns of the ones of an array, or of a list of pairs, sorted and each once.

    With ``shape`` given, arrays must have it and pairs must lie inside.
    """
    if _is_list(y):
        try:
            if bytes in map(type, y):  # two bytes are not a pair
                raise TypeError
            pairs = np.array(sorted({(j, k) for j, k in y}))
        except (TypeError, ValueError):
            pairs = np.empty(0)
        if len(y) and not (pairs.ndim == 2 and pairs.dtype.kind in "iu" and pairs.min() >= 0):
            raise ValueError(
                f"{name} must be a list of pairs (row, column) of numbers from 0 on; pass a 0/1 "
                f"matrix as an array"
            )
        links = tuple(pairs.reshape(-1, 2).astype(np.int64).T)
        if shape is not None and len(y) and not np.all(pairs < shape):
            j, k = pairs[np.any(pairs >= shape, axis=1)][0].tolist()
            raise ValueError(
                f"{name} links row {j} to column {k}, but there are {shape[0]} rows and {shape[1]} "
                f"columns"
            )
        return links
    y = np.asarray(y)
    if y.dtype.kind not in "fiub":
        y = check.array(y, name)
    if y.ndim != 2 or shape not in (None, y.shape):
        expected = "(n_rows, n_columns)" if shape is None else shape
        raise ValueError(f"{name} must have shape {expected}, got {y.shape}; give pairs as a list")
    links = np.nonzero(y)
    if np.count_nonzero(y[links] != 1):  # the fastest way to ask
        raise ValueError(f"{name} must hold 0 and 1 only")
    return links


def common_shape(*outputs):
    """Shape of the first array among outputs, or None among lists of pairs."""
    return next((np.shape(y) for y in outputs if not _is_list(y)), None)


def pairs_of(links):
    return set(zip(links[0].tolist(), links[1].tolist()))


def _is_list(y):
    """Lists are pairs, whatever their shape, and arrays are matrices."""
    return isinstance(y, list | tuple | set | frozenset)


def as_mapping(pairs, name):
    """A dict, or a list of pairs as one, in which no left side stands with two partners."""
    if isinstance(pairs, dict):
        return _named(pairs, name)
    try:
        is_list = isinstance(pairs, list | tuple | np.ndarray)
        if not is_list or any(isinstance(p, str | bytes) for p in pairs):
            raise TypeError
        listed = [(a, b) for a, b in pairs]
        made = dict(listed)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a dict or a list of pairs, got {pairs!r:.60}") from None
    twice = next(((a, b) for a, b in listed if made[a] != b), None)
    if twice is not None:
        raise ValueError(f"{name} has two partners for {twice[0]!r:.60}: it must be one to one")
    return _named(made, name)


def _named(mapping, name):
    """The mapping, in which all are names: None and NaN are nobody."""
    for pair in mapping.items():
        for one in pair:
            if check.is_missing(one):
                raise ValueError(f"{name} has {pair!r:.60}: leave out what has no partner")
            if not isinstance(one, Hashable):
                raise ValueError(f"{name} has {pair!r:.60}: names must be hashable")
    return mapping


def mapping_counts(truth, mapping):
    """Right pairs of a mapping, pairs whose left side has a true partner, and true pairs."""
    right = sum(a in truth and truth[a] == b for a, b in mapping.items())
    return right, sum(a in truth for a in mapping), len(truth)


def precision_recall_f1(n_right, n_judged, n_true):
    """Precision (1 where nothing is judged), recall (1 where nothing is true) and F1.

    The one convention of all metrics here: precision is 1 without predictions, recall is 1 without
    true items, and F1 is 0 where either is 0.
    """
    precision = n_right / n_judged if n_judged else 1.0
    recall = n_right / n_true if n_true else 1.0
    both = precision + recall
    return precision, recall, 2.0 * precision * recall / both if both else 0.0
