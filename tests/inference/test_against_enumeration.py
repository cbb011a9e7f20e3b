"""All oracles on graphs against enumeration in plain Python, on all kinds of scores."""

import numpy as np
import pytest

from _gibbs import assert_exact, brute_force
from _random_scores import (
    CHAIN_KINDS,
    FOREST_KINDS,
    KINDS,
    best_value,
    parts,
    random_scores,
    same,
    size_of,
)
from _references import best_labelings, labeling_value
from sklearn_fw import inference

TWO = {"n_states": 2}
ATTRACTIVE = {**TWO, "attractive": True}
# Oracle, what its graphs are, problems of each kind, share of the largest score that it may err by.
ORACLES = {
    "viterbi": (inference.Viterbi(), {"graph": "chain"}, 60, 1e-12),
    "tree": (inference.TreeMaxProduct(), {"graph": "forest"}, 60, 1e-12),
    "tree, chains": (inference.TreeMaxProduct(), {"graph": "chain"}, 60, 1e-12),
    "enumeration": (inference.Enumeration(), {}, 60, 1e-12),
    "elimination": (inference.Elimination(), {}, 60, 1e-12),
    "graph cut": (inference.GraphCut(), ATTRACTIVE, 100, 1e-13),
    "qpbo": (inference.QPBO(), TWO, 100, 1e-13),
    "qpbo, attractive": (inference.QPBO(), ATTRACTIVE, 100, 1e-13),
    "milp": (inference.MILP(), {}, 10, 1e-9),
    "lp": (inference.LPRelaxation(), {}, 10, 1e-9),
    "toulbar2": (inference.Toulbar2(), {}, 20, 1e-12),
    "branch and bound": (inference.BranchAndBound(), {}, 60, 1e-12),
    "branch and bound, few passes": (
        inference.BranchAndBound(max_iter=1, node_iter=1),
        {},
        60,
        1e-12,
    ),
    "branch and bound, 1": (inference.BranchAndBound(max_nodes=1), {}, 60, 1e-12),
    "branch and bound, 3": (inference.BranchAndBound(max_nodes=3), {}, 60, 1e-12),
    "trws": (inference.TRWS(), {}, 60, 1e-12),
    "trws, 1": (inference.TRWS(max_iter=1), {}, 60, 1e-12),
    "max-product": (inference.MaxProduct(), {}, 30, 1e-12),
    "icm": (inference.ICM(), {}, 60, 1e-12),
    "local search": (inference.IteratedLocalSearch(n_rounds=20), {}, 60, 1e-12),
    "expansion": (inference.CutMoves(), {}, 60, 1e-12),
    "swap": (inference.CutMoves("swap"), {}, 60, 1e-12),
    "best of": (inference.BestOf(), {}, 60, 1e-12),
    "best of quick": (inference.BestOf("quick"), {}, 60, 1e-12),
    "best of named": (inference.BestOf(["icm", inference.BranchAndBound()]), {}, 60, 1e-12),
}
KINDS_OF = {"chain": CHAIN_KINDS, "forest": FOREST_KINDS}
SURE = "graph cut", "qpbo, attractive"  # of scores that a cut can solve
CASES = [
    (name, kind)
    for name, (_, options, _, _) in ORACLES.items()
    for kind in KINDS_OF.get(options.get("graph"), KINDS)
]


def assert_answer(name, scores, start, tolerance):
    """Labels, value and bound are what they are said to be; returns whether value is bound."""
    oracle = ORACLES[name][0]
    labels, value, upper_bound = oracle.argmax(scores, start)
    assert labels.shape == (scores.n_nodes,)
    assert labels.dtype == np.int32
    assert type(value) is type(upper_bound) is float
    assert same(value, labeling_value(*parts(scores), labels), tolerance)
    best = best_value(scores)
    assert value <= best + tolerance
    if value == upper_bound:
        assert same(value, best, tolerance)
    else:
        assert not oracle.exact
        assert name not in SURE
        assert value < upper_bound
        assert upper_bound >= best
    if start is not None and name != "lp":
        assert value >= scores.value(start) - tolerance
    return value == upper_bound


def assert_top_k(oracle, scores, k, tolerance):
    values, labels = oracle.top_k(scores, k)
    expected, _ = best_labelings(*parts(scores), k)
    np.testing.assert_allclose(values, expected, rtol=0, atol=tolerance)
    assert labels.shape == (len(expected), scores.n_nodes)
    assert labels.dtype == np.int32
    assert np.all(np.diff(values) <= 0)
    assert len({tuple(row) for row in labels}) == len(labels)
    found = [labeling_value(*parts(scores), row) for row in labels]
    np.testing.assert_allclose(found, values, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name, kind", CASES, ids=[": ".join(case) for case in CASES])
def test_answers(name, kind, rng, request):
    oracle, options, n, error = ORACLES[name]
    if name == "toulbar2":
        request.getfixturevalue("extra")("toulbar2", "pytoulbar2")
    n_exact = 0
    for i in range(n):
        scores = random_scores(rng, kind, **{"n_states": 2 + i % 2, **options})
        tolerance = error * size_of(scores) * (scores.n_nodes + scores.n_edges)
        start = rng.integers(scores.n_states, size=scores.n_nodes) if i % 3 else None
        n_exact += assert_answer(name, scores, start, tolerance)
        if hasattr(oracle, "top_k"):
            assert_top_k(oracle, scores, int(rng.choice([1, 2, 5, 10_000])), max(tolerance, 1e-12))
        if hasattr(oracle, "marginals"):
            assert_exact(oracle, scores)
        elif hasattr(oracle, "max_marginals"):
            best = oracle.max_marginals(scores)
            expected = brute_force(scores).best
            np.testing.assert_allclose(best, expected, rtol=0, atol=tolerance)
    assert n_exact > n / 5 or name != "qpbo"
