"""Steps for threads that overlap."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_fw.losses import resolve_loss
from sklearn_fw.optim import Asaga
from sklearn_fw.optim._incremental._finite_sum import FiniteSum
from sklearn_fw.penalties import Box, ElasticNet, GroupLasso


def proven(tau, sparsity, kappa, composite=False):
    """Theorem 2 of the papers on smooth and on composite objectives."""
    xi = math.sqrt(1.0 + min(1.0 / math.sqrt(sparsity), tau) / (8.0 * kappa))
    a = 1.0 / (32.0 * (1.0 + tau * math.sqrt(sparsity)) * xi)
    return min(a, min(1.0, 6.0 * kappa / tau) / 36.0) if composite else a


def sparse_problem(penalty=None, n=400, intercept=False):
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(sp.vstack([sp.eye(50)] * (n // 50)).multiply(rng.random((n, 1)) + 0.5))
    y = rng.standard_normal(n)
    penalty = (penalty or Box(-np.inf, np.inf)).bind(50)
    loss = resolve_loss("squared_error", None)
    return FiniteSum(X, y, loss, penalty, fit_intercept=intercept)


def step_of(solver, problem, n_workers):
    run = solver.start(problem, tol=0.0, rng=np.random.RandomState(0), n_workers=n_workers)
    try:
        return run.engine.gamma[0] * problem.smoothness
    finally:
        run.close()


def test_one_thread_takes_the_step_of_one_thread():
    problem = sparse_problem()
    for solver in (Asaga(step_size="theory", overlap=7), Asaga(step_size="theory", parallel=False)):
        assert step_of(solver, problem, 1) == pytest.approx(0.2)


@pytest.mark.parametrize("overlap", ["auto", 3])
def test_threads_take_theirs(overlap):
    # Each column is in one of 50 rows; no penalty.
    tau = 20 if overlap == "auto" else overlap
    solver = Asaga(step_size="theory", overlap=overlap)
    expected = proven(tau, 1 / 50, 50)
    assert step_of(solver, sparse_problem(), 2) == pytest.approx(expected)
    assert step_of(Asaga(overlap=overlap), sparse_problem(), 2) == pytest.approx(1 / 3)


def test_copies_of_frequent_columns_are_late():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4000, 3)), rng.standard_normal(4000)
    loss = resolve_loss("squared_error", None)
    problem = FiniteSum(X, y, loss, Box(-np.inf, np.inf).bind(3))
    expected = proven(2 * 64 * 2, 1.0, 3)
    found = step_of(Asaga(step_size="theory", conditioning=None), problem, 3)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    "penalty", [ElasticNet(l1_ratio=0.5), Box(0.0, 1.0), GroupLasso([[i] for i in range(50)])],
    ids=["elastic net", "box", "groups"],
)  # fmt: skip
def test_penalties_have_their_own_theorem(penalty):
    problem = sparse_problem(penalty)
    solver = Asaga(step_size="theory", overlap=0.5)
    expected = proven(0.5, 1 / 50, 50, composite=True)
    assert step_of(solver, problem, 2) == pytest.approx(expected)
    with pytest.warns(UserWarning, match=r"no theorem covers overlap=3 .* only below 0.707"):
        step_of(solver.set_params(overlap=3), problem, 2)


def test_what_no_theorem_covers_is_said():
    with pytest.warns(UserWarning, match="overlap=40 .* only below 40"):
        step_of(Asaga(step_size="theory", overlap=40), sparse_problem(), 2)
    with pytest.raises(ValueError, match="overlap"):
        step_of(Asaga(overlap="all"), sparse_problem(), 2)
    with pytest.raises(ValueError, match="overlap"):
        step_of(Asaga(overlap=-1), sparse_problem(), 2)
