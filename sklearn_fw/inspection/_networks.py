"""Networks of dense layers in NumPy: scores, gradients, and derivatives of gradients.

`MLPClassifier` keeps its backward pass to itself and has none for inputs, so this is our own.
"""

import numpy as np
from scipy.special import expit, log_softmax, softmax


def _relu(z):
    return np.maximum(z, 0.0)


# Value; then first and second derivative, both from (input, value).
ACTIVATIONS = {
    "identity": (lambda z: z, lambda z, a: np.ones_like(z), lambda z, a: np.zeros_like(z)),
    "logistic": (
        expit,
        lambda z, a: a * (1.0 - a),
        lambda z, a: a * (1.0 - a) * (1.0 - 2.0 * a),
    ),
    "relu": (_relu, lambda z, a: (z > 0.0).astype(z.dtype), lambda z, a: np.zeros_like(z)),
    "tanh": (np.tanh, lambda z, a: 1.0 - a**2, lambda z, a: -2.0 * a * (1.0 - a**2)),
}


def losses(scores, y):
    """Cross-entropies of rows."""
    return -np.take_along_axis(log_softmax(scores, axis=1), y[:, None], axis=1)[:, 0]


class Network:
    """Dense layers of given sizes, with softmax of the last; all weights are one flat vector.

    Parameters
    ----------
    sizes : sequence of int
        Inputs, hidden layers, classes.
    activation : str
        Of hidden layers; a key of ``ACTIVATIONS``.
    """

    def __init__(self, sizes, activation):
        self.sizes = tuple(int(size) for size in sizes)
        self.activation = activation
        self.value, self.slope, self.bend = ACTIVATIONS[activation]
        self.shapes = list(zip(self.sizes[:-1], self.sizes[1:]))
        self.n_weights = sum((a + 1) * b for a, b in self.shapes)

    def layers(self, theta):
        """``[(W, b)]`` as views into weights; more axes in front are kept."""
        found, start = [], 0
        front = theta.shape[:-1]
        for n_in, n_out in self.shapes:
            W = theta[..., start : start + n_in * n_out].reshape(*front, n_in, n_out)
            start += n_in * n_out
            found.append((W, theta[..., start : start + n_out]))
            start += n_out
        return found

    def flat(self, layers):
        """The vector of ``[(W, b)]``."""
        return np.concatenate([np.ravel(part) for W, b in layers for part in (W, b)])

    def is_weight(self):
        """Which entries are weights, not intercepts: those that a penalty touches."""
        mask = np.zeros(self.n_weights, dtype=bool)
        for W, _ in self.layers(mask):
            W[...] = True
        return mask

    def initial(self, rng):
        """Glorot's uniform draw, as `MLPClassifier` makes it."""
        parts = []
        factor = 2.0 if self.activation == "logistic" else 6.0
        for n_in, n_out in self.shapes:
            bound = np.sqrt(factor / (n_in + n_out))
            parts.append(
                (rng.uniform(-bound, bound, (n_in, n_out)), rng.uniform(-bound, bound, n_out))
            )
        return self.flat(parts)

    def forward(self, theta, X):
        """``(inputs of layers, sums before activations)``; the last sums are the scores."""
        inputs, sums = [X], []
        layers = self.layers(theta)
        for k, (W, b) in enumerate(layers):
            sums.append(inputs[-1] @ W + b)
            if k + 1 < len(layers):
                inputs.append(self.value(sums[-1]))
        return inputs, sums

    def scores(self, theta, X):
        """Scores of the classes."""
        return self.forward(theta, X)[1][-1]

    def pull(self, theta, X, given):
        """Gradient of ``sum_k C_k f_k`` at each input; C is ``given(scores)``."""
        inputs, sums = self.forward(theta, X)
        delta = given(sums[-1])
        layers = self.layers(theta)
        for k in range(len(layers) - 1, -1, -1):
            delta = delta @ layers[k][0].T
            if k:
                delta *= self.slope(sums[k - 1], inputs[k])
        return delta

    def gradient(self, theta, X, y, weight):
        """Gradients of ``sum_i weight_i loss_i`` by weights and by inputs."""
        inputs, sums = self.forward(theta, X)
        layers, parts = self.layers(theta), []
        delta = softmax(sums[-1], axis=1)
        delta[np.arange(len(y)), y] -= 1.0
        delta *= weight[:, None]
        for k in range(len(layers) - 1, -1, -1):
            parts.append((inputs[k].T @ delta, delta.sum(axis=0)))
            delta = delta @ layers[k][0].T
            if k:
                delta *= self.slope(sums[k - 1], inputs[k])
        return self.flat(parts[::-1]), delta

    def tangents(self, theta, X, y, weight, V):
        """Derivatives of both gradients when weights move along each row of V.

        The first is the Hessian times the direction, the second the derivative of the inner product
        of gradient and direction by the inputs: exact, by forward differentiation of the backward
        pass (Pearlmutter, 1994), all directions at once.

        The answers have the shapes (n_directions, n_weights) and (n_directions, n, n_features).
        """
        inputs, sums = self.forward(theta, X)
        layers, moves = self.layers(theta), self.layers(V)
        last = len(layers) - 1
        d_input, d_inputs, d_sums = None, [None], []
        for k, ((W, _), (dW, db)) in enumerate(zip(layers, moves)):
            d_sum = inputs[k] @ dW + db[:, None, :]
            if d_input is not None:
                d_sum = d_sum + d_input @ W
            d_sums.append(d_sum)
            if k < last:
                d_input = self.slope(sums[k], inputs[k + 1]) * d_sum
                d_inputs.append(d_input)
        p = softmax(sums[-1], axis=1)
        d_delta = p * (d_sums[-1] - (p * d_sums[-1]).sum(axis=-1, keepdims=True))
        d_delta *= weight[:, None]
        delta = p
        delta[np.arange(len(y)), y] -= 1.0
        delta = delta * weight[:, None]
        out = np.empty((len(V), self.n_weights))
        ends = self.layers(out)
        for k in range(last, -1, -1):
            W_out, b_out = ends[k]
            W_out[...] = inputs[k].T @ d_delta
            if k:
                W_out += np.swapaxes(d_inputs[k], 1, 2) @ delta
            b_out[...] = d_delta.sum(axis=1)
            back = delta @ layers[k][0].T
            d_back = d_delta @ layers[k][0].T + delta @ np.swapaxes(moves[k][0], 1, 2)
            if k:
                slope = self.slope(sums[k - 1], inputs[k])
                d_delta = d_back * slope + back * self.bend(sums[k - 1], inputs[k]) * d_sums[k - 1]
                delta = back * slope
            else:
                d_delta = d_back
        return out, d_delta
