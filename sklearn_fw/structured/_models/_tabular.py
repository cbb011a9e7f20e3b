"""Checks of inputs with one row of features per sample."""

import numpy as np
import scipy.sparse as sp

from ..._core.validation import check_magnitude, check_table
from ._ragged import Stacked


def check_rows(X):
    """A finite 2-D float array or CSR; a single row is accepted as one sample."""
    if isinstance(X, Stacked):
        return X.compact().values
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1 and len(X):
        # A container of one row, as the methods for a single sample make it.
        X = sp.vstack(X, format="csr") if sp.issparse(X[0]) else np.stack([np.ravel(x) for x in X])
    X = check_table(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    check_magnitude(X.data if sp.issparse(X) else X, "X")
    return X


def stacked_rows(X):
    """The checked rows as samples that are not checked again."""
    X = check_rows(X)
    return Stacked.of(X, np.arange(X.shape[0] + 1))


def one_row_each(X, n_features):
    """The checked rows, and their numbers as starts of samples."""
    X = check_rows(X)
    if X.shape[1] != n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but the model expects {n_features} features"
        )
    return X, np.arange(X.shape[0] + 1)
