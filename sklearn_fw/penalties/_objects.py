"""Penalties as the user writes them: parameters, checked by ``bind``."""

from abc import ABC, abstractmethod
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar

from .._core.validation import check_integer, check_not_negative, check_positive, is_named
from ._checks import check_bound, check_group_weights, check_groups
from ._forms import GroupForm, GroupLassoForm, L2BallForm, PythonForm, SeparableForm, SimplexForm


class Penalty(BaseEstimator, ABC):
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
    - ``separable``: when True ``l1``, ``l2``, ``lower`` and ``upper`` say all. When False
      ``labels`` (n_features,) is the group of each feature, -1 where there is no penalty, group b
      consists of the features ``members[start[b]:start[b + 1]]`` and has weight ``weights[b]``,
      and ``code`` and ``params`` are what compiled code knows of the penalty.
    """

    def bind(self, n_features):
        """Check the parameters and return the penalty of that many features.

        Parameters
        ----------
        n_features : int
            Number of features.

        Returns
        -------
        object
            The bound penalty described above.
        """
        bound = self._bind(check_integer(n_features, "n_features", 1))
        if not isinstance(bound, SeparableForm | GroupForm):  # compiled code follows its numbers
            Penalty._bind(self, n_features)
        return bound

    def _bind(self, n_features):
        """Do the work of `bind`."""
        raise TypeError(
            f"{type(self).__name__} is no penalty that solvers know: derive your own from "
            f"GroupSeparable and write group_value and group_prox"
        )


class ElasticNet(Penalty):
    """Elastic net ``l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2``.

    Parameters
    ----------
    l1_ratio : float, default=0.5
        Share of the first term, between 0 and 1.

    Examples
    --------
    >>> from sklearn_fw.penalties import ElasticNet
    >>> ElasticNet(l1_ratio=1.0).bind(2).prox([3.0, -0.5], 1.0)
    array([2., 0.])
    """

    def __init__(self, l1_ratio=0.5):
        self.l1_ratio = l1_ratio

    def _bind(self, n_features):
        check_scalar(self.l1_ratio, "l1_ratio", Real, max_val=1)
        ratio = check_not_negative(self.l1_ratio, "l1_ratio")
        return SeparableForm(ratio, 1.0 - ratio, n_features=n_features)


class L1(Penalty):
    """Lasso penalty ``||w||_1``."""

    def _bind(self, n_features):
        return SeparableForm(l1=1.0, n_features=n_features)


class L2(Penalty):
    """Ridge penalty ``||w||^2 / 2``."""

    def _bind(self, n_features):
        return SeparableForm(l2=1.0, n_features=n_features)


class Box(Penalty):
    """Bounds ``lower <= w <= upper``, with ``l1 ||w||_1 + l2/2 ||w||^2``.

    Parameters
    ----------
    lower, upper : float or array-like of shape (n_features,)
        Bounds of the coefficients; infinite for none.
    l1 : float, default=0.0
        Weight of the lasso penalty, not negative.
    l2 : float, default=0.0
        Weight of the ridge penalty, not negative.
    """

    def __init__(self, lower, upper, l1=0.0, l2=0.0):
        self.lower = lower
        self.upper = upper
        self.l1 = l1
        self.l2 = l2

    def _bind(self, n_features):
        lower = check_bound(self.lower, "lower", n_features)
        upper = check_bound(self.upper, "upper", n_features)
        if np.any(lower > upper) or np.any(lower == np.inf) or np.any(upper == -np.inf):
            raise ValueError("lower must not be above upper anywhere, else the box is empty")
        return SeparableForm(
            check_not_negative(self.l1, "l1"), check_not_negative(self.l2, "l2"), lower, upper,
            n_features,
        )  # fmt: skip


class NonNegative(Penalty):
    """Bounds ``w >= 0``, with ``l1 sum(w) + l2/2 ||w||^2``.

    Parameters
    ----------
    l1 : float, default=0.0
        Weight of the lasso penalty, not negative.
    l2 : float, default=0.0
        Weight of the ridge penalty, not negative.
    """

    def __init__(self, l1=0.0, l2=0.0):
        self.l1 = l1
        self.l2 = l2

    def _bind(self, n_features):
        return SeparableForm(
            check_not_negative(self.l1, "l1"), check_not_negative(self.l2, "l2"), lower=0.0,
            n_features=n_features,
        )  # fmt: skip


class GroupLasso(Penalty):
    """Group lasso ``sum_B weight_B ||w_B|| + l1 ||w||_1 + l2/2 ||w||^2``; sparse group lasso.

    Parameters
    ----------
    groups : list of array-like of int, or array-like of int of shape (n_features,)
        Disjoint groups of feature numbers, or the label of each feature's group. A feature that is
        in no group of the list, or has a negative label, is not penalised at all.
    group_weights : "sqrt", "ones" or array-like of shape (n_groups,), default="sqrt"
        Weights of the groups, not negative, in the order of the list or of the labels; "sqrt" takes
        the square root of the number of features.
    l1 : float, default=0.0
        Weight of the lasso penalty, not negative.
    l2 : float, default=0.0
        Weight of the ridge penalty, not negative.

    Examples
    --------
    >>> from sklearn_fw.penalties import GroupLasso
    >>> penalty = GroupLasso([[0, 1], [2]], group_weights="ones").bind(4)
    >>> penalty.prox([3.0, 4.0, 0.5, 7.0], 1.0)
    array([2.4, 3.2, 0. , 7. ])
    """

    def __init__(self, groups, group_weights="sqrt", l1=0.0, l2=0.0):
        self.groups = groups
        self.group_weights = group_weights
        self.l1 = l1
        self.l2 = l2

    def _bind(self, n_features):
        labels = check_groups(self.groups, n_features)
        weights = check_group_weights(self.group_weights, labels)
        l1, l2 = check_not_negative(self.l1, "l1"), check_not_negative(self.l2, "l2")
        return GroupLassoForm(labels, weights, l1, l2)


class L2Ball(Penalty):
    """Constraint ``||w_B|| <= radius`` on every group.

    Parameters
    ----------
    radius : float, default=1.0
        Radius of the balls, positive.
    groups : list of array-like of int, array-like of int of shape (n_features,) or None, \
            default=None
        As for `GroupLasso`; None for one group of all features.
    """

    def __init__(self, radius=1.0, groups=None):
        self.radius = radius
        self.groups = groups

    def _bind(self, n_features):
        groups = np.zeros(n_features, int) if self.groups is None else self.groups
        labels, radius = check_groups(groups, n_features), check_positive(self.radius, "radius")
        return L2BallForm(labels, np.ones(labels.max() + 1), radius)


class Simplex(Penalty):
    """Constraint ``w_B >= 0, sum(w_B) = radius`` on every group.

    Parameters
    ----------
    radius : float, default=1.0
        Sum of the coefficients of a group, positive.
    groups : list of array-like of int, array-like of int of shape (n_features,) or None, \
            default=None
        As for `GroupLasso`; None for one group of all features.
    """

    def __init__(self, radius=1.0, groups=None):
        self.radius = radius
        self.groups = groups

    def _bind(self, n_features):
        groups = np.zeros(n_features, int) if self.groups is None else self.groups
        labels, radius = check_groups(groups, n_features), check_positive(self.radius, "radius")
        return SimplexForm(labels, np.ones(labels.max() + 1), radius)


class GroupSeparable(Penalty):
    """Base class of your own penalty: write `group_value` and `group_prox` in plain Python.

    Solvers are correct only if the penalty is convex. A subclass with parameters of its own stores
    them, and ``groups`` if it has any, in its ``__init__``.

    Parameters
    ----------
    groups : list of array-like of int, array-like of int of shape (n_features,) or None, \
            default=None
        As for `GroupLasso`; None makes every feature a group of its own.

    Notes
    -----
    Every update of a solver calls Python, which is far slower than the compiled penalties.

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

    groups = None  # for subclasses that do not store it

    def __init__(self, groups=None):
        self.groups = groups

    @abstractmethod
    def group_value(self, u, group):
        """Penalty of one group.

        Parameters
        ----------
        u : ndarray of shape (n,)
            Coefficients of the group in the order of the features; with several outputs those of
            one feature stand together.
        group : int
            Number of the group.

        Returns
        -------
        float
            May be infinite.
        """

    @abstractmethod
    def group_prox(self, u, step_size, group):
        """Proximal operator ``argmin_x step_size h_group(x) + ||x - u||^2 / 2`` of one group.

        Parameters
        ----------
        u : ndarray of shape (n,)
            As for `group_value`; must not be changed.
        step_size : float
            Positive.
        group : int
            Number of the group.

        Returns
        -------
        ndarray of shape (n,)
            The minimiser, a new array.
        """

    def group_conjugate(self, v, group):
        """Convex conjugate ``sup_u <v, u> - h_group(u)`` of one group; duality gaps need it.

        Parameters
        ----------
        v : ndarray of shape (n,)
            In the order of `group_value`.
        group : int
            Number of the group.

        Returns
        -------
        float
            May be infinite.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no convex conjugate, so no duality gap can be computed: "
            "override group_conjugate"
        )

    def _bind(self, n_features):
        groups = np.arange(n_features) if self.groups is None else self.groups
        labels = check_groups(groups, n_features)
        return PythonForm(labels, np.ones(labels.max() + 1), self)


def resolve_penalty(penalty, l1_ratio=0.5):
    """Penalty object of a name.

    Parameters
    ----------
    penalty : "elasticnet", Penalty or None
        None stands for no penalty.
    l1_ratio : float, default=0.5
        Between 0 and 1, see `ElasticNet`; other penalties do not use it.

    Returns
    -------
    Penalty
        The object that was given, or a new one.

    Examples
    --------
    >>> from sklearn_fw.penalties import resolve_penalty
    >>> resolve_penalty("elasticnet", 0.9)
    ElasticNet(l1_ratio=0.9)
    """
    # An error now is better than one after the data have been prepared, or none.
    elastic_net = ElasticNet(l1_ratio)
    elastic_net.bind(1)
    if isinstance(penalty, Penalty):
        return penalty
    if penalty is None:
        return Box(-np.inf, np.inf)
    if is_named(penalty, "elasticnet"):
        return elastic_net
    raise ValueError(
        "penalty must be 'elasticnet', None or an object of sklearn_fw.penalties such as "
        f"L1() or GroupLasso(groups); got {penalty!r}"
    )
