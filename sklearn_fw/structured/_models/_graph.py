"""Graphs with features of nodes and of edges."""

from collections.abc import Mapping
from dataclasses import KW_ONLY

import numpy as np
import scipy.sparse as sp

from ..._core import check
from ..._core.packed import starts_of
from ..._core.scores import as_array, integers
from ._labeled import LabeledParts
from ._parts import MIRRORS, Sample
from ._ragged import as_labels, is_graph, n_dims, with_mask


class GraphModel(LabeledParts):
    """Node labels of graphs, with features of nodes and edges.

    Each sample has a graph of its own. The score of the labels y is linear in the weights::

        sum_t <W[kind of t][:, y_t], x_t> + intercept[kind of t][y_t]
        + sum_e sum_f z_ef T[kind of e, f][y_a, y_b]

    with the features x_t of node t, and z_e of edge e from node a to node b, among them a constant
    one. Choose it for molecules, scenes, documents and networks; for images there is `GridModel`.

    Parameters
    ----------
    task_loss : {"auto", "hamming", "hamming_sum", "zero_one"}, array-like of shape \
            (n_classes, n_classes) or TaskLoss, default="auto"
        Fraction of the nodes with a wrong label, their number, one if any is wrong, a matrix of
        costs (rows: truth, in the order of ``classes_``), or another loss that is a sum over nodes.
        "auto" trains by the number and evaluates by the fraction.
    edge_symmetry : {"auto", "symmetric", "antisymmetric", "free"}, list or dict of these, \
            default="auto"
        Tables that are the same from both ends of an edge, change their sign, or are free; one
        name, or one for each kind of edge. "auto" is "symmetric" for undirected graphs of networkx,
        else "free".
    class_weight : dict, "balanced" or None, default=None
        Factors of the cost of a node by its true label in training; not with "zero_one".
    fit_intercept : bool, default=True
        Append a constant feature (regularized) to nodes, and to edges that have features.
    node_attributes : str or list of str, default="features"
        Names of the attributes of the nodes of a networkx graph, numbers or arrays.
    edge_attributes : "auto", str, list of str or None, default="auto"
        The same of edges; None for edges without. "auto" takes "features" where the edges have it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of these
        Labels, sorted; of each kind of node where there are several.
    class_weight_ : ndarray of shape (n_classes,), or list of these
        Resolved class weights.
    n_features_in_, n_states_ : int
        Number of node features, of all kinds together, and largest number of labels of a kind.
    states_ : list of int
        Number of labels of each kind of node.
    node_features_, edge_features_ : list of int
        Numbers of features of each kind of node, and of edge with the constant; 0 for edges
        without.
    edge_symmetry_, task_loss_ : str, list of str, array-like or TaskLoss
        Resolved symmetry, and the loss of the training.

    See Also
    --------
    GridModel : Images and volumes.
    ChainModel : Sequences, with less work per sample.
    PartModel : Base class of models with other parts.

    Notes
    -----
    An input is a tuple ``(features, edges)``, ``(features, edges, edge_features)`` or ``(features,
    edges, edge_features, node_weights)`` of arrays of shapes (n_nodes, n_features), which may be
    CSR, (n_edges, 2) with numbers of nodes, (n_edges, n_edge_features) or None, and (n_nodes,), the
    weight of a mistake at each node; or a networkx graph. An output is an array with the label of
    each node, in the order of the rows or of ``graph.nodes``, or a dict from nodes to labels.

    *Kinds.* Nodes of several kinds, with features and labels of their own, are a list with an array
    for each kind, or a dict; outputs are then a list or dict of the labels. Edges of several kinds,
    with tables of their own, are a list or a dict of arrays, and so are their features, None for
    kinds without. Nodes are numbered through, one kind after the other; under a key ``(a, b)`` or
    ``(a, name, b)`` of a dict, with names of kinds of nodes, each end is numbered within its kind.

    *Shapes of graphs.* Graphs may have isolated nodes, several components or no edges. Edges that
    are given twice count twice; self-loops raise an error. Forests and graphs of a dozen nodes are
    trained by compiled passes with exact answers, other graphs by elimination where it is cheap,
    else by approximations with bounds.

    References
    ----------
    .. [1] B. Taskar, C. Guestrin, D. Koller, "Max-margin Markov networks", NIPS 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw import StructuredSVM
    >>> ring = np.array([(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> X = [(np.array([[0.9], [0.2], [1.1], [0.8]]), ring), (np.array([[-1.0], [0.1]]), [(0, 1)])]
    >>> y = [["on", "on", "on", "on"], ["off", "off"]]
    >>> svm = StructuredSVM(C=1.0).fit(X, y)
    >>> svm.model_
    GraphModel()
    >>> svm.predict([(np.array([[1.0], [-0.1], [1.0]]), [(0, 1), (1, 2)])])[0]
    array(['on', 'on', 'on'], dtype='<U3')
    """

    _: KW_ONLY
    edge_symmetry: object = "auto"
    node_attributes: object = "features"
    edge_attributes: object = "auto"

    # ---- what a training set looks like ----------------------------------------------------------

    def _look_at(self, X, y):
        if not isinstance(self.node_attributes, str | list | tuple):
            raise TypeError(f"node_attributes must be names, got {self.node_attributes!r}")
        X, y = check.items(X, "X", "graphs"), check.items(y, "y", "labels of graphs")
        first = next(iter(X), None)
        if first is None or isinstance(first, Sample):
            return
        self._keyed = is_graph(first) and isinstance(next(iter(y), None), dict)
        self._edge_names, self._node_kinds, self._edge_kinds = None, None, None
        self._is_undirected = False
        if is_graph(first):
            names = self.edge_attributes
            if check.is_auto(names):
                data = (own for x in X if is_graph(x) for _, _, own in x.edges(data=True))
                names = "features" if "features" in next(data, {}) else None
            self._edge_names = names
            self._is_undirected = not first.is_directed()
        elif isinstance(first, tuple) and len(first) in (2, 3, 4):
            if isinstance(first[0], dict):
                self._node_kinds = list(first[0])
            if isinstance(first[1], dict):
                kinds = [list(x[1]) for x in X if isinstance(x, tuple) and isinstance(x[1], dict)]
                self._edge_kinds = list(dict.fromkeys(name for own in kinds for name in own))

    def _names_of_symmetry(self):
        names, n_kinds = self.edge_symmetry, len(self.edge_features_)
        if isinstance(names, dict):
            unknown = set(names) ^ set(self._edge_kinds or [])
            if unknown:
                raise ValueError(f"edge_symmetry must name the kinds of edges {self._edge_kinds}")
            names = [names[kind] for kind in self._edge_kinds]
        if not isinstance(names, str | list | tuple):
            raise TypeError(f"edge_symmetry must be a name, a list or a dict, got {names!r}")
        of_kinds = [names] * n_kinds if isinstance(names, str) else list(names)
        for name in of_kinds:
            check.choice(name, "edge_symmetry", {"auto", *MIRRORS})
        natural = "symmetric" if self._is_undirected else "free"
        of_kinds = [natural if check.is_auto(name) else name for name in of_kinds]
        self.edge_symmetry_ = of_kinds[0] if isinstance(names, str) and of_kinds else of_kinds
        return of_kinds

    def _find_states(self, samples, y):
        if self._keyed:
            _refuse_other_nodes(y, [getattr(sample.x, "nodes", None) for sample in samples])
        return super()._find_states(samples, y)

    # ---- inputs ----------------------------------------------------------------------------------

    @property
    def _n_constants(self):
        return int(self._has_intercepts)

    def _said(self, x):
        if is_graph(x):
            return read_networkx(x, self._nodes_of(x), self.node_attributes, self._edge_names)
        if not isinstance(x, tuple) or len(x) not in (2, 3, 4):
            raise TypeError(
                f"an input must be a tuple (features, edges), with edge_features and node_weights "
                f"if needed, or a networkx graph, got {type(x).__name__}; a single input is given "
                f"as a list of one, and arrays of images have model='grid'"
            )
        nodes = self._kinds_of_nodes(x[0])
        features, counts = x[2] if len(x) > 2 else None, [own.shape[0] for own in nodes]
        return nodes, edges_of_kinds(x[1], features, self._edge_kinds, self._node_kinds, counts)

    def node_weights(self, x):
        return x[3] if isinstance(x, tuple) and len(x) == 4 else None

    def _nodes_of(self, graph):
        return nodes_in_order(graph) if self._keyed else list(graph.nodes)

    def _kinds_of_nodes(self, features):
        if isinstance(features, dict):
            unknown = set(features) - set(self._node_kinds or [])
            if unknown:
                raise ValueError(
                    f"the input has the kind of node {unknown.pop()!r}, which the first training "
                    f"input lacks: give it there, too, with an array without rows if need be"
                )
            features = [features.get(kind, np.empty((0, 0))) for kind in self._node_kinds]
        elif not is_kinds(features):
            features = [features]
        return [_array(own) for own in features]

    # ---- outputs ---------------------------------------------------------------------------------

    def _split(self, output, name):
        if self._keyed:
            if not isinstance(output, dict):
                raise TypeError(f"{name} must be a dict from nodes to labels, as in the training")
            return [with_mask([output[node] for node in nodes_in_order(output)])]
        if isinstance(output, dict):
            if self._node_kinds is None or set(output) - set(self._node_kinds):
                raise ValueError(f"{name} has the keys {list(output)[:5]}, not kinds of nodes of X")
            return [_labels(output.get(kind, ()), name) for kind in self._node_kinds]
        if self._n_kinds == 1:
            return [_labels(output, name)]
        if not isinstance(output, list | tuple) or len(output) != self._n_kinds:
            raise ValueError(
                f"{name} must hold the labels of {self._n_kinds} kinds of nodes, in a list"
            )
        return [_labels(own, name) for own in output]

    def _join(self, rows, x):
        if self._keyed:
            return dict(zip(self._nodes_of(x), rows[0].tolist() if rows[0].ndim == 1 else rows[0]))
        if self._node_kinds is not None:
            return dict(zip(self._node_kinds, rows))
        return rows[0] if self._n_kinds == 1 else rows

    def _losses(self, y_true, y, training=False, X=None):
        if self._keyed:
            _refuse_other_nodes(y_true, y)
        return super()._losses(y_true, y, training, X)

    def _listed(self, outputs):
        return super()._listed(outputs) if isinstance(outputs[0], np.ndarray) else outputs


def _array(features):
    features = features if sp.issparse(features) else as_array(features, "features")
    if features.ndim != 2 and features.shape[:1] != (0,):
        raise ValueError(f"features must have shape (n_nodes, n_features), got {features.shape}")
    return features


def _labels(output, name):
    if as_array(output, name).ndim == 0:
        raise ValueError(f"{name} must hold a label for each node, got {output!r}")
    return as_labels(output)


def nodes_in_order(nodes):
    """Nodes in an order that does not depend on how they are kept."""
    try:
        return sorted(nodes)
    except TypeError:
        return sorted(nodes, key=lambda node: (type(node).__name__, repr(node)))


def _refuse_other_nodes(outputs, expected):
    """Refuse labels of other nodes, which would go to those of the same places."""
    for i, (output, nodes) in enumerate(zip(outputs, expected)):
        if isinstance(output, dict) and isinstance(nodes, Mapping) and set(output) != set(nodes):
            others = sorted(set(output) ^ set(nodes), key=repr)[:5]
            raise ValueError(f"y[{i}] must have a label for each node of X[{i}], unlike {others}")


def is_kinds(given):
    """Whether a list has an item for each kind, not for each node or edge."""
    if not isinstance(given, list) or not given:
        return False
    return any(n_dims(item) == 2 for item in given) or all(
        item is None or (n_dims(item) == 1 and len(item) == 0) for item in given
    )


def numbered_through(pairs, kind, names, counts):
    """Pairs of nodes, whose numbers are within their kinds where the kind of edge names these."""
    pairs = _pairs_in(pairs)
    names = list(range(len(counts))) if names is None else names
    is_named = isinstance(kind, tuple) and len(kind) in (2, 3) and {kind[0], kind[-1]} <= set(names)
    if not is_named or not len(pairs):
        return pairs
    ends = [names.index(kind[0]), names.index(kind[-1])]
    for own, end in zip(pairs.T, ends):
        if own.min() < 0 or own.max() >= counts[end]:
            raise ValueError(f"edges {kind!r} must name nodes 0 to {counts[end] - 1} of their kind")
    return pairs + starts_of(counts)[ends]


def edges_of_kinds(edges, features, names, node_names, counts):
    """Pairs and features (or None) of each kind of edge."""
    if isinstance(edges, dict):
        features = {} if features is None else features
        if not isinstance(features, dict):
            raise TypeError("edge_features must be a dict, as edges are")
        for kind in edges:
            if kind not in (names or []):
                raise ValueError(f"the kind of edge {kind!r} is in no training input")
        for kind in features:
            if kind not in edges:
                raise ValueError(f"edge_features has the kind {kind!r}, which edges lack")
        pairs = (numbered_through(edges.get(kind, ()), kind, node_names, counts) for kind in names)
        return [(own, features.get(kind)) for own, kind in zip(pairs, names)]
    if names is not None:
        raise TypeError(f"edges must be a dict as in the training, got {type(edges).__name__}")
    if not is_kinds(edges):
        pairs = _pairs_in(edges)
        return [(pairs, None if features is None or not len(pairs) else features)]
    features = [None] * len(edges) if features is None else features
    if not isinstance(features, list) or len(features) != len(edges):
        raise ValueError(f"edge_features must be a list of {len(edges)} entries, one for each kind")
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
    """Nodes and edges of a networkx graph as lists of one kind each."""
    number = {node: t for t, node in enumerate(nodes)}
    data = [graph.nodes[node] for node in nodes]
    rows = _attributes(data, node_attributes, "node", nodes)
    edges = list(graph.edges(data=True))
    pairs = np.array([(number[a], number[b]) for a, b, _ in edges], np.int64).reshape(-1, 2)
    if not edge_attributes or not edges:
        return [rows], [(pairs, None)]
    ends = [(a, b) for a, b, _ in edges]
    z = _attributes([own for _, _, own in edges], edge_attributes, "edge", ends)
    return [rows], [(pairs, z)]


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
        columns.append(check.array(values, f"attribute {name!r} of each {what}"))
    return np.column_stack([column.reshape(len(data), -1) for column in columns])
