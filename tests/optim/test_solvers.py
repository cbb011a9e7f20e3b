"""Every solver reaches the optimum that an independent method finds, on every kind of problem."""

import numpy as np
import pytest
import scipy.sparse as sp

from _incremental_problems import PROBLEMS, D, Quantile, run_on
from sklearn_fw.losses import resolve_loss
from sklearn_fw.optim import Svrg, minimize_saga
from sklearn_fw.optim._incremental._finite_sum import FiniteSum
from sklearn_fw.optim._incremental._minimize_saga import SOLVERS, resolve_incremental_solver
from sklearn_fw.penalties import Box, resolve_penalty

NAMES = sorted(SOLVERS)


def refusal(solver, problem):
    """Words of the error that the solver raises, None when it takes the problem."""
    penalty = problem.penalty.bind(D)
    single = penalty.separable and problem.loss != "multinomial"
    if solver == "sag" and penalty.separable and penalty.l1 > 0:
        return "smooth"
    if solver in ("lagged_saga", "sag"):
        if not single:
            return "one output"
        return "bounds" if np.any(np.isfinite([penalty.lower, penalty.upper])) else None
    if solver in ("saga", "newton") and not penalty.separable:
        return "asaga"
    if solver == "sdca" and problem.loss == "multinomial":
        return "one score"
    if solver == "sdca" and not (penalty.separable and penalty.l2 > 0):
        return "l1_ratio < 1"
    if solver == "newton_cg" and not penalty.is_ridge:
        return "ridge"
    return None


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_all_solvers_reach_the_optimum(problem):
    coef, intercept, objective = problem.optimum()
    # Python at every step is slow, and what is the same in all of them needs no proof in each.
    names = ["asaga", "saga", "svrg"] if isinstance(problem.penalty, Quantile) else NAMES
    for solver in names:
        built, words = problem.build(), refusal(solver, problem)
        if words is not None:
            with pytest.raises(ValueError, match=words):
                run_on(built, solver)
            continue
        run, status, n_iter, history = run_on(built, solver)
        best = run.best
        far = built.origin()[2] - objective
        assert -1e-9 * far <= best.objective - objective <= 1e-7 * far, solver
        assert status.name == "CONVERGED", solver
        if problem.unique:
            np.testing.assert_allclose(best.coef, coef, rtol=0, atol=1e-3, err_msg=solver)
        if problem.intercept and problem.loss != "multinomial":  # shifts of all mean nothing
            assert best.intercept == pytest.approx(intercept, abs=1e-3), solver
        if best.dual_gap is not None:
            assert best.dual_gap >= best.objective - objective - 1e-12, solver
        assert best.coef.shape == built.shape
        assert np.shape(best.intercept) == built.shape[1:]
        assert np.isfinite(built.penalty.value(best.coef)), solver
        assert n_iter == history["n_iter"][-1]
        assert history["objective"][-1] == best.objective
        assert run.step_size is None if solver == "sdca" else run.step_size > 0.0
        assert run.n_updates > 0


@pytest.mark.parametrize(
    "solver",
    [
        Svrg(n_inner=0.3),
        Svrg(n_inner=2.0, sampling="uniform"),
        resolve_incremental_solver("asaga").set_params(sampling="uniform"),
        resolve_incremental_solver("asaga").set_params(step_size="theory"),
        resolve_incremental_solver("asaga").set_params(step_size=0.01),
        resolve_incremental_solver("saga").set_params(conditioning="diagonal"),
        Svrg(loopless=True),
        Svrg(parallel=True),
    ],
    ids=repr,
)
def test_settings_keep_the_optimum(solver):
    problem = PROBLEMS["log, elastic net"]
    run, status, _, _ = run_on(problem.build(), solver)
    assert status.name == "CONVERGED"
    assert run.best.objective == pytest.approx(problem.optimum()[2], rel=1e-7)


@pytest.mark.parametrize(
    ("solver", "error", "words"),
    [
        (Svrg(loopless=True, parallel=True), ValueError, "parallel=False"),
        ("bfgs", ValueError, "'asaga', .*'newton'"),
    ],
)
def test_errors_name_the_setting(solver, error, words):
    with pytest.raises(error, match=words):
        run_on(PROBLEMS["ridge"].build(), solver)


RNG = np.random.default_rng(12)
DEGENERATE = {
    "no entries": (np.zeros((6, 2)), np.array([1.0, -1.0] * 3), {}, 0.6931471805599453),
    "nothing but an intercept": (
        np.zeros((4, 2)), np.array([1.0, 1.0, 1.0, -1.0]), {"fit_intercept": True},
        np.log(4) - 0.75 * np.log(3),
    ),
    "one number": (np.ones((1, 1)), np.ones(1), {"loss": "squared_error"}, 0.25),
    "nothing to learn": (
        RNG.standard_normal((9, 2)), np.full(9, 0.3),
        {"loss": "squared_error", "fit_intercept": True}, 0.0,
    ),
    "one class": (RNG.standard_normal((9, 2)), np.ones(9), {"fit_intercept": True}, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("solver", NAMES)
@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
def test_degenerate_problems_end(solver, name, layout):
    X, y, options, objective = DEGENERATE[name]
    result = minimize_saga(layout(X), y, **options, alpha=1.0, solver=solver, tol=1e-6)
    assert result.success
    assert result.fun == pytest.approx(objective, rel=1e-5, abs=1e-12)


def test_newton_stays_within_bounds(rng):
    """The end of a step is a sum, which rounding may put outside of them: an infinite objective."""
    penalty = Box(0.1, 0.7, l1=0.2)
    for _ in range(200):
        X, y = rng.normal(size=(8, 4)), np.sign(rng.normal(size=8))
        bound = penalty.bind(4).scaled(8 * 0.01)
        problem = FiniteSum(
            X, y, resolve_loss("smooth_hinge", None), bound, fit_intercept=True
        )  # fmt: skip
        best = run_on(problem, "newton", tol=1e-12, max_iter=30)[0].best
        assert np.isfinite(best.objective)
        assert best.coef.min() >= 0.1
        assert best.coef.max() <= 0.7


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_newton_by_columns_and_by_matrix_have_one_optimum(rng, loss, l1_ratio, fit_intercept):
    X = rng.standard_normal((90, 700)) * (rng.random((90, 700)) < 0.05)
    y = np.sign(X[:, :9].sum(axis=1) + 0.3)
    options = {
        "loss": loss, "alpha": 0.01, "l1_ratio": l1_ratio, "fit_intercept": fit_intercept,
        "sample_weight": rng.random(90) + 0.5, "solver": "newton", "tol": 1e-9,
    }  # fmt: skip
    by_columns = minimize_saga(sp.csr_array(X), y, **options)
    by_matrix = minimize_saga(X, y, **options)
    assert by_columns.success
    assert by_columns.fun == pytest.approx(by_matrix.fun, rel=1e-8)
    np.testing.assert_allclose(by_columns.x, by_matrix.x, rtol=0, atol=1e-4)


@pytest.mark.parametrize("solver", ["newton", "newton_cg", "asaga", "saga", "sdca", "svrg"])
@pytest.mark.parametrize("loss", ["log_loss", "huber"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
def test_starts_far_from_the_optimum_do_no_harm(rng, solver, loss, layout):
    X = layout(rng.standard_normal((80, 5)) * (rng.random((80, 5)) < 0.4))
    y = np.sign(X @ np.ones(5) + rng.standard_normal(80))
    l1_ratio = 0.0 if solver == "newton_cg" else 0.5
    problem = {"loss": loss, "l1_ratio": l1_ratio, "alpha": 0.02, "fit_intercept": True}
    best = minimize_saga(X, y, **problem, solver="newton", tol=1e-10)
    for start in (
        [2.0, 0.5, 2.0, 0.0, 1.0],
        [30.0, 30.0, -30.0, 30.0, 30.0],
        [1e6, 0.0, 0.0, 0.0, 0.0],
    ):
        found = minimize_saga(
            X, y, **problem, solver=solver, tol=1e-6, max_iter=1000, x0=start
        )  # fmt: skip
        assert found.success
        assert found.fun <= best.fun * (1.0 + 1e-5)


@pytest.mark.parametrize("loss", ["log_loss", "huber"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_newton_leaves_points_where_losses_are_straight(rng, loss, fit_intercept):
    X, coef = rng.standard_normal((80, 5)), np.ones(5)
    y = X @ coef + rng.standard_normal(80)
    y = np.sign(y) if loss == "log_loss" else y
    problem = FiniteSum(
        X, y, resolve_loss(loss, None), resolve_penalty("elasticnet", 1.0).bind(5).scaled(1.0),
        fit_intercept=fit_intercept,
    )  # fmt: skip
    run = resolve_incremental_solver("newton").start(
        problem, tol=1e-10, rng=np.random.RandomState(0)
    )
    run.engine.move_to(30.0 * coef, run.engine.intercept)
    run.certify()
    run.run(60)
    best = run_on(problem, "newton", tol=1e-10)[0].best
    assert run.best.objective == pytest.approx(best.objective, rel=1e-9)


def test_newton_starts_from_a_part_of_many_rows(rng):
    X = rng.standard_normal((8000, 4))
    y = np.where(X @ [3.0, -2.0, 0.0, 1.0] + rng.logistic(size=8000) > 1.0, 1.0, -1.0)
    settings = {"l1_ratio": 0.5, "alpha": 0.01, "fit_intercept": True, "solver": "newton"}
    plain = minimize_saga(X, y, **settings, tol=1e-9, x0=np.zeros(4))
    found = minimize_saga(X, y, **settings, tol=1e-9, random_state=0)
    assert found.nit < plain.nit
    np.testing.assert_allclose(found.x, plain.x, atol=1e-4)
