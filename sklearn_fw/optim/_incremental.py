"""Incremental methods: settings as estimators, runs as objects that the loop drives."""

from abc import abstractmethod
from numbers import Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from .._validation import check_choice, check_flag, check_not_negative, check_positive
from ._bound import suboptimality_bound
from ._columns import PERIOD
from ._engines import LaggedEngine, make_engine
from ._overlap import proven_share

__all__ = [
    "Asaga",
    "Hogwild",
    "IncrementalSolver",
    "LaggedSaga",
    "Run",
    "Sag",
    "Saga",
    "Seen",
    "Solver",
    "SparseSaga",
    "Start",
    "Svrg",
]

# Share of the largest row norm that the intercept adds to the smoothness: its curvature is large,
# so it needs no long steps, and it should not shorten those of the features.
INTERCEPT_SHARE = 0.1
# Squares of column entries below this count as zero: their inverse would be no number.
TINY = 1e-200
# Steps that overlap, per thread: measured overlaps are many times the number of threads.
USUAL_OVERLAP = 10
# Share of the mean loss of zero scores below which a certificate is rounding.
ROUNDING = 1e-16
# Epochs between two snapshots: more would be a mistake, and never end.
MOST_INNER = 1e4


class Seen(NamedTuple):
    """All rows of a sum of which a run visits a part: what the other rows contribute."""

    counts: np.ndarray  # rows before that touch each column (or its block)
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


class Solver(BaseEstimator):
    """Settings of a method; its parameters are grid keys ``solver__name``."""

    parallel = False  # whether more than one thread can work
    keeps_memory = False  # whether it can go on with rows that it has left

    @abstractmethod
    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        """Begin on a `FiniteSum`: an object for `_loop.drive` with ``best`` and ``close()``.

        ``tol`` is relative to the objective.
        """


class IncrementalSolver(Solver):
    """Settings of an incremental method; its parameters are grid keys ``solver__name``.

    Parameters
    ----------
    step_size : {"auto", "theory"} or float, default="auto"
        "auto" is 1 / (3 L), for SAG 1 / L, and "theory" the 1 / (5 L) of the convergence theorem,
        or what that for threads allows (`Asaga`), where L bounds the second derivative of every
        term ``s_i loss(y_i, <w, x_i> + c)``.
    sampling : {"shuffle", "uniform"}, default="shuffle"
        Every row once per epoch in a new order, or independent draws as in the theory.
    conditioning : {"auto", "diagonal"} or None, default="auto"
        "diagonal" gives every column a step of its own, as if columns were scaled to the same
        largest absolute value (dense ones centred when there is an intercept) while the penalty
        stays that of the original columns; "auto" does so for dense X.
    """

    auto_share = 1.0 / 3.0  # of 1 / L
    step_rules = frozenset({"auto", "theory"})

    def __init__(self, *, step_size="auto", sampling="shuffle", conditioning="auto"):
        self.step_size = step_size
        self.sampling = sampling
        self.conditioning = conditioning

    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        self.check()
        engine = self.make_engine(problem, n_workers if self.parallel else 1)
        if start is not None and start.seen is not None:
            engine.join(start.seen)
        metric, center = self._scales(problem, engine)
        gamma = self._gamma(problem, engine, metric, center)
        engine.set_step(gamma, metric, center)
        return self.make_run(problem, engine, tol=tol, rng=rng, start=start)

    def check(self):
        """Refuse settings that make no sense."""
        check_choice(self.sampling, "sampling", {"shuffle", "uniform"})
        if self.conditioning is not None:
            check_choice(self.conditioning, "conditioning", {"auto", "diagonal"})
        if isinstance(self.step_size, str):
            check_choice(self.step_size, "step_size", self.step_rules)
        elif isinstance(self.step_size, Real):
            check_positive(self.step_size, "step_size")
        else:
            raise TypeError(f"step_size must be a string or a number, got {self.step_size!r}")

    def make_engine(self, problem, n_workers):
        """The layout on which the method runs."""
        return make_engine(problem, n_workers)

    @abstractmethod
    def make_run(self, problem, engine, *, tol, rng, start):
        """The object that makes the iterations."""

    def _scales(self, problem, engine):
        """Factors of the step per column, and what to subtract from the columns of dense rows."""
        dense = not sp.issparse(problem.X)
        if self.conditioning is None or (self.conditioning == "auto" and not dense):
            return None, None
        from .._kernels.rows import largest_entries

        center = None
        if dense and problem.fit_intercept:
            weight = np.ones(problem.n_rows) if problem.weight is None else problem.weight
            center = problem.gradient(weight) / problem.total_weight
        largest = np.zeros(problem.n_columns)
        largest_entries(problem.rows(center), problem.active, largest)
        squares = np.square(largest)
        return 1.0 / np.where(squares > TINY, squares, 1.0), center

    def _gamma(self, problem, engine, metric, center):
        """Step sizes of columns and intercept."""
        if metric is None and center is None:
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
        if isinstance(self.step_size, str):
            gamma = self._share(engine, smoothness, metric) / (smoothness or 1.0)
        else:
            gamma = float(self.step_size)
        return gamma, gamma * of_intercept

    def _share(self, engine, smoothness, metric):
        """What a rule with a name takes of 1 / L."""
        if self.step_size == "auto":
            return self.auto_share
        return proven_share(engine, self._overlap(engine))

    def _overlap(self, engine):
        """Steps that may overlap with one."""
        return 0


class Run:
    """What the runs of all methods share: certificates, and the decision when to make one.

    Without a dual the certificate is a bound by slopes that are corrected to be feasible, see
    `_bound.py`. It costs a system of linear equations and is tried when the gradient mapping is
    small compared with its value at zero; until then the objective itself is all that is known.

    An exact certificate costs as much as half an epoch. After an epoch of a method that keeps its
    memory up to date, the memory itself is a dual point, which bounds the optimum for free; the
    gap is estimated from how fast this bound still grows, and only when the estimate is small
    enough is the exact one made. Exact certificates leave the memory at the slopes of the point
    and its sum without rounding: the drift of the sum is measured and repaired.
    """

    def __init__(self, problem, engine, settings, *, tol, rng, start=None):
        self.problem, self.engine, self.settings = problem, engine, settings
        self.rng = rng
        self.best = None  # the certificate of the last exact check
        self.memory_drift, self.n_updates = 0.0, 0
        self.seed = rng.randint(2**32, size=1, dtype=np.uint64)
        self.order = problem.active  # shuffled in place
        shape = problem.shape
        self.tol, self.scale, self.rounding = tol, 0.0, 0.0
        self.unproven_at = np.inf  # gradient mapping of the last point with too large a bound
        if start is not None and start.seen is not None:
            # A part of the rows: nothing can be certified.
            coef = self._rested(start.coef)
            engine.move_to(coef, start.intercept, start.memory, start.seen.total, start.seen.mass)
            return
        coef, intercept, objective = problem.origin()
        self.scale = objective * problem.total_weight
        self.rounding = ROUNDING * problem.size
        total, memory = None, None
        if start is not None:
            coef, intercept, memory = self._rested(start.coef), start.intercept, start.memory
            total = None if memory is None else problem.gradient(memory)
        engine.move_to(coef, intercept.reshape(shape[1:]), memory, total)

    def _rested(self, coef):
        """The coefficients; where no row touches a column its penalty alone decides, for good."""
        rest = self.problem.resting_point()
        return np.where(_like(self.engine.idle(), rest), rest, coef.reshape(rest.shape))

    def draw(self, size=None):
        """Rows of an epoch, or ``size`` independent draws; valid until the next call."""
        from .._kernels.random import draw, shuffle

        if size is None and self.settings.sampling == "shuffle":
            shuffle(self.order, self.seed)
            return self.order
        order = np.empty(self.order.size if size is None else size, self.order.dtype)
        draw(self.problem.active, order, self.seed)
        return order

    def advance(self, order, refresh=True):
        """Steps on the rows of ``order``."""
        self.n_updates += order.size
        return self.engine.run(order, refresh)

    def certify(self):
        """Exact certificate of the present point, which then is what the engine stands on."""
        self.best = None  # its arrays may be as large as all others
        coef, intercept = self.engine.point()
        best = self.problem.certify(coef, intercept, self._stand)
        if not self.has_dual and best.gradient_mapping <= self._flat:
            bound = suboptimality_bound(self.problem, best)
            best = best._replace(bound=bound)
            if bound is None or bound > self.tol * abs(best.objective):
                self.unproven_at = best.gradient_mapping
        self.best = best
        return self._row(best.row(), certified=True)

    @property
    def _flat(self):
        """Gradient mapping at which a run without dual may be at its end.

        Where a bound was too large a better point is worth the next one, not the next point.
        """
        return min(self.tol * self.problem.null.gradient_mapping, 0.5 * self.unproven_at)

    def may_stop(self, row):
        """Whether an estimate asks for an exact certificate."""
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
        flat = self.tol * self.problem.null.gradient_mapping
        if best.bound is None and best.gradient_mapping > flat:
            return "gradient mapping", best.gradient_mapping, flat
        if best.bound is None:
            return "unproven suboptimality, at most", abs(best.objective), limit
        return "bound on the suboptimality", best.bound, limit

    def unproven(self, objective, mapping):
        """Columns of a row without dual, before anything is proven."""
        return {"gradient_mapping": mapping, "suboptimality": abs(objective)}

    def _stand(self, coef, intercept, slopes, total):
        """Take the point with its slopes as memory, and say what the penalty is there."""
        self.engine.move_to(coef, intercept, slopes, total)
        return self.engine.fenchel()

    def _row(self, row, certified):
        return {**row, "certified": certified}

    @property
    def step_size(self):
        """Step size of the columns."""
        return self.engine.gamma[0]

    @property
    def has_dual(self):
        """Whether the certificate is a duality gap."""
        return self.problem.has_dual

    @property
    def certificate(self):
        """Name of the number that `tol` stops."""
        return "dual_gap" if self.has_dual else "suboptimality"

    def close(self):
        """End threads."""
        self.engine.close()


def _like(mask, array):
    return mask if array.ndim == 1 else mask[:, None]


class SagaRun(Run):
    """Methods whose memory follows: SAGA, its sparse, lagged and asynchronous forms, SAG."""

    def __init__(self, problem, engine, settings, *, tol, rng, start=None):
        super().__init__(problem, engine, settings, tol=tol, rng=rng, start=start)
        self.duals = []  # values of the dual at the memory after the last epochs
        if start is not None and start.memory is not None and start.seen is None:
            self._recall()

    def _recall(self):
        """Note the value of the dual at the memory that the run begins with."""
        memory = self.engine.memory.reshape(-1, *self.problem.shape[1:])
        dual = -self.problem.conjugate_sum(memory) - self.engine.fenchel().conjugate
        if np.isfinite(dual):
            self.duals.append(dual)

    def step(self):
        """An epoch; its certificate is exact if it may be the last."""
        concave = self.advance(self.draw())
        row = self._estimate(concave)
        if self.may_stop(row):
            return self.certify()
        return self._row(row, certified=False)

    def certify(self):
        """The exact certificate; memory and sum are those of the point afterwards."""
        self.best = None
        self.memory_drift = self.engine.drift()
        row = super().certify()
        if self.has_dual:
            self.duals = [(row["objective"] - row["dual_gap"]) * self.problem.total_weight]
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


class HogwildRun(Run):
    """Plain stochastic gradients with a step that shrinks from epoch to epoch."""

    def __init__(self, problem, engine, settings, *, tol, rng, start=None):
        super().__init__(problem, engine, settings, tol=tol, rng=rng, start=start)
        self.gamma, self.epochs = engine.gamma, 0

    def step(self):
        """An epoch and an exact certificate."""
        shrink = 1.0 + float(self.settings.decay) * self.epochs
        gamma = self.gamma[0] / shrink, self.gamma[1] / shrink
        self.engine.set_step(gamma, self.engine.metric, self.engine.center)
        self.advance(self.draw(), refresh=False)
        self.epochs += 1
        return self.certify()

    def _stand(self, coef, intercept, slopes, total):
        self.engine.move_to(coef, intercept)  # no memory
        return self.problem.pair(coef, intercept, total, slopes.sum(axis=0))

    @property
    def step_size(self):
        """Step size of the columns in the first epoch."""
        return self.gamma[0]


class SparseSaga(IncrementalSolver):
    __doc__ = (
        "Sparse proximal SAGA on one thread: a step costs the columns of one row.\n"
        + IncrementalSolver.__doc__.split("\n", 1)[1]
    )

    keeps_memory = True

    def make_run(self, problem, engine, *, tol, rng, start):
        return SagaRun(problem, engine, self, tol=tol, rng=rng, start=start)


class Asaga(SparseSaga):
    __doc__ = (
        "Asynchronous sparse proximal SAGA: `SparseSaga` on all threads, without locks.\n"
        + IncrementalSolver.__doc__.split("\n", 1)[1].rstrip()
        + """
    overlap : "auto" or float, default="auto"
        Steps that may overlap with one, which ``step_size="theory"`` takes into account where
        there are several threads, see `overlap_step`; "auto" is ten times their number, or 128 for
        every thread but one where threads keep copies of frequent columns.
    """
    )
    parallel = True

    def __init__(
        self, *, step_size="auto", sampling="shuffle", conditioning="auto", overlap="auto"
    ):
        super().__init__(step_size=step_size, sampling=sampling, conditioning=conditioning)
        self.overlap = overlap

    def check(self):
        """Refuse settings that make no sense."""
        super().check()
        if isinstance(self.overlap, str):
            check_choice(self.overlap, "overlap", {"auto"})
        else:
            check_not_negative(self.overlap, "overlap")

    def _overlap(self, engine):
        if engine.crew.size == 1:
            return 0
        if self.overlap != "auto":
            return self.overlap
        # What another thread writes to its copy is seen after up to two periods.
        has_copies = getattr(engine, "hot", np.empty(0)).size > 0
        late = 2 * PERIOD * (engine.crew.size - 1) if has_copies else 0
        return max(USUAL_OVERLAP * engine.crew.size, late)


class Saga(SparseSaga):
    __doc__ = (
        "Dense proximal SAGA: every step moves all columns; the reference for the others.\n"
        + IncrementalSolver.__doc__.split("\n", 1)[1]
    )

    keeps_memory = False

    def make_engine(self, problem, n_workers):
        # One block of all columns
        return make_engine(problem, n_workers, dense=True)


class LaggedSaga(SparseSaga):
    __doc__ = (
        "Dense SAGA at sparse cost: columns catch up when a row needs them; no bounds.\n"
        + IncrementalSolver.__doc__.split("\n", 1)[1]
    )

    keeps_memory = False

    def make_engine(self, problem, n_workers):
        # Columns that catch up
        return LaggedEngine(problem, 1.0)


class Sag(SparseSaga):
    __doc__ = (
        "SAG: as `LaggedSaga` with a direction of less variance that is biased; smooth penalties.\n"
        + IncrementalSolver.__doc__.split("\n", 1)[1]
    )

    keeps_memory = False

    def make_engine(self, problem, n_workers):
        # Columns that catch up, with the mean in the place of the difference
        if problem.penalty.separable and problem.penalty.l1 > 0.0:
            raise ValueError("solver='sag' needs a smooth penalty: use 'saga', or l1_ratio=0")
        return LaggedEngine(problem, 1.0 / problem.active.size)


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
        As `SparseSaga`.
    sampling : {"shuffle", "uniform"}, default="shuffle"
        As `SparseSaga`; parts of epochs are independent draws.
    conditioning : {"auto", "diagonal"} or None, default="auto"
        As `SparseSaga`.
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


class Hogwild(IncrementalSolver):
    """Stochastic proximal gradients on all threads without locks; low accuracy, for comparison.

    Parameters
    ----------
    decay : float, default=0.5
        In epoch t = 0, 1, ... steps are divided by ``1 + decay * t``; 0 keeps them.
    step_size : {"auto", "theory"} or float, default="auto"
        As `Asaga`.
    sampling : {"shuffle", "uniform"}, default="shuffle"
        As `Asaga`.
    conditioning : {"auto", "diagonal"} or None, default="auto"
        As `Asaga`.
    """

    parallel = True

    def __init__(self, *, decay=0.5, step_size="auto", sampling="shuffle", conditioning="auto"):
        super().__init__(step_size=step_size, sampling=sampling, conditioning=conditioning)
        self.decay = decay

    def check(self):
        """Refuse settings that make no sense."""
        super().check()
        check_not_negative(self.decay, "decay")

    def make_run(self, problem, engine, *, tol, rng, start):
        return HogwildRun(problem, engine, self, tol=tol, rng=rng, start=start)
