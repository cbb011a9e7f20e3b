"""The concave-convex procedure: hidden states, then the convex problem that they make, in turn."""

import numpy as np

from .._core.loop import IterativeMethod, drive
from .._kernels import lazy
from ._problems._part_sets import per_node, retarget, true_scores, truth_of
from ._solvers import begin
from ._solvers._base import Solution

block_rules = lazy("structured.block_rules")

LOOSEST = 0.5  # tolerance of the first convex problem
SHARE = 0.5  # of the last relative decrease, which the next convex problem is solved to
FASTER = 0.1  # factor of the tolerance after a solution that is no better
ROUNDING = 1e-12


class ConcaveConvex(IterativeMethod):
    """One run, as `LatentStructuredSVM` describes it.

    Parameters
    ----------
    solver : Solver
        What solves convex problems.
    blocks : PartProblem
        The training set, with the states of the start as its truth.
    impute : callable or None
        ``impute(w)`` gives the best states of all nodes under their labels, and the scores of all
        samples. None where nothing is hidden.
    lam, tol : float
        Regularisation, and the tolerance of the last convex problems.
    rng : RandomState
        Source of random numbers.
    n_passes : int
        Most passes over one convex problem.
    warm : dict or None
        Exported dual variables to begin with.
    """

    def __init__(self, solver, blocks, impute, *, lam, tol, rng, n_passes, warm):
        self.solver, self.blocks, self.impute = solver, blocks, impute
        self.lam, self.tol, self.rng = lam, tol, rng
        self.n_passes, self.warm = n_passes, warm
        self.inner_tol = tol if impute is None else max(LOOSEST, tol)
        self.point = None  # `Solution`, at the states that its weights impute
        self.counts, self.n_imputed = 0, 0

    def step(self):
        """Solve the convex problem of the present states, and find those of its solution."""
        found, n_passes = self._solve()
        states, gain = self._imputed(found.w)
        objective, last = found.primal - gain, self.point
        n_changed = int(np.count_nonzero(states != truth_of(self.blocks)))
        if last is not None and (objective > last.primal or self._is_stationary(last, found.dual)):
            # The convex problem at the last point says how little could be gained there.
            duals = [dual for dual in (last.dual, found.dual) if dual is not None]
            n_changed, dual = 0, max(duals, default=None)
            self.point = last._replace(dual=dual)
            self.inner_tol = max(self.tol, FASTER * self.inner_tol)
        else:
            self.point = self._moved(found, objective, states, n_changed)
            if last is not None:
                decrease = (last.primal - objective) / max(abs(objective), ROUNDING)
                self.inner_tol = max(self.tol, min(self.inner_tol, SHARE * decrease))
        self._keep_warm()
        gap = None if self.point.dual is None else self.point.primal - self.point.dual
        self.point = self.point._replace(gap=gap)
        return {
            "n_oracle_calls": self.n_oracle_calls, "objective": self.point.primal,
            "dual_objective": self.point.dual, "dual_gap": gap, "n_changed": n_changed,
            "n_passes": n_passes,
        }  # fmt: skip

    def _solve(self):
        """A solution of the present convex problem, and the passes that it took."""
        method = begin(
            self.solver, self.blocks, lam=self.lam, tol=self.inner_tol, rng=self.rng, warm=self.warm
        )
        outcome = drive(method, tol=self.inner_tol, max_iter=self.n_passes, relative_to="objective")
        self.counts = self.counts + self.blocks.counts
        return method.solution(), outcome.n_iter

    def _imputed(self, w):
        """States that labels allow and score best, and what they gain on the present ones."""
        blocks = self.blocks
        if self.impute is None:
            return truth_of(blocks), 0.0
        before = true_scores(blocks, w)
        states, values = self.impute(w)
        self.n_imputed += blocks.n_blocks
        # An oracle that is not exact may have known better before; ties change nothing.
        gains = values - before
        kept = gains <= ROUNDING * np.maximum(np.abs(before), 1.0)
        states = np.where(per_node(blocks, kept), truth_of(blocks), states)
        return states, float(blocks.weight @ np.where(kept, 0.0, gains))

    def _is_stationary(self, point, dual):
        """Whether a lower bound on the convex problem at a point leaves next to nothing to gain."""
        return dual is not None and point.primal - dual <= self.tol * abs(point.primal)

    def _moved(self, found, objective, states, n_changed):
        """A new point, whose states the blocks take over."""
        dual = found.dual
        if n_changed:
            retarget(self.blocks, states)
            if dual is not None:
                dual = self.blocks.dual_value(self.blocks.v, self.blocks.loss.sum())
        return Solution(found.w, objective, dual, None, found.block_gaps)

    def _keep_warm(self):
        self.warm = self.blocks.export() if self.solver.certified else None
        if self.warm and self.blocks.explicit and self.warm["corners"] is None:
            self.warm = None  # some were evicted: what is left is no distribution

    @property
    def n_oracle_calls(self):
        """Calls of all convex problems and for all states."""
        return int(self.counts[block_rules.CALLS]) + self.n_imputed

    def weights(self):
        """The present point."""
        return self.point.w

    def solution(self):
        """The present point; the counts of the blocks are those of all convex problems then."""
        counts = np.array(self.counts)
        counts[block_rules.CALLS] = self.n_oracle_calls
        counts[block_rules.EVICTED] = self.blocks.counts[block_rules.EVICTED]
        self.blocks.counts = counts
        return self.point

    def export(self):
        """States and dual variables, for a warm start."""
        return {"states": truth_of(self.blocks), "duals": self.warm}
