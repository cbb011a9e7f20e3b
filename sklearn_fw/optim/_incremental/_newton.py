"""Newton's method for few columns: a quadratic model of all columns in every step."""

from copy import copy
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..._kernels import lazy
from ...losses import SquaredError
from ._curvature import Curvature, solve_positive, solve_scores
from ._newton_cg import is_ridge, start_from_sample
from ._run import PlainRun, Point, Solver, Start

sums = lazy("common.sums")

# Sweeps of coordinate descent between attempts to solve for the free coefficients at once, which
# cost as much as many of them.
SWEEPS = (20, 20, 40, 80, 160, 320, 640, 1280)
# Moves below this share of the longest coefficient are rounding.
ROUNDING = 1e-15
# Share of the predicted decrease that a step must achieve.
SUFFICIENT = 1e-4
# Parts of the bound on the curvature that are added to the curvature when steps fail.
DAMPED = (1e-3, 1e-2, 0.1, 1.0)


class NewtonRun(PlainRun):
    """Steps to the minimum of the second-order model with the penalty as it is."""

    def __init__(self, problem, settings, *, tol, rng, start=None):
        super().__init__(problem, Point(problem), settings, tol=tol, rng=rng, start=start)
        self.length = 1.0
        self.bound = None  # curvature that no point exceeds
        self.damping = 0
        self.free = is_ridge(problem.penalty)
        coef, intercept = self.engine.point()
        coef = problem.penalty.prox(coef, 0.0)  # a start may be outside of the bounds
        self._stand_at(coef, *problem._best_scores(coef, intercept))

    def _stand_at(self, coef, scores, intercept):
        problem = self.problem
        self.engine.move_to(coef, intercept)
        self.scores, self.slopes = scores, np.empty_like(scores)
        self.value = problem.losses_and_slopes(scores, self.slopes) + problem.penalty.value(coef)
        self.total = problem.gradient(self.slopes)

    @property
    def step_size(self):
        return self.length

    def step(self):
        coef, _ = self.engine.point()
        matrix = Curvature(self.problem, self.scores, self.slopes).matrix()
        for damping in range(self.damping, len(DAMPED) + 1):
            damped = matrix if damping == 0 else matrix + DAMPED[damping - 1] * self._bound()
            moved = minimize_model(damped, self.total, coef, self.problem.penalty, self.free)
            if self._descend(coef, moved - coef):
                self.damping = max(damping - 1, 0)
                break
        self.n_updates += self.problem.active.size
        if not self.free or not self.has_dual:
            return self.certify()
        scale = self.problem.total_weight
        steepest = self.total + self.problem.penalty.l2 * self.engine.coef
        gap = float(steepest @ steepest) / (2.0 * self.problem.penalty.l2)
        row = {"objective": self.value / scale, "dual_gap": gap / scale}
        return self.certify() if self.may_stop(row) else self._row(row, certified=False)

    def _bound(self):
        if self.bound is None:
            self.bound = Curvature.bound(self.problem).matrix()
        return self.bound

    def _descend(self, coef, move):
        """Go along ``move`` if that lowers the objective as it should."""
        problem = self.problem
        penalty = problem.penalty.value(coef)
        slack = 1e-14 * abs(self.value)
        along = problem.scores(move, 0.0)
        slope = float(self.total @ move)
        self.length = 1.0
        while self.length > 0.1:
            moved = coef + (move if self.length == 1.0 else self.length * move)
            if not self.free:  # sums leave bounds by rounding
                moved = np.clip(moved, problem.penalty.lower, problem.penalty.upper)
            scores, shift = self.scores + self.length * along, 0.0
            if problem.fit_intercept:
                shift = problem.best_shift(scores)
                scores += shift
            new = problem.penalty.value(moved)
            value = problem.loss_sum(scores) + new
            if value <= self.value + SUFFICIENT * (self.length * slope + new - penalty) + slack:
                self._stand_at(moved, scores, self.engine.intercept + shift)
                return True
            self.length *= 0.5
        return False

    def _stand(self, coef, intercept, slopes, total):
        self.slopes, self.total = slopes, total
        return super()._stand(coef, intercept, slopes, total)


def minimize_model(matrix, slopes, coef, penalty, free):
    """Minimiser of ``<slopes, v - coef> + |v - coef|_matrix^2 / 2 + penalty(v)``.

    A few sweeps of coordinate descent tell which coefficients are free, that is not at zero for
    their l1 norm or at a bound; the system of linear equations for these is then solved.
    """
    l1, l2 = float(penalty.l1), float(penalty.l2)
    if free:
        return coef - solve_positive(matrix, slopes + l2 * coef, l2)
    bounds = np.empty((len(coef), 2))
    bounds[:, 0], bounds[:, 1] = penalty.lower, penalty.upper
    lower, upper = bounds.T
    w, gradient = coef.copy(), slopes.copy()
    for sweeps in SWEEPS:
        if sums.descend(matrix, gradient, w, l1, l2, bounds, sweeps, ROUNDING):
            return w
        exact = _with_free_solved(matrix, gradient, w, l1, l2, lower, upper)
        if exact is not None:
            return exact
    return w


def _with_free_solved(matrix, gradient, w, l1, l2, lower, upper):
    """The minimiser if the free coefficients and their signs are those of ``w``, else None."""
    free = (w > lower) & (w < upper) & ((w != 0.0) | (l1 == 0.0))
    sign = np.sign(w)
    if not free.any():
        return None
    now = gradient[free] + l2 * w[free] + l1 * sign[free]
    move = np.zeros_like(w)
    move[free] = -solve_positive(matrix[np.ix_(free, free)], now, l2)
    moved = w + move
    if np.any((moved < lower) | (moved > upper)):
        return None
    if l1 > 0.0 and np.any(np.sign(moved) != sign):
        return None
    slopes = gradient + matrix @ move
    slack = 1e-12 * (np.abs(gradient).max() + l1)
    smooth = slopes + l2 * moved
    # One-sided derivatives at the coefficients that are not free.
    up = smooth + np.where(moved >= 0.0, l1, -l1)
    down = smooth + np.where(moved <= 0.0, -l1, l1)
    held = ~free
    falls = held & (((up < -slack) & (moved < upper)) | ((down > slack) & (moved > lower)))
    return None if falls.any() else moved


class Newton(Solver):
    """Newton's method with the penalty as it is, for one output and some hundred columns.

    Every step minimises the second-order model of the losses plus the penalty: one system of
    linear equations for a ridge, coordinate descent on the matrix of second derivatives and such
    systems for the l1 norm and bounds. Scales and dependence of columns are of no importance. A
    step that does not lower the objective is damped by the largest curvature that there can be.
    An iteration costs O(n d^2) for dense rows, a sum of squares of row lengths for sparse ones,
    and O(d^3).
    """

    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        if not problem.penalty.separable or problem.n_outputs is not None:
            raise ValueError(
                "solver='newton' takes one output and penalties of single coefficients only; use "
                "solver='newton_cg' or 'asaga'"
            )
        if start is None and not isinstance(problem.loss, SquaredError):  # one step, then
            start = start_from_sample(problem, self, tol=tol, rng=rng)
        return NewtonRun(problem, self, tol=tol, rng=rng, start=start)


# Most columns, and multiplications per step, for which Newton's method is cheap.
COLUMNS, PRODUCTS = 1000, 1e9
# Largest support for conjugate gradients, as a part of the rows: beyond it they converge slowly.
LARGEST = 0.5
# Share of a system of equations that conjugate gradients may leave.
ROUGH = 1e-3
# Steps, and the part of the tolerance that they go down to.
STEPS, PART = 10, 0.1


def has_support(problem):
    """Whether zeros are what the penalty makes, and Newton's method takes the rest."""
    penalty = problem.penalty
    return penalty.separable and penalty.l1 > 0.0 and problem.n_outputs is None


def minimize_on_support(problem, certificate, *, tol, rng):
    """Coefficients and intercept; None where the support is too large.

    The support are the columns that are not zero, or will not stay so.
    """
    coef, total = certificate.coef, certificate.total
    columns = np.flatnonzero((coef != 0.0) | (np.abs(total) > problem.penalty.l1))
    n_entries = float(problem.counts[columns].sum())
    if not columns.size:
        return None
    if columns.size > COLUMNS or n_entries**2 > PRODUCTS * problem.n_rows:
        is_determined = columns.size <= LARGEST * problem.active.size
        return _newton_step(problem, certificate, columns) if is_determined else None
    start = Start(coef[columns], certificate.intercept)
    run = Newton().start(_on_columns(problem, columns), tol=PART * tol, rng=rng, start=start)
    for _ in range(STEPS):
        if run.may_stop(run.step()):
            break
    found = np.zeros_like(coef)
    found[columns], intercept = run.engine.point()
    return found, intercept


def _newton_step(problem, certificate, columns):
    """A step for many columns, by conjugate gradients, as long as no sign changes."""
    part, penalty = _on_columns(problem, columns), problem.penalty
    coef, total = certificate.coef[columns], certificate.total[columns]
    sign = np.where(coef != 0.0, np.sign(coef), -np.sign(total))
    scores = part.scores(coef, certificate.intercept)
    curvature = Curvature(part, scores, certificate.memory)
    missing = total + penalty.l1 * sign + penalty.l2 * coef
    free = np.ones(columns.size, dtype=bool)
    move = solve_scores(part, curvature, missing, free, ROUGH * np.linalg.norm(missing))
    moved = np.where((coef - move) * sign > 0.0, coef - move, 0.0)
    found = np.zeros_like(certificate.coef)
    found[columns] = np.clip(moved, part.penalty.lower, part.penalty.upper)
    return found, certificate.intercept


def _on_columns(problem, columns):
    """The problem where all other coefficients are zero."""
    part, penalty = copy(problem), problem.penalty
    for name in ("column_means", "counts", "has_dual", "null", "size", "smoothness"):
        vars(part).pop(name, None)
    part.X = problem.X[:, columns]
    if not sp.issparse(part.X):
        part.X = np.ascontiguousarray(part.X)
    part.n_columns = columns.size
    sides = {
        name: side[columns] if np.ndim(side) else side
        for name, side in (("lower", penalty.lower), ("upper", penalty.upper))
    }
    part.penalty = replace(penalty, n_features=columns.size, **sides)
    return part
