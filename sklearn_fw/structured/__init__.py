"""Structured prediction: models, solvers and estimators for outputs with parts."""

from ._displays import ConvergenceDisplay, RegularizationPathDisplay
from ._path import RegularizationPath, regularization_path
from ._svm import StructuredSVM
from ._svm_cv import StructuredSVMCV
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
    "ConvergenceDisplay",
    "EnumeratedModel",
    "FrankWolfe",
    "MulticlassModel",
    "MultilabelModel",
    "Perceptron",
    "RegularizationPath",
    "RegularizationPathDisplay",
    "StructuredModel",
    "StructuredSVM",
    "StructuredSVMCV",
    "Subgradient",
    "regularization_path",
]
