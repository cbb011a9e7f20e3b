"""The border between the losses of users and solvers: all that is asked of a loss is checked here.

A solver cannot notice that a derivative is wrong or that a loss is not convex: it would stop early
or never, with a certificate that is none. Both show at a few hundred scores before a fit.
"""

import math

import numpy as np

from .._core.validation import LARGEST, check_array_of_numbers, check_choice, check_positive

# Truths that a loss is tried on, at most.
TRUTHS = 8
# By how much numbers of a user may differ, relative to their size.
ROUNDING, CLOSE = 1e-9, 1e-6
# Steps of differences, relative to the score.
STEP = 1e-4


def check_declared(loss):
    name = type(loss).__name__
    check_choice(loss.task, f"task of {name}", {"classification", "regression"})
    if loss.smoothness != np.inf:
        check_positive(loss.smoothness, f"smoothness of {name}")


def ask(loss, method, y, x):
    """What a method of a loss says of every sample: as many numbers, finite but for conjugates.

    The arrays that go out cannot be written to.
    """
    y, x = (_read_only(a) for a in (y, x))
    name = f"{method} of {type(loss).__name__}"
    found = check_array_of_numbers(getattr(loss, method)(y, x), f"what {name} returned", None)
    if found.shape != x.shape:
        raise ValueError(
            f"{name} must return one number per sample, shape {x.shape}, got shape {found.shape}"
        )
    bad = ~np.isfinite(found)
    if bad.any():
        if method == "conjugate":
            bad = ~(found > -np.inf)
        # A run that diverges is not the fault of the loss.
        bad &= np.abs(x) <= LARGEST
        if bad.any():
            i, at = np.flatnonzero(bad)[0], "s" if method == "conjugate" else "z"
            raise ValueError(
                f"{name} must return finite numbers, got {found[i]} for y = {y[i]:g}, "
                f"{at} = {x[i]:g}: write it so that it cannot overflow, for instance with "
                f"np.logaddexp"
            )
    return found


def _read_only(a):
    view = np.asarray(a, np.float64).view()
    view.flags.writeable = False
    return view


def ask_probability(loss, z):
    """What the ``probability`` of a loss says of every score."""
    name = f"probability of {type(loss).__name__}"
    found = check_array_of_numbers(loss.probability(z.copy()), f"what {name} returned")
    if found.shape != z.shape or np.any((found < 0.0) | (found > 1.0)):
        raise ValueError(f"{name} must return a number from 0 to 1 per score")
    return found


def one_by_one(loss, method):
    """A method of a loss as a function of two numbers, checked."""
    function = getattr(loss, method)

    def call(y, z):
        y, z = np.array([y]), np.array([z])
        found = function(y, z)
        if type(found) is np.ndarray and found.shape == (1,) and math.isfinite(found[0]):
            return float(found[0])
        return float(ask(loss, method, y, z)[0])  # says what is wrong

    return call


def check_on(loss, y):
    """Refuse a loss whose values, slopes, smoothness and conjugates contradict each other."""
    for truth in _some(y):
        z = _scores(truth, float(np.abs(y).max(initial=0.0)))
        _check_slopes(loss, np.full(z.shape, truth), z)


def _some(y):
    """A few of the truths, with the least and the largest."""
    known = np.unique(np.asarray(y, np.float64))
    return known[np.linspace(0, known.size - 1, min(known.size, TRUTHS)).astype(int)]


def _scores(truth, size):
    """Scores near the truth and near zero, in the unit of the truths and in units of one; sorted.

    Beside every score stands one that is very near.
    """
    steps = np.concatenate([np.geomspace(1e-3, 10.0, 14), size * np.geomspace(1e-3, 2.0, 12)])
    steps = np.concatenate([-steps, [0.0], steps])
    z = np.concatenate([steps, truth + steps])
    return np.unique(np.concatenate([z, z + STEP * (1.0 + np.abs(z))]))


def _check_slopes(loss, y, z):
    name, truth = type(loss).__name__, y[0]
    value, slope = ask(loss, "value", y, z), ask(loss, "derivative", y, z)
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
    alone = [ask(loss, method, y[:1], z[:1])[0] for method in ("value", "derivative")]
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
    refuse(
        near & off, "its derivative is not that of its value; compare with differences of the value"
    )
    refuse(
        rise < -rounding,
        "its derivative falls, so that it is not convex and nothing can be certified",
    )
    refuse(
        is_smooth & (rise > size * step * (1.0 + CLOSE) + rounding),
        f"its derivative grows faster than smoothness = {size:g} allows; smoothness must be the "
        f"largest second derivative",
    )
    ask(loss, "curvature", y, z)
    _check_conjugates(loss, y, z, value, slope)


def _check_conjugates(loss, y, z, value, slope):
    found = ask(loss, "conjugate", y, slope)
    known = slope * z - value
    slack = CLOSE * (1.0 + np.abs(known) + value)
    some = slice(None, None, 9)
    half = ask(loss, "conjugate", y[some], 0.5 * slope[some])
    best = np.max(0.5 * slope[some, None] * z - value, axis=1)
    if np.any(np.abs(found - known) > slack) or np.any(half < best - slack[some]):
        raise ValueError(
            f"conjugate of {type(loss).__name__} is not that of its value at y = {y[0]:g}: it is "
            f"sup_z s z - value(y, z); leave it out and it will be computed"
        )
