"""Kernels with the volume elements of their feature maps and derivatives, and their parameters.

A kernel object has ``K = kernel(X, Y)`` of shape (n, m), ``kernel.diag(X)`` of shape (n,), and
``kernel.log_volume(X)``, the term ``1/2 log det G`` of the change of variables, where
``G_ij = d^2 k(x, x') / dx_i dx'_j`` at ``x' = x``. A smooth kernel (``differentiable``) is a
`SmoothKernel`.

``far_value`` is k(x, x) far from all data, where k(x, y) is zero; None for kernels that grow.
``length_scale`` is None for kernels without one.
"""

import functools
from dataclasses import KW_ONLY

import numpy as np
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.gaussian_process.kernels import DotProduct, Kernel
from sklearn.utils import gen_batches

from .._core import check
from .._core.parameters import Parameterized, check_parameters
from ._backend import NUMPY

PANEL = 256  # rows


def _rbf(backend, q):
    q *= -0.5
    return backend.exp(q)


def _rbf_derivatives(q):
    k = np.exp(-0.5 * q)
    return -0.5 * k, 0.25 * k


def _laplacian(backend, q):
    return backend.exp(-backend.xp.sqrt(q))


def _matern32(backend, q):
    t = backend.xp.sqrt(q * 3.0)
    return (1.0 + t) * backend.exp(-t)


def _matern32_derivatives(q):
    t = np.sqrt(3.0 * q)
    decay = np.exp(-t)
    # The second derivative grows like 1/t towards zero, where it is only ever multiplied by t^2.
    return -1.5 * decay, 2.25 * decay / np.where(t > 0, t, np.inf)


def _matern52(backend, q):
    t = backend.xp.sqrt(q * 5.0)
    return (1.0 + t + t * t / 3.0) * backend.exp(-t)


def _matern52_derivatives(q):
    t = np.sqrt(5.0 * q)
    decay = np.exp(-t)
    return -5.0 / 6.0 * (1.0 + t) * decay, 25.0 / 12.0 * decay


def _rational_quadratic(backend, q):
    return 1.0 / (1.0 + q * 0.5)


def _rational_quadratic_derivatives(q):
    k = 1.0 / (1.0 + 0.5 * q)
    return -0.5 * k * k, 0.5 * k**3


# Profile f(q) of the squared scaled distance q, which may be overwritten; and its two derivatives.
RADIAL = {
    "rbf": (_rbf, _rbf_derivatives),
    "laplacian": (_laplacian, None),
    "matern32": (_matern32, _matern32_derivatives),
    "matern52": (_matern52, _matern52_derivatives),
    "rational_quadratic": (_rational_quadratic, _rational_quadratic_derivatives),
}


class SmoothKernel:
    """A kernel f(r), where r has the gradient ``own * x + other * y`` in x.

    ``derivatives`` gives f' and f'' at all pairs.
    """

    differentiable = True

    def contract(self, X, Y, slopes, C):
        """``sum_m C[:, m] d k(x, y_m) / dx`` of shape (n, d), by the values of f'."""
        P = C * slopes
        return self.own * P.sum(axis=1)[:, None] * X + self.other * (P @ Y)

    def column(self, X, Y, slopes, j):
        """``d k(x, y_m) / dx_j`` of shape (n, m)."""
        own, other = (np.broadcast_to(a, X.shape[1:])[j] for a in (self.own, self.other))
        return slopes * (own * X[:, j, None] + other * Y[None, :, j])

    def laplacian(self, X, Y):
        """Trace of the second derivatives in x, of shape (n, m)."""
        first, second = self.derivatives(X, Y)
        squares = cdist(self.own * X, -self.other * Y, "sqeuclidean")
        return np.broadcast_to(self.own, X.shape[1:]).sum() * first + second * squares

    def diag_derivatives(self, X):
        return np.zeros_like(X), np.zeros(len(X))

    volume_derivatives = diag_derivatives


class RadialKernel(SmoothKernel):
    """Kernel of the distance, ``k(x, y) = f(sum_j (x_j - y_j)^2 / l_j^2)`` with ``f(0) = 1``."""

    far_value = 1.0

    def __init__(self, name, length_scale, center, backend=NUMPY):
        self.profile, self._derivatives = RADIAL[name]
        self.differentiable = self._derivatives is not None
        self.backend, self.length_scale = backend, length_scale
        # Distances come from inner products, which lose no digits when the data surround zero.
        self.center = center

    def squared_distances(self, X, Y):
        A, B = self._scaled(X), self._scaled(Y)
        q = self._pairs(A, -2.0 * B, *self._norms(A, B))
        if Y is X:
            self.backend.diagonal(q)[:] = 0.0
        return q

    def _scaled(self, X):
        return (X - self.center) / self.backend.array(self.length_scale, X)

    def _norms(self, A, B):
        xp = self.backend.xp
        return xp.sum(A * A, axis=1)[:, None], xp.sum(B * B, axis=1)[None, :]

    def _pairs(self, A, opposite, norms_A, norms_B):
        q = A @ opposite.T
        q += norms_A
        q += norms_B
        return self.backend.positive_part(q)

    def __call__(self, X, Y):
        if not self.backend.on_host:
            return self.profile(self.backend, self.squared_distances(X, Y))
        # Panels of rows stay in the cache through all steps of the formula.
        A, B = self._scaled(X), self._scaled(Y)
        norms_A, norms_B = self._norms(A, B)
        B *= -2.0
        K = np.empty((len(A), len(B)))
        for rows in gen_batches(len(A), PANEL):
            K[rows] = self.profile(NUMPY, self._pairs(A[rows], B, norms_A[rows], norms_B))
        if Y is X:
            np.fill_diagonal(K, 1.0)
        return K

    def diag(self, X):
        return self.backend.array(np.ones(X.shape[0]), X)

    def log_volume(self, X):
        """A constant; for the Laplacian kernel, whose volume element is infinite, zero."""
        constant = 0.0
        if self.differentiable:
            slope, _ = self._derivatives(np.zeros(1))
            scale = np.broadcast_to(self.length_scale, (X.shape[1],))
            constant = 0.5 * X.shape[1] * np.log(-2.0 * slope[0]) - np.log(scale).sum()
        return self.backend.array(np.full(X.shape[0], constant), X)

    own = property(lambda self: 2.0 / np.square(self.length_scale))  # of the squared distance
    other = property(lambda self: -self.own)

    def derivatives(self, X, Y):
        return self._derivatives(self.squared_distances(X, Y))


class DotKernel(SmoothKernel):
    """Polynomial kernel ``k(x, y) = (gamma <x, y> + coef0)^degree``; degree 1 is the linear one."""

    far_value, length_scale = None, None
    own, other = 0.0, 1.0

    def __init__(self, degree, gamma, coef0, backend=NUMPY):
        self.degree, self.gamma, self.coef0, self.backend = degree, gamma, coef0, backend

    def _derivatives(self, u):
        """The two derivatives of the kernel in the inner product u."""
        p, g, r = self.degree, self.gamma, self.gamma * u + self.coef0
        return p * g * r ** (p - 1), p * (p - 1) * g**2 * r ** (p - 2) if p > 1 else 0.0 * r

    def __call__(self, X, Y):
        return (self.gamma * (X @ Y.T) + self.coef0) ** self.degree

    def diag(self, X):
        return (self.gamma * self.backend.xp.sum(X * X, axis=1) + self.coef0) ** self.degree

    def log_volume(self, X):
        """``1/2 [d log(p gamma r^(p-1)) + log1p((p-1) gamma |x|^2 / r)]``, r = gamma |x|^2 + c."""
        xp, p, d = self.backend.xp, self.degree, X.shape[1]
        t = xp.sum(X * X, axis=1)
        if p == 1:
            return 0.0 * t + 0.5 * d * float(np.log(self.gamma))
        r, end = self.gamma * t + self.coef0, self.gamma * p * t + self.coef0
        constant = d * float(np.log(p * self.gamma))
        return 0.5 * (constant + (d * (p - 1) - 1) * xp.log(r) + xp.log(end))

    def derivatives(self, X, Y):
        return self._derivatives(X @ Y.T)

    def diag_derivatives(self, X):
        t = (X * X).sum(axis=1)
        return _of_squares(*self._derivatives(t), X, t)

    def volume_derivatives(self, X):
        p, g, c, d = self.degree, self.gamma, self.coef0, X.shape[1]
        if p == 1:
            return super().volume_derivatives(X)
        t = (X * X).sum(axis=1)
        power, inner, outer = d * (p - 1) - 1, g / (g * t + c), p * g / (p * g * t + c)
        first, second = power * inner + outer, power * inner**2 + outer**2
        return _of_squares(0.5 * first, -0.5 * second, X, t)


def _of_squares(first, second, X, t):
    """Gradient and Laplacian of a function of t = |x|^2 with these derivatives."""
    return 2.0 * first[:, None] * X, 2.0 * X.shape[1] * first + 4.0 * t * second


class AllSubsetsKernel:
    """Kernel of all products of distinct features, ``k(x, y) = prod_j (1 + x_j y_j)``."""

    far_value, length_scale = None, None
    differentiable = False

    def __init__(self, backend=NUMPY):
        self.backend = backend

    def __call__(self, X, Y):
        K = 1.0 + X[:, 0][:, None] * Y[:, 0][None, :]
        for j in range(1, X.shape[1]):
            K *= 1.0 + X[:, j][:, None] * Y[:, j][None, :]
        return K

    def diag(self, X):
        return self.backend.xp.prod(1.0 + X * X, axis=1)

    def log_volume(self, X):
        """``1/2 [(d - 2) log prod_j (1 + x_j^2) + log(1 + |x|^2)]``."""
        xp = self.backend.xp
        squares = X * X
        log_product = xp.sum(xp.log1p(squares), axis=1)
        return 0.5 * ((X.shape[1] - 2) * log_product + xp.log1p(xp.sum(squares, axis=1)))


class OpaqueKernel:
    """A kernel of which only values are known, without them that of a matrix of the user."""

    far_value, length_scale = np.nan, None
    differentiable = False
    has_constant_volume = True

    def log_volume(self, X):
        """Zero where the volume is constant, else a request for a decision."""
        if not self.has_constant_volume:
            raise ValueError(
                "jacobian='auto' has no volume element for this kernel: pass jacobian=False to "
                "score without one, or a function X -> 1/2 log det G of shape (n_samples,)"
            )
        return np.zeros(len(X))


class ScikitKernel(OpaqueKernel):
    def __init__(self, kernel):
        self.kernel = clone(kernel)
        self.has_constant_volume = kernel.is_stationary() or isinstance(kernel, DotProduct)

    def __call__(self, X, Y):
        return np.array(self.kernel(X, None if Y is X else Y), dtype=np.float64)

    def diag(self, X):
        return np.asarray(self.kernel.diag(X), dtype=np.float64)


class FunctionKernel(OpaqueKernel):
    """A user's k(X, Y) with the shape of its result checked; k(x, x) from small diagonal blocks."""

    has_constant_volume = False

    def __init__(self, function):
        self.function = function

    def __call__(self, X, Y):
        K = self.function(X, Y)
        return np.array(check.shaped(K, "what kernel returns", len(X), len(Y)))

    def diag(self, X):
        blocks = (X[rows] for rows in gen_batches(len(X), 32))
        return np.concatenate([np.diag(self(block, block)) for block in blocks])


class PolynomialKernel(Parameterized):
    """The kernel ``(gamma <x, y> + coef0)^degree`` of a density, with its parameters.

    Parameters
    ----------
    degree : int, default=3
        Degree, at least 1.
    gamma : float or None, default=None
        Factor; None is 1 / n_features.
    coef0 : float, default=1.0
        Constant, not negative.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw import KernelStudentTDensity
    >>> from sklearn_fw.density import PolynomialKernel
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> density = KernelStudentTDensity(PolynomialKernel(2)).fit(X)
    >>> density.get_params()["kernel__degree"]
    2
    """

    degree: check.at_least(1) = 3
    _: KW_ONLY
    gamma: check.optional(check.strength) = None
    coef0: check.moderate = 1.0


def needs_numpy(estimator):
    """Whether the parameters require NumPy arrays."""
    kernel = estimator.kernel
    named = isinstance(kernel, PolynomialKernel | str) and kernel != "precomputed"
    return not named or estimator.max_rank is not None or estimator.normalize is not False


def resolve_kernel(estimator, X, backend):
    kernel = estimator.kernel
    if not backend.on_host and needs_numpy(estimator):
        raise ValueError(
            "arrays of other libraries need a named kernel, max_rank=None and normalize=False: "
            "change these, or switch array_api_dispatch off and convert X"
        )
    if check.is_named(kernel, *RADIAL):
        rows = backend.to_host(X)
        scale = _resolve_length_scale(estimator.length_scale, rows)
        return RadialKernel(kernel, scale, backend.array(rows.mean(axis=0), X), backend)
    if check.is_named(kernel, "linear"):
        return DotKernel(1, 1.0, 0.0, backend)
    if isinstance(kernel, PolynomialKernel) or check.is_named(kernel, "polynomial"):
        settings = PolynomialKernel() if isinstance(kernel, str) else kernel
        check_parameters(settings)
        gamma = 1.0 / X.shape[1] if settings.gamma is None else float(settings.gamma)
        return DotKernel(int(settings.degree), gamma, float(settings.coef0), backend)
    if check.is_named(kernel, "all_subsets"):
        return AllSubsetsKernel(backend)
    if check.is_named(kernel, "precomputed"):
        return OpaqueKernel()
    if isinstance(kernel, Kernel):
        return ScikitKernel(kernel)
    if callable(kernel):
        return FunctionKernel(kernel)
    names = (*RADIAL, "linear", "polynomial", "all_subsets", "precomputed")
    other = "a function k(X, Y) or a kernel of sklearn.gaussian_process"
    return check.choice(kernel, "kernel", names, other)  # raises: names are served above


def _resolve_length_scale(value, X):
    if isinstance(value, str):
        check.choice(value, "length_scale", ("auto", "median"), "a number or an array")
        return choose_length_scale(X) if value == "auto" else median_distance(X)
    scale = check.array(value, "length_scale")
    if scale.ndim:
        check.shaped(scale, "length_scale", X.shape[1])
    for entry in scale.ravel().tolist():
        check.strength(entry, "length_scale")
    return float(scale) if scale.ndim == 0 else scale


MULTIPLE = 3.5  # length scale over bandwidth, by mean and worst regret over nineteen novelty sets
NEIGHBOR = 0.5  # least length scale over the median distance to the nearest neighbor
# Largest distance to the nearest neighbor, in length scales, of 95 % of the rows. Beyond 5 a
# neighbor changes no digit of a score; on nineteen novelty sets it is at most 3.2.
REACH, REACHED = 4.0, 0.95
OCTAVES = (-6, 1)  # range of the bandwidth around the median distance
GAIN = 1.0  # nats per row that units of single features must win beyond one for each unit
MAX_ROWS = 500
MIN_ROWS = 10  # with fewer rows nothing can be compared, and the median is taken


def spread(n, limit):
    """At most `limit` of n positions, at even distances."""
    return np.linspace(0, n - 1, min(n, limit)).round().astype(int)


def distinct_rows(X, limit):
    """At most `limit` distinct rows in an order that depends on their values alone."""
    rows = np.unique(X, axis=0)
    return rows[spread(len(rows), limit)]


def median_distance(X):
    rows = distinct_rows(X, 1000)
    return float(np.median(pdist(rows))) if len(rows) > 1 else 1.0


def choose_length_scale(X):
    """3.5 times the bandwidth of a Gaussian kernel density estimate that leaves rows out best.

    Scores of an unnormalized density cannot be compared between length scales, but the normalized
    estimate of Gaussians around the other rows can. Where measuring every feature in a unit of its
    own gains much likelihood, the result is an array, else a number. With many independent
    features, or small clusters far apart, the bandwidth falls far below most distances: the least
    length scale is half the median distance to the nearest neighbor and a quarter of that which
    95 % of the rows do not exceed. Distinct rows enter once, whatever their order or weight.
    """
    unit = likely_unit(X)
    rows = distinct_rows(X, MAX_ROWS)
    if len(rows) < MIN_ROWS:
        return median_distance(X)
    return max(MULTIPLE * likely_bandwidth(rows / unit)[0], _least(rows / unit)) * unit


def _least(rows):
    distances = squareform(pdist(rows))
    np.fill_diagonal(distances, np.inf)
    nearest = distances.min(axis=1)
    return float(max(NEIGHBOR * np.median(nearest), np.quantile(nearest, REACHED) / REACH))


def likely_unit(X):
    """1, or the units of the features where these gain a nat of likelihood for every row.

    Fitting d units to noise gains up to about d nats in all; these do not count.
    """
    rows = distinct_rows(X, MAX_ROWS)
    units = feature_units(np.unique(X, axis=0))
    if len(rows) < MIN_ROWS or np.ptp(units) <= 1e-9 * units.max():
        return 1.0
    varying = np.ptp(rows, axis=0) > 0
    rows, volume = rows[:, varying], np.log(units[varying]).sum()
    common = likely_bandwidth(rows)[1]
    single = likely_bandwidth(rows / units[varying])[1] - volume
    return units if single > common + GAIN + rows.shape[1] / len(rows) else 1.0


def feature_units(rows):
    """Root mean square distance from the median, of the rows that are not at the median.

    The standard deviation would blow up the few entries of a pixel that is mostly empty.
    """
    squares = (rows - np.median(rows, axis=0)) ** 2
    away = np.maximum((squares > 0).sum(axis=0), 1)
    units = np.sqrt(squares.sum(axis=0) / away)
    return np.where(units > 0, units, 1.0)


def likely_bandwidth(rows):
    """Return (bandwidth, mean log density) of the best leave-one-out likelihood.

    The density at a row is the mean of Gaussians around the others. The bandwidth is found to a
    quarter of an octave, between 1/64 and 2 times the median distance.
    """
    squares = pdist(rows, "sqeuclidean")
    median = float(np.sqrt(np.median(squares)))
    squares = squareform(squares)
    np.fill_diagonal(squares, np.inf)
    n, d = rows.shape

    @functools.cache
    def likelihood(octave):
        width = median * 2.0**octave
        logs = logsumexp(squares / (-2.0 * width**2), axis=1)
        return logs.mean() - np.log(n - 1.0) - d * np.log(width * np.sqrt(2.0 * np.pi))

    best = max(np.arange(OCTAVES[0], OCTAVES[1] + 1.0), key=likelihood)
    for step in (0.5, 0.25):
        best = max((best, best - step, best + step), key=likelihood)
    best = float(np.clip(best, *OCTAVES))
    return median * 2.0**best, likelihood(best)
