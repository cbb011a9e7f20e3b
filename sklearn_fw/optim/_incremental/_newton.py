"""Newton's method: by matrices for few columns, by conjugate gradients for smooth objectives."""

from dataclasses import KW_ONLY, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs

from ..._core import check
from ..._core.budget import budget_now
from ..._core.parameters import check_parameters
from ..._kernels import lazy
from ...losses import SquaredError
from . import _finite_sum as finite_sum
from ._loss_sums import DIAGONAL, OWN, SHARED, LossSums, joined, parted
from ._run import Run, Solver, Start

sums = lazy("common.sums")

# Iterations of conjugate gradients per step.
CG_STEPS = 250
# Products with which a step is found where the matrix serves for the next one, too.
KEPT = 8
# Columns for each product that a step takes from which on a matrix for all outputs costs less than
# one for each, and numbers that these may have where the rows have fewer.
CHEAPER, LARGE = 15, 1_000_000
# Columns up to which a matrix of all parts of a cluster costs less than such products.
CHEAP = 128
# Share of the former decrement up to which a step by the inverse of the matrix is as good as exact.
FAST = 0.5
# Parts of the largest curvature that are added to the curvature when steps fail.
DAMPED = (0.0, 1e-3, 1e-2, 0.1, 1.0)
# Products of the rows pay where there are WIDE times as many columns, at most FEW rows, and
# the losses bend STIFF times as much as the ridge; numbers of dense columns made at a time.
WIDE, FEW, STIFF, NUMBERS = 4, 3000, 1e3, 1 << 22
# Share of the entries that are not zero from which on a sparse table is dense in effect.
FULL = 0.2
# Share of the largest product that makes their matrix definite, and steps on it.
JITTER, WIDE_STEPS = 1e-12, 60
# Share of the largest curvature below which losses are straight.
STRAIGHT = 1e-6
# A start is the optimum of one row in SHARE, if these are at least ROWS per column and LEAST: to
# this relative gap, or after PART_STEPS.
SHARE, ROWS, LEAST, NEAR, PART_STEPS = 8, 100, 1000, 0.1, 20
# Conditions of the line search on the decrease and on the slope, and lengths that it tries.
DECREASE, FLATTER, TRIALS = 1e-4, 0.9, 40


class Hessian:
    """Second derivatives at a point: products, and the inverse of something like them.

    That is the curvature of each output alone, or that of all on average where their matrices cost
    too much; for many columns the diagonal of each.
    """

    def __init__(self, problem, sums, point, damping, level):
        self.sums, self.point, self.ridge = sums, point, problem.penalty.l2
        bend = sums.bend(point, damping, level)
        one_output = point.shape[1] == 1
        # Where losses are straight their largest curvature keeps the steps short.
        if one_output and damping < DAMPED[1] and bend.mass[0] <= STRAIGHT * problem.stiffness:
            damping = DAMPED[1]
            bend = sums.bend(point, damping, level)
        self.damping, self.mass, self.factors = damping, bend.mass, None
        self.mean = None if bend.mean is None else bend.mean.T
        squares, is_matrix = bend.squares, bend.squares.ndim == 3
        diagonals = np.einsum("kjj->kj", squares) if is_matrix else squares  # a view
        diagonals += self.ridge
        self.scale = (1.0 / np.sqrt(np.where(diagonals > 0.0, diagonals, 1.0))).T
        if is_matrix:
            squares *= self.scale.T[:, :, None]
            squares *= self.scale.T[:, None, :]
            diagonals[:] = 1.0 + 1e-10
            factors, infos = zip(*[dpotrf(own, lower=1) for own in squares], strict=True)
            self.factors = None if any(infos) else factors
        self.is_exact = one_output and self.factors is not None

    def times(self, v):
        product = self.sums.product(self.point, self.damping, v)
        product[:-1] += self.ridge * v[:-1]
        return product

    def solve_roughly(self, gradient):
        total, mass = gradient[:-1], gradient[-1]
        if self.mean is not None:
            total = total - self.mean * mass
        part = self.scale * total
        if self.factors is not None:
            factors = self.factors * (part.shape[1] // len(self.factors))
            solved = [dpotrs(own, right, lower=1)[0] for own, right in zip(factors, part.T)]
            part = np.transpose(solved)
        step = np.zeros_like(gradient)
        np.multiply(self.scale, part, out=step[:-1])
        if self.mean is not None:
            step[-1] = mass / self.mass - np.vecdot(self.mean, step[:-1], axis=0)
        if gradient.shape[1] > 1:  # equal changes of all scores change no loss
            step -= step.mean(axis=1, keepdims=True)
        return step


class SecondOrderRun(Run):
    """Steps of a length to the minimum of a model that is damped when they fail."""

    def __init__(self, problem, settings, *, tol, rng, start=None):
        super().__init__(problem, Point(problem), settings, tol=tol, rng=rng, start=start)
        self.sums = problem.sums or LossSums(problem)
        self.length, self.damping = 1.0, 0

    @property
    def step_size(self):
        return self.length


class Point:
    """Coefficients and intercepts, which need no rows in a special layout and no memory."""

    def __init__(self, problem):
        self.n_columns = problem.n_columns

    def move_to(self, coef, intercept, memory=None, total=None):
        self.coef, self.intercept = coef, intercept

    def point(self):
        return self.coef, self.intercept

    def idle(self):
        return np.zeros(self.n_columns, dtype=bool)

    def close(self):
        """Nothing to end."""


class NewtonCGRun(SecondOrderRun):
    """Steps to the minimum of the second-order model, as exact as the point is good."""

    def __init__(self, problem, settings, **options):
        super().__init__(problem, settings, **options)
        self.ridge = problem.penalty.l2
        n_columns, self.level = problem.n_columns, DIAGONAL
        fits = (problem.n_outputs or 1) * n_columns**2 <= max(LARGE, problem.n_rows * n_columns)
        self.most = OWN if fits else SHARED
        if problem.sums is not None or is_dense(problem):
            self.level = self.most if n_columns <= CHEAP else SHARED
        # Those of the last step: the Hessian as long as its preconditioner serves.
        self.hessian, self.decrement = None, np.inf
        coef, intercept = self.engine.point()
        if problem.n_outputs is not None:  # the least ridge of all points with the same losses
            coef = coef - coef.mean(axis=1, keepdims=True)
        self._stand_at(coef, intercept)

    def _stand_at(self, coef, intercept):
        self.point = joined(coef, intercept)
        self.value, self.gradient = self._evaluate(self.point)

    def _evaluate(self, point, *way):
        value, gradient = self.sums.evaluate(point, *way)
        coef, ridge = point[:-1], self.ridge
        gradient[:-1] += ridge * coef
        return value + 0.5 * ridge * np.vdot(coef, coef), gradient

    def step(self):
        hessian = self.hessian or Hessian(
            self.problem, self.sums, self.point, DAMPED[self.damping], self.level
        )
        hessian.point = self.point
        move, n_products = self._direction(hessian)
        found = self._search(move)
        serves = found and n_products <= KEPT and hessian.factors is not None
        serves &= self.length == 1.0 or not hessian.is_exact
        serves &= self.problem.sums is None or self.problem.n_columns > CHEAP
        if n_products > (KEPT, self.problem.n_columns / CHEAPER, np.inf)[self.level]:
            self.level = min(self.level + 1, self.most)
        self.hessian = hessian if serves and self.damping == 0 else None
        damping = self.damping + (-1 if found and self.length > 0.1 else 1)
        self.damping = min(max(damping, 0), len(DAMPED) - 1)
        self.n_updates += self.problem.active.size
        row = self._estimate(hessian)
        return self.certify() if self.may_stop(row) else self._row(row, certified=False)

    def _direction(self, hessian):
        rest = -self.gradient
        step = np.zeros_like(rest)
        move = solved = hessian.solve_roughly(rest)
        first = size = np.vdot(rest, solved)
        former, self.decrement = self.decrement, first
        if hessian is not self.hessian and hessian.is_exact and first < FAST * former:
            return solved, 0
        # The decrement of Newton's method, as a share of the objective, measures how near this is.
        nearness = np.sqrt(np.sqrt(first / max(self.value, 1e-300)))
        accuracy = float(self.settings.forcing) * min(1.0, nearness)
        n_products, falls = 0, 0.0
        while n_products < CG_STEPS:
            product = hessian.times(move)
            n_products += 1
            curvature = np.vdot(move, product)
            if not curvature > 0.0:
                break
            share = size / curvature
            fall = share * size
            falls += fall
            step += share * move
            rest -= share * product
            solved = hessian.solve_roughly(rest)
            before, size = size, np.vdot(rest, solved)
            # A residual can stay large where the model hardly falls any more.
            is_solved = size <= accuracy**2 * first or n_products * fall <= accuracy * falls
            if is_solved or budget_now().is_spent:
                break
            move = solved + (size / before) * move
        return step, n_products

    def _search(self, move):
        """Go along a direction until the weak Wolfe conditions hold; False without such a point."""
        slope = np.vdot(self.gradient, move)
        if not slope < 0.0:
            return False
        slack = 1e-14 * abs(self.value)
        below, above, self.length = 0.0, np.inf, 1.0
        for _ in range(TRIALS):
            point = self.point + self.length * move
            value, gradient = self._evaluate(point, self.point, move, self.length)
            if value > self.value + DECREASE * self.length * slope + slack:
                above = self.length
            elif np.vdot(gradient, move) < FLATTER * slope:
                below = self.length
            else:
                break
            self.length = 2.0 * below if np.isinf(above) else 0.5 * (below + above)
        if value > self.value + slack:
            return False
        self.point, self.value, self.gradient = point, value, gradient
        self.engine.move_to(*parted(point, self.problem))
        return True

    def _estimate(self, hessian):
        """What is known without the best intercepts."""
        scale = self.problem.total_weight
        objective = float(self.value) / scale
        if not self.has_dual:
            steepest = float(np.abs(self.gradient[:-1]).max(initial=0.0))
            return {"objective": objective, **self.unproven(objective, steepest / scale)}
        total, mass = self.gradient[:-1], self.gradient[-1]
        gap = np.vdot(total, total) / (2.0 * self.ridge)
        gap += np.mean(mass * mass / np.maximum(hessian.mass, 1e-300))
        # Losses are not negative.
        return {"objective": objective, "dual_gap": min(float(gap) / scale, objective)}

    def _stand(self, best):
        super()._stand(best)
        self._stand_at(best.coef, best.intercept)


def is_wide(problem):
    n, penalty = problem.active.size, problem.penalty
    if not (penalty.is_ridge and penalty.l2 > 0.0 and is_dense(problem)):
        return False
    fits = WIDE * n <= problem.n_columns and n <= FEW
    return fits and problem.smoothness * n >= STIFF * penalty.l2


def start_from_products(problem, solver, *, tol, rng):
    """A `Start` at the optimum where columns are many times the rows; else None.

    A ridge knows no axes: coefficients in the span of the (centered) rows have as many coordinates
    as there are rows, in which the rows are a triangular root of the matrix of their products.
    """
    if not is_wide(problem) or problem.active.size < 2:
        return None
    used = problem.active
    part = problem if used.size == problem.n_rows else problem.part(np.sort(used))
    products = _products(part.X)
    center = 0.0
    if problem.fit_intercept:
        # Any center will do: an intercept makes up for it.
        center = products.mean(axis=0)
        products += center.mean() - center - center[:, None]
    largest = np.diagonal(products).max()
    products[np.diag_indices_from(products)] += JITTER * len(products) * (largest or 1.0)
    if not np.isfinite(largest):
        return None
    root = np.linalg.cholesky(products)
    penalty = replace(problem.penalty, n_features=len(root))
    small = problem.like(root, part.y, penalty, part.weight)
    run = NewtonCGRun(small, solver, tol=0.1 * tol, rng=rng)
    run.level = DIAGONAL
    coef, intercept = run.run(WIDE_STEPS)
    factors = solve_triangular(root.T, coef)
    total = factors.sum(axis=0)
    if problem.fit_intercept:
        factors = factors - total / len(factors)
        intercept = intercept - center @ factors
    return Start(part.gradient(factors), intercept)


def _products(X):
    n, d = X.shape
    X, total = X.tocsc() if sp.issparse(X) else X, np.zeros((n, n))
    step = max(1, NUMBERS // n)
    for first in range(0, d, step):
        columns = X[:, first : first + step]
        columns = columns.toarray() if sp.issparse(columns) else columns
        columns = np.asarray(columns, np.float64)
        total += columns @ columns.T
    return total


class NewtonCG(Solver):
    """Newton's method by preconditioned conjugate gradients, for ridge penalties.

    One output or several, any number of columns. The preconditioner is the inverse of the curvature
    of each output, as a matrix for some hundred columns and its diagonal for more; classes whose
    matrices would cost too much share one until steps need many iterations of conjugate gradients,
    which cost two products with X each. For sparse rows matrices follow when that is so. Iterations
    end by the residual, or when one lowers the model of the objective by little compared with their
    mean (Nash, Sofer, "Assessing a search direction within a truncated-Newton method", Operations
    Research Letters 9, 1990).

    Parameters
    ----------
    forcing : float, default=0.5
        Residual, and decrease of the model compared with the mean, at which a step far from the
        optimum ends, in (0, 1); nearer the optimum they are smaller.
    """

    _: KW_ONLY
    forcing: check.within(0.0, 1.0, "neither") = 0.5

    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        check_parameters(self)
        if not problem.penalty.is_ridge:
            raise ValueError("solver='newton_cg' needs a ridge or no penalty: use solver='newton'")
        if start is None and problem.sums is None:
            start = start_from_products(problem, self, tol=tol, rng=rng)
        return NewtonCGRun(problem, self, tol=tol, rng=rng, start=start)


def is_dense(problem):
    X = problem.X
    return not sp.issparse(X) or X.nnz >= FULL * X.shape[0] * X.shape[1]


# Sweeps of coordinate descent between attempts to solve for the free coefficients at once, which
# cost as much as many of them; then a step goes on with what they found.
SWEEPS = (20, 40, 80, 160, 320, 640)
# Share of the length of the first steps of all coordinates at which a model is minimized well.
SHORT = 0.1
# Systems of equations that are solved at a time, each without what became zero in the last one.
FACES = 10
# Coefficients that a step may change, where an l1 norm leaves many at zero: at first, and at most,
# as their number squared is that of a matrix.
FIRST, TOGETHER = 200, 2000
# How near to the l1 norm the slope of a column is that may become nonzero, and accuracy of sweeps.
NEARLY, ROUGHLY = 0.9, 1e-2
# Moves below this share of the longest coefficient are rounding.
SMALL = 1e-15
# Sweeps over columns, after which a move that descends is made longer instead.
MOST = 100
# Share of the predicted decrease that a step must achieve, at one of these lengths.
SUFFICIENT, LENGTHS = 1e-4, (1.0, 0.5, 0.25, 0.125)


class NewtonRun(SecondOrderRun):
    """Steps to the minimum of the second-order model of the losses plus the penalty.

    With an l1 norm, and on a cluster, a step changes the columns that are not zero and as many of
    those where the penalty gives way to the gradient, first those of steepest descent in the unit
    of their column.
    """

    def __init__(self, problem, settings, **options):
        super().__init__(problem, settings, **options)
        self.is_cut = False  # whether sweeps ended before the minimum of a model
        self.center = problem.column_means if problem.centers else np.zeros(problem.n_columns)
        coef, intercept = self.engine.point()
        self.engine.move_to(problem.penalty.prox(coef, 0.0), intercept)  # within its bounds
        self.certify()

    def _stand(self, best):
        super()._stand(best)
        self.point = joined(best.coef, best.intercept)
        self.value = best.objective * self.problem.total_weight
        self.gradient = joined(best.total, 0.0)
        # Scores to which long moves were added have their rounding: they are made again.
        self.sums = self.problem.sums or LossSums(self.problem)

    def step(self):
        find = self._by_columns if self.problem.is_by_columns else self._by_matrix
        for damping in range(self.damping, len(DAMPED)):
            move = find(DAMPED[damping])
            if self._descend(move):
                self.damping = max(damping - (self.length == 1.0), 0)
                # Where columns depend on each other sweeps are slow along directions they found.
                while self.is_cut and self._descend(move):
                    move = 2.0 * move
                break
        self.n_updates += self.problem.active.size
        if not self.has_dual:
            return self.certify()
        # What is known without the best intercept.
        coef, intercept = self.engine.point()
        losses, slopes = self.value - self.problem.penalty.value(coef), self.sums.slopes(self.point)
        total, mass = parted(self.gradient, self.problem)
        found = losses, slopes, total, mass
        row = self.problem.certificate(coef, intercept, *found, mapping=False).row()
        row["dual_gap"] += np.vdot(mass, mass) / (self.bend * self.problem.total_weight)
        return self.certify() if self.may_stop(row) else self._row(row, certified=False)

    def _by_matrix(self, damping):
        problem, n_outputs, columns = self.problem, self.point.shape[1], self._columns()
        matrix, follow, shift = self._model(damping, columns)
        penalty = problem.penalty.on_columns(np.tile(columns, n_outputs))
        center, mass = self.center[columns], self.gradient[-1]
        slopes = self.gradient[columns] - np.multiply.outer(center, mass)
        slopes = slopes.T.ravel() + mass @ follow
        coef = self.point[columns].T.ravel()
        change = minimize_model(matrix, slopes, coef, penalty) - coef
        move = np.zeros_like(self.point)
        move[columns] = change.reshape(n_outputs, -1).T
        move[-1] = shift + follow @ change - center @ move[columns]
        return move

    def _model(self, damping, columns):
        """Second derivatives by coefficients, where the intercepts follow, and how these do.

        That is for columns about their means; last is the best change of the intercepts alone.
        """
        problem = self.problem
        matrix = self.sums.matrix(self.point, damping, columns, self.center[columns])
        n_outputs, size = matrix.shape[:2]
        # Where losses are straight their largest curvature keeps the steps short.
        mass = matrix[:, -1, :, -1]
        self.bend = np.trace(mass)
        if damping < DAMPED[1] and self.bend <= STRAIGHT * problem.stiffness:
            return self._model(DAMPED[1], columns)
        size = n_outputs * (size - 1)
        own = matrix[:, :-1, :, :-1].reshape(size, size)
        if not problem.fit_intercept:
            return own, np.zeros((n_outputs, size)), 0.0
        cross = matrix[:, -1, :, :-1].reshape(n_outputs, size)
        inverse = 1.0 / mass if n_outputs == 1 else np.linalg.pinv(mass, hermitian=True)
        follow = -inverse @ cross
        return own + cross.T @ follow, follow, -inverse @ self.gradient[-1]

    def _columns(self):
        """Columns of the coefficients that a step may change."""
        problem, coef, total = self.problem, self.point[:-1], self.gradient[:-1]
        if problem.sums is None and problem.penalty.l1 == 0.0 and coef.size <= TOGETHER:
            return np.arange(problem.n_columns)
        steps = (coef - self.unit[:, None] * total).reshape(problem.shape)
        moved = problem.penalty.prox(steps, self.unit).reshape(coef.shape)
        distance = np.abs(moved - coef).max(axis=1) / np.sqrt(self.unit)
        kept = np.any(coef != 0.0, axis=1)
        size = max(FIRST, 2 * coef.shape[1] * np.count_nonzero(kept))
        n_columns = min(size, TOGETHER) // coef.shape[1]
        if 2 * np.count_nonzero(kept) <= n_columns:  # as many others are left
            distance[kept] = np.inf
        order = np.argsort(-distance, kind="stable")[:n_columns]
        return np.sort(order[(distance > 0.0)[order] | kept[order]])

    @cached_property
    def unit(self):
        curvature = self.problem.loss.smoothness * self.sums.columns().squares[0]
        return 1.0 / np.where(curvature > 0.0, curvature, 1.0)

    def _by_columns(self, damping):
        """Coordinate descent in the columns that are or become nonzero."""
        problem, (coef, total) = self.problem, (self.point[:-1, 0], self.gradient[:-1, 0])
        penalty, X, moved = problem.penalty, problem.by_columns, coef.copy()
        h, mass = self.sums.curvature(self.point, damping).rows, self.gradient[-1, 0]
        self.bend = h.sum()
        places = np.flatnonzero((coef != 0.0) | (np.abs(total) > NEARLY * penalty.l1))
        drift, found = sums.descend_columns(
            X.data, X.indices, X.indptr, places, h, total, moved, penalty.l1, penalty.l2,
            problem.fit_intercept, mass, MOST, ROUGHLY,
        )  # fmt: skip
        self.is_cut = not found
        return joined(moved - coef, -drift / self.bend)

    def _descend(self, move):
        problem, penalty = self.problem, self.problem.penalty
        slope, most = np.vdot(self.gradient, move), self.value * (1.0 + 1e-14)
        before = penalty.value(self.point[:-1].reshape(problem.shape))
        for self.length in LENGTHS:
            moved = self.point + self.length * move
            # Sums leave bounds by rounding.
            coef = penalty.prox(moved[:-1].reshape(problem.shape), 0.0)
            moved[:-1] = coef.reshape(moved[:-1].shape)
            losses, gradient = self.sums.evaluate(moved, self.point, move, self.length)
            new = penalty.value(coef)
            if losses + new <= most + SUFFICIENT * (self.length * slope + new - before):
                self.point, self.value, self.gradient = moved, losses + new, gradient
                self.engine.move_to(*parted(moved, problem))
                return True
        return False


def minimize_model(matrix, slopes, coef, penalty):
    """Minimize ``<slopes, v - coef> + |v - coef|_matrix^2 / 2 + penalty(v)``, a ridge exactly.

    A few sweeps of coordinate descent find the coefficients that are free, that is not at zero for
    their l1 norm or at a bound; the systems of linear equations for these are then solved. It ends
    when steps of single coordinates are `SHORT` in the units of the model.
    """
    l1, l2 = float(penalty.l1), float(penalty.l2)
    if penalty.is_ridge:
        return coef - finite_sum.solve_positive(matrix, slopes + l2 * coef, l2)
    bounds = penalty.bounds()
    w, gradient = coef.copy(), slopes.copy()
    unit = 1.0 / np.maximum(np.diagonal(matrix), sums.STRAIGHT)

    def length():
        return np.linalg.norm((penalty.prox(w - unit * gradient, unit) - w) / np.sqrt(unit))

    enough = SHORT * length()
    for sweeps in SWEEPS:
        swept = sums.descend(matrix, gradient, w, l1, l2, bounds, sweeps, SMALL)
        if swept or _solve_for_free(matrix, gradient, w, penalty) or length() <= enough:
            break
    return w


def _solve_for_free(matrix, gradient, w, penalty):
    """Minimize over the free coefficients, each up to zero or a bound, where it is free no more.

    ``w`` and ``gradient``, that of the quadratic part, change in place. True at the minimizer.
    """
    l1, l2 = penalty.l1, penalty.l2
    lower, upper = (np.broadcast_to(side, w.shape) for side in (penalty.lower, penalty.upper))
    slack = 1e-12 * (np.abs(gradient).max() + l1)
    for _ in range(FACES):
        free = (w > lower) & (w < upper) & ((w != 0.0) | (l1 == 0.0))
        if not free.any():
            return False
        rows, own, sign = matrix[free], w[free], np.sign(w[free])
        inner, missing = rows[:, free], gradient[free] + l2 * own + l1 * sign
        move = -finite_sum.solve_positive(inner, missing, l2)
        end = np.where(move > 0.0, upper[free], lower[free])
        if l1 > 0.0:
            zero = np.clip(0.0, lower[free], upper[free])
            end = np.where(move * sign < 0.0, zero, end)
        reach = np.divide(end - own, move, out=np.full_like(own, np.inf), where=move != 0.0)
        least, length = reach.min(), 1.0
        # As far as the model falls, where what would go beyond its end stays there.
        while True:
            change = np.where(reach < length, end - own, length * move)
            bent = inner @ change + l2 * change
            if length <= least or change @ (missing + 0.5 * bent) < 0.0:
                break
            length = max(0.25 * length, least)
        w[free] = np.where(reach <= length, end, own + change)
        gradient += change @ rows
        if least >= 1.0:
            break
    falls = np.abs(penalty.prox(w - gradient, 1.0) - w) > slack
    return least >= 1.0 and not np.any(falls & ~free)


def start_from_part(problem, solver, *, tol, rng):
    """A `Start` at the optimum of some rows, where these are many times the columns; else None."""
    n_rows = problem.active.size // SHARE
    bends = problem.has_dual and not isinstance(problem.loss, SquaredError)
    if n_rows < max(ROWS * problem.n_columns, LEAST) or not bends:
        return None
    part = problem.part(np.sort(rng.choice(problem.active, n_rows, replace=False)))
    part.penalty = problem.penalty.scaled(part.total_weight / problem.total_weight)
    return Start(*solver.start(part, tol=max(tol, NEAR), rng=rng).run(PART_STEPS))


class Newton(Solver):
    """Proximal Newton method, for some hundred columns, or an l1 norm that few of many survive.

    Every step minimizes the second-order model of the losses plus the penalty: one system of
    linear equations for a ridge, coordinate descent on the matrix of second derivatives and such
    systems for the l1 norm and bounds; with an l1 norm in a set of columns that grows as more
    become nonzero. Scales and dependence of columns are of no importance. A step that does not
    lower the objective is damped by the largest curvature that there can be. With more
    than 800 rows per column the start is the optimum of every eighth row.
    An iteration costs O(n d^2) for dense rows, a sum of squares of row lengths for sparse ones,
    and O(d^3), where d are the columns in the set. With more than 500 sparse columns, one output,
    log-loss or squared errors and an l1 norm, coordinates descend in the columns themselves: a
    sweep costs their entries (Yuan, Ho and Lin, JMLR 13, 2012).
    """

    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        if not problem.penalty.separable:
            raise ValueError(
                "solver='newton' takes penalties of single coefficients only: use solver='asaga'"
            )
        if start is None and problem.sums is None:
            start = start_from_part(problem, self, tol=tol, rng=rng)
        return NewtonRun(problem, self, tol=tol, rng=rng, start=start)
