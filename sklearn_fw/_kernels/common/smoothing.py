"""The maximum of a few values, smoothed by squares, and its weights, without allocation.

``max_u <u, values> - mu (|u|^2 - 1) / 2`` over the simplex: Pillutla, Roulet, Kakade and Harchaoui,
NeurIPS 2018, Proposition 3.
"""

from .._jit import inner, njit


@inner
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


@njit
def smoothed_max_of(values, mu, weights):
    """`smoothed_max` for callers in Python."""
    return smoothed_max(values, mu, weights)
