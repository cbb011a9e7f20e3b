"""The best labelling that parts of several given ones make together."""

import numpy as np

from ..._core.scores import PairwiseScores
from ._elimination import Elimination

LARGEST_TABLE = 2**16  # of the elimination that joins labellings
MOST = 9  # labellings at once, or codes of what they agree on would leave 64 bits


def fuse(scores, labellings):
    """The best labelling that has the states of one of the given ones at each cluster of nodes.

    Clusters are connected nodes at which the same labellings agree: wherever labellings differ in
    regions that do not touch, the best of them is taken in each region on its own. The value is at
    least that of the first labelling, and the last ones are left out where clusters are joined too
    densely for elimination.

    Parameters
    ----------
    scores : PairwiseScores
        Scores on any graph.
    labellings : ndarray of shape (m, n_nodes), integer
        At most `MOST`, best first.

    Returns
    -------
    labels : ndarray of shape (n_nodes,)
        The best one.

    References
    ----------
    .. [1] J. Houdayer, O. C. Martin, "Hierarchical approach for computing spin glass ground
       states", Physical Review E 64, 2001: clusters of spins as new spins.
    .. [2] V. Lempitsky, C. Rother, S. Roth, A. Blake, "Fusion moves for Markov random field
       optimization", IEEE Transactions on Pattern Analysis and Machine Intelligence 32, 2010.
    """
    oracle = Elimination(LARGEST_TABLE)
    while len(labellings) > 1:
        reduced, pick, cluster = _clusters(scores, labellings)
        if oracle.fits(reduced):
            chosen = pick[np.arange(len(pick)), oracle.argmax(reduced)[0]]
            return labellings[chosen[cluster], np.arange(scores.n_nodes)]
        labellings = labellings[: (2 * len(labellings) + 2) // 3 if len(labellings) > 3 else 2]
    return labellings[0]


def _clusters(scores, labellings):
    """Scores of clusters, the labelling that each of their states stands for, cluster of nodes."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    m, n = labellings.shape
    ends, edge = scores.edges, np.arange(scores.n_edges)
    # Of each labelling the first one that has the same state at a node.
    first = (labellings[:, None] == labellings).argmax(axis=0)
    code = np.int64(m) ** np.arange(m) @ first
    inside = code[ends[:, 0]] == code[ends[:, 1]]
    low, high = ends[inside].T
    graph = csr_array((np.ones(len(low), np.int8), (low, high)), shape=(n, n))
    n_clusters, cluster = connected_components(graph, directed=False)
    member = np.empty(n_clusters, np.int64)
    member[cluster] = np.arange(n)
    # States of a cluster are the labellings that differ there, the first of equal ones.
    own = first[:, member] == np.arange(m)[:, None]
    pick = np.argsort(~own, axis=0, kind="stable").T
    width = int(own.sum(axis=0).max())
    pick, absent = pick[:, :width], np.arange(width) >= own.sum(axis=0)[:, None]

    unary = np.empty((n_clusters, m))
    for k, labels in enumerate(labellings):
        states = labels[ends]
        unary[:, k] = np.bincount(cluster, scores.unary[np.arange(n), labels], n_clusters)
        gain = scores.pairwise[edge[inside], states[inside, 0], states[inside, 1]]
        unary[:, k] += np.bincount(cluster[low], gain, n_clusters)
    unary = np.take_along_axis(unary, pick, axis=1)
    unary[absent] = -np.inf
    outside = edge[~inside]
    a, b = ends[outside].T
    states_a = labellings[pick[cluster[a]].T, a].T[:, :, None]
    states_b = labellings[pick[cluster[b]].T, b].T[:, None, :]
    pairwise = scores.pairwise[outside[:, None, None], states_a, states_b]
    edges = np.column_stack([cluster[a], cluster[b]]).astype(np.int64)
    return PairwiseScores._view(unary, pairwise, edges), pick, cluster
