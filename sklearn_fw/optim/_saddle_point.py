"""Saddle points of smooth convex-concave functions over sets known by linear oracles."""

import math
from dataclasses import dataclass, fields, replace
from numbers import Real

from scipy.optimize import OptimizeResult

from .._core.validation import (
    check_choice,
    check_flag,
    check_not_negative,
    check_random_state,
    is_named,
)
from .._core.warnings import warn
from .._kernels.common.step_rules import FW, open_loop_step
from ._ends import end_of, fields_of, run_to_end
from ._frank_wolfe._core import KINDS, FrankWolfe, checked_derivatives
from ._frank_wolfe._iterate import Iterate
from ._frank_wolfe._steps import named_rule
from .domains._base import check_domain

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
        Steps towards the vertices s; also away from the worst vertices of the current combination;
        steps that move weight from these to s; or steps towards s_x and towards the vertex of one
        random factor of Y, a `sklearn_fw.optim.domains.Product`. "away" and "pairwise" are for
        polytopes, "block" for many factors with expensive oracles. No convergence is proved for
        "pairwise" and "block".
    step_size : str, float or callable, default="universal"
        "universal" is ``2 / (2 + k)`` and "fictitious" ``1 / (1 + k)`` after k steps that drop no
        vertex. "adaptive" has a linear rate for strongly convex-concave functions that are weakly
        coupled, "heuristic" often has one with any coupling, "strongly_convex_set" has one on balls
        where gradients do not vanish. A callable gets the state described below. "block" takes
        "universal" only, with ``2 n / (2 n + k)`` for n factors and k block steps.
    constants : SaddleConstants or None, default=None
        What "adaptive", "heuristic" and "strongly_convex_set" must know.
    start : (x, y), result of an earlier call, or None, default=None
        Where to start; None means ``domain.start()``. "away" and "pairwise" keep a point as if it
        were a vertex, and take up the combination of an earlier result. The count k begins again.
    max_iter : int, default=1000
        Largest number of iterations, each with one gradient and one call of each oracle; with
        "block" passes of n block steps and a gap.
    tol : float, default=1e-3
        Largest gap, in units of L.
    time_limit : float or None, default=None
        Seconds after which no new iteration begins.
    callback : callable or None, default=None
        Called after each iteration with an `OptimizeResult`; returning True ends the loop.
    random_state : int, RandomState or None, default=None
        Order of the factors with "block"; else not used.
    verbose : int, default=0
        Log a line per iteration.

    Returns
    -------
    result : OptimizeResult
        ``x``, ``y``, ``fun`` and ``dual_gap`` of the iterate with the smallest gap, ``x_last``,
        ``y_last`` and ``dual_gap_last`` of the last one, ``nit``, ``n_oracle_calls``, ``n_away``,
        ``n_drop`` (steps that left fewer vertices), ``success``, ``status``, ``message``, and
        ``history`` (dict of arrays). For "away" and "pairwise" the last points are the sums of
        ``atoms_x`` and ``atoms_y`` with ``weights_x`` and ``weights_y``; these are None else.

    Warns
    -----
    RuntimeWarning
        When "away" or "pairwise" is used on a domain that is not a polytope: no rate is known.

    See Also
    --------
    solve_matrix_game : For ``L(x, y) = x'My``, cheaper and with bounds on the value.
    SaddleConstants : The constants, and the rates that follow.

    Notes
    -----
    One iteration costs one gradient and both oracles, and with "away" and "pairwise" a product of
    each gradient with all atoms in use; "block" evaluates all derivatives in every block step. The
    gap need not fall from step to step.

    A callable step size gets an object with ``n_iter`` and ``n_good`` (steps so far, and k),
    ``dual_gap``, ``pairwise_gap`` (of moving from the worst vertices to s; None for "fw"),
    ``direction_gap`` (of the direction that is taken), ``max_step`` (infinite if nothing limits
    it; longer steps are cut), ``length_x`` and ``length_y`` (distance from the point to s).

    Line searches on L are refused, since they do not converge [1]_. Deviations from [1]_: steps of
    "strongly_convex_set" are cut at 1; with "pairwise", a side that has nothing to move does not
    limit the step, and a cut that exchanges one vertex for another counts in k.

    References
    ----------
    .. [1] G. Gidel, T. Jebara, S. Lacoste-Julien, "Frank-Wolfe algorithms for saddle point
       problems", AISTATS 2017: Algorithms 2 to 4, Theorems 1 and 4, and section 6 for "block".

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

    outcome = run_to_end(
        run, tol=tol, max_iter=max_iter, time_limit=time_limit, verbose=verbose,
        end=end_of(callback, run.state),
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
        return self.iterates[0].point

    @property
    def y(self):
        return self.iterates[1].point

    def gradients(self):
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
        x, y = self.x.copy(), self.y.copy()
        return OptimizeResult(x=x, y=y, fun=self.value, dual_gap=self.dual_gap, nit=self.n_iter + 1)

    def solution(self):
        return self.best


class BlockRun(SaddleRun):
    """Passes of steps on x and on one random factor of y each."""

    def __init__(self, function, sides, rng):
        super().__init__(function, sides, "block", None)
        self.rng, self.product = rng, sides[1].domain

    def advance(self):
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


RULES = ("universal", "fictitious", "adaptive", "heuristic", "strongly_convex_set")


@dataclass(frozen=True, kw_only=True)
class SaddleConstants:
    """Constants of a saddle function and its domains, from which step sizes are computed.

    All norms are Euclidean. Give what the step size needs: "adaptive" the smoothness, coupling,
    convexity and width; "heuristic" the same without the width; "strongly_convex_set" the
    smoothness, coupling and gradient norm. Bounds on the safe side keep the guarantees.

    Parameters
    ----------
    smoothness_x, smoothness_y : float or None, default=None
        Lipschitz constant of the gradient of each side in its own variable.
    coupling : float or None, default=None
        Lipschitz constant of the gradient of each side in the variable of the other: the largest
        norm of the mixed second derivatives, ``||M||_2`` for a term x'My.
    convexity_x, convexity_y : float or None, default=None
        Strong convexity in x and strong concavity in y.
    width_x, width_y : float or None, default=None
        For steps towards vertices, the distance of the saddle point from the relative boundary of
        each domain; for away and pairwise steps, the pyramidal width of its vertices, such as
        ``1 / sqrt(d)`` for the unit cube in d dimensions.
    diameter_x, diameter_y : float or None, default=None
        Diameters of the domains; None asks the domains.
    set_convexity : float or None, default=None
        Strong convexity of both domains as sets; None takes the smaller of theirs.
    gradient_norm : float or None, default=None
        What the norms of both gradients nowhere fall below.

    References
    ----------
    .. [1] G. Gidel, T. Jebara, S. Lacoste-Julien, "Frank-Wolfe algorithms for saddle point
       problems", AISTATS 2017: Theorems 1, 4, 24 and 25.
    .. [2] S. Lacoste-Julien, M. Jaggi, "On the global linear convergence of Frank-Wolfe
       optimization variants", NIPS 2015: pyramidal widths.

    Examples
    --------
    A coupling that is weak compared with the convexity gives a linear rate.

    >>> from sklearn_fw.optim import SaddleConstants
    >>> constants = SaddleConstants(
    ...     smoothness_x=10.0, smoothness_y=10.0, coupling=0.5, convexity_x=10.0, convexity_y=10.0,
    ...     width_x=0.4, width_y=0.4, diameter_x=1.0, diameter_y=1.0,
    ... )
    >>> round(constants.progress(), 3)
    0.823
    >>> round(constants.rate(), 3)
    0.054
    """

    smoothness_x: float | None = None
    smoothness_y: float | None = None
    coupling: float | None = None
    convexity_x: float | None = None
    convexity_y: float | None = None
    width_x: float | None = None
    width_y: float | None = None
    diameter_x: float | None = None
    diameter_y: float | None = None
    set_convexity: float | None = None
    gradient_norm: float | None = None

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                check_not_negative(value, field.name)

    def progress(self, *, away=False):
        """The fraction nu of the gap by which a short step lowers the distance to the solution [1].

        Adaptive steps have a linear rate where it is positive, universal ones the rate 1 / k where
        it is above one half without ``away``.

        Parameters
        ----------
        away : bool, default=False
            Whether for the method with away steps, where it is that of the pairwise gap.
        """
        check_flag(away, "away")
        _need(self, "the progress of a step", WIDE)
        width = math.sqrt(self._squared_width())
        by_x = self.diameter_x * self.coupling / math.sqrt(self.convexity_y)
        by_y = self.diameter_y * self.coupling / math.sqrt(self.convexity_x)
        return (0.5 if away else 1.0) - math.sqrt(2.0) / width * max(by_x, by_y)

    def rate(self, *, away=False):
        """The fraction rho [1] by which each "adaptive" step that removes no atom lowers w.

        Here ``w = L(x, y*) - L(x*, y)`` with the saddle point (x*, y*). Zero where `progress` is
        not positive.

        Parameters
        ----------
        away : bool, default=False
            Whether for the method with away steps.
        """
        progress = max(self.progress(away=away), 0.0)
        return progress**2 * self._squared_width() / (2.0 * self.curvature)

    @property
    def curvature(self):
        """C of [1]: a bound on the curvature in x and in y."""
        _need(self, "the curvature", (), BENT)
        return 0.5 * (
            self.smoothness_x * self.diameter_x**2 + self.smoothness_y * self.diameter_y**2
        )

    @property
    def heuristic_curvature(self):
        """The same, doubled, with the coupling counted as curvature."""
        _need(self, "step_size='heuristic'", CURVED)
        squares = self.diameter_x**2 / self.convexity_x + self.diameter_y**2 / self.convexity_y
        return 2.0 * self.curvature + self.coupling**2 * squares

    @property
    def oracle_curvature(self):
        """C_delta of [1]: with how fast the vertices of strongly convex domains turn."""
        known = ("coupling", "smoothness_x", "smoothness_y")
        _need(self, "step_size='strongly_convex_set'", ("set_convexity", "gradient_norm"), known)
        smoothness = max(getattr(self, name) for name in known)
        return 2.0 * smoothness + 8.0 * smoothness**2 / (self.set_convexity * self.gradient_norm)

    def _squared_width(self):
        """delta_mu of [1], squared."""
        return min(self.convexity_x * self.width_x**2, self.convexity_y * self.width_y**2)


BENT = ("smoothness_x", "smoothness_y", "diameter_x", "diameter_y")
CURVED = ("convexity_x", "convexity_y", *BENT)
WIDE = (*CURVED, "width_x", "width_y")


def _need(constants, purpose, positive, known=("coupling",)):
    """Refuse what needs constants that are missing or zero."""
    for name in (*positive, *known):
        value = getattr(constants, name)
        if value is None or (name in positive and value <= 0.0):
            want = "a positive" if name in positive else "a"
            raise ValueError(f"{purpose} needs {want} {name} in constants, got {value}")


def _complete(constants, domain_x, domain_y):
    """The constants with what is missing taken from the domains."""
    domains, found = (domain_x, domain_y), {}
    for name, domain in zip(("diameter_x", "diameter_y"), domains):
        if getattr(constants, name) is None:  # else it is not asked for, since it can be costly
            found[name] = getattr(domain, "diameter", None)
    if constants.set_convexity is None:
        found["set_convexity"] = min(getattr(domain, "strong_convexity", 0.0) for domain in domains)
    return replace(constants, **found)


def resolve_step_size(step_size, variant, constants, domain_x, domain_y):
    """A function `StepState` -> step, from what the user wrote."""
    if not (constants is None or isinstance(constants, SaddleConstants)):
        raise ValueError(f"constants must be None or a SaddleConstants; got {constants!r}")
    if is_named(step_size, "line_search"):
        raise ValueError(
            "step_size='line_search' is not offered: on saddle functions a line search does not "
            "converge (on bilinear ones it takes the full step each time, and best replies cycle); "
            "use 'universal'"
        )
    if variant == "block" and not is_named(step_size, "universal"):
        raise ValueError(f"variant='block' has step_size='universal' only, got {step_size!r}")
    if callable(step_size) or (isinstance(step_size, Real) and not isinstance(step_size, bool)):
        return named_rule(step_size)
    check_choice(step_size, "step_size", RULES)
    if step_size in ("universal", "fictitious"):
        return named_rule(step_size)
    if not isinstance(constants, SaddleConstants):
        raise ValueError(
            f"step_size={step_size!r} needs constants, a SaddleConstants; got {constants!r}"
        )
    return BOUNDED[step_size](variant, _complete(constants, domain_x, domain_y))


def _adaptive(variant, constants):
    progress = constants.progress(away=variant != "fw")
    if progress <= 0.0:
        raise ValueError(
            f"step_size='adaptive' needs a coupling that is weak compared with convexity and "
            f"width, but their balance nu is {progress:.3g} <= 0; use 'universal', or 'heuristic', "
            f"which has no guarantee but often a linear rate"
        )
    factor = progress / (2.0 * constants.curvature)
    if variant == "fw":
        return lambda state: factor * state.dual_gap
    return lambda state: factor * state.pairwise_gap


def _heuristic(variant, constants):
    factor = 1.0 / constants.heuristic_curvature
    return lambda state: factor * state.direction_gap


def _strongly_convex_set(variant, constants):
    if variant != "fw":
        raise ValueError(f"step_size='strongly_convex_set' needs variant='fw', got {variant!r}")
    curvature = constants.oracle_curvature
    if curvature == 0.0:  # the function is linear: the vertices are the solution
        return lambda state: math.inf
    return lambda state: state.dual_gap / (curvature * (state.length_x + state.length_y) ** 2)


BOUNDED = {
    "adaptive": _adaptive,
    "heuristic": _heuristic,
    "strongly_convex_set": _strongly_convex_set,
}
