"""The dual problem of scores linearised at an anchor, one distribution over outputs per sample.

With scores ``s_i(w)``, costs c_i, outputs z (see `_outputs`) and the truth t_i, the sub-problem is

    min_w lam / 2 |w|^2 + |w - a|^2 / (2 eta) + sum_i p_i max_z <c_i + s_i(a) + J_i (w - a), z - t_i>

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

__all__ = ["ScoreBlocks"]

REFRESH = 20  # moves per sample after which weights are computed anew
FORGIVEN = 1e-12  # rounding of an answer that is no better than the truth
NO_CORNERS = (
    "this solver keeps outputs of samples, which scores that are not linear do not offer: use "
    "solver='bcfw' or 'fw'"
)


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
        if capacity:
            raise TypeError(NO_CORNERS)
        self.means = [truth.copy() for truth in self.truths]
        self._forget()
        self._n_moves = 0

    def _forget(self):
        self._known = None  # number of a block and its scores at the present w

    def grow(self):
        raise TypeError(NO_CORNERS)

    def corners(self, i):
        raise TypeError(NO_CORNERS)

    def keep(self, answers):
        raise TypeError(NO_CORNERS)

    def kept(self, slots):
        raise TypeError(NO_CORNERS)

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
        return (end.corner if isinstance(end, Answer) else end.point), end.loss

    def add_to(self, i, end, factor, out):
        out += factor * self._backward(i, self.truths[i] - self._end(i, end)[0])

    def values(self, i):
        flat = self._flat(i, self.w)
        return float(flat @ (self.means[i] - self.truths[i])), None

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
        self.v[:], loss = self.corner_of(self.means)
        self.loss[:] = [p * self._loss(i, z) for i, (p, z) in enumerate(zip(self.weight, self.means))]
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
        for i, z in enumerate(answers):
            self.means[i] += gamma * (z - self.means[i])
            self.loss[i] += gamma * (self.weight[i] * self._loss(i, z) - self.loss[i])
        self._n_moves = REFRESH * self.n_blocks

    def scale(self, factor):
        self.loss *= factor
        for truth, mean in zip(self.truths, self.means):
            mean += (factor - 1.0) * (mean - truth)

    # ---- warm starts -----------------------------------------------------------------------------

    def export(self):
        return {"means": [mean.copy() for mean in self.means], "lam": self.lam}

    def restore(self, exported):
        self.means = [mean.copy() for mean in exported["means"]]
        self._refresh_now()

    def dual_coef(self):
        return None
