"""The regularization path: one function and one interface for all families."""

import inspect
from abc import ABC, abstractmethod
from numbers import Real

import numpy as np
from sklearn.metrics import check_scoring, get_scorer
from sklearn.utils import get_tags

from .._core import check
from .._core.budget import time_budget
from .._core.estimator import Estimator
from .._core.packed import length_of
from .._core.parameters import check_parameters


def score_with(scorer, estimator, X, y, sample_weight):
    """Value of a scorer; one of the user's gets weights if it has a parameter for them."""
    takes_weights = sample_weight is not None and accepts(scorer, "sample_weight")
    weights = {"sample_weight": sample_weight} if takes_weights else {}
    return scorer(estimator, X, y, **weights)


def accepts(function, name):
    """Whether a callable has a parameter, or takes any."""
    try:
        known = inspect.signature(function).parameters
    except ValueError:  # compiled functions may have none
        return False
    return name in known or any(p.kind is p.VAR_KEYWORD for p in known.values())


def check_scorer(estimator, scoring):
    """The scorer that ``scoring`` means; None is the estimator's own score."""
    if not isinstance(scoring, str):
        if scoring is not None and not callable(scoring):
            raise TypeError(f"scoring must be one name, a callable or None, got {scoring!r:.60}")
        return check_scoring(estimator, scoring)
    from ..metrics import SCORERS

    if scoring in SCORERS:
        return SCORERS[scoring]
    own = ", ".join(repr(name) for name in SCORERS)
    if not get_tags(estimator).input_tags.two_d_array:
        raise ValueError(
            f"scoring={scoring!r} is not a scorer of structured outputs: take one of {own}, a "
            f"callable scoring(estimator, X, y), or None for one minus the mean task loss"
        )
    try:
        return get_scorer(scoring)
    except ValueError:
        raise ValueError(
            f"scoring={scoring!r} is neither a scorer of scikit-learn "
            f"(sklearn.metrics.get_scorer_names) nor one of {own}"
        ) from None


class RegularizationPath(ABC):
    """Base class of regularization paths: solutions from strong to weak.

    Made by `regularization_path`. A subclass implements `estimator_at`.

    Parameters
    ----------
    estimator : estimator
        The estimator whose path this is.
    values : array-like of shape (n_values,)
        Values of its parameter.
    coefs : array-like of shape (n_values, ...)
        Coefficients.
    gaps : array-like of shape (n_values,)
        Duality gaps.

    Attributes
    ----------
    estimator : estimator
        The estimator whose path this is.
    param_name : str
        Name of the parameter: "C", "alpha" or "radius".
    grid_option : str or None
        Option of `regularization_path` for given values. None for a path that chooses its
        breakpoints and holds for all values between them, up to ``end_``.
    of_sum : bool
        Whether the parameter multiplies the sum of the losses, so that a part of the data poses the
        same problem with a value that is larger in proportion.
    values_, coefs_, gaps_ : ndarray of shape (n_values, ...), one entry per value of the parameter
        The arguments; gaps are NaN where the problem has none.

    See Also
    --------
    regularization_path : Makes it.
    RegularizationPathDisplay : Draws it.
    """

    param_name = "C"
    grid_option = None
    of_sum = False

    def __init__(self, estimator, values, coefs, gaps):
        self.estimator = estimator
        self.values_ = check_values(values, "values")
        self.gaps_ = check.array(gaps, "gaps", finite=None)
        try:
            self.coefs_ = np.asarray(coefs)
        except ValueError as error:
            raise ValueError(f"coefs must be an array of shape (n_values, ...): {error}") from None
        for name, array in (("coefs", self.coefs_), ("gaps", self.gaps_)):
            if array.shape[:1] != self.values_.shape:
                raise ValueError(f"{name} must hold {len(self.values_)} entries, got {array.shape}")

    @abstractmethod
    def estimator_at(self, value):
        """Return a fitted estimator for one value of the parameter.

        Parameters
        ----------
        value : float
            Value of the parameter.
        """

    def predict(self, X, at):
        """Return the predictions for one value of the parameter.

        Parameters
        ----------
        X : {array-like, sparse matrix} or list of n_samples inputs
            Inputs as the estimator takes them.
        at : float
            Value of the parameter.
        """
        return self.estimator_at(check.number(at, "at")).predict(X)

    def score_path(self, X, y, scoring=None, at=None, sample_weight=None):
        """Return the scores of solutions on other data, one per value.

        Parameters
        ----------
        X, y : {array-like, sparse matrix} or list of length n_samples
            Inputs and true outputs as the estimator takes them.
        scoring : str, callable or None, default=None
            Name of a scorer of scikit-learn or of `sklearn_fw.metrics.SCORERS`, or
            ``scoring(estimator, X, y)``; None uses the estimator's score.
        at : array-like of shape (n_values,), default=None
            Values of the parameter; None means ``values_``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; a callable ``scoring`` gets them if it has such a parameter.
        """
        scorer = check_scorer(self.estimator, scoring)
        at = self.values_ if at is None else check_values(at, "at")
        if sample_weight is not None:
            sample_weight = check.sample_weight(sample_weight, length_of(X, "X"))
        return np.array([self._score(scorer, X, y, value, sample_weight) for value in at.tolist()])

    def _params_at(self, value):
        """For ``set_params`` of the estimator, to pose the problem of a value."""
        return {self.param_name: check.number(value, "value")}

    def _score(self, scorer, X, y, value, weight):
        """Score of one value by a scorer, maybe of the user."""
        estimator = self.estimator_at(value)
        if not hasattr(estimator, "predict"):
            kind, found = type(self).__name__, type(estimator).__name__
            raise TypeError(f"estimator_at of {kind} must return an estimator, got {found}")
        try:
            score = score_with(scorer, estimator, X, y, weight)
        except TypeError as error:
            error.add_note(f"scoring was called with the estimator of {value:g}, X and y")
            raise
        score = score.item() if isinstance(score, np.ndarray) and score.ndim == 0 else score
        if not isinstance(score, Real):
            raise TypeError(f"scoring must give a number, got {score!r:.60} at {value:g}")
        return float(score)


def check_values(values, name):
    """Values of the parameter of a path, as a vector that is not empty."""
    values = np.atleast_1d(check.array(values, name))
    if values.ndim != 1 or not values.size:
        raise ValueError(f"{name} must be a number or a vector, got shape {values.shape}")
    return values


def regularization_path(estimator, X, y, *, sample_weight=None, time_limit=None, **options):
    """Solve a problem for many strengths of regularization in one run.

    Each solution starts from the one before, from strong to weak regularization, and comes with its
    certificate.

    Parameters
    ----------
    estimator : estimator
        `StructuredSVM`, `AsagaClassifier`, `AsagaRegressor`, `FrankWolfeClassifier`,
        `FrankWolfeRegressor` or one with a path of its own: settings of the problem and of the
        solver; it is not changed.
    X, y : {array-like, sparse matrix} or list of length n_samples
        Inputs and outputs as the estimator takes them.
    sample_weight : array-like of shape (n_samples,), default=None
        Factors of the losses.
    time_limit : float or None, default=None
        Seconds for the whole path.
    **options : dict
        Options of the kind of path.

        For `StructuredSVM`, whose path holds for every C up to ``C_max`` with accuracy ``eps``
        (``solver`` must be of the block-coordinate family, a `DualAscent` for smooth surrogates,
        and ``max_iter`` counts passes per breakpoint; ``C`` and ``tol`` are not used):

        - eps : float or None, default=None; accuracy, in units of the task loss. None is a tenth of
          the mean largest loss; with ``surrogate="crf"`` or "softmax_margin" 0.02 times the mean
          loss of zero weights.
        - kappa : float or None, default=None; fraction of ``eps`` to which each problem is solved,
          in (0, 1). None is 0.85 in exact and 0.7 in heuristic mode. Larger values give fewer
          passes between more breakpoints.
        - C_min : float or None, default=None; the first breakpoint, unless the solution in closed
          form serves larger C. None begins there.
        - C_max : float or None, default=None; the last breakpoint. None is 1 / (C n) = 1e-5.
        - mode : {"exact", "heuristic"}, default="exact"; "exact" certifies every breakpoint by a
          gap pass; "heuristic", for the hinge only, uses the last known gaps: fewer oracle calls,
          no guarantee.
        - max_breakpoints : int or None, default=None; largest number of breakpoints.

        For a `StructuredSVM` whose solver has a ``radius`` ("sp_fw", "sp_bcfw" or
        ``Extragradient(radius=...)``), whose path holds for every radius up to ``radius_max``:
        ``eps``, ``kappa`` and ``max_breakpoints`` as before, and

        - radius_min : float or None, default=None; the first breakpoint, unless zero weights serve
          larger radii. None begins there.
        - radius_max : float or None, default=None; the last breakpoint. None goes on to a hundred
          times the radius at which the loss would be zero if it went on falling as it begins.

        For `AsagaClassifier` and `AsagaRegressor`, whose path is a grid of fits with accuracy
        ``tol``:

        - Cs (classifier) or alphas (regressor) : array-like of shape (n_values,), default=None;
          the grid, in any order. None makes one.
        - n_values : int, default=30; size of the grid that is made.
        - ratio : float, default=1e-3; the grid that is made goes on a log scale from the strength
          at which all coefficients become zero down to ``ratio`` times it. Where no strength does
          that (no l1 or group penalty, or columns without penalty) it goes from C = 1e-4 to 1e4,
          or from alpha = 1e4 to 1e-4.

        For `FrankWolfeClassifier` and `FrankWolfeRegressor`, whose path is a grid of fits with
        accuracy ``tol``, each from the scaled vertices of the one before: ``n_values``, and

        - radii : array-like of shape (n_values,), default=None; the grid, in any order. None makes
          one.
        - ratio : float, default=1e-3; the grid that is made ends at the default ``radius_max`` of
          a structured path, and begins at ``ratio`` times that.

    Returns
    -------
    path : RegularizationPath
        `sklearn_fw.structured.StructuredPath` or `sklearn_fw.linear_model.LinearPath`.

    See Also
    --------
    cross_validate_path : Chooses a value of a grid by cross-validation.
    sklearn_fw.structured.StructuredSVMCV : Chooses C along structured paths.

    Notes
    -----
    An estimator of your own takes part with a method ``_regularization_path(X, y, *,
    sample_weight=None, **options)`` that returns a `RegularizationPath`. If that holds for all
    values up to its ``end_``, a method ``_path_class()`` that returns its class lets
    cross-validation evaluate values between breakpoints.

    Mixtures of two solutions are certified for all problems between them by the products of their
    weights, without oracle calls. A piece whose gap exceeds ``eps`` is halved. The number of
    breakpoints grows about like 1 / sqrt(eps). In exact mode there are at most ``1 + log(lam_max /
    lam_min) * mean_i max L_i / (eps (1 - kappa))``, up to a factor of two, where lam = 1 / (C n).
    Averages of iterates (``averaging=True``) begin again at every breakpoint. Memory: the
    coefficients of all values.

    References
    ----------
    .. [1] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania, S. Lacoste-Julien, "Minding the gaps
       for block Frank-Wolfe optimization of structured SVMs", ICML 2016: Section 4 and Algorithm 6
       for the first breakpoint, Proposition 1 beyond the last one; in between mixtures of
       solutions replace its fixed weights.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes, load_iris
    >>> from sklearn_fw import AsagaRegressor, StructuredSVM, regularization_path
    >>> X, y = load_iris(return_X_y=True)
    >>> path = regularization_path(StructuredSVM(random_state=0), X, y, eps=0.5, C_max=1.0)
    >>> path.predict(X[:3], at=0.5).tolist()
    [0, 0, 0]
    >>> X, y = load_diabetes(return_X_y=True)
    >>> lasso = AsagaRegressor(l1_ratio=1.0, tol=1e-6, random_state=0)
    >>> path = regularization_path(lasso, X, y, n_values=5, ratio=0.1)
    >>> (path.coefs_ != 0).sum(axis=1).tolist()
    [0, 2, 4, 4, 5]
    """
    check_has_path(estimator)
    make = estimator._regularization_path
    if unknown := [name for name in options if not accepts(make, name)]:
        kind, known = type(estimator).__name__, inspect.signature(make).parameters.values()
        known = ", ".join(p.name for p in known if p.kind is p.KEYWORD_ONLY)
        raise TypeError(f"the path of {kind} has no option {unknown[0]!r}, only {known}")
    if time_limit is None:
        time_limit = getattr(estimator, "time_limit", None)
    with time_budget(time_limit):
        if isinstance(estimator, Estimator):
            check_parameters(estimator)
        return make(X, y, sample_weight=sample_weight, **options)


def check_has_path(estimator):
    """Refuse what has no path, and classes in place of objects."""
    if isinstance(estimator, type) or not hasattr(estimator, "_regularization_path"):
        kind = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise TypeError(
            f"estimator must be a StructuredSVM, AsagaClassifier, AsagaRegressor, "
            f"FrankWolfeClassifier, FrankWolfeRegressor or an object with a method "
            f"_regularization_path; got {kind}"
        )
