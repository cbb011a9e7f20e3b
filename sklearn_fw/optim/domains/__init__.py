"""Compact convex sets that are known by the vertex that is lowest in a direction.

A domain is any object with the method

    ``lmo(gradient) -> vertex``

a linear minimisation oracle: both are arrays of shape (size,), and no point v of the set has a
smaller ``<gradient, v>`` than the vertex. It must not change the gradient nor depend on its length,
and must return equal numbers whenever it returns the same vertex. So this is a complete domain,
though solvers will ask where they shall start::

    class Segment:
        def lmo(self, gradient):
            ends = np.array([[0.0, 1.0], [2.0, 0.0]])
            return ends[np.argmin(ends @ gradient)]

Derive from `Domain`, and set ``size``, to be asked nothing more. The domains below have, besides,

- ``start()``, a vertex, the same in every call;
- ``contains(x, tol)``, whether the constraints hold up to ``tol``;
- ``diameter``, the largest Euclidean distance of two points;
- ``is_polytope``, whether there are finitely many vertices;
- ``strong_convexity``, the largest b for which the set is strongly convex: the ball of radius
  ``b ||x - y||^2 / 8`` around the middle of two of its points lies in it; zero for polytopes;
- ``project(x)``, the nearest point, where that is cheap.

Where several vertices are lowest the answer is the same in every call: the first entry or row among
equals if nothing else is said.
"""

from ._base import Domain
from ._matchings import BipartiteMatchings, PerfectMatchings
from ._sets import Atoms, Box, L1Ball, L2Ball, Product, Simplex

__all__ = [
    "Atoms",
    "BipartiteMatchings",
    "Box",
    "Domain",
    "L1Ball",
    "L2Ball",
    "PerfectMatchings",
    "Product",
    "Simplex",
]
