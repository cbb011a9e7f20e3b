"""A finite sum over parts: what solvers need of it are sums at points that this process holds."""

from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._incremental._finite_sum import FiniteSum, Shifted
from .._incremental._loss_sums import LossSums, joined


class Facts(NamedTuple):
    """What is known of all rows."""

    n_rows: int
    n_columns: int
    total_weight: float
    dtype: np.dtype


class PartSums(LossSums):
    """`LossSums` of one part."""

    def shifted(self, quantity, point, shift):
        """What the method ``quantity`` of `Shifted` scores returns."""
        return getattr(Shifted(self.problem, self._at(point)[0]), quantity)(shift)

    def smoothness(self):
        return self.problem.smoothness

    def zero_loss(self):
        return self.problem.loss_at(np.zeros(self.problem.shape), 0.0)  # of no weight, too

    def conjugates(self, point, scale):
        return self.problem.conjugate_sum(self._at(point)[2], scale)


class PartedSum(FiniteSum):
    """``sum_i s_i loss(y_i, <w, x_i> + c) + penalty(w)`` over the rows of `PartSums`.

    For solvers that need sums over rows alone: `NewtonCG` and `Newton`. A round sends a point or a
    direction of ``n_columns + 1`` numbers per output to every part and gets as many back; matrices
    are the square of the number of columns, or in `Newton` of the coefficients that a step changes.
    """

    def __init__(self, parts, facts, loss, penalty, *, fit_intercept, n_outputs):
        self.parts, self.loss, self.penalty = parts, loss, penalty
        self.n_rows, self.n_columns, self.total_weight, self.dtype = facts
        self.fit_intercept, self.n_outputs = fit_intercept, n_outputs
        self.active = np.broadcast_to(np.int32(0), self.n_rows)  # a number alone

    is_by_columns = False
    sums = property(lambda self: self)  # an attribute would keep blocks until garbage is collected

    def variant(self, *, penalty):
        """The same rows with another penalty, sharing what depends on rows alone."""
        for name in ("size", "smoothness", "of_columns"):
            getattr(self, name)  # cached from now on
        other = copy(self)
        other.penalty = penalty
        for name in ("has_dual", "null"):
            vars(other).pop(name, None)
        return other

    # ---- as `LossSums` ---------------------------------------------------------------------------

    def evaluate(self, point, before=None, move=None, length=0.0):
        return self.parts.sum("evaluate", point, before, move, length)

    def bend(self, point, damping, level):
        return self.parts.sum("bend", point, damping, level)

    def product(self, point, damping, move):
        return self.parts.sum("product", point, damping, move)

    def matrix(self, point, damping, columns, center):
        return self.parts.sum("matrix", point, damping, columns, center)

    def columns(self):
        return self.of_columns

    def slopes(self, point):
        self.at = point  # where parts have them

    # ---- as `FiniteSum` --------------------------------------------------------------------------

    @property
    def centers(self):
        return self.fit_intercept

    @property
    def column_means(self):
        return self.of_columns.mean[0]

    @cached_property
    def of_columns(self):
        return self.parts.sum("columns")

    @cached_property
    def smoothness(self):
        return max(self.parts.each("smoothness"))

    @cached_property
    def size(self):
        return self.parts.sum("zero_loss") / self.total_weight

    def loss_at(self, coef, intercept):
        return ShiftedParts(self.parts, joined(coef, intercept)).loss(0.0)

    def conjugate_sum(self, slopes, scale=1.0):
        return self.parts.sum("conjugates", self.at, scale)

    def proves_separable(self, objective):
        return False  # a finite strength has an optimum

    def origin(self):
        coef = self.resting_point()
        intercept, losses, *_ = self._at_best_intercept(coef, np.zeros(self.shape[1:]))
        return coef, intercept, (losses + self.penalty.value(coef)) / self.total_weight

    def _at_best_intercept(self, coef, intercept):
        point = joined(coef, intercept)
        if self.fit_intercept:
            shift = self._find_shift(ShiftedParts(self.parts, point))
            if self.n_outputs is not None:
                shift -= np.mean(intercept + shift)
            ones = np.zeros_like(point)
            ones[-1] = shift
            before, point = point, point + ones
            intercept = intercept + shift
            losses, gradient = self.evaluate(point, before, ones, 1.0)
        else:
            losses, gradient = self.evaluate(point)
        self.at = point
        total, mass = gradient[:-1].reshape(self.shape), gradient[-1].reshape(self.shape[1:])
        return intercept, losses, None, total, mass


class ShiftedParts:
    """`Shifted` scores of all parts at a point."""

    def __init__(self, parts, point):
        self.parts, self.point = parts, point

    def loss(self, shift):
        return self.parts.sum("shifted", "loss", self.point, shift)

    def slope(self, shift):
        return self.parts.sum("shifted", "slope", self.point, shift)

    def bend(self, shift):
        return self.parts.sum("shifted", "bend", self.point, shift)
