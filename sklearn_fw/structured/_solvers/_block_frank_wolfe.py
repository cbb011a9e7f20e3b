"""Block-coordinate Frank-Wolfe: BCFW and its pairwise, away and hybrid variants."""

from numbers import Real

import numpy as np

from ..._core.loop import IterativeMethod
from ..._core.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_not_negative,
    check_positive,
    is_auto,
)
from ..._core.warnings import warn
from ..._kernels import lazy
from ._base import STEP_SIZES, Breakpoint, Solution, Solver, check_bounds, check_switch, numbers
from ._batch_steps import batch_step
from ._visits import visit_blocks

block_rules = lazy("structured.block_rules")

# In the order of the codes of block_rules.
VARIANTS = ("fw", "pairwise", "away", "hybrid", "exact")
SAMPLINGS = ("uniform", "shuffle", "gap", "max_gap", "active")
# "active" asks for a certificate when the known gaps are this share of the last certified ones.
ACTIVE_SHARE = 0.1
ACTIVE_REPEATS = 10
EAGER = 0.8  # of the passes that a gap of one over passes would take


class BlockFrankWolfe(Solver):
    """Block-coordinate Frank-Wolfe on the dual of the structured SVM, with a certified gap.

    Each visit asks the oracle for one sample and makes an exact line search on its block of dual
    variables. `StructuredSVM` knows the usual settings by name: "bcfw", "bcpfw" (pairwise),
    "bcafw" (away), "bchybrid", "cached" (pairwise with a cache, ``cache_f=0.1`` and
    ``gap_check=15``) and, for classes, "sdm" (``variant="exact"`` with ``sampling="active"``).

    Parameters
    ----------
    variant : {"fw", "pairwise", "away", "hybrid", "exact"}, default="fw"
        Direction: towards the oracle's corner; from the worst active corner to it; the better of
        towards and away by slope; the best of the three by dual increase. "exact" is no direction
        but the maximiser over all dual variables of the sample [3]_: a projection where an output
        is one class and the oracle is the model's own, else calls of the oracle and pairwise steps
        until a thousandth of the sample's gap is left, 200 steps at most. All but "fw" keep
        explicit dual variables.
    sampling : {"gap", "uniform", "shuffle", "max_gap", "active"}, default="gap"
        Next sample: with probability proportional to its last known gap, uniform, in a fresh
        permutation each pass, or the one of largest gap (stale gaps can mislead it). "active", for
        exact steps, permutes those that still had a gap when last visited; its pass goes on until
        their known gaps have fallen to a tenth of the last certificate, for ``gap_check * n``
        visits at most, and ends with a certificate.
    gap_degree : float, default=1.0
        Power of the gaps in gap sampling.
    cache : bool or "auto", default="auto"
        Try corners already seen before the oracle; "auto" is False. Saves oracle calls, costs
        time when the oracle is cheap.
    cache_f, cache_nu : float, default=0.25, 0.01
        A cached corner is good enough when its gap is at least ``cache_f`` times the last oracle
        gap of the sample and ``cache_nu / n`` times the last total gap.
    cache_size : int, default=50
        Corners per sample. When full, unused ones are evicted; if all are in use the table grows,
        except for ``variant="fw"``, which evicts the worst and then has no ``dual_coef_``.
    gap_check : int, default=10
        Passes between exact gap passes, which refresh all gaps and give the certificate.
    early_exit : float, default=0.8
        Certify early when the last known gaps sum to at most ``early_exit * tol``.
    averaging : bool or "auto", default=False
        Return the average of the iterates, with weights proportional to their number, and its
        own certificate. Predicts better long before the optimum is reached. "auto" returns the
        average or the last iterate, whichever has the lower objective, with the best lower bound
        that either gave; ``variant="fw"`` only, as the average has no ``dual_coef_``.
    step_size : {"line_search", "universal"}, default="line_search"
        "universal" takes steps of 2n / (k + 2n), for ``variant="fw"`` only.
    batch_step : bool, default=False
        Use the corners of every gap pass for one common step of all blocks.
    lower_bounds, upper_bounds : float, array-like of shape (n_weights,) or None, default=None
        Box for the weights; None takes what ``model.bounds()`` says, if anything.
    warm_start_type : {"keep_primal", "keep_dual", "none"}, default="keep_primal"
        What a warm start with another C keeps: the weights (needs a larger C), the dual
        variables, or nothing.

    See Also
    --------
    FrankWolfe : All blocks at once.
    Subgradient : Primal baseline without a certificate.

    Notes
    -----
    More than 13 parameters: four say what the cache is, two are the sides of a box, and each is a
    grid key of its own.

    A pass makes n visits and costs n oracle calls minus cache hits; a gap pass costs n more. The
    expected gap falls as O(1/k). Memory: one number per part of every sample, plus
    ``cache_size`` labellings per sample when corners are kept.

    Deviations from [1]: a direction that leaves the weights unchanged but raises the loss is
    taken in full, where the paper leaves a step of length 0/0; the gap that the cache compares
    with before the first gap pass is that of w = 0, known in closed form; with bounds the hybrid
    rule compares lower bounds on the increase.

    References
    ----------
    .. [1] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania, S. Lacoste-Julien, "Minding the gaps
       for block Frank-Wolfe optimization of structured SVMs", ICML 2016: Algorithms 1 to 5, 9.
    .. [2] S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher, "Block-coordinate Frank-Wolfe
       optimization for structural SVMs", ICML 2013: Algorithm 4 and weighted averaging.
    .. [3] S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin, "A sequential dual
       method for large scale multi-class linear SVMs", KDD 2008: sub-problems and shrinking; here
       the gap decides both, and projections onto the simplex solve them.

    Examples
    --------
    >>> from sklearn_fw.structured import BlockFrankWolfe, StructuredSVM
    >>> svm = StructuredSVM(solver=BlockFrankWolfe(variant="pairwise", sampling="uniform"))
    >>> svm.set_params(solver__sampling="gap").solver.sampling
    'gap'
    """

    def __init__(
        self,
        variant="fw",
        *,
        sampling="gap",
        gap_degree=1.0,
        cache="auto",
        cache_f=0.25,
        cache_nu=0.01,
        cache_size=50,
        gap_check=10,
        early_exit=0.8,
        averaging=False,
        step_size="line_search",
        batch_step=False,
        lower_bounds=None,
        upper_bounds=None,
        warm_start_type="keep_primal",
    ):
        self.variant = variant
        self.sampling = sampling
        self.gap_degree = gap_degree
        self.cache = cache
        self.cache_f = cache_f
        self.cache_nu = cache_nu
        self.cache_size = cache_size
        self.gap_check = gap_check
        self.early_exit = early_exit
        self.averaging = averaging
        self.step_size = step_size
        self.batch_step = batch_step
        self.lower_bounds = lower_bounds
        self.upper_bounds = upper_bounds
        self.warm_start_type = warm_start_type

    def _check(self):
        check_choice(self.variant, "variant", VARIANTS)
        check_choice(self.sampling, "sampling", SAMPLINGS)
        check_choice(self.warm_start_type, "warm_start_type", {"keep_primal", "keep_dual", "none"})
        check_positive(self.gap_degree, "gap_degree")
        check_integer(self.gap_check, "gap_check", 1)
        check_integer(self.cache_size, "cache_size", 1)
        for name in ("cache_f", "cache_nu", "early_exit"):
            value = getattr(self, name)
            if not isinstance(value, Real):
                raise TypeError(f"{name} must be a number, got {value!r}")
            if not value >= 0:
                raise ValueError(f"{name} must not be negative, got {value}")
            check_not_negative(value, name)
        check_choice(self.step_size, "step_size", STEP_SIZES)
        check_flag(self.batch_step, "batch_step")
        if self.step_size != "line_search" and self.variant != "fw":
            raise ValueError(
                f"step_size='universal' is defined for variant='fw' only, got {self.variant!r}"
            )
        check_switch(self.averaging, "averaging")
        if is_auto(self.averaging) and self.variant != "fw":
            raise ValueError(
                f"averaging='auto' is defined for variant='fw' only, got {self.variant!r}: set "
                f"averaging to True or False"
            )
        check_switch(self.cache, "cache")
        if self.cache is True and self.cache_size < 2:
            raise ValueError("cache_size must be at least 2: the truth and one other corner")
        if self.cache is True and self.variant == "exact":
            raise ValueError("variant='exact' has no use for a cache: set cache=False")
        if self.sampling == "active" and self.variant != "exact":
            raise ValueError(
                f"sampling='active' is defined for variant='exact' only, got {self.variant!r}: "
                f"visits with other steps leave a gap, take sampling='gap'"
            )

    def start(self, blocks, *, lam, tol, rng, warm=None):
        self._check()
        return _BlockMethod(self, blocks, lam, tol, rng, warm)


class _BlockMethod(IterativeMethod):
    """The state of one run; `_loop.drive` calls `step` for every pass."""

    def __init__(self, settings, blocks, lam, tol, rng, warm):
        self.settings, self.blocks, self.tol, self.rng = settings, blocks, tol, rng
        use_cache = settings.cache is True
        explicit = use_cache or settings.variant != "fw"
        if settings.variant == "exact" and blocks.single:  # marginals say all
            explicit = False
        self.rules = block_rules.Rules(
            lam=lam,
            variant=VARIANTS.index(settings.variant),
            line_search=settings.step_size == "line_search",
            explicit=explicit,
            use_cache=use_cache,
            cache_f=float(settings.cache_f),
            cache_nu=float(settings.cache_nu),
            gap_degree=float(settings.gap_degree),
            shrink=settings.sampling == "active",
        )
        lower, upper = settings.lower_bounds, settings.upper_bounds
        blocks.reset(
            lam,
            capacity=int(settings.cache_size) if explicit else 0,
            averaging=bool(settings.averaging),
            bounds=check_bounds(lower, upper, blocks.n_weights),
        )
        self.averages = bool(settings.averaging)  # whether the point of the moment is the average
        # A warm start may be good enough already: its gap is asked before anything is changed.
        self.check_first = warm is not None and settings.warm_start_type != "none"
        if self.check_first:
            self._warm_start(warm, lam)
        self.passes_since_check, self.n_passes = 0, 0
        self.until_check = int(settings.gap_check)
        self.last = None  # certificate of the point of the moment
        self.corners = None  # certificate whose answers await a batch step
        self.warned = False  # of a negative gap

    def _warm_start(self, warm, lam):
        blocks = self.blocks
        blocks.restore(warm)
        if self.settings.warm_start_type == "keep_primal" and lam != warm["lam"]:
            if lam > warm["lam"]:
                raise ValueError(
                    "warm_start_type='keep_primal' needs C to grow from fit to fit: use 'keep_dual'"
                )
            # Scaling the mass off the truth by lam / lam_old keeps w.
            blocks.scale(lam / warm["lam"])
            blocks.refresh()
        blocks.gaps.total[0] = 0.0  # unknown: the global criterion of the cache waits
        average = warm.get("average")
        same = average is not None and lam == warm["lam"]
        if self.averages and same and np.array_equal(average["weight"], blocks.weight):
            blocks.moments[:], blocks.loss_moment[:] = average["moments"], average["loss_moment"]
            blocks.counts[block_rules.VISITS] = average["visits"]

    def export(self):
        """Dual variables for a warm start, and what the average needs."""
        exported, blocks = self.blocks.export(), self.blocks
        if self.settings.averaging:
            exported["average"] = {
                "weight": blocks.weight,
                "moments": blocks.moments.copy(),
                "loss_moment": blocks.loss_moment.copy(),
                "visits": blocks.counts[block_rules.VISITS],
            }
        return exported

    def move_to(self, lam):
        """Go on at another lam; the mass off the truth is scaled to the best dual value.

        Between the weights as they are and the dual variables as they are, for a smaller lam.
        """
        blocks, old = self.blocks, self.blocks.lam
        square = old**2 * (blocks.w @ blocks.w)
        if lam < old and square > 0.0:
            share = min(max(blocks.loss.sum() * lam / square, lam / old), 1.0)
            if share < 1.0:
                blocks.scale(share)
        blocks.lam = lam
        self.rules = self.rules._replace(lam=lam)
        blocks.refresh()
        blocks.restart_average()
        # Unknown gaps make the first pass visit every block.
        blocks.fill_gaps(np.full(blocks.n_blocks, np.inf), self.settings.gap_degree)
        blocks.gaps.total[0] = 0.0
        self.last = self.corners = None
        self.passes_since_check = 0

    def breakpoint(self):
        """The point last certified, with what it proves at other lams."""
        blocks, point = self.blocks, self.last
        if not blocks.certified:
            raise ValueError(
                "mode='exact' needs an oracle that is exact or bounds the score of its answers: "
                "take such an oracle, or mode='heuristic'"
            )
        norm = 0.5 * blocks.lam * (point.w @ point.w)
        return Breakpoint(
            blocks.lam, point.w.copy(), point.primal - norm, point.gap, point.dual + norm
        )

    def weights(self):
        """The point of the moment."""
        v = self.blocks.averaged()[0] if self.averages else self.blocks.v
        return self.blocks.clip(v)

    # ---- the loop --------------------------------------------------------------------------------

    def step(self):
        """One pass; a dict of numbers when it ended with a certificate."""
        if self.check_first:
            self.check_first = False
            return self._check_gap()
        if self.run_pass() or self._is_check_due():
            return self._check_gap()
        self.last = None
        return None

    def run_pass(self):
        """n visits; returns True when no block has a gap left."""
        blocks, n = self.blocks, self.blocks.n_blocks
        if self.corners is not None:  # only now: the point that was certified was not the end
            batch_step(blocks, self.corners)
            self.corners = None
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
            order = np.concatenate([self.rng.permutation(active) for _ in range(repeats)])
            visit_blocks(blocks, order, np.zeros(len(order)), self.rules)
            if first or gaps.sum() <= enough:
                break
        return False

    def _known_enough(self):
        """Known gaps that make it likely that the real ones are small enough, too."""
        return float(self.settings.early_exit) * self.blocks.gap_limit(self.tol)

    def _order(self):
        n, rng, sampling = self.blocks.n_blocks, self.rng, self.settings.sampling
        uniforms = rng.random_sample(n) if sampling == "gap" else np.zeros(n)
        if sampling == "uniform":
            return rng.randint(n, size=n), uniforms
        if sampling == "shuffle":
            return rng.permutation(n), uniforms
        # Problem without a gap yet come first, in random order: uniform among the infinite ones.
        unseen = np.flatnonzero(np.isinf(self.blocks.gaps.value))
        order = np.full(n, block_rules.BY_GAP if sampling == "gap" else block_rules.BY_MAX_GAP)
        order[: len(unseen)] = rng.permutation(unseen)
        return order, uniforms

    def _is_check_due(self):
        if self.passes_since_check >= self.until_check or self.rules.shrink:
            return True
        return self.blocks.gaps.value.sum() <= self._known_enough()

    def _check_gap(self):
        """Exact gap pass at the iterate, and the numbers that it gives."""
        settings, blocks = self.settings, self.blocks
        estimate = float(blocks.gaps.value.sum())
        self.passes_since_check = 0
        blocks.refresh()
        certificate = blocks.certify()
        blocks.set_gaps(certificate.sweep, settings.gap_degree)
        self._warn_negative(certificate)
        self.corners = certificate if settings.batch_step else None
        if settings.averaging:
            certificate = self._certify_average(certificate)
        self.last = certificate
        blocks.objective = certificate.primal
        self.until_check = self._passes_to_go(certificate.gap)
        return numbers(certificate, blocks, estimate)

    def _warn_negative(self, certificate):
        """Once, and not where answers have no bounds: those claim nothing, and the fit says so."""
        small = -1e-5 * max(1.0, abs(certificate.primal))
        if self.warned or self.blocks.n_unbounded or certificate.gap >= small:
            return
        self.warned = True
        warn(
            f"the duality gap is {certificate.gap:.3g} < 0: the oracle is not exact, and gaps are "
            f"no certificates",
            RuntimeWarning,
        )

    def _passes_to_go(self, gap):
        """Passes until the next certificate.

        Known gaps are those of the iterate; nothing but a certificate tells that the average is
        good enough. Its gap falls about as one over the passes, hence it is asked when it may be.
        """
        limit, most = self.blocks.gap_limit(self.tol), int(self.settings.gap_check)
        if not is_auto(self.settings.averaging) or not 0.0 < gap < 2.0 * limit:
            return most
        return max(1, min(most, round(EAGER * self.n_passes * (gap / limit - 1.0))))

    def _certify_average(self, iterate):
        """Certificate of the average, or of the better point with the better bound."""
        average = self.blocks.certify(averaged=True)
        if not is_auto(self.settings.averaging):
            return average
        self.averages = average.primal < iterate.primal
        better, dual = (average if self.averages else iterate), max(average.dual, iterate.dual)
        return better._replace(dual=dual, gap=better.primal - dual)

    def certify(self):
        """Certificate at the point that will be returned."""
        return self._check_gap()

    def solution(self):
        """The point last certified."""
        if self.last is None:
            self.certify()
        point = self.last
        return Solution(point.w.copy(), point.primal, point.dual, point.gap, self.blocks.gaps.value)
