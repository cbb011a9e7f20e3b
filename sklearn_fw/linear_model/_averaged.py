"""What the linear models by averaged subgradient steps share."""

import functools
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._core.budget import time_budget
from .._core.callbacks import FitTasks, with_callbacks
from .._core.loop import drive
from .._core.result import Outcome, Status
from .._core.validation import (
    check_array_of_numbers,
    check_choice,
    check_flag,
    check_integer,
    check_positive,
    check_random_state,
    check_strength,
    is_auto,
)
from ..losses import Hinge, resolve_loss
from ..losses._border import ask
from ..optim import RunningAverage
from ..optim._subgradient import (
    SAMPLINGS,
    RidgeProblem,
    RowSteps,
    SubgradientState,
    check_step_size,
)
from ..projections import project_l1_ball
from ._linear import LinearEstimator
from ._units import Units

PROJECTIONS = {"l2_ball", "l1_ball", "box", "nonneg"}
NAMES = (
    "log_loss", "hinge", "smooth_hinge", "modified_huber", "huber", "absolute_error",
    "epsilon_insensitive",
)  # fmt: skip
# A score where slopes are those far away, and the largest that they may be there.
FAR, STEEPEST = 1e12, 1e6


class Stream:
    """What a fit goes on with: states of all problems, and units that stay those of the first."""

    def __init__(self, units, mean_weight, spreads, states, rng):
        self.units, self.mean_weight, self.spreads = units, mean_weight, spreads
        self.states, self.rng = states, rng
        self.alphas = None  # weights of the ridge
        self.square = None  # mean square of the rows


class Settings(NamedTuple):
    """Checked parameters."""

    loss: object
    bias: float
    standardizes: bool
    centers: bool  # whether targets are centred
    horizon: int


class AveragedModel(LinearEstimator):
    """Base of the estimators; subclasses say what the truths are."""

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Make ``max_iter`` passes over the rows.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Labels or targets; several targets for regression only.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses, in units of their mean.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y, weight = self._check(X, y, sample_weight)
        max_iter = check_integer(self.max_iter, "max_iter", 1)
        verbose = check_integer(self.verbose, "verbose", 0)
        goes_on = check_flag(self.warm_start, "warm_start")
        truths, weight = self._all_truths(y, weight)
        old = deepcopy(getattr(self, "_stream", None)) if goes_on else None
        with time_budget():
            problems, stream = self._prepare(X, truths, weight, max_iter, old)
            tasks = FitTasks(
                self, X, y, max_subtasks=max_iter * len(problems), sample_weight=sample_weight
            )
            hooks = tasks.hooks(lambda: self._snapshot(stream))
            solved = [
                self._drive(problem, state, stream.rng, max_iter, verbose=verbose, **hooks)
                for problem, state in zip(problems, stream.states, strict=True)
            ]
        self._store(stream, X.dtype)
        runs, outcomes = zip(*solved, strict=True)
        self._report(runs, Outcome.joined(outcomes))
        tasks.finish()
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """One pass over a part of the data, which goes on where the last call of this ended.

        Steps, iterate and average go on, whatever is in the parts; units and ``alpha="auto"`` are
        those of the first part.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Inputs of this part.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Labels or targets.
        classes : array-like of shape (n_classes,), default=None
            All labels; needed in the first call of a classifier.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses, in units of the mean of those of the first part.

        Returns
        -------
        self : object
            The estimator.
        """
        if self.averaging == "suffix":
            raise ValueError("averaging='suffix' must know the number of steps: use fit")
        stream = deepcopy(getattr(self, "_stream", None))
        X, y, weight = self._check(X, y, sample_weight, reset=stream is None)
        self._name_classes(y, classes, stream is None)
        truths, weight = self._part_truths(y, weight)
        problems, stream = self._prepare(X, truths, weight, 1, stream, is_part=True)
        for problem, state in zip(problems, stream.states, strict=True):
            self._steps(problem, state, stream.rng).step()
        for name in ("history_", "n_iter_", "objective_", "status_"):
            vars(self).pop(name, None)
        self._store(stream, X.dtype)
        return self

    # ---- the problems ----------------------------------------------------------------------------

    def _prepare(self, X, truths, weight, max_iter, old, is_part=False):
        """Problems in the units of the steps, and the states that they begin with."""
        settings = self._settings(X, truths)
        stream = old
        if stream is not None and len(stream.states) != len(truths):
            stream = None
        if stream is not None and stream.states[0].v.size != X.shape[1] + 1:
            stream = None
        if stream is None:
            stream = self._begin(X, truths, weight, settings)
        elif not is_part:
            stream.alphas = self._strengths(stream.spreads, truths, weight)
        for state in stream.states:
            state.average.horizon = state.t + max_iter * X.shape[0]
        weight = None if weight is None else weight / stream.mean_weight
        problems = self._problems(
            stream.units.rows(X), [self._moved(t, k, stream.units) for k, t in enumerate(truths)],
            weight, settings, stream.alphas,
        )  # fmt: skip
        for problem, spread in zip(problems, stream.spreads, strict=True):
            problem.rule = self._rule(problem, spread, stream)
        return problems, stream

    def _rule(self, problem, spread, stream):
        """The rule of the steps; "auto" begins with steps that the rows can bear."""
        if is_auto(self.step_size):
            if stream.square is None:
                stream.square = problem.mean_square()
            return "shifted", 1.0, stream.square / (spread * problem.alpha)
        check_step_size(self.step_size, problem.alpha)
        return self.step_size

    def _begin(self, X, truths, weight, settings):
        units = Units.given(len(truths))
        if settings.centers and settings.bias > 0.0:
            units = units._replace(y_center=self._centers(truths, weight))
        if settings.standardizes:
            units = Units.of(X, weight, units.y_center, settings.bias > 0.0)
        spreads = self._spreads(truths, weight)
        size = X.shape[1] + 1
        states = [
            SubgradientState(size, RunningAverage(self.averaging, horizon=settings.horizon))
            for _ in truths
        ]
        mean_weight = 1.0 if weight is None else weight.mean()
        rng = check_random_state(self.random_state)
        stream = Stream(units, mean_weight, spreads, states, rng)
        stream.alphas = self._strengths(spreads, truths, weight)
        return stream

    def _settings(self, X, truths):
        """Parameters that are wrong whatever the data are; "auto" of `standardize` is decided."""
        bias = check_positive(self.intercept_scaling, "intercept_scaling")
        bias = bias if check_flag(self.fit_intercept, "fit_intercept") else 0.0
        check_choice(self.sampling, "sampling", SAMPLINGS)
        check_flag(self.record_history, "record_history")
        is_free = isinstance(self.alpha, str) and self.projection is None
        standardizes = self.standardize
        if isinstance(standardizes, str):
            check_choice(standardizes, "standardize", {"auto"}, "True or False")
            standardizes = is_free and not sp.issparse(X)
        standardizes = check_flag(standardizes, "standardize")
        loss = resolve_loss(self.loss, self._task, names=NAMES)
        loss._check_on(truths[0])
        far = ask(loss, "derivative", np.array([1.0, 1.0]), np.array([-FAR, FAR]))
        if np.abs(far).max() > STEEPEST:
            raise ValueError(
                f"loss={self.loss!r} has slopes without a bound, on which subgradient steps "
                f"diverge: take one that is linear far away, or an Asaga estimator"
            )
        horizon = check_integer(self.max_iter, "max_iter", 1) * X.shape[0]
        return Settings(loss, bias, standardizes, is_free or standardizes, horizon)

    def _problems(self, X, truths, weight, settings, alphas):
        problems = [
            RidgeProblem(X, y, settings.loss, alpha, weight=weight, bias=settings.bias)
            for y, alpha in zip(truths, alphas, strict=True)
        ]
        for problem in problems:
            problem.project, problem.radius = self._projection(problem)
        return problems

    def _strengths(self, spreads, truths, weight):
        """The alpha of every problem."""
        if not isinstance(self.alpha, str):
            return [check_strength(self.alpha, "alpha")] * len(truths)
        check_choice(self.alpha, "alpha", {"auto"}, "a number")
        n = truths[0].size if weight is None else np.count_nonzero(weight)
        return [1.0 / (n * spread) for spread in spreads]

    def _projection(self, problem):
        """Projection of the coefficients or None, and radius of the ball for all of w."""
        chosen = self.projection
        if chosen is None:
            return None, np.inf
        if callable(chosen):
            return functools.partial(_ask_projection, chosen), np.inf
        check_choice(chosen, "projection", PROJECTIONS)
        if chosen == "nonneg":
            return functools.partial(np.maximum, 0.0), np.inf
        if self.radius is None and chosen != "l2_ball":
            raise ValueError(f"radius must be given for projection={chosen!r}")
        if chosen == "l2_ball":
            if self.radius is not None:
                return None, check_strength(self.radius, "radius")
            # Where the objective is that of w = 0, and half of it for the hinge by its dual.
            zero = (
                0.5
                if isinstance(problem.loss, Hinge)
                else problem.value(np.zeros(problem.X.shape[1] + 1))
            )
            return None, max(np.sqrt(2.0 * zero / problem.alpha), np.finfo(float).tiny)
        radius = check_strength(self.radius, "radius")
        if chosen == "l1_ball":
            return functools.partial(project_l1_ball, radius=radius), np.inf
        return functools.partial(np.clip, a_min=-radius, a_max=radius), np.inf

    # ---- the steps -------------------------------------------------------------------------------

    def _steps(self, problem, state, rng):
        return RowSteps(
            problem, state, step_size=problem.rule, sampling=self.sampling, rng=rng,
            record=bool(self.record_history),
        )  # fmt: skip

    def _drive(self, problem, state, rng, max_iter, **options):
        run = self._steps(problem, state, rng)
        outcome = drive(run, tol=0.0, max_iter=max_iter, **options)
        if outcome.status is Status.MAX_ITER:
            outcome = outcome._replace(status=Status.FINISHED)
        return run, outcome

    def _points(self, stream, which):
        """Coefficients and intercept of all problems for X as it was given."""
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        points = []
        for k, state in enumerate(stream.states):
            w = getattr(state, which)
            points.append(stream.units.back(w[:-1], bias * w[-1], k))
        return points

    def _snapshot(self, stream):
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        coef, intercept = self._stacked(self._points(stream, "mean"))
        return fitted | {"coef_": coef, "intercept_": intercept}

    def _store(self, stream, dtype):
        self._set_points(self._points(stream, "last"), dtype)
        self.coef_last_, self.intercept_last_ = self.coef_, self.intercept_
        self._set_points(self._points(stream, "mean"), dtype)
        alphas = np.array(stream.alphas)
        self.alpha_ = float(alphas[0]) if np.all(alphas == alphas[0]) else alphas
        self.t_, self._stream = stream.states[0].t, stream
        self.scale_ = stream.units.scale

    def _report(self, runs, outcome):
        values = [run.problem.value(run.state.mean) for run in runs]
        self.objective_ = values[0] if len(values) == 1 else np.array(values)
        self.n_iter_, self.status_ = outcome.n_iter, outcome.status.name.lower()
        self.history_ = outcome.history


def _ask_projection(function, w):
    found = check_array_of_numbers(function(w.copy()), "what projection returned")
    if found.shape != w.shape:
        raise ValueError(f"projection must return shape {w.shape}, got shape {found.shape}")
    return found
