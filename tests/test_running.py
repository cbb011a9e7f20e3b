"""One loop, one budget of time, one outcome, and warnings that point at who called."""

import logging
import math
import re
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from _package import ROOT, sources
from sklearn_fw import AsagaClassifier, StructuredSVM, TRWMarginals, regularization_path
from sklearn_fw._core.budget import budget_now, shared, time_budget
from sklearn_fw._core.loop import IterativeMethod, drive
from sklearn_fw._core.result import History, Outcome, Status
from sklearn_fw.datasets import make_ising
from sklearn_fw.inference import time_left
from sklearn_fw.model_selection import cross_validate_path


class Halving(IterativeMethod):
    """A gap that halves in every iteration, certified in every other one."""

    def __init__(self, seconds=0.0):
        self.gap, self.n_steps, self.seconds = 1.0, 0, seconds

    def step(self):
        time.sleep(self.seconds)
        self.gap /= 2.0
        self.n_steps += 1
        return self.row() if self.n_steps % 2 == 0 else None

    def row(self):
        return {"objective": 1.0, "dual_gap": self.gap, "unknown": None}

    def certify(self):
        return self.row()


# ---- the loop and what it reports ----------------------------------------------------------------


def test_loop_stops_at_the_certificate():
    outcome = drive(Halving(), tol=0.01, max_iter=100)
    assert outcome.status is Status.CONVERGED
    assert outcome.converged
    assert outcome.n_iter == 8  # 2^-7 < 0.01, but nothing is known of odd iterations
    assert set(outcome.history) == {"n_iter", "time", "objective", "dual_gap"}
    np.testing.assert_array_equal(outcome.history["n_iter"], [2, 4, 6, 8])
    np.testing.assert_array_equal(outcome.history["dual_gap"], 0.5 ** np.array([2, 4, 6, 8]))
    assert outcome.attributes()["n_iter_"] == outcome.fields()["nit"] == 8
    assert outcome.attributes()["status_"] == "converged"


def test_point_that_is_returned_is_certified():
    outcome = drive(Halving(), tol=0.0, max_iter=3)
    assert outcome.status is Status.MAX_ITER
    np.testing.assert_array_equal(outcome.history["n_iter"], [2, 3])


def test_method_without_certify_says_so():
    class Silent(IterativeMethod):
        def step(self):
            return None

    with pytest.raises(AssertionError, match=r"Silent\.step certifies in every iteration"):
        drive(Silent(), tol=0.0, max_iter=1)


@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_lines_of_the_log_are_few(verbose, caplog):
    with caplog.at_level(logging.INFO, logger="sklearn_fw"):
        drive(Halving(), tol=0.0, max_iter=246, verbose=verbose)
    numbers = [int(re.search(r"n_iter (\d+)", m)[1]) for m in caplog.messages if "n_iter" in m]
    few = [n for n in range(2, 247, 2) if n < 100 or n % 10 == 0]
    assert numbers == {0: [], 1: [*few, 246], 2: list(range(2, 247, 2))}[verbose]


def test_loops_of_a_fit_write_into_one_history():
    history = History()
    for k in range(2):
        history.common["part"] = k
        drive(Halving(), tol=0.1, max_iter=100, history=history)
        history.amend(end=10.0 * k, nothing=None)
    columns = history.columns()
    np.testing.assert_array_equal(columns["n_iter"], [2, 4, 6, 8])
    np.testing.assert_array_equal(columns["part"], [0, 0, 1, 1])
    np.testing.assert_array_equal(columns["end"], [np.nan, 0.0, np.nan, 10.0])
    assert "nothing" not in columns
    assert history.n_iter == 8


def test_outcome_of_several_problems():
    first = drive(Halving(), tol=0.1, max_iter=100)
    second = drive(Halving(), tol=0.0, max_iter=2)
    joined = Outcome.joined([first, second])
    assert (joined.status, joined.n_iter) == (Status.MAX_ITER, 4)
    np.testing.assert_array_equal(joined.history["output"], [0, 0, 1])
    np.testing.assert_array_equal(joined.history["n_iter"], [2, 4, 2])
    assert "output" not in Outcome.joined([first]).history


# ---- the budget ----------------------------------------------------------------------------------


def test_loops_share_the_seconds_of_their_fit():
    with time_budget(0.2) as budget:
        first = drive(Halving(seconds=0.15), tol=0.0, max_iter=1)
        second = drive(Halving(seconds=0.15), tol=0.0, max_iter=100)
        third = drive(Halving(), tol=0.0, max_iter=100)
    assert first.status is Status.MAX_ITER
    assert (second.status, third.status) == (Status.TIME_LIMIT, Status.TIME_LIMIT)
    assert second.n_iter == third.n_iter == 1
    assert third.history["time"][-1] >= 0.3  # since the fit began, not since the loop did
    assert budget.is_spent


def test_inner_limits_go_no_further_than_outer_ones():
    assert budget_now().left == math.inf
    with time_budget(100.0):
        with time_budget(1000.0):
            assert 99.0 < budget_now().left <= 100.0
        with time_budget(None):
            assert 99.0 < budget_now().left <= 100.0
        with time_budget(1.0):
            assert budget_now().left <= 1.0
        assert budget_now().share(0.5) <= 50.0
        assert budget_now().left > 99.0
    assert budget_now().share(0.5) is None


def test_oracles_end_where_it_is_said_only():
    with time_budget(100.0):
        assert time_left() == math.inf
        with time_budget(1000.0, ends_oracles=True):
            assert 999.0 < time_left() <= 1000.0
            with time_budget(1.0):
                assert 999.0 < time_left() <= 1000.0


@pytest.mark.slow
@pytest.mark.parametrize("prefer", ["threads", "processes"])
def test_budget_goes_along_to_workers(prefer):
    with time_budget(5000.0):
        tasks = (delayed(shared(_seconds_left))(k) for k in range(2))
        left = Parallel(n_jobs=2, prefer=prefer)(tasks)
    assert all(1000.0 < seconds <= 5000.0 for seconds in left)


def _seconds_left(_):
    return budget_now().left


def test_budget_belongs_to_its_thread():
    found = []
    with time_budget(1.0):
        thread = threading.Thread(target=lambda: found.append(budget_now().left))
        thread.start()
        thread.join()
    assert found == [math.inf]


def test_choice_of_c_is_within_the_limit(rng):
    X = rng.normal(size=(200, 40))
    y = (X[:, 0] + rng.logistic(size=200) > 0).astype(int)
    y[:2] = 0, 1
    free = StructuredSVM(random_state=0).fit(X, y)
    assert pytest.approx(_first_choice(free, X, y)) != free.C_  # there is something to choose
    with pytest.warns(ConvergenceWarning, match="a larger time_limit"):
        short = StructuredSVM(random_state=0, tol=1e-9, time_limit=1e-6).fit(X, y)
    assert pytest.approx(_first_choice(free, X, y)) == short.C_
    assert short.n_iter_ == 1


def _first_choice(svm, X, y):
    """What is taken where no candidate can be judged: the natural unit of C."""
    few = svm.__class__(random_state=0).fit(X[:2], y[:2])
    assert few.C_ > 0
    from sklearn_fw.structured._choice_of_c import USUAL, natural_C

    return USUAL * natural_C(svm._blocks_of(X, y, np.full(len(y), 1.0 / len(y))))


def test_rho_iterations_share_the_limit():
    mrf = make_ising("clique", 6, coupling=2.0, random_state=0)
    trw = TRWMarginals("elimination", n_rho_iter=50, tol=1e-9, time_limit=1e-6)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        trw.fit(mrf)
    assert (trw.n_iter_, trw.history_["rho_iter"].max()) == (1, 0)


def test_path_shares_the_limit_of_its_estimator(rng):
    X, y = rng.normal(size=(50, 3)), rng.integers(2, size=50)
    model = AsagaClassifier(tol=1e-12, random_state=0, time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match="the last of 1 values that time_limit allowed"):
        path = regularization_path(model, X, y, n_values=7)
    assert list(path.n_iters_) == [1]


# ---- warnings ------------------------------------------------------------------------------------


def _careless_scorer(estimator, X, y):
    return estimator.score(X, y)


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: StructuredSVM(max_iter=1, tol=1e-12, solver="bcfw").fit(X, y),
        lambda X, y: AsagaClassifier(max_iter=1, tol=1e-12).fit(X, y),
        lambda X, y: regularization_path(AsagaClassifier(max_iter=1, tol=1e-12), X, y, n_values=2),
        lambda X, y: cross_validate_path(
            AsagaClassifier(max_iter=1, tol=1e-12), X, y, n_values=2, cv=2, n_jobs=1,
            scoring=_careless_scorer,
        ),
        lambda X, y: TRWMarginals("elimination", max_iter=1, tol=1e-12).fit(
            make_ising("clique", 5, coupling=2.0, random_state=0)
        ),
    ],
    ids=["svm", "linear", "path", "folds", "marginals"],
)  # fmt: skip
def test_warnings_point_at_the_caller(call, rng):
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(X, y)
    found = {warning.filename for warning in caught if warning.category is ConvergenceWarning}
    assert found == {__file__}


@pytest.mark.slow
def test_only_one_place_counts_frames():
    allowed = {"sklearn_fw/_core/warnings.py", "sklearn_fw/_kernels/_cache.py"}
    for path in sources():
        if path in allowed:
            continue
        text = (ROOT / path).read_text(encoding="utf-8")
        assert not re.search(r"warnings\.warn\(|stacklevel", text), path
