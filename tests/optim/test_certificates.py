"""Certificates bound the distance to the optimum at every point, and vanish there."""

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_fw.losses import resolve_loss
from sklearn_fw.optim._incremental._finite_sum import FiniteSum
from sklearn_fw.optim._incremental._minimize_saga import resolve_incremental_solver, solve
from sklearn_fw.penalties import (
    Box,
    ElasticNet,
    GroupLasso,
    GroupSeparable,
    L2Ball,
    Simplex,
    resolve_penalty,
)

N, D = 40, 6
LABELS = [0, 1, 0, 2, 1, 1]

LOSSES = [
    "log_loss", "squared_hinge", "smooth_hinge", "modified_huber", "squared_error", "huber",
    "squared_epsilon_insensitive", "multinomial",
]  # fmt: skip


class Ball(GroupSeparable):
    """``||u|| <= 1``, with a Euclidean norm as the conjugate."""

    def group_value(self, u, group):
        return 0.0 if np.linalg.norm(u) <= 1 + 1e-12 else np.inf

    def group_prox(self, u, step_size, group):
        return u / max(1.0, np.linalg.norm(u))

    def group_conjugate(self, v, group):
        return np.linalg.norm(v)


class Cap(GroupSeparable):
    """``u <= 1``, without a conjugate."""

    def group_value(self, u, group):
        return 0.0 if np.all(u <= 1 + 1e-12) else np.inf

    def group_prox(self, u, step_size, group):
        return np.minimum(u, 1.0)


WITH_DUAL = [
    ElasticNet(0.0),
    ElasticNet(1.0),
    ElasticNet(0.3),
    Box(-0.2, 0.5),
    Box(0.1, np.inf, l1=0.2),
    Box(-1, [1, 1, 1, 1, np.inf, 1], l2=0.1),
    Box(l2=0.5),
    GroupLasso(LABELS),
    GroupLasso(LABELS, l1=0.2, l2=0.3),
    L2Ball(0.5, LABELS),
    Simplex(1.0, LABELS),
    Ball(LABELS),
]
WITHOUT_DUAL = [
    resolve_penalty(None),
    Box(),
    # The coefficient that has no bound is the last one: one random direction may miss it.
    *(Box(-1, np.where(np.arange(D) == j, np.inf, 1.0)) for j in range(D)),
    *(Box(np.where(np.arange(D) == j, -np.inf, -1.0), 1) for j in range(D)),
    GroupLasso([[0, 1], [3, 4]]),
    GroupLasso(LABELS, group_weights=[1.0, 0.0, 1.0]),
    Cap(LABELS),
]


def make_problem(loss, penalty, *, intercept, weighted, alpha=0.05, scale=1.0):
    rng = np.random.default_rng(len(loss))
    X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.7)
    z = X @ [1.0, -1.0, 0.5, 0.0, 1.0, 0.2] + 2.0 * rng.standard_normal(N) + 0.3
    loss = resolve_loss(loss, None)
    n_outputs = 3 if "Multi" in repr(loss) else None
    y = z if loss.task == "regression" else np.where(z > 0, 1.0, -1.0)
    y = y if n_outputs is None else np.digitize(z, [-0.5, 1.0]).astype(float)
    weight = scale * rng.integers(0, 4, N) if weighted else None
    total = weight.sum() if weighted else N
    return FiniteSum(
        sp.csr_matrix(X), y, loss, penalty.bind(D).scaled(alpha * total), weight=weight,
        fit_intercept=intercept, n_outputs=n_outputs,
    )  # fmt: skip


def best_of(problem, tol):
    run, *_ = solve(
        problem, resolve_incremental_solver("sparse_saga"), tol=tol, max_iter=5000,
        rng=np.random.RandomState(0),
    )  # fmt: skip
    return run.best


def points(problem, rng):
    """Feasible points of all sizes."""
    for size in (0.0, 0.1, 1.0, 5.0):
        coef = problem.penalty.prox(size * rng.standard_normal(problem.shape), 0.1)
        yield coef, rng.standard_normal(problem.shape[1:]) if problem.fit_intercept else 0.0


CASES = [
    pytest.param(loss, penalty, (i + j) % 2 == 0, (i + j) % 4 > 1, id=f"{loss}-{penalty}")
    for i, loss in enumerate(LOSSES)
    for j, penalty in enumerate(WITH_DUAL)
] + [
    pytest.param("log_loss", penalty, intercept, weighted, id=f"{penalty}-{intercept}-{weighted}")
    for penalty in WITH_DUAL
    for intercept in (False, True)
    for weighted in (False, True)
]


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "penalty", "intercept", "weighted"), CASES)
def test_gap_bounds_the_error(loss, penalty, intercept, weighted):
    problem = make_problem(loss, penalty, intercept=intercept, weighted=weighted)
    assert problem.has_dual
    best = best_of(problem, tol=1e-11)
    assert 0.0 <= best.dual_gap <= 1e-11 * problem.null.objective
    rng = np.random.default_rng(1)
    near = problem.penalty.prox(best.coef + 1e-4 * rng.standard_normal(problem.shape), 1e-6)
    for coef, start in [*points(problem, rng), (near, best.intercept)]:
        at = problem.certify(coef, start * np.ones(problem.shape[1:]))
        assert np.isfinite(at.objective)
        assert at.dual_gap >= at.objective - best.objective - 1e-13
        assert at.objective >= best.objective - 1e-10
        scores = problem.X @ at.coef + at.intercept
        losses = problem.loss.value(problem.y, scores)
        weight = np.ones(N) if problem.weight is None else problem.weight
        expected = (weight @ losses + problem.penalty.value(at.coef)) / weight.sum()
        assert at.objective == pytest.approx(expected, rel=1e-12)
        if intercept:
            total = at.memory.sum(axis=0)
            np.testing.assert_allclose(total, 0.0, rtol=0, atol=1e-11 * problem.total_weight)
        else:
            assert np.all(at.intercept == start)


@pytest.mark.slow
@pytest.mark.parametrize("penalty", WITHOUT_DUAL, ids=repr)
@pytest.mark.parametrize("loss", ["squared_error", "log_loss", "multinomial"])
def test_without_dual_the_gradient_mapping_vanishes(penalty, loss):
    problem = make_problem(loss, penalty, intercept=loss != "log_loss", weighted=True)
    assert not problem.has_dual
    best = best_of(problem, tol=1e-7)
    assert best.dual_gap is None
    assert best.gradient_mapping <= 1e-7 * problem.null.gradient_mapping
    for coef, start in points(problem, np.random.default_rng(2)):
        at = problem.certify(coef, start * np.ones(problem.shape[1:]))
        assert at.objective >= best.objective - 1e-10
        assert at.dual_gap is None


@pytest.mark.parametrize("loss", LOSSES)
def test_best_intercept_of_extreme_scores(loss):
    # The bound needs slopes with sum zero, also where the losses are flat or steep.
    problem = make_problem(loss, ElasticNet(), intercept=True, weighted=False)
    rng = np.random.default_rng(4)
    for size in (0.1, 30.0, 1e3):
        coef = size * rng.standard_normal(problem.shape)
        at = problem.certify(coef, size * rng.standard_normal(problem.shape[1:]))
        np.testing.assert_allclose(at.memory.sum(axis=0), 0.0, rtol=0, atol=1e-9 * size * N)
