"""Where the weights of the dual extragradient live: all of space, a box, or a ball."""

from typing import NamedTuple

import numpy as np

from ...projections import project_l2_ball


class Weights(NamedTuple):
    """A point w, with its parameters where these are something else."""

    w: np.ndarray
    parameters: np.ndarray | None = None


class Flat:
    """Euclidean geometry of weights: steps are projected; their scale is that of Psi."""

    lam, scale = 0.0, 1.0

    def step(self, point, change):
        """Prox step from a point."""
        return Weights(self.project(point.w + change))

    def divergence(self, a, b):
        """Half the squared distance."""
        return 0.5 * float(np.sum((a.w - b.w) ** 2))


class Ridge(Flat):
    """All weights, or those in a box, with a ridge penalty."""

    def __init__(self, blocks):
        self.blocks, self.lam, self.project = blocks, blocks.lam, blocks.clip
        self.center = Weights(blocks.w.copy())

    def set_out(self, center, gap):
        """Start at a point with such a gap; returns D_w."""
        self.center = center
        # P grows by lam / 2 times the squared distance from its minimum.
        self.distance = gap / self.lam
        return self.distance

    def dual(self, psi, loss):
        """Minimum over w of the saddle function."""
        return self.blocks.dual_value(psi / self.lam, loss)

    def restricted_dual(self, psi, loss):
        """The same over w within D_w of the start; None in a box."""
        if self.blocks.bounded:
            return None
        w = self.center.w + project_l2_ball(
            psi / self.lam - self.center.w, np.sqrt(2.0 * self.distance)
        )
        return float(0.5 * self.lam * (w @ w) - w @ psi + loss)


class Ball(Flat):
    """The l2 ball."""

    def __init__(self, n_weights, radius):
        self.radius, self.center = radius, Weights(np.zeros(n_weights))

    def project(self, w):
        """Nearest point of the ball."""
        return project_l2_ball(w, self.radius)

    def set_out(self, center, gap):
        """Start at zero; returns D_w."""
        return 0.5 * self.radius**2

    def dual(self, psi, loss):
        """Minimum over w of the saddle function."""
        return float(loss - self.radius * self.dual_norm(psi))

    def dual_norm(self, psi):
        """The largest ``<w, psi>`` over the unit ball."""
        return float(np.linalg.norm(psi))

    restricted_dual = dual


class CrossPolytope:
    """The l1 ball as means of its corners and zero, measured by the entropy of their weights.

    Point ``w = radius (p+ - p-)`` has parameters theta: the weights p are proportional to
    ``(exp(theta), exp(-theta), 1)``.
    """

    lam = 0.0

    def __init__(self, n_weights, radius):
        self.radius = self.scale = radius
        self.center = Weights(np.zeros(n_weights), np.zeros(n_weights))

    def _weights(self, theta):
        high = np.abs(theta).max(initial=0.0)
        plus, minus, rest = np.exp(theta - high), np.exp(-theta - high), np.exp(-high)
        total = plus.sum() + minus.sum() + rest
        return (plus - minus) / total, high + np.log(total)

    def step(self, point, change):
        """Prox step from a point."""
        theta = point.parameters + self.radius * change
        return Weights(self.radius * self._weights(theta)[0], theta)

    def divergence(self, a, b):
        """Relative entropy of the weights of corners."""
        linear = (a.parameters - b.parameters) @ a.w / self.radius
        normalisers = self._weights(a.parameters)[1] - self._weights(b.parameters)[1]
        return float(linear - normalisers)

    def set_out(self, center, gap):
        """Start at zero; returns D_w."""
        return float(np.log(2 * len(self.center.w) + 1))

    def dual(self, psi, loss):
        """Minimum over w of the saddle function."""
        return float(loss - self.radius * self.dual_norm(psi))

    def dual_norm(self, psi):
        """The largest ``<w, psi>`` over the unit ball."""
        return float(np.abs(psi).max(initial=0.0))

    restricted_dual = dual
