"""The one Frank-Wolfe loop: steps of one iterate, or of several by a common length."""

import math
from abc import abstractmethod
from numbers import Real

import numpy as np

from ..._kernels.common.step_rules import AWAY, FW, PAIRWISE, considers
from ..._loop import IterativeMethod
from ..._validation import check_array_of_numbers
from ._iterate import Iterate
from ._steps import Line, StepState, take

__all__ = ["KINDS", "FrankWolfe", "Minimisation", "checked_derivatives"]

KINDS = {"fw": FW, "away": AWAY, "pairwise": PAIRWISE}


class FrankWolfe(IterativeMethod):
    """The certificate of the current point, then a step from it.

    Parameters
    ----------
    iterates : list of Iterate
        Points that move together, each in its domain.
    variant : {"fw", "away", "pairwise"}
        Steps towards the oracle's answer; besides, steps away from the worst atom, where these
        promise more; or steps that move weight from the worst atom to the answer.
    rule : callable
        The step that a `StepState` asks for; see `_steps`.
    """

    def __init__(self, iterates, variant, rule):
        self.iterates, self.variant, self.rule = iterates, variant, rule
        self.n_iter = -1  # of steps, so that the first gap is that of step 0
        self.n_good = self.n_away = self.n_drop = 0
        self.step_length = 0.0
        self.value = self.dual_gap = None

    @abstractmethod
    def look(self):
        """Find ``value`` at the current point, and ask all oracles by `Iterate.look`."""

    def step(self):
        """Leave the last point, which was not good enough, and find the gap of the new one."""
        if self.n_iter >= 0:
            self.advance()
        self.n_iter += 1
        return self.certify()

    def certify(self):
        """The certificate at the current point; the row of the history."""
        self.look()
        self.dual_gap = self.gap + sum(iterate.slack for iterate in self.iterates)
        return self.row()

    def row(self):
        """What the history says of the current point."""
        known = math.isfinite(self.dual_gap)  # not where an oracle has no bound
        row = {
            "n_oracle_calls": sum(iterate.n_calls for iterate in self.iterates),
            "objective": self.value, "dual_gap": self.dual_gap if known else None,
            "step_size": self.step_length,
        }  # fmt: skip
        if self.dual_gap != self.gap:
            row["estimated_gap"] = self.gap
        if any(iterate.active is not None for iterate in self.iterates):
            row["pairwise_gap"] = self.gap + self.away_gap
            row |= {name: getattr(self, name) for name in ("n_good", "n_away", "n_drop")}
        return row

    @property
    def gap(self):
        """What steps towards the answers promise."""
        return sum(iterate.gap for iterate in self.iterates)

    @property
    def away_gap(self):
        """What steps away from the worst atoms promise."""
        return sum(iterate.away_gap for iterate in self.iterates)

    @property
    def n_atoms(self):
        """Number of atoms of all combinations."""
        return sum(iterate.n_atoms for iterate in self.iterates)

    def advance(self):
        """One step of all iterates, of common length."""
        kind, gap, away_gap = KINDS.get(self.variant, FW), self.gap, self.away_gap
        n_active = max(iterate.n_atoms for iterate in self.iterates)
        if kind == AWAY and not considers(AWAY, AWAY, gap, away_gap, n_active):
            kind = FW
        longest = min(iterate.longest(kind) for iterate in self.iterates)
        promised = {FW: gap, AWAY: away_gap, PAIRWISE: gap + away_gap}
        lengths = [iterate.length for iterate in self.iterates]
        self.step_length, was_cut = take(self.rule, StepState(
            n_iter=self.n_iter, n_good=self.n_good, dual_gap=self.dual_gap,
            pairwise_gap=None if self.variant == "fw" else promised[PAIRWISE],
            direction_gap=promised[kind], max_step=longest,
            length_x=lengths[0], length_y=lengths[-1], line=self.line(kind),
        ))  # fmt: skip
        n_atoms = self.n_atoms
        for iterate in self.iterates:
            iterate.advance(kind, self.step_length)
        # A full step towards vertices is no drop, which would hold k at zero. Neither is a cut that
        # exchanges one vertex for another: these can follow each other without end.
        dropped = was_cut and kind != FW and self.n_atoms < n_atoms
        self.n_drop += dropped
        self.n_good += not dropped
        self.n_away += kind == AWAY

    def line(self, kind):
        """The objective along a direction, for the rules that ask it; None where there is none."""
        return None


class Minimisation(FrankWolfe):
    """Minimise a smooth function over a domain.

    ``objective(x) -> (value, gradient)`` has a method ``curvature(direction)``, the second
    derivative along it, for the rule "exact". For convex functions the gap bounds how far the value
    is from the minimum, with an inexact oracle too, whose bound it takes; other functions have a
    stationary point where it is zero. ``best`` are point, value and gap where the gap was smallest.
    """

    def __init__(self, objective, domain, *, variant="fw", rule, start=None, combination=None):
        self.objective = objective
        keeps = variant != "fw"
        self.iterate = Iterate(domain, start=start, combination=combination, active=keeps)
        super().__init__([self.iterate], variant, rule)
        self.best = None

    def look(self):
        point = self.iterate.point
        self.value, (gradient,) = checked_derivatives(
            self.objective(point), [("gradient", point)], self.n_iter, "objective"
        )
        self.iterate.look(gradient)

    def certify(self):
        row = super().certify()
        if self.best is None or self.dual_gap < self.best[2]:
            self.best = self.iterate.point, self.value, self.dual_gap
        return row

    def solution(self):
        """Point, value and gap where the gap was smallest."""
        return self.best

    def line(self, kind):
        iterate = self.iterate
        return Line(self.objective, iterate.point, self.value, lambda: iterate.direction(kind))


def checked_derivatives(answer, wanted, n_iter, who="function"):
    """Value and gradients that a function of the user returned.

    ``wanted`` are names of the gradients and arrays of their shapes; the rest is for errors.
    """
    names = ", ".join(name for name, _ in wanted)
    if not (isinstance(answer, (tuple, list)) and len(answer) == 1 + len(wanted)):
        raise ValueError(f"{who} must return (value, {names}), got {answer!r}")
    value, *gradients = answer
    gradients = [
        check_array_of_numbers(gradient, f"{name} of {who}", finite=None)
        for gradient, (name, _) in zip(gradients, wanted)
    ]
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if not isinstance(value, Real):
        raise ValueError(f"{who} must return a number as value, got {value!r}")
    for gradient, (name, like) in zip(gradients, wanted):
        if gradient.shape != like.shape:
            raise ValueError(
                f"{who} returned a {name} of shape {gradient.shape}, expected {like.shape}"
            )
    if not (math.isfinite(value) and all(np.all(np.isfinite(g)) for g in gradients)):
        raise ValueError(f"{who} returned NaN or infinity after {max(n_iter, 0)} steps")
    return float(value), gradients
