"""Many boxes under one covariance."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._core.validation import (
    check_array_of_numbers,
    check_integer,
    check_magnitude,
    check_positive,
)
from .._core.warnings import warn
from .._kernels.moments.gaussian import propagate_boxes
from ._engine import SLIGHT, gaussian_masses, interval_masses, is_narrow, propagate
from ._polyhedra import check_covariance, check_order

ROWS = 4096  # boxes at a time, for the memory


def log_box_probabilities(lower, upper, mean=None, cov=None, *, tol=1e-5, max_iter=500):
    """Log probabilities of many boxes under one covariance, by expectation propagation.

    Parameters
    ----------
    lower : array-like of shape (n_boxes, n) or (n,)
        Lower ends, -inf allowed.
    upper : array-like of shape (n_boxes, n) or (n,)
        Upper ends, inf allowed.
    mean : array-like of shape (n_boxes, n) or (n,), default=None
        Means; None stands for zero. Interval-censored rows have one mean each.
    cov : array-like of shape (n, n)
        Covariance of all boxes, positive definite.
    tol : float, default=1e-5
        Largest change of a marginal in a sweep, in standard deviations, at which sweeps end.
    max_iter : int, default=500
        Largest number of sweeps of a box.

    Returns
    -------
    log_prob : ndarray of shape (n_boxes,)
        Log probabilities; -inf where a box is too far away for a float64.
    gradient_mean : ndarray of shape (n_boxes, n)
        Their gradients in the means.

    See Also
    --------
    log_gaussian_probability : One box, with an error bar.

    Notes
    -----
    O(n^3) per box and sweep, without overhead for each box; boxes with sides below 1e-3 standard
    deviations, and those of which sites do not come to rest, are solved one by one. The error of
    expectation propagation is not stated: draw some boxes and ask `log_gaussian_probability`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.gaussian_probability import log_box_probabilities
    >>> lower = np.array([[-1.0, -1.0], [0.0, 0.0]])
    >>> log_prob, gradient = log_box_probabilities(lower, lower + 2.0, cov=np.eye(2))
    >>> log_prob.round(4).tolist()
    [-0.7634, -1.4794]
    """
    tol, max_iter = check_positive(tol, "tol"), check_integer(max_iter, "max_iter", 1)
    cov = check_covariance(cov)
    n = len(cov)
    if not np.linalg.eigvalsh(cov)[0] > max(1e-12 * np.abs(cov).max(), 1e-100):
        raise ValueError("cov must be positive definite here: add a small multiple of the identity")
    lower, upper, mean = _check_boxes(lower, upper, 0.0 if mean is None else mean, n)
    log_prob, gradient = np.empty(len(mean)), np.empty((len(mean), n))
    settled = np.zeros(len(mean), bool)
    for start in range(0, len(mean), ROWS):
        rows = slice(start, start + ROWS)
        log_prob[rows], gradient[rows], change = _propagate(
            lower[rows], upper[rows], mean[rows], cov, tol, max_iter
        )
        settled[rows] = (change >= 0.0) & (change <= tol)
    settled &= ~np.any(is_narrow(cov, lower, upper), axis=1)
    n_moving = 0
    for i in np.flatnonzero(~settled):  # with damping, and narrow sides apart
        sites = propagate(cov, mean[i], lower[i], upper[i], tol=tol, max_iter=max_iter)
        if sites is None:
            log_prob[i], gradient[i] = -np.inf, np.nan
            continue
        log_prob[i], gradient[i] = sites.log_z, sites.weights
        n_moving += not sites.converged
    if n_moving:
        warn(
            f"expectation propagation did not converge on {n_moving} of {len(mean)} boxes: raise "
            f"max_iter, or ask log_gaussian_probability for an error bar",
            ConvergenceWarning,
        )
    return log_prob, gradient


def _check_boxes(lower, upper, mean, n):
    arrays = []
    for values, name in ((lower, "lower"), (upper, "upper"), (mean, "mean")):
        values = check_array_of_numbers(values, name, finite=name == "mean")
        if values.ndim > 2 or (values.ndim and values.shape[-1] != n):
            raise ValueError(f"{name} must have {n} columns, got shape {values.shape}")
        check_magnitude(values[np.isfinite(values)], name)
        arrays.append(np.atleast_2d(np.broadcast_to(values, np.broadcast_shapes(values.shape, n))))
    n_boxes = max(map(len, arrays))
    for values, name in zip(arrays, ("lower", "upper", "mean"), strict=True):
        if len(values) not in (1, n_boxes):
            raise ValueError(f"{name} must have 1 or {n_boxes} rows, got {len(values)}")
    lower, upper, mean = (np.ascontiguousarray(np.broadcast_to(a, (n_boxes, n))) for a in arrays)
    check_order(lower, upper)
    return lower, upper, mean


def _propagate(lower, upper, mean, G, tol, max_iter):
    """Log Z, gradients in the mean and last changes; the formulas of `Marginals`, by box."""
    origin = np.clip(mean, lower, upper)
    low, high, h = lower - origin, upper - origin, mean - origin
    n = len(G)
    tau, nu, change = np.zeros_like(h), np.zeros_like(h), np.zeros(len(h))
    propagate_boxes(G, h, low, high, np.ones(n), tau, nu, 1.0, tol, max_iter, change)
    root = np.sqrt(tau)
    factor = np.linalg.cholesky(np.eye(n) + root[:, :, None] * G * root[:, None, :])
    half_log_det = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
    inverse = np.linalg.inv(factor)
    slight = tau * np.diag(G) < SLIGHT
    precise = np.where(slight, 1.0, tau)
    left = np.maximum(np.sum(inverse**2, axis=1), 1e-300)  # 1 - tau var
    var = np.diag(G) - np.sum((inverse @ (root[:, :, None] * G)) ** 2, axis=1)
    var = np.where(slight, var, (1.0 - left) / precise)
    light = np.where(slight, nu, 0.0)
    ends = np.where(slight, 0.0, nu / np.sqrt(precise)) - root * (h + light @ G)
    solved = inverse.transpose(0, 2, 1) @ (inverse @ ends[:, :, None])
    weights = light + root * solved[:, :, 0]
    centre = h + weights @ G
    shifted = nu - tau * centre
    cavity_var, cavity = var / left, -var * shifted / left
    masses, _, _ = interval_masses(low - centre, high - centre, cavity, cavity_var)
    sites = gaussian_masses(cavity, cavity_var, tau, shifted)
    bounded = np.isfinite(low) | np.isfinite(high)
    log_z = np.sum(np.where(bounded, masses - sites, 0.0), axis=1)
    log_z -= half_log_det + 0.5 * np.sum(weights * (weights @ G), axis=1)
    return log_z, weights, change
