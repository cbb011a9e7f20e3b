"""Optimizers as functions of data and objectives, with certificates."""

from ._comparators import AsySPCD, Fista
from ._dual_coordinate import Sdca
from ._incremental import Asaga, Hogwild, LaggedSaga, Sag, Saga, SparseSaga, Svrg
from ._matrix_game import solve_matrix_game
from ._memorization import memorization_rate, memorization_step
from ._minimize_saga import minimize_saga
from ._neighbor_saga import NeighborSaga
from ._neighbors import NeighborGraph, neighbor_graph
from ._newton import Newton
from ._newton_cg import NewtonCG
from ._overlap import overlap_step
from ._saddle_point import solve_saddle_point
from ._saddle_steps import SaddleConstants
from ._simulate_async import simulate_async

__all__ = [
    "Asaga",
    "AsySPCD",
    "Fista",
    "Hogwild",
    "LaggedSaga",
    "NeighborGraph",
    "NeighborSaga",
    "Newton",
    "NewtonCG",
    "SaddleConstants",
    "Sag",
    "Saga",
    "Sdca",
    "SparseSaga",
    "Svrg",
    "memorization_rate",
    "memorization_step",
    "minimize_saga",
    "neighbor_graph",
    "overlap_step",
    "simulate_async",
    "solve_matrix_game",
    "solve_saddle_point",
]
