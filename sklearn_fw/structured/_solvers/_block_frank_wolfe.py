"""Frank-Wolfe on the distributions of samples: one at a time, a batch, or all by a common step."""

from dataclasses import KW_ONLY

import numpy as np

from ..._core import check
from ..._core.warnings import warn
from ..._kernels import lazy
from ..._kernels.common.step_rules import open_loop_step
from ._base import BoxSolver, Breakpoint, DualMethod, SweepMethod, check_switch, numbers
from ._visits import batch_step, revisit_rules, take_in, visit_blocks, visit_repeatedly

block_rules = lazy("structured.block_rules")

STEP_SIZES = ("line_search", "universal")
# In the order of the codes of block_rules.
VARIANTS = ("fw", "pairwise", "away", "hybrid", "exact")
# "active" asks for a certificate when the known gaps are this share of the last certified ones.
ACTIVE_SHARE = 0.1
ACTIVE_REPEATS = 10
EAGER = 0.8  # of the passes that a gap of one over passes would take
# Samples of a batch for each worker, and the share of all samples that a batch is at most.
PER_WORKER, LARGEST_SHARE = 8, 0.1
REPEATS = 2  # steps for each sample of a batch


class BlockFrankWolfe(BoxSolver):
    """Block-coordinate Frank-Wolfe on the dual problem, with a certified gap.

    Each visit calls the oracle for one sample and makes an exact line search on its block of dual
    variables. `StructuredSVM` has names for the usual settings: "bcfw", "bcpfw" (pairwise), "bcafw"
    (away), "bchybrid", "cached" (pairwise with a cache, ``cache_f=0.1`` and ``gap_check=15``) and,
    for classes, "sdm" (``variant="exact"`` with ``sampling="active"``).

    Parameters
    ----------
    variant : {"fw", "pairwise", "away", "hybrid", "exact"}, default="fw"
        Direction: towards the oracle's vertex; from the worst active vertex to it; the better of
        towards and away by slope; the best of the three by dual increase. "exact" maximizes over
        all dual variables of the sample [3]_: by a projection where an output is one class and the
        oracle is the model's own, else by at most 200 oracle calls and pairwise steps, until a
        thousandth of the sample's gap is left. All but "fw" keep explicit dual variables.
    sampling : {"gap", "uniform", "shuffle", "max_gap", "active"}, default="gap"
        Next sample: with probability proportional to its last known gap, uniform, in a fresh
        permutation each pass, or the one of largest gap (stale gaps can mislead it). "active", for
        exact steps, permutes those that still had a gap when last visited; its pass ends with a
        certificate, once known gaps have fallen to a tenth of the last one or after
        ``gap_check * n`` visits.
    gap_degree : float, default=1.0
        Power of the gaps in gap sampling.
    cache : bool or "auto", default="auto"
        Try vertices already seen before the oracle; "auto" is False. Saves oracle calls, costs
        time when the oracle is cheap.
    cache_f, cache_nu : float, default=0.25, 0.01
        A cached vertex is good enough when its gap is at least ``cache_f`` times the last oracle
        gap of the sample and ``cache_nu / n`` times the last total gap.
    cache_size : int, default=50
        Vertices per sample. When full, unused ones are evicted; if all are in use the table grows,
        except for ``variant="fw"``, which evicts the worst and then has no ``dual_coef_``.
    gap_check : int, default=10
        Passes between exact gap passes, which refresh all gaps and give the certificate.
    early_exit : float, default=0.8
        Certify early when the last known gaps sum to at most ``early_exit * tol``.
    averaging : bool or "auto", default=False
        Return the average of the iterates, weighted by their number, and its own certificate.
        Predicts better long before the optimum is reached. "auto" returns the average or the last
        iterate, whichever has the lower objective, with the better of both lower bounds;
        ``variant="fw"`` only, as the average has no ``dual_coef_``.
    step_size : {"line_search", "universal"}, default="line_search"
        "universal" takes steps of 2n / (k + 2n), for ``variant="fw"`` only.
    batch_step : bool, default=False
        Use the vertices of every gap pass for one common step of all blocks.
    lower_bounds, upper_bounds : float, array-like of shape (n_weights,) or None, default=None
        Box for the weights; None takes ``model.bounds()``, if any.
    warm_start_type : {"keep_primal", "keep_dual", "none"}, default="keep_primal"
        What a warm start with another C keeps: the weights (with a smaller C the dual
        variables), the dual variables, or nothing.

    See Also
    --------
    FrankWolfe : All blocks at once.
    Subgradient : Primal baseline without a certificate.

    Notes
    -----
    More than 13 parameters: four define the cache, two are the sides of a box, and each is a
    grid key of its own.

    A pass costs n oracle calls minus cache hits; a gap pass costs n more. The expected gap falls as
    O(1/k). Memory: one number per part of every sample, plus ``cache_size`` labelings per sample
    when vertices are kept.

    ``n_jobs`` threads of the estimator visit samples of their own in long passes with compiled
    oracles, all but those of ``sampling="max_gap"``; their steps do not wait for each other [4]_.

    Deviations from [1]_: a direction that leaves the weights unchanged but raises the loss is
    taken in full (length 0/0 in the paper); before the first gap pass the cache compares with the
    gap of w = 0, known in closed form; with bounds the hybrid rule compares lower bounds on the
    increase.

    References
    ----------
    .. [1] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania, S. Lacoste-Julien, "Minding the gaps
       for block Frank-Wolfe optimization of structured SVMs", ICML 2016: Algorithms 1 to 5, 9.
    .. [2] S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher, "Block-coordinate Frank-Wolfe
       optimization for structural SVMs", ICML 2013: Algorithm 4 and weighted averaging.
    .. [3] S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin, "A sequential dual
       method for large scale multi-class linear SVMs", KDD 2008: sub-problems and shrinking; here
       the gap decides both, and projections onto the simplex solve them.
    .. [4] Y.-X. Wang, V. Sadhanala, W. Dai, W. Neiswanger, S. Sra, E. Xing, "Parallel and
       distributed block-coordinate Frank-Wolfe algorithms", ICML 2016: asynchronous steps; here a
       thread adds to the same weights or, where these are few, to a copy, and copies meet often.

    Examples
    --------
    >>> from sklearn_fw.structured import BlockFrankWolfe, StructuredSVM
    >>> svm = StructuredSVM(solver=BlockFrankWolfe(variant="pairwise", sampling="uniform"))
    >>> svm.set_params(solver__sampling="gap").solver.sampling
    'gap'
    """

    variant: check.options(*VARIANTS) = "fw"
    _: KW_ONLY
    sampling: check.options("uniform", "shuffle", "gap", "max_gap", "active") = "gap"
    gap_degree: check.positive = 1.0
    cache: check_switch = "auto"
    cache_f: check.not_negative = 0.25
    cache_nu: check.not_negative = 0.01
    cache_size: check.at_least(1) = 50
    gap_check: check.at_least(1) = 10
    early_exit: check.not_negative = 0.8
    averaging: check_switch = False
    step_size: check.options(*STEP_SIZES) = "line_search"
    batch_step: check.flag = False
    warm_start_type: check.options("keep_primal", "keep_dual", "none") = "keep_primal"

    def start(self, blocks, *, lam, tol, rng, warm=None):
        name = f"variant={self.variant!r}"
        if self.step_size != "line_search" and self.variant != "fw":
            raise ValueError(f"step_size='universal' is defined for variant='fw' only, got {name}")
        if check.is_auto(self.averaging) and self.variant != "fw":
            raise ValueError(f"averaging='auto' is defined for variant='fw' only, got {name}")
        if self.cache is True and self.cache_size < 2:
            raise ValueError("cache_size must be at least 2: the truth and one other vertex")
        if self.cache is True and self.variant == "exact":
            raise ValueError("variant='exact' does not use a cache: set cache=False")
        if self.sampling == "active" and self.variant != "exact":
            raise ValueError(f"sampling='active' is defined for variant='exact' only, got {name}")
        return _BlockMethod(self, blocks, lam, tol, rng, warm)


class _BlockMethod(DualMethod):
    def __init__(self, settings, blocks, lam, tol, rng, warm):
        self.settings, self.blocks, self.tol, self.rng = settings, blocks, tol, rng
        use_cache = settings.cache is True
        marginals_suffice = settings.variant == "exact" and blocks.single
        explicit = use_cache or (settings.variant != "fw" and not marginals_suffice)
        self.rules = block_rules.Rules(
            lam, VARIANTS.index(settings.variant), settings.step_size == "line_search", use_cache,
            float(settings.cache_f), float(settings.cache_nu), float(settings.gap_degree),
            shrink=settings.sampling == "active",
        )  # fmt: skip
        capacity = int(settings.cache_size) if explicit else 0
        settings._reset(blocks, lam, capacity=capacity, averaging=bool(settings.averaging))
        self.averages = bool(settings.averaging)  # whether the current point is the average
        self.check_first = warm is not None and settings.warm_start_type != "none"
        if self.check_first:
            self._warm_start(warm, lam)
        self.n_passes = 0
        self.vertices = None  # certificate whose answers await a batch step
        self.warned = False  # of a negative gap

    def _warm_start(self, warm, lam):
        blocks = self.blocks
        blocks.restore(warm)
        if self.settings.warm_start_type == "keep_primal" and lam < warm["lam"]:
            # Scaling the mass off the truth by lam / lam_old keeps w; above one it has no meaning.
            blocks.scale(lam / warm["lam"])
            blocks.refresh()
        blocks.gaps.total[0] = 0.0  # unknown: the global criterion of the cache waits

    def move_to(self, lam):
        super().move_to(lam)
        self.vertices = None
        blocks = self.blocks
        if blocks.moments.size:  # leave out what was visited at the other lam
            blocks.moments[:], blocks.loss_moment[:] = 0.0, 0.0
            blocks.counts[block_rules.VISITS] = 0

    def breakpoint(self):
        blocks, point = self.blocks, self.last
        if not blocks.certified:
            raise ValueError(
                "mode='exact' needs an oracle that is exact or bounds scores: take mode='heuristic'"
            )
        norm = 0.5 * blocks.lam * (point.w @ point.w)
        return Breakpoint(
            blocks.lam, point.w.copy(), point.primal - norm, point.gap, point.dual + norm
        )

    def weights(self):
        return self.blocks.clip(self.blocks.averaged()[0] if self.averages else self.blocks.v)

    # ---- the loop --------------------------------------------------------------------------------

    def run_pass(self):
        """n visits; returns True when no block has a gap left."""
        blocks, n = self.blocks, self.blocks.n_blocks
        if self.vertices is not None:  # only now: the point that was certified was not the end
            batch_step(blocks, self.vertices)
            self.vertices = None
        self.passes_since_check += 1
        self.n_passes += 1
        if self.settings.sampling == "active":
            return self._run_active()
        order, uniforms = self._order()
        return visit_blocks(blocks, order, uniforms, self.rules) < n

    def _run_active(self):
        """Visits of blocks with a gap until little of it is known; True when none is left."""
        blocks, n, gaps = self.blocks, self.blocks.n_blocks, self.blocks.gaps.value
        enough = max(ACTIVE_SHARE * blocks.gaps.total[0], self._known_enough())
        stop = blocks.counts[block_rules.VISITS] + int(self.settings.gap_check) * n
        first = np.isinf(gaps[0])
        while blocks.counts[block_rules.VISITS] < stop:
            active = np.flatnonzero(gaps)
            if not len(active):
                return True
            # Many permutations in one call where few are left.
            repeats = min(n // len(active), ACTIVE_REPEATS)
            visit_repeatedly(blocks, active, repeats, self.rng, self.rules)
            if first or gaps.sum() <= enough:
                break
        return False

    def _is_check_due(self):
        return self.rules.shrink or super()._is_check_due()

    def certify(self):
        """Certificate at the point that will be returned."""
        blocks, estimate = self.blocks, float(self.blocks.gaps.value.sum())
        super().certify()
        self._warn_negative(self.last)
        self.vertices = self.last if self.settings.batch_step else None
        if self.settings.averaging:
            self.last = self._certify_average(self.last)
        blocks.objective = self.last.primal
        self.until_check = self._passes_to_go(self.last.gap)
        return numbers(self.last, blocks, estimate)

    def _warn_negative(self, certificate):
        """Once, and not where answers have no bounds: the fit then warns anyway."""
        small = -1e-5 * max(1.0, abs(certificate.primal))
        if self.warned or self.blocks.n_unbounded or certificate.gap >= small:
            return
        self.warned = True
        warn(
            f"the duality gap is {certificate.gap:.3g} < 0: the oracle is not exact, so that gaps "
            f"are not certificates",
            RuntimeWarning,
        )

    def _passes_to_go(self, gap):
        """Passes until the next certificate.

        Known gaps are those of the iterate; only a certificate shows that the average is
        good enough. Its gap falls about as one over the passes, so it is certified when it may be.
        """
        limit, most = self.blocks.gap_limit(self.tol), int(self.settings.gap_check)
        if not check.is_auto(self.settings.averaging) or not 0.0 < gap < 2.0 * limit:
            return most
        return max(1, min(most, round(EAGER * self.n_passes * (gap / limit - 1.0))))

    def _certify_average(self, iterate):
        """Certificate of the average, or of the better point with the better bound."""
        average = self.blocks.certify(averaged=True)
        if not check.is_auto(self.settings.averaging):
            return average
        self.averages = average.primal < iterate.primal
        better, dual = (average if self.averages else iterate), max(average.dual, iterate.dual)
        return better._replace(dual=dual, gap=better.primal - dual)


# ---- batches -------------------------------------------------------------------------------------


class MinibatchFrankWolfe(BoxSolver):
    """Block-coordinate Frank-Wolfe whose oracles run in workers, with a certified gap.

    Workers call the oracle for a batch of samples at the same weights. Then their blocks move by
    pairwise steps with exact line searches, one after the other, among these answers and all
    earlier outputs of these samples. Choose it where a call of the oracle takes more than about 50
    microseconds and there is more than one processor or machine.

    Parameters
    ----------
    batch_size : int or "auto", default="auto"
        Samples per batch. "auto" is one for one worker, else 8 for each, at most a tenth of all
        samples.
    sampling : {"gap", "shuffle"}, default="gap"
        Samples of a batch, all different: with probability proportional to their last known gaps,
        or the next ones of a fresh permutation for each pass.
    cache_size : int, default=50
        Outputs per sample. When full, the worst one without a dual variable makes room; if all are
        in use the table grows.
    gap_check : int, default=10
        Passes between exact gap passes, which refresh all gaps and give the certificate.
    early_exit : float, default=0.8
        Certify early when the last known gaps sum to at most ``early_exit * tol``.
    lower_bounds, upper_bounds : float, array-like of shape (n_weights,) or None, default=None
        Box for the weights; None takes ``model.bounds()``, if any.

    See Also
    --------
    BlockFrankWolfe : One sample at a time, with compiled passes where oracles are.
    NSlack : All samples at a time.

    Notes
    -----
    Workers are threads where ``releases_gil`` of the oracle, or of a model that brings its own
    inference, is true, and processes otherwise, or those of `joblib.parallel_config`, such as a
    dask cluster. A process gets the model and each sample once. Oracles inside compiled passes are
    called one after the other. Runs with the same ``batch_size`` and ``random_state`` are the same
    bit by bit for any number of workers.

    Deviations from [1]_: exact steps one after the other, where the paper takes one common step
    size, and synchronous batches.

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

    batch_size: check.auto_or(check.at_least(1)) = "auto"
    _: KW_ONLY
    sampling: check.options("gap", "shuffle") = "gap"
    cache_size: check.at_least(2) = 50
    gap_check: check.at_least(1) = 10
    early_exit: check.not_negative = 0.8

    def start(self, blocks, *, lam, tol, rng, warm=None):
        self._reset(blocks, lam, warm, capacity=int(self.cache_size))
        return _BatchMethod(self, blocks, tol, rng, warm is not None)

    def _size_for(self, blocks):
        if not check.is_auto(self.batch_size):
            return min(int(self.batch_size), blocks.n_blocks)
        n_workers = 1 if blocks.is_compiled else blocks.workers.size
        if n_workers == 1:
            return 1
        most = max(n_workers, int(LARGEST_SHARE * blocks.n_blocks))
        return min(PER_WORKER * n_workers, most, blocks.n_blocks)


class _BatchMethod(DualMethod):
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
        visit_repeatedly(blocks, batch, REPEATS, self.rng, self.rules)


# ---- all samples ---------------------------------------------------------------------------------


class FrankWolfe(BoxSolver):
    """Frank-Wolfe on the whole dual: n oracle calls and one line search per iteration.

    The gap is free in every iteration; convergence is n times slower than block-coordinate
    Frank-Wolfe in oracle calls. Choose it as a reference, or when oracle calls run in parallel on
    many machines.

    Parameters
    ----------
    step_size : {"line_search", "universal"}, default="line_search"
        "universal" takes steps of 2 / (k + 2).
    lower_bounds, upper_bounds : float, array-like of shape (n_weights,) or None, default=None
        Box for the weights; None takes ``model.bounds()``, if any.

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

    _: KW_ONLY
    step_size: check.options(*STEP_SIZES) = "line_search"

    def start(self, blocks, *, lam, tol, rng, warm=None):
        self._reset(blocks, lam, warm)
        return _FrankWolfeMethod(blocks, self.step_size == "line_search")


class _FrankWolfeMethod(SweepMethod):
    def __init__(self, blocks, line_search):
        self.blocks, self.line_search, self.n_steps = blocks, line_search, 0

    def advance(self):
        gamma = None if self.line_search else open_loop_step(self.n_steps, 1.0, 1.0)
        batch_step(self.blocks, self.last, gamma)
        self.n_steps += 1
