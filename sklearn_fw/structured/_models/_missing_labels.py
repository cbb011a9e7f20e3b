"""Labels that are missing, in every form that users give them, as masked arrays."""

import numpy as np

from ..._core import check
from ..._core.packed import Packed
from ._ragged import as_labels, observed


def with_masks(y, missing_label, is_table):
    """Outputs whose missing labels are masked; the very same where none is missing.

    Masked entries, None and ``missing_label`` are missing; NaN stands for NaN and NA. With
    ``is_table`` y is one array with an entry, or a row of them, for each sample.
    """
    if np.ndim(missing_label):
        raise ValueError(f"missing_label must be None or one label, got {missing_label!r}")
    if is_table:
        return _masked(y, missing_label)
    if not isinstance(y, list | tuple | np.ndarray | Packed):
        return y
    # Anything but an array is an output of a model of the user, which finds missing labels itself.
    outputs = [_masked(output, missing_label) if _is_array(output) else output for output in y]
    return outputs if any(map(_is_incomplete, outputs)) else y


def unlabeled(y, is_table):
    """Whether each sample is without a label; None where no label is missing."""
    if is_table:
        return np.ma.getmaskarray(y).reshape(len(y), -1).all(axis=1) if np.ma.is_masked(y) else None
    if not (isinstance(y, list) and any(map(_is_incomplete, y))):
        return None
    known = [sum(observed(np.ma.ravel(own)).size for own in _leaves(output)) for output in y]
    return np.array(known) == 0


def _leaves(output):
    """Labels of an output, or of each of its kinds of nodes."""
    if isinstance(output, dict):
        for part in output.values():
            yield from _leaves(part)
    elif isinstance(output, list | tuple) and any(map(np.ma.is_masked, output)):
        yield from output
    else:
        yield output


def _is_incomplete(output):
    return any(map(np.ma.is_masked, _leaves(output)))


def _is_array(part):
    return isinstance(part, list | tuple | dict) or getattr(part, "ndim", 0) > 0


def _masked(output, missing_label):
    """An output, or a label, with a mask where labels are missing, else as it is."""
    if isinstance(output, dict):
        parts = {key: _masked(part, missing_label) for key, part in output.items()}
        return parts if _is_incomplete(parts) else output
    if isinstance(output, list | tuple) and any(map(_is_array, output)):
        parts = [_masked(part, missing_label) for part in output]
        if not _is_incomplete(parts):
            return output
        # Labels of several kinds of nodes, or rows of a grid.
        is_grid = len(set(map(np.shape, parts))) == 1 and len(parts) > 1
        return np.ma.stack(parts) if is_grid else parts
    try:
        labels = as_labels(output)
    except ValueError:  # of unequal lengths, which models refuse
        return output
    mask = _where_missing(np.ma.getdata(labels), missing_label) | np.ma.getmaskarray(labels)
    if not np.any(mask):
        return output
    if labels.ndim == 0:
        return np.ma.masked
    found = np.ma.getdata(labels)[~mask]
    if found.dtype == object and found.size:  # None made it so
        found = np.array(found.tolist())
    filler = found[0] if found.size else np.zeros(1, found.dtype)[0]
    masked = np.ma.array(np.full(labels.shape, filler, found.dtype), mask=mask)
    masked[~mask] = found
    return masked


def _where_missing(labels, missing_label):
    is_nan = missing_label is not None and check.is_missing(missing_label)
    if labels.dtype == object or isinstance(missing_label, str):
        values = labels.ravel().tolist()
        same = [check.is_missing(v) if is_nan else _is_one(v, missing_label) for v in values]
        return np.array(same, dtype=bool).reshape(labels.shape)
    if missing_label is None:
        return np.zeros(labels.shape, bool)
    return labels != labels if is_nan else np.broadcast_to(labels == missing_label, labels.shape)


def _is_one(label, missing_label):
    """Whether a label is None, or what stands for a missing one."""
    try:
        return label is None or bool(label == missing_label)
    except (TypeError, ValueError):  # other values are refused later, by name
        return False
