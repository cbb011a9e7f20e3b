"""Convex hulls of the outputs of all samples.

The polytope ``Z_i`` of sample i has a vertex z(y) for every output y. Features are ``F_i z`` and
the loss is ``<c_i, z> + c0_i``, so that a point z of all polytopes together has

    Psi(z) = sum_i p_i F_i (z(y_i) - z_i),        l(z) = sum_i p_i (<c_i, z_i> + c0_i)

Distances are ``sum_i p_i d_i``: p_i then cancels in prox steps, and what these add up are, for all
samples alike, *potentials* ``F_i' w + s c_i``, which one pair (w, s) describes.
"""

from numbers import Real
from typing import NamedTuple

import numpy as np

from ..._core import check
from ..._core.packed import starts_of
from ._checked_model import count, read_only

# Methods that a model without part scores needs besides the four compulsory ones.
SHARED = ("z_size", "label_vector", "adjoint", "apply", "loss_vector", "z_diameter")
NEEDED = {"entropy": ("lmo", "log_potentials0", "marginals"), "euclidean": ("project",)}


class Potentials(NamedTuple):
    """What prox steps add up: ``F_i' w + s c_i`` for every sample."""

    w: np.ndarray
    s: float
    array: np.ndarray | None  # the sum itself, where it is stored


class Point(NamedTuple):
    """A point z of all polytopes."""

    psi: np.ndarray  # Psi(z)
    loss: float  # l(z)
    z: np.ndarray | None
    potentials: Potentials | None = None  # of points of `Entropy`, with ...
    log_partition: float = 0.0  # ... its mean over samples, less the potential of the truth


class Geometry:
    """Prox steps on polytopes.

    Each geometry has ``at(potentials)``, the point z of largest ``<potentials, z> - divergence from
    the center``; ``prox(point, w, s)``, that of largest ``<F_i' w + s c_i, z> - divergence from the
    point``; ``divergence(a, b)`` of a from b; and ``lipschitz(norm)``, L with ``|Psi(a) - Psi(b)|
    <= L |a - b|`` in the norm dual to that of the weights, where divergences are at least ``|a -
    b|^2 / 2``. ``diameter`` bounds the divergence of any point from the center, which has
    potentials zero.
    """

    def __init__(self, polytopes, stored):
        self.polytopes, self.stored = polytopes, stored
        self.diameter = float(polytopes.weight @ polytopes.diameters(self.name))

    def zero(self):
        size, n_weights = self.polytopes.size, self.polytopes.n_weights
        return Potentials(np.zeros(n_weights), 0.0, np.zeros(size) if self.stored else None)

    def plus(self, potentials, w, s):
        array = potentials.array
        if array is not None:
            array = array + self.polytopes.scores(w, s)
        return Potentials(potentials.w + w, potentials.s + s, array)


class Entropy(Geometry):
    """Relative entropy of distributions over outputs: prox steps are marginals."""

    name = "entropy"

    def at(self, potentials):
        return self.polytopes.gibbs(potentials, self.stored)

    def prox(self, point, w, s):
        """Marginals of the potentials of the point and of the step."""
        return self.at(self.plus(point.potentials, w, s))

    def divergence(self, a, b):
        """``<a' - b', z_a>`` less the difference of log-partitions, with potentials a' and b'."""
        change = b.potentials.w - a.potentials.w
        linear = change @ a.psi + (a.potentials.s - b.potentials.s) * a.loss
        return float(linear - a.log_partition + b.log_partition)

    def lipschitz(self, norm):
        return float(np.sqrt(self.polytopes.weight @ self.polytopes.radii(norm) ** 2))


class Euclidean(Geometry):
    """Half the squared distance: prox steps are projections.

    ``accuracy`` bounds ``<p - z, z' - z>`` for the computed projection z of p and all z' of a
    polytope, where it is zero at the exact one.
    """

    name = "euclidean"

    def __init__(self, polytopes, stored):
        super().__init__(polytopes, stored)
        self.center, self.accuracy = polytopes.center(), 1e-9

    def at(self, potentials):
        if potentials.s == 0.0:  # no step yet
            return Point(*self.polytopes.describe(self.center), self.center)
        step = potentials.array
        if step is None:
            step = self.polytopes.scores(potentials.w, potentials.s)
        return self._project(self.center + step)

    def prox(self, point, w, s):
        return self._project(point.z + self.polytopes.scores(w, s))

    def _project(self, p):
        z = self.polytopes.project(p, self.accuracy)
        return Point(*self.polytopes.describe(z), z)

    def divergence(self, a, b):
        # Threads of a product of vectors would cost more than they save.
        return 0.5 * float(np.sum(self.polytopes.weight_of_entries() * (a.z - b.z) ** 2))

    def lipschitz(self, norm):
        """Largest singular value of all features, which bounds the largest row as well ("l1").

        Thirty power iterations from a fixed random start; 2% are added for what they may lack.
        """
        polytopes = self.polytopes
        origin, _ = polytopes.describe(np.zeros(polytopes.size))
        w = np.random.RandomState(0).normal(size=polytopes.n_weights)
        square = 0.0
        for _ in range(30):
            length = np.linalg.norm(w)
            if length == 0.0:
                return 0.0
            w = origin - polytopes.describe(polytopes.scores(w / length, 0.0))[0]
            square = np.linalg.norm(w)
        return 1.02 * float(np.sqrt(square))


class ModelPolytopes:
    """Polytopes of a model that describes its outputs by vectors, as `MatchingModel` does.

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
        z = model.vector("label_vector", sample, sample.y)
        c, c0 = model.loss_vector(sample)
        if not np.allclose(model.vector("apply", sample, z), phi, rtol=1e-7, atol=1e-9):
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
        if check.is_auto(geometry):
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
        adjoint = [self._model.vector("adjoint", x, read_only(w)) for x in self._samples]
        return np.concatenate(adjoint) + s * self._costs

    def hand_over(self, blocks, z):
        blocks.set_points(*self.describe_each(z))

    def describe(self, z):
        points, losses = self.describe_each(z)
        return self.weight @ points, float(self.weight @ losses)

    def describe_each(self, z):
        """``F_i (z(y_i) - z_i)`` and the loss of every sample."""
        points, losses = self._true_features.copy(), self._constants.copy()
        for i, (sample, part) in enumerate(zip(self._samples, self._of_each(z))):
            points[i] -= self._model.vector("apply", sample, part)
            losses[i] += self._costs[self._start[i] : self._start[i + 1]] @ part
        return points, losses

    # ---- entropy ---------------------------------------------------------------------------------

    def gibbs(self, potentials, stored):
        model, array = self._model, potentials.array
        if array is None:
            array = self.scores(potentials.w, potentials.s)
        z, values = np.empty(self.size), np.empty(len(self.weight))
        for i, (sample, theta) in enumerate(zip(self._samples, self._of_each(array))):
            theta = theta + model.vector("log_potentials0", sample)
            part = model.vector("marginals", sample, theta)
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
                    column = model.vector("apply", sample, unit.copy())
                    unit[place] = 0.0
                    largest = max(largest, np.linalg.norm(column, order))
                mass = np.sum(model.vector("lmo", sample, np.ones(size)))
                radii[i] = np.sqrt(mass) * largest
        return radii

    # ---- Euclidean -------------------------------------------------------------------------------

    def diameters(self, geometry):
        return np.array([self._model.z_diameter(sample, geometry) for sample in self._samples])

    def center(self):
        return self.project(np.zeros(self.size), 1e-9)

    def weight_of_entries(self):
        return np.repeat(self.weight, np.diff(self._start))

    def project(self, p, accuracy):
        self.n_calls += len(self.weight)
        tol = min(accuracy, 1e-9)
        pairs = zip(self._samples, self._of_each(p))
        return np.concatenate([self._model.vector("project", x, q, tol=tol) for x, q in pairs])


class CheckedPolytopes:
    """The methods by which a model describes the convex hulls of its outputs, see `MatchingModel`.

    All take a `Sample` in place of its input; vectors of z have the length that `z_size` said.
    """

    def __init__(self, model, n_weights):
        self.model, self.n_weights, self.sizes = model, n_weights, {}

    def z_size(self, sample):
        size = count(self.model.z_size(sample.x), self._name("z_size", sample), 0)
        self.sizes[sample.i] = size
        return size

    def loss_vector(self, sample):
        answer, name = self.model.loss_vector(sample.x, sample.y), self._name("loss_vector", sample)
        if not (isinstance(answer, tuple | list) and len(answer) == 2):
            raise TypeError(f"{name} must be a pair (c, c0), got {type(answer).__name__}")
        constant = _of_shape((), answer[1], f"c0 of {name}")
        return _of_shape((self.sizes[sample.i],), answer[0], name), float(constant)

    def vector(self, method, sample, *args, **options):
        """What a method of the model gives, as long as z; features for "apply"."""
        name = self._name(method, sample)
        size = self.n_weights if method == "apply" else self.sizes[sample.i]
        z = _of_shape((size,), getattr(self.model, method)(sample.x, *args, **options), name)
        if method == "marginals" and np.any(z < 0.0):
            raise ValueError(f"{name} must not be negative")
        return z

    def z_diameter(self, sample, geometry):
        diameter, name = self.model.z_diameter(sample.x, geometry), self._name("z_diameter", sample)
        if not isinstance(diameter, Real) or not 0.0 <= diameter < np.inf:
            raise ValueError(f"{name} must be finite and >= 0, got {diameter!r}")
        return float(diameter)

    def _name(self, method, sample):
        return f"{method} of {type(self.model).__name__} for sample {sample.i}"


def _of_shape(shape, value, name):
    value = check.array(value, name)
    if value.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {value.shape}")
    return value
