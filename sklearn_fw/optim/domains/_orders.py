"""Sets of orders: of numbers, of items in ascending slots, of states in time; base polytopes."""

import math

import numpy as np
from scipy.optimize import isotonic_regression

from ..._core import check
from ..._core.packed import slices_of, starts_of
from ..._core.scores import integers
from ..._kernels import lazy
from ..set_functions import as_submodular, base_of
from ._base import DenseAtom, Described, Domain, Projectable, SparseAtom
from ._sets import Product

orderings = lazy("graphs.orderings")

MOST = 2.0**28  # numbers of a point
CONSTRAINTS = ("at_least_one", "exactly_one")


class _Masked(Domain):
    """Matrices of several sequences, partly forbidden; ``_best(cost)`` is a dynamic program."""

    def split(self):
        """The same set as a `Product` of one for each sequence or clip, for steps in one."""
        return Product(*self._factors())

    def lmo(self, gradient):
        return self.vertex(self._best(self._costs(gradient, "gradient")))

    def _lay_out(self, shapes, allowed, single, what):
        """Where the matrices of all sequences lie, and their masks; None allows all entries."""
        self._blocks = slices_of([n * m for n, m in shapes])
        self.size = self._blocks[-1].stop
        self._masks, self._forbidden = [None] * len(shapes), None
        if allowed is None:
            return
        allowed = [allowed] if single else allowed
        if not isinstance(allowed, list | tuple) or len(allowed) != len(shapes):
            raise ValueError(f"allowed must be a list of {len(shapes)} arrays, one for each {what}")
        forbidden = np.zeros(self.size, bool)
        for n, (mask, shape, block) in enumerate(zip(allowed, shapes, self._blocks)):
            if mask is None:
                continue
            self._masks[n] = mask = check.shaped(mask, f"allowed of {what} {n}", *shape)
            forbidden[block] = mask.ravel() == 0.0
        self._forbidden = forbidden if forbidden.any() else None

    def _costs(self, values, name):
        costs = check.shaped(values, name, self.size)
        if self._forbidden is not None:
            costs = np.where(self._forbidden, np.inf, costs)
        return np.ascontiguousarray(costs)


class OrderedPlacements(_Masked, Described):
    """Convex hull of the order-preserving placements of items in slots.

    Points are matrices with a row per item and a column per slot, row after row; a vertex has a one
    in each row, in columns that ascend strictly. Slots may stay empty. Alignments of tokens with
    the slots of a template are such sets, and steps of a task in the frames of a film. The oracle
    is a dynamic program, O(n_items n_slots), where the earliest of equal slots wins. `contains` is
    exact: shares of an item before a slot are at most those of the item before it, one slot
    earlier, and these inequalities have whole vertices.

    Parameters
    ----------
    shape : (int, int) or list of (int, int)
        Numbers of items and slots, of items at most as many; a list holds those of several
        sequences, whose matrices follow each other.
    allowed : array-like of shape ``shape``, bool, list of such arrays or None, default=None
        The slots that each item may take; for a list of shapes a list, in which None allows all.

    Attributes
    ----------
    shapes : ndarray of shape (n_sequences, 2)
        Numbers of items and slots.
    diameter : float
        A bound: the root of twice the number of items.

    References
    ----------
    .. [1] J.-B. Alayrac, P. Bojanowski, N. Agrawal, J. Sivic, I. Laptev, S. Lacoste-Julien,
       "Unsupervised learning from narrated instruction videos", CVPR 2016: appendices B and C.

    Examples
    --------
    >>> from sklearn_fw.optim import domains
    >>> placements = domains.OrderedPlacements((2, 3))
    >>> placements.lmo([0.0, 0.0, -9.0, 0.0, -5.0, 0.0]).to_array().reshape(2, 3)
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """

    def __init__(self, shape, allowed=None):
        given = integers(shape, "shape", 2)
        if given.ndim not in (1, 2) or given.shape[-1] != 2 or not given.size:
            raise ValueError(
                f"shape must be a pair (n_items, n_slots) or several, got {shape!r:.80}"
            )
        self.shapes = given.reshape(-1, 2)
        for n, (n_items, n_slots) in enumerate(self.shapes.tolist()):
            if not 1 <= n_items <= n_slots:
                raise ValueError(
                    f"shape of sequence {n} has {n_items} items and {n_slots} slots: give it one "
                    f"item at least and a slot for each"
                )
        if self.shapes.prod(axis=1, dtype=float).sum() > MOST:
            raise ValueError(f"shape makes points of more than {MOST:g} numbers")
        # Where the row of each item begins.
        self._row = starts_of(np.repeat(self.shapes[:, 1], self.shapes[:, 0]))[:-1]
        self._lay_out(self.shapes.tolist(), allowed, given.ndim == 1, "sequence")
        self.place(np.zeros(self.size))

    def _factors(self):
        for shape, mask in zip(self.shapes.tolist(), self._masks):
            yield OrderedPlacements(shape, mask)

    @property
    def diameter(self):
        free = self.shapes[:, 1] > self.shapes[:, 0]
        return math.sqrt(2.0 * self.shapes[free, 0].sum())

    def place(self, cost):
        """The cheapest slot of each item, an array of shape (n_items,).

        Parameters
        ----------
        cost : array-like of shape (size,)
            Cost of each slot for each item.
        """
        return self._best(self._costs(cost, "cost"))

    def _best(self, cost):
        chosen = np.empty(len(self._row), np.int64)
        n_items, n_slots = np.ascontiguousarray(self.shapes.T)
        bad = orderings.place_in_order(cost, n_items, n_slots, chosen)
        if bad >= 0:
            raise ValueError(
                f"allowed leaves sequence {bad} no placement: there must be slots that ascend from "
                f"item to item"
            )
        return chosen

    def vertex(self, slots):
        """The vertex of given slots, a `SparseAtom`.

        Parameters
        ----------
        slots : array-like of shape (n_items,), integer
            Slot of each item, as `place` gives them.
        """
        slots = _whole(slots, "slots", len(self._row))
        if np.any((slots < 0) | (slots >= np.repeat(self.shapes[:, 1], self.shapes[:, 0]))):
            raise ValueError("slots must be from 0 to the last slot of their sequence")
        return SparseAtom(self.size, self._row + slots)

    def _contains(self, x, tol):
        if x.min() < -tol or (self._forbidden is not None and x[self._forbidden].max() > tol):
            return False
        for (n_items, n_slots), block in zip(self.shapes.tolist(), self._blocks):
            shares = x[block].reshape(n_items, n_slots).cumsum(axis=1)
            earlier = np.hstack([np.zeros((n_items, 1)), shares[:, :-1]])
            if np.abs(shares[:, -1] - 1.0).max() > tol:
                return False
            if np.any(shares[1:] > earlier[:-1] + tol):
                return False
        return True


class StateChoices(_Masked):
    """Convex hull of the choices of two states of candidates in time.

    Points are matrices with a row per candidate and two columns, row after row; a vertex has a one
    for each chosen candidate, in the column of its state. Those chosen share no moment, all in the
    first state come before all in the second, and there is at least one of each. The oracle is a
    dynamic program over candidates in the order of their ends, O(n) after these are sorted once. It
    replaces the automaton of [1]_, in whose printed transitions a second state cannot return after
    a candidate without state; taken literally they miss the optimum.

    Parameters
    ----------
    start : array-like of shape (n_candidates,) or list of such arrays
        When each candidate begins; a list holds those of several clips, whose matrices follow each
        other.
    end : array-like of shape (n_candidates,) or list of such arrays
        When each ends, not before it begins. Two that touch share a moment.
    constraint : {"at_least_one", "exactly_one"}, default="at_least_one"
        How many of each state.
    allowed : array-like of shape (n_candidates, 2), bool, list of such arrays or None, default=None
        States that each candidate may take; for a list of clips a list, in which None allows all.

    Attributes
    ----------
    diameter : float
        A bound: the root of twice the number of candidates, or of four per clip ("exactly_one").

    References
    ----------
    .. [1] J.-B. Alayrac, J. Sivic, I. Laptev, S. Lacoste-Julien, "Joint discovery of object states
       and manipulation actions", ICCV 2017: section 3.2, appendix.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.optim import domains
    >>> states = domains.StateChoices([0.0, 1.0, 2.0], [0.5, 1.5, 2.5])
    >>> cost = np.array([[-1.0, 0.0], [-1.0, -5.0], [-3.0, -1.0]])
    >>> states.lmo(cost.ravel()).to_array().reshape(3, 2)
    array([[1., 0.],
           [0., 1.],
           [0., 1.]])
    """

    def __init__(self, start, end, constraint="at_least_one", allowed=None):
        self.constraint = check.choice(constraint, "constraint", CONSTRAINTS)
        starts, ends = _clips(start), _clips(end)
        if len(starts) != len(ends):
            raise ValueError(f"start holds {len(starts)} clips, but end {len(ends)}")
        for n in range(len(starts)):
            starts[n] = check.shaped(starts[n], f"start of clip {n}", "n_candidates")
            ends[n] = check.shaped(ends[n], f"end of clip {n}", starts[n].size)
        order, before = [], []
        self._offsets = starts_of([len(s) for s in starts])
        for n, (s, e) in enumerate(zip(starts, ends)):
            if np.any(e < s):
                i = int(np.flatnonzero(e < s)[0])
                raise ValueError(f"end of candidate {i} of clip {n} is before its start")
            ranks = np.argsort(e, kind="stable")
            order.append(ranks + self._offsets[n])
            before.append(np.searchsorted(e[ranks], s[ranks], side="left"))
        self._order, self._before = np.concatenate(order), np.concatenate(before)
        self._given = starts, ends
        self._lay_out([(len(s), 2) for s in starts], allowed, not _is_list(start), "clip")
        self.choose(np.zeros(self.size))

    def _factors(self):
        for start, end, mask in zip(*self._given, self._masks):
            yield StateChoices(start, end, self.constraint, mask)

    @property
    def diameter(self):
        n_clips, m = len(self._blocks), int(self._offsets[-1])
        return math.sqrt(4.0 * n_clips if self.constraint == "exactly_one" else 2.0 * m)

    def choose(self, cost):
        """The cheapest state of each candidate: 0, 1, or -1 for none.

        Parameters
        ----------
        cost : array-like of shape (size,)
            Cost of both states for each candidate.
        """
        return self._best(self._costs(cost, "cost"))

    def _best(self, cost):
        chosen = np.empty(self.size // 2, np.int64)
        bad = orderings.choose_states(
            cost.reshape(-1, 2), self._offsets, self._order, self._before,
            self.constraint == "exactly_one", chosen,
        )  # fmt: skip
        if bad >= 0:
            raise ValueError(
                f"clip {bad} has no candidate in the first state that ends before one in the "
                f"second begins: leave it out, or allow more"
            )
        return chosen

    def vertex(self, states):
        """The vertex of given states, a `SparseAtom`.

        Parameters
        ----------
        states : array-like of shape (n_candidates,), integer
            As `choose` gives them.
        """
        states = _whole(states, "states", self.size // 2)
        if np.any((states < -1) | (states > 1)):
            raise ValueError("states must be -1, 0 or 1")
        used = np.flatnonzero(states >= 0)
        return SparseAtom(self.size, 2 * used + states[used])


def _whole(values, name, size):
    values = check.vector(values, name, size)
    if np.any(np.abs(values) > MOST) or np.any(values != values // 1):
        raise ValueError(f"{name} must be whole numbers")
    return values.astype(np.int64)


def _is_list(values):
    return isinstance(values, list | tuple) and len(values) > 0 and np.ndim(values[0]) == 1


def _clips(values):
    return list(values) if _is_list(values) else [values]


class BasePolytope(Described):
    """Base polytope of a submodular function F.

    It holds all x with ``x(A) <= F(A) - F(empty set)``, with equality for the set of all elements,
    where ``x(A) = sum_{i in A} x[i]``. The oracle is the greedy algorithm, for the cost of a sort
    and a `SubmodularFunction.base`: elements come in the order of ascending gradients, the first
    among equals first, and each gets its marginal gain. `contains` minimizes ``F(A) - x(A)``. The
    function is not checked to be submodular.

    Parameters
    ----------
    function : SubmodularFunction or callable
        The function; a callable gets a mask, an array of ``size`` bools that are True for the
        elements of a set, and returns a number.
    size : int or None, default=None
        Number of elements; needed for a callable.

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

    def _contains(self, x, tol):
        from .._frank_wolfe._corrective import is_in_hull

        return is_in_hull(self, x, tol)


class Permutahedron(Projectable):
    """Permutahedron: convex hull of all orders of a list of numbers.

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
        self.values = np.sort(check.shaped(values, "values", "size"))[::-1] + 0.0
        self.size = self.values.size

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
