"""Grids of labels with patterns, and snakes: each cell is followed by that which its color says."""

import numpy as np
import pytest

from sklearn_fw.datasets import make_label_grids, make_snakes

N_LOOKS = {"stripes": 3, "checkers": 2, "bars": 2, "crosses": 2, "boxes": 2}
STEPS = {0: (-1, 0), 1: (1, 0), 2: (0, -1), 3: (0, 1)}


@pytest.mark.parametrize("pattern", sorted(N_LOOKS))
def test_shapes_and_looks(pattern):
    X, y = make_label_grids(pattern, n_samples=30, shape=(6, 9), noise=0.0, random_state=0)
    labels, shown = np.stack(y), np.stack(X)
    assert labels.shape == (30, 6, 9)
    assert labels.dtype == np.int64
    assert shown.shape == (30, 6, 9, N_LOOKS[pattern])
    np.testing.assert_array_equal(shown.sum(axis=-1), 1.0)
    looks = labels if pattern in {"stripes", "checkers", "boxes"} else np.minimum(labels, 1)
    np.testing.assert_array_equal(shown.argmax(axis=-1), looks)
    n_labels = 2 if pattern in {"checkers", "boxes"} else 3
    assert np.unique(labels).tolist() == list(range(n_labels))


def test_patterns():
    def drawn(pattern):
        return np.stack(make_label_grids(pattern, n_samples=50, shape=(6, 9), random_state=1)[1])

    stripes = drawn("stripes")
    np.testing.assert_array_equal(stripes[:, :, ::3], np.broadcast_to([0, 1, 2], (50, 6, 3)))
    checkers = drawn("checkers")
    assert np.all(checkers[:, 1:] != checkers[:, :-1])
    assert np.all(checkers[:, :, 1:] != checkers[:, :, :-1])
    np.testing.assert_array_equal(drawn("boxes").sum(axis=(1, 2)), 4)
    crosses = drawn("crosses")
    for grid, row, column in zip(*np.nonzero(crosses == 2)):
        rows, columns = [row - 1, row + 1, row, row], [column, column, column - 1, column + 1]
        assert np.all(crosses[grid, rows, columns] > 0)
    assert set(np.count_nonzero(crosses == 2, axis=(1, 2))) == {1, 2}
    bars = drawn("bars")
    assert np.all(np.count_nonzero(bars, axis=(1, 2)) <= 6)
    assert np.all((bars == 2).sum(axis=1).max(axis=1) <= 6)


def test_noise_and_random_state():
    X, y = make_label_grids(n_samples=200, noise=0.5, random_state=2)
    residue = np.stack(X) - np.eye(2)[np.minimum(np.stack(y), 1)]
    np.testing.assert_allclose(residue.std(), 0.5, rtol=0.02)
    again = make_label_grids(n_samples=200, noise=0.5, random_state=2)
    np.testing.assert_array_equal(np.stack(X), np.stack(again[0]))


@pytest.mark.parametrize("length, margin", [(2, 0), (10, 1), (15, 2)])
def test_colors_lead_from_head_to_tail(length, margin):
    data = make_snakes(5, length, 3, margin, random_state=0)
    assert len(data.X) == len(data.y) == 5
    assert len(data.X_test) == len(data.y_test) == 3
    for x, y in zip(data.X + data.X_test, data.y + data.y_test):
        np.testing.assert_array_equal(x.sum(axis=2), 1.0)
        np.testing.assert_array_equal(x[..., 4] == 1, y == 0)
        cells = {int(y[p]): p for p in zip(*np.nonzero(y))}
        assert sorted(cells) == list(range(1, length + 1))
        for k in range(1, length):
            step = STEPS[int(x[cells[k]].argmax())]
            assert tuple(np.add(cells[k], step)) == cells[k + 1]


def test_graphs_hold_the_cells_around():
    """Of the pictures of the same seed."""
    (x,), (y,) = make_snakes(1, n_test=0, random_state=0, return_X_y=True)[:2]
    options = {"n_test": 0, "random_state": 0}
    data = make_snakes(1, form="edge_features", **options)
    nodes, (right, down), (z, _) = data.X[0]
    plain = make_snakes(1, form="graph", **options).X[0]
    np.testing.assert_array_equal(data.y[0], y.ravel())
    n_rows, n_columns, _ = x.shape
    middle = nodes.reshape(n_rows, n_columns, 9, 5)
    np.testing.assert_array_equal(middle[:, :, 4], x)
    np.testing.assert_array_equal(middle[1:, :, 1], x[:-1])
    assert np.all(middle[0, :, :3] == 0)
    np.testing.assert_array_equal(right[:, 0] + 1, right[:, 1])
    np.testing.assert_array_equal(down[:, 0] + n_columns, down[:, 1])
    np.testing.assert_array_equal(z, np.hstack([nodes[right[:, 0]], nodes[right[:, 1]]]))
    np.testing.assert_array_equal(plain[0], nodes)
    np.testing.assert_array_equal(plain[1][1], down)


@pytest.mark.parametrize(
    ("make", "params", "message"),
    [
        (make_label_grids, {"pattern": "dots"}, "pattern must be one of 'bars'"),
        (make_label_grids, {"shape": (3, 9)}, "shape == 3, must be >= 4"),
        (make_label_grids, {"shape": (5,)}, "shape must be a list of 2 sides"),
        (make_snakes, {"length": 1}, "length"),
    ],
)
def test_wrong_parameters_are_refused(make, params, message):
    with pytest.raises(ValueError, match=message):
        make(**params)
