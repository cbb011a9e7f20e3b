"""Scores of the parts of many samples, and the questions that a prediction asks about them."""

from typing import NamedTuple

import numpy as np

from ..._core.oracle import require
from ..._core.scores import is_forest
from ..._kernels import lazy
from ...inference import PairwiseScores, TreeMaxProduct, Viterbi

edge_mix = lazy("structured.edge_mix")
sum_product = lazy("graphs.sum_product")
tree = lazy("graphs.tree")

# Oracles whose loop is inside compiled passes and predictions; others are called from Python.
COMPILED = (Viterbi, TreeMaxProduct)
EDGE_NUMBERS = 2**21  # marginals of edges in memory at a time


class Graph(NamedTuple):
    """Edges of all samples, or of the largest one, of which others use the first."""

    edges: np.ndarray  # (n_edges, 2) int64, child and parent as `_kernels/tree.py` wants them
    table: np.ndarray  # (n_edges,) int64
    start: np.ndarray  # (n,) sample i has the edges from here ...
    stop: np.ndarray  # ... to here
    mix: object = None  # `EdgeMix` in place of the numbers of tables

    @classmethod
    def shared(cls, edges, table, n_edges):
        """The graph of samples that use the first edges of one list."""
        return cls(edges, table, np.zeros(len(n_edges), np.int64), n_edges)

    @property
    def n_edges(self):
        return self.stop - self.start

    def is_forest(self, lengths):
        """Whether no sample has a cycle; ``lengths`` are their numbers of nodes."""
        if not np.any(self.start):
            return is_forest(self.edges, lengths.max())
        return all(is_forest(self.edges[a:b], n) for a, b, n in zip(self.start, self.stop, lengths))

    def scores(self, i, unary, tables):
        """`PairwiseScores` of sample i; a single table is shared, never repeated."""
        here = slice(self.start[i], self.stop[i])
        edges, shape = self.edges[here], (self.stop[i] - self.start[i], *tables.shape[1:])
        if self.mix is not None:
            pairwise = np.empty(shape)
            edge_mix.mix_tables(self.mix, here.start, here.stop, tables, pairwise)
        elif len(tables) == 1:
            pairwise = np.broadcast_to(tables[0], shape)
        else:
            pairwise = tables[self.table[here]] if len(tables) else np.empty(shape)
        return PairwiseScores._view(unary, pairwise, edges)

    def counted(self, i, states, n_tables, n_states):
        """How often pairs of states occur in sample i, as tables of their kinds of edges."""
        ends = states[self.edges[self.start[i] : self.stop[i]]]
        pairs = np.zeros((len(ends), n_states, n_states))
        pairs[np.arange(len(ends)), ends[:, 0], ends[:, 1]] = 1.0
        return self.summed(i, pairs, n_tables)

    def summed(self, i, pairs, n_tables):
        """Numbers of the pairs of all edges of sample i, summed into the tables of their kinds."""
        out = np.zeros((n_tables, *pairs.shape[1:]))
        if self.mix is None:
            np.add.at(out, self.table[self.start[i] : self.stop[i]], pairs)
        else:
            edge_mix.add_mixed_marginals(self.mix, self.start[i], pairs, out.reshape(-1))
        return out


class PartScores(NamedTuple):
    """Scores of many samples for oracles and compiled loops."""

    nodes: np.ndarray  # (n_nodes, n_states)
    tables: np.ndarray  # (n_tables, n_states, n_states)
    graph: Graph
    node_start: np.ndarray  # (n + 1,)

    @property
    def lengths(self):
        return self.node_start[1:] - self.node_start[:-1]

    def at(self, temperature):
        """The same divided by a temperature."""
        if temperature == 1.0:
            return self
        return self._replace(nodes=self.nodes / temperature, tables=self.tables / temperature)

    def each(self):
        """Yield the `PairwiseScores` of one sample after the other, but for those without nodes."""
        for i in np.flatnonzero(self.lengths):
            block = self.nodes[self.node_start[i] : self.node_start[i + 1]]
            yield self.graph.scores(i, block, self.tables)

    def argmax(self):
        """States of all nodes and values of all samples, by the compiled trees."""
        graph, states = self.graph, np.empty(len(self.nodes), np.int32)
        values = tree.tree_argmax_batch(
            self.nodes, self.node_start, graph.start, graph.stop, graph.edges, graph.table,
            self.tables, states,
        )  # fmt: skip
        return states, values

    def marginals(self, oracle):
        """Node marginals, (n_nodes, n_states); ``oracle`` None means the compiled trees."""
        if oracle is not None:
            found = [oracle.marginals(scores)[0] for scores in self.each()]
            return np.concatenate([np.empty((0, self.nodes.shape[1])), *found])
        full = np.flatnonzero(self.lengths)
        if not len(full):
            return np.empty_like(self.nodes)
        graph, starts = self.graph, self.node_start[np.append(full, -1)]
        n_edges = graph.n_edges[full]
        node = np.empty_like(self.nodes)
        # The kernel writes marginals of edges too: few samples at a time keep them small.
        limit = max(1, EDGE_NUMBERS // self.nodes.shape[1] ** 2)
        batch = np.cumsum(n_edges) // limit
        for part in np.split(np.arange(len(full)), np.flatnonzero(np.diff(batch)) + 1):
            a, b = starts[part[0]], starts[part[-1] + 1]
            first, stop = graph.start[full[part]], graph.stop[full[part]]
            edge = np.empty((n_edges[part].sum(), *self.tables.shape[1:]))
            sum_product.tree_marginals_batch(
                self.nodes[a:b], starts[part[0] : part[-1] + 2] - a, first, stop, graph.edges,
                graph.table, self.tables, node[a:b], edge,
            )  # fmt: skip
        return node


def oriented(edges, n_nodes):
    """Forests as (child, parent), leaves first, as message passing needs; other graphs as given.

    Also the place of each edge before, and whether it was turned around.
    """
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    found = tree.orient_forest(edges, n_nodes)
    if len(found[0]) == len(edges):
        return found
    return edges, np.arange(len(edges)), np.zeros(len(edges), dtype=bool)


def augmented_argmax(oracle, scores, truth, zero_one_cost):
    """Argmax of the scores plus ``zero_one_cost`` for all labelings but the truth, and a bound."""
    labels, value, upper_bound = oracle.argmax(scores)
    is_exact = upper_bound <= value
    upper_bound += zero_one_cost
    if zero_one_cost == 0.0 or np.any(labels != truth):
        return labels, upper_bound
    remedy = "use task_loss='hamming' or another oracle"
    require(oracle, "top_k", "the zero-one loss needs", remedy)
    values, best = oracle.top_k(scores, 2)
    second = values[1] + zero_one_cost if len(values) > 1 else -np.inf
    if is_exact:
        upper_bound = max(scores.value(truth), second)
    return best[1] if second > scores.value(truth) else labels, upper_bound
