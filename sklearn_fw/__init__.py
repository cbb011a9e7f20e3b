"""Structured prediction and projection-free optimization for scikit-learn, with certificates."""

from .density import KernelStudentTDensity
from .inference import TRWMarginals
from .linear_model import AsagaClassifier, AsagaRegressor
from .model_selection import regularization_path
from .structured import StructuredSVM

__version__ = "0.1.0.dev0"

__all__ = [
    "AsagaClassifier",
    "AsagaRegressor",
    "KernelStudentTDensity",
    "StructuredSVM",
    "TRWMarginals",
    "regularization_path",
]
