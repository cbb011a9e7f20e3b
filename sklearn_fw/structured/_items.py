"""Lists, object arrays, packed samples and outputs, handled alike."""

import numpy as np
from sklearn.utils import _safe_indexing


def length_of(items, name):
    """Number of samples."""
    if items is None:
        raise ValueError(f"{name} must not be None")
    return items.shape[0] if hasattr(items, "shape") else len(items)


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
