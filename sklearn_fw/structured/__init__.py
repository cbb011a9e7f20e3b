"""Structured prediction: models, solvers and estimators for structured outputs."""

from ._latent_svm import LatentStructuredSVM
from ._models._base import ScoredModel, StructuredModel
from ._models._box import BoxModel
from ._models._chain import ChainModel
from ._models._enumerated import EnumeratedModel
from ._models._graph import GraphModel
from ._models._graph_cut import GraphCutModel
from ._models._grid import GridModel
from ._models._matching import MatchingModel
from ._models._multiclass import MulticlassModel
from ._models._multilabel import MultilabelModel
from ._models._parts import PartModel
from ._models._tree_pose import TreePoseModel
from ._path import StructuredPath
from ._prox_linear._scores import ScoreModel
from ._prox_linear_svm import ProxLinearStructuredSVM
from ._solvers import (
    BlockFrankWolfe,
    Casimir,
    DualAscent,
    Extragradient,
    FrankWolfe,
    MinibatchFrankWolfe,
    NSlack,
    OneSlack,
    SaddlePointFrankWolfe,
    Solver,
    Subgradient,
)
from ._svm import StructuredSVM
from ._svm_cv import StructuredSVMCV

__all__ = [
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
