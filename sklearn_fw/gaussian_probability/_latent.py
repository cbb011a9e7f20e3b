"""Latent normal values of which intervals are known, with noise: one engine for all models."""

import numpy as np
from scipy.linalg import cho_factor, solve_triangular
from scipy.special import ndtr

from ._engine import propagate

__all__ = ["LatentIntervals", "positive_probability", "sign_bounds", "standardised"]

LOG_2PI = np.log(2.0 * np.pi)


class LatentIntervals:
    """Posterior of latent values f ~ N(0, K) given lower < f + noise e < upper.

    For signs the fixed point is that of probit sites on f. Where the ends are equal the value is
    known: the others are conditioned on it before expectation propagation. ``possible`` is false
    where the intervals have no mass.
    """

    def __init__(self, K, lower, upper, noise, tol, max_iter, start=None):
        G = K.copy()
        G[np.diag_indices_from(G)] += noise**2
        self.noise, self.sites = noise, None
        self._known, self._open = np.flatnonzero(lower == upper), np.flatnonzero(lower < upper)
        options = {"tol": float(tol), "max_iter": max_iter, "start": start}
        if len(self._known):
            self._conditioned(G, lower, upper, options)
            return
        self.sites = propagate(G, np.zeros(len(G)), lower, upper, **options)
        self.possible = self.sites is not None
        if self.possible:
            self.log_evidence = self.sites.log_z
            self.weights, self.precision = self.sites.weights, self.sites.precision

    def _conditioned(self, G, lower, upper, options):
        known, rest = self._known, self._open
        n_known, n = len(known), len(G)
        factor, _ = cho_factor(G[np.ix_(known, known)], lower=True)
        both = np.column_stack([G[np.ix_(known, rest)], lower[known], np.eye(n_known)])
        both = solve_triangular(factor, both, lower=True)
        cross, ends, inverse = both[:, : len(rest)], both[:, len(rest)], both[:, len(rest) + 1 :]
        self.log_evidence = -0.5 * (ends @ ends + n_known * LOG_2PI)
        self.log_evidence -= np.sum(np.log(np.diag(factor)))
        self.weights, self.precision, self.possible = np.zeros(n), np.zeros((n, n)), True
        self.weights[known] = inverse.T @ ends
        self.precision[np.ix_(known, known)] = inverse.T @ inverse
        if not len(rest):
            return
        inner = np.ascontiguousarray(G[np.ix_(rest, rest)] - cross.T @ cross)
        self.sites = propagate(inner, cross.T @ ends, lower[rest], upper[rest], **options)
        self.possible = self.sites is not None
        if not self.possible:
            return
        slopes = inverse.T @ cross  # of what the known values say about the others
        moved = slopes @ self.sites.precision
        self.log_evidence += self.sites.log_z
        self.weights[rest] = self.sites.weights
        self.weights[known] -= slopes @ self.sites.weights
        self.precision[np.ix_(rest, rest)] = self.sites.precision
        self.precision[np.ix_(known, rest)] = -moved
        self.precision[np.ix_(rest, known)] = -moved.T
        self.precision[np.ix_(known, known)] += moved @ slopes.T

    @property
    def n_iter(self):
        """Sweeps; one where nothing had to be swept."""
        return 1 if self.sites is None else self.sites.n_iter

    def gradient(self, K_gradient):
        """Gradient of the log evidence in the parameters of the kernel, (n, n, n_params)."""
        inner = 0.5 * (np.outer(self.weights, self.weights) - self.precision)
        return np.tensordot(inner, K_gradient, axes=2)

    def noise_gradient(self):
        """Derivative of the log evidence in the logarithm of the noise."""
        return self.noise**2 * (self.weights @ self.weights - np.trace(self.precision))

    def predict(self, K_new, diagonal):
        """Mean and variance of latent values; rows of K_new are new."""
        var = diagonal - np.einsum("ij,ij->i", K_new @ self.precision, K_new)
        return K_new @ self.weights, np.maximum(var, 0.0)


def sign_bounds(signs):
    """Intervals of values with these signs."""
    return np.where(signs > 0.0, 0.0, -np.inf), np.where(signs > 0.0, np.inf, 0.0)


def standardised(mean, var, noise):
    """Means in units of the standard deviations with noise."""
    scale = np.sqrt(noise**2 + var)
    return mean / np.where(scale > 0.0, scale, 1e-300)


def positive_probability(mean, var, noise):
    """Two columns: of a negative and of a positive sign."""
    positive = ndtr(standardised(mean, var, noise))
    return np.column_stack([1.0 - positive, positive])
