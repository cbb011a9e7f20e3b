"""Best intercepts and best steps along lines of scores, against searches by SciPy."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from sklearn_fw import losses
from sklearn_fw._kernels.frank_wolfe import score_lines

LOSSES = (
    losses.LogLoss(),
    losses.SquaredHinge(),
    losses.SmoothHinge(0.7),
    losses.ModifiedHuber(),
    losses.Huber(0.8),
    losses.SquaredEpsilonInsensitive(0.1),
)


def scores_of(loss, rng, n_outputs):
    """Targets, scores, a direction of descent and weights, one of them zero."""
    z, ahead = rng.normal(size=(2, 60, n_outputs))
    y = rng.normal(size=z.shape)
    if loss.task == "classification":
        y = np.where(z + y > 0.3, 1.0, -1.0)
    weight = rng.random(60)
    weight[7] = 0.0
    return y, z, ahead - 0.5 * (z - y), weight / weight.sum()


def total(loss, y, z, weight):
    return float(weight @ loss.value(y.ravel(), z.ravel()).reshape(z.shape).sum(axis=1))


def best(loss, y, z, weight):
    """The least sum over intercepts, and these."""
    found = [
        minimize_scalar(
            lambda c, k=k: total(loss, y[:, [k]], z[:, [k]] + c, weight), options={"xtol": 1e-12}
        )
        for k in range(z.shape[1])
    ]
    return sum(one.fun for one in found), np.array([one.x for one in found])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_best_intercepts(loss, n_outputs, rng):
    y, z, _, weight = scores_of(loss, rng, n_outputs)
    shifts, slopes = np.zeros(n_outputs), np.empty_like(z)
    value = score_lines.settle(loss._formula(), y, z, weight, shifts, slopes)
    least, where = best(loss, y, z, weight)
    np.testing.assert_allclose(value, least, rtol=1e-12, atol=0)
    np.testing.assert_allclose(shifts, where, rtol=0, atol=1e-5)
    np.testing.assert_allclose(slopes.sum(axis=0), 0.0, rtol=0, atol=1e-14)
    known = loss.derivative(y.ravel(), (z + shifts).ravel()).reshape(z.shape)
    np.testing.assert_allclose(slopes, weight[:, None] * known, rtol=0, atol=1e-11)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize("longest", [np.inf, 0.05])
def test_best_step(loss, n_outputs, fits, longest, rng):
    y, z, ahead, weight = scores_of(loss, rng, n_outputs)
    start = best(loss, y, z, weight)[1] if fits else np.zeros(n_outputs)

    def value(x):
        return total(loss, y, z + x[0] * ahead + (x[1:] if fits else 0.0), weight)

    slopes = loss.derivative(y.ravel(), (z + start).ravel()).reshape(z.shape)
    slope = float(weight @ (slopes * ahead).sum(axis=1))
    assert slope < 0.0
    shifts = start.copy()
    step, last = score_lines.step_along(
        loss._formula(), y, z, ahead, weight, shifts, fits, slope, longest, 0.0, 1e-9
    )
    first = np.concatenate([[0.0], start]) if fits else np.zeros(1)
    bounds = [(0.0, longest)] + [(None, None)] * (len(first) - 1)
    least = minimize(value, first, bounds=bounds, tol=1e-14)
    assert 0.0 < step <= longest
    reached = value(np.concatenate([[step], shifts]))
    assert reached <= least.fun * (1 + 1e-9)
    assert abs(last) <= -1e-9 * slope or (step == longest and last < 0.0)


def test_steps_that_cannot_be_found_are_refused():
    formula = losses.SquaredHinge()._formula()
    y, z, ahead = np.ones((3, 1)), np.full((3, 1), 2.0), np.ones((3, 1))  # all losses are flat
    found = score_lines.step_along(
        formula, y, z, ahead, np.ones(3), np.zeros(1), True, -1.0, 1.0, 0.0, 1e-3
    )
    assert found[0] == -1.0
    # The best intercept of one class is infinite.
    value = score_lines.settle(
        losses.LogLoss()._formula(), y, z, np.ones(3), np.zeros(1), np.empty((3, 1))
    )
    assert np.isnan(value)
