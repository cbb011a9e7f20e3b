"""Alpha-expansion and alpha-beta swap against all moves, and against what is best."""

import itertools

import numpy as np
import pytest

from _random_scores import (
    best_value,
    grid,
    plain,
    random_edges,
    random_scores,
)
from sklearn_fw._core.budget import time_budget
from sklearn_fw.inference import TRWS, BestOf, CutMoves, PairwiseScores

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
    """Single moves find what truncated cuts would miss: proper colours of a chain."""
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


def test_compiled_and_plain_kernels_agree(rng):
    from sklearn_fw._kernels.graphs import max_flow
    from sklearn_fw.inference._oracles._moves import Arcs

    for _ in range(30):
        scores = random_scores(rng, n_states=3)
        plan = Arcs.of_graph(np.ascontiguousarray(scores.edges), scores.n_nodes, 3)
        unary, tables = scores.unary, np.array(scores.pairwise)
        problem = unary, tables, np.arange(len(tables)), plan.edges
        zero, one = rng.integers(3, size=(2, scores.n_nodes)).astype(np.int32)
        found = []
        for turn in (lambda kernel: kernel, plain):
            residual, excess = np.empty(len(plan.head)), np.empty(scores.n_nodes)
            crossed = np.empty(len(plan.arc), bool)
            n_crossed = turn(max_flow.fusion)(
                *problem, zero, one, 1e-14, plan.arc, plan.sister, residual, excess, crossed
            )
            value = turn(max_flow.score_of)(*problem, zero)
            assert n_crossed == crossed.sum()
            assert value == pytest.approx(scores.value(zero), rel=1e-12)
            found.append([residual, excess, crossed])
        for compiled, other in zip(*found):
            np.testing.assert_allclose(compiled, other, rtol=0, atol=1e-12)
