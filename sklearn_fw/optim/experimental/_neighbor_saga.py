"""SAGA whose steps refresh the memory of neighbours, exactly or with a shared slope."""

from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from ..._core.validation import check_choice, check_integer, check_not_negative, is_auto
from ..._kernels import lazy
from .._incremental._engines import SeparableEngine
from .._incremental._run import IncrementalSolver
from .._incremental._saga import SagaRun
from ._memorization import memorization_step
from ._neighbors import METHODS, given_parents, graph_of_parents, neighbor_graph

memory_kernels = lazy("incremental.memory")
random = lazy("common.random")

# What epsilon stands for the variants without one: never share, always share.
EPSILON = {"q_saga": -1.0, "n_saga": -1.0, "shared_n_saga": np.inf}
VARIANTS = {*EPSILON, "epsilon_n_saga"}

# A ridge below this share of L is none, as far as the longest steps are concerned.
SMALLEST = 1e-12
# Epochs without progress after which switch_to_saga="auto" switches.
PATIENCE = 2


class MemoryEngine(SeparableEngine):
    """`SeparableEngine` whose steps refresh several slots (`memory.py`), or one when ``plain``."""

    def __init__(self, problem, epsilon):
        super().__init__(problem, 1, order_columns=False)
        self.epsilon, self.plain = epsilon, False
        self.norms = np.empty(0)
        self.filled = np.ones(problem.n_rows, dtype=bool)
        self.filled[problem.active] = False
        # Rows in use, filled slots, slopes computed, slopes shared.
        self.tally = np.array([problem.active.size, 0, 0, 0])

    def set_step(self, gamma, metric, center):
        super().set_step(gamma, metric, center)
        if 0.0 <= self.epsilon < np.inf:
            self.norms = self._norms()

    def _norms(self):
        """Norms of the gradients of the scores, in the coordinates of the steps."""
        X, center = self.problem.X, self.center
        squares = np.empty(self.problem.n_rows)
        for part in gen_batches(squares.size, 1 << 13):
            if sp.issparse(X):
                rows = X[part].astype(np.float64)
                squares[part] = np.asarray(rows.multiply(rows).sum(axis=1)).reshape(-1)
            else:
                rows = X[part].astype(np.float64) - (0.0 if center is None else center)
                squares[part] = np.einsum("ij,ij->i", rows, rows)
        return np.sqrt(squares + self.problem.fit_intercept)

    def connect(self, first, last, members, distances=None):
        """Fix which slots follow a step: ``members[first[i] : last[i]]`` that on row i."""
        distances = np.empty(0) if distances is None else distances
        self.links = memory_kernels.Links(first, last, members, distances)
        self.sharing = memory_kernels.Sharing(
            self.epsilon, self.norms, float(self.problem.loss.smoothness)
        )
        self.slots = memory_kernels.Slots(
            self.filled, np.empty(int((last - first).max(initial=1))), self.tally
        )

    def move_to(self, coef, intercept, memory=None, total=None, mass=None):
        super().move_to(coef, intercept, memory, total, mass)
        if memory is not None:
            self.filled[:] = True
            self.tally[1] = self.tally[0]

    def run(self, order, refresh=True):
        if self.plain:
            self.tally[2] += order.size
            return super().run(order, refresh)
        return memory_kernels.memory_epoch(
            self.rows, self.target, self.penalty, order, self.state, self.memory, self.gamma,
            self.metric, self.links, self.sharing, self.slots,
        )  # fmt: skip


class NeighborRun(SagaRun):
    """Epochs with neighbours, each with an exact certificate, until those of SAGA take over.

    Shared slopes are no slopes of the losses at visited scores, so the memory tells nothing of the
    objective. Beside the many rows that a step refreshes, two products with X are cheap; unlike
    after `certify` the memory stays as the method left it.
    """

    def __init__(self, problem, engine, settings, *, tol, rng, start=None):
        super().__init__(problem, engine, settings, tol=tol, rng=rng, start=start)
        self.n_epochs, self.stale, self.lowest = 0, 0, np.inf
        self.q = min(int(settings.n_neighbors), problem.active.size)
        self.random = settings.variant == "q_saga"
        if self.random:
            self.ring_seed = rng.randint(2**32, size=1, dtype=np.uint64)
            self.ring = problem.active.copy()
        else:
            engine.connect(*self._children(rng))
        engine.plain = settings.switch_to_saga == 0

    def step(self):
        """An epoch; exact certificates while there are neighbours."""
        if self.engine.plain:
            return super().step()
        if self.random:
            self.engine.connect(*self._arcs())
        self.advance(self.draw())
        self.n_epochs += 1
        self.best = None  # as large as the next one
        self.best = self.problem.certify(*self.engine.point())
        row = self.best.row()
        self._switch(row["dual_gap" if self.has_dual else "gradient_mapping"])
        if self.may_stop(row):
            return self.certify()
        return self._row(row, certified=True)

    def _row(self, row, certified):
        counts = {
            "n_gradient_evaluations": self.n_gradient_evaluations,
            "shared_fraction": self.shared_fraction,
        }
        return super()._row({**row, **counts}, certified)

    @property
    def n_gradient_evaluations(self):
        """Slopes that steps have computed; those of certificates do not count."""
        return int(self.engine.tally[2])

    @property
    def shared_fraction(self):
        """Fraction of the refreshed slots that took over the slope of another row."""
        _, _, computed, shared = self.engine.tally
        return float(shared / max(computed + shared, 1))

    def _switch(self, value):
        when = self.settings.switch_to_saga
        if is_auto(when):
            self.stale = 0 if value < self.lowest else self.stale + 1
            self.lowest = min(self.lowest, value)
            self.engine.plain = self.stale >= PATIENCE
        elif when is not None:
            self.engine.plain = self.n_epochs >= when

    def _arcs(self):
        """Links of a new random circle of the rows: q consecutive ones beginning with each."""
        random.shuffle(self.ring, self.ring_seed)
        first = np.zeros(self.problem.n_rows, dtype=np.intp)
        first[self.ring] = np.arange(self.ring.size)
        return first, first + self.q, np.append(self.ring, self.ring[: self.q - 1])

    def _children(self, rng):
        """Links and distances of the graph of neighbours, restricted to rows with a weight."""
        problem, neighbors = self.problem, self.settings.neighbors
        X, y, used = problem.X, problem.y, None
        if problem.active.size < problem.n_rows:
            used = np.sort(problem.active)  # runs shuffle it
            X, y = X[used], y[used]
        labels = y if problem.loss.task == "classification" else None
        if not isinstance(neighbors, str):
            parents = given_parents(neighbors, problem.X, self.q)
            if used is not None:
                parents = _among(parents, used, problem.n_rows)
            graph = graph_of_parents(X, labels, parents)
        elif labels is None:
            graph = self._graph_of_targets(X, y, rng)
        else:
            graph = neighbor_graph(X, y, self.q, method=neighbors, random_state=rng)
        first, last, members = graph.indptr[:-1], graph.indptr[1:], graph.children
        if used is not None:
            members = used[members]
            first, last = (_spread(at, used, problem.n_rows) for at in (first, last))
        return first, last, members.astype(problem.active.dtype), graph.child_distances

    def _graph_of_targets(self, X, y, rng):
        """Neighbours in rows and targets: differences of both make slopes differ.

        Targets are divided by a bound on the norm of the solution, at which the penalty alone is
        as large as the objective at zero.
        """
        problem = self.problem
        how = {"method": self.settings.neighbors, "random_state": rng}
        objective = problem.origin()[2] * problem.total_weight
        if problem.penalty.l2 <= 0.0 or objective <= 0.0:  # or nothing is lost at zero
            return neighbor_graph(X, None, self.q, **how)
        column = (y / np.sqrt(2.0 * objective / problem.penalty.l2))[:, None]
        wide = sp.hstack([X, column], "csr") if sp.issparse(X) else np.hstack([X, column])
        # The search sees one column more, the distances do not.
        return graph_of_parents(X, None, neighbor_graph(wide, None, self.q, **how).parents)


def _spread(values, used, n_rows):
    """Values of the rows in use, and zeros for the others."""
    result = np.zeros(n_rows, dtype=values.dtype)
    result[used] = values
    return result


def _among(parents, used, n_rows):
    """Parents of the rows in use, numbered among them; a row stands in for those that are not."""
    rows = np.arange(used.size)
    number = np.full(n_rows, -1)
    number[used] = rows
    found = number[parents[used]]
    return np.where(found < 0, rows[:, None], found)


class NeighborSaga(IncrementalSolver):
    """SAGA on one thread whose steps refresh the memory of close rows too; for a few epochs.

    Experimental. A step makes the memory of n_neighbors rows fresh instead of one, so the direction
    of the next steps has less variance. The error falls faster per step, and with shared slopes per
    computed slope; but each step also costs as many row operations as it refreshes slots, so in
    seconds `SparseSaga` is hard to beat. Choose it to study these methods, or where computing a
    slope is what costs.

    Parameters
    ----------
    variant : {"epsilon_n_saga", "n_saga", "shared_n_saga", "q_saga"}, default="epsilon_n_saga"
        "q_saga" computes the slopes of random rows, "n_saga" those of neighbours; "shared_n_saga"
        gives all neighbours of a row its slope, which costs nothing and is not accurate: errors
        level off; "epsilon_n_saga" shares only slopes that are certain to be accurate.
    n_neighbors : int, default=20
        Slots that a step refreshes on average; all rows at most.
    epsilon : float, default=0.1
        Largest error that sharing may make in the norm of the gradient of a term
        ``s_i loss(y_i, <w, x_i> + c)``; not negative, may be infinite.
    neighbors : str, array-like of shape (n_samples, n_neighbors) or object, default="auto"
        How to find neighbours, or which they are: the ``method`` of `neighbor_graph`.
    switch_to_saga : int, "auto" or None, default=None
        Number of epochs after which to go on without neighbours, for high accuracy; "auto" when
        the certificate has not improved for two epochs.
    step_size : str or float, default="auto"
        "auto" and "theory" as `SparseSaga`; "paper", "optimal", "universal" or "capped", see the
        notes. Smaller steps lower the level at which shared slopes end.
    sampling : {"shuffle", "uniform"}, default="shuffle"
        As `SparseSaga`.
    conditioning : {"auto", "diagonal"} or None, default="auto"
        As `SparseSaga`. Neighbours are those in the original columns in any case.

    Notes
    -----
    Penalties of groups and several outputs in one problem are not supported. Every epoch ends with
    an exact certificate. ``history`` gains "n_gradient_evaluations" (slopes that steps have
    computed) and "shared_fraction" (of the refreshed slots). In the first epoch the sum of the
    memory stands for the mean over the slots that were written, not over all.

    Step rules, with q slots per step of n, every term L-smooth and the penalty mu-strongly convex
    (its ridge), and ``K = 4 q L / (n mu)``:

    - "auto" is 1 / (3 L) and "theory" 1 / (5 L), as for SAGA, where L is without the ridge; here it
      is with it.
    - "paper" is ``q / (mu n)``, the step of the paper's experiments. It needs a ridge, is longer
      than theorems allow as soon as K > 1, and than 2 / L as soon as K > 8, where iterates may
      leave for infinity.
    - "optimal" has the best proven rate: ``a / (4 L)`` with ``a = memorization_step(K)``, and for
      variants that share slopes ``memorization_step(K, "shared")``, the longest step for which
      their theorem holds (Theorems 1 and 2).
    - "universal" is ``(2 - sqrt(2)) / (4 L)``, with at least 0.58 of that rate whatever mu is
      (Corollary 2).
    - "capped" is the shorter one of "paper" and "universal".

    No theorem is about an intercept, which has no ridge.

    Differences from the paper: q-SAGA refreshes consecutive rows on a random circle that is new in
    every epoch, and the own row is one of them; slopes are shared, not gradients (the paper's
    recommendation); the bound on the error of a shared slope is the largest change of a monotone
    slope, which is never above the paper's and holds for every loss.

    References
    ----------
    T. Hofmann, A. Lucchi, S. Lacoste-Julien, B. McWilliams, Variance reduced stochastic gradient
    descent with neighbors, NIPS 2015.
    """

    def __init__(
        self,
        *,
        variant="epsilon_n_saga",
        n_neighbors=20,
        epsilon=0.1,
        neighbors="auto",
        switch_to_saga=None,
        step_size="auto",
        sampling="shuffle",
        conditioning="auto",
    ):
        super().__init__(step_size=step_size, sampling=sampling, conditioning=conditioning)
        self.variant = variant
        self.n_neighbors = n_neighbors
        self.epsilon = epsilon
        self.neighbors = neighbors
        self.switch_to_saga = switch_to_saga

    step_rules = IncrementalSolver.step_rules | {"paper", "optimal", "universal", "capped"}

    def _share(self, engine, smoothness, metric):
        if self.step_size in IncrementalSolver.step_rules:
            return super()._share(engine, smoothness, metric)
        mu, n = engine.problem.penalty.l2 / engine.n_rows, engine.n_rows
        if metric is not None:  # of the penalty in the coordinates of the steps
            mu *= float(metric.min(initial=np.inf))
        q = min(int(self.n_neighbors), n)
        if mu <= 0.0 and self.step_size in ("paper", "capped"):
            raise ValueError(
                f"step_size={self.step_size!r} needs a ridge penalty: take 'universal', or an "
                f"l1_ratio below 1"
            )
        smoothness_of_terms = smoothness + mu
        share = smoothness / smoothness_of_terms  # of the one over the other
        universal = 0.25 * float(memorization_step(1.0, "universal")) * share
        if self.step_size == "universal":
            return universal
        if self.step_size == "optimal":
            shares = EPSILON.get(self.variant, self.epsilon) > 0.0
            K = 4.0 * q * smoothness_of_terms / (n * max(mu, SMALLEST * smoothness_of_terms))
            return 0.25 * float(memorization_step(K, "shared" if shares else "optimal")) * share
        paper = smoothness * q / (mu * n)
        return paper if self.step_size == "paper" else min(paper, universal)

    def check(self):
        """Refuse settings that make no sense."""
        super().check()
        check_choice(self.variant, "variant", VARIANTS)
        check_integer(self.n_neighbors, "n_neighbors", 1)
        if not (isinstance(self.epsilon, Real) and self.epsilon >= 0.0):
            raise ValueError(f"epsilon must be a number that is not negative, got {self.epsilon!r}")
        if self.epsilon != np.inf:  # which shares always
            check_not_negative(self.epsilon, "epsilon")
        if isinstance(self.neighbors, str):
            check_choice(self.neighbors, "neighbors", METHODS, "an array")
        if isinstance(self.switch_to_saga, str):
            check_choice(self.switch_to_saga, "switch_to_saga", {"auto"}, "a number")
        elif self.switch_to_saga is not None:
            check_integer(self.switch_to_saga, "switch_to_saga", 0)

    def make_engine(self, problem, n_workers):
        if problem.n_outputs is not None:
            raise ValueError(
                f"solver={self.variant!r} handles one output per problem: use "
                "multi_class='ovr', or solver='asaga'"
            )
        if not problem.penalty.separable:
            raise ValueError(
                f"solver={self.variant!r} handles penalties of single coefficients only: use "
                "solver='asaga' for penalties of groups"
            )
        return MemoryEngine(problem, float(EPSILON.get(self.variant, self.epsilon)))

    def make_run(self, problem, engine, *, tol, rng, start):
        return NeighborRun(problem, engine, self, tol=tol, rng=rng, start=start)
