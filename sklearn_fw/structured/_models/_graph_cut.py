"""Graphs whose neighbours prefer to agree: two states by minimum cuts."""

import numpy as np

from ...inference import GraphCut
from ...inference._scores import is_forest
from ...task_losses import HammingLoss
from ._parts import PartModel

__all__ = ["GraphCutModel"]

FORMS = (
    "a tuple (features, edges), (features, edges, edge_features) or (features, edges, "
    "edge_features, node_weights)"
)


class GraphCutModel(PartModel):
    """States of the nodes of graphs whose neighbours never gain by being different.

    The score of the states y of a graph with node features x_t and edge features z_e >= 0 is::

        sum_t <W[:, y_t], x_t> - sum_{e = (s, t): y_s != y_t} <v, z_e>,     v >= 0

    With two states the best labelling is a minimum cut, exact on any graph. Choose it for the
    segmentation of images, with pixels or superpixels as nodes and edge features that say how alike
    two neighbours are; choose `PartModel` for neighbours that may prefer to differ.

    Inputs are tuples ``(features, edges, edge_features, node_weights)``, of which the last two may
    be left out: arrays of shape (n_nodes, n_features), (n_edges, 2), (n_edges, n_edge_features) and
    (n_nodes,). Without edge features all edges are alike. The weights of nodes, such as numbers of
    pixels, say how much a mistake there counts. Outputs are arrays of states 0 and 1, one for each
    node.

    Parameters
    ----------
    task_loss : {"auto", "hamming", "hamming_sum", "zero_one"} or TaskLoss, default="auto"
        "auto" is ``HammingLoss(class_weight="balanced")``: half of the share of state 0 that is
        wrong and half of that of state 1, in weights of nodes. "hamming" is the share of all that
        is wrong, "hamming_sum" the total.

    Attributes
    ----------
    n_features_in_ : int
        Number of node features.
    n_states_ : int
        Number of states; more than two are allowed, but then no oracle is exact.
    states_ : list of int
        The same number.
    node_features_, edge_features_ : list of int
        Numbers of features of nodes and edges; 0 for edges without.
    task_loss_ : str or TaskLoss
        The loss of the training.

    See Also
    --------
    PartModel : Tables of any kind.
    sklearn_fw.inference.GraphCut : The oracle.
    sklearn_fw.task_losses.OverlapLoss : A loss that bounds intersection over union.

    Notes
    -----
    ``v >= 0`` is a box that the solver keeps, so that every question of the training can be
    answered; solvers without boxes are refused. One edge between two nodes named twice counts
    twice. A pass is compiled but for the cuts, which are compiled themselves and take about as
    many operations as there are edges.

    ``coef_`` holds W, of shape ``(n_features_in_, n_states_)``, and then a table of shape
    ``(n_states_, n_states_)`` for each edge feature, with ``-v`` off the diagonal and 0 on it.
    With ``u = W[:, 1] = -W[:, 0]`` its squared norm is ``2 |u|^2 + 2 |v|^2``: C of [1]_, where u and
    v are the weights, is twice the C here.

    References
    ----------
    .. [1] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania, S. Lacoste-Julien, "Minding the gaps
       for block Frank-Wolfe optimization of structured SVMs", ICML 2016, appendix I.
    .. [2] M. Szummer, P. Kohli, D. Hoiem, "Learning CRFs using graph cuts", ECCV 2008.

    Examples
    --------
    Four cells in a ring; neighbours that look alike (second number of an edge) want one state.

    >>> import numpy as np
    >>> from sklearn_fw import StructuredSVM
    >>> from sklearn_fw.structured import GraphCutModel
    >>> ring = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    >>> def cells(x):
    ...     x = np.asarray(x)
    ...     alike = np.exp(-np.abs(x[ring[:, 0]] - x[ring[:, 1]]))
    ...     return np.column_stack([x, np.ones(4)]), ring, np.column_stack([np.ones(4), alike])
    >>> X = [cells([0.1, 0.3, 0.9, 0.8]), cells([1.0, 0.4, 0.2, 0.9])]
    >>> svm = StructuredSVM(GraphCutModel(), C=10.0).fit(X, [[0, 0, 1, 1], [1, 0, 0, 1]])
    >>> svm.predict([cells([0.2, 0.1, 0.9, 0.6])])[0]
    array([0, 0, 1, 1], dtype=int32)
    >>> bool(np.all(svm.model_.unpack(svm.coef_)["edges"] >= 0))
    True
    """

    edge_symmetry = "potts"

    def parts(self, x):
        features, edges, edge_features, _ = _items(x)
        return features, edges if edge_features is None else (edges, edge_features)

    def node_weights(self, x):
        return _items(x)[3]

    def encode(self, y):
        y = np.asarray(y)
        return y.astype(np.int64) if y.dtype == bool else y

    def bounds(self):
        """Bounds on the weights: tables are not positive.

        Returns
        -------
        lower, upper : None, ndarray of shape (size_joint_feature,)
            What solvers keep.
        """
        upper = np.full(self.size_joint_feature, np.inf)
        upper[self._cut :] = 0.0
        return None, upper

    def unpack(self, w):
        """Name the parts of a weight vector.

        Parameters
        ----------
        w : ndarray of shape (size_joint_feature,)
            Weights.

        Returns
        -------
        weights : dict of str to ndarray
            "nodes" is W, of shape (n_features, n_states), "edges" is v, of shape
            (n_edge_features,), or (1,) for edges without features.
        """
        rows, tables = self._views(w)
        apart = ~np.eye(self.n_states_, dtype=bool)
        return {"nodes": rows, "edges": -tables[:, apart].mean(axis=1) + 0.0}

    def _set_losses(self):
        if isinstance(self.task_loss, str) and self.task_loss == "auto":
            self.task_loss_ = HammingLoss(class_weight="balanced")
            self._training_loss = self._judging_loss = self.task_loss_
        else:
            super()._set_losses()

    def _set_oracle(self, n_nodes, edges):
        if self.n_states_ == 2 and self._loss_is_a_sum and not is_forest(edges, n_nodes):
            self._natural = GraphCut()
        else:
            super()._set_oracle(n_nodes, edges)

    def _read(self, x, name):
        sample = super()._read(x, name)
        for _, features in sample.edges:
            if features is not None and features.size and features.min() < 0.0:
                edge, column = np.argwhere(features < 0.0)[0]
                raise ValueError(
                    f"edge features of {name} must not be negative, got {features[edge, column]} "
                    f"at edge {edge}, feature {column}: neighbours that gain by being different "
                    f"have no minimum cut; give similarities such as exp(-distance), or take a "
                    f"PartModel with tables of any kind"
                )
        return sample

    def _check_weights(self, w):
        w = super()._check_weights(w)
        tables = w[self._cut :]
        if np.any(tables > 0.0):
            raise ValueError(
                f"weights of edges must not reward different states, but entry "
                f"{self._cut + int(np.argmax(tables))} of the weights is {tables.max()} > 0: "
                f"weights from {self._cut} on must be <= 0 for GraphCutModel"
            )
        return w


def _items(x):
    """Features, edges, features of edges and weights of nodes, None for what is left out."""
    if not (isinstance(x, tuple | list) and 2 <= len(x) <= 4):
        what = f"{len(x)} items" if isinstance(x, tuple | list) else type(x).__name__
        raise TypeError(f"inputs of GraphCutModel must be {FORMS}, got {what}")
    return (*x, None, None)[:4]
