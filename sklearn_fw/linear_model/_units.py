"""Columns and targets in units in which all are of one size."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

# Columns that vary by less than this share of their size are constant but for rounding.
CONSTANT = 1e-12


class Units(NamedTuple):
    """What is subtracted from columns and targets, and what columns are divided by."""

    center: np.ndarray | None  # (n_features,); None subtracts nothing
    scale: np.ndarray | None  # (n_features,); None divides by nothing
    y_center: np.ndarray  # (n_targets,)

    @classmethod
    def given(cls, n_targets):
        """The units of the data."""
        return cls(None, None, np.zeros(n_targets))

    @classmethod
    def of(cls, X, weight, y_center, fit_intercept):
        """Means and standard deviations; nothing is subtracted where there is no intercept.

        Of sparse columns the root mean squares, which keeps zeros.
        """
        share = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
        if sp.issparse(X):
            center, squares = None, X.multiply(X).T @ share
            least = 0.0
        else:
            center = share @ X if fit_intercept else np.zeros(X.shape[1])
            squares = share @ np.square(X - center)
            least = CONSTANT * np.abs(center)
        scale = np.sqrt(np.asarray(squares, np.float64).ravel())
        return cls(center, np.where(scale > least, scale, 1.0), y_center)

    def rows(self, X):
        """X in these units: a copy, but for X itself where the units are its own."""
        if self.scale is None:
            return X
        if sp.issparse(X):
            scaled = X.copy()
            scaled.data /= self.scale[X.indices]
            return scaled
        return np.ascontiguousarray((X - self.center) / self.scale, dtype=X.dtype)

    def back(self, coef, intercept, k):
        """Coefficients and intercept of target k for X as it was given."""
        if self.scale is not None:
            coef = coef / self.scale
        if self.center is not None:
            intercept = intercept - coef @ self.center
        return coef, intercept + self.y_center[k]
