"""Paths that hold for all values between their ends."""

from abc import abstractmethod

import numpy as np

from ..._core.validation import check_array_of_numbers, check_strength
from ...model_selection import RegularizationPath
from ._path_walk import TOUCH


class EnclosedPath(RegularizationPath):
    """Solutions, and what they prove about all values between them."""

    def __init__(
        self, estimator, values, solved, *, eps, terminated_by, n_oracle_calls, certified=True
    ):
        coefs = [estimator._as_given(point.w)["coef_"] for point in solved]
        super().__init__(estimator, values, coefs, [point.gap for point in solved])
        vars(estimator).update(estimator._as_given(solved[-1].w))
        self.eps, self.certified = eps, certified
        self.terminated_by_, self.n_oracle_calls_ = terminated_by, n_oracle_calls

    @property
    def start_(self):
        """Where the guarantee begins."""
        return getattr(self, f"{self.param_name}_start_")

    @property
    def end_(self):
        """Where the guarantee ends."""
        return getattr(self, f"{self.param_name}_end_")

    def coef_at(self, value):
        """Weights for one or many values of the parameter.

        Parameters
        ----------
        value : float or array-like of shape (n_values,)
            Positive, from where the guarantee begins to ``end_``.

        Returns
        -------
        coef : ndarray of shape (n_weights,) or (n_values, n_weights)
            Weights whose objective is within ``eps`` of the optimum.
        """
        values = self._on_path(value)
        coefs = np.empty((len(values), self.coefs_.shape[1]))
        self._mix(values, coefs)
        return coefs if np.ndim(value) else coefs[0]

    def gap_at(self, value):
        """Bound on how far the weights for some values of the parameter are from the optimum.

        Parameters
        ----------
        value : float or array-like of shape (n_values,)
            Positive, from where the guarantee begins to ``end_``.

        Returns
        -------
        gap : float or ndarray of shape (n_values,)
            At most ``eps``; an estimate in heuristic mode.
        """
        gaps = self._gaps(self._on_path(value))
        return gaps if np.ndim(value) else float(gaps[0])

    @abstractmethod
    def _mix(self, values, out):
        """Write the weights for values on the path into the rows of ``out``."""

    @abstractmethod
    def _gaps(self, values):
        """Gaps at values on the path."""

    def _on_path(self, value):
        """Values as a vector; refuses those that the path says nothing about."""
        name, start, end = self.param_name, self.start_, self.end_
        values = np.atleast_1d(check_array_of_numbers(value, name, finite=None))
        if values.ndim != 1:
            raise ValueError(
                f"{name} must be a number or one-dimensional, got shape {values.shape}"
            )
        for number in values:
            self._check_value(number, name)
            if number * (1 + TOUCH) < start or end * (1 + TOUCH) < number:
                raise ValueError(
                    f"the path holds from {name} = {start:.6g} to {end:.6g} "
                    f"({self.terminated_by_}), got {name} = {number:.6g}: compute it with a "
                    + (f"smaller {name}_min" if number < start else f"larger {name}_max")
                )
        return values

    _check_value = staticmethod(check_strength)  # refuses what no path has
