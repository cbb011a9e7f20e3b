"""Models: which features an output has, what a mistake costs and how the best output is found."""

from ._base import ScoredModel, StructuredModel
from ._box import BoxModel
from ._chain import ChainModel
from ._enumerated import EnumeratedModel
from ._graph import GraphModel
from ._graph_cut import GraphCutModel
from ._grid import GridModel
from ._matching import MatchingModel
from ._multiclass import MulticlassModel
from ._multilabel import MultilabelModel
from ._parts import PartModel
from ._tree_pose import TreePoseModel

__all__ = [
    "BoxModel",
    "ChainModel",
    "EnumeratedModel",
    "GraphCutModel",
    "GraphModel",
    "GridModel",
    "MatchingModel",
    "MulticlassModel",
    "MultilabelModel",
    "PartModel",
    "ScoredModel",
    "StructuredModel",
    "TreePoseModel",
]
