"""Expectation propagation over intervals: sites, marginals, log Z and gradients.

All are computed for the bounded variables z, N(h, G) with lower < z < upper, in coordinates of
which the origin is the point of the box nearest to h: so tails keep their digits.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dlauum, dpotrf, dtrtri
from scipy.sparse.csgraph import connected_components

from .._kernels import lazy

kernels = lazy("moments.gaussian")

MEMORY = 5  # points that the extrapolation knows
NEAR = 0.3  # standard deviations of change, from which on sweeps are extrapolated
WORSE = 3.0  # times the best change so far, from which on the memory is dropped
LEFT = 1.0 + 1e-6  # of a variance, at most; more is left where the factorization broke down
SLIGHT = 1e-6  # precision of a site in that of its prior, below which differences lose digits


def interval_masses(lower, upper, mean, var):
    """Log mass, mean and variance of intervals of normal variables."""
    arrays = np.broadcast_arrays(lower, upper, mean, var)
    out = np.empty((arrays[0].size, 3))
    kernels.all_interval_moments(
        *(np.ascontiguousarray(a, dtype=float).ravel() for a in arrays), out
    )
    return (out[:, i].reshape(arrays[0].shape) for i in range(3))


class Marginals:
    """N(h, G) times sites exp(nu z - tau z^2 / 2), by the inverse of L, L L' = I + T^1/2 G T^1/2.

    The last axis of h, tau and nu has the variables. ``left``, 1 - tau var, is the diagonal of the
    inverse of L L': it keeps its digits where sites are far more precise than the prior.
    """

    def __init__(self, G, h, tau, nu):
        self.root = np.sqrt(tau)
        inner = G * self.root[..., :, None]
        inner *= self.root[..., None, :]
        inner[..., *np.diag_indices(len(G))] += 1.0
        if tau.ndim == 1:
            factor, _ = dpotrf(inner.T, lower=1, overwrite_a=1, clean=1)
            self.inverse, _ = dtrtri(factor, lower=1, overwrite_c=1)
        else:
            self.inverse = np.linalg.inv(np.linalg.cholesky(inner))
        self.left = np.einsum("...ij,...ij->...i", self.inverse.mT, self.inverse.mT)
        with np.errstate(divide="ignore", invalid="ignore"):  # where rounding left no inverse
            logs = np.log(np.diagonal(self.inverse, axis1=-2, axis2=-1))
        self.half_log_det = -logs.sum(axis=-1)
        self.weights = self._weights(G, h, tau, nu)  # nu - tau mean
        precise = tau * np.diag(G) > 1.0
        by_site = (nu - self.weights) / np.where(precise, tau, 1.0)
        self.mean = np.where(precise, by_site, h + self.weights @ G)
        self.var = self._variances(G, tau)

    def _weights(self, G, h, tau, nu):
        """w with (I + T G) w = nu - T h, without differences of what precise sites make large."""
        slight = tau * np.diag(G) < SLIGHT
        light = np.where(slight, nu, 0.0)
        h = h + light @ G if np.any(slight) else h
        ends = np.where(slight, 0.0, nu / np.where(slight, 1.0, self.root)) - self.root * h
        return light + self.root * (self.inverse.mT @ (self.inverse @ ends[..., None]))[..., 0]

    def _variances(self, G, tau):
        slight = tau * np.diag(G) < SLIGHT
        var = np.where(slight, np.diag(G), (1.0 - self.left) / np.where(slight, 1.0, tau))
        some = slight.reshape(-1, len(G)).any(axis=0)
        lost = np.sum((self.inverse @ (self.root[..., None] * G[:, some])) ** 2, axis=-2)
        var[..., some] -= np.where(slight[..., some], lost, 0.0)
        return np.maximum(var, 1e-300)

    def precision(self):
        """B with covariance G - G B G."""
        half, _ = dlauum(np.asfortranarray(self.inverse), lower=1)
        half = np.tril(half)
        full = half + half.T
        full[np.diag_indices_from(full)] *= 0.5
        full *= self.root[:, None]
        full *= self.root
        return full

    def cavities(self, fraction):
        """Means about ``mean`` and variances without a share of each site."""
        left = self.left if np.all(fraction == 1.0) else 1.0 - (1.0 - self.left) / fraction
        left = np.where(left > 1e-300, left, 1e-300)
        return -self.var * self.weights / fraction / left, self.var / left


def parallel_sites(G, h, lower, upper, fraction, tol, max_iter, first=None):
    """Fixed point of the sites, all updated from the same marginals: (tau, nu, sweeps, change).

    A sweep is one factorization and the inverse of a triangle, 2/3 n^3 operations. The last points
    are extrapolated (D. Anderson, Journal of the ACM 12, 1965). None without convergence.
    """
    tau, nu = (np.zeros(len(h)), np.zeros(len(h))) if first is None else first
    points, moves, best = [], [], np.inf
    for n_iter in range(1, max_iter + 1):
        now = Marginals(G, h, tau, nu)
        shift, wide = now.cavities(fraction)
        masses, mean, var = interval_masses(lower, upper, now.mean + shift, wide)
        if not (np.all(var > 0.0) and np.all(np.isfinite(masses))):
            return None
        d_tau = np.maximum(fraction * (1.0 / var - 1.0 / wide), 0.0) - tau
        d_nu = fraction * (mean / var - (now.mean + shift) / wide) - nu
        change = np.abs(d_tau) * now.var, np.abs(d_nu - d_tau * now.mean) * np.sqrt(now.var)
        change = float(np.max(change))
        if not np.isfinite(change):
            return None
        if change > min(WORSE * best, NEAR):
            points, moves = [], []
        best = min(best, change)
        points = [*points, np.r_[tau, nu]][-MEMORY:]
        moves = [*moves, np.r_[d_tau, d_nu]][-MEMORY:]
        tau, nu = tau + d_tau, nu + d_nu
        if len(points) > 1:
            tau, nu = _extrapolated(points, moves, np.r_[now.var, np.sqrt(now.var)], tau, nu)
        if change <= tol:
            return tau, nu, n_iter, change
    return None


def _extrapolated(points, moves, metric, tau, nu):
    """The point at which a linear map through the last points would rest; tau stays positive."""
    by_points, by_moves = np.diff(points, axis=0), np.diff(moves, axis=0)
    shares = np.linalg.lstsq((by_moves * metric).T, moves[-1] * metric, rcond=1e-10)[0]
    better = points[-1] + moves[-1] - (by_points + by_moves).T @ shares
    new_tau, new_nu = np.split(better, 2)
    valid = new_tau >= 0.0
    return np.where(valid, new_tau, tau), np.where(valid, new_nu, nu)


WHOLE = 128  # sites from which on all are updated together, as long as that comes to rest
RESTARTS = 20
TOGETHER = 60  # sweeps of all sites at once, before one site after another
DRAWN = ("weights", "mean", "tau", "log_masses")


@dataclass
class Propagation:
    """Fixed point of the sites of one box; arrays in coordinates z."""

    log_z: float
    weights: np.ndarray  # w, G w = mean - h
    precision: np.ndarray  # B, covariance G - G B G
    mean: np.ndarray
    tau: np.ndarray
    nu: np.ndarray
    cavity_mean: np.ndarray
    cavity_var: np.ndarray
    log_masses: np.ndarray
    n_iter: int
    converged: bool
    open_part: tuple | None = None  # the problem that narrow intervals leave, where there are such

    def bound_gradients(self, lower, upper):
        bounds = np.stack([lower, upper])
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            square = (bounds - self.cavity_mean) ** 2 / self.cavity_var
            logs = -0.5 * (square + np.log(2.0 * np.pi * self.cavity_var)) - self.log_masses
            values = np.array([[-1.0], [1.0]]) * np.exp(logs)
        return np.where(np.isfinite(bounds), values, 0.0)

    @property
    def inner(self):
        """Gradient of log Z in G."""
        return 0.5 * (np.outer(self.weights, self.weights) - self.precision)

    def predict(self, covariances, variances):
        """Mean and variance of further variables, by their covariances with these."""
        var = variances - np.einsum("ij,ij->i", covariances @ self.precision, covariances)
        return covariances @ self.weights, np.maximum(var, 0.0)


def gaussian_masses(mean, var, tau, nu):
    """Log of the mean of exp(nu x - tau x^2 / 2) under N(mean, var)."""
    wide = 1.0 + tau * var
    return (nu * (mean + 0.5 * nu * var) - 0.5 * tau * mean**2) / wide - 0.5 * np.log(wide)


def log_factors(G, weights, half_log_det):
    """log of the integral of the prior times the Gaussian sites, in coordinates about its mean."""
    return -half_log_det - 0.5 * np.sum(weights * (weights @ G), axis=-1)


def log_evidence(G, weights, half_log_det, low, high, shift, var, tau, fraction=1.0):
    """Log Z and log masses of intervals, which are about the mean of all as their cavities are.

    In these coordinates log Z is a sum without large terms that cancel.
    """
    masses, _, _ = interval_masses(low, high, shift, var)
    bounded = np.isfinite(low) | np.isfinite(high)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # without a fixed point
        gaps = fraction * (masses - gaussian_masses(shift, var, tau / fraction, weights / fraction))
        log_z = log_factors(G, weights, half_log_det)
        return log_z + np.sum(np.where(bounded, gaps, 0.0), axis=-1), masses


def _fixed_point(G, h, lower, upper, fraction, start, *, damping=1.0, tol=1e-5, max_iter=500):
    """(origin, tau, nu about it, sweeps, whether they settled), and the `Propagation` of these.

    Both are None where the box has no mass.

    The origin is the point of the box that is nearest to h: so tails keep their digits.
    """
    origin = np.clip(h, lower, upper)
    box = np.ascontiguousarray(G), h - origin, lower - origin, upper - origin, fraction
    first = None if start is None else (start[0], start[1] - start[0] * origin)
    for _ in range(RESTARTS + 1):
        found = None
        if len(h) > WHOLE and damping == 1.0:
            found = parallel_sites(*box, tol, min(max_iter, TOGETHER), first)
        if found is None:  # one site after another
            tau, nu, change = np.zeros((1, len(h))), np.zeros((1, len(h))), np.zeros(1)
            rows = (a[None] for a in box[1:4])
            n_iter = kernels.propagate_boxes(
                box[0], *rows, fraction, tau, nu, damping, tol, max_iter, change
            )
            found = tau[0], nu[0], int(n_iter[0]), float(change[0])
        tau, nu, n_iter, change = found
        if np.isnan(change):
            return None, None
        if change >= 0.0:
            break
        damping *= 0.8
    found = origin, tau, nu, n_iter, bool(0.0 <= change <= tol)
    return found, _propagation(G, h, *box[2:4], fraction, found)


def _propagation(G, h, low, high, fraction, found):
    """Log Z, moments and cavities of what `_fixed_point` found; the box is about its origin.

    None where sites diverge along dependent variables until the prior is lost in rounding.
    """
    origin, tau, nu, n_iter, converged = found
    now = Marginals(G, h - origin, tau, nu)
    if not (np.isfinite(now.half_log_det) and np.all(now.left < LEFT)):
        return None
    mean = now.mean + origin
    shift, cavity_var = now.cavities(fraction)
    log_z, masses = log_evidence(
        G, now.weights, now.half_log_det, low - now.mean, high - now.mean, shift, cavity_var, tau,
        fraction,
    )  # fmt: skip
    return Propagation(
        float(log_z), now.weights, now.precision(), mean, tau, nu + tau * origin, shift + mean,
        cavity_var, masses, n_iter, converged,
    )  # fmt: skip


NARROW = 1e-3  # standard deviations of the prior
POINT = 1e-12  # width, in the same units, of the interval that stands for a known value
STRAIN = 0.01  # width over the length on which a density changes: the parabola is right to 1e-8
EQUAL = 1e-14  # of correlations
DEPENDENT = 1e-10  # share of a variance below which a variable is a combination of others


class OpenPart(NamedTuple):
    """The problem of the intervals that are not narrow, given those that are."""

    G: np.ndarray
    h: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    sites: Propagation | None = None  # None where all are narrow
    constant: float = 0.0  # what the others add to the log probability
    error: float = 0.0  # of that

    def blocks(self):
        if self.sites is None:
            return []
        sd = np.sqrt(np.diag(self.G))
        linked = np.abs(self.G) > EQUAL * sd * sd[:, None]
        _, labels = connected_components(linked, directed=False)
        labels[np.bincount(labels)[labels] == 1] = -1
        found = []
        for label in np.unique(labels):
            r = np.flatnonzero(labels == label)
            sites = replace(self.sites, **{name: getattr(self.sites, name)[r] for name in DRAWN})
            found.append(OpenPart(self.G[np.ix_(r, r)], *(a[r] for a in self[1:4]), sites))
        return found


def independent_root(cov):
    """Cholesky root; None where a variable is a combination of others."""
    root, failed = dpotrf(cov, lower=1)
    independent = not failed and np.all(np.diag(root) ** 2 > DEPENDENT * np.diag(cov))
    return root if independent else None


def is_narrow(G, lower, upper):
    return upper - lower < NARROW * np.sqrt(np.diag(G))


def propagate(G, h, lower, upper, *, fraction=None, start=None, **options):
    """Sites of the box lower < z < upper under N(h, G); None where the box has no mass.

    Equal ends are a known value, of which log Z counts the density; None too where known values
    depend on each other. Rows without variance must be gone. The stopping rule is on all marginals.
    ``start`` has tau and nu of a problem nearby; it helps large problems only.
    """
    fraction = np.ones(len(h)) if fraction is None else fraction
    box = G, h, lower, upper
    narrow = is_narrow(G, lower, upper) & (fraction == 1.0)
    while np.any(narrow):
        part = _given_middles(*box, narrow)
        if part is None and np.any(lower == upper):
            return None
        if part is None:
            break
        sites, strain = _with_narrow(*box, fraction, narrow, part, start, options)
        if sites is None or np.all(strain <= STRAIN):
            return sites
        narrow[narrow] = strain <= STRAIN
    return _fixed_point(*box, fraction, start, **options)[1]


def _given_middles(G, h, lower, upper, narrow):
    """The others given narrow variables in the middles of their intervals; None if dependent."""
    rest = ~narrow
    inner, outer = G[np.ix_(narrow, narrow)], G[np.ix_(rest, rest)]
    factor = independent_root(inner)
    if factor is None:
        return None
    middle = lower[narrow] + 0.5 * (upper - lower)[narrow]
    ends = solve_triangular(factor, middle - h[narrow], lower=True)
    cross = solve_triangular(factor, G[np.ix_(narrow, rest)], lower=True)
    left = outer - cross.T @ cross
    if np.any(np.diag(left) <= DEPENDENT * np.diag(outer)):
        return None
    return OpenPart(left, h[rest] + cross.T @ ends, lower[rest], upper[rest])


def _with_narrow(G, h, lower, upper, fraction, narrow, part, start, options):
    """Fixed point of all rows, and widths in units of what each density changes on.

    Sites of narrow intervals are those of a uniform distribution; the others are swept given these.
    """
    rest, width = ~narrow, (upper - lower)[narrow]
    n_iter, converged, log_z = 1, True, 0.0
    origin, tau, nu = np.zeros((3, len(h)))
    if np.any(rest):
        first = None if start is None else (start[0][rest], start[1][rest])
        found, inner = _fixed_point(*part[:4], fraction[rest], first, **options)
        if inner is None:
            return None, None
        origin[rest], tau[rest], nu[rest], n_iter, converged = found
        part, log_z = part._replace(sites=inner), inner.log_z
    used = np.maximum(width, POINT * np.sqrt(np.diag(G)[narrow]))
    origin[narrow], tau[narrow] = lower[narrow] + 0.5 * width, 12.0 / used**2
    low, high = lower - origin, upper - origin
    low[narrow], high[narrow] = -0.5 * used, 0.5 * used
    sites = _propagation(G, h, low, high, fraction, (origin, tau, nu, n_iter, converged))
    if sites is None:
        return None, None
    masses = np.log(np.where(width > 0.0, width, 1.0) / used)  # of known values the density counts
    sites.log_masses[narrow] += masses
    sites.log_z += float(np.sum(masses))
    strain = width * np.sqrt(sites.weights**2 + np.diag(sites.precision))[narrow]
    constant = sites.log_z - log_z
    error = np.sum(strain**2) ** 2 / 200.0 + 1e-14 * abs(constant)
    sites.open_part = part._replace(constant=constant, error=float(error))
    return sites, strain
