"""Polytopes of models that describe their outputs by vectors, see `_polytopes`."""

import numpy as np

from ..._core.packed import starts_of
from ..._core.validation import is_auto
from ._checked_model import CheckedPolytopes
from ._geometries import Point

# Methods that a model without part scores needs besides the four compulsory ones.
SHARED = ("z_size", "label_vector", "adjoint", "apply", "loss_vector", "z_diameter")
NEEDED = {"entropy": ("lmo", "log_potentials0", "marginals"), "euclidean": ("project",)}


class ModelPolytopes:
    """Polytopes of a model that describes its outputs by vectors, as `MatchingModel` does.

    Parameters
    ----------
    model : object
        Has the methods named in ``SHARED``, and those in ``NEEDED`` for its geometry.
    samples : list of Sample
        Training set.
    weight : ndarray of shape (n,)
        p_i, positive, summing to one.
    n_weights : int
        Length of w.

    Notes
    -----
    Flat vectors hold the z of one sample after the other. For `Entropy` the model's ``marginals``
    must maximise ``<theta, z> - sum(z log z - z)``.
    """

    def __init__(self, model, samples, weight, n_weights):
        self._model, self._samples = CheckedPolytopes(model, n_weights), samples
        self.weight, self.n_weights, self.n_calls = weight, n_weights, 0
        self._require(SHARED)
        sizes = [self._model.z_size(sample) for sample in samples]
        self._start = starts_of(sizes)
        self.size = int(self._start[-1])
        self._true_features = np.array([self._features_of(sample) for sample in samples])
        linear = [self._model.loss_vector(sample) for sample in samples]
        self._costs = np.concatenate([c for c, _ in linear])
        self._constants = np.array([c0 for _, c0 in linear])
        self._psi0 = weight @ self._true_features

    def _require(self, names):
        missing = [name for name in names if not callable(getattr(self._model.model, name, None))]
        if missing:
            raise TypeError(
                f"solver 'extragradient' needs a model with part scores, or with the methods of "
                f"MatchingModel: {type(self._model.model).__name__} lacks {', '.join(missing)}"
            )

    def _features_of(self, sample):
        """F_i z(y_i), for which the model has two ways that must agree."""
        model, phi = self._model, np.zeros(self.n_weights)
        phi[sample.phi.indices] = sample.phi.values
        z = model.label_vector(sample)
        c, c0 = model.loss_vector(sample)
        if not np.allclose(model.apply(sample, z), phi, rtol=1e-7, atol=1e-9):
            raise ValueError(
                f"apply(x, label_vector(x, y)) must equal joint_feature(x, y) in sample {sample.i}"
            )
        if not abs(c @ z + c0) <= 1e-9 * max(1.0, abs(c0)):
            raise ValueError(
                f"loss_vector(x, y) must give the truth of sample {sample.i} a loss of 0, got "
                f"{c @ z + c0}"
            )
        return phi

    def resolve(self, geometry):
        """The geometry asked for, or one that the model knows."""
        if is_auto(geometry):
            knows = callable(getattr(self._model.model, "project", None))
            geometry = "euclidean" if knows or not self._knows("entropy") else "entropy"
        self._require(NEEDED[geometry])
        return geometry

    def _knows(self, geometry):
        return all(callable(getattr(self._model.model, name, None)) for name in NEEDED[geometry])

    def _of_each(self, z):
        return (z[a:b] for a, b in zip(self._start, self._start[1:]))

    # ---- features and losses ---------------------------------------------------------------------

    def scores(self, w, s):
        """``F_i' w + s c_i`` as a flat vector."""
        adjoint = [self._model.adjoint(sample, w) for sample in self._samples]
        return np.concatenate(adjoint) + s * self._costs

    def hand_over(self, blocks, z):
        """Make a point the distributions of blocks."""
        blocks.set_points(*self.describe_each(z))

    def describe(self, z):
        """Psi and l of a flat vector."""
        points, losses = self.describe_each(z)
        return self.weight @ points, float(self.weight @ losses)

    def describe_each(self, z):
        """``F_i (z(y_i) - z_i)`` and the loss of every sample."""
        points, losses = self._true_features.copy(), self._constants.copy()
        for i, (sample, part) in enumerate(zip(self._samples, self._of_each(z))):
            points[i] -= self._model.apply(sample, part)
            losses[i] += self._costs[self._start[i] : self._start[i + 1]] @ part
        return points, losses

    # ---- entropy ---------------------------------------------------------------------------------

    def gibbs(self, potentials, stored):
        """The point of marginals of potentials."""
        model, array = self._model, potentials.array
        if array is None:
            array = self.scores(potentials.w, potentials.s)
        z, values = np.empty(self.size), np.empty(len(self.weight))
        for i, (sample, theta) in enumerate(zip(self._samples, self._of_each(array))):
            theta = theta + model.log_potentials0(sample)
            part = model.marginals(sample, theta)
            z[self._start[i] : self._start[i + 1]] = part
            kept = part > 0.0  # the others are zero by underflow
            values[i] = part[kept] @ (theta[kept] - np.log(part[kept]) + 1.0)
        self.n_calls += len(self.weight)
        psi, loss = self.describe(z)
        truth = potentials.w @ self._psi0 - potentials.s * (self.weight @ self._constants)
        log_partition = float(self.weight @ values - truth)
        return Point(psi, loss, z if stored else None, potentials, log_partition)

    def radii(self, norm):
        """Square root of the largest mass times the largest column of F_i."""
        model, order = self._model, 2 if norm == "l2" else np.inf
        radii = np.zeros(len(self.weight))
        for i, sample in enumerate(self._samples):
            size = self._start[i + 1] - self._start[i]
            if size:
                unit, largest = np.zeros(size), 0.0
                for place in range(size):  # one column of F_i at a time: all are a huge matrix
                    unit[place] = 1.0
                    column = model.apply(sample, unit.copy())
                    unit[place] = 0.0
                    largest = max(largest, np.linalg.norm(column, order))
                mass = np.sum(model.lmo(sample, np.ones(size)))
                radii[i] = np.sqrt(mass) * largest
        return radii

    # ---- Euclidean -------------------------------------------------------------------------------

    def diameters(self, geometry):
        """Those of the model."""
        return np.array([self._model.z_diameter(sample, geometry) for sample in self._samples])

    def center(self):
        """The projection of zero."""
        return self.project(np.zeros(self.size), 1e-9)

    def weight_of_entries(self):
        """p_i of every entry of a flat vector."""
        return np.repeat(self.weight, np.diff(self._start))

    def project(self, p, accuracy):
        """Projections by the model."""
        self.n_calls += len(self.weight)
        tol = min(accuracy, 1e-9)
        pairs = zip(self._samples, self._of_each(p))
        return np.concatenate([self._model.project(sample, q, tol=tol) for sample, q in pairs])
