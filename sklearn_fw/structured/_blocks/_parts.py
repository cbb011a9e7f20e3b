"""Blocks of the built-in models: dual variables are part marginals, passes are compiled."""

import numpy as np
from sklearn.utils.parallel import delayed

from ..._core.threads import chunks, n_threads, parallel
from ..._kernels import lazy
from ..._kernels.structured import block_primitives as primitives
from ..._kernels.structured import blocks as kernels
from ..._kernels.structured.block_rules import CALLS, EVICTED, EXACT_STEPS, VISITS
from ..._kernels.structured.parts import (
    Dual,
    Marginals,
    OracleScratch,
    Scratch,
    StepScratch,
    Weights,
)
from ...inference import CallableOracle, Enumeration, TreeMaxProduct, Viterbi
from ...inference._oracles._resolve import FEW_LABELINGS
from .._models._part_scores import Graph, augmented_argmax
from ._base import Answer, Blocks, Direction, Mixture, Sweep
from ._part_questions import PartQuestions
from ._seconds import seconds_of_pass
from ._sizes import mean_square, n_costly
from ._smoothed import SmoothedParts
from ._stored_corners import StoredCorners
from ._workers import Workers

kept_corners = lazy("structured.kept_corners")

# Oracles whose loop is inside the compiled pass, as is `Enumeration` of few labellings; any other
# object is called from Python.
COMPILED = (Viterbi, TreeMaxProduct)


class PartBlocks(PartQuestions, SmoothedParts, Blocks):
    """Blocks of a `PairwiseModel`.

    Parameters
    ----------
    parts : _kernels.structured.parts.Parts
        Training set.
    oracle : object
        Has ``argmax``; the exact oracles of trees and small graphs run inside the compiled pass.
    n_jobs : int or None
        Threads of compiled sweeps, joblib workers of other oracles.
    """

    relaxed = False  # whether answers may be marginals of no distribution

    def __init__(self, parts, oracle, n_jobs=None):
        self._n_states = n_states = parts.cost.shape[1]
        largest = parts.cost.max(axis=1)[parts.cost_row]
        if parts.n_own is not None:
            is_own = np.arange(n_states) < parts.n_own[:, None]
            largest = np.where(is_own, parts.cost[parts.cost_row], 0.0).max(axis=1)
        starts = parts.node_start[:-1]
        losses = np.add.reduceat(parts.node_cost * largest, starts) + parts.whole_cost
        n_weights = parts.n_attributes * parts.n_columns + parts.n_tables * n_states**2
        super().__init__(parts.weight, n_weights, float(parts.weight @ losses))
        self.mean_square = mean_square(parts)
        self.unit_loss = float((parts.node_cost * largest).max()) + parts.whole_cost
        self.n_labels = float(parts.weight @ n_costly(parts))
        few = n_states ** int(np.diff(parts.node_start).max()) <= FEW_LABELINGS
        exhaustive = type(oracle) is Enumeration and few
        plain = not exhaustive and parts.whole_cost == 0.0
        self._parts = parts._replace(exhaustive=None if plain else exhaustive)
        self._n_jobs, self.workers = n_jobs, Workers(n_jobs, oracle)
        self.singles = None  # what exact steps want to know, once they are asked for
        self._graph = Graph(
            parts.edges, parts.edge_table, parts.edge_start, parts.edge_stop, parts.mix
        )
        self.oracle = oracle
        self.is_compiled = type(oracle) in COMPILED or exhaustive
        self.sums_are_compiled = type(oracle) in COMPILED
        of_one_node = len(parts.truth) == self.n_blocks and not len(parts.edges)
        plain = of_one_node and parts.n_own is None and parts.whole_cost == 0.0
        self.single = plain and self.is_compiled
        self.exact = bool(getattr(oracle, "exact", False))
        # A chain oracle on another graph is refused here, not by a wrong answer later.
        tables = np.zeros((parts.n_tables, n_states, n_states))
        own_graphs = type(oracle) in COMPILED and np.any(parts.edge_start)
        for i in range(self.n_blocks if own_graphs else 1):
            nothing = np.zeros((np.diff(parts.node_start[i : i + 2])[0], n_states))
            if not isinstance(oracle, CallableOracle):
                oracle.argmax(self._graph.scores(i, nothing, tables))

    def like(self, parts, oracle=None):
        """Blocks of another training set, with the same oracle or another one of its kind."""
        blocks = type(self)(parts, self.oracle if oracle is None else oracle, self._n_jobs)
        blocks.surrogate = self.surrogate
        return blocks

    # ---- state -----------------------------------------------------------------------------------

    def _reset(self, capacity):
        parts = self._parts
        n_nodes, n_states = len(parts.truth), self._n_states
        tables = np.zeros((self.n_blocks, parts.n_tables * n_states**2))
        self.marginals = Marginals(np.zeros((n_nodes, n_states)), tables, self.loss)
        dtype = np.int16 if n_states <= np.iinfo(np.int16).max else np.int32
        if capacity:
            labels = np.zeros((n_nodes, capacity), dtype)
            labels[:, 0] = parts.truth
            alpha, loss = np.zeros((2, self.n_blocks, capacity))
            alpha[:, 0] = 1.0
            self._corners = kernels.Corners(labels, alpha, loss, np.ones(self.n_blocks, np.int64))
        else:
            self._corners = None
        self._answers = (*np.empty((2, self.n_blocks)), np.empty(n_nodes, np.int32))
        self._bind()
        kernels.set_to_truth(parts, self.marginals)

    def _bind(self):
        """Rebuild the views that kernels take after arrays were replaced."""
        v = self._view(self.v)
        w, lower, upper = v, None, None
        if self.bounded:
            w, lower, upper = map(self._view, (self.w, self.lower, self.upper))
        moments = self._view(self.moments)
        self._dual = Dual(self.marginals, v, w, lower, upper, moments, self.loss_moment)
        self._scratch = self._make_scratch()

    def _view(self, flat):
        parts, n_states = self._parts, self._n_states
        if flat.size == 0:
            return Weights(np.empty((0, 0)), np.empty((0, 0, 0)), flat)
        cut = parts.n_attributes * parts.n_columns
        rows = flat[:cut].reshape(parts.n_attributes, parts.n_columns)
        return Weights(rows, flat[cut:].reshape(-1, n_states, n_states), flat[cut:])

    def _make_scratch(self):
        parts, n_states = self._parts, self._n_states
        n_nodes = np.diff(parts.node_start).max()
        n_rows = np.diff(parts.row_start).max()
        n_attributes = np.diff(parts.attribute_start).max(initial=0)
        mixed = parts.mix is not None
        n_edges = (parts.edge_stop - parts.edge_start).max() if mixed else 0
        scores, delta = np.zeros((2, n_nodes, n_states))
        oracle = OracleScratch(
            scores=scores,
            score_rows=scores.reshape(n_rows, parts.n_columns),
            messages=np.zeros((n_nodes + 1, n_states)),
            labels=np.zeros(n_nodes, np.int32),
            edge_numbers=np.arange(n_edges),
            edge_tables=np.zeros((n_edges, n_states, n_states)),
        )
        step = StepScratch(
            delta=delta,
            delta_rows=delta.reshape(n_rows, parts.n_columns),
            delta_tables=np.zeros(parts.n_tables * n_states**2),
            active=np.zeros(n_rows, np.bool_),
            buffer=np.zeros((n_attributes, parts.n_columns)),
            stamp=np.zeros(n_attributes, np.int64),
            touched=np.zeros(n_attributes, np.int64),
            clock=np.zeros(2, np.int64),
        )
        values = np.zeros(self._corners.alpha.shape[1] if self.explicit else 0)
        return Scratch(oracle, step, away_labels=np.zeros(n_nodes, np.int32), values=values)

    def grow(self):
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

    def seconds_of_pass(self):
        """About the time of a pass with an oracle that is called from Python; inf if unknown."""
        return seconds_of_pass(
            self.oracle, self._graph, self._parts, self._n_states, self.surrogate.smooth
        )

    def first_labels(self):
        """State of the first node of every sample in the truth."""
        return self._parts.truth[self._parts.node_start[:-1]]

    # ---- one block -------------------------------------------------------------------------------

    def answer(self, i, w, loss_weight=1.0):
        """One oracle call; see `Blocks.answer`."""
        self.counts[CALLS] += 1
        here, view = self._nodes_of(i), self._view(np.ascontiguousarray(w))
        loss_weight = float(loss_weight)
        parts = self._with_loss(loss_weight)
        if self.is_compiled:
            hinge, current, labels = self._answers
            kernels.sweep(
                self._parts, self.marginals, view, loss_weight, i, i + 1, self._scratch.oracle,
                hinge, current, labels,
            )  # fmt: skip
            value, slack, found = hinge[i], 0.0, labels[here].copy()
        else:
            scores, true_value, _ = self._question(parts, view, i, loss_weight)
            given = augmented_argmax(self.oracle, scores, parts.truth[here], parts.whole_cost)
            found, value, slack = self._judge(parts, i, scores, true_value, *given)
        return Answer(found, self._loss_of(i, found), value, slack)

    def answers(self, order, w):
        """Oracle calls in workers, unless they are compiled; see `Blocks.answers`."""
        if self.is_compiled:
            return super().answers(order, w)
        self.counts[CALLS] += len(order)
        view = self._view(np.ascontiguousarray(w))
        found = self._ask(order, self._parts, view, 1.0)
        return [
            Answer(labels, self._loss_of(i, labels), value, slack)
            for i, (labels, value, slack, _) in zip(order, found, strict=True)
        ]

    def add_to(self, i, end, factor, out):
        """``out += factor psi_i``; see `Blocks.add_to`."""
        truth = self._marginals_of_labels(i, self._parts.truth[self._nodes_of(i)])
        delta = (a - b for a, b in zip(truth, self._end(i, end)[0], strict=True))
        primitives.add_to(self._parts, i, *delta, factor, self._view(out), self._scratch.step)

    def values(self, i):
        """H_i of the distribution of block i at ``w``, and of its corners."""
        current, true_value = primitives.values(
            self._parts, self._dual, self._corners, i, self._scratch
        )
        corners = self._scratch.values - true_value if self.explicit else None
        return current - true_value, corners

    def corners(self, i):
        """The labellings that block i keeps."""
        return StoredCorners(self._corners, i, self._nodes_of(i))

    def direction(self, i, head, tail=None):
        """The `Direction` from ``tail`` to ``head``."""
        (plus, loss_plus), (minus, loss_minus) = self._end(i, head), self._end(i, tail)
        delta = tuple(a - b for a, b in zip(plus, minus, strict=True))
        square = primitives.square(self._parts, i, *delta, self._scratch.step)
        return Direction(square, loss_plus - loss_minus, delta)

    def move(self, i, direction, gamma):
        """Move block i along a direction."""
        primitives.move(
            self._parts, self._dual, i, *direction.delta, self.lam, gamma,
            self.weight[i] * direction.loss, self.counts[VISITS], self._scratch.step,
        )  # fmt: skip

    def keep(self, answers):
        """Make the labellings of a sweep corners; see `Blocks.keep`."""
        first = 0
        while first < self.n_blocks:
            first = kept_corners.keep_labels(
                self._parts, self._dual, self._corners, answers, self._scratch, first
            )
            if first < self.n_blocks:
                self.grow()

    def best_kept(self):
        """The best corner of every block; see `Blocks.best_kept`."""
        slots, (values, current) = np.zeros(self.n_blocks, np.int64), np.empty((2, self.n_blocks))
        kept_corners.best_corners(
            self._parts, self._dual, self._corners, self._scratch, slots, values, current
        )
        return slots, values, current

    def kept(self, slots):
        """The labellings in such slots, as those of a sweep."""
        slots = np.repeat(slots, np.diff(self._parts.node_start))
        return self._corners.labels[np.arange(len(slots)), slots].astype(np.int32)

    def _nodes_of(self, i):
        return slice(self._parts.node_start[i], self._parts.node_start[i + 1])

    def _with_loss(self, loss_weight):
        """Parts whose cost of a whole output, which is a loss, too, has this weight."""
        return self._parts._replace(whole_cost=loss_weight * self._parts.whole_cost)

    def _loss_of(self, i, labels):
        """L_i of a labelling."""
        parts, truth = self._parts, self._parts.truth[self._nodes_of(i)]
        here = self._nodes_of(i)
        loss = parts.node_cost[here] @ parts.cost[parts.cost_row[here], labels]
        return float(loss + parts.whole_cost * np.any(labels != truth))

    def _end(self, i, end):
        """Marginals of a point of block i, and its loss."""
        if end is None:
            point = self.marginals.nodes[self._nodes_of(i)], self.marginals.tables[i]
            return point, self.loss[i] / self.weight[i]
        if isinstance(end, Answer):
            return self._marginals_of_labels(i, end.corner), end.loss
        if isinstance(end, Mixture):
            return end.point, end.loss
        labels = self._corners.labels[self._nodes_of(i), end]
        return self._marginals_of_labels(i, labels), self._corners.loss[i, end]

    def _marginals_of_labels(self, i, labels):
        parts, n_states = self._parts, self._n_states
        nodes, tables = np.zeros((len(labels), n_states)), np.zeros(self.marginals.tables.shape[1])
        labels = np.ascontiguousarray(labels, dtype=np.int32)
        primitives.corner(parts, i, labels, nodes, tables)
        return nodes, tables

    # ---- sweeps ----------------------------------------------------------------------------------

    def sweep(self, w, augmented=True):
        """`Sweep` at any w; threads share the samples."""
        parts, view = self._parts, self._view(np.ascontiguousarray(w))
        hinge, current = np.empty((2, self.n_blocks))
        labels = np.empty(len(parts.truth), np.int32)
        loss_weight = float(augmented)
        if not self.is_compiled:
            parts = self._with_loss(loss_weight)
            return self._sweep_oracle(parts, view, loss_weight, hinge, current, labels)

        def run(first, last):
            kernels.sweep(
                parts, self.marginals, view, loss_weight, first, last,
                self._make_scratch().oracle, hinge, current, labels,
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

    def currents(self):
        """``current`` of a sweep at the iterate."""
        current = np.empty(self.n_blocks)
        kernels.current_values(
            self._parts, self.marginals, self._dual.w, self._scratch.oracle, current
        )
        return current

    # ---- all blocks at once ----------------------------------------------------------------------

    def refresh(self):
        """Recompute v, w and l from the marginals (from the alphas where they are complete)."""
        if self.explicit and not self.counts[EVICTED]:
            kernels.marginals_of_corners(self._parts, self.marginals, self._corners)
        self.v[:] = 0.0
        self._add_weights_of(np.empty(0, np.int32), self.v)
        if self.bounded:
            np.clip(self.v, self.lower, self.upper, out=self.w)

    def _add_weights_of(self, labels, target):
        kernels.accumulate(
            self._parts, self.marginals, labels, self.lam, self._view(target),
            self._make_scratch().step,
        )  # fmt: skip
        return target

    def corner_of(self, answers):
        """(v_s, l_s) of the answers of a sweep."""
        losses = kernels.losses_of(self._parts, answers)
        corner = self._add_weights_of(answers, np.zeros(self.n_weights))
        return corner, float(self.weight @ losses)

    def step_towards(self, answers, gamma):
        """Common step of all blocks."""
        self._make_room()
        kernels.mix_labels(
            self._parts, self.marginals, self._corners, answers, gamma, self._scratch.step,
            self.counts,
        )  # fmt: skip

    def _make_room(self):
        while self.explicit and self._corners.size.max() >= self._corners.alpha.shape[1]:
            self.grow()

    def scale(self, factor):
        """Multiply the mass off the truth by ``factor``."""
        kernels.scale_to_truth(self._parts, self.marginals, factor)
        self._make_room()
        if self.explicit:
            kernels.scale_corners(self._parts, self._corners, factor)

    # ---- warm starts -----------------------------------------------------------------------------

    def export(self):
        """Marginals, corners and lam; losses without the weights of samples, which may change."""
        corners = self._corners if self.explicit and not self.counts[EVICTED] else None
        return {
            "meaning": self._meaning(),
            "nodes": self.marginals.nodes.copy(),
            "tables": self.marginals.tables.copy(),
            "loss": self.loss / self.weight,
            "lam": self.lam,
            "corners": None if corners is None else tuple(a.copy() for a in corners),
        }

    def _meaning(self):
        """What must not change between fits: else the dual variables mean something else."""
        parts = self._parts
        return (
            parts.truth, parts.node_start, parts.node_cost, parts.cost_row, parts.cost,
            np.array(parts.whole_cost), parts.edges, parts.edge_start, parts.edge_table,
            *(parts.mix or ()),
        )  # fmt: skip

    def restore(self, exported):
        """Take over exported marginals; alphas only where both sides keep them."""
        old, new = exported.get("meaning", ()), self._meaning()
        if len(old) != len(new) or not all(map(np.array_equal, old, new)):
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
        self.marginals.nodes[:] = exported["nodes"]
        self.marginals.tables[:] = exported["tables"]
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
        return [{(int(k),): mass[k] for k in np.flatnonzero(mass)} for mass in self.marginals.nodes]
