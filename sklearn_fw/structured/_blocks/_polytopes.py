"""Convex hulls of the outputs of all samples, and the prox steps of saddle point methods on them.

The polytope ``Z_i`` of sample i has a corner z(y) for every output y. Features are ``F_i z`` and
the loss is ``<c_i, z> + c0_i``, so that a point z of all polytopes together has

    Psi(z) = sum_i p_i F_i (z(y_i) - z_i),        l(z) = sum_i p_i (<c_i, z_i> + c0_i)

Distances are ``sum_i p_i d_i``: p_i then cancels in prox steps, and what these add up are, for all
samples alike, *potentials* ``F_i' w + s c_i``, which one pair (w, s) describes.
"""

from abc import ABC, abstractmethod
from functools import cache
from typing import NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from ...optim._frank_wolfe._min_norm_point import HullProjection
from ...optim.domains import SparseAtom
from ...projections import project_simplex
from ._black_box import BlackBoxBlocks
from ._checked_model import CheckedPolytopes

__all__ = ["Entropy", "Euclidean", "ModelPolytopes", "PartPolytopes", "polytopes_of"]

# Methods that a model without part scores needs besides the four compulsory ones.
SHARED = ("z_size", "label_vector", "adjoint", "apply", "loss_vector", "z_diameter")
NEEDED = {"entropy": ("lmo", "log_potentials0", "marginals"), "euclidean": ("project",)}


class Potentials(NamedTuple):
    """What prox steps add up: ``F_i' w + s c_i`` for every sample."""

    w: np.ndarray
    s: float
    array: np.ndarray | None  # the sum itself, where it is stored


class Point(NamedTuple):
    """A point z of all polytopes."""

    psi: np.ndarray  # Psi(z)
    loss: float  # l(z)
    z: np.ndarray | None
    potentials: Potentials | None = None  # of points of `Entropy`, with ...
    log_partition: float = 0.0  # ... its mean over samples, less the potential of the truth


@cache
def _libraries():
    return ThreadpoolController()


def polytopes_of(blocks):
    """The convex hulls of the outputs of `Blocks`, whose lam and dual variables stay."""
    if isinstance(blocks, BlackBoxBlocks):
        return ModelPolytopes(
            blocks._model.model, blocks._samples, blocks.weight, blocks.n_weights
        )  # fmt: skip
    if blocks._parts.whole_cost > 0.0:
        raise NotImplementedError(
            "solver 'extragradient' needs a task_loss that is a sum over nodes, such as 'hamming'"
        )
    if blocks._parts.mix is not None or blocks._parts.n_own is not None:
        raise ValueError(
            "solver 'extragradient' needs one table of weights for each edge and nodes of one "
            "kind: take another solver, such as 'bcfw'"
        )
    dual = blocks._dual
    own = dual._replace(
        nodes=np.zeros_like(dual.nodes),
        tables=np.zeros_like(dual.tables),
        loss=np.zeros_like(dual.loss),
    )
    return PartPolytopes(
        blocks._parts, own, blocks._graph, blocks.oracle.argmax, view=blocks._view,
        make_scratch=blocks._make_scratch, share=blocks._share,
    )  # fmt: skip


# ---- geometries ----------------------------------------------------------------------------------


class Geometry(ABC):
    """Prox steps on polytopes.

    Parameters
    ----------
    polytopes : PartPolytopes or ModelPolytopes
        The polytopes.
    stored : bool
        Keep potentials and points of all samples as arrays instead of the pair (w, s) alone.

    Attributes
    ----------
    diameter : float
        Bound on the divergence of any point from the center, which has potentials zero.
    """

    def __init__(self, polytopes, stored):
        self.polytopes, self.stored = polytopes, stored
        self.diameter = float(polytopes.weight @ polytopes.diameters(self.name))

    def zero(self):
        """The potentials of the center."""
        size, n_weights = self.polytopes.size, self.polytopes.n_weights
        return Potentials(np.zeros(n_weights), 0.0, np.zeros(size) if self.stored else None)

    def plus(self, potentials, w, s):
        """Potentials with ``F_i' w + s c_i`` added."""
        array = potentials.array
        if array is not None:
            array = array + self.polytopes.scores(w, s)
        return Potentials(potentials.w + w, potentials.s + s, array)

    @abstractmethod
    def at(self, potentials):
        """The point z of largest ``<potentials, z> - divergence from the center``."""

    @abstractmethod
    def prox(self, point, w, s):
        """The z of largest ``<F_i' w + s c_i, z> - divergence from the point``."""

    @abstractmethod
    def divergence(self, a, b):
        """Divergence of a from b."""

    @abstractmethod
    def lipschitz(self, norm):
        """L with ``|Psi(a) - Psi(b)| <= L |a - b|`` in the norm dual to that of the weights.

        In the norm of z, divergences are at least ``|a - b|^2 / 2``.
        """


class Entropy(Geometry):
    """Relative entropy of distributions over outputs: prox steps are marginals."""

    name = "entropy"

    def at(self, potentials):
        """Marginals of the potentials."""
        return self.polytopes.gibbs(potentials, self.stored)

    def prox(self, point, w, s):
        """Marginals of the potentials of the point and of the step."""
        return self.at(self.plus(point.potentials, w, s))

    def divergence(self, a, b):
        """``<a' - b', z_a>`` less the difference of log-partitions, with potentials a' and b'."""
        change = b.potentials.w - a.potentials.w
        linear = change @ a.psi + (a.potentials.s - b.potentials.s) * a.loss
        return float(linear - a.log_partition + b.log_partition)

    def lipschitz(self, norm):
        """From the radii of the sets of features."""
        return float(np.sqrt(self.polytopes.weight @ self.polytopes.radii(norm) ** 2))


class Euclidean(Geometry):
    """Half the squared distance: prox steps are projections.

    ``accuracy`` bounds ``<p - z, z' - z>`` for the computed projection z of p and all z' of a
    polytope, where it is zero at the exact one.
    """

    name = "euclidean"

    def __init__(self, polytopes, stored):
        super().__init__(polytopes, stored)
        self.center, self.accuracy = polytopes.center(), 1e-9

    def at(self, potentials):
        """Projection of the center plus the potentials."""
        if potentials.s == 0.0:  # no step yet
            return Point(*self.polytopes.describe(self.center), self.center)
        step = potentials.array
        if step is None:
            step = self.polytopes.scores(potentials.w, potentials.s)
        return self._project(self.center + step)

    def prox(self, point, w, s):
        """Projection of the point plus the step."""
        return self._project(point.z + self.polytopes.scores(w, s))

    def _project(self, p):
        z = self.polytopes.project(p, self.accuracy)
        return Point(*self.polytopes.describe(z), z)

    def divergence(self, a, b):
        """Half the weighted squared distance."""
        # Threads of a product of vectors would cost more than they save.
        return 0.5 * float(np.sum(self.polytopes.weight_of_entries() * (a.z - b.z) ** 2))

    def lipschitz(self, norm):
        """Largest singular value of all features, which bounds the largest row as well ("l1").

        Thirty power iterations from a fixed random start; 2% are added for what they may lack.
        """
        polytopes = self.polytopes
        origin, _ = polytopes.describe(np.zeros(polytopes.size))
        w = np.random.RandomState(0).normal(size=polytopes.n_weights)
        square = 0.0
        for _ in range(30):
            length = np.linalg.norm(w)
            if length == 0.0:
                return 0.0
            w = origin - polytopes.describe(polytopes.scores(w / length, 0.0))[0]
            square = np.linalg.norm(w)
        return 1.02 * float(np.sqrt(square))


# ---- models with part scores ---------------------------------------------------------------------


class PartPolytopes:
    """Marginals of nodes and, summed over edges of one kind, of edges.

    Flat vectors hold (n_nodes, n_states) numbers of all nodes and then (n_samples, n_tables,
    n_states, n_states) of all edges.

    Parameters
    ----------
    parts : _kernels.structured.parts.Parts
        Training set.
    dual : _kernels.structured.parts.Dual
        With ``nodes``, ``tables`` and ``loss`` to work on.
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

    def __init__(self, parts, dual, graph, argmax, *, view, make_scratch, share):
        self._parts, self._dual, self._graph, self._argmax = parts, dual, graph, argmax
        self._view, self._make_scratch, self._share = view, make_scratch, share
        self.weight, self.n_weights = parts.weight, dual.v.rows.size + dual.v.flat_tables.size
        self.size = dual.nodes.size + dual.tables.size
        self.n_calls = 0
        self._lengths = np.diff(parts.node_start)
        one_hot = parts.edge_table[:, None] == np.arange(parts.n_tables)
        total = np.pad(np.cumsum(one_hot, axis=0, dtype=np.float64), ((1, 0), (0, 0)))
        self._n_pairs = total[parts.edge_stop] - total[parts.edge_start]  # (n, n_tables)
        self._hulls = [HullProjection(_Corners(self, i)) for i in range(len(parts.weight))]

    def resolve(self, geometry):
        """The geometry asked for; "auto" is "entropy" for forests, else "euclidean"."""
        has_marginals = self._graph.is_forest(self._lengths)
        if geometry == "entropy" and not has_marginals:
            raise ValueError(
                "z_geometry='entropy' needs marginals, which are known for graphs without cycles "
                "only: use z_geometry='euclidean'"
            )
        return ("entropy" if has_marginals else "euclidean") if geometry == "auto" else geometry

    # ---- features and losses ---------------------------------------------------------------------

    def scores(self, w, s):
        """``F_i' w + s c_i`` as a flat vector."""
        out = np.empty_like(self._dual.nodes)
        view = self._score_nodes(w, s, out)
        tables = np.broadcast_to(view.flat_tables, self._dual.tables.shape)
        return np.concatenate([out.ravel(), tables.ravel()])

    def _score_nodes(self, w, s, out):
        from ..._kernels.structured.block_gibbs import node_scores

        view = self._view(np.ascontiguousarray(w))
        self._share(
            lambda first, last: node_scores(
                self._parts, view, float(s), first, last, self._make_scratch(), out
            )
        )
        return view

    def hand_over(self, blocks, z):
        """Make a point the distributions of blocks."""
        set_marginals(self._parts, blocks._dual, z)
        blocks.refresh()

    def describe(self, z):
        """Psi and l of a flat vector."""
        set_marginals(self._parts, self._dual, z)
        return self._psi(), float(self._dual.loss.sum())

    def _psi(self):
        from ..._kernels.structured.blocks import accumulate

        psi = np.zeros(self.n_weights)
        accumulate(
            self._parts, self._dual, np.empty(0, np.int32), 1.0, self._view(psi),
            self._make_scratch(),
        )  # fmt: skip
        return psi

    # ---- entropy ---------------------------------------------------------------------------------

    def gibbs(self, potentials, stored):
        """The point of marginals of potentials."""
        from ..._kernels.structured.block_gibbs import node_losses, set_to_gibbs

        parts, dual, values = self._parts, self._dual, np.empty(len(self.weight))
        if potentials.array is None:
            view = self._score_nodes(potentials.w, potentials.s, dual.nodes)
        else:
            view = self._view(np.ascontiguousarray(potentials.w))
            dual.nodes[:] = potentials.array[: dual.nodes.size].reshape(dual.nodes.shape)

        def run(first, last):
            set_to_gibbs(parts, dual, view.tables, first, last, values)
            node_losses(parts, dual.nodes, first, last, dual.loss)

        self._share(run)
        self.n_calls += len(self.weight)
        z = np.concatenate([dual.nodes.ravel(), dual.tables.ravel()]) if stored else None
        log_partition = float(self.weight @ values)
        return Point(self._psi(), float(dual.loss.sum()), z, potentials, log_partition)

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
        from ..._kernels.structured.blocks import set_to_truth

        self._dual.nodes[:], self._dual.tables[:] = 0.0, 0.0
        set_to_truth(self._parts, self._dual)
        return np.concatenate([self._dual.nodes.ravel(), self._dual.tables.ravel()])

    def weight_of_entries(self):
        """p_i of every entry of a flat vector."""
        n_states, n_entries = self._parts.cost.shape[1], self._dual.tables.shape[1]
        nodes = np.repeat(self.weight, self._lengths * n_states)
        return np.concatenate([nodes, np.repeat(self.weight, n_entries)])

    def project(self, p, accuracy):
        """Nearest marginals."""
        n_states, cut = self._parts.cost.shape[1], self._dual.nodes.size
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
        labels = np.asarray(self._argmax(scores)[0])
        edges = parts.edges[first : first + n_edges]
        kinds = parts.edge_table[first : first + n_edges]
        pairs = (kinds * n_states + labels[edges[:, 0]]) * n_states + labels[edges[:, 1]]
        places, counts = np.unique(cut + pairs, return_counts=True)
        ones = np.arange(length) * n_states + labels
        values = np.append(np.ones(length), counts)
        return SparseAtom(s.size, np.append(ones, places), values)


class _Corners:
    """The polytope of one sample as a domain."""

    def __init__(self, polytopes, i):
        self.polytopes, self.i = polytopes, i

    def lmo(self, gradient):
        """The corner of smallest inner product."""
        return self.polytopes.best_corner(self.i, -gradient)


def set_marginals(parts, dual, z):
    """Put a flat vector of `PartPolytopes`, and its losses, into the arrays of a `Dual`."""
    from ..._kernels.structured.block_gibbs import node_losses

    cut = dual.nodes.size
    dual.nodes[:] = z[:cut].reshape(dual.nodes.shape)
    dual.tables[:] = z[cut:].reshape(dual.tables.shape)
    node_losses(parts, dual.nodes, 0, len(parts.weight), dual.loss)


# ---- other models --------------------------------------------------------------------------------


class ModelPolytopes:
    """Polytopes of a model that describes its outputs by vectors, as `MatchingModel` does.

    Parameters
    ----------
    model : object
        Has the methods named in ``SHARED``, and those in ``NEEDED`` for its geometry.
    samples : list of Sample
        Training set.
    weight : ndarray of shape (n,)
        p_i, positive, summing to one.
    n_weights : int
        Length of w.

    Notes
    -----
    Flat vectors hold the z of one sample after the other. For `Entropy` the model's ``marginals``
    must maximise ``<theta, z> - sum(z log z - z)``.
    """

    def __init__(self, model, samples, weight, n_weights):
        self._model, self._samples = CheckedPolytopes(model, n_weights), samples
        self.weight, self.n_weights, self.n_calls = weight, n_weights, 0
        self._require(SHARED)
        sizes = [self._model.z_size(sample) for sample in samples]
        self._start = np.cumsum([0, *sizes])
        self.size = int(self._start[-1])
        self._true_features = np.array([self._features_of(sample) for sample in samples])
        linear = [self._model.loss_vector(sample) for sample in samples]
        self._costs = np.concatenate([c for c, _ in linear])
        self._constants = np.array([c0 for _, c0 in linear])
        self._psi0 = weight @ self._true_features

    def _require(self, names):
        missing = [name for name in names if not callable(getattr(self._model.model, name, None))]
        if missing:
            raise TypeError(
                f"solver 'extragradient' needs a model with part scores, or with the methods of "
                f"MatchingModel: {type(self._model.model).__name__} lacks {', '.join(missing)}"
            )

    def _features_of(self, sample):
        """F_i z(y_i), for which the model has two ways that must agree."""
        model, phi = self._model, np.zeros(self.n_weights)
        phi[sample.phi.indices] = sample.phi.values
        z = model.label_vector(sample)
        c, c0 = model.loss_vector(sample)
        if not np.allclose(model.apply(sample, z), phi, rtol=1e-7, atol=1e-9):
            raise ValueError(
                f"apply(x, label_vector(x, y)) must equal joint_feature(x, y) in sample {sample.i}"
            )
        if not abs(c @ z + c0) <= 1e-9 * max(1.0, abs(c0)):
            raise ValueError(
                f"loss_vector(x, y) must give the truth of sample {sample.i} a loss of 0, got "
                f"{c @ z + c0}"
            )
        return phi

    def resolve(self, geometry):
        """The geometry asked for, or one that the model knows."""
        if geometry == "auto":
            knows = callable(getattr(self._model.model, "project", None))
            geometry = "euclidean" if knows or not self._knows("entropy") else "entropy"
        self._require(NEEDED[geometry])
        return geometry

    def _knows(self, geometry):
        return all(callable(getattr(self._model.model, name, None)) for name in NEEDED[geometry])

    def _of_each(self, z):
        return (z[a:b] for a, b in zip(self._start, self._start[1:]))

    # ---- features and losses ---------------------------------------------------------------------

    def scores(self, w, s):
        """``F_i' w + s c_i`` as a flat vector."""
        adjoint = [self._model.adjoint(sample, w) for sample in self._samples]
        return np.concatenate(adjoint) + s * self._costs

    def hand_over(self, blocks, z):
        """Make a point the distributions of blocks."""
        blocks.set_points(*self.describe_each(z))

    def describe(self, z):
        """Psi and l of a flat vector."""
        points, losses = self.describe_each(z)
        return self.weight @ points, float(self.weight @ losses)

    def describe_each(self, z):
        """``F_i (z(y_i) - z_i)`` and the loss of every sample."""
        points, losses = self._true_features.copy(), self._constants.copy()
        for i, (sample, part) in enumerate(zip(self._samples, self._of_each(z))):
            points[i] -= self._model.apply(sample, part)
            losses[i] += self._costs[self._start[i] : self._start[i + 1]] @ part
        return points, losses

    # ---- entropy ---------------------------------------------------------------------------------

    def gibbs(self, potentials, stored):
        """The point of marginals of potentials."""
        model, array = self._model, potentials.array
        if array is None:
            array = self.scores(potentials.w, potentials.s)
        z, values = np.empty(self.size), np.empty(len(self.weight))
        for i, (sample, theta) in enumerate(zip(self._samples, self._of_each(array))):
            theta = theta + model.log_potentials0(sample)
            part = model.marginals(sample, theta)
            z[self._start[i] : self._start[i + 1]] = part
            kept = part > 0.0  # the others are zero by underflow
            values[i] = part[kept] @ (theta[kept] - np.log(part[kept]) + 1.0)
        self.n_calls += len(self.weight)
        psi, loss = self.describe(z)
        truth = potentials.w @ self._psi0 - potentials.s * (self.weight @ self._constants)
        log_partition = float(self.weight @ values - truth)
        return Point(psi, loss, z if stored else None, potentials, log_partition)

    def radii(self, norm):
        """Square root of the largest mass times the largest column of F_i."""
        model, order = self._model, 2 if norm == "l2" else np.inf
        radii = np.zeros(len(self.weight))
        for i, sample in enumerate(self._samples):
            size = self._start[i + 1] - self._start[i]
            if size:
                unit, largest = np.zeros(size), 0.0
                for place in range(size):  # one column of F_i at a time: all are a huge matrix
                    unit[place] = 1.0
                    column = model.apply(sample, unit.copy())
                    unit[place] = 0.0
                    largest = max(largest, np.linalg.norm(column, order))
                mass = np.sum(model.lmo(sample, np.ones(size)))
                radii[i] = np.sqrt(mass) * largest
        return radii

    # ---- Euclidean -------------------------------------------------------------------------------

    def diameters(self, geometry):
        """Those of the model."""
        return np.array([self._model.z_diameter(sample, geometry) for sample in self._samples])

    def center(self):
        """The projection of zero."""
        return self.project(np.zeros(self.size), 1e-9)

    def weight_of_entries(self):
        """p_i of every entry of a flat vector."""
        return np.repeat(self.weight, np.diff(self._start))

    def project(self, p, accuracy):
        """Projections by the model."""
        self.n_calls += len(self.weight)
        tol = min(accuracy, 1e-9)
        pairs = zip(self._samples, self._of_each(p))
        return np.concatenate([self._model.project(sample, q, tol=tol) for sample, q in pairs])
