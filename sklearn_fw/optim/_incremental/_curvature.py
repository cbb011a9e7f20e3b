"""Second derivatives of the losses of a `FiniteSum` in the coefficients, the intercept left out.

The intercept is at its best for any coefficients, so that what counts is the curvature of the
objective with it: rows less their mean, weighted by the curvatures of their losses.
"""

import numpy as np
import scipy.sparse as sp

from ..._kernels import lazy
from ...losses import MultinomialLogLoss

sums = lazy("common.sums")

# Bytes of the dense rows of which outer products are summed at a time.
BYTES = 1 << 18
# What is added to the unit diagonal of a scaled matrix, at first, where it is singular.
JITTER = 1e-13
# So often it grows, at most: to a multiple that makes any matrix of numbers up to 1 definite.
TRIALS = 15


class Curvature:
    """Second derivatives at the slopes of a point."""

    def __init__(self, problem, scores, slopes):
        self.problem = problem
        self.weight = None
        if problem.weight is not None:
            self.weight = problem.weight if slopes.ndim == 1 else problem.weight[:, None]
            used = self.weight > 0.0
            slopes = np.divide(slopes, self.weight, out=np.zeros_like(slopes), where=used)
        self.rows = problem.loss._curvatures(problem.y, scores, slopes)
        self.probabilities = None
        if isinstance(problem.loss, MultinomialLogLoss):
            p = np.array(slopes)
            p[np.arange(len(p)), problem.y.astype(np.intp)] += 1.0
            self.probabilities = p
        if self.weight is not None:
            self.rows = self.rows * self.weight

    @classmethod
    def bound(cls, problem):
        """The largest second derivatives that there can be; one output."""
        largest = cls.__new__(cls)
        largest.problem, largest.probabilities, largest.weight = problem, None, problem.weight
        weight = np.ones(problem.n_rows) if problem.weight is None else problem.weight
        largest.rows = problem.loss.smoothness * weight
        return largest

    def along(self, moves):
        """Changes of the slopes, to first order, when the scores but for the intercepts move.

        The intercepts follow: the changes of every output have the sum zero.
        """
        changes = self.apply(moves)
        if not self.problem.fit_intercept:
            return changes
        if self.probabilities is None:
            total = self.rows.sum()
            return changes - self.rows * (changes.sum() / total) if total > 0.0 else changes
        shift, *_ = np.linalg.lstsq(self._mass(), changes.sum(axis=0))
        return changes - self.apply(np.tile(shift, (len(moves), 1)))

    def apply(self, moves):
        """The same without intercepts that follow."""
        if self.probabilities is None:
            return self.rows * moves
        changes = np.empty_like(moves)
        sums.softmax_curvature(self.probabilities, self.problem.weight, moves, changes)
        return changes

    def _mass(self):
        """Sum over the rows of their curvatures (n_outputs, n_outputs)."""
        p = self.probabilities
        weighted = p if self.weight is None else p * self.weight
        return np.diag(weighted.sum(axis=0)) - weighted.T @ p

    def matrix(self, rows=None):
        """``sum_i h_i (x_i - m) (x_i - m)^T`` for one output, or for curvatures ``rows``.

        m is the mean with the weights h_i; zero without an intercept.
        """
        problem, h = self.problem, self.rows if rows is None else rows
        size = problem.n_columns
        center = problem.column_means if problem.centers else None
        if sp.issparse(problem.X):
            total, mass, X = np.zeros((size, size)), np.zeros(size), problem.X
            sums.add_outer_products(X.data, X.indices, X.indptr, h, total, mass)
        else:
            total, mass = _dense_products(problem.X, h, center)
        if problem.fit_intercept:
            sum_of_h = h.sum()
            if sum_of_h > 0.0:
                total -= np.multiply.outer(mass, mass / sum_of_h)
        return total


def _dense_products(X, h, center):
    """``sum_i h_i u_i u_i^T`` and ``sum_i h_i u_i`` for ``u_i = x_i - center``."""
    n_rows, size = X.shape
    step = max(64, BYTES // (8 * size))
    root = np.sqrt(h)
    total, mass = None, 0.0
    for start in range(0, n_rows, step):
        part = slice(start, start + step)
        scaled = np.asarray(X[part], np.float64)
        if center is not None:
            scaled = scaled - center
        scaled = scaled * root[part, None]
        product = scaled.T @ scaled
        total = product if total is None else np.add(total, product, out=total)
        mass = mass + root[part] @ scaled
    return total, mass


def solve_positive(matrix, right, ridge=0.0):
    """Solution of ``(matrix + ridge I) x = right`` for a symmetric matrix that may be singular.

    Columns are scaled to a unit diagonal first. Where the matrix is not positive definite to
    rounding, the least multiple of the unit matrix that makes it so is added.
    """
    from scipy.linalg.lapack import dposv

    diagonal = np.diagonal(matrix) + ridge
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = matrix / np.multiply.outer(scale, scale)
    places = np.arange(len(scale))
    target = scale if right.ndim == 1 else scale[:, None]
    added = 0.0
    for _ in range(TRIALS):
        scaled[places, places] = 1.0 + added
        _, solution, info = dposv(scaled, right / target)
        if info == 0:
            return solution / target
        added = max(JITTER, 100.0 * added)
    raise FloatingPointError(  # entries are at most 1: only NaN is left
        "the curvature of the losses is not finite: check the scale of X and sample_weight"
    )


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
