"""Collections of Dask: their blocks of rows, and methods that map over them."""

import functools
import sys

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data


def is_collection(X):
    """Whether X is a collection of Dask, or a list of delayed blocks."""
    dask = sys.modules.get("dask.base")
    first = X[0] if isinstance(X, list | tuple) and X else X
    return dask is not None and dask.is_dask_collection(first)


def refuse_collection(X, name):
    if is_collection(X):
        raise TypeError(
            f"{name} is a Dask collection, which fit of AsagaClassifier, AsagaRegressor, "
            f"StructuredSVM and of the models of moments takes, and nothing else: pass "
            f"{name}.compute() if it fits into memory"
        )


def list_of_blocks(X, name):
    """Delayed blocks of an array, a data frame, a bag or a list of them."""
    if not is_collection(X):
        raise TypeError(
            f"{name} must be a Dask collection like the other arguments, got an object of type "
            f"{type(X).__name__}: pass dask.array.from_array({name}, X.chunks[0])"
        )
    if isinstance(X, list | tuple):
        return list(X)
    if not hasattr(X, "to_delayed"):
        raise TypeError(f"{name} must be a Dask array, data frame, bag or list of delayed blocks")
    delayed = X.to_delayed()
    if getattr(delayed, "ndim", 1) == 2 and delayed.shape[1] > 1:
        raise ValueError(f"{name} must have one block of columns: {name}.rechunk({{1: -1}})")
    return list(np.ravel(delayed))


def delayed_blocks(X, y, sample_weight):
    """X, y and weights (or None) of every block."""
    given = {"X": X, "y": y} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    columns = {name: list_of_blocks(values, name) for name, values in given.items()}
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"collections must have the same blocks of rows, got {sizes}: rechunk")
    columns.setdefault("sample_weight", [None] * sizes["X"])
    return list(zip(*columns.values()))


def aligned(X):
    """The same array or sparse matrix, copied unless its numbers lie at multiples of their size.

    Those that came over a network or from the disk of a worker may not: NumPy would copy them for
    every product, and compiled code be compiled once more.
    """
    arrays = vars(X).values() if sp.issparse(X) else [X]
    is_aligned = all(a.flags.aligned for a in arrays if isinstance(a, np.ndarray))
    return X if is_aligned else X.copy()


class Block:
    """Data of one block, and what was made of them last, which is not stored with them."""

    _made = None, None

    def _once(self, make, argument):
        if self._made[0] is not argument:
            self._made = argument, make(argument)
        return self._made[1]

    def __getstate__(self):
        return vars(self) | {"_made": (None, None)}

    def __setstate__(self, state):
        vars(self).update((name, aligned(value)) for name, value in state.items())


def note_columns(estimator, X):
    """Set ``n_features_in_`` and ``feature_names_in_``, which need no row of the collection."""
    if getattr(X, "ndim", 0) != 2:
        raise ValueError("X must be a Dask array of rows and columns, or a data frame")
    frame = getattr(X, "_meta", None) if hasattr(X, "columns") else None
    sample = np.empty((0, X.shape[1])) if frame is None else frame
    validate_data(estimator, sample, skip_check_array=True)


def blockwise(method):
    """Decorator of a method of X: a collection gives a Dask array, bag or list, block by block."""

    @functools.wraps(method)
    def run(self, X):
        if not is_collection(X):
            return method(self, X)
        check_is_fitted(self)  # else a task would find out
        import dask.array

        if isinstance(X, list | tuple):
            return [dask.delayed(method)(self, block) for block in X]
        if not hasattr(X, "shape"):
            return X.map_partitions(lambda block: list(method(self, list(block))))
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
