"""Saddle points of smooth convex-concave functions over sets known by linear oracles."""

import math
from numbers import Integral, Real

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.exceptions import ConvergenceWarning

from ..._budget import time_budget
from ..._loop import IterativeMethod, drive
from ..._result import Status
from ..._validation import (
    check_array_of_numbers,
    check_choice,
    check_integer,
    check_magnitude,
    check_not_negative,
    check_random_state,
)
from ..._warnings import warn
from .._frank_wolfe._active_set import ActiveSet
from ..domains._base import check_domain
from ._saddle_steps import StepState, resolve_step_size

__all__ = [
    "ask",
    "check_answer",
    "fields_of",
    "solve_saddle_point",
    "split_start",
    "start_of",
]

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
        the step that led there, counts). For "away" and "pairwise" the last point is
        ``weights_x @ atoms_x`` and ``weights_y @ atoms_y``; these are None else.

    Raises
    ------
    ValueError
        For parameters out of range, missing constants, "adaptive" with a coupling that is too
        strong, ``step_size="line_search"``, a start outside of its domain, values or gradients that
        are not finite or of another shape, an oracle that answers with worse points than it is
        asked at.

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
    each gradient with all vertices of the combination, which are kept as dense rows. Results are
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
        if variant in ("away", "pairwise") and not getattr(domain, "is_polytope", True):
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
        Side(domain, name, variant, *begin)
        for domain, name, begin in zip((domain_x, domain_y), "xy", split_start(start, variant))
    ]
    if variant == "block":
        run = BlockRun(function, sides, rng)
    else:
        run = SaddleRun(function, sides, variant, rule)

    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")

    def end():
        x, y = run.x.copy(), run.y.copy()
        answer = callback(
            OptimizeResult(x=x, y=y, fun=run.value, dual_gap=run.dual_gap, nit=run.n_iter + 1)
        )
        if not (answer is None or isinstance(answer, bool | np.bool_)):
            raise TypeError(f"callback must return True, False or None, got {answer!r}")
        return bool(answer)

    with time_budget(time_limit):
        outcome = drive(
            run, tol=tol, max_iter=check_integer(max_iter, "max_iter", 1),
            verbose=check_integer(verbose, "verbose", 0), end=None if callback is None else end,
        )  # fmt: skip
    best, (side_x, side_y) = run.best, sides
    return OptimizeResult(
        x=best.x, y=best.y, fun=best.fun, dual_gap=best.dual_gap,
        x_last=run.x, y_last=run.y, dual_gap_last=run.dual_gap,
        n_oracle_calls=sum(side.n_calls for side in sides), n_away=run.n_away,
        n_drop=run.n_drop, **side_x.combination(), **side_y.combination(),
        **fields_of(outcome, best.dual_gap, tol),
    )  # fmt: skip


def start_of(domain, name, point=None):
    """A point to start from, as a new array."""
    given = point is not None
    if not (given or hasattr(domain, "start")):
        raise ValueError(
            f"domain_{name} has no start(): give start=(x, y), or derive it from Domain"
        )
    point = np.array(
        check_array_of_numbers(point if given else domain.start(), f"the start of {name}")
    )
    check_magnitude(point, f"the start of {name}")
    size = getattr(domain, "size", point.size)
    if not isinstance(size, Integral) or size < 1:
        raise ValueError(f"the size of domain_{name} must be a positive integer, got {size!r}")
    if point.shape != (size,):
        raise ValueError(
            f"the start of {name} must be a vector of length {size}, got shape {point.shape}"
        )
    if given and _is_outside(domain, point, 1e-6 * max(1.0, np.abs(point).sum())):
        raise ValueError(f"the start of {name} is not in domain_{name}")
    return point


def _is_outside(domain, point, tol):
    """Whether a point violates a constraint that is known; factors of a product may have none."""
    if hasattr(domain, "blocks"):
        parts = zip(domain.domains, domain.blocks)
        return any(_is_outside(factor, point[block], tol) for factor, block in parts)
    return hasattr(domain, "contains") and not domain.contains(point, tol)


def ask(domain, name, gradient):
    """The answer of an oracle, in an array of its own: an oracle may return its own memory."""
    # A copy goes out, too: an oracle that writes to it must not change the gap.
    vertex = domain.lmo(gradient.copy())
    vertex = np.array(check_array_of_numbers(vertex, f"what the lmo of domain_{name} returned"))
    if vertex.shape != gradient.shape:
        raise ValueError(
            f"the lmo of domain_{name} returned shape {vertex.shape}, expected {gradient.shape}"
        )
    return vertex


def check_answer(vertex, name, gradient, point):
    """Refuse an answer that is worse than another point of the domain."""
    loss = gradient @ (vertex - point)
    if not loss <= 1e-6 * (np.abs(gradient) @ (np.abs(vertex) + np.abs(point))):
        raise ValueError(
            f"the lmo of domain_{name} returned a point that is worse than the current one by "
            f"{loss:.3g}: it must minimise <gradient, v> over a set with all iterates"
        )


def fields_of(outcome, dual_gap, tol):
    """Fields of a result that say how a run ended; warns when it was not as asked."""
    fields = outcome.fields()
    if outcome.status in (Status.MAX_ITER, Status.TIME_LIMIT):
        fields["message"] = (
            f"gap {dual_gap:.3g} > {tol:.3g} after {outcome.n_iter} iterations: increase "
            f"{fields['status']} or tol"
        )
        if tol > 0:
            warn(fields["message"], ConvergenceWarning)
    return fields


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


class Side:
    """One player: the point, the oracle's answer to the last gradient, and steps.

    All gradients here are those that this player descends, so that of y is -dL/dy.
    """

    def __init__(self, domain, name, variant, start=None, combination=None):
        self.domain, self.name, self.n_calls = domain, name, 0
        self.active = None
        atoms, weights = combination or ([start], [1.0])
        atoms = [start_of(domain, name, atom) for atom in atoms]
        self.point = atoms[0]
        if variant in ("away", "pairwise"):
            self.active = ActiveSet(atoms, weights)
            self.point = self.active.point()
        self.vertex = self.worst = None
        self.gap = self.away_gap = self.length = 0.0

    def look(self, gradient):
        """Ask the oracle, and find the worst atom."""
        self.vertex = self.ask(self.domain, gradient, self.point)
        direction = self.point - self.vertex
        self.gap = float(gradient @ direction)
        self.length = float(np.linalg.norm(direction))
        if self.active is not None:
            self.worst = self.active.worst(gradient)
            self.away_gap = float(gradient @ (self.active.atoms[self.worst] - self.point))

    def ask(self, domain, gradient, point):
        """The checked answer of an oracle."""
        self.n_calls += len(getattr(domain, "blocks", "1"))
        vertex = ask(domain, self.name, gradient)
        check_answer(vertex, self.name, gradient, point)
        return vertex

    def longest(self, kind):
        """Longest step that this side allows."""
        if kind == "fw":
            return 1.0
        if kind == "away":
            return self.active.longest_away(self.worst)
        if self.active.is_at(self.worst, self.vertex):
            return math.inf  # nothing to move
        return self.active.longest_swap(self.worst)

    def advance(self, kind, step):
        """Make the step of the pair of players on this side."""
        if self.active is None:
            self.point = (1.0 - step) * self.point + step * self.vertex
            return
        if kind == "fw":
            self.active.towards(self.vertex, step)
        elif kind == "away":
            self.active.away(self.worst, step)
        else:
            self.active.swap(self.worst, self.vertex, step)
        self.point = self.active.point()

    def combination(self):
        """Fields of the result."""
        active = self.active
        return {
            f"atoms_{self.name}": None if active is None else active.atoms.copy(),
            f"weights_{self.name}": None if active is None else active.weights.copy(),
        }


class SaddleRun(IterativeMethod):
    """The gap of the current point, and steps."""

    def __init__(self, function, sides, variant, rule):
        self.function, self.sides = function, sides
        self.variant, self.rule = variant, rule
        self.n_iter = -1  # of steps, so that the first gap is that of step 0
        self.n_good = self.n_away = self.n_drop = 0
        self.step_length = 0.0
        self.value = self.dual_gap = self.best = None

    @property
    def x(self):
        """The minimising player's point."""
        return self.sides[0].point

    @property
    def y(self):
        """The maximising player's point."""
        return self.sides[1].point

    def step(self):
        """Leave the last point, which was not good enough, and find the gap of the new one."""
        if self.n_iter >= 0:
            self.advance()
        self.n_iter += 1
        return self.certify()

    def gradients(self):
        """What each side descends, checked."""
        answer = self.function(self.x, self.y)
        if not (isinstance(answer, (tuple, list)) and len(answer) == 3):
            raise ValueError(
                f"function must return (value, gradient_x, gradient_y), got {answer!r}"
            )
        value, *gradients = answer
        gradients = [
            check_array_of_numbers(gradient, f"gradient_{side.name} of function", finite=None)
            for gradient, side in zip(gradients, self.sides)
        ]
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.item()
        if not isinstance(value, Real):
            raise ValueError(f"function must return a number as value, got {value!r}")
        for gradient, side in zip(gradients, self.sides):
            if gradient.shape != side.point.shape:
                raise ValueError(
                    f"function returned a gradient_{side.name} of shape {gradient.shape}, expected "
                    f"{side.point.shape}"
                )
        if not (np.isfinite(value) and all(np.all(np.isfinite(g)) for g in gradients)):
            raise ValueError(f"function returned NaN or infinity after {max(self.n_iter, 0)} steps")
        return float(value), (gradients[0], -gradients[1])

    def certify(self):
        """Gradients and oracles at the current point; the row of the history."""
        self.value, gradients = self.gradients()
        for side, gradient in zip(self.sides, gradients):
            side.look(gradient)
        gap_x, gap_y = (side.gap for side in self.sides)
        self.dual_gap = gap_x + gap_y
        if self.best is None or self.dual_gap < self.best.dual_gap:
            self.best = OptimizeResult(
                x=self.x.copy(), y=self.y.copy(), fun=self.value, dual_gap=self.dual_gap
            )
        row = {
            "n_oracle_calls": sum(side.n_calls for side in self.sides),
            "objective": self.value,
            "dual_gap": self.dual_gap,
            "gap_x": gap_x,
            "gap_y": gap_y,
            "step_size": self.step_length,
        }
        if self.sides[0].active is not None:
            row["pairwise_gap"] = self.dual_gap + sum(side.away_gap for side in self.sides)
            row |= {name: getattr(self, name) for name in ("n_good", "n_away", "n_drop")}
            row |= {f"n_atoms_{side.name}": len(side.active) for side in self.sides}
        return row

    def solution(self):
        """The point of smallest gap."""
        return self.best

    def n_atoms(self):
        """Number of atoms of both combinations."""
        return sum(0 if side.active is None else len(side.active) for side in self.sides)

    def advance(self):
        """One step of both sides, of common length."""
        kind, away_gap = self.variant, sum(side.away_gap for side in self.sides)
        if kind == "away" and self.dual_gap >= away_gap:
            kind = "fw"
        longest = min(side.longest(kind) for side in self.sides)
        gaps = {"fw": self.dual_gap, "away": away_gap, "pairwise": self.dual_gap + away_gap}
        wanted = self.rule(StepState(
            n_iter=self.n_iter, n_good=self.n_good, dual_gap=self.dual_gap,
            pairwise_gap=None if self.variant == "fw" else gaps["pairwise"],
            direction_gap=gaps[kind], max_step=longest,
            length_x=self.sides[0].length, length_y=self.sides[1].length,
        ))  # fmt: skip
        if not isinstance(wanted, Real):
            raise TypeError(f"step_size must give numbers, got {wanted!r} in step {self.n_iter}")
        try:
            wanted = float(wanted)
        except OverflowError:  # a large integer
            wanted = math.inf
        self.step_length = min(wanted, longest)
        if not 0.0 <= self.step_length < math.inf:
            raise ValueError(
                f"step_size must give finite numbers that are not negative, got {wanted} in step "
                f"{self.n_iter}"
            )
        n_atoms = self.n_atoms()
        for side in self.sides:
            side.advance(kind, self.step_length)
        # A full step towards vertices is no drop, which would hold k at zero. Neither is a cut that
        # exchanges one vertex for another: these can follow each other without end.
        dropped = wanted > longest and kind != "fw" and self.n_atoms() < n_atoms
        self.n_drop += dropped
        self.n_good += not dropped
        self.n_away += kind == "away"


class BlockRun(SaddleRun):
    """Passes of steps on x and on one random factor of y each."""

    def __init__(self, function, sides, rng):
        super().__init__(function, sides, "block", None)
        self.rng, self.product = rng, sides[1].domain

    def advance(self):
        """A pass of as many steps as there are factors."""
        n, (side_x, side_y) = len(self.product.domains), self.sides
        for i in self.rng.randint(n, size=n):
            _, (descent_x, descent_y) = self.gradients()
            block, factor = self.product.blocks[i], self.product.domains[i]
            vertex = side_y.ask(factor, descent_y[block], side_y.point[block])
            side_x.vertex = side_x.ask(side_x.domain, descent_x, side_x.point)
            self.step_length = 2.0 * n / (2.0 * n + self.n_good)
            side_x.advance("fw", self.step_length)
            y = side_y.point.copy()
            y[block] = (1.0 - self.step_length) * y[block] + self.step_length * vertex
            side_y.point = y
            self.n_good += 1
