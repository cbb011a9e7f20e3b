"""Convex hulls of the labelings of parts, see `_polytopes`."""

from functools import cache, cached_property, partial
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController

from ..._core import check
from ..._core.packed import starts_of
from ..._core.warnings import warn
from ..._kernels import lazy
from ..._kernels.structured.edge_mix import POTTS
from ..._kernels.structured.parts import Marginals
from ...optim._frank_wolfe._corrective import HullProjection
from ...optim.domains import SparseAtom
from ...projections import project_simplex
from ._listed import BlackBoxProblem
from ._part_sets import check_sum, edges_of_samples, rows_of
from ._polytopes import ModelPolytopes, Point

cut_projection = lazy("structured.cut_projection")
variance_reduced = lazy("structured.variance_reduced")

MOST_STEPS = 20_000


def polytopes_of(blocks):
    """The convex hulls of the outputs of `Problem`, whose lam and dual variables stay."""
    if isinstance(blocks, BlackBoxProblem):
        model, samples = blocks._model.model, blocks._samples
        return ModelPolytopes(model, samples, blocks.weight, blocks.n_weights)
    check_sum(blocks._parts, "solver 'extragradient' needs", NotImplementedError)
    forest = blocks._graph.is_forest(np.diff(blocks._parts.node_start))
    if (blocks._parts.mix is not None or not forest) and only_attract(blocks):
        return CutPolytopes(blocks)
    if blocks._parts.mix is not None or blocks._parts.n_own is not None:
        raise ValueError(
            "solver 'extragradient' needs one table of weights for each edge and nodes of one "
            "kind, or two states and bounds on weights that reward no difference: take 'bcfw'"
        )
    return PartPolytopes(blocks)


_libraries = cache(ThreadpoolController)


def _flat(nodes, tables):
    return np.concatenate([nodes.ravel(), tables.ravel()])


class PartPolytopes:
    """Marginals of nodes and, summed over edges of one kind, of edges.

    These determine features and loss. Flat vectors hold (n_nodes, n_states) numbers of all nodes
    and then (n_samples, n_tables, n_states, n_states) of all edges.
    """

    def __init__(self, blocks):
        self._blocks, self._parts, self._graph = blocks, blocks._parts, blocks._graph
        self._marginals = marginals = Marginals(*map(np.zeros_like, blocks.marginals))
        self.weight, self.n_weights, self.n_calls = blocks.weight, blocks.n_weights, 0
        self.size, self._rows = marginals.nodes.size + marginals.tables.size, rows_of(self._parts)
        self._lengths = np.diff(blocks._parts.node_start)
        self._has_marginals = self._graph.is_forest(self._lengths)

    @cached_property
    def _n_pairs(self):
        """Number of edges of each kind of every sample, (n, n_tables)."""
        parts = self._parts
        one_hot = parts.edge_table[:, None] == np.arange(parts.n_tables)
        total = np.pad(np.cumsum(one_hot, axis=0, dtype=np.float64), ((1, 0), (0, 0)))
        return total[parts.edge_stop] - total[parts.edge_start]

    @cached_property
    def _hulls(self):
        polytopes = (SimpleNamespace(lmo=partial(self._lmo, i)) for i in range(len(self.weight)))
        return list(map(HullProjection, polytopes))

    def resolve(self, geometry):
        """The given geometry; "auto" is "entropy" for forests, else "euclidean"."""
        if check.is_auto(geometry):
            return "entropy" if self._has_marginals else "euclidean"
        if geometry == "entropy" and not self._has_marginals:
            raise ValueError(
                "z_geometry='entropy' needs marginals, which are known for graphs without cycles "
                "only: use z_geometry='euclidean'"
            )
        return geometry

    # ---- features and losses ---------------------------------------------------------------------

    def scores(self, w, s):
        """``F_i' w + s c_i`` as a flat vector."""
        nodes, view = self._score_nodes(w, s)
        return _flat(nodes, np.broadcast_to(view.flat_tables, self._marginals.tables.shape))

    def _score_nodes(self, w, s):
        """Scores of nodes plus s times their costs, and the weights as rows and tables."""
        parts, view = self._parts, self._blocks._view(w)
        nodes = (self._rows @ view.rows).reshape(self._marginals.nodes.shape)
        return nodes + s * parts.node_cost[:, None] * parts.cost[parts.cost_row], view

    def hand_over(self, blocks, z):
        self._put(z, blocks.marginals)
        blocks.refresh()

    def describe(self, z):
        self._put(z, self._marginals)
        return self._psi(), float(self._marginals.loss.sum())

    def _put(self, z, marginals):
        """Put a flat vector, and its losses, into `Marginals`."""
        parts, cut = self._parts, marginals.nodes.size
        marginals.nodes[:] = z[:cut].reshape(marginals.nodes.shape)
        marginals.tables[:] = z[cut:].reshape(marginals.tables.shape)
        costs = parts.node_cost * (marginals.nodes * parts.cost[parts.cost_row]).sum(axis=1)
        marginals.loss[:] = parts.weight * np.add.reduceat(costs, parts.node_start[:-1])

    def _psi(self):
        return self._blocks.features_of(self._marginals, 1.0)

    # ---- entropy ---------------------------------------------------------------------------------

    def gibbs(self, potentials, stored):
        blocks, here, out = self._blocks, self._marginals, np.empty((5, len(self.weight)))
        view = blocks._view(potentials.w)
        smoother = variance_reduced.Smoother(1.0, 1, 1, float(potentials.s), False)

        def run(first, last):
            sums = blocks.make_sums()
            variance_reduced.smooth_pass(
                self._parts, here, view, smoother, first, last, blocks._make_scratch(), sums,
                variance_reduced.Point(sums.node, sums.table), out,
            )  # fmt: skip

        blocks._share(run)
        self.n_calls += len(self.weight)
        z = _flat(here.nodes, here.tables) if stored else None
        log_partition = float(self.weight @ out[0])
        return Point(self._psi(), float(here.loss.sum()), z, potentials, log_partition)

    def radii(self, norm):
        """Half the largest distance of the features of two outputs, or a bound on it.

        With m_a the sum of ``|x_a|`` over feature rows, ``sum_a m_a^2`` per score of a row plus the
        squared numbers of edges bound half the squared distance: an attribute of a row adds to the
        features of two states at most.
        """
        parts = self._parts
        row_of_entry = np.repeat(np.arange(len(parts.indptr) - 1), np.diff(parts.indptr))
        sample_of_row = np.repeat(np.arange(len(self.weight)), np.diff(parts.row_start))
        place = parts.attribute_start[sample_of_row[row_of_entry]] + parts.local
        mass = np.bincount(place, np.abs(parts.data), minlength=len(parts.attributes))
        sample = np.repeat(np.arange(len(self.weight)), np.diff(parts.attribute_start))
        if norm == "l1":
            largest = self._n_pairs.max(axis=1, initial=0.0)
            np.maximum.at(largest, sample, mass)
            return 0.5 * largest
        squares = np.bincount(sample, mass**2, minlength=len(self.weight))
        squares *= parts.n_columns // parts.cost.shape[1]
        return np.sqrt(0.5 * (squares + (self._n_pairs**2).sum(axis=1)))

    # ---- Euclidean -------------------------------------------------------------------------------

    def diameters(self, geometry):
        """Largest divergence of a vertex from the center, or a bound on it.

        The center is uniform for entropy, else the truth: points near a vertex mix few vertices.
        """
        if geometry == "entropy":
            return self._lengths * np.log(self._parts.cost.shape[1])
        return self._lengths + (self._n_pairs**2).sum(axis=1)

    def center(self):
        truth = self._blocks._marginals_of_truth()
        return _flat(truth.nodes, truth.tables)

    def weight_of_entries(self):
        """p_i of every entry of a flat vector."""
        n_states, n_entries = self._parts.cost.shape[1], self._marginals.tables.shape[1]
        nodes = np.repeat(self.weight, self._lengths * n_states)
        return np.concatenate([nodes, np.repeat(self.weight, n_entries)])

    def project(self, p, accuracy):
        n_states, cut = self._parts.cost.shape[1], self._marginals.nodes.size
        if self._parts.n_tables == 0:  # nodes are independent
            self.n_calls += len(self.weight)
            return project_simplex(p.reshape(-1, n_states)).ravel()
        nodes, tables = p[:cut].reshape(-1, n_states), p[cut:].reshape(len(self.weight), -1)
        z = np.empty_like(p)
        z_nodes, z_tables = z[:cut].reshape(nodes.shape), z[cut:].reshape(tables.shape)
        # Threads only get in the way of products of small matrices.
        with _libraries().limit(limits=1, user_api="blas"):
            for i, (start, length) in enumerate(zip(self._parts.node_start, self._lengths)):
                here = slice(start, start + length)
                best, n_calls = self._hulls[i].project(_flat(nodes[here], tables[i]), accuracy)
                self.n_calls += n_calls
                z_nodes[here] = best[: length * n_states].reshape(-1, n_states)
                z_tables[i] = best[length * n_states :]
        return z

    def _lmo(self, i, gradient):
        """z(y) of the labeling of sample i with the smallest ``<gradient, z(y)>``, as an atom."""
        blocks, n_states, length = self._blocks, self._parts.cost.shape[1], self._lengths[i]
        cut, s = length * n_states, -gradient
        tables = s[cut:].reshape(-1, n_states, n_states)
        scores = self._graph.scores(i, s[:cut].reshape(length, n_states), tables)
        labels, _, bound = blocks.oracle.argmax(scores)
        z = _flat(*blocks._marginals_of_labels(i, labels))
        places = np.flatnonzero(z)
        atom = SparseAtom(s.size, places, z[places])
        atom.bound = -bound
        return atom


def only_attract(blocks):
    """Whether blocks have two states, and no weights in their box reward a difference."""
    parts = blocks._parts
    if not blocks.bounded or parts.cost.shape[1] != 2 or parts.n_own is not None:
        return False
    if parts.zero_one_cost > 0.0 or parts.n_tables == 0:
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

    Projections are exact quadratic programs, by accelerated steps of their dual, where Taskar,
    Lacoste-Julien, Jordan (JMLR 2006, section 3.2) compute flows of convex cost.
    """

    def __init__(self, blocks):
        super().__init__(blocks)
        self._has_marginals, parts = False, self._parts
        n_edges = parts.edge_stop - parts.edge_start
        self._edge_start = starts_of(n_edges)
        self.size = len(parts.truth) + int(self._edge_start[-1])
        self._ends, _ = edges_of_samples(parts)
        degree = np.bincount(self._ends.ravel(), minlength=len(parts.truth))
        self._steps = 0.5 / degree[self._ends].sum(axis=1)
        self._dual = np.zeros((2, len(self._ends)))
        starts = parts.node_start + self._edge_start
        self._sample = sample = np.repeat(np.arange(len(n_edges)), np.diff(starts))
        self._is_node = np.arange(self.size) - starts[sample] < self._lengths[sample]

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
        nodes, view = self._score_nodes(w, s)
        tables = np.empty((len(self._ends), 2, 2))
        for i, (a, b) in enumerate(pairwise(self._edge_start)):
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
            for i, (first, last) in enumerate(pairwise(self._edge_start))
        ]
        return np.concatenate([np.stack([1.0 - nodes, nodes], axis=1).ravel(), *tables])

    def describe(self, z):
        return super().describe(self._marginals_of(z))

    def hand_over(self, blocks, z):
        """Make a point the distributions of blocks, with the fewest differences: no worse dual."""
        nodes, differ = z[self._is_node], z[~self._is_node]
        total = nodes[self._ends].sum(axis=1)
        differ = np.minimum(differ, np.minimum(total, 2.0 - total))
        super().hand_over(blocks, self._marginals_of(self._joined(nodes, differ)))

    # ---- projections -----------------------------------------------------------------------------

    def diameters(self, geometry):
        return 0.5 * (self._lengths + np.diff(self._edge_start))

    def center(self):
        nodes = self._parts.truth.astype(np.float64)
        return self._joined(nodes, np.abs(nodes[self._ends[:, 0]] - nodes[self._ends[:, 1]]))

    def weight_of_entries(self):
        return self.weight[self._sample]

    def project(self, p, accuracy):
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
