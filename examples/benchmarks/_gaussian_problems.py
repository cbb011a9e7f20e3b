"""Random Gaussian probabilities of many kinds, and independent reference implementations."""

import resource
import time
from concurrent.futures.process import BrokenProcessPool

import numpy as np
from _clocks import in_child, timed
from scipy.special import log_ndtr, logsumexp, ndtri_exp
from scipy.stats import multivariate_normal, qmc, t

from sklearn_fw.gaussian_probability import truncated_normal_moments

PUBLISHED_SPREAD = 10.0  # mean of the eigenvalues: Cunningham, Hennig, Lacoste-Julien, section 5


def equal(n, rho):
    return (1.0 - rho) * np.eye(n) + rho


def _spectral(rng, n):
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    cov = (basis * rng.exponential(PUBLISHED_SPREAD, size=n)) @ basis.T
    return 0.5 * (cov + cov.T)


def _around(rng, inside):
    n = len(inside)
    return inside - rng.uniform(0.01, n, n), inside + rng.uniform(0.01, n, n)


def random_box(rng, n):
    """A box of the published experiment, about a draw."""
    cov = _spectral(rng, n)
    return *_around(rng, np.linalg.cholesky(cov) @ rng.normal(size=n)), cov


def random_polyhedron(rng, n, p):
    """p slabs of the published experiment in n dimensions: bounds and the covariance of A x."""
    cov = _spectral(rng, n)
    A = rng.normal(size=(p, n))
    A /= np.linalg.norm(A, axis=1)[:, None]
    inside = A @ np.linalg.cholesky(cov) @ rng.normal(size=n)
    width = rng.uniform(0.01, n, (2, p))
    return inside - width[0], inside + width[1], A @ cov @ A.T


def _toeplitz(rng, n):
    rho = rng.uniform(-0.95, 0.95)
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    ends = np.sort(rng.normal(0.0, 1.5, (2, n)), axis=0)
    return ends[0], ends[1], rho**distance


def _factors(rng, n):
    loadings = rng.normal(size=(n, max(n // 3, 1)))
    cov = loadings @ loadings.T + np.diag(rng.uniform(0.05, 1.0, n))
    return np.full(n, -np.inf), rng.normal(0.5, 1.0, n) * np.sqrt(np.diag(cov)), cov


def _orthants(rng, n):
    A = rng.normal(size=(n, n + 1))
    return np.zeros(n), np.full(n, np.inf), A @ A.T


def _thin(rng, n):
    low, high, cov = random_box(rng, n)
    thin = rng.random(n) < 0.5
    return low, np.where(thin, low + 1e-3 * (high - low), high), cov


def _mixed_tails(rng, n):
    A = rng.normal(size=(n, n + 2))
    cov = A @ A.T / n
    low = rng.uniform(-1.0, 4.0, n) * np.sqrt(np.diag(cov))
    high = np.where(rng.random(n) < 0.5, np.inf, low + rng.exponential(2.0, n))
    turned = rng.random(n) < 0.5
    return np.where(turned, -high, low), np.where(turned, -low, high), cov


def _near_singular(rng, n):
    A = rng.normal(size=(n, max(n - 1, 1)))
    cov = A @ A.T + 1e-3 * np.eye(n)
    return *_around(rng, A @ rng.normal(size=A.shape[1])), cov


def _slabs(rng, n):
    return random_polyhedron(rng, n, n)


def _half_spaces(rng, n):
    d = max(n // 2, 1)
    A = rng.normal(size=(n, d))
    return np.full(n, -np.inf), np.abs(rng.normal(0.5, 1.0, n)) + 0.05, A @ A.T


def _high_correlation(rng, n):
    rho = 1.0 - 10.0 ** rng.uniform(-3.0, -0.5)
    sd = rng.uniform(0.5, 2.0, n)
    low = rng.normal(0.0, 1.0, n)
    high = np.where(rng.random(n) < 0.5, np.inf, low + rng.exponential(1.0, n))
    return low, high, equal(n, rho) * sd * sd[:, None]


KINDS = {
    "boxes as published": random_box, "slabs as published": _slabs, "Toeplitz": _toeplitz,
    "factor models": _factors, "orthants": _orthants, "thin boxes": _thin,
    "mixed tails": _mixed_tails, "near singular": _near_singular,
    "more half-spaces than dimensions": _half_spaces, "high correlation": _high_correlation,
}  # fmt: skip
LEAST = -690.0  # of the logarithm of the smallest margin: references do not use logarithms


def many_kinds(n_problems, largest, seed=0):
    """Problems of all kinds in turn, in 2 to ``largest`` dimensions."""
    rng = np.random.default_rng(seed)
    names = list(KINDS)
    for i in range(n_problems):
        kind = names[i % len(names)]
        while True:
            low, high, cov = KINDS[kind](rng, int(rng.integers(2, largest + 1)))
            masses, _, _ = truncated_normal_moments(low, high, 0.0, np.diag(cov))
            if masses.min() > LEAST:
                break
        yield kind, low, high, cov


COPIES = 8


def by_lattice(lower, upper, cov, **options):
    """Log probability by the rule of Genz in scipy."""
    prob = multivariate_normal.cdf(
        upper, np.zeros(len(cov)), cov, lower_limit=lower, allow_singular=True, **options
    )
    return float(np.log(prob)) if prob > 0.0 else -np.inf


def _timed_lattice(lower, upper, cov, cap):
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + cap) + 1,) * 2)
    value, seconds = timed(lambda: by_lattice(lower, upper, cov))
    return value, float(seconds)


def lattice_in_time(lower, upper, cov, cap):
    """Value and seconds with the defaults of scipy; None for both where ``cap`` did not suffice."""
    try:
        return in_child(_timed_lattice, lower, upper, cov, cap)
    except BrokenProcessPool:  # the system ends what takes longer
        return None, None


def _log_difference(a, b):
    return a + np.log1p(-np.exp(np.minimum(b - a, -1e-300)))


def _quantiles(low, high, u):
    """Log mass of standard normals on [low, high] and the quantiles u, from the nearer tail."""
    turned = low + high > 0.0
    a, b = np.where(turned, -high, low), np.where(turned, -low, high)
    top, bottom = log_ndtr(b), log_ndtr(a)
    with np.errstate(divide="ignore", invalid="ignore"):
        mass = np.where(bottom == -np.inf, top, _log_difference(top, bottom))
        place = np.logaddexp(bottom, np.log(u) + mass)
    x = np.clip(ndtri_exp(np.minimum(place, 0.0)), a, b)
    return mass, np.where(turned, -x, x)


def _ordered(lower, upper, cov):
    """Cholesky root and bounds with the least probable coordinate next, by Gibson et al. (1994)."""
    n, order, root = len(cov), np.arange(len(cov)), np.zeros_like(cov)
    x = np.zeros(n)
    for k in range(n):
        rest = order[k:]
        var = np.diag(cov)[rest] - np.sum(root[k:, :k] ** 2, axis=1)
        sd = np.sqrt(np.maximum(var, 1e-14 * np.diag(cov)[rest]))
        shift = root[k:, :k] @ x[:k]
        masses, means = _quantiles(
            (lower[rest] - shift) / sd, (upper[rest] - shift) / sd, np.full(len(rest), 0.5)
        )
        j = k + int(np.argmin(masses))
        order[[k, j]] = order[[j, k]]
        root[[k, j]] = root[[j, k]]
        x[k] = means[j - k]
        if var[j - k] > 1e-12 * cov[order[k], order[k]]:  # else a combination of those before
            root[k, k] = sd[j - k]
            below = cov[order[k + 1 :], order[k]] - root[k + 1 :, :k] @ root[k, :k]
            root[k + 1 :, k] = below / root[k, k]
    return root, lower[order], upper[order]


def _pivots(root):
    """The coordinate at which bounds of each one bind: its own, or the last of a combination."""
    large = np.abs(root) > 1e-6 * np.linalg.norm(root, axis=1)[:, None]
    return len(root) - 1 - np.argmax(large[:, ::-1], axis=1)


def by_separation(lower, upper, cov, *, points=2**16, seed=0):
    """Log probability and half a 99 % interval: separated variables of Genz (1992), in logarithms.

    It draws from the conditional distributions of the untilted normal and does not use expectation
    propagation. Bounds on combinations of coordinates cut the interval of the last.
    """
    root, low, high = _ordered(lower, upper, cov)
    pivots = _pivots(root)
    logs = [_separated(root, pivots, low, high, points, [seed, copy]) for copy in range(COPIES)]
    value = float(logsumexp(logs) - np.log(COPIES))
    spread = float(np.std(np.exp(np.array(logs) - value), ddof=1) / np.sqrt(COPIES))
    return value, float(t.ppf(0.995, COPIES - 1)) * spread


def _separated(root, pivots, low, high, points, seed):
    n = len(root)
    uniforms = qmc.Sobol(n, seed=np.random.default_rng(seed)).random(points)
    uniforms = np.clip(uniforms, 1e-15, 1.0 - 1e-15)
    eps, total = np.zeros((points, n)), np.zeros(points)
    for k in np.flatnonzero(np.diag(root) > 0.0):
        a, b = np.full(points, -np.inf), np.full(points, np.inf)
        for i in np.flatnonzero(pivots == k):
            shift, slope = eps[:, :k] @ root[i, :k], root[i, k]
            ends = (low[i] - shift) / slope, (high[i] - shift) / slope
            a, b = np.maximum(a, np.minimum(*ends)), np.minimum(b, np.maximum(*ends))
        empty = ~(a < b)
        a[empty], b[empty] = -1.0, 1.0
        mass, eps[:, k] = _quantiles(a, b, uniforms[:, k])
        total += np.where(empty, -np.inf, mass)
    return float(logsumexp(total) - np.log(points))
