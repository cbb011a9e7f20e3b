"""Penalties of single coefficients: parameters as the user writes them, and what solvers use."""

from abc import ABC
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._core import check
from .._core.parameters import Parameterized

# A dual point outside of its domain by no more than rounding counts as its edge.
TOLERANCE = 1e-12


class Penalty(Parameterized, ABC):
    """Base class of the penalties; to write your own, see `GroupSeparable`.

    A penalty stores its parameters; ``bind(n_features)`` checks them and returns what solvers use.

    Notes
    -----
    Coefficients ``w`` have shape (n_features,) or (n_features, n_outputs); a group holds the
    entries of its features in all outputs. A bound penalty h has

    - ``value(w)``, which is ``h(w)``, infinite outside of constraints;
    - ``prox(w, step_size)``, that is ``argmin_x step_size h(x) + ||x - w||^2 / 2`` with a number
      or an array (n_features,) that is constant within each group;
    - ``conjugate(v)``, which is ``sup_w <v, w> - h(w)``, maybe infinite;
    - ``dual_scale(v)``, the largest t in [0, 1] for which ``conjugate(t v)`` is finite;
    - ``scaled(alpha)``, the bound penalty ``alpha h``, with the same constraints;
    - ``strong_convexity``, the largest c for which the terms of h less ``c/2 ||w||^2`` are convex;
    - ``separable``: when True ``l1``, ``l2``, ``lower`` and ``upper`` define h. When False
      ``labels`` (n_features,) is the group of each feature, -1 without a penalty, group b
      consists of the features ``members[start[b]:start[b + 1]]`` and has weight ``weights[b]``,
      and ``code`` and ``params`` define the penalty for compiled code.
    """

    def bind(self, n_features):
        """Check the parameters and return the bound penalty described above.

        Parameters
        ----------
        n_features : int
            Number of features.
        """
        bound = self._bind(check.integer(n_features, "n_features", 1))
        if not isinstance(bound, Form):  # compiled code follows its numbers
            Penalty._bind(self, n_features)
        return bound

    def _bind(self, n_features):
        raise TypeError(
            f"{type(self).__name__} is not a penalty that solvers support: derive your own from "
            f"GroupSeparable and write group_value and group_prox"
        )


class Form:
    """A bound penalty; `Penalty` documents its attributes."""

    is_ridge = False

    def _point(self, w, name="w"):
        w, n = check.array(w, name), self.n_features
        if w.ndim not in (1, 2) or len(w) != n:
            raise ValueError(f"{name} must have shape ({n},) or ({n}, n_outputs), got {w.shape}")
        return w


@dataclass(frozen=True, eq=False)
class SeparableForm(Form):
    """``l1 ||w||_1 + l2/2 ||w||^2`` on ``lower <= w <= upper``."""

    n_features: int
    l1: float
    l2: float
    lower: float | np.ndarray = -np.inf
    upper: float | np.ndarray = np.inf

    separable = True

    @property
    def strong_convexity(self):
        return self.l2

    def scaled(self, alpha):
        alpha = check.not_negative(alpha, "alpha")
        return replace(self, l1=alpha * self.l1, l2=alpha * self.l2)

    @property
    def is_ridge(self):
        return self.l1 == 0.0 and not self.has_bounds

    @cached_property
    def has_bounds(self):
        return not (np.all(np.isneginf(self.lower)) and np.all(np.isposinf(self.upper)))

    def bounds(self):
        """An array (n_features, 2), infinite for no bound."""
        bounds = np.empty((self.n_features, 2))
        bounds[:, 0], bounds[:, 1] = self.lower, self.upper
        return bounds

    def bounds_like(self, w):
        return per_feature(self.lower, w), per_feature(self.upper, w)

    def on_columns(self, columns):
        sides = self.lower, self.upper
        lower, upper = (side[columns] if np.ndim(side) else side for side in sides)
        return replace(self, lower=lower, upper=upper, n_features=columns.size)

    def value(self, w):
        w = self._point(w)
        lower, upper = self.bounds_like(w)
        if np.any((w < lower) | (w > upper)):
            return np.inf
        with np.errstate(over="ignore"):  # infinity is what it comes to
            first = self.l1 * np.abs(w).sum() if self.l1 > 0.0 else 0.0
            second = 0.5 * self.l2 * np.square(w).sum() if self.l2 > 0.0 else 0.0
            return float(first + second)

    def prox(self, w, step_size):
        w = self._point(w)
        lower, upper = self.bounds_like(w)
        step = per_feature(step_sizes(step_size, len(w)), w)
        x = soft(w, step * self.l1)
        x /= 1.0 + step * self.l2
        return np.clip(x, lower, upper, out=x)

    def conjugate(self, v):
        v = self._point(v, "v")
        lower, upper = self.bounds_like(v)
        slope = v if self.l1 == 0.0 else soft(v, self.l1)
        if not self.has_bounds:
            if self.l2 == 0.0:
                return 0.0 if np.abs(slope).max(initial=0.0) <= TOLERANCE * self.l1 else np.inf
            slope = slope.ravel()
            return float(slope @ slope) / (2.0 * self.l2)
        flat = np.abs(slope) <= TOLERANCE * self.l1
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.clip(np.where(flat, 0.0, slope / self.l2), lower, upper)
        if np.any(np.isinf(best)):
            return np.inf
        return float(np.sum(v * best - self.l1 * np.abs(best) - 0.5 * self.l2 * best * best))

    def dual_scale(self, v):
        v = self._point(v, "v")
        if self.l2 > 0.0:
            return 1.0
        lower, upper = self.bounds_like(v)
        unbounded = np.where(v > 0.0, upper, -lower) == np.inf
        steepest = np.max(np.abs(v), where=unbounded, initial=0.0)
        return 1.0 if steepest <= self.l1 else float(self.l1 / steepest)


class ElasticNet(Penalty):
    """Elastic net ``l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2``.

    Parameters
    ----------
    l1_ratio : float, default=0.5
        Fraction of the first term, between 0 (ridge) and 1 (lasso).

    Examples
    --------
    >>> from sklearn_fw.penalties import ElasticNet
    >>> ElasticNet(l1_ratio=1.0).bind(2).prox([3.0, -0.5], 1.0)
    array([2., 0.])
    """

    l1_ratio: float = 0.5

    def _bind(self, n_features):
        ratio = check.fraction(self.l1_ratio, "l1_ratio")
        return SeparableForm(n_features, ratio, 1.0 - ratio)


class Box(Penalty):
    """Bounds ``lower <= w <= upper``, with ``l1 ||w||_1 + l2/2 ||w||^2``.

    Parameters
    ----------
    lower : float or array-like of shape (n_features,), default=0.0
        Lower bounds of the coefficients; infinite for none.
    upper : float or array-like of shape (n_features,), default=inf
        Upper bounds.
    l1, l2 : float, default=0.0
        Weights of the lasso and of the ridge penalty, not negative.
    """

    lower: float = 0.0
    upper: object = np.inf
    l1: float = 0.0
    l2: float = 0.0

    def _bind(self, n_features):
        lower = _check_bound(self.lower, "lower", n_features)
        upper = _check_bound(self.upper, "upper", n_features)
        if np.any(lower > upper) or np.any(lower == np.inf) or np.any(upper == -np.inf):
            raise ValueError("lower must not be above upper anywhere, else the box is empty")
        l1, l2 = check.not_negative(self.l1, "l1"), check.not_negative(self.l2, "l2")
        return SeparableForm(n_features, l1, l2, lower, upper)


def resolve_penalty(penalty, l1_ratio=0.5):
    # An error now is better than one after the data have been prepared, or none.
    elastic_net = ElasticNet(l1_ratio)
    elastic_net.bind(1)
    if isinstance(penalty, Penalty):
        return penalty
    if penalty is None:
        return Box(-np.inf, np.inf)
    if check.is_named(penalty, "elasticnet"):
        return elastic_net
    raise ValueError(
        "penalty must be 'elasticnet', None or an object of sklearn_fw.penalties such as "
        f"ElasticNet() or GroupLasso(groups); got {penalty!r}"
    )


def _check_bound(bound, name, n_features):
    array = check.array(bound, name, finite=None)
    if np.any(np.isnan(array)):
        raise ValueError(f"{name} must not be NaN; for no bound use infinity")
    if array.shape not in ((), (n_features,)):
        raise ValueError(
            f"{name} has shape {array.shape}, expected () or ({n_features},): "
            "one bound, or one per feature"
        )
    return array if array.ndim else float(array)


def step_sizes(step_size, n_features):
    step = check.array(step_size, "step_size")
    if step.shape not in ((), (n_features,)) or np.any(step < 0.0):
        raise ValueError(
            f"step_size must be a number or have shape ({n_features},), and not be negative; got "
            f"shape {step.shape}"
        )
    return step


def soft(u, threshold):
    # In place: coefficients can take more memory than the data.
    x = np.clip(u, -threshold, threshold)
    return np.subtract(u, x, out=x)


def per_feature(a, w):
    """Shape a number per feature, or one for all, so that it broadcasts with w."""
    a = np.asarray(a)
    return a[:, None] if a.ndim == 1 and w.ndim == 2 else a
