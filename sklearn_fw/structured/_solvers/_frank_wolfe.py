"""Batch Frank-Wolfe: all blocks move by one common step."""

import numpy as np

from ..._core.parameters import options
from ...optim._frank_wolfe import _core as core
from ...optim._frank_wolfe._steps import universal
from ._base import STEP_SIZES, Solution, Solver, numbers
from ._visits import batch_line_search


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

    parameters = {"step_size": options(*STEP_SIZES)}

    def start(self, blocks, *, lam, tol, rng, warm=None):
        self._reset(blocks, lam, warm)
        return _BatchMethod(blocks, self.step_size == "line_search")


class _Corners:
    """All blocks as one iterate: its oracle is a sweep, whose answers together are a corner."""

    slack = away_gap = length = 0.0
    active, n_atoms = None, 0

    def __init__(self, blocks):
        self.blocks, self.certificate, self.gap = blocks, None, np.inf

    def look(self):
        """n oracle calls at the current point."""
        self.certificate = self.blocks.certify()
        self.gap = self.certificate.gap

    def longest(self, kind):
        return 1.0

    def advance(self, kind, step):
        if step > 0.0:
            self.blocks.step_towards(self.certificate.sweep.answers, step)
            self.blocks.refresh()


class _BatchMethod(core.FrankWolfe):
    def __init__(self, blocks, line_search):
        self.blocks, self.corners = blocks, _Corners(blocks)
        super().__init__([self.corners], "fw", self._best_step if line_search else universal)

    def _best_step(self, state):
        return batch_line_search(self.blocks, self.corners.certificate.sweep.answers)

    def look(self):
        self.corners.look()
        self.value = self.corners.certificate.primal

    def row(self):
        return numbers(self.corners.certificate, self.blocks, self.gap)

    def weights(self):
        """The point of the moment."""
        return self.blocks.w

    def solution(self):
        """The point last certified."""
        point, sweep = self.corners.certificate, self.corners.certificate.sweep
        gaps = np.maximum(self.blocks.weight * (sweep.hinge - sweep.current), 0.0)
        return Solution(point.w.copy(), point.primal, point.dual, point.gap, gaps)
