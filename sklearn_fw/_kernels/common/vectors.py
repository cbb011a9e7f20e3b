"""Short vectors without allocation: inner products, exponentials, smoothed maxima.

Exponentials are computed in loops that the compiler turns into vector instructions, three times as
fast as one call of the library per number: ``exp(x) = 2^n exp(r)`` with ``n`` the integer nearest
to ``x / log 2`` and ``|r| <= log(2) / 2``, where a Taylor polynomial of degree 13 is exact to two
units in the last place.
"""

import numpy as np

from .._jit import any_order, inner, njit

FLOOR = -700.0  # exponentials of what is below it are zero
FAINT = -200.0  # of three numbers above it the product is no less than e^FLOOR
LOG2_E = 1.4426950408889634
LOG_2_HIGH, LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUND = 6755399441055744.0  # 1.5 * 2^52: a sum with it has an integer in its last bits


@any_order
def dot(a, b):
    """Inner product."""
    total = 0.0
    for c in range(a.size):
        total += a[c] * b[c]
    return total


@inner
def assign(target, source):
    """``target[: len(source)] = source`` for arrays with one axis.

    For a slice numba compiles its message about unequal shapes as well, 3 s in each new process.
    """
    for i in range(len(source)):
        target[i] = source[i]


@inner
def maximum(numbers):
    """Maximum; that of numpy takes numba half a second."""
    high = numbers[0]
    for number in numbers:
        high = max(high, number)
    return high


@inner
def normalize(numbers):
    """Divide by the sum; loops for the reason of `assign`."""
    total = numbers.sum()
    for i in range(len(numbers)):
        numbers[i] /= total


@njit
def smoothed_max(values, mu, weights):
    """Smoothed maximum of descending ``values`` with at least one; ``weights`` receives the rest.

    The first value is finite, later ones may be -inf. With ``mu`` 0 the first one has all weight.
    Cost: what has weight.
    """
    n, top = values.size, values[0]
    if mu == 0.0:
        weights[:n] = 0.0
        weights[0] = 1.0
        return top
    # All relative to the first one: at a small mu, sums of large values would swallow it.
    total, support = 0.0, 1
    while support < n and total - support * (values[support] - top) < mu:
        total += values[support] - top
        support += 1
    mean, square, product = total / support, 0.0, 0.0
    for i in range(support):
        weights[i] = max(1.0 / support + (values[i] - top - mean) / mu, 0.0)
        square += weights[i] * weights[i]
        product += weights[i] * (values[i] - top)
    for i in range(support, n):
        weights[i] = 0.0
    return top + (product + 0.5 * mu * (1.0 - square))


@inner
def exponentials(numbers):
    """Replace numbers, at most 0, by their exponentials; returns what is faint.

    That is the smallest of ``-number`` among numbers below ``FAINT``, inf where there are none but
    -inf. The array is contiguous and has one axis.
    """
    bits = numbers.view(np.int64)
    faint = np.inf
    for i in range(numbers.size):
        x = numbers[i]
        faint = min(faint, -x if x < FAINT else np.inf)
    for i in range(numbers.size):
        low = numbers[i] < FLOOR
        x = max(numbers[i], FLOOR)
        rounded = x * LOG2_E + ROUND
        n = rounded - ROUND
        r = (x - n * LOG_2_HIGH) - n * LOG_2_LOW
        p = (1.0 / 6227020800.0 * r + 1.0 / 479001600.0) * r + 1.0 / 39916800.0
        p = ((p * r + 1.0 / 3628800.0) * r + 1.0 / 362880.0) * r + 1.0 / 40320.0
        p = ((p * r + 1.0 / 5040.0) * r + 1.0 / 720.0) * r + 1.0 / 120.0
        p = (((p * r + 1.0 / 24.0) * r + 1.0 / 6.0) * r + 0.5) * r + 1.0
        p = p * r + 1.0
        numbers[i] = rounded
        exponent = bits[i] << 52
        numbers[i] = 0.0 if low else p
        bits[i] += 0 if low else exponent
    return faint
