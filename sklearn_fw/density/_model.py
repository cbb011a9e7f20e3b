"""The Student-t model in feature space, once the kernel has done its work.

With total weight W, ``kappa = beta + W`` and s = sigma0^2, the density of a new feature vector is
proportional to ``(V / s) ** -((1 + W + dof) / 2)``, where

    ``V = s + residual + extra + (center - share)^2 / information``

in terms of the two numbers that a posterior gives for a point. The exact model has ``center = 1``,
``information = beta/s + 1' B^-1 1`` and ``extra = 0``: V is the variance, noise included, of
Gaussian process regression whose mean is an unknown constant with prior variance s / beta. The
published formula has ``center = W/kappa``, ``information = 1' B^-1 1`` and ``extra = s
beta/kappa^2``. Both have limits at ``beta = 0`` and ``beta = inf``; every term stays finite.
"""

import numpy as np
from sklearn import get_config
from sklearn.utils import gen_batches

from .._core import check

BATCH_COPIES = 3  # arrays of the size of a batch of kernel values that scoring holds at once
TIE = 1e-9  # copies of a row differ by rounding only and stand on the same side


def equal_rows(X):
    """Return (position of the first of all rows that are equal, place of each row among these)."""
    places = {}
    X = np.ascontiguousarray(X) + 0.0  # no negative zeros
    place = np.array([places.setdefault(row.tobytes(), len(places)) for row in X])
    return np.unique(place, return_index=True)[1], place


def batches(n_rows, n_columns):
    """Slices of rows whose kernel values stay within ``working_memory``."""
    limit = get_config()["working_memory"] * 2**20
    return gen_batches(n_rows, max(1, int(limit // (8 * n_columns * BATCH_COPIES))))


def log_volume(jacobian, kernel, X):
    """``1/2 log det G`` of each row, as the parameter ``jacobian`` wants it."""
    if jacobian is False:
        return 0.0 * X[:, 0]
    if not callable(jacobian):
        return kernel.log_volume(X)
    return check.vector(jacobian(X), "what jacobian returns", len(X))


class StudentTModel:
    """Variance and log score of points under a posterior.

    ``estimator`` has the hyper-parameters. ``place`` has, for each row given, its position among
    the distinct ones, or -1.
    """

    def __init__(self, estimator, posterior, weight, place=None):
        self.posterior, self.weight, self.place = posterior, weight, place
        self.total_weight = float(posterior.backend.xp.sum(weight))
        self.s, self.formula = float(estimator.sigma0) ** 2, estimator.formula
        self.dof, self.beta = float(estimator.dof), float(estimator.beta)
        self.exponent = 0.5 * (1.0 + self.total_weight + self.dof)

    def constants(self, weight=None, information=None):
        """Return (extra, center, information) of the formula."""
        W = self.total_weight if weight is None else weight
        total = self.posterior.information if information is None else information
        if self.formula == "exact":
            return 0.0, 1.0, self.beta / self.s + total
        if np.isinf(self.beta):
            return 0.0, 0.0, total
        kappa = self.beta + W
        return self.s * self.beta / kappa**2, W / kappa, total

    def variance(self, residual, share, weight=None, information=None):
        extra, center, information = self.constants(weight, information)
        return self.s + residual + extra + (center - share) ** 2 / information

    def leave_one_out(self):
        """Log score of every row in the model without it, in closed form."""
        residual, gap, information = self.posterior.held_out()
        W = self.total_weight - self.weight
        return self.log_score(self.variance(residual, 1.0 - gap, W, information), W)

    def reference(self):
        """The same with the exponent and the constants of the whole model, as new rows have them.

        Far from all others a left-out row thus scores what a new row scores far from all data.
        """
        residual, gap, _ = self.posterior.held_out()
        return self.log_score(self.variance(residual, 1.0 - gap))

    def log_score(self, variance, weight=None):
        """``-(1 + W + dof) / 2 * log(V / s)``."""
        exponent = self.exponent if weight is None else 0.5 * (1.0 + weight + self.dof)
        return -exponent * self.posterior.backend.xp.log(variance / self.s)


class LogDensity:
    """Log density of validated rows, without normalizer and box; calling it gives its values.

    ``X_fit`` is None for kernel values that were computed elsewhere, of which ``used`` are the
    columns that count (None: all); ``jacobian`` is the volume element, "auto", False or a function.
    """

    def __init__(self, model, kernel, X_fit, jacobian, used):
        self.model, self.kernel, self.X_fit = model, kernel, X_fit
        self.jacobian, self.used = jacobian, used

    def __call__(self, X):
        return self.of_variance(X, self.variance(X))

    def of_variance(self, X, variance):
        return self.model.log_score(variance) + self.volume(X)

    def variance(self, X, diag=None):
        posterior, parts = self.model.posterior, []
        for rows in batches(X.shape[0], posterior.half_ones.shape[0]):
            if self.X_fit is None:
                K = X[rows, :].copy() if self.used is None else X[rows, self.used]
                found = posterior.project(K, diag[rows])
            else:
                found = posterior.project_rows(X[rows, :], self.kernel, self.X_fit)
            parts.append(self.model.variance(*found))
        return posterior.backend.xp.concat(parts)

    def volume(self, X):
        return 0.0 if self.X_fit is None else log_volume(self.jacobian, self.kernel, X)

    def left_out(self):
        """Value at each training row in the model without it."""
        return self.model.leave_one_out() + self.volume(self.X_fit)

    def reference(self):
        """The same on the scale of new rows, in the memory of the host."""
        scores = self.model.reference() + self.volume(self.X_fit)
        return self.model.posterior.backend.to_host(scores)

    def floor(self):
        """Limit far from all data: -inf for kernels that grow, NaN where unknown."""
        far = self.kernel.far_value
        if far is None:
            return -np.inf
        if callable(self.jacobian) or np.isnan(far):
            return np.nan
        model = self.model
        volume = model.posterior.backend.to_host(self.volume(self.X_fit[:1, :]))
        return float(volume[0] - model.exponent * np.log(model.variance(far, 0.0) / model.s))

    def gradient(self, X):
        return np.concatenate([self._gradient(X[r]) for r in batches(len(X), len(self.X_fit))])

    def hyvarinen(self, X):
        """``|grad log q|^2 / 2 + laplacian log q`` per row, in O(n^2) for each row and feature."""
        return np.concatenate([self._hyvarinen(X[r]) for r in batches(len(X), len(self.X_fit))])

    def _gradient(self, X):
        variance, gradient, *_ = self._variance_gradient(X)
        return self._volume_derivatives(X)[0] - self.model.exponent * gradient / variance[:, None]

    def _hyvarinen(self, X):
        kernel, posterior = self.kernel, self.model.posterior
        variance, gradient, coefficients, slopes = self._variance_gradient(X)
        *_, information = self.model.constants()
        _, laplacian = kernel.diag_derivatives(X)
        laplacian -= 2.0 * np.einsum("ij,ij->i", coefficients, kernel.laplacian(X, self.X_fit))
        for j in range(X.shape[1]):
            column = kernel.column(X, self.X_fit, slopes, j)
            laplacian += 2.0 * (column @ posterior.sums) ** 2 / information
            half = posterior.backend.solve_lower(posterior.chol, column.T.copy())
            laplacian -= 2.0 * np.einsum("ij,ij->j", half, half)
        by_volume, log_laplacian = self._volume_derivatives(X)
        log_gradient = by_volume - self.model.exponent * gradient / variance[:, None]
        squares = np.einsum("ij,ij->i", gradient, gradient)
        log_laplacian -= self.model.exponent * (laplacian / variance - squares / variance**2)
        return 0.5 * np.einsum("ij,ij->i", log_gradient, log_gradient) + log_laplacian

    def _volume_derivatives(self, X):
        if not check.is_auto(self.jacobian):
            return 0.0, 0.0
        return self.kernel.volume_derivatives(X)

    def _variance_gradient(self, X):
        """Variance of rows and its gradient ``grad k(x, x) - 2 sum_m c_m grad k(x, x_m)``.

        The coefficients are ``c = B^-1 k_x + (center - share) / information * B^-1 1``.
        """
        kernel, posterior = self.kernel, self.model.posterior
        K_cross = kernel(X, self.X_fit)
        coefficients = posterior.coefficients(K_cross)
        _, center, information = self.model.constants()
        share = K_cross @ posterior.sums
        coefficients = coefficients + ((center - share) / information)[:, None] * posterior.sums
        variance = self.model.variance(*posterior.project(K_cross, kernel.diag(X)))
        slopes, _ = kernel.derivatives(X, self.X_fit)
        found = kernel.contract(X, self.X_fit, slopes, coefficients)
        return variance, kernel.diag_derivatives(X)[0] - 2.0 * found, coefficients, slopes


def p_values(scores, reference, weight):
    """``(1 + weight of reference scores not above) / (1 + total weight)`` of each score."""
    order = np.argsort(reference)
    below = np.concatenate([[0.0], np.cumsum(weight[order])])
    at_most = scores + TIE * (1.0 + np.abs(scores))
    place = np.searchsorted(reference[order], at_most, side="right")
    return (1.0 + below[place]) / (1.0 + below[-1])


def score_threshold(scores, weight, share):
    """A value with at most `share` of the total weight strictly below it, and no less if possible.

    It lies between two scores, so that rounding cannot move a training row across it, and is the
    same for a row of weight k as for k copies of the row.
    """
    order = np.argsort(scores)
    scores, below = scores[order], np.cumsum(weight[order])
    upper = int(np.searchsorted(below, below[-1] * (share + 1e-12), side="right"))
    upper = min(upper, len(scores) - 1)
    margin = TIE * (1.0 + abs(scores[upper]))
    lower = np.flatnonzero(scores[:upper] < scores[upper] - margin)
    if len(lower) == 0:
        return float(scores[upper] - margin)
    return float(0.5 * (scores[lower[-1]] + scores[upper]))
