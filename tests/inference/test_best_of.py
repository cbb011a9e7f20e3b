"""BestOf: the best value and the smallest bound of several oracles."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from _random_scores import (
    grid,
    ising_grid,
)
from sklearn_fw.inference import (
    ICM,
    TRWS,
    BestOf,
    PairwiseScores,
)


class Fixed(BaseEstimator):
    """An oracle with a prepared answer, which writes down that it was asked."""

    def __init__(self, answer, asked):
        self.answer = answer
        self.asked = asked

    def argmax(self, scores, start=None):
        self.asked.append((self.answer, start))
        return self.answer


def four_states():
    return PairwiseScores.from_arrays([[1.0, 3.0, 3.0, 2.0]])


def test_best_of_takes_the_best_value_and_the_smallest_bound():
    asked = []
    answers = [([0], 1.0, 9.0), ([1], 3.0, np.inf), ([2], 3.0, 7.0), ([3], 2.0, 8.0)]
    oracle = BestOf([Fixed(answer, asked) for answer in answers])
    labels, value, upper_bound = oracle.argmax(four_states(), start=[3])
    assert (labels.tolist(), value, upper_bound) == ([1], 3.0, 7.0)
    # Each begins with the best labelling known.
    assert asked == list(zip(answers, [[3], [0], [1], [1]]))


def test_best_of_asks_nobody_after_an_exact_answer():
    asked = []
    answers = [([0], 1.0, 3.0), ([1], 3.0 + 1e-15, 4.0), ([2], 3.0, 3.0)]
    oracle = BestOf([Fixed(answer, asked) for answer in answers])
    # Rounding: the bound of the first is below the value of the second.
    assert oracle.argmax(four_states()) == ([1], 3.0 + 1e-15, 3.0 + 1e-15)
    assert len(asked) == 2


def test_compare_lists_what_was_tried_in_order():
    answers = [([0], 1.0, 9.0), ([1], 3.0, np.inf), ([2], 3.0, 3.0), ([3], 2.0, 8.0)]
    oracles = ["icm", *(Fixed(answer, []) for answer in answers)]
    attempts = BestOf(oracles[1:]).compare(four_states(), start=[3])
    # Nobody asks the one behind an exact answer.
    assert [tried.oracle for tried in attempts] == oracles[1:4]
    assert [(tried.value, tried.upper_bound) for tried in attempts] == [
        answer[1:] for answer in answers[:3]
    ]
    assert all(0.0 <= tried.seconds < 60.0 for tried in attempts)
    assert next(tried.oracle for tried in BestOf(oracles).compare(four_states())) == "icm"


def test_best_of_takes_functions_and_says_what_it_cannot_take(rng):
    scores = grid(rng, 3, 1.0, n_states=3)
    labels, _, upper_bound = BestOf([lambda scores: np.zeros(9, int)]).argmax(scores)
    assert (labels.tolist(), upper_bound) == ([0] * 9, np.inf)
    with pytest.raises(TypeError, match="oracles must be 'auto' or a list of oracles, got 'trws'"):
        BestOf("trws").argmax(scores)
    with pytest.raises(ValueError, match="oracles must hold at least one oracle"):
        BestOf([]).argmax(scores)
    with pytest.raises(ValueError, match="oracle='nobody' is unknown"):
        BestOf(["nobody"]).argmax(scores)
    with pytest.raises(TypeError, match="is the class ICM, pass an object"):
        BestOf([ICM]).argmax(scores)
    with pytest.raises(ValueError, match="needs two states per node, got 3"):
        BestOf(["icm", "qpbo"]).argmax(scores)


def test_best_of_auto_is_as_good_as_each_of_its_oracles(rng):
    for scores in [ising_grid(rng, 6, 2.0), grid(rng, 6, 1.0, n_states=3)]:
        start = rng.integers(scores.n_states, size=scores.n_nodes)
        _, value, upper_bound = BestOf().argmax(scores, start)
        for oracle in (TRWS(), ICM()):
            _, other, bound = oracle.argmax(scores, start)
            assert value >= other
            assert upper_bound <= bound
