"""Several hidden states behind each label of any model of nodes and edges."""

from copy import copy
from operator import attrgetter

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..._core import check
from ..._core.costs import costs_of
from ..._core.packed import padded
from ...inference import Viterbi
from ._missing_labels import unlabeled, with_masks
from ._pairwise import PairwiseModel
from ._parts import difficulty
from ._ragged import Stacked


class HiddenStates(PairwiseModel):
    """A model with hidden states of nodes, of which outputs show the labels alone.

    Weights and scores are those of states; outputs and losses are those of the original model.
    ``first_``, of shape (n_kinds, n_labels + 1), is the first state of each label of each kind of
    node, and the end; ``label_``, of shape (n_kinds, n_states), the label of each state.
    """

    base: object
    n_states_per_label: int = 2
    missing_label: object = None

    # ---- samples -------------------------------------------------------------------------------

    def _masked(self, y):
        return with_masks(y, self.missing_label, self._multi_label is not None)

    def labeled(self, y, sample_weight):
        """Outputs with masks where labels are missing; weights, zero for samples without any."""
        y = self._masked(y)
        without = unlabeled(y, self._multi_label is not None)
        if without is None:
            return y, sample_weight
        if np.all(without):
            raise ValueError("y holds no label: all are missing")
        return y, check.sample_weight(sample_weight, len(without)) * ~without

    def _samples(self, svm, X, y, sample_weight, reset=True):
        y, weight = self.labeled(y, sample_weight)
        if self._multi_label is None or not np.ma.is_masked(y):
            return self.base._samples(svm, X, y, weight, reset)
        mask = y.mask[weight > 0.0]
        X, y, weight = self.base._samples(svm, X, y.data, weight, reset)
        return X, np.ma.array(y, mask=mask.reshape(y.shape)), weight

    # ---- sizes ---------------------------------------------------------------------------------

    def _stacked(self, X, y):
        """Samples, and `Stacked` rows (number of the label or `MISSING`, state) of all nodes."""
        base = self.base
        X, y = base._stacked(X, y)
        base.initialize(X, y)
        self._set_sizes()
        rows = base._stack(X)
        self._set_natural(rows)
        codes = base._encode(y, rows.node_start)
        return X, self.with_states(codes, np.zeros_like(codes), rows.node_start)

    @staticmethod
    def with_states(codes, states, node_start):
        """Outputs of a training set: labels and states of all nodes."""
        return Stacked.of(np.column_stack([codes, states]), node_start)

    def initialize(self, X, y):
        return self  # all is known since the samples were stacked

    def _set_sizes(self):
        base = self.base
        n_labels = getattr(base, "states_", [base.n_states_])  # of each kind of node
        counts = padded(_counts(self.n_states_per_label, n_labels), base.n_states_, 0)
        self.first_ = np.pad(np.cumsum(counts, axis=1), ((0, 0), (1, 0)))
        self.n_states_ = max(self.states_)
        labels = [np.repeat(np.arange(len(own)), own) for own in counts]
        self.label_ = padded(labels, self.n_states_, 0)
        self.is_plain = bool(np.all(counts <= 1))
        self.n_columns_ = base.n_columns_ // base.n_states_ * self.n_states_

    @property
    def states_(self):
        """Number of states of each kind of node."""
        return self.first_[:, -1].tolist()

    def _set_natural(self, rows):
        self._natural = self.base.default_oracle()
        if self.is_plain or isinstance(self._natural, Viterbi):
            return
        graph, lengths = rows.graph, np.diff(rows.node_start)
        graphs = [graph.edges[a:b] for a, b in zip(graph.start, graph.stop)]
        self._set_oracle(*max(zip(lengths.tolist(), graphs), key=difficulty))

    def bounds(self):
        """Those of the model, whose weights must be those of its labels then."""
        own = getattr(self.base, "bounds", lambda: (None, None))()
        if not self.is_plain and any(side is not None for side in own):
            raise ValueError(
                f"{type(self.base).__name__} has bounds on weights: set n_states_per_label=1"
            )
        return own

    # ---- what is that of the model of labels -----------------------------------------------------

    def _in_units(self, units):
        other = copy(self)
        other.base = self.base._in_units(units)
        return other

    def _weights_as_given(self, w):
        return self._inside()._weights_as_given(w)

    def _weights_in_units(self, w):
        return self._inside()._weights_in_units(w)

    def unpack(self, w):
        return (self.base if self.is_plain else self._inside()).unpack(w)

    def _inside(self):
        """The model of labels with the sizes of this one."""
        inside = copy(self.base)
        inside.n_states_, inside.n_columns_ = self.n_states_, self.n_columns_
        if hasattr(inside, "states_"):
            inside.states_ = self.states_
        if hasattr(inside, "_classes"):
            labels = self.state_labels_
            inside._classes = labels if isinstance(labels, list) else [labels]
        return inside

    def _offers(self, method):
        if method == "n_best":
            raise AttributeError("n_best would list labels repeatedly: see predict_marginals")
        if method == "duality_gap":
            raise AttributeError("duality_gap needs a convex objective: see dual_gap_")
        return True

    # ---- states and labels -----------------------------------------------------------------------

    @property
    def state_labels_(self):
        """Label of each state; a list with an array for each kind of node, where there are more."""
        nothing, several = np.empty(0, np.int32), len(self.states_) > 1
        truth = self.base._truth_of(nothing, np.zeros(1, np.int64), nothing if several else None)
        labels = [own[at[:n]] for own, at, n in zip(truth.classes, self.label_, self.states_)]
        return labels if several else labels[0]

    def allowed(self, codes, kind):
        """The states of each node that its label allows, (n_nodes, n_states)."""
        row = 0 if kind is None else kind
        missing = codes < 0
        low = np.where(missing, 0, self.first_[row, codes])
        high = np.where(missing, self.first_[row, -1], self.first_[row, codes + 1])
        states = np.arange(self.n_states_)
        return (low[:, None] <= states) & (states < high[:, None])

    def impute(self, rows, allowed, w, oracle):
        """Best states among those allowed, and the scores of all samples."""
        parts = self._scores_of(rows, w)
        parts = parts._replace(nodes=np.where(allowed, parts.nodes, -np.inf))
        return self._best_states(parts, oracle)

    def _encode(self, y, node_start, allow_unseen=False):
        """Numbers of the labels of all nodes, as users or `_stacked` give them."""
        if isinstance(y, Stacked):
            return y.compact().values[:, 0]
        return self.base._encode(self._masked(y), node_start, allow_unseen)

    def _targets(self, y, rows):
        codes, states = np.ascontiguousarray(y.compact().values.T, dtype=np.int32)
        return states, self._costs(codes, rows.node_start, rows.kind, rows.weight)

    def _own_states(self, y, rows):
        if not self.is_plain:
            raise ValueError("features are those of states, which outputs do not show")
        return super()._own_states(y, rows)

    def _costs(self, codes, node_start, kind=None, weight=None):
        costs = self.base._costs(codes, node_start, kind, weight)
        if costs.whole and not (self.is_plain and np.all(codes >= 0)):
            raise ValueError(
                "hidden states and missing labels need a task_loss that is a sum over nodes, such "
                "as 'hamming': states that differ may have equal labels"
            )
        n_rows = len(costs.table)
        table = np.concatenate([costs.table[:, own] for own in self.label_])
        row = costs.row if kind is None else (kind * n_rows + costs.row).astype(np.int32)
        return costs._replace(table=np.ascontiguousarray(table), row=row)

    def _decode(self, states, node_start, X=None):
        kind = 0 if len(self.states_) == 1 else self._about_nodes(X)[0]
        return self.base._decode(self.label_[kind, states].astype(np.int32), node_start, X)

    def _losses(self, y_true, y, training=False, X=None):
        if not isinstance(y_true, Stacked):
            return self.base._losses(self._masked(y_true), y, training, X)
        base, node_start = self.base, self._node_start_of(y)
        nodes = self._about_nodes(X)
        truth = base._truth_of(self._encode(y_true, node_start), node_start, *nodes)
        return costs_of(base._judging_loss, truth).losses(truth, base._encode(y, node_start))

    def _of_labels(self, states):
        if self.is_plain:
            return states
        if len(self.states_) > 1:
            raise TypeError("marginals of labels with hidden states need nodes of one kind")
        return np.add.reduceat(states, self.first_[0, :-1], axis=1)

    @available_if(lambda model: hasattr(model.base, "decision_function"))
    def decision_function(self, X, w):
        """Scores of the best state of each class."""
        scores = self._node_scores(self._stack(X), w)
        return np.maximum.reduceat(scores, self.first_[0, :-1], axis=1)


OF_BASE = (
    "_units", "_loss_is_a_sum", "_has_batches", "_stack", "_about_nodes", "_kinds_in",
    "_node_start_of", "_arrange", "_size_of_edge_features", "n_constants_", "n_tables_",
    "n_features_in_", "classes_", "class_weight_", "task_loss_", "class_weight", "_training_loss",
    "_judging_loss", "_multi_label", "_is_single", "_usual_tol", "_inputs", "_has_constant",
    "_add_constant",
)  # fmt: skip
for _name in OF_BASE:
    setattr(HiddenStates, _name, property(attrgetter(f"base.{_name}")))


def _counts(given, n_labels):
    """Number of states of each label, one array for each kind of node."""
    name = "n_states_per_label"

    def entries(given, n):
        if isinstance(given, str) or not hasattr(given, "__len__"):
            return [given] * n
        given = check.items(given, name, "numbers of states")
        if len(given) != n:
            raise ValueError(f"{name} must be an integer or hold {n} entries, got {len(given)}")
        return given

    kinds = [given] if len(n_labels) == 1 else entries(given, len(n_labels))
    lists = [entries(own, n) for own, n in zip(kinds, n_labels)]
    return [np.array([check.integer(number, name, 1) for number in own]) for own in lists]
