"""Rows of integers, each once and sorted."""

import math

import numpy as np


def distinct_rows(*columns):
    """Rows of columns of integers from 0 on, each once and sorted, as columns.

    A row is sorted as one number, where it fits; that is many times as fast as comparing rows.
    """
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    if math.prod(sizes) >= 2**63:  # too large for one number a row
        return tuple(np.unique(np.column_stack(columns), axis=0).T)
    key = columns[0].astype(np.int64)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        key *= size
        key += column
    key.sort()
    if len(key):
        key = key[np.concatenate([[True], key[1:] != key[:-1]])]
    found = []
    for size in sizes[:0:-1]:
        key, column = np.divmod(key, size)
        found.append(column)
    return (key, *found[::-1])
