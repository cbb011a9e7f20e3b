"""A training set seen through its parts: scores, values and directions of one block.

Notation (Osokin et al., ICML 2016). Sample i has part scores ``theta_i = F_i w``: one row of
``n_states`` numbers per node and one table per kind of edge. Its dual variable is kept as the part
marginals ``mu_i = sum_y alpha_i(y) e(y)``, so that with ``p_i`` the weight of the sample

    w = sum_i (p_i / lam) F_i' (e(y_i) - mu_i),        l = sum_i p_i sum_y alpha_i(y) L_i(y)

and a step of size gamma along a direction ``delta`` of marginals moves ``w`` by
``-gamma (p_i / lam) F_i' delta``. Only the rows of ``delta`` that are not zero are touched.
"""

from typing import NamedTuple

import numpy as np

from .._jit import inlined, inner
from ..common.rows import AHEAD, fetch
from ..common.vectors import assign, dot
from ..graphs.tree import enumerate_argmax, tree_argmax, tree_runner_up
from .block_rules import AWAY, FW, PAIRWISE
from .edge_mix import add_mixed_pair, mirror, mix_tables

# Score of a state that a node lacks: finite, because its mass of zero is multiplied with it, and
# so low that no sum of other scores makes up for it.
LACKING = -1e300
NEAR = 2**16  # weights that are in the cache anyway


class Parts(NamedTuple):
    """The training set seen through its parts (never written to)."""

    row_start: np.ndarray  # (n + 1,) feature rows of sample i
    indptr: np.ndarray  # (n_rows + 1,) entries of a row
    local: np.ndarray  # (nnz,) attribute of an entry, numbered within its sample
    data: np.ndarray  # (nnz,) its value, float32 or float64
    attribute_start: np.ndarray  # (n + 1,) distinct attributes of sample i ...
    attributes: np.ndarray  # ... and their numbers in the weight vector
    node_start: np.ndarray  # (n + 1,)
    edge_start: np.ndarray  # (n,) edges of sample i, a range of the (shared) edge list
    edge_stop: np.ndarray  # (n,)
    edges: np.ndarray  # (n_edges, 2) int64: child, parent within the sample, as in tree.py
    edge_table: np.ndarray  # (n_edges,) int64
    mix: object  # `EdgeMix` of all edges in place of edge_table; None where none is needed
    n_own: object  # (n_nodes,) states that a node has; None where all have n_states
    # None where the oracle passes messages and zero_one_cost is 0, else whether it tries all
    # labelings (small graphs with cycles): numba compiles none of the code for the rest.
    exhaustive: object
    truth: np.ndarray  # (n_nodes,) int32
    node_cost: np.ndarray  # (n_nodes,) factor of the cost of a node
    cost_row: np.ndarray  # (n_nodes,) int32 row of its costs
    cost: np.ndarray  # (n_cost_rows, n_states) cost of each state, zero for the true one
    zero_one_cost: float  # cost of any difference at all (zero-one loss), else 0
    weight: np.ndarray  # (n,) p_i, summing to one
    n_attributes: int
    n_columns: int  # scores per feature row: n_states times the nodes that share the row
    n_tables: int


class Weights(NamedTuple):
    """One weight vector seen as rows of attributes and as tables of edges (views, never copies)."""

    rows: np.ndarray  # (n_attributes, n_columns)
    tables: np.ndarray  # (n_tables, n_states, n_states)
    flat_tables: np.ndarray  # (n_tables * n_states^2,)


class Marginals(NamedTuple):
    """The distribution of every block, as the marginals of its parts."""

    nodes: np.ndarray  # (n_nodes, n_states)
    tables: np.ndarray  # (n, n_tables * n_states^2), summed over edges of one kind
    loss: np.ndarray  # (n,) p_i times the expected loss


class Dual(NamedTuple):
    marginals: Marginals
    v: Weights  # before clipping to the bounds
    w: Weights  # the very same arrays as v where there are no bounds
    lower: object  # `Weights`; None where there are no bounds
    upper: object
    moments: Weights  # sum_j j (j - 1) / 2 (v_j - v_{j-1}); empty when not averaging
    loss_moment: np.ndarray  # (1,) the same for l


class OracleScratch(NamedTuple):
    """Working memory of one thread for scores and the oracle."""

    scores: np.ndarray  # (longest, n_states)
    score_rows: np.ndarray  # the same memory as (most rows, n_columns)
    messages: np.ndarray  # (longest + 1, n_states)
    labels: np.ndarray  # (longest,) int32: the oracle's answer
    edge_numbers: np.ndarray  # (most edges,) 0, 1, 2, ...; empty without a mix
    edge_tables: np.ndarray  # (most edges, n_states, n_states) tables of a mix


class StepScratch(NamedTuple):
    delta: np.ndarray  # (longest, n_states) direction of node marginals
    delta_rows: np.ndarray  # the same memory as (most rows, n_columns)
    delta_tables: np.ndarray  # (n_tables * n_states^2,)
    active: np.ndarray  # (most rows,) rows where delta is not zero
    buffer: np.ndarray  # (most attributes, n_columns) F' delta
    stamp: np.ndarray  # (most attributes,) clock value of the last use
    touched: np.ndarray  # (most attributes,) attributes with a nonzero row
    clock: np.ndarray  # (2,) clock, number of touched attributes


class Scratch(NamedTuple):
    """The same for visits; what a function takes no part of is compiled into it all the same."""

    oracle: OracleScratch
    step: StepScratch
    away_labels: np.ndarray  # (longest,) int32
    values: np.ndarray  # (capacity,) H_i of each vertex


# ---- scores and values -------------------------------------------------------------------------


@inner
def block_scores(parts, w, i, loss_weight, scratch):
    """``theta_i`` plus ``loss_weight`` times the node losses, into ``scratch.scores``."""
    n_states = parts.cost.shape[1]
    n_columns = parts.n_columns
    first, stop = parts.row_start[i], parts.indptr[parts.row_start[i + 1]]
    until = stop if w.rows.size > NEAR else 0
    attributes = parts.attributes[parts.attribute_start[i] : parts.attribute_start[i + 1]]
    for r in range(parts.row_start[i + 1] - first):
        out = scratch.score_rows[r]
        for c in range(n_columns):
            out[c] = 0.0
        for q in range(parts.indptr[first + r], parts.indptr[first + r + 1]):
            if q + AHEAD < until:
                fetch(w.rows, attributes[parts.local[q + AHEAD]])
            x = parts.data[q]
            row = w.rows[attributes[parts.local[q]]]
            for c in range(n_columns):
                out[c] += x * row[c]
    if loss_weight != 0.0:
        start = parts.node_start[i]
        for t in range(parts.node_start[i + 1] - start):
            factor = loss_weight * parts.node_cost[start + t]
            out, cost = scratch.scores[t], parts.cost[parts.cost_row[start + t]]
            for k in range(n_states):
                out[k] += factor * cost[k]

    _score_edges(parts.mix, parts, w, i, scratch)
    _leave_out(parts.n_own, parts, i, scratch)


@inner
def _score_edges(mix, parts, w, i, scratch):
    """Tables of all edges, where they are sums."""
    if mix is None:
        return
    mix_tables(mix, parts.edge_start[i], parts.edge_stop[i], w.tables, scratch.edge_tables)


@inner
def _leave_out(n_own, parts, i, scratch):
    """Scores of the states that nodes lack."""
    if n_own is None:
        return
    start = parts.node_start[i]
    for t in range(parts.node_start[i + 1] - start):
        for k in range(n_own[start + t], parts.cost.shape[1]):
            scratch.scores[t, k] = LACKING


@inner
def tables_of(mix, parts, w, i, scratch):
    """Number of the table of each edge of block i, and the tables, after `block_scores`."""
    if mix is None:
        return parts.edge_table[parts.edge_start[i] : parts.edge_stop[i]], w.tables
    n_edges = parts.edge_stop[i] - parts.edge_start[i]
    return scratch.edge_numbers[:n_edges], scratch.edge_tables


@inner
def add_pairs(mix, parts, i, labels, factor, out):
    """``out += factor`` times the pairs of a labeling, summed into flat tables."""
    n_states = parts.cost.shape[1]
    for e in range(parts.edge_start[i], parts.edge_stop[i]):
        a, b = labels[parts.edges[e, 0]], labels[parts.edges[e, 1]]
        if mix is None:
            out[(parts.edge_table[e] * n_states + a) * n_states + b] += factor
        else:
            add_mixed_pair(mix, e, a, b, factor, n_states, out)
    mirror(mix, n_states, out)


@inner
def _whole_cost(parts, i, labels):
    """Cost of any difference at all from the truth."""
    start = parts.node_start[i]
    for t in range(parts.node_start[i + 1] - start if parts.zero_one_cost > 0.0 else 0):
        if labels[t] != parts.truth[start + t]:
            return parts.zero_one_cost
    return 0.0


@inner
def labels_value(parts, w, i, labels, scratch):
    """H_i of a labeling: score plus loss, from the scores of `block_scores`."""
    start = parts.node_start[i]
    value = _whole_cost(parts, i, labels)
    for t in range(parts.node_start[i + 1] - start):
        value += scratch.scores[t, labels[t]]
    edge_table, tables = tables_of(parts.mix, parts, w, i, scratch)
    first = parts.edge_start[i]
    for e in range(edge_table.size):
        child, parent = parts.edges[first + e, 0], parts.edges[first + e, 1]
        value += tables[edge_table[e], labels[child], labels[parent]]
    return value


@inner
def true_value(parts, w, i, scratch):
    truth = parts.truth[parts.node_start[i] : parts.node_start[i + 1]]
    return labels_value(parts, w, i, truth, scratch)


@inner
def labels_loss(parts, i, labels):
    start = parts.node_start[i]
    loss = _whole_cost(parts, i, labels)
    for t in range(parts.node_start[i + 1] - start):
        loss += parts.node_cost[start + t] * parts.cost[parts.cost_row[start + t], labels[t]]
    return loss


@inner
def current_value(parts, marginals, w, i, scratch):
    """Sum_y alpha_i(y) H_i(y) at the marginals of block i."""
    start = parts.node_start[i]
    value = dot(marginals.tables[i], w.flat_tables)
    for t in range(parts.node_start[i + 1] - start):
        value += dot(marginals.nodes[start + t], scratch.scores[t])
    if parts.zero_one_cost > 0.0:
        value += marginals.loss[i] / parts.weight[i]
    return value


@inner
def block_argmax(exhaustive, parts, w, i, zero_one_cost, scratch):
    """The exact oracle: MAP labeling under `block_scores`, into ``scratch.labels``.

    Every labeling but the truth gets ``zero_one_cost`` on top. Returns the value.
    """
    start, stop = parts.node_start[i], parts.node_start[i + 1]
    edges = parts.edges[parts.edge_start[i] : parts.edge_stop[i]]
    edge_table, tables = tables_of(parts.mix, parts, w, i, scratch)
    scores, labels = scratch.scores[: stop - start], scratch.labels[: stop - start]
    if exhaustive is None:
        return tree_argmax(scores, edges, edge_table, tables, labels, scratch.messages)
    truth = parts.truth[start:stop]
    if exhaustive:
        value = enumerate_argmax(scores, edges, edge_table, tables, labels, -1)
    else:
        value = tree_argmax(scores, edges, edge_table, tables, labels, scratch.messages)
    if zero_one_cost == 0.0 or _whole_cost(parts, i, labels) > 0.0:
        return value + zero_one_cost
    # The truth has the best score: the cost may lift the second best above it.
    if exhaustive:
        number = 0
        for t in range(truth.size):
            number = number * scores.shape[1] + truth[t]
        loss = value - enumerate_argmax(scores, edges, edge_table, tables, labels, number)
    else:
        loss = tree_runner_up(scores, edges, edge_table, tables, labels, scratch.messages)
    if loss < zero_one_cost:
        return value - loss + zero_one_cost
    assign(labels, truth)
    return value


# ---- directions --------------------------------------------------------------------------------


@inner
def build_direction(parts, marginals, i, kind, plus, minus, scratch):
    """Direction of marginals: FW ``plus - mu``, PAIRWISE ``plus - minus``, AWAY ``mu - minus``."""
    n_states = parts.cost.shape[1]
    start, stop = parts.node_start[i], parts.node_start[i + 1]
    nodes_per_row = parts.n_columns // n_states
    for r in range(parts.row_start[i + 1] - parts.row_start[i]):
        scratch.active[r] = False
    sign = -1.0 if kind == FW else (1.0 if kind == AWAY else 0.0)
    for t in range(stop - start):
        # A node whose mass is all on one state stays exactly there: it costs nothing.
        if kind == PAIRWISE:
            still = plus[t] == minus[t]
        elif kind == FW:
            still = marginals.nodes[start + t, plus[t]] == 1.0
        else:
            still = marginals.nodes[start + t, minus[t]] == 1.0
        if still and nodes_per_row == 1:
            continue
        delta, mass = scratch.delta[t], marginals.nodes[start + t]
        factor = 0.0 if still else sign
        for k in range(n_states):
            delta[k] = factor * mass[k]
        if not still:
            scratch.active[t // nodes_per_row] = True
            if kind != AWAY:
                delta[plus[t]] += 1.0
            if kind != FW:
                delta[minus[t]] -= 1.0
    delta, mass = scratch.delta_tables, marginals.tables[i]
    for a in range(delta.size):
        delta[a] = sign * mass[a]
    if kind != AWAY:
        add_pairs(parts.mix, parts, i, plus, 1.0, delta)
    if kind != FW:
        add_pairs(parts.mix, parts, i, minus, -1.0, delta)


@inner
def apply_adjoint(parts, i, scratch):
    """``F_i' delta`` into the buffer, one row per attribute touched; returns its squared norm."""
    n_columns = parts.n_columns
    first = parts.row_start[i]
    scratch.clock[0] += 1
    clock = scratch.clock[0]
    n_touched = 0
    for r in range(parts.row_start[i + 1] - first):
        if not scratch.active[r]:
            continue
        delta = scratch.delta_rows[r]
        for q in range(parts.indptr[first + r], parts.indptr[first + r + 1]):
            x = parts.data[q]
            a = parts.local[q]
            row = scratch.buffer[a]
            if scratch.stamp[a] != clock:
                scratch.stamp[a] = clock
                scratch.touched[n_touched] = a
                n_touched += 1
                for c in range(n_columns):
                    row[c] = x * delta[c]
            else:
                for c in range(n_columns):
                    row[c] += x * delta[c]
    scratch.clock[1] = n_touched
    norm = dot(scratch.delta_tables, scratch.delta_tables)
    for m in range(n_touched):
        row = scratch.buffer[scratch.touched[m]]
        norm += dot(row, row)
    return norm


@inner
def add_to_weights(parts, i, factor, target, scratch):
    """``target += factor * F_i' delta`` from the buffer of `apply_adjoint`."""
    attributes = parts.attributes[parts.attribute_start[i] : parts.attribute_start[i + 1]]
    for m in range(scratch.clock[1]):
        a = scratch.touched[m]
        row, source = target.rows[attributes[a]], scratch.buffer[a]
        for c in range(parts.n_columns):
            row[c] += factor * source[c]
    tables, source = target.flat_tables, scratch.delta_tables
    for a in range(tables.size):
        tables[a] += factor * source[a]


@inner
def clip_row(v, lower, upper, w):
    for c in range(w.size):
        w[c] = min(max(v[c], lower[c]), upper[c])


@inner
def clip_weights(lower, parts, dual, i, scratch):
    """Project the coordinates that block i just moved onto the bounds, where there are any."""
    if lower is None:
        return
    v, upper, w = dual.v, dual.upper, dual.w
    attributes = parts.attributes[parts.attribute_start[i] : parts.attribute_start[i + 1]]
    for m in range(scratch.clock[1]):
        a = attributes[scratch.touched[m]]
        clip_row(v.rows[a], lower.rows[a], upper.rows[a], w.rows[a])
    clip_row(v.flat_tables, lower.flat_tables, upper.flat_tables, w.flat_tables)


@inner
def move_marginals(parts, marginals, i, gamma, scratch):
    """``mu_i += gamma * delta``."""
    n_states = parts.cost.shape[1]
    start = parts.node_start[i]
    nodes_per_row = parts.n_columns // n_states
    for t in range(parts.node_start[i + 1] - start):
        if scratch.active[t // nodes_per_row]:
            mass, delta = marginals.nodes[start + t], scratch.delta[t]
            for k in range(n_states):
                mass[k] += gamma * delta[k]
    mass, delta = marginals.tables[i], scratch.delta_tables
    for a in range(mass.size):
        mass[a] += gamma * delta[a]


@inlined
def take_step(parts, dual, i, lam, gamma, loss_change, visit, scratch):
    """Move block i by ``gamma`` along the direction in ``scratch`` (adjoint already applied)."""
    move_marginals(parts, dual.marginals, i, gamma, scratch)
    dual.marginals.loss[i] += gamma * loss_change
    factor = -gamma * parts.weight[i] / lam
    add_to_weights(parts, i, factor, dual.v, scratch)
    if dual.moments.rows.size > 0:
        lag = 0.5 * visit * (visit - 1.0)
        add_to_weights(parts, i, lag * factor, dual.moments, scratch)
        dual.loss_moment[0] += lag * gamma * loss_change
    clip_weights(dual.lower, parts, dual, i, scratch)
