"""Least squares with a ridge, exact and by averaged stochastic gradients in a ball."""

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.utils.extmath import safe_sparse_dot

from .._core import check
from .._core.loop import IterativeMethod, drive
from ..optim import RunningAverage

MOST = 2000  # rows that the weight of the ridge is chosen by, where there are more features
LEFT_OUT = 5000  # rows that are left out, where there are fewer features
FLAT = 1.001  # of the least error: the largest weight within it does not depend on rounding
SHARES = np.logspace(-9.0, 1.0, 41)  # of the largest eigenvalue


def fit_features(X, targets, weight, alpha, fit_intercept):
    """Coefficients (r, d) and intercepts (r,)."""
    ridge = Ridge(alpha=alpha, fit_intercept=fit_intercept, tol=1e-10)
    ridge.fit(X, targets, sample_weight=weight)
    intercept = np.broadcast_to(ridge.intercept_, targets.shape[1:]).copy()
    return ridge.coef_.reshape(targets.shape[1], -1), intercept


def fit_kernel(K, targets, weight, alpha, fit_intercept):
    """Dual coefficients (n, r) and intercepts (r,); the intercept is not penalized."""
    root, share = np.sqrt(weight), weight / weight.sum()
    mean = share @ targets if fit_intercept else np.zeros(targets.shape[1])
    centered = _centered(K, share) if fit_intercept else K
    system = root[:, None] * centered * root
    system[np.diag_indices_from(system)] += alpha
    right = root[:, None] * (targets - mean)
    try:
        found = sl.cho_solve(sl.cho_factor(system, lower=True), right)
    except sl.LinAlgError:
        raise ValueError(
            f"the kernel matrix plus alpha = {alpha:g} is not positive definite: increase alpha, "
            f"or take a kernel that is positive semi-definite"
        ) from None
    dual = root[:, None] * found
    if not fit_intercept:
        return dual, mean
    dual -= share[:, None] * dual.sum(axis=0)
    return dual, mean - share @ (K @ dual)


def choose_alpha(X, targets, weight, fit_intercept, *, is_kernel, losses, rng):
    """The weight of the ridge with the least leave-one-out error.

    Rows are distinct, with the weights of their copies: generalized cross-validation, which
    replaces each leverage by the mean one, falls to zero with alpha where rows repeat. Returns the
    weight, and mean ``losses(targets, predictions)`` and squared error of rows left out.
    """
    if min(X.shape) > MOST:
        rows = np.sort(rng.choice(len(targets), MOST, replace=False, p=weight / weight.sum()))
        X = X[rows][:, rows] if is_kernel else X[rows]
        targets, weight = targets[rows], np.ones(MOST)
    share = weight / weight.sum() * float(fit_intercept)
    right = np.sqrt(weight)[:, None] * (targets - share @ targets)
    if is_kernel or X.shape[1] > X.shape[0]:
        K = X if is_kernel else safe_sparse_dot(X, X.T, dense_output=True)
        root = np.sqrt(weight)
        sizes, left = np.linalg.eigh(root[:, None] * _centered(K, share) * root)
        sizes, parts, rows = np.maximum(sizes, 0.0), left.T @ right, slice(None)
    else:
        sizes, left, parts, rows = _factors(X, targets, weight, share, rng)
    if not (sizes.size and sizes[-1] > 0.0 and np.any(right)):
        return 1.0, np.inf, np.inf
    targets, weight, share, right = targets[rows], weight[rows], share[rows], right[rows]
    alphas = SHARES * sizes[-1]
    kept = alphas[:, None] / (sizes + alphas[:, None])
    outside = right - left @ parts  # what no coefficients explain
    free = np.maximum(1.0 - share[:, None] - left**2 @ (1.0 - kept).T, 1e-12)

    def gaps(k):
        return (outside + left @ (kept[k][:, None] * parts)) / free[:, k, None]

    errors = np.array([np.sum(gaps(k) ** 2) for k in range(len(alphas))])
    best = int(np.flatnonzero(errors <= FLAT * errors.min())[-1])
    predicted = targets - gaps(best) / np.sqrt(weight)[:, None]
    mean_loss = float(weight @ losses(targets, predicted)) / weight.sum()
    return float(alphas[best]), mean_loss, float(errors[best] / weight.sum())


def _factors(X, targets, weight, share, rng):
    """Eigenvalues of features, and projections of rows (at most `LEFT_OUT`) and targets on them."""
    weighted = X.multiply(weight[:, None]).tocsr() if sp.issparse(X) else weight[:, None] * X
    mean = share @ X
    gram = safe_sparse_dot(weighted.T, X, dense_output=True) - weight.sum() * np.outer(mean, mean)
    cross = safe_sparse_dot(weighted.T, targets - share @ targets, dense_output=True)
    sizes, vectors = np.linalg.eigh(gram)
    used = sizes > max(1e-12 * sizes[-1], 0.0)
    sizes, vectors = sizes[used], vectors[:, used] / np.sqrt(sizes[used])
    rows = np.arange(len(targets))
    if len(rows) > LEFT_OUT:
        rows = np.sort(rng.choice(rows, LEFT_OUT, replace=False, p=weight / weight.sum()))
    left = np.sqrt(weight[rows])[:, None] * (X[rows] @ vectors - mean @ vectors)
    return sizes, left, vectors.T @ cross, rows


def _centered(K, share):
    """Kernel of features whose mean, with these shares, is zero."""
    rows = K @ share
    return K - rows[:, None] - (share @ K) + share @ rows


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
        n = len(self.targets)
        order = self.rng.choice(n, n, p=self.share)
        self._pass(order, self.average.rates(n))
        if not np.abs(self.mean).max(initial=0.0) <= check.LARGEST:
            raise FloatingPointError("coefficients overflow: scale X, or take a smaller step_size")

    def certify(self):
        gaps = np.sum((self.predictions() - self.targets) ** 2, axis=1)
        return {"objective": float(self.share @ gaps) / 2.0, "dual_gap": None}


class FeatureDescent(_Descent):
    """Descent in the coefficients (r, d) of features."""

    def __init__(self, X, targets, weight, **options):
        super().__init__(targets, weight, **options)
        self.X = X
        self.point = np.zeros((targets.shape[1], X.shape[1]))
        self.mean = np.zeros_like(self.point)

    def predictions(self):
        return self.X @ self.mean.T

    def _pass(self, order, rates):
        W, mean, step = self.point, self.mean, self.step_size
        is_sparse = sp.issparse(self.X)
        for i, rate in zip(order, rates):
            columns, x = slice(None), self.X[i]
            if is_sparse:
                part = slice(self.X.indptr[i], self.X.indptr[i + 1])
                columns, x = self.X.indices[part], self.X.data[part]
            W[:, columns] -= np.outer(step * (W[:, columns] @ x - self.targets[i]), x)
            size = np.sqrt(np.vdot(W, W))
            if size > self.radius:
                W *= self.radius / size
            mean += rate * (W - mean)


class KernelDescent(_Descent):
    """Descent in the dual coefficients (n, r) of the rows of a kernel matrix."""

    def __init__(self, K, targets, weight, **options):
        super().__init__(targets, weight, **options)
        self.K = K
        self.point, self.mean = np.zeros_like(targets), np.zeros_like(targets)
        self.square = 0.0  # of the norm of the function

    def predictions(self):
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
    R, D, M = np.sqrt(squares.max()), 2.0 * size, np.max(lengths * np.sqrt(squares))
    return {"R": float(R), "D": float(max(D, 1e-12)), "M": float(max(M, 1e-12))}


def descend(settings, features, targets, weight, fit_intercept, rng, is_kernel):
    """Descent for targets of mean zero, with a constant feature as large as the others.

    Returns coefficients, intercepts and the outcome of the loop.
    """
    mean = weight @ targets / weight.sum() if fit_intercept else np.zeros(targets.shape[1])
    rows = np.flatnonzero(weight)
    if len(rows) > MOST:
        rows = np.sort(rng.choice(rows, MOST, replace=False))
    part = features[rows][:, rows] if is_kernel else features[rows]
    fit = fit_kernel if is_kernel else fit_features
    coef, offset = fit(part, targets[rows], weight[rows], settings.alpha_, fit_intercept)
    seen = seen_constants(part, targets[rows], coef, offset, is_kernel)
    constant = seen["R"] / np.sqrt(2.0) if fit_intercept else 0.0
    if is_kernel:
        features = features + constant**2
    elif fit_intercept:
        parts = [features, np.full((features.shape[0], 1), constant)]
        features = sp.hstack(parts, format="csr") if sp.issparse(features) else np.hstack(parts)
    radius = seen["D"] if settings.radius is None else float(settings.radius)
    step_size = settings.step_size
    if step_size == "theory":
        step_size = radius / (seen["M"] * np.sqrt(settings.max_iter * len(targets)))
    elif check.is_auto(step_size):
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
