"""The dual problem of scores linearised at an anchor, one distribution over outputs per sample.

With scores ``s_i(w)``, costs c_i, outputs z (see `_outputs`) and the truth t_i, the sub-problem is

    min_w lam / 2 |w|^2 + |w - a|^2 / (2 eta)
          + sum_i p_i max_z <c_i + s_i(a) + J_i (w - a), z - t_i>

With ``sigma = lam + 1 / eta`` and the centre ``m = a / (1 + lam eta)``, the two quadratics are
``sigma / 2 |w - m|^2`` and a constant. In ``u = w - m`` that is a structured SVM with features
``J_i' z``, regularisation sigma, and the loss ``<b_i, z - t_i>`` with ``b_i = c_i + s_i(a) +
J_i (m - a)``: what every solver of `Blocks` is written for. The dual variables, mean vectors of
outputs, do not depend on the anchor, and so are a good start at the next one.

A block is a group of samples, one in general, more where the score model answers for many at once.
Its vectors are those of its samples, one after the other, each z times the share of its sample in
the weight of the block: then block and sample obey the same equations.
"""

import numpy as np

from ..._kernels.structured import block_rules
from .._blocks._base import Answer, Blocks, Direction, Mixture, Sweep
from .._blocks._workers import Workers

REFRESH = 20  # moves per sample after which weights are computed anew
FORGIVEN = 1e-12  # rounding of an answer that is no better than the truth


class ScoreBlocks(Blocks):
    """Blocks of linearised scores; `linearise` comes before everything else.

    Parameters
    ----------
    scores : CheckedScores
        The score model.
    groups : list of Group
        Samples of each block.
    outputs : Candidates or Labellings
        Truths, costs and oracle.
    weight : ndarray of shape (n_samples,)
        Weights of samples, summing to one.
    n_weights : int
        Length of w.
    """

    def __init__(self, scores, groups, outputs, weight, n_weights):
        super().__init__(np.array([weight[g.index].sum() for g in groups]), n_weights, 0.0)
        self.scores, self.groups, self.outputs, self.exact = scores, groups, outputs, outputs.exact
        self.shares = [weight[g.index] / p for g, p in zip(groups, self.weight)]
        self.costs = [np.concatenate([outputs.costs[i] for i in g.index]) for g in groups]
        self.truths = [
            np.concatenate([q * outputs.truths[i] for i, q in zip(g.index, shares)])
            for g, shares in zip(groups, self.shares)
        ]
        self.workers = Workers(None, outputs.oracle)
        self.calls = 0  # of the oracle, for whatever model or point

    # ---- the scores themselves -------------------------------------------------------------------

    def evaluate(self, w):
        """Scores of all samples at w, and the mean of their hinges."""
        values, hinge = [], np.empty(self.n_blocks)
        for i, group in enumerate(self.groups):
            values.append(self.scores.values(group, w))
            _, hinge[i], slack, _ = self._ask(i, values[-1] + self.costs[i])
            hinge[i] += slack if np.isfinite(slack) else 0.0
        return values, float(self.weight @ hinge)

    def linearise(self, anchor, values, centre, level):
        """Make the sub-problem at an anchor, where scores have these values and hinges a mean."""
        self.anchor, self.max_loss, shift = anchor, level, centre - anchor
        moved = bool(np.any(shift))
        self.base = [
            self.costs[i] + values[i] + (self._forward(i, shift) if moved else 0.0)
            for i in range(self.n_blocks)
        ]

    def _forward(self, i, d):
        return self.scores.jvps(self.groups[i], self.anchor, d)

    def _backward(self, i, z):
        return self.scores.vjps(self.groups[i], self.anchor, z)

    def _ask(self, i, flat):
        """Best outputs for scores with costs: their vector, H_i, slack, and how many are worse."""
        group, truth, start = self.groups[i], self.truths[i], 0
        self.calls += len(group.index)
        z, value, total, n_worse = np.empty(len(flat)), 0.0, 0.0, 0
        for layout, share in zip(group.layouts, self.shares[i]):
            here = slice(start, start + sum(layout.sizes))
            own, start = flat[here], here.stop
            output, slack = self.outputs.best(own, layout)
            z[here] = share * self.outputs.vector(output, layout)
            gain = float(own @ (z[here] - truth[here]))
            if gain < 0.0:
                n_worse += gain < -FORGIVEN * max(1.0, abs(float(own @ truth[here])))
                z[here], gain, slack = truth[here], 0.0, max(gain + share * slack, 0.0) / share
            value, total = value + gain, total + share * slack
        return z, value, total, n_worse

    # ---- state -----------------------------------------------------------------------------------

    def _reset(self, capacity):
        self.means = [truth.copy() for truth in self.truths]
        self._corners = [Corners(truth, capacity) for truth in self.truths] if capacity else None
        self._forget()
        self._n_moves = 0

    def _forget(self):
        self._known = None  # number of a block and its scores at the present w

    def corners(self, i):
        return self._corners[i]

    def grow(self):
        extra = max(1, len(self._corners[0].alpha) // 5)
        for kept in self._corners:
            kept.alpha, kept.loss = np.pad(kept.alpha, (0, extra)), np.pad(kept.loss, (0, extra))

    def keep(self, answers):
        for i, (kept, z) in enumerate(zip(self._corners, answers)):
            if kept.place(z) >= 0:
                continue
            slot = block_rules.free_slot(
                kept.alpha, self.values(i)[1], kept.size, len(kept.alpha), False
            )
            if slot < 0:
                slot = kept.size
                self.grow()
            kept.keep(slot, z, self._loss(i, z))

    def kept(self, slots):
        return [kept.rows[slot] for kept, slot in zip(self._corners, slots)]

    @property
    def _complete(self):
        """Whether the alphas are kept and describe the iterate."""
        return self.explicit and not self.counts[block_rules.EVICTED]

    # ---- one block -------------------------------------------------------------------------------

    def _flat(self, i, w, loss_weight=1.0):
        """Linearised scores of block i with its losses."""
        if w is not self.w or loss_weight != 1.0:
            return loss_weight * self.base[i] + self._forward(i, w)
        if self._known is None or self._known[0] != i:
            self._known = i, self.base[i] + self._forward(i, w)
        return self._known[1]

    def _loss(self, i, z):
        return float(self.base[i] @ (z - self.truths[i]))

    def answer(self, i, w, loss_weight=1.0):
        self.counts[block_rules.CALLS] += len(self.groups[i].index)
        z, value, slack, n_worse = self._ask(i, self._flat(i, w, loss_weight))
        self.counts[block_rules.WORSE] += n_worse
        return Answer(z, self._loss(i, z), value, slack)

    def smoothed_answer(self, i, w, temperature, loss_weight=1.0):
        self.counts[block_rules.CALLS] += len(self.groups[i].index)
        group, flat, start = self.groups[i], self._flat(i, w, loss_weight), 0
        mean, value = np.empty(len(flat)), -float(flat @ self.truths[i])
        for layout, share in zip(group.layouts, self.shares[i]):
            here = slice(start, start + sum(layout.sizes))
            own, log_sum = self.outputs.mean(flat[here], layout, temperature)
            mean[here], start = share * own, here.stop
            value += share * temperature * log_sum
        return Mixture(mean, self._loss(i, mean), value)

    def _end(self, i, end):
        if end is None:
            return self.means[i], self.loss[i] / self.weight[i]
        if isinstance(end, Answer):
            return end.corner, end.loss
        if isinstance(end, Mixture):
            return end.point, end.loss
        return self._corners[i].rows[end], self._corners[i].loss[end]

    def add_to(self, i, end, factor, out):
        out += factor * self._backward(i, self.truths[i] - self._end(i, end)[0])

    def values(self, i):
        flat, truth = self._flat(i, self.w), self.truths[i]
        current = float(flat @ (self.means[i] - truth))
        if not self.explicit:
            return current, None
        kept, values = self._corners[i], np.zeros(len(self._corners[i].alpha))
        values[: kept.size] = np.asarray(kept.rows) @ flat - truth @ flat
        return current, values

    def direction(self, i, head, tail=None):
        (plus, loss_plus), (minus, loss_minus) = self._end(i, head), self._end(i, tail)
        change = plus - minus
        psi = -self._backward(i, change)
        return Direction(float(psi @ psi), loss_plus - loss_minus, (change, psi))

    def move(self, i, direction, gamma):
        change, psi = direction.delta
        p = self.weight[i]
        self.means[i] += gamma * change
        self.loss[i] += gamma * p * direction.loss
        step = gamma * p / self.lam * psi
        self.v += step
        if self.moments.size:
            visit = float(self.counts[block_rules.VISITS])
            lag = 0.5 * visit * (visit - 1.0)
            self.moments += lag * step
            self.loss_moment[0] += lag * gamma * p * direction.loss
        if self.bounded:
            np.clip(self.v, self.lower, self.upper, out=self.w)
        self._forget()
        self._n_moves += 1

    # ---- all blocks ------------------------------------------------------------------------------

    def sweep(self, w, augmented=True):
        hinge, slack, current = np.empty((3, self.n_blocks))
        answers = []
        for i in range(self.n_blocks):
            flat = self._forward(i, w) + (self.base[i] if augmented else 0.0)
            z, hinge[i], slack[i], n_worse = self._ask(i, flat)
            self.counts[block_rules.WORSE] += n_worse
            current[i] = flat @ (self.means[i] - self.truths[i])
            answers.append(z)
        return Sweep(hinge, current, answers, slack)

    def currents(self):
        return np.array([self.values(i)[0] for i in range(self.n_blocks)])

    def refresh(self):
        """Recompute v and l, where rounding of many moves may show."""
        if self._n_moves < REFRESH * self.n_blocks:
            return
        self._n_moves = 0
        self._forget()
        if self._complete:
            for i, kept in enumerate(self._corners):
                kept.alpha /= kept.alpha.sum()
                self.means[i] = kept.alpha[: kept.size] @ np.asarray(kept.rows)
        self.v[:], _loss = self.corner_of(self.means)
        self.loss[:] = [
            p * self._loss(i, z) for i, (p, z) in enumerate(zip(self.weight, self.means))
        ]
        if self.bounded:
            np.clip(self.v, self.lower, self.upper, out=self.w)

    def _refresh_now(self):
        self._n_moves = REFRESH * self.n_blocks
        self.refresh()

    def corner_of(self, answers):
        v, loss = np.zeros(self.n_weights), 0.0
        for i, z in enumerate(answers):
            change = self.truths[i] - z
            if np.any(change):
                v += self.weight[i] / self.lam * self._backward(i, change)
            loss += self.weight[i] * self._loss(i, z)
        return v, loss

    def step_towards(self, answers, gamma):
        self._append(answers)
        for i, z in enumerate(answers):
            self.means[i] += gamma * (z - self.means[i])
            self.loss[i] += gamma * (self.weight[i] * self._loss(i, z) - self.loss[i])
            if self.explicit:
                kept = self._corners[i]
                self.counts[block_rules.DROPS] += block_rules.move_mass(
                    kept.alpha, kept.size, block_rules.FW, kept.place(z), -1, gamma, 1.0
                )
        self._n_moves = REFRESH * self.n_blocks

    def _append(self, answers):
        """Make answers corners, behind all others, where corners are kept."""
        if not self.explicit:
            return
        while any(kept.size == len(kept.alpha) for kept in self._corners):
            self.grow()
        for i, (kept, z) in enumerate(zip(self._corners, answers)):
            if kept.place(z) < 0:
                kept.keep(kept.size, z, self._loss(i, z))

    def scale(self, factor):
        self._append(self.truths)
        self.loss *= factor
        for i, (truth, mean) in enumerate(zip(self.truths, self.means)):
            mean += (factor - 1.0) * (mean - truth)
            if self.explicit:
                kept = self._corners[i]
                kept.alpha *= factor
                kept.alpha[kept.place(truth)] += 1.0 - factor

    # ---- warm starts -----------------------------------------------------------------------------

    def export(self):
        return {
            "means": [mean.copy() for mean in self.means], "lam": self.lam,
            "corners": [kept.copy() for kept in self._corners] if self._complete else None,
        }  # fmt: skip

    def restore(self, exported):
        self.means = [mean.copy() for mean in exported["means"]]
        if self.explicit:
            self._corners = [kept.copy() for kept in exported["corners"]]
            for i, kept in enumerate(self._corners):  # losses are those of another model
                kept.loss[: kept.size] = [self._loss(i, z) for z in kept.rows]
        self._refresh_now()

    def dual_coef(self):
        return None


class Corners:
    """Outputs of one block that are kept, with their probabilities."""

    def __init__(self, truth, capacity):
        self.rows, self._slots = [truth], {truth.tobytes(): 0}
        self.alpha, self.loss = np.zeros((2, capacity))
        self.alpha[0] = 1.0

    @property
    def size(self):
        """Number of corners."""
        return len(self.rows)

    def copy(self):
        """A copy whose probabilities are its own."""
        new = object.__new__(Corners)
        new.rows, new._slots = self.rows.copy(), self._slots.copy()
        new.alpha, new.loss = self.alpha.copy(), self.loss.copy()
        return new

    def place(self, z):
        """Slot of an output, -1 if it is not kept."""
        return self._slots.get(z.tobytes(), -1)

    def find(self, answer):
        """Slot of the output of an answer, -1 if it is not kept."""
        return self.place(answer.corner)

    def put(self, slot, answer):
        """Put the output of an answer into a slot: the first free one, or that of another."""
        self.keep(slot, answer.corner, answer.loss)

    def keep(self, slot, z, loss):
        """Put an output into a slot, with probability zero."""
        if slot == self.size:
            self.rows.append(z)
        else:
            del self._slots[self.rows[slot].tobytes()]
            self.rows[slot] = z
        self._slots[z.tobytes()] = slot
        self.alpha[slot], self.loss[slot] = 0.0, loss

    def remove(self, slot):
        """Forget a corner; the last one takes its slot."""
        del self._slots[self.rows[slot].tobytes()]
        last, z = self.size - 1, self.rows.pop()
        if slot < last:
            self.rows[slot] = z
            self._slots[z.tobytes()] = slot
        self.alpha[slot], self.loss[slot] = self.alpha[last], self.loss[last]
        self.alpha[last] = 0.0
