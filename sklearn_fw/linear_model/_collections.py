"""Linear models on collections of Dask: problems whose rows stay where they are."""

from typing import NamedTuple

import numpy as np

from .._core import check
from .._core.blocks import list_of_blocks, note_columns
from ..optim import ROWS, FiniteSum, check_rows
from ..optim._distributed._parted_sum import Facts, PartedSum, PartSums
from ..optim._distributed._parts import make_parts
from ._linear import signs


class Plan(NamedTuple):
    """What makes a problem out of rows and labels or targets."""

    loss: object
    penalty: object
    fit_intercept: bool
    n_outputs: int | None
    classes: np.ndarray | None = None
    factors: np.ndarray | None = None  # of the weights, by class


class Block:
    """Checked rows; errors name the number of the block."""

    def __init__(self, number, X, y, weight, is_numeric):
        try:
            X = check_rows(check.table(X, ensure_min_samples=0, **ROWS))
            y = np.asarray(y)
            if len(y) != X.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows and y {len(y)}: give both equal chunks")
            if is_numeric and y.size:
                y = check.array(y, "y").astype(np.float64)
            self.labels = None
            if not is_numeric:
                self.labels = check.find_labels(y, "y")
            if weight is not None and len(y):
                weight = check.sample_weight(np.asarray(weight), len(y))
        except ValueError as error:
            raise ValueError(f"block {number} of the collection: {error}") from None
        self.X, self.y, self.weight = X, y, weight

    def facts(self):
        total = float(len(self.y) if self.weight is None else self.weight.sum())
        return self.X.shape, total, self.X.dtype, self.labels, self.y.shape[1:]

    def weights_by_class(self, classes):
        codes = np.searchsorted(classes, self.y)
        return np.bincount(codes, weights=self.weight, minlength=classes.size).astype(float)

    def problems(self, plan):
        y, weight = self.y, self.weight
        if plan.classes is None:
            targets = y.reshape(len(y), -1).T
        else:
            codes = np.searchsorted(plan.classes, y)
            if plan.factors is not None:
                weight = plan.factors[codes] * (1.0 if weight is None else weight)
            targets = [codes.astype(np.float32)]
            if plan.n_outputs is None:
                targets = signs(codes, plan.classes.size)
        return PartRows([
            FiniteSum(
                self.X, np.ascontiguousarray(target), plan.loss, plan.penalty, weight=weight,
                fit_intercept=plan.fit_intercept, n_outputs=plan.n_outputs,
            )
            for target in targets
        ])  # fmt: skip


class PartRows:
    def __init__(self, problems):
        self.problems = problems

    def output(self, k):
        return PartSums(self.problems[k])


class Collected(NamedTuple):
    """Blocks of a collection, which stay with the workers, and what is known of all of them."""

    blocks: object
    n_rows: int
    total_weight: float
    dtype: np.dtype
    classes: np.ndarray | None
    weights: np.ndarray | None  # sums by class
    y_shape: tuple  # of one target

    @classmethod
    def of(cls, estimator, X, y, sample_weight, is_numeric):
        import dask

        note_columns(estimator, X)
        names = ("X", "y", "sample_weight")
        given = [(v, n) for v, n in zip((X, y, sample_weight), names) if v is not None]
        columns = [list_of_blocks(value, name) for value, name in given]
        if len({len(column) for column in columns}) > 1:
            sizes = {name: len(column) for (_, name), column in zip(given, columns)}
            raise ValueError(f"collections must have the same blocks of rows, got {sizes}: rechunk")
        if sample_weight is None:
            columns.append([None] * len(columns[0]))
        make = dask.delayed(Block, pure=False)
        blocks = make_parts([make(k, *b, is_numeric) for k, b in enumerate(zip(*columns))])
        shapes, totals, dtypes, labels, y_shapes = zip(*blocks.each("facts"))
        n_columns = {shape[1] for shape in shapes}
        if len(n_columns) > 1:
            raise ValueError(f"blocks of X differ in their numbers of columns: {n_columns}")
        classes = weights = None
        if not is_numeric:
            found = [own for own in labels if own.size]
            classes = check.find_labels(np.concatenate(found), "y") if found else np.empty(0)
            weights = blocks.sum("weights_by_class", classes)
        n_rows = sum(shape[0] for shape in shapes)
        if not n_rows:
            raise ValueError("X has no rows")
        return cls(
            blocks, n_rows, sum(totals), np.result_type(*dtypes), classes, weights, y_shapes[0]
        )

    def problems(self, plan, n_problems, total_weight, n_columns):
        facts = Facts(self.n_rows, n_columns, total_weight, self.dtype)
        rows = self.blocks.chosen("problems", plan)
        settings = {"fit_intercept": plan.fit_intercept, "n_outputs": plan.n_outputs}
        return [
            PartedSum(rows.chosen("output", k), facts, plan.loss, plan.penalty, **settings)
            for k in range(n_problems)
        ]
