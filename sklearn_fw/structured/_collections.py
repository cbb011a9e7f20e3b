"""Structured SVMs on collections of Dask: samples stay where they are."""

from collections import Counter

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from .._core import check
from .._core.blocks import Block, delayed_blocks
from .._core.packed import joined, length_of, take
from ..optim import make_parts
from ._models._black_box import view_of
from ._models._ragged import are_empty, as_labels, check_some, observed
from ._problems._parted import PartedProblem, SamplePart
from ._solvers import check_sums, suitable_solver, with_bounds_of
from ._surrogates import resolve_surrogate

# Nodes, of all blocks, in the samples by which this process finds labels, units and C.
SKETCH = 30_000


class SampleBlock(Block):
    """Samples of positive weight of one block; errors name its number."""

    def __init__(self, number, X, y, weight):
        self.number = number
        X, y = (v if hasattr(v, "shape") or hasattr(v, "__len__") else list(v) for v in (X, y))
        n, n_outputs = length_of(X, "X"), length_of(y, "y")
        if n != n_outputs:
            raise ValueError(f"{self}: X has {n} samples and y {n_outputs}")
        weight = np.ones(n) if weight is None else np.asarray([*weight], dtype=float)
        if weight.any():  # those of a whole block may be zero
            check.sample_weight(weight, n)
        used = weight > 0.0
        if not (is_table(X) or is_table(y)):
            used &= ~(are_empty(X) & are_empty(y))
        self.weight, kept = weight[used], np.flatnonzero(used)
        self.X, self.y = (X, y) if used.all() else (take(X, kept), take(y, kept))

    def __sizeof__(self):  # what Dask moves to disk, or does not
        from dask.sizeof import sizeof

        return object.__sizeof__(self) + sizeof(self.X) + sizeof(self.y)

    def __str__(self):
        return f"block {self.number} of the collection"

    def counts(self):
        """Number of nodes with each label."""
        return Counter(label for output in self.y for label in labels_in(output))

    def sketch(self, most):
        """Samples with about ``most`` nodes, and with all labels of the block and its largest."""
        n = len(self.weight)
        if is_table(self.y):
            chosen = np.arange(min(n, most))
        else:
            found = [labels_in(output) for output in self.y]
            sizes = np.array([max(len(labels), 1) for labels in found], dtype=np.int64)
            chosen, seen = {int(sizes.argmax())} if n else set(), set()
            for i, labels in enumerate(found):
                if not seen.issuperset(labels):
                    seen.update(labels)
                    chosen.add(i)
            order = np.random.RandomState(self.number).permutation(n)
            chosen = sorted(chosen.union(order[np.cumsum(sizes[order]) <= most].tolist()))
        return take(self.X, chosen), take(self.y, chosen), self.weight[chosen]

    def part(self, svm):
        """The dual problem of these samples, for the estimator that knows its model; it is kept."""
        return self._once(self._part, svm)

    def _part(self, svm):
        if not len(self.weight):
            return SamplePart()
        view = view_of(svm.model_)
        try:
            X, y, weight = view._samples(svm, self.X, self.y, self.weight, reset=False)
            total = float(weight.sum())
            return SamplePart(svm._blocks_of(*view._stacked(X, y), weight / total), total)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self}: {error}") from None


def is_table(values):
    return sp.issparse(values) or getattr(values, "ndim", 1) == 2


def labels_in(output):
    """Labels of the nodes of an output; none where it holds something else."""
    if isinstance(output, dict):
        output = list(output.values())
    try:
        values = observed(as_labels(output))
    except ValueError:  # each kind of nodes has labels of its own
        return [label for own in output for label in labels_in(own)]
    labels = values.ravel().tolist()
    return labels if all(label.__hash__ for label in labels) else []


def problem_of(svm, X, y, sample_weight):
    """The problem of a collection; the model, its units and C are set by a few samples."""
    if not check.is_auto(svm.solver):
        check_sums(svm.solver)
    columns = delayed_blocks(X, y, sample_weight)
    import dask

    make = dask.delayed(SampleBlock, pure=False)
    blocks = make_parts([make(k, *own) for k, own in enumerate(columns)])
    sketches = [own for own in blocks.each("sketch", -(-SKETCH // len(blocks))) if len(own[2])]
    check_some(len(sketches))
    counts = None
    given = svm.class_weight, getattr(svm.model, "class_weight", None)
    if any(check.is_named(value, "balanced") for value in given):
        counts = sum(blocks.each("counts"), Counter())
    try:
        X, y, weight = svm._training_set(*map(joined, *sketches), counts=counts)
        svm._set_up(X, y, weight)
    except (TypeError, ValueError) as error:
        raise type(error)(f"in samples of all blocks, looked at first: {error}") from None
    for_parts = clone(svm)
    for name in ("model_", "n_features_in_", "feature_names_in_"):
        if hasattr(svm, name):
            setattr(for_parts, name, getattr(svm, name))
    problem = PartedProblem(blocks.chosen("part", for_parts), resolve_surrogate(svm.surrogate))
    if check.is_auto(svm.solver):
        svm.solver_ = with_bounds_of(suitable_solver(problem), svm.model_)
    svm.lam_ = 1.0 / (svm.C_ * problem.total)
    return problem, svm.lam_
