"""Optimizers as functions of data and objectives, with certificates."""

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

__all__ = [
    "Asaga",
    "Hogwild",
    "LaggedSaga",
    "Sag",
    "Saga",
    "SparseSaga",
    "Svrg",
    "minimize_saga",
]
