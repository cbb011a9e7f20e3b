"""ICM, TRWS, branch and bound, and what all search oracles keep."""

import functools
import logging

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from _random_scores import (
    KINDS,
    best_value,
    clique,
    grid,
    ising_grid,
    parts,
    random_scores,
    random_tables,
    size_of,
)
from _references import labeling_values
from sklearn_fw.inference import (
    ICM,
    MILP,
    QPBO,
    TRWS,
    BestOf,
    BranchAndBound,
    CutMoves,
    Enumeration,
    IteratedLocalSearch,
    LPRelaxation,
    PairwiseScores,
    TreeMaxProduct,
)
from sklearn_fw.inference._oracles._adjacency import PlanCache, adjacency, prepare
from sklearn_fw.inference._oracles._messages import Relaxation

ORACLES = [
    ICM(),
    TRWS(),
    TRWS(max_iter=1),
    BranchAndBound(),
    BranchAndBound(max_iter=1, node_iter=1),
    BranchAndBound(max_nodes=1),
    BranchAndBound(max_nodes=3),
    IteratedLocalSearch(n_rounds=20),
    BestOf(),
    BestOf(["icm", BranchAndBound()]),
]
STARTING = [ICM(), TRWS(), BranchAndBound(), CutMoves(), QPBO(), MILP(), LPRelaxation()]
N_INSTANCES = 100


@functools.cache
def instances(kind):
    """Scores and the value of a best labeling."""
    rng = np.random.default_rng(KINDS.index(kind))
    found = [random_scores(rng, kind, n_states=2 + n % 2) for n in range(N_INSTANCES)]
    return [(scores, best_value(scores)) for scores in found]


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
def test_larger_cliques_are_a_test_of_exactness(oracle, rng):
    n_missed = n_uncertain = 0
    for _ in range(40):
        scores = clique(rng, 9, coupling=1.0, n_states=3)
        labels, value, upper_bound = oracle.argmax(scores)
        expected, best, _ = Enumeration().argmax(scores)
        assert value <= best + 1e-12
        assert upper_bound >= best - 1e-12
        n_missed += not np.array_equal(labels, expected)
        n_uncertain += value < upper_bound
    if oracle.exact:
        assert n_missed == n_uncertain == 0
    else:
        # The search inside finds them all, and cannot know it.
        assert n_missed == 0 if repr(oracle) == "BestOf()" else n_missed > 0
        assert n_uncertain > 30


# ---- ICM ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_icm_ends_where_no_single_change_helps(kind, rng):
    for scores, _ in instances(kind)[:100]:
        start = rng.integers(scores.n_states, size=scores.n_nodes)
        labels, value, _ = ICM().argmax(scores, start)
        for t in range(scores.n_nodes):
            for state in range(scores.n_states):
                other = labels.copy()
                other[t] = state
                assert scores.value(other) <= value + 1e-12 * size_of(scores)


def test_icm_moves_on_strict_gain_alone_and_in_order_of_the_nodes():
    square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    flat = PairwiseScores.from_arrays(np.zeros((4, 2)), np.zeros((2, 2)), square)
    assert ICM().argmax(flat, start=[1, 0, 1, 0])[0].tolist() == [1, 0, 1, 0]
    equal = PairwiseScores.from_arrays(np.zeros((4, 2)), np.eye(2), square)
    assert ICM().argmax(equal, start=[1, 0, 1, 0])[0].tolist() == [0, 0, 0, 0]
    chain = PairwiseScores.from_arrays(np.zeros((4, 2)), np.eye(2), square[:3])
    assert ICM(max_iter=1).argmax(chain, start=[0, 1, 1, 1])[0].tolist() == [1, 1, 1, 1]
    assert ICM(max_iter=1).argmax(chain, start=[1, 1, 1, 0])[0].tolist() == [1, 1, 1, 1]


def test_icm_leaves_a_forbidden_start():
    # Proper colors of a ring: a single change of the start still leaves -inf.
    table = np.where(np.eye(3) > 0, -np.inf, 0.0)
    ring = [(t, (t + 1) % 6) for t in range(6)]
    scores = PairwiseScores.from_arrays(np.zeros((6, 3)), table, ring)
    _, value, _ = ICM().argmax(scores, start=[1] * 6)
    assert value == 0.0
    # A state that does not exist is no way out, even if all its pairs are allowed.
    unary = [[-np.inf, 0.0]] * 3
    table = [[0.0, 0.0], [0.0, -np.inf]]
    scores = PairwiseScores.from_arrays(unary, table, [(0, 1), (1, 2), (2, 0)])
    assert ICM().argmax(scores, start=[1, 0, 0])[0].tolist() == [1, 1, 1]


# ---- TRWS --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_states", [2, 3])
def test_trws_is_exact_on_trees(n_states, rng):
    for n_nodes in [2, 3, 5, 10, 30, 100]:
        for _ in range(5):
            # Numbered at random, so that monotonic paths are short.
            names = rng.permutation(n_nodes)
            edges = np.array(
                [(names[t], names[rng.integers(max(0, t - 3), t)]) for t in range(1, n_nodes)]
            )
            scores = random_tables(rng, n_nodes, edges, 2.0, n_states)
            labels, value, upper_bound = TRWS().argmax(scores)
            expected, best, _ = TreeMaxProduct().argmax(scores)
            assert value == upper_bound
            assert value == pytest.approx(best, rel=1e-9, abs=0)
            np.testing.assert_array_equal(labels, expected)


def test_trws_bound_is_that_of_the_linear_relaxation(rng):
    gaps = []
    for scores in [
        *(ising_grid(rng, 3, coupling=3.0) for _ in range(8)),
        *(clique(rng, 5, coupling=1.0) for _ in range(4)),
        PairwiseScores.from_arrays(np.zeros((3, 2)), 1 - np.eye(2), [(0, 1), (1, 2), (2, 0)]),
    ]:
        _, value, upper_bound = TRWS(max_iter=3000, tol=0.0).argmax(scores)
        *_, relaxed, _ = LPRelaxation().vertex(scores)
        assert upper_bound == pytest.approx(relaxed, rel=0, abs=1e-6)
        gaps.append(upper_bound - value)
    assert np.count_nonzero(gaps) >= 5  # the relaxation is not tight


def test_trws_bound_never_rises(rng):
    for scores in [ising_grid(rng, 5, 3.0), grid(rng, 5, 1.0, n_states=4), clique(rng, 8, 1.0)]:
        bounds = [TRWS(max_iter=n, tol=0.0).argmax(scores)[2] for n in range(1, 40)]
        assert np.diff(bounds).max() <= 1e-10
        assert bounds[0] > bounds[5] > bounds[-1]
        values = [TRWS(max_iter=n, tol=0.0).argmax(scores)[1] for n in range(1, 40)]
        assert np.diff(values).min() >= 0


def test_trws_stops_when_iterations_gain_less_than_tol(rng):
    scores = ising_grid(rng, 6, 3.0)
    bounds = np.array([TRWS(max_iter=n, tol=0.0).argmax(scores)[2] for n in range(1, 60)])
    for tol in [1.0, 1e-2, 1e-4]:
        last = 1 + int(np.flatnonzero(-np.diff(bounds) < tol)[0])
        assert TRWS(max_iter=10_000, tol=tol).argmax(scores)[2] == bounds[last]


def test_trws_finds_what_is_forbidden_along_paths():
    # Equal neighbors, ends that differ: nothing is allowed, which no single edge shows.
    n_nodes = 8
    unary = np.zeros((n_nodes, 2))
    unary[0, 1] = unary[-1, 0] = -np.inf
    table = np.where(np.eye(2) > 0, 0.0, -np.inf)
    edges = [(t, t + 1) for t in range(n_nodes - 1)]
    scores = PairwiseScores.from_arrays(unary, table, edges)
    for oracle in (TRWS(), BranchAndBound()):
        assert oracle.argmax(scores)[1:] == (-np.inf, -np.inf)


# ---- bounds of single states, on which the search relies ---------------------------------------


@pytest.mark.parametrize("kind", ["normal", "forbidden", "missing states"])
def test_a_cutoff_loses_nothing_above_it(kind, rng):
    for scores, best in instances(kind)[:60]:
        plan = PlanCache(adjacency)(scores)
        values, labelings = labeling_values(*parts(scores))
        cutoff = rng.choice(values)
        relaxation = Relaxation(prepare(scores, plan))
        for _ in range(5):
            list(relaxation.iterate(cutoff))
            if relaxation.bound == -np.inf:
                assert best <= cutoff + 1e-12
                break
            assert relaxation.bound >= best - 1e-12
            for labels in labelings[values > cutoff + 1e-9]:
                assert np.all(relaxation.unary[np.arange(scores.n_nodes), labels] > -np.inf)


# ---- what all of them keep ---------------------------------------------------------------------


@pytest.mark.parametrize("oracle", STARTING, ids=repr)
@pytest.mark.parametrize(
    "start, message",
    [
        ([0, 1], r"start must hold one state for each of 3 nodes, got \(2,\)"),
        ([0.0, 1.0, 1.0], "start must hold integers, got dtype float64"),
        ([0, 1, 2], "start must be states from 0 to 1, got 0 to 2"),
        ([0, 1, -1], "start must be states from 0 to 1, got -1 to 1"),
    ],
)
def test_start_is_checked(oracle, start, message):
    scores = PairwiseScores.from_arrays(np.zeros((3, 2)), np.eye(2), [(0, 1), (1, 2)])
    with pytest.raises(ValueError, match=message):
        oracle.argmax(scores, start=start)


# ---- plans and kernels -------------------------------------------------------------------------


class Planner(BaseEstimator):
    """The smallest user of a `PlanCache`."""

    plan = PlanCache(lambda edges, n_nodes, n_states: (edges, n_nodes, n_states))


def test_a_plan_is_made_once_for_each_graph(rng):
    scores = ising_grid(rng, 3, 1.0)
    oracle = Planner()
    first = oracle.plan(scores)
    np.testing.assert_array_equal(first[0], scores.edges)
    assert first[0].dtype == np.int64
    assert first[1:] == (9, 2)
    other_scores = ising_grid(rng, 3, 2.0)
    assert other_scores.edges is not scores.edges
    assert oracle.plan(other_scores) is first
    assert Planner().plan(scores) is not first
    assert clone(oracle).plan(scores) is not first
    assert not vars(oracle)
    scores.edges[0] = scores.edges[0][::-1].copy()  # the plan has a copy of its own
    assert oracle.plan(scores) is not first
    assert oracle.plan(other_scores)[0].tolist() == first[0].tolist()
    more_states = grid(rng, 3, 1.0, n_states=3)
    assert oracle.plan(more_states)[1:] == (9, 3)
    alone = PairwiseScores.from_arrays(np.zeros((2, 2)))
    assert oracle.plan(alone)[0].shape == (0, 2)


def hard_problems(rng):
    yield from (clique(rng, 10, coupling=4.0) for _ in range(10))
    yield from (ising_grid(rng, 4, coupling=4.0) for _ in range(5))
    yield from (clique(rng, 7, coupling=1.0, n_states=4) for _ in range(5))
    yield from (grid(rng, 3, coupling=2.0, n_states=3) for _ in range(5))


def test_branch_and_bound_solves_frustrated_problems(rng):
    for scores in hard_problems(rng):
        labels, value, upper_bound = BranchAndBound().argmax(scores)
        expected, best, _ = Enumeration().argmax(scores)
        assert value == upper_bound
        assert value == pytest.approx(best, rel=1e-12, abs=0)
        np.testing.assert_array_equal(labels, expected)


def test_bound_falls_and_value_rises_with_the_number_of_nodes(rng):
    scores = clique(rng, 12, coupling=4.0)
    best, exact, _ = BranchAndBound().argmax(scores)
    answers = [BranchAndBound(max_nodes=n).argmax(scores) for n in range(1, 80)]
    values, bounds = np.array([answer[1:] for answer in answers]).T
    assert np.all(values <= exact)
    assert np.all(bounds >= exact)
    assert np.diff(values).min() >= 0
    assert np.diff(bounds).max() <= 0
    assert len(np.unique(bounds)) > 3
    assert values[-1] == bounds[-1] == exact
    np.testing.assert_array_equal(answers[-1][0], best)


def test_time_limit_ends_after_the_first_subproblem(rng, caplog):
    scores = ising_grid(rng, 12, coupling=4.0)
    caplog.set_level(logging.DEBUG, logger="sklearn_fw")
    labels, value, upper_bound = BranchAndBound(time_limit=1e-9).argmax(scores)
    assert "branch and bound: 1 subproblems, 2 left" in caplog.text
    assert value < upper_bound
    assert (value, upper_bound) == BranchAndBound(max_nodes=1).argmax(scores)[1:]
    assert scores.value(labels) == value


def test_exactness_is_promised_without_budget_alone():
    assert BranchAndBound().exact
    assert not BranchAndBound(max_nodes=10**9).exact
    assert not BranchAndBound(time_limit=1e9).exact
    assert BestOf([BranchAndBound(), "icm"]).exact
    assert not BestOf([BranchAndBound(max_nodes=1), "icm"]).exact


def test_a_good_start_is_kept(rng):
    scores = clique(rng, 20, coupling=4.0)
    best, value, _ = BranchAndBound().argmax(scores)
    for oracle in (ICM(), TRWS(max_iter=1), BranchAndBound(max_nodes=1)):
        assert oracle.argmax(scores)[1] < value
        labels, found, _ = oracle.argmax(scores, start=best)
        np.testing.assert_array_equal(labels, best)
        assert found == value
