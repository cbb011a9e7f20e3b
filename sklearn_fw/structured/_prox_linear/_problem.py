"""The dual problem of scores linearized at an anchor, one distribution over outputs per sample.

With scores ``s_i(w)``, costs c_i, outputs z (see `_outputs`) and the truth t_i, the sub-problem is

    min_w lam / 2 |w|^2 + |w - a|^2 / (2 eta)
          + sum_i p_i max_z <c_i + s_i(a) + J_i (w - a), z - t_i>

With ``sigma = lam + 1 / eta`` and the center ``m = a / (1 + lam eta)``, the two quadratics are
``sigma / 2 |w - m|^2`` and a constant. In ``w - m`` that is a structured SVM with the feature
difference ``J_i' u`` of ``u = t_i - z``, regularization sigma, and the loss ``-<b_i, u>`` with
``b_i = c_i + s_i(a) + J_i (m - a)``: what every solver is written for. The dual variables, means of
u, do not depend on the anchor, and so are a good start at the next one.

A block is a group of samples, one in general, more where the score model answers for many at once.
Its vectors are those of its samples, one after the other, each z times the share of its sample in
the weight of the block: then block and sample obey the same equations.
"""

import numpy as np

from ..._core.packed import slices_of
from ..._kernels import lazy
from .._problems._base import Answer, Mixture
from .._problems._checked_model import Output, SparseVector
from .._problems._listed import ListedProblem
from .._problems._workers import Workers

block_rules = lazy("structured.block_rules")
REFRESH = 20  # moves per sample after which weights are computed again
FORGIVEN = 1e-12  # rounding of an answer that is no better than the truth
EVERYWHERE, NOWHERE = slice(None), SparseVector(np.empty(0, np.int64), np.empty(0))


class LinearizedProblem(ListedProblem):
    """Dual problem of linearized scores; `linearize` comes before everything else."""

    def __init__(self, scores, groups, outputs, weight, n_weights):
        super().__init__(np.array([weight[g.index].sum() for g in groups]), n_weights, 0.0)
        self.scores, self.groups, self.outputs, self.exact = scores, groups, outputs, outputs.exact
        shares = [weight[g.index] / p for g, p in zip(groups, self.weight)]
        # Layout, share and place in the block of each sample.
        self._pieces = [
            [*zip(g.layouts, own, slices_of([sum(layout.sizes) for layout in g.layouts]))]
            for g, own in zip(groups, shares)
        ]
        self.costs = [np.concatenate([outputs.costs[i] for i in g.index]) for g in groups]
        self.targets = [
            np.concatenate([q * outputs.targets[i] for i, q in zip(g.index, own)])
            for g, own in zip(groups, shares)
        ]
        self._places = [np.arange(len(truth)) for truth in self.targets]
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

    def linearize(self, anchor, values, center, level):
        """Make the sub-problem at an anchor, where scores have these values and hinges a mean."""
        self.anchor, self.max_loss, shift = anchor, level, center - anchor
        moved = bool(np.any(shift))
        self.base = [
            self.costs[i] + values[i] + (self._forward(i, shift) if moved else 0.0)
            for i in range(self.n_blocks)
        ]

    def _forward(self, i, d):
        return self.scores.jvps(self.groups[i], self.anchor, d)

    def _ask(self, i, flat):
        """Best outputs for scores with costs: their u, H_i, slack, and how many are worse."""
        truth, pieces = self.targets[i], self._pieces[i]
        self.calls += len(pieces)
        u, value, total, n_worse = np.zeros(len(flat)), 0.0, 0.0, 0
        for layout, share, here in pieces:
            own = flat[here]
            output, slack = self.outputs.best(own, layout)
            change = truth[here] - share * self.outputs.vector(output, layout)
            gain = -float(own @ change)
            if gain < 0.0:
                n_worse += gain < -FORGIVEN * max(1.0, abs(float(own @ truth[here])))
                gain, slack = 0.0, max(gain + share * slack, 0.0) / share
            else:
                u[here] = change
            value, total = value + gain, total + share * slack
        return u, value, total, n_worse

    # ---- what a block is -------------------------------------------------------------------------

    def _reset(self, capacity):
        self._set_to_truth(
            [self._output(i, np.zeros(len(truth))) for i, truth in enumerate(self.targets)],
            capacity,
        )
        self._known, self._n_moves = None, 0  # number of a block and its scores at the present w

    def _output(self, i, u):
        return Output(SparseVector(self._places[i], u), self._loss(i, u), u.tobytes())

    def _loss(self, i, u):
        return -float(self.base[i] @ u)

    def _find(self, i, w, loss_weight):
        u, value, slack, n_worse = self._ask(i, loss_weight * self.base[i] + self._local(i, w))
        self.counts[block_rules.WORSE] += n_worse
        output = self._output(i, u)
        return Answer(output, output.loss, value, slack)

    def _local(self, i, w):
        if w is not self.w:
            return self._forward(i, w)
        if self._known is None or self._known[0] != i:
            self._known = i, self._forward(i, w)
        return self._known[1]

    def _lift(self, i, u):
        if not np.any(u.values):
            return NOWHERE
        return SparseVector(EVERYWHERE, self.scores.vjps(self.groups[i], self.anchor, u.values))

    def smoothed_answer(self, i, w, temperature, loss_weight=1.0):
        self.counts[block_rules.CALLS] += 1
        flat = loss_weight * self.base[i] + self._local(i, w)
        mean, value = np.empty(len(flat)), -float(flat @ self.targets[i])
        for layout, share, here in self._pieces[i]:
            own, log_sum = self.outputs.mean(flat[here], layout, temperature)
            mean[here] = share * own
            value += share * temperature * log_sum
        u = self.targets[i] - mean
        return Mixture(SparseVector(self._places[i], u), self._loss(i, u), value)

    # ---- products with derivatives are dear: w is computed again where rounding may show ---------

    def move(self, i, direction, gamma):
        super().move(i, direction, gamma)
        self._known = None
        self._n_moves += 1

    def step_towards(self, answers, gamma):
        super().step_towards(answers, gamma)
        self._n_moves = REFRESH * self.n_blocks

    def refresh(self):
        if self._n_moves >= REFRESH * self.n_blocks:
            self._n_moves, self._known = 0, None
            super().refresh()

    def restore(self, exported):
        """Take over means and vertices, whose losses are those of another model."""
        duals = [dual.copy(True) for dual in exported["points"]]
        for i, dual in enumerate(duals):
            dual.loss[: dual.size] = [self._loss(i, u) for u in dual.rows[: dual.size]]
        loss = np.array([self._loss(i, dual.point) for i, dual in enumerate(duals)])
        self._n_moves = REFRESH * self.n_blocks
        super().restore(exported | {"points": duals, "loss": loss})
