"""StructuredSVM while it runs: callbacks, logs, warnings and warm starts."""

import logging

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from _registry import sequences
from _tasks import Stopper, needs_callbacks
from sklearn_fw import StructuredSVM
from sklearn_fw.structured import EnumeratedModel, MulticlassModel


@pytest.fixture
def words():
    return sequences()


@needs_callbacks
@pytest.mark.parametrize("solver", ["bcfw", "cached", "fw", "subgradient"])
def test_callback_that_stops(words, solver):
    X, y = words
    stopper = Stopper(after=3)
    svm = StructuredSVM(solver=solver, tol=0.0, max_iter=50, random_state=0)
    svm.set_callbacks(stopper).fit(X, y, sample_weight=np.ones(len(X)))
    assert svm.n_iter_ == 3
    assert svm.status_ == "stopped"
    assert not svm.converged_
    assert stopper.names.count("pass") == 3
    np.testing.assert_array_equal(stopper.metadata["sample_weight"], np.ones(len(X)))
    assert len(stopper.scores) == len(X)
    # Snapshots are not overwritten by later passes, and the last one is the result.
    assert any(np.any(a != b) for a, b in zip(stopper.coefs, stopper.coefs[1:]))
    np.testing.assert_allclose(stopper.coefs[-1], svm.coef_, rtol=1e-9, atol=1e-12)


@needs_callbacks
def test_progress_bar(words, capsys):
    from sklearn.callback import ProgressBar

    svm = StructuredSVM(random_state=0).set_callbacks(ProgressBar()).fit(*words)
    assert "StructuredSVM" in capsys.readouterr().out
    np.testing.assert_array_equal(svm.coef_, StructuredSVM(random_state=0).fit(*words).coef_)


def test_verbose(words, caplog):
    with caplog.at_level(logging.INFO, logger="sklearn_fw"):
        svm = StructuredSVM(verbose=1, random_state=0).fit(*words)
        lines = [
            record.getMessage() for record in caplog.records if "n_iter" in record.getMessage()
        ]
        assert len(lines) == len(svm.history_["n_iter"])
        for name in svm.history_:
            assert name in lines[-1]
        assert f"dual_gap {svm.dual_gap_:.6g}" in lines[-1]
        caplog.clear()
        StructuredSVM(random_state=0).fit(*words)
        assert not caplog.records


def test_convergence_warning(words):
    X, y = words
    with pytest.warns(ConvergenceWarning, match="2 passes were made") as caught:
        svm = StructuredSVM(max_iter=2, tol=1e-9, random_state=0).fit(X, y)
    share = svm.dual_gap_ / svm.objective_
    assert (
        f"the duality gap is {svm.dual_gap_:.3g}, {share:.2g} of the objective, more than "
        f"tol=1e-09. Remedies: max_iter above 2"
    ) in str(caught[0].message)
    assert caught[0].filename == __file__
    assert svm.status_ == "max_iter"
    assert not svm.converged_


def test_class_weights_count_in_training_only():
    X, y = load_iris(return_X_y=True)
    model = MulticlassModel(class_weight={0: 1.0, 1: 5.0, 2: 1.0})
    svm = StructuredSVM(model, C=1.0, random_state=0, max_iter=500).fit(X, y)
    assert svm.score(X, y) == np.mean(svm.predict(X) == y)
    plain = StructuredSVM(C=1.0, random_state=0, max_iter=500).fit(X, y)
    assert np.mean(svm.predict(X) == 1) > np.mean(plain.predict(X) == 1)


@pytest.mark.parametrize("data", ["classes", "black box"])
def test_a_warm_start_at_the_optimum_stops_at_once(data):
    if data == "classes":
        X, y = load_iris(return_X_y=True)
        svm = StructuredSVM(warm_start=True, random_state=0, tol=1e-3, max_iter=2000)
    else:
        rng = np.random.default_rng(0)
        X = [rng.normal(size=(4, 3)) for _ in range(20)]
        y = [int(np.argmax(x @ [1.0, 2.0, 3.0])) for x in X]
        svm = StructuredSVM(EnumeratedModel(), warm_start=True, random_state=0, max_iter=2000)
    w = svm.fit(X, y).coef_
    assert svm.fit(X, y).n_iter_ == 1
    np.testing.assert_allclose(svm.coef_, w, rtol=1e-9, atol=1e-12)
