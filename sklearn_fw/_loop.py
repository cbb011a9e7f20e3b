"""The only loop driver: budget, time, history, logging, callbacks and non-finite numbers."""

import logging
import math
import time

from ._result import Status
from ._validation import check_integer

__all__ = ["drive", "get_logger"]


def get_logger(verbose=0):
    """The package's logger; ``verbose`` makes it speak when the application set up no logging."""
    logger = logging.getLogger("sklearn_fw")
    if check_integer(verbose, "verbose", 0):
        if not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())
        if logger.getEffectiveLevel() > logging.INFO:
            logger.setLevel(logging.INFO)
    return logger


def drive(
    method, *, tol, relative_to=None, max_iter, time_limit=math.inf, begin=None, end=None, verbose=0
):
    """Call ``method.step()`` until its certificate, a budget or a callback ends the loop.

    Parameters
    ----------
    method : object
        ``step()`` does one iteration and returns None or, when it computed a certificate, a dict
        of numbers with the key "dual_gap" (None for methods without one), or with the key that
        ``method.certificate`` names. ``certify()`` returns such a dict for the current point,
        which is what will be reported. A row whose "certified" is false holds estimates: they stop
        nothing, and the last row is never one. ``rounding``, 0 unless the method has one, is a
        number below which certificates are rounding errors: it counts as reached if ``tol`` > 0.
    tol : float
        Stop when the certificate is at most this.
    relative_to : str, default=None
        Column of the rows, such as "objective", whose absolute value times ``tol`` is the limit;
        None makes ``tol`` an absolute number.
    max_iter, time_limit : int, float
        Budget in iterations and seconds.
    begin, end : callable, default=None
        Called around every step; ``end()`` returning True ends the loop.
    verbose : int, default=0
        Log one line per certificate.

    Returns
    -------
    status : Status
        How the loop ended.
    n_iter : int
        Iterations made.
    history : dict of str to list
        One entry per certificate, with "n_iter" and "time" (seconds spent here) added.

    Raises
    ------
    FloatingPointError
        When a reported number is not finite.
    """
    logger = get_logger(verbose)
    certificate = getattr(method, "certificate", "dual_gap")
    rounding = getattr(method, "rounding", 0.0) if tol > 0.0 else 0.0
    history = {}
    started = time.perf_counter()

    def record(row, n_iter):
        row = {"n_iter": n_iter, "time": time.perf_counter() - started, **row}
        for name, value in row.items():
            if value is not None and not math.isfinite(value):
                raise FloatingPointError(
                    f"{name} became {value} in iteration {n_iter}: check the scale of X, "
                    f"sample_weight and C, and the step_size where one was set"
                )
            if value is not None:
                history.setdefault(name, []).append(value)
        if verbose:
            numbers = ", ".join(f"{k} {v:.6g}" for k, v in row.items() if v is not None)
            logger.info("%s", numbers)
        return row.get(certificate) if row.get("certified", True) else None

    def is_reached(gap, row):
        if gap is None:
            return False
        limit = tol if relative_to is None else tol * abs(row[relative_to])
        return gap <= max(limit, rounding)

    status, n_iter, row = Status.RUNNING, 0, None
    while status is Status.RUNNING:
        if begin is not None:
            begin()
        row = method.step()
        n_iter += 1
        gap = None if row is None else record(row, n_iter)
        stop = end() if end is not None else False
        if is_reached(gap, row):
            status = Status.CONVERGED
        elif stop:
            status = Status.STOPPED
        elif n_iter >= max_iter:
            status = Status.MAX_ITER
        elif time.perf_counter() - started > time_limit:
            status = Status.TIME_LIMIT
    if row is None or not row.get("certified", True):
        row = method.certify()
        if is_reached(record(row, n_iter), row):
            status = Status.CONVERGED
    return status, n_iter, history
