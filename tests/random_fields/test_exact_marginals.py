"""Exact marginals against brute force."""

import numpy as np
import pytest

from _mrf_references import brute_force, flat, labelings, random_mrf
from sklearn_fw.random_fields import ExactMarginals, PairwiseMRF


@pytest.mark.parametrize("scale", [1.0, 200.0])
@pytest.mark.parametrize("n_states", [(3,), (2, 3), (2, 3, 1, 4, 2), (2,) * 8])
def test_equals_brute_force(n_states, scale, rng):
    for _ in range(5):
        mrf = random_mrf(rng, n_states, scale=scale)
        log_partition, marginals = brute_force(mrf)
        exact = ExactMarginals().fit(mrf)
        np.testing.assert_allclose(flat(exact), marginals, rtol=0, atol=1e-10)
        assert exact.log_partition_ == pytest.approx(log_partition, rel=1e-12, abs=1e-10)
        assert exact.log_partition_ == exact.log_partition_upper_ == exact.log_partition_lower_


def test_colourings_are_counted():
    different = np.where(np.eye(3), -np.inf, 0.0)
    edges = [(i, (i + 1) % 40) for i in range(40)]
    exact = ExactMarginals().fit(PairwiseMRF(np.zeros((40, 3)), edges, different))
    assert exact.log_partition_ == pytest.approx(np.log(2.0**40 + 2))  # of a cycle, in 3 colors


def test_sample_has_the_joint_distribution(rng):
    mrf = random_mrf(rng, (2, 3, 2), density=1.0)
    exact = ExactMarginals().fit(mrf)
    X = exact.sample(5000, random_state=0)
    assert X.shape == (5000, 3)
    assert X.dtype == np.int64
    for row in labelings(mrf.n_states):
        p = np.exp(exact.score_samples([row])[0])
        frequency = np.mean(np.all(row == X, axis=1))
        assert frequency == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / 5000))
    np.testing.assert_array_equal(X, exact.sample(5000, random_state=0))


def test_too_wide():
    clique = PairwiseMRF.from_ising(np.zeros(8), np.triu(np.ones((8, 8)), 1))
    ExactMarginals(max_table_size=256).fit(clique)
    with pytest.raises(ValueError, match=r"table of 256 numbers .* max_table_size=255"):
        ExactMarginals(max_table_size=255).fit(clique)
