"""Lowest sets of submodular functions, by Frank-Wolfe methods on their base polytopes."""

import math

import numpy as np
from scipy.optimize import OptimizeResult

from ..._core import check
from .._ends import end_of, fields_of, run_to_end
from ..domains._base import DenseAtom, Domain
from ..objectives import Objective
from ..set_functions import SubmodularFunction, as_submodular, base_of, is_known
from ._core import Minimization
from ._corrective import QuadraticCorrection
from ._minimize import REFRESH
from ._steps import named_rule

VARIANTS = ("min_norm_point", "pairwise", "away", "fw")
# Shares of the sum of the absolute entries of the first base:
GAP = 1e-10  # default of tol
VIOLATION = 1e-8  # what a base may exceed the function by, since values are rounded


def minimize_submodular(
    function,
    size=None,
    *,
    variant="min_norm_point",
    integer_valued="auto",
    normalize=True,
    start=None,
    max_iter=10_000,
    tol=None,
    time_limit=None,
    callback=None,
    verbose=0,
):
    """Minimize a submodular set function, with a certificate.

    Minimizes F over all subsets of ``{0, ..., size - 1}`` by way of the shortest base::

        min over A of F(A) = F(empty set) + max over bases x of sum_i min(x[i], 0)

    Each iteration computes one base by the greedy algorithm, which also gives the values of a chain
    of ``size + 1`` sets. The best set so far is the answer, the best base bounds all sets from
    below. Choose it for functions of any form; for pairs of elements only,
    `sklearn_fw.inference.GraphCut` is faster on large graphs.

    Parameters
    ----------
    function : SubmodularFunction or callable
        The function. A callable gets a mask, an array of ``size`` bools that are True for the
        elements of a set, and returns a number.
    size : int or None, default=None
        Number of elements; needed for a callable.
    variant : {"min_norm_point", "pairwise", "away", "fw"}, default="min_norm_point"
        Wolfe's method, which goes to the shortest mean of all its bases each time; or Frank-Wolfe
        steps on half the squared length, for comparison.
    integer_valued : bool or "auto", default="auto"
        Whether all values are integers: the search then ends at a gap below one. "auto" takes the
        attribute of the function, and False for a callable.
    normalize : bool, default=True
        Whether to subtract the value of the empty set, where it is not zero; else it is an error.
    start : array-like of shape (size,) or None, default=None
        The first base is that of the order of ascending entries: ``base_point`` of a similar
        problem, for example. None is the order 0, 1, 2, ...
    max_iter : int, default=10000
        Largest number of iterations, each with one base.
    tol : float or None, default=None
        Largest gap, in units of F; None is 1e-10 of the l1 norm of the first base.
    time_limit : float or None, default=None
        Seconds after which no new iteration begins.
    callback : callable or None, default=None
        Called after each iteration with an `OptimizeResult`; returning True ends the loop.
    verbose : int, default=0
        Log a line per iteration.

    Returns
    -------
    result : OptimizeResult
        ``x`` (mask of the best set), ``fun`` (its value), ``lower_bound`` (no set is lower),
        ``dual_gap`` (their difference), ``base_point`` (the last base, without the value of the
        empty set), ``nit``, ``n_oracle_calls``, ``n_away``, ``n_drop``, ``success``, ``status``,
        ``message``, and ``history`` (dict of arrays).

    Notes
    -----
    One base costs ``size + 1`` values of a callable, and one pass over edges or entries for the
    functions of `sklearn_fw.optim.set_functions`. Wolfe's method adds k^3 / 3 for k bases in use,
    and ends after finitely many iterations. The bound holds for submodular functions; others are
    refused when a base in use exceeds the function on a set that was valued.

    References
    ----------
    .. [1] S. Fujishige, "Lexicographically optimal base of a polymatroid with respect to a weight
       vector", Mathematics of Operations Research 5, 1980.
    .. [2] P. Wolfe, "Finding the nearest point in a polytope", Mathematical Programming 11, 1976.
    .. [3] S. Lacoste-Julien, M. Jaggi, "On the global linear convergence of Frank-Wolfe
       optimization variants", NIPS 2015: Algorithm 5, appendix A.2.

    Examples
    --------
    Two groups of nodes, and what it costs to leave node 0 out or to take node 3 in:

    >>> from sklearn_fw.optim import minimize_submodular, set_functions
    >>> edges = [(0, 1), (1, 2), (2, 3)]
    >>> cut = set_functions.CutFunction(edges, weights=[3.0, 1.0, 2.0])
    >>> result = minimize_submodular(cut + set_functions.ModularFunction([-5.0, 0.0, 0.0, 5.0]))
    >>> result.x
    array([ True,  True, False, False])
    >>> result.fun, result.lower_bound
    (-4.0, -4.0)
    """
    check.choice(variant, "variant", VARIANTS)
    bases = ScaledBases(as_submodular(function, size), start)
    bound = Rounding(bases, integer_valued, normalize)
    tol = GAP * bound.size if tol is None else check.not_negative(tol, "tol")
    if variant == "min_norm_point":
        run = Corrected(bases, bound, variant=variant)
    else:
        rule = named_rule("exact")
        run = Stepwise(bases, bound, variant=variant, rule=rule, refresh=REFRESH)
    asks = end_of(callback, lambda: OptimizeResult(**run.bound.fields(), nit=run.n_iter + 1))
    outcome = run_to_end(
        run, tol=tol, max_iter=max_iter, time_limit=time_limit, verbose=verbose, end=asks
    )
    return OptimizeResult(
        **bound.fields(), base_point=run.iterate.point * bound.scale,
        n_oracle_calls=bases.n_calls, n_away=run.n_away, n_drop=run.n_drop,
        **fields_of(outcome, bound.dual_gap, tol),
    )  # fmt: skip


class Base(DenseAtom):
    """A base together with the order in which the greedy algorithm made it."""

    def __init__(self, array, order):
        super().__init__(array)
        self.order = order


class ScaledBases(Domain):
    """Bases divided by a power of two near the length of the first one, which rounds nothing."""

    def __init__(self, function, start):
        self.function, self.size, self.n_calls, self.scale = function, function.size, 0, 1.0
        first = self.lmo(np.zeros(self.size) if start is None else self._vector(start, "start"))
        length = float(np.linalg.norm(first.array))
        self.scale = 2.0 ** round(math.log2(length)) if length > 0.0 else 1.0
        self.first = Base(first.array / self.scale, first.order)

    def lmo(self, gradient):
        self.n_calls += 1
        order = np.argsort(gradient, kind="stable")
        return Base(base_of(self.function, order) / self.scale, order)


class Rounding:
    """The best set that was valued and the best bound of a base, of F less F(empty set)."""

    def __init__(self, bases, integer_valued, normalize):
        self.function = function = bases.function
        self.is_known, self.scale = is_known(function), bases.scale
        self.size = float(np.abs(bases.first.array).sum()) * self.scale
        if isinstance(integer_valued, str):
            check.choice(integer_valued, "integer_valued", ("auto",), "True or False")
            integer_valued = function.integer_valued
        self.is_integer = check.flag(integer_valued, "integer_valued")
        self.offset = function._checked(np.zeros(function.size, bool))
        if not check.flag(normalize, "normalize") and self.offset != 0.0:
            raise ValueError(
                f"function gives {self.offset} for the empty set, expected 0: subtract it, or "
                f"leave that to normalize=True"
            )
        self.value, self.lower, self.best = 0.0, -math.inf, np.empty(0, np.int64)
        if not self.is_known:
            self._value_in_reverse(bases)

    @property
    def dual_gap(self):
        return max(self.value - self.lower, 0.0)

    def look(self, x, atom, atoms):
        """Value the sets of the order of a base; bound with it and with x, a mean of ``atoms``."""
        gains = atom.array[atom.order] * self.scale
        if self.is_integer and np.any(gains != np.round(gains)):
            raise ValueError("function has values that are not integers, but integer_valued=True")
        values = np.cumsum(gains)
        lowest = int(values.argmin())
        if values[lowest] < self.value:
            self.value, self.best = float(values[lowest]), atom.order[: lowest + 1]
        lower = max(np.minimum(base, 0.0).sum() for base in (x, atom.array)) * self.scale
        if self.is_integer:
            lower = math.ceil(lower - VIOLATION * max(self.size, 1.0))
        self.lower = max(self.lower, float(lower))
        if not self.is_known:
            self._verify(atom.order, values, atoms)

    def _value_in_reverse(self, bases):
        """Value the chain of the first base in reverse, which few functions pass by chance."""
        order = bases.first.order[::-1].copy()
        base = told = SubmodularFunction.base(self.function, order)  # by the values
        if type(self.function).base is not SubmodularFunction.base:
            told = base_of(self.function, order)
        if np.abs(base - told).max() > VIOLATION * self.size:
            raise ValueError(f"the base of {self.function!r} contradicts its values")
        bases.n_calls += 1
        self.look(bases.first.array, Base(base / self.scale, order), [bases.first])

    def _verify(self, order, values, atoms):
        """Refuse a function that a base exceeds on a set of a chain."""
        sums = np.cumsum([base.array[order] for base in atoms], axis=1) * self.scale
        over = sums - values
        row, column = np.unravel_index(over.argmax(), over.shape)
        if over[row, column] > VIOLATION * max(self.size, np.abs(values).max()):
            self._witness(atoms[row].order, order[: column + 1])

    def _witness(self, order, members):
        """Name an element that adds more to a set than to a smaller one.

        A base is the sum of what elements add to all before them. Were that nowhere more than what
        they add to the members before them, the base could not exceed F.
        """
        smaller, larger = np.zeros((2, len(order)), bool)
        inside, found = np.isin(np.arange(len(order)), members), []
        for element in order.tolist():
            if inside[element]:
                gains = [self._gain(before, element) for before in (larger, smaller)]
                sets = [np.flatnonzero(before).tolist() for before in (larger, smaller)]
                found.append((gains[0] - gains[1], element, gains, sets))
            larger[element] = True
            smaller[element] = inside[element]
        _, element, gains, sets = max(found)
        raise ValueError(
            f"function is not submodular: element {element} adds {gains[0]:.9g} to the set "
            f"{sets[0]}, but {gains[1]:.9g} to its subset {sets[1]}"
        )

    def _gain(self, members, element):
        together = members.copy()
        together[element] = True
        return self.function._checked(together) - self.function._checked(members)

    def fields(self):
        x = np.zeros(self.function.size, bool)
        x[self.best] = True
        fun = self.function._checked(x)  # a sum of gains is rounded more often
        lower = min(self.lower + self.offset, fun)
        return {"x": x, "fun": fun, "lower_bound": lower, "dual_gap": fun - lower}

    def row(self):
        return {
            "objective": self.value + self.offset,
            "dual_objective": self.lower + self.offset,
            "dual_gap": self.dual_gap,
        }


class Shortest:
    """The part of a run on half the squared length that rounds to sets and counts their gap."""

    def __init__(self, bases, bound, **options):
        self.bound, self.before = bound, math.inf
        super().__init__(HalfSquare(bases.size), bases, start=bases.first, **options)

    @property
    def is_stuck(self):
        return self.gap <= 0.0 or not self.value < self.before

    def advance(self):
        self.before = self.value
        super().advance()

    def look(self):
        super().look()
        atom, active = self.iterate.atom, self.iterate.active
        atoms = [atom] if active is None else active.atoms
        self.bound.look(self.iterate.point, atom, atoms)

    def row(self):
        row = {"n_oracle_calls": self.iterate.domain.n_calls, **self.bound.row()}
        return row | ({"n_atoms": self.n_atoms} if self.iterate.active is not None else {})


class Corrected(Shortest, QuadraticCorrection):
    """Wolfe's method: to the shortest mean of all bases, then one base more."""


class Stepwise(Shortest, Minimization):
    """Steps towards one base or from one to another."""


class HalfSquare(Objective):
    is_quadratic = True

    def __init__(self, size):
        self.size = size

    def image(self, point):
        return point if isinstance(point, np.ndarray) else point.to_array()

    def slopes(self, image):
        return 0.5 * float(image @ image), image

    def adjoint(self, slopes):
        return slopes.copy()
