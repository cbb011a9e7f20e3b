"""Generators of counts: moments of the laws that they draw from."""

import numpy as np
import pytest

from sklearn_fw.datasets import (
    make_discrete_cca,
    make_gp_corpus,
    make_lda_corpus,
    make_mixed_cca,
    make_nongaussian_cca,
)


def test_moments_of_gamma_poisson():
    data = make_gp_corpus(20_000, 6, 3, prior=[0.5, 1.0, 1.5], mean_length=30, random_state=0)
    X, n = data.X.toarray(), 20_000
    lengths, c0 = X.sum(axis=1), 3.0
    variance = 30 + 900 / c0
    assert lengths.mean() == pytest.approx(30, abs=4 * np.sqrt(variance / n))
    assert lengths.var() == pytest.approx(variance, rel=0.06)
    S = np.cov(X.T) - np.diag(X.mean(axis=0))
    expected = data.topics.T @ np.diag(data.doc_topic_prior / data.rate**2) @ data.topics
    np.testing.assert_allclose(S, expected, rtol=0, atol=0.06 * expected.max())


def test_lengths_and_proportions():
    data = make_lda_corpus(2000, 5, 2, prior=0.3, length=np.arange(2000) % 7, random_state=0)
    np.testing.assert_array_equal(data.X.sum(axis=1), np.arange(2000) % 7)
    means = data.X.toarray()[6::7].mean(axis=0) / 6
    np.testing.assert_allclose(means, data.proportions[6::7].mean(axis=0) @ data.topics, atol=0.03)
    tiny = make_lda_corpus(50, 5, 2, prior=1e-4, length=9, random_state=0).proportions
    np.testing.assert_allclose(tiny.max(axis=1), 1.0, rtol=0, atol=1e-6)


@pytest.mark.parametrize("make", [make_discrete_cca, make_mixed_cca, make_nongaussian_cca])
def test_cross_covariance_is_that_of_shared_factors(make):
    data = make(40_000, 4, 2, 3, shape=2.0, private_shape=2.0, random_state=0)
    X, Y = data.X - data.X.mean(axis=0), data.y - data.y.mean(axis=0)
    expected = data.x_loadings @ np.diag(data.sources.var(axis=0)) @ data.y_loadings.T
    error = X.T @ Y / len(X) - expected
    spread = np.sqrt(np.outer(X.var(axis=0), Y.var(axis=0)) / len(X))
    assert np.all(np.abs(error) < 5 * spread)
    np.testing.assert_allclose(np.abs(data.x_loadings).sum(axis=0), 1.0, rtol=1e-12)


def test_refusals():
    with pytest.raises(ValueError, match="prior must be a number, or 10 numbers"):
        make_gp_corpus(prior=[1.0])
    with pytest.raises(ValueError, match="length must"):
        make_lda_corpus(length=[1, 2])
    with pytest.raises(ValueError, match="topics must not be negative"):
        make_lda_corpus(topics=[[1.0, -1.0]])
