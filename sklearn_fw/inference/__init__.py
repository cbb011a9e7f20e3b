"""Oracles, which find the best labelling of a graph with scores.

An oracle is any object with the method

    ``argmax(scores, start=None) -> (labels, value, upper_bound)``

where ``scores`` is a `PairwiseScores`, ``labels`` an integer array of shape (n_nodes,), ``value``
the score of these labels (``-inf`` if nothing is allowed) and ``upper_bound`` a number that no
labelling can exceed, ``inf`` if unknown. The answer is exact when both numbers are equal; an oracle
that always is has the attribute ``exact = True``. ``start``, a labelling or None, is a first guess
that may be ignored. An oracle knows neither samples nor weights, leaves ``scores`` unchanged, and
may be called from several threads.

Optional are

    ``top_k(scores, k) -> (values, labels)``
    ``marginals(scores) -> (node, edge, log_partition)``
    ``log_partition(scores) -> float``
    ``max_marginals(scores) -> node``
    ``sample(scores, n_samples, random_state=None) -> labels``

the ``m <= k`` best allowed labellings as arrays of shape (m,) and (m, n_nodes), best first; node
and edge marginals of the distribution ``p(y) = exp(score(y) - log_partition)``; the best score
given each state of each node; and draws from that distribution.

So this is a complete oracle, to be passed wherever there is a parameter ``oracle``::

    class IgnoreEdges:
        exact = False

        def argmax(self, scores, start=None):
            labels = scores.unary.argmax(axis=1)
            bound = scores.unary.max(axis=1).sum() + scores.pairwise.max(axis=(1, 2)).sum()
            return labels, scores.value(labels), bound

and a function ``scores -> labels`` is turned into one by `resolve_oracle`. Derive from
``sklearn.base.BaseEstimator`` to have parameters that a grid search can set.
"""

from .._budget import time_left
from ._oracles import (
    ICM,
    MILP,
    QPBO,
    TRWS,
    Assignment,
    BestOf,
    BranchAndBound,
    CallableOracle,
    CheckedOracle,
    Elimination,
    Enumeration,
    GraphCut,
    IteratedLocalSearch,
    LPRelaxation,
    Toulbar2,
    TreeMaxProduct,
    Viterbi,
    resolve_oracle,
)
from ._scores import PairwiseScores

__all__ = [
    "ICM",
    "MILP",
    "QPBO",
    "TRWS",
    "Assignment",
    "BestOf",
    "BranchAndBound",
    "CallableOracle",
    "CheckedOracle",
    "Elimination",
    "Enumeration",
    "GraphCut",
    "IteratedLocalSearch",
    "LPRelaxation",
    "PairwiseScores",
    "Toulbar2",
    "TreeMaxProduct",
    "Viterbi",
    "resolve_oracle",
    "time_left",
]
