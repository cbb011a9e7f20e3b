"""How work on samples is divided."""

from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from numbers import Integral
from threading import Event

import numpy as np
from joblib import cpu_count, effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel

from .warnings import warn

# No machine has more; larger numbers are mistakes, and joblib cannot count to them.
MOST_WORKERS = 2**20


def n_threads(n_jobs):
    """Threads for compiled loops, at most the processors that this process may use."""
    from .._kernels._jit import thread_limit

    wanted, limit = n_workers(n_jobs), thread_limit()
    # joblib lowers the limit in its workers, whose backend is a nested one.
    is_own = not getattr(get_active_backend()[0], "nesting_level", 0)
    if n_jobs is not None and n_jobs > 0 and is_own and limit < min(wanted, cpu_count()):
        warn(
            f"n_jobs={n_jobs} takes {limit} threads: NUMBA_NUM_THREADS={limit} is the most; set it "
            f"higher before Python starts"
        )
    return min(wanted, limit)


def n_workers(n_jobs):
    """Workers of joblib, with the name of the parameter in errors."""
    return effective_n_jobs(check_n_jobs(n_jobs))


def check_n_jobs(n_jobs):
    """None or a number of workers; -1 is all processors, -2 all but one."""
    if n_jobs is None:
        return None
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool):
        raise TypeError(f"n_jobs must be an integer or None, got {n_jobs!r}")
    if abs(n_jobs) > MOST_WORKERS:
        raise ValueError(f"n_jobs must be from {-MOST_WORKERS} to {MOST_WORKERS}, got {n_jobs}")
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 in Parallel has no meaning: -1 takes all processors")
    return int(n_jobs)


def count_workers(n_jobs):
    """Threads of one fit; None is one, even where joblib has more: its workers share a machine."""
    return 1 if n_jobs is None else n_threads(n_jobs)


def parallel(n_jobs, prefer=None, require=None):
    """joblib's ``Parallel`` with no more threads than processors that this process may use.

    Where joblib uses processes or machines, their number is the user's and joblib's affair.
    """
    n_jobs = n_threads(n_jobs) if shares_memory(prefer, require) else check_n_jobs(n_jobs)
    return Parallel(n_jobs=n_jobs, prefer=prefer, require=require)


def shares_memory(prefer=None, require=None):
    """Whether joblib would use threads."""
    return getattr(get_active_backend(prefer, require)[0], "supports_sharedmem", False)


def chunks(starts, n_jobs, pieces=1):
    """Ranges of samples with about equal numbers of nodes, ``pieces`` of them per worker."""
    n_ranges = min(pieces * n_workers(n_jobs), len(starts) - 1)
    cuts = np.unique(np.searchsorted(starts, np.linspace(0, starts[-1], n_ranges + 1)))
    return list(pairwise(cuts.tolist()))


# Rows after which a worker looks whether it should stop: some milliseconds.
CHUNK = 1 << 15


class ThreadPool:
    def __init__(self, size, chunk=None):
        self.size = size
        self._chunk = chunk or CHUNK
        self._pool = None
        self._stop = Event()

    def run(self, work, order):
        """Sum of ``work(part of order, worker)`` over equal parts of ``order``.

        Whatever interrupts the calling thread (KeyboardInterrupt too) leaves no thread at work.
        """
        return self.run_parts(work, np.array_split(order, self.size))

    def run_parts(self, work, parts):
        """The same with one part for each worker."""
        self._stop.clear()
        if self.size == 1:
            return self._part(work, parts[0], 0)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.size, thread_name_prefix="sklearn_fw")
        futures = [self._pool.submit(self._part, work, part, k) for k, part in enumerate(parts)]
        try:
            return sum(future.result() for future in futures)
        except BaseException:
            self._stop.set()
            wait(futures)
            raise

    def _part(self, work, order, worker):
        done = 0.0
        try:
            for start in range(0, order.size, self._chunk):
                if self._stop.is_set():
                    break
                done += work(order[start : start + self._chunk], worker)
        except BaseException:
            self._stop.set()  # the others need not finish
            raise
        return done

    def close(self):
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
