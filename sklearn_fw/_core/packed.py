"""Ragged samples kept in one buffer."""

from itertools import chain, pairwise

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from . import check


class Packed:
    """Ragged samples in one buffer, which scikit-learn can index and joblib can map.

    Sample ``i`` is the block of rows ``values[offsets[j]:offsets[j + 1]]`` with
    ``j = index[i]``.  Choose it over a list of arrays when there are thousands of
    samples and several fits: a list is pickled array by array for every task of a
    grid search, one buffer is mapped into the workers once.

    Parameters
    ----------
    values : ndarray of shape (n_rows, ...) or CSR matrix or array of shape \
(n_rows, n_features)
        The rows of all samples, one sample after the other; kept as given, memory maps too.
    offsets : array-like of int of shape (n_blocks + 1,)
        ``offsets[0] == 0``, never decreasing, ``offsets[-1] == n_rows``.  Equal
        neighbors make an empty sample.
    index : array-like of int of shape (n_samples,), default=None
        Block of each sample; blocks may be left out, reordered and repeated. ``None`` means every
        block once, in order.

    See Also
    --------
    sklearn.utils.Bunch : Container of the data sets.

    Notes
    -----
    A slice, a boolean mask or an integer array gives a new ``Packed`` over the same buffer in
    O(number of samples kept). Pickling it writes the whole buffer; call :meth:`compact` first to
    store the selection alone.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.utils import Packed
    >>> words = Packed.from_list([np.zeros((3, 2)), np.ones((1, 2)), np.ones((2, 2))])
    >>> words
    Packed(n_samples=3, n_rows=6, values=float64 ndarray of shape (6, 2))
    >>> words[[2, 1]].lengths
    array([2, 1])
    >>> words[[2, 1]].compact().offsets
    array([0, 2, 3])
    """

    ndim = 1  # what scikit-learn sees

    def __init__(self, values, offsets, index=None):
        self.values = _check_values(values)
        self.offsets = _check_offsets(offsets, self.values.shape[0])
        n_blocks = len(self.offsets) - 1
        self.index = _as_integers(np.arange(n_blocks) if index is None else index, "index")
        if len(self.index) and not 0 <= self.index.min() <= self.index.max() < n_blocks:
            raise IndexError(
                f"index must name blocks 0 to {n_blocks - 1} of offsets, got {index!r:.60}"
            )

    @classmethod
    def from_list(cls, blocks):
        """Copy a list of arrays into one buffer, in the same order.

        Parameters
        ----------
        blocks : list, object array or Packed of n_samples blocks
            Arrays with equal shapes after the first axis, CSR matrices of equal width, or lists of
            labels. A ``Packed`` is returned as it is.
        """
        if isinstance(blocks, Packed):
            return blocks
        blocks = check.items(blocks, "blocks", "arrays", least=1)
        blocks = [_as_block(b, i) for i, b in enumerate(blocks)]
        _check_alike(blocks)
        return cls._view(*stack(blocks), np.arange(len(blocks)))

    @classmethod
    def _view(cls, values, offsets, index):
        """Make a Packed out of parts that are known to fit; no check, no copy."""
        new = cls.__new__(cls)
        new.values, new.offsets, new.index = values, offsets, index
        return new

    @property
    def shape(self):
        """Shape seen by scikit-learn, ``(n_samples,)``."""
        return (len(self.index),)

    @property
    def lengths(self):
        """Number of rows of each sample, an array of shape (n_samples,)."""
        return self.offsets[self.index + 1] - self.offsets[self.index]

    def __len__(self):
        return len(self.index)

    def __iter__(self):
        return (self._block(j) for j in self.index)

    def __add__(self, other):
        """Join the samples of both, copied, as lists are joined."""
        return self.from_list([*self, *self.from_list(other)])

    def __getitem__(self, key):
        if isinstance(key, tuple):
            # scikit-learn indexes everything that has a shape by (key, Ellipsis).
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError("a Packed has one axis: index it by a key or (key, ...)")
            key = key[0]
        if not isinstance(key, slice):
            key = np.asarray(key)
            key = key if key.size else key.astype(np.int64)
            if key.ndim > 1 or key.dtype.kind not in ("iub" if key.ndim else "iu"):
                raise IndexError(
                    "a Packed is indexed by an integer, a slice, a boolean mask or a 1-D "
                    f"integer array, got an array of shape {key.shape} and dtype {key.dtype}"
                )
        index = self.index[key]
        return self._view(self.values, self.offsets, index) if index.ndim else self._block(index)

    def __array__(self, dtype=None, copy=None):
        """Convert to a 1-D object array with one block per element."""
        if dtype is not None and np.dtype(dtype) != object:
            raise TypeError(
                f"a Packed holds ragged samples and cannot become an array of {dtype}; "
                "use .values for the rows, or dtype=object for one block per element"
            )
        if copy is False:
            raise ValueError("a Packed becomes an array only by a copy of its list of blocks")
        return objects(self)

    def __repr__(self):
        kind = type(self.values).__name__
        return (
            f"Packed(n_samples={len(self)}, n_rows={int(self.lengths.sum())}, "
            f"values={self.values.dtype} {kind} of shape {self.values.shape})"
        )

    def compact(self):
        """Return a `Packed` of the same samples with ``index`` equal to ``0, 1, 2, ...``.

        ``values`` then holds the rows of these samples, in order, and nothing else. ``self`` when
        that holds already; a run of neighboring blocks views a dense buffer; anything else is
        copied.
        """
        index, offsets = self.index, self.offsets
        if len(index) and (index == np.arange(index[0], index[0] + len(index))).all():
            if len(index) == len(offsets) - 1:
                return self
            values = self.values[offsets[index[0]] : offsets[index[-1] + 1]]
        else:
            values = self.values[places_of(offsets[index], self.lengths)]
        return self._view(values, starts_of(self.lengths), np.arange(len(index)))

    def _block(self, j):
        return self.values[self.offsets[j] : self.offsets[j + 1]]


def _check_values(values):
    if sp.issparse(values):
        if values.format != "csr":
            raise TypeError(f"values must be dense or CSR, got {values.format}: use values.tocsr()")
        return check.sparse(values, "values")
    if not isinstance(values, np.ndarray):
        raise TypeError(
            f"values must be a numpy array or a CSR matrix, got {type(values).__name__}: "
            "use Packed.from_list for a list of samples"
        )
    if values.ndim == 0:
        raise ValueError("values must have at least one dimension, got a scalar array")
    return values


def _as_integers(array, name):
    array = np.asarray(array)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, got dtype {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {array.shape}")
    return array.astype(np.int64, copy=False)


def _check_offsets(offsets, n_rows):
    offsets = _as_integers(offsets, "offsets")
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != n_rows:
        ends = f"{offsets[0]} and {offsets[-1]}" if len(offsets) else "no number at all"
        raise ValueError(
            f"offsets must start with 0 and end with the {n_rows} rows of values, got {ends}"
        )
    drops = np.flatnonzero(np.diff(offsets) < 0)
    if len(drops):
        i = drops[0]
        raise ValueError(
            f"offsets must never decrease, got {offsets[i]} then {offsets[i + 1]} at position {i}"
        )
    return offsets


def _as_block(block, i):
    """A sample as an array, or as the sparse matrix that it is."""
    if sp.issparse(block):
        return block
    try:
        block = np.asarray(block)
    except ValueError:
        raise ValueError(f"sample {i} of blocks has rows of several lengths") from None
    if block.dtype.kind in "mM":
        raise ValueError(f"sample {i} of blocks holds dates, got dtype {block.dtype}")
    return block


def _check_alike(blocks):
    """Raise when the blocks cannot share one buffer, naming the first that differs."""
    first = blocks[0]
    for i, block in enumerate(blocks):
        if sp.issparse(block) != sp.issparse(first):
            raise ValueError(f"samples {i} and 0 are not both sparse: convert one of them")
        if block.ndim == 0:
            raise ValueError(f"sample {i} is a scalar: every sample must be an array of rows")
        if block.shape[1:] != first.shape[1:]:
            raise ValueError(
                f"sample {i} has rows of shape {block.shape[1:]}, sample 0 of {first.shape[1:]}"
            )
    # numpy would turn numbers beside text into text without a word.
    seen = {}
    for i, block in enumerate(blocks):
        if block.shape[0] and block.dtype.kind != "O":
            seen.setdefault("text" if block.dtype.kind in "US" else "numbers", i)
    if len(seen) == 2:
        raise ValueError(
            f"sample {seen['text']} holds text but sample {seen['numbers']} numbers: use one kind"
        )


def stack(blocks):
    """All rows of arrays, or of CSR matrices, in one buffer, and where each block starts."""
    # Lengths come from shape: len() is refused by sparse matrices.
    starts = starts_of([block.shape[0] for block in blocks])
    # An empty list is an array of floats for numpy, neither wide nor sparse: it has no say.
    filled = [block for block in blocks if block.shape[0]] or blocks[:1]
    if sp.issparse(filled[0]):
        return sp.vstack(filled, format="csr"), starts
    if any(isinstance(block, np.ma.MaskedArray) for block in filled):
        return np.ma.concatenate(filled), starts
    return np.concatenate(filled), starts


def writable(array, dtype=np.float64):
    """The array in C order, of this type and writable; a copy unless it is all that already.

    Compiled loops want it so even where they only read: each kind of array is one more compilation.
    """
    if type(array) is np.ndarray and array.dtype == dtype and array.flags.carray:
        return array  # np.require says the same, at ten times the price
    return np.require(array, dtype, "CAW")


def starts_of(lengths):
    starts = np.zeros(np.size(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def places_of(starts, lengths):
    """Places of the entries of blocks, block by block: entry r of block i is at starts[i] + r."""
    ends = starts_of(lengths)
    return np.arange(ends[-1]) + np.repeat(starts - ends[:-1], lengths)


def slices_of(lengths):
    return [slice(*ends) for ends in pairwise(starts_of(lengths).tolist())]


def length_of(items, name):
    if items is None:
        raise ValueError(f"{name} must not be None")
    shape = check.samples(items, name)
    return shape[0] if shape is not None else len(items)


def objects(items):
    """A vector of objects, where numpy would join arrays and tuples of one length."""
    return np.fromiter(items, dtype=object, count=len(items))


def take(items, index):
    return items[index] if isinstance(items, Packed) else _safe_indexing(items, index)


def joined(*containers):
    """Some containers of samples as one."""
    if any(map(sp.issparse, containers)):
        return sp.vstack(containers, format="csr")
    if hasattr(containers[0], "iloc"):
        import pandas as pd

        return pd.concat(containers)
    if all(isinstance(items, np.ndarray) and items.dtype != object for items in containers):
        return np.concatenate(containers)
    return list(chain.from_iterable(containers))


def padded(rows, width, fill, of=(), dtype=np.int64):
    out = np.full((len(rows), width, *of), fill, dtype)
    for row, own in zip(out, rows):
        row[: len(own)] = own
    return out
