"""Newton's method for few columns: a quadratic model of all columns in every step."""

import numpy as np

from ..._kernels import lazy
from ...losses import SquaredError
from ._curvature import Curvature, solve_positive
from ._newton_cg import is_ridge, start_from_sample
from ._run import PlainRun, Point, Solver

quadratic = lazy("common.quadratic")

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
        """Length of the last step, 1 where the model was right."""
        return self.length

    def step(self):
        """A step, and a certificate."""
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
        if quadratic.descend(matrix, gradient, w, l1, l2, bounds, sweeps, ROUNDING):
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
                "solver='newton_cg', 'fista' or 'asaga'"
            )
        if start is None and not isinstance(problem.loss, SquaredError):  # one step, then
            start = start_from_sample(problem, self, tol=tol, rng=rng)
        return NewtonRun(problem, self, tol=tol, rng=rng, start=start)
