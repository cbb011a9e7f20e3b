"""What two solutions of a structured SVM prove about all values of C between them.

The optimum at lam is enclosed by any weights and by any dual variables. Primal and dual are here

    P(w; lam) = lam / 2 |w|^2 + h(w)               h convex: the mean loss
    D(a; lam) = l(a) - |u(a)|^2 / (2 lam)          u linear in a, and w = u / lam

so that mixtures of two solutions, ``w = w_0 + p (w_1 - w_0)`` with ``h(w) <= h_0 + p (h_1 - h_0)``
and the same with share q for the dual variables, are certified at every lam between them without
another call of the oracle: all that is needed are the products of the two weight vectors. A box
that is a cone changes nothing, since |clip(u)| is convex as well. For the hinge loss l is linear,
for losses with an entropy concave: mixtures have at least the mixture of both l, and dual variables
with a share of 1 - rho of their mass moved to the truth at least rho l.
"""

import math
from typing import NamedTuple

import numpy as np

# Points of a piece that are looked at before its gap is bounded everywhere.
N_PROBES = 17
# Ratio of two lams, on the log scale, between which no further cut is made.
FINEST = 1e-7


class Breakpoint(NamedTuple):
    """A solution and what is known about it."""

    lam: float
    w: np.ndarray
    hinge: float  # bound on h(w)
    loss: float  # l of its dual variables
    gap: float
    u: np.ndarray | None = None  # of its dual variables, where that is not lam w

    @property
    def at(self):
        """Where it is on the path."""
        return self.lam

    def end(self, eps):
        """The lam down to which these weights and scaled dual variables stay within ``eps``.

        The gap grows by ``(1 - rho) (hinge - gap)`` when lam becomes ``rho lam``: Proposition 1 of
        OA16.
        """
        growth = self.hinge - self.gap
        return 0.0 if growth <= eps - self.gap else self.lam * (1.0 - (eps - self.gap) / growth)

    def gap_at(self, lam):
        """The gap of these weights at a smaller lam."""
        return self.gap + (1.0 - lam / self.lam) * max(self.hinge - self.gap, 0.0)


class Piece:
    """The path between two breakpoints.

    Parameters
    ----------
    left, right : Breakpoint
        Solutions for a larger and a smaller lam.
    """

    def __init__(self, left, right):
        self.left, self.right = (point._replace(w=None, u=None) for point in (left, right))
        aa, ab, bb = left.w @ left.w, left.w @ right.w, right.w @ right.w
        self._w = _Segment(aa, ab, bb)
        if left.u is None and right.u is None:
            self._u = _Segment(left.lam**2 * aa, left.lam * right.lam * ab, right.lam**2 * bb)
        else:
            a, b = (point.lam * point.w if point.u is None else point.u for point in (left, right))
            self._u = _Segment(a @ a, a @ b, b @ b)

    def share(self, lam):
        """Share of the right weights in the mixture of lowest bound on the objective."""
        return self._w.best(self.left.hinge - self.right.hinge, 1.0 / lam)

    def gap(self, lam):
        """Bound on the gap of the best mixtures, at one or many lams."""
        return self._bound(lam, self.share(lam), self._dual_share(lam))

    def _dual_share(self, lam):
        return self._u.best(self.right.loss - self.left.loss, lam)

    def _bound(self, lam, p, q):
        """P - D of two given mixtures; convex in lam."""
        left, right = self.left, self.right
        primal = 0.5 * lam * self._w.square(p) + left.hinge + p * (right.hinge - left.hinge)
        return primal - (left.loss + q * (right.loss - left.loss) - 0.5 * self._u.square(q) / lam)

    def probe(self):
        """Gaps at N_PROBES points, evenly spread from left to right on a log scale."""
        return self.gap(np.geomspace(self.left.lam, self.right.lam, N_PROBES))

    def is_certified(self, eps):
        """Whether the gap is at most ``eps`` on the whole piece.

        The bound of two fixed mixtures is convex in lam: at most ``eps`` in a cell when it is at
        both ends. A cell where the mixtures of its middle fail is halved.
        """
        cells = [(math.log(self.right.lam), math.log(self.left.lam))]
        while cells:
            low, high = cells.pop()
            middle = 0.5 * (low + high)
            lam = math.exp(middle)
            p, q = float(self.share(lam)), float(self._dual_share(lam))
            if max(self._bound(math.exp(low), p, q), self._bound(math.exp(high), p, q)) <= eps:
                continue
            if not self._bound(lam, p, q) <= eps or high - low < FINEST:
                return False
            cells += [(middle, high), (low, middle)]
        return True


class _Segment(NamedTuple):
    """Points ``a + s (b - a)`` with s in [0, 1], by the products of a and b."""

    aa: float
    ab: float
    bb: float

    def square(self, s):
        """Squared length."""
        return (1.0 - s) ** 2 * self.aa + 2.0 * s * (1.0 - s) * self.ab + s**2 * self.bb

    def best(self, gain, price):
        """The s that maximises ``s gain - square(s) / (2 price)``."""
        slope = gain * price - (self.ab - self.aa)
        curvature = max(self.aa - 2.0 * self.ab + self.bb, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            s = np.divide(slope, curvature)
        return np.clip(np.where(np.isnan(s), 0.0, s), 0.0, 1.0)
