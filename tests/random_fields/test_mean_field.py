"""Mean field against brute force, a general solver, and the limit that -inf stands for."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from _mrf_references import brute_force, random_mrf
from _tasks import Tasks
from sklearn_fw.random_fields import MeanFieldMarginals, PairwiseMRF
from sklearn_fw.random_fields._choice import Request


def objective(mrf, blocks):
    """Mean score plus entropy of independent variables."""
    total = mrf.constant
    for theta, q in zip(mrf.unary, blocks):
        total += np.sum(q[q > 0] * (theta[q > 0] - np.log(q[q > 0])))
    for (i, j), table in zip(mrf.edges, mrf.pairwise):
        share = np.outer(blocks[i], blocks[j])
        total += np.sum(share[share > 0] * table[share > 0])
    return total


def blocks_of(mean_field):
    return [row[:k] for row, k in zip(mean_field.marginals_, mean_field.mrf_.n_states)]


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_bound_is_the_objective_and_below_log_partition(scale, rng):
    for _ in range(10):
        mrf = random_mrf(rng, scale=scale)
        log_partition, _ = brute_force(mrf)
        mean_field = MeanFieldMarginals(random_state=0).fit(mrf)
        assert mean_field.log_partition_ == mean_field.log_partition_lower_
        assert mean_field.log_partition_ == pytest.approx(
            objective(mrf, blocks_of(mean_field)), rel=0, abs=1e-12
        )
        assert mean_field.log_partition_ <= log_partition
        assert mean_field.log_partition_upper_ == np.inf
        np.testing.assert_allclose(mean_field.marginals_.sum(axis=1), 1.0)
        for (i, j), table in zip(mrf.edges, mean_field.edge_marginals_):
            product = np.outer(mean_field.marginals_[i], mean_field.marginals_[j])
            np.testing.assert_allclose(table, product, rtol=0, atol=1e-15)


def test_a_general_solver_finds_nothing_better(rng):
    mrf = random_mrf(rng, (2, 3, 2, 4), density=1.0, scale=1.5)
    mean_field = MeanFieldMarginals(tol=1e-8, random_state=0).fit(mrf)

    def blocks(z):
        parts = np.split(z, mrf.node_start[1:-1])
        return [np.exp(part - np.logaddexp.reduce(part)) for part in parts]

    found = [
        minimize(lambda z: -objective(mrf, blocks(z)), rng.normal(size=mrf.node_start[-1]))
        for _ in range(5)
    ]
    best = max(-result.fun for result in found)
    assert mean_field.log_partition_ == pytest.approx(best, rel=0, abs=1e-6)


def test_passes_never_lower_the_bound(rng):
    mrf = random_mrf(rng, (3,) * 6, scale=2.0)
    bounds = []
    for max_iter in range(1, 8):
        mean_field = MeanFieldMarginals(n_init=1, max_iter=max_iter, tol=1e-300)
        with pytest.warns(ConvergenceWarning, match=f"tol=1e-300 in a pass, after {max_iter} pas"):
            bounds.append(mean_field.fit(mrf).log_partition_)
    assert np.all(np.diff(bounds) >= -1e-12)
    assert bounds[-1] > bounds[0]


# ---- hard constraints ----------------------------------------------------------------------------


def test_forbidden_is_the_limit_of_low_potentials(rng):
    for _ in range(10):
        mrf = random_mrf(rng, (3, 2, 3, 2), density=1.0)
        hard = rng.random(len(mrf.theta)) < 0.15
        hard[mrf.node_start[:-1]] = hard[mrf.edge_start[:-1]] = False  # all zeros stay allowed
        theta = [np.where(hard, value, mrf.theta) for value in (-np.inf, -1e7)]
        exact, limit = (
            PairwiseMRF(mrf.node_blocks(t), mrf.edges, mrf.factor_blocks(t)) for t in theta
        )
        one, other = (
            MeanFieldMarginals(n_init=10, tol=1e-9, random_state=0).fit(m) for m in (exact, limit)
        )
        np.testing.assert_allclose(one.marginals_, other.marginals_, rtol=0, atol=1e-6)
        assert one.log_partition_ == pytest.approx(other.log_partition_, rel=0, abs=1e-5)
        assert objective(exact, blocks_of(one)) == pytest.approx(one.log_partition_, abs=1e-12)


def test_where_starts_find_no_allowed_product_a_labeling_does():
    different = np.where(np.eye(3), -np.inf, 0.0)
    triangle = PairwiseMRF(np.zeros((3, 3)), [(0, 1), (1, 2), (0, 2)], different)
    mean_field = MeanFieldMarginals(n_init=1).fit(triangle)
    assert 0.0 <= mean_field.log_partition_lower_ <= np.log(6) + 1e-9
    assert triangle.score([mean_field.predict()])[0] == 0.0


# ---- the estimator -------------------------------------------------------------------------------


def test_sample_follows_the_marginals(rng):
    mean_field = MeanFieldMarginals(random_state=0).fit(random_mrf(rng))
    X = mean_field.sample(4000, random_state=0)
    assert X.shape == (4000, 4)
    assert X.dtype == np.int64
    for i, row in enumerate(mean_field.marginals_):
        frequency = np.bincount(X[:, i], minlength=len(row)) / 4000
        np.testing.assert_allclose(frequency, row, rtol=0, atol=0.03)
    np.testing.assert_array_equal(X, mean_field.sample(4000, random_state=0))
    np.testing.assert_array_equal(mean_field.sample(5), mean_field.sample(5))


def test_time_limit_ends_starts(rng):
    mrf = random_mrf(rng, (3,) * 6, scale=2.0)
    with pytest.warns(ConvergenceWarning, match="after 1 passes: increase max_iter or time_limit"):
        mean_field = MeanFieldMarginals(time_limit=1e-9).fit(mrf)
    assert mean_field.n_iter_ == 1
    assert mean_field.status_ == "time_limit"


def test_callbacks_see_passes_and_can_stop_them(rng):
    tasks = Tasks(3)
    mrf = random_mrf(rng, (3,) * 6, scale=2.0)
    inference = MeanFieldMarginals(tol=1e-300).infer(mrf, Request(tasks=tasks))
    assert tasks.seen == [1, 2, 3]
    assert inference.attributes["n_iter_"] == 3
    assert inference.attributes["status_"] == "stopped"
