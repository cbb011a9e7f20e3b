"""Penalties and constraints that split over the features or over groups of features."""

from ._groups import GroupLasso, GroupSeparable, L2Ball, Simplex
from ._single import Box, ElasticNet, Penalty, resolve_penalty

__all__ = ["Box", "ElasticNet", "GroupLasso", "GroupSeparable", "L2Ball", "Penalty", "Simplex"]
