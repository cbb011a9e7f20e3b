"""Sequences: linear-chain models."""

from dataclasses import KW_ONLY
from itertools import pairwise

import numpy as np

from ..._core import check
from ..._core.packed import objects
from ..._kernels import lazy
from ...inference import Viterbi
from . import _ragged as ragged
from ._pairwise import PairwiseModel
from ._part_scores import Graph
from ._rows import Rows

rows_kernels = lazy("common.rows")

ENDS = np.array([0, 1])  # nodes of an edge, counted from its number


class ChainModel(PairwiseModel):
    """Linear chain: one label per element of a sequence, with scored transitions.

    The score of labels ``y`` for a sequence ``x`` of length T is::

        sum_t <W[:, y_t], x_t> + start[y_1] + end[y_T] + sum_t transitions[y_t, y_{t+1}]

    Parameters
    ----------
    task_loss : {"auto", "hamming", "hamming_sum", "zero_one"}, array-like of shape \
            (n_states, n_states) or TaskLoss, default="auto"
        Cost of a wrong sequence: the fraction of wrong labels, their number, one if any label is
        wrong, a matrix of costs (rows: truth, in the order of ``classes_``), or any loss of
        `sklearn_fw.task_losses` with costs of nodes. "auto" trains by the number, so that a label
        counts the same in long and short sequences, and evaluates by the fraction.
    class_weight : dict, "balanced" or None, default=None
        Factors of the cost of a node by its true label in training; not with "zero_one".
    start_end : bool, default=True
        Give each state a weight for the first and one for the last position.

    Attributes
    ----------
    classes_ : ndarray of shape (n_states,)
        Labels, sorted.
    n_features_in_, n_states_ : int
        Number of features of an element, and of labels.
    class_weight_ : ndarray of shape (n_states,)
        Resolved class weights.
    task_loss_ : str, array-like or TaskLoss
        The loss of the training.

    See Also
    --------
    MultilabelModel : Several binary labels of one input.
    sklearn_fw.inference.Viterbi : Its oracle.

    Notes
    -----
    Inputs are a list, an object array or a `Packed` of arrays or CSR matrices of shape
    (T, n_features), outputs the same of label arrays of shape (T,). T may be 0. Append a constant
    column for a bias per label. ``coef_`` holds the (n_features, n_states) feature weights, the
    start and end rows, and the (n_states, n_states) transitions. One oracle call costs
    O(nnz(x) K + T K^2).

    `unpack` names the parts of the weights: "features" (n_features, n_states), "start" and "end"
    (n_states,) if present, and "transitions" (n_states, n_states), from row to column.

    References
    ----------
    .. [1] B. Taskar, C. Guestrin, D. Koller, "Max-margin Markov networks", NIPS 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.structured import ChainModel
    >>> model = ChainModel().initialize([np.eye(2), np.eye(2)[:1]], [["a", "b"], ["a"]])
    >>> model.size_joint_feature  # (2 features + start + end) x 2 states + 2 x 2 transitions
    12
    >>> model.loss(["a", "b"], ["b", "a"])
    2.0
    """

    task_loss: object = "auto"
    _: KW_ONLY
    class_weight: object = None
    start_end: bool = True

    _natural = Viterbi()

    def initialize(self, X, y):
        self._set_losses()
        matrix, row_start = ragged.stack_rows(X)
        flat, _ = ragged.stack_labels(y, row_start)
        self.classes_ = ragged.find_two_classes(flat)
        self.class_weight_ = ragged.class_weights(self.class_weight, self.classes_, flat)
        self.n_features_in_ = matrix.shape[1]
        self.n_states_ = self.n_columns_ = len(self.classes_)
        self.n_constants_ = 2 * check.flag(self.start_end, "start_end")
        self.n_tables_ = 1
        return self

    def _samples(self, svm, X, y, sample_weight, reset=True):
        return ragged.weighted_samples(X, y, sample_weight, drops_empty=True)

    def unpack(self, w):
        rows, tables = self._views(w)
        weights = {"features": rows[: self.n_features_in_], "transitions": tables[0]}
        if self.start_end:
            weights["start"], weights["end"] = rows[self.n_features_in_ :]
        return weights

    def _stacked(self, X, y):
        rows, starts = ragged.stack_rows(X)
        labels, _ = ragged.stack_labels(y, starts)
        return ragged.Stacked.of(rows, starts), ragged.Stacked.of(labels, starts)

    def _stack(self, X):
        matrix, starts = ragged.stack_rows(X, self.n_features_in_)
        n_edges = np.maximum(starts[1:] - starts[:-1] - 1, 0)
        t = np.arange(np.maximum.reduce(n_edges))
        graph = Graph.shared(t[:, None] + ENDS, np.zeros(len(t), np.int64), n_edges)
        constants = rows_kernels.ends(starts) if self.start_end else None
        return Rows(matrix, starts, starts, graph, constants)

    def _has_constant(self, rows):
        return self.start_end

    def _add_constant(self, rows, tables, score):
        rows[self.n_features_in_] += score  # of the first node; transitions end at the others
        tables += score

    def _encode(self, y, node_start, allow_unseen=False):
        flat, _ = ragged.stack_labels(y, node_start)
        return ragged.encode_labels(flat, self.classes_, allow_unseen)

    def _node_start_of(self, y):
        return ragged.stack_labels(y)[1]

    def _decode(self, states, node_start, X=None):
        labels = self.classes_[states]
        return objects([labels[a:b] for a, b in pairwise(node_start)])
