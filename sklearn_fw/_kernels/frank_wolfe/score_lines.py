"""Sums of losses along a line of scores, with the intercepts that are best at each point of it.

Scores, targets and directions have a row per sample and a column per output, and every output has
an intercept; ``weight`` (n,) are factors of the rows. All losses but those of users.
"""

import math

import numpy as np

from .._jit import lean, njit
from ..common.losses import LOG, bend, derivative, value

TRIALS = 20  # of one search at most
ROUNDING = 1e-12  # sum of slopes over that of their sizes, at which it counts as zero
NEAR = 1e-6  # the same from where on one step of Newton's method is enough for a smooth loss
NOTHING = 1e-14  # the same that is nothing but rounding
LOOSE = 1e-2  # the same at which the slope of a line is known


@lean
def settle(loss, y, z, weight, shifts, slopes):
    """Find the best intercepts, from ``shifts`` (n_outputs,), by Newton's method.

    Writes the weighted slopes there into ``slopes``, and returns the sum of the weighted losses;
    NaN if the search does not settle.
    """
    total = 0.0
    near = NEAR if loss.code == LOG else ROUNDING
    for k in range(z.shape[1]):
        before, is_settled, shift = math.inf, False, shifts[k]
        for _ in range(TRIALS):
            rise, size, curvature = 0.0, 0.0, 0.0
            for i in range(z.shape[0]):
                slope = derivative(loss, y[i, k], z[i, k] + shift)
                curvature += weight[i] * bend(loss, slope)
                slope *= weight[i]
                slopes[i, k] = slope
                rise += slope
                size += abs(slope)
            is_settled = abs(rise) <= near * size
            if is_settled or not (curvature > 0.0 and abs(rise) < before):
                break
            shift, before = shift - rise / curvature, abs(rise)
        if not is_settled:
            return math.nan
        move = -rise / curvature if curvature > 0.0 else 0.0
        for i in range(z.shape[0]):
            total += weight[i] * value(loss, y[i, k], z[i, k] + shift)
            if weight[i] > 0.0:
                slopes[i, k] += move * weight[i] * bend(loss, slopes[i, k] / weight[i])
        if curvature > 0.0:
            total += 0.5 * move * rise
        shifts[k] = shift + move
    return total


@njit
def step_along(loss, y, z, ahead, weight, shifts, fits, slope, longest, guess, share):
    """The step along ``ahead`` where the sum of losses is least, up to ``longest``.

    Newton's method in the step and, where ``fits``, in the intercepts ``shifts`` (n_outputs,) from
    those that are best without a step, where the slope is ``slope`` < 0; ends at the share
    ``share`` of it. Returns step and slope there; a step of -1 if the search does not settle.
    """
    step = min(guess, longest)
    k_all = shifts.size
    rises, crosses, bends = np.zeros(k_all), np.zeros(k_all), np.zeros(k_all)
    for _ in range(TRIALS):
        rise, reach, curvature, is_known = 0.0, 0.0, 0.0, True
        for k in range(z.shape[1]):
            size, rises[k], crosses[k], bends[k] = 0.0, 0.0, 0.0, 0.0
            for i in range(z.shape[0]):
                d = ahead[i, k]
                s = derivative(loss, y[i, k], z[i, k] + step * d + shifts[k])
                b = weight[i] * bend(loss, s)
                s *= weight[i]
                rise += s * d
                reach += abs(s * d)
                curvature += b * d * d
                rises[k] += s
                crosses[k] += b * d
                bends[k] += b
                size += abs(s)
            if fits:
                if not bends[k] > 0.0:
                    return -1.0, 0.0
                rise -= crosses[k] * rises[k] / bends[k]
                curvature -= crosses[k] ** 2 / bends[k]
                is_known = is_known and abs(rises[k]) <= LOOSE * size
        is_best = abs(rise) <= max(-share * slope, NOTHING * reach)
        is_best = is_best or (rise < 0.0 and step >= longest)
        move = 0.0
        if not (is_best and is_known):
            if not curvature > 0.0:
                return -1.0, 0.0
            move = min(step - rise / curvature, longest) - step
            if step + move <= 0.0:
                move = -0.5 * step
        if fits:
            for k in range(z.shape[1]):
                shifts[k] -= (rises[k] + crosses[k] * move) / bends[k]
        if is_best and is_known:
            return step, rise
        step += move
    return -1.0, 0.0
