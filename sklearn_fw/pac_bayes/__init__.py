"""Bounds on the expected loss of Bayesian linear regression, and of choices between models."""

from ._bounds import (
    alquier_bound,
    catoni_bound,
    gaussian_kl,
    gibbs_log_weights,
    model_selection_bounds,
    psi_gaussian_linear,
    subgamma_coefficients,
)
from ._displays import EvidenceDisplay, RiskBoundDisplay
from ._regression import PACBayesLinearRegression
from ._selector import PACBayesModelSelector

__all__ = [
    "EvidenceDisplay",
    "PACBayesLinearRegression",
    "PACBayesModelSelector",
    "RiskBoundDisplay",
    "alquier_bound",
    "catoni_bound",
    "gaussian_kl",
    "gibbs_log_weights",
    "model_selection_bounds",
    "psi_gaussian_linear",
    "subgamma_coefficients",
]
