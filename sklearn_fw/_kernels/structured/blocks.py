"""Passes of block-coordinate Frank-Wolfe over a training set of parts, and primal baselines.

`begin_visit` and `finish_visit` are apart because two drivers use them: `run_visits`, where the
oracle is compiled too, and by `begin` and `finish` the Python driver of any other oracle.
"""

from typing import NamedTuple

import numpy as np

from .._jit import inlined, inner, njit
from .block_rules import (
    AWAY,
    CALLS,
    DONE,
    DROPS,
    EVICTED,
    FW,
    HITS,
    NO_GAP,
    PAIRWISE,
    REASON,
    STEPS,
    TABLE_FULL,
    VISITS,
    WORSE,
    away_vertex,
    cache_candidate,
    considers,
    free_slot,
    move_mass,
    pick_block,
    set_gap,
    slope_and_limit,
    step_length,
    table_is_full,
)
from .parts import (
    add_pairs,
    add_to_weights,
    apply_adjoint,
    block_argmax,
    block_scores,
    build_direction,
    current_value,
    labels_loss,
    labels_value,
    move_marginals,
    tables_of,
    take_step,
)


class Vertices(NamedTuple):
    """Explicit duals: outputs seen per block, with their alpha.

    Kernels take None where they are not kept: numba then compiles none of the code for them.
    """

    labels: np.ndarray  # (n_nodes, capacity)
    alpha: np.ndarray  # (n, capacity)
    loss: np.ndarray  # (n, capacity)
    size: np.ndarray  # (n,)


@inner
def _find_vertex(labels, size, wanted, start, n_nodes):
    for c in range(size):
        same = True
        for t in range(n_nodes):
            if labels[start + t, c] != wanted[t]:
                same = False
                break
        if same:
            return c
    return -1


@inner
def _remove_empty(parts, vertices, i):
    """Without a cache only active vertices are kept; the last one fills each hole."""
    start, stop = parts.node_start[i], parts.node_start[i + 1]
    c = 0
    while c < vertices.size[i]:
        if vertices.alpha[i, c] > 0.0:
            c += 1
            continue
        last = vertices.size[i] - 1
        vertices.alpha[i, c] = vertices.alpha[i, last]
        vertices.loss[i, c] = vertices.loss[i, last]
        for t in range(start, stop):
            vertices.labels[t, c] = vertices.labels[t, last]
        vertices.size[i] = last


# ---- a visit -----------------------------------------------------------------------------------


@inlined
def values_of_block(parts, dual, vertices, i, scratch):
    """Value of the current point of block i; those of its corners go to ``scratch.values``.

    Like all values here they are H_i plus the score of the truth.
    """
    block_scores(parts, dual.w, i, 1.0, scratch.oracle)
    current = current_value(parts, dual.marginals, dual.w, i, scratch.oracle)
    if vertices is not None:
        _values_of_vertices(parts, dual.w, vertices, i, scratch.oracle, scratch.values)
    return current


@inner
def _values_of_vertices(parts, w, vertices, i, scratch, values):
    size, start = vertices.size[i], parts.node_start[i]
    for c in range(size):
        values[c] = vertices.loss[i, c] if parts.zero_one_cost > 0.0 else 0.0
    for t in range(parts.node_start[i + 1] - start):
        for c in range(size):
            values[c] += scratch.scores[t, vertices.labels[start + t, c]]
    edge_table, tables = tables_of(parts.mix, parts, w, i, scratch)
    first = parts.edge_start[i]
    for e in range(edge_table.size):
        table = tables[edge_table[e]]
        child, parent = start + parts.edges[first + e, 0], start + parts.edges[first + e, 1]
        for c in range(size):
            values[c] += table[vertices.labels[child, c], vertices.labels[parent, c]]


@inlined
def begin_visit(parts, dual, vertices, gaps, rules, i, scratch, counts):
    """Scores of block i and the cache; returns (cached slot or -1, value of the current point)."""
    current = values_of_block(parts, dual, vertices, i, scratch)
    if vertices is None:
        return -1, current
    if not rules.use_cache:
        return -1, current
    slot = cache_candidate(
        scratch.values, vertices.size[i], current, parts.weight[i], gaps.value[i], gaps.total[0],
        parts.weight.size, rules, counts,
    )  # fmt: skip
    return slot, current


@inner
def _insert_answer(parts, vertices, i, value, rules, answer, values, counts):
    """Slot of the oracle's answer in the table of block i, made if it is new."""
    start = parts.node_start[i]
    n_nodes = parts.node_start[i + 1] - start
    slot = _find_vertex(vertices.labels, vertices.size[i], answer, start, n_nodes)
    if slot >= 0:
        return slot
    slot = free_slot(
        vertices.alpha[i], values, vertices.size[i], vertices.alpha.shape[1], rules.variant == FW
    )
    if slot == vertices.size[i]:
        vertices.size[i] += 1
    elif vertices.alpha[i, slot] > 0.0:
        counts[EVICTED] += 1  # from here on the alphas no longer describe the iterate
    for t in range(n_nodes):
        vertices.labels[start + t, slot] = answer[t]
    vertices.alpha[i, slot] = 0.0
    vertices.loss[i, slot] = labels_loss(parts, i, answer)
    values[slot] = value
    return slot


@inner
def check_answer(parts, w, i, scratch, counts):
    """Value of the labels that an oracle of unknown quality left in ``scratch``.

    An answer worse than the truth would give a negative gap: the truth replaces it.
    """
    start, stop = parts.node_start[i], parts.node_start[i + 1]
    value = labels_value(parts, w, i, scratch.labels, scratch)
    true_value = labels_value(parts, w, i, parts.truth[start:stop], scratch)
    if value >= true_value - 1e-12 * max(1.0, abs(true_value)):
        return value
    counts[WORSE] += 1
    for t in range(start, stop):
        scratch.labels[t - start] = parts.truth[t]
    return true_value


@inlined
def finish_visit(parts, dual, vertices, gaps, rules, i, slot, value, current, scratch, counts):
    """The step of block i towards the cached vertex ``slot`` or the oracle's labels in ``scratch``.

    ``value`` is H_i of the oracle's labels (unused for a cached vertex), ``current`` that of mu_i.
    """
    counts[VISITS] += 1
    if slot >= 0:
        counts[HITS] += 1
    else:
        counts[CALLS] += 1
        gap = max(parts.weight[i] * (value - current), 0.0)
        set_gap(gaps, i, gap, rules.gap_degree)
    if vertices is None:
        _step_to_answer(parts, dual, rules, i, value - current, scratch, counts)
    else:
        _step_by_vertices(parts, dual, vertices, rules, i, slot, value, current, scratch, counts)


@inlined
def _step_to_answer(parts, dual, rules, i, difference, scratch, counts):
    """The step towards the oracle's labels, by whose value they exceed the point of block i."""
    p = parts.weight[i]
    slope = p * difference
    if slope <= 0.0:
        return
    answer = scratch.oracle.labels
    build_direction(parts, dual.marginals, i, FW, answer, answer, scratch.step)
    curvature = p * p / rules.lam * apply_adjoint(parts, i, scratch.step)
    gamma = step_length(rules, slope, curvature, 1.0, counts[VISITS], parts.weight.size)
    if gamma == 0.0:
        return
    counts[STEPS + FW] += 1
    change = p * (labels_loss(parts, i, answer) - dual.marginals.loss[i] / p)
    take_step(parts, dual, i, rules.lam, gamma, change, counts[VISITS], scratch.step)


@inner
def _step_by_vertices(parts, dual, vertices, rules, i, slot, value, current, scratch, counts):
    """The step that is best by the rules, and the alphas after it."""
    p, values = parts.weight[i], scratch.values
    start, stop = parts.node_start[i], parts.node_start[i + 1]
    answer, away_labels = scratch.oracle.labels, scratch.away_labels
    if slot >= 0:
        value = values[slot]
        for t in range(start, stop):
            answer[t - start] = vertices.labels[t, slot]
    else:
        slot = _insert_answer(parts, vertices, i, value, rules, answer, values, counts)
    away, n_active = away_vertex(vertices.alpha[i], values, vertices.size[i])
    for t in range(start, stop):
        away_labels[t - start] = vertices.labels[t, away]
    slope_fw, slope_away = p * (value - current), p * (current - values[away])

    chosen, gamma, maximum, best_gain, built = -1, 0.0, 0.0, 0.0, -1
    for kind in range(3):
        if not considers(rules.variant, kind, slope_fw, slope_away, n_active):
            continue
        slope, limit = slope_and_limit(kind, slope_fw, slope_away, vertices.alpha[i, away])
        if slope <= 0.0:
            continue
        build_direction(parts, dual.marginals, i, kind, answer, away_labels, scratch.step)
        curvature = p * p / rules.lam * apply_adjoint(parts, i, scratch.step)
        built = kind
        candidate = step_length(rules, slope, curvature, limit, counts[VISITS], parts.weight.size)
        gain = candidate * slope - 0.5 * candidate * candidate * curvature
        if chosen < 0 or gain > best_gain:
            chosen, gamma, maximum, best_gain = kind, candidate, limit, gain
    if chosen < 0 or gamma == 0.0:
        return
    if built != chosen:
        build_direction(parts, dual.marginals, i, chosen, answer, away_labels, scratch.step)
        apply_adjoint(parts, i, scratch.step)

    counts[STEPS + chosen] += 1
    loss_plus, loss_minus = labels_loss(parts, i, answer), vertices.loss[i, away]
    loss_now = dual.marginals.loss[i] / p
    plus = loss_now if chosen == AWAY else loss_plus
    minus = loss_now if chosen == FW else loss_minus
    change = p * (plus - minus)
    take_step(parts, dual, i, rules.lam, gamma, change, counts[VISITS], scratch.step)
    counts[DROPS] += move_mass(
        vertices.alpha[i], vertices.size[i], chosen, slot, away, gamma, maximum
    )
    if not rules.use_cache:
        _remove_empty(parts, vertices, i)


@njit
def begin(parts, dual, vertices, gaps, rules, i, scratch, counts):
    """`begin_visit`, called from Python."""
    return begin_visit(parts, dual, vertices, gaps, rules, i, scratch, counts)


@njit
def finish(parts, dual, vertices, gaps, rules, i, slot, current, scratch, counts):
    """`finish_visit` after an oracle of unknown quality, called from Python."""
    value = 0.0
    if slot < 0:
        value = check_answer(parts, dual.w, i, scratch.oracle, counts)
    finish_visit(parts, dual, vertices, gaps, rules, i, slot, value, current, scratch, counts)


@njit
def run_visits(parts, dual, vertices, gaps, rules, order, uniforms, scratch, counts, position):
    """Visit blocks from ``position`` of the order on; returns where it stopped (see REASON)."""
    for k in range(position, order.size):
        i = pick_block(gaps, order[k], uniforms[k])
        if i < 0:
            counts[REASON] = NO_GAP
            return k
        if vertices is not None:
            if table_is_full(vertices, i, rules):
                counts[REASON] = TABLE_FULL
                return k
        slot, current = begin_visit(parts, dual, vertices, gaps, rules, i, scratch, counts)
        value = 0.0
        if slot < 0:
            value = block_argmax(
                parts.exhaustive, parts, dual.w, i, parts.zero_one_cost, scratch.oracle
            )
        finish_visit(parts, dual, vertices, gaps, rules, i, slot, value, current, scratch, counts)
    counts[REASON] = DONE
    return order.size


# ---- sweeps over all blocks --------------------------------------------------------------------


@njit
def sweep(parts, marginals, w, loss_weight, first, last, scratch, hinge, current, labels):
    """Argmax of blocks first..last at fixed w: values, current values (both above the truth's)."""
    for i in range(first, last):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        block_scores(parts, w, i, loss_weight, scratch)
        zero_one_cost = loss_weight * parts.zero_one_cost
        value = block_argmax(parts.exhaustive, parts, w, i, zero_one_cost, scratch)
        true_value = labels_value(parts, w, i, parts.truth[start:stop], scratch)
        hinge[i] = value - true_value
        current[i] = current_value(parts, marginals, w, i, scratch) - true_value
        for t in range(start, stop):
            labels[t] = scratch.labels[t - start]


@njit
def current_values(parts, marginals, w, scratch, current):
    """The current values of a sweep, without asking the oracle."""
    for i in range(parts.weight.size):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        block_scores(parts, w, i, 1.0, scratch)
        true_value = labels_value(parts, w, i, parts.truth[start:stop], scratch)
        current[i] = current_value(parts, marginals, w, i, scratch) - true_value


@njit
def accumulate(parts, marginals, labels, lam, target, scratch):
    """``target += sum_i (p_i / lam) F_i' (e(y_i) - point_i)``; the point is mu_i or ``labels``."""
    for i in range(parts.weight.size):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        truth = parts.truth[start:stop]
        kind = FW if labels.size == 0 else PAIRWISE
        minus = truth if labels.size == 0 else labels[start:stop]
        build_direction(parts, marginals, i, kind, truth, minus, scratch)
        apply_adjoint(parts, i, scratch)
        add_to_weights(parts, i, parts.weight[i] / lam, target, scratch)


@njit
def mix_labels(parts, marginals, vertices, labels, gamma, scratch, counts):
    """One common Frank-Wolfe step of all blocks towards ``labels``; weights are left to the caller.

    Every block must have a free slot when vertices are kept.
    """
    for i in range(parts.weight.size):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        target = labels[start:stop]
        p = parts.weight[i]
        build_direction(parts, marginals, i, FW, target, target, scratch)
        move_marginals(parts, marginals, i, gamma, scratch)
        marginals.loss[i] += gamma * (p * labels_loss(parts, i, target) - marginals.loss[i])
        if vertices is not None:
            slot = _find_vertex(vertices.labels, vertices.size[i], target, start, stop - start)
            if slot < 0:
                slot = vertices.size[i]
                vertices.size[i] += 1
                vertices.labels[start:stop, slot] = target
                vertices.loss[i, slot] = labels_loss(parts, i, target)
                vertices.alpha[i, slot] = 0.0
            counts[DROPS] += move_mass(
                vertices.alpha[i], vertices.size[i], FW, slot, -1, gamma, 1.0
            )


@njit
def set_to_truth(parts, marginals):
    """All mass of every block on its true output."""
    for i in range(parts.weight.size):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        for t in range(start, stop):
            marginals.nodes[t, parts.truth[t]] = 1.0
        add_pairs(parts.mix, parts, i, parts.truth[start:stop], 1.0, marginals.tables[i])


@njit
def scale_to_truth(parts, marginals, factor):
    """``mu_i = factor * mu_i + (1 - factor) * e(y_i)`` for every block."""
    n_states = parts.cost.shape[1]
    for t in range(parts.truth.size):
        true = parts.truth[t]
        if marginals.nodes[t, true] == 1.0:
            continue
        for k in range(n_states):
            marginals.nodes[t, k] *= factor
        marginals.nodes[t, true] += 1.0 - factor
    for i in range(parts.weight.size):
        truth = parts.truth[parts.node_start[i] : parts.node_start[i + 1]]
        for a in range(marginals.tables.shape[1]):
            marginals.tables[i, a] *= factor
        add_pairs(parts.mix, parts, i, truth, 1.0 - factor, marginals.tables[i])
        marginals.loss[i] *= factor


@njit
def scale_vertices(parts, vertices, factor):
    """The same for explicit duals; every block must have a free slot for its truth."""
    for i in range(parts.weight.size):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        truth = parts.truth[start:stop]
        slot = _find_vertex(vertices.labels, vertices.size[i], truth, start, stop - start)
        if slot < 0:
            slot = vertices.size[i]
            vertices.size[i] += 1
            vertices.loss[i, slot] = 0.0
            vertices.alpha[i, slot] = 0.0
            for t in range(start, stop):
                vertices.labels[t, slot] = parts.truth[t]
        for c in range(vertices.size[i]):
            vertices.alpha[i, c] *= factor
        vertices.alpha[i, slot] += 1.0 - factor


@njit
def losses_of(parts, labels):
    """L_i of every block for a labelling of all nodes."""
    losses = np.empty(parts.weight.size)
    for i in range(parts.weight.size):
        losses[i] = labels_loss(parts, i, labels[parts.node_start[i] : parts.node_start[i + 1]])
    return losses


@njit
def marginals_of_vertices(parts, marginals, vertices):
    """Rebuild marginals and losses from renormalised alphas: removes the drift of many steps."""
    for i in range(parts.weight.size):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        size = vertices.size[i]
        vertices.alpha[i, :size] /= vertices.alpha[i, :size].sum()
        marginals.nodes[start:stop] = 0.0
        marginals.tables[i] = 0.0
        marginals.loss[i] = 0.0
        for c in range(size):
            alpha = vertices.alpha[i, c]
            if alpha == 0.0:
                continue
            marginals.loss[i] += parts.weight[i] * alpha * vertices.loss[i, c]
            for t in range(start, stop):
                marginals.nodes[t, vertices.labels[t, c]] += alpha
            labels = vertices.labels[start:stop, c]
            add_pairs(parts.mix, parts, i, labels, alpha, marginals.tables[i])


# ---- primal baselines --------------------------------------------------------------------------


@inner
def _any_active(parts, i, scratch):
    for r in range(parts.row_start[i + 1] - parts.row_start[i]):
        if scratch.active[r]:
            return True
    return False


@njit
def subgradient_visits(parts, marginals, order, first_visit, lam, target, moments, scratch):
    """Stochastic subgradient (lam > 0) or structured perceptron (lam = 0) steps.

    ``target`` accumulates the sum z of feature differences. Subgradient: ``w_k = z_k / (lam k)``
    after k steps of size 1/k, so its oracle is the argmax of ``z + lam k L``; perceptron: ``w = z``
    and no loss. ``moments`` gets sum_j j (z_j - z_{j-1}).
    """
    oracle, step = scratch.oracle, scratch.step
    for m in range(order.size):
        i = order[m]
        visit = first_visit + m + 1
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        loss_weight = lam * (visit - 1)
        if lam > 0.0 and visit == 1:
            loss_weight = 1.0  # w = 0: any positive multiple of the loss has the same argmax
        block_scores(parts, target, i, loss_weight, oracle)
        zero_one_cost = loss_weight * parts.zero_one_cost
        block_argmax(parts.exhaustive, parts, target, i, zero_one_cost, oracle)
        truth = parts.truth[start:stop]
        build_direction(parts, marginals, i, PAIRWISE, truth, oracle.labels, step)
        if _any_active(parts, i, step):
            apply_adjoint(parts, i, step)
            factor = parts.weight[i] * parts.weight.size
            add_to_weights(parts, i, factor, target, step)
            add_to_weights(parts, i, factor * visit, moments, step)
