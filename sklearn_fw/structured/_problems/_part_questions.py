"""What blocks of parts ask oracles that are called from Python, and how they take the answers."""

import numpy as np

from ..._core.checked_oracle import name_of
from ..._core.packed import starts_of
from ..._kernels.structured import block_primitives as primitives
from ..._kernels.structured.block_rules import CALLS, WORSE
from ...inference import PairwiseScores
from .._models._part_scores import augmented_argmax
from ._base import Answer, Mixture, Sweep, means_of


class PartQuestions:
    """Mixin of `PartProblem`."""

    def _question(self, parts, view, i, loss_weight):
        """Scores as an oracle sees them (in ``scratch``), those of the truth and of the point.

        The last two are values of H_i plus the score of the truth.
        """
        true_value, current = primitives.scores(
            parts, self.marginals, view, i, loss_weight, self._scratch.oracle
        )
        return self._scores_at_hand(i, view), true_value, current

    def _scores_at_hand(self, i, view):
        here, n_own = self._nodes_of(i), self._parts.n_own
        unary = self._scratch.oracle.scores[: here.stop - here.start]
        if n_own is not None:  # forbidden is what compiled passes give a very low score
            unary = np.where(np.arange(unary.shape[1]) < n_own[here, None], unary, -np.inf)
        return self._graph.scores(i, unary, view.tables)

    def ask_at_scores(self, i):
        """Labels that the oracle finds best for the scores of block i that are in ``scratch``."""
        truth, whole_cost = self._parts.truth[self._nodes_of(i)], self._parts.whole_cost
        return augmented_argmax(
            self.oracle, self._scores_at_hand(i, self._dual.w), truth, whole_cost
        )[0]

    def predicted(self, w):
        """Best labels of all nodes at any w, found without a look at the truth."""
        view = self._view(np.ascontiguousarray(w))
        if self.is_compiled:
            return self.sweep(w, augmented=False).answers
        found = []
        for i in range(self.n_blocks):
            scores = self._question(self._parts, view, i, 0.0)[0]
            found.append(self.oracle.argmax(scores)[0])
        return np.concatenate(found)

    def _judge(self, parts, i, scores, true_value, labels, upper_bound):
        """Labels of an oracle or, if these are worse, those of the truth; their H_i and slack."""
        truth = parts.truth[self._nodes_of(i)]
        value = scores.value(labels) + parts.whole_cost * np.any(labels != truth) - true_value
        if value < -1e-12 * max(1.0, abs(true_value)):
            self.counts[WORSE] += 1
        if value < 0.0:
            labels, value = truth, 0.0
        slack = max(upper_bound - true_value - value, 0.0)
        # What a promise of exactness leaves out is rounding, unless the oracle takes it back.
        if self.exact and slack <= 1e-12 * abs(upper_bound):
            slack = 0.0
        return labels, value, slack

    def top_answers(self, i, w, k):
        """The best labellings; see `Problem.top_answers`."""
        if not callable(getattr(self.oracle, "top_k", None)):
            raise TypeError(
                f"the best {k} outputs need an oracle with the method top_k or max_marginals, "
                f"which {name_of(self.oracle)} lacks: take another oracle, or smoother=None"
            )
        self.counts[CALLS] += 1
        parts, truth = self._parts, self._parts.truth[self._nodes_of(i)]
        view = self._view(np.ascontiguousarray(w))
        scores, true_value, _ = self._question(parts, view, i, 1.0)
        # The cost of a whole output lifts all but the truth, which may be among the best or not.
        whole = parts.whole_cost
        values, found = self.oracle.top_k(scores, k + (whole > 0.0))
        if whole > 0.0:
            wrong = np.any(found != truth, axis=1)
            values = np.append(values[wrong] + whole, scores.value(truth))
            found = np.append(found[wrong], truth[None], axis=0)
        order = np.argsort(-values, kind="stable")[:k]
        order = order[values[order] > -np.inf]
        return [
            Answer(found[m], self._loss_of(i, found[m]), float(values[m] - true_value))
            for m in order
        ]

    def mix(self, i, answers, weights):
        """Marginals of a few labellings; see `Problem.mix`."""
        parts = [self._end(i, answer)[0] for answer in answers]
        point = tuple(sum(u * part[a] for u, part in zip(weights, parts)) for a in range(2))
        return Mixture(point, *means_of(answers, weights))

    def _sweep_oracle(self, parts, view, loss_weight, hinge, current, labels):
        """Scores of all samples, then the oracle in batches, then the values of its answers."""
        slack = np.zeros(self.n_blocks)
        answers = self._ask(range(self.n_blocks), parts, view, loss_weight)
        for i, (found, hinge[i], slack[i], current[i]) in enumerate(answers):
            labels[self._nodes_of(i)] = found
        return Sweep(hinge, current, labels, slack)

    def _ask(self, order, parts, view, loss_weight):
        """Labels, their H_i and slack, and that of the point, for each block of an order."""
        order = np.asarray(order)
        asked, values = [], []

        def calls():  # one by one: oracles answer the first while the others are made
            sizes = np.diff(parts.node_start)[order]
            for first, last in self.workers.ranges(starts_of(sizes)):
                for i in order[first:last]:
                    scores, true_value, current = self._question(parts, view, i, loss_weight)
                    scores = PairwiseScores._view(
                        scores.unary.copy(), scores.pairwise, scores.edges
                    )
                    asked.append((scores, parts.truth[self._nodes_of(i)]))
                    values.append((true_value, current - true_value))
                yield self.oracle, asked[first:last], parts.whole_cost

        found = self.workers.run(_argmax_many, calls())
        answers = (answer for batch in found for answer in batch)
        for i, (scores, _), (true_value, current), answer in zip(
            order, asked, values, answers, strict=True
        ):
            yield *self._judge(parts, i, scores, true_value, *answer), current


def _argmax_many(oracle, asked, whole_cost):
    return [augmented_argmax(oracle, scores, truth, whole_cost) for scores, truth in asked]
