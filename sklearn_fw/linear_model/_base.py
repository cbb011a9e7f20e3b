"""What the linear classifier and the linear regressor share: fits of one problem or several."""

from copy import deepcopy
from numbers import Integral

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from .._core.budget import time_budget
from .._core.callbacks import FitTasks, with_callbacks
from .._core.result import Outcome, Status
from .._core.threads import count_workers
from .._core.validation import (
    check_flag,
    check_integer,
    check_not_negative,
    check_random_state,
    check_time_limit,
)
from .._core.warnings import warn
from ..optim import Asaga
from ..optim._incremental._finite_sum import FiniteSum
from ..optim._incremental._minimize_saga import convergence_advice, solve
from ..optim._incremental._run import Start
from ..optim._incremental._solvers import Auto, choose_solver, resolve_incremental_solver
from ..penalties import resolve_penalty
from ._linear import LinearEstimator
from ._path import linear_path

# Why a solver was taken that was not chosen here.
GIVEN = "it was given"


def _keeps_memory(estimator):
    if resolve_incremental_solver(estimator.solver).keeps_memory:
        return True
    raise AttributeError(
        f"partial_fit needs a solver that keeps a memory of sparse steps: solver='asaga' or "
        f"'sparse_saga', got {estimator.solver!r}"
    )


class AsagaModel(LinearEstimator):
    """Base of the estimators; subclasses say which problems a fit consists of."""

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Train to the accuracy ``tol`` or to the end of the budget.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Inputs. C-ordered float32 or float64 arrays and CSR matrices without duplicate entries
            are not copied.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Labels or targets; several targets for regression only.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with time_budget(self.time_limit):
            return self._fit(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        X, y, weight = self._check(X, y, sample_weight)
        settings = self._settings()
        problems = self._problems(X, y, weight)
        self._choose(problems[0])
        starts = self._starts(problems)
        rng = check_random_state(self.random_state)
        tasks = FitTasks(
            self,
            X,
            y,
            max_subtasks=settings["max_iter"] * len(problems),
            sample_weight=sample_weight,
        )

        def end(runs):
            return tasks.end(lambda: self._snapshot(runs, len(problems)))

        solved = self._solve(problems, starts, rng, settings, begin=tasks.begin, end=end)
        for _, advice in self._missed(solved):
            warn(advice, ConvergenceWarning)
        self._store(solved)
        tasks.finish()
        return self

    def _choose(self, problem):
        """What "auto" takes, the same for all problems of a fit, which share rows and penalty."""
        self.solver_reason_ = GIVEN
        if isinstance(self.solver_, Auto):
            self.solver_, self.solver_reason_ = choose_solver(problem)

    def _choose_for_parts(self):
        """The same for fits by parts, which need a memory of rows."""
        self.solver_reason_ = GIVEN
        if isinstance(self.solver_, Auto):
            self.solver_, self.solver_reason_ = Asaga(), "it remembers the rows of other parts"

    def _solve(self, problems, starts, rng, settings, begin=None, end=None):
        """Run and `Outcome` of every problem.

        ``end`` gets the runs that have begun, of which all but the last are finished.
        """
        solved = []
        for problem, start in zip(problems, starts, strict=True):
            runs = [run for run, _ in solved]
            hook = None if end is None else (lambda run, runs=runs: end([*runs, run]))
            solved.append(
                solve(
                    problem, self.solver_, rng=rng, start=start, begin=begin, end=hook, **settings
                )
            )
        return solved

    def _missed(self, solved):
        """Run and advice of every problem whose budget ended before ``tol`` was reached."""
        return [
            (run, convergence_advice(run, outcome))
            for run, outcome in solved
            if outcome.status in (Status.MAX_ITER, Status.TIME_LIMIT) and self.tol > 0
        ]

    @available_if(_keeps_memory)
    def partial_fit(self, X, y, classes=None, sample_weight=None, rows=None):
        """One epoch over a part of the data; the other parts are remembered by their slopes.

        The objective is that of all rows seen so far. Of the rows that are not at hand the method
        keeps one number each and the sum of their gradients, so that going through all parts again
        and again, with ``rows``, leads where `fit` on all of them leads. Nothing is certified.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Inputs of this part.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Labels or targets.
        classes : array-like of shape (n_classes,), default=None
            All labels; needed in the first call of a classifier, unless `fit` has seen them.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses, the same in every visit of a row.
        rows : slice or array-like of int of shape (n_samples,), default=None
            Which rows of the whole data these are, numbered from 0 in the order of their first
            visit; None means rows that were not seen before.

        Returns
        -------
        self : object
            The estimator, with ``coef_`` and ``intercept_`` after the epoch.
        """
        from ._partial import partial_fit

        return partial_fit(self, X, y, classes, sample_weight, rows)

    def _regularization_path(self, X, y, *, sample_weight=None, **options):
        """See `regularization_path`."""
        return linear_path(self, X, y, sample_weight=sample_weight, **options)

    def _settings(self):
        """Checked parameters of the loop."""
        self.solver_ = resolve_incremental_solver(self.solver)
        self._stream = None
        check_flag(self.fit_intercept, "fit_intercept")
        check_flag(self.warm_start, "warm_start")
        check_time_limit(self.time_limit)
        return {
            "tol": check_not_negative(self.tol, "tol"),
            "max_iter": check_integer(self.max_iter, "max_iter", 1),
            "n_workers": count_workers(self.n_jobs),
            "verbose": check_integer(self.verbose, "verbose", 0),
        }

    def _problem(self, X, y, weight, loss, strength, n_outputs=None):
        """One objective in the sum form, whose penalty has the factor ``strength``."""
        bound = resolve_penalty(self.penalty, self.l1_ratio).bind(X.shape[1])
        return FiniteSum(
            X, np.ascontiguousarray(y), loss, bound.scaled(strength),
            weight=weight, fit_intercept=self.fit_intercept, n_outputs=n_outputs,
        )  # fmt: skip

    def _variants(self, X, truths, weight, loss, strength):
        """One objective per truth."""
        first = self._problem(X, truths[0], weight, loss, strength)
        return [first, *(first.variant(y=np.ascontiguousarray(y)) for y in truths[1:])]

    def _starts(self, problems):
        """Where the last fit ended, if ``warm_start`` and the shapes are the same."""
        starts = deepcopy(getattr(self, "_warm", None)) if self.warm_start else None
        if starts is None or len(starts) != len(problems):
            return [None] * len(problems)
        return [_fitting(start, problem) for start, problem in zip(starts, problems, strict=True)]

    def _snapshot(self, runs, n_problems):
        """Fitted attributes in the middle of a fit, for callbacks."""
        points = [run.engine.point() for run in runs]
        points += [tuple(np.zeros_like(a) for a in points[0])] * (n_problems - len(points))
        coef, intercept = self._stacked(points)
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        return fitted | {"coef_": coef, "intercept_": intercept}

    def _store(self, solved):
        runs, outcomes = zip(*solved, strict=True)
        bests = [run.best for run in runs]
        self._set_points([(best.coef, best.intercept) for best in bests], runs[0].problem.X.dtype)
        vars(self).update(Outcome.joined(outcomes).attributes())
        self.n_updates_ = sum(run.n_updates for run in runs)
        self.objective_ = _only([best.objective for best in bests])
        gaps = [best.dual_gap for best in bests]
        self.dual_gap_ = None if None in gaps else max(gaps)
        self.gradient_mapping_ = max(best.gradient_mapping for best in bests)
        self.memory_drift_ = max(run.memory_drift for run in runs)
        self.step_size_ = _only([run.step_size for run in runs])
        self._warm = None
        if self.warm_start:
            self._warm = [Start(best.coef, best.intercept, best.memory) for best in bests]

    def __getstate__(self):
        state = super().__getstate__().copy()
        if not self.warm_start:
            state.pop("_warm", None)
        return state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = isinstance(self.n_jobs, Integral) and self.n_jobs != 1
        return tags


def _fitting(start, problem):
    """The start, without what has another shape now."""
    if start.coef.shape != problem.shape:
        return None
    if not problem.fit_intercept:
        start = start._replace(intercept=np.zeros(problem.shape[1:]))
    rows = (problem.n_rows, *problem.shape[1:])
    return start if start.memory.shape == rows else start._replace(memory=None)


def _only(values):
    """The value of the one problem, or an array of those of several."""
    return values[0] if len(values) == 1 else np.array(values)
