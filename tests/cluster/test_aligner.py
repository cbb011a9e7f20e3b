"""Alignment of token sequences: the objective, known optima, the rule of steps, refusals."""

import itertools

import numpy as np
import pytest

from sklearn_fw.cluster import SequenceAligner
from sklearn_fw.cluster._aligner import Alignment
from sklearn_fw.datasets import make_scripts


def random_problem(rng):
    tokens, starts = rng.integers(0, 4, size=11), np.array([0, 3, 7, 11])
    costs = np.where(np.eye(4) > 0, -1.0, 100.0)
    slots = np.concatenate([np.sort(rng.choice(6, size=k, replace=False)) for k in (3, 4, 4)])
    return Alignment(tokens, starts, costs, 6), slots


def test_costs_follow_the_names_of_a_data_frame():
    pandas = pytest.importorskip("pandas")
    tokens, costs = (
        ["a", "b", "c"],
        np.array([[-1.0, 5.0, 2.0], [5.0, -1.0, 9.0], [2.0, 9.0, -1.0]]),
    )
    named = pandas.DataFrame(costs, index=tokens, columns=tokens).loc[list("cab"), list("bca")]
    for given in (named, pandas.DataFrame(costs)):
        aligner = SequenceAligner(2, cost_matrix=given, vocabulary=tokens, random_state=0)
        found = aligner.fit([["a", "b"], ["a", "c"], ["b", "c"]]).cost_matrix_
        np.testing.assert_array_equal(found, costs)


def test_objective_is_the_sum_over_pairs(rng):
    for _ in range(20):
        problem, slots = random_problem(rng)
        x = np.zeros((11, 6))
        x[np.arange(11), slots] = 1.0
        pairs = itertools.product(range(11), repeat=2)
        together = [problem.tokens[[i, j]] for i, j in pairs if slots[i] == slots[j]]
        by_hand = sum(problem.costs[a, b] for a, b in together) / 11
        assert problem.value(slots) == pytest.approx(by_hand, rel=1e-12)
        assert problem(x.ravel())[0] == pytest.approx(by_hand, rel=1e-12)
        u = rng.random(66)
        gradient = problem(u)[1]
        for k in range(0, 66, 7):
            ahead = np.eye(66)[k] * 1e-4
            slope = (problem(u + ahead)[0] - problem(u - ahead)[0]) / 2e-4
            assert gradient[k] == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.slow
def test_refinement_never_raises_the_objective(rng):
    for seed in range(20):
        problem, slots = random_problem(rng)
        better = problem.refined(slots, np.random.RandomState(seed))
        assert problem.value(better) <= problem.value(slots) + 1e-9
        for a, b in itertools.pairwise(problem.starts):
            assert np.all(np.diff(better[a:b]) > 0)
        # No single sequence can do better
        for a, b in itertools.pairwise(problem.starts):
            for other in itertools.combinations(range(6), b - a):
                trial = better.copy()
                trial[a:b] = other
                assert problem.value(trial) >= problem.value(better) - 1e-8


@pytest.mark.slow
def test_equal_sequences_reach_the_optimum():
    for script in ("abcde", "edabc"):
        aligner = SequenceAligner(5, n_init=3, random_state=0).fit([list(script)] * 7)
        assert aligner.objective_ == pytest.approx(-7.0, rel=1e-12)
        assert aligner.step_names_ == list(script)
        assert aligner.support_.tolist() == [7] * 5
        assert all(labels.tolist() == [0, 1, 2, 3, 4] for labels in aligner.labels_)


@pytest.mark.slow
def test_script_of_the_generator_is_found():
    data = make_scripts(random_state=0)
    aligner = SequenceAligner(10, n_init=2, random_state=0).fit(data.sequences)
    n_tokens = sum(map(len, data.sequences))
    counts = np.bincount(np.concatenate(data.sequences), minlength=45)
    planted = -(np.sum(counts[:10] ** 2) + counts[10:].sum()) / n_tokens
    assert aligner.step_names_ == data.script
    assert aligner.objective_ <= planted + 0.5
    assert aligner.gap_ >= 0.0
    assert np.array_equal(np.concatenate(aligner.predict(data.sequences)) >= 0,
                          np.concatenate(aligner.labels_) >= 0)  # fmt: skip
    assert aligner.score(data.sequences) > 0.0


@pytest.mark.slow
def test_ties_beyond_the_number_of_steps_are_dropped():
    lines = [list("abc"), list("abc"), list("ab")]
    assert SequenceAligner(2, random_state=0).fit(lines).step_names_ == ["a", "b"]
    aligner = SequenceAligner(1, random_state=0).fit(lines)
    assert aligner.n_steps_ == 0
    assert aligner.step_names_ == []


@pytest.mark.parametrize("keep, kept", [("last", [-1, 0, 1]), ("first", [0, 1, -1])])
def test_one_of_equal_tokens_counts(keep, kept):
    aligner = SequenceAligner(2, keep=keep, random_state=0)
    labels = aligner.fit_predict([list("aba"), list("ab" if keep == "first" else "ba")] * 2)
    assert labels[0].tolist() == kept


def test_few_slots_are_told_of():
    with pytest.warns(UserWarning, match="slots hold tokens of a cost above zero"):
        SequenceAligner(2, n_slots=2, random_state=0).fit([list("ab"), list("cd")])


@pytest.mark.parametrize("sequences, options, error, message", [
    ([["a"], []], {}, ValueError, r"sequences\[1\] must be a list of 1 or more tokens"),
    ([], {}, ValueError, "sequences must be a list of 1 or more"),
    ([["a"], "b"], {}, TypeError, r"sequences\[1\] must be a list of tokens"),
    ([["a"], [["b"]]], {}, TypeError, r"sequences\[1\] holds \['b'\]: take text"),
    ([["a"], [None]], {}, ValueError, r"sequences\[1\] holds None"),
    ([["a"], [object()]], {}, TypeError, r"sequences\[1\] holds .* as tokens"),
    ([["a", "a"], ["b"]], {"max_vocabulary": 1}, ValueError, "sequence 1 holds no token of the"),
    ([["a"], ["a", "b"]], {"n_slots": 1}, ValueError, "n_slots == 1, must be >= 2"),
    ([["a"]], {"cost_matrix": [[1.0]]}, ValueError, "cost_matrix needs vocabulary"),
    ([["a", "b"]], {"cost_matrix": [[1, 2], [3, 4]], "vocabulary": ["a", "b"]}, ValueError,
     "cost_matrix must be symmetric"),
    ([["a"]], {"vocabulary": ["a", "a"]}, ValueError, "vocabulary must hold different tokens"),
])  # fmt: skip
def test_refusals(sequences, options, error, message):
    with pytest.raises(error, match=message):
        SequenceAligner(**options).fit(sequences)
