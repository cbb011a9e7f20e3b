"""The iterate of an incremental method where kernels can work on it: one interface, three layouts.

An engine holds the coefficients, the intercepts, the memory and the sum ``A = sum_i memory_i x_i``,
and runs steps on given rows. The penalty and the number of outputs choose the layout.
"""

from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp

from ..._core.packed import starts_of
from ..._core.threads import ThreadPool
from ..._kernels import lazy
from ._finite_sum import Pair

group_incremental = lazy("incremental.group_incremental")
incremental = lazy("incremental.incremental")
rows_kernels = lazy("common.rows")

# Tables of a row per column and one, the last, of intercepts: the iterate, and A.
POINT, SUM = 0, 1


class Engine(ABC):
    """Iterate and memory of a method; steps have the size ``gamma`` times ``metric``.

    ``tables`` holds the `POINT` and the `SUM` unless `_get` and `_put` find them elsewhere.
    """

    def __init__(self, problem, n_workers):
        self.problem = problem
        self.pool = ThreadPool(n_workers)
        self.target = problem.target()
        self.memory = np.zeros((problem.n_rows, *problem.shape[1:]))
        self.n_rows, self._seen = problem.active.size, None
        self.gamma = self.metric = None

    def set_step(self, gamma, metric, center):
        """Fix the step sizes, factors per column or None, and the center of dense rows or None."""
        self.gamma, self.metric, self.center = gamma, self.common(metric), center
        self.rows = self.problem.rows(center)

    def join(self, seen):
        self._seen = seen
        self.n_rows = seen.n_rows + self.n_rows if seen.adds else seen.n_rows

    def counts(self):
        own, seen = self._own_counts, self._seen
        return own() if seen is None else seen.counts + (own() if seen.adds else 0.0)

    @property
    def sparsity(self):
        """Share of the rows that touch the column (or group) that most of them touch."""
        if self.problem.fit_intercept:
            return 1.0
        return float(self.counts().max(initial=0) / self.n_rows) or 1.0 / self.n_rows

    def _own_counts(self):
        return self.problem.counts

    def common(self, metric):
        return metric

    def shares(self):
        """``gamma metric_v / n_v``: the part of a full step that one visit of a column makes."""
        shares = np.append(self.counts(), 0.0)
        np.divide(self.gamma[0], shares, out=shares, where=shares > 0.0)
        if self.metric is not None:
            shares[:-1] *= self.metric
        shares[-1] = self.gamma[1] / self.n_rows
        return shares

    def move_to(self, coef, intercept, memory=None, total=None, mass=None):
        """Go to a point; the steps will write to ``memory``, which is not copied."""
        if self.center is not None:
            intercept = intercept + self.center @ coef
        self._put(POINT, coef, intercept)
        if memory is not None:
            self.memory = memory.reshape(self.memory.shape)
            mass = memory.sum(axis=0) if mass is None else mass
            if self.center is not None:
                total = total - np.multiply.outer(self.center, mass)
            self._put(SUM, total, mass)

    def point(self):
        coef, intercept = self._get(POINT)
        if self.center is not None:
            intercept = intercept - self.center @ coef
        return coef, intercept

    def total(self):
        total, mass = self._get(SUM)
        if self.center is not None:
            total = total + np.multiply.outer(self.center, mass)
        return total

    def drift(self):
        """Largest difference between ``X^T memory`` and what the steps have kept of it."""
        exact = self.problem.gradient(self.memory.reshape(-1, *self.problem.shape[1:]))
        return float(np.abs(exact - self.total()).max(initial=0.0))

    def idle(self):
        return self.shares()[:-1] == 0.0

    def mass(self):
        return np.array(self._get(SUM)[1])

    def close(self):
        self.pool.close()

    def fenchel(self):
        """The `Pair` of the current point and the present A."""
        has_dual = self.problem.has_dual
        return self.problem.pair(*self._get(POINT), *self._get(SUM), mapping=not has_dual)

    def _allocate(self):
        shape = self.problem.n_columns + 1, self.problem.n_outputs or 1
        self.tables = np.zeros((2, *shape))

    def _put(self, which, coef, intercept):
        table = self.tables[which]
        table[:-1], table[-1] = coef.reshape(table[:-1].shape), intercept

    def _get(self, which):
        table, shape = self.tables[which].copy(), self.problem.shape
        return table[:-1].reshape(shape), table[-1].reshape(shape[1:])

    @abstractmethod
    def run(self, order, refresh=True):
        """Make a step on every row of ``order``; returns minus the conjugates at the new slopes."""


class SeparableEngine(Engine):
    """One output, coordinates penalized one by one: the fast layout (`incremental.py`)."""

    def __init__(self, problem, n_workers, *, order_columns=True):
        super().__init__(problem, n_workers)
        self.columns = Columns(problem, self.pool, order_columns)
        self.hot = self.columns.hot
        self.team = self.columns.team(1, 2)
        # Rows of the state of the columns and, last, of the intercept: here, and for the workers.
        self.state = np.zeros((self.columns.size, 2 + n_workers))
        self.penalty = separable(problem.penalty, self.columns.placed(bounds_of(problem.penalty)))

    def set_step(self, gamma, metric, center):
        super().set_step(gamma, metric, center)
        self.placed_metric = self.columns.placed(metric)
        if self.team is not None:
            travel = gamma[0] * self.problem.loss.smoothness
            period = self.columns.period(travel, self.center, self.metric)
            self.team = self.team._replace(period=period)
        self.rows = self.columns.rows(center)
        shares = self.shares()
        self.state[self.columns.place, 1] = shares
        self._private()[:, :, 1] = shares[self.hot]

    def _private(self):
        copies = self.state[self.columns.first :]
        return copies.reshape(self.pool.size, self.hot.size, self.state.shape[1])

    def run(self, order, refresh=True):
        if self.team is not None:
            self._hand_out()

        last = self.columns.last

        def work(part, worker):
            return incremental.epoch(
                self.rows, self.target, self.penalty, part, self.state, self.memory,
                self.gamma, self.placed_metric, refresh, last, worker, self.team,
            )  # fmt: skip

        done = self.pool.run(work, order)
        if self.team is not None:
            self._collect()
        return done

    def _hand_out(self):
        team, private, hot = self.team, self._private(), self.state[self.columns.hot_place]
        team.base[:] = hot[:, 0]
        team.seen[:] = team.base
        team.published[:, 0] = 0.0
        team.published[:, 1] = hot[:, 2:].T
        private[:, :, 0] = team.base
        private[:, :, 2:] = hot[:, 2:]

    def _collect(self):
        team, hot, rows = self.team, self.hot, self.columns.hot_place
        self.state[rows, 2:] = team.published[:, 1].T
        x = team.base + team.published[:, 0].sum(axis=0)
        # Sums of steps are not exact zeros or bounds: one more proximal step on these columns.
        share, total = self.state[rows, 1], self.state[rows, 2:].sum(axis=1)
        moved = x - share * total
        inside = hot < self.problem.n_columns
        penalty = self.problem.penalty.on_columns(hot[inside])
        moved[inside] = penalty.prox(moved[inside], share[inside])
        self.state[rows, 0] = moved

    def fenchel(self):
        if self.penalty.bounds is not None or not self.problem.has_dual:
            return super().fenchel()
        # One compiled sweep: in wide tables the general way takes a sixth of an epoch.
        value, product, squares, steepest = incremental.fenchel(
            self.state, self.problem.n_columns, self.pool.size, self.penalty
        )
        l1, l2 = self.penalty.l1, self.penalty.l2
        if l2 > 0.0:
            return Pair(value, product, squares / (2.0 * l2), 1.0, np.nan)
        return Pair(value, product, 0.0, l1 / max(steepest, l1), np.nan)

    # Columns of the state: the iterate, shares of steps, and the part of A of each worker.

    def _put(self, which, coef, intercept):
        if which == SUM:
            self.state[: self.columns.first, 2:] = 0.0
        self.state[self.columns.place, 2 if which == SUM else 0] = np.append(coef, intercept)

    def _get(self, which):
        columns = self.state[: self.columns.first].T
        # Faster than a sum along the short axis.
        values = sum(columns[2:]) if which == SUM else columns[0].copy()
        values = values[self.columns.place]
        return values[:-1], values[-1]


class GroupEngine(Engine):
    """Groups of columns, several outputs, or all columns in every step."""

    def __init__(self, problem, n_workers, *, dense=False):
        super().__init__(problem, n_workers)
        penalty, n_columns = problem.penalty, problem.n_columns
        self.n_outputs = problem.n_outputs or 1
        self.memory = self.memory.reshape(problem.n_rows, self.n_outputs)
        self.call = None
        self.separable = incremental.Separable(0.0, 0.0, None)
        code, params, weight = group_incremental.ELEMENTWISE, np.zeros(1), None
        if penalty.separable:
            self.separable = separable(penalty, bounds_of(penalty))
            label = np.zeros(n_columns, np.intp) if dense else np.arange(n_columns)
        else:
            if dense:
                raise ValueError("solver='saga' takes no penalty of groups: use solver='asaga'")
            # Columns without penalty (label -1) are groups of their own, of negative weight.
            label, free = penalty.labels.astype(np.intp), penalty.labels < 0
            n_free = np.count_nonzero(free)
            label[free] = penalty.weights.size + np.arange(n_free)
            weight = np.append(np.asarray(penalty.weights, dtype=float), np.full(n_free, -1.0))
            code, params = penalty.code, penalty.params
            if code == group_incremental.PYTHON:
                self.call = group_incremental.PythonProx(penalty.group_prox)
        sizes = np.bincount(label)
        weight = np.ones(sizes.size) if weight is None else weight
        self.groups = group_incremental.Groups(
            label.astype(np.intp), starts_of(sizes), np.argsort(label, kind="stable"), code,
            np.asarray(params, dtype=float), weight,
        )  # fmt: skip
        self._allocate()
        x, total = self.tables
        self.now = group_incremental.Iterate(x, np.zeros(n_columns + 1), total)
        largest = int(sizes.max(initial=1)) * self.n_outputs
        self.scratches = [
            group_incremental.Scratch(
                np.zeros(self.n_outputs), np.zeros(self.n_outputs), np.zeros(n_columns),
                np.zeros(sizes.size, dtype=np.intp), np.zeros(largest), np.zeros(largest),
            )
            for _ in range(n_workers)
        ]  # fmt: skip

    def _own_counts(self):
        rows, label = self.problem.rows(), self.groups.label
        counts = np.zeros(self.groups.start.size - 1)
        last = np.full(counts.size, -1, dtype=np.intp)
        rows_kernels.count_groups(rows, self.problem.active, label, counts, last)
        return counts[label]

    def common(self, metric):
        if metric is None or self.problem.penalty.separable:
            return metric
        # The prox of a group has one step: its columns take the smallest of their factors.
        smallest = np.full(self.groups.start.size - 1, np.inf)
        np.minimum.at(smallest, self.groups.label, metric)
        return smallest[self.groups.label]

    def set_step(self, gamma, metric, center):
        super().set_step(gamma, metric, center)
        self.now.step[:] = self.shares()

    def run(self, order, refresh=True):
        team = None if self.pool.size == 1 else True

        def work(part, worker):
            return group_incremental.group_epoch(
                self.rows, self.target, self.separable, self.groups, part, self.now, self.memory,
                self.gamma, self.metric, refresh, self.scratches[worker], team, self.call,
            )  # fmt: skip

        done = self.pool.run(work, order)
        if self.call is not None:
            self.call.check()
        return done


class LaggedEngine(Engine):
    """Dense SAGA and SAG whose columns catch up when a row needs them; one worker."""

    def __init__(self, problem, pull):
        super().__init__(problem, 1)
        penalty = problem.penalty
        if not penalty.separable or problem.n_outputs is not None or penalty.has_bounds:
            raise ValueError(
                "columns can catch up later for one output and penalties of single coefficients "
                "without bounds only: use solver='asaga'"
            )
        self.penalty = separable(penalty, None)
        self.pull = pull
        self._allocate()
        self.last = np.zeros(problem.n_columns, dtype=np.int64)

    def run(self, order, refresh=True):
        x, total = self.tables.reshape(2, -1)
        return incremental.lagged_epoch(
            self.rows, self.target, self.penalty, order, x, total, self.memory,
            self.problem.active.size, self.gamma, self.pull, self.metric, self.last,
        )  # fmt: skip


def separable(penalty, bounds):
    return incremental.Separable(float(penalty.l1), float(penalty.l2), bounds)


def bounds_of(penalty):
    return penalty.bounds() if penalty.has_bounds else None


# Columns from which on they are put in the order of the rows: their state, 32 bytes each, is more
# than stays in the cache of one processor.
LARGE = 1 << 18

# Indices that are renumbered at a time.
MANY = 1 << 18

# Columns that at least one row in HOT touches, the LARGEST most frequent ones at most, have private
# copies. These meet after PERIOD rows or earlier: what the workers do apart must not add up to more
# than one step to the minimum along any direction. SAMPLE rows measure how long that takes.
HOT, LARGEST, PERIOD, SAMPLE = 16, 512, 64, 256


class Columns:
    """Places of the columns, of the intercept behind them, then of the copies of a thread pool."""

    def __init__(self, problem, pool, is_ordered):
        self.problem, self.pool = problem, pool
        self.first = problem.n_columns + 1  # where the copies begin
        self.home, self.numbers = None, None  # places, and what the indices of the data say
        self.hot = np.empty(0, dtype=np.intp)  # columns with copies
        if is_ordered and sp.issparse(problem.X) and problem.n_columns > LARGE:
            self._order()
        if pool.size > 1:
            self._copy()
        self._indices = self._renumbered()

    def _order(self):
        """Columns that a row touches lie together: fewer lines to fetch where none stay cached."""
        self.home = np.full(self.first, -1, dtype=np.int32)
        rows_kernels.order_of_first_touch(self.problem.rows(), self.problem.n_rows, self.home[:-1])
        self.home[-1] = self.first - 1
        self.numbers = self.home

    def _copy(self):
        counts = self.problem.counts
        hot = np.flatnonzero(counts * HOT >= self.problem.active.size)
        if hot.size > LARGEST:
            hot = np.sort(hot[np.argsort(counts[hot])[-LARGEST:]])
        if self.problem.fit_intercept:
            hot = np.append(hot, self.first - 1)
        home = np.arange(self.first, dtype=np.int32) if self.home is None else self.home
        self.numbers = home.copy()
        self.numbers[hot] = self.first + np.arange(hot.size)
        self.hot, self.hot_place = hot, home[hot]

    @property
    def size(self):
        return self.first + self.pool.size * self.hot.size

    @property
    def place(self):
        return slice(0, self.first) if self.home is None else self.home

    @property
    def last(self):
        return self.first - 1 if self.numbers is None else int(self.numbers[-1])

    def placed(self, values):
        """Numbers of the columns, where the kernel looks for them; None stays None."""
        if values is None or self.numbers is None:
            return values
        placed = np.zeros((self.first + self.hot.size, *values.shape[1:]))
        for numbers in (np.arange(self.first)[self.place], self.numbers):
            placed[numbers[:-1]] = values
        return placed

    def rows(self, center):
        rows = self.problem.rows(center)
        if self._indices is None:
            return rows
        return rows._replace(indices=self._indices, center=self.placed(center))

    def _renumbered(self):
        if self.numbers is None:
            return None
        if not sp.issparse(self.problem.X):
            return self.numbers[:-1]
        given = self.problem.X.indices
        indices = np.empty(given.size, dtype=np.int32)

        def work(starts, worker):
            for start in starts:
                part = slice(start, start + MANY)
                np.take(self.numbers, given[part], out=indices[part], mode="clip")
            return 0.0

        self.pool.run(work, np.arange(0, given.size, MANY))
        return indices

    def team(self, period, *parts):
        """What several threads share, None for one; each publishes ``parts`` numbers per copy."""
        n_workers, n_hot = self.pool.size, self.hot.size
        if n_workers == 1:
            return None
        seen, published = np.zeros((n_workers, n_hot)), np.zeros((n_workers, *parts, n_hot))
        return incremental.Team(self.first, np.zeros(n_hot), seen, published, period)

    def period(self, travel, center, metric):
        """Rows that a worker may do before it must read the changes of others in the hot columns.

        A step moves by at most ``travel`` times the row, where ``metric`` says by how much more.
        """
        problem, hot = self.problem, self.hot[self.hot < self.first - 1]
        if not hot.size:
            return PERIOD
        sample = np.sort(problem.active[:: max(1, problem.active.size // SAMPLE)])
        rows = problem.X[sample][:, hot].astype(np.float64)
        rows = rows.toarray() if sp.issparse(rows) else rows
        if center is not None:
            rows -= center[hot]
        if metric is not None:
            rows *= np.sqrt(metric[hot])
        if problem.weight is not None:
            rows *= np.sqrt(problem.weight[sample, None])
        # At most LARGEST columns of SAMPLE rows: some milliseconds.
        steepest = np.linalg.norm(rows @ rows.T, 2) / sample.size
        apart = travel * steepest * (self.pool.size - 1)
        return int(np.clip(1.0 / max(apart, 1.0 / PERIOD), 1, PERIOD))
