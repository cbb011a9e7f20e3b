"""Problem of models with parts whose answers are points of the local polytope."""

import numpy as np
from sklearn.utils.parallel import delayed

from ..._core.threads import chunks, parallel
from ..._kernels.structured import blocks as kernels
from ..._kernels.structured.block_rules import CALLS
from ..._kernels.structured.parts import Marginals
from ...inference import PairwiseScores
from ._base import Answer, Sweep
from ._parts import PartProblem


class RelaxedProblem(PartProblem):
    """Problem of a `PairwiseModel` over the local polytope instead of distributions of outputs.

    Parameters are those of `PartProblem`; the oracle has ``vertex``. Here H_i is the maximum over
    marginals of nodes and edges that agree with each other, so the objective is not below that of
    `PartProblem` at the same w, and its gap is exact for itself. Corners are marginals and not
    labels: they are mixed, but not kept.
    """

    relaxed = True

    def __init__(self, parts, oracle, n_jobs=None):
        if parts.whole_cost > 0.0:
            raise ValueError(
                "relaxed answers need a task_loss that is a sum over nodes, such as 'hamming': "
                "another one is no function of marginals"
            )
        super().__init__(parts, oracle, n_jobs)

    def _reset(self, capacity):
        if capacity:
            raise ValueError(
                "relaxed answers are marginals, of which no list is kept: take solver='bcfw', 'fw' "
                "or 'subgradient', or an oracle with relaxed=False"
            )
        super()._reset(capacity)

    def answer(self, i, w, loss_weight=1.0):
        """One oracle call; see `Problem.answer`."""
        self.counts[CALLS] += 1
        view = self._view(np.ascontiguousarray(w))
        scores, true_value, _ = self._question(self._parts, view, i, float(loss_weight))
        return self._point(i, true_value, *self.oracle.vertex(scores))

    def _point(self, i, true_value, nodes, edges, value, upper_bound):
        """The `Answer` of a vertex, or of the truth where this is better."""
        value = value - true_value
        slack = max(upper_bound - true_value - value, 0.0)
        if value < 0.0:
            point = self._marginals_of_labels(i, self._parts.truth[self._nodes_of(i)])
            return Answer(point, 0.0, 0.0, max(slack + value, 0.0))
        point = nodes, self._graph.summed(i, edges, self._parts.n_tables).ravel()
        return Answer(point, self._loss_of_nodes(i, nodes), value, slack)

    def _loss_of_nodes(self, i, nodes):
        here, parts = self._nodes_of(i), self._parts
        costs = parts.node_cost[here, None] * parts.cost[parts.cost_row[here]]
        return float(np.sum(costs * nodes))

    def _end(self, i, end):
        return (end.corner, end.loss) if isinstance(end, Answer) else super()._end(i, end)

    def sweep(self, w, augmented=True):
        """`Sweep` at any w; its answers are `Marginals`."""
        parts, view = self._parts, self._view(np.ascontiguousarray(w))
        asked, (true_value, current) = [], np.zeros((2, self.n_blocks))
        for i in range(self.n_blocks):
            scores, true_value[i], current[i] = self._question(parts, view, i, float(augmented))
            asked.append(PairwiseScores._view(scores.unary.copy(), scores.pairwise, scores.edges))
        pool = parallel(self._n_jobs)
        jobs = [
            delayed(_relax_many)(self.oracle, asked[first:last])
            for first, last in chunks(parts.node_start, pool.n_jobs)
        ]
        vertices = [vertex for batch in pool(jobs) for vertex in batch]
        hinge, slack, loss = np.zeros((3, self.n_blocks))
        answers = Marginals(
            *map(np.zeros_like, (self.marginals.nodes, self.marginals.tables)), loss
        )
        for i, vertex in enumerate(vertices):
            answer = self._point(i, true_value[i], *vertex)
            answers.nodes[self._nodes_of(i)], answers.tables[i] = answer.corner
            loss[i] = self.weight[i] * answer.loss
            hinge[i], slack[i] = answer.value, answer.slack
        return Sweep(hinge, current - true_value, answers, slack)

    def corner_of(self, answers):
        """(v_s, l_s) of the answers of a sweep."""
        corner = np.zeros(self.n_weights)
        kernels.accumulate(
            self._parts, answers, np.empty(0, np.int32), self.lam, self._view(corner),
            self._make_scratch().step,
        )  # fmt: skip
        return corner, float(answers.loss.sum())

    def step_towards(self, answers, gamma):
        """Common step of all blocks."""
        for mine, other in zip(self.marginals, answers, strict=True):
            mine += gamma * (other - mine)


def part_problem(parts, oracle, n_jobs=None):
    """The blocks that suit the oracle: over the local polytope where its answers are relaxed."""
    kind = RelaxedProblem if getattr(oracle, "relaxed", False) else PartProblem
    return kind(parts, oracle, n_jobs)


def _relax_many(oracle, asked):
    return [oracle.vertex(scores) for scores in asked]
