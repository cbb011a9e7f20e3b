"""Penalties and constraints that split over the features or over blocks of features."""

from ._objects import (
    L1,
    L2,
    BlockSeparable,
    Box,
    ElasticNet,
    GroupLasso,
    L2Ball,
    NonNegative,
    Penalty,
    Simplex,
    resolve_penalty,
)

__all__ = [
    "L1",
    "L2",
    "BlockSeparable",
    "Box",
    "ElasticNet",
    "GroupLasso",
    "L2Ball",
    "NonNegative",
    "Penalty",
    "Simplex",
    "resolve_penalty",
]
