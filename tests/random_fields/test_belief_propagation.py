"""Messages against brute force on trees, closed forms, a general solver, and published numbers."""

import functools
import itertools
import json
import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from _mrf_references import brute_force, flat, random_mrf
from _tasks import Tasks
from sklearn_fw.optim.domains import SpanningTrees
from sklearn_fw.random_fields import (
    ExactMarginals,
    FactorGraph,
    PairwiseMRF,
    TRBPMarginals,
    trw_objective,
)
from sklearn_fw.random_fields._choice import Request
from sklearn_fw.random_fields._spanning_trees import check_edge_probabilities

LOOPY = functools.partial(TRBPMarginals, "ones")
ESTIMATORS = [TRBPMarginals, LOOPY]
UPDATES = ["sequential", "random", "parallel"]


def random_forest(rng, n_states=(2, 3, 1, 4, 2, 3)):
    """Random field on a forest of two trees, variables and edges in random order."""
    names = rng.permutation(len(n_states))
    edges = [(names[t], names[rng.integers(t)]) for t in range(1, len(names)) if t != 4]
    return PairwiseMRF(
        [rng.normal(size=k) for k in n_states],
        edges,
        [2 * rng.normal(size=(n_states[i], n_states[j])) for i, j in edges],
        constant=0.7,
    )


def with_forbidden(mrf, rng, share=0.2):
    """The same field with some -inf, but at least one labeling left."""
    unary, tables = [b.copy() for b in mrf.unary], [t.copy() for t in mrf.pairwise]
    kept = [rng.integers(k) for k in mrf.n_states]
    for block, state in zip(unary, kept):
        block[(rng.random(block.shape) < share) & (np.arange(len(block)) != state)] = -np.inf
    for table, (i, j) in zip(tables, mrf.edges):
        value = table[kept[i], kept[j]]
        table[rng.random(table.shape) < share] = -np.inf
        table[kept[i], kept[j]] = value
    return PairwiseMRF(unary, mrf.edges, tables or None, constant=mrf.constant)


def triangle(J):
    """Three spins of which each pair wants to differ; agreement costs 2 J."""
    return PairwiseMRF(
        np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], J * (np.ones((2, 2)) - 2 * np.eye(2))
    )


# ---- graphs without cycles: exact ----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("forbidden", [False, True])
def test_exact_on_forests(estimator, update, forbidden, rng):
    for _ in range(10):
        mrf = random_forest(rng)
        if forbidden:
            mrf = with_forbidden(mrf, rng)
        log_partition, marginals = brute_force(mrf)
        bp = estimator(update=update, tol=1e-9, random_state=0).fit(mrf)
        np.testing.assert_allclose(flat(bp), marginals, rtol=0, atol=1e-8)
        assert np.all(flat(bp)[marginals == 0.0] == 0.0)
        for value in (bp.log_partition_, bp.log_partition_upper_, bp.log_partition_lower_):
            assert value == pytest.approx(log_partition, rel=0, abs=1e-8)
        assert bp.converged_
        np.testing.assert_allclose(bp.rho_, 1.0, rtol=0, atol=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_two_passes_are_exact_on_a_chain(estimator, rng):
    n = 300
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    mrf = PairwiseMRF(rng.normal(size=(n, 3)), edges, rng.normal(size=(n - 1, 3, 3)))
    bp = estimator().fit(mrf)
    assert bp.n_iter_ <= 3
    forward = mrf.unary[0]
    for t, table in enumerate(mrf.pairwise):
        forward = mrf.unary[t + 1] + np.logaddexp.reduce(forward[:, None] + table, axis=0)
    expected = np.logaddexp.reduce(forward)
    assert bp.log_partition_ == pytest.approx(expected, rel=1e-12)
    assert bp.log_partition_upper_ == pytest.approx(expected, rel=1e-12)


# ---- the tree-reweighted problem -----------------------------------------------------------------


@pytest.mark.parametrize("J, expected", [(0.5, 2.595974), (2.0, 6.698099)])
def test_antiferromagnetic_triangle(J, expected):
    trbp = TRBPMarginals("matrix_tree").fit(triangle(J))
    p = 1 / (1 + math.exp(3 * J))  # probability that a pair agrees
    entropy = -p * math.log(p) - (1 - p) * math.log(1 - p)
    closed_form = 3 * J * (1 - 2 * p) + math.log(2) + 2 * entropy
    assert closed_form == pytest.approx(expected, rel=0, abs=1e-6)
    assert trbp.log_partition_ == pytest.approx(closed_form, rel=0, abs=1e-9)
    assert trbp.log_partition_upper_ == pytest.approx(closed_form, rel=0, abs=1e-9)
    np.testing.assert_allclose(trbp.edge_marginals_[:, 0, 0], p / 2, rtol=0, atol=1e-9)


@pytest.mark.parametrize("update", UPDATES)
def test_known_solution_is_found(update, rng):
    # The potentials that belong to given marginals, told in another way: part of each table is
    # moved to the variables.
    mrf = random_mrf(rng, (3, 2, 3, 4, 2), density=1.0)
    _, mu = brute_force(mrf)
    rho = np.full(mrf.n_edges, 4 / mrf.n_edges)
    node = mrf.node_blocks(mu)
    unary = [np.log(p) for p in node]
    tables = []
    for r, table, (i, j) in zip(rho, mrf.factor_blocks(mu), mrf.edges):
        moved = rng.normal(size=len(node[i]))
        tables.append(r * np.log(table / np.outer(node[i], node[j])) + moved[:, None])
        unary[i] = unary[i] - moved
    told = PairwiseMRF(unary, mrf.edges, tables)
    trbp = TRBPMarginals(rho, update=update, tol=1e-10, random_state=0).fit(told)
    np.testing.assert_allclose(flat(trbp), mu, rtol=0, atol=1e-9)
    assert trbp.log_partition_ == pytest.approx(0.0, abs=1e-8)
    assert trbp.log_partition_upper_ == pytest.approx(0.0, abs=1e-8)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_iter", [1, 3, 100])
@pytest.mark.parametrize("rho_init", ["matrix_tree_weighted", "matrix_tree", "sampled", "vertex"])
@pytest.mark.parametrize("forbidden", [False, True])
def test_bounds_hold_for_any_messages(rho_init, max_iter, forbidden, rng):
    for update in UPDATES:
        mrf = random_mrf(rng, (2, 3, 2, 4, 3), density=0.8, scale=3.0)
        if forbidden:
            mrf = with_forbidden(mrf, rng)
        log_partition, _ = brute_force(mrf)
        trbp = TRBPMarginals(
            spanning_tree(mrf) if rho_init == "vertex" else rho_init,
            update=update, max_iter=max_iter, n_rho_iter=2, damping=0.2, random_state=0,
        ).fit(mrf)  # fmt: skip
        assert trbp.log_partition_upper_ >= log_partition - 1e-9
        assert trbp.log_partition_lower_ <= log_partition + 1e-9
        check_edge_probabilities(trbp.rho_, mrf.edges, mrf.n_variables)


def spanning_tree(mrf):
    trees = SpanningTrees(mrf.edges, mrf.n_variables)
    return trees.lmo(-np.arange(mrf.n_edges, dtype=float)).to_array()


def test_bound_is_as_tight_as_tol_says(rng):
    for _ in range(5):
        mrf = random_mrf(rng, (2, 3, 2, 4, 3), density=1.0, scale=1.5)
        for update in UPDATES:
            trbp = TRBPMarginals(update=update, tol=1e-3, random_state=0).fit(mrf)
            assert 0 <= trbp.log_partition_upper_ - trbp.log_partition_ <= 2e-3
            exact = TRBPMarginals(tol=1e-10, max_iter=10_000).fit(mrf)
            np.testing.assert_allclose(flat(trbp), flat(exact), rtol=0, atol=1e-3)


def test_tightening_lowers_the_bound(rng):
    mrf = random_mrf(rng, (2,) * 6, density=1.0)
    log_partition, _ = brute_force(mrf)
    once = TRBPMarginals("matrix_tree").fit(mrf)
    often = TRBPMarginals("matrix_tree", n_rho_iter=10).fit(mrf)
    assert log_partition < often.log_partition_upper_ < once.log_partition_upper_ - 0.05
    assert 0 <= often.rho_gap_ < once.rho_gap_
    assert often.n_iter_ > once.n_iter_
    np.testing.assert_allclose(often.rho_.sum(), 5.0)


# ---- loopy belief propagation --------------------------------------------------------------------


def test_loopy_belief_propagation_on_a_cycle(rng):
    mrf = random_mrf(rng, (2, 3, 2), density=1.0)
    bp = LOOPY(tol=1e-10).fit(mrf)
    log_partition, _ = brute_force(mrf)
    assert bp.log_partition_upper_ == np.inf
    assert bp.log_partition_lower_ <= log_partition
    # A fixed point: the Bethe value does not change to first order in consistent directions.
    mu, ones = flat(bp), np.ones(3)
    assert bp.log_partition_ == pytest.approx(trw_objective(mu, mrf, ones), rel=0, abs=1e-9)
    others = [flat(LOOPY(tol=1e-10).fit(random_mrf(rng, (2, 3, 2), density=1.0)))]
    others.append(brute_force(mrf)[1])
    for other in others:
        step = 1e-4 * (other - mu)
        values = [trw_objective(mu + s * step, mrf, ones) for s in (-1, 1)]
        assert (values[1] - values[0]) / 2e-4 == pytest.approx(0.0, abs=1e-6)


# ---- hard constraints ----------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_forbidden_states_get_exactly_zero(estimator, damping, rng):
    for _ in range(10):
        mrf = with_forbidden(random_mrf(rng, (3, 2, 3, 2), density=1.0), rng)
        _, marginals = brute_force(mrf)
        bp = estimator(damping=damping).fit(mrf)
        found = flat(bp)
        assert np.all(np.isfinite(found))
        assert np.all(found[mrf.theta == -np.inf] == 0.0)
        assert np.all(marginals[found == 0.0] < 1e-12)  # nothing possible is lost


# ---- the estimators ------------------------------------------------------------------------------


def test_learned_fields_are_solved_at_once(rng):
    X = rng.integers(0, [2, 3, 2, 4], size=(60, 4))
    trbp = TRBPMarginals().fit(X)
    assert trbp.n_iter_ == 1
    assert trbp.log_partition_ == pytest.approx(0.0, abs=1e-12)
    assert trbp.log_partition_upper_ == pytest.approx(0.0, abs=1e-12)
    frequency = (np.bincount(X[:, 1], minlength=3) + 1 / 3) / 61
    np.testing.assert_allclose(trbp.marginals_[1, :3], frequency, rtol=1e-12)
    assert trbp.marginals_[1, 3] == 0.0
    np.testing.assert_allclose(trbp.score_samples(X), trbp.mrf_.score(X), rtol=0, atol=1e-12)
    other = TRBPMarginals("matrix_tree", n_rho_iter=2).fit(X)
    assert other.log_partition_upper_ > 0.0


def test_incomplete_rows_with_given_edge_probabilities(rng):
    mrf = random_mrf(rng, (2, 2, 2, 2), density=1.0)
    trbp = TRBPMarginals(np.full(6, 0.5)).fit(mrf)
    default = TRBPMarginals().fit(mrf)
    row = [[0, -1, -1, -1]]
    np.testing.assert_array_equal(trbp.predict_marginals(row), default.predict_marginals(row))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("budget", [{"max_iter": 2}, {"time_limit": 1e-9}])
def test_budgets(estimator, budget):
    mrf = PairwiseMRF.from_ising([1.0, 0.3, 0.1], 2 * np.ones(3), [(0, 1), (1, 2), (0, 2)])
    with pytest.warns(ConvergenceWarning, match=r"nats from rest, tol=1e-06, after \d passes"):
        bp = estimator(tol=1e-6, **budget).fit(mrf)
    assert not bp.converged_
    assert bp.status_ in ("max_iter", "time_limit")
    assert bp.n_iter_ <= 2


@pytest.mark.parametrize("estimator", [TRBPMarginals(n_rho_iter=5, tol=1e-9), LOOPY()])
def test_callbacks_see_passes_and_can_stop_them(estimator):
    mrf = PairwiseMRF.from_ising([1.0, 0.3, 0.1], np.ones(3), [(0, 1), (1, 2), (0, 2)])
    tasks = Tasks(2)
    inference = estimator.infer(mrf, Request(tasks=tasks))
    assert tasks.seen == [1, 2]
    assert tasks.n_begun == 2
    assert inference.attributes["status_"] == "stopped"
    assert not inference.notes


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"rho_init": "any"}, "rho_init must be one of 'matrix_tree', 'matrix_tree_weighted'"),
        ({"rho_init": "ones", "n_rho_iter": 2}, 'n_rho_iter must be 1 for rho_init="ones"'),
        ({"rho_init": [0.5, 0.5, 0.5]}, "rho_init must be in the spanning tree polytope"),
    ],
)
def test_errors(parameters, message):
    with pytest.raises(ValueError, match=message):
        TRBPMarginals(**parameters).fit(triangle(1.0))


# ---- published numbers ---------------------------------------------------------------------------


def errors(estimator, data_file, folder, names):
    """Mean error of node marginals and of log Z, and whether all bounds hold."""
    truth = json.loads(data_file(f"mrf/{folder}/exact.json").read_text())
    node, total, bounded = [], [], []
    for name in names:
        fitted = estimator.fit(data_file(f"mrf/{folder}/{name}.uai"))
        expected = np.reshape(truth[name]["node_marginals"], (-1, 2))
        node.append(np.abs(fitted.marginals_ - expected)[:, 1].mean())
        total.append(fitted.log_partition_ - truth[name]["log_partition"])
        bounded.append(fitted.log_partition_upper_ >= truth[name]["log_partition"] - 1e-4)
    return np.mean(node), np.mean(total), all(bounded)


def test_cliques(data_file):
    for group, published in ((0, 0.174), (1, 0.265), (2, 0.338), (8, 0.354)):
        names = [str(100 * group + i) for i in range(1, 21)]  # 20 of the 100 published
        node, _, bounded = errors(TRBPMarginals(), data_file, "cliques", names)
        assert node == pytest.approx(published, abs=0.05)
        assert bounded


def test_grids(data_file):
    names = [f"gridWi5Tr{i}" for i in range(1, 16)]
    node, total, bounded = errors(TRBPMarginals(), data_file, "grids_5x5", names)
    assert node == pytest.approx(0.348, abs=0.01)
    assert total == pytest.approx(8.995, abs=0.01)  # about 9 in the figure
    assert bounded


def test_forbidden_pairs_of_tiny_probability_leave_the_bound_of_a_labeling():
    """The product of the two probabilities underflows to zero."""
    edges = [(0, 1), (1, 2), (0, 2)]
    table = [[0.0, 0.0], [0.0, -np.inf]]
    bp = LOOPY().fit(PairwiseMRF([[0.0, -700.0]] * 3, edges, [table] * 3))
    assert bp.log_partition_lower_ == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_messages_that_diverge_go_back(damping, rng):
    """Implications between three of few variables: messages once grew until they overflowed."""
    table = np.zeros((2, 2, 2))
    table[1, 1, 0] = -8.0
    triples = [t for t in itertools.combinations(range(9), 3) if rng.random() < 0.6]
    unary = [([i], rng.normal(scale=8.0, size=2)) for i in range(9)]
    graph = FactorGraph([2] * 9, [*unary, *((t, table) for t in triples)])
    exact = ExactMarginals().fit(graph).log_partition_
    bp = TRBPMarginals(damping=damping).fit(graph)
    assert bp.converged_
    assert exact - 1e-9 <= bp.log_partition_upper_ < exact + 100.0
