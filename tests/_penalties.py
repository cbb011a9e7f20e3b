"""Penalties of every kind, one of them a user's."""

import numpy as np

from sklearn_fw.penalties import (
    L1,
    L2,
    Box,
    ElasticNet,
    GroupLasso,
    GroupSeparable,
    L2Ball,
    Simplex,
)
from sklearn_fw.projections import project_simplex


class LargestEntry(GroupSeparable):
    """Largest absolute value of a group; its conjugate is the indicator of an l1 ball."""

    def group_value(self, u, group):
        return np.abs(u).max()

    def group_prox(self, u, step_size, group):
        if np.abs(u).sum() <= step_size:
            return np.zeros_like(u)
        if step_size == 0:
            return u.copy()
        return u - np.sign(u) * project_simplex(np.abs(u), radius=step_size)

    def group_conjugate(self, v, group):
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
    Box(),
    Box(l1=0.3),
]
BUILT_IN_GROUPS = [
    GroupLasso([[0, 3], [2]]),
    GroupLasso([1, 0, 1, 0, 0], group_weights=[0.5, 2.0], l1=0.2, l2=0.3),
    GroupLasso([[4, 2], [0, 1]], group_weights="ones", l1=0.4),
    GroupLasso([0] * 5, group_weights=[0.0], l1=0.4),
    L2Ball(1.5),
    L2Ball(groups=[[0, 3], [1]]),
    Simplex(2.0),
    Simplex(groups=[7, 7, 3, 3, -1]),
]
GROUPED = [*BUILT_IN_GROUPS, LargestEntry(), LargestEntry(groups=[[1, 0], [2, 3]])]
PENALTIES = SEPARABLE + GROUPED


def bound(penalty):
    return penalty.bind(N_FEATURES)
