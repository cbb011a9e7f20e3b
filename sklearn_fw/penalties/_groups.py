"""Penalties of groups of features: parameters as the user writes them, and what solvers use."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real

import numpy as np

from .._core import check
from .._core.packed import starts_of
from .._kernels import lazy
from ._single import TOLERANCE, Form, Penalty, soft, step_sizes

prox_kernels = lazy("common.prox")

# Sums over long groups round: constraints on them hold up to this fraction.
FEASIBILITY = 1e-9
# Newton's method needs about ten.
NEWTON_STEPS = 1000


@dataclass(frozen=True, eq=False)
class GroupForm(Form):
    """What penalties of groups share; features of label -1 have no penalty."""

    labels: np.ndarray
    weights: np.ndarray

    separable = False
    strong_convexity = 0.0

    @property
    def n_features(self):
        return self.labels.size

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
        check.not_negative(alpha, "alpha")
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
        u = u.sum(axis=1) if u.ndim == 2 else u
        return np.bincount(self.labels + 1, weights=u, minlength=self.weights.size + 1)[1:]

    def _norms(self, u):
        with np.errstate(over="ignore"):
            return np.sqrt(self._sums(u * u))

    def _steps(self, step_size):
        """The step of each group."""
        step = np.broadcast_to(step_sizes(step_size, self.n_features), self.labels.shape)
        steps = step[self.members[self.start[:-1]]]
        if np.any(steps[self.labels[self.members]] != step[self.members]):
            raise ValueError("step_size must be the same for all features of a group")
        return steps

    def prox(self, w, step_size):
        x = self._point(w).copy()
        check.magnitude(x, "w")  # norms are divisors
        steps, rows = self._steps(step_size), x.reshape(len(x), -1)
        prox_kernels.prox_groups(
            self.code, self.params, self.weights, self.start, self.members, steps, rows
        )
        return x


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
        alpha = check.not_negative(alpha, "alpha")
        return replace(self, l1=alpha * self.l1, l2=alpha * self.l2, lg=alpha * self.lg)

    def value(self, w):
        w = self._point(w)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self._sums(w * w)
            value = self.lg * self.weights @ np.sqrt(squares) + 0.5 * self.l2 * squares.sum()
            value += self.l1 * self._sums(np.abs(w)).sum()
        return np.inf if np.isnan(value) else float(value)  # zero times what overflowed

    def _conjugate(self, v):
        excess = self._excess(self._norms(soft(v, self.l1)))
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
            x = soft(t * v, self.l1)
            norm = self._norms(x)
            excess = self._excess(norm)
            outside = excess > 0.0
            if t == 0.0 or not np.any(outside):
                return t
            slope = self._sums(x * v)[outside] / norm[outside]
            t = max(0.0, t - np.max(excess[outside] / slope))
        return 0.0  # which is allowed always; rounding alone leads here


@dataclass(frozen=True, eq=False)
class ConstraintForm(GroupForm):
    radius: float

    @property
    def params(self):
        return np.array([self.radius])


class L2BallForm(ConstraintForm):
    _code_name = "L2_BALL"

    def value(self, w):
        norm = self._norms(self._point(w))
        return 0.0 if np.all(norm <= self.radius * (1.0 + FEASIBILITY)) else np.inf

    def _conjugate(self, v):
        return self.radius * self._norms(v).sum()


class SimplexForm(ConstraintForm):
    _code_name = "SIMPLEX"

    def value(self, w):
        w = self._point(w)
        far = np.abs(self._sums(w) - self.radius) > FEASIBILITY * self.radius
        return np.inf if np.any(far) or np.any(w[self.labels >= 0] < 0.0) else 0.0

    def _conjugate(self, v):
        v = v.max(axis=1) if v.ndim == 2 else v
        return self.radius * np.maximum.reduceat(v[self.members], self.start[:-1]).sum()


@dataclass(frozen=True, eq=False)
class PythonForm(GroupForm):
    penalty: object
    scale: float = 1.0

    _code_name = "PYTHON"

    @property
    def params(self):
        return np.array([self.scale])

    def scaled(self, alpha):
        return replace(self, scale=check.not_negative(alpha, "alpha") * self.scale)

    def value(self, w):
        value = self._sum("group_value", self._point(w))
        return value if np.isinf(value) else self.scale * value  # also where the scale is zero

    def prox(self, w, step_size):
        x = self._point(w).copy()
        steps = self._steps(step_size)
        for group, members in enumerate(self._groups):
            u = x[members]
            x[members] = self.group_prox(u.ravel(), steps[group], group).reshape(u.shape)
        return x

    def group_prox(self, u, step_size, group):
        x = self.penalty.group_prox(u, self.scale * step_size, group)
        return check.shaped(x, self._name("group_prox", group), u.size)

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


class GroupLasso(Penalty):
    """Sparse group lasso ``sum_B weight_B ||w_B|| + l1 ||w||_1 + l2/2 ||w||^2``.

    Parameters
    ----------
    groups : list of array-like of int, or array-like of int of shape (n_features,)
        Disjoint groups of feature numbers, or the label of each feature's group. A feature that is
        in no group of the list, or has a negative label, is not penalized at all.
    group_weights : "sqrt", "ones" or array-like of shape (n_groups,), default="sqrt"
        Weights of the groups, not negative, in the order of the list or of the labels; "sqrt" takes
        the square root of the number of features.
    l1, l2 : float, default=0.0
        Weights of the lasso and of the ridge penalty, not negative.

    Examples
    --------
    >>> from sklearn_fw.penalties import GroupLasso
    >>> penalty = GroupLasso([[0, 1], [2]], group_weights="ones").bind(4)
    >>> penalty.prox([3.0, 4.0, 0.5, 7.0], 1.0)
    array([2.4, 3.2, 0. , 7. ])
    """

    groups: object
    group_weights: object = "sqrt"
    l1: float = 0.0
    l2: float = 0.0

    def _bind(self, n_features):
        labels = check_groups(self.groups, n_features)
        weights = check_group_weights(self.group_weights, labels)
        l1, l2 = check.not_negative(self.l1, "l1"), check.not_negative(self.l2, "l2")
        return GroupLassoForm(labels, weights, l1, l2)


class _Radius(Penalty):
    radius: float = 1.0
    groups: object = None

    def _bind(self, n_features):
        groups = np.zeros(n_features, int) if self.groups is None else self.groups
        labels, radius = check_groups(groups, n_features), check.positive(self.radius, "radius")
        return self._form(labels, np.ones(labels.max() + 1), radius)


class L2Ball(_Radius):
    """Constraint ``||w_B|| <= radius`` on every group.

    Parameters
    ----------
    radius : float, default=1.0
        Radius of the balls, positive.
    groups : list of array-like of int, array-like of int of shape (n_features,) or None, \
            default=None
        As for `GroupLasso`; None for one group of all features.
    """

    _form = L2BallForm


class Simplex(_Radius):
    """Constraint ``w_B >= 0, sum(w_B) = radius`` on every group.

    Parameters
    ----------
    radius : float, default=1.0
        Sum of the coefficients of a group, positive.
    groups : list of array-like of int, array-like of int of shape (n_features,) or None, \
            default=None
        As for `GroupLasso`; None for one group of all features.
    """

    _form = SimplexForm


class GroupSeparable(Penalty):
    """Base class of user penalties, with `group_value` and `group_prox` in Python.

    Solvers are correct only if the penalty is convex. A subclass with parameters of its own stores
    them, and ``groups`` if it has any, in its ``__init__``. Every update of a solver calls Python,
    which is far slower than the compiled penalties.

    Parameters
    ----------
    groups : list of array-like of int, array-like of int of shape (n_features,) or None, \
            default=None
        As for `GroupLasso`; None makes every feature a group of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.penalties import GroupSeparable
    >>> class MaxNorm(GroupSeparable):
    ...     def group_value(self, u, group):
    ...         return 0.0 if np.abs(u).max() <= 1.0 else np.inf
    ...
    ...     def group_prox(self, u, step_size, group):
    ...         return np.clip(u, -1.0, 1.0)
    >>> MaxNorm().bind(2).prox([0.5, 3.0], 1.0)
    array([0.5, 1. ])
    """

    groups: object = None

    @abstractmethod
    def group_value(self, u, group):
        """Penalty of one group, a float, which may be infinite.

        Parameters
        ----------
        u : ndarray of shape (n,)
            Coefficients of the group in the order of the features; with several outputs those of
            one feature stand together.
        group : int
            Number of the group.
        """

    @abstractmethod
    def group_prox(self, u, step_size, group):
        """Compute ``argmin_x step_size h_group(x) + ||x - u||^2 / 2``, a new array.

        Parameters
        ----------
        u : ndarray of shape (n,)
            As for `group_value`; must not be changed.
        step_size : float
            Positive.
        group : int
            Number of the group.
        """

    def group_conjugate(self, v, group):
        """Compute the conjugate ``sup_u <v, u> - h_group(u)``, for duality gaps.

        Parameters
        ----------
        v : ndarray of shape (n,)
            In the order of `group_value`.
        group : int
            Number of the group.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no convex conjugate, so no duality gap can be computed: "
            "override group_conjugate"
        )

    def _bind(self, n_features):
        groups = np.arange(n_features) if self.groups is None else self.groups
        labels = check_groups(groups, n_features)
        return PythonForm(labels, np.ones(labels.max() + 1), self)


def check_groups(groups, n_features):
    if not _is_list(groups):
        raise ValueError(
            "groups must be a list of lists of feature numbers, or one label per feature; "
            f"got {groups!r}"
        )
    groups = list(groups)
    if groups and not any(map(_is_list, groups)):
        labels = _check_labels(np.asarray(groups), n_features)
    else:
        labels = np.full(n_features, -1)
        for number, group in enumerate(groups):
            members = _check_members(group, number, n_features)
            taken = members[labels[members] >= 0]
            if taken.size:
                raise ValueError(
                    f"groups overlap: feature {taken[0]} is in groups[{labels[taken[0]]}] and "
                    f"groups[{number}]; keep it in one, or copy its column for the other"
                )
            labels[members] = number
    if labels.max() < 0:
        raise ValueError("groups has no group: leave out the penalty, or name some features")
    return labels


def _is_list(group):
    try:
        check.items(group, "", "")
    except TypeError:
        return False
    return True


def _check_labels(labels, n_features):
    if labels.dtype.kind not in "iu":
        raise ValueError(f"groups must hold integer labels, got {labels.dtype}")
    if labels.shape != (n_features,):
        raise ValueError(
            f"groups has {labels.size} labels, expected one for each of the {n_features} features; "
            "use negative labels for features without penalty"
        )
    group = np.full(n_features, -1)
    group[labels >= 0] = np.unique(labels[labels >= 0], return_inverse=True)[1]
    return group


def _check_members(group, number, n_features):
    members = np.asarray(group) if _is_list(group) and not any(map(_is_list, group)) else None
    if members is not None and members.size == 0:
        raise ValueError(f"groups[{number}] is empty: leave it out")
    if members is None or members.ndim != 1 or members.dtype.kind not in "iu":
        raise ValueError(f"groups[{number}] must be a list of feature numbers, got {group!r}")
    outside = members[(members < 0) | (members >= n_features)]
    if outside.size:
        raise ValueError(
            f"groups[{number}] holds feature {outside[0]}: features are 0 to {n_features - 1}"
        )
    if np.unique(members).size < members.size:
        raise ValueError(f"groups[{number}] holds a feature twice: name each once")
    return members


def check_group_weights(group_weights, labels):
    sizes = np.bincount(labels[labels >= 0]).astype(np.float64)
    if isinstance(group_weights, str):
        check.choice(group_weights, "group_weights", {"ones", "sqrt"}, "an array")
        return np.sqrt(sizes) if group_weights == "sqrt" else np.ones_like(sizes)
    weights = check.shaped(group_weights, "group_weights", sizes.size)
    if np.any(weights < 0.0):
        raise ValueError("group_weights must not be negative")
    return weights
