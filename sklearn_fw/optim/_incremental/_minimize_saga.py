"""Regularized linear models as a function call, the choice of their solvers, and their names."""

from contextlib import closing

import numpy as np
import scipy.sparse as sp
from scipy.optimize import OptimizeResult
from sklearn.exceptions import ConvergenceWarning

from ..._core import check
from ..._core.budget import time_budget
from ..._core.loop import drive
from ..._core.threads import count_workers
from ..._core.warnings import warn
from ...losses import MultinomialLogLoss, SquaredError, resolve_loss
from ...penalties import resolve_penalty
from ._finite_sum import SPARSE, FiniteSum
from ._newton import TOGETHER, Newton, NewtonCG, is_dense, is_wide
from ._run import Solver, Start
from ._saga import Asaga, Saga, Sdca, Svrg


def minimize_saga(
    X,
    y,
    *,
    loss="log_loss",
    penalty="elasticnet",
    alpha=None,
    l1_ratio=0.0,
    sample_weight=None,
    fit_intercept=False,
    solver="asaga",
    x0=None,
    max_iter=100,
    tol=1e-4,
    time_limit=None,
    n_jobs=None,
    random_state=None,
    verbose=0,
):
    """Minimize a regularized mean of losses of linear scores, to a certified accuracy.

    Minimizes over w and, with ``fit_intercept``, over c, with weights s_i (one by default)::

        sum_i s_i loss(y_i, <w, x_i> + c) / sum_i s_i + alpha * penalty(w)

    Parameters
    ----------
    X : {array-like, CSR matrix} of shape (n_samples, n_features)
        Rows; C-ordered float32 or float64 arrays and CSR matrices without duplicate entries are
        not copied.
    y : array-like of shape (n_samples,)
        Truth: -1 and +1 for losses of a margin, class indices for "multinomial", numbers else.
    loss : str or Loss, default="log_loss"
        A name or an object of `sklearn_fw.losses`, maybe your own.
    penalty : "elasticnet", None or Penalty, default="elasticnet"
        "elasticnet" is ``l1_ratio ||w||_1 + (1 - l1_ratio) / 2 ||w||^2``; an object of
        `sklearn_fw.penalties`, or your own.
    alpha : float or None, default=None
        Weight of the penalty, not negative; None means 1 / n_samples.
    l1_ratio : float, default=0.0
        Fraction of the l1 norm, in [0, 1].
    sample_weight : array-like of shape (n_samples,), default=None
        Factors of the losses.
    fit_intercept : bool, default=False
        Whether to fit an intercept c, which is not penalized.
    solver : str or solver object, default="asaga"
        See `sklearn_fw.linear_model.AsagaClassifier`.
    x0 : array-like of shape (n_features,) or (n_features, n_classes), default=None
        Where to start; None means zero.
    max_iter : int, default=100
        Largest number of epochs (steps on n_samples rows, all threads together).
    tol : float, default=1e-4
        Stop when the duality gap is at most ``tol`` times the objective; without a dual see
        `sklearn_fw.linear_model.AsagaClassifier`.
    time_limit : float or None, default=None
        Seconds after which no new epoch begins.
    n_jobs : int or None, default=None
        Threads; None means 1 and -1 all that this process may use, which is also the most.
    random_state : int, RandomState or None, default=None
        Orders of the rows. Results are reproducible to the bit with one thread only.
    verbose : int, default=0
        Log a line per epoch.

    Returns
    -------
    result : OptimizeResult
        ``x``, ``intercept``, ``fun`` (objective), ``dual_gap`` (None without a dual),
        ``gradient_mapping``, ``nit`` (epochs), ``n_updates`` (steps), ``success``, ``status``,
        ``message``, ``memory`` (slopes of the losses at x), ``memory_drift`` (of the running sum of
        the memory before its last repair) and ``history`` (dict of arrays).

    Notes
    -----
    More than 13 parameters: the problem, the method and the budget in one call.

    An epoch costs O(nnz). Memory beyond X is about 3 n + 6 d numbers for one output; with several
    threads, or more than 260,000 sparse columns, the column indices of X once more, in four bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.optim import minimize_saga
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> result = minimize_saga(X, [1.0, 2.0, 3.0], loss="squared_error", alpha=0.1, tol=1e-10)
    >>> result.x.round(3)
    array([1.748, 0.979])
    >>> result.dual_gap < 1e-9
    True
    """
    with time_budget(time_limit):
        problem = make_problem(X, y, loss, penalty, alpha, l1_ratio, sample_weight, fit_intercept)
        tol, start = check.not_negative(tol, "tol"), None
        if x0 is not None:
            x0 = check.shaped(x0, "x0", *problem.shape)
            start = Start(x0, np.zeros(problem.shape[1:]))
        run, outcome = solve(
            problem, resolve_incremental_solver(solver), tol=tol, start=start, verbose=verbose,
            max_iter=check.integer(max_iter, "max_iter", 1), rng=check.random_state(random_state),
            n_workers=count_workers(n_jobs),
        )  # fmt: skip
    if not outcome.converged and tol > 0:
        warn(convergence_advice(run, outcome), ConvergenceWarning)
    best = run.best
    return OptimizeResult(
        x=best.coef, intercept=best.intercept, fun=best.objective, dual_gap=best.dual_gap,
        gradient_mapping=best.gradient_mapping, n_updates=run.n_updates, memory=best.memory,
        memory_drift=run.memory_drift, **outcome.fields(),
    )  # fmt: skip


def make_problem(X, y, loss, penalty, alpha, l1_ratio, sample_weight, fit_intercept):
    check.flag(fit_intercept, "fit_intercept")
    X = check_rows(check.table(X, **ROWS))
    y = check.shaped(y, "y", X.shape[0])
    loss = resolve_loss(loss, None, smooth=True)
    loss._check_truth(y)
    n_outputs = int(y.max()) + 1 if isinstance(loss, MultinomialLogLoss) else None
    weight = check.sample_weight(sample_weight, y.size)
    alpha = 1.0 / y.size if alpha is None else check.not_negative(alpha, "alpha")
    if alpha > 0.0:
        check.strength(alpha, "alpha")
    bound = resolve_penalty(penalty, l1_ratio).bind(X.shape[1])
    return FiniteSum(
        X, y, loss, bound.scaled(alpha * weight.sum()), fit_intercept=fit_intercept,
        weight=None if sample_weight is None else weight, n_outputs=n_outputs,
    )  # fmt: skip


# What `check_array` is to make of X: nothing is copied that kernels can read as it is.
ROWS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}


def check_rows(X):
    """Validated X, copied unless entries are sorted: sums must not count one twice."""
    check.magnitude(X.data if sp.issparse(X) else X, "X")
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def solve(
    problem, solver, *, tol, max_iter, rng, n_workers=1, start=None, begin=None, end=None, verbose=0
):
    run = solver.start(problem, tol=tol, rng=rng, n_workers=n_workers, start=start)
    with closing(run):
        outcome = drive(
            run, tol=tol, relative_to="objective", max_iter=max_iter, verbose=verbose,
            begin=begin, end=None if end is None else lambda: end(run),
        )  # fmt: skip
    return run, outcome


def convergence_advice(run, outcome):
    """Why a run is not as accurate as asked, in numbers, and what to do."""
    name, value, limit = run.shortfall
    remedy = outcome.status.value
    if not run.has_dual and run.problem.proves_separable(run.best.objective):
        remedy = "the classes are separable, so that coefficients grow for ever; set a finite C"
    return f"{name} {value:.3g} > {limit:.3g} after {outcome.n_iter} epochs: {remedy}"


# Columns of all outputs that a step with an l1 norm must be able to take.
FEWEST = 20
# Most columns for a matrix of second derivatives of dense tables, whose columns depend on each
# other.
DENSE = 1000
# Curvature of the losses in the direction that all rows share, in units of the ridge, from which on
# steps on single rows undo each other.
SHARED = 1e4


def choose_solver(problem):
    """A solver for a `FiniteSum` and a sentence that says why."""
    penalty, d = problem.penalty, problem.n_columns
    if not penalty.separable:
        return Asaga(), "penalties of groups and your own are for the incremental methods"
    if problem.is_by_columns:
        return Newton(), f"{d} sparse columns, many of them zero: second order by columns"
    dense, ridge = is_dense(problem), penalty.is_ridge
    kind, most = ("dense", DENSE) if dense else ("sparse", SPARSE)
    n_outputs = problem.n_outputs or 1
    vanish = penalty.l1 > 0.0 and FEWEST * n_outputs <= TOGETHER
    if (dense or n_outputs > 1) and (vanish or (not ridge and n_outputs * d <= TOGETHER)):
        return Newton(), f"{d} {kind} columns, of which steps take a part: second order"
    by_rows = problem.n_outputs is None and penalty.l2 > 0.0 and sp.issparse(problem.X)
    # Epochs over CSR rows, however full, cost less than the products of these rows.
    few_rows = d > max(most, problem.active.size)
    differ = by_rows and ridge and few_rows and _rows_differ(problem)
    if ridge and not differ and is_wide(problem):
        return NewtonCG(), f"{d} columns, many times the rows: second order by products of rows"
    # Products with sparse rows cost less than a matrix in each step, which squared errors need but
    # once.
    bends = ridge and penalty.l2 > 0.0 and not isinstance(problem.loss, SquaredError)
    if problem.n_outputs is None and d <= most and (dense or not bends):
        return Newton(), f"{d} {kind} columns, at most {most}, and one output: second order"
    if ridge and not problem.loss._is_compiled:
        return NewtonCG(), "a loss of your own, a smooth objective: second order, all rows at once"
    if ridge and not differ:
        outputs = "one output" if n_outputs == 1 else f"{n_outputs} outputs"
        return NewtonCG(), f"{d} {kind} columns, {outputs} and a smooth objective: second order"
    if differ or (by_rows and not dense and d > most):
        return Sdca(), f"{d} columns of CSR rows, more than {most}, and a ridge: dual coordinates"
    return Asaga(), f"{d} {kind} columns and not a smooth objective: incremental"


def _rows_differ(problem):
    """Whether rows have little in common, next to the ridge."""
    together = problem.gradient(problem.weights)
    shared = problem.loss.smoothness * float(together @ together) / problem.total_weight
    return shared < SHARED * problem.penalty.l2


class Auto(Solver):
    keeps_memory = True  # of parts of the rows, which are for the incremental method

    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        solver, _ = choose_solver(problem)
        return solver.start(problem, tol=tol, rng=rng, n_workers=n_workers, start=start)


SOLVERS = {
    "asaga": Asaga,
    "auto": Auto,
    "lagged_saga": lambda: Saga(variant="lagged"),
    "newton": Newton,
    "newton_cg": NewtonCG,
    "sag": lambda: Saga(variant="sag"),
    "saga": Saga,
    "sdca": Sdca,
    "sparse_saga": lambda: Asaga(parallel=False),
    "svrg": Svrg,
}


def resolve_incremental_solver(solver):
    return check.resolve_named(solver, "solver", Solver, SOLVERS)
