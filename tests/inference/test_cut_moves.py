"""Moves by cuts; max-marginals of cuts; Potts messages; single-node search."""

import itertools

import numpy as np
import pytest

from _random_scores import best_value, grid, ising_grid, random_edges, random_scores
from sklearn_fw._core.budget import time_budget
from sklearn_fw.inference import TRWS, BestOf, CutMoves, GraphCut, PairwiseScores
from sklearn_fw.inference._oracles._adjacency import PlanCache, adjacency, prepare
from sklearn_fw.inference._oracles._local_search import climb
from sklearn_fw.inference._oracles._messages import Relaxation

ORACLES = [CutMoves(), CutMoves("swap")]
N_INSTANCES = 200  # of each kind


def metric_scores(rng, table):
    """Random scores with one table for all edges, of which each counts more or less."""
    n_nodes = int(rng.integers(2, 6))
    edges = random_edges(rng, "any", n_nodes)
    weights = rng.exponential(size=(len(edges), 1, 1))
    unary = rng.normal(size=(n_nodes, len(table)))
    return PairwiseScores(unary, weights * table, edges)


def distance(n_states):
    return np.abs(np.subtract.outer(np.arange(n_states), np.arange(n_states))) * 1.0


def expansions(labels, n_states):
    for alpha, taken in itertools.product(
        range(n_states), itertools.product([0, 1], repeat=len(labels))
    ):
        yield np.where(taken, alpha, labels)


def swaps(labels, n_states):
    for a, b in itertools.combinations(range(n_states), 2):
        at = np.flatnonzero((labels == a) | (labels == b))
        for states in itertools.product([a, b], repeat=len(at)):
            moved = labels.copy()
            moved[at] = states
            yield moved


@pytest.mark.slow
@pytest.mark.parametrize(
    "oracle, moves, table",
    [
        (CutMoves(), expansions, np.eye(3)),
        (CutMoves(), expansions, -np.minimum(distance(3), 1.5)),
        (CutMoves("swap"), swaps, np.eye(3)),
        (CutMoves("swap"), swaps, -np.minimum(distance(3) ** 2, 3.0)),
    ],
    ids=["expansion Potts", "expansion truncated", "swap Potts", "swap squares"],
)
def test_no_move_improves_an_answer_where_moves_are_cuts(oracle, moves, table, rng):
    n_best = 0
    for _ in range(N_INSTANCES):
        scores = metric_scores(rng, table)
        start = rng.integers(3, size=scores.n_nodes)
        labels, value, _ = oracle.argmax(scores, start)
        others = max(scores.value(moved) for moved in moves(labels, 3))
        assert others <= value + 1e-12
        n_best += value >= best_value(scores) - 1e-12
    assert n_best > 0.8 * N_INSTANCES


def test_potts_expansions_lose_at_most_twice_what_edges_of_the_best_lose(rng):
    for _ in range(N_INSTANCES):
        scores = metric_scores(rng, np.eye(3))
        most = scores.unary.max(axis=1).sum() + scores.pairwise.max(axis=(1, 2)).sum()
        value = CutMoves().argmax(scores, rng.integers(3, size=scores.n_nodes))[1]
        assert most - value <= 2 * (most - best_value(scores)) + 1e-12


def test_repulsive_tables_are_taken_by_roof_duality(rng):
    """Single moves find what truncated cuts would miss: proper colors of a chain."""
    n_nodes = 12
    edges = np.column_stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)])
    scores = PairwiseScores.from_arrays(
        np.zeros((n_nodes, 3)), np.where(np.eye(3), -1.0, 0.0), edges
    )
    assert CutMoves().argmax(scores)[1] > -n_nodes / 2
    gains = []
    for seed in range(20):
        mixed = grid(np.random.default_rng(seed), 6, 1.0, n_states=3)
        first = mixed.value(mixed.unary.argmax(axis=1))
        best = TRWS().argmax(mixed)[2]
        gains.append((CutMoves().argmax(mixed)[1] - first) / (best - first))
    assert np.mean(gains) > 0.5


@pytest.mark.parametrize("coupling", [0.3, 1.0, 3.0])
def test_potts_grids_come_within_a_hundredth_of_the_bound(coupling, rng):
    scores = grid(rng, 30, 1.0, n_states=5)
    table = np.broadcast_to(coupling * np.eye(5), scores.pairwise.shape)
    scores = PairwiseScores(scores.unary, table, scores.edges)
    bound = TRWS(max_iter=200).argmax(scores)[2]
    assert CutMoves().argmax(scores)[1] >= 0.99 * bound
    assert CutMoves("swap").argmax(scores)[1] >= 0.97 * bound
    _, value, upper_bound = BestOf(["alpha_expansion", "trws"]).argmax(scores)
    assert 0.99 * bound <= value <= upper_bound


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
class TestContract:
    def test_forbidden_states_are_left(self, oracle):
        table = np.array([[1.0, 0.0, -np.inf], [0.0, 1.0, 0.0], [-np.inf, 0.0, 1.0]])
        unary = np.array([[5.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
        unary[1, 0] = -np.inf
        scores = PairwiseScores.from_arrays(unary, table, [(0, 1), (1, 2)])
        labels, value, _ = oracle.argmax(scores, start=[0, 0, 2])
        assert labels.tolist() == [0, 1, 2]
        assert value == 10.0

    def test_no_time_leaves_the_start(self, oracle, rng):
        scores = grid(rng, 5, 1.0, n_states=3)
        start = np.ones(25, int)
        with time_budget(1e-9, ends_oracles=True):
            labels, value, _ = oracle.argmax(scores, start)
        np.testing.assert_array_equal(labels, start)
        assert value == scores.value(start)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "forbidden", "missing states", "double edges"])
def test_potts_messages_are_those_of_the_tables(kind, rng):
    n_alike = 0
    for _ in range(N_INSTANCES):
        scores = potts_scores(rng, kind)
        problem = prepare(scores, PlanCache(adjacency)(scores))
        assert not np.isnan(problem.potts).any()
        tables = problem._replace(potts=np.full_like(problem.potts, np.nan))
        real = np.arange(scores.n_states) < problem.n_states[:, None]
        fast, slow = Relaxation(problem), Relaxation(tables)
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
        climb(problem, labels)
        climb(tables, others)
        np.testing.assert_array_equal(labels, others)
    assert n_alike > N_INSTANCES
