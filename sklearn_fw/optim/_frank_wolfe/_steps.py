"""How far Frank-Wolfe methods step: functions of the state of the method."""

import math
from functools import cached_property
from numbers import Real
from typing import NamedTuple

import numpy as np

from ..._core import check
from ..._kernels.common.step_rules import open_loop_step, short_step
from ..objectives import knows_lines

MOST_TRIALS = 60  # of one line search or one backtracking
MOST_INSIDE = 12  # within the bracket of a root
NOISE = 1e-6  # share of a value that may be rounding
FLAT = 1e-3  # share of the first slope at which a line search ends
STRAIGHT = 1e-9  # the same at the root of a slope that changes as that of a parabola
PARABOLAS = 3  # roots of such slopes after which a function counts as quadratic
RULES = (
    "universal", "fictitious", "exact", "line_search", "short", "curvature", "backtracking",
)  # fmt: skip


class StepState(NamedTuple):
    """What a step size may depend on; see the Notes of `solve_saddle_point`."""

    n_iter: int
    n_good: int
    dual_gap: float
    pairwise_gap: float | None
    direction_gap: float
    max_step: float
    length_x: float = 0.0
    length_y: float = 0.0
    line: object = None  # a `Line`, where the objective can be asked along the direction


class Line:
    """The objective along the direction of a step from x, where it has a value.

    ``objective(x) -> (value, gradient)`` may have a method ``curvature(direction)``;
    ``direction`` is the array by which step one moves the point.
    """

    def __init__(self, objective, x, value, direction):
        self.objective, self.x, self.value, self.known = objective, x, value, {}
        self.direction = direction

    def at(self, step):
        if step not in self.known:  # a copy, for a function may write to the same array again
            value, gradient = self.objective(self.x + step * self.direction)
            self.known[step] = value, np.array(gradient)
        value, gradient = self.known[step]
        return value, float(gradient @ self.direction)

    def curvature(self):
        return float(self.objective.curvature(self.direction))

    def square(self):
        return float(self.direction.dot(self.direction))

    size = square

    def root(self, slope, longest, guess):
        """Step of least value and slope there, where that is known faster than by trials."""
        return None


class ImageLine(Line):
    """The same for an `Objective`: all but the length of the direction is known by images."""

    direction = cached_property(lambda self: self._make_direction())

    def __init__(self, objective, image, ahead, value, make_direction):
        self.objective, self.value, self.known = objective, value, {}
        self.image, self.ahead, self._make_direction = image, ahead, make_direction

    def size(self):
        return float(self.ahead @ self.ahead)

    def root(self, slope, longest, guess):
        if not knows_lines(self.objective):
            return None
        return self.objective._step_along(self.image, self.ahead, slope, longest, guess)

    def at(self, step):
        value, slopes = self.objective.slopes(self.image + step * self.ahead)
        return float(value), float(slopes @ self.ahead)

    def curvature(self):
        return float(self.objective.inner(self.ahead, self.ahead))


def named_rule(step_size, *, lipschitz=None, curvature=None, variant="fw", convex=True):
    """A function `StepState` -> step, from a name of `minimize_frank_wolfe`, number or function.

    Of functions that are not ``convex`` the root of a line search counts if no backtracking step,
    for which there is a rate, is lower.
    """
    if callable(step_size):
        return step_size
    if isinstance(step_size, Real) and not isinstance(step_size, bool):
        constant = check.positive(step_size, "step_size")
        return lambda state: constant
    check.choice(step_size, "step_size", RULES)
    if step_size == "short":
        constant = check.positive(lipschitz, "lipschitz")
        return lambda state: _parabola(state, constant * state.line.square())
    if step_size == "curvature":
        constant = check.positive(curvature, "curvature")
        if variant == "away":
            return lambda state: min(1.0, 0.5 * state.pairwise_gap / constant)
        return lambda state: max(state.direction_gap, 0.0) / constant
    if step_size == "backtracking":
        return Backtracking()
    if step_size == "line_search":
        return LineSearch() if convex else lower_of(LineSearch(), Backtracking())
    if step_size == "exact":
        return lambda state: _parabola(state, state.line.curvature())
    if step_size == "universal":
        return lambda state: open_loop_step(state.n_good, 1.0, math.inf)
    return lambda state: 1.0 / (1.0 + state.n_good)


class LineSearch:
    """The minimum along the direction: a root of the slope by secants within a bracket.

    The first guess is the root of a slope that bends as the last one did.
    """

    def __init__(self):
        self.bend = None  # second derivative over squared length, at the last root
        self.n_parabolas = 0  # roots that the secant of two slopes hit

    def __call__(self, state):
        slope_low, line = -state.direction_gap, state.line
        if slope_low >= 0.0:
            return 0.0
        square = line.size()
        guess = -slope_low / (self.bend * square) if self.bend and square > 0.0 else math.inf
        found = line.root(slope_low, state.max_step, guess if guess < math.inf else 0.0)
        step, slope = found or self._search(line, slope_low, guess, state.max_step)
        if step * square > 0.0:
            self.bend = max((slope - slope_low) / (step * square), 0.0)
        return step

    def _search(self, line, slope_low, guess, high):
        """The root between zero and ``high``, or ``high``, and the slope there."""
        low, slope_high, first, kept, n_inside = 0.0, None, -slope_low, 0, 0
        step = guess if guess < high else (high if high < math.inf else 1.0)
        best = (math.inf, 0.0, 0.0)
        for i in range(MOST_TRIALS):
            value, slope = line.at(step)
            if not value < math.inf:  # outside of where the objective is defined
                high, step = step, 0.5 * (low + step)
                continue
            best = min(best, (abs(slope), step, slope))
            if slope <= 0.0 and step >= high:
                return step, slope
            if abs(slope) <= FLAT * first and (
                slope <= 0.0 or value - line.value <= 1e-14 * abs(line.value)
            ):
                if i:
                    is_straight = i < 3 and abs(slope) <= STRAIGHT * first
                    self.n_parabolas = self.n_parabolas + 1 if is_straight else 0
                return step, slope
            if slope < 0.0:
                before, slope_before, low, slope_low = low, slope_low, step, slope
                if slope_high is None:  # no bracket yet: the secant, but not much further
                    rise = slope - slope_before
                    ahead = step + (step - before) * -slope / rise if rise > 0.0 else math.inf
                    step = min(ahead, 4.0 * step, high)
                    continue
                # Illinois: the end that stays twice counts half, so that both ends move.
                slope_high *= 0.5 if kept == 1 else 1.0
                kept = 1
            else:
                high, slope_high = step, slope
                slope_low *= 0.5 if kept == -1 else 1.0
                kept = -1
            step = low + (high - low) * slope_low / (slope_low - slope_high)
            n_inside += 1
            if n_inside > MOST_INSIDE or not low < step < high:
                break
        return best[1], best[2]


class Backtracking:
    """Short steps with a constant that is doubled until the parabola is above the objective.

    References
    ----------
    .. [1] F. Pedregosa, G. Negiar, A. Askari, M. Jaggi, "Linearly convergent Frank-Wolfe with
       backtracking line-search", AISTATS 2020.
    """

    grow, shrink = 2.0, 0.9

    def __init__(self):
        self.lipschitz = None

    def __call__(self, state):
        line, square = state.line, state.line.square()
        if square == 0.0 or state.direction_gap <= 0.0:
            return 0.0
        if self.lipschitz is None:  # from the change of the slope over a short way
            probe = min(1e-3, state.max_step)
            bent = (line.at(probe)[1] + state.direction_gap) / (probe * square)
            self.lipschitz = max(abs(bent), 1e-12 * state.direction_gap / square)
        self.lipschitz *= self.shrink
        for _ in range(MOST_TRIALS):
            step = _parabola(state, self.lipschitz * square)
            promised = step * state.direction_gap - 0.5 * step * step * self.lipschitz * square
            value, slope = line.at(step)
            if line.value - value >= promised - 1e-14 * abs(line.value):
                break
            # Where values of single precision are rounded to more than this, slopes still tell.
            bound = step * self.lipschitz * square - state.direction_gap
            if promised <= NOISE * abs(line.value) and slope <= bound:
                break
            self.lipschitz *= self.grow
        return step


def lower_of(*rules):
    def rule(state):
        steps = [min(rule(state), state.max_step) for rule in rules]
        return min(steps, key=lambda step: state.line.at(step)[0])

    return rule


def _parabola(state, curvature):
    step = short_step(state.direction_gap, curvature, state.max_step)
    return step if step < math.inf else 0.0  # nothing moves: a slope of rounding errors


def take(rule, state):
    """The step that a rule wants, cut to what is possible, and whether it was cut."""
    wanted = rule(state)
    if type(wanted) is not float and not isinstance(wanted, Real):
        raise TypeError(f"step_size must give numbers, got {wanted!r} in step {state.n_iter}")
    step = min(wanted, state.max_step)
    if not 0.0 <= step < math.inf:
        raise ValueError(
            f"step_size must give finite numbers that are not negative, got {wanted} in step "
            f"{state.n_iter}"
        )
    return float(step), wanted >= state.max_step
