"""How far weights are from the optimum of other data, against optima known by other means."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from _problems import fit, optimum, problem
from _references import smallest_mean_hinge
from sklearn_fw import StructuredSVM
from sklearn_fw.inference import Viterbi
from sklearn_fw.structured import (
    BlockFrankWolfe,
    EnumeratedModel,
    Extragradient,
    SaddlePointFrankWolfe,
)

NAMES = ["multiclass", "multiclass, costs", "labels, tree", "labels, all pairs", "chain"]


def trained_on_a_part(p, **settings):
    """Weights of the first half of the samples, with the C of all."""
    weight = p.sample_weight * (np.arange(len(p.sample_weight)) < len(p.sample_weight) // 2)
    settings = {"solver": "bcpfw", "C": 1.0, "tol": 1e-2, "max_iter": 5000} | settings
    return StructuredSVM(p.model, random_state=0, **settings).fit(p.X, p.y, weight)


@pytest.mark.parametrize("name", NAMES)
def test_the_gap_on_other_data_is_what_is_missing(name):
    p = problem(name)
    svm = trained_on_a_part(p)
    missing = p.objective(svm.coef_) - optimum(name)[1]
    assert missing > 1e-3
    gap = svm.duality_gap(p.X, p.y, p.sample_weight)
    assert missing - 1e-9 <= gap <= missing / 0.9 + 1e-9
    few = svm.duality_gap(p.X, p.y, p.sample_weight, max_iter=1)
    assert few >= gap - 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_on_the_training_data_it_is_that_of_the_fit(name):
    p = problem(name)
    svm = fit(p, "bcfw", tol=0.05)
    missing = p.objective(svm.coef_) - optimum(name)[1]
    gap = svm.duality_gap(p.X, p.y, p.sample_weight)
    assert missing - 1e-9 <= gap <= svm.dual_gap_ + 1e-2
    assert gap <= missing / 0.9 + 1e-9


@pytest.mark.parametrize(
    "solver",
    [SaddlePointFrankWolfe(radius=0.7), Extragradient(radius=0.7, norm="l1")],
    ids=["sp_fw", "extragradient"],
)
def test_balls(solver):
    p = problem("multiclass")
    svm = trained_on_a_part(p, solver=solver, C="auto", tol=0.02)
    best = smallest_mean_hinge(p.psi, p.losses, p.weight, 0.7)
    missing = p.objective(svm.coef_, 0.0) - best
    assert missing > 1e-3
    gap = svm.duality_gap(p.X, p.y, p.sample_weight)
    assert missing - 1e-9 <= gap <= missing / 0.9 + 1e-9


@pytest.mark.slow
def test_boxes_are_kept():
    p = problem("multiclass")
    svm = trained_on_a_part(p, solver=BlockFrankWolfe(lower_bounds=0.0))
    _, value = optimum("multiclass", lower=0.0)
    missing = p.objective(svm.coef_) - value
    gap = svm.duality_gap(p.X, p.y, p.sample_weight)
    assert missing - 1e-9 <= gap <= missing / 0.9 + 1e-9
    assert value > optimum("multiclass")[1] + 1e-4


def test_black_boxes_and_oracles_in_python():
    p = problem("multiclass")
    box = StructuredSVM(EnumeratedModel(), solver="bcfw", C=1.0, tol=1e-2, random_state=0)
    box.fit([-psi for psi in p.psi][:6], p.targets[:6])
    missing = p.objective(box.coef_) - optimum("multiclass")[1]
    gap = box.duality_gap([-psi for psi in p.psi], p.targets)
    assert missing - 1e-9 <= gap <= missing / 0.9 + 1e-9
    chains = problem("chain")
    svm = trained_on_a_part(chains, oracle=Viterbi())
    missing = chains.objective(svm.coef_) - optimum("chain")[1]
    assert svm.duality_gap(chains.X, chains.y, chains.sample_weight) >= missing - 1e-9


def test_weights_are_repeated_samples():
    X, y = load_iris(return_X_y=True)
    svm = StructuredSVM(C=0.1, random_state=0).fit(X[::3], y[::3])
    weight = np.arange(len(y)) % 3
    repeated = np.repeat(np.arange(len(y)), weight)
    a = svm.duality_gap(X, y, weight, max_iter=2000)
    b = svm.duality_gap(X[repeated], y[repeated], max_iter=2000)
    assert a == pytest.approx(b, rel=0.12)
    sparse = svm.sparsify().duality_gap(X, y, weight, max_iter=2000)
    assert sparse == pytest.approx(a, rel=1e-12)
    for name in ("coef_", "C_", "lam_", "n_iter_", "dual_gap_"):
        assert hasattr(svm, name)


class Loose(Viterbi):
    exact = False

    def argmax(self, scores, start=None):
        labels, value, _ = super().argmax(scores)
        return labels, value, np.inf


@pytest.mark.filterwarnings("ignore:the oracle gave:RuntimeWarning")
def test_nothing_is_claimed_without_bounds():
    p = problem("chain")
    svm = StructuredSVM(p.model, oracle=Loose(), solver="bcfw", C=1.0, tol=0.2, max_iter=20)
    assert svm.fit(p.X, p.y).duality_gap(p.X, p.y) == np.inf


def test_errors():
    X, y = load_iris(return_X_y=True)
    svm = StructuredSVM(C=0.1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="7"):
        svm.duality_gap(X, np.full(len(y), 7))
    with pytest.raises(ValueError, match="perceptron"):
        StructuredSVM(solver="perceptron").fit(X, y).duality_gap(X, y)
