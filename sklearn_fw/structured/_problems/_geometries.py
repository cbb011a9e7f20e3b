"""Prox steps of saddle point methods on the convex hulls of outputs, see `_polytopes`.

Distances are ``sum_i p_i d_i``: p_i then cancels in prox steps, and what these add up are, for all
samples alike, *potentials* ``F_i' w + s c_i``, which one pair (w, s) describes.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np


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


class Geometry(ABC):
    """Prox steps on polytopes.

    Parameters
    ----------
    polytopes : PartPolytopes or ModelPolytopes
        The polytopes.
    stored : bool
        Keep potentials and points of all samples as arrays instead of the pair (w, s) alone.

    Attributes
    ----------
    diameter : float
        Bound on the divergence of any point from the center, which has potentials zero.
    """

    def __init__(self, polytopes, stored):
        self.polytopes, self.stored = polytopes, stored
        self.diameter = float(polytopes.weight @ polytopes.diameters(self.name))

    def zero(self):
        """The potentials of the center."""
        size, n_weights = self.polytopes.size, self.polytopes.n_weights
        return Potentials(np.zeros(n_weights), 0.0, np.zeros(size) if self.stored else None)

    def plus(self, potentials, w, s):
        """Potentials with ``F_i' w + s c_i`` added."""
        array = potentials.array
        if array is not None:
            array = array + self.polytopes.scores(w, s)
        return Potentials(potentials.w + w, potentials.s + s, array)

    @abstractmethod
    def at(self, potentials):
        """The point z of largest ``<potentials, z> - divergence from the center``."""

    @abstractmethod
    def prox(self, point, w, s):
        """The z of largest ``<F_i' w + s c_i, z> - divergence from the point``."""

    @abstractmethod
    def divergence(self, a, b):
        """Divergence of a from b."""

    @abstractmethod
    def lipschitz(self, norm):
        """L with ``|Psi(a) - Psi(b)| <= L |a - b|`` in the norm dual to that of the weights.

        In the norm of z, divergences are at least ``|a - b|^2 / 2``.
        """


class Entropy(Geometry):
    """Relative entropy of distributions over outputs: prox steps are marginals."""

    name = "entropy"

    def at(self, potentials):
        """Marginals of the potentials."""
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
        """From the radii of the sets of features."""
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
        """Projection of the center plus the potentials."""
        if potentials.s == 0.0:  # no step yet
            return Point(*self.polytopes.describe(self.center), self.center)
        step = potentials.array
        if step is None:
            step = self.polytopes.scores(potentials.w, potentials.s)
        return self._project(self.center + step)

    def prox(self, point, w, s):
        """Projection of the point plus the step."""
        return self._project(point.z + self.polytopes.scores(w, s))

    def _project(self, p):
        z = self.polytopes.project(p, self.accuracy)
        return Point(*self.polytopes.describe(z), z)

    def divergence(self, a, b):
        """Half the weighted squared distance."""
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
