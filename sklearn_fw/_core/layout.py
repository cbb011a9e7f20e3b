"""Numbers of all parts of a graph as one flat vector: states of nodes, then pairs of edges."""

import numpy as np

from .packed import starts_of
from .scores import PairwiseScores, integers

MOST_PADDED = 2**28  # numbers in the tables of all edges, padded to one shape


def check_edges(edges, n_nodes, what="variables"):
    """Edges as int64 of shape (n_edges, 2), refused when they make no sense."""
    edges = integers([] if edges is None else edges, "edges", 2)
    if not len(edges):
        return edges
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(
            f"edges must be integers of shape (n_edges, 2), got {edges.dtype} of {edges.shape}"
        )
    if edges.min() < 0 or edges.max() >= n_nodes:
        raise ValueError(
            f"edges must name {what} 0 to {n_nodes - 1}, got {edges.min()} to {edges.max()}"
        )
    loops = edges[edges[:, 0] == edges[:, 1]]
    if len(loops):
        node = loops[0, 0]
        raise ValueError(f"edges must join two different {what}, got ({node}, {node})")
    return edges


class FlatParts:
    """Where each part of a graph lies, for nodes with any numbers of states.

    Parameters
    ----------
    n_states : ndarray of shape (n_nodes,), int64
        States of each node.
    edges : ndarray of shape (n_edges, 2), int64
        Nodes joined by each edge; its table has one row for each state of the first.
    """

    def __init__(self, n_states, edges):
        self.n_states, self.edges = n_states, edges
        sizes = n_states[edges].prod(axis=1)
        self.node_start = starts_of(n_states)
        self.edge_start = self.node_start[-1] + starts_of(sizes)
        self.size = int(self.edge_start[-1])

    @property
    def n_padded(self):
        """Numbers in the tables of all edges as oracles take them."""
        return len(self.edges) * float(self.n_states.max()) ** 2

    def places(self, X):
        """Places of the parts that labellings switch on: (n_samples, n_nodes + n_edges), int64."""
        i, j = self.edges.T
        nodes = self.node_start[:-1] + X
        return np.hstack([nodes, self.edge_start[:-1] + X[:, i] * self.n_states[j] + X[:, j]])

    def scores(self, flat):
        """The numbers as an oracle wants them: views where all nodes have as many states."""
        n, m, k = len(self.n_states), len(self.edges), int(self.n_states.max())
        cut = self.node_start[-1]
        if cut == n * k:
            nodes, tables = flat[:cut].reshape(n, k), flat[cut:].reshape(m, k, k)
            return PairwiseScores._view(nodes, tables, self.edges)
        if self.n_padded > MOST_PADDED:
            raise ValueError(
                f"oracles take tables of one shape: {m} edges with up to {k} states for each end "
                f"would be {self.n_padded:.2g} numbers, at most {MOST_PADDED:.2g} can be; "
                f"map(), MiniBucketMarginals, MeanFieldMarginals and TRBPMarginals do without"
            )
        # Forbidding the missing states of the nodes is enough; finite tables stay finite.
        unary, pairwise = np.full((n, k), -np.inf), np.zeros((m, k, k))
        nodes, pairs = self._exist(k)
        unary[nodes], pairwise[pairs] = flat[:cut], flat[cut:]
        return PairwiseScores._view(unary, pairwise, self.edges)

    def flatten(self, node, edge):
        """The inverse of `scores`."""
        nodes, pairs = self._exist(node.shape[1])
        return np.concatenate([node[nodes], edge[pairs]])

    def _exist(self, k):
        """Which entries of padded arrays are states and pairs of states."""
        nodes = np.arange(k) < self.n_states[:, None]
        i, j = self.edges.T
        return nodes, nodes[i][:, :, None] & nodes[j][:, None, :]
