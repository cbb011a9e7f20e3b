"""The time that an oracle has: set by who asks, read by oracles whose calls can take long."""

import math
import time
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["deadline_after", "time_left"]

_deadline = ContextVar("deadline", default=math.inf)


@contextmanager
def deadline_after(seconds):
    """Here `time_left` counts down from ``seconds``, or from less if it did before."""
    token = _deadline.set(min(_deadline.get(), time.perf_counter() + seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


def time_left():
    """Seconds that the caller of an oracle still gives it, for oracles that can end early.

    `TRWMarginals` and `PairwiseMRF.map` set the limit before they call an oracle, each thread its
    own. An oracle with a good answer at any time returns what it has when no time is left; one that
    has nothing until its end raises a `TimeoutError`.

    Returns
    -------
    seconds : float
        inf without a limit; negative when it has passed.

    Examples
    --------
    >>> from sklearn_fw.inference import time_left
    >>> time_left()
    inf
    """
    deadline = _deadline.get()
    return math.inf if deadline == math.inf else deadline - time.perf_counter()
