"""The optimum on the columns that an l1 norm leaves, by Newton's method.

Slopes of the losses are feasible in the dual of an l1 norm only after a division by the largest
violation of all columns, which is first order in the distance from the optimum, where the objective
is second order. The slopes at the optimum on the support have no violation but in other columns.
"""

from copy import copy
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ._bound import solve_scores
from ._curvature import Curvature
from ._newton import Newton
from ._run import Start

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
