"""One label per sample."""

from dataclasses import KW_ONLY

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets

from ..._core import check
from ..._core.costs import costs_of
from ..._core.packed import Packed
from . import _ragged as ragged
from ._pairwise import PairwiseModel
from ._part_scores import Graph
from ._rows import Rows, check_rows

TABLE = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class RowsModel(PairwiseModel):
    """Base of models whose samples are one row of features each."""

    _multi_label = False
    _n_nodes_of_row, _edges_of_row = 1, np.empty((0, 2), np.int64)

    def _set_rows(self, X):
        self.n_constants_ = int(check.flag(self.fit_intercept, "fit_intercept"))
        self.n_features_in_ = check_rows(X).shape[1]

    def _inputs(self, svm, X):
        _refuse_sequences(X)
        return check.data(svm, X, reset=False, **TABLE)

    def _samples(self, svm, X, y, sample_weight, reset=True):
        _refuse_sequences(X)
        X, y = check.data(svm, X, y, reset=reset, multi_output=self._multi_label, **TABLE)
        return super()._samples(svm, X, y, sample_weight)

    def _stacked(self, X, y):
        X = check_rows(X)
        return ragged.Stacked.of(X, np.arange(X.shape[0] + 1)), y

    def _stack(self, X):
        X = check_rows(X)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but {self.n_features_in_} are expected")
        starts = np.arange(X.shape[0] + 1)
        constants = (starts[:-1], np.zeros_like(starts[:-1])) if self.fit_intercept else None
        tables = np.arange(len(self._edges_of_row))
        graph = Graph.shared(self._edges_of_row, tables, np.full(X.shape[0], len(tables)))
        return Rows(X, starts, starts * self._n_nodes_of_row, graph, constants)


def _refuse_sequences(X):
    """Refuse a list of tables, where a table of rows is needed."""
    is_list = isinstance(X, list | tuple | Packed | np.ndarray) and getattr(X, "ndim", 1) == 1
    if is_list and ragged.n_dims(next(iter(X), None)) == 2:
        raise ValueError(
            "X is a list of sequences, but this model takes one table with a label for each row: "
            "fit a list X of sequences with a list y of their labels, [x] and [y] for a single one"
        )


class MulticlassModel(RowsModel):
    """One of K classes, each with its own weights (Crammer and Singer).

    The score of class k is ``<W[:, k], x> + intercept[k]``.

    Parameters
    ----------
    task_loss : "zero_one", array-like of shape (n_classes, n_classes) or TaskLoss, \
            default="zero_one"
        One for every wrong class, a matrix of costs (rows: truth, in the order of ``classes_``), or
        any loss of `sklearn_fw.task_losses` with costs of nodes.
    class_weight : dict, "balanced" or None, default=None
        Factors of the cost by true class in training.
    fit_intercept : bool, default=True
        Append a constant feature, whose weights are regularized.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, sorted.
    n_features_in_, n_states_ : int
        Number of features and of classes.
    class_weight_ : ndarray of shape (n_classes,)
        Resolved class weights.
    cost_ : ndarray of shape (n_classes, n_classes)
        Cost matrix before class weights.
    task_loss_ : str, array-like or TaskLoss
        The loss of the training, as given.

    See Also
    --------
    sklearn.svm.LinearSVC : With ``multi_class="crammer_singer"`` the same objective.

    Notes
    -----
    With 0/1 loss and ``fit_intercept=False``, ``StructuredSVM(C=C)`` has the optimum of
    ``LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False)``.

    `unpack` names the parts of the weights: "features" (n_features, n_classes) and, if fitted,
    "intercept" (n_classes,).

    References
    ----------
    .. [1] K. Crammer, Y. Singer, "On the algorithmic implementation of multiclass kernel-based
       vector machines", JMLR 2, 2001.

    Examples
    --------
    >>> from sklearn_fw.structured import MulticlassModel
    >>> model = MulticlassModel().initialize([[0.0], [1.0]], ["no", "yes"])
    >>> model.joint_feature([2.0], "yes")
    array([0., 2., 0., 1.])
    """

    task_loss: object = "zero_one"
    _: KW_ONLY
    class_weight: object = None
    fit_intercept: bool = True

    _usual_tol = 0.01
    _is_single = True
    _loss_names = ("zero_one",)
    _loss_is_a_sum = True  # every loss of a single node is

    def initialize(self, X, y):
        self._set_rows(X)
        y = ragged.as_labels(y)
        self.classes_ = ragged.find_two_classes(y.ravel())
        check_classification_targets(ragged.observed(y))
        self.class_weight_ = ragged.class_weights(self.class_weight, self.classes_, y.ravel())
        self._set_losses()
        each = self._truth_of(np.arange(len(self.classes_)), np.arange(len(self.classes_) + 1))
        self.cost_ = costs_of(self._training_loss, each).dense()
        self.n_states_ = self.n_columns_ = len(self.classes_)
        self.n_tables_ = 0
        return self

    def unpack(self, w):
        rows = self._views(w)[0]
        weights = {"features": rows[: self.n_features_in_]}
        if self.fit_intercept:
            weights["intercept"] = rows[-1]
        return weights

    def decision_function(self, X, w):
        """Return the scores of all classes, of shape (n_samples, n_classes).

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Inputs.
        w : ndarray of shape (size_joint_feature,)
            Weights.
        """
        if not sp.issparse(w):
            w = check.array(w, "w")
        return self._node_scores(self._stack(X), w)

    def _arrange(self, marginals, node_start, X):
        return marginals

    def _encode(self, y, node_start, allow_unseen=False):
        y = ragged.as_labels(y)
        if y.dtype == object and not isinstance(y, np.ma.MaskedArray):
            y = np.array(y.tolist())  # containers of single labels, as the four methods make them
        y = y.ravel()
        ragged.check_counts(len(node_start) - 1, len(y))
        return ragged.encode_labels(y, self.classes_, allow_unseen)

    def _node_start_of(self, y):
        return np.arange(len(y) + 1)

    def _decode(self, states, node_start, X=None):
        return self.classes_[states]
