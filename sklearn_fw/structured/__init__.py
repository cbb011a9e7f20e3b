"""Structured prediction: models, solvers and estimators for outputs with parts."""

from ._svm import StructuredSVM
from .models import (
    ChainModel,
    EnumeratedModel,
    MulticlassModel,
    MultilabelModel,
    StructuredModel,
)
from .solvers import BlockFrankWolfe, FrankWolfe, Perceptron, Subgradient

__all__ = [
    "BlockFrankWolfe",
    "ChainModel",
    "EnumeratedModel",
    "FrankWolfe",
    "MulticlassModel",
    "MultilabelModel",
    "Perceptron",
    "StructuredModel",
    "StructuredSVM",
    "Subgradient",
]
