"""The path of a structured SVM over the radius of a ball, with a guarantee at every radius."""

import copy

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..._core.validation import check_positive
from ..._kernels import lazy
from .._solvers import begin
from ._enclosed_path import EnclosedPath
from ._path import EPS, KAPPA, check_walk
from ._path_walk import TOUCH, Walk
from ._radius_pieces import BallPiece, Lines

block_rules = lazy("structured.block_rules")

# A path without radius_max ends at this multiple of the radius at which the hinge loss would be
# zero if it went on falling as it begins.
WIDEST = 100.0


class RadiusPath(EnclosedPath):
    """Weights for every radius of a ball, each within ``eps`` of the optimum of its problem.

    Made by `regularization_path` from a `StructuredSVM` whose solver has a ``radius``. The weights
    are piecewise linear in the radius: mixtures of the breakpoints around it, ``coefs_[0]`` times
    ``radius / radii_[0]`` below the first, ``coefs_[-1]`` beyond the last, up to ``radius_end_``.
    The ``dual_gap_`` of `estimator_at` is the guarantee of the path at that radius.

    Parameters
    ----------
    estimator : StructuredSVM
        The estimator whose path this is.
    solved : list of SolvedBall
        Solutions in the order of growing radii.
    lines : Lines
        Bound on the optimum from below.
    hinge_at_zero : float
        Bound on the mean hinge loss of zero weights.
    **outcome : dict
        The attributes ``eps``, ``terminated_by`` and ``n_oracle_calls``.

    Attributes
    ----------
    radii_, values_ : ndarray of shape (n_breakpoints,)
        Increasing.
    coefs_ : ndarray of shape (n_breakpoints, n_weights)
        Weights.
    gaps_ : ndarray of shape (n_breakpoints,)
        Gap of the weights at their breakpoint.
    objectives_ : ndarray of shape (n_breakpoints,)
        Mean hinge losses, as far as the oracle bounds them.
    radius_start_ : float
        Where the guarantee begins: 0, or the first breakpoint where ``radius_min`` is so large that
        scaled weights do not serve all smaller radii.
    radius_end_ : float
        Where the guarantee ends; infinity when the last weights serve all larger radii.
    eps : float
        Accuracy.
    certified : bool
        True.
    terminated_by_ : {"hinge", "radius_max", "max_breakpoints", "time_limit", "max_iter"}
        Why the path ends; "hinge": the mean hinge loss is below eps, larger radii change nothing.
    n_oracle_calls_ : int
        Oracle calls made.

    See Also
    --------
    regularization_path : Makes it.
    StructuredPath : The same over C, for solvers with a ridge penalty.

    Notes
    -----
    The optimum falls with the radius and is convex in it. Breakpoints bound it from above by
    chords; and any mixture of outputs, with mean loss l and mean feature difference v, bounds it
    from below by ``l - radius * |v|``, in the dual norm, for all radii. Every certificate on the
    way adds such a line, hence breakpoints help each other, and the largest gap between two of
    them is known exactly.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_fw import StructuredSVM, regularization_path
    >>> X, y = load_iris(return_X_y=True)
    >>> svm = StructuredSVM(solver="sp_fw", random_state=0)
    >>> path = regularization_path(svm, X, y, eps=0.3, radius_max=2.0)
    >>> bool((path.gap_at([0.01, 0.1, 1.0]) <= 0.3).all())
    True
    >>> bool(abs(path.coef_at(1.0)).sum() <= 1.0 + 1e-9)
    True
    """

    param_name = "radius"

    def __init__(self, estimator, solved, lines, *, hinge_at_zero, **outcome):
        super().__init__(estimator, [ball.radius for ball in solved], solved, **outcome)
        self.radii_ = self.values_
        self.objectives_ = np.array([ball.hinge for ball in solved])
        self._lines = lines
        self._radii, self._hinges = np.r_[0.0, self.radii_], np.r_[hinge_at_zero, self.objectives_]
        worst = lines.worst((0.0, hinge_at_zero), (self.radii_[0], self.objectives_[0]))
        self.radius_start_ = 0.0 if worst <= self.eps * (1 + TOUCH) else float(self.radii_[0])
        end = lines.fall_to(self._hinges[-1] - self.eps)
        self.radius_end_ = max(end, float(self.radii_[-1]))

    _check_value = staticmethod(check_positive)

    def _params_at(self, value):
        """For ``set_params`` of the estimator, to pose the problem of a radius."""
        value = check_positive(value, "value")
        return {"solver": clone(self.estimator.solver_).set_params(radius=value)}

    def _mix(self, values, out):
        for row, value in zip(out, values):
            j = min(int(np.searchsorted(self.radii_, value)), len(self.radii_) - 1)
            low = self.radii_[j - 1] if j else 0.0
            share = min((value - low) / (self.radii_[j] - low), 1.0)
            np.multiply(self.coefs_[j], share, out=row)
            if j and share < 1.0:
                row += (1.0 - share) * self.coefs_[j - 1]

    def _gaps(self, values):
        return np.interp(values, self._radii, self._hinges) - self._lines.at(values)

    def estimator_at(self, value):
        fitted = copy.copy(self.estimator)
        fitted.solver = fitted.solver_ = self._params_at(value)["solver"]
        fitted.coef_ = self.coef_at(value)
        fitted.dual_gap_ = self.gap_at(value)
        return fitted


def radius_path(
    estimator,
    X,
    y,
    *,
    sample_weight=None,
    eps=None,
    kappa=None,
    radius_min=None,
    radius_max=None,
    max_breakpoints=None,
):
    """See `regularization_path`.

    Starts where zero weights are good enough, or at ``radius_min``, and solves to ``kappa * eps``
    at breakpoints as far apart as chords and lines certify what is between.
    """
    eps, kappa, radius_min, radius_max = check_walk(
        eps, KAPPA["exact"] if kappa is None else kappa, ("radius_min", radius_min),
        ("radius_max", radius_max), max_breakpoints,
    )  # fmt: skip
    fitted = clone(estimator)
    blocks, _ = fitted._make_blocks(X, y, sample_weight)
    max_iter = fitted._most_passes(blocks)
    eps = EPS * blocks.max_loss if eps is None else eps
    method = begin(
        fitted.solver_,
        blocks,
        lam=1.0,
        tol=kappa * eps,
        rng=check_random_state(estimator.random_state),
    )
    method = _Method(method, kappa * eps)
    start, natural = method.radii_at_zero()
    end = radius_max if radius_max is not None else max(WIDEST * natural, start)
    start = max(start, radius_min or 0.0)
    walk = Walk(
        method, eps, lambda left, right: BallPiece(left, right, method.lines),
        ends=(min(start, end), end), at_end="radius_max", max_iter=max_iter,
        max_breakpoints=max_breakpoints, verbose=estimator.verbose,
    )  # fmt: skip
    walk.run()
    walk.warn_if_short("radius", walk.solved[-1].radius)
    return RadiusPath(
        fitted, walk.solved, method.lines, hinge_at_zero=method.hinge_at_zero, eps=eps,
        terminated_by=walk.ended, n_oracle_calls=int(blocks.counts[block_rules.CALLS]),
    )  # fmt: skip


class _Method:
    """A solver of one ball after the other, whose mixtures are bounds for all of them."""

    def __init__(self, method, tol):
        self.method, self.tol = method, tol
        self.step, self.certify = method.step, method.certify
        self.lines = Lines()
        blocks = method.blocks
        # Exact at radius 0: the worst answers of all samples.
        self.hinge_at_zero, sweep = blocks.ask(np.zeros(blocks.n_weights))
        direction, loss = blocks.corner_of(sweep.answers)
        self._line_at_zero = float(loss), method.dual_norm(direction)
        self.lines.add([self._line_at_zero])

    def radii_at_zero(self):
        """Up to where zero weights have a gap below ``tol``, and where their line is at zero."""
        loss, norm = self._line_at_zero
        if norm <= 0.0:
            raise ValueError("all outputs have the same features: there is nothing to learn")
        # The gap of an oracle with loose bounds does not go to 0 with the radius.
        slack = self.hinge_at_zero - loss
        return max(self.tol - slack, 0.5 * self.tol) / norm * (1 - TOUCH), loss / norm

    def move_to(self, radius):
        """The ball of another radius, whose optimum is known to be above the lines."""
        self.method.move_to(radius, float(self.lines.at(radius)))

    def breakpoint(self):
        """The best weights met."""
        if not self.method.blocks.certified:
            raise ValueError(
                "a path over radii needs an oracle that is exact or bounds the score of its "
                "answers: take such an oracle, or a grid over solver__radius"
            )
        if self.method.lines:
            self.lines.add(self.method.lines)
            self.method.lines.clear()
        return self.method.breakpoint()
