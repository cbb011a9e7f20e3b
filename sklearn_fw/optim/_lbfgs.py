"""Quasi-Newton steps for smooth objectives, one score per row or several."""

from collections import deque
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_scalar

from ._comparators import PlainRun, Point
from ._curvature import Curvature
from ._incremental import Solver

__all__ = ["Lbfgs"]

# Largest number of columns of which a matrix of second derivatives preconditions.
COLUMNS = 600
# Iterations after which the preconditioner is made anew.
REFRESH = 12
# Conditions of the line search on the decrease and on the slope.
DECREASE, FLATTER = 1e-4, 0.9


class Preconditioner:
    """Inverse of the curvature of coefficients and intercepts, the same for all outputs.

    That of few columns is the inverse of a matrix, that of many columns of its diagonal.
    """

    def __init__(self, problem, slopes, ridge):
        from scipy.linalg.lapack import dpotrf

        h = Curvature(problem, slopes).rows
        h = h if h.ndim == 1 else h.mean(axis=1)
        # Saturated rows keep a share of their largest curvature: they will not stay so.
        self.has_intercept = problem.fit_intercept
        self.mass, self.factor = h.sum(), None
        if self.mass <= 0.0:
            h = np.full_like(h, problem.loss.smoothness)
            self.mass = h.sum()
        self.mean = problem.X.T @ h / self.mass if self.has_intercept else None
        size = problem.n_columns
        if size <= COLUMNS:
            curvature = Curvature(problem, slopes)
            matrix = curvature.matrix(h)
            places = np.arange(size)
            matrix[places, places] += ridge
            diagonal = np.diagonal(matrix)
            self.scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
            matrix *= np.multiply.outer(self.scale, self.scale)
            matrix[places, places] = 1.0 + 1e-10
            self.factor, info = dpotrf(matrix, lower=1)
            if info:
                self.factor = None
        if self.factor is None:
            X = problem.X
            squares = X.multiply(X) if sp.issparse(X) else np.square(X)
            diagonal = np.asarray(squares.T @ h).ravel() + ridge
            if self.has_intercept and size <= COLUMNS:
                diagonal = np.maximum(diagonal - self.mass * np.square(self.mean), ridge)
            self.scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))

    def __call__(self, total, mass):
        """Step of coefficients and intercepts for their gradients."""
        from scipy.linalg.lapack import dpotrs

        if self.has_intercept:
            total = total - np.multiply.outer(self.mean, mass)
        scale = self.scale if total.ndim == 1 else self.scale[:, None]
        step = scale * total
        if self.factor is not None:
            step, _ = dpotrs(self.factor, step, lower=1)
        step = scale * step
        if not self.has_intercept:
            return step, mass
        return step, mass / self.mass - self.mean @ step


class LbfgsRun(PlainRun):
    """Quasi-Newton steps with a memory of pairs of moves and changes of the gradient."""

    def __init__(self, problem, settings, *, tol, rng, start=None):
        super().__init__(problem, Point(problem), settings, tol=tol, rng=rng, start=start)
        self.length = 1.0
        self.ridge = problem.penalty.l2
        coef, intercept = self.engine.point()
        self.scores = problem.scores(coef, intercept)
        self._evaluate(coef, intercept)
        self.pairs, self.inverse, self.age = deque(maxlen=settings.memory), None, 0

    @property
    def step_size(self):
        """Length of the last step along its direction."""
        return self.length

    def _evaluate(self, coef, intercept):
        """Objective and gradient at the scores."""
        problem, scores = self.problem, self.scores
        self.value = problem.loss_sum(scores) + problem.penalty.value(coef)
        self.slopes = np.empty_like(scores)
        for part, values in problem.slopes(scores):
            self.slopes[part] = values
        self.total = problem.gradient(self.slopes) + self.ridge * coef
        self.mass = self.slopes.sum(axis=0) if problem.fit_intercept else np.zeros_like(intercept)

    def step(self):
        """A step along a quasi-Newton direction, and an estimate of the certificate."""
        if self.inverse is None or self.age >= REFRESH:
            self.inverse = Preconditioner(self.problem, self.slopes, self.ridge)
            self.pairs.clear()
            self.age = 0
        self.age += 1
        move, shift = self._direction()
        if self._search(move, shift):
            self.n_updates += self.problem.active.size
        elif self.pairs:
            self.inverse = None  # forget what was wrong
        row = self._estimate()
        if self.may_stop(row):
            return self.certify()
        return self._row(row, certified=False)

    def _direction(self):
        """Two loops over the memory (Nocedal and Wright, Algorithm 7.4)."""
        total, mass, used = self.total.copy(), np.array(self.mass), []
        for pair in reversed(self.pairs):
            move, shift, change, turn, inner = pair
            share = (np.vdot(move, total) + np.vdot(shift, mass)) / inner
            total -= share * change
            mass = mass - share * turn
            used.append(share)
        step, turned = self.inverse(total, mass)
        if self.pairs:
            _, _, change, turn, inner = self.pairs[-1]
            whole, part = self.inverse(change, turn)
            factor = inner / (np.vdot(change, whole) + np.vdot(turn, part))
            step, turned = factor * step, factor * turned
        for (move, shift, change, turn, inner), share in zip(
            self.pairs, reversed(used), strict=True
        ):
            back = (np.vdot(change, step) + np.vdot(turn, turned)) / inner
            step = step + (share - back) * move
            turned = turned + (share - back) * shift
        return -step, -turned

    def _search(self, move, shift):
        """Go along a direction until the weak Wolfe conditions hold; False where they cannot."""
        problem = self.problem
        coef, intercept = self.engine.point()
        slope = float(np.vdot(self.total, move) + np.vdot(self.mass, shift))
        if not slope < 0.0:
            return False
        along = problem.scores(move, shift)
        before = self.scores, self.value, self.slopes, self.total, self.mass
        slack = 1e-14 * abs(self.value)
        below, above, self.length = 0.0, np.inf, 1.0
        for _ in range(40):
            moved, turned = coef + self.length * move, intercept + self.length * shift
            self.scores = before[0] + self.length * along
            self._evaluate(moved, turned)
            if self.value > before[1] + DECREASE * self.length * slope + slack:
                above = self.length
            elif np.vdot(self.total, move) + np.vdot(self.mass, shift) < FLATTER * slope:
                below = self.length
            else:
                break
            self.length = 2.0 * below if np.isinf(above) else 0.5 * (below + above)
        else:
            if self.value > before[1] + slack:
                self.scores, self.value, self.slopes, self.total, self.mass = before
                return False
        change, turn = self.total - before[3], self.mass - before[4]
        step, bend = moved - coef, turned - intercept
        inner = float(np.vdot(step, change) + np.vdot(bend, turn))
        if inner > 1e-16 * float(np.vdot(change, change)):
            self.pairs.append((step, bend, change, turn, inner))
        self.engine.move_to(moved, turned)
        return True

    def _estimate(self):
        """What is known without the best intercepts."""
        scale = self.problem.total_weight
        row = {"objective": self.value / scale}
        steepest = np.abs(self.total).max(initial=0.0)
        if not self.has_dual:
            return row | self.unproven(row["objective"], steepest / scale)
        gap = np.square(self.total).sum() / (2.0 * self.ridge)
        gap += np.square(self.mass).sum() / self.inverse.mass
        return row | {"dual_gap": float(gap) / scale}

    def _stand(self, coef, intercept, slopes, total):
        pair = super()._stand(coef, intercept, slopes, total)
        self.scores = self.problem.scores(coef, intercept)
        self._evaluate(coef, intercept)
        return pair


class Lbfgs(Solver):
    """Preconditioned quasi-Newton method (L-BFGS), for a ridge penalty or none.

    The preconditioner is the curvature of all outputs on average, its matrix for some hundred
    columns and its diagonal for more, made anew now and then. An iteration costs two products with
    X, or more where the step has to be shortened.

    Parameters
    ----------
    memory : int, default=10
        Pairs of moves and changes of the gradient that are kept.
    """

    def __init__(self, *, memory=10):
        self.memory = memory

    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        check_scalar(self.memory, "memory", Integral, min_val=1)
        penalty = problem.penalty
        if not penalty.separable or penalty.l1 > 0.0 or np.any(
            np.isfinite([np.min(penalty.lower), np.min(penalty.upper)])
        ):
            raise ValueError(
                "solver='lbfgs' needs a ridge penalty or none; use solver='newton' or 'asaga'"
            )
        return LbfgsRun(problem, self, tol=tol, rng=rng, start=start)
