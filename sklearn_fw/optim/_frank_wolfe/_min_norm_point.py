"""Nearest points of convex hulls, and concave quadratics on the simplex: all weights at once."""

import numpy as np
from scipy.linalg.lapack import dposv
from sklearn.exceptions import ConvergenceWarning

from ..._core.warnings import warn
from ..domains._atoms import as_atom
from ._active_set import ActiveSet

# Added to the diagonal, as a share of its largest entry. Where the quadratic is flat, steps then
# are long instead of infinite, and end where a weight becomes zero.
FLAT = 1e-13
RIDGE = 1e-12  # added to the diagonal of singular matrices, as a share of its largest entry


class HullProjection:
    """Nearest points of a convex hull that is known by its oracle: Wolfe's minimum norm point.

    Frank-Wolfe on half the squared distance, where each step corrects all weights: it goes to the
    nearest mean of all atoms. The atoms and their Gram matrix stay for the next point. There is no
    step to choose and no line to search, so the common loop would only slow it down: most hulls are
    small and are asked thousands of times.

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
        self.domain, self.active = domain, None

    def project(self, p, accuracy=1e-9, max_iter=1000):
        """The nearest point.

        Parameters
        ----------
        p : ndarray of shape (size,)
            Any point.
        accuracy : float, default=1e-9
            Bound on ``<p - z, z' - z>`` for all z' of the hull, up to rounding; of an inexact
            oracle, for all z' that it answers.
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
        n_calls = int(self.active is None)
        if n_calls:
            self.active = ActiveSet([self.domain.lmo(-p)])
            self.gram = np.array([self.active.scores(self.active.point())])
        self.products, before = self.active.scores(p), np.inf
        rounding = 1e-14 * max(1.0, np.abs(p).max(initial=0.0))
        while True:
            z = self._correct()
            ahead = p - z
            square, atom = ahead @ ahead, as_atom(self.domain.lmo(-ahead), len(p), "a corner")
            n_calls += 1
            gap = atom.dot(ahead) - ahead @ z
            # No progress means that rounding decides which atoms stay.
            if gap <= accuracy or not square < before:
                return z, n_calls
            if gap <= accuracy + rounding * np.abs(atom.to_array() - z).sum():
                return z, n_calls
            if n_calls >= max_iter:
                warn(
                    f"projection by an oracle stopped after {n_calls} calls at {gap:.3g} > "
                    f"{accuracy:.3g}",
                    ConvergenceWarning,
                )
                return z, n_calls
            before = square
            self._include(atom, p)

    def _include(self, atom, p):
        if self.active.include(atom) < len(self.gram):
            return  # it was there
        x = atom.to_array()
        row = self.active.scores(x)
        gram = np.empty((len(row), len(row)))
        gram[:-1, :-1], gram[-1], gram[:, -1] = self.gram, row, row
        self.gram, self.products = gram, np.concatenate([self.products, [x @ p]])

    def _correct(self):
        """Move to the nearest mean of all atoms."""
        weights = nearest_mean(self.active.weights, self.gram, self.products)
        kept = self.active.reweigh(weights)
        if len(kept) < len(weights):
            self.gram, self.products = self.gram[np.ix_(kept, kept)], self.products[kept]
        return self.active.point()


def nearest_mean(weights, gram, products):
    """Weights of the mean of some points that is nearest to p, zero for those without use.

    Goes from the given weights, of sum one, to those of the nearest point of the affine hull, as
    far as all stay positive. The points are known by their inner products with each other and with
    p.
    """
    answer, used, weights = np.zeros(len(weights)), np.arange(len(weights)), weights.copy()
    while True:
        # Ones added to the inner products make the matrix definite as long as points are affinely
        # independent, and change nothing where weights have sum one.
        matrix = (gram if len(used) == len(gram) else gram[np.ix_(used, used)]) + 1.0
        sides = np.ones((len(used), 2))
        sides[:, 0] = products[used]
        _, solved, fault = dposv(matrix, sides)
        if fault:  # flat directions are then long ones
            matrix = matrix + np.diag(np.full(len(used), RIDGE * matrix.diagonal().max()))
            _, solved, fault = dposv(matrix, sides)
        if fault:
            solved = np.linalg.lstsq(matrix, sides, rcond=None)[0]
        free, ones = solved.T
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


def maximise_on_simplex(gram, linear, weights, accuracy):
    """Weights a of sum one that maximise ``<linear, a> - a' gram a / 2``.

    One weight of largest slope joins those in use at a time, and all of these are corrected, as in
    Wolfe's method for nearest points.

    Parameters
    ----------
    gram : ndarray of shape (k, k)
        Symmetric, positive semidefinite.
    linear : ndarray of shape (k,)
        Slopes at zero.
    weights : ndarray of shape (k,)
        Where to start, not negative and of sum one.
    accuracy : float
        The maximum may be larger by as much.

    Returns
    -------
    weights : ndarray of shape (k,)
        Exact zeros where they are not needed.
    """
    scale = max(np.diagonal(gram).max(), np.abs(linear).max(), 1e-300)
    gram, linear = gram / scale + np.diag(np.full(len(linear), FLAT)), linear / scale
    value = -np.inf
    while True:
        slopes = linear - gram @ weights
        best = int(slopes.argmax())
        if slopes[best] - weights @ slopes <= accuracy / scale:
            return weights
        reached = 0.5 * (weights @ (linear + slopes))
        if not reached > value:  # rounding decides from here on
            return weights
        value = reached
        used = weights > 0.0
        used[best] = True
        used = np.flatnonzero(used)
        found = nearest_mean(weights[used], gram[np.ix_(used, used)], linear[used])
        weights = np.zeros_like(weights)
        weights[used] = found
