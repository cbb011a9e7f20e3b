"""Choice of C by cross-validation along the regularization path."""

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ..model_selection import regularization_path
from ._items import length_of, take
from ._svm import StructuredSVM

__all__ = ["StructuredSVMCV"]


def _has_marginals(cv):
    inner = StructuredSVM() if cv.estimator is None else cv.estimator
    # The error of the estimator says why, if it has none.
    return bool(getattr(cv, "estimator_", inner).predict_marginals)


class StructuredSVMCV(BaseEstimator):
    """Structured SVM whose C is chosen by cross-validation along the regularization path.

    Every fold computes its whole path, so that the mean score is known for all C and not just for
    a grid; then one fit on all data at the best C.

    Parameters
    ----------
    estimator : StructuredSVM or None, default=None
        Model, oracle, solver and budget; None means the default one.
    eps : float, default=0.1
        Accuracy of the paths, in units of the task loss.
    kappa : float or None, default=None
        See `regularization_path`.
    C_max : float or None, default=None
        Largest C.
    mode : {"exact", "heuristic"}, default="exact"
        See `regularization_path`.
    cv : int, splitter, iterable or None, default=None
        Folds; stratified for class labels.
    scoring : callable or None, default=None
        ``scoring(estimator, X, y)``; None uses the estimator's score.
    n_jobs : int or None, default=None
        Folds in parallel, through joblib.

    Attributes
    ----------
    C_ : float
        Chosen value for all data.
    lam_ : float
        The same as 1 / (C n); this is what folds of different size share.
    estimator_ : StructuredSVM
        Fitted on all data.
    lambdas_ : ndarray of shape (n_pieces,)
        Upper ends of the pieces on which all folds have constant predictions, decreasing.
    scores_ : ndarray of shape (n_pieces, n_folds)
        Scores on the held-out part.
    paths_ : list of StructuredPath
        Path of each fold.
    classes_ : ndarray
        Labels, if the model has them.
    n_features_in_ : int
        Number of features, if the model has them.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : For any parameter, on a grid.

    Notes
    -----
    The mean score is a step function of lam. Of its best steps the one with the smallest C is
    taken, at the middle of the step on a log scale.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_fw import StructuredSVM
    >>> from sklearn_fw.structured import StructuredSVMCV
    >>> X, y = load_iris(return_X_y=True)
    >>> svm = StructuredSVMCV(StructuredSVM(random_state=0, max_iter=1000), eps=0.3, C_max=1.0)
    >>> svm.fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        estimator=None,
        *,
        eps=0.1,
        kappa=None,
        C_max=None,
        mode="exact",
        cv=None,
        scoring=None,
        n_jobs=None,
    ):
        self.estimator = estimator
        self.eps = eps
        self.kappa = kappa
        self.C_max = C_max
        self.mode = mode
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs

    def fit(self, X, y):
        """Choose C and fit on all data.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.
        y : array-like, list, object array or Packed of n_samples outputs
            Outputs.

        Returns
        -------
        self : StructuredSVMCV
            The fitted estimator.
        """
        estimator = StructuredSVM() if self.estimator is None else self.estimator
        if not isinstance(estimator, StructuredSVM):
            raise TypeError(f"estimator must be a StructuredSVM, got {type(estimator).__name__}")
        n_samples = length_of(X, "X")
        folds = check_cv(self.cv, y, classifier=is_classifier(estimator))
        options = {"eps": self.eps, "kappa": self.kappa, "mode": self.mode}
        results = Parallel(n_jobs=self.n_jobs)(
            delayed(_path_of_fold)(
                estimator, X, y, train, test, self.C_max, n_samples, self.scoring, options
            )
            for train, test in folds.split(np.zeros(n_samples), y)
        )
        self.paths_ = [path for path, _ in results]
        self.lambdas_, self.scores_, end = _merge_steps(results)
        mean = self.scores_.mean(axis=1)
        best = int(np.argmax(mean))  # the first: largest lam, most regularised
        last = best
        while last + 1 < len(mean) and mean[last + 1] == mean[best]:
            last += 1
        lower = self.lambdas_[last + 1] if last + 1 < len(mean) else end
        # A step without a lower end is entered by one factor of its upper end.
        upper = self.lambdas_[best]
        self.lam_ = float(np.sqrt(upper * lower)) if lower > 0 else float(upper)
        self.C_ = 1.0 / (self.lam_ * n_samples)
        self.estimator_ = clone(estimator).set_params(C=self.C_).fit(X, y)
        for name in ("classes_", "n_features_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict(self, X):
        """Outputs of highest score.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Outputs, as `StructuredSVM.predict` gives them.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def score_samples(self, X):
        """Score of the predicted output of every sample.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            ``max_y <coef_, phi(x, y)>``.
        """
        check_is_fitted(self)
        return self.estimator_.score_samples(X)

    @available_if(_has_marginals)
    def predict_marginals(self, X):
        """Probabilities of the states of all nodes, see `StructuredSVM.predict_marginals`.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        marginals : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels, 2)
            Probabilities, or an object array of arrays for sequences.
        """
        check_is_fitted(self)
        return self.estimator_.predict_marginals(X)

    def score(self, X, y):
        """Score of the chosen estimator, by ``scoring`` if given.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.
        y : array-like, list, object array or Packed of n_samples outputs
            Outputs.

        Returns
        -------
        score : float
            Larger is better.
        """
        check_is_fitted(self)
        return float(check_scoring(self.estimator_, self.scoring)(self.estimator_, X, y))

    def __sklearn_tags__(self):
        inner = StructuredSVM() if self.estimator is None else self.estimator
        return inner.__sklearn_tags__()


def _path_of_fold(estimator, X, y, train, test, C_max, n_samples, scoring, options):
    """Path on the training part of a fold and its scores on the rest."""
    if C_max is not None:
        C_max = C_max * n_samples / len(train)  # the same lam as on all data
    path = regularization_path(estimator, take(X, train), take(y, train), C_max=C_max, **options)
    return path, path.score_path(take(X, test), take(y, test), scoring)


def _merge_steps(results):
    """Common pieces of the folds' step functions: upper ends, scores (pieces, folds), lower end."""
    end = max(path.lam_end_ for path, _ in results)
    lambdas = np.unique(np.concatenate([path.lambdas_ for path, _ in results]))[::-1]
    lambdas = lambdas[lambdas > end]
    columns = []
    for path, scores in results:
        # Above its first breakpoint a fold predicts as at it: the weights only change in length.
        piece = np.searchsorted(-path.lambdas_, -lambdas, side="right") - 1
        columns.append(scores[np.maximum(piece, 0)])
    return lambdas, np.stack(columns, axis=1), end
