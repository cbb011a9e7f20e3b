"""N-best lists, temperature, sparse weights and empty sequences of StructuredSVM."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

from sklearn_fw import StructuredSVM
from sklearn_fw.inference import CheckedOracle, Enumeration, TreeMaxProduct
from sklearn_fw.metrics import SCORERS
from sklearn_fw.structured import ChainModel, EnumeratedModel, MulticlassModel, MultilabelModel
from sklearn_fw.utils import Packed

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NAMES = np.array(["a", "b", "c"])


def sequences(rng, form=np.asarray, lengths=(3, 1, 4, 2, 3, 2), noise=1.0):
    """One-hot features with noise: predicted well, but not perfectly."""
    states = [rng.integers(3, size=length) for length in lengths]
    X = [form(np.eye(3)[s] + noise * rng.normal(size=(len(s), 3))) for s in states]
    return X, [NAMES[s] for s in states]


def fitted(rng, model="chain", form=np.asarray, **params):
    X, y = sequences(rng, form)
    return StructuredSVM(model, C=10.0, max_iter=5, random_state=0, **params).fit(X, y), X, y


# ---- n-best lists --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("oracle", ["auto", "tree", "enumeration"])
def test_n_best_of_sequences_equals_sorting_all_of_them(oracle, form, rng):
    svm, X, _ = fitted(rng, form=form, oracle=oracle)
    outputs, scores = svm.n_best(X, 7)
    for x, found, values in zip(X, outputs, scores):
        every = [np.array(y) for y in itertools.product(svm.classes_, repeat=x.shape[0])]
        expected = sorted((svm.model_.joint_feature(x, y) @ svm.coef_ for y in every), reverse=True)
        np.testing.assert_allclose(values, expected[:7], rtol=0, atol=1e-12)
        assert len({tuple(y) for y in found}) == len(found) == min(7, len(every))
        for y, value in zip(found, values):
            assert svm.model_.joint_feature(x, y) @ svm.coef_ == pytest.approx(value, abs=1e-12)
    for predicted, found in zip(svm.predict(X), outputs):
        np.testing.assert_array_equal(found[0], predicted)
    np.testing.assert_allclose([v[0] for v in scores], svm.score_samples(X), atol=1e-12)


def test_n_best_of_classes(rng):
    X, y = rng.normal(size=(20, 3)), np.array(["x", "y", "z"])[np.arange(20) % 3]
    svm = StructuredSVM(max_iter=5, random_state=0).fit(X, y)
    outputs, scores = svm.n_best(X, 5)
    decision = svm.decision_function(X)
    order = np.argsort(-decision, axis=1)
    np.testing.assert_array_equal(outputs, svm.classes_[order])
    np.testing.assert_allclose(scores, np.take_along_axis(decision, order, 1), rtol=1e-12)


@pytest.mark.slow
def test_n_best_of_label_sets(rng):
    X, y = rng.normal(size=(12, 2)), rng.integers(2, size=(12, 3))
    svm = StructuredSVM(MultilabelModel("tree"), max_iter=3, random_state=0).fit(X, y)
    outputs, scores = svm.n_best(X, 100)
    every = np.array(list(itertools.product((0, 1), repeat=3)))
    for x, found, values in zip(X, outputs, scores):
        assert found.shape == (8, 3)
        expected = [svm.model_.joint_feature(x, y) @ svm.coef_ for y in every]
        np.testing.assert_allclose(values, np.sort(expected)[::-1], atol=1e-12)


@pytest.mark.slow
def test_n_best_needs_an_oracle_that_can(rng):
    svm, X, _ = fitted(rng, oracle=CheckedOracle(lambda s: TreeMaxProduct().argmax(s)))
    with pytest.raises(
        TypeError, match="n_best needs an oracle with the method top_k, which <lamb"
    ):
        svm.n_best(X, 2)


# ---- empty sequences -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, "packed"], ids=str)
@pytest.mark.parametrize("model", ["hamming", "hamming_sum", "zero_one"])
@pytest.mark.parametrize("oracle", ["auto", "enumeration"])
def test_empty_sequences_change_nothing_and_predict_empty_arrays(model, oracle, form, rng):
    X, y = sequences(rng, lengths=(3, 1, 4, 2))
    empty, none = np.zeros((0, 3)), np.array([], dtype=y[0].dtype)
    with_empty = [empty, X[0], X[1], empty, empty, X[2], X[3], empty]
    y_empty = [none, y[0], y[1], none, none, y[2], y[3], none]
    kept = [1, 2, 5, 6]
    if form == "packed":
        X, with_empty = Packed.from_list(X), Packed.from_list(with_empty)
    else:
        X, with_empty = [form(x) for x in X], [form(x) for x in with_empty]
    svm = StructuredSVM(ChainModel(model), oracle=oracle, C=10.0, max_iter=3, random_state=0)
    expected = svm.fit(X, y).coef_
    np.testing.assert_array_equal(svm.fit(with_empty, y_empty).coef_, expected)
    predicted = svm.predict(with_empty)
    assert [len(p) for p in predicted] == [len(labels) for labels in y_empty]
    assert predicted[0].dtype == svm.classes_.dtype
    for i, expected in zip(kept, svm.predict(X)):
        np.testing.assert_array_equal(predicted[i], expected)
    turned, losses = [labels[::-1] for labels in y_empty], np.zeros(8)
    losses[kept] = svm.loss(X, [turned[i] for i in kept])
    np.testing.assert_allclose(svm.loss(with_empty, turned), losses)
    assert losses.sum() > 0
    np.testing.assert_allclose(svm.score_samples(with_empty)[kept], svm.score_samples(X))
    assert svm.score_samples(with_empty)[0] == 0
    marginals = svm.predict_marginals(with_empty)
    assert marginals[0].shape == (0, 3)
    for i, rows in zip(kept, svm.predict_marginals(X)):
        np.testing.assert_allclose(marginals[i], rows, rtol=1e-12)
    outputs, scores = svm.n_best(with_empty, 2)
    assert outputs[3].shape == (1, 0)
    assert scores[3].tolist() == [0.0]
    assert outputs[5].shape == (2, 4)


def test_lists_without_elements_stand_beside_sparse_ones(rng):
    svm, X, y = fitted(rng, form=sp.csr_array)
    assert len(svm.predict([[], X[0]])[1]) == 3
    again = StructuredSVM("chain", C=10.0, max_iter=5, random_state=0).fit([*X, []], [*y, []])
    np.testing.assert_array_equal(again.coef_, svm.coef_)


# ---- sparse weights ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix], ids=str)
@pytest.mark.parametrize("start_end", [True, False])
@pytest.mark.parametrize("oracle", ["auto", "enumeration"])
def test_sparse_weights_predict_the_same(oracle, start_end, form, rng):
    X, y = sequences(rng)
    X = [form(np.hstack([x, np.zeros((len(x), 500))])) for x in X]
    model = ChainModel(start_end=start_end)
    svm = StructuredSVM(model, oracle=oracle, C=10.0, max_iter=5, random_state=0).fit(X, y)
    dense, size = svm.coef_, len(pickle.dumps(svm))
    answers = [svm.predict(X), svm.score_samples(X), svm.predict_marginals(X)]
    assert svm.sparsify() is svm
    assert sp.issparse(svm.coef_)
    assert svm.coef_.shape == (1, len(dense))
    assert svm.coef_.nnz == np.count_nonzero(dense) < len(dense) / 10
    assert len(pickle.dumps(svm)) < size / 3
    for other in (svm, pickle.loads(pickle.dumps(svm)), svm.sparsify()):
        found = [other.predict(X), other.score_samples(X), other.predict_marginals(X)]
        for one, expected in zip(found, answers):
            for a, b in zip(one, expected):
                np.testing.assert_array_equal(a, b)
        features = other.feature_weights()["features"]
        np.testing.assert_array_equal(features.ravel(), dense[: features.size])
    np.testing.assert_array_equal(svm.n_best(X, 2)[1], svm.densify().n_best(X, 2)[1])
    np.testing.assert_array_equal(svm.coef_, dense)
    assert svm.densify().coef_ is svm.coef_


def test_sparse_weights_of_other_models(rng):
    X, y = np.hstack([rng.normal(size=(20, 2)), np.zeros((20, 50))]), np.arange(20) % 3
    for model, target in (
        (MulticlassModel(), y),
        (MultilabelModel(), rng.integers(2, size=(20, 3))),
    ):
        svm = StructuredSVM(model, max_iter=3, random_state=0).fit(X, target)
        expected = svm.predict(X), svm.predict_marginals(X)
        svm.sparsify()
        np.testing.assert_array_equal(svm.predict(X), expected[0])
        np.testing.assert_array_equal(svm.predict_marginals(X), expected[1])
    box = StructuredSVM(EnumeratedModel(), max_iter=3)
    X = [rng.normal(size=(4, 3)) for _ in range(8)]
    box.fit(X, [0, 1, 2, 3] * 2)
    expected = box.predict(X), box.score_samples(X)
    box.sparsify()
    np.testing.assert_array_equal(box.predict(X), expected[0])
    np.testing.assert_allclose(box.score_samples(X), expected[1])


# ---- temperature ---------------------------------------------------------------------------------


def node_loss(svm, X, y, weight=None):
    losses = []
    for rows, labels in zip(svm.predict_marginals(X), y):
        places = np.searchsorted(svm.classes_, labels)
        rows = np.atleast_2d(rows)
        losses.append(-np.log(rows[np.arange(len(rows)), places]))
    counts = [len(one) for one in losses]
    weight = np.repeat(np.ones(len(y)) if weight is None else weight, counts)
    return weight @ np.concatenate(losses) / weight.sum()


@pytest.mark.parametrize("oracle", ["auto", "enumeration"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_temperature_is_the_best_one(weighted, oracle, rng):
    svm, _, _ = fitted(rng, oracle=oracle)
    X, y = sequences(rng, lengths=[1, 2, 3, 4, 5] * 8)
    weight = rng.random(len(X)) if weighted else None
    assert svm.temperature_ == 1.0
    before, predicted = node_loss(svm, X, y, weight), svm.predict(X)
    assert svm.calibrate(X, y, weight) is svm
    best = svm.temperature_
    losses = []
    for factor in (0.97, 1.0, 1.03):
        svm.temperature_ = factor * best
        losses.append(node_loss(svm, X, y, weight))
    assert losses[1] == min(losses) < before
    for a, b in zip(svm.predict(X), predicted):
        np.testing.assert_array_equal(a, b)


def test_the_temperature_of_classes(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    X[:, 0] += y
    svm = StructuredSVM(C=10.0, max_iter=20, random_state=0).fit(X[:30], y[:30])
    svm.calibrate(X[30:], y[30:])
    probabilities = softmax(svm.decision_function(X) / svm.temperature_, axis=1)
    np.testing.assert_allclose(svm.predict_marginals(X), probabilities, rtol=1e-12)
    assert svm.fit(X, y).temperature_ == 1.0


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_the_chosen_C_calibrates_classes(load):
    X, y = load(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, random_state=0, stratify=y)
    svm = StructuredSVM(random_state=0).fit(X, y)
    found, chosen = log_loss(y_new, svm.predict_proba(X_new)), svm.temperature_
    svm.temperature_ = 1.0
    assert found < log_loss(y_new, svm.predict_proba(X_new)) - 0.03
    best = svm.calibrate(X_new, y_new).predict_proba(X_new)
    assert found < log_loss(y_new, best) + 0.1
    svm.set_params(C=svm.C_, feature_scale=svm.feature_scale_)
    assert svm.fit(X, y).temperature_ == 1.0 != chosen


def test_nodes_with_unseen_labels_are_left_out(rng):
    svm, _, _ = fitted(rng)
    X, y = sequences(rng, lengths=[3] * 20)
    expected = svm.calibrate(X, y).temperature_
    new = [labels.copy() for labels in [*y, *y[:3]]]
    for labels in new[-3:]:
        labels[:] = "z"
    with pytest.warns(UserWarning, match="9 labels that were not seen in fit"):
        assert svm.calibrate([*X, *X[:3]], new).temperature_ == expected
    with (
        pytest.warns(UserWarning, match="not seen in fit"),
        pytest.raises(ValueError, match="no node with positive weight and a label seen in fit"),
    ):
        svm.calibrate(X[:3], new[-3:])


def test_perfect_predictions_have_no_best_temperature(rng):
    X, y = sequences(rng, noise=0.01)
    svm = StructuredSVM("chain", C=10.0, max_iter=20, random_state=0).fit(X, y)
    pattern = r"\(100.0 % of the 15 nodes are predicted correctly\)"
    with pytest.warns(UserWarning, match=pattern) as record:
        svm.calibrate(X, y)
    assert record[0].filename == __file__
    assert all(np.isfinite(m).all() for m in svm.predict_marginals(X))


@pytest.mark.slow
def test_calibrate_names_what_is_wrong(rng):
    svm, X, y = fitted(rng)
    with pytest.raises(ValueError, match="X and y must have the same length, got 6 and 5"):
        svm.calibrate(X, y[:-1])
    svm, X, y = fitted(rng, oracle=CheckedOracle(lambda s: TreeMaxProduct().argmax(s)))
    with pytest.raises(TypeError, match="calibrate needs an oracle with the method marginals"):
        svm.calibrate(X, y)


def test_marginals_of_many_samples_come_in_batches(rng, monkeypatch):
    from sklearn_fw.structured._models import _part_scores

    svm, X, _ = fitted(rng)
    expected = svm.predict_marginals(X)
    monkeypatch.setattr(_part_scores, "EDGE_NUMBERS", 20)
    for one, other in zip(svm.predict_marginals(X), expected):
        np.testing.assert_array_equal(one, other)
    by_oracle = svm.model_._marginals(X, svm.coef_, Enumeration())
    for one, other in zip(by_oracle, expected):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Scoring failed", "ignore:One or more of the test scores")
def test_metrics_that_compare_no_sequences_are_named(rng):
    X, y = sequences(rng)
    svm = StructuredSVM("chain", C=1.0, max_iter=300)
    with pytest.warns(UserWarning, match=r"recall_score of .*SCORERS\['node_accuracy'\]"):
        cross_val_score(svm, X, y, cv=2, scoring="recall_macro")
    with pytest.warns(UserWarning, match=r"accuracy_score of .*SCORERS"):
        GridSearchCV(svm, {"C": [0.1, 1.0]}, cv=2, scoring="accuracy", refit=False).fit(X, y)


def test_metrics_that_compare_outputs_warn_of_nothing(rng):
    X, y = sequences(rng)
    table, labels = rng.normal(size=(24, 3)), np.arange(24) % 2
    svm = StructuredSVM(C=1.0, max_iter=300, tol=0.1)
    both = np.column_stack([labels, labels[::-1]])
    for data, scoring in (
        ((X, y), SCORERS["node_accuracy"]),
        ((X, y), None),
        ((table, labels), "accuracy"),
        ((table, labels.astype(str).astype(object)), "accuracy"),
        ((table, both), "f1_macro"),
    ):
        assert np.all(np.isfinite(cross_val_score(svm, *data, cv=2, scoring=scoring)))
