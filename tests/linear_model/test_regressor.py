"""AsagaRegressor: the optimum of its objective, several targets, forms of data, weights."""

import gc
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, nnls
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, Lasso, Ridge
from sklearn.metrics import r2_score

from sklearn_fw import AsagaClassifier, AsagaRegressor
from sklearn_fw.linear_model import AveragedSubgradientRegressor, FrankWolfeRegressor
from sklearn_fw.losses import Huber, SquaredEpsilonInsensitive
from sklearn_fw.penalties import Box, GroupLasso

N, D = 200, 6


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    y = X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.3] + 2.0 + rng.standard_normal(N)
    return X, y


def uneven():
    return np.random.default_rng(3).uniform(0.2, 2.0, N)


def accurate(loss="squared_error", **params):
    params = {"tol": 1e-14, "max_iter": 5000, "random_state": 0, **params}
    return AsagaRegressor(loss, **params)


# ---- the optimum ---------------------------------------------------------------------------------

REFERENCES = {
    "ridge": (lambda n: Ridge(alpha=0.5 * n, tol=1e-14), {"alpha": 0.5}),
    "elastic net": (
        lambda n: ElasticNet(alpha=0.3, l1_ratio=0.4, tol=1e-14, max_iter=100_000),
        {"alpha": 0.3, "l1_ratio": 0.4},
    ),
    "lasso": (
        lambda n: Lasso(alpha=0.2, tol=1e-14, max_iter=100_000),
        {"alpha": 0.2, "l1_ratio": 1.0},
    ),
}


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_squared_error(name, fit_intercept, weighted, form):
    X, y = data()
    make, params = REFERENCES[name]
    weight = uneven() if weighted else None
    # Ridge multiplies its sum with weights, the others normalize them.
    theirs = make(N if weight is None else weight.sum()).set_params(fit_intercept=fit_intercept)
    theirs.fit(X, y, sample_weight=weight)
    ours = accurate(fit_intercept=fit_intercept, **params).fit(form(X), y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-6)
    assert ours.coef_.shape == (D,)
    assert isinstance(ours.intercept_, float)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-6)
    np.testing.assert_array_equal(ours.coef_ == 0, theirs.coef_ == 0)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-6)


def huber(r, delta=1.35):
    return np.where(np.abs(r) < delta, r * r / 2, delta * (np.abs(r) - delta / 2))


LOSSES = {
    "huber": (Huber(), huber),
    "narrow huber": (Huber(0.3), lambda r: huber(r, 0.3)),
    "epsilon": (SquaredEpsilonInsensitive(), lambda r: np.maximum(0, np.abs(r) - 0.1) ** 2),
    "wide epsilon": (SquaredEpsilonInsensitive(0.7), lambda r: np.maximum(0, np.abs(r) - 0.7) ** 2),
}


@pytest.mark.parametrize("name", LOSSES)
def test_robust_losses(name):
    X, y = data()
    y[:20] += 30.0
    loss, phi = LOSSES[name]
    weight = uneven() / uneven().sum()

    def objective(theta):
        return weight @ phi(X @ theta[:D] + theta[D] - y) + 0.05 * theta[:D] @ theta[:D]

    ours = accurate(loss, alpha=0.1).fit(X, y, sample_weight=uneven())
    found = minimize(objective, np.zeros(D + 1), method="BFGS", options={"gtol": 1e-7})
    theta = np.append(ours.coef_, ours.intercept_)
    assert objective(theta) <= found.fun + 1e-12
    assert ours.objective_ == pytest.approx(objective(theta), rel=1e-12)
    np.testing.assert_allclose(theta, found.x, rtol=0, atol=1e-5)


def test_nonnegative_least_squares():
    X, y = data()
    y -= 2.0
    ours = accurate(penalty=Box(), alpha=0.0, tol=1e-13, fit_intercept=False).fit(X, y)
    expected, _ = nnls(X, y)
    assert np.any(expected == 0)
    np.testing.assert_allclose(ours.coef_, expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(ours.coef_ == 0, expected == 0)


@pytest.mark.parametrize("alpha", [0.05, 0.3])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weights", ["sqrt", "ones", [0.5, 2.0]], ids=str)
def test_group_lasso(alpha, missing, weights):
    """Plain proximal gradients on the definition; features in no group are not penalized."""
    X, y = data()
    groups = [[0, 4], [1, 3]] if missing else [[0, 4], [1, 2, 3, 5]]
    factors = {"sqrt": np.sqrt([len(g) for g in groups]), "ones": [1, 1]}
    factors = factors[weights] if isinstance(weights, str) else weights
    centered, truth = X - X.mean(axis=0), y - y.mean()
    step = N / np.linalg.norm(centered, 2) ** 2
    w = np.zeros(D)
    for _ in range(2000):
        w = w - step * centered.T @ (centered @ w - truth) / N
        for group, factor in zip(groups, factors):
            norm = np.linalg.norm(w[group])
            w[group] *= max(0.0, 1 - step * alpha * factor / max(norm, 1e-300))
    ours = accurate(penalty=GroupLasso(groups, weights), alpha=alpha, tol=0, max_iter=300)
    ours.fit(X, y)
    np.testing.assert_allclose(ours.coef_, w, rtol=0, atol=1e-8)
    for group in groups:
        assert len({*(ours.coef_[group] == 0)}) == 1
    assert (ours.dual_gap_ is None) == missing


@pytest.mark.parametrize("alpha", [0.1, 0.0])
def test_several_targets(alpha):
    X, y = data()
    Y = np.column_stack([y, -2 * y + X[:, 3], np.full(N, 3.0)])
    model = accurate(alpha=alpha, l1_ratio=0.5, tol=1e-12)
    together = clone(model).fit(X, Y)
    assert together.coef_.shape == (3, D)
    assert together.predict(X).shape == (N, 3)
    for k in range(3):
        alone = clone(model).fit(X, Y[:, k])
        np.testing.assert_allclose(together.coef_[k], alone.coef_, rtol=0, atol=1e-5)
        assert together.intercept_[k] == pytest.approx(alone.intercept_, abs=1e-5)
        assert together.objective_[k] == pytest.approx(alone.objective_, abs=1e-10)
        np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), atol=1e-4)
    np.testing.assert_allclose(together.coef_[2], 0, atol=1e-9)
    one = clone(model).fit(X, y[:, None])
    assert one.coef_.shape == (1, D)
    assert one.predict(X).shape == (N, 1)
    assert 0.5 < one.score(X, y[:, None]) < 1


# ---- forms of data -------------------------------------------------------------------------------


# Sparse matrices of other forms have a test of their own.
@pytest.mark.slow
@pytest.mark.parametrize("solver", ["asaga", "lagged_saga", "svrg"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_memory(form, solver):
    """No step of a fit copies X."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4000, 150)), rng.standard_normal(4000)
    given = form(X)
    for model, target in ((AsagaRegressor, y), (AsagaClassifier, y > 0)):
        fit = model(max_iter=2, tol=0, solver=solver).fit
        fit(given[:50], target[:50])  # compilation, imports
        gc.collect()
        tracemalloc.start()
        fit(given, target)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.25 * X.nbytes


@pytest.mark.parametrize(
    "model",
    [
        AsagaRegressor("huber"),
        AsagaRegressor("huber", l1_ratio=1.0),
        AsagaRegressor("squared_epsilon_insensitive"),
        FrankWolfeRegressor(loss="huber", random_state=0),
        FrankWolfeRegressor(loss="squared_epsilon_insensitive", random_state=0),
        AveragedSubgradientRegressor(loss="epsilon_insensitive", random_state=0),
    ],
    ids=str,
)
@pytest.mark.parametrize("unit", [1e-3, 1e4])
def test_losses_by_name_count_in_units_of_the_targets(rng, model, unit):
    X = rng.standard_normal((300, 4))
    y = X @ [3.0, 0.0, -2.0, 1.0] + rng.standard_t(3, 300)
    found = clone(model).fit(X[:200], y[:200]).score(X[200:], y[200:])
    other = clone(model).fit(X[:200], unit * y[:200]).score(X[200:], unit * y[200:])
    assert found > 0.7
    assert other == pytest.approx(found, abs=0.02)
    several = np.column_stack([y, unit * y])
    both = clone(model).fit(X[:200], several[:200]).predict(X[200:])
    assert r2_score(several[200:], both, multioutput="raw_values") == pytest.approx(found, abs=0.02)


def test_parameters_of_loss_objects_are_in_the_unit_of_the_targets(rng):
    X = rng.standard_normal((60, 2))
    y = 100.0 * X[:, 0] + 50.0 * rng.standard_t(2, 60)
    spread = 1.25 * np.mean(np.abs(y - np.median(y)))
    by_name = AsagaRegressor("huber", alpha=0.1, tol=1e-10).fit(X, y)
    by_hand = AsagaRegressor(Huber(1.35 * spread), alpha=0.1, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(by_name.coef_, by_hand.coef_, rtol=1e-6)
    plain = AsagaRegressor(Huber(1.35), alpha=0.1, tol=1e-10).fit(X, y)
    assert abs(plain.coef_[0]) < 0.5 * abs(by_name.coef_[0])


@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_automatic_strength_of_each_target(rng, l1_ratio):
    X, y = data()
    Y = np.c_[y, 1e4 * (X @ [0.0, 0.0, 1.0, 1.0, 0.0, 0.0] + rng.standard_normal(N))]
    model = AsagaRegressor(l1_ratio=l1_ratio)
    alone = [clone(model).fit(X, target) for target in Y.T]
    model.fit(X, Y)
    np.testing.assert_allclose(model.alpha_, [one.alpha_ for one in alone])
    np.testing.assert_allclose(model.coef_, [one.coef_ for one in alone], rtol=0.01, atol=1e-6)


@pytest.mark.parametrize("value", [0.1, 3.0])
def test_columns_that_do_not_vary(value):
    model = AsagaRegressor(l1_ratio=1.0).fit(np.full((N, 2), value), data()[1])
    assert not model.coef_.any()


@pytest.mark.parametrize(
    ("model", "x_shift", "y_shift"),
    [
        (AsagaRegressor(l1_ratio=1.0), 1e7, 0.0),
        (FrankWolfeRegressor(random_state=0), 0.0, 1e9),
        (FrankWolfeRegressor("huber", random_state=0), 0.0, 1e9),
    ],
    ids=str,
)
def test_origins_of_columns_and_targets_do_not_matter(model, x_shift, y_shift):
    X, y = data()
    usual = clone(model).fit(X, y).score(X, y)
    shifted = clone(model).fit(X + x_shift, y + y_shift).score(X + x_shift, y + y_shift)
    assert shifted == pytest.approx(usual, abs=5e-3)


def test_constant_targets_end_at_once():
    X, _ = data()
    model = FrankWolfeRegressor(radius=3.0).fit(X, np.full(N, 0.1))
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-5)
    assert model.intercept_ == pytest.approx(0.1)
    assert model.converged_
    assert model.n_iter_ < 20
