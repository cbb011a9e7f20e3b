"""Modules of PyTorch, and their derivatives by double backward; torch is imported when asked."""

import copy
from contextlib import contextmanager

import numpy as np

from .._core.torch import import_torch


@contextmanager
def judging(module):
    """Evaluation mode, as dropout and batch statistics are none of the classifier."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


def as_tensor(module, X):
    """Rows in the precision and on the device of the weights."""
    torch = import_torch("a module of PyTorch as estimator")
    first = next(iter(module.parameters()), None)
    kind = {} if first is None else {"dtype": first.dtype, "device": first.device}
    return torch.as_tensor(np.array(X), **kind)


def logits_of(module, tensor):
    """Logits of shape (n, n_classes), of one output those of two classes."""
    torch = import_torch("a module of PyTorch as estimator")
    found = module(tensor)
    n = len(tensor)
    if not isinstance(found, torch.Tensor) or found.ndim not in (1, 2) or len(found) != n:
        shape = tuple(found.shape) if isinstance(found, torch.Tensor) else type(found).__name__
        raise ValueError(
            f"estimator: the module must give logits of shape ({n}, n_classes), got {shape}"
        )
    found = found.reshape(n, -1)
    if found.shape[1] == 1:
        found = torch.cat([torch.zeros_like(found), found], dim=1)
    return found


class TorchProblem:
    """A copy of a module in double precision, on fixed rows; the weights are one flat vector.

    It starts from the weights that the module has, and runs in evaluation mode: dropout and batch
    statistics would make losses depend on more than the weights.
    """

    alpha = 0.0

    def __init__(self, module, X, y):
        torch = import_torch("a module of PyTorch as estimator")
        self.module = copy.deepcopy(module).double().eval()
        named = [(k, p) for k, p in self.module.named_parameters() if p.requires_grad]
        if not named:
            raise ValueError("estimator: the module has no parameters to train")
        self.names = [name for name, _ in named]
        self.shapes = [p.shape for _, p in named]
        self.start = np.concatenate([p.detach().cpu().numpy().ravel() for _, p in named])
        device = named[0][1].device
        self.X = X
        self._X = torch.as_tensor(X.copy(), device=device)
        if np.asarray(y).dtype.kind not in "iu" or np.min(y) < 0:
            raise ValueError("y must hold the numbers of the module's logits, integers from 0")
        self._y = torch.as_tensor(np.array(y, dtype=np.int64), device=device)
        n_logits = self._logits(self._theta(self.start), self._X[:1]).shape[1]
        if np.max(y) >= n_logits:
            raise ValueError(f"y holds {np.max(y)}, but the module has {n_logits} logits")

    def initial(self, rng):
        """The weights of the module."""
        return self.start

    def _theta(self, theta):
        torch = import_torch("a module of PyTorch as estimator")
        return torch.as_tensor(theta, device=self._X.device).requires_grad_(True)

    def _logits(self, theta, X):
        torch = import_torch("a module of PyTorch as estimator")
        parts, start = {}, 0
        for name, shape in zip(self.names, self.shapes):
            size = int(np.prod(shape))
            parts[name] = theta[start : start + size].reshape(shape)
            start += size

        def call(rows):
            return torch.func.functional_call(self.module, parts, (rows,))

        return logits_of(call, X)

    def _losses(self, theta, X, rows):
        torch = import_torch("a module of PyTorch as estimator")
        return torch.nn.functional.cross_entropy(
            self._logits(theta, X), self._y[rows], reduction="none"
        )

    def loss(self, theta):
        """Cross-entropies of all rows."""
        return self._losses(self._theta(theta), self._X, slice(None)).detach().cpu().numpy()

    def _gradients(self, theta, rows, weight, keep):
        torch = import_torch("a module of PyTorch as estimator")
        t, X = self._theta(theta), self._X[rows].detach().clone().requires_grad_(True)
        weight = torch.as_tensor(weight, device=X.device)
        total = (self._losses(t, X, rows) * weight).sum()
        return t, X, torch.autograd.grad(total, (t, X), create_graph=keep)

    def gradient(self, theta, rows, weight):
        """Gradients of a weighted sum of losses by weights and by the inputs of these rows."""
        _, _, (by_weights, by_inputs) = self._gradients(theta, rows, weight, False)
        return by_weights.cpu().numpy(), by_inputs.cpu().numpy()

    def tangents(self, theta, rows, weight, V):
        """Hessian times each direction, and derivatives of inner products by the inputs."""
        torch = import_torch("a module of PyTorch as estimator")
        t, X, (g, _) = self._gradients(theta, rows, weight, True)
        bent, by_inputs = [], []
        for v in V:
            inner = g @ torch.as_tensor(v, device=X.device)
            pair = torch.autograd.grad(inner, (t, X), retain_graph=True, materialize_grads=True)
            bent.append(pair[0].cpu().numpy())
            by_inputs.append(pair[1].cpu().numpy())
        return np.array(bent), np.array(by_inputs)
