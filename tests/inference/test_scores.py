"""PairwiseScores: what is refused, and what is kept."""

import pickle

import numpy as np
import pytest

from _random_scores import parts
from sklearn_fw.inference import (
    ICM,
    MILP,
    QPBO,
    TRWS,
    BestOf,
    BranchAndBound,
    CheckedOracle,
    Elimination,
    Enumeration,
    GraphCut,
    IteratedLocalSearch,
    LPRelaxation,
    PairwiseScores,
    TreeMaxProduct,
    Viterbi,
)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((np.zeros(3),), r"unary must have shape \(n_nodes, n_states\), got \(3,\)"),
        ((np.zeros((0, 2)),), "unary must have shape"),
        ((np.zeros((2, 2)), np.eye(2)), "pairwise and edges come together, but edges is None"),
        ((np.zeros((2, 2)), None, [(0, 1)]), "but pairwise is None"),
        ((np.zeros((2, 2)), np.eye(3), [(0, 1)]), r"= \(1, 2, 2\), got \(1, 3, 3\)"),
        ((np.zeros((2, 2)), np.zeros((2, 2, 2)), [(0, 1)]), r"pairwise must have shape"),
        ((np.zeros((2, 2)), np.zeros(4), [(0, 1)]), r"pairwise must have shape"),
        ((np.zeros((2, 2)), np.eye(2), [(0, 2)]), "edges must name nodes 0 to 1, got 0 to 2"),
        ((np.zeros((2, 2)), np.eye(2), [(-1, 1)]), "edges must name nodes 0 to 1, got -1 to 1"),
        ((np.zeros((2, 2)), np.eye(2), [(1, 1)]), r"two different nodes, got \(1, 1\)"),
        (
            (np.zeros((2, 2)), np.eye(2), [0, 1]),
            r"edges must be integers of shape \(n_edges, 2\), got \(2,\) of int64",
        ),
        (
            (np.zeros((2, 2)), np.eye(2), [(0.0, 1.0)]),
            "edges must hold integers, got dtype float64",
        ),
    ],
)
def test_from_arrays_names_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        PairwiseScores.from_arrays(*arguments)


def test_the_constructor_checks():
    unary, table, edges = np.zeros((2, 2)), np.zeros((1, 2, 2)), np.array([[0, 1]])
    with pytest.raises(ValueError, match="unary must be float64, got dtype float32"):
        PairwiseScores(unary.astype(np.float32), table, edges)
    with pytest.raises(TypeError, match=r"edges must be a numpy array, got list: use .*from"):
        PairwiseScores(unary, table, [(0, 1)])
    # Compiled oracles would read outside of the arrays.
    with pytest.raises(ValueError, match="edges must name nodes 0 to 1, got 0 to 1000000"):
        PairwiseScores(unary, table, 10**6 * edges)
    with pytest.raises(ValueError, match="unary must hold finite numbers or -inf, got NaN"):
        PairwiseScores(unary * np.nan, table, edges)


def test_sums_that_overflow_are_refused():
    for unary, table in ((np.full((3, 2), 1e308), np.zeros((2, 2))), (np.zeros((3, 2)), -1e308)):
        with pytest.raises(ValueError, match=r"may leave the range of float64.*: scale all"):
            PairwiseScores.from_arrays(unary, np.broadcast_to(table, (2, 2)), [(0, 1), (1, 2)])
    large = PairwiseScores.from_arrays(np.full((3, 2), 1e305), np.eye(2), [(0, 1)])
    assert large.value([0, 0, 1]) == pytest.approx(3e305)


def test_from_arrays_keeps_one_table_as_one_table():
    edges = [(0, 1), (2, 1)]
    table = np.arange(4.0).reshape(2, 2)
    view = np.broadcast_to(table.astype(np.float32), (2, 2, 2))
    for pairwise in (table, table.tolist(), view, np.broadcast_to(table, (2, 2, 2))):
        scores = PairwiseScores.from_arrays(np.zeros((3, 2)), pairwise, edges)
        assert scores.pairwise.strides[0] == 0
        assert scores.pairwise.shape == (2, 2, 2)
        assert scores.pairwise.dtype == np.float64
        np.testing.assert_array_equal(scores.pairwise[1], table)
    assert PairwiseScores.from_arrays(np.zeros((3, 2)), table, []).n_edges == 0


def test_pairwise_scores_are_pickled_without_expanding_the_table():
    edges = np.column_stack([np.arange(999), np.arange(1, 1000)])
    scores = PairwiseScores.from_arrays(np.zeros((1000, 20)), np.eye(20), edges)
    text = pickle.dumps(scores)
    assert len(text) < 300_000  # 3.2 MB with all tables
    again = pickle.loads(text)
    assert again.pairwise.strides[0] == 0
    for one, other in zip(parts(again), parts(scores)):
        np.testing.assert_array_equal(one, other)
    plain = pickle.loads(pickle.dumps(PairwiseScores.from_arrays(np.eye(2))))
    np.testing.assert_array_equal(plain.unary, np.eye(2))


def test_value_wants_a_label_for_each_node():
    scores = PairwiseScores.from_arrays(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"labels must hold one state for each of 3 nodes, got"):
        scores.value([0, 1])
    for wrong in (-1, 2):
        with pytest.raises(ValueError, match=r"labels must be states from 0 to 1, got"):
            scores.value([0, wrong, 1])
    for labels in ([0.0, 1.0, 0.0], ["0", "1", "0"], None, [[0], [1, 0]], [0, None, 1]):
        with pytest.raises(ValueError, match=r"labels must (hold integers|be an array)"):
            scores.value(labels)


@pytest.mark.parametrize("scores", [None, 3, "abc", np.eye(2), [[0.0, 1.0]], {}])
def test_oracles_want_scores(scores):
    for oracle in (Enumeration(), TreeMaxProduct(), Viterbi(), ICM(), GraphCut(), QPBO(), MILP(),
                   LPRelaxation(), TRWS(), BranchAndBound(), IteratedLocalSearch(), Elimination(),
                   BestOf(), CheckedOracle(len)):  # fmt: skip
        for method in ("argmax", "marginals", "log_partition", "max_marginals"):
            if hasattr(oracle, method):
                with pytest.raises(TypeError, match=r"scores must be PairwiseScores, got "):
                    getattr(oracle, method)(scores)


def test_pairwise_scores_cannot_be_reassigned():
    scores = PairwiseScores.from_arrays(np.eye(2))
    with pytest.raises(AttributeError):
        scores.unary = np.zeros((2, 2))
