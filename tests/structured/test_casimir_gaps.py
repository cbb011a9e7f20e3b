"""Random small problems: the gap of incremental gradients is never below the true error."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw.structured import SVRG, Casimir, ChainModel, StructuredSVM

N_PROBLEMS = 60
REFEREES = {"hinge": "bcpfw", "crf": "dual_ascent", "softmax_margin": "dual_ascent"}
ROUNDING = 1e-9


def draw(rng):
    """A few short sequences, C, a surrogate and a solver with random settings."""

    def one(values):
        return values[rng.integers(len(values))]

    n_states, n_features = rng.integers(2, 4), rng.integers(1, 4)
    lengths = rng.integers(1, 5 if n_states == 2 else 4, size=rng.integers(1, 6))
    X = [10 ** rng.uniform(-1, 1) * rng.normal(size=(n, n_features)) for n in lengths]
    y = [rng.integers(n_states, size=n) for n in lengths]
    y = [np.append(labels, np.arange(n_states)) if i == 0 else labels for i, labels in enumerate(y)]
    X[0] = np.vstack([X[0], rng.normal(size=(n_states, n_features))])
    common = {
        "smoother": one(["l2", "entropy"]), "mu": 10 ** rng.uniform(-2, 1.5),
        "n_best": int(rng.integers(1, 7)),
    }  # fmt: skip
    if rng.random() < 0.3:
        solver = SVRG(**common)
    else:
        solver = Casimir(
            one(["adapt", "const"]), kappa=one(["auto", 0.01, 1.0]),
            inner_start=one(["prox_center", "extrapolation", "previous"]), **common,
        )  # fmt: skip
    surrogate = one(["hinge", "hinge", "hinge", "crf", "softmax_margin"])
    return X, y, 10 ** rng.uniform(-2, 1.5), surrogate, solver


def objective(svm, X, y):
    """The objective at ``coef_``, by enumeration of all labellings."""
    parts, total = svm.feature_weights(), 0.0
    for x, truth in zip(X, y, strict=True):
        unary, table = x @ parts["features"], parts["transitions"]
        unary[0] += parts["start"]
        unary[-1] += parts["end"]
        n_states = len(table)
        states = np.array(list(itertools.product(range(n_states), repeat=len(x))))
        scores = unary[np.arange(len(x)), states].sum(axis=1)
        scores += table[states[:, :-1], states[:, 1:]].sum(axis=1)
        wrong = (states != truth).sum(axis=1)
        values = scores - scores[wrong == 0] + (svm.surrogate != "crf") * wrong
        total += values.max() if svm.surrogate == "hinge" else logsumexp(values)
    return 0.5 * svm.lam_ * (svm.coef_ @ svm.coef_) + total / len(X)


def test_gaps_of_random_problems():
    rng = np.random.default_rng(0)
    for k in range(N_PROBLEMS):
        X, y, C, surrogate, solver = draw(rng)
        options = {"surrogate": surrogate, "task_loss": "hamming_sum", "C": C, "tol": 0.0}
        svm = StructuredSVM(
            ChainModel(), solver=solver, max_iter=int(rng.integers(1, 8)), random_state=k, **options
        ).fit(X, y)
        best = StructuredSVM(
            ChainModel(), solver=REFEREES[surrogate], max_iter=30, random_state=0, **options
        ).fit(X, y)
        here, there = objective(svm, X, y), objective(best, X, y)
        small = ROUNDING * max(1.0, here)
        assert svm.objective_ == pytest.approx(here, rel=1e-9, abs=1e-12), (k, solver)
        assert svm.dual_gap_ >= here - there - small, (k, solver, surrogate, C)
        assert svm.dual_gap_ == pytest.approx(here - svm.dual_objective_, rel=1e-9, abs=small)


def test_outputs_that_are_cut_off_are_named(rng):
    X = [rng.normal(size=(6, 2)) for _ in range(20)]
    y = [rng.integers(4, size=6) for _ in X]
    svm = StructuredSVM(
        "chain", solver=Casimir("const", n_best=2, mu=30.0), C=1.0, tol=1e-6, max_iter=2
    )
    helps = r"n_best='adaptive' or a smaller mu of Casimir \(for \d+ % of the samples the best 2"
    with pytest.warns(ConvergenceWarning, match=helps):
        svm.fit(X, y)
    assert svm.history_["saturated"][-1] > 0.5
