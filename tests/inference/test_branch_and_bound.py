"""BranchAndBound: exact answers, bounds and budgets."""

import logging

import numpy as np
import pytest

from _random_scores import (
    clique,
    grid,
    ising_grid,
)
from sklearn_fw.inference import (
    ICM,
    TRWS,
    BestOf,
    BranchAndBound,
    Enumeration,
    PairwiseScores,
    TreeMaxProduct,
)


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


def test_branch_and_bound_on_a_larger_grid(rng):
    # A strip of 5 x 5 nodes as a chain of its columns: exact by the tree oracle.
    for _ in range(5):
        scores = ising_grid(rng, 5, coupling=4.0)
        columns = np.array([[(c >> r) & 1 for r in range(5)] for c in range(32)])
        unary, table = np.zeros((5, 32)), np.zeros((4, 32, 32))
        for i in range(25):
            unary[i % 5] += scores.unary[i][columns[:, i // 5]]
        for (a, b), pair in zip(scores.edges, scores.pairwise):
            rows = a // 5, b // 5
            if a % 5 == b % 5:
                unary[a % 5] += pair[columns[:, rows[0]], columns[:, rows[1]]]
            else:
                table[a % 5] += pair[columns[:, None, rows[0]], columns[None, :, rows[1]]]
        chain = PairwiseScores(unary, table, np.column_stack([np.arange(4), np.arange(1, 5)]))
        _, best, _ = TreeMaxProduct().argmax(chain)
        assert BranchAndBound().argmax(scores)[1] == pytest.approx(best, rel=1e-12, abs=0)


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
