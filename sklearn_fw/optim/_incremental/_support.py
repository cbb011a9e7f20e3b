"""Newton's method on the columns that an l1 norm leaves, for incremental methods on the way."""

import numpy as np
import scipy.sparse as sp

from . import _finite_sum as finite_sum
from ._newton import Newton
from ._run import Start

# Most columns, and multiplications per step, for which Newton's method is cheap.
FEW_COLUMNS, PRODUCTS = 1000, 1e9
# Largest support for conjugate gradients, as a part of the rows: beyond it they converge slowly.
LARGEST = 0.5
# Share of a system of equations that conjugate gradients may leave.
LEFT = 1e-3
# Steps, and the part of the tolerance that they go down to.
SUPPORT_STEPS, TIGHTER = 10, 0.1


def has_support(problem):
    """Whether zeros are what the penalty makes, and Newton's method takes the rest."""
    penalty = problem.penalty
    return penalty.separable and penalty.l1 > 0.0 and problem.n_outputs is None


def minimize_on_support(problem, certificate, *, tol, rng):
    """Coefficients and intercept from columns that are or become nonzero; None if too many."""
    coef, total = certificate.coef, certificate.total
    columns = np.flatnonzero((coef != 0.0) | (np.abs(total) > problem.penalty.l1))
    n_entries = float(problem.counts[columns].sum())
    if not columns.size:
        return None
    if columns.size > FEW_COLUMNS or n_entries**2 > PRODUCTS * problem.n_rows:
        is_determined = columns.size <= LARGEST * problem.active.size
        return _newton_step(problem, certificate, columns) if is_determined else None
    start = Start(coef[columns], certificate.intercept)
    run = Newton().start(_on_columns(problem, columns), tol=TIGHTER * tol, rng=rng, start=start)
    found = np.zeros_like(coef)
    found[columns], intercept = run.run(SUPPORT_STEPS)
    return found, intercept


def _newton_step(problem, certificate, columns):
    """A step for many columns, by conjugate gradients, as long as no sign changes."""
    part, penalty = _on_columns(problem, columns), problem.penalty
    coef, total = certificate.coef[columns], certificate.total[columns]
    sign = np.where(coef != 0.0, np.sign(coef), -np.sign(total))
    scores = part.scores(coef, certificate.intercept)
    curvature = finite_sum.Curvature(part, scores, certificate.memory)
    missing = total + penalty.l1 * sign + penalty.l2 * coef
    free = np.ones(columns.size, dtype=bool)
    move = finite_sum.solve_scores(part, curvature, missing, free, LEFT * np.linalg.norm(missing))
    moved = np.where((coef - move) * sign > 0.0, coef - move, 0.0)
    found = np.zeros_like(certificate.coef)
    found[columns] = np.clip(moved, part.penalty.lower, part.penalty.upper)
    return found, certificate.intercept


def _on_columns(problem, columns):
    X, penalty = problem.X[:, columns], problem.penalty.on_columns(columns)
    X = X if sp.issparse(X) else np.ascontiguousarray(X)
    return problem.like(X, problem.y, penalty, problem.weight)
