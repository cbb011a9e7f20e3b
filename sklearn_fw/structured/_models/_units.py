"""Units of features in the training: what they are divided by, and what is taken off before."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

DENSE = 0.5  # share of entries that are not zero, from which a column has a mean to take off
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


PLAIN = Units()


class Columns(NamedTuple):
    """Sizes of columns; entries of zero count where they are fewer than half."""

    size: np.ndarray  # root mean square of the entries that are not zero
    spread: np.ndarray  # the same after the mean is taken off; zero of constant columns
    mean: np.ndarray  # zero where it is not taken off

    filled: np.ndarray  # share of the rows in which they are not zero

    def norm_of(self, scale):
        """Root mean square norm of the rows in other units."""
        square = np.where(self.mean != 0.0, self.spread**2, self.filled * self.size**2)
        return np.sqrt(np.sum(square / scale**2))

    @classmethod
    def of(cls, matrix, weight, centers):
        """Of rows with weights that sum to one; ``centers`` says whether means may be taken off."""
        peak = abs(matrix).max(axis=0)
        peak = (peak.toarray() if sp.issparse(peak) else np.asarray(peak)).ravel()
        peak = np.where(peak > 0.0, peak, 1.0).astype(np.float64)
        one = np.where(peak > 0.0, 1.0 / peak, 0.0)
        share = sp.csr_array(matrix @ sp.diags_array(one)) if sp.issparse(matrix) else matrix * one
        filled = weight @ (share != 0)
        size = np.sqrt((weight @ (share * share)) / np.where(filled > 0.0, filled, 1.0))
        mean, spread = np.zeros(len(size)), size.copy()
        dense = np.flatnonzero(filled > DENSE) if centers else np.empty(0, np.int64)
        own = share[:, dense]
        own = own.toarray() if sp.issparse(own) else own
        mean[dense] = weight @ own
        spread[dense] = np.sqrt(weight @ (own - mean[dense]) ** 2)
        spread[spread <= CONSTANT] = 0.0
        return cls(size * peak, spread * peak, mean * peak, filled)
