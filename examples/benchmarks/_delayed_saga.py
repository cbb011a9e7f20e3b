"""What delays do to asynchronous SAGA, on one thread and the same in every run."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import OptimizeResult

from sklearn_fw._core.validation import check_random_state
from sklearn_fw._kernels._jit import inner, njit
from sklearn_fw._kernels.common.losses import loss_parts
from sklearn_fw._kernels.common.random import next_below
from sklearn_fw._kernels.common.rows import entry, extent
from sklearn_fw._kernels.incremental.incremental import STEP, SUM, X, gamma_of, proximal, weight_of
from sklearn_fw.optim._incremental._engines import SeparableEngine
from sklearn_fw.optim._incremental._minimize_saga import make_problem, solve
from sklearn_fw.optim._incremental._saga import Asaga, SagaRun

# An objective this many times that of zero coefficients counts as infinite.
DIVERGED = 1e3


def simulate_async(
    X,
    y,
    *,
    loss="log_loss",
    penalty="elasticnet",
    alpha=None,
    l1_ratio=0.0,
    sample_weight=None,
    fit_intercept=False,
    delay=0,
    max_iter=30,
    tol=0.0,
    step_size="auto",
    sampling="shuffle",
    random_state=None,
):
    """Run asynchronous SAGA as if many threads worked, on one thread and reproducibly.

    Minimizes what `minimize_saga` does, for one output and penalties of single coefficients. Every
    step reads the coefficients and the mean of the memory as they are seen, while each of its
    changes is seen 1 to ``delay`` steps later, independently and with equal probability (tau of
    Theorem 2 of the papers on ASAGA; Delta is ``sparsity`` of the result). Every change has arrived
    by the end of an epoch. ``status`` may be "diverged".
    """
    problem = make_problem(X, y, loss, penalty, alpha, l1_ratio, sample_weight, fit_intercept)
    solver = DelayedSaga(delay=delay, step_size=step_size, sampling=sampling)
    run, outcome = solve(
        problem, solver, tol=tol, max_iter=max_iter, rng=check_random_state(random_state),
        end=lambda run: run.diverged,
    )  # fmt: skip
    best = run.best
    fields = outcome.fields()
    if run.diverged:
        fields |= {"status": "diverged", "message": "diverged: shorten step_size or delay"}
    return OptimizeResult(
        x=best.coef, intercept=best.intercept, fun=best.objective, dual_gap=best.dual_gap,
        gradient_mapping=best.gradient_mapping, step_size=run.step_size,
        sparsity=run.engine.sparsity, **fields,
    )  # fmt: skip


class DelayedEngine(SeparableEngine):
    """The layout of one worker, with writes that come late."""

    def __init__(self, problem, delay):
        super().__init__(problem, 1, order_columns=False)
        self.seed = self.pending = None
        if delay > 0:
            X = problem.X
            longest = np.diff(X.indptr).max() if sp.issparse(X) else problem.n_columns
            n_places = delay * (int(longest) + 1)
            first = np.full(delay + 1, -1)
            first[-1] = 0
            following = np.append(np.arange(1, n_places), -1)
            change = np.zeros((n_places, 2))
            self.pending = Pending(first, following, np.zeros(n_places, dtype=np.intp), change)

    def run(self, order, refresh=True):
        delayed_epoch(
            self.rows, self.target, self.penalty, order, self.state, self.memory, self.gamma,
            self.metric, self.pending, self.seed,
        )  # fmt: skip
        return 0.0


class DelayedRun(SagaRun):
    """Epochs with exact certificates that leave memory and mean as they are."""

    diverged = False

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # After the seed of the orders, which is that of the method on one thread.
        self.engine.seed = self.rng.randint(2**32, size=1, dtype=np.uint64)
        self.best = self.problem.null

    def step(self):
        """An epoch and the certificate of its end; None when it has left for infinity."""
        self.advance(self.draw())
        coef, intercept = self.engine.point()
        with np.errstate(over="ignore", invalid="ignore"):
            if np.all(np.isfinite(coef)):
                reached = self.problem.certify(coef, intercept)
                if reached.objective <= DIVERGED * self.problem.null.objective:
                    self.best = reached
                    return self.certify()
        self.diverged = True
        return None

    def certify(self):
        """The last certificate of a finite point."""
        return self._row(self.best.row(), certified=True)


class DelayedSaga(Asaga):
    """`Asaga` on one thread whose writes are seen up to ``delay`` steps late."""

    def __init__(self, *, delay=0, step_size="auto", sampling="shuffle", conditioning="auto"):
        super().__init__(step_size=step_size, sampling=sampling, conditioning=conditioning)
        self.delay = delay

    def make_engine(self, problem, n_workers):
        return DelayedEngine(problem, self.delay)

    def _overlap(self, engine):
        return max(self.delay - 1, 0)

    def make_run(self, problem, engine, *, tol, rng, start):
        return DelayedRun(problem, engine, self, tol=tol, rng=rng, start=start)


class Pending(NamedTuple):
    """Writes on their way: a list for each of the next steps, and one of free places."""

    first: np.ndarray  # (delay + 1,) first place of each list, -1 for none; the last one is free
    following: np.ndarray  # (n_places,) next place in the same list
    column: np.ndarray  # (n_places,)
    change: np.ndarray  # (n_places, 2) what to add to x and to A


@njit
def delayed_epoch(rows, target, penalty, order, state, memory, gamma, metric, pending, seed):
    """The steps of `incremental.epoch`, whose changes are seen 1 to ``delay`` steps later."""
    intercept = state.shape[0] - 1
    fit_intercept = state[intercept, STEP] > 0.0
    for t in range(order.size):
        arrive(state, pending, t)
        i = order[t]
        start, stop, shift = extent(rows, i)

        z = state[intercept, X] if fit_intercept else 0.0
        for k in range(start, stop):
            j = rows.indices[k - shift]
            z += entry(rows.data, k, rows.center, j) * state[j, X]
        g, _, _ = loss_parts(target.loss, target.y[i], z)
        g *= weight_of(target.weight, i)
        change = g - memory[i]
        memory[i] = g

        for k in range(start, stop):
            j = rows.indices[k - shift]
            a = entry(rows.data, k, rows.center, j)
            step = state[j, STEP]
            u = state[j, X] - gamma_of(gamma, metric, j) * change * a - step * state[j, SUM]
            moved = proximal(u, step, penalty, penalty.bounds, j)
            send(state, j, moved, change * a, t, pending, seed)
        if fit_intercept:
            step = state[intercept, STEP]
            moved = state[intercept, X] - (gamma[1] * change + step * state[intercept, SUM])
            send(state, intercept, moved, change, t, pending, seed)
    if pending is not None:
        for t in range(order.size, order.size + pending.first.size - 1):
            arrive(state, pending, t)


@inner
def send(state, j, moved, change, t, pending, seed):
    """Put the new x and the change of A of a column on their way."""
    if pending is None:
        state[j, X] = moved
        state[j, SUM] += change
    else:
        delay = pending.first.size - 1
        late = (t + 1 + next_below(seed, delay)) % delay
        place = pending.first[delay]
        pending.first[delay] = pending.following[place]
        pending.following[place] = pending.first[late]
        pending.first[late] = place
        pending.column[place] = j
        pending.change[place, 0] = moved - state[j, X]
        pending.change[place, 1] = change


@inner
def arrive(state, pending, t):
    """Make the writes for step t visible."""
    if pending is not None:
        delay = pending.first.size - 1
        place = pending.first[t % delay]
        while place >= 0:
            j = pending.column[place]
            state[j, X] += pending.change[place, 0]
            state[j, SUM] += pending.change[place, 1]
            after = pending.following[place]
            pending.following[place] = pending.first[delay]
            pending.first[delay] = place
            place = after
        pending.first[t % delay] = -1
