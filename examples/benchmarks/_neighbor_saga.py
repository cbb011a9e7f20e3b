"""SAGA whose steps refresh the memory of neighbors, exactly or with a shared slope.

The step on row i is that of `incremental.epoch`. It is followed by a refresh of the slots of the
rows j in N_i, with slopes at the point before the step: with slope j itself, which costs a product
with row j, or with slope i, which costs none. Slope i may stand for slope j when the gradients of
the two rows differ by no more than ``epsilon``: rows at distance delta have scores that differ by
at most ``delta ||w||``, and the slope of a convex loss grows with the score.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

from sklearn_fw._core import check
from sklearn_fw._kernels._jit import inner, njit
from sklearn_fw._kernels.common.losses import derivative
from sklearn_fw._kernels.common.random import shuffle
from sklearn_fw._kernels.common.rows import entry, extent, fetch_ahead, fetch_row
from sklearn_fw._kernels.incremental.incremental import (
    STEP,
    SUM,
    X,
    gamma_of,
    proximal,
    total,
    weight_of,
)
from sklearn_fw.optim._incremental._engines import SeparableEngine
from sklearn_fw.optim._incremental._run import IncrementalSolver, Run
from sklearn_fw.optim._incremental._saga import SagaRun

# What `Slots.tally` counts.
ROWS, FILLED, COMPUTED, SHARED = 0, 1, 2, 3

# More than the rounding error of an addition, relative to its larger term.
ROUNDING = 2.0**-50


# What epsilon stands for the variants without one: never share, always share.
EPSILON = {"q_saga": -1.0, "n_saga": -1.0, "shared_n_saga": np.inf}


class MemoryEngine(SeparableEngine):
    """`SeparableEngine` whose steps refresh several slots."""

    def __init__(self, problem, epsilon):
        super().__init__(problem, 1, order_columns=False)
        self.epsilon = epsilon
        self.norms = np.empty(0)
        self.filled = np.ones(problem.n_rows, dtype=bool)
        self.filled[problem.active] = False
        # Rows in use, filled slots, slopes computed, slopes shared.
        self.tally = np.array([problem.active.size, 0, 0, 0])

    def set_step(self, gamma, metric, center):
        super().set_step(gamma, metric, center)
        if 0.0 <= self.epsilon < np.inf:
            self.norms = self._norms()

    def _norms(self):
        """Norms of the gradients of the scores, in the coordinates of the steps."""
        X, center = self.problem.X, self.center
        squares = np.empty(self.problem.n_rows)
        for part in gen_batches(squares.size, 1 << 13):
            if sp.issparse(X):
                rows = X[part].astype(np.float64)
                squares[part] = np.asarray(rows.multiply(rows).sum(axis=1)).reshape(-1)
            else:
                rows = X[part].astype(np.float64) - (0.0 if center is None else center)
                squares[part] = np.einsum("ij,ij->i", rows, rows)
        return np.sqrt(squares + self.problem.fit_intercept)

    def connect(self, first, last, members, distances=None):
        """Fix which slots follow a step: ``members[first[i] : last[i]]`` that on row i."""
        distances = np.empty(0) if distances is None else distances
        self.links = Links(first, last, members, distances)
        self.sharing = Sharing(self.epsilon, self.norms, float(self.problem.loss.smoothness))
        self.slots = Slots(self.filled, np.empty(int((last - first).max(initial=1))), self.tally)

    def move_to(self, coef, intercept, memory=None, total=None, mass=None):
        super().move_to(coef, intercept, memory, total, mass)
        if memory is not None:
            self.filled[:] = True
            self.tally[1] = self.tally[0]

    def run(self, order, refresh=True):
        return memory_epoch(
            self.rows, self.target, self.penalty, order, self.state, self.memory, self.gamma,
            self.metric, self.links, self.sharing, self.slots,
        )  # fmt: skip


class NeighborRun(SagaRun):
    """Epochs with neighbors, each with an exact certificate, until those of SAGA take over.

    Shared slopes are no slopes of the losses at visited scores, so the memory tells nothing of the
    objective. Beside the many rows that a step refreshes, two products with X are cheap; unlike
    after `certify` the memory stays as the method left it.
    """

    def __init__(self, problem, engine, settings, *, tol, rng, start=None):
        super().__init__(problem, engine, settings, tol=tol, rng=rng, start=start)
        self.q = min(int(settings.n_neighbors), problem.active.size)
        self.random = settings.variant == "q_saga"
        if self.random:
            self.ring_seed = rng.randint(2**32, size=1, dtype=np.uint64)
            self.ring = problem.active.copy()
        else:
            engine.connect(*self._children())

    def step(self):
        """An epoch; exact certificates while there are neighbors."""
        if self.random:
            self.engine.connect(*self._arcs())
        self.advance(self.draw())
        self.best = None  # as large as the next one
        self.best = self.problem.certify(*self.engine.point())
        row = self.best.row()
        if self.may_stop(row):
            return self.certify()
        return self._row(row, certified=True)

    def _row(self, row, certified):
        counts = {
            "n_gradient_evaluations": self.n_gradient_evaluations,
            "shared_fraction": self.shared_fraction,
        }
        return super()._row({**row, **counts}, certified)

    @property
    def n_gradient_evaluations(self):
        """Slopes that steps have computed; those of certificates do not count."""
        return int(self.engine.tally[2])

    @property
    def shared_fraction(self):
        """Fraction of the refreshed slots that took over the slope of another row."""
        _, _, computed, shared = self.engine.tally
        return float(shared / max(computed + shared, 1))

    def _arcs(self):
        """Links of a new random circle of the rows: q consecutive ones beginning with each."""
        shuffle(self.ring, self.ring_seed)
        first = np.zeros(self.problem.n_rows, dtype=np.intp)
        first[self.ring] = np.arange(self.ring.size)
        return first, first + self.q, np.append(self.ring, self.ring[: self.q - 1])

    def _children(self):
        """Links and distances of the graph of neighbors, the other way round."""
        problem = self.problem
        labels, wide = None, problem.X
        if problem.loss.task == "classification":
            labels = problem.y
        else:
            # Differences of targets make slopes differ, too. They are divided by a bound on the
            # norm of the solution, at which the penalty is as large as the objective at zero.
            objective = problem.origin()[2] * problem.total_weight
            column = (problem.y / np.sqrt(2.0 * objective / problem.penalty.l2))[:, None]
            wide = np.hstack([wide, column])
        parents = nearest_rows(wide, labels, self.q)
        n, q = parents.shape
        distances = row_distances(problem.X, parents)
        if labels is not None:
            distances[labels[parents] != labels[:, None]] = np.inf
        order = np.argsort(parents, axis=None, kind="stable")
        bounds = np.append(0, np.cumsum(np.bincount(parents.reshape(-1), minlength=n)))
        members = (order // q).astype(problem.active.dtype)
        return bounds[:-1], bounds[1:], members, distances.reshape(-1)[order]


def nearest_rows(X, labels, q):
    """Numbers (n_rows, q) of the nearest rows of the same class, the row itself first."""
    n = X.shape[0]
    labels = np.zeros(n) if labels is None else labels
    parents = np.empty((n, q), np.intp)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        search = NearestNeighbors(n_neighbors=q).fit(X[rows])
        parents[rows] = rows[search.kneighbors(X[rows], return_distance=False)]
    # Where duplicates of it are nearer, a row takes the place of the last.
    there = parents == np.arange(n)[:, None]
    place = np.where(there.any(axis=1), there.argmax(axis=1), q - 1)
    parents[np.arange(n), place] = parents[:, 0]
    parents[:, 0] = np.arange(n)
    return parents


def row_distances(X, parents):
    """Euclidean distances of each row from others, as exact as differences are."""
    out = np.empty(parents.shape)
    for part in gen_batches(len(parents), 256):
        others = parents[part]
        if sp.issparse(X):
            own = np.repeat(np.arange(part.start, part.stop), others.shape[1])
            apart = X[own] - X[others.reshape(-1)]
            squares = np.asarray(apart.multiply(apart).sum(axis=1)).reshape(others.shape)
        else:
            apart = X[others] - X[part][:, None]
            squares = np.einsum("nkd,nkd->nk", apart, apart)
        out[part] = np.sqrt(squares)
    return out


class NeighborSaga(IncrementalSolver):
    """SAGA on one thread whose steps refresh the memory of close rows too.

    All rows count alike, and in one score; penalties are of single coefficients. "q_saga" computes
    the slopes of random rows, "n_saga" those of neighbors; "shared_n_saga" gives all neighbors of
    a row its slope, and "epsilon_n_saga" where that is off by ``epsilon`` at most.

    The step rule "capped", with q slots per step of n, every term L-smooth and the penalty
    mu-strongly convex, is the shorter one of ``q / (mu n)``, the step of the paper's experiments,
    and ``(2 - sqrt(2)) / (4 L)`` (Corollary 2).

    Differences from the paper: q-SAGA refreshes consecutive rows on a random circle that is new in
    every epoch; slopes are shared, not gradients; the bound on the error of a shared slope is the
    largest change of a monotone slope, which is never above the paper's.

    References
    ----------
    T. Hofmann, A. Lucchi, S. Lacoste-Julien, B. McWilliams, Variance reduced stochastic gradient
    descent with neighbors, NIPS 2015.
    """

    def __init__(
        self,
        *,
        variant="epsilon_n_saga",
        n_neighbors=20,
        epsilon=0.1,
        step_size="theory",
        sampling="shuffle",
        conditioning="auto",
    ):
        super().__init__(step_size=step_size, sampling=sampling, conditioning=conditioning)
        self.variant = variant
        self.n_neighbors = n_neighbors
        self.epsilon = epsilon

    parameters = {"step_size": check.auto_or(check.positive, words=("theory", "capped"))}

    def _share(self, engine, smoothness, metric):
        if self.step_size == "theory":
            return super()._share(engine, smoothness, metric)
        mu, n = engine.problem.penalty.l2 / engine.n_rows, engine.n_rows
        universal = 0.25 * (2.0 - np.sqrt(2.0)) * smoothness / (smoothness + mu)
        return min(smoothness * min(int(self.n_neighbors), n) / (mu * n), universal)

    def make_engine(self, problem, n_workers):
        return MemoryEngine(problem, float(EPSILON.get(self.variant, self.epsilon)))

    def make_run(self, problem, engine, *, tol, rng, start):
        return NeighborRun(problem, engine, self, tol=tol, rng=rng, start=start)


class Links(NamedTuple):
    """The rows whose slots a step refreshes: ``members[first[i] : last[i]]``, with i among them."""

    first: np.ndarray
    last: np.ndarray
    members: np.ndarray
    distance: np.ndarray | None  # between row i and each member; infinite: never share


class Sharing(NamedTuple):
    """When slope i may be written into slot j."""

    epsilon: float  # negative: never; infinite: always, unless the distance is infinite
    norm: np.ndarray | None  # (n_rows,) norms of the gradients of the scores, for finite epsilon
    smoothness: float  # of the loss


class Slots(NamedTuple):
    filled: np.ndarray  # (n_rows,) bool, slots that were ever written
    fresh: np.ndarray  # scratch, as long as the largest N_i
    tally: np.ndarray  # rows in use, filled slots, slopes computed, slopes shared


@inner
def score(rows, state, i):
    start, stop, shift = extent(rows, i)
    intercept = state.shape[0] - 1
    z = state[intercept, X] if state[intercept, STEP] > 0.0 else 0.0
    for k in range(start, stop):
        j = rows.indices[k - shift]
        z += entry(rows.data, k, rows.center, j) * state[j, X]
    return z


@inner
def slope_error(loss, smoothness, y, z, slope, radius, limit):
    """Bound on the change of the slope within ``radius`` of z; any upper bound if below limit."""
    crude = smoothness * radius
    if crude <= limit or radius == np.inf:
        return crude  # most edges of small neighbourhoods end here, without an exponential
    above = derivative(loss, y, z + radius) - slope
    below = slope - derivative(loss, y, z - radius)
    return min(crude, max(above, below))


@njit
def memory_epoch(rows, target, penalty, order, state, memory, gamma, metric, links, sharing, slots):
    """A step on each row of ``order``, then a refresh of the slots of its neighbors."""
    intercept = state.shape[0] - 1
    fit_intercept = state[intercept, STEP] > 0.0
    loss, y = target.loss, target.y
    fresh, tally = slots.fresh, slots.tally
    bounded = 0.0 <= sharing.epsilon < np.inf
    # The squared norm of w follows the steps; the slack grows faster than its rounding errors.
    square, slack = 0.0, 0.0
    for j in range(intercept):
        square += state[j, X] * state[j, X]
        slack += ROUNDING * square
    for t in range(order.size):
        fetch_ahead(rows, order, t, y, memory)
        i = order[t]
        z = score(rows, state, i)
        slope = derivative(loss, y[i], z)
        radius = math.sqrt(max(square + slack, 0.0)) * (1.0 + ROUNDING)

        first, last = np.int64(links.first[i]), np.int64(links.last[i])
        for e in range(first, last):
            m = links.members[e]
            if e + 1 < last:
                fetch_row(rows, links.members[e + 1])
            exact = sharing.epsilon < 0.0 or links.distance[e] == np.inf
            if bounded and not exact and m != i:
                norm = weight_of(target.weight, m) * sharing.norm[m]
                limit = sharing.epsilon / norm if norm > 0.0 else np.inf
                reach = links.distance[e] * radius + abs(y[m] - y[i])
                error = slope_error(loss, sharing.smoothness, y[i], z, slope, reach, limit)
                exact = error > limit
            own = slope
            if exact and m != i:
                own = derivative(loss, y[m], score(rows, state, m))
            tally[COMPUTED if exact or m == i else SHARED] += 1
            fresh[e - first] = weight_of(target.weight, m) * own

        change = weight_of(target.weight, i) * slope - memory[i]
        whole = tally[ROWS] / max(tally[FILLED], 1)
        start, stop, shift = extent(rows, i)
        for k in range(start, stop):
            j = rows.indices[k - shift]
            a = entry(rows.data, k, rows.center, j)
            step, before = state[j, STEP], state[j, X]
            pull = gamma_of(gamma, metric, j) * change * a + step * whole * total(state, j, None)
            after = proximal(before - pull, step, penalty, penalty.bounds, j)
            state[j, X] = after
            square += (after - before) * (after + before)
            slack += ROUNDING * (abs(square) + after * after + before * before)
        if fit_intercept:
            step = state[intercept, STEP] * whole
            state[intercept, X] -= gamma[1] * change + step * total(state, intercept, None)

        for e in range(first, last):
            m = links.members[e]
            if not slots.filled[m]:
                slots.filled[m] = True
                tally[FILLED] += 1
            change = fresh[e - first] - memory[m]
            if change == 0.0:
                continue
            memory[m] = fresh[e - first]
            start, stop, shift = extent(rows, m)
            for k in range(start, stop):
                j = rows.indices[k - shift]
                state[j, SUM] += change * entry(rows.data, k, rows.center, j)
            if fit_intercept:
                state[intercept, SUM] += change


class HogwildRun(Run):
    """Plain stochastic gradients with a step that shrinks from epoch to epoch."""

    def __init__(self, problem, engine, settings, *, tol, rng, start=None):
        super().__init__(problem, engine, settings, tol=tol, rng=rng, start=start)
        self.gamma, self.epochs = engine.gamma, 0

    def step(self):
        shrink = 1.0 + float(self.settings.decay) * self.epochs
        gamma = self.gamma[0] / shrink, self.gamma[1] / shrink
        self.engine.set_step(gamma, self.engine.metric, self.engine.center)
        self.advance(self.draw(), refresh=False)
        self.epochs += 1
        return self.certify()

    def _stand(self, best):
        self.engine.move_to(best.coef, best.intercept)  # no memory

    @property
    def step_size(self):
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
