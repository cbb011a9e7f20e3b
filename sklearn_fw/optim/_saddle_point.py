"""Saddle points over sets given by oracles: of smooth functions, and of matrix games."""

import math
from dataclasses import dataclass, fields, replace
from numbers import Real

import numpy as np
from scipy.optimize import OptimizeResult
from scipy.sparse.linalg import LinearOperator

from .._core import check
from .._core.loop import IterativeMethod
from .._kernels.common.step_rules import FW, open_loop_step
from ._ends import end_of, fields_of, run_to_end
from ._frank_wolfe._core import FrankWolfe, checked_derivatives
from ._frank_wolfe._iterate import Combination, Iterate, check_answer, start_of
from ._frank_wolfe._steps import named_rule
from .domains._base import DenseAtom, ask, check_domain, warn_if_round
from .domains._sets import Simplex
from .objectives import LinearMap

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
    """Solve a convex-concave saddle-point problem by Frank-Wolfe steps.

    Solves, for a smooth L that is convex in x and concave in y::

        min over x in X of max over y in Y of L(x, y)

    with the certificate ``gap = <dL/dx, x - s_x> + <dL/dy, s_y - y>``, where s_x and s_y are the
    oracles' vertices. It bounds ``max over Y of L(x, .) - min over X of L(., y)``, with equality
    for bilinear L. Choose this where projections are expensive, as on matchings and flows. Where
    they are cheap, extragradient methods are faster; for ``x'My``, `solve_matrix_game` is cheaper.

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

    Notes
    -----
    One iteration costs one gradient and both oracles, and with "away" and "pairwise" a product of
    each gradient with all atoms in use; "block" evaluates all derivatives in every block step.

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
    The saddle point of this function on two squares is at (1, 0) and (0.5, 0.25):

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
    check.choice(variant, "variant", VARIANTS)
    if not callable(function):
        answer = "(value, gradient_x, gradient_y)"
        raise ValueError(f"function must be callable, (x, y) -> {answer}; got {function!r}")
    keeps_atoms = variant in ("away", "pairwise")
    for domain, name in ((domain_x, "domain_x"), (domain_y, "domain_y")):
        check_domain(domain, name)
        if keeps_atoms:
            warn_if_round(domain, name, variant)
    if variant == "block" and not hasattr(domain_y, "blocks"):
        raise ValueError(f"variant='block' needs a domains.Product for domain_y, got {domain_y!r}")
    tol, rng = check.not_negative(tol, "tol"), check.random_state(random_state)
    rule = resolve_step_size(step_size, variant, constants, domain_x, domain_y)
    starts = split_start(start, keeps_atoms)
    sides = [
        Iterate(domain, name, start=point, active=keeps_atoms)
        for domain, name, point in zip((domain_x, domain_y), "xy", starts)
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
        n_oracle_calls=run.n_calls, n_away=run.n_away,
        n_drop=run.n_drop, **combination_of(side_x), **combination_of(side_y),
        **fields_of(outcome, best.dual_gap, tol),
    )  # fmt: skip


def split_start(start, keeps_atoms=False):
    if start is None:
        return None, None
    if isinstance(start, OptimizeResult):
        if keeps_atoms and start.get("atoms_x") is not None:
            return [Combination(start[f"atoms_{k}"], start[f"weights_{k}"]) for k in "xy"]
        start = start.get("x_last"), start.get("y_last")
    if not (isinstance(start, tuple | list) and len(start) == 2) or any(p is None for p in start):
        raise ValueError(f"start must be (x, y), an earlier result or None; got {start!r}")
    return start


def combination_of(side):
    atoms, weights = f"atoms_{side.name}", f"weights_{side.name}"
    if side.active is None:
        return {atoms: None, weights: None}
    return {atoms: side.active.atoms, weights: side.active.weights.copy()}


class SaddleRun(FrankWolfe):
    """Steps of two players; the gradient of y is -dL/dy, so that both descend."""

    def __init__(self, function, sides, variant, rule):
        super().__init__(sides, variant, rule)
        self.function, self.best = function, None

    x = property(lambda self: self.iterates[0].point)
    y = property(lambda self: self.iterates[1].point)

    def gradients(self):
        answer, names = self.function(self.x, self.y), ("gradient_x", "gradient_y")
        value, gradient_x, gradient_y = checked_derivatives(answer, self.x, self.y, names=names)
        return value, (gradient_x, -gradient_y)

    def look(self):
        self.value, gradients = self.gradients()
        for side, gradient in zip(self.iterates, gradients):
            side.look(gradient)

    def row(self):
        if self.best is None or self.dual_gap < self.best.dual_gap:
            self.best = self.state()
        row = super().row()
        row |= {f"gap_{side.name}": side.gap + side.slack for side in self.iterates}
        if "pairwise_gap" in row:
            row |= {f"n_atoms_{side.name}": side.n_atoms for side in self.iterates}
        return row

    def state(self):
        x, y = self.x.copy(), self.y.copy()
        return OptimizeResult(x=x, y=y, fun=self.value, dual_gap=self.dual_gap, nit=self.n_iter + 1)


class BlockRun(SaddleRun):
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
    """Constants of a saddle function and its domains, for step sizes.

    All norms are Euclidean. "adaptive" needs the smoothness, coupling, convexity and width;
    "heuristic" not the width; "strongly_convex_set" the smoothness, coupling and gradient norm.

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
        Diameters of the domains; None takes those of the domains.
    set_convexity : float or None, default=None
        Strong convexity of both domains as sets; None takes the smaller of theirs.
    gradient_norm : float or None, default=None
        What the norms of both gradients nowhere fall below.

    References
    ----------
    .. [1] G. Gidel, T. Jebara, S. Lacoste-Julien, "Frank-Wolfe algorithms for saddle point
       problems", AISTATS 2017: Theorems 1, 4, 24 and 25.

    Examples
    --------
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
                check.not_negative(value, field.name)

    def progress(self, *, away=False):
        """Compute nu [1], the fraction of the gap by which a short step makes progress.

        Adaptive steps have a linear rate where it is positive, universal ones the rate 1 / k where
        it is above one half without ``away``.

        Parameters
        ----------
        away : bool, default=False
            Whether for the method with away steps, where it is that of the pairwise gap.
        """
        check.flag(away, "away")
        _need(self, "the progress of a step", WIDE)
        width = math.sqrt(self._squared_width())
        by_x = self.diameter_x * self.coupling / math.sqrt(self.convexity_y)
        by_y = self.diameter_y * self.coupling / math.sqrt(self.convexity_x)
        return (0.5 if away else 1.0) - math.sqrt(2.0) / width * max(by_x, by_y)

    def rate(self, *, away=False):
        """Compute rho [1], the rate of "adaptive" steps that remove no atom.

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
        of_x = self.smoothness_x * self.diameter_x**2
        return 0.5 * (of_x + self.smoothness_y * self.diameter_y**2)

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
    for name in (*positive, *known):
        value = getattr(constants, name)
        if value is None or (name in positive and value <= 0.0):
            want = "a positive" if name in positive else "a"
            raise ValueError(f"{purpose} needs {want} {name} in constants, got {value}")


def _complete(constants, domain_x, domain_y):
    domains, found = (domain_x, domain_y), {}
    for name, domain in zip(("diameter_x", "diameter_y"), domains):
        if getattr(constants, name) is None:  # else it is not computed, since it can be costly
            found[name] = getattr(domain, "diameter", None)
    if constants.set_convexity is None:
        found["set_convexity"] = min(getattr(domain, "strong_convexity", 0.0) for domain in domains)
    return replace(constants, **found)


def resolve_step_size(step_size, variant, constants, domain_x, domain_y):
    if not (constants is None or isinstance(constants, SaddleConstants)):
        raise ValueError(f"constants must be None or a SaddleConstants; got {constants!r}")
    if check.is_named(step_size, "line_search"):
        raise ValueError(
            "step_size='line_search' is not offered: on saddle functions a line search does not "
            "converge (on bilinear ones best replies cycle); use 'universal'"
        )
    if variant == "block" and not check.is_named(step_size, "universal"):
        raise ValueError(f"variant='block' has step_size='universal' only, got {step_size!r}")
    if callable(step_size) or (isinstance(step_size, Real) and not isinstance(step_size, bool)):
        return named_rule(step_size)
    check.choice(step_size, "step_size", RULES)
    if step_size in ("universal", "fictitious"):
        return named_rule(step_size)
    if constants is None:
        raise ValueError(f"step_size={step_size!r} needs constants, a SaddleConstants; got None")
    constants = _complete(constants, domain_x, domain_y)
    if step_size == "heuristic":
        factor = 1.0 / constants.heuristic_curvature
        return lambda state: factor * state.direction_gap
    make_rule = _adaptive if step_size == "adaptive" else _strongly_convex_set
    return make_rule(variant, constants)


def _adaptive(variant, constants):
    progress = constants.progress(away=variant != "fw")
    if progress <= 0.0:
        raise ValueError(
            f"step_size='adaptive' needs a coupling that is weak compared with convexity and "
            f"width, but their balance nu is {progress:.3g} <= 0; use 'universal', or 'heuristic'"
        )
    factor = progress / (2.0 * constants.curvature)
    if variant == "fw":
        return lambda state: factor * state.dual_gap
    return lambda state: factor * state.pairwise_gap


def _strongly_convex_set(variant, constants):
    if variant != "fw":
        raise ValueError(f"step_size='strongly_convex_set' needs variant='fw', got {variant!r}")
    curvature = constants.oracle_curvature
    if curvature == 0.0:  # the function is linear: the vertices are the solution
        return lambda state: math.inf
    return lambda state: state.dual_gap / (curvature * (state.length_x + state.length_y) ** 2)


def solve_matrix_game(
    payoff,
    *,
    domain_x=None,
    domain_y=None,
    step_size="fictitious",
    start=None,
    max_iter=10_000,
    tol=None,
    time_limit=None,
    verbose=0,
):
    """Solve a zero-sum matrix game by fictitious play, with bounds on its value.

    Solves, for a payoff matrix M that x pays to y::

        min over x in X of max over y in Y of x'My

    In each round both sides play the best reply to the average of the other's plays. Choose it for
    very many strategies, or vertices of a set with an oracle; small games are solved exactly, and
    sooner, by `scipy.optimize.linprog`.

    Parameters
    ----------
    payoff : {array-like, sparse matrix, LinearOperator} of shape (size_x, size_y)
        What the row player x, who minimizes, pays to the column player y, who maximizes. If the
        numbers are gains of the row player instead, pass ``-payoff``.
    domain_x, domain_y : domain object or None, default=None
        Sets of the mixed strategies: objects of `sklearn_fw.optim.domains`, or your own with a
        method ``lmo``. None is the simplex.
    step_size : {"fictitious", "universal"}, default="fictitious"
        Steps 1 / (1 + t), which weigh all rounds equally, or 2 / (2 + t), in proportion to t.
    start : (x, y), result of an earlier call, or None, default=None
        Points for the first replies; None means ``domain.start()``.
    max_iter : int, default=10_000
        Largest number of rounds.
    tol : float or None, default=None
        Stop when ``upper - lower`` is at most this, in units of the payoff; None is 1 % of what it
        is at the start.
    time_limit : float or None, default=None
        Seconds after which no new round begins.
    verbose : int, default=0
        Log a line per round.

    Returns
    -------
    result : OptimizeResult
        ``lower`` and ``upper``, between which the value of the game lies, and ``dual_gap``, their
        difference; ``x`` and ``y``, the strategies that guarantee these bounds; ``fun``, which is
        ``x'My``; ``x_last`` and ``y_last``, the averages of all plays, with ``lower_last`` and
        ``upper_last``; ``nit``, ``success``, ``status``, ``message`` and ``history`` (dict of
        arrays).

    Notes
    -----
    A round costs both oracles and the products of the payoff with the two vertices that are
    played, O(size_x + size_y) on simplices. The sums of what was played are kept: integer payoffs
    give exactly fictitious play, ties included, with simultaneous moves.

    The bounds of one round close in like ``1 / sqrt(t)`` in practice, which is not proved [1]_;
    games with a pure equilibrium are solved at ``1 / t``, with "universal" at ``1 / t^2``.

    References
    ----------
    .. [1] G. Gidel, T. Jebara, S. Lacoste-Julien, "Frank-Wolfe algorithms for saddle point
       problems", AISTATS 2017: section 5 and Corollary 5.

    Examples
    --------
    Rock, paper, scissors, where a win with rock counts twice:

    >>> import numpy as np
    >>> from sklearn_fw.optim import solve_matrix_game
    >>> payoff = np.array([[0, 1, -2], [-1, 0, 1], [2, -1, 0]])
    >>> result = solve_matrix_game(payoff, tol=0.02)
    >>> result.lower <= 0.0 <= result.upper
    True
    >>> bool(np.abs(result.x - [0.25, 0.5, 0.25]).max() < 0.02)
    True
    """
    check.choice(step_size, "step_size", ("fictitious", "universal"))
    shape, products = column_products(payoff)
    domains = [Simplex(n) if domain is None else domain
               for domain, n in zip((domain_x, domain_y), shape)]  # fmt: skip
    points = []
    for name, domain, point, axis, size in zip(
        "xy", domains, split_start(start), ("rows", "columns"), shape
    ):
        check_domain(domain, f"domain_{name}")
        points.append(start_of(domain, name, point).to_array())
        if points[-1].shape != (size,):
            n = points[-1].size
            raise ValueError(f"domain_{name} has points of size {n}, but payoff has {size} {axis}")
    tol = None if tol is None else check.not_negative(tol, "tol")
    run = GameRun(products, domains, points, tol, growing=step_size == "universal")
    outcome = run_to_end(run, tol=tol, max_iter=max_iter, time_limit=time_limit, verbose=verbose)
    (x, pays_y), (y, pays_x) = run.best_x, run.best_y
    lower, upper = run.bounds(pays_x, pays_y)[1]
    return OptimizeResult(
        x=x, y=y, fun=float(x @ pays_x), lower=lower, upper=upper, dual_gap=upper - lower,
        x_last=run.sums[0] / run.total, y_last=run.sums[1] / run.total, lower_last=run.lower,
        upper_last=run.upper, **fields_of(outcome, upper - lower, run.tol),
    )  # fmt: skip


class GameRun(IterativeMethod):
    """Sums of what was played, and of what each pure strategy would have paid against it."""

    def __init__(self, products, domains, points, tol, growing):
        self.products, self.domains, self.growing, self.tol = products, domains, growing, tol
        self.sums, self.n_played, self.total = points, 0, 1.0
        # Copies, since an operator may return its own memory, or its argument.
        pairs = zip(products, map(DenseAtom, reversed(points)))
        self.pays = [np.array(times(atom), dtype=np.float64) for times, atom in pairs]
        self.replies = self.best_x = self.best_y = None
        self.best_lower, self.best_upper = -np.inf, np.inf

    def step(self):
        """Play the last replies, then find the next ones and the bounds they give."""
        if self.replies is not None:
            self.play()
        return self.certify()

    def play(self):
        weight = self.n_played + 1.0 if self.growing else 1.0
        if self.n_played == 0:
            self.total = 0.0
            for array in (*self.sums, *self.pays):
                array[:] = 0.0
        for k, reply in enumerate(self.replies):
            reply.add_to(self.sums[k], weight)
            self.pays[1 - k] += weight * self.products[1 - k](reply)
        self.total += weight
        self.n_played += 1

    def _strategy(self, k):
        return self.sums[k] / self.total, self.pays[1 - k] / self.total

    def bounds(self, pays_x, pays_y):
        if not (np.all(np.isfinite(pays_x)) and np.all(np.isfinite(pays_y))):
            raise ValueError("products with payoff must be finite, got NaN or infinity")
        costs = pays_x, -pays_y
        x, y = (ask(self.domains[k], costs[k], f"domain_{'xy'[k]}") for k in range(2))
        return (x, y), (lowest(x, costs[0]), -lowest(y, costs[1]))

    def certify(self):
        self.replies, (lower, upper) = self.bounds(*self.pays)
        if not lower <= upper:  # by rounding, or since an oracle is wrong
            for k, cost in enumerate((self.pays[0], -self.pays[1])):
                check_answer(self.replies[k], "xy"[k], cost, self.sums[k] / self.total)
        self.lower, self.upper = lower / self.total, upper / self.total
        if self.upper < self.best_upper:
            self.best_upper, self.best_x = self.upper, self._strategy(0)
        if self.lower > self.best_lower:
            self.best_lower, self.best_y = self.lower, self._strategy(1)
        gap = self.best_upper - self.best_lower
        self.tol = 0.01 * max(gap, 0.0) if self.tol is None else self.tol
        return {
            "objective": self.best_upper, "dual_objective": self.best_lower, "dual_gap": gap,
            "lower": self.lower, "upper": self.upper,
        }  # fmt: skip


def lowest(reply, pays):
    """What no reply falls below: what this one has, if it is the best, or its bound."""
    value = reply.dot(pays)
    return value if reply.bound is None else min(value, float(reply.bound))


def column_products(payoff):
    """The shape of a payoff, and functions from atoms: v -> Mv and v -> M'v."""
    if isinstance(payoff, LinearOperator):
        _check_transpose(payoff)
        products = payoff.matvec, payoff.rmatvec
        return payoff.shape, [lambda atom, f=f: f(atom.to_array()) for f in products]
    payoff = check.table(payoff, accept_sparse="csr", dtype=np.float64, input_name="payoff")
    return payoff.shape, [LinearMap(M, name="payoff").image for M in (payoff, payoff.T)]


def _check_transpose(payoff):
    """Refuse an operator with two products of different matrices, which would bound nothing."""
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=n) for n in payoff.shape)
    forward, backward = payoff.matvec(y), payoff.rmatvec(x)
    size = np.abs(x) @ np.abs(forward) + np.abs(y) @ np.abs(backward)
    if not abs(x @ forward - y @ backward) <= 1e-3 * size:  # single precision will do
        raise ValueError(
            f"payoff must be finite, and its rmatvec the product with its transpose, but x'(My) is "
            f"{x @ forward:.6g} and y'(M'x) is {y @ backward:.6g} for some x and y"
        )
