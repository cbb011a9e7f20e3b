"""Structured prediction and projection-free optimization for scikit-learn, with certificates."""

from .structured import StructuredSVM

__version__ = "0.1.0.dev0"

__all__ = ["StructuredSVM"]
