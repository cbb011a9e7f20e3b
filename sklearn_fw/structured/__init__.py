"""Structured prediction: models, solvers and estimators for outputs with parts."""

from ..model_selection import (
    RegularizationPath,
    RegularizationPathDisplay,
    regularization_path,
)
from ._displays import ConvergenceDisplay
from ._path import StructuredPath
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
    "StructuredPath",
    "StructuredSVM",
    "StructuredSVMCV",
    "Subgradient",
    "regularization_path",
]
