"""Convex hulls of the outputs of all samples.

The polytope ``Z_i`` of sample i has a vertex z(y) for every output y. Features are ``F_i z`` and
the loss is ``<c_i, z> + c0_i``, so that a point z of all polytopes together has

    Psi(z) = sum_i p_i F_i (z(y_i) - z_i),        l(z) = sum_i p_i (<c_i, z_i> + c0_i)

Distances are ``sum_i p_i d_i``: p_i then cancels in prox steps, and what these add up are, for all
samples, *potentials* ``F_i' w + s c_i``, which one pair (w, s) describes.
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

    def plus(self, w, s):
        return Potentials(self.w + w, self.s + s)


class Point(NamedTuple):
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
        return Potentials(np.zeros(self.polytopes.n_weights), 0.0)


class Entropy(Geometry):
    """Relative entropy of distributions over outputs: prox steps are marginals."""

    name = "entropy"

    def at(self, potentials):
        return self.polytopes.gibbs(potentials, self.stored)

    def prox(self, point, w, s):
        """Marginals of the potentials of the point and of the step."""
        return self.at(point.potentials.plus(w, s))

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
        return self._project(self.center + self.polytopes.scores(*potentials))

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

    Flat vectors hold the z of one sample after the other. For `Entropy` the model's ``marginals``
    must maximize ``<theta, z> - sum(z log z - z)``. Results of the model are checked.
    """

    def __init__(self, model, samples, weight, n_weights):
        self._model, self._samples = model, samples
        self.weight, self.n_weights, self.n_calls = weight, n_weights, 0
        self._require(SHARED)
        sizes = [count(model.z_size(x.x), self._name("z_size", x), 0) for x in samples]
        self._start = starts_of(sizes)
        self.size = int(self._start[-1])
        features, self._costs, self._constants = zip(*map(self._truth_of, samples))
        self._true_features, self._constants = np.array(features), np.array(self._constants)
        self._costs = np.concatenate(self._costs)
        self._psi0 = weight @ self._true_features

    def _lacks(self, names):
        return [name for name in names if not callable(getattr(self._model, name, None))]

    def _require(self, names):
        if missing := self._lacks(names):
            raise TypeError(
                f"solver 'extragradient' needs a model with part scores, or with the methods of "
                f"MatchingModel: {type(self._model).__name__} lacks {', '.join(missing)}"
            )

    def _truth_of(self, sample):
        """F_i z(y_i), for which the model has two ways that must agree; c_i and c0_i."""
        phi = np.zeros(self.n_weights)
        phi[sample.phi.indices] = sample.phi.values
        z = self._vector("label_vector", sample, sample.y)
        name = self._name("loss_vector", sample)
        c, c0 = check.unpacked(self._model.loss_vector(sample.x, sample.y), "c, c0", name)
        c, c0 = check.shaped(c, name, *z.shape), float(check.shaped(c0, f"c0 of {name}"))
        if not np.allclose(self._vector("apply", sample, z), phi, rtol=1e-7, atol=1e-9):
            raise ValueError(
                f"apply(x, label_vector(x, y)) must equal joint_feature(x, y) in sample {sample.i}"
            )
        if not abs(c @ z + c0) <= 1e-9 * max(1.0, abs(c0)):
            raise ValueError(
                f"loss_vector(x, y) must give the truth of sample {sample.i} a loss of 0, got "
                f"{c @ z + c0}"
            )
        return phi, c, c0

    def _vector(self, method, sample, *args, **options):
        """What a method of the model returns, as long as z; features for "apply"."""
        name = self._name(method, sample)
        size = self._start[sample.i + 1] - self._start[sample.i]
        answer = getattr(self._model, method)(sample.x, *args, **options)
        z = check.shaped(answer, name, self.n_weights if method == "apply" else size)
        if method == "marginals" and np.any(z < 0.0):
            raise ValueError(f"{name} must not be negative")
        return z

    def _name(self, method, sample):
        return f"{method} of {type(self._model).__name__} for sample {sample.i}"

    def resolve(self, geometry):
        """The given geometry, or one that the model supports."""
        if check.is_auto(geometry):
            has_only_marginals = self._lacks(["project"]) and not self._lacks(NEEDED["entropy"])
            geometry = "entropy" if has_only_marginals else "euclidean"
        self._require(NEEDED[geometry])
        return geometry

    def _of_each(self, z):
        return (z[a:b] for a, b in zip(self._start, self._start[1:]))

    # ---- features and losses ---------------------------------------------------------------------

    def scores(self, w, s):
        adjoint = [self._vector("adjoint", x, read_only(w)) for x in self._samples]
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
            points[i] -= self._vector("apply", sample, part)
            losses[i] += self._costs[self._start[i] : self._start[i + 1]] @ part
        return points, losses

    # ---- entropy ---------------------------------------------------------------------------------

    def gibbs(self, potentials, stored):
        z, values = np.empty(self.size), np.empty(len(self.weight))
        thetas = self._of_each(self.scores(*potentials))
        for i, (sample, theta) in enumerate(zip(self._samples, thetas)):
            theta = theta + self._vector("log_potentials0", sample)
            part = self._vector("marginals", sample, theta)
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
        order, radii = 2 if norm == "l2" else np.inf, np.zeros(len(self.weight))
        for i, sample in enumerate(self._samples):
            size, largest = self._start[i + 1] - self._start[i], 0.0
            for place in range(size):  # one column of F_i at a time: all are a huge matrix
                unit = np.zeros(size)
                unit[place] = 1.0
                column = self._vector("apply", sample, unit)
                largest = max(largest, np.linalg.norm(column, order))
            if size:
                radii[i] = np.sqrt(np.sum(self._vector("lmo", sample, np.ones(size)))) * largest
        return radii

    # ---- Euclidean -------------------------------------------------------------------------------

    def diameters(self, geometry):
        diameters = np.empty(len(self.weight))
        for i, sample in enumerate(self._samples):
            diameters[i] = diameter = self._model.z_diameter(sample.x, geometry)
            if not isinstance(diameter, Real) or not 0.0 <= diameter < np.inf:
                name = self._name("z_diameter", sample)
                raise ValueError(f"{name} must be finite and >= 0, got {diameter!r}")
        return diameters

    def center(self):
        return self.project(np.zeros(self.size), 1e-9)

    def weight_of_entries(self):
        return np.repeat(self.weight, np.diff(self._start))

    def project(self, p, accuracy):
        self.n_calls += len(self.weight)
        tol = min(accuracy, 1e-9)
        pairs = zip(self._samples, self._of_each(p))
        return np.concatenate([self._vector("project", x, q, tol=tol) for x, q in pairs])
