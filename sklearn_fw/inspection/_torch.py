"""Modules of PyTorch; torch is imported when one is asked."""

from contextlib import contextmanager

import numpy as np

from .._core.torch import import_torch
from ._answers import CHUNK
from ._judges import Judge


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


class TorchJudge(Judge):
    """A module that gives logits, in evaluation mode."""

    kind = "torch"

    def __init__(self, module):
        import_torch("a module of PyTorch as estimator")
        self.estimator = module

    def scores(self, X):
        torch = import_torch("a module of PyTorch as estimator")
        found = []
        with judging(self.estimator), torch.no_grad():
            for first in range(0, len(X), CHUNK):
                rows = as_tensor(self.estimator, X[first : first + CHUNK])
                found.append(logits_of(self.estimator, rows).double().cpu().numpy())
        scores = np.concatenate(found)
        if np.any(np.isnan(scores)):
            raise ValueError("estimator: the module gave NaN")
        self.n_classes = scores.shape[1]
        return scores

    def labels(self, X):
        return self.scores(X).argmax(axis=1)

    def codes(self, labels):
        n_classes = getattr(self, "n_classes", None)
        ok = np.asarray([isinstance(v, int | np.integer) for v in labels.tolist()])
        found = np.where(ok, np.where(ok, labels, 0).astype(int), -1)
        return found if n_classes is None else np.where(found < n_classes, found, -1)

    def pull(self, X, weights):
        torch = import_torch("a module of PyTorch as estimator")
        with judging(self.estimator), torch.enable_grad():
            rows = as_tensor(self.estimator, X).requires_grad_(True)
            scores = logits_of(self.estimator, rows)
            given = weights(scores.detach().double().cpu().numpy())
            given = torch.as_tensor(given, dtype=scores.dtype, device=scores.device)
            (found,) = torch.autograd.grad((scores * given).sum(), rows)
        return found.double().cpu().numpy()
