"""Random small fields, and brute force for them: every labeling and its score."""

import itertools

import numpy as np

from sklearn_fw.random_fields import FactorGraph, PairwiseMRF


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


def random_graph(rng, largest_scope=4, forbidden=None, scale=1.0):
    """Factor graph on one to six variables with zeros in some tables, and what it was made from."""
    n = int(rng.integers(1, 7))
    n_states = rng.integers(1, 4, n)
    if forbidden is None:
        forbidden = rng.choice([0.0, 0.15])
    factors = []
    for _ in range(rng.integers(0, 9)):
        size = int(rng.integers(0, min(n, largest_scope) + 1))
        scope = rng.choice(n, size, replace=False).tolist()
        table = scale * rng.normal(size=n_states[scope])
        if size > 1:
            table[rng.random(table.shape) < forbidden] = -np.inf
        factors.append((scope, table))
    constant = rng.normal()
    return FactorGraph(n_states, factors, constant=constant), factors, constant


def flat(estimator):
    """Fitted marginals in the order of ``theta``."""
    return estimator.mrf_.flatten(estimator.marginals_, estimator.edge_marginals_)


def labelings(n_states):
    return np.array(list(itertools.product(*map(range, n_states))))


def enumerate_scores(n_states, factors, constant):
    """All labelings and their scores, factor by factor."""
    X = labelings(n_states)
    score = np.full(len(X), constant)
    for scope, table in factors:
        score = score + table[tuple(X[:, list(scope)].T)]
    return X, score


def log_sum(score):
    return np.logaddexp.reduce(score) if score.max() > -np.inf else -np.inf


def marginal_blocks(field, X, score):
    """Marginals of variables and factors from all scores."""
    p = np.exp(score - log_sum(score))
    node = [np.bincount(X[:, i], p, k) for i, k in enumerate(field.n_states)]
    tables = []
    for scope in field.scopes:
        table = np.zeros(field.n_states[list(scope)])
        np.add.at(table, tuple(X[:, list(scope)].T), p)
        tables.append(table)
    return node, tables


def brute_force(field):
    """log Z and the marginals of all parts, in the order of ``field.theta``."""
    factors = [*(((i,), b) for i, b in enumerate(field.unary)), *zip(field.scopes, field.tables)]
    X, score = enumerate_scores(field.n_states, factors, field.constant)
    node, tables = marginal_blocks(field, X, score)
    return log_sum(score), np.concatenate([*node, *(table.ravel() for table in tables)])
