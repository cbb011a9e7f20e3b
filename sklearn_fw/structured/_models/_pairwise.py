"""Models whose outputs are states of nodes joined by edges: base of chains, labels, label sets.

A sample is a block of feature rows. One row yields ``n_columns`` scores at once: those of one node
(chains), or of all nodes (label sets, whose nodes see the same features). The weight vector holds

    rows    (n_attributes, n_columns)           features first, then the constants: constant ones
    tables  (n_tables, n_states, n_states)      one per kind of edge

"""

import re
from copy import copy
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ..._core import check
from ..._core.costs import MISSING, costs_of
from ..._core.oracle import checked
from ..._core.packed import objects
from ..._core.scores import expect_scores
from ..._kernels import lazy
from ...inference import PairwiseScores, TreeMaxProduct, natural_oracle, resolve_oracle
from ...task_losses import HammingLoss, Truth
from ._base import REQUIRED, ScoredModel, loss_of_nodes
from ._part_scores import COMPILED, PartScores, augmented_argmax
from ._rows import dense_part, plain, product, with_constants, writable
from ._units import Units, units_for, warn_of_scale

parts_kernels = lazy("structured.parts")
rows_kernels = lazy("common.rows")

ALL_LABELINGS = 1_000_000  # what `Enumeration` lists at most


class PairwiseModel(ScoredModel):
    """Linear scores on the states of nodes and the pairs of states of edges (base class).

    Subclasses check and stack inputs as `Rows` (``_stack(X)``), return the int32 states of outputs
    (``_encode(y, node_start, allow_unseen)``, -1 for unseen labels) and outputs from states
    (``_decode(states, node_start, X)``). ``initialize`` calls `_set_losses` and sets ``classes_,
    n_features_in_, n_states_, n_columns_, n_constants_, n_tables_``. In a fit, features are in
    ``_units``.
    """

    _units = Units()
    _is_single = False  # whether each output is the state of one node
    _loss_names = ("auto", "hamming", "hamming_sum", "zero_one")  # "auto" trains by the sum
    class_weight = None  # of models without this parameter
    _natural = TreeMaxProduct()  # the default oracle, of graphs without cycles
    _has_batches = True  # whether compiled trees answer for many samples at once

    def _stacked(self, X, y):
        """Samples in a form that other methods need not check again."""
        return X, y

    # ---- losses --------------------------------------------------------------------------------

    def _set_losses(self):
        by_itself = check.is_auto(self.task_loss)
        self.task_loss_ = "hamming_sum" if by_itself else self.task_loss
        self._training_loss = loss_of_nodes(self, self.task_loss_, self._loss_names)
        # Of "auto" the judge is a loss between 0 and 1.
        self._judging_loss = HammingLoss() if by_itself else self._training_loss
        if self.class_weight is not None and not self._loss_is_a_sum:
            raise ValueError("class_weight needs a task_loss that is a sum over nodes")

    @property
    def _loss_is_a_sum(self):
        """Whether the loss of the training is a sum over nodes."""
        return self._training_loss.decomposes

    def _about_nodes(self, X):
        """Kind and weight of every node of some inputs; None where all are equal."""
        return None, None

    def _kinds_in(self, y):
        """Kind of every node of some outputs; None where there is one, or outputs do not say it."""

    def _labels_of_states(self, kind):
        """Labels of the states of each kind of node."""
        return (self.classes_,)

    def _truth_of(self, states, node_start, kind=None, weight=None):
        """What losses see of true outputs."""
        classes = tuple(self._labels_of_states(kind))
        return Truth(states, node_start, classes, kind, weight=weight)

    def _costs(self, states, node_start, kind=None, weight=None):
        """`NodeCosts` of the training: class weights count there, not when outputs are judged."""
        costs = costs_of(self._training_loss, self._truth_of(states, node_start, kind, weight))
        if self.class_weight is None:
            return costs
        return costs.weighted(self._class_weights_of(states, kind))

    def _class_weights_of(self, states, kind):
        """Class weights of nodes; the last is of unknown labels."""
        return np.append(self.class_weight_, 1.0)[states]

    # ---- sizes ---------------------------------------------------------------------------------

    @property
    def size_joint_feature(self):
        """Number of weights."""
        return self._cut + self.n_tables_ * self.n_states_**2

    @property
    def _n_attributes(self):
        return self.n_features_in_ + self.n_constants_

    @property
    def _cut(self):
        return self._n_attributes * self.n_columns_

    def _check_weights(self, w):
        # NaN is looked for where single inputs are asked about, not in every prediction.
        w = check.array(w, "w", finite=None)
        if w.shape != (self.size_joint_feature,):
            raise ValueError(f"w must have shape ({self.size_joint_feature},), got {w.shape}")
        return w

    def _views(self, w):
        """The weights, for features as given: (n_attributes, n_columns) and (n_tables, K, K)."""
        return self._exchanged(self._check_weights(check.array(w, "w")), -1.0)

    def _parted(self, w):
        rows = w[: self._cut].reshape(self._n_attributes, self.n_columns_)
        return rows, w[self._cut :].reshape(-1, self.n_states_, self.n_states_)

    def unpack(self, w):
        """Return the parts of a weight vector by name, see the notes of the class.

        Parameters
        ----------
        w : ndarray of shape (size_joint_feature,)
            Weights.
        """
        raise NotImplementedError

    def _weights_as_given(self, w):
        """Weights for features as given, of those in the units of a fit."""
        return w if self._units.is_plain else _flat(*self._views(w))

    def _weights_in_units(self, w):
        """The way back."""
        return w if self._units.is_plain else _flat(*self._exchanged(w, 1.0))

    def _exchanged(self, w, power):
        """Rows and tables in units of those for features as given (power 1.0), or back (-1.0)."""
        (rows, tables), scale, mean = self._parted(w), *self._units[:2]
        rows, tables = rows.copy(), tables * self._table_scales[:, None, None] ** power
        features, scale = rows[: self.n_features_in_], np.reshape(scale, (-1, 1))
        given = features if power > 0 else features / scale
        if mean is not None:
            self._add_constant(rows, tables, power * (mean @ given))
        features[:] = given * scale if power > 0 else given
        return rows, tables

    def _has_constant(self, rows):
        """Whether weights can give all nodes the same further score of each state."""
        return self.n_constants_ == 1 and len(rows.constants[0]) == rows.matrix.shape[0]

    def _add_constant(self, rows, tables, score):
        rows[-1] += score

    def _in_units(self, units):
        """A copy whose weights count in other units."""
        other = copy(self)
        other._units = units
        return other

    _units_for, _warn_of_scale = units_for, warn_of_scale

    @property
    def _table_scales(self):
        """What the features of edges behind each table are divided by."""
        return np.ones(self.n_tables_)

    def default_oracle(self):
        """Return the oracle that suits the edges: exact while it costs little.

        This is `Viterbi` for chains, `TreeMaxProduct` for other forests, `Enumeration` of few
        labelings, `Elimination`, or else `BestOf`.
        """
        return self._natural

    def _set_oracle(self, n_nodes, edges):
        """Choose the default oracle by the largest graph that there is."""
        unary, shape = np.zeros((n_nodes, self.n_states_)), (self.n_states_, self.n_states_)
        scores = PairwiseScores._view(unary, np.broadcast_to(0.0, (len(edges), *shape)), edges)
        # Only listing finds the second best output, which the zero-one loss asks for.
        options = {} if self._loss_is_a_sum else {"n_listed": ALL_LABELINGS}
        self._natural = natural_oracle(scores, **options)

    # ---- the training problem ---------------------------------------------------------------

    def _offers(self, method):
        """Whether an estimator has a method for this model."""
        return True

    def _can(self, ability, oracle):
        """Whether an oracle has a method; marginals of single nodes need none."""
        is_single = ability == "marginals" and self._is_single
        return is_single or callable(getattr(checked(oracle), ability, None))

    def _problem(self, X, y, weight, oracle, n_jobs):
        from .._problems._relaxed import part_problem

        oracle = resolve_oracle(oracle, default=self.default_oracle())
        return part_problem(self._build_parts(X, y, weight), checked(oracle), n_jobs), oracle

    # ---- many samples --------------------------------------------------------------------------

    def _size_of_edge_features(self, X):
        """Root mean square norm of the features of an edge but constants; NaN if it has none."""
        return np.nan

    def _build_parts(self, X, y, weight):
        """The training set as `_kernels.structured.parts.Parts`; ``weight`` sums to one."""
        rows = self._stack(X)
        states, costs = self._targets(y, rows)
        rows = rows._replace(matrix=plain(rows.matrix))
        matrix = with_constants(rows, self._units, self.n_constants_)
        indptr = matrix.indptr.astype(np.int64)
        local, attribute_start, attributes = rows_kernels.number_locally(
            rows.row_start, indptr, writable(matrix.indices), self._n_attributes
        )
        graph = rows.graph
        parts = parts_kernels.Parts(
            row_start=rows.row_start,
            indptr=indptr,
            local=local,
            data=matrix.data,
            attribute_start=attribute_start,
            attributes=attributes,
            node_start=rows.node_start,
            edge_start=graph.start,
            edge_stop=graph.stop,
            edges=graph.edges,
            edge_table=graph.table,
            mix=graph.mix,
            n_own=self._n_own(rows),
            exhaustive=False,
            truth=states,
            node_cost=costs.factor,
            cost_row=costs.row,
            cost=costs.table,
            zero_one_cost=costs.whole,
            weight=weight,
            n_attributes=self._n_attributes,
            n_columns=self.n_columns_,
            n_tables=self.n_tables_,
        )
        # joblib maps large arrays into its workers read-only, and numba would compile all kernels
        # once more for arrays of that kind.
        return parts_kernels.Parts(*(writable(field) for field in parts))

    def _targets(self, y, rows):
        """True states of all nodes, and their `NodeCosts`."""
        states = self._own_states(y, rows)
        return states, self._costs(states, rows.node_start, rows.kind, rows.weight)

    def _own_states(self, y, rows):
        """States of all nodes of outputs; each must be one that its node has."""
        states, n_own = self._encode(y, rows.node_start), self._n_own(rows)
        if n_own is not None and np.any(states >= n_own):
            t = int(np.argmax(states >= n_own))
            raise ValueError(f"y has the state {states[t]} at a node with {n_own[t]} states")
        missing = np.flatnonzero(states == MISSING)
        if len(missing):
            i = int(np.searchsorted(rows.node_start, missing[0], side="right")) - 1
            raise ValueError(f"y[{i}] has nodes without a label (masked): take LatentStructuredSVM")
        return states

    def _node_scores(self, rows, w):
        w = w if sp.issparse(w) else self._check_weights(w)
        units, n_columns = self._units, self.n_columns_
        start = self.n_features_in_ * n_columns
        if units.changes_nodes:
            features = w[:start].reshape(-1, n_columns) / np.reshape(units.scale, (-1, 1))
            scores = product(rows.matrix, features.ravel(), n_columns)
            if units.mean is not None:
                scores = scores - units.mean @ features
        else:
            scores = product(rows.matrix, w, n_columns)
        if rows.constants is not None:
            constants = dense_part(w, start, self._cut).reshape(-1, n_columns).copy()
            rows_kernels.add_rows(scores, *rows.constants, constants)
        return scores.reshape(-1, self.n_states_)

    def _part_scores(self, X, w):
        return self._scores_of(self._stack(X), w)

    def _scores_of(self, rows, w):
        scores = self._node_scores(rows, w)
        tables = dense_part(w, self._cut, self.size_joint_feature)
        tables = np.array(tables, dtype=np.float64).reshape(-1, self.n_states_, self.n_states_)
        n_own = self._n_own(rows)
        if n_own is not None:
            scores = np.where(np.arange(self.n_states_) < n_own[:, None], scores, -np.inf)
        return PartScores(np.ascontiguousarray(scores), tables, rows.graph, rows.node_start)

    def _n_own(self, rows):
        """Number of states of every node; None where all have as many."""
        counts = getattr(self, "states_", ())  # of each kind of node
        return np.array(counts)[rows.kind] if len(set(counts)) > 1 else None

    def _predict(self, X, w, oracle):
        parts = self._part_scores(X, w)
        states, values = self._best_states(parts, oracle)
        return self._decode(states, parts.node_start, X), values

    def _best_states(self, parts, oracle):
        """Best states of all nodes, and the scores of all samples."""
        if _is_compiled(oracle) and self._has_batches:
            return parts.argmax()
        oracle = TreeMaxProduct() if _is_compiled(oracle) else checked(oracle)
        answers = [oracle.argmax(scores) for scores in parts.each()]
        states = np.concatenate([np.empty(0, np.int32), *(labels for labels, _, _ in answers)])
        values = np.zeros(len(parts.graph.n_edges))
        values[parts.lengths > 0] = [value for _, value, _ in answers]
        return states, values

    def _marginals(self, X, w, oracle, temperature=1.0):
        """Marginals of the nodes of every sample, in a container like that of the outputs."""
        parts = self._part_scores(X, w).at(temperature)
        return self._arrange(self._marginals_of(parts, oracle), parts.node_start, X)

    def _marginals_of(self, parts, oracle):
        if _is_compiled(oracle) or self._is_single:
            oracle = None if self._has_batches else TreeMaxProduct()
        return self._of_labels(parts.marginals(oracle and checked(oracle)))

    def _relaxed(self, X, w, oracle):
        """Vertices of the local polytope, in a container like that of the outputs."""
        parts, oracle = self._part_scores(X, w), checked(oracle)
        nodes = [np.empty((0, self.n_states_))]
        nodes += [oracle.vertex(scores)[0] for scores in parts.each()]
        return self._arrange(self._of_labels(np.concatenate(nodes)), parts.node_start, X)

    def _held_out(self, X, y, w, oracle, sample_weight):
        """For `calibrate`: probabilities of true states, spreads of scores, and weights."""
        parts = self._part_scores(X, w)
        truth = self._encode(y, parts.node_start, allow_unseen=True)
        weight = np.repeat(sample_weight, parts.lengths) * (truth >= 0)
        nodes = np.flatnonzero(weight)
        truth = truth[nodes]

        def probabilities(temperature):
            rows = self._marginals_of(parts.at(temperature), oracle)[nodes]
            return rows[np.arange(len(nodes)), truth], rows.argmax(axis=1) == truth

        own = np.ma.masked_invalid(parts.nodes[nodes])  # without the states that nodes lack
        return probabilities, own.ptp(axis=1).filled(0.0), weight[nodes]

    def _of_labels(self, marginals):
        """Marginals of labels from those of the states of nodes."""
        return marginals

    def _arrange(self, marginals, node_start, X):
        """Rows of nodes, or numbers, in a container like that of the outputs."""
        return objects([marginals[a:b] for a, b in pairwise(node_start)])

    def _top_k(self, X, w, oracle, k):
        parts, oracle = self._part_scores(X, w), checked(oracle)
        best = iter([oracle.top_k(scores, k) for scores in parts.each()])
        outputs, values = [], []
        for i, length in enumerate(parts.lengths):
            # The only answer for a sequence without elements is that sequence.
            found, states = next(best) if length else (np.zeros(1), np.empty((1, 0), np.int32))
            starts = np.arange(len(states) + 1) * length
            same = None if sp.issparse(X) else [X[i]] * len(states)
            outputs.append(self._listed(self._decode(states.ravel(), starts, same)))
            values.append(found)
        return outputs, values

    def _listed(self, outputs):
        return np.array(list(outputs))

    def _losses(self, y_true, y, training=False, X=None):
        """Loss of every sample; lengths must agree, true labels unseen in fit cost 1."""
        node_start = self._node_start_of(y)  # of the predictions, whose lengths are those of X
        true = self._encode(y_true, node_start, allow_unseen=True)
        nodes = (self._kinds_in(y), None) if X is None else self._about_nodes(X)
        states, truth = self._encode(y, node_start), self._truth_of(true, node_start, *nodes)
        if training:
            return self._costs(true, node_start, *nodes).losses(truth, states)
        if self._judging_loss._has_value:
            if np.any(true == MISSING):
                y_true, y = _known_pairs(y_true, y)
            return self._judging_loss.losses(y_true, y)
        return costs_of(self._judging_loss, truth).losses(truth, states)

    # ---- one sample: the four methods, for users, other solvers and tests ------------------------

    def _truth(self, y_true, node_start):
        """The states of a true output, which is what errors call it."""
        try:
            return self._encode(objects([y_true]), node_start)
        except (TypeError, ValueError) as error:
            message = re.sub(r"^y(\[0\])?(?= )", "y_true", str(error))
            raise ValueError(f"{'' if 'y_true' in message else 'y_true: '}{message}") from None

    def scores(self, x, w):
        w = check.array(w, "w")
        check.magnitude(self._check_weights(w), "w")
        parts = self._part_scores(objects([x]), w)
        return parts.graph.scores(0, parts.nodes, parts.tables)

    def augment(self, scores, y_true):
        expect_scores(scores)
        if scores.check().n_states != self.n_states_:
            raise ValueError(f"scores must have {self.n_states_} states, got {scores.n_states}")
        node_start = np.array([0, scores.n_nodes])
        if not self._loss_is_a_sum:
            raise ValueError("the zero-one loss is not a sum over nodes and cannot be augmented")
        states = self._truth(y_true, node_start)
        if len(states) != scores.n_nodes:
            raise ValueError(f"scores must have {len(states)} nodes, got {scores.n_nodes}")
        costs = self._costs(states, node_start, self._kinds_in(objects([y_true])))
        return PairwiseScores._view(scores.unary + costs.dense(), scores.pairwise, scores.edges)

    def joint_feature(self, x, y):
        rows = self._stack(objects([x]))
        states = self._own_states(objects([y]), rows)
        matrix = with_constants(rows, self._units, self.n_constants_)
        chosen = np.zeros((len(states), self.n_states_))
        chosen[np.arange(len(states)), states] = 1.0
        nodes = matrix.T @ chosen.reshape(matrix.shape[0], self.n_columns_)
        tables = rows.graph.counted(0, states, self.n_tables_, self.n_states_)
        return np.concatenate([nodes.ravel(), tables.ravel()])

    def loss(self, y_true, y):
        return float(self._losses(objects([y_true]), objects([y]), training=True)[0])

    def inference(self, x, w):
        scores = self.scores(x, w)
        labels = np.empty(0, np.int32)
        if scores.n_nodes:  # else nothing is asked
            labels, _, _ = self.default_oracle().argmax(scores)
        return self._decode(labels, np.array([0, len(labels)]), [x])[0]

    def loss_augmented_inference(self, x, y_true, w):
        scores = self.scores(x, w)
        node_start = np.array([0, scores.n_nodes])
        states = self._truth(y_true, node_start)
        costs = self._costs(states, node_start, *self._about_nodes(objects([x])))
        unary = scores.unary + costs.dense()
        scores, labels = PairwiseScores._view(unary, scores.pairwise, scores.edges), states
        if scores.n_nodes:
            labels, _ = augmented_argmax(self.default_oracle(), scores, states, costs.whole)
        return self._decode(labels, node_start, [x])[0]


def has_parts(model):
    """Whether a model has parts; one that overrides a method is a black box."""
    return isinstance(model, PairwiseModel) and all(
        getattr(type(model), name) is getattr(PairwiseModel, name) for name in REQUIRED
    )


def _is_compiled(oracle):
    """Whether the compiled trees answer in place of an oracle; None stands for them."""
    return oracle is None or type(oracle) in COMPILED


def _flat(rows, tables):
    return np.concatenate([rows.ravel(), tables.ravel()])


def _known_pairs(y_true, y):
    """True and predicted labels where the former are not masked."""
    masks = [np.ma.getmaskarray(output) for output in y_true]
    y_true = [np.ma.getdata(output)[~mask] for output, mask in zip(y_true, masks)]
    return y_true, [np.asarray(output)[~mask] for output, mask in zip(y, masks)]
