"""True outputs as states of nodes, and what the states of these nodes cost."""

from typing import NamedTuple

import numpy as np

from . import check

MISSING = -2  # in place of the state of a node without a label

BINARY = np.array([0, 1])


class Truth(NamedTuple):
    """True outputs of many samples, seen as states of nodes: what costs are made from.

    A sequence has a node per label, a set of labels a node per label that it may hold, a matching a
    binary node per pair, and one class is a single node. Models make it; a loss reads it.

    Parameters
    ----------
    states : ndarray of shape (n_nodes,), int
        Number of the true state of each node among the classes of its kind, sample by sample; -1
        for an unknown label, -2 for a node without label, which costs nothing.
    node_start : ndarray of shape (n_samples + 1,), int
        First node of each sample, and the end.
    classes : tuple of ndarray
        Labels of the states, one array for each kind of node.
    kind : ndarray of shape (n_nodes,) or None, default=None
        Kind of each node; None when there is one kind.
    shapes : ndarray of shape (n_samples, 2) or None, default=None
        Numbers of rows and columns, where nodes are the entries of matrices, row by row.
    weight : ndarray of shape (n_nodes,) or None, default=None
        Weight of a mistake at each node, as its input says (area of a region); None for equal ones.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.task_losses import Truth
    >>> truth = Truth(np.array([1, 0, 1]), np.array([0, 2, 3]), (np.array(["no", "yes"]),))
    >>> truth.n_states, truth.lengths.tolist()
    (2, [2, 1])
    """

    states: np.ndarray
    node_start: np.ndarray
    classes: tuple
    kind: np.ndarray | None = None
    shapes: np.ndarray | None = None
    weight: np.ndarray | None = None

    @property
    def n_states(self):
        """Largest number of states of a node: the number of columns of costs."""
        return max(len(labels) for labels in self.classes)

    @property
    def lengths(self):
        """Number of nodes of each sample."""
        return np.diff(self.node_start)

    def per_node(self, values):
        """Repeat the value of each sample for all of its nodes: (n_nodes,).

        Parameters
        ----------
        values : array-like of shape (n_samples,)
            Numbers.
        """
        return np.repeat(check.array(values, "values"), self.lengths)

    def sums(self, values):
        """Sums over the nodes of each sample, (n_samples,); 0 for samples without nodes.

        Parameters
        ----------
        values : array-like of shape (n_nodes,)
            Numbers.
        """
        values, start = check.array(values, "values"), self.node_start
        full = np.flatnonzero(self.lengths)  # reduceat gives a value where there is none to add
        sums = np.zeros(len(start) - 1)
        if len(full):
            sums[full] = np.add.reduceat(values, start[full])
        return sums


class NodeCosts(NamedTuple):
    """Costs of all states of all nodes, in little memory.

    State k of node t costs ``factor[t] * table[row[t], k]``, and an output that differs from the
    truth anywhere costs ``whole`` more. Compiled code takes it as it is.

    Parameters
    ----------
    factor : ndarray of shape (n_nodes,)
        Factor of each node, not negative.
    table : ndarray of shape (n_rows, n_states)
        Costs, not negative.
    row : ndarray of shape (n_nodes,), int
        Row of each node; true states have the cost zero there.
    whole : float, default=0.0
        Cost of any difference at all.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.task_losses import NodeCosts
    >>> table = np.array([[0.0, 1.0], [3.0, 0.0]])
    >>> NodeCosts(np.array([1.0, 0.5]), table, np.array([1, 0])).dense()
    array([[3. , 0. ],
           [0. , 0.5]])
    """

    factor: np.ndarray
    table: np.ndarray
    row: np.ndarray
    whole: float = 0.0

    def dense(self):
        """Costs of all states of all nodes, (n_nodes, n_states), without ``whole``."""
        return self.factor[:, None] * self.table[self.row]

    def weighted(self, weights):
        """Return `NodeCosts` multiplied by weights of nodes.

        Parameters
        ----------
        weights : array-like of shape (n_nodes,)
            Factors, not negative.
        """
        if self.whole:
            raise ValueError("weights of nodes need a loss that is a sum over nodes")
        weights = check.array(weights, "weights")
        if weights.shape != self.factor.shape or np.any(weights < 0):
            raise ValueError(f"weights must hold {len(self.factor)} numbers from 0, one per node")
        return self._replace(factor=self.factor * weights)

    def losses(self, truth, states):
        """Loss of every sample, the sum of its costs: (n_samples,).

        Parameters
        ----------
        truth : Truth
            Source of the costs.
        states : ndarray of shape (n_nodes,), int
            Predicted states.
        """
        losses = truth.sums(self.factor * self.table[self.row, states])
        if self.whole:
            wrong = (truth.states != states) & (truth.states != MISSING)
            losses += self.whole * (truth.sums(wrong) > 0)
        return losses

    def largest(self, truth):
        """Largest possible loss of every sample: (n_samples,).

        Parameters
        ----------
        truth : Truth
            Source of the costs.
        """
        largest = self.factor * self.table.max(axis=1, initial=0.0)[self.row]
        return truth.sums(largest) + self.whole * (truth.lengths > 0)


def truth_of_pairs(links, shape):
    """The `Truth` of one 0/1 matrix, by rows and columns of its ones."""
    states = np.zeros(shape, np.int32)
    states[links] = 1
    return Truth(states.ravel(), np.array([0, states.size]), (BINARY,), shapes=np.array([shape]))


def costs_of(loss, truth):
    """The checked `NodeCosts` of a loss.

    An unknown true label (-1) costs one in every state, a missing one (-2) nothing.
    """
    name = f"node_costs of {type(loss).__name__}"
    costs = loss.node_costs(truth)
    if not isinstance(costs, NodeCosts):
        dense = np.atleast_2d(check.array(costs, name, finite=None))
        costs = NodeCosts(np.ones(len(dense)), dense, np.arange(len(dense)))
    checked = _check_costs(costs, truth, name)
    unknown = truth.states < 0
    if not np.any(unknown):
        return checked
    table = np.vstack([checked.table, np.ones(truth.n_states), np.zeros(truth.n_states)])
    row = np.where(unknown, len(checked.table) - 1 - truth.states, checked.row).astype(np.int32)
    return checked._replace(table=table, row=row)


def _check_costs(costs, truth, name):
    n_nodes = len(truth.states)
    factor, table = (
        np.ascontiguousarray(check.array(a, name, finite=None)) for a in (costs.factor, costs.table)
    )
    row = np.asarray(costs.row)
    if factor.shape != (n_nodes,) or row.shape != (n_nodes,) or table.ndim != 2:
        n_found = len(row) if row.ndim else 0
        raise ValueError(f"{name} must have one row for each of {n_nodes} nodes, got {n_found}")
    if table.shape[1] != truth.n_states:
        raise ValueError(
            f"{name} must have one column for each of {truth.n_states} states, got {table.shape[1]}"
        )
    known = np.flatnonzero(truth.states >= 0)
    if row.dtype.kind not in "iu" or np.any(row[known] < 0) or np.any(row[known] >= len(table)):
        raise ValueError(f"{name}: row must hold numbers of rows of the table")
    for values in (factor, table):
        if not np.all(np.isfinite(values)) or np.any(values < 0):
            raise ValueError(f"{name} must be finite and not negative")
        check.magnitude(values, name)
    true = factor[known] * table[row[known], truth.states[known]]
    if np.any(true):
        t = known[np.flatnonzero(true)[0]]
        raise ValueError(f"{name} must be zero for the true state, got {true.max()} at node {t}")
    whole = check.moderate(costs.whole, f"whole of {name}")
    return NodeCosts(factor, table, row.astype(np.int32, copy=False), whole)
