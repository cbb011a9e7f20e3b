"""Importance sampling about the fixed point of expectation propagation, with an error bar."""

import numpy as np
from scipy.linalg import eigvalsh
from scipy.special import logsumexp
from scipy.stats import qmc

from ._engine import DEPENDENT, independent_root, kernels, log_factors

SHIFTS = 16  # independent copies of the point set, of which the spread is the error
# 99 % of Student's t with SHIFTS - 1 degrees of freedom is 2.95: the rest is for stopping early.
CONFIDENCE = 3.3
UNSEEN = 4.6  # points that a region is expected to hold of which 1 % of all samples see none
BITS = 30  # of the points
TINY, LARGEST = 1e-300, 1.0 - 2.0**-53
PILOT = 16  # points of each copy that choose the draw
FEWEST, MOST = 8, 2**13  # points of each copy
POWERS = (0.0, 0.5, 1.0)  # of the sites that the draw knows
OPEN = 3.0  # standard deviations, from which on an interval counts as open to one side
SHARPEST = 1e4  # precision of a site in that of its prior, in a draw
RAMP = 0.05  # length of each end of a coordinate where points lie closer than in the middle
STRETCHED = 6  # coordinates with such ends, from the first that is drawn
DIGITS = 2e-9  # of the quantiles of draws
TARGET = 1e-7  # error of log Z at which no more points are drawn


def refine(G, lower, upper, sites, *, rng, seconds, n_draws):
    """The log probability of the box, and half the width of a 99 % interval.

    The draw is the normal distribution with the sites of ``sites`` to some power, tilted so that
    its mean stays that of the sites: power 1 is the Gaussian of expectation propagation, power 0
    the exponential tilting of Botev (2017). A pilot run chooses. Sites of open intervals get less
    power: weights would have no variance where the draw has lighter tails than the target.
    """
    limit = _count(len(lower), seconds)
    if n_draws is not None:
        limit = 2 ** int(np.log2(max(n_draws // SHIFTS, 1)))
    cloud = _Cloud(G, lower - sites.mean, upper - sites.mean, sites, rng)
    # Of few points the estimate has the most.
    pilot = 2 ** int(np.log2(min(PILOT, limit, max(limit // 4, 4))))
    draws = [cloud.draw_of(power) for power in POWERS]
    pilots = [cloud.log_weights(draw, 0, pilot) for draw in draws]
    best = int(np.argmin([_relative_spread(logs) for logs in pilots]))
    draw, logs = draws[best], pilots[best]
    n = min(4 * pilot, limit)
    while True:
        logs = np.concatenate([logs, cloud.log_weights(draw, logs.shape[2], n)], axis=2)
        log_prob, error = _estimate(*logs)
        if n >= limit or error < TARGET:
            return log_prob, error
        n = min(2 * n, limit)


def _count(p, seconds):
    setup, each = 4e-9 * p**3, 0.2e-6 * p + 0.5e-9 * p * p
    n = (seconds - setup) / each / SHIFTS
    # Two pilots of three are lost.
    n = min(max(n - (len(POWERS) - 1) * PILOT, n / 1.5, FEWEST), MOST)
    power = 2 ** int(np.log2(n))
    return power + power // 2 if n >= 1.5 * power else power


class _Cloud:
    """Draws for one box, in coordinates about the mean of its sites."""

    def __init__(self, G, lower, upper, sites, rng):
        self.G, self.lower, self.upper, self.sites = G, lower, upper, sites
        # Bounds that hold the most first: their coordinates leave least to be guessed.
        bounded = np.isfinite(lower) | np.isfinite(upper)
        self.order = np.lexsort((sites.log_masses, ~bounded))
        self.shifts = rng.integers(2**BITS, size=(SHIFTS, len(lower)))
        self.points = qmc.Sobol(len(lower), scramble=True, bits=BITS, seed=int(rng.integers(2**31)))
        self.numbers = np.empty((0, len(lower)), np.int64)
        self.safe_tau = _safe_precisions(G, lower, upper, sites.tau)

    def draw_of(self, power):
        """Root of the covariance, its pivots, site precisions and constant."""
        tau = power * self.safe_tau
        half = np.sqrt(tau)
        inner = np.eye(len(tau)) + half[:, None] * self.G * half
        root = np.linalg.cholesky(inner)
        solved = np.linalg.solve(root, half[:, None] * self.G)
        cov = self.G - solved.T @ solved
        constant = log_factors(self.G, self.sites.weights, np.sum(np.log(np.diag(root))))
        order = self.order
        root = _semidefinite_root(cov[np.ix_(order, order)])
        return root, _pivots(root), tau[order], constant

    def log_weights(self, draw, start, n):
        """Of the points from ``start`` to n, and their shares: (2, SHIFTS, n - start)."""
        root, pivots, tau, constant = draw
        order = self.order
        logs, shares = np.empty((2, SHIFTS, n - start))
        for s in range(SHIFTS):
            uniforms, shares[s] = _stretched(self._points(s, start, n))
            kernels.weigh_draws(
                root, pivots, tau, self.sites.weights[order], self.lower[order],
                self.upper[order], uniforms, logs[s],
            )  # fmt: skip
        return np.stack([logs + constant, shares])

    def _points(self, s, start, n):
        """Points from ``start`` to n of copy ``s``, shifted in their binary digits."""
        missing = n - len(self.numbers)
        if missing > 0:
            new = (self.points.random(missing) * 2.0**BITS).astype(np.int64)
            self.numbers = np.vstack([self.numbers, new])
        return ((self.numbers[start:n] ^ self.shifts[s]) + 0.5) / 2.0**BITS


def _stretched(points):
    """Uniform numbers from ``points``, closer to each other near 0 and 1, and log weights.

    A bound may bind where a millionth of the draws is: with that many points it shows in the
    spread of the copies, as the tails of the first coordinates shrink with the cubed distance.
    """
    v = points[:, : min(STRETCHED, points.shape[1] - 1)]  # weights do not depend on the last
    end = np.minimum(v, 1.0 - v)
    x = np.minimum(end / RAMP, 1.0)
    end = (end - RAMP * x + RAMP * x**3 * (1.0 - 0.5 * x)) / (1.0 - RAMP)
    logs = np.sum(np.log(x * x * (3.0 - 2.0 * x) / (1.0 - RAMP)), axis=1)
    points[:, : v.shape[1]] = np.where(
        v < 0.5, np.maximum(end, TINY), np.minimum(1.0 - end, LARGEST)
    )
    return points, logs


def _safe_precisions(G, lower, upper, tau):
    """Site precisions under which the weights have a variance, far along open intervals too."""
    far = ~(upper - lower < OPEN * np.sqrt(np.diag(G)))
    # 1 - tau var of a draw loses as many digits as the square of this has.
    tau = np.minimum(tau, SHARPEST / np.diag(G))
    if np.any(far):
        half = np.sqrt(tau[far])
        inner = half[:, None] * G[np.ix_(far, far)] * half
        last = len(inner) - 1
        largest = float(eigvalsh(inner, subset_by_index=(last, last))[0])
        tau[far] *= min(1.0, 0.5 / max(largest, 0.5))
    return tau


def _semidefinite_root(cov):
    """Lower triangular L with L L' = cov, with columns of zeros where cov has no rank left."""
    root = independent_root(cov)
    if root is not None:
        return root
    p = len(cov)
    root = np.zeros((p, p))
    for k in range(p):
        rest = cov[k, k] - root[k, :k] @ root[k, :k]
        if rest > DEPENDENT * cov[k, k]:
            root[k, k] = np.sqrt(rest)
            root[k + 1 :, k] = (cov[k + 1 :, k] - root[k + 1 :, :k] @ root[k, :k]) / root[k, k]
    return root


def _pivots(root):
    """For rows without a column of their own the last that decides them, -1 for others."""
    length = np.sqrt(np.sum(root**2, axis=1))
    decides = np.abs(root) > 1e-6 * length[:, None]
    last = np.where(decides.any(axis=1), len(root) - 1 - np.argmax(decides[:, ::-1], axis=1), -1)
    return np.where(np.diag(root) > 0.0, -1, last)


def _relative_spread(logs):
    top = np.max(logs)
    if not np.isfinite(top):
        return np.inf
    weights = np.exp(logs - top)
    return float(weights.std() / weights.mean())


def _estimate(logs, shares):
    # Shares have mean one: as a divisor their error cancels that of the numerator.
    means = logsumexp(logs + shares, axis=1) - logsumexp(shares, axis=1)
    log_prob = float(logsumexp(means) - np.log(SHIFTS))
    if log_prob == -np.inf:
        return -np.inf, np.inf
    relative = float(np.exp(means - log_prob).std(ddof=1) / np.sqrt(SHIFTS))
    error = CONFIDENCE * relative
    # On the scale of logarithms the interval is wider below; rounding remains in any case.
    error = -np.log1p(-error) if error < 0.9 else np.inf
    error += RAMP / (1.0 - RAMP) * min(UNSEEN / RAMP / logs.size, 1.0) ** 3  # of a tail not met
    return log_prob, float(error + 1e-11 * max(abs(log_prob), 1.0) + DIGITS)
