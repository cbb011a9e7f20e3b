"""Proximal operators of one coordinate and of one group, without allocation.

``prox_{step h}(u) = argmin_x step h(x) + ||x - u||^2 / 2``.
"""

import math

import numpy as np

from .._jit import inner, njit

GROUP = 1  # weight * lg ||x|| + l1 ||x||_1 + l2/2 ||x||^2; params = (l1, l2, lg)
L2_BALL = 2  # ||x|| <= radius; params = (radius,)
SIMPLEX = 3  # x >= 0 and sum(x) = radius; params = (radius,)
PYTHON = 4  # a user's penalty: not computed here, its Python method is


@inner
def prox_elastic_net(u, step, l1, l2):
    """Prox of l1 |x| + l2/2 x^2."""
    threshold = step * l1
    return (max(u - threshold, 0.0) - max(-u - threshold, 0.0)) / (1.0 + step * l2)


@inner
def prox_separable(u, step, l1, l2, lower, upper):
    """Prox of l1 |x| + l2/2 x^2 on [lower, upper]."""
    return min(max(prox_elastic_net(u, step, l1, l2), lower), upper)


@inner
def prox_group(code, step, weight, params, u, work):
    """Replace the values u of a group by their prox.

    ``weight`` is its weight (negative: not penalized, whatever the code), and ``work`` scratch
    memory at least as long as u.
    """
    if weight < 0.0:
        return
    if code == GROUP:
        _prox_sparse_group(u, step * params[0], step * params[2] * weight, step * params[1])
    elif code == L2_BALL:
        norm = _norm(u)
        if norm > params[0]:
            _scale(u, params[0] / norm)
    elif code == SIMPLEX:
        project_simplex(u, params[0], work)


@njit
def prox_groups(code, params, weights, start, members, steps, x):
    """`prox_group` of every group of the rows of x (n_features, n_outputs), in place."""
    n_outputs = x.shape[1]
    u, work = np.empty(x.size), np.empty(x.size)
    for group in range(weights.size):
        first, size = start[group], (start[group + 1] - start[group]) * n_outputs
        for q in range(size):
            u[q] = x[members[first + q // n_outputs], q % n_outputs]
        prox_group(code, steps[group], weights[group], params, u[:size], work)
        for q in range(size):
            x[members[first + q // n_outputs], q % n_outputs] = u[q]


@inner
def _prox_sparse_group(u, l1, lg, l2):
    for i in range(u.size):
        u[i] = max(u[i] - l1, 0.0) - max(-u[i] - l1, 0.0)
    norm = _norm(u)
    # Also where both are zero, which would divide by zero.
    _scale(u, 0.0 if norm <= lg else (1.0 - lg / norm) / (1.0 + l2))


@inner
def _norm(u):
    total = 0.0
    for i in range(u.size):
        total += u[i] * u[i]
    return math.sqrt(total)


@inner
def _scale(u, factor):
    for i in range(u.size):
        u[i] *= factor


@inner
def project_simplex(u, radius, heap):
    """Subtract the threshold that leaves a positive part of sum ``radius``.

    The largest values are taken from a heap one by one, so only the support is ever sorted.
    """
    n = u.size
    largest = u[0]
    for i in range(1, n):
        largest = max(largest, u[i])
    for i in range(n):
        u[i] -= largest  # sums of large values would swallow the radius
        heap[i] = u[i]
    for i in range(n // 2 - 1, -1, -1):
        _sift_down(heap, i, n)
    total = heap[0] - radius
    threshold = total
    for k in range(1, n):
        heap[0] = heap[n - k]
        _sift_down(heap, 0, n - k)
        if heap[0] <= threshold:
            break
        total += heap[0]
        threshold = total / (k + 1)
    for i in range(n):
        u[i] = max(u[i] - threshold, 0.0)


@inner
def _sift_down(heap, i, n):
    """Move entry i of a max-heap of n entries down to its place."""
    item = heap[i]
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= item:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = item
