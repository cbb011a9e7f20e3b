"""Where the columns of an iterate lie: beside those of the same row, and in copies for workers."""

import numpy as np
import scipy.sparse as sp

from ..._kernels import lazy

rows_kernels = lazy("common.rows")

# Bytes of the state from which on its columns are put in the order of the rows: more than stays in
# the cache of one processor.
LARGE = 1 << 23

# Indices that are renumbered at a time.
MANY = 1 << 18

# Columns that at least one row in HOT touches, the LARGEST most frequent ones at most, have private
# copies. These meet after PERIOD rows or earlier: what the workers do apart must not add up to more
# than one step to the minimum along any direction. SAMPLE rows tell how long that takes.
HOT, LARGEST, PERIOD, SAMPLE = 16, 512, 64, 256


class Columns:
    """Places of the columns, of the intercept behind them, and of the copies behind that.

    Copies are for a crew of more than one. The state of one column takes ``n_bytes``; 0 leaves the
    columns in their order.
    """

    def __init__(self, problem, crew, n_bytes=0):
        self.problem, self.crew = problem, crew
        self.first = problem.n_columns + 1  # where the copies begin
        self.home, self.numbers = None, None  # places, and what the indices of the data say
        self.hot = np.empty(0, dtype=np.intp)  # columns with copies
        if sp.issparse(problem.X) and problem.n_columns * n_bytes > LARGE:
            self._order()
        if crew.size > 1:
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
        """Number of places."""
        return self.first + self.crew.size * self.hot.size

    @property
    def place(self):
        """Places of the columns."""
        return slice(0, self.first - 1) if self.home is None else self.home[:-1]

    @property
    def last(self):
        """Number of the intercept."""
        return self.first - 1 if self.numbers is None else int(self.numbers[-1])

    def placed(self, values):
        """Numbers of the columns, where the kernel looks for them; None stays None."""
        if values is None or self.numbers is None:
            return values
        placed = np.zeros((self.first + self.hot.size, *values.shape[1:]))
        placed[self.place] = values
        placed[self.numbers[:-1]] = values
        return placed

    def rows(self, center):
        """The rows of the problem with the numbers of the columns."""
        rows = self.problem.rows(center)
        if self._indices is None:
            return rows
        return rows._replace(indices=self._indices, center=self.placed(center))

    def _renumbered(self):
        """Indices of the data with the numbers of the columns; None if they are those of X."""
        if self.numbers is None:
            return None
        if not sp.issparse(self.problem.X):
            return self.numbers[:-1]
        given = self.problem.X.indices
        indices = np.empty(given.size, dtype=np.int32)

        def work(starts, worker):
            for start in starts:
                part = slice(start, start + MANY)
                rows_kernels.renumber(given[part], self.numbers, indices[part])
            return 0.0

        self.crew.run(work, np.arange(0, given.size, MANY))
        return indices

    def period(self, travel, center, metric):
        """Rows that a worker may do before it must know what the others did to the hot columns.

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
        apart = travel * steepest * (self.crew.size - 1)
        return int(np.clip(1.0 / max(apart, 1.0 / PERIOD), 1, PERIOD))
