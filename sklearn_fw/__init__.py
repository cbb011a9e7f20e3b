"""Structured prediction and projection-free optimization for scikit-learn, with certificates."""

from .structured import StructuredSVM, regularization_path

__version__ = "0.1.0.dev0"

__all__ = ["StructuredSVM", "regularization_path"]
