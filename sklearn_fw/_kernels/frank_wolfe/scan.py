"""Frank-Wolfe steps on quadratics over the hull of a list of atoms, by inner products of atoms.

The list has one column per atom, or two atoms of opposite sign per column as the l1 ball has. The
slopes of the objective in all columns are kept; a step changes them by the columns of the second
derivative that belong to the atoms that gain and lose weight, which the caller supplies once each.
"""

import math
from typing import NamedTuple

import numpy as np

from .._jit import lean, lean_inner
from ..common.compiled_rules import considers, move_mass, short_step, slope_and_limit
from ..common.step_rules import AWAY, FW, PAIRWISE

# Places in `Hull.counts` and in `Hull.numbers`, and of the columns of its rows.
N_ACTIVE, NEXT, WORST, N_BEST, N_GOOD, N_AWAY, N_DROP, N_SWAP = range(8)
VALUE, GAP, AWAY_GAP, STEP, TOL, RADIUS, BEST_GAP, HERE, FLAT_HERE = range(9)
ROW = 7


class Hull(NamedTuple):
    """State of a run: m columns, at most n atoms in use."""

    slopes: np.ndarray  # (m,) of the objective at the point
    origin: np.ndarray  # (m,) the same at zero
    columns: np.ndarray  # (capacity, m) second derivatives, row by row for those that are known
    slot: np.ndarray  # (m,) integer, row of a column, -1 if it is not known
    ids: np.ndarray  # (n,) integer, atoms in use: the column, plus m for those of negative sign
    weights: np.ndarray  # (n,)
    place: np.ndarray  # (n,) integer, where an atom stands in ids, -1 if nowhere
    best_ids: np.ndarray  # (n,) integer, the atoms where the gap was smallest
    best_weights: np.ndarray  # (n,)
    numbers: np.ndarray  # (9,)
    counts: np.ndarray  # (8,) integer


@lean_inner
def _column(hull, atom):
    """Row and sign of an atom."""
    m = hull.slopes.size
    return (hull.slot[atom], 1.0) if atom < m else (hull.slot[atom - m], -1.0)


@lean_inner
def _on(vector, atom):
    """Entry of a vector of columns for an atom."""
    return vector[atom] if atom < vector.size else -vector[atom - vector.size]


@lean_inner
def _answer(slopes, signed):
    """The lowest atom, the first among equals."""
    best = 0
    if signed:
        largest = abs(slopes[0])
        for i in range(1, slopes.size):
            size = abs(slopes[i])
            if size > largest:
                best, largest = i, size
        return best + slopes.size if slopes[best] > 0.0 else best
    for i in range(1, slopes.size):
        if slopes[i] < slopes[best]:
            best = i
    return best


@lean
def look(hull, signed):
    """Ask for the lowest atom and the worst one in use, and find both gaps."""
    numbers, counts, radius = hull.numbers, hull.counts, hull.numbers[RADIUS]
    here, flat, worst, highest = 0.0, 0.0, 0, -math.inf
    for k in range(counts[N_ACTIVE]):
        atom = hull.ids[k]
        product = _on(hull.slopes, atom)
        here += hull.weights[k] * product
        flat += hull.weights[k] * _on(hull.origin, atom)
        if product > highest:
            worst, highest = k, product
    counts[NEXT], counts[WORST] = _answer(hull.slopes, signed), worst
    numbers[HERE], numbers[FLAT_HERE] = radius * here, radius * flat
    numbers[GAP] = radius * (here - _on(hull.slopes, counts[NEXT]))
    numbers[AWAY_GAP] = radius * (highest - here)
    if numbers[GAP] < numbers[BEST_GAP]:
        numbers[BEST_GAP], counts[N_BEST] = numbers[GAP], counts[N_ACTIVE]
        for k in range(counts[N_ACTIVE]):
            hull.best_ids[k], hull.best_weights[k] = hull.ids[k], hull.weights[k]


@lean_inner
def _square(hull, kind, ahead, away):
    """Second derivative along the direction of a step."""
    numbers, m, radius = hull.numbers, hull.slopes.size, hull.numbers[RADIUS]
    if kind == PAIRWISE:
        row, sign = _column(hull, ahead)
        other, other_sign = _column(hull, away)
        i, j = ahead % m, away % m
        cross = hull.columns[row, j] * sign * other_sign
        return radius**2 * (hull.columns[row, i] + hull.columns[other, j] - 2.0 * cross)
    atom = ahead if kind == FW else away
    row, sign = _column(hull, atom)
    own = radius**2 * hull.columns[row, atom % m]
    cross = radius * (_on(hull.slopes, atom) - _on(hull.origin, atom))
    return own + (numbers[HERE] - numbers[FLAT_HERE]) - 2.0 * cross


@lean_inner
def _move_slopes(hull, kind, gamma, ahead, away):
    """Slopes at the new point."""
    slopes, origin, radius = hull.slopes, hull.origin, hull.numbers[RADIUS]
    if kind == PAIRWISE:
        row, sign = _column(hull, ahead)
        other, other_sign = _column(hull, away)
        plus, minus = gamma * radius * sign, gamma * radius * other_sign
        for i in range(slopes.size):
            slopes[i] += plus * hull.columns[row, i] - minus * hull.columns[other, i]
        return
    share = gamma if kind == FW else -gamma
    row, sign = _column(hull, ahead if kind == FW else away)
    for i in range(slopes.size):
        goal = origin[i] + radius * sign * hull.columns[row, i]
        slopes[i] = (1.0 - share) * slopes[i] + share * goal


@lean_inner
def _include(hull, atom):
    """Place of an atom among those in use."""
    if hull.place[atom] < 0:
        k = hull.counts[N_ACTIVE]
        hull.place[atom], hull.ids[k], hull.weights[k] = k, atom, 0.0
        hull.counts[N_ACTIVE] = k + 1
    return hull.place[atom]


@lean_inner
def _settle(hull):
    """Leave out atoms without weight, whose place the last takes, and make the sum one."""
    total = 0.0
    for k in range(hull.counts[N_ACTIVE] - 1, -1, -1):
        if hull.weights[k] > 0.0:
            total += hull.weights[k]
            continue
        last = hull.counts[N_ACTIVE] - 1
        hull.place[hull.ids[k]] = -1
        if k < last:
            hull.ids[k], hull.weights[k] = hull.ids[last], hull.weights[last]
            hull.place[hull.ids[k]] = k
        hull.counts[N_ACTIVE] = last
    for k in range(hull.counts[N_ACTIVE]):
        hull.weights[k] /= total


@lean_inner
def _advance(hull, variant):
    """One exact step."""
    numbers, counts = hull.numbers, hull.counts
    n_before, worst, kind = counts[N_ACTIVE], counts[WORST], variant
    gap, away_gap = numbers[GAP], numbers[AWAY_GAP]
    if kind == AWAY and not considers(AWAY, AWAY, gap, away_gap, n_before):
        kind = FW
    ahead, away = counts[NEXT], hull.ids[worst]
    slope, limit = slope_and_limit(kind, gap, away_gap, hull.weights[worst])
    numbers[STEP] = 0.0
    if kind == PAIRWISE and ahead == away:
        counts[N_GOOD] += 1
        return
    curvature = max(_square(hull, kind, ahead, away), 0.0)
    gamma = short_step(slope, curvature, limit)
    if gamma == math.inf:
        gamma = 0.0
    _move_slopes(hull, kind, gamma, ahead, away)
    numbers[VALUE] -= gamma * (slope - 0.5 * gamma * curvature)
    numbers[STEP] = gamma
    slot = _include(hull, ahead) if kind != AWAY else -1
    move_mass(hull.weights, counts[N_ACTIVE], kind, slot, worst, gamma, limit)
    _settle(hull)
    was_cut = gamma >= limit
    dropped = was_cut and kind != FW and counts[N_ACTIVE] < n_before
    counts[N_DROP] += dropped
    counts[N_GOOD] += not dropped
    counts[N_AWAY] += kind == AWAY
    counts[N_SWAP] += was_cut and kind == PAIRWISE and counts[N_ACTIVE] == n_before


@lean
def steps(hull, variant, signed, rows):
    """Steps until a column is missing, the gap is small or ``rows`` are full.

    Writes value, gap, away gap, step, and the numbers of good, away and drop steps into a row each;
    returns the number of steps made.
    """
    numbers, counts, m = hull.numbers, hull.counts, hull.slopes.size
    for i in range(len(rows)):
        if hull.slot[counts[NEXT] % m] < 0:
            return i
        _advance(hull, variant)
        look(hull, signed)
        rows[i, 0], rows[i, 1] = numbers[VALUE], numbers[GAP]
        rows[i, 2], rows[i, 3] = numbers[AWAY_GAP], numbers[STEP]
        rows[i, 4], rows[i, 5], rows[i, 6] = counts[N_GOOD], counts[N_AWAY], counts[N_DROP]
        if numbers[GAP] <= numbers[TOL]:
            return i + 1
    return len(rows)
