"""What all scores need of the training data: solves with ``B = K + s diag(1 / w)``.

`ExactPosterior` and `LowRankPosterior` describe a Gaussian process with covariance k and noise
variance ``s / w_i`` at row i, and compute for a new point x

    ``residual = k(x, x) - k_x' B^-1 k_x``    (its variance before noise) and
    ``share = 1' B^-1 k_x``                   (the total weight of the data in its prediction),

of which everything else is made. For the training rows they keep ``precision``, the diagonal of
B^-1, ``sums = B^-1 1`` and ``information = 1' B^-1 1``.
"""

from copy import copy

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular

from .._core.warnings import warn
from ._backend import NUMPY

JITTER = 1e-10  # relative to the mean of the diagonal, tried once
RANK_TOL = 1e-12  # of the largest k(x, x); a smaller remainder is zero


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

    def grown(self, kernel, X, noise):
        """The posterior of rows of which the first are those of before, whose weight may be larger.

        Rows are appended in O(n^2) for each; where weights are larger B is factorized again.
        """
        n = len(self.noise)
        if np.any(noise[:n] != self.noise):
            return ExactPosterior(kernel(X, X), noise)
        new = copy(self)
        if len(X) > n:
            new._append(kernel(X[n:], X[:n]), kernel(X[n:], X[n:]), noise[n:])
        return new

    def _append(self, K_cross, K_new, noise):
        n, m = len(self.noise), len(noise)
        below = self.backend.solve_lower(self.chol, K_cross.T).T
        vertex = factor(K_new - below @ below.T, noise, self.backend)
        new_ones = solve_triangular(vertex, 1.0 - below @ self.half_ones, lower=True)
        # Old entries of diag(B^-1) grow by the squared columns of corner^-1 below L^-1.
        solved = self.backend.solve_upper(self.chol, below.T.copy()).T
        carried = solve_triangular(vertex, solved, lower=True)
        grown = self.precision + np.einsum("ij,ij->j", carried, carried)
        self.precision = np.concatenate([grown, self.backend.inverse_diagonal(vertex)])
        chol = np.zeros((n + m, n + m), order="F")
        chol[:n, :n], chol[n:, :n], chol[n:, n:] = self.chol, below, vertex
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

    def project_rows(self, X, kernel, X_fit):
        return self.project(kernel(X, X_fit), kernel.diag(X))

    def coefficients(self, K_cross):
        half = self.backend.solve_lower(self.chol, K_cross.T.copy())
        return self.backend.solve_upper(self.chol, half).T

    def held_out(self):
        """Return (residual, 1 - share, information) of rows, from the other rows."""
        residual = self.backend.xp.clip(1.0 / self.precision - self.noise, 0.0, None)
        gap = self.sums / self.precision
        return residual, gap, self.information - gap * gap * self.precision


class LowRankPosterior:
    """Pivoted incomplete Cholesky ``K = Z Z' + remainder`` with r columns, O(n r^2).

    Pivots are training rows. The remainder ``k(x, x) - |z(x)|^2`` is kept where a new point is
    scored, so that points far from all pivots stay as improbable as they are in the exact model.
    """

    backend = NUMPY

    def __init__(self, kernel, X, noise, max_rank):
        self.kernel, self.X, self.noise = kernel, X, noise
        diagonal = np.array(kernel.diag(X))
        self.floor = RANK_TOL * diagonal.max()
        Z, self.pivots, remainder = pivoted_cholesky(kernel, X, diagonal, max_rank, self.floor)
        self.root = Z[self.pivots]  # lower triangular: k(pivots, pivots) = root root'
        self.Z, self.remainder = Z, remainder
        self._factorize()

    def _factorize(self):
        weighted = self.Z / self.noise[:, None]
        self.chol = factor(self.Z.T @ weighted, np.ones(self.Z.shape[1]))
        self.total = weighted.sum(axis=0)
        self.half_ones = NUMPY.solve_lower(self.chol, 1.0 * self.total)
        half = NUMPY.solve_lower(self.chol, self.Z.T.copy())
        self.information = float((1.0 / self.noise).sum() - self.half_ones @ self.half_ones)
        leverage = np.einsum("ij,ij->j", half, half) / self.noise
        self.precision = (1.0 - leverage) / self.noise
        self.sums = (1.0 - self.half_ones @ half) / self.noise

    def grown(self, kernel, X, noise):
        """The posterior of more rows, described by the same pivots, and of larger weights."""
        new, rows = copy(self), X[len(self.noise) :]
        if len(rows):
            Z, remainder = self._features(rows)
            new.X, new.Z = X, np.concatenate([self.Z, Z])
            new.remainder = np.concatenate([self.remainder, remainder])
        new.noise = noise
        new._factorize()
        return new

    def _features(self, X):
        Z = NUMPY.solve_lower(self.root, self.kernel(X, self.X[self.pivots]).T).T
        return Z, np.clip(self.kernel.diag(X) - np.einsum("ij,ij->i", Z, Z), 0.0, None)

    def project_rows(self, X, kernel, X_fit):
        Z, remainder = self._features(X)
        half = NUMPY.solve_lower(self.chol, Z.T.copy())
        return remainder + np.einsum("ij,ij->j", half, half), self.half_ones @ half

    def held_out(self):
        """Return (residual, 1 - share, information) of rows, from the other rows.

        A pivot takes its column along, and the row that the columns then describe worst becomes a
        pivot, as in a fit without it: its own column would describe it perfectly.
        """
        leverage = 1.0 - self.noise * self.precision
        share = 1.0 - self.noise * self.sums
        information = np.full(len(self.noise), self.information)
        remainder = self.remainder.copy()
        inverse = NUMPY.solve_lower(self.root, np.eye(len(self.root)))
        for i, column in zip(self.pivots, inverse.T):
            lost = column / np.linalg.norm(column)
            leverage[i], remainder[i], share[i], information[i] = self._replace(i, lost)
        precision = (1.0 - leverage) / self.noise
        residual = np.clip(1.0 / precision - self.noise, 0.0, None)
        gap = (1.0 - share) / self.noise / precision
        return residual + remainder, gap, information - gap * gap * precision

    def _replace(self, i, lost):
        """Leverage, remainder and share of pivot i, and the information, with another pivot.

        `lost` is the unit vector of features that only the pivot i spans. Without it the inverse C
        of ``I + Z' N Z`` loses ``A lost lost' A / lost' A lost``; the column of the next pivot is
        put on by a border.
        """
        along = self.Z @ lost
        remainder = self.remainder + along**2
        left = remainder[i]
        remainder[i] = 0.0
        other = int(remainder.argmax())
        precision = 1.0 / self.noise
        turned = self._solve(lost)

        def solve(vector):
            solved = self._solve(vector)
            return solved - (turned @ vector) / (turned @ lost) * turned

        z, solved_total = self.Z[i], solve(self.total)
        leverage, share = z @ solve(z), z @ solved_total
        information = precision.sum() - self.total @ solved_total
        if remainder[other] > self.floor:
            column = self.kernel(self.X, self.X[other : other + 1])[:, 0]
            column -= self.Z @ self.Z[other] - along * along[other]
            column /= np.sqrt(remainder[other])
            left = max(left - column[i] ** 2, 0.0)
            weighted = precision * column
            border = self.Z.T @ weighted
            solved = solve(border)
            schur = 1.0 + column @ weighted - border @ solved
            own, total = column[i] - z @ solved, weighted.sum() - self.total @ solved
            leverage += own * own / schur
            share += own * total / schur
            information -= total * total / schur
        return leverage / self.noise[i], left, share, information

    def _solve(self, vector):
        return NUMPY.solve_upper(self.chol, NUMPY.solve_lower(self.chol, 1.0 * vector))


def pivoted_cholesky(kernel, X, remainder, max_rank, floor):
    """Return (Z, pivots, remainder) with ``K ~ Z Z'``; greedy in the largest remainder.

    `remainder` starts as the diagonal of K, and no pivot's is below `floor`.
    """
    n = len(X)
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
            raise ValueError("the kernel matrix is not positive semidefinite") from error
    warn(
        f"sigma0^2 is below rounding: {jitter:.1e} was added to the diagonal of the kernel matrix; "
        "raise sigma0 or lower length_scale",
        RuntimeWarning,
    )
    again = backend.diagonal(spare)
    again += jitter
    try:
        return backend.cholesky(spare)
    except LinAlgError as error:
        message = "the kernel matrix is singular: raise sigma0 or lower length_scale"
        raise ValueError(message) from error
