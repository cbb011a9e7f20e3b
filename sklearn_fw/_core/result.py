"""What an iterative method reports: rows of numbers on the way, and how it ended."""

from enum import Enum
from itertools import chain
from typing import NamedTuple

import numpy as np


class Status(Enum):
    """End states of the loop in `_loop.py`; the value is the advice printed with a warning."""

    RUNNING = "still running"
    CONVERGED = "the certificate is at most tol"
    LOOSE = "the certificate is at most tol, but more than a tenth of the objective"
    MAX_ITER = "increase max_iter, loosen tol or scale the features"
    TIME_LIMIT = "increase time_limit, loosen tol or scale the features"
    STOPPED = "a callback asked to stop"
    ROUNDING = "rounding errors leave no more: loosen tol"
    FINISHED = "the method ran its passes; it has no certificate to stop on"


class History:
    """Rows of numbers by name; loops that belong to one fit write into one.

    The same number has the same name everywhere: "n_iter", "time" (seconds since the fit began),
    "n_oracle_calls", "objective", "dual_objective" (what is proven about the optimum from the other
    side), "dual_gap" (their distance), "estimated_gap" (the same without proof). Methods add
    columns of their own.
    """

    def __init__(self):
        self.rows = []
        self.n_iter = 0  # of all loops
        self.common = {}  # columns of the loop that is under way

    def add(self, row):
        """Append a row; None stands for a number that is not known."""
        row = self.common | row if self.common else row
        if None in row.values():
            row = {name: value for name, value in row.items() if value is not None}
        self.rows.append(row)

    def amend(self, **numbers):
        """Add numbers to the last row, which are known after its loop only."""
        self.rows[-1] |= {name: value for name, value in numbers.items() if value is not None}

    def columns(self):
        """Dict of arrays of equal length, with NaN for numbers that only other rows have."""
        names = dict.fromkeys(chain.from_iterable(self.rows))
        return {name: np.array([row.get(name, np.nan) for row in self.rows]) for name in names}


class Outcome(NamedTuple):
    """How a fit ended, and the way there; what estimators and results store of it."""

    status: Status
    n_iter: int
    history: dict  # of arrays, see `History`

    @classmethod
    def joined(cls, outcomes):
        """The outcome of several problems; "output" tells their rows apart."""
        statuses, n_iters, histories = zip(*outcomes, strict=True)
        history = {name: np.concatenate([own[name] for own in histories]) for name in histories[0]}
        if len(histories) > 1:
            lengths = [len(history["n_iter"]) for history in histories]
            history["output"] = np.repeat(np.arange(len(histories)), lengths)
        return cls(max(statuses, key=list(Status).index), max(n_iters), history)

    @property
    def converged(self):
        return self.status is Status.CONVERGED

    def attributes(self):
        """What an estimator stores, by name."""
        return {
            "n_iter_": self.n_iter,
            "converged_": self.converged,
            "status_": self.status.name.lower(),
            "history_": self.history,
        }

    def fields(self):
        return {
            "nit": self.n_iter,
            "success": self.converged,
            "status": self.status.name.lower(),
            "message": self.status.value,
            "history": self.history,
        }
