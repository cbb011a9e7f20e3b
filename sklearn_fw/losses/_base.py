"""The base class of losses, its interface to solvers, and the checks of a loss of a user.

A solver cannot notice that a derivative is wrong or that a loss is not convex: it would stop early
or never, with a certificate that is none. Both show at a few hundred scores before a fit.
"""

import math
from abc import ABC, abstractmethod

import numpy as np

from .._core import check
from .._core.parameters import Parameterized, check_parameters
from .._kernels import lazy

losses_kernels = lazy("common.losses")

# Slopes outside the domain of a conjugate by no more than rounding count as its edge.
TOLERANCE = 1e-12
# So often the interval is doubled in which a slope is looked for: 1e12 is far enough.
DOUBLINGS = 40
# Width of the interval, relative to its place, at which the search ends.
NARROW = 1e-14
# Targets that a loss is tried on, at most.
TARGETS = 8
# By how much numbers of a user may differ, relative to their size.
ROUNDING, CLOSE = 1e-9, 1e-6
# Steps of differences, relative to the score.
STEP = 1e-4


class Loss(Parameterized, ABC):
    """Base class of losses of a score, convex and differentiable.

    A subclass sets ``task``, "classification" (y is -1 or +1) or "regression", and ``smoothness``,
    the largest second derivative in the score, and writes ``value`` and ``derivative`` for arrays.
    Every solver and penalty then trains with it, up to a certified gap. Parameters of a subclass
    are keyword arguments of its constructor and keys of a grid (``loss__name``).

    Notes
    -----
    Certificates require losses that are not negative and convex in the score. Before a fit both are
    checked at some hundred scores, with the derivative and the smoothness; every result is checked
    for its shape and for NaN.

    "newton" and "newton_cg" call the methods with arrays and are hardly slower than with a loss of
    this package; "auto" prefers them. The other solvers call Python for every score, which takes
    some 10 microseconds each.

    A method ``probability(z)``, the probability of y = +1 for each score, gives the classifier its
    ``predict_proba``. :doc:`/guide/own_loss` shows a loss for quantiles.
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
        check_parameters(self)

    @abstractmethod
    def value(self, y, z):
        """Compute the losses of all scores, of shape (n_samples,), not negative.

        Parameters
        ----------
        y, z : array-like of shape (n_samples,)
            Truth and scores; scores have one column per class for `MultinomialLogLoss`.
        """

    @abstractmethod
    def derivative(self, y, z):
        """Derivatives of the loss in all scores, an array of the shape of z.

        Parameters
        ----------
        y, z : array-like of shape (n_samples,)
            Truth and scores, as for `value`.
        """

    def conjugate(self, y, s):
        """Convex conjugates ``sup_z <s, z> - loss(y, z)``, an array of shape (n_samples,).

        Infinite for slopes that the loss cannot have, where 1e-12 outside of the domain counts as
        its edge. The base class bisects, in some 60 calls of `derivative`: upper bounds to
        rounding.

        Parameters
        ----------
        y, s : array-like of shape (n_samples,)
            Truth and slopes; slopes have one column per class for `MultinomialLogLoss`.
        """
        y, s = (np.atleast_1d(np.asarray(a, np.float64)) for a in np.broadcast_arrays(y, s))
        with np.errstate(all="ignore"):  # far scores may be too much for a formula
            return _conjugate_by_slopes(self, y, s)

    def curvature(self, y, z):
        """Second derivatives in single scores, or one of two; an array of the shape of z.

        The base class computes them as differences of derivatives.

        Parameters
        ----------
        y, z : array-like of shape (n_samples,)
            Truth and scores, as for `value`.
        """
        z = np.asarray(z, np.float64)
        h = 1e-6 * (1.0 + np.abs(z))
        return (self.derivative(y, z + h) - self.derivative(y, z - h)) / (2.0 * h)

    # ---- what solvers ask for ------------------------------------------------------------------

    _is_compiled = False

    def _check_declared(self):
        name = type(self).__name__
        check.choice(self.task, f"task of {name}", {"classification", "regression"})
        if self.smoothness != np.inf:
            check.positive(self.smoothness, f"smoothness of {name}")

    def _check_truth(self, y, name="y"):
        """Refuse truths that the loss is not for."""
        if self.task == "classification" and not np.all(np.abs(y) == 1.0):
            raise ValueError(f"{name} must hold -1 and +1 for {self!r}")

    def _check_on(self, y):
        """Refuse a loss whose values, slopes, smoothness and conjugates contradict each other."""
        known = np.unique(np.asarray(y, np.float64))
        size = float(np.abs(known).max(initial=0.0))
        some = np.linspace(0, known.size - 1, min(known.size, TARGETS)).astype(int)
        for truth in known[some]:
            z = _scores(truth, size)
            _check_slopes(self, np.full(z.shape, truth), z)

    def _ask(self, method, y, x):
        """As many numbers as samples from a method, finite but for conjugates.

        The arrays that go out cannot be written to.
        """
        y, x = (_read_only(a) for a in (y, x))
        name = f"{method} of {type(self).__name__}"
        found = check.array(getattr(self, method)(y, x), f"what {name} returned", None)
        if found.shape != x.shape:
            raise ValueError(f"{name} must return shape {x.shape}, got shape {found.shape}")
        bad = ~(found > -np.inf) if method == "conjugate" else ~np.isfinite(found)
        bad &= np.abs(x) <= check.LARGEST  # a run that diverges is not the fault of the loss
        if bad.any():
            i, at = np.flatnonzero(bad)[0], "s" if method == "conjugate" else "z"
            raise ValueError(
                f"{name} must return finite numbers, got {found[i]} for y = {y[i]:g}, "
                f"{at} = {x[i]:g}: write it so that it cannot overflow, as np.logaddexp is"
            )
        return found

    def _probability(self, z):
        name = f"probability of {type(self).__name__}"
        found = check.array(self.probability(z.copy()), f"what {name} returned")
        if found.shape != z.shape or np.any((found < 0.0) | (found > 1.0)):
            raise ValueError(f"{name} must return a number from 0 to 1 per score")
        return found

    def _one_by_one(self, method):
        function = getattr(self, method)

        def call(y, z):
            y, z = np.array([y]), np.array([z])
            found = function(y, z)
            if type(found) is np.ndarray and found.shape == (1,) and math.isfinite(found[0]):
                return float(found[0])
            return float(self._ask(method, y, z)[0])  # names the fault

        return call

    def _formula(self):
        methods = self._one_by_one("value"), self._one_by_one("derivative")
        return losses_kernels.Formula(-1, 0.0, losses_kernels.PythonLoss(*methods))

    def _total(self, y, z, shift, weight):
        losses = self._ask("value", y, z + shift)
        return float(losses.sum() if weight is None else weight @ losses)

    def _total_and_slopes(self, y, z, weight, slopes):
        """Sum of the weighted losses; weighted slopes go to ``slopes``, which may be ``z``."""
        total = self._total(y, z, 0.0, weight)
        slopes[:] = self._ask("derivative", y, z)
        if weight is not None:
            slopes *= weight
        return total

    def _slope_total(self, y, z, shift, weight):
        """Weighted sums of slopes at ``z + shift``, their absolute values and derivatives."""
        z = z + shift
        slopes = self._ask("derivative", y, z)
        values = np.array([slopes, np.abs(slopes), self._curvatures(y, z, slopes)])
        return (values.sum(axis=1) if weight is None else values @ weight).tolist()

    def _curvatures(self, y, z, s):
        return np.clip(self._ask("curvature", y, z), 0.0, self.smoothness)


def _read_only(a):
    view = np.asarray(a, np.float64).view()
    view.flags.writeable = False
    return view


def _scores(truth, size):
    """Scores near the truth and near zero, in the unit of the targets and in units of one; sorted.

    Beside every score stands one that is very near.
    """
    steps = np.concatenate([np.geomspace(1e-3, 10.0, 14), size * np.geomspace(1e-3, 2.0, 12)])
    steps = np.concatenate([-steps, [0.0], steps])
    z = np.concatenate([steps, truth + steps])
    return np.unique(np.concatenate([z, z + STEP * (1.0 + np.abs(z))]))


def _check_slopes(loss, y, z):
    name, truth = type(loss).__name__, y[0]
    value, slope = loss._ask("value", y, z), loss._ask("derivative", y, z)
    is_smooth = loss.smoothness < np.inf
    size = float(loss.smoothness) if is_smooth else 0.0

    def refuse(where, sentence):
        if where.any():
            i = np.flatnonzero(where)[0]
            raise ValueError(f"{name} at y = {truth:g}, z = {z[i]:g}: {sentence}")

    refuse(
        value < -ROUNDING * (1.0 + np.abs(value).max()),
        "its value is negative, but certificates count on losses that are not; add a constant",
    )
    alone = [loss._ask(method, y[:1], z[:1])[0] for method in ("value", "derivative")]
    if not np.allclose(alone, [value[0], slope[0]], rtol=ROUNDING, atol=1e-12):
        raise ValueError(
            f"{name} gives a sample another loss when it is alone: value and derivative must "
            f"treat every sample by itself and not divide by their number"
        )
    step, rise = np.diff(z), np.diff(slope)
    rounding = 1e-15 * (np.abs(value[1:]) + np.abs(value[:-1])) / step
    rounding += ROUNDING * (np.abs(slope[1:]) + np.abs(slope[:-1])) + 1e-15 * size * np.abs(z[1:])
    # Between two scores that are near the slope is on average that of the secant.
    near = step <= 2.0 * STEP * (1.0 + np.abs(z[1:]))
    off = np.abs(np.diff(value) / step - 0.5 * (slope[1:] + slope[:-1]))
    off = off > 0.5 * np.abs(rise) + CLOSE * size * step + rounding
    refuse(near & off, "its derivative is not that of its value; compare with differences")
    refuse(rise < -rounding, "its derivative falls: it is not convex and nothing can be certified")
    refuse(
        is_smooth & (rise > size * step * (1.0 + CLOSE) + rounding),
        f"its derivative grows faster than smoothness = {size:g} allows; give a larger smoothness",
    )
    loss._ask("curvature", y, z)
    _check_conjugates(loss, y, z, value, slope)


def _check_conjugates(loss, y, z, value, slope):
    found = loss._ask("conjugate", y, slope)
    known = slope * z - value
    slack = CLOSE * (1.0 + np.abs(known) + value)
    some = slice(None, None, 9)
    half = loss._ask("conjugate", y[some], 0.5 * slope[some])
    best = np.max(0.5 * slope[some, None] * z - value, axis=1)
    if np.any(np.abs(found - known) > slack) or np.any(half < best - slack[some]):
        raise ValueError(
            f"conjugate of {type(loss).__name__} is not that of its value at y = {y[0]:g}: it is "
            f"sup_z s z - value(y, z); leave it out and it will be computed"
        )


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
