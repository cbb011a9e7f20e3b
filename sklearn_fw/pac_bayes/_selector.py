"""Choice and average of models by their evidence, with bounds over the choice."""

from dataclasses import KW_ONLY
from functools import partial
from numbers import Real

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.estimator import Estimator, ScoreMixin
from .._core.threads import parallel
from ._bounds import check_delta, check_models, model_selection_bounds
from ._regression import PACBayesLinearRegression


class PACBayesModelSelector(ScoreMixin, MetaEstimatorMixin, Estimator):
    """Model selection or averaging by the evidence, with PAC-Bayes bounds.

    Weights are ``p_i Z_i`` with the prior weights p and the marginal likelihoods Z. No data are
    held out, and the bounds of `model_selection_bounds` hold for all models at once.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A regressor with ``log_evidence_`` after fit, or a Pipeline that ends in one; None is
        `PACBayesLinearRegression`.
    param_grid : dict, list of dict or None, default=None
        Grid of parameters as in GridSearchCV, ``{"polynomialfeatures__degree": [1, 2]}``; None
        is the estimator alone.
    mode : {"average", "select"}, default="average"
        Whether to predict by all models or by the best one.
    log_prior : array-like of shape (n_models,) or None, default=None
        Logs of the prior weights, in the order of ``params_``; None takes equal ones.
    delta : float, default=0.05
        Probability that the bounds fail.
    gap : float, array-like of shape (n_models,) or None, default=None
        What the bounds of the models add (see `model_selection_bounds`), known before the data are
        seen; None gives no bounds.
    n_jobs : int or None, default=None
        Parallel fits, through joblib.

    Attributes
    ----------
    params_, estimators_ : list of dict, list of estimators
        Parameters of the models, and fitted models.
    log_evidences_ : ndarray of shape (n_models,)
        Logs of the marginal likelihoods.
    posterior_weights_ : ndarray of shape (n_models,)
        Weights of the models; they sum to one.
    best_index_, best_params_, best_estimator_ : int, dict, estimator
        Number of the model with the largest weight, its parameters, and the model.
    selection_penalty_ : float
        What selection costs against averaging, in nats per sample: ``(ln sum_i p_i Z_i - max_i ln
        p_i Z_i) / n``.
    bounds_, averaging_bound_ : ndarray of shape (n_models,), float, or None
        Bounds on the expected negative log-likelihood of each, and of the average.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.

    See Also
    --------
    PACBayesLinearRegression : The usual model.
    sklearn.model_selection.GridSearchCV : Choice by held-out data.

    Notes
    -----
    A step of a Pipeline that learns from the samples (StandardScaler) voids the bounds.

    References
    ----------
    .. [1] As of `PACBayesLinearRegression`: section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.pac_bayes import PACBayesModelSelector
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> grid = {"prior_variance": [0.01, 1.0]}
    >>> PACBayesModelSelector(param_grid=grid).fit(X, X @ [1.0, -1.0]).best_params_
    {'prior_variance': 1.0}
    """

    estimator: object = None
    param_grid: object = None
    _: KW_ONLY
    mode: check.options("average", "select") = "average"
    log_prior: object = None
    delta: check_delta = 0.05
    gap: object = None
    n_jobs: int | None = None

    def fit(self, X, y):
        """Fit all models.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
            Inputs and targets.
        """
        estimator = PACBayesLinearRegression() if self.estimator is None else self.estimator
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise TypeError(f"estimator must be an estimator, got {estimator!r:.60}")
        self.params_ = self._grid()
        _, log_prior = check_models(np.zeros(len(self.params_)), self.log_prior)
        self.estimators_ = parallel(self.n_jobs)(
            delayed(clone(estimator).set_params(**params).fit)(X, y) for params in self.params_
        )
        self.log_evidences_ = np.array([_evidence(model) for model in self.estimators_])
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimators_[0], name):
                setattr(self, name, getattr(self.estimators_[0], name))
        logs = self.log_evidences_ + log_prior
        self.posterior_weights_ = softmax(logs)
        self.best_index_ = int(np.argmax(logs))
        self.best_params_ = self.params_[self.best_index_]
        self.best_estimator_ = self.estimators_[self.best_index_]
        n = len(np.asarray(y))
        self.selection_penalty_ = max(0.0, float(logsumexp(logs) - logs.max())) / n
        self.bounds_ = self.averaging_bound_ = None
        if self.gap is not None:
            given, options = (self.log_evidences_, n, self.delta), {"log_prior": log_prior}
            bounds = partial(model_selection_bounds, *given, gap=self.gap, **options)
            self.bounds_, self.averaging_bound_ = bounds(), bounds(average=True)
        return self

    def _grid(self):
        if self.param_grid is None:
            return [{}]
        try:
            found = list(ParameterGrid(self.param_grid))
        except (TypeError, ValueError) as error:
            raise type(error)(f"param_grid: {error}") from None
        if not found:
            raise ValueError("param_grid must name at least one model")
        return found

    def predict(self, X, return_std=False):
        """Means of the predictive distribution.

        Parameters
        ----------
        X, return_std : array-like of shape (n_samples, n_features), bool, default=False
            Inputs, and whether to return standard deviations.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Means.
        std : ndarray of shape (n_samples,)
            With ``return_std``: of the mixture of the models, or of the best one.
        """
        check_is_fitted(self)
        return_std = check.flag(return_std, "return_std")
        options = {"return_std": True} if return_std else {}
        if self.mode == "select":
            return self.best_estimator_.predict(X, **options)
        found = [model.predict(X, **options) for model in self.estimators_]
        weights = self.posterior_weights_
        if not return_std:
            return weights @ np.array(found)
        means, stds = (np.array(part) for part in zip(*found))
        mean = weights @ means
        return mean, np.sqrt(np.maximum(weights @ (stds**2 + (means - mean) ** 2), 0.0))


def _evidence(model):
    last = model[-1] if isinstance(model, Pipeline) else model
    evidence = getattr(last, "log_evidence_", None)
    if not isinstance(evidence, Real):
        raise TypeError(f"estimator must have log_evidence_ after fit, got {type(last).__name__}")
    return check.number(evidence, "log_evidence_")
