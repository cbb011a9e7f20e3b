"""A posterior from a few columns of the kernel matrix."""

import numpy as np

from ._backend import NUMPY
from ._posterior import factor

RANK_TOL = 1e-12  # of the largest k(x, x); a smaller remainder is zero


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

    def extend(self, X, noise):
        """Append rows, described by the same pivots; `noise` is that of all rows."""
        if len(X):
            Z, remainder = self._features(X)
            self.X = np.concatenate([self.X, X])
            self.Z = np.concatenate([self.Z, Z])
            self.remainder = np.concatenate([self.remainder, remainder])
        self.noise = noise
        self._factorize()

    def _features(self, X):
        Z = NUMPY.solve_lower(self.root, self.kernel(X, self.X[self.pivots]).T).T
        return Z, np.clip(self.kernel.diag(X) - np.einsum("ij,ij->i", Z, Z), 0.0, None)

    def project_rows(self, X):
        """Return (residual, share) of new points."""
        Z, remainder = self._features(X)
        half = NUMPY.solve_lower(self.chol, Z.T.copy())
        return remainder + np.einsum("ij,ij->j", half, half), self.half_ones @ half

    def held_out(self):
        """Return (residual, 1 - share, information) of rows, from the other rows.

        A pivot takes its column along, and the row that the columns then describe
        worst becomes a pivot, as in a fit without it: with its own column a row would find itself
        described perfectly. Rows that are no pivots change no column when they leave.
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
