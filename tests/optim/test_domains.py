"""Domains against the lists of their vertices, linear programs and optimality conditions."""

import itertools
import pickle
import re

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from _domain_references import check_against, matchings, perfect_matchings
from _submodular import BASES
from sklearn_fw.optim.domains import (
    BipartiteMatchings,
    Box,
    ConvexHull,
    L1Ball,
    L2Ball,
    LpBall,
    MarginalPolytope,
    Matchings,
    Permutahedron,
    Product,
    Simplex,
    SpanningTrees,
)

TRIANGLE = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.5, 0.25]])


def unit_vectors(size, radius=1.0):
    return radius * np.eye(size)


def signed_vectors(size, radius=1.0):
    return np.vstack([unit_vectors(size, radius), unit_vectors(size, -radius)])


def vertices(lower, upper):
    return np.array(list(itertools.product(*zip(lower, upper))))


def products(*factors):
    return np.array([np.concatenate(parts) for parts in itertools.product(*factors)])


CYCLE = [(0, 1), (1, 2), (2, 0)]


def forests(n_nodes):
    """Indicators of all trees of a complete graph."""
    edges = list(itertools.combinations(range(n_nodes), 2))
    chosen = itertools.combinations(range(len(edges)), n_nodes - 1)
    trees = [c for c in chosen if nx.is_tree(nx.Graph([edges[e] for e in c]))]
    trees = [c for c in trees if len({n for e in c for n in edges[e]}) == n_nodes]
    return np.array([np.isin(np.arange(len(edges)), c) for c in trees], dtype=float)


def labelings(n_states, edges):
    """Indicators of all labelings: states of nodes, then pairs of states of edges."""
    found = []
    for labels in itertools.product(*map(range, n_states)):
        parts = [np.arange(k) == label for k, label in zip(n_states, labels)]
        for a, b in edges:
            parts.append(np.outer(parts[a], parts[b]).ravel())
        found.append(np.concatenate(parts))
    return np.array(found, dtype=float)


# Domain and all its vertices.
POLYTOPES = {
    "simplex": (Simplex(4), unit_vectors(4)),
    "simplex of radius 2": (Simplex(3, radius=2.0), unit_vectors(3, 2.0)),
    "simplex of one": (Simplex(1), unit_vectors(1)),
    "l1 ball": (L1Ball(3, radius=1.5), signed_vectors(3, 1.5)),
    "l1 ball of one": (L1Ball(1), signed_vectors(1)),
    "box": (Box([-1.0, 0.0, 2.0], [1.0, 0.5, 2.0]), vertices([-1, 0, 2], [1, 0.5, 2])),
    "cube": (Box(0.0, 1.0, size=4), vertices([0] * 4, [1] * 4)),
    "atoms": (ConvexHull(TRIANGLE), TRIANGLE),
    "sparse atoms": (ConvexHull(sparse.csr_array(TRIANGLE)), TRIANGLE),
    "permutations": (BipartiteMatchings((3, 3)), matchings(3, 3)),
    "few rows": (BipartiteMatchings((2, 4)), matchings(2, 4)),
    "few columns": (BipartiteMatchings((3, 2)), matchings(3, 2)),
    "one pair": (BipartiteMatchings((1, 1)), matchings(1, 1)),
    "any matching": (BipartiteMatchings((2, 3), perfect=False), matchings(2, 3, False)),
    "one pair or none": (BipartiteMatchings((1, 1), perfect=False), matchings(1, 1, False)),
    "two nodes": (Matchings(2, perfect=True), perfect_matchings(2)),
    "four nodes": (Matchings(4, perfect=True), perfect_matchings(4)),
    "six nodes": (Matchings(6, perfect=True), perfect_matchings(6)),
    "product": (
        Product(Simplex(2), Box(-1.0, 1.0, size=2), Matchings(4, perfect=True)),
        products(unit_vectors(2), vertices([-1, -1], [1, 1]), perfect_matchings(4)),
    ),
}
POLYTOPES |= {
    "trees": (SpanningTrees(list(itertools.combinations(range(4), 2)), 4), forests(4)),
    "chain": (
        MarginalPolytope([2, 3, 1], [(0, 1), (2, 1)]),
        labelings([2, 3, 1], [(0, 1), (2, 1)]),
    ),
    "cycle": (MarginalPolytope([2, 2, 2], CYCLE), labelings([2, 2, 2], CYCLE)),
    "cycle by trying": (
        MarginalPolytope([2, 3, 2], CYCLE, "enumeration"),
        labelings([2, 3, 2], CYCLE),
    ),
}

POLYTOPES |= BASES


@pytest.mark.parametrize("name", POLYTOPES)
def test_polytopes(name, rng):
    domain, vertices = POLYTOPES[name]
    check_against(domain, vertices, rng, n_points=20)
    domain.start().to_array()[:] = 7.0
    assert np.any(np.all(vertices == domain.start().to_array(), axis=1))
    assert domain.is_polytope
    assert domain.strong_convexity == 0.0
    assert f"size={domain.size}" in repr(domain) or "Product(" in repr(domain)
    again = pickle.loads(pickle.dumps(domain))
    gradient = np.arange(domain.size) - 1.0
    assert again.lmo(gradient).key == domain.lmo(gradient).key


# ---- shapes --------------------------------------------------------------------------------------


def test_ties_go_to_the_first():
    for domain, gradient, vertex in [
        (Simplex(4), [1, 0, 0, 1], [0, 1, 0, 0]),
        (L1Ball(3), [1, -2, 2], [0, 1, 0]),
        (L1Ball(2), [0, 0], [1, 0]),
        (L2Ball(2, 3.0), [0, 0], [3, 0]),
        (Box(-1, 2, size=3), [0.0, -0.0, -1], [-1, -1, 2]),
        (LpBall(2, 3.0, 3.0), [0, 0], [3, 0]),
        (LpBall(2, 2.0), [-0.0, 0.5], [0, -1]),
        (ConvexHull([[1, 1], [1, 1], [0, 2]]), [0, 0], [1, 1]),
        (Matchings(3), [0, 0, 0], [0, 0, 0]),
        (BipartiteMatchings((2, 2), perfect=False), [0, 0, 0, -1], [0, 0, 0, 1]),
        (SpanningTrees([(0, 1), (1, 2), (0, 2)], 3), [0, 0, 0], [1, 1, 0]),
    ]:
        np.testing.assert_array_equal(domain.lmo(gradient).to_array(), vertex)


# ---- the ball, which has no list of vertices -----------------------------------------------------


@pytest.mark.parametrize("p", [1.0001, 1.3, 2.0, 3.0, 100.0, 1e6])
def test_lp_balls(p, rng):
    ball, dual = LpBall(4, p, radius=2.0), p / (p - 1.0)
    for gradient in [*rng.normal(size=(5, 4)), np.array([0.0, -1.0, 0.0, 1.0])]:
        vertex = ball.lmo(gradient).to_array()
        assert np.linalg.norm(vertex / 2.0, p) == pytest.approx(1.0, rel=1e-12)
        largest = np.abs(gradient).max()  # of which large powers do not overflow
        expected = -2.0 * largest * np.linalg.norm(gradient / largest, dual)
        assert gradient @ vertex == pytest.approx(expected, rel=1e-12)
        assert ball.contains(vertex)
        assert not ball.contains(1.001 * vertex)
        for scale in (2.0**-900, 2.0**900):
            np.testing.assert_array_equal(ball.lmo(scale * gradient).to_array(), vertex)
    if p == 2.0:
        expected = L2Ball(4, radius=2.0).lmo(gradient).to_array()
        np.testing.assert_allclose(vertex, expected, rtol=1e-15)
    assert not ball.is_polytope
    # Two points that are as far from each other as any.
    far = np.full(4, 2.0 * 4 ** (-1 / p)) if p > 2.0 else np.array([2.0, 0, 0, 0])
    assert ball.diameter == pytest.approx(2.0 * np.linalg.norm(far), rel=1e-12)


@pytest.mark.parametrize("ball", [L2Ball(3, 2.0), *[LpBall(3, p, 2.0) for p in (1.2, 1.7, 2.0)]])
def test_balls_are_strongly_convex(ball, rng):
    """The ball around the middle of two points of the boundary lies inside."""
    slack, p = [], getattr(ball, "p", 2.0)
    for _ in range(300):
        x, y = (ball.lmo(gradient).to_array() for gradient in rng.normal(size=(2, 3)))
        around = ball.strong_convexity * np.sum((x - y) ** 2) / 8
        direction = rng.normal(size=3)
        direction *= around / np.linalg.norm(direction)
        assert ball.contains((x + y) / 2 + direction, tol=1e-12)
        slack.append(2.0 - np.linalg.norm((x + y) / 2, p) - around)
    if p == 2.0:
        assert min(slack) >= -1e-12
        assert min(slack) < 1e-3  # of points close to each other: no larger constant will do
    assert LpBall(3, 2.5).strong_convexity == 0.0


# ---- projections ---------------------------------------------------------------------------------

PROJECTABLE = [
    Simplex(4),
    Simplex(3, radius=2.0),
    L1Ball(4, radius=1.5),
    L2Ball(3, radius=2.0),
    Box([-1.0, 0.0, 2.0], [1.0, 0.5, 2.0]),
    Permutahedron([3.0, 1.0, 0.0, 0.0]),
    Product(Simplex(3), L2Ball(2), Box(0.0, 1.0, size=1)),
]


@pytest.mark.parametrize("domain", PROJECTABLE, ids=repr)
def test_projection_is_the_nearest_point(domain, rng):
    for x in rng.normal(scale=2.0, size=(20, domain.size)):
        nearest = domain.project(x)
        assert domain.contains(nearest)
        # No point of the set lies further in the direction of x.
        assert (x - nearest) @ (domain.lmo(nearest - x).to_array() - nearest) <= 1e-12
    inside = 0.5 * (domain.start().to_array() + domain.lmo(np.ones(domain.size)).to_array())
    np.testing.assert_allclose(domain.project(inside), inside, rtol=0, atol=1e-15)


# ---- a domain of one's own -----------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_hulls_of_all_sizes(scale, rng):
    """Tolerances of what looks for the weights do not decide, nor do very small weights."""
    triangle = ConvexHull(scale * (np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]) + 0.25))
    for weights in rng.dirichlet(np.full(3, 0.1), size=50):
        x = weights @ triangle.points
        assert triangle.contains(x, tol=1e-14 * scale)
        beyond = [-1e-6, weights[1] + weights[0] + 1e-6, weights[2]] @ triangle.points
        assert not triangle.contains(beyond, tol=1e-7 * scale)
    assert all(triangle.contains(point, tol=0.0) for point in triangle.points)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: LpBall(2, 1.0), ValueError, "p must be above 1, got 1.0: L1Ball is the ball of"),
        (lambda: ConvexHull(sparse.csr_array((0, 2))), ValueError, "a minimum of 1 is required"),
        (lambda: Box(0, 1), ValueError, "size must be given when lower and upper are numbers"),
        (lambda: Box([0, 0], [1, 1, 1]), ValueError, "have length size, got (2,) and (3,)"),
        (lambda: Box([0], [np.inf]), ValueError, "must be finite, else the box is not bounded"),
        (lambda: Box([0, 2], [1, 1]), ValueError, "lower must not be above upper anywhere"),
        (lambda: SpanningTrees([(1, 1)], 3), ValueError, "join two different nodes, got (1, 1)"),
        (lambda: MarginalPolytope([2, 0], []), ValueError, "a positive integer for each node"),
        (lambda: MarginalPolytope([2, 2], [(0, 2)]), ValueError, "edges must name nodes 0 to 1"),
        (lambda: BipartiteMatchings(2), ValueError, "shape must be (n_rows, n_columns), got 2"),
        (lambda: Product(), ValueError, "Product needs at least one domain"),
        (lambda: Product(Simplex(2), 3), ValueError, "3 has no size or no method lmo"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_factors_cannot_write_to_what_a_product_is_given():
    class Writes(Simplex):
        def lmo(self, gradient):
            vertex = super().lmo(gradient)
            gradient[...] = 7.0
            return vertex

        def project(self, x):
            return self.lmo(x)

        def contains(self, x, tol=1e-9):
            return bool(self.lmo(x).to_array().any())

    x = np.array([1.0, -2.0, 0.5, -1.0])
    product = Product(Writes(2), Writes(2))
    np.testing.assert_array_equal(product.lmo(x).to_array(), [0.0, 1.0, 0.0, 1.0])
    assert product.contains(x)
    product.project(x)
    np.testing.assert_array_equal(x, [1.0, -2.0, 0.5, -1.0])
