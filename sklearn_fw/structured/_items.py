"""Lists, object arrays, packed samples and outputs, handled alike."""

import numpy as np
from sklearn.utils import _safe_indexing

from .._packed import Packed


def length_of(items, name):
    """Number of samples."""
    if items is None:
        raise ValueError(f"{name} must not be None")
    if not (np.shape(items) if hasattr(items, "shape") else hasattr(items, "__len__")):
        raise ValueError(
            f"{name} must be a list or an array with one item per sample, got {items!r}"
        )
    return items.shape[0] if hasattr(items, "shape") else len(items)


def without_empty(X, y, weight):
    """Weights that are zero for samples without elements, which teach nothing."""
    weight = np.where(_are_empty(X) & _are_empty(y), 0.0, weight)
    if not np.any(weight):
        raise ValueError("X holds no element: all sequences of positive weight are empty")
    return weight


def _are_empty(items):
    if isinstance(items, Packed):
        return items.lengths == 0
    return np.array([_has_none(item) for item in items], dtype=bool)


def _has_none(item):
    shape = getattr(item, "shape", None)
    if shape is None:
        return hasattr(item, "__len__") and len(item) == 0
    return len(shape) > 0 and shape[0] == 0


def take(items, index):
    """Some of the samples, in a container of the same kind."""
    return _safe_indexing(items, index)


def collect(outputs):
    """Outputs of a black-box model: an array of scalars, else an object array."""
    if all(np.isscalar(output) for output in outputs):
        return np.array(outputs)
    collected = np.empty(len(outputs), dtype=object)
    for i, output in enumerate(outputs):
        collected[i] = output
    return collected
