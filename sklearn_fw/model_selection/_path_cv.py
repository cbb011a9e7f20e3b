"""Choice of a value by cross-validation along paths, as an estimator."""

from abc import abstractmethod

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.estimator import Estimator
from ._cross_validate import cross_validate_path
from ._scoring import check_scorer, score_with


def _has(name):
    """Whether what predicts has a method; its own error says why, if it has not."""
    return available_if(
        lambda search: bool(getattr(getattr(search, "best_estimator_", search._inner()), name))
    )


class PathSearch(Estimator):
    """Base of searches along paths: a subclass says which estimator, and the options of its path.

    Subclasses have the parameters ``n_values``, ``cv``, ``scoring``, ``n_jobs`` and ``time_limit``.
    """

    @abstractmethod
    def _inner(self):
        """The estimator whose path is followed."""

    @abstractmethod
    def _options(self):
        """Options of its path."""

    def fit(self, X, y, sample_weight=None, groups=None):
        """Choose the value, and fit on all data.

        Parameters
        ----------
        X : {array-like, sparse matrix} or list of n_samples inputs
            Inputs as the estimator takes them.
        y : array-like or list of n_samples outputs
            Outputs as the estimator takes them.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses in the fits, and weights in the scores.
        groups : array-like of shape (n_samples,), default=None
            Groups for splitters that keep them together.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        found = cross_validate_path(
            self._inner(), X, y, sample_weight=sample_weight, groups=groups,
            n_values=self.n_values, cv=self.cv, scoring=self.scoring, n_jobs=self.n_jobs,
            time_limit=self.time_limit, **self._options(),
        )  # fmt: skip
        self.best_value_, self.best_estimator_ = found.best_value, found.best_estimator
        self.values_, self.scores_ = found.param_values, found.scores
        self.path_, self.paths_ = found.path, found.paths
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def _fitted(self):
        check_is_fitted(self)
        return self.best_estimator_

    def predict(self, X):
        """Predictions of the chosen estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} or list of n_samples inputs
            Inputs as the estimator takes them.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            What the estimator predicts.
        """
        return self._fitted().predict(X)

    @_has("decision_function")
    def decision_function(self, X):
        """Scores of the classes, see the estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Larger is more likely.
        """
        return self._fitted().decision_function(X)

    @_has("score_samples")
    def score_samples(self, X):
        """Score of the predicted output of every sample, see the estimator.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Larger is more likely.
        """
        return self._fitted().score_samples(X)

    @_has("predict_marginals")
    def predict_marginals(self, X):
        """Probabilities of the states of all nodes, see the estimator.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        marginals : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels, 2)
            Probabilities, or an object array of arrays for sequences.
        """
        return self._fitted().predict_marginals(X)

    def score(self, X, y, sample_weight=None):
        """Score of the chosen estimator, by ``scoring`` if given.

        Parameters
        ----------
        X : {array-like, sparse matrix} or list of n_samples inputs
            Inputs as the estimator takes them.
        y : array-like or list of n_samples outputs
            Truth.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            Larger is better.
        """
        scorer = check_scorer(self._fitted(), self.scoring)
        return float(score_with(scorer, self.best_estimator_, X, y, sample_weight))

    def __sklearn_tags__(self):
        return self._inner().__sklearn_tags__()


class RegularizationPathCV(PathSearch):
    """An estimator whose strength of regularization is chosen by cross-validation along paths.

    `cross_validate_path` as an estimator: in place of a grid search, which fits every value on its
    own.

    Parameters
    ----------
    estimator : StructuredSVM, AsagaClassifier, AsagaRegressor or one with a path of its own
        Model, solver and budget.
    path_options : dict or None, default=None
        Options of `regularization_path` by name.
    n_values : int, default=30
        How many values are judged, if the options give none.
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds; stratified for class labels.
    scoring : str, callable or None, default=None
        Name of a scorer of `sklearn_fw.metrics.SCORERS` or, for outputs in arrays, of
        scikit-learn; or ``scoring(estimator, X, y)``; None uses the estimator's score.
    n_jobs : int or None, default=None
        Folds in parallel, through joblib.
    time_limit : float or None, default=None
        Seconds for everything; what is begun later makes one pass or ends at once.

    Attributes
    ----------
    best_value_ : float
        Chosen value.
    best_estimator_ : estimator
        Fitted on all data.
    values_ : ndarray of shape (n_values,)
        Values that were judged, from strong to weak regularization.
    scores_ : ndarray of shape (n_splits, n_values)
        Scores on the held-out parts.
    paths_ : list of RegularizationPath or None
        Paths of the folds, if they hold between their ends.
    path_ : RegularizationPath or None
        Path on all data, for a grid.
    classes_ : ndarray
        Labels, if the estimator has them.
    n_features_in_ : int
        Number of features, if the estimator has them.

    See Also
    --------
    sklearn_fw.structured.StructuredSVMCV : With the options of structured paths as parameters.
    sklearn.model_selection.GridSearchCV : For any parameter, each value fitted on its own.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_fw import AsagaRegressor
    >>> from sklearn_fw.model_selection import RegularizationPathCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> lasso = RegularizationPathCV(AsagaRegressor(l1_ratio=1.0, max_iter=1000), cv=3, n_values=5)
    >>> lasso.fit(X, y).scores_.shape
    (3, 5)
    """

    def __init__(
        self,
        estimator,
        *,
        path_options=None,
        n_values=30,
        cv=None,
        scoring=None,
        n_jobs=None,
        time_limit=None,
    ):
        self.estimator = estimator
        self.path_options = path_options
        self.n_values = n_values
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.time_limit = time_limit

    def _inner(self):
        return self.estimator

    def _options(self):
        options = {} if self.path_options is None else self.path_options
        if not isinstance(options, dict):
            raise TypeError(f"path_options must be a dict or None, got {options!r}")
        return options

    @_has("predict_proba")
    def predict_proba(self, X):
        """Probabilities of the classes, see the estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Rows sum to one.
        """
        return self._fitted().predict_proba(X)
