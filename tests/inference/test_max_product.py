"""Max-product: exact without cycles, honest with them."""

import numpy as np
import pytest

from _random_scores import FOREST_KINDS, best_value, random_scores, size_of
from sklearn_fw._kernels.graphs import message_passing
from sklearn_fw.inference import TRWS, Elimination, MaxProduct, PairwiseScores
from sklearn_fw.inference._oracles._adjacency import adjacency, prepare


@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.parametrize("kind", FOREST_KINDS)
def test_exact_without_cycles(kind, damping, rng):
    for _ in range(20):
        scores = random_scores(rng, kind, "forest")
        _, value, upper_bound = MaxProduct(damping).argmax(scores)
        best = best_value(scores)
        assert upper_bound == np.inf
        assert value == best or value == pytest.approx(best, rel=1e-9, abs=1e-9 * size_of(scores))


@pytest.mark.parametrize("forbidden", [False, True])
def test_potts_messages_are_those_of_their_tables(forbidden, rng):
    """In linear time, for rewards and penalties of any size, and some that forbid."""
    for _ in range(20):
        n, k = 12, int(rng.integers(1, 6))
        unary = rng.normal(size=(n, k))
        unary[rng.random((n, k)) < 0.2] = -np.inf
        edges = np.array([(i, j) for i in range(n) for j in range(i) if rng.random() < 0.3])
        equal, differ = rng.normal(size=(2, len(edges), 1, 1))
        if forbidden:
            differ[rng.random(len(edges)) < 0.2] = -np.inf
            equal[rng.random(len(edges)) < 0.2] = -np.inf
        scores = PairwiseScores(unary, np.where(np.eye(k) > 0, equal, differ), edges)
        problem = prepare(scores, adjacency(edges, n, k))
        potts = message_passing.equal_and_other(problem.tables[0])
        assert not np.isnan(potts).any()
        found = []
        for two in (potts, np.full_like(potts, np.nan)):
            messages, labels = np.zeros((2, len(edges), k)), np.zeros(n, np.int32)
            sweeps = [
                message_passing.max_product_sweep(*problem, two, messages, labels, 0.3, upwards)
                for upwards in (True, False, True)
            ]
            found.append((messages, labels, np.array(sweeps)))
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_one_long_cycle(rng):
    """Messages go around and are right there, more often than those that make a bound."""
    n = 40
    edges = np.column_stack([np.arange(n), (np.arange(n) + 1) % n])
    found = [
        (MaxProduct().argmax(scores)[1], TRWS().argmax(scores)[1], Elimination().argmax(scores)[1])
        for scores in (
            PairwiseScores(rng.normal(size=(n, 4)), rng.normal(size=(n, 4, 4)), edges)
            for _ in range(20)
        )
    ]
    ours, reweighted, best = np.array(found).T
    assert np.sum(ours >= best - 1e-9) >= max(18, np.sum(reweighted >= best - 1e-9))
