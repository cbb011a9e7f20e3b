"""Choice of a value by cross-validation along paths, as a function and as an estimator."""

import math
from dataclasses import KW_ONLY
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, assert_all_finite, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.budget import budget_now, shared, time_budget
from .._core.estimator import Estimator
from .._core.packed import length_of, take
from .._core.threads import n_workers, parallel
from ._path import accepts, check_has_path, check_scorer, regularization_path, score_with


def split_folds(cv, y, groups, n_samples, classifier):
    """The folds as pairs of index arrays, stratified by ``y`` for a ``classifier``; checked."""
    if isinstance(cv, str | bytes | type):  # texts have a method split, too
        raise ValueError(
            f"cv must be an integer, a splitter, pairs of indices or None, got {cv!r:.60}"
        )
    if cv is None or hasattr(cv, "split") or not np.iterable(cv):
        if classifier:
            labels = np.asarray(y)
            if labels.dtype.kind == "f":  # check_cv would make integers of them
                assert_all_finite(labels, input_name="y")
        splitter = check_cv(cv, y if classifier else None, classifier=classifier)
        cv = splitter.split(np.zeros(n_samples), y, groups)
    folds = []
    for k, fold in enumerate(cv):
        try:
            train, test = (_as_index(part, n_samples) for part in fold)
        except (TypeError, ValueError, IndexError) as error:
            wanted = f"a pair (train, test) of indices of {n_samples} samples"
            raise ValueError(f"fold {k} of cv must be {wanted}: {error}") from None
        folds.append((train, test))
    if not folds:
        raise ValueError("cv has no folds: cv must give at least one pair (train, test)")
    return folds


def _as_index(part, n_samples):
    """Indices of samples, from indices or from a mask."""
    part = np.asarray(part)
    index = np.arange(n_samples)[part] if part.size else part
    if index.ndim != 1 or index.size == 0:
        raise ValueError(f"got a part of shape {index.shape}, which has no sample")
    return index


def cross_validate_path(
    estimator,
    X,
    y,
    *,
    sample_weight=None,
    groups=None,
    n_values=30,
    cv=None,
    scoring=None,
    n_jobs=None,
    time_limit=None,
    **options,
):
    """Choose the strength of regularization by cross-validation along paths.

    Each fold computes its path, on which a value costs one prediction. A path on a grid is computed
    on all data first, which gives the grid and the solution. Paths that hold between their ends are
    computed for the folds only, and one fit on all data ends the search.

    Parameters
    ----------
    estimator : StructuredSVM, AsagaClassifier, AsagaRegressor or one with a path of its own
        Settings of the problem and of the solver; it is not changed.
    X, y : {array-like, sparse matrix} or list of length n_samples
        Inputs and outputs as the estimator takes them.
    sample_weight : array-like of shape (n_samples,), default=None
        Factors of the losses in the fits, and weights in the scores.
    groups : array-like of shape (n_samples,), default=None
        Groups for splitters that keep them together.
    n_values : int, default=30
        Number of values to evaluate, if the options give none.
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds; stratified for class labels.
    scoring : str, callable or None, default=None
        Name of a scorer of `sklearn_fw.metrics.SCORERS` or, for outputs in arrays, of
        scikit-learn; or ``scoring(estimator, X, y)``; None uses the estimator's score.
    n_jobs : int or None, default=None
        Folds in parallel, through joblib.
    time_limit : float or None, default=None
        Seconds for everything.
    **options : dict
        Options of `regularization_path`. Ends of a path such as ``C_max`` are meant for all data.

    Returns
    -------
    result : Bunch
        ``param_values``, from strong to weak regularization; their ``scores`` on the held-out
        parts, an ndarray of shape (n_splits, n_values); ``best_value``, of highest mean score: the
        middle one of the most regularized run of equal ones; ``best_estimator``, fitted on all
        data; ``paths`` of the folds, and None, or None and the ``path`` on all data, for a grid.

    See Also
    --------
    RegularizationPathCV : The same as an estimator.
    sklearn.model_selection.GridSearchCV : For any parameter, each value fitted on its own.

    Notes
    -----
    Where the parameter multiplies the sum of losses over samples, as C of a structured SVM does, a
    fold gets it in proportion to its weight, so that all folds pose one problem. The linear models
    are evaluated at the C given, as in scikit-learn. A `StructuredSVM` with ``C="auto"`` has its
    features scaled as in its fit, see `StructuredSVMCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_fw import AsagaClassifier
    >>> from sklearn_fw.model_selection import cross_validate_path
    >>> X, y = load_iris(return_X_y=True)
    >>> lasso = AsagaClassifier(l1_ratio=1.0, max_iter=2000, random_state=0)
    >>> result = cross_validate_path(lasso, X, y, cv=3, n_values=5, ratio=0.01)
    >>> result.scores.shape, result.best_estimator.score(X, y) > 0.95
    ((3, 5), True)
    """
    check_has_path(estimator)
    kind = getattr(estimator, "_path_class", lambda: None)()
    n_values, n_samples = check.integer(n_values, "n_values", 1), length_of(X, "X")
    if y is not None:
        check.samples(y, "y")
    X, y = indexable(X, y)
    # "auto" becomes what it means for these outputs before scikit-learn looks at them.
    estimator, resolved = getattr(estimator, "_resolved", lambda *_: (estimator, estimator))(X, y)
    scorer = None if scoring is None else check_scorer(resolved, scoring)
    weight = None if sample_weight is None else check.sample_weight(sample_weight, n_samples)
    groups = _check_groups(groups, n_samples)
    folds = split_folds(cv, y, groups, n_samples, is_classifier(resolved))
    folds = [_Fold(estimator, X, y, weight, scorer, *fold) for fold in folds]
    with time_budget(time_limit):
        if kind is None or kind.grid_option is not None:
            return _on_grid(folds, n_jobs, n_values, options)
        return _between(folds, n_jobs, n_values, options, kind)


class _Fold(NamedTuple):
    """Data of which a part is learned from, and another one is predicted."""

    estimator: object
    X: object
    y: object
    weight: object  # of all samples, or None
    scorer: object
    train: np.ndarray
    test: np.ndarray

    @property
    def share(self):
        """Weight of the samples that are learned from as a fraction of that of all."""
        if self.weight is None:
            return len(self.train) / length_of(self.X, "X")
        return self.weight[self.train].sum() / self.weight.sum()

    def _part(self, index):
        weight = None if self.weight is None else self.weight[index]
        return {"X": take(self.X, index), "y": take(self.y, index), "sample_weight": weight}

    def path(self, options):
        return regularization_path(self.estimator, **self._part(self.train), **options)

    def scores(self, path, values):
        return path.score_path(scoring=self.scorer, at=values, **self._part(self.test))

    def scores_on_grid(self, options, n_values, turn):
        """Scores of a path of ``n_values`` values; NaN where its time was over."""
        with time_budget(budget_now().share(turn)):
            path = self.path(options)
        scores = self.scores(path, path.values_)
        return np.append(scores, np.full(n_values - len(scores), np.nan))


def _parallel(n_jobs, task, folds, *args):
    """Results of a task for all folds, each with the current budget."""
    task = shared(task)
    calls = zip(folds, *args, strict=True)
    return parallel(n_jobs)(delayed(task)(*call) for call in calls)


def _on_grid(folds, n_jobs, n_values, options):
    """One path on all data, whose grid is that of all folds."""
    estimator, X, y, weight, *_ = folds[0]
    if accepts(estimator._regularization_path, "n_values"):
        options = {"n_values": n_values} | options
    with time_budget(budget_now().share(1.0 / (len(folds) + 1))):
        path = regularization_path(estimator, X, y, sample_weight=weight, **options)
    if path.grid_option is None:
        raise TypeError(
            f"the path of {type(estimator).__name__} has no grid_option, by which folds "
            f"would get the same values: give the estimator a method _path_class that returns "
            f"the class of a path that holds between its ends"
        )
    options = options | {path.grid_option: path.values_}
    n_folds, n_parallel = len(folds), n_workers(n_jobs)
    turns = [1.0 / math.ceil((n_folds - k) / n_parallel) for k in range(n_folds)]
    same = [options] * n_folds, [len(path.values_)] * n_folds
    scores = np.array(_parallel(n_jobs, _Fold.scores_on_grid, folds, *same, turns))
    best = _best(scores, path.values_)
    return Bunch(
        param_values=path.values_, scores=scores, best_value=best,
        best_estimator=path.estimator_at(best), path=path, paths=None,
    )  # fmt: skip


def _between(folds, n_jobs, n_values, options, kind):
    """Paths of the folds, judged between the ends that all of them have."""
    ends = f"{kind.param_name}_min", f"{kind.param_name}_max"
    shares = [fold.share if kind.of_sum else 1.0 for fold in folds]
    # Other values than numbers go on to the path, which refuses them.
    numbers = [end for end in ends if isinstance(options.get(end), Real)]
    numbers = [end for end in numbers if not isinstance(options[end], bool)]
    given = {end: check.number(options[end], end) for end in numbers}
    own = [options | {end: value / share for end, value in given.items()} for share in shares]
    paths = _parallel(n_jobs, _Fold.path, folds, own)
    start, last, stop = np.transpose([
        (path.values_[0] * share, path.values_[-1] * share, path.end_ * share)
        for path, share in zip(paths, shares)
    ])  # fmt: skip
    start, stop = start.max(), min(stop.min(), last.max(), given.get(ends[1], np.inf))
    values = np.geomspace(start, max(start, stop), n_values)
    scores = _parallel(n_jobs, _Fold.scores, folds, paths, [values / share for share in shares])
    best = _best(np.array(scores), values)
    estimator, X, y, weight, *_ = folds[0]
    chosen = clone(estimator).set_params(**paths[0]._params_at(best))
    chosen.fit(X, y, sample_weight=weight)
    return Bunch(
        param_values=values, scores=np.array(scores), best_value=best, best_estimator=chosen,
        path=None, paths=paths,
    )  # fmt: skip


def _best(scores, values):
    """Value of highest mean score; of equal ones in a row the middle, where choices are safest."""
    mean = scores.mean(axis=0)
    best = last = int(np.nanargmax(mean))  # the first: most regularized
    while last + 1 < len(mean) and mean[last + 1] == mean[best]:
        last += 1
    return float(values[(best + last) // 2])


def _check_groups(groups, n_samples):
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (n_samples,):
        raise ValueError(f"groups must have shape ({n_samples},), got {groups.shape}")
    check.find_labels(groups, "groups")
    return groups


def _has(name):
    """Whether what predicts has a method; its own error says why, if it has not."""
    return available_if(
        lambda search: bool(getattr(getattr(search, "best_estimator_", search._inner()), name))
    )


class RegularizationPathCV(Estimator):
    """Choice of the regularization strength by cross-validation along paths.

    `cross_validate_path` as an estimator: a grid search along paths.

    Parameters
    ----------
    estimator : StructuredSVM, AsagaClassifier, AsagaRegressor or one with a path of its own
        Model, solver and budget.
    path_options : dict or None, default=None
        Options of `regularization_path` by name.
    n_values : int, default=30
        Number of values to evaluate, if the options give none.
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
    values_, scores_ : ndarray of shape (n_values,) and (n_splits, n_values)
        Values that were evaluated, from strong to weak regularization, and scores on the held-out
        parts.
    paths_, path_ : list of RegularizationPath, RegularizationPath
        Paths of the folds, if they hold between their ends; else None, and the path on all data.
    classes_, n_features_in_ : ndarray, int
        Labels and number of features, if the estimator has them.

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

    estimator: object
    _: KW_ONLY
    path_options: object = None
    n_values: int = 30
    cv: object = None
    scoring: object = None
    n_jobs: int | None = None
    time_limit: float | None = None

    def _inner(self):
        return self.estimator

    def _options(self):
        options = {} if self.path_options is None else self.path_options
        if not isinstance(options, dict):
            raise TypeError(f"path_options must be a dict or None, got {options!r}")
        return options

    def fit(self, X, y, sample_weight=None, groups=None):
        """Choose the value, and fit on all data.

        Parameters
        ----------
        X, y : {array-like, sparse matrix} or list of length n_samples
            Inputs and outputs as the estimator takes them.
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
            self._inner(), X, y, sample_weight=sample_weight, groups=groups, cv=self.cv,
            scoring=self.scoring, n_jobs=self.n_jobs, time_limit=self.time_limit,
            **({"n_values": self.n_values} | self._options()),
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
        """Return the predictions of the chosen estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} or list of n_samples inputs
            Inputs as the estimator takes them.
        """
        return self._fitted().predict(X)

    @_has("decision_function")
    def decision_function(self, X):
        """Scores of the classes, see the estimator."""
        return self._fitted().decision_function(X)

    @_has("predict_proba")
    def predict_proba(self, X):
        """Probabilities of the classes, see the estimator."""
        return self._fitted().predict_proba(X)

    @_has("score_samples")
    def score_samples(self, X):
        """Score of the predicted output of every sample, see the estimator."""
        return self._fitted().score_samples(X)

    @_has("predict_marginals")
    def predict_marginals(self, X):
        """Probabilities of the states of all nodes, see the estimator."""
        return self._fitted().predict_marginals(X)

    def score(self, X, y, sample_weight=None):
        """Return the score of the chosen estimator, by ``scoring`` if given.

        Parameters
        ----------
        X, y : {array-like, sparse matrix} or list of length n_samples
            Inputs and true outputs as the estimator takes them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.
        """
        scorer = check_scorer(self._fitted(), self.scoring)
        return float(score_with(scorer, self.best_estimator_, X, y, sample_weight))

    def __sklearn_tags__(self):
        return self._inner().__sklearn_tags__()
