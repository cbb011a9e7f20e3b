"""Bounds on the expected loss of Bayesian linear regression, and of choices between models."""

from ._bounds import (
    alquier_bound,
    catoni_bound,
    catoni_evidence_bound,
    gaussian_kl,
    gibbs_log_weights,
    hoeffding_bound,
    model_averaging_bound,
    model_selection_bounds,
    subgamma_bound,
    subgamma_evidence_bound,
    subgaussian_bound,
)
from ._displays import EvidenceDisplay, RiskBoundDisplay
from ._gaussian import gaussian_linear_bound, psi_gaussian_linear, subgamma_coefficients
from ._regression import PACBayesLinearRegression
from ._selector import PACBayesModelSelector

__all__ = [
    "EvidenceDisplay",
    "PACBayesLinearRegression",
    "PACBayesModelSelector",
    "RiskBoundDisplay",
    "alquier_bound",
    "catoni_bound",
    "catoni_evidence_bound",
    "gaussian_kl",
    "gaussian_linear_bound",
    "gibbs_log_weights",
    "hoeffding_bound",
    "model_averaging_bound",
    "model_selection_bounds",
    "psi_gaussian_linear",
    "subgamma_bound",
    "subgamma_coefficients",
    "subgamma_evidence_bound",
    "subgaussian_bound",
]
