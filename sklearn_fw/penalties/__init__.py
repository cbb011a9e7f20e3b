"""Penalties and constraints that split over the features or over groups of features."""

from ._objects import (
    L1,
    L2,
    Box,
    ElasticNet,
    GroupLasso,
    GroupSeparable,
    L2Ball,
    NonNegative,
    Penalty,
    Simplex,
    resolve_penalty,
)

__all__ = [
    "L1",
    "L2",
    "Box",
    "ElasticNet",
    "GroupLasso",
    "GroupSeparable",
    "L2Ball",
    "NonNegative",
    "Penalty",
    "Simplex",
    "resolve_penalty",
]
