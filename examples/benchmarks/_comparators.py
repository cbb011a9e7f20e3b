"""Methods that SAGA is compared with: FISTA, asynchronous coordinate descent and Hogwild."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_fw._kernels._jit import inner, njit
from sklearn_fw._kernels.common.atomics import add, load
from sklearn_fw._kernels.common.losses import derivative
from sklearn_fw._kernels.common.random import draw, shuffle
from sklearn_fw._kernels.incremental.incremental import Separable, proximal, weight_of
from sklearn_fw.optim._incremental._engines import Crew, bounds_of
from sklearn_fw.optim._incremental._run import IncrementalSolver, PlainRun, Point, Run, Solver


class FistaRun(PlainRun):
    """Accelerated proximal gradient steps; the intercepts are the best ones at every point."""

    def __init__(self, problem, settings, *, tol, rng, start=None):
        super().__init__(problem, Point(problem), settings, tol=tol, rng=rng, start=start)
        # From too long a step, at most 1 / curvature of one direction, to the bound for all.
        n_directions = max(1, min(problem.active.size, problem.n_columns))
        self.step_length = problem.unit_step * n_directions
        coef, self.intercept = self.engine.point()
        # Without intercepts, which move with every point.
        self.scores = problem.scores(coef, np.zeros_like(self.intercept))
        self.before = coef, self.scores
        self.momentum = 1.0

    @property
    def step_size(self):
        """The last step length."""
        return self.step_length

    def step(self):
        """One gradient, one or more steps along it, and an estimate of the certificate."""
        problem, (coef, _) = self.problem, self.engine.point()
        last = self.momentum
        self.momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * last * last))
        push = (last - 1.0) / self.momentum
        ahead = coef + push * (coef - self.before[0])
        raw = self.scores + push * (self.scores - self.before[1])
        scores, self.intercept = self._with_intercept(raw, self.intercept)
        slopes = np.empty_like(scores)
        losses = problem.losses_and_slopes(scores, slopes)
        total = problem.gradient(slopes)
        self.n_updates += problem.active.size

        moved, raw, moved_losses = self._descend(ahead, losses, total)
        if self.settings.restart and np.sum((ahead - moved) * (moved - coef)) > 0.0:
            self.momentum = 1.0  # it points uphill
        self.before, self.scores = (coef, self.scores), raw
        self.engine.move_to(moved, self.intercept)

        # The slopes at the point ahead are a dual point too.
        pair = problem.pair(moved, self.intercept, total, slopes.sum(axis=0))
        row = {"objective": (moved_losses + pair.value) / problem.total_weight}
        if self.has_dual:
            dual = pair.scale * (losses - float(np.sum(total * ahead))) - pair.conjugate
            row["dual_gap"] = (moved_losses + pair.value - dual) / problem.total_weight
        else:
            row |= self.unproven(row["objective"], pair.mapping / problem.total_weight)
        if self.may_stop(row):
            return self.certify()
        return self._row(row, certified=False)

    def _descend(self, ahead, losses, total):
        """The step of a length that the quadratic bound allows, its scores and losses."""
        problem = self.problem
        slack = 1e-14 * (1.0 + abs(losses))  # rounding must not shorten the steps for ever
        while True:
            length = self.step_length
            moved = problem.penalty.prox(ahead - length * total, length)
            raw = problem.scores(moved, np.zeros_like(self.intercept))
            scores, intercept = self._with_intercept(raw, self.intercept)
            moved_losses = problem.loss_sum(scores)
            move = moved - ahead
            bound = losses + np.sum(total * move) + np.sum(move * move) / (2.0 * length)
            # Not ">": NaN ends the search, too.
            if moved_losses <= bound + slack or not length > problem.unit_step:
                self.intercept = intercept
                return moved, raw, moved_losses
            self.step_length = max(0.5 * length, problem.unit_step)

    def _with_intercept(self, raw, guess):
        if not self.problem.fit_intercept:
            return raw, guess
        scores = raw + guess
        shift = self.problem.best_shift(scores)
        scores += shift
        return scores, guess + shift


class Fista(Solver):
    """Accelerated proximal gradient descent with backtracking, for any penalty.

    ``restart`` forgets the momentum whenever it points uphill; without it the method is as
    published.
    """

    def __init__(self, *, restart=True):
        self.restart = restart

    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        return FistaRun(problem, self, tol=tol, rng=rng, start=start)


class Coordinates(Point):
    """The iterate and its scores, shared by workers that visit columns."""

    def __init__(self, problem, n_workers):
        super().__init__(problem)
        penalty, weight = problem.penalty, problem.weight
        # Rows without weight are left out; other runs may have shuffled their numbers.
        self.active = active = np.sort(problem.active)
        weight = None if weight is None else weight[active]
        self.target = problem.target()._replace(y=problem.y[active], weight=weight)
        self.penalty = Separable(float(penalty.l1), float(penalty.l2), bounds_of(penalty, problem))
        X = problem.X if active.size == problem.n_rows else problem.X[active]
        ones = np.full((active.size, 1), problem.fit_intercept, dtype=X.dtype)
        columns = sp.csc_array(sp.hstack([sp.csr_array(X), sp.csr_array(ones)], format="csc"))
        self.columns = Columns(columns.data, columns.indices, columns.indptr)
        self.crew = Crew(n_workers)
        self.x, self.scores = np.zeros(problem.n_columns + 1), np.zeros(active.size)
        self.curvature = np.empty(self.x.size)
        curvatures(self.columns, weight, self.curvature)
        self.curvature *= problem.loss.smoothness

    def set_step(self, step_size):
        """Fix the step sizes."""
        used = self.curvature > 0.0
        if step_size == "auto":
            self.step = np.zeros_like(self.curvature)
            np.divide(1.0, self.curvature, out=self.step, where=used)
        elif step_size == "theory":
            self.step = np.full(used.size, 1.0 / self.curvature.max(initial=0.0, where=used))
        else:
            self.step = np.full(used.size, float(step_size))
        self.gamma = (float(self.step[used].min(initial=np.inf)),)

    def idle(self):
        return self.curvature[:-1] == 0.0

    def move_to(self, coef, intercept, memory=None, total=None, mass=None):
        self.x[:-1], self.x[-1] = coef, intercept
        self.scores = self.problem.scores(coef, intercept)[self.active]

    def shift_to(self, intercept):
        """Change the intercept alone."""
        self.scores += intercept - self.x[-1]
        self.x[-1] = intercept

    def point(self):
        return self.x[:-1].copy(), self.x[-1].copy()

    def run(self, order):
        """Make a step on every column of ``order``."""
        team = None if self.crew.size == 1 else True

        def work(part, worker):
            coordinate_epoch(
                self.columns, self.target, self.penalty, part, self.x, self.scores, self.step, team
            )
            return 0.0

        self.crew.run(work, order)
        if self.penalty.bounds is not None:
            # Two workers on one column can add their way out of the bounds.
            inside = np.clip(self.x[:-1], *self.penalty.bounds.T)
            if np.any(inside != self.x[:-1]):
                self.move_to(inside, self.x[-1])

    def close(self):
        self.crew.close()


class CoordinateRun(PlainRun):
    """Epochs over the columns, each with an exact certificate."""

    def __init__(self, problem, engine, settings, *, tol, rng, start=None):
        super().__init__(problem, engine, settings, tol=tol, rng=rng, start=start)
        self.population = np.flatnonzero(engine.curvature > 0.0).astype(np.int32)
        self.order = self.population.copy()

    def step(self):
        """A step on every column, then a certificate."""
        if self.settings.sampling == "shuffle":
            shuffle(self.order, self.seed)
        else:
            draw(self.population, self.order, self.seed)
        self.n_updates += self.order.size
        self.engine.run(self.order)
        self.problem.raise_kept()
        return self.certify()

    def _stand(self, coef, intercept, slopes, total):
        self.engine.shift_to(intercept)
        return self.problem.pair(coef, intercept, total, slopes.sum(axis=0))


class AsySPCD(Solver):
    """Asynchronous stochastic proximal coordinate descent on all threads, without locks.

    "auto" gives every column one over its own curvature, "theory" all columns one over the largest.
    """

    parallel = True

    def __init__(self, *, step_size="auto", sampling="shuffle"):
        self.step_size = step_size
        self.sampling = sampling

    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        if not problem.penalty.separable or problem.n_outputs is not None:
            raise ValueError("AsySPCD takes one output and penalties of single coefficients only")
        engine = Coordinates(problem, n_workers)
        engine.set_step(self.step_size)
        return CoordinateRun(problem, engine, self, tol=tol, rng=rng, start=start)


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


class Hogwild(IncrementalSolver):
    """Stochastic proximal gradients on all threads without locks; low accuracy.

    In epoch t = 0, 1, ... steps are divided by ``1 + decay * t``.
    """

    parallel = True

    def __init__(self, *, decay=0.5, step_size="auto", sampling="shuffle", conditioning="auto"):
        super().__init__(step_size=step_size, sampling=sampling, conditioning=conditioning)
        self.decay = decay

    def make_run(self, problem, engine, *, tol, rng, start):
        return HogwildRun(problem, engine, self, tol=tol, rng=rng, start=start)


class Columns(NamedTuple):
    """A CSC matrix; its last column is that of the intercept."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


@njit
def curvatures(columns, weight, out):
    """``sum_i s_i a_ij^2`` of every column into ``out``."""
    for j in range(out.size):
        out[j] = 0.0
        for k in range(columns.indptr[j], columns.indptr[j + 1]):
            out[j] += weight_of(weight, columns.indices[k]) * np.float64(columns.data[k]) ** 2


@njit
def coordinate_epoch(columns, target, penalty, order, x, z, step, team):
    """A step on each column of ``order``; ``team`` None is for a worker alone."""
    for t in range(order.size):
        j = order[t]
        start, stop = columns.indptr[j], columns.indptr[j + 1]
        gradient = 0.0
        for k in range(start, stop):
            i = columns.indices[k]
            slope = derivative(target.loss, target.y[i], read(z, i, team))
            gradient += weight_of(target.weight, i) * slope * columns.data[k]
        before = read(x, j, team)
        after = before - step[j] * gradient
        if j < x.size - 1:
            after = proximal(after, step[j], penalty, penalty.bounds, j)
        if after == before:
            continue
        write(x, j, after - before, after, team)
        for k in range(start, stop):
            i = columns.indices[k]
            change = columns.data[k] * (after - before)
            write(z, i, change, z[i] + change, team)


@inner
def read(array, i, team):
    if team is None:
        return array[i]
    return load(array, (i,))


@inner
def write(array, i, change, after, team):
    """Add ``change``, which gives ``after`` when nobody else writes."""
    if team is None:
        array[i] = after
    else:
        add(array, (i,), change)


COMPARATORS = {"asyspcd": AsySPCD, "fista": Fista, "hogwild": Hogwild}
