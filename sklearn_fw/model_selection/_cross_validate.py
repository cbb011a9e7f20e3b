"""Choice of a value of the grid by cross-validation along paths."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import Bunch, _safe_indexing, indexable
from sklearn.utils.parallel import delayed

from .._threads import parallel
from .._validation import check_sample_weight
from ._folds import split_folds
from ._path import regularization_path

__all__ = ["cross_validate_path"]


def cross_validate_path(
    estimator, X, y, *, sample_weight=None, cv=None, scoring=None, n_jobs=None, **options
):
    """Choose the strength of regularization by cross-validation along paths.

    One path on all data, whose grid is that of all folds, and one path per fold.

    Parameters
    ----------
    estimator : AsagaClassifier, AsagaRegressor or one whose path takes a grid
        Settings of the problem and of the solver; it is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Inputs.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Truth.
    sample_weight : array-like of shape (n_samples,), default=None
        Factors of the losses in the fits; the scores have no weights.
    cv : int, splitter, iterable or None, default=None
        Folds; stratified for class labels.
    scoring : str, callable or None, default=None
        Name of a scorer or ``scoring(estimator, X, y)``; None uses the estimator's score.
    n_jobs : int or None, default=None
        Folds in parallel, through joblib.
    **options : dict
        Options of `regularization_path`.

    Returns
    -------
    result : Bunch
        ``path`` on all data; ``scores`` of its values on the held-out parts, an ndarray of shape
        (n_splits, n_values); ``best_value``, of highest mean score and of these the most
        regularized; ``best_estimator``, fitted on all data.

    Raises
    ------
    TypeError
        When the path of the estimator takes no grid.

    See Also
    --------
    sklearn_fw.structured.StructuredSVMCV : The same for structured outputs.
    sklearn.model_selection.GridSearchCV : For any parameter, each value fitted on its own.

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
    X, y = indexable(X, y)
    path = regularization_path(estimator, X, y, sample_weight=sample_weight, **options)
    if path.grid_option is None:
        raise TypeError(
            f"the path of {type(estimator).__name__} chooses its breakpoints, which differ between "
            f"folds; for a StructuredSVM use sklearn_fw.structured.StructuredSVMCV"
        )
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, len(y))
    options[path.grid_option] = path.values_
    splits = split_folds(cv, y, None, len(y), is_classifier(estimator))
    scores = parallel(n_jobs)(
        delayed(_score_fold)(estimator, X, y, sample_weight, *fold, scoring, options)
        for fold in splits
    )
    best = path.values_[np.argmax(np.mean(scores, axis=0))]
    return Bunch(
        path=path, scores=np.array(scores), best_value=float(best),
        best_estimator=path.estimator_at(best),
    )  # fmt: skip


def _score_fold(estimator, X, y, sample_weight, train, test, scoring, options):
    """Scores on the test part of the path of the training part."""
    weight = None if sample_weight is None else sample_weight[train]
    path = regularization_path(
        estimator, _safe_indexing(X, train), _safe_indexing(y, train), sample_weight=weight,
        **options,
    )  # fmt: skip
    return path.score_path(_safe_indexing(X, test), _safe_indexing(y, test), scoring)
