"""Sets of labels."""

from dataclasses import KW_ONLY

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from ..._core import check
from ..._core.costs import BINARY, MISSING
from ..._core.scores import check_edges
from ...optim.domains import SpanningTrees
from ._multiclass import RowsModel
from ._part_scores import oriented
from ._ragged import check_counts


class MultilabelModel(RowsModel):
    """Several binary labels of one input, with scored pairs of labels.

    The score of a 0/1 vector ``y`` is::

        sum_l <W[:, l, y_l], x> + intercept[l, y_l] + sum_(l,m) pairs[lm][y_l, y_m]

    Parameters
    ----------
    edges : {"tree", "full", "none"} or array-like of shape (n_edges, 2), default="tree"
        Pairs of labels with a table of their own: the maximum spanning tree of their mutual
        information in the training set (Chow and Liu), all, none, or those given, by integers.
    task_loss : {"auto", "hamming", "hamming_sum", "zero_one"}, array-like of shape (2, 2) or \
            TaskLoss, default="auto"
        Fraction of wrong labels, their number, one if any label is wrong, a matrix of costs of
        absent and present labels (rows: truth), or any loss of `sklearn_fw.task_losses` with costs
        of nodes. "auto" trains by the number and evaluates by the fraction.
    fit_intercept : bool, default=True
        Append a constant feature (regularized).

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Numbers of the labels.
    edges_ : ndarray of shape (n_edges, 2)
        Pairs in the order of the tables; rows of a table belong to the first label of its pair.
    n_features_in_, n_states_ : int
        Number of features, and two.
    task_loss_ : str, array-like or TaskLoss
        The loss of the training.

    See Also
    --------
    sklearn.multioutput.ClassifierChain : Labels predicted one after the other.

    Notes
    -----
    Forests are solved exactly by max-product at a cost linear in the number of labels. Other graphs
    have their labelings listed, up to twelve labels, or are solved by elimination where it is
    cheap, else approximately with bounds: with many labels use a tree.

    `unpack` names the parts of the weights: "features" (n_features, n_labels, 2), "intercept"
    (n_labels, 2) if fitted, and "pairs" (n_edges, 2, 2) in the order of ``edges_``.

    References
    ----------
    .. [1] T. Finley, T. Joachims, "Training structural SVMs when exact inference is intractable",
       ICML 2008.
    .. [2] C. Chow, C. Liu, "Approximating discrete probability distributions with dependence
       trees", IEEE Transactions on Information Theory, 1968.

    Examples
    --------
    >>> from sklearn_fw.structured import MultilabelModel
    >>> model = MultilabelModel(edges="full").initialize([[1.0], [2.0]], [[0, 1, 1], [1, 0, 1]])
    >>> model.edges_.tolist()
    [[0, 1], [0, 2], [1, 2]]
    """

    edges: object = "tree"
    _: KW_ONLY
    task_loss: object = "auto"
    fit_intercept: bool = True

    _multi_label = True

    def initialize(self, X, y):
        self._set_losses()
        self._set_rows(X)
        y = _check_indicators(y)
        self.classes_ = np.arange(y.shape[1])
        self.n_states_ = 2
        self.n_columns_ = 2 * y.shape[1]
        self.edges_ = oriented(self._choose_edges(y), y.shape[1])[0]
        self.n_tables_ = len(self.edges_)
        self._set_oracle(y.shape[1], self.edges_)
        return self

    def _choose_edges(self, y):
        n_labels = y.shape[1]
        if isinstance(self.edges, str):
            check.choice(self.edges, "edges", {"tree", "full", "none"}, "pairs of labels")
            if self.edges == "none" or n_labels < 2:
                return np.empty((0, 2), np.int64)
            if self.edges == "full":
                return np.stack(np.triu_indices(n_labels, 1), axis=1)
            return _chow_liu_tree(y)
        edges = check_edges(self.edges, n_labels, "labels")
        if len(np.unique(np.sort(edges, axis=1), axis=0)) < len(edges):
            raise ValueError("edges holds the same pair of labels twice")
        return edges

    def unpack(self, w):
        rows, tables = self._views(w)
        rows = rows.reshape(len(rows), -1, self.n_states_)
        weights = {"features": rows[: self.n_features_in_], "pairs": tables}
        if self.fit_intercept:
            weights["intercept"] = rows[-1]
        return weights

    @property
    def _n_nodes_of_row(self):
        return len(self.classes_)

    @property
    def _edges_of_row(self):
        return self.edges_

    def _encode(self, y, node_start, allow_unseen=False):
        y = _check_indicators(y)
        if y.shape[1] != len(self.classes_):
            raise ValueError(f"y has {y.shape[1]} labels, but {len(self.classes_)} were fitted")
        check_counts(len(node_start) - 1, len(y))
        return y.ravel()

    def _node_start_of(self, y):
        return np.arange(_check_indicators(y).shape[0] + 1) * len(self.classes_)

    def _decode(self, states, node_start, X=None):
        return np.asarray(states, dtype=np.int64).reshape(-1, len(self.classes_))

    def _arrange(self, marginals, node_start, X):
        return marginals.reshape(-1, len(self.classes_), *marginals.shape[1:])

    def _labels_of_states(self, kind):
        return (BINARY,)


def _check_indicators(y):
    """0 and 1, and `MISSING` where entries are masked; int32."""
    if isinstance(y, np.ma.MaskedArray):
        indicators = _check_indicators(y.filled(0))
        indicators[np.ma.getmaskarray(y)] = MISSING
        return indicators
    if isinstance(y, np.ndarray) and y.dtype == object and y.ndim == 1:
        y = np.stack([np.asarray(row) for row in y])
    if sp.issparse(y):
        y = check.sparse(y, "y").toarray()
    y = check_array(y, dtype=None, input_name="y")
    if not np.all((y == 0) | (y == 1)):
        raise ValueError(
            "y must hold only 0 and 1, one column per label; for sequences of labels X must be a "
            "list with an array of shape (n_nodes, n_features) for every sample"
        )
    return y.astype(np.int32)


def _chow_liu_tree(y):
    """Maximum spanning tree of the pairwise mutual information of the labels."""
    n_labels = y.shape[1]
    is_one = np.stack([y == 0, y == 1]).astype(float)
    counts = np.einsum("ail,bim->ablm", is_one, is_one, optimize=True)
    # Smoothed: labels that never vary still get an edge. Pairs count where both are known.
    joint = (counts + 0.5) / (counts.sum(axis=(0, 1)) + 2.0)
    marginal_a, marginal_b = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    information = (joint * np.log(joint / (marginal_a * marginal_b))).sum(axis=(0, 1))
    pairs = np.stack(np.triu_indices(n_labels, 1), axis=1)
    return pairs[SpanningTrees(pairs, n_labels).lmo(-information[tuple(pairs.T)]).places]
