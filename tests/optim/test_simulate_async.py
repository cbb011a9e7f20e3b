"""Simulated delays: none is the method on one thread, and all writes arrive."""

import numpy as np
import pytest
import scipy.sparse as sp

from _linear_referees import LOSSES, minimize_linear
from sklearn_fw.losses import Huber, resolve_loss
from sklearn_fw.optim import SparseSaga, minimize_saga
from sklearn_fw.optim._incremental._finite_sum import FiniteSum
from sklearn_fw.optim.experimental import simulate_async
from sklearn_fw.optim.experimental._simulate_async import DelayedEngine
from sklearn_fw.penalties import Box, ElasticNet, GroupLasso, NonNegative


def make_data(n=300, d=20, density=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    X[7] = 0.0
    return X, np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1.0, -1.0)


CASES = {
    "ridge": {},
    "elastic net": {"l1_ratio": 0.5, "alpha": 0.02, "fit_intercept": True},
    "box": {"penalty": Box(-0.1, 0.2), "loss": "squared_hinge"},
    "weights": {"sample_weight": np.arange(300) % 4, "penalty": NonNegative(l1=0.01)},
    "regression": {"loss": Huber(0.5), "sampling": "uniform", "step_size": "theory"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_delay_is_the_method_on_one_thread(name, dense):
    X, y = make_data()
    X = X if dense else sp.csr_matrix(X)
    options = dict(CASES[name])
    solver = {key: options.pop(key) for key in ("sampling", "step_size") if key in options}
    result = minimize_saga(
        X, y, **options, solver=SparseSaga(**solver), max_iter=6, tol=0.0, random_state=3
    )
    same = simulate_async(X, y, **options, **solver, delay=0, max_iter=6, random_state=3)
    assert np.array_equal(result.x, same.x)
    assert np.array_equal(result.intercept, same.intercept)
    assert same.fun == pytest.approx(result.fun, rel=1e-14)
    late = simulate_async(X, y, **options, **solver, delay=1, max_iter=6, random_state=3)
    np.testing.assert_allclose(late.x, same.x, rtol=0, atol=1e-13)


def engine_of(problem, delay, gamma):
    engine = DelayedEngine(problem, delay)
    engine.seed = np.array([5], dtype=np.uint64)
    engine.set_step((gamma, gamma if problem.fit_intercept else 0.0), None, None)
    return engine


@pytest.mark.parametrize("delay", [2, 7, 1000])
@pytest.mark.parametrize("intercept", [False, True])
def test_all_writes_arrive(delay, intercept):
    X, y = make_data()
    problem = FiniteSum(
        sp.csr_matrix(X), y, resolve_loss("log_loss", None), ElasticNet().bind(20).scaled(3.0),
        fit_intercept=intercept,
    )  # fmt: skip
    engine = engine_of(problem, delay, 0.02)
    order = np.random.default_rng(1).integers(0, 300, 700)
    for _ in range(3):
        engine.run(order)
        np.testing.assert_allclose(engine.total(), X.T @ engine.memory, rtol=0, atol=1e-12)
        pending = engine.pending
        assert np.all(pending.first[:-1] == -1)
        free, place = 0, pending.first[-1]
        while place >= 0:
            free, place = free + 1, pending.following[place]
        assert free == pending.column.size  # every place has been given back


def test_rows_without_common_columns_do_not_feel_delays():
    rng = np.random.default_rng(2)
    X = sp.block_diag([rng.standard_normal((1, 3)) for _ in range(40)], format="csr")
    y = rng.choice([-1.0, 1.0], 40)
    results = [
        simulate_async(X, y, alpha=0.01, l1_ratio=0.3, delay=delay, max_iter=5, random_state=0)
        for delay in (0, 30)
    ]
    np.testing.assert_allclose(results[1].x, results[0].x, rtol=0, atol=1e-13)
    assert results[0].sparsity == 1 / 40


def test_endless_delays_are_steps_from_one_point():
    # No write is seen before the end of the pass: all steps begin at the same point.
    X, y = make_data(10, 4, 0.8)
    problem = FiniteSum(sp.csr_matrix(X), y, resolve_loss("log_loss", None),
                        ElasticNet().bind(4).scaled(0.1))  # fmt: skip
    gamma, delay = 0.1, 100_000
    engine = engine_of(problem, delay, gamma)
    rng = np.random.default_rng(3)
    x, memory = rng.standard_normal(4), rng.standard_normal(10)
    total = X.T @ memory
    engine.move_to(x, np.float64(0.0), memory.copy(), total)
    order = np.arange(10)
    engine.run(order)
    counts = np.count_nonzero(X, axis=0)
    expected = x.copy()
    for i in order:
        change = LOSSES["log_loss"][1](y[i], X[i] @ x) - memory[i]
        u = x - gamma * change * X[i] - gamma / counts * total
        moved = problem.penalty.prox(u, gamma / counts)
        expected += np.where(X[i] != 0, moved - x, 0.0)
    np.testing.assert_allclose(engine.point()[0], expected, rtol=0, atol=1e-13)


def test_the_optimum_does_not_depend_on_the_delay():
    X, y = make_data()
    penalty = ElasticNet(0.5).bind(20).scaled(0.02 * 300)
    coef, _, objective = minimize_linear(X, y, "log_loss", penalty.value, penalty.prox)
    for delay in (0, 3, 20):
        result = simulate_async(
            sp.csr_matrix(X), y, alpha=0.02, l1_ratio=0.5, delay=delay, tol=1e-10, max_iter=500,
            random_state=0,
        )  # fmt: skip
        assert result.success
        assert result.status == "converged"
        assert result.fun == pytest.approx(objective, rel=1e-9)
        np.testing.assert_allclose(result.x, coef, rtol=0, atol=1e-4)
        assert result.nit == result.history["n_iter"][-1] == len(result.history["objective"])
        assert result.history["dual_gap"][-1] == result.dual_gap
        assert np.all(result.history["dual_gap"] >= result.history["objective"] - objective - 1e-12)


def frequent_columns(n, d, per_row, exponent, seed=0):
    """Rows of norm one; column j is in a row with a probability that falls like a power of j."""
    rng = np.random.default_rng(seed)
    p = (np.arange(d) + 1.0) ** -exponent
    columns = rng.choice(d, size=(n, per_row), p=p / p.sum())
    start = np.arange(0, n * per_row + 1, per_row)
    X = sp.csr_matrix((rng.standard_normal(n * per_row), columns.ravel(), start), shape=(n, d))
    X.sum_duplicates()
    X = sp.csr_matrix(X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1))))
    return X, np.where(3 * (X @ rng.standard_normal(d)) + rng.standard_normal(n) > 0, 1.0, -1.0)


def test_sparse_rows_bear_longer_delays():
    epochs = {}
    for exponent in (0.0, 1.1):
        X, y = frequent_columns(3000, 1000, 10, exponent)
        for delay in (0, 20, 400):
            result = simulate_async(
                X, y, l1_ratio=0.3, delay=delay, tol=1.25e-5, max_iter=30, random_state=0
            )
            epochs[exponent, delay] = result.nit if result.success else np.inf
        if exponent:
            assert result.sparsity > 0.8
        else:
            assert result.sparsity < 0.03
    assert epochs[0.0, 20] <= epochs[0.0, 0] + 1
    assert epochs[0.0, 400] <= epochs[0.0, 0] + 3
    assert epochs[1.1, 20] <= epochs[1.1, 0] + 1
    assert epochs[1.1, 400] == np.inf


def test_divergence_is_a_result():
    X, y = make_data()
    result = simulate_async(X, y, loss="squared_error", step_size=10.0, delay=50, random_state=0)
    assert result.status == "diverged"
    assert not result.success
    assert "step_size" in result.message
    assert np.isfinite(result.fun)
    assert np.all(np.isfinite(result.history["objective"]))


def test_one_seed_one_result():
    X, y = make_data()
    xs = [simulate_async(X, y, delay=9, max_iter=2, random_state=s).x for s in (1, 1, 2)]
    assert np.array_equal(xs[0], xs[1])
    assert not np.array_equal(xs[0], xs[2])


def rings(n_rings, rng):
    """Six unit rows at equal angles in each of many planes: every curvature is 3 rows' worth."""
    angles = rng.uniform(0, np.pi, n_rings)[:, None] + np.pi / 6 * np.arange(6)
    entries = np.stack([np.cos(angles), np.sin(angles)], axis=-1).ravel()
    columns = (2 * np.repeat(np.arange(n_rings), 6)[:, None] + [0, 1]).ravel()
    n = 6 * n_rings
    X = sp.csr_matrix((entries, columns, np.arange(0, 2 * n + 1, 2)), shape=(n, 2 * n_rings))
    return sp.csr_matrix(X[rng.permutation(n)])


@pytest.mark.slow
def test_rate_of_the_theorem_with_delays():
    # Theorem 2 of the proximal paper: up to tau = 1 / (10 sqrt(Delta)) the rate is that without
    # delays. Its constants ask for many rows, and for passes enough to see the rate.
    rng = np.random.default_rng(4)
    X = rings(8000, rng)
    n, kappa = X.shape[0], X.shape[0] / 3  # L is 1
    y = rng.standard_normal(n)
    result = simulate_async(X, y, loss="squared_error", penalty=None, max_iter=1)
    assert result.sparsity == 6 / n
    delay = int(1 / (10 * np.sqrt(result.sparsity)))
    assert delay == 8
    scale = min(1, 6 * kappa / delay) / 36
    rate = min(1 / n, scale / kappa) / 5
    best = X.T @ y / 3
    epochs = 400
    bound = (1 - rate) ** (epochs * n)
    assert bound < 2e-3
    result = simulate_async(
        X, y, loss="squared_error", penalty=None, delay=delay, max_iter=epochs,
        step_size=scale, sampling="uniform", random_state=0,
    )  # fmt: skip
    assert result.step_size == pytest.approx(scale)
    assert np.sum((result.x - best) ** 2) <= bound * (best @ best)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delay": -1}, "delay"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"alpha": -1.0}, "alpha"),
        ({"step_size": "fast"}, "step_size"),
        ({"sampling": "cyclic"}, "sampling"),
        ({"penalty": GroupLasso([[0, 1]])}, "single coefficients"),
        ({"loss": "multinomial"}, "several outputs"),
        ({"loss": "hinge"}, "is not smooth"),
    ],
)
def test_errors_name_the_parameter(options, words):
    X, y = make_data(20, 3)
    y = (y > 0).astype(float) if options.get("loss") == "multinomial" else y
    with pytest.raises(ValueError, match=words):
        simulate_async(X, y, **options)


def test_labels_are_checked():
    X, y = make_data(20, 3)
    with pytest.raises(ValueError, match="-1 and \\+1"):
        simulate_async(X, y + 1)
