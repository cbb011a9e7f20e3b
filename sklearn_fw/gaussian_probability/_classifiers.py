"""Classifiers with the probit link: one fixed kernel, or a Gaussian process."""

from dataclasses import KW_ONLY

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.multiclass import type_of_target

from .._core import check
from .._core.estimator import Estimator, LabelMixin
from . import _process as process

# That "auto" chooses from: of much noise the fixed point is near, and starts that of less.
NOISES = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
WORSE = 2  # noises less probable than the best, after which the search ends


class BayesPointMachine(LabelMixin, Estimator):
    """Bayes point machine: binary classifier by the posterior mean of the weights.

    ``w ~ N(0, I)`` and ``y (w x / |x| + noise e) > 0`` for each row, in the feature space of the
    kernel. The posterior is computed by expectation propagation. Unless ``gamma`` is given, columns
    are divided by their standard deviations if ranges and spreads differ more than 30 times.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf"}, default="linear"
        Kernel of scikit-learn; rows are scaled to length one in its feature space.
    gamma : float, default=None
        Scale of "poly" and "rbf"; None for one over the sum of the variances of the columns.
    degree, coef0 : int, default=3, and float, default=1.0
        Degree and constant of "poly".
    fit_intercept : bool, default=True
        Whether a constant feature is added: 1, or for the linear kernel, which then takes columns
        less their means, the root mean square length of the rows.
    noise : float or "auto", default="auto"
        Standard deviation of the noise; 0 for separable labels only. "auto" takes the most
        probable of 3, 1, 0.3, 0.1, 0.03, 0.01, 0.003 and 0.001, where copied rows count once;
        two in a row that are less probable than the best so far end the search.
    tol : float, default=1e-4
        Largest change of a marginal in a sweep, in standard deviations.
    max_iter : int, default=200
        Largest number of sweeps.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels, sorted.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Mean weights of features and constant, for the linear kernel.
    X_fit_, dual_coef_ : ndarray of shape (n_samples, n_features) and (n_samples,)
        Training rows, and their coefficients.
    noise_, log_evidence_ : float
        The noise in use, and the log probability of the labels.
    n_iter_ : int
        Sweeps of the last fixed point.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.

    Notes
    -----
    O(n^3) a sweep for n rows. Several classes: wrap it in
    `sklearn.multiclass.OneVsRestClassifier`.

    References
    ----------
    .. [1] R. Herbrich, T. Graepel, C. Campbell, "Bayes point machines", Journal of Machine Learning
       Research 1, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_fw.gaussian_probability import BayesPointMachine
    >>> X, y = load_iris(return_X_y=True)
    >>> BayesPointMachine().fit(X[:100], y[:100]).score(X[:100], y[:100])
    1.0
    """

    kernel: check.options("linear", "poly", "rbf") = "linear"
    _: KW_ONLY
    gamma: check.optional(check.positive) = None
    degree: check.at_least(1) = 3
    coef0: check.not_negative = 1.0
    fit_intercept: bool = True
    noise: check.auto_or(check.moderate) = "auto"
    tol: check.positive = 1e-4
    max_iter: int = 200

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X, y):
        X, y = check.rows(self, X, y)
        self.classes_, places = check.classes(y)
        if type_of_target(y) != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}: y must have two labels, or wrap it in OneVsRestClassifier"
            )
        self.X_fit_, signs = X, np.where(places == 1, 1.0, -1.0)
        # Columns have no origin of their own where a constant is fitted to a linear kernel.
        centers = self.fit_intercept and self.kernel == "linear"
        self._center = X.mean(axis=0) if centers else np.zeros(X.shape[1])
        self._scale = process.scales_of_columns(X) if self.gamma is None else np.ones(X.shape[1])
        X = self._in_units(X)
        self._gamma = self.gamma or 1.0 / (X.var(axis=0).sum() or 1.0)
        # As long as rows are on average, so that the units of X do not tell the constant's weight.
        self._constant = float(self.fit_intercept)
        if centers:
            self._constant = float(np.mean(np.sum(X**2, axis=1))) or 1.0
        self._lengths = self._row_lengths(X)
        K = self._kernel(X, X) / self._lengths / self._lengths[:, None]
        if check.is_auto(self.noise):
            noises = NOISES
            rows = process.rows_without_copies(self.X_fit_, process.sign_intervals(signs, 1.0))
        else:
            noises, rows = (float(self.noise),), np.arange(len(K))
        part = K[np.ix_(rows, rows)], signs[rows]
        best, self.noise_, latest = None, noises[0], None
        for noise in noises:
            latest = self._fit_at(noise, *part, latest)
            if not best or (latest and latest.log_z > best.log_z):
                best, self.noise_ = latest, noise
            if noises.index(noise) - noises.index(self.noise_) == WORSE:
                break
        if len(rows) < len(K):
            best = self._fit_at(self.noise_, K, signs)
        if not best:
            raise ValueError("no half-space agrees with all labels: set noise above 0")
        self.log_evidence_ = best.log_z
        process.warn_unless_settled([best], self.tol, self.max_iter)
        self._posterior, self.n_iter_ = best, best.n_iter
        self.dual_coef_ = best.weights / self._lengths
        if self.kernel == "linear":
            self.coef_ = (self.dual_coef_ @ X / self._scale)[None]
            constant = self._constant * self.dual_coef_.sum()
            self.intercept_ = constant - self.coef_ @ self._center
        return self

    def _fit_at(self, noise, K, signs, nearby=None):
        """The posterior, or None where labels allow none."""
        observed = process.sign_intervals(signs, noise)
        start = nearby and (nearby.tau, nearby.nu)
        found = process.latent_posterior(K, observed, self.tol, self.max_iter, start)
        # Without noise the mean must give every row its sign.
        if found and noise == 0.0:
            agrees = found.converged and np.all(signs * (K @ found.weights) > 0.0)
            return found if agrees else None
        return found

    def _in_units(self, X):
        return (X - self._center) / self._scale

    def _kernel(self, A, B):
        options = {"gamma": self._gamma, "degree": self.degree, "coef0": self.coef0}
        K = pairwise_kernels(A, B, metric=self.kernel, filter_params=True, **options)
        return K + self._constant

    def _row_lengths(self, X):
        squares = np.ones(len(X)) if self.kernel == "rbf" else np.sum(X**2, axis=1)
        if self.kernel == "poly":
            squares = (self._gamma * squares + self.coef0) ** self.degree
        lengths = np.sqrt(squares + self._constant)
        return np.where(lengths > 0.0, lengths, 1.0)

    def _latent(self, X):
        X = self._in_units(check.rows(self, X, reset=False))
        K = self._kernel(X, self._in_units(self.X_fit_)) / self._lengths
        lengths = self._row_lengths(X)
        K /= lengths[:, None]
        return self._posterior.predict(K, np.ones(len(X)))

    def decision_function(self, X):
        """Compute latent means over standard deviations; positive for ``classes_[1]``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        """
        return process.standardized(*self._latent(X), float(self.noise_))

    def predict_proba(self, X):
        return process.positive_probability(*self._latent(X), float(self.noise_))


class EPProbitClassifier(LabelMixin, process.IntervalProcess):
    """Gaussian process classifier with probit link, by expectation propagation.

    ``P(y = 1 | f) = Phi(f / noise)`` with f ~ GP(0, kernel). Hyper-parameters maximize the log
    evidence of expectation propagation. Several classes: each against the rest, normalized; with
    the default kernel searches for later classes start from the kernel of the first.

    Parameters
    ----------
    kernel : Kernel, default=None
        A kernel of `sklearn.gaussian_process.kernels`; None stands for a constant times an RBF that
        starts at the median distance of rows. Columns whose ranges and spreads differ more
        than 30 times have length scales of their own, drawn to common standard deviations.
    noise : float, default=1.0
        Standard deviation of the noise between latent value and sign.
    optimizer : "fmin_l_bfgs_b" or None, default="fmin_l_bfgs_b"
        None keeps the hyper-parameters of ``kernel``.
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
        Labels, sorted.
    kernel_ : Kernel or list of Kernel
        Kernel with the hyper-parameters in use; a list, one per class, for more than two.
    log_marginal_likelihood_value_ : float
        Log evidence; the mean over classes for more than two.
    X_train_, n_iter_ : ndarray of shape (n_samples, n_features), int
        Training rows, and sweeps of the last fixed point.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.

    See Also
    --------
    BayesPointMachine : The same engine for a fixed kernel, without noise too.
    EPOrdinalClassifier : For labels that have an order.

    Notes
    -----
    Each sweep takes 2/3 n^3 operations, each value of the hyper-parameters some five sweeps, and
    each prediction O(n^2). The search for hyper-parameters computes marginals to 0.003 standard
    deviations and ends when a step gains less than 1e-5 of the evidence.

    References
    ----------
    .. [1] J. Cunningham, P. Hennig, S. Lacoste-Julien, "Gaussian probabilities and expectation
       propagation", arXiv:1111.6832, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_fw.gaussian_probability import EPProbitClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = EPProbitClassifier(optimizer=None).fit(X[:100], y[:100])
    >>> classifier.score(X[:100], y[:100])
    1.0
    """

    def fit(self, X, y):
        X, y = check.rows(self, X, y)
        self.classes_, places = check.classes(y)
        targets = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        observed = [process.sign_intervals(places == k, float(self.noise)) for k in targets]
        self._fit_processes(X, self._start_kernel(X), observed)
        return self

    def predict_proba(self, X):
        signs = process.positive_probability(*self.latent_mean_and_variance(X), float(self.noise))
        if signs.ndim == 2:
            return signs
        scores = signs[..., 1] + 1e-300
        return scores / scores.sum(axis=1, keepdims=True)
