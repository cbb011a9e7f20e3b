"""Frank-Wolfe on batches of samples, whose oracles run in workers."""

import numpy as np

from ..._loop import IterativeMethod
from ..._validation import check_choice, check_integer, check_not_negative
from ._base import Solution, Solver, check_bounds, numbers
from ._kept_outputs import revisit_rules

__all__ = ["MinibatchFrankWolfe"]

SAMPLINGS = ("gap", "shuffle")
# Samples of a batch for each worker, and the share of all samples that a batch is at most.
PER_WORKER, LARGEST_SHARE = 8, 0.1
REPEATS = 2  # steps for each sample of a batch


class MinibatchFrankWolfe(Solver):
    def __init__(
        self,
        batch_size="auto",
        *,
        sampling="gap",
        cache_size=50,
        gap_check=10,
        early_exit=0.8,
        lower_bounds=None,
        upper_bounds=None,
    ):
        self.batch_size = batch_size
        self.sampling = sampling
        self.cache_size = cache_size
        self.gap_check = gap_check
        self.early_exit = early_exit
        self.lower_bounds = lower_bounds
        self.upper_bounds = upper_bounds

    def start(self, blocks, *, lam, tol, rng, warm=None):
        if not (isinstance(self.batch_size, str) and self.batch_size == "auto"):
            check_integer(self.batch_size, "batch_size", 1)
        check_choice(self.sampling, "sampling", SAMPLINGS)
        check_integer(self.cache_size, "cache_size", 2)
        check_integer(self.gap_check, "gap_check", 1)
        check_not_negative(self.early_exit, "early_exit")
        bounds = check_bounds(self.lower_bounds, self.upper_bounds, blocks.n_weights)
        blocks.reset(lam, capacity=int(self.cache_size), bounds=bounds)
        if warm is not None:
            blocks.restore(warm)
        return _Method(self, blocks, tol, rng, warm is not None)

    def _size_for(self, blocks):
        if self.batch_size != "auto":
            return min(int(self.batch_size), blocks.n_blocks)
        n_workers = 1 if blocks.is_compiled else blocks.workers.size
        if n_workers == 1:
            return 1
        most = max(n_workers, int(LARGEST_SHARE * blocks.n_blocks))
        return min(PER_WORKER * n_workers, most, blocks.n_blocks)


class _Method(IterativeMethod):
    """The state of one run; `_loop.drive` calls `step` for every pass."""

    def __init__(self, settings, blocks, tol, rng, check_first):
        self.settings, self.blocks, self.tol, self.rng = settings, blocks, tol, rng
        self.rules, self.size = revisit_rules(blocks.lam), settings._size_for(blocks)
        self.check_first, self.n_passes, self.last = check_first, 0, None

    def step(self):
        """n oracle calls, batch after batch; a row when a certificate follows."""
        if self.check_first:
            self.check_first = False
            return self.certify()
        is_done = self._pass()
        self.n_passes += 1
        enough = float(self.settings.early_exit) * self.blocks.gap_limit(self.tol)
        if is_done or self.n_passes >= self.settings.gap_check:
            return self.certify()
        if self.blocks.gaps.value.sum() <= enough:
            return self.certify()
        self.last = None
        return None

    def _pass(self):
        """True when no sample has a gap left."""
        n, n_asked = self.blocks.n_blocks, 0
        queue = self.rng.permutation(n) if self.settings.sampling == "shuffle" else None
        while n_asked < n:
            size = min(self.size, n - n_asked)
            batch = self._draw(size) if queue is None else queue[n_asked : n_asked + size]
            if not len(batch):
                return True
            self._visit(batch)
            n_asked += len(batch)
        return False

    def _draw(self, size):
        """Different samples in proportion to their last known gaps, those without one first."""
        gaps = self.blocks.gaps.value
        unseen = np.flatnonzero(np.isinf(gaps))
        if len(unseen):
            return self.rng.permutation(unseen)[:size]
        size, total = min(size, np.count_nonzero(gaps)), gaps.sum()
        return self.rng.choice(len(gaps), size, replace=False, p=gaps / total) if size else []

    def _visit(self, batch):
        """Answers of a batch at the same weights, and the steps of its samples."""
        from ..._kernels.structured.block_rules import set_gap
        from ._visits import take_in, visit_blocks

        blocks = self.blocks
        for i, answer in zip(batch, blocks.answers(batch, blocks.w), strict=True):
            current, _ = blocks.values(i)
            set_gap(blocks.gaps, i, max(blocks.weight[i] * (answer.value - current), 0.0), 1.0)
            take_in(blocks, i, answer, self.rules)
        order = np.concatenate([self.rng.permutation(batch) for _ in range(REPEATS)])
        visit_blocks(blocks, order, np.zeros(len(order)), self.rules)

    def certify(self):
        """Exact gap pass at the iterate, and the numbers that it gives."""
        blocks, estimate = self.blocks, float(self.blocks.gaps.value.sum())
        self.n_passes = 0
        blocks.refresh()
        self.last = blocks.certify()
        blocks.set_gaps(self.last.sweep)
        return numbers(self.last, blocks, estimate)

    def weights(self):
        """The point of the moment."""
        return self.blocks.w

    def solution(self):
        """The point last certified."""
        point = self.last
        return Solution(
            point.w.copy(), point.primal, point.dual, point.gap, self.blocks.gaps.value
        )
