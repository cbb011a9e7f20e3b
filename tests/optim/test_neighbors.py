"""Neighbour graphs, and the rates that theory promises to who uses them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from _clustered import clustered
from sklearn_fw.optim.experimental._memorization import memorization_rate, memorization_step
from sklearn_fw.optim.experimental._neighbors import neighbor_graph

# ---- the graph -----------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    n=st.integers(2, 40),
    q=st.integers(1, 12),
    n_classes=st.integers(0, 4),
    method=st.sampled_from(["auto", "exact", "lsh", "rp_tree"]),
    duplicates=st.booleans(),
    sparse=st.booleans(),
)
def test_graph_is_what_the_theory_needs(n, q, n_classes, method, duplicates, sparse):
    q = min(q, n)
    rng = np.random.default_rng(n * 100 + q)
    X = rng.standard_normal((n, 3))
    if duplicates:
        X = X[rng.integers(0, 2, n)]
    y = None if n_classes == 0 else rng.integers(0, n_classes, n)
    graph = neighbor_graph(
        sp.csr_matrix(X) if sparse else X, y, q, method=method, random_state=0
    )  # fmt: skip
    rows = np.arange(n)
    assert np.all(graph.parents[:, 0] == rows)
    assert all(np.unique(parents).size == q for parents in graph.parents)
    assert graph.indptr[-1] == graph.children.size == n * q
    apart = np.linalg.norm(X[:, None] - X[graph.parents], axis=2)
    if y is not None:
        other = y[graph.parents] != y[:, None]
        sizes = np.bincount(y, minlength=n_classes)[y]
        assert np.array_equal(other.sum(axis=1), np.maximum(q - sizes, 0))
        apart[other] = np.inf
    np.testing.assert_allclose(graph.distances, apart, rtol=1e-12, atol=0)
    links = np.zeros((n, n))
    links[rows[:, None], graph.parents] = 1.0
    for i in range(n):
        children = graph.children[graph.indptr[i] : graph.indptr[i + 1]]
        assert np.array_equal(np.sort(children), np.flatnonzero(links[:, i]))
        found = graph.child_distances[graph.indptr[i] : graph.indptr[i + 1]]
        place = graph.parents[children] == i
        np.testing.assert_array_equal(found, graph.distances[children][place])


@pytest.mark.parametrize("sparse", [False, True])
def test_exact_neighbors_are_the_nearest(rng, sparse):
    X, y = rng.standard_normal((60, 4)), rng.integers(0, 2, 60)
    graph = neighbor_graph(sp.csr_matrix(X) if sparse else X, y, 5, method="exact")
    apart = np.linalg.norm(X[:, None] - X, axis=2)
    apart[y[:, None] != y] = np.inf
    nearest = np.sort(apart, axis=1)[:, :5]
    np.testing.assert_allclose(np.sort(graph.distances, axis=1), nearest, rtol=1e-12)


@pytest.mark.parametrize(
    ("method", "sparse", "recall"),
    [("rp_tree", False, 0.9), ("lsh", False, 0.7), ("rp_tree", True, 0.9), ("lsh", True, 0.7)],
)
def test_searches_find_most_neighbors(method, sparse, recall):
    X, y = clustered()
    exact = neighbor_graph(X, y, 20, method="exact").parents
    X = sp.csr_matrix(X) if sparse else X
    found = neighbor_graph(X, y, 20, method=method, random_state=0).parents
    assert np.mean([np.isin(a, b).mean() for a, b in zip(exact, found)]) >= recall


def test_graph_of_the_user(rng):
    X = rng.standard_normal((30, 3))
    exact = neighbor_graph(X, None, 4, method="exact")
    index = NearestNeighbors().fit(X)
    for given_graph in [exact, exact.parents, exact.parents.tolist(), index]:
        graph = neighbor_graph(X, None, 4, method=given_graph)
        assert np.array_equal(graph.parents, exact.parents)
    others = (np.arange(30)[:, None] + np.arange(1, 4)) % 30
    assert np.array_equal(neighbor_graph(X, None, 3, method=others).parents[:, 0], np.arange(30))
    assert np.array_equal(others[:, 0], (np.arange(30) + 1) % 30)  # not changed


@pytest.mark.parametrize(
    ("method", "q", "message"),
    [
        ("near", 2, "neighbors must be one of 'auto'"),
        ("auto", 5, "more than the number of rows, 4"),
        (np.zeros((4, 2)), 2, r"integers of shape \(4, n_neighbors\)"),
        (np.zeros((3, 2), int), 2, "must hold row numbers"),
        (np.full((4, 2), 4), 2, "row numbers from 0 to 3"),
        (np.full((4, 3), 1), 2, "twice"),
    ],
)
def test_graph_errors(method, q, message):
    with pytest.raises(ValueError, match=message):
        neighbor_graph(np.eye(4), None, q, method=method)


# ---- theory --------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.floats(1e-3, 1e3))
def test_steps_and_rates_of_the_theorems(K):
    a = np.linspace(1e-6, 1 - 1e-6, 200_001)
    rates = memorization_rate(K, 20, 5000, a)
    star, tilde = memorization_step(K), memorization_step(K, "shared")
    best = memorization_rate(K, 20, 5000, star)
    assert rates.max() <= best * (1 + 1e-9)
    assert a[np.argmax(rates)] == pytest.approx(star, abs=2e-5)
    assert best == pytest.approx(20 / 5000 * 2 / (1 + K + np.sqrt(1 + K * K)))
    universal = memorization_rate(K, 20, 5000, memorization_step(K, "universal"))
    assert universal >= (2 - np.sqrt(2)) * best
    assert 2 / 3 <= tilde / star <= 1
    # The conditions of Lemma 3 (c = 1) hold with equality at the optimal step.
    sigma = 1 - star / 2
    assert K * sigma / (K + 2 * sigma) == pytest.approx(star / 2)


def test_ratio_of_the_steps_falls():
    K = np.logspace(-3, 3, 50)
    ratio = memorization_step(K, "shared") / memorization_step(K)
    assert np.all(np.diff(ratio) < 0)
    found = memorization_step(np.array([1e-3, 1, 10]), "shared")
    found /= memorization_step(np.array([1e-3, 1, 10]))
    np.testing.assert_allclose(found, [0.9995, 0.748, 0.671], atol=5e-4)
    with pytest.raises(ValueError, match="rule must be one of"):
        memorization_step(1.0, "best")
