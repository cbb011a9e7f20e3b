"""Moments across two views that are diagonal in the loadings, as sums over batches of rows."""

from collections import namedtuple
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, svds

from .._core.conjugate_gradients import conjugate_gradients
from .._core.warnings import warn
from ._moments import DENSE_UP_TO, EXTRA_COLUMNS, FORMED_UP_TO, N_POWERS, triple_sum
from ._rows import times, weighted_product

LARGEST_EXPONENT = 300.0  # its square is still a number
VARYING = 1e-13  # least variance of a column over its mean square: less is rounding
# ``x @ S12 @ y.T = I``; ``x_back`` and ``y_back`` are the inverses of ``x`` and ``y``.
Whitening = namedtuple("Whitening", "x y x_back y_back")


def whiten(U, values, V, units):
    """The `Whitening` of rows as they are by singular vectors and values of S12 in units."""
    root, (x, y) = np.sqrt(values), (unit[:, None] for unit in units)
    return Whitening((U / root / x).T, (V / root / y).T, U * root * x, V * root * y)


class CrossMoments:
    """Means of two views, their cross-covariance S12, and its relatives of higher order.

    ``pairs`` are `Rows` of both; the noise of those that hold ``counts`` is taken out. Covariances
    are those of numbers in ``units`` of their standard deviations, and of counts as they are.
    """

    def __init__(self, pairs, counts):
        self.pairs, self.counts, self.sizes = pairs, counts, pairs.n_features

        def sums(pair, weight):
            squares = [view.multiply(view) if sp.issparse(view) else view**2 for view in pair]
            totals = (part.T @ weight for part in (*pair, *squares))
            return weight.sum(), int(np.count_nonzero(weight)), *totals

        self.n, self.n_rows, first, second, *squares = pairs.sum(sums)
        self.means = first / self.n, second / self.n
        measured = map(self._measure, squares, self.means, counts)
        self.varies, self.units, self.variances = zip(*measured)

    def _measure(self, squares, mean, is_count):
        """Return (whether each column varies, its unit, its variance in that)."""
        variance = np.maximum(squares - self.n * mean**2, 0.0) / max(self.n - 1.0, 1.0)
        varies = variance > VARYING * squares / self.n
        square = np.where(varies, variance, squares / self.n)
        unit = np.where((square > 0.0) & (not is_count), np.sqrt(square), 1.0)
        return varies, unit, variance / unit**2

    def apply(self, V, view=0, other=1):
        """Covariance of a view with another, or with itself, times V; one pass over the rows."""
        V = (V.T / self.units[other]).T
        (out,) = self.pairs.sum(lambda pair, w: (pair[view].T @ times(w, pair[other] @ V),))
        outer = np.multiply.outer(self.means[view], self.means[other] @ V)
        return ((out - self.n * outer).T / self.units[view]).T / (self.n - 1.0)

    def matrix(self, view=0, other=1):
        """That covariance itself, one pass over the rows."""
        (out,) = self.pairs.sum(lambda pair, w: (weighted_product(pair[view], pair[other], w),))
        out -= self.n * np.outer(self.means[view], self.means[other])
        return out / np.outer(self.units[view], self.units[other]) / (self.n - 1.0)

    def solve(self, view, ridge, B):
        """Solve (cov(x) + ridge * mean variance * I) A = B for the covariance of one view.

        A and B are those of the columns as they are.

        The covariance of few features is formed; that of many acts on vectors, K at once (conjugate
        gradients, scaled by variances).
        """
        variances, unit = self.variances[view], self.units[view][:, None]
        B = B / unit
        shift = ridge * variances.mean()
        if len(variances) <= DENSE_UP_TO:
            matrix = self.matrix(view, view)
            matrix[np.diag_indices(len(matrix))] += shift
            return (np.linalg.solve(matrix, B) if shift else np.linalg.pinv(matrix) @ B) / unit
        scale = 1.0 / np.maximum(variances + shift, 1e-12 * (variances.max() + shift))
        A, _ = conjugate_gradients(
            lambda rows: self.apply(rows.T, view, view).T + shift * rows, B.T, tol=1e-8,
            max_iter=200, scale=scale,
        )  # fmt: skip
        return A.T / unit

    def svd(self, n_components):
        """At least ``n_components`` largest singular values of S12, with vectors: U, values, V."""
        smallest, streams = min(self.sizes), self.pairs.streams
        if smallest <= DENSE_UP_TO or 2 * n_components >= smallest:
            U, values, Vt = np.linalg.svd(self.matrix(), full_matrices=False)
            return U, values, Vt.T
        if streams and max(self.sizes) > FORMED_UP_TO:
            return self._subspace(n_components)
        matrix = self.matrix() if streams else LinearOperator(
            self.sizes, matvec=self.apply, rmatvec=lambda v: self.apply(v, 1, 0), dtype=np.float64
        )  # fmt: skip
        U, values, Vt = svds(matrix, n_components, v0=np.full(smallest, smallest**-0.5))
        order = np.argsort(-values, kind="stable")
        return U[:, order], values[order], Vt[order].T

    def _subspace(self, n_components):
        """Block power iterations: few passes over rows that are dear to load."""
        width = min(*self.sizes, n_components + EXTRA_COLUMNS)
        basis = np.random.RandomState(0).normal(size=(self.sizes[1], width))
        for _ in range(N_POWERS):
            left = np.linalg.qr(self.apply(np.linalg.qr(basis)[0]))[0]
            basis = self.apply(left, 1, 0)
        V, values, turn = np.linalg.svd(basis, full_matrices=False)
        return left @ turn.T, values, V

    def _whitened(self, pair, whitening):
        sides = zip(pair, whitening[:2], self.means)
        return [view @ W.T - W @ mean for view, W, mean in sides]

    def cumulants(self, whitening):
        """Third cumulants across the views, whitened: 2 K targets, one pass.

        Target p is ``W1 T(v_p) W2.T`` with v_p the p-th row of W1, then of W2.
        """

        def sums(pair, w):
            first, second = self._whitened(pair, whitening)
            return triple_sum(first, times(w, second)), triple_sum(second, times(w, first))

        cubes = list(self.pairs.sum(sums))
        for view, is_count in enumerate(self.counts):
            cubes[view] = cubes[view] * self.n / ((self.n - 1.0) * (self.n - 2.0))
            if is_count:
                W, back = whitening[view], whitening[2 + view]
                cubes[view] = cubes[view] - triple_sum(W.T, back)
        return np.concatenate([cubes[0].transpose(1, 0, 2), cubes[1].transpose(1, 2, 0)])

    def generalized(self, whitening, delta, signs):
        """Covariances under exponential weights, whitened, less the identity, one pass for a sign.

        ``delta`` is the standard deviation of the exponents. Targets have shape (len(signs), 2 K,
        K, K), those of points of the first view first.
        """
        scales = self._scales(whitening, delta)
        targets, shares = [], []
        for sign in signs:
            sums = partial(self._weighted, whitening, sign * scales)
            total, spread, first, second, both = self.pairs.sum(sums)
            shares.append(np.min(total**2 / spread) / self.n)
            total = total[:, None, None]
            outer = first[:, :, None] * second[:, None] / total**2
            targets.append(both / total - outer - np.eye(len(whitening.x)))
        if min(shares) < 0.1:
            warn(
                f"exponential weights rest on {min(shares):.1%} of the rows: take a delta below "
                f"{delta:g}, or leave out outlying rows"
            )
        return np.array(targets)

    def _scales(self, whitening, delta):
        def squares(pair, weight):
            return tuple(weight @ H**2 for H in self._whitened(pair, whitening))

        scales = []
        for square, W, is_count in zip(self.pairs.sum(squares), whitening, self.counts):
            spread = np.sqrt(square / self.n)
            scale = delta / np.where(spread > 0.0, spread, 1.0)
            if is_count:  # weights of counts are divided out again: keep them moderate
                scale = np.minimum(scale, 1.0 / np.max(np.abs(W), axis=1))
            scales.append(scale)
        return np.array(scales)

    def _weighted(self, whitening, scales, pair, weight):
        sides = self._whitened(pair, whitening)
        sums = []
        for view in range(2):
            W = whitening[view]
            for p, scale in enumerate(scales[view]):
                exponent = np.minimum(scale * sides[view][:, p], LARGEST_EXPONENT)
                mass = weight * np.exp(exponent)
                seen = list(sides)
                if self.counts[view]:
                    W_p = W * np.exp(-scale * W[p])
                    seen[view] = pair[view] @ W_p.T - W_p @ self.means[view]
                first, second = seen
                spread = np.sum(mass**2 / np.where(weight > 0.0, weight, 1.0))
                both = first.T @ times(mass, second)
                sums.append((mass.sum(), spread, mass @ first, mass @ second, both))
        return tuple(np.array(part) for part in zip(*sums))
