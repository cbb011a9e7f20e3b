"""Random Gaussian probabilities of many kinds, as (kind, lower, upper, covariance of A x)."""

import numpy as np

from sklearn_fw.gaussian_probability import truncated_normal_moments

PUBLISHED_SPREAD = 10.0  # mean of the eigenvalues: Cunningham, Hennig, Lacoste-Julien, section 5


def equal(n, rho):
    """Covariance of equal correlations."""
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
LEAST = -690.0  # of the logarithm of the smallest margin: referees work with numbers


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
