"""Gradient and Hyvarinen score of the log density."""

import numpy as np


def require_derivatives(estimator, name):
    """Refuse kernels and settings whose score has no gradient here."""
    jacobian = estimator.jacobian
    if not estimator.kernel_.differentiable or callable(jacobian) or estimator.max_rank is not None:
        raise ValueError(
            f"{name} needs the kernel 'rbf', 'matern32', 'matern52', 'rational_quadratic', "
            "'linear' or 'polynomial', jacobian 'auto' or False, and max_rank=None"
        )


def score_gradient(kernel, model, X_fit, X, with_volume):
    """Gradient in x of the log score, shape (n, d).

    With ``c = B^-1 k_x + (centre - share) / information * B^-1 1`` the gradient of the variance is
    ``grad k(x, x) - 2 sum_m c_m grad k(x, x_m)``.
    """
    variance, gradient, *_ = _variance_gradient(kernel, model, X_fit, X)
    log_gradient = -model.exponent * gradient / variance[:, None]
    return log_gradient + kernel.volume_gradient(X) if with_volume else log_gradient


def hyvarinen(kernel, model, X_fit, X, with_volume):
    """``|grad log q|^2 / 2 + laplacian log q`` per row, in O(n^2) for each row and feature."""
    variance, gradient, coefficients, slopes = _variance_gradient(kernel, model, X_fit, X)
    posterior = model.posterior
    *_, information = model.constants()
    laplacian = kernel.diag_laplacian(X)
    laplacian -= 2.0 * np.einsum("ij,ij->i", coefficients, kernel.laplacian(X, X_fit))
    for j in range(X.shape[1]):
        column = kernel.column(X, X_fit, slopes, j)
        laplacian += 2.0 * (column @ posterior.sums) ** 2 / information
        half = posterior.half_solve(column.T.copy())
        laplacian -= 2.0 * np.einsum("ij,ij->j", half, half)
    h = model.exponent
    log_gradient = -h * gradient / variance[:, None]
    squares = np.einsum("ij,ij->i", gradient, gradient)
    log_laplacian = -h * (laplacian / variance - squares / variance**2)
    if with_volume:
        log_gradient = log_gradient + kernel.volume_gradient(X)
        log_laplacian = log_laplacian + kernel.volume_laplacian(X)
    return 0.5 * np.einsum("ij,ij->i", log_gradient, log_gradient) + log_laplacian


def _variance_gradient(kernel, model, X_fit, X):
    posterior = model.posterior
    K_cross = kernel(X, X_fit)
    coefficients = posterior.coefficients(K_cross)
    _, centre, information = model.constants()
    share = K_cross @ posterior.sums
    coefficients = coefficients + ((centre - share) / information)[:, None] * posterior.sums
    variance = model.variance(*posterior.project(K_cross, kernel.diag(X)))
    slopes = kernel.slopes(X, X_fit)
    gradient = kernel.diag_gradient(X) - 2.0 * kernel.contract(X, X_fit, slopes, coefficients)
    return variance, gradient, coefficients, slopes
