"""Fully corrective Frank-Wolfe on the tree-reweighted objective (Krishnan et al., 2015)."""

import math
from dataclasses import KW_ONLY

import numpy as np
from scipy.optimize import minimize_scalar

from .._core import check
from .._core.budget import budget_now
from .._core.loop import IterativeMethod, drive
from .._core.parameters import Parameterized, check_parameters
from .._core.result import History, Status
from .._kernels import lazy
from .._kernels.common.step_rules import AWAY, FW, PAIRWISE
from ..inference import ICM
from ..optim.domains import MarginalPolytope
from ._objective import make_energy, uniform_marginals
from ._spanning_trees import TreeChoice

trw = lazy("graphs.trw")

LOOSE = 0.1  # part of a large gap that a correction may leave


class BarrierFrankWolfe(Parameterized):
    """Settings of `TRWMarginals`: fully corrective Frank-Wolfe.

    Its parameters are grid keys ``solver__variant``.

    Parameters
    ----------
    variant : {"away", "pairwise", "fw"} or None, default="away"
        Steps of the corrections, which optimize over the labelings found so far: away steps,
        pairwise steps, or plain ones. None makes no corrections.
    correction_every : int, default=1
        Oracle calls between corrections.
    correction_tol : "auto" or float, default="auto"
        Gap at which a correction ends. "auto": 0.5 while the gap is above 1, then 0.05, and at most
        a fifth of small ``tol``.
    contraction : {"adaptive", "fixed", "none"}, default="adaptive"
        Keep marginals off the boundary, where the gradient is infinite: in a polytope shrunk
        towards the uniform point by ``delta``, which shrinks less as the gap falls; by a fixed
        ``delta``; or not at all, with a floor in the logarithms, which certifies nothing.
    delta : float, default=0.05
        Contraction at the start: in (0, 1/4] if adaptive, in (0, 1) if fixed.
    local_search : {"auto", "icm"} or None, default="auto"
        Between oracle calls also step towards labelings found by local search. "auto" does so
        unless the oracle is exact: such steps cost less than calls of an approximate one.
    rho_step_size : {"universal", "line_search"}, default="universal"
        Step towards the best spanning tree: 2 / (i + 2), or the best one, which costs more.

    References
    ----------
    .. [1] R. G. Krishnan, S. Lacoste-Julien, D. Sontag, "Barrier Frank-Wolfe for marginal
       inference", NIPS 2015: Algorithms 1 and 2.

    Examples
    --------
    >>> from sklearn_fw import TRWMarginals
    >>> from sklearn_fw.random_fields import BarrierFrankWolfe
    >>> trw = TRWMarginals("elimination", solver=BarrierFrankWolfe(variant="pairwise"))
    >>> trw.set_params(solver__delta=0.1).solver
    BarrierFrankWolfe(delta=0.1, variant='pairwise')
    """

    variant: check.optional(check.options("away", "pairwise", "fw")) = "away"
    _: KW_ONLY
    correction_every: check.at_least(1) = 1
    correction_tol: check.auto_or(check.positive) = "auto"
    contraction: check.options("adaptive", "fixed", "none") = "adaptive"
    delta: float = 0.05
    local_search: check.optional(check.options("auto", "icm")) = "auto"
    rho_step_size: check.options("universal", "line_search") = "universal"

    def _check(self):
        check_parameters(self)
        if self.contraction == "adaptive":
            check.within(0.0, 0.25, "right")(self.delta, "delta")
        elif self.contraction == "fixed":
            check.within(0.0, 1.0, "neither")(self.delta, "delta")

    def _tol_of_correction(self, gap, tol):
        """Pairwise gap at which a correction ends, given the gap outside of it."""
        if not check.is_auto(self.correction_tol):
            return self.correction_tol
        # The authors' choice where gaps are a few nats; large graphs begin with thousands. Anything
        # looser than the goal would stall the outer loop.
        auto = max(0.5, LOOSE * gap) if gap >= 1.0 else 0.05
        return auto if tol >= 0.25 else min(auto, tol / 5)


PATIENCE = 5  # small estimated gaps in a row that end a run whose oracle proves nothing
CORRECTION_STEPS = 100  # in one correction, as in the authors' program
LOCAL_SEARCHES = 30  # between two oracle calls
TRACE = 1e-9  # weights below are zeros that came out of sums
REMAINDER = 1e-2  # of the uniform point in a mixture that counts as finished
FLOOR = 1e-8  # added to marginals inside logarithms when nothing keeps them away from zero


class Growing:
    """An array that grows at its end; ``room`` is longer than the ``values`` in it."""

    def __init__(self, dtype):
        self.room, self.size = np.zeros(64, dtype), 0

    @property
    def values(self):
        return self.room[: self.size]

    def extend(self, values):
        end = self.size + len(values)
        if end > len(self.room):
            self.room = np.pad(self.room, (0, max(end, len(self.room))))
        self.room[self.size : end] = values
        self.size = end


class TRWRun(IterativeMethod):
    """State of the method; ``rho`` may change between two loops.

    One step moves to the vertex found last, corrects, and asks the oracle at the new point, so that
    the certificate always belongs to the point that stands here.
    """

    certificate = "stopping_gap"

    def __init__(self, mrf, theta, polytope, settings, *, tol):
        self.mrf, self.theta, self.polytope, self.settings = mrf, theta, polytope, settings
        self.tol, self.local_search = tol, settings.local_search == "icm"
        self._nearby = None  # labelings that local search finds
        if isinstance(polytope, MarginalPolytope):
            self._nearby = MarginalPolytope(mrf.n_states, mrf.edges, ICM())
            if check.is_auto(settings.local_search):
                self.local_search = not getattr(polytope.oracle, "exact", False)
        kinds = {"fw": FW, "pairwise": PAIRWISE, "away": AWAY}
        self.kind = kinds.get(settings.variant)
        self.delta = 0.0 if settings.contraction == "none" else settings.delta
        self.upper = math.inf
        self.n_calls, self.history = 0, History()
        self._numbers, self._labels = {}, []
        self.uniform = uniform_marginals(mrf)
        self._start, self._place = Growing(np.int64), Growing(np.int32)
        self._share_start, self._share = Growing(np.int64), Growing(np.float64)
        self._alpha = Growing(np.float64)
        self._start.extend([0])
        self._add(np.arange(len(theta)), self.uniform)
        self.alpha[0] = 1.0
        self.mu = self.uniform.copy()
        self._last_correction_gap = None

    # ---- atoms ---------------------------------------------------------------------------------

    @property
    def alpha(self):
        return self._alpha.values

    @property
    def atoms(self):
        stores = self._start, self._place, self._share_start, self._share
        return trw.Atoms(*(store.room for store in stores))

    @property
    def labelings(self):
        return np.array(self._labels, np.int32).reshape(-1, self.mrf.n_variables)

    def _add(self, places, shares):
        self._place.extend(places)
        self._start.extend([self._place.size])
        self._alpha.extend([0.0])
        self._share_start.extend([-1 if shares is None else self._share.size])
        if shares is not None:
            self._share.extend(shares)
        return self._alpha.size - 1

    def _number(self, vertex):
        """Number of the atom that a vertex is, which is added if it is new."""
        key = vertex.key
        if key not in self._numbers:
            shares = None if isinstance(vertex.values, float) else vertex.values
            self._numbers[key] = self._add(vertex.places, shares)
            self._labels.append(vertex.labels)
        return self._numbers[key]

    def resume(self, labelings, weights, delta):
        """Start from a mixture of labelings; ``weights[0]`` is that of the uniform point."""
        for labels in labelings:
            self._number(self.polytope._atom(labels))
        self.alpha[:] = weights
        if self.settings.contraction == "adaptive" and delta > 0.0:
            self.delta = min(self.delta, delta)
        trw.combine(self.uniform, self.atoms, self.alpha, self.delta, self.mu)

    # ---- the method ----------------------------------------------------------------------------

    def set_rho(self, rho):
        self.rho = rho
        floor = FLOOR if self.delta == 0.0 else 0.0
        self.energy = make_energy(self.mrf, rho, theta=self.theta, floor=floor)
        self._vertex, self._small = None, 0

    def step(self):
        if self._vertex is not None:
            self._move()
        self._ask()
        row = {
            "n_oracle_calls": self.n_calls,
            "objective": self.log_partition,
            "dual_objective": self.log_partition + self.gap,
            "log_partition_upper": self.upper,
            "dual_gap": self.gap,
            "estimated_gap": self.estimated_gap,
            "stopping_gap": self.stopping_gap,
            "delta": self.delta,
            "n_vertices": self._alpha.size,
        }
        return {name: x if math.isfinite(x) else None for name, x in row.items()}

    def correct(self, tol):
        if self.kind is None:
            return
        self._last_correction_gap = trw.correct(
            self.energy, self.atoms, self.alpha, self.delta, self.mu, self.kind, tol,
            CORRECTION_STEPS,
        )  # fmt: skip

    @property
    def log_partition(self):
        """The objective at the current point: log Z of the surrogate from below."""
        return self.mrf.constant + trw.value(self.energy, self.mu)

    @property
    def lower(self):
        """Log of the total potential of the labelings visited: log Z from below."""
        # Two fractional vertices may round to one labeling, which counts once.
        visited = self.mrf.score(np.unique(self.labelings, axis=0))
        return float(np.logaddexp.reduce(visited, initial=-math.inf))

    def forbidden_weight(self):
        """Weight of forbidden states and pairs, beyond what the method leaves on all of them.

        That is the contraction, and a little of the uniform point that everything starts from.
        """
        at = self.mrf.theta == -np.inf
        if not at.any():
            return 0.0
        weight = (1.0 - self.delta) * self.alpha[0]
        allowed = (self.delta + weight) * self.uniform[at]
        spilt = float((self.mu[at] - allowed).max())
        return max(spilt if spilt > TRACE else 0.0, weight if weight > REMAINDER else 0.0)

    def _ask(self):
        self._slopes = np.empty_like(self.mu)
        trw.gradient(self.energy, self.mu, self._slopes)
        here = float(self._slopes @ self.mu)
        start = self._labels[-1] if self._labels else None
        vertex = self.polytope.lmo(-self._slopes, start)
        bound = -vertex.bound
        self.n_calls += 1
        if -vertex.value <= here < bound and self._nearby is not None:
            # An oracle without guarantee found nothing better than the point itself.
            labels = np.array([block.argmax() for block in self.mrf.node_blocks(self.mu)])
            better = self._nearby.lmo(-self._slopes, labels)
            vertex = better if better.value < vertex.value else vertex
        self._vertex = vertex
        self._last = self._number(vertex)
        self.estimated_gap = -vertex.value - here
        # Near zero the logarithms are not those of the objective: then nothing is certified.
        self.gap = bound - here if self.energy.floor == 0.0 else math.inf
        self.upper = min(self.upper, self.log_partition + self.gap)
        self._small = self._small + 1 if self.estimated_gap <= self.tol else 0
        if self.gap <= self.tol:
            self.stopping_gap = self.gap
        elif bound <= -vertex.value or self._small >= PATIENCE or self.estimated_gap <= 0.0:
            self.stopping_gap = max(self.estimated_gap, 0.0)
        else:
            self.stopping_gap = math.inf
        if self.settings.contraction == "adaptive":
            self._contract_less()

    def _contract_less(self):
        loss = float(self._slopes @ (self.uniform - self.mu))
        gap = self.estimated_gap if self.estimated_gap > 0.0 else self._last_correction_gap
        if gap is None or loss >= 0.0:
            return
        proposal = gap / (-4.0 * loss)
        if not 0.0 < proposal < self.delta:
            return
        delta = min(proposal, self.delta / 2)
        # The point stays, as another mixture of other contracted atoms.
        alpha = self.alpha
        alpha[1:] *= (1.0 - self.delta) / (1.0 - delta)
        alpha[0] = max(1.0 - alpha[1:].sum(), 0.0)
        self.delta = delta

    def _move(self):
        settings = self.settings
        trw.step_to(self.energy, self.atoms, self._last, self.delta, self.mu, self.alpha)
        gap = max(self.estimated_gap, 0.0)
        if self.local_search and gap >= self.tol:
            self._search_locally()
        if self.n_calls % settings.correction_every == 0:
            self.correct(settings._tol_of_correction(gap, self.tol))

    def _search_locally(self):
        labels = self._labels[self._last - 1]
        for _ in range(LOCAL_SEARCHES):
            slopes = np.empty_like(self.mu)
            trw.gradient(self.energy, self.mu, slopes)
            vertex = self._nearby.lmo(-slopes, labels)
            if np.array_equal(vertex.labels, labels):
                return
            labels = vertex.labels
            number = self._number(vertex)
            trw.step_to(self.energy, self.atoms, number, self.delta, self.mu, self.alpha)


def tighten(run, rho, *, n_rho_iter, max_calls, **options):
    """Minimize over edge appearance probabilities too (Algorithm 2, lines 4 and 20 to 24).

    Returns the probabilities of the last problem solved, how far they may be from the best ones
    (the Frank-Wolfe gap over spanning trees) and the `Status` of that problem.
    """
    status = Status.RUNNING

    def is_over():
        return run.n_calls >= max_calls or budget_now().is_spent or status is Status.STOPPED

    def solve(rho, i):
        nonlocal status
        if i and is_over():  # within a line search: the last problem solved counts
            return run.rho, run.mu
        run.set_rho(rho)
        run.history.common["rho_iter"] = i
        if i:
            run.correct(0.5)  # often no oracle call is needed after this
        max_iter = max(1, min(options["max_iter"], max_calls - run.n_calls))
        status, _, _ = drive(run, history=run.history, **{**options, "max_iter": max_iter})
        return rho, run.mu

    def best_step(state):
        """Step of least bound; the end of the segment would make probabilities zero."""

        def bound(step):
            solve(choice.solution() + step * choice.trees.direction(FW), state.n_iter + 1)
            gap = run.gap if math.isfinite(run.gap) else run.estimated_gap
            return run.log_partition + gap  # log Z from above, proven or not

        options = {"xatol": 5e-4}
        found = minimize_scalar(bound, bounds=(0.0, 0.99), method="bounded", options=options)
        return float(found.x)

    rule = best_step if run.settings.rho_step_size == "line_search" else None
    choice = TreeChoice(run.mrf, rho, solve, rule)
    drive(choice, tol=0.0, max_iter=n_rho_iter, end=is_over)
    return choice.solution(), choice.rho_gap, status
