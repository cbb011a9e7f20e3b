"""Regularization paths of the linear models: warm starts along a grid."""

import copy
import math

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._core import check
from .._core.budget import budget_now
from .._core.parameters import check_parameters
from .._core.warnings import warn
from ..model_selection import RegularizationPath
from ._linear import LinearEstimator

# Options for the grid, by the parameter of the estimator.
GRID_OPTIONS = {"C": "Cs", "alpha": "alphas", "radius": "radii"}
# Halvings of all strengths that there are, on a log scale.
BISECTIONS = 54


class LinearPath(RegularizationPath):
    """Fits of a linear model on a grid of C, alpha or radius, each to ``tol``.

    Made by `regularization_path`.

    Parameters
    ----------
    estimator : AsagaClassifier, AsagaRegressor, FrankWolfeClassifier or FrankWolfeRegressor
        The estimator whose path this is.
    values : array-like of shape (n_values,)
        The grid, from strong to weak regularization.
    fits : list of dict
        Fitted attributes of every value.
    n_iters : array-like of shape (n_values,)
        Epochs, or Frank-Wolfe steps.

    Attributes
    ----------
    param_name, grid_option : str
        Parameter of the estimator, "C", "alpha" or "radius", and the option of
        `regularization_path` for its grid.
    values_ : ndarray of shape (n_values,)
        The grid: C or radius increasing, or alpha decreasing.
    coefs_ : ndarray of shape (n_values, n_features) or (n_values, n_outputs, n_features)
        ``coef_`` for every value.
    intercepts_ : ndarray of shape (n_values,) or (n_values, n_outputs)
        ``intercept_`` for every value.
    gaps_ : ndarray of shape (n_values,)
        ``dual_gap_`` for every value, NaN where the penalty has no dual.
    n_iters_ : ndarray of shape (n_values,)
        Epochs, or Frank-Wolfe steps, made for every value, those of all outputs together.

    See Also
    --------
    sklearn_fw.model_selection.cross_validate_path : Chooses a value.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_fw import AsagaClassifier, regularization_path
    >>> X, y = load_iris(return_X_y=True)
    >>> lasso = AsagaClassifier(l1_ratio=1.0, max_iter=1000, random_state=0)
    >>> path = regularization_path(lasso, X, y, Cs=[0.1, 0.3, 1.0])
    >>> path.coefs_.shape
    (3, 3, 4)
    >>> path.estimator_at(1.0).score(X, y) > 0.95
    True
    """

    def __init__(self, estimator, values, fits, n_iters):
        self._fits = [{k: v for k, v in fit.items() if k != "coef_"} for fit in fits]
        gaps = [np.nan if fit["dual_gap_"] is None else fit["dual_gap_"] for fit in fits]
        super().__init__(estimator, values, [fit["coef_"] for fit in fits], gaps)
        self.param_name = param_name(estimator)
        self.grid_option = GRID_OPTIONS[self.param_name]
        self.intercepts_ = np.array([fit["intercept_"] for fit in fits])
        self.n_iters_ = np.asarray(n_iters)

    def estimator_at(self, value):
        """Return the fitted estimator for a value of the grid.

        Parameters
        ----------
        value : float
            One of ``values_``, up to rounding.
        """
        name = self.param_name
        value = check.number(value, "value")
        (places,) = np.nonzero(np.isclose(self.values_, value, rtol=1e-9, atol=0.0))
        if not places.size:
            below, above = self.values_[self.values_ < value], self.values_[self.values_ > value]
            near = [f"{v:.9g}" for v in (*np.sort(below)[-1:], *np.sort(above)[:1])]
            raise ValueError(
                f"{name} = {value!r} is not on the path, which goes from {name} = "
                f"{self.values_[0]:.9g} to {self.values_[-1]:.9g} and has {' and '.join(near)} "
                f"next to it: take one of the path's values_, or compute it with this one in "
                f"{self.grid_option}"
            )
        fitted = copy.copy(self.estimator)
        vars(fitted).update(self._fits[places[0]], coef_=self.coefs_[places[0]].copy())
        return fitted


class PathModel(LinearEstimator):
    """Linear estimator with a path over its parameter C, alpha or radius.

    It has `_fit_at`, which fits to one value from what the fit to the value before has left and
    returns iterations, what missed ``tol`` and what it leaves; and `_make_grid`, the values.
    """

    def _regularization_path(
        self, X, y, *, sample_weight=None, Cs=None, alphas=None, radii=None, n_values=30, ratio=1e-3
    ):
        name, model = param_name(self), clone(self)
        given = {"C": Cs, "alpha": alphas, "radius": radii}
        grid = given.pop(name)
        if any(other is not None for other in given.values()):
            kind, option = type(self).__name__, GRID_OPTIONS[name]
            raise TypeError(f"the path of {kind} is one over {name}: give {option}")
        grid = None if grid is None else check_grid(grid, name)
        check.integer(n_values, "n_values", 1)
        if not check.positive(ratio, "ratio") < 1.0:
            raise ValueError(f"ratio must be below 1, got {ratio}")
        setattr(model, name, 1.0)  # the strength 1, by which others are multiplied
        check_parameters(model)
        units = model._problems(*model._check(X, y, sample_weight))
        setattr(model, name, getattr(self, name))
        grid = model._make_grid(units, grid, n_values, ratio)
        rng = check.random_state(model.random_state)
        fits, n_iters, missed, warm = [], [], [], None
        for value in grid.tolist():
            if fits and budget_now().is_spent:
                grid = grid[: len(fits)]
                end = f"the path ends at {name} = {grid[-1]:.3g}, the last of {len(fits)} values"
                remedy = "that time_limit allowed: raise time_limit, or give fewer values"
                warn(f"{end} {remedy}", ConvergenceWarning)
                break
            fitted = copy.copy(model)
            setattr(fitted, name, value)
            n_iter, faults, warm = fitted._fit_at(units, value, warm, rng)
            missed += [(value, *fault) for fault in faults]
            n_iters.append(n_iter)
            fits.append(vars(fitted) | {"_warm": None})
        if missed:
            _warn(missed, grid, name)
        return LinearPath(model, grid, fits, n_iters)


def param_name(estimator):
    return next(name for name in GRID_OPTIONS if name in estimator.get_params(deep=False))


def has_strength(penalty):
    """Whether a factor changes a bound penalty; it does not where there are constraints only."""
    if penalty.separable:
        return penalty.l1 > 0.0 or penalty.l2 > 0.0
    return penalty.scaled(2.0) is not penalty


def check_grid(grid, name):
    option = f"every one of {GRID_OPTIONS[name]}"
    values = np.unique(check.vector(grid, GRID_OPTIONS[name]))
    accept = check.not_negative if name == "alpha" else check.positive
    for value in values:
        accept(value, option)
        if name == "C":  # the inverse is multiplied with other numbers
            check.between(value, option, check.LARGEST**-2, np.inf)
    return values[::-1] if name == "alpha" else values


def zero_strength(problem):
    """Smallest factor of the penalty for which zero coefficients are optimal, None without one.

    They are if a proximal step from them, of any length, stays.
    """
    if problem.null.coef.any():
        return None
    total = problem.null.total

    def stays(strength):
        return not problem.penalty.scaled(strength).prox(-total, 1.0).any()

    largest = float(np.abs(total).max(initial=0.0))
    # Weights of the l1 norm and of groups below this share of the penalty are rounding.
    strong, weak = 1e16 * max(largest, 1.0), 1e-300
    if not (largest < np.inf and stays(strong)):
        return None
    if stays(weak):
        return 0.0
    for _ in range(BISECTIONS):
        middle = math.sqrt(strong) * math.sqrt(weak)  # the product might underflow
        strong, weak = (middle, weak) if stays(middle) else (strong, middle)
    return strong


def _warn(missed, grid, name):
    values = sorted({value for value, _, _ in missed})
    worst, _, advice = max(missed, key=lambda miss: miss[1])
    warn(
        f"{len(values)} of {len(grid)} values of {name}, from {values[0]:.3g} to {values[-1]:.3g}, "
        f"missed tol; the worst is {name} = {worst:.3g}: {advice}",
        ConvergenceWarning,
    )
