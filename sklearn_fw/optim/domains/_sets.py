"""Simplex, balls, boxes, lists of points, and products of domains."""

import math

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls

from ..._core import check
from ..._core.packed import slices_of
from ...projections import project_box, project_l1_ball, project_l2_ball, project_simplex
from . import _base as base
from ._base import Described, Projectable, UnitAtom
from ._spectral import NuclearNormBall, Spectrahedron


class _OfRadius(Described):
    def __init__(self, size, radius=1.0):
        self.size = check.integer(size, "size", 1)
        self.radius = check.positive(radius, "radius")

    @property
    def diameter(self):
        return 2.0 * self.radius


class Simplex(_OfRadius, Projectable):
    """Simplex ``x >= 0, sum(x) = radius``.

    The mixed strategies of a player, or weights of a mixture. Of equal entries the oracle takes the
    first.

    Parameters
    ----------
    size : int
        Length of the points.
    radius : float, default=1.0
        Their sum, positive.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> domains.Simplex(3).lmo([0.5, -1.0, 0.0]).to_array()
    array([0., 1., 0.])
    """

    @property
    def diameter(self):
        return self.radius * math.sqrt(2.0) if self.size > 1 else 0.0

    def lmo(self, gradient):
        lowest = int(self._vector(gradient, "gradient").argmin())
        return UnitAtom(self.size, lowest, self.radius)

    def _contains(self, x, tol):
        return x.min() >= -tol and abs(x.sum() - self.radius) <= tol

    def project(self, x):
        return project_simplex(self._vector(x, "x"), self.radius)


class L1Ball(_OfRadius, Projectable):
    """Ball of the l1 norm, ``||x||_1 <= radius``.

    Of equally large entries the oracle takes the first; it moves against it, or up if it is zero.

    Parameters
    ----------
    size : int
        Length of the points.
    radius : float, default=1.0
        Radius, positive.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> domains.L1Ball(3, radius=2.0).lmo([0.5, 3.0, -1.0]).to_array()
    array([ 0., -2.,  0.])
    """

    def lmo(self, gradient):
        gradient = self._vector(gradient, "gradient")
        largest = int(np.abs(gradient).argmax())
        height = -self.radius if gradient[largest] > 0.0 else self.radius
        return UnitAtom(self.size, largest, height)

    def _contains(self, x, tol):
        return np.abs(x).sum() <= self.radius + tol

    def project(self, x):
        return project_l1_ball(self._vector(x, "x"), self.radius)


class LpBall(_OfRadius):
    """Ball of an l_p norm with p between 1 and infinity, ``||x||_p <= radius``.

    To a gradient of zeros the oracle answers with the point on the first axis.

    Parameters
    ----------
    size : int
        Length of the points.
    p : float
        Exponent of the norm, above 1 and finite. `L1Ball` is the one of 1, and a `Box` of equal
        bounds that of infinity.
    radius : float, default=1.0
        Radius, positive.

    Attributes
    ----------
    diameter : float
        Twice the radius for p up to 2, and above ``2 radius size^(1/2 - 1/p)``.
    strong_convexity : float
        ``(p - 1) size^(1/2 - 1/p) / radius`` for p up to 2 [1]_, and zero above.

    References
    ----------
    .. [1] D. Garber, E. Hazan, "Faster rates for the Frank-Wolfe method over strongly-convex sets",
       ICML 2015: Lemma 3.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> ball = domains.LpBall(2, p=3.0, radius=2.0)
    >>> ball.lmo([1.0, -1.0]).to_array().round(4)
    array([-1.5874,  1.5874])
    """

    is_polytope = False

    def __init__(self, size, p, radius=1.0):
        super().__init__(size, radius)
        self.p = check.number(p, "p")
        if self.p <= 1.0:
            raise ValueError(
                f"p must be above 1, got {p}: L1Ball is the ball of p = 1, and there is none below"
            )

    @property
    def diameter(self):
        return 2.0 * self.radius * self.size ** max(0.5 - 1.0 / self.p, 0.0)

    @property
    def strong_convexity(self):
        if self.p > 2.0:
            return 0.0
        return (self.p - 1.0) * self.size ** (0.5 - 1.0 / self.p) / self.radius

    def lmo(self, gradient):
        gradient = self._vector(gradient, "gradient")
        largest = np.abs(gradient).max()
        if largest == 0.0:
            return UnitAtom(self.size, 0, self.radius)
        # With 1/p + 1/q = 1, entries are as those of the gradient to the power of q - 1.
        shares = (np.abs(gradient) / largest) ** (1.0 / (self.p - 1.0))
        length = np.linalg.norm(shares, self.p)
        return base.DenseAtom(np.copysign(shares, -gradient) * (self.radius / length))

    def _contains(self, x, tol):
        # Powers of larger numbers than these can overflow, and of smaller ones underflow.
        return np.linalg.norm(x / (self.radius + tol), self.p) <= 1.0


class L2Ball(LpBall, Projectable):
    """Ball of the Euclidean norm, ``||x||_2 <= radius``.

    To a gradient of zeros the oracle answers with the point on the first axis.

    Parameters
    ----------
    size : int
        Length of the points.
    radius : float, default=1.0
        Radius, positive.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> domains.L2Ball(2, radius=5.0).lmo([3.0, -4.0]).to_array()
    array([-3.,  4.])
    """

    def __init__(self, size, radius=1.0):
        super().__init__(size, 2.0, radius)

    def project(self, x):
        return project_l2_ball(self._vector(x, "x"), self.radius)


class Box(Projectable):
    """Box ``lower <= x <= upper``.

    The oracle takes the lower bound where the gradient is zero.

    Parameters
    ----------
    lower, upper : float or array-like of shape (size,)
        Bounds of the entries, finite.
    size : int or None, default=None
        Length of the points; needed when both bounds are numbers.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> domains.Box(-1.0, 2.0, size=3).lmo([0.5, -3.0, 0.0]).to_array()
    array([-1.,  2., -1.])
    """

    def __init__(self, lower, upper, size=None):
        lower = check.array(lower, "lower", finite=None)
        upper = check.array(upper, "upper", finite=None)
        if size is None and lower.ndim == upper.ndim == 0:
            raise ValueError("size must be given when lower and upper are numbers")
        size = max(lower.size, upper.size) if size is None else check.integer(size, "size", 1)
        if not size or {lower.shape, upper.shape} - {(), (size,)}:
            shapes = f"{lower.shape} and {upper.shape}"
            raise ValueError(f"lower and upper must be numbers or have length size, got {shapes}")
        if not (np.all(np.isfinite(lower)) and np.all(np.isfinite(upper))):
            raise ValueError("lower and upper must be finite, else the box is not bounded")
        if np.any(lower > upper):
            raise ValueError("lower must not be above upper anywhere, else the box is empty")
        self.lower, self.upper, self.size = np.full(size, lower), np.full(size, upper), size

    @property
    def diameter(self):
        return float(np.linalg.norm(self.upper - self.lower))

    def lmo(self, gradient):
        falls = self._vector(gradient, "gradient") >= 0.0
        return base.DenseAtom(np.where(falls, self.lower, self.upper))

    def _contains(self, x, tol):
        return np.all(x >= self.lower - tol) and np.all(x <= self.upper + tol)

    def project(self, x):
        return project_box(self._vector(x, "x"), self.lower, self.upper)


class ConvexHull(Described):
    """Convex hull of a list of points.

    Of equally good points the oracle takes the first.

    Parameters
    ----------
    points : {array-like, sparse matrix} of shape (n_points, size)
        The points; some may lie between others. Sparse ones stay so but in `contains`.

    Attributes
    ----------
    diameter : float
        Largest distance of two points; takes n_points^2 distances each time it is read.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> triangle = domains.ConvexHull([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    >>> triangle.lmo([-1.0, -3.0]).to_array()
    array([0., 1.])
    >>> triangle.contains([1.0, 0.5]), triangle.contains([1.0, 0.6])
    (True, False)
    """

    def __init__(self, points):
        options = {"input_name": "points", "accept_sparse": "csr", "dtype": np.float64}
        self.points = check.table(points, copy=True, **options)
        if sp.issparse(points):
            self.points = sp.csr_array(self.points)
            self.points.sum_duplicates()
        self.size = self.points.shape[1]

    def _dense(self):
        return self.points.toarray() if sp.issparse(self.points) else self.points

    @property
    def diameter(self):
        points = self._dense()
        return max(float(np.linalg.norm(points - x, axis=1).max()) for x in points)

    def lmo(self, gradient):
        return self._vertex(int(np.argmin(self.points @ self._vector(gradient, "gradient"))))

    def _vertex(self, i):
        if not sp.issparse(self.points):
            return base.as_atom(self.points[i], self.size, "a point")
        row = slice(*self.points.indptr[i : i + 2])
        return base.SparseAtom(self.size, self.points.indices[row], self.points.data[row])

    def _contains(self, x, tol):
        differences = self._dense() - x
        if not np.all(np.any(differences, axis=1)):  # exactly one of them
            return True
        # The nearest point of the hull, by its weights; their sum comes out a little below one.
        ones = np.ones(len(differences))
        equations = np.vstack([differences.T / np.abs(differences).max(), ones])
        target = np.append(np.zeros(self.size), 1.0)
        weights = nnls(equations, target, maxiter=100 * (len(differences) + 1))[0]
        return np.abs(weights / weights.sum() @ differences).max() <= tol


class Product(Projectable):
    """Cartesian product of domains.

    Parameters
    ----------
    *domains : domain objects
        The factors; each has a ``size``.

    Attributes
    ----------
    domains : tuple
        The factors.
    blocks : list of slice
        Where the point of each factor lies.
    diameter : float
        Root of the sum of the squared diameters of the factors.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> both = domains.Product(domains.Simplex(2), domains.Box(0.0, 1.0, size=2))
    >>> both
    Product(Simplex(size=2), Box(size=2))
    >>> both.lmo([1.0, 0.5, -1.0, 2.0]).to_array()
    array([0., 1., 1., 0.])
    """

    def __init__(self, *domains):
        if not domains:
            raise ValueError("Product needs at least one domain")
        for domain in domains:
            if not (hasattr(domain, "size") and base.is_domain(domain)):
                raise ValueError(
                    f"{domain!r} has no size or no method lmo(gradient): derive it from Domain"
                )
            check.integer(domain.size, "the size of a domain", 1)
        self.domains = domains
        self.blocks = slices_of([domain.size for domain in domains])
        self.size = self.blocks[-1].stop
        self.is_polytope = all(getattr(domain, "is_polytope", True) for domain in domains)
        self.can_refine = any(getattr(domain, "can_refine", False) for domain in domains)

    @property
    def diameter(self):
        return math.hypot(*(domain.diameter for domain in self.domains))

    def lmo(self, gradient, start=None, accuracy=None):
        """The vertices of all factors, an atom.

        Parameters
        ----------
        gradient : array-like of shape (size,)
            Direction.
        start : Atom, default=None
            An earlier answer, for factors that take one.
        accuracy : float, default=None
            How far the bound may be below the value, for factors that can refine their answers.
        """
        gradient, n = self._vector(gradient, "gradient"), len(self.domains)
        base.check_start(start)
        lasts = getattr(start, "parts", [])
        lasts = lasts if len(lasts) == n else [None] * n
        share = None if accuracy is None else check.not_negative(accuracy, "accuracy") / n
        slopes = [gradient[block] for block in self.blocks]
        parts = [
            base.ask(domain, slope, repr(domain), last, share)
            for domain, slope, last in zip(self.domains, slopes, lasts)
        ]
        atom = base.ProductAtom(parts)
        if any(part.bound is not None for part in parts):
            values = [part.dot(slope) for part, slope in zip(parts, slopes)]
            atom.value = sum(values)
            atom.bound = sum(
                v if part.bound is None else part.bound for v, part in zip(values, parts)
            )
        return atom

    def _contains(self, x, tol):
        parts = zip(self.domains, self.blocks)
        return all(domain.contains(x[block].copy(), tol) for domain, block in parts)

    def project(self, x):
        x, nearest = check.numbers(self._vector(x, "x"), "x"), np.empty(self.size)
        for domain, block in zip(self.domains, self.blocks):
            # A copy, since a domain of the user may write to what it gets.
            answer = domain.project(x[block].copy())
            atom = base.as_atom(answer, domain.size, f"what project of {domain!r} returned")
            nearest[block] = atom.to_array()
        return nearest

    def start(self):
        return base.ProductAtom(
            [base.as_atom(d.start(), d.size, f"what start of {d!r} returned") for d in self.domains]
        )

    def __repr__(self):
        return f"Product({', '.join(map(repr, self.domains))})"


VECTORS = {"l1": L1Ball, "l2": L2Ball, "simplex": Simplex}
NAMES = ("l1", "l2", "linf", "simplex", "nuclear", "spectrahedron")


def domain_of(domain, shape, radius=1.0):
    if base.is_domain(domain):
        return domain
    size = math.prod(shape)
    if isinstance(domain, tuple | list) and len(domain) == 2 and domain[0] == "lp":
        return LpBall(size, domain[1], radius)
    if not isinstance(domain, str):
        raise ValueError(
            f"domain must be one of {', '.join(map(repr, NAMES))}, ('lp', p) or a domain with a "
            f"method lmo(gradient), got {domain!r}"
        )
    check.choice(domain, "domain", NAMES)
    if domain in VECTORS:
        return VECTORS[domain](size, radius)
    if domain == "linf":
        radius = check.positive(radius, "radius")
        return Box(-radius, radius, size)
    if len(shape) != 2:
        raise ValueError(f"{domain=} needs points with two axes, got shape {tuple(shape)}")
    if domain == "nuclear":
        return NuclearNormBall(shape, radius)
    if shape[0] != shape[1]:
        raise ValueError(f"{domain=} needs square matrices, got shape {tuple(shape)}")
    return Spectrahedron(shape[0], radius)
