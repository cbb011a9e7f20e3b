"""Random fields: the container, its other forms, and input that makes no sense."""

import networkx as nx
import numpy as np
import pytest

from _mrf_references import brute_force, labelings, random_mrf
from sklearn_fw.random_fields import (
    ExactMarginals,
    MeanFieldMarginals,
    MiniBucketMarginals,
    PairwiseMRF,
    PerturbAndMAPMarginals,
    TRBPMarginals,
    TRWMarginals,
)


def test_parts_are_canonical():
    tables = [np.arange(6.0).reshape(3, 2), np.ones((2, 3)), 10 * np.ones((3, 2))]
    mrf = PairwiseMRF([[0.0, 1.0], [0.0, 0.5, 0.2]], [(1, 0), (0, 1), (1, 0)], tables)
    assert mrf.edges.tolist() == [[0, 1]]
    np.testing.assert_array_equal(mrf.pairwise[0], tables[0].T + 11)
    np.testing.assert_array_equal(mrf.theta[:5], [0, 1, 0, 0.5, 0.2])
    assert mrf.node_start.tolist() == [0, 2, 5]
    assert mrf.edge_start.tolist() == [5, 11]


def test_edges_keep_the_order_of_first_appearance():
    mrf = PairwiseMRF(np.zeros((4, 2)), [(3, 2), (1, 0), (2, 3), (0, 3)], np.eye(2))
    assert mrf.edges.tolist() == [[2, 3], [0, 1], [0, 3]]


def test_score_is_the_sum_of_the_parts(rng):
    mrf = random_mrf(rng)
    X = labelings(mrf.n_states)
    direct = [
        mrf.constant
        + sum(block[x[i]] for i, block in enumerate(mrf.unary))
        + sum(table[x[i], x[j]] for (i, j), table in zip(mrf.edges, mrf.pairwise))
        for x in X
    ]
    np.testing.assert_allclose(mrf.score(X), direct, rtol=0, atol=1e-12)
    vertices = np.array([mrf.vertex(x) for x in X])
    np.testing.assert_allclose(vertices @ mrf.theta + mrf.constant, direct, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_states", [(3, 3, 3), (2, 4, 1, 3)], ids=str)
def test_scores_and_flatten(rng, n_states):
    mrf = random_mrf(rng, n_states, density=1.0)
    scores = mrf.scores().check()
    for x in labelings(n_states):
        assert scores.value(x) + mrf.constant == pytest.approx(mrf.score([x])[0], abs=1e-12)
    np.testing.assert_array_equal(mrf.flatten(scores.unary, scores.pairwise), mrf.theta)
    missing = np.arange(max(n_states)) >= np.array(n_states)[:, None]
    assert np.all(scores.unary[missing] == -np.inf)


def test_evidence_goes_back_to_the_first_field_and_takes_names(rng):
    mrf = random_mrf(rng, (2, 3, 2, 4, 3))
    mrf.names = list("abcde")
    rest = mrf.condition({"b": 2, 3: 1}).condition({"c": 0})
    assert rest.names == ["a", "e"]
    assert rest.variables.tolist() == [0, 4]
    assert rest.evidence == {1: 2, 3: 1, 2: 0}
    assert rest.complete([1, 2]).tolist() == [1, 2, 0, 1, 2]
    X = labelings(rest.n_states)
    np.testing.assert_allclose(rest.score(X), mrf.score(rest.complete(X)), rtol=0, atol=1e-12)
    assert mrf.evidence == {}
    assert mrf.variables.tolist() == [0, 1, 2, 3, 4]


def test_ising_there_and_back(rng):
    h, edges = rng.normal(size=4), [(0, 1), (3, 1), (2, 3)]
    J = rng.normal(size=3)
    mrf = PairwiseMRF.from_ising(h, J, edges, constant=0.5)
    spins = 2 * labelings([2] * 4) - 1
    direct = 0.5 + spins @ h + sum(c * spins[:, i] * spins[:, j] for c, (i, j) in zip(J, edges))
    np.testing.assert_allclose(mrf.score((spins + 1) // 2), direct, rtol=0, atol=1e-12)
    back = PairwiseMRF(mrf.unary, mrf.edges, [t + 1.0 for t in mrf.pairwise]).to_ising()
    np.testing.assert_allclose(back[0], h, rtol=0, atol=1e-12)
    np.testing.assert_allclose(back[1], J, rtol=0, atol=1e-12)
    assert back[2] == pytest.approx(3.0)


def test_ising_matrix_counts_each_pair_once(rng):
    J = np.triu(rng.normal(size=(4, 4)), 1)
    J[0, 2] = 0.0
    upper, symmetric = (PairwiseMRF.from_ising(np.zeros(4), M) for M in (J, J + J.T))
    assert len(upper.edges) == 5
    np.testing.assert_array_equal(upper.theta, symmetric.theta)


def test_networkx_there_and_back(rng):
    mrf = random_mrf(rng)
    graph = mrf.to_networkx()
    assert isinstance(graph, nx.Graph)
    again = PairwiseMRF.from_networkx(graph)
    X = labelings(mrf.n_states)
    np.testing.assert_allclose(again.score(X) + mrf.constant, mrf.score(X), rtol=0, atol=1e-12)
    graph = nx.relabel_nodes(graph, dict(enumerate("abcd")))
    assert PairwiseMRF.from_networkx(graph).names == ["a", "b", "c", "d"]


def test_no_edges_and_one_state():
    mrf = PairwiseMRF([[0.0], [1.0, 2.0]])
    assert mrf.n_edges == 0
    log_partition, marginals = brute_force(mrf)
    assert log_partition == pytest.approx(np.log(np.exp(1) + np.exp(2)))
    assert marginals[0] == pytest.approx(1.0)
    assert repr(mrf) == "PairwiseMRF(n_variables=2, n_edges=0, n_states=1..2)"


ZEROS = np.zeros((3, 2))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([],), "unary must be a list of 1 or more rows"),
        (([[0.0], []],), r"unary\[1\] must be a vector of states, got shape"),
        (([[-np.inf, -np.inf]],), r"unary\[0\] allows no state"),
        ((ZEROS, [(0, 3)], np.eye(2)), "edges must name variables 0 to 2, got 0 to 3"),
        ((ZEROS, [(-1, 1)], np.eye(2)), "edges must name variables"),
        ((ZEROS, [(1, 1)], np.eye(2)), r"two different variables, got \(1, 1\)"),
        ((ZEROS, [(0.5, 1)], np.eye(2)), "edges must hold integers"),
        ((ZEROS, [(0, 1)]), "pairwise is None, but there are edges"),
        ((ZEROS, [(0, 1), (1, 2)], [np.eye(2)]), "pairwise holds 1 tables for 2 edges"),
        ((ZEROS, [(0, 1)], [np.eye(3)]), r"pairwise\[0\] must have shape \(2, 2\), the"),
    ],
)
def test_bad_fields_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        PairwiseMRF(*arguments)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m: m.score([[0, 1]]), r"shape \(n_samples, 3\)"),
        (lambda m: m.score([[0, 1, 2]]), r"X\[0, 2\] is 2, but variable 2 has the states 0 to 1"),
        (lambda m: m.score([[0, 0.5, 1]]), r"X\[0, 1\] is 0.5"),
        (lambda m: m.condition({3: 0}), "observed must name variables 0 to 2, got 3"),
        (lambda m: m.condition({0: 2}), r"observed\[0\] = 2 is not a state .*: it has 0 to 1"),
        (lambda m: m.condition({0: 0.5}), r"observed\[0\] = 0.5 is not a state"),
        (lambda m: m.condition({0.5: 0}), "observed must name variables 0 to 2, got 0.5"),
        (lambda m: m.condition({0: 0, 1: 0, 2: 0}), "all variables"),
        (lambda m: m.score([[0, np.nan, 1]]), r"X\[0, 1\] is nan"),
        (lambda m: PairwiseMRF.from_ising([0, 0, 0], [1.0], [(0, 1), (1, 2)]), "each of 2 edges"),
        (lambda m: PairwiseMRF.from_ising([0, 0], 1.0, [(0, 1)]), "J must hold a number for each"),
        (lambda m: PairwiseMRF.from_ising(0.0, [1.0], [(0, 1)]), "h must be a vector"),
        (lambda m: PairwiseMRF.from_ising([0, 0], np.eye(2)), "zero diagonal"),
        (lambda m: PairwiseMRF.from_ising([0, 0], [1.0]), "J must be a matrix"),
        (lambda m: PairwiseMRF.from_networkx(nx.DiGraph()), "undirected"),
        (lambda m: PairwiseMRF.from_networkx(nx.path_graph(2)), "no attribute 'unary'"),
        (lambda m: PairwiseMRF([[0, 0, 0.0]]).to_ising(), "two states"),
        (lambda m: PairwiseMRF(ZEROS, names=["a"]), "names must be a list of 3 texts"),
    ],
)
def test_bad_calls_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(PairwiseMRF(ZEROS, [(0, 1)], np.eye(2)))


def test_forbidden_observation_is_refused():
    mrf = PairwiseMRF(ZEROS, [(0, 1)], [[[0.0, -np.inf], [0.0, 0.0]]])
    with pytest.raises(ValueError, match="observed is forbidden"):
        mrf.condition({0: 0, 1: 1})
    none_left = PairwiseMRF(ZEROS, [(0, 1)], [[[-np.inf, -np.inf], [0.0, 0.0]]])
    with pytest.raises(ValueError, match="observed is forbidden"):
        none_left.condition({0: 0})
    with pytest.raises(ValueError, match="finite potentials"):
        mrf.to_ising()


@pytest.mark.parametrize(
    "estimator",
    [
        ExactMarginals(), TRBPMarginals("ones"), TRBPMarginals(), TRWMarginals(),
        MeanFieldMarginals(random_state=0), MiniBucketMarginals(4),
        PerturbAndMAPMarginals(n_samples=4, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)  # fmt: skip
def test_estimators_do_not_ask_the_code_of_a_subclass(estimator, rng):
    plain = random_mrf(rng)
    public = [name for name in dir(PairwiseMRF) if not name.startswith("_")]
    wrong = {n: lambda *_: None for n in public if callable(getattr(PairwiseMRF, n))}
    field = type("Field", (PairwiseMRF,), wrong)(plain.unary, plain.edges, plain.pairwise)
    expected = estimator.fit(plain).marginals_
    np.testing.assert_array_equal(estimator.fit(field).marginals_, expected)
    estimator.predict()
