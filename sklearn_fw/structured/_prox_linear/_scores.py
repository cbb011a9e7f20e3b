"""Scores that are not linear in the weights: models of users, PyTorch modules, and their checks."""

import copy
from abc import ABC, abstractmethod
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from ..._core import check
from ..._core.parameters import Parameterized
from ..._core.scores import check_edges
from ..._core.torch import import_torch, is_torch_module
from .._problems._checked_model import call, read_only

NEEDED = ("init", "value", "jvp", "vjp")
STEP = 1e-5  # of central differences, relative to the weights
ADJOINT, DIFFERENCE = 1e-7, 1e-3  # largest relative errors of derivatives
DIRECTIONS = 3  # that derivatives are tried in, so that a kink in one of them is forgiven


class ScoreModel(Parameterized, ABC):
    """Base class of score models: scores of input and weights, with derivatives.

    A subclass, or any object with the same methods, can be given as
    ``ProxLinearStructuredSVM(score_model)``. Scores are one of

    - an array of shape (n_candidates,): a score for each candidate output,
    - an array of shape (n_nodes, n_states): scores of the states of nodes that nothing joins,
    - a tuple (unary, pairwise) with unary of shape (n_nodes, n_states) and pairwise of shape
      (n_states, n_states) or (n_nodes - 1, n_states, n_states): a chain, whose transitions share
      one table or have their own,
    - a tuple (unary, pairwise, edges) with edges of shape (n_edges, 2), integers, and pairwise of
      shape (n_states, n_states) or (n_edges, n_states, n_states): any graph.

    See Also
    --------
    ProxLinearStructuredSVM : The estimator that trains them.
    ScoredModel : Scores that are linear in the weights.

    Notes
    -----
    With J the matrix of derivatives of all scores by all weights, `jvp` multiplies it by a vector
    of weights, and `vjp` multiplies its transpose by an array like the scores. A fit compares them
    with each other and with differences of `value`, for one sample. An optional method
    ``initialize(X, y)`` is called with the training set, before `init`.

    Examples
    --------
    Scores that are the squares of linear ones:

    >>> import numpy as np
    >>> from sklearn_fw.structured import ProxLinearStructuredSVM, ScoreModel
    >>> class Squares(ScoreModel):
    ...     def init(self, rng):
    ...         return rng.normal(size=2)
    ...     def value(self, x, w):
    ...         return (x @ w) ** 2
    ...     def jvp(self, x, w, d):
    ...         return 2 * (x @ w) * (x @ d)
    ...     def vjp(self, x, w, v):
    ...         return x.T @ (2 * (x @ w) * v)
    >>> X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.5, 1.0], [-2.0, 0.0]])]
    >>> ProxLinearStructuredSVM(Squares(), C=10.0, random_state=0).fit(X, [0, 1]).predict(X)
    array([0, 1])
    """

    @abstractmethod
    def init(self, rng):
        """Return first weights, of shape (n_weights,), for most networks not zero.

        Parameters
        ----------
        rng : RandomState
            Source of all random numbers.
        """

    @abstractmethod
    def value(self, x, w):
        """Return the scores of an input, in one of the forms of the class.

        Parameters
        ----------
        x : object
            Input.
        w : ndarray of shape (n_weights,)
            Weights.
        """

    @abstractmethod
    def jvp(self, x, w, d):
        """Return J d, the derivative of the scores, in their form; edges may be left out.

        Parameters
        ----------
        x : object
            Input.
        w, d : ndarray of shape (n_weights,)
            Weights and direction.
        """

    @abstractmethod
    def vjp(self, x, w, v):
        """Return the gradient of a weighted sum of the scores, the transpose of J times v.

        Parameters
        ----------
        x : object
            Input.
        w : ndarray of shape (n_weights,)
            Weights.
        v : ndarray or tuple
            Factors of the scores, in their form, without edges.
        """


class Layout(NamedTuple):
    """The form of the scores of one input, which are kept as one flat array."""

    shapes: tuple
    edges: object = None

    @property
    def is_list(self):
        return len(self.shapes[0]) == 1

    @property
    def n_nodes(self):
        return self.shapes[0][0]

    @property
    def sizes(self):
        return [int(np.prod(shape)) for shape in self.shapes]

    def split(self, flat):
        if len(self.shapes) == 1:
            return (flat.reshape(self.shapes[0]),)
        n = self.sizes[0]
        return flat[:n].reshape(self.shapes[0]), flat[n:].reshape(self.shapes[1])


class Group(NamedTuple):
    """Samples that are asked about together."""

    index: np.ndarray
    inputs: object  # a list with one input, or what ``stacked`` of the score model made of many
    layouts: list


class CheckedScores:
    """The methods of a score model, with what they return checked and made flat."""

    def __init__(self, model):
        missing = [name for name in NEEDED if not callable(getattr(model, name, None))]
        is_class = isinstance(model, type)
        if missing or is_class:
            kind = f"the class {model.__name__}" if is_class else type(model).__name__
            raise TypeError(
                f"score_model must be a torch.nn.Module or an object with the methods "
                f"{', '.join(NEEDED)}; {kind} lacks {', '.join(missing or ['an instance'])}"
            )
        self.model, self.name = model, type(model).__name__

    def init(self, rng):
        return np.array(check.shaped(self.model.init(rng), f"init of {self.name}", "n_weights"))

    def value(self, i, x, w):
        """Flat scores of sample i, and their `Layout`."""
        name = f"value of {self.name} for sample {i}"
        arrays = _as_tuple(call(self.model, "value", i, x, read_only(w)))
        if not 1 <= len(arrays) <= 3:
            raise ValueError(
                f"{name} must be an array, (unary, pairwise) or (unary, pairwise, edges), got a "
                f"tuple of {len(arrays)}"
            )
        edges = arrays[2] if len(arrays) == 3 else None
        arrays = [check.numbers(array, name) for array in arrays[:2]]
        return _flat(arrays), _layout(arrays, edges, name)

    def jvp(self, i, x, w, d, layout):
        """Flat derivative along d."""
        name = f"jvp of {self.name} for sample {i}"
        arrays = _as_tuple(call(self.model, "jvp", i, x, read_only(w), read_only(d)))
        arrays = [check.array(array, name) for array in arrays[: len(layout.shapes)]]
        shapes = tuple(array.shape for array in arrays)
        if shapes != layout.shapes:
            raise ValueError(f"{name} must have the shapes of value, {layout.shapes}, got {shapes}")
        return _flat(arrays)

    def vjp(self, i, x, w, flat, layout):
        """Gradient of the scores times ``flat``."""
        name = f"vjp of {self.name} for sample {i}"
        answer = call(self.model, "vjp", i, x, read_only(w), _as_given(layout.split(flat)))
        return check.shaped(answer, name, len(w))

    # ---- many samples at once --------------------------------------------------------------------

    def groups(self, X, layouts, w):
        """Problem of samples: one each, or more where the score model can stack their inputs."""
        stacks = getattr(self.model, "_stacks", lambda X, w: [])(X, w)
        groups = [
            Group(np.asarray(index), inputs, [layouts[i] for i in index])
            for index, inputs in stacks
            if len({layouts[i].shapes for i in index}) == 1
        ]
        done = set().union(*(group.index.tolist() for group in groups))
        rest = [i for i in range(len(X)) if i not in done]
        return groups + [Group(np.array([i]), [X[i]], [layouts[i]]) for i in rest]

    def values(self, group, w):
        """Flat scores of a group, sample after sample."""
        if len(group.index) > 1:
            return self._finite(self.model._values(group.inputs, read_only(w)), "value")
        flat, layout = self.value(group.index[0], group.inputs[0], w)
        if layout.shapes != group.layouts[0].shapes:
            raise ValueError(f"value of {self.name} changes its shape with the weights")
        return flat

    def jvps(self, group, w, d):
        """Flat derivatives of a group along d."""
        if len(group.index) > 1:
            return self._finite(self.model._jvps(group.inputs, read_only(w), d), "jvp")
        return self.jvp(group.index[0], group.inputs[0], w, d, group.layouts[0])

    def vjps(self, group, w, flat):
        """Gradient of the scores of a group times ``flat``."""
        if len(group.index) > 1:
            layout, rows = group.layouts[0], flat.reshape(len(group.index), -1)
            parts = np.split(rows, np.cumsum(layout.sizes)[:-1], axis=1)
            parts = [own.reshape(-1, *shape) for own, shape in zip(parts, layout.shapes)]
            return self._finite(self.model._vjps(group.inputs, read_only(w), parts), "vjp")
        return self.vjp(group.index[0], group.inputs[0], w, flat, group.layouts[0])

    def _finite(self, array, method):
        return check.array(array, f"{method} of {self.name}")

    def check_derivatives(self, x, w, rng):
        """Refuse derivatives of sample 0 that contradict each other or the values."""
        flat, layout = self.value(0, x, w)
        scale, misses = STEP * max(1.0, float(np.abs(w).max())), []
        for _ in range(DIRECTIONS):
            d, v = rng.normal(size=len(w)), rng.normal(size=len(flat))
            change = self.jvp(0, x, w, d, layout)
            here, there = v @ change, self.vjp(0, x, w, v.copy(), layout) @ d
            size = np.linalg.norm(v) * np.linalg.norm(change)
            if abs(here - there) > ADJOINT * max(size, abs(there), 1e-12):
                raise ValueError(
                    f"vjp of {self.name} does not match its jvp for sample 0: <v, jvp(d)> is "
                    f"{here:.10g} but <vjp(v), d> is {there:.10g}, for random v and d"
                )
            step = scale / np.linalg.norm(d)
            ends = [self.value(0, x, w + sign * step * d)[0] for sign in (1.0, -1.0)]
            if any(end.shape != flat.shape for end in ends):
                raise ValueError(f"value of {self.name} changes its shape with the weights")
            difference = (ends[0] - ends[1]) / (2.0 * step)
            noise = 1e-14 * np.linalg.norm(flat) / step
            miss = np.linalg.norm(difference - change)
            if miss <= DIFFERENCE * max(np.linalg.norm(difference), noise) + noise:
                return
            misses.append((np.linalg.norm(change), np.linalg.norm(difference), miss))
        change, difference, miss = misses[0]
        raise ValueError(
            f"jvp of {self.name} does not match differences of its value for sample 0: its norm "
            f"is {change:.6g}, that of the differences {difference:.6g}, that of their distance "
            f"{miss:.6g}; a model that draws random numbers has no derivative either"
        )


def _layout(arrays, edges, name):
    """The `Layout` of arrays that fit together."""
    unary = arrays[0]
    if len(arrays) == 1:
        if unary.ndim not in (1, 2) or not unary.shape[-1]:
            raise ValueError(
                f"{name} must have shape (n_candidates,) or (n_nodes, n_states), got {unary.shape}"
            )
        return Layout((unary.shape,))
    if unary.ndim != 2 or not unary.shape[1]:
        raise ValueError(f"unary in {name} must have shape (n_nodes, n_states), got {unary.shape}")
    n_nodes, n_states = unary.shape
    edges = chain_edges(n_nodes) if edges is None else check_edges(edges, n_nodes, "nodes")
    table = (n_states, n_states)
    if arrays[1].shape not in (table, (len(edges), *table)):
        shapes = f"{table} or {(len(edges), *table)}, got {arrays[1].shape}"
        raise ValueError(f"pairwise in {name} must have shape {shapes}")
    return Layout((unary.shape, arrays[1].shape), edges)


def chain_edges(n_nodes):
    return np.arange(max(n_nodes - 1, 0))[:, None] + np.arange(2)


def _as_tuple(answer):
    return tuple(answer) if isinstance(answer, tuple | list) else (answer,)


def _as_given(arrays):
    """What the user's methods take: an array, or a tuple of several."""
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def _flat(arrays):
    return np.concatenate([np.asarray(array, np.float64).ravel() for array in arrays])


BATCH = 8  # most samples of a block, which take one step together
SAME = 1e-9  # what scores of samples may differ by, relative, when many are computed at once


def as_score_model(model):
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
    """The scores of a module, in double precision and evaluation mode, on the module's device."""

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

        directions = dict(zip(self._names, self._tensors(d), strict=True))
        with torch.no_grad():
            return torch.func.jvp(
                lambda named: scores(named)[:2], (self._named(w),), (directions,)
            )[1]

    def _vjp(self, scores, w, factors):
        import torch

        parts, pull = torch.func.vjp(lambda named: scores(named)[:2], self._named(w))
        (gradient,) = pull(
            tuple(
                torch.as_tensor(np.ascontiguousarray(factor), device=part.device)
                for part, factor in zip(parts, factors)
            )
        )
        return self._flat([gradient[name] for name in self._names])

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
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel

        # Fast kernels of attention have no derivative in forward mode, and no map over inputs.
        with sdpa_kernel(SDPBackend.MATH):
            scores = torch.func.functional_call(self._copy, named, (x,))
        scores = _as_tuple(scores)
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

        sizes = [int(np.prod(shape)) for shape in self._shapes]
        parts = torch.tensor(w, device=self._device).split(sizes)
        return [part.reshape(shape) for part, shape in zip(parts, self._shapes)]

    def _as_arrays(self, parts):
        return _as_given([part.detach().cpu().numpy() for part in parts])

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
