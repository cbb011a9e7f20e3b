"""Regression on targets of which intervals are known, by expectation propagation."""

import numpy as np
from scipy.optimize import brentq
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_consistent_length

from .._core.validation import (
    check_array_of_numbers,
    check_data,
    check_flag,
    check_magnitude,
    check_strength,
)
from .._core.warnings import warn
from ._engine import interval_masses
from ._process import IntervalProcess, Intervals

NORMAL_95 = 1.959963984540054
FACTORS = np.linspace(1.0, 3.0, 81)  # of standard deviations
START_NOISE = 0.5  # in standard deviations of the targets, where it is learned


class EPIntervalRegressor(RegressorMixin, IntervalProcess):
    """Gaussian process regression on censored targets, by expectation propagation.

    ``lower <= f + noise e <= upper`` with f ~ GP(0, kernel) and e standard normal; equal ends are
    a target that is known. Hyper-parameters and noise maximise the log evidence of expectation
    propagation.

    Parameters
    ----------
    kernel : Kernel, default=None
        A kernel of `sklearn.gaussian_process.kernels`; None stands for a constant times an RBF with
        one length scale for each column, or one for all where columns outnumber rows.
    noise : float, default=None
        Standard deviation of the noise, in units of the targets; None learns it.
    normalize_y : bool, default=True
        Whether targets are moved and scaled to mean zero and variance one, by known targets,
        middles of intervals, and the ends of those with one. The kernel is one of such targets.
    optimizer : "fmin_l_bfgs_b" or None, default="fmin_l_bfgs_b"
        None keeps the hyper-parameters of ``kernel``, and half a standard deviation as the noise
        where none is given.
    n_restarts_optimizer : int, default=0
        Further starts, drawn log-uniformly from the bounds of the hyper-parameters.
    tol : float, default=1e-4
        Largest change of a marginal in a sweep, in standard deviations.
    max_iter : int, default=100
        Largest number of sweeps for each value of the hyper-parameters.
    random_state : int, RandomState instance or None, default=None
        Seed of the further starts.

    Attributes
    ----------
    kernel_ : Kernel
        Kernel with the hyper-parameters in use.
    noise_ : float
        Standard deviation of the noise, in units of the targets.
    std_factor_ : float
        Factor of the standard deviations of `predict`, at least 1: with it 95 % intervals about
        leave-one-out predictions hold 95 % of the training targets, hyper-parameters counted. 1
        for ``optimizer=None``.
    log_marginal_likelihood_value_ : float
        Log evidence: of masses for intervals, of densities in units of the targets for known ones.
    X_train_ : ndarray of shape (n_samples, n_features)
        Training rows.
    n_iter_ : int
        Sweeps of the last fixed point.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, when X is a data frame with string names.

    Warns
    -----
    UserWarning
        Where hyper-parameters are learned, and no target is bounded on both sides.
    ConvergenceWarning
        Where the sites did not come to rest.

    See Also
    --------
    EPOrdinalClassifier : For ends that are to be learned.

    Notes
    -----
    Known targets are conditioned on, which is exact, and intervals are swept: 2/3 n^3 operations
    for each sweep. `log_marginal_likelihood` takes after the hyper-parameters of the kernel the
    logarithm of the noise, in normalised units, where it is learned.

    With ``kernel=None`` the logarithms of length scales, in standard deviations of their columns,
    have a normal prior about their mean with standard deviation 0.7, and that of a
    learned noise has 1 about half a standard deviation of the targets.
    Equal rows with equal targets count once in this search.

    References
    ----------
    .. [1] J. Cunningham, P. Hennig, S. Lacoste-Julien, "Gaussian probabilities and expectation
       propagation", arXiv:1111.6832, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.gaussian_probability import EPIntervalRegressor
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.column_stack([X[:, 0], X[:, 0]])
    >>> y[5:] = 5.0, np.inf  # known to be above 5 only
    >>> model = EPIntervalRegressor().fit(X, y)
    >>> bool(model.predict([[7.0]])[0] > 5.5)
    True
    """

    _by_column = True

    def __init__(
        self, kernel=None, *, noise=None, normalize_y=True, optimizer="fmin_l_bfgs_b",
        n_restarts_optimizer=0, tol=1e-4, max_iter=100, random_state=None,
    ):  # fmt: skip
        self.kernel = kernel
        self.noise = noise
        self.normalize_y = normalize_y
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X, y):
        """Choose hyper-parameters and noise, and compute the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples, 2) or (n_samples,)
            Lower and upper ends, -inf and inf allowed; equal ends, or one column, are known
            targets.

        Returns
        -------
        self : EPIntervalRegressor
            The fitted model.
        """
        self._check_process()
        noise = None if self.noise is None else check_strength(self.noise, "noise")
        normalizes = check_flag(self.normalize_y, "normalize_y")
        X, lower, upper = self._check_targets(X, y)
        if self.optimizer is not None and not np.any(np.isfinite(lower) & np.isfinite(upper)):
            warn(
                "no target of y is bounded on both sides, so nothing tells how far from the ends "
                "targets are: set noise and optimizer=None, or predictions may leave all scales"
            )
        self._location, self._scale = (
            _location_and_scale(lower, upper) if normalizes else (0.0, 1.0)
        )
        lower, upper = ((end - self._location) / self._scale for end in (lower, upper))
        constant = -np.log(self._scale) * np.count_nonzero(lower == upper)
        start = START_NOISE if noise is None else noise / self._scale
        observed = Intervals(lower, upper, start, noise is None, float(constant))
        self._fit_processes(X, self._start_kernel(X), [observed])
        self.noise_ = self._observed[0].noise * self._scale
        self.std_factor_ = 1.0
        if self.optimizer is not None:
            # Leave-one-out predictions know each target by the hyper-parameters.
            n_learned = self._kernels[0].n_dims + len(self._observed[0].theta)
            self.std_factor_ = np.sqrt(1.0 + n_learned / len(X)) * _std_factor(
                X, lower, upper, self._posteriors[0]
            )
        return self

    def _check_targets(self, X, y, reset=True):
        """Rows and the two ends of their targets."""
        if _has_two_columns(y):
            X = check_data(self, X, dtype=np.float64, reset=reset)
            ends = check_array_of_numbers(y, "y", finite=False)
            check_consistent_length(X, ends)
            lower, upper = ends.T
        else:
            X, lower = check_data(self, X, y, dtype=np.float64, y_numeric=True, reset=reset)
            lower = upper = lower.astype(float)
        check_magnitude(X, "X")
        check_magnitude(np.r_[lower[np.isfinite(lower)], upper[np.isfinite(upper)]], "y")
        if not np.all(lower <= upper):
            raise ValueError(
                "y must hold lower ends before upper ends: swap the columns in such rows"
            )
        if np.any(lower == np.inf) or np.any(upper == -np.inf):
            raise ValueError("y must not have inf as a lower or -inf as an upper end")
        if not np.any(np.isfinite(lower) | np.isfinite(upper)):
            raise ValueError("y must have a finite end somewhere")
        return X, lower, upper

    def latent_mean_and_variance(self, X):
        """Mean and variance of the values without noise, in units of the targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Means.
        var : ndarray of shape (n_samples,)
            Variances.
        """
        mean, var = super().latent_mean_and_variance(X)
        return self._location + self._scale * mean, self._scale**2 * var

    def predict(self, X, return_std=False):
        """Means of targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Whether to return standard deviations of new targets too, noise included.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Means.
        std : ndarray of shape (n_samples,)
            Standard deviations, only with ``return_std=True``.
        """
        return_std = check_flag(return_std, "return_std")
        mean, var = self.latent_mean_and_variance(X)
        return (mean, self.std_factor_ * np.sqrt(var + self.noise_**2)) if return_std else mean

    def score(self, X, y):
        """Coefficient of determination, with distances to intervals as residuals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples, 2) or (n_samples,)
            Lower and upper ends, or known targets.

        Returns
        -------
        score : float
            One minus the sum of squared distances of predictions to intervals over that of the best
            constant: R^2 where all targets are known. 1 or 0 where a constant is in all intervals.
        """
        mean = self.predict(X)
        _, lower, upper = self._check_targets(X, y, reset=False)
        ends = np.r_[lower[np.isfinite(lower)], upper[np.isfinite(upper)]]

        def pull(constant):
            return np.sum(constant - np.clip(constant, lower, upper))

        first, last = ends.min(), ends.max()
        best = brentq(pull, first, last) if pull(first) < 0.0 < pull(last) else first
        errors, least = (
            np.sum((a - np.clip(a, lower, upper)) ** 2) for a in (mean, np.full(len(lower), best))
        )
        return float(1.0 - errors / least) if least > 0.0 else float(errors == 0.0)


def _std_factor(X, lower, upper, posterior):
    """Least factor with which intervals about leave-one-out predictions hold their share.

    Rows with a copy are left out: their copies predict them.
    """
    _, places, counts = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    rows = (counts[places.ravel()] == 1) & (np.isfinite(lower) | np.isfinite(upper))
    if not np.any(rows):
        return 1.0
    mean, var = (a[rows, None] for a in (posterior.sites.cavity_mean, posterior.sites.cavity_var))
    low, high = lower[rows, None], upper[rows, None]
    half = NORMAL_95 * FACTORS * np.sqrt(var)
    inner = np.maximum(low, mean - half), np.minimum(high, mean + half)
    known = (low == high)[:, 0]
    held = (inner[0] <= inner[1]).astype(float)
    if not np.all(known):
        # Of an interval the part counts that is likely to hold the target.
        some = ~known
        var, mean = np.broadcast_to(FACTORS**2 * var[some], held[some].shape), mean[some]
        mean = np.broadcast_to(mean, var.shape)
        valid = inner[0][some] < inner[1][some]
        ends = np.where(valid, inner[0][some], mean), np.where(valid, inner[1][some], mean + 1.0)
        part, whole = (
            next(interval_masses(a, b, mean, var)) for a, b in (ends, (low[some], high[some]))
        )
        held[some] = np.where(valid, np.exp(np.minimum(part - whole, 0.0)), 0.0)
    enough = held.mean(axis=0) >= min(0.95 * (1.0 + 1.0 / len(held)), 1.0)
    return float(FACTORS[np.argmax(enough)]) if np.any(enough) else float(FACTORS[-1])


def _has_two_columns(y):
    try:
        shape = np.asarray(y).shape
    except ValueError:  # of unequal lengths, of which scikit-learn says so
        return False
    return len(shape) == 2 and shape[1] == 2


def _location_and_scale(lower, upper):
    """Mean and standard deviation of what is known of targets; 1 where they do not vary."""
    finite = np.isfinite(lower) | np.isfinite(upper)
    low, high = lower[finite], upper[finite]
    low, high = np.where(np.isfinite(low), low, high), np.where(np.isfinite(high), high, low)
    middles = low + 0.5 * (high - low)
    scale = float(np.std(middles))
    return float(np.mean(middles)), scale if scale > 1e-12 * np.abs(middles).max() else 1.0
