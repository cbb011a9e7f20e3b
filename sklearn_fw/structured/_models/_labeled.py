"""Parts whose states have names: labels found in fit, class weights, constant features."""

from dataclasses import KW_ONLY
from itertools import pairwise

import numpy as np

from ..._core import check
from ..._core.packed import objects, starts_of
from ..._core.scores import integers
from . import _ragged as ragged
from ._parts import PartModel, Sample, kinds, kinds_of


class LabeledParts(PartModel):
    """Base of models of graphs and grids: a label for each node, each kind with its own labels.

    A subclass splits an output into arrays of labels, one for each kind (`_split`), and joins them
    (`_join`). `parts` returns lists, with the constant features of edges.
    """

    _: KW_ONLY
    class_weight: object = None
    fit_intercept: bool = True

    def _split(self, output, name):
        """Labels, or rows of numbers, of the nodes of an output: an array for each kind of node."""
        raise NotImplementedError

    def _join(self, rows, x):
        """The output of an input from the labels of its nodes, or from rows of numbers."""
        raise NotImplementedError

    @property
    def _has_intercepts(self):
        return check.flag(self.fit_intercept, "fit_intercept")

    @property
    def _n_kinds(self):
        return len(self.node_features_)

    def _read(self, x, name):
        try:
            return super()._read(x, name)
        except (TypeError, ValueError) as error:
            if name in str(error):
                raise
            raise type(error)(f"{name}: {error}") from None

    # ---- labels --------------------------------------------------------------------------------

    def _find_states(self, samples, y):
        counts = np.array([[rows.shape[0] for rows in sample.nodes] for sample in samples])
        labels = _labels_of(self._split_all(y), counts)
        classes = [ragged.find_classes(own) for own in labels]
        # Nodes of a kind that nobody labeled are hidden; predictions have 0 in their place.
        classes = [own if len(own) else np.zeros(1, np.int64) for own in classes]
        if max(map(len, classes)) < 2:
            raise ValueError("needs at least 2 classes; y holds only one class")
        self._classes = classes
        known = {label for own in classes for label in own.tolist()}
        kinds = zip(classes, labels)
        weights = [ragged.class_weights(self.class_weight, *kind, known) for kind in kinds]
        self.classes_ = classes if len(classes) > 1 else classes[0]
        self.class_weight_ = weights if len(classes) > 1 else weights[0]
        return [len(own) for own in classes]

    def _split_all(self, y):
        y = check.items(y, "y", "outputs, one for each graph")
        return [self._split(output, f"y[{i}]") for i, output in enumerate(y)]

    def _counts_in(self, outputs):
        """Number of nodes of each kind in each output that was split."""
        counts = [list(map(len, output)) for output in outputs]
        return np.array(counts).reshape(-1, self._n_kinds)

    def _encode(self, y, node_start, allow_unseen=False):
        outputs = self._split_all(y)
        counts = self._counts_in(outputs)
        ragged.check_lengths(counts.sum(axis=1), np.diff(node_start))
        kinds = zip(_labels_of(outputs, counts), self._classes)
        states = np.concatenate([ragged.encode_labels(*kind, allow_unseen) for kind in kinds])
        if self._n_kinds > 1:
            states = states[np.argsort(np.argsort(kinds_of(counts), kind="stable"))]
        return states

    def encode(self, y):
        output = objects([y])
        return self._encode(output, self._node_start_of(output))

    def decode(self, states, x):
        states, kind = integers(states, "states", None), kinds([self._read(x, "X[0]")])
        if states.shape != kind.shape:
            raise ValueError(f"states must have shape {kind.shape}, got {states.shape}")
        if np.any(states < 0) or np.any(states >= np.array(self.states_)[kind]):
            raise ValueError(f"states must be from 0 to less than {self.states_}")
        return self._decode(states, np.array([0, len(states)]), [x])[0]

    def parts(self, x):
        sample = self._read(x, "X[0]")
        self._stack([sample])  # which checks features
        return sample.nodes, sample.edges

    def _node_start_of(self, y):
        return starts_of(self._counts_in(self._split_all(y)).sum(axis=1))

    def _kinds_in(self, y):
        return None if self._n_kinds == 1 else kinds_of(self._counts_in(self._split_all(y)))

    def _class_weights_of(self, states, kind):
        if self._n_kinds == 1:
            return super()._class_weights_of(states, kind)
        table = np.ones((self._n_kinds, self.n_states_ + 1))  # the last is of unknown labels
        for k, own in enumerate(self.class_weight_):
            table[k, : len(own)] = own
        return table[kind, states]

    def _labels_of_states(self, kind):
        return self._classes

    # ---- outputs -------------------------------------------------------------------------------

    def _decode(self, states, node_start, X=None):
        return self._joined(states, node_start, X, lambda own, labels: labels[own])

    def _arrange(self, marginals, node_start, X):
        def cut(own, labels):  # off the states that nodes lack
            return own if own.ndim == 1 else own[:, : len(labels)]

        return self._joined(marginals, node_start, X, cut)

    def _joined(self, values, node_start, X, of_kind):
        """Outputs with ``of_kind(values, labels)`` of the nodes of each kind."""
        outputs = []
        for i, (start, stop) in enumerate(pairwise(node_start)):
            kinds = [values[start:stop]]
            if self._n_kinds > 1:
                counts = [rows.shape[0] for rows in self._read(X[i], f"X[{i}]").nodes]
                kinds = np.split(kinds[0], np.cumsum(counts)[:-1])
            rows = list(map(of_kind, kinds, self._classes))
            outputs.append(self._join(rows, X[i].x if isinstance(X[i], Sample) else X[i]))
        return objects(outputs)

    def unpack(self, w):
        weights = super().unpack(w)
        if self.fit_intercept:
            rows = self._views(w)[0][self.n_features_in_ :]
            weights["intercept"] = [row[: len(own)] for row, own in zip(rows, self._classes)]
        return weights


def _labels_of(outputs, counts):
    """Labels of all nodes, an array for each kind; ``counts`` are those of nodes."""
    kinds = zip(zip(*outputs), counts.T)
    return [ragged.stack_labels(list(own), starts_of(lengths))[0] for own, lengths in kinds]
