"""Solvers against a QP solver, other software, closed forms and slow primal methods."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from _problems import (
    PROBLEMS,
    ROUNDING,
    C,
    OwnChains,
    budget_may_end,
    check_certificate,
    fit,
    optimum,
    part_blocks,
    problem,
)
from _references import slow_perceptron, slow_subgradient, solve_structured_svm
from sklearn_fw.inference import Enumeration, Viterbi
from sklearn_fw.structured import (
    BlockFrankWolfe,
    EnumeratedModel,
    Extragradient,
    MinibatchFrankWolfe,
    MulticlassModel,
    MultilabelModel,
    NSlack,
    OneSlack,
    SaddlePointFrankWolfe,
    StructuredSVM,
    Subgradient,
)
from sklearn_fw.structured._solvers import resolve_solver

STEPS = ["fw", "pairwise", "away", "hybrid"]
NAMES = ["bcfw", "bcpfw", "bcafw", "bchybrid"]

# ---- the optimum ---------------------------------------------------------------------------------

SOLVERS = [
    *(
        BlockFrankWolfe(step, sampling=sampling, cache=cache)
        for step in STEPS for sampling in ("uniform", "shuffle", "gap") for cache in (False, True)
    ),
    "cached", BlockFrankWolfe("pairwise", sampling="max_gap"), "fw",
    OneSlack(), OneSlack(step_size=1.0, max_idle=3), OneSlack(cache=True, cache_size=2),
    NSlack(), NSlack(cache_size=2),
    MinibatchFrankWolfe(), MinibatchFrankWolfe(5), MinibatchFrankWolfe(99),
]  # fmt: skip


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("name", PROBLEMS)
def test_optimum(name, solver):
    """Every solver, sampling and cache against a QP solver on all outputs."""
    p, (w, value) = problem(name), optimum(name)
    is_fw = getattr(solver, "variant", solver) == "fw"
    slow = is_fw or name == "chain, zero-one"
    tol = 1e-2 if slow else 1e-7
    svm = fit(p, solver, tol=tol)
    assert 0 <= svm.dual_gap_ <= tol
    # The certificate bounds the true error, in value and, by strong convexity, in weights.
    check_certificate(svm, p, value, rounding=1e-12)
    assert np.sum((svm.coef_ - w) ** 2) <= 2 * (svm.objective_ - value) / p.lam + 1e-12
    np.testing.assert_allclose(svm.coef_, w, atol=0.3 if slow else 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("box", [(0.0, None), (None, 0.1), (-0.2, 0.3), (0.05, 0.2)], ids=str)
@pytest.mark.parametrize("name", ["multiclass", "labels, tree", "chain, CSR"])
@pytest.mark.parametrize(
    ("solver", "tol"),
    [
        *((name, 3e-2) for name in ("bcfw", "fw")),
        *((name, 1e-6) for name in ("bcpfw", "bcafw", "bchybrid", "cached", "sdm")),
        *((solver, 1e-6) for solver in (OneSlack(), OneSlack(cache=True), NSlack())),
        (MinibatchFrankWolfe(3, sampling="shuffle"), 1e-6),
        *((Extragradient(z_geometry=kind), 2e-3) for kind in ("entropy", "euclidean")),
    ],
    ids=str,
)
def test_optimum_in_a_box(name, box, solver, tol):
    p = problem(name)
    w, value = optimum(name, *box)
    bounded = resolve_solver(solver).set_params(lower_bounds=box[0], upper_bounds=box[1])
    svm = fit(p, bounded, tol=tol)
    check_certificate(svm, p, value)
    lower, upper = -np.inf if box[0] is None else box[0], np.inf if box[1] is None else box[1]
    assert lower - 1e-12 <= svm.coef_.min() <= svm.coef_.max() <= upper + 1e-12
    assert np.sum((svm.coef_ - w) ** 2) <= 2 * tol / p.lam


# ---- other software and closed forms -------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.5, 5.0, 20.0])
@pytest.mark.parametrize("solver", ["bcfw", "bcpfw", "bcafw", "bchybrid", "cached", "fw"])
@pytest.mark.parametrize("compiled", [True, False], ids=["parts", "black box"])
def test_one_sample(solver, lam, compiled):
    """psi = x and L = 1: w* = min(1 / lam, 1 / |x|^2) x."""
    x = np.array([1.0, -2.0, 0.5])
    if compiled:
        model, X, y = MultilabelModel("none", fit_intercept=False), [x], [[1]]
        psi = np.stack([-x, x], axis=1).ravel()
    else:
        model, X, y, psi = EnumeratedModel(), [np.stack([x, 0 * x])], [0], x
    svm = StructuredSVM(model, solver=solver, C=1 / lam, tol=1e-9, random_state=0).fit(X, y)
    norm = psi @ psi
    np.testing.assert_allclose(svm.coef_, min(1 / lam, 1 / norm) * psi, rtol=1e-9)
    value = 1 - norm / (2 * lam) if lam >= norm else lam / (2 * norm)
    np.testing.assert_allclose([svm.objective_, svm.dual_objective_], value, rtol=1e-9)
    assert svm.n_iter_ <= 3


# ---- warm starts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bcfw", "bcpfw", "cached", "fw"])
@pytest.mark.parametrize("problem_name", ["multiclass", "labels, all pairs", "chain"])
def test_warm_start_of_the_same_fit(name, problem_name):
    p = problem(problem_name)
    tol = 0.02 if name in ("bcfw", "fw") else 1e-5
    svm = fit(p, name, tol=tol, warm_start=True)
    coef, calls = svm.coef_.copy(), svm.n_oracle_calls_
    svm.fit(p.X, p.y, p.sample_weight)
    assert svm.n_oracle_calls_ < 0.8 * calls
    assert svm.dual_gap_ <= tol
    np.testing.assert_allclose(svm.coef_, coef, atol=np.sqrt(8 * tol / p.lam))
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)


@pytest.mark.parametrize("name", ["bcfw", "bcpfw", "cached"])
@pytest.mark.parametrize("problem_name", ["multiclass", "labels, tree", "chain", "chain, zero-one"])
def test_warm_start_with_another_C(name, problem_name):
    """keep_primal keeps w, keep_dual keeps alpha, none starts anew; all end at the optimum."""
    p = problem(problem_name)
    tol = 0.05
    svm = fit(p, name, tol=tol, warm_start=True)
    w, old = svm.coef_.copy(), svm._warm
    lam = p.lam / 3
    starts = {"keep_primal": w, "keep_dual": 3 * w, "none": 0 * w}
    for kind, expected in starts.items():
        solver = resolve_solver(name).set_params(warm_start_type=kind)
        method = solver.start(
            part_blocks(p), lam=lam, tol=tol, rng=np.random.RandomState(0), warm=old
        )
        np.testing.assert_allclose(method.weights(), expected, rtol=1e-9, atol=1e-12)
        row = method.certify()
        np.testing.assert_allclose(p.objective(expected, lam), row["objective"], rtol=1e-9)
        assert row["dual_objective"] <= row["objective"]
    again = fit(p, solver.set_params(warm_start_type="keep_primal"), tol=tol, warm_start=True)
    cold = fit(p, name, C=3 * C, tol=tol)
    again.set_params(C=3 * C, tol=cold.tol).fit(p.X, p.y, p.sample_weight)
    assert again.converged_
    np.testing.assert_allclose(p.objective(again.coef_, lam), again.objective_, rtol=1e-12)
    # Both values are within tol of the optimum.
    np.testing.assert_allclose(again.objective_, cold.objective_, atol=tol)
    assert again.objective_ >= cold.dual_objective_
    assert cold.objective_ >= again.dual_objective_


@pytest.mark.parametrize("name", ["bcfw", "bcpfw"])
@pytest.mark.parametrize("problem_name", ["labels, tree", "chain", "chain, zero-one"])
def test_warm_start_with_other_weights(name, problem_name, rng):
    """The certificate of a second fit with other weights of samples holds."""
    p = problem(problem_name)
    svm = fit(p, name, tol=0.05, warm_start=True)
    solver = resolve_solver(name).set_params(warm_start_type="keep_dual")
    weight = rng.uniform(0.5, 2.0, size=len(p.X))
    svm.set_params(solver=solver).fit(p.X, p.y, weight)
    lam = 1 / (C * weight.sum())
    value = solve_structured_svm(p.psi, p.losses, weight / weight.sum(), lam)[1]
    assert svm.dual_objective_ <= value <= svm.objective_


def test_warm_start_with_a_smaller_C():
    p = problem("chain")
    svm = StructuredSVM("chain", warm_start=True, C=C, tol=0.01, random_state=0).fit(p.X, p.y)
    cold = clone(svm).set_params(C=C / 2).fit(p.X, p.y)
    svm.set_params(C=C / 2).fit(p.X, p.y)
    assert svm.converged_
    assert svm.dual_objective_ <= cold.objective_
    assert cold.dual_objective_ <= svm.objective_


@pytest.mark.parametrize("change", [lambda x: np.hstack([x, x]), lambda x: -x])
def test_warm_start_with_other_features(change):
    """Averages of old weights do not go on: one pass from the same duals gives the same."""
    p, solver = problem("chain"), BlockFrankWolfe(averaging=True)
    svm = StructuredSVM("chain", solver=solver, warm_start=True, C=C, random_state=0)
    X = [change(np.asarray(x)) for x in p.X]
    svm.fit(p.X, p.y).fit(X, p.y)
    assert svm.converged_
    best = StructuredSVM("chain", C=C, tol=1e-3, max_iter=5000, random_state=0).fit(X, p.y)
    assert svm.dual_objective_ <= best.objective_


def test_warm_start_needs_the_same_dual(rng):
    p = problem("chain")
    svm = fit(p, "bcpfw", tol=0.05, warm_start=True)
    for y in (p.y[::-1], p.y[1:]):
        X = p.X[::-1] if len(y) == len(p.X) else p.X[1:]
        with pytest.raises(ValueError, match="warm_start=True needs the outputs and the losses"):
            svm.fit(X, y)
    svm = fit(p, "bcpfw", tol=0.05, warm_start=True)
    with pytest.raises(ValueError, match="warm_start=True needs"):
        svm.set_params(model__task_loss="hamming_sum").fit(p.X, p.y, p.sample_weight)
    svm = fit(p, "bcfw", tol=0.05, warm_start=True)
    with pytest.raises(ValueError, match="use the same solver, or set warm_start=False"):
        svm.set_params(solver="bcpfw").fit(p.X, p.y, p.sample_weight)
    svm.set_params(solver="bcfw")
    svm.set_params(warm_start=False).fit(p.X, p.y, p.sample_weight)
    labels = problem("labels, all pairs")
    svm = fit(labels, "bcfw", tol=0.05, warm_start=True)
    with pytest.raises(ValueError, match="warm_start=True needs"):
        svm.set_params(model__edges=[[1, 0], [2, 1], [0, 2]]).fit(labels.X, labels.y)


GROWING = product(["bcfw", "bcpfw", "minibatch", "dual_ascent"], ["multiclass", "chain", "own"])


@pytest.mark.parametrize("name, problem_name", list(GROWING)[:-1])
def test_partial_fit_goes_on_with_more_samples(name, problem_name):
    """New samples leave the weights as they are, and the certificate is that of all samples."""
    p, n = problem("chain" if problem_name == "own" else problem_name), 4
    model = OwnChains() if problem_name == "own" else p.model
    surrogate = "crf" if name == "dual_ascent" else "hinge"
    svm = StructuredSVM(model, surrogate=surrogate, solver=name, C=C, tol=0.05, max_iter=9999)
    classes = np.unique(p.y) if problem_name == "multiclass" else None
    first, rest = (p.X[:n], p.y[:n], classes), (p.X[n:], p.y[n:])
    before = svm.partial_fit(*first).coef_
    svm.set_params(tol=1e6).partial_fit(*rest)
    np.testing.assert_allclose(svm.coef_, before, atol=1e-9)
    svm = clone(svm).set_params(tol=0.05).partial_fit(*first).partial_fit(*rest)
    whole = clone(svm).fit(p.X, p.y)
    assert svm.converged_
    assert svm.dual_objective_ <= whole.objective_
    assert whole.dual_objective_ <= svm.objective_
    with pytest.raises(ValueError, match=r"needs one of BlockFrankWolfe.* got OneSlack"):
        StructuredSVM(solver="one_slack", C=C).partial_fit(p.X, p.y)


def test_warm_start_from_a_primal_baseline():
    """It has no dual variables: the next fit starts anew."""
    p = problem("chain")
    svm = fit(p, "subgradient", max_iter=3, warm_start=True)
    cold = fit(p, "bcfw", tol=0.05)
    svm.set_params(solver="bcfw", max_iter=2000, tol=cold.tol).fit(p.X, p.y, p.sample_weight)
    np.testing.assert_array_equal(svm.coef_, cold.coef_)


# ---- the same run in other ways ------------------------------------------------------------------


@pytest.mark.slow
@budget_may_end
@pytest.mark.parametrize("averaging", [False, True], ids=["", "average"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ["multiclass", "labels, tree", "chain", "chain, CSR"])
def test_oracles_called_from_python(name, step, averaging):
    """Functions, and objects that the compiled pass does not know, give its trajectory.

    Only of a few passes: later on, equal vertices are told apart by rounding.
    """
    p = problem(name)

    class Slow(Enumeration):
        pass

    solver = BlockFrankWolfe(step, averaging=averaging, gap_check=1)
    runs = [
        fit(p, solver, oracle=oracle, tol=0.0, max_iter=2)
        for oracle in ("auto", p.model.default_oracle().argmax, Slow(), Enumeration())
    ]
    for run in runs[1:]:
        np.testing.assert_allclose(run.coef_, runs[0].coef_, rtol=1e-7, atol=1e-9)
        assert set(run.history_) == set(runs[0].history_)
        for key in run.history_.keys() - {"time"}:
            np.testing.assert_allclose(
                run.history_[key], runs[0].history_[key], rtol=1e-7, atol=1e-9
            )
        np.testing.assert_allclose(run.block_gaps_, runs[0].block_gaps_, atol=1e-9)
        assert run.n_oracle_calls_ == runs[0].n_oracle_calls_
        assert (run.dual_coef_ is None) == (step == "fw")
        for one, other in zip(run.dual_coef_ or [], runs[0].dual_coef_ or []):
            assert one == pytest.approx(other, rel=1e-7, abs=1e-9)
        a, b = run.predict(p.X), runs[0].predict(p.X)
        assert all(np.array_equal(one, other) for one, other in zip(a, b))


@pytest.mark.slow
@budget_may_end
@pytest.mark.parametrize(
    "name, oracle",
    [("chain", "auto"), ("chain", Viterbi().argmax), ("labels, all pairs", "auto")],
    ids=["compiled", "function", "enumeration"],
)
def test_workers(name, oracle):
    p = problem(name)
    one, two = (fit(p, "bcpfw", oracle=oracle, n_jobs=n, tol=0.0, max_iter=2) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.history_["dual_gap"], two.history_["dual_gap"])


@pytest.mark.parametrize("name", [*NAMES, "cached", "subgradient", "perceptron"])
def test_reproducible(name):
    p = problem("chain")
    settings = {} if name in ("subgradient", "perceptron") else {"tol": 0.05}
    budget = {"max_iter": 3 if not settings else 2000} | settings
    one, two, other = (fit(p, name, random_state=seed, **budget) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert np.any(one.coef_ != other.coef_)
    again = fit(p, name, random_state=np.random.RandomState(3), **budget)
    np.testing.assert_array_equal(one.coef_, again.coef_)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, "cached", "fw"])
def test_infinite_bounds(name):
    p = problem("chain")
    solver = resolve_solver(name)
    free = fit(p, solver, tol=0.05)
    boxed = fit(p, solver.set_params(lower_bounds=-np.inf, upper_bounds=np.inf), tol=0.05)
    np.testing.assert_array_equal(free.coef_, boxed.coef_)
    np.testing.assert_allclose(
        boxed.history_["dual_gap"], free.history_["dual_gap"], rtol=1e-9, atol=1e-12
    )


@pytest.mark.slow
def test_bounds_of_the_model():
    """``model.bounds()`` holds unless the solver has bounds of its own."""

    class Positive(MulticlassModel):
        def bounds(self):
            return 0.0, None

    p = problem("multiclass")
    w, _ = optimum("multiclass", 0.0, None)
    svm = StructuredSVM(Positive(), C=C, solver="bcpfw", tol=1e-6, random_state=0).fit(p.X, p.y)
    np.testing.assert_allclose(svm.coef_, w, atol=1e-3)
    assert svm.solver_.lower_bounds == 0.0
    svm.set_params(solver=BlockFrankWolfe("pairwise", upper_bounds=0.1)).fit(p.X, p.y)
    assert svm.coef_.min() < 0
    assert svm.coef_.max() <= 0.1


def test_time_limit():
    p = problem("chain")
    with pytest.warns(ConvergenceWarning, match="Remedies: a larger time_limit"):
        svm = fit(p, "bcfw", tol=1e-9, time_limit=1e-9)
    assert svm.status_ == "time_limit"
    assert svm.n_iter_ == 1
    assert not svm.converged_
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
    assert svm.dual_gap_ == svm.history_["dual_gap"][-1]


# ---- primal baselines ----------------------------------------------------------------------------


@pytest.mark.parametrize("averaging", [False, True], ids=["last", "average"])
@pytest.mark.parametrize("name", ["multiclass, costs", "labels, tree", "chain", "chain, CSR"])
def test_subgradient(name, averaging):
    p = problem(name)
    n_passes, random = 5, check_random_state(0)
    order = np.concatenate([random.permutation(len(p.X)) for _ in range(n_passes)])
    iterates = slow_subgradient(p.psi, p.losses, p.weight, p.lam, order)
    k = np.arange(1, len(order) + 1)
    w = np.average(iterates, axis=0, weights=k) if averaging else iterates[-1]
    svm = fit(p, Subgradient(averaging=averaging), max_iter=n_passes)
    np.testing.assert_allclose(svm.coef_, w, **ROUNDING)
    np.testing.assert_allclose(svm.objective_, p.objective(w), rtol=1e-12)
    assert svm.status_ == "finished"
    assert svm.dual_gap_ is None
    assert svm.n_oracle_calls_ == len(order)


def test_subgradient_converges():
    p = problem("chain")
    svm = fit(p, Subgradient(), max_iter=2000)
    assert 0 <= svm.objective_ - optimum("chain")[1] < 5e-3


@pytest.mark.parametrize("averaging", [False, True], ids=["last", "average"])
@pytest.mark.parametrize("name", ["multiclass", "labels, tree", "chain", "chain, CSR"])
def test_perceptron(name, averaging):
    p = problem(name)
    n_passes, random = 5, check_random_state(0)
    order = np.concatenate([random.permutation(len(p.X)) for _ in range(n_passes)])
    iterates = slow_perceptron(p.psi, p.weight, order)
    svm = fit(p, Subgradient(perceptron=True, averaging=averaging), max_iter=n_passes)
    w = iterates.mean(axis=0) if averaging else iterates[-1]
    np.testing.assert_allclose(svm.coef_, w, **ROUNDING)
    np.testing.assert_allclose(svm.objective_, p.objective(w), rtol=1e-12)
    assert set(svm.history_) == {"n_iter", "time", "n_oracle_calls", "objective"}


# ---- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (Extragradient(norm="l1"), "norm='l1' needs a radius"),
        (Extragradient(radius=1.0, lower_bounds=0.0), "radius and lower_bounds or upper_bounds ex"),
        (SaddlePointFrankWolfe(step_size="long"), "step_size must be one of 'fictitious', 'univer"),
        (SaddlePointFrankWolfe(step_size="fictitious", block=True), "must be 'universal' when"),
        (BlockFrankWolfe("exact", cache=True), "'exact' does not use a cache: set cache=False"),
        (BlockFrankWolfe("exact", step_size="universal"), "is defined for variant='fw' only"),
        (BlockFrankWolfe("pairwise", sampling="active"), "is defined for variant='exact' only"),
    ],
    ids=str,
)
def test_settings_out_of_range(solver, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fit(problem("multiclass"), solver)
