"""The oracle that a graph calls for: what "auto" means to models and to random fields alike."""

import math

from .._scores import is_forest
from ._best_of import BestOf
from ._elimination import Elimination
from ._enumeration import Enumeration
from ._tree import TreeMaxProduct

__all__ = ["FEW_LABELINGS", "exact_oracle", "natural_oracle"]

FEW_LABELINGS = 4096  # listing so many in compiled code costs less than the way through Python
MOST_SECONDS = 0.1  # of an exact answer that is asked for thousands of times


def exact_oracle(scores):
    """What answers exactly, and about how long it takes to sum over all labellings.

    Parameters
    ----------
    scores : PairwiseScores
        Scores on the graph in question.

    Returns
    -------
    oracle : TreeMaxProduct or Elimination
        The former for forests.
    seconds : float
        0 for forests, inf where elimination would need too large a table.
    """
    if is_forest(scores.edges, scores.n_nodes):
        return TreeMaxProduct(), 0.0
    oracle = Elimination()  # keeps the plan that it makes to answer
    return oracle, oracle.cost(scores)


def natural_oracle(scores, n_listed=FEW_LABELINGS):
    """The oracle for many questions on one graph: exact while it costs little.

    Parameters
    ----------
    scores : PairwiseScores
        Scores on the largest graph in question.
    n_listed : int, default=4096
        Up to so many labellings of a graph with cycles are listed.

    Returns
    -------
    oracle : object
        `TreeMaxProduct` for forests, `Enumeration`, `Elimination`, or else `BestOf`.
    """
    is_small = scores.n_nodes * math.log(scores.n_states) <= math.log(n_listed)
    if is_small and not is_forest(scores.edges, scores.n_nodes):
        return Enumeration()
    oracle, seconds = exact_oracle(scores)
    return oracle if seconds <= MOST_SECONDS else BestOf()
