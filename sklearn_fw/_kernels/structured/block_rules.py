"""The decisions of block-coordinate Frank-Wolfe, free of any geometry.

Which block to visit, whether a cached corner will do, which direction and how far, and how the
explicit dual variables of a block follow. Compiled passes and the Python driver of black-box
models call the very same functions.
"""

from typing import NamedTuple

import numpy as np

from .._jit import njit

# Step rules; the first three are also kinds of direction.
FW, PAIRWISE, AWAY, HYBRID, EXACT = 0, 1, 2, 3, 4
BY_GAP, BY_MAX_GAP = -1, -2  # entries of a visiting order that leave the choice to the kernel
DONE, NO_GAP, TABLE_FULL = 0, 1, 2  # why `run_visits` returned
# Places in the array of counts
(
    CALLS, HITS, MISSED_LOCAL, MISSED_GLOBAL, STEPS, DROPS, WORSE, EVICTED, VISITS, REASON,
    EXACT_STEPS,
) = (
    0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12,
)  # fmt: skip
N_COUNTS = 13


class Gaps(NamedTuple):
    """Last known block gaps and the sum tree that samples from them."""

    value: np.ndarray  # (n,) inf before the first oracle call
    tree: np.ndarray  # (2 * 2^m,)
    total: np.ndarray  # (1,) the last exact total gap, for the cache


class Rules(NamedTuple):
    """Settings of a pass."""

    lam: float
    step: int
    line_search: bool
    explicit: bool  # keep corners
    use_cache: bool
    cache_f: float
    cache_nu: float
    gap_degree: float
    shrink: bool = False  # pass over blocks that a visit of the same order left without a gap


# ---- choosing the block ------------------------------------------------------------------------


@njit
def set_gap(gaps, i, value, degree):
    """Record a block gap and update its probability of being drawn."""
    gaps.value[i] = value
    node = gaps.tree.size // 2 + i
    gaps.tree[node] = value if degree == 1.0 else value**degree
    while node > 1:
        node //= 2
        gaps.tree[node] = gaps.tree[2 * node] + gaps.tree[2 * node + 1]


@njit
def pick_block(gaps, code, uniform):
    """The block that an entry of the visiting order stands for; -1 when no gap is left."""
    if code >= 0:
        return code
    if code == BY_MAX_GAP:
        i = 0
        for j in range(1, gaps.value.size):
            if gaps.value[j] > gaps.value[i]:
                i = j
        return i if gaps.value[i] > 0.0 else -1
    tree = gaps.tree
    if tree[1] <= 0.0:
        return -1
    target = uniform * tree[1]
    node = 1
    while node < tree.size // 2:
        node *= 2
        if target >= tree[node] and tree[node + 1] > 0.0:
            target -= tree[node]
            node += 1
    return node - tree.size // 2


# ---- explicit duals ----------------------------------------------------------------------------


@njit
def free_slot(alpha, values, size, capacity, may_evict_active):
    """Where a new corner can go: the end, else the worst unused entry; -1 when there is none."""
    if size < capacity:
        return size
    slot = -1
    for c in range(size):
        if alpha[c] == 0.0 and (slot < 0 or values[c] < values[slot]):
            slot = c
    if slot < 0 and may_evict_active:
        for c in range(size):
            if slot < 0 or values[c] < values[slot]:
                slot = c
    return slot


@njit
def table_is_full(corners, i, rules):
    """Whether a visit of block i might find no room for its corner."""
    capacity = corners.alpha.shape[1]
    if corners.size[i] < capacity or rules.step == FW:
        return False
    for c in range(capacity):
        if corners.alpha[i, c] == 0.0:
            return False
    return True


@njit
def move_mass(alpha, size, kind, slot, away, gamma, maximum):
    """Change the alphas of one block by a step; returns whether it dropped a corner."""
    if kind == PAIRWISE:
        if slot == away:
            return False  # rounding made a slope of a step that goes nowhere
        alpha[slot] += gamma
        alpha[away] = 0.0 if gamma >= maximum else alpha[away] - gamma
        return gamma >= maximum
    factor = 1.0 - gamma if kind == FW else 1.0 + gamma
    for c in range(size):
        alpha[c] = 0.0 if gamma >= maximum and kind == FW else factor * alpha[c]
    if kind == FW:
        alpha[slot] += gamma
        return gamma >= maximum and size > 1
    alpha[away] = 0.0 if gamma >= maximum else alpha[away] - gamma
    return gamma >= maximum


@njit
def considers(step, kind, slope_fw, slope_away, n_active):
    """Whether a step rule looks at a kind of direction (HYBRID compares all that exist)."""
    if kind == AWAY and n_active < 2:
        return False  # alpha / (1 - alpha) is unbounded when one corner holds all the mass
    if step == AWAY:
        goes_away = n_active > 1 and slope_away >= slope_fw
        return kind == AWAY if goes_away else kind == FW
    return step in (HYBRID, kind)


@njit
def slope_and_limit(kind, slope_fw, slope_away, alpha_away):
    """Slope of the dual along a direction and the largest step that keeps alpha >= 0."""
    if kind == FW:
        return slope_fw, 1.0
    if kind == PAIRWISE:
        return slope_fw + slope_away, alpha_away
    return slope_away, alpha_away / (1.0 - alpha_away)


@njit
def step_length(rules, slope, curvature, limit, visit, n_blocks):
    """Exact line search on a concave parabola, or 2n / (k + 2n); clipped to [0, limit]."""
    if slope <= 0.0:
        return 0.0
    if not rules.line_search:
        return min(2.0 * n_blocks / (visit - 1.0 + 2.0 * n_blocks), limit)
    return limit if slope >= limit * curvature else slope / curvature


@njit
def away_corner(alpha, values, size):
    """Active corner of smallest value, and the number of active corners."""
    away = -1
    n_active = 0
    for c in range(size):
        if alpha[c] > 0.0:
            n_active += 1
            if away < 0 or values[c] < values[away]:
                away = c
    return away, n_active


@njit
def cache_candidate(values, size, current, weight, gap, total, n_blocks, rules, counts):
    """Best cached corner if its gap passes both thresholds (OA16 Alg. 5), else -1."""
    best = 0
    for c in range(1, size):
        if values[c] > values[best]:
            best = c
    cached_gap = max(weight * (values[best] - current), 0.0)
    if gap == np.inf:
        return -1  # never seen by the oracle
    local = cached_gap >= rules.cache_f * gap
    over_all = cached_gap >= rules.cache_nu / n_blocks * total
    if local and over_all:
        return best
    counts[MISSED_LOCAL] += not local
    counts[MISSED_GLOBAL] += not over_all
    return -1
