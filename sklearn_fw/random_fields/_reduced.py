"""Factor graphs without what hard constraints and observations leave no choice about."""

import numpy as np

from ..inference import FactorElimination
from ._choice import NOTHING_ALLOWED
from ._conditioning import remaining

# Nats below the best entry of its table, for what -inf forbids, where a method needs numbers.
SOFT = 30.0
N_ORDERS = 32  # tried where tables are large: a few hundredths of a second spare many seconds


def allowed_states(field):
    """Which states of each variable are left when every table has forbidden what it can.

    Arc consistency: a state goes that no table entry above -inf has together with the states left
    of the other variables, until nothing changes. ValueError when nothing is left of a variable.
    """
    allowed = [block > -np.inf for block in field.unary]
    tables = zip(field.scopes, field.tables)
    hard = [(scope, table > -np.inf) for scope, table in tables if table.min() == -np.inf]
    watching = [[] for _ in allowed]
    for h, (scope, _) in enumerate(hard):
        for i in scope:
            watching[i].append(h)
    waiting = dict.fromkeys(range(len(hard)))  # a queue of which each member is there once
    while waiting:
        h = next(iter(waiting))
        del waiting[h]
        scope, possible = hard[h]
        for axis, i in enumerate(scope):
            shape = [1] * possible.ndim
            shape[axis] = -1
            possible = possible & allowed[i].reshape(shape)
        for axis, i in enumerate(scope):
            left = possible.any(axis=tuple(a for a in range(possible.ndim) if a != axis))
            if not left.any():
                raise ValueError(NOTHING_ALLOWED)
            if left.sum() < allowed[i].sum():
                allowed[i] = left
                waiting.update(dict.fromkeys(g for g in watching[i] if g != h))
    return allowed


class Reduced:
    """What elimination has to do of a field: states that are possible, variables with a choice."""

    def __init__(self, field, max_table_size=2**26):
        self.field = field
        self.states = [np.flatnonzero(kept) for kept in allowed_states(field)]
        is_free = np.array([len(kept) > 1 for kept in self.states])
        is_free[0] |= not is_free.any()  # there is nothing to do for no variable
        self.free = np.flatnonzero(is_free)
        fixed = np.where(is_free, -1, [kept[0] for kept in self.states])
        # Keys are of each factor of the field the variables that are left of its scope.
        self.unary, merged, self.constant, self.keys = remaining(field, fixed, self.states)
        self.scopes, self.tables = list(merged), list(merged.values())
        parts = self.unary, self.scopes, self.tables
        self.elimination = FactorElimination(*parts, max_table_size, N_ORDERS)

    def graph(self):
        factors = list(zip(self.scopes, self.tables))
        return self.field._graph(self.unary, factors, constant=self.constant)

    def sums(self):
        """Marginals in the order of ``theta``, and log Z."""
        node, tables, value = self.elimination.sums()
        _some(value)
        return self.expand(node, tables), self.constant + value

    def expand(self, node, tables):
        """Marginals of the field in the order of ``theta``, from those of what is left of it.

        ``node`` has a row for each variable with a choice, ``tables`` an array for each scope.
        """
        known = dict(zip(self.scopes, tables)) | {(): np.ones(())}
        known |= {(v,): node[v][: len(block)] for v, block in enumerate(self.unary)}
        marginals = np.zeros(len(self.field.theta))
        blocks = self.field.node_blocks(marginals)
        for block, kept in zip(blocks, self.states):
            block[kept[0]] = 1.0
        for v, i in enumerate(self.free):
            blocks[i][self.states[i]] = known[(v,)]
        blocks = self.field.factor_blocks(marginals)
        for block, scope, key in zip(blocks, self.field.scopes, self.keys):
            kept = [self.states[i] for i in scope]
            block[np.ix_(*kept)] = known[key].reshape([len(states) for states in kept])
        return marginals

    def best(self):
        labels, value = self.elimination.argmax()
        _some(value)
        return self.labels(labels)[0]

    def draws(self, n_samples, rng):
        labels, value = self.elimination.draws(n_samples, rng)
        _some(value)
        return self.labels(labels)

    def labels(self, labels):
        """Labelings (n, n_variables) of the field from those of the variables that are left."""
        full = np.empty((len(labels), self.field.n_variables), np.int64)
        full[:] = [kept[0] for kept in self.states]
        for i, column in zip(self.free, labels.T):
            full[:, i] = self.states[i][column]
        return full


def _some(value):
    if value == -np.inf:
        raise ValueError(NOTHING_ALLOWED)


def soften(mrf):
    """The potentials with -inf replaced, for methods that need every state to be possible.

    A labeling with a forbidden entry becomes `SOFT` nats worse than every labeling without. Log Z
    can only grow, so an upper bound for the softened field holds for the given one. Also a list of
    the warning about it.
    """
    forbidden = mrf.theta == -np.inf
    if not forbidden.any():
        return mrf.theta, []
    starts = mrf._starts
    tops = np.maximum.reduceat(mrf.theta, starts[:-1])
    if tops.min() == -np.inf:
        raise ValueError("a table of potentials is -inf everywhere: no labeling is allowed")
    lows = np.minimum.reduceat(np.where(forbidden, np.inf, mrf.theta), starts[:-1])
    penalty = SOFT + float(np.sum(tops - lows))
    theta = np.where(forbidden, np.repeat(tops, np.diff(starts)) - penalty, mrf.theta)
    note = (
        f"{int(forbidden.sum())} of {len(theta)} potentials are -inf (hard constraints): they "
        f"count as {penalty:.3g} nats below the best entry of their table; ExactMarginals keeps "
        f"them, and so does oracle='auto' where the graph is narrow enough"
    )
    return theta, [UserWarning(note)]
