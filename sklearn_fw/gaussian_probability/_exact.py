"""Moments and probabilities with a closed form or an integral over one variable."""

import numpy as np
from scipy.optimize import brentq

from .._core import check
from ._engine import EQUAL, interval_masses, kernels


def truncated_normal_moments(lower, upper, mean=0.0, var=1.0):
    """Compute log mass, mean and variance of truncated normals, accurate in the tails.

    Parameters
    ----------
    lower, upper : array-like
        Ends, infinite ones too; lower below upper. All arguments are broadcast.
    mean, var : array-like, default=0.0 and 1.0
        Means and positive variances before the truncation.

    Returns
    -------
    log_prob, mean, var : ndarray
        Log of the mass inside, and mean and variance there.

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
    lower = check.array(lower, "lower", finite=False)
    upper = check.array(upper, "upper", finite=False)
    mean = check.array(mean, "mean")
    var = check.array(var, "var")
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


PANELS = 2  # on each side of the mode, to begin with
HALVINGS, MOST_PANELS = 40, 512
DROP = 60.0  # of the logarithm of the integrand, beyond which nothing counts
NEAR_ONE = 1e-10  # correlations above one less this are left to sampling


def _common_factor(lower, upper, rho):
    """Log probability of a box under variables of correlation rho, and its error.

    ``log of the integral of phi(t) prod_i P(lower_i < sqrt(rho) t + sqrt(1 - rho) e < upper_i)``
    """
    slope, var, bounds = np.sqrt(rho), 1.0 - rho, np.r_[lower, upper]

    def masses_at(t):
        means = slope * np.reshape(t, (-1, 1))
        masses, inner, _ = interval_masses(lower, upper, means, var)
        return masses.sum(axis=1) - 0.5 * np.reshape(t, -1) ** 2, (inner - means).sum(axis=1)

    def log_integrand(t):
        return masses_at(t)[0]

    if slope < 1e-15:  # its share is below rounding
        return float(log_integrand(0.0)[0]), 0.0
    # The integrand is log-concave: its slope has one root, where all intervals pull as one.
    edges = np.r_[0.0, bounds[np.isfinite(bounds)] / slope]
    reach = 1.0 + 40.0 * np.sqrt(var) / slope
    mode = brentq(
        lambda t: slope / var * masses_at(t)[1][0] - t, edges.min() - reach, edges.max() + reach,
        xtol=1e-6 * min(np.sqrt(var) / slope, 1.0), maxiter=1000,
    )  # fmt: skip
    best = log_integrand(mode)[0]
    ends = [_reach(lambda t: log_integrand(t)[0] - best, mode, side) for side in (-12.0, 12.0)]
    edges = np.r_[np.linspace(ends[0], mode, PANELS + 1), np.linspace(mode, ends[1], PANELS + 1)]
    value, gap = _by_panels(log_integrand, np.unique(edges), best)
    value -= 0.5 * np.log(2.0 * np.pi)
    # The last term is the rounding of the correlation.
    return min(value, 0.0), gap + 1e-14 * max(abs(value), 1.0) + 4e-16 / var


def _reach(excess, mode, side):
    """Distance from the mode within ``side`` at which the integrand no longer counts."""
    near, far = 0.0, side
    for _ in range(30):
        middle = 0.5 * (near + far)
        near, far = (middle, far) if excess(mode + middle) > -DROP else (near, middle)
    return mode + far


def _by_panels(log_integrand, edges, best):
    """Logarithm of the integral and its relative error; panels halve where it does not settle."""
    total, gap = 0.0, 0.0
    low, high = edges[:-1], edges[1:]
    whole = _integrals(log_integrand, low, high, best)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = np.r_[low, middle], np.r_[middle, high]
        halves = _integrals(log_integrand, low, high, best).reshape(2, -1)
        gaps = np.abs(halves.sum(axis=0) - whole)
        open_ = gaps > 1e-15 * (total + halves.sum())
        total, gap = total + halves[:, ~open_].sum(), gap + gaps[~open_].sum()
        low, high = (ends.reshape(2, -1)[:, open_].ravel() for ends in (low, high))
        whole = halves[:, open_].ravel()
        if not 0 < len(whole) <= MOST_PANELS:
            break
    gap += gaps[open_].sum()
    total += whole.sum()
    return float(best + np.log(total)), float(gap / total)


def _integrals(log_integrand, low, high, best):
    half = 0.5 * (high - low)
    t = (low + half)[:, None] + half[:, None] * kernels.NODES
    values = np.exp(np.minimum(log_integrand(t.ravel()) - best, DROP)).reshape(t.shape)
    return half * (values @ kernels.WEIGHTS)


def exact_log_probability(G, h, lower, upper):
    """(log probability, error) of a box where one is known; None elsewhere."""
    sd = np.sqrt(np.diag(G))
    low, high = (lower - h) / sd, (upper - h) / sd
    correlation = G / sd / sd[:, None]
    p = len(h)
    masses, _, _ = interval_masses(low, high, 0.0, 1.0)
    pairs = correlation[np.triu_indices(p, 1)]
    if np.all(np.abs(pairs) <= EQUAL):
        return float(masses.sum()), 1e-13 * max(abs(float(masses.sum())), 1.0)
    above, below = (low == 0.0) & (high == np.inf), (low == -np.inf) & (high == 0.0)
    if p == 3 and np.all(above | below):
        sign = np.where(above, 1.0, -1.0)
        angles = np.arcsin(np.clip(pairs * np.outer(sign, sign)[np.triu_indices(3, 1)], -1.0, 1.0))
        prob = 0.125 + float(angles.sum()) / (4.0 * np.pi)
        return (float(np.log(prob)), 1e-15 / prob) if prob > 1e-6 else None
    if p == 2 and pairs[0] < 0.0:
        low, high = np.array([low[0], -high[1]]), np.array([high[0], -low[1]])
        pairs = -pairs
    rho = float(pairs[0])
    is_common = 0.0 < rho < 1.0 - NEAR_ONE and np.all(np.abs(pairs - rho) <= EQUAL)
    return _common_factor(low, high, rho) if is_common else None
