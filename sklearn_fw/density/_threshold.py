"""What the scores of left-out rows say about new ones: a threshold and p-values."""

import numpy as np

TIE = 1e-9  # copies of a row differ by rounding only and stand on the same side


class ReferenceScores:
    """Scores of the training rows without themselves, with weights."""

    def __init__(self, scores, weight):
        self.scores, self.weight = scores, weight
        order = np.argsort(scores)
        self._sorted = scores[order]
        self._below = np.concatenate([[0.0], np.cumsum(weight[order])])

    def threshold(self, share):
        """Score below which at most that share of the weight lies."""
        return score_threshold(self.scores, self.weight, share)

    def p_values(self, scores):
        """``(1 + weight of reference scores not above) / (1 + total weight)`` of each score."""
        at_most = scores + TIE * (1.0 + np.abs(scores))
        place = np.searchsorted(self._sorted, at_most, side="right")
        return (1.0 + self._below[place]) / (1.0 + self._below[-1])


def score_threshold(scores, weight, share):
    """A value with at most `share` of the total weight strictly below it, and no less if possible.

    It lies between two scores, so that rounding cannot move a training row across it, and is the
    same for a row of weight k as for k copies of the row.
    """
    order = np.argsort(scores)
    scores, below = scores[order], np.cumsum(weight[order])
    upper = int(np.searchsorted(below, below[-1] * (share + 1e-12), side="right"))
    upper = min(upper, len(scores) - 1)
    margin = TIE * (1.0 + abs(scores[upper]))
    lower = np.flatnonzero(scores[:upper] < scores[upper] - margin)
    if len(lower) == 0:
        return float(scores[upper] - margin)
    return float(0.5 * (scores[lower[-1]] + scores[upper]))
