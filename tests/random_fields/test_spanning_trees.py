"""Edge probabilities of spanning trees against enumeration, exact fractions and networkx."""

import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from sklearn_fw.optim.domains import SpanningTrees, _matchings
from sklearn_fw.random_fields import PairwiseMRF, _spanning_trees, spanning_tree_probabilities
from sklearn_fw.random_fields._spanning_trees import check_edge_probabilities, edge_coupling_weights


def complete(n):
    return np.array(list(itertools.combinations(range(n), 2)))


def grid(n_rows, n_columns):
    return np.array(
        list(nx.convert_node_labels_to_integers(nx.grid_2d_graph(n_rows, n_columns)).edges)
    )


# (edges, number of variables)
GRAPHS = {
    "K4": (complete(4), 4),
    "turned_around": ([(3, 0), (1, 0), (2, 1), (3, 1)], 4),
    "bridge_between_triangles": ([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)], 6),
    "two_components_and_isolated": ([(0, 1), (1, 4), (0, 4), (2, 6), (6, 3), (3, 2), (4, 5)], 8),
    "double_edge": ([(0, 1), (1, 2), (1, 0), (0, 2), (2, 3)], 4),
    "tree": ([(0, 3), (3, 1), (3, 2), (4, 2)], 5),
    "one_edge": ([(1, 0)], 2),
    "no_edge": (np.empty((0, 2), np.int64), 3),
}


def all_forests(edges, n_variables):
    """Indicators of all maximal sets of edges without a cycle: (n_forests, n_edges)."""
    edges = [tuple(edge) for edge in np.asarray(edges).tolist()]
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(n_variables))
    graph.add_edges_from(edges)
    rank = n_variables - nx.number_connected_components(graph)
    forests = []
    for chosen in itertools.combinations(range(len(edges)), rank):
        part = nx.MultiGraph()
        part.add_nodes_from(range(n_variables))
        part.add_edges_from(edges[e] for e in chosen)
        if nx.is_forest(part):
            forests.append(np.isin(np.arange(len(edges)), chosen))
    return np.array(forests)


def enumerated(edges, n_variables, weights):
    forests = all_forests(edges, n_variables)
    probability = np.where(forests, weights, 1.0).prod(axis=1)
    return probability @ forests / probability.sum()


def tree_weight(edges, n_variables, weights):
    """The sum over spanning trees of the products of their weights, as a fraction."""
    A = [[Fraction(0)] * n_variables for _ in range(n_variables)]
    for (i, j), w in zip(edges.tolist(), weights):
        A[i][i] += w
        A[j][j] += w
        A[i][j] -= w
        A[j][i] -= w
    determinant = Fraction(1)  # of the matrix without its last row and column
    for k in range(n_variables - 1):
        determinant *= A[k][k]
        for r in range(k + 1, n_variables - 1):
            factor = A[r][k] / A[k][k]
            A[r] = [x - factor * y for x, y in zip(A[r], A[k])]
    return determinant


class TestMatrixTree:
    @pytest.mark.parametrize("name", GRAPHS)
    def test_equals_enumeration(self, name, rng):
        edges, n = GRAPHS[name]
        for _ in range(5):
            weights = rng.lognormal(sigma=2, size=len(edges))
            rho = spanning_tree_probabilities(edges, n, weights)
            np.testing.assert_allclose(rho, enumerated(edges, n, weights), rtol=1e-12)
            assert rho.shape == (len(edges),)
            assert rho.dtype == np.float64

    @pytest.mark.parametrize("edges, n", [(grid(3, 3), 9), (complete(6), 6)], ids=["grid", "K6"])
    def test_unequal_weights_cost_no_digits(self, edges, n, rng):
        weights = [Fraction(w) for w in 10.0 ** rng.uniform(-6, 0, len(edges))]
        weights[0], weights[-1] = Fraction(1), Fraction(1e-6)
        rho = spanning_tree_probabilities(edges, n, [float(w) for w in weights])
        total = tree_weight(edges, n, weights)
        for e, p in enumerate(rho):
            without = tree_weight(edges, n, [w * (f != e) for f, w in enumerate(weights)])
            assert p == pytest.approx(float(1 - without / total), rel=1e-13)

    def test_large_grid(self, rng):
        edges = grid(100, 100)
        weights = 10.0 ** rng.uniform(-6, 0, len(edges))
        rho = spanning_tree_probabilities(edges, 10_000, weights)
        assert rho.sum() == pytest.approx(9999, rel=1e-13)
        assert rho.min() > 0
        assert rho.max() <= 1
        # In the middle of a large grid with equal weights all edges are alike.
        middle = spanning_tree_probabilities(edges, 10_000)[abs(edges - 5050).max(axis=1) < 5]
        np.testing.assert_allclose(middle, 0.5, rtol=0, atol=1e-3)

    def test_no_edge_gets_probability_zero(self):
        triangle = complete(3)
        for smallest in (0.0, 1e-9):
            rho = spanning_tree_probabilities(triangle, 3, [2.0, smallest, 2.0])
            np.testing.assert_allclose(rho, enumerated(triangle, 3, [1.0, 1e-6, 1.0]), rtol=1e-12)
        rho = spanning_tree_probabilities(triangle, 3, np.zeros(3))
        np.testing.assert_allclose(rho, 2 / 3, rtol=1e-13)

    @pytest.mark.parametrize(
        "edges, n, weights, message",
        [
            ([(0, 3)], 3, None, "edges must name variables 0 to 2, got 0 to 3"),
            ([(1, 1)], 3, None, r"edges must join two different variables, got \(1, 1\)"),
            ([(0, 1, 2)], 3, None, "edges must be integers of shape"),
            ([(0, 1)], 0, None, "n_variables == 0"),
            ([(0, 1)], 2, [1.0, 2.0], r"weights.shape == \(2,\), expected \(1,\)"),
            ([(0, 1)], 2, [-1.0], "weights must not be negative"),
            ([(0, 1)], 2, [np.inf], "weights must be finite"),
            ([(0, 1)], 2, [np.nan], "weights must be finite, got NaN"),
        ],
    )
    def test_wrong_input_is_refused(self, edges, n, weights, message):
        with pytest.raises(ValueError, match=message):
            spanning_tree_probabilities(edges, n, weights)
        with pytest.raises(ValueError, match="n_trees == 0, must be >= 1"):
            spanning_tree_probabilities([(0, 1)], 2, n_trees=0)


class TestSampled:
    def test_distribution_is_that_of_random_orders(self):
        edges, n = GRAPHS["bridge_between_triangles"]
        edges = [*edges[:4], (1, 3)]
        orders = list(itertools.permutations(range(len(edges))))
        counts = np.zeros(len(edges))
        for order in orders:
            counts += SpanningTrees(edges, n).lmo(np.argsort(order)).to_array()
        expected = counts / len(orders)
        # Not the uniform law on trees, which gives 1/2 to the edge (1, 2).
        np.testing.assert_allclose(expected[1], 8 / 15, rtol=1e-12)
        found = spanning_tree_probabilities(edges, n, n_trees=20_000, random_state=0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=4 * 0.5 / np.sqrt(20_000))

    def test_properties(self, monkeypatch):
        edges, n = GRAPHS["two_components_and_isolated"]
        rho = spanning_tree_probabilities(edges, n, n_trees=50, random_state=3)
        assert rho.sum() == pytest.approx(n - 3, rel=1e-13)
        assert rho[-1] == 1.0
        np.testing.assert_array_equal(rho * 50, np.round(rho * 50))
        assert check_edge_probabilities(rho, edges, n) is not rho
        # The batches that are in memory at a time change nothing.
        monkeypatch.setattr(_spanning_trees, "ORDERS_AT_ONCE", 20)
        again = spanning_tree_probabilities(edges, n, n_trees=50, random_state=3)
        np.testing.assert_array_equal(again, rho)
        none = spanning_tree_probabilities(*GRAPHS["no_edge"], n_trees=9, random_state=0)
        assert none.shape == (0,)


def is_tree_point(rho, edges, n_variables):
    """Membership in the spanning tree polytope of a connected graph, by all sets of variables."""
    edges = np.asarray(edges)
    members = np.array(list(itertools.product([False, True], repeat=n_variables)))[1:]
    inside = members[:, edges].all(axis=2) @ rho
    return abs(rho.sum() - n_variables + 1) < 1e-6 and np.all(
        inside <= members.sum(axis=1) - 1 + 1e-6
    )


class TestCheck:
    @pytest.mark.parametrize("name", GRAPHS)
    def test_mixtures_of_trees_pass(self, name, rng):
        edges, n = GRAPHS[name]
        forests = all_forests(edges, n)
        for forest in forests:
            np.testing.assert_array_equal(check_edge_probabilities(forest, edges, n), forest)
        for _ in range(20):
            rho = rng.dirichlet(np.full(len(forests), 0.3)) @ forests
            check_edge_probabilities(rho, edges, n)

    @pytest.mark.parametrize("largest", [0, 500])
    def test_equals_all_sets(self, largest, rng, monkeypatch):
        monkeypatch.setattr(_matchings, "EXACT_CHECK_MAX_NODES", largest)
        edges, n = np.array([*complete(4), (3, 4), (4, 5), (5, 3), (0, 6), (6, 4)]), 7
        forests = all_forests(edges, n)
        verdicts = []
        for _ in range(200):
            rho = rng.dirichlet(np.full(len(forests), 0.1)) @ forests
            e, f = rng.choice(len(edges), 2, replace=False)
            step = 0.5 * min(rho[e], 1 - rho[f])
            rho[e], rho[f] = rho[e] - step, rho[f] + step
            truth = is_tree_point(rho, edges, n)
            try:
                check_edge_probabilities(rho, edges, n)
                verdicts.append((truth, True))
            except ValueError:
                verdicts.append((truth, False))
        assert {truth for truth, _ in verdicts} == {True, False}
        assert (True, False) not in verdicts  # nothing right is refused
        if largest:
            assert (False, True) not in verdicts
        else:
            assert (False, False) in verdicts

    @pytest.mark.parametrize(
        "rho, message",
        [
            ([1.2, 0.4, 0.4], "polytope: .* these sum to 2, from 0.4 to 1.2; use 'matrix_tree'"),
            ([-0.2, 1.0, 1.0], "polytope: .* these sum to 1.8, from -0.2 to 1; "),
            ([0.5, 0.5, 0.5], "probabilities that sum to 2, .* these sum to 1.5"),
            ([1.0, 1.0], r"rho_init.shape == \(2,\), expected \(3,\)"),
            ([1.0, np.nan, 1.0], "rho_init must be finite, got NaN"),
        ],
    )
    def test_messages(self, rho, message):
        with pytest.raises(ValueError, match=message):
            check_edge_probabilities(rho, complete(3), 3)

    def test_rounding_is_forgiven(self):
        rho = check_edge_probabilities([1 + 1e-9, 1 - 1e-9], [(0, 1), (1, 2)], 3)
        assert rho[0] == 1.0


class TestCouplingWeights:
    def test_any_shape(self, rng):
        sizes = [2, 3, 4]
        edges = [(0, 1), (1, 2), (2, 0)]
        unary = [rng.normal(size=k) for k in sizes]
        tables = [rng.normal(size=(sizes[i], sizes[j])) for i, j in edges]
        weights = edge_coupling_weights(PairwiseMRF(unary, edges, tables))
        for table, weight in zip(tables, weights):
            # The part that no potentials of single variables can express, by least squares.
            k_i, k_j = table.shape
            single = np.hstack(
                [np.kron(np.eye(k_i), np.ones((k_j, 1))), np.kron(np.ones((k_i, 1)), np.eye(k_j))]
            )
            rest = table.ravel() - single @ np.linalg.lstsq(single, table.ravel())[0]
            assert weight == pytest.approx(2 * np.linalg.norm(rest), rel=1e-12)
        moved = [t + rng.normal(size=(len(t), 1)) + rng.normal(size=t.shape[1]) for t in tables]
        again = edge_coupling_weights(PairwiseMRF(unary, edges, moved))
        np.testing.assert_allclose(again, weights, rtol=1e-12)

    def test_zero_and_none(self):
        independent = np.add.outer([0.0, 1.0, 5.0], [2.0, -1.0, 0.5])
        mrf = PairwiseMRF(np.zeros((2, 3)), [(0, 1)], [independent])
        np.testing.assert_allclose(edge_coupling_weights(mrf), [0.0], rtol=0, atol=1e-14)
        assert edge_coupling_weights(PairwiseMRF(np.zeros((2, 3)))).shape == (0,)

    def test_hard_constraints(self):
        table = [[1.0, -np.inf], [0.0, 1.0]]
        mrf = PairwiseMRF(np.zeros((2, 2)), [(0, 1)], [table])
        np.testing.assert_allclose(edge_coupling_weights(mrf), [1 + 1 + 29 - 0], rtol=1e-12)
        mrf = PairwiseMRF(np.zeros((2, 2)), [(0, 1)], [np.full((2, 2), -np.inf)])
        with pytest.raises(ValueError, match="table of edge 0 is -inf everywhere"):
            edge_coupling_weights(mrf)
