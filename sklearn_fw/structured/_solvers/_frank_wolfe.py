"""Batch Frank-Wolfe: all blocks move by one common step."""

import numpy as np

from ..._validation import check_choice
from ._base import Solution, Solver, check_bounds
from ._block_frank_wolfe import STEP_SIZES, batch_step, numbers

__all__ = ["FrankWolfe"]


class FrankWolfe(Solver):
    """Frank-Wolfe on the whole dual: n oracle calls and one line search per iteration.

    The gap is free in every iteration; convergence is n times slower than block-coordinate
    Frank-Wolfe in oracle calls. Choose it as a reference, or when oracle calls run in parallel on
    many machines.

    Parameters
    ----------
    step_size : {"line_search", "universal"}, default="line_search"
        "universal" takes steps of 2 / (k + 2).
    lower_bounds, upper_bounds : float, array-like of shape (n_weights,) or None, default=None
        Box for the weights; None takes what ``model.bounds()`` says, if anything.

    See Also
    --------
    BlockFrankWolfe : One sample at a time.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher, "Block-coordinate Frank-Wolfe
       optimization for structural SVMs", ICML 2013: Algorithm 2.

    Examples
    --------
    >>> from sklearn_fw.structured import FrankWolfe, StructuredSVM
    >>> StructuredSVM(solver=FrankWolfe(step_size="universal")).get_params()["solver__step_size"]
    'universal'
    """

    def __init__(self, *, step_size="line_search", lower_bounds=None, upper_bounds=None):
        self.step_size = step_size
        self.lower_bounds = lower_bounds
        self.upper_bounds = upper_bounds

    def start(self, blocks, *, lam, tol, rng, warm=None):
        """Begin on a dual problem.

        Parameters
        ----------
        blocks : Blocks
            The dual problem.
        lam : float
            Regularisation.
        tol : float
            Gap to reach.
        rng : RandomState
            Not used: the method is deterministic.
        warm : dict or None, default=None
            Exported dual variables, which are kept as they are.

        Returns
        -------
        method : object
            For the loop driver.
        """
        check_choice(self.step_size, "step_size", STEP_SIZES)
        bounds = check_bounds(self.lower_bounds, self.upper_bounds, blocks.n_weights)
        blocks.reset(lam, bounds=bounds)
        if warm is not None:
            blocks.restore(warm)
        return _BatchMethod(blocks, tol, self.step_size == "line_search")


class _BatchMethod:
    def __init__(self, blocks, tol, line_search):
        self.blocks, self.tol, self.line_search = blocks, tol, line_search
        self.n_steps = 0
        self.last = None

    def step(self):
        """The gap of the current point, then a step unless it is small enough."""
        if self.last is not None:  # the point certified last was not the end: leave it
            self._advance()
        return self.certify()

    def _advance(self):
        if self.line_search:
            batch_step(self.blocks, self.last)
        else:
            self.blocks.step_towards(self.last.sweep.answers, 2.0 / (self.n_steps + 2.0))
            self.blocks.refresh()
        self.n_steps += 1

    def weights(self):
        """The point of the moment."""
        return self.blocks.w

    def certify(self):
        """n oracle calls at the current point."""
        self.last = self.blocks.certify()
        return numbers(self.last, self.blocks, self.last.gap)

    def solution(self):
        """The point last certified."""
        point, sweep = self.last, self.last.sweep
        gaps = np.maximum(self.blocks.weight * (sweep.hinge - sweep.current), 0.0)
        return Solution(point.w.copy(), point.primal, point.dual, point.gap, gaps)
