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

    def leave_one_out(self):
        """Log score of every row in the model without it, in closed form."""
        residual, gap, information = self.posterior.held_out()
        W = self.total_weight - self.weight
        extra, centre, information = self.constants(W, information)
        variance = self.s + residual + extra + (centre - 1.0 + gap) ** 2 / information
        return self.log_score(variance, 0.5 * (1.0 + W + self.dof))

    def reference(self):
        """The same with the exponent and the constants of the whole model, as new rows have them.

        Far from all others a left-out row thus scores what a new row scores far from all data.
        """
        residual, gap, _ = self.posterior.held_out()
        return self.log_score(self.variance(residual, 1.0 - gap))

    def log_score(self, variance, exponent=None):
        """``-(exponent) log(V / s)``."""
        exponent = self.exponent if exponent is None else exponent
        return -exponent * self.posterior.backend.xp.log(variance / self.s)
