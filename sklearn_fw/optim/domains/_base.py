"""What all domains have in common."""

from abc import ABC, abstractmethod

import numpy as np

from ..._core.validation import BEYOND, check_array_of_numbers, check_not_negative
from ._atoms import Atom, as_atom, is_ours


class Domain(ABC):
    """Base class of domains; derive from it, set ``size`` and write ``lmo`` to have your own.

    Your ``lmo`` may answer with an `Atom` or with a plain array, which methods turn into one.

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

    See Also
    --------
    ConvexHull : That of a list of points.

    Examples
    --------
    The lists of ``k`` ones among zeros, and what lies between them:

    >>> import numpy as np
    >>> from sklearn_fw.optim import domains
    >>> class Choices(domains.Domain):
    ...     def __init__(self, size, k):
    ...         self.size, self.k = size, k
    ...     def lmo(self, gradient):
    ...         chosen = np.argsort(gradient, kind="stable")[: self.k]
    ...         return domains.SparseAtom(self.size, chosen)
    >>> Choices(4, 2).lmo(np.array([3.0, -1.0, 0.0, 2.0])).to_array()
    array([0., 1., 1., 0.])
    >>> Choices(4, 2).start().places
    array([0, 1])
    """

    is_polytope = True
    strong_convexity = 0.0
    can_refine = False

    @abstractmethod
    def lmo(self, gradient):
        """A vertex v with the smallest ``<gradient, v>``.

        Parameters
        ----------
        gradient : array-like of shape (size,)
            Direction.

        Returns
        -------
        Atom
            The vertex.
        """

    def start(self):
        """A vertex to start from: the answer to a gradient of zeros.

        Returns
        -------
        Atom
            The vertex.
        """
        return self.lmo(np.zeros(self.size))

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size})"

    def _vector(self, x, name):
        x = check_array_of_numbers(x, name)
        if x.shape != (self.size,):
            raise ValueError(f"{name}.shape == {x.shape}, expected ({self.size},)")
        return x


class Described(Domain):
    """A domain of which the constraints are known."""

    def contains(self, x, tol=1e-9):
        """Whether a point belongs to the set.

        Parameters
        ----------
        x : array-like of shape (size,)
            The point.
        tol : float, default=1e-9
            By how much a constraint may be violated.

        Returns
        -------
        bool
            The answer.
        """
        x, tol = self._vector(x, "x"), check_not_negative(tol, "tol")
        # Sums may be infinite on the way: comparisons come out right.
        with np.errstate(**BEYOND):
            return bool(self._contains(x, tol))

    @abstractmethod
    def _contains(self, x, tol):
        """The same for checked arguments."""


class Projectable(Described):
    """A domain with a cheap projection."""

    @abstractmethod
    def project(self, x):
        """Nearest point of the set.

        Parameters
        ----------
        x : array-like of shape (size,)
            Any point.

        Returns
        -------
        ndarray of shape (size,)
            Its projection.
        """


def is_domain(domain):
    return callable(getattr(domain, "lmo", None)) and not isinstance(domain, type)


def check_domain(domain, name):
    if isinstance(domain, str):
        raise ValueError(
            f"{name}={domain!r} is a name for estimators, which know the size: pass an object of "
            f"sklearn_fw.optim.domains such as L1Ball(size, radius=1.0)"
        )
    if not is_domain(domain):
        raise ValueError(
            f"{name} must be a domain, that is, have a method lmo(gradient); got {domain!r}"
        )


def check_answer(start):
    if not (start is None or isinstance(start, Atom)):
        raise ValueError(f"start must be None or an atom, an earlier answer, got {start!r:.80}")


def ask(domain, gradient, who, last=None, accuracy=None):
    """The checked answer of an oracle: the one border between domains of users and methods.

    ``last`` is an earlier answer and ``accuracy`` how far the bound may be below the value, for
    domains that can make use of them.
    """
    more = {}
    if getattr(domain, "can_refine", False):
        more = {"start": last, "accuracy": accuracy}
    if is_ours(domain) and "lmo" not in vars(domain):
        return domain.lmo(gradient, **more)
    # A copy goes out: an oracle that writes to it must not change the gap.
    atom = as_atom(domain.lmo(gradient.copy(), **more), gradient.size, f"the lmo of {who}")
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
