"""Random small random fields, and what is claimed about their log Z and their maxima."""

import numpy as np

from _mrf_references import brute_force, labelings, random_mrf
from _scaled_scores import ORACLES, SIZES, assert_holds, scaled_scores
from sklearn_fw import TRWMarginals
from sklearn_fw.random_fields import (
    BarrierFrankWolfe,
    ExactMarginals,
    MeanFieldMarginals,
    MiniBucketMarginals,
    PairwiseMRF,
    PerturbAndMAPMarginals,
    TRBPMarginals,
)

SHARE = 1e-9


def field(rng, hard=0.2):
    """A random field, with some potentials of -inf, and its log Z and marginals."""
    n = int(rng.integers(2, 6))
    states = rng.integers(2, 4, n) if rng.random() < 0.7 else np.full(n, 2)
    mrf = random_mrf(rng, tuple(states), rng.uniform(0.3, 1.0), 10.0 ** rng.uniform(-2, 1.3))
    if rng.random() < hard:
        pairwise = [np.where(rng.random(t.shape) < 0.2, -np.inf, t) for t in mrf.pairwise]
        mrf = PairwiseMRF(mrf.unary, mrf.edges, pairwise, constant=mrf.constant)
    return mrf, *brute_force(mrf)


def between(what, mrf, log_partition, lower, upper):
    """Bounds are on both sides of log Z."""
    finite = mrf.theta[mrf.theta > -np.inf]
    slack = SHARE * max(1.0, abs(log_partition)) + 1e-13 * np.abs(finite).sum()
    assert lower <= log_partition + slack, (what, lower, log_partition)
    assert log_partition <= upper + slack, (what, log_partition, upper)


def trw(rng):
    """Both bounds of `TRWMarginals`, by search and by sums, and its gap."""
    mrf, log_partition, _ = field(rng)
    model = TRWMarginals(
        ["auto", "elimination", "trws", "approx", "icm", "milp", "lp"][rng.integers(7)],
        polytope="local" if (local := rng.random() < 0.2) else "marginal",
        solver=BarrierFrankWolfe(
            ["away", "pairwise", "fw", None][rng.integers(4)],
            contraction=["adaptive", "fixed", "none"][rng.integers(3)],
            rho_step_size=["universal", "line_search"][rng.integers(2)],
        ),
        rho_init=["matrix_tree_weighted", "matrix_tree"][rng.integers(2)],
        n_rho_iter=int(rng.integers(1, 4)), tol=float(rng.choice([1.0, 0.1, 1e-3])),
        max_iter=int(rng.integers(1, 25)), random_state=0,
    )  # fmt: skip
    if local:
        model.set_params(oracle="auto")
    if (answer := asked(model, mrf, log_partition)) is None:
        return
    between(model, mrf, log_partition, answer.log_partition_lower_, answer.log_partition_upper_)
    # For any edge probabilities the objective is never below log Z at its maximum.
    between(model, mrf, log_partition, -np.inf, answer.log_partition_ + answer.dual_gap_)
    if answer.converged_:
        assert answer.dual_gap_ <= model.tol
        assert answer.log_partition_lower_ > -np.inf


def others(rng):
    """The bounds of all other estimators; most have one side, or none."""
    mrf, log_partition, marginals = field(rng)
    budget = {"max_iter": int(rng.integers(1, 200)), "random_state": 0}
    model = [
        ExactMarginals(), MeanFieldMarginals(**budget), TRBPMarginals(**budget),
        TRBPMarginals("ones", **budget), PerturbAndMAPMarginals(n_samples=3, random_state=0),
        MiniBucketMarginals(4, max_iter=5),
    ][rng.integers(6)]  # fmt: skip
    if (answer := asked(model, mrf, log_partition)) is None:
        return
    between(model, mrf, log_partition, answer.log_partition_lower_, answer.log_partition_upper_)
    if isinstance(model, ExactMarginals):
        assert answer.log_partition_lower_ == answer.log_partition_upper_
        found = [p for row, k in zip(answer.marginals_, mrf.n_states) for p in row[:k]]
        size = np.abs(mrf.theta[mrf.theta > -np.inf]).sum()
        assert np.abs(found - marginals[: len(found)]).max() <= 1e-12 * (1.0 + size)


def asked(model, mrf, log_partition):
    """The fitted model; None if it says why there is nothing to fit."""
    try:
        return model.fit(mrf)
    except ValueError as error:
        if log_partition == -np.inf and ("forbid" in str(error) or "-inf" in str(error)):
            return None
        # Local search may not find what is allowed.
        if "found no labeling that the potentials of -inf allow" in str(error):
            return None
        raise


def maxima(rng):
    """`PairwiseMRF.map`: the labeling's score, and a bound on all of them."""
    mrf, log_partition, _ = field(rng)
    oracle = ["auto", "trws", "approx", "milp", "lp", "branch_and_bound", "elimination"]
    if log_partition == -np.inf:
        return
    try:
        found = mrf.map(oracle=oracle[rng.integers(len(oracle))])
    except ValueError as error:
        assert "no labeling was found" in str(error)  # noqa: PT017
        return
    scores = mrf.score(labelings(mrf.n_states))
    size = np.abs(mrf.theta[mrf.theta > -np.inf]).sum()
    assert abs(found.value - mrf.score(found.labels[None])[0]) <= 1e-14 * size
    assert scores.max() <= found.bound + SHARE * abs(scores.max()) + 1e-13 * size


def oracle(rng):
    """Every oracle on scores of every size, by enumeration in exact arithmetic."""
    sizes = [name for name in SIZES if name != "sums beyond doubles"]
    names = [name for name in ORACLES if name != "toulbar2"]  # has a property test of its own
    found, graph = ORACLES[names[rng.integers(len(names))]]
    assert_holds(found, scaled_scores(rng, sizes[rng.integers(len(sizes))], **graph))
