"""The dual problem of samples that stay in parts: hinges and planes at a point are sums over these.

All samples together are its one block, of weight one, and an answer is the plane of all of theirs.
"""

import numpy as np
import scipy.sparse as sp

from ...optim import Pieces
from .._models._black_box import dense
from ._base import Problem, SmoothedSweep, Sweep


class SamplePart:
    """Samples of one part, of weight ``total``; ``problem`` is None where there are none.

    Memory besides the samples is that of the weights that these use.
    """

    def __init__(self, problem=None, total=0.0):
        self.problem, self.total, self.narrow = problem, total, None
        if problem is not None:
            self.n_weights = problem.n_weights
            self.problem, self.narrow = problem.narrowed()
            self.problem.reset(1.0)

    def facts(self):
        """Which weights are used, of how many; the weight of the samples, and what adds up."""
        if self.problem is None:
            return None
        own = self.problem
        n_nodes = own.n_blocks if own.n_nodes is None else own.n_nodes
        means = np.array([own.max_loss, own.n_labels, own.mean_square])
        flags = own.is_compiled, own.exact, own.n_nodes is not None
        return self.narrow, self.n_weights, self.total, self.total * means, n_nodes, flags

    def plane(self, w):
        """Sum of hinges at w; the plane (u, l) of what is best there; counts."""
        own, total = self.problem, self.total
        if own is None:
            return 0.0, 0.0, 0.0, 0, 0
        self._count_anew()
        hinge, sweep = own.ask(w)
        u, loss = own.vertex_of(sweep.answers)
        u = self._of_all(total * u)
        return total * hinge, u, total * loss, own.counts.copy(), own.n_unbounded

    def smoothed(self, w, temperature, loss_weight):
        """Sum of smoothed maxima at w, and of the means of their Gibbs distributions; counts."""
        own, total = self.problem, self.total
        if own is None:
            return 0.0, 0.0, 0, 0
        self._count_anew()
        sweep = own.smoothed_sweep(w, temperature, loss_weight, mean=True)
        value = float(own.weight @ sweep.value)
        return total * value, self._of_all(total * sweep.mean), own.counts.copy(), own.n_unbounded

    def _count_anew(self):
        self.problem.counts[:] = self.problem.n_unbounded = 0

    def _of_all(self, u):
        """A row of all weights, to be sent: sparse where that is shorter."""
        at = np.flatnonzero(u)
        places = at if self.narrow is None else self.narrow.places(at)
        row = sp.csr_array((u[at], places, [0, len(at)]), shape=(1, self.n_weights))
        return row if 3 * len(at) < self.n_weights else row.toarray()


class PartedProblem(Problem):
    """Problem of samples in parts, for solvers that need sums over samples at one point alone."""

    parted = True

    def __init__(self, parts, surrogate):
        self.facts = parts.each("facts")
        _, n_weights, totals, sums, n_nodes, flags = zip(*filter(None, self.facts))
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

    def _sum(self, method, w, *args):
        if any(own and own[0] for own in self.facts):
            w = Pieces(own and (own[0].of(w) if own[0] else w) for own in self.facts)
        *sums, counts, n_unbounded = self.parts.sum(method, w, *args)
        self.counts += counts
        self.n_unbounded += int(n_unbounded)
        return sums

    def vertex_of(self, answers):
        return answers

    def step_towards(self, answers, gamma):
        v, loss = answers
        self.v += gamma * (dense(v).ravel() - self.v)
        self.loss += gamma * (loss - self.loss)

    def _truth(self):
        return np.zeros(1), 0.0

    def refresh(self):
        self.w[:] = self.clip(self.v)

    def smoothed_sweep(self, w, temperature, loss_weight=1.0, mean=False):
        terms = self._sum("smoothed", w, temperature, loss_weight)
        value, total = (term / self.total for term in terms)
        return SmoothedSweep(np.array([value]), np.empty(1), np.empty(1), dense(total).ravel())

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
