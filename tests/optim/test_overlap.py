"""Steps for threads that overlap: the formulas, who takes them, and what they bear."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_fw.linear_model import AsagaRegressor
from sklearn_fw.losses import resolve_loss
from sklearn_fw.optim import Asaga, SparseSaga, overlap_step
from sklearn_fw.optim._incremental._finite_sum import FiniteSum
from sklearn_fw.optim.experimental import simulate_async
from sklearn_fw.penalties import Box, ElasticNet, GroupLasso


def test_formulas():
    # By hand: sqrt(Delta) = 0.1 and 1 / sqrt(Delta) = 10 < tau.
    a, covered = overlap_step(20, 0.01, kappa=5.0)
    assert a == pytest.approx(1 / (32 * 3 * math.sqrt(1.25)))
    assert covered
    # tau < 1 / sqrt(Delta)
    assert overlap_step(4, 0.01, kappa=0.5 * 2)[0] == pytest.approx(1 / (32 * 1.4 * math.sqrt(1.5)))
    # With a penalty min(1, 6 kappa / tau) / 36 as well.
    assert overlap_step(0, 1.0, composite=True) == (1 / 36, True)
    a, covered = overlap_step(1, 0.01, kappa=1.0, composite=True)
    assert (a, covered) == (pytest.approx(1 / 37.33, rel=1e-3), True)
    assert overlap_step(1.1, 0.01, composite=True)[1] is False
    assert overlap_step(60, 1e-6, kappa=1.0, composite=True) == (pytest.approx(0.1 / 36), True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 0.5), "overlap"),
        ((1, 0.0), r"sparsity must be in \(0, 1\]"),
        ((1, 1.5), "sparsity"),
        ((1, 0.5, 0.5), "kappa must be at least 1"),
        ((1, np.nan), "sparsity"),
    ],
)
def test_formulas_refuse(arguments, message):
    with pytest.raises(ValueError, match=message):
        overlap_step(*arguments)


# ---- who takes them ------------------------------------------------------------------------------


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
    for solver in (Asaga(step_size="theory", overlap=7), SparseSaga(step_size="theory")):
        assert step_of(solver, problem, 1) == pytest.approx(0.2)


@pytest.mark.parametrize("overlap", ["auto", 3])
def test_threads_take_theirs(overlap):
    # Each column is in one of 50 rows; no penalty.
    tau = 20 if overlap == "auto" else overlap
    solver = Asaga(step_size="theory", overlap=overlap)
    expected, _ = overlap_step(tau, 1 / 50, 50)
    assert step_of(solver, sparse_problem(), 2) == pytest.approx(expected)
    assert step_of(Asaga(overlap=overlap), sparse_problem(), 2) == pytest.approx(1 / 3)


def test_copies_of_frequent_columns_are_late():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4000, 3)), rng.standard_normal(4000)
    loss = resolve_loss("squared_error", None)
    problem = FiniteSum(X, y, loss, Box(-np.inf, np.inf).bind(3))
    expected, _ = overlap_step(2 * 64 * 2, 1.0, 3)
    found = step_of(Asaga(step_size="theory", conditioning=None), problem, 3)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    "penalty", [ElasticNet(l1_ratio=0.5), Box(0.0, 1.0), GroupLasso([[i] for i in range(50)])],
    ids=["elastic net", "box", "groups"],
)  # fmt: skip
def test_penalties_have_their_own_theorem(penalty):
    problem = sparse_problem(penalty)
    solver = Asaga(step_size="theory", overlap=0.5)
    expected, covered = overlap_step(0.5, 1 / 50, 50, composite=True)
    assert covered
    assert step_of(solver, problem, 2) == pytest.approx(expected)
    with pytest.warns(UserWarning, match=r"no theorem covers overlap=3 .* 0.707 steps may overlap"):
        step_of(solver.set_params(overlap=3), problem, 2)


def test_what_no_theorem_covers_is_said():
    with pytest.warns(UserWarning, match="overlap=40 .* 40 steps may overlap"):
        step_of(Asaga(step_size="theory", overlap=40), sparse_problem(), 2)
    with pytest.raises(ValueError, match="overlap"):
        Asaga(overlap="all").check()
    with pytest.raises(ValueError, match="overlap"):
        Asaga(overlap=-1).check()


def test_estimators_take_it():
    rng = np.random.default_rng(1)
    X = sp.random(2000, 400, density=0.004, format="csr", random_state=rng)
    y = X @ rng.standard_normal(400)
    model = AsagaRegressor(
        alpha=0.1, solver=Asaga(step_size="theory", overlap=1), n_jobs=2, fit_intercept=False,
        tol=1e-4, max_iter=3000, random_state=0,
    )  # fmt: skip
    longest = AsagaRegressor(
        alpha=0.1, solver="sparse_saga", fit_intercept=False, tol=1e-8, max_iter=3000,
        random_state=0,
    )  # fmt: skip
    np.testing.assert_allclose(model.fit(X, y).coef_, longest.fit(X, y).coef_, atol=5e-3)


# ---- what they bear ------------------------------------------------------------------------------


def curves(X, y, delay, n_epochs, step_size, **options):
    """Suboptimality after every epoch, on the mean of seeds, and the starting one."""
    best = np.linalg.lstsq(X, y)[0]
    smallest = 0.5 * np.mean((X @ best - y) ** 2)
    runs = [
        simulate_async(
            sp.csr_matrix(X), y, loss="squared_error", penalty=None, delay=delay,
            max_iter=n_epochs, step_size=step_size, sampling="uniform", random_state=seed,
            **options,
        )
        for seed in range(3)
    ]  # fmt: skip
    n_seen = min(len(run.history["objective"]) for run in runs)
    curve = np.mean([run.history["objective"][:n_seen] for run in runs], axis=0) - smallest
    return curve, 0.5 * np.mean(y**2) - smallest, runs


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_the_rate_of_the_theorem_holds_with_long_delays(sparse):
    """Where steps of the usual length diverge or fall behind the theorem by far.

    The theorem has a large constant in front; here the rate holds without it.
    """
    rng = np.random.default_rng(2)
    n, d, delay = 2000, 5, 150
    X = rng.standard_normal((n, d))
    if sparse:
        X *= rng.random((n, d)) < 0.4
        X[np.all(X == 0.0, axis=1), 0] = 1.0
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)
    kappa = 1.0 / np.linalg.eigvalsh(X.T @ X / n)[0]
    n_epochs = 40
    curve, start, runs = curves(X, y, delay, n_epochs, "theory")
    a, covered = overlap_step(delay - 1, runs[0].sparsity, d)
    assert covered
    assert delay - 1 < n / 10
    assert runs[0].step_size == pytest.approx(a)  # rows of norm one
    rate = 0.2 * min(1 / n, a / kappa)
    bound = start * (1.0 - rate) ** (n * np.arange(1, n_epochs + 1))
    assert bound[-1] < 0.8 * start  # it says something
    assert np.all(curve <= bound)
    # Not for want of delays: they ruin steps that are good without them.
    usual, _, _ = curves(X, y, delay, n_epochs, "auto")
    assert len(usual) < n_epochs or usual[-1] > bound[-1]
    alone, _, _ = curves(X, y, 0, 5, "auto")
    assert alone[-1] < 1e-3 * start


def test_with_a_penalty_where_the_theorem_covers_it():
    rng = np.random.default_rng(3)
    n = 2000
    X = sp.csr_matrix(sp.vstack([sp.eye(500)] * 4).multiply(rng.random((n, 1)) + 0.5))
    y = rng.standard_normal(n)
    options = {"loss": "squared_error", "alpha": 1e-4, "l1_ratio": 0.5, "sampling": "uniform"}
    # 0.1 / sqrt(4 / 2000) = 2.2 steps
    result = simulate_async(
        X, y, **options, delay=3, max_iter=30, step_size="theory", random_state=0
    )
    best = simulate_async(X, y, **options, max_iter=200, tol=1e-12, random_state=0).fun
    a, covered = overlap_step(2, result.sparsity, 500, composite=True)
    assert covered
    largest = X.multiply(X).sum(axis=1).max()
    assert result.step_size == pytest.approx(a / largest)
    kappa = largest / (X.multiply(X).sum(axis=0).min() / n)
    rate = 0.2 * min(1 / n, a / kappa)
    start = 0.5 * np.mean(y**2) - best
    bound = start * (1.0 - rate) ** (n * np.arange(1, 31))
    assert bound[-1] < 0.99 * start
    assert np.all(result.history["objective"] - best <= bound)
