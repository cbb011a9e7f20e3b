"""Cutting planes: one slack variable for all samples, or one for each."""

from dataclasses import KW_ONLY

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq

from ..._core import check
from ..._core.budget import budget_now
from ...optim._frank_wolfe._corrective import maximize_on_simplex
from ._base import BestPointMethod, BoxSolver, SweepMethod, check_switch
from ._visits import revisit_rules, visit_repeatedly

# The quadratic program is solved to this share of the gap, in this many Newton steps at most where
# there are bounds.
EXACTNESS, MOST_STEPS = 1e-3, 100
MOST_DENSE = 0.5  # share of entries that are not zero of planes in CSR
MOST_CACHED = 20  # cutting planes from the cache in a row
# That of all samples is solved until its gap is SHARE times the last certified one, by MOST_ROUNDS
# rounds at most; a round visits the samples that hold most of its gap REPEATS times.
SHARE, MOST_ROUNDS, REPEATS, MOST_OF_GAP = 0.3, 100, 2, 0.9


class OneSlack(BoxSolver):
    """Cutting planes with one slack variable for all samples, and a certified gap.

    Every iteration calls the oracle for all samples; the answers together are one linear function
    below the mean hinge. The dual of the quadratic program over all these functions is solved
    exactly by an active-set method. Choose it for oracles that run in many workers, to verify
    another solver, or when migrating from SVM-struct; "bcpfw" and "cached" take fewer oracle calls.

    Parameters
    ----------
    step_size : float, default=0.3
        In (0, 1]: fraction of the way from the best point so far to the minimum of the quadratic
        program, where the oracle is called. 1 is the method of [1]_; shorter steps take half as
        many iterations, as in [2]_.
    cache : bool or "auto", default="auto"
        Make cutting planes of earlier answers of each sample before the oracle is called. "auto" is
        False for compiled passes, whose oracles cost less than the search for such answers, and
        where answers are relaxed.
    cache_f : float, default=0.1
        A cutting plane from the cache is good enough when it raises the lower model at the point
        by this fraction of the gap.
    cache_size : int, default=50
        Outputs per sample in the cache.
    max_idle : int, default=20
        Iterations after which a cutting plane without a dual variable is removed.
    lower_bounds, upper_bounds : float, array-like of shape (n_weights,) or None, default=None
        Box for the weights; None takes ``model.bounds()``, if any.

    See Also
    --------
    NSlack : Cutting planes of every sample, fewer iterations.
    BlockFrankWolfe : One sample at a time.

    Notes
    -----
    The weights returned are those of the lowest objective so far, and ``dual_objective_`` is the
    value of the quadratic program. Memory: a weight vector, sparse where it is, and an output of
    every sample for each cutting plane.

    Deviations from [1]_: the point of the oracle calls, the threshold of the cache, a fraction of
    the gap, and the stopping rule, the certified gap of the common objective.

    References
    ----------
    .. [1] T. Joachims, T. Finley, C.-N. J. Yu, "Cutting-plane training of structural SVMs", Machine
       Learning 77, 2009: Algorithm 3 and section 4.2.
    .. [2] V. Franc, S. Sonnenburg, "Optimized cutting plane algorithm for large-scale risk
       minimization", JMLR 10, 2009: section 3.

    Examples
    --------
    >>> from sklearn_fw.structured import OneSlack, StructuredSVM
    >>> svm = StructuredSVM(solver=OneSlack(), C=1.0, tol=1e-6)
    >>> svm.fit([[0.0], [1.0], [0.1], [0.9]], [0, 1, 0, 1]).converged_
    True
    """

    _: KW_ONLY
    step_size: check.within(0, 1, "right") = 0.3
    cache: check_switch = "auto"
    cache_f: check.not_negative = 0.1
    cache_size: check.at_least(1) = 50
    max_idle: check.at_least(1) = 20

    def start(self, blocks, *, lam, tol, rng, warm=None):
        keeps_none = blocks.is_compiled or blocks.parted or blocks.relaxed
        cache = not keeps_none if check.is_auto(self.cache) else self.cache
        self._reset(blocks, lam, warm, capacity=int(self.cache_size) + 1 if cache else 0)
        return _OneSlackMethod(self, blocks, bool(cache))


def _row(v):
    """A vector as one row, which is CSR where that takes less memory."""
    if sp.issparse(v) or v.ndim == 2:
        return v
    return sp.csr_array(v[None]) if MOST_DENSE * len(v) > np.count_nonzero(v) else v[None]


def _dense(v):
    return v.toarray() if sp.issparse(v) else v


class _Planes:
    """Functions ``l_k - lam <w, v_k>`` below the mean hinge, and the dual variables of their means.

    The first is zero, that of the truth; the second, that of the distributions at the start.
    """

    def __init__(self, blocks):
        self.blocks = blocks
        self.v = _row(np.zeros(blocks.n_weights))  # one row for each plane
        self.gram = np.zeros((1, 1))
        self._append(blocks.v)
        self.loss = np.array([0.0, blocks.loss.sum()])
        self.alpha = np.array([0.0, 1.0])
        self.idle = np.zeros(2, np.int64)
        self.answers = [None, None]

    def mean(self):
        return self.alpha @ self.v, float(self.alpha @ self.loss)

    def model(self, w):
        """The largest of the functions at w."""
        return float((self.loss - self.blocks.lam * (self.v @ w)).max())

    def add(self, answers):
        v, loss = self.blocks.vertex_of(answers)
        self._append(v)
        self.loss, self.alpha = np.append(self.loss, loss), np.append(self.alpha, 0.0)
        self.idle = np.append(self.idle, 0)
        self.answers.append(answers)

    def _append(self, v):
        v = _row(v)
        if sp.issparse(v) and sp.issparse(self.v):
            self.v = sp.vstack([self.v, v], format="csr")
        else:
            self.v = np.vstack([_dense(self.v), _dense(v)])
        self.gram = np.pad(self.gram, (0, 1))
        # By a dense vector: products of sparse matrices take several times as long.
        self.gram[-1] = self.gram[:, -1] = self.blocks.lam * (self.v @ _dense(v).ravel())

    def remove_idle(self, most):
        """Remove planes that had no dual variable for more than ``most`` solutions."""
        self.idle = np.where(self.alpha > 0.0, 0, self.idle + 1)
        kept = self.idle <= most
        kept[:2] = True
        if kept.all():
            return
        kept = np.flatnonzero(kept)
        self.v, self.gram = self.v[kept], self.gram[np.ix_(kept, kept)]
        self.loss, self.alpha, self.idle = self.loss[kept], self.alpha[kept], self.idle[kept]
        self.answers = [self.answers[k] for k in kept]

    def solve(self, accuracy):
        if not self.blocks.bounded:
            self.alpha = maximize_on_simplex(self.gram, self.loss, self.alpha, accuracy)
            return
        for _ in range(MOST_STEPS):
            if not self._newton_step(accuracy):
                return

    def _newton_step(self, accuracy):
        """Towards the maximum of the quadratic that holds while the same weights are in bounds."""
        blocks, lam, v, alpha = self.blocks, self.blocks.lam, self.v, self.alpha
        point = alpha @ v
        slopes = self.loss - lam * (v @ blocks.clip(point))
        if slopes.max() - alpha @ slopes <= accuracy:
            return False
        free = v[:, (point > blocks.lower) & (point < blocks.upper)]
        gram = lam * _dense(free @ free.T)
        change = maximize_on_simplex(gram, slopes + gram @ alpha, alpha, 0.5 * accuracy) - alpha
        along, gain = change @ v, change @ self.loss

        def slope(step):
            return gain - lam * (along @ blocks.clip(point + step * along))

        if not slope(0.0) > 0.0:
            return False  # by rounding
        step = 1.0 if slope(1.0) >= 0.0 else brentq(slope, 0.0, 1.0, xtol=1e-15)
        self.alpha = np.maximum(alpha + step * change, 0.0)
        self.alpha /= self.alpha.sum()
        return True

    def hand_over(self):
        """Make the mean the distributions of the blocks."""
        blocks, alpha = self.blocks, self.alpha
        mass = alpha[0] + alpha[1]
        blocks.scale(alpha[1] / mass if mass > 0.0 else 0.0)
        for answers, share in zip(self.answers[2:], alpha[2:]):
            mass += share
            if share > 0.0:
                blocks.step_towards(answers, share / mass)
        blocks.refresh()


class _OneSlackMethod(BestPointMethod):
    answers = None  # of the last calls, whose plane is not used yet

    def __init__(self, settings, blocks, cache):
        self.settings, self.blocks, self.cache = settings, blocks, cache
        self.planes = _Planes(blocks)
        self.mean = self.planes.mean()
        self.w = self.best_w = blocks.w.copy()

    def step(self):
        """A new plane, the quadratic program, and n oracle calls."""
        if self.answers is not None:
            self._take_in(self.answers)
            for _ in range(MOST_CACHED if self.cache else 0):
                answers = self._cached()
                if answers is None:
                    break
                self._take_in(answers)
        return self.certify()

    def _take_in(self, answers):
        planes, blocks = self.planes, self.blocks
        planes.add(answers)
        planes.solve(EXACTNESS * self.gap)
        planes.remove_idle(int(self.settings.max_idle))
        self.mean = planes.mean()
        minimum = blocks.clip(self.mean[0])
        self.w = self.best_w + float(self.settings.step_size) * (minimum - self.best_w)

    def _cached(self):
        """The best earlier answers at w, if their plane is far enough above the others."""
        blocks = self.blocks
        blocks.w[:] = self.w  # where outputs are compared; `refresh` makes it follow again
        slots, values, _ = blocks.best_kept()
        ahead = blocks.weight @ values - self.planes.model(self.w)
        enough = ahead > 0.0 and ahead >= float(self.settings.cache_f) * self.gap
        return blocks.kept(slots) if enough else None

    def certify(self):
        """n oracle calls at the current point."""
        blocks, w = self.blocks, self.w
        self.dual = max(self.dual, blocks.dual_value(*self.mean))
        hinge, sweep = blocks.ask(w)
        self.take(w, 0.5 * blocks.lam * (w @ w) + hinge)
        self.answers = sweep.answers
        if self.cache:
            blocks.w[:] = w
            blocks.keep(self.answers)
        return self.row() | {"n_planes": len(self.planes.loss)}

    def solution(self):
        """The best point so far; the blocks get the dual variables."""
        self.planes.hand_over()
        return super().solution()


# ---- one slack variable for each sample ----------------------------------------------------------


class NSlack(BoxSolver):
    """Cutting planes with a slack variable for every sample, and a certified gap.

    Every iteration calls the oracle for all samples and keeps the answers. The dual over the
    outputs kept so far, that of `BlockFrankWolfe`, is then solved by pairwise steps without oracle
    calls. Choose it for slow oracles in many workers; it takes the fewest rounds of calls.

    Parameters
    ----------
    cache_size : int, default=50
        Outputs per sample. When full, the worst one without a dual variable makes room; if all are
        in use the table grows.
    lower_bounds, upper_bounds : float, array-like of shape (n_weights,) or None, default=None
        Box for the weights; None takes ``model.bounds()``, if any.

    See Also
    --------
    OneSlack : One slack variable for all samples.
    MinibatchFrankWolfe : Oracles of some samples at a time.
    BlockFrankWolfe : One sample at a time.

    Notes
    -----
    Deviations from [1]_: all samples get answers before the quadratic program is solved again, and
    the certified gap ends the fit. Memory: as `BlockFrankWolfe` with vertices.

    References
    ----------
    .. [1] I. Tsochantaridis, T. Joachims, T. Hofmann, Y. Altun, "Large margin methods for
       structured and interdependent output variables", JMLR 6, 2005: Algorithm 1.
    .. [2] T. Joachims, T. Finley, C.-N. J. Yu, "Cutting-plane training of structural SVMs", Machine
       Learning 77, 2009: Algorithm 1.

    Examples
    --------
    >>> from sklearn_fw.structured import NSlack, StructuredSVM
    >>> svm = StructuredSVM(solver=NSlack(), C=1.0, tol=1e-6)
    >>> svm.fit([[0.0], [1.0], [0.1], [0.9]], [0, 1, 0, 1]).converged_
    True
    """

    _: KW_ONLY
    cache_size: check.at_least(2) = 50

    def start(self, blocks, *, lam, tol, rng, warm=None):
        self._reset(blocks, lam, warm, capacity=int(self.cache_size))
        return _NSlackMethod(blocks, rng)


class _NSlackMethod(SweepMethod):
    def __init__(self, blocks, rng):
        self.blocks, self.rng, self.rules = blocks, rng, revisit_rules(blocks.lam)

    def advance(self):
        """The quadratic program over what is kept."""
        self.blocks.keep(self.last.sweep.answers)
        self._solve(SHARE * self.last.gap)

    def _solve(self, enough):
        """Pairwise steps among outputs that are kept, until they have no more to gain."""
        blocks = self.blocks
        for _ in range(MOST_ROUNDS):
            _, values, current = blocks.best_kept()
            gaps = np.maximum(blocks.weight * (values - current), 0.0)
            if gaps.sum() <= enough or budget_now().is_spent:
                break
            order = np.argsort(-gaps)
            most = np.searchsorted(np.cumsum(gaps[order]), MOST_OF_GAP * gaps.sum())
            visit_repeatedly(blocks, order[: most + 1], REPEATS, self.rng, self.rules)
        blocks.refresh()
