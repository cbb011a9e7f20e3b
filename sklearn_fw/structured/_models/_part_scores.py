"""Scores of the parts of many samples, and the questions that a prediction asks about them."""

from typing import NamedTuple

import numpy as np

from ...inference import PairwiseScores

EDGE_NUMBERS = 2**21  # marginals of edges in memory at a time


class Graph(NamedTuple):
    """Edges of the largest sample; sample i uses the first ``n_edges[i]``."""

    edges: np.ndarray  # (n_edges, 2) int64, child and parent as `_kernels/tree.py` wants them
    table: np.ndarray  # (n_edges,) int64
    n_edges: np.ndarray  # (n,)


class PartScores(NamedTuple):
    """Scores of many samples for oracles and compiled loops."""

    nodes: np.ndarray  # (n_nodes, n_states)
    tables: np.ndarray  # (n_tables, n_states, n_states)
    graph: Graph
    node_start: np.ndarray  # (n + 1,)

    @property
    def lengths(self):
        """Number of nodes of each sample."""
        return np.diff(self.node_start)

    def each(self):
        """Yield the `PairwiseScores` of one sample after the other, but for those without nodes."""
        for i in np.flatnonzero(self.lengths):
            block = self.nodes[self.node_start[i] : self.node_start[i + 1]]
            yield pairwise_scores(block, self.tables, self.graph, self.graph.n_edges[i])

    def argmax(self):
        """States of all nodes and values of all samples, by the compiled trees."""
        from ..._kernels.graphs.tree import tree_argmax_batch

        n_edges = self.graph.n_edges
        states = np.empty(len(self.nodes), np.int32)
        values = tree_argmax_batch(
            self.nodes, self.node_start, np.zeros_like(n_edges), n_edges, self.graph.edges,
            self.graph.table, self.tables, states,
        )  # fmt: skip
        return states, values

    def marginals(self, oracle):
        """Node marginals, (n_nodes, n_states); ``oracle`` None means the compiled trees."""
        if oracle is not None:
            found = [oracle.marginals(scores)[0] for scores in self.each()]
            return np.concatenate([np.empty((0, self.nodes.shape[1])), *found])
        from ..._kernels.graphs.sum_product import tree_marginals_batch

        full = np.flatnonzero(self.lengths)
        if not len(full):
            return np.empty_like(self.nodes)
        starts, n_edges = self.node_start[np.append(full, -1)], self.graph.n_edges[full]
        node = np.empty_like(self.nodes)
        # The kernel writes marginals of edges too: so many samples at a time that they stay small.
        limit = max(1, EDGE_NUMBERS // self.nodes.shape[1] ** 2)
        batch = np.cumsum(n_edges) // limit
        for part in np.split(np.arange(len(full)), np.flatnonzero(np.diff(batch)) + 1):
            a, b = starts[part[0]], starts[part[-1] + 1]
            own = n_edges[part]
            edge = np.empty((own.sum(), *self.tables.shape[1:]))
            tree_marginals_batch(
                self.nodes[a:b], starts[part[0] : part[-1] + 2] - a, np.zeros_like(own), own,
                self.graph.edges, self.graph.table, self.tables, node[a:b], edge,
            )  # fmt: skip
        return node


def pairwise_scores(unary, tables, graph, n_edges):
    """`PairwiseScores` of one sample; a single table is shared, never repeated."""
    shape = (n_edges, *tables.shape[1:])
    if len(tables) == 1:
        pairwise = np.broadcast_to(tables[0], shape)
    else:
        pairwise = tables[graph.table[:n_edges]] if len(tables) else np.empty(shape)
    return PairwiseScores._view(unary, pairwise, graph.edges[:n_edges])
