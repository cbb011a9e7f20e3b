"""Quadratic functions by their matrix."""

import numpy as np
import scipy.sparse as sp

from ..._core.validation import check_array_of_numbers, check_magnitude
from ._base import Objective
from ._maps import LinearMap

SYMMETRIC = 1e-10  # relative difference of a matrix from its transpose that is rounding


class Quadratic(Objective):
    """The quadratic function ``f(x) = x'Qx / 2 + <b, x>``.

    Parameters
    ----------
    Q : {array-like, sparse matrix} of shape (size, size)
        Symmetric matrix. For a function that is not convex say ``convex=False`` where it is
        minimised.
    b : array-like of shape (size,) or None, default=None
        Linear part; None is zero.

    Attributes
    ----------
    lipschitz : float
        Largest absolute eigenvalue of Q, or a bound on it for more than 1,000 variables.

    See Also
    --------
    LeastSquares : For ``Q = A'A`` that is known by A.

    Examples
    --------
    >>> from sklearn_fw.optim import objectives
    >>> objective = objectives.Quadratic([[2.0, 0.0], [0.0, 4.0]], b=[-1.0, 0.0])
    >>> objective([1.0, 1.0])
    (2.0, array([1., 4.]))
    """

    is_quadratic = True

    def __init__(self, Q, b=None):
        self._map = LinearMap(Q)
        self.Q = Q = self._map.A
        if Q.shape[0] != Q.shape[1]:
            raise ValueError(f"Q must be a square matrix, got shape {Q.shape}")
        difference = abs(Q - Q.T).max() if Q.shape[0] else 0.0
        if difference > SYMMETRIC * abs(Q).max():
            raise ValueError(
                f"Q must be symmetric, but differs from its transpose by {difference:.3g}: "
                f"take (Q + Q.T) / 2, which has the same values"
            )
        self.size = Q.shape[0]
        b = np.zeros(self.size) if b is None else check_array_of_numbers(b, "b")
        if b.shape != (self.size,):
            raise ValueError(f"b.shape == {b.shape}, expected ({self.size},)")
        check_magnitude(b, "b")
        self.b = b

    @property
    def lipschitz(self):
        if self.size <= 1000:
            Q = self.Q.toarray() if sp.issparse(self.Q) else self.Q
            return float(np.abs(np.linalg.eigvalsh(Q)).max()) * (1.0 + 1e-10)
        return float(abs(self.Q).sum(axis=0).max())

    def image(self, point):
        # The product with Q and the point, one after the other
        x = point if isinstance(point, np.ndarray) else point.to_array()
        return np.concatenate([self._map.image(point), x])

    def slopes(self, image):
        product, x = image[: self.size], image[self.size :]
        slopes = np.zeros(2 * self.size)  # those of the point are the whole gradient
        np.add(product, self.b, out=slopes[self.size :])
        return float(0.5 * (product @ x) + self.b @ x), slopes

    def adjoint(self, slopes):
        return slopes[self.size :].copy()

    def adjoint_in(self, slopes, block):
        return slopes[self.size :][block].copy()

    def inner(self, image, others):
        return others[..., self.size :] @ image[: self.size]
