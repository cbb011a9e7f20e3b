"""The losses of this package, computed by kernels, and their names."""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import expit, softmax

from .._core import check
from .._core.packed import writable
from .._kernels import lazy
from ._base import Loss

losses = lazy("common.losses")
sums = lazy("common.sums")

# Standard deviation of a normal distribution, in mean distances from its median.
NORMAL = 1.25
# What the numbers are called that a quantity is a function of.
NAMES = {"value": "z", "derivative": "z", "conjugate": "s"}


class CompiledLoss(Loss):
    """A loss that kernels know by a code and a parameter."""

    _is_compiled = True
    _parameter_name = None
    _code_name = None  # of the code in the kernels, looked up late because these import slowly

    @property
    def parameter(self):
        """The number that the formula depends on, zero for none."""
        return float(getattr(self, self._parameter_name)) if self._parameter_name else 0.0

    @property
    def code(self):
        """Integer by which compiled code knows the loss."""
        return getattr(losses, self._code_name)

    def value(self, y, z):
        # Same as the base, in a kernel
        return self._apply("value", y, z)

    def derivative(self, y, z):
        # Same as the base, in a kernel
        return self._apply("derivative", y, z)

    def conjugate(self, y, s):
        # In closed form
        return self._apply("conjugate", y, s)

    def curvature(self, y, z):
        # The derivative tells it
        return self._curvature(self.derivative(y, z))

    def _curvature(self, s):
        """Second derivatives where the slopes are s; zero of what is straight but for kinks."""
        s, out = writable(np.asarray(s, np.float64)), np.empty(np.shape(s))
        losses.bends(self._formula(), s.reshape(-1), out.reshape(-1))
        return out[()]

    def _apply(self, quantity, y, x):
        self.check()
        name = NAMES[quantity]
        y, x = check.numbers(y, "y"), check.array(x, name, False)
        if y.shape != x.shape:
            if y.ndim and x.ndim:  # one number may go with all
                raise ValueError(f"y has shape {y.shape}, {name} {x.shape}: one truth per number")
            shape = np.broadcast_shapes(y.shape, x.shape)
            y, x = (np.broadcast_to(a, shape).copy() for a in (y, x))
        y, x = (writable(a) for a in (y, x))
        out = np.empty(x.shape)
        kernel = getattr(losses, quantity + "s")
        kernel(self.code, self.parameter, y.reshape(-1), x.reshape(-1), out.reshape(-1))
        return out[()]

    # ---- what solvers ask for ------------------------------------------------------------------

    def _check_on(self, y):
        pass  # known to be what it says

    def _formula(self):
        return losses.Formula(self.code, self.parameter)

    def _total(self, y, z, shift, weight):
        return sums.losses_and_slopes(self._formula(), y, z, float(shift), weight, None)

    def _total_and_slopes(self, y, z, weight, slopes):
        return sums.losses_and_slopes(self._formula(), y, z, 0.0, weight, slopes)

    def _slope_total(self, y, z, shift, weight):
        return sums.sum_slopes(self._formula(), y, z, shift, weight)

    def _ask(self, method, y, x):
        return getattr(self, method)(y, x)

    def _curvatures(self, y, z, s):
        return self._curvature(s)


class ProbabilisticLoss(CompiledLoss):
    task = "classification"

    def probability(self, z):
        """Probabilities of y = +1, an array of shape (n_samples,).

        Parameters
        ----------
        z : array-like of shape (n_samples,)
            Scores.
        """
        return self._probability_of(check.array(z, "z"))


class LogLoss(ProbabilisticLoss):
    """Logistic loss ``log(1 + exp(-m))``.

    Examples
    --------
    >>> from sklearn_fw.losses import LogLoss
    >>> LogLoss().derivative([1, -1], [0.0, 0.0])
    array([-0.5,  0.5])
    """

    smoothness = 0.25
    _code_name = "LOG"
    _probability_of = staticmethod(expit)


class MultinomialLogLoss(CompiledLoss):
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

    def _check_truth(self, y, name="y"):
        labels = y.astype(np.int64)
        if y.ndim != 1 or np.any((labels != y) | (labels < 0)):
            raise ValueError(f"{name} must hold class indices 0, 1, ... for loss='multinomial'")

    def _apply(self, quantity, y, x):
        name = NAMES[quantity]
        # Of two infinite scores none is the larger; slopes may be infinite.
        finite = quantity != "conjugate"
        x = writable(check.array(x, name, finite))
        if x.ndim == 0 or x.shape[-1] == 0:
            raise ValueError(f"{name} must have one column per class, got shape {x.shape}")
        y, shape, n_classes = check.array(y, "y"), x.shape[:-1], x.shape[-1]
        if y.shape != shape:
            raise ValueError(f"y has shape {y.shape}, expected {shape}: one per row of {name}")
        label = writable(y, np.int64)
        # The kernel would read and write outside of its arrays.
        if np.any((label != y) | (label < 0) | (label >= n_classes)):
            raise ValueError(f"y must hold indices of classes, integers from 0 to {n_classes - 1}")
        rows, label = x.reshape(-1, n_classes), label.reshape(-1)
        out, slopes = np.empty(len(rows)), np.empty(rows.shape)
        if quantity == "conjugate":
            losses.softmax_conjugates(label, rows, out)
        else:
            losses.softmax_losses(label, rows, out, slopes)
        return slopes.reshape(x.shape) if quantity == "derivative" else out.reshape(y.shape)[()]

    def probability(self, z):
        """Probabilities of the classes, of shape (n_samples, n_classes); rows sum to one.

        Parameters
        ----------
        z : array-like of shape (n_samples, n_classes)
            Scores.
        """
        z = check.array(z, "z")
        if z.ndim == 0 or z.shape[-1] == 0:
            raise ValueError(f"z must have one column per class, got shape {z.shape}")
        return softmax(z, axis=-1)

    def _total(self, y, z, shift, weight):
        moved = z + shift
        return self._total_and_slopes(y, moved, weight, moved)

    def _total_and_slopes(self, y, z, weight, slopes):
        return sums.softmax_losses_and_slopes(y, z, weight, slopes)


class SquaredHinge(CompiledLoss):
    """Squared hinge loss ``max(0, 1 - m)^2``."""

    task = "classification"
    smoothness = 2.0
    _code_name = "SQUARED_HINGE"


class Hinge(CompiledLoss):
    """Hinge loss ``max(0, 1 - m)``, the loss of the SVM; it is not smooth."""

    task = "classification"
    smoothness = np.inf
    _code_name = "HINGE"


class SmoothHinge(CompiledLoss):
    """Hinge loss with a rounded corner.

    Zero for m >= 1, ``(1 - m)^2 / (2 gamma)`` down to m = 1 - gamma, ``1 - m - gamma / 2`` below.

    Parameters
    ----------
    gamma : float, default=1.0
        Width of the rounded part, positive; ``smoothness`` is ``1 / gamma``.
    """

    gamma: check.strength = 1.0

    task = "classification"
    _code_name = "SMOOTH_HINGE"
    _parameter_name = "gamma"

    @property
    def smoothness(self):
        """Largest second derivative in the score."""
        self.check()
        return 1.0 / float(self.gamma)


class ModifiedHuber(ProbabilisticLoss):
    """Squared hinge loss ``max(0, 1 - m)^2``, linear (``-4 m``) for m below -1.

    The scores, clipped to [-1, 1], estimate ``2 P(y = 1) - 1``.
    """

    smoothness = 2.0
    _code_name = "MODIFIED_HUBER"

    def _probability_of(self, z):
        return (np.clip(z, -1.0, 1.0) + 1.0) / 2.0


class SquaredError(CompiledLoss):
    """Half the squared error, ``r^2 / 2``."""

    task = "regression"
    smoothness = 1.0
    _code_name = "SQUARED_ERROR"


class Huber(CompiledLoss):
    """Squared error near zero and linear beyond, hence robust to outliers.

    ``r^2 / 2`` for ``|r| <= delta``, ``delta (|r| - delta / 2)`` beyond.

    Parameters
    ----------
    delta : float, default=1.35
        Largest residual that counts as a square, positive.
    """

    delta: check.positive = 1.35

    task = "regression"
    smoothness = 1.0
    _code_name = "HUBER"
    _parameter_name = "delta"


class WithMargin(CompiledLoss):
    epsilon: check.not_negative = 0.1

    _parameter_name = "epsilon"


class SquaredEpsilonInsensitive(WithMargin):
    """Squared error beyond a margin, ``max(0, |r| - epsilon)^2``.

    Parameters
    ----------
    epsilon : float, default=0.1
        Residuals up to here cost nothing; not negative.
    """

    task = "regression"
    smoothness = 2.0
    _code_name = "SQUARED_EPSILON_INSENSITIVE"


class EpsilonInsensitive(WithMargin):
    """Absolute error beyond a margin, ``max(0, |r| - epsilon)``; it is not smooth.

    Parameters
    ----------
    epsilon : float, default=0.1
        Residuals up to here cost nothing; not negative. Zero is the absolute error, which the
        median minimizes.
    """

    task = "regression"
    smoothness = np.inf
    _code_name = "EPSILON_INSENSITIVE"


NAMED = {
    "log_loss": LogLoss,
    "multinomial": MultinomialLogLoss,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "smooth_hinge": SmoothHinge,
    "modified_huber": ModifiedHuber,
    "squared_error": SquaredError,
    "huber": Huber,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "epsilon_insensitive": EpsilonInsensitive,
    "absolute_error": partial(EpsilonInsensitive, 0.0),
}


def resolve_loss(loss, task, *, smooth=False, names=tuple(NAMED), spread=None):
    """The loss; by its name, its parameter counts deviations of targets of this ``spread``."""
    fitting = [name for name in names if task in (None, NAMED[name]().task)]
    if smooth:
        fitting = [name for name in fitting if NAMED[name]().smoothness < np.inf]
    known = ", ".join(map(repr, fitting))
    resolved = NAMED[loss]() if isinstance(loss, str) and loss in names else loss
    name = getattr(resolved, "_parameter_name", None)
    if name and spread and resolved is not loss and resolved.task == "regression":
        resolved = replace(resolved, **{name: NORMAL * spread * getattr(resolved, name)})
    # Methods that replace those of a compiled loss would never be called.
    changed = isinstance(loss, CompiledLoss) and type(loss).__module__ != __name__
    if changed or not isinstance(resolved, Loss):
        raise ValueError(
            f"loss must be one of {known} or an object of sklearn_fw.losses such as "
            f"{NAMED[fitting[-1]]()!r}, or your own, derived directly from "
            f"sklearn_fw.losses.Loss; got {loss!r}"
        )
    resolved.check()
    resolved._check_declared()
    if task not in (None, resolved.task):
        raise ValueError(f"{loss=} is for {resolved.task}; for {task} choose one of {known}")
    if smooth and resolved.smoothness == np.inf:
        name = type(resolved).__name__
        is_ours = isinstance(resolved, CompiledLoss)
        fault = f"{loss=} is not smooth" if is_ours else f"smoothness of {name} must be finite"
        raise ValueError(f"{fault}; choose one of {known}, or an averaged subgradient method")
    return resolved
