"""Whitened moments against explicit tensors, and exact recovery from exact moments."""

import numpy as np
import pytest
import scipy.sparse as sp

from _moment_tensors import gp_tensors, lda_tensors
from sklearn_fw.datasets import make_topic_corpus
from sklearn_fw.decomposition._moments import (
    GPMoments,
    LDAMoments,
    generalized_targets,
    largest_eigenpairs,
)
from sklearn_fw.decomposition._rows import Rows
from sklearn_fw.decomposition._solution import diagonalize, estimate_prior, read_topics
from sklearn_fw.metrics import topic_l1_error


def batches(X, weight):
    cut = len(X) // 3
    parts = [sp.csr_array(X[:cut].astype(float)), sp.csr_array(X[cut:].astype(float))]
    return Rows(parts, [weight[:cut], weight[cut:]], X.shape[1])


@pytest.mark.parametrize("kind", ["gp", "lda"])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_equal_brute_force(kind, weighted, rng):
    X, W = rng.poisson(1.0, size=(30, 6)), rng.normal(size=(3, 6))
    weight = rng.integers(0, 4, 30).astype(float) if weighted else np.ones(30)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    rows = batches(X, weight)
    if kind == "gp":
        moments, (S, T) = GPMoments(rows), gp_tensors(repeated)
    else:
        moments, (S, T) = LDAMoments(rows, 0.7), lda_tensors(repeated, 0.7)
    np.testing.assert_allclose(moments.matrix(), S, rtol=0, atol=1e-12)
    np.testing.assert_allclose(moments.apply(np.eye(6)), S, rtol=0, atol=1e-12)
    np.testing.assert_allclose(moments.apply(W[0]), S @ W[0], rtol=0, atol=1e-12)
    expected = np.einsum("abc,ia,jb,kc->ijk", T, W, W, W)
    error = np.max(np.abs(moments.third(W) - expected))
    assert error <= 1e-10 * np.max(np.abs(expected))


def test_generalized_targets_equal_brute_force(rng):
    X, W = rng.poisson(2.0, size=(40, 5)), rng.normal(size=(2, 5))
    moments = GPMoments(batches(X, np.ones(40)))
    targets = generalized_targets(moments, W, np.eye(2), 0.3)
    for p in range(2):
        t = 0.3 * W[p] / np.std(X @ W[p])
        probability = np.exp(X @ t)
        probability /= probability.sum()
        mean = probability @ X
        S = (X * probability[:, None]).T @ X - np.outer(mean, mean) - np.diag(mean)
        whitening = W * np.exp(-t)
        expected = whitening @ S @ whitening.T - np.eye(2)
        np.testing.assert_allclose(targets[p], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("n_features", [50, 500, 5000])
def test_ways_to_eigenvectors_agree(n_features, streams):
    if n_features == 5000 and not streams:
        pytest.skip("the same way as with 500")
    X = make_topic_corpus(400, n_features, 4, topic_prior=0.02, random_state=0).X.astype(float)
    load = (lambda batch, i: batch) if streams else None
    moments = GPMoments(Rows([X[:150], X[150:]], None, n_features, load))
    dense = moments.matrix()
    values, vectors = largest_eigenpairs(moments, 4)
    exact = np.linalg.eigvalsh(dense)[::-1][:4]
    np.testing.assert_allclose(values, exact, rtol=1e-5)
    np.testing.assert_allclose(dense @ vectors, vectors * values, rtol=0, atol=2e-2 * exact[0])


class Exact:
    """Moments of given topics and concentrations."""

    def __init__(self, topics, prior, rate=0.1):
        self.topics, self.prior, self.rate = topics, prior, rate
        self.S = topics.T @ np.diag(prior / rate**2) @ topics
        self.mean = prior / rate @ topics

    def solve(self, algorithm, rng):
        size = len(self.prior)
        values, vectors = np.linalg.eigh(self.S)
        values, vectors = values[::-1][:size], vectors[:, ::-1][:, :size]
        W = (vectors / np.sqrt(values)).T
        loadings = W @ self.topics.T
        cube = np.einsum("k,ak,bk,ck->abc", 2 * self.prior / self.rate**3, *[loadings] * 3)
        basis, _, off, _ = diagonalize(None, W, cube, algorithm, "canonical", rng)
        return read_topics(values, vectors, basis), cube, W, off


@pytest.mark.parametrize("algorithm", ["jd", "spectral", "tpm"])
@pytest.mark.parametrize("kind", ["tensor", "average", "mean_variance"])
def test_exact_moments_give_exact_topics(algorithm, kind, rng):
    exact = Exact(rng.dirichlet(np.full(12, 0.3), 5), rng.uniform(0.2, 2.0, 5))
    found, cube, W, off = exact.solve(algorithm, np.random.RandomState(0))
    atol = 1e-4 if algorithm == "tpm" else 1e-8  # the power method stops at 1e-5
    assert topic_l1_error(exact.topics, found.topics.T) < atol
    assert off < 1e-8
    assert np.max(found.negative_mass) < atol
    prior = estimate_prior(kind, found, cube, W, exact.mean)
    np.testing.assert_allclose(np.sort(prior), np.sort(exact.prior), rtol=max(atol, 1e-7))


def test_c0_is_found(rng):
    topics, prior = rng.dirichlet(np.full(9, 0.2), 3), np.array([0.5, 1.0, 1.5])
    c0 = prior.sum()
    first = prior / c0 @ topics
    moments = LDAMoments.__new__(LDAMoments)
    pairs = (np.diag(prior) + np.outer(prior, prior)) / (c0 * (c0 + 1))
    second = topics.T @ pairs @ topics
    triples = np.einsum("i,j,k->ijk", prior, prior, prior)
    for i in range(3):
        for j in range(3):
            triples[i, i, j] += prior[i] * prior[j]
            triples[i, j, i] += prior[i] * prior[j]
            triples[j, i, i] += prior[i] * prior[j]
        triples[i, i, i] += 2 * prior[i]
    triples /= c0 * (c0 + 1) * (c0 + 2)
    moments.n_features, moments.first, moments.rows = 9, first, Rows([], None, 9)
    moments.matrix = lambda: second
    moments.parts = lambda W: (
        np.einsum("ijk,ai,bj,ck->abc", triples, *[W @ topics.T] * 3), W @ second @ W.T, W @ first
    )  # fmt: skip
    moments.find_c0(3)
    assert moments.c0 == pytest.approx(c0, rel=0.05)
