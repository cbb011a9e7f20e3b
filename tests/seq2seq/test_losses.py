"""Losses of scores and costs against their formulas, differences and each other."""

import numpy as np
import pytest
from hypothesis import given
from scipy.special import logsumexp, softmax

from _task_losses import few, seeds
from sklearn_fw.seq2seq import searnn_loss
from sklearn_fw.seq2seq._losses import LOSSES, cheapest

every_loss = pytest.mark.parametrize("loss", LOSSES)


def case(seed, shape=(3, 6)):
    rng = np.random.default_rng(seed)
    costs = rng.exponential(size=shape)
    costs[..., 1:][rng.random((*shape[:-1], shape[-1] - 1)) < 0.2] = np.inf
    return 2.0 * rng.normal(size=shape), costs


def plain(scores, costs, loss, scale):
    """One cell by the formulas, over the tokens that were tried."""
    tried = np.isfinite(costs)
    s, c = scores[tried], scale * (costs[tried] - costs[tried].min())
    best = c.argmin()
    if loss == "ll":
        return logsumexp(s) - s[best]
    if loss == "llcas":
        return logsumexp(s + c) - s[best]
    if loss == "shl":
        return (s + c).max() - s[best]
    q = softmax(-c)
    return q @ (np.log(q) - s + logsumexp(s))


@every_loss
@given(seed=seeds)
@few
def test_values_are_those_of_the_formulas(loss, seed):
    scores, costs = case(seed)
    value, gradient = searnn_loss(scores, costs, loss, cost_scale=1.7)
    expected = [plain(s, c, loss, 1.7) for s, c in zip(scores, costs)]
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(gradient.sum(axis=-1), 0.0, atol=1e-12)
    assert not np.any(gradient[np.isinf(costs)])


@every_loss
@pytest.mark.parametrize("whole", [True, False])
def test_gradients_are_central_differences(loss, whole, rng):
    if whole and loss != "ll":
        return
    scores, costs = case(3, (5, 7))
    options = {"sampled_softmax": not whole, "cost_scale": 0.8}
    _, gradient = searnn_loss(scores, costs, loss, **options)
    eps = 1e-5
    for cell, token in np.ndindex(scores.shape):
        values = []
        for sign in (1, -1):
            moved = scores.copy()
            moved[cell, token] += sign * eps
            values.append(searnn_loss(moved, costs, loss, **options)[0][cell])
        difference = (values[0] - values[1]) / (2 * eps)
        assert gradient[cell, token] == pytest.approx(difference, abs=1e-6)


@every_loss
def test_constants_change_nothing(loss, rng):
    scores, costs = case(0)
    value, gradient = searnn_loss(scores, costs, loss)
    shift = rng.normal(size=(3, 1))
    moved = searnn_loss(scores + shift, costs + np.abs(shift), loss)
    np.testing.assert_allclose(moved[0], value, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(moved[1], gradient, rtol=1e-9, atol=1e-12)


@given(seed=seeds)
@few
def test_losses_bound_each_other(seed):
    scores, costs = case(seed)
    smooth, hinge = (searnn_loss(scores, costs, loss)[0] for loss in ("llcas", "shl"))
    n_tried = np.isfinite(costs).sum(axis=-1)
    assert np.all(hinge >= 0)
    assert np.all(smooth >= hinge - 1e-12)
    assert np.all(smooth <= hinge + np.log(n_tried) + 1e-12)


def test_limits():
    scores, costs = case(1)
    constant = np.where(np.isfinite(costs), 2.0, np.inf)
    for a, b in zip(searnn_loss(scores, constant, "llcas"), searnn_loss(scores, constant, "ll")):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_allclose(
        searnn_loss(scores, costs, "kl", cost_scale=1e6)[1], searnn_loss(scores, costs, "ll")[1],
        atol=1e-9,
    )  # fmt: skip
    tried = np.isfinite(costs)
    uniform = tried / tried.sum(axis=-1, keepdims=True)
    shares = softmax(np.where(tried, scores, -np.inf), axis=-1)
    found = searnn_loss(scores, costs, "kl", cost_scale=1e-9)[1]
    np.testing.assert_allclose(found, shares - uniform, atol=1e-8)


def test_all_tokens_share_the_softmax():
    """Of tokens that were not tried, too; the target is the cheapest that was."""
    scores, costs = np.array([[1.0, 2.0, 0.5]]), np.array([[0.4, np.inf, 0.1]])
    value, gradient = searnn_loss(scores, costs, sampled_softmax=False)
    np.testing.assert_allclose(value, logsumexp(scores) - 0.5)
    np.testing.assert_allclose(gradient, softmax(scores) - [[0, 0, 1]])


def test_ties():
    costs = np.array([[0.5, 0.2, 0.2 + 1e-16, 0.2], [0.1, 0.2, 0.2, 0.3]])
    assert cheapest(costs).tolist() == [1, 0]
    assert cheapest(costs, np.array([3, 2])).tolist() == [3, 0]
    rng = np.random.RandomState(0)
    drawn = {int(cheapest(costs, rng=rng)[0]) for _ in range(50)}
    assert drawn == {1, 2, 3}
    value, gradient = searnn_loss(np.zeros((1, 4)), costs[:1], target=[2])
    assert gradient[0].tolist() == [0.25, 0.25, -0.75, 0.25]
    assert value[0] == pytest.approx(np.log(4))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], [[-1.0]]), "costs must not be negative, got -1.0"),
        (([[1.0, 2.0]], [[1.0]]), r"one shape \(..., n_tokens\), got \(1, 2\) and \(1, 1\)"),
        (([[1.0]], [[np.inf]]), "costs must be finite for one token of each cell"),
        (([], []), "scores and costs are empty"),
        ({"cost_scale": 0.0}, "cost_scale"),
        ({"target": [2]}, "target must hold whole numbers from 0 to 1"),
        ({"target": [0.5]}, "target must hold whole numbers"),
        ({"loss": "kl", "sampled_softmax": False}, "sampled_softmax=False needs loss='ll'"),
    ],
)
def test_errors(arguments, message):
    options = arguments if isinstance(arguments, dict) else {}
    with pytest.raises(ValueError, match=message):
        searnn_loss(*([[[1.0, 2.0]]] * 2 if options else arguments), **options)
