"""The temperature at which held-out outputs are most likely."""

import numpy as np
from scipy.optimize import minimize_scalar

from .._core.warnings import warn

# Temperatures are looked for within this factor around that at which scores differ by one.
WIDEST = 1e4
SMALLEST = 1e-300  # chances below it count as this


def spread_of(scores):
    """Distance of the highest and the lowest score of each row, among the states there are."""
    lowest = np.where(np.isneginf(scores), np.inf, scores).min(axis=1)
    return scores.max(axis=1) - lowest


def best_temperature(chances, spread, weight, what="nodes"):
    """The temperature whose chances of the truth have the largest mean logarithm.

    ``chances(temperature)`` gives those of the true states, and whether these are the likeliest.
    """

    def loss(log_temperature):
        return -weight @ np.log(np.maximum(chances(np.exp(log_temperature))[0], SMALLEST))

    bounds = np.log(spread / WIDEST), np.log(spread * WIDEST)
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-3})
    temperature = float(np.exp(found.x))
    # A loss that is zero, or as good as that, stays so to the end.
    if min(map(loss, bounds)) <= found.fun + 1e-12 or found.fun < 1e-12:
        right = np.mean(chances(temperature)[1])
        warn(
            f"temperature_={temperature:.3g} is at the end of what was looked at "
            f"({100 * right:.1f} % of the {len(weight)} {what} are predicted rightly): give data "
            f"that were not trained on, and more of them",
            UserWarning,
        )
    return temperature
