"""Losses of linear models: the value, slope and convex conjugate of one score per sample.

All functions take the truth first. Margin losses expect ``y`` in {-1, +1} and are written with
``m = y z``, where z is the score; losses of regression are written with ``r = z - y``.
"""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from ._validation import (
    LARGEST,
    check_array_of_numbers,
    check_choice,
    check_magnitude,
    check_not_negative,
    check_positive,
)

__all__ = [
    "Huber",
    "LogLoss",
    "Loss",
    "ModifiedHuber",
    "MultinomialLogLoss",
    "SmoothHinge",
    "SquaredEpsilonInsensitive",
    "SquaredError",
    "SquaredHinge",
    "resolve_loss",
]


# What the numbers are called that a quantity is a function of.
NAMES = {"value": "z", "derivative": "z", "conjugate": "s"}


class Loss(BaseEstimator, ABC):
    """Base class of the losses; convex and differentiable in the score.

    ``task`` is "classification" or "regression"; ``smoothness`` is the largest second derivative in
    the score; ``code`` and ``parameter`` are what compiled code knows of the loss.
    """

    parameter = 0.0

    @property
    @abstractmethod
    def task(self):
        """What the loss is for, "classification" or "regression"."""

    @property
    @abstractmethod
    def smoothness(self):
        """Largest second derivative in the score."""

    @property
    @abstractmethod
    def _code_name(self):
        """Name of the code in the kernels, looked up late because these import slowly."""

    @property
    def code(self):
        """Integer by which compiled code knows the loss."""
        from ._kernels.common import losses

        return getattr(losses, self._code_name)

    def check(self):
        """Raise an error that names a bad parameter of the loss; done by `resolve_loss`."""

    def value(self, y, z):
        """Loss of every score.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Truth.
        z : array-like of shape (n_samples,)
            Scores; one column per class for `MultinomialLogLoss`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Losses, not averaged.
        """
        return self._apply("value", y, z)

    def derivative(self, y, z):
        """Derivative of the loss in every score.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Truth.
        z : array-like of shape (n_samples,)
            Scores; one column per class for `MultinomialLogLoss`.

        Returns
        -------
        ndarray of the shape of z
            Derivatives.
        """
        return self._apply("derivative", y, z)

    def conjugate(self, y, s):
        """Convex conjugate ``sup_z <s, z> - loss(y, z)`` of every sample.

        Slopes that are outside its domain by no more than rounding, 1e-12, count as its edge.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Truth.
        s : array-like of shape (n_samples,)
            Slopes; one column per class for `MultinomialLogLoss`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Conjugates; infinite for slopes that the loss cannot have.
        """
        return self._apply("conjugate", y, s)

    def curvature(self, s):
        """Second derivative in every score, from the derivative there, which tells it.

        Parameters
        ----------
        s : ndarray of shape (n_samples,)
            Slopes, as `derivative` gives them; one column per class for `MultinomialLogLoss`.

        Returns
        -------
        ndarray of the shape of s
            Second derivatives in single scores; where there are two, one of them.
        """
        self.check()
        return self._curvature(check_array_of_numbers(s, "s"))

    @abstractmethod
    def _curvature(self, s):
        """Do the work of `curvature`."""

    def _apply(self, quantity, y, x):
        from ._kernels.common import losses

        self.check()
        y, x = check_array_of_numbers(y, "y"), check_array_of_numbers(x, NAMES[quantity], False)
        check_magnitude(y, "y")
        if y.shape != x.shape:
            if y.ndim and x.ndim:  # one number may go with all
                raise ValueError(
                    f"y has shape {y.shape} and {NAMES[quantity]} has {x.shape}: one truth per "
                    f"number is needed"
                )
            y, x = np.broadcast_arrays(y, x)
        # Writable even though only read: the kernels are compiled for one kind of array.
        y, x = (np.require(a, np.float64, "CW") for a in (y, x))
        out = np.empty(x.shape)
        kernel = getattr(losses, quantity + "s")
        kernel(self.code, float(self.parameter), y.reshape(-1), x.reshape(-1), out.reshape(-1))
        return out[()]


class LogLoss(Loss):
    """Logistic loss ``log(1 + exp(-m))``.

    Examples
    --------
    >>> from sklearn_fw.losses import LogLoss
    >>> LogLoss().derivative([1, -1], [0.0, 0.0])
    array([-0.5,  0.5])
    """

    task = "classification"
    smoothness = 0.25
    _code_name = "LOG"

    def _curvature(self, s):
        slope = np.abs(s)
        return slope * (1.0 - slope)


class MultinomialLogLoss(Loss):
    """Cross-entropy ``log(sum_k exp(z_k)) - z_y`` of the softmax of K scores.

    The truth y is the index of the class, scores and slopes have shape (n_samples, K).
    ``smoothness`` is 1/2, the largest eigenvalue that the Hessian can have.

    Examples
    --------
    >>> from sklearn_fw.losses import MultinomialLogLoss
    >>> MultinomialLogLoss().derivative([0], [[0.0, 0.0]])
    array([[-0.5,  0.5]])
    """

    task = "classification"
    smoothness = 0.5
    _code_name = "SOFTMAX"

    def _curvature(self, s):
        slope = np.abs(s)
        return slope * (1.0 - slope)

    def _apply(self, quantity, y, x):
        from ._kernels.common import losses

        name = NAMES[quantity]
        # Of two infinite scores none is the larger; slopes may be infinite.
        finite = quantity != "conjugate"
        x = np.require(check_array_of_numbers(x, name, finite), np.float64, "CW")
        if x.ndim == 0 or x.shape[-1] == 0:
            raise ValueError(f"{name} must have one column per class, got shape {x.shape}")
        y, n_classes = check_array_of_numbers(y, "y"), x.shape[-1]
        if y.shape != x.shape[:-1]:
            raise ValueError(
                f"y has shape {y.shape}, expected {x.shape[:-1]}: one per row of {name}"
            )
        label = np.require(y, np.int64, "CW")
        # The kernel would read and write outside of its arrays.
        if np.any((label != y) | (label < 0) | (label >= n_classes)):
            raise ValueError(f"y must hold indices of classes, integers from 0 to {n_classes - 1}")
        rows = x.reshape(-1, n_classes)
        out = np.empty(rows.shape if quantity == "derivative" else len(rows))
        getattr(losses, f"softmax_{quantity}s")(label.reshape(-1), rows, out)
        return out.reshape(x.shape if quantity == "derivative" else y.shape)[()]


class SquaredHinge(Loss):
    """Squared hinge loss ``max(0, 1 - m)^2``."""

    task = "classification"
    smoothness = 2.0
    _code_name = "SQUARED_HINGE"

    def _curvature(self, s):
        return 2.0 * (s != 0.0)


class SmoothHinge(Loss):
    """Hinge loss with a rounded corner.

    Zero for m >= 1, ``(1 - m)^2 / (2 gamma)`` down to m = 1 - gamma, ``1 - m - gamma / 2`` below.

    Parameters
    ----------
    gamma : float, default=1.0
        Width of the rounded part, positive; ``smoothness`` is ``1 / gamma``.
    """

    task = "classification"
    _code_name = "SMOOTH_HINGE"

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    @property
    def parameter(self):
        """The gamma."""
        return float(self.gamma)

    @property
    def smoothness(self):
        """Largest second derivative in the score."""
        self.check()
        return 1.0 / float(self.gamma)

    def check(self):
        """Raise unless gamma is positive."""
        if check_positive(self.gamma, "gamma") < 1.0 / LARGEST:
            raise ValueError(f"gamma must be at least {1.0 / LARGEST:g}, got {self.gamma}")

    def _curvature(self, s):
        return ((s != 0.0) & (np.abs(s) < 1.0)) / float(self.gamma)


class ModifiedHuber(Loss):
    """Squared hinge loss ``max(0, 1 - m)^2`` for m >= -1, and its tangent ``-4 m`` below.

    The scores, clipped to [-1, 1], estimate ``2 P(y = 1) - 1``.
    """

    task = "classification"
    smoothness = 2.0
    _code_name = "MODIFIED_HUBER"

    def _curvature(self, s):
        return 2.0 * ((s != 0.0) & (np.abs(s) < 4.0))


class SquaredError(Loss):
    """Half the squared error, ``r^2 / 2``."""

    task = "regression"
    smoothness = 1.0
    _code_name = "SQUARED_ERROR"

    def _curvature(self, s):
        return np.ones(np.shape(s))


class Huber(Loss):
    """Squared error near zero and linear beyond, hence robust to outliers.

    ``r^2 / 2`` for ``|r| <= delta``, ``delta (|r| - delta / 2)`` beyond.

    Parameters
    ----------
    delta : float, default=1.35
        Largest residual that counts as a square, positive.
    """

    task = "regression"
    smoothness = 1.0
    _code_name = "HUBER"

    def __init__(self, delta=1.35):
        self.delta = delta

    @property
    def parameter(self):
        """The delta."""
        return float(self.delta)

    def check(self):
        """Raise unless delta is positive."""
        check_positive(self.delta, "delta")

    def _curvature(self, s):
        return (np.abs(s) < self.delta).astype(np.float64)


class SquaredEpsilonInsensitive(Loss):
    """Squared error beyond a margin, ``max(0, |r| - epsilon)^2``.

    Parameters
    ----------
    epsilon : float, default=0.1
        Residuals up to here cost nothing; not negative.
    """

    task = "regression"
    smoothness = 2.0
    _code_name = "SQUARED_EPSILON_INSENSITIVE"

    def __init__(self, epsilon=0.1):
        self.epsilon = epsilon

    @property
    def parameter(self):
        """The epsilon."""
        return float(self.epsilon)

    def check(self):
        """Raise unless epsilon is zero or positive."""
        check_not_negative(self.epsilon, "epsilon")

    def _curvature(self, s):
        return 2.0 * (s != 0.0)


_NAMED = {
    "log_loss": LogLoss,
    "multinomial": MultinomialLogLoss,
    "squared_hinge": SquaredHinge,
    "smooth_hinge": SmoothHinge,
    "modified_huber": ModifiedHuber,
    "squared_error": SquaredError,
    "huber": Huber,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
}


def resolve_loss(loss, task):
    """Loss object of a name, checked.

    Parameters
    ----------
    loss : str or Loss
        "log_loss", "multinomial", "squared_hinge", "smooth_hinge" or "modified_huber" for
        classification; "squared_error", "huber" or "squared_epsilon_insensitive" for regression; or
        an object of this module, to choose its parameter.
    task : {"classification", "regression"} or None
        What the loss must be for; None for either.

    Returns
    -------
    Loss
        The object that was given, or a new one with default parameters.

    Raises
    ------
    ValueError
        When there is no such loss for the task, or a parameter of the loss is out of range.

    Examples
    --------
    >>> from sklearn_fw.losses import resolve_loss
    >>> resolve_loss("huber", "regression")
    Huber()
    """
    if task is not None:
        check_choice(task, "task", {"classification", "regression"})
    fitting = [name for name, cls in _NAMED.items() if task in (None, cls.task)]
    resolved = loss
    if isinstance(loss, str):
        resolved = _NAMED[check_choice(loss, "loss", _NAMED)]()
    if type(resolved) not in _NAMED.values():  # compiled code would not call methods of others
        raise ValueError(
            f"loss must be one of {', '.join(map(repr, fitting))} or an object of "
            f"sklearn_fw.losses such as {_NAMED[fitting[-1]].__name__}(); got {loss!r}"
        )
    if task not in (None, resolved.task):
        raise ValueError(
            f"loss={loss!r} is for {resolved.task}; "
            f"for {task} choose one of {', '.join(map(repr, fitting))}"
        )
    resolved.check()
    return resolved
