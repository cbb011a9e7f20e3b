"""The dual problem on outputs that are listed one by one: of black boxes, and of linearized scores.

Block i is kept by vectors u_i(y) of the outputs that it met, which are zero for the truth, and of
which the feature differences ``psi_i(y) = phi(x_i, y_i) - phi(x_i, y)`` are a linear function:

    point_i = sum_y alpha_i(y) u_i(y),        v = sum_i (p_i / lam) psi_i(point_i)

so that ``point_i`` does not depend on lam. For black boxes u is psi on the few features that the
outputs of the block touch, for linearized scores a difference of vectors of outputs.
"""

from abc import abstractmethod

import numpy as np

from ..._kernels import lazy
from ._base import Answer, Direction, Mixture, Problem, Sweep, means_of
from ._checked_model import CheckedModel, Output, SparseVector, are_same, union
from ._workers import Shipment, Workers

block_rules = lazy("structured.block_rules")


class ListedProblem(Problem):
    """Dual variables by explicit outputs.

    A subclass defines the call of the oracle (`_find`), the coordinates of w in a block (`_local`)
    and the feature difference of a vector of a block (`_lift`).
    """

    @abstractmethod
    def _find(self, i, w, loss_weight):
        """One oracle call: the `Answer` of an `Output`, of the truth for what is worse than it."""

    def _find_many(self, order, w, augmented=True):
        return [self._find(i, w, float(augmented)) for i in order]

    @abstractmethod
    def _local(self, i, w):
        """The vector a with ``<a, u> = <w, psi_i(u)>``, on the coordinates of the block."""

    @abstractmethod
    def _lift(self, i, u):
        """psi_i of a `SparseVector` of block i, as a `SparseVector`."""

    # ---- state -----------------------------------------------------------------------------------

    def _set_to_truth(self, targets, capacity):
        """All mass on the outputs that are the truth, of loss and vector zero."""
        self._targets = targets
        self._duals = [Vertices(truth.key, capacity, truth.psi.indices) for truth in targets]

    def grow(self):
        extra = max(1, len(self._duals[0].alpha) // 5)
        for dual in self._duals:
            dual.alpha, dual.loss = np.pad(dual.alpha, (0, extra)), np.pad(dual.loss, (0, extra))

    # ---- one block -------------------------------------------------------------------------------

    def answer(self, i, w, loss_weight=1.0):
        self.counts[block_rules.CALLS] += 1
        return self._find(i, w, loss_weight)

    def answers(self, order, w):
        self.counts[block_rules.CALLS] += len(order)
        return self._find_many(order, w)

    def mix(self, i, answers, weights):
        psis = [answer.vertex.psi for answer in answers]
        indices = psis[0].indices
        for psi in psis[1:]:
            if not are_same(indices, psi.indices):
                indices = union(indices, psi.indices)
        values = np.zeros(len(indices))
        for u, psi in zip(weights, psis):
            values[indices.searchsorted(psi.indices)] += u * psi.values
        return Mixture(SparseVector(indices, values), *means_of(answers, weights))

    def add_to(self, i, end, factor, out):
        dual = self._duals[i]
        u = SparseVector(dual.support, dual.point) if end is None else _vector_of(end)
        psi = self._lift(i, u)
        out[psi.indices] += factor * psi.values

    def values(self, i):
        dual, local = self._duals[i], self._local(i, self.w)
        current = self.loss[i] / self.weight[i] - dual.point @ local
        if not self.explicit:
            return current, None
        size, values = dual.size, np.zeros(len(dual.alpha))
        np.subtract(dual.loss[:size], dual.rows[:size] @ local, out=values[:size])
        return current, values

    def vertices(self, i):
        return self._duals[i]

    def keep(self, answers):
        for i, (dual, output) in enumerate(zip(self._duals, answers)):
            if output.key in dual.slots:
                continue
            values = self.values(i)[1]
            slot = block_rules.free_slot(dual.alpha, values, dual.size, len(dual.alpha), False)
            if slot < 0:
                slot = dual.size
                self.grow()
            dual.keep(slot, output)

    def kept(self, slots):
        return [dual.output(slot) for dual, slot in zip(self._duals, slots)]

    def direction(self, i, head, tail=None):
        (plus, loss_plus), (minus, loss_minus) = self._end(i, head), self._end(i, tail)
        if len(plus) < len(minus):  # the tail has features that no other end had so far
            plus, _ = self._end(i, head)
        change = plus - minus
        psi = self._lift(i, SparseVector(self._duals[i].support, change))
        return Direction(float(psi.values @ psi.values), loss_plus - loss_minus, (change, psi))

    def _end(self, i, end):
        """A point of block i on its support, and its loss."""
        dual = self._duals[i]
        if end is None:
            return dual.point, self.loss[i] / self.weight[i]
        if isinstance(end, Answer | Mixture):
            return dual.on_support(_vector_of(end)), end.loss
        return dual.rows[end], dual.loss[end]

    def move(self, i, direction, gamma):
        p, (change, psi) = self.weight[i], direction.delta
        here, loss_change = psi.indices, p * direction.loss
        self._duals[i].point += gamma * change
        self.loss[i] += gamma * loss_change
        step = gamma * p / self.lam * psi.values
        self.v[here] += step
        if self.moments.size:
            visit = float(self.counts[block_rules.VISITS])
            lag = 0.5 * visit * (visit - 1.0)
            self.moments[here] += lag * step
            self.loss_moment[0] += lag * gamma * loss_change
        if self.bounded:
            self.w[here] = np.clip(self.v[here], self.lower[here], self.upper[here])

    # ---- all blocks ------------------------------------------------------------------------------

    def sweep(self, w, augmented=True):
        found = self._find_many(range(self.n_blocks), w, augmented)
        outputs, _, hinge, slack = zip(*found, strict=True)
        hinge = np.array(hinge)
        rounded = hinge < 0.0
        outputs = [self._targets[i] if rounded[i] else y for i, y in enumerate(outputs)]
        hinge[rounded] = 0.0
        return Sweep(hinge, self._currents_at(w, augmented), outputs, np.array(slack))

    def currents(self):
        return self._currents_at(self.w, augmented=True)

    def _currents_at(self, w, augmented):
        scores = np.array([dual.point @ self._local(i, w) for i, dual in enumerate(self._duals)])
        return self.loss / self.weight - scores if augmented else -scores

    def refresh(self):
        """Recompute v, w and l from the points (from the alphas where they are complete)."""
        self.v[:] = 0.0
        for i, (p, dual) in enumerate(zip(self.weight, self._duals)):
            if self.complete:
                alpha = dual.alpha[: dual.size]
                alpha /= alpha.sum()
                dual.point = alpha @ dual.rows[: dual.size]
                self.loss[i] = p * (alpha @ dual.loss[: dual.size])
            self.add_to(i, None, p / self.lam, self.v)
        self.follow()

    def vertex_of(self, answers):
        v = np.zeros(self.n_weights)
        for i, (p, answer) in enumerate(zip(self.weight, answers)):
            psi = self._lift(i, answer.psi)
            v[psi.indices] += p / self.lam * psi.values
        return v, float(self.weight @ [answer.loss for answer in answers])

    def step_towards(self, answers, gamma):
        if self.explicit:  # room for one more, behind all others
            while any(dual.size == len(dual.alpha) for dual in self._duals):
                self.grow()
            for dual, answer in zip(self._duals, answers):
                if answer.key not in dual.slots:
                    dual.keep(dual.size, answer)
        for i, (dual, answer) in enumerate(zip(self._duals, answers)):
            psi = dual.on_support(answer.psi)
            dual.point += gamma * (psi - dual.point)
            self.loss[i] += gamma * (self.weight[i] * answer.loss - self.loss[i])
            if self.explicit:
                self.counts[block_rules.DROPS] += block_rules.move_mass(
                    dual.alpha, dual.size, block_rules.FW, dual.slots[answer.key], -1, gamma, 1.0
                )

    def _truth(self):
        return self._targets

    # ---- warm starts -----------------------------------------------------------------------------

    def _meaning(self):
        return ()

    def _points(self):
        return [dual.copy(self.complete) for dual in self._duals]

    def _extended(self, points):
        return points + self._points()[len(points) :]

    def _take_points(self, points):
        self._duals = [dual.copy(self.explicit) for dual in points]

    def dual_coef(self):
        if not self.complete:
            return None
        return [
            {key: alpha for key, alpha in zip(dual.keys, dual.alpha) if alpha > 0.0}
            for dual in self._duals
        ]


class BlackBoxProblem(ListedProblem):
    """Dual problem of any object with the four methods of `StructuredModel`."""

    def __init__(self, model, X, y, weight, n_jobs=None, oracle=None):
        self._model, self.oracle = CheckedModel(model, oracle), oracle
        self.workers = Workers(n_jobs, model if oracle is None else oracle)
        pairs = enumerate(zip(X, y, strict=True))
        self._samples = [self._model.sample(i, *pair) for i, pair in pairs]
        self._shipment = Shipment(self._model, self._samples)
        n_weights = self._model.n_weights
        # Maximizes the loss; these oracle calls are counted nowhere.
        worst = self._ask(range(len(weight)), np.zeros(n_weights), False)
        super().__init__(weight, n_weights, float(weight @ [answer.loss for answer in worst]))
        self.unit_loss = max(answer.loss for answer in worst)
        self.exact = oracle is None or bool(getattr(oracle, "exact", False))
        self.mean_square = float(weight @ [0.5 * a.psi.values @ a.psi.values for a in worst])

    def of_samples(self, model, X, y, weight):
        other = type(self)(self._model.model, X, y, weight, self.workers.n_jobs, self.oracle)
        other.surrogate = self.surrogate
        return other

    def _reset(self, capacity):
        nothing = SparseVector(np.empty(0, np.int64), np.empty(0))
        keys = [self._model.key(s.y) if capacity else None for s in self._samples]
        self._set_to_truth([Output(nothing, 0.0, key) for key in keys], capacity)

    def _local(self, i, w):
        return w[self._duals[i].support]

    def _lift(self, i, u):
        return u

    # ---- oracle calls ----------------------------------------------------------------------------

    def _find(self, i, w, loss_weight):
        # The model knows its loss with weight one alone.
        asked_at = w if loss_weight in (0.0, 1.0) else w / loss_weight
        output = self._model.ask(self._samples[i], asked_at, self.explicit, loss_weight > 0.0)
        return self._check_output(i, output, w, loss_weight)

    def _find_many(self, order, w, augmented=True):
        outputs = self._ask(order, w, self.explicit, augmented)
        return [
            self._check_output(i, output, w, float(augmented))
            for i, output in zip(order, outputs, strict=True)
        ]

    def _ask(self, order, *args):
        starts = range(len(order) + 1)
        parts = [list(order[first:last]) for first, last in self.workers.ranges(starts)]
        return self._shipment.ask(self.workers, parts, *args)

    def _check_output(self, i, output, w, loss_weight):
        """The `Answer` of an output, or of the truth; slacks of the model are in its own units."""
        value, slack = loss_weight * output.loss - output.psi.dot(w), output.slack
        slack *= loss_weight or 1.0
        # psi is a difference to the score of the truth, whose rounding is forgiven.
        if value >= 0.0 or value >= -1e-12 * max(1.0, abs(self._samples[i].phi.dot(w))):
            return Answer(output, output.loss, value, slack)
        self.counts[block_rules.WORSE] += 1
        return Answer(self._targets[i], 0.0, 0.0, max(value + slack, 0.0))

    def top_answers(self, i, w, k):
        if self._model.oracle is None:
            return super().top_answers(i, w, k)
        self.counts[block_rules.CALLS] += 1
        outputs = self._model.top_outputs(self._samples[i], w, k, self.explicit)
        answers = [Answer(o, o.loss, o.loss - o.psi.dot(w)) for o in outputs]
        return sorted(answers, key=lambda answer: -answer.value)

    # ---- distributions from elsewhere ------------------------------------------------------------

    def set_points(self, points, losses):
        """Make feature differences, (n, n_weights), and losses those of the distributions."""
        self._duals = [Vertices(None, 0, np.arange(self.n_weights)) for _ in self._samples]
        for dual, point in zip(self._duals, points):
            dual.point = point
        self.loss[:] = self.weight * losses
        self.refresh()

    def _meaning(self):
        """The features of the truth, which identify the data, and what the loss may depend on."""
        model = self._model.model
        settings = repr(model.get_params()) if hasattr(model, "get_params") else ""
        return (self.n_weights, settings, *(array for s in self._samples for array in s.phi))


def _vector_of(end):
    return end.point if isinstance(end, Mixture) else end.vertex.psi


class Vertices:
    """The outputs that one block keeps, on the coordinates that these touched so far.

    Slot by slot; all mass is on the truth to begin with, whose vector and loss are zero.
    """

    def __init__(self, key, capacity, support):
        self.support = support  # sorted coordinates
        self.point = np.zeros(len(self.support))  # sum_y alpha(y) u(y)
        self.keys = [key] if capacity else []
        self.slots = {key: 0} if capacity else {}
        self.rows = np.zeros((len(self.keys), len(self.support)))  # vectors, and spare rows
        self.alpha, self.loss = np.zeros((2, capacity))
        self.alpha[:1] = 1.0

    @property
    def size(self):
        return len(self.keys)

    def copy(self, vertices):
        new = Vertices(None, 0, self.support)
        new.point = self.point.copy()
        if vertices:
            new.keys, new.slots, new.rows = self.keys.copy(), self.slots.copy(), self.rows.copy()
            new.alpha, new.loss = self.alpha.copy(), self.loss.copy()
        return new

    def on_support(self, psi):
        """``psi`` as a dense vector on the support, which grows where it must (never changed)."""
        if are_same(self.support, psi.indices):
            return psi.values
        place = self.support.searchsorted(psi.indices)
        if place.max(initial=-1) == len(self.support) or (self.support[place] != psi.indices).any():
            support = union(self.support, psi.indices)
            old = support.searchsorted(self.support)
            point, rows = np.zeros(len(support)), np.zeros((len(self.rows), len(support)))
            point[old], rows[:, old] = self.point, self.rows
            self.support, self.point, self.rows = support, point, rows
            place = support.searchsorted(psi.indices)
        dense = np.zeros(len(self.support))
        dense[place] = psi.values
        return dense

    def find(self, answer):
        return self.slots.get(answer.vertex.key, -1)

    def put(self, slot, answer):
        """Put the output of an answer into a slot: the first free one, or that of another."""
        self.keep(slot, answer.vertex)

    def keep(self, slot, output):
        row = self.on_support(output.psi)
        if slot == self.size:
            self.keys.append(output.key)
            if slot == len(self.rows):  # doubled, so that many vertices cost few copies
                self.rows = np.pad(self.rows, ((0, slot), (0, 0)))
        else:
            del self.slots[self.keys[slot]]
            self.keys[slot] = output.key
        self.slots[output.key], self.rows[slot] = slot, row
        self.alpha[slot], self.loss[slot] = 0.0, output.loss

    def output(self, slot):
        psi = SparseVector(self.support, self.rows[slot].copy())
        return Output(psi, float(self.loss[slot]), self.keys[slot])

    def remove(self, slot):
        del self.slots[self.keys[slot]]
        key, last = self.keys.pop(), self.size
        if slot < last:
            self.keys[slot], self.slots[key], self.rows[slot] = key, slot, self.rows[last]
        self.alpha[slot], self.loss[slot] = self.alpha[last], self.loss[last]
        self.alpha[last] = 0.0
