"""N-best lists, probabilities and temperatures of scores that are not linear in the weights."""

import itertools

import numpy as np
import pytest
from scipy.special import softmax

from _networks import BoxNetwork, TagNetwork, boxes
from sklearn_fw.inference import Viterbi
from sklearn_fw.structured import ProxLinearStructuredSVM

FORMS = ("none", "shared", "own", "edges")
ORACLES = {"none": "auto", "shared": "auto", "own": "viterbi", "edges": "tree"}


def sequences(seed=0, n_samples=10):
    rng = np.random.RandomState(seed)
    y = [rng.randint(3, size=rng.randint(1, 5)) for _ in range(n_samples)]
    return [np.eye(3)[t] + 0.7 * rng.normal(size=(len(t), 3)) for t in y], y


def fitted(form="shared"):
    X, y = sequences()
    words = [np.array(["a", "b", "c"])[t] for t in y]
    return ProxLinearStructuredSVM(
        TagNetwork(form=form), oracle=ORACLES[form], C=1.0, random_state=0
    ).fit(X, words)


def enumerated(svm, x):
    """All labelings of the nodes of x, and their scores."""
    answer = svm.model_.value(x, svm.coef_)
    unary, tables, edges = answer, [], []
    if isinstance(answer, tuple):
        unary, tables = answer[:2]
        edges = answer[2] if len(answer) == 3 else np.arange(len(x) - 1)[:, None] + [0, 1]
        tables = np.broadcast_to(tables, (len(edges), 3, 3))
    states = np.array(list(itertools.product(range(3), repeat=len(x))))
    scores = unary[np.arange(len(x)), states].sum(axis=1)
    for (a, b), table in zip(edges, tables):
        scores = scores + table[states[:, a], states[:, b]]
    return states, scores


@pytest.mark.parametrize("form", FORMS)
def test_labelings_equal_enumeration(form):
    svm, X = fitted(form), sequences(1)[0]
    outputs, scores = svm.n_best(X, 4)
    svm.temperature_ = 0.7
    marginals = svm.predict_marginals(X)
    for x, found, values, rows in zip(X, outputs, scores, marginals, strict=True):
        states, all_scores = enumerated(svm, x)
        order = np.argsort(-all_scores, kind="stable")[:4]
        np.testing.assert_allclose(values, all_scores[order], rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(found, svm.classes_[states[order]])
        probabilities = softmax(all_scores / 0.7)
        expected = [
            [probabilities[states[:, v] == s].sum() for s in range(3)] for v in range(len(x))
        ]
        np.testing.assert_allclose(rows, expected, rtol=1e-9, atol=1e-12)
    assert all(a[0].tolist() == b.tolist() for a, b in zip(outputs, svm.predict(X)))
    np.testing.assert_allclose(svm.score_samples(X), [s[0] for s in scores], rtol=1e-12, atol=0)


def test_candidates_equal_their_scores():
    X, y = boxes(n_samples=8, n_boxes=12)
    svm = ProxLinearStructuredSVM(BoxNetwork(), tol=0.5, random_state=0).fit(X, y)
    outputs, scores = svm.n_best(X, 20)
    for x, found, values, probabilities in zip(X, outputs, scores, svm.predict_marginals(X)):
        all_scores = svm.model_.value(x, svm.coef_)
        np.testing.assert_allclose(values, np.sort(all_scores)[::-1], rtol=1e-12, atol=0)
        np.testing.assert_array_equal(all_scores[found], values)
        np.testing.assert_allclose(probabilities, softmax(all_scores), rtol=1e-12, atol=0)


def test_temperatures_are_the_most_likely():
    svm, (X, y) = fitted(), sequences(2, n_samples=30)
    words = [np.array(["a", "b", "c"])[t] for t in y]
    assert svm.temperature_ == 1.0
    best = svm.calibrate(X, words).temperature_
    assert best != 1.0
    losses = []
    for svm.temperature_ in (best, 0.9 * best, 1.1 * best, 1.0):
        rows = np.concatenate(list(svm.predict_marginals(X)))
        losses.append(-np.log(rows[np.arange(len(rows)), np.concatenate(y)]).mean())
    assert min(losses) == losses[0]
    # Samples of weight zero do not count, and candidates have a temperature, too.
    once = svm.calibrate(X[:9], words[:9]).temperature_
    weight = np.arange(30) < 9
    assert svm.calibrate(X, words, sample_weight=weight).temperature_ == pytest.approx(
        once, rel=1e-6, abs=0
    )


def test_temperatures_of_candidates():
    X, y = boxes(n_samples=30, n_boxes=12)
    svm = ProxLinearStructuredSVM(BoxNetwork(), tol=0.5, random_state=0).fit(X[:10], y[:10])
    scores = np.array([svm.model_.value(x, svm.coef_) for x in X])
    scores[20:] = -scores[20:]  # a third is wrong, so that no temperature is the smallest
    svm._view.scores.model = Table(scores)
    numbers = [[i] for i in range(30)]
    best = svm.calibrate(numbers, np.zeros(30, int)).temperature_

    def loss(temperature):
        return -np.log(softmax(scores / temperature, axis=1)[:, 0]).mean()

    assert loss(best) <= min(loss(0.9 * best), loss(1.1 * best))


class Table(BoxNetwork):
    """Scores that are known beforehand, of inputs that are numbers."""

    def __init__(self, scores):
        self.scores = scores

    def value(self, x, w):
        return self.scores[x[0]]


class Bare:
    """An oracle with one method."""

    def argmax(self, scores, start=None):
        return Viterbi().argmax(scores)


def test_what_an_oracle_lacks_is_named():
    X, y = sequences()
    svm = ProxLinearStructuredSVM(TagNetwork(), oracle=Bare(), C=1.0, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="n_best needs an oracle with the method top_k, which Bare"):
        svm.n_best(X, 2)
    for ask in (svm.predict_marginals, lambda X: svm.calibrate(X, y)):
        with pytest.raises(TypeError, match="oracle with the method marginals, which Bare"):
            ask(X)


def test_arguments_are_checked():
    svm, (X, y) = fitted(), sequences()
    with pytest.raises(ValueError, match="same length, got 10 and 9"):
        svm.calibrate(X, y[:-1])
    with (
        pytest.warns(UserWarning, match="not seen in fit"),
        pytest.raises(ValueError, match="no node with positive weight and a label seen"),
    ):
        svm.calibrate(X, [np.full(len(t), "z") for t in y])
    assert svm.predict_marginals([np.empty((0, 3))])[0].shape == (0, 3)
    assert svm.n_best([np.empty((0, 3))], 3)[0][0].shape == (1, 0)
