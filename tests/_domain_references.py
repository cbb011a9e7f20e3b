"""Vertices of small domains, listed, and the check of a domain against such a list."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog, minimize


def matchings(n_rows, n_columns, perfect=True):
    """Every 0/1 matrix with at most one 1 in each row and column, flat."""
    found = []
    for columns in itertools.product([None, *range(n_columns)], repeat=n_rows):
        used = [column for column in columns if column is not None]
        full = len(used) == min(n_rows, n_columns)
        if len(set(used)) == len(used) and (full or not perfect):
            matrix = np.zeros((n_rows, n_columns))
            for row, column in enumerate(columns):
                if column is not None:
                    matrix[row, column] = 1.0
            found.append(matrix.ravel())
    return np.array(found)


def pairings(nodes):
    """Every way to split a list into pairs."""
    if not nodes:
        yield []
        return
    first, *others = nodes
    for partner in others:
        for rest in pairings([node for node in others if node != partner]):
            yield [(first, partner), *rest]


def perfect_matchings(n_nodes):
    place = {pair: k for k, pair in enumerate(itertools.combinations(range(n_nodes), 2))}
    found = np.zeros((math.prod(range(1, n_nodes, 2)), len(place)))
    for row, pairing in zip(found, pairings(list(range(n_nodes))), strict=True):
        row[[place[pair] for pair in pairing]] = 1.0
    return found


def paths_of(graph, source=None, target=None):
    """Every path as its nodes and its edges, from any root to any leaf if none is given."""
    sources = [v for v in graph if not graph.in_degree(v)] if source is None else [source]
    targets = [v for v in graph if not graph.out_degree(v)] if target is None else [target]
    found, waiting = [], [([node], []) for node in sources]
    while waiting:
        nodes, edges = waiting.pop()
        if nodes[-1] in targets:
            found.append({"nodes": nodes, "edges": edges})
        for _, ahead in graph.out_edges(nodes[-1]):
            waiting.append(([*nodes, ahead], [*edges, (nodes[-1], ahead)]))
    return found


def matchings_of(graph, perfect):
    """Every set of edges that share no node, the empty one included if it need not be perfect."""
    edges, n_nodes = list(graph.edges), len(graph)
    sizes = [n_nodes // 2] if perfect else range(n_nodes // 2 + 1)
    if perfect and n_nodes % 2:
        return []
    chosen = itertools.chain(*[itertools.combinations(edges, size) for size in sizes])
    return [c for c in chosen if len({node for edge in c for node in edge}) == 2 * len(c)]


def is_combination(x, vertices):
    """Membership by a linear program."""
    found = linprog(
        np.zeros(len(vertices)), A_eq=np.vstack([vertices.T, np.ones(len(vertices))]),
        b_eq=np.append(x, 1.0),
    )  # fmt: skip
    return found.status == 0


def check_against(domain, vertices, rng, tol=0.0, n_points=4):
    """Answers, ties, diameter and membership against the list of vertices."""
    random = [*rng.normal(size=(3, domain.size)), *rng.integers(-1, 2, (4, domain.size))]
    for gradient in [*random, np.zeros(domain.size)]:
        gradient = gradient.astype(float)
        before, atom = gradient.copy(), domain.lmo(gradient)
        vertex, least = atom.to_array(), (vertices @ gradient).min()
        assert vertex.dtype == np.float64
        assert atom.dot(gradient) == pytest.approx(gradient @ vertex, abs=1e-12)
        assert gradient @ vertex == pytest.approx(least, abs=1e-12)
        assert np.any(np.all(np.abs(vertices - vertex) <= tol, axis=1))
        assert domain.lmo(list(gradient)).key == domain.lmo(8.0 * gradient).key == atom.key
        assert atom.bound is None or atom.bound <= least + 1e-12
        np.testing.assert_array_equal(gradient, before)
    if hasattr(domain, "diameter"):
        widest = np.linalg.norm(vertices[:, None] - vertices, axis=2).max()
        assert domain.diameter >= widest * (1 - 1e-15)
    if not hasattr(domain, "contains"):
        return
    assert all(domain.contains(vertex, tol=tol) for vertex in vertices)
    assert domain.contains(domain.start().to_array(), tol=tol)
    for stretch in (0.5, 0.95, 1.05, 1.5) * (n_points // 4):
        center, other = rng.dirichlet(np.full(len(vertices), 0.2), size=2) @ vertices
        x = center + stretch * (other - center)
        assert domain.contains(x, tol=1e-7) == is_combination(x, vertices), x


def least_on_simplex(value, slope, m):
    """The least value of a function of weights of sum one, by a solver for general constraints."""
    return minimize(
        value, np.full(m, 1.0 / m), jac=slope, bounds=[(0, 1)] * m, method="SLSQP",
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-15, "maxiter": 1000},
    ).fun  # fmt: skip
