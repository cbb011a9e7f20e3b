"""Bucket elimination against brute force, closed forms and published junction-tree results."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from _gibbs import assert_exact
from _random_scores import grid_edges, random_scores
from sklearn_fw.inference import Elimination, PairwiseScores


def clique(n_nodes):
    return np.column_stack(np.tril_indices(n_nodes, -1))


def wide_scores():
    return PairwiseScores.from_arrays(np.zeros((900, 2)), np.eye(2), grid_edges(30, 30))


@pytest.mark.parametrize("coupling, field", [(0.02, 0.1), (-0.3, 0.5), (1.0, -0.01)])
@pytest.mark.parametrize("n_nodes", [11, 19])
def test_clique_equals_the_curie_weiss_model(coupling, field, n_nodes):
    spin = np.array([-1.0, 1.0])
    scores = PairwiseScores.from_arrays(
        np.tile(field * spin, (n_nodes, 1)), coupling * np.outer(spin, spin), clique(n_nodes)
    )
    n_up = np.arange(n_nodes + 1)
    total = 2 * n_up - n_nodes
    energy = field * total + coupling * (total**2 - n_nodes) / 2
    log_count = [math.log(math.comb(n_nodes, k)) for k in n_up]
    log_partition = logsumexp(energy + log_count)
    probabilities = np.exp(energy + log_count - log_partition)
    node, edge, value = Elimination().marginals(scores)
    assert value == pytest.approx(log_partition, rel=1e-13)
    np.testing.assert_allclose(node[:, 1], probabilities @ n_up / n_nodes, rtol=0, atol=1e-12)
    both = probabilities @ (n_up * (n_up - 1)) / (n_nodes * (n_nodes - 1))
    np.testing.assert_allclose(edge[:, 1, 1], both, rtol=0, atol=1e-12)
    assert Elimination().argmax(scores)[1] == pytest.approx(energy.max(), rel=1e-13)
    best = Elimination().max_marginals(scores)
    np.testing.assert_allclose(best[:, 0], energy[n_up < n_nodes].max(), rtol=1e-12)
    np.testing.assert_allclose(best[:, 1], energy[n_up > 0].max(), rtol=1e-12)


@pytest.mark.parametrize("n_rows", [13, 16, 20])
def test_grids_are_swept_from_end_to_end(n_rows, rng):
    """The greedy order makes tables of 2^30 numbers for 20 rows."""
    edges = grid_edges(n_rows, n_rows)
    shuffled = rng.permutation(n_rows**2)[edges]
    for numbering in (edges, shuffled):
        scores = PairwiseScores.from_arrays(np.zeros((n_rows**2, 2)), np.eye(2), numbering)
        assert Elimination().largest_table(scores) <= 2 ** (n_rows + 2)


def test_ties_go_to_low_states_from_the_last_node_to_the_first():
    zero = PairwiseScores.from_arrays(np.zeros((4, 3)), np.zeros((3, 3)), clique(4))
    assert Elimination().argmax(zero)[0].tolist() == [0, 0, 0, 0]


# ---- the plan ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edges, size, largest",
    [
        (clique(10), [2] * 10, 2**10),
        (clique(4), [2, 3, 4, 5], 120),
        (np.array([(0, 1), (1, 2), (2, 3), (3, 0)]), [3] * 4, 27),
        (np.array([(0, t) for t in range(1, 40)]), [4] * 40, 16),
        (np.array([(0, t) for t in range(1, 4)]), [1, 2, 3, 4], 4),
        (np.stack([np.repeat(np.arange(6), 9), np.tile(np.arange(6, 15), 6)], 1), [2] * 15, 2**7),
        (grid_edges(4, 100), [2] * 400, 2**5),
        (np.empty((0, 2), np.int64), [2, 5], 5),
    ],
    ids=["clique", "sizes", "cycle", "star", "one state", "bipartite", "ladder", "no edges"],
)  # fmt: skip
def test_largest_table(edges, size, largest):
    n_states = max(size)
    unary = np.where(np.arange(n_states) < np.array(size)[:, None], 0.0, -np.inf)
    unary[:, 0] = 0.0
    scores = PairwiseScores(unary, np.zeros((len(edges), n_states, n_states)), edges)
    assert Elimination().largest_table(scores) == largest
    Elimination(max_table_size=largest).argmax(scores)
    with pytest.raises(ValueError, match=f"table of {largest:,} numbers"):
        Elimination(max_table_size=largest - 1).argmax(scores)


def test_inner_forbidden_states_count_but_padding_does_not():
    unary = np.zeros((3, 4))
    unary[:, 1] = -np.inf
    scores = PairwiseScores.from_arrays(unary, np.zeros((4, 4)), clique(3))
    assert Elimination().largest_table(scores) == 64
    scores.unary[:, 3] = -np.inf
    assert Elimination().largest_table(scores) == 27


def test_a_plan_lasts_as_long_as_the_graph(rng):
    oracle = Elimination()
    scores = random_scores(rng, "normal", n_nodes=6)
    first = oracle._walk(scores).plan
    unary, pairwise = (rng.normal(size=a.shape) for a in (scores.unary, scores.pairwise))
    assert oracle._walk(PairwiseScores(unary, pairwise, scores.edges)).plan is first
    scores.unary[0, -1] = -np.inf  # one state less
    assert oracle._walk(scores).plan is not first
    assert_exact(oracle, scores)
    for _ in range(20):  # one object for graphs of all sizes
        assert_exact(oracle, random_scores(rng, "normal"))


# ---- contract ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        lambda oracle: oracle.argmax(wide_scores()),
        lambda oracle: oracle.marginals(wide_scores()),
        lambda oracle: oracle.log_partition(wide_scores()),
        lambda oracle: oracle.max_marginals(wide_scores()),
        lambda oracle: oracle.sample(wide_scores(), 1),
    ],
    ids=["argmax", "marginals", "log_partition", "max_marginals", "sample"],
)
def test_wide_graphs_are_refused_with_the_remedies(question):
    with pytest.raises(ValueError, match="max_table_size == 0, must be >= 1"):
        Elimination(0).argmax(wide_scores())
    pattern = (
        r"table of (at least )?[\d,]+ numbers \(induced width \d+\), but "
        r"max_table_size=67,108,864: raise it.*oracle='trws' or 'approx'.*TRWMarginals"
    )
    with pytest.raises(ValueError, match=pattern):
        question(Elimination())


def test_many_tables_are_refused_too(monkeypatch):
    """Long graphs are narrow, and their messages add up."""
    length = 300
    scores = PairwiseScores.from_arrays(np.zeros((2 * length, 2)), np.eye(2), grid_edges(length, 2))
    oracle = Elimination(max_table_size=8)
    assert oracle.largest_table(scores) == 8
    assert oracle.cost(scores) < np.inf
    monkeypatch.setattr("sklearn_fw.inference._oracles._elimination.MOST_NUMBERS", 2**10)
    assert oracle.cost(scores) == np.inf
    assert Elimination(max_table_size=512).cost(scores) < np.inf
    with pytest.raises(ValueError, match=r"messages of 2,\d+ numbers together.*max_table_size=8"):
        oracle.argmax(scores)


@pytest.mark.parametrize("edges, width", [(grid_edges(70, 70), r"4\d"), (clique(100), 99)])
def test_tables_that_can_never_be_stored_end_the_search(edges, width):
    scores = PairwiseScores.from_arrays(np.zeros((edges.max() + 1, 2)), np.eye(2), edges)
    assert Elimination().largest_table(scores) > 2**40
    with pytest.raises(ValueError, match=rf"at least [\d,]+ numbers \(induced width {width}\)"):
        Elimination(max_table_size=2**60).argmax(scores)
