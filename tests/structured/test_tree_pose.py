"""Models of poses: features, losses and what they learn."""

import itertools

import numpy as np
import pytest

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_stick_figures
from sklearn_fw.structured import BlockFrankWolfe, TreePoseModel
from sklearn_fw.task_losses import DistanceLoss, HammingLoss


def small_problem(rng, n_samples=6, shape=(4, 5), n_joints=3):
    X = [rng.normal(size=(*shape, 2)) for _ in range(n_samples)]
    y = [np.column_stack([rng.integers(n, size=n_joints) for n in shape]) for _ in range(n_samples)]
    return X, y


def weights_of(model, rng):
    return np.maximum(rng.normal(size=model.size_joint_feature), model.bounds()[0])


@pytest.mark.parametrize("n_types", [1, 2])
def test_scores_are_linear_in_features(n_types, rng):
    X, y = small_problem(rng)
    model = TreePoseModel([(0, 1), (2, 1)], n_types=n_types).initialize(X, y)
    w = weights_of(model, rng)
    for x in X:
        scores = model.scores(x, w)
        pose, value, _ = model.default_oracle().argmax(scores)
        assert w @ model.joint_feature(x, pose) == pytest.approx(value, rel=1e-12)
        assert value == pytest.approx(scores.value(pose[:, :2]), rel=1e-12)
        for truth in y:  # nearest anchors are some types, the best ones score no less
            assert w @ model.joint_feature(x, truth) <= scores.value(truth) + 1e-12


@pytest.mark.slow
def test_loss_augmented_inference_is_exact(rng):
    X, y = small_problem(rng, shape=(3, 4))
    loss = DistanceLoss(2.5, unit="pixel")
    model = TreePoseModel([(0, 1), (0, 2)], task_loss=loss).initialize(X, y)
    pixels = list(itertools.product(range(3), range(4)))
    poses = [np.array(pose) for pose in itertools.product(pixels, repeat=3)]
    for x, truth in zip(X, y, strict=True):
        w = 0.3 * weights_of(model, rng)
        value = [w @ model.joint_feature(x, p) + model.loss(truth, p) for p in poses]
        best = model.loss_augmented_inference(x, truth, w)
        found = w @ model.joint_feature(x, best) + model.loss(truth, best)
        assert found == pytest.approx(max(value), rel=1e-12)


@pytest.mark.slow
def test_solvers_agree_and_keep_the_bounds(rng):
    X, y = small_problem(rng)
    objectives = []
    for solver in ("bcpfw", "bcafw", BlockFrankWolfe("pairwise", cache=True)):
        svm = StructuredSVM(
            TreePoseModel([(0, 1), (1, 2)]), solver=solver, C=0.5, tol=1e-4, max_iter=3000,
            random_state=0,
        ).fit(X, y)  # fmt: skip
        assert svm.converged_
        assert svm.feature_weights()["deformation"][:, :, ::2].min() >= 0.0
        objectives.append(svm.objective_)
        assert svm.dual_gap_ <= 1e-4 * svm.objective_ * (1 + 1e-9)
    np.testing.assert_allclose(objectives, objectives[0], rtol=1e-4)


@pytest.mark.slow
def test_stick_figures():
    figures = make_stick_figures(60, noise=0.2, random_state=0)
    train, test = slice(0, 30), slice(30, 60)
    scores = {}
    for name, edges in {"alone": [], "auto": "auto", "given": figures.edges}.items():
        svm = StructuredSVM(TreePoseModel(edges), random_state=0)
        svm.fit(figures.X[train], figures.y[train])
        scores[name] = svm.score(figures.X[test], figures.y[test])
        assert svm.converged_
    assert scores["alone"] < 0.4
    assert scores["auto"] > 0.85
    assert scores["given"] > 0.85


def test_tree_of_least_variance(rng):
    y = [np.cumsum([(5, 5), *rng.integers(-1, 2, size=(3, 2))], axis=0) for _ in range(40)]
    X = [np.zeros((12, 12, 1)) for _ in y]
    model = TreePoseModel().initialize(X, y)
    assert sorted(map(sorted, model.edges_.tolist())) == [[0, 1], [1, 2], [2, 3]]
    np.testing.assert_allclose(
        model.anchors_[:, 0], np.diff(y, axis=1).mean(axis=0), rtol=0, atol=1e-12
    )


@pytest.mark.slow
def test_types_are_learned(rng):
    """An arm to the left or to the right: one spring pulls to the middle, two do not."""
    X, y = [], []
    for i in range(40):
        x = 0.1 * rng.normal(size=(5, 30, 2))
        row, column, side = rng.integers(5), rng.integers(11, 19), 8 * (-1) ** i
        x[row, column, 0] += 2.0
        x[row, [column + side, column - side // 2], 1] += 1.0
        X.append(x)
        y.append([(row, column), (row, column + side)])
    scores = []
    for n_types in (1, 2):
        svm = StructuredSVM(TreePoseModel([(0, 1)], n_types=n_types), random_state=0)
        scores.append(svm.fit(X[:30], y[:30]).score(X[30:], y[30:]))
    assert scores[0] < 0.9
    assert scores[1] == pytest.approx(1.0)
    assert svm.predict(X[:1])[0].shape == (2, 3)
    assert len(np.unique([pose[:, 2].sum() for pose in svm.predict(X[30:])])) == 2


IMAGE, POSE = np.zeros((4, 5, 2)), np.array([(0, 0), (1, 1), (2, 3)])


@pytest.mark.parametrize(
    ("parameters", "X", "y", "message"),
    [
        ({}, [IMAGE[0]], [POSE], r"X\[0\] must have shape \(n_rows, n_columns, n_features\)"),
        ({}, [IMAGE, IMAGE[:, :, :1]], [POSE] * 2, r"X\[1\] must have shape .*, 2\)"),
        ({}, [IMAGE], [POSE + 3], r"y\[0\] places joint 1 at \(4, 4\), outside of the image"),
        ({}, [IMAGE], [POSE - 1], r"y\[0\] places joint 0 at \(-1, -1\), outside"),
        ({}, [IMAGE], [POSE + 0.5], r"y\[0\] must hold whole numbers, the row and the column"),
        ({}, [IMAGE] * 2, [POSE, POSE[:2]], r"y\[1\] must hold .* for each of 3 joints"),
        ({}, [IMAGE], [POSE[:, 0]], r"y\[0\] must have shape \(n_joints, 2\)"),
        ({"edges": [(0, 1), (1, 2), (2, 0)]}, [IMAGE], [POSE], "edges must form a tree"),
        ({"edges": [(0, 3)]}, [IMAGE], [POSE], "edges must name joints 0 to 2"),
        ({"edges": "chain"}, [IMAGE], [POSE], "edges must be 'auto' or pairs of joints"),
        ({"n_types": 2}, [IMAGE], [POSE], "n_types=2, but the edge .* take fewer types"),
        ({"task_loss": DistanceLoss(unit=(0, 7))}, [IMAGE], [POSE], "two joints below 3"),
        ({"task_loss": DistanceLoss(unit="m")}, [IMAGE], [POSE], "unit must be 'box', 'pixel'"),
        ({"task_loss": "hamming"}, [IMAGE], [POSE], "task_loss must be one of 'distance'"),
    ],
)
def test_refused(parameters, X, y, message):
    with pytest.raises(ValueError, match=message):
        TreePoseModel(**parameters).initialize(X, y)


def test_refused_later():
    with pytest.raises(TypeError, match="has no method position_costs: take"):
        TreePoseModel(task_loss=HammingLoss()).initialize([IMAGE], [POSE])
    model = TreePoseModel([(0, 1)]).initialize([IMAGE], [POSE])
    w = np.full(model.size_joint_feature, -1.0)
    with pytest.raises(ValueError, match="w has negative weights of squared displacements"):
        model.scores(IMAGE, w)
    with pytest.raises(ValueError, match="which solver Subgradient cannot keep"):
        StructuredSVM(model, solver="subgradient").fit([IMAGE], [POSE])
