"""Cutting planes: the optimum of other solvers, the quadratic program, the cache, warm starts."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from _problems import PROBLEMS, C, fit, optimum, problem
from sklearn_fw.optim._frank_wolfe._corrective import maximise_on_simplex
from sklearn_fw.structured import ChainModel, NSlack, OneSlack
from sklearn_fw.structured._solvers import resolve_solver

SOLVERS = [
    OneSlack(), OneSlack(step_size=1.0, max_idle=3), OneSlack(cache=True, cache_size=2),
    NSlack(), NSlack(cache_size=2),
]  # fmt: skip
BOXES = [(0.0, None), (None, 0.1), (-0.2, 0.3), (0.05, 0.2)]


class OwnChains(ChainModel):
    """A black box: a model with a method of its own."""

    def inference(self, x, w):
        return super().inference(x, w)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("name", PROBLEMS)
def test_same_optimum_as_bcpfw(name, solver):
    p, (w, value) = problem(name), optimum(name)
    svm = fit(p, solver, tol=1e-7)
    assert svm.converged_
    other = fit(p, "bcpfw", tol=1e-7)
    np.testing.assert_allclose(svm.objective_, other.objective_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
    assert svm.dual_objective_ <= value + 1e-12
    assert value <= svm.objective_ + 1e-12
    np.testing.assert_allclose(svm.coef_, w, atol=1e-3)


@pytest.mark.parametrize("box", BOXES, ids=str)
@pytest.mark.parametrize("name", ["multiclass", "labels, tree", "chain, CSR"])
@pytest.mark.parametrize("solver", [OneSlack(), OneSlack(cache=True), NSlack()], ids=str)
def test_optimum_in_a_box(name, box, solver):
    p, (w, value) = problem(name), optimum(name, *box)
    bounded = resolve_solver(solver).set_params(lower_bounds=box[0], upper_bounds=box[1])
    svm = fit(p, bounded, tol=1e-6)
    assert svm.converged_
    lower, upper = -np.inf if box[0] is None else box[0], np.inf if box[1] is None else box[1]
    assert lower <= svm.coef_.min() <= svm.coef_.max() <= upper
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
    assert svm.dual_objective_ - 1e-10 <= value <= svm.objective_ + 1e-10
    assert np.sum((svm.coef_ - w) ** 2) <= 2e-6 / p.lam


@pytest.mark.parametrize("solver", [OneSlack(), OneSlack(cache=False), NSlack()], ids=str)
def test_black_box(solver):
    p, (_, value) = problem("chain"), optimum("chain")
    svm = fit(p, solver, model=OwnChains(**p.model.get_params()), tol=1e-7)
    assert svm.converged_
    assert svm.dual_objective_ - 1e-12 <= value <= svm.objective_ + 1e-12
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)


def test_cache_saves_calls():
    p, calls = problem("chain, CSR"), {}
    for cache in (True, False):
        solver, model = OneSlack(cache=cache), OwnChains(**p.model.get_params())
        calls[cache] = fit(p, solver, model=model, tol=1e-5).n_oracle_calls_
    assert calls[True] < 0.8 * calls[False]


@pytest.mark.parametrize("solver", ["one_slack", "n_slack", OneSlack(cache=True)], ids=str)
@pytest.mark.parametrize("name", ["multiclass", "chain", "chain, zero-one"])
def test_warm_start(name, solver):
    p = problem(name)
    svm = fit(p, solver, tol=1e-5, warm_start=True)
    calls = svm.n_oracle_calls_
    svm.fit(p.X, p.y, p.sample_weight)
    assert svm.n_oracle_calls_ < 0.8 * calls
    assert svm.converged_
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
    # With another C, and in another solver: the distributions are a dual point of any problem.
    svm.set_params(C=3 * C, solver="one_slack").fit(p.X, p.y, p.sample_weight)
    value = optimum(name, C=3 * C)[1]
    assert svm.dual_objective_ - 1e-10 <= value <= svm.objective_ + 1e-10
    np.testing.assert_allclose(svm.objective_, value, atol=1e-4)


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


def test_time_limit():
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        svm = fit(problem("chain"), "n_slack", tol=1e-12, time_limit=1e-9, relative=True)
    assert svm.n_iter_ == 1


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"step_size": 1.5}, "step_size must be at most 1"),
        ({"step_size": 0.0}, "step_size"),
        ({"cache": "yes"}, "cache"),
        ({"cache_f": -1}, "cache_f"),
        ({"cache_size": 0}, "cache_size"),
        ({"max_idle": 0}, "max_idle"),
    ],
)
def test_refused_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        fit(problem("multiclass"), OneSlack(**settings))
    if "cache_size" in settings:
        with pytest.raises(ValueError, match=message):
            fit(problem("multiclass"), NSlack(cache_size=1))


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
    found = maximise_on_simplex(gram, linear, start, 0.0)
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
