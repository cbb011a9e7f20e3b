"""Rows of a matrix, CSR or dense, as one kind of thing: a run of values with column numbers."""

from typing import NamedTuple

import numpy as np

from .._jit import inner, njit
from .atomics import prefetch

LINE = 64  # bytes of a cache line
AHEAD = 16  # entries for which a row takes to come


class Rows(NamedTuple):
    """A CSR matrix, or a dense one with ``width`` columns whose ``indices`` are 0 .. width - 1."""

    data: np.ndarray  # values, row after row
    indices: np.ndarray
    indptr: np.ndarray  # one unused entry for dense rows
    width: int  # 0 for CSR
    center: np.ndarray | None  # subtracted from the columns of dense rows


@inner
def extent(rows, i):
    """First and last position of row i in ``data``, and what to subtract to index ``indices``.

    These and `column` have no sign: they need no test whether they count from the end.
    """
    if rows.width > 0:
        start = np.uint64(i) * np.uint64(rows.width)
        return start, start + np.uint64(rows.width), start
    return np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1]), np.uint64(0)


@inner
def column(indices, k):
    """Column of the entry at position k."""
    return np.uint64(indices[k])


@inner
def entry(data, k, center, j):
    """Value at position k, in column j."""
    # None is known to the compiler, which drops the other branch.
    if center is None:
        return np.float64(data[k])
    return data[k] - center[j]


@inner
def fetch_row(rows, i):
    """Have a row on its way."""
    start, stop, shift = extent(rows, i)
    for k in range(start, stop, np.uint64(LINE // rows.data.itemsize)):
        prefetch(rows.data, (k,))
    if shift == 0:
        for k in range(start, stop, np.uint64(LINE // rows.indices.itemsize)):
            prefetch(rows.indices, (k,))


@inner
def fetch_ahead(rows, order, t, y, memory):
    """Have the rows of the next steps on their way: they lie anywhere in memory.

    Without it an epoch over rows that do not fit the cache takes more than twice as long.
    """
    if t + 2 < order.size:
        i = order[t + 2]
        if rows.width == 0:
            prefetch(rows.indptr, (i,))
        prefetch(y, (i,))
        prefetch(memory, (i,))
    if t + 1 < order.size:
        fetch_row(rows, order[t + 1])


@njit
def count_columns(rows, active, counts):
    """Add to ``counts`` (n_columns,) how many of the rows ``active`` touch each column."""
    for i in active:
        start, stop, shift = extent(rows, i)
        for k in range(start, stop):
            counts[column(rows.indices, k - shift)] += 1


@njit
def squared_norms(rows, active, metric, norms):
    """``sum_j metric_j a_ij^2`` of the rows ``active`` into ``norms`` (n_rows,)."""
    for i in active:
        start, stop, shift = extent(rows, i)
        norm = 0.0
        for k in range(start, stop):
            j = column(rows.indices, k - shift)
            a = entry(rows.data, k, rows.center, j)
            norm += a * a if metric is None else metric[j] * a * a
        norms[i] = norm


@njit
def largest_entries(rows, active, largest):
    """Raise ``largest`` (n_columns,) to the largest absolute value of each column."""
    for i in active:
        start, stop, shift = extent(rows, i)
        for k in range(start, stop):
            j = column(rows.indices, k - shift)
            largest[j] = max(largest[j], abs(entry(rows.data, k, rows.center, j)))


@njit
def count_groups(rows, active, label, counts, last):
    """Add to ``counts`` (n_blocks,) how many of the rows ``active`` touch each block of columns.

    ``last`` (n_blocks,) is scratch that holds -1 everywhere.
    """
    for i in active:
        start, stop, shift = extent(rows, i)
        for k in range(start, stop):
            b = label[column(rows.indices, k - shift)]
            if last[b] != i:
                last[b] = i
                counts[b] += 1


@inner
def grouped(group, n_groups):
    """(start, members): the numbers of the entries of each group, ascending; -1 is in none."""
    start = np.zeros(n_groups + 1, np.int64)
    for g in group:
        if g >= 0:
            start[g + 1] += 1
    for g in range(n_groups):
        start[g + 1] += start[g]
    members, n_found = np.empty(start[n_groups], np.int64), np.zeros(n_groups, np.int64)
    for i in range(group.size):
        g = group[i]
        if g >= 0:
            members[start[g] + n_found[g]] = i
            n_found[g] += 1
    return start, members


@njit
def order_of_first_touch(rows, n_rows, place):
    """Number the columns in the order in which the rows touch them, then the others.

    ``place`` (n_columns,) holds -1 everywhere. Columns of few rows then lie beside those that the
    same row touches.
    """
    following = 0
    for i in range(n_rows):
        start, stop, shift = extent(rows, i)
        for k in range(start, stop):
            j = column(rows.indices, k - shift)
            if place[j] < 0:
                place[j] = following
                following += 1
    for j in range(place.size):
        if place[j] < 0:
            place[j] = following
            following += 1


@njit
def number_locally(row_start, indptr, indices, n_attributes):
    """Number the distinct attributes of every sample in order of first use.

    Returns ``local`` (nnz,), the number of each entry's attribute within its sample, and the
    attributes themselves: sample i owns ``attributes[attribute_start[i]:attribute_start[i + 1]]``.
    Cost: nnz, with one counter per attribute.
    """
    n_samples = row_start.size - 1
    local = np.empty(indices.size, np.int32)
    attribute_start = np.zeros(n_samples + 1, np.int64)
    last = np.zeros(n_attributes, np.int64)  # 1 + the last sample with the attribute
    number = np.empty(n_attributes, np.int32)
    for i in range(n_samples):
        n_distinct = 0
        for q in range(indptr[row_start[i]], indptr[row_start[i + 1]]):
            a = indices[q]
            if last[a] != i + 1:
                last[a] = i + 1
                number[a] = n_distinct
                n_distinct += 1
            local[q] = number[a]
        attribute_start[i + 1] = attribute_start[i] + n_distinct
    attributes = np.empty(attribute_start[n_samples], np.int32)
    for i in range(n_samples):
        for q in range(indptr[row_start[i]], indptr[row_start[i + 1]]):
            attributes[attribute_start[i] + local[q]] = indices[q]
    return local, attribute_start, attributes


@inner
def fetch(matrix, i):
    """Have row i of an array on its way."""
    for c in range(0, matrix.shape[1], LINE // matrix.itemsize):
        prefetch(matrix, (i, c))
    prefetch(matrix, (i, matrix.shape[1] - 1))  # rows start anywhere in a line


@njit
def product(indptr, indices, data, matrix):
    """CSR rows times a dense matrix, whose rows lie anywhere in memory."""
    out = np.zeros((indptr.size - 1, matrix.shape[1]))
    for i in range(indptr.size - 1):
        target = out[i]
        for q in range(indptr[i], indptr[i + 1]):
            if q + AHEAD < indices.size:
                fetch(matrix, indices[q + AHEAD])
            x, row = data[q], matrix[indices[q]]
            for c in range(target.size):
                target[c] += x * row[c]
    return out


@njit
def ends(starts):
    """First rows of all samples that have some, then the last ones; zeros, then ones."""
    most, n = 2 * starts.size - 2, 0
    places, numbers = np.empty(most, np.int64), np.empty(most, np.int64)
    for number in range(2):
        for i in range(starts.size - 1):
            if starts[i] < starts[i + 1]:
                places[n], numbers[n] = starts[i + number] - number, number
                n += 1
    return places[:n], numbers[:n]


@njit
def add_rows(matrix, places, numbers, rows):
    """``matrix[places[i]] += rows[numbers[i]]``, also where a place stands twice."""
    for i in range(places.size):
        for c in range(matrix.shape[1]):
            matrix[places[i], c] += rows[numbers[i], c]
