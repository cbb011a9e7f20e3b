"""What the linear models say of their fits: certificates, history, warnings, log, callbacks."""

import logging

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from _linear_referees import minimize_linear
from _tasks import Stopper, needs_callbacks
from sklearn_fw import AsagaClassifier, AsagaRegressor
from sklearn_fw.penalties import L1, L2, Box, ElasticNet, GroupLasso, L2Ball

N, D = 120, 5
SOLVERS = ["asaga", "saga", "lagged_saga", "svrg"]


def numbers():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    return X, X @ [1.0, -1.0, 0.5, 0.0, 0.0] + 0.5 * rng.standard_normal(N)


def classes(n_classes=2):
    X, _ = numbers()
    noise = np.random.default_rng(1).gumbel(size=(N, n_classes))
    return X, np.argmax(X[:, :n_classes] + noise, axis=1)


# ---- certificates --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("penalty", [L2(), ElasticNet(), L1(), GroupLasso([[0, 1], [2, 3, 4]]),
                                     L2Ball(0.3), Box(-0.1, 0.5)], ids=repr)  # fmt: skip
@pytest.mark.parametrize("loss", ["squared_error", "huber"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gap_bounds_the_distance_to_the_optimum(penalty, loss, fit_intercept):
    X, y = numbers()
    bound = penalty.bind(D).scaled(0.1 * N)
    *_, optimum = minimize_linear(X, y, loss, bound.value, bound.prox, fit_intercept=fit_intercept)
    gaps = []
    for max_iter in (1, 3, 10, 30, 100):
        model = AsagaRegressor(
            loss, penalty=penalty, alpha=0.1, tol=0, max_iter=max_iter, solver="asaga",
            fit_intercept=fit_intercept, random_state=0,
        ).fit(X, y)  # fmt: skip
        rounding = 1e-14 * abs(optimum)
        assert model.dual_gap_ >= model.objective_ - optimum - rounding
        assert model.objective_ - optimum >= -1e-12 * abs(optimum)
        gaps.append(model.dual_gap_)
    assert gaps[-1] < 1e-12
    assert gaps[0] > 1e-4


@pytest.mark.parametrize("solver", SOLVERS)
def test_tolerance_is_a_share_of_the_objective(solver):
    X, y = classes()
    for tol in (1e-2, 1e-4):
        model = AsagaClassifier(C=0.1, tol=tol, solver=solver, max_iter=3000, random_state=0)
        model.fit(X, y)
        assert model.converged_
        assert model.status_ == "converged"
        assert 0 <= model.dual_gap_ <= tol * model.objective_


@pytest.mark.parametrize("penalty", [None, GroupLasso([[0, 1]])], ids=repr)
def test_gradient_mapping_where_there_is_no_dual(penalty):
    X, y = numbers()
    params = {"penalty": penalty, "alpha": 0.1, "tol": 1e-8, "random_state": 0, "solver": "asaga"}
    model = AsagaRegressor(**params).fit(X, y)
    assert model.dual_gap_ is None
    assert "dual_gap" not in model.history_
    null = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / N
    # The largest entry of the gradient where the penalty is zero or none.
    assert model.gradient_mapping_ <= 1e-8 * null
    assert model.converged_
    assert 0 <= model.history_["suboptimality"][-1] <= 1e-8 * model.objective_
    model = AsagaRegressor(**params, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="gradient mapping .* after 2 epochs: increase"):
        model.fit(X, y)


def test_gradient_mapping_of_a_smooth_objective_is_its_gradient():
    X, y = numbers()
    model = AsagaRegressor(penalty=None, tol=0, max_iter=1, random_state=0).fit(X, y)
    gradient = X.T @ (model.predict(X) - y) / N
    assert model.gradient_mapping_ == pytest.approx(np.abs(gradient).max(), rel=1e-10)


# ---- history -------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("tol", [0, 1e-3])
def test_history(solver, n_classes, tol):
    X, y = classes(n_classes)
    model = AsagaClassifier(
        multi_class="ovr", solver=solver, tol=tol, max_iter=7 if tol == 0 else 3000, random_state=0
    ).fit(sp.csr_array(X), y)
    history = model.history_
    n_problems = 1 if n_classes == 2 else 3
    columns = {"n_iter", "time", "objective", "dual_objective", "dual_gap", "certified"}
    assert set(history) == (columns if n_problems == 1 else columns | {"output"})
    assert all(isinstance(column, np.ndarray) for column in history.values())
    assert len({column.size for column in history.values()}) == 1
    assert history["certified"].dtype == bool
    outputs = history.get("output", np.zeros(history["n_iter"].size))
    assert np.array_equal(np.unique(outputs), np.arange(n_problems))
    assert np.all(np.diff(outputs) >= 0)
    lasts = []
    for k in range(n_problems):
        own = {name: column[outputs == k] for name, column in history.items()}
        assert np.all(np.isin(np.diff(own["n_iter"]), [0, 1]))
        assert np.all(np.diff(own["time"]) >= 0)
        assert np.all(own["dual_gap"] >= 0)
        assert own["n_iter"][0] == 1
        last = {name: column[-1] for name, column in own.items()}
        assert last["certified"]
        assert last["objective"] == np.atleast_1d(model.objective_)[k]
        lasts.append(last)
    assert model.n_iter_ == max(last["n_iter"] for last in lasts)
    assert model.dual_gap_ == max(last["dual_gap"] for last in lasts)
    assert model.n_updates_ == N * sum(last["n_iter"] for last in lasts)
    assert model.converged_ == (tol > 0)
    assert model.status_ == ("converged" if tol > 0 else "max_iter")
    assert np.size(model.step_size_) == np.size(model.objective_) == n_problems


def test_certified_rows_are_exact():
    """Every certified row is the objective of its coefficients; estimates come close."""
    X, y = numbers()
    for max_iter in (3, 6):
        model = AsagaRegressor(
            alpha=0.1, tol=0, max_iter=max_iter, solver="asaga", random_state=0
        ).fit(X, y)
        w = model.coef_
        value = np.mean((model.predict(X) - y) ** 2) / 2 + 0.1 * w @ w / 2
        assert model.objective_ == pytest.approx(value, rel=1e-13)
        assert model.history_["certified"].tolist() == [False] * max_iter + [True]


@pytest.mark.parametrize("solver", ["asaga", "lagged_saga", "saga"])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_memory_does_not_drift(solver, n_jobs):
    X, y = classes()
    model = AsagaClassifier(solver=solver, tol=0, max_iter=100, n_jobs=n_jobs, random_state=0)
    assert 0 <= model.fit(sp.csr_array(X), y).memory_drift_ < 1e-11


# ---- ends of fits --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, match",
    [
        (AsagaClassifier, "duality gap .* > 6.3e-13 after 2 epochs: increase max_iter, loosen"),
        (AsagaRegressor, "duality gap .* after 2 epochs: increase max_iter, loosen tol or scale"),
    ],
)
def test_warning(make, match):
    X, y = classes()
    with pytest.warns(ConvergenceWarning, match=match) as caught:
        model = make(tol=1e-12, max_iter=2, solver="asaga", random_state=0).fit(X, y)
    assert not model.converged_
    assert model.status_ == "max_iter"
    assert len(caught) == 1
    assert caught[0].filename == __file__  # it points at the line of the user
    assert f"{model.dual_gap_:.3g} > " in str(caught[0].message)


def test_one_warning_per_problem():
    X, y = classes(3)
    with pytest.warns(ConvergenceWarning) as caught:
        AsagaClassifier(multi_class="ovr", tol=1e-12, max_iter=2, random_state=0).fit(X, y)
    assert len(caught) == 3


def test_no_tolerance_runs_all_epochs_without_a_warning():
    X, y = numbers()
    model = AsagaRegressor(alpha=0.1, tol=0, max_iter=12, solver="asaga", random_state=0).fit(X, y)
    assert model.n_iter_ == 12
    assert 0 < model.dual_gap_ < 1e-4
    # No gap at all is as good as it gets.
    model.set_params(alpha=1.0, max_iter=1000).fit(X, y)
    assert model.n_iter_ == 1000 or model.dual_gap_ == 0


def test_time_limit():
    X, y = classes(3)
    model = AsagaClassifier(
        multi_class="ovr", tol=1e-15, max_iter=10**9, time_limit=1e-9, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="after 1 epochs: increase time_limit"):
        model.fit(X, y)
    assert model.status_ == "time_limit"
    assert model.n_iter_ == 1
    assert model.history_["certified"].tolist() == [False, True] * 3
    # A long limit changes nothing.
    a, b = (AsagaClassifier(time_limit=t, random_state=0).fit(X, y) for t in (None, 1e6))
    np.testing.assert_array_equal(a.coef_, b.coef_)


def test_no_rows_of_influence():
    """All features are zero: the intercept is all there is."""
    X, y = np.zeros((N, 2)), classes()[1]
    for form in (np.asarray, sp.csr_array):
        model = AsagaClassifier(tol=1e-10, random_state=0).fit(form(X), y)
        np.testing.assert_array_equal(model.coef_, 0)
        p = np.mean(y)
        assert model.intercept_[0] == pytest.approx(np.log(p / (1 - p)), abs=1e-9)
        assert model.dual_gap_ == pytest.approx(0, abs=1e-15)
    model = AsagaRegressor(fit_intercept=False).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), 0)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_samples(n):
    X, y = numbers()
    model = AsagaRegressor(alpha=0.1, tol=1e-10, max_iter=5000, random_state=0).fit(X[:n], y[:n])
    assert model.converged_
    if n > 1:
        y = np.arange(n) > 0
        assert AsagaClassifier(tol=1e-8, max_iter=5000).fit(X[:n], y).score(X[:n], y) == 1.0


# ---- log and callbacks ---------------------------------------------------------------------------


def test_verbose(caplog):
    X, y = classes()
    with caplog.at_level(logging.INFO, logger="sklearn_fw"):
        AsagaClassifier(random_state=0).fit(X, y)  # compilation is announced once
        caplog.clear()
        model = AsagaClassifier(verbose=1, random_state=0).fit(X, y)
        lines = [record.getMessage() for record in caplog.records]
        assert len(lines) == model.history_["n_iter"].size
        assert all(name in lines[-1] for name in model.history_)
        assert f"dual_gap {model.dual_gap_:.6g}" in lines[-1]
        caplog.clear()
        AsagaClassifier(random_state=0).fit(X, y)
        assert not caplog.records


@needs_callbacks
@pytest.mark.parametrize("solver", ["asaga", "saga", "svrg"])
@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
def test_callback_that_stops(solver, kind):
    X, y = numbers() if kind == "numbers" else classes(3 if kind == "three" else 2)
    model = AsagaRegressor() if kind == "numbers" else AsagaClassifier()
    stopper = Stopper(after=3)
    model.set_params(solver=solver, tol=0.0, max_iter=50, random_state=0)
    model.set_callbacks(stopper).fit(X, y, sample_weight=np.ones(N))
    assert model.n_iter_ == 3
    assert model.status_ == "stopped"
    assert not model.converged_
    assert stopper.names == ["fit"] + 3 * ["pass"]
    np.testing.assert_array_equal(stopper.metadata["sample_weight"], np.ones(N))
    assert stopper.scores.shape == (N,)
    # Snapshots are not overwritten by later epochs, and the last one is the result.
    assert all(np.any(a != b) for a, b in zip(stopper.coefs, stopper.coefs[1:]))
    np.testing.assert_allclose(stopper.coefs[-1], model.coef_, rtol=1e-9, atol=1e-12)


@needs_callbacks
def test_callback_among_several_problems():
    X, y = classes(3)
    stopper = Stopper(after=3)
    model = AsagaClassifier(multi_class="ovr", tol=0.0, max_iter=4, random_state=0)
    model.set_callbacks(stopper).fit(X, y)
    # It ended the first problem after three epochs; later ones are zero until their turn.
    assert stopper.names.count("pass") == 3 + 4 + 4
    assert all(coef.shape == (3, D) for coef in stopper.coefs)
    np.testing.assert_array_equal(stopper.coefs[2][1:], 0)
    np.testing.assert_allclose(stopper.coefs[-1], model.coef_, rtol=1e-9, atol=1e-12)
    assert model.status_ == "stopped"


@needs_callbacks
def test_progress_bar(capsys):
    from sklearn.callback import ProgressBar

    X, y = classes()
    model = AsagaClassifier(random_state=0).set_callbacks(ProgressBar()).fit(X, y)
    assert "AsagaClassifier" in capsys.readouterr().out
    np.testing.assert_array_equal(model.coef_, AsagaClassifier(random_state=0).fit(X, y).coef_)
