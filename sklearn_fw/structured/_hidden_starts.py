"""Where hidden states begin: clusters of the nodes of a label, and a classifier for the rest."""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

MOST_NODES = 10_000  # that clusters and classifiers are found on; the others follow


def start_states(model, rows, codes, init, rng):
    """States of all nodes that their labels allow.

    Parameters
    ----------
    model : HiddenStates
        What says how many states labels have.
    rows : Rows
        Stacked inputs.
    codes : ndarray of shape (n_nodes,), int32
        Number of the label of each node, negative where it is missing.
    init : {"k-means", "random"}
        Clusters of the nodes of each label by their features and by the labels of their
        neighbours; missing labels are those that a classifier of single nodes predicts. Or chance.
    rng : RandomState
        Source of chance.

    Returns
    -------
    states : ndarray of shape (n_nodes,), int32
        States.
    """
    allowed = model.allowed(codes, rows.kind)
    first, n_allowed = allowed.argmax(axis=1), allowed.sum(axis=1)
    if init == "random":
        return (first + rng.randint(n_allowed)).astype(np.int32)
    states = first.astype(np.int32)
    groups = _groups(model, rows, codes)
    own = groups[:, 0]
    for group in np.unique(own):  # a kind of node, or a place in a set of labels
        nodes = np.flatnonzero(own == group)
        missing = nodes[codes[nodes] < 0]
        for label in np.unique(codes[nodes]):
            here = nodes[codes[nodes] == label]
            if label < 0 and len(here) < len(nodes):
                continue
            n_states = n_allowed[here[0]]
            if n_states > 1:
                table = _table(model, rows, codes, here)
                states[here] = first[here] + _clusters(table, n_states, rng)
        known = nodes[codes[nodes] >= 0]
        if len(missing) and len(known):
            table = _row_features(model, rows)
            at = np.concatenate([known, missing]) // _nodes_per_row(model)
            states[missing] = _classified(table[at], states[known], rng)
    return states


def _nodes_per_row(model):
    return model.n_columns_ // model.n_states_


def _groups(model, rows, codes):
    """Number of the kind of each node, and of its place in its row."""
    place = np.arange(len(codes)) % _nodes_per_row(model)
    kind = np.zeros_like(place) if rows.kind is None else rows.kind
    return (kind * _nodes_per_row(model) + place)[:, None]


def _row_features(model, rows):
    return sp.csr_array(rows.matrix) if sp.issparse(rows.matrix) else rows.matrix


def _table(model, rows, codes, nodes):
    """Features of nodes and shares of the labels among their neighbours, both of one weight."""
    features = _row_features(model, rows)[nodes // _nodes_per_row(model)]
    shares = _neighbours(model, rows, codes)
    blocks = [_of_unit_spread(features)]
    if shares is not None:
        blocks.append(_of_unit_spread(shares[nodes]))
    if any(map(sp.issparse, blocks)):
        return sp.csr_array(sp.hstack(blocks, format="csr"))
    return np.hstack(blocks)


def _of_unit_spread(block):
    """Columns divided by the root of the sum of their variances."""
    square = np.asarray((block.multiply(block) if sp.issparse(block) else block**2).mean(axis=0))
    spread = float(np.sum(square - np.asarray(block.mean(axis=0)) ** 2))
    # Of columns that are constant but for rounding nothing is to be learnt.
    return block * (1.0 / np.sqrt(spread) if spread > 1e-12 * square.sum() else 0.0)


def _neighbours(model, rows, codes):
    """Share of each label among the neighbours of each node; None without edges."""
    graph = model._graph_of(rows)
    counts = graph.n_edges
    if not counts.sum():
        return None
    sample = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(sample)) - np.repeat(np.cumsum(counts) - counts, counts)
    edges = graph.edges[graph.start[sample] + within] + rows.node_start[sample, None]
    n_nodes, n_labels = len(codes), model.first_.shape[1] - 1
    kind = np.zeros_like(codes) if rows.kind is None else rows.kind
    known = np.flatnonzero(codes >= 0)
    labels = sp.csr_array(
        (np.ones(len(known)), (known, (kind * n_labels + codes)[known])),
        shape=(n_nodes, n_labels * len(model.first_)),
    )
    ends = np.concatenate([edges, edges[:, ::-1]])
    joined = sp.csr_array((np.ones(len(ends)), tuple(ends.T)), shape=(n_nodes, n_nodes))
    shares = (joined @ labels).toarray()
    return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1.0)


def _clusters(table, n_states, rng):
    """Numbers of clusters; states that no node is left for stay empty."""
    chosen = rng.permutation(table.shape[0])[:MOST_NODES]
    means = KMeans(min(n_states, len(chosen)), n_init=1, random_state=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different nodes than states
        means.fit(table[chosen])
    return means.predict(table)


def _classified(table, states, rng):
    """States of the last rows of a table by a linear classifier of the first ones."""
    from ._models import MulticlassModel
    from ._svm import StructuredSVM

    n_known = len(states)
    if np.all(states == states[0]):
        return np.full(table.shape[0] - n_known, states[0])
    chosen = np.unique(np.append(rng.permutation(n_known)[:MOST_NODES], _one_each(states)))
    square = table[chosen].multiply(table[chosen]) if sp.issparse(table) else table[chosen] ** 2
    svm = StructuredSVM(
        MulticlassModel(), C=1.0 / (1.0 + square.sum() / len(chosen)), tol=0.1, random_state=rng
    )
    return svm.fit(table[chosen], states[chosen]).predict(table[n_known:])


def _one_each(states):
    return np.unique(states, return_index=True)[1]
