"""Mini-batch Frank-Wolfe: the optimum, the same run with any workers, and what they are sent."""

import threading
import time

import joblib
import numpy as np
import pytest

from _problems import OwnChains, budget_may_end, fit, problem
from sklearn_fw.inference import Enumeration, GraphCut, TreeMaxProduct, Viterbi
from sklearn_fw.structured import MinibatchFrankWolfe
from sklearn_fw.structured._problems import _workers
from sklearn_fw.structured._problems._workers import Shipment, Workers


class Slow(TreeMaxProduct):
    """An oracle that waits, and says from how many threads it was called."""

    seconds = 0.0
    threads = set()

    def argmax(self, scores, start=None):
        time.sleep(self.seconds)
        self.threads.add(threading.get_ident())
        return super().argmax(scores)


@pytest.mark.slow
@budget_may_end
@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("kind", ["oracle", "black box"])
def test_workers_make_the_same_run(kind, backend):
    p, solver = problem("chain"), MinibatchFrankWolfe(batch_size=4, gap_check=1)
    settings = {"oracle": Viterbi().argmax} if kind == "oracle" else {}
    if kind == "black box":
        settings["model"] = OwnChains(**p.model.get_params())
    runs = []
    for n_jobs in (1, 2):
        with joblib.parallel_config(backend=backend):
            runs.append(fit(p, solver, n_jobs=n_jobs, tol=0.0, max_iter=3, **settings))
    np.testing.assert_array_equal(runs[0].coef_, runs[1].coef_)
    for column in ("n_oracle_calls", "objective", "dual_objective"):
        np.testing.assert_array_equal(runs[0].history_[column], runs[1].history_[column])


@budget_may_end
def test_threads_wait_together():
    """More threads than processors are made where an oracle waits; none without workers."""
    p, seconds = problem("chain"), {}
    Slow.seconds = 0.05
    for n_jobs in (1, 8):
        Slow.threads.clear()
        solver = MinibatchFrankWolfe(batch_size=8)
        with joblib.parallel_config(backend="threading"):
            started = time.perf_counter()
            fit(p, solver, oracle=Slow(), n_jobs=n_jobs, tol=0.0, max_iter=3)
            seconds[n_jobs] = time.perf_counter() - started
        assert len(Slow.threads) == n_jobs
    Slow.seconds = 0.0
    assert seconds[8] < 0.5 * seconds[1]


def test_threads_are_preferred_where_an_oracle_says_so():
    assert Workers(2, GraphCut()).share_memory
    assert not Workers(2, Enumeration()).share_memory
    with joblib.parallel_config(backend="threading"):
        assert Workers(2, Enumeration()).share_memory
    with joblib.parallel_config(backend="loky"):
        assert not Workers(2, GraphCut()).share_memory
    assert Workers(1, Enumeration()).share_memory


@pytest.mark.parametrize(
    ("settings", "n", "expected"), [({}, 1000, 16), ({}, 50, 5), ({"batch_size": 9}, 5, 5)]
)
def test_size_of_batches(settings, n, expected):
    class Blocks:
        is_compiled, n_blocks, workers = False, n, Workers(2, GraphCut())

    assert MinibatchFrankWolfe(**settings)._size_for(Blocks) == expected
    Blocks.workers = Workers(None, GraphCut())
    assert MinibatchFrankWolfe()._size_for(Blocks) == 1


# ---- what workers are sent -----------------------------------------------------------------------


class Sample:
    def __init__(self, i):
        self.i = i


class Model:
    def ask(self, sample, factor):
        return factor * sample.i


class Remote:
    """Workers of other processes, one of which forgets everything at times."""

    share_memory = False

    def __init__(self):
        self.sent = []

    def run(self, function, calls):
        found = []
        for token, shipped, part, args in calls:
            self.sent += [sample.i for sample in shipped[1]] if shipped else []
            found.append(function(token, shipped, part, args))
        return found


def test_samples_are_sent_once(monkeypatch):
    monkeypatch.setattr(_workers, "_shipped", {})
    remote, shipment = Remote(), Shipment(Model(), [Sample(i) for i in range(6)])
    assert shipment.ask(remote, [[0, 1], [2]], 10) == [0, 10, 20]
    assert shipment.ask(remote, [[2, 1], [0]], 5) == [10, 5, 0]
    assert remote.sent == [0, 1, 2]
    assert shipment.ask(remote, [[3, 0]], 1) == [3, 0]
    assert remote.sent == [0, 1, 2, 3, 0]
    _workers._shipped.clear()  # a new worker
    assert shipment.ask(remote, [[1], [2, 3]], 2) == [2, 4, 6]
    assert remote.sent[5:] == [1, 2, 3]


def test_processes_forget_old_training_sets(monkeypatch):
    monkeypatch.setattr(_workers, "_shipped", {})
    for _ in range(10):
        Shipment(Model(), [Sample(0)]).ask(Remote(), [[0]], 1)
    assert len(_workers._shipped) == _workers.MOST_SHIPPED
