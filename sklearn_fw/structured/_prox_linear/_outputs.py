"""Outputs as vectors: with scores s and costs c of parts, z has the score <s, z>, loss <c, z>."""

import numpy as np
from scipy.special import logsumexp, softmax

from ..._core import check
from ..._core.costs import costs_of
from ..._core.oracle import checked, name_of, require
from ..._core.packed import length_of, objects, starts_of
from ...inference import PairwiseScores, TreeMaxProduct, Viterbi, natural_oracle, resolve_oracle
from ...task_losses import HammingLoss, Truth
from .._models._base import loss_of_nodes
from .._models._enumerated import EnumeratedModel, Largest, number_of
from .._models._ragged import collect, encode_labels, find_classes, stack_labels
from .._problems._checked_model import ask_for_output, ask_for_outputs
from ._scores import chain_edges

NODE_LOSSES = ("auto", "hamming", "hamming_sum")


def outputs_for(scores, layouts, y, task_loss, oracle):
    """The kind of outputs that scores of such layouts have."""
    kinds = {Candidates if layout.is_list else Labelings for layout in layouts}
    if len(kinds) > 1:
        raise ValueError("value must give scores of candidates or of nodes for all samples")
    return kinds.pop()(scores, layouts, y, task_loss, oracle)


class Outputs:
    """What a fitted estimator predicts; a subclass relates outputs, scores and vectors."""

    @property
    def exact(self):
        return bool(getattr(self.oracle, "exact", False))

    def forget(self):
        """Drop what belongs to the training set."""
        self.targets = self.costs = None

    def _scores_of(self, X, w):
        for i, x in enumerate(X):
            try:
                flat, layout = self.scores.value(i, x, w)
            except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
                raise ValueError(
                    f"X[{i}] does not fit the score model {self.scores.name}: {error}"
                ) from error
            self.check(layout, i)
            yield flat, layout

    def _can(self, ability, oracle):
        return callable(getattr(oracle, ability, None))

    def marginals(self, flat, layout, temperature):
        mean = self.mean(flat, layout, temperature)[0] if layout.n_nodes else flat
        return layout.split(mean)[0]

    def _predict(self, X, w, oracle):
        outputs, best = [], np.empty(length_of(X, "X"))
        for i, (flat, layout) in enumerate(self._scores_of(X, w)):
            output, _ = self.best(flat, layout)
            best[i] = flat @ self.vector(output, layout)
            outputs.append(output)
        return self.collect(outputs), best

    def _top_k(self, X, w, oracle, k):
        found = [self.k_best(flat, layout, k) for flat, layout in self._scores_of(X, w)]
        return [outputs for outputs, _ in found], [scores for _, scores in found]

    def _marginals(self, X, w, oracle, temperature):
        return objects([self.marginals(*pair, temperature) for pair in self._scores_of(X, w)])

    def _held_out(self, X, y, w, oracle, sample_weight):
        scores = list(self._scores_of(X, w))
        targets = self.states_of(y, [layout for _, layout in scores])
        known = [np.flatnonzero(truth >= 0) for truth in targets]
        weight = np.repeat(sample_weight, [len(rows) for rows in known])

        def probabilities(temperature):
            pairs = []
            for (flat, layout), rows, truth in zip(scores, known, targets):
                p = np.atleast_2d(self.marginals(flat, layout, temperature))[rows]
                t = truth[rows]
                pairs.append((p[np.arange(len(t)), t], p.argmax(axis=1) == t))
            return tuple(map(np.concatenate, zip(*pairs, strict=True)))

        spreads = [
            np.ptp(np.atleast_2d(layout.split(flat)[0]), axis=1)[rows]
            for (flat, layout), rows in zip(scores, known)
        ]
        return probabilities, np.concatenate(spreads), weight


class Candidates(Outputs):
    """One candidate out of a list, by number or by the costs of all."""

    def __init__(self, scores, layouts, y, task_loss, oracle):
        self.scores = scores
        by_itself = check.is_auto(task_loss)
        self.task_loss_ = "zero_one" if by_itself else task_loss
        self.oracle = resolve_oracle(oracle, default=Largest())
        self._model = EnumeratedModel(self.task_loss_)
        self._model._set_loss()
        self.targets, self.costs = [], []
        for i, (layout, truth) in enumerate(zip(layouts, y, strict=True)):
            try:
                cost = self._model.augment(np.zeros(layout.n_nodes), truth)
            except (TypeError, ValueError) as error:
                raise ValueError(f"y[{i}]: {error}") from None
            self.costs.append(np.asarray(cost, dtype=np.float64))
            self.targets.append(self.vector(self._model.output_key(truth), layout))

    def check(self, layout, i):
        """Refuse scores of sample i that are not those of candidates."""
        if not layout.is_list:
            raise ValueError(f"value for sample {i} must have shape (n_candidates,) as in fit")

    def vector(self, output, layout):
        z = np.zeros(layout.n_nodes)
        z[output] = 1.0
        return z

    def best(self, flat, layout):
        """The best output for some scores, and what its score may lack."""
        output, slack = ask_for_output(self.oracle, flat.copy())
        if not isinstance(output, int | np.integer) or not 0 <= output < len(flat):
            name = f"argmax of the oracle {name_of(self.oracle)}"
            raise ValueError(f"{name} must return a number below {len(flat)}, got {output!r}")
        return int(output), slack

    def mean(self, flat, layout, temperature):
        """Mean vector of outputs in proportion to exp(score / temperature), and log of the sum."""
        scaled = flat / temperature
        return softmax(scaled), float(logsumexp(scaled))

    def _can(self, ability, oracle):
        return ability == "marginals" or super()._can(ability, oracle)

    def k_best(self, flat, layout, k):
        numbers, values = ask_for_outputs(self.oracle, flat.copy(), k)
        return np.asarray(numbers), values

    def states_of(self, y, layouts):
        """The number of the true candidate of each sample, in an array of its own."""
        pairs = enumerate(zip(y, layouts, strict=True))
        return [np.array([number_of(own, x.n_nodes, f"y[{i}]")]) for i, (own, x) in pairs]

    collect = staticmethod(collect)

    def _losses(self, y_true, y, X=None):
        return np.array([self._model.loss(a, int(b)) for a, b in zip(y_true, y, strict=True)])


class Labelings(Outputs):
    """A label for every node of a chain or graph."""

    def __init__(self, scores, layouts, y, task_loss, oracle):
        self.scores = scores
        by_itself = check.is_auto(task_loss)
        self.task_loss_ = "hamming_sum" if by_itself else task_loss
        loss = loss_of_nodes(self, self.task_loss_, NODE_LOSSES)
        if not loss.decomposes:
            raise ValueError(
                f"task_loss={task_loss!r} is not a sum over nodes: use 'hamming' or a cost matrix"
            )
        self._judge = HammingLoss() if by_itself else loss
        starts = starts_of([layout.n_nodes for layout in layouts])
        flat, _ = stack_labels(y, starts)
        if np.ma.is_masked(flat):
            raise ValueError("y has masked entries: every node needs a label")
        self.classes_ = _classes(np.asarray(flat), layouts)
        states = encode_labels(np.asarray(flat), self.classes_)
        truth = Truth(states, starts, (self.classes_,))
        costs = costs_of(loss, truth)
        if costs.whole:
            raise ValueError(f"task_loss={task_loss!r} must be a sum over nodes alone")
        costs, self.targets, self.costs = costs.dense(), [], []
        for i, layout in enumerate(layouts):
            here = slice(starts[i], starts[i + 1])
            self.targets.append(self.vector(states[here], layout))
            cost = np.zeros(len(self.targets[-1]))
            cost[: costs[here].size] = costs[here].ravel()
            self.costs.append(cost)
        self.oracle = checked(resolve_oracle(oracle, default=_default_oracle(layouts)))

    def _scores(self, flat, layout):
        unary, *tables = layout.split(flat)
        n_states = unary.shape[1]
        edges = np.empty((0, 2), np.int64) if layout.edges is None else layout.edges
        table = tables[0] if tables else np.empty((0, n_states, n_states))
        if table.ndim == 2:
            table = np.broadcast_to(table, (len(edges), n_states, n_states))
        return PairwiseScores._view(unary, table, edges)

    def check(self, layout, i):
        """Refuse scores of sample i that are not those of nodes with as many states."""
        if layout.is_list or layout.shapes[0][1] != len(self.classes_):
            wanted = f"(n_nodes, {len(self.classes_)}) as in fit, got {layout.shapes[0]}"
            raise ValueError(f"value for sample {i} must have shape {wanted}")

    def vector(self, output, layout):
        z = np.zeros(sum(layout.sizes))
        unary, *tables = layout.split(z)
        unary[np.arange(len(output)), output] = 1.0
        if tables:
            first, second = output[layout.edges].T
            if tables[0].ndim == 2:
                np.add.at(tables[0], (first, second), 1.0)
            else:
                tables[0][np.arange(len(first)), first, second] = 1.0
        return z

    def best(self, flat, layout):
        """The best states for some scores, and what their score may lack."""
        if not layout.n_nodes:
            return np.empty(0, np.int32), 0.0
        states, value, bound = self.oracle.argmax(self._scores(flat, layout))
        return states, max(float(bound - value), 0.0)

    def mean(self, flat, layout, temperature):
        """Mean vector of outputs in proportion to exp(score / temperature), and log of the sum."""
        require(self.oracle, "marginals", "smoothed answers need", "use 'tree'")
        node, edge, log_sum = self.oracle.marginals(self._scores(flat / temperature, layout))
        if len(layout.shapes) == 1:
            return node.ravel(), log_sum
        edge = edge.sum(axis=0) if len(layout.shapes[1]) == 2 else edge
        return np.concatenate([node.ravel(), edge.ravel()]), log_sum

    def k_best(self, flat, layout, k):
        if not layout.n_nodes:
            return np.empty((1, 0), self.classes_.dtype), np.zeros(1)
        values, states = self.oracle.top_k(self._scores(flat, layout), k)
        return self.classes_[states], values

    def states_of(self, y, layouts):
        """The states of the nodes of each sample, -1 for labels unseen in fit."""
        starts = starts_of([layout.n_nodes for layout in layouts])
        flat, _ = stack_labels(y, starts)
        return np.split(encode_labels(flat, self.classes_, allow_unseen=True), starts[1:-1])

    def collect(self, outputs):
        return objects([self.classes_[states] for states in outputs])

    def _losses(self, y_true, y, X=None):
        stack_labels(y_true, starts_of([len(labels) for labels in y]))  # lengths agree
        return self._judge.losses(y_true, y)


def _default_oracle(layouts):
    largest = max(layouts, key=lambda layout: layout.n_nodes)
    if len(largest.shapes) == 1:
        return TreeMaxProduct()
    if all(np.array_equal(layout.edges, chain_edges(layout.n_nodes)) for layout in layouts):
        return Viterbi()
    n_states = largest.shapes[0][1]
    tables = np.zeros((len(largest.edges), n_states, n_states))
    return natural_oracle(PairwiseScores(np.zeros(largest.shapes[0]), tables, largest.edges))


def _classes(flat, layouts):
    """Labels of the states; numbers of states where those in y are some of these."""
    n_states = {layout.shapes[0][1] for layout in layouts}
    if len(n_states) > 1:
        raise ValueError(f"value must give every node as many states, got {sorted(n_states)}")
    n_states, classes = n_states.pop(), find_classes(flat)
    if len(classes) == n_states:
        return classes
    if classes.dtype.kind in "iu" and classes[0] >= 0 and classes[-1] < n_states:
        return np.arange(n_states)
    raise ValueError(
        f"value gives {n_states} states to each node, but y holds {len(classes)} labels: there "
        f"must be a state for each label, or labels must be numbers of states"
    )
