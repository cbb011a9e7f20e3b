"""Atoms, which are points in a short form, and the base of all domains."""

import hashlib
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from ..._core import check
from ..._core.packed import slices_of
from ..._core.warnings import warn

FEW = 0.25  # share of nonzero entries up to which a plain array is kept by its places
PACKAGE = __name__.partition(".")[0] + "."
FLOAT, LARGEST = np.dtype(np.float64), 1e200  # and the sum of squares of moderate numbers
SHORT = 256  # bytes that a key holds as they are; of more it holds a digest


class Atom(ABC):
    """Base class of atoms; for your own see :doc:`/guide/own_domain`.

    Methods keep atoms as they come, compute inner products and sums, and never make them dense: a
    vertex with few entries or of low rank costs as much as its description.

    Attributes
    ----------
    size : int
        Length of the point.
    key : hashable
        Equal for equal points and different for others.
    value : float or None
        The oracle's value of ``<gradient, atom>``; None if it has none.
    bound : float or None
        What no point of the set falls below, ``-inf`` if nothing is known. None promises that the
        atom itself is the lowest.
    """

    value = None
    bound = None

    @abstractmethod
    def dot(self, vector):
        """Inner product with a vector, a float.

        Parameters
        ----------
        vector : ndarray of shape (size,)
            The vector.
        """

    @abstractmethod
    def add_to(self, x, scale=1.0):
        """Add a multiple of the atom to a vector, in place.

        Parameters
        ----------
        x : ndarray of shape (size,), float64
            The vector, which is changed.
        scale : float, default=1.0
            The multiple.
        """

    def to_array(self):
        """The point as a new dense vector of shape (size,)."""
        x = np.zeros(self.size)
        self.add_to(x)
        return x

    def entries(self):
        """Ascending places of the nonzero entries, and their values; None for dense atoms."""
        return None

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size})"


class UnitAtom(Atom):
    def __init__(self, size, place, height=1.0):
        self.size, self.place, self.height = size, place, height

    @property
    def key(self):
        return (self.place, self.height) if self.height else key_of(*self.entries())

    def dot(self, vector):
        return self.height * float(vector[self.place])

    def add_to(self, x, scale=1.0):
        x[self.place] += scale * self.height

    def entries(self):
        return np.array([self.place]), np.array([self.height])


class SparseAtom(Atom):
    """A point of few entries that are not zero: a matching, a tree, a labeling.

    Parameters
    ----------
    size : int
        Length of the point.
    places : array-like of shape (n_entries,), integer
        The entries that are not zero, all different.
    values : float or array-like of shape (n_entries,), default=1.0
        Their values; a number is the value of all.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> domains.SparseAtom(5, [3, 0]).to_array()
    array([1., 0., 0., 1., 0.])
    """

    def __init__(self, size, places, values=1.0):
        self.size = check.integer(size, "size", 0)
        places = np.array(places)
        if places.size == 0:
            places = np.empty(0, np.int64)
        if places.ndim != 1 or places.dtype.kind not in "iu":
            raise ValueError(
                f"places must be a vector of integers, got dtype {places.dtype} and shape "
                f"{places.shape}"
            )
        values = np.array(check.array(values, "values"))
        if values.ndim and values.shape != places.shape:
            raise ValueError(f"values has shape {values.shape}, but places {places.shape}")
        if np.any(places[1:] <= places[:-1]):
            order = np.argsort(places, kind="stable")
            places, values = places[order], values[order] if values.ndim else values
            if np.any(places[1:] == places[:-1]):
                raise ValueError("places must be different")
        if places.size and not (places[0] >= 0 and places[-1] < self.size):
            raise ValueError(
                f"places must be from 0 to size - 1 == {self.size - 1}, got {places[0]} to "
                f"{places[-1]}"
            )
        self.places = places.astype(np.int64, copy=False)
        self.values = values if values.ndim else float(values)

    @cached_property
    def key(self):
        return key_of(*self.entries())

    def dot(self, vector):
        chosen = vector[self.places]
        if isinstance(self.values, float):
            return self.values * float(chosen.sum())
        return float(self.values @ chosen)

    def add_to(self, x, scale=1.0):
        x[self.places] += scale * self.values

    def entries(self):
        return self.places, np.broadcast_to(self.values, self.places.shape)


class RankOneAtom(Atom):
    """An outer product of two vectors, as a matrix whose rows follow each other.

    Key, memory and construction cost n_rows + n_columns, an inner product reads the vector once.
    Two atoms are recognized as equal by their factors: scale these so that equal products have
    equal ones.

    Parameters
    ----------
    left : array-like of shape (n_rows,)
        First vector.
    right : array-like of shape (n_columns,)
        Second vector.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> atom = domains.RankOneAtom([1.0, -1.0], [0.5, 0.0, 2.0])
    >>> atom.to_array().reshape(2, 3)
    array([[ 0.5,  0. ,  2. ],
           [-0.5,  0. , -2. ]])
    """

    def __init__(self, left, right):
        self.left = check.vector(left, "left") + 0.0
        self.right = check.vector(right, "right") + 0.0
        self.shape = self.left.size, self.right.size
        self.size = self.left.size * self.right.size

    @cached_property
    def key(self):
        return _short(self.left), _short(self.right)

    def dot(self, vector):
        matrix = vector.reshape(self.shape)  # sparse matrices stay sparse
        return float(self.left @ (matrix @ self.right))

    def add_to(self, x, scale=1.0):
        rows = x.reshape(self.shape)
        # Row by row, for the whole product would be as large as the matrix.
        for row, factor in zip(rows, (scale * self.left).tolist()):
            if factor:
                row += factor * self.right


class DenseAtom(Atom):
    """A point as an array of all its entries, which is copied."""

    def __init__(self, array):
        self.array = array + 0.0  # a zero has no sign
        self.size = self.array.size

    @cached_property
    def key(self):
        return key_of(*self.entries())

    def dot(self, vector):
        return float(self.array @ vector)

    def add_to(self, x, scale=1.0):
        x += scale * self.array

    def entries(self):
        places = np.flatnonzero(self.array != 0.0)  # faster than on numbers
        return places, self.array[places]


class ProductAtom(Atom):
    """One atom after the other: a point of a product of sets."""

    def __init__(self, parts):
        self.parts = list(parts)
        self.blocks = slices_of([part.size for part in self.parts])
        self.size = self.blocks[-1].stop

    @property
    def key(self):
        entries = self.entries()
        return tuple(part.key for part in self.parts) if entries is None else key_of(*entries)

    def dot(self, vector):
        return sum(part.dot(vector[block]) for part, block in zip(self.parts, self.blocks))

    def add_to(self, x, scale=1.0):
        for part, block in zip(self.parts, self.blocks):
            part.add_to(x[block], scale)

    def entries(self):
        found = [part.entries() for part in self.parts]
        if any(entries is None for entries in found):
            return None
        places = [p + block.start for (p, _), block in zip(found, self.blocks)]
        return np.concatenate(places), np.concatenate([values for _, values in found])


def key_of(places, values):
    """Hashable description of a point, the same for all kinds of atoms; numbers are exact."""
    used = values != 0.0
    if not used.all():
        places, values = places[used], values[used]
    if len(places) == 1:
        return int(places[0]), float(values[0])
    if len(places) and values[0] == values[-1] and np.all(values == values[0]):
        return _short(places), float(values[0])
    return _short(places), _short(values)


def _short(array):
    content = array.tobytes()
    return content if len(content) <= SHORT else hashlib.blake2b(content, digest_size=16).digest()


def as_atom(answer, size, who):
    """An atom, or that of an array, copied; ``size`` None for any length."""
    if isinstance(answer, Atom):
        if size not in (None, answer.size):
            raise ValueError(f"{who} must have shape ({size},), got ({answer.size},)")
        return answer
    array = check.shaped(answer, who, "size" if size is None else size)
    places = np.flatnonzero(array != 0.0)
    if len(places) > FEW * array.size:
        return DenseAtom(array)
    if len(places) == 1:
        return UnitAtom(array.size, int(places[0]), float(array[places[0]]))
    return SparseAtom(array.size, places, array[places])


def is_ours(thing):
    """Whether an atom or a domain is of this package, and no class that a user derived."""
    if type(thing) is ProductAtom:
        return all(map(is_ours, thing.parts))
    return type(thing).__module__.startswith(PACKAGE)


def vector(x, name, size):
    """`check.vector` at the price of one product where there is nothing to refuse."""
    is_usual = type(x) is np.ndarray and x.dtype is FLOAT and x.shape == (size,)
    # Unlike ``@`` this one warns of no overflow.
    return x if is_usual and np.vdot(x, x) <= LARGEST else check.vector(x, name, size)


class Domain(ABC):
    """Base class of domains: a subclass sets ``size`` and writes ``lmo``.

    ``lmo`` may return an `Atom` or a plain array, see :doc:`/guide/own_domain`.

    Attributes
    ----------
    size : int
        Length of the points.
    is_polytope : bool
        Whether there are finitely many vertices, as is assumed of a domain of your own.
    strong_convexity : float
        Strong convexity of the set, zero for polytopes.
    can_refine : bool
        Whether ``lmo`` takes two more arguments: ``start``, an earlier answer or None, and
        ``accuracy``, how far the bound of the answer may be below its value, or None.
    """

    is_polytope = True
    strong_convexity = 0.0
    can_refine = False

    @abstractmethod
    def lmo(self, gradient):
        """A vertex v with the smallest ``<gradient, v>``, an `Atom`.

        Parameters
        ----------
        gradient : array-like of shape (size,)
            Direction.
        """

    def start(self):
        """A vertex to start from, an `Atom`: the answer to a gradient of zeros."""
        return self.lmo(np.zeros(self.size))

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size})"

    def _vector(self, x, name):
        return vector(x, name, self.size)


class Described(Domain):
    def contains(self, x, tol=1e-9):
        """Whether a point belongs to the set.

        Parameters
        ----------
        x : array-like of shape (size,)
            The point.
        tol : float, default=1e-9
            By how much a constraint may be violated.
        """
        x, tol = self._vector(x, "x"), check.not_negative(tol, "tol")
        # Sums may be infinite on the way: comparisons come out right.
        with np.errstate(**check.BEYOND):
            return bool(self._contains(x, tol))

    @abstractmethod
    def _contains(self, x, tol):
        """The same for checked arguments."""


class Projectable(Described):
    @abstractmethod
    def project(self, x):
        """Nearest point of the set, an array of shape (size,).

        Parameters
        ----------
        x : array-like of shape (size,)
            Any point.
        """


def check_shape(shape):
    try:
        n_rows, n_columns = shape
    except (TypeError, ValueError):
        raise ValueError(f"shape must be (n_rows, n_columns), got {shape}") from None
    return check.integer(n_rows, "shape", 1), check.integer(n_columns, "shape", 1)


def is_domain(domain):
    return callable(getattr(domain, "lmo", None)) and not isinstance(domain, type)


def check_domain(domain, name):
    if isinstance(domain, str):
        raise ValueError(
            f"{name}={domain!r} is a name for estimators, which know the size: pass an object of "
            f"sklearn_fw.optim.domains such as L1Ball(size, radius=1.0)"
        )
    if not is_domain(domain):
        raise ValueError(f"{name} must be a domain with a method lmo(gradient), got {domain!r}")


def warn_if_round(domain, name, variant):
    if not getattr(domain, "is_polytope", True):
        warn(
            f"{name} is not a polytope: variant={variant!r} keeps a point of every step and has "
            f"no known rate; 'fw' suits it better",
            RuntimeWarning,
        )


def check_start(start):
    if not (start is None or isinstance(start, Atom)):
        raise ValueError(f"start must be None or an atom, an earlier answer, got {start!r:.80}")


def ask(domain, gradient, who, last=None, accuracy=None):
    """The checked answer of an oracle: the one border between domains of users and methods.

    Domains that refine take ``last``, an earlier answer, and the ``accuracy`` of the bound.
    """
    more = {}
    if getattr(domain, "can_refine", False):
        more = {"start": last, "accuracy": accuracy}
    if is_ours(domain) and "lmo" not in vars(domain):
        return domain.lmo(gradient, **more)
    # A copy goes out: an oracle that writes to it must not change the gap.
    answer = domain.lmo(gradient.copy(), **more)
    atom = as_atom(answer, gradient.size, f"what the lmo of {who} returned")
    for name in ("value", "bound"):
        number = getattr(atom, name)
        if number is not None and not number <= np.inf:
            raise ValueError(f"the lmo of {who} returned an atom with {name} {number!r}")
    return atom if is_ours(atom) else _checked(atom, gradient, who)


def _checked(atom, gradient, who):
    """Refuse an atom of the user with an inner product that is not that of its array."""
    product, x = atom.dot(gradient.copy()), np.zeros(atom.size)
    atom.add_to(x)
    size = np.abs(gradient) @ np.abs(x)
    if not abs(product - gradient @ x) <= 1e-6 * size:
        raise ValueError(
            f"the lmo of {who} returned a {type(atom).__name__} with dot(gradient) == "
            f"{product!r}, but what its add_to adds has {gradient @ x:.6g}"
        )
    hash(atom.key)
    return atom
