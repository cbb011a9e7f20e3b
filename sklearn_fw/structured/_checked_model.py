"""The four methods of a black-box model, with what they return checked and made sparse."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .models._base import missing_methods


class SparseVector(NamedTuple):
    """A vector by its nonzero entries; indices are sorted."""

    indices: np.ndarray
    values: np.ndarray

    def dot(self, w):
        """Inner product with a dense vector."""
        return float(self.values @ w[self.indices])


def union(a, b):
    """Sorted union of two sorted index arrays; much faster than ``np.union1d``."""
    both = np.sort(np.concatenate([a, b]), kind="stable")  # which merges what is sorted already
    return both[np.diff(both, prepend=-1) != 0]


class Answer(NamedTuple):
    """An output of one sample as the dual problem sees it."""

    psi: SparseVector
    loss: float
    key: object  # tells outputs apart; None where no corners are kept


class Sample(NamedTuple):
    """A sample, its number for messages and the features of its truth."""

    i: int
    x: object
    y: object
    phi: SparseVector


class CheckedModel:
    """The methods of a model, with what they return checked and made sparse."""

    def __init__(self, model):
        missing = missing_methods(model)
        if missing:
            raise TypeError(
                f"{type(model).__name__} is not a structured model: it lacks {', '.join(missing)}"
            )
        self.model = model
        # A model need not declare it: then the first feature vector tells.
        self.n_weights = getattr(model, "size_joint_feature", None)

    def sample(self, i, x, y):
        """A training sample."""
        sample = Sample(i, x, y, self.features(i, x, y))
        if self.loss(sample, y) != 0.0:
            raise ValueError(f"loss(y, y) of sample {i} must be 0: the truth costs nothing")
        return sample

    def features(self, i, x, y):
        """Joint features of sample i with an output."""
        phi = self.model.joint_feature(x, y)
        phi = sp.coo_array(phi) if sp.issparse(phi) else np.asarray(phi, dtype=np.float64)
        if self.n_weights is None and phi.ndim:
            self.n_weights = phi.shape[-1]
        if phi.shape not in ((self.n_weights,), (1, self.n_weights)):
            raise ValueError(
                f"joint_feature of sample {i} must have shape ({self.n_weights},), or "
                f"(1, {self.n_weights}) if sparse, got {phi.shape}"
            )
        if sp.issparse(phi):
            indices, place = np.unique(phi.coords[-1], return_inverse=True)
            values = np.bincount(place, weights=phi.data)  # sums duplicates
        else:
            indices = np.flatnonzero(phi)
            values = phi.ravel()[indices]
        if not np.all(np.isfinite(values)):
            raise ValueError(f"joint_feature of sample {i} contains NaN or infinity")
        return SparseVector(indices.astype(np.int64), values)

    def loss(self, sample, y):
        """Task loss of an output."""
        loss = float(self.model.loss(sample.y, y))
        if not 0.0 <= loss < np.inf:
            raise ValueError(f"loss of sample {sample.i} must be finite and >= 0, got {loss}")
        return loss

    def key(self, y):
        """A hashable that tells outputs apart."""
        if callable(getattr(self.model, "output_key", None)):
            return self.model.output_key(y)
        try:
            array = np.asarray(y)
        except ValueError:  # lists of unequal lengths
            array = np.empty(0, dtype=object)
        if array.dtype == object:
            raise TypeError(
                f"outputs of type {type(y).__name__} are no arrays of numbers or text, but duals "
                f"of outputs must tell them apart: give the model a method output_key(y)"
            )
        # Not bytes: equal labels may come in different integer or text types.
        flat = tuple(array.ravel().tolist())
        return flat if array.ndim == 1 else (array.shape, flat)

    def ask(self, sample, w, keyed, augmented=True):
        """The `Answer` of the oracle at w."""
        if augmented:
            y = self.model.loss_augmented_inference(sample.x, sample.y, w)
        else:
            y = self.model.inference(sample.x, w)
        phi, true = self.features(sample.i, sample.x, y), sample.phi
        indices = union(true.indices, phi.indices)
        values = np.zeros(len(indices))
        values[np.searchsorted(indices, true.indices)] = true.values
        values[np.searchsorted(indices, phi.indices)] -= phi.values
        kept = values != 0.0
        psi = SparseVector(indices[kept], values[kept])
        return Answer(psi, self.loss(sample, y), self.key(y) if keyed else None)
