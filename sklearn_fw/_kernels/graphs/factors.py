"""Mean field on factor graphs: tables on any number of nodes.

Numbers are blocks as in `belief_propagation.py`, with one for each factor instead of each edge;
the last node of a scope turns fastest in its table.
"""

from typing import NamedTuple

import numpy as np

from .._jit import inner, njit
from .belief_propagation import settle


class FactorLayout(NamedTuple):
    """Where the blocks of a factor graph begin, and who is in which factors."""

    n_states: np.ndarray  # (n_nodes,)
    node_start: np.ndarray  # (n_nodes + 1,)
    factor_start: np.ndarray  # (n_factors + 1,)
    scope_start: np.ndarray  # (n_factors + 1,) the nodes of factor f are scope[scope_start[f]: ...]
    scope: np.ndarray  # nodes
    factor: np.ndarray  # factor of each place in ``scope``
    place_start: np.ndarray  # (n_nodes + 1,)
    place: np.ndarray  # places in ``scope`` of each node


@inner
def _next(turn, layout, first):
    """The next joint state of a scope that begins at ``first``."""
    for axis in range(turn.size - 1, -1, -1):
        turn[axis] += 1
        if turn[axis] < layout.n_states[layout.scope[first + axis]]:
            return
        turn[axis] = 0


@njit
def mean_field(layout, theta, order, q):
    """As `belief_propagation.mean_field`; cost: arity times the size of all tables, for each node.

    Best distribution of each node in ``order``, given the others; returns the largest change.
    """
    width = layout.n_states.max()
    mean, forbidden = np.empty(width), np.empty(width)
    states = np.zeros(layout.scope.size + 1, np.int64)
    change = 0.0
    for i in order:
        n, begin = layout.n_states[i], layout.node_start[i]
        for a in range(n):
            possible = theta[begin + a] > -np.inf
            mean[a] = theta[begin + a] if possible else 0.0
            forbidden[a] = 0.0 if possible else 1.0
        for p in range(layout.place_start[i], layout.place_start[i + 1]):
            f = layout.factor[layout.place[p]]
            first = layout.scope_start[f]
            turn = states[: layout.scope_start[f + 1] - first]
            axis = layout.place[p] - first
            turn[:] = 0
            for c in range(layout.factor_start[f], layout.factor_start[f + 1]):
                share = 1.0
                for b in range(turn.size):
                    if b != axis:
                        share *= q[layout.node_start[layout.scope[first + b]] + turn[b]]
                if share > 0.0:
                    if theta[c] > -np.inf:
                        mean[turn[axis]] += share * theta[c]
                    else:
                        forbidden[turn[axis]] += share
                _next(turn, layout, first)
        change = max(change, settle(mean[:n], forbidden[:n], q[begin : begin + n]))
    return change


@njit
def product_bound(layout, theta, q):
    """Mean score plus entropy of independent nodes: log Z from below, for any distributions."""
    states = np.zeros(layout.scope.size + 1, np.int64)
    total = 0.0
    for c in range(layout.node_start[-1]):
        if q[c] > 0.0:
            total += q[c] * (theta[c] - np.log(q[c]))
    for f in range(layout.factor_start.size - 1):
        first = layout.scope_start[f]
        turn = states[: layout.scope_start[f + 1] - first]
        turn[:] = 0
        for c in range(layout.factor_start[f], layout.factor_start[f + 1]):
            share, positive = 1.0, True
            for b in range(turn.size):
                other = q[layout.node_start[layout.scope[first + b]] + turn[b]]
                share *= other
                positive = positive and other > 0.0
            if positive and theta[c] == -np.inf:  # also where the product underflows
                return -np.inf
            if positive:
                total += share * theta[c]
            _next(turn, layout, first)
    return total
