"""Max-product: exact without cycles, honest with them."""

import numpy as np
import pytest

from _random_scores import FOREST_KINDS, best_value, random_scores, size_of
from sklearn_fw.inference import TRWS, Elimination, MaxProduct, PairwiseScores


@pytest.mark.slow
@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.parametrize("kind", FOREST_KINDS)
def test_exact_without_cycles(kind, damping, rng):
    for _ in range(20):
        scores = random_scores(rng, kind, "forest")
        _, value, upper_bound = MaxProduct(damping).argmax(scores)
        best = best_value(scores)
        assert upper_bound == np.inf
        assert value == best or value == pytest.approx(best, rel=1e-9, abs=1e-9 * size_of(scores))


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
