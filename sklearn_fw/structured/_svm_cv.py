"""Choice of C by cross-validation along the regularization path."""

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_is_fitted

from .._threads import parallel
from .._validation import check_integer, check_sample_weight, check_strength, find_labels
from ..model_selection import regularization_path
from ..model_selection._folds import split_folds
from ..model_selection._scoring import check_scorer
from ._items import length_of, take
from ._models._resolve import resolve_model
from ._solvers import has_radius, resolve_solver
from ._svm import StructuredSVM

__all__ = ["StructuredSVMCV"]


def _has_marginals(cv):
    inner = StructuredSVM() if cv.estimator is None else cv.estimator
    # The error of the estimator says why, if it has none.
    return bool(getattr(cv, "estimator_", inner).predict_marginals)


class StructuredSVMCV(BaseEstimator):
    """Structured SVM whose C is chosen by cross-validation along the regularization path.

    Every fold computes its whole path, on which any C can be judged; many are, since a score costs
    one prediction. Then one fit on all data at the best C.

    Parameters
    ----------
    estimator : StructuredSVM or None, default=None
        Model, oracle, solver and budget; None means the default one.
    eps : float or None, default=None
        Accuracy of the paths, see `regularization_path`.
    kappa : float or None, default=None
        See `regularization_path`.
    C_min, C_max : float or None, default=None
        Smallest and largest C, in terms of all data.
    n_values : int, default=30
        How many values of C are judged, spread evenly on a log scale.
    mode : {"exact", "heuristic"}, default="exact"
        See `regularization_path`.
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds; stratified for class labels.
    scoring : str, callable or None, default=None
        Name of a scorer of `sklearn_fw.metrics.SCORERS` or, for outputs in arrays, of
        scikit-learn; or ``scoring(estimator, X, y)``; None uses the estimator's score.
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
    lambdas_ : ndarray of shape (n_values,)
        Values that were judged, decreasing.
    scores_ : ndarray of shape (n_values, n_folds)
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
    The values go from where the paths of all folds have begun to where they end: where the mean
    hinge loss is below ``eps``, at ``C_max``, or at 1 / (C n) = 1e-5. Of the best ones those of the
    smallest C are taken, the middle one if several in a row are equal.

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
        eps=None,
        kappa=None,
        C_min=None,
        C_max=None,
        n_values=30,
        mode="exact",
        cv=None,
        scoring=None,
        n_jobs=None,
    ):
        self.estimator = estimator
        self.eps = eps
        self.kappa = kappa
        self.C_min = C_min
        self.C_max = C_max
        self.n_values = n_values
        self.mode = mode
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs

    def fit(self, X, y, sample_weight=None, groups=None):
        """Choose C and fit on all data.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.
        y : array-like, list, object array or Packed of n_samples outputs
            Outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses in the fits; the scores have no weights.
        groups : array-like of shape (n_samples,), default=None
            Groups for splitters that keep them together.

        Returns
        -------
        self : StructuredSVMCV
            The fitted estimator.
        """
        estimator = StructuredSVM() if self.estimator is None else self.estimator
        if not isinstance(estimator, StructuredSVM):
            raise TypeError(f"estimator must be a StructuredSVM, got {type(estimator).__name__}")
        if has_radius(resolve_solver(estimator.solver)):
            raise ValueError(
                f"StructuredSVMCV chooses C, which solver={estimator.solver!r} does not use: "
                f"choose its radius by score_path of a regularization_path, or by GridSearchCV "
                f"over solver__radius"
            )
        check_integer(self.n_values, "n_values", 1)
        ends = {
            name: None if value is None else check_strength(value, name)
            for name, value in (("C_min", self.C_min), ("C_max", self.C_max))
        }
        n_samples = length_of(X, "X")
        # "auto" becomes what it means for these outputs before scikit-learn looks at them.
        like = clone(estimator).set_params(
            model=resolve_model(estimator.model, X, y, estimator.task_loss)
        )
        scorer = check_scorer(like, self.scoring)
        weight = check_sample_weight(sample_weight, n_samples)
        groups = _check_groups(groups, n_samples)
        folds = split_folds(self.cv, y, groups, n_samples, is_classifier(like))
        options = {"eps": self.eps, "kappa": self.kappa, "mode": self.mode}
        self.paths_ = parallel(self.n_jobs)(
            delayed(_path_of_fold)(estimator, X, y, weight, train, _range(ends, weight, train),
                                   options)
            for train, _ in folds
        )  # fmt: skip
        self.lambdas_ = self._lambdas(weight.sum())
        columns = parallel(self.n_jobs)(
            delayed(_score_fold)(path, X, y, weight, train, test, scorer, self.lambdas_)
            for path, (train, test) in zip(self.paths_, folds)
        )
        self.scores_ = np.stack(columns, axis=1)
        mean = self.scores_.mean(axis=1)
        best = last = int(np.argmax(mean))  # the first: largest lam, most regularised
        while last + 1 < len(mean) and mean[last + 1] == mean[best]:
            last += 1
        self.lam_ = float(self.lambdas_[(best + last) // 2])
        self.C_ = 1.0 / (self.lam_ * weight.sum())
        self.estimator_ = clone(estimator).set_params(C=self.C_).fit(X, y, sample_weight)
        for name in ("classes_", "n_features_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _lambdas(self, total):
        """The values to judge: between the ends that all paths have in common."""
        high = min(path.lambdas_[0] for path in self.paths_)
        low = max(
            max(path.lam_end_ for path in self.paths_),
            min(path.lambdas_[-1] for path in self.paths_),
        )
        if self.C_max is not None:
            low = max(low, 1.0 / (float(self.C_max) * total))
        return np.geomspace(high, min(low, high), self.n_values)

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
        return float(check_scorer(self.estimator_, self.scoring)(self.estimator_, X, y))

    def __sklearn_tags__(self):
        inner = StructuredSVM() if self.estimator is None else self.estimator
        return inner.__sklearn_tags__()


def _range(ends, weight, train):
    """C_min and C_max of a fold, with the same lam as on all data."""
    factor = weight.sum() / weight[train].sum()
    return {name: None if value is None else value * factor for name, value in ends.items()}


def _check_groups(groups, n_samples):
    """One label per sample, of which none is missing."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (n_samples,):
        raise ValueError(f"groups must have shape ({n_samples},), got {groups.shape}")
    find_labels(groups, "groups")
    return groups


def _path_of_fold(estimator, X, y, weight, train, ends, options):
    """Path on the training part of a fold."""
    return regularization_path(
        estimator, take(X, train), take(y, train), sample_weight=weight[train], **ends, **options
    )


def _score_fold(path, X, y, weight, train, test, scorer, lambdas):
    """Scores on the held-out part of a fold, for every lam."""
    Cs = 1.0 / (lambdas * weight[train].sum())
    return path.score_path(take(X, test), take(y, test), scorer, at=Cs)
