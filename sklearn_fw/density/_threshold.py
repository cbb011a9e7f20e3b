"""The score below which a share of the training rows falls."""

import numpy as np

__all__ = ["score_threshold"]


def score_threshold(scores, weight, share):
    """A value with at most `share` of the total weight strictly below it, and no less if possible.

    It lies between two scores, so that rounding cannot move a training row across it, and is the
    same for a row of weight k as for k copies of the row.
    """
    order = np.argsort(scores)
    scores, below = scores[order], np.cumsum(weight[order])
    upper = int(np.searchsorted(below, below[-1] * (share + 1e-12), side="right"))
    upper = min(upper, len(scores) - 1)
    # Copies of a row differ by rounding only and stand on the same side.
    margin = 1e-9 * (1.0 + abs(scores[upper]))
    lower = np.flatnonzero(scores[:upper] < scores[upper] - margin)
    if len(lower) == 0:
        return float(scores[upper] - margin)
    return float(0.5 * (scores[lower[-1]] + scores[upper]))
