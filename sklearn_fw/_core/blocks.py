"""Collections of Dask: their blocks of rows, and methods that map over them."""

import functools
import sys

import numpy as np
from sklearn.utils.validation import validate_data


def is_collection(X):
    dask = sys.modules.get("dask.base")
    return dask is not None and dask.is_dask_collection(X)


def refuse_collection(X, name):
    if is_collection(X):
        raise TypeError(
            f"{name} is a Dask collection, which AsagaClassifier, AsagaRegressor and the models of "
            f"moments take, and nothing else: pass {name}.compute() if it fits into memory"
        )


def list_of_blocks(X, name):
    """Delayed blocks of rows of an array or a data frame."""
    if not is_collection(X):
        raise TypeError(
            f"{name} must be a Dask collection like the other arguments, got an object of type "
            f"{type(X).__name__}: pass dask.array.from_array({name}, X.chunks[0])"
        )
    if not hasattr(X, "to_delayed"):
        raise TypeError(
            f"{name} must be a Dask array or data frame, or a list of delayed blocks of rows"
        )
    delayed = X.to_delayed()
    if getattr(delayed, "ndim", 1) == 2 and delayed.shape[1] > 1:
        raise ValueError(f"{name} must have one block of columns: {name}.rechunk({{1: -1}})")
    return list(np.ravel(delayed))


def note_columns(estimator, X):
    """Set ``n_features_in_`` and ``feature_names_in_``, which need no row of the collection."""
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, got {X.ndim} dimensions: X.reshape(-1, 1)")
    frame = getattr(X, "_meta", None) if hasattr(X, "columns") else None
    sample = np.empty((0, X.shape[1])) if frame is None else frame
    validate_data(estimator, sample, skip_check_array=True)


def blockwise(method):
    """Decorator of a method of X: a collection gives a Dask array, block by block."""

    @functools.wraps(method)
    def run(self, X):
        if not is_collection(X):
            return method(self, X)
        import dask
        import dask.array

        frame = hasattr(X, "columns")
        row = X._meta_nonempty.iloc[:1] if frame else np.zeros((1, X.shape[1]))
        sample = np.asarray(method(self, row))
        shape = sample.shape[1:]

        @dask.delayed
        def answer(block):
            return method(self, block) if block.shape[0] else np.empty((0, *shape), sample.dtype)

        sizes = [np.nan] * X.npartitions if frame else X.chunks[0]
        arrays = [
            dask.array.from_delayed(answer(block), (size, *shape), dtype=sample.dtype)
            for block, size in zip(list_of_blocks(X, "X"), sizes)
        ]
        return dask.array.concatenate(arrays, allow_unknown_chunksizes=True)

    return run
