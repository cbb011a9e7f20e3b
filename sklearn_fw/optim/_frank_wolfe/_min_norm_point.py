"""Nearest points of convex hulls: Frank-Wolfe whose every step corrects all weights."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning

from ..._kernels.common.step_rules import FW
from ..._warnings import warn
from ._core import Minimisation

__all__ = ["HullProjection"]


class HullProjection(Minimisation):
    """Nearest points of a convex hull that is known by its oracle: Wolfe's minimum norm point.

    Frank-Wolfe on half the squared distance, where each step corrects all weights: it goes to the
    nearest mean of all atoms. The atoms and their Gram matrix stay for the next point.

    Parameters
    ----------
    domain : domain object
        The hull.

    References
    ----------
    .. [1] P. Wolfe, "Finding the nearest point in a polytope", Mathematical Programming 11, 1976.
    .. [2] V. Niculae, A. Martins, M. Blondel, C. Cardie, "SparseMAP: differentiable sparse
       structured inference", ICML 2018.
    """

    def __init__(self, domain):
        self.domain, self.iterate = domain, None

    def project(self, p, accuracy=1e-9, max_iter=1000):
        """The nearest point.

        Parameters
        ----------
        p : ndarray of shape (size,)
            Any point.
        accuracy : float, default=1e-9
            Bound on ``<p - z, z' - z>`` for all z' of the hull, up to rounding.
        max_iter : int, default=1000
            Oracle calls allowed.

        Returns
        -------
        z : ndarray of shape (size,)
            The projection.
        n_calls : int
            Oracle calls made.

        Warns
        -----
        ConvergenceWarning
            When ``max_iter`` calls did not reach the accuracy.
        """
        self.p, n_first = p, int(self.iterate is None)
        if n_first:
            super().__init__(
                self._half_square, self.domain, variant="corrective", rule=None,
                start=self.domain.lmo(-p),
            )  # fmt: skip
            self.active = self.iterate.active
            self.gram = np.array([self.active.scores(self.iterate.point)])
        self.products = self.active.scores(p)
        self.value, self.n_iter, self.is_stuck, self.iterate.n_calls = np.inf, -1, False, 0
        self.rounding_share = 1e-14 * max(1.0, np.abs(p).max(initial=0.0))
        self._correct()
        gap, n_calls = np.inf, n_first
        while gap > accuracy and not self.is_stuck:
            if n_calls >= max(max_iter, n_first + 1):
                warn(
                    f"projection by an oracle stopped after {n_calls} calls at {gap:.3g} > "
                    f"{accuracy:.3g}",
                    ConvergenceWarning,
                )
                break
            gap = self.step()["dual_gap"]
            n_calls += 1
        return self.iterate.point, n_calls

    def _half_square(self, x):
        difference = x - self.p
        return 0.5 * float(difference @ difference), difference

    def certify(self):
        """The gap, less what may be rounding."""
        before = self.value
        row = super().certify()
        # No progress means that rounding decides which atoms stay.
        self.is_stuck = not self.value < before
        forgiven = self.rounding_share * np.abs(self.iterate.direction(FW)).sum()
        return row | {"dual_gap": max(self.gap - forgiven, 0.0)}

    def advance(self):
        """Take the answer in, and move to the nearest mean."""
        atom = self.iterate.atom
        if self.active.include(atom) == len(self.gram):  # it is new
            x = atom.to_array()
            row = self.active.scores(x)
            self.gram = np.block([[self.gram, row[:-1, None]], [row[None]]])
            self.products = np.append(self.products, float(x @ self.p))
        self._correct()

    def _correct(self):
        weights = nearest_mean(self.active.weights, self.gram, self.products)
        kept = self.active.reweigh(weights)
        self.gram, self.products = self.gram[np.ix_(kept, kept)], self.products[kept]
        self.iterate.point = self.active.point()


def nearest_mean(weights, gram, products):
    """Weights of the mean of some points that is nearest to p, zero for those without use.

    Goes from the given weights to those of the nearest point of the affine hull, as far as all stay
    positive.

    Parameters
    ----------
    weights : ndarray of shape (n_points,)
        Where to start, of sum one.
    gram : ndarray of shape (n_points, n_points)
        Inner products of the points.
    products : ndarray of shape (n_points,)
        Their inner products with p.
    """
    answer, used, weights = np.zeros(len(weights)), np.arange(len(weights)), weights.copy()
    while True:
        # Ones added to the inner products make the matrix definite as long as points are affinely
        # independent, and change nothing where weights have sum one.
        matrix = gram[np.ix_(used, used)] + 1.0
        sides = np.stack([products[used], np.ones(len(used))], axis=1)
        try:
            free, ones = cho_solve(cho_factor(matrix, check_finite=False), sides).T
        except np.linalg.LinAlgError:
            free, ones = np.linalg.lstsq(matrix, sides, rcond=None)[0].T
        goal = free + ones * ((1.0 - free.sum()) / ones.sum())
        if np.all(goal > 0.0):
            answer[used] = goal / goal.sum()
            return answer
        falling = goal <= 0.0
        ratio = weights[falling] / np.maximum(weights[falling] - goal[falling], 1e-300)
        weights = weights + ratio.min() * (goal - weights)
        weights[np.flatnonzero(falling)[ratio.argmin()]] = 0.0
        kept = weights > 0.0
        used, weights = used[kept], weights[kept] / weights[kept].sum()
