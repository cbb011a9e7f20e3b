"""Losses of labels: how many are wrong, which are, and whether any is."""

from collections.abc import Mapping
from dataclasses import KW_ONLY

import numpy as np

from .._core import check
from .._core.costs import MISSING, NodeCosts
from .._core.packed import places_of
from ._base import TaskLoss, as_samples, read_labels, read_mistakes


class _SumOverNodes(TaskLoss):
    """A table of costs for each kind of node, and their sum or mean over nodes."""

    def _tables(self, truth):
        raise NotImplementedError

    def _weights(self, truth):
        return truth.weight

    def node_costs(self, truth):
        normalize = check.flag(self.normalize, "normalize")
        weights = self._weights(truth)
        factor = np.ones(len(truth.states)) if weights is None else weights
        if normalize:
            known = factor * (truth.states != MISSING)
            totals = truth.sums(known)
            factor = factor / truth.per_node(np.where(totals > 0, totals, 1.0))
        tables = self._tables(truth)
        if len(tables) == 1:
            return NodeCosts(factor, tables[0], truth.states)
        table = np.zeros((sum(map(len, tables)), truth.n_states))
        first = np.cumsum([0, *map(len, tables)])
        for start, own in zip(first, tables):
            table[start : start + len(own), : own.shape[1]] = own
        row = first[truth.kind] + truth.states
        return NodeCosts(factor, table, np.where(truth.states < 0, -1, row))


class HammingLoss(_SumOverNodes):
    """Hamming loss: fraction or number of wrong labels.

    Choose the number to train with, so that a label counts as much in a long sequence as in a
    short one, and the fraction to evaluate.

    Parameters
    ----------
    normalize : bool, default=True
        Divide by the number of labels of a sample, or by their weight, so that the loss is between
        0 and 1. Then wrong labels of long sequences cost little.
    class_weight : dict, "balanced_sample" or None, default=None
        Weight of a label by its true class, which multiplies that of its node (area of a region);
        classes that are not named have the weight 1.
        "balanced_sample": all classes that a sample has weigh the same there, and together as much
        as its labels do without.
    node_weight : array-like of shape (n,) or None, default=None
        Weight of a label by its place in the sample, where samples have n labels at most: labels
        that matter more than others in a set of labels.

    Examples
    --------
    >>> from sklearn_fw.task_losses import HammingLoss
    >>> HammingLoss().value(["a", "b", "b", "a"], ["a", "a", "b", "b"])
    0.5
    >>> HammingLoss(normalize=False, class_weight={"b": 3}).value(["a", "b", "b"], ["b", "a", "b"])
    4.0
    """

    normalize: bool = True
    _: KW_ONLY
    class_weight: object = None
    node_weight: object = None

    def _read(self, y_true, y_pred):
        read = read_mistakes if self.class_weight is None else read_labels
        return read(y_true, y_pred)

    def _tables(self, truth):
        return [1.0 - np.eye(len(labels)) for labels in truth.classes]

    def _weights(self, truth):
        if self.class_weight is None and self.node_weight is None:
            return truth.weight
        weights = np.ones(len(truth.states)) if truth.weight is None else truth.weight.copy()
        balanced = check.is_named(self.class_weight, "balanced_sample")
        if self.class_weight is not None and not balanced:
            by_class = check_class_weight(self.class_weight)
            kind = np.zeros(len(weights), np.int64) if truth.kind is None else truth.kind
            for k, labels in enumerate(truth.classes):
                own = np.array([by_class.get(label, 1.0) for label in labels.tolist()] + [1.0])
                weights[kind == k] *= own[truth.states[kind == k]]  # the last is of unknown labels
        if self.node_weight is not None:
            by_node = check.numbers(self.node_weight, "node_weight")
            if by_node.ndim != 1 or np.any(by_node < 0):
                raise ValueError("node_weight must be a vector of numbers that are not negative")
            most = truth.lengths.max(initial=0)
            if most > len(by_node):
                raise ValueError(f"node_weight holds {len(by_node)} weights for {most} labels")
            weights *= by_node[places_of(0, truth.lengths)]
        return _balanced(weights, truth) if balanced else weights


class MatrixLoss(_SumOverNodes):
    """Sum or mean over the labels of what each costs, by a matrix.

    Parameters
    ----------
    costs : array-like of shape (n_classes, n_classes), or list of such matrices
        Cost of each predicted class (column) for each true class (row); finite and not negative,
        with a zero diagonal. Where nodes are of several kinds, one matrix for each kind.
    classes : array-like of shape (n_classes,) or list of such, default=None
        Labels of rows and columns. None takes the names that a data frame gives them, else the
        classes of the model, in their order, and outside of models labels that are the numbers of
        rows. Names of a data frame and classes must agree, in any order.
    normalize : bool, default=False
        Divide by the number of labels of a sample.

    Examples
    --------
    >>> from sklearn_fw.task_losses import MatrixLoss
    >>> loss = MatrixLoss([[0, 1], [5, 0]], classes=["well", "ill"])
    >>> loss.value(["ill", "well", "well"], ["well", "ill", "well"])
    6.0
    """

    costs: object
    _: KW_ONLY
    classes: object = None
    normalize: bool = False

    def _matrices(self):
        costs, classes = [self.costs], [self.classes]
        if isinstance(self.costs, list | tuple) and len(self.costs) and _n_dims(self.costs[0]) == 2:
            costs, classes = self.costs, [None] * len(self.costs)
            if self.classes is not None:
                classes = check.items(self.classes, "classes", "classes of each kind of node")
        if len(costs) != len(classes):
            raise ValueError(f"classes must hold {len(costs)} lists of labels, got {len(classes)}")
        return zip(*map(self._checked, costs, classes))

    def _checked(self, cost, labels):
        """A matrix, and the labels of its rows or None."""
        labels = None if labels is None else _distinct(labels)
        names = list(getattr(cost, "columns", ())) if hasattr(cost, "loc") else []  # of pandas
        if names != list(range(len(names))):
            labels = names if labels is None else labels
            if not set(labels) == set(names) == set(cost.index):
                found = f"{list(cost.index)}, {names}, {labels}"
                raise ValueError(f"rows, columns and classes of costs must agree, got {found}")
            cost = cost.loc[labels, labels]
        cost = check.numbers(cost, "costs of the task_loss")
        _check_square(cost, len(np.atleast_1d(cost) if labels is None else labels))
        if np.any(cost < 0) or np.any(np.diag(cost)):
            raise ValueError("costs of the task_loss must not be negative, and 0 on the diagonal")
        return cost, labels

    def _read(self, y_true, y_pred):
        costs, classes = self._matrices()
        if len(costs) > 1:
            raise ValueError("costs of several kinds of nodes need a model, which knows the kinds")
        labels = list(range(len(costs[0]))) if classes[0] is None else classes[0]
        return read_labels(y_true, y_pred, labels, type(self).__name__)

    def _tables(self, truth):
        costs, classes = self._matrices()
        if len(costs) != len(truth.classes):
            raise ValueError(
                f"costs must hold {len(truth.classes)} matrices, one per kind, got {len(costs)}"
            )
        return [_in_order(c, own, labels) for c, own, labels in zip(costs, classes, truth.classes)]


class BlockLoss(_SumOverNodes):
    """Loss of classes in blocks: wrong labels of the right block cost less.

    Choose it where classes have parents: the wrong species costs little or nothing if the genus is
    right.

    Parameters
    ----------
    blocks : dict
        Block of every class.
    within : float, default=0.0
        Cost of a wrong label in the right block, from 0 to 1, relative to that of another block.
    normalize : bool, default=False
        Divide by the number of labels of a sample.

    References
    ----------
    .. [1] A. Osokin, F. Bach, S. Lacoste-Julien, "On structured prediction theory with calibrated
       convex surrogate losses", NIPS 2017: the block 0-1 loss, and with ``within`` the mixed loss.

    Examples
    --------
    >>> from sklearn_fw.task_losses import BlockLoss
    >>> loss = BlockLoss({"cat": "animal", "dog": "animal", "oak": "plant"}, within=0.25)
    >>> loss.value("cat", "dog"), loss.value("cat", "oak")
    (0.25, 1.0)
    """

    blocks: object
    _: KW_ONLY
    within: float = 0.0
    normalize: bool = False

    def _numbers(self):
        if not isinstance(self.blocks, Mapping) or not self.blocks:
            raise TypeError(f"blocks must be a dict from classes to blocks, got {self.blocks!r}")
        try:
            number = {block: k for k, block in enumerate(dict.fromkeys(self.blocks.values()))}
        except TypeError as error:
            raise TypeError(f"blocks must have names: {error}") from None
        return {label: number[block] for label, block in self.blocks.items()}

    def _read(self, y_true, y_pred):
        return read_labels(y_true, y_pred, list(self._numbers()), type(self).__name__)

    def _tables(self, truth):
        within = check.fraction(self.within, "within")
        return [self._table(labels.tolist(), within) for labels in truth.classes]

    def _table(self, labels, within):
        numbers = self._numbers()
        missing = [label for label in labels if label not in numbers]
        if missing:
            raise ValueError(f"blocks must name a block of every class, {missing[0]!r} has none")
        block = np.array([numbers[label] for label in labels])
        table = np.where(np.not_equal.outer(block, block), 1.0, within)
        np.fill_diagonal(table, 0.0)
        return table


class ZeroOneLoss(TaskLoss):
    """One if any label is wrong, else zero.

    Choose it where an output is of use only if all of it is right. Oracles of models that train
    with it need a second best output (``top_k``), which those of chains and trees find.

    Examples
    --------
    >>> from sklearn_fw.task_losses import ZeroOneLoss
    >>> ZeroOneLoss().losses([["a", "b"], ["b"]], [["a", "a"], ["b"]])
    array([1., 0.])
    """

    @property
    def decomposes(self):
        return False

    def _read(self, y_true, y_pred):
        return read_mistakes(y_true, y_pred)

    def node_costs(self, truth):
        costs = HammingLoss(normalize=False).node_costs(truth._replace(weight=None))
        if truth.lengths.max(initial=0) <= 1:
            return costs
        return costs._replace(factor=np.zeros_like(costs.factor), whole=1.0)


class OverlapLoss(TaskLoss):
    """One minus intersection over union of the nodes that have a positive label.

    The value is ``1 - |A and B| / |A or B|`` with the sets A and B of truly and of supposedly
    positive nodes, and 0 if both are empty. It is not a sum over nodes. Models train with the bound
    ``(missed + false) / |A|``, where 1 stands for an empty A: it is exact without false positives.

    Parameters
    ----------
    positive : list, default=(1,)
        Labels that are positive: those of the object in an image, or the entries of a 0/1 matrix.

    Examples
    --------
    >>> from sklearn_fw.task_losses import OverlapLoss
    >>> OverlapLoss(["x"]).value(["x", "x", "o", "o"], ["x", "o", "x", "o"])
    0.6666666666666666
    """

    positive: object = (1,)

    def _positive(self, labels):
        """Whether each label is positive; false for what stands last, an unknown label."""
        positive = check.items(self.positive, "positive", "labels")
        try:
            positive = set(positive)
        except TypeError as error:
            raise TypeError(f"positive must hold labels: {error}") from None
        return np.array([label in positive for label in labels.tolist()] + [False])

    def value(self, y_true, y_pred):
        truth, states = read_labels(as_samples([y_true]), as_samples([y_pred]))
        positive = self._positive(truth.classes[0])
        a, b = positive[truth.states], positive[states]
        union = np.sum(a | b)
        return float(np.sum(a ^ b) / union) if union else 0.0

    def node_costs(self, truth):
        if len(truth.classes) > 1:
            raise ValueError("OverlapLoss needs nodes of one kind")
        positive = self._positive(truth.classes[0])
        weight = 1.0 if truth.weight is None else truth.weight
        n_positive = truth.sums(weight * positive[np.maximum(truth.states, -1)])
        table = np.not_equal.outer(positive[:-1], positive[:-1]).astype(np.float64)
        factor = weight * truth.per_node(1.0 / np.where(n_positive > 0.0, n_positive, 1.0))
        return NodeCosts(factor, table, truth.states)

    def largest(self, truth):
        return (truth.lengths > 0).astype(np.float64)


def _balanced(weights, truth):
    """Weights of nodes whose sums over the nodes of each class of a sample are equal."""
    if truth.kind is not None:
        raise ValueError("class_weight='balanced_sample' needs nodes of one kind")
    weights = weights * (truth.states != MISSING)
    n_classes = truth.n_states + 1  # the last is of unknown labels
    sample = np.repeat(np.arange(len(truth.lengths)), truth.lengths)
    cell = sample * n_classes + truth.states % n_classes
    sums = np.bincount(cell, weights, len(truth.lengths) * n_classes)
    present = np.count_nonzero(sums.reshape(-1, n_classes), axis=1)
    share = truth.sums(weights) / np.maximum(present, 1)
    return weights * share[sample] / np.where(sums > 0.0, sums, 1.0)[cell]


def check_class_weight(class_weight):
    """The weights of a dict from classes to numbers that are not negative."""
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be a dict or 'balanced_sample', got {class_weight!r}")
    named = [(label, f"class_weight[{label!r}]") for label in class_weight]
    return {label: check.moderate(class_weight[label], name) for label, name in named}


def _check_square(cost, n):
    if cost.shape != (n, n):
        raise ValueError(f"costs of the task_loss must have shape {(n, n)}, got {cost.shape}")


def _in_order(cost, own, labels):
    """The cost matrix for classes in the order of ``labels``."""
    if own is None:
        _check_square(cost, len(labels))
        return cost
    number = {label: k for k, label in enumerate(own)}
    missing = [label for label in labels.tolist() if label not in number]
    if missing:
        raise ValueError(f"classes of MatrixLoss lack the label {missing[0]!r}")
    order = [number[label] for label in labels.tolist()]
    return cost[np.ix_(order, order)]


def _distinct(labels):
    """The labels of rows and columns as a list."""
    labels = [
        label.item() if isinstance(label, np.generic) else label
        for label in check.items(labels, "classes", "labels")
    ]
    try:
        n_distinct = len(set(labels))
    except TypeError as error:
        raise TypeError(f"classes must hold labels: {error}") from None
    if n_distinct < len(labels):
        raise ValueError(f"classes must name each label once, got {labels}")
    return labels


def _n_dims(value):
    try:
        return np.ndim(value)
    except ValueError:  # rows of unequal lengths
        return 0
