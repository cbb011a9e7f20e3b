"""Linear and integer programs, and toulbar2, against enumeration and against each other."""

import math
import sys

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from _random_scores import KINDS, best_value, ising_grid, random_scores, same, size_of
from sklearn_fw.inference import PairwiseScores, TreeMaxProduct
from sklearn_fw.inference._oracles import _linear_programs
from sklearn_fw.inference._oracles._cuts import QPBO, GraphCut
from sklearn_fw.inference._oracles._linear_programs import MILP, LPRelaxation, Toulbar2

N_INSTANCES = 10  # of each kind and number of states


def instances(rng, kind, times=1):
    for n_states in (2, 3):
        for _ in range(times * N_INSTANCES):
            yield random_scores(rng, kind, n_states=n_states)


def assert_is_answer(scores, labels, value, upper_bound):
    assert labels.shape == (scores.n_nodes,)
    assert labels.dtype == np.int32
    assert type(value) is type(upper_bound) is float
    assert value == scores.value(labels)
    assert value <= upper_bound


def triangle(n_states=2):
    edges = [(0, 1), (1, 2), (2, 0)]
    return PairwiseScores.from_arrays(np.zeros((3, n_states)), 1 - np.eye(n_states), edges)


def two_colours():
    """A triangle whose nodes must differ: nothing is allowed, but the relaxation sees no reason."""
    table = np.where(np.eye(2), -np.inf, 0.0)
    return PairwiseScores.from_arrays(np.zeros((3, 2)), table, [(0, 1), (1, 2), (2, 0)])


# ---- mixed-integer program ---------------------------------------------------------------------


def test_milp_without_time_returns_a_guess_and_a_bound(rng):
    scores = ising_grid(rng, 20, 1.0, attractive=True)
    best, optimum, _ = GraphCut().argmax(scores)
    oracle = MILP(time_limit=1e-3)
    labels, value, upper_bound = oracle.argmax(scores)
    assert_is_answer(scores, labels, value, upper_bound)
    assert scores.value(scores.unary.argmax(axis=1)) <= value <= optimum <= upper_bound
    assert (
        upper_bound
        <= scores.unary.max(axis=1).sum() + scores.pairwise.max(axis=(1, 2)).sum() + 1e-9
    )
    labels, value, upper_bound = oracle.argmax(scores, start=best)
    np.testing.assert_array_equal(labels, best)
    assert value == optimum <= upper_bound


def test_milp_stops_at_the_gap(rng):
    scores = ising_grid(rng, 6, 4.0)
    _, best, _ = MILP().argmax(scores)
    _, value, upper_bound = MILP(mip_rel_gap=0.5).argmax(scores)
    assert value <= best <= upper_bound
    assert upper_bound <= 1.6 * value
    assert MILP().exact
    assert not MILP(mip_rel_gap=0.5).exact
    assert not MILP(time_limit=1e9).exact


def test_milp_proves_that_nothing_is_allowed():
    labels, value, upper_bound = MILP().argmax(two_colours())
    assert labels.tolist() == [0, 0, 0]
    assert value == upper_bound == -np.inf
    assert MILP().argmax(triangle(3))[1:] == (3.0, 3.0)


@pytest.mark.parametrize("kind", ["normal", "ties", "double edges", "shared table", "no edges"])
def test_vertices_of_two_states_by_a_flow_are_those_of_the_program(kind, rng):
    n_halves = 0
    for _ in range(40):
        scores = random_scores(rng, kind, n_nodes=int(rng.integers(3, 7)), n_states=2)
        node, edge, value, upper_bound = LPRelaxation().vertex(scores)
        *_, bound, _ = LPRelaxation()._solve(scores)
        assert value == pytest.approx(bound, rel=0, abs=1e-9 * (1 + abs(bound)))
        assert value <= upper_bound <= value + 1e-9 * (1 + abs(value))
        np.testing.assert_array_equal(node.sum(axis=1), 1.0)
        a, b = scores.edges.T
        np.testing.assert_array_equal(edge.sum(axis=2), node[a])
        np.testing.assert_array_equal(edge.sum(axis=1), node[b])
        assert edge.min(initial=0.0) >= 0.0
        n_halves += np.any(node == 0.5)
    assert n_halves > 0 or kind in ("no edges", "shared table")


# ---- relaxation --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
class TestRelaxation:
    def test_vertex_is_in_the_polytope_and_as_good_as_the_bound(self, kind, rng):
        for scores in instances(rng, kind):
            if best_value(scores) == -math.inf:
                continue
            node, edge, value, upper_bound = LPRelaxation().vertex(scores)
            assert node.shape == scores.unary.shape
            assert edge.shape == scores.pairwise.shape
            assert node.min() >= 0.0
            assert edge.min(initial=0.0) >= 0.0
            a, b = scores.edges.T
            np.testing.assert_allclose(node.sum(axis=1), 1.0, rtol=0, atol=1e-14)
            np.testing.assert_allclose(edge.sum(axis=2), node[a], rtol=0, atol=1e-9)
            np.testing.assert_allclose(edge.sum(axis=1), node[b], rtol=0, atol=1e-9)
            found = 0.0
            for part, marginal in ((scores.unary, node), (scores.pairwise, edge)):
                assert np.all(marginal[part == -np.inf] == 0.0)
                found += np.vdot(marginal, np.where(part > -np.inf, part, 0.0))
            assert same(value, found, 1e-13 * size_of(scores))
            assert value <= upper_bound <= value + 1e-10 * size_of(scores)


def test_relaxation_is_exact_without_cycles(rng):
    for _ in range(N_INSTANCES):
        n_nodes = int(rng.integers(2, 20))
        edges = [(t, int(rng.integers(t))) for t in range(1, n_nodes)]
        pairwise = rng.normal(size=(n_nodes - 1, 3, 3))
        scores = PairwiseScores.from_arrays(rng.normal(size=(n_nodes, 3)), pairwise, edges)
        labels, value, upper_bound = LPRelaxation().argmax(scores)
        expected = TreeMaxProduct().argmax(scores)
        np.testing.assert_array_equal(labels, expected[0])
        assert value == upper_bound
        node, *_ = LPRelaxation().vertex(scores)
        np.testing.assert_allclose(node, np.eye(3)[labels], rtol=0, atol=1e-9)


def test_rounding_prefers_start_on_ties():
    for start in ([0, 1, 1], [1, 1, 0]):
        labels, value, upper_bound = LPRelaxation().argmax(triangle(), start=start)
        assert labels.tolist() == start
        assert value == 2.0
        assert upper_bound == pytest.approx(3.0, rel=0, abs=1e-9)
    node, _, value, _ = LPRelaxation().vertex(triangle())
    np.testing.assert_allclose(node, 0.5, rtol=0, atol=1e-12)
    assert value == pytest.approx(3.0, rel=0, abs=1e-12)


def test_forbidden_rounding_has_value_minus_infinity():
    _, value, upper_bound = LPRelaxation().argmax(two_colours())
    assert value == -np.inf
    assert upper_bound == pytest.approx(0.0, rel=0, abs=1e-12)


def test_empty_polytope_is_an_error_of_vertex_alone():
    unary = [[-np.inf, 0.0], [-np.inf, 0.0]]
    scores = PairwiseScores.from_arrays(unary, np.array([[0, 0], [0, -np.inf]]), [(0, 1)])
    assert LPRelaxation().argmax(scores)[1:] == (-np.inf, -np.inf)
    with pytest.raises(ValueError, match="every labeling is forbidden: the local polytope"):
        LPRelaxation().vertex(scores)


def test_vertex_of_a_sloppy_solver_leaves_forbidden_pairs_alone(rng, monkeypatch):
    solve = LPRelaxation._solve

    def sloppy(self, scores):
        node, edge, *rest = solve(self, scores)
        return node, 0.999 * edge, *rest

    monkeypatch.setattr(LPRelaxation, "_solve", sloppy)
    for _ in range(N_INSTANCES):
        scores = random_scores(rng, "double edges", n_states=3)
        scores.pairwise[:, [0, 1, 2], [0, 1, 2]] = -np.inf
        _, edge, value, upper_bound = LPRelaxation().vertex(scores)
        assert np.all(edge[:, [0, 1, 2], [0, 1, 2]] == 0.0)
        assert value == pytest.approx(upper_bound, rel=0, abs=0.1)


# ---- toulbar2 ----------------------------------------------------------------------------------


@pytest.fixture
def toulbar2(extra):
    extra("toulbar2", "pytoulbar2")


@pytest.mark.usefixtures("toulbar2")
class TestToulbar2:
    def test_bound_includes_the_rounding(self, rng):
        n_inexact = 0
        for _ in range(N_INSTANCES):
            scores = random_scores(rng, n_states=3)
            _, value, upper_bound = Toulbar2(resolution=0).argmax(scores)
            best = best_value(scores)
            assert value - 1e-12 <= best <= upper_bound + 1e-12
            assert upper_bound - value <= scores.n_nodes + scores.n_edges
            n_inexact += value < upper_bound
        assert n_inexact > 0

    @pytest.mark.parametrize("time_limit", [None, 60])
    def test_bound_of_a_finished_search_is_its_value(self, time_limit, monkeypatch):
        import pytoulbar2

        # As it is now and then on graphs of four nodes with many double edges.
        monkeypatch.setattr(pytoulbar2.CFN, "GetDDualBound", lambda _: -(2.0**50))
        assert Toulbar2(time_limit).argmax(triangle())[1:] == (2.0, 2.0)

    def test_time_limit(self, rng):
        scores = ising_grid(rng, 18, 4.0)
        start = rng.integers(2, size=scores.n_nodes)
        labels, value, upper_bound = Toulbar2(time_limit=0.5).argmax(scores, start=start)
        assert_is_answer(scores, labels, value, upper_bound)
        assert value >= scores.value(start)
        assert upper_bound < QPBO().argmax(scores)[2]
        # The next call starts anew.
        assert Toulbar2().argmax(triangle())[1:] == (2.0, 2.0)

    def test_nothing_allowed(self):
        assert Toulbar2().argmax(two_colours())[1:] == (-np.inf, -np.inf)
        assert Toulbar2(time_limit=10).argmax(two_colours())[1:] == (-np.inf, -np.inf)
        unary = PairwiseScores.from_arrays([[-np.inf, -np.inf]])
        assert Toulbar2().argmax(unary)[1:] == (-np.inf, -np.inf)

    def test_too_many_digits_are_refused(self, rng):
        scores = random_scores(rng, "large")
        with pytest.raises(ValueError, match=r"resolution=15 is too large .* lower resolution"):
            Toulbar2(resolution=15).argmax(scores)


def test_toulbar2_tells_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytoulbar2", None)
    with pytest.raises(ImportError, match="pip install pytoulbar2"):
        Toulbar2().argmax(triangle())


# ---- contract ----------------------------------------------------------------------------------


@pytest.mark.parametrize("function, oracle", [("milp", MILP()), ("linprog", LPRelaxation())])
def test_failure_of_the_solver_is_reported(function, oracle, monkeypatch):
    failed = OptimizeResult(status=4, message="numbers are no good", x=None, mip_dual_bound=None)
    monkeypatch.setattr(_linear_programs, function, lambda *_, **__: failed)
    with pytest.raises(RuntimeError, match="status 4 and no answer: numbers are no good; scale"):
        oracle.argmax(triangle())
