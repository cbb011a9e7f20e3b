"""The seconds of a fit, which everything that happens within it shares."""

import math
import time
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import NamedTuple

from . import check


class Budget(NamedTuple):
    """When a fit began and when it has to end, in seconds of `time.perf_counter`."""

    started: float
    deadline: float = math.inf
    oracle_deadline: float = math.inf  # when oracles are to end calls that they are in

    @property
    def elapsed(self):
        return time.perf_counter() - self.started

    @property
    def left(self):
        """Seconds until it has to end; negative when that has passed."""
        return self.deadline - time.perf_counter()

    def share(self, share):
        """The limit of a part of the fit that may take so much of what is left."""
        # What is over already leaves the least that is a limit.
        return None if self.deadline == math.inf else max(share * self.left, 1e-9)

    @property
    def is_spent(self):
        return self.deadline < math.inf and self.left <= 0.0


_budget = ContextVar("budget", default=None)


def budget_now():
    """The budget of the fit that is under way; one without a limit that begins now if none is."""
    return _budget.get() or Budget(time.perf_counter())


@contextmanager
def _within(budget):
    token = _budget.set(budget)
    try:
        yield budget
    finally:
        _budget.reset(token)


def time_budget(time_limit=None, *, ends_oracles=False):
    """A fit, or a part of it, with a limit of its own that goes no further than that around it.

    Loops and path walks within read the limit by themselves. With ``ends_oracles`` oracles do, too,
    and end calls that take too long: for methods that can do with what they have then.
    """
    return _within(_limited(check.time_limit(time_limit), _budget.get(), ends_oracles))


def _limited(seconds, outer, ends_oracles):
    started = time.perf_counter()
    end, outer = started + seconds, outer or Budget(started)
    of_oracles = min(end if ends_oracles else math.inf, outer.oracle_deadline)
    return Budget(started, min(end, outer.deadline), of_oracles)


def part_of_time(share, most=math.inf):
    """Budget of a part of this fit: a fraction of the oracles' seconds, at most ``most``."""
    budget, seconds = budget_now(), min(share * time_left(), most)
    part = _limited(max(seconds, 1e-9), budget, ends_oracles=True)
    return _within(part._replace(started=budget.started))


def finishing():
    """The last hundredths of a second of a call whose time is over: oracles within do not end."""
    budget = _budget.get()
    return _within(budget and budget._replace(oracle_deadline=math.inf))


def shared(function):
    """The function with the current budget, wherever joblib may run it."""
    left = budget_now().left
    # The clock of all processes.
    return partial(_run_until, None if left == math.inf else time.time() + left, function)


def _run_until(end, function, *args, **kwargs):
    # What is over already gets the least that is a limit.
    with time_budget(None if end is None else max(end - time.time(), 1e-9)):
        return function(*args, **kwargs)


def time_left():
    """Seconds until the caller of an oracle wants its answer; inf without a limit.

    `TRWMarginals` and `PairwiseMRF.map` set the limit, each thread its own. When it has passed (the
    number is negative), oracles return what they have, or raise a `TimeoutError`.

    Examples
    --------
    >>> from sklearn_fw.inference import time_left
    >>> time_left()
    inf
    """
    budget = _budget.get()
    if budget is None or budget.oracle_deadline == math.inf:
        return math.inf
    return budget.oracle_deadline - time.perf_counter()
