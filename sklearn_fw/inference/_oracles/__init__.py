"""Oracles, one file each; what they have in common is told in `sklearn_fw.inference`."""

from ._assignment import Assignment
from ._best_of import BestOf
from ._branch_and_bound import BranchAndBound
from ._callable import CallableOracle
from ._chain import Viterbi
from ._checked import CheckedOracle
from ._elimination import Elimination
from ._enumeration import Enumeration
from ._graph_cut import GraphCut
from ._icm import ICM
from ._linear_programs import MILP, LPRelaxation
from ._local_search import IteratedLocalSearch
from ._qpbo import QPBO
from ._resolve import resolve_oracle
from ._toulbar2 import Toulbar2
from ._tree import TreeMaxProduct
from ._trws import TRWS

__all__ = [
    "ICM",
    "MILP",
    "QPBO",
    "TRWS",
    "Assignment",
    "BestOf",
    "BranchAndBound",
    "CallableOracle",
    "CheckedOracle",
    "Elimination",
    "Enumeration",
    "GraphCut",
    "IteratedLocalSearch",
    "LPRelaxation",
    "Toulbar2",
    "TreeMaxProduct",
    "Viterbi",
    "resolve_oracle",
]
