"""Models of intervals: between learned thresholds, or with known ends."""

from dataclasses import KW_ONLY

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri
from sklearn.base import RegressorMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length

from .._core import check
from .._core.estimator import LabelMixin
from .._core.scores import as_array
from .._core.warnings import warn
from ._engine import interval_masses
from ._process import IntervalProcess, Intervals

LOWEST = (-100.0, 100.0)  # of the lowest threshold, in units of the prior of noisy values
GAPS = (1e-6, 1e3)  # between thresholds, in the same units


class EPOrdinalClassifier(LabelMixin, IntervalProcess):
    """Gaussian process classifier of ordered labels, by expectation propagation.

    ``y = j`` where ``b[j-1] < f + noise e < b[j]`` with f ~ GP(0, kernel), e standard normal and
    thresholds b in ascending order. Hyper-parameters and thresholds maximize the log evidence of
    expectation propagation.

    Parameters
    ----------
    kernel : Kernel, default=None
        A kernel of `sklearn.gaussian_process.kernels`; None stands for a constant times an RBF with
        one length scale for each column, or one for all where columns outnumber rows, unless
        their ranges and spreads differ more than 30 times.
    order : array-like of shape (n_labels,), default=None
        Labels from the lowest to the highest, of which ``y`` may lack some. None takes the order of
        an ordered categorical of pandas, else that of whole numbers, and that of the alphabet with
        a warning.
    decision : {"mode", "median"}, default="mode"
        What `predict` returns: "mode" makes the fewest errors, "median" the smallest mean absolute
        difference of ranks.
    noise : float, default=1.0
        Standard deviation of the noise between latent value and label. A kernel with an amplitude
        makes up for it, so it is not learned.
    optimizer : "fmin_l_bfgs_b" or None, default="fmin_l_bfgs_b"
        None keeps the hyper-parameters of ``kernel``, and takes the thresholds under which a priori
        labels are as frequent as in ``y``.
    n_restarts_optimizer, tol, max_iter : int, default=0, float, default=1e-4, int, default=100
        As `EPProbitClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the further starts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted as scikit-learn sorts them: the columns of `predict_proba`.
    order_ : ndarray of shape (n_classes,)
        The same labels from the lowest to the highest.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Latent values between the labels of ``order_``, ascending.
    kernel_, log_marginal_likelihood_value_ : Kernel, float
        Kernel with the hyper-parameters in use, and log evidence.
    X_train_, n_iter_ : ndarray of shape (n_samples, n_features), int
        Training rows, and sweeps of the last fixed point.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.

    Notes
    -----
    One process for all labels: 2/3 n^3 operations for each sweep whatever their number, O(n^2)
    per prediction. `log_marginal_likelihood` takes after the hyper-parameters of the kernel the
    lowest threshold and the logarithms of the gaps between thresholds, both in units of the
    standard deviation that noisy latent values have at the start.

    With ``kernel=None`` the logarithms of length scales, in standard deviations of their columns,
    have a normal prior about their mean with standard deviation 0.7.
    Equal rows with equal targets count once in this search.

    References
    ----------
    .. [1] W. Chu, Z. Ghahramani, "Gaussian processes for ordinal regression", Journal of Machine
       Learning Research 6, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.gaussian_probability import EPOrdinalClassifier
    >>> X = np.arange(12.0)[:, None]
    >>> y = np.repeat(["low", "medium", "high"], 4)
    >>> classifier = EPOrdinalClassifier(order=["low", "medium", "high"]).fit(X, y)
    >>> classifier.predict([[0.0], [5.5], [11.0]]).tolist()
    ['low', 'medium', 'high']
    """

    _: KW_ONLY
    order: object = None
    decision: check.options("median", "mode") = "mode"

    _by_column = True

    def fit(self, X, y):
        noise, order = float(self.noise), self._given_order(y)
        X, y = check.rows(self, X, y)
        fractions = type_of_target(y) == "continuous"
        if order is None and fractions:
            raise ValueError(
                "Unknown label type: y holds fractions. Cut measurements by thresholds; if "
                "fractions are grades, list them in order"
            )
        self.classes_, places = check.classes(y, fractions)
        self._columns = _places_in(self.classes_, order)  # of classes_, in their order
        self.order_ = self.classes_[self._columns]
        start = self._start_kernel(X)
        scale = float(np.sqrt(noise**2 + np.mean(np.diag(start(X)))))
        ranks = np.argsort(self._columns)[places]
        self._fit_processes(X, start, [Ranks.of_frequencies(ranks, noise, scale)])
        self.thresholds_ = self._observed[0].thresholds
        return self

    def _given_order(self, y):
        if self.order is None:
            dtype = getattr(y, "dtype", None)
            return dtype.categories if getattr(dtype, "ordered", False) else None
        labels, order = check.find_labels(self.order, "order"), np.asarray(self.order)
        if len(labels) < len(order):
            raise ValueError(f"order must be a list of distinct labels, got {self.order!r}")
        return order

    def predict_proba(self, X):
        probability = self._by_rank(X)
        out = np.empty_like(probability)
        out[:, self._columns] = probability
        return out

    def _by_rank(self, X):
        mean, var = self.latent_mean_and_variance(X)
        ends, var = np.r_[-np.inf, self.thresholds_, np.inf], var + float(self.noise) ** 2
        masses, _, _ = interval_masses(ends[:-1], ends[1:], mean[:, None], var[:, None])
        return np.exp(masses)

    def predict(self, X):
        probability = self._by_rank(X)
        if self.decision == "median":
            probability = np.cumsum(probability, axis=1) >= 0.5
        return self.order_[np.argmax(probability, axis=1)]


class Ranks(Intervals):
    """Intervals between thresholds that are learned."""

    def __init__(self, ranks, thresholds, noise, scale):
        self.ranks, self.thresholds, self.scale = ranks, thresholds, scale
        lower, upper = np.r_[-np.inf, thresholds], np.r_[thresholds, np.inf]
        super().__init__(lower[ranks], upper[ranks], noise)

    @classmethod
    def of_frequencies(cls, ranks, noise, scale):
        """Thresholds under which a normal value with this scale has ranks as often."""
        share = np.cumsum(np.bincount(ranks))[:-1] / len(ranks)
        return cls(ranks, scale * ndtri(share), noise, scale)

    @property
    def theta(self):
        levels = self.thresholds / self.scale
        return np.r_[levels[0], np.log(np.diff(levels))]

    @property
    def bounds(self):
        return np.vstack([LOWEST, *[np.log(GAPS)] * (len(self.thresholds) - 1)])

    def with_theta(self, theta):
        levels = np.cumsum(np.r_[theta[0], np.exp(theta[1:])])
        return Ranks(self.ranks, self.scale * levels, self.noise, self.scale)

    def of(self, rows):
        return Ranks(self.ranks[rows], self.thresholds, self.noise, self.scale)

    def gradient(self, posterior):
        low, high = posterior.bound_gradients(self.lower, self.upper)
        n = len(self.thresholds)
        at_thresholds = np.bincount(self.ranks, high, n + 1)[:n]
        at_thresholds += np.bincount(self.ranks, low, n + 1)[1:]
        above = self.scale * np.cumsum(at_thresholds[::-1])[::-1]  # all thresholds from one on
        return above * np.r_[1.0, np.diff(self.thresholds) / self.scale]


def _places_in(classes, order):
    """Places in ``classes`` of labels from the lowest to the highest."""
    if order is None:
        if len(classes) > 2 and classes.dtype.kind not in "fiub":
            named = " < ".join(map(repr, classes.tolist()[:5]))
            warn(f"labels of y are taken in the order of the alphabet, {named}: set order")
        return np.arange(len(classes))
    ranks = {label: rank for rank, label in enumerate(order.tolist())}
    missing = [label for label in classes.tolist() if label not in ranks]
    if missing:
        raise ValueError(f"order must hold all labels of y, it lacks {missing[0]!r}")
    return np.argsort([ranks[label] for label in classes.tolist()])


NORMAL_95 = 1.959963984540054
FACTORS = np.linspace(1.0, 3.0, 81)  # of standard deviations
START_NOISE = 0.5  # in standard deviations of the targets, where it is learned


class EPIntervalRegressor(RegressorMixin, IntervalProcess):
    """Gaussian process regression on censored targets, by expectation propagation.

    ``lower <= f + noise e <= upper`` with f ~ GP(0, kernel) and e standard normal; equal ends are
    a target that is known. Hyper-parameters and noise maximize the log evidence of expectation
    propagation.

    Parameters
    ----------
    kernel : Kernel, default=None
        As `EPOrdinalClassifier`.
    noise : float, default=None
        Standard deviation of the noise, in units of the targets; None learns it.
    normalize_y : bool, default=True
        Whether targets are moved and scaled to mean zero and variance one, by known targets,
        middles of intervals, and single ends. The kernel is one of such targets.
    optimizer : "fmin_l_bfgs_b" or None, default="fmin_l_bfgs_b"
        None keeps the hyper-parameters of ``kernel``, and half a standard deviation as the noise
        where none is given.
    n_restarts_optimizer, tol, max_iter : int, default=0, float, default=1e-4, int, default=100
        As `EPProbitClassifier`.
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
    X_train_, n_iter_ : ndarray of shape (n_samples, n_features), int
        Training rows, and sweeps of the last fixed point.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.

    Notes
    -----
    Known targets are conditioned on, which is exact, and intervals are swept: 2/3 n^3 operations
    for each sweep. `log_marginal_likelihood` takes after the hyper-parameters of the kernel the
    logarithm of the noise, in normalized units, where it is learned.

    With ``kernel=None`` length scales have the prior of `EPOrdinalClassifier`, and the logarithm of
    a learned noise has a normal one about half a standard deviation of the targets, of width 1.
    Equal rows with equal targets count once in this search.

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

    _: KW_ONLY
    noise: check.optional(check.strength) = None
    normalize_y: check.flag = True

    _by_column = True

    def fit(self, X, y):
        """Choose hyper-parameters and noise, and compute the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples, 2) or (n_samples,)
            Lower and upper ends, -inf and inf allowed; equal ends, or one column, are known
            targets.

        """
        noise = self.noise
        X, lower, upper = self._check_targets(X, y)
        if self.optimizer is not None and not np.any(np.isfinite(lower) & np.isfinite(upper)):
            warn(
                "no target of y is bounded on both sides, which leaves open how far from the ends "
                "targets are: set noise and optimizer=None, or predictions may leave all scales"
            )
        self._location, self._scale = (
            _location_and_scale(lower, upper) if self.normalize_y else (0.0, 1.0)
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
            factor = _std_factor(X, lower, upper, self._posteriors[0])
            self.std_factor_ = np.sqrt(1.0 + n_learned / len(X)) * factor
        return self

    def _check_targets(self, X, y, reset=True):
        if as_array(y, "y").shape[1:] == (2,):
            X = check.rows(self, X, reset=reset)
            ends = check.array(y, "y", finite=False)
            check_consistent_length(X, ends)
            lower, upper = ends.T
        else:
            X, lower = check.rows(self, X, y, y_numeric=True, reset=reset)
            lower = upper = lower.astype(float)
        check.magnitude(np.r_[lower[np.isfinite(lower)], upper[np.isfinite(upper)]], "y")
        if not np.all(lower <= upper):
            raise ValueError("y must hold lower ends before upper ends: swap them in such rows")
        if np.any(lower == np.inf) or np.any(upper == -np.inf):
            raise ValueError("y must not have inf as a lower or -inf as an upper end")
        if not np.any(np.isfinite(lower) | np.isfinite(upper)):
            raise ValueError("y must have a finite end somewhere")
        return X, lower, upper

    def latent_mean_and_variance(self, X):
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
        return_std = check.flag(return_std, "return_std")
        mean, var = self.latent_mean_and_variance(X)
        return (mean, self.std_factor_ * np.sqrt(var + self.noise_**2)) if return_std else mean

    def score(self, X, y):
        """Coefficient of determination, with distances to intervals as residuals.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features) and (n_samples, 2) or (n_samples,)
            Rows and targets as in `fit`.

        Returns
        -------
        score : float
            One minus the sum of squared distances of predictions to intervals over that of the best
            constant. 1 or 0 where a constant is in all intervals.
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
    mean, var = (a[rows, None] for a in (posterior.cavity_mean, posterior.cavity_var))
    half, edge = NORMAL_95 * FACTORS * np.sqrt(var), 1e-9 * np.sqrt(var)  # of known targets
    low, high = lower[rows, None] - edge, upper[rows, None] + edge
    inner = np.maximum(low, mean - half), np.minimum(high, mean + half)
    var, mean = FACTORS**2 * var, np.broadcast_to(mean, half.shape)
    valid = inner[0] < inner[1]
    ends = np.where(valid, inner[0], mean), np.where(valid, inner[1], mean + 1.0)
    part, whole = (next(interval_masses(*pair, mean, var)) for pair in (ends, (low, high)))
    # Of an interval the part counts that is likely to hold the target.
    held = np.where(valid, np.exp(np.minimum(part - whole, 0.0)), 0.0)
    enough = held.mean(axis=0) >= min(0.95 * (1.0 + 1.0 / len(held)), 1.0)
    return float(FACTORS[np.argmax(enough)]) if np.any(enough) else float(FACTORS[-1])


def _location_and_scale(lower, upper):
    finite = np.isfinite(lower) | np.isfinite(upper)
    low, high = lower[finite], upper[finite]
    low, high = np.where(np.isfinite(low), low, high), np.where(np.isfinite(high), high, low)
    middles = low + 0.5 * (high - low)
    scale = float(np.std(middles))
    return float(np.mean(middles)), scale if scale > 1e-12 * np.abs(middles).max() else 1.0
