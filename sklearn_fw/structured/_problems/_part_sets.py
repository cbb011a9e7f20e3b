"""Training sets of parts: their sizes, pieces of large graphs, other true labelings."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, dijkstra

from ..._core.packed import starts_of
from ..._kernels import lazy
from ...inference import ICM, QPBO, TRWS, BestOf, Elimination, GraphCut, IteratedLocalSearch

rows_kernels = lazy("common.rows")

# Approximate oracles, and those by cuts: seconds of a call, and for each pair of states of an edge.
QUICK = (BestOf, GraphCut, ICM, IteratedLocalSearch, QPBO, TRWS)
SECONDS_OF_CALL, SECONDS_OF_PAIR = 2e-4, 5e-7
SECONDS_OF_TERM = 3e-9  # of the score of one labeling, where all are tried
# Of the time that elimination takes for marginals; and samples that it is asked about.
SHARE_OF_ARGMAX, ASKED = 1 / 3, 20


def check_sum(parts, purpose, kind=ValueError):
    """Refuse a cost of whole outputs."""
    if parts.zero_one_cost > 0.0:
        raise kind(f"{purpose} a task_loss that is a sum over nodes, such as 'hamming'")


def mean_square(parts):
    """Mean over samples of the squared norm of the features of the nodes that have a label."""
    totals = np.zeros(len(parts.data) + 1)
    np.square(parts.data, out=totals[1:], dtype=np.float64)
    np.cumsum(totals, out=totals)
    totals = np.diff(totals[parts.indptr])  # of rows
    n_costly = is_costly(parts).reshape(len(totals), -1).sum(axis=1)
    return float(parts.weight @ np.add.reduceat(n_costly * totals, parts.row_start[:-1]))


def n_costly(parts):
    """Number of nodes of each sample whose state may cost something."""
    return np.add.reduceat(is_costly(parts).astype(np.int64), parts.node_start[:-1])


def is_costly(parts):
    """Whether the state of each node may cost something: not where a label is missing."""
    return parts.cost.any(axis=1)[parts.cost_row]


def seconds_of_pass(oracle, graph, parts, n_states, marginals):
    """An estimate by sizes alone, hence reproducible; inf for oracles of unknown cost."""
    n_samples, n_edges = len(parts.node_start) - 1, graph.n_edges
    if type(oracle) is Elimination:
        by_size = np.argsort(n_edges, kind="stable")[::-1]
        asked = by_size[:: -(-n_samples // ASKED)]  # the largest one is among them
        seconds = np.mean([_seconds_of_marginals(oracle, graph, parts, n_states, i) for i in asked])
        return n_samples * (SECONDS_OF_CALL + (1.0 if marginals else SHARE_OF_ARGMAX) * seconds)
    if parts.exhaustive:
        n_nodes = np.diff(parts.node_start)
        return SECONDS_OF_TERM * float(float(n_states) ** n_nodes @ (n_nodes + n_edges))
    if isinstance(oracle, QUICK):
        n_pairs = float(n_edges.sum()) * n_states**2
        return n_samples * SECONDS_OF_CALL + SECONDS_OF_PAIR * n_pairs
    return np.inf


def _seconds_of_marginals(oracle, graph, parts, n_states, i):
    n_nodes = parts.node_start[i + 1] - parts.node_start[i]
    tables = np.zeros((parts.n_tables, n_states, n_states))
    return oracle.cost(graph.scores(i, np.zeros((n_nodes, n_states)), tables))


# ---- pieces --------------------------------------------------------------------------------------
# Large graphs cut into connected pieces, where there are too few of them to hold some out.


def can_be_cut(parts):
    """Whether every node has a feature row of its own, and the loss is a sum over nodes."""
    return parts.n_columns == parts.cost.shape[1] and parts.zero_one_cost == 0.0


def cells(parts, n_nodes, rng):
    """Number of the piece of every node, of about ``n_nodes`` nodes each.

    Nodes belong to the nearest of some drawn in every sample; unreached ones are pieces.
    """
    edges, _ = edges_of_samples(parts)
    n, lengths = len(parts.truth), np.diff(parts.node_start)
    graph = sp.csr_array((np.ones(len(edges)), tuple(edges.T)), shape=(n, n))
    seeds = np.concatenate(
        [
            start + rng.choice(length, max(1, round(length / n_nodes)), replace=False)
            for start, length in zip(parts.node_start, lengths)
        ]
    )
    nearest = dijkstra(
        graph, directed=False, indices=seeds, unweighted=True, min_only=True,
        return_predecessors=True,
    )[2]  # fmt: skip
    component = connected_components(graph, directed=False)[1]
    return np.unique(np.where(nearest < 0, n + component, nearest), return_inverse=True)[1]


def regrouped(parts, group):
    """The training set whose samples are groups of nodes, with the edges within them.

    ``group`` is below 0 for nodes that are left out, and does not cross samples. A group weighs as
    much as its sample; weights sum to one.
    """
    kept = group >= 0
    group = np.where(kept, np.unique(group[kept], return_inverse=True)[1][np.cumsum(kept) - 1], -1)
    nodes = np.flatnonzero(kept)
    nodes = nodes[np.argsort(group[nodes], kind="stable")]
    counts = np.bincount(group[nodes])
    node_start = starts_of(counts)
    place = np.full(len(group), -1)
    place[nodes] = np.arange(len(nodes)) - np.repeat(node_start[:-1], counts)
    ends, source = edges_of_samples(parts)
    groups = group[ends]
    within = np.flatnonzero((groups[:, 0] == groups[:, 1]) & (groups[:, 0] >= 0))
    within = within[np.argsort(groups[within, 0], kind="stable")]
    edge_start = starts_of(np.bincount(groups[within, 0], minlength=len(counts)))
    source = source[within]
    first = nodes[node_start[:-1]]
    weight = parts.weight[np.searchsorted(parts.node_start, first, side="right") - 1]
    rows = rows_of(parts)[nodes]
    indptr = rows.indptr.astype(np.int64)
    local, attribute_start, attributes = rows_kernels.number_locally(
        node_start, indptr, rows.indices, parts.n_attributes
    )
    return parts._replace(
        row_start=node_start, indptr=indptr, local=local, data=rows.data,
        attribute_start=attribute_start, attributes=attributes, node_start=node_start,
        edge_start=edge_start[:-1], edge_stop=edge_start[1:], edges=place[ends[within]],
        edge_table=parts.edge_table[source],
        mix=None if parts.mix is None else _mix_of(parts.mix, source),
        n_own=None if parts.n_own is None else parts.n_own[nodes], exhaustive=False,
        truth=parts.truth[nodes], node_cost=parts.node_cost[nodes], cost_row=parts.cost_row[nodes],
        weight=weight / weight.sum(),
    )  # fmt: skip


class UsedWeights(NamedTuple):
    """The weights of some attributes, and all tables, among those of all attributes."""

    used: np.ndarray  # numbers of the attributes, ascending
    n_attributes: int
    n_columns: int

    def of(self, w):
        rows, tables = np.split(w, [self.n_attributes * self.n_columns])
        own = rows.reshape(self.n_attributes, self.n_columns).take(self.used, axis=0)
        return np.concatenate([own.ravel(), tables])

    def places(self, at):
        """Where some of these weights are among all."""
        row, column = np.divmod(at, self.n_columns)
        moved = self.used.take(row, mode="clip") * self.n_columns + column
        behind = at + (self.n_attributes - len(self.used)) * self.n_columns
        return np.where(row < len(self.used), moved, behind)


def edges_of_samples(parts):
    """Edges of all samples by numbers of all nodes, and where each is in ``parts.edges``."""
    counts = parts.edge_stop - parts.edge_start
    source = np.arange(counts.sum()) + np.repeat(parts.edge_start - starts_of(counts)[:-1], counts)
    return parts.edges[source] + np.repeat(parts.node_start[:-1], counts)[:, None], source


def rows_of(parts):
    """CSR of the feature rows of all samples, constants included."""
    n_entries = np.diff(parts.indptr[parts.row_start])
    columns = parts.attributes[np.repeat(parts.attribute_start[:-1], n_entries) + parts.local]
    shape = len(parts.indptr) - 1, parts.n_attributes
    return sp.csr_array((parts.data, columns, parts.indptr), shape=shape)


def _mix_of(mix, edges):
    rows = sp.csr_array(
        (mix.value, mix.table, mix.indptr), shape=(len(mix.turned), len(mix.mirror))
    )[edges]
    return mix._replace(
        indptr=rows.indptr.astype(np.int64),
        table=rows.indices.astype(np.int64),
        value=rows.data,
        turned=mix.turned[edges],
    )


# ---- other targets -------------------------------------------------------------------------------
# True labelings that are replaced by others, as hidden states are found again.


def truth_of(blocks):
    return blocks._parts.truth


def per_node(blocks, values):
    return np.repeat(values, np.diff(blocks._parts.node_start))


def true_scores(blocks, w):
    view = blocks._view(w)
    asked = (blocks._question(blocks._parts, view, i, 0.0) for i in range(blocks.n_blocks))
    return np.fromiter((true for _, true, _ in asked), np.float64, blocks.n_blocks)


def retarget(blocks, truth):
    """Take other true labelings, which cost nothing either.

    Where outputs are kept, or are single nodes, mass on the old truth moves to the new one;
    elsewhere all mass of a sample does.
    """
    parts, nodes = blocks._parts._replace(truth=truth), blocks.marginals.nodes
    t = np.flatnonzero(truth != truth_of(blocks))
    old, new = truth_of(blocks)[t], truth[t]
    blocks._parts = parts
    if blocks.complete:
        labels = blocks._vertices.labels[t]
        was_old, was_new = labels == old[:, None], labels == new[:, None]
        labels = np.where(was_old, new[:, None], np.where(was_new, old[:, None], labels))
        blocks._vertices.labels[t] = labels
    else:
        nodes[t, old], nodes[t, new] = nodes[t, new], nodes[t, old]
        moved = np.zeros(blocks.n_blocks, bool)
        moved[np.searchsorted(parts.node_start, t, side="right") - 1] = True
        moved &= parts.edge_stop > parts.edge_start
        here, fresh = per_node(blocks, moved), blocks._marginals_of_truth()
        nodes[here] = fresh.nodes[here]
        blocks.marginals.tables[moved], blocks.marginals.loss[moved] = fresh.tables[moved], 0.0
    blocks._bind()
    blocks.refresh()
