"""SAGA and its relatives: asynchronous, sparse, dense, lagged, SVRG, and dual coordinates."""

from dataclasses import KW_ONLY, replace

import numpy as np

from ..._core import check
from ..._core.threads import ThreadPool
from ..._kernels import lazy
from ._engines import PERIOD, Columns, GroupEngine, LaggedEngine, bounds_of
from ._run import IncrementalSolver, Run, Solver
from ._support import has_support, minimize_on_support

dual_coordinate = lazy("incremental.dual_coordinate")

# Epoch from which on, at powers of two, the optimum on the support of an l1 norm is tried, which is
# the first epoch after a start, and how often the support may grow.
FIRST, ROUNDS = 4, 10
# Steps that overlap, per thread: measured overlaps are many times the number of threads.
USUAL_OVERLAP = 10
# Square of the size of an intercept in the rows, as a share of that of a row. All rows have it in
# common: steps undo each other where it is large; where it is small they hardly move it.
INTERCEPT = 0.05


class SagaRun(Run):
    """Methods whose memory follows: SAGA, its sparse, lagged and asynchronous forms, SAG."""

    def __init__(self, problem, engine, settings, *, tol, rng, start=None):
        super().__init__(problem, engine, settings, tol=tol, rng=rng, start=start)
        self.duals = []  # values of the dual at the memory after the last epochs
        is_whole = start is None or start.seen is None
        self.uses_support = is_whole and tol > 0.0 and has_support(problem) and self.has_dual
        self.n_epochs, self.first = 0, FIRST if start is None else 1
        if start is not None and start.memory is not None and start.seen is None:
            self._recall()

    def _recall(self):
        """Note the value of the dual at the memory that the run begins with."""
        memory = self.engine.memory.reshape(-1, *self.problem.shape[1:])
        dual = -self.problem.conjugate_sum(memory) - self.engine.fenchel().conjugate
        if np.isfinite(dual):
            self.duals.append(dual)

    def step(self):
        concave = self.advance(self.draw())
        row = self._estimate(concave)
        self.n_epochs += 1
        is_due = self.n_epochs >= self.first and self.n_epochs & (self.n_epochs - 1) == 0
        if self.may_stop(row) or (self.uses_support and is_due):
            return self.certify()
        return self._row(row, certified=False)

    def certify(self):
        self.best = None
        self.memory_drift = self.engine.drift()
        row = super().certify()
        if self.uses_support:
            row = self._improve_on_support(row)
        if self.has_dual:
            self.duals = [(row["objective"] - row["dual_gap"]) * self.problem.total_weight]
        return row

    def _improve_on_support(self, row):
        """A better point and a better bound, as long as they get better."""
        for _ in range(ROUNDS):
            if self.may_stop(row):
                break
            old = self.best
            point = minimize_on_support(self.problem, old, tol=self.tol, rng=self.rng)
            if point is None:
                break
            best = self.problem.certify(*point)
            # Both bound the optimum.
            bound = max(best.objective - best.dual_gap, old.objective - old.dual_gap)
            best = old if best.objective > old.objective else best
            self._stand(best)
            self.best = best._replace(dual_gap=max(0.0, best.objective - bound))
            row = self._row(self.best.row(), certified=True)
            if self.best.dual_gap > 0.5 * old.dual_gap:
                break
        return row

    def _estimate(self, concave):
        pair = self.engine.fenchel()
        scale = self.problem.total_weight
        # Losses are not negative, whatever a sum over slopes of several points may say.
        model = max(concave + pair.product, 0.0) + pair.value
        row = {"objective": model / scale}
        if not self.has_dual:
            return row | self.unproven(row["objective"], pair.mapping / scale)
        # Scaled slopes: the conjugates of the losses are convex and at most zero at zero.
        dual = pair.scale * concave - pair.conjugate
        row["dual_gap"] = (model - dual + self._behind(dual)) / scale
        return row

    def _behind(self, dual):
        """How far primal and dual are from the optimum, if the dual goes on as it did."""
        self.duals = [*self.duals[-2:], dual]
        if len(self.duals) < 2:
            return self.scale  # nothing is known yet
        *before, last = np.diff(self.duals)
        if last <= 0.0:
            return 0.0
        rate = min(last / before[0], 0.9) if before and before[0] > 0.0 else 0.9
        return 2.0 * last * rate / (1.0 - rate)


class Asaga(IncrementalSolver):
    __doc__ = (
        "Asynchronous sparse proximal SAGA, on all threads without locks.\n"
        + IncrementalSolver.__doc__.split("\n", 1)[1].rstrip()
        + """
    overlap : "auto" or float, default="auto"
        Steps that may overlap with one, which ``step_size="theory"`` takes into account where
        there are several threads; "auto" is ten times their number, or 128 for every thread but
        one where threads keep copies of frequent columns.
    parallel : bool, default=True
        False stays on one thread, whatever ``n_jobs`` is: sparse SAGA, reproducible to the bit.

    Notes
    -----
    A step costs the columns of one row.
    """
    )
    keeps_memory = True
    _: KW_ONLY
    overlap: check.auto_or(check.not_negative) = "auto"
    parallel: check.flag = True

    def make_run(self, problem, engine, *, tol, rng, start):
        return SagaRun(problem, engine, self, tol=tol, rng=rng, start=start)

    def _overlap(self, engine):
        if engine.pool.size == 1:
            return 0
        if not check.is_auto(self.overlap):
            return self.overlap
        # What another thread writes to its copy is seen after up to two periods.
        has_copies = getattr(engine, "hot", np.empty(0)).size > 0
        late = 2 * PERIOD * (engine.pool.size - 1) if has_copies else 0
        return max(USUAL_OVERLAP * engine.pool.size, late)


class Saga(IncrementalSolver):
    __doc__ = (
        "Dense proximal SAGA on one thread: every step moves all columns.\n"
        + IncrementalSolver.__doc__.split("\n", 1)[1].rstrip()
        + """
    variant : {"dense", "lagged", "sag"}, default="dense"
        "dense" is the reference for the others; "lagged" the same at sparse cost, since columns
        catch up when a row needs them; "sag" does so with a direction of less variance that is
        biased, for smooth penalties. Columns with bounds cannot catch up.
    """
    )

    _: KW_ONLY
    variant: check.options("dense", "lagged", "sag") = "dense"

    def make_engine(self, problem, n_workers):
        if self.variant == "dense":
            return GroupEngine(problem, n_workers, dense=True)
        if self.variant == "lagged":
            return LaggedEngine(problem, 1.0)
        # The mean in the place of the difference
        if problem.penalty.separable and problem.penalty.l1 > 0.0:
            raise ValueError("solver='sag' needs a smooth penalty: use 'saga', or l1_ratio=0")
        return LaggedEngine(problem, 1.0 / problem.active.size)

    make_run = Asaga.make_run


# Epochs between two snapshots: more would be a mistake, and never end.
MOST_INNER = 1e4


class SvrgRun(Run):
    """Methods with the gradient of a snapshot, which is an exact certificate at the same time."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.certify()

    def step(self):
        n = self.problem.active.size
        left = max(1, round(float(self.settings.n_inner) * n))
        while left > 0:
            length = int(self.rng.geometric(1.0 / n)) if self.settings.loopless else left
            length = min(left, length)
            self.advance(self.draw(None if length == n else length), refresh=False)
            left -= length
            if left > 0:
                self.certify()
        return self.certify()


class Svrg(IncrementalSolver):
    """SVRG with sparse steps: the memory is that of a snapshot.

    Parameters
    ----------
    n_inner : float, default=1.0
        Steps between snapshots, in epochs.
    loopless : bool, default=False
        Snapshots at random, once per epoch on average, besides those at the end of an iteration.
    parallel : bool, default=False
        Share the steps between threads (KROMAGNON).
    step_size : {"auto", "theory"} or float, default="auto"
        As `Asaga`.
    sampling : {"shuffle", "uniform"}, default="shuffle"
        As `Asaga`; parts of epochs are independent draws.
    conditioning : {"auto", "diagonal"} or None, default="auto"
        As `Asaga`.
    """

    _: KW_ONLY
    n_inner: check.within(0.0, MOST_INNER, "right") = 1.0
    loopless: check.flag = False
    parallel: check.flag = False

    def make_engine(self, problem, n_workers):
        if self.loopless and self.parallel:
            raise ValueError("loopless snapshots at random moments need parallel=False")
        return super().make_engine(problem, n_workers)

    def make_run(self, problem, engine, *, tol, rng, start):
        return SvrgRun(problem, engine, self, tol=tol, rng=rng, start=start)


class Sdca(Solver):
    """Stochastic dual coordinate ascent, with exact steps in one dual variable.

    For losses of one score and penalties with ``l2 > 0`` that are separable by features; steps are
    exact for a ridge. Choose it for many sparse rows, where it is the fastest method here: it has
    no step size, and its dual variables bound the optimum at all times. Tables with few columns
    that all rows share converge slowly.

    Notes
    -----
    An epoch visits every row once, in a new order, and costs O(nnz). Memory beyond X is ``3 n + d``
    numbers, and with several threads 4 bytes per entry of X. Threads write to the coefficients
    without locks: what they overwrite is measured and repaired with each exact certificate.

    The intercept has no penalty. It gets one that pulls it to where it was an epoch ago (method of
    multipliers on the dual constraint that the slopes sum to zero), which vanishes at the optimum.

    References
    ----------
    .. [1] S. Shalev-Shwartz, T. Zhang, "Stochastic dual coordinate ascent methods for regularized
       loss minimization", JMLR 14, 2013; for an l1 part their Prox-SDCA, Mathematical Programming
       155, 2016.
    .. [2] H.-F. Yu, F.-L. Huang, C.-J. Lin, "Dual coordinate descent methods for logistic
       regression and maximum entropy models", Machine Learning 85, 2011.
    .. [3] C.-J. Hsieh, H.-F. Yu, I. Dhillon, "PASSCoDe: parallel asynchronous dual coordinate
       descent", ICML 2015: threads.
    """

    sampling = "shuffle"

    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        penalty = problem.penalty
        if problem.n_outputs is not None:
            raise ValueError("solver='sdca' has losses of one score: use solver='asaga'")
        if not penalty.separable or not penalty.l2 > 0.0:
            raise ValueError(
                "solver='sdca' needs a penalty of single features with a part |w|^2: use "
                "solver='asaga', or l1_ratio < 1 with a finite C (alpha > 0)"
            )
        engine = DualEngine(problem, n_workers)
        if start is not None and start.memory is None:
            scores = problem.scores(start.coef, start.intercept)
            start = start._replace(memory=problem.losses_and_slopes(scores, scores)[1])
        return DualRun(problem, engine, self, tol=tol, rng=rng, start=start)


class DualRun(SagaRun):
    """Its memory is the dual variables: a better bound than slopes, for a product more."""

    def __init__(self, *args, **kwargs):
        self.caution, self.estimated = 1.0, np.inf  # how much larger gaps were than estimates
        super().__init__(*args, **kwargs)

    def certify(self):
        self.best = None
        problem, engine = self.problem, self.engine
        best = problem.certify(*engine.point())
        if engine.pool.size > 1 or not self.may_stop(best.row()):
            gap = best.objective - self._bound()
            best = best._replace(dual_gap=min(best.dual_gap, max(0.0, gap)))
        if self.estimated > 0.0:
            self.caution *= max(1.0, best.dual_gap / self.estimated)
        self.best = best._replace(memory=engine.memory.copy(), total=engine.total())
        return self._row(best.row(), certified=True)

    def _bound(self):
        """The bound of the dual variables on the optimum; what threads have lost is found again."""
        problem, engine = self.problem, self.engine
        memory, total = engine.memory, problem.gradient(engine.memory)
        self.memory_drift = float(np.abs(total - engine.total()).max(initial=0.0))
        engine.repair(total)
        if problem.fit_intercept:
            memory = memory.copy()
            # Slopes must sum to zero: the larger of the two sides shrinks, towards zero, where the
            # conjugates are finite.
            up, down = memory[memory > 0.0].sum(), -memory[memory < 0.0].sum()
            larger = (memory > 0.0) == (up > down)
            memory[larger] *= min(up, down) / max(up, down, np.finfo(float).tiny)
            total = problem.gradient(memory)
        dual = -problem.conjugate_sum(memory) - problem.penalty.conjugate(-total)
        return dual / problem.total_weight

    def _estimate(self, sums):
        concave, losses = sums
        value, conjugate = self.engine.fenchel()
        dual = concave - conjugate + self.engine.recenter()
        scale = self.problem.total_weight
        self.estimated = self.caution * self._behind(dual) / scale
        return {"objective": (losses + value) / scale, "dual_gap": self.estimated}

    def _recall(self):
        """Nothing is known of the dual before the first epoch."""

    @property
    def step_size(self):
        return None


class DualEngine:
    """Dual variables (the memory), and the v that they make, where the kernel can work on them."""

    def __init__(self, problem, n_workers):
        self.problem, self.pool = problem, ThreadPool(n_workers)
        self.penalty = problem.penalty
        self.target = problem.target()
        self.columns = Columns(problem, self.pool, False)
        self.rows = self.columns.rows(None)
        self.memory = np.zeros(problem.n_rows)
        self.norms = problem.squared_norms
        l2, bounds = self.penalty.l2, bounds_of(self.penalty)
        self.curved = None
        if self.penalty.l1 > 0.0 or bounds is not None:
            self.curved = dual_coordinate.Curved(self.penalty.l1 / l2, self.columns.placed(bounds))
        typical = self.norms.sum() / max(problem.active.size, 1) or 1.0
        self.scale = (1.0 / l2, INTERCEPT * typical / l2 if problem.fit_intercept else 0.0)
        self.v = np.zeros(self.columns.size)
        self.origin = 0.0  # of the penalty on the intercept
        # A step moves v by at most this times the row.
        bend = problem.loss.smoothness
        travel = bend / (l2 + bend * self.norms.sum() / problem.n_rows)
        self.team = self.columns.team(self.columns.period(travel, None, None))

    def move_to(self, coef, intercept, memory=None, total=None):
        """Go to the point that the memory makes with ``total = X^T memory``; w = 0 without one."""
        self.v[:] = 0.0
        self.origin = float(intercept)
        if memory is not None:
            self.memory[:] = memory
            self.repair(total)
        self.v[self.columns.first - 1] = self.origin - self.scale[1] * self.memory.sum()

    def repair(self, total):
        self.v[: self.columns.first - 1] = -self.scale[0] * total

    def total(self):
        return self.v[: self.columns.first - 1] / -self.scale[0]

    def run(self, order, refresh=True):
        """Step on every row; returns minus the conjugates at the new slopes, and former losses."""
        team, columns = self.team, self.columns
        if team is not None:
            team.base[:] = self.v[columns.hot_place]
            team.seen[:] = team.base
            team.published[:] = 0.0
            self.v[columns.first :].reshape(self.pool.size, -1)[:] = team.base

        def work(part, worker):
            return np.array(
                dual_coordinate.epoch(
                    self.rows, self.target, self.curved, self.scale, part, self.v, self.memory,
                    self.norms, columns.last, worker, team,
                )
            )  # fmt: skip

        done = self.pool.run(work, order)
        if team is not None:
            self.v[columns.hot_place] = team.base + team.published.sum(axis=0)
        return done

    def recenter(self):
        """Pull the intercept to where it is now; returns the dual value that it added so far."""
        if not self.problem.fit_intercept:
            return 0.0
        at, pull = self.columns.first - 1, self.scale[1]
        before, now = self.origin, float(self.v[at])
        mass = (before - now) / pull
        self.origin, self.v[at] = now, now - pull * mass
        return mass * before - 0.5 * pull * mass * mass

    def point(self):
        coef = np.array(self.v[: self.columns.first - 1])
        if self.curved is not None:
            coef = replace(self.penalty, l2=0.0).prox(coef, self.scale[0])
        return coef, self.v[self.columns.first - 1].copy()

    def fenchel(self):
        v = self.v[: self.columns.first - 1]
        w = v if self.curved is None else self.point()[0]
        value = 0.5 * self.penalty.l2 * float(w @ w) + self.penalty.l1 * float(np.abs(w).sum())
        return value, self.penalty.l2 * float(v @ w) - value

    def idle(self):
        return self.problem.counts == 0

    def close(self):
        self.pool.close()
