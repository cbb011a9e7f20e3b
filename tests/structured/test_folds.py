"""What is held out to choose C by: pieces of large graphs, and samples of black boxes."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_stick_figures
from sklearn_fw.structured import (
    EnumeratedModel,
    GraphModel,
    GridModel,
    TreePoseModel,
    _choice_of_c,
)
from sklearn_fw.structured._choice_of_c import RATIO, USUAL, USUAL_OF_BLACK_BOX, natural_C
from sklearn_fw.structured._problems._part_sets import cells, regrouped
from sklearn_fw.structured._surrogates import HINGE

FACTORS = USUAL * RATIO ** np.arange(-2.0, 4.0)


def blocks_of(model, X, y):
    return StructuredSVM(model, C=1.0)._make_blocks(X, y, None)[0]


def images(rng, n, shape):
    """Stripes with noise."""
    y = [np.repeat(rng.integers(3, size=(shape[0], 1)), shape[1], axis=1) for _ in range(n)]
    return [np.eye(3)[labels] + 1.5 * rng.normal(size=(*shape, 3)) for labels in y], y


def graphs(rng, n, with_features):
    X, y = [], []
    for _ in range(n):
        size = int(rng.integers(6, 12))
        ends = rng.integers(size, size=(2 * size, 2))
        ends = ends[ends[:, 0] != ends[:, 1]]
        z = rng.normal(size=(len(ends), 2)) if with_features else None
        X.append((rng.normal(size=(size, 3)), ends, z, rng.uniform(0.5, 2.0, size)))
        y.append(rng.integers(3, size=size))
    y[0][:3] = 0, 1, 2
    return X, y


def part_of(x, nodes):
    """The graph of some nodes."""
    features, ends, z, weights = x
    number = np.full(len(features), -1)
    number[nodes] = np.arange(len(nodes))
    inside = (number[ends] >= 0).all(axis=1)
    return features[nodes], number[ends[inside]], None if z is None else z[inside], weights[nodes]


@pytest.mark.slow
@pytest.mark.parametrize("with_features", [False, True])
@pytest.mark.parametrize("symmetry", ["free", "antisymmetric"])
def test_groups_of_nodes_are_the_graphs_of_these_nodes(with_features, symmetry, rng):
    X, y = graphs(rng, 3, with_features)
    model = GraphModel(edge_symmetry=symmetry)
    svm = StructuredSVM(model, C=1.0, oracle="enumeration").fit(X, y)
    whole = svm._blocks_of(X, y, np.array([0.5, 0.3, 0.2]))
    halves = [rng.integers(-1, 2, size=len(labels)) for labels in y]
    group = np.concatenate([np.where(h < 0, -1, h + 2 * i) for i, h in enumerate(halves)])
    blocks = whole.like(regrouped(whole._parts, group))
    own = [(i, np.flatnonzero(h == k)) for i, h in enumerate(halves) for k in (0, 1)]
    own = [(i, nodes) for i, nodes in own if len(nodes)]
    weight = np.array([0.5, 0.3, 0.2])[[i for i, _ in own]]
    reference = svm._blocks_of(
        [part_of(X[i], nodes) for i, nodes in own], [y[i][nodes] for i, nodes in own],
        weight / weight.sum(),
    )  # fmt: skip
    w = rng.normal(size=whole.n_weights)
    for one in (blocks, reference):
        one.reset(1.0)
    for augmented in (False, True):
        found, wanted = blocks.sweep(w, augmented), reference.sweep(w, augmented)
        np.testing.assert_allclose(found.hinge, wanted.hinge, atol=1e-12)
        np.testing.assert_array_equal(found.answers, wanted.answers)
    np.testing.assert_allclose(blocks.weight, reference.weight)
    np.testing.assert_allclose(natural_C(blocks), natural_C(reference))
    np.testing.assert_allclose(
        blocks.vertex_of(found.answers)[0], reference.vertex_of(found.answers)[0], atol=1e-12
    )


def test_pieces_are_connected_and_of_the_size_that_was_asked_for(rng):
    X, y = images(rng, 2, (30, 20))
    parts = blocks_of(GridModel(), X, y)._parts
    piece = cells(parts, 60, rng)
    assert len(np.unique(piece)) == 20
    assert piece.max() == 19
    assert not set(piece[:600]) & set(piece[600:])
    ends = np.concatenate(
        [parts.edges[: parts.edge_stop[0]], parts.edges[parts.edge_start[1] :] + 600]
    )
    inside = ends[piece[ends[:, 0]] == piece[ends[:, 1]]]
    assert 0.6 * len(ends) < len(inside) < 0.95 * len(ends)
    graph = csr_array((np.ones(len(inside)), tuple(inside.T)), shape=(1200, 1200))
    assert connected_components(graph, directed=False)[0] == 20


def test_what_no_seed_reaches_is_a_piece(rng):
    X = [(rng.normal(size=(40, 2)), np.array([(0, 1), (1, 2), (3, 4)]))]
    parts = blocks_of(GraphModel(), X, [np.arange(40) % 2])._parts
    piece = cells(parts, 20, rng)
    assert piece[0] == piece[1] == piece[2]
    assert piece[3] == piece[4]
    assert len(np.unique(piece)) == 37


@pytest.mark.slow
def test_one_image_is_enough_to_choose_by(rng):
    X, y = images(rng, 1, (40, 40))
    unit = natural_C(blocks_of("grid", X, y))
    chosen = {
        StructuredSVM(max_iter=1, tol=0, random_state=k).fit(X, y).C_ / unit for k in range(2)
    }
    assert all(min(abs(c / f - 1) for f in FACTORS) < 1e-9 for c in chosen)
    small = images(rng, 1, (20, 20))
    svm = StructuredSVM(max_iter=1, tol=0, random_state=0).fit(*small)
    np.testing.assert_allclose(svm.C_, USUAL * natural_C(blocks_of("grid", *small)))


def test_one_long_sequence_is_enough_to_choose_by(rng):
    y = rng.integers(3, size=1500)
    X = np.eye(3)[y] + 0.5 * rng.normal(size=(1500, 3))
    svm = StructuredSVM(random_state=0, tol=0, max_iter=1).fit([X], [y])
    factor = svm.C_ / natural_C(blocks_of("chain", [X], [y]))
    assert min(abs(factor / f - 1) for f in FACTORS) < 1e-9


def test_what_is_predicted_of_pieces_owes_nothing_to_the_truth(rng):
    class Zeros:
        exact = False

        def argmax(self, scores, start=None):
            labels = np.zeros(scores.n_nodes, np.int32)
            return labels, scores.value(labels), np.inf

    X, y = images(rng, 2, (3, 4))
    y[0][0, 0] = (y[0][0, 0] + 1) % 3
    svm = StructuredSVM("grid", oracle=Zeros(), C=1.0)
    blocks = svm._make_blocks(X, y, None)[0]
    blocks.reset(1.0)
    assert not np.any(blocks.predicted(rng.normal(size=blocks.n_weights)))


def test_black_boxes_are_held_out_too(rng):
    X = [rng.normal(size=(4, 30)) for _ in range(60)]
    noise = rng.integers(4, size=60).tolist()
    signal = [int((x[:, 0] + x[:, 1]).argmax()) for x in X]
    model = EnumeratedModel()
    factors = []
    for y in (noise, signal):
        svm = StructuredSVM(model, max_iter=1, tol=0, random_state=0).fit(X, y)
        factors.append(svm.C_ / natural_C(blocks_of(model, X, y)))
        assert min(abs(factors[-1] / f - 1) for f in USUAL_OF_BLACK_BOX / USUAL * FACTORS) < 1e-9
    few = StructuredSVM(model, random_state=0).fit(X[:19], signal[:19])
    unit = natural_C(blocks_of(model, X[:19], signal[:19]))
    np.testing.assert_allclose(few.C_, USUAL_OF_BLACK_BOX * unit)


def test_of_values_that_predict_alike_the_usual_one_is_taken(monkeypatch):
    """And of others the best one."""
    steps = np.arange(float(len(FACTORS)))
    tables = {"flat": 0.0 * steps, "small": steps, "large": -steps}
    for name, wanted in (("flat", USUAL), ("small", FACTORS[0]), ("large", FACTORS[-1])):
        losses = dict(zip(FACTORS, tables[name]))
        monkeypatch.setattr(
            _choice_of_c, "_fit_without",
            lambda make_solver, fold, C, rng, losses=losses: (np.full(4, losses[C]), 0.0),
        )  # fmt: skip
        fold = SimpleNamespace(
            weight=np.ones(4), blocks=SimpleNamespace(n_nodes=4, surrogate=HINGE),
            losses=lambda w: w, odds=None,
        )  # fmt: skip
        assert _choice_of_c._best_factor(None, [fold], 1.0, None) == (wanted, 1.0)


@pytest.mark.slow
def test_poses_are_held_out():
    figures = make_stick_figures(20, random_state=0)
    model = TreePoseModel(figures.edges)
    svm = StructuredSVM(model, max_iter=2, tol=0, random_state=0).fit(figures.X, figures.y)
    factor = svm.C_ / natural_C(blocks_of(model, figures.X, figures.y))
    assert min(abs(factor / f - 1) for f in USUAL_OF_BLACK_BOX / USUAL * FACTORS) < 1e-9
