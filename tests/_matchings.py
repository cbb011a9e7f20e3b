"""All matchings of two small sets, one by one."""

import itertools

import numpy as np

KINDS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "positive": lambda rng, shape: rng.uniform(size=shape),
    "ties": lambda rng, shape: rng.integers(-1, 2, size=shape).astype(float),
    "forbidden": lambda rng, shape: np.where(
        rng.random(shape) < 0.4, -np.inf, rng.normal(size=shape)
    ),
}


def all_matchings(n_rows, n_columns, perfect=False):
    """Every 0/1 matrix with at most (or exactly) one 1 in each row and column."""
    found = []
    for n_pairs in range(min(n_rows, n_columns) + 1):
        for rows in itertools.combinations(range(n_rows), n_pairs):
            for columns in itertools.permutations(range(n_columns), n_pairs):
                matching = np.zeros((n_rows, n_columns))
                matching[list(rows), list(columns)] = 1.0
                found.append(matching)
    return [y for y in found if not perfect or y.sum() == n_rows == n_columns]


def values_of(matchings, scores):
    """Score of each matching, -inf if it holds a forbidden pair."""
    return np.array([scores[y == 1].sum() for y in matchings])
