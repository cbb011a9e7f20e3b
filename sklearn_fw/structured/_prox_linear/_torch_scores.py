"""PyTorch modules as score models."""

import copy
from collections import defaultdict

import numpy as np

from ..._core.torch import import_torch, is_torch_module
from ._score_model import ScoreModel

BATCH = 8  # most samples of a block, which take one step together
SAME = 1e-9  # what scores of samples may differ by, relative, when many are computed at once


def as_score_model(model):
    """The score model that a parameter stands for."""
    if not is_torch_module(model):
        return model
    if isinstance(model, type):
        raise TypeError(f"score_model is the class {model.__name__}, pass an object of that class")
    import_torch("a module of PyTorch as score_model")
    return TorchScores(model)


def _is_ragged(items):
    try:
        return np.asarray(items).dtype.kind not in "fiub"
    except (TypeError, ValueError):
        return True


class TorchScores(ScoreModel):
    """The scores of a module, in double precision and evaluation mode, on the module's device.

    Parameters
    ----------
    module : torch.nn.Module
        Copied, not changed. Its parameters with ``requires_grad`` are the weights.
    """

    def __init__(self, module):
        self.module = module
        self._copy = copy.deepcopy(module).double().eval()
        named = [(k, p) for k, p in self._copy.named_parameters() if p.requires_grad]
        if not named:
            raise ValueError("score_model is a module without a parameter that requires_grad")
        for name, parameter in named:
            if parameter.is_complex():
                raise ValueError(f"the parameter {name} of score_model is complex, not real")
        self._names = [name for name, _ in named]
        self._shapes = [tuple(parameter.shape) for _, parameter in named]
        self._device = named[0][1].device
        for _, parameter in named:
            parameter.requires_grad_(False)
        self._last = None

    def __getstate__(self):
        return super().__getstate__() | {"_last": None}

    def init(self, rng):
        return self._flat([dict(self._copy.named_parameters())[name] for name in self._names])

    def value(self, x, w):
        return self._as_arrays(self._value(self._of_one(x), w))

    def jvp(self, x, w, d):
        return self._as_arrays(self._jvp(self._of_one(x), w, d))

    def vjp(self, x, w, v):
        return self._vjp(self._of_one(x), w, v if isinstance(v, tuple) else (v,))

    def _value(self, scores, w):
        import torch

        with torch.no_grad():
            return scores(self._named(w))

    def _jvp(self, scores, w, d):
        import torch
        import torch.autograd.forward_ad as forward

        named, directions = self._named(w), self._tensors(d)
        with torch.no_grad(), forward.dual_level():
            duals = {
                name: forward.make_dual(named[name], direction)
                for name, direction in zip(self._names, directions, strict=True)
            }
            parts = scores(duals)[:2]
            tangents = [forward.unpack_dual(part).tangent for part in parts]
            # None stands for scores that no weight changes.
            return [
                torch.zeros_like(part) if tangent is None else tangent
                for part, tangent in zip(parts, tangents)
            ]

    def _vjp(self, scores, w, factors):
        import torch

        with torch.enable_grad():
            weights = {name: t.detach().requires_grad_() for name, t in self._named(w).items()}
            # Scores that no weight changes have no graph.
            pairs = [
                (part, torch.as_tensor(np.ascontiguousarray(factor), device=part.device))
                for part, factor in zip(scores(weights), factors)
                if part.requires_grad
            ]
            if not pairs:
                return np.zeros(len(w))
            parts, factors = zip(*pairs, strict=True)
            gradient = torch.autograd.grad(
                parts, list(weights.values()), factors, allow_unused=True, materialize_grads=True
            )
        return self._flat(gradient)

    # ---- many inputs of one shape ----------------------------------------------------------------

    def _stacks(self, X, w):
        """Numbers of samples whose inputs have one shape, and these inputs in one tensor.

        None where the module cannot be mapped over its inputs.
        """
        import torch

        same, stacks = defaultdict(list), []
        inputs = [self._input(x) for x in X]
        for i, x in enumerate(inputs):
            if isinstance(x, torch.Tensor):
                same[x.shape, x.dtype].append(i)
        for index in same.values():
            n_batches = -(-len(index) // BATCH)
            for batch in np.array_split(index, n_batches):
                if len(batch) > 1:
                    stacks.append((batch, torch.stack([inputs[i] for i in batch])))
        return stacks if stacks and self._can_be_mapped(*stacks[0], inputs, w) else []

    def _can_be_mapped(self, index, stack, inputs, w):
        """Whether many inputs give the scores and derivatives of each alone."""
        try:
            many = self._values(stack, w).reshape(len(index), -1)
            self._jvps(stack, w, w)
        except (RuntimeError, ValueError, NotImplementedError, TypeError):
            return False  # some modules look at their numbers, or at sizes that they expect
        each = [self._rows(self._value(self._of_one(inputs[i]), w), 1).ravel() for i in index]
        return all(
            len(a) == len(b) and np.allclose(a, b, rtol=SAME, atol=SAME) for a, b in zip(many, each)
        )

    def _values(self, stack, w):
        return self._rows(self._value(self._of_many(stack), w), len(stack)).ravel()

    def _jvps(self, stack, w, d):
        return self._rows(self._jvp(self._of_many(stack), w, d), len(stack)).ravel()

    def _vjps(self, stack, w, factors):
        return self._vjp(self._of_many(stack), w, factors)

    def _rows(self, parts, n):
        """The scores of each sample in a row."""
        return np.concatenate(
            [part.detach().cpu().numpy().reshape(n, -1) for part in parts[:2]], axis=1
        )

    def _of_one(self, x):
        """Scores of one input as a function of named weights."""
        x = self._input(x)
        return lambda named: self._scores(x, named)

    def _of_many(self, stack):
        import torch

        # Constant edges are of no use here, and would have to be mapped, too.
        return lambda named: torch.func.vmap(lambda x: self._scores(x, named)[:2])(stack)

    # ---- between numpy and torch -----------------------------------------------------------------

    def _scores(self, x, named):
        """Scores as a tuple of tensors."""
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel

        # Fast kernels of attention have no derivative in forward mode, and no map over inputs.
        with sdpa_kernel(SDPBackend.MATH):
            scores = torch.func.functional_call(self._copy, named, (x,))
        scores = tuple(scores) if isinstance(scores, tuple | list) else (scores,)
        for part in scores:
            if not isinstance(part, torch.Tensor):
                raise TypeError(
                    f"forward of {type(self.module).__name__} must return a tensor or a tuple of "
                    f"tensors, got {type(part).__name__}"
                )
        return scores

    def _input(self, x):
        """Numbers as tensors of double precision or whole numbers; containers item by item."""
        import torch

        if isinstance(x, tuple):
            return tuple(self._input(item) for item in x)
        if isinstance(x, dict):
            return {name: self._input(item) for name, item in x.items()}
        if isinstance(x, list):
            x = [self._input(item) for item in x] if _is_ragged(x) else np.asarray(x)
        if isinstance(x, np.ndarray) and x.dtype.kind in "fiub":
            if not x.flags.writeable:  # of which torch warns
                x = x.copy()
            x = torch.as_tensor(x)
        if isinstance(x, torch.Tensor):
            return x.to(self._device, torch.float64 if x.is_floating_point() else x.dtype)
        return x

    def _named(self, w):
        if self._last is None or self._last[0] is not w.base or w.base is None:
            named = dict(zip(self._names, self._tensors(w), strict=True))
            self._last = w.base, named
        return self._last[1]

    def _tensors(self, w):
        import torch

        w, tensors, start = torch.tensor(w, device=self._device), [], 0
        for shape in self._shapes:
            stop = start + int(np.prod(shape))
            tensors.append(w[start:stop].reshape(shape))
            start = stop
        return tensors

    def _as_arrays(self, parts):
        arrays = [part.detach().cpu().numpy() for part in parts]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def _flat(self, tensors):
        return np.concatenate([part.detach().cpu().numpy().ravel() for part in tensors])

    def module_at(self, w):
        """A copy of the user's module with these weights, of its own precision."""
        import torch

        module = copy.deepcopy(self.module)
        parameters = dict(module.named_parameters())
        with torch.no_grad():
            for name, value in zip(self._names, self._tensors(w), strict=True):
                parameters[name].copy_(value)
        return module
