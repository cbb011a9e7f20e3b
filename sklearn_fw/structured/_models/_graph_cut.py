"""Graphs whose neighbors prefer to agree: two labels by minimum cuts."""

from dataclasses import field

import numpy as np

from ..._core import check
from ..._core.scores import is_forest
from ...inference import GraphCut
from ...task_losses import HammingLoss
from ._graph import GraphModel


class GraphCutModel(GraphModel):
    """Node labels of graphs with attractive edges, by minimum cuts.

    The score of the labels y of a graph with node features x_t and edge features z_e >= 0, both
    with a constant, is::

        sum_t <W[:, y_t], x_t> - sum_{e = (s, t): y_s != y_t} <v, z_e>,     v >= 0

    With two labels MAP inference is a minimum cut, exact on any graph. Choose it for image
    segmentation, with edge features that measure the similarity of two neighbors; choose
    `GraphModel` for neighbors that may prefer to differ.

    Parameters
    ----------
    task_loss : {"auto", "hamming", "hamming_sum", "zero_one"}, array-like of shape \
            (n_classes, n_classes) or TaskLoss, default="auto"
        "auto" is ``HammingLoss(class_weight="balanced_sample")``: the mean over the labels of a
        graph of the fraction of their nodes that is wrong. "hamming" is the fraction of all nodes,
        "hamming_sum" their number. All of them use weights of nodes.
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
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted. More than two are allowed, but then no oracle is exact.
    class_weight_ : ndarray of shape (n_classes,)
        Resolved class weights.
    n_features_in_, n_states_ : int
        Number of node features and of labels.
    states_ : list of int
        The number of labels.
    node_features_, edge_features_ : list of int
        Numbers of features of nodes, and of edges with the constant; 0 for edges without.
    edge_symmetry_, task_loss_ : str, array-like or TaskLoss
        "potts", and the loss of the training.

    See Also
    --------
    GraphModel : Tables of any kind, and the forms of graphs.
    sklearn_fw.inference.GraphCut : The oracle.
    sklearn_fw.task_losses.OverlapLoss : A loss that bounds intersection over union.

    Notes
    -----
    Inputs are those of `GraphModel`: tuples ``(features, edges, edge_features, node_weights)``, of
    which the last two are optional, or networkx graphs. Negative edge features and weights that
    reward a difference raise an error.

    ``v >= 0`` is a box that the solver keeps, so that every oracle call of the training is a cut;
    solvers without boxes raise an error. Passes and cuts are compiled.

    ``coef_`` holds W and the constants, of shape ``(n_features_in_ + 1, n_states_)``, and then a
    table of shape ``(n_states_, n_states_)`` for each edge feature, with ``-v`` off the diagonal
    and 0 on it. With ``u = W[:, 1] = -W[:, 0]`` its squared norm is ``2 |u|^2 + 2 |v|^2``: the C of
    [1]_, where u and v are the weights, is twice the C here. `unpack` names the parts as for
    `GraphModel`, but "edges" is v, of shape (n_edge_features,), the constant first.

    References
    ----------
    .. [1] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania, S. Lacoste-Julien, "Minding the gaps
       for block Frank-Wolfe optimization of structured SVMs", ICML 2016, appendix I.
    .. [2] M. Szummer, P. Kohli, D. Hoiem, "Learning CRFs using graph cuts", ECCV 2008.

    Examples
    --------
    Four cells in a ring; neighbors with equal features tend to share a label.

    >>> import numpy as np
    >>> from sklearn_fw import StructuredSVM
    >>> from sklearn_fw.structured import GraphCutModel
    >>> ring = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    >>> def cells(x):
    ...     x = np.array(x)
    ...     return x[:, None], ring, np.exp(-np.abs(x[ring[:, 0]] - x[ring[:, 1]]))
    >>> X = [cells([0.1, 0.3, 0.9, 0.8]), cells([1.0, 0.4, 0.2, 0.9])]
    >>> y = [[0, 0, 1, 1], [1, 0, 0, 1]]
    >>> svm = StructuredSVM(GraphCutModel(), solver="bcfw", C=1.0).fit(X, y)
    >>> svm.predict([cells([0.2, 0.1, 0.9, 0.6])])[0]
    array([0, 0, 1, 1])
    >>> bool(np.all(svm.model_.unpack(svm.coef_)["edges"] >= 0))
    True
    """

    edge_symmetry: str = field(default="potts", init=False)
    _needs_bounds = True  # no cut answers beyond them

    def bounds(self):
        """Return lower (None) and upper bounds of the weights: tables are not positive."""
        upper = np.full(self.size_joint_feature, np.inf)  # tables are not positive
        upper[self._cut :] = 0.0
        return None, upper

    def unpack(self, w):
        weights = super().unpack(w)
        apart = ~np.eye(self.n_states_, dtype=bool)
        return {**weights, "edges": -self._views(w)[1][:, apart].mean(axis=1) + 0.0}

    def _set_losses(self):
        if check.is_auto(self.task_loss):
            self.task_loss_ = HammingLoss(class_weight="balanced_sample")
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
                    f"at edge {edge}, feature {column}: give similarities such as "
                    f"exp(-distance), or take GraphModel"
                )
        return sample

    def _check_weights(self, w):
        w = super()._check_weights(w)
        tables = w[self._cut :]
        if np.any(tables > 0.0):
            j = int(np.argmax(tables))
            raise ValueError(
                f"w must not reward different labels of neighbors, but entry {self._cut + j} is "
                f"{tables[j]} > 0: see bounds(), or take GraphModel"
            )
        return w
