"""Methods that the incremental ones are compared with: full gradients, and single coordinates."""

from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_scalar

from ..._core.validation import check_choice, check_positive, is_auto
from ..._kernels import lazy
from .._incremental._crew import Crew
from .._incremental._engines import bounds_of
from .._incremental._run import PlainRun, Point, Solver

coordinate = lazy("incremental.coordinate")
incremental = lazy("incremental.incremental")
random = lazy("common.random")


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
    """Accelerated proximal gradient descent (FISTA) with backtracking, for any penalty.

    An iteration costs two products with X, or more while the step is being found.

    Parameters
    ----------
    restart : bool, default=True
        Forget the momentum whenever it points uphill; False is the method as published.
    """

    def __init__(self, *, restart=True):
        self.restart = restart

    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        check_scalar(self.restart, "restart", (bool, np.bool_))
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
        self.penalty = incremental.Separable(
            float(penalty.l1), float(penalty.l2), bounds_of(penalty, problem)
        )
        X = problem.X if active.size == problem.n_rows else problem.X[active]
        ones = np.full((active.size, 1), problem.fit_intercept, dtype=X.dtype)
        columns = sp.csc_array(sp.hstack([sp.csr_array(X), sp.csr_array(ones)], format="csc"))
        self.columns = coordinate.Columns(columns.data, columns.indices, columns.indptr)
        self.crew = Crew(n_workers)
        self.x, self.scores = np.zeros(problem.n_columns + 1), np.zeros(active.size)
        self.curvature = np.empty(self.x.size)
        coordinate.curvatures(self.columns, weight, self.curvature)
        self.curvature *= problem.loss.smoothness

    def set_step(self, step_size):
        """Fix the step sizes."""
        used = self.curvature > 0.0
        if is_auto(step_size):
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
            coordinate.coordinate_epoch(
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
            random.shuffle(self.order, self.seed)
        else:
            random.draw(self.population, self.order, self.seed)
        self.n_updates += self.order.size
        self.engine.run(self.order)
        self.problem.raise_kept()
        return self.certify()

    def _stand(self, coef, intercept, slopes, total):
        self.engine.shift_to(intercept)
        return self.problem.pair(coef, intercept, total, slopes.sum(axis=0))


class AsySPCD(Solver):
    """Asynchronous stochastic proximal coordinate descent on all threads, without locks.

    For one output and penalties of single coefficients. Works on a copy of X in column order; an
    epoch visits every column and costs as much as two products with X.

    Parameters
    ----------
    step_size : {"auto", "theory"} or float, default="auto"
        "auto" gives every column one over its own curvature, "theory" all columns one over the
        largest of these, as in the publication.
    sampling : {"shuffle", "uniform"}, default="shuffle"
        Every column once per epoch in a new order, or independent draws as in the theory.
    """

    parallel = True

    def __init__(self, *, step_size="auto", sampling="shuffle"):
        self.step_size = step_size
        self.sampling = sampling

    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        check_choice(self.sampling, "sampling", {"shuffle", "uniform"})
        if isinstance(self.step_size, str):
            check_choice(self.step_size, "step_size", {"auto", "theory"}, "a number")
        else:
            check_scalar(self.step_size, "step_size", Real)
            check_positive(self.step_size, "step_size")
        if not problem.penalty.separable or problem.n_outputs is not None:
            raise ValueError(
                "solver='asyspcd' takes one output and penalties of single coefficients only; use "
                "solver='fista' or 'asaga'"
            )
        engine = Coordinates(problem, n_workers)
        engine.set_step(self.step_size)
        return CoordinateRun(problem, engine, self, tol=tol, rng=rng, start=start)
