"""The only loop driver: budget, history, logging, callbacks and non-finite numbers."""

import logging
import math
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from contextvars import ContextVar

from . import check
from .budget import budget_now
from .result import History, Outcome, Status

LONGEST_SILENCE = 2.0  # seconds, of loops inside a verbose fit that log no lines of their own
_last_line = ContextVar("last_line", default=None)  # time of the last line of a verbose fit


@contextmanager
def verbose_fit(estimator, task):
    """Log the start of a fit with ``verbose``, and lines of all loops in it where it is silent."""
    before = _last_line.get()
    if getattr(estimator, "verbose", 0) and before is None:
        get_logger(estimator.verbose).info("%s.%s: started", type(estimator).__name__, task)
        _last_line.set(time.monotonic())
    try:
        yield
    finally:
        _last_line.set(before)


def get_logger(verbose=0):
    """The package's logger; ``verbose`` makes it speak when the application set up no logging."""
    logger = logging.getLogger("sklearn_fw")
    if check.integer(verbose, "verbose", 0):
        if not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())
        if logger.getEffectiveLevel() > logging.INFO:
            logger.setLevel(logging.INFO)
    return logger


class IterativeMethod(ABC):
    """The state of a method that `drive` runs by `step` and `certify`."""

    certificate = "dual_gap"  # name of the number that tol stops
    rounding = 0.0  # certificates below are rounding errors, which count as reached if tol > 0
    is_stuck = False  # whether rounding errors leave no smaller certificate

    @abstractmethod
    def step(self):
        """One iteration.

        Returns
        -------
        row : dict of str to float, list of such, or None
            Numbers for the history with the certificate among them (None for methods without one),
            or None when none was computed. A row whose "certified" is false holds estimates: they
            stop nothing, and the last row is never one. A list of rows stands for as many
            iterations, of which the last may be the one that ends the loop.
        """

    def certify(self):
        """Such a row for the current point, which is what will be reported."""
        raise AssertionError(f"{type(self).__name__}.step certifies in every iteration")


def drive(
    method, *, tol, relative_to=None, max_iter, history=None, begin=None, end=None, verbose=0
):
    """Call ``method.step()`` until its certificate, a budget or a callback ends the loop.

    The time is that of `time_budget` around the call. ``tol`` None takes ``method.tol``, which may
    be known after the first step only; with ``relative_to``, a column such as "objective", it is
    relative to the absolute value there. Rows go to ``history``, which loops of one fit share, or
    to a new one. ``begin`` and ``end`` are called around every step; ``end()`` returning True ends
    the loop. A number that is not finite raises FloatingPointError. ``verbose=1`` logs rows of
    iterations 1 to 100, 110, 120, ..., 1000, 1100, ..., the last one, and one after two seconds
    without; ``verbose=2`` logs all.
    """
    budget = budget_now()
    is_own = history is None
    history = History() if is_own else history
    logger = get_logger(verbose)
    rounding = getattr(method, "rounding", 0.0) if tol is None or tol > 0.0 else 0.0

    def record(row):
        row = {"n_iter": history.n_iter, "time": budget.elapsed, **row}
        for name, value in row.items():
            if value is not None and not math.isfinite(value):
                raise FloatingPointError(
                    f"{name} became {value} in iteration {n_iter}: check the scale of X, "
                    f"sample_weight and C, and the step_size where one was set"
                )
        history.add(row)
        _log(logger, row, verbose)

    def is_reached(row):
        gap = row.get(getattr(method, "certificate", "dual_gap"))
        if gap is None or not row.get("certified", True):
            return False
        limit = method.tol if tol is None else tol
        if relative_to is not None:
            limit *= abs(row[relative_to])
        return gap <= max(limit, rounding)

    if verbose:
        logger.info("started: %s iterations at most", max_iter)
    status, n_iter, row = Status.RUNNING, 0, None
    while status is Status.RUNNING:
        if begin is not None:
            begin()
        made = method.step()
        for row in made if isinstance(made, list) else [made]:
            n_iter += 1
            history.n_iter += 1
            if row is not None:
                record(row)
            else:
                _log(logger, {"n_iter": history.n_iter})
        stop = end() if end is not None else False
        if row is not None and is_reached(row):
            status = Status.CONVERGED
        elif stop or getattr(method, "is_stuck", False):
            status = Status.STOPPED if stop else Status.ROUNDING
        elif n_iter >= max_iter:
            status = Status.MAX_ITER
        elif budget.is_spent:
            status = Status.TIME_LIMIT
    if row is None or not row.get("certified", True):
        row = method.certify()
        record(row)
        if is_reached(row):
            status = Status.CONVERGED
    if verbose == 1 and not _is_round(history.n_iter):
        _log(logger, history.rows[-1], 2)
    return Outcome(status, n_iter, history.columns() if is_own else {})


def _is_round(n_iter):
    """Whether a number has at most two digits before its zeros: a few hundred lines are enough."""
    return n_iter % 10 ** max(len(str(n_iter)) - 2, 0) == 0


def _log(logger, row, verbose=0):
    last = _last_line.get()
    is_wanted = verbose > 1 or (verbose and _is_round(row["n_iter"]))
    if is_wanted or (last is not None and time.monotonic() - last >= LONGEST_SILENCE):
        logger.info(", ".join(f"{k} {v:.6g}" for k, v in row.items() if v is not None))
        _last_line.set(None if last is None else time.monotonic())
