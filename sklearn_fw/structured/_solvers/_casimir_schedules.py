"""Smoothing, proximal weight and momentum of Casimir, iteration by iteration."""

import numpy as np

SCHEDULES = ("adapt", "adapt_nonstrong", "const", "const_nonstrong")


def is_strong(name):
    """Whether a schedule needs lam > 0."""
    return not name.endswith("nonstrong")


def next_alpha(alpha, r, r_next, lam):
    """The positive root of ``a^2 r_next = (1 - a) alpha^2 r + a lam``, without cancellation.

    With ``r = kappa + lam``, of this iteration and of the next, equation 27 of Pillutla et al.
    """
    square = alpha * alpha * r
    s = square - lam
    return 2.0 * square / (s + np.sqrt(s * s + 4.0 * square * r_next))


def momentum(alpha, alpha_next, r, r_next):
    """The coefficient beta of equation 29."""
    square = alpha * alpha * r
    return (1.0 - alpha) * alpha * r / (square + alpha_next * r_next)


class Schedule:
    """mu_k and kappa_k for k = 1, 2, ..., alpha_0 and the steps of alpha.

    Parameters
    ----------
    name : str
        One of ``SCHEDULES``; those without "nonstrong" need lam > 0.
    mu, kappa, lam : float
        First smoothing, first proximal weight (0: no momentum), regularisation.
    """

    def __init__(self, name, mu, kappa, lam):
        self.mu, self.kappa, self.lam = mu, kappa, lam
        self.strong, self.adapts = is_strong(name), name.startswith("adapt")
        root = np.sqrt(lam / (lam + kappa)) if lam > 0.0 else 0.0
        self.decay = np.sqrt(1.0 - 0.5 * root)
        self.alpha = root if self.strong else max(0.5 * (np.sqrt(5.0) - 1.0), root)

    def mu_of(self, k):
        """Smoothing of iteration k."""
        if not self.adapts:
            return self.mu
        return self.mu * self.decay ** (k - 1) if self.strong else self.mu / k

    def kappa_of(self, k):
        """Proximal weight of iteration k."""
        return self.kappa * k if self.adapts and not self.strong else self.kappa

    def momentum_of(self, k):
        """beta_k, after which alpha is alpha_k; to be asked for k = 1, 2, ... in turn."""
        if self.kappa == 0.0:
            return 0.0
        r, r_next = self.kappa_of(k) + self.lam, self.kappa_of(k + 1) + self.lam
        alpha = next_alpha(self.alpha, r, r_next, self.lam)
        beta = momentum(self.alpha, alpha, r, r_next)
        self.alpha = alpha
        return beta
