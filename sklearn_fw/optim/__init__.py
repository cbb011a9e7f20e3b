"""Optimizers as functions of data and objectives, with certificates."""

from ._comparators import AsySPCD, Fista
from ._incremental import (
    Asaga,
    Hogwild,
    LaggedSaga,
    Sag,
    Saga,
    SparseSaga,
    Svrg,
)
from ._minimize_saga import minimize_saga
from ._simulate_async import simulate_async

__all__ = [
    "Asaga",
    "AsySPCD",
    "Fista",
    "Hogwild",
    "LaggedSaga",
    "Sag",
    "Saga",
    "SparseSaga",
    "Svrg",
    "minimize_saga",
    "simulate_async",
]
