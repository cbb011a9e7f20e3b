"""The dual problem of models with parts whose answers are points of the local polytope."""

import numpy as np

from ..._kernels.structured.parts import Marginals
from ._base import Answer
from ._part_sets import check_sum
from ._parts import PartProblem


class RelaxedProblem(PartProblem):
    """`PartProblem` over the local polytope instead of distributions of outputs.

    The oracle has ``vertex``. Here H_i is the maximum over marginals of nodes and edges that agree
    with each other, so the objective is not below that of `PartProblem` at the same w, and its gap
    is exact for itself. Vertices are marginals and not labels: they are mixed, but not kept.
    """

    relaxed = True

    def __init__(self, parts, oracle, n_jobs=None):
        check_sum(parts, "relaxed answers need")
        super().__init__(parts, oracle, n_jobs)

    def _reset(self, capacity):
        if capacity:
            raise ValueError(
                "relaxed answers are marginals, of which no list is kept: take solver='bcfw', or "
                "an oracle with relaxed=False"
            )
        super()._reset(capacity)

    def _answer_of(self, parts, i, scores, true_value, nodes, edges, value, upper_bound):
        """The `Answer` of a vertex, or of the truth where this is better."""
        value -= true_value
        slack = max(upper_bound - true_value - value, 0.0)
        if value < 0.0:
            point = self._marginals_of_labels(i, parts.truth[self._nodes_of(i)])
            return Answer(point, 0.0, 0.0, max(slack + value, 0.0))
        return Answer(*self._point_of(i, nodes, edges), value, slack)

    def _end(self, i, end):
        return (end.vertex, end.loss) if isinstance(end, Answer) else super()._end(i, end)

    def _gathered(self, answers):
        nodes, tables = zip(*(answer.vertex for answer in answers), strict=True)
        loss = self.weight * [answer.loss for answer in answers]
        return Marginals(np.concatenate(nodes), np.array(tables), loss)

    _truth = PartProblem._marginals_of_truth

    def vertex_of(self, answers):
        return self.features_of(answers, self.lam), float(answers.loss.sum())

    def step_towards(self, answers, gamma):
        for mine, other in zip(self.marginals, answers, strict=True):
            mine += gamma * (other - mine)


def part_problem(parts, oracle, n_jobs):
    """The problem that suits the oracle: over the local polytope where its answers are relaxed."""
    kind = RelaxedProblem if getattr(oracle, "relaxed", False) else PartProblem
    return kind(parts, oracle, n_jobs)
