"""Shared numbers and threads: nothing is lost, nothing is left at work, errors come through."""

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_fw._core.threads import ThreadPool
from sklearn_fw._kernels._jit import njit
from sklearn_fw._kernels.common import atomics
from sklearn_fw.losses import LogLoss
from sklearn_fw.optim._incremental._finite_sum import FiniteSum
from sklearn_fw.optim._incremental._minimize_saga import resolve_incremental_solver, solve
from sklearn_fw.penalties import GroupSeparable

pytestmark = pytest.mark.plain

N_THREADS = 2


@njit
def add_many(array, values, n):
    for t in range(n):
        atomics.add(array, (t % array.shape[0], 1), values[t % values.size])


@njit
def exchange_many(memory, start, n, step):
    """Sum of new minus old values over many exchanges on few places."""
    total = 0.0
    for t in range(n):
        new = np.float64((start + t * step) % 1009)
        total += new - atomics.exchange(memory, (t % memory.size,), new)
    return total


@njit
def add_to(array, index):
    atomics.add(array, index, 1.0)


@njit
def fetch(array, index):
    atomics.prefetch(array, index)
    return array[index]


def together(work, n=N_THREADS):
    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(work, range(n)))


@pytest.mark.parametrize(
    "n", [pytest.param(10**6, id="1e6"), pytest.param(10**8, id="1e8", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_contended_additions_are_all_there(n, dtype):
    array = np.zeros((4, 2), dtype=dtype)
    # Few and small whole numbers: sums of all of them are exact in float32 too.
    values = np.array([1.0, -1.0, 0.0, 1.0, -1.0], dtype=dtype)
    together(lambda worker: add_many(array, values, n // N_THREADS))
    expected = np.zeros((4, 2))
    for t in range(20):
        expected[t % 4, 1] += values[t % 5]
    assert np.array_equal(array, expected * (N_THREADS * (n // N_THREADS // 20)))


def test_exchanges_telescope():
    # However the threads interleave, what one wrote is what another takes away.
    memory = np.arange(5.0)
    before = memory.sum()
    parts = together(lambda worker: exchange_many(memory, 17 * worker, 500_000, 3 + worker))
    assert sum(parts) == memory.sum() - before


def test_indices_of_all_kinds():
    for shape, index in [((3,), (2,)), ((3, 4), (1, 3)), ((2, 3, 4), (1, 2, 3))]:
        for cast in (np.int32, np.int64, np.uint8):
            array = np.zeros(shape)
            add_to(array, tuple(cast(i) for i in index))
            assert array[index] == array.sum() == 1.0
            assert fetch(array, tuple(cast(i) for i in index)) == 1.0


# ---- pool ----------------------------------------------------------------------------------------


def working():
    """Threads of this package that are alive."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("sklearn_fw")]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_pool_shares_everything_once(size):
    pool, seen = ThreadPool(size, chunk=4), []

    def work(part, worker):
        assert 0 < part.size <= 4
        seen.append((worker, *part))
        return float(part.sum())

    order = np.arange(30)
    assert pool.run(work, order) == order.sum()
    assert sorted(number for _, *part in seen for number in part) == list(range(30))
    assert {worker for worker, *_ in seen} == set(range(size))
    assert len(working()) <= (size if size > 1 else 0)
    pool.close()
    assert not working()
    assert pool.run(work, order) == order.sum()  # it can begin again
    pool.close()


@pytest.mark.parametrize("where", ["caller", "worker"])
def test_an_interrupt_leaves_no_thread_at_work(where, monkeypatch):
    pool, n, visited, busy = ThreadPool(2, chunk=1), 100_000, [], []

    def work(part, worker):
        busy.append(worker)
        visited.append(worker)
        if where == "worker" and worker == 1 and len(visited) > 10:
            busy.remove(worker)
            raise KeyboardInterrupt
        time.sleep(1e-4)  # all of them would take seconds
        busy.remove(worker)
        return 0.0

    def interrupted(future, timeout=None):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if where == "caller":
            patch.setattr(Future, "result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pool.run(work, np.arange(n))
    assert not busy
    assert len(visited) < n
    assert pool.run(lambda part, worker: float(part.size), np.arange(10)) == 10.0
    pool.close()
    assert not working()


# ---- errors of a user's penalty ------------------------------------------------------------------


class Faulty(GroupSeparable):
    """Fails, or returns too many numbers, when it has been asked often enough."""

    def __init__(self, error, after=100):
        self.error = error
        self.after = after
        self.calls = 0

    def group_value(self, u, group):
        return 0.0

    def group_prox(self, u, step_size, group):
        self.calls += 1
        if self.calls <= self.after:
            return u.copy()
        if self.error is None:
            return np.append(u, 0.0)
        raise self.error


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["asaga", "svrg"])
@pytest.mark.parametrize("n_workers", [1, 2])
@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (ZeroDivisionError("of the user"), ZeroDivisionError, "of the user"),
        (KeyboardInterrupt(), KeyboardInterrupt, None),
        (None, ValueError, r"group_prox of Faulty returned for group \d must have shape"),
    ],
)
def test_errors_of_a_penalty_come_through(solver, n_workers, error, kind, words):
    rng = np.random.default_rng(0)
    X, y = sp.csr_matrix(rng.standard_normal((30, 4))), rng.choice([-1.0, 1.0], 30)
    penalty = Faulty(error)
    problem = FiniteSum(X, y, LogLoss(), penalty.bind(4))
    with pytest.raises(kind, match=words):
        solve(
            problem, resolve_incremental_solver(solver), tol=0.0, max_iter=1000,
            rng=np.random.RandomState(0), n_workers=n_workers,
        )  # fmt: skip
    assert penalty.calls <= 100 + 2  # each worker may have been about to call
    assert not working()
