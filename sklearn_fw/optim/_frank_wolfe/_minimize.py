"""Minimization of smooth functions over sets given by linear minimization oracles."""

import math

import numpy as np
from scipy.optimize import OptimizeResult

from ..._core import check
from ..._core.budget import time_budget
from ..._core.loop import drive
from ..._core.result import History, Status
from .._ends import end_of, fields_of
from ..domains._base import Atom, UnitAtom, check_domain, warn_if_round
from ..domains._sets import ConvexHull, L1Ball
from ..domains._spectral import is_matrix
from ..objectives import Objective, is_quadratic, knows_lines
from ._core import Minimization
from ._corrective import Correction, QuadraticCorrection, ScanRun, Secants, can_scan
from ._iterate import Combination
from ._steps import LineSearch, named_rule

VARIANTS = ("auto", "fw", "away", "pairwise", "fully_corrective", "min_norm_point")
CORRECTIVE = ("fully_corrective", "min_norm_point")
FEW = 256  # points or dimensions of a hull up to which its vertices in use are few
LARGE = 100_000  # numbers in an image above which not every atom should have one
REFRESH = 100  # steps after which sums of atoms are computed again


def minimize_frank_wolfe(
    objective,
    domain,
    *,
    variant="auto",
    step_size="auto",
    lipschitz=None,
    curvature=None,
    convex=True,
    lmo_accuracy=1.0,
    start=None,
    max_iter=10_000,
    tol=None,
    time_limit=None,
    callback=None,
    verbose=0,
):
    """Minimize a smooth function over a set by Frank-Wolfe steps.

    Solves ``min over x in D of f(x)`` with the certificate ``gap = <f'(x), x - s>`` in every
    iteration, where s is the vertex of D returned by its oracle. For convex f the value is at most
    the gap above the minimum; for others the gap is zero at stationary points only.
    Choose this where projections onto D are expensive, as for paths, matchings, nuclear norms and
    marginal polytopes, or where x shall be a combination of few vertices.

    Parameters
    ----------
    objective : Objective or callable
        An object of `sklearn_fw.optim.objectives`, or ``objective(x) -> (value, gradient)``, which
        is quadratic if it has a method ``curvature(direction)``.
    domain : domain object
        The set: an object of `sklearn_fw.optim.domains`, or your own with a method ``lmo``.
    variant : str, default="auto"
        "fw" steps towards s; "away" also away from the worst vertex of the current combination;
        "pairwise" moves weight from that vertex to s; "fully_corrective" minimizes over the hull of
        all vertices in use; "min_norm_point" goes to the minimum over their affine hull, as far as
        weights stay positive, for quadratic objectives. "auto" depends on the domain and the
        objective. "away" and "pairwise" warn (RuntimeWarning) where D is not a polytope.
    step_size : str, float or callable, default="auto"
        "universal" is ``2 / (2 + k)`` and "fictitious" ``1 / (1 + k)`` after k steps that drop no
        vertex; "exact" minimizes a quadratic function along the direction, "line_search" any;
        "short" minimizes the parabola with ``lipschitz``, "curvature" is the gap over
        ``curvature``, "backtracking" learns the constant of "short". A callable gets the state
        described in `solve_saddle_point`. Not for the corrective variants.
    lipschitz : float or None, default=None
        Lipschitz constant of the gradient for "short"; None takes that of the objective.
    curvature : float or None, default=None
        Curvature constant, at least ``2 (f(y) - f(x) - <f'(x), y - x>) / c^2`` for all
        ``y = x + c (s - x)``; None takes ``lipschitz`` times the squared diameter.
    convex : bool, default=True
        False: line searches descend as far as a step with a guarantee; the gap is not a bound.
    lmo_accuracy : float, default=1.0
        Fraction of the largest ``<f'(x), x - s>`` that the oracle reaches at least, by which the
        certificate is divided; not for atoms with a ``bound``.
    start : array-like, Atom, (atoms, weights), earlier result or None, default=None
        Where to start; None means ``domain.start()``, or the answer to a gradient of minus ones.
        Variants that keep vertices keep a point as if it were one.
    max_iter : int, default=10_000
        Largest number of iterations, each with one gradient and one oracle call.
    tol : float or None, default=None
        Largest gap, in units of f; None is 1e-6 of the value, or 1e-8 of the first value or gap.
    time_limit : float or None, default=None
        Seconds after which no new iteration begins.
    callback : callable or None, default=None
        Called after each iteration with an `OptimizeResult`; returning True ends the loop.
    verbose : int, default=0
        Log a line per iteration.

    Returns
    -------
    result : OptimizeResult
        ``x``, ``fun``, ``jac`` (the gradient) and ``dual_gap`` where the gap was smallest, computed
        again at x; ``nit``, ``n_oracle_calls``, ``n_away``, ``n_drop`` (steps that left fewer
        vertices), ``n_swap`` (that exchanged one), ``success``, ``status``, ``message``, ``tol``,
        ``variant`` and ``step_size`` as chosen, ``history`` (dict of arrays), and ``atoms`` and
        ``weights``, of which x is the sum (None for "fw").

    Notes
    -----
    One iteration costs a gradient, an oracle call and a product of the gradient with all vertices
    in use; with an `Objective` one product with the transposed matrix, and one with a vertex.

    More than 13 parameters: both constants and the accuracy of the oracle are facts that only the
    caller can know.

    Deviations from [1]_: corrections of functions that are not quadratic go to a hundredth of the
    current gap, or to ``tol`` if that is more. For nonconvex functions the step of a line search
    is taken where it is lower than one of backtracking, which [2]_ gives a rate for.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Jaggi, "On the global linear convergence of Frank-Wolfe
       optimization variants", NIPS 2015: Algorithms 1 to 5.
    .. [2] S. Lacoste-Julien, "Convergence rate of Frank-Wolfe for non-convex objectives", 2016.
    .. [3] S. Lacoste-Julien, M. Jaggi, "An affine invariant linear convergence analysis for
       Frank-Wolfe algorithms", NIPS workshop on greedy algorithms, 2013.

    Examples
    --------
    Least squares on the l1 ball, where most entries are zero:

    >>> import numpy as np
    >>> from sklearn_fw.optim import domains, minimize_frank_wolfe, objectives
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((50, 20))
    >>> objective = objectives.LeastSquares(A, A[:, 3] * 2.0 - A[:, 7])
    >>> result = minimize_frank_wolfe(objective, domains.L1Ball(20, radius=2.0))
    >>> result.dual_gap <= 1e-6
    True
    >>> np.flatnonzero(result.x.round(4))
    array([3, 7])
    """
    check.choice(variant, "variant", VARIANTS)
    is_free = check.is_auto(variant)
    check_problem(objective, domain)
    tol = check.optional(check.not_negative)(tol, "tol")
    convex, positive = check.flag(convex, "convex"), check.optional(check.positive)
    lipschitz, curvature = positive(lipschitz, "lipschitz"), positive(curvature, "curvature")
    check.within(0.0, 1.0, "right")(lmo_accuracy, "lmo_accuracy")
    accuracy = float(lmo_accuracy)
    max_iter = check.integer(max_iter, "max_iter", 1)
    variant, step_size = choose(objective, domain, variant, step_size, convex)
    start = _point_or_combination(start)
    options = {"start": start, "tol": tol, "accuracy": accuracy, "refresh": REFRESH}
    if variant in CORRECTIVE:
        run = _corrective(objective, domain, variant, convex, options)
    else:
        rule = _rule(objective, domain, variant, step_size, lipschitz, curvature, convex)
        if accuracy == 1.0 and can_scan(objective, domain, step_size):
            options |= {"max_iter": max_iter, "is_watched": callback is not None}
        options["measures"] = callable(step_size)
        make = ScanRun if "max_iter" in options else Minimization
        run = make(objective, domain, variant=variant, rule=rule, **options)
    with time_budget(time_limit):
        if is_free and convex and _can_follow(run):
            run, outcome = _patient(run, max_iter, verbose, callback)
        else:
            end = end_of(callback, run.state)
            outcome = drive(run, tol=None, max_iter=max_iter, verbose=verbose, end=end)
    if isinstance(run, Correction):
        variant, step_size = run.variant, None
    return _result(run, outcome, variant, step_size)


def _patient(run, max_iter, verbose, callback):
    """Steps in the kernel, and corrections of their vertices where these steps are many.

    Where columns are similar, weights take ten thousands of steps, of which a correction is one.
    """
    history, is_asked = History(), False

    def drive_until(run, is_enough):
        watch = end_of(callback, run.state)

        def end():
            nonlocal is_asked
            is_asked = watch()
            return is_asked or is_enough()

        left = max_iter - history.n_iter
        return drive(run, tol=None, max_iter=left, verbose=verbose, end=end, history=history)

    runs = [run]
    while True:
        outcome = drive_until(run, lambda run=run: run.is_slow and history.n_iter < max_iter)
        if outcome.status is not Status.STOPPED or is_asked:
            break
        if isinstance(run.objective, Secants) and not run.objective.is_quadratic:
            run = runs[0]
            run.rule.n_parabolas = -math.inf
        elif isinstance(run, Correction):
            outcome = outcome._replace(status=Status.MAX_ITER)
            break
        else:
            run = _follower(run, max_iter, callback is not None)
        runs.append(run)
    if not outcome.converged:
        run = min(runs, key=lambda run: run.certified_best().dual_gap)
    return run, outcome._replace(n_iter=history.n_iter, history=history.columns())


def _can_follow(run):
    if isinstance(run, ScanRun):
        return len(run.image) <= LARGE
    is_plain = run.image is None and isinstance(run.rule, LineSearch)
    return is_plain and run.variant == "pairwise" and run.iterate.point.size <= LARGE


def _follower(run, max_iter, is_watched):
    """The run that goes on where steps are many, or where a function proved to be quadratic."""
    domain, objective, make = run.iterate.domain, run.objective, QuadraticCorrection
    options = {"variant": "min_norm_point"}
    if isinstance(run, ScanRun):
        if run.hull is not None:
            run.hand_over()
    elif type(domain) is L1Ball:  # of two atoms for each column, distances from zero
        make, objective = ScanRun, Secants(objective, np.zeros(domain.size))
        options = {"variant": "pairwise", "rule": run.rule}
        options |= {"max_iter": max_iter, "is_watched": is_watched}
    else:
        objective = Secants(objective, run.iterate.point)
    active = run.iterate.active
    follower = make(
        objective, domain, refresh=REFRESH, accuracy=run.accuracy,
        start=Combination(active.atoms, active.weights), tol=run.given_tol, **options,
    )  # fmt: skip
    return run.leave_to(follower)


def choose(objective, domain, variant, step_size, convex):
    if check.is_auto(variant):
        variant = _natural_variant(objective, domain, convex)
    elif variant in ("away", "pairwise"):
        warn_if_round(domain, "domain", variant)
    if variant in CORRECTIVE:
        return variant, None
    if check.is_auto(step_size):
        searches = knows_lines(objective) or (convex and variant != "fw")
        step_size = "line_search" if searches else "backtracking"
        if is_quadratic(objective):
            step_size = "exact"
    return variant, step_size


def _natural_variant(objective, domain, convex):
    """The variant that was fastest on problems of each kind."""
    steps = "pairwise" if getattr(domain, "is_polytope", True) else "fw"
    # Answers of round sets move with every step; those that are nearly flat somewhere need more.
    is_round = steps == "fw" and not (is_matrix(domain) or getattr(domain, "p", 2.0) > 2.0)
    if is_round or not (convex and in_closed_form(objective)):
        return steps
    few = type(domain) is ConvexHull and min(domain.points.shape) < FEW  # vertices at once
    if can_scan(objective, domain, "exact") and not few:
        return steps
    # Corrections keep an image per atom.
    n_image = len(objective.image(UnitAtom(objective.size, 0)))
    return "min_norm_point" if n_image <= LARGE else steps


def in_closed_form(objective):
    return isinstance(objective, Objective) and objective.is_quadratic


def _rule(
    objective, domain, variant, step_size, lipschitz=None, curvature=None, convex=True
):  # fmt: skip
    if isinstance(step_size, str):
        if step_size == "exact" and not is_quadratic(objective):
            raise ValueError(
                "step_size='exact' needs a quadratic objective, with a method "
                "curvature(direction); use 'line_search'"
            )
        if step_size in ("short", "curvature") and lipschitz is None:
            lipschitz = getattr(objective, "lipschitz", None)
            if lipschitz is None and (step_size == "short" or curvature is None):
                raise ValueError(
                    f"step_size={step_size!r} needs lipschitz"
                    f"{' or curvature' if step_size == 'curvature' else ''}, which objective does "
                    f"not know; 'backtracking' needs none"
                )
        if step_size == "curvature" and curvature is None:
            diameter = getattr(domain, "diameter", None)
            if diameter is None:
                raise ValueError(
                    "step_size='curvature' needs curvature where the diameter of domain is unknown"
                )
            curvature = lipschitz * diameter**2
    return named_rule(
        step_size, lipschitz=lipschitz, curvature=curvature, variant=variant, convex=convex
    )


def _corrective(objective, domain, variant, convex, options):
    if convex and in_closed_form(objective):
        return QuadraticCorrection(objective, domain, variant=variant, **options)
    if variant == "min_norm_point":
        raise ValueError(
            "variant='min_norm_point' needs a convex quadratic object of "
            "sklearn_fw.optim.objectives; use 'fully_corrective'"
        )
    rule = named_rule("line_search", convex=convex)
    return Correction(objective, domain, variant=variant, rule=rule, **options)


def check_problem(objective, domain):
    if not callable(objective) or isinstance(objective, type):
        raise ValueError(
            f"objective must be callable, objective(x) -> (value, gradient), or an object of "
            f"sklearn_fw.optim.objectives; got {objective!r}"
        )
    check_domain(domain, "domain")
    sizes = getattr(objective, "size", None), getattr(domain, "size", None)
    if None not in sizes and sizes[0] != sizes[1]:
        raise ValueError(f"objective has {sizes[0]} variables, but domain has size {sizes[1]}")


def _point_or_combination(start):
    if isinstance(start, OptimizeResult):
        atoms = start.get("atoms")
        if atoms and isinstance(atoms[0], Atom):  # not those of each factor of a product
            return Combination(atoms, start["weights"])
        return start.x
    if not isinstance(start, tuple):
        return start
    if len(start) != 2:
        raise ValueError(f"start must be a point or (atoms, weights), got a tuple of {len(start)}")
    atoms = check.items(start[0], "the atoms of start", "atoms")
    weights = check.sample_weight(start[1], len(atoms), "the weights of start")
    return Combination(atoms, weights / weights.sum())


def _result(run, outcome, variant, step_size):
    best = run.certified_best()
    fields = fields_of(outcome, best.dual_gap, run.tol)
    return OptimizeResult(
        **best, n_oracle_calls=run.iterate.n_calls, n_away=run.n_away, n_drop=run.n_drop,
        n_swap=run.n_swap, tol=run.tol, variant=variant, step_size=step_size, **fields,
    )  # fmt: skip
