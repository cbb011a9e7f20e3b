"""Training problems: dense networks in NumPy and modules of PyTorch, with second derivatives.

`MLPClassifier` has no public backward pass, and none for inputs. Torch is imported on use.
"""

import copy
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
from scipy.special import expit, log_softmax, softmax

from .._core.torch import import_torch

# Value; then first and second derivative, both from (input, value).
ACTIVATIONS = {
    "identity": (lambda z: z, lambda z, a: np.ones_like(z), lambda z, a: np.zeros_like(z)),
    "logistic": (expit, lambda z, a: a * (1.0 - a), lambda z, a: a * (1.0 - a) * (1.0 - 2.0 * a)),
    "relu": (
        lambda z: np.maximum(z, 0.0), lambda z, a: (z > 0.0).astype(z.dtype),
        lambda z, a: np.zeros_like(z),
    ),
    "tanh": (np.tanh, lambda z, a: 1.0 - a**2, lambda z, a: -2.0 * a * (1.0 - a**2)),
}  # fmt: skip


class Network:
    """Dense layers with softmax of the last; all weights are one flat vector.

    ``sizes`` are those of inputs, hidden layers and classes; ``activation`` is that of hidden
    layers, a key of ``ACTIVATIONS``.
    """

    def __init__(self, sizes, activation):
        self.activation = activation
        self.value, self.slope, self.bend = ACTIVATIONS[activation]
        self.shapes = list(pairwise(sizes))
        self.n_weights = sum((a + 1) * b for a, b in self.shapes)

    @classmethod
    def of(cls, layers, activation):
        return cls([len(layers[0][0]), *(len(b) for _, b in layers)], activation)

    def layers(self, theta):
        """``[(W, b)]`` as views into weights; more axes in front are kept."""
        sizes = np.array([(n_in * n_out, n_out) for n_in, n_out in self.shapes]).ravel()
        parts = np.split(theta, np.cumsum(sizes[:-1]), axis=-1)
        weights = zip(parts[::2], self.shapes)
        weights = [W.reshape(*theta.shape[:-1], *shape) for W, shape in weights]
        return list(zip(weights, parts[1::2]))

    def flat(self, layers):
        return np.concatenate([np.ravel(part) for W, b in layers for part in (W, b)])

    def is_weight(self):
        """Which entries are weights, not intercepts: those that a penalty touches."""
        mask = np.zeros(self.n_weights, dtype=bool)
        for W, _ in self.layers(mask):
            W[...] = True
        return mask

    def initial(self, rng):
        """Glorot's uniform draw, as `MLPClassifier` makes it."""
        factor = 2.0 if self.activation == "logistic" else 6.0
        bounds = [np.sqrt(factor / sum(shape)) for shape in self.shapes]
        return self.flat([
            (rng.uniform(-bound, bound, shape), rng.uniform(-bound, bound, shape[1]))
            for bound, shape in zip(bounds, self.shapes)
        ])  # fmt: skip

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
        return self.forward(theta, X)[1][-1]

    def vjp(self, theta, X, given):
        """Gradient of ``sum_k C_k f_k`` at each input; C is ``given(scores)``."""
        inputs, sums = self.forward(theta, X)
        return self.backward(theta, inputs, sums, given(sums[-1]))

    def backward(self, theta, inputs, sums, delta, parts=None):
        """Gradients by inputs; those by layers, from the last, go into ``parts``."""
        layers = self.layers(theta)
        for k in range(len(layers) - 1, -1, -1):
            if parts is not None:
                parts.append((inputs[k].T @ delta, delta.sum(axis=0)))
            delta = delta @ layers[k][0].T
            if k:
                delta *= self.slope(sums[k - 1], inputs[k])
        return delta


def layers_of(classifier):
    """``[(W, b)]`` of a fitted `MLPClassifier`; the last may have one output for two classes."""
    if classifier.out_activation_ == "logistic" and classifier.n_outputs_ > 1:
        raise ValueError("estimator answers with several labels at once, one is needed")
    return [
        (np.asarray(W, dtype=np.float64), np.asarray(b, dtype=np.float64))
        for W, b in zip(classifier.coefs_, classifier.intercepts_)
    ]


class DenseProblem:
    """A `Network` on fixed rows, with the methods that `unroll` needs of any model.

    The penalty ``alpha / (2 m) ||W||^2`` of a batch of m rows is that of `MLPClassifier`.
    """

    def __init__(self, network, X, y, alpha=0.0):
        self.network, self.X, self.y, self.initial = network, X, y, network.initial
        self.alpha = alpha * network.is_weight()

    def loss(self, theta):
        logs = log_softmax(self.network.scores(theta, self.X), axis=1)
        return -np.take_along_axis(logs, self.y[:, None], axis=1)[:, 0]

    def gradient(self, theta, rows, weight):
        """Gradients of a weighted sum of losses by weights and by the inputs of these rows."""
        inputs, sums = self.network.forward(theta, self.X[rows])
        delta, parts = self._delta(sums[-1], rows, weight), []
        by_inputs = self.network.backward(theta, inputs, sums, delta, parts)
        return self.network.flat(parts[::-1]), by_inputs

    def _delta(self, scores, rows, weight):
        """Derivatives of the weighted losses by the scores."""
        p = softmax(scores, axis=1)
        p[np.arange(len(p)), self.y[rows]] -= 1.0
        return p * weight[:, None]

    def _bent(self, scores, moves):
        """Derivatives of the derivatives by the scores when these move."""
        p = softmax(scores, axis=1)
        return p * (moves - (p * moves).sum(axis=-1, keepdims=True))

    def tangents(self, theta, rows, weight, V):
        """Derivatives of both gradients when weights move along each row of V.

        The first, (n_directions, n_weights), is the Hessian times the direction, the second,
        (n_directions, n, n_features), the derivative of the inner product of gradient and direction
        by the inputs: exact, by forward differentiation of the backward pass (Pearlmutter, 1994).
        """
        net = self.network
        inputs, sums = net.forward(theta, self.X[rows])
        layers, moves = net.layers(theta), net.layers(V)
        last = len(layers) - 1
        d_input, d_inputs, d_sums = None, [None], []
        for k, ((W, _), (dW, db)) in enumerate(zip(layers, moves)):
            d_sum = inputs[k] @ dW + db[:, None, :]
            if d_input is not None:
                d_sum = d_sum + d_input @ W
            d_sums.append(d_sum)
            if k < last:
                d_input = net.slope(sums[k], inputs[k + 1]) * d_sum
                d_inputs.append(d_input)
        d_delta = self._bent(sums[-1], d_sums[-1]) * weight[:, None]
        delta = self._delta(sums[-1], rows, weight)
        out = np.empty((len(V), net.n_weights))
        ends = net.layers(out)
        for k in range(last, -1, -1):
            W_out, b_out = ends[k]
            W_out[...] = inputs[k].T @ d_delta
            if k:
                W_out += np.swapaxes(d_inputs[k], 1, 2) @ delta
            b_out[...] = d_delta.sum(axis=1)
            back = delta @ layers[k][0].T
            d_back = d_delta @ layers[k][0].T + delta @ np.swapaxes(moves[k][0], 1, 2)
            if k:
                slope = net.slope(sums[k - 1], inputs[k])
                d_delta = d_back * slope + back * net.bend(sums[k - 1], inputs[k]) * d_sums[k - 1]
                delta = back * slope
            else:
                d_delta = d_back
        return out, d_delta


class SquaredProblem(DenseProblem):
    """The same for numbers and one output: half the squared residuals are the losses."""

    def loss(self, theta):
        return (self.network.scores(theta, self.X)[:, 0] - self.y) ** 2 / 2.0

    def _delta(self, scores, rows, weight):
        return (scores - self.y[rows, None]) * weight[:, None]

    def _bent(self, scores, moves):
        return moves


# ---- modules of PyTorch --------------------------------------------------------------------------


def torch_of_modules():
    return import_torch("a module of PyTorch as estimator")


@contextmanager
def evaluating(module):
    """Evaluation mode: without dropout and batch statistics."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


def as_tensor(module, X):
    torch = torch_of_modules()
    first = next(iter(module.parameters()), None)
    kind = {} if first is None else {"dtype": first.dtype, "device": first.device}
    return torch.as_tensor(np.array(X), **kind)


def logits_of(module, tensor):
    """Logits of shape (n, n_classes), of one output those of two classes."""
    torch = torch_of_modules()
    found = module(tensor)
    n = len(tensor)
    if not isinstance(found, torch.Tensor) or found.ndim not in (1, 2) or len(found) != n:
        shape = tuple(found.shape) if isinstance(found, torch.Tensor) else type(found).__name__
        raise ValueError(f"estimator: the module must give shape ({n}, n_classes), got {shape}")
    found = found.reshape(n, -1)
    if found.shape[1] == 1:
        found = torch.cat([torch.zeros_like(found), found], dim=1)
    return found


class TorchProblem:
    """A copy of a module in double precision, on fixed rows; the weights are one flat vector.

    It starts from the weights of the module and runs in evaluation mode, as dropout and batch
    statistics make losses depend on more than the weights.
    """

    alpha = 0.0

    def __init__(self, module, X, y):
        self.torch = torch = torch_of_modules()
        self.module = copy.deepcopy(module).double().eval()
        self.trained = {k: p for k, p in self.module.named_parameters() if p.requires_grad}
        parts = list(self.trained.values())
        if not parts:
            raise ValueError("estimator: the module has no parameters to train")
        self.start = torch.nn.utils.parameters_to_vector(parts).detach().cpu().numpy()
        device = parts[0].device
        self.X = X
        self._X = torch.as_tensor(X.copy(), device=device)
        if np.asarray(y).dtype.kind not in "iu" or np.min(y) < 0:
            raise ValueError("y must hold the numbers of the module's logits, integers from 0")
        self._y = torch.as_tensor(np.array(y, dtype=np.int64), device=device)
        n_logits = self._logits(self._theta(self.start), self._X[:1]).shape[1]
        if np.max(y) >= n_logits:
            raise ValueError(f"y holds {np.max(y)}, but the module has {n_logits} logits")

    def initial(self, rng):
        return self.start

    def _theta(self, theta):
        return self.torch.as_tensor(theta, device=self._X.device).requires_grad_(True)

    def _logits(self, theta, X):
        split = theta.split([p.numel() for p in self.trained.values()])
        parts = {k: part.view_as(p) for (k, p), part in zip(self.trained.items(), split)}
        call = self.torch.func.functional_call
        return logits_of(lambda rows: call(self.module, parts, (rows,)), X)

    def _losses(self, theta, X, rows):
        entropy = self.torch.nn.functional.cross_entropy
        return entropy(self._logits(theta, X), self._y[rows], reduction="none")

    def loss(self, theta):
        return self._losses(self._theta(theta), self._X, slice(None)).detach().cpu().numpy()

    def _gradients(self, theta, rows, weight, keep):
        t, X = self._theta(theta), self._X[rows].detach().clone().requires_grad_(True)
        weight = self.torch.as_tensor(weight, device=X.device)
        total = (self._losses(t, X, rows) * weight).sum()
        return t, X, self.torch.autograd.grad(total, (t, X), create_graph=keep)

    def gradient(self, theta, rows, weight):
        by_weights, by_inputs = self._gradients(theta, rows, weight, False)[2]
        return by_weights.cpu().numpy(), by_inputs.cpu().numpy()

    def tangents(self, theta, rows, weight, V):
        t, X, (g, _) = self._gradients(theta, rows, weight, True)
        bent, by_inputs = [], []
        for v in V:
            inner = g @ self.torch.as_tensor(v, device=X.device)
            options = {"retain_graph": True, "materialize_grads": True}
            pair = self.torch.autograd.grad(inner, (t, X), **options)
            bent.append(pair[0].cpu().numpy())
            by_inputs.append(pair[1].cpu().numpy())
        return np.array(bent), np.array(by_inputs)
