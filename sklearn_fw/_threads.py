"""How work on samples is divided."""

from itertools import pairwise
from numbers import Integral

import numpy as np
from joblib import effective_n_jobs

# No machine has more; larger numbers are mistakes, and joblib cannot count to them.
MOST_WORKERS = 2**20

__all__ = ["chunks", "count_workers", "n_threads", "n_workers"]


def n_threads(n_jobs):
    """Threads for compiled loops, at most the processors that this process may use."""
    from ._kernels._jit import thread_limit

    return min(n_workers(n_jobs), thread_limit())


def n_workers(n_jobs):
    """Workers of joblib, with the name of the parameter in errors."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool)):
        raise TypeError(f"n_jobs must be an integer or None, got {n_jobs!r}")
    if n_jobs is not None and abs(n_jobs) > MOST_WORKERS:
        raise ValueError(f"n_jobs must be from {-MOST_WORKERS} to {MOST_WORKERS}, got {n_jobs}")
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 in Parallel has no meaning: -1 takes all processors")
    return effective_n_jobs(None if n_jobs is None else int(n_jobs))


def count_workers(n_jobs):
    """Threads of one fit; None is one, even where joblib has more: its workers share a machine."""
    return 1 if n_jobs is None else n_threads(n_jobs)


def chunks(starts, n_jobs):
    """Ranges of samples with about equal numbers of nodes, one per worker."""
    n_jobs = min(n_workers(n_jobs), len(starts) - 1)
    targets = np.linspace(0, starts[-1], n_jobs + 1)
    cuts = np.unique(np.searchsorted(starts, targets))
    return list(pairwise(cuts.tolist()))
