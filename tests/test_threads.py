"""How many workers `n_jobs` is."""

import joblib
import pytest
from joblib import effective_n_jobs

from sklearn_fw._core.threads import chunks, count_workers, n_threads, parallel
from sklearn_fw._kernels._jit import thread_limit

N_JOBS = [None, 1, 2, -1, -2, 10**6]


@pytest.mark.parametrize("n_jobs", N_JOBS)
def test_threads_are_those_of_joblib_but_no_more_than_processors(n_jobs):
    expected = min(effective_n_jobs(n_jobs), thread_limit())
    assert n_threads(n_jobs) == expected
    assert count_workers(n_jobs) == (1 if n_jobs is None else expected)
    for preference in ({"prefer": "threads"}, {"require": "sharedmem"}):
        assert parallel(n_jobs, **preference).n_jobs == expected
    with joblib.parallel_config(backend="threading"):
        assert parallel(n_jobs).n_jobs == n_threads(n_jobs) <= thread_limit()
        assert len(chunks([0, 1, 2, 3], parallel(n_jobs).n_jobs)) <= thread_limit()


def test_configured_threads_are_capped():
    with joblib.parallel_config(backend="threading", n_jobs=10**6):
        assert parallel(None).n_jobs == n_threads(None) == thread_limit()


@pytest.mark.parametrize("n_jobs", [1, 3, -1, -2])
def test_processes_are_the_users_affair(n_jobs):
    with joblib.parallel_config(backend="loky"):
        assert parallel(n_jobs).n_jobs == n_jobs


@pytest.mark.parametrize("function", [parallel, n_threads])
def test_more_workers_than_any_machine_has(function):
    with pytest.raises(ValueError, match="n_jobs must be from -1048576 to 1048576, got 1000000"):
        function(10**12)


@pytest.mark.parametrize("n_jobs", [2.5, "2", True])
def test_kind_of_n_jobs(n_jobs):
    for function in (n_threads, parallel):
        with pytest.raises(TypeError, match="n_jobs must be an integer or None"):
            function(n_jobs)


def test_no_jobs():
    with pytest.raises(ValueError, match="n_jobs == 0"):
        n_threads(0)


def test_a_limit_of_threads_that_numba_sets_is_named(monkeypatch):
    from sklearn_fw._core import threads as _threads

    monkeypatch.setattr(_threads, "cpu_count", lambda: 4)
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 1)
    with pytest.warns(UserWarning, match=r"n_jobs=3 takes 1 threads: NUMBA_NUM_THREADS=1"):
        assert _threads.n_threads(3) == 1
    assert _threads.n_threads(-1) == 1  # all that there are
