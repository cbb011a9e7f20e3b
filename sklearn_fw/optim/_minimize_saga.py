"""Regularised linear models as a function call."""

from contextlib import closing

import numpy as np

from .._loop import drive

__all__ = ["solve"]


def solve(
    problem,
    solver,
    *,
    tol,
    max_iter,
    rng,
    n_workers=1,
    start=None,
    time_limit=np.inf,
    begin=None,
    end=None,
    verbose=0,
):
    """Run a solver on a `FiniteSum`; the run, how it ended, its iterations and history."""
    run = solver.start(problem, tol=tol, rng=rng, n_workers=n_workers, start=start)
    with closing(run):
        status, n_iter, history = drive(
            run,
            tol=run.threshold,
            max_iter=max_iter,
            time_limit=time_limit,
            begin=begin,
            end=end,
            verbose=verbose,
        )
    return run, status, n_iter, history


def minimize_saga():
    pass
