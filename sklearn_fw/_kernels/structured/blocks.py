"""Passes of block-coordinate Frank-Wolfe over a training set of parts, and primal baselines.

`begin_visit` and `finish_visit` are apart because two drivers use them: `run_visits`, where the
oracle is compiled too, and by `begin` and `finish` the Python driver of any other oracle.
"""

from typing import NamedTuple

import numpy as np

from .._jit import inlined, inner, njit
from ..common.vectors import assign, normalize
from . import block_rules as br
from . import parts as pt


class Vertices(NamedTuple):
    """Explicit duals: outputs seen per block, with their alpha.

    Kernels take None where they are not kept: numba then compiles none of the code for them.
    """

    labels: np.ndarray  # (n_nodes, capacity)
    alpha: np.ndarray  # (n, capacity)
    loss: np.ndarray  # (n, capacity)
    size: np.ndarray  # (n,)


@inner
def find_vertex(parts, vertices, i, wanted):
    """Slot of a labeling of block i, -1 if it is not kept."""
    start, stop = parts.node_start[i], parts.node_start[i + 1]
    for c in range(vertices.size[i]):
        for t in range(start, stop):
            if vertices.labels[t, c] != wanted[t - start]:
                break
        else:
            return c
    return -1


@inner
def put_vertex(parts, vertices, i, slot, labels):
    """Put a labeling into a slot of block i, the first free one or that of another vertex."""
    vertices.size[i] = max(vertices.size[i], slot + 1)
    for t in range(parts.node_start[i], parts.node_start[i + 1]):
        vertices.labels[t, slot] = labels[t - parts.node_start[i]]
    vertices.alpha[i, slot] = 0.0
    vertices.loss[i, slot] = pt.labels_loss(parts, i, labels)


@inner
def _remove_empty(parts, vertices, i):
    """Without a cache only active vertices are kept; the last one fills each hole."""
    c = 0
    while c < vertices.size[i]:
        if vertices.alpha[i, c] > 0.0:
            c += 1
            continue
        last = vertices.size[i] - 1
        vertices.alpha[i, c] = vertices.alpha[i, last]
        vertices.loss[i, c] = vertices.loss[i, last]
        for t in range(parts.node_start[i], parts.node_start[i + 1]):
            vertices.labels[t, c] = vertices.labels[t, last]
        vertices.size[i] = last


# ---- a visit -----------------------------------------------------------------------------------


@inlined
def values_of_block(parts, dual, vertices, i, scratch):
    """Value of the current point of block i; those of its corners go to ``scratch.values``.

    Like all values here they are H_i plus the score of the truth.
    """
    pt.block_scores(parts, dual.w, i, 1.0, scratch.oracle)
    current = pt.current_value(parts, dual.marginals, dual.w, i, scratch.oracle)
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
    edge_table, tables = pt.tables_of(parts.mix, parts, w, i, scratch)
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
    slot = br.cache_candidate(
        scratch.values, vertices.size[i], current, parts.weight[i], gaps.value[i], gaps.total[0],
        parts.weight.size, rules, counts,
    )  # fmt: skip
    return slot, current


@inner
def _insert_answer(parts, vertices, i, value, rules, answer, values, counts):
    """Slot of the oracle's answer in the table of block i, made if it is new."""
    slot = find_vertex(parts, vertices, i, answer)
    if slot >= 0:
        return slot
    size, capacity = vertices.size[i], vertices.alpha.shape[1]
    slot = br.free_slot(vertices.alpha[i], values, size, capacity, rules.variant == br.FW)
    if slot < size and vertices.alpha[i, slot] > 0.0:
        counts[br.EVICTED] += 1  # from here on the alphas no longer describe the iterate
    put_vertex(parts, vertices, i, slot, answer)
    values[slot] = value
    return slot


@inner
def check_answer(parts, w, i, scratch, counts):
    """Value of the labels that an oracle of unknown quality left in ``scratch``.

    An answer worse than the truth would give a negative gap: the truth replaces it.
    """
    start, stop = parts.node_start[i], parts.node_start[i + 1]
    value = pt.labels_value(parts, w, i, scratch.labels, scratch)
    true_value = pt.true_value(parts, w, i, scratch)
    if value >= true_value - 1e-12 * max(1.0, abs(true_value)):
        return value
    counts[br.WORSE] += 1
    assign(scratch.labels, parts.truth[start:stop])
    return true_value


@inlined
def finish_visit(parts, dual, vertices, gaps, rules, i, slot, value, current, scratch, counts):
    """The step of block i towards the cached vertex ``slot`` or the oracle's labels in ``scratch``.

    ``value`` is H_i of the oracle's labels (unused for a cached vertex), ``current`` that of mu_i.
    """
    counts[br.VISITS] += 1
    if slot >= 0:
        counts[br.HITS] += 1
    else:
        counts[br.CALLS] += 1
        gap = max(parts.weight[i] * (value - current), 0.0)
        br.set_gap(gaps, i, gap, rules.gap_degree)
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
    pt.build_direction(parts, dual.marginals, i, br.FW, answer, answer, scratch.step)
    curvature = p * p / rules.lam * pt.apply_adjoint(parts, i, scratch.step)
    gamma = br.step_length(rules, slope, curvature, 1.0, counts[br.VISITS], parts.weight.size)
    if gamma == 0.0:
        return
    counts[br.STEPS + br.FW] += 1
    change = p * (pt.labels_loss(parts, i, answer) - dual.marginals.loss[i] / p)
    pt.take_step(parts, dual, i, rules.lam, gamma, change, counts[br.VISITS], scratch.step)


@inner
def _step_by_vertices(parts, dual, vertices, rules, i, slot, value, current, scratch, counts):
    """The step that is best by the rules, and the alphas after it."""
    p, values = parts.weight[i], scratch.values
    start, stop = parts.node_start[i], parts.node_start[i + 1]
    answer, away_labels = scratch.oracle.labels, scratch.away_labels
    if slot >= 0:
        value = values[slot]
        assign(answer, vertices.labels[start:stop, slot])
    else:
        slot = _insert_answer(parts, vertices, i, value, rules, answer, values, counts)
    away, n_active = br.away_vertex(vertices.alpha[i], values, vertices.size[i])
    assign(away_labels, vertices.labels[start:stop, away])
    slope_fw, slope_away = p * (value - current), p * (current - values[away])

    chosen, gamma, maximum, best_gain, built = -1, 0.0, 0.0, 0.0, -1
    for kind in range(3):
        if not br.considers(rules.variant, kind, slope_fw, slope_away, n_active):
            continue
        slope, limit = br.slope_and_limit(kind, slope_fw, slope_away, vertices.alpha[i, away])
        if slope <= 0.0:
            continue
        pt.build_direction(parts, dual.marginals, i, kind, answer, away_labels, scratch.step)
        curvature = p * p / rules.lam * pt.apply_adjoint(parts, i, scratch.step)
        built = kind
        candidate = br.step_length(
            rules, slope, curvature, limit, counts[br.VISITS], parts.weight.size
        )
        gain = candidate * slope - 0.5 * candidate * candidate * curvature
        if chosen < 0 or gain > best_gain:
            chosen, gamma, maximum, best_gain = kind, candidate, limit, gain
    if chosen < 0 or gamma == 0.0:
        return
    if built != chosen:
        pt.build_direction(parts, dual.marginals, i, chosen, answer, away_labels, scratch.step)
        pt.apply_adjoint(parts, i, scratch.step)

    counts[br.STEPS + chosen] += 1
    loss_plus, loss_minus = pt.labels_loss(parts, i, answer), vertices.loss[i, away]
    loss_now = dual.marginals.loss[i] / p
    plus = loss_now if chosen == br.AWAY else loss_plus
    minus = loss_now if chosen == br.FW else loss_minus
    change = p * (plus - minus)
    pt.take_step(parts, dual, i, rules.lam, gamma, change, counts[br.VISITS], scratch.step)
    counts[br.DROPS] += br.move_mass(
        vertices.alpha[i], vertices.size[i], chosen, slot, away, gamma, maximum
    )
    if not rules.use_cache:
        _remove_empty(parts, vertices, i)


@njit
def begin(parts, dual, vertices, gaps, rules, i, scratch, counts):
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
        i = br.pick_block(gaps, order[k], uniforms[k])
        if i < 0:
            counts[br.REASON] = br.NO_GAP
            return k
        if vertices is not None:
            if br.table_is_full(vertices, i, rules):
                counts[br.REASON] = br.TABLE_FULL
                return k
        slot, current = begin_visit(parts, dual, vertices, gaps, rules, i, scratch, counts)
        value = 0.0
        if slot < 0:
            value = pt.block_argmax(
                parts.exhaustive, parts, dual.w, i, parts.zero_one_cost, scratch.oracle
            )
        finish_visit(parts, dual, vertices, gaps, rules, i, slot, value, current, scratch, counts)
    counts[br.REASON] = br.DONE
    return order.size


# ---- sweeps over all blocks --------------------------------------------------------------------


@njit
def sweep(parts, marginals, w, loss_weight, first, last, scratch, hinge, current, labels):
    """Argmax of blocks first..last at fixed w: values, current values (both above the truth's).

    With ``labels`` None there are current values alone, and no argmax.
    """
    for i in range(first, last):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        pt.block_scores(parts, w, i, loss_weight, scratch)
        true_value = pt.true_value(parts, w, i, scratch)
        current[i] = pt.current_value(parts, marginals, w, i, scratch) - true_value
        if labels is not None:
            zero_one_cost = loss_weight * parts.zero_one_cost
            value = pt.block_argmax(parts.exhaustive, parts, w, i, zero_one_cost, scratch)
            hinge[i] = value - true_value
            assign(labels[start:stop], scratch.labels[: stop - start])


@njit
def accumulate(parts, marginals, labels, lam, target, scratch):
    """``target += sum_i (p_i / lam) F_i' (e(y_i) - point_i)``; the point is mu_i or ``labels``."""
    for i in range(parts.weight.size):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        truth = parts.truth[start:stop]
        kind = br.FW if labels.size == 0 else br.PAIRWISE
        minus = truth if labels.size == 0 else labels[start:stop]
        pt.build_direction(parts, marginals, i, kind, truth, minus, scratch)
        pt.apply_adjoint(parts, i, scratch)
        pt.add_to_weights(parts, i, parts.weight[i] / lam, target, scratch)


@njit
def mix_labels(parts, marginals, vertices, labels, gamma, scratch, counts):
    """One common Frank-Wolfe step of all blocks towards ``labels``; weights are left to the caller.

    Every block must have a free slot when vertices are kept.
    """
    for i in range(parts.weight.size):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        target = labels[start:stop]
        p = parts.weight[i]
        pt.build_direction(parts, marginals, i, br.FW, target, target, scratch)
        pt.move_marginals(parts, marginals, i, gamma, scratch)
        marginals.loss[i] += gamma * (p * pt.labels_loss(parts, i, target) - marginals.loss[i])
        if vertices is not None:
            slot = find_vertex(parts, vertices, i, target)
            if slot < 0:
                slot = vertices.size[i]
                put_vertex(parts, vertices, i, slot, target)
            counts[br.DROPS] += br.move_mass(
                vertices.alpha[i], vertices.size[i], br.FW, slot, -1, gamma, 1.0
            )


@njit
def set_to_truth(parts, marginals):
    for i in range(parts.weight.size):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        for t in range(start, stop):
            marginals.nodes[t, parts.truth[t]] = 1.0
        pt.add_pairs(parts.mix, parts, i, parts.truth[start:stop], 1.0, marginals.tables[i])


@njit
def losses_of(parts, labels):
    """L_i of every block for a labeling of all nodes."""
    losses = np.empty(parts.weight.size)
    for i in range(parts.weight.size):
        losses[i] = pt.labels_loss(parts, i, labels[parts.node_start[i] : parts.node_start[i + 1]])
    return losses


@njit
def marginals_of_vertices(parts, marginals, vertices):
    """Rebuild marginals and losses from renormalized alphas: removes the drift of many steps."""
    for i in range(parts.weight.size):
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        size = vertices.size[i]
        normalize(vertices.alpha[i, :size])
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
            pt.add_pairs(parts.mix, parts, i, labels, alpha, marginals.tables[i])


# ---- primal baselines --------------------------------------------------------------------------


@njit
def subgradient_visits(parts, marginals, order, first_visit, lam, target, moments, scratch):
    """Steps of the subgradient method or the perceptron, see `_solvers._subgradient`."""
    oracle, step = scratch.oracle, scratch.step
    for m in range(order.size):
        i = order[m]
        visit = first_visit + m + 1
        start, stop = parts.node_start[i], parts.node_start[i + 1]
        loss_weight = lam * (visit - 1)
        if lam > 0.0 and visit == 1:
            loss_weight = 1.0  # w = 0: any positive multiple of the loss has the same argmax
        pt.block_scores(parts, target, i, loss_weight, oracle)
        zero_one_cost = loss_weight * parts.zero_one_cost
        pt.block_argmax(parts.exhaustive, parts, target, i, zero_one_cost, oracle)
        truth = parts.truth[start:stop]
        pt.build_direction(parts, marginals, i, br.PAIRWISE, truth, oracle.labels, step)
        pt.apply_adjoint(parts, i, step)
        factor = parts.weight[i] * parts.weight.size
        pt.add_to_weights(parts, i, factor, target, step)
        pt.add_to_weights(parts, i, factor * visit, moments, step)
