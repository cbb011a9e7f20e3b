"""What users give as graphs: networkx objects, and nodes and edges of several kinds."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._core.packed import starts_of
from ..._core.scores import as_array, integers
from ..._core.validation import check_array_of_numbers


def is_graph(x):
    """Whether an object is a networkx graph, or looks like one."""
    return all(hasattr(x, name) for name in ("nodes", "edges", "adj", "is_directed"))


def nodes_in_order(nodes):
    """Nodes in an order that does not depend on how they are kept."""
    try:
        return sorted(nodes)
    except TypeError:
        return sorted(nodes, key=lambda node: (type(node).__name__, repr(node)))


def n_dims(item):
    """Number of dimensions; one for nested lists of unequal lengths."""
    try:
        return item.ndim if hasattr(item, "ndim") else np.ndim(item)
    except ValueError:
        return 1


def is_kinds(given):
    """Whether a list has an item for each kind, not for each node or edge."""
    if not isinstance(given, list) or not given:
        return False
    return any(n_dims(item) == 2 for item in given) or all(
        item is None or (n_dims(item) == 1 and len(item) == 0) for item in given
    )


class Numbered(NamedTuple):
    """Numbers of the nodes of all kinds, one kind after the other."""

    names: list  # or None
    counts: list

    def ends(self, kind):
        """Numbers of the kinds that both ends of a kind of edge are, by its name, or None."""
        if not isinstance(kind, tuple) or len(kind) not in (2, 3):
            return None
        names = list(range(len(self.counts))) if self.names is None else self.names
        if kind[0] in names and kind[-1] in names:
            return names.index(kind[0]), names.index(kind[-1])
        return None

    def numbered_through(self, pairs, kind):
        """Pairs of nodes of a kind of edge."""
        pairs = _pairs_in(pairs)
        ends = self.ends(kind)
        if ends is None or not len(pairs):
            return pairs
        first = starts_of(self.counts)
        for column, end in enumerate(ends):
            own = pairs[:, column] if pairs.ndim == 2 and pairs.shape[1] == 2 else pairs
            if own.min() < 0 or own.max() >= self.counts[end]:
                raise ValueError(
                    f"edges of the kind {kind!r} must name nodes 0 to {self.counts[end] - 1} of "
                    f"their kind, got {own.min()} to {own.max()}"
                )
        return pairs + first[list(ends)]


def edges_of_kinds(edges, features, names, nodes):
    """Pairs and features (or None) of each kind of edge."""
    if isinstance(edges, dict):
        unknown = [kind for kind in edges if kind not in (names or [])]
        if unknown:
            raise ValueError(
                f"the input has the kind of edge {unknown[0]!r}, which no training input has"
            )
        features = {} if features is None else features
        if not isinstance(features, dict):
            raise TypeError(
                f"edge_features must be a dict as edges are, got {type(features).__name__}"
            )
        unknown = [kind for kind in features if kind not in edges]
        if unknown:
            raise ValueError(f"edge_features has the kind {unknown[0]!r}, which edges lack")
        return [
            (nodes.numbered_through(edges.get(kind, ()), kind), features.get(kind))
            for kind in names
        ]
    if names is not None:
        raise TypeError(f"edges must be a dict as in the training, got {type(edges).__name__}")
    if not is_kinds(edges):
        pairs = _pairs_in(edges)
        return [(pairs, None if features is None or not len(pairs) else features)]
    features = [None] * len(edges) if features is None else features
    if not isinstance(features, list) or len(features) != len(edges):
        raise ValueError(
            f"edge_features must be a list with an entry for each of {len(edges)} kinds of edges"
        )
    return [(_pairs_in(pairs), z) for pairs, z in zip(edges, features)]


def _pairs_in(edges):
    """Both nodes of each edge; other forms that edges have elsewhere are refused by their names."""
    if sp.issparse(edges):
        raise TypeError(
            "edges must have the numbers of both nodes in each row, got a sparse matrix: of a "
            "symmetric adjacency matrix A these are np.transpose(scipy.sparse.triu(A, 1).nonzero())"
        )
    pairs = as_array(() if edges is None else edges, "edges")
    if pairs.ndim == 2 and pairs.size and pairs.shape[1] != 2:
        remedy = "one row for each edge"
        if len(pairs) == 2:
            remedy = "transpose them"
        elif len(pairs) == pairs.shape[1]:
            remedy = "of a symmetric adjacency matrix A they are np.argwhere(np.triu(A, 1))"
        raise ValueError(f"edges must have shape (n_edges, 2), got {pairs.shape}: {remedy}")
    if pairs.dtype.kind in "OUS" and any(isinstance(node, str) for node in pairs.ravel()):
        raise ValueError(
            "edges must hold the numbers of nodes, which are their rows in features, got names: "
            "look up the row of each, or pass networkx graphs"
        )
    return integers(pairs if edges is None else edges, "edges", 2)


def read_networkx(graph, nodes, node_attributes, edge_attributes):
    """Features of nodes, pairs and features of edges (or None) of a networkx graph."""
    number = {node: t for t, node in enumerate(nodes)}
    data = [graph.nodes[node] for node in nodes]
    rows = _attributes(data, node_attributes, "node", nodes)
    edges = list(graph.edges(data=True))
    pairs = np.array([(number[a], number[b]) for a, b, _ in edges], np.int64).reshape(-1, 2)
    if not edge_attributes or not edges:
        return rows, pairs, None
    ends = [(a, b) for a, b, _ in edges]
    return rows, pairs, _attributes([own for _, _, own in edges], edge_attributes, "edge", ends)


def _attributes(data, names, what, keys):
    """Numbers that nodes or edges have as attributes, a row for each."""
    names = [names] if isinstance(names, str) else names
    if not data:
        return np.empty((0, len(names)))
    columns = []
    for name in names:
        for own, key in zip(data, keys):
            if name not in own:
                raise ValueError(
                    f"{what} {key!r} has no attribute {name!r}: name those that hold its features "
                    f"in {what}_attributes of GraphModel; it has {list(own)}"
                )
        try:
            values = np.array([own[name] for own in data])
        except ValueError:
            raise ValueError(f"attribute {name!r} of each {what} must be of one shape") from None
        columns.append(check_array_of_numbers(values, f"attribute {name!r} of each {what}"))
    return np.column_stack([column.reshape(len(data), -1) for column in columns])
