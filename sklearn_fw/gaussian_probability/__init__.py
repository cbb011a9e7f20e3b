"""Probabilities of boxes and polyhedra under a normal distribution, and models made of them."""

from ._classifiers import BayesPointMachine, EPProbitClassifier
from ._exact import truncated_normal_moments
from ._intervals import EPIntervalRegressor, EPOrdinalClassifier
from ._polyhedra import minimal_polyhedron
from ._probability import GaussianProbabilityResult, log_box_probabilities, log_gaussian_probability
from ._truncated import TruncatedGaussian

__all__ = [
    "BayesPointMachine",
    "EPIntervalRegressor",
    "EPOrdinalClassifier",
    "EPProbitClassifier",
    "GaussianProbabilityResult",
    "TruncatedGaussian",
    "log_box_probabilities",
    "log_gaussian_probability",
    "minimal_polyhedron",
    "truncated_normal_moments",
]
