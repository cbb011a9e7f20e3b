"""Local search: one node at a time."""

import numpy as np

from ..._core.oracle import Oracle
from ..._core.scores import expect_scores
from ..._core.validation import check_integer
from ..._kernels import lazy
from ._adjacency import adjacency, first_labels, prepare
from ._plans import PlanCache

message_passing = lazy("graphs.message_passing")


class ICM(Oracle):
    """Good labelling of any graph in very little time, by iterated conditional modes.

    Increases the score of `PairwiseScores` from a first guess on by giving each node in turn the
    best state given its neighbours' states, until no node wants to change: a local maximum, often
    far from the best labelling. Choose it to improve a labelling that is good already.

    Parameters
    ----------
    max_iter : int, default=1000
        Largest number of sweeps through all nodes. A few dozen are usual.

    Attributes
    ----------
    exact : bool
        False: ``upper_bound`` is always inf.

    See Also
    --------
    TRWS : Better labellings and a bound, at more cost.
    BestOf : Several oracles, the best answer.

    Notes
    -----
    A sweep takes time n_nodes * n_states + n_edges * n_states, and nodes come in the
    order of their numbers, from ``start`` or each node's best state by itself. A node moves only if
    it gains, so a tie leaves it where it is. Forbidden states and pairs are left first: a node
    prefers the state with fewest of them, so that a forbidden ``start`` often leads to an allowed
    labelling, but not always. The adjacency of the last graph is kept for the next call, which may
    come from several threads.

    References
    ----------
    .. [1] J. Besag, "On the statistical analysis of dirty pictures", Journal of the Royal
       Statistical Society B 48, 259-302, 1986, section 2.5. doi:10.1111/j.2517-6161.1986.tb01412.x

    Examples
    --------
    Three nodes on a cycle like to agree, but each by itself likes another state best.

    >>> import numpy as np
    >>> from sklearn_fw.inference import ICM, PairwiseScores
    >>> triangle = [(0, 1), (1, 2), (2, 0)]
    >>> scores = PairwiseScores.from_arrays(0.4 * np.eye(3) + 0.1, np.eye(3), triangle)
    >>> ICM().argmax(scores)
    (array([1, 1, 1], dtype=int32), 3.7, inf)
    >>> ICM().argmax(scores, start=[0, 2, 2])
    (array([2, 2, 2], dtype=int32), 3.7, inf)
    """

    _plan = PlanCache(adjacency)

    def __init__(self, max_iter=1000):
        self.max_iter = max_iter

    def argmax(self, scores, start=None):
        expect_scores(scores)
        max_iter = check_integer(self.max_iter, "max_iter", 1)
        labels = first_labels(scores, start)
        problem = prepare(scores, self._plan(scores))
        climb(problem, labels, max_iter)
        return labels, scores.value(labels), np.inf


def climb(problem, labels, max_iter=1000, potts=None):
    """Change ``labels`` by iterated conditional modes."""
    if potts is None:
        potts = message_passing.equal_and_other(problem.tables[0])
    waiting = np.ones(len(labels), bool)
    for _ in range(max_iter):
        if not message_passing.icm_sweep(*problem, potts, labels, waiting):
            break
