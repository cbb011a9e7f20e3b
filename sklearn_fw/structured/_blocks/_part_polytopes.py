"""Convex hulls of the labellings of parts, see `_polytopes`."""

from functools import cache, cached_property

import numpy as np
from threadpoolctl import ThreadpoolController

from ..._core.validation import is_auto
from ..._kernels import lazy
from ...optim._frank_wolfe._corrective import HullProjection
from ...optim.domains import SparseAtom
from ...projections import project_simplex
from ._geometries import Point

block_gibbs = lazy("structured.block_gibbs")
blocks_kernels = lazy("structured.blocks")


@cache
def _libraries():
    return ThreadpoolController()


class PartPolytopes:
    """Marginals of nodes and, summed over edges of one kind, of edges.

    Flat vectors hold (n_nodes, n_states) numbers of all nodes and then (n_samples, n_tables,
    n_states, n_states) of all edges.

    Parameters
    ----------
    parts : _kernels.structured.parts.Parts
        Training set.
    marginals : _kernels.structured.parts.Marginals
        Arrays to work on.
    graph : Graph
        Edges.
    argmax : callable
        The oracle: best labelling of `PairwiseScores`.
    view, make_scratch, share : callable
        Those of `PartBlocks`.

    Notes
    -----
    Node marginals and counts of pairs determine features and loss, so nothing is lost by summing.
    """

    def __init__(self, parts, marginals, graph, argmax, *, view, make_scratch, share):
        self._parts, self._marginals = parts, marginals
        self._graph, self._argmax = graph, argmax
        self._view, self._make_scratch, self._share = view, make_scratch, share
        n_pairs = parts.n_tables * parts.cost.shape[1] ** 2
        self.weight, self.n_weights = parts.weight, parts.n_attributes * parts.n_columns + n_pairs
        self.size = marginals.nodes.size + marginals.tables.size
        self.n_calls = 0
        self._lengths = np.diff(parts.node_start)

    @cached_property
    def _n_pairs(self):
        """Number of edges of each kind of every sample, (n, n_tables)."""
        parts = self._parts
        one_hot = parts.edge_table[:, None] == np.arange(parts.n_tables)
        total = np.pad(np.cumsum(one_hot, axis=0, dtype=np.float64), ((1, 0), (0, 0)))
        return total[parts.edge_stop] - total[parts.edge_start]

    @cached_property
    def _hulls(self):
        return [HullProjection(_Corners(self, i)) for i in range(len(self.weight))]

    def resolve(self, geometry):
        """The geometry asked for; "auto" is "entropy" for forests, else "euclidean"."""
        has_marginals = self._graph.is_forest(self._lengths)
        if geometry == "entropy" and not has_marginals:
            raise ValueError(
                "z_geometry='entropy' needs marginals, which are known for graphs without cycles "
                "only: use z_geometry='euclidean'"
            )
        return ("entropy" if has_marginals else "euclidean") if is_auto(geometry) else geometry

    # ---- features and losses ---------------------------------------------------------------------

    def scores(self, w, s):
        """``F_i' w + s c_i`` as a flat vector."""
        out = np.empty_like(self._marginals.nodes)
        view = self._score_nodes(w, s, out)
        tables = np.broadcast_to(view.flat_tables, self._marginals.tables.shape)
        return np.concatenate([out.ravel(), tables.ravel()])

    def _score_nodes(self, w, s, out):
        view = self._view(np.ascontiguousarray(w))
        self._share(
            lambda first, last: block_gibbs.node_scores(
                self._parts, view, float(s), first, last, self._make_scratch().oracle, out
            )
        )
        return view

    def hand_over(self, blocks, z):
        """Make a point the distributions of blocks."""
        set_marginals(self._parts, blocks.marginals, z)
        blocks.refresh()

    def describe(self, z):
        """Psi and l of a flat vector."""
        set_marginals(self._parts, self._marginals, z)
        return self._psi(), float(self._marginals.loss.sum())

    def _psi(self):
        psi = np.zeros(self.n_weights)
        blocks_kernels.accumulate(
            self._parts, self._marginals, np.empty(0, np.int32), 1.0, self._view(psi),
            self._make_scratch().step,
        )  # fmt: skip
        return psi

    # ---- entropy ---------------------------------------------------------------------------------

    def gibbs(self, potentials, stored):
        """The point of marginals of potentials."""
        parts, here, values = self._parts, self._marginals, np.empty(len(self.weight))
        if potentials.array is None:
            view = self._score_nodes(potentials.w, potentials.s, here.nodes)
        else:
            view = self._view(np.ascontiguousarray(potentials.w))
            here.nodes[:] = potentials.array[: here.nodes.size].reshape(here.nodes.shape)

        def run(first, last):
            block_gibbs.set_to_gibbs(parts, here, view.tables, first, last, values)
            block_gibbs.node_losses(parts, here.nodes, first, last, here.loss)

        self._share(run)
        self.n_calls += len(self.weight)
        z = np.concatenate([here.nodes.ravel(), here.tables.ravel()]) if stored else None
        log_partition = float(self.weight @ values)
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
        """Largest divergence of a corner from the center, or a bound on it.

        The center is the uniform distribution for entropy, else the truth: points near a corner
        are means of few corners.
        """
        if geometry == "entropy":
            return self._lengths * np.log(self._parts.cost.shape[1])
        return self._lengths + (self._n_pairs**2).sum(axis=1)

    def center(self):
        """The truth."""
        self._marginals.nodes[:], self._marginals.tables[:] = 0.0, 0.0
        blocks_kernels.set_to_truth(self._parts, self._marginals)
        return np.concatenate([self._marginals.nodes.ravel(), self._marginals.tables.ravel()])

    def weight_of_entries(self):
        """p_i of every entry of a flat vector."""
        n_states, n_entries = self._parts.cost.shape[1], self._marginals.tables.shape[1]
        nodes = np.repeat(self.weight, self._lengths * n_states)
        return np.concatenate([nodes, np.repeat(self.weight, n_entries)])

    def project(self, p, accuracy):
        """Nearest marginals."""
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
                target = np.concatenate([nodes[here].ravel(), tables[i]])
                best, n_calls = self._hulls[i].project(target, accuracy)
                self.n_calls += n_calls
                z_nodes[here] = best[: length * n_states].reshape(-1, n_states)
                z_tables[i] = best[length * n_states :]
        return z

    def best_corner(self, i, s):
        """z(y) of the labelling of sample i with the largest ``<s, z(y)>``, as an atom."""
        parts, n_states, length = self._parts, self._parts.cost.shape[1], self._lengths[i]
        cut = length * n_states
        tables = s[cut:].reshape(parts.n_tables, n_states, n_states)
        first, n_edges = parts.edge_start[i], parts.edge_stop[i] - parts.edge_start[i]
        scores = self._graph.scores(i, s[:cut].reshape(length, n_states), tables)
        labels, _, bound = self._argmax(scores)
        labels = np.asarray(labels)
        edges = parts.edges[first : first + n_edges]
        kinds = parts.edge_table[first : first + n_edges]
        pairs = (kinds * n_states + labels[edges[:, 0]]) * n_states + labels[edges[:, 1]]
        counts = np.bincount(pairs)
        tables = np.flatnonzero(counts)
        ones = np.arange(length) * n_states + labels
        values = np.concatenate([np.ones(length), counts[tables]])
        atom = SparseAtom(s.size, np.concatenate([ones, cut + tables]), values)
        atom.bound = -bound
        return atom


class _Corners:
    """The polytope of one sample as a domain."""

    def __init__(self, polytopes, i):
        self.polytopes, self.i = polytopes, i

    def lmo(self, gradient):
        """The corner of smallest inner product."""
        return self.polytopes.best_corner(self.i, -gradient)


def set_marginals(parts, marginals, z):
    """Put a flat vector of `PartPolytopes`, and its losses, into the `Marginals`."""
    cut = marginals.nodes.size
    marginals.nodes[:] = z[:cut].reshape(marginals.nodes.shape)
    marginals.tables[:] = z[cut:].reshape(marginals.tables.shape)
    block_gibbs.node_losses(parts, marginals.nodes, 0, len(parts.weight), marginals.loss)
