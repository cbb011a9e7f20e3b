"""The regularization path of the structured SVM, with a guarantee at every value."""

import copy
import math

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._core import check
from .._core.blocks import refuse_collection
from .._core.budget import budget_now
from .._core.loop import drive
from .._core.warnings import warn
from .._kernels import lazy
from ..model_selection import RegularizationPath
from ._advice import help_of_columns
from ._path_problems import TOUCH, OverC, OverRadius
from ._solvers import begin, has_radius, resolve_solver

block_rules = lazy("structured.block_rules")

# Points of a piece that are looked at before its gap is bounded everywhere.
N_PROBES = 17
# Fraction of eps to which breakpoints are solved; the rest is for the mixtures between them.
KAPPA = {"exact": 0.85, "heuristic": 0.7}
# Log ratios of the parameter from one breakpoint to the next: the first, and the largest. Where
# mixtures would allow more, a warm start from afar costs more passes than a breakpoint between.
FIRST_STRIDE = LONGEST_STRIDE = 1.2
# How much of the predicted stride is taken, and how much longer or shorter it may become at once.
SAFETY, SHRINK, GROW = 0.9, 0.4, 1.5


class StructuredPath(RegularizationPath):
    """Regularization path with weights within ``eps`` of the optimum everywhere.

    Made by `regularization_path`: over the radius if the solver has one, else over C. Between two
    breakpoints weights are mixtures, with a ratio that follows from the certificate (over radii in
    proportion). Beyond the last one they are ``coefs_[-1]``, up to ``end_``; below the first one
    ``coefs_[0] * value / values_[0]``, down to ``start_``.

    Parameters
    ----------
    estimator, problem, solved : objects
        The estimator, the kind of path, and its solutions in the order of growing values.
    terminated_by : str
        Reason for the end of the path.
    n_oracle_calls : int
        Oracle calls made.
    certified : bool, default=True
        Whether the accuracy is guaranteed.

    Attributes
    ----------
    param_name : {"C", "radius"}
        The parameter.
    values_ : ndarray of shape (n_breakpoints,)
        Values of the parameter at breakpoints, increasing.
    coefs_ : ndarray of shape (n_breakpoints, n_weights)
        Weights.
    gaps_ : ndarray of shape (n_breakpoints,)
        Gap of the weights at their breakpoint; estimated in heuristic mode.
    losses_ : ndarray of shape (n_breakpoints,)
        Mean loss that training minimizes, as far as the oracle bounds it.
    start_, end_ : float
        Range of the guarantee. It starts at 0, or at the first breakpoint if ``C_min`` or
        ``radius_min`` is too large for scaled weights below it; it ends at infinity when the last
        weights serve all larger values.
    eps, certified : float, bool
        Accuracy, and whether it is guaranteed (exact mode).
    terminated_by_ : {"hinge", "C_max", "radius_max", "max_breakpoints", "time_limit", \
            "max_iter", "rounding"}
        Reason for the end; "hinge": the mean loss is below eps, larger values change nothing.
    n_oracle_calls_ : int
        Oracle calls made.

    See Also
    --------
    RegularizationPathDisplay : Draws it.

    Notes
    -----
    Over radii the optimum falls and is convex. Breakpoints bound it from above by chords; any
    mixture of outputs, with mean loss l and mean feature difference v, bounds it from below by
    ``l - radius * |v|``, in the dual norm, for all radii.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_fw import StructuredSVM, regularization_path
    >>> X, y = load_iris(return_X_y=True)
    >>> path = regularization_path(StructuredSVM(random_state=0), X, y, eps=0.5, C_max=1.0)
    >>> bool((path.gap_at([0.001, 0.01, 0.1]) <= 0.5).all())
    True
    >>> path.coef_at([0.001, 0.01, 0.1]).shape == (3, path.coefs_.shape[1])
    True
    """

    def __init__(
        self, estimator, problem, solved, *, terminated_by, n_oracle_calls, certified=True
    ):
        self.param_name, self.of_sum = problem.param_name, problem.of_sum
        values = [problem.value(point.at) for point in solved]
        coefs = [estimator._as_given(point.w)["coef_"] for point in solved]
        super().__init__(estimator, values, coefs, [point.gap for point in solved])
        vars(estimator).update(estimator._as_given(solved[-1].w))
        self.losses_ = np.array([point.hinge for point in solved])
        self.start_, self.end_ = problem.finish(solved)
        self.eps, self.certified, self._problem = problem.eps, certified, problem
        self.terminated_by_, self.n_oracle_calls_ = terminated_by, n_oracle_calls

    def coef_at(self, value):
        """Return weights within ``eps`` of the optimum for one or many values.

        Parameters
        ----------
        value : float or array-like of shape (n_values,)
            Positive, from ``start_`` to ``end_``.

        Returns
        -------
        coef : ndarray of shape (n_weights,) or (n_values, n_weights)
            Weights.
        """
        values = self._on_path(value)
        coefs = np.empty((len(values), self.coefs_.shape[1]))
        for row, number, j in zip(coefs, values, self._before(values)):
            if j < 0:
                np.multiply(self.coefs_[0], number / self.values_[0], out=row)
                continue
            is_breakpoint = j == len(self.values_) - 1 or self._touches(j, number)
            share = 0.0 if is_breakpoint else self._problem.share(j, number)
            np.multiply(self.coefs_[j], 1.0 - share, out=row)
            if share > 0.0:
                row += share * self.coefs_[j + 1]
        return coefs if np.ndim(value) else coefs[0]

    def gap_at(self, value):
        """Return the certified gap at one or many values: at most ``eps``.

        Parameters
        ----------
        value : float or array-like of shape (n_values,)
            Positive, from ``start_`` to ``end_``. In heuristic mode the gap is an estimate.
        """
        values = self._on_path(value)
        gaps = np.array([
            self.gaps_[j] if self._touches(j, number) else self._problem.gap(j, number)
            for number, j in zip(values, self._before(values))
        ])  # fmt: skip
        return gaps if np.ndim(value) else float(gaps[0])

    def estimator_at(self, value):
        value = self._problem.check_value(value, self.param_name)
        fitted = copy.copy(self.estimator)
        vars(fitted).update(self._problem.attributes_at(self.estimator, value))
        fitted.coef_ = self.coef_at(value)
        fitted.dual_gap_ = self.gap_at(value) if self.certified else None
        return fitted

    def _params_at(self, value):
        return self._problem.params_at(self.estimator, self._problem.check_value(value, "value"))

    def _before(self, values):
        """Number of the breakpoint at or below each value, -1 below the first."""
        return np.searchsorted(self.values_, values * (1 + TOUCH), side="right") - 1

    def _touches(self, j, value):
        return j >= 0 and value <= self.values_[j] * (1 + TOUCH)

    def _on_path(self, value):
        """Values as a vector; refuses those outside of the path."""
        name, start, end = self.param_name, self.start_, self.end_
        values = np.atleast_1d(check.array(value, name, finite=None))
        if values.ndim != 1:
            raise ValueError(f"{name} must be a number or a vector, got shape {values.shape}")
        for number in values:
            self._problem.check_value(number, name)
            if number * (1 + TOUCH) < start or end * (1 + TOUCH) < number:
                raise ValueError(
                    f"the path covers {name} = {start:.6g} to {end:.6g} "
                    f"({self.terminated_by_}), got {name} = {number:.6g}: compute it with a "
                    + (f"smaller {name}_min" if number < start else f"larger {name}_max")
                )
        return values


def kind_of_path(estimator):
    return OverRadius if has_radius(resolve_solver(estimator.solver)) else OverC


def structured_path(
    estimator, X, y, *, sample_weight=None, eps=None, kappa=None, mode="exact",
    max_breakpoints=None, **limits,
):  # fmt: skip
    """See `regularization_path`.

    Starts where the solution is known in closed form, or at the least value given, and solves to
    ``kappa * eps`` at breakpoints as far apart as what is between them is certified.
    """
    kind = estimator._path_class()
    names = f"{kind.param_name}_min", f"{kind.param_name}_max"
    if unknown := limits.keys() - set(names):
        raise TypeError(
            f"a path over {kind.param_name} has no option {min(unknown)!r}: its ends are "
            f"{' and '.join(names)}"
        )
    check.choice(mode, "mode", kind.modes)
    kappa = KAPPA[mode] if kappa is None else kappa
    given = {"eps": eps, "kappa": kappa} | {name: limits.get(name) for name in names}
    accept = check.optional(check.strength)
    eps, kappa, low, high = (accept(value, name) for name, value in given.items())
    if not kappa < 1:
        raise ValueError(f"kappa must be below 1, got {kappa}")
    if low is not None and high is not None and not low < high:
        raise ValueError(f"{names[0]} must be below {names[1]}, got {low} and {high}")
    if max_breakpoints is not None:
        check.integer(max_breakpoints, "max_breakpoints", 1)

    refuse_collection(X, "X")
    fitted = kind.posed(estimator, mode)
    blocks, _ = fitted._make_blocks(X, y, sample_weight)
    max_iter, rng = fitted._most_passes(blocks), check.random_state(estimator.random_state)
    problem = kind(fitted)
    method = begin(fitted.solver_, blocks, lam=1.0, tol=0.0, rng=rng)
    walk = _Walk(
        problem, problem.begin(method, eps, kappa, low, high, mode), max_iter=max_iter,
        max_breakpoints=max_breakpoints, verbose=estimator.verbose,
    )  # fmt: skip
    walk.run(lambda: help_of_columns(fitted, blocks))
    return StructuredPath(
        fitted, problem, walk.solved, terminated_by=walk.ended,
        n_oracle_calls=int(blocks.counts[block_rules.CALLS]), certified=mode == "exact",
    )  # fmt: skip


class _Ended(Exception):
    """The path cannot go on; the message says why."""


class _Walk:
    """Breakpoints from strong to weak regularization, in ``solved``.

    The method is one for `drive`, with ``tol``, ``move_to(at)`` and ``breakpoint()``.
    """

    def __init__(self, problem, method, *, max_iter, max_breakpoints, verbose):
        self.method, self.problem, self.eps = method, problem, problem.eps
        self.start, self.end = problem.ends
        self.sign = 1.0 if self.start < self.end else -1.0
        self.max_iter, self.verbose = max_iter, verbose
        self.max_breakpoints = max_breakpoints
        self.solved, self.n_solved, self.stride = [], 0, FIRST_STRIDE

    def run(self, other_help):
        """Go on until the end, which `ended` names; a warning may give another remedy."""
        try:
            self.solved.append(self._solve(self.start))
            ahead = []  # solutions beyond pieces that must be halved first
            while True:
                here = self.solved[-1]
                goal = ahead.pop() if ahead else self._solve(self._next(here))
                piece = self.problem.piece(here, goal)
                gaps = piece.gap(np.geomspace(here.at, goal.at, N_PROBES))
                if gaps.max() <= self.eps and piece.is_certified(self.eps):
                    self.solved.append(goal)
                    self._adapt_stride(piece, gaps.max())
                else:
                    share = np.clip(np.argmax(gaps) / (len(gaps) - 1), 0.25, 0.75)
                    at = here.at * (goal.at / here.at) ** share
                    if not min(here.at, goal.at) < at < max(here.at, goal.at):
                        raise _Ended("rounding")
                    ahead += [goal, self._solve(at)]
        except _Ended as reason:
            if not self.solved:
                budget = "time_limit" if str(reason) == "time_limit" else "max_iter"
                raise RuntimeError(f"no breakpoint was reached: increase {budget} or eps") from None
            self.ended = str(reason)

        if self.ended in ("max_iter", "rounding"):
            passes, columns = self.ended == "max_iter", other_help()
            name, last = self.problem.param_name, self.problem.value(self.solved[-1].at)
            what = f"{self.max_iter} passes" if passes else "steps as short as rounding"
            warn(
                f"the path ends at {name} = {last:.3g}: {what} missed a gap of kappa * eps = "
                f"{self.method.tol:.3g} at the next {name}; increase "
                f"{'max_iter or ' if passes else ''}eps{f', or take {columns}' if columns else ''}",
                ConvergenceWarning,
            )

    def _next(self, here):
        if here.hinge <= self.eps:
            raise _Ended("hinge")
        if self._is_beyond(here.at):
            raise _Ended(f"{self.problem.param_name}_max")
        stride = self.sign * self.stride
        at = here.at * math.exp(stride)
        if at == here.at:
            raise _Ended("rounding")
        # No short last step.
        return self.end if self._is_beyond(at * math.exp(0.2 * stride)) else at

    def _is_beyond(self, at):
        return self.sign * (at - self.end) >= 0.0

    def _solve(self, at):
        if self.max_breakpoints is not None and self.n_solved >= self.max_breakpoints:
            raise _Ended("max_breakpoints")
        if self.n_solved and budget_now().is_spent:
            raise _Ended("time_limit")
        self.n_solved += 1
        method = self.method
        method.move_to(at)
        outcome = drive(method, tol=method.tol, max_iter=self.max_iter, verbose=self.verbose)
        if not outcome.converged:
            raise _Ended(outcome.status.name.lower())
        return method.breakpoint()

    def _adapt_stride(self, piece, gap):
        """The part of the gap that mixing adds grows with the square of the stride."""
        ends = max(piece.left.gap, piece.right.gap)
        added = max(gap - ends, 1e-3 * self.eps)
        free = self.eps - 0.5 * (ends + self.method.tol)
        factor = np.clip(SAFETY * math.sqrt(free / added), SHRINK, GROW)
        stride = abs(math.log(piece.left.at / piece.right.at))
        self.stride = min(factor * stride, LONGEST_STRIDE)
