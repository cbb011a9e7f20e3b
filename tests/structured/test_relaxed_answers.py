"""Training and prediction with answers of the linear relaxation."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw.inference import LPRelaxation
from sklearn_fw.structured import ChainModel, GraphModel, MultilabelModel, StructuredSVM

CYCLE = np.array([[0, 1], [1, 2], [2, 0], [2, 3], [3, 0]])


def triangles(rng, n_samples=8):
    """Graphs with odd cycles whose nodes like to differ: relaxations of such are not tight."""
    X, y = [], []
    for _ in range(n_samples):
        labels = rng.integers(2, size=4)
        X.append((rng.normal(size=(4, 3)) + np.eye(2)[labels] @ np.ones((2, 3)) * 0.3, CYCLE))
        y.append(labels)
    return X, y


def sequences(rng, n_samples=8):
    y = [rng.integers(3, size=rng.integers(1, 6)) for _ in range(n_samples)]
    return [rng.normal(size=(len(t), 3)) + 0.7 * np.eye(3)[t] for t in y], y


def fitted(model, data, oracle, **options):
    options = {"C": 1.0, "tol": 1e-3, "max_iter": 40, "random_state": 0} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return StructuredSVM(model, oracle=oracle, **options).fit(*data)


@pytest.mark.slow
def test_on_trees_the_relaxed_problem_is_the_usual_one(rng):
    data = sequences(rng)
    exact = fitted(ChainModel(), data, "viterbi", solver="bcpfw", max_iter=3000, tol=1e-6)
    for solver in ("bcfw", "fw"):
        relaxed = fitted(ChainModel(), data, LPRelaxation(relaxed=True), solver=solver)
        assert relaxed.dual_objective_ <= exact.objective_ + 1e-6
        assert relaxed.objective_ >= exact.dual_objective_ - 1e-6
        assert 0.0 <= relaxed.dual_gap_ < (0.2 if solver == "bcfw" else 0.5) * relaxed.objective_
        usual = fitted(ChainModel(), data, "viterbi", solver=solver)
        assert relaxed.objective_ == pytest.approx(usual.objective_, rel=0.05)


def relaxed_objective(svm, X, y):
    """The regularized mean of relaxed hinges, added up sample by sample."""
    model, total = svm.model_, 0.0
    for x, truth in zip(X, y, strict=True):
        scores = model.augment(model.scores(x, svm.coef_), truth)
        total += LPRelaxation().vertex(scores)[2] - model.scores(x, svm.coef_).value(truth)
    return 0.5 * svm.lam_ * svm.coef_ @ svm.coef_ + total / len(y)


@pytest.mark.parametrize("solver", ["bcfw", "fw", "one_slack", "subgradient"])
def test_the_certificate_is_that_of_the_relaxed_problem(solver, rng):
    X, y = triangles(rng)
    relaxed = fitted(GraphModel(), (X, y), LPRelaxation(relaxed=True), solver=solver)
    assert relaxed.objective_ == pytest.approx(relaxed_objective(relaxed, X, y), abs=1e-6)
    if solver == "subgradient":
        return
    usual = fitted(GraphModel(), (X, y), "enumeration", solver="bcfw")
    # The relaxed hinge is not below the usual one, at any weights.
    assert relaxed.objective_ >= usual.dual_objective_ - 1e-9
    assert relaxed.dual_gap_ == pytest.approx(relaxed.objective_ - relaxed.dual_objective_)
    assert 0.0 <= relaxed.dual_gap_ < (0.5 if solver == "fw" else 0.2) * relaxed.objective_


def test_gap_of_other_data_is_relaxed_too(rng):
    X, y = triangles(rng)
    svm = fitted(GraphModel(), (X, y), LPRelaxation(relaxed=True))
    assert 0.0 <= svm.duality_gap(X, y, max_iter=20) < 0.2 * svm.objective_


def test_fractions_on_request(rng):
    X, y = triangles(rng)
    svm = fitted(GraphModel(), (X, y), LPRelaxation(relaxed=True))
    shares, labels = svm.predict_relaxed(X), svm.predict(X)
    for share, x, found in zip(shares, X, labels, strict=True):
        assert share.shape == (4, 2)
        np.testing.assert_allclose(share.sum(axis=1), 1.0, rtol=0, atol=1e-9)
        node, *_ = LPRelaxation().vertex(svm.model_.scores(x, svm.coef_))
        np.testing.assert_allclose(share, node, rtol=0, atol=1e-7)
        settled = share.max(axis=1) > 0.9
        np.testing.assert_array_equal(found[settled], share.argmax(axis=1)[settled])
    # A node of which three cycles ask what they cannot have is halved.
    svm.coef_ = np.zeros_like(svm.coef_)
    tables = svm.coef_[-4:].reshape(2, 2)
    tables[:] = 1 - np.eye(2)
    assert any(np.any((share > 0.1) & (share < 0.9)) for share in svm.predict_relaxed(X))


@pytest.mark.slow
def test_shares_come_in_the_form_of_the_outputs(rng):
    X, Y = rng.normal(size=(12, 4)), rng.integers(2, size=(12, 3))
    svm = fitted(MultilabelModel("full"), (X, Y), "lp")
    assert svm.predict_relaxed(X).shape == (12, 3, 2)
    X, y = sequences(rng)
    svm = fitted(ChainModel(), (X, y), "lp")
    assert [share.shape for share in svm.predict_relaxed(X)] == [(len(t), 3) for t in y]


def test_what_has_no_relaxed_answers_is_refused(rng):
    X, y = sequences(rng)
    with pytest.raises(ValueError, match=r"relaxed answers are marginals.*solver='bcfw'"):
        fitted(ChainModel(), (X, y), LPRelaxation(relaxed=True), solver="bcpfw")
    with pytest.raises(ValueError, match="relaxed answers need a task_loss that is a sum"):
        fitted(ChainModel(), (X, y), LPRelaxation(relaxed=True), task_loss="zero_one")
    svm = fitted(ChainModel(), (X, y), "viterbi")
    with pytest.raises(TypeError, match="predict_relaxed needs an oracle with the method vertex"):
        svm.predict_relaxed(X)
