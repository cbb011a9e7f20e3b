"""Every matching of small groups, listed."""

import itertools
import math

import numpy as np


def matchings(n_rows, n_columns, perfect=True):
    """Every 0/1 matrix with at most one 1 in each row and column, flat."""
    found = []
    for columns in itertools.product([None, *range(n_columns)], repeat=n_rows):
        used = [column for column in columns if column is not None]
        full = len(used) == min(n_rows, n_columns)
        if len(set(used)) == len(used) and (full or not perfect):
            matrix = np.zeros((n_rows, n_columns))
            for row, column in enumerate(columns):
                if column is not None:
                    matrix[row, column] = 1.0
            found.append(matrix.ravel())
    return np.array(found)


def pairings(nodes):
    """Every way to split a list into pairs."""
    if not nodes:
        yield []
        return
    first, *others = nodes
    for partner in others:
        for rest in pairings([node for node in others if node != partner]):
            yield [(first, partner), *rest]


def perfect_matchings(n_nodes):
    place = {pair: k for k, pair in enumerate(itertools.combinations(range(n_nodes), 2))}
    found = np.zeros((math.prod(range(1, n_nodes, 2)), len(place)))
    for row, pairing in zip(found, pairings(list(range(n_nodes))), strict=True):
        row[[place[pair] for pair in pairing]] = 1.0
    return found
