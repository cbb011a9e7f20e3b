"""Products with weights that are kept as one sparse row, without making them dense."""

import numpy as np
import scipy.sparse as sp


def dense_part(w, start, stop):
    """Some neighbouring weights as an array.

    Parameters
    ----------
    w : ndarray of shape (n_weights,) or CSR of shape (1, n_weights), sorted
        Weights.
    start, stop : int
        Bounds.

    Returns
    -------
    part : ndarray of shape (stop - start,)
        The weights; a view if they are dense.
    """
    if not sp.issparse(w):
        return w[start:stop]
    first, last = _places(w, np.array([start, stop]))
    part = np.zeros(stop - start)
    part[w.indices[first:last] - start] = w.data[first:last]
    return part


def product(matrix, w, n_columns):
    """``matrix @ W`` where the rows of W stand in w one after the other.

    Parameters
    ----------
    matrix : ndarray or CSR of shape (n_rows, n_features)
        Feature rows.
    w : CSR of shape (1, n_weights), sorted
        Weights.
    n_columns : int
        Number of columns of W.

    Returns
    -------
    scores : ndarray of shape (n_rows, n_columns)
        The same numbers as with dense weights. Only rows of W that are used become dense.
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
