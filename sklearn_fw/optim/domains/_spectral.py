"""Sets of matrices that are known by their singular values or eigenvalues."""

import math
from abc import abstractmethod
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.lapack import dstev

from ..._core import check
from ...projections import project_l1_ball, project_simplex
from ._base import Projectable, RankOneAtom, SparseAtom, check_shape, check_start

CLOSE = 1e-2  # likely error of an answer, relative, at which it ends before its last product
MODERATE = 1e75  # numbers of which products of four can be summed


class _Spectral(Projectable):
    """What the sets of matrices have in common: points are their rows one after the other."""

    is_polytope = False
    can_refine = True

    def __init__(self, shape, radius, max_products):
        self.shape = shape
        self.size = shape[0] * shape[1]
        self.radius = check.positive(radius, "radius")
        self.max_products = check.integer(max_products, "max_products", 3)

    @cached_property
    def _noise(self):
        """The same in every call, so that answers are."""
        return np.random.default_rng(0).standard_normal(min(self.shape))

    def _matrix(self, gradient):
        """The gradient as a matrix of moderate numbers, and what these are to be multiplied by."""
        if sp.issparse(gradient):
            matrix = check.sparse(gradient, "gradient")
            if matrix.shape != self.shape:
                raise ValueError(f"gradient.shape == {matrix.shape}, expected {self.shape}")
            if matrix.format not in ("csr", "csc"):
                matrix = matrix.tocsr()
            values = check.array(matrix.data, "gradient")
        else:
            values = self._vector(gradient, "gradient")
            matrix = values.reshape(self.shape)
        largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
        if largest == 0.0 or 1.0 / MODERATE <= largest <= MODERATE:
            return matrix, 1.0, largest
        scale = 2.0 ** min(math.frexp(largest)[1], 1000)
        return matrix * (1.0 / scale), scale, largest

    def _guess(self, start, side):
        if not isinstance(start, RankOneAtom) or start.shape != self.shape:
            return None
        return getattr(start, "near", (start.left, start.right)[side])

    def lmo(self, gradient, start=None, accuracy=None):
        """The top singular vectors or lowest eigenvector: an atom with ``value`` and ``bound``.

        Parameters
        ----------
        gradient : array-like of shape (size,), or sparse matrix of this shape
            Direction.
        start : Atom, default=None
            An earlier answer, whose vectors may be close.
        accuracy : float, default=None
            How far the bound may be below the value; takes as many products as this needs. None
            accepts what ``max_products`` give.
        """
        matrix, scale, largest = self._matrix(gradient)
        check_start(start)
        if largest == 0.0:
            return self._at_zero()
        target = None  # how close the bound shall come, in units of the scaled matrix
        if accuracy is not None:
            target = check.not_negative(accuracy, "accuracy") / (self.radius * scale)
        return self._lowest(matrix, self.radius * scale, start, target)

    def _at_zero(self):
        left, right = np.zeros(self.shape[0]), np.zeros(self.shape[1])
        left[0], right[0] = self.radius, 1.0
        return RankOneAtom(left, right)

    @abstractmethod
    def _lowest(self, matrix, unit, start, target):
        """The vertex that is lowest for a scaled gradient; ``unit`` times its products is known."""

    def _told(self, atom, found, value, bound):
        atom.value, atom.bound = float(value), float(min(value, bound))
        atom.near = found.leading(NEAR)
        return atom

    def __repr__(self):
        return f"{type(self).__name__}(shape={self.shape})"


def is_matrix(domain):
    return isinstance(domain, _Spectral) and type(domain).lmo is _Spectral.lmo


class NuclearNormBall(_Spectral):
    """Matrices of bounded nuclear norm (sum of singular values), for low rank.

    Points are the rows of a matrix one after the other, ``x.reshape(shape)``; atoms are outer
    products of two vectors, and are never made dense. The gradient may be a SciPy sparse matrix of
    this shape instead of a vector, as in matrix completion: then each product costs its entries.

    Parameters
    ----------
    shape : (int, int)
        Numbers of rows and columns.
    radius : float, default=1.0
        Largest sum of singular values, positive.
    max_products : int, default=20
        Largest number of products with the gradient in one answer without ``accuracy``, at least 3.

    Attributes
    ----------
    diameter : float
        Twice the radius, in the Frobenius norm.

    Notes
    -----
    The oracle is Lanczos' method for the top pair of singular vectors, two products with the
    gradient a step, from the last answer where it is given. An atom has a ``value`` and a
    ``bound``, which fails for at most one of 1e9 draws of the random start [1]_. The bound is some
    per cent off after few steps; ``lmo(gradient, accuracy=...)`` makes more of them, in at most 300
    dimensions. The answer to zeros is the matrix with ``radius`` at its first place.

    `project` needs all singular values, n_rows * n_columns * min(shape), and so does `contains`
    where the Frobenius norm does not decide and the matrix is not of rank one.

    References
    ----------
    .. [1] M. E. Hochstenbach, "Probabilistic upper bounds for the matrix two-norm", Journal of
       Scientific Computing 57, 2013.
    .. [2] M. Jaggi, M. Sulovsky, "A simple algorithm for nuclear norm regularized problems", ICML
       2010.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.optim import domains
    >>> ball = domains.NuclearNormBall((2, 3), radius=2.0)
    >>> ball.lmo([0.0, 0.0, 3.0, -1.0, 0.0, 0.0]).to_array().reshape(2, 3).round(9) + 0.0
    array([[ 0.,  0., -2.],
           [ 0.,  0.,  0.]])
    """

    def __init__(self, shape, radius=1.0, max_products=20):
        super().__init__(check_shape(shape), radius, max_products)

    @property
    def diameter(self):
        return 2.0 * self.radius

    def _lowest(self, matrix, unit, start, target):
        side = int(self.shape[1] <= self.shape[0])
        tall = matrix if side == 1 else matrix.T
        flat = tall.T

        def done(found):
            if target is not None:
                return math.sqrt(found.bound()) - math.sqrt(max(found.value, 0.0)) <= target
            ended = 2 * (found.n_products + 1) >= self.max_products  # and one for the other side
            return ended or found.bound(LIKELY) <= (1.0 + CLOSE) ** 2 * found.value

        guess = self._guess(start, side)
        found = largest_eigenpair(lambda v: flat @ (tall @ v), self._noise, guess, done)
        vector = found.vector
        image = tall @ vector
        top = float(np.linalg.norm(image))
        image *= -self.radius / top
        left, right = (image, vector) if side == 1 else (vector, image)
        bound = -unit * math.sqrt(found.bound())
        return self._told(RankOneAtom(left, right), found, -unit * top, bound)

    def _contains(self, x, tol):
        matrix, limit, fewer = x.reshape(self.shape), self.radius + tol, min(self.shape)
        length = math.sqrt(float(x @ x))
        if length > limit:
            return False
        if math.sqrt(fewer) * length <= limit:
            return True
        # A start is often a vertex, of rank one: what a product of two vectors leaves is then zero.
        right = matrix[np.argmax(np.einsum("ij,ij->i", matrix, matrix))]
        right = right / np.linalg.norm(right)
        left = matrix @ right
        rest = np.linalg.norm(matrix - np.multiply.outer(left, right))
        if np.linalg.norm(left) + math.sqrt(fewer) * rest <= limit:
            return True
        values = np.linalg.svd(matrix, compute_uv=False)
        return values.sum() <= limit

    def project(self, x):
        matrix = self._vector(x, "x").reshape(self.shape)
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        return (left * project_l1_ball(values, self.radius) @ right).ravel()


class Spectrahedron(_Spectral):
    """Positive semidefinite matrices of a given trace, or of at most this one.

    Points are the rows of a symmetric matrix one after the other; atoms are outer products of a
    vector with itself. Only the symmetric part of a gradient, maybe a sparse matrix, counts.

    Parameters
    ----------
    n_rows : int
        Number of rows and of columns.
    radius : float, default=1.0
        The trace, positive.
    fixed_trace : bool, default=True
        False: the trace may be smaller.
    max_products : int, default=20
        Largest number of products with the gradient in one answer without ``accuracy``, at least 3.

    Attributes
    ----------
    shape : (int, int)
        ``(n_rows, n_rows)``.
    diameter : float
        ``radius * sqrt(2)`` in the Frobenius norm, less for one row.

    Notes
    -----
    The oracle is Lanczos' method for the lowest eigenvalue, as in `NuclearNormBall`, with one
    product a step. To zeros it returns the matrix with ``radius`` at its first place; with
    ``fixed_trace=False`` zeros, as to any gradient without negative eigenvalues. `contains` and
    `project` need all eigenvalues, n_rows^3.

    References
    ----------
    .. [1] E. Hazan, "Sparse approximate solutions to semidefinite programs", LATIN 2008.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> domains.Spectrahedron(2).lmo([0.0, 1.0, 1.0, 0.0]).to_array().reshape(2, 2).round(9)
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """

    def __init__(self, n_rows, radius=1.0, fixed_trace=True, max_products=20):
        self.n_rows = check.integer(n_rows, "n_rows", 1)
        super().__init__((self.n_rows, self.n_rows), radius, max_products)
        self.fixed_trace = check.flag(fixed_trace, "fixed_trace")

    @property
    def diameter(self):
        if self.n_rows > 1:
            return self.radius * math.sqrt(2.0)
        return 0.0 if self.fixed_trace else self.radius

    def _at_zero(self):
        return super()._at_zero() if self.fixed_trace else SparseAtom(self.size, [])

    def _lowest(self, matrix, unit, start, target):
        other, size = matrix.T, [0.0]

        def product(v):
            ahead = -0.5 * (matrix @ v + other @ v)
            size[0] = max(size[0], float(np.linalg.norm(ahead)))  # at most that of the matrix
            return ahead

        def done(found):
            if target is not None:
                return self._above(found.bound()) - self._above(found.value) <= target
            ended = found.n_products >= self.max_products
            return ended or found.bound(LIKELY) - found.value <= CLOSE * size[0]

        found = largest_eigenpair(product, self._noise, self._guess(start, 0), done)
        bound = -unit * self._above(found.bound())
        if not self.fixed_trace and found.value <= 0.0:
            return self._told(SparseAtom(self.size, []), found, 0.0, bound)
        vector = found.vector
        atom = RankOneAtom(self.radius * vector, vector)
        return self._told(atom, found, -unit * found.value, bound)

    def _above(self, value):
        """What an eigenvalue brings: matrices of zeros are allowed where the trace is free."""
        return value if self.fixed_trace else max(value, 0.0)

    def _contains(self, x, tol):
        matrix = x.reshape(self.shape)
        trace, half = float(np.trace(matrix)), 0.5 * matrix + 0.5 * matrix.T
        if np.abs(matrix - half).max() > tol or trace > self.radius + tol:
            return False
        if self.fixed_trace and trace < self.radius - tol:
            return False
        return np.linalg.eigvalsh(half)[0] >= -tol

    def project(self, x):
        matrix = self._vector(x, "x").reshape(self.shape)
        values, vectors = np.linalg.eigh(0.5 * matrix + 0.5 * matrix.T)
        raised = np.maximum(values, 0.0)
        if self.fixed_trace or raised.sum() > self.radius:
            raised = project_simplex(values, self.radius)
        return (vectors * raised @ vectors.T).ravel()


MOST_STEPS = 300  # dimension of the space that is searched, which is kept as a dense array
EVERY_STEP = 12  # steps up to which each is looked at; later ones at growing intervals
RISK = 1e-9  # probability that a bound is wrong, over the random part of the start
LIKELY = 0.1  # the same of a likely bound
WARM = 3.0  # length of the guess within the start, where the random part has length one
NEAR = 3  # leading vectors whose sum is the next guess, for the leading one may change
ROUNDING = 4e-15  # of the largest eigenvalue, for each step


def largest_eigenpair(product, noise, guess, done):
    """Lanczos' method with full orthogonalization, from a guess and some noise.

    The start z has a component of at least ``RISK`` along the eigenvector of the largest eigenvalue
    l, up to that probability, whatever the guess. Step k ends with a unit vector ``p(A) z / ||z||``
    where the roots of the polynomial p are the Ritz values and its first factor is one over the
    product of the off-diagonal entries, and so ``|p(l)| <= ||z|| / RISK``; above its largest root p
    grows without end, which bounds l, as in the paper that `NuclearNormBall` names.
    """
    size, start = len(noise), noise
    if guess is not None:
        weight = WARM * np.linalg.norm(noise) / max(np.linalg.norm(guess), 1e-300)
        start = noise + weight * guess
    most, basis, look = min(size, MOST_STEPS), np.empty((0, size)), 1
    n, scale, found = 0, 0.0, Found(0, start)
    while True:
        if n == len(basis):
            more = min(most, max(2 * n, EVERY_STEP)) - n
            basis = np.concatenate([basis, np.empty((more, size))])
        basis[n] = found.last
        n += 1
        ahead = product(found.last)
        found.diagonal.append(float(ahead @ found.last))
        # First without the two parts that are more than rounding.
        ahead = _apart(_apart(ahead, basis[max(n - 2, 0) : n]), basis[:n])
        found.beside.append(float(np.linalg.norm(ahead)))
        scale = max(scale, abs(found.diagonal[-1]))
        floor, ended = n * scale * ROUNDING, n == most
        is_closed = found.beside[-1] <= floor
        if is_closed or ended or n >= look:
            look = n + 1 if n < EVERY_STEP else math.ceil(1.1 * n)
            found.judge(basis[found.first : n], n, floor, n == size)
            surely = found.value + 3.0 * floor
            if ended or done(found) or (is_closed and found.bound() <= surely):
                return found
            if is_closed:
                # The rest is a problem of its own, which another draw begins.
                fresh = np.random.default_rng(n).standard_normal(size)
                found = Found(n, _apart(_apart(fresh, basis[:n]), basis[:n]), found)
                continue
        found.last = ahead / found.beside[-1]


def _apart(vector, basis):
    """Without its parts along orthonormal rows, but for what a second time is for: rounding."""
    return vector - (basis @ vector) @ basis


class Found:
    """Steps from one start, until these have seen all that the operator makes of it.

    After ``n_products`` steps the largest eigenvalue is at least ``value``, by earlier starts, too.
    ``vector`` is its eigenvector, and ``leading(k)`` the sum of those of the k largest ones.
    """

    def __init__(self, first, start, before=None):
        self.first, self.length, self.before = first, float(np.linalg.norm(start)), before
        self.last = start / self.length
        self.diagonal, self.beside = [], []

    def judge(self, basis, n, floor, is_all):
        """Find what is known after n steps, those of earlier starts included."""
        self._ritz = dstev(self.diagonal, self.beside[:-1] or [0.0], compute_v=0)[0]
        self.n_products, self.value, self._floor = n, float(self._ritz[-1]), floor
        self._is_all, self._basis, self.leading = is_all, basis, self._leading
        if self.before is not None and self.before.value > self.value:
            self.value, self.leading = self.before.value, self.before.leading

    def _leading(self, k):
        places = max(len(self._ritz) - k, 0), len(self._ritz) - 1
        options = {"select": "i", "select_range": places, "lapack_driver": "stemr"}
        _, vectors = eigh_tridiagonal(self.diagonal, self.beside[:-1], **options)
        return vectors.sum(axis=1) @ self._basis

    @property
    def vector(self):
        vector = self.leading(1)
        vector = vector / np.linalg.norm(vector)
        return -vector if vector[np.argmax(np.abs(vector))] < 0.0 else vector

    def bound(self, risk=RISK):
        """What the largest eigenvalue is not above, but with a small probability."""
        least, values, floor = self.value + self._floor, self._ritz, max(self._floor, 1e-280)
        if self._is_all:
            return least
        below = values[-1] - values
        height = math.log(self.length / (risk * math.sqrt(0.5 * math.pi)))
        height += float(np.log(np.maximum(self.beside, floor)).sum())
        # The polynomial is at least this power of the excess, and its logarithm is convex in that
        # of the excess: Newton's method stays above the root.
        lowest, log_excess = math.log(floor), height / len(values)
        for _ in range(60):
            if log_excess <= lowest:
                break
            excess = math.exp(min(log_excess, 700.0))
            reached = below + excess
            move = (float(np.log(reached).sum()) - height) / float((excess / reached).sum())
            if move <= 1e-3:
                break
            log_excess -= move
        excess = math.exp(min(max(log_excess, lowest), 700.0))
        return max(least, float(values[-1] + excess + floor))
