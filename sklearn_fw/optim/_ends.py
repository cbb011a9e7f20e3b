"""The loop of runs as functions: budgets, callbacks, and fields of results."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._core import check
from .._core.budget import time_budget
from .._core.loop import drive
from .._core.result import Status
from .._core.warnings import warn


def run_to_end(run, *, tol, max_iter, time_limit, verbose, end=None):
    with time_budget(time_limit):
        max_iter = check.integer(max_iter, "max_iter", 1)
        return drive(run, tol=tol, max_iter=max_iter, verbose=verbose, end=end)


def end_of(callback, state):
    """The check for an end after each iteration; ``state()`` is for the callback."""
    if callback is None:
        return lambda: False
    if not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")

    def end():
        answer = callback(state())
        if not (answer is None or isinstance(answer, bool | np.bool_)):
            raise TypeError(f"callback must return True, False or None, got {answer!r}")
        return bool(answer)

    return end


def fields_of(outcome, dual_gap, tol):
    """Fields of a result on the end of a run; warns where ``tol`` was not reached."""
    fields = outcome.fields()
    if outcome.status is Status.ROUNDING:
        fields["message"] = f"gap {dual_gap:.3g} > {tol:.3g}: {fields['message']}"
    if outcome.status in (Status.MAX_ITER, Status.TIME_LIMIT):
        fields["message"] = (
            f"gap {dual_gap:.3g} > {tol:.3g} after {outcome.n_iter} iterations: increase "
            f"{fields['status']} or tol"
        )
        if tol > 0:
            warn(fields["message"], ConvergenceWarning)
    return fields
