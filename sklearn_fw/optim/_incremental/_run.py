"""Incremental methods: settings as estimators, runs as objects that the loop drives."""

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._core import check
from ..._core.loop import IterativeMethod
from ..._core.parameters import Parameterized, check_parameters
from ..._core.warnings import warn
from ..._kernels import lazy
from ._engines import GroupEngine, SeparableEngine
from ._finite_sum import suboptimality_bound

random = lazy("common.random")
rows = lazy("common.rows")

# Share of the largest row norm that the intercept adds to the smoothness: its curvature is large,
# so it needs no long steps, and it should not shorten those of the features.
INTERCEPT_SHARE = 0.1
# Step size "auto" in units of 1 / L.
AUTO_SHARE = 1.0 / 3.0
# Squares of column entries below this count as zero: their inverse would be no number.
TINY = 1e-200
# Share of the mean loss of zero scores below which a certificate is rounding.
ROUNDING = 1e-16
# Share of the objective at zero below which a gap is held by rounding, and rows that show it.
NOISE, RESTING = 1e-11, 100


class Seen(NamedTuple):
    """All rows of a sum of which a run visits a part: what the other rows contribute."""

    counts: np.ndarray  # rows before that touch each column (or its group)
    n_rows: int  # number of rows before
    adds: bool  # whether the rows of the run come on top of these
    total: np.ndarray  # X^T memory of all rows
    mass: np.ndarray  # sum of the memory of all rows


class Start(NamedTuple):
    """Where a run begins; a memory is only meaningful for the same rows."""

    coef: np.ndarray
    intercept: np.ndarray
    memory: np.ndarray | None = None
    seen: Seen | None = None  # None: the rows of the run are all rows


class Solver(Parameterized):
    """Settings of a method; its parameters are grid keys ``solver__name``."""

    keeps_memory = False  # whether it can go on with rows that it has left

    @abstractmethod
    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        """Begin an `IterativeMethod` with ``best``, ``close()`` and a relative ``tol``."""


class IncrementalSolver(Solver):
    """Settings of an incremental method; its parameters are grid keys ``solver__name``.

    Parameters
    ----------
    step_size : {"auto", "theory"} or float, default="auto"
        "auto" is 1 / (3 L), and "theory" the 1 / (5 L) of the convergence theorem, or what that for
        threads allows (`Asaga`), where L bounds the second derivative of every term
        ``s_i loss(y_i, <w, x_i> + c)``.
    sampling : {"shuffle", "uniform"}, default="shuffle"
        Every row once per epoch in a new order, or independent draws as in the theory.
    conditioning : {"auto", "diagonal"} or None, default="auto"
        "diagonal" gives every column a step of its own, as if columns were scaled to the same
        largest absolute value (dense ones centered when there is an intercept) while the penalty
        stays that of the original columns; "auto" does so for dense X.
    """

    parallel = False  # whether more than one thread can work

    _: KW_ONLY
    step_size: check.auto_or(check.positive, words=("auto", "theory")) = "auto"
    sampling: check.options("shuffle", "uniform") = "shuffle"
    conditioning: check.optional(check.options("auto", "diagonal")) = "auto"

    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        check_parameters(self)
        engine = self.make_engine(problem, n_workers if self.parallel else 1)
        if start is not None and start.seen is not None:
            engine.join(start.seen)
        metric, center = self._scales(problem)
        gamma = self._gamma(problem, engine, metric, center)
        engine.set_step(gamma, metric, center)
        return self.make_run(problem, engine, tol=tol, rng=rng, start=start)

    def make_engine(self, problem, n_workers):
        """The layout on which the method runs."""
        alone = problem.penalty.separable and problem.n_outputs is None
        return SeparableEngine(problem, n_workers) if alone else GroupEngine(problem, n_workers)

    @abstractmethod
    def make_run(self, problem, engine, *, tol, rng, start):
        """The object that makes the iterations."""

    def _scales(self, problem):
        """Factors of the step per column, and what to subtract from the columns of dense rows."""
        dense = not sp.issparse(problem.X)
        if self.conditioning is None or (check.is_auto(self.conditioning) and not dense):
            return None, None
        center = problem.column_means if problem.centers else None
        largest = np.zeros(problem.n_columns)
        rows.largest_entries(problem.rows(center), problem.active, largest)
        squares = np.square(largest)
        return 1.0 / np.where(squares > TINY, squares, 1.0), center

    def _gamma(self, problem, engine, metric, center):
        if metric is None:
            smoothness = problem.smoothness
        else:
            smoothness = problem.smoothness_in(engine.common(metric), center)
        of_intercept = 0.0
        if problem.fit_intercept:
            # The intercept is a column of ones, in a metric of its own.
            heaviest = 1.0 if problem.weight is None else problem.weight.max()
            of_ones = problem.loss.smoothness * heaviest
            of_intercept = INTERCEPT_SHARE * smoothness / of_ones or 1.0
            smoothness += of_intercept * of_ones
        gamma = self.step_size
        if isinstance(gamma, str):
            gamma = self._share(engine, smoothness, metric) / (smoothness or 1.0)
        return float(gamma), float(gamma) * of_intercept

    def _share(self, engine, smoothness, metric):
        is_auto = check.is_auto(self.step_size)
        return AUTO_SHARE if is_auto else proven_share(engine, self._overlap(engine))

    def _overlap(self, engine):
        """Steps that may overlap with one."""
        return 0


class Run(IterativeMethod):
    """What the runs of all methods share: certificates, and the decision when to make one.

    Without a dual the certificate is that of `suboptimality_bound`. It costs a system of linear
    equations and is tried when the gradient mapping is small compared with its value at zero;
    until then the objective is the only bound.

    An exact certificate costs as much as half an epoch. The memory after an epoch is a dual point,
    whose bound costs nothing: the gap is estimated from the growth of this bound, and a small
    estimate triggers the exact one. Exact certificates leave the memory at the slopes of the point
    and its sum without rounding.
    """

    def __init__(self, problem, engine, settings, *, tol, rng, start=None):
        self.problem, self.engine, self.settings = problem, engine, settings
        self.rng = rng
        self.best = None  # the certificate of the last exact check
        self.memory_drift, self.n_updates = 0.0, 0
        self.seed = rng.randint(2**32, size=1, dtype=np.uint64)
        self.order = problem.active  # shuffled in place
        self.has_dual = problem.has_dual
        # Name of the number that `tol` stops.
        self.certificate = "dual_gap" if self.has_dual else "suboptimality"
        self.tol, self.scale, self.rounding = tol, 0.0, 0.0
        self.lowest, self.n_resting = np.inf, 0  # gap, and rows since it was met
        self.unproven_at = np.inf  # gradient mapping of the last point with too large a bound
        if start is not None and start.seen is not None:
            # A part of the rows: nothing can be certified.
            coef = self._rested(start.coef)
            engine.move_to(coef, start.intercept, start.memory, start.seen.total, start.seen.mass)
            return
        coef, intercept, objective = problem.origin()
        self.scale = objective * problem.total_weight
        # An objective near zero is not rounding where it falls for ever.
        self.rounding = ROUNDING * problem.size if self.has_dual or problem.reaches_zero else 0.0
        total, memory = None, None
        if start is not None and self._at(start) <= objective * (1.0 + 1e-9):
            coef, intercept, memory = self._rested(start.coef), start.intercept, start.memory
            total = None if memory is None else problem.gradient(memory)
        engine.move_to(coef, intercept.reshape(problem.shape[1:]), memory, total)

    def _at(self, start):
        """Objective of a start: those that are worse than the origin are not taken."""
        problem = self.problem
        coef = problem.penalty.prox(start.coef.reshape(problem.shape), 0.0)  # within its bounds
        losses = problem.loss_at(coef, start.intercept)
        return (losses + problem.penalty.value(coef)) / problem.total_weight

    def _rested(self, coef):
        """The coefficients; where no row touches a column its penalty alone decides, for good."""
        rest, idle = self.problem.resting_point(), self.engine.idle()
        idle = idle if rest.ndim == 1 else idle[:, None]
        return np.where(idle, rest, coef.reshape(rest.shape))

    def draw(self, size=None):
        """Rows of an epoch, or ``size`` independent draws; valid until the next call."""
        if size is None and self.settings.sampling == "shuffle":
            random.shuffle(self.order, self.seed)
            return self.order
        order = np.empty(size or self.order.size, self.order.dtype)
        random.draw(self.problem.active, order, self.seed)
        return order

    def advance(self, order, refresh=True):
        self.n_updates += order.size
        done = self.engine.run(order, refresh)
        self.problem.raise_kept()
        return done

    def certify(self):
        """Exact certificate of the current point, which then is what the engine stands on."""
        self.best = None  # its arrays may be as large as all others
        coef, intercept = self.engine.point()
        best = self.problem.certify(coef, intercept)
        self._stand(best)
        if not self.has_dual and best.gradient_mapping <= self._flat:
            bound = max(best.objective, np.finfo(float).tiny)  # of zero, which no point has
            if not self.problem.proves_separable(best.objective):
                bound = suboptimality_bound(self.problem, best)
            best = best._replace(bound=bound)
            if bound is None or bound > self.tol * abs(best.objective):
                self.unproven_at = best.gradient_mapping
        self.best = best
        return self._row(best.row(), certified=True)

    def run(self, n_steps):
        """Make steps until one may be the last; returns coefficients and intercepts."""
        for _ in range(n_steps):
            if self.may_stop(self.step()):
                break
        return self.engine.point()

    @property
    def _flat(self):
        """Gradient mapping from which a bound is tried; lower after each one that was too large."""
        return min(self.tol * self.problem.null.gradient_mapping, 0.5 * self.unproven_at)

    def may_stop(self, row):
        if self.has_dual:
            return row["dual_gap"] <= max(self.tol * abs(row["objective"]), self.rounding)
        return row["gradient_mapping"] <= self._flat

    @property
    def shortfall(self):
        """Name and value of the certificate of the last exact check, and where it should be."""
        best = self.best
        limit = self.tol * abs(best.objective)
        if self.has_dual:
            return "duality gap", best.dual_gap, limit
        if best.bound is not None:
            return "bound on the suboptimality", best.bound, limit
        flat = self.tol * self.problem.null.gradient_mapping
        if best.gradient_mapping > flat:
            return "gradient mapping", best.gradient_mapping, flat
        return "unproven suboptimality, at most", abs(best.objective), limit

    def unproven(self, objective, mapping):
        """Columns of a row without dual, before anything is proven."""
        return {"gradient_mapping": mapping, "suboptimality": abs(objective)}

    def _stand(self, best):
        self.engine.move_to(best.coef, best.intercept, best.memory, best.total)

    def _row(self, row, certified):
        if "dual_gap" in row:
            row["dual_objective"] = row["objective"] - row["dual_gap"]
            gap, noise = row["dual_gap"], NOISE * self.scale / self.problem.total_weight
            rests = self.lowest <= gap <= noise
            self.lowest, self.n_resting = (self.lowest, self.n_resting + 1) if rests else (gap, 0)
            self.is_stuck |= self.tol > 0.0 and self.n_resting >= RESTING
        if self.problem.sums is not None:
            row |= self.problem.parts.traffic.row()
        return row | {"certified": certified}

    @property
    def step_size(self):
        return self.engine.gamma[0]

    def close(self):
        self.engine.close()


def proven_share(engine, overlap):
    """The share of 1 / L for which linear convergence is proven with steps in parallel.

    With tau steps that overlap and a share Delta of the rows at the most frequent column it is
    ``1 / (32 (1 + tau sqrt(Delta)) xi)`` with ``xi = sqrt(1 + min(1 / sqrt(Delta), tau) / (8
    kappa))`` [1]_; with a penalty at most ``min(1, 6 kappa / tau) / 36`` besides [2]_. The smallest
    curvature is at most the mean one, hence kappa at least the number of columns.

    References
    ----------
    .. [1] R. Leblond, F. Pedregosa, S. Lacoste-Julien, "ASAGA: Asynchronous Parallel SAGA",
       AISTATS 2017: Theorem 2.
    .. [2] F. Pedregosa, R. Leblond, S. Lacoste-Julien, "Breaking the Nonsmooth Barrier: A Scalable
       Parallel Method for Composite Optimization", NIPS 2017: Theorem 2.
    """
    if not overlap:
        return 0.2
    kappa, root = max(np.count_nonzero(engine.counts()), 1), np.sqrt(engine.sparsity)
    xi = np.sqrt(1.0 + min(1.0 / root, overlap) / (8.0 * kappa))
    share, most = 1.0 / (32.0 * (1.0 + overlap * root) * xi), 0.1 * engine.n_rows
    penalty = engine.problem.penalty
    if not (penalty.is_ridge and penalty.l2 == 0.0):
        share = min(share, min(1.0, 6.0 * kappa / overlap) / 36.0)
        most = min(most, 0.1 / root)
    if overlap >= most:
        warn(
            f"no theorem covers overlap={overlap} on these rows, only below {most:.3g}; steps of "
            f"{share:.3g} / L shrink with it all the same: take fewer threads, or no intercept"
        )
    return float(share)
