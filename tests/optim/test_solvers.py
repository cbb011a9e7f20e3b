"""Every solver reaches the optimum that an independent method finds, on every kind of problem."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import ElasticNet as ReferenceElasticNet
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from _linear_references import minimize_linear, sparse_logistic
from sklearn_fw.losses import resolve_loss
from sklearn_fw.optim import Asaga, NewtonCG, Saga, Svrg, minimize_saga
from sklearn_fw.optim._incremental._finite_sum import FiniteSum, is_ridge
from sklearn_fw.optim._incremental._minimize_saga import SOLVERS, resolve_incremental_solver, solve
from sklearn_fw.penalties import (
    Box,
    ElasticNet,
    GroupLasso,
    GroupSeparable,
    L2Ball,
    Simplex,
    resolve_penalty,
)

N, D = 60, 8
GROUPS = [[0, 6, 2], [1, 3], [5, 7]]  # 4 is in none


class Quantile(GroupSeparable):
    """``2 u`` above zero and ``-u`` below, for every entry; no conjugate."""

    def group_value(self, u, group):
        return float(np.maximum(2 * u, -u).sum())

    def group_prox(self, u, step_size, group):
        return np.maximum(u - 2 * step_size, 0) + np.minimum(u + step_size, 0)


@dataclass(frozen=True)
class Problem:
    """Sum of losses of 60 rows, with an empty row, an empty column, and columns of all sizes."""

    loss: str
    penalty: object
    alpha: float = 0.05
    kind: str = "csr"
    dtype: type = np.float64
    index: type = np.int32
    intercept: bool = False
    weighted: bool = False
    unique: bool = True

    def data(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((N, D)) * np.geomspace(0.7, 1.4, D) * (rng.random((N, D)) < 0.5)
        X[3] = 0.0
        X[:, 6] = 0.0
        X = X.astype(self.dtype)
        z = X @ np.linspace(1, -1, D) + rng.standard_normal(N) + 0.3
        loss = resolve_loss(self.loss, None)
        y = z if loss.task == "regression" else np.where(z > 0, 1.0, -1.0)
        if self.loss == "multinomial":
            y = np.digitize(z, [-0.7, 0.7]).astype(float)
        return X, y, rng.integers(0, 4, N).astype(float) if self.weighted else None

    def build(self):
        X, y, weight = self.data()
        total = N if weight is None else weight.sum()
        if self.kind == "csr":
            X = sp.csr_matrix(X)
            X.indices, X.indptr = X.indices.astype(self.index), X.indptr.astype(self.index)
        bound = self.penalty.bind(D).scaled(self.alpha * total)
        return FiniteSum(
            X, y, resolve_loss(self.loss, None), bound, weight=weight,
            fit_intercept=self.intercept, n_outputs=3 if self.loss == "multinomial" else None,
        )  # fmt: skip

    def optimum(self):
        """Coefficients, intercept and objective by the reference."""
        X, y, weight = self.data()
        bound = self.build().penalty
        return minimize_linear(
            X, y, self.loss, bound.value, bound.prox, weight=weight, fit_intercept=self.intercept,
            n_outputs=3 if self.loss == "multinomial" else None,
        )  # fmt: skip


RIDGE, LASSO = ElasticNet(0.0), ElasticNet(1.0)
PROBLEMS = {
    "ridge": Problem("squared_error", RIDGE),
    "ridge, dense, intercept": Problem("squared_error", RIDGE, kind="dense", intercept=True),
    "log, ridge": Problem("log_loss", RIDGE, index=np.int64, weighted=True),
    "log, ridge, float32": Problem("log_loss", RIDGE, dtype=np.float32, intercept=True),
    "log, elastic net": Problem("log_loss", ElasticNet(), intercept=True),
    "hinge, elastic net": Problem("squared_hinge", ElasticNet(0.8), kind="dense", weighted=True),
    "huber, lasso": Problem("huber", LASSO, index=np.int64, intercept=True, weighted=True),
    "lasso, dense float32": Problem("squared_error", LASSO, kind="dense", dtype=np.float32),
    "log, box": Problem("log_loss", Box(-0.2, 0.4, l2=0.5), kind="dense", intercept=True),
    "hinge, box": Problem("squared_hinge", Box(0.1, 0.6, l1=0.1)),
    "nothing": Problem("squared_epsilon_insensitive", resolve_penalty(None), intercept=True),
    "log, groups": Problem("log_loss", GroupLasso(GROUPS, l2=0.1), kind="dense", intercept=True),
    "hinge, groups": Problem("squared_hinge", GroupLasso(GROUPS, l1=0.2), index=np.int64),
    "huber, groups": Problem("huber", GroupLasso([0, 0, 1, 1, 2, 2, 1, 0]), intercept=True,
                             dtype=np.float32, weighted=True),
    "smooth hinge, ball": Problem("smooth_hinge", L2Ball(0.7), intercept=True),
    "simplex": Problem("squared_error", Simplex(1.5, [0, 0, 0, 1, 1, 1, 1, 0]), intercept=True),
    "log, simplex": Problem("log_loss", Simplex(), kind="dense", dtype=np.float32),
    "user": Problem("log_loss", Quantile([[0, 1], [2], [6, 3, 5]]), intercept=True),
    "user, dense": Problem("modified_huber", Quantile(), kind="dense"),
    "multinomial, ridge": Problem("multinomial", RIDGE, kind="dense", intercept=True),
    "multinomial, elastic net": Problem("multinomial", ElasticNet(), weighted=True),
    "multinomial, groups": Problem("multinomial", GroupLasso(GROUPS), intercept=True),
    "multinomial, user": Problem("multinomial", Quantile([0, 0, 1, 1, -1, 2, 2, 2]),
                                 unique=False),
}  # fmt: skip
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
    if solver == "saga" and not penalty.separable:
        return "asaga"
    if solver == "sdca" and problem.loss == "multinomial":
        return "one score"
    if solver == "sdca" and not (penalty.separable and penalty.l2 > 0):
        return "l1_ratio < 1"
    if solver == "newton" and not single:
        return "newton_cg"
    if solver == "newton_cg" and not is_ridge(penalty):
        return "ridge"
    return None


def run_on(problem, solver, *, tol=1e-9, max_iter=5000, n_workers=1, seed=0, start=None):
    if isinstance(solver, str):
        solver = resolve_incremental_solver(solver)
    run, outcome = solve(
        problem, solver, tol=tol, max_iter=max_iter, rng=np.random.RandomState(seed),
        n_workers=n_workers, start=start,
    )  # fmt: skip
    return run, *outcome


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
        (Asaga(parallel="yes"), TypeError, "parallel"),
        (Saga(variant="slow"), ValueError, "variant"),
        (Svrg(n_inner=0), ValueError, "n_inner"),
        (Svrg(loopless=True, parallel=True), ValueError, "parallel=False"),
        (Asaga(step_size="slow"), ValueError, "step_size"),
        (Asaga(sampling="cyclic"), ValueError, "sampling"),
        (Saga(conditioning="full"), ValueError, "conditioning"),
        (NewtonCG(forcing=1.0), ValueError, "forcing"),
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


# ---- scikit-learn on the same objective ----------------------------------------------------------


def reference_data(task):
    rng = np.random.default_rng(11)
    X = rng.standard_normal((80, 6)) * (rng.random((80, 6)) < 0.6)
    z = X @ [1.0, -2.0, 0.0, 0.5, 0.0, 0.0] + rng.standard_normal(80)
    return X, z if task == "regression" else np.where(z > 0, 1.0, -1.0)


@pytest.mark.parametrize("solver", ["asaga", "newton", "sdca"])
@pytest.mark.parametrize("intercept", [False, True])
def test_same_as_scikit_learn(solver, intercept):
    alpha, n = 0.05, 80
    tight = {"fit_intercept": intercept, "tol": 1e-12, "max_iter": 1_000_000}
    cases = [
        ("squared_error", 0.0, Ridge(alpha=alpha * n, fit_intercept=intercept)),
        ("squared_error", 1.0, Lasso(alpha=alpha, **tight)),
        ("squared_error", 0.3, ReferenceElasticNet(alpha=alpha, l1_ratio=0.3, **tight)),
        ("log_loss", 0.0, LogisticRegression(C=1 / (alpha * n), **tight)),
        ("log_loss", 0.4,
         sparse_logistic(C=1 / (alpha * n), l1_ratio=0.4, random_state=0, **tight)),
    ]  # fmt: skip
    if not intercept:  # which is penalised there
        svc = LinearSVC(C=1 / (alpha * n), loss="squared_hinge", dual=False, **tight)
        cases.append(("squared_hinge", 0.0, svc))
    for loss, l1_ratio, reference in cases:
        if solver == "sdca" and l1_ratio == 1.0:
            continue
        X, y = reference_data(resolve_loss(loss, None).task)
        reference.fit(X, y)
        result = minimize_saga(
            X, y, loss=loss, alpha=alpha, l1_ratio=l1_ratio, fit_intercept=intercept,
            solver=solver, tol=1e-12, max_iter=5000, random_state=0,
        )  # fmt: skip
        np.testing.assert_allclose(result.x, np.ravel(reference.coef_), rtol=0, atol=2e-5)
        if intercept:
            assert result.intercept == pytest.approx(np.ravel(reference.intercept_)[0], abs=2e-5)


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
