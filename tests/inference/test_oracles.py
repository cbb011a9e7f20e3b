"""Oracles of chains and trees, functions, names, and the best of several oracles."""

import math
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from _random_scores import grid, parts, random_scores
from _references import best_labeling, best_labelings, labeling_value
from sklearn_fw.inference import (
    ICM,
    BestOf,
    CheckedOracle,
    Enumeration,
    Oracle,
    PairwiseScores,
    TreeMaxProduct,
    Viterbi,
    resolve_oracle,
)

OF_CHAINS = [Viterbi(), TreeMaxProduct(), Enumeration()]
SCORES = ["normal", "ties", "forbidden", "shared table", "one state", "one node"]


def test_ties_go_to_the_same_labels_in_every_call(rng):
    zero = PairwiseScores.from_arrays(np.zeros((4, 3)), np.zeros((3, 3)), [(0, 1), (1, 2), (2, 3)])
    for oracle in OF_CHAINS:
        assert oracle.argmax(zero)[0].tolist() == [0, 0, 0, 0]
        scores = random_scores(rng, "ties", "chain")
        first, again = oracle.top_k(scores, 7), oracle.top_k(scores, 7)
        np.testing.assert_array_equal(first[1], again[1])
    _, labels = Enumeration().top_k(zero, 4)
    assert labels.tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 2], [0, 0, 1, 0]]


def test_enumeration_returns_the_first_of_the_best(rng):
    for _ in range(50):
        scores = random_scores(rng, "ties")
        labels, _ = best_labeling(*parts(scores))
        np.testing.assert_array_equal(Enumeration().argmax(scores)[0], labels)
        _, labels = best_labelings(*parts(scores), 5)
        np.testing.assert_array_equal(Enumeration().top_k(scores, 5)[1], labels)


def test_long_chain_equals_tree_and_independent_nodes(rng):
    n_nodes = 3000
    edges = np.column_stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)])
    scores = PairwiseScores.from_arrays(
        rng.normal(size=(n_nodes, 4)), rng.normal(size=(4, 4)), edges
    )
    labels, value, _ = Viterbi().argmax(scores)
    np.testing.assert_array_equal(TreeMaxProduct().argmax(scores)[0], labels)
    assert scores.value(labels) == pytest.approx(value, rel=1e-12)
    alone = PairwiseScores.from_arrays(scores.unary)
    labels, value, _ = TreeMaxProduct().argmax(alone)
    np.testing.assert_array_equal(labels, scores.unary.argmax(axis=1))


# ---- errors ------------------------------------------------------------------------------------


def cycle():
    return PairwiseScores.from_arrays(np.zeros((3, 2)), np.eye(2), [(0, 1), (1, 2), (2, 0)])


@pytest.mark.parametrize(
    "method", ["argmax", "top_k", "marginals", "log_partition", "max_marginals", "sample"]
)
def test_wrong_graphs_are_refused_with_the_remedy(method):
    more = [2] if method in ("top_k", "sample") else []
    chain = "Viterbi needs the edges of a chain.*TreeMaxProduct()"
    huge = PairwiseScores.from_arrays(np.zeros((100_000, 2)))
    calls = [
        (Viterbi(), cycle(), chain),
        (TreeMaxProduct(), cycle(), "without a cycle.*Elimination().*Enumeration()"),
        (Enumeration(7), cycle(), "2 states on 3 nodes .* max_labelings=7 .*Elimination()"),
        (Enumeration(), huge, "raise max_labelings"),
        (Enumeration(0), cycle(), "max_labelings == 0, must be >= 1"),
    ]
    for edges in ([(1, 0), (1, 2)], [(1, 2), (0, 1)], [(0, 1), (0, 2)]):
        scores = PairwiseScores.from_arrays(np.zeros((3, 2)), np.eye(2), edges)
        calls.append((Viterbi(), scores, chain))
    for oracle, scores, message in calls:
        with pytest.raises(ValueError, match=message.replace("()", r"\(\)")):
            getattr(oracle, method)(scores, *more)


# ---- callables and names -----------------------------------------------------------------------


def first_state(scores):
    return [0] * scores.n_nodes


def test_callable_returns_labels_only(rng):
    scores = random_scores(rng)
    labels, value, upper_bound = CheckedOracle(first_state).argmax(scores)
    assert labels.tolist() == [0] * scores.n_nodes
    assert labels.dtype == np.int32
    assert value == pytest.approx(labeling_value(*parts(scores), labels), rel=1e-12)
    assert upper_bound == math.inf
    assert CheckedOracle(first_state).exact is False


def test_callable_returns_a_certificate(rng):
    for kind in SCORES:
        scores = random_scores(rng, kind, "forest")
        expected = TreeMaxProduct().argmax(scores)
        labels, value, upper_bound = CheckedOracle(TreeMaxProduct().argmax).argmax(scores)
        np.testing.assert_array_equal(labels, expected[0])
        assert (value, upper_bound) == expected[1:]
    labels, value, _ = CheckedOracle(lambda scores: (1, 0, 1)).argmax(cycle())
    assert (labels.tolist(), value) == ([1, 0, 1], 1.0)  # three labels, no certificate
    answer = CheckedOracle(lambda scores: ([0, 1, 0], None, 7)).argmax(cycle())
    assert answer[1:] == (1.0, 7.0)
    answer = CheckedOracle(lambda scores: ([0, 1, 0], 1.0, 1.0 - 1e-12)).argmax(cycle())
    assert answer[1:] == (1.0, 1.0)


class Destroying(Oracle):
    """Puts zeros in place of what it is asked."""

    def argmax(self, scores, start=None):
        for array in (scores.unary, scores.pairwise, scores.edges, start):
            if array is not None:
                array[:] = 0
        labels = np.zeros(scores.n_nodes, int)
        return labels, None, None


def test_oracles_of_users_may_change_what_they_get(rng):
    scores = random_scores(rng, "normal", "forest")
    before = [a.copy() for a in parts(scores)]
    labels, value, _ = BestOf(["icm", Destroying()]).argmax(scores)
    for array, kept in zip(parts(scores), before):
        np.testing.assert_array_equal(array, kept)
    assert value == scores.value(labels)
    start = np.ones(scores.n_nodes, int)
    CheckedOracle(Destroying()).argmax(scores, start)
    assert start.all()


@pytest.mark.parametrize(
    "answer, error, message",
    [
        ([0, 1], ValueError, r"must return 3 labels, one per node.*shape \(2,\)"),
        (0, ValueError, r"got an answer of shape \(\)"),
        (None, ValueError, r"got an answer of shape \(\)"),
        ([0.0, 1.0, 0.0], TypeError, "integer labels, got dtype float64.*astype"),
        ([True, False, True], TypeError, "integer labels, got dtype bool"),
        ([0, 1, 2], ValueError, "labels from 0 to 1, got 0 to 2"),
        ([-1, 1, 0], ValueError, "labels from 0 to 1, got -1 to 1"),
        (([0, 1, 0], 2.0, 3.0), ValueError, "returned value 2.0 for labels that score 1.0"),
        (([0, 1, 0], math.nan, 3.0), ValueError, "returned value nan"),
        (([0, 1, 0], 1.0, 0.5), ValueError, "upper_bound 0.5 for labels that score 1.0"),
        (([0, 1, 0], 1.0, math.nan), ValueError, "upper_bound nan"),
    ],
)
def test_callable_answers_are_checked(answer, error, message):
    def wrong(scores):
        return answer

    with pytest.raises(error, match=f"the oracle function wrong .*{message}"):
        CheckedOracle(wrong).argmax(cycle())


def test_callable_is_an_estimator():
    oracle = CheckedOracle(first_state)
    assert clone(oracle).oracle is first_state
    assert pickle.loads(pickle.dumps(resolve_oracle(np.argmax))).oracle is np.argmax


class OwnOracle(BaseEstimator):
    def __init__(self, depth=1):
        self.depth = depth

    def argmax(self, scores, start=None):
        return np.zeros(scores.n_nodes, np.int32), 0.0, math.inf


class PlainOracle:
    def argmax(self, scores, start=None):
        return np.zeros(scores.n_nodes, np.int32), 0.0, math.inf


def test_resolve_oracle():
    for name, kind in [
        ("viterbi", Viterbi),
        ("tree", TreeMaxProduct),
        ("enumeration", Enumeration),
    ]:
        assert type(resolve_oracle(name)) is kind
        assert type(resolve_oracle("auto", default=name)) is kind
    own = OwnOracle(depth=3)
    for resolved in (resolve_oracle(own), resolve_oracle("auto", default=own)):
        assert resolved is not own
        assert resolved.depth == 3
    plain = PlainOracle()
    assert resolve_oracle(plain) is plain
    assert resolve_oracle(first_state).oracle is first_state
    assert type(resolve_oracle("viterbi", default="tree")) is Viterbi


@pytest.mark.parametrize(
    "oracle, default, error, message",
    [
        ("viterby", None, ValueError, "'viterby' is unknown; names are .*'auto'.*'viterbi'"),
        ("auto", None, ValueError, "oracle='auto' has no meaning here: name one of .*'tree'"),
        ("auto", "auto", ValueError, "oracle='auto' has no meaning here"),
        (None, None, TypeError, r"oracle must be a name .*argmax\(scores, start=None\).* NoneType"),
        (3, None, TypeError, "got int"),
        (Viterbi, None, TypeError, "oracle is the class Viterbi, pass an object"),
    ],
)
def test_resolve_oracle_names_what_is_wrong(oracle, default, error, message):
    with pytest.raises(error, match=message):
        resolve_oracle(oracle, default=default)


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
    # Each begins with the best labeling known.
    assert asked == list(zip(answers, [[3], [0], [1], [1]]))


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
    assert BestOf(oracles).compare(four_states())[0].oracle == "icm"


def test_best_of_takes_functions_and_says_what_it_cannot_take(rng):
    scores = grid(rng, 3, 1.0, n_states=3)
    labels, _, upper_bound = BestOf([lambda scores: np.zeros(9, int)]).argmax(scores)
    assert (labels.tolist(), upper_bound) == ([0] * 9, np.inf)
    for wrong in "trws", 3:
        with pytest.raises(ValueError, match="must be one of 'auto', 'quick' or a list of oracles"):
            BestOf(wrong).argmax(scores)
    with pytest.raises(ValueError, match="oracles must hold at least one oracle"):
        BestOf([]).argmax(scores)
    with pytest.raises(ValueError, match="oracle='nobody' is unknown"):
        BestOf(["nobody"]).argmax(scores)
    with pytest.raises(TypeError, match="is the class ICM, pass an object"):
        BestOf([ICM]).argmax(scores)
    with pytest.raises(ValueError, match="needs two states per node, got 3"):
        BestOf(["icm", "qpbo"]).argmax(scores)
