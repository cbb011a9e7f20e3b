"""Probabilities with a closed form or an integral over one variable."""

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import logsumexp

from .._validation import check_number
from ._engine import interval_masses
from ._problems import check_bounds, check_covariance

__all__ = ["equicorrelated_probability", "exact_log_probability", "orthant_probability"]

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)
PANELS = 12
DROP = 60.0  # of the logarithm of the integrand, beyond which nothing counts
THIN = 1e-290  # sides of a box
EQUAL = 1e-14  # of correlations


def orthant_probability(cov):
    """Probability that all of at most three normal variables with mean zero are positive.

    Parameters
    ----------
    cov : array-like of shape (n, n)
        Covariance of n <= 3 variables, none of them constant.

    Returns
    -------
    prob : float
        The probability.

    Raises
    ------
    ValueError
        If ``cov`` is no covariance, or larger than 3 x 3: take `log_gaussian_probability`.

    Examples
    --------
    >>> from sklearn_fw.gaussian_probability import orthant_probability
    >>> round(orthant_probability([[1.0, 0.5], [0.5, 1.0]]), 12)
    0.333333333333
    """
    cov = check_covariance(cov)
    n, var = len(cov), np.diag(cov)
    if n > 3:
        raise ValueError(
            f"cov must be at most 3 x 3, got {n} x {n}: take log_gaussian_probability(0, inf, "
            f"cov=cov)"
        )
    if not np.all(var > 0.0):
        raise ValueError("cov must have positive variances: leave constants out")
    angles = np.arcsin(np.clip(cov / np.sqrt(var) / np.sqrt(var)[:, None], -1.0, 1.0))
    total = float(angles[np.triu_indices(n, 1)].sum())
    return {1: 0.5, 2: 0.25 + total / (2.0 * np.pi), 3: 0.125 + total / (4.0 * np.pi)}[n]


def equicorrelated_probability(lower, upper, rho):
    """Log probability of a box under standard normal variables with one correlation.

    ``log of the integral of phi(t) prod_i P(lower_i < sqrt(rho) t + sqrt(1 - rho) e < upper_i)``

    Parameters
    ----------
    lower : array-like of shape (n,)
        Lower ends, -inf allowed.
    upper : array-like of shape (n,)
        Upper ends, inf allowed.
    rho : float
        Correlation of each pair, from 0 to below 1.

    Returns
    -------
    log_prob : float
        Log of the probability, right in the tails.

    Raises
    ------
    ValueError
        For ``rho`` out of range and for empty intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.gaussian_probability import equicorrelated_probability
    >>> log_prob = equicorrelated_probability(np.zeros(9), np.full(9, np.inf), 0.5)
    >>> round(float(np.exp(log_prob)), 12)
    0.1
    """
    rho = check_number(rho, "rho")
    if not 0.0 <= rho < 1.0:
        raise ValueError(f"rho must be from 0 to below 1, got {rho}")
    p = max(np.size(lower), np.size(upper))
    if p == 0:
        raise ValueError("lower and upper must hold at least one number")
    lower, upper = check_bounds(lower, upper, p)
    if np.any(upper - lower < THIN):
        raise ValueError(
            f"upper exceeds lower by {np.min(upper - lower):.2g} somewhere, less than {THIN:g}: "
            f"such a box is too thin for its probability to be a number"
        )
    return _common_factor(lower, upper, rho)[0]


def _common_factor(lower, upper, rho):
    """Log probability of the box, and its error."""
    slope, origin = np.sqrt(rho), np.zeros(1)

    def log_integrand(t):
        t = np.atleast_1d(t)
        factor = np.repeat(slope * t[:, None], len(lower), axis=1)
        masses, _, _ = interval_masses(lower, upper, factor, 1.0 - rho)
        return masses.sum(axis=1) - 0.5 * t**2

    if slope < 1e-15:  # its share is below rounding
        return float(log_integrand(origin)[0]), 0.0
    reach = 40.0 + np.abs(np.r_[lower, upper][np.isfinite(np.r_[lower, upper])]).max(initial=0.0)
    reach = 2.0 * reach / slope
    found = minimize_scalar(
        lambda t: -log_integrand(t)[0], bounds=(-reach, reach), method="bounded",
        options={"xatol": 1e-10 * reach},
    )  # fmt: skip
    mode, best = found.x, -found.fun

    def excess(t):
        return np.nan_to_num(log_integrand(t)[0] - best + DROP, nan=-1e300, neginf=-1e300)

    ends = [brentq(excess, mode, edge, xtol=1e-6) for edge in (mode - 12.0, mode + 12.0)]
    # Panels become finer towards the mode, on both sides.
    values = [_panels(log_integrand, mode, ends, n) for n in (PANELS, 2 * PANELS)]
    gap = abs(values[0] - values[1])
    value = values[1] - 0.5 * np.log(2.0 * np.pi)
    return float(value), float(gap + 1e-14 * max(abs(value), 1.0))


def _panels(log_integrand, mode, ends, n):
    parts = []
    for end in ends:
        edges = mode + (end - mode) * np.linspace(0.0, 1.0, n + 1)
        half = 0.5 * np.diff(edges)
        t = (edges[:-1] + half)[:, None] + half[:, None] * NODES
        logs = log_integrand(t.ravel()) + np.log((np.abs(half)[:, None] * WEIGHTS).ravel())
        parts.append(logsumexp(logs))
    return float(np.logaddexp(*parts))


def exact_log_probability(lower, upper, h, G):
    """(log probability, error) of a box where one is known; None elsewhere."""
    sd = np.sqrt(np.diag(G))
    low, high = (lower - h) / sd, (upper - h) / sd
    correlation = G / sd / sd[:, None]
    p = len(h)
    masses, _, _ = interval_masses(low, high, np.zeros(p), np.ones(p))
    if np.all(np.abs(correlation[np.triu_indices(p, 1)]) <= EQUAL):
        return float(masses.sum()), 1e-13 * max(abs(float(masses.sum())), 1.0)
    if p == 3 and _is_orthant(low, high):
        sign = np.where(low == 0.0, 1.0, -1.0)
        prob = orthant_probability(correlation * sign * sign[:, None])
        return (float(np.log(prob)), 1e-15 / prob) if prob > 1e-6 else None
    if p == 2 and correlation[0, 1] < 0.0:
        low, high = np.array([low[0], -high[1]]), np.array([high[0], -low[1]])
        correlation = np.abs(correlation)
    rho = correlation[0, 1]
    pairs = correlation[np.triu_indices(p, 1)]
    if 0.0 < rho < 1.0 - 1e-6 and np.all(np.abs(pairs - rho) <= EQUAL):
        return _common_factor(low, high, float(rho))
    return None


def _is_orthant(low, high):
    above = (low == 0.0) & (high == np.inf)
    return bool(np.all(above | ((low == -np.inf) & (high == 0.0))))
