"""Marginals, bounds and best labelings of factor graphs against enumeration."""

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from _mrf_references import enumerate_scores, log_sum, marginal_blocks, random_graph
from sklearn_fw.datasets import make_ising
from sklearn_fw.inference import MILP
from sklearn_fw.random_fields import (
    ExactMarginals,
    FactorGraph,
    MeanFieldMarginals,
    MiniBucketMarginals,
    PerturbAndMAPMarginals,
    TRBPMarginals,
    TRWMarginals,
)
from sklearn_fw.random_fields._map import RegionSearch
from sklearn_fw.random_fields._reduced import Reduced, allowed_states

NOTHING = "potentials of -inf forbid every labeling"


def instances(rng, n, **options):
    """Random factor graphs with all their labelings and scores; some allow nothing."""
    for _ in range(n):
        graph, factors, constant = random_graph(rng, **options)
        yield graph, *enumerate_scores(graph.n_states, factors, constant)


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_exact_sums_equal_enumeration(scale, rng):
    n_nothing = 0
    for graph, X, score in instances(rng, 200, scale=scale):
        if score.max() == -np.inf:
            n_nothing += 1
            with pytest.raises(ValueError, match=NOTHING):
                ExactMarginals().fit(graph)
            continue
        exact = ExactMarginals().fit(graph)
        expected = log_sum(score)
        assert exact.log_partition_ == pytest.approx(expected, rel=1e-12, abs=1e-9)
        assert exact.log_partition_lower_ == exact.log_partition_upper_ == exact.log_partition_
        node, tables = marginal_blocks(graph, X, score)
        for i, block in enumerate(node):
            np.testing.assert_allclose(exact.marginals_[i, : len(block)], block, rtol=0, atol=1e-9)
        for found, table in zip(exact.factor_marginals_, tables, strict=True):
            np.testing.assert_allclose(found, table, rtol=0, atol=1e-9)
    assert n_nothing < 100


def test_samples_have_the_marginals(rng):
    table = rng.normal(size=(2, 3, 2))
    table[0, 1] = -np.inf
    graph = FactorGraph([2, 3, 2, 2], [([0, 1, 2], table), ([2, 3], rng.normal(size=(2, 2)))])
    exact = ExactMarginals().fit(graph)
    X = exact.sample(4000, random_state=0)
    for i, k in enumerate(graph.n_states):
        shares = np.bincount(X[:, i], minlength=k) / len(X)
        np.testing.assert_allclose(shares, exact.marginals_[i, :k], rtol=0, atol=0.04)
    assert graph.score(X).min() > -np.inf


def test_rows_are_completed(rng):
    graph, _, _ = random_graph(np.random.default_rng(5), forbidden=0.0)
    exact = ExactMarginals().fit(graph)
    row = np.full((1, graph.n_variables), np.nan)
    row[0, 0] = 0
    rest = ExactMarginals().fit(graph.condition({0: 0}))
    answer = exact.predict_marginals(row)[0, 1:]
    np.testing.assert_allclose(answer[:, : rest.marginals_.shape[1]], rest.marginals_, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        TRBPMarginals("ones", max_iter=50),
        MeanFieldMarginals(n_init=3, random_state=0),
        MiniBucketMarginals(8, max_iter=5),
        PerturbAndMAPMarginals(n_samples=20, random_state=0),
        TRBPMarginals(max_iter=50),
        TRWMarginals(oracle="branch_and_bound", max_iter=20),
    ],
    ids=lambda method: type(method).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_bounds_hold(method, rng):
    for graph, _, score in instances(rng, 60):
        if score.max() == -np.inf:
            continue
        method.fit(graph)
        assert method.log_partition_lower_ <= log_sum(score) + 1e-9
        if not isinstance(method, PerturbAndMAPMarginals):  # its bound holds on average
            assert method.log_partition_upper_ >= log_sum(score) - 1e-9
        sizes = graph.n_states
        np.testing.assert_allclose(method.marginals_.sum(axis=1), 1.0, rtol=1e-6)
        shapes = [table.shape for table in method.factor_marginals_]
        assert shapes == [tuple(sizes[list(scope)]) for scope in graph.scopes]
        if hasattr(method, "sample"):
            X = method.sample(2, random_state=0)
            assert X.shape == (2, graph.n_variables)


def test_messages_are_exact_without_cycles(rng):
    """Factors 012, 234, 456 overlap in one variable: no cycles."""
    for _ in range(20):
        factors = [([a, a + 1, a + 2], rng.normal(size=(2, 2, 2))) for a in (0, 2, 4)]
        factors[1][1][0, 1] = -np.inf
        graph = FactorGraph([2] * 7, factors)
        X, score = enumerate_scores(graph.n_states, factors, 0.0)
        bp = TRBPMarginals("ones", tol=1e-10).fit(graph)
        for value in (bp.log_partition_, bp.log_partition_lower_, bp.log_partition_upper_):
            assert value == pytest.approx(log_sum(score), abs=1e-8)
        for found, table in zip(bp.factor_marginals_, marginal_blocks(graph, X, score)[1]):
            np.testing.assert_allclose(found, table, rtol=0, atol=1e-8)


def test_independent_variables_are_found(rng):
    """Where the field is a product, mean field is exact on factors of three variables."""
    u = [rng.normal(size=3) for _ in range(3)]
    table = u[0][:, None, None] + u[1][:, None] + u[2]
    field = MeanFieldMarginals(n_init=1).fit(FactorGraph([3] * 3, [([0, 1, 2], table)]))
    expected = sum(np.logaddexp.reduce(block) for block in u)
    assert field.log_partition_ == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("oracle", ["auto", "milp", "branch_and_bound", "elimination"])
def test_best_labelings(oracle, rng):
    for graph, _, score in instances(rng, 200 if oracle == "auto" else 60):
        if score.max() == -np.inf:
            with pytest.raises(ValueError, match=NOTHING):
                graph.map(oracle)
            continue
        best = graph.map(oracle)
        assert best.value == pytest.approx(score.max(), rel=1e-9, abs=1e-9)
        assert graph.score([best.labels])[0] == best.value
        assert best.bound == pytest.approx(best.value, rel=1e-7, abs=1e-6)


@pytest.mark.parametrize("oracle", ["lp", "trws", "ils", MILP(time_limit=10)])
def test_bounds_on_best_labelings(oracle, rng):
    for graph, _, score in instances(rng, 40, forbidden=0.0):
        start = np.zeros(graph.n_variables, int)
        best = graph.map(oracle, start=start)
        assert graph.score([start])[0] <= best.value <= score.max() + 1e-9
        assert best.bound >= score.max() - 1e-7


def wide_graph(rng, n=40):
    """Parity-like factors on random triples: too wide for what is allowed below."""
    triples = [sorted(rng.choice(n, 3, replace=False).tolist()) for _ in range(2 * n)]
    factors = [(scope, rng.normal(size=(2, 2, 2))) for scope in triples]
    return FactorGraph([2] * n, factors)


def test_wide_graphs_are_refused_with_numbers(rng):
    with pytest.raises(ValueError, match=r"elimination needs a table of [\d,]+ numbers \(induced "):
        ExactMarginals(max_table_size=2**8).fit(wide_graph(rng))


def test_search_where_elimination_takes_too_long(rng):
    graph = wide_graph(rng)
    exact = graph.map()
    assert exact.exact
    found = graph.map("trws")
    search = RegionSearch(graph, graph.theta == -np.inf, np.random.default_rng(0))
    labels = search.improve(found.labels, 200, False)
    assert found.value <= graph.score([labels])[0] <= exact.value + 1e-9
    assert graph.score([labels])[0] > 0.97 * exact.value


def test_what_is_impossible_goes_before_elimination():
    """x = y = z by tables of zeros, and y is known: one labeling is left."""
    same = np.where(np.eye(3), 0.0, -np.inf)
    graph = FactorGraph(
        [3, 3, 3, 2], [([0, 1], same), ([1, 2], same), ([1], [-np.inf, -np.inf, 2])]
    )
    assert [states.tolist() for states in allowed_states(graph)[:3]] == [[False, False, True]] * 3
    reduced = Reduced(graph)
    assert reduced.free.tolist() == [3]
    assert reduced.sums()[1] == pytest.approx(2 + np.log(2))


def test_contradictions_that_arcs_do_not_see():
    """Three variables of two states that all differ."""
    different = np.where(np.eye(2), -np.inf, 0.0)
    graph = FactorGraph([2] * 3, [(pair, different) for pair in ([0, 1], [1, 2], [0, 2])])
    for ask in (ExactMarginals().fit, FactorGraph.map, TRBPMarginals("ones").fit):
        with pytest.raises(ValueError, match=NOTHING):
            ask(graph)


# ---- large factors, hard constraints, limits of time ---------------------------------------------


def planted(rng, n_variables, n_factors, n_scope, share):
    """Factors that forbid most joint states, but no state of a hidden labeling."""
    hidden, factors = rng.integers(2, size=n_variables), []
    for _ in range(n_factors):
        scope = rng.choice(n_variables, n_scope, replace=False)
        table = np.where(rng.random((2,) * n_scope) < share, 0.0, -np.inf)
        table[tuple(hidden[scope])] = 0.0
        factors.append((scope.tolist(), table))
    factors += [([i], rng.normal(size=2)) for i in range(n_variables)]
    return FactorGraph([2] * n_variables, factors)


@pytest.mark.slow
def test_large_factors_need_no_joint_tables(rng):
    """Two variables for each pair of joint states would take some 100 GB."""
    graph = planted(rng, 240, 120, 11, 0.9)
    found = graph.map(time_limit=2.0)
    assert np.isfinite(found.value)
    assert found.value == pytest.approx(graph.score([found.labels])[0])
    assert found.value <= found.bound
    for estimator in (MeanFieldMarginals, MiniBucketMarginals):
        fitted = estimator(time_limit=2.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted.fit(graph)
        assert -np.inf < fitted.log_partition_lower_ <= fitted.log_partition_upper_
    with pytest.raises(ValueError, match=r"oracles take tables of one shape.* MiniBucketMarginals"):
        TRWMarginals().fit(graph)


@pytest.mark.parametrize("estimator", [MeanFieldMarginals, MiniBucketMarginals, TRBPMarginals])
def test_an_allowed_labeling_is_a_lower_bound(estimator, rng):
    """Few labelings are left, so that no product of independent distributions is."""
    parity = np.where(np.indices((2,) * 5).sum(axis=0) % 2, -np.inf, 0.0)
    factors = [(rng.choice(12, 5, replace=False).tolist(), parity) for _ in range(9)]
    graph = FactorGraph([2] * 12, [*factors, *(([i], rng.normal(size=2)) for i in range(12))])
    exact = ExactMarginals().fit(graph).log_partition_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = estimator().fit(graph)
    assert -np.inf < fitted.log_partition_lower_ <= exact + 1e-9


@pytest.mark.parametrize(
    "estimator", [MiniBucketMarginals(8), TRBPMarginals(), TRWMarginals(max_iter=3)]
)
def test_a_lower_bound_is_no_worse_than_mean_field_from_the_potentials(estimator):
    """On strong couplings marginals of a loose bound are far from all good distributions."""
    grid = make_ising("grid", (8, 8), coupling=8.0, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        lower = estimator.fit(grid).log_partition_lower_
        started = MeanFieldMarginals(max_iter=5, n_init=1).fit(grid).log_partition_
    exact = ExactMarginals().fit(grid).log_partition_
    assert started - 1e-9 <= lower <= exact + 1e-9


@pytest.mark.parametrize("time_limit", [1e-3, 0.3])
def test_buckets_end_in_time(time_limit, rng):
    triples = [rng.choice(150, 3, replace=False).tolist() for _ in range(2500)]
    graph = FactorGraph([2] * 150, [(t, rng.normal(size=(2, 2, 2))) for t in triples])
    mini_buckets = MiniBucketMarginals(time_limit=time_limit)
    start = time.process_time()
    with pytest.warns(ConvergenceWarning, match=r"increase .*time_limit"):
        mini_buckets.fit(graph)
    assert time.process_time() - start < time_limit + 2.0
    assert graph.map(time_limit=0.3).value <= mini_buckets.log_partition_upper_ < np.inf


def test_more_time_gives_no_less(rng):
    graph = planted(rng, 60, 70, 5, 0.8)
    values = [graph.map(time_limit=seconds).value for seconds in (0.5, 2.0)]
    assert -np.inf < values[0] <= values[1] + 1e-9
