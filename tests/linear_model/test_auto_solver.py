"""The default: which solver it takes, and that its answers are as good as those of the peers."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)  # fmt: skip
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, train_test_split
from sklearn.preprocessing import StandardScaler

from _linear_references import minimize_linear
from sklearn_fw import AsagaClassifier, AsagaRegressor
from sklearn_fw.losses import Huber
from sklearn_fw.optim import NewtonCG
from sklearn_fw.penalties import Box, GroupLasso

TABLES = [load_iris, load_wine, load_breast_cancer, load_digits]


# ---- what is taken -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("params", "d", "form", "n_classes", "expected"),
    [
        ({}, 40, np.asarray, 2, "Newton"),
        ({"l1_ratio": 0.5}, 40, np.asarray, 2, "Newton"),
        ({"penalty": Box(-1, 1)}, 40, np.asarray, 2, "Newton"),
        ({}, 40, sp.csr_array, 2, "NewtonCG"),
        ({}, 40, sp.csr_array, 3, "NewtonCG"),
        ({}, 1500, np.asarray, 2, "NewtonCG"),
        ({}, 1500, sp.csr_array, 2, "Sdca"),
        ({"l1_ratio": 0.5}, 40, sp.csr_array, 2, "Newton"),
        ({"l1_ratio": 0.5}, 1500, sp.csr_array, 2, "Newton"),
        ({"l1_ratio": 0.5, "loss": "squared_hinge"}, 1500, sp.csr_array, 2, "Sdca"),
        ({"l1_ratio": 1.0}, 1500, sp.csr_array, 2, "Newton"),
        ({}, 1500, sp.csr_array, 3, "NewtonCG"),
        ({"l1_ratio": 0.5}, 1500, np.asarray, 2, "Newton"),
        ({"l1_ratio": 0.5}, 40, np.asarray, 3, "Newton"),
        ({"l1_ratio": 0.5}, 1500, sp.csr_array, 3, "Newton"),
        ({"penalty": Box(-1, 1)}, 400, np.asarray, 3, "Newton"),
        ({"l1_ratio": 0.5}, 40, sp.csr_array, 3, "Newton"),
        ({"penalty": GroupLasso([[0, 1]])}, 40, np.asarray, 2, "Asaga"),
        ({"solver": "newton_cg"}, 40, np.asarray, 2, "NewtonCG"),
    ],
)
def test_choice(params, d, form, n_classes, expected):
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.standard_normal((300, d)) * (rng.random((300, d)) < 5.0 / d))
    z = X @ rng.standard_normal(d) + rng.standard_normal(300)
    y = np.where(z > 0, 1, 0) if n_classes == 2 else np.arange(300) % 3
    model = AsagaClassifier(tol=0.01, max_iter=1000, random_state=0, **params)
    model.fit(X if form is sp.csr_array else X.toarray(), y)
    assert type(model.solver_).__name__ == expected
    assert model.solver_reason_ == "it was given" or "solver" not in params
    assert params.get("solver") or str(d) in model.solver_reason_ or expected == "Asaga"


# ---- how good it is ------------------------------------------------------------------------------


@pytest.mark.parametrize("load", TABLES)
@pytest.mark.parametrize("scaled", [False, True])
def test_probabilities_are_those_of_the_optimum(load, scaled):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X) if scaled else X
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AsagaClassifier(C=1.0).fit(X, y)
    assert model.converged_
    best = LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), best.predict_proba(X), rtol=0, atol=0.01)


def _check_optimum(coef, slopes, l1, l2):
    """The conditions of optimality with an l1 norm: slopes of the mean loss at coefficients."""
    slopes = slopes + l2 * coef
    assert np.all(np.abs(slopes[coef == 0.0]) <= l1 * 1.001)
    free = coef != 0.0
    np.testing.assert_allclose(slopes[free], -l1 * np.sign(coef[free]), atol=0.01 * l1)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_several_classes_with_an_l1_norm(load, form, l1_ratio):
    X, y = load(return_X_y=True)
    model = AsagaClassifier("multinomial", l1_ratio=l1_ratio, tol=1e-8).fit(form(X), y)
    assert model.converged_
    slopes = (model.predict_proba(X) - np.eye(y.max() + 1)[y]).T @ X / len(X)
    _check_optimum(model.coef_, slopes, l1_ratio / len(X), (1.0 - l1_ratio) / len(X))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_wide_tables_with_an_l1_norm(rng, n_classes, l1_ratio):
    factors = rng.standard_normal((100, 30))
    X = factors @ rng.standard_normal((30, 5000)) + rng.standard_normal((100, 5000))
    X, y = X * np.exp(rng.standard_normal(5000)), np.digitize(X[:, 0], [0, 5][: n_classes - 1])
    model = AsagaClassifier("multinomial", l1_ratio=l1_ratio, tol=1e-8, multi_class="multinomial")
    model.fit(X, y)
    assert model.converged_
    shares = model.predict_proba(X)
    slopes = (shares - np.eye(n_classes)[y]).T @ X / len(X)
    slopes = slopes[1:] if len(model.coef_) == 1 else slopes
    _check_optimum(model.coef_, slopes, l1_ratio / len(X), (1.0 - l1_ratio) / len(X))
    model = AsagaRegressor(l1_ratio=l1_ratio, alpha=0.1, tol=1e-8).fit(X, factors[:, 0])
    assert model.converged_
    slopes = (model.predict(X) - factors[:, 0]) @ X / len(X)
    _check_optimum(model.coef_, slopes, 0.1 * l1_ratio, 0.1 * (1.0 - l1_ratio))


def test_dependent_columns():
    X, y = load_diabetes(return_X_y=True)
    X = np.column_stack([X, X[:, 0], X[:, :3].sum(axis=1), np.full(len(y), 7.0)])
    for penalty in (None, "elasticnet", Box(-500, 500)):
        model = AsagaRegressor(penalty=penalty, alpha=1e-9, tol=1e-8).fit(X, y)
        assert model.converged_
        best = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean())[0]
        error = 0.5 * np.mean(np.square(y - y.mean() - (X - X.mean(axis=0)) @ best))
        if penalty is None:
            assert model.objective_ == pytest.approx(error, rel=1e-8)
    lasso = AsagaRegressor(alpha=0.1, l1_ratio=1.0, tol=1e-9).fit(X, y)
    expected = Lasso(alpha=0.1, tol=1e-12, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(lasso.predict(X), expected.predict(X), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("C", [1.0, 1e4, 1e7])
def test_rare_classes_take_few_steps(C):
    X, y = make_classification(3000, 20, n_classes=5, n_informative=12, random_state=0)
    y[y == 4] = 0
    y[0] = 4
    model = AsagaClassifier(C=C).fit(X, y)
    assert model.converged_
    assert model.n_iter_ <= 40


def test_rare_classes_of_a_table_in_unlike_units(data_file):
    with np.load(data_file("covtype/covtype.npz")) as file:
        X, y = file["X"][::100].astype(float), file["y"][::100]
    model = AsagaClassifier(C=1e4, tol=1e-5).fit(X, y)
    assert model.converged_
    assert model.n_iter_ <= 60
    coef = model.coef_ - model.coef_.mean(axis=0)
    # The least ridge of all coefficients with these probabilities.
    np.testing.assert_allclose(model.coef_, coef, rtol=0, atol=1e-8 * np.abs(coef).max())


@pytest.mark.parametrize("solver", ["newton", "newton_cg"])
@pytest.mark.parametrize("loss", ["huber", Huber(0.01), "squared_epsilon_insensitive"], ids=str)
def test_losses_without_second_derivatives(solver, loss):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 5)) * [1, 10, 100, 1e3, 1e-2]
    y = X @ [1, -0.1, 0.01, 0, 50] + 100 * rng.standard_t(1.5, 200) + 1e3
    model = AsagaRegressor(loss, alpha=1e-3, tol=1e-8, solver=solver).fit(X, y)
    assert model.converged_
    # First-order steps take for ever where nearly all losses are straight.
    other = "asaga" if isinstance(loss, str) else {"newton", "newton_cg"}.difference({solver}).pop()
    best = AsagaRegressor(loss, alpha=1e-3, tol=1e-10, max_iter=10**5, solver=other).fit(X, y)
    assert model.objective_ == pytest.approx(best.objective_, rel=1e-7)


@pytest.mark.slow
def test_many_dense_rows_of_two_classes_and_of_three():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((5000, 6))
    y = np.digitize(X[:, 0] + rng.logistic(size=5000), [-1, 1])
    for labels in (y, y > 1):
        model = AsagaClassifier(tol=1e-9, random_state=0).fit(X, labels)
        other = AsagaClassifier(tol=1e-9, solver="asaga", max_iter=1000).fit(X, labels)
        assert model.objective_ == pytest.approx(other.objective_, rel=1e-8)
        assert model.n_iter_ <= 5


@pytest.mark.parametrize("solver", ["newton", "newton_cg"])
def test_rare_categories_take_few_steps(solver):
    rng = np.random.default_rng(0)
    category = np.searchsorted(np.cumsum(0.6 * 0.4 ** np.arange(12)), rng.random(40_000))
    X = StandardScaler().fit_transform(np.eye(13)[category])
    y = rng.random(40_000) < expit(rng.standard_normal(13))[category]
    model = AsagaClassifier(solver=solver, tol=1e-6, fit_intercept=False, random_state=0).fit(X, y)
    assert model.converged_
    assert model.n_iter_ <= 10


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_wide_tables_begin_at_the_optimum_of_the_products_of_rows(rng, form, n_classes):
    X = np.abs(rng.standard_normal((90, 700))) * (rng.random((90, 700)) < 0.6) * 30.0
    X = np.vstack([X, X[:10]])  # copies make the products singular
    y, weight = np.digitize(X[:, :9].sum(axis=1), [130, 170][: n_classes - 1]), rng.random(100)
    weight[:5] = 0.0
    model = AsagaClassifier(C=3.0, tol=1e-8).fit(form(X), y, sample_weight=weight)
    assert isinstance(model.solver_, NewtonCG)
    assert model.n_iter_ <= 2
    assert model.dual_gap_ <= 1e-8 * model.objective_
    best = LogisticRegression(C=3.0, tol=1e-10, max_iter=5000).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(X), best.predict_proba(X), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("shared", "filled"), [(False, 0.01), (False, 0.5), (True, 0.01)])
def test_rows_that_share_columns_are_not_for_single_steps(rng, shared, filled):
    X, y = sp.random(500, 2500, filled, random_state=0).toarray(), rng.integers(0, 2, 500)
    X -= 0.5 * (X != 0)
    X[:, 0] = 50.0 * shared
    X = sp.csr_array(X)
    model = AsagaClassifier(C=1.0, random_state=0).fit(X, y)
    assert type(model.solver_).__name__ == ("NewtonCG" if shared else "Sdca")
    high = sp.csr_array(sp.random(1500, 600, 0.01, random_state=0))
    assert isinstance(AsagaClassifier().fit(high, rng.integers(0, 2, 1500)).solver_, NewtonCG)


# ---- no penalty, and the truth without a dual ----------------------------------------------------


def test_infinite_C_is_no_penalty():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:, :5]
    model = AsagaClassifier(C=np.inf, tol=1e-8).fit(X, y)
    best = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, best.coef_, rtol=1e-4)
    assert model.converged_
    assert model.dual_gap_ is None
    same = AsagaClassifier(penalty=None, tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(model.coef_, same.coef_)


def unequal(spread, seed=0, n=300, d=20):
    rng = np.random.default_rng(seed)
    scales = np.logspace(-spread / 2, spread / 2, d)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.2) * scales
    z = X @ (rng.standard_normal(d) / scales) + 0.3
    return X, z + 0.3 * rng.standard_t(2, n), np.where(z + rng.logistic(size=n) > 0, 1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0, 4])
@pytest.mark.parametrize("solver", ["auto", "asaga", "svrg"])
@pytest.mark.parametrize(
    "make",
    [
        lambda **p: AsagaRegressor(Huber(), penalty=None, **p),
        lambda **p: AsagaClassifier(penalty=Box(), **p),
        lambda **p: AsagaClassifier(C=np.inf, **p),
        lambda **p: AsagaClassifier(penalty=GroupLasso([[0, 1], [2, 3]]), **p),
    ],
    ids=["huber", "bounds", "nothing", "groups"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_converged_is_true_without_a_dual(make, solver, spread):
    X, numbers, labels = unequal(spread)
    y = numbers if isinstance(make(), AsagaRegressor) else labels
    model = make(solver=solver, random_state=0).fit(sp.csr_array(X), y)
    free = model.penalty in (None, "elasticnet")
    bound = (Box(-np.inf, np.inf) if free else model.penalty).bind(X.shape[1])
    scales = np.logspace(-spread / 2, spread / 2, X.shape[1])
    if not isinstance(model.penalty, GroupLasso):
        # Bounds at zero or none: the reference may have columns of one size.
        truth = y if y.dtype == float else 2.0 * y - 1.0
        loss = "huber" if isinstance(model.loss, Huber) else model.loss
        *_, optimum = minimize_linear(
            X / scales, truth, loss, bound.value, bound.prox, fit_intercept=True
        )
    else:
        best = make(solver="asaga", tol=1e-9, max_iter=20_000, random_state=0)
        optimum = best.fit(X, y).objective_
    excess = model.objective_ - optimum
    assert model.history_["suboptimality"][-1] >= excess - 1e-9 * optimum
    if model.converged_:
        assert excess <= 1e-4 * model.objective_
    if spread == 0 or type(model.solver_).__name__ == "Newton":
        assert model.converged_


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["categories", "wide", "weights", "text"])
def test_certificate_of_an_l1_norm_is_tight(rng, kind):
    """One column that violates the dual constraint made the bound useless."""
    if kind == "wide":
        X = rng.standard_normal((150, 1200))
    elif kind == "text":  # more columns in the support than a matrix is made for
        X = sp.random(3000, 3500, 0.01, format="csr", random_state=0)
    else:
        levels = np.minimum(rng.geometric(0.02, (1500, 3)), 300) - 1 + [0, 300, 600]
        X = sp.csr_array((np.ones(4500), levels.ravel(), np.arange(0, 4501, 3)), shape=(1500, 900))
    z = X @ (rng.standard_normal(X.shape[1]) * (rng.random(X.shape[1]) < 0.1))
    y = z + rng.logistic(size=len(z)) * 0.3 * z.std() > np.median(z)
    weight = rng.integers(0, 3, len(y)) if kind == "weights" else None
    model = AsagaClassifier(l1_ratio=1.0, C=0.7, solver="asaga", random_state=0).fit(
        X, y, sample_weight=weight
    )
    best = clone(model).set_params(tol=1e-9, max_iter=3000).fit(X, y, sample_weight=weight)
    assert type(model.solver_).__name__ == "Asaga"
    excess = model.objective_ - best.objective_
    assert excess - 1e-9 <= model.dual_gap_ <= 1e-4 * model.objective_


@pytest.mark.parametrize("solver", ["newton", "newton_cg", "asaga"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_classes_without_a_penalty_have_no_optimum(rng, solver, n_classes):
    X = rng.standard_normal((50, 3))
    y = np.digitize(X @ [1.0, -2.0, 0.5], [0.0, 1.5][: n_classes - 1])
    X += 2.0 * np.multiply.outer(y, [1.0, -2.0, 0.5])
    model = AsagaClassifier(
        C=np.inf, solver=solver, multi_class="ovr", max_iter=120, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="classes are separable.*finite C"):
        model.fit(X, y)
    assert not model.converged_
    # A squared hinge is zero at finite coefficients.
    if n_classes == 2 and solver == "newton":
        assert clone(model).set_params(loss="squared_hinge").fit(X, y).converged_


# ---- alpha ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_automatic_alpha_does_not_depend_on_units():
    X, y = load_diabetes(return_X_y=True)
    model = AsagaRegressor().fit(X, y)
    assert model.score(X, y) > 0.5
    for factor, unit in ((1e3, 1.0), (1.0, 1e-4), (1e-2, 1e5)):
        other = AsagaRegressor().fit(factor * X + 3, unit * y)
        assert other.alpha_ == pytest.approx(factor**2 * model.alpha_, rel=1e-6)
        np.testing.assert_allclose(
            other.predict(factor * X + 3), unit * model.predict(X), rtol=1e-5
        )
    copies = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = AsagaRegressor().fit(X, y, sample_weight=copies)
    repeated = AsagaRegressor().fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert weighted.alpha_ == pytest.approx(repeated.alpha_, rel=1e-9)


def test_automatic_alpha_minimises_the_generalised_error():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:40], np.column_stack([y[:40], y[40:80]])
    n = len(X)
    chosen = AsagaRegressor().fit(X, y).alpha_

    def error(alpha):
        total = 0.0
        for target in y.T:
            Z, t = X - X.mean(axis=0), target - target.mean()
            hat = Z @ np.linalg.solve(Z.T @ Z + n * alpha * np.eye(10), Z.T)
            left = n - 1 - np.trace(hat)
            total += np.sum(np.square(t - hat @ t)) / left**2 / (t @ t)
        return total

    grid = [error(chosen * factor) for factor in (0.1, 0.5, 1.0, 2.0, 10.0)]
    assert np.argmin(grid) == 2
    assert AsagaRegressor(penalty=Box()).fit(X, y).alpha_ == 1.0
    assert AsagaRegressor(alpha=0.3).fit(X, y).alpha_ == pytest.approx(0.3)


@pytest.mark.slow
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_automatic_alpha_with_columns_in_unlike_units(rng, l1_ratio):
    Z = rng.standard_normal((400, 6))
    y = Z @ [3.0, 0.0, -2.0, 1.0, 0.0, 1.0] + rng.standard_normal(400)
    X = Z * [1.0, 1e7, 1e-4, 30.0, 1.0, 1e3] + 5.0
    model = AsagaRegressor(l1_ratio=l1_ratio, max_iter=1000).fit(X[:200], y[:200])
    assert np.mean(np.square(model.predict(X[200:]) - y[200:])) < 1.15


@pytest.mark.parametrize("form", [lambda X: X, np.float32])
def test_automatic_alpha_of_wide_tables_in_unlike_units(rng, form):
    Z = rng.standard_normal((400, 5)) @ rng.standard_normal((5, 90))
    Z = Z + 0.3 * rng.standard_normal(Z.shape)
    y = np.column_stack([Z[:, :5].sum(axis=1), Z[:, 7]]) + rng.standard_normal((400, 2))
    X = form(Z * 10.0 ** rng.uniform(-3.0, 3.0, 90) + 2.0)
    train = X[:50], y[:50]
    model = AsagaRegressor(tol=1e-6).fit(*train)
    assert np.all(np.mean(np.square(model.predict(X[50:]) - y[50:]), axis=0) < [6.0, 2.0])
    again = AsagaRegressor(alpha=model.alpha_, standardize=True, tol=1e-6).fit(*train)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    by_hand = AsagaRegressor(alpha=model.alpha_, tol=1e-6).fit(X[:50] / model.scale_, y[:50])
    np.testing.assert_allclose(model.coef_ * model.scale_, by_hand.coef_, atol=1e-3)
    parts = AsagaRegressor(solver="asaga").partial_fit(*train)
    np.testing.assert_array_equal(parts.scale_, model.scale_)
    # Scales that a factor of 1,000 holds are kept, and so are those for a given strength.
    assert AsagaRegressor().fit(Z[:50], y[:50]).scale_ is None
    assert AsagaRegressor(alpha=1.0).fit(*train).scale_ is None


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_automatic_alpha_counts_copied_rows_once(rng, l1_ratio):
    X = rng.standard_normal((70, 60))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(70)
    X, new = np.tile(X, (4, 1)), rng.standard_normal((300, 60))
    copied = AsagaRegressor(l1_ratio=l1_ratio).fit(X, np.tile(y, 4))
    assert np.mean(np.square(copied.predict(new) - new[:, :3].sum(axis=1))) < 1.6 - l1_ratio
    # Equal rows with other targets are observations of their own.
    y = np.tile(X[:70, 0], 4) + rng.standard_normal(280)
    observed = AsagaRegressor(l1_ratio=l1_ratio).fit(X, y)
    assert np.mean(np.square(observed.predict(new) - new[:, 0])) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("penalty", "form"),
    [("elasticnet", np.asarray), (GroupLasso(np.arange(30) // 3), sp.csr_array)],
)
def test_automatic_alpha_of_an_l1_norm_is_near_the_best_of_a_grid(rng, penalty, form):
    X = rng.standard_normal((300, 30)) * (rng.random((300, 30)) < 0.5)
    y = X[:, :3] @ [2.0, -1.0, 1.0] + rng.standard_normal(300)
    train, new = form(X[:100]), form(X[100:])

    def error(alpha):
        model = AsagaRegressor(alpha=alpha, l1_ratio=1.0, penalty=penalty, tol=0.01)
        return np.mean(np.square(model.fit(train, y[:100]).predict(new) - y[100:]))

    assert error("auto") < 1.05 * min(map(error, np.geomspace(1e-2, 1.0, 6)))


def test_an_l1_norm_on_columns_of_categories(rng):
    """A category may trade with another one without a change of scores: descent alone is slow."""
    n, sizes = 2000, (400, 150, 30)
    codes = [np.minimum(rng.pareto(0.7, n).astype(int), size - 1) for size in sizes]
    X = sp.hstack([sp.csr_array(np.eye(size)[c]) for size, c in zip(sizes, codes)], format="csr")
    y = X @ rng.standard_normal(sum(sizes)) + rng.logistic(size=n) > 0
    model = AsagaClassifier(C=100.0, l1_ratio=1.0, tol=1e-6).fit(X, y)
    assert type(model.solver_).__name__ == "Newton"
    assert model.n_iter_ < 60
    assert model.dual_gap_ < 1e-6 * model.objective_


def test_automatic_alpha_of_an_l1_norm_is_the_strength_of_folds(rng):
    """In the sum form: with the same C a fold has the weaker mean loss, as in scikit-learn."""
    X = rng.standard_normal((150, 12))
    y = X @ np.repeat([1.0, 0.2, 0.0], 4) + 3.0 * rng.standard_normal(150)
    chosen = 150 * AsagaRegressor(l1_ratio=1.0).fit(X, y).alpha_

    def error(strength):
        total = 0.0
        for train, test in KFold(10, shuffle=True, random_state=0).split(X):
            model = AsagaRegressor(alpha=strength / len(train), l1_ratio=1.0, tol=1e-4)
            total += np.sum(np.square(model.fit(X[train], y[train]).predict(X[test]) - y[test]))
        return total

    errors = [error(chosen * factor) for factor in np.geomspace(0.1, 10.0, 7)]
    assert errors[3] < 1.005 * min(errors)
    assert max(errors) > 1.02 * min(errors)


def test_automatic_alpha_of_degenerate_tables():
    y = np.arange(6.0)
    for X in (np.ones((6, 2)), np.zeros((6, 3)), sp.csr_array((6, 800))):
        model = AsagaRegressor().fit(X, y)
        np.testing.assert_allclose(model.predict(X), 2.5)
        assert model.alpha_ > 0
    assert AsagaRegressor().fit(np.eye(6), np.ones(6)).alpha_ > 0
    one = np.linspace(0.0, 1.0, 50)
    X = np.column_stack([one, one + 1e-6 * np.sin(1e3 * one)])
    y = 1e6 * (X[:, 1] - X[:, 0]) + 0.01 * np.cos(77 * one)
    with pytest.warns(UserWarning, match="columns of X depend on each other almost exactly"):
        AsagaRegressor(tol=1e-2).fit(X, y)


def words(n, d, rng):
    """Rare and frequent words, and a number that depends on them."""
    X = (rng.random((n, d)) < 0.5 / np.sqrt(np.arange(1.0, d + 1.0))).astype(float)
    return X, X @ rng.standard_normal(d) + rng.logistic(size=n)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_automatic_alpha_of_many_columns_estimates_the_generalised_error(rng, form, fit_intercept):
    X, y = words(300, 1100, rng)
    chosen = AsagaRegressor(fit_intercept=fit_intercept, standardize=False).fit(form(X), y).alpha_
    Z, t = X - fit_intercept * X.mean(axis=0), y - fit_intercept * y.mean()
    left, sizes, _ = np.linalg.svd(Z, full_matrices=False)
    parts = np.square(left.T @ t)

    def error(alpha):
        rest = len(y) * alpha / (sizes**2 + len(y) * alpha)
        squares = t @ t - parts.sum() + np.square(rest) @ parts
        return squares / (len(y) - fit_intercept - np.sum(1.0 - rest)) ** 2

    best = min(error(alpha) for alpha in np.geomspace(1e-4, 1e4, 200))
    assert error(chosen) < 1.03 * best


def labeled_words():
    X, scores = words(800, 700, np.random.default_rng(0))
    return sp.csr_array(X), np.digitize(scores, [-3.0, 3.0])


CLASSES = {
    "cancer": load_breast_cancer(return_X_y=True), "wine": load_wine(return_X_y=True),
    "digits": load_digits(return_X_y=True), "words": labeled_words(),
}  # fmt: skip


@pytest.mark.parametrize("multi_class", ["auto", "ovr"])
@pytest.mark.parametrize("data", CLASSES)
def test_automatic_C_is_near_the_best_of_a_grid(data, multi_class):
    X, y = CLASSES[data]
    part, rest = train_test_split(np.arange(len(y)), random_state=0, stratify=y)
    model = AsagaClassifier(multi_class=multi_class).fit(X[part], y[part])
    assert (model.scale_ is not None) == (data in ("cancer", "wine"))
    loss = log_loss(y[rest], model.predict_proba(X[rest]))
    grid = [model.C_ * factor for factor in (1e-3, 1e-2, 0.1, 10.0, 100.0, 1e3)]
    others = [
        clone(model).set_params(C=C, standardize=model.scale_ is not None).fit(X[part], y[part])
        for C in grid
    ]
    losses = [log_loss(y[rest], other.predict_proba(X[rest])) for other in others]
    assert loss < min(losses) + 0.06


def test_automatic_C_does_not_depend_on_units(rng):
    X, y = load_wine(return_X_y=True)
    model, units = AsagaClassifier().fit(X, y), 10.0 ** rng.uniform(-6, 6, X.shape[1])
    other = AsagaClassifier().fit(X * units + 10.0 * units, y)
    assert pytest.approx(model.C_, rel=1e-6) == other.C_
    found = other.predict_proba(X * units + 10.0 * units)
    np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-4)
    assert AsagaClassifier(C=2.0).fit(X, y).C_ == 2.0
    assert AsagaClassifier(l1_ratio=0.5).fit(X, y).C_ == 1.0
    part = AsagaClassifier().partial_fit(X[::2], y[::2], classes=np.unique(y))
    assert part.C_ == 1.0


def test_a_column_that_tells_the_label_needs_a_penalty(rng):
    X, y = load_iris(return_X_y=True)
    model = AsagaClassifier().fit(np.column_stack([X, y == 0]), y == 0)
    assert model.converged_
    assert model.C_ < 1e3


# ---- types ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", ["auto", "asaga"])
def test_coefficients_have_the_type_of_the_rows(dtype, solver):
    X, y = load_iris(return_X_y=True)
    X = X.astype(dtype)
    model = AsagaClassifier(C=1.0, solver=solver, tol=0.01, random_state=0).fit(X, y)
    assert model.coef_.dtype == dtype
    assert AsagaRegressor(solver=solver, alpha=1.0).fit(X, y).coef_.dtype == dtype
    assert clone(model).partial_fit(X, y, classes=[0, 1, 2]).coef_.dtype == dtype


@pytest.mark.slow
def test_objectives_of_estimates_are_possible():
    """Losses are not negative; sums over slopes of several points knew nothing of it."""
    X, numbers, labels = unequal(4)
    for model, y in (
        (AsagaRegressor("huber", alpha=1e-6, solver="asaga", tol=0, max_iter=30), numbers),
        (AsagaClassifier(C=1e6, solver="asaga", tol=0, max_iter=30), labels),
    ):
        model.set_params(random_state=0).fit(sp.csr_array(X), y)
        assert np.all(model.history_["objective"] >= 0.0)
