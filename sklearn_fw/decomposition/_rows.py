"""Rows of one view or of two in batches, and sums over them, which is all that moments need."""

from functools import reduce

import numpy as np
import scipy.sparse as sp

from .._core import check
from .._core.blocks import is_collection, list_of_blocks

FAR_LENGTHS = 10.0  # times the mean, from which on rows have no part in the noise


class Rows:
    """Batches of rows with weights; a batch of several views is a tuple, as is ``n_features``.

    ``weights`` of batches are ones if None, ``load(batch, number)`` returns what is checked (CSR
    arrays of float64 for counts), and ``rule(lengths)`` factors of the weights of rows of counts.
    """

    def __init__(self, batches, weights, n_features, load=None, rule=None):
        self.batches, self.weights, self.load = batches, weights, load
        self.n_features, self.rule, self.scale = n_features, rule, 1.0
        self.streams = load is not None  # a pass is dear
        self._kept = {}

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        return (self._loaded(computed(batch), i) for i, batch in enumerate(self.batches))

    def _loaded(self, batch, i):
        X = batch if self.load is None else self.load(batch, i)
        return X, self._weight(X, i)

    def _weight(self, X, i):
        n = (X[0] if isinstance(X, tuple) else X).shape[0]
        weight = np.ones(n) if self.weights is None else self.weights[i]
        if self.rule is not None:
            weight = self.scale * weight * self.rule(X.sum(axis=1))
        return weight

    def weighted(self, rule):
        """The same with weights times a function of the lengths of rows."""
        before = self.rule
        both = rule if before is None else lambda lengths: before(lengths) * rule(lengths)
        rows = Rows(self.batches, self.weights, self.n_features, self.load, both)
        rows._kept = {i: part for i, part in self._kept.items() if isinstance(i, int)}
        return rows

    def product(self, weigh, V):
        """Sum over batches of ``X.T @ (weigh(X, weight) * (X @ V))``, for rows asked many times.

        Rows in memory keep a copy of their transpose, whose product is three times as fast.
        """
        if self.streams:
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
        """Sums of what ``function(X, weight)`` returns; Dask batches are summed where Dask runs."""
        if len(self) and is_collection(self.batches[0]):
            import dask

            @dask.delayed(pure=False)
            def term(batch, i):
                return function(*self._loaded(batch, i))

            parts = [term(batch, i) for i, batch in enumerate(self.batches)]
            while len(parts) > 1:  # a tree, so that no worker holds all parts
                pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
                parts = [dask.delayed(_add)(*pair) if len(pair) > 1 else pair[0] for pair in pairs]
            return dask.compute(parts[0])[0]
        return reduce(_add, (function(X, weight) for X, weight in self))


class ShuffledRows(Rows):
    """Entries of each column in random rows of their batch, where they keep the weight they had.

    Rows far longer than the mean of the batch are left out: two of their entries that meet would
    be more than the noise of all others.
    """

    def __init__(self, rows, seed):
        super().__init__(rows.batches, None, rows.n_features)
        self.rows, self.seed, self.streams = rows, seed, True

    def _loaded(self, batch, i):
        X, weight = self.rows._loaded(batch, i)
        lengths = X.sum(axis=1)
        weight = np.where(len(lengths) * lengths > FAR_LENGTHS * lengths.sum(), 0.0, weight)
        mean = weight.mean() if len(weight) else 1.0
        factors = np.sqrt(weight / mean) if mean > 0.0 else weight
        rng = np.random.RandomState((self.seed + i) % 2**32)
        rows = rng.randint(X.shape[0], size=X.nnz)
        data = X.data * np.repeat(factors, np.diff(X.indptr))
        return sp.csr_array((data, (rows, X.indices)), shape=X.shape), np.full(X.shape[0], mean)


def times(weight, V):
    return weight * V if V.ndim == 1 else weight[:, None] * V


def weighted_product(X, Y, weight):
    if sp.issparse(X) and not sp.issparse(Y):
        return X.T @ times(weight, Y)
    if not sp.issparse(X):
        return np.asarray((Y.T @ times(weight, X)).T)
    scaled = X.copy()
    scaled.data = X.data * np.repeat(weight, np.diff(X.indptr))
    return (scaled.T @ Y).toarray()


def _add(totals, terms):
    return tuple(total + term for total, term in zip(totals, terms))


def computed(batch):
    return batch.compute() if is_collection(batch) else batch


def is_batches(X):
    """Whether X is a list of matrices, or a collection of Dask, and no matrix."""
    if is_collection(X):
        return True
    if not isinstance(X, list | tuple) or not len(X):
        return False
    return all(sp.issparse(b) or is_collection(b) or getattr(b, "ndim", 0) == 2 for b in X)


def rows_of(estimator, views, counts, sample_weight, batch_size):
    """`Rows` of views by name, all matrices or all batches; the first sets ``n_features_in_``."""
    names, data = list(views), list(views.values())
    if hasattr(data[0], "__next__"):
        raise TypeError("X is an iterator, but moments need several passes: give a list of batches")
    owners = [estimator, *[None] * (len(data) - 1)]
    if any(map(is_batches, data)):
        return _rows_of_batches(names, data, counts, owners, sample_weight)
    data = [check_view(*view, reset=True) for view in zip(data, names, counts, owners)]
    _check_lengths(data, names)
    n = data[0].shape[0]
    weight = check.sample_weight(sample_weight, n)
    parts = [slice(a, a + batch_size) for a in range(0, n, batch_size)]
    batches = [[view if n <= batch_size else view[part] for view in data] for part in parts]
    sizes = [view.shape[1] for view in data]
    return Rows([_joined(b) for b in batches], [weight[part] for part in parts], _joined(sizes))


def _rows_of_batches(names, data, counts, owners, sample_weight):
    if not all(map(is_batches, data)):
        raise TypeError(f"{' and '.join(names)} must both be batches of rows, or both be matrices")
    if sample_weight is not None:
        raise ValueError("sample_weight cannot be given with batches: repeat rows in place of it")
    data = [
        list_of_blocks(view, name) if is_collection(view) else list(view)
        for view, name in zip(data, names)
    ]
    if len(data[0]) != len(data[-1]):
        n_batches = [len(view) for view in data]
        raise ValueError(f"X and y must have the same number of batches, got {n_batches}")
    sizes = [
        check_view(computed(view[0]), name, is_count, owner, reset=True).shape[1]
        for view, name, is_count, owner in zip(data, names, counts, owners)
    ]

    def load(batch, i):
        checked, places = [], [f"{name}[{i}]" for name in names]
        batch = batch if len(names) > 1 else [batch]
        for view, name, place, is_count, size in zip(batch, names, places, counts, sizes):
            view = check_view(view, place, is_count)
            if view.shape[1] != size:
                raise ValueError(f"{place} has {view.shape[1]} columns, but {name}[0] has {size}")
            checked.append(view)
        _check_lengths(checked, places)
        return _joined(checked)

    batches = [_joined(batch) for batch in zip(*data)]
    if len(names) > 1 and hasattr(data[0][0], "dask"):
        import dask

        batches = [dask.delayed(tuple)(batch) for batch in batches]
    return Rows(batches, None, _joined(sizes), load)


def _joined(items):
    return items[0] if len(items) == 1 else tuple(items)


def _check_lengths(views, names):
    sizes = [view.shape[0] for view in views]
    if sizes[0] != sizes[-1]:
        raise ValueError(f"{' and '.join(names)} have inconsistent numbers of samples: {sizes}")


def check_enough(moments, n_features, beside=""):
    """Refuse too few rows for third moments."""
    if moments.n <= 2.0:
        raise ValueError(
            f"X has n_samples={moments.n_rows} that count{beside}, n_features={n_features} and a "
            f"total sample_weight of {moments.n:g}: third moments need more than 2"
        )


def as_counts(X, name, whole):
    """A table as CSR in canonical form of numbers that are not negative, ``whole`` if need be."""
    X = sp.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.nnz and X.data.min() < 0.0:
        raise ValueError(f"Negative values in data passed to a model: {name} must hold counts")
    if X.nnz and X.data.max() > 1e12:
        raise ValueError(f"{name} must hold counts up to 1e12, got {X.data.max():g}")
    if whole and np.any(broken := X.data != np.floor(X.data)):
        raise ValueError(
            f"{name} must hold whole numbers, got {X.data[broken][0]:g}: moments need the counts "
            "themselves, not tf-idf or fractions"
        )
    return X


def check_view(view, name, is_count, estimator=None, reset=False):
    """A CSR array of whole numbers, or a matrix of real numbers; a vector becomes a column."""
    check.samples(view, name)
    options = {"accept_sparse": "csr", "dtype": np.float64}
    if estimator is not None:
        view = check.data(estimator, view, reset=reset, **options)
    else:
        view = check.table(view, input_name=name, ensure_2d=False, **options)
        view = view.reshape(-1, 1) if view.ndim == 1 else view
    if is_count:
        return as_counts(view, name, whole=True)
    largest = np.max(np.abs(view.data if sp.issparse(view) else view), initial=0.0)
    if largest > 1e50:
        raise ValueError(f"{name} must hold numbers up to 1e50, got {largest:g}: scale it")
    return sp.csr_array(view) if sp.issparse(view) else view
