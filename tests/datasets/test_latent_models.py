"""Generators of counts: moments of the distributions that they draw from."""

import numpy as np
import pytest

from sklearn_fw.datasets import make_topic_corpus, make_two_views


def test_moments_of_gamma_poisson():
    data = make_topic_corpus(20_000, 6, 3, prior=[0.5, 1.0, 1.5], length=30, random_state=0)
    X, n = data.X.toarray(), 20_000
    lengths, c0 = X.sum(axis=1), 3.0
    variance = 30 + 900 / c0
    assert lengths.mean() == pytest.approx(30, abs=4 * np.sqrt(variance / n))
    assert lengths.var() == pytest.approx(variance, rel=0.06)
    S = np.cov(X.T) - np.diag(X.mean(axis=0))
    expected = data.topics.T @ np.diag(data.doc_topic_prior / data.rate**2) @ data.topics
    np.testing.assert_allclose(S, expected, rtol=0, atol=0.06 * expected.max())


def test_lengths_and_proportions():
    length = np.arange(2000) % 7
    data = make_topic_corpus(2000, 5, 2, kind="lda", prior=0.3, length=length, random_state=0)
    np.testing.assert_array_equal(data.X.sum(axis=1), length)
    means = data.X.toarray()[6::7].mean(axis=0) / 6
    np.testing.assert_allclose(means, data.proportions[6::7].mean(axis=0) @ data.topics, atol=0.03)
    tiny = make_topic_corpus(50, 5, 2, kind="lda", prior=1e-4, length=9, random_state=0)
    np.testing.assert_allclose(tiny.proportions.max(axis=1), 1.0, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["discrete", "mixed", "nongaussian"])
def test_cross_covariance_is_that_of_shared_factors(kind):
    shapes = {"shape": 2.0, "private_shape": 2.0}
    data = make_two_views(40_000, 4, 2, 3, kind=kind, **shapes, random_state=0)
    X, Y = data.X - data.X.mean(axis=0), data.y - data.y.mean(axis=0)
    expected = data.x_loadings @ np.diag(data.sources.var(axis=0)) @ data.y_loadings.T
    error = X.T @ Y / len(X) - expected
    spread = np.sqrt(np.outer(X.var(axis=0), Y.var(axis=0)) / len(X))
    assert np.all(np.abs(error) < 5 * spread)
    np.testing.assert_allclose(np.abs(data.x_loadings).sum(axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": [1.0]}, "prior must hold 1 or 10 numbers"),
        ({"kind": "lda", "length": [1, 2]}, "length must"),
        ({"topics": [[1.0, -1.0]]}, "topics must not be negative"),
        ({"kind": "plsa"}, "kind must be one of 'gp', 'lda'"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        make_topic_corpus(**options)
