"""Bucket elimination with tables of limited size, and the bound on log Z that it gives."""

import math
from dataclasses import KW_ONLY
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._core import check
from .._core.budget import time_left
from .._core.loop import IterativeMethod, drive
from ._choice import NOTHING_ALLOWED, Inference, Request, unfinished
from ._estimator import MarginalsEstimator
from ._reduced import Reduced

# The first step of shifts, what it is multiplied by after a good and after a bad one.
STEP, LONGER, SHORTER = 0.6, 1.2, 0.4
# Seconds of a pass for each number in its tables, roughly, the share of the time that there is that
# one may take, and by what tables shrink where it would take more.
SECONDS_PER_NUMBER, PASS_SHARE, FEWER = 4e-8, 0.25, 8
LOG_UNIT = 2**20  # sizes of products are counted in this part of a bit
IMPOSSIBLE = -300.0  # logarithm of a belief that no shift is worth


class MiniBucketMarginals(MarginalsEstimator):
    """Marginals and a certified upper bound on log Z, by weighted mini-buckets.

    Variables are summed out one after the other. Where that needs too large a table, the tables
    that meet there are split into parts with weights w_r that sum to one, and Hölder's inequality
    bounds the sum by one of smaller tables::

        sum_x prod_r exp f_r(x) <= prod_r (sum_x exp((f_r(x) + shift_r(x)) / w_r)) ** w_r

    for all shifts that sum to zero, which passes optimize. Choose it for an upper bound on fields
    that are somewhat too wide for `ExactMarginals`: with larger tables bound and marginals become
    exact.

    Parameters
    ----------
    max_table_size : int, default=2**16
        Most numbers in a table; only given ones may be larger. Time is about in proportion to it.
    tol : float, default=0.05
        Stop when a pass lowers the bound by at most this, in nats.
    max_iter : int, default=50
        Passes; each sums up twice, for the bound and for the beliefs.
    time_limit : float, default=None
        Seconds, learning included. Tables are smaller than ``max_table_size`` where a pass would
        take too long; without time for any, the bound is that of single tables.
    learner : MRFLearner or None, default=None
        For tables: how the field is learned. None is ``MRFLearner()``.
    verbose : int, default=0
        Log one line per pass to the logger "sklearn_fw".

    Attributes
    ----------
    marginals_ : ndarray of shape (n_variables, n_states)
        Derivatives of the bound by the potentials: distributions, exact where nothing was split.
    edge_marginals_ : ndarray of shape (n_edges, n_states, n_states)
        The same for pairs, in the order of ``mrf_.edges``; inconsistent before convergence.
    log_partition_, log_partition_upper_ : float
        The bound: log Z is at most this, converged or not.
    log_partition_lower_ : float
        Certified lower bound: mean score and entropy of independent variables near these marginals;
        log Z itself where nothing was split.
    n_split_ : int
        Variables whose buckets were split; with 0 all answers are exact.
    mrf_, factor_marginals_, categories_ : various
        As of every `MarginalsEstimator`.
    learning_history_, n_features_in_, feature_names_in_ : various
        As of every `MarginalsEstimator`.
    n_iter_, converged_, status_ : int, bool, str
        Passes in all; whether the last one lowered the bound by at most ``tol``; how they ended.
    history_ : dict of str to ndarray
        One entry per pass: "n_iter", "time", "dual_objective" (the bound) and "change" (by how much
        it fell, NaN where it did not and the step is made shorter).

    See Also
    --------
    ExactMarginals : Elimination without a limit that is felt.
    TRBPMarginals : Bounds for fields that are far too wide, such as large grids.
    MeanFieldMarginals : A bound from the other side.

    Notes
    -----
    The variable whose bucket would be smallest leaves first. Parts have equal weights; shifts move
    to where their beliefs agree. A pass costs at most one table of ``max_table_size`` per variable.

    References
    ----------
    .. [1] R. Dechter, I. Rish, "Mini-buckets: a general scheme for bounded inference", Journal of
       the ACM 50, 2003.
    .. [2] Q. Liu, A. Ihler, "Bounding the partition function using Hölder's inequality", ICML 2011:
       weights, and messages between parts. There weights move, too.

    Examples
    --------
    A grid of spins, with tables that are too small for it, and with tables that are not.

    >>> from sklearn_fw.datasets import make_ising
    >>> from sklearn_fw.random_fields import MiniBucketMarginals
    >>> grid = make_ising("grid", (8, 8), coupling=4.0, random_state=0)
    >>> small = MiniBucketMarginals(max_table_size=2**5).fit(grid)
    >>> large = MiniBucketMarginals().fit(grid)
    >>> large.n_split_, bool(small.log_partition_upper_ > large.log_partition_)
    (0, True)
    """

    max_table_size: check.at_least(1) = 2**16
    _: KW_ONLY
    tol: float = 0.05
    max_iter: int = 50
    time_limit: float | None = None
    learner: object = None
    verbose: int = 0

    takes_factors = True

    def infer(self, field, request=Request()):  # noqa: B008 - it is immutable
        limit, reduced, notes = self.max_table_size, Reduced(field), []
        run = _Passes(reduced, limit)
        outcome = drive(run, **request.loop_options(self, lambda: {"n_iter_": run.n_passes}))
        if run.is_loose or run.buckets.limit < limit:
            limit_now = 1 if run.is_loose else run.buckets.limit
            text = (
                f"time_limit leaves no room for tables of max_table_size={limit}: those of a split "
                f"bucket have at most {limit_now} numbers; increase time_limit for a closer bound"
            )
            notes.append(ConvergenceWarning(text))
        marginals = reduced.expand(*run.solution())
        upper = run.bound
        lower = -math.inf if run.buckets.n_split or run.is_loose else upper
        state = f"the bound still falls by more than tol={self.tol:g} in a pass"
        notes += unfinished(outcome, state)
        attributes = {**outcome.attributes(), "n_split_": run.buckets.n_split}
        return Inference(marginals, upper, upper, lower, attributes, notes)


class _Passes(IterativeMethod):
    certificate = "change"

    def __init__(self, reduced, limit):
        self.buckets, self.constant = buckets_in_time(reduced, limit), reduced.constant
        self.bound, self.length, self.n_passes = math.inf, STEP, 0
        self.beliefs, self.is_loose = None, False
        self.shifts, self.directions = self.buckets.shifts, None

    def step(self):
        """Sum up with new shifts, which are kept if the bound falls."""
        if self.directions is not None:
            moves = zip(self.shifts, self.directions)
            self.buckets.shifts = [shift + self.length * move for shift, move in moves]
        self.n_passes += 1
        try:
            bound = self.constant + self.buckets.upper_bound()
            if bound == -math.inf:
                raise ValueError(NOTHING_ALLOWED)
            change = self.bound - bound
            found = self.buckets.beliefs() if change > 0.0 else None
        except TimeoutError:
            if self.beliefs is None:
                self.is_loose = True
                bound, self.beliefs = self.buckets.loose()
                self.bound = self.constant + bound
            return {"dual_objective": self.bound, "change": None}
        if found is None:
            self.length *= SHORTER
            return {"dual_objective": self.bound, "change": None}
        if self.directions is not None:
            self.length *= LONGER
        self.bound, self.shifts = bound, self.buckets.shifts
        self.beliefs, of_parts = found
        self.directions = self.buckets.directions(of_parts)
        if not self.buckets.n_split:
            change = 0.0
        return {"dual_objective": bound, "change": change if change < math.inf else None}

    def solution(self):
        beliefs = [belief / belief.sum() for belief in self.beliefs]
        n = len(self.buckets.sizes)
        return beliefs[:n], beliefs[n:]


def buckets_in_time(field, limit):
    """The `MiniBuckets` of a field, with smaller tables where a pass would take too long."""
    while True:
        buckets = MiniBuckets(field, limit)
        largest = max(map(np.size, buckets.given), default=1)
        seconds, room = buckets.n_numbers * SECONDS_PER_NUMBER, PASS_SHARE * time_left()
        if limit <= largest or seconds <= room or not buckets.is_complete:
            return buckets
        limit = max(int(limit / max(FEWER, seconds / room)), largest)


class _Bucket(NamedTuple):
    """A part of a bucket: tables whose product is summed over one variable, with a weight."""

    variable: int
    turn: int  # of the parts of this bucket
    inputs: tuple  # numbers of tables
    scope: list  # variables of the product, ascending as in all tables
    output: int  # number of the table that is left


class MiniBuckets:
    """Weighted mini-bucket elimination on one field, a `Reduced`.

    A variable leaves through its bucket, the product of all tables on it. Where that has too many
    numbers it is split in parts r with weights ``w_r`` that sum to one, and each sends::

        m_r = w_r log sum_x exp((f_r + shift_r(x)) / w_r),    sum_r shift_r = 0
    """

    def __init__(self, field, max_table_size):
        self.limit, self.sizes = max_table_size, [len(block) for block in field.unary]
        self.given = [*field.unary, *field.tables]
        self.scopes = [*((i,) for i in range(len(self.sizes))), *field.scopes]
        self.n_given, self._buckets, self.is_complete = len(self.scopes), [], True
        self._plan(max_table_size)
        n_parts = np.bincount([b.variable for b in self._buckets], minlength=len(self.sizes))
        self.n_split = int(np.count_nonzero(n_parts > 1))
        self.shifts = [np.zeros((n, k)) for n, k in zip(n_parts, self.sizes)]

    def _plan(self, limit):
        at = [set() for _ in self.sizes]  # tables on each variable
        for t, scope in enumerate(self.scopes):
            for i in scope:
                at[i].add(t)
        # Whole numbers, so that sums do not depend on the order.
        logs = np.rint(LOG_UNIT * np.log2(np.maximum(self.sizes, 1.0))).astype(np.int64).tolist()

        def cost(i):
            return sum(logs[j] for j in set().union(*(self.scopes[t] for t in at[i])))

        costs = np.array([cost(i) for i in range(len(at))])
        for _ in self.sizes:
            if time_left() <= 0.0:
                self.is_complete = False
                break
            v, changed = int(costs.argmin()), set()
            for turn, (inputs, together) in enumerate(self._split(sorted(at[v]), limit)):
                output = len(self.scopes)
                self.scopes.append(tuple(sorted(together - {v})))
                bucket = _Bucket(v, turn, tuple(inputs), sorted(together), output)
                self._buckets.append(bucket)
                for i in self.scopes[output]:
                    at[i] = (at[i] - set(inputs)) | {output}
                changed.update(self.scopes[output])
            for i in changed:
                costs[i] = cost(i)
            costs[v] = np.iinfo(np.int64).max

    def _split(self, tables, limit):
        """Lists of tables whose product is small enough, with its variables: large ones first."""
        parts = []
        for t in sorted(tables, key=lambda t: -len(self.scopes[t])):
            scope = set(self.scopes[t])
            fitting = [p for p in parts if self._size(p[1] | scope) <= limit or scope <= p[1]]
            if fitting:  # where it adds least
                best = min(fitting, key=lambda p: len(scope - p[1]))
                best[0].append(t)
                best[1].update(scope)
            else:
                parts.append(([t], scope))
        return parts

    def _size(self, scope):
        return math.prod(self.sizes[i] for i in scope)

    @property
    def n_numbers(self):
        return sum(float(self._size(bucket.scope)) for bucket in self._buckets)

    # ---- sums ----------------------------------------------------------------------------------

    def loose(self):
        """Log Z from above without the constant, and beliefs, by each variable and table alone."""
        n, sums = len(self.sizes), [np.logaddexp.reduce(t, axis=None) for t in self.given]
        bound = sum(sums[:n]) + sum(table.max() for table in self.given[n:])
        return float(bound), [np.exp(t - total) for t, total in zip(self.given, sums)]

    def upper_bound(self):
        """Log Z from above, with the current shifts; without the constant."""
        self._in_time()
        self._tables = [*self.given, *[None] * len(self._buckets)]
        for bucket in self._buckets:
            self._in_time()
            table, weight, axis = self._product(bucket)
            top = np.max(table, axis=axis, keepdims=True)
            top[top == -np.inf] = 0.0
            with np.errstate(divide="ignore"):
                sums = np.log(np.exp((table - top) / weight).sum(axis=axis))
            self._tables[bucket.output] = weight * sums + top.squeeze(axis)
        self._tops = [t for t in range(self.n_given, len(self.scopes)) if not self.scopes[t]]
        return float(sum(self._tables[t] for t in self._tops))

    def beliefs(self):
        """Derivatives of the last `upper_bound`: by the given tables, and parts by variable."""
        found = [None] * len(self.scopes)
        for t in self._tops:
            found[t] = np.ones(())
        of_parts = [np.empty_like(shift) for shift in self.shifts]
        for bucket in reversed(self._buckets):
            self._in_time()
            table, weight, axis = self._product(bucket)
            message = np.expand_dims(self._tables[bucket.output], axis)
            share = np.exp((table - np.where(message > -np.inf, message, 0.0)) / weight)
            share *= np.expand_dims(found[bucket.output], axis)
            found[bucket.output] = None
            for t in bucket.inputs:
                others = [a for a, i in enumerate(bucket.scope) if i not in self.scopes[t]]
                found[t] = share.sum(axis=tuple(others))
            others = tuple(a for a in range(share.ndim) if a != axis)
            of_parts[bucket.variable][bucket.turn] = share.sum(axis=others)
        return found[: self.n_given], of_parts

    def _in_time(self):
        if time_left() <= 0.0 or not self.is_complete:
            raise TimeoutError

    def _product(self, bucket):
        """The product, its weight and the axis of the variable that leaves."""
        v, table = bucket.variable, np.zeros([self.sizes[i] for i in bucket.scope])
        factors = [((v,), self.shifts[v][bucket.turn])]
        for scope, factor in factors + [(self.scopes[t], self._tables[t]) for t in bucket.inputs]:
            table += factor.reshape([self.sizes[i] if i in scope else 1 for i in bucket.scope])
        return table, 1.0 / len(self.shifts[v]), bucket.scope.index(v)

    def directions(self, of_parts):
        """Directions of the shifts in which the beliefs of parts come to agree."""
        found = []
        for beliefs in of_parts:
            weight = 1.0 / len(beliefs)
            with np.errstate(divide="ignore"):
                logs = np.log(beliefs)
            logs[:, np.any(logs < IMPOSSIBLE, axis=0)] = 0.0  # forbidden, or as good as that
            found.append(weight * (logs.mean(axis=0) - logs))
        return found
