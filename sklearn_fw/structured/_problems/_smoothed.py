"""Gibbs distributions of blocks of parts: by compiled sums where there are any, else by oracles."""

import numpy as np

from ..._core.checked_oracle import name_of
from ..._kernels import lazy
from ..._kernels.structured.block_rules import CALLS
from ...inference import PairwiseScores
from ._base import Mixture, SmoothedSweep

smoothed = lazy("structured.smoothed")
sum_product = lazy("graphs.sum_product")


class SmoothedParts:
    """Mixin of `PartProblem`."""

    def smoothed_answer(self, i, w, temperature, loss_weight=1.0):
        """Marginals of the oracle; see `Problem.smoothed_answer`."""
        self._check_sums(loss_weight)
        parts, here = self._with_loss(loss_weight), self._nodes_of(i)
        self.counts[CALLS] += 1
        view = self._view(np.ascontiguousarray(w))
        scores, true_value, _ = self._question(parts, view, i, loss_weight)
        nodes, edges, log_partition = self.oracle.marginals(
            PairwiseScores._view(
                scores.unary / temperature, scores.pairwise / temperature, scores.edges
            )
        )
        costs = parts.node_cost[here, None] * parts.cost[parts.cost_row[here]]
        point = nodes, self._graph.summed(i, edges, parts.n_tables).ravel()
        value = temperature * log_partition - true_value
        expected = _mean(nodes, scores.unary) + _mean(edges, scores.pairwise)
        entropy = max(log_partition - expected / temperature, 0.0)
        return Mixture(point, float(np.sum(costs * nodes)), value, entropy)

    def _check_sums(self, loss_weight):
        if not callable(getattr(self.oracle, "marginals", None)):
            raise TypeError(
                f"smoothed answers need an oracle with the method marginals, which "
                f"{name_of(self.oracle)} lacks: take another oracle, such as 'elimination', or "
                f"surrogate='hinge'"
            )
        if loss_weight * self._parts.whole_cost > 0.0:
            raise ValueError(
                "smoothed answers need a task_loss that is a sum over nodes, such as 'hamming'"
            )

    def smoothed_sweep(self, w, temperature, loss_weight=1.0, mean=False):
        """A compiled pass, which threads share, where oracles are compiled; see `Problem`."""
        if not self.sums_are_compiled:
            return super().smoothed_sweep(w, temperature, loss_weight, mean)
        self._check_sums(loss_weight)
        self.counts[CALLS] += self.n_blocks
        view, out, targets = self._view(np.ascontiguousarray(w)), np.empty((3, self.n_blocks)), []

        def run(first, last):
            target = np.zeros(self.n_weights if mean else 0)
            targets.append(target)
            smoothed.smoothed_sweep(
                self._with_loss(0.0), view, float(temperature), float(loss_weight), first, last,
                self._make_scratch(), self.make_sums(), self._view(target), out,
            )  # fmt: skip

        self._share(run)
        value, expected, loss = out
        entropy = np.maximum((value - expected) / temperature, 0.0)
        return SmoothedSweep(value, loss, entropy, sum(targets) if mean else None)

    def make_sums(self):
        """Working memory of one thread for compiled sums."""
        parts, n_states = self._parts, self._n_states
        n_nodes = int(np.diff(parts.node_start).max())
        n_edges = int((parts.edge_stop - parts.edge_start).max(initial=0))
        n_shared = parts.n_tables if parts.mix is None else 0
        tables = np.zeros((3, n_shared, n_states, n_states))
        nodes = np.zeros((5, n_nodes, n_states))
        beliefs = sum_product.Beliefs(
            nodes[0], np.zeros((n_edges, n_states)), np.zeros(n_edges), np.zeros(n_nodes, np.bool_),
            np.zeros((2, n_states)),
        )  # fmt: skip
        return smoothed.Sums(
            node=nodes[1],
            table=np.zeros(parts.n_tables * n_states**2),
            scores=nodes[2],
            beliefs=beliefs,
            message=nodes[3],
            factor=nodes[4],
            weights=sum_product.Weights(np.arange(n_shared), tables[0], np.zeros(n_shared)),
            turned=tables[1],
            pairs=tables[2],
            line=np.zeros((2, n_states)),
            least=np.zeros(1),
        )


def _mean(chances, scores):
    """Expected score; what is forbidden has no chance."""
    return float(np.sum(chances * np.where(chances > 0.0, scores, 0.0)))
