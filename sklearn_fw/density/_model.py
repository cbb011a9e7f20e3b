"""The Student-t model in feature space, once the kernel has done its work.

With total weight W, ``kappa = beta + W`` and s = sigma0^2, the density of a new feature vector is
proportional to ``(V / s) ** -((1 + W + dof) / 2)``, where

    ``V = s + residual + extra + (centre - share)^2 / information``

in terms of the two numbers that a posterior gives for a point. The exact model has ``centre = 1``,
``information = beta/s + 1' B^-1 1`` and ``extra = 0``: V is the variance, noise included, of
Gaussian process regression whose mean is an unknown constant with prior variance s / beta. The
formula as the paper prints it has ``centre = W/kappa``, ``information = 1' B^-1 1`` and
``extra = s beta/kappa^2``. Both have limits at ``beta = 0`` and ``beta = inf``, where they need no
care: every term stays finite and none is a difference of large numbers.
"""

import numpy as np
from sklearn import get_config

__all__ = ["StudentTModel", "batch_rows", "make_model"]

BATCH_COPIES = 3  # arrays of the size of a batch of kernel values that scoring holds at once


def make_model(estimator, posterior, weight):
    """The model with the hyper-parameters of a density estimator."""
    return StudentTModel(
        posterior,
        weight,
        sigma0=float(estimator.sigma0),
        dof=float(estimator.dof),
        beta=float(estimator.beta),
        formula=estimator.formula,
    )


def batch_rows(n_columns):
    """Rows to score at once so that their kernel values stay within ``working_memory``."""
    limit = get_config()["working_memory"] * 2**20
    return max(1, int(limit // (8 * n_columns * BATCH_COPIES)))


class StudentTModel:
    """Variance and log score of points, from what a posterior says about them."""

    def __init__(self, posterior, weight, *, sigma0, dof, beta, formula):
        self.posterior, self.weight = posterior, weight
        self.total_weight = float(posterior.backend.xp.sum(weight))
        self.s, self.dof, self.beta, self.formula = sigma0**2, dof, beta, formula

    @property
    def exponent(self):
        """``(1 + W + dof) / 2``."""
        return 0.5 * (1.0 + self.total_weight + self.dof)

    def constants(self, weight=None, information=None):
        """Return (extra, centre, information) of the formula."""
        W = self.total_weight if weight is None else weight
        total = self.posterior.information if information is None else information
        if self.formula == "exact":
            return 0.0, 1.0, self.beta / self.s + total
        if np.isinf(self.beta):
            return 0.0, 0.0, total
        kappa = self.beta + W
        return self.s * self.beta / kappa**2, W / kappa, total

    def variance(self, residual, share):
        """V of new points."""
        extra, centre, information = self.constants()
        return self.s + residual + extra + (centre - share) ** 2 / information

    def held_out_variance(self, kept):
        """V of every training row when its weight is lowered to ``kept``, in closed form."""
        residual, remainder, gap, left = self.posterior.held_out(kept <= 0)
        # The other rows see row i with (residual, gap); putting it back with weight `kept` shrinks
        # both by one factor and adds its share to the information about the mean.
        shrink = self.s / (kept * residual + self.s)
        information = left + kept / self.s * shrink * gap * gap
        W = self.total_weight - self.weight + kept
        extra, centre, information = self.constants(W, information)
        mean = (centre - 1.0 + gap * shrink) ** 2 / information
        return self.s + residual * shrink + remainder + extra + mean

    def log_score(self, variance, exponent=None):
        """``-(exponent) log(V / s)``."""
        exponent = self.exponent if exponent is None else exponent
        return -exponent * self.posterior.backend.xp.log(variance / self.s)

    def leave_one_out(self):
        """Log score of every row without one unit of its weight (without it, if below one)."""
        removed = self.posterior.backend.xp.clip(self.weight, None, 1.0)
        variance = self.held_out_variance(self.weight - removed)
        return variance, 0.5 * (1.0 + self.total_weight - removed + self.dof)
