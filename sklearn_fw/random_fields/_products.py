"""Distributions of independent variables, on fields of pairs and on factor graphs."""

import functools
import math

import numpy as np

from .._core.budget import time_left
from .._core.packed import starts_of
from .._kernels import lazy
from ._fields import PairwiseMRF

belief_propagation = lazy("graphs.belief_propagation")
factors = lazy("graphs.factors")

WORK = 2**23  # numbers between two looks at the clock, some tenths of a second
PASSES = 5  # from one labelling to the distributions around it


def parts_in_time(order, work):
    """Yield parts of an order of nodes, of which each does so much ``work``, while there is time.

    The first is always there. What is left when time ends is lacking: see `time_left`.
    """
    sums = np.cumsum(work[order]) // WORK
    for part in np.split(order, np.flatnonzero(np.diff(sums)) + 1):
        yield part
        if time_left() <= 0.0:
            return


class Products:
    """What the distributions of independent variables say of one field, by its compiled loops."""

    def __init__(self, field):
        self._field = field
        if isinstance(field, PairwiseMRF):
            self._layout = make_layout(field)
        else:
            self._layout = _factor_layout(field)
        self._kernels = belief_propagation if field._pairs else factors
        self._work = np.ones(field.n_variables)
        for scope in field.scopes:
            size = len(scope) * math.prod(field.n_states[i] for i in scope)
            for i in scope:
                self._work[i] += size

    def ascend(self, order, q):
        """Update the distributions of variables in turn.

        Returns the largest change of a probability, inf where time ended before all had a turn.
        """
        change, n_done = 0.0, 0
        for part in parts_in_time(order, self._work):
            found = self._kernels.mean_field(self._layout, self._field.theta, part, q)
            change, n_done = max(change, found), n_done + len(part)
        return change if n_done == len(order) else math.inf

    def above(self, labels):
        """A lower bound on log Z from an allowed labelling, and the distributions that prove it."""
        q = self._field.vertex(labels)[: self._field.node_start[-1]]
        for _ in range(PASSES):
            if self.ascend(np.arange(self._field.n_variables), q) == math.inf:
                break
        return q, self.bound(q)

    def bound(self, q):
        """Mean score and entropy: a lower bound on log Z."""
        return self._field.constant + self._kernels.product_bound(
            self._layout, self._field.theta, q
        )

    def marginals(self, q):
        """Products of the distributions of variables for every factor, in the order of theta."""
        node = self._field.node_blocks(q)
        outer = functools.partial(functools.reduce, np.multiply.outer)
        tables = [outer([node[i] for i in scope]).ravel() for scope in self._field.scopes]
        return np.concatenate([q, *tables])


def make_layout(mrf):
    """The field of pairs as the kernels take it."""
    end = mrf.edges.ravel()
    sizes = np.bincount(end, minlength=mrf.n_variables)
    return belief_propagation.Layout(
        n_states=mrf.n_states,
        node_start=mrf.node_start,
        edge_start=mrf.edge_start,
        end=end,
        message_start=starts_of(mrf.n_states[end]),
        half_start=starts_of(sizes),
        half=np.argsort(end, kind="stable"),
    )


def _factor_layout(graph):
    """The factor graph as the kernels take it."""
    lengths = np.array([len(scope) for scope in graph.scopes], np.int64)
    scope = np.array([i for scope in graph.scopes for i in scope], np.int64)
    return factors.FactorLayout(
        n_states=graph.n_states,
        node_start=graph.node_start,
        factor_start=graph.factor_start,
        scope_start=starts_of(lengths),
        scope=scope,
        factor=np.repeat(np.arange(len(lengths)), lengths),
        place_start=starts_of(np.bincount(scope, minlength=graph.n_variables)),
        place=np.argsort(scope, kind="stable"),
    )
