"""The units that features get in a fit: those that "auto" stands for, or those given."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._core import check
from ..._core.warnings import warn
from ._rows import plain

# Root mean square norm of the features of a node beside which tables and constants are learned as
# well, a factor by which it may be missed, and one by which one of them is hardly learned.
SIZE, NEAR, FAR_OFF = 2.0, 2.5, 16.0
# The largest column over the smallest spread of one, from which columns are brought to one scale.
UNLIKE = 30.0
DENSE = 0.5  # fraction of entries that are not zero, from which a column has a mean to take off
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


def units_for(model, X, weight, scale, edge_scale, is_natural):
    """`Units` for the parameters of an estimator; ``is_natural`` is the value of "auto"."""
    rows = model._stack(X)
    columns = Columns.of(rows, weight)
    if check.is_auto(scale) and is_natural:
        scale = _natural(model, rows.matrix, columns)
    else:
        scale = _given(scale, columns)
    if check.is_auto(edge_scale) and is_natural:
        edge_scale = _power_of_two(_size(model, model._size_of_edge_features(X)))
    else:
        edge_scale = 1.0 if edge_scale is None or check.is_auto(edge_scale) else edge_scale
    mean = columns.mean if np.ndim(scale) == 1 and np.any(columns.mean) else None
    return Units(scale, mean, check.positive(edge_scale, "edge_feature_scale"))


class Columns(NamedTuple):
    """Sizes of columns; entries of zero count where they are fewer than half."""

    size: np.ndarray  # root mean square of the entries that are not zero
    spread: np.ndarray  # the same after the mean is taken off; zero of constant columns
    mean: np.ndarray  # zero where it is not taken off
    filled: np.ndarray  # fraction of the rows in which they are not zero

    def norm_of(self, scale):
        """Root mean square norm of the rows in other units."""
        square = np.where(self.mean != 0.0, self.spread**2, self.filled * self.size**2)
        return np.sqrt(np.sum(square / scale**2))

    @classmethod
    def of(cls, rows, weight):
        """Of the `Rows` of weighted samples."""
        matrix, n_rows = plain(rows.matrix), np.diff(rows.row_start)
        weight = np.repeat(weight, n_rows)
        weight = weight / weight.sum()
        peak = abs(matrix).max(axis=0)
        peak = (peak.toarray() if sp.issparse(peak) else np.asarray(peak)).ravel()
        peak = np.where(peak > 0.0, peak, 1.0).astype(np.float64)
        one = 1.0 / peak
        is_sparse = sp.issparse(matrix)
        entries = sp.csr_array(matrix @ sp.diags_array(one)) if is_sparse else matrix * one
        filled = weight @ (entries != 0)
        size = np.sqrt((weight @ (entries * entries)) / np.where(filled > 0.0, filled, 1.0))
        mean, spread = np.zeros(len(size)), size.copy()
        # Means are taken off where each node has the same constant.
        if [len(marker) for marker in rows.constants] == [len(weight)]:
            dense = np.flatnonzero(filled > DENSE)
            own = entries[:, dense].toarray() if is_sparse else entries[:, dense]
            mean[dense] = weight @ own
            spread[dense] = np.sqrt(weight @ (own - mean[dense]) ** 2)
        spread[spread <= CONSTANT] = 0.0
        return cls(size * peak, spread * peak, mean * peak, filled)


def size_of_rows(matrix):
    """Root mean square norm of the rows; NaN or inf where entries are not finite, or too large."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.ravel(matrix.data if sp.issparse(matrix) else matrix)
        squares = float(np.einsum("i,i->", values, values, dtype=np.float64))  # no copy of all
    return np.sqrt(squares / max(matrix.shape[0], 1))


def _natural(model, matrix, columns):
    spread = columns.spread[columns.spread > 0.0]
    if not len(spread) or columns.size.max() <= UNLIKE * spread.min():
        return _power_of_two(_size(model, size_of_rows(matrix)))
    constant = np.where(columns.size > 0.0, columns.size, 1.0)
    scale = np.where(columns.spread > 0.0, columns.spread, constant)
    if model.n_tables_ == 0:
        return scale
    return scale * _power_of_two(_size(model, columns.norm_of(scale)))


def _given(scale, columns):
    if scale is None or check.is_auto(scale):
        return 1.0
    if np.ndim(scale) == 0:
        return check.positive(scale, "feature_scale")
    scale = check.shaped(scale, "feature_scale", len(columns.mean))
    if np.any(scale <= 0.0):
        raise ValueError(f"feature_scale must be positive, got {scale.min()}")
    return scale


def _power_of_two(size):
    """The power of two that brings a size near to `SIZE`, one where it is near."""
    ratio = size / SIZE
    return 1.0 if 1.0 / NEAR <= ratio <= NEAR else float(2.0 ** np.round(np.log2(ratio)))


def warn_of_scale(model, X):
    """Warn where features as they come are far from `SIZE`."""
    sizes = size_of_rows(model._stack(X).matrix), model._size_of_edge_features(X)
    for place, size in zip(("node", "edge"), sizes):
        if not SIZE / FAR_OFF <= _size(model, size) <= SIZE * FAR_OFF:
            unlearned = "tables and constants" if size > SIZE else "features"
            warn(
                f"features in X have a norm of {size:.2g} at each {place}, compared with one "
                f"of tables and constants: {unlearned} will hardly be learned; scale features to "
                f"about one, images of 8 bits by X / 255, or leave C='auto', which does so"
            )


def _size(model, size):
    """`SIZE` where sizes do not matter, or are zero or infinite."""
    return size if model.n_tables_ and 0.0 < size < np.inf else SIZE
