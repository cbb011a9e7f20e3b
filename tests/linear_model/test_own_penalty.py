"""The penalty of a user that the guide shows."""

import numpy as np
import pytest
from scipy.optimize import minimize

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


@pytest.mark.parametrize("step", [0.1, 1.0, 5.0])
def test_prox_is_the_minimiser(rng, step):
    for _ in range(5):
        u = rng.standard_normal(4)

        # In the positive and negative parts the problem is smooth, on a box.
        def objective(parts, u=u):
            return step * parts.sum() ** 2 / 2 + np.square(parts[:4] - parts[4:] - u).sum() / 2

        best = minimize(objective, np.zeros(8), bounds=[(0, None)] * 8, tol=1e-14)
        x = ExclusiveLasso().group_prox(u, step, 0)
        np.testing.assert_allclose(x, best.x[:4] - best.x[4:], rtol=0, atol=1e-5)


def test_conjugate_is_that_of_the_value(rng):
    penalty = ExclusiveLasso()
    for _ in range(5):
        u = rng.standard_normal(4)
        # A subgradient of the value, where the inequality of Fenchel and Young is an equality.
        v = np.abs(u).sum() * np.sign(u)
        both = penalty.group_value(u, 0) + penalty.group_conjugate(v, 0)
        assert both == pytest.approx(u @ v, rel=1e-12)


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
