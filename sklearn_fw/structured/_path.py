"""The regularization path of the structured SVM, with a guarantee at every C."""

import copy
import math
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._loop import drive
from .._result import Status
from .._validation import check_choice, check_integer, check_positive, check_time_limit
from ..model_selection import RegularizationPath
from .solvers import BlockFrankWolfe, resolve_solver

__all__ = ["StructuredPath", "structured_path"]

# Frames from `structured_path` to who called `regularization_path`.
CALLER = 4


class StructuredPath(RegularizationPath):
    """Weights for every value of C, each within ``eps`` of the optimum of its problem.

    Made by `regularization_path`. The weights ``coefs_[j]`` serve all C from ``Cs_[j]`` up to
    ``Cs_[j + 1]``, the last ones up to ``C_end_``; below ``Cs_[0]`` they are ``coefs_[0]`` times
    ``C / Cs_[0]``.

    Parameters
    ----------
    estimator : StructuredSVM
        The estimator whose path this is.
    lambdas, coefs, gaps : list
        Breakpoints, weights and gaps, in the order of growing C.
    lam_end : float
        The end of the last piece.
    eps : float
        Accuracy.
    terminated_by : str
        Why the path ends.
    n_oracle_calls : int
        Oracle calls made.
    certified : bool
        Whether gaps are exact, and ``eps`` is a guarantee.

    Attributes
    ----------
    lambdas_ : ndarray of shape (n_breakpoints,)
        Decreasing; lam = 1 / (C n).
    Cs_, values_ : ndarray of shape (n_breakpoints,)
        Increasing.
    coefs_ : ndarray of shape (n_breakpoints, n_weights)
        Weights.
    gaps_ : ndarray of shape (n_breakpoints,)
        Gap of the weights at their breakpoint; estimated in heuristic mode.
    C_end_, lam_end_ : float
        Where the guarantee ends; infinity and 0 when the weights serve all larger C.
    eps : float
        Accuracy.
    certified : bool
        Whether it is guaranteed (exact mode).
    terminated_by_ : {"hinge", "C_max", "max_breakpoints", "time_limit", "max_iter"}
        Why the path ends; "hinge": the mean hinge loss is below eps, larger C change nothing.
    n_oracle_calls_ : int
        Oracle calls made.

    See Also
    --------
    regularization_path : Makes it.
    RegularizationPathDisplay : Draws it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_fw import StructuredSVM, regularization_path
    >>> X, y = load_iris(return_X_y=True)
    >>> path = regularization_path(StructuredSVM(random_state=0), X, y, eps=0.5, C_max=1.0)
    >>> bool((path.gaps_ <= 0.5).all())
    True
    """

    def __init__(
        self,
        estimator,
        lambdas,
        coefs,
        gaps,
        *,
        lam_end,
        eps,
        terminated_by,
        n_oracle_calls,
        certified,
    ):
        self.lambdas_ = np.array(lambdas)
        self.eps = eps
        self.certified = certified
        self.terminated_by_ = terminated_by
        self.n_oracle_calls_ = n_oracle_calls
        # lam_ of the estimator is 1 / (C s) with s the sum of weights (n without weights).
        self._scale = 1.0 / (estimator.lam_ * estimator.C_)
        super().__init__(estimator, 1.0 / (self.lambdas_ * self._scale), coefs, gaps)
        self.Cs_ = self.values_
        self.lam_end_ = lam_end
        self.C_end_ = math.inf if lam_end == 0 else 1.0 / (lam_end * self._scale)

    def coef_at(self, C):
        """Weights for one value of C.

        Parameters
        ----------
        C : float
            Positive, at most ``C_end_``.

        Returns
        -------
        coef : ndarray of shape (n_weights,)
            Weights whose objective is within ``eps`` of the optimum.

        Raises
        ------
        ValueError
            When C is not positive or beyond the end of the path.
        """
        check_positive(C, "C")
        if self.C_end_ * (1 + 1e-12) < C:
            raise ValueError(
                f"the path ends at C = {self.C_end_:.6g} ({self.terminated_by_}), got C = {C:.6g}: "
                f"compute it with a larger C_max"
            )
        j = int(np.searchsorted(self.Cs_, C * (1 + 1e-12), side="right")) - 1
        return self.coefs_[j] if j >= 0 else self.coefs_[0] * (C / self.Cs_[0])

    def estimator_at(self, value):
        """A fitted estimator with the weights for one value of C.

        Parameters
        ----------
        value : float
            C, positive, at most ``C_end_``.

        Returns
        -------
        estimator : StructuredSVM
            Ready to predict; its ``dual_gap_`` is the guarantee ``eps``, None without one.
        """
        fitted = copy.copy(self.estimator)
        fitted.C = fitted.C_ = value
        fitted.coef_ = self.coef_at(value)
        fitted.lam_ = 1.0 / (value * self._scale)
        fitted.dual_gap_ = self.eps if self.certified else None
        return fitted


def structured_path(
    estimator,
    X,
    y,
    *,
    sample_weight=None,
    eps=0.1,
    kappa=None,
    C_max=None,
    mode="exact",
    max_breakpoints=None,
    time_limit=None,
):
    """See `regularization_path`.

    Starts where the solution is known in closed form and lowers lam = 1 / (C n) as far as the
    current weights stay ``eps``-optimal, then solves on to ``kappa * eps`` from there.
    """
    check_positive(eps, "eps")
    check_choice(mode, "mode", {"exact", "heuristic"})
    kappa = (
        {"exact": 0.9, "heuristic": 0.7}[mode] if kappa is None else check_positive(kappa, "kappa")
    )
    if not kappa < 1:
        raise ValueError(f"kappa must be below 1, got {kappa}")
    if max_breakpoints is not None:
        check_integer(max_breakpoints, "max_breakpoints", 1)
    deadline = time.perf_counter() + check_time_limit(time_limit)
    if not isinstance(resolve_solver(estimator.solver), BlockFrankWolfe):
        raise ValueError(
            f"solver of a path must be of the block-coordinate family, got {estimator.solver!r}"
        )

    fitted = clone(estimator)
    blocks, _ = fitted._make_blocks(X, y, sample_weight)
    fitted.solver_.set_params(averaging=False)  # breakpoints are iterates
    scale = 1.0 / (fitted.lam_ * fitted.C_)
    lam_min = 1e-5 if C_max is None else 1.0 / (check_positive(C_max, "C_max") * scale)
    method = fitted.solver_.start(
        blocks, lam=1.0, tol=kappa * eps, rng=check_random_state(estimator.random_state)
    )
    _start(blocks, method, kappa * eps)
    if mode == "heuristic":
        method = _Trusting(method)
    lambdas, coefs, gaps = [], [], []
    while True:
        status, _, _ = drive(
            method, tol=kappa * eps, max_iter=estimator.max_iter, verbose=estimator.verbose
        )
        if status is not Status.CONVERGED:
            warnings.warn(
                f"the path ends at lam = {blocks.lam:.3g}: {estimator.max_iter} passes missed "
                f"a gap of kappa * eps = {kappa * eps:.3g}; increase max_iter or eps",
                ConvergenceWarning,
                stacklevel=CALLER,
            )
            ended, lam_end = "max_iter", blocks.lam
            break
        gap, slack = method.gap_and_slack()
        lambdas.append(blocks.lam)
        coefs.append(blocks.w.copy())
        gaps.append(gap)
        # The gap of fixed weights grows by (1 - rho) * total when lam becomes rho * lam.
        total = slack.sum()
        if total <= eps - gap:
            ended, lam_end = "hinge", 0.0
            break
        rho = 1.0 - (eps - gap) / total
        lam_end = rho * blocks.lam
        if lam_end < lam_min:
            ended = "C_max"
            break
        if max_breakpoints is not None and len(lambdas) >= max_breakpoints:
            ended = "max_breakpoints"
            break
        if time.perf_counter() > deadline:
            ended = "time_limit"
            break
        method.change_lam(rho)
        if mode == "heuristic":
            slack = np.maximum(slack, 0.0)  # stale gaps may not go down
        blocks.fill_gaps(blocks.gaps.value + (1.0 - rho) * slack, method.settings.gap_degree)
        blocks.gaps.total[0] = blocks.gaps.value.sum()
    if not lambdas:
        raise RuntimeError("no breakpoint was reached: increase max_iter or eps")
    from .._kernels.block_rules import CALLS

    return StructuredPath(
        fitted, lambdas, coefs, gaps, lam_end=lam_end, eps=eps, terminated_by=ended,
        n_oracle_calls=int(blocks.counts[CALLS]), certified=mode == "exact",
    )  # fmt: skip


def _start(blocks, method, tol):
    """The solution for large lam: all mass on the outputs of largest loss (OA16, Algorithm 6)."""
    from .._kernels.block_rules import CALLS

    if blocks.bounded and not (
        np.all((blocks.lower == 0) | np.isneginf(blocks.lower))
        and np.all(np.isposinf(blocks.upper))
    ):
        raise ValueError(
            "a path needs bounds that do not change with scale: lower bounds 0 or -inf, no upper "
            "bounds"
        )
    worst = blocks.sweep(np.zeros(blocks.n_weights)).answers
    blocks.step_towards(worst, 1.0)
    direction, _ = blocks.corner_of(worst)  # mean feature difference, since lam is 1 here
    clipped = blocks.clip(direction)
    sweep = blocks.sweep(clipped, augmented=False)
    blocks.counts[CALLS] += 2 * blocks.n_blocks
    lam = (clipped @ direction + blocks.weight @ sweep.hinge) / tol
    if lam <= 0:
        raise ValueError("all outputs have the same features: there is nothing to learn")
    blocks.lam = lam
    method.rules = method.rules._replace(lam=lam)
    blocks.refresh()
    blocks.fill_gaps(
        blocks.weight * (sweep.hinge - sweep.current) / lam, method.settings.gap_degree
    )
    blocks.gaps.total[0] = blocks.gaps.value.sum()


class _Trusting:
    """A method that stops on the last known gaps instead of exact ones (heuristic mode)."""

    def __init__(self, method):
        self.method, self.blocks, self.settings = method, method.blocks, method.settings
        self.change_lam = method.change_lam

    def step(self):
        """A pass, unless the known gaps are small enough already."""
        if self.known > self.method.tol:
            self.method.run_pass()
        return {"dual_gap": self.known}

    @property
    def known(self):
        """Sum of the last known gaps."""
        return float(self.blocks.gaps.value.sum())

    def gap_and_slack(self):
        """Known gap, and how the gap of each block grows as lam falls."""
        return self.known, self.blocks.weight * self.blocks.currents()
