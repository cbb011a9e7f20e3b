"""Dual extragradient against its textbook form on listed outputs, QP solvers and other solvers."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from _polytope_problems import FORESTS, SUMS, matchings, planted, polytopes
from _problems import C, budget_may_end, check_certificate, digits, fit, optimum, problem
from _references import solve_structured_svm
from sklearn_fw.datasets import make_digit_words
from sklearn_fw.structured import (
    ChainModel,
    Extragradient,
    MatchingModel,
    MulticlassModel,
    StructuredSVM,
)
from sklearn_fw.structured._problems._polytopes import Entropy

# ---- digits, words and matchings -----------------------------------------------------------------


@pytest.mark.slow
@budget_may_end
@pytest.mark.parametrize(
    ("balanced", "errors"), [(False, (5.2e-1, 1.8e-2)), (True, (7.6e-2, 1.9e-3))]
)
def test_digits_as_known(balanced, errors):
    """Errors after 100 and 1000 iterations of other code, which measured radii by the truth."""
    X, y = digits()
    lam, value, norm = 0.05, 0.2271041, 2.68806
    lipschitz = np.sqrt(np.mean(2 * np.sum(X**2, axis=1)))
    # Equal steps in sums over samples are these steps for means.
    balance = np.sqrt(norm**2 / 2 / np.log(10)) if balanced else np.sqrt(100)
    step = 1 / (lipschitz + lam * balance)
    solver = Extragradient(
        step_size=step, balance=balance, restart=False, gap_check=100, first_passes=0
    )
    svm = StructuredSVM(
        MulticlassModel(fit_intercept=False), C=1 / (lam * 100), solver=solver, tol=0.0,
        max_iter=1000,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(svm.history_["objective"][[0, -1]] - value, errors, rtol=0.03)


DATA = {
    "digits": lambda: (MulticlassModel(), *digits()),
    "words": lambda: (ChainModel(), *make_digit_words(20, 1, max_length=6, return_X_y=True)[:2]),
    "matchings": lambda: matchings(),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "C", "tol"), [("digits", 0.2, 2e-5), ("words", 0.02, 4e-5), ("matchings", 0.2, 8e-5)]
)
def test_agrees_with_block_frank_wolfe(name, C, tol):
    model, X, y = DATA[name]()
    one, two = (
        StructuredSVM(clone(model), solver=solver, C=C, tol=tol, max_iter=5000, random_state=0).fit(
            X, y
        )
        for solver in ("extragradient", "bcpfw")
    )
    assert one.converged_
    assert one.dual_gap_ <= 1e-4 * one.objective_
    np.testing.assert_allclose(one.objective_, two.objective_, rtol=1e-4)
    assert max(one.dual_objective_, two.dual_objective_) <= min(one.objective_, two.objective_)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=np.sqrt(8 * tol / one.lam_))


# ---- the optimum ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "geometry", "step_size"),
    [(name, "entropy", step) for name in FORESTS for step in ("backtrack", "auto")]
    + [(name, "euclidean", "backtrack") for name in SUMS]
    + [(name, "euclidean", "auto") for name in ("multiclass", "labels, no pairs")],
)
def test_optimum(name, geometry, step_size):
    p = problem(name)
    w, value = optimum(name)
    solver = Extragradient(z_geometry=geometry, step_size=step_size)
    tol = 2e-3 if step_size == "backtrack" else 2e-2
    svm = fit(p, solver, tol=tol)
    check_certificate(svm, p, value)
    assert np.sum((svm.coef_ - w) ** 2) <= 2 * tol / p.lam
    check_bound(svm)


def check_bound(svm):
    history, forgiven = svm.history_, 0.02 * svm.tol * svm.objective_ + 1e-9
    assert np.all(history["restricted_gap"] >= -1e-12)
    assert np.all(history["restricted_gap"] <= history["bound"] + forgiven)
    assert np.all(np.diff(history["dual_gap"]) <= 0.0)  # the best values met


@pytest.mark.slow
@pytest.mark.parametrize("geometry", ["entropy", "euclidean"])
@pytest.mark.parametrize("name", ["multiclass, costs", "chain", "labels, tree"])
def test_ball_of_the_ridge_solution(name, geometry):
    """Its norm as the radius gives its mean hinge, and its weights."""
    p = problem(name)
    w, value = optimum(name)
    hinge = value - 0.5 * p.lam * (w @ w)
    solver = Extragradient(radius=np.linalg.norm(w), z_geometry=geometry)
    svm = fit(p, solver, tol=5e-3, value=hinge)
    check_certificate(svm, p, hinge, lam=0.0)
    assert np.linalg.norm(svm.coef_) <= np.linalg.norm(w) * (1 + 1e-12)
    # lam / 2 |w|^2 is the same for both but for the gap.
    assert np.sum((svm.coef_ - w) ** 2) <= 2 * svm.dual_gap_ / p.lam + 1e-10
    check_bound(svm)


@pytest.mark.slow
@pytest.mark.parametrize("geometry", ["entropy", "euclidean"])
@pytest.mark.parametrize("perfect", [False, True])
def test_geometries_of_matchings(perfect, geometry):
    _, outputs = planted()
    full = [np.eye(4)[linear_sum_assignment(-y)[1]] for y in outputs]
    model, X, y = matchings()
    model, y = MatchingModel(perfect=perfect), full if perfect else y
    one, two = (
        StructuredSVM(
            clone(model), solver=solver, C=0.2, tol=1e-3, max_iter=3000, random_state=0
        ).fit(X, y)
        for solver in (Extragradient(z_geometry=geometry), "bcpfw")
    )
    assert one.converged_
    assert two.dual_objective_ <= one.objective_
    assert one.dual_objective_ <= two.objective_
    check_bound(one)


def test_features_that_say_nothing():
    """Psi is zero: w = 0 is optimal, its value is the largest loss."""
    X, y = np.zeros((4, 2)), [0, 1, 0, 1]
    model = MulticlassModel(fit_intercept=False)
    for settings in ({}, {"radius": 1.0}, {"radius": 1.0, "norm": "l1"}):
        for geometry in ("entropy", "euclidean"):
            solver = Extragradient(z_geometry=geometry, **settings)
            svm = StructuredSVM(model, solver=solver, max_iter=1000).fit(X, y)
            assert svm.converged_
            np.testing.assert_array_equal(svm.coef_, 0.0)
            assert svm.objective_ == 1.0


# ---- steps and their bound -----------------------------------------------------------------------

BALLS = {
    "ridge": {},
    "one start": {"restart": False},
    "l2": {"radius": 0.5},
    "l1": {"radius": 0.7, "norm": "l1"},
}


@pytest.mark.slow
@budget_may_end
@pytest.mark.parametrize("geometry", ["entropy", "euclidean"])
@pytest.mark.parametrize("step_size", ["auto", "backtrack"])
@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("name", ["multiclass", "labels, tree", "matchings"])
def test_gap_stays_below_the_bound(name, ball, step_size, geometry):
    solver = Extragradient(step_size=step_size, z_geometry=geometry, gap_check=1, **BALLS[ball])
    if name == "matchings":
        model, X, y = matchings()
        svm = StructuredSVM(model, solver=solver, tol=0.0, max_iter=30).fit(X, y)
    else:
        svm = fit(problem(name), solver, tol=0.0, max_iter=30)
    check_bound(svm)
    steps = svm.history_["step_size"]
    if ball in ("l2", "l1", "one start"):
        # Lengths of 1 / L are never refused, and longer ones are found.
        if step_size == "auto":
            assert np.ptp(steps) == 0.0
        else:
            assert steps[-1] > steps[0] > 0.0


@pytest.mark.slow
@budget_may_end
def test_restarts_and_longer_steps_save_iterations():
    p, tol = problem("chain"), 5e-3
    settings = [{}, {"restart": False}, {"restart": False, "step_size": "auto"}]
    n_iter = [
        fit(p, Extragradient(first_passes=0, **setting), tol=tol).n_iter_ for setting in settings
    ]
    assert 3 * n_iter[0] < n_iter[1]
    assert 3 * n_iter[1] < n_iter[2]


def test_steps_that_are_too_long_are_refused(monkeypatch):
    """A Lipschitz constant that is too small is found out; as a fixed step it diverges."""
    p = problem("multiclass")
    value = optimum("multiclass")[1]
    true = Entropy.lipschitz
    monkeypatch.setattr(Entropy, "lipschitz", lambda self, norm: 0.01 * true(self, norm))
    for step_size in ("auto", "backtrack"):
        svm = fit(p, Extragradient(step_size=step_size), tol=1e-3)
        assert svm.converged_
        assert svm.dual_objective_ <= value <= svm.objective_
        check_bound(svm)
        assert svm.history_["step_size"][0] < 30 / true_lipschitz(p, true)
    with pytest.raises(FloatingPointError, match="weights grow without bound with step_size="):
        fit(p, Extragradient(step_size=100 / true_lipschitz(p, true)), tol=1e-3)


def test_steps_with_nearly_nothing_to_lose():
    """The inequality that allows a step may have a left side of 1e-310: no overflow."""
    rng = np.random.default_rng(34)
    X, y = [rng.normal(size=(1, 2)), rng.normal(size=(2, 2))], [[2], [1, 1]]
    solver = Extragradient(radius=0.1, norm="l1")
    assert StructuredSVM("chain", solver=solver, tol=1e-3, max_iter=50).fit(X, y).converged_


def true_lipschitz(p, function):
    return function(Entropy(polytopes(p), False), "l2")


# ---- the same problem in other words -------------------------------------------------------------


@budget_may_end
def test_weights_of_samples():
    """A weight of two is the sample twice, a weight of zero none."""
    p = problem("multiclass")
    weight = np.array([2, 1, 0, 1, 1, 1, 3, 1, 1, 1, 1, 1])
    solver = Extragradient(gap_check=1, first_passes=0)  # which depend on the order
    one = fit(p, solver, tol=0.0, max_iter=20)  # of the right form only
    one.fit(p.X, p.y, weight)
    X, y = np.repeat(p.X, weight, axis=0), np.repeat(p.y, weight)
    two = StructuredSVM(clone(p.model), solver=solver, C=C, tol=0.0, max_iter=20).fit(X, y)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(one.history_["bound"], two.history_["bound"], rtol=1e-9)
    value = solve_structured_svm(p.psi, p.losses, weight / weight.sum(), 1 / weight.sum())[1]
    assert one.dual_objective_ <= value <= one.objective_


@pytest.mark.slow
@budget_may_end
@pytest.mark.parametrize("geometry", ["entropy", "euclidean"])
@pytest.mark.parametrize("name", ["labels, tree", "chain"])
def test_oracles_and_workers(name, geometry):
    """Oracles without marginals will do, and workers change nothing."""
    p = problem(name)
    solver = Extragradient(z_geometry=geometry, first_passes=0)
    one = fit(p, solver, tol=0.0, max_iter=8)
    two = fit(p, solver, tol=0.0, max_iter=8, oracle=p.model.default_oracle().argmax)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9, atol=1e-11)
    three = fit(p, solver, tol=0.0, max_iter=8, n_jobs=2)
    np.testing.assert_array_equal(one.coef_, three.coef_)
    assert one.n_oracle_calls_ == two.n_oracle_calls_ == three.n_oracle_calls_


# ---- warm starts ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chain", "labels, tree", "matchings"])
def test_warm_start(name):
    if name == "matchings":
        model, X, y = matchings()
        weight = None
    else:
        p = problem(name)
        model, X, y, weight = clone(p.model), p.X, p.y, p.sample_weight
    solver = Extragradient(memory_efficient=False, first_passes=0)
    svm = StructuredSVM(model, solver=solver, C=C, tol=1e-3, max_iter=2000, warm_start=True)
    svm.fit(X, y, weight)
    calls, coef = svm.n_oracle_calls_, svm.coef_
    svm.set_params(tol=0.09).fit(X, y, weight)  # less than the quality of the weights of averages
    assert svm.n_iter_ == 1
    assert svm.n_oracle_calls_ == len(X)
    np.testing.assert_allclose(svm.coef_, coef, atol=np.sqrt(0.1 / svm.lam_))
    svm.set_params(tol=1e-3, C=1.1).fit(X, y, weight)
    assert svm.converged_
    assert svm.n_oracle_calls_ < calls
    svm.set_params(solver="bcfw", tol=2e-2, C=1.2).fit(X, y, weight)
    assert svm.converged_
    # Nothing is kept: from scratch.
    svm.set_params(solver="extragradient", warm_start=False).fit(X, y, weight)
    alone = svm.coef_
    svm.set_params(warm_start=True).fit(X, y, weight)
    svm.fit(X, y, weight)
    np.testing.assert_array_equal(svm.coef_, alone)


def test_warm_start_from_another_solver():
    p = problem("chain")
    svm = fit(p, "bcfw", tol=1e-2, warm_start=True)
    cold = fit(p, Extragradient(first_passes=0), tol=5e-3)
    svm.set_params(solver="extragradient", tol=cold.tol).fit(p.X, p.y, p.sample_weight)
    assert svm.converged_
    assert svm.n_oracle_calls_ < cold.n_oracle_calls_
    svm.set_params(solver=Extragradient(radius=0.5), tol=1e-2, C="auto").fit(
        p.X, p.y, p.sample_weight
    )
    ball = fit(p, Extragradient(radius=0.5), tol=1e-2)
    np.testing.assert_array_equal(svm.coef_, ball.coef_)  # balls start from zero


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_bounds_of_the_model():
    class Positive(MulticlassModel):
        def bounds(self):
            return 0.0, None

    p = problem("multiclass")
    svm = StructuredSVM(Positive(), solver="extragradient", C=C, tol=1e-3, max_iter=2000)
    svm.fit(p.X, p.y)
    np.testing.assert_allclose(svm.objective_, optimum("multiclass", 0.0, None)[1], atol=1e-3)
    assert svm.coef_.min() >= 0.0
    with pytest.raises(ValueError, match="radius and lower_bounds or upper_bounds exclude"):
        svm.set_params(solver=Extragradient(radius=1.0), C="auto").fit(p.X, p.y)
