"""Optimizers as functions of data and objectives, with certificates."""

from ._distributed._parted_sum import Facts, PartedSum, PartSums
from ._distributed._parts import Pieces, make_parts
from ._frank_wolfe._minimize import minimize_frank_wolfe
from ._frank_wolfe._minimize_block import minimize_block_frank_wolfe
from ._frank_wolfe._minimize_submodular import minimize_submodular
from ._incremental._finite_sum import FiniteSum
from ._incremental._minimize_saga import ROWS, check_rows, convergence_advice, minimize_saga, solve
from ._incremental._newton import Newton, NewtonCG
from ._incremental._run import Seen, Start
from ._incremental._saga import Asaga, Saga, Sdca, Svrg
from ._saddle_point import SaddleConstants, solve_matrix_game, solve_saddle_point
from ._subgradient import RunningAverage, projected_subgradient

__all__ = [
    "Asaga",
    "Newton",
    "NewtonCG",
    "RunningAverage",
    "SaddleConstants",
    "Saga",
    "Sdca",
    "Svrg",
    "minimize_block_frank_wolfe",
    "minimize_frank_wolfe",
    "minimize_saga",
    "minimize_submodular",
    "projected_subgradient",
    "solve_matrix_game",
    "solve_saddle_point",
]
