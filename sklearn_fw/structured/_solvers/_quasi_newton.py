"""L-BFGS on the weights of smooth losses: the end of runs that dual ascent would take long for."""

import numpy as np

PAIRS, NUMBERS = 10, 50_000_000  # that are remembered, and in all of them
FALL = 1e-4  # of the slope, that a step must gain
MOST_CUTS = 30


class QuasiNewton:
    """A point of an objective with a smooth surrogate, and steps from it to lower ones.

    The objective is strongly convex, so that changes of gradients are never against the steps.

    Parameters
    ----------
    blocks : Problem
        The training set, after `reset`.
    w : ndarray of shape (n_weights,)
        Where to start.
    """

    def __init__(self, blocks, w):
        self.blocks = blocks
        self.point = blocks.certify_smoothed(w.copy())
        self.pairs = []  # (step, change of the gradient, their product)
        self.most = int(np.clip(NUMBERS // blocks.n_weights, 3, PAIRS))
        self.stuck = False  # whether rounding hides all further gain

    def step(self):
        """One step that lowers the objective, of one pass or a few."""
        if self.stuck:
            return
        old, direction = self.point, self._direction()
        slope = float(old.gradient @ direction)
        if slope == 0.0:
            self.stuck = True
            return
        length = 1.0 if self.pairs else min(1.0, 1.0 / np.sqrt(-slope))
        for _ in range(MOST_CUTS):
            new = self.blocks.certify_smoothed(old.w + length * direction)
            if new.primal <= old.primal + FALL * length * slope:
                break
            # The lowest point of the parabola through both values with this slope.
            excess = new.primal - old.primal - length * slope
            length *= float(np.clip(-0.5 * length * slope / excess, 0.1, 0.5))
        else:
            self.stuck = not self.pairs
            self.pairs = []  # minus the gradient next
            return
        step, change = new.w - old.w, new.gradient - old.gradient
        product = float(step @ change)
        if product > 0.0:
            self.pairs = [*self.pairs[1 - self.most :], (step, change, product)]
        self.point = new

    def _direction(self):
        """Minus the gradient times an estimate of the inverse of the curvature."""
        direction, factors = -self.point.gradient, []
        for step, change, product in reversed(self.pairs):
            factors.append(step @ direction / product)
            direction -= factors[-1] * change
        if self.pairs:
            _, change, product = self.pairs[-1]
            direction *= product / (change @ change)
        for (step, change, product), factor in zip(self.pairs, reversed(factors), strict=True):
            direction += (factor - change @ direction / product) * step
        return direction
