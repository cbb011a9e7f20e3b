"""Moments of counts that are diagonal in the topics, whitened, as sums over batches of rows.

A kind of moments has two parts: a matrix S, of which the largest eigenvectors whiten, and targets
of shape (K, K, P), which are diagonal in one orthonormal basis.
Rows come in batches, so memory is O(batch K + M K + K^3).
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse.linalg import LinearOperator, eigsh

from ._diagonalization import jacobi
from ._rows import times, weighted_product

DENSE_UP_TO = 200  # features: S is formed and decomposed at once
FORMED_UP_TO = 4096  # features: S is formed where rows come in batches, and a pass is dear
LANCZOS_TOL = 1e-6
EXTRA_COLUMNS, N_POWERS = 10, 6  # of the subspace iteration for batches of more features
RANGE_OF_C0 = 0.02, 50.0
CACHED = 100_000  # numbers of a piece of products
MUCH_NEGATIVE_MASS = 0.45  # components of noise have more


class Moments:
    """A second moment ``S = sum_i w_i x_i x_i' / total - share c c' - diag(d)`` of rows.

    A subclass has ``weigh``, which makes w of rows and their weights, and ``_second``, which gives
    total, share, c and d.
    """

    def of(self, rows):
        return type(self)(rows)

    def matrix(self):
        total, share, center, diagonal = self._second()
        (out,) = self.rows.sum(lambda X, weight: (weighted_product(X, X, self.weigh(X, weight)),))
        return out / total - share * np.outer(center, center) - np.diag(diagonal)

    def apply(self, V):
        total, share, center, diagonal = self._second()
        out = self.rows.product(self.weigh, V) / total
        return out - share * np.multiply.outer(center, center @ V) - times(diagonal, V)


class GPMoments(Moments):
    """Cumulants of discrete ICA with any intensities; row weights sum to ``n`` if given."""

    weigh = staticmethod(lambda X, weight: weight)

    def __init__(self, rows, n=None):
        self.rows, self.n_features = rows, rows.n_features
        self.n, self.n_rows, total, lengths, squares = rows.sum(_first_sums)
        if n is not None:
            factor = rows.scale = n / self.n
            self.n, total, lengths, squares = n, *(factor * s for s in (total, lengths, squares))
        self.n_short, self.counts = 0, total
        if self.n > 0.0:
            self.mean, self.mean_length = total / self.n, lengths / self.n
        if self.n > 1.0:
            self.length_variance = (squares - lengths**2 / self.n) / (self.n - 1.0)

    def _second(self):
        return self.n - 1.0, self.n / (self.n - 1.0), self.mean, self.mean

    def unigram(self):
        """Frequencies of words, each counted once more, so that none is zero."""
        counts = self.counts + 1.0
        return counts / counts.sum()

    def third(self, W):
        center = W @ self.mean

        def sums(X, weight):
            H = X @ W.T - center
            weighted = weight[:, None] * H
            return triple_sum(H, weighted), X.T @ weighted

        cubes, Y = self.rows.sum(sums)
        cubes = cubes * self.n / ((self.n - 1.0) * (self.n - 2.0))
        diagonal = (2.0 / 3.0) * self.mean[:, None] * W.T
        return cubes - placements(W, Y / (self.n - 1.0) - diagonal)


def _first_sums(X, weight):
    n_rows, length = int(np.count_nonzero(weight)), X.sum(axis=1)
    return weight.sum(), n_rows, X.T @ weight, weight @ length, weight @ length**2


class LDAMoments(Moments):
    """Moments of latent Dirichlet allocation: U-statistics of distinct tokens of a document.

    Documents of fewer than three tokens do not count. ``c0`` is the sum of the concentrations of
    topics; None waits for `find_c0`.
    """

    weigh = staticmethod(lambda X, weight: _tuple_weights(X, weight)[2])

    def __init__(self, rows, c0=None):
        self.rows, self.n_features, self.c0 = rows, rows.n_features, c0

        def sums(X, weight):
            parts = _tuple_weights(X, weight)
            n_used, n_all = int(np.count_nonzero(parts[0])), np.count_nonzero(weight)
            return parts[0].sum(), n_used, n_all, *(X.T @ part for part in parts)

        self.n, self.n_rows, n_all, mean, first, *diagonals = rows.sum(sums)
        self.second_diagonal, self.third_diagonal = diagonals
        self.n_short = n_all - self.n_rows
        if self.n > 0.0:
            self.mean, self.first = mean / self.n, first / self.n
            self.mean_length = self.mean.sum()

    def of(self, rows):
        return LDAMoments(rows, self.c0)

    def _second(self):
        return self.n, self.c0 / (self.c0 + 1.0), self.first, self.second_diagonal / self.n

    def third(self, W):
        return self.combine(*self.parts(W))

    def combine(self, raw, second, first):
        """The third moment from its parts, for the current ``c0``."""
        c0 = self.c0
        pairs = np.multiply.outer(second, first)
        mixed = pairs + pairs.transpose(0, 2, 1) + pairs.transpose(2, 1, 0)
        cube = np.multiply.outer(np.multiply.outer(first, first), first)
        return raw - c0 / (c0 + 2.0) * mixed + 2.0 * c0**2 / ((c0 + 1.0) * (c0 + 2.0)) * cube

    def parts(self, W):
        """Whitened moments of three, two and one tokens, one pass."""

        def sums(X, weight):
            _, _, d2, d3 = _tuple_weights(X, weight)
            H = X @ W.T
            weighted = d3[:, None] * H
            return triple_sum(H, weighted), X.T @ weighted, H.T @ (d2[:, None] * H)

        cubes, Y, second = self.rows.sum(sums)
        second = (second - (W * self.second_diagonal) @ W.T) / self.n
        diagonal = (2.0 / 3.0) * self.third_diagonal[:, None] * W.T
        raw = (cubes - placements(W, Y - diagonal)) / self.n
        return raw, second, W @ self.first

    def find_c0(self, n_components):
        """Set the ``c0`` under which the third moment is most nearly diagonal, in K^3 numbers."""
        self.c0 = 0.0
        values, vectors = largest_eigenpairs(self, n_components)
        used = values > 1e-10 * abs(values[0])
        if not np.any(used):
            self.c0 = 1.0
            return
        raw, second, first = self.parts((vectors[:, used] / np.sqrt(values[used])).T)

        def off_diagonality(log_c0):
            self.c0 = np.exp(log_c0)
            S = second - self.c0 / (self.c0 + 1.0) * np.outer(first, first)
            spread, basis = np.linalg.eigh((S + S.T) / 2.0)
            if spread[0] <= 1e-10 * spread[-1]:
                return 1.0
            A = (basis / np.sqrt(spread)).T
            cube = np.einsum("abc,ia,jb,kc->ijk", self.combine(raw, second, first), A, A, A,
                             optimize=True)  # fmt: skip
            return jacobi((cube + cube.transpose(1, 0, 2)) / 2.0, "orthogonal", 1e-3, None)[2]

        # The function falls and rises again; far out it may be flat, so begin with a few points.
        grid = np.linspace(*np.log(RANGE_OF_C0), 6)
        best = int(np.argmin([off_diagonality(x) for x in grid]))
        inner, options = (grid[max(best - 1, 0)], grid[min(best + 1, 5)]), {"xatol": 0.05}
        found = minimize_scalar(off_diagonality, bounds=inner, method="bounded", options=options)
        self.c0 = float(np.exp(found.x))


def _tuple_weights(X, weight):
    length = X.sum(axis=1)
    used = np.where(length >= 3.0, weight, 0.0)
    length = np.maximum(length, 3.0)
    d1 = used / length
    d2 = d1 / (length - 1.0)
    return used, d1, d2, d2 / (length - 2.0)


def triple_sum(H, Y):
    """Sum over rows h of H and y of Y of h (x) h (x) y."""
    first, second = np.triu_indices(H.shape[1])
    step = max(64, CACHED // len(first))  # of rows whose products stay in the cache
    total = 0.0
    for start in range(0, len(H), step):
        part = H[start : start + step]
        total = total + (part[:, first] * part[:, second]).T @ Y[start : start + step]
    cube = np.empty((H.shape[1], H.shape[1], Y.shape[1]))
    cube[first, second] = cube[second, first] = total
    return cube


def placements(W, Y):
    """Sum of sum_m w_m (x) w_m (x) y_m over the three places that y can take."""
    part = triple_sum(W.T, Y)
    return part + part.transpose(0, 2, 1) + part.transpose(2, 1, 0)


def largest_eigenpairs(moments, n_components):
    """The K algebraically largest eigenvalues of S, descending, and eigenvectors as columns.

    Lanczos multiplies rows in memory with one vector at a time; of batches that have to be loaded S
    is formed first, in one pass. With many features a few passes find the pairs.
    """
    size, streams = moments.n_features, moments.rows.streams
    if size <= DENSE_UP_TO or 2 * n_components >= size:
        values, vectors = np.linalg.eigh(moments.matrix())
    elif streams and size > FORMED_UP_TO:
        width = min(size, n_components + EXTRA_COLUMNS)
        basis = np.random.RandomState(0).normal(size=(size, width))
        for _ in range(N_POWERS):
            basis = np.linalg.qr(moments.apply(basis))[0]
        small = basis.T @ moments.apply(basis)
        values, turn = np.linalg.eigh((small + small.T) / 2.0)
        vectors = basis @ turn
    else:
        S = LinearOperator((size, size), matvec=moments.apply, dtype=np.float64)
        S, start = moments.matrix() if streams else S, np.full(size, size**-0.5)
        values, vectors = eigsh(S, n_components, which="LA", v0=start, tol=LANCZOS_TOL)
    order = np.argsort(-values, kind="stable")[:n_components]
    return values[order], vectors[:, order]


def generalized_targets(moments, W, directions, scale):
    """Covariances under exponential weights, whitened: one target for each column u of directions.

    The weight of a row x is ``exp(t @ x)`` for ``t = tau W.T u``, with tau such that ``t @ x`` has
    a standard deviation of ``scale``. One pass for the deviations, then one for each target.
    """
    steps = W.T @ directions
    centers = moments.mean @ steps
    (squares,) = moments.rows.sum(lambda X, weight: (weight @ (X @ steps - centers) ** 2,))
    targets = []
    for t, square in zip(steps.T, squares):
        t = t * (scale / np.sqrt(square / moments.n)) if square > 0.0 else t
        targets.append(_generalized_target(moments, W * np.exp(-t), t))
    return np.array(targets)


def _generalized_target(moments, whitening, t):
    center, shift = whitening @ moments.mean, t @ moments.mean

    def sums(X, weight):
        probability = weight * np.exp(X @ t - shift)
        H = X @ whitening.T - center
        second = H.T @ (probability[:, None] * H)
        return probability.sum(), X.T @ probability, probability @ H, second

    total, first, projected, second = moments.rows.sum(sums)
    projected = projected / total
    diagonal = (whitening * (first / total)) @ whitening.T
    target = second / total - np.outer(projected, projected) - diagonal - np.eye(len(whitening))
    return (target + target.T) / 2.0
