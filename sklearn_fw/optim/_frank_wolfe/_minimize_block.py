"""Block-coordinate Frank-Wolfe on products of domains."""

import math

import numpy as np
from scipy.optimize import OptimizeResult

from ..._core import check
from ..._kernels.common.step_rules import open_loop_step
from .._ends import end_of, run_to_end
from ..domains._base import ProductAtom, SparseAtom, is_ours
from ._core import FrankWolfe, Minimization
from ._iterate import Combination, Iterate
from ._minimize import _result, _rule, check_problem, choose
from ._steps import ImageLine, Line

SAMPLINGS = ("uniform", "permutation", "gap")
STEP_SIZES = ("auto", "exact", "line_search", "backtracking", "universal")


def minimize_block_frank_wolfe(
    objective,
    domain,
    *,
    variant="auto",
    sampling="permutation",
    step_size="auto",
    average=None,
    gap_every=10,
    start=None,
    max_iter=1000,
    tol=None,
    time_limit=None,
    callback=None,
    random_state=None,
    verbose=0,
):
    """Minimize a smooth function over a product of sets, one factor at a time.

    Solves ``min f(x_1, ..., x_n)`` with each x_i in a set of its own. A step calls the oracle of
    one factor and moves in it. Choose it where there are many factors and the gradient in one of
    them is cheap, as with objects of `sklearn_fw.optim.objectives`: a pass of n such steps costs
    as much as one step of `minimize_frank_wolfe` and goes much further.

    Parameters
    ----------
    objective : Objective or callable
        As for `minimize_frank_wolfe`. A callable computes the whole gradient in every step.
    domain : Product
        The sets, a `sklearn_fw.optim.domains.Product`.
    variant : {"auto", "fw", "away", "pairwise"}, default="auto"
        Steps in each factor, as for `minimize_frank_wolfe`; "auto" is "pairwise" in polytopes and
        "fw" in others. No convergence rate is proved for "away" and "pairwise".
    sampling : {"uniform", "permutation", "gap"}, default="permutation"
        Next factor: any, each once in a random order, or in proportion to the gaps last seen.
    step_size : str, float or callable, default="auto"
        As for `minimize_frank_wolfe`, without "short" and "curvature"; "universal" is
        ``2 n / (2 n + k)`` after k steps in factors that dropped no vertex.
    average : {"weighted"} or None, default=None
        Whether to return the mean of all iterates, that of step k counted k times, where its gap is
        smaller.
    gap_every : int, default=10
        Passes after which the gap is computed, which costs the whole gradient and all oracles.
    start : array-like of shape (size,), Atom, earlier result or None, default=None
        Where to start; None means ``domain.start()``. Variants that keep vertices take the part of
        each factor for one.
    max_iter : int, default=1000
        Largest number of iterations: the gap of the start, then passes of a step per factor.
    tol : float or None, default=None
        Largest gap, in units of f; None is 1e-6 of the value, or 1e-8 of the first value or gap.
    time_limit : float or None, default=None
        Seconds after which no new pass begins.
    callback : callable or None, default=None
        Called after each gap with an `OptimizeResult`; returning True ends the loop.
    random_state : int, RandomState or None, default=None
        Order of the factors.
    verbose : int, default=0
        Log a line per gap.

    Returns
    -------
    result : OptimizeResult
        As of `minimize_frank_wolfe`; ``atoms``, ``weights``, ``variant``, ``step_size`` are lists
        with those of each factor (atoms None for factors of "fw" and where ``x`` is an average),
        ``n_oracle_calls`` counts the factors.

    Notes
    -----
    More than 13 parameters: those of `minimize_frank_wolfe` for runs, and those of sampling.
    For "fw" with "universal" or line searches the expected distance to the minimum after k steps is
    at most ``2 n / (k + 2 n)`` times the sum of the curvature constants of the factors and the
    first distance [1]_. Results are the same in every run with the same ``random_state``.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher, "Block-coordinate Frank-Wolfe
       optimization for structural SVMs", ICML 2013: Algorithm 3, Theorem C.1.
    .. [2] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania, S. Lacoste-Julien, "Minding the gaps
       for block Frank-Wolfe optimization of structured SVMs", ICML 2016: gap sampling, and steps
       away from vertices.

    Examples
    --------
    Four mixtures of three images each, of which the sum is given:

    >>> import numpy as np
    >>> from sklearn_fw.optim import domains, minimize_block_frank_wolfe, objectives
    >>> rng = np.random.default_rng(0)
    >>> images = rng.random((30, 12))
    >>> sets = domains.Product(*[domains.Simplex(3)] * 4)
    >>> objective = objectives.LeastSquares(images, images @ np.tile([0.2, 0.8, 0.0], 4))
    >>> result = minimize_block_frank_wolfe(objective, sets, random_state=0)
    >>> result.x.reshape(4, 3)[0].round(2)
    array([0.2, 0.8, 0. ])
    """
    check.choice(variant, "variant", ("auto", "fw", "away", "pairwise"))
    check.choice(sampling, "sampling", SAMPLINGS)
    if average is not None:
        check.choice(average, "average", ("weighted",), "None")
    check_problem(objective, domain)
    if not hasattr(domain, "blocks"):
        raise ValueError(f"domain must be a domains.Product, got {domain!r}: its factors are steps")
    tol = check.optional(check.not_negative)(tol, "tol")
    if isinstance(step_size, str):
        check.choice(step_size, "step_size", STEP_SIZES, "a number")
    if check.is_auto(variant):
        each = [getattr(factor, "is_polytope", True) for factor in domain.domains]
        variants = ["pairwise" if is_polytope else "fw" for is_polytope in each]
        choices = [choose(objective, None, v, step_size, True) for v in variants]
    else:
        choices = [choose(objective, domain, variant, step_size, True)] * len(domain.domains)
    run = BlockMinimization(
        objective, domain, choices, start=start, tol=tol, sampling=sampling,
        average=average, gap_every=check.integer(gap_every, "gap_every", 1),
        rng=check.random_state(random_state),
    )  # fmt: skip
    end = end_of(callback, run.state)
    outcome = run_to_end(
        run, tol=None, max_iter=max_iter, time_limit=time_limit, verbose=verbose,
        end=lambda: not run.n_iter % run.gap_every and end(),
    )  # fmt: skip
    return _result(run, outcome, *map(_common, zip(*choices)))


def _common(values):
    return values[0] if all(value == values[0] for value in values) else list(values)


class BlockMinimization(Minimization):
    """Passes of steps in one factor each; the certificate is that of the whole point."""

    def __init__(
        self, objective, domain, choices, *, start, tol, sampling, average, gap_every, rng,
    ):  # fmt: skip
        combinations = [None] * len(choices)
        if isinstance(start, OptimizeResult):
            if any(isinstance(atoms, list) for atoms in start.get("atoms") or ()):
                pairs = zip(start["atoms"], start["weights"], strict=True)
                combinations = [atoms and Combination(atoms, weights) for atoms, weights in pairs]
            start = start.x
        super().__init__(objective, domain, rule=None, start=start, tol=tol)
        self.sampling, self.gap_every, self.rng, self.n_steps = sampling, gap_every, rng, 0
        points = [self.iterate.point[block] for block in domain.blocks]
        first = domain.start() if start is None else None
        if isinstance(first, ProductAtom):  # vertices in their short form
            points = first.parts
        self.parts = []
        for i, (factor, block) in enumerate(zip(domain.domains, domain.blocks)):
            variant, step_size = choices[i]
            iterate = Iterate(
                factor, start=combinations[i] or points[i], active=variant != "fw", known=True,
            )  # fmt: skip
            self.parts.append(Block(self, iterate, block, variant, step_size))
        self.sums = None if average is None else np.zeros_like(self.iterate.point)
        self.since = np.ones(len(self.parts), np.int64)  # first step whose point is not in the sums
        self.gaps = np.ones(len(self.parts))
        self._is_average, self.n_done = False, 0

    def step(self):
        if self.n_iter >= 0:
            self.advance()
        self.n_iter += 1
        return None if self.n_iter % self.gap_every else self.certify()

    def advance(self):
        n, iterate = len(self.parts), self.iterate
        iterate.point = iterate.point.copy()  # of which the last one is known to others
        if self.sampling == "permutation":
            order = self.rng.permutation(n).tolist()
        elif self.sampling == "uniform":
            order = self.rng.randint(n, size=n).tolist()
        else:  # drawn on the way, as gaps change
            order = (self._by_gap() for _ in range(n))
        for i in order:
            part = self.parts[i]
            part.look()
            iterate.n_calls += 1
            self.gaps[i] = max(part.dual_gap, 0.0)
            before = part.n_good
            part.advance()
            self.n_steps += part.n_good - before
            self._count(i, part)
            if self.image is None:
                iterate.point = iterate.point.copy()
            else:
                self.image = self.image + part.step_length * part.ahead
            iterate.point[part.block] = part.iterates[0].point

    def _by_gap(self):
        sums = np.cumsum(self.gaps)
        if not 0.0 < sums[-1] < math.inf:
            return self.rng.randint(len(self.gaps))
        place = np.searchsorted(sums, self.rng.random_sample() * sums[-1], side="right")
        return int(min(place, len(sums) - 1))

    def _count(self, i, part):
        """Add the former point of a factor to the average, for all steps that had it."""
        self.n_done += 1
        if self.sums is not None:
            last = self.n_done - 1
            weight = 0.5 * (last * (last + 1) - self.since[i] * (self.since[i] - 1))
            self.sums[part.block] += weight * self.iterate.point[part.block]
            self.since[i] = self.n_done

    def gradient_of(self, block):
        if self.image is not None and is_ours(self.objective):
            self.value, slopes = self.objective.slopes(self.image)
            return self.objective.adjoint_in(slopes, block)
        self.value, gradient = self._derivatives()
        return gradient[block].copy()

    def refresh(self):
        self._n_moves = 0
        self.iterate.point = self.iterate.point.copy()
        for part in self.parts:
            part.iterates[0].refresh()
            self.iterate.point[part.block] = part.iterates[0].point
        if self.image is not None:
            self.image = self._checked_image(self.iterate.point)

    def certify(self):
        self.refresh()
        for name in ("n_good", "n_away", "n_drop", "n_swap"):
            setattr(self, name, sum(getattr(part, name) for part in self.parts))
        gap = self._certify_average()
        row = super().certify()
        ahead = self.iterate.point - self.iterate.atom.to_array()
        starts = [part.block.start for part in self.parts]
        self.gaps = np.maximum(np.add.reduceat(self.gradient * ahead, starts), 0.0)
        self.dual_gap = min(self.dual_gap, gap)
        return row | {"dual_gap": self.dual_gap}

    def _certify_average(self):
        if self.sums is None or not self.n_steps:
            return math.inf
        iterate, kept, n = self.iterate, (self.iterate.point, self.image), self.n_done
        weights = 0.5 * (n * (n + 1) - self.since * (self.since - 1))
        sizes = [part.block.stop - part.block.start for part in self.parts]
        iterate.point = (self.sums + np.repeat(weights, sizes) * iterate.point) / (n * (n + 1) / 2)
        if self.image is not None:
            self.image = self._checked_image(iterate.point)
        self._is_average = True
        super().certify()
        self._is_average = False
        iterate.point, self.image = kept
        return self.dual_gap

    def described(self):
        known = super().described()
        sets = [part.iterates[0].active for part in self.parts]
        if not self._is_average and any(sets):
            known.atoms = [active and active.atoms for active in sets]
            known.weights = [active and active.weights.copy() for active in sets]
        return known


class Block(FrankWolfe):
    def __init__(self, run, iterate, block, variant, step_size):
        is_universal = check.is_named(step_size, "universal")
        rule = self.shrinking if is_universal else _rule(run.objective, None, variant, step_size)
        super().__init__([iterate], variant, rule)
        self.run, self.block, self.ahead = run, block, None

    def shrinking(self, state):
        return open_loop_step(self.run.n_steps, len(self.run.parts), math.inf)

    def look(self):
        iterate = self.iterates[0]
        iterate.look(self.run.gradient_of(self.block))
        self.dual_gap = self.gap + iterate.slack

    def line(self, kind):
        run, direction = self.run, self.iterates[0].direction(kind)

        def padded():
            whole = np.zeros(run.iterate.point.size)
            whole[self.block] = direction
            return whole

        if run.image is None:
            return Line(run.objective, run.iterate.point, run.value, padded())
        places = np.flatnonzero(direction)
        atom = SparseAtom(run.iterate.point.size, places + self.block.start, direction[places])
        self.ahead = run._checked_image(atom)
        return ImageLine(run.objective, run.image, self.ahead, run.value, padded)
