"""The projected subgradient method: bounds of the paper, projections, user code."""

import numpy as np
import pytest

from sklearn_fw.optim import projected_subgradient

MU = 0.1


def svm(seed=0, n=200, d=5):
    """Subgradients and values of an SVM, and its minimum."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sign(X @ rng.normal(size=d) + rng.normal(size=n))

    def value(w):
        return 0.5 * MU * w @ w + np.mean(np.maximum(0, 1 - y * (X @ w)))

    def oracle(w, rng):
        i = rng.randint(n)
        return MU * w - (y[i] * (X[i] @ w) < 1) * y[i] * X[i]

    def dual(a):
        v = (a * y) @ X / n
        return 0.5 * v @ v / MU - a.mean(), y * (X @ v) / (MU * n) - 1 / n

    best = minimize(dual, np.zeros(n), jac=True, bounds=[(0, 1)] * n, options={"maxiter": 10**4,
                    "maxfun": 10**5, "ftol": 1e-15, "gtol": 1e-12})  # fmt: skip
    return oracle, value, -best.fun, 4 * np.mean(np.sum(X**2, axis=1))


@pytest.mark.slow
def test_bound_in_expectation():
    oracle, value, minimum, B2 = svm()
    gaps = {}
    for T in (10, 100, 1000):
        found = [
            projected_subgradient(oracle, np.zeros(5), MU, max_iter=T, random_state=seed)
            for seed in range(40)
        ]
        gaps[T] = np.mean([value(r.x) for r in found]) - minimum
        assert 0 < gaps[T] <= 2 * B2 / (MU * (T + 1))
        lengths = np.mean([r.x_last @ r.x_last for r in found])
        assert np.sqrt(lengths) <= np.sqrt(B2 / 4) / MU
    slope = np.log(gaps[1000] / gaps[100]) / np.log(10)
    assert -1.3 < slope < -0.8


@pytest.mark.parametrize("step_size", ["theory", "pegasos"])
def test_first_step_forgets_the_start(step_size):
    oracle, *_ = svm()
    start = np.full(5, 0.01)
    result = projected_subgradient(
        oracle, start, MU, max_iter=1, step_size=step_size, averaging="none", random_state=0
    )
    slope = oracle(start, np.random.RandomState(0)) - MU * start
    np.testing.assert_allclose(result.x, -slope / MU, rtol=1e-12)
    assert np.any(result.x)


def test_vertex_of_one_variable():
    mu = 0.5
    for T in (1, 10, 100, 1000):
        result = projected_subgradient(
            lambda w, rng: np.sign(w - 1) + mu * w, [0.0], mu, max_iter=T,
            objective=lambda w: float(abs(w[0] - 1) + mu / 2 * w[0] ** 2),
        )  # fmt: skip
        B = 1 + mu * 3.0
        assert mu / 2 <= result.fun <= mu / 2 + 2 * B**2 / (mu * (T + 1))
        assert result.history["objective"][-1] == result.fun
        assert result.success
        assert (result.nit, result.status) == (T, "finished")


def test_without_strong_convexity():
    result = projected_subgradient(
        lambda w, rng: np.sign(w - 0.25), np.zeros(3), 0.0, max_iter=4000,
        step_size=lambda t: 0.5 / t**0.5,
    )  # fmt: skip
    np.testing.assert_allclose(result.x, 0.25, atol=0.02)


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"oracle": 3}, TypeError, "oracle must be callable"),
        ({"oracle": lambda w, rng: w[:1]}, ValueError, r"oracle must return an array of shape \(3"),
        ({"oracle": lambda w, rng: w * np.nan}, ValueError, "what oracle returned must be finite"),
        ({"projection": lambda w: 0.0}, ValueError, "projection must return an array of shape"),
        ({"mu": 0.0}, ValueError, "divides by mu, which is 0: give a callable"),
        ({"step_size": ("shifted", 0.5, 1.0)}, ValueError, "needs 1/2 < c <= 1"),
        ({"step_size": ("shifted", 3.0, 1.0)}, ValueError, "c <= 1 \\+ b"),
        ({"step_size": lambda t: 2.0}, ValueError, "steps must not be longer than 1 / mu"),
        ({"step_size": lambda t: "x"}, TypeError, r"step_size\(1\)"),
        ({"objective": 1}, TypeError, "objective must be callable or None"),
    ],
)
def test_refusals(change, error, message):
    call = {"oracle": lambda w, rng: w, "start": np.zeros(3), "mu": 1.0, "max_iter": 5} | change
    with pytest.raises(error, match=message):
        projected_subgradient(**call)
