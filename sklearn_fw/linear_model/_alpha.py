"""The strength of a ridge where none is given: generalised cross-validation without a refit."""

import numpy as np
import scipy.sparse as sp

from ..optim._incremental._auto import DENSE, SPARSE
from ..optim._incremental._curvature import Curvature
from ..optim._incremental._newton_cg import is_ridge

__all__ = ["automatic_strength"]

# Candidates, in units of the mean eigenvalue.
CANDIDATES = np.geomspace(1e-8, 1e3, 45)
# Degrees of freedom may take at most this share of the rows: beyond it the criterion is noise.
MOST_FREE = 0.9
# What scikit-learn's ElasticNet and Lasso take.
ALPHA = 1.0


def automatic_strength(problem, targets):
    """Strength of the penalty in the sum form for ``alpha="auto"``, which all targets share.

    For a ridge what minimises the generalised cross-validation error of the squared loss (Golub,
    Heath and Wahba 1979), over all targets, each in the unit of its variance; the sum of the
    variances of the columns where these are too many for a matrix; `ALPHA` times the sum of the
    weights for other penalties. ``problem`` has the penalty of strength 1; ``targets`` (n_targets,
    n_samples).
    """
    penalty = problem.penalty
    if not is_ridge(penalty) or penalty.l2 == 0.0:
        return ALPHA * problem.total_weight
    unit = problem.loss.smoothness / penalty.l2
    few = problem.n_columns <= (SPARSE if sp.issparse(problem.X) else DENSE)
    strength = _by_validation(problem, targets) if few else _sum_of_variances(problem)
    # Columns without any variance have no need of a penalty.
    return unit * strength if strength > 0.0 else ALPHA * problem.total_weight


def _by_validation(problem, targets):
    weight = np.ones(problem.n_rows) if problem.weight is None else problem.weight
    center = problem.fit_intercept
    sizes, axes = np.linalg.eigh(Curvature.bound(problem).matrix(weight))
    sizes = np.maximum(sizes, 0.0)
    if not sizes.sum() > 0.0:
        return 0.0
    strengths = CANDIDATES * sizes.mean()
    shrunk = sizes / (sizes + strengths[:, None])
    # A row of weight 2 counts as two rows.
    left = problem.total_weight - center - shrunk.sum(axis=1)
    allowed = left >= (1.0 - MOST_FREE) * problem.total_weight
    allowed[-1] = True
    errors = np.zeros(strengths.size)
    for y in targets:
        residual = y - (weight @ y / problem.total_weight if center else 0.0)
        whole = weight @ np.square(residual)
        if not whole > 0.0:
            continue
        along = axes.T @ problem.gradient(weight * residual)
        if center:
            along -= (axes.T @ problem.column_means) * (weight @ residual)
        coef = along / (sizes + strengths[:, None])
        error = whole - 2.0 * coef @ along + np.square(coef) @ sizes
        errors += np.maximum(error, 0.0) / whole
    errors[~allowed] = np.inf
    errors[allowed] /= np.square(np.maximum(left[allowed], 1e-9))
    # Of equal ones the strongest.
    return float(strengths[len(errors) - 1 - np.argmin(errors[::-1])])


def _sum_of_variances(problem):
    """Mean square of the rows, which of a dense table are centred."""
    weight = np.ones(problem.n_rows) if problem.weight is None else problem.weight
    X = problem.X
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    total = float(weight @ np.asarray(squares, np.float64).ravel()) / problem.total_weight
    if problem.centers:
        total -= float(np.sum(np.square(problem.column_means)))
    return max(total, 0.0)
