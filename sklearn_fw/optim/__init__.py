"""Optimizers as functions of data and objectives, with certificates."""

from . import experimental  # noqa: F401  adds its names of solvers
from ._frank_wolfe._constants import curvature_constant, pyramidal_width
from ._frank_wolfe._minimize import minimize_frank_wolfe
from ._frank_wolfe._minimize_block import minimize_block_frank_wolfe
from ._frank_wolfe._minimize_submodular import minimize_submodular
from ._incremental._dual_coordinate import Sdca
from ._incremental._minimize_saga import minimize_saga
from ._incremental._newton import Newton
from ._incremental._newton_cg import NewtonCG
from ._incremental._overlap import overlap_step
from ._incremental._saga import Asaga, LaggedSaga, Sag, Saga, SparseSaga
from ._incremental._svrg import Svrg
from ._saddle._matrix_game import solve_matrix_game
from ._saddle._saddle_point import solve_saddle_point
from ._saddle._saddle_steps import SaddleConstants
from ._subgradient._averages import RunningAverage
from ._subgradient._projected_subgradient import projected_subgradient

__all__ = [
    "Asaga",
    "LaggedSaga",
    "Newton",
    "NewtonCG",
    "RunningAverage",
    "SaddleConstants",
    "Sag",
    "Saga",
    "Sdca",
    "SparseSaga",
    "Svrg",
    "curvature_constant",
    "minimize_block_frank_wolfe",
    "minimize_frank_wolfe",
    "minimize_saga",
    "minimize_submodular",
    "overlap_step",
    "projected_subgradient",
    "pyramidal_width",
    "solve_matrix_game",
    "solve_saddle_point",
]
