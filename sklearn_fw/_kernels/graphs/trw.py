"""Tree-reweighted free energy: gradient, exact line search and correction steps of Frank-Wolfe.

A point ``mu`` holds all node marginals and then all edge marginals, blocks of any length one after
the other. The objective, maximized over a polytope of such points, is

    <theta, mu> - sum_c entropy_c sum_x mu_c(x) log mu_c(x)

Atoms are sparse points: row a of ``start, place`` says where an atom is not zero, and ``share``,
from ``share_start[a]`` on, what it is there. A labeling has one place for every variable and edge,
where it is one, and no shares; atom 0 is the uniform point ``uniform``. With contraction ``delta``
atom v stands for ``(1 - delta) v + delta uniform``.
"""

from typing import NamedTuple

import numpy as np

from .._jit import njit
from ..common.compiled_rules import considers, move_mass, slope_and_limit
from ..common.step_rules import AWAY, FW, PAIRWISE

TINY = 1e-300
SCAN_EVERY = 5  # steps of a correction; rarer ones cost oracle calls
SLOPE = 1e-4  # of the first slope that a line search leaves: 5 evaluations instead of 7


class Energy(NamedTuple):
    theta: np.ndarray  # (size,)
    entropy: np.ndarray  # (size,) weight of mu log mu of each coordinate
    uniform: np.ndarray  # (size,)
    floor: float  # added to mu inside logarithms of the gradient; 0 where mu stays positive


class Atoms(NamedTuple):
    """Sparse points, the first ``n`` rows in use."""

    start: np.ndarray  # (capacity + 1,) int64
    place: np.ndarray  # int32
    share_start: np.ndarray  # (capacity,) int64, -1 for labelings
    share: np.ndarray


@njit
def value(energy, mu):
    total = 0.0
    for c in range(mu.size):
        if mu[c] > 0.0:  # what -inf forbids has no mass
            total += mu[c] * (energy.theta[c] - energy.entropy[c] * np.log(mu[c]))
    return total


@njit
def gradient(energy, mu, out):
    """Gradient of the objective: the scores that the oracle maximizes."""
    for c in range(mu.size):
        logarithm = np.log(max(mu[c] + energy.floor, TINY))
        out[c] = energy.theta[c] - energy.entropy[c] * (1.0 + logarithm)


@njit
def search(energy, mu, direction, largest):
    """Best step in ``[0, largest]`` along an ascent direction, by Newton's method with bisection.

    The objective is concave along directions between locally consistent points, so the root of
    its slope is bracketed. 5 to 10 evaluations, each one logarithm per coordinate.
    """
    constant = 0.0
    for c in range(mu.size):
        constant += direction[c] * (energy.theta[c] - energy.entropy[c])
    low, high = 0.0, largest
    step = largest
    first = 0.0
    for evaluation in range(60):
        at = 0.0 if evaluation == 0 else step
        slope, curvature = constant, 0.0
        for c in range(mu.size):
            d = direction[c]
            if d != 0.0:
                m = max(mu[c] + at * d + energy.floor, TINY)
                slope -= energy.entropy[c] * d * np.log(m)
                curvature -= energy.entropy[c] * d * d / m
        if evaluation == 0:
            first = slope
            if slope <= 0.0:
                return 0.0
            newton = -slope / curvature if curvature < 0.0 else largest
            step = min(newton, largest)
            continue
        if abs(slope) <= SLOPE * first or (slope > 0.0 and step >= largest):
            return step
        if slope > 0.0:
            low = step
        else:
            high = step
        if high - low <= 1e-12 * largest:
            return low
        newton = step - slope / curvature if curvature < 0.0 else high
        inside = low < newton < high
        # Where Newton's method runs past an untried end, that end is tried.
        if not inside and slope > 0.0 and high == largest:
            step = largest
        elif inside and evaluation % 8 != 7:
            step = newton
        else:
            step = 0.5 * (low + high)
    return low


@njit
def add_atom(atoms, a, factor, out):
    """``out += factor * atom a``."""
    first = atoms.start[a]
    shares = atoms.share_start[a]
    for r in range(first, atoms.start[a + 1]):
        share = 1.0 if shares < 0 else atoms.share[shares + r - first]
        out[atoms.place[r]] += factor * share


@njit
def towards(energy, atoms, a, delta, mu, out):
    """``out = contracted atom a - mu``."""
    for c in range(mu.size):
        out[c] = delta * energy.uniform[c] - mu[c]
    add_atom(atoms, a, 1.0 - delta, out)


@njit
def between(atoms, a, b, delta, out):
    """``out = contracted atom a - contracted atom b``."""
    for c in range(out.size):
        out[c] = 0.0
    add_atom(atoms, a, 1.0 - delta, out)
    add_atom(atoms, b, delta - 1.0, out)


@njit
def move(mu, direction, step):
    """``mu += step direction``, never below zero by rounding."""
    for c in range(mu.size):
        mu[c] = max(mu[c] + step * direction[c], 0.0)


@njit
def score(atoms, a, slopes):
    """``<slopes, atom a>``."""
    total = 0.0
    first = atoms.start[a]
    shares = atoms.share_start[a]
    if shares < 0:
        place = atoms.place[first : atoms.start[a + 1]]
        whole, other = place.size - place.size % 4, 0.0
        for r in range(0, whole, 4):  # two sums: a single one would wait for every addition
            total += slopes[place[r]] + slopes[place[r + 1]]
            other += slopes[place[r + 2]] + slopes[place[r + 3]]
        for r in range(whole, place.size):
            total += slopes[place[r]]
        total += other
    else:
        for r in range(first, atoms.start[a + 1]):
            total += atoms.share[shares + r - first] * slopes[atoms.place[r]]
    return total


@njit
def combine(uniform, atoms, alpha, delta, mu):
    """``mu = sum_a alpha_a contracted atom a``."""
    for c in range(mu.size):
        mu[c] = delta * uniform[c]
    for a in range(alpha.size):
        if alpha[a] > 0.0:
            add_atom(atoms, a, (1.0 - delta) * alpha[a], mu)


@njit
def step_to(energy, atoms, a, delta, mu, alpha):
    """A Frank-Wolfe step towards atom a with exact line search."""
    direction = np.empty_like(mu)
    towards(energy, atoms, a, delta, mu, direction)
    step = search(energy, mu, direction, 1.0)
    move(mu, direction, step)
    move_mass(alpha, alpha.size, FW, a, -1, step, 1.0)


@njit
def correct(energy, atoms, alpha, delta, mu, kind, tol, max_steps):
    """Maximize over the hull of the atoms in place, until the pairwise gap is at most ``tol``.

    ``kind`` allows Frank-Wolfe steps alone, or away steps too, or makes pairwise steps. Returns
    the Frank-Wolfe gap over the hull when last measured.
    """
    slopes, direction = np.empty_like(mu), np.empty_like(mu)
    hull_gap = 0.0
    steps = 0
    settled = False
    while steps < max_steps:
        # Few atoms carry weight: the others are looked at in some steps and before the end.
        everywhere = settled or steps % SCAN_EVERY == 0
        gradient(energy, mu, slopes)
        best, worst, n_active = -1, -1, 0
        best_score, worst_score, mean = 0.0, 0.0, 0.0
        for a in range(alpha.size):
            if not everywhere and alpha[a] <= 0.0:
                continue
            s = score(atoms, a, slopes)
            if best < 0 or s > best_score:
                best, best_score = a, s
            if alpha[a] > 0.0:
                n_active += 1
                mean += alpha[a] * s
                if worst < 0 or s < worst_score:
                    worst, worst_score = a, s
        # Contraction multiplies all differences of scores by 1 - delta.
        gap = (1.0 - delta) * (best_score - mean)
        away_gap = (1.0 - delta) * (mean - worst_score)
        if everywhere:
            hull_gap = gap
        settled = (gap if kind == FW else gap + away_gap) <= tol
        if settled and everywhere:
            break
        if settled:
            continue
        chosen = PAIRWISE
        if kind != PAIRWISE:
            chosen = AWAY if considers(kind, AWAY, gap, away_gap, n_active) else FW
        _, largest = slope_and_limit(chosen, gap, away_gap, alpha[worst])
        if chosen == PAIRWISE:
            between(atoms, best, worst, delta, direction)
        elif chosen == FW:
            towards(energy, atoms, best, delta, mu, direction)
        else:
            towards(energy, atoms, worst, delta, mu, direction)
            direction *= -1.0
        step = search(energy, mu, direction, largest)
        move_mass(alpha, alpha.size, chosen, best, worst, step, largest)
        move(mu, direction, step)
        steps += 1
        if step == 0.0:
            break
    total = 0.0
    for a in range(alpha.size):
        if alpha[a] < 1e-15:
            alpha[a] = 0.0
        total += alpha[a]
    alpha /= total
    combine(energy.uniform, atoms, alpha, delta, mu)
    return hull_gap


@njit
def mutual_information(mu, n_states, edges, node_start, edge_start, out):
    """``I(x_i; x_j)`` of every edge under the marginals, in nats, not below zero by rounding."""
    for e in range(edges.shape[0]):
        i, j = edges[e, 0], edges[e, 1]
        total = 0.0
        place = edge_start[e]
        for a in range(n_states[i]):
            for b in range(n_states[j]):
                p = mu[place]
                if p > 0.0:
                    # Differences of logarithms: the product of two marginals may underflow.
                    total += p * (
                        np.log(p) - np.log(mu[node_start[i] + a]) - np.log(mu[node_start[j] + b])
                    )
                place += 1
        out[e] = max(total, 0.0)
