"""The penalty of a user that the guide shows."""

import numpy as np
import pytest

from sklearn_fw import AsagaRegressor
from sklearn_fw.penalties import GroupSeparable


class ExclusiveLasso(GroupSeparable):
    """Half the squared l1 norm of each group."""

    def group_value(self, u, group):
        return np.abs(u).sum() ** 2 / 2

    def group_prox(self, u, step_size, group):
        steps = step_size * np.arange(1, u.size + 1)
        sums = step_size * np.cumsum(np.sort(np.abs(u))[::-1])
        shrink = np.max(sums / (1 + steps))
        return np.sign(u) * np.maximum(np.abs(u) - shrink, 0)

    def group_conjugate(self, v, group):
        return np.abs(v).max() ** 2 / 2


@pytest.mark.slow
def test_one_feature_of_each_group_wins(rng):
    X = np.repeat(rng.standard_normal((200, 5)), 4, axis=1) + rng.standard_normal((200, 20))
    y = X[:, ::4].sum(axis=1)
    groups = np.repeat(np.arange(5), 4)
    model = AsagaRegressor(penalty=ExclusiveLasso(groups), alpha=0.3, tol=1e-6).fit(X, y)
    assert model.converged_
    assert model.dual_gap_ < 1e-5
    kept = model.coef_.reshape(5, 4) != 0
    assert kept[:, 0].all()
    assert 5 <= kept.sum() < 15
