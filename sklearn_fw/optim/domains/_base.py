"""What all domains have in common."""

from abc import ABC, abstractmethod

import numpy as np

from ..._validation import check_array_of_numbers


class Domain(ABC):
    """Base class of domains; derive from it, set ``size`` and write ``lmo`` to have your own.

    Attributes
    ----------
    size : int
        Length of the points.
    is_polytope : bool
        Whether there are finitely many vertices, as is assumed of a domain of your own.
    strong_convexity : float
        Strong convexity of the set, zero for polytopes.

    See Also
    --------
    Atoms : The convex hull of a list of points.

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
    ...         return np.bincount(chosen, minlength=self.size).astype(float)
    >>> Choices(4, 2).lmo(np.array([3.0, -1.0, 0.0, 2.0]))
    array([0., 1., 1., 0.])
    >>> Choices(4, 2).start()
    array([1., 1., 0., 0.])
    """

    is_polytope = True
    strong_convexity = 0.0

    @abstractmethod
    def lmo(self, gradient):
        """A vertex v with the smallest ``<gradient, v>``.

        Parameters
        ----------
        gradient : array-like of shape (size,)
            Direction.

        Returns
        -------
        ndarray of shape (size,)
            The vertex.
        """

    def start(self):
        """A vertex to start from: the answer to a gradient of zeros.

        Returns
        -------
        ndarray of shape (size,)
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

    @abstractmethod
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
    """Whether an object, which is no class, can be asked for vertices."""
    return callable(getattr(domain, "lmo", None)) and not isinstance(domain, type)


def check_domain(domain, name):
    """Refuse what is no domain."""
    if not is_domain(domain):
        raise ValueError(
            f"{name} must be a domain, that is, have a method lmo(gradient); got {domain!r}"
        )
