"""Large graphs cut into connected pieces, where there are too few of them to hold some out."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, dijkstra

from ..._core.packed import starts_of
from ..._kernels import lazy

sparse = lazy("common.sparse")


def can_be_cut(parts):
    """Whether every node has a feature row of its own, and the loss is a sum over nodes."""
    return parts.n_columns == parts.cost.shape[1] and parts.whole_cost == 0.0


def cells(parts, n_nodes, rng):
    """Number of the piece of every node, of about so many nodes each.

    Nodes belong to the nearest of some that are drawn in every sample; what none of these reaches
    is a piece for itself.
    """
    edges, _ = _edges_of_samples(parts)
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

    Parameters
    ----------
    parts : _kernels.structured.parts.Parts
        Training set, of samples that `can_be_cut`.
    group : ndarray of shape (n_nodes,), int
        Number of the group of every node, all in one sample; nodes below 0 are left out.

    Returns
    -------
    parts : _kernels.structured.parts.Parts
        A group weighs as much as the sample that it is from; weights sum to one.
    """
    kept = group >= 0
    group = np.where(kept, np.unique(group[kept], return_inverse=True)[1][np.cumsum(kept) - 1], -1)
    nodes = np.flatnonzero(kept)
    nodes = nodes[np.argsort(group[nodes], kind="stable")]
    counts = np.bincount(group[nodes])
    node_start = starts_of(counts)
    place = np.full(len(group), -1)
    place[nodes] = np.arange(len(nodes)) - np.repeat(node_start[:-1], counts)
    ends, source = _edges_of_samples(parts)
    groups = group[ends]
    within = np.flatnonzero((groups[:, 0] == groups[:, 1]) & (groups[:, 0] >= 0))
    within = within[np.argsort(groups[within, 0], kind="stable")]
    edge_start = starts_of(np.bincount(groups[within, 0], minlength=len(counts)))
    source = source[within]
    samples = _sample_of_nodes(parts)
    weight = parts.weight[samples[nodes[node_start[:-1]]]]
    rows = _rows(parts, samples)[nodes]
    local, attribute_start, attributes = sparse.number_locally(
        node_start, rows.indptr.astype(np.int64), rows.indices, parts.n_attributes
    )
    return parts._replace(
        row_start=node_start,
        indptr=rows.indptr.astype(np.int64),
        local=local,
        data=rows.data,
        attribute_start=attribute_start,
        attributes=attributes,
        node_start=node_start,
        edge_start=edge_start[:-1],
        edge_stop=edge_start[1:],
        edges=place[ends[within]],
        edge_table=parts.edge_table[source],
        mix=None if parts.mix is None else _mix_of(parts.mix, source),
        n_own=None if parts.n_own is None else parts.n_own[nodes],
        exhaustive=False,
        truth=parts.truth[nodes],
        node_cost=parts.node_cost[nodes],
        cost_row=parts.cost_row[nodes],
        weight=weight / weight.sum(),
    )


def _sample_of_nodes(parts):
    lengths = np.diff(parts.node_start)
    return np.repeat(np.arange(len(lengths)), lengths)


def _edges_of_samples(parts):
    """Edges of all samples by numbers of all nodes, and where each is in ``parts.edges``."""
    counts = parts.edge_stop - parts.edge_start
    source = np.arange(counts.sum()) + np.repeat(parts.edge_start - starts_of(counts)[:-1], counts)
    return parts.edges[source] + np.repeat(parts.node_start[:-1], counts)[:, None], source


def _rows(parts, samples):
    """Features of all nodes, as CSR."""
    first = np.repeat(parts.attribute_start[samples], np.diff(parts.indptr))
    columns = parts.attributes[first + parts.local]
    shape = len(samples), parts.n_attributes
    return sp.csr_array((parts.data, columns, parts.indptr), shape=shape)


def _mix_of(mix, edges):
    """Of such edges."""
    rows = sp.csr_array(
        (mix.value, mix.table, mix.indptr), shape=(len(mix.turned), len(mix.mirror))
    )[edges]
    return mix._replace(
        indptr=rows.indptr.astype(np.int64),
        table=rows.indices.astype(np.int64),
        value=rows.data,
        turned=mix.turned[edges],
    )
