"""Structured prediction: models, solvers and estimators for outputs with parts."""

from ._latent_svm import LatentStructuredSVM
from ._models import (
    BoxModel,
    ChainModel,
    EnumeratedModel,
    GraphCutModel,
    GraphModel,
    GridModel,
    MatchingModel,
    MulticlassModel,
    MultilabelModel,
    PartModel,
    ScoredModel,
    StructuredModel,
    TreePoseModel,
)
from ._path import StructuredPath
from ._prox_linear._scores import ScoreModel
from ._prox_linear_svm import ProxLinearStructuredSVM
from ._solvers import (
    SVRG,
    BlockFrankWolfe,
    Casimir,
    DualAscent,
    Extragradient,
    FrankWolfe,
    MinibatchFrankWolfe,
    NSlack,
    OneSlack,
    Perceptron,
    SaddlePointFrankWolfe,
    Solver,
    Subgradient,
)
from ._svm import StructuredSVM
from ._svm_cv import StructuredSVMCV

__all__ = [
    "SVRG",
    "BlockFrankWolfe",
    "BoxModel",
    "Casimir",
    "ChainModel",
    "DualAscent",
    "EnumeratedModel",
    "Extragradient",
    "FrankWolfe",
    "GraphCutModel",
    "GraphModel",
    "GridModel",
    "LatentStructuredSVM",
    "MatchingModel",
    "MinibatchFrankWolfe",
    "MulticlassModel",
    "MultilabelModel",
    "NSlack",
    "OneSlack",
    "PartModel",
    "Perceptron",
    "ProxLinearStructuredSVM",
    "SaddlePointFrankWolfe",
    "ScoreModel",
    "ScoredModel",
    "Solver",
    "StructuredModel",
    "StructuredPath",
    "StructuredSVM",
    "StructuredSVMCV",
    "Subgradient",
    "TreePoseModel",
]
