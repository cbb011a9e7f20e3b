"""The marginals that Gaussian sites give, and sites that are all updated at once."""

import numpy as np
from scipy.linalg.lapack import dlauum, dpotrf, dtrtri

from .._kernels.moments.gaussian import all_interval_moments

MEMORY = 5  # points that the extrapolation knows
NEAR = 0.3  # standard deviations of change, from which on sweeps are extrapolated
WORSE = 3.0  # times the best change so far, from which on the memory is dropped
SLIGHT = 1e-6  # precision of a site in that of its prior, below which differences lose digits


def interval_masses(lower, upper, mean, var):
    """Log mass, mean and variance of intervals of normal variables, arrays of one shape."""
    shape = np.shape(mean)
    out = np.empty((int(np.prod(shape)), 3))
    arrays = [
        np.ascontiguousarray(np.broadcast_to(a, shape), dtype=float).ravel()
        for a in (lower, upper, mean, var)
    ]
    all_interval_moments(*arrays, out)
    return (out[:, i].reshape(shape) for i in range(3))


class Marginals:
    """N(h, G) times sites exp(nu z - tau z^2 / 2), by the inverse of L, L L' = I + T^1/2 G T^1/2.

    ``left`` is 1 - tau var: as the diagonal of the inverse of L L' it keeps its digits where sites
    are far more precise than the prior.
    """

    def __init__(self, G, h, tau, nu):
        self.root = np.sqrt(tau)
        inner = G * self.root[:, None]
        inner *= self.root
        inner[np.diag_indices_from(inner)] += 1.0
        factor, _ = dpotrf(inner.T, lower=1, overwrite_a=1, clean=1)
        self.inverse, _ = dtrtri(factor, lower=1, overwrite_c=1)
        self.left = np.einsum("ij,ij->i", self.inverse.T, self.inverse.T)
        self.half_log_det = -float(np.sum(np.log(np.diag(self.inverse))))
        slight = tau * np.diag(G) < SLIGHT
        self.weights = self._weights(G, h, nu, slight)
        self.mean = h + G @ self.weights
        self.var = self._variances(G, tau, slight)

    def _weights(self, G, h, nu, slight):
        """w with (I + T G) w = nu - T h, without differences of what precise sites make large."""
        light = np.where(slight, nu, 0.0)
        h = h + G @ light if np.any(slight) else h
        ends = np.where(slight, 0.0, nu / np.where(slight, 1.0, self.root)) - self.root * h
        return light + self.root * (self.inverse.T @ (self.inverse @ ends))

    def _variances(self, G, tau, slight):
        prior = np.diag(G)
        var = np.where(slight, prior, (1.0 - self.left) / np.where(slight, 1.0, tau))
        if np.any(slight):
            columns = self.root[:, None] * G[:, slight]
            var[slight] -= np.sum((self.inverse @ columns) ** 2, axis=0)
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

    def about_mean(self, nu, fraction):
        """Means and variances without a share of each site; ``nu`` and means about ``mean``."""
        left = self.left if np.all(fraction == 1.0) else 1.0 - (1.0 - self.left) / fraction
        left = np.where(left > 1e-300, left, 1e-300)
        return -self.var * nu / fraction / left, self.var / left


def parallel_sites(G, h, lower, upper, fraction, tol, max_iter, first=None):
    """Fixed point of the sites, all updated from the same marginals: (tau, nu, sweeps, change).

    A sweep is one factorization and the inverse of a triangle, 2/3 n^3 operations; sweeps one site
    after another need three times as many. The last points are extrapolated (D. Anderson, Journal
    of the ACM 12, 1965). None where that does not come to rest.
    """
    tau, nu = (np.zeros(len(h)), np.zeros(len(h))) if first is None else first
    points, moves, best = [], [], np.inf
    for n_iter in range(1, max_iter + 1):
        now = Marginals(G, h, tau, nu)
        shift, wide = now.about_mean(nu - tau * now.mean, fraction)
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
