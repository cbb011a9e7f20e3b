"""Linear models by incremental gradients, Newton's method and dual coordinate ascent."""

from contextlib import closing
from copy import copy, deepcopy
from dataclasses import KW_ONLY
from functools import partial
from numbers import Integral
from types import SimpleNamespace

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from .._core import check
from .._core.result import Outcome, Status
from .._core.threads import count_workers
from .._core.warnings import warn
from ..losses import LogLoss, MultinomialLogLoss, resolve_loss
from ..optim import Asaga, FiniteSum, Newton, NewtonCG, Seen, Start
from ..optim._incremental import _minimize_saga as incremental
from ..penalties import resolve_penalty
from ._alpha import automatic_strength, in_unlike_units
from ._collections import Collected, Columns, Plan, problems_of
from ._linear import LinearClassifier, LinearRegressor, Units, only, padded, shared, signs
from ._path import PathModel, has_strength, param_name, zero_strength

# Strengths 1 / C or alpha where none makes all coefficients zero, strongest first.
WIDE = 1e4, 1e-4
# How much stronger than needed the strongest is: more than rounding.
MARGIN = 1e-10
# What is documented of the result of `fit`, but not of parts.
CERTIFIED = (
    "converged_", "dual_gap_", "gradient_mapping_", "history_", "memory_drift_", "n_iter_",
    "n_updates_", "objective_", "status_", "step_size_",
)  # fmt: skip


def _places(rows, n_seen, n_samples):
    """Row numbers of a part and whether they are new; all of them or none must be."""
    next_rows = n_seen + np.arange(n_samples)
    if rows is None:
        return next_rows, True
    if isinstance(rows, slice):
        rows = np.arange(rows.start or 0, rows.stop, rows.step)
    rows = np.asarray(rows)
    fits = rows.dtype.kind in "iu" and rows.shape == (n_samples,)
    if not fits or np.unique(rows).size != n_samples:
        raise ValueError(
            f"rows must be a slice or {n_samples} integers, one per sample and none twice; got an "
            f"array of dtype {rows.dtype} and shape {rows.shape}"
        )
    is_new = np.array_equal(np.sort(rows), next_rows)
    if not is_new and np.any((rows < 0) | (rows >= n_seen)):
        raise ValueError(
            f"rows must be rows seen before (below {n_seen}) or exactly the next ones "
            f"({n_seen} to {n_seen + n_samples - 1})"
        )
    return rows, is_new


def _blank(problem):
    """A `Start` before all rows."""
    shape, outputs = problem.shape, problem.shape[1:]
    seen = Seen(np.zeros(problem.n_columns), 0, True, np.zeros(shape), np.zeros(outputs))
    return Start(problem.resting_point(), np.zeros(outputs), np.zeros((0, *outputs)), seen)


def _visit(model, problem, start, rows, adds, rng):
    outputs = problem.shape[1:]
    memory = np.concatenate([start.memory, np.zeros((rows.size if adds else 0, *outputs))])
    if not problem.fit_intercept:  # now, whatever it was before
        start = start._replace(intercept=np.zeros(outputs))
    start = start._replace(memory=memory[rows], seen=start.seen._replace(adds=adds))
    options = {"tol": 0.0, "rng": rng, "n_workers": count_workers(model.n_jobs)}
    with closing(model.solver_.start(problem, start=start, **options)) as run:
        engine = run.engine
        run.advance(run.draw())
        memory[rows] = engine.memory.reshape(rows.size, *outputs)
        seen = Seen(engine.counts(), engine.n_rows, adds, engine.total(), engine.mass())
        return Start(*engine.point(), memory, seen)


def _keeps_memory(estimator):
    if incremental.resolve_incremental_solver(estimator.solver).keeps_memory:
        return True
    needed = "a solver that keeps a memory of sparse steps: solver='asaga' or 'sparse_saga'"
    raise AttributeError(f"partial_fit needs {needed}, got {estimator.solver!r}")


class AsagaModel(PathModel):
    """Base of the estimators; subclasses make the problems of a fit."""

    _: KW_ONLY
    l1_ratio: float = 0.0
    penalty: object = "elasticnet"
    solver: object = "auto"
    standardize: check.auto_or(check.flag, "True or False") = "auto"
    max_iter: int = 100
    tol: float = 1e-4
    time_limit: float | None = None
    n_jobs: int | None = None

    def _train(self, problems, tasks):
        rng = check.random_state(self.random_state)
        solved = self._solve(problems, self._starts(problems), rng, tasks)
        for _, advice in self._missed(solved):
            warn(advice, ConvergenceWarning)
        self._store(solved)

    def _choose(self, choose):
        """Set the solver; ``choose()`` is what "auto" takes for all problems of a fit, and why."""
        self.solver_ = incremental.resolve_incremental_solver(self.solver)
        self.solver_reason_ = "it was given"
        if isinstance(self.solver_, incremental.Auto):
            self.solver_, self.solver_reason_ = choose()

    def _solve(self, problems, starts, rng, tasks=None):
        """Run and `Outcome` of every problem."""
        solved, points = [], []

        def end(run):
            known = [*points, run.engine.point()]
            return tasks.end(lambda: self._snapshot(padded(known, len(problems))))

        hooks = {} if tasks is None else {"begin": tasks.begin, "end": end}
        for problem, start in zip(problems, starts, strict=True):
            run, outcome = incremental.solve(
                problem, self.solver_, rng=rng, start=start, tol=float(self.tol),
                max_iter=self.max_iter, verbose=self.verbose,
                n_workers=count_workers(self.n_jobs), **hooks,
            )  # fmt: skip
            solved.append((run, outcome))
            points.append(run.engine.point())
        return solved

    def _missed(self, solved):
        """By which factor runs missed ``tol``, and what to do."""
        missed = []
        for run, outcome in solved:
            if not outcome.converged and outcome.status is not Status.STOPPED and self.tol > 0:
                _, value, limit = run.shortfall
                excess = value / max(limit, np.finfo(float).tiny)
                missed.append((excess, incremental.convergence_advice(run, outcome)))
        return missed

    @available_if(_keeps_memory)
    def partial_fit(self, X, y, classes=None, sample_weight=None, rows=None):
        """One epoch over a part of the data; other parts are remembered by their slopes.

        The objective is that of all rows seen so far. Of the other rows the method keeps one number
        each and the sum of their gradients, so that repeated passes over all parts, with ``rows``,
        converge to the result of `fit` on all of them. Nothing is certified. After `fit`, whose
        rows are not kept, the first call starts at zero.

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
        """
        self._choose(lambda: (Asaga(), "it remembers the rows of other parts"))
        stream = copy(getattr(self, "_stream", None))
        first = stream is None
        X, y, weight = self._check(X, y, sample_weight, reset=first)
        self._name_classes(y, classes, first)
        if first:
            stream = SimpleNamespace(n_rows=0, weight=0.0, strength=None, starts=None)
            stream.rng = check.random_state(self.random_state)
            if hasattr(self, "coef_"):
                warn("partial_fit starts at zero, not at the earlier fit, whose rows are not kept")
        n_samples = X.shape[0]
        rows, adds = _places(rows, stream.n_rows, n_samples)
        if adds:
            stream.n_rows += n_samples
            stream.weight += float(n_samples if weight is None else weight.sum())
        problems = self._make_problems(X, y, weight, stream.weight)
        stream.rng = deepcopy(stream.rng)
        if hasattr(self, "alpha_"):
            stream.strength = self.alpha_ * stream.weight
        starts = stream.starts or map(_blank, problems)  # with the memory of all rows
        pairs = zip(problems, starts, strict=True)
        stream.starts = [_visit(self, *pair, rows, adds, stream.rng) for pair in pairs]
        for name in CERTIFIED:
            vars(self).pop(name, None)
        self._stream = stream
        self._set_points([(start.coef, start.intercept) for start in stream.starts], X.dtype)
        return self

    def _fit_at(self, units, value, warm, rng):
        strength = 1.0 / value if hasattr(self, "C") else value
        problems = [unit.variant(penalty=unit.penalty.scaled(strength)) for unit in units]
        if warm is None:  # the optimum for strong penalties, with its memory
            nulls = [unit.null for unit in units]
            warm = [Start(null.coef, null.intercept, null.memory.copy()) for null in nulls]
        # No penalty is in the memory: it serves the next problem as it is.
        solved = self._solve(problems, warm, rng)
        warm = self._store(solved)
        setattr(self, f"{param_name(self)}_", value)
        return sum(outcome.n_iter for _, outcome in solved), self._missed(solved), warm

    def _make_grid(self, units, given, n_values, ratio):
        if not has_strength(units[0].penalty):
            name, penalty = param_name(self), self.penalty
            raise ValueError(f"no path over {name}, which changes nothing for {penalty=}")
        if given is not None:
            return given
        strongest = [zero_strength(problem) for problem in units]
        if None in strongest or max(strongest) == 0.0:
            grid = np.geomspace(*WIDE, n_values)
        else:
            largest = max(strongest) * (1.0 + MARGIN)
            grid = np.geomspace(largest, ratio * largest, n_values)
        return 1.0 / grid if hasattr(self, "C") else grid

    def _problems(self, X, y, weight):
        self._stream = None
        problems = self._make_problems(X, y, weight)
        self._choose(lambda: incremental.choose_solver(problems[0]))
        return problems

    def _plan(self, losses, strength, n_outputs=None):
        """How workers make problems of the blocks of a collection."""
        self._stream = None
        penalty = resolve_penalty(self.penalty, self.l1_ratio).bind(self.n_features_in_)
        reason = "rows stay where they are: second order by sums over blocks"
        self._choose(lambda: (NewtonCG() if penalty.is_ridge else Newton(), reason))
        if not isinstance(self.solver_, Newton | NewtonCG):
            known = "solver='newton', 'newton_cg' (a ridge only) or 'auto'"
            raise ValueError(f"collections of Dask are for {known}, got {self.solver!r}")
        if strength == 0.0 or not penalty.separable or not has_strength(penalty):
            raise ValueError(
                "collections of Dask are for penalties of single coefficients: set "
                "penalty='elasticnet' and a finite C (alpha > 0), or pass arrays"
            )
        return Plan(losses, penalty, self.fit_intercept, n_outputs)

    def _in_units(self, X, targets, weight, losses, is_auto, n_outputs=None):
        """Problems with a penalty of strength 1 on columns in units, those of the first part."""

        def first_of(X):
            penalty = resolve_penalty(self.penalty, self.l1_ratio).bind(X.shape[1])
            settings = {"fit_intercept": self.fit_intercept, "n_outputs": n_outputs}
            return FiniteSum(X, ys[0], losses[0], penalty, weight=weight, **settings)

        ys = list(map(np.ascontiguousarray, targets))
        first = first_of(X)
        if getattr(self, "_stream", None) is None:
            standardizes = self.standardize
            if isinstance(standardizes, str):
                standardizes = is_auto and in_unlike_units(first)
            self._units = Units.of(X, weight, np.zeros(len(ys)), self.fit_intercept, standardizes)
            self.scale_ = self._units.scale
        if self._units.scale is not None:
            first = first_of(self._units.rows(X))
        return [first, *(first.variant(y=y, loss=own) for y, own in zip(ys[1:], losses[1:]))]

    def _of_collection(self, found, plan, n_problems, is_auto, total_weight=None):
        """The same of blocks, with their `Columns` where these were needed."""
        rows, facts = found.rows(plan), found.facts(self.n_features_in_, total_weight)
        standardizes = self.standardize
        columns = Columns(rows, facts, plan) if is_auto or standardizes is True else None
        if isinstance(standardizes, str):
            standardizes = is_auto and columns.in_unlike_units
        self._units = Units(None, None, np.zeros(n_problems))
        if standardizes:
            self._units = columns.units(n_problems)
            plan = plan._replace(units=self._units)
            rows = found.rows(plan)
            columns = Columns(rows, facts, plan)
        self.scale_ = self._units.scale
        return problems_of(rows, facts, plan, n_problems), columns

    def _stacked(self, points):
        points = [self._units.back(coef, c, k) for k, (coef, c) in enumerate(points)]
        return super()._stacked(points)

    def _starts(self, problems):
        starts = deepcopy(getattr(self, "_warm", None)) if self.warm_start else None
        if starts is None or len(starts) != len(problems):
            return [None] * len(problems)
        return [_fitting(start, problem) for start, problem in zip(starts, problems, strict=True)]

    def _store(self, solved):
        runs, outcomes = zip(*solved, strict=True)
        bests = [run.best for run in runs]
        self._set_points([(best.coef, best.intercept) for best in bests], runs[0].problem.dtype)
        vars(self).update(Outcome.joined(outcomes).attributes())
        self.n_updates_ = sum(run.n_updates for run in runs)
        self.objective_ = only([best.objective for best in bests])
        gaps = [best.dual_gap for best in bests]
        self.dual_gap_ = None if None in gaps else max(gaps)
        self.gradient_mapping_ = max(best.gradient_mapping for best in bests)
        self.memory_drift_ = max(run.memory_drift for run in runs)
        self.step_size_ = only([run.step_size for run in runs])
        warm = [Start(best.coef, best.intercept, best.memory) for best in bests]
        self._warm = warm if self.warm_start else None
        return warm

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = isinstance(self.n_jobs, Integral) and self.n_jobs != 1
        return tags


def _fitting(start, problem):
    if start.coef.shape != problem.shape:
        return None
    if not problem.fit_intercept:
        start = start._replace(intercept=np.zeros(problem.shape[1:]))
    rows = (problem.n_rows, *problem.shape[1:])
    return start if np.shape(start.memory) == rows else start._replace(memory=None)


def _check_C(value, name):
    if not (isinstance(value, float) and np.isposinf(value)):  # infinity: no penalty
        check.strength(value, name)


class AsagaClassifier(LinearClassifier, AsagaModel):
    """Linear classifier with automatic choice of solver and a certified duality gap.

    Minimizes, with weights s_i (``sample_weight`` times ``class_weight``, one by default)::

        C sum_i s_i loss(y_i, <w, x_i> + c) + l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2

    which for the default loss is the objective of scikit-learn's LogisticRegression; its default is
    ``C=1.0``.

    Parameters
    ----------
    loss : str or Loss, default="log_loss"
        "log_loss", "multinomial", "squared_hinge" (the loss of LinearSVC), "smooth_hinge",
        "modified_huber", or an object of `sklearn_fw.losses`, maybe your own.
    C : float or "auto", default="auto"
        Inverse strength of the penalty; the papers' ``alpha`` is ``1 / (C sum_i s_i)``. Infinity
        means no penalty. For a ridge "auto" minimizes the generalized cross-validation error of the
        squared loss, with targets of -1 and 1 for the labels; it is 1 for other penalties and in
        `partial_fit`.
    l1_ratio : float, default=0.0
        Fraction of the l1 norm in the elastic net, in [0, 1].
    penalty : "elasticnet", None or Penalty, default="elasticnet"
        An object of `sklearn_fw.penalties` (groups, bounds, ball, simplex, your own), with factor
        1 / C as well.
    multi_class : {"auto", "ovr", "multinomial"}, default="auto"
        For more than two classes: one problem per class against the rest ("ovr"), or one with the
        loss "multinomial". "auto" is "multinomial" for "log_loss", else "ovr".
    solver : str or solver object, default="auto"
        "auto" takes "newton" or "newton_cg" for dense tables and several classes where the penalty
        allows it, "newton" for an l1 part on sparse columns (log-loss where they are many), "sdca"
        or "newton_cg" for a ridge on them, else "asaga". Also "sparse_saga" ("asaga" on one
        thread), "saga", "lagged_saga", "sag", "svrg", or an object of `sklearn_fw.optim`, whose
        settings are grid keys ``solver__step_size``.
    standardize : bool or "auto", default="auto"
        Whether the penalty is one of coefficients for columns that are divided by their standard
        deviation (sparse ones by their root mean square), in X or its first part. "auto" does this
        for a ridge, ``C="auto"`` and dense X where these deviations differ by more than 1,000.
    fit_intercept : bool, default=True
        Whether to fit an intercept c, which is not penalized.
    class_weight : dict, "balanced" or None, default=None
        Factors of the losses per class.
    max_iter : int, default=100
        Largest number of epochs of n_samples steps, or of steps of Newton's method.
    tol : float, default=1e-4
        Stop when ``dual_gap_`` is at most ``tol`` times the objective; without a dual when
        ``gradient_mapping_`` is at most ``tol`` times its value at w = 0 and a bound on the
        suboptimality, see ``history_``, at most ``tol`` times the objective.
    time_limit : float or None, default=None
        Seconds per problem after which no new iteration begins.
    n_jobs : int or None, default=None
        Threads of the incremental methods.
    warm_start : bool, default=False
        Begin where the last fit ended, with its memory of slopes.
    random_state : int, RandomState or None, default=None
        Orders of the rows. Results are reproducible to the bit with one thread only.
    verbose : int, default=0
        Log a line per epoch.

    Attributes
    ----------
    coef_ : ndarray or CSR matrix of shape (1, n_features) or (n_classes, n_features)
        Weights, in the dtype of X; sparse after `sparsify`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    C_ : float
        Inverse strength that was used, for columns divided by ``scale_``.
    scale_ : ndarray of shape (n_features,) or None
        Divisors of the columns; None where they were not scaled.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.
    solver_, solver_reason_ : solver object, str
        The solver that was used, and why "auto" took it.
    dual_gap_ : float or None
        Bound on the suboptimality of the mean form of the objective, ``mean loss + penalty / (C
        sum_i s_i)``. The largest of several problems, None where the penalty has no dual.
    gradient_mapping_ : float
        Largest entry of the gradient mapping at ``coef_``.
    objective_ : float or ndarray of shape (n_classes,)
        Mean form of the objective.
    converged_, status_ : bool, str
        Whether ``tol`` was reached, and how the fit ended.
    n_iter_, n_updates_ : int
        Iterations made (the most of several problems), and rows visited.
    step_size_ : float or ndarray of shape (n_classes,)
        Step size of the columns, or the length of the last step of Newton's method.
    memory_drift_ : float
        How far the running sum of the memory was from the memory before its last repair.
    history_ : dict of str to ndarray
        One row per iteration: "n_iter", "time" (seconds), "objective", "dual_gap" and "certified",
        false for estimates; the last row is computed from X. Without a dual "gradient_mapping" and
        "suboptimality" replace "dual_gap"; the latter is the objective where no bound is proven.
        "output" numbers several problems.

    See Also
    --------
    AsagaRegressor : The same for numbers.
    sklearn_fw.optim.minimize_saga : The same as a function.
    sklearn.linear_model.LogisticRegression : One thread, penalties l1, l2 and elastic net.

    Notes
    -----
    More than 13 parameters: most are those of the class that it replaces, under the same names.

    An epoch of the incremental methods costs O(nnz), and memory beyond X for two classes is about
    3 n + 6 d numbers; with several threads, or more than 260,000 sparse columns, 4 bytes per entry
    of X more. A step of Newton's method costs O(n d^2 + d^3), and d^2 numbers of memory. Every
    thread keeps copies of the most frequent columns and its own part of the sum of the memory, so
    that no addition needs to be atomic, as those of the papers are.

    `fit` takes collections of Dask, too (arrays of dense or CSR blocks, data frames), for penalties
    of single coefficients: "newton_cg" for a ridge and "newton" for others, of any number of
    outputs, by sums over blocks, which stay with the workers. Where columns are too many for
    "newton", ``C="auto"`` is a mean over blocks. ``history_`` has the columns "n_rounds", "n_bytes"
    and "part_time", the seconds of the slowest blocks. Predictions for a collection are Dask
    arrays.

    References
    ----------
    .. [1] R. Leblond, F. Pedregosa, S. Lacoste-Julien, "ASAGA: asynchronous parallel SAGA",
       AISTATS 2017: eq. (3), Algorithm 2.
    .. [2] F. Pedregosa, R. Leblond, S. Lacoste-Julien, "Breaking the nonsmooth barrier: a scalable
       parallel method for composite optimization", NIPS 2017: eq. (SPS), Algorithm 2. The ridge is
       in the prox here, which keeps rare columns stable.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_fw import AsagaClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AsagaClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95, model.dual_gap_ < 2e-4
    (True, True)
    """

    loss: object = "log_loss"
    _: KW_ONLY
    C: check.auto_or(_check_C) = "auto"
    multi_class: check.options("auto", "multinomial", "ovr") = "auto"

    def _make_problems(self, X, y, weight, total_weight=None):
        codes, weight = self._codes(y, weight, is_part=total_weight is not None)
        loss, n_outputs = self._form()
        is_auto = check.is_auto(self.C) and total_weight is None  # parts may lack classes
        # Exact for labels, in half the memory.
        targets = [codes.astype(np.float32)] if n_outputs else signs(codes, self.classes_.size)
        losses = [loss] * len(targets)
        units = self._in_units(X, targets, weight, losses, is_auto, n_outputs)
        return self._at_C(units, partial(automatic_strength, units) if is_auto else None)

    def _at_C(self, units, choose):
        """The problems with C, where "auto" is what ``choose()`` finds for a ridge, and else 1."""
        self.C_ = 1.0 if check.is_auto(self.C) else float(self.C)
        if choose is not None and units[0].penalty.is_ridge:
            self.C_ = 1.0 / choose()
        return [unit.variant(penalty=unit.penalty.scaled(1.0 / self.C_)) for unit in units]

    def _form(self):
        """The loss, and the number of outputs of one problem."""
        loss = resolve_loss(self.loss, "classification", smooth=True)
        if self._is_multinomial(loss, self.classes_.size):
            return MultinomialLogLoss(), self.classes_.size
        return loss, None

    def _problems_of_collection(self, X, y, sample_weight):
        found = Collected.of(self, X, y, sample_weight, is_numeric=False)
        self.classes_ = found.classes
        self._refuse_few()
        self._refuse_empty(np.arange(found.classes.size), found.weights)
        weights = self._with_class_weight(self.classes_, found.weights)
        (loss, n_outputs), is_auto = self._form(), check.is_auto(self.C)
        plan = self._plan([loss], 1.0 if is_auto else 1.0 / self.C, n_outputs)
        factors = None if self.class_weight is None else weights / found.weights
        plan = plan._replace(classes=self.classes_, factors=factors)
        n_problems = 1 if n_outputs or self.classes_.size == 2 else self.classes_.size
        total_weight = float(weights.sum())
        units, columns = self._of_collection(found, plan, n_problems, is_auto, total_weight)
        return self._at_C(
            units, partial(columns.strength, units, self.solver_) if is_auto else None
        )

    def _is_multinomial(self, loss, n_classes):
        if isinstance(loss, MultinomialLogLoss):
            if self.multi_class == "ovr":
                raise ValueError("multi_class='ovr' needs a loss of one score: loss='log_loss'")
            return True
        if self.multi_class == "multinomial" and not isinstance(loss, LogLoss):
            raise ValueError(f"multi_class='multinomial' needs loss='log_loss', got {self.loss!r}")
        return n_classes > 2 and isinstance(loss, LogLoss) and self.multi_class != "ovr"

    def _probabilities(self, scores):
        loss = resolve_loss(self.loss, "classification", smooth=True)
        if scores.ndim == 2 and self._is_multinomial(loss, scores.shape[1]):
            return MultinomialLogLoss().probability(scores)
        # Of the two scores of a softmax the difference counts.
        loss = LogLoss() if isinstance(loss, MultinomialLogLoss) else loss
        return self._shares(loss._probability(scores))


def _check_alpha(value, name):
    if check.not_negative(value, name) > 0.0:
        check.strength(value, name)


class AsagaRegressor(LinearRegressor, AsagaModel):
    """Linear regression with automatic choice of solver and a certified duality gap.

    Minimizes, with weights s_i (``sample_weight``, one by default)::

        sum_i s_i loss(y_i, <w, x_i> + c) / sum_i s_i
        + alpha (l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2)

    which for the default loss ``(y - z)^2 / 2`` is the objective of scikit-learn's ElasticNet, of
    Lasso (``l1_ratio=1``), and of Ridge with ``alpha`` n times as large. Choose it for many rows
    with few entries each, robust losses, or penalties of groups and constraints.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        "squared_error", "huber", "squared_epsilon_insensitive", or an object of
        `sklearn_fw.losses`, maybe your own. The parameter of an object is in the unit of y; that of
        a name, 1.35 or 0.1, counts standard deviations, estimated by 1.25 times the mean distance
        of a target from its median.
    alpha : float or "auto", default="auto"
        Weight of the penalty, not negative. For a ridge "auto" minimizes the generalized
        cross-validation error of the squared loss [1]_, by eigenvalues, or by Lanczos quadrature
        [2]_ on some of the rows where columns are too many for "newton". For other penalties it
        minimizes the held-out loss of five folds along a path, of one from a million entries of X
        on, for each target. Copied rows count as one row and stay in one fold.
    l1_ratio : float, default=0.0
        Fraction of the l1 norm in the elastic net, in [0, 1].
    penalty : "elasticnet", None or Penalty, default="elasticnet"
        As `AsagaClassifier`, with factor ``alpha``.
    solver : str or solver object, default="auto"
        As `AsagaClassifier`.
    standardize : bool or "auto", default="auto"
        As `AsagaClassifier`, for ``alpha="auto"``.
    fit_intercept : bool, default=True
        Whether to fit an intercept c, which is not penalized.
    max_iter : int, default=100
        Largest number of epochs, or of steps of Newton's method.
    tol : float, default=1e-4
        As `AsagaClassifier`.
    time_limit : float or None, default=None
        Seconds per target after which no new iteration begins.
    n_jobs : int or None, default=None
        Threads of the incremental methods.
    warm_start : bool, default=False
        Begin where the last fit ended, with its memory of slopes.
    random_state : int, RandomState or None, default=None
        Orders of the rows. Results are reproducible to the bit with one thread only.
    verbose : int, default=0
        Log a line per epoch.

    Attributes
    ----------
    coef_ : ndarray or CSR matrix of shape (n_features,) or (n_targets, n_features)
        Weights, in the dtype of X; sparse, with a row per target, after `sparsify`.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercepts.
    alpha_ : float or ndarray of shape (n_targets,)
        Weight of the penalty that was used, for columns divided by ``scale_``; several where they
        differ.
    scale_ : ndarray of shape (n_features,) or None
        Divisors of the columns; None where they were not scaled.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.
    dual_gap_ : float or None
        Bound on the suboptimality; the largest of several targets, None where the penalty has no
        dual.
    objective_, step_size_ : float or ndarray of shape (n_targets,)
        Value of the objective, and the step size as `AsagaClassifier`.
    solver_, solver_reason_, converged_, status_ : solver object, str, bool and str
        As `AsagaClassifier`.
    n_iter_, n_updates_, gradient_mapping_, memory_drift_ : int, int, float and float
        As `AsagaClassifier`.
    history_ : dict of str to ndarray
        As `AsagaClassifier`.

    See Also
    --------
    AsagaClassifier : The same for labels.
    sklearn_fw.optim.minimize_saga : The same as a function.
    sklearn.linear_model.ElasticNet : Coordinate descent, for few columns with many entries.

    Notes
    -----
    More than 13 parameters: the units of columns are a choice of their own, next to the solver's.
    `fit` takes collections of Dask, as `AsagaClassifier` does; copied rows then count as one row
    within blocks only, targets are compared with the median of their block, and with an l1 norm
    "auto" of ``alpha`` holds out a fifth of each block.

    References
    ----------
    .. [1] G. H. Golub, M. Heath, G. Wahba, "Generalized cross-validation as a method for choosing a
       good ridge parameter", Technometrics 21, 1979.
    .. [2] G. H. Golub, U. von Matt, "Generalized cross-validation for large-scale problems",
       Journal of Computational and Graphical Statistics 6, 1997.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_fw import AsagaRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AsagaRegressor(alpha=0.01, l1_ratio=0.5, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.38
    """

    loss: object = "squared_error"
    _: KW_ONLY
    alpha: check.auto_or(_check_alpha) = "auto"

    def _make_problems(self, X, y, weight, total_weight=None):
        if total_weight is None:
            total_weight = X.shape[0] if weight is None else weight.sum()
        targets, _ = self._targets(y, weight)
        stream = getattr(self, "_stream", None)
        if stream is None:  # else that of the first part
            self._losses = self._losses_of(Units.centers_and_spreads(targets, weight)[1])
        units = self._in_units(X, targets, weight, self._losses, isinstance(self.alpha, str))
        if not isinstance(self.alpha, str):
            strength = float(self.alpha) * total_weight
        elif stream is not None:  # parts of a table keep the strength of the first
            strength = stream.strength
        else:
            strength = automatic_strength(units)
        return self._at(units, strength, total_weight)

    def _at(self, units, strength, total_weight):
        """Problems whose penalty has strength 1 with the strengths of all, or of each of them."""
        strengths = np.broadcast_to(strength, len(units)).astype(float)
        self.alpha_ = shared(strengths / total_weight)
        return [u.variant(penalty=u.penalty.scaled(own)) for u, own in zip(units, strengths)]

    def _losses_of(self, spreads):
        return [resolve_loss(self.loss, "regression", smooth=True, spread=own) for own in spreads]

    def _problems_of_collection(self, X, y, sample_weight):
        found = Collected.of(self, X, y, sample_weight, is_numeric=True)
        self._one_target, total = not found.y_shape, found.total_weight
        n_targets = 1 if self._one_target else found.y_shape[0]
        is_auto = isinstance(self.alpha, str)
        plan = self._plan(self._losses_of(found.spreads), 1.0)
        units, columns = self._of_collection(found, plan, n_targets, is_auto)
        strength = columns.strength(units, self.solver_) if is_auto else float(self.alpha) * total
        return self._at(units, strength, total)
