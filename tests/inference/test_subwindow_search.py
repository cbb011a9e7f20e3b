"""Boxes by branch and bound against all boxes."""

import numpy as np
import pytest

from sklearn_fw._core.budget import time_budget
from sklearn_fw.inference import BoxScores, SubwindowSearch, time_left
from sklearn_fw.task_losses import OverlapLoss


def all_boxes(n_rows, n_columns):
    return [
        (top, left, bottom, right)
        for top in range(n_rows)
        for bottom in range(top + 1, n_rows + 1)
        for left in range(n_columns)
        for right in range(left + 1, n_columns + 1)
    ]


def value_of(weights, truth, cost, box):
    """The score of a box, pixel by pixel."""
    inside = np.zeros(weights.shape, int)
    inside[box[0] : box[2], box[1] : box[3]] = 1
    value = weights[inside == 1].sum()
    if truth is not None:
        true = np.zeros(weights.shape, int)
        true[truth[0] : truth[2], truth[1] : truth[3]] = 1
        value += cost * OverlapLoss().value(true.ravel(), inside.ravel())
    return value


def problems(rng, n=60):
    for i in range(n):
        shape = rng.integers(1, 6, size=2)
        boxes = all_boxes(*shape)
        weights = rng.normal(size=shape) if i % 3 else rng.integers(-1, 2, shape) * 1.0
        weights = weights * rng.choice([0.0, 0.01, 1.0, 1000.0])
        truth = boxes[rng.integers(len(boxes))] if i % 2 else None
        cost = rng.choice([0.5, 1.0, 10.0])
        scores = BoxScores(weights, truth, cost)
        values = np.array([value_of(weights, truth, cost, box) for box in boxes])
        yield scores, boxes, values, 1e-12 * max(1.0, np.abs(values).max())


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_all_boxes(part, rng):
    for scores, boxes, values, atol in problems(rng):
        box, value, upper_bound = SubwindowSearch().argmax(scores)
        assert upper_bound == value == scores.value(box)
        assert value == pytest.approx(values.max(), rel=0, abs=atol)
        assert values[boxes.index(tuple(box))] == pytest.approx(value, rel=0, abs=atol)


@pytest.mark.parametrize("k", [1, 3, 1000])
def test_k_best(k, rng):
    for scores, boxes, values, atol in problems(rng, 30):
        found, best = SubwindowSearch().top_k(scores, k)
        assert len({tuple(box) for box in best}) == len(best) == min(k, len(boxes))
        np.testing.assert_allclose(found, np.sort(values)[::-1][:k], rtol=0, atol=atol)


def test_bound_where_a_budget_ends(rng):
    n_open = 0
    for scores, _, values, atol in problems(rng):
        for max_nodes in (1, 5, 20):
            oracle = SubwindowSearch(max_nodes=max_nodes)
            assert not oracle.exact
            box, value, upper_bound = oracle.argmax(scores)
            assert scores.value(box) == value <= values.max() + atol
            assert upper_bound >= values.max() - atol
            n_open += upper_bound > value
    assert n_open > 20


def test_time(rng):
    weights = rng.normal(size=(100, 100))
    with time_budget(1e-9, ends_oracles=True):
        assert time_left() <= 0.0
        _, value, upper_bound = SubwindowSearch().argmax(weights)
    assert value < upper_bound
    _, best, _ = SubwindowSearch().argmax(weights)
    assert value <= best <= upper_bound


def test_large_image_of_noise(rng):
    """Kadane's algorithm for all pairs of rows is the reference."""
    weights = rng.normal(size=(40, 60))
    best = -np.inf
    for top in range(40):
        total = np.zeros(60)
        for bottom in range(top, 40):
            total += weights[bottom]
            sums = np.concatenate([[0.0], np.cumsum(total)])
            best = max(best, (sums[1:] - np.minimum.accumulate(sums)[:-1]).max())
    assert SubwindowSearch().argmax(weights)[1] == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([1.0],), r"weights must have shape \(n_rows, n_columns\)"),
        (([[1.0]], (0, 0, 1, 2)), r"truth is outside of the image: \[0, 0, 1, 2\] in 1 x 1"),
        (([[1.0]], (0, 0, 0, 1)), "truth is empty"),
        (([[1.0]], (0, 0, 1)), "truth must be a box of four whole numbers"),
        (([[1.0]], (0, 0, 0.5, 1)), "truth must be a box of four whole numbers"),
        (([[1.0]], (0, 0, 1, 1), -1.0), "cost"),
    ],
)
def test_refused(given, message):
    with pytest.raises(ValueError, match=message):
        BoxScores(*given)
