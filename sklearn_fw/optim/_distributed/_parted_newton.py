"""The proximal Newton method on sums over parts: matrices of few columns at a time."""

import numpy as np

from .._incremental import _finite_sum as finite_sum
from .._incremental import _newton as newton

# Coefficients of all outputs that a step may change: of their number squared is the matrix.
FEW = 1000


class PartedNewtonRun(newton.SecondOrderRun):
    """Steps to the minimum of the second-order model of the losses plus the penalty.

    A step changes the coefficients that are not zero, or at which the penalty gives way to the
    gradient; if these are more than `FEW`, those of steepest descent in the unit of their column.
    """

    def __init__(self, problem, settings, **options):
        super().__init__(problem, settings, **options)
        bend = problem.columns
        self.center = np.zeros(problem.n_columns) if bend.mean is None else bend.mean
        curvature = problem.loss.smoothness * bend.squares
        self.unit = 1.0 / np.where(curvature > 0.0, curvature, 1.0)
        coef, intercept = self.engine.point()
        self.engine.move_to(problem.penalty.prox(coef, 0.0), intercept)
        self.certify()

    def step(self):
        problem, best = self.problem, self.best
        point, n_outputs = problem.at, problem.n_outputs or 1
        columns = self._columns()
        penalty = finite_sum.on_columns(problem.penalty, np.tile(columns, n_outputs))
        coef = point[columns].T.ravel()
        slopes = best.total.reshape(-1, n_outputs)[columns].T.ravel()
        for damping in range(self.damping, len(newton.DAMPED)):
            matrix, follow = self._matrix(point, newton.DAMPED[damping], columns)
            change = newton.minimize_model(matrix, slopes, coef, penalty) - coef
            move = np.zeros_like(point)
            move[columns] = change.reshape(n_outputs, -1).T
            move[-1] = follow @ change - self.center[columns] @ move[columns]
            if self._descend(point, move, float(slopes @ change)):
                self.damping = max(damping - 1, 0)
                break
        self.n_updates += problem.active.size
        return self.certify()

    def _columns(self):
        """Columns of the coefficients that a step may change."""
        problem, best = self.problem, self.best
        coef, total = (values.reshape(problem.n_columns, -1) for values in (best.coef, best.total))
        steps = (self.unit[:, None] * total).reshape(problem.shape)
        moved = problem.penalty.prox(best.coef - steps, self.unit).reshape(coef.shape)
        distance = np.abs(moved - coef).max(axis=1) / np.sqrt(self.unit)
        wanted = np.flatnonzero((distance > 0.0) | np.any(coef != 0.0, axis=1))
        n_columns = FEW // total.shape[1]
        if len(wanted) <= n_columns:
            return wanted
        return np.sort(wanted[np.argsort(-distance[wanted], kind="stable")[:n_columns]])

    def _matrix(self, point, damping, columns):
        """Second derivatives by coefficients, where the intercepts follow, and how these do.

        That is for columns about their means.
        """
        problem, center = self.problem, self.center[columns]
        matrix = problem.parts.sum("matrix", point, damping, columns, center)
        n_outputs, size = matrix.shape[:2]
        # Where losses are straight their largest curvature keeps the steps short.
        mass = matrix[:, -1, :, -1]
        if damping < newton.DAMPED[1] and np.trace(mass) <= newton.STRAIGHT * problem.stiffness:
            return self._matrix(point, newton.DAMPED[1], columns)
        size = n_outputs * (size - 1)
        own = matrix[:, :-1, :, :-1].reshape(size, size)
        if not problem.fit_intercept:
            return own, np.zeros((n_outputs, size))
        cross = matrix[:, -1, :, :-1].reshape(n_outputs, size)
        follow = -np.linalg.pinv(mass, hermitian=True) @ cross
        return own + cross.T @ follow, follow

    def _descend(self, point, move, slope):
        problem, penalty = self.problem, self.problem.penalty
        most = self.best.objective * problem.total_weight * (1.0 + 1e-14)
        before = penalty.value(self.best.coef)
        for self.length in newton.LENGTHS:
            moved = point + self.length * move
            # Sums leave bounds by rounding.
            coef = penalty.prox(moved[:-1].reshape(problem.shape), 0.0)
            losses, _ = problem.evaluate(moved, point, move, self.length)
            new = penalty.value(coef)
            if losses + new <= most + newton.SUFFICIENT * (self.length * slope + new - before):
                self.engine.move_to(coef, moved[-1].reshape(problem.shape[1:]))
                return True
        return False
