"""Feature rows of all samples: stacked, checked, in units of a fit, and times sparse weights."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._core import check
from ..._core.packed import starts_of
from ._ragged import Stacked

DENSE = 0.5  # share of entries that are not zero, from which a column has a mean to take off
CONSTANT = 1e-10  # spread over the largest entry, up to which a column is constant but for rounding


class Units(NamedTuple):
    """What features are divided by; weights of the joint feature count in these units."""

    scale: object = 1.0  # of nodes: a number, or one for each column
    mean: object = None  # of columns, taken off first where a constant can make up for it
    edge_scale: float = 1.0

    @property
    def is_plain(self):
        """Whether features are used as they come."""
        return self.edge_scale == 1.0 and not self.changes_nodes

    @property
    def changes_nodes(self):
        """Whether features of nodes are not used as they come."""
        return self.mean is not None or np.ndim(self.scale) == 1 or self.scale != 1.0

    def centered(self, matrix):
        """Features without the means."""
        if self.mean is None:
            return matrix
        if not sp.issparse(matrix):
            return matrix - self.mean
        columns, n = np.flatnonzero(self.mean), matrix.shape[0]
        indptr = np.arange(n + 1) * len(columns)
        means = (np.tile(self.mean[columns], n), np.tile(columns, n), indptr)
        return sp.csr_array(matrix) - sp.csr_array(means, shape=matrix.shape)

    def divided(self, matrix):
        """A CSR matrix of these features divided by their units."""
        if not self.changes_nodes:
            return matrix
        scale = self.scale if np.ndim(self.scale) == 0 else self.scale[matrix.indices]
        return sp.csr_array((matrix.data / scale, matrix.indices, matrix.indptr), matrix.shape)

    def from_given(self, rows, n_features):
        """Weights of features and constants in these units, from those of features as given."""
        rows = rows.copy()
        if self.mean is not None:
            rows[-1] += self.mean @ rows[:n_features]
        rows[:n_features] *= np.reshape(self.scale, (-1, 1))
        return rows

    def to_given(self, rows, n_features):
        """The way back."""
        if not self.changes_nodes:
            return rows
        rows = rows.copy()
        rows[:n_features] /= np.reshape(self.scale, (-1, 1))
        if self.mean is not None:
            rows[-1] -= self.mean @ rows[:n_features]
        return rows


PLAIN = Units()


class Columns(NamedTuple):
    """Sizes of columns; entries of zero count where they are fewer than half."""

    size: np.ndarray  # root mean square of the entries that are not zero
    spread: np.ndarray  # the same after the mean is taken off; zero of constant columns
    mean: np.ndarray  # zero where it is not taken off

    filled: np.ndarray  # share of the rows in which they are not zero

    def norm_of(self, scale):
        """Root mean square norm of the rows in other units."""
        square = np.where(self.mean != 0.0, self.spread**2, self.filled * self.size**2)
        return np.sqrt(np.sum(square / scale**2))

    @classmethod
    def of(cls, matrix, weight, centers):
        """Of rows with weights that sum to one; ``centers`` says whether means may be taken off."""
        peak = abs(matrix).max(axis=0)
        peak = (peak.toarray() if sp.issparse(peak) else np.asarray(peak)).ravel()
        peak = np.where(peak > 0.0, peak, 1.0).astype(np.float64)
        one = np.where(peak > 0.0, 1.0 / peak, 0.0)
        share = sp.csr_array(matrix @ sp.diags_array(one)) if sp.issparse(matrix) else matrix * one
        filled = weight @ (share != 0)
        size = np.sqrt((weight @ (share * share)) / np.where(filled > 0.0, filled, 1.0))
        mean, spread = np.zeros(len(size)), size.copy()
        dense = np.flatnonzero(filled > DENSE) if centers else np.empty(0, np.int64)
        own = share[:, dense]
        own = own.toarray() if sp.issparse(own) else own
        mean[dense] = weight @ own
        spread[dense] = np.sqrt(weight @ (own - mean[dense]) ** 2)
        spread[spread <= CONSTANT] = 0.0
        return cls(size * peak, spread * peak, mean * peak, filled)


CHUNK = 2**16  # entries of a dense matrix looked at at a time


class Rows(NamedTuple):
    """Inputs stacked for compiled code."""

    matrix: object  # (n_rows, n_features) float array or CSR
    row_start: np.ndarray  # (n + 1,)
    node_start: np.ndarray  # (n + 1,)
    constants: tuple = ()  # for every extra attribute, the rows where it is one
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


def with_constants(rows, units):
    """CSR of features in some units, and constants; float32 or float64 as the features are."""
    matrix = units.centered(rows.matrix)
    matrix = units.divided(sp.csr_array(matrix if sp.issparse(matrix) else _to_csr(matrix)))
    matrix.data = matrix.data.astype(rows.matrix.dtype, copy=False)
    if not rows.constants:
        return matrix
    n_rows, n_features = matrix.shape
    marked = np.concatenate(rows.constants)
    columns = np.repeat(
        n_features + np.arange(len(rows.constants)), [len(m) for m in rows.constants]
    )
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
        shape=(n_rows, n_features + len(rows.constants)),
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
    """Some neighbouring weights as an array, of an array (a view) or of a sorted CSR row."""
    if not sp.issparse(w):
        return w[start:stop]
    first, last = _places(w, np.array([start, stop]))
    part = np.zeros(stop - start)
    part[w.indices[first:last] - start] = w.data[first:last]
    return part


def product(matrix, w, n_columns):
    """``matrix @ W`` where the rows of W stand in the sorted CSR row w one after the other.

    The same numbers as with dense weights, but only rows of W that are used become dense.
    """
    if not sp.issparse(matrix):
        return matrix @ dense_part(w, 0, matrix.shape[1] * n_columns).reshape(-1, n_columns)
    used, numbers = np.unique(matrix.indices, return_inverse=True)
    begin = used.astype(np.int64) * n_columns
    first = _places(w, begin)
    counts = _places(w, begin + n_columns) - first
    # Entry r of row a stands at first[a] + r.
    ends = np.cumsum(counts)
    places = np.arange(counts.sum()) + np.repeat(first - ends + counts, counts)
    rows = np.repeat(np.arange(len(used)), counts)
    dense = np.zeros((len(used), n_columns))
    dense[rows, w.indices[places] - begin[rows]] = w.data[places]
    shape = (matrix.shape[0], len(used))
    return sp.csr_array((matrix.data, numbers, matrix.indptr), shape=shape) @ dense


def _places(w, weights):
    # Of one type: numpy would convert all indices for a search of another one.
    return np.searchsorted(w.indices, weights.astype(w.indices.dtype))
