"""K best outputs of models whose scores are no graphs."""

import numpy as np
import pytest

from sklearn_fw import StructuredSVM
from sklearn_fw.inference import Assignment
from sklearn_fw.structured import BoxModel, EnumeratedModel, MatchingModel, TreePoseModel


def matchings(rng):
    X = [rng.normal(size=(3, 4, 2)) for _ in range(8)]
    return X, [Assignment().argmax(x @ [1.0, -1.0])[0] for x in X]


def boxes(rng):
    return [rng.normal(size=(4, 5, 2)) for _ in range(8)], [(0, 1, 3, 4)] * 8


def candidates(rng):
    return [rng.normal(size=(6, 2)) for _ in range(8)], list(rng.integers(6, size=8))


CASES = {"matchings": (matchings, MatchingModel), "boxes": (boxes, BoxModel),
         "candidates": (candidates, EnumeratedModel)}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_best_first(case, rng):
    make, model = CASES[case]
    X, y = make(rng)
    svm = StructuredSVM(model(), C=1.0, random_state=0).fit(X, y)
    outputs, scores = svm.n_best(X, 5)
    for i, (x, found, values) in enumerate(zip(X, outputs, scores, strict=True)):
        assert len(found) == len(values) == 5
        assert len({svm.model_.output_key(y) if case != "boxes" else tuple(y) for y in found}) == 5
        own = [svm.coef_ @ svm.model_.joint_feature(x, y) for y in found]
        np.testing.assert_allclose(values, own, rtol=0, atol=1e-10)
        assert np.all(np.diff(values) <= 0.0)
        assert values[0] == pytest.approx(svm.score_samples(X)[i], abs=1e-10)


def test_oracles_without(rng):
    X = [rng.normal(size=(4, 5, 2)) for _ in range(4)]
    svm = StructuredSVM(TreePoseModel([(0, 1)]), C=1.0).fit(X, [[(0, 0), (1, 1)]] * 4)
    with pytest.raises(TypeError, match="method top_k, which DistanceTransform lacks"):
        svm.n_best(X, 2)


class Own:
    def argmax(self, scores, start=None):
        return Assignment().argmax(scores)

    def top_k(self, scores, k):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (None, TypeError, r"top_k of the oracle Own must return a tuple \(values, outputs\)"),
        (([1.0], []), ValueError, "at most 2 outputs in descending order, got 0 with 1 values"),
        (([1.0, 2.0], [0, 1]), ValueError, "descending order"),
        (([np.nan], [0]), ValueError, "must be finite"),
    ],
)
def test_oracles_of_users_are_checked(answer, error, message, rng):
    X, y = matchings(rng)
    svm = StructuredSVM(MatchingModel(), oracle=Own(), C=1.0).fit(X, y)
    svm.oracle_.answer = answer
    with pytest.raises(error, match=message):
        svm.n_best(X, 2)
