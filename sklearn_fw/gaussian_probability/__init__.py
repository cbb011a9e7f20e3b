"""Probabilities of boxes and polyhedra under a normal distribution, and models made of them."""

from ._batch import log_box_probabilities
from ._bayes_point import BayesPointMachine
from ._censored import EPIntervalRegressor
from ._classifier import EPProbitClassifier
from ._exact import equicorrelated_probability, orthant_probability
from ._moments import truncated_normal_moments
from ._ordinal import EPOrdinalClassifier
from ._polyhedra import minimal_polyhedron
from ._probability import log_gaussian_probability
from ._result import GaussianProbabilityResult
from ._truncated import TruncatedGaussian

__all__ = [
    "BayesPointMachine",
    "EPIntervalRegressor",
    "EPOrdinalClassifier",
    "EPProbitClassifier",
    "GaussianProbabilityResult",
    "TruncatedGaussian",
    "equicorrelated_probability",
    "log_box_probabilities",
    "log_gaussian_probability",
    "minimal_polyhedron",
    "orthant_probability",
    "truncated_normal_moments",
]
