"""Exact least squares with a ridge, for features and for kernels, and the choice of its weight."""

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.utils.extmath import safe_sparse_dot

__all__ = ["choose_alpha", "fit_features", "fit_kernel"]

MOST = 2000  # rows that the weight of the ridge is chosen by
SHARES = np.logspace(-9.0, 1.0, 41)  # of the largest eigenvalue


def fit_features(X, targets, weight, alpha, fit_intercept):
    """Coefficients (r, d) and intercepts (r,)."""
    ridge = Ridge(alpha=alpha, fit_intercept=fit_intercept, tol=1e-10)
    ridge.fit(X, targets, sample_weight=weight)
    intercept = np.broadcast_to(ridge.intercept_, targets.shape[1:]).copy()
    return ridge.coef_.reshape(targets.shape[1], -1), intercept


def fit_kernel(K, targets, weight, alpha, fit_intercept):
    """Dual coefficients (n, r) and intercepts (r,); the intercept is not penalised."""
    root, share = np.sqrt(weight), weight / weight.sum()
    mean = share @ targets if fit_intercept else np.zeros(targets.shape[1])
    centred = _centred(K, share) if fit_intercept else K
    system = root[:, None] * centred * root
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


def choose_alpha(X, targets, weight, fit_intercept, *, is_kernel, rng):
    """The weight of the ridge with the least generalised cross-validation error, and that error."""
    if min(X.shape) > MOST:
        rows = np.sort(rng.choice(len(targets), MOST, replace=False, p=weight / weight.sum()))
        X = X[rows][:, rows] if is_kernel else X[rows]
        targets, weight = targets[rows], np.ones(MOST)
    total, share = weight.sum(), weight / weight.sum()
    if fit_intercept:
        targets = targets - share @ targets
    square = float(weight @ np.sum(targets**2, axis=1))
    if is_kernel or X.shape[1] > X.shape[0]:
        K = X if is_kernel else safe_sparse_dot(X, X.T, dense_output=True)
        root = np.sqrt(weight)
        sizes, vectors = np.linalg.eigh(
            root[:, None] * (_centred(K, share) if fit_intercept else K) * root
        )
        parts = np.sum((vectors.T @ (root[:, None] * targets)) ** 2, axis=1)
    else:
        gram, cross = _moments(X, targets, weight, fit_intercept)
        sizes, vectors = np.linalg.eigh(gram)
        sizes = np.maximum(sizes, 0.0)
        found = np.sum((vectors.T @ cross) ** 2, axis=1)
        used = sizes > 1e-12 * sizes[-1]
        parts = np.where(used, found / np.where(used, sizes, 1.0), 0.0)
    sizes = np.maximum(sizes, 0.0)
    if not sizes[-1] > 0.0 or not square > 0.0:
        return 1.0, np.inf
    alphas = SHARES * sizes[-1]
    shrunk = alphas[:, None] / (sizes + alphas[:, None])
    outside = max(square - parts.sum(), 0.0)  # what no coefficients explain
    error = outside + (shrunk**2) @ parts
    free = total - (1.0 - shrunk).sum(axis=1) - float(fit_intercept)
    scores = np.where(free > 1e-3 * total, error / np.maximum(free, 1e-3 * total) ** 2, np.inf)
    best = int(np.argmin(scores))
    return float(alphas[best]), float(total * scores[best])


def _moments(X, targets, weight, fit_intercept):
    """``X'WX`` and ``X'W targets`` of centred columns."""
    weighted = X.multiply(weight[:, None]).tocsr() if sp.issparse(X) else weight[:, None] * X
    gram = safe_sparse_dot(weighted.T, X, dense_output=True)
    cross = safe_sparse_dot(weighted.T, targets, dense_output=True)
    if fit_intercept:
        mean = np.ravel(weighted.sum(axis=0)) / weight.sum()
        gram = gram - weight.sum() * np.outer(mean, mean)
    return gram, cross


def _centred(K, share):
    """Kernel of features whose mean, with these shares, is zero."""
    rows = K @ share
    return K - rows[:, None] - (share @ K) + share @ rows
