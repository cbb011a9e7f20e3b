"""Oracles for MAP inference: the labeling of a graph with the highest score.

An oracle is an object with the method

    ``argmax(scores, start=None) -> (labels, value, upper_bound)``

for a `PairwiseScores`; `Oracle` documents its required and optional methods. A function
``scores -> labels`` is turned into one by `resolve_oracle`.
"""

from .._core.budget import time_left
from .._core.oracle import CheckedOracle, Oracle
from .._core.scores import PairwiseScores
from ._oracles._adjacency import NEGLIGIBLE
from ._oracles._assignment import Assignment, best_pairs
from ._oracles._cuts import QPBO, CutMoves, GraphCut
from ._oracles._distance_transform import (
    DistanceTransform,
    PoseScores,
    check_positions,
    check_tree,
    parents,
)
from ._oracles._elimination import Elimination, FactorElimination
from ._oracles._exact import Enumeration
from ._oracles._linear_programs import (
    INFEASIBLE,
    MILP,
    LPRelaxation,
    Toulbar2,
    equations,
    scaled_costs,
    solve_integers,
)
from ._oracles._local_search import ICM, IteratedLocalSearch
from ._oracles._messages import TRWS, BranchAndBound, MaxProduct
from ._oracles._resolve import (
    FEW_LABELINGS,
    ORACLES,
    BestOf,
    exact_oracle,
    natural_oracle,
    quick_oracle,
    resolve_oracle,
)
from ._oracles._subwindow_search import BoxScores, SubwindowSearch
from ._oracles._tree import TreeMaxProduct, Viterbi

__all__ = [
    "ICM",
    "MILP",
    "QPBO",
    "TRWS",
    "Assignment",
    "BestOf",
    "BoxScores",
    "BranchAndBound",
    "CheckedOracle",
    "CutMoves",
    "DistanceTransform",
    "Elimination",
    "Enumeration",
    "GraphCut",
    "IteratedLocalSearch",
    "LPRelaxation",
    "MaxProduct",
    "Oracle",
    "PairwiseScores",
    "PoseScores",
    "SubwindowSearch",
    "Toulbar2",
    "TreeMaxProduct",
    "Viterbi",
    "resolve_oracle",
    "time_left",
]
