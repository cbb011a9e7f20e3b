"""Models with scores of any kind: every oracle for them works, and its bounds count."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from _references import solve_structured_svm
from sklearn_fw import StructuredSVM
from sklearn_fw.inference import Assignment
from sklearn_fw.structured import EnumeratedModel, ScoredModel

budget_may_end = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}"
)


class Best:
    """The two largest scores; ``lack`` makes the answer worse and ``bound`` says by how much."""

    exact = True

    def __init__(self, lack=0, bound=0.0, answer=None):
        self.lack, self.bound, self.answer = lack, bound, answer
        self.exact = lack == 0

    def argmax(self, scores, start=None):
        order = np.argsort(scores)[::-1]
        y, best = np.zeros((2, len(scores)), int)
        best[order[:2]] = 1
        y[order[[0, 1 + self.lack]]] = 1
        bound = None if self.bound is None else scores @ best + self.bound
        return self.answer(y, scores @ y, bound) if self.answer else (y, scores @ y, bound)


class Choice:
    """The candidate of a place in the order of scores, with the largest score as its bound."""

    def __init__(self, place=0):
        self.place, self.exact = place, place == 0

    def argmax(self, scores, start=None):
        best = np.argsort(-scores, kind="stable")[min(self.place, len(scores) - 1)]
        return int(best), scores[best], scores.max()


class Pair(ScoredModel):
    """Which two of some things are the best."""

    def default_oracle(self):
        return Best()

    def scores(self, x, w):
        return x @ w

    def augment(self, scores, y_true):
        return scores + 1 - 2 * y_true

    def joint_feature(self, x, y):
        return y @ x

    def loss(self, y_true, y):
        return np.sum(y_true != y)


def outputs_of(x):
    return [np.isin(np.arange(len(x)), pair).astype(int) for pair in
            itertools.combinations(range(len(x)), 2)]  # fmt: skip


@pytest.fixture
def data(rng):
    X = [rng.normal(size=(n, 3)) for n in (3, 4, 5, 4, 3, 5, 4)]
    y = [outputs_of(x)[rng.integers(3)] for x in X]
    return X, y


def optimum(X, y):
    psi = [np.array([y_i @ x - out @ x for out in outputs_of(x)]) for x, y_i in zip(X, y)]
    losses = [np.array([np.sum(y_i != out) for out in outputs_of(x)]) for x, y_i in zip(X, y)]
    n = len(X)
    return solve_structured_svm(psi, losses, np.full(n, 1 / n), 1 / n)[1]


def test_optimum(data):
    svm = StructuredSVM(Pair(), solver="bcpfw", C=1.0, tol=1e-4, max_iter=2000).fit(*data)
    value = optimum(*data)
    assert svm.converged_
    assert isinstance(svm.oracle_, Best)
    assert svm.dual_objective_ <= value <= svm.objective_ <= 1.0001 * value


@budget_may_end
def test_given_oracle_is_the_default_one(data, rng):
    links = [rng.normal(size=(2, 3, 2)) for _ in range(5)], [[(0, 1)], [(1, 2)], [], [(0, 0)], []]
    lists = [rng.normal(size=(n, 3)) for n in (2, 3, 4, 3)], [1, 0, 3, 2]
    costs = EnumeratedModel(np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))))
    for model, X, y, oracle in (
        (Pair(), *data, Best()),
        ("matching", *links, Assignment()),
        (EnumeratedModel(), *lists, Choice()),
        (costs, *lists, Choice()),
    ):
        settings = {"C": 0.5, "max_iter": 4, "tol": 0.0, "random_state": 0}
        for solver in ("bcfw", "cached", "subgradient", "perceptron", "sp_bcfw", "fw"):
            own = {"C": "auto"} if solver == "sp_bcfw" else {}
            runs = [
                StructuredSVM(model, oracle=o, solver=solver, **settings | own).fit(X, y)
                for o in ("auto", oracle)
            ]
            np.testing.assert_array_equal(runs[0].coef_, runs[1].coef_)
            assert runs[0].dual_gap_ == runs[1].dual_gap_
            for one, other in zip(runs[0].predict(X), runs[1].predict(X), strict=True):
                np.testing.assert_array_equal(one, other)


@budget_may_end
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bounds_count_in_the_certificate(data):
    """The second best answer with the best one's score as a bound: the gap covers the truth."""
    value = optimum(*data)
    settings = {"solver": "bcfw", "C": 1.0, "tol": 0.0, "max_iter": 30, "random_state": 0}
    rough = StructuredSVM(Pair(), oracle=Best(lack=1), **settings).fit(*data)
    assert np.isfinite(rough.dual_gap_)
    assert rough.dual_objective_ <= value <= rough.objective_
    loose = StructuredSVM(Pair(), oracle=Best(bound=0.5), **settings).fit(*data)
    exact = StructuredSVM(Pair(), **settings).fit(*data)
    np.testing.assert_array_equal(loose.coef_, exact.coef_)
    np.testing.assert_allclose(loose.dual_gap_, exact.dual_gap_ + 0.5, rtol=1e-9)
    blind = StructuredSVM(Pair(), oracle=Best(bound=None), **settings).fit(*data)
    assert blind.dual_gap_ == np.inf
    assert not blind.converged_


@budget_may_end
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_candidates_with_bounds(rng):
    X, y = [rng.normal(size=(n, 3)) for n in (2, 3, 4, 3)], np.array([1, 0, 3, 2])
    psi = [x[truth] - x for x, truth in zip(X, y)]
    losses = [np.arange(len(x)) != truth for x, truth in zip(X, y)]
    value = solve_structured_svm(psi, losses, np.full(4, 0.25), 0.25)[1]
    settings = {"solver": "bcpfw", "C": 1.0, "tol": 1e-5, "max_iter": 200, "random_state": 0}
    exact, rough = (
        StructuredSVM(EnumeratedModel(), oracle=Choice(place), **settings).fit(X, y)
        for place in (0, 1)
    )
    np.testing.assert_allclose(exact.objective_, value, rtol=1e-4)
    assert rough.dual_objective_ <= value + 1e-9 <= rough.objective_ + 2e-9
    assert rough.dual_gap_ > exact.dual_gap_
    with pytest.raises(ValueError, match="y must name one of 2 candidates, got 7"):
        StructuredSVM(EnumeratedModel(), oracle=lambda scores: 7).fit(X, y)


@budget_may_end
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_are_oracles(data):
    settings = {"solver": "bcfw", "C": 1.0, "tol": 0.0, "max_iter": 3, "random_state": 0}
    own = StructuredSVM(Pair(), oracle=lambda s: Best().argmax(s)[0], **settings).fit(*data)
    exact = StructuredSVM(Pair(), **settings).fit(*data)
    np.testing.assert_array_equal(own.coef_, exact.coef_)
    assert own.dual_gap_ == np.inf  # a function promises nothing


@pytest.mark.parametrize(
    "answer, message",
    [
        (lambda y, value, bound: y, r"must return a tuple \(output, value or None, upper_bound"),
        (lambda y, value, bound: (y, "high", bound), "must return numbers or None"),
        (lambda y, value, bound: (y, value, np.nan), "must return numbers or None"),
        (lambda y, value, bound: (y, value, value - 1), "a bound is never below a score"),
        (lambda y, value, bound: (y[:-1], value, bound), "."),
    ],
)
def test_wrong_answers(data, answer, message):
    with pytest.raises((TypeError, ValueError), match=message):
        StructuredSVM(Pair(), oracle=Best(answer=answer), C=1.0).fit(*data)
