"""What the linear models say of their fits: certificates, history, warnings, log, callbacks."""

import logging

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from _tasks import Stopper, needs_callbacks
from sklearn_fw import AsagaClassifier, AsagaRegressor
from sklearn_fw.linear_model import AveragedSubgradientClassifier, FrankWolfeClassifier
from sklearn_fw.penalties import GroupLasso

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


# ---- history -------------------------------------------------------------------------------------


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


# ---- ends of fits --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, match",
    [
        (
            AsagaClassifier,
            r"duality gap .* > \d\.\d+e-13 after 2 epochs: increase max_iter, loosen",
        ),
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


# ---- log and callbacks ---------------------------------------------------------------------------


def test_verbose(caplog):
    X, y = classes()
    with caplog.at_level(logging.INFO, logger="sklearn_fw"):
        AsagaClassifier(random_state=0).fit(X, y)  # compilation is announced once
        caplog.clear()
        model = AsagaClassifier(verbose=1, random_state=0).fit(X, y)
        first, _, *lines = caplog.messages
        assert "started" in first
        assert len(lines) == model.history_["n_iter"].size
        assert all(name in lines[-1] for name in model.history_)
        assert f"dual_gap {model.dual_gap_:.6g}" in lines[-1]
        caplog.clear()
        AsagaClassifier(random_state=0).fit(X, y)
        assert not caplog.records


@pytest.mark.slow
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
def test_callback_between_several_problems():
    X, y = classes(3)
    model = FrankWolfeClassifier(radius=1.0).set_callbacks(Stopper(after=1)).fit(X, y)
    # The first problem is solved, and coefficients of the others are zero.
    assert model.coef_.shape == (3, D)
    assert model.coef_[0].any()
    np.testing.assert_array_equal(model.coef_[1:], 0)
    assert model.decision_function(X).shape == (N, 3)
    assert model.status_ == "stopped"
    assert not model.converged_


@needs_callbacks
def test_callback_that_stops_one_of_several_problems_without_certificates():
    X, y = classes(3)
    model = AveragedSubgradientClassifier(max_iter=3, random_state=0)
    assert model.set_callbacks(Stopper(after=1)).fit(X, y).status_ == "stopped"
    assert model.set_callbacks(Stopper(after=99)).fit(X, y).status_ == "finished"
