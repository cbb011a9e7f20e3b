"""Blocks of the built-in models: dual variables are part marginals, passes are compiled."""

import numpy as np
from sklearn.utils.parallel import delayed

from ..._kernels.structured import blocks as kernels
from ..._kernels.structured import class_blocks
from ..._kernels.structured.block_rules import (
    DONE,
    EVICTED,
    EXACT,
    EXACT_STEPS,
    NO_GAP,
    REASON,
    TABLE_FULL,
    WORSE,
    pick_block,
    table_is_full,
)
from ..._kernels.structured.parts import (
    Dual,
    Scratch,
    Weights,
    block_scores,
    current_value,
    labels_value,
)
from ..._threads import chunks, n_threads, parallel
from ...inference import CallableOracle, Enumeration, PairwiseScores, TreeMaxProduct, Viterbi
from .._models._pairwise import augmented_argmax
from .._models._part_scores import Graph, pairwise_scores
from ._base import Blocks, Sweep

# Oracles whose loop is inside the compiled pass; any other object is called from Python.
COMPILED = (Viterbi, TreeMaxProduct)
# Enumeration too, while it costs less than the way through Python.
FEW_LABELINGS = 4096


class PartBlocks(Blocks):
    """Blocks of a `PairwiseModel`.

    Parameters
    ----------
    parts : _kernels.structured.parts.Parts
        Training set.
    oracle : object
        Has ``argmax``; the exact oracles of trees and small graphs run inside the compiled pass.
    n_jobs : int or None
        Threads of compiled sweeps, joblib workers of sweeps with other oracles.
    """

    def __init__(self, parts, oracle, n_jobs=None):
        largest = parts.node_cost * parts.cost.max(axis=1)[parts.cost_row]
        losses = np.add.reduceat(largest, parts.node_start[:-1]) + parts.whole_cost
        n_states = parts.cost.shape[1]
        n_weights = parts.n_attributes * parts.n_columns + parts.n_tables * n_states**2
        super().__init__(parts.weight, n_weights, float(parts.weight @ losses))
        self.mean_square = _mean_square(parts)
        few = n_states ** int(np.diff(parts.node_start).max()) <= FEW_LABELINGS
        self._parts = parts._replace(exhaustive=type(oracle) is Enumeration and few)
        self._n_jobs = n_jobs
        self._single = None  # what exact steps want to know, once they are asked for
        self._graph = Graph(parts.edges, parts.edge_table, parts.edge_stop)
        compiled = type(oracle) in COMPILED or self._parts.exhaustive
        self._oracle = None if compiled else oracle
        of_one_node = len(parts.truth) == self.n_blocks and not len(parts.edges)
        self.single = of_one_node and compiled and parts.whole_cost == 0.0
        self.is_compiled = compiled
        self.exact = bool(getattr(oracle, "exact", False))
        self._argmax = oracle.argmax
        # A chain oracle on another graph is refused here, not by a wrong answer later.
        nothing = np.zeros((parts.node_start[1], n_states))
        tables = np.zeros((parts.n_tables, n_states, n_states))
        if not isinstance(oracle, CallableOracle):
            oracle.argmax(pairwise_scores(nothing, tables, self._graph, parts.edge_stop[0]))

    # ---- state -----------------------------------------------------------------------------------

    def _reset(self, capacity):
        parts = self._parts
        n_nodes, n_states = len(parts.truth), parts.cost.shape[1]
        self._nodes = np.zeros((n_nodes, n_states))
        self._tables = np.zeros((self.n_blocks, parts.n_tables * n_states**2))
        dtype = np.int16 if n_states <= np.iinfo(np.int16).max else np.int32
        if capacity:
            labels = np.zeros((n_nodes, capacity), dtype)
            labels[:, 0] = parts.truth
            alpha, loss = np.zeros((2, self.n_blocks, capacity))
            alpha[:, 0] = 1.0
            self._corners = kernels.Corners(labels, alpha, loss, np.ones(self.n_blocks, np.int64))
        else:
            self._corners = None
        self._bind()
        kernels.set_to_truth(parts, self._dual)

    def _bind(self):
        """Rebuild the views that kernels take after arrays were replaced."""
        v = self._view(self.v)
        w = self._view(self.w) if self.bounded else v
        self._dual = Dual(
            self._nodes, self._tables, self.loss, v, w, self._view(self.lower),
            self._view(self.upper), self._view(self.moments), self.loss_moment,
        )  # fmt: skip
        self._scratch = self._make_scratch()

    def _view(self, flat):
        parts, n_states = self._parts, self._parts.cost.shape[1]
        if flat.size == 0:
            return Weights(np.empty((0, 0)), np.empty((0, 0, 0)), flat)
        cut = parts.n_attributes * parts.n_columns
        rows = flat[:cut].reshape(parts.n_attributes, parts.n_columns)
        return Weights(rows, flat[cut:].reshape(-1, n_states, n_states), flat[cut:])

    def _make_scratch(self):
        parts, n_states = self._parts, self._parts.cost.shape[1]
        n_nodes = np.diff(parts.node_start).max()
        n_rows = np.diff(parts.row_start).max()
        n_attributes = np.diff(parts.attribute_start).max(initial=0)
        scores, delta = np.zeros((2, n_nodes, n_states))
        return Scratch(
            scores=scores,
            score_rows=scores.reshape(n_rows, parts.n_columns),
            messages=np.zeros((n_nodes + 1, n_states)),
            labels=np.zeros(n_nodes, np.int32),
            away_labels=np.zeros(n_nodes, np.int32),
            delta=delta,
            delta_rows=delta.reshape(n_rows, parts.n_columns),
            delta_tables=np.zeros(parts.n_tables * n_states**2),
            active=np.zeros(n_rows, np.bool_),
            buffer=np.zeros((n_attributes, parts.n_columns)),
            stamp=np.zeros(n_attributes, np.int64),
            touched=np.zeros(n_attributes, np.int64),
            clock=np.zeros(2, np.int64),
            values=np.zeros(self._corners.alpha.shape[1] if self.explicit else 0),
        )

    def _grow(self):
        """Room for a fifth more corners per block."""
        old = self._corners
        extra = max(1, old.alpha.shape[1] // 5)
        self._corners = kernels.Corners(
            *(np.pad(a, ((0, 0), (0, extra))) for a in (old.labels, old.alpha, old.loss)), old.size
        )
        self._scratch = self._make_scratch()

    @property
    def n_nodes(self):
        """Nodes of all samples."""
        return len(self._parts.truth)

    def first_labels(self):
        """State of the first node of every sample in the truth."""
        return self._parts.truth[self._parts.node_start[:-1]]

    # ---- visits ----------------------------------------------------------------------------------

    def visit(self, order, uniforms, rules):
        """Visit blocks; see `Blocks.visit`."""
        run = self._run_compiled if self._oracle is None else self._run_oracle
        if rules.step == EXACT:
            run = self._run_exact
        position = 0
        while position < len(order):
            position = run(rules, order, uniforms, position)
            if self.counts[REASON] == TABLE_FULL:
                self._grow()
            elif self.counts[REASON] == NO_GAP:
                break
        return position

    def _run_compiled(self, rules, order, uniforms, position):
        return kernels.run_visits(
            self._parts, self._dual, self._corners, self.gaps, rules, order, uniforms,
            self._scratch, self.counts, position,
        )  # fmt: skip

    def _run_exact(self, rules, order, uniforms, position):
        if self._single is None:
            parts = self._parts
            self._single = class_blocks.Single(
                np.empty(len(parts.data), np.int64), np.empty(self.n_blocks)
            )
            class_blocks.number_columns(parts, self._scratch, self._single)
        return class_blocks.exact_visits(
            self._parts, self._dual, self._single, self.gaps, rules, order, uniforms, self.counts,
            position,
        )  # fmt: skip

    def _run_oracle(self, rules, order, uniforms, position):
        """`run_visits` with the oracle called from Python."""
        parts, dual, corners, gaps = self._parts, self._dual, self._corners, self.gaps
        scratch, counts = self._scratch, self.counts
        for k in range(position, len(order)):
            i = pick_block(gaps, order[k], uniforms[k])
            if i < 0 or (corners is not None and table_is_full(corners, i, rules)):
                counts[REASON] = NO_GAP if i < 0 else TABLE_FULL
                return k
            slot, current = kernels.begin_visit(
                parts, dual, corners, gaps, rules, i, scratch, counts
            )
            value = 0.0
            if slot < 0:
                labels = self._ask(self._block_scores(i), i)[0]
                scratch.labels[: len(labels)] = labels
                value = kernels.check_answer(parts, dual, i, scratch, counts)
            kernels.finish_visit(
                parts, dual, corners, gaps, rules, i, slot, value, current, scratch, counts
            )
        counts[REASON] = DONE
        return len(order)

    def _block_scores(self, i, view=None):
        """Scores in ``scratch`` as the oracle sees them."""
        n_nodes = self._parts.node_start[i + 1] - self._parts.node_start[i]
        tables = (self._dual.w if view is None else view).tables
        return pairwise_scores(
            self._scratch.scores[:n_nodes], tables, self._graph, self._graph.n_edges[i]
        )

    def _ask(self, scores, i):
        truth = self._parts.truth[self._parts.node_start[i] : self._parts.node_start[i + 1]]
        return augmented_argmax(self._oracle, scores, truth, self._parts.whole_cost)

    # ---- sweeps ----------------------------------------------------------------------------------

    def sweep(self, w, augmented=True):
        """`Sweep` at any w; threads share the samples."""
        parts, view = self._parts, self._view(np.ascontiguousarray(w))
        hinge, current = np.empty((2, self.n_blocks))
        labels = np.empty(len(parts.truth), np.int32)
        loss_weight = 1.0 if augmented else 0.0
        if not augmented:  # the cost of a whole output is a loss, too
            parts = parts._replace(whole_cost=0.0)
        if self._oracle is not None:
            return self._sweep_oracle(parts, view, loss_weight, hinge, current, labels)

        def run(first, last):
            kernels.sweep(
                parts, self._dual, view, loss_weight, first, last, self._make_scratch(), hinge,
                current, labels,
            )  # fmt: skip

        self._share(run)
        return Sweep(hinge, current, labels)

    def _share(self, run):
        """Call ``run(first, last)`` on ranges of samples that make up all of them."""
        n_jobs = n_threads(self._n_jobs)
        ranges = chunks(self._parts.node_start, n_jobs)
        if len(ranges) == 1:  # joblib would take longer than many a kernel
            return run(*ranges[0])
        # Explicit threads over a kernel without the GIL: nothing is copied.
        jobs = (delayed(run)(first, last) for first, last in ranges)
        parallel(n_jobs, require="sharedmem")(jobs)

    def _sweep_oracle(self, parts, view, loss_weight, hinge, current, labels):
        """Scores of all samples, then the oracle in batches, then the values of its answers."""
        scratch, whole_cost = self._scratch, parts.whole_cost
        asked, (true_value, slack) = [], np.zeros((2, self.n_blocks))
        for i in range(self.n_blocks):
            truth = parts.truth[parts.node_start[i] : parts.node_start[i + 1]]
            block_scores(parts, view, i, loss_weight, scratch)
            true_value[i] = labels_value(parts, view, i, truth, scratch)
            current[i] = current_value(parts, self._dual, view, i, scratch) - true_value[i]
            scores = self._block_scores(i, view)
            asked.append(
                (PairwiseScores._view(scores.unary.copy(), scores.pairwise, scores.edges), truth)
            )
        pool = parallel(self._n_jobs)
        jobs = [
            delayed(_ask_many)(self._oracle, asked[first:last], whole_cost)
            for first, last in chunks(parts.node_start, pool.n_jobs)
        ]
        answers = [answer for batch in pool(jobs) for answer in batch]
        for i, (scores, truth) in enumerate(asked):
            answer, upper_bound = answers[i]
            value = scores.value(answer) + whole_cost * np.any(answer != truth)
            hinge[i] = value - true_value[i]
            better = hinge[i] >= 0.0
            if hinge[i] < -1e-12 * max(1.0, abs(true_value[i])):
                self.counts[WORSE] += 1
            labels[parts.node_start[i] : parts.node_start[i + 1]] = answer if better else truth
            hinge[i] = max(hinge[i], 0.0)  # an answer worse than the truth is replaced by it
            slack[i] = max(upper_bound - true_value[i] - hinge[i], 0.0)
            # What a promise of exactness leaves out is rounding, unless the oracle takes it back.
            if self.exact and slack[i] <= 1e-12 * abs(upper_bound):
                slack[i] = 0.0
        return Sweep(hinge, current, labels, slack)

    def currents(self):
        """``current`` of a sweep at the iterate."""
        current = np.empty(self.n_blocks)
        kernels.current_values(self._parts, self._dual, self._dual.w, self._scratch, current)
        return current

    # ---- all blocks at once ----------------------------------------------------------------------

    def refresh(self):
        """Recompute v, w and l from the marginals (from the alphas where they are complete)."""
        if self.explicit and not self.counts[EVICTED]:
            kernels.marginals_of_corners(self._parts, self._dual, self._corners)
        self.v[:] = 0.0
        self._add_weights_of(np.empty(0, np.int32), self.v)
        if self.bounded:
            np.clip(self.v, self.lower, self.upper, out=self.w)

    def _add_weights_of(self, labels, target):
        kernels.accumulate(
            self._parts, self._dual, labels, self.lam, self._view(target), self._make_scratch()
        )
        return target

    def corner_of(self, answers):
        """(v_s, l_s) of the answers of a sweep."""
        losses = kernels.losses_of(self._parts, answers)
        corner = self._add_weights_of(answers, np.zeros(self.n_weights))
        return corner, float(self.weight @ losses)

    def step_towards(self, answers, gamma):
        """Common step of all blocks."""
        if self.explicit:
            while self._corners.size.max() >= self._corners.alpha.shape[1]:
                self._grow()
        kernels.mix_labels(
            self._parts, self._dual, self._corners, answers, gamma, self._scratch, self.counts
        )

    def scale(self, factor):
        """Multiply the mass off the truth by ``factor``."""
        kernels.scale_to_truth(self._parts, self._dual, factor)
        if self.explicit:
            while self._corners.size.max() >= self._corners.alpha.shape[1]:
                self._grow()
            kernels.scale_corners(self._parts, self._corners, factor)

    def subgradient_visits(self, order, visits, lam, target, moments):
        """Steps of the primal baselines."""
        if self._oracle is not None:
            raise NotImplementedError(
                "solvers 'subgradient' and 'perceptron' need a compiled pass: use oracle='auto', "
                "or wrap the model as a black box"
            )
        return kernels.subgradient_visits(
            self._parts, self._dual, order, visits, lam, self._view(target), self._view(moments),
            self._scratch,
        )  # fmt: skip

    def saddle_visits(self, order, visits, radius, euclidean, w, mean):
        """Joint steps of one block and of w in a norm ball."""
        if self._oracle is not None:
            raise NotImplementedError(
                "solver 'sp_bcfw' needs a compiled pass: use oracle='auto', or solver='sp_fw'"
            )
        from ..._kernels.structured.block_saddle import saddle_visits

        saddle_visits(
            self._parts, self._dual, order, visits, radius, euclidean, self.v, w, self._view(w),
            mean, self._scratch,
        )  # fmt: skip

    # ---- polytopes -------------------------------------------------------------------------------

    def polytopes(self):
        """The polytopes of marginals."""
        if self._parts.whole_cost > 0.0:
            raise NotImplementedError(
                "solver 'extragradient' needs a task_loss that is a sum over nodes, such as "
                "'hamming'"
            )
        from ._polytopes import PartPolytopes

        own = self._dual._replace(
            nodes=np.zeros_like(self._nodes),
            tables=np.zeros_like(self._tables),
            loss=np.zeros_like(self.loss),
        )
        return PartPolytopes(
            self._parts, own, self._graph, self._argmax, view=self._view,
            make_scratch=self._make_scratch, share=self._share,
        )  # fmt: skip

    def adopt(self, z):
        """Take over marginals."""
        from ._polytopes import set_marginals

        set_marginals(self._parts, self._dual, z)
        self.refresh()

    # ---- warm starts -----------------------------------------------------------------------------

    def export(self):
        """Marginals, corners and lam; losses without the weights of samples, which may change."""
        corners = self._corners if self.explicit and not self.counts[EVICTED] else None
        return {
            "meaning": self._meaning(),
            "nodes": self._nodes.copy(),
            "tables": self._tables.copy(),
            "loss": self.loss / self.weight,
            "lam": self.lam,
            "corners": None if corners is None else tuple(a.copy() for a in corners),
        }

    def _meaning(self):
        """What must not change between fits: else the dual variables mean something else."""
        parts = self._parts
        return (
            parts.truth, parts.node_start, parts.node_cost, parts.cost_row, parts.cost, np.array(parts.whole_cost),
            parts.edges, parts.edge_table,
        )  # fmt: skip

    def restore(self, exported):
        """Take over exported marginals; alphas only where both sides keep them."""
        pairs = zip(exported.get("meaning", (None,)), self._meaning())
        if not all(np.array_equal(old, new) for old, new in pairs):
            raise ValueError(
                "warm_start=True needs the outputs and the losses of the previous fit, in the same "
                "order: fit a clone, or set warm_start=False"
            )
        if self.explicit:
            if exported["corners"] is None:
                raise ValueError(
                    "warm start of a solver with explicit dual variables needs a previous fit that "
                    "kept them: use the same solver, or set warm_start=False"
                )
            self._corners = kernels.Corners(*(a.copy() for a in exported["corners"]))
        self._nodes[:] = exported["nodes"]
        self._tables[:] = exported["tables"]
        self.loss[:] = exported["loss"] * self.weight
        self._bind()
        self.refresh()

    def dual_coef(self):
        """One dict per block from output (tuple of states) to alpha."""
        if not self.explicit or self.counts[EVICTED]:
            return self._dual_coef_of_classes() if self.counts[EXACT_STEPS] else None
        corners, starts = self._corners, self._parts.node_start
        return [
            {
                tuple(corners.labels[starts[i] : starts[i + 1], c].tolist()): corners.alpha[i, c]
                for c in range(corners.size[i])
                if corners.alpha[i, c] > 0
            }
            for i in range(self.n_blocks)
        ]

    def _dual_coef_of_classes(self):
        """Marginals of single nodes are alphas."""
        return [{(int(k),): mass[k] for k in np.flatnonzero(mass)} for mass in self._nodes]


def _mean_square(parts):
    """Mean over samples of the squared norm of the features of all nodes."""
    totals = np.concatenate([[0.0], np.cumsum(parts.data**2)])
    totals = np.diff(totals[parts.indptr[parts.row_start]])
    nodes_of_row = np.diff(parts.node_start) / np.diff(parts.row_start)
    return float(parts.weight @ (nodes_of_row * totals))


def _ask_many(oracle, asked, whole_cost):
    return [augmented_argmax(oracle, scores, truth, whole_cost) for scores, truth in asked]
