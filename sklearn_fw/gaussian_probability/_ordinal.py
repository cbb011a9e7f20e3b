"""Ordinal regression with the probit link, by expectation propagation."""

import numpy as np
from scipy.special import ndtri
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from .._core.validation import (
    check_choice,
    check_data,
    check_magnitude,
    check_strength,
    find_labels,
)
from .._core.warnings import warn
from ._engine import interval_masses
from ._process import IntervalProcess, Intervals

LOWEST = (-100.0, 100.0)  # of the lowest threshold, in units of the prior of noisy values
GAPS = (1e-6, 1e3)  # between thresholds, in the same units


class EPOrdinalClassifier(ClassifierMixin, IntervalProcess):
    """Gaussian process classifier of ordered labels, by expectation propagation.

    ``y = j`` where ``b[j-1] < f + noise e < b[j]`` with f ~ GP(0, kernel), e standard normal and
    thresholds b in ascending order. Hyper-parameters and thresholds maximise the log evidence of
    expectation propagation.

    Parameters
    ----------
    kernel : Kernel, default=None
        A kernel of `sklearn.gaussian_process.kernels`; None stands for a constant times an RBF with
        one length scale for each column, or one for all where columns outnumber rows.
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
        None keeps the hyper-parameters of ``kernel``, and takes the thresholds under which labels
        are as frequent as in ``y`` before rows are looked at.
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
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted as scikit-learn sorts them: the columns of `predict_proba`.
    order_ : ndarray of shape (n_classes,)
        The same labels from the lowest to the highest.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Latent values between the labels of ``order_``, ascending.
    kernel_ : Kernel
        Kernel with the hyper-parameters in use.
    log_marginal_likelihood_value_ : float
        Log evidence.
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
        Where the order of three or more labels is that of the alphabet.
    ConvergenceWarning
        Where the sites did not come to rest.

    See Also
    --------
    EPProbitClassifier : For labels without an order.
    EPIntervalRegressor : For known ends instead of learned thresholds.

    Notes
    -----
    One process for all labels, so 2/3 n^3 operations for each sweep whatever their number; O(n^2)
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

    _by_column = True

    def __init__(
        self, kernel=None, *, order=None, decision="mode", noise=1.0, optimizer="fmin_l_bfgs_b",
        n_restarts_optimizer=0, tol=1e-4, max_iter=100, random_state=None,
    ):  # fmt: skip
        self.kernel = kernel
        self.order = order
        self.decision = decision
        self.noise = noise
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X, y):
        """Choose hyper-parameters and thresholds, and compute the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : EPOrdinalClassifier
            The fitted classifier.
        """
        self._check_process()
        check_choice(self.decision, "decision", {"mode", "median"})
        noise, order = check_strength(self.noise, "noise"), self._given_order(y)
        X, y = check_data(self, X, y, dtype=np.float64)
        check_magnitude(X, "X")
        _check_labels(y, order)
        self.classes_, places = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("needs labels of at least 2 classes, found one class in y")
        self._columns = _places_in(self.classes_, order)  # of classes_, in their order
        self.order_ = self.classes_[self._columns]
        start = self._start_kernel(X)
        scale = float(np.sqrt(noise**2 + np.mean(np.diag(start(X)))))
        ranks = np.argsort(self._columns)[places]
        self._fit_processes(X, start, [Ranks.of_frequencies(ranks, noise, scale)])
        self.thresholds_ = self._observed[0].thresholds
        return self

    def _given_order(self, y):
        """Labels in the order that is stated somewhere, or None."""
        if self.order is None:
            dtype = getattr(y, "dtype", None)
            return dtype.categories if getattr(dtype, "ordered", False) else None
        labels, order = find_labels(self.order, "order"), np.asarray(self.order)
        if len(labels) < len(order):
            raise ValueError(f"order must be a list of distinct labels, got {self.order!r}")
        return order

    def predict_proba(self, X):
        """Probabilities of labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            One column per entry of ``classes_``, which is sorted; ``order_`` is the order of ranks.
        """
        probability = self._by_rank(X)
        out = np.empty_like(probability)
        out[:, self._columns] = probability
        return out

    def _by_rank(self, X):
        mean, var = self.latent_mean_and_variance(X)
        ends = np.r_[-np.inf, self.thresholds_, np.inf]
        mean, var = (np.repeat(a[:, None], len(ends) - 1, axis=1) for a in (mean, var))
        masses, _, _ = interval_masses(ends[:-1], ends[1:], mean, var + float(self.noise) ** 2)
        return np.exp(masses)

    def predict(self, X):
        """Labels by ``decision``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
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
        """The lowest threshold, and the logarithms of gaps, in units of ``scale``."""
        levels = self.thresholds / self.scale
        return np.r_[levels[0], np.log(np.diff(levels))]

    @property
    def bounds(self):
        """Array of shape (n_params, 2)."""
        return np.vstack([LOWEST, *[np.log(GAPS)] * (len(self.thresholds) - 1)])

    def with_theta(self, theta):
        """The same with other thresholds."""
        levels = np.cumsum(np.r_[theta[0], np.exp(theta[1:])])
        return Ranks(self.ranks, self.scale * levels, self.noise, self.scale)

    def of(self, rows):
        """The same for some of the rows."""
        return Ranks(self.ranks[rows], self.thresholds, self.noise, self.scale)

    def gradient(self, posterior):
        """Gradient of the log evidence in ``theta``."""
        low, high = posterior.sites.bound_gradients(self.lower, self.upper)
        n = len(self.thresholds)
        at_thresholds = np.bincount(self.ranks, high, n + 1)[:n]
        at_thresholds += np.bincount(self.ranks, low, n + 1)[1:]
        above = self.scale * np.cumsum(at_thresholds[::-1])[::-1]  # all thresholds from one on
        return above * np.r_[1.0, np.diff(self.thresholds) / self.scale]


def _check_labels(y, order):
    if type_of_target(y) == "continuous":
        if order is not None:
            return
        raise ValueError(
            "Unknown label type: y holds fractions. Cut measurements by thresholds; if fractions "
            "are grades, list them in order"
        )
    check_classification_targets(y)


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
