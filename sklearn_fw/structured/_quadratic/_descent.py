"""Averaged projected stochastic gradient descent on the quadratic surrogate."""

import numpy as np
import scipy.sparse as sp

from ..._loop import IterativeMethod
from ..._validation import LARGEST
from ...optim import RunningAverage

__all__ = ["FeatureDescent", "KernelDescent"]


class _Descent(IterativeMethod):
    """Passes of n steps ``W <- P[W - step (W phi(x) - psi) phi(x)']``, rows drawn by their weights.

    ``objective`` is that of the average, without the ridge, which is a ball of ``radius`` here.
    """

    certificate = "dual_gap"

    def __init__(self, targets, weight, *, radius, step_size, rng):
        self.targets, self.share = targets, weight / weight.sum()
        self.radius, self.step_size, self.rng = radius, step_size, rng
        self.average = RunningAverage("uniform")

    def step(self):
        """One pass."""
        n = len(self.targets)
        order = self.rng.choice(n, n, p=self.share)
        self._pass(order, self.average.rates(n))
        if not np.abs(self.mean).max(initial=0.0) <= LARGEST:
            raise FloatingPointError("coefficients overflow: scale X, or take a smaller step_size")

    def certify(self):
        """The objective; nothing is certified."""
        gaps = np.sum((self.predictions() - self.targets) ** 2, axis=1)
        return {"objective": float(self.share @ gaps) / 2.0, "dual_gap": None}

    def solution(self):
        """The average."""
        return self.mean


class FeatureDescent(_Descent):
    """Descent in the coefficients (r, d) of features."""

    def __init__(self, X, targets, weight, **options):
        super().__init__(targets, weight, **options)
        self.X = X
        self.point = np.zeros((targets.shape[1], X.shape[1]))
        self.mean = np.zeros_like(self.point)

    def predictions(self):
        """``W phi`` of all rows."""
        return self.X @ self.mean.T

    def _pass(self, order, rates):
        W, mean, step = self.point, self.mean, self.step_size
        is_sparse = sp.issparse(self.X)
        for i, rate in zip(order, rates):
            if is_sparse:
                part = slice(self.X.indptr[i], self.X.indptr[i + 1])
                columns, x = self.X.indices[part], self.X.data[part]
                W[:, columns] -= step * np.outer(W[:, columns] @ x - self.targets[i], x)
            else:
                x = self.X[i]
                W -= np.outer(step * (W @ x - self.targets[i]), x)
            size = np.sqrt(np.vdot(W, W))
            if size > self.radius:
                W *= self.radius / size
            mean += rate * (W - mean)


class KernelDescent(_Descent):
    """Descent in the dual coefficients (n, r) of the rows of a kernel matrix."""

    def __init__(self, K, targets, weight, **options):
        super().__init__(targets, weight, **options)
        self.K = K
        self.point = np.zeros_like(targets)
        self.mean = np.zeros_like(targets)
        self.square = 0.0  # of the norm of the function

    def predictions(self):
        """The functions at all rows."""
        return self.K @ self.mean

    def _pass(self, order, rates):
        A, mean = self.point, self.mean
        for i, rate in zip(order, rates):
            g = self.K[i] @ A
            beta = -self.step_size * (g - self.targets[i])
            self.square += 2.0 * beta @ g + beta @ beta * self.K[i, i]
            A[i] += beta
            if self.square > self.radius**2:
                A *= self.radius / np.sqrt(self.square)
                self.square = self.radius**2
            mean += rate * (A - mean)
