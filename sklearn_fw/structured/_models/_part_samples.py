"""What a model says of one input: nodes, edges and their features, checked."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._core.scores import as_array, is_forest
from ..._core.validation import check_array_of_numbers, check_magnitude


class Sample(NamedTuple):
    """What `PartModel.parts` says of one input, checked."""

    x: object  # the input
    nodes: list  # one array of features for each kind
    edges: list  # one (pairs, features or None) for each kind
    weight: object = None  # of nodes, or None

    @property
    def n_nodes(self):
        """Nodes of all kinds."""
        return sum(rows.shape[0] for rows in self.nodes)

    @property
    def node_features(self):
        """Numbers of features of the kinds of nodes; None where there is no node."""
        return [rows.shape[1] if rows.shape[0] else None for rows in self.nodes]

    @property
    def edge_features(self):
        """Numbers of features of the kinds of edges; None where there is no edge."""
        return [
            None if not len(pairs) else 0 if z is None else z.shape[1] for pairs, z in self.edges
        ]


def kinds(samples):
    """Kind of every node of some samples."""
    counts = [[rows.shape[0] for rows in sample.nodes] for sample in samples]
    return np.repeat(np.tile(np.arange(len(counts[0])), len(counts)), np.ravel(counts))


def graph_of(sample):
    """Number of nodes, and edges of all kinds."""
    return sample.n_nodes, joined(pairs for pairs, _ in sample.edges)


def difficulty(graph):
    """Graphs with cycles are harder than forests of any size."""
    n_nodes, edges = graph
    return not is_forest(edges, n_nodes), len(edges)


def weights(samples):
    """Weight of every node of some samples, ones where only others have any; None without any."""
    if all(sample.weight is None for sample in samples):
        return None
    return np.concatenate([np.ones(s.n_nodes) if s.weight is None else s.weight for s in samples])


def first_widths(found):
    """Numbers of features of all kinds, each by the first sample that says it."""
    n_kinds = len(found[0])
    known = [
        [own[k] for own in found if len(own) > k and own[k] is not None] for k in range(n_kinds)
    ]
    return [widths[0] if widths else 0 for widths in known]


def joined(arrays):
    return np.concatenate([np.empty((0, 2), np.int64), *arrays])


def units(table, n_tables):
    """CSR with a one for the table of each edge."""
    shape = len(table), n_tables
    return sp.csr_array((np.ones(len(table)), table, np.arange(len(table) + 1)), shape=shape)


def read_edges(kind, n_nodes, name):
    """Pairs of nodes, and their features or None."""
    pairs, features = kind if isinstance(kind, tuple) and len(kind) == 2 else (kind, None)
    pairs = as_array(pairs, name)
    if pairs.size == 0:
        pairs = np.empty((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be integers of shape (n_edges, 2), got dtype {pairs.dtype} and shape "
            f"{pairs.shape}"
        )
    if pairs.size and (pairs.min() < 0 or pairs.max() >= n_nodes):
        raise ValueError(
            f"{name} must name nodes 0 to {n_nodes - 1}, got {pairs.min()} to {pairs.max()}"
        )
    if np.any(pairs[:, 0] == pairs[:, 1]):
        raise ValueError(f"{name} must join two different nodes")
    if features is not None:
        features = check_array_of_numbers(features, f"features of {name}")
        features = features[:, None] if features.ndim == 1 else features
        if features.ndim != 2 or len(features) != len(pairs):
            raise ValueError(
                f"features of {name} must have shape ({len(pairs)}, n_edge_features), got "
                f"{features.shape}"
            )
        check_magnitude(features, f"features of {name}")
    return pairs.astype(np.int64), features
