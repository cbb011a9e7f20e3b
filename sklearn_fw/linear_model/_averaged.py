"""Linear models by averaged subgradient steps."""

import functools
from copy import deepcopy
from dataclasses import KW_ONLY
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

from .._core import check
from .._core.loop import drive
from .._core.result import Outcome, Status
from ..losses import Hinge, resolve_loss
from ..optim import RunningAverage
from ..optim._subgradient import RidgeProblem, RowSteps, SubgradientState, ask, resolve_step_size
from ..projections import project_l1_ball
from ._alpha import unlike
from ._linear import LinearClassifier, LinearEstimator, LinearRegressor, Units, only, shared

PROJECTIONS = {"l2_ball", "l1_ball", "box", "nonneg"}
NAMES = (
    "log_loss", "hinge", "smooth_hinge", "modified_huber", "huber", "absolute_error",
    "epsilon_insensitive",
)  # fmt: skip
# A score where slopes are those far away, and the largest that they may be there.
FAR, STEEPEST = 1e12, 1e6


class AveragedModel(LinearEstimator):
    _: KW_ONLY
    alpha: check.auto_or(check.strength) = "auto"
    averaging: object = "weighted2"
    step_size: object = "auto"
    projection: object = None
    radius: check.optional(check.strength) = None
    standardize: check.auto_or(check.flag, "True or False") = "auto"
    intercept_scaling: check.positive = 1.0
    max_iter: int = 50
    sampling: check.options("uniform", "shuffle", "cyclic") = "shuffle"
    record_history: check.flag = False

    def _problems(self, X, y, weight):
        targets, weight = self._targets(y, weight)
        old = deepcopy(getattr(self, "_stream", None)) if self.warm_start else None
        problems, self._stream = self._prepare(X, targets, weight, self.max_iter, old)
        return problems

    def _train(self, problems, tasks):
        stream = self._stream
        hooks = tasks.hooks(lambda: self._snapshot(self._points(stream, "mean")))
        outcomes, objectives = [], []
        for problem, state in zip(problems, stream.states, strict=True):
            steps = self._steps(problem, state, stream.rng)
            options = {"max_iter": self.max_iter, "verbose": self.verbose}
            outcomes.append(drive(steps, tol=0.0, **options, **hooks))
            objectives.append(problem.value(state.mean))
        self._store(stream, problems[0].X.dtype)
        status, self.n_iter_, self.history_ = Outcome.joined(outcomes)
        self.status_ = (Status.FINISHED if status is Status.MAX_ITER else status).name.lower()
        self.objective_ = only(objectives)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """One pass over a part of the data, which goes on where the last call of this ended.

        Steps, iterate and average go on; units and ``alpha="auto"`` are those of the first part.

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
        """
        if self.averaging == "suffix":
            raise ValueError("averaging='suffix' must know the number of steps: use fit")
        stream = deepcopy(getattr(self, "_stream", None))
        X, y, weight = self._check(X, y, sample_weight, reset=stream is None)
        self._name_classes(y, classes, stream is None)
        targets, weight = self._targets(y, weight, is_part=True)
        problems, stream = self._prepare(X, targets, weight, 1, stream, is_part=True)
        for problem, state in zip(problems, stream.states, strict=True):
            self._steps(problem, state, stream.rng).step()
        for name in ("history_", "n_iter_", "objective_", "status_"):
            vars(self).pop(name, None)
        self._store(stream, X.dtype)
        return self

    # ---- the problems ----------------------------------------------------------------------------

    def _prepare(self, X, targets, weight, max_iter, stream, is_part=False):
        sizes = [X.shape[1] + 1] * len(targets)
        if stream is None or [state.v.size for state in stream.states] != sizes:
            stream = self._begin(X, targets, weight)
        elif not is_part:
            stream.alphas = self._strengths(stream.spreads, targets, weight)
        for state in stream.states:
            state.average.horizon = state.t + max_iter * X.shape[0]
        weight = None if weight is None else weight / stream.mean_weight
        rows, problems = stream.units.rows(X), []
        columns = targets, stream.units.y_center, stream.alphas, stream.spreads
        for y, center, alpha, spread in zip(*columns, strict=True):
            y = y - center if center else y
            loss, steepest = self._loss_of(spread)
            problem = RidgeProblem(rows, y, loss, alpha, weight=weight, bias=self._bias)
            problem.project, problem.radius = self._projection(problem)
            problem.rule = self._rule(problem, spread / steepest, stream)
            problems.append(problem)
        return problems, stream

    def _rule(self, problem, spread, stream):
        """The rule of the steps; "auto" begins with steps that the rows can bear."""
        if check.is_auto(self.step_size):
            if stream.square is None:
                stream.square = problem.mean_square()
            return 1.0, stream.square / (spread * problem.alpha)
        return resolve_step_size(self.step_size, problem.alpha)

    @property
    def _bias(self):
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _begin(self, X, targets, weight):
        """What a fit goes on with: the states of all problems, and units that stay the first."""
        is_free = isinstance(self.alpha, str) and self.projection is None
        standardizes = self.standardize
        if isinstance(standardizes, str):
            standardizes = is_free and (not sp.issparse(X) or _in_unlike_units(X))
        centers, spreads = self._centers_and_spreads(targets, weight)
        if not ((is_free or standardizes) and self._bias > 0.0):
            centers = np.zeros(len(targets))
        units = Units.of(X, weight, centers, self._bias > 0.0, standardizes)
        horizon = self.max_iter * X.shape[0]
        averages = [RunningAverage(self.averaging, horizon=horizon) for _ in targets]
        return SimpleNamespace(
            units=units, mean_weight=1.0 if weight is None else weight.mean(), spreads=spreads,
            states=[SubgradientState(X.shape[1] + 1, mean) for mean in averages],
            rng=check.random_state(self.random_state),
            alphas=self._strengths(spreads, targets, weight),
            square=None,  # mean of the squared rows, where steps depend on it
        )  # fmt: skip

    def _loss_of(self, spread):
        """The loss of a target, and its steepest slope."""
        loss = resolve_loss(self.loss, self._task, names=NAMES, spread=spread)
        unit = max(spread, 1.0)
        slopes = loss._ask("derivative", np.ones(4), unit * np.array([-FAR, -1.0, 1.0, FAR]))
        steepest = np.abs(slopes).max()
        if steepest > unit * STEEPEST:
            raise ValueError(
                f"loss={self.loss!r} has slopes without a bound, on which subgradient steps "
                f"diverge: take one that is linear far away, or an Asaga estimator"
            )
        return loss, steepest

    def _strengths(self, spreads, targets, weight):
        if not isinstance(self.alpha, str):
            return [float(self.alpha)] * len(targets)
        n = targets[0].size if weight is None else np.count_nonzero(weight)
        return [self._loss_of(spread)[1] / (n * spread) for spread in spreads]

    def _projection(self, problem):
        """Projection of the coefficients or None, and radius of the ball for all of w."""
        chosen, radius = self.projection, self.radius
        if chosen is None:
            return None, np.inf
        if callable(chosen):
            return functools.partial(ask, chosen, name="projection"), np.inf
        check.choice(chosen, "projection", PROJECTIONS)
        if chosen == "nonneg":
            return functools.partial(np.maximum, 0.0), np.inf
        if chosen == "l2_ball" and radius is None:
            # Where the objective is that of w = 0, and half of it for the hinge by its dual.
            is_hinge = isinstance(problem.loss, Hinge)
            zero = 0.5 if is_hinge else problem.value(np.zeros(problem.X.shape[1] + 1))
            return None, max(np.sqrt(2.0 * zero / problem.alpha), np.finfo(float).tiny)
        if radius is None:
            raise ValueError(f"radius must be given for projection={chosen!r}")
        if chosen == "l2_ball":
            return None, float(radius)
        if chosen == "l1_ball":
            return functools.partial(project_l1_ball, radius=float(radius)), np.inf
        return functools.partial(np.clip, a_min=-radius, a_max=radius), np.inf

    # ---- the steps -------------------------------------------------------------------------------

    def _steps(self, problem, state, rng):
        return RowSteps(
            problem, state, rule=problem.rule, sampling=self.sampling, rng=rng,
            record=bool(self.record_history),
        )  # fmt: skip

    def _points(self, stream, which):
        ends = [getattr(state, which) for state in stream.states]
        return [stream.units.back(w[:-1], self._bias * w[-1], k) for k, w in enumerate(ends)]

    def _store(self, stream, dtype):
        self._set_points(self._points(stream, "last"), dtype)
        self.coef_last_, self.intercept_last_ = self.coef_, self.intercept_
        self._set_points(self._points(stream, "mean"), dtype)
        self.alpha_ = shared(stream.alphas)
        self.t_, self._stream = stream.states[0].t, stream
        self.scale_ = stream.units.scale


def _in_unlike_units(X):
    """Whether entries of some columns of CSR rows are far larger than those of others."""
    squares, counts = np.square(X.data, dtype=np.float64), X.data != 0.0
    return unlike(np.bincount(X.indices, squares) / np.maximum(np.bincount(X.indices, counts), 1.0))


class AveragedSubgradientClassifier(LinearClassifier, AveragedModel):
    """Linear SVM by stochastic subgradient steps and a weighted average of iterates.

    Minimizes, over the weights w and that of a constant feature, with factors s_i
    (``sample_weight`` times ``class_weight``) of mean one::

        alpha / 2 (|w|^2 + b^2) + sum_i s_i loss(y_i, <w, x_i> + b intercept_scaling) / n

    which for the hinge is the objective of scikit-learn's LinearSVC(loss="hinge") with
    ``C = 1 / (alpha n)``: the intercept is regularized as well. Choose it for losses with kinks,
    very many rows or a stream of them, where moderate accuracy is enough; `AsagaClassifier` is for
    smooth losses and certified accuracy. Several classes are one problem each, against the rest.

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        "hinge", "smooth_hinge", "modified_huber", "log_loss", or an object of `sklearn_fw.losses`,
        maybe your own, whose slopes are bounded.
    alpha : float or "auto", default="auto"
        Weight of the ridge, positive; "auto" is L / n, where L is the steepest slope of the loss, 4
        of "modified_huber" and 1 of the others by name; in a fit by parts with the n of the first.
    averaging : str or tuple, default="weighted2"
        Weight of the iterate w_t: "weighted" t + 1, "weighted2" (t + 1)^2, "uniform", "suffix",
        "doubling", "none", ``("power", k)`` or ``("polynomial", eta)``, see
        `sklearn_fw.optim.RunningAverage`.
    step_size : {"auto", "theory", "pegasos"}, tuple or callable, default="auto"
        "auto" is ``1 / (alpha t + L R^2)``, R^2 the mean of ``s_i |x_i|^2``, which does without the
        long first steps of the other rules; "pegasos" is ``1 / (alpha t)`` and "theory" is
        ``2 / (alpha (t + 1))``, which with "weighted" has the guarantee of [1]_;
        ``("shifted", c, b)`` is ``c / (alpha (t + b))``; a callable gets t = 1, 2, ... and returns
        at most ``1 / alpha``.
    projection : str, callable or None, default=None
        Set that every iterate is projected on: "l2_ball" (with the constant feature), "l1_ball",
        "box" (``|w_j| <= radius``), "nonneg", or ``projection(coef)`` of your own; all but
        "l2_ball" do a step in Python, in O(n_features).
    radius : float or None, default=None
        Of the ball or box. For "l2_ball" None means one that holds the minimizer,
        ``1 / sqrt(alpha)`` for the hinge.
    standardize : bool or "auto", default="auto"
        Whether the problem is posed for columns that are centered and divided by their standard
        deviation (sparse ones divided by their root mean square only), as StandardScaler in front
        would. "auto" does this if ``alpha`` is "auto", without a projection, for dense X, and for
        sparse X if the root mean squares of the entries of columns differ more than 1000-fold.
    fit_intercept : bool, default=True
        Whether to add a constant feature, whose weight is the intercept.
    intercept_scaling : float, default=1.0
        Its value; the larger, the less the intercept is regularized.
    max_iter : int, default=50
        Number of passes, each of n steps.
    sampling : {"uniform", "shuffle", "cyclic"}, default="shuffle"
        Rows of a pass: drawn independently, as the theory has it, in a new random order, or in the
        order of X.
    class_weight : dict, "balanced" or None, default=None
        Factors of the losses per class.
    warm_start : bool, default=False
        Go on where the last fit ended: steps, iterate and average.
    record_history : bool, default=False
        Evaluate the objective after every pass, at the cost of about one more.
    random_state : int, RandomState or None, default=None
        Orders of the rows; classes have independent ones.
    verbose : int, default=0
        Log a line per evaluation of the objective.

    Attributes
    ----------
    coef_ : ndarray or CSR matrix of shape (1, n_features) or (n_classes, n_features)
        Averaged weights, in the dtype of X; sparse after `sparsify`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    coef_last_, intercept_last_ : ndarray
        The last iterates.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    alpha_ : float
        Weight of the ridge that was used.
    scale_ : ndarray of shape (n_features,) or None
        Divisors of the columns; None where they were not scaled.
    objective_ : float or ndarray of shape (n_classes,)
        The objective at the average, for the columns as they were taken.
    t_, n_iter_ : int
        Numbers of steps of each problem, and of passes of the last fit.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.
    status_ : str
        How the fit ended, "finished" or "stopped".
    history_ : dict of str to ndarray
        "n_iter", "time" (seconds), "objective", and with ``record_history`` a row per pass and
        "last_objective" of the last iterate. "output" numbers several problems.

    Raises
    ------
    FloatingPointError
        When coefficients overflow.

    See Also
    --------
    AsagaClassifier : Smooth losses, with a certificate.
    AveragedSubgradientRegressor : The same for numbers.
    sklearn_fw.optim.projected_subgradient : The method as a function of an oracle.

    Notes
    -----
    More than 13 parameters: the scheme of averaging, the steps and the projection are what the
    method is about, the others those of every linear model.

    A step costs O(nnz) of its row, the average included. Nothing is certified. After T steps the
    expected error is at most ``8 R^2 / (alpha (T + 2))`` for "theory", "weighted" and "uniform";
    R^2 is the mean of ``|x_i|^2``. The defaults are not those of [1]_, which has "pegasos".

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Schmidt, F. Bach, "A simpler approach to obtaining an O(1/t)
       convergence rate for the projected stochastic subgradient method", 2012.
    .. [2] S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter, "Pegasos: primal estimated
       sub-gradient solver for SVM", Mathematical Programming 127, 2011, for "pegasos".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_fw.linear_model import AveragedSubgradientClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AveragedSubgradientClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    """

    loss: object = "hinge"

    def _centers_and_spreads(self, targets, weight):
        return np.zeros(len(targets)), np.ones(len(targets))


class AveragedSubgradientRegressor(LinearRegressor, AveragedModel):
    """Robust linear regression by stochastic subgradient steps and averaging.

    Minimizes, over the weights w and that of a constant feature, with factors s_i
    (``sample_weight``) of mean one::

        alpha / 2 (|w|^2 + b^2) + sum_i s_i loss(y_i, <w, x_i> + b intercept_scaling) / n

    so that the intercept is regularized as well. Choose it for losses with kinks (medians, support
    vector regression), very many rows or a stream of them, where moderate accuracy is enough;
    `AsagaRegressor` is for smooth losses and certified accuracy. Several targets are one problem
    each.

    Parameters
    ----------
    loss : str or Loss, default="absolute_error"
        "absolute_error", "epsilon_insensitive", "huber", or an object of `sklearn_fw.losses`, to
        choose its parameter in the unit of y, maybe your own, whose slopes are bounded. The 0.1 and
        1.35 of "epsilon_insensitive" and "huber" count standard deviations of y, as those of
        `AsagaRegressor`.
    alpha : float or "auto", default="auto"
        Weight of the ridge, positive; "auto" is L / (n s), where s is the mean distance of the
        targets from their median, which is then subtracted from them, and L the steepest slope of
        the loss, so that neither unit nor origin of y matter. In a fit by parts n and s are those
        of the first.
    averaging : str or tuple, default="weighted2"
        As `AveragedSubgradientClassifier`.
    step_size : {"auto", "theory", "pegasos"}, tuple or callable, default="auto"
        As `AveragedSubgradientClassifier`; "auto" is ``1 / (alpha t + L R^2 / s)``.
    projection : str, callable or None, default=None
        As `AveragedSubgradientClassifier`.
    radius : float or None, default=None
        As `AveragedSubgradientClassifier`.
    standardize : bool or "auto", default="auto"
        As `AveragedSubgradientClassifier`; targets are taken minus their median, too.
    fit_intercept : bool, default=True
        Whether to add a constant feature, whose weight is the intercept.
    intercept_scaling : float, default=1.0
        Its value; the larger, the less the intercept is regularized.
    max_iter : int, default=50
        Number of passes, each of n steps.
    sampling : {"uniform", "shuffle", "cyclic"}, default="shuffle"
        As `AveragedSubgradientClassifier`.
    warm_start : bool, default=False
        Go on where the last fit ended: steps, iterate and average.
    record_history : bool, default=False
        Evaluate the objective after every pass, at the cost of about one more.
    random_state : int, RandomState or None, default=None
        Orders of the rows; targets have independent ones.
    verbose : int, default=0
        Log a line per evaluation of the objective.

    Attributes
    ----------
    coef_ : ndarray or CSR matrix of shape (n_features,) or (n_targets, n_features)
        Averaged weights, in the dtype of X; sparse, with a row per target, after `sparsify`.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercepts.
    coef_last_, intercept_last_ : ndarray
        The last iterates.
    alpha_ : float or ndarray of shape (n_targets,)
        Weight of the ridge that was used; several where they differ.
    scale_ : ndarray of shape (n_features,) or None
        Divisors of the columns; None where they were not scaled.
    objective_ : float or ndarray of shape (n_targets,)
        The objective at the average, for the columns as they were taken.
    t_, n_iter_ : int
        Numbers of steps of each problem, and of passes of the last fit.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.
    status_, history_ : str, dict of str to ndarray
        As `AveragedSubgradientClassifier`.

    See Also
    --------
    AsagaRegressor : Smooth losses, with a certificate.
    AveragedSubgradientClassifier : The same for labels.
    sklearn.svm.LinearSVR : Dual coordinate ascent for "epsilon_insensitive".

    Notes
    -----
    More than 13 parameters: as `AveragedSubgradientClassifier`, where costs and guarantees stand.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_fw.linear_model import AveragedSubgradientRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AveragedSubgradientRegressor(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.45
    True
    """

    loss: object = "absolute_error"

    _centers_and_spreads = staticmethod(Units.centers_and_spreads)
