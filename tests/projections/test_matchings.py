"""Projections onto fractional matchings: optimality conditions and certified distances."""

import re
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw.inference import Assignment
from sklearn_fw.projections import project_matching

PROJECTIONS = {"euclidean": project_matching, "entropic": partial(project_matching, entropic=True)}
every_projection = pytest.mark.parametrize("name", PROJECTIONS)
both_forms = pytest.mark.parametrize("perfect", [False, True], ids=["any", "perfect"])
MATRICES = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "ties": lambda rng, shape: rng.integers(-1, 3, size=shape).astype(float),
    "heavy tails": lambda rng, shape: rng.standard_cauchy(size=shape),
    "sums": lambda rng, shape: rng.normal(size=shape[:1])[:, None] + rng.normal(size=shape[1:]),
    "constant": lambda rng, shape: np.ones(shape),
}
SHAPES = [(1, 1), (3, 3), (5, 2), (2, 6), (10, 10), (12, 30)]


def assert_optimal(name, p, z, duals, perfect, tol):
    """Feasible, of the form that the duals give, and complementary."""
    rounding = 1e-13 * max(1.0, np.abs(p).max()) * sum(p.shape)
    u, v = duals
    exponents = p - u[:, None] - v
    expected = np.maximum(exponents, 0.0) if name == "euclidean" else np.exp(exponents)
    np.testing.assert_allclose(z, expected, rtol=rounding, atol=rounding)
    for dual, sums in [(u, z.sum(axis=1)), (v, z.sum(axis=0))]:
        if perfect:
            np.testing.assert_allclose(sums, 1.0, rtol=0, atol=tol + rounding)
        else:
            assert dual.min() >= 0.0
            assert sums.max() <= 1.0 + tol + rounding
            np.testing.assert_allclose(sums[dual > 0], 1.0, rtol=0, atol=tol + rounding)


@pytest.mark.slow
@both_forms
@every_projection
@pytest.mark.parametrize("kind", MATRICES)
def test_optimality_conditions(name, perfect, kind, rng):
    for shape in SHAPES:
        if perfect:
            shape = shape[:1] * 2
        for scale in (0.1, 1.0, 30.0, 1e4):
            p = scale * MATRICES[kind](rng, shape)
            z, duals = PROJECTIONS[name](p, perfect=perfect, return_duals=True)
            assert_optimal(name, p, z, duals, perfect, tol=1e-9)


@pytest.mark.slow
@both_forms
@every_projection
def test_distance_is_certified(name, perfect, rng):
    project, worst = PROJECTIONS[name], 0.0
    for _ in range(40):
        shape = (7, 7) if perfect else tuple(rng.integers(2, 9, size=2))
        p = rng.normal(scale=rng.choice([1.0, 10.0, 100.0]), size=shape)
        exact = project(p, perfect=perfect, tol=1e-12)
        for tol in (1.0, 1e-2, 1e-4):
            distance = np.abs(project(p, perfect=perfect, tol=tol) - exact).sum()
            assert distance <= tol + 1e-9
            worst = max(worst, distance)
    assert worst > 1e-6  # the loose ones are different


@both_forms
@every_projection
def test_first_guesses_change_nothing_but_the_work(name, perfect, rng):
    project = PROJECTIONS[name]
    for shape in [(6, 6), (8, 3), (3, 8)]:
        shape = shape[:1] * 2 if perfect else shape
        for scale in (1.0, 1e3):
            p = scale * rng.normal(size=shape)
            z, duals = project(p, perfect=perfect, return_duals=True)
            nearby = project(p + 0.01 * scale, perfect=perfect, duals=duals)
            np.testing.assert_allclose(
                nearby, project(p + 0.01 * scale, perfect=perfect), rtol=0, atol=2e-9
            )
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                again = project(p, perfect=perfect, duals=duals, max_iter=1)
            np.testing.assert_allclose(again, z, rtol=0, atol=2e-9)
            absurd = tuple(100 * scale * rng.normal(size=n) for n in shape)
            again = project(p, perfect=perfect, duals=absurd)
            np.testing.assert_allclose(again, z, rtol=0, atol=1e-8)


@pytest.mark.parametrize("scale", [10.0, 30.0, 50.0])
def test_duals_that_become_zero(scale):
    """Mass leaks at rates of exp(-scale), and some duals are zero or nearly so."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        for shape in [(3, 3), (4, 4), (5, 5), (4, 6)]:
            noise = rng.normal(size=shape)
            sums = rng.normal(size=(shape[0], 1)) + rng.normal(size=shape[1]) + 1e-3 * noise
            for p in (scale * noise, scale * sums):
                z, duals = project_matching(p, entropic=True, return_duals=True)
                assert_optimal("entropic", p, z, duals, perfect=False, tol=1e-9)


@both_forms
@pytest.mark.parametrize("n", [2, 8])
def test_large_values_give_the_best_matching(n, perfect, rng):
    for _ in range(20):
        p = rng.normal(size=(n, n))
        best = Assignment(perfect).argmax(p)[0]
        for project in PROJECTIONS.values():
            np.testing.assert_allclose(project(1e6 * p, perfect=perfect), best, rtol=0, atol=1e-6)


@every_projection
def test_small_and_strange_inputs(name):
    project = PROJECTIONS[name]
    for shape in [(0, 0), (0, 3), (2, 0)]:
        z, (u, v) = project(np.zeros(shape), return_duals=True)
        assert (z.shape, u.shape, v.shape) == (shape, shape[:1], shape[1:])
    assert project([[7]], perfect=True).tolist() == [[1.0]]
    p = np.arange(24, dtype=np.float32).reshape(4, 6)[::2, ::-1]
    p.flags.writeable = False
    np.testing.assert_array_equal(project(p), project(p.astype(float).copy()))


@every_projection
def test_the_end_of_the_budget_is_told(name, rng):
    p = rng.normal(scale=5.0, size=(9, 9))
    message = r"stopped after max_iter=1 steps at a distance of at most .* > tol=1e-09: raise max_i"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        PROJECTIONS[name](p, max_iter=1)
    assert caught[0].filename == __file__


@every_projection
@pytest.mark.parametrize(
    ("p", "params", "message"),
    [
        ([1.0], {}, "must have shape (n_rows, n_columns), got (1,)"),
        ([[1.0, 2.0]], {"perfect": True}, "perfect=True needs as many rows as columns, got"),
        ([[1.0]], {"duals": ([0.0], [0.0, 0.0])}, "v of duals.shape == (2,), expected (1,)"),
        ([[1.0]], {"duals": ([0.0], [np.nan])}, "v of duals must be finite, got NaN or infinity"),
    ],
)
def test_errors(name, p, params, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        PROJECTIONS[name](p, **params)
