"""Truncated normals in one dimension, expectation propagation over intervals, weighted draws."""

import math

import numpy as np

from .._jit import inner, njit

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)
LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
ROOT_HALF = math.sqrt(0.5)
ROOT_2_OVER_PI = math.sqrt(2.0 / math.pi)
ROOT_PI = math.sqrt(math.pi)
FAR = 4.0  # from here on draws are made in logarithms

# Rational approximation of the normal quantile, relative error 1.2e-9: Acklam (2003).
CENTER_TOP = np.array([
    -3.969683028665376e01, 2.209460984245205e02, -2.759285104469687e02,
    1.383577518672690e02, -3.066479806614716e01, 2.506628277459239e00,
])  # fmt: skip
CENTER_BOTTOM = np.array([
    -5.447609879822406e01, 1.615858368580409e02, -1.556989798598866e02,
    6.680131188771972e01, -1.328068155288572e01, 1.0,
])  # fmt: skip
TAIL_TOP = np.array([
    -7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e00,
    -2.549732539343734e00, 4.374664141464968e00, 2.938163982698783e00,
])  # fmt: skip
TAIL_BOTTOM = np.array([
    7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e00,
    3.754408661907416e00, 1.0,
])  # fmt: skip


@inner
def _erfcx(x):
    """exp(x^2) erfc(x) of x >= 0."""
    if x < 25.0:
        square = x * x
        head = np.float64(np.float32(x))  # the rounding of the square, exactly
        rest = ((head * head - square) + 2.0 * head * (x - head)) + (x - head) * (x - head)
        return math.erfc(x) * math.exp(square) * (1.0 + rest)
    i = 0.5 / (x * x)
    return (1.0 - i * (1.0 - 3.0 * i * (1.0 - 5.0 * i * (1.0 - 7.0 * i)))) / (x * ROOT_PI)


@inner
def _polynomial(coefficients, x):
    total = 0.0
    for c in coefficients:
        total = total * x + c
    return total


@inner
def _quantile(p):
    """Normal quantile of 0 < p < 1."""
    if p < 0.02425:
        q = math.sqrt(-2.0 * math.log(p))
        return _polynomial(TAIL_TOP, q) / _polynomial(TAIL_BOTTOM, q)
    if p > 1.0 - 0.02425:
        q = math.sqrt(-2.0 * math.log1p(-p))
        return -_polynomial(TAIL_TOP, q) / _polynomial(TAIL_BOTTOM, q)
    q = p - 0.5
    r = q * q
    return q * _polynomial(CENTER_TOP, r) / _polynomial(CENTER_BOTTOM, r)


@inner
def _narrow_moments(a, width):
    """Quadrature of exp(-a t - t^2 / 2) over [0, width]: log mass, mean of t, variance."""
    half = 0.5 * width
    best = max(0.0, -a * width - 0.5 * width * width)
    if -width < a < 0.0:
        best = 0.5 * a * a
    mass = first = 0.0
    for k in range(NODES.size):
        t = half * (1.0 + NODES[k])
        density = WEIGHTS[k] * math.exp(-t * (a + 0.5 * t) - best)
        mass += density
        first += density * t
    mean = first / mass
    second = 0.0
    for k in range(NODES.size):
        t = half * (1.0 + NODES[k])
        density = WEIGHTS[k] * math.exp(-t * (a + 0.5 * t) - best)
        second += density * (t - mean) ** 2
    log_z = -0.5 * a * a - LOG_ROOT_2PI + math.log(half) + best + math.log(mass)
    return log_z, mean, second / mass


@inner
def _tail_moments(a):
    """Of a standard normal above a > 0: log mass, mean excess over a, variance."""
    hazard = ROOT_2_OVER_PI / _erfcx(a * ROOT_HALF)
    log_z = -0.5 * a * a - LOG_ROOT_2PI - math.log(hazard)
    if a <= 30.0:
        excess = hazard - a
        return log_z, excess, 1.0 - hazard * excess
    i = 1.0 / (a * a)
    excess = (1.0 - i * (2.0 - i * (10.0 - i * (74.0 - i * (706.0 - 8162.0 * i))))) / a
    var = i * (1.0 - i * (6.0 - i * (50.0 - i * (518.0 - i * (6354.0 - 89782.0 * i)))))
    return log_z, excess, var


@inner
def interval_moments(lower, upper, mean, var):
    """Log mass of N(mean, var) on [lower, upper]; mean and variance of what is inside."""
    sd = math.sqrt(var)
    a, b = (lower - mean) / sd, (upper - mean) / sd
    if a == -np.inf and b == np.inf:
        return 0.0, mean, var
    sign, edge = 1.0, lower
    if a + b < 0.0:
        a, b, sign, edge = -b, -a, -1.0, upper
    width = (upper - lower) / sd
    steepness = width * (a + 0.5 * width) if a >= 0.0 else width * max(-a, b)
    if steepness <= 40.0 or a > 0.0:
        log_z, t, v = _narrow_moments(a, width) if steepness <= 40.0 else _tail_moments(a)
        return log_z, edge + sign * sd * t, var * v
    below, above = 0.5 * math.erfc(-a * ROOT_HALF), 0.5 * math.erfc(b * ROOT_HALF)
    log_z = math.log1p(-below - above)
    mass = math.exp(log_z)
    at_a = math.exp(-0.5 * a * a - LOG_ROOT_2PI) / mass
    at_b = math.exp(-0.5 * b * b - LOG_ROOT_2PI) / mass if b < np.inf else 0.0
    t = at_a - at_b
    v = 1.0 + a * at_a - t * t - (b * at_b if b < np.inf else 0.0)
    return log_z, mean + sign * sd * t, var * v


@njit
def all_interval_moments(lower, upper, mean, var, out):
    """Rows of ``out`` become log mass, mean and variance of intervals of normal variables."""
    for i in range(lower.size):
        out[i, 0], out[i, 1], out[i, 2] = interval_moments(lower[i], upper[i], mean[i], var[i])


@inner
def interval_sweep(cov, mean, lower, upper, fraction, tau, nu, damping):
    """Update each Gaussian site in turn, in place; return the largest change of a marginal.

    A change is measured in standard deviations. NaN: an interval has lost all its mass; -1.0: a
    cavity has no variance left, damping may help.
    """
    p = mean.size
    largest = 0.0
    for i in range(p):
        v, f = cov[i, i], fraction[i]
        if v <= 0.0 or (lower[i] == -np.inf and upper[i] == np.inf):
            continue
        left = 1.0 - tau[i] * v / f
        if left <= 1e-14:
            return -1.0
        cavity_var = v / left
        cavity_mean = (mean[i] - v * nu[i] / f) / left
        log_z, m, s = interval_moments(lower[i], upper[i], cavity_mean, cavity_var)
        if not (s > 0.0 and log_z > -np.inf):
            return np.nan
        new_tau = max(f * (1.0 / s - 1.0 / cavity_var), 0.0)
        new_nu = f * (m / s - cavity_mean / cavity_var)
        d_tau = damping * (new_tau - tau[i])
        d_nu = damping * (new_nu - nu[i])
        tau[i] += d_tau
        nu[i] += d_nu
        step = d_nu - d_tau * mean[i]
        largest = max(largest, abs(d_tau) * v, abs(step) * math.sqrt(v))
        scale = 1.0 / (1.0 + d_tau * v)
        column = cov[i].copy()
        for j in range(p):
            mean[j] += scale * step * column[j]
            by = scale * d_tau * column[j]
            for k in range(p):
                cov[j, k] -= by * column[k]
    return largest


@njit
def propagate_boxes(prior, mean, lower, upper, fraction, tau, nu, damping, tol, max_iter, change):
    """Sweep over each of many boxes under one covariance; return the sweeps of each.

    ``change`` becomes what `interval_sweep` said last.
    """
    n_iter = np.zeros(len(mean), np.int64)
    for r in range(len(mean)):
        cov, center = prior.copy(), mean[r].copy()
        for _ in range(max_iter):
            change[r] = interval_sweep(
                cov, center, lower[r], upper[r], fraction, tau[r], nu[r], damping
            )
            n_iter[r] += 1
            if not change[r] > tol:
                break
    return n_iter


@inner
def _far_draw(a, b, u):
    """Log mass of [a, b] with a >= FAR, and the excess over a of its quantile u."""
    at_a = _erfcx(a * ROOT_HALF)
    log_z = -0.5 * a * a - math.log(2.0 / at_a)
    kept = 1.0
    if b < np.inf:
        width = b - a
        ratio = _erfcx(b * ROOT_HALF) / at_a
        log_rest = -width * (a + 0.5 * width) + math.log(ratio)
        kept = -math.expm1(log_rest)
        log_z += math.log(kept)
    target = math.log1p(-u * kept)
    d = -2.0 * target / (a + math.sqrt(a * a - 2.0 * target))
    for _ in range(3):
        at_d = _erfcx((a + d) * ROOT_HALF)
        gap = -d * (a + 0.5 * d) + math.log(at_d / at_a) - target
        d += gap * at_d / ROOT_2_OVER_PI
    return log_z, min(max(d, 0.0), b - a)


@inner
def _near_draw(a, b, u):
    """The same for a + b >= 0 and a < FAR."""
    width = b - a
    if width * max(-a, b, 1.0) < 1e-3:  # differences of probabilities would cancel
        middle = a + 0.5 * width
        curve = (middle * middle - 1.0) * width * width / 24.0
        log_z = -0.5 * middle * middle - LOG_ROOT_2PI + math.log(width) + curve
        return log_z, width * (u - 0.5 * middle * width * u * (1.0 - u))
    above_a, above_b = 0.5 * math.erfc(a * ROOT_HALF), 0.5 * math.erfc(b * ROOT_HALF)
    if a < 0.0:
        log_z = math.log1p(-0.5 * math.erfc(-a * ROOT_HALF) - above_b)
    else:
        log_z = math.log(above_a - above_b)
    above = above_a - u * (above_a - above_b)
    d = -_quantile(min(max(above, 1e-300), 1.0 - 1e-16)) - a
    return log_z, min(max(d, 0.0), width)


@inner
def _cut_by_combinations(root, pivots, k, m, eps, lower, upper):
    """The bounds of coordinate k that its own and those of its later combinations leave."""
    low, high = lower[k], upper[k]
    for i in range(k + 1, pivots.size):
        if pivots[i] != k:
            continue
        base = 0.0
        for j in range(k):
            base += root[i, j] * eps[j]
        slope = root[i, k] / root[k, k]
        first, second = m + (lower[i] - base) / slope, m + (upper[i] - base) / slope
        if slope < 0.0:
            first, second = second, first
        low, high = max(low, first), min(high, second)
    return low, high


@njit
def weigh_draws(root, pivots, tau, slope, lower, upper, uniforms, log_weights):
    """Draw points of a box one coordinate after another; log weights against the target.

    ``pivots[k]`` is the last coordinate that decides coordinate k when k is a combination of those
    before, else -1: bounds on combinations bind when this one is drawn.

    The target is N times a box. The draw knows later coordinates by Gaussian factors exp(slope x -
    tau x^2 / 2), under which all is normal with mean zero and covariance root root'. Each weight
    is the product over coordinates of the mass of the interval over that of the factor.
    """
    p = slope.size
    eps, combined = np.empty(p), pivots.max() >= 0
    for r in range(len(uniforms)):
        total = 0.0
        for k in range(p):
            m = 0.0
            for j in range(k):
                m += root[k, j] * eps[j]
            v = root[k, k] * root[k, k]
            left = 1.0 - tau[k] * v
            if v <= 0.0 or left <= 0.0:  # a combination of those before
                eps[k] = 0.0
                inside = pivots[k] >= 0 or lower[k] <= m <= upper[k]
                total += (0.5 * tau[k] * m - slope[k]) * m if inside else -np.inf
                continue
            low, high = lower[k], upper[k]
            if combined:
                low, high = _cut_by_combinations(root, pivots, k, m, eps, lower, upper)
                if not low < high:
                    total = -np.inf
                    break
            var = v / left
            mean = (m - v * slope[k]) / left
            sd = math.sqrt(var)
            a, b = (low - mean) / sd, (high - mean) / sd
            log_mass = 0.0
            if a == -np.inf and b == np.inf:
                x = mean + sd * _quantile(min(max(uniforms[r, k], 1e-300), 1.0 - 1e-16))
            else:
                turned = a + b < 0.0
                if turned:
                    a, b = -b, -a
                u = uniforms[r, k]
                log_mass, d = _far_draw(a, b, u) if a >= FAR else _near_draw(a, b, u)
                x = high - sd * d if turned else low + sd * d
            wide = 1.0 + tau[k] * var
            bent = (slope[k] * (mean + 0.5 * slope[k] * var) - 0.5 * tau[k] * mean * mean) / wide
            total += log_mass - bent + 0.5 * math.log(wide)
            eps[k] = (x - m) / root[k, k]
        log_weights[r] = total
