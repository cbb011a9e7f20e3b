"""Boxes in images: by branch and bound, and as lists of candidates."""

import numpy as np
import pytest

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import BoxModel, EnumeratedModel
from sklearn_fw.task_losses import BoxLoss


def images(rng, n_samples, shape=(14, 18)):
    """A thing in noise: its pixels look different, and there are others that look like it."""
    X, y = [], []
    for _ in range(n_samples):
        height, width = rng.integers(4, 9, size=2)
        top, left = rng.integers(0, [shape[0] - height + 1, shape[1] - width + 1])
        y.append((top, left, top + height, left + width))
        x = rng.normal(size=(*shape, 3))
        x[top : top + height, left : left + width, 0] += 1.5
        x[:, :, 2] = 1.0
        X.append(x)
    return X, y


@pytest.mark.slow
def test_learned_boxes(rng):
    X, y = images(rng, 40)
    svm = StructuredSVM(BoxModel(), random_state=0).fit(X[:20], y[:20])
    assert svm.converged_
    assert svm.coef_[0] > 0 > svm.coef_[2]
    assert svm.score(X[20:], y[20:]) > 0.8
    box = svm.predict(X[:1])[0]
    assert box.shape == (4,)
    assert svm.loss(X[:1], y[:1])[0] == BoxLoss().value(y[0], box)


def test_same_optimum_as_a_list_of_all_boxes(rng):
    X = [rng.normal(size=(5, 6, 3)) for _ in range(4)]
    y = [(0, 1, 3, 4), (1, 1, 4, 4), (2, 0, 5, 3), (1, 2, 5, 6)]
    boxes = [
        (t, l, b, r)
        for t in range(5) for b in range(t + 1, 6) for l in range(6) for r in range(l + 1, 7)
    ]  # fmt: skip
    model = BoxModel().initialize(X, y)
    lists = [np.array([model.joint_feature(x, box) for box in boxes]) for x in X]
    costs = [np.array([BoxLoss().value(truth, box) for box in boxes]) for truth in y]
    settings = {
        "C": 0.1, "solver": "bcpfw", "tol": 1e-5, "max_iter": 2000, "random_state": 0,
    }  # fmt: skip
    svm = StructuredSVM(BoxModel(), **settings).fit(X, y)
    other = StructuredSVM(EnumeratedModel(), **settings).fit(lists, costs)
    assert svm.objective_ == pytest.approx(other.objective_, rel=2e-5)
    np.testing.assert_allclose(svm.coef_, other.coef_, rtol=0, atol=1e-2 * np.abs(svm.coef_).max())


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([0.0, 1.0], r"y\[0\] has 2 costs for 3 candidates"),
        ([1.0, 1.0, 0.5], "zero for the true one"),
        ([0.0, -1.0, 1.0], "not negative"),
        ([0.0, np.nan, 1.0], r"y\[0\] must be finite"),
        ([[0.0, 1.0, 1.0]], r"must be a vector of costs"),
    ],
)
def test_refused_costs(costs, message):
    with pytest.raises(ValueError, match=message):
        EnumeratedModel().initialize([np.eye(3)], [costs])


IMAGE = np.zeros((4, 5, 2))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([IMAGE[0]], [(0, 0, 1, 1)], r"X\[0\] must have shape \(n_rows, n_columns, n_features\)"),
        ([IMAGE, IMAGE[:, :, :1]], [(0, 0, 1, 1)] * 2, r"X\[1\] must have shape .*, 2\)"),
        ([IMAGE], [(0, 0, 5, 1)], r"y\[0\] is outside of the image: \[0, 0, 5, 1\] in 4 x 5"),
        ([IMAGE], [(2, 0, 1, 1)], r"y\[0\] is empty"),
        ([IMAGE], [(0, 0)], r"y\[0\] must be a box of four whole numbers"),
    ],
)
def test_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        BoxModel().initialize(X, y)
