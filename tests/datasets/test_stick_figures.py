"""Stick figures: what is in them, and that seeds say which."""

import numpy as np
import pytest

from sklearn_fw.datasets import make_stick_figures


def test_joints_are_spots_in_their_maps():
    figures = make_stick_figures(20, noise=0.0, n_distractors=0, random_state=0)
    looks = dict(zip(figures.feature_names, range(7)))
    for x, pose, picture in zip(figures.X, figures.y, figures.images, strict=True):
        assert x.shape == (64, 64, 7)
        assert picture.shape == (64, 64)
        for name, (row, column) in zip(figures.joint_names, pose, strict=True):
            assert x[row, column, looks[name.split()[-1]]] >= 0.7
            assert picture[row, column] > 0.5 or name == "head"
    assert sorted(figures.edges[:, 1]) == list(range(1, 11))  # a tree: each has one before


def test_size_noise_and_distractors():
    few = make_stick_figures(3, n_rows=32, n_columns=80, noise=0.0, random_state=0)
    none = make_stick_figures(
        3, n_rows=32, n_columns=80, noise=0.0, n_distractors=0, random_state=0
    )
    assert few.X[0].shape == (32, 80, 7)
    assert few.X[0].sum() > none.X[0].sum() + 7 * 3
    assert np.all([pose.max(axis=0) < (32, 80) for pose in few.y])


@pytest.mark.parametrize(
    "params",
    [{"n_samples": 0}, {"n_rows": 31}, {"n_columns": 2}, {"noise": -1.0}, {"n_distractors": -1}],
)
def test_refused(params):
    with pytest.raises(ValueError, match=next(iter(params))):
        make_stick_figures(**params)
