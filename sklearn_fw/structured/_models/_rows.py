"""Inputs stacked for compiled code."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp


class Rows(NamedTuple):
    """Inputs stacked for compiled code."""

    matrix: object  # (n_rows, n_features) float array or CSR
    row_start: np.ndarray  # (n + 1,)
    node_start: np.ndarray  # (n + 1,)
    markers: tuple = ()  # for every extra attribute, the rows where it is one
    graph: object = None  # `Graph`, where samples have graphs of their own
    n_own: object = None  # (n_nodes,) states of a node, where nodes are of several kinds


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


def with_markers(rows):
    """CSR of features and markers, float64."""
    matrix = sp.csr_array(rows.matrix, dtype=np.float64)
    if not rows.markers:
        return matrix
    n_rows, n_features = matrix.shape
    marked = np.concatenate(rows.markers)
    columns = np.repeat(n_features + np.arange(len(rows.markers)), [len(m) for m in rows.markers])
    # Markers have the last columns, so each goes to the end of its row.
    order = np.argsort(marked, kind="stable")
    marked, columns = marked[order], columns[order]
    ends = matrix.indptr[marked + 1]
    added = np.cumsum(np.bincount(marked, minlength=n_rows))
    indptr = matrix.indptr.astype(np.int64)
    indptr[1:] += added
    return sp.csr_array(
        (np.insert(matrix.data, ends, 1.0), np.insert(matrix.indices, ends, columns), indptr),
        shape=(n_rows, n_features + len(rows.markers)),
    )
