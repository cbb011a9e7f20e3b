"""How an iterative method ended, and what to do about it."""

from enum import Enum

__all__ = ["Status"]


class Status(Enum):
    """End states of the loop in `_loop.py`; the value is the advice printed with a warning."""

    RUNNING = "still running"
    CONVERGED = "the certificate is at most tol"
    LOOSE = "the certificate is at most tol, but more than a tenth of the objective"
    MAX_ITER = "increase max_iter, loosen tol or scale the features"
    TIME_LIMIT = "increase time_limit, loosen tol or scale the features"
    STOPPED = "a callback asked to stop"
    FINISHED = "the method ran its passes; it has no certificate to stop on"
