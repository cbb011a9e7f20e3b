"""A pass of subgradient steps on rows, with the running average of all iterates.

The iterate is ``w = a v`` and its average ``wbar = b u + c v``, so that a step costs what its row
has entries: shrinking changes a, the row changes v, and u takes back what v gave to the average.
``state`` holds a, b, c and |v|^2. The last place of v and u belongs to a constant feature.
"""

import math

import numpy as np

from .._jit import inner, njit
from ..common.losses import derivative
from ..common.rows import column, entry, extent, fetch_ahead
from .incremental import weight_of

A, B, C, SQUARE = 0, 1, 2, 3  # places in the state

# Below this a factor is multiplied out, long before it underflows.
SMALL = 1e-100
# This many times the factor a, c leaves as many digits fewer to the average, a difference then.
FAR = 1e4


@inner
def fold(state, v, u, shrink):
    """Multiply all factors out, that of the iterate with ``shrink`` besides."""
    a, b, c = state[A], state[B], state[C]
    square = 0.0
    for j in range(v.size):
        # Where b is zero u is not in use.
        u[j] = c * v[j] if b == 0.0 else b * u[j] + c * v[j]
        v[j] *= a * shrink
        square += v[j] * v[j]
    state[A], state[B], state[C], state[SQUARE] = 1.0, 1.0, 0.0, square


@njit
def averaged_pass(rows, target, order, shares, rates, mu, bias, radius, state, v, u):
    """Step on each row of ``order`` for ``mu / 2 |w|^2 + loss``.

    ``shares`` (n_steps,) are step sizes in units of 1 / mu, at most one, ``rates`` (n_steps,) the
    share of the new iterate in the average, ``bias`` the value of the constant feature, zero for
    none, and ``radius`` that of the ball that w, with the constant feature, is projected on,
    infinite for none. ``state``, ``v`` and ``u`` change in place.
    """
    last = v.size - 1
    bounded = radius < np.inf
    for t in range(order.size):
        fetch_ahead(rows, order, t, target.y, target.y)
        i, share, rho = order[t], shares[t], rates[t]
        start, stop, shift = extent(rows, i)
        product, norm = bias * v[last], bias * bias
        for k in range(start, stop):
            j = column(rows.indices, k - shift)
            x = entry(rows.data, k, rows.center, j)
            product += x * v[j]
            if bounded:
                norm += x * x
        slope = derivative(target.loss, target.y[i], state[A] * product)
        slope *= weight_of(target.weight, i)

        shrink = 1.0 - share
        a, b, c = state[A] * shrink, (1.0 - rho) * state[B], (1.0 - rho) * state[C]
        # Where b is zero the average is a multiple of the iterate, until the next share below one.
        if a < SMALL or c > FAR * a or (rho < 1.0 and b < SMALL):
            fold(state, v, u, shrink)
            shrink = 1.0
            product = bias * v[last]
            for k in range(start, stop):
                j = column(rows.indices, k - shift)
                product += entry(rows.data, k, rows.center, j) * v[j]
        a = state[A] * shrink
        b, c = (1.0 - rho) * state[B], (1.0 - rho) * state[C]
        added = -slope * share / (mu * a)
        if added != 0.0:
            taken = c * added / b if b > 0.0 else 0.0
            v[last] += added * bias
            u[last] -= taken * bias
            for k in range(start, stop):
                j = column(rows.indices, k - shift)
                x = entry(rows.data, k, rows.center, j)
                v[j] += added * x
                u[j] -= taken * x
        if bounded:
            state[SQUARE] = max(0.0, state[SQUARE] + added * (2.0 * product + added * norm))
            if a * a * state[SQUARE] > radius * radius:
                a = radius / math.sqrt(state[SQUARE])
        state[A], state[B], state[C] = a, b, c + rho * a
