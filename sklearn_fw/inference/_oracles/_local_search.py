"""Local search: one node at a time, and kicks that lead out of local optima."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ..._core import check
from ..._core.budget import finishing, time_budget, time_left
from ..._core.scores import PairwiseScores
from ..._kernels import lazy
from ._adjacency import GraphOracle, PlanCache, adjacency, first_labels, prepare, softened
from ._elimination import Elimination

message_passing = lazy("graphs.message_passing")
local_search = lazy("graphs.local_search")


class ICM(GraphOracle):
    """Fast approximate MAP inference by iterated conditional modes.

    Increases the score of `PairwiseScores` by giving each node in turn the best state given its
    neighbors, until none changes: a local maximum, often far from the optimum. Choose it to
    improve a good labeling.

    Parameters
    ----------
    max_iter : int, default=1000
        Largest number of sweeps through all nodes; a few dozen are usual.

    See Also
    --------
    TRWS : Better labelings and a bound, at more cost.
    BestOf : Several oracles, the best answer.

    Notes
    -----
    A sweep takes time (n_nodes + n_edges) * n_states, in the order of nodes, from ``start`` or the
    best state of each node. A node moves only if it gains: fewer forbidden states and pairs come
    first.

    References
    ----------
    .. [1] J. Besag, "On the statistical analysis of dirty pictures", Journal of the Royal
       Statistical Society B 48, 259-302, 1986, section 2.5.

    Examples
    --------
    Three nodes on a cycle like to agree, but each by itself likes another state best.

    >>> import numpy as np
    >>> from sklearn_fw.inference import ICM, PairwiseScores
    >>> triangle = [(0, 1), (1, 2), (2, 0)]
    >>> scores = PairwiseScores.from_arrays(0.4 * np.eye(3) + 0.1, np.eye(3), triangle)
    >>> ICM().argmax(scores, start=[0, 2, 2])
    (array([2, 2, 2], dtype=int32), 3.7, inf)
    """

    max_iter: int = 1000

    _plan = PlanCache(adjacency)

    def _argmax(self, scores, start):
        labels = first_labels(scores, start)
        problem = prepare(scores, self._plan(scores))
        climb(problem, labels, self.max_iter)
        return labels, scores.value(labels), np.inf


def climb(problem, labels, max_iter=1000):
    waiting = np.ones(len(labels), bool)
    for _ in range(max_iter):
        if not message_passing.icm_sweep(*problem, labels, waiting):
            break


LARGEST_TABLE = 2**16  # of the elimination that joins labelings
MOST = 9  # labelings at once, or codes of what they agree on would leave 64 bits


def fuse(scores, labelings):
    """The labeling of highest score with the states of a given one at each cluster of nodes.

    Clusters are connected nodes at which the same labelings agree (Houdayer and Martin, 2001).
    ``labelings`` (m, n_nodes), at most `MOST`, stand best first; the last ones are left out where
    clusters are joined too densely to eliminate.
    """
    oracle = Elimination(LARGEST_TABLE)
    while len(labelings) > 1:
        reduced, pick, cluster = _clusters(scores, labelings)
        if np.isfinite(oracle.cost(reduced)):
            chosen = pick[np.arange(len(pick)), oracle.argmax(reduced)[0]]
            return labelings[chosen[cluster], np.arange(scores.n_nodes)]
        labelings = labelings[: (2 * len(labelings) + 2) // 3 if len(labelings) > 3 else 2]
    return labelings[0]


def _clusters(scores, labelings):
    """Scores of clusters, the labeling that each of their states stands for, cluster of nodes."""
    m, n = labelings.shape
    ends, edge = scores.edges, np.arange(scores.n_edges)
    # Of each labeling the first one that has the same state at a node.
    first = (labelings[:, None] == labelings).argmax(axis=0)
    code = np.int64(m) ** np.arange(m) @ first
    inside = code[ends[:, 0]] == code[ends[:, 1]]
    low, high = ends[inside].T
    graph = csr_array((np.ones(len(low), np.int8), (low, high)), shape=(n, n))
    n_clusters, cluster = connected_components(graph, directed=False)
    member = np.empty(n_clusters, np.int64)
    member[cluster] = np.arange(n)
    # States of a cluster are the labelings that differ there, the first of equal ones.
    own = first[:, member] == np.arange(m)[:, None]
    pick = np.argsort(~own, axis=0, kind="stable").T
    width = int(own.sum(axis=0).max())
    pick, absent = pick[:, :width], np.arange(width) >= own.sum(axis=0)[:, None]

    unary = np.empty((n_clusters, m))
    for k, labels in enumerate(labelings):
        states = labels[ends]
        unary[:, k] = np.bincount(cluster, scores.unary[np.arange(n), labels], n_clusters)
        gain = scores.pairwise[edge[inside], states[inside, 0], states[inside, 1]]
        unary[:, k] += np.bincount(cluster[low], gain, n_clusters)
    unary = np.take_along_axis(unary, pick, axis=1)
    unary[absent] = -np.inf
    outside = edge[~inside]
    a, b = ends[outside].T
    states_a = labelings[pick[cluster[a]].T, a].T[:, :, None]
    states_b = labelings[pick[cluster[b]].T, b].T[:, None, :]
    pairwise = scores.pairwise[outside[:, None, None], states_a, states_b]
    edges = np.column_stack([cluster[a], cluster[b]]).astype(np.int64)
    return PairwiseScores._view(unary, pairwise, edges), pick, cluster


# Rounds of "auto" and "few": per node, and the least and the most of them.
ROUNDS = {"auto": (5, 200, 20_000), "few": (1, 50, 4_000)}
ROUNDS_AT_ONCE = 500  # between two looks at the clock, some hundredths of a second
# Many short runs from random labels, whose best parts are joined, find better labels than a long
# one: rounds of a run per node, the least of them, and how many runs must fit in.
RUN_PER_NODE, SHORTEST_RUN, FEWEST_RUNS = 1.25, 400, 4


class IteratedLocalSearch(GraphOracle):
    """Approximate MAP inference by iterated local search with random kicks.

    Increases the score of `PairwiseScores`: some neighboring nodes get random states, then random
    trees around them, hundreds of nodes, take their best states given all others; the change stays
    unless the score fell. Choose it for frustrated couplings, where `TRWS` is far from the best.
    `BestOf` adds a bound.

    Parameters
    ----------
    n_rounds : int, "auto" or "few", default="auto"
        Number of kicks; "auto" is 5 for each node, between 200 and 20,000. From 5 for each node and
        1,600 on, several runs share them, most from random labels, and their best parts are joined:
        worth some percent on large sparse graphs. "few" is a fifth of "auto", at least 50: for
        calls in a row whose scores change little.
    time_limit : float, default=None
        Seconds after which no further kicks follow. None for no limit.
    random_state : int, RandomState instance or None, default=0
        Random seed.

    See Also
    --------
    ICM : A single local optimum, in less time.
    TRWS : Labels and a bound, by messages.
    BestOf : Several oracles, the best answer.

    Notes
    -----
    A round takes time in proportion to n_states^2 and to the edges of some trees of 10 to 500 nodes
    [1]_ [2]_. Eight runs and the incumbent before them are joined: connected nodes at which the
    same of them agree become one node [3]_, and elimination chooses their states, in tables of at
    most 65,536 numbers. Forbidden states and pairs count as more than all scores together; the
    answer is never worse than ``start``.

    References
    ----------
    .. [1] F. Hamze and N. de Freitas, "From fields to trees", Conference on Uncertainty in
       Artificial Intelligence, 2004.
    .. [2] H. R. Lourenço, O. C. Martin and T. Stützle, "Iterated local search", Handbook of
       Metaheuristics, 2003.
    .. [3] J. Houdayer and O. C. Martin, "Hierarchical approach for computing spin glass ground
       states", Physical Review E 64, 2001.

    Examples
    --------
    A spin glass, where the labels of message passing are 8 % below the best ones.

    >>> from sklearn_fw.datasets import make_ising
    >>> from sklearn_fw.inference import TRWS, Elimination, IteratedLocalSearch
    >>> scores = make_ising("grid", (12, 12), coupling=4.0, random_state=0).scores()
    >>> best = Elimination().argmax(scores)[1]
    >>> trws, ils = TRWS().argmax(scores)[1], IteratedLocalSearch().argmax(scores)[1]
    >>> bool(trws < 0.95 * best), bool(ils > 0.97 * best)
    (True, True)
    """

    n_rounds: check.auto_or(check.at_least(1), words=tuple(ROUNDS)) = "auto"
    time_limit: float | None = None
    random_state: object = 0

    _plan = PlanCache(adjacency)

    def _argmax(self, scores, start):
        n_rounds = self.n_rounds
        if isinstance(n_rounds, str):
            per_node, fewest, most = ROUNDS[n_rounds]
            n_rounds = int(np.clip(per_node * scores.n_nodes, fewest, most))
        labels = first_labels(scores, start)
        problem = prepare(scores, self._plan(scores))
        first = labels.copy()
        if not problem.n_states.all():  # a node without states: nothing is allowed
            return first, -np.inf, np.inf
        climb(problem, labels)
        rng = check.random_state(self.random_state)
        run = max(int(RUN_PER_NODE * scores.n_nodes), SHORTEST_RUN)
        with time_budget(self.time_limit, ends_oracles=True):
            soft = softened(scores)
            problem = prepare(soft, self._plan(scores))._replace(n_states=problem.n_states)
            if n_rounds < FEWEST_RUNS * run:
                _search(problem, labels, n_rounds, _state_of(rng))
            else:
                labels = _runs(soft, problem, labels, n_rounds, run, rng)
        labels = max(labels, first, key=scores.value)  # worse by rounding alone
        return labels, scores.value(labels), np.inf


def _state_of(rng):
    return np.array([rng.randint(2**31)], np.uint64)


def _runs(scores, problem, labels, n_rounds, run, rng):
    found, n_states = [labels], np.maximum(problem.n_states, 1)
    while n_rounds > 0 and time_left() > 0.0:
        new = found[0].copy()  # every ninth run goes on with the best labels
        if len(found) > 1:
            new = (rng.random_sample(len(labels)) * n_states).astype(np.int32)
            climb(problem, new)
        _search(problem, new, min(run, n_rounds), _state_of(rng))
        n_rounds -= run
        found.append(new)
        if len(found) == MOST or n_rounds <= 0 or time_left() <= 0.0:
            found.sort(key=scores.value, reverse=True)
            with finishing():
                found = [fuse(scores, np.array(found)).astype(np.int32)]
    return found[0]


def _search(problem, labels, n_rounds, state):
    """Change ``labels`` by rounds of kicks and repairs, until they or the time are over."""
    sums = np.zeros(problem.unary.shape)
    while n_rounds > 0 and time_left() > 0.0:
        # Sums are kept by differences, whose rounding adds up.
        local_search.gather_sums(*problem[:-1], labels, sums)
        n = min(n_rounds, ROUNDS_AT_ONCE)
        local_search.search(*problem[:-1], labels, sums, n, state)
        n_rounds -= n
