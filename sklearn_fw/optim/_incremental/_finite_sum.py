"""The objective of linear models as a sum over rows: certificates, second derivatives, bounds."""

from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dposv
from scipy.sparse.linalg import LinearOperator, cg

from ..._kernels import lazy
from ...losses import LogLoss, MultinomialLogLoss, SquaredError

incremental = lazy("incremental.incremental")
rows_kernels = lazy("common.rows")
sums = lazy("common.sums")

# A step that ends where a penalty is least.
LONG = 1e12
# Most trials for the best intercept.
SHIFTS = 100
# A score at which the logistic loss is far from its rounding error and small.
SURE = 30.0
# Sparse columns up to which their matrix of second derivatives is cheap.
SPARSE = 500
# Rows that temporary arrays are made for at a time.
PART = 1 << 13


class Certificate(NamedTuple):
    """What is known of a point; objective and gap of the mean form, gap None without a dual."""

    objective: float
    dual_gap: float | None
    gradient_mapping: float
    coef: np.ndarray
    intercept: np.ndarray
    memory: np.ndarray  # slopes of the losses at the point
    total: np.ndarray  # their sum over the rows, X^T memory
    bound: float | None = None  # `suboptimality_bound`, without a dual

    def row(self):
        row = {"objective": self.objective}
        if self.dual_gap is not None:
            return row | {"dual_gap": self.dual_gap}
        bound = abs(self.objective) if self.bound is None else self.bound
        return row | {"gradient_mapping": self.gradient_mapping, "suboptimality": bound}


class Pair(NamedTuple):
    """A penalty P at a point w and at minus the gradient A of the losses, of the sum form."""

    value: float  # P(w)
    product: float  # <A, w>, and of the intercept
    conjugate: float  # P*(-scale A)
    scale: float  # the largest number in [0, 1] for which that is finite
    mapping: float  # largest entry of the gradient mapping, NaN where it was left out


class FiniteSum:
    """``min_{w, c} sum_i s_i loss(y_i, <w, x_i> + c) + penalty(w)``.

    The sum form of the mean loss with weights ``s_i / sum(s)`` and penalty ``penalty / sum(s)``.
    ``X`` are CSR rows without duplicates or a C-contiguous array, float32 or float64; ``y`` is as
    the loss takes it (float32 for labels); ``penalty`` is bound, of the sum form; ``weight``
    (n_samples,) are the s_i, None for ones; ``n_outputs`` is None unless scores are a matrix.
    """

    sums = None  # where rows are elsewhere, the sums over them

    def __init__(self, X, y, loss, penalty, *, weight=None, fit_intercept=False, n_outputs=None):
        loss._check_on(y)
        self.X, self.y, self.loss, self.penalty = X, y, loss, penalty
        self.dtype = X.dtype
        self.weight, self.fit_intercept = weight, fit_intercept
        self.n_rows, self.n_columns = X.shape
        self.n_outputs = n_outputs
        used = np.arange(self.n_rows) if weight is None else np.flatnonzero(weight)
        # Half the memory where it suffices; runs shuffle this array.
        self.active = used.astype(np.int32 if self.n_rows < 2**31 else np.int64)
        self.total_weight = float(self.n_rows if weight is None else weight.sum())

    def variant(self, *, y=None, penalty=None, loss=None):
        """The same rows with other targets, penalty or a loss as smooth, sharing what X decides."""
        for name in ("smoothness", *["by_columns"] * self.is_by_columns):
            getattr(self, name)  # cached from now on
        other = copy(self)
        other.active = self.active.copy()  # runs shuffle it
        for name in ("formula", "has_dual", "null", "size"):
            vars(other).pop(name, None)
        other.loss = loss or self.loss
        if y is not None:
            other.loss._check_on(y)
            other.y = y
        other.penalty = self.penalty if penalty is None else penalty
        return other

    def like(self, X, y, penalty, weight):
        same = {"fit_intercept": self.fit_intercept, "n_outputs": self.n_outputs}
        return FiniteSum(X, y, self.loss, penalty, weight=weight, **same)

    def part(self, rows):
        weight = None if self.weight is None else self.weight[rows]
        return self.like(self.X[rows], self.y[rows], self.penalty, weight)

    @property
    def weights(self):
        return np.ones(self.n_rows) if self.weight is None else self.weight

    @property
    def shape(self):
        outputs = () if self.n_outputs is None else (self.n_outputs,)
        return (self.n_columns, *outputs)

    def rows(self, center=None):
        X = self.X
        if sp.issparse(X):
            return rows_kernels.Rows(X.data, X.indices, X.indptr, 0, None)
        columns = np.arange(self.n_columns, dtype=np.int32)
        return rows_kernels.Rows(X.reshape(-1), columns, columns[:1], self.n_columns, center)

    def target(self):
        return incremental.Target(self.formula, self.y, self.weight)

    @cached_property
    def formula(self):
        return self.loss._formula()

    def raise_kept(self):
        if self.formula.call is not None:
            self.formula.call.check()

    @property
    def centers(self):
        """Whether rows can be centered: dense ones, which an intercept then puts right."""
        return self.fit_intercept and not sp.issparse(self.X)

    @cached_property
    def column_means(self):
        return self.gradient(self.weights) / (self.total_weight or 1.0)

    @cached_property
    def counts(self):
        """Number of active rows that touch each column; a dense row touches all."""
        if not sp.issparse(self.X):
            return np.full(self.n_columns, float(self.active.size))
        counts = np.zeros(self.n_columns, dtype=self.active.dtype)
        rows_kernels.count_columns(self.rows(), self.active, counts)
        return counts

    @property
    def is_by_columns(self):
        """Whether sparse columns, many of which an l1 norm leaves at zero, are worth a copy.

        Not with losses that bend for some rows only: there many steps would have to be damped.
        """
        penalty = self.penalty
        return (
            sp.issparse(self.X) and self.n_columns > SPARSE and self.n_outputs is None
            and isinstance(self.loss, LogLoss | SquaredError)
            and penalty.separable and penalty.l1 > 0.0 and not penalty.has_bounds
        )  # fmt: skip

    @cached_property
    def by_columns(self):
        return self.X.tocsc()

    # ---- values ----------------------------------------------------------------------------------

    def scores(self, coef, intercept, center=None):
        """Scores of all rows, from those of rows about a center if there is one."""
        if not coef.any():
            scores = np.zeros((self.n_rows, *coef.shape[1:]))
        elif center is not None:
            parts = self._parts(max(64, BYTES // (8 * self.n_columns)))
            scores = np.concatenate([(self.X[part] - center) @ coef for part in parts])
            intercept = intercept + center @ coef
        elif self.X.dtype == np.float64:
            scores = np.asarray(self.X @ coef)
        else:
            scores = np.concatenate([X @ coef for _, X in self._views])
        scores += intercept
        return scores

    def centered_scores(self, coef, intercept):
        # Where columns are far from zero, an intercept that they make up for is much rounding.
        return self.scores(coef, intercept, self.column_means if self.centers else None)

    def gradient(self, slopes):
        return sum(np.asarray(X.T @ slopes[part]) for part, X in self._products())

    def _products(self):
        """Rows that a product takes at once: all, or few where it would convert X to float64."""
        if self.X.dtype == np.float64:
            return [(slice(None), self.X)]
        return self._views

    @cached_property
    def _views(self):
        X, parts = self.X, self._parts()
        if not sp.issparse(X):
            return [(part, X[part]) for part in parts]
        views = []
        for part in parts:  # slices of sparse rows are copies
            ends = X.indptr[part.start : part.stop + 1]
            arrays = X.data[ends[0] : ends[-1]], X.indices[ends[0] : ends[-1]], ends - ends[0]
            views.append((part, type(X)(arrays, shape=(len(ends) - 1, self.n_columns))))
        return views

    def _parts(self, size=None):
        size = size or PART
        return [slice(i, i + size) for i in range(0, self.n_rows, size)]

    def loss_sum(self, scores, shift=0.0):
        return self.loss._total(self.y, scores, shift, self.weight)

    def loss_at(self, coef, intercept):
        return self.loss_sum(self.scores(coef, intercept))

    def losses_and_slopes(self, scores, slopes=None):
        """Sum of the weighted losses, and their derivatives in ``slopes``, maybe ``scores``."""
        slopes = np.empty_like(scores) if slopes is None else slopes
        return self.loss._total_and_slopes(self.y, scores, self.weight, slopes), slopes

    def resting_point(self):
        """Coefficients of least penalty, where columns that no row touches stay."""
        return self.penalty.prox(np.zeros(self.shape), LONG)

    def origin(self):
        """Coefficients of least penalty, best intercepts, mean objective (the scale of ``tol``)."""
        coef = self.resting_point()
        scores, intercept = self._best_scores(coef, np.zeros(self.shape[1:]))
        objective = (self.loss_sum(scores) + self.penalty.value(coef)) / self.total_weight
        return coef, intercept, objective

    @cached_property
    def size(self):
        return self.loss_sum(np.zeros((self.n_rows, *self.shape[1:]))) / self.total_weight

    @cached_property
    def reaches_zero(self):
        """Whether finite scores can have no loss: if not, separable classes have no optimum."""
        if self.loss.task != "classification":
            return True
        if self.n_outputs is not None:
            return False
        return not np.any(self.loss.value(np.ones(1), np.array([SURE])))

    def proves_separable(self, objective):
        """Whether no row can be on the wrong side at a point of this mean objective."""
        weights = self.weight[self.active] if self.weight is not None else np.ones(1)
        limit = self.size / np.log2(max(self.n_outputs or 2, 2)) * weights.min()
        return not self.reaches_zero and objective * self.total_weight < limit

    @cached_property
    def null(self):
        return self.certify(*self.origin()[:2])

    @cached_property
    def has_dual(self):
        """Whether slopes of the losses give a bound: not where the penalty cannot bound w."""
        if self.penalty.strong_convexity > 0.0:
            return True
        v = np.random.default_rng(0).standard_normal(self.shape)
        try:
            # Both signs: a coefficient may have a bound on one side only.
            return min(self.penalty.dual_scale(v), self.penalty.dual_scale(-v)) > 0.0
        except NotImplementedError:  # a user's penalty without conjugate
            return False

    # ---- certificate -----------------------------------------------------------------------------

    def certify(self, coef, intercept):
        """The point with its best intercept, its objective and how far it can be from the optimum.

        The slopes ``s`` of the losses at the point are dual variables: every ``t s`` with t in
        [0, 1] bounds the optimum from below by ``-sum_i loss_i*(t s_i) - penalty*(-t X^T s)``,
        and t is the largest number for which that is finite. An intercept needs slopes with sum
        zero, which its optimum has. Costs two products with X.
        """
        return self.certificate(coef, *self._at_best_intercept(coef, intercept))

    def certificate(self, coef, intercept, losses, slopes, total, mass, mapping=True):
        """The same for the sums at the point; the gradient mapping may be left out."""
        if not np.isfinite(losses):  # `drive` warns; penalties refuse such points
            return Certificate(losses, losses, losses, coef, intercept, slopes, total)
        pair = self.pair(coef, intercept, total, mass, mapping)
        gap = None
        if self.has_dual and pair.scale == 1.0:
            # By Fenchel-Young equality of the losses at their slopes, without cancellation.
            gap = pair.value + pair.product + pair.conjugate
        elif self.has_dual:
            dual = -self.conjugate_sum(slopes, pair.scale) - pair.conjugate
            gap = losses + pair.value - dual
        if gap is not None:
            # Rounding of sums of n terms can put the bound above the value at the optimum.
            gap = max(gap, 0.0) / self.total_weight
        return Certificate(
            (losses + pair.value) / self.total_weight, gap, pair.mapping / self.total_weight,
            coef, intercept, slopes, total,
        )  # fmt: skip

    def _at_best_intercept(self, coef, intercept):
        """Best intercept, losses, their slopes, and the sums of these over rows and of all."""
        scores, intercept = self._best_scores(coef, intercept)
        # In the memory of the scores: n numbers are what a certificate may take.
        losses, slopes = self.losses_and_slopes(scores, scores)
        return intercept, losses, slopes, self.gradient(slopes), slopes.sum(axis=0)

    def pair(self, coef, intercept, total, mass, mapping):
        """The penalty at a point and at minus the gradient; ``mass`` is that of the intercept."""
        scale = self.penalty.dual_scale(-total) if self.has_dual else 1.0
        product = float(np.sum(total * coef) + np.sum(mass * intercept))
        conjugate = self.penalty.conjugate(-scale * total) if self.has_dual else np.inf
        longest = np.nan
        if mapping:
            moved = self.penalty.prox(coef - self.unit_step * total, self.unit_step)
            longest = float(np.abs(coef - moved).max(initial=0.0) / self.unit_step)
        return Pair(self.penalty.value(coef), product, conjugate, scale, longest)

    @property
    def stiffness(self):
        """Largest second derivative of the losses along a shift of all scores."""
        return self.loss.smoothness * self.total_weight

    @property
    def unit_step(self):
        return 1.0 / (self.smoothness * self.active.size or 1.0)

    @cached_property
    def smoothness(self):
        """Bound on the second derivative of every term, without the intercept."""
        return self.smoothness_in(None, None)

    def smoothness_in(self, metric, center):
        is_plain = metric is None and center is None
        norms = self.squared_norms if is_plain else self._norms(metric, center)
        return self.loss.smoothness * float((norms * self.weights).max(initial=0.0))

    @cached_property
    def squared_norms(self):
        return self._norms(None, None)

    def _norms(self, metric, center):
        norms = np.zeros(self.n_rows)
        rows_kernels.squared_norms(self.rows(center), self.active, metric, norms)
        return norms

    def conjugate_sum(self, slopes, scale=1.0):
        total = 0.0
        for part in self._parts():
            y, values = self.y[part], scale * slopes[part]
            if self.weight is not None:
                weight = self.weight[part]
                used = weight > 0.0
                y, weight, values = y[used], weight[used], values[used]
                values /= weight if values.ndim == 1 else weight[:, None]
                total += weight @ self.loss._ask("conjugate", y, values)
            else:
                total += self.loss._ask("conjugate", y, values).sum()
        return float(total)

    def _best_scores(self, coef, intercept):
        scores = self.centered_scores(coef, intercept)
        if not self.fit_intercept:
            return scores, intercept
        shift = self.best_shift(scores)
        if self.n_outputs is not None:
            shift -= np.mean(intercept + shift)  # a shift of all classes changes nothing else
        scores += shift
        return scores, intercept + shift

    def best_shift(self, scores):
        """What to add to the intercepts to minimize the objective with w fixed."""
        return self._find_shift(Shifted(self, scores))

    def _find_shift(self, shifted):
        if isinstance(self.loss, MultinomialLogLoss):
            return self._best_shifts(shifted)
        # The slope grows with the shift: from where both signs are known, between these.
        shift, below, above, reach, before = 0.0, -np.inf, np.inf, 0.0, np.inf
        for trials in range(SHIFTS):
            slope, size, curvature = shifted.slope(shift)
            # Newton's method squares errors: what does not shrink any more is rounding.
            if abs(slope) <= 1e-13 * size or 0.1 * before < abs(slope) <= 1e-11 * size:
                return shift
            before = abs(slope)
            below, above = (below, shift) if slope > 0.0 else (shift, above)
            reach = max(4.0 * reach, 16.0 * before / self.stiffness)
            newton = curvature > 0.0 and trials <= SHIFTS // 4
            trial = shift - np.sign(slope) * min(before / curvature if newton else reach, reach)
            if not below < trial < above:
                trial = 0.5 * (below + above)
                if trial in (below, above):
                    return shift
            shift = trial
        # Where the losses become flat no shift is the best one.
        return 0.0 if np.isinf(above - below) else shift

    def _best_shifts(self, shifted):
        """The same for one intercept per class: Newton's method, damped as long as it is far."""
        shift, reach = np.zeros(self.n_outputs), 1.0
        value = shifted.loss(shift)
        for _ in range(100):
            gradient, mass = shifted.bend(shift)
            steepest = np.abs(gradient).max()
            if steepest <= 1e-15 * self.total_weight:
                break
            sizes, axes = np.linalg.eigh(mass)
            while reach > 1e-8:
                damped = np.maximum(sizes, 0.0) + steepest / reach
                move = axes @ (axes.T @ gradient / damped)
                trial = shift - (move - move.mean())  # equal shifts of all classes change nothing
                trial_value = shifted.loss(trial)
                if trial_value <= value * (1.0 + 1e-14):
                    break
                reach /= 8.0
            else:
                break
            shift, value, reach = trial, trial_value, 4.0 * reach
        return shift


class Shifted:
    """Sums over rows as functions of what is added to all scores."""

    def __init__(self, problem, scores):
        self.problem, self.scores = problem, scores

    def loss(self, shift):
        return self.problem.loss_sum(self.scores, shift)

    def slope(self, shift):
        """Sums of the slopes of one output, their absolute values and their derivatives."""
        problem = self.problem
        return problem.loss._slope_total(problem.y, self.scores, shift, problem.weight)

    def bend(self, shift):
        """Sums of the slopes of several outputs, and of their derivatives."""
        _, slopes = self.problem.losses_and_slopes(self.scores + shift)
        return slopes.sum(axis=0), Curvature(self.problem, self.scores, slopes).mass()


# Bytes of the dense rows of which outer products are summed at a time.
BYTES = 1 << 18
# What is added to the unit diagonal of a scaled matrix, at first, where it is singular.
JITTER = 1e-13
# So often it grows, at most: to a multiple that makes any matrix of numbers up to 1 definite.
TRIALS = 15


class Curvature:
    def __init__(self, problem, scores, slopes):
        self.problem, self.weight = problem, 1.0
        if problem.weight is not None:
            self.weight = problem.weight if slopes.ndim == 1 else problem.weight[:, None]
            used = self.weight > 0.0
            slopes = np.divide(slopes, self.weight, out=np.zeros_like(slopes), where=used)
        self.rows = self.weight * problem.loss._curvatures(problem.y, scores, slopes)
        self.probabilities = None
        if isinstance(problem.loss, MultinomialLogLoss):
            p = np.array(slopes)
            p[np.arange(len(p)), problem.y.astype(np.intp)] += 1.0
            self.probabilities = p

    def along(self, moves):
        """First-order changes of the slopes when scores move; every output's have the sum zero."""
        changes = self.apply(moves)
        if not self.problem.fit_intercept:
            return changes
        if self.probabilities is None:
            total = self.rows.sum()
            return changes - self.rows * (changes.sum() / total) if total > 0.0 else changes
        shift, *_ = np.linalg.lstsq(self.mass(), changes.sum(axis=0))
        return changes - self.apply(np.tile(shift, (len(moves), 1)))

    def apply(self, moves):
        """The same without intercepts that follow."""
        if self.probabilities is None:
            return self.rows * moves
        changes = np.empty_like(moves)
        sums.softmax_curvature(self.probabilities, self.problem.weight, moves, changes)
        return changes

    def between(self, k, l):
        """Second derivatives of the rows by two scores; other than by one twice, minus these."""
        if k == l:
            return self.rows.reshape(len(self.rows), -1)[:, k]
        return np.ravel(self.weight) * self.probabilities[:, k] * self.probabilities[:, l]

    def mass(self):
        weighted = self.weight * self.probabilities
        return np.diag(weighted.sum(axis=0)) - weighted.T @ self.probabilities


def weighted_products(problem, h):
    """``sum_i h_i (x_i - m) (x_i - m)^T`` and m, the h-weighted mean."""
    center = problem.column_means if problem.centers else None
    products = second_moments(problem.X, h, center)
    total, mass = products[:-1, :-1], products[-1, :-1]
    if not problem.fit_intercept:
        return total, None
    mean = mass / (products[-1, -1] or 1.0)
    total -= np.multiply.outer(mass, mean)
    return total, mean if center is None else mean + center


def second_moments(X, h, center=None, columns=None):
    """``sum_i h_i v_i v_i^T`` for ``v_i = (x_i - center, 1)``, of all columns or some."""
    if columns is not None and len(columns) == X.shape[1]:
        columns = None
    size = (X.shape[1] if columns is None else len(columns)) + 1
    if sp.issparse(X):
        return _sparse_moments(X, h, center, columns, size - 1)
    step, total = max(64, BYTES // (8 * size)), np.zeros((size, size))
    space, root = np.empty((min(step, len(h)), size)), np.sqrt(h)
    for start in range(0, len(h), step):
        rows = X[start : start + step]
        rows = rows if columns is None else rows[:, columns]
        part = space[: len(rows)]
        part[:, -1] = root[start : start + step]
        centered = rows if center is None else rows - center
        np.multiply(centered, part[:, -1:], out=part[:, :-1])
        total += part.T @ part
    return total


def _sparse_moments(X, h, center, columns, size):
    own, mass, places = np.zeros((size, size)), np.zeros(size), np.full(X.shape[1], -1)
    places[slice(None) if columns is None else columns] = np.arange(size)
    h = np.ascontiguousarray(h)
    sums.add_outer_products(X.data, X.indices, X.indptr, h, places, own, mass)
    total_weight = h.sum()
    if center is not None and center.any():
        own -= np.multiply.outer(center, mass)
        mass -= total_weight * center
        own -= np.multiply.outer(mass, center)
    return np.block([[own, mass[:, None]], [mass, total_weight]])


def sums_of_squares(X, weight):
    """Sums of the squares of each column, for a weight per row or one per row and output."""
    if not sp.issparse(X):
        step = max(64, BYTES // (8 * X.shape[1]))
        parts = [slice(i, i + step) for i in range(0, len(X), step)]
        return sum(np.square(X[part], dtype=np.float64).T @ weight[part] for part in parts)
    total, n_outputs = np.zeros((X.shape[1], *weight.shape[1:])), weight[0].size
    by_output = weight.reshape(-1, n_outputs), total.reshape(-1, n_outputs)
    sums.add_squares(X.data, X.indices, X.indptr, *by_output)
    return total


def solve_positive(matrix, right, ridge=0.0):
    """Solution of ``(matrix + ridge I) x = right`` for a symmetric matrix that may be singular.

    Columns are scaled to a unit diagonal first. Where the matrix is not positive definite to
    rounding, the least multiple of the unit matrix that makes it so is added.
    """
    diagonal = np.diagonal(matrix) + ridge
    scale = np.sqrt(np.where(diagonal > sums.STRAIGHT, diagonal, 1.0))
    scaled = matrix / np.multiply.outer(scale, scale)
    places = np.arange(len(scale))
    target = scale if right.ndim == 1 else scale[:, None]
    added = 0.0
    for _ in range(TRIALS):
        scaled[places, places] = 1.0 + added
        _, solution, info = dposv(scaled, right / target)
        if info == 0:
            return solution / target
        added = max(JITTER, 100.0 * added)
    raise FloatingPointError(  # entries are at most 1: only NaN is left
        "the curvature of the losses is not finite: check the scale of X and sample_weight"
    )


# Columns for which a matrix of second derivatives is made, and those for which it costs too much.
COLUMNS = 1000
# Iterations and accuracy of conjugate gradients for more columns or outputs.
ITERATIONS, ACCURACY = 500, 1e-11
# How many times as large as at hand coefficients may be at the optimum.
LARGER = 10.0
# Share of the objective below which a difference of sums is rounding.
ROUNDING = 1e-14


def suboptimality_bound(problem, certificate):
    """Bound on the distance of the mean objective from its optimum, None without a proof."""
    coef, slopes, total = certificate.coef, certificate.memory, certificate.total
    near, subgradient, free = _subgradient(problem, coef, total)
    missing = np.where(free, total + subgradient, 0.0)
    if missing.ndim == 2:
        # Slopes of a row have the sum zero: what no change of them can make up for.
        missing = np.where(free, missing - missing.mean(axis=1, keepdims=True), 0.0)
    curvature = Curvature(problem, problem.scores(coef, certificate.intercept), slopes)
    move = solve_scores(problem, curvature, missing, free, ROUNDING * np.linalg.norm(total))
    changed = slopes - curvature.along(problem.scores(move, 0.0))
    after = problem.gradient(changed)
    rest = np.where(free, after + subgradient, 0.0)
    if not np.all(free):
        # Bounds on one side take slopes of one sign.
        subgradient = np.where(free, subgradient, -after)
        if np.any(~free & ~_holds(problem.penalty, near, subgradient)):
            return None
    with np.errstate(invalid="ignore"):
        conjugates = problem.conjugate_sum(changed)
    bound = (
        certificate.objective * problem.total_weight + conjugates
        + float(np.sum(subgradient * near)) - problem.penalty.value(near)
    )  # fmt: skip
    # What is left of sums that cancel to rounding is nothing.
    if abs(bound) <= ROUNDING * (abs(certificate.objective) * problem.total_weight):
        bound = 0.0
    bound += LARGER * float(np.sum(np.abs(rest) * (np.abs(near) + np.abs(move))))
    return max(bound, 0.0) / problem.total_weight if np.isfinite(bound) else None


def _subgradient(problem, coef, total):
    """A point, a subgradient of the penalty there, and the coefficients that are not at a bound."""
    penalty = problem.penalty
    if penalty.separable:
        # l1 and l2 are zero, or there would be a dual.
        lower, upper = penalty.bounds_like(coef)
        if coef.ndim == 2 and (np.all(np.isneginf(lower)) or np.all(np.isposinf(upper))):
            # The same for all classes may be added to a feature: no bound need be met.
            return coef, np.zeros_like(coef), np.ones(coef.shape, dtype=bool)
        held = ((coef <= lower) & (total > 0.0)) | ((coef >= upper) & (total < 0.0))
        return coef, np.where(held, -total, 0.0), ~held
    step = problem.unit_step
    near = penalty.prox(coef - step * total, step)
    return near, (coef - near) / step - total, np.ones(coef.shape, dtype=bool)


def _holds(penalty, near, subgradient):
    lower, upper = penalty.bounds_like(near)
    at_lower = (near <= lower) & (subgradient <= 0.0)
    return at_lower | ((near >= upper) & (subgradient >= 0.0))


def solve_scores(problem, curvature, missing, free, negligible):
    """Coefficients whose scores change the slopes by what is missing."""
    if problem.n_outputs is None and problem.n_columns <= COLUMNS:
        move = np.zeros_like(missing)
        if free.any():
            matrix, _ = weighted_products(problem, curvature.rows)
            move[free] = solve_positive(matrix[np.ix_(free, free)], missing[free])
        return move
    shape = missing.shape

    def product(v):
        v = np.where(free, v.reshape(shape), 0.0)
        changed = problem.gradient(curvature.along(problem.scores(v, 0.0)))
        return np.where(free, changed, v).ravel()

    diagonal = sums_of_squares(problem.X, curvature.rows).ravel()
    diagonal[~(diagonal > 0.0)] = 1.0
    size = missing.size
    move, _ = cg(
        LinearOperator((size, size), matvec=product, dtype=np.float64), missing.ravel(),
        rtol=ACCURACY, atol=negligible, maxiter=ITERATIONS, M=sp.diags_array(1.0 / diagonal),
    )  # fmt: skip
    return move.reshape(shape)
