"""Saddle points of smooth convex-concave functions over sets known by linear oracles."""

from scipy.optimize import OptimizeResult

from ..._core.budget import time_budget
from ..._core.loop import drive
from ..._core.validation import (
    check_choice,
    check_integer,
    check_not_negative,
    check_random_state,
)
from ..._core.warnings import warn
from ..._kernels.common.step_rules import FW, open_loop_step
from .._ends import end_of, fields_of
from .._frank_wolfe._core import KINDS, FrankWolfe, checked_derivatives
from .._frank_wolfe._iterate import Iterate
from ..domains._base import check_domain
from ._saddle_steps import resolve_step_size

VARIANTS = ("fw", "away", "pairwise", "block")


def solve_saddle_point(
    function,
    domain_x,
    domain_y,
    *,
    variant="fw",
    step_size="universal",
    constants=None,
    start=None,
    max_iter=1000,
    tol=1e-3,
    time_limit=None,
    callback=None,
    random_state=None,
    verbose=0,
):
    """Find a saddle point over sets on which one can only minimise linear functions.

    Solves, for a smooth L that is convex in x and concave in y::

        min over x in X of max over y in Y of L(x, y)

    with the certificate ``gap = <dL/dx, x - s_x> + <dL/dy, s_y - y>``, where s_x and s_y are the
    best points of X and Y for the linearised function. It is never less than
    ``max over Y of L(x, .) - min over X of L(., y)``, and equal to it where L is linear in x and
    in y. Choose this where projections are expensive, as on matchings, flows, or simplices with
    very many vertices; where they are cheap, extragradient methods are faster.

    Parameters
    ----------
    function : callable
        ``function(x, y) -> (value, gradient_x, gradient_y)`` with the derivatives of L itself in x
        and y, of the shapes of x and y. It must not change its arguments.
    domain_x, domain_y : domain objects
        The sets X and Y: objects of `sklearn_fw.optim.domains`, or your own with a method ``lmo``.
    variant : {"fw", "away", "pairwise", "block"}, default="fw"
        Steps towards the vertices s; besides, steps away from the worst vertices of the current
        combination; steps that move weight from these to s; or steps towards s_x and towards the
        vertex of one random factor of Y, which must be a `sklearn_fw.optim.domains.Product`. "away"
        and "pairwise" are for polytopes and find solutions on the boundary sooner, "block" is for
        many factors with expensive oracles. No convergence is proved for "pairwise" and "block".
    step_size : str, float or callable, default="universal"
        "universal" is ``2 / (2 + k)`` and "fictitious" is ``1 / (1 + k)``, with k the number of
        steps so far that did not drop a vertex; they need no constants. "adaptive" has a linear
        rate for strongly convex-concave functions that are weakly coupled, "heuristic" often has
        one with any coupling, "strongly_convex_set" has one on balls where gradients do not vanish.
        A number is the same step each time; a callable gets the state described below. "block"
        takes "universal" only, with ``2 n / (2 n + k)`` for n factors and k block steps.
    constants : SaddleConstants or None, default=None
        What "adaptive", "heuristic" and "strongly_convex_set" must know.
    start : (x, y), result of an earlier call, or None, default=None
        Where to start; None means ``domain.start()``. A point given for "away" and "pairwise"
        should be a vertex, else it is kept as if it were one. After a call with one of these, its
        combination of vertices is taken up again. The count k begins anew, so that the first step
        of "fw" with "universal" or "fictitious" has length one: of the start it keeps no more than
        the vertices to which it leads.
    max_iter : int, default=1000
        Largest number of iterations, each with one gradient and one call of each oracle. With
        "block" one iteration is a pass of n block steps and a gap.
    tol : float, default=1e-3
        Stop when the gap is at most this, in units of L.
    time_limit : float or None, default=None
        Seconds after which no new iteration begins.
    callback : callable or None, default=None
        Called after each iteration with an OptimizeResult that has ``x``, ``y``, ``fun``,
        ``dual_gap`` and ``nit``; returning True ends the loop.
    random_state : int, RandomState or None, default=None
        Order of the factors with "block"; else not used.
    verbose : int, default=0
        Log a line per iteration.

    Returns
    -------
    result : OptimizeResult
        ``x``, ``y``, ``fun`` and ``dual_gap`` of the iterate with the smallest gap, ``x_last``,
        ``y_last`` and ``dual_gap_last`` of the last one, ``nit``, ``n_oracle_calls`` (of both sets
        together; a factor counts as a call), ``n_away``, ``n_drop`` (steps that were cut since
        they used up the weight of a vertex, and left fewer vertices), ``success``, ``status``,
        ``message``, and ``history`` (dict of arrays: the gap, its parts of x and y, the objective,
        the step that led there, counts). For "away" and "pairwise" the last points are the sums of
        ``atoms_x`` and ``atoms_y``, lists of `sklearn_fw.optim.domains.Atom`, with ``weights_x``
        and ``weights_y``; these are None else.

    Warns
    -----
    ConvergenceWarning
        When a budget ends before the gap is at most ``tol``.
    RuntimeWarning
        When "away" or "pairwise" is used on a domain that is no polytope: combinations grow with
        every step, and no rate is known.

    See Also
    --------
    solve_matrix_game : For ``L(x, y) = x'My``, cheaper and with bounds on the value.
    SaddleConstants : The constants, and the rates that follow.

    Notes
    -----
    One iteration costs one gradient and both oracles, and with "away" and "pairwise" a product of
    each gradient with all atoms of the combination, which are kept as they come. Results are
    the same in every run with the same ``random_state``. The gap need not fall from step to step.
    "block" asks the function for all derivatives in every block step.

    A callable step size gets an object with ``n_iter`` and ``n_good`` (steps so far, and k),
    ``dual_gap``, ``pairwise_gap`` (of moving from the worst vertices to s; None for "fw"),
    ``direction_gap`` (of the direction that is taken), ``max_step`` (infinite if nothing limits
    it), ``length_x`` and ``length_y`` (Euclidean distance from the point to s). Steps that are
    longer than ``max_step`` are cut.

    Line searches on L are refused, since they do not converge [1]_. Deviations from [1]_: steps of
    "strongly_convex_set" are cut at 1; with "pairwise", a side that has nothing to move does not
    limit the step, and a cut that exchanges one vertex for another counts in k, since otherwise
    steps could stay as they are for ever.

    References
    ----------
    .. [1] G. Gidel, T. Jebara, S. Lacoste-Julien, "Frank-Wolfe algorithms for saddle point
       problems", AISTATS 2017: Algorithms 2 to 4, Theorems 1 and 4, and section 6 for "block".
    .. [2] J. H. Hammond, "Solving asymmetric variational inequality problems and systems of
       equations with generalized nonlinear programming algorithms", PhD thesis, MIT, 1984.

    Examples
    --------
    A strongly convex-concave function on two squares, with its saddle point in the corner (1, 0) of
    the first and inside of the second:

    >>> import numpy as np
    >>> from sklearn_fw.optim import domains, solve_saddle_point
    >>> def function(x, y):
    ...     dx, dy = x - [1.0, 0.0], y - [0.5, 0.25]
    ...     value = dx @ dx + dx @ dy - dy @ dy
    ...     return value, 2 * dx + dy, dx - 2 * dy
    >>> square = domains.Box(0.0, 1.0, size=2)
    >>> result = solve_saddle_point(function, square, square, variant="away", tol=0.01)
    >>> result.dual_gap <= 0.01
    True
    >>> result.x.round(1), result.y.round(1)
    (array([1., 0.]), array([0.5, 0.2]))
    """
    check_choice(variant, "variant", VARIANTS)
    if not callable(function):
        raise ValueError(
            f"function must be callable, function(x, y) -> (value, gradient_x, gradient_y); got "
            f"{function!r}"
        )
    for domain, name in ((domain_x, "domain_x"), (domain_y, "domain_y")):
        check_domain(domain, name)
        if keeps_atoms(variant) and not getattr(domain, "is_polytope", True):
            warn(
                f"{name} is no polytope: variant={variant!r} keeps a new point of every step and "
                f"has no known rate; 'fw' suits it better",
                RuntimeWarning,
            )
    if variant == "block" and not hasattr(domain_y, "blocks"):
        raise ValueError(f"variant='block' needs a domains.Product for domain_y, got {domain_y!r}")
    tol, rng = check_not_negative(tol, "tol"), check_random_state(random_state)
    rule = resolve_step_size(step_size, variant, constants, domain_x, domain_y)
    sides = [
        Iterate(domain, name, start=point, combination=combination, active=keeps_atoms(variant))
        for domain, name, (point, combination) in zip(
            (domain_x, domain_y), "xy", split_start(start, variant)
        )
    ]
    if variant == "block":
        run = BlockRun(function, sides, rng)
    else:
        run = SaddleRun(function, sides, variant, rule)

    with time_budget(time_limit):
        outcome = drive(
            run, tol=tol, max_iter=check_integer(max_iter, "max_iter", 1),
            verbose=check_integer(verbose, "verbose", 0), end=end_of(callback, run.state),
        )  # fmt: skip
    best, (side_x, side_y) = run.best, sides
    return OptimizeResult(
        x=best.x, y=best.y, fun=best.fun, dual_gap=best.dual_gap,
        x_last=run.x, y_last=run.y, dual_gap_last=run.dual_gap,
        n_oracle_calls=sum(side.n_calls for side in sides), n_away=run.n_away,
        n_drop=run.n_drop, **combination_of(side_x), **combination_of(side_y),
        **fields_of(outcome, best.dual_gap, tol),
    )  # fmt: skip


def keeps_atoms(variant):
    """Whether steps of a variant need to know the atoms of a point."""
    return KINDS.get(variant, 0) != KINDS["fw"]


def split_start(start, variant="fw"):
    """For each side the point to start from, or None, and its combination of atoms, or None."""
    if isinstance(start, OptimizeResult):
        if variant in ("away", "pairwise") and start.get("atoms_x") is not None:
            x, y = ((start[f"atoms_{name}"], start[f"weights_{name}"]) for name in "xy")
            return (None, x), (None, y)
        start = start.x_last, start.y_last
    elif start is None:
        start = None, None
    elif not (isinstance(start, (tuple, list)) and len(start) == 2 and not _has_none(start)):
        raise ValueError(f"start must be (x, y), an earlier result or None; got {start!r}")
    return tuple((point, None) for point in start)


def _has_none(pair):
    return any(point is None for point in pair)


def combination_of(side):
    """Fields of the result: the atoms of one player, and their weights."""
    atoms, weights = f"atoms_{side.name}", f"weights_{side.name}"
    if side.active is None:
        return {atoms: None, weights: None}
    return {atoms: side.active.atoms, weights: side.active.weights.copy()}


class SaddleRun(FrankWolfe):
    """Steps of two players; the gradient of y is -dL/dy, so that both descend."""

    def __init__(self, function, sides, variant, rule):
        super().__init__(sides, variant, rule)
        self.function, self.best = function, None

    @property
    def x(self):
        """The minimising player's point."""
        return self.iterates[0].point

    @property
    def y(self):
        """The maximising player's point."""
        return self.iterates[1].point

    def gradients(self):
        """The value, and what each side descends, checked."""
        wanted = [("gradient_x", self.x), ("gradient_y", self.y)]
        answer = self.function(self.x, self.y)
        value, (gradient_x, gradient_y) = checked_derivatives(answer, wanted, self.n_iter)
        return value, (gradient_x, -gradient_y)

    def look(self):
        self.value, gradients = self.gradients()
        for side, gradient in zip(self.iterates, gradients):
            side.look(gradient)

    def row(self):
        if self.best is None or self.dual_gap < self.best.dual_gap:
            self.best = OptimizeResult(
                x=self.x.copy(), y=self.y.copy(), fun=self.value, dual_gap=self.dual_gap
            )
        row = super().row()
        row |= {f"gap_{side.name}": side.gap + side.slack for side in self.iterates}
        if "pairwise_gap" in row:
            row |= {f"n_atoms_{side.name}": side.n_atoms for side in self.iterates}
        return row

    def state(self):
        """What a callback sees."""
        x, y = self.x.copy(), self.y.copy()
        return OptimizeResult(x=x, y=y, fun=self.value, dual_gap=self.dual_gap, nit=self.n_iter + 1)

    def solution(self):
        """The point of smallest gap."""
        return self.best


class BlockRun(SaddleRun):
    """Passes of steps on x and on one random factor of y each."""

    def __init__(self, function, sides, rng):
        super().__init__(function, sides, "block", None)
        self.rng, self.product = rng, sides[1].domain

    def advance(self):
        """A pass of as many steps as there are factors."""
        n, (side_x, side_y) = len(self.product.domains), self.iterates
        for i in self.rng.randint(n, size=n):
            _, (descent_x, descent_y) = self.gradients()
            block, factor = self.product.blocks[i], self.product.domains[i]
            atom = side_y.ask(factor, descent_y[block], side_y.point[block])
            side_x.atom = side_x.ask(side_x.domain, descent_x, side_x.point)
            self.step_length = open_loop_step(self.n_good, n, 1.0)
            side_x.advance(FW, self.step_length)
            side_y.point = side_y.point.copy()
            side_y.point[block] *= 1.0 - self.step_length
            atom.add_to(side_y.point[block], self.step_length)
            self.n_good += 1
