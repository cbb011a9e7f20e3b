"""The kernel of the functions, and the choice of it."""

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from ..._validation import check_array_of_numbers, check_magnitude
from ._ridge import choose_alpha

__all__ = ["choose", "kernel_matrix"]

MOST_ROWS = 2000  # that "auto" tries a kernel on: its cost is their cube


def choose(model, X, targets, weight, fit_intercept, rng):
    """Set kernel and weight of the ridge; returns features, or the kernel between all rows."""
    model.gamma_, kernels, found = model.gamma, [model.kernel], []
    if isinstance(model.kernel, str) and model.kernel == "auto":
        kernels = ["linear"]
        chooses = isinstance(model.alpha, str) and model.solver == "ridge"
        is_small = not sp.issparse(X) and X.shape[0] <= MOST_ROWS
        spread = _variance(X, weight) if chooses and is_small else 0.0
        if spread > 0.0:
            kernels.append("rbf")
            model.gamma_ = 1.0 / (X.shape[1] * spread) if model.gamma is None else model.gamma
    for kernel in kernels:
        model.kernel_, model.X_fit_ = kernel, None
        is_kernel = kernel != "linear"
        features, alpha, error = kernel_matrix(model, X) if is_kernel else X, model.alpha, 0.0
        if isinstance(alpha, str):
            alpha, error = choose_alpha(
                features, targets, weight, fit_intercept, is_kernel=is_kernel, rng=rng
            )
        found.append((error, kernel, float(alpha), features))
    _, model.kernel_, model.alpha_, features = min(found, key=lambda one: one[0])
    model.X_fit_ = None if model.kernel_ == "linear" else X
    return features


def _variance(X, weight):
    """Of all entries, those of rows as often as the weights say."""
    share = weight / weight.sum()
    return float(share @ np.mean((X - np.mean(share @ X)) ** 2, axis=1))


def kernel_matrix(model, X):
    """Kernel between rows of X and those of fit, which are X in fit."""
    fitted = X if model.X_fit_ is None else model.X_fit_
    kernel = model.kernel_
    if kernel == "precomputed":
        if model.X_fit_ is None and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix. X has shape {X.shape}: "
                f"kernel='precomputed' takes the kernel between all rows"
            )
        return X.toarray() if sp.issparse(X) else X
    params = {"gamma": model.gamma_, "degree": model.degree, "coef0": model.coef0}
    if callable(kernel):
        params = model.kernel_params or {}
    K = pairwise_kernels(X, fitted, metric=kernel, filter_params=not callable(kernel), **params)
    K = check_array_of_numbers(K.toarray() if sp.issparse(K) else K, "kernel")
    check_magnitude(K, "kernel")
    return K
