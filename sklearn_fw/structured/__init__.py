"""Structured prediction: models, solvers and estimators for outputs with parts."""

from ..model_selection import (
    RegularizationPath,
    RegularizationPathDisplay,
    regularization_path,
)
from ._displays import ConvergenceDisplay
from ._path import StructuredPath
from ._radius_path import RadiusPath
from ._svm import StructuredSVM
from ._svm_cv import StructuredSVMCV
from .models import (
    ChainModel,
    EnumeratedModel,
    MatchingModel,
    MulticlassModel,
    MultilabelModel,
    StructuredModel,
)
from .solvers import (
    BlockFrankWolfe,
    Extragradient,
    FrankWolfe,
    Perceptron,
    SaddlePointFrankWolfe,
    Subgradient,
)

__all__ = [
    "BlockFrankWolfe",
    "ChainModel",
    "ConvergenceDisplay",
    "EnumeratedModel",
    "Extragradient",
    "FrankWolfe",
    "MatchingModel",
    "MulticlassModel",
    "MultilabelModel",
    "Perceptron",
    "RadiusPath",
    "RegularizationPath",
    "RegularizationPathDisplay",
    "SaddlePointFrankWolfe",
    "StructuredModel",
    "StructuredPath",
    "StructuredSVM",
    "StructuredSVMCV",
    "Subgradient",
    "regularization_path",
]
