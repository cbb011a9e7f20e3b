"""Binary labels as signs of a normal latent value with noise: one engine for both classifiers."""

import numpy as np
from scipy.special import ndtr

from ._engine import propagate

__all__ = ["LatentSigns", "positive_probability", "standardised"]


class LatentSigns:
    """Posterior of latent values f ~ N(0, K) given signs of f + noise e.

    The orthant of y (f + noise e): its fixed point is that of probit sites on f.
    """

    def __init__(self, K, signs, noise, tol, max_iter, start=None):
        G = K * signs * signs[:, None]
        G[np.diag_indices_from(G)] += noise**2
        p = len(signs)
        self.sites = propagate(
            G, np.zeros(p), np.zeros(p), np.full(p, np.inf), tol=float(tol), max_iter=max_iter,
            start=start,
        )  # fmt: skip
        if self.sites is not None:
            self.log_evidence = self.sites.log_z
            self.weights = signs * self.sites.weights
            self.precision = self.sites.precision * signs * signs[:, None]

    def gradient(self, K_gradient):
        """Gradient of the log evidence in the parameters of the kernel, (n, n, n_params)."""
        inner = 0.5 * (np.outer(self.weights, self.weights) - self.precision)
        return np.tensordot(inner, K_gradient, axes=2)

    def predict(self, K_new, diagonal):
        """Mean and variance of latent values; rows of K_new are new."""
        var = diagonal - np.einsum("ij,ij->i", K_new @ self.precision, K_new)
        return K_new @ self.weights, np.maximum(var, 0.0)


def standardised(mean, var, noise):
    """Means in units of the standard deviations with noise."""
    scale = np.sqrt(noise**2 + var)
    return mean / np.where(scale > 0.0, scale, 1e-300)


def positive_probability(mean, var, noise):
    """Two columns: of a negative and of a positive sign."""
    positive = ndtr(standardised(mean, var, noise))
    return np.column_stack([1.0 - positive, positive])
