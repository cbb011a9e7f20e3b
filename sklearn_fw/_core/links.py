"""Reading links between two sets of things: 0/1 matrices, or lists of pairs."""

from collections.abc import Hashable

import numpy as np

from .validation import check_array_of_numbers, is_missing


def links_of(y, name, shape=None):
    """Rows and columns of the ones of an array, or of a list of pairs, sorted and each once.

    With ``shape`` given, arrays must have it and pairs must lie inside.
    """
    if _is_list(y):
        try:
            if bytes in map(type, y):  # two bytes are no pair
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
        y = check_array_of_numbers(y, name)
    if y.ndim != 2 or shape not in (None, y.shape):
        expected = "(n_rows, n_columns)" if shape is None else shape
        raise ValueError(f"{name} must have shape {expected}, got {y.shape}")
    links = np.nonzero(y)
    if np.count_nonzero(y[links] != 1):  # the fastest way to ask
        raise ValueError(f"{name} must hold 0 and 1 only")
    return links


def common_shape(*outputs):
    """Shape of the first array among outputs, or None among lists of pairs."""
    return next((np.shape(y) for y in outputs if not _is_list(y)), None)


def pairs_of(links):
    """The links as a set of pairs of int."""
    return set(zip(links[0].tolist(), links[1].tolist()))


def _is_list(y):
    """Lists are pairs, whatever their shape, and arrays are matrices."""
    return isinstance(y, list | tuple | set | frozenset)


def as_mapping(pairs, name):
    """A dict, or a list of pairs as one, in which no left side stands with two partners."""
    if isinstance(pairs, dict):
        return _named(pairs, name)
    try:
        if not isinstance(pairs, list | tuple | np.ndarray):
            raise TypeError
        if any(isinstance(p, str | bytes) for p in pairs):
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
            if is_missing(one):
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

    The one convention of all metrics here: who says nothing is never wrong, and nothing is left to
    be found where nothing is true. F1 is 0 where one of both is.
    """
    precision = n_right / n_judged if n_judged else 1.0
    recall = n_right / n_true if n_true else 1.0
    both = precision + recall
    return precision, recall, 2.0 * precision * recall / both if both else 0.0
