"""Structured prediction and projection-free optimization for scikit-learn, with certificates."""

from .density import KernelStudentTDensity
from .linear_model import AsagaClassifier, AsagaRegressor
from .model_selection import regularization_path
from .random_fields import TRWMarginals
from .structured import StructuredSVM

__version__ = "0.1.0"

__all__ = [
    "AsagaClassifier",
    "AsagaRegressor",
    "KernelStudentTDensity",
    "StructuredSVM",
    "TRWMarginals",
    "regularization_path",
]
