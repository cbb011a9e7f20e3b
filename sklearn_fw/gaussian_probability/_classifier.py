"""Gaussian process classification with the probit link, by expectation propagation."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from .._core.validation import check_data, check_magnitude, check_strength
from ._latent import positive_probability, sign_bounds
from ._process import IntervalProcess, Intervals


class EPProbitClassifier(ClassifierMixin, IntervalProcess):
    """Gaussian process classifier with probit link, by expectation propagation.

    ``P(y = 1 | f) = Phi(f / noise)`` with f ~ GP(0, kernel). Hyper-parameters maximise the log
    evidence of expectation propagation. Several classes: each against the rest, normalised.

    Parameters
    ----------
    kernel : Kernel, default=None
        A kernel of `sklearn.gaussian_process.kernels`; None stands for a constant times an RBF that
        starts at the median distance of rows.
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
    ConvergenceWarning
        Where the sites did not come to rest.

    See Also
    --------
    BayesPointMachine : The same engine for a fixed kernel, without noise too.
    EPOrdinalClassifier : For labels that have an order.

    Notes
    -----
    2/3 n^3 operations for each sweep, and some five sweeps for each value of the hyper-parameters,
    which starts from the sites of the value before; O(n^2) per prediction. The search for
    hyper-parameters asks for marginals to 0.003 standard deviations, and ends when a step gains
    less than 1e-5 of the evidence; the posterior that is kept has ``tol``.

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

    def __init__(
        self, kernel=None, *, noise=1.0, optimizer="fmin_l_bfgs_b", n_restarts_optimizer=0,
        tol=1e-4, max_iter=100, random_state=None,
    ):  # fmt: skip
        self.kernel = kernel
        self.noise = noise
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X, y):
        """Choose the hyper-parameters and compute the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : EPProbitClassifier
            The fitted classifier.
        """
        self._check_process()
        noise = check_strength(self.noise, "noise")
        X, y = check_data(self, X, y, dtype=np.float64)
        check_magnitude(X, "X")
        check_classification_targets(y)
        self.classes_, places = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("needs labels of at least 2 classes, found one class in y")
        targets = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        signs = [np.where(places == target, 1.0, -1.0) for target in targets]
        observed = [Intervals(*sign_bounds(one), noise) for one in signs]
        self._fit_processes(X, self._start_kernel(X), observed)
        return self

    def predict_proba(self, X):
        """Probabilities of classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            One column per entry of ``classes_``.
        """
        mean, var = self.latent_mean_and_variance(X)
        if mean.ndim == 1:
            return positive_probability(mean, var, float(self.noise))
        scores = positive_probability(mean.ravel(), var.ravel(), float(self.noise))[:, 1]
        scores = scores.reshape(mean.shape) + 1e-300
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X):
        """Most probable labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]
