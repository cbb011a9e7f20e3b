"""Moments of truncated normal variables."""

import numpy as np

from .._core.validation import check_array_of_numbers
from ._engine import interval_masses


def truncated_normal_moments(lower, upper, mean=0.0, var=1.0):
    """Log mass, mean and variance of N(mean, var) on intervals, right in the far tails.

    Parameters
    ----------
    lower : array-like
        Lower ends, -inf allowed. All arguments are broadcast against each other.
    upper : array-like
        Upper ends, inf allowed, above ``lower``.
    mean : array-like, default=0.0
        Means before the truncation.
    var : array-like, default=1.0
        Variances before the truncation, positive.

    Returns
    -------
    log_prob : ndarray
        Log of the mass inside.
    mean : ndarray
        Means of what is inside.
    var : ndarray
        Variances of what is inside.

    Notes
    -----
    Quadrature for short intervals, scaled error functions in tails, a series beyond 30 standard
    deviations: no difference of nearly equal numbers is formed.

    References
    ----------
    .. [1] J. Cunningham, P. Hennig, S. Lacoste-Julien, "Gaussian probabilities and expectation
       propagation", arXiv:1111.6832, 2011: equations 13 to 15.

    Examples
    --------
    >>> from sklearn_fw.gaussian_probability import truncated_normal_moments
    >>> log_prob, mean, var = truncated_normal_moments(100.0, float("inf"))
    >>> round(float(log_prob), 6), round(float(mean), 6)
    (-5005.524209, 100.009998)
    """
    lower = check_array_of_numbers(lower, "lower", finite=False)
    upper = check_array_of_numbers(upper, "upper", finite=False)
    mean = check_array_of_numbers(mean, "mean")
    var = check_array_of_numbers(var, "var")
    try:
        lower, upper, mean, var = np.broadcast_arrays(lower, upper, mean, var)
    except ValueError:
        raise ValueError(
            f"lower, upper, mean and var must have shapes that fit together, got {lower.shape}, "
            f"{upper.shape}, {mean.shape} and {var.shape}"
        ) from None
    if not np.all(lower < upper):
        raise ValueError("lower must be below upper everywhere: swap or drop such intervals")
    if not np.all(var > 0.0):
        raise ValueError(f"var must be positive, got {var.min()}")
    return tuple(interval_masses(lower, upper, mean, var))
