"""Latent variables by moments: topics, shared factors of two views, joint diagonalization."""

from ._chib import chib_log_likelihood
from ._diagonalization import (
    JointDiagonalization,
    joint_diagonalize,
    joint_diagonalize_similarity,
    tensor_power_method,
)
from ._discrete_ica import DiscreteICA
from ._views import DiscreteCCA, MixedCCA, NonGaussianCCA

__all__ = [
    "DiscreteCCA",
    "DiscreteICA",
    "JointDiagonalization",
    "MixedCCA",
    "NonGaussianCCA",
    "chib_log_likelihood",
    "joint_diagonalize",
    "joint_diagonalize_similarity",
    "tensor_power_method",
]
