"""The units that features get in a fit: those that "auto" stands for, or those given."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._core import check
from ..._core.warnings import warn
from ._rows import plain

# Root mean square norm of the features of a node beside which tables and constants are learned as
# well, a factor by which it may be missed, one by which one of them is hardly learned, and one by
# which it may be larger where there are constants alone.
SIZE, NEAR, FAR_OFF, LARGER = 2.0, 2.5, 16.0, 32.0
# The largest column over the spread of a small one, from which columns are brought to one scale:
# if more than this fraction are small, or one whose entries are all small. Columns of rare events
# are small on average in any unit, and learned too well after division by their spread.
UNLIKE, FEW = 30.0, 0.02
DENSE = 0.5  # fraction of entries that are not zero, from which a column has a mean to take off
OFFSET = 3.0  # norm of the rows over that without the means, from which these are taken off
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
        return self.mean is not None or isinstance(self.scale, np.ndarray) or self.scale != 1.0

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


def units_for(model, X, weight, scale, edge_scale, is_natural):
    """`Units` for the parameters of an estimator; ``is_natural`` is the value of "auto"."""
    rows = model._stack(X)
    has_constant = model._has_constant(rows)
    columns = Columns.of(rows, weight, has_constant)
    is_auto = check.is_auto(scale) and is_natural
    scale = _natural(model, columns, has_constant) if is_auto else _given(scale, columns)
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
    peak: np.ndarray  # largest absolute value
    reach: np.ndarray  # the same after the mean is taken off

    @property
    def are_unlike(self):
        """Whether their units differ."""
        small = (self.spread > 0.0) & (self.size.max(initial=0.0) > UNLIKE * self.spread)
        everywhere = small & (self.peak.max(initial=0.0) > UNLIKE * self.reach)
        return small.sum() > FEW * len(small) or everywhere.any()

    @classmethod
    def of(cls, rows, weight, has_constant):
        """Of the `Rows` of weighted samples, less their means where constants make up for them."""
        matrix, n_rows = plain(rows.matrix), np.diff(rows.row_start)
        weight = np.repeat(weight / (weight @ n_rows), n_rows)
        is_sparse = sp.issparse(matrix)
        peak = np.zeros(matrix.shape[1]) if is_sparse else abs(matrix).max(axis=0)
        if is_sparse:
            np.maximum.at(peak, matrix.indices, abs(matrix.data))
        peak = np.where(peak > 0.0, peak, 1.0).astype(np.float64)
        entries = Units(peak).divided(sp.csr_array(matrix)) if is_sparse else matrix / peak
        filled = weight @ (entries != 0)
        size = np.sqrt((weight @ (entries * entries)) / np.where(filled > 0.0, filled, 1.0))
        mean, spread, reach = np.zeros(len(size)), size.copy(), np.ones(len(size))
        if has_constant:
            dense = np.flatnonzero(filled > DENSE)
            own = entries[:, dense].toarray() if is_sparse else entries[:, dense]
            mean[dense] = weight @ own
            own -= mean[dense]
            spread[dense], reach[dense] = np.sqrt(weight @ own**2), abs(own).max(axis=0)
        spread[spread <= CONSTANT] = 0.0
        return cls(size * peak, spread * peak, mean * peak, filled, peak, reach * peak)


def size_of_rows(matrix):
    """Root mean square norm of the rows; NaN or inf where entries are not finite, or too large."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.ravel(matrix.data if sp.issparse(matrix) else matrix)
        squares = float(np.einsum("i,i->", values, values, dtype=np.float64))  # no copy of all
    return np.sqrt(squares / max(matrix.shape[0], 1))


def _natural(model, columns, has_constant):
    given = columns.filled * columns.size**2
    squares = np.where(columns.mean != 0.0, columns.spread**2, given)
    if columns.are_unlike:
        sizes = columns.spread, columns.size
        scale = np.select([size > 0.0 for size in sizes], sizes, 1.0)
    else:
        is_far = given.sum() > OFFSET**2 * squares.sum() > 0.0
        scale, squares = (np.ones(len(given)), squares) if is_far else (1.0, given)
    norm = np.sqrt(np.sum(squares / scale**2))  # root mean square of the rows in these units
    most = NEAR if model.n_tables_ else LARGER
    return scale * _power_of_two(_size(model, norm, has_constant), most)


def _given(scale, columns):
    if scale is None or check.is_auto(scale):
        return 1.0
    if np.ndim(scale) == 0:
        return check.positive(scale, "feature_scale")
    scale = np.array(check.shaped(scale, "feature_scale", len(columns.mean)))  # it is kept
    check.positive(scale.min(), "feature_scale")
    return scale


def _power_of_two(size, most=NEAR):
    """The power of two that brings a size near to `SIZE`, one where it is near."""
    ratio = size / SIZE
    return 1.0 if 1.0 / NEAR <= ratio <= most else float(2.0 ** np.round(np.log2(ratio)))


def warn_of_scale(model, X):
    """Warn where features as they come are far from `SIZE`, or below it beside constants alone."""
    rows = model._stack(X)
    sizes = size_of_rows(rows.matrix), model._size_of_edge_features(X)
    for place, size in zip(("node", "edge"), sizes):
        is_small = size < SIZE and model._has_constant(rows)
        if not SIZE / FAR_OFF <= _size(model, size, is_small) <= SIZE * FAR_OFF:
            unlearned = "tables and constants" if size > SIZE else "features"
            warn(
                f"features in X have a norm of {size:.2g} at each {place}, compared with one "
                f"of tables and constants: {unlearned} will hardly be learned; scale features to "
                f"about one, images of 8 bits by X / 255, or leave C='auto', which does so"
            )


def _size(model, size, has_constant=False):
    """`SIZE` where sizes do not matter, or are zero or infinite."""
    return size if (model.n_tables_ or has_constant) and 0.0 < size < np.inf else SIZE
