"""Averaged projected stochastic gradient descent on the quadratic surrogate."""

import numpy as np
import scipy.sparse as sp

from ..._core.loop import IterativeMethod, drive
from ..._core.validation import LARGEST, is_auto
from ...optim import RunningAverage
from ._ridge import fit_features, fit_kernel

SOME = 2000  # rows that the radius is taken from


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


def functions(features, coef, intercept, is_kernel):
    """The functions g (n, r) of features, or of kernels with the rows of fit."""
    return np.asarray(features @ (coef if is_kernel else coef.T)) + intercept


def seen_constants(features, targets, coef, intercept, is_kernel):
    """Constants of the guarantee as far as the data show them."""
    if is_kernel:
        squares = np.maximum(np.diag(features), 0.0)
        size = np.sqrt(max(0.0, float(np.vdot(coef, features @ coef))))
    else:
        product = features.multiply(features) if sp.issparse(features) else features**2
        squares = np.ravel(product.sum(axis=1))
        size = np.linalg.norm(coef)
    gaps = functions(features, coef, intercept, is_kernel) - targets
    lengths = np.sqrt(np.maximum(np.sum(gaps**2, axis=1), np.sum(targets**2, axis=1)))
    return {
        "R": float(np.sqrt(squares.max())), "D": float(max(2.0 * size, 1e-12)),
        "M": float(max(np.max(lengths * np.sqrt(squares)), 1e-12)),
    }  # fmt: skip


def descend(settings, features, targets, weight, fit_intercept, rng, *, is_kernel):
    """Descent for targets of mean zero, with a constant feature as large as the others.

    ``settings`` has ``alpha_``, ``radius``, ``step_size``, ``max_iter`` and ``verbose``. Returned
    are coefficients, intercepts and the outcome of the loop.
    """
    mean = weight @ targets / weight.sum() if fit_intercept else np.zeros(targets.shape[1])
    rows = np.flatnonzero(weight)
    if len(rows) > SOME:
        rows = np.sort(rng.choice(rows, SOME, replace=False))
    part = features[rows][:, rows] if is_kernel else features[rows]
    fit = fit_kernel if is_kernel else fit_features
    coef, offset = fit(part, targets[rows], weight[rows], settings.alpha_, fit_intercept)
    seen = seen_constants(part, targets[rows], coef, offset, is_kernel)
    constant = seen["R"] / np.sqrt(2.0) if fit_intercept else 0.0
    if is_kernel:
        features = features + constant**2
    elif fit_intercept:
        column = np.full((features.shape[0], 1), constant)
        is_sparse = sp.issparse(features)
        features = (sp.hstack if is_sparse else np.hstack)([features, column])
        features = sp.csr_array(features) if is_sparse else features
    radius = seen["D"] if settings.radius is None else float(settings.radius)
    step_size = settings.step_size
    if step_size == "theory":
        step_size = radius / (seen["M"] * np.sqrt(settings.max_iter * len(targets)))
    elif is_auto(step_size):
        step_size = 0.5 / max(seen["R"] ** 2 + constant**2, 1e-300)
    descent = (KernelDescent if is_kernel else FeatureDescent)(
        features, targets - mean, weight, radius=radius, step_size=float(step_size), rng=rng
    )
    outcome = drive(descent, tol=0.0, max_iter=settings.max_iter, verbose=settings.verbose)
    if is_kernel:
        return descent.mean, mean + constant**2 * descent.mean.sum(axis=0), outcome
    if fit_intercept:
        return descent.mean[:, :-1].copy(), mean + constant * descent.mean[:, -1], outcome
    return descent.mean, mean, outcome
