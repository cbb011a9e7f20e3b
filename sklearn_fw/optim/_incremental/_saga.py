"""SAGA and its relatives: asynchronous, sparse, dense, lagged, and SVRG."""

import numpy as np

from ..._core.validation import (
    check_choice,
    check_flag,
    check_not_negative,
    check_positive,
    is_auto,
)
from ._engines import PERIOD, LaggedEngine, make_engine
from ._newton import has_support, minimize_on_support
from ._run import IncrementalSolver, Run

# Epoch from which on, at powers of two, the optimum on the support of an l1 norm is tried, and how
# often the support may grow.
FIRST, ROUNDS = 4, 10
# Steps that overlap, per thread: measured overlaps are many times the number of threads.
USUAL_OVERLAP = 10


class SagaRun(Run):
    """Methods whose memory follows: SAGA, its sparse, lagged and asynchronous forms, SAG."""

    def __init__(self, problem, engine, settings, *, tol, rng, start=None):
        super().__init__(problem, engine, settings, tol=tol, rng=rng, start=start)
        self.duals = []  # values of the dual at the memory after the last epochs
        is_whole = start is None or start.seen is None
        self.uses_support = is_whole and tol > 0.0 and has_support(problem) and self.has_dual
        self.n_epochs = 0
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
        is_due = self.n_epochs >= FIRST and self.n_epochs & (self.n_epochs - 1) == 0
        if self.may_stop(row) or (self.uses_support and is_due):
            return self.certify()
        return self._row(row, certified=False)

    def certify(self):
        """The exact certificate; memory and sum are those of the point afterwards."""
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
            best = self.problem.certify(*point, self._stand)
            # Both bound the optimum.
            bound = max(best.objective - best.dual_gap, old.objective - old.dual_gap)
            if best.objective > old.objective:
                self._stand(old.coef, old.intercept, old.memory, old.total)
                best = old
            self.best = best._replace(dual_gap=max(0.0, best.objective - bound))
            row = self._row(self.best.row(), certified=True)
            if self.best.dual_gap > 0.5 * old.dual_gap:
                break
        return row

    def _estimate(self, concave):
        pair = self.engine.fenchel(mapping=not self.has_dual)
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

    def __init__(
        self, *, step_size="auto", sampling="shuffle", conditioning="auto", overlap="auto",
        parallel=True,
    ):  # fmt: skip
        super().__init__(step_size=step_size, sampling=sampling, conditioning=conditioning)
        self.overlap = overlap
        self.parallel = parallel

    def check(self):
        """Refuse settings that make no sense."""
        super().check()
        check_flag(self.parallel, "parallel")
        if isinstance(self.overlap, str):
            check_choice(self.overlap, "overlap", {"auto"}, "a number")
        else:
            check_not_negative(self.overlap, "overlap")

    def make_run(self, problem, engine, *, tol, rng, start):
        return SagaRun(problem, engine, self, tol=tol, rng=rng, start=start)

    def _overlap(self, engine):
        if engine.crew.size == 1:
            return 0
        if not is_auto(self.overlap):
            return self.overlap
        # What another thread writes to its copy is seen after up to two periods.
        has_copies = getattr(engine, "hot", np.empty(0)).size > 0
        late = 2 * PERIOD * (engine.crew.size - 1) if has_copies else 0
        return max(USUAL_OVERLAP * engine.crew.size, late)


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

    def __init__(
        self, *, step_size="auto", sampling="shuffle", conditioning="auto", variant="dense"
    ):
        super().__init__(step_size=step_size, sampling=sampling, conditioning=conditioning)
        self.variant = variant

    def check(self):
        """Refuse settings that make no sense."""
        super().check()
        check_choice(self.variant, "variant", {"dense", "lagged", "sag"})

    def make_engine(self, problem, n_workers):
        if self.variant == "dense":
            return make_engine(problem, n_workers, dense=True)
        if self.variant == "lagged":
            return LaggedEngine(problem, 1.0)
        # The mean in the place of the difference
        if problem.penalty.separable and problem.penalty.l1 > 0.0:
            raise ValueError("solver='sag' needs a smooth penalty: use 'saga', or l1_ratio=0")
        return LaggedEngine(problem, 1.0 / problem.active.size)

    def make_run(self, problem, engine, *, tol, rng, start):
        return SagaRun(problem, engine, self, tol=tol, rng=rng, start=start)


# Epochs between two snapshots: more would be a mistake, and never end.
MOST_INNER = 1e4


class SvrgRun(Run):
    """Methods with the gradient of a snapshot, which is an exact certificate at the same time."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.certify()

    def step(self):
        """Steps on as many rows as the settings say, then a snapshot."""
        n = self.problem.active.size
        left = max(1, round(float(self.settings.n_inner) * n))
        while left > 0:
            length = left
            if self.settings.loopless:
                length = min(left, int(self.rng.geometric(1.0 / n)))
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

    def __init__(
        self,
        *,
        n_inner=1.0,
        loopless=False,
        parallel=False,
        step_size="auto",
        sampling="shuffle",
        conditioning="auto",
    ):
        super().__init__(step_size=step_size, sampling=sampling, conditioning=conditioning)
        self.n_inner = n_inner
        self.loopless = loopless
        self.parallel = parallel

    def check(self):
        """Refuse settings that make no sense."""
        super().check()
        if check_positive(self.n_inner, "n_inner") > MOST_INNER:
            raise ValueError(f"n_inner must be at most {MOST_INNER:g}, got {self.n_inner}")
        check_flag(self.loopless, "loopless")
        check_flag(self.parallel, "parallel")
        if self.loopless and self.parallel:
            raise ValueError("loopless snapshots at random moments need parallel=False")

    def make_run(self, problem, engine, *, tol, rng, start):
        return SvrgRun(problem, engine, self, tol=tol, rng=rng, start=start)
