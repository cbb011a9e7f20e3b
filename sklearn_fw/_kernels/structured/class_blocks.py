"""Passes over blocks whose outputs are single nodes: each visit solves its whole sub-problem.

Where an output is one class, part marginals are dual variables, and the dual as a function of one
block is, up to a constant and with ``a = p |x|^2 / lam``,

    p (<g, mu'> - a / 2 |mu' - mu|^2),        g_k = H_i(k) at the current weights

whose maximizer over the simplex is the projection of ``mu + g / a`` (Crammer and Singer, 2001; in
this order of visits Keerthi et al., KDD 2008). Under bounds on w it is a minorant of the dual, so
that no step lowers it.
"""

import numpy as np

from .._jit import inner, njit
from ..common.prox import project_simplex
from .block_rules import CALLS, DONE, EXACT_STEPS, NO_GAP, REASON, VISITS, pick_block, set_gap
from .parts import clip_row

FEW = 0.25  # a smaller share of classes that change is worth a list of them


@inner
def _class_scores(columns, data, start, stop, rows, cost, factor, out):
    """Scores of the classes plus ``factor`` times their cost."""
    n_states = out.size
    for k in range(n_states):
        out[k] = factor * cost[k]
    q = start
    while q + 4 <= stop:  # four rows at once keep the sums in registers for longer
        a, b, c, d = columns[q], columns[q + 1], columns[q + 2], columns[q + 3]
        x, y, z, u = data[q], data[q + 1], data[q + 2], data[q + 3]
        for k in range(n_states):
            out[k] += x * rows[a, k] + y * rows[b, k] + (z * rows[c, k] + u * rows[d, k])
        q += 4
    while q < stop:
        a, x = columns[q], data[q]
        for k in range(n_states):
            out[k] += x * rows[a, k]
        q += 1


@inner
def _maximize(scores, best, mass, curvature, heap, target):
    """The marginals of largest ``<scores, target> - curvature / 2 |target - mass|^2``."""
    if curvature == 0.0:  # a sample without features: its loss alone counts
        for k in range(scores.size):
            target[k] = 0.0
        target[np.argmax(scores)] = 1.0
        return
    for k in range(scores.size):
        # Scores relative to the best one: the projection is the same, and rounding smaller.
        target[k] = mass[k] + (scores[k] - best) / curvature
    project_simplex(target, 1.0, heap)


@inner
def _add_to_rows(columns, data, start, stop, change, changed, n_changed, rows):
    """``rows[a] += x_a * change`` for the entries of one sample."""
    if n_changed <= FEW * change.size:
        for q in range(start, stop):
            a, x = columns[q], data[q]
            for m in range(n_changed):
                rows[a, changed[m]] += x * change[changed[m]]
        return
    for q in range(start, stop):
        a, x = columns[q], data[q]
        for k in range(change.size):
            rows[a, k] += x * change[k]


@inner
def _clip(bounds, columns, start, stop, dual):
    if bounds is None:
        return
    v, lower, upper, w = dual.v.rows, bounds.rows, dual.upper.rows, dual.w.rows
    for q in range(start, stop):
        a = columns[q]
        clip_row(v[a], lower[a], upper[a], w[a])


@njit
def exact_visits(parts, dual, columns, norms, gaps, rules, order, uniforms, counts, position):
    """Visit blocks from ``position`` of the order on; returns where it stopped (see REASON).

    Samples have ``columns`` (nnz,), the attributes of their entries, and ``norms`` (n,), |x_i|^2.
    """
    data, indptr = parts.data, parts.indptr
    w, v, moments = dual.w.rows, dual.v.rows, dual.moments.rows
    nodes, losses = dual.marginals.nodes, dual.marginals.loss
    n_states = nodes.shape[1]
    scores, heap = np.empty(n_states), np.empty(n_states)
    target, change = np.empty(n_states), np.empty(n_states)
    changed = np.empty(n_states, np.uint32)
    for m in range(position, order.size):
        i = pick_block(gaps, order[m], uniforms[m])
        if i < 0:
            counts[REASON] = NO_GAP
            return m
        if rules.shrink and gaps.value[i] == 0.0:
            continue  # every entry of such an order had a gap when it was made
        counts[VISITS] += 1
        counts[CALLS] += 1
        start, stop, p = indptr[i], indptr[i + 1], parts.weight[i]
        cost, factor = parts.cost[parts.cost_row[i]], parts.node_cost[i]
        _class_scores(columns, data, start, stop, w, cost, factor, scores)
        best, current = scores[0], 0.0
        for k in range(n_states):
            best = max(best, scores[k])
            current += nodes[i, k] * scores[k]
        gap = max(p * (best - current), 0.0)
        set_gap(gaps, i, gap, rules.gap_degree)
        if gap == 0.0:
            continue

        mass = nodes[i]
        _maximize(scores, best, mass, p * norms[i] / rules.lam, heap, target)
        loss, n_changed = 0.0, 0
        for k in range(n_states):
            loss += target[k] * cost[k]
            change[k] = p / rules.lam * (mass[k] - target[k])
            if change[k] != 0.0:
                changed[n_changed] = k
                n_changed += 1
            mass[k] = target[k]
        if n_changed == 0:
            continue
        counts[EXACT_STEPS] += 1
        loss_change = p * factor * loss - losses[i]
        losses[i] += loss_change
        _add_to_rows(columns, data, start, stop, change, changed, n_changed, v)
        if moments.size > 0:
            lag = 0.5 * counts[VISITS] * (counts[VISITS] - 1.0)
            dual.loss_moment[0] += lag * loss_change
            change *= lag
            _add_to_rows(columns, data, start, stop, change, changed, n_changed, moments)
        _clip(dual.lower, columns, start, stop, dual)
    counts[REASON] = DONE
    return order.size
