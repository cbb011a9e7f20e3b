"""Latent variables by moments: topics, shared factors of two views, joint diagonalization."""

from ._diagonalization import (
    JointDiagonalization,
    joint_diagonalize,
    joint_diagonalize_similarity,
    tensor_power_method,
)

__all__ = [
    "JointDiagonalization",
    "joint_diagonalize",
    "joint_diagonalize_similarity",
    "tensor_power_method",
]
