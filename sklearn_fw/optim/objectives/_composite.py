"""Sums of losses of a linear image."""

import numpy as np

from ..._core.validation import (
    check_array_of_numbers,
    check_flag,
    check_magnitude,
    check_sample_weight,
)
from ..._kernels import lazy
from ...losses import LogLoss, Loss, MultinomialLogLoss, SquaredError, resolve_loss
from ...losses._compiled import CompiledLoss
from ._base import Objective
from ._maps import LinearMap

score_lines = lazy("frank_wolfe.score_lines")

SHARE = 1e-3  # of the first slope, at which a step is the best one


class Composite(Objective):
    """A sum of losses of linear scores, ``f(x) = sum_i s_i loss(y_i, <a_i, x>) + <linear, x>``.

    With truths in several columns, x is a matrix with as many columns, row by row, and the scores
    are ``A @ x.reshape(n_columns, -1)``.

    Parameters
    ----------
    loss : str, Loss or callable
        A loss of `sklearn_fw.losses` or its name; or a function ``h(z) -> (value, slopes)`` of all
        scores, for which ``y`` is None.
    A : {array-like, sparse matrix} of shape (n_samples, n_columns)
        Rows a_i.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None, default=None
        Truth: -1 or +1 for losses of classification, indices of classes for "multinomial".
    linear : array-like of shape (size,) or None, default=None
        Linear part.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights s_i; None is one each.
    mean : bool, default=True
        Whether the sum is divided by that of the weights.

    Attributes
    ----------
    lipschitz : float or None
        From the smoothness of the loss and the largest singular value of A; None for a function.
    is_quadratic : bool
        Whether the loss is the squared error.

    See Also
    --------
    LeastSquares, Logistic : The two of most use.

    Examples
    --------
    >>> from sklearn_fw.optim import objectives
    >>> objective = objectives.Composite("huber", [[1.0, 0.0], [1.0, 2.0]], [0.5, 9.0])
    >>> value, gradient = objective([0.0, 0.0])
    >>> round(value, 3), gradient
    (5.682, array([-0.925, -1.35 ]))
    """

    _truth = "y"  # name of the parameter

    def __init__(self, loss, A, y=None, *, linear=None, sample_weight=None, mean=True):
        self._is_function = callable(loss) and not isinstance(loss, Loss | type)
        self.loss = loss if self._is_function else resolve_loss(loss, None, smooth=True)
        self.is_quadratic = isinstance(self.loss, SquaredError)
        y = self._check_truth(y)
        classes = isinstance(self.loss, MultinomialLogLoss)
        self._shape_of_scores = None
        n_outputs = 1
        if classes:
            n_outputs = int(y.max(initial=0)) + 1
        elif y is not None and y.ndim == 2:
            n_outputs = y.shape[1]
        self._map = LinearMap(A, n_outputs)
        n, self.size = self._map.A.shape[0], self._map.size
        if y is not None and (y.ndim not in (1, 2) or len(y) != n):
            raise ValueError(
                f"{self._truth} has shape {y.shape}, but A has {n} rows: one truth per row"
            )
        weight = check_sample_weight(sample_weight, n)
        if check_flag(mean, "mean"):
            weight = weight / weight.sum()
        self._row_weight = weight
        self.y = y if classes or y is None else np.ascontiguousarray(y.ravel())
        self._weight = weight if classes else np.repeat(weight, n_outputs)
        if classes:
            self._shape_of_scores = n, n_outputs
        self.linear = None
        if linear is not None:
            self.linear = check_array_of_numbers(linear, "linear")
            if self.linear.shape != (self.size,):
                raise ValueError(f"linear.shape == {self.linear.shape}, expected ({self.size},)")
            check_magnitude(self.linear, "linear")
        # Kernels know the second derivatives of our losses of one score.
        is_known = isinstance(self.loss, CompiledLoss) and not classes
        self._knows_lines = is_known and not self.is_quadratic and self.linear is None

    def _check_truth(self, y):
        if self._is_function:
            if y is not None:
                raise ValueError("y must be None where loss is a function of all scores")
            return None
        if y is None:
            raise ValueError(f"{self._truth} must be given for loss={self.loss!r}")
        y = check_array_of_numbers(y, self._truth)
        check_magnitude(y, self._truth)
        if isinstance(self.loss, MultinomialLogLoss):
            labels = y.astype(np.int64)
            if y.ndim != 1 or np.any(labels != y) or np.any(labels < 0):
                raise ValueError("y must be a vector of indices of classes, integers from 0 on")
            return labels
        if self.loss.task == "classification" and not np.all(np.abs(y) == 1.0):
            raise ValueError(f"y must be -1 or +1 for loss={self.loss!r}")
        self.loss._check_on(y.ravel())
        return y

    @property
    def lipschitz(self):
        """Bound on the Lipschitz constant of the gradient."""
        if self._is_function:
            return None
        return self.loss.smoothness * self._map.largest_square(self._row_weight)

    def image(self, point):
        image = self._map.image(point)
        if self.linear is None:
            return image
        product = self.linear @ point if isinstance(point, np.ndarray) else point.dot(self.linear)
        return np.append(image, product)

    def slopes(self, image):
        if self.linear is None:
            return self._losses(image)
        value, slopes = self._losses(image[:-1])
        return value + float(image[-1]), np.append(slopes, 1.0)

    def _losses(self, z):
        if self._is_function:
            value, slopes = self.loss(z)
            slopes = check_array_of_numbers(slopes, "slopes of loss", finite=None)
            if slopes.shape != z.shape:
                raise ValueError(f"loss returned slopes of shape {slopes.shape} for {z.shape}")
            return value, slopes
        if self.is_quadratic:
            residual = z - self.y
            slopes = self._weight * residual
            return 0.5 * float(slopes @ residual), slopes
        z = np.array(z) if self._shape_of_scores is None else z.reshape(self._shape_of_scores)
        slopes = np.empty_like(z)
        value = self.loss._total_and_slopes(self.y, z, self._weight, slopes)
        return float(value), slopes.ravel()

    def _step_along(self, image, ahead, slope, longest, guess):
        return self._newton_step(image, ahead, slope, longest, guess, np.zeros(1), False)

    def _newton_step(self, image, ahead, slope, longest, guess, shifts, fits):
        """The same with an intercept per output, if it is to be fitted; else in one column."""
        shape = (-1, len(shifts))
        weight = self._weight if len(shifts) == 1 else self._row_weight
        step, slope = score_lines.step_along(
            self.loss._formula(), self.y.reshape(shape), image.reshape(shape),
            ahead.reshape(shape), weight, shifts, fits, slope, longest, guess, SHARE,
        )  # fmt: skip
        return (step, slope) if step >= 0.0 else None

    def adjoint(self, slopes):
        if self.linear is None:
            return self._map.adjoint(slopes)
        return self._map.adjoint(slopes[:-1]) + slopes[-1] * self.linear

    def adjoint_in(self, slopes, block):
        if self.linear is None:
            return self._map.adjoint_in(slopes, block)
        return self._map.adjoint_in(slopes[:-1], block) + slopes[-1] * self.linear[block]

    def _matrix_adjoint(self, slopes, shape):
        if self.linear is None and self._map.has_few_columns:
            return self._map.matrix_adjoint(slopes, shape)
        return self.adjoint(slopes)

    def inner(self, image, others):
        if not self.is_quadratic:
            return super().inner(image, others)
        n = self._map.n_image
        return others[..., :n] @ (self._weight * image[:n])


class LeastSquares(Composite):
    """Half the squared residuals, ``f(x) = sum_i s_i (<a_i, x> - b_i)^2 / 2``.

    Parameters
    ----------
    A : {array-like, sparse matrix} of shape (n_samples, n_columns)
        Rows a_i.
    b : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Targets; with several columns x is a matrix with as many, row by row.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights s_i; None is one each.
    mean : bool, default=False
        Whether the sum is divided by that of the weights, as in models of scikit-learn.

    See Also
    --------
    Quadratic : By the matrix ``A'A``.

    Notes
    -----
    For the completion of a matrix, A has one row per observed entry, with a one in its place among
    all entries, row by row; such a sparse matrix costs what the observed entries cost.

    Examples
    --------
    >>> from sklearn_fw.optim import objectives
    >>> objectives.LeastSquares([[1.0, 0.0], [1.0, 2.0]], [1.0, 1.0])([1.0, 1.0])
    (2.0, array([2., 4.]))
    """

    _truth = "b"

    def __init__(self, A, b, *, sample_weight=None, mean=False):
        super().__init__(SquaredError(), A, b, sample_weight=sample_weight, mean=mean)


class Logistic(Composite):
    """Mean logistic loss ``f(x) = mean_i log(1 + exp(-y_i <a_i, x>))``.

    Parameters
    ----------
    A : {array-like, sparse matrix} of shape (n_samples, n_columns)
        Rows a_i.
    y : array-like of shape (n_samples,)
        Truth, -1 or +1.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights; None is one each.
    mean : bool, default=True
        Whether the sum is divided by that of the weights.

    See Also
    --------
    Composite : With other losses.

    Examples
    --------
    >>> from sklearn_fw.optim import objectives
    >>> value, gradient = objectives.Logistic([[2.0], [1.0]], [1.0, -1.0])([0.0])
    >>> round(value, 3), gradient
    (0.693, array([-0.25]))
    """

    def __init__(self, A, y, *, sample_weight=None, mean=True):
        super().__init__(LogLoss(), A, y, sample_weight=sample_weight, mean=mean)
