"""Oracles against enumeration in plain Python, and the contract that all oracles keep."""

import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

from _random_scores import parts, plain, random_edges, random_scores
from _referees import best_labeling, best_labelings, labeling_value
from sklearn_fw.inference import (
    CheckedOracle,
    Enumeration,
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


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.data())
def test_tree_does_not_depend_on_order_and_direction_of_edges(data):
    n_nodes = data.draw(st.integers(2, 12))
    n_states = data.draw(st.integers(1, 3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    edges = random_edges(rng, "forest", n_nodes)
    pairwise = rng.normal(size=(len(edges), n_states, n_states))
    unary = rng.normal(size=(n_nodes, n_states))
    order = np.array(data.draw(st.permutations(range(len(edges)))), dtype=int)
    turn = np.array(data.draw(st.lists(st.booleans(), min_size=len(edges), max_size=len(edges))))
    other_edges, other_pairwise = edges[order], pairwise[order]
    for e in np.flatnonzero(turn):
        other_edges[e] = other_edges[e][::-1]
        other_pairwise[e] = other_pairwise[e].T.copy()
    labels, value, _ = TreeMaxProduct().argmax(PairwiseScores(unary, pairwise, edges))
    other = TreeMaxProduct().argmax(PairwiseScores(unary, other_pairwise, other_edges))
    np.testing.assert_array_equal(other[0], labels)
    assert other[1] == pytest.approx(value, rel=0, abs=1e-12)


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


# ---- kernels -----------------------------------------------------------------------------------


def test_orient_forest_puts_leaves_first(rng):
    from sklearn_fw._kernels.graphs.tree import orient_forest

    for _ in range(100):
        n_nodes = int(rng.integers(1, 30))
        edges = random_edges(rng, "forest", n_nodes)
        directed, source, flipped = orient_forest(edges, n_nodes)
        for one, other in zip((directed, source, flipped), plain(orient_forest)(edges, n_nodes)):
            np.testing.assert_array_equal(one, other)
        assert sorted(source) == list(range(len(edges)))
        np.testing.assert_array_equal(
            np.where(flipped[:, None], directed[:, ::-1], directed), edges[source]
        )
        children = directed[:, 0].tolist()
        assert len(set(children)) == len(children)
        for r, parent in enumerate(directed[:, 1].tolist()):
            assert parent not in children[:r]


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1), (1, 2), (2, 0)],
        [(0, 1), (1, 0)],
        [(0, 1), (0, 1)],
        [(3, 3)],
        [(0, 1), (1, 2), (2, 3), (3, 1)],
    ],
    ids=str,
)
def test_orient_forest_leaves_cycles_out(edges):
    from sklearn_fw._kernels.graphs.tree import orient_forest

    assert len(orient_forest(np.array(edges), 4)[0]) < len(edges)


@pytest.mark.parametrize("kind", ["normal", "ties", "forbidden"])
def test_compiled_and_plain_kernels_agree(kind, rng):
    from sklearn_fw._kernels.graphs import tree
    from sklearn_fw.inference._oracles._tree import _forest

    for _ in range(10):
        unary, *graph = _forest(random_scores(rng, kind, "forest"))
        n_nodes, n_states = unary.shape
        for kernel, scratch in (
            (tree.tree_argmax, [np.empty((n_nodes + 1, n_states))]),
            (tree.enumerate_argmax, []),
        ):
            labels, plain_labels = np.empty((2, n_nodes), np.int32)
            value = kernel(unary, *graph, labels, *scratch)
            plain_value = plain(kernel)(unary, *graph, plain_labels, *scratch)
            assert value == pytest.approx(plain_value, rel=0, abs=1e-12)
            np.testing.assert_array_equal(labels, plain_labels)
        values, labels = tree.tree_top_k(unary, *graph, 4)
        plain_values, plain_labels = plain(tree.tree_top_k)(unary, *graph, 4)
        np.testing.assert_allclose(values, plain_values, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(labels, plain_labels)


# ---- errors ------------------------------------------------------------------------------------


def cycle():
    return PairwiseScores.from_arrays(np.zeros((3, 2)), np.eye(2), [(0, 1), (1, 2), (2, 0)])


@pytest.mark.parametrize("method", ["argmax", "top_k"])
def test_wrong_graphs_are_refused_with_the_remedy(method):
    more = [2] if method == "top_k" else []
    with pytest.raises(ValueError, match=r"Viterbi needs .* chain.*TreeMaxProduct\(\)"):
        getattr(Viterbi(), method)(cycle(), *more)
    with pytest.raises(ValueError, match=r"without a cycle.*Enumeration\(\)"):
        getattr(TreeMaxProduct(), method)(cycle(), *more)
    with pytest.raises(
        ValueError, match=r"2 states on 3 nodes .* max_labelings=7 .*TreeMaxProduct"
    ):
        getattr(Enumeration(max_labelings=7), method)(cycle(), *more)
    for edges in ([(1, 0), (1, 2)], [(1, 2), (0, 1)], [(0, 1), (0, 2)]):
        scores = PairwiseScores.from_arrays(np.zeros((3, 2)), np.eye(2), edges)
        with pytest.raises(ValueError, match="edges of a chain"):
            getattr(Viterbi(), method)(scores, *more)
    huge = PairwiseScores.from_arrays(np.zeros((100_000, 2)))
    with pytest.raises(ValueError, match="raise max_labelings"):
        getattr(Enumeration(), method)(huge, *more)
    with pytest.raises(ValueError, match="max_labelings == 0, must be >= 1"):
        getattr(Enumeration(max_labelings=0), method)(cycle(), *more)
    with pytest.raises(ValueError, match="k == 0, must be >= 1"):
        TreeMaxProduct().top_k(huge, 0)


def test_import_does_not_load_numba():
    code = "import sys, sklearn_fw.inference; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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
