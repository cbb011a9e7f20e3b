"""What all linear models share: checked data, scores, labels and targets, units of columns."""

from dataclasses import KW_ONLY
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.blocks import blockwise, is_collection, refuse_collection
from .._core.budget import time_budget
from .._core.callbacks import CallbackSupportMixin, FitTasks, with_callbacks
from .._core.estimator import Estimator, ScoreMixin
from ..losses import resolve_loss
from ..optim import ROWS, check_rows

# Columns that vary by less than this share of their size are constant but for rounding.
CONSTANT = 1e-12


class Units(NamedTuple):
    """What is subtracted from columns and targets, and what columns are divided by."""

    center: np.ndarray | None  # (n_features,); None subtracts nothing
    scale: np.ndarray | None  # (n_features,); None divides by nothing
    y_center: np.ndarray  # (n_targets,)

    @classmethod
    def of(cls, X, weight, y_center, fit_intercept, standardizes):
        """Means, where there is an intercept, and deviations; or columns as they are.

        Sparse columns are divided by their root mean squares, and nothing is subtracted.
        """
        if not standardizes:
            return cls(None, None, y_center)
        share = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
        if sp.issparse(X):
            return cls.about(None, X.multiply(X).T @ share, y_center)
        center = share @ X if fit_intercept else np.zeros(X.shape[1])
        return cls.about(center, share @ np.square(X - center), y_center)

    @classmethod
    def about(cls, center, squares, y_center):
        """Of the mean squares of columns about their centers, None for zero."""
        scale = np.sqrt(np.asarray(squares, np.float64).ravel())
        least = 0.0 if center is None else CONSTANT * np.abs(center)
        return cls(center, np.where(scale > least, scale, 1.0), y_center)

    @staticmethod
    def centers_and_spreads(targets, weight):
        """Medians, and mean distances from them; one where all targets are the same."""
        # With weights the smallest number that has half of the weight at or below it.
        method = "linear" if weight is None else "inverted_cdf"
        centers = np.quantile(targets, 0.5, axis=1, weights=weight, method=method)
        spreads = np.average(np.abs(targets - centers[:, None]), axis=1, weights=weight)
        return centers, np.where(spreads > 0.0, spreads, 1.0)

    def rows(self, X):
        """X in these units: a copy, but for X itself where the units are its own."""
        if self.scale is None:
            return X
        if sp.issparse(X):
            scaled = X.copy()
            scaled.data /= self.scale[X.indices]
            return scaled
        return np.ascontiguousarray((X - self.center) / self.scale, dtype=X.dtype)

    def back(self, coef, intercept, k):
        if self.scale is not None:
            coef = (coef.T / self.scale).T
        if self.center is not None:
            intercept = intercept - self.center @ coef
        return coef, intercept + self.y_center[k]


def has_probabilities(estimator):
    loss = resolve_loss(estimator.loss, "classification")
    if callable(getattr(loss, "probability", None)):
        return True
    raise AttributeError(f"loss={estimator.loss!r} gives no probabilities; use 'log_loss'")


class LinearEstimator(CallbackSupportMixin, Estimator):
    """Base of the linear estimators, which have ``coef_`` and ``intercept_``.

    A method of training has `_problems`, one per output or one of all, and `_train` solves them.
    """

    _: KW_ONLY
    fit_intercept: bool = True
    warm_start: bool = False
    random_state: object = None
    verbose: int = 0

    _has_passes = True  # whether a callback sees passes of a problem, or problems

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Train to the accuracy ``tol``, where there is one, or to the end of the budget.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Inputs. C-ordered float32 or float64 arrays and CSR matrices without duplicate entries
            are not copied.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Labels or targets; several targets for regression only.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses; where steps are averaged, in units of their mean.
        """
        with time_budget(getattr(self, "time_limit", None)):
            if is_collection(X):
                problems = self._problems_of_collection(X, y, sample_weight)
            else:
                problems = self._problems(*self._check(X, y, sample_weight))
            n_tasks = len(problems) * (self.max_iter if self._has_passes else 1)
            tasks = FitTasks(self, X, y, max_subtasks=n_tasks, sample_weight=sample_weight)
            self._train(problems, tasks)
            tasks.finish()
        return self

    def _problems_of_collection(self, X, y, sample_weight):
        refuse_collection(X, "X")

    def _check(self, X, y, sample_weight, reset=True):
        X, y = check.data(
            self, X, y, reset=reset, accept_large_sparse=True, multi_output=self._multi_output,
            y_numeric=self._multi_output, **ROWS,
        )  # fmt: skip
        weight = None
        if sample_weight is not None:
            weight = check.sample_weight(sample_weight, X.shape[0])
        return check_rows(X), y, weight

    def _set_points(self, points, dtype):
        coef, self.intercept_ = self._stacked(points)
        self.coef_ = coef.astype(dtype, copy=False)

    def _stacked(self, points):
        coef = np.vstack([np.atleast_2d(coef.T) for coef, _ in points])
        intercept = np.concatenate([np.atleast_1d(c) for _, c in points])
        return np.ascontiguousarray(coef), intercept

    def _snapshot(self, points):
        """Fitted attributes in the middle of a fit, for callbacks."""
        coef, intercept = self._stacked(points)
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        return fitted | {"coef_": coef, "intercept_": intercept}

    def _scores(self, X):
        check_is_fitted(self)
        X = check.data(self, X, reset=False, **{**ROWS, "order": None})
        coef = np.atleast_2d(self.coef_) if not sp.issparse(self.coef_) else self.coef_
        # In the type of X, which would be converted otherwise.
        coef = coef.astype(X.dtype, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):  # the check below says more
            scores = safe_sparse_dot(X, coef.T, dense_output=True) + self.intercept_
        largest = max(float(scores.max(initial=0.0)), -float(scores.min(initial=0.0)))
        if not largest <= check.LARGEST:  # nor NaN
            raise ValueError(f"X is too large: scores reach {largest:.3g}; scale it as for fit")
        return scores

    def sparsify(self):
        """Store ``coef_`` as a CSR matrix, which is small if most entries are zero; return self."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self):
        """Store ``coef_`` as a dense array again, see `sparsify`; return self."""
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearClassifier(ClassifierMixin, LinearEstimator):
    _: KW_ONLY
    class_weight: object = None

    _multi_output = False
    _task = "classification"

    def _codes(self, y, weight, is_part=False):
        """Codes of the labels, and weights with those of the classes; a table sets ``classes_``."""
        if is_part:
            return self._part_codes(y), self._with_class_weight(y, weight)
        check_classification_targets(y)
        self.classes_ = check.find_labels(y, "y")
        codes = np.searchsorted(self.classes_, y)
        self._refuse_few()
        self._refuse_empty(codes, weight)
        weight = self._with_class_weight(y, weight)
        self._refuse_empty(codes, weight)
        return codes, weight

    def _refuse_few(self):
        if self.classes_.size < 2:
            only_one = self.classes_.tolist()[0]
            raise ValueError(f"y has one class, {only_one!r}; a classifier needs at least two")

    def _part_codes(self, y):
        if check.is_named(self.class_weight, "balanced"):
            raise ValueError("class_weight='balanced' needs all of y: give partial_fit a dict")
        try:
            codes = np.searchsorted(self.classes_, y)
        except TypeError:
            raise ValueError(f"y has labels of another type than classes {self.classes_}") from None
        unknown = self.classes_[np.minimum(codes, self.classes_.size - 1)] != y
        if unknown.any():
            raise ValueError(f"y has the label {y[unknown].tolist()[0]!r}, which is not in classes")
        return codes

    def _name_classes(self, y, classes, first):
        """Fix the labels in the first part of a fit by parts, and compare them in the others."""
        check_classification_targets(y)
        check.find_labels(y, "y")
        if first and classes is None:
            classes = getattr(self, "classes_", None)  # of an earlier fit
        if first and classes is None:
            raise ValueError("classes must be given in the first call of partial_fit")
        if first:
            self.classes_ = check.find_labels(classes, "classes")
            check_classification_targets(self.classes_)
            if self.classes_.size < 2:
                raise ValueError(f"classes must name at least two labels, got {self.classes_}")
        elif classes is not None and not np.array_equal(
            check.find_labels(classes, "classes"), self.classes_
        ):
            raise ValueError(f"classes is {classes!r}, in the first call it was {self.classes_}")

    def _refuse_empty(self, codes, weight):
        if weight is None:
            return
        empty = np.bincount(codes, weights=weight, minlength=self.classes_.size) == 0
        if empty.any():
            raise ValueError(
                f"class {self.classes_[empty].tolist()[0]!r} has no sample of positive weight: "
                f"leave it out of y, or see sample_weight and class_weight"
            )

    def _with_class_weight(self, y, weight):
        given = self.class_weight
        if given is None:
            return weight
        if not isinstance(given, str | dict):
            raise ValueError(f"class_weight must be None, a dict or 'balanced'; got {given!r}")
        if isinstance(given, dict):
            for label, factor in given.items():
                check.moderate(factor, f"class_weight[{label!r}]")
        if check.is_named(given, "balanced"):
            # A sample of weight 2 counts as two samples, as in LogisticRegression.
            codes = np.searchsorted(self.classes_, y)
            counts = np.bincount(codes, weights=weight)
            factors = (counts.sum() / (counts.size * counts))[codes]
        else:
            factors = compute_sample_weight(given, y)
        weight = factors if weight is None else weight * factors
        return check.sample_weight(weight, len(weight), "sample_weight times class_weight")

    def _targets(self, y, weight, is_part=False):
        codes, weight = self._codes(y, weight, is_part)
        return signs(codes, self.classes_.size), weight

    @blockwise
    def decision_function(self, X):
        """Scores of the classes, of shape (n_samples,) or (n_samples, n_classes).

        For two classes positive for ``classes_[1]``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs.
        """
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return scores.ravel()
        return scores[:, 1] - scores[:, 0] if self.classes_.size == 2 else scores

    @blockwise
    def predict(self, X):
        """Class labels of highest score, of shape (n_samples,).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs.
        """
        scores = check.array(self.decision_function(X), "decision_function(X)")
        best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    @available_if(has_probabilities)
    @blockwise
    def predict_proba(self, X):
        """Probabilities of the classes, of shape (n_samples, n_classes); rows sum to one.

        Those of the model for "log_loss" and "multinomial"; for "modified_huber" the score between
        -1 and 1 on the scale from 0 to 1. One-vs-rest probabilities are divided by their sum.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs.
        """
        return self._probabilities(self.decision_function(X))

    @available_if(has_probabilities)
    @blockwise
    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs.
        """
        with np.errstate(divide="ignore"):  # the logarithm of zero is minus infinity
            return np.log(self.predict_proba(X))

    def _probabilities(self, scores):
        return self._shares(resolve_loss(self.loss, self._task)._probability(scores))

    @staticmethod
    def _shares(positive):
        if positive.ndim == 1:
            return np.column_stack([1.0 - positive, positive])
        total = positive.sum(axis=1, keepdims=True)
        # All scores at most -1 (modified_huber): nothing speaks for any class.
        return np.where(total > 0, positive, 1.0) / np.where(total > 0, total, positive.shape[1])


class LinearRegressor(ScoreMixin, LinearEstimator):
    _multi_output = True
    _task = "regression"

    def _targets(self, y, weight, is_part=False):
        self._one_target = y.ndim == 1
        targets = y.reshape(y.shape[0], -1).T.astype(np.float64, copy=False)
        check.magnitude(targets, "y")
        return targets, weight

    def _name_classes(self, y, classes, first):
        if classes is not None:
            raise ValueError("classes is for classifiers; leave it out")
        if not first:
            expected = y.shape[:1] + (() if self._one_target else self.coef_.shape[:1])
            if y.shape != expected:
                raise ValueError(f"y.shape == {y.shape}, expected {expected} as in the first part")

    def _stacked(self, points):
        coef, intercept = super()._stacked(points)
        return (coef[0], float(intercept[0])) if self._one_target else (coef, intercept)

    @blockwise
    def predict(self, X):
        """Predicted targets, of shape (n_samples,) or (n_samples, n_targets).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs.
        """
        scores = self._scores(X)
        return scores.ravel() if self._one_target else scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def signs(codes, n_classes):
    """-1 or +1 for every problem: one against the rest, or the second class of two."""
    positives = [1] if n_classes == 2 else range(n_classes)
    return [(2 * (codes == k) - 1).astype(np.float32) for k in positives]


def padded(points, n_outputs):
    """Points of all outputs, zero for those to come."""
    return points + [tuple(map(np.zeros_like, points[0]))] * (n_outputs - len(points))


def shared(values):
    """The value of all, or an array of them where they differ."""
    values = np.asarray(values, np.float64)
    return float(values[0]) if np.all(values == values[0]) else values


def only(values):
    return values[0] if len(values) == 1 else np.array(values)
