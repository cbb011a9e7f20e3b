"""Inputs stacked for compiled code."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._core.packed import starts_of

CHUNK = 2**16  # entries of a dense matrix looked at at a time


class Rows(NamedTuple):
    """Inputs stacked for compiled code."""

    matrix: object  # (n_rows, n_features) float array or CSR
    row_start: np.ndarray  # (n + 1,)
    node_start: np.ndarray  # (n + 1,)
    markers: tuple = ()  # for every extra attribute, the rows where it is one
    graph: object = None  # `Graph`, where samples have graphs of their own
    kind: object = None  # (n_nodes,) kind of a node, where there are several
    weight: object = None  # (n_nodes,) how much a mistake there counts, where inputs say it


def writable(field):
    is_read_only = isinstance(field, np.ndarray) and not field.flags.writeable
    return field.copy() if is_read_only else field


def plain(matrix):
    """The matrix with each entry once and no stored zeros, a copy where it must be.

    Scores do not care, but norms of features do, which steps and the choice of C go by.
    """
    if not sp.issparse(matrix):
        return matrix
    if not matrix.has_canonical_format or np.count_nonzero(matrix.data) < len(matrix.data):
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return matrix


def size_of_rows(matrix):
    """Root mean square norm of the rows; NaN or inf where entries are not finite, or too large."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.ravel(matrix.data if sp.issparse(matrix) else matrix)
        squares = float(np.einsum("i,i->", values, values, dtype=np.float64))  # no copy of all
    return np.sqrt(squares / max(matrix.shape[0], 1))


def with_markers(rows, units):
    """CSR of features in some units, and markers; float32 or float64 as the features are."""
    matrix = units.centered(rows.matrix)
    matrix = units.divided(sp.csr_array(matrix if sp.issparse(matrix) else _to_csr(matrix)))
    matrix.data = matrix.data.astype(rows.matrix.dtype, copy=False)
    if not rows.markers:
        return matrix
    n_rows, n_features = matrix.shape
    marked = np.concatenate(rows.markers)
    columns = np.repeat(n_features + np.arange(len(rows.markers)), [len(m) for m in rows.markers])
    # Markers have the last columns, so each goes to the end of its row.
    order = np.argsort(marked, kind="stable")
    marked, columns = marked[order], columns[order]
    ends = matrix.indptr[marked + 1]
    indptr = matrix.indptr + starts_of(np.bincount(marked, minlength=n_rows))
    return sp.csr_array(
        (
            np.insert(matrix.data, ends, 1.0), np.insert(matrix.indices, ends, columns),
            _narrow(indptr),
        ),
        shape=(n_rows, n_features + len(rows.markers)),
    )  # fmt: skip


def _narrow(indptr):
    """As int32 where it may be: the indices of a matrix become as wide as these."""
    return indptr.astype(np.int32) if indptr[-1] <= np.iinfo(np.int32).max else indptr


def _to_csr(matrix):
    """CSR of an array; scipy's own way takes several times the memory."""
    step = max(1, CHUNK // max(matrix.shape[1], 1))
    chunks = [matrix[first : first + step] for first in range(0, len(matrix), step)]
    counts = [np.count_nonzero(rows, axis=1) for rows in chunks]
    indptr = starts_of(np.concatenate(counts)) if counts else np.zeros(1, np.int64)
    indices, data, start = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], matrix.dtype), 0
    for rows in chunks:
        where = np.nonzero(rows)
        stop = start + len(where[1])
        indices[start:stop], data[start:stop] = where[1], rows[where]
        start = stop
    return sp.csr_array((data, indices, _narrow(indptr)), shape=matrix.shape)
