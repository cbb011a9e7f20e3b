"""Graphs whose neighbors prefer to agree: objective, bounds, weights of nodes, what is refused."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from _references import solve_structured_svm
from sklearn_fw import StructuredSVM
from sklearn_fw.inference import GraphCut, TreeMaxProduct
from sklearn_fw.structured import BlockFrankWolfe, GraphCutModel, GraphModel
from sklearn_fw.task_losses import HammingLoss, OverlapLoss, Truth, ZeroOneLoss

budget_may_end = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}"
)
WITH_BOXES = ("bcfw", "bcpfw", "bcafw", "bchybrid", "cached", "sdm", "fw")
SHAPES = {  # nodes and edges: rings, two components, an edge twice, no edges, one node
    "ring": (4, [(0, 1), (1, 2), (2, 3), (3, 0)]),
    "apart": (6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]),
    "twice": (3, [(0, 1), (1, 0), (1, 2), (2, 0)]),
    "none": (2, []),
    "single": (1, []),
    "dense": (5, list(itertools.combinations(range(5), 2))),
}


def make_graphs(rng, n_repeats=2, agree=True):
    X, y = [], []
    for n_nodes, edges in list(SHAPES.values()) * n_repeats:
        labels = rng.integers(2, size=n_nodes)
        edges = np.array(edges, np.int64).reshape(-1, 2)
        same = labels[edges[:, 0]] == labels[edges[:, 1]]
        likeness = rng.uniform(0.2, 1.0, (len(edges), 2)) + (same == agree)[:, None]
        features = labels[:, None] - 0.5 + rng.normal(size=(n_nodes, 2))
        X.append((features, edges, likeness, rng.uniform(0.5, 2.0, n_nodes)))
        y.append(labels)
    return X, y


def loss_by_hand(true, made, areas):
    """Half of the wrong area of each label, or all of that of the only one."""
    shares = [
        areas[(true == k) & (made != k)].sum() / areas[true == k].sum() for k in np.unique(true)
    ]
    return np.mean(shares)


def listed(X, y):
    """Features of the paper, energies turned: [y = 1] - [y = 0], and -[differ]."""
    psi, losses = [], []
    for (features, edges, likeness, areas), true in zip(X, y):
        outputs = np.array(list(itertools.product([0, 1], repeat=len(true))))

        def phi(made, features=features, edges=edges, likeness=likeness):
            differ = made[edges[:, 0]] != made[edges[:, 1]]
            return np.concatenate([features.T @ (2.0 * made - 1.0), -likeness.T @ differ])

        psi.append(np.array([phi(true) - phi(made) for made in outputs]))
        losses.append(np.array([loss_by_hand(true, made, areas) for made in outputs]))
    return psi, losses


# ---- the problem -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("agree", [True, False])
def test_objective_of_the_paper(agree, rng):
    X, y = make_graphs(rng, agree=agree)
    model, C, n = GraphCutModel(fit_intercept=False), 3.0, len(X)
    svm = StructuredSVM(model, C=C, solver="bcpfw", tol=1e-8, max_iter=3000, random_state=0)
    svm.fit(X, y)
    lower = np.array([-np.inf, -np.inf, 0.0, 0.0])
    # W[:, 1] = -W[:, 0] = u: the squared norm is twice that of (u, v).
    w, objective = solve_structured_svm(*listed(X, y), np.full(n, 1 / n), 2 / (C * n), lower)
    assert svm.objective_ == pytest.approx(objective, rel=1e-6)
    found = svm.model_.unpack(svm.coef_)
    np.testing.assert_allclose(found["nodes"][0], np.stack([-w[:2], w[:2]], 1), rtol=0, atol=1e-4)
    np.testing.assert_allclose(found["edges"], w[2:], rtol=0, atol=1e-4)
    if agree:
        assert np.any(found["edges"] > 0.01)
    else:
        assert np.all(found["edges"] < 1e-4)


@pytest.mark.slow
@budget_may_end
@pytest.mark.parametrize("solver", WITH_BOXES)
@pytest.mark.parametrize("agree", [True, False])
def test_solvers_keep_the_box(solver, agree, rng):
    X, y = make_graphs(rng, agree=agree)
    svm = StructuredSVM(GraphCutModel(), C=2.0, solver=solver, max_iter=30, random_state=0)
    svm.fit(X, y)
    tables = svm.coef_[svm.model_._cut :].reshape(-1, 2, 2)
    assert np.all(tables <= 0.0)
    np.testing.assert_array_equal(tables[:, [0, 1], [0, 1]], 0.0)
    np.testing.assert_allclose(tables[:, 0, 1], tables[:, 1, 0], rtol=1e-12, atol=0)
    gap, objective = svm.dual_gap_, svm.objective_
    exact = StructuredSVM(
        GraphCutModel(), C=2.0, solver="bcpfw", tol=1e-8, max_iter=3000, random_state=0
    ).fit(X, y)
    assert objective - gap <= exact.objective_ + 1e-9
    assert objective >= exact.objective_ * (1 - 1e-7)


@pytest.mark.parametrize("solver", ["subgradient", "perceptron", "sp_fw", "sp_bcfw"])
def test_solvers_without_a_box_are_refused(solver, rng):
    with pytest.raises(ValueError, match="has bounds on the weights, which solver"):
        StructuredSVM(GraphCutModel(), solver=solver).fit(*make_graphs(rng))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_predictions_are_the_best_labelings(name, rng):
    X, y = make_graphs(rng)
    svm = StructuredSVM(GraphCutModel(), C=2.0, random_state=0).fit(X, y)
    assert type(svm.model_.default_oracle()) is GraphCut
    i = list(SHAPES).index(name)
    outputs = [np.array(made) for made in itertools.product([0, 1], repeat=len(y[i]))]
    values = [svm.coef_ @ svm.model_.joint_feature(X[i], made) for made in outputs]
    best = svm.predict(X[i : i + 1])[0]
    assert svm.coef_ @ svm.model_.joint_feature(X[i], best) == pytest.approx(max(values))
    assert svm.score_samples(X[i : i + 1])[0] == pytest.approx(max(values))
    augmented = [value + loss_by_hand(y[i], made, X[i][3]) for value, made in zip(values, outputs)]
    found = svm.model_.loss_augmented_inference(X[i], y[i], svm.coef_)
    assert augmented[[*map(tuple, outputs)].index(tuple(found))] == pytest.approx(max(augmented))


@pytest.mark.slow
def test_forests_have_compiled_passes(rng):
    X, y = make_graphs(rng)
    X = [(features, np.empty((0, 2), np.int64)) for features, *_ in X]
    svm = StructuredSVM(GraphCutModel(), C=2.0).fit(X, y)
    assert type(svm.model_.default_oracle()) is TreeMaxProduct
    np.testing.assert_array_equal(svm.model_.unpack(svm.coef_)["edges"], 0.0)


@pytest.mark.slow
def test_more_than_two_labels(rng):
    X, y = make_graphs(rng)
    y = [np.where(rng.random(len(own)) < 0.3, 2, own) for own in y]
    svm = StructuredSVM(GraphCutModel(), C=2.0, random_state=0).fit(X, y)
    assert np.all(svm.model_.unpack(svm.coef_)["edges"] >= 0.0)
    assert {label for own in svm.predict(X) for label in own} <= {0, 1, 2}


# ---- weights of nodes --------------------------------------------------------------------------


@pytest.mark.slow
def test_weights_of_nodes_in_fit_and_score(rng):
    X, y = make_graphs(rng)
    svm = StructuredSVM(GraphCutModel(), C=2.0, random_state=0).fit(X, y)
    made = svm.predict(X)
    losses = [loss_by_hand(true, own, x[3]) for x, true, own in zip(X, y, made)]
    np.testing.assert_allclose(svm.loss(X, y), losses, rtol=1e-12, atol=1e-12)
    assert svm.score(X, y) == pytest.approx(1 - np.mean(losses))
    plain = StructuredSVM(GraphCutModel(), C=2.0, random_state=0).fit([x[:3] for x in X], y)
    assert np.abs(plain.coef_ - svm.coef_).max() > 1e-3


def test_weights_of_zero_leave_nodes_out(rng):
    X, y = make_graphs(rng)
    X = [(*x[:3], np.where(np.arange(len(own)) == 0, 0.0, 1.0)) for x, own in zip(X, y)]
    turned = [np.where(np.arange(len(own)) == 0, 1 - own, own) for own in y]
    model = GraphModel("hamming").initialize(X, y)
    rows = model._stack(X)
    costs = model._costs(model._encode(y, rows.node_start), rows.node_start, None, rows.weight)
    truth = Truth(
        model._encode(y, rows.node_start), rows.node_start, (np.arange(2),), weight=rows.weight
    )
    losses = costs.losses(truth, model._encode(turned, rows.node_start))
    np.testing.assert_array_equal(losses, 0.0)


def test_balanced_samples():
    loss = HammingLoss(class_weight="balanced_sample")
    assert loss.value([0, 0, 0, 1], [0, 1, 1, 1]) == pytest.approx(1 / 3)
    assert loss.value([0, 0, 0, 1], [0, 0, 0, 0]) == pytest.approx(1 / 2)
    assert loss.value([1, 1, 1, 1], [0, 1, 1, 1]) == pytest.approx(1 / 4)  # of the only label
    total = HammingLoss(normalize=False, class_weight="balanced_sample")
    assert total.value([0, 0, 0, 1], [1, 1, 1, 0]) == pytest.approx(4.0)
    truth = Truth(
        np.array([0, 0, 1]), np.array([0, 3]), (np.arange(2),), weight=np.array([3.0, 1.0, 2.0])
    )
    np.testing.assert_allclose(
        loss.node_costs(truth).dense(), [[0, 3 / 8], [0, 1 / 8], [1 / 2, 0]], rtol=1e-12
    )
    unlabeled = Truth(np.array([0, 0, 1, -2]), np.array([0, 4]), (np.arange(2),))
    np.testing.assert_allclose(
        total.node_costs(unlabeled).factor, [0.75, 0.75, 1.5, 0.0], rtol=1e-12
    )
    with pytest.raises(ValueError, match="needs nodes of one kind"):
        loss.node_costs(truth._replace(kind=np.zeros(3, int)))


def test_weights_of_classes_multiply_those_of_nodes():
    truth = Truth(np.array([0, 1]), np.array([0, 2]), (np.arange(2),), weight=np.array([2.0, 3.0]))
    loss = HammingLoss(normalize=False, class_weight={0: 10.0})
    np.testing.assert_array_equal(loss.node_costs(truth).factor, [20.0, 3.0])


def test_zero_one_loss_of_single_nodes_has_no_weights():
    truth = Truth(np.array([0, 1]), np.arange(3), (np.arange(2),), weight=np.array([2.0, 3.0]))
    np.testing.assert_array_equal(ZeroOneLoss().node_costs(truth).factor, [1.0, 1.0])


def test_overlap_in_weights(rng):
    truth = Truth(
        np.array([0, 1, 1]), np.array([0, 3]), (np.arange(2),), weight=np.array([3.0, 1.0, 4.0])
    )
    costs = OverlapLoss([1]).node_costs(truth).dense()
    np.testing.assert_allclose(costs, [[0, 3 / 5], [1 / 5, 0], [4 / 5, 0]], rtol=1e-12)
    X, y = make_graphs(rng)
    svm = StructuredSVM(GraphCutModel(OverlapLoss([1])), C=2.0, random_state=0).fit(X, y)
    assert svm.score(X, y) > 0.5


# ---- what is refused ---------------------------------------------------------------------------


def changed(X, place, value):
    x = list(X[0])
    x[place] = value
    return [tuple(x), *X[1:]]


def test_negative_edge_features_in_fit_and_predict(rng):
    X, y = make_graphs(rng)
    bad = changed(X, 2, X[0][2] - 1.5)
    message = r"edge features of X\[0\] must not be negative, got -.* at edge \d, feature \d"
    with pytest.raises(ValueError, match=message):
        StructuredSVM(GraphCutModel()).fit(bad, y)
    svm = StructuredSVM(GraphCutModel(), C=1.0).fit(X, y)
    with pytest.raises(ValueError, match=message):
        svm.predict(bad)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (3, np.ones(3), r"weights of nodes must have shape \(4,\), got \(3,\)"),
        (3, -np.ones(4), "weights of nodes must not be negative, got -1"),
        (3, [1.0, 1.0, 1.0, np.nan], "weights of nodes must be finite, got NaN"),
    ],
)
def test_damaged_graphs(place, value, message, rng):
    X, y = make_graphs(rng)
    with pytest.raises(ValueError, match=message):
        StructuredSVM(GraphCutModel()).fit(changed(X, place, value), y)


def test_weights_that_reward_differences(rng):
    X, y = make_graphs(rng)
    svm = StructuredSVM(GraphCutModel(), C=1.0).fit(X, y)
    svm.coef_ = svm.coef_.copy()
    svm.coef_[svm.model_._cut + 1] = 0.5
    with pytest.raises(
        ValueError, match="must not reward different labels of neighbors, but entry"
    ):
        svm.predict(X)
    solver = BlockFrankWolfe(lower_bounds=-1.0, upper_bounds=1.0)
    with pytest.raises(ValueError, match="exceed the bounds of GraphCutModel"):
        StructuredSVM(GraphCutModel(), solver=solver).fit(X, y)


def test_tighter_bounds_of_the_user(rng):
    X, y = make_graphs(rng)
    model = GraphCutModel().initialize(X, y)
    upper = model.bounds()[1].copy()
    upper[model._cut :] = -0.25
    svm = StructuredSVM(GraphCutModel(), C=1.0, solver=BlockFrankWolfe(upper_bounds=upper))
    edges = svm.fit(X, y).model_.unpack(svm.coef_)["edges"]
    assert np.all(edges >= 0.25 - 1e-12)
