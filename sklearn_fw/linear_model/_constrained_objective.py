"""The mean loss of linear scores where the intercept is always the best one."""

from functools import cached_property

import numpy as np

from .._kernels import lazy
from ..optim import FiniteSum
from ..optim.objectives import Composite

score_lines = lazy("frank_wolfe.score_lines")

# An intercept that is this many times as far as scores and targets is a step into the void.
FAR = 1e3


class MeanLoss(Composite):
    """``f(w) = min over c of sum_i s_i loss(y_i, <w, x_i> + c) / sum_i s_i``.

    The slopes of the losses at the best c are the derivative of f, so that f is as smooth as the
    loss, no column is centered, and a certificate for f is one for w and c together.
    Targets (n_samples,) or (n_samples, n_outputs) have a c per output, or zero without
    ``fit_intercept``; ``weight`` (n_samples,) or None are the s_i.
    """

    def __init__(self, loss, X, y, weight, fit_intercept):
        super().__init__(loss, X, y, sample_weight=weight)
        self.X, self.truth, self.weight, self.fit_intercept = X, y, weight, fit_intercept
        self.n_outputs = 1 if y.ndim == 1 else y.shape[1]
        self._targets = np.asarray(y, np.float64).reshape(len(y), self.n_outputs)
        self._columns = np.asfortranarray(self._targets)
        self._shifts = np.zeros(self.n_outputs)

    def part(self, rows):
        weight = None if self.weight is None else self.weight[rows]
        return MeanLoss(self.loss, self.X[rows], self.truth[rows], weight, self.fit_intercept)

    @cached_property
    def value_at_zero(self):
        return self(np.zeros(self.size))[0]

    def intercepts(self, w):
        return self._best(self.image(w).reshape(-1, self.n_outputs))

    def value(self, w, intercepts):
        z = self.image(w).reshape(-1, self.n_outputs) + intercepts
        return super()._losses(z.ravel())[0]

    @cached_property
    def _sums(self):
        columns = map(np.ascontiguousarray, self._columns.T)
        return [FiniteSum(self.X, y, self.loss, None, weight=self._row_weight) for y in columns]

    def _come_back(self, scores):
        """Search from zero where losses were so flat that a step of Newton's went far away."""
        size = 1.0 + np.abs(scores).max(axis=0) + np.abs(self._columns).max(axis=0)
        self._shifts[~(np.abs(self._shifts) <= FAR * size)] = 0.0

    def _best(self, z):
        if not self.fit_intercept:
            return np.zeros(self.n_outputs)
        if self.is_quadratic:
            return self._row_weight @ (self._columns - z)
        self._come_back(z)
        for k in range(self.n_outputs):
            # The search begins at the last one and is short where scores have not changed much.
            scores = z[:, k] + self._shifts[k]
            self._shifts[k] += self._sums[k].best_shift(scores)
        return self._shifts.copy()

    def _settle(self, scores):
        """Value and slopes at the best c, which the shifts are from here on; None if not found."""
        self._come_back(scores)
        shifts, slopes = self._shifts.copy(), np.empty_like(scores)
        formula, weight = self.loss._formula(), self._row_weight
        value = score_lines.settle(formula, self._targets, scores, weight, shifts, slopes)
        if not np.isfinite(value):
            return None
        self._shifts = shifts
        return value, slopes.ravel()

    def _losses(self, z):
        scores = z.reshape(-1, self.n_outputs)
        found = self._settle(scores) if self.fit_intercept and self._knows_lines else None
        return found or super()._losses((scores + self._best(scores)).ravel())

    def _step_along(self, image, ahead, slope, longest, guess):
        if not self.fit_intercept:
            return super()._step_along(image, ahead, slope, longest, guess)
        shifts = self._shifts.copy()
        found = self._newton_step(image, ahead, slope, longest, guess, shifts, True)
        if found is not None:
            self._shifts = shifts
        return found

    def inner(self, image, others):
        plain = super().inner(image, others)
        if not self.fit_intercept:
            return plain
        k = self.n_outputs
        mean = self._row_weight @ image.reshape(-1, k)
        others = others.reshape(*others.shape[:-1], -1, k)
        return plain - np.tensordot(others, self._row_weight, (-2, 0)) @ mean
