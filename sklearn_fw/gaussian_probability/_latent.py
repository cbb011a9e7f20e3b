"""Latent normal values of which intervals are known, with noise: one engine for all models."""

import numpy as np
from scipy.special import ndtr
from sklearn.exceptions import ConvergenceWarning

from .._core.warnings import warn
from ._narrow import propagate


class LatentIntervals:
    """Posterior of latent values f ~ N(0, K) given lower < f + noise e < upper.

    For signs the fixed point is that of probit sites on f; where the ends are equal the value is
    known. ``possible`` is false where the intervals have no mass.
    """

    def __init__(self, K, lower, upper, noise, tol, max_iter, start=None):
        G = K.copy()
        G[np.diag_indices_from(G)] += noise**2
        self.noise = noise
        self.sites = propagate(
            G, np.zeros(len(G)), lower, upper, tol=float(tol), max_iter=max_iter, start=start
        )
        self.possible = self.sites is not None
        if self.possible:
            self.log_evidence = self.sites.log_z
            self.weights, self.precision = self.sites.weights, self.sites.precision

    def gradient(self, K_gradient):
        """Gradient of the log evidence in the parameters of the kernel, (n, n, n_params)."""
        return np.tensordot(self.inner, K_gradient, axes=2)

    @property
    def inner(self):
        """Gradient of the log evidence in the matrix of the kernel."""
        return 0.5 * (np.outer(self.weights, self.weights) - self.precision)

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


def warn_unless_settled(posteriors, tol, max_iter):
    """Say so where marginals still moved in the last sweep."""
    if not all(posterior.sites.converged for posterior in posteriors):
        warn(
            f"marginals still moved by more than tol={tol:g} standard deviations after "
            f"max_iter={max_iter} sweeps: raise max_iter or noise",
            ConvergenceWarning,
        )
