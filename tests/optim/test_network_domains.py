"""Paths, flows and matchings of graphs against the lists of all of them."""

import itertools
import pickle
import re

import networkx as nx
import numpy as np
import pytest

from _domain_references import check_against, is_combination, matchings_of, paths_of
from sklearn_fw.optim.domains import DagPaths, Flows, Matchings

DIAMOND = nx.DiGraph([("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t")])
PETERSEN = nx.petersen_graph()


def indicators(chosen, entries):
    """Rows of ones at the entries of each choice."""
    place = {entry: k for k, entry in enumerate(entries)}
    rows = np.zeros((len(chosen), len(entries)))
    for row, choice in zip(rows, chosen):
        row[[place[entry] for entry in choice]] = 1.0
    return rows


def random_dag(rng, n_nodes, share=0.5):
    names = rng.permutation(n_nodes).tolist()
    edges = [pair for pair in itertools.combinations(names, 2) if rng.random() < share]
    graph = nx.DiGraph()
    graph.add_nodes_from(sorted(names))
    graph.add_edges_from(edges[k] for k in rng.permutation(len(edges)))
    return graph, names


# ---- paths ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("variables", ["edges", "nodes"])
@pytest.mark.parametrize("ends", ["given", "any"])
def test_paths(variables, ends, rng):
    n_seen = n_refused = 0
    for _ in range(40):
        graph, names = random_dag(rng, int(rng.integers(2, 7)))
        source, target = (names[0], names[-1]) if ends == "given" else (None, None)
        paths = paths_of(graph, source, target)
        if not paths or (variables == "edges" and not graph.edges):
            with pytest.raises(ValueError, match=r"graph has no (path|edges)"):
                DagPaths(graph, source, target, variables)
            n_refused += 1
            continue
        domain = DagPaths(graph, source, target, variables)
        assert (domain.nodes, domain.edges) == (list(graph.nodes), list(graph.edges))
        entries = domain.nodes if variables == "nodes" else domain.edges
        vertices = indicators([path[variables] for path in paths], entries)
        check_against(domain, vertices, rng)
        n_seen += 1
    assert n_seen > 20
    assert n_refused or ends == "any"


def test_ties_of_paths():
    for variables, expected in [("edges", [1, 0, 0, 1, 0]), ("nodes", [1, 1, 0, 1])]:
        domain = DagPaths(DIAMOND, "s", "t", variables)
        assert domain.lmo(np.zeros(domain.size)).to_array().tolist() == expected
        assert domain.start().to_array().tolist() == expected
    parallel = nx.MultiDiGraph([("s", "t"), ("s", "t")])
    domain = DagPaths(parallel)
    assert domain.edges == [("s", "t", 0), ("s", "t", 1)]
    assert domain.lmo([0.0, 0.0]).to_array().tolist() == [1, 0]
    assert domain.lmo([0.0, -1.0]).to_array().tolist() == [0, 1]


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300, 1.7e308])
def test_paths_of_all_scales(scale):
    domain = DagPaths(nx.path_graph(500, create_using=nx.DiGraph), variables="nodes")
    assert domain.lmo(np.full(500, scale)).to_array().sum() == 500
    diamond = DagPaths(DIAMOND, variables="nodes")
    assert diamond.lmo(scale * np.array([1, -1, 0, 1.0])).to_array().tolist() == [1, 1, 0, 1]
    assert diamond.lmo(-scale * np.array([1, 1, 1, 1.0])).to_array().tolist() == [1, 1, 1, 1]


# ---- flows ---------------------------------------------------------------------------------------


def all_flows(graph):
    """Whole flows of a small network, vertices among them."""
    nodes, edges = list(graph.nodes), list(graph.edges)
    limits = [graph.edges[edge]["capacity"] for edge in edges]
    amounts = np.array(list(itertools.product(*[range(limit + 1) for limit in limits])), float)
    balance = np.zeros((len(amounts), len(nodes)))
    for k, (a, b) in enumerate(edges):
        balance[:, nodes.index(b)] += amounts[:, k]
        balance[:, nodes.index(a)] -= amounts[:, k]
    demand = [graph.nodes[node].get("demand", 0) for node in nodes]
    return amounts[np.all(balance == demand, axis=1)]


@pytest.mark.slow
def test_flows(rng):
    n_seen = n_refused = 0
    for _ in range(60):
        n_nodes = int(rng.integers(2, 5))
        graph = nx.DiGraph()
        graph.add_nodes_from(range(n_nodes))
        for pair in itertools.permutations(range(n_nodes), 2):
            if rng.random() < 0.5:
                graph.add_edge(*pair, capacity=int(rng.integers(0, 3)))
        demand = rng.integers(-1, 2, n_nodes)
        demand[-1] -= demand.sum()
        for node, amount in enumerate(demand.tolist()):
            if amount:
                graph.nodes[node]["demand"] = amount
        if not graph.edges:
            continue
        found = all_flows(graph)
        if not len(found):
            with pytest.raises(ValueError, match="no flow meets all of demand"):
                Flows(graph)
            n_refused += 1
            continue
        domain = Flows(graph)
        check_against(domain, found, rng)
        n_seen += 1
    assert n_seen > 10
    assert n_refused > 5


def test_flows_without_limits(rng):
    """On a graph without cycles they are paths; the bound comes from prices all the same."""
    paths = DagPaths(DIAMOND, "s", "t")
    flows = Flows(DIAMOND, {"s": -1.0, "t": 1.0})
    for gradient in rng.standard_normal((20, 5)):
        atom = flows.lmo(gradient)
        assert atom.key == paths.lmo(gradient).key
        assert 0.0 <= atom.value - atom.bound <= 1e-8 * np.abs(gradient).max()
    again = pickle.loads(pickle.dumps(flows))
    assert again.lmo(gradient).key == atom.key


# ---- matchings -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("perfect", [False, True])
def test_matchings_of_graphs(perfect, rng):
    n_seen = n_refused = 0
    for _ in range(30):
        names = list("gfedcba"[: int(rng.integers(2, 8))])
        graph = nx.Graph()
        graph.add_nodes_from(names)
        for pair in itertools.combinations(names, 2):
            if rng.random() < 0.6:
                graph.add_edge(*pair[:: rng.choice([-1, 1])])
        found = matchings_of(graph, perfect=perfect)
        if not found or not graph.edges:
            with pytest.raises(ValueError, match=r"graph (has no|must have an even)"):
                Matchings(graph, perfect=perfect)
            n_refused += 1
            continue
        domain = Matchings(graph, perfect=perfect)
        assert domain.pairs == list(graph.edges)
        check_against(domain, indicators(found, domain.pairs), rng)
        n_seen += 1
    assert n_seen > 5
    assert n_refused > 0


@pytest.mark.parametrize("perfect", [False, True])
def test_odd_cycles_are_no_matchings(perfect):
    """All inequalities of nodes hold, and yet three nodes cannot have one and a half pairs."""
    triangles = nx.Graph([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (0, 3), (1, 4), (2, 5)])
    domain = Matchings(triangles, perfect=perfect)
    halves = np.array([0.5 if max(e) < 3 or min(e) > 2 else 0.0 for e in domain.pairs])
    found = matchings_of(triangles, perfect=perfect)
    center = indicators(found, domain.pairs).mean(axis=0)
    for share in np.linspace(0.0, 1.0, 21):
        x = share * halves + (1 - share) * center
        assert domain.contains(x, tol=1e-7) == is_combination(x, indicators(found, domain.pairs))
    assert not domain.contains(halves)


# ---- what is refused -----------------------------------------------------------------------------

CYCLE = nx.DiGraph([("a", "b"), ("b", "a")])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: DagPaths(CYCLE), ValueError, "graph must have no cycle: Flows with capacities"),
        (lambda: DagPaths(PETERSEN), ValueError, "must be a networkx.DiGraph, got Graph"),
        (lambda: DagPaths(nx.DiGraph), ValueError, "must be a networkx.DiGraph, got type"),
        (lambda: Matchings(nx.Graph), ValueError, "must be a networkx.Graph without direction"),
        (lambda: DagPaths(nx.DiGraph()), ValueError, "graph has no edges"),
        (lambda: DagPaths(nx.DiGraph(), variables="nodes"), ValueError, "graph has no nodes"),
        (lambda: DagPaths(DIAMOND, "t", "s"), ValueError, "no path from source 't' to target 's'"),
        (lambda: DagPaths(DIAMOND, "x"), ValueError, "source must be a node of graph, got 'x'"),
        (lambda: Flows(CYCLE), ValueError, "has a cycle of edges without capacity"),
        (lambda: Flows(nx.DiGraph([(0, 0)])), ValueError, "has a cycle of edges without capacity"),
        (lambda: Flows(CYCLE, {"a": 1}, 1), ValueError, "demand must sum to zero over all nodes"),
        (lambda: Flows(CYCLE, {"a": -2, "b": 2}, 1), ValueError, "no flow meets all of demand"),
        (lambda: Flows(CYCLE, {"x": 1}, 1), ValueError, "demand must be a node of graph, got 'x'"),
        (lambda: Flows(CYCLE, [1, -1], 1), TypeError, "demand must be a dict of nodes"),
        (lambda: Flows(CYCLE, capacity=-1), ValueError, "capacity == -1, must be >= 0"),
        (lambda: Flows(CYCLE, capacity=1e308), ValueError, "capacity must be at most 1e+100"),
        (lambda: Flows(CYCLE, {"a": -1e308, "b": 1e308}, 1), ValueError, "demand has an entry"),
        (lambda: Matchings(1), ValueError, "graph == 1, must be >= 2"),
        (lambda: Matchings(nx.MultiGraph([(0, 1)])), ValueError, "and parallel edges"),
        (lambda: Matchings(nx.Graph([(0, 0)])), ValueError, "must not join nodes to themselves"),
        (lambda: Matchings(nx.Graph()), ValueError, "graph has no edges"),
        (lambda: Matchings(nx.star_graph(3), perfect=True), ValueError, "no perfect matching"),
        (lambda: Matchings(nx.path_graph(3), perfect=True), ValueError, "at most 1 pairs"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()
