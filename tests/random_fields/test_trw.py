"""Frank-Wolfe on the tree-reweighted objective: known optima, certificates and invariants."""

import warnings
from functools import partial

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from _mrf_references import brute_force, flat, random_mrf
from sklearn_fw import TRWMarginals
from sklearn_fw.datasets import make_ising
from sklearn_fw.random_fields import (
    BarrierFrankWolfe,
    ExactMarginals,
    PairwiseMRF,
    spanning_tree_probabilities,
    trw_objective,
)

# "auto" does not search where it can sum.
searched = partial(TRWMarginals, "elimination")
SPINS = np.array([-1.0, 1.0])


def triangle(J):
    """Three spins that want to differ."""
    table = -J * np.outer(SPINS, SPINS)
    return PairwiseMRF(np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], table)


def mixture(rng, mrf, n_vertices=4, uniform=0.3):
    """A point inside the marginal polytope."""
    weights = (1 - uniform) * rng.dirichlet(np.ones(n_vertices))
    X = (rng.random((n_vertices, mrf.n_variables)) * mrf.n_states).astype(int)
    point = sum(w * mrf.vertex(x) for w, x in zip(weights, X))
    blocks = [*mrf.node_blocks(point), *mrf.factor_blocks(point)]
    for block in blocks:
        block += uniform / block.size
    return point


def with_known_optimum(rng, n_states=(3, 2, 3, 2, 2)):
    """A field whose tree-reweighted optimum is a chosen point, with value zero."""
    mrf = random_mrf(rng, n_states, density=1.0)
    mu = mixture(rng, mrf)
    rho = spanning_tree_probabilities(mrf.edges, mrf.n_variables, rng.random(mrf.n_edges) + 0.1)
    node = mrf.node_blocks(mu)
    tables = [
        r * np.log(table / np.outer(node[i], node[j]))
        for r, (i, j), table in zip(rho, mrf.edges, mrf.factor_blocks(mu))
    ]
    return PairwiseMRF([np.log(block) for block in node], mrf.edges, tables), mu, rho


# ---- known optima --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("J, value", [(0.5, 2.466176), (2.0, 3.966176)])
def test_triangle_over_the_marginal_polytope(J, value):
    trw = searched(rho_init=[2 / 3] * 3, n_rho_iter=1, tol=1e-4, max_iter=5000)
    trw.fit(triangle(J))
    agree = max(1 / 3, 1 / (1 + np.exp(3 * J)))
    assert trw.log_partition_ == pytest.approx(value, abs=2e-4)
    assert trw.log_partition_upper_ >= value - 1e-6
    np.testing.assert_allclose(trw.edge_marginals_[:, 0, 0] * 2, agree, rtol=0, atol=2e-3)
    log_partition = np.log(2 * np.exp(-3 * J) + 6 * np.exp(J))
    assert trw.log_partition_lower_ <= log_partition + 1e-9 <= trw.log_partition_upper_


@pytest.mark.parametrize("J, value", [(0.5, 2.595974), (2.0, 6.698099)])
def test_triangle_over_the_local_polytope(J, value):
    trw = TRWMarginals(polytope="local", rho_init=[2 / 3] * 3, n_rho_iter=1, tol=1e-3)
    trw.fit(triangle(J))
    assert trw.log_partition_ == pytest.approx(value, abs=2e-3)
    assert trw.log_partition_upper_ >= value - 1e-6


def test_known_optimum_is_found(rng):
    for _ in range(3):
        mrf, mu, rho = with_known_optimum(rng)
        assert trw_objective(mu, mrf, rho) == pytest.approx(0.0, abs=1e-12)
        trw = TRWMarginals("enumeration", rho_init=rho, n_rho_iter=1, tol=1e-4, max_iter=5000)
        trw.fit(mrf)
        assert trw.converged_
        assert -1e-4 <= trw.log_partition_ <= 1e-9
        assert trw.log_partition_upper_ >= -1e-9
        np.testing.assert_allclose(flat(trw), mu, rtol=0, atol=0.02)
        assert brute_force(mrf)[0] <= 1e-9


# ---- certificates --------------------------------------------------------------------------------

VARIANTS = {
    "default": {},
    "fixed": {"solver": BarrierFrankWolfe(contraction="fixed", delta=1e-4)},
    "pairwise": {"solver": BarrierFrankWolfe("pairwise")},
    "plain corrections": {"solver": BarrierFrankWolfe("fw")},
    "no correction": {"solver": BarrierFrankWolfe(None), "tol": 1.0},
    "rare corrections": {"solver": BarrierFrankWolfe(correction_every=5, delta=1e-3)},
    "local search": {"solver": BarrierFrankWolfe(local_search="icm")},
    "line search": {
        "solver": BarrierFrankWolfe(rho_step_size="line_search"),
        "n_rho_iter": 2,
        "tol": 1.0,
    },
    "uniform trees": {"rho_init": "matrix_tree"},
    "sampled trees": {"rho_init": "sampled", "random_state": 0},
    "local": {"polytope": "local", "n_rho_iter": 2},
}


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_bounds_hold(options, rng):
    fields = [
        make_ising("clique", 6, coupling=2.0, random_state=1),
        make_ising("grid", (3, 3), coupling=3.0, random_state=2),
        random_mrf(rng, (2, 3, 1, 4, 2)),
    ]
    for mrf in fields:
        log_partition, _ = brute_force(mrf)
        trw = searched(**{"n_rho_iter": 3, **options}).fit(mrf)
        history = trw.history_
        assert trw.log_partition_lower_ <= log_partition + 1e-9
        assert np.all(history["log_partition_upper"] >= log_partition - 1e-9)
        assert np.all(history["dual_gap"] >= -1e-9)
        assert trw.converged_
        assert trw.dual_gap_ <= trw.tol
        assert len(history["time"]) == trw.n_oracle_calls_ == trw.n_iter_
        node = trw.marginals_.sum(axis=1)
        np.testing.assert_allclose(node, 1.0, rtol=0, atol=1e-10)


def test_objective_rises_and_gap_bounds_the_error():
    mrf = make_ising("grid", (4, 4), coupling=2.0, random_state=0)
    fine = searched(n_rho_iter=1, tol=1e-3, max_iter=2000).fit(mrf)
    coarse = searched(n_rho_iter=1, tol=1.0).fit(mrf)
    history = fine.history_
    assert np.all(np.diff(history["objective"]) >= -1e-9)
    best = fine.log_partition_ + fine.dual_gap_
    assert np.all(history["objective"] + history["dual_gap"] >= fine.log_partition_ - 1e-9)
    assert coarse.log_partition_ <= best
    assert coarse.log_partition_upper_ >= fine.log_partition_


def test_floor_certifies_nothing():
    mrf = make_ising("clique", 6, coupling=1.0, random_state=0)
    with pytest.warns(UserWarning, match="no certified gap"):
        trw = searched(
            solver=BarrierFrankWolfe(contraction="none", delta=0.0), tol=1.0, n_rho_iter=1
        ).fit(mrf)
    assert trw.log_partition_upper_ == trw.dual_gap_ == np.inf
    assert trw.estimated_gap_ <= 1.0
    assert not trw.converged_


def test_oracle_without_bound_certifies_nothing():
    mrf = make_ising("grid", (3, 3), coupling=1.0, random_state=0)

    def guess(scores):
        return scores.unary.argmax(axis=1)

    with pytest.warns(UserWarning, match="proves nothing"):
        trw = TRWMarginals(guess).fit(mrf)
    assert trw.log_partition_upper_ == trw.dual_gap_ == np.inf
    assert not trw.converged_
    with pytest.warns(UserWarning, match="no upper bound on log Z"):
        trw.score_samples(np.zeros((2, 9)))


@pytest.mark.parametrize("oracle", ["trws", "approx", "icm"])
def test_inexact_oracles_never_claim_too_much(oracle, rng):
    for mrf in (
        make_ising("grid", (4, 4), coupling=4.0, random_state=3),
        random_mrf(rng, (3, 2, 4, 2, 3)),
    ):
        log_partition, _ = brute_force(mrf)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            trw = TRWMarginals(oracle, n_rho_iter=2).fit(mrf)
        assert trw.log_partition_lower_ <= log_partition + 1e-9 <= trw.log_partition_upper_ + 2e-9
        assert trw.converged_ == (trw.dual_gap_ <= trw.tol)
        assert trw.estimated_gap_ <= trw.dual_gap_


def test_value_that_an_oracle_reports_proves_nothing():
    """Any labeling, any value, and a bound that is true but far off: no call is an exact one."""

    class Careless:
        def argmax(self, scores, start=None):
            bound = scores.unary.max(axis=1).sum() + scores.pairwise.max(axis=(1, 2)).sum()
            return np.zeros(len(scores.unary), int), bound, bound

    mrf = make_ising("grid", (3, 3), coupling=1.0, random_state=0)
    with pytest.warns(UserWarning, match="oracle"):
        trw = TRWMarginals(Careless(), n_rho_iter=1, max_iter=10).fit(mrf)
    assert trw.log_partition_upper_ >= ExactMarginals().fit(mrf).log_partition_


# ---- the objective -------------------------------------------------------------------------------


def test_gradient_is_that_of_the_objective(rng):
    mrf = random_mrf(rng)
    rho = spanning_tree_probabilities(mrf.edges, mrf.n_variables)
    mu = mixture(rng, mrf)
    numeric = approx_fprime(mu, lambda x: trw_objective(x, mrf, rho), 1e-7)
    gradient = trw_objective(mu, mrf, rho, return_gradient=True)[1]
    np.testing.assert_allclose(gradient, numeric, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    "mu, rho, message",
    [
        (np.full(9, 0.5), [1.0], r"mu.shape == \(9,\), expected \(8,\)"),
        (np.full(8, -0.1), [1.0], "mu must hold probabilities, from 0 to 1"),
        (np.full(8, 0.5), [1.0, 1.0], r"rho.shape == \(2,\), expected \(1,\)"),
    ],
)
def test_points_that_do_not_fit_are_refused(mu, rho, message):
    mrf = PairwiseMRF(np.zeros((2, 2)), [(0, 1)], np.eye(2))
    calls = [trw_objective]
    if len(rho) == 1:
        calls.append(lambda mu, mrf, rho: mrf.mutual_information(mu))
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call(mu, mrf, rho)


def test_extreme_potentials_stay_finite():
    """Products of two marginals underflow here."""
    mrf = PairwiseMRF([[0.0, 500.0]] * 2, [(0, 1)], [[[700.0, 0.0], [0.0, 300.0]]])
    exact = ExactMarginals().fit(mrf)
    mu = flat(exact)
    assert np.isfinite(mrf.mutual_information(mu)).all()
    assert trw_objective(mu, mrf, [1.0]) == pytest.approx(exact.log_partition_, rel=1e-12)
    hard = PairwiseMRF([[0.0, -np.inf]] * 2, [(0, 1)], np.eye(2))
    assert trw_objective(hard.vertex([0, 0]), hard, [1.0]) == pytest.approx(1.0)


# ---- published numbers ---------------------------------------------------------------------------


# Error of the marginals and of the bound with optimized rho, by coupling.
CLIQUES = {0.5: (0.065, 1.20), 2.0: (0.059, 0.62), 8.0: (0.013, 0.12)}


@pytest.mark.slow
@pytest.mark.parametrize("coupling", CLIQUES)
def test_cliques_of_the_paper(data_file, coupling):
    """Means over 100 cliques each, of which 20 are here: their own spread is 30 %."""
    from sklearn_fw.datasets import load_mrf_instances

    data = load_mrf_instances(data_file("mrf/cliques/exact.json").parents[1], name="cliques")
    errors, excess = [], []
    for k in np.flatnonzero(data.couplings == coupling):
        trw = searched().fit(data.mrfs[k])
        error = np.abs(trw.marginals_[:, 1] - data.node_marginals[k][:, 1]).mean()
        errors.append(error)
        excess.append(trw.log_partition_upper_ - data.log_partition[k])
        assert trw.log_partition_lower_ <= data.log_partition[k] + 1e-3
    assert min(excess) > -1e-3  # the truth is printed with six digits
    expected_error, expected_excess = CLIQUES[coupling]
    assert np.mean(errors) <= 1.3 * expected_error
    assert np.mean(excess) <= 1.3 * expected_excess


@pytest.mark.slow
def test_grids_of_the_paper(data_file):
    """15 grids of 5 x 5: error of marginals 0.047, of the bound 0.60 (Krishnan et al., 2015)."""
    from sklearn_fw.datasets import load_mrf_instances

    data = load_mrf_instances(data_file("mrf/grids_5x5/exact.json").parents[1], name="grids_5x5")
    errors, excess = [], []
    for mrf, exact, log_partition in zip(data.mrfs, data.node_marginals, data.log_partition):
        trw = searched().fit(mrf)
        errors.append(np.abs(trw.marginals_[:, 1] - exact[:, 1]).mean())
        excess.append(trw.log_partition_upper_ - log_partition)
        assert trw.log_partition_lower_ <= log_partition + 1e-4
    assert min(excess) > 0
    assert np.mean(errors) <= 0.047 * 1.1
    assert np.mean(excess) <= 0.60 * 1.1
