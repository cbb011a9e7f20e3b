"""Linear models on collections of Dask: problems whose rows stay where they are."""

from itertools import cycle
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._core import check
from .._core.blocks import Block, delayed_blocks, note_columns
from ..optim import ROWS, Facts, FiniteSum, PartedSum, PartSums, check_rows, make_parts
from ._alpha import (
    ALPHA,
    DENSE,
    FOLDS,
    SPARSE,
    fold_numbers,
    independent_rows,
    moments_of_target,
    of_entries,
    of_loss,
    one_against_rest,
    path_along,
    ridge_of_products,
    ridge_of_sums,
    row_keys,
    unlike,
)
from ._linear import Units, signs


class Plan(NamedTuple):
    """What makes a problem out of rows and labels or targets."""

    losses: list  # one per target, or one for all labels
    penalty: object
    fit_intercept: bool
    n_outputs: int | None
    units: Units | None = None
    classes: np.ndarray | None = None
    factors: np.ndarray | None = None  # of the weights, by class


class TableBlock(Block):
    """Checked rows; errors name the number of the block."""

    def __init__(self, number, X, y, weight, is_numeric):
        try:
            X = check_rows(check.table(X, ensure_min_samples=0, **ROWS))
            if sp.issparse(y):
                raise ValueError("y is sparse: pass y.map_blocks(lambda block: block.toarray())")
            y = np.asarray(y)
            if len(y) != X.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows and y {len(y)}: give both equal chunks")
            if is_numeric and y.size:
                y = check.array(y, "y").astype(np.float64)
            self.labels = None
            if not is_numeric:
                self.labels = check.find_labels(y, "y")
            if weight is not None:
                weight = np.require(weight, float, "A")
                if weight.any():  # those of a whole block may be zero
                    check.sample_weight(weight, len(y))
        except ValueError as error:
            raise ValueError(f"block {number} of the collection: {error}") from None
        self.X, self.y, self.weight = X, y, weight

    def __sizeof__(self):
        X = self.X
        arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
        return object.__sizeof__(self) + sum(array.nbytes for array in (*arrays, self.y))

    def facts(self):
        total = float(len(self.y) if self.weight is None else self.weight.sum())
        spreads = 0.0  # of the targets, times rows
        if self.labels is None and len(self.y):
            targets = self.y.reshape(len(self.y), -1).T
            spreads = len(self.y) * Units.centers_and_spreads(targets, None)[1]
        return self.X.shape, total, self.X.dtype, self.labels, self.y.shape[1:], spreads

    def weights_by_class(self, classes):
        codes = np.searchsorted(classes, self.y)
        return np.bincount(codes, weights=self.weight, minlength=classes.size).astype(float)

    def problems(self, plan):
        """`PartRows` of the last plan, which are kept."""
        return self._once(self._problems, plan)

    def _problems(self, plan):
        X, y, weight = self.X, self.y, self.weight
        X = X if plan.units is None or not len(y) else plan.units.rows(X)
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
                X, np.ascontiguousarray(target), own, plan.penalty, weight=weight,
                fit_intercept=plan.fit_intercept, n_outputs=plan.n_outputs,
            )
            for target, own in zip(targets, cycle(plan.losses))
        ])  # fmt: skip


class PartRows:
    """Problems of one block, one for each output, and the sums in which ``alpha`` is chosen."""

    def __init__(self, problems):
        self.problems, self.sums = problems, [PartSums(problem) for problem in problems]
        self._held = None

    def output(self, k):
        return self.sums[k]

    def is_sparse(self):
        return sp.issparse(self.problems[0].X)

    def weight(self):
        return self.problems[0].total_weight

    def counts(self):
        return self.problems[0].counts.astype(float)

    def columns(self, few):
        return self.sums[0].columns(few)

    def targets(self):
        weight = self.problems[0].weights
        return np.array([weight @ problem.y for problem in one_against_rest(self.problems)])

    def held(self, is_out):
        """The rows that are held out, or all others, as weights for the same table."""
        if self._held is None:
            first = self.problems[0]
            # Which fold depends on the block, so that of blocks of one row some hold it out.
            chosen = int(row_keys(first)[:1].sum() % FOLDS)
            out = np.zeros(first.n_rows, bool)
            out[first.active] = fold_numbers(self.problems) == chosen
            self._held = [
                PartRows([p.like(p.X, p.y, p.penalty, p.weights * rows) for p in self.problems])
                for rows in (~out, out)
            ]
        return self._held[is_out]

    def moments(self, means, y_means):
        pairs = [
            moments_of_target(problem, problem.y - y_mean, means)
            for problem, y_mean in zip(one_against_rest(self.problems), y_means, strict=True)
        ]
        rows = independent_rows(self.problems)
        return rows, *map(np.array, zip(*pairs, strict=True))

    def ridge(self):
        """Number of rows, and the ridge that suits them."""
        return self.problems[0].active.size, ridge_of_products(self.problems)


class Columns:
    """Means and variances of the columns of a collection, and what is chosen by them."""

    def __init__(self, rows, facts, plan):
        self.rows, self.facts, self.plan, self.center = rows, facts, plan, plan.fit_intercept
        self.is_sparse = all(rows.each("is_sparse"))
        self.few = facts.n_columns <= (SPARSE if self.is_sparse else DENSE)
        bend, total = rows.sum("columns", self.few), facts.total_weight
        self.means = bend.mean[0] if self.center else np.zeros(facts.n_columns)
        self.matrix = bend.squares[0] if self.few else None
        # About the means of dense columns, about zero of sparse ones.
        if self.few:
            variances = np.diagonal(self.matrix) / total
            self.variances = variances + np.square(self.means) * self.is_sparse
        else:
            variances = bend.squares[0] / total
            self.variances = np.maximum(variances - np.square(self.means) * (not self.is_sparse), 0)

    @property
    def in_unlike_units(self):
        is_table = not self.is_sparse and self.plan.penalty.is_ridge
        return is_table and unlike(self.variances)

    def units(self, n_targets):
        center = None if self.is_sparse else self.means
        return Units.about(center, self.variances, np.zeros(n_targets))

    def strength(self, units, solver):
        """Of the penalty, which is 1 in ``units``; copies are found within blocks only."""
        plan, default = self.plan, ALPHA * self.facts.total_weight
        if plan.penalty.is_ridge:
            return of_loss(plan.losses[0], plan.penalty, self._of_least_squares()) or default
        sides = [self.rows.chosen("held", is_out) for is_out in (False, True)]
        facts = [self.facts._replace(total_weight=side.sum("weight")) for side in sides]
        if not all(own.total_weight > 0.0 for own in facts):
            return default
        scales = self.variances
        if self.is_sparse:
            scales = scales * of_entries(self.facts.total_weight, self.rows.sum("counts"))
        parts = (problems_of(*pair, plan, len(units)) for pair in zip(sides, facts))
        splits = zip(units, *parts, strict=True)
        found = [path_along(split[:1], [split], scales, solver)[0] for split in splits]
        return np.array([strength or default for strength in found])

    def _of_least_squares(self):
        if not self.few:  # the mean of logarithms of those of blocks
            sizes, ridges = np.transpose(self.rows.each("ridge"))
            used = ridges > 0.0
            logs = np.log(ridges[used])
            return float(np.exp(np.average(logs, weights=sizes[used]))) if used.any() else 0.0
        total = self.facts.total_weight
        y_means = self.rows.sum("targets") / total * self.center
        n_rows, wholes, alongs = self.rows.sum("moments", self.means, y_means)
        found = self.matrix, self.means, total, n_rows - self.center, wholes, alongs
        return ridge_of_sums(self.plan.losses[0], *found)


class Collected(NamedTuple):
    """Blocks of a collection, which stay with the workers, and what is known of all of them."""

    blocks: object
    n_rows: int
    total_weight: float
    dtype: np.dtype
    classes: np.ndarray | None
    weights: np.ndarray | None  # sums by class
    y_shape: tuple  # of one target
    spreads: np.ndarray | float  # of targets, within blocks on average

    @classmethod
    def of(cls, estimator, X, y, sample_weight, is_numeric):
        import dask

        note_columns(estimator, X)
        columns = delayed_blocks(X, y, sample_weight)
        make = dask.delayed(TableBlock, pure=False)
        blocks = make_parts([make(k, *own, is_numeric) for k, own in enumerate(columns)])
        shapes, totals, dtypes, labels, y_shapes, spreads = zip(*blocks.each("facts"))
        n_columns = {shape[1] for shape in shapes}
        if len(n_columns) > 1:
            raise ValueError(f"blocks of X differ in their numbers of columns: {n_columns}")
        classes = weights = None
        if not is_numeric:
            found = [own for own in labels if own.size]
            classes = check.find_labels(np.concatenate(found), "y") if found else np.empty(0)
            weights = blocks.sum("weights_by_class", classes)
        n_rows = sum(shape[0] for shape in shapes)
        if not sum(totals) > 0.0:
            raise ValueError("X has no rows, or sample_weight is zero for all of them")
        return cls(
            blocks, n_rows, sum(totals), np.result_type(*dtypes), classes, weights, y_shapes[0],
            sum(spreads) / n_rows,
        )  # fmt: skip

    def facts(self, n_columns, total_weight=None):
        total_weight = self.total_weight if total_weight is None else total_weight
        return Facts(self.n_rows, n_columns, total_weight, self.dtype)

    def rows(self, plan):
        return self.blocks.chosen("problems", plan)


def problems_of(rows, facts, plan, n_problems):
    settings = {"fit_intercept": plan.fit_intercept, "n_outputs": plan.n_outputs}
    return [
        PartedSum(rows.chosen("output", k), facts, own, plan.penalty, **settings)
        for k, own in zip(range(n_problems), cycle(plan.losses))
    ]
