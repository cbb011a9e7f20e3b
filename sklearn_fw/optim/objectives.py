"""Smooth functions that provide the image of a point, a linear function of it such as ``A @ x``.

Methods of `sklearn_fw.optim` that minimize take any callable ``x -> (value, gradient)``. With an
image they move it with every step by that of one atom, and search along a line without a product
with the matrix.
"""

import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from .._core import check
from .._kernels import lazy
from ..losses import Loss, MultinomialLogLoss, SquaredError, resolve_loss
from .domains._base import RankOneAtom, is_ours

__all__ = ["Composite", "LeastSquares", "Objective", "Quadratic"]


class Objective(ABC):
    """Base class of smooth functions of a linear image of x.

    The function is ``f(x) = h(M x)``, and the image ``M x`` is what methods keep. A subclass sets
    ``size`` and writes the three methods below; a quadratic function sets ``is_quadratic``, and may
    write `inner`, which else takes two calls of `slopes`. All arrays are vectors.

    Attributes
    ----------
    size : int
        Length of x.
    is_quadratic : bool
        Whether the second derivative is the same everywhere.
    lipschitz : float or None
        Bound on the Lipschitz constant of the gradient in the Euclidean norm, where it is cheap.

    Examples
    --------
    The entropy of Poisson counts with mean ``A @ x + 1``:

    >>> import numpy as np
    >>> from sklearn_fw.optim import domains, minimize_frank_wolfe, objectives
    >>> class Poisson(objectives.Objective):
    ...     def __init__(self, A, counts):
    ...         self.A, self.counts, self.size = A, counts, A.shape[1]
    ...     def image(self, point):
    ...         x = point if isinstance(point, np.ndarray) else point.to_array()
    ...         return self.A @ x
    ...     def slopes(self, image):
    ...         mean = image + 1.0
    ...         return float(np.sum(mean - self.counts * np.log(mean))), 1.0 - self.counts / mean
    ...     def adjoint(self, slopes):
    ...         return self.A.T @ slopes
    >>> objective = Poisson(np.eye(3), np.array([2.0, 1.0, 4.0]))
    >>> result = minimize_frank_wolfe(objective, domains.Simplex(3, radius=3.0), tol=1e-6)
    >>> result.x.round(2)
    array([0.67, 0.  , 2.33])
    """

    is_quadratic = False
    lipschitz = None
    _knows_lines = False

    @abstractmethod
    def image(self, point):
        """The image ``M x`` of a point, of shape (n_image,).

        Parameters
        ----------
        point : ndarray of shape (size,) or Atom
            The point; an atom is a product with few columns where it has few entries.
        """

    @abstractmethod
    def slopes(self, image):
        """Value and derivatives in the image: a float, and an array of shape (n_image,).

        Parameters
        ----------
        image : ndarray of shape (n_image,)
            Image of the point.
        """

    @abstractmethod
    def adjoint(self, slopes):
        """The gradient ``M' slopes`` in x, a new array of shape (size,).

        Parameters
        ----------
        slopes : ndarray of shape (n_image,)
            Derivatives in the image.
        """

    def adjoint_in(self, slopes, block):
        """A new array ``adjoint(slopes)[block]``: by default cut out of all of it.

        Parameters
        ----------
        slopes : ndarray of shape (n_image,)
            Derivatives in the image.
        block : slice
            Which entries.
        """
        return self.adjoint(slopes)[block].copy()

    def inner(self, image, others):
        """Compute the second derivatives ``<x, H y>`` of x with each y of the others.

        Parameters
        ----------
        image : ndarray of shape (n_image,)
            One image.
        others : ndarray of shape (n_image,) or (k, n_image)
            Others.
        """
        if not self.is_quadratic:
            raise NotImplementedError(f"{type(self).__name__} is not known to be quadratic")
        return others @ self._change(image)

    def _change(self, image):
        """The slopes of a quadratic function without those at zero."""
        return self.slopes(image)[1] - self.slopes(np.zeros(len(image)))[1]

    def curvature(self, direction):
        """Second derivative of a quadratic function along a direction, a float.

        Parameters
        ----------
        direction : ndarray of shape (size,)
            The direction.
        """
        image = self.image(self._vector(direction, "direction"))
        return float(self.inner(image, image))

    def _matrix_adjoint(self, slopes, shape):
        """The gradient in x for oracles that take matrices, sparse where it has few entries."""
        return self.adjoint(slopes)

    def __call__(self, x):
        """Value and gradient at x: a float, and an array of shape (size,)."""
        value, slopes = self.slopes(self.image(self._vector(x, "x")))
        return value, self.adjoint(slopes)

    def _vector(self, x, name):
        return np.ascontiguousarray(check.shaped(x, name, self.size))

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size})"


def is_quadratic(objective):
    return callable(getattr(objective, "curvature", None)) and getattr(
        objective, "is_quadratic", True
    )


def knows_lines(objective):
    """Whether the best step along a direction costs few evaluations."""
    return getattr(objective, "_knows_lines", False) and is_ours(objective)


score_lines = lazy("frank_wolfe.score_lines")

SHARE = 1e-3  # of the first slope, at which a step is the best one


class Composite(Objective):
    """Sum of losses of linear scores, ``sum_i s_i loss(y_i, <a_i, x>) + <linear, x>``.

    With targets in several columns, x is a matrix with as many columns, row by row, and the scores
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
        n_outputs = 1
        if classes:
            n_outputs = int(y.max(initial=0)) + 1
        elif y is not None and y.ndim == 2:
            n_outputs = y.shape[1]
        self._map = LinearMap(A, n_outputs)
        n, self.size = self._map.A.shape[0], self._map.size
        if y is not None and (y.ndim not in (1, 2) or len(y) != n):
            raise ValueError(f"{self._truth} has shape {y.shape}, but A has {n} rows")
        weight = check.sample_weight(sample_weight, n)
        if check.flag(mean, "mean"):
            weight = weight / weight.sum()
        self._row_weight = weight
        self.y = y if classes or y is None else np.ascontiguousarray(y.ravel())
        self._weight = weight if classes else np.repeat(weight, n_outputs)
        self._shape_of_scores = (n, n_outputs) if classes else (-1,)
        self.linear = None if linear is None else self._vector(linear, "linear")
        # Kernels know the second derivatives of our losses of one score.
        is_known = getattr(self.loss, "_is_compiled", False) and not classes
        self._knows_lines = is_known and not self.is_quadratic and self.linear is None

    def _check_truth(self, y):
        if self._is_function:
            if y is not None:
                raise ValueError("y must be None where loss is a function of all scores")
            return None
        if y is None:
            raise ValueError(f"{self._truth} must be given for loss={self.loss!r}")
        y = check.numbers(y, self._truth)
        self.loss._check_truth(y, self._truth)
        if isinstance(self.loss, MultinomialLogLoss):
            return y.astype(np.int64)
        self.loss._check_on(y.ravel())
        return y

    @property
    def lipschitz(self):
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
            return value, check.vector(slopes, "slopes of loss", z.size)
        if self.is_quadratic:
            residual = z - self.y
            slopes = self._weight * residual
            return 0.5 * float(slopes @ residual), slopes
        z = np.array(z).reshape(self._shape_of_scores)  # which the loss of a user may change
        slopes = np.empty_like(z)
        value = self.loss._total_and_slopes(self.y, z, self._weight, slopes)
        return float(value), slopes.ravel()

    def _step_along(self, image, ahead, slope, longest, guess):
        """Step of least value along an image and slope there, or None: for `knows_lines`."""
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

    For the completion of a matrix, A has one row per observed entry, with a one in its place among
    all entries, row by row; such a sparse matrix costs what the observed entries cost.

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

    Examples
    --------
    >>> from sklearn_fw.optim import objectives
    >>> objectives.LeastSquares([[1.0, 0.0], [1.0, 2.0]], [1.0, 1.0])([1.0, 1.0])
    (2.0, array([2., 4.]))
    """

    _truth = "b"

    def __init__(self, A, b, *, sample_weight=None, mean=False):
        super().__init__(SquaredError(), A, b, sample_weight=sample_weight, mean=mean)


FEW = 0.2  # share of nonzero entries up to which columns are summed
LONG, SPARSE = 1000, 0.02  # length and share of nonzero entries where points count as few columns
EXACT = 1000  # smaller side of a matrix up to which its largest singular value is computed


class LinearMap:
    """``x -> A x``, or ``A X`` for points that are matrices with several columns, row by row."""

    def __init__(self, A, n_outputs=1, name="A"):
        A = check.table(A, input_name=name, accept_sparse=("csr", "csc"), dtype=np.float64)
        check.magnitude(A.data if sp.issparse(A) else A, name)
        self.A, self.n_outputs, self._is_alone = A, n_outputs, n_outputs == 1
        self._layout = self._places = None  # of the entries of points that are matrices
        self.size, self.n_image = A.shape[1] * n_outputs, A.shape[0] * n_outputs

    def image(self, point):
        if isinstance(point, np.ndarray):
            if self._is_alone:
                if point.size > LONG and not sp.issparse(self.A):
                    used = np.flatnonzero(point)
                    if len(used) <= SPARSE * point.size:
                        return self.A[:, used] @ point[used]
                return self.A @ point
            return (self.A @ point.reshape(-1, self.n_outputs)).ravel()
        if isinstance(point, RankOneAtom):
            return self._image_of_product(point)
        entries = point.entries()
        if entries is None or len(entries[0]) > FEW * self.size:
            return self.image(point.to_array())
        return self._image_of_few(*entries)

    def adjoint(self, slopes):
        if self._is_alone:
            return self.A.T @ slopes
        return (self.A.T @ slopes.reshape(-1, self.n_outputs)).ravel()

    def adjoint_in(self, slopes, block):
        if self._is_alone:
            return self._columns[:, block].T @ slopes
        return self.adjoint(slopes)[block].copy()

    @cached_property
    def has_few_columns(self):
        """Whether most columns are zero, as of the observed entries of a matrix."""
        return self._is_alone and sp.issparse(self.A) and self.A.nnz <= FEW * self.size

    def matrix_adjoint(self, slopes, shape):
        used, transposed = self._used_columns
        if self._layout is None or self._layout[0] != shape:
            starts = np.searchsorted(used, np.arange(shape[0] + 1) * shape[1])
            self._layout = shape, used % shape[1], starts
        return sp.csr_matrix((transposed @ slopes, *self._layout[1:]), shape=shape)

    @cached_property
    def _used_columns(self):
        """The columns that are not zero, and the transposed matrix of these."""
        used = np.unique(self.A.indices if self.A.format == "csr" else self._entries.indices)
        return used, self.A[:, used].T.tocsr()

    def _image_of_few(self, places, values):
        if self._is_alone and len(places) > 1:
            return self._columns[:, places] @ values
        image = np.zeros((self.A.shape[0], self.n_outputs))
        for place, value in zip(places.tolist(), values.tolist()):
            column, output = divmod(place, self.n_outputs)
            image[:, output] += value * self.column(column)
        return image.ravel()

    def _image_of_product(self, atom):
        if not self._is_alone and atom.right.size == self.n_outputs:
            return np.multiply.outer(self.A @ atom.left, atom.right).ravel()
        if not (self._is_alone and sp.issparse(self.A)):
            return self.image(atom.to_array())
        if self._places is None or self._places[0] != atom.right.size:
            rows_of_A = np.repeat(np.arange(self.A.shape[0]), np.diff(self._entries.indptr))
            places = np.divmod(self._entries.indices, atom.right.size)
            self._places = atom.right.size, rows_of_A, *places
        _, rows_of_A, rows, columns = self._places
        values = atom.left[rows] * atom.right[columns] * self._entries.data
        return np.bincount(rows_of_A, weights=values, minlength=self.n_image)

    def column(self, j):
        if not sp.issparse(self.A):
            return self.A[:, j]
        columns, span = self._columns, slice(*self._columns.indptr[j : j + 2])
        return np.bincount(columns.indices[span], columns.data[span], self.A.shape[0])

    @cached_property
    def _columns(self):
        return self.A.tocsc() if sp.issparse(self.A) else self.A

    @cached_property
    def _entries(self):
        return self.A.tocsr()

    def largest_square(self, weight):
        """The largest squared singular value with weighted rows, or a bound on it."""
        A = sp.diags_array(np.sqrt(weight)) @ self.A
        if min(A.shape) <= EXACT:
            gram = A @ A.T if A.shape[0] < A.shape[1] else A.T @ A
            gram = gram.toarray() if sp.issparse(gram) else gram
            # Not below the true one, since steps rely on it.
            return float(np.linalg.eigvalsh(gram)[-1]) * (1.0 + 1e-10)
        size = abs(A)
        return float(min((size * size).sum(), size.sum(0).max() * size.sum(1).max()))


SYMMETRIC = 1e-10  # relative difference of a matrix from its transpose that is rounding


class Quadratic(Objective):
    """The quadratic function ``f(x) = x'Qx / 2 + <b, x>``.

    Parameters
    ----------
    Q : {array-like, sparse matrix} of shape (size, size)
        Symmetric matrix. For a function that is not convex set ``convex=False`` where it is
        minimized.
    b : array-like of shape (size,) or None, default=None
        Linear part; None is zero.

    Attributes
    ----------
    lipschitz : float
        Largest absolute eigenvalue of Q, or a bound on it for more than 1,000 variables.

    Examples
    --------
    >>> from sklearn_fw.optim import objectives
    >>> objective = objectives.Quadratic([[2.0, 0.0], [0.0, 4.0]], b=[-1.0, 0.0])
    >>> objective([1.0, 1.0])
    (2.0, array([1., 4.]))
    """

    is_quadratic = True

    def __init__(self, Q, b=None):
        self._map = LinearMap(Q, name="Q")
        self.Q = Q = self._map.A
        if Q.shape[0] != Q.shape[1]:
            raise ValueError(f"Q must be a square matrix, got shape {Q.shape}")
        difference = abs(Q - Q.T).max() if Q.shape[0] else 0.0
        if difference > SYMMETRIC * abs(Q).max():
            raise ValueError(
                f"Q must be symmetric, but differs from its transpose by {difference:.3g}: "
                f"take (Q + Q.T) / 2, which has the same values"
            )
        self.size = Q.shape[0]
        self.b = np.zeros(self.size) if b is None else self._vector(b, "b")

    @property
    def lipschitz(self):
        return math.sqrt(self._map.largest_square(np.ones(self.size)))

    def image(self, point):
        # The product with Q and the point, one after the other
        x = point if isinstance(point, np.ndarray) else point.to_array()
        return np.concatenate([self._map.image(point), x])

    def slopes(self, image):
        product, x = image[: self.size], image[self.size :]
        slopes = np.zeros(2 * self.size)  # those of the point are the whole gradient
        np.add(product, self.b, out=slopes[self.size :])
        return float(0.5 * (product @ x) + self.b @ x), slopes

    def adjoint(self, slopes):
        return slopes[self.size :].copy()

    def inner(self, image, others):
        return others[..., self.size :] @ image[: self.size]
