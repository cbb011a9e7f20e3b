"""The decisions of block-coordinate Frank-Wolfe, free of any geometry.

Which block to visit, whether a cached vertex will do, which direction and how far, and how the
explicit dual variables of a block follow. Compiled passes and the Python driver of black-box
models call the very same functions; those that hold for every Frank-Wolfe method are in
`_kernels.common.step_rules`.
"""

from typing import NamedTuple

import numpy as np

from .._jit import njit
from ..common.compiled_rules import (  # noqa: F401, drivers take all rules from here
    considers,
    move_mass,
    open_loop_step,
    short_step,
    slope_and_limit,
)
from ..common.step_rules import AWAY, FW, HYBRID, PAIRWISE  # noqa: F401

EXACT = HYBRID + 1  # a step rule of its own, see `class_blocks`
BY_GAP, BY_MAX_GAP = -1, -2  # entries of a visiting order that leave the choice to the kernel
DONE, NO_GAP, TABLE_FULL = 0, 1, 2  # why `run_visits` returned
# Places in the array of counts; steps of three kinds are counted from STEPS on.
CALLS, HITS, MISSED_LOCAL, MISSED_GLOBAL, STEPS = range(5)
DROPS, WORSE, EVICTED, VISITS, REASON, EXACT_STEPS, N_COUNTS = range(7, 14)


class Gaps(NamedTuple):
    """Last known block gaps and the sum tree that samples from them."""

    value: np.ndarray  # (n,) inf before the first oracle call
    tree: np.ndarray  # (2 * 2^m,)
    total: np.ndarray  # (1,) the last exact total gap, for the cache


class Rules(NamedTuple):
    lam: float
    variant: int = FW
    line_search: bool = True
    use_cache: bool = False
    cache_f: float = 0.0
    cache_nu: float = 0.0
    gap_degree: float = 1.0
    shrink: bool = False  # pass over blocks that a visit of the same order left without a gap


def fill_tree(tree, values):
    """Sums of ``values``, the leaves, at every node."""
    size = len(tree) // 2
    tree[:] = 0.0
    tree[size : size + len(values)] = values
    while size > 1:
        half = size // 2
        tree[half:size] = tree[size : 2 * size : 2] + tree[size + 1 : 2 * size : 2]
        size = half


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
        i = gaps.value.argmax()
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
    """Where a new vertex can go: the end, else the worst unused entry; -1 when there is none."""
    if size < capacity:
        return size
    slot = -1
    for c in range(size):
        if alpha[c] == 0.0 and (slot < 0 or values[c] < values[slot]):
            slot = c
    if slot < 0 and may_evict_active:
        slot = values[:size].argmin()
    return slot


@njit
def table_is_full(vertices, i, rules):
    """Whether a visit of block i might find no room for its vertex."""
    if vertices.size[i] < vertices.alpha.shape[1] or rules.variant == FW:
        return False
    for alpha in vertices.alpha[i]:
        if alpha <= 0.0:
            return False
    return True


@njit
def step_length(rules, slope, curvature, limit, visit, n_blocks):
    """Exact line search on a concave parabola, or 2n / (k + 2n); clipped to [0, limit]."""
    if slope > 0.0 and not rules.line_search:
        return open_loop_step(visit - 1.0, n_blocks, limit)
    return short_step(slope, curvature, limit)


@njit
def away_vertex(alpha, values, size):
    """Active vertex of smallest value, and the number of active vertices."""
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
    """Best cached vertex if its gap passes both thresholds (OA16 Alg. 5), else -1."""
    best = values[:size].argmax()
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
