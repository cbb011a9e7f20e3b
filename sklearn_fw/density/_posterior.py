"""What all scores need of the training data: solves with ``B = K + s diag(1 / w)``.

Both classes describe a Gaussian process with covariance k and noise variance ``s / w_i`` at row i,
and answer two questions about a new point x,

    ``residual = k(x, x) - k_x' B^-1 k_x``    (its variance before noise) and
    ``share = 1' B^-1 k_x``                   (the total weight of the data in its prediction),

of which everything else is made. For the training rows they keep ``precision``, the diagonal of
B^-1, ``sums = B^-1 1`` and ``information = 1' B^-1 1``.
"""

import warnings

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular

from ._backend import NUMPY

__all__ = ["ExactPosterior", "LowRankPosterior"]

JITTER = 1e-10  # relative to the mean of the diagonal, tried once


class ExactPosterior:
    """One Cholesky factorization of the n x n matrix B, grown row by row on demand."""

    def __init__(self, K, noise, backend=NUMPY):
        self.backend, self.noise = backend, noise
        self.chol = _factor(K, noise, backend)
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
        corner = _factor(K_new - below @ below.T, noise, self.backend)
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
        # An einsum in NumPy: squaring would need a second block of this size.
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
        """Residual and ``1 - share`` of every training row, predicted from the other rows."""
        residual = self.backend.xp.clip(1.0 / self.precision - self.noise, 0.0, None)
        return residual, self.sums / self.precision

    remainder = 0.0  # nothing is left out of K


class LowRankPosterior:
    """Pivoted incomplete Cholesky ``K = Z Z' + remainder`` with r columns, O(n r^2).

    Pivots are training rows. The remainder ``k(x, x) - |z(x)|^2`` is kept where a new point is
    scored, so that points far from all pivots stay as improbable as they are in the exact model.
    """

    backend = NUMPY

    def __init__(self, kernel, X, noise, max_rank):
        self.kernel, self.noise = kernel, noise
        Z, pivots, remainder = pivoted_cholesky(kernel, X, max_rank)
        self.pivots = X[pivots]
        self.root = Z[pivots]  # lower triangular: k(pivots, pivots) = root root'
        self.Z, self.remainder = Z, remainder
        self._factorize()

    def _factorize(self):
        weighted = self.Z / self.noise[:, None]
        self.chol = _factor(self.Z.T @ weighted, np.ones(self.Z.shape[1]), NUMPY)
        total = weighted.sum(axis=0)
        self.half_ones = NUMPY.solve_lower(self.chol, total)
        half = NUMPY.solve_lower(self.chol, self.Z.T.copy())
        self.information = float((1.0 / self.noise).sum() - self.half_ones @ self.half_ones)
        leverage = np.einsum("ij,ij->j", half, half) / self.noise
        self.precision = (1.0 - leverage) / self.noise
        self.sums = (1.0 - self.half_ones @ half) / self.noise

    def extend(self, X, noise):
        """Append rows, described by the same pivots."""
        Z, remainder = self._features(X)
        self.Z = np.concatenate([self.Z, Z])
        self.remainder = np.concatenate([self.remainder, remainder])
        self.noise = np.concatenate([self.noise, noise])
        self._factorize()

    def _features(self, X):
        Z = NUMPY.solve_lower(self.root, self.kernel(X, self.pivots).T).T
        return Z, np.clip(self.kernel.diag(X) - np.einsum("ij,ij->i", Z, Z), 0.0, None)

    def project_rows(self, X):
        """Return (residual, share) of new points."""
        Z, remainder = self._features(X)
        half = NUMPY.solve_lower(self.chol, Z.T.copy())
        return remainder + np.einsum("ij,ij->j", half, half), self.half_ones @ half

    def held_out(self):
        """Residual, its remainder apart, and ``1 - share`` of every row, from the other rows."""
        residual = np.clip(1.0 / self.precision - self.noise, 0.0, None)
        return residual, self.sums / self.precision


def pivoted_cholesky(kernel, X, max_rank):
    """Return (Z, pivots, remainder) with ``K ~ Z Z'``; greedy in the largest remainder."""
    n = len(X)
    remainder = np.array(kernel.diag(X))
    floor = 1e-12 * remainder.max()
    Z = np.zeros((n, min(max_rank, n)))
    pivots = []
    for column in range(Z.shape[1]):
        pivot = int(remainder.argmax())
        if remainder[pivot] <= floor:  # the kernel matrix has no higher rank
            break
        root = np.sqrt(remainder[pivot])
        Z[:, column] = (kernel(X, X[pivot : pivot + 1])[:, 0] - Z @ Z[pivot]) / root
        Z[pivots, column] = 0.0  # exactly, so that the rows of the pivots are triangular
        Z[pivot, column] = root
        pivots.append(pivot)
        remainder = np.maximum(remainder - Z[:, column] ** 2, 0.0)
        remainder[pivots] = 0.0
    return Z[:, : len(pivots)], np.array(pivots), remainder


def _factor(K, noise, backend):
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
        warnings.warn(
            f"sigma0^2 is below rounding: {jitter:.1e} was added to the diagonal of the kernel "
            "matrix; raise sigma0 or lower length_scale",
            RuntimeWarning,
            stacklevel=2,
        )
        again = backend.diagonal(spare)
        again += jitter
        try:
            return backend.cholesky(spare)
        except LinAlgError as error:
            raise ValueError(
                "the kernel matrix is not positive definite: raise sigma0 or lower length_scale"
            ) from error
