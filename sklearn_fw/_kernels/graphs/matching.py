"""Projections onto the matching polytope, by Newton's method on its dual.

A fractional matching z (J, K) has entries >= 0 and row and column sums at most one (``perfect``:
exactly one). With one dual for each row and column, u (J,) and v (K,), that are >= 0 (``perfect``:
of any sign), the nearest point to p is

    z = max(p - u_j - v_k, 0)       Euclidean,
    z = exp(p - u_j - v_k)          ``entropic``: in relative entropy, to exp(p).

Rows are always exact: u is the best one for the present v. That leaves a convex function of v
with gradient 1 - (column sums), whose Hessian is the Laplacian of a graph with the columns as
nodes: two columns are joined through every row that both have a share of, and a column is joined to
the ground through rows whose sum is free. Mass that leaves one column then enters others.
"""

import math

import numpy as np

from .._jit import inner, njit
from ..common.prox import project_simplex
from ..common.vectors import dot, maximum

TINY = 1e-300  # less would overflow as a divisor


@njit
def pair_scores(features, w, scores):
    """``features @ w`` on one thread: BLAS takes several, which cost more than they save."""
    for row in range(scores.size):
        scores[row] = dot(features[row], w)


@inner
def _fit_line(line, perfect, entropic, heap):
    """Replace p minus the other side's duals by z on one line; returns the line's own dual."""
    n, largest, total = line.size, maximum(line), 0.0
    if entropic:
        for i in range(n):
            line[i] = math.exp(line[i] - largest)
            total += line[i]
        dual = largest + math.log(total)
        full = perfect or dual > 0.0
        factor = 1.0 / total if full else math.exp(largest)
        for i in range(n):
            line[i] *= factor
        return dual if full else 0.0
    for i in range(n):
        total += max(line[i], 0.0)
    if not perfect and total <= 1.0:
        for i in range(n):
            line[i] = max(line[i], 0.0)
        return 0.0
    project_simplex(line, 1.0, heap)
    return largest - maximum(line)


@inner
def _fit_rows(p, v, perfect, entropic, u, z, column_sums, heap):
    """z and u for given v, and the column sums; returns the dual objective, to be minimized."""
    J, K = p.shape
    value = 0.0
    for k in range(K):
        value += v[k]
        column_sums[k] = 0.0
    for j in range(J):
        for k in range(K):
            z[j, k] = p[j, k] - v[k]
        u[j] = _fit_line(z[j], perfect, entropic, heap)
        value += u[j]
        for k in range(K):
            column_sums[k] += z[j, k]
            value += z[j, k] if entropic else 0.5 * z[j, k] * z[j, k]
    return value


@inner
def _fit_columns(p, u, perfect, entropic, v, line, heap):
    J, K = p.shape
    for k in range(K):
        for j in range(J):
            line[j] = p[j, k] - u[j]
        v[k] = _fit_line(line, perfect, entropic, heap)


@inner
def _violation(column_sums, v, perfect):
    """By how much columns miss their sums, or fall short of one although their dual is positive."""
    total = 0.0
    for k in range(v.size):
        excess = column_sums[k] - 1.0
        total += abs(excess) if perfect or v[k] > 0.0 else max(excess, 0.0)
    return total


@inner
def _eliminate(joint, ground, push, drag, noise, n):
    """Gaussian elimination on the Laplacian of a graph, last node first.

    Conductances to other nodes (lower triangle of ``joint``) and to the ground only grow here, so
    nothing cancels. ``push`` is the right-hand side but for ``drag``, the part of columns whose
    step is fixed, and ``noise`` the rounding in it. The diagonal receives the degrees.
    """
    for a in range(n - 1, -1, -1):
        degree = ground[a]
        for b in range(a):
            degree += joint[a, b]
        joint[a, a] = degree
        if degree == 0.0:
            continue
        for b in range(a):
            part = joint[a, b] / degree
            if part > 0.0:
                ground[b] += part * ground[a]
                push[b] += part * push[a]
                drag[b] += part * drag[a]
                noise[b] += part * noise[a]
                for c in range(b):
                    joint[b, c] += part * joint[a, c]


@inner
def _newton_direction(z, u, v, column_sums, perfect, entropic, joint, scratch, lists, d):
    """Newton direction d of v; where it would make a dual negative, that one becomes zero.

    ``joint`` (K, K), ``scratch`` (5, K) and ``lists`` (3, K) are overwritten.
    """
    J, K = z.shape
    nodes, place, touched = lists[0], lists[1], lists[2]
    ground, push, noise, share, drag = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    largest = 1.0  # duals are moved by this much where nothing holds them
    for j in range(J):
        largest = max(largest, abs(u[j]))
    for k in range(K):
        largest = max(largest, abs(v[k]))
        d[k] = 0.0
        place[k] = 0 if perfect or v[k] > 0.0 or column_sums[k] > 1.0 else -1
    while True:
        n = 0
        for k in range(K):
            if place[k] >= 0:
                nodes[n], place[k] = k, n
                ground[n], push[n], noise[n] = 0.0, column_sums[k] - 1.0, 4e-16 * J
                drag[n] = 0.0
                for b in range(n):
                    joint[n, b] = 0.0
                n += 1
        for j in range(J):
            total, held, moved, m = 0.0, 0.0, 0.0, 0
            for k in range(K):
                if z[j, k] > 0.0:
                    weight = z[j, k] if entropic else 1.0
                    total += weight
                    if place[k] >= 0:
                        touched[m], share[m] = place[k], weight
                        m += 1
                    else:
                        held += weight
                        moved += weight * d[k]
            full = perfect or u[j] > 0.0
            for i in range(m):
                a = touched[i]
                if not full:
                    ground[a] += share[i]
                    continue
                part = share[i] / total
                ground[a] += part * held
                drag[a] += part * moved
                for h in range(i):
                    joint[a, touched[h]] += part * share[h]
        _eliminate(joint, ground, push, drag, noise, n)
        first, reach = -1, 1.0  # the dual that becomes zero first on the way, and the share of it
        for a in range(n):
            k, degree = nodes[a], joint[a, a]
            own = push[a] if abs(push[a]) > noise[a] else 0.0
            if degree > TINY:
                step = own / degree
                if entropic:  # exact where a group of columns gives to one fixed place
                    step = math.copysign(math.log1p(abs(step)), step)
                step += drag[a] / degree
                for b in range(a):
                    step += joint[a, b] / degree * d[nodes[b]]
            else:
                step = math.copysign(largest, own) if own != 0.0 else 0.0
            d[k] = step
            if not perfect and v[k] + reach * step < 0.0:
                first, reach = k, -v[k] / step
        if first < 0:
            return
        d[first] = -v[first]
        place[first] = -1


@inner
def _slope(d, column_sums):
    """Derivative of the dual objective along d."""
    total = 0.0
    for k in range(d.size):
        total += d[k] * (1.0 - column_sums[k])
    return total


@njit
def project(p, v, perfect, entropic, tol, max_iter):
    """Project p from a first guess of v, which is overwritten.

    Returns (z, u, v, number of steps, violation of the columns); the loop ends when the latter is
    at most ``tol``. Each step is one of Newton, shortened as far as the objective demands, and one
    exact minimization over v for fixed u, which alone would converge too, but slowly. Cost of a
    step: J K^2 + K^3 / 3, so columns should be the shorter side.
    """
    J, K = p.shape
    heap = np.empty(max(J, K))
    z, u, u_next, line = np.empty((J, K)), np.empty(J), np.empty(J), np.empty(J)
    column_sums, v_next, d = np.empty(K), np.empty(K), np.empty(K)
    joint, scratch, lists = np.empty((K, K)), np.empty((5, K)), np.empty((3, K), np.int64)
    n_iter = 0
    while True:
        value = _fit_rows(p, v, perfect, entropic, u, z, column_sums, heap)
        violation = _violation(column_sums, v, perfect)
        if violation <= tol or n_iter == max_iter:
            return z, u, v, n_iter, violation
        n_iter += 1
        _newton_direction(z, u, v, column_sums, perfect, entropic, joint, scratch, lists, d)
        slope, bar = _slope(d, column_sums), value + 1e-12 * abs(value)  # the latter for rounding
        length = 1.0
        for _ in range(12):
            for k in range(K):
                v_next[k] = v[k] + length * d[k]
                if not perfect:
                    v_next[k] = max(v_next[k], 0.0)
            value = _fit_rows(p, v_next, perfect, entropic, u_next, z, column_sums, heap)
            # Slopes suffer less from rounding, when values are large, than the values themselves.
            if value <= bar and _slope(d, column_sums) <= -0.1 * slope:
                u, u_next = u_next, u
                v, v_next = v_next, v
                break
            length *= 0.25
        _fit_columns(p, u, perfect, entropic, v, line, heap)
