"""Errors of topics and loadings against enumeration of all orders."""

from itertools import permutations

import numpy as np
import pytest

from sklearn_fw.metrics import multiview_l1_error, topic_l1_error


def test_topics_equal_the_best_order(rng):
    true, found = rng.dirichlet(np.ones(6), 3), rng.dirichlet(np.ones(6), 4)
    best = min(np.abs(true - found[list(order)]).sum() / 6 for order in permutations(range(4), 3))
    assert topic_l1_error(true, 7 * found) == pytest.approx(best, rel=1e-12)
    assert topic_l1_error(true, found[::-1]) == pytest.approx(best, rel=1e-12)
    assert topic_l1_error(np.eye(4)[:2], np.eye(4)[2:]) == 1.0


def test_views_share_one_order_and_one_sign(rng):
    X, Y = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    order, signs = [2, 0, 1], np.array([1.0, -1.0, -1.0])
    moved = 3 * X[:, order] * signs, 0.1 * Y[:, order] * signs
    assert multiview_l1_error(X, Y, *moved, signed=True) == pytest.approx(0.0, abs=1e-12)
    assert multiview_l1_error(X, Y, *moved) > 0.1
    assert multiview_l1_error(X, Y, moved[0], Y, signed=True) > 0.1
    assert multiview_l1_error(X, Y, -X, Y, signed=True) == pytest.approx(0.5)


def test_refusals():
    with pytest.raises(ValueError, match="topics_pred must not be negative"):
        topic_l1_error(np.eye(2), -np.eye(2))
    with pytest.raises(ValueError, match="topics_pred must have at least as many"):
        topic_l1_error(np.eye(2), np.eye(2)[:1])
    with pytest.raises(ValueError, match="same number of features"):
        topic_l1_error(np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match="x_loadings_true and y_loadings_true"):
        multiview_l1_error(np.eye(2), np.ones((2, 1)), np.eye(2), np.eye(2))
