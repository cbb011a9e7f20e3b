"""Dual extragradient: prox steps on the saddle point between weights and outputs."""

from dataclasses import KW_ONLY
from numbers import Real
from typing import NamedTuple

import numpy as np

from ..._core import check
from ..._kernels import lazy
from ...projections import project_l2_ball
from ._base import BestPointMethod, BoxSolver, Solution, dual_norm
from ._block_frank_wolfe import BlockFrankWolfe

block_rules = lazy("structured.block_rules")

# A run that starts at w has half the squared distance gap(w) / lam to go at most. Each takes a
# number of iterations inversely proportional to the root of its gap and to this factor: 1/4 makes
# their sum smallest.
RESTART = 0.25
# The share of the largest step allowed that the next one takes, and by how much steps may change.
SAFETY, SHRINK, GROW = 0.8, 0.5, 1.5
# What the inequality that allows a step may lack, as a fraction of the required gap.
FORGIVEN = 1e-3
# Weights of this size come from steps that are too long; steps of this size, from broken numbers.
HUGE, TINY = 1e50, 1e-12


class Extragradient(BoxSolver):
    """Dual extragradient method, by projections or marginals.

    Solves the saddle point problem between weights and, for each sample, a point of the convex
    hull of its outputs, with feature difference ``Psi(z)`` and loss ``l(z)`` (means over samples)::

        min_w max_z  lam / 2 |w|^2 - <w, Psi(z)> + l(z)             radius=None
        min_{|w| <= radius} max_z  l(z) - <w, Psi(z)>               otherwise

    Choose it for a ball as the constraint, for a model with projections but no good oracle, or as
    an independent check of another solver. Elsewhere `BlockFrankWolfe` takes fewer oracle calls.

    Parameters
    ----------
    radius : float or None, default=None
        Bound on the norm of the weights, in place of ``C``. None keeps the ridge penalty.
    norm : {"l2", "l1"}, default="l2"
        The norm of that bound. "l1" measures weights by entropy.
    z_geometry : {"auto", "entropy", "euclidean"}, default="auto"
        Geometry of outputs. "entropy" needs marginals, as models on forests and of classes have.
        "euclidean" needs projections: those of the model, of the simplex, of cuts (two states and
        bounds that reward no difference, as `GraphCutModel` has), or by the oracle on models with
        part scores, which is slow. "auto" takes entropy for forests, else what the model has.
    step_size : {"backtrack", "auto"} or float, default="backtrack"
        "auto" takes steps of one over a bound on the Lipschitz constant. "backtrack" starts from
        these and takes the longest steps that satisfy the inequality of the proof, at the cost of
        rejected steps. A number is a fixed step.
    balance : "auto" or float, default="auto"
        Square root of the ratio of the steps of w and z: "auto" is the ratio of their distances to
        go, ``sqrt(D_w / D_z)``.
    first_passes : int, default=10
        With the ridge penalty, passes of block-coordinate Frank-Wolfe for the first weights, of
        n_samples oracle calls each. With 0 the weights stay zero for tens of iterations.
    cut : float, default=0.0
        Weights below this fraction of the largest are set to zero before each certificate, which is
        that of the weights returned. About 0.01 makes the weights of an l1 ball sparse. The gap
        stays above the cost of the cut.
    restart : bool, default=True
        With the ridge penalty, start again from the average whenever the gap is a quarter of that
        at the last start, with steps for the shorter way to go.
    memory_efficient : bool, default=True
        False stores averages of all outputs, in an array of the size of all part scores, from which
        the next fit with ``warm_start=True`` starts; it starts from scratch otherwise.
    gap_check : int, default=10
        Iterations between certificates, each of n_samples oracle calls.
    lower_bounds, upper_bounds : float, array-like of shape (n_weights,) or None, default=None
        Box for the weights, with the ridge penalty only; None takes ``model.bounds()``,
        if anything.

    See Also
    --------
    BlockFrankWolfe : Ridge penalty by oracle calls, the usual choice.
    SaddlePointFrankWolfe : Balls by oracle calls alone.

    Notes
    -----
    An iteration, which ``max_iter`` counts, takes two prox steps per sample, and each counts as an
    oracle call, as do rejected ones. It takes hundreds to thousands.

    The weights are averages over all iterations since the last restart, or an earlier such average
    if it was better. The certificate is their primal value less the best dual value of averages of
    z, both exact. Projections by the oracle and the tolerance for rounding in "backtrack" raise the
    bound below by a hundredth of ``tol`` each at most.

    With ``D_w`` and ``D_z`` bounds on divergences from the start, and steps of sizes ``eta_w`` and
    ``eta_z`` times weights of sum ``T``, the gap restricted to these distances is at most::

        (D_w / eta_w + D_z / eta_z) / T

    ``history_`` has both as "restricted_gap" and "bound" (neither with ``lower_bounds`` or
    ``upper_bounds``), and the last "step_size". For a ball, the first is the gap itself. With the
    ridge penalty ``D_w = gap / lam`` at the start: strong convexity then makes restarts converge
    like 1 / T^2.

    Deviations from [1]_: means in place of sums, steps balanced between w and z, longer steps
    than 1 / L, the ridge penalty and restarts. ``Extragradient(radius=r, step_size="auto",
    balance=1.0)`` is the method of [1]_.

    References
    ----------
    .. [1] B. Taskar, S. Lacoste-Julien, M. I. Jordan, "Structured prediction, dual extragradient
       and Bregman projections", JMLR 7, 2006.
    .. [2] Yu. Nesterov, "Dual extrapolation and its applications to solving variational
       inequalities and related problems", Mathematical Programming 109, 2007.

    Examples
    --------
    >>> from sklearn_fw.structured import Extragradient, StructuredSVM
    >>> solver = Extragradient(radius=2.0)
    >>> svm = StructuredSVM(solver=solver, tol=0.001, max_iter=1000)
    >>> svm = svm.fit([[0.0], [1.0], [0.1], [0.9]], [0, 1, 0, 1])
    >>> bool((svm.coef_**2).sum() <= 4.0 + 1e-12)
    True
    """

    _: KW_ONLY
    radius: check.optional(check.strength) = None
    norm: check.options("l1", "l2") = "l2"
    z_geometry: check.options("auto", "entropy", "euclidean") = "auto"
    step_size: check.auto_or(check.positive, words=("auto", "backtrack")) = "backtrack"
    balance: check.auto_or(check.positive) = "auto"
    first_passes: check.at_least(0) = 10
    cut: check.within(0, 1, "left") = 0.0
    restart: check.flag = True
    memory_efficient: check.flag = True
    gap_check: check.at_least(1) = 10

    _needs_features = True

    def start(self, blocks, *, lam, tol, rng, warm=None):
        from .._problems._part_polytopes import polytopes_of
        from .._problems._polytopes import Entropy, Euclidean

        has_box = self.lower_bounds is not None or self.upper_bounds is not None
        if self.radius is not None and has_box:
            raise ValueError(
                "radius and lower_bounds or upper_bounds exclude each other: set radius=None"
            )
        if self.radius is None and self.norm == "l1":
            raise ValueError("norm='l1' needs a radius: set it, or norm='l2'")
        is_ridge, start = self.radius is None, None
        lam, warm = (lam, warm) if is_ridge else (1.0, None)
        bounds = self._reset(blocks, lam, warm)
        if is_ridge and self.first_passes and not np.any(blocks.v):
            start = self._make_first_passes(blocks, lam, bounds)
        polytopes = polytopes_of(blocks)
        name = polytopes.resolve(self.z_geometry)
        geometry = Entropy if name == "entropy" else Euclidean
        outputs = geometry(polytopes, stored=not self.memory_efficient)
        if is_ridge:
            weights = Ridge(blocks, start)
        else:
            ball = Ball if self.norm == "l2" else CrossPolytope
            weights = ball(blocks.n_weights, float(self.radius))
        return _ExtragradientMethod(self, blocks, weights, outputs, tol, start)

    def _make_first_passes(self, blocks, lam, bounds):
        """The best weights after some passes of Frank-Wolfe; the blocks forget all but counts."""
        solver = BlockFrankWolfe(
            sampling="shuffle", averaging="auto", lower_bounds=self.lower_bounds,
            upper_bounds=self.upper_bounds,
        )  # fmt: skip
        rng = np.random.RandomState(0)  # an order all the same, for a method that is deterministic
        method = solver.start(blocks, lam=lam, tol=0.0, rng=rng)
        for _ in range(int(self.first_passes)):
            method.run_pass()
        start = method.solution()
        counts, n_unbounded = blocks.counts, blocks.n_unbounded
        zero = blocks.clip(np.zeros(blocks.n_weights))
        blocks.reset(lam, bounds=bounds)
        blocks.counts[:] = counts
        # Where C is large, zero is ahead of both points for some passes.
        if not np.any(zero) and start.primal > blocks.max_loss:
            return start._replace(w=zero, primal=blocks.max_loss)
        blocks.n_unbounded = n_unbounded  # these weights count
        return start


# ---- where the weights live ----------------------------------------------------------------------


class Weights(NamedTuple):
    """A point w, with its parameters where these are something else."""

    w: np.ndarray
    parameters: np.ndarray | None = None


class Flat:
    """Euclidean geometry of weights: steps are projected; their scale is that of Psi."""

    lam, scale = 0.0, 1.0

    def step(self, point, change):
        return Weights(self.project(point.w + change))

    def divergence(self, a, b):
        return 0.5 * float(np.sum((a.w - b.w) ** 2))


class Ridge(Flat):
    """All weights, or those in a box, with a ridge penalty."""

    def __init__(self, blocks, start=None):
        self.blocks, self.lam, self.project = blocks, blocks.lam, blocks.clip
        self.center = Weights(blocks.w.copy() if start is None else start.w)

    def set_out(self, center, gap):
        """Start at a point with such a gap; returns D_w."""
        self.center = center
        # P grows by lam / 2 times the squared distance from its minimum.
        self.distance = gap / self.lam
        return self.distance

    def dual(self, psi, loss):
        return self.blocks.dual_value(psi / self.lam, loss)

    def restricted_dual(self, psi, loss):
        """The same over w within D_w of the start; None in a box."""
        if self.blocks.bounded:
            return None
        w = self.center.w + project_l2_ball(
            psi / self.lam - self.center.w, np.sqrt(2.0 * self.distance)
        )
        return float(0.5 * self.lam * (w @ w) - w @ psi + loss)


class Ball(Flat):
    """The l2 ball, and what holds for all balls."""

    norm = "l2"

    def __init__(self, n_weights, radius):
        self.radius, self.center = radius, Weights(np.zeros(n_weights), np.zeros(n_weights))

    def project(self, w):
        return project_l2_ball(w, self.radius)

    def set_out(self, center, gap):
        """Start at zero; returns D_w."""
        return 0.5 * self.radius**2

    def dual(self, psi, loss):
        return float(loss - self.radius * dual_norm(psi, self.norm))

    restricted_dual = dual


class CrossPolytope(Ball):
    """The l1 ball as means of its corners and zero, measured by the entropy of their weights.

    Point ``w = radius (p+ - p-)`` has parameters theta: the weights p are proportional to
    ``(exp(theta), exp(-theta), 1)``.
    """

    norm = "l1"

    @property
    def scale(self):
        return self.radius

    def _weights(self, theta):
        high = np.abs(theta).max(initial=0.0)
        plus, minus, rest = np.exp(theta - high), np.exp(-theta - high), np.exp(-high)
        total = plus.sum() + minus.sum() + rest
        return (plus - minus) / total, high + np.log(total)

    def step(self, point, change):
        theta = point.parameters + self.radius * change
        return Weights(self.radius * self._weights(theta)[0], theta)

    def divergence(self, a, b):
        linear = (a.parameters - b.parameters) @ a.w / self.radius
        normalisers = self._weights(a.parameters)[1] - self._weights(b.parameters)[1]
        return float(linear - normalisers)

    def set_out(self, center, gap):
        return float(np.log(2 * len(self.center.w) + 1))


# ---- the method ----------------------------------------------------------------------------------


class _ExtragradientMethod(BestPointMethod):
    """The state of one run: v is the prox point of all steps so far, u of one more."""

    def __init__(self, settings, blocks, weights, outputs, tol, start=None):
        self.settings, self.blocks, self.tol = settings, blocks, tol
        self.space, self.outputs = weights, outputs
        self.of_outputs = outputs.lipschitz(settings.norm)
        self.lipschitz = weights.scale * self.of_outputs or 1.0
        self.step_weight, self.n_iter = 1.0, 0
        self.origin = outputs.at(outputs.zero())
        if start is None and np.any(weights.center.w):
            start = blocks.certify()
        if start is None:
            start = Solution(weights.center.w, blocks.max_loss, 0.0, None, None)
        self.best_w, self.primal, self.dual = start.w.copy(), start.primal, start.dual
        self.best_z, self.n_unbounded = None, blocks.n_unbounded
        blocks.objective = self.primal
        self._set_out(weights.center)

    @property
    def radius(self):
        return self.space.radius

    @property
    def limit(self):
        return self.blocks.gap_limit(self.tol)

    def _set_out(self, center):
        """(Re)start: averages empty, steps for the way to go."""
        space, outputs, settings = self.space, self.outputs, self.settings
        self.gap_at_start = self.gap
        self.d_w = space.set_out(center, max(self.gap, np.finfo(np.float64).eps))
        balance = settings.balance
        if check.is_auto(balance):
            balance = np.sqrt(self.d_w / outputs.diameter) if outputs.diameter > 0.0 else 1.0
        if isinstance(settings.step_size, Real):
            step = float(settings.step_size)
        else:  # so that sqrt(eta_w eta_z) L + lam eta_w = 1
            step = 1.0 / (self.lipschitz + space.lam * balance)
        self.eta_w, self.eta_z = step * balance, step / balance
        self._set_accuracy()
        self.total, self.means = 0.0, None  # of weights, and by them of what steps found
        self.slopes = np.zeros(len(center.w))  # weighted sum of -gradients in w
        self.potentials = outputs.zero()
        self.v_w, self.v_z = space.center, self.origin

    def _set_accuracy(self):
        self.outputs.accuracy = 0.005 * max(self.limit, 1e-9) * self.eta_z

    # ---- iterations ------------------------------------------------------------------------------

    def step(self):
        """One iteration; a dict of numbers when it ended with a certificate."""
        if self.n_iter == 0 and self.gap <= self.limit:
            return self.row()  # a warm start that is good enough
        self.n_iter += 1
        while not self._try_step():
            pass
        if self.n_iter % self.settings.gap_check:
            return None
        row = self.certify()
        restarts = self.settings.restart and self.space.lam > 0.0
        if restarts and self.limit < self.gap <= RESTART * self.gap_at_start:
            self._set_out(Weights(self.best_w))
        return row

    def _try_step(self):
        """Both prox steps, and the step to the next v, whose length may be refused."""
        space, outputs, weight = self.space, self.outputs, self.step_weight
        calls = outputs.polytopes.n_calls
        v_w, v_z, eta_w, eta_z = self.v_w, self.v_z, self.eta_w, self.eta_z
        u_w = space.step(v_w, eta_w * weight * (v_z.psi - space.lam * v_w.w))
        u_z = outputs.prox(v_z, eta_z * weight * v_w.w, eta_z * weight)
        slopes = self.slopes + weight * (u_z.psi - space.lam * u_w.w)
        potentials = self.potentials.plus(eta_z * weight * u_w.w, eta_z * weight)
        next_w, next_z = space.step(space.center, eta_w * slopes), outputs.at(potentials)
        self.blocks.counts[block_rules.CALLS] += outputs.polytopes.n_calls - calls
        if not self._accept(u_w, u_z, next_w, next_z):
            return False
        self.slopes, self.potentials, self.v_w, self.v_z = slopes, potentials, next_w, next_z
        kept = [] if u_z.z is None or not outputs.stored else [u_z.z]
        new = [u_w.w, u_z.psi, u_z.loss, *kept]
        self.total += weight
        self.means = [a + weight / self.total * (b - a) for a, b in zip(self.means or new, new)]
        self.last_step = weight * np.sqrt(eta_w * eta_z)
        return True

    def _accept(self, u_w, u_z, next_w, next_z):
        """Whether ``step <g(u) - g(v), u - v'> <= d(u, v) + d(v', u)``, all that the proof needs.

        Here g is the operator and v' the next v. The ratio of both sides, about proportional to the
        step, sets the next one.
        """
        if isinstance(self.settings.step_size, Real):
            if not np.abs(next_w.w).max() < HUGE:
                raise FloatingPointError(
                    f"weights grow without bound with step_size={self.settings.step_size}: take a "
                    f"smaller one, or 'backtrack'"
                )
            return True
        space, outputs, v_w, v_z = self.space, self.outputs, self.v_w, self.v_z
        to_u, to_next = u_w.w - v_w.w, u_w.w - next_w.w
        product = space.lam * (to_u @ to_next) - (u_z.psi - v_z.psi) @ to_next
        product += to_u @ (u_z.psi - next_z.psi)
        distance = (space.divergence(u_w, v_w) + space.divergence(next_w, u_w)) / self.eta_w
        distance += (outputs.divergence(u_z, v_z) + outputs.divergence(next_z, u_z)) / self.eta_z
        # What is forgiven adds as much to the bound, and rounding is less than that.
        forgiven = max(FORGIVEN * self.limit, 1e-10 * max(1.0, self.primal))
        left, right = self.step_weight * product, distance + self.step_weight * forgiven
        is_loose = not GROW * max(left, 0.0) > SAFETY * right  # the ratio itself may overflow
        factor = GROW if is_loose else max(SAFETY * right / left, SHRINK)
        accepted = left <= right
        self.step_weight *= factor if accepted else min(factor, SAFETY)
        if check.is_auto(self.settings.step_size):
            self.step_weight = min(self.step_weight, 1.0)
        if self.step_weight < TINY:
            raise FloatingPointError(
                f"no step is short enough in iteration {self.n_iter}: check the scale of X"
            )
        return accepted

    # ---- other balls -----------------------------------------------------------------------------

    def move_to(self, radius):
        """Start again in another ball; the best weights stay where it holds them."""
        space = self.space
        if radius < space.radius:
            self.best_w, self.primal = np.zeros_like(self.best_w), self.blocks.max_loss
        self.space = type(space)(len(self.best_w), radius)
        self.lipschitz = self.space.scale * self.of_outputs or 1.0
        self.dual, self.step_weight, self.n_iter = float(self.lines.at(radius)), 1.0, 0
        self.blocks.objective = self.primal
        self._set_out(self.space.center)

    # ---- certificates ----------------------------------------------------------------------------

    def certify(self):
        """Exact values at the averages: n oracle calls."""
        space, blocks = self.space, self.blocks
        if self.means is None:
            return self.row()
        w, psi, loss, *z = self.means
        if self.settings.cut:
            w = np.where(np.abs(w) < float(self.settings.cut) * np.abs(w).max(initial=0.0), 0.0, w)
        hinge, _ = blocks.ask(w)
        primal = float(0.5 * space.lam * (w @ w) + hinge)
        dual = space.dual(psi, loss)
        if self.lines is not None:
            self.lines.add([(float(loss), dual_norm(psi, space.norm))])
        if self.take(w, primal):
            self._set_accuracy()
        if dual > self.dual:
            self.dual, self.best_z = dual, z[0] if z else None
        row = self.row() | {"step_size": self.last_step}
        restricted = space.restricted_dual(psi, loss)
        if restricted is not None:
            way = self.d_w / self.eta_w + self.outputs.diameter / self.eta_z
            row |= {"restricted_gap": primal - restricted, "bound": way / self.total}
        return row

    def solution(self):
        """The best average; the blocks get the averages of z where these are stored."""
        if self.best_z is not None:
            self.outputs.polytopes.hand_over(self.blocks, self.best_z)
        return super().solution()
