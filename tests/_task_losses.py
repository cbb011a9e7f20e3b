"""Labels, costs and losses of users that the tests of task losses share."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from sklearn_fw.task_losses import TaskLoss

NAMES = np.array(["a", "b", "c"])
COSTS = np.array([[0, 1, 3], [0.5, 0, 1], [2, 1, 0]])
BLOCKS = {"a": 1, "b": 1, "c": 2}
few = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 2**32 - 1)


class Steps(TaskLoss):
    """By costs of nodes: a mistake costs as much as classes are apart, and ``more`` upwards."""

    def __init__(self, more=1.0):
        self.more = more

    def node_costs(self, truth):
        change = np.arange(truth.n_states) - truth.states[:, None]
        return np.where(change > 0, self.more * change, -change)


class FirstMistake(TaskLoss):
    """By value alone: how much comes after the first mistake, as a share."""

    def value(self, y_true, y_pred):
        wrong = np.flatnonzero(np.asarray(y_true) != np.asarray(y_pred))
        return 1.0 - wrong[0] / len(y_true) if len(wrong) else 0.0
