"""Factor graphs: what they hold, evidence, names, other forms."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _mrf_references import enumerate_scores, random_graph
from sklearn_fw.random_fields import ExactMarginals, FactorGraph, PairwiseMRF

NOTHING = "potentials of -inf forbid every labeling"


def test_scores_are_sums_of_factors(rng):
    for _ in range(100):
        graph, factors, constant = random_graph(rng)
        X, score = enumerate_scores(graph.n_states, factors, constant)
        np.testing.assert_allclose(graph.score(X), score, rtol=1e-12, atol=1e-12)
        assert all(list(scope) == sorted(set(scope)) for scope in graph.scopes)
        assert len(set(graph.scopes)) == graph.n_factors == len(graph.tables)
        mu = graph.vertex(X[-1])
        assert mu.sum() == graph.n_variables + graph.n_factors


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 3), min_size=1, max_size=5),
    st.lists(st.sets(st.integers(0, 4), max_size=4), max_size=6),
)
@settings(max_examples=50, deadline=None)
def test_any_shape(seed, n_states, scopes):
    rng = np.random.default_rng(seed)
    scopes = [list(scope) for scope in scopes if max(scope, default=0) < len(n_states)]
    factors = [(s, rng.normal(size=[n_states[i] for i in s])) for s in scopes]
    graph = FactorGraph(n_states, factors)
    _, score = enumerate_scores(np.array(n_states), factors, 0.0)
    exact = ExactMarginals().fit(graph)
    assert exact.log_partition_ == pytest.approx(np.logaddexp.reduce(score), rel=1e-10, abs=1e-10)
    best = graph.map()
    assert best.exact
    assert best.value == pytest.approx(score.max(), rel=1e-12, abs=1e-12)


def test_evidence_is_a_slice(rng):
    done = 0
    while done < 50:
        graph, factors, constant = random_graph(rng)
        X, score = enumerate_scores(graph.n_states, factors, constant)
        seen = X[rng.integers(len(X))]
        places = rng.choice(graph.n_variables, graph.n_variables // 2, replace=False)
        observed = {int(i): int(seen[i]) for i in places}
        agree = (X[:, places] == seen[places]).all(axis=1)
        if score[agree].max() == -np.inf:
            with pytest.raises(ValueError, match=f"observed is forbidden|{NOTHING}"):
                ExactMarginals().fit(graph.condition(observed))
            continue
        rest = graph.condition(observed)
        exact = ExactMarginals().fit(rest)
        assert exact.log_partition_ == pytest.approx(np.logaddexp.reduce(score[agree]), abs=1e-9)
        p = np.exp(score[agree] - np.logaddexp.reduce(score[agree]))
        for i, block in enumerate(rest.complete_marginals(exact.marginals_)):
            expected = np.bincount(X[agree][:, i], p, graph.n_states[i])
            np.testing.assert_allclose(block, expected, rtol=0, atol=1e-10)
        labels = rest.complete(rest.map().labels)
        assert graph.score([labels])[0] == pytest.approx(score[agree].max(), abs=1e-9)
        done += 1


def test_names_of_variables_and_states():
    wet = np.log([[[0.99, 0.01], [0.1, 0.9]], [[0.2, 0.8], [0.01, 0.99]]])
    graph = FactorGraph(
        [2, 2, 2],
        [(["rain"], np.log([0.8, 0.2])), (["wet", "sprinkler", "rain"], wet.transpose(2, 1, 0))],
        names=["rain", "sprinkler", "wet"],
        state_names=[["no", "yes"], ["off", "on"], ["dry", "wet"]],
    )
    np.testing.assert_allclose(graph.tables[0], wet, rtol=1e-12)
    rest = graph.condition({"wet": "wet", 1: "on"})
    assert (rest.evidence, rest.names) == ({2: 1, 1: 1}, ["rain"])
    named = ExactMarginals().fit(rest).named_marginals()
    assert named["rain"]["yes"] == pytest.approx(0.2 * 0.99 / (0.2 * 0.99 + 0.8 * 0.9))
    best = rest.name_states(rest.map().labels)
    assert best == {"rain": "no", "sprinkler": "on", "wet": "wet"}
    # numbers where there are no names
    plain = FactorGraph([2, 2], [([0, 1], np.log([[1.0, 2.0], [3.0, 4.0]]))]).condition({0: 1})
    assert plain.name_states([1]) == {0: 1, 1: 1}
    assert ExactMarginals().fit(plain).named_marginals()[1][1] == pytest.approx(4 / 7)


def test_fields_of_pairs_have_names_of_states_too():
    mrf = PairwiseMRF(
        [[0.0, 1.0], [0.0, 0.0]], [(0, 1)], [np.eye(2)], names=["a", "b"],
        state_names=[["x", "y"], ["u", "v"]],
    )  # fmt: skip
    rest = mrf.condition({"a": "y"})
    assert isinstance(rest, PairwiseMRF)
    assert rest.name_states([1]) == {"a": "y", "b": "v"}
    assert mrf.scopes == [(0, 1)]
    np.testing.assert_array_equal(mrf.factor_blocks(mrf.theta)[0], np.eye(2))


def test_merged_factors_are_the_same_distribution(rng):
    for _ in range(50):
        graph, factors, constant = random_graph(rng)
        X, score = enumerate_scores(graph.n_states, factors, constant)
        merged = graph.merge()
        np.testing.assert_allclose(merged.score(X), score, rtol=1e-12, atol=1e-12)
        sets = [set(scope) for scope in merged.scopes]
        assert not any(a < b for a in sets for b in sets)


def test_pairs_with_variables_for_factors(rng):
    for _ in range(100):
        graph, factors, constant = random_graph(rng, largest_scope=4)
        _, score = enumerate_scores(graph.n_states, factors, constant)
        if score.max() == -np.inf:
            continue
        pairs = graph.to_pairwise()
        n_larger = sum(len(scope) > 2 for scope in graph.scopes)
        assert pairs.n_variables == graph.n_variables + n_larger
        exact = ExactMarginals().fit(pairs)
        assert exact.log_partition_ == pytest.approx(np.logaddexp.reduce(score), abs=1e-9)
        best = pairs.map()
        assert best.value == pytest.approx(score.max(), abs=1e-9)
        assert graph.score([best.labels[: graph.n_variables]])[0] == pytest.approx(best.value)


def test_conversion_names_a_table_that_allows_nothing():
    graph = FactorGraph([2, 2, 2], [([0, 1, 2], np.full((2, 2, 2), -np.inf))])
    with pytest.raises(ValueError, match=re.escape("variables (0, 1, 2) is -inf: nothing is")):
        graph.to_pairwise()
    for ask in (ExactMarginals().fit, FactorGraph.map):
        with pytest.raises(ValueError, match=NOTHING):
            ask(graph)


def test_one_variable_and_no_factors():
    graph = FactorGraph([3])
    exact = ExactMarginals().fit(graph)
    assert exact.log_partition_ == pytest.approx(np.log(3))
    assert exact.factor_marginals_ == []
    assert graph.map().value == 0.0
    assert graph.to_pairwise().n_edges == 0
    lone = ExactMarginals().fit(FactorGraph([1, 1], [([0, 1], [[0.5]])], constant=1.0))
    assert (lone.log_partition_, lone.marginals_.tolist()) == (1.5, [[1.0], [1.0]])
    assert lone.sample(2, random_state=0).tolist() == [[0, 0], [0, 0]]


def test_pairs_take_no_larger_factors():
    with pytest.raises(ValueError, match="a factor is on 3 variables: use FactorGraph"):
        PairwiseMRF._of([np.zeros(2)] * 3, [((0, 1, 2), np.zeros((2, 2, 2)))])
    small = PairwiseMRF._of([np.zeros(2)] * 2, [((0,), np.ones(2)), ((1, 0), np.eye(2))])
    np.testing.assert_array_equal(small.unary[0], [1.0, 1.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "n_states must hold a number >= 1 per variable"),
        (([2, 0],), r"per variable, got array\(\[2, 0\]\)"),
        (([2, 2], [([0, 0], np.zeros((2, 2)))]), r"the scope of factors\[0\] names variable 0 twi"),
        (([2, 2], [([0, 2], np.zeros((2, 2)))]), r"the scope of factors\[0\] must name variables "),
        (([2, 2], [(["a"], np.zeros(2))]), r"factors\[0\] names 'a', but the variables have no na"),
        (([2, 3], [([0, 1], np.zeros((3, 2)))]), r"factors\[0\] must have shape \(2, 3\), the num"),
        (([2, 2], [([0], [0.0, np.nan])]), r"the table of factors\[0\] must hold finite numbers"),
        (([2], [([0], [-np.inf, -np.inf])]), r"unary\[0\] allows no state of variable 0: give"),
        (([2], [([], -np.inf)]), "factors on no variable forbid everything"),
        (([1] * 33, [(list(range(33)), 0.0)]), r"factors\[0\] is on 33 variables, at most 32"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        FactorGraph(*arguments)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"names": ["a"]}, "names must be a list of 2 texts, got 1"),
        ({"state_names": [["x", "y"]]}, "state_names must be a list of 2 lists of text, got 1"),
        ({"state_names": [["x", "y"], ["x", "x"]]}, r"state_names\[1\] needs 2 distinct names"),
    ],
)
def test_names_that_make_no_sense(names, message):
    with pytest.raises(ValueError, match=message):
        FactorGraph([2, 2], **names)


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        ({"a": "z"}, "observed names state 'z', but variable 0 has the states x, y"),
        ({"c": "x"}, "observed names 'c', and no variables have this name"),
        ({0: 0, "a": "y"}, "observed gives variable 'a' the states 0, 1"),
        ({"a": 2}, r"observed\['a'\] = 2 is not a state"),
        ({0: 0, 1: 0}, "observed holds all variables"),
    ],
)
def test_bad_evidence(observed, message):
    graph = FactorGraph([2, 2], names=["a", "b"], state_names=[["x", "y"], ["u", "v"]])
    with pytest.raises(ValueError, match=message):
        graph.condition(observed)


def test_evidence_without_names():
    with pytest.raises(ValueError, match="observed names state 'x', but the states have no names"):
        FactorGraph([2]).condition({0: "x"})
    with pytest.raises(ValueError, match="observed names 'a', but the variables have no names"):
        FactorGraph([2]).condition({"a": 0})
    with pytest.raises(ValueError, match="observed names 'a', and several variables have this"):
        FactorGraph([2, 2], names=["a", "a"]).condition({"a": 0})


def test_factors_that_are_no_pairs():
    with pytest.raises(TypeError, match=r"factors\[0\] must be a list of parts, a scope and"):
        FactorGraph([2], [3])
