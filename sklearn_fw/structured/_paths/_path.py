"""The regularization path of the structured SVM, with a guarantee at every C."""

import copy
import math
from itertools import pairwise

import numpy as np
from sklearn.base import clone

from ..._core.validation import (
    check_choice,
    check_integer,
    check_random_state,
    check_strength,
    is_auto,
)
from ..._kernels import lazy
from .._solvers import BlockFrankWolfe, DualAscent, begin, resolve_solver
from .._solvers._visits import visit_blocks
from .._surrogates import resolve_surrogate
from ._enclosed_path import EnclosedPath
from ._path_pieces import Breakpoint, Piece
from ._path_walk import TOUCH, Walk

block_rules = lazy("structured.block_rules")

# Accuracy where none is given, as a share of the mean largest loss, and of the mean loss of zero
# weights where the loss is smooth, of whose values chances are made.
EPS, EPS_OF_SMOOTH = 0.1, 0.02
# Fraction of it to which breakpoints are solved; the rest is for the mixtures between them.
KAPPA = {"exact": 0.85, "heuristic": 0.7}
# Share of the squared norm of features below which a squared gradient is rounding.
NOTHING = 1e-24
# lam where a path without C_max ends.
WEAKEST = 1e-5


class StructuredPath(EnclosedPath):
    """Weights for every value of C, each within ``eps`` of the optimum of its problem.

    Made by `regularization_path`. Between two breakpoints the weights are mixtures of theirs, whose
    share follows from the certificate; beyond the last one they are ``coefs_[-1]``, up to
    ``C_end_``; below the first one they are ``coefs_[0]`` times ``C / Cs_[0]``, down to
    ``C_start_``. The ``dual_gap_`` of `estimator_at` is ``eps``, None without a guarantee.

    Parameters
    ----------
    estimator : StructuredSVM
        The estimator whose path this is.
    solved : list of Breakpoint
        Solutions in the order of growing C.
    hinge_at_zero : float
        Bound on the mean hinge loss of zero weights.
    **outcome : dict
        The attributes ``eps``, ``terminated_by``, ``n_oracle_calls`` and ``certified``.

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
    C_start_ : float
        Where the guarantee begins: 0, or the first breakpoint where ``C_min`` is so large that
        scaled weights do not serve all smaller C.
    C_end_, lam_end_ : float
        Where the guarantee ends; infinity and 0 when the weights serve all larger C.
    eps : float
        Accuracy.
    certified : bool
        Whether it is guaranteed (exact mode).
    terminated_by_ : {"hinge", "C_max", "max_breakpoints", "time_limit", "max_iter", "rounding"}
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
    >>> bool((path.gap_at([0.001, 0.01, 0.1]) <= 0.5).all())
    True
    >>> path.coef_at([0.001, 0.01, 0.1]).shape == (3, path.coefs_.shape[1])
    True
    """

    of_sum = True

    def __init__(self, estimator, solved, *, hinge_at_zero, **outcome):
        self.lambdas_ = np.array([point.lam for point in solved])
        # lam_ of the estimator is 1 / (C s) with s the sum of weights (n without weights).
        self._scale = 1.0 / (estimator.lam_ * estimator.C_)
        super().__init__(estimator, 1.0 / (self.lambdas_ * self._scale), solved, **outcome)
        self._pieces = [Piece(*pair) for pair in pairwise(solved)]
        self._last = solved[-1]._replace(w=None)
        self.Cs_ = self.values_
        self._gap_0 = max(hinge_at_zero - solved[0].loss, 0.0)
        self.C_start_ = 0.0 if self._gap_0 <= self.eps else float(self.Cs_[0])
        self.lam_end_ = solved[-1].end(self.eps)
        self.C_end_ = math.inf if self.lam_end_ == 0 else 1.0 / (self.lam_end_ * self._scale)

    def _mix(self, values, out):
        for row, value, j in zip(out, values, self._piece_of(values)):
            if j < 0:
                np.multiply(self.coefs_[0], value / self.Cs_[0], out=row)
                continue
            share = self._share(value, j)
            np.multiply(self.coefs_[j], 1.0 - share, out=row)
            if share > 0.0:
                row += share * self.coefs_[j + 1]

    def _gaps(self, values):
        gaps = np.empty(len(values))
        for k, (value, j) in enumerate(zip(values, self._piece_of(values))):
            lam = 1.0 / (value * self._scale)
            if j < 0:  # on the ray of fixed dual variables the gap is convex in C
                gaps[k] = np.interp(value / self.Cs_[0], [0.0, 1.0], [self._gap_0, self.gaps_[0]])
            elif j == len(self._pieces):
                gaps[k] = self._last.gap_at(lam)
            elif self._is_breakpoint(value, j):
                gaps[k] = self.gaps_[j]
            else:
                gaps[k] = self._pieces[j].gap(lam)
        return gaps

    def estimator_at(self, value):
        value = check_strength(value, "C")
        fitted = copy.copy(self.estimator)
        fitted.C = fitted.C_ = value
        fitted.coef_ = self.coef_at(value)
        fitted.lam_ = 1.0 / (value * self._scale)
        fitted.dual_gap_ = self.eps if self.certified else None
        return fitted

    def _piece_of(self, Cs):
        """Number of the breakpoint at or below each value, -1 below the first."""
        return np.searchsorted(self.Cs_, Cs * (1 + TOUCH), side="right") - 1

    def _is_breakpoint(self, value, j):
        return value <= self.Cs_[j] * (1 + TOUCH)

    def _share(self, value, j):
        """Share of the next breakpoint's weights; none at a breakpoint itself."""
        if j == len(self._pieces) or self._is_breakpoint(value, j):
            return 0.0
        return float(self._pieces[j].share(1.0 / (value * self._scale)))


def structured_path(
    estimator,
    X,
    y,
    *,
    sample_weight=None,
    eps=None,
    kappa=None,
    C_min=None,
    C_max=None,
    mode="exact",
    max_breakpoints=None,
):
    """See `regularization_path`.

    Starts where the solution is known in closed form, or at ``C_min``, and solves to ``kappa *
    eps`` at breakpoints as far apart as their mixtures stay ``eps``-optimal.
    """
    check_choice(mode, "mode", {"exact", "heuristic"})
    eps, kappa, C_min, C_max = check_walk(
        eps, KAPPA[mode] if kappa is None else kappa, ("C_min", C_min), ("C_max", C_max),
        max_breakpoints,
    )  # fmt: skip
    _check_solver(estimator, mode)
    fitted = clone(estimator).set_params(C=1.0)
    blocks, _ = fitted._make_blocks(X, y, sample_weight)
    if getattr(fitted.solver_, "averaging", None) == "auto":
        # Weights and bound of one certificate belong together.
        fitted.solver_.set_params(averaging=False)
    scale = 1.0 / fitted.lam_
    max_iter = fitted._most_passes(blocks)
    method = begin(
        fitted.solver_, blocks, lam=1.0, tol=0.0, rng=check_random_state(estimator.random_state)
    )
    lam_min = WEAKEST if C_max is None else 1.0 / (C_max * scale)
    if blocks.surrogate.smooth:
        hinge_at_zero = method.begin_at_zero()
        eps = EPS_OF_SMOOTH * hinge_at_zero if eps is None else eps
        lam_start = _start_of_smooth(blocks, kappa * eps)
    else:
        eps = EPS * blocks.max_loss if eps is None else eps
        lam_start, hinge_at_zero = _start(blocks, kappa * eps)
    method.tol = kappa * eps
    if C_min is not None:
        lam_start = min(lam_start, 1.0 / (C_min * scale))
    walk = Walk(
        _Trusting(method) if mode == "heuristic" else method, eps, Piece,
        ends=(lam_start, min(lam_min, lam_start)), at_end="C_max", max_iter=max_iter,
        max_breakpoints=max_breakpoints, verbose=estimator.verbose,
    )  # fmt: skip
    walk.run()
    walk.warn_if_short("C", 1.0 / (walk.solved[-1].lam * scale))
    return StructuredPath(
        fitted, walk.solved, hinge_at_zero=hinge_at_zero, eps=eps,
        terminated_by=walk.ended, n_oracle_calls=int(blocks.counts[block_rules.CALLS]),
        certified=mode == "exact",
    )  # fmt: skip


def _check_solver(estimator, mode):
    solver, surrogate = resolve_solver(estimator.solver), resolve_surrogate(estimator.surrogate)
    if surrogate.smooth:
        if not (is_auto(estimator.solver) or isinstance(solver, DualAscent)):
            raise ValueError(
                f"solver of a path with surrogate={surrogate.name!r} must be 'auto' or a "
                f"DualAscent, got {estimator.solver!r}"
            )
        if mode == "heuristic":
            raise ValueError(
                f"mode='heuristic' needs surrogate='hinge', got {surrogate.name!r}: take "
                f"mode='exact'"
            )
        return
    if not isinstance(solver, BlockFrankWolfe):
        raise ValueError(
            f"solver of a path must be of the block-coordinate family, got {estimator.solver!r}"
        )
    if mode == "heuristic" and solver.averaging is True:
        raise ValueError(
            "mode='heuristic' trusts the gaps of single iterates, which say nothing about their "
            "average: take mode='exact' or averaging=False"
        )


def check_walk(eps, kappa, low, high, max_breakpoints):
    """Return eps, kappa and both ends, pairs of name and value, as floats; None stays None."""
    eps, kappa, start, end = (
        None if value is None else check_strength(value, name)
        for name, value in (("eps", eps), ("kappa", kappa), low, high)
    )
    if not kappa < 1:
        raise ValueError(f"kappa must be below 1, got {kappa}")
    if start is not None and end is not None and not start < end:
        raise ValueError(f"{low[0]} must be below {high[0]}, got {start} and {end}")
    if max_breakpoints is not None:
        check_integer(max_breakpoints, "max_breakpoints", 1)
    return eps, kappa, start, end


def _start(blocks, tol):
    """All mass on the outputs of largest loss (OA16, Algorithm 6).

    Returns a lam at which that is optimal to ``tol``, and the mean hinge of zero weights.
    """
    if blocks.bounded and not (
        np.all((blocks.lower == 0) | np.isneginf(blocks.lower))
        and np.all(np.isposinf(blocks.upper))
    ):
        raise ValueError(
            "a path needs bounds that do not change with scale: lower bounds 0 or -inf, no upper "
            "bounds"
        )
    hinge, sweep = blocks.ask(np.zeros(blocks.n_weights))
    blocks.step_towards(sweep.answers, 1.0)
    direction, loss = blocks.corner_of(sweep.answers)  # mean feature difference: lam is 1 here
    blocks.refresh()
    clipped = blocks.clip(direction)
    reach = blocks.mean_hinge(blocks.sweep(clipped, augmented=False))
    blocks.counts[block_rules.CALLS] += blocks.n_blocks
    # The gap of an oracle with loose bounds does not go to 0 with C.
    lam = (clipped @ direction + reach) / max(tol - (hinge - loss), 0.5 * tol)
    if lam <= 0:
        raise ValueError("all outputs have the same features: there is nothing to learn")
    return lam * (1 + TOUCH), hinge


def _start_of_smooth(blocks, tol):
    """A lam at which the Gibbs distributions of zero weights are about optimal to ``tol``.

    With u their mean difference of features, minus the gradient at zero, weights ``u / lam`` have a
    gap of at most ``L |u|^2 / (2 lam^2)`` where gradients have the Lipschitz constant L.
    """
    square = blocks.lam**2 * float(blocks.v @ blocks.v)
    lam = math.sqrt(blocks.mean_square / blocks.surrogate.temperature * square / (2.0 * tol))
    if not square > NOTHING * blocks.mean_square:
        raise ValueError("zero weights are optimal for every C: there is nothing to learn")
    return lam


class _Trusting:
    """A method that stops on the last known gaps instead of exact ones (heuristic mode)."""

    def __init__(self, method):
        self.method, self.blocks, self.tol = method, method.blocks, method.tol
        self.move_to = method.move_to

    def step(self):
        """A pass, unless the known gaps are small enough already."""
        if np.isinf(self.known):
            n = self.blocks.n_blocks
            order = self.method.rng.permutation(n)
            visit_blocks(self.blocks, order, np.zeros(n), self.method.rules)
        elif self.known > self.tol:
            self.method.run_pass()
        return {"dual_gap": self.known}

    @property
    def known(self):
        """Sum of the last known gaps."""
        return float(self.blocks.gaps.value.sum())

    def breakpoint(self):
        """The iterate, with what the known gaps say about its hinge loss."""
        blocks = self.blocks
        hinge = self.known + blocks.weight @ blocks.currents()
        return Breakpoint(
            blocks.lam, blocks.w.copy(), float(hinge), float(blocks.loss.sum()), self.known
        )
