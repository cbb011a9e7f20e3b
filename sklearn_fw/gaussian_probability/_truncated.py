"""The normal distribution of which only what lies in a region was seen."""

from dataclasses import KW_ONLY

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.stats import Covariance, multivariate_normal, truncnorm
from sklearn.base import DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.estimator import Estimator
from .._core.warnings import warn
from ._polyhedra import check_bounds
from ._probability import log_gaussian_probability

SWEEPS = 100  # of Gibbs sampling, in chains of their own
FAR = 100.0  # standard deviations of the rows to a mean that ran away; maxima are within some 30


class TruncatedGaussian(DensityMixin, Estimator):
    """Maximum likelihood fit of a normal distribution to truncated data.

    Maximizes ``mean_i log N(x_i; m, K) - log P(lower < A x < upper)`` over m and K, the parameters
    before the truncation; the second term and its gradient are those of expectation propagation.

    Parameters
    ----------
    lower, upper : float or array-like of shape (p,), default=-inf and inf
        Ends.
    constraints : array-like of shape (p, n_features), default=None
        A; None stands for the identity.
    reg_covar : float, default=1e-6
        Smallest variance in any direction, as a fraction of the mean variance of the columns.
    max_iter : int, default=200
        Largest number of steps of the optimizer.
    tol : float, default=1e-6
        Gradient, in units of the rows, at which it stops.

    Attributes
    ----------
    mean_, covariance_ : ndarray of shape (n_features,) and (n_features, n_features)
        Moments before the truncation.
    log_prob_region_ : float
        Log probability of the region under these.
    truncated_mean_, truncated_covariance_ : ndarray
        Moments inside the region, of the same shapes.
    n_iter_ : int
        Steps of the optimizer.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.

    Notes
    -----
    With few rows, or rows that fall off from a bound like an exponential, the likelihood has no
    maximum: the fit then warns.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.gaussian_probability import TruncatedGaussian
    >>> X = np.random.default_rng(0).normal(size=(4000, 1))
    >>> model = TruncatedGaussian(lower=0.0).fit(X[X[:, 0] > 0.0])
    >>> bool(abs(model.mean_[0]) < 0.3)
    True
    """

    lower: object = -np.inf
    upper: object = np.inf
    constraints: object = None
    _: KW_ONLY
    reg_covar: check.strength = 1e-6
    max_iter: int = 200
    tol: check.positive = 1e-6

    def fit(self, X, y=None):
        """Maximize the likelihood.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features), and None
            Rows, all inside the region; y is ignored.
        """
        X = check.rows(self, X, ensure_min_samples=2)
        n = X.shape[1]
        A = np.eye(n) if self.constraints is None else self.constraints
        self._A = check.shaped(A, "constraints", "p", n)
        self._lower, self._upper = check_bounds(self.lower, self.upper, len(self._A))
        if not np.all(self._is_inside(X)):
            raise ValueError("X has rows outside of lower and upper: drop them or widen the bounds")
        # Columns in units of their own, about their means.
        center, scale = X.mean(axis=0), X.std(axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        rows = (X - center) / scale
        region = self._lower - self._A @ center, self._upper - self._A @ center, self._A * scale
        second = rows.T @ rows / len(rows)
        floor = float(self.reg_covar) * max(float(np.trace(second)) / n, 1e-12)
        mean, cov, self.n_iter_ = self._maximize(second, region, floor)
        self.mean_ = center + scale * mean
        self.covariance_ = cov * scale * scale[:, None]
        region = self._lower, self._upper, self._A
        result = _probability(self.mean_, self.covariance_, region)
        self.log_prob_region_ = result.log_prob
        self.truncated_mean_, self.truncated_covariance_ = result.mean, result.covariance
        return self

    def _maximize(self, second, region, floor):
        n = len(second)
        below = np.tril_indices(n)
        cov = second + floor * np.eye(n)
        if not np.any(np.isfinite(region[0]) | np.isfinite(region[1])):
            return np.zeros(n), cov, 0

        def parameters(point):
            L = np.zeros((n, n))
            L[below] = point[n:]
            return point[:n], L @ L.T + floor * np.eye(n), L

        def objective(point):
            mean, K, L = parameters(point)
            factor = cho_factor(K, lower=True)
            # The sampled error of the number is not used: the fewest draws do.
            result = _probability(mean, K, region, method="ep", n_draws=16)
            moments = second + np.outer(mean, mean)
            solved = cho_solve(factor, moments)
            value = np.sum(np.log(np.diag(factor[0]))) + 0.5 * np.trace(solved)
            inverse = cho_solve(factor, np.eye(n))
            by_mean = inverse @ mean + result.gradient_mean
            by_cov = 0.5 * (inverse - solved @ inverse) + result.gradient_covariance
            return value + result.log_prob, np.r_[by_mean, (2.0 * by_cov @ L)[below]]

        start = np.r_[np.zeros(n), np.linalg.cholesky(cov)[below]]
        options = {"maxiter": self.max_iter, "gtol": float(self.tol), "ftol": 1e-13}
        answer = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
        # On the flat ridge towards an exponential distribution the optimizer reports success.
        far = float(np.abs(answer.x[:n]).max())
        if not answer.success or far > FAR:
            warn(
                f"the likelihood has no maximum in reach ({answer.message}): mean_ is {far:.3g} "
                f"standard deviations from the rows. Give more rows, raise max_iter or reg_covar, "
                f"or use another distribution",
                ConvergenceWarning,
            )
        mean, cov, _ = parameters(answer.x)
        return mean, cov, int(answer.nit)

    def _is_inside(self, X):
        Z = X @ self._A.T
        return np.all((self._lower <= Z) & (self._upper >= Z), axis=1)

    def score_samples(self, X):
        """Log densities of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            -inf outside of the region.
        """
        X = check.rows(self, X, reset=False)
        cov = Covariance.from_cholesky(np.linalg.cholesky(self.covariance_))
        log_density = np.atleast_1d(multivariate_normal.logpdf(X, self.mean_, cov))
        return np.where(self._is_inside(X), log_density - self.log_prob_region_, -np.inf)

    def score(self, X, y=None):
        """Mean log density of rows.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features), and None
            Rows; y is ignored.
        """
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples=1, *, start, random_state=None):
        """Draw rows by Gibbs sampling, each from a chain of its own.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        start : array-like of shape (n_features,)
            A point inside the region, for instance a training row.
        random_state : int, RandomState instance or None, default=None
            Seed.
        """
        check_is_fitted(self)
        rng = check.random_state(random_state)
        n_samples = check.integer(n_samples, "n_samples", 1)
        start = check.vector(start, "start", len(self.mean_))[None]
        if not np.all(self._is_inside(start)):
            raise ValueError("start must be inside the region: give a training row")
        X = np.repeat(start, n_samples, axis=0)
        precision = np.linalg.inv(self.covariance_)
        for _ in range(SWEEPS):
            for j in range(X.shape[1]):
                self._redraw(X, j, precision, rng)
        return X

    def _redraw(self, X, j, precision, rng):
        """Draw column j given the others."""
        rest = (X - self.mean_) @ precision[j] - precision[j, j] * (X[:, j] - self.mean_[j])
        center, sd = self.mean_[j] - rest / precision[j, j], 1.0 / np.sqrt(precision[j, j])
        slopes = self._A[:, j]
        others = X @ self._A.T - X[:, [j]] * slopes
        used = slopes != 0.0
        first = (self._lower[used] - others[:, used]) / slopes[used]
        second = (self._upper[used] - others[:, used]) / slopes[used]
        low = np.minimum(first, second).max(axis=1, initial=-np.inf)
        high = np.maximum(first, second).min(axis=1, initial=np.inf)
        draw = truncnorm.ppf(rng.uniform(size=len(X)), (low - center) / sd, (high - center) / sd)
        X[:, j] = np.clip(np.nan_to_num(center + sd * draw), low, high)


def _probability(mean, cov, region, **options):
    lower, upper, A = region
    return log_gaussian_probability(lower, upper, mean, cov, constraints=A, tol=1e-8, **options)
