"""Penalties of every kind, one of them a user's."""

import numpy as np

from sklearn_fw.penalties import (
    L1,
    L2,
    BlockSeparable,
    Box,
    ElasticNet,
    GroupLasso,
    L2Ball,
    NonNegative,
    Simplex,
)
from sklearn_fw.projections import project_simplex


class LargestEntry(BlockSeparable):
    """Largest absolute value of a block; its conjugate is the indicator of an l1 ball."""

    def block_value(self, u, block):
        return np.abs(u).max()

    def block_prox(self, u, step, block):
        if np.abs(u).sum() <= step:
            return np.zeros_like(u)
        return u - np.sign(u) * project_simplex(np.abs(u), radius=step) if step > 0 else u.copy()

    def block_conjugate(self, v, block):
        return 0.0 if np.abs(v).sum() <= 1 + 1e-12 else np.inf


N_FEATURES = 5
SEPARABLE = [
    ElasticNet(),
    ElasticNet(l1_ratio=0),
    L1(),
    L2(),
    Box(-1, [1, 0, 2, np.inf, 0.5]),
    Box(0.2, 1, l1=0.3, l2=0.5),
    Box(-np.inf, 1, l1=0.5),
    NonNegative(),
    NonNegative(l1=0.3),
]
BUILT_IN_BLOCKS = [
    GroupLasso([[0, 3], [2]]),
    GroupLasso([1, 0, 1, 0, 0], group_weights=[0.5, 2.0], l1=0.2, l2=0.3),
    GroupLasso([[4, 2], [0, 1]], group_weights="ones", l1=0.4),
    GroupLasso([0] * 5, group_weights=[0.0], l1=0.4),
    L2Ball(1.5),
    L2Ball(groups=[[0, 3], [1]]),
    Simplex(2.0),
    Simplex(groups=[7, 7, 3, 3, -1]),
]
BLOCKS = [*BUILT_IN_BLOCKS, LargestEntry(), LargestEntry(groups=[[1, 0], [2, 3]])]
PENALTIES = SEPARABLE + BLOCKS


def bound(penalty):
    return penalty.bind(N_FEATURES)
