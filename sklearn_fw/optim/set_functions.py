"""Submodular functions of sets, as objects that build a base of theirs in one pass.

`sklearn_fw.optim.minimize_submodular` and `sklearn_fw.optim.domains.BasePolytope` take these
functions, or any callable of a mask.
"""

from abc import ABC, abstractmethod
from numbers import Real

import numpy as np
import scipy.sparse as sp

from .._core import check
from .._core.scores import check_edges

__all__ = [
    "CardinalityFunction",
    "CoverageFunction",
    "CutFunction",
    "ModularFunction",
    "SubmodularFunction",
]

BENT = 1e-9  # share of the largest step by which the steps of a concave list may rise


class SubmodularFunction(ABC):
    """Base class of submodular functions of the subsets of ``{0, ..., size - 1}``.

    A function F is submodular when an element gains less the more are there::

        F(A and i) - F(A) >= F(B and i) - F(B)    for A inside B and i outside of B

    Derive from it, set ``size`` and write `value`. Where the values of a growing set follow from
    each other, write `base` too: it is all that methods call in their loops. Functions of one size
    can be added up with ``+``.

    Attributes
    ----------
    size : int
        Number of elements.
    integer_valued : bool
        Whether all values are known to be integers.

    Examples
    --------
    The rank of a set of vectors, and that many elements cost 0.6 each:

    >>> import numpy as np
    >>> from sklearn_fw.optim import set_functions
    >>> class Rank(set_functions.SubmodularFunction):
    ...     def __init__(self, vectors):
    ...         self.vectors, self.size = vectors, len(vectors)
    ...     def value(self, members):
    ...         return np.linalg.matrix_rank(self.vectors[members]) if members.any() else 0
    >>> rank = Rank(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]))
    >>> dear = rank + set_functions.ModularFunction([-0.6, -0.6, -0.6])
    >>> round(dear.value(np.array([True, True, False])), 12)
    -0.2
    """

    integer_valued = False

    @abstractmethod
    def value(self, members):
        """Value of a set, a float.

        Parameters
        ----------
        members : ndarray of shape (size,), bool
            True for the elements of the set.
        """

    def base(self, order):
        """Compute the marginal gain of each element in an order: the greedy algorithm.

        An array of shape (size,): the value with the element less the value before it came. Here by
        ``size + 1`` values.

        Parameters
        ----------
        order : ndarray of shape (size,), integer
            All elements, first to last.
        """
        order = self._order(order)
        members, base = np.zeros(self.size, bool), np.empty(self.size)
        value, before = self.value, self._checked(members)
        for element in order.tolist():
            members[element] = True
            after = value(members.copy())
            if not (type(after) is float and -np.inf < after < np.inf):  # a quick look at most
                after = self._number(after, members)
            base[element] = after - before
            before = after
        return base

    def __add__(self, other):
        if not isinstance(other, SubmodularFunction):
            return NotImplemented
        return _Sum(self, other)

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size})"

    def _checked(self, members):
        return self._number(self.value(members.copy()), members)

    def _number(self, value, members):
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.item()
        if not (isinstance(value, Real) and -np.inf < value < np.inf):
            raise ValueError(
                f"{self!r} must give finite numbers, got {value!r} for the set "
                f"{np.flatnonzero(members).tolist()}"
            )
        return float(value)

    def _members(self, members):
        members = np.asarray(members)
        if members.dtype != bool or members.shape != (self.size,):
            raise ValueError(
                f"members must be a bool for each of {self.size} elements, got dtype "
                f"{members.dtype} and shape {members.shape}"
            )
        return members

    def _order(self, order):
        order = np.asarray(order)
        are_places = order.dtype.kind in "iu" and order.shape == (self.size,)
        if not (are_places and np.array_equal(np.sort(order), np.arange(self.size))):
            raise ValueError(f"order must hold each of 0 to {self.size - 1} once")
        return order

    def _ranks(self, order):
        ranks = np.empty(self.size, np.int64)
        ranks[self._order(order)] = np.arange(self.size)
        return ranks


class ModularFunction(SubmodularFunction):
    """Sum of weights: ``F(A) = sum_{i in A} weights[i]``.

    Parameters
    ----------
    weights : array-like of shape (size,)
        Weight of each element, of any sign.

    Examples
    --------
    >>> from sklearn_fw.optim import set_functions
    >>> set_functions.ModularFunction([1.0, -2.0]).value([False, True])
    -2.0
    """

    def __init__(self, weights):
        self.weights = np.array(check.shaped(weights, "weights", "size"))
        self.size = len(self.weights)
        self.integer_valued = _are_integers(self.weights)

    def value(self, members):
        return float(self.weights[self._members(members)].sum())

    def base(self, order):
        self._order(order)
        return self.weights.copy()


class CardinalityFunction(SubmodularFunction):
    """A concave function of the number of elements: ``F(A) = values[len(A)]``.

    Parameters
    ----------
    values : array-like of shape (size + 1,)
        Values of sets of 0, 1, ..., size elements, with steps that do not rise.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.optim import set_functions
    >>> root = set_functions.CardinalityFunction(np.sqrt(np.arange(5)))
    >>> root.base([2, 0, 1, 3]).round(2)
    array([0.41, 0.32, 1.  , 0.27])
    """

    def __init__(self, values):
        self.values = np.array(check.shaped(values, "values", "size + 1"))
        self.size = len(self.values) - 1
        if not self.size:
            raise ValueError("values must hold those of the empty set and of one element at least")
        self.integer_valued = _are_integers(self.values)
        self._steps = np.diff(self.values)
        rises = np.diff(self._steps) > BENT * np.abs(self._steps).max()
        if np.any(rises):
            k = int(np.flatnonzero(rises)[0])
            raise ValueError(
                f"values must be concave, else the function is not submodular: the step to "
                f"values[{k + 2}] is larger than the one to values[{k + 1}]"
            )

    def value(self, members):
        return float(self.values[np.count_nonzero(self._members(members))])

    def base(self, order):
        return self._steps[self._ranks(order)]


class CoverageFunction(SubmodularFunction):
    """Coverage function: total weight of the items that a set covers.

    Each element covers some items; ``F(A)`` is the sum of the weights of all items that at least
    one element of A covers. A base costs one look at each nonzero entry of ``covers``.

    Parameters
    ----------
    covers : array-like or sparse matrix of shape (size, n_items)
        Not zero where an element covers an item.
    weights : array-like of shape (n_items,) or None, default=None
        Weight of each item, not negative; None means ones.

    Examples
    --------
    >>> from sklearn_fw.optim import set_functions
    >>> covers = [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
    >>> set_functions.CoverageFunction(covers, weights=[1.0, 2.0, 5.0]).base([1, 0, 2])
    array([1., 7., 0.])
    """

    def __init__(self, covers, weights=None):
        options = {"accept_sparse": "csc", "dtype": np.float64, "ensure_min_features": 0}
        covers = sp.csc_array(check.table(covers, input_name="covers", **options), copy=True)
        covers.sum_duplicates()
        covers.eliminate_zeros()
        self.size, n_items = covers.shape
        weights = _weights(weights, n_items)
        used = np.diff(covers.indptr) > 0  # what nobody covers weighs nothing
        self._starts, self._by = covers.indptr[:-1][used].astype(np.int64), covers.indices
        self._weights = weights[used]
        self.integer_valued = _are_integers(weights)

    def value(self, members):
        members = self._members(members)
        covered = np.logical_or.reduceat(members[self._by], self._starts)
        return float(self._weights[covered].sum())

    def base(self, order):
        ranks = self._ranks(order)
        first = np.asarray(order)[np.minimum.reduceat(ranks[self._by], self._starts)]
        return np.bincount(first, self._weights, self.size).astype(float)  # integers where empty


class CutFunction(SubmodularFunction):
    """Cut function: weight of the edges of a graph that leave a set.

    ``F(A)`` is the sum of the weights of all edges with one end in A and the other outside; of
    directed ones, those from A to the rest. With a `ModularFunction` this is the energy of a
    binary labeling of an image. A base costs one look at each edge.

    Parameters
    ----------
    edges : array-like of shape (n_edges, 2), integer, or sparse matrix of shape (size, size)
        The two ends of each edge; or weights, of which entry (i, j) is that of a directed edge
        from i to j, so that a symmetric matrix is an undirected graph.
    weights : array-like of shape (n_edges,) or None, default=None
        Weight of each edge, not negative; None means ones. Not with a matrix.
    size : int or None, default=None
        Number of nodes; None takes the shape of the matrix, or the largest node that has an edge.
    directed : bool, default=False
        Whether edges lead from their first end to the second one. Not with a matrix.

    Examples
    --------
    >>> from sklearn_fw.optim import set_functions
    >>> cut = set_functions.CutFunction([(0, 1), (1, 2)], weights=[1.0, 3.0])
    >>> cut.value([True, True, False])
    3.0
    >>> cut.base([1, 0, 2])
    array([-1.,  4., -3.])
    """

    def __init__(self, edges, weights=None, size=None, directed=False):
        directed = check.flag(directed, "directed")
        if size is not None:
            size = check.integer(size, "size", 1)
        if sp.issparse(edges):
            if weights is not None or directed:
                raise ValueError("weights and directed have no effect where edges are a matrix")
            edges, weights, size = _arcs_of(edges, size)
            directed = True
        else:
            edges = check_edges(edges, 2**62 if size is None else size, "nodes")
            if size is None:
                if not len(edges):
                    raise ValueError("size must be given for a graph without edges")
                size = int(edges.max()) + 1
        self.size, self.directed = size, directed
        self._tails, self._heads = np.ascontiguousarray(edges.T)
        self._weights = _weights(weights, len(edges))
        self.integer_valued = _are_integers(self._weights)

    def value(self, members):
        members = self._members(members)
        tails, heads = members[self._tails], members[self._heads]
        leave = tails & ~heads if self.directed else tails != heads
        return float(self._weights[leave].sum())

    def base(self, order):
        ranks = self._ranks(order)
        forth = ranks[self._tails] < ranks[self._heads]
        # An edge joins the cut with its first end and leaves it with the other one.
        gained = np.where(forth, self._weights, 0.0 if self.directed else -self._weights)
        ends = self._tails, self._heads
        tails, heads = (np.bincount(end, gained, minlength=self.size) for end in ends)
        return tails - heads


class _Sum(SubmodularFunction):
    def __init__(self, first, second):
        self.terms = [*getattr(first, "terms", [first]), *getattr(second, "terms", [second])]
        sizes = [term.size for term in self.terms]
        if len(set(sizes)) > 1:
            raise ValueError(f"functions of {sizes} elements cannot be added up")
        self.size = sizes[0]

    @property
    def integer_valued(self):
        return all(term.integer_valued for term in self.terms)

    def value(self, members):
        members = self._members(members)
        return sum(term._checked(members) for term in self.terms)

    def base(self, order):
        return sum(base_of(term, order) for term in self.terms)

    def __repr__(self):
        return " + ".join(map(repr, self.terms))


class _Called(SubmodularFunction):
    def __init__(self, function, size):
        self.function, self.size = function, size

    def value(self, members):
        return self.function(members)

    def __repr__(self):
        return "function"


def as_submodular(function, size):
    if isinstance(function, SubmodularFunction):
        own = getattr(function, "size", None)
        if size not in (None, own):
            raise ValueError(f"size == {size}, but the function has {own} elements")
        check.integer(own, "function.size", 1)
        return function
    if not callable(function) or isinstance(function, type):
        raise ValueError(
            f"function must be a SubmodularFunction or a callable with a mask, got {function!r}"
        )
    if size is None:
        raise ValueError("size must be given: a callable has no number of elements")
    return _Called(function, check.integer(size, "size", 1))


def is_known(function):
    """Whether a function is submodular by how it was made."""
    terms = getattr(function, "terms", [function])
    ours = ModularFunction, CardinalityFunction, CoverageFunction, CutFunction
    return all(type(term) in ours for term in terms)


def base_of(function, order):
    base = function.base(order.copy())
    return check.shaped(base, f"the base of {function!r}", function.size)


def _arcs_of(edges, size):
    graph = check.sparse(edges, "edges").tocoo()
    if graph.shape[0] != graph.shape[1] or size not in (None, graph.shape[0]) or not graph.shape[0]:
        expected = "(size, size)" if size is None else (size, size)
        raise ValueError(f"edges.shape == {graph.shape}, expected {expected}")
    weights = check.numbers(graph.data, "edges")
    between = graph.row != graph.col
    edges = np.column_stack([graph.row, graph.col]).astype(np.int64)
    return edges[between], weights[between], graph.shape[0]


def _weights(weights, size):
    weights = np.array(check.shaped(np.ones(size) if weights is None else weights, "weights", size))
    if np.any(weights < 0.0):
        raise ValueError(
            f"weights must not be negative, else the function is not submodular; got "
            f"{weights.min():g}"
        )
    return weights


def _are_integers(values):
    return bool(np.all(values == np.round(values)) and np.abs(values).sum() < 2.0**53)
