"""Exact marginals against brute force, against the truth that came with files, and at width 12."""

import json

import numpy as np
import pytest

from _mrf_referees import brute_force, labellings, random_mrf
from sklearn_fw.random_fields import ExactMarginals, PairwiseMRF


def flat(estimator):
    return estimator.mrf_.flatten(estimator.marginals_, estimator.edge_marginals_)


def grid(rng, width, n_states=2):
    place = np.arange(width * width).reshape(width, width)
    edges = np.concatenate(
        [
            np.column_stack([place[:, :-1].ravel(), place[:, 1:].ravel()]),
            np.column_stack([place[:-1].ravel(), place[1:].ravel()]),
        ]
    )
    return PairwiseMRF(
        rng.normal(size=(width * width, n_states)),
        edges,
        rng.normal(size=(len(edges), n_states, n_states)),
    )


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


def test_hard_constraints_are_exact(rng):
    different = np.where(np.eye(3), -np.inf, 0.0)
    edges = [(i, (i + 1) % 5) for i in range(5)]
    mrf = PairwiseMRF(rng.normal(size=(5, 3)), edges, different)
    log_partition, marginals = brute_force(mrf)
    exact = ExactMarginals().fit(mrf)
    np.testing.assert_allclose(flat(exact), marginals, rtol=0, atol=1e-12)
    assert exact.log_partition_ == pytest.approx(log_partition, rel=1e-12)
    assert np.all(flat(exact)[mrf.theta == -np.inf] == 0.0)
    assert np.all(mrf.score(exact.sample(200, random_state=0)) > -np.inf)


def test_colourings_are_counted():
    different = np.where(np.eye(3), -np.inf, 0.0)
    edges = [(i, (i + 1) % 40) for i in range(40)]
    exact = ExactMarginals().fit(PairwiseMRF(np.zeros((40, 3)), edges, different))
    assert exact.log_partition_ == pytest.approx(np.log(2.0**40 + 2))  # of a cycle, in 3 colours


def test_nothing_allowed():
    different = np.where(np.eye(2), -np.inf, 0.0)
    triangle = PairwiseMRF(np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], different)
    with pytest.raises(ValueError, match="every labelling is forbidden"):
        ExactMarginals().fit(triangle)


def test_wide_grid_by_transfer_matrices(rng):
    width = 12
    mrf = grid(rng, width)
    exact = ExactMarginals().fit(mrf)
    # Row by row, with all 2^12 states of a row at once.
    states = labellings([2] * width)
    unary = np.array(mrf.unary).reshape(width, width, 2)
    n_across = width * (width - 1)
    across = np.array(mrf.pairwise[:n_across]).reshape(width, width - 1, 2, 2)
    down = np.array(mrf.pairwise[n_across:]).reshape(width - 1, width, 2, 2)
    log_sum = np.zeros(len(states))
    for row in range(width):
        if row:
            table = log_sum.reshape((2,) * width)
            for column in range(width):
                # The variable above is summed out, and the one below takes its axis.
                table = np.moveaxis(table, column, -1)
                top = table.max()
                table = np.log(np.exp(table - top) @ np.exp(down[row - 1, column])) + top
                table = np.moveaxis(table, -1, column)
            log_sum = table.ravel()
        log_sum = log_sum + unary[row][np.arange(width), states].sum(axis=1)
        left, right = states[:, :-1], states[:, 1:]
        log_sum += across[row][np.arange(width - 1), left, right].sum(axis=1)
    assert exact.log_partition_ == pytest.approx(np.logaddexp.reduce(log_sum), rel=1e-12)
    last = np.exp(log_sum - exact.log_partition_)
    np.testing.assert_allclose(exact.marginals_[-width:, 1], last @ states, rtol=0, atol=1e-10)


def test_long_chain(rng):
    n = 2000
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    exact = ExactMarginals().fit(PairwiseMRF(np.zeros((n, 2)), edges, np.eye(2)))
    assert exact.log_partition_ == pytest.approx(np.log(2) + (n - 1) * np.log(1 + np.e))
    np.testing.assert_allclose(exact.marginals_, 0.5, rtol=0, atol=1e-10)


def test_sample_has_the_joint_distribution(rng):
    mrf = random_mrf(rng, (2, 3, 2), density=1.0)
    exact = ExactMarginals().fit(mrf)
    X = exact.sample(5000, random_state=0)
    assert X.shape == (5000, 3)
    assert X.dtype == np.int64
    for row in labellings(mrf.n_states):
        p = np.exp(exact.score_samples([row])[0])
        frequency = np.mean(np.all(row == X, axis=1))
        assert frequency == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / 5000))
    np.testing.assert_array_equal(X, exact.sample(5000, random_state=0))


def test_scores_are_log_probabilities(rng):
    mrf = random_mrf(rng, (2, 3, 2), density=1.0)
    exact = ExactMarginals().fit(mrf)
    X = labellings(mrf.n_states)
    assert np.exp(exact.score_samples(X)).sum() == pytest.approx(1.0)
    assert exact.score(X) == pytest.approx(exact.score_samples(X).mean())


def test_learned_tree_reproduces_the_table(rng):
    first = rng.integers(0, 3, 200)
    second = np.where(rng.random(200) < 0.8, first, rng.integers(0, 3, 200))
    X = np.column_stack([first, second, rng.integers(0, 2, 200)])
    exact = ExactMarginals().fit(X)
    assert exact.log_partition_ == pytest.approx(0.0, abs=1e-12)
    for i in range(3):
        k = X[:, i].max() + 1
        frequency = (np.bincount(X[:, i], minlength=k) + 1 / k) / 201
        np.testing.assert_allclose(exact.marginals_[i, :k], frequency, rtol=1e-10)
    weighted = ExactMarginals().fit(X, sample_weight=np.full(200, 2.0))
    twice = ExactMarginals().fit(np.concatenate([X, X]))
    np.testing.assert_allclose(weighted.marginals_, twice.marginals_, rtol=1e-12)


def test_incomplete_rows(rng):
    mrf = random_mrf(rng, (2, 3, 2, 4), density=1.0)
    exact = ExactMarginals().fit(mrf)
    row = [np.nan, 2, -1, 1]
    conditioned = mrf.condition({1: 2, 3: 1})
    _, expected = brute_force(conditioned)
    answer = exact.predict_marginals([row])[0]
    for i, block in zip((0, 2), conditioned.node_blocks(expected)):
        np.testing.assert_allclose(answer[i, : len(block)], block, rtol=0, atol=1e-12)
    completed = exact.predict([row])[0]
    assert completed[[1, 3]].tolist() == [2, 1]
    assert completed[0] == expected[:2].argmax()


def test_too_wide():
    clique = PairwiseMRF.from_ising(np.zeros(8), np.triu(np.ones((8, 8)), 1))
    ExactMarginals(max_table_size=256).fit(clique)
    with pytest.raises(ValueError, match=r"table of 256 numbers .* max_table_size=255"):
        ExactMarginals(max_table_size=255).fit(clique)
    with pytest.raises(ValueError, match="max_table_size == 0, must be >= 1"):
        ExactMarginals(max_table_size=0).fit(clique)


@pytest.mark.parametrize("folder", ["grids_5x5", "cliques"])
def test_truth_of_the_files(folder, data_file):
    truth = json.loads(data_file(f"mrf/{folder}/exact.json").read_text())
    exact = ExactMarginals()
    for name in list(truth)[::9]:
        exact.fit(data_file(f"mrf/{folder}/{name}.uai"))
        expected = np.reshape(truth[name]["node_marginals"], (-1, 2))
        np.testing.assert_allclose(exact.marginals_, expected, rtol=0, atol=2e-6)
        assert exact.log_partition_ == pytest.approx(truth[name]["log_partition"], rel=1e-5)
