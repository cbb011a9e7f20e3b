"""The k best outputs from any oracle that knows max-marginals and keeps to states that are left.

All outputs are divided into parts, each with its best one known. The next best output is in the
part, and has there the state of a node, of which the max-marginals say that it loses least; that
state makes a part of its own. So every part costs one table and one call of the oracle [1]_, [2]_.

.. [1] C. Yanover, Y. Weiss, "Finding the M most probable configurations using loopy belief
   propagation", NIPS 2003. The best output of a part comes from one call of the oracle here, not
   from the states of largest max-marginals, which need not fit together where several are equal.
.. [2] E. L. Lawler, "A procedure for computing the k best solutions to discrete optimization
   problems", Management Science 18, 401-405, 1972.
"""

import numpy as np

from .scores import PairwiseScores


class _Part:
    """Outputs with some states left to each node, and the best of them."""

    def __init__(self, left, labels):
        self.left, self.labels = left, labels
        self._others = None

    def others(self, max_marginals):
        """Max-marginals of all states but those of the best output."""
        if self._others is None:
            table = np.where(self.left, max_marginals(self.left), -np.inf)
            table[np.arange(len(table)), self.labels] = -np.inf
            self._others = table
        return self._others

    def divide(self, node, state):
        """Leave out a state, and return what is left where it is the only one of its node."""
        rest = self.left.copy()
        rest[node] = False
        rest[node, state] = True
        self.left[node, state] = False
        self._others = None
        return rest


def k_best(argmax, max_marginals, left, k):
    """Values (m,) and labels (m, n_nodes) of the k best outputs, best first.

    ``argmax(left) -> (labels, value)`` and ``max_marginals(left) -> (n_nodes, n_states)`` answer
    for outputs whose states are left, where ``left`` is a boolean array of that shape.
    """
    found, parts, n_nodes = [], [], len(left)
    while left is not None:
        labels, value = argmax(left)
        if value > -np.inf:
            found.append((value, labels))
            parts.append(_Part(left, labels))
        left = _next_part(parts, max_marginals) if len(found) < k else None
    values = np.array([value for value, _ in found])
    order = np.argsort(-values, kind="stable")  # rounding may differ from part to part
    outputs = np.array([labels for _, labels in found], np.int32).reshape(len(found), n_nodes)
    return values[order], outputs[order]


def _next_part(parts, max_marginals):
    """What is left in the part that holds the best output not found so far; None if none does."""
    tables = [part.others(max_marginals) for part in parts]
    tops = [table.max(initial=-np.inf) for table in tables]
    if max(tops, default=-np.inf) == -np.inf:
        return None
    p = int(np.argmax(tops))
    return parts[p].divide(*np.unravel_index(tables[p].argmax(), tables[p].shape))


def k_best_labelings(oracle, scores, k):
    """`k_best` for an oracle on graphs, which is asked about scores with states forbidden."""

    def with_states(left):
        unary = np.where(left, scores.unary, -np.inf)
        return PairwiseScores._view(unary, scores.pairwise, scores.edges)

    return k_best(
        lambda left: oracle.argmax(with_states(left))[:2],
        lambda left: oracle.max_marginals(with_states(left)),
        scores.unary > -np.inf,
        k,
    )
