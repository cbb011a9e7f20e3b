"""Cutting planes: the optimum of other solvers, the quadratic program, the cache, warm starts."""

import numpy as np
import pytest
from scipy.optimize import minimize

from _problems import C, OwnChains, check_certificate, fit, optimum, problem
from sklearn_fw.optim._frank_wolfe._corrective import maximize_on_simplex
from sklearn_fw.structured import NSlack, OneSlack


@pytest.mark.slow
@pytest.mark.parametrize("solver", [OneSlack(), OneSlack(cache=False), NSlack()], ids=str)
def test_black_box(solver):
    p, (_, value) = problem("chain"), optimum("chain")
    svm = fit(p, solver, model=OwnChains(**p.model.get_params()), tol=1e-7)
    check_certificate(svm, p, value, rounding=1e-12)


def test_cache_saves_calls():
    p, calls = problem("chain, CSR"), {}
    for cache in (True, False):
        solver, model = OneSlack(cache=cache), OwnChains(**p.model.get_params())
        calls[cache] = fit(p, solver, model=model, tol=1e-5).n_oracle_calls_
    assert calls[True] < 0.8 * calls[False]


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["one_slack", "n_slack", OneSlack(cache=True)], ids=str)
@pytest.mark.parametrize("name", ["multiclass", "chain", "chain, zero-one"])
def test_warm_start(name, solver):
    p = problem(name)
    svm = fit(p, solver, tol=1e-5, warm_start=True)
    calls = svm.n_oracle_calls_
    svm.fit(p.X, p.y, p.sample_weight)
    assert svm.n_oracle_calls_ < 0.8 * calls
    # With another C, and in another solver: the distributions are a dual point of any problem.
    svm.set_params(C=3 * C, solver="one_slack").fit(p.X, p.y, p.sample_weight)
    value = optimum(name, C=3 * C)[1]
    check_certificate(svm, p, value, p.lam / 3)
    np.testing.assert_allclose(svm.objective_, value, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["n_slack", OneSlack(cache=True)], ids=str)
def test_dual_variables_make_the_weights(solver):
    p = problem("chain, CSR")
    svm = fit(p, solver, tol=1e-9)
    w = np.zeros(p.size)
    for i, alphas in enumerate(svm.dual_coef_):
        assert sum(alphas.values()) == pytest.approx(1.0)
        for states, alpha in alphas.items():
            (place,) = np.flatnonzero((p.outputs[i] == states).all(axis=1))
            w += p.weight[i] / p.lam * alpha * p.psi[i][place]
    np.testing.assert_allclose(w, svm.coef_, atol=1e-3)


# ---- the quadratic program -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_quadratic_on_simplex(seed):
    """Against sequential quadratic programming, also where the quadratic is flat."""
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(2, 12)), int(rng.integers(1, 8))
    rows = 10.0 ** rng.uniform(-3, 3) * rng.normal(size=(k, d))
    if rng.random() < 0.5:
        rows[-1] = rows[0]  # two planes that differ by a constant
    linear = 10.0 ** rng.uniform(-2, 2) * rng.normal(size=k)
    gram, start = rows @ rows.T, np.eye(k)[0]
    found = maximize_on_simplex(gram, linear, start, 0.0)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0)

    def value(a):
        return linear @ a - 0.5 * a @ gram @ a

    scale = max(np.diagonal(gram).max(), np.abs(linear).max())
    slopes = linear - gram @ found
    assert slopes.max() - found @ slopes <= 1e-9 * scale
    other = minimize(
        lambda a: -value(a) / scale, np.full(k, 1 / k), method="SLSQP", bounds=[(0, 1)] * k,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0}, options={"ftol": 1e-14},
    )  # fmt: skip
    assert value(found) >= value(other.x / other.x.sum()) - 1e-8 * scale
