"""Dual coordinate ascent for smooth losses: conditional random fields and softmax margins."""

from dataclasses import KW_ONLY

import numpy as np

from ..._core import check
from ..._kernels import lazy
from ._base import Breakpoint, DualMethod, Solution, Solver, check_switch, numbers
from ._compiled import accelerated, ascend_parts, sums_are_compiled
from ._variance_reduced import Smoothing, smooth_pass

block_rules = lazy("structured.block_rules")

# Passes still to go from which quasi-Newton steps are quicker, and the share of the objective that
# counts as the end where tol is less.
MANY_PASSES, LEAST = 100, 1e-9
# Of L-BFGS: pairs that are remembered, numbers in all of them, the share of the slope that a step
# must gain, and how often a step is cut.
PAIRS, NUMBERS, FALL, MOST_CUTS = 10, 50_000_000, 1e-4, 30


@accelerated(ascend_parts, sums_are_compiled)
def ascend_blocks(blocks, order, uniforms, rules, entropy):
    """Visit blocks and move each towards its Gibbs distribution.

    With a bound h on the entropy of block i, and the entropy H of its Gibbs distribution, the block
    gap is ``g = p_i (smax H_i - E[H_i] - tau h)``. Towards the Gibbs distribution the dual
    objective rises with a slope of about 2 g, and curves by about 2 g (its entropy) and
    ``p_i^2 |E[psi_i] changes|^2 / lam``: the step is the best one of this parabola, and the dual
    objective with h, which becomes ``(1 - gamma) h + gamma H``, never falls.

    ``entropy`` holds the bounds h and is changed in place; for the rest see `visit_blocks`.
    """
    tau, rho = blocks.surrogate.temperature, blocks.surrogate.loss_weight
    for k in range(len(order)):
        i = block_rules.pick_block(blocks.gaps, order[k], uniforms[k])
        if i < 0:
            return k
        blocks.counts[block_rules.VISITS] += 1
        p = blocks.weight[i]
        current = blocks.values(i)[0] - (1.0 - rho) * blocks.loss[i] / p
        found = blocks.smoothed_answer(i, blocks.w, tau, rho)
        gap = max(p * (found.value - current - tau * entropy[i]), 0.0)
        block_rules.set_gap(blocks.gaps, i, gap, rules.gap_degree)
        if gap <= 0.0:
            continue
        direction = blocks.direction(i, found)
        curvature = p * p / rules.lam * direction.square
        gamma = 2.0 * gap / (2.0 * gap + curvature)
        entropy[i] += gamma * (found.entropy - entropy[i])
        blocks.move(i, direction, gamma)
    return len(order)


class DualAscent(Solver):
    """Dual coordinate ascent with gap sampling, for "crf" and "softmax_margin".

    Each visit moves the dual variables of one sample towards its Gibbs distribution, which raises
    the dual objective. The weights are those of the dual variables.

    Parameters
    ----------
    sampling : {"gap", "shuffle", "uniform"}, default="gap"
        Next sample: with probability proportional to its last known gap, in a fresh permutation
        each pass, or uniform.
    gap_degree : float, default=1.0
        Power of the gaps in gap sampling.
    gap_check : int, default=10
        Passes between certificates, of one more pass each.
    early_exit : float, default=0.8
        Certify early when the last known gaps sum to at most ``early_exit * tol``.
    quasi_newton : bool or "auto", default="auto"
        Continue by L-BFGS on the weights, from the first pass or ("auto") once the last two
        certificates predict more than a hundred further passes, as for large C.

    See Also
    --------
    BlockFrankWolfe : The same for ``surrogate="hinge"``.

    Notes
    -----
    A pass makes n visits, each of one call for marginals. Memory: one number per part of every
    sample. Deviation from [1]_: its line search needs the entropies of mixtures; here a step is the
    best one of a parabola, with a lower bound on the entropy (mixtures have at least the mean
    entropy). The certificate uses the bound, so it holds, and goes to zero at the optimum.

    References
    ----------
    .. [1] R. Le Priol, A. Piche, S. Lacoste-Julien, "Adaptive stochastic dual coordinate ascent for
       conditional random fields", UAI 2018: Algorithm 1 and gap sampling.
    .. [2] S. Shalev-Shwartz and T. Zhang, "Accelerated proximal stochastic dual coordinate ascent
       for regularized loss minimization", Mathematical Programming 155, 2016: fixed steps.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_fw.structured import DualAscent, StructuredSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> solver = DualAscent(sampling="shuffle")
    >>> crf = StructuredSVM(surrogate="crf", solver=solver, C=1.0, tol=1e-4, random_state=0)
    >>> crf.fit(X, y).converged_
    True
    """

    _: KW_ONLY
    sampling: check.options("gap", "shuffle", "uniform") = "gap"
    gap_degree: check.positive = 1.0
    gap_check: check.at_least(1) = 10
    early_exit: check.not_negative = 0.8
    quasi_newton: check_switch = "auto"

    trains = ("crf", "softmax_margin")

    def start(self, blocks, *, lam, tol, rng, warm=None):
        return _AscentMethod(self, blocks, lam, tol, rng, warm)


class _AscentMethod(DualMethod):
    def __init__(self, settings, blocks, lam, tol, rng, warm):
        self.settings, self.blocks, self.tol, self.rng = settings, blocks, tol, rng
        self.rules = block_rules.Rules(lam, gap_degree=float(settings.gap_degree))
        blocks.reset(lam)
        self.entropy = np.zeros(blocks.n_blocks)  # of the truth
        self.end = None  # `QuasiNewton`, once it goes on
        self.bound, self.bound_of = -np.inf, None  # best dual value, and lam v of its variables
        self.checked = None  # gap of the last certificate
        if warm is not None:
            self._warm_start(warm, lam)
        self.check_first, self.passes_to_go = warm is not None, 0.0

    def _warm_start(self, warm, lam):
        blocks = self.blocks
        blocks.restore(warm)
        self.entropy[: len(warm["loss"])] = warm.get("entropy", 0.0)
        is_end = lam == warm["lam"] or self.settings.quasi_newton is True
        if is_end and warm.get("end") is not None:
            self.end = QuasiNewton(blocks, warm["end"])
        if lam < warm["lam"]:  # the weights stay
            self._scale(lam / warm["lam"])
        blocks.refresh()

    def begin_at_zero(self):
        """Take the Gibbs distributions of zero weights; returns the mean loss there."""
        blocks = self.blocks
        found = smooth_pass(
            blocks, np.zeros(blocks.n_weights), Smoothing("loss", blocks.surrogate.temperature)
        )
        self.entropy[:] = found.entropy
        return float(blocks.weight @ found.values)

    def move_to(self, lam):
        super().move_to(lam)
        if self.end is not None:
            self.end = QuasiNewton(self.blocks, self.end.point.w)
        self.bound, self.checked, self.passes_to_go = -np.inf, None, 0.0

    def breakpoint(self):
        blocks = self.blocks
        if not blocks.certified:
            raise ValueError("a path with a guarantee needs an oracle whose sums are exact")
        point, u, lam = self.last, self.bound_of, blocks.lam
        hinge = point.primal - 0.5 * lam * float(point.w @ point.w)
        loss = self.bound + 0.5 / lam * float(u @ u)
        return Breakpoint(lam, point.w.copy(), hinge, point.primal - self.bound, loss, u)

    def _dual_loss(self):
        """Expected loss and bound on the entropy of the dual variables: the dual value at w = 0."""
        blocks, (_, tau, rho) = self.blocks, self.blocks.surrogate
        return float(rho * blocks.loss.sum() + tau * (blocks.weight @ self.entropy))

    def _scale(self, share):
        """Mass off the truth times ``share``; the truth has no entropy."""
        self.blocks.scale(share)
        self.entropy *= share

    def export(self):
        end = None if self.end is None else self.end.point.w
        return self.blocks.export() | {"entropy": self.entropy.copy(), "end": end}

    def weights(self):
        return self.blocks.w if self.end is None else self.end.point.w

    def run_pass(self):
        """n visits, or a quasi-Newton step; True when a certificate is due."""
        if self.end is None and self._is_slow():
            self.end = QuasiNewton(self.blocks, self.blocks.w)
        if self.end is not None:
            self.end.step()
            return True
        self.passes_since_check += 1
        order, uniforms = self._order()
        return ascend_blocks(self.blocks, order, uniforms, self.rules, self.entropy) < len(order)

    def _is_slow(self):
        """Whether dual ascent is, by its last two certificates."""
        if not check.is_auto(self.settings.quasi_newton):
            return self.settings.quasi_newton
        return self.passes_to_go > MANY_PASSES

    def _note_progress(self, gap, n_passes):
        """Extrapolate the passes left from the fall of the gap since the last certificate."""
        limit = max(self.blocks.gap_limit(self.tol), LEAST * abs(self.blocks.objective))
        before, self.checked = self.checked, gap
        if before is None or not gap > limit or not n_passes:
            return
        rate = np.log(before / gap) / n_passes
        self.passes_to_go = np.log(gap / limit) / rate if rate > 0.0 else np.inf

    def certify(self):
        """Certificate of the weights, by one pass."""
        blocks = self.blocks
        if self.end is not None:
            point = self.end.point
            self._take_bound(point.dual, blocks.lam * point.w - point.gradient)
            gap = max(point.primal - self.bound, 0.0)
            self.last = Solution(
                point.w.copy(), point.primal, point.primal - gap, gap, blocks.gaps.value
            )
            return numbers(self.last, blocks)
        tau, rho = blocks.surrogate.temperature, blocks.surrogate.loss_weight
        estimate = float(blocks.gaps.value.sum())
        n_passes, self.passes_since_check = self.passes_since_check, 0
        blocks.refresh()
        sweep = blocks.surrogate_sweep(blocks.w)
        norm = 0.5 * blocks.lam * float(blocks.w @ blocks.w)
        primal = norm + float(blocks.weight @ sweep.value)
        dual = self._dual_loss() - norm
        current = blocks.currents() - (1.0 - rho) * blocks.loss / blocks.weight
        gaps = blocks.weight * (sweep.value - current - tau * self.entropy)
        blocks.fill_gaps(np.maximum(gaps, 0.0), self.rules.gap_degree)
        blocks.objective = primal
        self._take_bound(dual, blocks.lam * blocks.w)
        self._note_progress(primal - dual, n_passes)
        self.last = Solution(blocks.w.copy(), primal, dual, primal - dual, blocks.gaps.value)
        return numbers(self.last, blocks, estimate)

    def _take_bound(self, dual, u):
        if not dual <= self.bound:
            self.bound, self.bound_of = dual, u


class QuasiNewton:
    """A point of an objective with a smooth surrogate, and L-BFGS steps."""

    def __init__(self, blocks, w):
        self.blocks = blocks
        self.point = blocks.certify_smoothed(w.copy())
        self.pairs = []  # (step, change of the gradient, their product)
        self.most = int(np.clip(NUMBERS // blocks.n_weights, 3, PAIRS))
        self.stuck = False  # whether rounding hides all further gain

    def step(self):
        """One step that lowers the objective, of one pass or a few."""
        if self.stuck:
            return
        old, direction = self.point, self._direction()
        slope = float(old.gradient @ direction)
        if slope == 0.0:
            self.stuck = True
            return
        length = 1.0 if self.pairs else min(1.0, 1.0 / np.sqrt(-slope))
        for _ in range(MOST_CUTS):
            new = self.blocks.certify_smoothed(old.w + length * direction)
            if new.primal <= old.primal + FALL * length * slope:
                break
            # The lowest point of the parabola through both values with this slope.
            excess = new.primal - old.primal - length * slope
            length *= float(np.clip(-0.5 * length * slope / excess, 0.1, 0.5))
        else:
            self.stuck = not self.pairs
            self.pairs = []  # minus the gradient next
            return
        step, change = new.w - old.w, new.gradient - old.gradient
        product = float(step @ change)
        if product > 0.0:
            self.pairs = [*self.pairs[1 - self.most :], (step, change, product)]
        self.point = new

    def _direction(self):
        """Minus the gradient times an estimate of the inverse of the curvature."""
        direction, factors = -self.point.gradient, []
        for step, change, product in reversed(self.pairs):
            factors.append(step @ direction / product)
            direction -= factors[-1] * change
        if self.pairs:
            _, change, product = self.pairs[-1]
            direction *= product / (change @ change)
        for (step, change, product), factor in zip(self.pairs, reversed(factors), strict=True):
            direction += (factor - change @ direction / product) * step
        return direction
