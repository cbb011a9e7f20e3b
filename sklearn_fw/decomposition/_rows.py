"""Rows of one view or of two in batches, and sums over them, which is all that moments need."""

import sys

import numpy as np
import scipy.sparse as sp

from .._core.validation import check_data, check_sample_weight, check_samples, check_table


class Rows:
    """Batches of rows with weights.

    Parameters
    ----------
    batches : list
        CSR arrays of float64, or ``load`` makes them of the items.
    weights : list of ndarray
        Weights of the rows of each batch; None for ones.
    n_features : int
        Number of columns.
    load : callable, default=None
        ``load(batch, number)`` returns a checked CSR array.
    rule : callable, default=None
        ``rule(lengths)`` returns factors of the weights of rows with these sums.
    """

    def __init__(self, batches, weights, n_features, load=None, rule=None):
        self.batches, self.weights, self.load = batches, weights, load
        self.n_features, self.rule, self.scale = n_features, rule, 1.0
        self._kept = {}

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        for i, batch in enumerate(self.batches):
            X = self._loaded(computed(batch), i)
            yield X, self._weight(X, i)

    def _loaded(self, batch, i):
        return batch if self.load is None else self.load(batch, i)

    def _weight(self, X, i):
        weight = np.ones(X.shape[0]) if self.weights is None else self.weights[i]
        if self.rule is not None:
            weight = self.scale * weight * self.rule(np.asarray(X.sum(axis=1)).ravel())
        return weight

    def weighted(self, rule):
        """The same with weights times a function of the lengths of rows."""
        rows = Rows(self.batches, self.weights, self.n_features, self.load, rule)
        rows._kept = {i: part for i, part in self._kept.items() if isinstance(i, int)}
        return rows

    def product(self, weigh, V):
        """Sum over batches of ``X.T @ (weigh(X, weight) * (X @ V))``, for rows asked many times.

        Rows in memory keep a copy of their transpose, whose product is three times as fast.
        """
        if self.load is not None:
            return self.sum(lambda X, weight: (X.T @ times(weigh(X, weight), X @ V),))[0]
        total = 0.0
        for i, X in enumerate(self.batches):
            if i not in self._kept:
                self._kept[i] = X.T.tocsr()
            if (weigh, i) not in self._kept:
                self._kept[weigh, i] = weigh(X, self._weight(X, i))
            total = total + self._kept[i] @ times(self._kept[weigh, i], X @ V)
        return total

    def sum(self, function):
        """Sums over batches of the numbers and arrays that ``function(X, weight)`` returns.

        Delayed batches of Dask are loaded and summed where Dask runs them.
        """
        if len(self) and _is_delayed(self.batches[0]):
            import dask

            term = dask.delayed(self._term, pure=False)
            parts = [term(batch, i, function) for i, batch in enumerate(self.batches)]
            while len(parts) > 1:  # a tree, so that no worker holds all parts
                pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
                parts = [dask.delayed(_add)(*pair) if len(pair) > 1 else pair[0] for pair in pairs]
            return dask.compute(parts[0])[0]
        totals = None
        for X, weight in self:
            terms = function(X, weight)
            totals = terms if totals is None else _add(totals, terms)
        return totals

    def _term(self, batch, i, function):
        X = self._loaded(batch, i)
        return function(X, self._weight(X, i))

    def shuffled(self, seed):
        """The same with the entries of each column in random rows of their batch."""
        return ShuffledRows(self, seed)


class ShuffledRows(Rows):
    """Entries of each column in random rows of their batch, where they keep the weight they had."""

    def __init__(self, rows, seed):
        super().__init__(rows.batches, None, rows.n_features, self._shuffled)
        self.rows, self.seed, self.means = rows, seed, {}

    def _shuffled(self, batch, i):
        X = self.rows._loaded(batch, i)
        weight = self.rows._weight(X, i)
        self.means[i] = mean = weight.mean() if len(weight) else 1.0
        factors = np.sqrt(weight / mean) if mean > 0.0 else weight
        rng = np.random.RandomState((self.seed + i) % 2**32)
        rows = rng.randint(X.shape[0], size=X.nnz)
        data = X.data * np.repeat(factors, np.diff(X.indptr))
        return sp.csr_array((data, (rows, X.indices)), shape=X.shape)

    def _weight(self, X, i):
        return np.full(X.shape[0], self.means[i])  # of the batch, which has just been loaded


def times(weight, V):
    """Rows of V, a vector or a matrix, times a weight each."""
    return weight * V if V.ndim == 1 else weight[:, None] * V


def _add(totals, terms):
    return tuple(total + term for total, term in zip(totals, terms))


def _is_delayed(batch):
    module = sys.modules.get("dask.base")
    return module is not None and module.is_dask_collection(batch)


def computed(batch):
    """A batch itself, or what Dask makes of it."""
    return batch.compute() if _is_delayed(batch) else batch


def is_batches(X):
    """Whether X is a list of matrices, or a collection of Dask, and no matrix."""
    if _is_delayed(X):
        return True
    return (
        isinstance(X, list | tuple)
        and len(X) > 0
        and all(sp.issparse(b) or _is_delayed(b) or getattr(b, "ndim", 0) == 2 for b in X)
    )


def list_of_batches(X, name):
    """The items of a list, or the blocks of rows of a Dask array."""
    if not _is_delayed(X):
        return list(X)
    if not hasattr(X, "to_delayed"):
        raise TypeError(f"{name} must be a Dask array, or a list of delayed blocks of rows")
    delayed = X.to_delayed()
    if getattr(delayed, "ndim", 1) == 2 and delayed.shape[1] > 1:
        raise ValueError(f"{name} must have one block of columns: {name}.rechunk({{1: -1}})")
    return list(np.ravel(delayed))


def rows_of(estimator, X, sample_weight, batch_size, whole):
    """`Rows` of a matrix, or of batches; sets what scikit-learn wants to know of X."""
    if is_batches(X):
        return _rows_of_batches(estimator, X, sample_weight, whole)
    if hasattr(X, "__next__"):
        raise TypeError(
            "X is an iterator, which gives its batches once, and moments need several passes: pass "
            "a list of batches, or a list of delayed ones that Dask loads again"
        )
    X = check_counts(estimator, X, whole=whole, reset=True)
    weight = check_sample_weight(sample_weight, X.shape[0])
    starts = range(0, X.shape[0], batch_size)
    if X.shape[0] <= batch_size:
        return Rows([X], [weight], X.shape[1])
    batches = [X[a : a + batch_size] for a in starts]
    weights = [weight[a : a + batch_size] for a in starts]
    return Rows(batches, weights, X.shape[1])


def _rows_of_batches(estimator, X, sample_weight, whole):
    if sample_weight is not None:
        raise ValueError("sample_weight cannot be given with batches: repeat rows in place of it")
    X = list_of_batches(X, "X")
    first = check_counts(estimator, computed(X[0]), whole=whole, reset=True)
    n_features = first.shape[1]

    def load(batch, i):
        name = f"X[{i}]"
        batch = check_table(batch, input_name=name, accept_sparse="csr", dtype=np.float64)
        batch = as_counts(batch, name, whole)
        if batch.shape[1] != n_features:
            raise ValueError(
                f"X[{i}] has {batch.shape[1]} columns, X[0] has {n_features}: all batches need the "
                "same vocabulary"
            )
        return batch

    return Rows(X, None, n_features, load)


def check_counts(estimator, X, *, whole=False, reset=False):
    """A CSR array of float64 with numbers of words of each document."""
    X = check_data(estimator, X, accept_sparse="csr", dtype=np.float64, reset=reset)
    return as_counts(X, "X", whole)


def as_counts(X, name, whole):
    """A table as CSR in canonical form of numbers that are not negative, ``whole`` if need be."""
    X = sp.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.nnz and X.data.min() < 0.0:
        raise ValueError(
            f"Negative values in data passed to a model of counts: {name} must hold counts, got "
            f"{X.data.min():g}"
        )
    if X.nnz and X.data.max() > 1e12:
        raise ValueError(f"{name} must hold counts up to 1e12, got {X.data.max():g}")
    if whole and np.any(X.data != np.floor(X.data)):
        raise ValueError(
            f"{name} must hold whole numbers, got {X.data[X.data != np.floor(X.data)][0]:g}: "
            "moments of counts need the counts themselves, so leave out weights such as tf-idf and "
            "shares"
        )
    return X


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
