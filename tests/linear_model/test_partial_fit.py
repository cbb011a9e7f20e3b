"""Fits that go on: warm starts of the linear models, and fits by parts of the data."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklearn_fw import AsagaClassifier, AsagaRegressor
from sklearn_fw.losses import Huber
from sklearn_fw.penalties import Box, GroupLasso, Simplex

N, D = 90, 4


def data(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    z = X @ [1.0, -1.0, 0.5, 0.0] + 0.3
    return X, {
        "two": np.where(z + rng.logistic(size=N) > 0, "b", "a"),
        "three": np.array(list("abc"))[np.argmax(X[:, :3] + rng.gumbel(size=(N, 3)), axis=1)],
        "number": z + rng.standard_normal(N),
        "numbers": np.column_stack([z, -z]) + rng.standard_normal((N, 2)),
    }[kind]


# ---- warm starts ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two", "three", "number", "numbers"])
@pytest.mark.parametrize("solver", ["asaga", "saga", "svrg"])
def test_refit_at_the_optimum(kind, solver):
    X, y = data(kind)
    model = AsagaRegressor(alpha=0.01) if kind.startswith("number") else AsagaClassifier()
    model.set_params(warm_start=True, tol=2e-8, max_iter=2000, random_state=0, solver=solver)
    first, coef = model.fit(X, y).n_iter_, model.coef_.copy()
    again = model.fit(X, y).n_iter_
    # Estimates from the memory need a few epochs, exact certificates none.
    assert again <= (1 if solver == "svrg" else 6) < first
    assert model.converged_
    np.testing.assert_allclose(model.coef_, coef, rtol=0, atol=1e-3)
    assert clone(model).fit(X, y).n_iter_ == first
    assert model.set_params(warm_start=False).fit(X, y).n_iter_ == first


@pytest.mark.slow
def test_refit_with_other_parameters():
    X, y = data("two")
    model = AsagaClassifier(warm_start=True, tol=1e-13, max_iter=3000, random_state=0).fit(X, y)
    changes = [
        {"C": 1.3}, {"l1_ratio": 0.5}, {"penalty": GroupLasso([[0, 1], [2, 3]])},
        {"penalty": Box(l2=1.0)}, {"penalty": Simplex()}, {"penalty": "elasticnet"},
        {"loss": "modified_huber"}, {"fit_intercept": False}, {"solver": "svrg"},
        {"solver": "lagged_saga"}, {"class_weight": "balanced"}, {"n_jobs": 2, "solver": "asaga"},
    ]  # fmt: skip
    for change in changes:
        model.set_params(**change).fit(X, y)
        cold = clone(model).set_params(warm_start=False, n_jobs=None).fit(X, y)
        np.testing.assert_allclose(model.coef_, cold.coef_, rtol=0, atol=1e-5, err_msg=str(change))
        assert model.converged_


def test_refit_on_other_data():
    """New rows take the coefficients over; other shapes begin anew."""
    X, y = data("three")
    model = AsagaClassifier(warm_start=True, tol=1e-12, max_iter=3000, random_state=0).fit(X, y)
    others = [
        (X[:50], y[:50]), (X[:, :2], y), (X, np.where(y == "a", "c", "d")), (X, y),
        (sp.csr_array(X), y), (X.astype(np.float32), y),
    ]  # fmt: skip
    for rows, labels in others:
        model.fit(rows, labels)
        cold = clone(model).set_params(warm_start=False).fit(rows, labels)
        np.testing.assert_allclose(model.coef_, cold.coef_, rtol=0, atol=1e-4)
        assert model.n_features_in_ == rows.shape[1]


# ---- parts ---------------------------------------------------------------------------------------

KINDS = {
    "two": lambda: AsagaClassifier(C=1.0, random_state=0),
    "three": lambda: AsagaClassifier(C=1.0, random_state=0),
    "rest": lambda: AsagaClassifier("squared_hinge", C=0.3, l1_ratio=0.3, random_state=0),
    "weights": lambda: AsagaClassifier(C=1.0, class_weight={"a": 2.0}, random_state=0),
    "groups": lambda: AsagaClassifier(penalty=GroupLasso([[0, 1], [2, 3]]), random_state=0),
    "number": lambda: AsagaRegressor(alpha=0.1, l1_ratio=0.5, random_state=0),
    "threads": lambda: AsagaRegressor(alpha=0.1, n_jobs=2, random_state=0),
    "numbers": lambda: AsagaRegressor(Huber(), alpha=0.1, random_state=0),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_parts_lead_where_the_whole_does(kind, form):
    data_kind = {"rest": "three", "weights": "two", "groups": "three", "threads": "number"}
    X, y = data(data_kind.get(kind, kind))
    weight = np.random.default_rng(1).uniform(0.5, 1.5, N)
    model = KINDS[kind]()
    whole = clone(model).set_params(tol=1e-13, max_iter=5000).fit(X, y, sample_weight=weight)
    X = form(X)
    classes = whole.classes_ if hasattr(whole, "classes_") else None
    parts = [slice(0, 40), slice(40, 50), slice(50, N)]
    errors = []
    for _ in range(40):
        for rows in parts:
            model.partial_fit(X[rows], y[rows], classes, weight[rows], rows=rows)
        errors.append(np.abs(model.coef_ - whole.coef_).max())
    assert errors[-1] < 1e-2 * errors[0]
    np.testing.assert_allclose(model.intercept_, whole.intercept_, rtol=0, atol=1e-2)
    assert model.coef_.shape == whole.coef_.shape
    assert model.predict(X).shape == y.shape


def test_rows_in_any_order():
    X, y = data("number")
    order = np.random.default_rng(2).permutation(N)
    model = AsagaRegressor(alpha=0.1, random_state=0)
    model.partial_fit(X[order], y[order], rows=order)
    for part in np.array_split(np.random.default_rng(3).permutation(N), 300):
        if part.size:
            model.partial_fit(X[part], y[part], rows=part)
    for _ in range(100):
        model.partial_fit(X, y, rows=np.arange(N, dtype=np.int32))
    whole = AsagaRegressor(alpha=0.1, tol=1e-12, max_iter=2000).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["log_loss", "multinomial", "modified_huber"])
def test_classes_that_come_later(loss):
    X, y = data("three")
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    first = np.flatnonzero(y == "a")
    model = AsagaClassifier(loss, random_state=0)
    model.partial_fit(X[first], y[first], classes=["c", "b", "a"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.coef_.shape == (3, D)
    assert np.all(model.predict(X) == "a")
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    others = slice(first.size, N)
    model.partial_fit(X[others], y[others])
    for _ in range(60):
        model.partial_fit(X[others], y[others], rows=others)
        model.partial_fit(X[first], y[first], classes=np.array(["a", "b", "c"]), rows=first)
    whole = AsagaClassifier(loss, C=1.0, tol=1e-12, max_iter=3000).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=0, atol=1e-2)


def test_between_fits():
    X, y = data("two")
    model = AsagaClassifier(random_state=0)
    parts = clone(model).partial_fit(X, y, classes=["a", "b"])
    fresh = clone(model).fit(X, y)
    # What fit says of its result is gone once the result is another one.
    assert hasattr(fresh, "dual_gap_")
    assert hasattr(fresh, "history_")
    with pytest.warns(UserWarning, match="starts at zero, not at the earlier fit"):
        mixed = fresh.partial_fit(X, y)  # the labels are known
    np.testing.assert_array_equal(mixed.coef_, parts.coef_)
    assert type(mixed.solver_).__name__ == "Asaga"
    assert "remembers" in mixed.solver_reason_
    for name in ("dual_gap_", "history_", "converged_", "n_iter_", "objective_"):
        assert not hasattr(mixed, name)
    # A fit forgets the parts.
    np.testing.assert_array_equal(mixed.fit(X, y).coef_, clone(model).fit(X, y).coef_)
    assert mixed.converged_
    mixed.fit(X[:, :2], y)
    assert mixed.n_features_in_ == 2
    with pytest.warns(UserWarning, match="starts at zero"):
        mixed.partial_fit(X, y, classes=["a", "b", "c"])
    assert mixed.coef_.shape == (3, D)


def test_new_parameters_in_the_middle():
    X, y = data("two")
    model = AsagaClassifier(C=100.0, random_state=0).partial_fit(X, y, classes=["a", "b"])
    model.set_params(C=0.1, fit_intercept=False)
    for _ in range(100):
        model.partial_fit(X, y, rows=slice(0, N))
    whole = AsagaClassifier(C=0.1, fit_intercept=False, tol=1e-12, max_iter=2000).fit(X, y)
    assert model.intercept_ == 0
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=0, atol=1e-6)


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows, message",
    [
        ([0] * N, f"rows must be a slice or {N} integers, one per sample and none twice"),
        (np.arange(N) - 1, "rows must be rows seen before"),
        (np.arange(N) * 1.0, f"rows must be a slice or {N} integers, one per sample.*got an array"),
        (np.ones(N, dtype=bool), f"rows must be a slice or {N} integers.*dtype bool"),
        (np.arange(3), rf"rows must be a slice or {N} integers.*shape \(3,\)"),
        (slice(0, 3), rf"rows must be a slice or {N} integers.*shape \(3,\)"),
        (slice(0, N, 2), rf"rows must be a slice or {N} integers.*shape \({N // 2},\)"),
        ("all", f"rows must be a slice or {N} integers"),
        (np.arange(N) + 1, rf"rows must be rows seen before \(below {N}\) or exactly the next"),
        (slice(N + 1, 2 * N + 1), rf"or exactly the next ones \({N} to {2 * N - 1}\)"),
        (slice(N // 2, N // 2 + N), "rows must be rows seen before"),
    ],
)
def test_bad_rows(rows, message):
    X, y = data("number")
    model = AsagaRegressor(random_state=0).partial_fit(X, y)
    coef = model.coef_.copy()
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y, rows=rows)
    # Nothing has happened.
    np.testing.assert_array_equal(model.coef_, coef)
    expected = AsagaRegressor(random_state=0).partial_fit(X, y).partial_fit(X, y, rows=slice(0, N))
    model.partial_fit(X, y, rows=slice(0, N))
    np.testing.assert_array_equal(model.coef_, expected.coef_)


@pytest.mark.parametrize("solver", ["svrg", "saga", "lagged_saga", "sag"])
def test_solvers_without_a_memory_of_rows(solver):
    X, y = data("two")
    model = AsagaClassifier(solver=solver)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as caught:
        model.partial_fit(X, y, classes=["a", "b"])
    assert f"solver='asaga' or 'sparse_saga', got '{solver}'" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "classes must be given in the first call of partial_fit"),
        ({"classes": ["a"]}, r"classes must name at least two labels, got \['a'\]"),
        ({"classes": ["b", "c"]}, "y has the label 'a', which is not in classes"),
        ({"classes": ["a", "aa"]}, "y has the label 'b', which is not in classes"),
    ],
)
def test_bad_classes(options, message):
    X, y = data("two")
    model = AsagaClassifier()
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y, **options)
    model.partial_fit(X, y, classes=["a", "b"])
    if len(options.get("classes", "")) == 2:
        with pytest.raises(ValueError, match="in the first call it was"):
            model.partial_fit(X, y, **options)


def test_other_errors():
    X, y = data("two")
    with pytest.raises(
        ValueError, match="class_weight='balanced' needs all of y: give partial_fit"
    ):
        AsagaClassifier(class_weight="balanced").partial_fit(X, y, classes=["a", "b"])
    model = AsagaClassifier().partial_fit(X, y, classes=["a", "b"])
    with pytest.raises(ValueError, match="y has the label 'z', which is not in classes"):
        model.partial_fit(X, np.where(y == "a", "a", "z"))
    with pytest.raises(ValueError, match="X has 2 features, but AsagaClassifier is expecting 4"):
        model.partial_fit(X[:, :2], y)
    X, y = data("number")
    model = AsagaRegressor().partial_fit(X, y)
    with pytest.raises(ValueError, match="classes is for classifiers; leave it out"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"y.shape == \(90, 2\), expected \(90,\) as in the first"):
        model.partial_fit(X, np.column_stack([y, y]))
    assert model.predict(X).shape == (N,)
    model = AsagaRegressor().partial_fit(X, np.column_stack([y, y]))
    for bad in (y, y[:, None]):
        with pytest.raises(ValueError, match=r"expected \(90, 2\) as in the first part"):
            model.partial_fit(X, bad)
    assert model.predict(X).shape == (N, 2)
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        AsagaRegressor().partial_fit(X, y, sample_weight=-np.ones(N))
    with pytest.raises(NotFittedError):
        AsagaRegressor().predict(X)
