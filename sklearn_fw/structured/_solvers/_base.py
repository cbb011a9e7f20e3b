"""What every solver of the structured SVM has in common."""

from abc import abstractmethod
from dataclasses import KW_ONLY
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ..._core import check
from ..._core.loop import IterativeMethod
from ..._core.parameters import Parameterized, check_parameters
from ..._kernels import lazy

block_rules = lazy("structured.block_rules")

NEEDED = ("step", "certify", "weights")


class Solution(NamedTuple):
    """A point and what is known about it; None where a solver does not know."""

    w: np.ndarray
    primal: float | None
    dual: float | None
    gap: float | None
    block_gaps: np.ndarray | None


class Breakpoint(NamedTuple):
    """A solution along a path, and what is known about it."""

    at: float  # lam, or the radius of a ball
    w: np.ndarray
    hinge: float  # bound on the mean loss of the weights
    gap: float
    loss: float | None = None  # l of its dual variables
    u: np.ndarray | None = None  # of its dual variables, where that is not lam w


class Solver(Parameterized):
    """Settings of an optimization method; base class of solvers, also of your own.

    A subclass keeps its settings as parameters, which are grid keys ``solver__name``, and has a
    method `start`. As ``StructuredSVM(solver=...)`` it works with every model and every oracle.

    Attributes
    ----------
    certified : bool
        Of the class, default True: whether the rows of the method hold a "dual_gap", so that
        ``tol`` can end the fit.
    trains : tuple of str
        Of the class, default ("hinge",): values of ``StructuredSVM(surrogate=...)`` supported.

    See Also
    --------
    Subgradient : A method on weights.
    BlockFrankWolfe : A method on the distributions of samples.

    Notes
    -----
    The training set, ``blocks``, keeps for every sample i a distribution over outputs, all of it on
    the truth to begin with. With feature differences ``psi_i(y) = phi(x_i, y_i) - phi(x_i, y)``,
    values ``H_i(y; w) = L_i(y) - <w, psi_i(y)>`` and weights p_i of samples, of sum one, the
    distributions make the weights ``w = sum_i p_i E[psi_i] / lam`` and ``l = sum_i p_i E[L_i]``,
    and the dual objective ``l - lam / 2 |w|^2``. It has

    - ``n_blocks``, ``n_weights``, ``weight`` (p_i), ``lam``, ``w``, ``loss`` (``p_i E[L_i]``),
    - ``reset(lam)``: all mass on the truth, to be called first; with ``capacity=k`` samples keep
      outputs, k each to begin with,
    - ``answer(i, w, loss_weight=1.0)``: one call of the oracle; an object with ``value`` (the
      largest ``loss_weight L_i(y) - <w, psi_i(y)>``), ``slack`` (what it may lack), ``loss`` and
      the output,
    - ``answers(order, w)``: a list of such answers for several samples, whose calls are made by all
      workers at once,
    - ``surrogate``: the loss, with ``temperature`` (0 for the hinge) and ``loss_weight``,
    - ``smoothed_answer(i, w, temperature, loss_weight=1.0)``: outputs in proportion to
      ``exp(H_i(y; w) / temperature)``, for oracles with marginals; its ``value`` is the smoothed
      maximum, and it has ``loss`` (expected) and ``entropy``,
    - ``smoothed_sweep(w, temperature, loss_weight=1.0, mean=False)``: the same for all samples, as
      arrays ``value``, ``loss`` and ``entropy``, and on request ``mean = sum_i p_i E[psi_i]``,
    - ``certify_smoothed(w)``: from such a pass, ``primal``, ``gradient``, ``dual`` and ``gap`` of
      the objective with the smooth surrogate at any w,
    - ``add_to(i, answer, factor, out)``: ``out += factor psi_i``,
    - ``direction(i, head, tail=None)``: from one distribution of sample i to another, each an
      answer, a smoothed answer or None, the present one; it has ``square``, the squared norm of
      what ``E[psi_i]`` changes by, and ``loss``,
    - ``move(i, direction, gamma)``: so far along it; w and l follow,
    - ``values(i)``: ``E[H_i]`` at ``w``, and H_i of the outputs that are kept, or None,
    - ``vertices(i)``: these outputs, with their number ``size``, arrays ``alpha`` (probabilities,
      which a solver sets itself) and ``loss``, and methods ``find(answer)`` (its place, or -1),
      ``put(place, answer)`` and ``remove(place)``, where the last one takes the place; ``grow()``
      makes room for more. A place is an end of a direction, too,
    - ``ask(w)``: n calls of the oracle; ``sum_i p_i max_y H_i(y; w)``, and what was answered,
    - ``certify()``: n calls at ``w``; an object with ``primal``, ``dual`` and ``gap``,
    - ``refresh()``: w and l computed again, against the drift of many moves,
    - ``export()``, ``restore(exported)``: the distributions, for a warm start.

    Examples
    --------
    Frank-Wolfe steps of fixed length on one sample after the other:

    >>> import numpy as np
    >>> from sklearn_fw.structured import Solver, StructuredSVM
    >>> class FixedSteps(Solver):
    ...     def start(self, blocks, *, lam, tol, rng, warm=None):
    ...         blocks.reset(lam)
    ...         return Run(blocks)
    >>> class Run:
    ...     def __init__(self, blocks):
    ...         self.blocks, self.n_passes = blocks, 0
    ...     def step(self):
    ...         for i in range(self.blocks.n_blocks):
    ...             answer = self.blocks.answer(i, self.blocks.w)
    ...             direction = self.blocks.direction(i, answer)
    ...             self.blocks.move(i, direction, 2.0 / (self.n_passes + 2.0))
    ...         self.n_passes += 1
    ...         return self.certify()
    ...     def certify(self):
    ...         point = self.blocks.certify()
    ...         return {
    ...             "objective": point.primal, "dual_objective": point.dual, "dual_gap": point.gap
    ...         }
    ...     def weights(self):
    ...         return self.blocks.w
    >>> svm = StructuredSVM("multiclass", solver=FixedSteps(), C=1.0, tol=0.05)
    >>> svm.fit([[0.0], [1.0], [0.1], [0.9]], [0, 1, 0, 1]).converged_
    True
    """

    certified = True
    trains = ("hinge",)
    _needs_features = False  # which scores that are linearized do not have

    @abstractmethod
    def start(self, blocks, *, lam, tol, rng, warm=None):
        """Begin on a training set.

        Parameters
        ----------
        blocks : object
            The training set, see the notes of the class.
        lam, tol : float
            Regularization ``1 / (C n)``, and gap to reach, relative to the objective where
            ``blocks.relative_tol``.
        rng : RandomState
            Source of all random numbers.
        warm : dict or None, default=None
            Export of a previous method, by its ``export()`` or that of its blocks.

        Returns
        -------
        method : object
            ``step()`` makes one pass, and returns None or a row of ``history_``: a dict of numbers
            with "objective" and, if ``certified``, "dual_gap" among them. ``certify()`` returns
            such a row for the current point, and ``weights()`` that point.
        """


class BoxSolver(Solver):
    """Base of solvers that keep the weights in a box."""

    _: KW_ONLY
    lower_bounds: object = None
    upper_bounds: object = None

    def _reset(self, blocks, lam, warm=None, **options):
        """Begin on a training set with the box of the parameters, which is returned."""
        bounds = check_bounds(self.lower_bounds, self.upper_bounds, blocks.n_weights)
        blocks.reset(lam, bounds=bounds, **options)
        if warm is not None:
            blocks.restore(warm)
        return bounds


def begin(solver, blocks, **options):
    """What `Solver.start` returns, which has to be a method object."""
    check_parameters(solver)
    method = solver.start(blocks, **options)
    missing = [name for name in NEEDED if not callable(getattr(method, name, None))]
    if missing or isinstance(method, type):
        raise TypeError(
            f"start of the solver {type(solver).__name__} must return a method object with "
            f"{', '.join(NEEDED)}; got {method!r}"
        )
    own = callable(getattr(method, "solution", None))
    return method if own else _UserMethod(method, solver, blocks)


class _UserMethod:
    """A method that says no more than it must, with its rows and weights checked."""

    def __init__(self, method, solver, blocks):
        self._method, self._blocks, self._row = method, blocks, {}
        self._name, self._certified = type(solver).__name__, solver.certified

    def __getattr__(self, name):  # export, breakpoint, move_to and whatever else there is
        return getattr(self._method, name)

    def step(self):
        row = self._method.step()
        return None if row is None else self._checked(row, "step")

    def certify(self):
        return self._checked(self._method.certify(), "certify")

    def weights(self):
        name = f"weights() of the solver {self._name}"
        return check.shaped(self._method.weights(), name, self._blocks.n_weights)

    def solution(self):
        values = (self._row.get(name) for name in ("objective", "dual_objective", "dual_gap"))
        return Solution(self.weights().copy(), *values, None)

    def _checked(self, row, method):
        name = f"{method} of the solver {self._name}"
        if not isinstance(row, dict) or "objective" not in row:
            raise TypeError(
                f"{name} must return a dict of numbers with the key 'objective', got {row!r}"
            )
        for key, value in row.items():
            if value is not None and not isinstance(value, Real):
                raise TypeError(f"{key!r} of the row that {name} returned must be a number")
        if self._certified and row.get("dual_gap") is None:
            raise ValueError(
                f"{name} returned no 'dual_gap': set certified = False in the solver's class"
            )
        n_calls = int(self._blocks.counts[block_rules.CALLS])
        self._row = {"n_oracle_calls": n_calls, "dual_gap": None, **row}
        return self._row


def has_radius(solver):
    """Whether a solver bounds the norm of the weights in place of the penalty."""
    return getattr(solver, "radius", None) is not None


class DualMethod(IterativeMethod):
    """A run on the distributions of samples, with exact gap passes now and then.

    Subclasses have ``settings``, ``blocks``, ``tol`` and ``run_pass()``, true if no gap is left.
    """

    check_first = False  # a warm start may be good enough already
    until_check = None  # passes from one certificate to the next, where it is not ``gap_check``
    passes_since_check = 0
    last = None  # certificate of the current point

    def step(self):
        if self.check_first:
            self.check_first = False
            return self.certify()
        if self.run_pass() or self._is_check_due():
            return self.certify()
        self.last = None
        return None

    def _order(self):
        """The visits of a pass: numbers of blocks or codes, and random numbers for codes."""
        n, rng, sampling = self.blocks.n_blocks, self.rng, self.settings.sampling
        uniforms = rng.random_sample(n) if sampling == "gap" else np.zeros(n)
        if sampling == "uniform":
            return rng.randint(n, size=n), uniforms
        if sampling == "shuffle":
            return rng.permutation(n), uniforms
        # Blocks without a gap yet come first, in random order.
        unseen = np.flatnonzero(np.isinf(self.blocks.gaps.value))
        order = np.full(n, block_rules.BY_GAP if sampling == "gap" else block_rules.BY_MAX_GAP)
        order[: len(unseen)] = rng.permutation(unseen)
        return order, uniforms

    def _is_check_due(self):
        if self.passes_since_check >= (self.until_check or int(self.settings.gap_check)):
            return True
        return self.blocks.gaps.value.sum() <= self._known_enough()

    def _known_enough(self):
        """Known gaps that make it likely that the real ones are small enough, too."""
        return float(self.settings.early_exit) * self.blocks.gap_limit(self.tol)

    def certify(self):
        blocks, estimate = self.blocks, float(self.blocks.gaps.value.sum())
        self.passes_since_check = 0
        blocks.refresh()
        self.last = blocks.certify()
        blocks.set_gaps(self.last.sweep, getattr(self.settings, "gap_degree", 1.0))
        return numbers(self.last, blocks, estimate)

    def weights(self):
        return self.blocks.w

    def solution(self):
        if self.last is None:
            self.certify()
        point, gaps = self.last, self.blocks.gaps.value
        return Solution(point.w.copy(), point.primal, point.dual, point.gap, gaps)

    def move_to(self, lam):
        """Continue at another lam; the mass off the truth is scaled to the best dual value."""
        blocks, old = self.blocks, self.blocks.lam
        square = old**2 * float(blocks.w @ blocks.w)
        if lam < old and square > 0.0:
            share = min(max(self._dual_loss() * lam / square, lam / old), 1.0)
            if share < 1.0:
                self._scale(share)
        blocks.lam = lam
        self.rules = self.rules._replace(lam=lam)
        blocks.refresh()
        # Unknown gaps make the first pass visit every block.
        blocks.fill_gaps(np.full(blocks.n_blocks, np.inf), self.rules.gap_degree)
        blocks.gaps.total[0] = 0.0
        self.last, self.passes_since_check = None, 0

    def _dual_loss(self):
        """The dual value at w = 0."""
        return self.blocks.loss.sum()

    def _scale(self, share):
        self.blocks.scale(share)


class SweepMethod(DualMethod):
    """Sweeps and, between them, what ``advance()`` makes of the answers of the last one."""

    def step(self):
        if self.last is not None:
            self.advance()
        return self.certify()

    def certify(self):
        self.last = self.blocks.certify()
        self.blocks.set_gaps(self.last.sweep)
        return numbers(self.last, self.blocks)


class BestPointMethod(IterativeMethod):
    """A run whose point is the best one met, ``best_w``, with the best bound from below."""

    primal, dual = np.inf, -np.inf
    n_unbounded = 0  # answers without a bound at the best point, the only ones that count
    lines = None  # of a path over balls: what every mixture proves for all radii

    @property
    def gap(self):
        return self.primal - self.dual

    def weights(self):
        return self.best_w

    def solution(self):
        return Solution(self.best_w.copy(), self.primal, self.dual, self.gap, None)

    def row(self):
        return numbers(self, self.blocks)

    def take(self, w, primal):
        """Whether w, at which oracles were just called, becomes the best point."""
        blocks, is_better = self.blocks, primal < self.primal
        if is_better:
            self.primal, self.best_w = float(primal), w.copy()
            self.n_unbounded = blocks.n_unbounded - self.n_unbounded
        blocks.n_unbounded, blocks.objective = self.n_unbounded, self.primal
        return is_better

    def breakpoint(self):
        """The best point in the current ball."""
        if not self.blocks.certified:
            raise ValueError(
                "a path over radii needs an oracle that is exact or bounds the scores of answers"
            )
        return Breakpoint(self.radius, self.best_w.copy(), self.primal, self.gap)


def dual_norm(v, norm):
    """The largest ``<w, v>`` over the unit ball of a norm, "l1" or "l2"."""
    return float(np.linalg.norm(v) if norm == "l2" else np.abs(v).max(initial=0.0))


def check_switch(value, name):
    if not (isinstance(value, bool) or check.is_auto(value)):
        raise ValueError(f"{name} must be True, False or 'auto', got {value!r}")


def check_bounds(lower, upper, n_weights):
    """Box as two full vectors, or None when both sides are None."""
    if lower is None and upper is None:
        return None
    sides = []
    for value, name, default in ((lower, "lower_bounds", -np.inf), (upper, "upper_bounds", np.inf)):
        side = check.array(default if value is None else value, name, finite=False)
        if side.ndim and side.shape != (n_weights,):
            shape = (n_weights,)
            raise ValueError(f"{name} must be a number or have shape {shape}, got {side.shape}")
        sides.append(np.array(np.broadcast_to(side, n_weights)))
    if np.any(sides[0] == np.inf) or np.any(sides[1] == -np.inf):
        raise ValueError("lower_bounds must be below inf and upper_bounds above -inf")
    if np.any(sides[0] > sides[1]):
        j = int(np.argmax(sides[0] > sides[1]))
        raise ValueError(
            f"lower_bounds must not exceed upper_bounds, got {sides[0][j]} > {sides[1][j]} at {j}"
        )
    return tuple(sides)


def with_bounds_of(solver, model):
    """The solver, with the box that the model declares unless it has one of its own within it."""
    bounds = model.bounds() if callable(getattr(model, "bounds", None)) else (None, None)
    bounds = check.unpacked(bounds, "lower, upper", f"bounds of {type(model).__name__}")
    lower, upper = (
        None if side is None else check.array(side, f"{name}_bounds", finite=False)
        for side, name in zip(bounds, ("lower", "upper"), strict=True)
    )
    is_free = lower is None or np.all(np.isneginf(lower))
    if is_free and (upper is None or np.all(np.isposinf(upper))):
        return solver
    if not hasattr(solver, "lower_bounds"):
        raise ValueError(
            f"{type(model).__name__} has bounds on the weights, which solver "
            f"{type(solver).__name__} cannot keep: use 'bcfw' or another one with lower_bounds"
        )
    if solver.lower_bounds is not None or solver.upper_bounds is not None:
        if getattr(model, "_needs_bounds", False):
            _check_within(solver, lower, upper, model)
        return solver
    return clone(solver).set_params(lower_bounds=lower, upper_bounds=upper)


def _check_within(solver, lower, upper, model):
    """Refuse a box of the user that leaves that of the model."""
    size = model.size_joint_feature
    own = check_bounds(solver.lower_bounds, solver.upper_bounds, size)
    box = check_bounds(lower, upper, size)
    outside = np.flatnonzero((own[0] < box[0]) | (own[1] > box[1]))
    if len(outside):
        j = int(outside[0])
        raise ValueError(
            f"lower_bounds and upper_bounds exceed the bounds of {type(model).__name__}: weight "
            f"{j} may be from {box[0][j]} to {box[1][j]}; None takes those of the model"
        )


def numbers(certificate, blocks, estimate=np.inf):
    """A row of the history, from anything with ``primal``, ``dual`` and ``gap``."""
    return {
        "n_oracle_calls": int(blocks.counts[block_rules.CALLS]),
        "objective": certificate.primal,
        "dual_objective": certificate.dual,
        "dual_gap": certificate.gap,
        "estimated_gap": estimate if np.isfinite(estimate) else certificate.gap,
    } | (blocks.traffic.row() if blocks.traffic else {})
