"""The smoothed maximum of a few values and its weights, without allocation.

``max_u <u, values> - mu omega(u)`` over the simplex, with ``omega(u) = (|u|^2 - 1) / 2`` (`L2`) or
``sum u log u`` (`ENTROPY`): Pillutla, Roulet, Kakade and Harchaoui, NeurIPS 2018, Proposition 3.
"""

import numpy as np

from .._jit import inner, njit

L2 = 0
ENTROPY = 1


@inner
def smoothed_max(values, mu, smoother, weights):
    """Smoothed maximum of descending ``values`` with at least one; ``weights`` receives the rest.

    The first value is finite, later ones may be -inf. With ``mu`` 0 the first one has all weight.
    Cost: what has weight under `L2`, else an exponential per value.
    """
    n, top = values.size, values[0]
    if mu == 0.0:
        weights[:n] = 0.0
        weights[0] = 1.0
        return top
    if smoother == ENTROPY:
        total = 0.0
        for i in range(n):
            weights[i] = np.exp((values[i] - top) / mu)
            total += weights[i]
        for i in range(n):
            weights[i] /= total
        return top + mu * np.log(total)
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


@njit
def smoothed_max_rows(rows, mu, smoother, values, weights):
    """`smoothed_max` of each row of descending numbers, into ``values`` and ``weights``."""
    for i in range(rows.shape[0]):
        values[i] = smoothed_max(rows[i], mu, smoother, weights[i])
