"""Optimizers as functions of data and objectives, with certificates."""

from ._minimize_saga import minimize_saga
from ._solvers import resolve_incremental_solver

__all__ = ["minimize_saga"]
