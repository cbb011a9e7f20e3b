"""The dual problem of models with parts: dual variables are part marginals, passes are compiled."""

import numpy as np
from sklearn.utils.parallel import delayed

from ..._core.oracle import function_of, require
from ..._core.packed import starts_of
from ..._core.threads import chunks, n_threads, parallel
from ..._kernels import lazy
from ..._kernels.structured import block_primitives as primitives
from ..._kernels.structured import blocks as kernels
from ..._kernels.structured import parts as layout
from ..._kernels.structured.block_rules import CALLS, EXACT_STEPS, VISITS, WORSE
from ...inference import FEW_LABELINGS, Enumeration, PairwiseScores, quick_oracle
from .._models._part_scores import COMPILED, Graph, augmented_argmax
from ._base import Answer, Direction, Mixture, Problem, SmoothedSweep, Sweep, means_of
from ._part_sets import UsedWeights, check_sum, mean_square, n_costly, seconds_of_pass
from ._workers import Workers

kept_vertices = lazy("structured.kept_vertices")
smoothed = lazy("structured.smoothed")
sum_product = lazy("graphs.sum_product")

NO_LABELS = np.empty(0, np.int32)


class PartProblem(Problem):
    """Dual problem of a `PairwiseModel`.

    The exact oracles of trees and small graphs run inside the compiled pass. ``n_jobs`` are threads
    of compiled sweeps and passes, joblib workers of other oracles.
    """

    def __init__(self, parts, oracle, n_jobs=None):
        self._n_states = n_states = parts.cost.shape[1]
        largest = parts.cost.max(axis=1)[parts.cost_row]
        if parts.n_own is not None:
            is_own = np.arange(n_states) < parts.n_own[:, None]
            largest = np.where(is_own, parts.cost[parts.cost_row], 0.0).max(axis=1)
        starts = parts.node_start[:-1]
        losses = np.add.reduceat(parts.node_cost * largest, starts) + parts.zero_one_cost
        n_weights = parts.n_attributes * parts.n_columns + parts.n_tables * n_states**2
        super().__init__(parts.weight, n_weights, float(parts.weight @ losses))
        self.mean_square = mean_square(parts)
        self.unit_loss = float((parts.node_cost * largest).max()) + parts.zero_one_cost
        self.n_labels = float(parts.weight @ n_costly(parts))
        few = n_states ** int(np.diff(parts.node_start).max()) <= FEW_LABELINGS
        exhaustive = type(oracle) is Enumeration and few
        plain = not exhaustive and parts.zero_one_cost == 0.0
        self._parts = parts._replace(exhaustive=None if plain else exhaustive)
        self._n_jobs, self.workers = n_jobs, Workers(n_jobs, oracle)
        self.singles = None  # tables of exact steps, once these are used
        self.n_unlocked = 0  # passes of threads that share v without locks
        self._graph = Graph(
            parts.edges, parts.edge_table, parts.edge_start, parts.edge_stop, parts.mix
        )
        self.oracle = oracle
        self.is_compiled = type(oracle) in COMPILED or exhaustive
        self.sums_are_compiled = type(oracle) in COMPILED
        of_one_node = len(parts.truth) == self.n_blocks and not len(parts.edges)
        plain = of_one_node and parts.n_own is None and parts.zero_one_cost == 0.0
        self.single = plain and self.is_compiled
        self.exact = bool(getattr(oracle, "exact", False))
        # A chain oracle on another graph is refused here, not by a wrong answer later.
        tables = np.zeros((parts.n_tables, n_states, n_states))
        own_graphs = type(oracle) in COMPILED and np.any(parts.edge_start)
        for i in range(self.n_blocks if own_graphs else 1):
            nothing = np.zeros((np.diff(parts.node_start[i : i + 2])[0], n_states))
            if function_of(oracle) is None:
                oracle.argmax(self._graph.scores(i, nothing, tables))

    def like(self, parts, oracle=None):
        """Problem of another training set, with the same oracle or another one of its kind."""
        blocks = type(self)(parts, self.oracle if oracle is None else oracle, self._n_jobs)
        blocks.surrogate = self.surrogate
        return blocks

    def narrowed(self):
        parts = self._parts
        used, attributes = np.unique(parts.attributes, return_inverse=True)
        if 2 * len(used) > parts.n_attributes:
            return self, None
        attributes = attributes.astype(parts.attributes.dtype)
        own = self.like(parts._replace(attributes=attributes, n_attributes=len(used)))
        return own, UsedWeights(used, parts.n_attributes, parts.n_columns)

    def of_samples(self, model, X, y, weight):
        return self.like(model._build_parts(X, y, weight))

    def quick(self):
        oracle = quick_oracle(self.oracle, self._n_states)
        return self if oracle is self.oracle else self.like(self._parts, oracle)

    # ---- state -----------------------------------------------------------------------------------

    def _reset(self, capacity):
        parts = self._parts
        n_nodes, n_states = len(parts.truth), self._n_states
        tables = np.zeros((self.n_blocks, parts.n_tables * n_states**2))
        self.marginals = layout.Marginals(np.zeros((n_nodes, n_states)), tables, self.loss)
        dtype = np.int16 if n_states <= np.iinfo(np.int16).max else np.int32
        if capacity:
            labels = np.zeros((n_nodes, capacity), dtype)
            labels[:, 0] = parts.truth
            alpha, loss = np.zeros((2, self.n_blocks, capacity))
            alpha[:, 0] = 1.0
            self._vertices = kernels.Vertices(labels, alpha, loss, np.ones(self.n_blocks, np.int64))
        else:
            self._vertices = None
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
        self._dual = layout.Dual(self.marginals, v, w, lower, upper, moments, self.loss_moment)
        self._scratch = self._make_scratch()

    def _view(self, flat):
        parts, n_states, flat = self._parts, self._n_states, np.ascontiguousarray(flat)
        if flat.size == 0:
            return layout.Weights(np.empty((0, 0)), np.empty((0, 0, 0)), flat)
        cut = parts.n_attributes * parts.n_columns
        rows = flat[:cut].reshape(parts.n_attributes, parts.n_columns)
        return layout.Weights(rows, flat[cut:].reshape(-1, n_states, n_states), flat[cut:])

    def _make_scratch(self):
        parts, n_states = self._parts, self._n_states
        n_nodes = np.diff(parts.node_start).max()
        n_rows = np.diff(parts.row_start).max()
        n_attributes = np.diff(parts.attribute_start).max(initial=0)
        mixed = parts.mix is not None
        n_edges = (parts.edge_stop - parts.edge_start).max() if mixed else 0
        scores, delta = np.zeros((2, n_nodes, n_states))
        oracle = layout.OracleScratch(
            scores, scores.reshape(n_rows, parts.n_columns),
            messages=np.zeros((n_nodes + 1, n_states)), labels=np.zeros(n_nodes, np.int32),
            edge_numbers=np.arange(n_edges), edge_tables=np.zeros((n_edges, n_states, n_states)),
        )  # fmt: skip
        step = layout.StepScratch(
            delta, delta.reshape(n_rows, parts.n_columns),
            delta_tables=np.zeros(parts.n_tables * n_states**2), active=np.zeros(n_rows, np.bool_),
            buffer=np.zeros((n_attributes, parts.n_columns)),
            stamp=np.zeros(n_attributes, np.int64), touched=np.zeros(n_attributes, np.int64),
            clock=np.zeros(2, np.int64),
        )  # fmt: skip
        values = np.zeros(self._vertices.alpha.shape[1] if self.explicit else 0)
        return layout.Scratch(oracle, step, np.zeros(n_nodes, np.int32), values)

    def grow(self):
        old = self._vertices
        extra = max(1, old.alpha.shape[1] // 5)
        self._vertices = kernels.Vertices(
            *(np.pad(a, ((0, 0), (0, extra))) for a in (old.labels, old.alpha, old.loss)), old.size
        )
        self._scratch = self._make_scratch()

    @property
    def n_nodes(self):
        return len(self._parts.truth)

    def seconds_of_pass(self):
        if self.sums_are_compiled:
            return super().seconds_of_pass()
        return seconds_of_pass(
            self.oracle, self._graph, self._parts, self._n_states, self.surrogate.smooth
        )

    # ---- one block -------------------------------------------------------------------------------

    def answer(self, i, w, loss_weight=1.0):
        self.counts[CALLS] += 1
        here, view, loss_weight = self._nodes_of(i), self._view(w), float(loss_weight)
        if not self.is_compiled:
            parts = self._with_loss(loss_weight)
            scores, true_value, _ = self._question(parts, view, i, loss_weight)
            asked = self.oracle, [(scores, parts.truth[here])], parts.zero_one_cost, self.relaxed
            return self._answer_of(parts, i, scores, true_value, *_ask_many(*asked)[0])
        hinge, current, labels = self._answers
        kernels.sweep(
            self._parts, self.marginals, view, loss_weight, i, i + 1, self._scratch.oracle,
            hinge, current, labels,
        )  # fmt: skip
        found = labels[here].copy()
        return Answer(found, self._loss_of(i, found), hinge[i], 0.0)

    def answers(self, order, w):
        if self.is_compiled:
            return [self.answer(i, w) for i in order]
        self.counts[CALLS] += len(order)
        return [answer for answer, _ in self._ask(order, self._parts, self._view(w), 1.0)]

    def add_to(self, i, end, factor, out):
        truth = self._marginals_of_labels(i, self._parts.truth[self._nodes_of(i)])
        delta = (a - b for a, b in zip(truth, self._end(i, end)[0], strict=True))
        primitives.add_to(self._parts, i, *delta, factor, self._view(out), self._scratch.step)

    def values(self, i):
        current, true_value = primitives.values(
            self._parts, self._dual, self._vertices, i, self._scratch
        )
        vertices = self._scratch.values - true_value if self.explicit else None
        return current - true_value, vertices

    def vertices(self, i):
        return StoredVertices(self._vertices, i, self._nodes_of(i))

    def direction(self, i, head, tail=None):
        (plus, loss_plus), (minus, loss_minus) = self._end(i, head), self._end(i, tail)
        delta = tuple(a - b for a, b in zip(plus, minus, strict=True))
        square = primitives.apply_direction(self._parts, i, *delta, self._scratch.step)
        return Direction(square, loss_plus - loss_minus, delta)

    def move(self, i, direction, gamma):
        primitives.move(
            self._parts, self._dual, i, *direction.delta, self.lam, gamma,
            self.weight[i] * direction.loss, self.counts[VISITS], self._scratch.step,
        )  # fmt: skip

    def keep(self, answers):
        first = 0
        while first < self.n_blocks:
            first = kept_vertices.keep_labels(
                self._parts, self._dual, self._vertices, answers, self._scratch, first
            )
            if first < self.n_blocks:
                self.grow()

    def best_kept(self):
        slots, (values, current) = np.zeros(self.n_blocks, np.int64), np.empty((2, self.n_blocks))
        kept_vertices.best_vertices(
            self._parts, self._dual, self._vertices, self._scratch, slots, values, current
        )
        return slots, values, current

    def kept(self, slots):
        slots = np.repeat(slots, np.diff(self._parts.node_start))
        return self._vertices.labels[np.arange(len(slots)), slots].astype(np.int32)

    def _nodes_of(self, i):
        return slice(self._parts.node_start[i], self._parts.node_start[i + 1])

    def _with_loss(self, loss_weight):
        """Parts whose cost of a whole output, which is a loss, too, has this weight."""
        return self._parts._replace(zero_one_cost=loss_weight * self._parts.zero_one_cost)

    def _loss_of(self, i, labels):
        parts, here = self._parts, self._nodes_of(i)
        loss = parts.node_cost[here] @ parts.cost[parts.cost_row[here], labels]
        return float(loss + parts.zero_one_cost * np.any(labels != parts.truth[here]))

    def _end(self, i, end):
        """Marginals of a point of block i, and its loss."""
        if end is None:
            point = self.marginals.nodes[self._nodes_of(i)], self.marginals.tables[i]
            return point, self.loss[i] / self.weight[i]
        if isinstance(end, Answer):
            return self._marginals_of_labels(i, end.vertex), end.loss
        if isinstance(end, Mixture):
            return end.point, end.loss
        labels = self._vertices.labels[self._nodes_of(i), end]
        return self._marginals_of_labels(i, labels), self._vertices.loss[i, end]

    def _marginals_of_labels(self, i, labels):
        parts, n_states = self._parts, self._n_states
        nodes, tables = np.zeros((len(labels), n_states)), np.zeros(self.marginals.tables.shape[1])
        labels = np.ascontiguousarray(labels, dtype=np.int32)
        primitives.vertex(parts, i, labels, nodes, tables)
        return nodes, tables

    # ---- questions to oracles that are called from Python ----------------------------------------

    def _question(self, parts, view, i, loss_weight):
        """Scores for an oracle (in ``scratch``), of the truth, and of the point (with its loss)."""
        true_value, current = primitives.scores(
            parts, self.marginals, view, i, loss_weight, self._scratch.oracle
        )
        return self._scores_at_hand(i, view), true_value, current

    def _scores_at_hand(self, i, view):
        here, n_own = self._nodes_of(i), self._parts.n_own
        unary = self._scratch.oracle.scores[: here.stop - here.start]
        if n_own is not None:  # forbidden is what compiled passes give a very low score
            unary = np.where(np.arange(unary.shape[1]) < n_own[here, None], unary, -np.inf)
        return self._graph.scores(i, unary, view.tables)

    def ask_at_scores(self, i):
        """Labels that the oracle finds best for the scores of block i that are in ``scratch``."""
        scores, parts = self._scores_at_hand(i, self._dual.w), self._parts
        truth = parts.truth[self._nodes_of(i)]
        return augmented_argmax(self.oracle, scores, truth, parts.zero_one_cost)[0]

    def predicted(self, w):
        """Best labels of all nodes at any w, found without a look at the truth."""
        if self.is_compiled:
            return self.sweep(w, augmented=False).answers
        view = self._view(w)
        asked = (self._question(self._parts, view, i, 0.0)[0] for i in range(self.n_blocks))
        return np.concatenate([self.oracle.argmax(scores)[0] for scores in asked])

    def _answer_of(self, parts, i, scores, true_value, labels, upper_bound):
        """The `Answer` of labels of an oracle or, if these are worse, of those of the truth."""
        truth = parts.truth[self._nodes_of(i)]
        value = scores.value(labels) + parts.zero_one_cost * np.any(labels != truth) - true_value
        if value < -1e-12 * max(1.0, abs(true_value)):
            self.counts[WORSE] += 1
        if value < 0.0:
            labels, value = truth, 0.0
        slack = max(upper_bound - true_value - value, 0.0)
        # What a promise of exactness leaves out is rounding, unless the oracle takes it back.
        if self.exact and slack <= 1e-12 * abs(upper_bound):
            slack = 0.0
        return Answer(labels, self._loss_of(i, labels), value, slack)

    def top_answers(self, i, w, k):
        remedy = "take another oracle, or smoother=None"
        require(self.oracle, "top_k", f"the best {k} outputs need", remedy)
        self.counts[CALLS] += 1
        parts, truth = self._parts, self._parts.truth[self._nodes_of(i)]
        scores, true_value, _ = self._question(parts, self._view(w), i, 1.0)
        # The cost of a whole output lifts all but the truth, which may be among the best or not.
        whole = parts.zero_one_cost
        values, found = self.oracle.top_k(scores, k + (whole > 0.0))
        if whole > 0.0:
            wrong = np.any(found != truth, axis=1)
            values = np.append(values[wrong] + whole, scores.value(truth))
            found = np.append(found[wrong], truth[None], axis=0)
        order = np.argsort(-values, kind="stable")[:k]
        order = order[values[order] > -np.inf]
        return [
            Answer(found[m], self._loss_of(i, found[m]), float(values[m] - true_value))
            for m in order
        ]

    def mix(self, i, answers, weights):
        parts = [self._end(i, answer)[0] for answer in answers]
        point = tuple(sum(u * part[a] for u, part in zip(weights, parts)) for a in range(2))
        return Mixture(point, *means_of(answers, weights))

    def _ask(self, order, parts, view, loss_weight):
        """The `Answer` of each block of an order by all workers, and the H_i of its point."""
        order = np.asarray(order)
        asked, values = [], []

        def calls():  # one by one: oracles answer the first while the others are made
            sizes = np.diff(parts.node_start)[order]
            for first, last in self.workers.ranges(starts_of(sizes)):
                for i in order[first:last]:
                    scores, true_value, current = self._question(parts, view, i, loss_weight)
                    unary = scores.unary.copy()
                    scores = PairwiseScores._view(unary, scores.pairwise, scores.edges)
                    asked.append((scores, parts.truth[self._nodes_of(i)]))
                    values.append((true_value, current - true_value))
                yield self.oracle, asked[first:last], parts.zero_one_cost, self.relaxed

        batches = self.workers.run(_ask_many, calls())
        found = (one for batch in batches for one in batch)
        for i, (scores, _), (true_value, current), one in zip(
            order, asked, values, found, strict=True
        ):
            yield self._answer_of(parts, i, scores, true_value, *one), current

    # ---- sweeps ----------------------------------------------------------------------------------

    def sweep(self, w, augmented=True):
        parts, view, loss_weight = self._parts, self._view(w), float(augmented)
        if not self.is_compiled:
            order, parts = range(self.n_blocks), self._with_loss(loss_weight)
            answers, current = zip(*self._ask(order, parts, view, loss_weight), strict=True)
            _, _, hinge, slack = zip(*answers, strict=True)
            return Sweep(*map(np.array, (hinge, current)), self._gathered(answers), np.array(slack))
        hinge, current = np.empty((2, self.n_blocks))
        labels = np.empty(len(parts.truth), np.int32)

        def run(first, last):
            kernels.sweep(
                parts, self.marginals, view, loss_weight, first, last,
                self._make_scratch().oracle, hinge, current, labels,
            )  # fmt: skip

        self._share(run)
        return Sweep(hinge, current, labels)

    def _gathered(self, answers):
        return np.concatenate([answer.vertex for answer in answers]).astype(np.int32, copy=False)

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
        current = np.empty(self.n_blocks)
        kernels.sweep(
            self._parts, self.marginals, self._dual.w, 1.0, 0, self.n_blocks, self._scratch.oracle,
            current, current, None,
        )  # fmt: skip
        return current

    # ---- Gibbs distributions: by compiled sums where there are any, else by oracles --------------

    def smoothed_answer(self, i, w, temperature, loss_weight=1.0):
        self._check_sums(loss_weight)
        self.counts[CALLS] += 1
        parts = self._with_loss(loss_weight)
        scores, true_value, _ = self._question(parts, self._view(w), i, loss_weight)
        unary, pairwise = scores.unary / temperature, scores.pairwise / temperature
        scaled = PairwiseScores._view(unary, pairwise, scores.edges)
        nodes, edges, log_partition = self.oracle.marginals(scaled)
        value = temperature * log_partition - true_value
        expected = _mean(nodes, scores.unary) + _mean(edges, scores.pairwise)
        entropy = max(log_partition - expected / temperature, 0.0)
        return Mixture(*self._point_of(i, nodes, edges), value, entropy)

    def _point_of(self, i, nodes, edges):
        """Marginals of block i, whose edges are summed, and their expected loss."""
        parts, here = self._parts, self._nodes_of(i)
        costs = parts.node_cost[here, None] * parts.cost[parts.cost_row[here]]
        point = nodes, self._graph.summed(i, edges, parts.n_tables).ravel()
        return point, float(np.sum(costs * nodes))

    def _check_sums(self, loss_weight):
        remedy = "take 'elimination', or surrogate='hinge'"
        require(self.oracle, "marginals", "smoothed answers need", remedy)
        check_sum(self._with_loss(loss_weight), "smoothed answers need")

    def smoothed_sweep(self, w, temperature, loss_weight=1.0, mean=False):
        if not self.sums_are_compiled:
            return super().smoothed_sweep(w, temperature, loss_weight, mean)
        self._check_sums(loss_weight)
        self.counts[CALLS] += self.n_blocks
        view, out, targets = self._view(w), np.empty((3, self.n_blocks)), []

        def run(first, last):
            target = np.zeros(self.n_weights if mean else 0)
            targets.append(target)
            smoothed.smoothed_sweep(
                self._with_loss(0.0), view, float(temperature), float(loss_weight), first, last,
                self._make_scratch(), self.make_sums(), self._view(target), out,
            )  # fmt: skip

        self._share(run)
        value, expected, loss = out
        entropy = np.maximum((value - expected) / temperature, 0.0)
        return SmoothedSweep(value, loss, entropy, sum(targets) if mean else None)

    def make_sums(self):
        """Working memory of one thread for compiled sums."""
        parts, n_states = self._parts, self._n_states
        n_nodes = int(np.diff(parts.node_start).max())
        n_edges = int((parts.edge_stop - parts.edge_start).max(initial=0))
        n_shared = parts.n_tables if parts.mix is None else 0
        tables, nodes = map(np.zeros, ((3, n_shared, n_states, n_states), (5, n_nodes, n_states)))
        beliefs = sum_product.Beliefs(
            nodes[0], np.zeros((n_edges, n_states)), np.zeros(n_edges), np.zeros(n_nodes, np.bool_),
            np.zeros((2, n_states)),
        )  # fmt: skip
        return smoothed.Sums(
            node=nodes[1],
            table=np.zeros(parts.n_tables * n_states**2),
            scores=nodes[2],
            beliefs=beliefs,
            message=nodes[3],
            factor=nodes[4],
            weights=sum_product.Weights(np.arange(n_shared), tables[0], np.zeros(n_shared)),
            turned=tables[1],
            pairs=tables[2],
            line=np.zeros((2, n_states)),
            least=np.zeros(1),
        )

    # ---- all blocks at once ----------------------------------------------------------------------

    def refresh(self):
        """Recompute v, w and l from the marginals (from the alphas where they are complete)."""
        if self.complete:
            kernels.marginals_of_vertices(self._parts, self.marginals, self._vertices)
        self.features_of(self.marginals, self.lam, out=self.v)
        self.follow()

    def features_of(self, marginals, lam, labels=NO_LABELS, out=None):
        """``sum_i p_i / lam`` times the feature differences of marginals, or else of labels."""
        out = np.zeros(self.n_weights) if out is None else out
        out[:] = 0.0
        kernels.accumulate(
            self._parts, marginals, labels, lam, self._view(out), self._make_scratch().step
        )
        return out

    def vertex_of(self, answers):
        losses = kernels.losses_of(self._parts, answers)
        return self.features_of(self.marginals, self.lam, answers), float(self.weight @ losses)

    def step_towards(self, answers, gamma):
        while self.explicit and self._vertices.size.max() >= self._vertices.alpha.shape[1]:
            self.grow()
        kernels.mix_labels(
            self._parts, self.marginals, self._vertices, answers, gamma, self._scratch.step,
            self.counts,
        )  # fmt: skip

    def _truth(self):
        return self._parts.truth

    def _marginals_of_truth(self):
        truth = layout.Marginals(*map(np.zeros_like, self.marginals))
        kernels.set_to_truth(self._parts, truth)
        return truth

    # ---- warm starts -----------------------------------------------------------------------------

    def _meaning(self):
        """What must not change between fits: else the dual variables mean something else."""
        parts = self._parts
        return (
            parts.truth, parts.node_start, parts.node_cost, parts.cost_row, parts.cost,
            np.array(parts.zero_one_cost), parts.edges, parts.edge_start, parts.edge_table,
            *(parts.mix or ()),
        )  # fmt: skip

    def _points(self):
        vertices = self._vertices if self.complete else ()
        return [a.copy() for a in (self.marginals.nodes, self.marginals.tables, *vertices)]

    def _extended(self, points):
        while self.explicit and self._vertices.alpha.shape[1] < points[3].shape[1]:
            self.grow()
        own = self._points()
        for part, first in zip(own, points):
            part[tuple(map(slice, first.shape))] = first
        return own

    def _take_points(self, points):
        self.marginals.nodes[:], self.marginals.tables[:], *vertices = points
        if self.explicit:
            self._vertices = kernels.Vertices(*(a.copy() for a in vertices))
        self._bind()

    def dual_coef(self):
        if not self.complete:
            return self._dual_coef_of_classes() if self.counts[EXACT_STEPS] else None
        vertices, starts = self._vertices, self._parts.node_start
        return [
            {
                tuple(vertices.labels[starts[i] : starts[i + 1], c].tolist()): vertices.alpha[i, c]
                for c in range(vertices.size[i])
                if vertices.alpha[i, c] > 0
            }
            for i in range(self.n_blocks)
        ]

    def _dual_coef_of_classes(self):
        """Marginals of single nodes are alphas."""
        return [{(int(k),): mass[k] for k in np.flatnonzero(mass)} for mass in self.marginals.nodes]


def _ask_many(oracle, asked, zero_one_cost, relaxed):
    if relaxed:
        return [oracle.vertex(scores) for scores, _ in asked]
    return [augmented_argmax(oracle, scores, truth, zero_one_cost) for scores, truth in asked]


def _mean(probabilities, scores):
    """Expected score; what is forbidden has no chance."""
    return float(np.sum(probabilities * np.where(probabilities > 0.0, scores, 0.0)))


class StoredVertices:
    """The vertices of one block; see `Problem.vertices`."""

    def __init__(self, table, i, nodes):
        self._table, self._i, self._nodes = table, i, nodes
        self.alpha, self.loss = self._table.alpha[i], self._table.loss[i]

    @property
    def size(self):
        return self._table.size[self._i]

    def find(self, answer):
        kept = self._table.labels[self._nodes, : self.size]
        same = np.flatnonzero(np.all(kept == answer.vertex[:, None], axis=0))
        return int(same[0]) if len(same) else -1

    def put(self, slot, answer):
        self._table.size[self._i] = max(self.size, slot + 1)
        self._table.labels[self._nodes, slot] = answer.vertex
        self.alpha[slot], self.loss[slot] = 0.0, answer.loss

    def remove(self, slot):
        last = self._table.size[self._i] = self.size - 1
        self._table.labels[self._nodes, slot] = self._table.labels[self._nodes, last]
        self.alpha[slot], self.loss[slot] = self.alpha[last], self.loss[last]
        self.alpha[last] = 0.0
