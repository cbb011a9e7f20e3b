"""Marginals of trained models against sums over all outputs."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.exceptions import NotFittedError

from sklearn_fw import StructuredSVM
from sklearn_fw.inference import CheckedOracle, Elimination, Enumeration, TreeMaxProduct
from sklearn_fw.structured import (
    ChainModel,
    EnumeratedModel,
    MulticlassModel,
    MultilabelModel,
    StructuredSVMCV,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def sequences(rng, form=np.asarray):
    lengths = [3, 1, 4, 2, 3, 2]
    X = [form(rng.normal(size=(length, 2))) for length in lengths]
    names = np.array(["a", "b", "c"])
    return X, [names[rng.permutation(np.arange(length) % 3)] for length in lengths]


def label_sets(rng, n_labels=3):
    return rng.normal(size=(12, 2)), rng.integers(2, size=(12, n_labels))


def expected_marginals(svm, x, n_nodes, states):
    """Node marginals, output by output, from the joint features alone."""
    outputs = list(itertools.product(states, repeat=n_nodes))
    values = [svm.model_.joint_feature(x, np.array(y)) @ svm.coef_ for y in outputs]
    probabilities = softmax(values)
    found = np.zeros((n_nodes, len(states)))
    for probability, y in zip(probabilities, outputs):
        for t, state in enumerate(y):
            found[t, list(states).index(state)] += probability
    return found


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("start_end", [True, False])
@pytest.mark.parametrize("oracle", ["auto", "tree", "enumeration", Elimination()], ids=str)
def test_sequences(oracle, start_end, form, rng):
    X, y = sequences(rng, form)
    model = ChainModel(start_end=start_end)
    svm = StructuredSVM(model, oracle=oracle, C=10.0, max_iter=3, random_state=0).fit(X, y)
    marginals = svm.predict_marginals(X)
    assert marginals.dtype == object
    assert marginals.shape == (len(X),)
    for x, labels, found in zip(X, y, marginals):
        expected = expected_marginals(svm, x, len(labels), svm.classes_)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "edges, oracle",
    [
        ("tree", "auto"),
        ("tree", TreeMaxProduct()),
        ("full", "auto"),
        ("full", Elimination()),
        ("none", Enumeration()),
        ([[2, 0]], "auto"),
    ],
    ids=str,
)
@pytest.mark.parametrize("n_labels", [3, 4])
def test_label_sets(edges, oracle, n_labels, rng):
    X, y = label_sets(rng, n_labels)
    svm = StructuredSVM(MultilabelModel(edges), oracle=oracle, max_iter=3, random_state=0)
    marginals = svm.fit(X, y).predict_marginals(X)
    assert marginals.shape == (len(X), n_labels, 2)
    for x, found in zip(X, marginals):
        expected = expected_marginals(svm, x, n_labels, (0, 1))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_classes(n_classes, rng):
    X, y = rng.normal(size=(20, 3)), np.arange(20) % n_classes
    svm = StructuredSVM(max_iter=5, random_state=0).fit(X, y)
    marginals = svm.predict_marginals(X)
    scores = svm.decision_function(X)
    if n_classes == 2:
        scores = np.column_stack([np.zeros(20), scores])
    np.testing.assert_allclose(marginals, softmax(scores / svm.temperature_, axis=1), rtol=1e-12)
    np.testing.assert_array_equal(svm.classes_[marginals.argmax(axis=1)], svm.predict(X))
    for x, found in zip(X, marginals):
        values = [svm.model_.joint_feature(x, k) @ svm.coef_ for k in range(n_classes)]
        np.testing.assert_allclose(found, softmax(np.divide(values, svm.temperature_)), rtol=1e-12)


def test_an_oracle_without_marginals_is_named(rng):
    X, y = sequences(rng)
    oracle = CheckedOracle(lambda scores: TreeMaxProduct().argmax(scores))
    svm = StructuredSVM("chain", oracle=oracle, max_iter=2).fit(X, y)
    with pytest.raises(TypeError, match="method marginals, which <lambda> lacks"):
        svm.predict_marginals(X)


class BlackBoxChain(ChainModel):
    """A chain that does its own inference, so that its parts count no more."""

    def inference(self, x, w):
        return super().inference(x, w)


def test_cross_validated_estimators_have_it_too(rng):
    X, y = label_sets(rng)
    search = StructuredSVMCV(StructuredSVM("multilabel", max_iter=50, random_state=0), eps=0.5)
    with pytest.raises(NotFittedError):
        search.predict_marginals(X)
    search.fit(X, y)
    np.testing.assert_array_equal(
        search.predict_marginals(X), search.best_estimator_.predict_marginals(X)
    )
    assert hasattr(StructuredSVMCV(), "predict_marginals")
    assert not hasattr(StructuredSVMCV(StructuredSVM(EnumeratedModel())), "predict_marginals")


@pytest.mark.parametrize(
    "model, available",
    [
        ("auto", True),
        ("chain", True),
        (ChainModel(), True),
        (MultilabelModel("full"), True),
        (MulticlassModel(), True),
        (BlackBoxChain(), False),
        (EnumeratedModel(), False),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_where_the_method_exists(model, available):
    svm = StructuredSVM(model)
    assert hasattr(svm, "predict_marginals") == available
    if not available:
        pattern = f"part scores, not {type(model).__name__}"
        with pytest.raises(AttributeError) as caught:
            svm.predict_marginals([])
        assert pattern in str(caught.value.__cause__ or caught.value)
    else:
        with pytest.raises(NotFittedError):
            svm.predict_marginals([])
