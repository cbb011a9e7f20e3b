"""Convex hulls of the cuts of graphs with two states, for weights that only attract.

Node t is z_t, the probability of state 1, and edge e = (s, t) is z_e, that of different states. As
long as no weights in the box reward a difference, the points ``|z_s - z_t| <= z_e <= 1`` do as well
as the hull itself: a corner is best.
"""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._core.packed import starts_of
from ..._core.warnings import warn
from ..._kernels import lazy
from ..._kernels.structured.edge_mix import POTTS
from ._part_polytopes import PartPolytopes

cut_projection = lazy("structured.cut_projection")

MOST_STEPS = 20_000


def only_attract(blocks):
    """Whether blocks have two states, and no weights in their box reward a difference."""
    parts = blocks._parts
    if not blocks.bounded or parts.cost.shape[1] != 2 or parts.n_own is not None:
        return False
    if parts.whole_cost > 0.0 or parts.n_tables == 0:
        return False
    lower, upper = (blocks._view(side).tables for side in (blocks.lower, blocks.upper))
    least = lower[:, 0, 0] + lower[:, 1, 1] - upper[:, 0, 1] - upper[:, 1, 0]
    if parts.mix is None:
        return bool(np.all(least >= 0.0))
    of_differences = -upper[:, 0, 1] - upper[:, 1, 0]
    mirror = np.asarray(parts.mix.mirror)
    least = np.where(mirror == POTTS, of_differences, np.where(mirror == -1.0, 0.0, least))
    return bool(np.all(least >= 0.0) and np.all(parts.mix.value >= 0.0))


class CutPolytopes(PartPolytopes):
    """Flat vectors hold z of the nodes and then of the edges, of one sample after the other.

    Projections are exact quadratic programs, by accelerated steps of their dual. See
    `PartPolytopes` for the parameters.

    References
    ----------
    .. [1] B. Taskar, S. Lacoste-Julien, M. I. Jordan, "Structured prediction, dual extragradient
       and Bregman projections", JMLR 7, 2006: section 3.2, where projections are flows of convex
       cost.
    """

    def __init__(self, parts, *args, **options):
        super().__init__(parts, *args, **options)
        n_edges = parts.edge_stop - parts.edge_start
        self._edge_start = starts_of(n_edges)
        self.size = len(parts.truth) + int(self._edge_start[-1])
        first = parts.node_start[:-1]
        ends = [
            parts.edges[a:b] + node
            for a, b, node in zip(parts.edge_start, parts.edge_stop, first, strict=True)
        ]
        self._ends = np.concatenate([np.empty((0, 2), np.int64), *ends]).astype(np.int64)
        degree = np.bincount(self._ends.ravel(), minlength=len(parts.truth))
        self._steps = 0.5 / degree[self._ends].sum(axis=1)
        self._dual = np.zeros((2, len(self._ends)))
        starts = parts.node_start + self._edge_start
        sample = np.repeat(np.arange(len(first)), np.diff(starts))
        local = np.arange(self.size) - starts[sample]
        self._is_node = local < self._lengths[sample]
        self._sample = sample

    def resolve(self, geometry):
        """Always "euclidean"."""
        if geometry == "entropy":
            raise ValueError(
                "z_geometry='entropy' needs marginals, which cuts do not have: use "
                "z_geometry='euclidean'"
            )
        return "euclidean"

    def _joined(self, nodes, edges):
        z = np.empty(self.size)
        z[self._is_node], z[~self._is_node] = nodes, edges
        return z

    def _pairs(self, tables):
        """What tables (n_edges, 2, 2) add to both ends of edges and to differences."""
        gain = 0.5 * (tables[:, 0, 0] + tables[:, 1, 1] - tables[:, 0, 1] - tables[:, 1, 0])
        first = tables[:, 1, 0] - tables[:, 0, 0] + gain
        return first, tables[:, 0, 1] - tables[:, 0, 0] + gain, -gain

    # ---- features and losses ---------------------------------------------------------------------

    def scores(self, w, s):
        """``F_i' w + s c_i`` as a flat vector."""
        nodes = np.empty_like(self._marginals.nodes)
        view = self._score_nodes(w, s, nodes)
        tables = np.empty((len(self._ends), 2, 2))
        for i, (a, b) in enumerate(zip(self._edge_start[:-1], self._edge_start[1:], strict=True)):
            tables[a:b] = self._graph.scores(i, None, view.tables).pairwise
        first, second, differ = self._pairs(tables)
        gain, n = nodes[:, 1] - nodes[:, 0], len(nodes)
        gain += np.bincount(self._ends[:, 0], first, n) + np.bincount(self._ends[:, 1], second, n)
        return self._joined(gain, differ)

    def _marginals_of(self, z):
        """The flat vector of `PartPolytopes` with the same features and losses."""
        nodes, differ = z[self._is_node], z[~self._is_node]
        a, b = nodes[self._ends[:, 0]], nodes[self._ends[:, 1]]
        both = 0.5 * (a + b - differ)
        pairs = np.empty((len(differ), 2, 2))
        pairs[:, 1, 1], pairs[:, 1, 0], pairs[:, 0, 1] = both, a - both, b - both
        pairs[:, 0, 0] = 1.0 - a - b + both
        n_tables = self._parts.n_tables
        tables = [
            self._graph.summed(i, pairs[first:last], n_tables).ravel()
            for i, (first, last) in enumerate(
                zip(self._edge_start[:-1], self._edge_start[1:], strict=True)
            )
        ]
        return np.concatenate([np.stack([1.0 - nodes, nodes], axis=1).ravel(), *tables])

    def describe(self, z):
        """Psi and l of a flat vector."""
        return super().describe(self._marginals_of(z))

    def hand_over(self, blocks, z):
        """Make a point the distributions of blocks, with no more differences than these can have.

        Fewer differences make no dual value worse.
        """
        nodes, differ = z[self._is_node], z[~self._is_node]
        total = nodes[self._ends].sum(axis=1)
        differ = np.minimum(differ, np.minimum(total, 2.0 - total))
        super().hand_over(blocks, self._marginals_of(self._joined(nodes, differ)))

    # ---- projections -----------------------------------------------------------------------------

    def diameters(self, geometry):
        """Largest divergence of a corner from the center, or a bound on it."""
        return 0.5 * (self._lengths + np.diff(self._edge_start))

    def center(self):
        """The truth."""
        nodes = self._parts.truth.astype(np.float64)
        return self._joined(nodes, np.abs(nodes[self._ends[:, 0]] - nodes[self._ends[:, 1]]))

    def weight_of_entries(self):
        """p_i of every entry of a flat vector."""
        return self.weight[self._sample]

    def project(self, p, accuracy):
        """Nearest points; the dual variables of the last projection are the start of this one."""
        self.n_calls += len(self.weight)
        z, bounds = np.empty(self.size), np.empty(len(self.weight))
        cut_projection.project_cuts(
            self._ends, self._parts.node_start, self._edge_start, np.ascontiguousarray(p),
            self._steps, accuracy, MOST_STEPS, self._dual, z, bounds,
        )  # fmt: skip
        rounding = 1e-12 * max(1.0, np.abs(p).max(initial=0.0)) * self.size
        if bounds.max() > accuracy + rounding:
            warn(
                f"projection on cuts stopped after {MOST_STEPS} steps at {bounds.max():.3g} > "
                f"{accuracy:.3g}",
                ConvergenceWarning,
            )
        return z
