"""Marginals of random fields node by node: belief propagation with edge weights, and mean field.

Numbers of nodes and factors are blocks of any length, one after the other, nodes first; the last
node of a scope turns fastest in its table. Belief propagation is for edges, factors on two nodes:
place ``h = 2 e + s`` is end s of edge e and holds the message into the node there. Messages are
logarithms with maximum 0, and ``-inf`` where a state is impossible.

With edge weights rho, messages m and one normalized table for each node,

    t_i = theta_i + sum_k rho_ki m_ki            (messages into i from all its neighbors)
    t_ij = theta_ij / rho_ij - m_ij - m_ji

the score of every labeling is ``sum_i t_i + sum_ij rho_ij t_ij`` for any messages at all.
"""

from typing import NamedTuple

import numpy as np

from .._jit import inner, njit
from ..common.vectors import maximum


class Layout(NamedTuple):
    """Where the blocks of a field and its messages begin, and who is in which factors."""

    n_states: np.ndarray  # (n_nodes,)
    node_start: np.ndarray  # (n_nodes + 1,)
    factor_start: np.ndarray  # (n_factors + 1,)
    scope_start: np.ndarray  # (n_factors + 1,) the nodes of factor f are scope[scope_start[f]: ...]
    scope: np.ndarray  # nodes
    factor: np.ndarray  # factor of each place in ``scope``
    message_start: np.ndarray  # (scope.size + 1,) of the message into the node at each place
    place_start: np.ndarray  # (n_nodes + 1,)
    place: np.ndarray  # places in ``scope`` of each node


@njit
def log_sum(x):
    at = 0
    for a in range(1, x.size):
        if x[a] > x[at]:
            at = a
    if x[at] == -np.inf:
        return -np.inf
    rest = 0.0
    for a in range(x.size):
        if a != at:
            rest += np.exp(x[a] - x[at])
    return x[at] + np.log1p(rest)


@njit
def gather(layout, theta, rho, messages, i, out):
    """``out = t_i``, not normalized, from the messages into node i."""
    first = layout.node_start[i]
    n = layout.n_states[i]
    for a in range(n):
        out[a] = theta[first + a]
    for p in range(layout.place_start[i], layout.place_start[i + 1]):
        h = layout.place[p]
        weight, start = rho[h // 2], layout.message_start[h]
        for a in range(n):
            out[a] += weight * messages[start + a]


@njit
def propagate(layout, theta, rho, order, damping, old, new, beliefs, slack):
    """Send the messages out of each node in ``order``; False if no state of some node is possible.

    ``theta`` holds ``theta_ij / rho_ij`` for edges. Messages are read from ``old`` and written to
    ``new``, possibly the same array; ``beliefs`` are those of each node at its turn. ``slack[h]``
    is how far message h is from rest: its largest raise of the probability of a state, in nats.
    """
    width = maximum(layout.n_states)
    total, cavity, terms = np.empty(width), np.empty(width), np.empty(width)
    for i in order:
        n, first = layout.n_states[i], layout.node_start[i]
        gather(layout, theta, rho, old, i, total)
        log_mass = log_sum(total[:n])
        if log_mass == -np.inf:
            return False
        for a in range(n):
            beliefs[first + a] = np.exp(total[a] - log_mass)

        for p in range(layout.place_start[i], layout.place_start[i + 1]):
            h = layout.place[p]
            back, out = layout.message_start[h], layout.message_start[h ^ 1]
            j = layout.scope[h ^ 1]
            m = layout.n_states[j]
            by_own, by_other = (m, 1) if h % 2 == 0 else (1, n)
            for a in range(n):
                # An impossible state stays so; the difference would not be a number.
                possible = total[a] > -np.inf
                cavity[a] = total[a] - old[back + a] if possible else -np.inf
            top = largest = -np.inf
            mean = 0.0
            for b in range(m):
                place = layout.factor_start[h // 2] + b * by_other
                for a in range(n):
                    terms[a] = cavity[a] + theta[place + a * by_own]
                message = log_sum(terms[:n])
                if message > -np.inf:
                    change = message - old[out + b]
                    largest = max(largest, change)
                    mean += beliefs[layout.node_start[j] + b] * change
                    message -= damping * change
                new[out + b] = message
                top = max(top, message)
            if top == -np.inf:
                return False
            slack[h ^ 1] = largest - mean
            for b in range(m):
                new[out + b] -= top
    return True


@njit
def conclude(layout, theta, rho, messages, mu):
    """Beliefs ``mu`` of all nodes and edges; (estimate, upper, lower) of log Z.

    The score of a labeling is the mean of ``sum_i t_i + sum_{ij in T} t_ij`` over trees T with
    edge probabilities rho. So log Z is at most the mean of the log Z of these trees. Summed from
    its leaves, an edge of a tree multiplies by ``sum_b exp(t_j(b) + t_ij(a, b))``, which is 1 when
    messages do not change any more, and otherwise between its extremes over a: this gives an upper
    bound for rho in the spanning tree polytope, and a lower one if the graph itself is a tree. The
    estimate is the objective at the beliefs once these agree. All are ``-inf`` if the messages show
    that every labeling is forbidden.
    """
    width = maximum(layout.n_states)
    total, column, table = np.empty(width), np.empty(width), np.empty((width, width))
    logs = np.empty(layout.node_start[-1])
    estimate = 0.0
    for i in range(layout.n_states.size):
        n, first = layout.n_states[i], layout.node_start[i]
        gather(layout, theta, rho, messages, i, total)
        log_mass = log_sum(total[:n])
        if log_mass == -np.inf:
            return -np.inf, -np.inf, -np.inf
        estimate += log_mass
        for a in range(n):
            logs[first + a] = total[a] - log_mass
            mu[first + a] = np.exp(logs[first + a])

    upper = lower = estimate
    for e in range(rho.size):
        i, j = layout.scope[2 * e], layout.scope[2 * e + 1]
        n, m = layout.n_states[i], layout.n_states[j]
        into_i, into_j = layout.message_start[2 * e], layout.message_start[2 * e + 1]
        for a in range(n):
            for b in range(m):
                table[a, b] = -np.inf
                log_a, log_b = logs[layout.node_start[i] + a], logs[layout.node_start[j] + b]
                if log_a > -np.inf and log_b > -np.inf:
                    table[a, b] = theta[layout.factor_start[e] + a * m + b]
                    table[a, b] += log_a - messages[into_i + a] + log_b - messages[into_j + b]
        largest, smallest = -np.inf, np.inf
        for a in range(n):
            log_a = logs[layout.node_start[i] + a]
            total[a] = log_sum(table[a, :m])
            if log_a > -np.inf:
                largest = max(largest, total[a] - log_a)
                smallest = min(smallest, total[a] - log_a)
        log_mass = log_sum(total[:n])
        if log_mass == -np.inf:
            return -np.inf, -np.inf, -np.inf
        for b in range(m):
            log_b = logs[layout.node_start[j] + b]
            if log_b > -np.inf:
                for a in range(n):
                    column[a] = table[a, b]
                factor = log_sum(column[:n]) - log_b
                largest, smallest = max(largest, factor), min(smallest, factor)
        estimate += rho[e] * log_mass
        upper += rho[e] * largest
        lower += rho[e] * smallest
        for a in range(n):
            for b in range(m):
                mu[layout.factor_start[e] + a * m + b] = np.exp(table[a, b] - log_mass)
    return estimate, upper, lower


@njit
def mean_field(layout, theta, order, q):
    """Best distribution of each node in ``order``, given the others; returns the largest change.

    This is the limit of ever lower finite potentials instead of ``-inf``: first the probability
    of what is forbidden is least, then the free energy. Cost: the size of all tables of each node.
    """
    width = maximum(layout.n_states)
    mean, forbidden = np.empty(width), np.empty(width)
    joint, change = np.empty(_largest_table(layout)), 0.0
    for i in order:
        n, begin = layout.n_states[i], layout.node_start[i]
        for a in range(n):
            possible = theta[begin + a] > -np.inf
            mean[a] = theta[begin + a] if possible else 0.0
            forbidden[a] = 0.0 if possible else 1.0
        for p in range(layout.place_start[i], layout.place_start[i + 1]):
            f = layout.factor[layout.place[p]]
            size, inside = _fill_joint(layout, q, f, layout.place[p], joint)
            at = layout.factor_start[f]
            for start in range(0, size, inside):
                for c in range(inside):
                    share = joint[start + c]
                    for a in range(n):
                        t = theta[at + c + a * inside]
                        if share > 0.0 and t > -np.inf:
                            mean[a] += share * t
                        elif share > 0.0:
                            forbidden[a] += share
                at += n * inside
        least = -maximum(-forbidden[:n])
        for a in range(n):
            if forbidden[a] > least:
                mean[a] = -np.inf
        log_mass = log_sum(mean[:n])
        for a in range(n):
            share = np.exp(mean[a] - log_mass)
            change = max(change, abs(share - q[begin + a]))
            q[begin + a] = share
    return change


@inner
def _largest_table(layout):
    most = 1
    for f in range(layout.factor_start.size - 1):
        most = max(most, layout.factor_start[f + 1] - layout.factor_start[f])
    return most


@inner
def _fill_joint(layout, q, f, without, joint):
    """Joint probabilities of all nodes of a factor but the one at a place, in the order of tables.

    Returns their number, and that of the joint states of the nodes behind this place.
    """
    size, inside = 1, 1
    joint[0] = 1.0
    for place in range(layout.scope_start[f], layout.scope_start[f + 1]):
        if place == without:
            inside = 1
            continue
        j = layout.scope[place]
        first, m = layout.node_start[j], layout.n_states[j]
        for c in range(size - 1, -1, -1):
            share = joint[c]
            for b in range(m - 1, -1, -1):
                joint[c * m + b] = share * q[first + b]
        size *= m
        inside *= m
    return size, inside


@njit
def product_bound(layout, theta, q):
    """Mean score plus entropy of independent nodes: log Z from below, for any distributions."""
    positive = (q > 0.0).astype(np.float64)
    joint, reached = np.empty(_largest_table(layout)), np.empty(_largest_table(layout))
    total = 0.0
    for c in range(layout.node_start[-1]):
        if q[c] > 0.0:
            total += q[c] * (theta[c] - np.log(q[c]))
    for f in range(layout.factor_start.size - 1):
        size, _ = _fill_joint(layout, q, f, -1, joint)
        _fill_joint(layout, positive, f, -1, reached)
        for c in range(size):
            score = theta[layout.factor_start[f] + c]
            if reached[c] > 0.0 and score == -np.inf:  # also where the product underflows
                return -np.inf
            if reached[c] > 0.0:
                total += joint[c] * score
    return total
