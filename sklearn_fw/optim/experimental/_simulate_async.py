"""What delays do to asynchronous SAGA, on one thread and the same in every run."""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import OptimizeResult

from ..._core.validation import check_integer, check_not_negative, check_random_state
from ..._kernels import lazy
from .._incremental._engines import SeparableEngine
from .._incremental._minimize_saga import make_problem, solve
from .._incremental._saga import SagaRun, SparseSaga

simulate = lazy("incremental.simulate")

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

    Minimises what `minimize_saga` does. Every step reads the coefficients and the mean of the
    memory as they are seen, while each of the changes it makes to them is seen 1 to ``delay`` steps
    later, independently of the others and with equal probability. For studies of how many threads
    a problem bears: p threads of equal speed overlap about p - 1 steps, uneven ones many more.

    Parameters
    ----------
    X : {array-like, CSR matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Truth: -1 and +1 for losses of a margin, numbers else.
    loss : str or Loss, default="log_loss"
        A name or an object of `sklearn_fw.losses`, maybe your own, of one score.
    penalty : "elasticnet", None or Penalty, default="elasticnet"
        As for `minimize_saga`; of single coefficients.
    alpha : float or None, default=None
        Weight of the penalty, not negative; None means 1 / n_samples.
    l1_ratio : float, default=0.0
        Share of the l1 norm, in [0, 1].
    sample_weight : array-like of shape (n_samples,), default=None
        Factors of the losses.
    fit_intercept : bool, default=False
        Whether there is an intercept, which every step reads and changes.
    delay : int, default=0
        Longest delay, in steps; 0 is the method on one thread, and 1 differs by rounding only.
    max_iter : int, default=30
        Largest number of epochs (steps on n_samples rows).
    tol : float, default=0.0
        Stop when the certificate is at most ``tol`` times what it is at zero coefficients, as
        `minimize_saga` does.
    step_size : {"auto", "theory"} or float, default="auto"
        As for `SparseSaga`; "theory" is what `overlap_step` allows for the steps that are not seen
        yet, of which there are up to ``delay - 1``.
    sampling : {"shuffle", "uniform"}, default="shuffle"
        As for `SparseSaga`.
    random_state : int, RandomState or None, default=None
        Orders of the rows, the same for all delays, and the delays.

    Returns
    -------
    result : OptimizeResult
        ``x``, ``intercept``, ``fun`` (objective), ``dual_gap`` (None without a dual),
        ``gradient_mapping``, ``nit`` (epochs), ``success`` (whether ``tol`` was reached),
        ``status`` ("converged", "max_iter" or "diverged"), ``message``, ``step_size``,
        ``sparsity`` (share of the rows that touch the most frequent column, which limits the
        delays that do no harm) and ``history`` (dict of arrays, with the exact certificate of
        every epoch).

    See Also
    --------
    minimize_saga : The methods themselves.

    Notes
    -----
    More than 13 parameters: the problem, the method and the budget in one call, as `minimize_saga`.

    Every change has arrived by the end of an epoch, where threads meet as well.

    References
    ----------
    R. Leblond, F. Pedregosa and S. Lacoste-Julien, ASAGA: Asynchronous Parallel SAGA, AISTATS 2017:
    Algorithm 2 and Theorem 2. F. Pedregosa, R. Leblond and S. Lacoste-Julien, Breaking the
    Nonsmooth Barrier, NIPS 2017. There tau is ``delay`` and Delta is ``sparsity``.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from sklearn_fw.optim.experimental import simulate_async
    >>> rng = np.random.default_rng(0)
    >>> X = sp.random(1000, 30, density=0.5, format="csr", random_state=rng)
    >>> y = np.where(X @ rng.standard_normal(30) > 0, 1.0, -1.0)
    >>> for delay in (0, 100, 400):
    ...     result = simulate_async(X, y, delay=delay, tol=1e-6, random_state=0)
    ...     print(delay, result.status, result.nit)
    0 converged 22
    100 converged 21
    400 max_iter 30
    """
    problem = make_problem(X, y, loss, penalty, alpha, l1_ratio, sample_weight, fit_intercept)
    if problem.n_outputs is not None:
        raise ValueError("loss='multinomial' has several outputs; simulate losses of one score")
    if not problem.penalty.separable:
        raise ValueError(f"penalty={penalty!r} is of groups; simulate one of single coefficients")
    solver = DelayedSaga(
        delay=check_integer(delay, "delay", 0), step_size=step_size, sampling=sampling
    )
    run, outcome = solve(
        problem, solver, tol=check_not_negative(tol, "tol"),
        max_iter=check_integer(max_iter, "max_iter", 1), rng=check_random_state(random_state),
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
            self.pending = simulate.Pending(
                first, following, np.zeros(n_places, dtype=np.intp), change
            )

    def run(self, order, refresh=True):
        simulate.delayed_epoch(
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


class DelayedSaga(SparseSaga):
    """`SparseSaga` whose writes are seen up to ``delay`` steps late."""

    def __init__(self, *, delay=0, step_size="auto", sampling="shuffle", conditioning="auto"):
        super().__init__(step_size=step_size, sampling=sampling, conditioning=conditioning)
        self.delay = delay

    def make_engine(self, problem, n_workers):
        return DelayedEngine(problem, self.delay)

    def _overlap(self, engine):
        return max(self.delay - 1, 0)

    def make_run(self, problem, engine, *, tol, rng, start):
        return DelayedRun(problem, engine, self, tol=tol, rng=rng, start=start)
