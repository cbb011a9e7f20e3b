"""Hidden states: where they begin, and the concave-convex procedure that finds them again."""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._core.loop import IterativeMethod, drive
from .._kernels import lazy
from ._problems._part_sets import per_node, retarget, true_scores, truth_of
from ._solvers import begin
from ._solvers._base import Solution, numbers

block_rules = lazy("structured.block_rules")

LOOSEST = 0.5  # tolerance of the first convex problem
SHARE = 0.5  # of the last relative decrease, which the next convex problem is solved to
FASTER = 0.1  # factor of the tolerance after a solution that is no better
ROUNDING = 1e-12
MOST_NODES = 10_000  # that clusters and classifiers are found on; the others follow


class ConcaveConvex(IterativeMethod):
    """One run, as `LatentStructuredSVM` describes it, from the states of the truth of ``blocks``.

    ``impute(w)`` gives the best states of all nodes under their labels, and the scores of all
    samples; it is None where nothing is hidden. ``n_passes`` are the most over a convex problem.
    """

    def __init__(self, solver, blocks, impute, *, lam, tol, rng, n_passes, warm):
        self.solver, self.blocks, self.impute = solver, blocks, impute
        self.lam, self.tol, self.rng = lam, tol, rng
        self.n_passes, self.warm = n_passes, warm
        self.inner_tol = tol if impute is None else max(LOOSEST, tol)
        self.point = None  # `Solution`, at the states that its weights impute
        self.counts, self.n_imputed = 0, 0

    def step(self):
        """Solve the convex problem of the current states, and find those of its solution."""
        found, n_passes = self._solve()
        states, gain = self._imputed(found.w)
        objective, last = found.primal - gain, self.point
        n_changed = int(np.count_nonzero(states != truth_of(self.blocks)))
        left_to_gain = None if last is None or found.dual is None else last.primal - found.dual
        is_stationary = left_to_gain is not None and left_to_gain <= self.tol * abs(last.primal)
        if last is not None and (objective > last.primal or is_stationary):
            # The convex problem at the last point bounds what could be gained there.
            duals = [dual for dual in (last.dual, found.dual) if dual is not None]
            n_changed, dual = 0, max(duals, default=None)
            self.point = last._replace(dual=dual)
            self.inner_tol = max(self.tol, FASTER * self.inner_tol)
        else:
            dual = found.dual
            if n_changed:
                retarget(self.blocks, states)
                if dual is not None:
                    dual = self.blocks.dual_value(self.blocks.v, self.blocks.loss.sum())
            self.point = Solution(found.w, objective, dual, None, found.block_gaps)
            if last is not None:
                decrease = (last.primal - objective) / max(abs(objective), ROUNDING)
                self.inner_tol = max(self.tol, min(self.inner_tol, SHARE * decrease))
        self.warm = self.blocks.export_complete() if self.solver.certified else None
        gap = None if self.point.dual is None else self.point.primal - self.point.dual
        self.point = self.point._replace(gap=gap)
        row = {"n_oracle_calls": self.n_oracle_calls, "n_changed": n_changed, "n_passes": n_passes}
        return numbers(self.point, self.blocks) | row

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

    @property
    def n_oracle_calls(self):
        return int(self.counts[block_rules.CALLS]) + self.n_imputed

    def weights(self):
        return self.point.w

    def solution(self):
        """The current point; the counts of the blocks are those of all convex problems then."""
        counts = np.array(self.counts)
        counts[block_rules.CALLS] = self.n_oracle_calls
        counts[block_rules.EVICTED] = self.blocks.counts[block_rules.EVICTED]
        self.blocks.counts = counts
        return self.point

    def export(self):
        return {"states": truth_of(self.blocks), "duals": self.warm}


# ---- first states --------------------------------------------------------------------------------


def start_states(model, rows, codes, init, rng):
    """States of all nodes that their labels allow.

    With ``init="k-means"`` clusters of the nodes of each label, by their features and the labels of
    their neighbors, and for missing labels what a classifier of single nodes predicts.
    """
    allowed = model.allowed(codes, rows.kind)
    first, n_allowed = allowed.argmax(axis=1).astype(np.int32), allowed.sum(axis=1)
    if init == "random":
        return (first + rng.randint(n_allowed)).astype(np.int32)
    states = first.copy()
    matrix = sp.csr_array(rows.matrix) if sp.issparse(rows.matrix) else rows.matrix
    per_row = model.n_columns_ // model.n_states_
    row, group = np.divmod(np.arange(len(codes)), per_row)  # and the place in it
    if rows.kind is not None:
        group = group + per_row * rows.kind
    neighbors = _labels_of_neighbors(model, rows, codes)
    for own in np.unique(group):  # a kind of node, or a place in a set of labels
        nodes = np.flatnonzero(group == own)
        known, missing = nodes[codes[nodes] >= 0], nodes[codes[nodes] < 0]
        for label in np.unique(codes[known if len(known) else nodes]):
            here = nodes[codes[nodes] == label]
            if n_allowed[here[0]] > 1:
                tables = [_of_unit_spread(matrix[row[here]]), _of_unit_spread(neighbors[here])]
                states[here] = first[here] + _clusters(tables, n_allowed[here[0]], rng)
        if len(missing) and len(known):
            table = matrix[row[np.concatenate([known, missing])]]
            states[missing] = _classified(table, states[known], rng)
    return states


def _labels_of_neighbors(model, rows, codes):
    """Fraction of each label of each kind among the neighbors of each node."""
    graph, n_labels = rows.graph, model.first_.shape[1] - 1
    names = codes if rows.kind is None else rows.kind * n_labels + codes
    found = np.zeros((len(codes), n_labels * len(model.first_)))
    for start, stop, node in zip(graph.start, graph.stop, rows.node_start):
        a, b = graph.edges[start:stop].T + node
        for here, there in ((a, b), (b, a)):
            is_known = codes[there] >= 0
            np.add.at(found, (here[is_known], names[there[is_known]]), 1.0)
    return found / np.maximum(found.sum(axis=1, keepdims=True), 1.0)


def _of_unit_spread(table):
    """Columns divided by the root of the sum of their variances."""
    if sp.issparse(table):
        mean, variance = mean_variance_axis(table.astype(np.float64), axis=0)
    else:
        mean, variance = table.mean(axis=0), table.var(axis=0)
    spread = variance.sum()
    # Of columns that are constant but for rounding nothing is to be learned.
    return table * (1.0 / np.sqrt(spread) if spread > 1e-12 * np.sum(mean**2) else 0.0)


def _clusters(tables, n_states, rng):
    """Numbers of clusters; states that no node is left for stay empty."""
    is_sparse = any(map(sp.issparse, tables))
    table = sp.csr_array(sp.hstack(tables)) if is_sparse else np.hstack(tables)
    chosen = rng.permutation(table.shape[0])[:MOST_NODES]
    means = KMeans(min(n_states, len(chosen)), n_init=1, random_state=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different nodes than states
        means.fit(table[chosen])
    return means.predict(table)


def _classified(table, states, rng):
    """States of the last rows of a table by a linear classifier of the first ones."""
    from ._models._multiclass import MulticlassModel
    from ._svm import StructuredSVM

    n_known = len(states)
    if np.all(states == states[0]):
        return np.full(table.shape[0] - n_known, states[0])
    one_each = np.unique(states, return_index=True)[1]
    chosen = np.unique(np.append(rng.permutation(n_known)[:MOST_NODES], one_each))
    square = table[chosen].multiply(table[chosen]) if sp.issparse(table) else table[chosen] ** 2
    C = 1.0 / (1.0 + square.sum() / len(chosen))
    svm = StructuredSVM(MulticlassModel(), C=C, tol=0.1, random_state=rng)
    return svm.fit(table[chosen], states[chosen]).predict(table[n_known:])
