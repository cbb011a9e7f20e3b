"""Passes over blocks whose outputs are single nodes: each visit solves its whole sub-problem.

Where an output is one class, part marginals are dual variables, and the dual as a function of one
block is, up to a constant and with ``a = p |x|^2 / lam``,

    p (<g, mu'> - a / 2 |mu' - mu|^2),        g_k = H_i(k) at the weights of the moment

whose maximiser over the simplex is the projection of ``mu + g / a`` (Crammer and Singer, 2001; in
this order of visits Keerthi et al., KDD 2008). Under bounds on w it is a minorant of the dual, so
that no step lowers it.
"""

import numpy as np

from ._jit import inner, njit
from .block_rules import CALLS, DONE, EXACT_STEPS, NO_GAP, REASON, VISITS, pick_block, set_gap
from .parts import apply_adjoint, block_scores, clip_row, dot

FEW = 0.25  # a smaller share of classes that change is worth a list of them


@njit
def squared_norms(parts, scratch, norms):
    """|x_i|^2 of every sample, which has one row of features each."""
    for i in range(norms.size):
        for k in range(parts.n_columns):
            scratch.delta[0, k] = 0.0
        scratch.delta[0, 0] = 1.0
        scratch.active[0] = True
        norms[i] = apply_adjoint(parts, i, scratch)


@inner
def project_simplex(point, ordered, out):
    """Nearest point of the simplex to ``point``; ``ordered`` is working memory."""
    n = point.size
    for k in range(n):  # by insertion: classes are few
        value, place = point[k], k
        while place > 0 and ordered[place - 1] < value:
            ordered[place] = ordered[place - 1]
            place -= 1
        ordered[place] = value
    total, shift = 0.0, 0.0
    for k in range(n):
        total += ordered[k]
        candidate = (total - 1.0) / (k + 1)
        if ordered[k] <= candidate:
            break
        shift = candidate
    for k in range(n):
        out[k] = max(point[k] - shift, 0.0)


@inner
def _maximise(scores, best, mass, curvature, work, target):
    """The marginals of largest ``<scores, target> - curvature / 2 |target - mass|^2``."""
    if curvature == 0.0:  # a sample without features: its loss alone counts
        for k in range(scores.size):
            target[k] = 0.0
        target[np.argmax(scores)] = 1.0
        return
    point, largest = work[0], -np.inf
    for k in range(scores.size):
        # Scores relative to the best one: the projection is the same, and rounding smaller.
        point[k] = mass[k] + (scores[k] - best) / curvature
        largest = max(largest, point[k])
    for k in range(scores.size):
        point[k] -= largest
    project_simplex(point, work[1], target)


@inner
def _add_to_rows(parts, i, change, changed, n_changed, rows):
    """``rows[a] += x_a * change`` for the attributes of sample i."""
    attributes = parts.attributes[parts.attribute_start[i] : parts.attribute_start[i + 1]]
    few = n_changed <= FEW * change.size
    for q in range(parts.indptr[i], parts.indptr[i + 1]):
        x, row = parts.data[q], rows[attributes[parts.local[q]]]
        if few:
            for m in range(n_changed):
                row[changed[m]] += x * change[changed[m]]
        else:
            for k in range(change.size):
                row[k] += x * change[k]


@inner
def _take_step(parts, dual, i, lam, visit, target, change, changed):
    """Move block i to the marginals ``target``; returns whether it moved."""
    mass, p, cost = dual.nodes[i], parts.weight[i], parts.cost[parts.truth[i]]
    loss, n_changed = 0.0, 0
    for k in range(mass.size):
        loss += target[k] * cost[k]
        change[k] = p / lam * (mass[k] - target[k])
        if change[k] != 0.0:
            changed[n_changed] = k
            n_changed += 1
        mass[k] = target[k]
    if n_changed == 0:
        return False
    loss_change = p * parts.node_cost[i] * loss - dual.loss[i]
    dual.loss[i] += loss_change
    _add_to_rows(parts, i, change, changed, n_changed, dual.v.rows)
    if dual.moments.rows.size > 0:
        lag = 0.5 * visit * (visit - 1.0)
        dual.loss_moment[0] += lag * loss_change
        for k in range(change.size):
            change[k] *= lag
        _add_to_rows(parts, i, change, changed, n_changed, dual.moments.rows)
    if dual.lower.rows.size > 0:
        for a in parts.attributes[parts.attribute_start[i] : parts.attribute_start[i + 1]]:
            clip_row(dual.v.rows[a], dual.lower.rows[a], dual.upper.rows[a], dual.w.rows[a])
    return True


@njit
def exact_visits(parts, dual, norms, gaps, rules, order, uniforms, scratch, counts, position):
    """Visit blocks from ``position`` of the order on; returns where it stopped (see REASON)."""
    scores, n_states = scratch.scores[0], parts.cost.shape[0]
    work, changed = np.empty((4, n_states)), np.empty(n_states, np.int64)
    target, change = work[2], work[3]
    for m in range(position, order.size):
        i = pick_block(gaps, order[m], uniforms[m])
        if i < 0:
            counts[REASON] = NO_GAP
            return m
        if rules.shrink and gaps.value[i] == 0.0:
            continue  # every entry of such an order had a gap when it was made
        counts[VISITS] += 1
        counts[CALLS] += 1
        block_scores(parts, dual.w, i, 1.0, scratch)
        best, p, mass = scores.max(), parts.weight[i], dual.nodes[i]
        gap = max(p * (best - dot(mass, scores)), 0.0)
        set_gap(gaps, i, gap, rules.gap_degree)
        if gap == 0.0:
            continue
        _maximise(scores, best, mass, p * norms[i] / rules.lam, work, target)
        if _take_step(parts, dual, i, rules.lam, counts[VISITS], target, change, changed):
            counts[EXACT_STEPS] += 1
    counts[REASON] = DONE
    return order.size
