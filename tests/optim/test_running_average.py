"""Running averages: weights of every scheme, and sparse updates against dense ones."""

import numpy as np
import pytest

from sklearn_fw.optim import RunningAverage

SCHEMES = [
    "none", "uniform", "suffix", "doubling", "weighted", "weighted2", ("power", 0.5),
    ("power", 7.0), ("polynomial", 0.0), ("polynomial", 1.0), ("polynomial", 3.0),
]  # fmt: skip


def explicit_weights(scheme, horizon):
    s = np.arange(horizon + 1)
    name, k = scheme if isinstance(scheme, tuple) else (scheme, None)
    if name == "polynomial":
        rho = (1 + k) / (s + 1 + k)
        left = np.concatenate([np.cumprod((1 - rho[1:])[::-1])[::-1], [1.0]])
        return rho * left
    first_of_suffix = -(-horizon // 2)
    weights = {
        "none": s == horizon, "uniform": s >= 0, "suffix": s >= first_of_suffix,
        "doubling": s >= 2 ** int(np.log2(horizon)), "weighted": s + 1.0,
        "weighted2": (s + 1.0) ** 2, "power": (s + 1.0) ** (k or 1.0),
    }[name]  # fmt: skip
    return weights / np.sum(weights)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("horizon", [1, 2, 7, 8, 100])
def test_average_of_numbers(scheme, horizon):
    average = RunningAverage(scheme, horizon=horizon)
    for t in range(horizon + 1):
        average.update([float(t)])
    expected = explicit_weights(scheme, horizon) @ np.arange(horizon + 1.0)
    np.testing.assert_allclose(average.value, [expected], rtol=1e-12)
    assert average.n_seen == horizon + 1


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_rates_in_parts(scheme):
    whole = RunningAverage(scheme, horizon=300).rates(301)
    parts = RunningAverage(scheme, horizon=300)
    np.testing.assert_allclose(
        np.concatenate([parts.rates(n) for n in (1, 6, 94, 200)]), whole, rtol=1e-12
    )
    assert whole[0] == 1.0
    assert np.all((whole > 0) & (whole <= 1))


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize(
    "shrinking", [lambda t: 1 - 1 / t, lambda t: 0.5, lambda t: (t - 1) / (t + 1)]
)
def test_sparse_updates_are_dense_ones(scheme, shrinking, rng):
    d, steps = 20, 600
    sparse, dense = (RunningAverage(scheme, horizon=steps) for _ in range(2))
    w = rng.normal(size=d)
    sparse.update(w)
    dense.update(w)
    for t in range(1, steps + 1):
        scale, places = shrinking(t), rng.choice(d, 3, replace=False)
        values = rng.normal(size=3) / t
        w = scale * w
        w[places] += values
        sparse.update_sparse(scale, places, values)
        dense.update(w)
        if t % 97 == 0:
            np.testing.assert_allclose(sparse.value, dense.value, rtol=0, atol=1e-10)
    np.testing.assert_allclose(sparse.value, dense.value, rtol=0, atol=1e-10)


def test_high_powers_do_not_overflow():
    rates = RunningAverage(("power", 200.0)).rates(10**5)
    assert np.all(np.isfinite(rates))
    assert rates[-1] == pytest.approx(201 / 10**5, rel=2e-3)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: RunningAverage("middle"), "the averaging scheme must be one of 'doubling'"),
        (lambda: RunningAverage(("power", -1.0)), "exponent of 'power' == -1.0, must be >= 0"),
        (lambda: RunningAverage("suffix"), "needs horizon"),
        (lambda: RunningAverage().update([np.nan]), "w must be finite"),
        (lambda: RunningAverage().update_sparse(1.0, [0], [1.0]), r"begin with update\(w_0\)"),
        (lambda: begun().update_sparse(1.0, [0, 1], [1.0]), "vectors of one length, the first of"),
        (lambda: begun().update_sparse(1.0, [3], [1.0]), "indices must be from 0 to 2"),
        (lambda: begun().update_sparse(1.0, [1, 1], [1.0, 1.0]), "must not name a place twice"),
        (lambda: begun().update(np.zeros(2)), r"w has shape \(2,\), the points before \(3,\)"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def begun():
    average = RunningAverage()
    average.update(np.zeros(3))
    return average
