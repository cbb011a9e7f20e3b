"""The dual problem of samples that stay in parts: hinges and planes at a point are sums over these.

All samples together are its one block, of weight one, and an answer is the plane of all of theirs.
"""

import numpy as np
import scipy.sparse as sp

from ..._kernels.structured import block_rules
from ._base import Problem, SmoothedSweep, Sweep

NOTHING = np.zeros(block_rules.N_COUNTS, np.int64), 0  # counts of a part without samples


class SamplePart:
    """Samples of one part, of weight ``total``; ``problem`` is None where there are none."""

    def __init__(self, problem=None, total=0.0):
        self.problem, self.total = problem, total
        if problem is not None:
            problem.reset(1.0)

    def facts(self):
        """Weight, number of weights, and what is known of these samples; the last adds up."""
        if self.problem is None:
            return None
        own = self.problem
        n_nodes = own.n_blocks if own.n_nodes is None else own.n_nodes
        means = np.array([own.max_loss, own.n_labels, own.mean_square])
        flags = own.is_compiled, own.exact, own.n_nodes is not None
        return self.total, own.n_weights, self.total * means, n_nodes, flags

    def plane(self, w):
        """Sum of hinges at w; the plane (u, l) of what is best there; counts."""
        own, total = self.problem, self.total
        if own is None:
            return 0.0, sp.csr_array((1, len(w))), 0.0, *NOTHING
        self._count_anew()
        hinge, sweep = own.ask(w)
        u, loss = own.vertex_of(sweep.answers)
        u = sp.csr_array(u[None]) if 3 * np.count_nonzero(u) < len(u) else u[None]  # to be sent
        return total * hinge, total * u, total * loss, own.counts.copy(), own.n_unbounded

    def smoothed(self, w, temperature, loss_weight):
        """Sum of smoothed maxima at w, and of the means of their Gibbs distributions; counts."""
        own, total = self.problem, self.total
        if own is None:
            return 0.0, np.zeros(len(w)), *NOTHING
        self._count_anew()
        sweep = own.smoothed_sweep(w, temperature, loss_weight, mean=True)
        value = float(own.weight @ sweep.value)
        return total * value, total * sweep.mean, own.counts.copy(), own.n_unbounded

    def _count_anew(self):
        self.problem.counts[:] = self.problem.n_unbounded = 0


class PartedProblem(Problem):
    """Problem of samples in parts, for solvers that need sums over samples at one point alone."""

    parted = True

    def __init__(self, parts, surrogate):
        facts = [own for own in parts.each("facts") if own is not None]
        totals, n_weights, sums, n_nodes, flags = map(list, zip(*facts))
        self.total = float(sum(totals))
        max_loss, self.n_labels, self.mean_square = map(float, sum(sums) / self.total)
        super().__init__(np.ones(1), n_weights[0], max_loss)
        self.parts, self.surrogate = parts, surrogate
        self.is_compiled, self.exact, has_nodes = map(all, zip(*flags))
        self.n_nodes = sum(n_nodes) if has_nodes else None
        self.traffic = parts.traffic

    def _reset(self, capacity):
        if capacity:
            raise ValueError(
                "samples of a collection keep no outputs: leave cache='auto' or set it to False"
            )

    def ask(self, w):
        hinge, u, loss = (term / self.total for term in self._sum("plane", w))
        return hinge, Sweep(np.array([hinge]), None, (u / self.lam, loss))

    def _sum(self, method, *args):
        *sums, counts, n_unbounded = self.parts.sum(method, *args)
        self.counts += counts
        self.n_unbounded += int(n_unbounded)
        return sums

    def vertex_of(self, answers):
        return answers

    def step_towards(self, answers, gamma):
        v, loss = answers
        self.v += gamma * ((v.toarray() if sp.issparse(v) else v).ravel() - self.v)
        self.loss += gamma * (loss - self.loss)

    def _truth(self):
        return np.zeros(1), 0.0

    def refresh(self):
        self.w[:] = self.clip(self.v)

    def smoothed_sweep(self, w, temperature, loss_weight=1.0, mean=False):
        terms = self._sum("smoothed", w, temperature, loss_weight)
        value, total = (term / self.total for term in terms)
        return SmoothedSweep(np.array([value]), np.empty(1), np.empty(1), total)

    def dual_coef(self):
        return None

    # ---- warm starts, from weights: duals of samples are not kept --------------------------------

    def export(self):
        return {"w": self.w.copy(), "lam": self.lam, "loss": np.zeros(1)}

    def restore(self, exported):
        w = exported.get("w")
        if w is None or w.shape != self.w.shape:
            raise ValueError(
                "warm_start=True on a collection needs a fit on a collection with as many weights: "
                "set warm_start=False"
            )
        self.w = w.copy()
