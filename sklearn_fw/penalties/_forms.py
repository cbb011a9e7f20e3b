"""Bound penalties: what solvers use. `Penalty` says what each has."""

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real

import numpy as np

from .._core.packed import starts_of
from .._core.validation import check_array_of_numbers, check_magnitude, check_not_negative
from .._kernels import lazy

prox_kernels = lazy("common.prox")

# A dual point outside of its domain by no more than rounding counts as its edge.
TOLERANCE = 1e-12
# Sums over long groups round: constraints on them hold up to this fraction.
FEASIBILITY = 1e-9
# Newton's method needs about ten.
NEWTON_STEPS = 1000


@dataclass(frozen=True, eq=False)
class SeparableForm:
    """``l1 ||w||_1 + l2/2 ||w||^2`` on ``lower <= w <= upper``."""

    l1: float = 0.0
    l2: float = 0.0
    lower: float | np.ndarray = -np.inf
    upper: float | np.ndarray = np.inf
    n_features: int | None = None  # None for any

    separable = True

    @property
    def strong_convexity(self):
        return self.l2

    def scaled(self, alpha):
        alpha = check_not_negative(alpha, "alpha")
        return replace(self, l1=alpha * self.l1, l2=alpha * self.l2)

    def value(self, w):
        w = _point(w, "w", self.n_features)
        lower, upper = _per_feature(self.lower, w), _per_feature(self.upper, w)
        if np.any((w < lower) | (w > upper)):
            return np.inf
        with np.errstate(over="ignore"):  # infinity is what it comes to
            first = self.l1 * np.abs(w).sum() if self.l1 > 0.0 else 0.0
            second = 0.5 * self.l2 * np.square(w).sum() if self.l2 > 0.0 else 0.0
            return float(first + second)

    def prox(self, w, step_size):
        w = _point(w, "w", self.n_features)
        lower, upper = _per_feature(self.lower, w), _per_feature(self.upper, w)
        step = _per_feature(_step_sizes(step_size, len(w)), w)
        x = _soft(w, step * self.l1)
        x /= 1.0 + step * self.l2
        return np.clip(x, lower, upper, out=x)

    def conjugate(self, v):
        v = _point(v, "v", self.n_features)
        lower, upper = _per_feature(self.lower, v), _per_feature(self.upper, v)
        slope = v if self.l1 == 0.0 else _soft(v, self.l1)
        if self.l2 > 0.0 and np.all(np.isneginf(lower)) and np.all(np.isposinf(upper)):
            slope = slope.ravel()
            return float(slope @ slope) / (2.0 * self.l2)
        flat = np.abs(slope) <= TOLERANCE * self.l1
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.clip(np.where(flat, 0.0, slope / self.l2), lower, upper)
        if np.any(np.isinf(best)):
            return np.inf
        return float(np.sum(v * best - self.l1 * np.abs(best) - 0.5 * self.l2 * best * best))

    def dual_scale(self, v):
        v = _point(v, "v", self.n_features)
        if self.l2 > 0.0:
            return 1.0
        lower, upper = _per_feature(self.lower, v), _per_feature(self.upper, v)
        unbounded = np.where(v > 0.0, upper, -lower) == np.inf
        steepest = np.max(np.abs(v), where=unbounded, initial=0.0)
        return 1.0 if steepest <= self.l1 else float(self.l1 / steepest)


@dataclass(frozen=True, eq=False)
class GroupForm:
    """What penalties of groups share; features of label -1 have no penalty."""

    labels: np.ndarray
    weights: np.ndarray

    separable = False
    strong_convexity = 0.0

    @property
    def code(self):
        return getattr(prox_kernels, self._code_name)

    @cached_property
    def start(self):
        sizes = np.bincount(self.labels + 1, minlength=self.weights.size + 1)[1:]
        return starts_of(sizes)

    @cached_property
    def members(self):
        return np.argsort(self.labels, kind="stable")[self.labels.size - self.start[-1] :]

    def scaled(self, alpha):
        check_not_negative(alpha, "alpha")
        return self

    def conjugate(self, v):
        v = self._point(v, "v")
        return np.inf if np.any(v[self.labels < 0]) else float(self._conjugate(v))

    def dual_scale(self, v):
        v = self._point(v, "v")
        return 0.0 if np.any(v[self.labels < 0]) else float(self._dual_scale(v))

    def _dual_scale(self, v):
        return 1.0

    def _sums(self, u):
        """Sum over every group; slot 0 gathers the features without penalty."""
        u = u.sum(axis=1) if u.ndim == 2 else u
        return np.bincount(self.labels + 1, weights=u, minlength=self.weights.size + 1)[1:]

    def _norms(self, u):
        with np.errstate(over="ignore"):
            return np.sqrt(self._sums(u * u))

    def _largest(self, u):
        u = u.max(axis=1) if u.ndim == 2 else u
        return np.maximum.reduceat(u[self.members], self.start[:-1])

    def _spread(self, per_group, free, w):
        """Give every entry of w the number of its group, or ``free``, at index -1."""
        return _per_feature(np.append(per_group, free)[self.labels], w)

    def _steps(self, step_size):
        """Step of every group."""
        step = _step_sizes(step_size, self.labels.size)
        if not step.ndim:
            return step
        steps = step[self.members[self.start[:-1]]]
        if np.any(steps[self.labels[self.members]] != step[self.members]):
            raise ValueError("step_size must be the same for all features of a group")
        return steps

    def _point(self, w, name="w"):
        return _point(w, name, self.labels.size)

    def _moved(self, w):
        """A point for a prox, which divides by norms."""
        w = self._point(w)
        check_magnitude(w, "w")
        return w


@dataclass(frozen=True, eq=False)
class GroupLassoForm(GroupForm):
    l1: float
    l2: float
    lg: float = 1.0

    _code_name = "GROUP"

    @property
    def params(self):
        return np.array([self.l1, self.l2, self.lg])

    @property
    def strong_convexity(self):
        return self.l2 if self.labels.min() >= 0 else 0.0

    def scaled(self, alpha):
        alpha = check_not_negative(alpha, "alpha")
        return replace(self, l1=alpha * self.l1, l2=alpha * self.l2, lg=alpha * self.lg)

    def value(self, w):
        w = self._point(w)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self._sums(w * w)
            value = self.lg * self.weights @ np.sqrt(squares) + 0.5 * self.l2 * squares.sum()
            value += self.l1 * self._sums(np.abs(w)).sum()
        return np.inf if np.isnan(value) else float(value)  # zero times what overflowed

    def prox(self, w, step_size):
        w, steps = self._moved(w), self._steps(step_size)
        x = _soft(w, self._spread(np.broadcast_to(steps * self.l1, self.weights.shape), 0.0, w))
        norm, threshold = self._norms(x), steps * self.lg * self.weights
        shrink = np.zeros_like(norm)
        np.divide(norm - threshold, norm, out=shrink, where=norm > threshold)
        return x * self._spread(shrink / (1.0 + steps * self.l2), 1.0, w)

    def _conjugate(self, v):
        excess = self._excess(self._norms(_soft(v, self.l1)))
        if self.l2 > 0.0:
            return np.square(excess).sum() / (2.0 * self.l2)
        return np.inf if np.any(excess) else 0.0

    def _excess(self, norm):
        """How far the thresholded groups are outside of their balls, forgiving rounding."""
        limit = self.lg * self.weights
        outside = norm - limit > TOLERANCE * (limit + self.l1)
        return np.where(outside, norm - limit, 0.0)

    def _dual_scale(self, v):
        # Newton's method for ||soft(t v_G, l1)|| = lg weight_G: the norm is convex in t, so that
        # from t = 1 all iterates stay above the root, and so does the smallest one of all groups.
        t = 1.0
        if self.l2 > 0.0:
            return t
        for _ in range(NEWTON_STEPS):
            x = _soft(t * v, self.l1)
            norm = self._norms(x)
            excess = self._excess(norm)
            outside = excess > 0.0
            if t == 0.0 or not np.any(outside):
                return t
            slope = self._sums(x * v)[outside] / norm[outside]
            t = max(0.0, t - np.max(excess[outside] / slope))
        return 0.0  # which is allowed always; rounding alone leads here


@dataclass(frozen=True, eq=False)
class L2BallForm(GroupForm):
    radius: float

    _code_name = "L2_BALL"

    @property
    def params(self):
        return np.array([self.radius])

    def value(self, w):
        norm = self._norms(self._point(w))
        return 0.0 if np.all(norm <= self.radius * (1.0 + FEASIBILITY)) else np.inf

    def prox(self, w, step_size):
        w, _ = self._moved(w), self._steps(step_size)
        return w * self._spread(self.radius / np.maximum(self._norms(w), self.radius), 1.0, w)

    def _conjugate(self, v):
        return self.radius * self._norms(v).sum()


@dataclass(frozen=True, eq=False)
class SimplexForm(GroupForm):
    radius: float

    _code_name = "SIMPLEX"

    @property
    def params(self):
        return np.array([self.radius])

    def value(self, w):
        w = self._point(w)
        far = np.abs(self._sums(w) - self.radius) > FEASIBILITY * self.radius
        return np.inf if np.any(far) or np.any(w[self.labels >= 0] < 0.0) else 0.0

    def prox(self, w, step_size):
        # Michelot's method, all groups at once: what lies below the threshold of a set can not be
        # in the support, so the sets shrink until nothing lies below.
        w, _ = self._moved(w), self._steps(step_size)
        x = w - self._spread(self._largest(w), 0.0, w)
        support, size = np.ones(w.shape, bool), 0
        while size != np.count_nonzero(support):
            size = np.count_nonzero(support)
            total = self._sums(np.where(support, x, 0.0)) - self.radius
            threshold = total / self._sums(support.astype(np.float64))
            support &= x > self._spread(threshold, -np.inf, w)
        return np.where(
            _per_feature(self.labels >= 0, w),
            np.maximum(x - self._spread(threshold, 0.0, w), 0.0),
            w,
        )

    def _conjugate(self, v):
        return self.radius * self._largest(v).sum()


@dataclass(frozen=True, eq=False)
class PythonForm(GroupForm):
    """A user's penalty times ``scale``."""

    penalty: object
    scale: float = 1.0

    _code_name = "PYTHON"

    @property
    def params(self):
        return np.array([self.scale])

    def scaled(self, alpha):
        return replace(self, scale=check_not_negative(alpha, "alpha") * self.scale)

    def value(self, w):
        value = self._sum("group_value", self._point(w))
        return value if np.isinf(value) else self.scale * value  # also where the scale is zero

    def prox(self, w, step_size):
        x = self._point(w).copy()
        steps = np.broadcast_to(self._steps(step_size), self.weights.shape)
        for group, members in enumerate(self._groups):
            u = x[members]
            x[members] = self.group_prox(u.ravel(), steps[group], group).reshape(u.shape)
        return x

    def group_prox(self, u, step_size, group):
        """Prox of one group, scaled; what compiled epochs call."""
        x = self.penalty.group_prox(u, self.scale * step_size, group)
        x = check_array_of_numbers(x, self._name("group_prox", group))
        if x.shape != u.shape:
            raise ValueError(
                f"group_prox of {type(self.penalty).__name__} returned shape {x.shape} for group "
                f"{group}, expected {u.shape}"
            )
        return x

    def _name(self, method, group):
        return f"what {method} of {type(self.penalty).__name__} returned for group {group}"

    def _conjugate(self, v):
        if self.scale == 0.0:
            return np.inf if np.any(v) else 0.0  # nothing is known of the domain
        return self.scale * self._sum("group_conjugate", v / self.scale)

    def _dual_scale(self, v):
        inside, outside = 0.0, 1.0
        if self._conjugate(v) < np.inf:
            return 1.0
        for _ in range(53):  # to the last bit
            middle = 0.5 * (inside + outside)
            if self._conjugate(middle * v) < np.inf:
                inside = middle
            else:
                outside = middle
        return inside

    @cached_property
    def _groups(self):
        return np.split(self.members, self.start[1:-1])

    def _sum(self, method, u):
        """Sum of a method of the user over all groups, each of which must be above -inf."""
        total, function = 0.0, getattr(self.penalty, method)
        for group, members in enumerate(self._groups):
            value = function(u[members].ravel(), group)
            if isinstance(value, np.ndarray) and value.ndim == 0:
                value = value.item()
            if not isinstance(value, Real) or not value > -np.inf:
                raise ValueError(
                    f"{self._name(method, group)} must be a number, maybe inf, got {value!r}"
                )
            total += float(value)
        return total


def _point(w, name, n_features):
    """Coefficients or slopes, (n_features,) or (n_features, n_outputs)."""
    w = check_array_of_numbers(w, name)
    if w.ndim not in (1, 2) or n_features not in (None, len(w)):
        n = "n_features" if n_features is None else n_features
        raise ValueError(f"{name} must have shape ({n},) or ({n}, n_outputs), got {w.shape}")
    return w


def _step_sizes(step_size, n_features):
    """A step for all features, or one for each."""
    step = check_array_of_numbers(step_size, "step_size")
    if step.shape not in ((), (n_features,)) or np.any(step < 0.0):
        raise ValueError(
            f"step_size must be a number or have shape ({n_features},), and not be negative; got "
            f"shape {step.shape}"
        )
    return step


def _soft(u, threshold):
    # In place: coefficients can take more memory than the data.
    x = np.clip(u, -threshold, threshold)
    return np.subtract(u, x, out=x)


def _per_feature(a, w):
    """Shape a number per feature, or one for all, so that it broadcasts with w."""
    a = np.asarray(a)
    return a[:, None] if a.ndim == 1 and w.ndim == 2 else a
