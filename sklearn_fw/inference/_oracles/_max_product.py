"""Max-product belief propagation."""

import numpy as np

from ..._core.budget import time_left
from ..._core.oracle import Oracle
from ..._core.scores import expect_scores
from ..._core.validation import check_integer, check_not_negative
from ..._kernels import lazy
from ._adjacency import adjacency
from ._plans import PlanCache
from ._trws import Incumbent

max_product = lazy("graphs.max_product")


class MaxProduct(Oracle):
    """Good labelling of any graph, by loopy max-product belief propagation with damping.

    Sends messages about the best score of what lies behind an edge as if the graph had no cycles:
    exact where it has none, a heuristic where it has. Choose it to compare with other software, and
    where `TRWS`, which has a bound and always comes to rest, leaves something to be found: on
    graphs with few and long cycles max-product often finds better labels.

    Parameters
    ----------
    damping : float, default=0.5
        Share of the old message in the new one, at least 0 and below 1. More of it settles
        messages that go back and forth, and takes more iterations.
    max_iter : int, default=100
        Largest number of iterations, each one pass through all nodes and one back.
    tol : float, default=1e-5
        Stop when no message changes by more in an iteration.

    Attributes
    ----------
    exact : bool
        False: ``upper_bound`` is always inf, for there is no bound that holds with cycles.

    See Also
    --------
    TRWS : Messages that are weighted so that they make a bound.
    TreeMaxProduct : Exact on graphs without cycles, in one pass.
    BestOf : Labels of one oracle, bound of another.

    Notes
    -----
    An iteration takes 4 * n_edges * n_states^2, or 4 * n_edges * n_states where a table has one
    score for equal states and one for all others (Potts). After each pass labels are fixed node by
    node, each given those before it; one that is better than all before is improved by iterated
    conditional modes, and the best of all is the answer, no worse than that of `ICM` from
    ``start``. So messages that never come to rest do no harm. Nodes are passed through in the order
    of their numbers, and a message uses those of the same pass already. The adjacency of the last
    graph is kept for the next call, which may come from several threads.

    References
    ----------
    .. [1] J. Pearl, "Probabilistic Reasoning in Intelligent Systems: Networks of Plausible
       Inference", Morgan Kaufmann, 1988, chapter 5.
    .. [2] Y. Weiss, W. T. Freeman, "On the optimality of solutions of the max-product
       belief-propagation algorithm in arbitrary graphs", IEEE Transactions on Information Theory
       47, 736-744, 2001. doi:10.1109/18.910585

    Examples
    --------
    A cycle of four nodes that want to differ from their neighbours.

    >>> import numpy as np
    >>> from sklearn_fw.inference import MaxProduct, PairwiseScores
    >>> unary = [[0.5, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> MaxProduct().argmax(PairwiseScores.from_arrays(unary, 1 - np.eye(2), square))
    (array([0, 1, 0, 1], dtype=int32), 4.5, inf)
    """

    _plan = PlanCache(adjacency)

    def __init__(self, damping=0.5, max_iter=100, tol=1e-5):
        self.damping = damping
        self.max_iter = max_iter
        self.tol = tol

    def argmax(self, scores, start=None):
        expect_scores(scores)
        max_iter = check_integer(self.max_iter, "max_iter", 1)
        tol, damping = (
            check_not_negative(self.tol, "tol"),
            check_not_negative(self.damping, "damping"),
        )
        if damping >= 1.0:
            raise ValueError(f"damping must be below 1, or no message ever changes; got {damping}")
        incumbent = Incumbent(scores, self._plan(scores), start)
        problem = incumbent.problem
        messages = np.zeros((2, scores.n_edges, scores.n_states))
        labels = np.zeros(scores.n_nodes, np.int32)
        for _ in range(max_iter):
            changes = []
            for upwards in (True, False):
                value, change = max_product.max_product_sweep(
                    *problem, incumbent.potts, messages, labels, damping, upwards
                )
                incumbent.offer(labels, value)
                changes.append(change)
            if max(changes) <= tol or time_left() <= 0.0:
                break
        return incumbent.labels, incumbent.value, np.inf
