"""The oracle that a graph calls for: what "auto" means to models and to random fields alike."""

import math

from ..._core.scores import is_forest
from ..._core.validation import is_auto
from ._elimination import Elimination
from ._enumeration import Enumeration
from ._resolve import BestOf
from ._tree import TreeMaxProduct
from ._trws import TRWS

FEW_LABELINGS = 4096  # listing so many in compiled code costs less than the way through Python
CLOSE = 1e-3  # share of the score of an answer, behind which nothing better is looked for
LARGE, FEW_PASSES = 4_000, 20  # states of all nodes of a large graph, and passes of messages on it
DENSE = 10  # edges per node, from which local search takes ten times as long as messages, too
MOST_SECONDS = 0.1  # of an exact answer that is asked for thousands of times


def exact_oracle(scores):
    """What answers exactly, and about how many seconds it takes to sum over all labellings.

    `TreeMaxProduct` and 0 for forests, else `Elimination`, and inf where that would need too large
    a table.
    """
    if is_forest(scores.edges, scores.n_nodes):
        return TreeMaxProduct(), 0.0
    oracle = Elimination()  # keeps the plan that it makes to answer
    return oracle, oracle.cost(scores)


def natural_oracle(scores, n_listed=FEW_LABELINGS):
    """The oracle for many questions on one graph: exact while it costs little.

    `TreeMaxProduct` for forests; for others `Enumeration` up to ``n_listed`` labellings,
    `Elimination`, or else `BestOf`; on large or dense graphs few passes of `TRWS` alone, after a
    cut where there are two states. The scores are those of the largest graph in question.
    """
    is_small = scores.n_nodes * math.log(scores.n_states) <= math.log(n_listed)
    if is_small and not is_forest(scores.edges, scores.n_nodes):
        return Enumeration()
    oracle, seconds = exact_oracle(scores)
    if seconds <= MOST_SECONDS:
        return oracle
    best = BestOf(tol=CLOSE)
    is_sparse = len(scores.edges) < DENSE * scores.n_nodes
    if is_sparse and scores.n_nodes * scores.n_states < LARGE:
        return best
    return quick_oracle(best, scores.n_states)


def quick_oracle(oracle, n_states):
    """A `BestOf` without local search, and with few passes of messages; others as they are.

    On large graphs local search takes ten times as long and finds next to nothing; on others it
    finds nothing that the choice among many fits depends on.
    """
    if type(oracle) is not BestOf or not is_auto(oracle.oracles):
        return oracle
    passes = TRWS(max_iter=FEW_PASSES)
    return BestOf(("qpbo", passes), tol=oracle.tol) if n_states == 2 else passes
