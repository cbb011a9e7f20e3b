"""Linear models by averaged subgradients: the objective, the steps, scikit-learn as reference."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.linear_model import QuantileRegressor
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sklearn_fw.linear_model import AveragedSubgradientClassifier, AveragedSubgradientRegressor
from sklearn_fw.losses import Hinge, Huber, SquaredHinge
from sklearn_fw.optim._subgradient import RidgeProblem, RowSteps, RunningAverage, SubgradientState
from sklearn_fw.projections import project_l2_ball

SCHEMES = ["none", "uniform", "suffix", "doubling", "weighted", "weighted2"]


def table(n=60, d=6, seed=0):
    X, y = make_classification(n, d, n_informative=4, flip_y=0.1, random_state=seed)
    return X, y


def hinge_objective(model, X, y, alpha, scaling=1.0, weight=None):
    w, b = model.coef_.ravel(), model.intercept_[0] / scaling
    weight = np.ones(len(y)) if weight is None else weight / np.mean(weight)
    margins = (2 * y - 1) * (X @ w + b * scaling)
    return 0.5 * alpha * (w @ w + b * b) + np.mean(weight * np.maximum(0, 1 - margins))


def dense_loop(X, y, alpha, order, scheme, step_size, radius=np.inf):
    """The method, literally."""
    A, s = np.c_[X, np.ones(len(X))], 2 * y - 1
    average = RunningAverage(scheme, horizon=len(order))
    w = np.zeros(A.shape[1])
    average.update(w)
    for t, i in enumerate(order, 1):
        gamma = 2 / (alpha * (t + 1)) if step_size == "theory" else 1 / (alpha * t)
        g = alpha * w - (s[i] * (A[i] @ w) < 1) * s[i] * A[i]
        w = w - gamma * g
        w = w if radius == np.inf else project_l2_ball(w, radius)
        average.update(w)
    return average.value, w


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [*SCHEMES, ("power", 3.0), ("polynomial", 3.0)], ids=str)
@pytest.mark.parametrize("step_size", ["theory", "pegasos"])
@pytest.mark.parametrize("radius", [np.inf, 0.5])
def test_compiled_steps_are_the_dense_loop(scheme, step_size, radius):
    X, y = table()
    ball = {} if radius == np.inf else {"projection": "l2_ball", "radius": radius}
    expected, last = dense_loop(X, y, 0.01, np.tile(np.arange(60), 5), scheme, step_size, radius)
    for form in (np.asarray, sp.csr_array):
        model = AveragedSubgradientClassifier(
            alpha=0.01, averaging=scheme, step_size=step_size, sampling="cyclic", max_iter=5, **ball
        ).fit(form(X), y)
        found = np.append(model.coef_, model.intercept_)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(model.coef_last_[0], last[:-1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("scaling", [1.0, 10.0])
def test_objective_is_that_of_linear_svc(scaling):
    X, y = table(300)
    alpha = 0.02
    svc = LinearSVC(
        loss="hinge", C=1 / (alpha * 300), intercept_scaling=scaling, tol=1e-8, max_iter=10**6
    ).fit(X, y)
    model = AveragedSubgradientClassifier(
        alpha=alpha, intercept_scaling=scaling, max_iter=300, random_state=0
    ).fit(X, y)
    least = hinge_objective(svc, X, y, alpha, scaling)
    assert least - 1e-6 <= model.objective_ <= least + 1e-3
    assert model.objective_ == pytest.approx(hinge_objective(model, X, y, alpha, scaling))


# F - F* after 50 passes of steps 1 / (mu t), rows drawn by RandomState(0).randint, and of W with
# its own steps: a table made with a plain loop.
PUBLISHED = {
    "none": 5.8e-3, "uniform": 4.4e-2, "suffix": 3.3e-3, "doubling": 3.0e-3, "weighted": 4.8e-3,
    "weighted2": 3.4e-3,
}  # fmt: skip


def test_order_of_schemes_on_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X, n = StandardScaler().fit_transform(X), len(y)
    problem = RidgeProblem(X, np.float32(2 * y - 1), Hinge(), 1 / n, weight=None, bias=1.0)
    found = {}
    for scheme in PUBLISHED:
        state = SubgradientState(31, RunningAverage(scheme, horizon=50 * n))
        run = RowSteps(
            problem, state, rule=(1.0, 0.0), sampling="uniform", rng=np.random.RandomState(0),
            record=False,
        )  # fmt: skip
        for _ in range(50):
            run.step()
        found[scheme] = problem.value(state.mean) - 0.046619
    assert found == pytest.approx(PUBLISHED, rel=0.05)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scheme", ["weighted2", "doubling", "uniform"])
def test_parts_are_one_fit(form, scheme):
    X, y = table()
    settings = {"alpha": 0.01, "averaging": scheme, "sampling": "cyclic", "step_size": "pegasos"}
    whole = AveragedSubgradientClassifier(max_iter=2, **settings).fit(form(X), y)
    parts = AveragedSubgradientClassifier(**settings)
    for _ in range(2):
        for rows in (slice(0, 7), slice(7, 40), slice(40, 60)):
            parts.partial_fit(form(X[rows]), y[rows], classes=[0, 1])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=0, atol=1e-12)
    assert parts.t_ == whole.t_ == 120


def test_warm_start_goes_on():
    X, y = table()
    settings = {"alpha": 0.01, "sampling": "cyclic"}
    model = AveragedSubgradientClassifier(max_iter=3, warm_start=True, **settings).fit(X, y)
    model.set_params(max_iter=4).fit(X, y)
    whole = AveragedSubgradientClassifier(max_iter=7, **settings).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=0, atol=1e-12)


def test_projections():
    X, y = table()
    for projection, norm in (
        ("l2_ball", lambda w: np.sqrt(w @ w)), ("l1_ball", lambda w: np.abs(w).sum()),
        ("box", lambda w: np.abs(w).max()),
    ):  # fmt: skip
        model = AveragedSubgradientClassifier(alpha=0.01, projection=projection, radius=0.3)
        model.fit(X, y)
        assert norm(model.coef_[0]) <= 0.3 * (1 + 1e-9)
        assert norm(model.coef_last_[0]) <= 0.3 * (1 + 1e-9)
    free = AveragedSubgradientClassifier(alpha=0.01, max_iter=400, random_state=0).fit(X, y)
    ball = AveragedSubgradientClassifier(
        alpha=0.01, max_iter=400, projection="l2_ball", random_state=0
    ).fit(X, y)
    assert ball.objective_ == pytest.approx(free.objective_, rel=1e-2)
    own = AveragedSubgradientClassifier(alpha=0.01, projection=functools.partial(np.maximum, 0))
    assert own.fit(X, y).coef_.min() >= 0.0
    nonneg = AveragedSubgradientClassifier(alpha=0.01, projection="nonneg", random_state=0)
    np.testing.assert_allclose(
        own.set_params(random_state=0).fit(X, y).coef_, nonneg.fit(X, y).coef_, rtol=1e-12
    )


def test_units_of_the_columns_do_not_matter():
    X, y = table(200)
    scale = 10.0 ** np.arange(-3, 3)
    plain = AveragedSubgradientClassifier(random_state=0).fit(X, y)
    moved = AveragedSubgradientClassifier(random_state=0).fit(X * scale + scale, y)
    np.testing.assert_allclose(moved.coef_ * scale, plain.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(moved.predict(X * scale + scale), plain.predict(X))
    pipeline = make_pipeline(StandardScaler(), AveragedSubgradientClassifier(random_state=0))
    np.testing.assert_array_equal(pipeline.fit(X, y).predict(X), plain.predict(X))
    assert plain.alpha_ == 1 / 200


@pytest.mark.slow
def test_median_regression():
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    exact = QuantileRegressor(alpha=0.0).fit(X, y)
    model = AveragedSubgradientRegressor(max_iter=200, random_state=0).fit(X, y)
    least = np.abs(y - exact.predict(X)).mean()
    assert least <= np.abs(y - model.predict(X)).mean() <= 1.005 * least
    both = AveragedSubgradientRegressor(random_state=0, max_iter=200).fit(X, np.c_[y, 1e3 * y + 5])
    np.testing.assert_allclose(both.predict(X)[:, 1], 1e3 * both.predict(X)[:, 0] + 5, rtol=0.05)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e9])
def test_slopes_are_in_the_unit_of_targets(unit):
    X, y = load_diabetes(return_X_y=True)
    y = unit * y
    for loss in ("huber", Huber(delta=100.0 * unit)):
        model = AveragedSubgradientRegressor(loss, random_state=0)
        assert 0.45 < cross_val_score(model, X, y).mean() < 0.5


def test_history_has_both_points():
    X, y = table()
    model = AveragedSubgradientClassifier(
        record_history=True, max_iter=6, alpha=0.1, random_state=0
    ).fit(X, y)
    history = model.history_
    assert history["objective"].shape == history["last_objective"].shape == (6,)
    assert history["objective"][-1] == model.objective_
    model.coef_, model.intercept_ = model.coef_last_, model.intercept_last_
    assert history["last_objective"][-1] == pytest.approx(hinge_objective(model, X, y, 0.1))
    assert (model.status_, model.n_iter_) == ("finished", 6)


@pytest.mark.parametrize(
    "params, message",
    [
        ({"step_size": lambda t: 1e9}, "must not be longer than 1 / mu"),
        ({"projection": "ball"}, "projection must be one of"),
        ({"projection": "l1_ball"}, "radius must be given"),
        ({"projection": lambda w: w[:2]}, "projection must return an array of shape"),
        ({"loss": SquaredHinge()}, "slopes without a bound"),
    ],
)
def test_refusals(params, message):
    X, y = table()
    with pytest.raises(ValueError, match=message):
        AveragedSubgradientClassifier(**params).fit(X, y)


def test_suffix_needs_to_know_the_end():
    with pytest.raises(ValueError, match="must know the number of steps"):
        AveragedSubgradientClassifier(averaging="suffix").partial_fit(*table(), classes=[0, 1])


def test_sparse_columns_in_unlike_units(rng):
    X = sp.random(600, 30, 0.3, random_state=0, format="csr", data_rvs=rng.standard_normal)
    z = X @ rng.standard_normal(30)
    units = np.geomspace(1e-3, 1e3, 30)
    turned = sp.csr_array(X @ sp.diags_array(units))
    for kind, y in ((AveragedSubgradientClassifier, z > 0.0), (AveragedSubgradientRegressor, z)):
        expected = kind(standardize=True, random_state=0).fit(X, y)
        found = kind(random_state=0).fit(turned, y)
        np.testing.assert_allclose(found.coef_ * units, expected.coef_, rtol=1e-9)
        assert kind(random_state=0).fit(X, y).scale_ is None
