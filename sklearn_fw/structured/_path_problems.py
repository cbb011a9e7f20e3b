"""The problems along a path, with certificates for all values between two solutions.

**Over C.** Any weights and dual variables enclose the optimum at lam. With

    P(w; lam) = lam / 2 |w|^2 + h(w)               h convex: the mean loss
    D(a; lam) = l(a) - |u(a)|^2 / (2 lam)          u linear in a, and w = u / lam

mixtures of two solutions, ``w = w_0 + p (w_1 - w_0)`` with ``h(w) <= h_0 + p (h_1 - h_0)``, and the
same with share q for the dual variables, are certified at every lam between them by the products of
the two weight vectors, without oracle calls. This holds for a box that is a cone, too, since
|clip(u)| is convex. For the hinge l is linear, for losses with an entropy concave: mixtures have at
least the mixture of both l, and dual variables with a share of 1 - rho of their mass moved to the
truth at least rho l.

**Over the radius of a ball.** With h the convex mean hinge loss, and for every mixture z of outputs
its mean loss l and the dual norm n of its mean feature difference, the optimum
``p(R) = min_{|w| <= R} h(w)`` has

    h((1 - s) w_0 + s w_1) <= (1 - s) h(w_0) + s h(w_1)   for R = (1 - s) R_0 + s R_1,  |w_i| <= R_i
    p(R) >= l - R n                                       for every mixture and every R

The gap between the chords and the highest line is linear between kinks of the lines, so its largest
value is at kinks or ends.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from .._core import check
from .._kernels import lazy
from ._solvers import BlockFrankWolfe, DualAscent, resolve_solver
from ._solvers._base import Breakpoint, dual_norm
from ._solvers._visits import visit_repeatedly
from ._surrogates import resolve_surrogate

block_rules = lazy("structured.block_rules")

# Accuracy where none is given, as a share of the mean largest loss, and of the mean loss of zero
# weights where the loss is smooth, of whose values probabilities are made.
EPS, EPS_OF_SMOOTH = 0.1, 0.02
# Share of the squared norm of features below which a squared gradient is rounding.
NOTHING = 1e-24
# lam where a path without C_max ends.
WEAKEST = 1e-5
# A path without radius_max ends at this multiple of the radius at which the hinge loss would be
# zero if it went on falling as it begins.
WIDEST = 100.0
# Ratio of two lams, on the log scale, between which no further cut is made.
FINEST = 1e-7
# Relative distance of values of the parameter that count as equal.
TOUCH = 1e-12


# ---- over C --------------------------------------------------------------------------------------


class OverC:
    """The path over C, walked in ``lam = 1 / (C s)`` with the sum s of the weights."""

    param_name, of_sum, grid_option = "C", True, None
    modes = ("exact", "heuristic")
    check_value = staticmethod(check.strength)

    def __init__(self, fitted):
        self.scale, solver = 1.0 / (fitted.lam_ * fitted.C_), fitted.solver_
        # Weights and bound of one certificate belong together.
        if getattr(solver, "averaging", None) == "auto":
            solver.set_params(averaging=False)

    @staticmethod
    def posed(estimator, mode):
        """The estimator to set up the problem with."""
        _check_solver(estimator, mode)
        return clone(estimator).set_params(C=1.0)

    def begin(self, method, eps, kappa, low, high, mode):
        """The method of the walk; sets accuracy and ends."""
        blocks = method.blocks
        lam_end = WEAKEST if high is None else self.at(high)
        if blocks.surrogate.smooth:
            self.hinge_at_zero = method.begin_at_zero()
            self.eps = EPS_OF_SMOOTH * self.hinge_at_zero if eps is None else eps
            lam = _start_of_smooth(blocks, kappa * self.eps)
        else:
            self.eps = EPS * blocks.max_loss if eps is None else eps
            lam, self.hinge_at_zero = _start(blocks, kappa * self.eps)
        lam = lam if low is None else min(lam, self.at(low))
        self.ends = lam, min(lam_end, lam)
        method.tol = kappa * self.eps
        return _Trusting(method) if mode == "heuristic" else method

    def at(self, value):
        return 1.0 / (value * self.scale)

    value = at  # C of a lam

    def piece(self, left, right):
        return RidgePiece(left, right)

    def finish(self, solved):
        """Keep what the breakpoints prove; returns where the guarantee begins and ends."""
        self.pieces = [RidgePiece(*pair) for pair in pairwise(solved)]
        self.first, self.last = solved[0]._replace(w=None), solved[-1]._replace(w=None)
        self.gap_at_zero = max(self.hinge_at_zero - self.first.loss, 0.0)
        begin = 0.0 if self.gap_at_zero <= self.eps else self.value(self.first.at)
        # The gap grows by (1 - rho) (hinge - gap) when lam becomes rho lam: Proposition 1 of OA16.
        room, growth = self.eps - self.last.gap, self.last.hinge - self.last.gap
        lam = 0.0 if growth <= room else self.last.at * (1.0 - room / growth)
        return begin, math.inf if lam == 0.0 else self.value(lam)

    def share(self, j, value):
        """Share of the weights of breakpoint j + 1 in those at a value between j and it."""
        return float(self.pieces[j].share(self.at(value)))

    def gap(self, j, value):
        """The gap at a value after breakpoint j, -1 before the first one."""
        if j < 0:
            shrunk = value / self.value(self.first.at)
            return float(np.interp(shrunk, [0.0, 1.0], [self.gap_at_zero, self.first.gap]))
        if j == len(self.pieces):
            growth = max(self.last.hinge - self.last.gap, 0.0)
            return self.last.gap + (1.0 - self.at(value) / self.last.at) * growth
        return float(self.pieces[j].gap(self.at(value)))

    def attributes_at(self, estimator, value):
        """What a fitted estimator has at a value."""
        return {"C": value, "C_": value, "lam_": self.at(value)}

    def params_at(self, estimator, value):
        return {"C": value}


def _check_solver(estimator, mode):
    solver, surrogate = resolve_solver(estimator.solver), resolve_surrogate(estimator.surrogate)
    if surrogate.smooth:
        if not (check.is_auto(estimator.solver) or isinstance(solver, DualAscent)):
            raise ValueError(
                f"solver of a path with surrogate={surrogate.name!r} must be 'auto' or a "
                f"DualAscent, got {estimator.solver!r}"
            )
        if mode == "heuristic":
            raise ValueError(f"surrogate={surrogate.name!r} needs mode='exact', got {mode!r}")
        return
    if not isinstance(solver, BlockFrankWolfe):
        raise ValueError(f"solver of a path must be block-coordinate, got {estimator.solver!r}")
    if mode == "heuristic" and solver.averaging is True:
        raise ValueError("mode='heuristic' trusts gaps of single iterates: set averaging=False")


def _start(blocks, tol):
    """Move all mass to the outputs of largest loss (OA16, Algorithm 6).

    Returns a lam for which that is optimal to ``tol``, and the mean hinge of zero weights.
    """
    if blocks.bounded and not (
        np.all((blocks.lower == 0) | np.isneginf(blocks.lower))
        and np.all(np.isposinf(blocks.upper))
    ):
        raise ValueError("a path needs bounds of any scale: lower 0 or -inf, no upper bounds")
    hinge, sweep = blocks.ask(np.zeros(blocks.n_weights))
    blocks.step_towards(sweep.answers, 1.0)
    direction, loss = blocks.vertex_of(sweep.answers)  # mean feature difference: lam is 1 here
    blocks.refresh()
    clipped = blocks.clip(direction)
    reach = blocks.mean_hinge(blocks.sweep(clipped, augmented=False))
    blocks.counts[block_rules.CALLS] += blocks.n_blocks
    # The gap of an oracle with loose bounds does not go to 0 with C.
    lam = (clipped @ direction + reach) / max(tol - (hinge - loss), 0.5 * tol)
    if lam <= 0:
        raise ValueError("all outputs have the same features: there is nothing to learn")
    return lam * (1 + TOUCH), hinge


def _start_of_smooth(blocks, tol):
    """A lam at which the Gibbs distributions of zero weights are about optimal to ``tol``.

    With u their mean difference of features, minus the gradient at zero, weights ``u / lam`` have a
    gap of at most ``L |u|^2 / (2 lam^2)`` where gradients have the Lipschitz constant L.
    """
    square = blocks.lam**2 * float(blocks.v @ blocks.v)
    lam = math.sqrt(blocks.mean_square / blocks.surrogate.temperature * square / (2.0 * tol))
    if not square > NOTHING * blocks.mean_square:
        raise ValueError("zero weights are optimal for every C: there is nothing to learn")
    return lam


class _Trusting:
    """A method that stops on the last known gaps instead of exact ones (heuristic mode)."""

    def __init__(self, method):
        self.method, self.blocks, self.tol = method, method.blocks, method.tol
        self.move_to = method.move_to

    def step(self):
        """A pass, unless the known gaps are small enough already."""
        if np.isinf(self.known):
            everyone = np.arange(self.blocks.n_blocks)
            visit_repeatedly(self.blocks, everyone, 1, self.method.rng, self.method.rules)
        elif self.known > self.tol:
            self.method.run_pass()
        return {"dual_gap": self.known}

    @property
    def known(self):
        return float(self.blocks.gaps.value.sum())

    def breakpoint(self):
        """The iterate, with what the known gaps say about its hinge loss."""
        blocks = self.blocks
        hinge = float(self.known + blocks.weight @ blocks.currents())
        return Breakpoint(blocks.lam, blocks.w.copy(), hinge, self.known, float(blocks.loss.sum()))


class RidgePiece:
    """The path between two breakpoints, for a larger and a smaller lam."""

    def __init__(self, left, right):
        self.left, self.right = (point._replace(w=None, u=None) for point in (left, right))
        self._w = _Segment.of(left.w, right.w)
        u = (point.at * point.w if point.u is None else point.u for point in (left, right))
        self._u = _Segment.of(*u)

    def share(self, lam):
        """Share of the right weights in the mixture of lowest bound on the objective."""
        return self._w.best(self.left.hinge - self.right.hinge, 1.0 / lam)

    def gap(self, lam):
        """Bound on the gap of the best mixtures, at one or many lams."""
        return self._bound(lam, self.share(lam), self._dual_share(lam))

    def _dual_share(self, lam):
        return self._u.best(self.right.loss - self.left.loss, lam)

    def _bound(self, lam, p, q):
        """P - D of two given mixtures; convex in lam."""
        left, right = self.left, self.right
        primal = 0.5 * lam * self._w.square(p) + left.hinge + p * (right.hinge - left.hinge)
        return primal - (left.loss + q * (right.loss - left.loss) - 0.5 * self._u.square(q) / lam)

    def is_certified(self, eps):
        """Whether the gap is at most ``eps`` on the whole piece.

        The bound of two fixed mixtures is convex in lam, so the ends of a cell decide. A cell where
        the mixtures of its middle fail is halved.
        """
        cells = [(math.log(self.right.at), math.log(self.left.at))]
        while cells:
            low, high = cells.pop()
            middle = 0.5 * (low + high)
            lam = math.exp(middle)
            p, q = float(self.share(lam)), float(self._dual_share(lam))
            if max(self._bound(math.exp(low), p, q), self._bound(math.exp(high), p, q)) <= eps:
                continue
            if not self._bound(lam, p, q) <= eps or high - low < FINEST:
                return False
            cells += [(middle, high), (low, middle)]
        return True


class _Segment(NamedTuple):
    """Points ``a + s (b - a)`` with s in [0, 1], by the products of a and b."""

    aa: float
    ab: float
    bb: float

    @classmethod
    def of(cls, a, b):
        return cls(a @ a, a @ b, b @ b)

    def square(self, s):
        return (1.0 - s) ** 2 * self.aa + 2.0 * s * (1.0 - s) * self.ab + s**2 * self.bb

    def best(self, gain, price):
        """The s that maximizes ``s gain - square(s) / (2 price)``."""
        slope = gain * price - (self.ab - self.aa)
        curvature = max(self.aa - 2.0 * self.ab + self.bb, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            s = np.divide(slope, curvature)
        return np.clip(np.where(np.isnan(s), 0.0, s), 0.0, 1.0)


# ---- over the radius of a ball -------------------------------------------------------------------


class OverRadius:
    param_name, of_sum, grid_option = "radius", False, None
    modes = ("exact",)
    check_value = staticmethod(check.positive)

    def __init__(self, fitted):
        self.lines = Lines()

    @staticmethod
    def posed(estimator, mode):
        return clone(estimator)

    def begin(self, method, eps, kappa, low, high, mode):
        """Start at the first radius, up to which zero weights are good enough."""
        blocks = method.blocks
        self.eps = EPS * blocks.max_loss if eps is None else eps
        method.tol = tol = kappa * self.eps
        # Exact at radius 0: the worst answers of all samples.
        self.hinge_at_zero, sweep = blocks.ask(np.zeros(blocks.n_weights))
        direction, loss = blocks.vertex_of(sweep.answers)
        loss, norm = float(loss), dual_norm(direction, method.settings.norm)
        self.lines.add([(loss, norm)])
        if norm <= 0.0:
            raise ValueError("all outputs have the same features: there is nothing to learn")
        # The gap of an oracle with loose bounds does not go to 0 with the radius.
        slack = self.hinge_at_zero - loss
        start = max(tol - slack, 0.5 * tol) / norm * (1 - TOUCH)
        end = max(WIDEST * loss / norm, start) if high is None else high
        self.ends = min(max(start, low or 0.0), end), end
        method.lines = self.lines
        return method

    @staticmethod
    def value(at):
        return at

    def piece(self, left, right):
        return BallPiece(left, right, self.lines)

    def finish(self, solved):
        self.radii = np.array([0.0] + [ball.at for ball in solved])
        self.hinges = np.array([self.hinge_at_zero] + [ball.hinge for ball in solved])
        before = zip(self.radii[:2], self.hinges[:2])
        begin = 0.0 if self.lines.worst(*before) <= self.eps * (1 + TOUCH) else self.radii[1]
        return float(begin), max(self.lines.fall_to(self.hinges[-1] - self.eps), self.radii[-1])

    def share(self, j, value):
        low, high = self.radii[j + 1 : j + 3]
        return float((value - low) / (high - low))

    def gap(self, j, value):
        return float(np.interp(value, self.radii, self.hinges) - self.lines.at(value))

    def attributes_at(self, estimator, value):
        solver = self.params_at(estimator, value)["solver"]
        return {"solver": solver, "solver_": solver}

    def params_at(self, estimator, value):
        return {"solver": clone(estimator.solver_).set_params(radius=value)}


class Lines:
    """The highest of many lines ``l - R n`` over R >= 0, among them zero: hinges are not negative.

    ``loss`` and ``norm`` are l and n of the lines that are highest somewhere, by falling n, and
    ``kinks`` the increasing radii between them.
    """

    def __init__(self):
        self.loss, self.norm, self.kinks = np.zeros(1), np.zeros(1), np.empty(0)

    def add(self, lines):
        pairs = np.concatenate([np.column_stack([self.loss, self.norm]), np.array(lines)])
        order = np.lexsort((-pairs[:, 0], -pairs[:, 1]))  # steepest first, the highest of equals
        kept, kinks = [], []  # and the radii from which each of the lines is the highest
        for loss, norm in pairs[order].tolist():
            if kept and norm == kept[-1][1]:
                continue
            begin = 0.0
            while kept:
                begin = (kept[-1][0] - loss) / (kept[-1][1] - norm)
                if begin > kinks[-1]:
                    break
                kept.pop()
                kinks.pop()
            kept.append((loss, norm))
            kinks.append(begin if len(kept) > 1 else 0.0)
        self.loss, self.norm = np.array(kept).T
        self.kinks = np.array(kinks[1:])

    def at(self, radius):
        """The height at one or many radii."""
        best = np.searchsorted(self.kinks, radius)
        return self.loss[best] - radius * self.norm[best]

    def worst(self, left, right):
        """Largest gap between two radii, under the chord of ``(radius, hinge)`` at these."""
        inside = self.kinks[(left[0] < self.kinks) & (self.kinks < right[0])]
        radii = np.concatenate([[left[0]], inside, [right[0]]])
        chord = np.interp(radii, [left[0], right[0]], [left[1], right[1]])
        return float((chord - self.at(radii)).max())

    def fall_to(self, height):
        """The radius at which the lines fall to a height; inf where they stay above."""
        if height <= self.loss[-1]:  # the last one is level
            return np.inf
        return float(np.max((self.loss - height)[:-1] / self.norm[:-1], initial=0.0))


class BallPiece:
    """The path between two breakpoints, for a smaller and a larger radius."""

    def __init__(self, left, right, lines):
        self.left, self.right, self.lines = left._replace(w=None), right._replace(w=None), lines

    def gap(self, radius):
        left, right = self.left, self.right
        chord = np.interp(radius, [left.at, right.at], [left.hinge, right.hinge])
        return chord - self.lines.at(radius)

    def is_certified(self, eps):
        left, right = ((ball.at, ball.hinge) for ball in (self.left, self.right))
        return self.lines.worst(left, right) <= eps
