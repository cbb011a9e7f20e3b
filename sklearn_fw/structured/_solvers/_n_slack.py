"""Cutting planes of every sample: the n-slack formulation."""

import numpy as np

from ..._core.budget import budget_now
from ..._core.loop import IterativeMethod
from ..._core.validation import check_integer
from ._base import Solution, Solver, check_bounds, numbers
from ._visits import revisit_rules, visit_blocks

# The quadratic program is solved until its gap is this share of the last certified one, by so many
# rounds at most; a round visits the samples that hold most of its gap so many times.
SHARE, MOST_ROUNDS, REPEATS, MOST_OF_GAP = 0.3, 100, 2, 0.9


class NSlack(Solver):
    """Cutting planes with a slack variable for every sample, and a certified gap.

    Every iteration asks the oracle for all samples and keeps the answers. The dual of the
    quadratic program over the outputs kept so far, the same as that of `BlockFrankWolfe` over these
    alone, is then solved by pairwise steps without calls of the oracle. Choose it for slow oracles
    that run in many workers; it takes fewer rounds of calls than any other solver.

    Parameters
    ----------
    cache_size : int, default=50
        Outputs per sample. When full, the worst one without a dual variable makes room; if all are
        in use the table grows.
    lower_bounds, upper_bounds : float, array-like of shape (n_weights,) or None, default=None
        Box for the weights; None takes what ``model.bounds()`` says, if anything.

    See Also
    --------
    OneSlack : One slack variable for all samples.
    MinibatchFrankWolfe : Oracles of some samples at a time.
    BlockFrankWolfe : One sample at a time.

    Notes
    -----
    Answers are taken of all samples before the quadratic program is solved again, where [1]_ asks
    for one after the other; and the stop is the certified gap of the common objective. Memory: as
    that of `BlockFrankWolfe` with corners.

    References
    ----------
    .. [1] I. Tsochantaridis, T. Joachims, T. Hofmann, Y. Altun, "Large margin methods for
       structured and interdependent output variables", JMLR 6, 2005: Algorithm 1.
    .. [2] T. Joachims, T. Finley, C.-N. J. Yu, "Cutting-plane training of structural SVMs", Machine
       Learning 77, 2009: Algorithm 1.

    Examples
    --------
    >>> from sklearn_fw.structured import NSlack, StructuredSVM
    >>> svm = StructuredSVM(solver=NSlack(), C=1.0, tol=1e-6)
    >>> svm.fit([[0.0], [1.0], [0.1], [0.9]], [0, 1, 0, 1]).converged_
    True
    """

    def __init__(self, *, cache_size=50, lower_bounds=None, upper_bounds=None):
        self.cache_size = cache_size
        self.lower_bounds = lower_bounds
        self.upper_bounds = upper_bounds

    def start(self, blocks, *, lam, tol, rng, warm=None):
        check_integer(self.cache_size, "cache_size", 2)
        bounds = check_bounds(self.lower_bounds, self.upper_bounds, blocks.n_weights)
        blocks.reset(lam, capacity=int(self.cache_size), bounds=bounds)
        if warm is not None:
            blocks.restore(warm)
        return _Method(blocks, rng)


class _Method(IterativeMethod):
    """The state of one run; `_loop.drive` calls `step` for every round of oracle calls."""

    def __init__(self, blocks, rng):
        self.blocks, self.rng, self.rules = blocks, rng, revisit_rules(blocks.lam)
        self.last = None

    def step(self):
        """The quadratic program over what is kept, and n oracle calls."""
        if self.last is not None:
            self.blocks.keep(self.last.sweep.answers)
            self._solve(SHARE * self.last.gap)
        return self.certify()

    def _solve(self, enough):
        """Pairwise steps among outputs that are kept, until they have no more to gain."""
        blocks = self.blocks
        for _ in range(MOST_ROUNDS):
            _, values, current = blocks.best_kept()
            gaps = np.maximum(blocks.weight * (values - current), 0.0)
            if gaps.sum() <= enough or budget_now().is_spent:
                break
            order = np.argsort(-gaps)
            most = np.searchsorted(np.cumsum(gaps[order]), MOST_OF_GAP * gaps.sum())
            order = np.concatenate(
                [self.rng.permutation(order[: most + 1]) for _ in range(REPEATS)]
            )
            visit_blocks(blocks, order, np.zeros(len(order)), self.rules)
        blocks.refresh()

    def certify(self):
        """n oracle calls at the point of the moment."""
        self.last = self.blocks.certify()
        self.blocks.set_gaps(self.last.sweep)
        return numbers(self.last, self.blocks, np.inf)

    def weights(self):
        """The point of the moment."""
        return self.blocks.w

    def solution(self):
        """The point last certified."""
        point = self.last
        return Solution(point.w.copy(), point.primal, point.dual, point.gap, self.blocks.gaps.value)
