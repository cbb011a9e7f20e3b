"""The objective of linear models as a sum over rows, with its certificate."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import root_scalar

from ..losses import MultinomialLogLoss

__all__ = ["Certificate", "FiniteSum"]

# Rows of float32 that are converted at a time.
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

    def row(self):
        """The numbers for the history."""
        return {
            "objective": self.objective,
            "dual_gap": self.dual_gap,
            "gradient_mapping": self.gradient_mapping,
        }


class FiniteSum:
    """``min_{w, c} sum_i s_i loss(y_i, <w, x_i> + c) + penalty(w)``.

    The sum form of the mean loss with weights ``s_i / sum(s)`` and penalty ``penalty / sum(s)``.

    Parameters
    ----------
    X : CSR matrix or C-contiguous ndarray of shape (n_samples, n_features)
        Rows, float32 or float64; CSR without duplicates.
    y : ndarray of shape (n_samples,)
        Truth, float64 as the loss takes it.
    loss : Loss
        Loss of a score.
    penalty : bound penalty
        Of the sum form.
    weight : ndarray of shape (n_samples,) or None
        Factors of the losses, not negative; None means ones.
    fit_intercept : bool
        Whether there is a c.
    n_outputs : int or None
        Number of scores per row; None when the scores are not a matrix.
    """

    def __init__(self, X, y, loss, penalty, *, weight=None, fit_intercept=False, n_outputs=None):
        self.X, self.y, self.loss, self.penalty = X, y, loss, penalty
        self.weight, self.fit_intercept = weight, fit_intercept
        self.n_rows, self.n_columns = X.shape
        self.n_outputs = n_outputs
        used = np.arange(self.n_rows) if weight is None else np.flatnonzero(weight)
        # Half the memory where it suffices; the orders of all epochs take their type from here.
        self.active = used.astype(np.int32 if self.n_rows < 2**31 else np.int64)
        self.total_weight = float(self.n_rows if weight is None else weight.sum())

    @property
    def shape(self):
        """Shape of the coefficients inside, (n_features,) or (n_features, n_outputs)."""
        outputs = () if self.n_outputs is None else (self.n_outputs,)
        return (self.n_columns, *outputs)

    def rows(self, center=None):
        """The rows as kernels take them."""
        from .._kernels.rows import Rows

        X = self.X
        if sp.issparse(X):
            return Rows(X.data, X.indices, X.indptr, 0, None)
        columns = np.arange(self.n_columns, dtype=np.int32)
        return Rows(X.reshape(-1), columns, columns[:1], self.n_columns, center)

    def target(self):
        """The losses as kernels take them."""
        from .._kernels.incremental import Target

        return Target(self.loss.code, float(self.loss.parameter), self.y, self.weight)

    @cached_property
    def counts(self):
        """Number of active rows that touch each column; a dense row touches all."""
        if not sp.issparse(self.X):
            return np.full(self.n_columns, float(self.active.size))
        from .._kernels.rows import count_columns

        counts = np.zeros(self.n_columns)
        count_columns(self.rows(), self.active, counts)
        return counts

    # ---- values ----------------------------------------------------------------------------------

    def scores(self, coef, intercept):
        """``X w + c``, one product with X."""
        scores = np.empty((self.n_rows, *self.shape[1:]))
        if not coef.any():
            scores[...] = intercept
            return scores
        for part in self._parts():
            scores[part] = self.X[part] @ coef
        scores += intercept
        return scores

    def gradient(self, slopes):
        """``X^T slopes``, one product with X."""
        return sum(np.asarray(self.X[part].T @ slopes[part]) for part in self._parts())

    def _parts(self):
        """Rows that a product takes at once: all, or few where X would be copied to float64."""
        if self.X.dtype == np.float64:
            return [slice(None)]
        return [slice(i, i + PART) for i in range(0, self.n_rows, PART)]

    def weighted(self, values):
        """Values of rows (or their vectors) times the weights."""
        if self.weight is None:
            return values
        return values * (self.weight if values.ndim == 1 else self.weight[:, None])

    def objective_at(self, coef, scores):
        """The sum form at a point whose scores are known."""
        losses = self.loss.value(self.y, scores)
        return float(self.weighted(losses).sum() + self.penalty.value(coef))

    @cached_property
    def null(self):
        """Certificate of zero coefficients: the scale of ``tol``, and where runs begin."""
        zero = self.penalty.prox(np.zeros(self.shape), 1.0)
        return self.certify(zero, np.zeros(self.shape[1:]))

    @cached_property
    def has_dual(self):
        """Whether slopes of the losses give a bound: not where the penalty cannot bound w."""
        rng = np.random.default_rng(0)
        try:
            return self.penalty.dual_scale(rng.standard_normal(self.shape)) > 0.0
        except NotImplementedError:  # a user's penalty without conjugate
            return False

    # ---- certificate -----------------------------------------------------------------------------

    def certify(self, coef, intercept):
        """The point with its best intercept, its objective and how far it can be from the optimum.

        The slopes ``s`` of the losses at the point are dual variables: every ``t s`` with t in
        [0, 1] bounds the optimum from below by ``-sum_i loss_i*(t s_i) - penalty*(-t X^T s)``,
        and t is the largest number for which that is finite. An intercept asks for slopes with
        sum zero, which is what its optimum is. Costs two products with X.
        """
        scores = self.scores(coef, intercept)
        if self.fit_intercept:
            shift = self._best_shift(scores)
            intercept = intercept + shift
            scores += shift
        slopes = self.weighted(self.loss.derivative(self.y, scores))
        total = self.gradient(slopes)
        primal = self.objective_at(coef, scores)
        gap = None
        if self.has_dual:
            t = self.penalty.dual_scale(-total)
            dual = -self._conjugate(t * slopes) - self.penalty.conjugate(-t * total)
            # Rounding of sums of n terms can put the bound above the value at the optimum.
            gap = max(primal - dual, 0.0) / self.total_weight if np.isfinite(dual) else None
        return Certificate(
            primal / self.total_weight, gap, self._gradient_mapping(coef, total),
            coef, intercept, slopes, total,
        )  # fmt: skip

    def gradient_mapping_of(self, coef, total):
        """Largest entry of ``L (w - prox_{h / L}(w - g / L))``, g the gradient of the mean loss."""
        return self._gradient_mapping(coef, total)

    def _gradient_mapping(self, coef, total):
        # In the sum form one over its smoothness is a step; the mapping is the same in both forms.
        step = 1.0 / max(self.smoothness * self.active.size, np.finfo(float).tiny)
        moved = self.penalty.prox(coef - step * total, step)
        size = np.abs(coef - moved).max(initial=0.0)
        return float(size / step / self.total_weight)

    @cached_property
    def smoothness(self):
        """Bound on the second derivative of every term, without the intercept."""
        from .._kernels.rows import largest_norm

        return self.loss.smoothness * largest_norm(self.rows(), self.active, self.weight, None, 0.0)

    def _conjugate(self, slopes):
        """``sum_i (s_i loss_i)*(slopes_i)``."""
        if self.weight is None:
            return float(self.loss.conjugate(self.y, slopes).sum())
        weight, slopes = self.weight[self.active], slopes[self.active]
        unweighted = slopes / (weight if slopes.ndim == 1 else weight[:, None])
        return float(weight @ self.loss.conjugate(self.y[self.active], unweighted))

    def _best_shift(self, scores):
        """What to add to the intercepts to minimise the objective with w fixed."""
        if isinstance(self.loss, MultinomialLogLoss):
            return self._best_shifts(scores)

        def slope(shift):
            return float(self.weighted(self.loss.derivative(self.y, scores + shift)).sum())

        now = slope(0.0)
        if now == 0.0:
            return 0.0
        # The slope grows with the shift: walk downhill until it changes its sign.
        reach = -np.sign(now) * max(1e-8, abs(now) / (self.loss.smoothness * self.total_weight))
        for _ in range(200):
            if slope(reach) * now <= 0.0:
                break
            reach *= 4.0
        else:
            return 0.0  # flat: losses that no shift lowers
        bracket = (min(0.0, reach), max(0.0, reach))
        return float(root_scalar(slope, bracket=bracket, method="brentq", xtol=1e-300).root)

    def _best_shifts(self, scores):
        """The same for one intercept per class, by Newton's method."""
        shift = np.zeros(scores.shape[1])
        for _ in range(20):
            slopes = self.loss.derivative(self.y, scores + shift)
            gradient = self.weighted(slopes).sum(axis=0)
            if np.abs(gradient).max() <= 1e-15 * self.total_weight:
                break
            p = slopes.copy()
            p[np.arange(self.n_rows), self.y.astype(np.intp)] += 1.0
            weighted = self.weighted(p)
            hessian = np.diag(weighted.sum(axis=0)) - weighted.T @ p
            # Equal shifts of all classes change nothing: the least-squares step leaves them out.
            move = np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0]
            shift -= move / max(1.0, np.abs(move).max())
        return shift
