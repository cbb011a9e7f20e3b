"""The base class of losses, and all that a loss needs which is known by its values and slopes."""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from .._kernels import lazy
from ._border import ask, check_on, one_by_one

losses_kernels = lazy("common.losses")

# Slopes outside the domain of a conjugate by no more than rounding count as its edge.
TOLERANCE = 1e-12
# So often the interval is doubled in which a slope is looked for: 1e12 is far enough.
DOUBLINGS = 40
# Width of the interval, relative to its place, at which the search ends.
NARROW = 1e-14


class Loss(BaseEstimator, ABC):
    """Loss of a score, convex and differentiable (base class); derive your own from it.

    A subclass sets ``task`` and ``smoothness`` and writes ``value`` and ``derivative`` for arrays.
    That is all it takes to train with every solver and penalty, up to a certified gap. Parameters
    of a subclass are keyword arguments of its constructor, as everywhere in scikit-learn, and then
    keys of a grid (``loss__name``).

    ``task`` is "classification", where y is -1 or +1, or "regression". ``smoothness`` is the
    largest second derivative in the score; solvers take their steps from it, so that it must not be
    too small.

    See Also
    --------
    SmoothHinge : A loss for classification.
    Huber : A loss for regression.

    Notes
    -----
    Losses are not negative, and convex in the score; else certificates are worth nothing. Before a
    fit both are looked into at some hundred scores, with the derivative and the smoothness: a loss
    that is not what it says raises ValueError. Every answer is checked for its shape and for NaN.

    Solvers that look at all rows at once ("newton", "newton_cg") ask for arrays and are
    hardly slower than with a loss of this package; "auto" prefers them. The others ask Python for
    single scores, some 10 microseconds each.

    A method ``probability(z)``, if there is one, gives the classifier its ``predict_proba``: the
    probability of y = +1 for each score.

    Examples
    --------
    Mistakes above cost as much as ``1 - tau``, mistakes below as much as ``tau``, and small ones
    less: predictions are near the quantile ``tau``.

    >>> import numpy as np
    >>> from sklearn_fw import AsagaRegressor
    >>> from sklearn_fw.losses import Loss
    >>> class SmoothQuantile(Loss):
    ...     task, smoothness = "regression", 1.0
    ...     def __init__(self, tau=0.5):
    ...         self.tau = tau
    ...     def derivative(self, y, z):
    ...         return np.clip(z - y, -self.tau, 1.0 - self.tau)
    ...     def value(self, y, z):
    ...         slope = self.derivative(y, z)
    ...         return slope * (z - y) - slope**2 / 2
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((500, 2)), 100.0 * rng.random(500)
    >>> model = AsagaRegressor(SmoothQuantile(0.9), alpha=1e-3).fit(X, y)
    >>> float(np.mean(y < model.predict(X)).round(1))
    0.9
    """

    @property
    @abstractmethod
    def task(self):
        """What the loss is for, "classification" or "regression"."""

    @property
    @abstractmethod
    def smoothness(self):
        """Largest second derivative in the score."""

    def check(self):
        """Raise an error that names a bad parameter of the loss; done by `resolve_loss`."""

    @abstractmethod
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
            Losses, not averaged and not negative.
        """

    @abstractmethod
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

    def conjugate(self, y, s):
        """Convex conjugate ``sup_z <s, z> - loss(y, z)`` of every sample.

        Where a loss does not have its own, this is found by bisection, in some 60 calls of
        `derivative`, and is an upper bound to rounding, which keeps certificates true.

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
        y, s = (np.atleast_1d(np.asarray(a, np.float64)) for a in np.broadcast_arrays(y, s))
        with np.errstate(all="ignore"):  # far scores may be too much for a formula
            return _conjugate_by_slopes(self, y, s)

    def curvature(self, y, z):
        """Second derivative in every score, which Newton's method takes its steps from.

        Where a loss does not have its own, this is a difference of derivatives.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Truth.
        z : array-like of shape (n_samples,)
            Scores; one column per class for `MultinomialLogLoss`.

        Returns
        -------
        ndarray of the shape of z
            Second derivatives in single scores; where there are two, one of them.
        """
        z = np.asarray(z, np.float64)
        h = 1e-6 * (1.0 + np.abs(z))
        return (self.derivative(y, z + h) - self.derivative(y, z - h)) / (2.0 * h)

    # ---- what solvers ask for ------------------------------------------------------------------

    def _check_on(self, y):
        """Refuse a loss that is not what it says, by its values near the truths."""
        check_on(self, y)

    def _formula(self):
        """The loss as kernels take it."""
        call = losses_kernels.PythonLoss(one_by_one(self, "value"), one_by_one(self, "derivative"))
        return losses_kernels.Formula(-1, 0.0, call)

    def _total(self, y, z, shift, weight):
        """Sum of the weighted losses at the scores ``z + shift``."""
        losses = ask(self, "value", y, z + shift)
        return float(losses.sum() if weight is None else weight @ losses)

    def _total_and_slopes(self, y, z, weight, slopes):
        """Sum of the weighted losses; weighted slopes go to ``slopes``, which may be ``z``."""
        total = self._total(y, z, 0.0, weight)
        slopes[:] = ask(self, "derivative", y, z)
        if weight is not None:
            slopes *= weight
        return total

    def _slope_total(self, y, z, shift, weight):
        """Sum of the weighted slopes at the scores ``z + shift``, and of their absolute values."""
        slopes = ask(self, "derivative", y, z + shift)
        if weight is not None:
            slopes = slopes * weight
        return float(slopes.sum()), float(np.abs(slopes).sum())

    def _conjugates(self, y, s):
        """`conjugate`, checked."""
        return ask(self, "conjugate", y, s)

    def _curvatures(self, y, z, s):
        """`curvature` at scores z, where the slopes are s."""
        return np.clip(ask(self, "curvature", y, z), 0.0, self.smoothness)


def _conjugate_by_slopes(loss, y, s):
    """Upper bounds on the conjugates, equal to rounding; infinite where no score has the slope."""
    # Losses are not negative: at zero, whether or not some score has that slope, zero is a bound.
    unknown = np.where(s == 0.0, 0.0, np.inf)
    slack = TOLERANCE * np.abs(s)
    low, high = -np.ones_like(s), np.ones_like(s)
    for _ in range(DOUBLINGS):
        below, above = loss.derivative(y, low), loss.derivative(y, high)
        short, far = ~(below <= s + slack), ~(above >= s - slack)
        if not np.any(short | far):
            break
        low, high = np.where(short, 2.0 * low, low), np.where(far, 2.0 * high, high)
    s = np.clip(s, below, above)
    while np.any(high - low > NARROW * (1.0 + np.abs(low))):
        middle = 0.5 * (low + high)
        rises = loss.derivative(y, middle) <= s
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    # The loss is above its tangents at both ends, and the supremum between them.
    bounds = [
        s * z - loss.value(y, z) + np.abs(s - loss.derivative(y, z)) * (high - low)
        for z in (low, high)
    ]
    known = np.isfinite(bounds[0]) & np.isfinite(bounds[1]) & ~(short | far)
    return np.where(known, np.minimum(*bounds), unknown)
