"""Lists, object arrays, packed samples and outputs, handled alike."""

import numpy as np

from .._core.packed import Packed, length_of, take
from .._core.validation import check_sample_weight


def weighted_samples(X, y, sample_weight, sequences):
    """The samples of positive weight that teach something, and their weights."""
    n_samples = length_of(X, "X")
    if length_of(y, "y") != n_samples:
        raise ValueError(
            f"X and y must have the same length, got {n_samples} and {length_of(y, 'y')}"
        )
    if n_samples == 0:
        raise ValueError("X is empty: found 0 sample(s) while a minimum of 1 is required")
    weight = check_sample_weight(sample_weight, n_samples)
    if sequences:
        weight = without_empty(X, y, weight)
    if np.any(weight == 0):
        kept = np.flatnonzero(weight)
        X, y, weight = take(X, kept), take(y, kept), weight[kept]
    return X, y, weight


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


def collect(outputs):
    """Outputs of a black-box model: an array of scalars, else an object array."""
    if all(np.isscalar(output) for output in outputs):
        return np.array(outputs)
    collected = np.empty(len(outputs), dtype=object)
    for i, output in enumerate(outputs):
        collected[i] = output
    return collected
