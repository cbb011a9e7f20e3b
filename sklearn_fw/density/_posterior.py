"""What all scores need of the training data: solves with ``B = K + s diag(1 / w)``.

`ExactPosterior` and `LowRankPosterior` describe a Gaussian process with covariance k and noise
variance ``s / w_i`` at row i, and answer two questions about a new point x,

    ``residual = k(x, x) - k_x' B^-1 k_x``    (its variance before noise) and
    ``share = 1' B^-1 k_x``                   (the total weight of the data in its prediction),

of which everything else is made. For the training rows they keep ``precision``, the diagonal of
B^-1, ``sums = B^-1 1`` and ``information = 1' B^-1 1``.
"""

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular

from .._core.warnings import warn
from ._backend import NUMPY

JITTER = 1e-10  # relative to the mean of the diagonal, tried once


class ExactPosterior:
    """One Cholesky factorization of the n x n matrix B, grown row by row on demand."""

    def __init__(self, K, noise, backend=NUMPY):
        self.backend, self.noise = backend, noise
        self.chol = factor(K, noise, backend)
        self.half_ones = backend.solve_lower(self.chol, 1.0 + 0.0 * noise)  # L^-1 1
        self.precision = backend.inverse_diagonal(self.chol)
        self._sum_up()

    def _sum_up(self):
        xp = self.backend.xp
        self.sums = self.backend.solve_upper(self.chol, 1.0 * self.half_ones)
        self.information = float(xp.sum(self.half_ones * self.half_ones))

    def extend(self, K_cross, K_new, noise):
        """Append rows: K_cross (n_new, n) against the present rows, K_new among themselves."""
        n, m = len(self.noise), len(noise)
        below = self.backend.solve_lower(self.chol, K_cross.T).T
        corner = factor(K_new - below @ below.T, noise, self.backend)
        new_ones = solve_triangular(corner, 1.0 - below @ self.half_ones, lower=True)
        # Old entries of diag(B^-1) grow by the squared columns of corner^-1 below L^-1.
        carried = solve_triangular(corner, self.backend.solve_upper(self.chol, below.T.copy()).T,
                                   lower=True)  # fmt: skip
        self.precision = np.concatenate(
            [
                self.precision + np.einsum("ij,ij->j", carried, carried),
                self.backend.inverse_diagonal(corner),
            ]
        )
        chol = np.zeros((n + m, n + m), order="F")
        chol[:n, :n], chol[n:, :n], chol[n:, n:] = self.chol, below, corner
        self.chol = chol
        self.half_ones = np.concatenate([self.half_ones, new_ones])
        self.noise = np.concatenate([self.noise, noise])
        self._sum_up()

    def project(self, K_cross, diagonal):
        """Return (residual, share) of new points; K_cross (n_points, n) may be overwritten."""
        xp = self.backend.xp
        half = self.backend.solve_lower(self.chol, K_cross.T)
        # An einsum in NumPy: squaring would need a second array of this size.
        square = np.einsum("ij,ij->j", half, half) if xp is np else xp.sum(half * half, axis=0)
        return xp.clip(diagonal - square, 0.0, None), self.half_ones @ half

    def coefficients(self, K_cross):
        """Rows ``B^-1 k_x``."""
        half = self.backend.solve_lower(self.chol, K_cross.T.copy())
        return self.backend.solve_upper(self.chol, half).T

    def half_solve(self, columns):
        """``L^-1`` times the columns (n, m): its squares sum to quadratic forms in B^-1."""
        return self.backend.solve_lower(self.chol, columns)

    def held_out(self):
        """Return (residual, 1 - share, information) of rows, from the other rows."""
        residual = self.backend.xp.clip(1.0 / self.precision - self.noise, 0.0, None)
        gap = self.sums / self.precision
        return residual, gap, self.information - gap * gap * self.precision


def factor(K, noise, backend=NUMPY):
    """Lower Cholesky factor of ``K + diag(noise)``; K is overwritten where possible."""
    xp, n = backend.xp, K.shape[0]
    diagonal = backend.diagonal(K)
    if not bool(xp.all(xp.isfinite(K[:, 0]))) or not bool(xp.all(xp.isfinite(diagonal))):
        raise ValueError("the kernel matrix holds NaN or infinity: scale X, or lower degree")
    diagonal += noise
    # The factorization overwrites K; the second attempt, which only tiny noise needs, takes a copy.
    jitter = JITTER * float(xp.sum(diagonal)) / n
    spare = None if float(xp.min(noise)) > 10 * jitter else 1.0 * K
    try:
        return backend.cholesky(K)
    except LinAlgError as error:
        if spare is None:
            raise ValueError(
                "the kernel matrix is not positive semidefinite: check the kernel"
            ) from error
        warn(
            f"sigma0^2 is below rounding: {jitter:.1e} was added to the diagonal of the kernel "
            "matrix; raise sigma0 or lower length_scale",
            RuntimeWarning,
        )
        again = backend.diagonal(spare)
        again += jitter
        try:
            return backend.cholesky(spare)
        except LinAlgError as error:
            raise ValueError(
                "the kernel matrix is not positive definite: raise sigma0 or lower length_scale"
            ) from error
