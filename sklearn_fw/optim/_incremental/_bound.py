"""How far a point can be from the optimum where its slopes are no dual point.

Without a penalty that bounds the coefficients, slopes ``s`` of the losses are feasible in the dual
only if ``-X^T s`` is a subgradient of the penalty, as it is at the optimum and nowhere else. One
Newton step tells how the slopes would change on the way to the optimum: to first order by
``h_i <x_i - m, p>``, with the second derivatives ``h_i`` of the losses. Choose p so that the
changed slopes are feasible, which is a system of linear equations, and the bound

    P(w) + sum_i loss_i*(s_i') + <g, z> - penalty(z),    g = -X^T s' a subgradient at z,

is as small as the square of the distance. Slopes that leave the domain of a conjugate prove
nothing. What rounding or an inexact solution leave of the equations is weighted by coefficients
ten times as large as those at hand.
"""

import numpy as np

from ._curvature import Curvature, solve_positive

# Columns for which a matrix of second derivatives is made, and those for which it costs too much.
COLUMNS = 1000
# Iterations and accuracy of conjugate gradients for more columns or outputs.
ITERATIONS, ACCURACY = 500, 1e-11
# How many times as large as at hand coefficients may be at the optimum.
LARGER = 10.0
# Share of the objective below which a difference of sums is rounding.
ROUNDING = 1e-14


def suboptimality_bound(problem, certificate):
    """Bound on the distance of the mean objective from its optimum, None without a proof."""
    coef, slopes, total = certificate.coef, certificate.memory, certificate.total
    near, subgradient, free = _subgradient(problem, coef, total)
    missing = np.where(free, total + subgradient, 0.0)
    if missing.ndim == 2:
        # Slopes of a row have the sum zero: what no change of them can make up for.
        missing = np.where(free, missing - missing.mean(axis=1, keepdims=True), 0.0)
    scores = problem.scores(coef, certificate.intercept)
    curvature = Curvature(problem, scores, slopes)
    move = solve_scores(problem, curvature, missing, free, ROUNDING * np.linalg.norm(total))
    scores = problem.scores(move, 0.0)
    changed = slopes - curvature.along(scores)
    after = problem.gradient(changed)
    rest = np.where(free, after + subgradient, 0.0)
    if not np.all(free):
        # Bounds on one side take slopes of one sign.
        subgradient = np.where(free, subgradient, -after)
        wrong = ~free & ~_holds(problem.penalty, near, subgradient)
        if np.any(wrong):
            return None
    with np.errstate(invalid="ignore"):
        conjugates = problem.conjugate_sum(changed)
    bound = (
        certificate.objective * problem.total_weight + conjugates
        + float(np.sum(subgradient * near)) - problem.penalty.value(near)
    )  # fmt: skip
    # What is left of sums that cancel to rounding is nothing.
    if abs(bound) <= ROUNDING * (abs(certificate.objective) * problem.total_weight):
        bound = 0.0
    bound += LARGER * float(np.sum(np.abs(rest) * (np.abs(near) + np.abs(move))))
    return max(bound, 0.0) / problem.total_weight if np.isfinite(bound) else None


def _subgradient(problem, coef, total):
    """A point, a subgradient of the penalty there, and the coefficients that are not at a bound."""
    penalty = problem.penalty
    if penalty.separable:
        # l1 and l2 are zero, or there would be a dual.
        sides = (
            np.asarray(side)[:, None] if np.ndim(side) and coef.ndim == 2 else side
            for side in (penalty.lower, penalty.upper)
        )
        lower, upper = sides
        if coef.ndim == 2 and (np.all(np.isneginf(lower)) or np.all(np.isposinf(upper))):
            # The same for all classes may be added to a feature: no bound need be met.
            return coef, np.zeros_like(coef), np.ones(coef.shape, dtype=bool)
        held = ((coef <= lower) & (total > 0.0)) | ((coef >= upper) & (total < 0.0))
        return coef, np.where(held, -total, 0.0), ~held
    step = problem.unit_step
    near = penalty.prox(coef - step * total, step)
    return near, (coef - near) / step - total, np.ones(coef.shape, dtype=bool)


def _holds(penalty, near, subgradient):
    """Whether subgradients of bounds have the right sign."""
    at_lower = (near <= _wide(penalty.lower, near)) & (subgradient <= 0.0)
    return at_lower | ((near >= _wide(penalty.upper, near)) & (subgradient >= 0.0))


def _wide(side, near):
    return np.asarray(side)[:, None] if np.ndim(side) and near.ndim == 2 else side


def solve_scores(problem, curvature, missing, free, negligible):
    """Coefficients whose scores change the slopes by what is missing."""
    if problem.n_outputs is None and problem.n_columns <= COLUMNS:
        move = np.zeros_like(missing)
        if free.any():
            matrix = curvature.matrix()
            move[free] = solve_positive(matrix[np.ix_(free, free)], missing[free])
        return move
    from scipy.sparse.linalg import LinearOperator, cg

    shape = missing.shape

    def product(v):
        v = np.where(free, v.reshape(shape), 0.0)
        changed = problem.gradient(curvature.along(problem.scores(v, 0.0)))
        return np.where(free, changed, v).ravel()

    squares = problem.X.multiply(problem.X) if hasattr(problem.X, "multiply") else problem.X**2
    diagonal = np.asarray(squares.T @ curvature.rows)
    diagonal = np.where(diagonal > 0.0, diagonal, 1.0).ravel()
    size = missing.size
    move, _ = cg(
        LinearOperator((size, size), matvec=product, dtype=np.float64), missing.ravel(),
        rtol=ACCURACY, atol=negligible, maxiter=ITERATIONS,
        M=LinearOperator((size, size), matvec=lambda v: v.ravel() / diagonal, dtype=np.float64),
    )  # fmt: skip
    return move.reshape(shape)
