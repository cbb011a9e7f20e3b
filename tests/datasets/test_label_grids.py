"""Grids of labels with patterns."""

import numpy as np
import pytest

from sklearn_fw.datasets import make_label_grids

N_LOOKS = {"stripes": 3, "checkers": 2, "bars": 2, "crosses": 2, "boxes": 2}


@pytest.mark.parametrize("pattern", sorted(N_LOOKS))
def test_shapes_and_looks(pattern):
    X, y = make_label_grids(pattern, n_samples=30, shape=(6, 9), noise=0.0, random_state=0)
    assert len(X) == len(y) == 30
    labels = np.stack(y)
    assert labels.shape == (30, 6, 9)
    assert labels.dtype == np.int64
    shown = np.stack(X)
    assert shown.shape == (30, 6, 9, N_LOOKS[pattern])
    np.testing.assert_array_equal(shown.sum(axis=-1), 1.0)
    looks = labels if pattern in {"stripes", "checkers", "boxes"} else np.minimum(labels, 1)
    np.testing.assert_array_equal(shown.argmax(axis=-1), looks)
    assert np.unique(labels).tolist() == list(
        range(3 if pattern in {"stripes", "bars", "crosses"} else 2)
    )


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
        around = crosses[
            grid, [row - 1, row + 1, row, row], [column, column, column - 1, column + 1]
        ]
        assert np.all(around > 0)
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


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"pattern": "dots"}, "pattern must be one of 'bars'"),
        ({"n_samples": 0}, "n_samples == 0"),
        ({"noise": -1.0}, "noise == -1.0"),
        ({"shape": (3, 9)}, "shape == 3, must be >= 4"),
        ({"shape": 5}, "shape must be a tuple"),
    ],
)
def test_wrong_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        make_label_grids(**params)
