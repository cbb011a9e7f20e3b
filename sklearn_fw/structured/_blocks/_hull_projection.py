"""Euclidean projection onto a convex hull that is known by its oracle alone."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn

__all__ = ["project_on_hull"]


def project_on_hull(p, argmax, atoms=None, accuracy=1e-9, max_iter=1000):
    """Nearest point of a convex hull that is known by its oracle: Wolfe's minimum norm point.

    Parameters
    ----------
    p : ndarray of shape (size,)
        Any point.
    argmax : callable
        From s to a corner z of largest ``<s, z>``.
    atoms : ndarray of shape (n_atoms, size), default=None
        Some corners, as a first guess.
    accuracy : float, default=1e-9
        Bound on ``<p - z, z' - z>`` for all z' of the hull, up to rounding.
    max_iter : int, default=1000
        Oracle calls allowed.

    Returns
    -------
    z : ndarray of shape (size,)
        The projection.
    atoms : ndarray of shape (n_atoms, size)
        The corners that it is a mean of.
    n_calls : int
        Oracle calls made.

    Warns
    -----
    ConvergenceWarning
        When ``max_iter`` calls did not reach the accuracy.

    References
    ----------
    .. [1] P. Wolfe, "Finding the nearest point in a polytope", Mathematical Programming 11, 1976.
    .. [2] V. Niculae, A. Martins, M. Blondel, C. Cardie, "SparseMAP: differentiable sparse
       structured inference", ICML 2018.
    """
    n_calls = int(atoms is None)
    atoms = argmax(p)[None] if atoms is None else atoms
    weights = np.full(len(atoms), 1.0 / len(atoms))
    rounding = 1e-14 * max(1.0, np.abs(p).max(initial=0.0))
    best = np.inf
    while True:
        weights, atoms = _nearest_mean(weights, atoms, p)
        z = weights @ atoms
        distance = np.sum((p - z) ** 2)
        corner = argmax(p - z)
        n_calls += 1
        gap = (p - z) @ (corner - z)
        # No progress means that rounding decides which atoms stay.
        if gap <= accuracy + rounding * np.abs(corner - z).sum() or distance >= best:
            return z, atoms, n_calls
        if n_calls >= max_iter:
            warn(
                f"projection by an oracle stopped after {n_calls} calls at {gap:.3g} > "
                f"{accuracy:.3g}",
                ConvergenceWarning,
            )
            return z, atoms, n_calls
        best = distance
        atoms, weights = np.vstack([atoms, corner]), np.append(weights, 0.0)


def _nearest_mean(weights, atoms, p):
    """Weights of the mean of atoms that is nearest to p; atoms of weight zero are dropped.

    Goes from the given weights to those of the nearest point of the affine hull, as far as all stay
    positive.
    """
    while True:
        # Ones added to the inner products make the matrix definite as long as atoms are affinely
        # independent, and change nothing where weights have sum one.
        gram = atoms @ atoms.T + 1.0
        sides = np.stack([atoms @ p, np.ones(len(atoms))], axis=1)
        try:
            free, ones = cho_solve(cho_factor(gram, check_finite=False), sides).T
        except np.linalg.LinAlgError:
            free, ones = np.linalg.lstsq(gram, sides, rcond=None)[0].T
        goal = free + ones * ((1.0 - free.sum()) / ones.sum())
        if np.all(goal > 0.0):
            return goal / goal.sum(), atoms
        falling = goal <= 0.0
        ratio = weights[falling] / np.maximum(weights[falling] - goal[falling], 1e-300)
        weights = weights + ratio.min() * (goal - weights)
        weights[np.flatnonzero(falling)[ratio.argmin()]] = 0.0
        kept = weights > 0.0
        weights, atoms = weights[kept] / weights[kept].sum(), atoms[kept]
