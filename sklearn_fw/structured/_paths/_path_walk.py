"""How a path finds its breakpoints, whatever its parameter is."""

import math

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._core.budget import budget_now
from ..._core.loop import drive
from ..._core.warnings import warn

# Log ratios of the parameter from one breakpoint to the next: the first, and the largest. Where
# mixtures would allow more, a warm start from afar costs more passes than a breakpoint between.
FIRST_STRIDE = LONGEST_STRIDE = 1.2
# How much of the predicted stride is taken, and how much longer or shorter it may become at once.
SAFETY, SHRINK, GROW = 0.9, 0.4, 1.5
# Relative distance of values of the parameter that count as equal.
TOUCH = 1e-12


class _Ended(Exception):
    """The path cannot go on; the message says why."""


class Walk:
    """Breakpoints from strong to weak regularization, in ``solved``.

    Parameters
    ----------
    method : object
        For `_loop.drive`, with ``tol``, ``move_to(at)`` and ``breakpoint()``, which has ``at``,
        ``gap`` and ``hinge``.
    eps : float
        Accuracy everywhere.
    make_piece : callable
        ``make_piece(left, right)`` says what two breakpoints prove about what is between them.
    ends : tuple of float
        Where the path begins and where it ends at the latest.
    at_end : str
        Why the path ends there.
    max_iter, max_breakpoints, verbose : object
        Budgets besides the time, and whether to log.
    """

    def __init__(
        self, method, eps, make_piece, *, ends, at_end, max_iter, max_breakpoints, verbose
    ):
        self.method, self.eps, self.make_piece = method, eps, make_piece
        (self.start, self.end), self.at_end = ends, at_end
        self.sign = 1.0 if self.start < self.end else -1.0
        self.max_iter, self.verbose = max_iter, verbose
        self.max_breakpoints = max_breakpoints
        self.solved, self.n_solved, self.stride = [], 0, FIRST_STRIDE

    def run(self):
        """Go on until the end, which `ended` names."""
        try:
            self.solved.append(self._solve(self.start))
            ahead = []  # solutions beyond pieces that must be halved first
            while True:
                here = self.solved[-1]
                goal = ahead.pop() if ahead else self._solve(self._next(here))
                piece = self.make_piece(here, goal)
                gaps = piece.probe()
                if gaps.max() <= self.eps and piece.is_certified(self.eps):
                    self.solved.append(goal)
                    self._adapt_stride(piece, gaps.max())
                else:
                    share = np.clip(np.argmax(gaps) / (len(gaps) - 1), 0.25, 0.75)
                    at = here.at * (goal.at / here.at) ** share
                    if not min(here.at, goal.at) < at < max(here.at, goal.at):
                        raise _Ended("rounding")
                    ahead += [goal, self._solve(at)]
        except _Ended as reason:
            if not self.solved:
                budget = "time_limit" if str(reason) == "time_limit" else "max_iter"
                raise RuntimeError(f"no breakpoint was reached: increase {budget} or eps") from None
            self.ended = str(reason)

    def warn_if_short(self, name, last):
        """Warn of a path that ends because a breakpoint could not be solved."""
        if self.ended not in ("max_iter", "rounding"):
            return
        passes = self.ended == "max_iter"
        warn(
            f"the path ends at {name} = {last:.3g}: "
            f"{f'{self.max_iter} passes' if passes else 'steps as short as rounding'} missed a gap "
            f"of kappa * eps = {self.method.tol:.3g} at the next {name}; increase "
            f"{'max_iter or ' if passes else ''}eps",
            ConvergenceWarning,
        )

    def _next(self, here):
        if here.hinge <= self.eps:
            raise _Ended("hinge")
        if self._is_beyond(here.at):
            raise _Ended(self.at_end)
        stride = self.sign * self.stride
        at = here.at * math.exp(stride)
        if at == here.at:
            raise _Ended("rounding")
        # No short last step.
        return self.end if self._is_beyond(at * math.exp(0.2 * stride)) else at

    def _is_beyond(self, at):
        return self.sign * (at - self.end) >= 0.0

    def _solve(self, at):
        if self.max_breakpoints is not None and self.n_solved >= self.max_breakpoints:
            raise _Ended("max_breakpoints")
        if self.n_solved and budget_now().is_spent:
            raise _Ended("time_limit")
        self.n_solved += 1
        method = self.method
        method.move_to(at)
        outcome = drive(method, tol=method.tol, max_iter=self.max_iter, verbose=self.verbose)
        if not outcome.converged:
            raise _Ended(outcome.status.name.lower())
        return method.breakpoint()

    def _adapt_stride(self, piece, gap):
        """The part of the gap that mixing adds grows with the square of the stride."""
        ends = max(piece.left.gap, piece.right.gap)
        added = max(gap - ends, 1e-3 * self.eps)
        free = self.eps - 0.5 * (ends + self.method.tol)
        factor = np.clip(SAFETY * math.sqrt(free / added), SHRINK, GROW)
        stride = abs(math.log(piece.left.at / piece.right.at))
        self.stride = min(factor * stride, LONGEST_STRIDE)
