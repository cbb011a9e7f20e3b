"""What an oracle works out about a graph alone, once for many scores on it."""

from weakref import WeakKeyDictionary

import numpy as np


class PlanCache:
    """The plan of the graph asked about last: adjacency, an elimination order and the like.

    ``make(edges, n_nodes, n_states)`` computes a plan; ``edges`` is a contiguous int64 copy of
    shape (n_edges, 2), which the plan may keep. Plans are shared between threads: nobody may
    write into one. As an attribute of a class, ``_plan = PlanCache(make)``, each object has a
    memory of its own, ``self._plan(scores)``, which lives outside of the object: copies, clones
    and pickles know nothing of it.
    """

    def __init__(self, make):
        self._make = make
        self._last = None  # (edges, n_nodes, n_states, plan), always replaced as a whole
        self._of = WeakKeyDictionary()

    def __call__(self, scores):
        n_nodes, n_states = scores.unary.shape
        last = self._last
        if (
            last is None
            or last[1:3] != (n_nodes, n_states)
            or not np.array_equal(last[0], scores.edges)
        ):
            # A private copy: the caller's array may change between two calls.
            edges = np.array(scores.edges, dtype=np.int64, order="C").reshape(-1, 2)
            last = edges, n_nodes, n_states, self._make(edges, n_nodes, n_states)
            self._last = last
        return last[3]

    def __get__(self, oracle, owner=None):
        if oracle is None:
            return self
        return self._of.setdefault(oracle, PlanCache(self._make))
