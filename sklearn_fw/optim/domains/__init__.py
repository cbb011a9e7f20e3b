"""Compact convex sets that are known by the vertex that is lowest in a direction.

A domain is any object with the method

    ``lmo(gradient) -> atom``

a linear minimization oracle: for an array ``gradient`` of shape (size,) it returns a vertex v, and
no point of the set has a smaller ``<gradient, v>``. It must not change the gradient nor depend on
its length, and must return equal numbers whenever it returns the same vertex. So this is a complete
domain, though solvers need a ``start``::

    class Segment:
        def lmo(self, gradient):
            ends = np.array([[0.0, 1.0], [2.0, 0.0]])
            return ends[np.argmin(ends @ gradient)]

An atom is a plain array, as here, or an `Atom`: a point in the form in which it is short, such as
the places of few ones, which is never made dense. An oracle that may miss the lowest vertex answers
with an atom that has a ``bound``, below which no point falls; certificates then count with it. If
it can come closer with more work, set ``can_refine`` and let ``lmo`` take ``start``, an earlier
answer of its own or None, and ``accuracy``, how far the bound may be below the value, or None.

A subclass of `Domain` only sets ``size`` in addition. The domains below also have

- ``start()``, a vertex, the same in every call;
- ``contains(x, tol)``, whether the constraints hold up to ``tol``, where these can be checked;
- ``diameter``, the largest Euclidean distance of two points, or a bound where documented;
- ``is_polytope``, whether there are finitely many vertices;
- ``strong_convexity``, a b for which the set is strongly convex: the ball of radius
  ``b ||x - y||^2 / 8`` around the middle of two of its points lies in it; zero for polytopes;
- ``project(x)``, the nearest point, where that is cheap.

Where several vertices are lowest the answer is the same in every call: the first entry or row among
equals if nothing else is said.
"""

from ._base import Atom, DenseAtom, Domain, RankOneAtom, SparseAtom, UnitAtom, is_domain
from ._flows import DagPaths, Flows
from ._marginals import LocalPolytope, MarginalPolytope
from ._matchings import BipartiteMatchings, Matchings, SpanningTrees, adjacency
from ._orders import BasePolytope, OrderedPlacements, Permutahedron, StateChoices
from ._sets import Box, ConvexHull, L1Ball, L2Ball, LpBall, Product, Simplex, domain_of
from ._spectral import NuclearNormBall, Spectrahedron

__all__ = [
    "Atom",
    "BasePolytope",
    "BipartiteMatchings",
    "Box",
    "ConvexHull",
    "DagPaths",
    "Domain",
    "Flows",
    "L1Ball",
    "L2Ball",
    "LocalPolytope",
    "LpBall",
    "MarginalPolytope",
    "Matchings",
    "NuclearNormBall",
    "OrderedPlacements",
    "Permutahedron",
    "Product",
    "RankOneAtom",
    "Simplex",
    "SpanningTrees",
    "SparseAtom",
    "Spectrahedron",
    "StateChoices",
]
