"""Bounds of elimination with small tables against enumeration."""

import numpy as np
import pytest

from _mrf_references import enumerate_scores, log_sum, marginal_blocks, random_graph
from sklearn_fw.datasets import make_ising
from sklearn_fw.random_fields import ExactMarginals, FactorGraph, MiniBucketMarginals

pytestmark = pytest.mark.filterwarnings("ignore:the bound still falls")


def dense_graph(rng):
    """Tables on all pairs of five variables, and on some triples."""
    n_states = rng.integers(2, 4, 5)
    scopes = [(i, j) for i in range(5) for j in range(i)] + [(0, 1, 2), (2, 4, 3)]
    factors = [(scope, rng.normal(size=n_states[list(scope)])) for scope in scopes]
    for _, table in factors:
        table[rng.random(table.shape) < 0.05] = -np.inf
    return FactorGraph(n_states, factors, constant=1.0), factors, 1.0


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 4, 9, 27])
def test_bounds_hold_at_every_pass(size, rng):
    """Against enumeration; exact where nothing is split, and no pass raises the bound."""
    n_split = n_exact = 0
    for turn in range(100):
        graph, factors, constant = (dense_graph if turn % 2 else random_graph)(rng)
        X, score = enumerate_scores(graph.n_states, factors, constant)
        if score.max() == -np.inf:
            continue
        found = MiniBucketMarginals(size, max_iter=5).fit(graph)
        bounds = found.history_["dual_objective"]
        assert np.all(bounds >= log_sum(score) - 1e-9)
        assert np.all(np.diff(bounds) <= 0.0)
        assert found.log_partition_upper_ == bounds[-1]
        assert found.log_partition_lower_ <= log_sum(score) + 1e-9
        np.testing.assert_allclose(found.marginals_.sum(axis=1), 1.0, rtol=1e-9)
        if found.n_split_:
            n_split += 1
            continue
        n_exact += 1
        assert found.converged_
        assert found.log_partition_lower_ == found.log_partition_ == found.log_partition_upper_
        assert found.log_partition_ == pytest.approx(log_sum(score), abs=1e-9)
        node, tables = marginal_blocks(graph, X, score)
        for i, block in enumerate(node):
            np.testing.assert_allclose(found.marginals_[i, : len(block)], block, rtol=0, atol=1e-9)
        for one, table in zip(found.factor_marginals_, tables, strict=True):
            np.testing.assert_allclose(one, table, rtol=0, atol=1e-9)
    assert n_exact > 10 or size < 27
    assert n_split > 20


def test_larger_tables_and_passes_make_better_bounds():
    grid = make_ising("grid", (8, 8), coupling=4.0, random_state=0)
    truth = ExactMarginals().fit(grid).log_partition_
    first, last = [], []
    for power in (2, 4, 6, 8):
        found = MiniBucketMarginals(2**power, max_iter=30).fit(grid)
        bounds = found.history_["dual_objective"]
        first.append(bounds[0] - truth)
        last.append(bounds[-1] - truth)
    assert np.all(np.diff(last) < 0.0)
    assert last[-1] > -1e-9
    assert np.all(np.array(last[:3]) < 0.85 * np.array(first[:3]))


def test_a_budget_that_ends_is_told():
    grid = make_ising("grid", (6, 6), coupling=4.0, random_state=0)
    with pytest.warns(UserWarning, match="the bound still falls by more than tol=0"):
        found = MiniBucketMarginals(4, tol=0.0, max_iter=3).fit(grid)
    assert not found.converged_
    assert found.n_iter_ == 3


@pytest.mark.slow
def test_models_of_a_competition_are_bounded(data_file, tmp_path):
    import gzip

    from sklearn_fw.random_fields import load_uai

    path = tmp_path / "model.uai"
    path.write_bytes(gzip.decompress(data_file("uai/PR/linkage_11.uai.gz").read_bytes()))
    field = load_uai(path).condition(load_uai(data_file("uai/PR/linkage_11.uai.evid"), "evidence"))
    given = float(data_file("uai/PR/linkage_11.uai.PR").read_text().split()[1]) * np.log(10)
    bound = MiniBucketMarginals(2**10, max_iter=4).fit(field).log_partition_upper_
    assert given <= bound < given + 40.0
