"""Exact oracles: the Gibbs distribution of the scores, and enumeration."""

import math

import numpy as np

from ..._core import check
from ..._core.oracle import k_best_labelings
from ..._core.scores import allowed, count_labelings
from ._adjacency import GraphOracle, best_of_all

PROBABILITY = 1e-9  # by which sums of probabilities may differ from one by rounding


class RankingOracle(GraphOracle):
    """Max-marginals and top-k labelings, from the hook ``_maxima(scores)`` of a subclass."""

    def max_marginals(self, scores):
        """Best score that a labeling can have for each state of each node.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on a graph that the oracle accepts.

        Returns
        -------
        best : ndarray of shape (n_nodes, n_states)
            The scores, ``-inf`` where a state is in no allowed labeling.
        """
        self._expect(scores)
        return self._maxima(scores)

    def top_k(self, scores, k):
        """Compute the k labelings of highest score, best first.

        Parameters
        ----------
        scores, k : PairwiseScores, int
            Scores on a graph that the oracle accepts; number of labelings, at least 1.

        Returns
        -------
        values, labels : ndarray of shape (m,) and (m, n_nodes), int32
            Scores in descending order, and different labelings; m < k when fewer are allowed.
        """
        self._expect(scores)
        return self._best(scores, check.integer(k, "k", 1))

    def _best(self, scores, k):
        return k_best_labelings(self, scores, k)


class GibbsInference(RankingOracle):
    """Marginals, max-marginals, samples and top-k labelings, from three hooks of a subclass.

    The others are ``_sums(scores, marginals) -> (node, edge, log_partition)``, where node and edge
    may be None unless ``marginals``, and ``_draws(scores, uniforms) -> (labels, log_partition)``
    for ``uniforms`` of shape (n_samples, n_nodes). A log-partition of -inf means that nothing is
    allowed.
    """

    exact = True

    def marginals(self, scores):
        """Probabilities of states under the Gibbs distribution ``p(y)`` ~ ``exp(score(y))``.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on a graph that the oracle accepts.

        Returns
        -------
        node, edge : ndarray of shape (n_nodes, n_states) and (n_edges, n_states, n_states)
            Probabilities of states and of pairs, with axes as in ``scores.pairwise``.
        log_partition : float
            Logarithm of the sum of ``exp(score(y))`` over all labelings.
        """
        self._expect(scores)
        node, edge, log_partition = self._sums(scores, marginals=True)
        _some(log_partition)
        return normalized(node, "states"), normalized(edge, "pairs"), log_partition

    def log_partition(self, scores):
        """Logarithm of the sum of ``exp(score(y))``, ``-inf`` if nothing is allowed.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on a graph that the oracle accepts.
        """
        self._expect(scores)
        return self._sums(scores, marginals=False)[2]

    def sample(self, scores, n_samples, random_state=None):
        """Independent labelings from the Gibbs distribution ``p(y)`` ~ ``exp(score(y))``.

        Parameters
        ----------
        scores, n_samples : PairwiseScores, int
            Scores on a graph that the oracle accepts; number of labelings, at least 1.
        random_state : int, RandomState instance or None, default=None
            Random seed.

        Returns
        -------
        labels : ndarray of shape (n_samples, n_nodes), int32
            The labelings.
        """
        self._expect(scores)
        n_samples = check.integer(n_samples, "n_samples", 1)
        uniforms = check.random_state(random_state).random_sample((n_samples, scores.n_nodes))
        labels, log_partition = self._draws(scores, uniforms)
        _some(log_partition)
        return labels


def _some(log_partition):
    if log_partition == -math.inf:
        raise ValueError("every labeling is forbidden, so the scores define no distribution")


def normalized(probabilities, what):
    """Probabilities that sum to one in each block; exact up to rounding where they did not.

    Scores that are 1e16 times as large as others swallow those in sums, but not in differences.
    """
    sums = probabilities.sum(axis=tuple(range(1, probabilities.ndim)), keepdims=True)
    if np.all(np.abs(sums - 1.0) <= PROBABILITY):
        return probabilities
    if not np.all((sums > 0.0) & (sums < np.inf)):
        raise ValueError(
            f"scores differ so much in size that probabilities of {what} are lost in rounding: "
            f"scale them, or use -inf for what is forbidden"
        )
    return probabilities / sums


class Enumeration(GibbsInference):
    """MAP inference on small graphs, by trying all labelings.

    Maximizes the score of `PairwiseScores` exactly, and sums over the Gibbs distribution ``p(y)`` ~
    ``exp(score(y))``. Choose it for a handful of nodes, and as the reference of other oracles.

    Parameters
    ----------
    max_labelings : int, default=1_000_000
        Largest number ``n_states ** n_nodes`` of labelings that are tried.

    See Also
    --------
    Viterbi : For chains of any length.
    TreeMaxProduct : For graphs without cycles, of any size.
    Elimination : For graphs with cycles, of small tree-width.

    Notes
    -----
    Time ``n_states ** n_nodes * (n_nodes + n_edges)``; everything but `argmax` also needs 16 bytes
    for each labeling. Among equal labelings the lexicographically first is returned, and it
    comes first among equal ones of `top_k`.

    Examples
    --------
    Three nodes that want to differ from each other, with two states: one pair must agree.

    >>> import numpy as np
    >>> from sklearn_fw.inference import Enumeration, PairwiseScores
    >>> triangle = [(0, 1), (1, 2), (2, 0)]
    >>> scores = PairwiseScores.from_arrays(np.zeros((3, 2)), 1 - np.eye(2), triangle)
    >>> Enumeration().argmax(scores)
    (array([0, 0, 1], dtype=int32), 2.0, 2.0)
    """

    max_labelings: check.at_least(1) = 1_000_000

    def _argmax(self, scores, start):
        self._count(scores)
        labels, value = best_of_all(scores)
        return labels, value, value

    def _best(self, scores, k):
        values = self._values(scores)
        best = np.argsort(-values, kind="stable")[:k]
        return allowed(values[best], _labels_of(best, scores))

    def _sums(self, scores, marginals):
        weights, value = _weights(self._values(scores))
        if not marginals or value == -np.inf:
            return None, None, value
        n_nodes, n_states = scores.unary.shape
        node = np.empty((n_nodes, n_states))
        edge = np.empty((scores.n_edges, n_states, n_states))
        for t in range(n_nodes):
            node[t] = _by_state(weights, n_states, t).sum(axis=(0, 2))
        for e, (a, b) in enumerate(scores.edges.tolist()):
            pair = _by_state(weights, n_states, min(a, b), max(a, b)).sum(axis=(0, 2, 4))
            edge[e] = pair if a < b else pair.T
        return node, edge, value

    def _maxima(self, scores):
        values = self._values(scores)
        n_nodes, n_states = scores.unary.shape
        return np.array([_by_state(values, n_states, t).max(axis=(0, 2)) for t in range(n_nodes)])

    def _draws(self, scores, uniforms):
        weights, value = _weights(self._values(scores))
        if value == -np.inf:
            return None, value
        ends = np.cumsum(weights)
        # One number chooses a labeling. Rounding must not choose one behind the last allowed.
        chosen = np.searchsorted(ends, uniforms[:, 0] * ends[-1], side="right")
        return _labels_of(np.minimum(chosen, np.flatnonzero(weights)[-1]), scores), value

    def _values(self, scores):
        values = np.zeros(self._count(scores))
        n_nodes, n_states = scores.unary.shape
        for t in range(n_nodes):
            _by_state(values, n_states, t)[...] += scores.unary[t][:, None]
        for (a, b), table in zip(scores.edges.tolist(), scores.pairwise):
            low, high, table = (a, b, table) if a < b else (b, a, table.T)
            _by_state(values, n_states, low, high)[...] += table[:, None, :, None]
        return values

    def _count(self, scores):
        n_nodes, n_states = scores.unary.shape
        n_labelings = count_labelings(scores)
        if n_labelings > self.max_labelings:
            raise ValueError(
                f"{n_states} states on {n_nodes} nodes have more than "
                f"max_labelings={self.max_labelings} labelings; raise max_labelings, or use "
                f"TreeMaxProduct() or Viterbi() if the graph has no cycle, else Elimination()"
            )
        return n_labelings


def _by_state(values, n_states, *nodes):
    """View with one axis per node of interest (ascending) at 1, 3, ..., the others in between."""
    shape, before = [], 0
    for node in nodes:
        shape += [n_states ** (node - before), n_states]
        before = node + 1
    return values.reshape(*shape, -1)


def _labels_of(numbers, scores):
    n_nodes, n_states = scores.unary.shape
    labels = np.empty((len(numbers), n_nodes), np.int32)
    for t in range(n_nodes - 1, -1, -1):
        numbers, labels[:, t] = np.divmod(numbers, n_states)
    return labels


def _weights(values):
    best = values.max()
    if best == -np.inf:
        return values, float(best)
    weights = np.exp(values - best)
    total = weights.sum()
    return weights / total, float(best + np.log(total))
