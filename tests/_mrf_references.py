"""Brute force for random fields: every labelling, its score, and what follows from them."""

import itertools

import numpy as np

from sklearn_fw.random_fields import PairwiseMRF


def random_mrf(rng, n_states=(2, 3, 2, 4), density=0.7, scale=1.0):
    """Random field with the given numbers of states and random edges."""
    n = len(n_states)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < density]
    return PairwiseMRF(
        [scale * rng.normal(size=k) for k in n_states],
        pairs,
        [scale * rng.normal(size=(n_states[i], n_states[j])) for i, j in pairs],
        constant=rng.normal(),
    )


def labellings(n_states):
    return np.array(list(itertools.product(*map(range, n_states))))


def brute_force(mrf):
    """log Z and the marginals of all parts, in the order of ``mrf.theta``."""
    X = labellings(mrf.n_states)
    score = np.full(len(X), mrf.constant)
    unary, pairwise = mrf.unary, mrf.pairwise
    for i, block in enumerate(unary):
        score += block[X[:, i]]
    for (i, j), table in zip(mrf.edges, pairwise):
        score += table[X[:, i], X[:, j]]
    log_partition = np.logaddexp.reduce(score)
    p = np.exp(score - log_partition)
    blocks = [np.bincount(X[:, i], p, k) for i, k in enumerate(mrf.n_states)]
    for i, j in mrf.edges:
        table = np.zeros((mrf.n_states[i], mrf.n_states[j]))
        np.add.at(table, (X[:, i], X[:, j]), p)
        blocks.append(table.ravel())
    return log_partition, np.concatenate(blocks)
