"""Hidden states: the objective against lists of all labelings, its descent, starts, answers."""

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _latent import Ring, label_sets, objective, rings, sequences, xor
from sklearn_fw import StructuredSVM, regularization_path
from sklearn_fw.inference import TreeMaxProduct
from sklearn_fw.structured import (
    ChainModel,
    EnumeratedModel,
    GraphCutModel,
    GridModel,
    LatentStructuredSVM,
    MulticlassModel,
    MultilabelModel,
    PartModel,
    StructuredSVMCV,
)

budget_may_end = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}"
)
TIGHT = {"tol": 1e-6, "random_state": 0, "solver": "bcpfw"}


class Stars(PartModel):
    """Leaves with labels around a node of another kind, which has none."""

    def parts(self, x):
        n = len(x)
        pairs = np.stack([np.arange(n), np.full(n, n)], axis=1)
        return [x, np.ones((1, 1))], pairs

    def encode(self, y):
        return np.ma.array(np.append(y, 0), mask=np.append(np.zeros(len(y)), 1))

    def decode(self, states, x):
        return states[:-1]


def stars(n=40, seed=0):
    """All leaves alike: up or down, which each leaf shows with noise."""
    rng = np.random.default_rng(seed)
    y = [np.full(5, up) for up in rng.integers(0, 2, n)]
    return [np.column_stack([t + 1.2 * rng.normal(size=5), np.ones(5)]) for t in y], y


CASES = {
    "multiclass": (MulticlassModel(), xor),
    "chain": (ChainModel(), sequences),
    "ring": (Ring(), rings),
    "label sets": (MultilabelModel("full"), label_sets),
}
cases = pytest.mark.parametrize("name", CASES)


def case(name):
    model, data = CASES[name]
    X, y = data()
    if model.__class__ is MulticlassModel:
        return model, X[:20], y[:20]
    return model, X, y


# ---- the objective -------------------------------------------------------------------------------


@cases
@pytest.mark.parametrize("n_states", [2, [1, 3]])
def test_objective_is_that_of_all_labelings(name, n_states):
    model, X, y = case(name)
    svm = LatentStructuredSVM(model, n_states_per_label=n_states, C=1.0, **TIGHT).fit(X, y)
    assert svm.converged_
    expected = objective(svm, X, y, svm.coef_)
    assert svm.objective_ == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert 0 <= svm.dual_gap_ <= 1e-6 * svm.objective_ + 1e-15
    # The certificate: nothing near it is below by more than the gap.
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1e-2):
        near = svm.coef_ + scale * rng.normal(size=svm.coef_.shape)
        assert objective(svm, X, y, near) >= svm.objective_ - svm.dual_gap_ - 1e-9


@pytest.mark.slow
@budget_may_end
@cases
@pytest.mark.parametrize("solver", ["auto", "bcpfw", "fw", "subgradient", "extragradient"])
def test_objective_never_rises(name, solver):
    model, X, y = case(name)
    options = {"max_iter": 8} if solver in ("subgradient", "fw", "extragradient") else {}
    svm = LatentStructuredSVM(model, solver=solver, C=2.0, tol=1e-3, random_state=0, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sklearn_fw.structured._choice_of_c.USUAL_PASSES", 30)
        patch.setattr("sklearn_fw.structured._choice_of_c.ALL_VISITS", 1)
        svm.fit(X, y)
    assert np.all(np.diff(svm.history_["objective"]) <= 1e-12)
    assert svm.history_["objective"][-1] == svm.objective_
    expected = objective(svm, X, y, svm.coef_)
    assert svm.objective_ == pytest.approx(expected, rel=1e-6)


@cases
def test_one_state_per_label_is_a_structured_svm(name):
    model, X, y = case(name)
    plain = StructuredSVM(model, C=1.0, **TIGHT).fit(X, y)
    svm = LatentStructuredSVM(model, n_states_per_label=1, C=1.0, **TIGHT).fit(X, y)
    np.testing.assert_array_equal(svm.coef_, plain.coef_)
    assert (svm.objective_, svm.dual_gap_) == (plain.objective_, plain.dual_gap_)
    assert svm.n_oracle_calls_ == plain.n_oracle_calls_
    np.testing.assert_array_equal(np.hstack(svm.predict(X)), np.hstack(plain.predict(X)))
    assert svm.score(X, y) == plain.score(X, y)


@pytest.mark.slow
@budget_may_end
@cases
@pytest.mark.parametrize("solver", ["bcfw", "bcpfw", "cached", "auto", "fw"])
def test_duals_are_kept(name, solver):
    """What is handed on to the next convex problem is a distribution, and its weights fit it."""
    from sklearn_fw.structured._problems import _part_sets

    model, X, y = case(name)
    seen, retarget = [], _part_sets.retarget

    def watch(blocks, truth):
        loss = blocks.loss.copy()
        retarget(blocks, truth)
        mass = blocks.marginals.nodes
        np.testing.assert_allclose(mass.sum(axis=1), 1.0, rtol=1e-9)
        assert mass.min() >= -1e-12
        assert np.all(blocks.loss <= loss + 1e-12)
        kept = blocks.v.copy()
        blocks.refresh()
        np.testing.assert_allclose(blocks.v, kept, rtol=0, atol=1e-9)
        seen.append(blocks.loss.sum())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sklearn_fw.structured._concave_convex.retarget", watch)
        svm = LatentStructuredSVM(
            model, solver=solver, init="random", C=5.0, tol=0.05, max_iter=10, random_state=1
        ).fit(X, y)
    assert len(seen) == np.count_nonzero(svm.history_["n_changed"])
    assert seen


# ---- what it is for ------------------------------------------------------------------------------


def test_classes_of_two_shapes():
    X, y = xor(200)
    X_test, y_test = xor(200, seed=1)
    plain = StructuredSVM(random_state=0).fit(X, y)
    svm = LatentStructuredSVM(random_state=0).fit(X, y)
    assert plain.score(X_test, y_test) < 0.8
    assert svm.score(X_test, y_test) > 0.95
    states = svm.predict_states(X, y)
    np.testing.assert_array_equal(svm.state_labels_[states], y)
    assert len(np.unique(states)) == 4  # the vertices
    assert svm.decision_function(X).shape == (200,)
    scores = svm.decision_function(X)
    assert np.mean((scores > 0) == svm.predict(X)) == 1.0
    np.testing.assert_allclose(svm.sparsify().decision_function(X), scores, rtol=1e-9, atol=1e-12)


def test_hidden_nodes():
    """Leaves that say the same through a node that nobody labeled."""
    X, y = stars()
    X_test, y_test = stars(seed=1)
    svm = LatentStructuredSVM(
        Stars(), n_states_per_label=[1, 2], C=1.0, n_init=3, random_state=0
    ).fit(X, y)
    alone = StructuredSVM("multiclass", C=1.0).fit(np.concatenate(X), np.concatenate(y))
    assert alone.score(np.concatenate(X_test), np.concatenate(y_test)) < 0.75
    assert svm.score(X_test, y_test) > 0.8
    assert [len(own) for own in svm.state_labels_] == [2, 2]
    hubs = np.array([states[-1] for states in svm.predict_states(X_test)])
    up = np.array([labels[0] for labels in y_test])
    assert max(np.mean(hubs == up), np.mean(hubs != up)) > 0.8
    with pytest.raises(ValueError, match="take LatentStructuredSVM"):
        StructuredSVM(Stars()).fit(X, y)


# ---- starts --------------------------------------------------------------------------------------


def test_several_starts_keep_the_best():
    X, y = sequences(20, 3)
    svm = LatentStructuredSVM(n_init=4, init="random", C=1.0, random_state=0).fit(X, y)
    first = clone(svm).set_params(n_init=1).fit(X, y)
    assert svm.objective_ < first.objective_
    assert svm.history_["objective"][-1] == svm.objective_
    again = clone(svm).fit(X, y)
    np.testing.assert_array_equal(again.coef_, svm.coef_)


def test_states_that_no_node_begins_in_stay_empty():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 5, axis=0)
    y = np.repeat([0, 1], 5)
    svm = LatentStructuredSVM(n_states_per_label=3, C=1.0).fit(X, y)
    assert svm.score(X, y) == 1.0
    assert len(np.unique(svm.predict_states(X, y))) == 2
    one_each = LatentStructuredSVM(n_states_per_label=3, C=1.0).fit(X[4:6], y[4:6])
    assert one_each.score(X, y) == 1.0


def test_warm_start_goes_on():
    X, y = sequences(20, 3)
    svm = LatentStructuredSVM(warm_start=True, C=1.0, tol=0.05, random_state=0).fit(X, y)
    first, n_calls = svm.objective_, svm.n_oracle_calls_
    svm.fit(X, y)
    assert svm.objective_ <= first * 1.05
    assert svm.n_oracle_calls_ < n_calls
    svm.set_params(C=2.0).fit(X, y)
    assert svm.converged_
    with pytest.raises(ValueError, match="warm_start=True needs the same outputs"):
        svm.fit(X, [1 - labels % 2 for labels in y])


# ---- together with the rest ----------------------------------------------------------------------


def test_grid_search_and_pipeline():
    X, y = xor(120)
    pipeline = make_pipeline(StandardScaler(), LatentStructuredSVM(C=10.0, random_state=0))
    grid = {
        "latentstructuredsvm__n_states_per_label": [1, 2],
        "latentstructuredsvm__solver": ["auto", "bcpfw"],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_["latentstructuredsvm__n_states_per_label"] == 2
    assert search.best_score_ > 0.95


def test_oracles_and_marginals():
    X, y = sequences(12, 3)
    svm = LatentStructuredSVM(C=1.0, random_state=0, tol=1e-3).fit(X, y)
    tree = LatentStructuredSVM(oracle=TreeMaxProduct(), C=1.0, random_state=0, tol=1e-3).fit(X, y)
    assert tree.objective_ == pytest.approx(svm.objective_, rel=1e-2)
    assert type(svm.oracle_).__name__ == "Viterbi"
    marginals = svm.predict_marginals(X)
    assert [m.shape for m in marginals] == [(len(x), 3) for x in X]
    np.testing.assert_allclose(np.concatenate(marginals).sum(axis=1), 1.0, rtol=1e-9)
    assert svm.calibrate(X, y).temperature_ > 0
    # The best labels with their loss are those of the best states.
    x, truth, w, model = X[0], y[0], svm.coef_, svm.model_
    scores = model.scores(x, w).unary
    free = w.copy()
    free[-36:] = 0.0  # no transitions: each node by itself
    found = model.loss_augmented_inference(x, truth, free)
    wrong = svm.state_labels_ != np.reshape(truth, (-1, 1))
    np.testing.assert_array_equal(found, svm.state_labels_[(scores + wrong).argmax(axis=1)])
    with pytest.raises(ValueError, match="features are those of states"):
        model.joint_feature(x, truth)
    weights = svm.feature_weights()
    assert weights["features"].shape == (3, 6)
    assert weights["transitions"].shape == (6, 6)


@budget_may_end
def test_weights_of_the_states_of_label_sets():
    X, y = label_sets()
    svm = LatentStructuredSVM("multilabel", C=1.0, max_iter=1, random_state=0).fit(X, y)
    weights, n_labels = svm.feature_weights(), y.shape[1]
    assert weights["features"].shape == (X.shape[1], n_labels, 4)
    assert weights["intercept"].shape == (n_labels, 4)
    assert weights["pairs"].shape[1:] == (4, 4)


def test_the_budget_ends_with_advice():
    X, y = xor(60)
    with pytest.warns(ConvergenceWarning, match="1 convex problems were solved and the duality"):
        LatentStructuredSVM(max_iter=1, C=10.0, tol=1e-3).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="ended the fit after . convex problems"):
        LatentStructuredSVM(time_limit=1e-9, C=10.0, tol=1e-3).fit(X, y)


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params, error, message",
    [
        ({"n_states_per_label": 1.5}, TypeError, "n_states_per_label must be an instance of int"),
        ({"n_states_per_label": [2]}, ValueError, "must be an integer or hold 2 entries, got 1"),
        ({"n_states_per_label": [2, 0]}, ValueError, "n_states_per_label == 0, must be >= 1"),
        ({"n_states_per_label": "two"}, TypeError, "n_states_per_label must be an instance of int"),
        ({"task_loss": "zero_one", "model": "chain"}, ValueError, "a sum over nodes"),
        ({"model": EnumeratedModel()}, TypeError, "hidden states need a model of nodes and edges"),
        ({"model": "matching"}, TypeError, "hidden states need a model of nodes and edges"),
    ],
)
def test_what_is_refused(params, error, message):
    X, y = sequences()
    with pytest.raises(error, match=message):
        LatentStructuredSVM(**params).fit(X, y)


def test_what_needs_a_convex_objective():
    X, y = sequences()
    svm = LatentStructuredSVM(C=1.0).fit(X, y)
    for name in ("n_best", "duality_gap"):
        assert not hasattr(svm, name)
    with pytest.raises(TypeError, match="its objective is not convex"):
        regularization_path(svm, X, y)
    with pytest.raises(TypeError, match="its objective is not convex"):
        StructuredSVMCV(svm).fit(X, y)


# ---- graphs and grids ----------------------------------------------------------------------------


@pytest.mark.slow
def test_grids_with_hidden_states_and_missing_labels():
    rng = np.random.default_rng(0)
    y = [np.kron(rng.integers(0, 2, (2, 2)), np.ones((2, 2), int)) for _ in range(12)]
    X = [(t + 0.6 * rng.normal(size=(4, 4)))[..., None] for t in y]
    some = [np.ma.array(t, mask=rng.random((4, 4)) < 0.5) for t in y]
    svm = LatentStructuredSVM(n_states_per_label=1, random_state=0).fit(X, some)
    assert type(svm.model_.base).__name__ == "GridModel"
    assert np.all(np.diff(svm.history_["objective"]) <= 1e-12)
    assert svm.score(X, y) > 0.85
    assert svm.predict_states(X)[0].shape == (4, 4)
    said = LatentStructuredSVM(n_states_per_label=1, missing_label=-1, random_state=0)
    np.testing.assert_array_equal(said.fit(X, [t.filled(-1) for t in some]).coef_, svm.coef_)
    with pytest.raises(ValueError, match=r"nodes without a label \(masked\): take Latent"):
        StructuredSVM().fit(X, some)
    model = GridModel(class_weight="balanced")
    svm = LatentStructuredSVM(model, n_states_per_label=2, C=1.0, random_state=0).fit(X, y)
    assert svm.score(X, y) > 0.85
    assert svm.feature_weights()["nodes"][0].shape == (1, 4)
    assert svm.predict_marginals(X)[0].shape == (4, 4, 2)


def test_a_graph_cut_learns_from_some_labels():
    rng = np.random.default_rng(0)
    ring = np.stack([np.arange(8), (np.arange(8) + 1) % 8], axis=1)
    y = [np.roll([0, 0, 0, 0, 1, 1, 1, 1], k) for k in range(8)]
    X = [((t + 0.4 * rng.normal(size=8))[:, None], ring) for t in y]
    some = [np.ma.array(t, mask=rng.random(8) < 0.5) for t in y]
    svm = LatentStructuredSVM(GraphCutModel(), n_states_per_label=1, random_state=0).fit(X, some)
    assert type(svm.oracle_).__name__ == "GraphCut"
    assert svm.score(X, y) > 0.7
    assert np.all(svm.feature_weights()["edges"] >= 0)
    with pytest.raises(ValueError, match="GraphCutModel has bounds on weights: set n_states"):
        LatentStructuredSVM(GraphCutModel()).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["list", "dict"])
def test_hidden_nodes_of_graphs(form):
    X, y = stars()
    pairs = np.stack([np.arange(5), np.full(5, 5)], axis=1)
    hidden = [None]
    X = [([x, np.ones((1, 1))], pairs) for x in X]
    y = [[own.tolist(), hidden] for own in y]
    if form == "dict":
        ends = np.stack([np.arange(5), np.zeros(5, int)], axis=1)
        X = [({"leaf": a, "hub": b}, {("leaf", "hub"): ends}) for (a, b), _ in X]
        y = [{"leaf": own, "hub": hidden} for own, _ in y]
    svm = LatentStructuredSVM(n_states_per_label=[1, 3], C=1.0, random_state=0).fit(X, y)
    assert [len(own) for own in svm.state_labels_] == [2, 3]
    assert svm.score(X, y) > 0.75  # a leaf alone is right in two of three cases
    predicted, states = svm.predict(X)[0], svm.predict_states(X)[0]
    keys = ("leaf", "hub") if form == "dict" else (0, 1)
    assert [np.shape(predicted[key]) for key in keys] == [(5,), (1,)]
    assert [np.shape(states[key]) for key in keys] == [(5,), (1,)]


def test_networkx_graphs_with_nodes_without_labels():
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(12):
        graph = nx.cycle_graph(6)
        up = int(rng.integers(2))
        for node in graph:
            graph.nodes[node]["features"] = up + 0.5 * rng.normal()
        X.append(graph)
        y.append({node: None if node % 2 else ["no", "yes"][up] for node in graph})
    svm = LatentStructuredSVM(n_states_per_label=1, random_state=0).fit(X, y)
    assert svm.score(X, y) > 0.85
    assert set(svm.predict(X)[0].values()) <= {"no", "yes"}
    assert sorted(svm.predict_states(X)[0]) == list(range(6))
