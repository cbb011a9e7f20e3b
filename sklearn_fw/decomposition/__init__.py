"""Latent variables by moments: topics, shared factors of two views, joint diagonalization."""

from ._diagonalization import JointDiagonalization, joint_diagonalize, tensor_power_method
from ._discrete_ica import DiscreteICA
from ._multi_view import MultiViewCCA
from ._posterior import chib_log_likelihood

__all__ = [
    "DiscreteICA",
    "JointDiagonalization",
    "MultiViewCCA",
    "chib_log_likelihood",
    "joint_diagonalize",
    "tensor_power_method",
]
