"""Gaussian process classification with the probit link, by expectation propagation."""

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._validation import (
    check_array_of_numbers,
    check_data,
    check_flag,
    check_integer,
    check_magnitude,
    check_positive,
    check_random_state,
    check_strength,
)
from ._latent import LatentSigns, positive_probability

__all__ = ["EPProbitClassifier"]

ROWS = 500  # of which the median distance is taken
# The evidence is stationary in the sites: its error is of the order of the square of this
# change of a marginal, as the relative decrease at which the search for hyper-parameters ends.
TOL, DECREASE = 3e-3, 1e-5


class EPProbitClassifier(ClassifierMixin, BaseEstimator):
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

    Raises
    ------
    ValueError
        For parameters out of range and fewer than two classes.

    See Also
    --------
    BayesPointMachine : The same engine for a fixed kernel, without noise too.

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
        self._check_parameters()
        X, y = check_data(self, X, y, dtype=np.float64)
        check_magnitude(X, "X")
        check_classification_targets(y)
        self.classes_, places = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("needs labels of at least 2 classes, found one class in y")
        self.X_train_ = X
        start = _default_kernel(X) if self.kernel is None else clone(self.kernel)
        targets = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        rng = check_random_state(self.random_state)
        self._signs = [np.where(places == target, 1.0, -1.0) for target in targets]
        fits = [self._fit_one(clone(start), signs, rng) for signs in self._signs]
        self._kernels, self._posteriors = (list(part) for part in zip(*fits, strict=True))
        self.kernel_ = self._kernels[0] if len(fits) == 1 else self._kernels
        self.log_marginal_likelihood_value_ = float(
            np.mean([posterior.log_evidence for posterior in self._posteriors])
        )
        self.n_iter_ = max(posterior.sites.n_iter for posterior in self._posteriors)
        return self

    def _check_parameters(self):
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel must be a kernel of sklearn.gaussian_process.kernels or None, got "
                f"{self.kernel!r}"
            )
        if self.optimizer not in (None, "fmin_l_bfgs_b"):
            raise ValueError(f"optimizer must be 'fmin_l_bfgs_b' or None, got {self.optimizer!r}")
        check_strength(self.noise, "noise")
        check_positive(self.tol, "tol")
        check_integer(self.max_iter, "max_iter", 1)
        check_integer(self.n_restarts_optimizer, "n_restarts_optimizer", 0)

    def _posterior(self, K, signs, start=None, tol=0.0):
        tol = max(tol, float(self.tol))
        posterior = LatentSigns(K, signs, float(self.noise), tol, self.max_iter, start)
        if posterior.sites is None:
            raise ValueError("kernel leaves no mass to the labels: raise noise")
        return posterior

    def _fit_one(self, kernel, signs, rng):
        """Kernel and posterior of one class against the rest."""
        state = {"sites": None}

        def objective(theta):
            K, K_gradient = kernel.clone_with_theta(theta)(self.X_train_, eval_gradient=True)
            posterior = self._posterior(K, signs, state["sites"], TOL)
            state["sites"] = posterior.sites
            return -posterior.log_evidence, -posterior.gradient(K_gradient)

        if self.optimizer is not None and kernel.n_dims:
            bounds = kernel.bounds
            starts = [kernel.theta]
            if self.n_restarts_optimizer:
                if not np.all(np.isfinite(bounds)):
                    raise ValueError("n_restarts_optimizer needs finite bounds in kernel")
                size = (self.n_restarts_optimizer, len(bounds))
                starts += list(rng.uniform(bounds[:, 0], bounds[:, 1], size=size))
            options = {"jac": True, "method": "L-BFGS-B", "bounds": bounds}
            answers = [
                minimize(objective, theta, options={"ftol": DECREASE}, **options)
                for theta in starts
            ]
            kernel.theta = min(answers, key=lambda answer: answer.fun).x
        return kernel, self._posterior(kernel(self.X_train_), signs, state["sites"])

    def latent_mean_and_variance(self, X):
        """Mean and variance of the latent values of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Means; one column per class for more than two.
        var : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Variances.
        """
        check_is_fitted(self)
        X = check_data(self, X, dtype=np.float64, reset=False)
        check_magnitude(X, "X")
        parts = [
            posterior.predict(kernel(X, self.X_train_), kernel.diag(X))
            for kernel, posterior in zip(self._kernels, self._posteriors, strict=True)
        ]
        if len(parts) == 1:
            return parts[0]
        means, variances = zip(*parts, strict=True)
        return np.column_stack(means), np.column_stack(variances)

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

    def log_marginal_likelihood(self, theta=None, eval_gradient=False):
        """Log evidence of hyper-parameters.

        Parameters
        ----------
        theta : array-like of shape (n_params,), default=None
            Logarithms of the hyper-parameters, for all classes; None for those in use.
        eval_gradient : bool, default=False
            Whether to return the gradient in ``theta`` too.

        Returns
        -------
        log_evidence : float
            The mean over classes for more than two.
        gradient : ndarray of shape (n_params,)
            Its gradient, only with ``eval_gradient=True``.
        """
        check_is_fitted(self)
        eval_gradient = check_flag(eval_gradient, "eval_gradient")
        if theta is not None:
            theta = check_array_of_numbers(theta, "theta")
            n_dims = self._kernels[0].n_dims
            if theta.shape != (n_dims,) or np.any(np.abs(theta) > 100.0):
                raise ValueError(
                    f"theta must hold {n_dims} logarithms between -100 and 100, got {theta}"
                )
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        values, gradients = [], []
        for kernel, signs in zip(self._kernels, self._signs, strict=True):
            kernel = kernel if theta is None else kernel.clone_with_theta(theta)
            K, K_gradient = kernel(self.X_train_, eval_gradient=True)
            posterior = self._posterior(K, signs)
            values.append(posterior.log_evidence)
            gradients.append(posterior.gradient(K_gradient))
        value = float(np.mean(values))
        return (value, np.mean(gradients, axis=0)) if eval_gradient else value


def _default_kernel(X):
    distance = float(np.median(pdist(X[:: max(len(X) // ROWS, 1)]))) if len(X) > 1 else 1.0
    distance = min(max(distance, 1e-6), 1e6)
    bounds = (1e-2 * distance, 1e2 * distance)
    return ConstantKernel(1.0, (1e-2, 1e4)) * RBF(distance, bounds)
