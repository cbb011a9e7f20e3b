"""Gaussian processes of which intervals are observed: evidence, hyper-parameters, latent values."""

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import pdist
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.estimator import Estimator
from .._core.warnings import warn
from ._engine import propagate


def latent_posterior(K, observed, tol, max_iter, start):
    """Sites of latent values f ~ N(0, K) given lower < f + noise e < upper; None without mass.

    For signs the fixed point is that of probit sites on f; where the ends are equal the value is
    known.
    """
    G, h = K + observed.noise**2 * np.eye(len(K)), np.zeros(len(K))
    options = {"tol": float(tol), "max_iter": max_iter, "start": start}
    return propagate(G, h, observed.lower, observed.upper, **options)


def sign_intervals(signs, noise):
    return Intervals(np.where(signs > 0.0, 0.0, -np.inf), np.where(signs > 0.0, np.inf, 0.0), noise)


def standardized(mean, var, noise):
    return mean / np.maximum(np.sqrt(noise**2 + var), 1e-300)


def positive_probability(mean, var, noise):
    """Of a negative and of a positive sign, along a last axis."""
    positive = ndtr(standardized(mean, var, noise))
    return np.stack([1.0 - positive, positive], axis=-1)


def warn_unless_settled(posteriors, tol, max_iter):
    """Warn where marginals still moved in the last sweep."""
    if not all(posterior.converged for posterior in posteriors):
        warn(
            f"marginals still moved by more than tol={tol:g} standard deviations after "
            f"max_iter={max_iter} sweeps: raise max_iter or noise",
            ConvergenceWarning,
        )


ROWS = 500  # of which the median distance is taken
SHORTEST = 1e-40  # median distance that a kernel can start from
# The evidence is stationary in the sites: its error is of the order of the square of this
# change of a marginal, as the relative decrease at which the search for hyper-parameters ends.
TOL, DECREASE = 3e-3, 1e-5
UNLIKE = 30.0  # largest range and spread of a column over those of one in another unit
SPREAD = 0.7  # of the logarithms of the length scales of columns, a priori
NOISE_SPREAD = 1.0  # of that of a learned noise about its start
NOISES = (1e-3, 1e2)  # standard deviations that may be learned


@dataclass
class Intervals:
    """Observed intervals of latent values with noise, which may be learned.

    What has more parameters overrides ``theta``, ``bounds``, `with_theta` and `gradient`.
    """

    lower: np.ndarray
    upper: np.ndarray
    noise: float
    learns_noise: bool = False
    constant: float = 0.0  # added to the log evidence, of the unit of known values

    @property
    def theta(self):
        return np.log([self.noise]) if self.learns_noise else np.empty(0)

    @property
    def bounds(self):
        return np.log([NOISES]) if self.learns_noise else np.empty((0, 2))

    def with_theta(self, theta):
        return replace(self, noise=float(np.exp(theta[0]))) if self.learns_noise else self

    def of(self, rows):
        return replace(self, lower=self.lower[rows], upper=self.upper[rows])

    def gradient(self, posterior):
        if not self.learns_noise:
            return np.empty(0)
        weights, spread = posterior.weights, np.trace(posterior.precision)
        return np.array([self.noise**2 * (weights @ weights - spread)])


class IntervalProcess(Estimator):
    """Base class of Gaussian process models by expectation propagation, for `_fit_processes`."""

    kernel: check.instance_of(Kernel | None) = None
    _: KW_ONLY
    noise: check.strength = 1.0
    optimizer: check.optional(check.options("fmin_l_bfgs_b")) = "fmin_l_bfgs_b"
    n_restarts_optimizer: check.at_least(0) = 0
    tol: check.positive = 1e-4
    max_iter: int = 100
    random_state: object = None

    _by_column = False  # whether like columns have length scales of their own too, by default

    def _start_kernel(self, X):
        return _default_kernel(X, self._by_column) if self.kernel is None else clone(self.kernel)

    def _fit_processes(self, X, start, observations):
        """One process, with hyper-parameters of its own, for each of a list of `Intervals`."""
        self.X_train_ = X
        rng = check.random_state(self.random_state)
        fits, nearby = [], None
        for observed in observations:
            fits.append(self._fit_one(clone(start), observed, rng, nearby))
            if self.kernel is None:  # classes of one table want similar kernels
                nearby = np.r_[fits[0][0].theta, fits[0][1].theta]
        self._kernels, self._observed, self._posteriors = map(list, zip(*fits, strict=True))
        self.kernel_ = self._kernels[0] if len(fits) == 1 else self._kernels
        values = [p.log_z + o.constant for p, o in zip(self._posteriors, self._observed)]
        self.log_marginal_likelihood_value_ = float(np.mean(values))
        self.n_iter_ = max(posterior.n_iter for posterior in self._posteriors)
        warn_unless_settled(self._posteriors, self.tol, self.max_iter)

    def _posterior(self, K, observed, start=None, tol=0.0):
        tol = max(tol, float(self.tol))
        posterior = latent_posterior(K, observed, tol, self.max_iter, start)
        if posterior is None:
            raise ValueError("kernel leaves no mass to the targets: raise noise")
        return posterior

    def _fit_one(self, kernel, observed, rng, nearby=None):
        """Kernel, intervals and posterior of one process, from parameters ``nearby`` if given."""
        state, n = {"sites": None}, kernel.n_dims
        # Of the default kernel only: a kernel of the user is taken as it is.
        by_column = self.kernel is None and n > 2
        rows = rows_without_copies(self.X_train_, observed)
        X, searched = self.X_train_[rows], observed.of(rows)

        def objective(theta):
            moved, now = kernel.clone_with_theta(theta[:n]), searched.with_theta(theta[n:])
            K, gradient_of = _with_gradient(moved, X, by_column)
            posterior = self._posterior(K, now, state["sites"], TOL)
            state["sites"] = posterior.tau, posterior.nu
            gradient = np.r_[gradient_of(posterior), now.gradient(posterior)]
            moves = theta - start
            penalty, slope = _penalty(moves, n, searched.learns_noise) if by_column else (0.0, 0.0)
            return penalty - posterior.log_z, slope - gradient

        theta = start = np.r_[kernel.theta, observed.theta]
        if self.optimizer is not None and len(theta):
            own = kernel.bounds.reshape(n, 2)
            starts = [theta if nearby is None else nearby]
            if self.n_restarts_optimizer:
                if not np.all(np.isfinite(own)):
                    raise ValueError("n_restarts_optimizer needs finite bounds in kernel")
                drawn = rng.uniform(own[:, 0], own[:, 1], size=(self.n_restarts_optimizer, n))
                starts += [np.r_[point, observed.theta] for point in drawn]
            options = {"jac": True, "method": "L-BFGS-B", "options": {"ftol": DECREASE}}
            bounds = np.vstack([own, observed.bounds])
            answers = [minimize(objective, point, bounds=bounds, **options) for point in starts]
            theta = min(answers, key=lambda answer: answer.fun).x
            kernel.theta, observed = theta[:n], observed.with_theta(theta[n:])
        K = kernel(self.X_train_)
        sites = state["sites"] if len(X) == len(K) else None
        return kernel, observed, self._posterior(K, observed, sites)

    def latent_mean_and_variance(self, X):
        """Mean and variance of the latent values of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        mean, var : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Means and variances; one column per class where each has latent values of its own.
        """
        X = check.rows(self, X, reset=False)
        found = zip(self._posteriors, self._kernels)
        parts = [one.predict(kernel(X, self.X_train_), kernel.diag(X)) for one, kernel in found]
        if len(parts) == 1:
            return parts[0]
        return tuple(map(np.column_stack, zip(*parts, strict=True)))

    def log_marginal_likelihood(self, theta=None, eval_gradient=False):
        """Log evidence of hyper-parameters.

        Parameters
        ----------
        theta, eval_gradient : array-like of shape (n_params,) or None, bool, default=False
            Logarithms of the hyper-parameters of the kernel, one vector for all classes, then the
            further parameters that the model learns, None for those in use; and whether to return
            the gradient too.

        Returns
        -------
        log_evidence : float
            The mean over classes where each has latent values of its own.
        gradient : ndarray of shape (n_params,)
            Its gradient, only with ``eval_gradient=True``.
        """
        check_is_fitted(self)
        eval_gradient = check.flag(eval_gradient, "eval_gradient")
        n = self._kernels[0].n_dims
        if theta is not None:
            theta = check.vector(theta, "theta", n + len(self._observed[0].theta))
            if np.any(np.abs(theta) > 100.0):
                raise ValueError(f"theta must hold logarithms between -100 and 100, got {theta}")
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        values, gradients = [], []
        for kernel, observed in zip(self._kernels, self._observed, strict=True):
            if theta is not None:
                kernel = kernel.clone_with_theta(theta[:n])
                observed = observed.with_theta(theta[n:])
            K, gradient_of = _with_gradient(kernel, self.X_train_, by_column=False)
            posterior = self._posterior(K, observed)
            values.append(posterior.log_z + observed.constant)
            gradients.append(np.r_[gradient_of(posterior), observed.gradient(posterior)])
        value = float(np.mean(values))
        return (value, np.mean(gradients, axis=0)) if eval_gradient else value


def _penalty(moved, n_kernel, learns_noise):
    """Minus the log density of how far from their start parameters are, and its gradient."""
    slope, logs = np.zeros_like(moved), moved[1:n_kernel]
    slope[1:n_kernel] = (logs - logs.mean()) / SPREAD**2
    value = 0.5 * SPREAD**2 * slope @ slope
    if learns_noise:
        slope[-1] = moved[-1] / NOISE_SPREAD**2
        value += 0.5 * moved[-1] * slope[-1]
    return value, slope


def rows_without_copies(X, observed):
    """Rows that choose hyper-parameters: each row once where equal rows never differ in target.

    Copies would make the noise zero. Where equal rows differ, they are measurements.
    """
    _, first = np.unique(X, axis=0, return_index=True)
    targets = np.column_stack([X, observed.lower, observed.upper])
    if len(first) < len(np.unique(targets, axis=0)):
        return np.arange(len(X))
    return np.sort(first)


def _with_gradient(kernel, X, by_column):
    """The matrix of a kernel, and the gradient of log evidences in its parameters."""
    if not by_column:
        K, K_gradient = kernel(X, eval_gradient=True)
        return K, lambda posterior: np.tensordot(posterior.inner, K_gradient, axes=2)
    K, scaled = kernel(X), (X - X.mean(axis=0)) / kernel.k2.length_scale

    def gradient_of(posterior):
        # The sum of M_ij (z_i - z_j)^2 for each column, without arrays of rows, rows and columns.
        M = posterior.inner * K
        squares = M.sum(axis=1) @ scaled**2 - np.sum(scaled * (M @ scaled), axis=0)
        return np.r_[M.sum(), 2.0 * squares]

    return K, gradient_of


def scales_of_columns(X):
    """Standard deviations of columns in unlike units, else ones, as for columns of rare events."""
    ranges, spreads = np.ptp(X, axis=0), X.std(axis=0)
    small = [sizes.max() > UNLIKE * sizes for sizes in (ranges, spreads)]
    varies = ranges > 0.0
    return np.where(varies & np.any(varies & small[0] & small[1]), spreads, 1.0)


def _default_kernel(X, by_column):
    if np.any(scales_of_columns(X) != 1.0) or (by_column and 1 < X.shape[1] <= len(X)):
        distance = X.std(axis=0) * np.sqrt(2.0 * X.shape[1])
    else:
        distance = np.median(pdist(X[:: max(len(X) // ROWS, 1)])) if len(X) > 1 else 1.0
    distance = np.where((distance > SHORTEST) & (distance < 1.0 / SHORTEST), distance, 1.0)
    bounds = np.multiply.outer(distance, (1e-2, 1e2))
    distance = distance if distance.ndim else float(distance)
    return ConstantKernel(1.0, (1e-2, 1e4)) * RBF(distance, bounds)
