"""Exact least squares with a ridge, for features and for kernels, and the choice of its weight."""

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.utils.extmath import safe_sparse_dot

MOST = 2000  # rows that the weight of the ridge is chosen by, where there are more features
SOME = 5000  # rows that are left out, where there are fewer features
FLAT = 1.001  # of the least error: the largest weight within it does not depend on rounding
SHARES = np.logspace(-9.0, 1.0, 41)  # of the largest eigenvalue


def fit_features(X, targets, weight, alpha, fit_intercept):
    """Coefficients (r, d) and intercepts (r,)."""
    ridge = Ridge(alpha=alpha, fit_intercept=fit_intercept, tol=1e-10)
    ridge.fit(X, targets, sample_weight=weight)
    intercept = np.broadcast_to(ridge.intercept_, targets.shape[1:]).copy()
    return ridge.coef_.reshape(targets.shape[1], -1), intercept


def fit_kernel(K, targets, weight, alpha, fit_intercept):
    """Dual coefficients (n, r) and intercepts (r,); the intercept is not penalized."""
    root, share = np.sqrt(weight), weight / weight.sum()
    mean = share @ targets if fit_intercept else np.zeros(targets.shape[1])
    centered = _centered(K, share) if fit_intercept else K
    system = root[:, None] * centered * root
    system[np.diag_indices_from(system)] += alpha
    right = root[:, None] * (targets - mean)
    try:
        found = sl.cho_solve(sl.cho_factor(system, lower=True), right)
    except sl.LinAlgError:
        raise ValueError(
            f"the kernel matrix plus alpha = {alpha:g} is not positive definite: increase alpha, "
            f"or take a kernel that is positive semi-definite"
        ) from None
    dual = root[:, None] * found
    if not fit_intercept:
        return dual, mean
    dual -= share[:, None] * dual.sum(axis=0)
    return dual, mean - share @ (K @ dual)


def choose_alpha(X, targets, weight, fit_intercept, *, is_kernel, losses, rng):
    """The weight of the ridge with the least leave-one-out error.

    Rows are distinct, with the weights of their copies: generalized cross-validation, which
    replaces each leverage by the mean one, falls to zero with alpha where rows repeat.

    Returned are the weight, the mean of ``losses(targets, predictions)`` of rows left out, and
    their mean squared error.
    """
    if min(X.shape) > MOST:
        rows = np.sort(rng.choice(len(targets), MOST, replace=False, p=weight / weight.sum()))
        X = X[rows][:, rows] if is_kernel else X[rows]
        targets, weight = targets[rows], np.ones(MOST)
    share = weight / weight.sum() * float(fit_intercept)
    right = np.sqrt(weight)[:, None] * (targets - share @ targets)
    if is_kernel or X.shape[1] > X.shape[0]:
        K = X if is_kernel else safe_sparse_dot(X, X.T, dense_output=True)
        root = np.sqrt(weight)
        sizes, left = np.linalg.eigh(root[:, None] * _centered(K, share) * root)
        sizes, parts, rows = np.maximum(sizes, 0.0), left.T @ right, slice(None)
    else:
        sizes, left, parts, rows = _factors(X, targets, weight, share, rng)
    if not (sizes.size and sizes[-1] > 0.0 and np.any(right)):
        return 1.0, np.inf, np.inf
    targets, weight, share, right = targets[rows], weight[rows], share[rows], right[rows]
    alphas = SHARES * sizes[-1]
    kept = alphas[:, None] / (sizes + alphas[:, None])
    outside = right - left @ parts  # what no coefficients explain
    free = np.maximum(1.0 - share[:, None] - left**2 @ (1.0 - kept).T, 1e-12)

    def gaps(k):
        return (outside + left @ (kept[k][:, None] * parts)) / free[:, k, None]

    errors = np.array([np.sum(gaps(k) ** 2) for k in range(len(alphas))])
    best = int(np.flatnonzero(errors <= FLAT * errors.min())[-1])
    predicted = targets - gaps(best) / np.sqrt(weight)[:, None]
    mean_loss = float(weight @ losses(targets, predicted)) / weight.sum()
    return float(alphas[best]), mean_loss, float(errors[best] / weight.sum())


def _factors(X, targets, weight, share, rng):
    """Eigenvalues of features, and what of rows and targets lies along their eigenvectors.

    Rows are at most `SOME`, whose numbers are the last value.
    """
    weighted = X.multiply(weight[:, None]).tocsr() if sp.issparse(X) else weight[:, None] * X
    mean = share @ X
    gram = safe_sparse_dot(weighted.T, X, dense_output=True) - weight.sum() * np.outer(mean, mean)
    cross = safe_sparse_dot(weighted.T, targets - share @ targets, dense_output=True)
    sizes, vectors = np.linalg.eigh(gram)
    used = sizes > max(1e-12 * sizes[-1], 0.0)
    sizes, vectors = sizes[used], vectors[:, used] / np.sqrt(sizes[used])
    rows = np.arange(len(targets))
    if len(rows) > SOME:
        rows = np.sort(rng.choice(rows, SOME, replace=False, p=weight / weight.sum()))
    left = np.sqrt(weight[rows])[:, None] * (X[rows] @ vectors - mean @ vectors)
    return sizes, left, vectors.T @ cross, rows


def _centered(K, share):
    """Kernel of features whose mean, with these shares, is zero."""
    rows = K @ share
    return K - rows[:, None] - (share @ K) + share @ rows
