"""Feature rows of all samples: stacked, checked, and times sparse weights."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._core import check
from ..._core.packed import places_of, starts_of
from ..._kernels import lazy
from ._ragged import Stacked

rows_kernels = lazy("common.rows")

CHUNK = 2**16  # entries of a dense matrix looked at at a time


class Rows(NamedTuple):
    """Inputs stacked for compiled code."""

    matrix: object  # (n_rows, n_features) float array or CSR
    row_start: np.ndarray  # (n + 1,)
    node_start: np.ndarray  # (n + 1,)
    graph: object  # `Graph` of all samples
    constants: object = None  # rows, and the number of the extra attribute that is one in each
    kind: object = None  # (n_nodes,) kind of a node, where there are several
    weight: object = None  # (n_nodes,) how much a mistake there counts, where inputs say it


def writable(field):
    is_read_only = isinstance(field, np.ndarray) and not field.flags.writeable
    return field.copy() if is_read_only else field


def plain(matrix):
    """The matrix with each entry once and no stored zeros, for the norms of features."""
    if not sp.issparse(matrix):
        return matrix
    if not matrix.has_canonical_format or np.count_nonzero(matrix.data) < len(matrix.data):
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return matrix


def with_constants(rows, units, n_constants=0):
    """CSR of features in some units, and constants; float32 or float64 as the features are."""
    matrix = units.centered(rows.matrix)
    matrix = units.divided(sp.csr_array(matrix if sp.issparse(matrix) else _to_csr(matrix)))
    matrix.data = matrix.data.astype(rows.matrix.dtype, copy=False)
    if rows.constants is None:
        return matrix
    ones = np.ones(len(rows.constants[0]), matrix.dtype), rows.constants
    constants = sp.csr_array(ones, shape=(matrix.shape[0], n_constants))
    joined = sp.hstack([matrix, constants], format="csr")
    return sp.csr_array((joined.data, joined.indices, _narrow(joined.indptr)), shape=joined.shape)


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


def check_rows(X):
    """A finite 2-D float array or CSR; a single row is accepted as one sample."""
    if isinstance(X, Stacked):
        return X.compact().values
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1 and len(X):
        # A container of one row, as the methods for a single sample make it.
        X = sp.vstack(X, format="csr") if sp.issparse(X[0]) else np.stack([np.ravel(x) for x in X])
    X = check.table(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    check.magnitude(X.data if sp.issparse(X) else X, "X")
    return X


def dense_part(w, start, stop):
    """Some neighboring weights as an array, of an array (a view) or of a sorted CSR row."""
    if not sp.issparse(w):
        return w[start:stop]
    first, last = _places(w, np.array([start, stop]))
    part = np.zeros(stop - start)
    part[w.indices[first:last] - start] = w.data[first:last]
    return part


def product(matrix, w, n_columns):
    """``matrix @ W``, where w, an array or a sorted CSR row, holds W row by row."""
    if not (sp.issparse(matrix) and sp.issparse(w)):
        dense = dense_part(w, 0, matrix.shape[1] * n_columns).reshape(-1, n_columns)
        if not sp.issparse(matrix):
            return matrix @ dense
        return rows_kernels.product(matrix.indptr, matrix.indices, matrix.data, dense)
    used, numbers = np.unique(matrix.indices, return_inverse=True)
    begin = used.astype(np.int64) * n_columns
    first = _places(w, begin)
    counts = _places(w, begin + n_columns) - first
    places = places_of(first, counts)
    rows = np.repeat(np.arange(len(used)), counts)
    dense = np.zeros((len(used), n_columns))
    dense[rows, w.indices[places] - begin[rows]] = w.data[places]
    return rows_kernels.product(matrix.indptr, numbers, matrix.data, dense)


def _places(w, weights):
    # Of one type: numpy would convert all indices for a search of another one.
    return np.searchsorted(w.indices, weights.astype(w.indices.dtype))
