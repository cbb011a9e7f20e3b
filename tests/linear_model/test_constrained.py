"""Linear models on sets: scikit-learn's penalty forms as references, certificates, paths."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_diabetes, make_regression
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.metrics import log_loss

from sklearn_fw import AsagaClassifier
from sklearn_fw.linear_model import FrankWolfeClassifier, FrankWolfeRegressor
from sklearn_fw.losses import Huber, LogLoss
from sklearn_fw.model_selection import regularization_path
from sklearn_fw.optim import domains


def numbers(n=80, d=12, seed=0):
    X, y = make_regression(n, d, n_informative=5, noise=5.0, random_state=seed)
    return X + 1.0, y + 30.0


def labels(n=100, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=d) + rng.normal(size=n) > 0.5).astype(int)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_lasso(form, weighted, rng):
    X, y = numbers()
    weight = rng.uniform(0.5, 2.0, len(y)) if weighted else None
    lasso = Lasso(alpha=2.0, tol=1e-12, max_iter=10**5).fit(X, y, sample_weight=weight)
    model = FrankWolfeRegressor(radius=np.abs(lasso.coef_).sum(), tol=1e-9)
    model.fit(form(X), y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, lasso.coef_, rtol=0, atol=1e-4)
    assert model.intercept_ == pytest.approx(lasso.intercept_, abs=1e-4)
    residual = y - model.predict(X)
    share = np.full(len(y), 1 / len(y)) if weight is None else weight / weight.sum()
    assert model.objective_ == pytest.approx(0.5 * share @ residual**2)
    correlation = np.abs((X - share @ X).T @ (share * residual)).max()
    assert correlation == pytest.approx(2.0, rel=1e-3)
    combination = sum(
        c * atom.to_array()
        for c, atom in zip(model.active_weights_, model.active_atoms_, strict=True)
    )
    np.testing.assert_allclose(combination, model.coef_, rtol=0, atol=1e-9)


def test_ridge():
    X, y = numbers()
    ridge = Ridge(alpha=40.0).fit(X, y)
    model = FrankWolfeRegressor(domain="l2", radius=np.linalg.norm(ridge.coef_), tol=1e-8)
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=0, atol=1e-2)


def test_logistic_regression():
    X, y = labels()
    theirs = LogisticRegression(C=0.3, l1_ratio=1.0, solver="saga", tol=1e-9, max_iter=10**5)
    theirs.fit(X, y)
    model = FrankWolfeClassifier(radius=np.abs(theirs.coef_).sum(), tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=0, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, rtol=0, atol=1e-3)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge", "smooth_hinge", "modified_huber"])
def test_certificate_of_both(loss):
    """The gap bounds the distance to the optimum over coefficients and intercept."""
    X, y = labels(40, 3)
    rough = FrankWolfeClassifier(loss, radius=2.0, tol=1e-1).fit(X, y)
    fine = FrankWolfeClassifier(loss, radius=2.0, tol=1e-7).fit(X, y)
    assert 0 <= rough.objective_ - fine.objective_ <= rough.dual_gap_
    from sklearn_fw.losses import resolve_loss

    def value(p):
        w, c = p[:3] - p[3:6], p[6]
        return np.mean(resolve_loss(loss, "classification").value(2.0 * y - 1, X @ w + c))

    best = minimize(
        value, np.zeros(7), bounds=[(0, None)] * 6 + [(None, None)], method="SLSQP",
        constraints={"type": "ineq", "fun": lambda p: 2.0 - p[:6].sum()},
        options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    assert fine.objective_ == pytest.approx(best.fun, abs=1e-5)


@pytest.mark.parametrize(
    "domain, norm",
    [
        ("l1", lambda w: np.abs(w).sum()),
        ("l2", lambda w: np.linalg.norm(w)),
        (("lp", 1.5), lambda w: np.linalg.norm(w, 1.5)),
        ("linf", lambda w: np.abs(w).max()),
        ("simplex", lambda w: w.sum() if w.min() >= -1e-9 else np.inf),
    ],
)
def test_sets(domain, norm):
    X, y = numbers()
    model = FrankWolfeRegressor(Huber(10.0), domain=domain, radius=20.0, tol=1e-3).fit(X, y)
    assert norm(model.coef_) <= 20.0 * (1 + 1e-9)
    assert model.converged_
    assert model.dual_gap_ >= 0


def test_small_radius_takes_one_column():
    X, y = numbers()
    model = FrankWolfeRegressor(radius=1e-3).fit(X, y)
    assert np.count_nonzero(model.coef_) == 1
    assert np.argmax(np.abs(model.coef_)) == np.argmax(np.abs((X - X.mean(0)).T @ (y - y.mean())))


def test_nuclear_norm_of_all_targets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    W = np.outer(rng.normal(size=8), rng.normal(size=4))
    Y = X @ W + 0.1 * rng.normal(size=(60, 4)) + 3.0
    radius = np.linalg.svd(W, compute_uv=False).sum()
    model = FrankWolfeRegressor(domain="nuclear", radius=radius, tol=1e-3).fit(X, Y)
    assert model.coef_.shape == (4, 8)
    assert np.linalg.svd(model.coef_, compute_uv=False).sum() <= radius * (1 + 1e-9)
    assert np.mean((Y - model.predict(X)) ** 2) < 0.03
    np.testing.assert_allclose(model.intercept_, (Y - X @ model.coef_.T).mean(0), rtol=1e-9)


def test_domain_of_its_own_size():
    X, y = numbers()
    ball = FrankWolfeRegressor(domain=domains.L1Ball(12, radius=9.0), radius=5.0).fit(X, y)
    named = FrankWolfeRegressor(radius=9.0).fit(X, y)
    np.testing.assert_allclose(ball.coef_, named.coef_, rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="domain has size 3, expected 12, one per feature"):
        FrankWolfeRegressor(domain=domains.L1Ball(3)).fit(X, y)


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_path_over_radii_is_single_fits(loss):
    X, y = numbers()
    model = FrankWolfeRegressor(loss, tol=1e-7)
    path = regularization_path(model, X, y, radii=[60.0, 1.0, 10.0])
    np.testing.assert_array_equal(path.values_, [1.0, 10.0, 60.0])
    assert (path.param_name, path.grid_option) == ("radius", "radii")
    for radius, coef in zip(path.values_, path.coefs_, strict=True):
        single = FrankWolfeRegressor(loss, tol=1e-7, radius=radius).fit(X, y)
        at = path.estimator_at(radius)
        assert at.objective_ == pytest.approx(single.objective_, abs=2 * single.dual_gap_ + 1e-9)
        np.testing.assert_array_equal(at.coef_, coef)
    cold = FrankWolfeRegressor(loss, tol=1e-7, radius=60.0).fit(X, y)
    assert path.n_iters_[-1] <= cold.n_iter_


def test_warm_start_scales_the_atoms():
    X, y = numbers()
    model = FrankWolfeRegressor(radius=20.0, tol=1e-8, warm_start=True).fit(X, y)
    first = model.n_iter_
    model.set_params(radius=21.0).fit(X, y)
    cold = FrankWolfeRegressor(radius=21.0, tol=1e-8).fit(X, y)
    assert model.objective_ == pytest.approx(cold.objective_, rel=1e-6)
    assert model.n_iter_ <= min(first, cold.n_iter_)


def test_automatic_radius():
    X, y = load_diabetes(return_X_y=True)
    model = FrankWolfeRegressor(random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.45
    scale = 10.0 ** np.arange(-4, 6)
    other = FrankWolfeRegressor(random_state=0).fit(X[:300] * scale, 7.0 * y[:300])
    np.testing.assert_allclose(
        other.predict(X[300:] * scale), 7.0 * model.predict(X[300:]), rtol=1e-6
    )
    X, y = load_breast_cancer(return_X_y=True)
    model = FrankWolfeClassifier(random_state=0).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.95
    constant = FrankWolfeRegressor().fit(X, np.full(len(y), 3.0))
    np.testing.assert_allclose(constant.predict(X), 3.0)


def test_probabilities_need_a_loss_that_has_them():
    assert not hasattr(FrankWolfeClassifier("squared_hinge"), "predict_proba")
    assert hasattr(FrankWolfeClassifier(LogLoss()), "predict_proba")


@pytest.mark.parametrize("radius", [1e2, 1e5])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_intercepts_where_all_losses_are_flat(radius):
    """Columns of other units and a large set: scores of millions, of which no curvature is left."""
    X, y = load_breast_cancer(return_X_y=True)
    model = FrankWolfeClassifier(radius=radius, max_iter=300).fit(X[::3], y[::3])
    scores = model.decision_function(X[::3])
    loss = np.logaddexp(0.0, np.where(y[::3] > 0, -scores, scores)).mean()
    assert model.objective_ == pytest.approx(loss, rel=1e-6)
    assert abs(model.intercept_[0]) < 1e4 * radius
    assert model.score(X[::3], y[::3]) > 0.85
    assert not model.converged_ or model.dual_gap_ <= model.tol_


@pytest.mark.slow
def test_automatic_radius_of_a_sparse_table_is_near_the_best_penalty(rng):
    X = sp.random(1200, 600, 0.02, format="csr", random_state=0)
    z = X @ (rng.standard_normal(600) * (rng.random(600) < 0.2))
    y = (z + 0.2 * rng.logistic(size=1200) > 0).astype(int)
    chosen = FrankWolfeClassifier().fit(X[:800], y[:800])
    losses = [
        log_loss(y[800:], model.fit(X[:800], y[:800]).predict_proba(X[800:]))
        for model in [
            chosen, *(AsagaClassifier(C=C, l1_ratio=1.0, tol=0.01) for C in (1.0, 3.0, 10.0, 30.0))
        ]
    ]  # fmt: skip
    assert losses[0] < 1.03 * min(losses[1:])


def test_fits_to_sparse_rows_begin_at_the_optimum_that_chose_the_radius(rng):
    X = sp.random(300, 60, 0.2, format="csr", random_state=0)
    y = np.digitize(X @ rng.standard_normal(60) + 0.3 * rng.standard_normal(300), [-0.3, 0.3])
    model = FrankWolfeClassifier().fit(X, y)
    assert model.n_iter_ <= 3
    again = FrankWolfeClassifier(radius=model.radius_[0]).fit(X, y == 0)
    assert abs(again.objective_ - model.objective_[0]) <= again.dual_gap_ + model.dual_gap_


def test_radii_of_a_sparse_table_are_chosen_by_the_loss_of_each_target(rng):
    """All are optima for one strength of the l1 penalty, the largest slope along a column."""
    X = sp.random_array((300, 12), density=0.5, random_state=0, format="csr")
    noise = rng.standard_t(2, size=(300, 2))
    y = X @ rng.normal(size=(12, 2)) + noise * [0.2, 1.0]
    model = FrankWolfeRegressor(loss="huber", tol=1e-6).fit(X, y)
    assert model.domain == "l1"
    far = np.abs(y - np.median(y, axis=0)).mean(axis=0)
    limit = 1.35 * 1.25 * far
    slopes = np.clip(model.predict(X) - y, -limit, limit)
    strengths = np.abs(X.T @ slopes).max(axis=0)
    assert strengths[0] == pytest.approx(strengths[1], rel=0.02)
