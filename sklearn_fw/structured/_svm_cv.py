"""Choice of C by cross-validation along the regularization path."""

from dataclasses import KW_ONLY, field

from ..model_selection import RegularizationPathCV
from ._solvers import has_radius, resolve_solver
from ._svm import StructuredSVM


class StructuredSVMCV(RegularizationPathCV):
    """Structured SVM with C chosen by cross-validation along the regularization path.

    Every fold computes its whole path, on which any C costs one prediction. Then
    one fit on all data at the best C.

    Parameters
    ----------
    estimator : StructuredSVM or None, default=None
        Model, oracle, solver and budget; None means the default one.
    eps, kappa : float or None, default=None
        Accuracy of the paths, and fraction of it for breakpoints, see `regularization_path`.
    C_min, C_max : float or None, default=None
        Smallest and largest C, in terms of all data.
    mode : {"exact", "heuristic"}, default="exact"
        Whether breakpoints are certified, see `regularization_path`.
    n_values : int, default=30
        Number of values of C to evaluate, evenly spaced on a log scale.
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds; stratified for class labels.
    scoring : str, callable or None, default=None
        Name of a scorer of `sklearn_fw.metrics.SCORERS` or, for outputs in arrays, of
        scikit-learn; or ``scoring(estimator, X, y)``; None uses the estimator's score.
    n_jobs : int or None, default=None
        Folds in parallel, through joblib.
    time_limit : float or None, default=None
        Seconds for everything; paths end then, and the last fit makes one pass.

    Attributes
    ----------
    C_, best_value_ : float
        Chosen value for all data.
    lam_ : float
        1 / (C n), which folds of different size share.
    best_estimator_ : StructuredSVM
        Fitted on all data.
    values_ : ndarray of shape (n_values,)
        Values of C that were evaluated, in terms of all data, increasing.
    scores_ : ndarray of shape (n_splits, n_values)
        Scores on the held-out parts.
    paths_, path_ : list of StructuredPath, None
        Path of each fold; there is none on all data.
    classes_, n_features_in_ : ndarray, int
        Labels and number of features, if the model has them.

    See Also
    --------
    sklearn_fw.model_selection.RegularizationPathCV : For every estimator with a path, over the
        radius of a ball, too.
    sklearn.model_selection.GridSearchCV : For any parameter, on a grid.

    Notes
    -----
    The values go from where the paths of all folds begin to where they end: where the mean hinge
    loss is below ``eps``, at ``C_max``, or at 1 / (C n) = 1e-5. Among equal scores it takes the
    smallest C, or the middle one of several in a row. Scales of features that are "auto" are found
    on all data, as by ``StructuredSVM(C="auto")``, and shared by all folds: ``best_estimator_`` has
    them as parameters, and values of C refer to them. An estimator with a C of its own, which is
    not used, leaves features as they are.

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

    estimator: object = None
    _: KW_ONLY
    eps: object = None
    kappa: object = None
    C_min: object = None
    C_max: object = None
    mode: object = "exact"
    path_options: object = field(default=None, init=False)  # single parameters take its place

    def _inner(self):
        return StructuredSVM() if self.estimator is None else self.estimator

    def _options(self):
        return {name: getattr(self, name) for name in ("eps", "kappa", "C_min", "C_max", "mode")}

    def fit(self, X, y, sample_weight=None, groups=None):
        estimator = self._inner()
        if not isinstance(estimator, StructuredSVM):
            raise TypeError(f"estimator must be a StructuredSVM, got {type(estimator).__name__}")
        if has_radius(resolve_solver(estimator.solver)):
            raise ValueError(
                f"StructuredSVMCV chooses C, which solver={estimator.solver!r} does not use: "
                f"choose its radius by RegularizationPathCV, or by GridSearchCV over solver__radius"
            )
        super().fit(X, y, sample_weight, groups)
        self.C_, self.lam_ = self.best_value_, self.best_estimator_.lam_
        return self
