"""The one Frank-Wolfe loop: steps of one iterate, or of several by a common length."""

import math
from abc import abstractmethod
from functools import partial
from numbers import Real
from operator import attrgetter

import numpy as np
import scipy.sparse as sp
from scipy.optimize import OptimizeResult

from ..._core import check
from ..._core.loop import IterativeMethod
from ..._kernels.common.step_rules import AWAY, FW, PAIRWISE, considers, slope_and_limit
from ..domains._base import UnitAtom, is_ours, vector
from ..domains._spectral import is_matrix
from ..objectives import Objective
from ._iterate import ActiveSet, Iterate
from ._steps import PARABOLAS, ImageLine, Line, StepState, take

CLOSE = 0.02  # gap over what the answers bring, from which on these must come closer
WALK = 32.0  # slack over gap that steps can do with: answers are far better than what is certain
REFINEMENTS = 5  # of one answer at most
# The tolerance where none is given: a share of the current value, and at least one of the first
# value or gap, for functions that fall to zero.
SHARE, FLOOR = 1e-6, 1e-8

KINDS = {"fw": FW, "away": AWAY, "pairwise": PAIRWISE}


def total_of(name):
    """The sum over all iterates, as a property."""
    get = attrgetter(name)
    return property(lambda self: sum(map(get, self.iterates)))


class FrankWolfe(IterativeMethod):
    """The certificate of the current point, then a step from it."""

    measures = True  # whether the rule may ask for lengths, which cost a pass over the points
    accuracy = 1.0  # share of the true gap that the answers have at least
    tol = 0.0

    gap, slack = total_of("gap"), total_of("slack")
    away_gap, n_atoms, n_calls = total_of("away_gap"), total_of("n_atoms"), total_of("n_calls")

    def __init__(self, iterates, variant, rule):
        self.iterates, self.variant, self.rule = iterates, variant, rule
        self.n_iter = -1  # of steps, so that the first gap is that of step 0
        self.n_good = self.n_away = self.n_drop = self.n_swap = 0
        self.step_length = 0.0
        self.value = self.dual_gap = None
        self._refining = [i for i in iterates if getattr(i, "can_refine", False)]
        self._seeks_worst = any(getattr(i, "seeks_worst", False) for i in iterates)

    @abstractmethod
    def look(self):
        """Find ``value`` at the current point, and ask all oracles by `Iterate.look`."""

    def step(self):
        """Leave the last point, which was not good enough, and find the gap of the new one."""
        if self.n_iter >= 0:
            self.advance()
        self.n_iter += 1
        return self.certify()

    def certify(self, is_last=False):
        self.look()
        if self._refining:
            self.refine(is_last)
        self.dual_gap = self.gap / self.accuracy + self.slack
        return self.row()

    def refine(self, is_last):
        """Let oracles that can come closer do more work, where what they found is not enough.

        Few products find a direction to descend as long as the gap is large; what is certain needs
        more of them. Near the end the slack goes with the gap, and at the end itself below it.
        """
        for _ in range(REFINEMENTS):
            gap, slack = self.gap, self.slack
            size = sum(abs(iterate.ahead) for iterate in self.iterates)
            ends = is_last or gap <= self.tol
            near = ends or gap <= CLOSE * size
            limit = 0.5 * gap if ends else WALK * gap
            wanted = max(0.5 * limit, 0.5 * (self.tol - gap), slack / 64.0) / len(self._refining)
            for iterate in self._refining:
                iterate.wanted = wanted if near else None
            if not near or slack <= max(limit, self.tol - gap):
                return
            for iterate in self._refining:
                iterate.answer()

    def row(self):
        gap, certified = self.gap, self.dual_gap
        row = {
            "n_oracle_calls": self.n_calls, "objective": self.value,
            "dual_gap": certified if certified < math.inf else None,  # without a bound
            "step_size": self.step_length,
        }  # fmt: skip
        if certified != gap:
            row["estimated_gap"] = gap
        if self._seeks_worst:
            row["pairwise_gap"] = gap + self.away_gap
            row["n_good"], row["n_away"], row["n_drop"] = self.n_good, self.n_away, self.n_drop
        return row

    def advance(self):
        kind, gap, away_gap = KINDS.get(self.variant, FW), self.gap, self.away_gap
        if kind == AWAY:
            n_active = max([iterate.n_atoms for iterate in self.iterates])
            kind = AWAY if considers(AWAY, AWAY, gap, away_gap, n_active) else FW
        longest = min([iterate.longest(kind) for iterate in self.iterates])
        sides = self.iterates if self.measures else ()
        lengths = [float(np.linalg.norm(side.direction(FW))) for side in sides] or [0.0]
        self.step_length, was_cut = take(self.rule, StepState(
            self.n_iter, self.n_good, self.dual_gap,
            None if self.variant == "fw" else gap + away_gap,
            slope_and_limit(kind, gap, away_gap, 0.0)[0], longest,
            lengths[0], lengths[-1], self.line(kind),
        ))  # fmt: skip
        n_atoms = self.n_atoms if was_cut and kind != FW else None
        for iterate in self.iterates:
            iterate.advance(kind, self.step_length)
        # A full step towards vertices is not a drop, which would hold k at zero. Nor is a cut that
        # exchanges one vertex for another: these can follow each other without end.
        dropped = n_atoms is not None and self.n_atoms < n_atoms
        self.n_drop += dropped
        self.n_good += not dropped
        self.n_swap += n_atoms == self.n_atoms and kind == PAIRWISE
        self.n_away += kind == AWAY

    def line(self, kind):
        """The objective along a direction, for the rules that ask it; None where there is none."""
        return None


class Minimization(FrankWolfe):
    """Minimize a smooth function over a domain.

    For the rule "exact", ``objective(x) -> (value, gradient)`` has a method
    ``curvature(direction)``. Of an `Objective` the image is kept, and moves with each step by those
    of single atoms. For convex functions the gap bounds the distance from the minimum, for an
    inexact oracle with its bound. ``best`` is what is known of where the gap was smallest.

    Gaps up to ``tol`` are found again from exact sums before they count; None makes it a fraction
    of the current value, and at least a smaller one of the first value or gap. ``accuracy`` is the
    fraction of the true gap that answers have at least; sums are renewed after ``refresh`` steps.
    """

    gap, slack = property(attrgetter("iterate.gap")), property(attrgetter("iterate.slack"))
    away_gap = property(attrgetter("iterate.away_gap"))  # faster than sums of one term

    def __init__(
        self, objective, domain, *, variant="fw", rule, start=None, tol=0.0, accuracy=1.0,
        refresh=1, measures=False,
    ):  # fmt: skip
        self.objective, self.accuracy, self.measures = objective, accuracy, measures
        self.tol, self.given_tol, self._least = tol or 0.0, tol, None
        self.lazy = variant not in ("away", "pairwise") and is_matrix(domain) and is_ours(objective)
        self.iterate = Iterate(
            domain, start=start, refresh=refresh, lazy=self.lazy,
            active=variant != "fw" and not self.lazy, size=getattr(objective, "size", None),
        )  # fmt: skip
        super().__init__([self.iterate], variant, rule)
        self.best = self._rank = self._is_exact = self._ahead = self._line = self._known = None
        self.image, self._images = None, {}
        if isinstance(objective, Objective):
            self.image = self._checked_image(self.iterate.point)
        self._refresh, self._n_moves = refresh, 0

    @property
    def is_slow(self):
        """Whether a correction of all weights would come further."""
        return getattr(self.rule, "n_parabolas", 0) >= PARABOLAS

    def look(self):
        if self.image is not None and is_ours(self.objective):
            value, slopes = self.objective.slopes(self.image)
            if self.lazy:
                gradient = self.objective._matrix_adjoint(slopes, self.iterate.domain.shape)
            else:
                gradient = self.objective.adjoint(slopes)
            numbers = gradient.data if sp.issparse(gradient) else gradient
            if math.isfinite(value) and check.is_moderate(numbers):
                self.value, self.gradient = value, gradient
                self.iterate.look(gradient, float(slopes @ self.image) if self.lazy else None)
                return
        self.value, self.gradient = self._derivatives()
        self.iterate.look(self.gradient)

    def _derivatives(self):
        """Checked value and gradient at the current point."""
        point = self.iterate.point
        if self.image is None:
            answer = self._known or self.objective(point)
        else:
            value, slopes = self.objective.slopes(self.image)
            answer = value, self.objective.adjoint(slopes)
        return checked_derivatives(answer, point, who="objective")

    def certify(self):
        row = super().certify()
        if self.given_tol is None:
            if self._least is None:
                self._least = FLOOR * max(abs(self.value), self.gap)
            self.tol = max(SHARE * abs(self.value), self._least)
        if self.dual_gap <= self.tol and self._n_moves:
            self.refresh()
            row = super().certify()
        rank = self.dual_gap, self.gap  # of oracles without a bound the second decides
        if self._refining:  # their bounds tell more of the work that was done
            rank = self.value, self.gap
        if self.best is None or rank < self._rank:
            self.best, self._rank, self._is_exact = self.described(), rank, self._n_moves == 0
        return row

    def refresh(self):
        """Free the point and its image of the rounding errors of earlier steps."""
        self._n_moves, self._known = 0, None
        self.iterate.refresh()
        if self.image is not None:
            self.image = self.objective.image(self.iterate.point)

    def described(self):
        active = self.iterate.active
        return Lazy(
            {} if self.lazy else {"x": self.iterate.point}, fun=self.value, jac=self.gradient,
            dual_gap=self.dual_gap, atoms=active and active.atoms,
            weights=active and active.weights.copy(),
        )  # fmt: skip

    def state(self):
        return self.state_at(self.described() if self.lazy else {"x": self.iterate.point.copy()})

    def state_at(self, point):
        return Lazy(point, fun=self.value, dual_gap=self.dual_gap, nit=self.n_iter + 1)

    def certified_best(self):
        """`best`, found again from exact sums."""
        best = self.best
        if self._refining or not self._is_exact:
            iterate = self.iterate
            iterate.point = best.get("x")
            if best.atoms is not None:
                iterate.active = ActiveSet(best.atoms, best.weights)
            self.refresh()
            super().certify(is_last=True)
            self.best, self._is_exact = self.described(), True
        if self.lazy:
            self.best.fun, self.best.jac = self.objective(self.best.x)
        return self.best

    def advance(self):
        super().advance()
        self._known = self._line.known.get(self.step_length)
        self._n_moves += 1
        if self._n_moves >= self._refresh:
            self.refresh()
        elif self._ahead is not None:
            self.image = self.image + self.step_length * self._ahead

    def line(self, kind):
        iterate = self.iterate
        if self.image is None:
            self._line = Line(self.objective, iterate.point, self.value, iterate.direction(kind))
            return self._line
        base = self.image if kind == FW else self.image_of(iterate.active.atom(iterate.worst))
        front = self.image if kind == AWAY else self.image_of(iterate.atom)
        self._ahead = front - base
        direction = partial(iterate.direction, kind)
        self._line = ImageLine(self.objective, self.image, self._ahead, self.value, direction)
        return self._line

    def leave_to(self, follower):
        """Let another run go on from here, with all counts."""
        follower.iterate.n_calls = self.iterate.n_calls
        for name in ("n_iter", "n_good", "n_away", "n_drop", "n_swap", "_least"):
            setattr(follower, name, getattr(self, name))
        follower.certify()
        return follower

    def image_of(self, atom):
        """The image of an atom, kept as long as the atom is in use where it costs a product."""
        if self.lazy or self.iterate.active is None or isinstance(atom, UnitAtom):
            return self._checked_image(atom)
        image = self._images.get(atom.key)
        if image is None:
            if len(self._images) > 2 * len(self.iterate.active) + 16:
                used = {kept.key for kept in self.iterate.active.atoms}
                self._images = {key: z for key, z in self._images.items() if key in used}
            image = self._images[atom.key] = self._checked_image(atom)
        return image

    def _checked_image(self, point):
        if is_ours(self.objective):
            return self.objective.image(point)
        size = None if self.image is None else self.image.size
        return check.vector(self.objective.image(point), "the image of objective", size)


class Lazy(OptimizeResult):
    """What is known of a point, whose ``x`` is made of its atoms where it is first read."""

    def __missing__(self, key):
        if key != "x":
            raise KeyError(key)
        return self.setdefault("x", ActiveSet(self.atoms, self.weights).point())


def checked_derivatives(answer, *points, names=("gradient",), who="function"):
    """Value and gradients, as many as there are points, that a user's function returned."""
    if type(answer) is not tuple or len(answer) != 1 + len(points):
        answer = check.unpacked(answer, ", ".join(["value", *names]), who)
    value, *gradients = answer
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if not (isinstance(value, (float, Real)) and math.isfinite(value)):
        raise ValueError(f"{who} must return a finite number as value, got {value!r}: see start")
    parts = zip(gradients, names, points)
    return float(value), *(vector(g, f"{name} of {who}", x.size) for g, name, x in parts)
