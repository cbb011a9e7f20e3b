"""Frank-Wolfe on batches of samples, whose oracles run in workers."""

import numpy as np

from ..._core.parameters import at_least, auto_or, options
from ..._core.validation import check_not_negative, is_auto
from ._base import DualMethod, Solver
from ._visits import revisit_rules, take_in, visit_blocks

# Samples of a batch for each worker, and the share of all samples that a batch is at most.
PER_WORKER, LARGEST_SHARE = 8, 0.1
REPEATS = 2  # steps for each sample of a batch


class MinibatchFrankWolfe(Solver):
    """Block-coordinate Frank-Wolfe whose oracles run in workers, with a certified gap.

    The oracle is asked for a batch of samples at the same weights, by ``n_jobs`` workers of
    `StructuredSVM`. Then their blocks of dual variables move together: pairwise steps with exact
    line searches, among the answers and all outputs that these samples met before, each at the
    weights that the last one left. Choose it where a call of the oracle takes more than some 50
    microseconds and there is more than one processor, or machine, to make it.

    Parameters
    ----------
    batch_size : int or "auto", default="auto"
        Samples asked at the same weights. "auto" is one for one worker, else 8 for each, as long as
        these are not more than a tenth of all samples.
    sampling : {"gap", "shuffle"}, default="gap"
        The samples of a batch, all different: with probability proportional to their last known
        gaps, or the next ones of a fresh permutation for each pass.
    cache_size : int, default=50
        Outputs per sample. When full, the worst one without a dual variable makes room; if all are
        in use the table grows.
    gap_check : int, default=10
        Passes between exact gap passes, which refresh all gaps and give the certificate.
    early_exit : float, default=0.8
        Certify early when the last known gaps sum to at most ``early_exit * tol``.
    lower_bounds, upper_bounds : float, array-like of shape (n_weights,) or None, default=None
        Box for the weights; None takes what ``model.bounds()`` says, if anything.

    See Also
    --------
    BlockFrankWolfe : One sample at a time, with compiled passes where oracles are.
    NSlack : All samples at a time.

    Notes
    -----
    Workers are threads where the attribute ``releases_gil`` of the oracle, or of a model that
    brings its own inference, is true, and processes otherwise; `joblib.parallel_config` decides
    where it was called, for clusters as well: ``with parallel_config(backend="dask")``. A process
    gets the model and each sample once. Oracles that run inside compiled passes are called one
    after the other. Runs with the same ``batch_size`` and ``random_state`` are the same bit by
    bit, whatever the number of workers.

    Exact steps one after the other are the coordinate ascent of the quadratic in all step sizes of
    the batch, where [1]_ takes one common step size; and there nobody waits for a batch.

    References
    ----------
    .. [1] Y.-X. Wang, V. Sadhanala, W. Dai, W. Neiswanger, S. Sra, E. Xing, "Parallel and
       distributed block-coordinate Frank-Wolfe algorithms", ICML 2016.
    .. [2] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania, S. Lacoste-Julien, "Minding the gaps
       for block Frank-Wolfe optimization of structured SVMs", ICML 2016: gap sampling, pairwise
       steps, caching.

    Examples
    --------
    >>> from sklearn_fw.structured import MinibatchFrankWolfe, StructuredSVM
    >>> svm = StructuredSVM(solver=MinibatchFrankWolfe(batch_size=2), C=1.0, tol=1e-6)
    >>> svm.fit([[0.0], [1.0], [0.1], [0.9]], [0, 1, 0, 1]).converged_
    True
    """

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

    parameters = {
        "batch_size": auto_or(at_least(1)),
        "sampling": options("gap", "shuffle"),
        "cache_size": at_least(2),
        "gap_check": at_least(1),
        "early_exit": check_not_negative,
    }

    def start(self, blocks, *, lam, tol, rng, warm=None):
        self._reset(blocks, lam, warm, capacity=int(self.cache_size))
        return _Method(self, blocks, tol, rng, warm is not None)

    def _size_for(self, blocks):
        if not is_auto(self.batch_size):
            return min(int(self.batch_size), blocks.n_blocks)
        n_workers = 1 if blocks.is_compiled else blocks.workers.size
        if n_workers == 1:
            return 1
        most = max(n_workers, int(LARGEST_SHARE * blocks.n_blocks))
        return min(PER_WORKER * n_workers, most, blocks.n_blocks)


class _Method(DualMethod):
    """The state of one run; `_loop.drive` calls `step` for every pass."""

    def __init__(self, settings, blocks, tol, rng, check_first):
        self.settings, self.blocks, self.tol, self.rng = settings, blocks, tol, rng
        self.rules, self.size = revisit_rules(blocks.lam), settings._size_for(blocks)
        self.check_first = check_first

    def run_pass(self):
        """n oracle calls, batch after batch; True when no sample has a gap left."""
        self.passes_since_check += 1
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
        blocks = self.blocks
        for i, answer in zip(batch, blocks.answers(batch, blocks.w), strict=True):
            take_in(blocks, i, answer, self.rules)
        order = np.concatenate([self.rng.permutation(batch) for _ in range(REPEATS)])
        visit_blocks(blocks, order, np.zeros(len(order)), self.rules)
