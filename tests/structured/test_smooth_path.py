"""The regularization path of smooth surrogates: its guarantee at every C."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from _path_problems import label_sets, svm, words
from sklearn_fw import StructuredSVM, regularization_path
from sklearn_fw.structured import (
    ChainModel,
    DualAscent,
    MulticlassModel,
    MultilabelModel,
    StructuredSVMCV,
)

SMOOTH = ("crf", "softmax_margin")
PROBLEMS = {
    "chain": (ChainModel(), words),
    "label tree": (MultilabelModel(), label_sets),
    "a graph with cycles": (MultilabelModel("full"), label_sets),
}
SOLVERS = {"auto": "auto", "quasi-Newton": DualAscent(quasi_newton=True)}


def value_at(estimator, X, y, C, w):
    """The objective by another pass than the solver's, and lam."""
    blocks, lam = estimator.set_params(C=C)._make_blocks(X, y, None)
    blocks.reset(lam)
    found = blocks.certify_smoothed(w)
    return found.primal, found.dual


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("surrogate", SMOOTH)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_C_is_solved_to_eps(problem, surrogate, solver, rng):
    model, data = PROBLEMS[problem]
    X, y = data()
    estimator = svm(model, solver=solver, surrogate=surrogate)
    path = regularization_path(estimator, X, y, C_max=10.0)
    assert path.terminated_by_ in ("C_max", "hinge")
    assert path.start_ == 0.0
    assert np.all(path.gaps_ <= 0.9 * path.eps)
    zero, _ = value_at(svm(model, surrogate=surrogate), X, y, 1.0, np.zeros(path.coefs_.shape[1]))
    assert path.eps == pytest.approx(0.02 * zero)
    for C in np.exp(rng.uniform(np.log(path.values_[0] / 3), np.log(10.0), size=4)):
        best = svm(model, C=C, surrogate=surrogate, tol=1e-5).fit(X, y)
        value, _ = value_at(svm(model, surrogate=surrogate), X, y, C, path.coef_at(C))
        error = value - best.objective_
        assert error <= path.gap_at(C) + 1e-9 <= path.eps + 2e-9
        assert path.gap_at(C) >= value - best.objective_ - 1e-9


def test_path_of_logistic_regression():
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    estimator = svm(MulticlassModel(fit_intercept=False), surrogate="crf")
    path = regularization_path(estimator, X, y, eps=1e-3, C_max=10.0)
    for C in (0.01, 0.3, 5.0):
        reference = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10_000)
        coef = reference.fit(X, y).coef_.T.ravel()
        distance = np.sum((path.coef_at(C) - coef) ** 2)
        # Strong convexity: lam / 2 |w - w*|^2 is at most the gap.
        assert 0.5 / (C * len(y)) * distance <= path.gap_at(C) + 1e-9
        probabilities = path.estimator_at(C).predict_marginals(X)
        np.testing.assert_allclose(probabilities, reference.predict_proba(X), rtol=0, atol=0.05)


def test_C_is_chosen_along_paths():
    X, y = words()
    search = StructuredSVMCV(
        StructuredSVM("chain", surrogate="crf", random_state=0), C_max=10.0, n_values=5, cv=2
    ).fit(X, y)
    assert search.scores_.shape == (2, 5)
    assert search.best_estimator_.surrogate == "crf"
    assert search.score(X, y) > 0.5


def test_nothing_to_learn(rng):
    X, y = np.zeros((6, 2)), np.array([0, 1, 2, 0, 1, 2])
    with pytest.raises(ValueError, match="zero weights are optimal for every C"):
        regularization_path(svm(MulticlassModel(), surrogate="crf"), X, y)
