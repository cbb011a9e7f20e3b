"""Rows of two views of the same samples in batches."""

import numpy as np
import scipy.sparse as sp

from .._core.validation import check_data, check_sample_weight, check_samples, check_table
from ._rows import Rows, as_counts, computed, is_batches, list_of_batches


class Pairs(Rows):
    """Batches of pairs (X, Y) of matrices with the same rows; ``n_features`` has two numbers."""

    def _weight(self, pair, i):
        return np.ones(pair[0].shape[0]) if self.weights is None else self.weights[i]


def pairs_of(estimator, X, y, sample_weight, batch_size):
    """`Pairs` of two views, matrices or batches; sets what scikit-learn wants to know of X."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: y is "
            "the second view of the same samples"
        )
    x_counts, y_counts = estimator._counts
    if is_batches(X) or is_batches(y):
        return _pairs_of_batches(estimator, X, y, sample_weight)
    X = check_view(X, "X", x_counts, estimator, reset=True)
    y = check_view(y, "y", y_counts)
    _check_lengths(X, y, "X", "y")
    weight = check_sample_weight(sample_weight, X.shape[0])
    parts = [slice(a, a + batch_size) for a in range(0, X.shape[0], batch_size)]
    return Pairs(
        [(X[part], y[part]) for part in parts], [weight[part] for part in parts],
        (X.shape[1], y.shape[1]),
    )  # fmt: skip


def _pairs_of_batches(estimator, X, y, sample_weight):
    if not (is_batches(X) and is_batches(y)):
        raise TypeError("X and y must both be batches of rows, or both be matrices")
    if sample_weight is not None:
        raise ValueError("sample_weight cannot be given with batches: repeat rows in place of it")
    X, y = list_of_batches(X, "X"), list_of_batches(y, "y")
    if len(X) != len(y):
        raise ValueError(
            f"X and y must have the same batches of rows, got {len(X)} of X and {len(y)} of y"
        )
    counts = estimator._counts
    first = check_view(computed(X[0]), "X", counts[0], estimator, reset=True)
    sizes = first.shape[1], check_view(computed(y[0]), "y", counts[1]).shape[1]

    def load(pair, i):
        views = []
        for view, name, is_count, size in zip(pair, "Xy", counts, sizes):
            view = check_view(view, f"{name}[{i}]", is_count)
            if view.shape[1] != size:
                raise ValueError(
                    f"{name}[{i}] has {view.shape[1]} columns, {name}[0] has {size}: all batches "
                    "need the same features"
                )
            views.append(view)
        _check_lengths(*views, f"X[{i}]", f"y[{i}]")
        return tuple(views)

    pairs = list(zip(X, y))
    if hasattr(X[0], "dask"):
        import dask

        pairs = [dask.delayed(tuple)(pair) for pair in pairs]
    return Pairs(pairs, None, sizes, load)


def _check_lengths(X, y, x_name, y_name):
    if X.shape[0] != y.shape[0]:
        raise ValueError(
            f"{x_name} and {y_name} are views of the same samples, row by row, but have "
            f"inconsistent numbers of samples: {X.shape[0]} and {y.shape[0]}"
        )


def check_view(view, name, is_count, estimator=None, reset=False):
    """A CSR array of whole numbers, or a matrix of real numbers; a vector becomes a column."""
    check_samples(view, name)
    options = {"accept_sparse": "csr", "dtype": np.float64}
    if estimator is not None:
        view = check_data(estimator, view, reset=reset, **options)
    else:
        view = check_table(view, input_name=name, ensure_2d=False, **options)
        view = view.reshape(-1, 1) if view.ndim == 1 else view
    if view.ndim != 2:
        raise ValueError(f"{name} must be a matrix, got shape {view.shape}")
    if is_count:
        return as_counts(view, name, whole=True)
    largest = np.max(np.abs(view.data if sp.issparse(view) else view), initial=0.0)
    if largest > 1e50:
        raise ValueError(f"{name} must hold numbers up to 1e50, got {largest:g}: scale it")
    return sp.csr_array(view) if sp.issparse(view) else view
