"""The Gibbs distribution of scores by brute force, and what exact inference has to agree with."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import logsumexp

from _references import all_labelings


class Gibbs(NamedTuple):
    """What exact inference should find."""

    labelings: np.ndarray  # (n_labelings, n_nodes), lexicographic
    values: np.ndarray  # (n_labelings,)
    log_partition: float
    node: np.ndarray
    edge: np.ndarray
    best: np.ndarray  # max-marginals


def brute_force(scores):
    """The Gibbs distribution, labeling by labeling."""
    n_nodes, n_states = scores.unary.shape
    labelings = all_labelings(n_nodes, n_states)
    values = scores.unary[np.arange(n_nodes), labelings].sum(axis=1)
    for table, (a, b) in zip(scores.pairwise, scores.edges, strict=True):
        values = values + table[labelings[:, a], labelings[:, b]]
    log_partition = logsumexp(values)
    node = np.zeros((n_nodes, n_states))
    best = np.full((n_nodes, n_states), -np.inf)
    edge = np.zeros(scores.pairwise.shape)
    if log_partition > -np.inf:
        probabilities = np.exp(values - log_partition)
        for t in range(n_nodes):
            np.add.at(node[t], labelings[:, t], probabilities)
            np.maximum.at(best[t], labelings[:, t], values)
        for e, (a, b) in enumerate(scores.edges):
            np.add.at(edge[e], (labelings[:, a], labelings[:, b]), probabilities)
    return Gibbs(labelings, values, float(log_partition), node, edge, best)


def assert_exact(oracle, scores):
    """Compare all answers of an oracle with brute force."""
    expected = brute_force(scores)
    # Sums of terms near 1e4 are uncertain by 1e-11, and probabilities as much.
    largest = np.abs(expected.best[expected.best > -np.inf]).max(initial=0)
    tolerance = {"rtol": 1e-13, "atol": 1e-11 + 1e-14 * largest}
    labels, value, upper_bound = oracle.argmax(scores)
    np.testing.assert_allclose(value, expected.values.max(), **tolerance)
    np.testing.assert_allclose(scores.value(labels), expected.values.max(), **tolerance)
    assert upper_bound == value
    np.testing.assert_allclose(oracle.max_marginals(scores), expected.best, **tolerance)
    np.testing.assert_allclose(oracle.log_partition(scores), expected.log_partition, **tolerance)
    if expected.log_partition == -np.inf:
        for question in (oracle.marginals, lambda scores: oracle.sample(scores, 1)):
            with pytest.raises(ValueError, match="every labeling is forbidden"):
                question(scores)
        return
    node, edge, log_partition = oracle.marginals(scores)
    assert log_partition == oracle.log_partition(scores)
    np.testing.assert_allclose(node, expected.node, **tolerance)
    np.testing.assert_allclose(edge, expected.edge, **tolerance)
    # Exactly zero where nothing is allowed, and nowhere else where doubles can tell.
    assert np.all(node[expected.best == -np.inf] == 0)
    assert np.all(node[expected.node > 1e-150] > 0)
    assert np.all(edge[expected.edge > 1e-150] > 0)
    ends = np.stack([edge.sum(axis=2), edge.sum(axis=1)], axis=1)
    np.testing.assert_allclose(ends, node[scores.edges], rtol=0, atol=tolerance["atol"])
    for labels in oracle.sample(scores, 3, random_state=0):
        assert scores.value(labels) > -np.inf


def assert_frequencies(labels, node, edge, edges):
    """Compare relative frequencies of sampled states and pairs, within five standard deviations."""
    n_samples, n_states = len(labels), node.shape[1]
    states = np.arange(n_states)
    found = (labels[:, :, None] == states).mean(axis=0)
    assert np.all(np.abs(found - node) <= 5 * np.sqrt(node * (1 - node) / n_samples) + 1e-12)
    for (a, b), pair in zip(edges, edge, strict=True):
        both = (labels[:, a, None, None] == states[:, None]) & (labels[:, b, None, None] == states)
        error = np.abs(both.mean(axis=0) - pair)
        assert np.all(error <= 5 * np.sqrt(np.maximum(pair * (1 - pair), 0) / n_samples) + 1e-12)
