"""What "auto" takes for marginals, how it says so, and what time limits interrupt."""

import logging
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from _mrf_references import brute_force, flat, random_mrf
from sklearn_fw import TRWMarginals
from sklearn_fw._core.budget import time_budget
from sklearn_fw.datasets import make_ising
from sklearn_fw.inference import TRWS, BranchAndBound, Elimination
from sklearn_fw.random_fields import (
    ExactMarginals,
    MeanFieldMarginals,
    MiniBucketMarginals,
    PairwiseMRF,
    PerturbAndMAPMarginals,
    TRBPMarginals,
)

WIDE = (30, 30)  # rows and columns of a grid whose tables are never stored


@pytest.mark.slow
def test_narrow_fields_are_summed(rng, caplog):
    for _ in range(10):
        mrf = random_mrf(rng, (2, 3, 2, 4))
        log_partition, marginals = brute_force(mrf)
        with caplog.at_level(logging.INFO, "sklearn_fw"):
            trw = TRWMarginals().fit(mrf)
        assert trw.method_ == "exact"
        assert trw.choice_.startswith("exact by ")
        assert any(f"exact, {trw.choice_}" in line for line in caplog.messages)
        assert trw.converged_
        assert trw.dual_gap_ == 0.0
        np.testing.assert_allclose(flat(trw), marginals, rtol=0, atol=1e-10)
        for bound in (trw.log_partition_, trw.log_partition_upper_, trw.log_partition_lower_):
            assert bound == pytest.approx(log_partition, abs=1e-10)
        draws = trw.sample(20_000, random_state=0)
        frequency = np.bincount(draws[:, 1], minlength=3) / len(draws)
        np.testing.assert_allclose(frequency, trw.marginals_[1, :3], rtol=0, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-3, 0.1, 1.0])
def test_no_tree_gets_uniform_marginals(scale, rng):
    """Of a small field even uniform marginals are within half a nat."""
    mrf = PairwiseMRF(scale * rng.normal(size=(3, 2)), [(0, 1), (1, 2)], scale * np.eye(2))
    trw = TRWMarginals().fit(mrf)
    assert trw.choice_ == "exact by message passing: the graph has no cycles"
    np.testing.assert_allclose(flat(trw), brute_force(mrf)[1], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(trw.rho_, 1.0)


@pytest.mark.slow
def test_long_trees_are_summed_by_messages():
    """Wide stars and long chains have tables of four numbers."""
    n = 3000
    rng = np.random.default_rng(0)
    parent = [int(rng.integers(i)) for i in range(1, n)]
    mrf = PairwiseMRF(rng.normal(size=(n, 2)), list(enumerate(parent, 1)), np.eye(2))
    exact = ExactMarginals(max_table_size=1).fit(mrf)
    node, _, log_partition = Elimination().marginals(mrf.scores())
    assert exact.log_partition_ == pytest.approx(log_partition, rel=1e-12)
    np.testing.assert_allclose(exact.marginals_, node, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_wide_fields_are_approximated():
    mrf = make_ising("grid", WIDE, coupling=4.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        trw = TRWMarginals(max_oracle_calls=2).fit(mrf)
    assert trw.method_ == "frank_wolfe"
    assert trw.choice_.startswith("approximate: elimination needs tables of up to ")
    assert repr(trw.oracle_) == "BestOf(oracles='quick')"
    assert np.isfinite(trw.log_partition_upper_)


@pytest.mark.slow
def test_what_is_named_is_taken():
    mrf = make_ising("clique", 5, random_state=0)
    trw = TRWMarginals("elimination").fit(mrf)
    assert (trw.method_, trw.choice_) == ("frank_wolfe", "the oracle that was given")
    assert trw.n_oracle_calls_ > 0
    local = TRWMarginals(polytope="local").fit(mrf)
    assert local.method_ == "frank_wolfe"
    assert local.oracle_ is None


# ---- time ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_oracles_look_at_the_clock():
    scores = make_ising("grid", (9, 9), coupling=4.0, random_state=0).scores()
    oracle = Elimination()
    oracle.argmax(scores)
    with time_budget(1e-9, ends_oracles=True):
        with pytest.raises(TimeoutError, match=r"interrupted by a time limit.*oracle='approx'"):
            oracle.argmax(scores)
        with pytest.raises(TimeoutError):
            oracle.marginals(scores)
        # These have an answer at any time.
        _, value, bound = TRWS(max_iter=10**6, tol=0.0).argmax(scores)
        assert np.isfinite(value)
        assert np.isfinite(bound)
        labels, value, bound = BranchAndBound().argmax(scores)
        assert scores.value(labels) == pytest.approx(value)
        assert value < bound
    best = oracle.argmax(scores)[1]
    assert value <= best <= bound


@pytest.mark.slow
def test_parts_of_an_elimination_are_the_whole(monkeypatch, rng):
    """Every bucket a part of its own."""
    mrf = random_mrf(rng, (2, 3, 2, 4, 2))
    whole = Elimination()
    monkeypatch.setattr("sklearn_fw.inference._oracles._elimination.PART", 1)
    parts = Elimination()
    for name in ("argmax", "marginals", "max_marginals"):
        for one, other in zip(
            np.atleast_1d(getattr(whole, name)(mrf.scores())) if name == "max_marginals"
            else getattr(whole, name)(mrf.scores()),
            np.atleast_1d(getattr(parts, name)(mrf.scores())) if name == "max_marginals"
            else getattr(parts, name)(mrf.scores()),
        ):  # fmt: skip
            np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_a_call_that_takes_too_long_is_interrupted():
    """One elimination of this grid takes longer than the limit: bounds come from messages then."""
    mrf = make_ising("grid", (18, 18), coupling=4.0, random_state=0)
    started = time.perf_counter()
    with pytest.warns(
        ConvergenceWarning, match="increase max_iter, max_oracle_calls or time_limit"
    ):
        trw = TRWMarginals("elimination", time_limit=0.05).fit(mrf)
    assert time.perf_counter() - started < 30.0
    assert trw.status_ == "time_limit"
    assert not trw.converged_
    assert trw.log_partition_lower_ <= 1023.667 <= trw.log_partition_upper_ < np.inf


@pytest.mark.slow
def test_sums_are_left_out_where_there_is_no_time():
    mrf = make_ising("grid", (18, 18), coupling=4.0, random_state=0)
    with pytest.warns(ConvergenceWarning):
        trw = TRWMarginals(time_limit=0.05).fit(mrf)
    assert trw.method_ == "frank_wolfe"
    assert "s, time_limit is 0.0" in trw.choice_  # what is left of it
    assert trw.log_partition_lower_ <= 1023.667 <= trw.log_partition_upper_ < np.inf


def test_an_estimate_of_time_that_is_wrong(monkeypatch):
    monkeypatch.setattr("sklearn_fw.inference._oracles._elimination.SECONDS_PER_NUMBER", 1e-30)
    TRWMarginals().fit(make_ising("grid", (3, 3), random_state=0))  # compiles what takes time
    mrf = make_ising("grid", (18, 18), coupling=4.0, random_state=0)
    with pytest.warns(ConvergenceWarning):
        trw = TRWMarginals(time_limit=0.1).fit(mrf)
    assert trw.choice_.startswith("approximate: time_limit ended what was to be exact")
    assert trw.log_partition_upper_ >= 1023.667


# ---- hard constraints ----------------------------------------------------------------------------

EVERYBODY = [
    TRWMarginals(),
    TRWMarginals("elimination"),
    TRWMarginals("trws"),
    TRWMarginals(polytope="local"),
    ExactMarginals(),
    TRBPMarginals(),
    TRBPMarginals("ones"),
    MeanFieldMarginals(),
    PerturbAndMAPMarginals(),
    MiniBucketMarginals(),
    MiniBucketMarginals(1),
]


@pytest.mark.parametrize("estimator", EVERYBODY, ids=repr)
def test_contradictions_are_refused_by_everybody(estimator):
    table = np.where(np.eye(2), -np.inf, 0.0)
    triangle = PairwiseMRF(np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], table)
    with pytest.raises(ValueError, match=r"forbid|no labeling"):
        estimator.fit(triangle)


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ["auto", "elimination", "approx"])
@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e2, 1e4])
@pytest.mark.filterwarnings("ignore:.*potentials are -inf:UserWarning")
@pytest.mark.filterwarnings("ignore:certified gap:sklearn.exceptions.ConvergenceWarning")
def test_what_is_forbidden_has_no_mass_at_any_scale(oracle, scale, rng):
    """Softened constraints must cost more than the potentials around them are worth."""
    hard = [[0.0, 0.0], [0.0, -np.inf]]
    fields = [PairwiseMRF([[0.0, scale]] * 2, [(0, 1)], [hard])]
    for _ in range(5):
        mrf = random_mrf(rng, (2, 3, 2, 3), scale=scale)
        tables = [np.where(rng.random(t.shape) < 0.25, -np.inf, t) for t in mrf.pairwise]
        fields.append(PairwiseMRF(mrf.unary, mrf.edges, tables or None))
    n_possible = 0
    for mrf in fields:
        log_partition, marginals = brute_force(mrf)
        if log_partition == -np.inf or not all(np.isfinite(t).any() for t in mrf.pairwise):
            with pytest.raises(ValueError, match=r"-inf|forbidden"):
                TRWMarginals(oracle).fit(mrf)
            continue
        n_possible += 1
        trw = TRWMarginals(oracle, tol=0.01, n_rho_iter=2, max_iter=300).fit(mrf)
        assert flat(trw)[mrf.theta == -np.inf].max() < 1e-2
        if trw.converged_:
            np.testing.assert_allclose(
                trw.log_partition_upper_,
                log_partition,
                rtol=0,
                atol=0.01 + 3.0 * (oracle != "auto"),
            )
        assert trw.log_partition_lower_ <= log_partition * (1 + 1e-12) + 1e-9
        assert trw.log_partition_upper_ >= log_partition - 1e-9 * abs(log_partition)
        if oracle == "auto":
            np.testing.assert_allclose(flat(trw), marginals, rtol=0, atol=1e-9)
    assert n_possible > 1
