"""Enumeration for factor graphs: every labelling, its score, and what follows from them."""

import numpy as np

from _mrf_references import labellings
from sklearn_fw.random_fields import FactorGraph


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


def enumerate_scores(n_states, factors, constant):
    """All labellings and their scores, factor by factor."""
    X = labellings(n_states)
    score = np.full(len(X), constant)
    for scope, table in factors:
        score = score + table[tuple(X[:, scope].T)]
    return X, score


def log_sum(score):
    return np.logaddexp.reduce(score) if score.max() > -np.inf else -np.inf


def marginal_blocks(graph, X, score):
    """Marginals of variables and factors from all scores."""
    p = np.exp(score - log_sum(score))
    node = [np.bincount(X[:, i], p, k) for i, k in enumerate(graph.n_states)]
    tables = []
    for scope in graph.scopes:
        table = np.zeros(graph.n_states[list(scope)])
        np.add.at(table, tuple(X[:, list(scope)].T), p)
        tables.append(table)
    return node, tables
