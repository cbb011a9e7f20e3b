"""What solutions of a structured SVM in some balls prove about the balls between them.

With h the mean hinge loss, which is convex, and for every mixture z of outputs its mean loss l and
the dual norm n of its mean feature difference, the optimum ``p(R) = min_{|w| <= R} h(w)`` has

    h((1 - s) w_0 + s w_1) <= (1 - s) h(w_0) + s h(w_1)   for R = (1 - s) R_0 + s R_1,  |w_i| <= R_i
    p(R) >= l - R n                                       for every mixture and every R

Each solution bounds p from above by chords, each mixture that a solver ever met from below by a
line. The gap between chords and the highest line is concave and linear between kinks of the lines:
its largest value is found at kinks and ends, exactly, without a call of the oracle.
"""

from typing import NamedTuple

import numpy as np

# Points of a piece at which the next breakpoint is looked for.
N_PROBES = 17


class SolvedBall(NamedTuple):
    """A solution of one radius and what is known about it."""

    radius: float
    w: np.ndarray
    hinge: float  # bound on h(w)
    gap: float

    @property
    def at(self):
        """Where it is on the path."""
        return self.radius


class Lines:
    """The highest of many lines ``l - R n`` over R >= 0, among them zero: hinges are not negative.

    Attributes
    ----------
    loss, norm : ndarray of shape (n_lines,)
        l and n of the lines that are the highest somewhere, by falling n.
    kinks : ndarray of shape (n_lines - 1,)
        Radii, growing, at which one takes over from the one before.
    """

    def __init__(self):
        self.loss, self.norm, self.kinks = np.zeros(1), np.zeros(1), np.empty(0)

    def add(self, lines):
        """Take in pairs (l, n)."""
        pairs = np.concatenate([np.column_stack([self.loss, self.norm]), np.array(lines)])
        order = np.lexsort((-pairs[:, 0], -pairs[:, 1]))  # steepest first, the highest of equals
        kept, kinks = [], []
        for loss, norm in pairs[order].tolist():
            if kept and norm == kept[-1][1]:
                continue
            while kept:
                takes_over = (kept[-1][0] - loss) / (kept[-1][1] - norm)
                if takes_over > (kinks[-1] if kinks else 0.0):
                    kinks.append(takes_over)
                    break
                kept.pop()
                if kinks:
                    kinks.pop()
            kept.append((loss, norm))
        self.loss, self.norm = np.array(kept).T
        self.kinks = np.array(kinks)

    def at(self, radius):
        """The height at one or many radii."""
        best = np.searchsorted(self.kinks, radius)
        return self.loss[best] - radius * self.norm[best]

    def worst(self, left, right):
        """Largest gap between two radii, under the chord of ``(radius, hinge)`` at these."""
        inside = self.kinks[(left[0] < self.kinks) & (self.kinks < right[0])]
        radii = np.concatenate([[left[0]], inside, [right[0]]])
        chord = np.interp(radii, [left[0], right[0]], [left[1], right[1]])
        return float((chord - self.at(radii)).max())

    def fall_to(self, height):
        """The radius at which the lines fall to a height; inf where they stay above."""
        if height <= self.loss[-1]:  # the last one is level
            return np.inf
        return float(np.max((self.loss - height)[:-1] / self.norm[:-1], initial=0.0))


class BallPiece:
    """The path between two breakpoints.

    Parameters
    ----------
    left, right : SolvedBall
        Solutions for a smaller and a larger radius.
    lines : Lines
        The bound from below.
    """

    def __init__(self, left, right, lines):
        self.left, self.right, self.lines = left._replace(w=None), right._replace(w=None), lines

    def gap(self, radius):
        """Bound on the gap at one or many radii."""
        left, right = self.left, self.right
        chord = np.interp(radius, [left.radius, right.radius], [left.hinge, right.hinge])
        return chord - self.lines.at(radius)

    def probe(self):
        """Gaps at N_PROBES points, evenly spread from left to right on a log scale."""
        return self.gap(np.geomspace(self.left.radius, self.right.radius, N_PROBES))

    def is_certified(self, eps):
        """Whether the gap is at most ``eps`` on the whole piece."""
        left, right = ((ball.radius, ball.hinge) for ball in (self.left, self.right))
        return self.lines.worst(left, right) <= eps
