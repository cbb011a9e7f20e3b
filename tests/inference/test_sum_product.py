"""Marginals, max-marginals and samples of chains and forests against brute force."""

import numpy as np
import pytest

from _gibbs import assert_frequencies, brute_force
from _random_scores import random_scores
from sklearn_fw.inference import Elimination, Enumeration, PairwiseScores, TreeMaxProduct, Viterbi

ORACLES = [(Viterbi(), "chain"), (TreeMaxProduct(), "forest"), (Elimination(), "any")]


@pytest.mark.parametrize("oracle, graph", ORACLES, ids=str)
@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0, 1e4])
def test_probabilities_of_any_size(oracle, graph, scale, rng):
    for kind in ("normal", "shared table", "forbidden"):
        for _ in range(30):
            scores = random_scores(rng, kind, graph, n_nodes=6)
            scores = PairwiseScores(scale * scores.unary, scale * scores.pairwise, scores.edges)
            expected = brute_force(scores)
            if expected.log_partition == -np.inf:
                continue
            node, edge, log_partition = oracle.marginals(scores)
            assert log_partition == pytest.approx(expected.log_partition, rel=1e-12)
            # Down to 1e-150 even small probabilities are right to many digits.
            np.testing.assert_allclose(node, expected.node, rtol=1e-8, atol=1e-150)
            np.testing.assert_allclose(edge, expected.edge, rtol=1e-8, atol=1e-150)


@pytest.mark.slow
def test_what_a_table_makes_up_for_is_not_lost():
    """State 1 of the first node is e^-2000 times as good, but alone fits the second node."""
    unary = np.array([[0.0, -2000.0], [0.0, 0.0]])
    pairwise = np.array([[[0.0, -5000.0], [-1000.0, 0.0]]])
    scores = PairwiseScores.from_arrays(unary, pairwise, [(0, 1)])
    for oracle in (Viterbi(), TreeMaxProduct()):
        node, edge, log_partition = oracle.marginals(scores)
        np.testing.assert_allclose(node, [[1.0, 0.0], [1.0, 0.0]], rtol=0, atol=1e-15)
        assert log_partition == 0.0
        np.testing.assert_allclose(
            oracle.max_marginals(scores), [[0.0, -2000.0], [0.0, -2000.0]], rtol=1e-15
        )
        raised = PairwiseScores(unary + [[0.0, 0.0], [0.0, 2000.0]], pairwise, scores.edges)
        node, edge, log_partition = oracle.marginals(raised)
        np.testing.assert_allclose(edge[0], [[0.5, 0.0], [0.0, 0.5]], rtol=1e-14, atol=1e-300)
        assert log_partition == pytest.approx(np.log(2.0), rel=1e-14)


@pytest.mark.parametrize("oracle, graph", [*ORACLES, (Enumeration(), "any")], ids=str)
def test_samples_have_the_frequencies_of_the_marginals(oracle, graph, rng):
    for kind in ("normal", "forbidden", "missing states"):
        scores = random_scores(rng, kind, graph, n_nodes=5)
        node, edge, _ = oracle.marginals(scores)
        labels = oracle.sample(scores, 4000, random_state=3)
        assert labels.shape == (4000, 5)
        assert labels.dtype == np.int32
        assert_frequencies(labels, node, edge, scores.edges)
        np.testing.assert_array_equal(labels, oracle.sample(scores, 4000, random_state=3))


@pytest.mark.parametrize("oracle", [Viterbi(), TreeMaxProduct(), Enumeration()], ids=repr)
class TestContract:
    def test_nothing_allowed(self, oracle):
        scores = PairwiseScores.from_arrays(np.full((2, 2), -np.inf), np.zeros((2, 2)), [(0, 1)])
        assert oracle.log_partition(scores) == -np.inf
        assert np.all(oracle.max_marginals(scores) == -np.inf)
        with pytest.raises(ValueError, match="every labeling is forbidden"):
            oracle.marginals(scores)
        with pytest.raises(ValueError, match="every labeling is forbidden"):
            oracle.sample(scores, 2)


@pytest.mark.parametrize("scale", [1e14, 1e16, 1e20, 1e100, 1e290, 1e305])
@pytest.mark.parametrize(
    "oracle", [Viterbi(), TreeMaxProduct(), Enumeration(), Elimination()], ids=str
)
def test_marginals_of_scores_of_very_different_size(oracle, scale, rng):
    """Tables so much larger than scores of nodes decide alone, up to rounding."""
    edges = np.array([[0, 1], [1, 2]])
    for _ in range(10):
        unary, tables = rng.normal(size=(3, 2)), rng.normal(size=(2, 2, 2))
        scores = PairwiseScores.from_arrays(unary, scale * tables, edges)
        best = Enumeration().argmax(PairwiseScores.from_arrays(np.zeros((3, 2)), tables, edges))[0]
        try:
            node, edge, _ = oracle.marginals(scores)
        except ValueError as error:
            lost = str(error)
        else:
            np.testing.assert_allclose(node[np.arange(3), best], 1.0, rtol=0, atol=1e-9)
            np.testing.assert_allclose(edge.sum(axis=(1, 2)), 1.0, rtol=0, atol=1e-9)
            lost = "lost in rounding"
        assert "lost in rounding" in lost
