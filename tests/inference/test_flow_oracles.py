"""Graph cuts and roof duality against enumeration, and maximum flows against scipy."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import maximum_flow

from _random_scores import (
    KINDS,
    attraction,
    best_value,
    ising_grid,
    parts,
    random_scores,
    same,
    size_of,
)
from _references import labeling_values
from sklearn_fw.inference import PairwiseScores
from sklearn_fw.inference._oracles._cuts import QPBO, GraphCut, fill_arcs, roof_dual, switch_form

N_INSTANCES = 200  # of each kind


def assert_is_answer(scores, labels, value, upper_bound):
    assert labels.shape == (scores.n_nodes,)
    assert labels.dtype == np.int32
    assert type(value) is type(upper_bound) is float
    assert value == scores.value(labels)
    assert value <= upper_bound


# ---- graph cut ---------------------------------------------------------------------------------


def test_large_grid_equals_integer_flow_of_scipy(rng):
    scores = ising_grid(rng, 30, 400, 500, attractive=True)
    scores = PairwiseScores(np.rint(scores.unary), np.rint(scores.pairwise), scores.edges)
    labels, value, upper_bound = GraphCut().argmax(scores)
    assert_is_answer(scores, labels, value, upper_bound)
    # Score = agreement everywhere - cut, where a cut edge loses twice its coupling.
    field, coupling = 2 * scores.unary[:, 1], 2 * scores.pairwise[:, 0, 0]
    flow = flow_of_scipy(scores.edges, coupling, coupling, -field)
    agreement = scores.unary.max(axis=1).sum() + scores.pairwise[:, 0, 0].sum()
    assert value == agreement - flow


def test_ties_go_to_the_lowest_states(rng):
    for _ in range(N_INSTANCES):
        scores = random_scores(rng, "ties", n_states=2, attractive=True)
        values, labelings = labeling_values(*parts(scores))
        labels, _, _ = GraphCut().argmax(scores)
        # The best labelings of attractive scores are closed under "and".
        expected = labelings[values == values.max()].min(axis=0)
        np.testing.assert_array_equal(labels, expected)


def test_one_forbidden_state_fixes_nodes_far_away():
    n_nodes = 50
    edges = np.column_stack([np.arange(1, n_nodes), np.arange(n_nodes - 1)])
    table = np.array([[0.0, -np.inf], [0.0, 0.0]])  # if the left node is in 1, so is the right one
    unary = np.tile([1.0, 0.0], (n_nodes, 1))
    unary[0] = -np.inf, 0.0
    scores = PairwiseScores.from_arrays(unary, table, edges)
    for oracle in (GraphCut(), QPBO()):
        labels, value, upper_bound = oracle.argmax(scores)
        assert labels.tolist() == [1] * n_nodes
        assert value == upper_bound == 0.0
    # Repulsive edges between fixed nodes do no harm.
    repelled = PairwiseScores.from_arrays(
        unary, [table] * (n_nodes - 1) + [1 - np.eye(2)], [*edges.tolist(), (3, 40)]
    )
    assert GraphCut().argmax(repelled)[1] == 0.0


def test_differences_of_rounding_are_not_repulsive():
    table = np.array([[0.1 + 0.2, 0.0], [0.3, 0.0]])
    assert attraction(np.array([table]))[0] != 0.0
    for sign in (1, -1):
        scores = PairwiseScores.from_arrays(np.eye(2), sign * table, [(0, 1)])
        _, value, _ = GraphCut().argmax(scores)
        assert same(value, best_value(scores), 1e-15)


# ---- roof duality ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
class TestQPBO:
    def test_known_labels_are_those_of_a_best_labeling(self, kind, rng):
        for _ in range(N_INSTANCES):
            scores = random_scores(rng, kind, n_states=2)
            form = switch_form(scores, "QPBO")
            values, labelings = labeling_values(*parts(scores))
            if values.max() == -np.inf:
                continue  # which roof duality need not notice
            known, _ = roof_dual(form, scores.edges)
            best = labelings[values >= values.max() - 1e-12 * size_of(scores)]
            at = np.flatnonzero(known >= 0)
            assert np.any(np.all(best[:, at] == form.merge(known)[at], axis=1))


def frustrated():
    edges = [(0, 1), (1, 2), (2, 0)]
    return PairwiseScores.from_arrays(np.zeros((3, 2)), 1 - np.eye(2), edges)


def test_frustrated_triangle_takes_its_labels_from_start():
    for start, value in (([0, 1, 1], 2.0), ([1, 0, 1], 2.0), ([1, 1, 1], 0.0)):
        labels, found, upper_bound = QPBO().argmax(frustrated(), start=start)
        assert labels.tolist() == start
        assert found == value
        assert 3.0 <= upper_bound <= 3.0 + 1e-12
    labels, value, _ = QPBO().argmax(frustrated())
    assert labels.tolist() == [0, 0, 0]
    assert value == 0.0


def test_forbidden_guess_has_value_minus_infinity():
    table = np.array([[-np.inf, 0.0], [0.0, -np.inf]])
    scores = PairwiseScores.from_arrays(np.zeros((3, 2)), table, [(0, 1), (1, 2), (2, 0)])
    _, value, upper_bound = QPBO().argmax(scores)
    assert value == -np.inf
    assert 0.0 <= upper_bound <= 1e-12


# ---- contract ----------------------------------------------------------------------------------


@pytest.mark.parametrize("oracle", [GraphCut(), QPBO()], ids=repr)
class TestContract:
    def test_more_states_are_refused_with_the_remedy(self, oracle):
        scores = PairwiseScores.from_arrays(np.zeros((2, 3)), np.eye(3), [(0, 1)])
        name = type(oracle).__name__
        with pytest.raises(ValueError, match=rf"{name} needs two states .*got 3.*MILP\(\)"):
            oracle.argmax(scores)


def test_repulsive_edges_are_named_with_the_remedy():
    edges = [(0, 1), (2, 1)]
    tables = np.stack([np.eye(2), 1 - np.eye(2)])
    scores = PairwiseScores.from_arrays(np.zeros((3, 2)), tables, edges)
    with pytest.raises(ValueError, match=r"edge 1 between nodes 2 and 1 has .*QPBO\(\)"):
        GraphCut().argmax(scores)
    forbidden = np.array([[-np.inf, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match=r"edge 0 between nodes 0 and 1 has t = \[\[-inf"):
        GraphCut().argmax(PairwiseScores.from_arrays(np.zeros((2, 2)), forbidden, [(0, 1)]))


# ---- kernels -----------------------------------------------------------------------------------


def flow_of_scipy(edges, forward, backward, excess):
    n = len(excess)
    nodes, source, sink = np.arange(n), np.full(n, n), np.full(n, n + 1)
    rows = np.concatenate([edges[:, 0], edges[:, 1], source, nodes]).astype(np.int32)
    columns = np.concatenate([edges[:, 1], edges[:, 0], nodes, sink]).astype(np.int32)
    room = np.concatenate([forward, backward, np.maximum(excess, 0), np.maximum(-excess, 0)])
    graph = sparse.csr_array((room.astype(np.int32), (rows, columns)), shape=(n + 2, n + 2))
    return maximum_flow(graph, n, n + 1).flow_value


def random_network(rng, n_nodes=None):
    n_nodes = n_nodes or int(rng.integers(1, 12))
    pairs = [(a, b) for a in range(n_nodes) for b in range(n_nodes) if a != b]
    n_edges = int(rng.integers(25)) if pairs else 0
    edges = np.array([pairs[e] for e in rng.integers(len(pairs) or 1, size=n_edges)])
    largest = int(rng.choice([2, 5, 1000]))
    forward, backward = rng.integers(0, largest, (2, n_edges)).astype(float)
    excess = rng.integers(-largest, largest + 1, n_nodes).astype(float)
    return edges.reshape(-1, 2).astype(np.int64), forward, backward, excess


def test_flow_equals_scipy_and_the_cut(rng):
    from sklearn_fw._kernels.graphs.max_flow import max_flow, reaches_sink, sort_arcs

    for _ in range(500):
        edges, forward, backward, excess = random_network(rng)
        arcs = fill_arcs(edges, forward, backward, excess.copy())
        *_, arc = sort_arcs(edges, len(excess))
        flow = max_flow(arcs)
        assert flow == flow_of_scipy(edges, forward, backward, excess)
        assert np.all(arcs.residual >= 0.0)
        # Flow is conserved, and never more than the excess that was there.
        sent = forward - arcs.residual[arc]
        np.testing.assert_array_equal(backward + sent, arcs.residual[arcs.sister[arc]])
        out = np.bincount(edges[:, 0], sent, len(excess)) - np.bincount(
            edges[:, 1], sent, len(excess)
        )
        np.testing.assert_array_equal(out, excess - arcs.excess)
        assert np.all(np.abs(arcs.excess) <= np.abs(excess))
        sink = reaches_sink(arcs)
        a, b = sink[edges].T
        cut = forward[~a & b].sum() + backward[a & ~b].sum()
        assert flow == cut + excess[sink & (excess > 0)].sum() - excess[~sink & (excess < 0)].sum()
