"""Best labellings and max-marginals of graph cuts; Potts messages; single-node search."""

import numpy as np
import pytest

from _random_scores import grid, ising_grid, random_scores, size_of
from sklearn_fw._kernels.graphs import message_passing
from sklearn_fw.inference import GraphCut, PairwiseScores
from sklearn_fw.inference._oracles import _cuts
from sklearn_fw.inference._oracles._adjacency import PlanCache, adjacency, prepare
from sklearn_fw.inference._oracles._local_search import climb
from sklearn_fw.inference._oracles._messages import Relaxation

N_INSTANCES = 200  # of each kind


def test_compiled_and_plain_forms_agree(rng, monkeypatch):
    """Gains, losses, constant and error of finite scores, with several edges between two nodes."""
    for _ in range(N_INSTANCES):
        n, m = int(rng.integers(2, 9)), int(rng.integers(12))
        edges = np.array([rng.choice(n, 2, replace=False) for _ in range(m)]).reshape(-1, 2)
        tables = rng.choice([1.0, 1e8]) * rng.normal(size=(m, 2, 2))
        tables[::3] = np.eye(2) * 0.1
        scores = PairwiseScores(rng.normal(size=(n, 2)), tables, edges.astype(np.int64))
        found = _cuts._finite_form(scores)
        with monkeypatch.context() as patch:
            patch.setattr(_cuts, "_finite_form", lambda scores: None)
            expected = _cuts.switch_form(scores, "GraphCut")
        size = size_of(scores)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14 * size)


@pytest.mark.parametrize("coupling", [0.3, 1.0, 3.0])
def test_flips_on_a_grid_equal_cuts_with_one_state_forbidden(coupling, rng):
    scores = ising_grid(rng, 12, coupling, attractive=True)
    best = GraphCut().max_marginals(scores)
    for node in rng.choice(scores.n_nodes, 40, replace=False):
        for state in (0, 1):
            unary = scores.unary.copy()
            unary[node, 1 - state] = -np.inf
            value = GraphCut().argmax(PairwiseScores(unary, scores.pairwise, scores.edges))[1]
            assert best[node, state] == pytest.approx(value, rel=1e-12)


def test_top_k_of_a_large_grid_descends_from_the_best(rng):
    scores = ising_grid(rng, 20, 1.0, attractive=True)
    values, labels = GraphCut().top_k(scores, 12)
    assert values[0] == pytest.approx(GraphCut().argmax(scores)[1], rel=1e-14)
    best = np.sort(GraphCut().max_marginals(scores).min(axis=1))
    assert values[1] == pytest.approx(best[-1], rel=1e-12)
    assert len({tuple(row) for row in labels}) == 12


def test_what_a_cut_cannot_solve_is_refused():
    repelled = PairwiseScores.from_arrays(np.zeros((2, 2)), 1 - np.eye(2), [(0, 1)])
    more = PairwiseScores.from_arrays(np.zeros((2, 3)), np.eye(3), [(0, 1)])
    for method in (GraphCut().max_marginals, lambda scores: GraphCut().top_k(scores, 2)):
        with pytest.raises(ValueError, match="GraphCut needs attractive edges"):
            method(repelled)
        with pytest.raises(ValueError, match="GraphCut needs two states per node, got 3"):
            method(more)
    with pytest.raises(ValueError, match="k == 0, must be >= 1"):
        GraphCut().top_k(more, 0)


# ---- Potts messages ----------------------------------------------------------------------------


def potts_scores(rng, kind):
    """Scores whose tables have two numbers each, in part forbidden or repulsive."""
    scores = random_scores(rng, kind, n_states=int(rng.integers(2, 5)))
    n_states = scores.n_states
    two = rng.normal(size=(scores.n_edges, 2, 1, 1)) * 2
    two[rng.random(scores.n_edges) < 0.1, int(rng.integers(2))] = -np.inf
    tables = np.where(np.eye(n_states, dtype=bool), two[:, 0], two[:, 1])
    return PairwiseScores(scores.unary, tables, scores.edges)


@pytest.mark.parametrize("kind", ["normal", "forbidden", "missing states", "double edges"])
def test_potts_messages_are_those_of_the_tables(kind, rng):
    n_alike = 0
    for _ in range(N_INSTANCES):
        scores = potts_scores(rng, kind)
        problem = prepare(scores, PlanCache(adjacency)(scores))
        potts = message_passing.equal_and_other(problem.tables[0])
        assert not np.isnan(potts).any()
        real = np.arange(scores.n_states) < problem.n_states[:, None]
        fast, slow = Relaxation(problem, potts), Relaxation(problem, np.full_like(potts, np.nan))
        for _ in range(4):
            for (labels, value), (others, _expected) in zip(fast.iterate(), slow.iterate()):
                assert fast.bound == pytest.approx(slow.bound, rel=0, abs=1e-12)
                if fast.bound == -np.inf:
                    break
                found = (twin.bounds[real] for twin in (fast, slow))
                np.testing.assert_allclose(*found, rtol=0, atol=1e-12)
                n_alike += np.array_equal(labels, others)
                assert value == pytest.approx(scores.value(labels), rel=0, abs=1e-12)
            if fast.bound == -np.inf:
                break
        labels, others = np.zeros((2, scores.n_nodes), np.int32)
        climb(problem, labels, potts=potts)
        climb(problem, others, potts=np.full_like(potts, np.nan))
        np.testing.assert_array_equal(labels, others)
    assert n_alike > N_INSTANCES


def test_tables_with_two_numbers_are_found():
    tables = np.array([np.eye(3), 2 - np.eye(3), np.ones((3, 3)), np.arange(9.0).reshape(3, 3)])
    tables[3, 0, 0] = 4.0
    found = message_passing.equal_and_other(tables)
    np.testing.assert_array_equal(found, [[1, 0], [1, 2], [1, 1], [np.nan, np.nan]])
    assert message_passing.equal_and_other(np.full((1, 1, 1), 3.0)).tolist() == [[3.0, 3.0]]


def test_search_that_looks_where_something_changed_ends_as_full_passes_do(rng):
    for _ in range(50):
        scores = grid(rng, 8, 1.0, n_states=3)
        problem = prepare(scores, PlanCache(adjacency)(scores))
        potts = message_passing.equal_and_other(problem.tables[0])
        labels, others = np.zeros((2, scores.n_nodes), np.int32)
        climb(problem, labels)
        while message_passing.icm_sweep(*problem, potts, others, np.ones(64, bool)):
            pass
        np.testing.assert_array_equal(labels, others)
