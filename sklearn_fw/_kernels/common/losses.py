"""Losses of a score: value, derivative and convex conjugate, chosen by an integer code.

Every function takes the truth ``y`` first. Losses of a margin take ``y`` in {-1, +1} and are
functions of ``m = y z``; losses of a residual are functions of ``r = z - y``; the softmax takes the
index of a class and one score per class. ``param`` is the gamma, delta or epsilon of a loss. The
conjugate is ``sup_z s z - loss(y, z)``: infinite outside the slopes that the loss can have.

A user's loss is its Python methods, which compiled code calls.
"""

import ctypes
import math
from typing import NamedTuple

import numpy as np
from numba import types
from numba.experimental import function_type  # noqa: F401  the types of `PythonCall`

from .._jit import inner, njit

LOG = 0  # log(1 + exp(-m))
SQUARED_HINGE = 1  # max(0, 1 - m)^2
SMOOTH_HINGE = 2  # max(0, 1 - m), smoothed by a parabola on [1 - gamma, 1]
MODIFIED_HUBER = 3  # max(0, 1 - m)^2 for m >= -1, its tangent -4 m below
SQUARED_ERROR = 4  # r^2 / 2
HUBER = 5  # r^2 / 2 for |r| <= delta, its tangent beyond
SQUARED_EPSILON_INSENSITIVE = 6  # max(0, |r| - epsilon)^2
SOFTMAX = 7  # one score per class: the functions softmax_*
HINGE = 8  # max(0, 1 - m); its slope at m = 1 is 0
EPSILON_INSENSITIVE = 9  # max(0, |r| - epsilon); its slope at both kinks is 0

# Slopes outside the domain of a conjugate by no more than rounding count as its edge.
TOLERANCE = 1e-12

# What is computed by a user's loss.
VALUE, SLOPE = 0, 1


class Formula(NamedTuple):
    """A loss: code and parameter, or the face of a user's Python methods (else None)."""

    code: int
    param: float
    call: object = None


class PythonCall(types.WrapperAddressProtocol):
    """A function of a user; subclasses define its result and arguments.

    An exception cannot pass through compiled code: it is kept in ``error``, and from then on the
    function answers with ``failed`` at once. Who runs the kernel asks `check` afterwards.
    """

    kinds = ()  # of what comes back and goes in, for ctypes

    def __init__(self, function, failed=None):
        self.error = None

        def call(*arguments):
            if self.error is None:
                try:
                    return function(*arguments)
                except BaseException as error:
                    self.error = error
            return failed

        self._function = ctypes.CFUNCTYPE(*self.kinds)(call)

    def __call__(self, *arguments):
        """What compiled code does with the function, where nothing is compiled."""
        return self._function(*arguments)

    def __wrapper_address__(self):
        """Where the function is."""
        return ctypes.cast(self._function, ctypes.c_void_p).value

    def check(self):
        """Raise the exception that was kept, if there is one."""
        if self.error is not None:
            raise self.error


class PythonLoss(PythonCall):
    """A user's loss as compiled code can call it, a score at a time."""

    kinds = ctypes.c_double, ctypes.c_int64, ctypes.c_double, ctypes.c_double

    def __init__(self, value, derivative):
        functions = value, derivative
        super().__init__(lambda what, y, z: functions[what](y, z), failed=0.0)

    def signature(self):
        """What the function takes: which quantity, the truth and the score."""
        return types.float64(types.int64, types.float64, types.float64)


@inner
def derivative(loss, y, z):
    """Derivative of the loss in the score z."""
    return _derivative(loss.call, loss.code, loss.param, y, z)


@inner
def value(loss, y, z):
    """Loss of the score z."""
    return _value(loss.call, loss.code, loss.param, y, z)


@inner
def bend(loss, slope):
    """Second derivative of the loss where the derivative is ``slope``; not of a user's loss."""
    code, size = loss.code, abs(slope)
    if code == LOG or code == SOFTMAX:
        return size * (1.0 - size)
    if code == SQUARED_ERROR:
        return 1.0
    if code == HUBER:
        return 1.0 if size < loss.param else 0.0
    if code == SMOOTH_HINGE:
        return 1.0 / loss.param if 0.0 < size < 1.0 else 0.0
    if code == MODIFIED_HUBER:
        return 2.0 if 0.0 < size < 4.0 else 0.0
    if code in (SQUARED_HINGE, SQUARED_EPSILON_INSENSITIVE):
        return 2.0 if size > 0.0 else 0.0
    return 0.0


@inner
def loss_parts(loss, y, z):
    """Derivative, and the loss as ``plain + log(factor)``: sums then take few logarithms."""
    return _loss_parts(loss.call, loss.code, loss.param, y, z)


@inner
def prox(loss, y, b, t, guess):
    """``argmin_x t loss(y, x) + (x - b)^2 / 2``; ``guess`` is where the search for it begins."""
    return _prox(loss.call, loss.code, loss.param, y, b, t, guess)


# Compiled for a call that is None, or a face, these lose one of two branches.


@inner
def _derivative(call, code, param, y, z):
    y = np.float64(y)  # plain Python would keep the single precision of labels
    if call is not None:
        return call(SLOPE, y, z)
    if code == LOG:
        m = y * z
        e = math.exp(-abs(m))  # never overflows
        return -y * (e if m > 0.0 else 1.0) / (1.0 + e)
    if code == SQUARED_ERROR:
        return z - y
    if code == SQUARED_HINGE:
        return -2.0 * y * max(0.0, 1.0 - y * z)
    if code == SMOOTH_HINGE:
        return -y * min(1.0, max(0.0, (1.0 - y * z) / param))
    if code == MODIFIED_HUBER:
        return -y * min(4.0, max(0.0, 2.0 * (1.0 - y * z)))
    r = z - y
    if code == HUBER:
        return min(param, max(-param, r))
    if code == SQUARED_EPSILON_INSENSITIVE:
        return 2.0 * (max(0.0, r - param) - max(0.0, -r - param))
    if code == HINGE:
        return -y if y * z < 1.0 else 0.0
    return (1.0 if r > param else 0.0) - (1.0 if r < -param else 0.0)


@inner
def _value(call, code, param, y, z):
    y = np.float64(y)
    if call is not None:
        return call(VALUE, y, z)
    if code == LOG:
        m = y * z
        return max(0.0, -m) + math.log1p(math.exp(-abs(m)))
    if code == SQUARED_ERROR:
        return 0.5 * (z - y) ** 2
    if code == SQUARED_HINGE:
        return max(0.0, 1.0 - y * z) ** 2
    if code == SMOOTH_HINGE:
        gap = max(0.0, 1.0 - y * z)
        bend = min(gap, param)  # where the parabola ends
        return 0.5 * bend * bend / param + (gap - bend)
    if code == MODIFIED_HUBER:
        gap = max(0.0, 1.0 - y * z)
        bend = min(gap, 2.0)
        return bend * bend + 4.0 * (gap - bend)
    r = abs(z - y)
    if code == HUBER:
        bend = min(r, param)
        return 0.5 * bend * bend + param * (r - bend)
    if code == SQUARED_EPSILON_INSENSITIVE:
        return max(0.0, r - param) ** 2
    if code == HINGE:
        return max(0.0, 1.0 - y * z)
    return max(0.0, r - param)


@inner
def _loss_parts(call, code, param, y, z):
    y = np.float64(y)
    if call is not None:
        return call(SLOPE, y, z), call(VALUE, y, z), 1.0
    if code == LOG:
        m = y * z
        e = math.exp(-abs(m))
        # As above, for both with one exponential; what rounding takes from 1 + e is in the loss.
        u = 1.0 + e
        return -y * (e if m > 0.0 else 1.0) / u, max(0.0, -m) + (e - (u - 1.0)), u
    return _derivative(None, code, param, y, z), _value(None, code, param, y, z), 1.0


@inner
def _prox(call, code, param, y, b, t, guess):
    y = np.float64(y)
    if call is not None:
        return _prox_by_slopes(call, y, b, t)
    if code == LOG:
        return y * _prox_log(y * b, t, y * guess)
    if code == SQUARED_ERROR:
        return (b + t * y) / (1.0 + t)
    if code == SQUARED_HINGE:
        return y * _bent(y * b, 2.0 * t)
    if code == SMOOTH_HINGE:
        return y * min(_bent(y * b, t / param), y * b + t)
    if code == MODIFIED_HUBER:
        return y * min(_bent(y * b, 2.0 * t), y * b + 4.0 * t)
    r = b - y
    if code == HUBER:
        return b - t * min(param, max(-param, r / (1.0 + t)))
    if code == HINGE:
        return y * max(y * b, min(1.0, y * b + t))
    if code == EPSILON_INSENSITIVE:
        return b - min(t, max(0.0, r - param)) + min(t, max(0.0, -r - param))
    return b - 2.0 * t / (1.0 + 2.0 * t) * (max(0.0, r - param) - max(0.0, -r - param))


@inner
def _bent(m, c):
    """Where ``c (1 - x)_+^2 / 2 + (x - m)^2 / 2`` is least."""
    return m if m >= 1.0 else (m + c) / (1.0 + c)


@inner
def _prox_log(m, t, x):
    """Where ``t log(1 + exp(-x)) + (x - m)^2 / 2`` is least: Newton's method in a bracket."""
    low, high = m, m + t
    x = min(max(x, low), high)
    before = high - low
    for _ in range(100):
        e = math.exp(-abs(x))
        p = (e if x > 0.0 else 1.0) / (1.0 + e)
        slope = x - m - t * p
        if slope > 0.0:
            high = x
        else:
            low = x
        step = slope / (1.0 + t * p * (1.0 - p))
        if abs(step) <= 1e-8 * (1.0 + abs(x)):  # the error is of the order of its square then
            return x - step
        if abs(step) > 0.5 * before or not low <= x - step <= high:
            step = x - 0.5 * (low + high)  # Newton's steps would not come to rest
        x -= step
        before = abs(step)
    return x


@inner
def _prox_by_slopes(call, y, b, t):
    """The prox of a loss from calls of its slope: the rule of false position (Illinois)."""
    at_b = t * call(SLOPE, y, b)
    # The slope of a convex loss never falls: the step from b goes too far, if anywhere.
    near, near_gap = b, at_b
    far = b - at_b
    far_gap = t * call(SLOPE, y, far) - at_b
    for _ in range(100):
        if near_gap == 0.0 or far_gap == 0.0:
            break
        x = far - far_gap * (far - near) / (far_gap - near_gap)
        gap = x - b + t * call(SLOPE, y, x)
        if abs(gap) <= 1e-10 * (1.0 + abs(x)):  # an error of x would be no larger
            return x
        if (gap > 0.0) == (far_gap > 0.0):
            near_gap *= 0.5
        else:
            near, near_gap = far, far_gap
        far, far_gap = x, gap
    return near if near_gap == 0.0 else far


@inner
def conjugate(code, param, y, s):
    """Convex conjugate of the loss at the slope s."""
    y = np.float64(y)
    if code == SQUARED_ERROR:
        return s * (0.5 * s + y)
    if code == SQUARED_EPSILON_INSENSITIVE:
        return s * (0.25 * s + y) + param * abs(s)
    if code in (HUBER, EPSILON_INSENSITIVE):
        steepest = param if code == HUBER else 1.0
        if abs(s) > steepest * (1.0 + TOLERANCE):
            return np.inf
        s = min(steepest, max(-steepest, s))
        return s * (0.5 * s + y) if code == HUBER else s * y + param * abs(s)

    u = -y * s  # minus the slope in the margin
    steepest = np.inf if code == SQUARED_HINGE else (4.0 if code == MODIFIED_HUBER else 1.0)
    if u < -TOLERANCE or u > steepest * (1.0 + TOLERANCE):
        return np.inf
    u = min(steepest, max(0.0, u))
    if code == LOG:
        return _x_log_x(u) + _x_log_x(1.0 - u)
    if code == SMOOTH_HINGE:
        return u * (0.5 * param * u - 1.0)
    if code == HINGE:
        return -u
    return u * (0.25 * u - 1.0)


@inner
def _x_log_x(x):
    return x * math.log(x) if x > 0.0 else 0.0


@njit
def values(code, param, y, z, out):
    """`value` of n samples into ``out`` (n,)."""
    for i in range(z.size):
        out[i] = _value(None, code, param, y[i], z[i])


@njit
def derivatives(code, param, y, z, out):
    """`derivative` of n samples into ``out`` (n,)."""
    for i in range(z.size):
        out[i] = _derivative(None, code, param, y[i], z[i])


@njit
def conjugates(code, param, y, s, out):
    """`conjugate` of n samples into ``out`` (n,)."""
    for i in range(s.size):
        out[i] = conjugate(code, param, y[i], s[i])


@njit
def bends(loss, slopes, out):
    """`bend` at slopes (n,) into ``out`` (n,)."""
    for i in range(slopes.size):
        out[i] = bend(loss, slopes[i])


@inner
def softmax_loss(y, z, weight, slopes):
    """Weighted cross-entropy ``log(sum_k exp(z_k)) - z_y`` of the scores z (K,).

    Its gradient, ``p - onehot(y)``, goes to ``slopes`` (K,), which may be ``z`` itself.
    """
    label, top = int(y), 0
    for k in range(1, z.size):
        if z[k] > z[top]:
            top = k
    highest, true = z[top], z[label]
    others, wrong = 0.0, 0.0
    for k in range(z.size):
        slopes[k] = math.exp(z[k] - highest)
        others += slopes[k] if k != top else 0.0
        wrong += slopes[k] if k != label else 0.0
    share = weight / (1.0 + others)
    for k in range(z.size):
        slopes[k] *= share
    slopes[label] = -share * wrong  # p - 1 would lose the digits of a small error
    return weight * ((highest - true) + math.log1p(others))


@inner
def softmax_conjugate(y, s):
    """Conjugate sum_k p_k log p_k with p = s + onehot(y); infinite where p is not one."""
    label = int(y)
    total = 0.0
    for k in range(s.size):
        total += s[k]
    if abs(total) > TOLERANCE * s.size:
        return np.inf
    negative_entropy = 0.0
    for k in range(s.size):
        p = s[k] + 1.0 if k == label else s[k]
        if p < -TOLERANCE:
            return np.inf
        negative_entropy += _x_log_x(p)
    return negative_entropy


@njit
def softmax_losses(y, z, values, slopes):
    """`softmax_loss` of the rows of z (n, K) into ``values`` (n,) and ``slopes`` (n, K)."""
    for i in range(z.shape[0]):
        values[i] = softmax_loss(y[i], z[i], 1.0, slopes[i])


@njit
def softmax_conjugates(y, s, out):
    """`softmax_conjugate` of the rows of s (n, K) into ``out`` (n,)."""
    for i in range(s.shape[0]):
        out[i] = softmax_conjugate(y[i], s[i])
