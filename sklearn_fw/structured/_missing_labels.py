"""Labels that are missing, however users say so, as masked arrays."""

import numpy as np

from .._core import check
from .._core.packed import Packed, length_of
from ._models._ragged import as_labels, observed


def with_masks(y, missing_label, is_table):
    """Outputs whose missing labels are masked; the very same where none is missing.

    Masked entries, None and ``missing_label`` are missing; NaN stands for NaN and NA. ``is_table``
    says whether y is one array with an entry, or a row of them, for each sample.
    """
    if np.ndim(missing_label):
        raise ValueError(f"missing_label must be None or one label, got {missing_label!r}")
    if is_table:
        return _masked(y, missing_label)
    if not isinstance(y, list | tuple | np.ndarray | Packed):
        return y
    outputs = [_masked(output, missing_label) for output in y]
    return outputs if any(map(is_incomplete, outputs)) else y


def with_label(y, sample_weight, is_table):
    """Weights of samples, zero for those without a label; the very same where all have one."""
    if is_table and np.ma.is_masked(y):
        without = np.ma.getmaskarray(y).reshape(len(y), -1).all(axis=1)
    elif not is_table and isinstance(y, list) and any(map(is_incomplete, y)):
        without = np.array([is_unlabelled(output) for output in y])
    else:
        return sample_weight
    if np.all(without):
        raise ValueError("y holds no label: all are missing")
    return check.sample_weight(sample_weight, length_of(y, "y")) * ~without


def _leaves(output):
    """Labels of an output, or of each of its kinds of nodes."""
    if isinstance(output, dict):
        for part in output.values():
            yield from _leaves(part)
    elif isinstance(output, list | tuple) and any(map(_is_masked_array, output)):
        yield from output
    else:
        yield output


def _is_masked_array(part):
    return isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part)


def is_incomplete(output):
    return any(map(np.ma.is_masked, _leaves(output)))


def is_unlabelled(output):
    found = list(_leaves(output))
    return bool(found) and all(
        np.ma.is_masked(part) and not observed(np.ma.ravel(part)).size for part in found
    )


def _masked(output, missing_label):
    """An output with a mask where labels are missing, else as it is."""
    if isinstance(output, dict):
        parts = {key: _masked_part(part, missing_label) for key, part in output.items()}
        return parts if is_incomplete(parts) else output
    if isinstance(output, list | tuple) and any(map(_is_array, output)):
        parts = [_masked(part, missing_label) for part in output]
        if not is_incomplete(parts):
            return output
        # Labels of several kinds of nodes, or rows of a grid.
        is_grid = len({np.shape(part) for part in parts}) == 1 and len(parts) > 1
        return np.ma.stack(parts) if is_grid else parts
    if not isinstance(output, list | tuple | np.ndarray) and not hasattr(output, "__array__"):
        return output  # of a model of the user, which knows what is missing
    try:
        labels = as_labels(output)
    except ValueError:  # of unequal lengths, of which models say so
        return output
    mask = _where_missing(labels, missing_label) | np.ma.getmaskarray(labels)
    if not np.any(mask):
        return output
    found = np.ma.getdata(labels)[~mask]
    if found.dtype == object and found.size:  # None made it so
        found = np.array(found.tolist())
    masked = np.ma.masked_all(labels.shape, found.dtype)
    masked.data[...] = found[0] if found.size else np.zeros(1, found.dtype)[0]
    masked[~mask] = found
    return masked


def _masked_part(part, missing_label):
    """The label of a node, or the labels of a kind of nodes."""
    if part is np.ma.masked:
        return part
    if isinstance(part, list | tuple | np.ndarray):
        return _masked(part, missing_label)
    return np.ma.masked if np.any(_where_missing(np.array([part]), missing_label)) else part


def _is_array(part):
    return isinstance(part, list | tuple) or (isinstance(part, np.ndarray) and part.ndim > 0)


def _where_missing(labels, missing_label):
    data = np.ma.getdata(labels)
    is_nan = missing_label is not None and check.is_missing(missing_label)
    if data.dtype == object or isinstance(missing_label, str):
        same = (
            check.is_missing(label) if is_nan else _is_one(label, missing_label)
            for label in data.ravel().tolist()
        )  # fmt: skip
        return np.fromiter(same, bool, data.size).reshape(data.shape)
    if missing_label is None:
        return np.zeros(data.shape, bool)
    return data != data if is_nan else np.broadcast_to(data == missing_label, data.shape)


def _is_one(label, missing_label):
    """Whether a label is None, or what stands for a missing one."""
    try:
        return label is None or bool(label == missing_label)
    except (TypeError, ValueError):  # what is no label is refused later, by its name
        return False
