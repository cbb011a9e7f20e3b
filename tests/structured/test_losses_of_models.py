"""Task losses in models: values, augmented oracles and optima against all outputs."""

import numpy as np
import pytest
from sklearn.base import clone

from _matchings import all_matchings
from _references import all_labelings, solve_structured_svm
from _task_losses import BLOCKS, COSTS, NAMES, Steps
from sklearn_fw import StructuredSVM
from sklearn_fw.structured import ChainModel, MatchingModel, MulticlassModel, MultilabelModel
from sklearn_fw.task_losses import (
    BlockLoss,
    HammingLoss,
    LinkLoss,
    MatrixLoss,
    OverlapLoss,
    ZeroOneLoss,
)

# ---- models --------------------------------------------------------------------------------------


def chain(rng, task_loss, **params):
    X = [rng.normal(size=(n, 2)) for n in (3, 1, 4, 2)]
    y = [NAMES[[0, 1, 2]], *(NAMES[rng.integers(3, size=len(x))] for x in X[1:])]
    outputs = [[NAMES[s] for s in all_labelings(len(x), 3)] for x in X]
    return ChainModel(task_loss, **params).initialize(X, y), X, y, outputs


def classes(rng, task_loss, **params):
    X, y = rng.normal(size=(5, 2)), NAMES[[0, 1, 2, 1, 0]]
    return MulticlassModel(task_loss, **params).initialize(X, y), X, y, [NAMES] * 5


def labels(rng, task_loss, **params):
    X, y = rng.normal(size=(5, 2)), rng.integers(2, size=(5, 3))
    model = MultilabelModel(task_loss=task_loss, **params).initialize(X, y)
    return model, X, y, [all_labelings(3, 2)] * 5


def links(rng, task_loss, **params):
    X = [rng.normal(size=(*shape, 2)) for shape in ((2, 3), (2, 2), (1, 2))]
    outputs = [all_matchings(*x.shape[:2], False) for x in X]
    y = [some[rng.integers(len(some))] for some in outputs]
    return MatchingModel(task_loss, **params).initialize(X, y), X, y, outputs


def hamming(true, made):
    return np.sum(np.asarray(true) != made)


def weigh(true, made, costs):
    places = [np.atleast_1d(np.searchsorted(NAMES, y)) for y in (true, made)]
    return costs[tuple(places)].sum()


# {name: (model, task_loss, other parameters, the training loss of two outputs)}
UP = np.array([[0.0, 2.0, 4.0], [1.0, 0.0, 2.0], [2.0, 1.0, 0.0]])
PAIRS = {
    "chain, matrix": (chain, COSTS, {}, lambda a, b: weigh(a, b, COSTS)),
    "chain, matrix and weights": (
        chain, MatrixLoss(COSTS), {"class_weight": {"c": 3.0}},
        lambda a, b: weigh(a, b, COSTS * [[1.0], [1.0], [3.0]]),
    ),
    "chain, blocks": (
        chain, BlockLoss(BLOCKS), {},
        lambda a, b: weigh(a, b, np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]])),
    ),
    "chain, whole": (chain, ZeroOneLoss(), {}, lambda a, b: float(np.any(a != b))),
    "chain, overlap": (
        chain, OverlapLoss(["b"]), {},
        lambda a, b: hamming(a == "b", b == "b") / max(np.sum(a == "b"), 1),
    ),
    "chain, own": (chain, Steps(more=2.0), {}, lambda a, b: weigh(a, b, UP)),
    "classes, own": (classes, Steps(more=2.0), {}, lambda a, b: weigh(a, b, UP)),
    "classes, whole": (classes, ZeroOneLoss(), {}, lambda a, b: float(a != b)),
    "classes, blocks": (
        classes, BlockLoss(BLOCKS, within=0.5), {"class_weight": {"a": 2.0}},
        lambda a, b: weigh(a, b, np.array([[0, 1, 2], [0.5, 0, 1], [1, 1, 0]])),
    ),
    "labels, own": (labels, Steps(), {}, hamming),
    "labels, weights of nodes": (
        labels, HammingLoss(node_weight=[1.0, 2.0, 5.0]), {},
        lambda a, b: np.array([1.0, 2.0, 5.0]) @ (a != b) / 8.0,
    ),
    "labels, matrix": (
        labels, [[0, 1], [4, 0]], {}, lambda a, b: np.sum((a < b) + 4.0 * (a > b)),
    ),
    "links, number": (links, "hamming_sum", {}, hamming),
    "links, share": (links, HammingLoss(), {}, lambda a, b: hamming(a, b) / np.size(a)),
    "links, costs": (
        links, LinkLoss(2.0, 0.5, normalize=False), {},
        lambda a, b: np.sum(2.0 * (a < b) + 0.5 * (a > b)),
    ),
    "links, matrix": (
        links, MatrixLoss([[0, 2], [0.5, 0]]), {},
        lambda a, b: np.sum(2.0 * (a < b) + 0.5 * (a > b)),
    ),
    "links, overlap": (
        links, OverlapLoss(), {}, lambda a, b: hamming(a, b) / max(np.sum(a), 1),
    ),
    "links, own": (
        links, Steps(more=3.0), {}, lambda a, b: np.sum(3.0 * (a < b) + 1.0 * (a > b)),
    ),
}  # fmt: skip
every_pair = pytest.mark.parametrize("name", PAIRS)


@every_pair
def test_models_against_all_outputs(name, rng):
    """Losses follow the definition, and the augmented oracle finds the best of all outputs."""
    make, task_loss, params, expected = PAIRS[name]
    for _ in range(5):
        model, X, y, outputs = make(rng, task_loss, **params)
        w = rng.normal(size=model.size_joint_feature)
        for x, truth, some in zip(X, y, outputs):
            losses = np.array([model.loss(truth, output) for output in some])
            np.testing.assert_allclose(
                losses, [expected(truth, output) for output in some], rtol=1e-12, atol=1e-14
            )
            values = np.array([w @ model.joint_feature(x, output) for output in some])
            best = model.loss_augmented_inference(x, truth, w)
            found = w @ model.joint_feature(x, best) + model.loss(truth, best)
            np.testing.assert_allclose(found, (values + losses).max(), rtol=1e-10)


@every_pair
def test_training_reaches_the_optimum_of_all_outputs(name, rng):
    """The objective is that of a quadratic program with one constraint per output."""
    make, task_loss, params, expected = PAIRS[name]
    model, X, y, outputs = make(rng, task_loss, **params)
    psi = [
        np.array([model.joint_feature(x, truth) - model.joint_feature(x, o) for o in some])
        for x, truth, some in zip(X, y, outputs)
    ]
    losses = [
        np.array([expected(truth, o) for o in some], float) for truth, some in zip(y, outputs)
    ]
    n = len(psi)
    _, value = solve_structured_svm(psi, losses, np.full(n, 1 / n), 1 / (0.5 * n))
    svm = StructuredSVM(
        clone(model), C=0.5, solver="bcpfw", tol=1e-7, max_iter=20_000, random_state=0
    ).fit(X, y)
    assert svm.converged_
    np.testing.assert_allclose(svm.objective_, value, rtol=1e-6)
    if make is not links:
        assert svm._make_blocks(X, y, None)[0].is_compiled


def test_judged_by_the_value_where_costs_are_a_bound(rng):
    X, y = [rng.normal(size=(4, 2))], [np.array(["b", "a", "b", "c"])]
    svm = StructuredSVM("chain", task_loss=OverlapLoss(["b"]), C=1.0).fit(X, y)
    other = [np.array(["b", "b", "a", "b"])]
    model = svm.model_
    assert model.loss(y[0], other[0]) == 3 / 2  # two false positives, one missed, two true
    np.testing.assert_allclose(model._losses(y, other), [3 / 4])
    made = svm.predict(X)
    np.testing.assert_allclose(svm.loss(X, y), [OverlapLoss(["b"]).value(y[0], made[0])])


def test_unknown_labels_cost_one(rng):
    X = [rng.normal(size=(4, 2))]
    svm = StructuredSVM("chain", task_loss=3.0 * COSTS, C=1.0).fit(X, [[*NAMES, "a"]])
    made = svm.predict(X)
    with pytest.warns(UserWarning, match="labels that were not seen in fit"):
        loss = svm.loss(X, [["z", *made[0][1:]]])
    assert loss.tolist() == [1.0]
