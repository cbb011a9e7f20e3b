"""Base polytopes of submodular functions, whose oracle is the greedy algorithm."""

import numpy as np
from scipy.optimize import isotonic_regression

from ..._core.validation import check_array_of_numbers, check_magnitude
from ..set_functions._functions import as_submodular, base_of
from ._base import DenseAtom, Described, Projectable


class BasePolytope(Described):
    """Bases of a submodular function: all x with ``x(A) <= F(A) - F(empty set)``, equal for all.

    Here ``x(A) = sum_{i in A} x[i]``. The oracle is the greedy algorithm: elements come in the
    order of ascending gradients, the first among equals first, and each gets what it adds to the
    value.

    Parameters
    ----------
    function : SubmodularFunction or callable
        The function; a callable gets a mask, an array of ``size`` bools that are True for the
        elements of a set, and returns a number.
    size : int or None, default=None
        Number of elements; needed for a callable.

    See Also
    --------
    Permutahedron : All orders of a list of numbers.
    sklearn_fw.optim.minimize_submodular : Finds the lowest set of such a function.

    Notes
    -----
    The oracle costs a sort and a `SubmodularFunction.base`. `contains` minimises ``F(A) - x(A)``.
    That the function is submodular is not checked here.

    References
    ----------
    .. [1] J. Edmonds, "Submodular functions, matroids, and certain polyhedra", Combinatorial
       Structures and their Applications, 1970.
    .. [2] F. Bach, "Learning with submodular functions: a convex optimization perspective",
       Foundations and Trends in Machine Learning 6, 2013.

    Examples
    --------
    >>> from sklearn_fw.optim import domains, set_functions
    >>> bases = domains.BasePolytope(set_functions.CutFunction([(0, 1), (1, 2)]))
    >>> bases.lmo([0.5, -1.0, 2.0]).to_array()
    array([-1.,  2., -1.])
    """

    def __init__(self, function, size=None):
        self.function = as_submodular(function, size)
        self.size = self.function.size

    def lmo(self, gradient):
        order = np.argsort(self._vector(gradient, "gradient"), kind="stable")
        return DenseAtom(base_of(self.function, order))


class Permutahedron(Projectable):
    """All orders of a list of numbers, and what lies between them.

    The oracle gives the largest number to the entry of smallest gradient, the first among equals.
    This is the base polytope of ``F(A)``, the sum of the ``len(A)`` largest numbers.

    Parameters
    ----------
    values : array-like of shape (size,)
        The numbers; ``numpy.arange(1, n + 1)`` gives the permutahedron of combinatorics.

    Attributes
    ----------
    diameter : float
        Distance of the ascending from the descending order.

    See Also
    --------
    BipartiteMatchings : Permutations as matrices.

    References
    ----------
    .. [1] C. H. Lim, S. J. Wright, "Efficient Bregman projections onto the permutahedron and
       related polytopes", AISTATS 2016: the projection by an isotonic regression.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> orders = domains.Permutahedron([1.0, 2.0, 3.0])
    >>> orders.lmo([0.5, -1.0, 0.0]).to_array()
    array([1., 3., 2.])
    >>> orders.project([5.0, 0.0, 0.0])
    array([3. , 1.5, 1.5])
    """

    def __init__(self, values):
        values = check_array_of_numbers(values, "values")
        if values.ndim != 1 or not values.size:
            raise ValueError(f"values must be a vector, got shape {values.shape}")
        check_magnitude(values, "values")
        self.values = np.sort(values)[::-1] + 0.0
        self.size = values.size

    @property
    def diameter(self):
        return float(np.linalg.norm(self.values - self.values[::-1]))

    def lmo(self, gradient):
        order = np.argsort(self._vector(gradient, "gradient"), kind="stable")
        vertex = np.empty(self.size)
        vertex[order] = self.values
        return DenseAtom(vertex)

    def _contains(self, x, tol):
        over = np.cumsum(np.sort(x)[::-1]) - np.cumsum(self.values)
        return over.max() <= tol and over[-1] >= -tol

    def project(self, x):
        x = self._vector(x, "x")
        order = np.argsort(-x, kind="stable")
        nearest, falling = np.empty(self.size), x[order]
        fitted = isotonic_regression(falling - self.values, increasing=False).x
        nearest[order] = falling - fitted
        return nearest
