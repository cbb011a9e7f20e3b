"""Random orders of rows, reproducible on every platform (numba's own state is one per thread)."""

import numpy as np

from .._jit import inner, njit


@inner
def next_below(state, n):
    """Uniform integer in [0, n) by SplitMix64; ``state`` is one uint64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    # 53 bits as a fraction: the bias for n rows is n / 2^53.
    return np.int64(np.float64(x >> np.uint64(11)) * 2.0**-53 * n)


@njit
def shuffle(order, state):
    """Permute ``order`` in place."""
    for last in range(order.size - 1, 0, -1):
        other = next_below(state, last + 1)
        order[last], order[other] = order[other], order[last]


@njit
def draw(population, order, state):
    """Fill ``order`` with independent draws from ``population``."""
    for t in range(order.size):
        order[t] = population[next_below(state, population.size)]
