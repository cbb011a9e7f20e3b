"""The dual problem of a structured SVM, one block of variables per sample.

Solvers use `Problem` alone; `PartProblem` holds models with parts, `BlackBoxProblem` all others.

    primal   P(w) = lam / 2 |w|^2 + sum_i p_i max_y H_i(y; w)
    dual     D(v) = l - lam / 2 |w|^2 - lam (<[v - ub]_+, ub> - <[lb - v]_+, lb>),  w = clip(v)

with ``H_i(y; w) = L_i(y) - <w, phi(x_i, y_i) - phi(x_i, y)>`` and p_i = s_i / sum s.
"""

from typing import NamedTuple

import numpy as np

from ..._kernels import lazy
from .._surrogates import HINGE

block_rules = lazy("structured.block_rules")


class Answer(NamedTuple):
    """An output of one sample that its oracle found best at some weights."""

    vertex: object  # the output, in the form of its blocks
    loss: float  # L_i
    value: float  # H_i at these weights, with the loss as often as in the call
    slack: float = 0.0  # what the best H_i may exceed it by, inf if unknown


class Mixture(NamedTuple):
    """A distribution over the outputs of one sample."""

    point: object  # its mean, in the form of its blocks
    loss: float  # expected L_i
    value: float  # smoothed maximum of H_i
    entropy: float = 0.0  # of the Gibbs distributions, where it is known


def means_of(answers, weights):
    return tuple(
        float(np.dot(weights, [getattr(answer, name) for answer in answers]))
        for name in ("loss", "value")
    )


class Direction(NamedTuple):
    """From one point of a block to another."""

    square: float  # squared norm of the difference of their mean features
    loss: float  # difference of their expected L_i
    delta: object  # in the form of its blocks


class Sweep(NamedTuple):
    """Loss-augmented predictions of all samples at one w."""

    hinge: np.ndarray  # (n,) max_y H_i(y)
    current: np.ndarray  # (n,) expected H_i at the dual variables of the block
    answers: object  # the maximizers, in the form that `step_towards` takes
    # (n,) what hinges may lack if the oracle is not exact: up to its bounds, inf without a bound
    slack: object = 0.0


class SmoothedSweep(NamedTuple):
    """Gibbs distributions of all samples at one w, in proportion to ``exp(H_i(y) / tau)``."""

    value: np.ndarray  # (n,) tau log sum_y exp(H_i(y) / tau)
    loss: np.ndarray  # (n,) expected L_i
    entropy: np.ndarray  # (n,)
    mean: object  # (n_weights,) ``sum_i p_i E[psi_i]``; None unless requested


class Certificate(NamedTuple):
    w: np.ndarray
    primal: float
    dual: float
    gap: float
    sweep: Sweep | SmoothedSweep
    gradient: np.ndarray | None = None  # of smooth losses


class Problem:
    """Training set and dual variables of a structured SVM.

    Attributes
    ----------
    n_labels : float
        Mean over samples of the number of nodes with a label; 1 where outputs have no nodes.
    mean_square : float
        About the mean over samples of the squared norm of the features that a wrong output changes.
    counts : ndarray of int
        See `_kernels.structured.block_rules`.

    Notes
    -----
    Beyond the methods in the notes of `Solver`, for solvers of this package:

    - ``top_answers(i, w, k)``: at most k answers, best first; ``mix(i, answers, weights)``: their
      `Mixture`,
    - ``keep(answers)`` of a sweep as vertices of probability zero, in place of the worst of these
      where memory is full; ``kept(slots)``: vertices in the form of the answers of a sweep,
    - ``sweep(w, augmented)``: without the loss if not ``augmented``; ``currents()`` of a sweep at
      the iterate, without oracle calls,
    - ``vertex_of(answers)``: (v_s, l_s) of the vertex of the whole domain,
    - ``step_towards(answers, gamma)``, which v and w follow at the next `refresh`,
    - ``dual_coef()``: one dict per block from output key to alpha, None when not kept,
    - ``of_samples(model, X, y, weight)``: the same problem of other samples.
    """

    workers = None  # what asks oracles, where passes are not compiled
    n_labels = 1.0
    n_nodes = None  # of all samples; None where outputs have none
    surrogate = HINGE  # what solvers minimize the mean of
    relaxed = False  # whether answers may be marginals of no distribution
    parted = False  # whether samples stay in parts, of which there are sums at one point alone
    traffic = None  # with these parts
    single = False  # whether every output is one class, and compiled code finds the best

    def __init__(self, weight, n_weights, max_loss):
        self.weight = weight
        self.n_blocks = len(weight)
        self.n_weights = n_weights
        self.max_loss = max_loss
        self.relative_tol = False  # whether a tolerance counts in units of the objective
        self.is_compiled = False  # whether passes are
        self.exact = True  # whether the oracle promises to be

    def reset(self, lam, *, capacity=0, averaging=False, bounds=None):
        """Put all mass on the truth; ``capacity`` vertices per block have explicit alphas."""
        n, d = self.n_blocks, self.n_weights
        self.lam = lam
        self.explicit = capacity > 0
        self.v = np.zeros(d)
        self.lower, self.upper = bounds or (np.empty(0), np.empty(0))
        self.w = np.clip(self.v, self.lower, self.upper) if self.bounded else self.v
        self.moments = np.zeros(d if averaging else 0)
        self.loss_moment = np.zeros(1)
        self.loss = np.zeros(n)
        self.objective = self.max_loss  # last one known; that of w = 0 to begin with
        self.counts = np.zeros(block_rules.N_COUNTS, dtype=np.int64)
        self.n_unbounded = 0  # answers without a bound, in the certificates that still count
        size = 1 << max(n - 1, 0).bit_length()
        self.gaps = block_rules.Gaps(np.full(n, np.inf), np.zeros(2 * size), np.array([np.inf]))
        # At the truth every block gap is the largest loss; the cache needs only their total.
        self.gaps.total[0] = self.max_loss
        self._reset(capacity)

    @property
    def bounded(self):
        return self.lower.size > 0

    def clip(self, v):
        return np.clip(v, self.lower, self.upper) if self.bounded else v

    def follow(self):
        """Make ``w`` the point of the box that is nearest to ``v``."""
        if self.bounded:
            np.clip(self.v, self.lower, self.upper, out=self.w)

    def dual_value(self, v, loss):
        """D at an untruncated vector and its l."""
        w = self.clip(v)
        value = loss - 0.5 * self.lam * (w @ w)
        if self.bounded:
            over, under = np.maximum(v - self.upper, 0), np.maximum(self.lower - v, 0)
            # 0 * inf at infinite bounds, which are never exceeded
            value -= self.lam * (over[over > 0] @ self.upper[over > 0])
            value += self.lam * (under[under > 0] @ self.lower[under > 0])
        return float(value)

    def averaged(self):
        """Average of the iterates (v, l) with weights proportional to their number."""
        k = float(self.counts[block_rules.VISITS])
        if not self.moments.size or k == 0:
            return self.v, self.loss.sum()
        factor = 2.0 / (k * (k + 1.0))
        v = -factor * self.moments
        v += self.v  # in place: weight vectors can be larger than everything else
        return v, self.loss.sum() - factor * self.loss_moment[0]

    @property
    def certified(self):
        """Whether certificates hold: by bounds, or by a promise that nothing contradicts."""
        kept = not self.exact or self.counts[block_rules.WORSE] == 0
        return kept and self.n_unbounded == 0

    def mean_hinge(self, sweep):
        """Bound on the mean of the hinges of a sweep; an estimate if the oracle gives no bounds."""
        n_unbounded = np.count_nonzero(~np.isfinite(sweep.slack))
        self.n_unbounded += n_unbounded
        return float(self.weight @ (sweep.hinge if n_unbounded else sweep.hinge + sweep.slack))

    def gap_limit(self, tol):
        return tol * abs(self.objective) if self.relative_tol else tol

    def narrowed(self):
        """The problem of the weights that its samples use, and which these are; None for all."""
        return self, None

    def ask(self, w):
        """n oracle calls at any w: the `mean_hinge` and its `Sweep`."""
        sweep = self.sweep(w)
        self.counts[block_rules.CALLS] += self.n_blocks
        return self.mean_hinge(sweep), sweep

    def certify(self, averaged=False):
        """Exact gap at the iterate or at the average of the iterates: n oracle calls."""
        v, loss = self.averaged() if averaged else (self.v, self.loss.sum())
        w = self.clip(v)
        self.n_unbounded = 0
        hinge, sweep = self.ask(w)
        primal = 0.5 * self.lam * (w @ w) + hinge
        dual = self.dual_value(v, loss)
        self.objective = float(primal)
        return Certificate(w, float(primal), dual, float(primal - dual), sweep)

    def smoothed_sweep(self, w, temperature, loss_weight=1.0, mean=False):
        """`SmoothedSweep` at any w, with ``loss_weight L_i`` in H_i; n calls of the oracle."""
        value, loss, entropy = np.empty((3, self.n_blocks))
        total = np.zeros(self.n_weights) if mean else None
        for i in range(self.n_blocks):
            found = self.smoothed_answer(i, w, temperature, loss_weight)
            value[i], loss[i], entropy[i] = found.value, found.loss, found.entropy
            if mean:
                self.add_to(i, found, self.weight[i], total)
        return SmoothedSweep(value, loss, entropy, total)

    def surrogate_sweep(self, w, mean=False):
        """`smoothed_sweep` of a smooth ``surrogate``, whose sums count in a certificate."""
        self.n_unbounded = 0 if self.exact else self.n_blocks
        return self.smoothed_sweep(w, *self.surrogate[1:], mean)

    def mean_loss(self, w):
        """Mean over samples of the ``surrogate`` at any w; n calls of the oracle."""
        if not self.surrogate.smooth:
            return self.ask(w)[0]
        return float(self.weight @ self.surrogate_sweep(w).value)

    def certify_smoothed(self, w):
        """Value, gradient and gap of the objective with a smooth ``surrogate`` at any w."""
        sweep = self.surrogate_sweep(w, mean=True)
        gradient = self.lam * w - sweep.mean
        primal = float(0.5 * self.lam * (w @ w) + self.weight @ sweep.value)
        gap = float(gradient @ gradient / (2.0 * self.lam))
        self.objective = primal
        return Certificate(w, primal, primal - gap, gap, sweep, gradient)

    def set_gaps(self, sweep, degree=1.0):
        gaps = np.maximum(self.weight * (sweep.hinge - sweep.current), 0.0)
        self.fill_gaps(gaps, degree)
        self.gaps.total[0] = gaps.sum()

    def fill_gaps(self, values, degree=1.0):
        """Set all block gaps and rebuild the sum tree; infinite ones are not drawn."""
        self.gaps.value[:] = values
        known = np.where(np.isfinite(values), values, 0.0) ** degree
        block_rules.fill_tree(self.gaps.tree, known)

    def quick(self):
        """The same problem with a quicker oracle, if there is one that does for a comparison."""
        return self

    def seconds_of_pass(self):
        """About the time of the oracle calls of a pass; 0 if that of visits, inf if unknown."""
        return 0.0 if self.is_compiled else np.inf

    def smoothed_answer(self, i, w, temperature, loss_weight=1.0):
        raise TypeError("a model without part scores needs surrogate='hinge' and smoother=None")

    def top_answers(self, i, w, k):
        raise TypeError(
            f"the best {k} outputs need an oracle with the method top_k, which a model that is "
            f"known by its four methods lacks: set smoother=None, or write it as a ScoredModel"
        )

    def scale(self, factor):
        """Multiply the mass off the truth, and l, by ``factor``.

        v and w stay: they are ``sum_i p_i point_i / lam``, hence already right for the scaled
        points at ``factor * lam``, which the caller sets next. After `restore`, where the present
        lam is that one already, the caller refreshes instead.
        """
        self.step_towards(self._truth(), 1.0 - factor)

    # ---- warm starts -----------------------------------------------------------------------------

    @property
    def complete(self):
        """Whether the alphas are kept and describe the iterate."""
        return self.explicit and not self.counts[block_rules.EVICTED]

    def export(self):
        """The distributions; losses are without the weights of samples, which may change."""
        return {
            "meaning": self._meaning(),
            "points": self._points(),
            "complete": self.complete,
            "loss": self.loss / self.weight,
            "lam": self.lam,
            "weight": self.weight,
            "average": (self.moments.copy(), self.loss_moment.copy(), self.counts.copy()),
            "v": self.v.copy() if self.moments.size else None,
        }

    def export_complete(self):
        """The same; None where outputs were evicted: what is left is not a distribution."""
        exported = self.export()
        return None if self.explicit and not exported["complete"] else exported

    def restore(self, exported):
        """Take over exported distributions; alphas only where both sides keep them.

        With ``grows`` there may be more samples than before, whose mass stays on the truth.
        """
        old, new, n = exported.get("meaning", ()), self._meaning(), len(exported["loss"])
        grows = exported.get("grows") and n < self.n_blocks
        if grows:
            new = [b[: len(a)] if np.ndim(a) else b for a, b in zip(old, new)]
        if len(old) != len(new) or not all(map(np.array_equal, old, new)):
            raise ValueError(
                "warm_start=True needs the outputs and the losses of the previous fit in the same "
                "order, and the inputs of a model without part scores: set warm_start=False"
            )
        if self.explicit and not exported["complete"]:
            raise ValueError(
                "warm_start=True needs dual variables that the previous fit did not keep: use the "
                "same solver, or set warm_start=False"
            )
        points = self._extended(exported["points"]) if grows else exported["points"]
        self.loss[:n] = exported["loss"] * self.weight[:n]
        self._take_points(points)
        self.refresh()
        moments, loss_moment, counts = exported["average"]
        same = self.lam == exported["lam"] and np.array_equal(self.weight, exported["weight"])
        # The average goes on, too, unless features changed: then the same duals are another v.
        if same and moments.size == self.moments.size > 0 and np.allclose(self.v, exported["v"]):
            self.moments[:], self.loss_moment[:] = moments, loss_moment
            self.counts[block_rules.VISITS] = counts[block_rules.VISITS]

    def best_kept(self):
        """Slots (n,) of the best vertices at ``w``, their H_i, and ``currents``."""
        slots, (values, current) = np.zeros(self.n_blocks, np.int64), np.empty((2, self.n_blocks))
        for i in range(self.n_blocks):
            current[i], of_vertices = self.values(i)
            slots[i] = of_vertices[: self.vertices(i).size].argmax()
            values[i] = of_vertices[slots[i]]
        return slots, values, current
