"""Plain NumPy optimizers of linear models: slow, short, and independent of the code under test."""

import numpy as np
from scipy.special import expit, logsumexp, softmax

from sklearn_fw.losses import Loss


class Logistic(Loss):
    """A copy of the compiled loss by a user, with probabilities."""

    task, smoothness = "classification", 0.25

    def value(self, y, z):
        return np.logaddexp(0.0, -y * z)

    def derivative(self, y, z):
        return -y * expit(-y * z)

    def probability(self, z):
        return expit(z)


def _margin(phi, slope):
    return lambda y, z: phi(y * z), lambda y, z: y * slope(y * z)


def _residual(phi, slope):
    return lambda y, z: phi(z - y), lambda y, z: slope(z - y)


# Value, derivative and largest second derivative.
LOSSES = {
    "log_loss": (*_margin(lambda m: np.logaddexp(0, -m), lambda m: -expit(-m)), 0.25),
    "squared_hinge": (
        *_margin(lambda m: np.maximum(0, 1 - m) ** 2, lambda m: -2 * np.maximum(0, 1 - m)), 2.0
    ),
    "smooth_hinge": (
        *_margin(
            lambda m: np.where(m < 0, 0.5 - m, np.maximum(0, 1 - m) ** 2 / 2),
            lambda m: -np.clip(1 - m, 0, 1),
        ), 1.0
    ),
    "modified_huber": (
        *_margin(
            lambda m: np.where(m < -1, -4 * m, np.maximum(0, 1 - m) ** 2),
            lambda m: -np.clip(2 * (1 - m), 0, 4),
        ), 2.0
    ),
    "squared_error": (*_residual(lambda r: r**2 / 2, lambda r: r), 1.0),
    "huber": (
        *_residual(
            lambda r: np.where(abs(r) < 1.35, r**2 / 2, 1.35 * (abs(r) - 0.675)),
            lambda r: np.clip(r, -1.35, 1.35),
        ), 1.0
    ),
    "squared_epsilon_insensitive": (
        *_residual(
            lambda r: np.maximum(0, abs(r) - 0.1) ** 2,
            lambda r: 2 * np.sign(r) * np.maximum(0, abs(r) - 0.1),
        ), 2.0
    ),
    "multinomial": (
        lambda y, z: logsumexp(z, axis=1) - z[np.arange(y.size), y.astype(int)],
        lambda y, z: softmax(z, axis=1) - np.eye(z.shape[1])[y.astype(int)],
        0.5,
    ),
}  # fmt: skip


def minimize_linear(
    X, y, loss, value, prox, *, weight=None, fit_intercept=False, n_outputs=None, n_iter=100_000
):
    """FISTA with restarts on ``sum_i s_i loss_i + value(w)``: w, c and the mean form of its value.

    ``value(w)`` and ``prox(w, step)`` belong to the penalty of the sum form. Runs until a step
    changes nothing but rounding.
    """
    phi, slope, curvature = LOSSES[loss]
    n, d = X.shape
    weight = np.ones(n) if weight is None else np.asarray(weight, float)
    # The intercept is the last coefficient, on a column as large as the others are together.
    scale = np.sqrt(np.mean(np.sum(X.astype(float) ** 2, axis=1))) if fit_intercept else 0.0
    Z = np.column_stack([X, np.full(n, scale)]).astype(float)
    tail = () if n_outputs is None else (n_outputs,)
    s = weight.reshape(-1, *(1 for _ in tail))
    step = 1.0 / (curvature * np.linalg.norm(np.sqrt(weight)[:, None] * Z, 2) ** 2)

    def moved(w):
        u = w - step * (Z.T @ (s * slope(y, Z @ w)))
        return np.concatenate([prox(u[:d], step), u[d:]])

    x = np.zeros((d + 1, *tail))
    x[:d] = prox(x[:d], step)
    ahead, t, quiet = x, 1.0, 0
    for _ in range(n_iter):
        new = moved(ahead)
        if np.sum((ahead - new) * (new - x)) > 0:
            t = 1.0  # the momentum points uphill
        t_next = (1 + np.sqrt(1 + 4 * t * t)) / 2
        ahead = new + (t - 1) / t_next * (new - x)
        quiet = quiet + 1 if np.abs(new - x).max() <= 4e-16 * np.abs(new).max() else 0
        x, t = new, t_next
        if quiet == 10:
            break
    else:
        raise AssertionError("the reference did not converge")
    objective = weight @ phi(y, Z @ x) + value(x[:d])
    return x[:d], scale * x[d], float(objective / weight.sum())


class SlowSaga:
    """Sparse proximal SAGA with block penalties, every quantity computed from its definition.

    ``labels`` are the blocks of the columns, None for dense SAGA (one block that even empty rows
    touch). Steps are ``gamma * metric`` for the columns, ``gamma_c`` for the intercept (0: none).
    """

    def __init__(
        self, X, y, loss, penalty, labels, gamma, gamma_c, *, metric=None, weight=None,
        n_outputs=None,
    ):  # fmt: skip
        self.X, self.y, self.slope, self.penalty = X, y, LOSSES[loss][1], penalty
        n, d = X.shape
        self.weight = np.ones(n) if weight is None else weight
        self.active = np.flatnonzero(self.weight)
        self.labels = labels
        self.gamma, self.gamma_c = gamma * (np.ones(d) if metric is None else metric), gamma_c
        tail = () if n_outputs is None else (n_outputs,)
        self.x, self.c, self.memory = np.zeros((d, *tail)), np.zeros(tail), np.zeros((n, *tail))
        counts = [sum(self.touched(i)[v] for i in self.active) for v in range(d)]
        self.counts = np.maximum(counts, 1)

    def touched(self, i):
        """Columns that move when row i is visited."""
        if self.labels is None:
            return np.ones(self.X.shape[1], bool)
        return np.isin(self.labels, self.labels[np.flatnonzero(self.X[i])])

    def total(self):
        """X^T memory."""
        return self.X.T @ self.memory

    def visit(self, i):
        """One step on row i."""
        z = self.X[i] @ self.x + self.c
        g = self.weight[i] * self.slope(self.y[i : i + 1], z[None])[0]
        change = g - self.memory[i]
        share = self.gamma / self.counts
        columns = tuple(slice(None) if axis == 0 else None for axis in range(self.x.ndim))
        u = (
            self.x
            - self.gamma[columns] * np.multiply.outer(self.X[i], change)
            - share[columns] * self.total()
        )
        moved = self.touched(i)
        self.c = self.c - self.gamma_c * (change + self.memory.sum(axis=0) / self.active.size)
        self.x = np.where(moved[columns], self.penalty.prox(u, share), self.x)
        self.memory[i] = g
