"""Snakes: each cell is followed by that which its colour says."""

import numpy as np
import pytest

from sklearn_fw.datasets import make_snakes, snake_graphs

STEPS = {0: (-1, 0), 1: (1, 0), 2: (0, -1), 3: (0, 1)}


@pytest.mark.parametrize("length, margin", [(2, 0), (10, 1), (15, 2)])
def test_colours_lead_from_head_to_tail(length, margin):
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


def test_the_same_seed_makes_the_same_pictures():
    a, b = (make_snakes(2, n_test=0, random_state=3, return_X_y=True) for _ in range(2))
    np.testing.assert_array_equal(a[0][1], b[0][1])


def test_graphs_hold_the_cells_around():
    x = make_snakes(1, n_test=0, random_state=0).X[0]
    (nodes, (right, down), (z, _)), (_, plain) = snake_graphs([x])[0], snake_graphs([x], False)[0]
    n_rows, n_columns, _ = x.shape
    middle = nodes.reshape(n_rows, n_columns, 9, 5)
    np.testing.assert_array_equal(middle[:, :, 4], x)
    np.testing.assert_array_equal(middle[1:, :, 1], x[:-1])
    assert np.all(middle[0, :, :3] == 0)
    np.testing.assert_array_equal(right[:, 0] + 1, right[:, 1])
    np.testing.assert_array_equal(down[:, 0] + n_columns, down[:, 1])
    np.testing.assert_array_equal(z, np.hstack([nodes[right[:, 0]], nodes[right[:, 1]]]))
    np.testing.assert_array_equal(plain[1], down)


@pytest.mark.parametrize(
    "settings, message",
    [({"length": 1}, "length"), ({"n_samples": 0}, "n_samples"), ({"margin": -1}, "margin")],
)
def test_refusals(settings, message):
    with pytest.raises(ValueError, match=message):
        make_snakes(**settings)


def test_pictures_have_three_axes():
    with pytest.raises(ValueError, match=r"X\[0\] must have shape"):
        snake_graphs([np.ones((3, 3))])
