"""How work on samples is divided."""

import numba
import numpy as np
from joblib import effective_n_jobs


def n_threads(n_jobs):
    """Threads for compiled loops; numba's limit is what nested workers were given."""
    return min(effective_n_jobs(n_jobs), numba.config.NUMBA_NUM_THREADS)


def chunks(starts, n_jobs):
    """Ranges of samples with about equal numbers of nodes, one per worker."""
    n_jobs = effective_n_jobs(n_jobs)
    targets = np.linspace(0, starts[-1], n_jobs + 1)
    cuts = np.unique(np.searchsorted(starts, targets))
    return list(zip(cuts[:-1], cuts[1:], strict=True))
