"""What every oracle on graphs keeps: scores, threads, clones, and labelings that are forbidden."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from _random_scores import parts, read_only
from sklearn_fw.inference import (
    ICM,
    MILP,
    QPBO,
    TRWS,
    BestOf,
    BranchAndBound,
    CutMoves,
    Elimination,
    Enumeration,
    GraphCut,
    IteratedLocalSearch,
    LPRelaxation,
    MaxProduct,
    PairwiseScores,
    TreeMaxProduct,
    Viterbi,
)

EXACT = [Viterbi(), TreeMaxProduct(), Enumeration(), Enumeration(2000), Elimination(), GraphCut()]
PROVING = [QPBO(), MILP(), LPRelaxation(), BranchAndBound(), BranchAndBound(max_nodes=1)]
SEARCHING = [
    ICM(),
    TRWS(),
    MaxProduct(),
    CutMoves(),
    CutMoves("swap"),
    IteratedLocalSearch(n_rounds=20),
    BestOf(),
    BestOf(["icm", BranchAndBound()]),
]
TWO_STATES = (GraphCut, QPBO)
CHAIN = [(0, 1), (1, 2), (2, 3)]


def same(one, other):
    np.testing.assert_array_equal(one[0], other[0])
    assert one[1:] == other[1:]


def chain(rng, n_states):
    """Attractive scores of a chain whose arrays are strided."""
    pairwise = 0.1 * rng.normal(size=(6, n_states, n_states))[::2]
    pairwise += np.eye(n_states)
    unary = rng.normal(size=(4, 2 * n_states))[:, ::2]
    return PairwiseScores(unary, pairwise, np.array(CHAIN, np.int32))


@pytest.mark.parametrize("oracle", [*EXACT, *PROVING, *SEARCHING], ids=repr)
class TestContract:
    @pytest.mark.slow
    def test_scores_stay_unchanged_and_may_be_read_only_or_strided(self, oracle, rng):
        scores = chain(rng, 2 if isinstance(oracle, TWO_STATES) else 3)
        expected = oracle.argmax(PairwiseScores(*(array.copy() for array in parts(scores))))
        start = np.zeros(4, np.int32)
        with read_only(scores):
            same(oracle.argmax(scores), expected)
            oracle.argmax(scores, start=start)
            if hasattr(oracle, "top_k"):
                oracle.top_k(scores, 2)
            if hasattr(oracle, "marginals"):
                oracle.marginals(scores)
                oracle.sample(scores, 2, random_state=0)
        assert not start.any()

    def test_threads_share_an_oracle(self, oracle, rng):
        many = [chain(rng, 2) for _ in range(20)]
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(oracle.argmax, many))
        for scores, answer in zip(many, answers):
            same(answer, oracle.argmax(scores))

    def test_is_an_estimator_that_keeps_nothing(self, oracle):
        scores = chain(np.random.default_rng(3), 2)
        expected = oracle.argmax(scores)
        assert vars(oracle).keys() == oracle.get_params(deep=False).keys()
        for twin in (clone(oracle), pickle.loads(pickle.dumps(oracle))):
            assert repr(twin) == repr(oracle)
            assert twin.exact is oracle.exact
            same(twin.argmax(scores), expected)

    def test_nothing_allowed(self, oracle):
        table = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
        for unary in ([[0.0, 0.0], [-np.inf, -np.inf]], [[-np.inf, 0.0], [0.0, -np.inf]]):
            scores = PairwiseScores.from_arrays(unary, table, [(0, 1)])
            labels, value, bound = oracle.argmax(scores)
            assert labels.shape == (2,)
            assert value == -np.inf
            assert bound in (-np.inf, np.inf)
            if oracle in (*EXACT, *PROVING):
                assert bound == -np.inf
            if hasattr(oracle, "top_k"):
                values, labels = oracle.top_k(scores, 3)
                assert values.shape == (0,)
                assert labels.shape == (0, 2)
