"""Models of a user's own parts: kinds of nodes and of edges, on a graph of each sample's own."""

from abc import abstractmethod
from itertools import pairwise, zip_longest
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._core import check
from ..._core.costs import MISSING
from ..._core.packed import length_of, objects, starts_of
from ..._core.scores import as_array, check_edges, is_forest
from ..._kernels import lazy
from ._pairwise import PairwiseModel
from ._part_scores import Graph, oriented
from ._ragged import check_counts, listed, stack_rows
from ._rows import Rows
from ._units import size_of_rows

edge_mix = lazy("structured.edge_mix")

# Codes of `_kernels.structured.edge_mix`.
MIRRORS = {"free": 0.0, "symmetric": 1.0, "antisymmetric": -1.0, "potts": 2.0}


class Sample(NamedTuple):
    """The result of `PartModel.parts` for one input, checked."""

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
        """Numbers of features of the kinds of nodes; None without nodes."""
        return [rows.shape[1] if rows.shape[0] else None for rows in self.nodes]

    @property
    def edge_features(self):
        """Numbers of features of the kinds of edges; None without edges."""
        widths = [0 if z is None else z.shape[1] for _, z in self.edges]
        return [width if len(pairs) else None for (pairs, _), width in zip(self.edges, widths)]


def kinds_of(counts):
    """Kind of every node, from the number of nodes of each kind in each sample."""
    counts = np.asarray(counts, np.int64)
    return np.repeat(np.tile(np.arange(counts.shape[1]), len(counts)), counts.ravel())


def kinds(samples):
    return kinds_of([[rows.shape[0] for rows in sample.nodes] for sample in samples])


def graph_of(sample):
    return sample.n_nodes, all_pairs(pairs for pairs, _ in sample.edges)


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
    """Numbers of features of all kinds, each by the first sample that has it."""
    columns = zip_longest(*(own[: len(found[0])] for own in found))
    return [next((width for width in own if width is not None), 0) for own in columns]


def all_pairs(arrays):
    return np.concatenate([np.empty((0, 2), np.int64), *arrays])


def read_edges(kind, n_nodes, name, has_constant=False):
    """Pairs of nodes, and their features or None, with a constant in front if ``has_constant``."""
    pairs, features = kind if isinstance(kind, tuple) and len(kind) == 2 else (kind, None)
    pairs = check_edges(pairs, n_nodes, "nodes", name)
    if features is not None:
        features = check.array(features, f"features of {name}")
        features = features[:, None] if features.ndim == 1 else features
        features = check.shaped(features, f"features of {name}", len(pairs), "n_edge_features")
        if has_constant:
            features = np.column_stack([np.ones(len(features)), features])
    return pairs, features


class PartModel(PairwiseModel):
    """Base class of models on graphs: states of nodes joined by edges.

    A subclass defines the parts of an input (`parts`), and its outputs as states of nodes
    (`encode`, `decode`). The score of the states y is linear in the weights::

        sum_t <W[kind of t][:, y_t], x_t> + sum_e sum_f z_ef T[kind of e, f][y_a, y_b]

    with the features x_t of node t, and z_e of edge e from node a to node b, which are one number 1
    where a kind of edge has no features. Choose it for grids, molecules, scenes and networks.

    Parameters
    ----------
    task_loss : {"auto", "hamming", "hamming_sum", "zero_one"} or TaskLoss, default="auto"
        Fraction of the nodes with a wrong state, their number, one if any is wrong, or another loss
        that is a sum over nodes. "auto" trains by the number and evaluates by the fraction.

    Attributes
    ----------
    n_features_in_, n_states_ : int
        Number of node features, of all kinds together, and largest number of states of a node.
    states_ : list of int
        Number of states of each kind of node.
    node_features_, edge_features_ : list of int
        Numbers of features of each kind of node and of edge; 0 for edges without.
    task_loss_ : str or TaskLoss
        The loss of the training.

    See Also
    --------
    ChainModel : Sequences, with less work per sample.
    ScoredModel : Outputs with scores of another kind.

    Notes
    -----
    Passes are compiled for forests, and for graphs so small that their labelings can be listed;
    otherwise ``oracle="auto"`` takes elimination where it is cheap, else an approximation with
    bounds. The class attribute ``edge_symmetry``, a name or one for each kind of edge, makes tables
    "symmetric", "antisymmetric", "potts" (one number for all pairs of different states, 0 for equal
    ones) or "free", the default. A constructor of your own calls that of this class, or has a
    parameter ``task_loss``.

    ``coef_`` holds weights of nodes, of shape ``(n_features_in_, n_states_)``, and then tables, of
    shape ``(n_tables_, n_states_, n_states_)``, one for each feature of each kind of edge. `unpack`
    returns, for each kind, "nodes" (n_features, n_states), "intercept" (n_states,) if fitted, and
    "edges" (n_edge_features, n_states, n_states), from row to column.

    References
    ----------
    .. [1] B. Taskar, C. Guestrin, D. Koller, "Max-margin Markov networks", NIPS 2003.

    Examples
    --------
    A line of cells, where similar neighbors prefer equal states:

    >>> import numpy as np
    >>> from sklearn_fw import StructuredSVM
    >>> from sklearn_fw.structured import PartModel
    >>> class Line(PartModel):
    ...     edge_symmetry = "symmetric"
    ...     def parts(self, x):
    ...         t = np.arange(len(x) - 1)
    ...         like = np.exp(-np.abs(np.diff(x, axis=0)))
    ...         return np.column_stack([x, np.ones(len(x))]), (np.stack([t, t + 1], axis=1), like)
    >>> X = [np.array([[0.1], [0.3], [0.9], [1.1]]), np.array([[1.0], [0.8], [0.2]])]
    >>> y = [[0, 0, 1, 1], [1, 1, 0]]
    >>> svm = StructuredSVM(Line(), solver="bcfw", C=1.0).fit(X, y)
    >>> svm.predict([np.array([[0.2], [0.1], [0.7], [1.0]])])[0]
    array([0, 0, 1, 1], dtype=int32)
    """

    task_loss: object = "auto"

    edge_symmetry = "free"
    _has_batches = False  # which know one table for each edge, and no cycles
    _has_intercepts = False  # whether each kind of node has a constant feature besides its own

    # ---- what a subclass says ------------------------------------------------------------------

    @abstractmethod
    def parts(self, x):
        """Return nodes and edges of an input.

        Parameters
        ----------
        x : object
            Input.

        Returns
        -------
        nodes : array or CSR of shape (n_nodes, n_features), or list of these
            Features of nodes; a list has one array for each kind, numbered one after the other.
        edges : array of shape (n_edges, 2), tuple (pairs, features), list of these, or None
            Numbers of the nodes joined by each edge, and maybe features of shape
            (n_edges, n_edge_features); a list has one entry for each kind of edge.
        """

    def node_weights(self, x):
        """Return weights of mistakes at nodes, such as areas; None for equal weights.

        Losses that are sums over nodes multiply by them, in `fit` and in `score`; `augment`, which
        has no inputs, does not.

        Parameters
        ----------
        x : object
            Input.
        """

    def encode(self, y):
        """Return the states of an output, numbers from 0 on, in the order of `parts`.

        Parameters
        ----------
        y : object
            Output; here an array of states, masked where nodes have no label (for
            `LatentStructuredSVM`).
        """
        return y

    def decode(self, states, x):
        """Return the output with these states of nodes.

        Parameters
        ----------
        states : ndarray of shape (n_nodes,), int32
            States of the nodes of an input.
        x : object
            The input.
        """
        return states

    # ---- sizes ---------------------------------------------------------------------------------

    def initialize(self, X, y):
        self._set_losses()
        self._look_at(X, y)
        samples = self._read_all(X)
        check_counts(length_of(X, "X"), length_of(y, "y"))
        self.node_features_ = first_widths([sample.node_features for sample in samples])
        self.edge_features_ = first_widths([sample.edge_features for sample in samples])
        self._check_kinds(samples)
        self.states_ = self._find_states(samples, y)
        self.n_features_in_ = sum(self.node_features_)
        self.n_states_ = self.n_columns_ = max(self.states_)
        self.n_constants_ = len(self.node_features_) if self._has_intercepts else 0
        self.n_tables_ = int(self._tables_of_kinds.sum())
        self._mirrors = self._mirrors_of_tables()
        self._set_oracle(*max(map(graph_of, samples), key=difficulty))
        return self

    def _said(self, x):
        return self.parts(x)

    def _look_at(self, X, y):
        """What has to be known of a training set before one input can be read."""

    def _find_states(self, samples, y):
        states = self._states_of(y, [sample.n_nodes for sample in samples])
        found = np.zeros(len(self.node_features_), np.int64)
        np.maximum.at(found, kinds(samples), states + 1)
        return [max(2, n) if n else 1 for n in found.tolist()]

    def _names_of_symmetry(self):
        return self.edge_symmetry

    def _mirrors_of_tables(self):
        """The code of the symmetry of each table, see `MIRRORS`."""
        n_kinds, names = len(self.edge_features_), self._names_of_symmetry()
        names = [names] * n_kinds if isinstance(names, str) else list(names)
        if len(names) != n_kinds:
            raise ValueError(f"edge_symmetry names {len(names)} kinds of edges of {n_kinds}")
        for name in names:
            check.choice(name, "edge_symmetry", set(MIRRORS))
        codes = np.array([MIRRORS[name] for name in names], np.float64)
        return np.repeat(codes, self._tables_of_kinds)

    @property
    def _tables_of_kinds(self):
        """Number of tables of each kind of edge: one for each feature, or a single one."""
        return np.maximum(np.array(self.edge_features_, np.int64), 1)

    # ---- units of the features of edges ----------------------------------------------------------

    _n_constants = 0  # features of edges in front that are constant

    @property
    def _table_scales(self):
        scales = np.full(self.n_tables_, self._units.edge_scale)
        for first, width in zip(starts_of(self._tables_of_kinds), self.edge_features_):
            scales[first : first + (self._n_constants if width else 1)] = 1.0
        return scales

    def _size_of_edge_features(self, X):
        edges = [kind for sample in self._read_all(X) for kind in sample.edges]
        found = [z[:, self._n_constants :] for _, z in edges if z is not None]
        n_edges = sum(z.shape[0] for z in found if z.shape[1])
        squares = sum(size_of_rows(z) ** 2 * z.shape[0] for z in found)
        return np.sqrt(squares / n_edges) if n_edges else np.nan

    def _labels_of_states(self, kind):
        return map(np.arange, [self.n_states_] if kind is None else self.states_)

    def _about_nodes(self, X):
        if X is None:
            return None, None
        samples = self._read_all(X)
        return None if len(self.states_) == 1 else kinds(samples), weights(samples)

    def unpack(self, w):
        rows, tables = self._views(w)
        cuts = np.cumsum(self.node_features_)
        ends = np.cumsum(self._tables_of_kinds)[:-1]
        nodes = [part[:, :n] for part, n in zip(np.split(rows, cuts), self.states_)]
        return {"nodes": nodes, "edges": np.split(tables, ends) if len(tables) else []}

    # ---- reading samples -----------------------------------------------------------------------

    def _read_all(self, X):
        return [self._read(x, f"X[{i}]") for i, x in enumerate(listed(X, "samples"))]

    def _stacked(self, X, y):
        if type(self).initialize is not PartModel.initialize:  # which may look at raw inputs
            return X, y
        self._look_at(X, y)
        return self._read_all(X), y

    def _read(self, x, name):
        """The parts of one input, checked but for the features of nodes."""
        if isinstance(x, Sample):
            return x
        name = f"parts({name}) of {type(self).__name__}"
        answer = self._said(x)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            raise TypeError(f"{name} must be a tuple (nodes, edges), got {type(answer).__name__}")
        nodes, edges = answer
        nodes = nodes if isinstance(nodes, list) else [nodes]
        nodes = [rows if sp.issparse(rows) else as_array(rows, name) for rows in nodes]
        if not nodes or any(rows.ndim != 2 and rows.size for rows in nodes):
            raise ValueError(f"nodes of {name} must have shape (n_nodes, n_features)")
        n_nodes = sum(rows.shape[0] for rows in nodes)
        if not n_nodes:
            raise ValueError(f"{name} must have one node at least")
        edges = [] if edges is None else edges if isinstance(edges, list) else [edges]
        where, has_constant = f"edges of {name}", self._n_constants > 0
        edges = [read_edges(kind, n_nodes, where, has_constant) for kind in edges]
        weights = self.node_weights(x)
        if weights is not None:
            weights = check.shaped(weights, "weights of nodes", n_nodes)
            if np.any(weights < 0.0):
                raise ValueError(f"weights of nodes must not be negative, got {weights.min()}")
        return Sample(x, nodes, edges, weights)

    def _check_kinds(self, samples):
        n_kinds = len(self.node_features_)
        for i, sample in enumerate(samples):
            n, found, expected = len(sample.nodes), sample.edge_features, self.edge_features_
            fits = len(found) == len(expected) and n == n_kinds
            if not fits or any(own not in (None, width) for own, width in zip(found, expected)):
                raise ValueError(
                    f"parts(X[{i}]) of {type(self).__name__} has {n} kinds of nodes and edges "
                    f"with {found} features, but {n_kinds} and {expected} are expected"
                )

    def _stack(self, X):
        samples = self._read_all(X)
        self._check_kinds(samples)
        kinds_of_nodes = zip(zip(*(sample.nodes for sample in samples)), self.node_features_)
        stacked = [stack_rows(list(rows), n_features)[0] for rows, n_features in kinds_of_nodes]
        node_start = starts_of([sample.n_nodes for sample in samples])
        graph = self._graph_of_samples(samples)
        weight = weights(samples)
        kind, matrix = kinds(samples), stacked[0]
        constants = (np.arange(len(kind)), kind) if self.n_constants_ else None
        if len(stacked) == 1:
            kind = None
        else:  # rows of one kind after those of another, put into the order of samples
            place = np.argsort(np.argsort(kind, kind="stable"))
            matrix = sp.csr_array(sp.block_diag(stacked, format="csr")[place])
        return Rows(matrix, node_start, node_start, graph, constants, kind, weight)

    def _graph_of_samples(self, samples):
        """Edges of all samples; those of forests in the order of message passing."""
        found = [oriented(all_pairs(own for own, _ in x.edges), x.n_nodes) for x in samples]
        starts = starts_of([len(own) for own, _, _ in found])
        edges, source, turned = map(np.concatenate, zip(*found))
        source += np.repeat(starts[:-1], np.diff(starts))
        kind = kinds_of([[len(own) for own, _ in x.edges] for x in samples])[source]
        table, mix = starts_of(self._tables_of_kinds)[kind], None
        if any(self.edge_features_) or np.any(turned) or np.any(self._mirrors):
            if any(self.edge_features_):
                rows = self._edge_weights(samples)[source]
            else:  # a one for the table of each edge
                ones = np.ones(len(table)), table, np.arange(len(table) + 1)
                rows = sp.csr_array(ones, shape=(len(table), self.n_tables_))
            rows.data /= self._table_scales[rows.indices]
            indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
            mix = edge_mix.EdgeMix(indptr, indices, rows.data, turned, self._mirrors)
        return Graph(edges, table, starts[:-1], starts[1:], mix)

    def _edge_weights(self, samples):
        """(n_edges, n_tables) CSR: features of all edges, or ones for kinds without."""
        widths, data, columns, counts = self._tables_of_kinds, [], [], []
        for sample in samples:
            for (pairs, z), first, width in zip(sample.edges, starts_of(widths), widths):
                data.append(np.ones(len(pairs)) if z is None else z.ravel())
                columns.append(np.tile(np.arange(first, first + width), len(pairs)))
                counts.append(np.full(len(pairs), width))
        data, columns, counts = map(np.concatenate, (data, columns, counts))
        rows = sp.csr_array((data, columns, starts_of(counts)), (len(counts), self.n_tables_))
        rows.eliminate_zeros()
        return rows

    # ---- outputs -------------------------------------------------------------------------------

    def _states_of(self, y, lengths):
        """States of all nodes of some outputs; ``lengths`` are those of the inputs."""
        found = []
        for i, output in enumerate(y):
            name = f"encode(y[{i}]) of {type(self).__name__}"
            given = self.encode(output)
            states = as_array(_unmasked(given), name)
            if states.ndim != 1 or (states.size and states.dtype.kind not in "iu"):
                raise ValueError(
                    f"{name} must hold one integer for each node, got {states.dtype} {states.shape}"
                )
            if len(states) != lengths[i]:
                raise ValueError(f"{name} has {len(states)} states for {lengths[i]} nodes")
            if states.size and states.min() < 0:
                raise ValueError(f"{name} must not be negative, got {states.min()}")
            if np.ma.is_masked(given):
                states = np.where(np.ma.getmaskarray(given), MISSING, states)
            elif np.ma.is_masked(output):
                raise ValueError(f"{name} must be masked where y[{i}] is: keep the mask of labels")
            found.append(states)
        return np.concatenate([np.empty(0, np.int64), *found]).astype(np.int64)

    def _encode(self, y, node_start, allow_unseen=False):
        check_counts(len(node_start) - 1, len(y))
        states = self._states_of(y, np.diff(node_start))
        unseen = states >= self.n_states_
        if np.any(unseen) and not allow_unseen:
            raise ValueError(f"y holds state {states.max()}, but the model has {self.n_states_}")
        return np.where(unseen, -1, states).astype(np.int32)

    def _node_start_of(self, y):
        return starts_of([len(as_array(_unmasked(self.encode(output)), "y")) for output in y])

    def _decode(self, states, node_start, X=None):
        outputs = [states[a:b] for a, b in pairwise(node_start)]
        if X is not None:
            inputs = (x.x if isinstance(x, Sample) else x for x in X)
            outputs = [self.decode(own, x) for own, x in zip(outputs, inputs)]
        return objects(outputs)


def _unmasked(states):
    return states.filled(0) if isinstance(states, np.ma.MaskedArray) else states
