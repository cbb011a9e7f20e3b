"""Runs of stochastic gradient descent, and the way back through them."""

from dataclasses import dataclass

import numpy as np

# Numbers that all derivatives of one walk back may take together.
MOST_NUMBERS = 2**24


class DenseProblem:
    """A `Network` on fixed rows: what `unroll` asks of any model.

    The penalty ``alpha / (2 m) ||W||^2`` of a batch of m rows is that of `MLPClassifier`.
    """

    def __init__(self, network, X, y, alpha=0.0):
        self.network, self.X, self.y = network, X, y
        self.alpha = alpha * network.is_weight()

    def initial(self, rng):
        """Weights to start from."""
        return self.network.initial(rng)

    def loss(self, theta):
        """Cross-entropies of all rows."""
        from ._networks import losses

        return losses(self.network.scores(theta, self.X), self.y)

    def gradient(self, theta, rows, weight):
        """Gradients of a weighted sum of losses by weights and by the inputs of these rows."""
        return self.network.gradient(theta, self.X[rows], self.y[rows], weight)

    def tangents(self, theta, rows, weight, V):
        """Hessian times each direction, and derivatives of inner products by the inputs."""
        return self.network.tangents(theta, self.X[rows], self.y[rows], weight, V)


@dataclass(frozen=True)
class Descent:
    """Settings of a run: ``v' = momentum v - rate g``, ``theta' = theta + v'``.

    With Nesterov's momentum ``theta' = theta + momentum v' - rate g``, as in `MLPClassifier`.
    """

    rate: float
    momentum: float
    nesterov: bool
    batches: list

    def run(self, problem, theta):
        """Weights before every step and after the last."""
        path, v = [theta], np.zeros_like(theta)
        for rows in self.batches:
            m = len(rows)
            g, _ = problem.gradient(theta, rows, np.full(m, 1.0 / m))
            g = g + problem.alpha * theta / m
            v = self.momentum * v - self.rate * g
            theta = theta + (self.momentum * v - self.rate * g if self.nesterov else v)
            path.append(theta)
        return path


def unroll(problem, descent, path, times, groups, *, direct):
    """Derivatives of later losses by every input, through the whole run.

    Parameters
    ----------
    problem : DenseProblem
        Or another object with its methods.
    descent : Descent
        The settings of the run.
    path : list of ndarray
        Weights before each step and after the last.
    times : sequence of int
        Numbers of steps after which the loss is taken.
    groups : ndarray of shape (n_groups, n)
        Weights of the rows in the losses.
    direct : bool
        Whether rows count in the loss themselves.

    Yields
    ------
    t, derivative : int, ndarray of shape (n_groups, n, ...)
        One for each time.
    """
    size = len(groups) * problem.X.size
    at_once = max(1, MOST_NUMBERS // max(size, 1))
    for first in range(0, len(times), at_once):
        part = list(times[first : first + at_once])
        yield from zip(part, _walk_back(problem, descent, path, part, groups, direct))


def _walk_back(problem, descent, path, times, groups, direct):
    """Derivatives for some times, together: `(n_times, n_groups, n, ...)`."""
    n_groups = len(groups)
    everything = np.arange(len(problem.X))
    out = np.zeros((len(times), n_groups, *problem.X.shape))
    a = np.zeros((len(times), n_groups, len(path[0])))
    b = np.zeros_like(a)
    for k, t in enumerate(times):
        for i, weight in enumerate(groups):
            a[k, i], by_inputs = problem.gradient(path[t], everything, weight)
            if direct:
                out[k, i] = by_inputs
    rate, momentum = descent.rate, descent.momentum
    for s in range(max(times) - 1, -1, -1):
        on = [k for k, t in enumerate(times) if t > s]
        rows = descent.batches[s]
        m = len(rows)
        # Adjoints of the velocity and of the gradient of this step.
        velocity = b[on] + (momentum * a[on] if descent.nesterov else a[on])
        g = -rate * velocity - (rate * a[on] if descent.nesterov else 0.0)
        V = g.reshape(len(on) * n_groups, -1)
        bent, by_inputs = problem.tangents(path[s], rows, np.full(m, 1.0 / m), V)
        bent += problem.alpha * V / m
        b[on] = momentum * velocity
        a[on] += bent.reshape(g.shape)
        shaped = by_inputs.reshape(len(on), n_groups, *by_inputs.shape[1:])
        for j, k in enumerate(on):
            out[k][:, rows] += shaped[j]
    return out
